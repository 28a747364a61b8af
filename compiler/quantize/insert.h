/* Writes down in the graph what was decided: QuantizeLinear and DequantizeLinear around the tensors of a plan, weights
 * and biases as codes. What comes out computes the same in every runtime that knows the two operators. */
#ifndef NN_COMPILER_QUANTIZE_INSERT_H
#define NN_COMPILER_QUANTIZE_INSERT_H
#include "compiler/quantize/plan.h"
#include "compiler/quantize/range.h"

struct insertion {
    struct quant_plan *plan;
    const struct quant_plan
        *measured; /* the plan whose points these are of, of the same graph; may have more of them */
    const struct quantity *quantities;
    const struct seen *seen; /* for the bias correction */
    bool per_channel;        /* weights have a scale for each channel of the result */
    bool seven_bits;         /* of weights, for machines that sum two products in 16 bits */
    bool correct_bias;       /* what rounded weights change on average is taken off the bias */
};
void quant_insert(const struct insertion *x);
/* Beside product k of the plan its twin, whose data and weights are rounded: two more results of the graph for each,
 * the sum of squares of what the product gives, and of what the twin gives less that. Types are not inferred yet. */
void quant_insert_twins(const struct insertion *x);
/* Only the weights of the plan's products become codes, of this type, and are made floats again where they are
 * multiplied. I8: with a scale for each channel of the result. I4: of matrices, with one for each QUANT_BLOCK cells
 * that are summed, if whole blocks of them are. */
enum { QUANT_BLOCK = 32 };
int quant_insert_weights(struct quant_plan *p, enum dtype type); /* of how many products */
#endif
