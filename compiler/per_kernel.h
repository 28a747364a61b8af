/* `gcc2nn bench --per-kernel`: what each kernel takes, by clocks around its calls, or by an emulator that counts. */
#ifndef NN_COMPILER_PER_KERNEL_H
#define NN_COMPILER_PER_KERNEL_H
#include "compiler/session.h"

#define PER_KERNEL_FUNCTIONS "functions.txt" /* where an emulator counts by functions */

/* Of all calls of a kernel in one run. */
struct kernel_row {
    const struct proc *p;
    const char *name;       /* of the function */
    const char *what;       /* the problem's class */
    const char *nodes;      /* the algorithm's title, and the nodes; of a text, some nodes that call it */
    const char *some_nodes; /* of these, as many as stand in a line */
    const char *target;     /* which variant's; NULL: there is one */
    const struct machine *m;
    double calls, taken;    /* taken: nanoseconds, the median of the runs; or instructions, of the last one */
    double products, bytes; /* multiply-adds; what results hold, and is read at most; NAN: not known */
    double at_best;         /* of the time, what the machine's row allows at best; NAN: not known */
};
struct kernel_rows {
    VEC(struct kernel_row) v; /* the longest first */
    bool counted;             /* instructions, by an emulator; else nanoseconds */
    double run, kernels;      /* what a run takes, and its kernels */
};
/* Puts what the program needs besides into the folder, and says so in o. false: a diagnostic. */
bool per_kernel_prepare(struct session *s, struct build_options *o);
/* What the runs left there, those that warmed up first; run: what one takes; dims: of the program's symbols. */
bool per_kernel_read(struct session *s, int runs, int warmup, double run, const int64_t *dims, struct kernel_rows *out);
void per_kernel_print(const struct kernel_rows *rows);
json_t *per_kernel_json(const struct kernel_rows *rows);
#endif
