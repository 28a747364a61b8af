/* Two numbers that a procedure gets from its callers through a parameter. */
#ifndef NN_LOWER_PASSES_LIMITS_H
#define NN_LOWER_PASSES_LIMITS_H
#include "ir/loop/loop.h"

struct limits *limits_new(struct module *m);
/* The parameter of p whose cells are lo and hi; NULL: p has others already, or is not only called by the entry. */
struct buf *limits_of(struct limits *q, struct proc *p, double lo, double hi);
#endif
