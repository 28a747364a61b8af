/* Values that lie in 16 bits between kernels (lower/narrow.c). */
#ifndef NN_LOWER_NARROW_H
#define NN_LOWER_NARROW_H
#include "lower/lower.h"

/* Fills l->narrow for the values of r. After it is known which values others than kernels see. */
void choose_narrow(struct lowering *l, struct region *r);
/* In which type v lies between kernels. */
enum dtype narrow_type(const struct lowering *l, const struct value *v);
/* b, which nothing accesses yet or by stores that round alone, gets that type, and keeps it. */
struct buf *narrow_buf(struct lowering *l, struct buf *b);
/* The results of n, whose statements these are, the last in the current block, lie as they were chosen to. */
void narrow_results(struct lowering *l, struct node *n, struct block *made);
#endif
