/* symbolic: the program around the kernels. How to use it: symbolic.h. */
#include "symbolic.h"
#include <string.h>
#include "symbolic_kernels.h"

/* Weights, by their place:
 *          64  b: f32[3]
 */

/* A buffer at its place in the arena; a constant at its place in the weights. */
#define AT(type, offset) ((type *)(void *)(arena + (offset)))
#define WEIGHT(type, offset) ((const type *)(const void *)(m->weights + (offset)))

/* Where every buffer lies in the arena, for these dims: above those that live at the same time and were placed
 * below it. Returns the bytes of all, -1 when dims are out of range. */
static int64_t plan(const symbolic_dims *d, int64_t *at) {
    const int64_t N = d->N;
    int64_t end[1], total = 64;
    int over = 0;
    if (N < 0 || N > 2147483647) return -1;
    at[0] = 0;    /* p: f32[N, 3] */
    end[0] = nn_add64(at[0], (N * 3 + 15) / 16 * 64, &over);
    total = nn_max64(total, end[0]);
    return over || (uint64_t)total > (uint64_t)(SIZE_MAX / 2) ? -1 : total;
}
size_t symbolic_arena(const symbolic_dims *dims) {
    int64_t at[2];
    const int64_t total = dims ? plan(dims, at) : -1;
    return total < 0 ? 0 : (size_t)total;
}

int symbolic_init(symbolic *m, const symbolic_config *config) {
    if (!m) return NN_EARG;
    memset(m, 0, sizeof *m);
    if (!config) return nn_stop(&m->error, NN_EARG, "the configuration is missing", NULL);
    m->config = *config;
    if (m->config.max_iterations <= 0) m->config.max_iterations = 2147483647;
    m->total = -1;    /* no plan yet */
    m->weights = config->weights ? (const unsigned char *)config->weights : (const unsigned char *)&symbolic_weights;
    if (!m->weights || (uintptr_t)m->weights % 8 != 0) return nn_stop(&m->error, NN_EARG,
            "the weights are missing or not aligned", NULL);
    /* How the weights begin: format and version, number of entries, bytes, hash. */
    static const unsigned char head[32] = {'N', 'N', 'W', 'E', 'I', 'G', 'H', 'T', 1, 0, 0, 0, 1, 0, 0, 0, 128, 0, 0,
            0, 0, 0, 0, 0, 47, 49, 147, 18, 94, 96, 100, 249};
    if (config->weights && config->weights_size < SYMBOLIC_WEIGHTS_BYTES) return nn_stop(&m->error, NN_EWEIGHTS,
            "the weights are incomplete", NULL);
    if (memcmp(m->weights, head, sizeof head) != 0) return nn_stop(&m->error, NN_EWEIGHTS,
            "the weights are not those of this model", NULL);
    if ((uintptr_t)config->arena % 64 != 0) return nn_stop(&m->error, NN_EARG, "the arena is not aligned to 64 bytes",
            NULL);
    m->ready = 1;
    return NN_OK;
}

/* The model: kernels in order, buffers at their places in the arena. */
static int run(symbolic *m, const symbolic_inputs *in, symbolic_outputs *out) {
    const int64_t N = in->dims.N;
    unsigned char *const arena = (unsigned char *)m->config.arena;
    if (!(m->total >= 0 && m->dims.N == in->dims.N)) {
        m->dims = in->dims;
        m->total = plan(&m->dims, m->at);
    }
    if (m->total < 0) return nn_stop(&m->error, NN_EDIMS, "a dimension is out of range", NULL);
    if (!m->config.arena || m->config.arena_size < (size_t)m->total) {
        m->error.need = (size_t)m->total;
        return nn_stop(&m->error, NN_EARENA, "the arena is too small", NULL);
    }
    if (!in->x && (N * 3) > 0) return nn_stop(&m->error, NN_EARG, "input x is missing", NULL);
    if (!out->y && (N * 6) > 0) return nn_stop(&m->error, NN_EARG, "output y is missing", NULL);
    if (!out->n) return nn_stop(&m->error, NN_EARG, "output n is missing", NULL);
    float *const p = AT(float, m->at[0]);
    symbolic_k0_add(in->x, WEIGHT(float, 64), p, (ptrdiff_t)N);
    symbolic_k1_concat(out->y, p, in->x, (ptrdiff_t)N);
    symbolic_k2_shape(out->n, (ptrdiff_t)N);
    return NN_OK;
}

int symbolic_run(symbolic *m, const symbolic_inputs *in, symbolic_outputs *out) {
    if (!m) return NN_EARG;
    memset(&m->error, 0, sizeof m->error);
    if (!m->ready) return nn_stop(&m->error, NN_EARG, "symbolic_init has not succeeded", NULL);
    if (!in || !out) return nn_stop(&m->error, NN_EARG, "inputs or outputs are missing", NULL);
    for (;;) {
        int status = run(m, in, out);
        if (status != NN_EARENA || !m->config.grow) return status;
        if (!m->config.grow(m->config.user, m->error.need, &m->config.arena, &m->config.arena_size)) return status;
        if (m->config.arena_size < m->error.need || (uintptr_t)m->config.arena % 64 != 0) return status;
        memset(&m->error, 0, sizeof m->error);
    }
}
