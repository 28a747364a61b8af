/* Cross-layer equalisation: moves scale between two products that follow each other, so that their channels need about
 * the same range. Exact up to rounding of f32. Before quant_plan_new, as it changes weights. */
#ifndef NN_COMPILER_QUANTIZE_EQUALIZE_H
#define NN_COMPILER_QUANTIZE_EQUALIZE_H
#include "ir/graph/graph.h"

int quant_equalize(struct graph *g); /* how many changes that took: of one pair up to one in each round */
#endif
