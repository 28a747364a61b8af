/* `gcc2nn bench --per-kernel`: measures each kernel, by clocks around its calls, or with an emulator that counts. */
#ifndef NN_COMPILER_PER_KERNEL_H
#define NN_COMPILER_PER_KERNEL_H
#include "compiler/session.h"
#include "lower/problem/work.h"

#define PER_KERNEL_FUNCTIONS "functions.txt" /* counts by function, from the emulator */

enum { EVENTS_MOST = 8 };
/* All calls of a kernel in one run. */
struct kernel_row {
    const struct proc *p;
    int number;             /* number of the kernel, used in calls */
    const char *name;       /* name of the function */
    const char *what;       /* the problem's class */
    const char *nodes;      /* the algorithm's title, and the nodes; for a kernel text, some nodes that call it */
    const char *some_nodes; /* those of them that fit into a line */
    const char *target;     /* the variant; NULL: there is only one */
    const struct machine *m;
    double taken;   /* nanoseconds, the median of the runs; or instructions of the last run */
    double at_best; /* peak time divided by measured time; NAN: not known */
    double peak,
        peak_bytes; /* that the row allows in a nanosecond: multiply-adds of this kind, bytes; NAN: not known */
    struct work work;
    double *events; /* means of the runs; NULL: none were counted */
};
/* One call, in the order of the runs. */
struct kernel_call {
    int kernel;       /* -1: start of a run */
    double ns, begun; /* begun: nanoseconds since the first */
    double *events;
};
struct kernel_rows {
    VEC(struct kernel_row) v;                    /* the longest first */
    bool counted;                                /* instructions, by an emulator; else nanoseconds */
    double run, kernels;                         /* time of a run, and of its kernels */
    VEC(struct kernel_call) calls;               /* of the timed runs; none if instructions are counted */
    const char *events[EVENTS_MOST], *no_events; /* names of the counted events; why others were not counted */
    int nevents;
};
/* Adds the files that the program needs for this to the folder, and sets o accordingly. false: a diagnostic. */
bool per_kernel_prepare(struct session *s, struct build_options *o);
/* Reads the results of the runs, warm-up runs first; run: time of one; dims: of the program's symbols. */
bool per_kernel_read(struct session *s, int runs, int warmup, double run, const int64_t *dims, struct kernel_rows *out);
void per_kernel_print(const struct kernel_rows *rows);
json_t *per_kernel_json(const struct kernel_rows *rows);
#endif
