/* What generated kernels need of CUDA: launches and shared memory, in a form that both nvcc and the CPU emulator
 * accept. */
#ifndef NN_CUDA_DEV_H
#define NN_CUDA_DEV_H
#include <stddef.h>
#include <stdint.h>
#if defined NN_CUDA_EMU
#include "cuda_emu.h"
#else
#include <cuda_runtime.h>
#define NN_LAUNCH(kernel, grid, block, stream, ...) kernel<<<grid, block, 0, (cudaStream_t)(stream)>>>(__VA_ARGS__)
#define NN_SHARED(type, name, cells)                __shared__ __align__(16) type name[cells]
#endif
/* A number of blocks. More than a grid may have becomes a number that the launch refuses, never a smaller one. */
static inline unsigned nn_grid(ptrdiff_t n) { return n > 0 && n <= 0x7fffffff ? (unsigned)n : 0xffffffffu; }
#endif
