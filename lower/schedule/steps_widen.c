/* The step widen: a loop over channels that do not fill their last block is extended to all of it. The additional
 * iterations write only to pad lanes, the cells of a blocked layout behind the last channel. No cell of a tensor
 * depends on a pad lane, because the original iterations still read what they read before; so nothing needs a mask, not
 * even a division by zero. Only loops in which a check could fail there are refused. Buffers of the kernel's own get
 * cells for the new lanes. */
#include "lower/schedule/steps_util.h"

struct widening {
    struct step_run *s;
    const struct var *old, *now;
    int64_t from, to; /* extents */
};
static const char *const block_it = "block the channels of every parameter by that number first";

bool is_own_buf(const struct buf *b) {
    return b->scope != SC_PARAM && b->scope != SC_CONST && b->scope != SC_REGION && b->scope != SC_KEPT;
}
/* Physical dim k has cells of undefined value before the first one. */
static bool has_blank_border(struct ctx *c, const struct buf *b, int k) {
    int64_t step;
    expr before;
    for (int d = 0; d < b->nlogical && !b->fill; d++)
        if (x_linear_in(c, b->map[k], b->lvar[d], &step, &before) && step == 1 && !x_is(before, 0)) return true;
    return false;
}
/* Dim d of b holds `from` channels and then unused cells up to `to`. Is idx the position of channel `old`? */
static bool stores_channel(struct widening *w, const struct buf *b, const expr *idx, int d) {
    struct ctx *c = w->s->c;
    if (!x_is(b->logical[d], w->from) && !(is_own_buf(b) && x_is(b->logical[d], w->to))) return false;
    for (int k = 0; k < b->nd; k++) {
        expr at = x_subst1(c, b->map[k], b->lvar[d], x_var(c, w->old));
        if (x_uses_var(c, b->map[k], b->lvar[d]) ? at != idx[k] : x_uses_var(c, idx[k], w->old)) return false;
    }
    return true;
}
/* Drops the fill of loads that are proven to be inside. Statements are changed in place: callers keep pointers to
 * them. */
