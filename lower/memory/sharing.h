/* Which loops several threads can run: in C, iterations must not share certain memory. Used by schedules before they
 * make a loop parallel, and finally by the pass that decides (passes/parallel.c). */
#ifndef NN_LOWER_MEMORY_SHARING_H
#define NN_LOWER_MEMORY_SHARING_H
#include "ir/loop/loop.h"

/* Why several threads cannot run the iterations of a loop of p, even though none reads what another stores; NULL: they
 * can. */
const char *iterations_share(const struct proc *p, struct stmt *loop);
#endif
