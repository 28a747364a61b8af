/* What verify may expect of a result, by what it is computed from: quantisation steps, floats of few bits. */
#ifndef NN_COMPILER_RESULT_PRECISION_H
#define NN_COMPILER_RESULT_PRECISION_H
#include "ir/graph/graph.h"

/* The step of result k of g: 1 of integers up to 16 bits in a quantized model, the greatest scale of floats that come
 * out of a DequantizeLinear; 0: the result is not quantized, or not known to be. */
double quant_step(const struct graph *g, int k);
/* How many nodes that round to steps stand one behind the other on the longest way to result k of g. */
int quant_depth(const struct graph *g, int k);
/* The greatest usual_rtol of the types of floats that result k of g, itself one, is computed through, and of what it is
 * rounded to on the way; constants do not count, they have no error. */
double usual_rtol_of_result(const struct graph *g, int k);
#endif
