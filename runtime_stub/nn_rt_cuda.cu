/* See nn_rt_cuda.h. */
#include "nn_rt_cuda.h"
#include <stdlib.h>
#include <string.h>
#include "nn_cuda_dev.h"

static void note(nn_cuda *d, cudaError_t e) {
    if (e != cudaSuccess && !d->error) d->error = (int)e;
}
static cudaStream_t stream_of(const nn_cuda *d) { return (cudaStream_t)d->stream; }

int nn_cuda_open(nn_cuda *d, nn_error *e, void *stream, const void *weights, size_t bytes) {
    d->stream = stream;
    if (!bytes) return NN_OK;
    if (cudaMalloc(&d->weights, bytes) != cudaSuccess) {
        d->weights = NULL;
        return nn_stop(e, NN_EDEVICE, "the device has no memory for the weights", NULL);
    }
    note(d, cudaMemcpyAsync(d->weights, weights, bytes, cudaMemcpyHostToDevice, stream_of(d)));
    note(d, cudaStreamSynchronize(stream_of(d)));
    return d->error ? nn_stop(e, NN_EDEVICE, cudaGetErrorString((cudaError_t)d->error), NULL) : NN_OK;
}
int nn_cuda_arena(nn_cuda *d, nn_error *e, size_t need, void **arena, size_t *size) {
    note(d, cudaStreamSynchronize(stream_of(d)));
    if (d->arena) note(d, cudaFree(d->arena));
    d->arena = *arena = NULL;
    *size = 0;
    if (cudaMalloc(&d->arena, need ? need : 1) != cudaSuccess) {
        d->arena = NULL;
        e->need = need;
        return nn_stop(e, NN_EDEVICE, "the device has no memory for the arena", NULL);
    }
    *arena = d->arena;
    *size = need;
    return NN_OK;
}
void nn_cuda_close(nn_cuda *d, nn_cuda_host *results, int n) {
    if (d->arena || d->weights) (void)cudaStreamSynchronize(stream_of(d));
    if (d->arena) (void)cudaFree(d->arena);
    if (d->weights) (void)cudaFree(d->weights);
    d->arena = d->weights = NULL;
    for (int k = 0; k < n; k++) {
        free(results[k].p);
        results[k].p = NULL;
        results[k].size = 0;
    }
}

void nn_cuda_put(nn_cuda *d, void *to, const void *from, int64_t bytes) {
    if (bytes > 0) note(d, cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyHostToDevice, stream_of(d)));
}
void nn_cuda_get(nn_cuda *d, void *to, const void *from, int64_t bytes) {
    if (bytes > 0) note(d, cudaMemcpyAsync(to, from, (size_t)bytes, cudaMemcpyDeviceToHost, stream_of(d)));
}
static __global__ void fill_kernel(unsigned char *to, uint64_t low, uint64_t high, unsigned size, int64_t bytes) {
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < bytes; i += step) {
        const unsigned at = (unsigned)(i % size);
        to[i] = (unsigned char)((at < 8 ? low : high) >> 8 * (at % 8));
    }
}
void nn_cuda_fill(nn_cuda *d, void *to, const void *pattern, size_t size, int64_t count) {
    const unsigned char *p = (const unsigned char *)pattern;
    const int64_t bytes = count * (int64_t)size;
    uint64_t half[2] = {0, 0};
    size_t same = 1;
    if (bytes <= 0) return;
    while (same < size && p[same] == p[0]) same++;
    if (same == size) {
        note(d, cudaMemsetAsync(to, p[0], (size_t)bytes, stream_of(d)));
        return;
    }
    for (size_t k = 0; k < size; k++) half[k / 8] |= (uint64_t)p[k] << 8 * (k % 8);
    const int64_t blocks = (bytes + 255) / 256;
    NN_LAUNCH(fill_kernel, dim3((unsigned)(blocks < 4096 ? blocks : 4096)), dim3(256), d->stream, (unsigned char *)to,
              half[0], half[1], (unsigned)size, bytes);
    note(d, cudaGetLastError());
}
int64_t nn_cuda_value(nn_cuda *d, const void *at, size_t size, int is_signed) {
    union {
        int8_t i8;
        uint8_t u8;
        int16_t i16;
        uint16_t u16;
        int32_t i32;
        uint32_t u32;
        int64_t i64;
    } v;
    v.i64 = 0;
    note(d, cudaMemcpyAsync(&v, at, size, cudaMemcpyDeviceToHost, stream_of(d)));
    note(d, cudaStreamSynchronize(stream_of(d)));
    if (d->error) return 0;
    switch (size) {
    case 1: return is_signed ? v.i8 : v.u8;
    case 2: return is_signed ? v.i16 : v.u16;
    case 4: return is_signed ? (int64_t)v.i32 : (int64_t)v.u32;
    default: return v.i64;
    }
}
void nn_cuda_set(nn_cuda *d, void *at, size_t size, int64_t value) {
    unsigned char bytes[8];
    for (int k = 0; k < 8; k++) bytes[k] = (unsigned char)((uint64_t)value >> 8 * k);
    nn_cuda_put(d, at, bytes, (int64_t)size);
}
void *nn_cuda_give(nn_cuda *d, nn_error *e, int *status, nn_cuda_host *own, void *given, size_t cap, const void *from,
                   int64_t count, size_t size) {
    void *to = given;
    if (*status != NN_OK) return NULL;
    if (cap == 0) {
        const size_t bytes = (size_t)count * size;
        if (bytes > own->size || !own->p) {
            free(own->p);
            own->p = malloc(bytes ? bytes : 1);
            own->size = own->p ? bytes : 0;
        }
        to = own->p;
        if (!to) *status = nn_stop(e, NN_EDEVICE, "the host has no memory for a result", NULL);
    } else if ((uint64_t)count > cap) {
        e->need = (size_t)count;
        *status = nn_stop(e, NN_ECAP, "a result is larger than its capacity", NULL);
        return NULL;
    }
    if (to) nn_cuda_get(d, to, from, count * (int64_t)size);
    return to;
}
int nn_cuda_done(nn_cuda *d, nn_error *e, const int *faults, int n, const char *const *where) {
    note(d, cudaGetLastError());
    note(d, cudaStreamSynchronize(stream_of(d)));
    for (int at = 0; at < n && !d->error; at += 64) {
        int some[64];
        const int count = n - at < 64 ? n - at : 64;
        nn_cuda_get(d, some, faults + at, count * (int64_t)sizeof *some);
        note(d, cudaStreamSynchronize(stream_of(d)));
        for (int k = 0; k < count && !d->error; k++)
            if (some[k]) return nn_stop(e, NN_EFAULT, "an index or a size is out of range", where[at + k]);
    }
    const int error = d->error;
    d->error = 0;
    return error ? nn_stop(e, NN_EDEVICE, cudaGetErrorString((cudaError_t)error), NULL) : NN_OK;
}

