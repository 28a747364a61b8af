/* The driver: the only place that knows the order of things, from a model's path to a planned module. The commands
 * (cmd_*.c) call it; it calls import, graph passes, lowering and the planner. */
#ifndef NN_COMPILER_DRIVER_H
#define NN_COMPILER_DRIVER_H
#include "compiler/custom/custom.h"
#include "compiler/custom_pass.h"
#include "compiler/import/onnx.h"
#include "ir/graph/graph.h"
#include "ir/loop/loop.h"
#include "ir/loop/target.h"
#include "lower/algorithm/algorithm.h"
#include "lower/lower.h"
#include "lower/memory_plan.h"
#include "lower/passes/passes.h"

struct pass_row;
struct compilation;
struct compile_options {
    const char *path;                /* .onnx, .gir or .lir */
    const struct pass_row *pipeline; /* NULL: pass_rows */
    struct custom_options custom;    /* operators of the user's */
    struct import_options import;    /* dims, shapes */
    const struct target *target;     /* NULL: c99 */
    bool no_fuse, no_schedule;       /* one kernel per node; kernels as plain loops */
    bool no_excess;                  /* 16-bit floats are rounded by each operator on every machine */
    struct byte_products bytes;      /* what may be rounded */
    const char *const *alone;        /* --no-fuse=NODE,..: the words of the option */
    int nalone;
    struct precision_wishes precision;
    bool c99_strict;               /* the program is printed as scalar C99 */
    int threads;                   /* for which kernels are made; 0: 1 */
    bool verify_each;              /* after every pass; otherwise, of those towards the printed program, only after the
                                    * last */
    const char *const *dump_after; /* names of passes, or "all" */
    int ndump;
    const char *stop_after;  /* name of a pass; NULL: run all */
    bool keep_operators;     /* graph.keeps_operators: the graph will be written as a model again */
    const char *const *skip; /* --no-pass */
    int nskip;
    const char *const *rules_off; /* --no-rule */
    int nrules_off;
    struct algorithm_wishes algorithms; /* --algorithm, --no-algorithm */
    const char *const *choices;         /* files of --choices; of several records for one problem the last counts */
    int nchoices;
    const char *more_choices; /* a text of the same form, read after the files; NULL: none */
    bool time_passes;
    /* Called after the import with the sizes that the program will take. false: stop, after a diagnostic. NULL:
     * continue. */
    bool (*sizes)(void *env, const struct sym *const *v, int n);
    /* Called before lowering: may add results to the graph as the passes left it. NULL: continue. */
    bool (*before_lower)(void *env, struct compilation *u);
    /* Gets the output of --dump-after; NULL: standard output. */
    void (*dump)(void *env, const char *pass, const char *text);
    void *env;
};
/* What the passes work on; also the result. */
struct compilation {
    struct ctx *c;
    const struct compile_options *o;
    struct graph *g;
    struct module *m;
    struct memory_plan *plan;
    bool complete; /* all passes ran: m is what is printed */
};
enum pass_level { LEVEL_MODEL, LEVEL_GRAPH, LEVEL_LOOP };
struct pass_row {
    const char *name;
    enum pass_level level;
    bool required;   /* --no-pass refuses it */
    const char *doc; /* one sentence */
    bool (*run)(struct compilation *u);
    void (*change)(struct module *m, const struct printing *o); /* instead of run: passes towards the printed program */
    struct custom_pass *custom;                                 /* instead of both: the user's pass */
};
extern const struct pass_row pass_rows[]; /* the pipeline, in order; name NULL ends */
const struct pass_row *pipeline_of(const struct compile_options *o);
/* pass_rows with the passes of --pass (FILE, FILE:after=PASS, FILE:before=PASS) inserted; several at one position in
 * the order of the words. NULL: a diagnostic. */
const struct pass_row *pipeline_with(struct ctx *c, const char *const *words, int n);
/* Names that --dump-after knows in addition to passes: the groups, what each kernel computes and what was chosen for
 * it, the kernels before scheduling, what became of the model's nodes, and everything. */
#define DUMP_NAMES "fuse problems choices kernels nodes all"

/* Is the row left out by an option, or by --bisect-limit? Must be asked exactly once, before it runs. */
bool pass_left_out(struct compilation *u, const struct pass_row *p);
/* What graph passes may do with bytes: what the user allows, where the machine has instructions for it. */
void allow_bytes(struct graph *g, struct byte_products allowed, const struct machine *m);
/* Runs one row, and then the verifier. false: diagnostics. */
bool run_pass(struct compilation *u, const struct pass_row *p);
/* Reads the options for lowering. false: diagnostics: a node or a file does not exist, or a file is invalid. */
bool read_lower_options(struct compilation *u, struct lower_options *lo);
/* Runs the rows that turn a module into what is printed, for modules that did not come through the pipeline. */
bool run_change_passes(struct module *m, const struct printing *o, bool verify_each);
double seconds_now(void); /* of a monotonic clock */
/* Runs the pipeline. false: diagnostics. */
bool compile_model(struct compilation *u);
#endif
