/* Compiling and running what was written: for the commands run, verify and bench, and for tests. No shell is used. */
#ifndef NN_COMPILER_BUILD_H
#define NN_COMPILER_BUILD_H
#include "codegen/project.h"

/* ---- processes */
struct outcome {
    bool started, timed_out;
    int status;           /* exit status; 128 + signal */
    struct text out, err; /* text_free both */
};
/* Runs argv (NULL ends) in `folder` (NULL: the current one) without input; seconds 0: no limit. */
struct outcome process_run(const char *const *argv, const char *folder, int seconds);
void outcome_free(struct outcome *o);
/* The words of a command, in c's arena, NULL ends; then `more`. */
const char **command_words(struct ctx *c, const char *command, const char *const *more);
/* Is it the path of a program, or the name of one in PATH? */
bool program_exists(const char *name);

/* ---- builds */
struct build_options {
    const char *cc;             /* NULL: the target's */
    const char *flags;          /* besides the project's: "-O2 -g"; NULL: "-O2" */
    const char *main_flags;     /* for the program's own file, after the others; may be NULL */
    const char *const *more;    /* sources in addition to the library's; NULL ends; may be NULL */
    const char *const *instead; /* sources of the library that those replace: compiled, because code_size looks at them,
                                 * but not linked; NULL ends; may be NULL */
    int jobs;                   /* compilations at the same time; 0: as many as there are processors */
    int seconds;                /* limit of each compilation; 0: 600 */
};
/* Compiles the library and `program` ("selftest", "bench", "NAME_main") in the folder. The path of the executable, or
 * NULL after a diagnostic: E_ENV, with the first of the compiler's messages if it has any. */
const char *build_program(struct ctx *c, const struct project *w, const char *program, const struct build_options *o);
/* NAME.c of the folder, which needs no library of ours, to NAME; cc NULL: the target's compiler. As above. */
const char *build_alone(struct ctx *c, const struct target *t, const char *folder, const char *name, const char *flags,
                        const char *cc);

/* Bytes of sections: code, constants, initialised and zeroed variables (compiler/objsize.c). */
struct code_size {
    int64_t text, rodata, data, bss;
};
/* Adds what an object file has; false: not an ELF file of little endian, or a diagnostic was recorded. */
bool object_size(struct diags *d, const char *path, struct code_size *sum);
/* The library as build_program left it, weights among its constants when they are part of the program. */
bool library_size(struct ctx *c, const struct project *w, struct code_size *sum);

/* ---- runs on tensors (compiler/harness.c) */
struct harness {
    struct ctx *c;
    const struct project *w;
    const char *exe;
    int seconds;                /* limit of a run; 0: 600 */
    const char *without;        /* instruction sets that count as missing; NULL: none */
    int variant;                /* 1 + the variant of the program that must run; 0: any */
    bool *other;                /* set when the CPU cannot run that one, which is no error */
    uint64_t *instructions;     /* bench under an emulator: of each run; NULL: not counted */
    const char *functions;      /* there, too: a file of the folder that gets those of each function; NULL: none */
    const char *const *symbols; /* "N=4", for symbols that no input shows; NULL ends; may be NULL */
};
/* The inputs, in API order, as files in<k>.nnt of the folder. false: a diagnostic was recorded. */
bool harness_inputs(const struct harness *h, struct tensor *const *inputs);
/* Runs the model on inputs in API order; outputs[] get one tensor each, in c's arena; outputs NULL: they stay in their
 * files. runs > 0: also times them, times[] gets nanoseconds. false: a diagnostic was recorded (E_FAULT with what the
 * model said). */
bool harness_run(const struct harness *h, struct tensor *const *inputs, struct tensor **outputs, int runs, int warmup,
                 double *times);
int harness_by_time(const void *a, const void *b); /* the order of times, or of other doubles, for qsort */
/* Output k of the last run, or another tensor from a file as harness_run exchanges them with the program: <k> of the
 * inputs is in<k>.nnt in the folder, format in templates/project/run_main.c. In arena a. NULL: a diagnostic. */
struct tensor *harness_output(const struct harness *h, struct arena *a, int k);
struct tensor *harness_tensor(const struct harness *h, struct arena *a, const char *path);
/* A file for a program that is run: a text, and bytes behind it. false: a diagnostic was recorded. */
bool harness_file(struct ctx *c, const char *path, const struct text *head, const void *data, size_t n);
#endif
