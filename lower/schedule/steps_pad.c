/* The step pad: extends a loop of a sum of products, or of a copy, to the next multiple of a number, so that tiles of
 * that size need no guards. Operands read as zero behind their ends, by the fill of their loads. Additional iterations
 * of a reduced axis add products of zeros, which may turn a sum of -0 into +0. Those of other axes store to new cells
 * of the kernel's own buffer, which only loads that expect zeros there may read. */
#include "lower/schedule/steps_util.h"

struct padding {
    struct step_run *s;
    const struct var *now;
    const struct buf *stored;
    expr from, to; /* extents */
};
static bool uses(struct padding *q, expr e) { return x_uses_var(q->s->c, e, q->now); }
/* The padded operand: zero where the loop runs past its end. The index must be bare, or it would not show where that
 * is. */
static expr padded_load(void *env, expr e) {
    struct padding *q = env;
    struct ctx *c = q->s->c;
    if (e->op != X_LOAD || e->has_fill || e->u.buf == q->stored || e->type == BOOL || e->type == STR) return NULL;
    for (int d = 0; d < e->n; d++)
        if (e->arg[d] == x_var(c, q->now) && e->u.buf->dims[d] == q->from)
            return x_load(c, e->u.buf, e->arg, e->n, x_num(c, dtype_value(e->u.buf->type), 0));
    return NULL;
}
static bool is_zero_behind(struct padding *q, expr e) {
    if (e->op != X_LOAD || !e->has_fill || e->arg[e->n - 1] != x_num(q->s->c, (enum dtype)e->type, 0)) return false;
    for (int d = 0; d < e->n - 1; d++)
        if (e->arg[d] == x_var(q->s->c, q->now) && e->u.buf->dims[d] == q->from) return true;
    return false;
}
static bool adds_zero(struct padding *q, const struct stmt *t) {
    expr v = t->u.store.value;
    bool product = is_fma_update(t) || (t->u.store.op == RED_SUM && v->op == X_MUL);
    return product && is_zero_behind(q, v->arg[0]) && is_zero_behind(q, v->arg[1]);
}
static bool pad_store(struct padding *q, struct stmt *t) {
    struct step_run *s = q->s;
    struct buf *b = t->u.store.buf;
    bool moves = false;
    q->stored = b;
    t->u.store.value = x_map(s->c, t->u.store.value, padded_load, q);
    for (int d = 0; d < t->u.store.n; d++) {
        if (!uses(q, t->u.store.idx[d])) continue;
        if (moves || !is_own_buf(b) || t->u.store.idx[d] != x_var(s->c, q->now))
            return step_refuse(s, "pad loops of a buffer of the kernel's own, before they are split",
                               "`%s` is no axis of a sum that is the kernel's own", q->now->name);
        moves = true;
        if (!grow_own_buf(s, b, d, q->to, is_zero_behind(q, t->u.store.value))) return false;
    }
    if (moves) return true;
    s->reassociates |= dtype_is_float(dtype_value(b->type));
    return adds_zero(q, t) ||
           step_refuse(s, "each factor must be a load whose index along a dim of that length is the loop's variable",
                       "what `%s` adds to `%s` behind the operands' ends is not a product of zeros", q->now->name,
                       b->name);
}
/* Cells that a layout adds around or between those of a buffer may hold anything, so they must not be read. */
static bool access_ok(struct padding *q, const struct access *a) {
    struct ctx *c = q->s->c;
    for (int d = 0; d < a->n; d++)
        if (uses(q, a->idx[d]) && !(a->load && a->load->has_fill) &&
            (!x_proves_inside(c, a->idx[d], a->buf->dims[d]) || (a->load && !buf_is_plain(a->buf))))
            return step_refuse(q->s, NULL, "`%s` has no cells for the iterations that `%s` would gain", a->buf->name,
                               q->now->name);
    return true;
}
static bool pad_one(struct step_run *s, struct stmt *loop, int64_t n) {
    const struct var *old = loop->u.loop.var;
    struct padding q = {.s = s, .from = old->extent};
    struct stmts all = {0};
    struct accesses a = {0};
    q.to = x_muli(s->c, x_divi(s->c, x_addi(s->c, q.from, n - 1), n), n);
    if (q.to == q.from) return true;
    if (!only_nests(s, loop)) return false;
    q.now = loop->u.loop.var = var_new(s->c, old->name, q.to);
    subst_var(s, &loop->u.loop.body, old, x_var(s->c, q.now));
    stmts_below(s, &loop->u.loop.body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_STORE && !pad_store(&q, all.v[k])) return false;
    accesses_of(s, &loop->u.loop.body, &a);
    for (int k = 0; k < a.n; k++)
        if (!access_ok(&q, &a.v[k])) return false;
    return true;
}
bool apply_pad(struct step_run *s) {
    struct stmts l = {0};
    int64_t n = s->step->u.pad.n;
    if (n < 1 || n > 4096) return step_usage(s);
    if (!find_loops(s, s->step->u.pad.loop, &l)) return false;
    for (int k = l.n - 1; k >= 0; k--)
        if (!pad_one(s, l.v[k], n)) return false;
    return true;
}
