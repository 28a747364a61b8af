/* `gcc2nn bench --per-kernel`: what each kernel takes, by clocks around its calls, or by an emulator that counts. */
#ifndef NN_COMPILER_PER_KERNEL_H
#define NN_COMPILER_PER_KERNEL_H
#include "compiler/session.h"
#include "lower/problem/work.h"

#define PER_KERNEL_FUNCTIONS "functions.txt" /* where an emulator counts by functions */

enum { EVENTS_MOST = 8 };
/* Of all calls of a kernel in one run. */
struct kernel_row {
    const struct proc *p;
    int number;             /* of the kernel, which calls name */
    const char *name;       /* of the function */
    const char *what;       /* the problem's class */
    const char *nodes;      /* the algorithm's title, and the nodes; of a text, some nodes that call it */
    const char *some_nodes; /* of these, as many as stand in a line */
    const char *target;     /* which variant's; NULL: there is one */
    const struct machine *m;
    double taken;   /* nanoseconds, the median of the runs; or instructions, of the last one */
    double at_best; /* of the time, what the machine's row allows at best; NAN: not known */
    double peak,
        peak_bytes; /* that the row allows in a nanosecond: multiply-adds of this kind, bytes; NAN: not known */
    struct work work;
    double *events; /* means of the runs; NULL: none were counted */
};
/* One call, in the order of the runs. */
struct kernel_call {
    int kernel;       /* -1: a run begins */
    double ns, begun; /* begun: nanoseconds after the first */
    double *events;
};
struct kernel_rows {
    VEC(struct kernel_row) v;                    /* the longest first */
    bool counted;                                /* instructions, by an emulator; else nanoseconds */
    double run, kernels;                         /* what a run takes, and its kernels */
    VEC(struct kernel_call) calls;               /* of the timed runs; none where they are counted */
    const char *events[EVENTS_MOST], *no_events; /* names of the events that were counted; why others were not */
    int nevents;
};
/* Puts what the program needs besides into the folder, and says so in o. false: a diagnostic. */
bool per_kernel_prepare(struct session *s, struct build_options *o);
/* What the runs left there, those that warmed up first; run: what one takes; dims: of the program's symbols. */
bool per_kernel_read(struct session *s, int runs, int warmup, double run, const int64_t *dims, struct kernel_rows *out);
void per_kernel_print(const struct kernel_rows *rows);
json_t *per_kernel_json(const struct kernel_rows *rows);
#endif
