/* Generated CUDA on a CPU, for tests and for machines without a GPU: the part of CUDA C++ that generated kernels use.
 * One fiber per CUDA thread, one block after the other. It names what is wrong with a kernel: accesses outside of
 * global memory and of shared buffers, barriers that not all threads of a block reach, deadlocks, warp operations with
 * lanes missing; shared memory starts as NaN. With -fsanitize=thread it finds races between threads and between blocks.
 *
 * CUEMU_ORDER=forward|backward|random: in which order blocks and threads run. CUEMU_SEED=N: for random.
 * CUEMU_SUMS=open: tensor cores sum as machines do, by fours, truncating; else one product after the other.
 * CUEMU_STRICT=1: device memory is out of the host's reach except in copies and kernels, as it is on a GPU. */
#ifndef NN_CUDA_EMU_H
#define NN_CUDA_EMU_H
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define __global__
#define __device__
#define __host__
#define __launch_bounds__(...)
#define __forceinline__ inline __attribute__((always_inline))
#define __shared__      static __thread /* of users' kernels; blocks run in turn, in one thread of the system */
#define __align__(n)    __attribute__((aligned(n)))

#if defined(__SANITIZE_THREAD__)
#define CUEMU_TSAN   1
#define CUEMU_HIDDEN __attribute__((no_sanitize("thread")))
extern "C" {
void *__tsan_create_fiber(unsigned);
void __tsan_destroy_fiber(void *);
void *__tsan_get_current_fiber();
void __tsan_switch_to_fiber(void *, unsigned);
void __tsan_acquire(void *);
void __tsan_release(void *);
}
#else
#define CUEMU_TSAN 0
#define CUEMU_HIDDEN
#endif