/* ---- the region */
void nn_cuda_region_init(nn_cuda_region *r, nn_cuda_block *blocks, int cap, void *arena, size_t before, size_t size) {
    r->base = (unsigned char *)arena + before;
    r->before = before;
    r->size = size / NN_ALIGN * NN_ALIGN;
    r->need = 0;
    r->high = before;
    r->blocks = blocks;
    r->cap = cap;
    r->n = 1;
    blocks[0].at = 0;
    blocks[0].size = r->size;
    blocks[0].used = 0;
}
void *nn_cuda_region_alloc(nn_cuda_region *r, int64_t bytes) {
    if (bytes < 0 || (uint64_t)bytes > SIZE_MAX / 2 - 2 * NN_ALIGN || r->n + 1 >= r->cap) {
        r->need = SIZE_MAX;
        return NULL;
    }
    const size_t some = bytes ? (size_t)bytes : 1, want = (some + NN_ALIGN - 1) / NN_ALIGN * NN_ALIGN;
    for (int k = 0; k < r->n; k++) {
        nn_cuda_block *b = &r->blocks[k];
        if (b->used || b->size < want) continue;
        if (b->size > want) {
            memmove(b + 2, b + 1, (size_t)(r->n - k - 1) * sizeof *b);
            b[1].at = b->at + want;
            b[1].size = b->size - want;
            b[1].used = 0;
            b->size = want;
            r->n++;
        }
        b->used = 1;
        if (r->before + b->at + want > r->high) r->high = r->before + b->at + want;
        return r->base + b->at;
    }
    const nn_cuda_block *last = &r->blocks[r->n - 1];
    const size_t end = last->used ? last->at + last->size : last->at;
    r->need = end > SIZE_MAX - r->before - want ? SIZE_MAX : r->before + end + want;
    return NULL;
}
static void join_next(nn_cuda_region *r, int k) {
    if (k < 0 || k + 1 >= r->n || r->blocks[k].used || r->blocks[k + 1].used) return;
    r->blocks[k].size += r->blocks[k + 1].size;
    memmove(&r->blocks[k + 1], &r->blocks[k + 2], (size_t)(r->n - k - 2) * sizeof *r->blocks);
    r->n--;
}
void nn_cuda_region_free(nn_cuda_region *r, void *p) {
    if (!p) return;
    for (int k = 0; k < r->n; k++) {
        if (!r->blocks[k].used || r->base + r->blocks[k].at != (unsigned char *)p) continue;
        r->blocks[k].used = 0;
        join_next(r, k);
        join_next(r, k - 1);
        return;
    }
}
void *nn_cuda_result(nn_cuda_region *r, nn_error *e, int *status, int64_t count, size_t size) {
    void *p = nn_cuda_region_alloc(r, count < 0 || count > INT64_MAX / (int64_t)size ? -1 : count * (int64_t)size);
    if (!p) {
        e->need = r->need;
        *status = nn_stop(e, NN_EARENA, "no room in the arena for a result", NULL);
    }
    return p;
}
