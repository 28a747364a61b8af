/* Operators whose axes may stand in another order: which do, and how each is written then. For transposes.c. */
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

/* Can n be computed on operands in the order p? */
bool order_is_open(struct probes *q, struct node *n, const struct order *p);
/* Operand k follows the order of the axes (others are sizes, axes, scales ...). */
bool operand_is_ordered(const struct node *n, int k);
/* A reduction that drops axes: a rule takes it through a transpose. */
bool order_is_free(const struct node *n);
/* The one axis that n sums along, or whose elements it compares; -1: none, or several. */
int order_reduced_axis(const struct node *n);
/* Writes into `by`, which has the permuted operands of n and its attributes, what else changes. */
bool order_apply(struct graph *g, struct node *by, const struct node *n, const struct order *p);
#endif
