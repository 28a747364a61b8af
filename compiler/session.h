/* One command's work on one model: options to module, module to build folder, folder to program, tensors in and out.
 * Shared by compile, run, verify and bench. */
#ifndef NN_COMPILER_SESSION_H
#define NN_COMPILER_SESSION_H
#include "compiler/build.h"
#include "compiler/commands.h"
#include "compiler/driver.h"
#include "compiler/import/file.h"

enum { VARIANTS_MAX = 8 };
struct session {
    const struct options *o;
    struct ctx *c;
    struct compile_options compile;
    struct compilation u;
    struct project_options project;
    struct project *w;
    const char *folder;                         /* of the build */
    bool temporary;                             /* removed in the end */
    int noted;                                  /* of the temporary folder, for cleanup_drop */
    int64_t fuel;                               /* statements that session_interpret executes at most; 0: no limit */
    int own_outputs;                            /* with results of nodes as outputs: how many come before these */
    bool kernels;                               /* these are of nodes as the kernels compute them, not each alone */
    VEC(const char *) written;                  /* the file of each output */
    VEC(struct mapped_file) files;              /* stay mapped as long as the session */
    json_t *dumps;                              /* with --json: what --dump-after shows */
    const struct target *targets[VARIANTS_MAX]; /* of --target, the first is compile.target's */
    int ntargets;
    bool made_up, pictures;                /* at least one input's values */
    struct budget taken;                   /* what is known so far of what the program takes */
    struct budget *tried;                  /* what it would take with other options (budget.c); NULL: nobody asked */
    struct variant variants[VARIANTS_MAX]; /* those behind the first */
};
/* --machine, behind session_targets: its target gets the numbers of that file, in a copy. false: a diagnostic. */
bool session_machine(struct session *s);
/* The target of a name that the user gave; NULL after a diagnostic when there is none. */
const struct target *target_named(struct ctx *c, const char *name);
/* session_targets.c: FIRST[+NEXT]...: several of one kind of machine; NEXT may leave out what it shares with FIRST:
 * x86-64+avx2+avx512. Fills s->targets. false: a diagnostic was recorded. */
bool session_targets(struct session *s, const char *words);
/* What stands behind the last slash. */
const char *path_last(const char *path);
/* A new folder for what is built, removed with what is in it by cleanup_now(*noted). NULL: a diagnostic. */
const char *temporary_folder(struct ctx *c, int *noted);
/* Are the names that --no-rule gives those of rules? false after a diagnostic. */
bool rules_exist(struct ctx *c, const struct options *o);
/* The same of --algorithm and --no-algorithm, and what they ask for. */
bool algorithms_exist(struct ctx *c, const struct options *o);
struct algorithm_wishes options_algorithms(const struct options *o);
/* false: a diagnostic was recorded. session_close must be called in each case; it gives the exit status. */
bool session_open(struct session *s, const struct options *o);
int session_close(struct session *s);  /* both of these */
int session_report(struct session *s); /* prints diagnostics and dumps */
void session_free(struct session *s);
/* The result of the command, with the dumps that were asked for; frees it. */
void session_json(struct session *s, json_t *root);
void session_add_dumps(struct session *s, json_t *root);
void session_json_text(struct session *s, json_t *root, struct text *out); /* without the end of the line */
/* Model to module and plan. */
bool session_compile(struct session *s);
/* A module that did not come down the pipeline: its plan, and the passes that make of it what is printed. */
bool session_plan(struct session *s);
/* From a graph that stands, as a pass left it or changed after that, to module and plan. */
bool session_lower(struct session *s);
/* The same with the result of every node as an output: unfused, in the order of nodes (session_nodes.c). */
bool session_compile_each_node(struct session *s);
/* As the model is compiled otherwise, with what its kernels leave in memory as further outputs. */
bool session_compile_each_kernel(struct session *s);
/* The folder: at `path`, or when NULL at --build-dir or a temporary place. */
bool session_write(struct session *s, const char *path);
/* Path of the executable of a program of the folder; NULL: diagnostics. */
const char *session_build(struct session *s, const char *program);
/* Runs the interpreter on the module; outputs as from harness_run. */
bool session_interpret(struct session *s, struct tensor *const *inputs, struct tensor **outputs);
/* The value of each symbol of the program, in order: from the inputs, else from the command line. */
const int64_t *session_dims(struct session *s, struct tensor *const *inputs);
/* compile_options.sizes of those who time: no symbol gets a size by itself. */
bool session_sizes_given(void *env, const struct sym *const *v, int n);
/* The command line's symbols, "N=4", for programs; NULL ends. */
const char *const *session_symbols(struct session *s);

/* ---- values (session_values.c). Inputs and outputs as the model declares them: number k is in input_k.pb and
 * output_k.pb; its tensors are
 * [first, first + n) of the program's. Of kind TENSOR most of them. */
holders session_takes(struct session *s);
holders session_gives(struct session *s);
const char *session_count(struct session *s, bool present, int n); /* "nothing", "2 tensors" */
/* The file of `stem` ("input", "output") number k that --data has: itself, if it is an archive, else DIR/<stem>_<k>
 * with one of the endings that are read. NULL: there is none. */
const char *data_file(struct ctx *c, const char *data, const char *stem, int k);
/* import_options.contents, from --input and --data. */
const struct shape_option *session_contents(void *env, int k, const char *name, enum value_kind kind);
/* All inputs from --input and --data, in order of the API; without both, made-up ones. NULL: diagnostics. */
struct tensor **session_inputs(struct session *s);
/* A picture as values of an input, with --mean and --scale (session_picture.c). NULL: a diagnostic. */
struct tensor *session_picture(struct session *s, const char *path, const struct io *io);
/* The run has failed, the diagnostic is recorded: adds what may be given instead where inputs are made up. */
void session_blame_inputs(struct session *s);
/* Output k of --data; false when there is none, or with a diagnostic. */
struct value_io;
bool session_reference(struct session *s, int k, const struct holder *p, struct value_io *v);
/* The same of all outputs that are tensors, in their places among the program's; false: there is none. */
bool session_references(struct session *s, struct tensor **want);
/* Output p of the model from the program's: what it holds, the elements of a packed sequence too. */
bool session_output(struct session *s, const struct holder *p, struct tensor *const *outputs, struct value_io *x);
/* --out: DIR/output_N.pb for each output, or .npy where it is too large for that, and s->written; nothing without the
 * option. false: diagnostics. */
bool session_write_outputs(struct session *s, struct tensor *const *outputs);
#endif
