/* Operators that can be computed with their axes in another order: which ones can, and how each is rewritten. For
 * transposes.c. */
#ifndef NN_COMPILER_GRAPH_AXIS_ORDER_H
#define NN_COMPILER_GRAPH_AXIS_ORDER_H
#include "ir/graph/graph.h"
#include "lower/group.h"

/* A permutation: axis k of the permuted value is axis[k] of the value. */
struct order {
    int rank, axis[32];
};
struct order order_inverse(const struct order *p);
bool order_equal(const struct order *a, const struct order *b);

/* Can n be computed on operands permuted by p? */
bool order_is_open(struct probes *q, struct node *n, const struct order *p);
/* Does operand k have the axes of the data? (Others are sizes, axes, scales ...) */
bool operand_is_ordered(const struct node *n, int k);
/* Is n a reduction that drops axes? A rule of simplify moves transposes through it. */
bool order_is_free(const struct node *n);
/* The only axis along which n sums or compares elements; -1: none, or several. */
int order_reduced_axis(const struct node *n);
/* Makes the other changes to `by`, which already has the permuted operands and n's attributes. */
bool order_apply(struct graph *g, struct node *by, const struct node *n, const struct order *p);
#endif
