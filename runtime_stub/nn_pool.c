/* See nn_pool.h. Part k of a loop belongs to thread k, so the same iterations run on the same thread each time. But if
 * a thread has not begun its part, because the system is running something else on its core, the thread that gave the
 * loop does it. A waiting thread first spins for a moment, since in a run the next loop comes soon, and then sleeps:
 * waking up takes longer than most loops do, above all in a virtual machine. The moment is long enough for kernels that
 * run on one thread only; after its first part it yields the CPU to anyone else who wants it. */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#include "nn_pool.h"
#include <sched.h>
#include <string.h>
#include <time.h>

enum { SPINS = 4000, MOMENT_NS = 1000000 };

static void pause_cpu(void) {
#if defined __i386__ || defined __x86_64__
    __builtin_ia32_pause();
#elif defined __aarch64__ || defined __arm__
    __asm__ volatile("yield");
#endif
}
static int64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
struct wait {
    int spins;
    int64_t end;
};
static int goes_on(struct wait *w) { /* 0: the moment is over */
    if (w->spins < SPINS) {
        w->spins++;
        pause_cpu();
        return 1;
    }
    if (!w->end) w->end = now_ns() + MOMENT_NS;
    sched_yield();
    return now_ns() < w->end;
}
static void run_part(nn_part *part, const void *shared, ptrdiff_t n, int number, int parts) {
    const ptrdiff_t each = n / parts, more = n % parts; /* the first `more` parts have one more iteration */
    const ptrdiff_t begin = number * each + (number < more ? number : more);
    part(shared, begin, begin + each + (number < more));
}

/* With the lock held: the first of these parts that nobody has begun, for the caller to begin; 0: there is none. */
static int take_part(nn_pool *p, uint64_t of) {
    int k = 1;
    of &= p->open;
    if (!of) return 0;
    while (!(of >> k & 1)) k++;
    p->open &= ~(UINT64_C(1) << k);
    return k;
}

/* ---- the threads that wait for loops */
static void wait_for_loop(nn_pool *p, unsigned seen) { /* returns with the lock held */
    struct wait w = {0, 0};
    while (__atomic_load_n(&p->loops, __ATOMIC_ACQUIRE) == seen && goes_on(&w)) {}
    pthread_mutex_lock(&p->lock);
    while (p->loops == seen && !p->stop) pthread_cond_wait(&p->begin, &p->lock);
}
static void *work_for_pool(void *worker) {
    const struct nn_worker *w = (const struct nn_worker *)worker;
    nn_pool *p = w->pool;
    unsigned seen = 0;
    for (;;) {
        wait_for_loop(p, seen);
        const int stop = p->stop, parts = p->parts, mine = take_part(p, UINT64_C(1) << w->number) > 0;
        nn_part *const part = p->part;
        const void *const shared = p->shared;
        const ptrdiff_t n = p->n;
        seen = p->loops;
        pthread_mutex_unlock(&p->lock);
        if (stop) return NULL;
        if (!mine) continue;
        run_part(part, shared, n, w->number, parts);
        if (__atomic_sub_fetch(&p->left, 1, __ATOMIC_ACQ_REL) == 0) {
            pthread_mutex_lock(&p->lock); /* the thread that gave the loop may be about to sleep */
            pthread_cond_signal(&p->done);
            pthread_mutex_unlock(&p->lock);
        }
    }
}

/* ---- the thread that gives a loop */
static void run_open_parts(nn_pool *p, ptrdiff_t n, nn_part *part, const void *shared, int parts) {
    for (;;) {
        pthread_mutex_lock(&p->lock);
        const int k = take_part(p, ~UINT64_C(0));
        pthread_mutex_unlock(&p->lock);
        if (!k) return;
        run_part(part, shared, n, k, parts);
        __atomic_sub_fetch(&p->left, 1, __ATOMIC_ACQ_REL);
    }
}
static void wait_for_parts(nn_pool *p) {
    struct wait w = {0, 0};
    while (__atomic_load_n(&p->left, __ATOMIC_ACQUIRE) > 0) {
        if (goes_on(&w)) continue;
        pthread_mutex_lock(&p->lock);
        while (__atomic_load_n(&p->left, __ATOMIC_ACQUIRE) > 0) pthread_cond_wait(&p->done, &p->lock);
        pthread_mutex_unlock(&p->lock);
    }
}
static void share_out(nn_threads *t, ptrdiff_t n, ptrdiff_t grain, nn_part *part, const void *shared) {
    nn_pool *p = (nn_pool *)(void *)t; /* its first member */
    const int parts = n / grain < p->count ? (int)(n / grain) : p->count;
    if (parts < 2 || pthread_mutex_trylock(&p->busy) != 0) {
        part(shared, 0, n);
        return;
    }
    pthread_mutex_lock(&p->lock);
    p->part = part, p->shared = shared, p->n = n, p->parts = parts;
    p->open = (~UINT64_C(0) >> (64 - parts)) & ~UINT64_C(1); /* this thread does part 0 */
    __atomic_store_n(&p->left, parts - 1, __ATOMIC_RELAXED);
    __atomic_store_n(&p->loops, p->loops + 1, __ATOMIC_RELEASE);
    pthread_cond_broadcast(&p->begin);
    pthread_mutex_unlock(&p->lock);
    run_part(part, shared, n, 0, parts);
    run_open_parts(p, n, part, shared, parts);
    wait_for_parts(p);
    pthread_mutex_unlock(&p->busy);
}

int nn_pool_start(nn_pool *p, int count) {
    memset(p, 0, sizeof *p);
    p->threads.run = share_out;
    if (pthread_mutex_init(&p->lock, NULL) != 0 || pthread_mutex_init(&p->busy, NULL) != 0 ||
        pthread_cond_init(&p->begin, NULL) != 0 || pthread_cond_init(&p->done, NULL) != 0)
        return 0;
    for (p->count = 1; p->count < count && p->count < NN_POOL_MOST; p->count++) {
        struct nn_worker *w = &p->workers[p->count];
        w->pool = p, w->number = p->count;
        if (pthread_create(&w->thread, NULL, work_for_pool, w) != 0) break;
    }
    return p->count;
}
void nn_pool_stop(nn_pool *p) {
    pthread_mutex_lock(&p->lock);
    p->stop = 1;
    __atomic_store_n(&p->loops, p->loops + 1, __ATOMIC_RELEASE); /* wakes the threads that spin */
    pthread_cond_broadcast(&p->begin);
    pthread_mutex_unlock(&p->lock);
    for (int k = 1; k < p->count; k++) pthread_join(p->workers[k].thread, NULL);
    pthread_mutex_destroy(&p->lock);
    pthread_mutex_destroy(&p->busy);
    pthread_cond_destroy(&p->begin);
    pthread_cond_destroy(&p->done);
}
