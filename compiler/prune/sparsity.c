/* Counting zeros; see sparsity.h. */
#include "compiler/prune/sparsity.h"
#include "compiler/prune/channels.h"
#include <math.h>

static double greatest(const struct tensor *t) {
    double most = 0;
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) most = fmax(most, fabs(tensor_f(t, i)));
    return most;
}
static int64_t count_true(const bool *v, int64_t n) {
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++) count += v[k];
    return count;
}
/* Counts the slices along an axis that are zero. */
static int64_t zero_slices(struct ctx *c, const struct tensor *t, const struct op_channels *at, int64_t *all) {
    *all = op_channel_count(t, at);
    bool *zero = NEWN(&c->arena, bool, *all + 1);
    for (int64_t k = 0; k < *all; k++) zero[k] = true;
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) zero[op_channel_of(t, at, i)] &= tensor_f(t, i) == 0;
    return count_true(zero, *all);
}
static void count_blocks(struct ctx *c, const struct tensor *t, struct sparsity *s) {
    int64_t rows = t->dims[0], columns = rows ? s->count / rows : 0, wide = (columns + SPARSE_BLOCK - 1) / SPARSE_BLOCK;
    s->blocks = (rows + SPARSE_BLOCK - 1) / SPARSE_BLOCK * wide;
    bool *zero = NEWN(&c->arena, bool, s->blocks + 1);
    for (int64_t k = 0; k < s->blocks; k++) zero[k] = true;
    for (int64_t i = 0; i < s->count; i++)
        zero[i / columns / SPARSE_BLOCK * wide + i % columns / SPARSE_BLOCK] &= tensor_f(t, i) == 0;
    s->zero_blocks = count_true(zero, s->blocks);
}
static struct sparsity count(struct graph *g, struct node *n, const struct value *w, double threshold) {
    const struct tensor *t = w->init;
    struct sparsity s = {.w = w, .n = n, .count = tensor_count(t)};
    struct product q;
    struct op_channels rows = {0, 1}, out = rows, in = {-1, 1};
    if (product_of(n, &q) && q.w == t) out = q.lie.out, in = q.lie.in;
    if (threshold < 0) threshold = greatest(t) / 1000;
    for (int64_t i = 0; i < s.count; i++) {
        double v = fabs(tensor_f(t, i));
        s.zeros += v == 0, s.near += v <= threshold;
    }
    s.zero_filters = zero_slices(g->ctx, t, &out, &s.filters);
    if (in.axis >= 0) s.zero_channels = zero_slices(g->ctx, t, &in, &s.channels);
    count_blocks(g->ctx, t, &s);
    return s;
}
static bool is_weights(const struct value *w) {
    const struct tensor *t = w ? w->init : NULL;
    return t && t->rank >= 2 && t->type != STR && t->type != BOOL && !dtype_is_complex(t->type) && tensor_count(t) > 1;
}
/* Calls f for each, with the first node that reads it. */
static void each_weights(struct graph *g, void (*f)(void *env, struct node *n, const struct value *w), void *env) {
    struct map met = {.arena = &g->ctx->arena};
    for (struct node *n = g->top->first; n; n = n->next)
        for (int k = 0; k < n->ins.n; k++) {
            const struct value *w = n->ins.v[k];
            if (!is_weights(w) || map_get(&met, PKEY(w))) continue;
            map_put(&met, PKEY(w), (void *)(uintptr_t)w);
            f(env, n, w);
        }
}
struct counting {
    struct graph *g;
    double threshold;
    sparsities all;
};
static void add(void *env, struct node *n, const struct value *w) {
    struct counting *q = env;
    PUSH(&q->g->ctx->arena, &q->all, count(q->g, n, w, q->threshold));
}
sparsities sparsity_of(struct graph *g, double threshold) {
    struct counting q = {.g = g, .threshold = threshold};
    each_weights(g, add, &q);
    return q.all;
}
static void add_bytes(void *env, struct node *n, const struct value *w) {
    (void)n;
    *(int64_t *)env += dtype_packed_bytes(w->init->type, tensor_count(w->init));
}
int64_t weights_bytes_of(struct graph *g) {
    int64_t bytes = 0;
    each_weights(g, add_bytes, &bytes);
    return bytes;
}
