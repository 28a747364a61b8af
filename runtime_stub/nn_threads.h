/* How the kernels of generated models use several threads: each of their loops whose iterations may run in any order is
 * given to a `nn_threads`, which the caller owns and names in the configuration. nn_pool.h makes one of POSIX threads;
 * who has other threads, or a second core, writes `run`:
 *
 *     static void on_both_cores(nn_threads *t, ptrdiff_t n, ptrdiff_t grain, nn_part *part, const void *shared) {
 *         start_on_core_1(part, shared, n / 2, n);
 *         part(shared, 0, n / 2);
 *         wait_for_core_1();
 *     }
 *     static nn_threads both_cores = {on_both_cores};
 *     config.threads = &both_cores;
 *
 * Results have the same bits however a loop is cut into parts, and whoever runs them. */
#ifndef NN_THREADS_H
#define NN_THREADS_H
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Runs iterations begin to end - 1 of a loop; shared: what they read and write. */
typedef void nn_part(const void *shared, ptrdiff_t begin, ptrdiff_t end);

typedef struct nn_threads nn_threads;
struct nn_threads {
    /* Calls `part` for the iterations 0 to n - 1, each in exactly one part, on any threads, in parallel or one after
     * another; returns when all are done. A part of less than `grain` iterations is not worth a thread. */
    void (*run)(nn_threads *t, ptrdiff_t n, ptrdiff_t grain, nn_part *part, const void *shared);
};

/* t NULL: there is only the caller's thread. */
static inline void nn_share(nn_threads *t, ptrdiff_t n, ptrdiff_t grain, nn_part *part, const void *shared) {
    if (t && n / 2 >= grain) t->run(t, n, grain, part, shared);
    else part(shared, 0, n);
}

/* A loop of n iterations, cut into slices that each have `bytes` of scratch memory. */
typedef struct {
    ptrdiff_t n, slices, bytes;
} nn_sliced;
/* Cuts into at most `most` slices of at least `grain` iterations. */
static inline nn_sliced nn_slice(ptrdiff_t n, ptrdiff_t grain, ptrdiff_t most, ptrdiff_t bytes) {
    nn_sliced s = {n, n / grain < most ? n / grain : most, bytes};
    if (s.slices < 1) s.slices = 1;
    return s;
}
/* The first iteration of slice k. */
static inline ptrdiff_t nn_slice_begin(const nn_sliced *s, ptrdiff_t k) {
    const ptrdiff_t more = s->n % s->slices;
    return s->n / s->slices * k + (k < more ? k : more);
}
/* For the parts: records a fault, possibly at the same time as others. */
static inline void nn_note_fault(int *fault) {
#if defined __GNUC__
    __atomic_store_n(fault, 1, __ATOMIC_RELAXED);
#else
    *fault = 1;
#endif
}

#ifdef __cplusplus
}
#endif
#endif
