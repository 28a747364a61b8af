/* Inside of f16_vector_store: its kernels and weights. Not for users of the model. */
#ifndef GCC2NN_F16_VECTOR_STORE_KERNELS_H
#define GCC2NN_F16_VECTOR_STORE_KERNELS_H
#include "nn_rt.h"

void f16_vector_store_sum(const uint16_t *restrict x, uint16_t *restrict s);
#endif
