/* What generated models for CUDA share on the host side: device memory, copies in the order of a stream, and reading
 * back sizes that are found during the run. C99 and C++; nn_rt_cuda.cu is compiled by nvcc, or by a C++ compiler with
 * the CPU emulator in cuda_emu.h (-DNN_CUDA_EMU). */
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
    void *arena, *weights; /* the context's own memory on the device, or NULL */
    int error;             /* cudaError_t */
} nn_cuda;
/* A result for which the caller gave no memory: kept on the host by the context until the next run. */
typedef struct {
    void *p;
    size_t size;
} nn_cuda_host;

/* Copies the weights to the device; bytes 0: there are none. */
int nn_cuda_open(nn_cuda *d, nn_error *e, void *stream, const void *weights, size_t bytes);
/* Allocates at least `need` bytes of device memory, replacing the previous memory. */
int nn_cuda_arena(nn_cuda *d, nn_error *e, size_t need, void **arena, size_t *size);
void nn_cuda_close(nn_cuda *d, nn_cuda_host *results, int n);

/* In the order of the stream; when put and set return, their source is no longer needed. */
void nn_cuda_put(nn_cuda *d, void *to, const void *from, int64_t bytes);
void nn_cuda_get(nn_cuda *d, void *to, const void *from, int64_t bytes);
void nn_cuda_fill(nn_cuda *d, void *to, const void *pattern, size_t size, int64_t count);
/* Reads an integer of 1, 2, 4 or 8 bytes from the device, after all earlier work is done; 0 after an error. */
int64_t nn_cuda_value(nn_cuda *d, const void *at, size_t size, int is_signed);
void nn_cuda_set(nn_cuda *d, void *at, size_t size, int64_t value);
/* Copies a result of `count` elements to `given`, or if its capacity is 0, to host memory of the context. */
void *nn_cuda_give(nn_cuda *d, nn_error *e, int *status, nn_cuda_host *own, void *given, size_t cap, const void *from,
                   int64_t count, size_t size);
/* Waits for the stream, then reports errors of CUDA, and the first of n fault cells on the device that is set, with the
 * name of its node. */
int nn_cuda_done(nn_cuda *d, nn_error *e, const int *faults, int n, const char *const *where);

/* The region (see nn_rt.h), managed on the host: `blocks` has room for all blocks that can exist at the same time. */
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
/* Device memory for a result of `count` elements; NULL, with *status set, if there is not enough. */
void *nn_cuda_result(nn_cuda_region *r, nn_error *e, int *status, int64_t count, size_t size);

#ifdef __cplusplus
}
#endif
#endif
