/* Loops whose iterations threads may run: what the C of an iteration cannot share with another one. Asked by schedules
 * before they make a loop parallel, and by the pass that has the last word (passes/parallel.c). */
#ifndef NN_LOWER_MEMORY_SHARING_H
#define NN_LOWER_MEMORY_SHARING_H
#include "ir/loop/loop.h"

/* Why the iterations of a loop of p cannot be run by several threads, though none reads what another stores; NULL: they
 * can. */
const char *iterations_share(const struct proc *p, struct stmt *loop);
#endif
