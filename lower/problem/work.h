/* How much a kernel computes and moves in a run, from its problem and the sizes of its calls. */
#ifndef NN_LOWER_WORK_H
#define NN_LOWER_WORK_H
#include "lower/problem/problem.h"

struct work { /* NAN: not known */
    double calls;
    double products, bytes; /* of all calls: multiply-adds; what results hold, and is read at most */
};
/* The values of the entry's symbols, as x_eval_int asks for them. */
struct sizes_of_run {
    bool (*size)(void *env, expr leaf, int64_t *v);
    void *env;
};
/* Of the kernel p. calls: how often a run calls it; NAN: as the entry's text says, where no call stands in a branch or
 * a loop whose turns are not known. Calls in loops count as the mean of all that there are. */
struct work kernel_work(const struct proc *entry, const struct proc *p, double calls, const struct sizes_of_run *run);
#endif
