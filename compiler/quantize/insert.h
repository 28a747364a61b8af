/* Inserts the decisions into the graph: QuantizeLinear and DequantizeLinear around the tensors of a plan, weights and
 * biases as codes. The result computes the same in every runtime that knows the two operators. */
#ifndef NN_COMPILER_QUANTIZE_INSERT_H
#define NN_COMPILER_QUANTIZE_INSERT_H
#include "compiler/quantize/plan.h"
#include "compiler/quantize/range.h"

struct insertion {
    struct quant_plan *plan;
    const struct quant_plan
        *measured; /* the plan that these points belong to, of the same graph; may have more of them */
    const struct quantity *quantities;
    const struct seen *seen; /* for the bias correction */
    bool per_channel;        /* one scale for each channel of the result */
    bool seven_bits;         /* 7-bit weights, for machines that add two products in 16 bits */
    bool correct_bias;       /* correct the bias by the average error of rounded weights */
};
void quant_insert(const struct insertion *x);
/* Adds to product k of the plan a twin whose data and weights are rounded: two more results of the graph for each, the
 * sum of squares of the product's result, and that of the difference between both. Types are not inferred yet. */
void quant_insert_twins(const struct insertion *x);
/* Only the weights of the plan's products become codes, of this type, and are dequantised where they are multiplied.
 * I8: with a scale for each channel of the result. I4: only weights of matrix products, with a scale for each
 * QUANT_BLOCK terms of a sum, if its length is a multiple of that. */
enum { QUANT_BLOCK = 32 };
int quant_insert_weights(struct quant_plan *p, enum dtype type); /* returns the number of products */
#endif
