/* ---- threads */
#include "nn_pool.h"
static nn_pool io_pool;
static inline void io_threads_end(void) { nn_pool_stop(&io_pool); }
/* n threads run parts of kernels, until the program ends. */
static inline void io_threads(struct gcc2nn_config_v1 *config, int n) {
    if (n < 2 || nn_pool_start(&io_pool, n) == 0) return;
    config->threads = &io_pool.threads;
    atexit(io_threads_end);
}
