/* Values stored in 16 bits between kernels (lower/narrow.c). */
#ifndef NN_LOWER_NARROW_H
#define NN_LOWER_NARROW_H
#include "lower/lower.h"

/* Fills l->narrow for the values of r. Called once it is known which values are visible outside of kernels. */
void choose_narrow(struct lowering *l, struct region *r);
/* The type in which v is stored between kernels. */
enum dtype narrow_type(const struct lowering *l, const struct value *v);
/* Gives b that type permanently; so far only stores that round may access it. */
struct buf *narrow_buf(struct lowering *l, struct buf *b);
/* Stores the results of n, whose statements are the last in the current block, in the types chosen for them. */
void narrow_results(struct lowering *l, struct node *n, struct block *made);
#endif