struct uint3 {
    unsigned x, y, z;
};
struct dim3 {
    unsigned x, y, z;
    dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

/* ---- the machine */
namespace cuemu {
enum { MAX_THREADS = 1024, MAX_WARPS = 32, LANES = 32, MAX_SHARED = 32 };
struct fiber {
    void *sp;
    uint3 tid;
    unsigned number;
    void *tsan;
};
/* Bits are lanes. ready: may run; live: have not ended; arrived: wait in the warp operation `op`. */
struct warp {
    unsigned ready, live, arrived, op, turn;
    void *slot[LANES];
    char sync[2];
};
struct shared_buffer {
    const void *site;
    const char *name;
    unsigned char *memory, *data;
    size_t bytes;
};
struct block {
    fiber f[MAX_THREADS];
    warp w[MAX_WARPS];
    unsigned threads, warps, live, warps_ready, current, arrived, turn;
    const char *barrier; /* where the first thread waits, or the last barrier */
    char sync[2], end_sync;
    uint3 index, dim, grid;
    shared_buffer shared[MAX_SHARED];
    int nshared;
    unsigned char *pool;
    size_t used;
    char *stacks;
    void *scheduler_sp, *scheduler_tsan;
    void (*entry)(void *);
    void *arg;
    int order;
    uint64_t random;
};
extern __thread block *B;
extern __thread fiber *F;

[[noreturn]] void die(const char *what);
void wait_for_others(); /* this fiber is not ready: runs another one */
void barrier(const char *where);
void *shared(const void *site, const char *name, size_t bytes);
uint3 thread_index();
uint3 block_index();
uint3 block_dim();
uint3 grid_dim();
unsigned lane();
void launch(dim3 grid, dim3 block, void (*entry)(void *), void *arg);

/* All lanes of the mask meet; the last to arrive runs done(warp). sync: memory written before is seen after it. */
template <class D> CUEMU_HIDDEN void collective(unsigned mask, unsigned op, void *mine, const D &done, bool sync) {
    warp &w = B->w[F->number / LANES];
    const unsigned number = F->number / LANES, bit = 1u << F->number % LANES, turn = w.turn;
    if (!(mask & bit)) die("the calling lane is not in the mask of its warp operation");
    if (w.arrived && w.op != op) die("lanes of one warp wait in different warp operations");
    if ((mask & w.live) != mask) die("the mask of a warp operation names lanes that have ended");
    w.op = op;
    w.slot[F->number % LANES] = mine;
    w.arrived |= bit;
#if CUEMU_TSAN
    if (sync) __tsan_release(&w.sync[turn & 1]);
#endif
    if (w.arrived == mask) {
        done(w);
        w.arrived = 0;
        w.turn++;
        w.ready |= mask;
        B->warps_ready |= 1u << number;
    } else {
        w.ready &= ~bit;
        if (!w.ready) B->warps_ready &= ~(1u << number);
        wait_for_others();
    }
#if CUEMU_TSAN
    if (sync) __tsan_acquire(&w.sync[turn & 1]);
#endif
    (void)sync, (void)turn;
}
template <class T> struct shuffled {
    T in, out;
    int from;
};
template <class T> CUEMU_HIDDEN T shuffle(unsigned mask, T v, int from, unsigned op) {
    shuffled<T> mine = {v, v, from};
    collective(
        mask, op, &mine,
        [mask](warp &w) CUEMU_HIDDEN {
            for (int i = 0; i < LANES; i++) {
                if (!(mask >> i & 1)) continue;
                shuffled<T> *to = (shuffled<T> *)w.slot[i];
                if (!(mask >> (to->from & 31) & 1)) die("a shuffle reads a lane that is not in its mask");
                to->out = ((shuffled<T> *)w.slot[to->from & 31])->in;
            }
        },
        false);
    return mine.out;
}

/* ---- tensor cores: mma.sync.m16n8k8 and k16 on 16-bit floats. Which cell of a matrix a thread has in which register
 * is taken from the figures of the PTX manual: groups of four threads, pairs of cells. */
inline float f16_value(uint16_t h) {
    const int e = h >> 10 & 31, m = h & 1023;
    const float v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf((float)(m | 1024), e - 25) : ldexpf((float)m, -24);
    return h >> 15 ? -v : v;
}
inline float bf16_value(uint16_t h) {
    const uint32_t bits = (uint32_t)h << 16;
    float v;
    memcpy(&v, &bits, sizeof v);
    return v;
}
/* c plus n products, as CUEMU_SUMS says. */
float sum_of_products(float c, const float *a, const float *b, int n);
struct fragments {
    float *c;
    const uint16_t *a, *b;
};
template <int K, class V> CUEMU_HIDDEN void mma(float *c, const uint16_t *a, const uint16_t *b, const V &value) {
    static_assert(K == 8 || K == 16, "these two are known");
    fragments mine = {c, a, b};
    collective(
        ~0u, 5 + (unsigned)K, &mine,
        [&value](warp &w) CUEMU_HIDDEN {
            float A[16][K], B[8][K], C[16][8];
            for (int t = 0; t < LANES; t++) {
                const fragments *f = (const fragments *)w.slot[t];
                const int group = t >> 2, in_group = t & 3;
                for (int i = 0; i < K / 2; i++)
                    A[group + (i >> 1 & 1) * 8][in_group * 2 + (i & 1) + (i >> 2) * 8] = value(f->a[i]);
                for (int i = 0; i < K / 4; i++) B[group][in_group * 2 + (i & 1) + (i >> 1) * 8] = value(f->b[i]);
                for (int i = 0; i < 4; i++) C[group + (i >> 1) * 8][in_group * 2 + (i & 1)] = f->c[i];
            }
            for (int t = 0; t < LANES; t++)
                for (int i = 0; i < 4; i++) {
                    const int row = (t >> 2) + (i >> 1) * 8, col = (t & 3) * 2 + (i & 1);
                    ((const fragments *)w.slot[t])->c[i] = sum_of_products(C[row][col], A[row], B[col], K);
                }
        },
        false);
}
template <int K> CUEMU_HIDDEN void mma_f16(float *c, const uint16_t *a, const uint16_t *b) {
    mma<K>(c, a, b, f16_value);
}
template <int K> CUEMU_HIDDEN void mma_bf16(float *c, const uint16_t *a, const uint16_t *b) {
    mma<K>(c, a, b, bf16_value);
}
} // namespace cuemu

/* ---- what kernels call */
#define threadIdx       (cuemu::thread_index())
#define blockIdx        (cuemu::block_index())
#define blockDim        (cuemu::block_dim())
#define gridDim         (cuemu::grid_dim())
#define CUEMU_TEXT2(x)  #x
#define CUEMU_TEXT(x)   CUEMU_TEXT2(x)
#define __syncthreads() cuemu::barrier(__FILE__ ":" CUEMU_TEXT(__LINE__))
#define NN_SHARED(type, name, cells)                                                                                   \
    static char name##_site;                                                                                           \
    type *const name = (type *)cuemu::shared(&name##_site, #name, sizeof(type) * (size_t)(cells))
static inline void __syncwarp(unsigned mask = 0xffffffffu) {
    cuemu::collective(
        mask, 1, nullptr, [](cuemu::warp &) {}, true);
}
template <class T> static inline T __shfl_sync(unsigned mask, T v, int from, int width = 32) {
    const int base = (int)cuemu::lane() & ~(width - 1);
    return cuemu::shuffle(mask, v, base | (from & (width - 1)), 2);
}
template <class T> static inline T __shfl_xor_sync(unsigned mask, T v, int by, int width = 32) {
    const int me = (int)cuemu::lane(), from = me ^ by;
    return cuemu::shuffle(mask, v, (from & ~(width - 1)) > (me & ~(width - 1)) ? me : from, 3);
}
template <class T> static inline T __shfl_down_sync(unsigned mask, T v, unsigned by, int width = 32) {
    const int me = (int)cuemu::lane(), from = me + (int)by;
    return cuemu::shuffle(mask, v, (from & ~(width - 1)) != (me & ~(width - 1)) ? me : from, 4);
}

/* ---- what the host calls */
typedef enum {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInvalidConfiguration = 9
} cudaError_t;
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
typedef struct CUstream_st *cudaStream_t;
cudaError_t cudaMalloc(void **p, size_t bytes);
cudaError_t cudaFree(void *p);
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaGetLastError();
const char *cudaGetErrorString(cudaError_t e);
template <class K> static inline void cuemu_launch(dim3 grid, dim3 block, const K &kernel) {
    cuemu::launch(
        grid, block, [](void *k) { (*(const K *)k)(); }, (void *)&kernel);
}
#define NN_LAUNCH(kernel, grid, block, stream, ...)                                                                    \
    ((void)(stream), cuemu_launch(grid, block, [&] { kernel(__VA_ARGS__); }))
#endif
