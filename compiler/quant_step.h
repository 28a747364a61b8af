/* By how much a result may be off when one rounding to a quantisation step went the other way. For verify. */
#ifndef NN_COMPILER_QUANT_STEP_H
#define NN_COMPILER_QUANT_STEP_H
#include "ir/graph.h"

/* The step of result k of g: 1 of integers up to 16 bits in a quantized model, the greatest scale of floats that come
 * out of a DequantizeLinear; 0: the result is not quantized, or not known to be. */
double quant_step(const struct graph *g, int k);
#endif
