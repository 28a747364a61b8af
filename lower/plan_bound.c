/* A lower bound for the arena: the logical elements that are alive at each step of the entry, computed by separate
 * liveness code (no lane padding, halo, alignment, scratch of kernels). Reported beside the plan's peak; see
 * memory_plan.h. */
#include "lower/memory_plan.h"

struct life {
    struct buf *buf;
    const struct buf *of;
    int from, to;
    bool read; /* by anything; scratch of a kernel and unused results are not */
};
struct bound {
    struct ctx *c;
    VEC(struct life) lives;
    int step;
    int64_t (*reference)(void *env, const struct sym *s);
    void *env;
};
static struct life *life_of(struct bound *b, const struct buf *buf) {
    for (int k = 0; k < b->lives.n; k++)
        if (b->lives.v[k].buf == buf) return &b->lives.v[k];
    return NULL;
}
static void seen(struct bound *b, const struct buf *buf, bool read) {
    struct life *l = life_of(b, buf);
    while (l && l->of) l = life_of(b, l->of);
    if (!l) return;
    l->read |= read;
    if (l->from < 0) l->from = b->step;
    l->to = b->step;
}
static void seen_load(void *env, expr load) { seen(env, load->u.buf, true); }
static void seen_loads(void *env, expr e) { x_each_load(e, seen_load, env); }
static void steps(struct bound *b, struct block *block) {
    for (struct stmt *s = block->first; s; s = s->next) {
        struct block *parts[2];
        int n = stmt_blocks(s, parts), outer = b->lives.n, start = ++b->step;
        struct life l = {.from = -1, .to = -1};
        if (s->kind == S_ALLOC && s->u.alloc.buf->scope != SC_REGION && s->u.alloc.buf->scope != SC_KEPT) {
            l.buf = s->u.alloc.buf;
            PUSH(&b->c->arena, &b->lives, l);
        } else if (s->kind == S_VIEW) {
            l.buf = s->u.view.buf, l.of = s->u.view.of;
            PUSH(&b->c->arena, &b->lives, l);
        }
        struct named_buf q;
        for (int k = 0; stmt_buf(s, k, &q); k++)
            if (q.use & (BU_READ | BU_WRITTEN)) seen(b, q.buf, q.use & BU_READ);
        stmt_exprs(s, seen_loads, b);
        for (int k = 0; k < n; k++) steps(b, parts[k]);
        if (s->kind != S_FOR && s->kind != S_WHILE) continue;
        for (int k = 0; k < outer; k++) /* what the loop reads again is alive throughout */
            if (b->lives.v[k].to >= start) b->lives.v[k].to = b->step;
    }
}
static bool leaf(void *env, expr e, int64_t *v) {
    struct bound *b = env;
    if (e->op != X_SYM) return false;
    *v = b->reference ? b->reference(b->env, e->u.sym) : 1;
    return true;
}
static int64_t logical_bytes(struct bound *b, const struct buf *buf) {
    int64_t n = dtype_bytes(buf->type), d;
    for (int k = 0; k < buf->nlogical; k++) n *= x_eval_int(buf->logical[k], leaf, b, &d) ? d : 0;
    return n;
}
int64_t plan_bound(struct module *m, int64_t (*reference)(void *env, const struct sym *s), void *env) {
    struct bound b = {.c = m->ctx, .reference = reference, .env = env};
    steps(&b, &m->entry->body);
    int64_t most = 0, *alive = NEWN(&m->ctx->arena, int64_t, b.step + 2);
    for (int k = 0; k < b.lives.n; k++) {
        struct life *l = &b.lives.v[k];
        if (l->of || l->from < 0 || !l->read) continue;
        int64_t bytes = logical_bytes(&b, l->buf);
        alive[l->from] += bytes;
        alive[l->to + 1] -= bytes;
    }
    for (int k = 1; k <= b.step; k++) {
        alive[k] += alive[k - 1];
        if (alive[k] > most) most = alive[k];
    }
    return most;
}
