/* Inside of symbolic: its kernels and weights. Not for users of the model. */
#ifndef GCC2NN_SYMBOLIC_KERNELS_H
#define GCC2NN_SYMBOLIC_KERNELS_H
#include "nn_rt.h"

/* The first member makes the words; the second one makes them aligned for every element type. */
union symbolic_weights_data { uint32_t words[32]; double aligned; };
#ifdef __GNUC__
__attribute__((aligned(64)))
#endif
extern const union symbolic_weights_data symbolic_weights;
void symbolic_k0_add(const float *restrict x, const float *restrict w, float *restrict y, ptrdiff_t N);
void symbolic_k1_concat(float *restrict y, const float *restrict x, const float *restrict x1, ptrdiff_t N);
void symbolic_k2_shape(int64_t *restrict y, ptrdiff_t N);
#endif
