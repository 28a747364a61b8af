/* How much a kernel computes and moves in a run, from its problem and the sizes of its calls. */
#ifndef NN_LOWER_WORK_H
#define NN_LOWER_WORK_H
#include "lower/problem/problem.h"

struct work { /* NAN: unknown */
    double calls;
    double products, bytes; /* of all calls: multiply-adds; bytes of the results and, at most, of what is read */
};
/* The values of the entry's symbols, as x_eval_int asks for them. */
struct sizes_of_run {
    bool (*size)(void *env, expr leaf, int64_t *v);
    void *env;
};
/* The work of kernel p. calls: how often a run calls it; NAN: as the entry's text says, unless a call is in a branch or
 * in a loop with an unknown number of iterations. A call in a loop counts with the mean over its iterations. */
struct work kernel_work(const struct proc *entry, const struct proc *p, double calls, const struct sizes_of_run *run);
#endif
