/* What generated models for CUDA share on the host side: device memory, copies in the order of a stream, and the
 * reading back of sizes that only the run knows. C99 and C++; nn_rt_cuda.cu goes to nvcc, or to a C++ compiler with the
 * CPU emulator in cuda_emu.h (-DNN_CUDA_EMU). */
#ifndef NN_RT_CUDA_H
#define NN_RT_CUDA_H
#include "nn_rt.h"

#define nn_cuda_open         nn1_cuda_open
#define nn_cuda_arena        nn1_cuda_arena
#define nn_cuda_close        nn1_cuda_close
#define nn_cuda_put          nn1_cuda_put
#define nn_cuda_get          nn1_cuda_get
#define nn_cuda_value        nn1_cuda_value
#define nn_cuda_set          nn1_cuda_set
#define nn_cuda_fill         nn1_cuda_fill
#define nn_cuda_give         nn1_cuda_give
#define nn_cuda_done         nn1_cuda_done
#define nn_cuda_region_init  nn1_cuda_region_init
#define nn_cuda_region_alloc nn1_cuda_region_alloc
#define nn_cuda_region_free  nn1_cuda_region_free
#define nn_cuda_result       nn1_cuda_result

#ifdef __cplusplus
extern "C" {
#endif

/* The device's side of a context. An error of CUDA is kept until nn_cuda_done reports it. */
typedef struct {
    void *stream;          /* cudaStream_t */
    void *arena, *weights; /* memory of our own on the device, or NULL */
    int error;             /* cudaError_t */
} nn_cuda;
/* A result that the caller gave no memory for: ours, on the host, until the next run. */
typedef struct {
    void *p;
    size_t size;
} nn_cuda_host;

/* Copies the weights to the device; bytes 0: there are none. */
int nn_cuda_open(nn_cuda *d, nn_error *e, void *stream, const void *weights, size_t bytes);
/* Device memory of our own, at least `need` bytes, in the place of that of before. */
int nn_cuda_arena(nn_cuda *d, nn_error *e, size_t need, void **arena, size_t *size);
void nn_cuda_close(nn_cuda *d, nn_cuda_host *results, int n);

/* In the order of the stream; put and set are done with their source when they return. */
void nn_cuda_put(nn_cuda *d, void *to, const void *from, int64_t bytes);
void nn_cuda_get(nn_cuda *d, void *to, const void *from, int64_t bytes);
void nn_cuda_fill(nn_cuda *d, void *to, const void *pattern, size_t size, int64_t count);
/* An integer on the device of 1, 2, 4 or 8 bytes, after everything before it is done; 0 after an error. */
int64_t nn_cuda_value(nn_cuda *d, const void *at, size_t size, int is_signed);
void nn_cuda_set(nn_cuda *d, void *at, size_t size, int64_t value);
/* Copies a result of `count` elements to `given`, when its capacity is not 0, else to host memory of the context. */
void *nn_cuda_give(nn_cuda *d, nn_error *e, int *status, nn_cuda_host *own, void *given, size_t cap, const void *from,
                   int64_t count, size_t size);
/* Waits for the stream. Then: errors of CUDA, and of n fault cells on the device the first that is set, which names its
 * node. */
int nn_cuda_done(nn_cuda *d, nn_error *e, const int *faults, int n, const char *const *where);

/* The region (see nn_rt.h) with its books on the host: `blocks` has room for all blocks that can exist at a time. */
typedef struct {
    size_t at, size;
    int used;
} nn_cuda_block;
typedef struct {
    unsigned char *base;
    size_t before, size, need, high;
    nn_cuda_block *blocks; /* sorted, without gaps */
    int n, cap;
} nn_cuda_region;
void nn_cuda_region_init(nn_cuda_region *r, nn_cuda_block *blocks, int cap, void *arena, size_t before, size_t size);
void *nn_cuda_region_alloc(nn_cuda_region *r, int64_t bytes);
void nn_cuda_region_free(nn_cuda_region *r, void *p);
/* Device memory for a result of `count` elements; NULL with *status set when there is no room. */
void *nn_cuda_result(nn_cuda_region *r, nn_error *e, int *status, int64_t count, size_t size);

#ifdef __cplusplus
}
#endif
#endif
