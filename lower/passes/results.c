/* Pass `results`: a result whose size the run finds is allocated before the first statement that uses it, or at the
 * end. See passes.h. */
#include "lower/passes/passes.h"

/* `bound`: for each parameter of the entry, whether it is allocated on every path to the current statement. */
struct results {
    struct ctx *c;
    const struct proc *entry;
};
static bool *copy(struct results *r, const bool *bound) {
    return arena_copy(&r->c->arena, bound, sizeof *bound * (size_t)r->entry->params.n);
}
static struct buf *result(const struct results *r, int k) { return r->entry->params.v[k].buf; }
static bool waits(const struct results *r, const bool *bound, int k) {
    return !bound[k] && r->entry->params.v[k].dir == DIR_OUT && buf_is_produced(result(r, k));
}
static struct stmt *bind(struct results *r, bool *bound, int k) {
    struct stmt *s = s_new(r->c, S_BIND);
    s->u.alloc.buf = result(r, k);
    bound[k] = true;
    return s;
}
static void in_block(struct results *r, struct block *b, bool *bound);
/* A part may not run; so what it allocates counts afterwards only if there are two parts, and both allocate it. */
static void in_parts(struct results *r, struct block **parts, int n, bool *bound) {
    bool *one = copy(r, bound), *other = copy(r, bound);
    in_block(r, parts[0], one);
    if (n < 2) return;
    in_block(r, parts[1], other);
    for (int k = 0; k < r->entry->params.n; k++) bound[k] = one[k] && other[k];
}
static void in_block(struct results *r, struct block *b, bool *bound) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *parts[2];
        int n = stmt_blocks(s, parts);
        if (n) in_parts(r, parts, n, bound);
        for (int k = 0; k < r->entry->params.n && !n; k++) {
            if (!waits(r, bound, k) || !stmt_uses(s, result(r, k), NULL)) continue;
            if (s->kind == S_BIND) bound[k] = true;
            else stmt_insert_before(s, bind(r, bound, k));
        }
    }
}
void pass_results(struct module *m, const struct printing *o) {
    (void)o;
    if (!m->entry || !m->entry->params.n) return;
    struct results r = {m->ctx, m->entry};
    bool *bound = NEWN(&m->ctx->arena, bool, m->entry->params.n);
    in_block(&r, &m->entry->body, bound);
    for (int k = 0; k < m->entry->params.n; k++)
        if (waits(&r, bound, k)) block_append(&m->entry->body, bind(&r, bound, k));
}