static expr refilled_load(void *env, struct buf *b, expr *idx, int n, expr fill) {
    struct ctx *c = ((struct step_run *)env)->c;
    return x_load(c, b, idx, n, fill && buf_proves_inside(c, b, idx) ? NULL : fill);
}
bool grow_own_buf(struct step_run *s, struct buf *b, int d, expr n, bool zero) {
    struct accesses a = {0};
    if (b->dims[d] == n) return true;
    if (b->nd != b->nlogical || b->map[d] != x_var(s->c, b->lvar[d]))
        return step_refuse(s, "widen and pad before the layout of buffers of the kernel's own", "`%s` has a layout",
                           b->name);
    accesses_of(s, &s->p->body, &a);
    for (int k = 0; k < a.n; k++)
        if (a.v[k].buf == b && a.v[k].load && a.v[k].load->has_fill && !x_proves_lt(s->c, a.v[k].idx[d], b->dims[d]) &&
            !(zero && a.v[k].load->arg[b->nd] == x_num(s->c, dtype_value(b->type), 0)))
            return step_refuse(s, NULL, "cells behind the end of `%s` are read as its fill value", b->name);
    b->dims = exprs_copy(s->c, b->dims, b->nd);
    b->logical = exprs_copy(s->c, b->logical, b->nlogical);
    const struct var **lvar = NEWN(&s->c->arena, const struct var *, b->nlogical);
    for (int k = 0; k < b->nlogical; k++) lvar[k] = k == d ? var_new(s->c, b->lvar[k]->name, n) : b->lvar[k];
    b->map = exprs_copy(s->c, b->map, b->nd);
    b->lvar = lvar;
    b->map[d] = x_var(s->c, lvar[d]);
    b->dims[d] = b->logical[d] = n;
    for (struct stmt *t = s->p->body.first; t; t = t->next) map_loads_in(s, t, b, refilled_load, s);
    return true;
}
bool only_nests(struct step_run *s, struct stmt *loop) {
    const char *step = s->rows[s->step->kind].name, *name = loop->u.loop.var->name;
    struct stmts all = {0};
    if (loop->u.loop.kind != LK_SERIAL)
        return step_refuse(s, arena_printf(&s->c->arena, "%s before kind", step), "`%s` is a %s loop already", name,
                           loop_kind_name(loop->u.loop.kind));
    stmts_below(s, &loop->u.loop.body, &all);
    for (int k = 0; k < all.n; k++) {
        const struct stmt *t = all.v[k];
        if (t->kind != S_FOR && t->kind != S_STORE)
            return step_refuse(s, arena_printf(&s->c->arena, "%s first", step), "there is %s in `%s`", stmt_what(t),
                               name);
        if (t->kind == S_FOR && x_uses_var(s->c, t->u.loop.var->extent, loop->u.loop.var))
            return step_refuse(s, NULL, "the extent of `%s` depends on `%s`", t->u.loop.var->name, name);
    }
    return true;
}
static bool store_ok(struct widening *w, const struct stmt *t) {
    struct step_run *s = w->s;
    struct buf *b = t->u.store.buf;
    for (int d = 0; d < b->nlogical; d++)
        if (stores_channel(w, b, t->u.store.idx, d))
            return !is_own_buf(b) || grow_own_buf(s, b, d, x_int(s->c, w->to), false);
    return step_refuse(s, block_it, "iterations that `%s` would gain store to cells of `%s` that are in use",
                       w->old->name, b->name);
}
/* A value for each channel, computed by another kernel: not in blocks, and indexed by the channel alone. */
static bool is_channel_vector(const struct widening *w, const struct access *a) {
    struct ctx *c = w->s->c;
    bool found = false;
    for (int k = 0; k < a->n; k++) {
        bool channel = a->idx[k] == x_var(c, w->old) && x_is(a->buf->dims[k], w->from);
        if (!channel && !x_is(a->buf->dims[k], 1)) return false;
        found |= channel;
    }
    return found && a->load;
}
static bool access_ok(struct widening *w, const struct access *a) {
    for (int k = 0; k < a->n; k++) {
        expr e = x_subst1(w->s->c, a->idx[k], w->old, x_var(w->s->c, w->now));
        if (e == a->idx[k] || (a->load && a->load->has_fill)) continue;
        if (x_proves_inside(w->s->c, e, a->buf->dims[k]) && !has_blank_border(w->s->c, a->buf, k)) continue;
        if (is_channel_vector(w, a)) continue;
        return step_refuse(w->s, block_it, "`%s` has no cells for the iterations that `%s` would gain", a->buf->name,
                           w->old->name);
    }
    return true;
}
/* Such a vector reads as 0 in the new iterations past its end. */
static expr load_inside(void *env, struct buf *b, expr *idx, int n, expr fill) {
    const struct widening *w = env;
    struct ctx *c = w->s->c;
    bool inside = fill || buf_proves_inside(c, b, idx);
    return x_load(c, b, idx, n, inside ? fill : x_num(c, dtype_value(b->type), 0));
}
/* Does e have no check that depends on the channel? It could fail in a pad lane, although nothing uses that lane. */
static bool unchecked(void *env, expr e) {
    const struct widening *w = env;
    return e->op != X_GUARD || !x_uses_var(w->s->c, e, w->old);
}
static bool checks_ok(struct widening *w, const struct stmt *t) {
    bool ok = x_visit(t->u.store.value, unchecked, w);
    for (int k = 0; k < t->u.store.buf->nd; k++) ok &= x_visit(t->u.store.idx[k], unchecked, w);
    return ok || step_refuse(w->s, NULL, "a check would fail in iterations that `%s` would gain", w->old->name);
}
static bool widen_one(struct step_run *s, struct stmt *loop, int64_t n) {
    const struct var *old = loop->u.loop.var;
    struct widening w = {.s = s, .old = old};
    struct stmts all = {0};
    struct accesses a = {0};
    if (!x_is_int(old->extent, &w.from)) return step_refuse(s, NULL, "the extent of `%s` is not constant", old->name);
    w.to = (w.from + n - 1) / n * n;
    if (w.to == w.from) return true;
    w.now = var_new(s->c, old->name, x_int(s->c, w.to));
    if (!only_nests(s, loop)) return false;
    stmts_below(s, &loop->u.loop.body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_STORE && (!checks_ok(&w, all.v[k]) || !store_ok(&w, all.v[k]))) return false;
    accesses_of(s, &loop->u.loop.body, &a);
    for (int k = 0; k < a.n; k++)
        if (!access_ok(&w, &a.v[k])) return false;
    struct stmt *wide = s_for(s->c, w.now, LK_SERIAL);
    wide->u.loop.outline = loop->u.loop.outline;
    block_move(&wide->u.loop.body, &loop->u.loop.body);
    stmt_insert_before(loop, wide);
    stmt_remove(loop);
    subst_var(s, &wide->u.loop.body, old, x_var(s->c, w.now));
    for (int k = 0; k < a.n; k++)
        if (a.v[k].load && is_channel_vector(&w, &a.v[k])) map_loads_in(s, wide, a.v[k].buf, load_inside, &w);
    return true;
}
bool apply_widen(struct step_run *s) {
    struct stmts l = {0};
    int64_t n = s->step->u.widen.n;
    if (n < 1 || n > 4096) return step_usage(s);
    if (!find_loops(s, s->step->u.widen.loop, &l)) return false;
    for (int k = l.n - 1; k >= 0; k--)
        if (!widen_one(s, l.v[k], n)) return false;
    return true;
}
