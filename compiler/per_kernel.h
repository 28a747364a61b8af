/* `gcc2nn bench --per-kernel`: what each kernel takes, by clocks around its calls, or by an emulator that counts. */
#ifndef NN_COMPILER_PER_KERNEL_H
#define NN_COMPILER_PER_KERNEL_H
#include "compiler/session.h"

#define PER_KERNEL_FUNCTIONS "functions.txt" /* where an emulator counts by functions */

/* Of all calls of a kernel in one run. */
struct kernel_row {
    const struct proc *p;
    const char *name;   /* of the function */
    const char *what;   /* the problem's class */
    const char *target; /* which variant's; NULL: there is one */
    const struct machine *m;
    double calls, ns;       /* ns: median of the runs; 0 where instructions are counted */
    double instructions;    /* 0 where there are clocks */
    double products, bytes; /* multiply-adds, what parameters hold; NAN: sizes are known in the run alone */
    double at_best;         /* of the time, what the machine's row allows at best; NAN: not known */
};
struct kernel_rows {
    VEC(struct kernel_row) v; /* the longest first */
    double all;               /* nanoseconds or instructions of all */
};
/* Puts what the program needs besides into the folder, and says so in o. false: a diagnostic. */
bool per_kernel_prepare(struct session *s, struct build_options *o);
/* What the run left there: so many runs, those that warmed up first. dims: of the program's symbols. */
bool per_kernel_read(struct session *s, int runs, int warmup, const int64_t *dims, struct kernel_rows *out);
void per_kernel_print(struct arena *a, const struct kernel_rows *rows);
json_t *per_kernel_json(struct arena *a, const struct kernel_rows *rows);
#endif
