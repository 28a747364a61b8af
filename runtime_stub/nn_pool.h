/* A pool of POSIX threads for nn_threads.h. The caller owns it:
 *
 *     static nn_pool pool;
 *     nn_pool_start(&pool, 4);
 *     config.threads = &pool.threads;
 *     ... init, run ...
 *     nn_pool_stop(&pool);
 *
 * Contexts may share a pool. One that finds it at work for another runs its loop in its own thread. */
#ifndef NN_POOL_H
#define NN_POOL_H
#include "nn_threads.h"
#include <pthread.h>
#include <stdint.h>

#define nn_pool_start nn1_pool_start
#define nn_pool_stop  nn1_pool_stop

#ifdef __cplusplus
extern "C" {
#endif

enum { NN_POOL_MOST = 64 }; /* threads, limited by the bits of `open` */

typedef struct nn_pool nn_pool;
struct nn_worker {
    nn_pool *pool;
    pthread_t thread;
    int number; /* 0 is the thread that gives the loop */
};
struct nn_pool {
    nn_threads threads; /* for the configuration; everything else is private */
    int count;          /* number of threads, including the one that gives the loop */
    pthread_mutex_t lock, busy;
    pthread_cond_t begin, done;
    unsigned loops; /* number of loops given so far */
    int parts, left, stop;
    uint64_t open; /* parts of the current loop that nobody has begun, as bits */
    nn_part *part; /* of the current loop */
    const void *shared;
    ptrdiff_t n;
    struct nn_worker workers[NN_POOL_MOST];
};

/* Starts a pool of `count` threads, including the caller's. Returns their number: fewer if the system does not provide
 * more; 0: none, and nothing to stop. */
int nn_pool_start(nn_pool *p, int count);
void nn_pool_stop(nn_pool *p); /* once nobody uses it any more */

#ifdef __cplusplus
}
#endif
#endif
