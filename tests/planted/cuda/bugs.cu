/* Kernels with one mistake each, and the same without it: what the emulator must name, and must not. Bug number and
 * `right` or `wrong` are arguments; see the table in `run`. */
#include "nn_cuda_dev.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 64 };

/* 1: a write behind the end of a shared buffer */
static __global__ void shared_end(float *p, int wrong) {
    NN_SHARED(float, s, N);
    s[threadIdx.x + (wrong ? 1 : 0)] = 1.0f;
    __syncthreads();
    p[threadIdx.x] = s[threadIdx.x];
}
/* 2: the last block writes behind the end of global memory */
static __global__ void global_end(float *p, int n, int wrong) {
    const int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n || wrong) p[i] = 1.0f;
}
/* 3: no barrier between writing shared memory and reading what others wrote */
static __global__ void no_barrier(float *p, int wrong) {
    NN_SHARED(float, s, N);
    s[threadIdx.x] = (float)threadIdx.x;
    if (!wrong) __syncthreads();
    p[threadIdx.x] = s[N - 1 - threadIdx.x];
}
/* 4: no barrier at the end of a loop: the next turn overwrites what others still read */
static __global__ void no_barrier_at_end(float *p, int wrong) {
    NN_SHARED(float, s, N);
    float sum = 0.0f;
    for (int k = 0; k < 3; k++) {
        s[threadIdx.x] = (float)(k + (int)threadIdx.x);
        __syncthreads();
        sum += s[N - 1 - threadIdx.x];
        if (!wrong) __syncthreads();
    }
    p[threadIdx.x] = sum;
}
/* 5: only some threads reach a barrier */
static __global__ void some_at_barrier(float *p, int wrong) {
    if (threadIdx.x < 40 || !wrong) __syncthreads();
    p[threadIdx.x] = 1.0f;
}
/* 6: threads of a block wait at different barriers */
static __global__ void two_barriers(float *p, int wrong) {
    if (wrong && (threadIdx.x & 1)) {
        __syncthreads();
    } else {
        __syncthreads();
    }
    p[threadIdx.x] = 1.0f;
}
/* 7: a wrong index: two threads write one cell */
static __global__ void one_cell(float *p, int wrong) {
    const int i = (int)threadIdx.x;
    p[wrong ? i / 2 : i] = (float)i;
}
/* 8: all blocks write one cell */
static __global__ void one_cell_of_blocks(float *p, int wrong) { p[wrong ? 0 : blockIdx.x] = (float)blockIdx.x; }
/* 9: shared memory is read that nobody wrote: a sum with NaN */
static __global__ void never_written(float *p, int wrong) {
    NN_SHARED(float, s, N);
    if (threadIdx.x != 5 || !wrong) s[threadIdx.x] = 1.0f;
    __syncthreads();
    p[threadIdx.x] = s[(threadIdx.x + 1) % N];
}
/* 10: lanes of a warp are taken to run in step */
static __global__ void in_step(float *p, int wrong) {
    NN_SHARED(float, s, 32);
    s[threadIdx.x] = (float)threadIdx.x;
    if (!wrong) __syncwarp();
    p[threadIdx.x] = s[threadIdx.x ^ 16];
}
/* 11: the mask of a shuffle names lanes that do not take part */
static __global__ void shuffle_mask(float *p, int wrong) {
    float v = (float)threadIdx.x;
    if (threadIdx.x < 16 || !wrong) v = __shfl_xor_sync(0xffffffffu, v, 1);
    p[threadIdx.x] = v;
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    const int bug = atoi(argv[1]), wrong = !strcmp(argv[2], "wrong");
    float host[N], *p;
    void *memory;
    if (cudaMalloc(&memory, sizeof host) != cudaSuccess) return 2;
    p = (float *)memory;
    for (int k = 0; k < N; k++) host[k] = 0.0f;
    cudaMemcpyAsync(p, host, sizeof host, cudaMemcpyHostToDevice, 0);
    switch (bug) {
    case 1: NN_LAUNCH(shared_end, dim3(1), dim3(N), NULL, p, wrong); break;
    case 2: NN_LAUNCH(global_end, dim3(3), dim3(32), NULL, p, N, wrong); break;
    case 3: NN_LAUNCH(no_barrier, dim3(1), dim3(N), NULL, p, wrong); break;
    case 4: NN_LAUNCH(no_barrier_at_end, dim3(1), dim3(N), NULL, p, wrong); break;
    case 5: NN_LAUNCH(some_at_barrier, dim3(1), dim3(N), NULL, p, wrong); break;
    case 6: NN_LAUNCH(two_barriers, dim3(1), dim3(N), NULL, p, wrong); break;
    case 7: NN_LAUNCH(one_cell, dim3(1), dim3(N), NULL, p, wrong); break;
    case 8: NN_LAUNCH(one_cell_of_blocks, dim3(4), dim3(1), NULL, p, wrong); break;
    case 9: NN_LAUNCH(never_written, dim3(1), dim3(N), NULL, p, wrong); break;
    case 10: NN_LAUNCH(in_step, dim3(1), dim3(32), NULL, p, wrong); break;
    case 11: NN_LAUNCH(shuffle_mask, dim3(1), dim3(32), NULL, p, wrong); break;
    default: return 2;
    }
    if (cudaGetLastError() != cudaSuccess) return 2;
    cudaMemcpyAsync(host, p, sizeof host, cudaMemcpyDeviceToHost, 0);
    cudaStreamSynchronize(0);
    float sum = 0.0f;
    for (int k = 0; k < N; k++) sum += host[k];
    printf("sum %g\n", (double)sum);
    return 0;
}
