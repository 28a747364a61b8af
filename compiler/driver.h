/* The driver: the one place that knows the order of things, from a model's path to a planned module. The commands
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
    const char *const *alone;        /* --no-fuse=NODE,..: the words of the option */
    int nalone;
    struct precision_wishes precision;
    bool c99_strict;               /* the program is printed as scalar C99 */
    int threads;                   /* that kernels are made for; 0: 1 */
    bool verify_each;              /* after every pass; else, of those that make what is printed, after the last */
    const char *const *dump_after; /* names of passes, or "all" */
    int ndump;
    const char *stop_after;  /* name of a pass; NULL: run all */
    bool keep_operators;     /* graph.keeps_operators: the graph is to be written as a model again */
    const char *const *skip; /* --no-pass */
    int nskip;
    const char *const *rules_off; /* --no-rule */
    int nrules_off;
    struct algorithm_wishes algorithms; /* --algorithm, --no-algorithm */
    const char *const *choices;         /* files of --choices; of two records for one problem the later one counts */
    int nchoices;
    const char *more_choices; /* a text of the same form, behind the files; NULL: none */
    bool time_passes;
    /* After the import: the sizes that the program will ask for. false: stop, after a diagnostic. NULL: go on. */
    bool (*sizes)(void *env, const struct sym *const *v, int n);
    /* In front of lowering: may add results to the graph as the passes left it. NULL: go on. */
    bool (*before_lower)(void *env, struct compilation *u);
    /* What --dump-after shows; NULL: to standard output. */
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
    bool complete; /* all passes were run: m is what is printed */
};
enum pass_level { LEVEL_MODEL, LEVEL_GRAPH, LEVEL_LOOP };
struct pass_row {
    const char *name;
    enum pass_level level;
    bool required;   /* --no-pass is refused */
    const char *doc; /* one sentence */
    bool (*run)(struct compilation *u);
    void (*change)(struct module *m, const struct printing *o); /* instead of run: towards what is printed */
    struct custom_pass *custom;                                 /* instead of both: the user's */
};
extern const struct pass_row pass_rows[]; /* the pipeline, in order; name NULL ends */
const struct pass_row *pipeline_of(const struct compile_options *o);
/* pass_rows with the passes of --pass (FILE, FILE:after=PASS, FILE:before=PASS) where they are to stand, in the order
 * of the words where several stand in one place. NULL: a diagnostic. */
const struct pass_row *pipeline_with(struct ctx *c, const char *const *words, int n);
/* What --dump-after knows besides the passes: the groups, what each kernel computes and what was chosen for it, the
 * kernels before their schedules, what became of the model's nodes, and everything. */
#define DUMP_NAMES "fuse problems choices kernels nodes all"

/* Does an option leave the row out, or --bisect-limit? To be asked once, before it is run. */
bool pass_left_out(struct compilation *u, const struct pass_row *p);
/* One row, and the verifier after it. false: diagnostics say why. */
bool run_pass(struct compilation *u, const struct pass_row *p);
/* What lowering is asked for. false: diagnostics say that a node or a file does not exist, or how it is wrong. */
bool read_lower_options(struct compilation *u, struct lower_options *lo);
/* The rows that make of a module what is printed, for modules that did not come down the pipeline. */
bool run_change_passes(struct module *m, const struct printing *o, bool verify_each);
double seconds_now(void); /* of a clock that only goes forward */
/* Runs the pipeline. false: diagnostics say why. */
bool compile_model(struct compilation *u);
#endif
