/* What of a model is quantised: which operators are computed of codes of 8 bits, and which tensors they read are
 * rounded to them. Decided from the graph alone, between the passes that fold (fold-affine is the last of them) and
 * calibration; insert.c does what is decided here. */
#ifndef NN_COMPILER_QUANTIZE_PLAN_H
#define NN_COMPILER_QUANTIZE_PLAN_H
#include "ir/base/map.h"
#include "ir/graph/graph.h"

/* PRODUCT: sums products with constant weights (Conv, Gemm, MatMul ...). ISLAND: lies between products, and is computed
 * of the codes as well as of floats: what adds, multiplies, averages or picks cells of them. CARRIED: computed cell by
 * cell of one product's or island's result, in floats, before that is rounded: activations. OUTSIDE: all else. */
enum quant_role { ROLE_OUTSIDE, ROLE_PRODUCT, ROLE_ISLAND, ROLE_CARRIED };

/* A tensor that is rounded, for those of its readers that are products or islands. */
struct quant_point {
    struct value *value;
    VEC(struct use) readers;
    int same_as; /* the point whose quantity it has: its cells are picked from that one's; its own number: none */
};
struct quant_plan {
    struct graph *g;
    node_list left_out;
    VEC(struct quant_point) points;
    node_list products;
    struct map point_of; /* value to number + 1 */
    int islands;
};
/* leave_out: nodes that stay floats. The plan lives in the arena of g's context, and says the same of an equal graph,
 * in the same order. One that leaves out more has no points that the other has not. */
struct quant_plan *quant_plan_new(struct graph *g, const node_list *leave_out);
int64_t quant_weights_bytes(const struct node *product); /* before they are codes */
/* The point of a value; NULL: it has none. */
const struct quant_point *quant_point_of(const struct quant_plan *p, const struct value *v);
int quant_point_number(const struct quant_plan *p, const struct value *v); /* among the points; -1: none */
#endif
