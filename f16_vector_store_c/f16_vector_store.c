/* f16_vector_store: the program around the kernels. How to use it: f16_vector_store.h. */
#include "f16_vector_store.h"
#include <string.h>
#include "f16_vector_store_kernels.h"

/* A buffer at its place in the arena; a constant at its place in the weights. */
#define AT(type, offset) ((type *)(void *)(arena + (offset)))
#define WEIGHT(type, offset) ((const type *)(const void *)(m->weights + (offset)))

int f16_vector_store_init(f16_vector_store *m, const f16_vector_store_config *config) {
    if (!m) return NN_EARG;
    memset(m, 0, sizeof *m);
    if (!config) return nn_stop(&m->error, NN_EARG, "the configuration is missing", NULL);
    m->config = *config;
    if (m->config.max_iterations <= 0) m->config.max_iterations = 2147483647;
    const char *const needs = "avx512f avx512bw avx512dq avx512vl fma f16c";
    const char *const lacks = nn_cpu_lacks(needs, m->config.without);
    if (lacks) return nn_stop(&m->error, NN_ETARGET, lacks, NULL);
    if ((uintptr_t)config->arena % 64 != 0) return nn_stop(&m->error, NN_EARG, "the arena is not aligned to 64 bytes",
            NULL);
    m->ready = 1;
    return NN_OK;
}

/* The model: kernels in order, buffers at their places in the arena. */
static int run(f16_vector_store *m, const f16_vector_store_inputs *in, f16_vector_store_outputs *out) {
    if (!in->x) return nn_stop(&m->error, NN_EARG, "input x is missing", NULL);
    if (!out->s) return nn_stop(&m->error, NN_EARG, "output s is missing", NULL);
    f16_vector_store_sum(in->x, out->s);
    return NN_OK;
}

int f16_vector_store_run(f16_vector_store *m, const f16_vector_store_inputs *in, f16_vector_store_outputs *out) {
    if (!m) return NN_EARG;
    memset(&m->error, 0, sizeof m->error);
    if (!m->ready) return nn_stop(&m->error, NN_EARG, "f16_vector_store_init has not succeeded", NULL);
    if (!in || !out) return nn_stop(&m->error, NN_EARG, "inputs or outputs are missing", NULL);
    return run(m, in, out);
}
