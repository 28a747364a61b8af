/* The precision that verify may expect of a result, from how it is computed: quantisation steps, narrow floats. */
#ifndef NN_COMPILER_RESULT_PRECISION_H
#define NN_COMPILER_RESULT_PRECISION_H
#include "ir/graph/graph.h"

/* The step of result k of g: 1 for integers up to 16 bits in a quantized model; for floats that come from a
 * DequantizeLinear the greatest scale; 0: the result is not quantized, or this is unknown. */
double quant_step(const struct graph *g, int k);
/* The greatest number of nodes that round to steps on any path to result k of g. */
int quant_depth(const struct graph *g, int k);
/* The greatest usual_rtol of the float types through which float result k of g is computed or to which it is rounded;
 * constants do not count, because they have no error. */
double usual_rtol_of_result(const struct graph *g, int k);
#endif
