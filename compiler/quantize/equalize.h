/* Cross-layer equalisation: moves scale between consecutive products, so that their channels have similar ranges. Exact
 * up to rounding of f32. To be called before quant_plan_new, because it changes weights. */
#ifndef NN_COMPILER_QUANTIZE_EQUALIZE_H
#define NN_COMPILER_QUANTIZE_EQUALIZE_H
#include "ir/graph/graph.h"

int quant_equalize(struct graph *g); /* returns the number of changes: at most one for each pair and round */
#endif
