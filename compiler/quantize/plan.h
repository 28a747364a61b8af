/* Which parts of a model are quantised: which operators compute with codes of 8 bits, and which of their operands are
 * rounded to these. Decided from the graph alone, between the folding passes (fold-affine is the last of them) and
 * calibration; insert.c carries the decisions out. */
#ifndef NN_COMPILER_QUANTIZE_PLAN_H
#define NN_COMPILER_QUANTIZE_PLAN_H
#include "ir/base/map.h"
#include "ir/graph/graph.h"

/* PRODUCT: sums products with constant weights (Conv, Gemm, MatMul ...). ISLAND: lies between products, and can be
 * computed from codes as well as from floats: it adds, multiplies, averages or selects cells. CARRIED: computed
 * elementwise from the result of one product or island, in floats, before that is rounded: activations. OUTSIDE:
 * everything else. */
enum quant_role { ROLE_OUTSIDE, ROLE_PRODUCT, ROLE_ISLAND, ROLE_CARRIED };

/* A tensor that is rounded for those of its readers that are products or islands. */
struct quant_point {
    struct value *value;
    VEC(struct use) readers;
    int same_as; /* the point that it shares scale and zero point with, because its cells are selected from that; its
                  * own number: none */
};
struct quant_plan {
    struct graph *g;
    node_list left_out;
    VEC(struct quant_point) points;
    node_list products;
    struct map point_of; /* value to number + 1 */
    int islands;
};
/* leave_out: nodes that stay in floats. The plan lives in the arena of g's context, and is the same, in the same order,
 * for an equal graph. The points of a plan that leaves out more are a subset. */
struct quant_plan *quant_plan_new(struct graph *g, const node_list *leave_out);
int64_t quant_weights_bytes(const struct node *product); /* before quantisation */
/* The point of a value; NULL: it has none. */
const struct quant_point *quant_point_of(const struct quant_plan *p, const struct value *v);
int quant_point_number(const struct quant_plan *p, const struct value *v); /* its index; -1: none */
#endif
