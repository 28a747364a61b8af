/* Steps that make new stages: cache_read (a copy of an operand), cache_write (a reduction in a place of its own, then a
 * copy) and rfactor (partial results side by side). The new stages are pristine; compute_at gives them their place. */
#include "lower/schedule/steps_util.h"
#include <string.h>

static bool free_name(struct step *s, const char *name) {
    struct buf **v;
    int n;
    bufs_named(s, name, &v, &n);
    if (n || proc_buf(s->p, name)) return step_refuse(s, NULL, "there is a buffer `%s` already", name);
    for (const char *p = name; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *p))
            return step_refuse(s, NULL, "`%s` is no name for a buffer", name);
    return true;
}
static const char *loop_name(struct ctx *c, const char *buf, const char *axis) {
    return internf(c->names, "%s.%s", buf, axis);
}
/* The loop of the stage's nest k that is axis d of its buffer; NULL if that index is the constant 0. */
static const struct var *axis_var(const struct pristine *p, int k, int d) {
    expr e = p->store[k]->u.store.idx[d];
    return e->op == X_VAR ? e->u.var : NULL;
}

/* ---- cache_read */
bool apply_cache_read(struct step *s) {
    struct ctx *c = s->c;
    struct stmts all = {0};
    struct buf **of, **from;
    int nof, nfrom, done = 0;
    if (!words_ok(s, 3, 3)) return false;
    const char *name = s->w[1].text;
    if (!find_buf(s, s->w[0].text) || !find_buf(s, s->w[2].text) || !free_name(s, name)) return false;
    bufs_named(s, s->w[0].text, &from, &nfrom);
    bufs_named(s, s->w[2].text, &of, &nof);
    if (nfrom != 1)
        return step_refuse(s, "cache_read before compute_at makes several of it", "`%s` stands for %d buffers",
                           s->w[0].text, nfrom);
    struct buf *b = from[0];
    stmts_below(s, &s->p->body, &all);
    struct stmt *first = NULL;
    for (int k = 0; k < all.n; k++) {
        struct stmt *t = all.v[k];
        bool reader = false;
        for (int j = 0; j < nof; j++) reader |= t->kind == S_STORE && t->u.store.buf == of[j];
        if (reader && loads_buf(s, t, b) && !first) first = top_of(t);
        if (t->kind == S_ALLOC && t->u.alloc.buf == b && stmt_parent(t))
            return step_refuse(s, NULL, "`%s` exists only inside a loop", b->name);
    }
    if (!first) return step_refuse(s, NULL, "the stage of `%s` does not read `%s`", s->w[2].text, b->name);
    for (struct stmt *t = first; t; t = t->next)
        if (stmt_stores_to(t, b))
            return step_refuse(s, NULL, "`%s` is still written when `%s` reads it", b->name, s->w[2].text);
    struct buf *copy = buf_new(c, s->p, name, b->type, SC_ARENA, b->dims, b->nd);
    copy->fill = b->fill;
    const struct var **v = NEWN(&s->tmp, const struct var *, b->nd);
    expr *idx = NEWN(&s->tmp, expr, b->nd);
    for (int d = 0; d < b->nd; d++) {
        v[d] = var_new(c, loop_name(c, name, arena_printf(&s->tmp, "d%d", d)), b->dims[d]);
        idx[d] = x_var(c, v[d]);
    }
    for (int k = 0; k < all.n; k++) {
        struct redirect r = {c, copy};
        for (int j = 0; j < nof; j++)
            if (all.v[k]->kind == S_STORE && all.v[k]->u.store.buf == of[j])
                map_loads_in(s, all.v[k], b, redirected_load, &r), done++;
    }
    stmt_insert_before(first, s_alloc(c, copy));
    stmt_insert_before(
        first, loops_around(c, v, b->nd, s_store(c, copy, idx, b->nd, RED_NONE, x_load(c, b, idx, b->nd, NULL))));
    return done > 0;
}

/* ---- cache_write */
/* The stage's own loads and stores of `from` go to `to`. */
static void retarget(struct step *s, struct pristine *p, struct buf *to) {
    struct redirect r = {s->c, to};
    for (int k = 0; k < p->n; k++) {
        map_loads_in(s, p->nest[k], p->buf, redirected_load, &r);
        p->store[k]->u.store.buf = to;
    }
}
static void rename_loops(struct step *s, struct pristine *p, const char *to) {
    size_t n = strlen(p->buf->base);
    for (int k = 0; k < p->n; k++)
        for (int j = 0; j < p->chain[k].n; j++) {
            struct stmt *f = p->chain[k].v[j];
            const struct var *old = f->u.loop.var;
            if (strncmp(old->name, p->buf->base, n) || old->name[n] != '.') continue;
            f->u.loop.var = var_new(s->c, loop_name(s->c, to, old->name + n + 1), old->extent);
            subst_var(s, &f->u.loop.body, old, x_var(s->c, f->u.loop.var));
        }
}
bool apply_cache_write(struct step *s) {
    struct ctx *c = s->c;
    struct pristine p;
    if (!words_ok(s, 2, 2) || !free_name(s, s->w[1].text) || !find_pristine(s, s->w[0].text, true, &p)) return false;
    const char *name = s->w[1].text;
    struct buf *b = p.buf;
    if (b->scope == SC_PARAM && p.n == 1 && loads_buf(s, p.nest[0], b))
        return step_refuse(s, NULL, "the stage of `%s` reads `%s` itself", b->name, b->name);
    struct buf *to = buf_new(c, s->p, name, b->type, SC_ARENA, b->dims, b->nd);
    const struct var **v = NEWN(&s->tmp, const struct var *, b->nd);
    expr *idx = NEWN(&s->tmp, expr, b->nd);
    for (int d = 0; d < b->nd; d++) {
        const struct var *a = axis_var(&p, p.n - 1, d);
        v[d] = var_new(c, a ? a->name : loop_name(c, b->base, arena_printf(&s->tmp, "d%d", d)), b->dims[d]);
        idx[d] = x_var(c, v[d]);
    }
    retarget(s, &p, to);
    stmt_insert_before(p.nest[0], s_alloc(c, to));
    stmt_insert_after(p.nest[p.n - 1],
                      loops_around(c, v, b->nd, s_store(c, b, idx, b->nd, RED_NONE, x_load(c, to, idx, b->nd, NULL))));
    rename_loops(s, &p, name);
    return true;
}

/* ---- rfactor */
/* What is left of the reduction over `loop` behind its last whole group of f: one term after the other, in order. */
static void add_rest(struct step *s, const struct pristine *p, int u, struct stmt *loop, int64_t f) {
    struct ctx *c = s->c;
    const struct var *red = loop->u.loop.var,
                     *rest = var_new(c, loop_name(c, p->buf->base, "rest"), x_modi(c, red->extent, f));
    const struct stmt *st = p->store[u];
    struct vars loops = {0};
    struct subst sub = {{.arena = &s->tmp}};
    expr *idx = NEWN(&s->tmp, expr, p->buf->nd);
    map_put(&sub.map, PKEY(red), (void *)x_add(c, x_muli(c, x_divi(c, red->extent, f), f), x_var(c, rest)));
    for (int j = 0; j < p->chain[u].n; j++) {
        const struct var *old = p->chain[u].v[j]->u.loop.var, *v = rest;
        if (old != red) {
            v = var_new(c, old->name, x_subst(c, old->extent, &sub));
            map_put(&sub.map, PKEY(old), (void *)x_var(c, v));
        }
        PUSH(&s->tmp, &loops, v);
    }
    for (int d = 0; d < p->buf->nd; d++) idx[d] = x_subst(c, st->u.store.idx[d], &sub);
    struct stmt *t = s_store(c, p->buf, idx, p->buf->nd, st->u.store.op, x_subst(c, st->u.store.value, &sub));
    stmt_insert_before(p->nest[u], loops_around(c, loops.v, loops.n, t));
}
bool apply_rfactor(struct step *s) {
    struct ctx *c = s->c;
    struct pristine p;
    int64_t f;
    if (!words_ok(s, 4, 4)) return false;
    if (!word_int(s->w[2].text, &f) || f < 1) return step_usage(s);
    if (!free_name(s, s->w[3].text) || !find_pristine(s, s->w[0].text, true, &p)) return false;
    const char *name = s->w[3].text;
    struct buf *b = p.buf;
    if (p.n < 2) return step_refuse(s, NULL, "`%s` is no reduction", b->name);
    struct stmt *loop = NULL;
    int u = 1; /* the update that has the loop */
    for (int j = 1; j < p.n; j++)
        for (int k = 0; k < p.chain[j].n; k++)
            if (!loop && is_named(p.chain[j].v[k], s->w[1].text)) loop = p.chain[j].v[k], u = j;
    struct stmt *st = p.store[u];
    enum red_op op = update_op(st);
    bool fma = is_fma_update(st), real = dtype_is_float(dtype_value(b->type));
    if (!loop) return step_refuse(s, NULL, "the reduction of `%s` has no loop `%s`", b->name, s->w[1].text);
    const struct var *red = loop->u.loop.var;
    for (int d = 0; d < b->nd; d++)
        if (axis_var(&p, u, d) == red)
            return step_refuse(s, NULL, "`%s` is an axis of `%s`, not reduced", red->name, b->name);
    if (b->type != dtype_value(b->type))
        return step_refuse(s, "reduce in a wider type (cache_write does not change it)",
                           "`%s` is stored as %s, which rounds each partial result", b->name, dtype_name(b->type));
    if (op == RED_SUM || op == RED_PROD) s->reassociates |= real;

    /* new[axes, lane] over k and the other reduced loops */
    int nd = b->nd;
    expr *dims = NEWN(&s->tmp, expr, nd + 1), *idx = NEWN(&s->tmp, expr, nd + 1), *fin = NEWN(&s->tmp, expr, nd + 1);
    struct vars axes = {0}, outer = {0}, last = {0};
    struct subst sub = {{.arena = &s->tmp}};
    for (int d = 0; d < nd; d++) {
        const struct var *a = axis_var(&p, u, d);
        const char *axis = a ? tail_name(a->name) : arena_printf(&s->tmp, "d%d", d);
        const struct var *v = var_new(c, loop_name(c, name, axis), b->dims[d]),
                         *w = var_new(c, a ? a->name : loop_name(c, b->base, axis), b->dims[d]);
        dims[d] = b->dims[d];
        idx[d] = x_var(c, v);
        fin[d] = x_var(c, w);
        if (a) map_put(&sub.map, PKEY(a), (void *)idx[d]);
        PUSH(&s->tmp, &axes, v);
        PUSH(&s->tmp, &last, w);
    }
    const struct var *lane = var_new(c, loop_name(c, name, "lane"), x_int(c, f)),
                     *k = var_new(c, loop_name(c, name, "k"), x_divi(c, red->extent, f));
    const struct var *lane2 = var_new(c, loop_name(c, b->base, "lane"), x_int(c, f));
    dims[nd] = x_int(c, f);
    idx[nd] = x_var(c, lane);
    fin[nd] = x_var(c, lane2);
    PUSH(&s->tmp, &axes, lane);
    PUSH(&s->tmp, &last, lane2);
    for (int j = 0; j < axes.n; j++) PUSH(&s->tmp, &outer, axes.v[j]);
    PUSH(&s->tmp, &outer, k);
    map_put(&sub.map, PKEY(red), (void *)x_add(c, x_muli(c, x_var(c, k), f), x_var(c, lane)));
    for (int j = 0; j < p.chain[u].n; j++) {
        const struct var *old = p.chain[u].v[j]->u.loop.var;
        bool axis = old == red;
        for (int d = 0; d < nd; d++) axis |= axis_var(&p, u, d) == old;
        if (axis) continue;
        const struct var *v = var_new(c, loop_name(c, name, tail_name(old->name)), x_subst(c, old->extent, &sub));
        map_put(&sub.map, PKEY(old), (void *)x_var(c, v));
        PUSH(&s->tmp, &outer, v);
    }
    struct buf *to = buf_new(c, s->p, name, b->type, SC_ARENA, dims, nd + 1);
    expr v = st->u.store.value;
    v = fma ? x_fma(c, x_subst(c, v->arg[0], &sub), x_subst(c, v->arg[1], &sub), x_load(c, to, idx, nd + 1, NULL))
            : x_subst(c, v, &sub);
    const struct var **init = NEWN(&s->tmp, const struct var *, axes.n);
    struct subst again = {{.arena = &s->tmp}};
    expr *idx0 = NEWN(&s->tmp, expr, nd + 1);
    for (int j = 0; j < axes.n; j++) {
        init[j] = var_new(c, axes.v[j]->name, axes.v[j]->extent);
        map_put(&again.map, PKEY(axes.v[j]), (void *)x_var(c, init[j]));
    }
    for (int d = 0; d <= nd; d++) idx0[d] = x_subst(c, idx[d], &again);
    stmt_insert_before(p.nest[u], s_alloc(c, to));
    stmt_insert_before(
        p.nest[u], loops_around(c, init, axes.n, s_store(c, to, idx0, nd + 1, RED_NONE, red_identity(c, op, b->type))));
    stmt_insert_before(p.nest[u],
                       loops_around(c, outer.v, outer.n, s_store(c, to, idx, nd + 1, fma ? RED_NONE : op, v)));
    stmt_insert_before(p.nest[u],
                       loops_around(c, last.v, last.n, s_store(c, b, fin, nd, op, x_load(c, to, fin, nd + 1, NULL))));
    bool rest = !x_is(x_modi(c, red->extent, f), 0);
    if (rest && p.n > 2) return step_refuse(s, "choose a divisor of the extent", "`%s` has a rest already", b->name);
    if (rest) add_rest(s, &p, u, loop, f);
    stmt_remove(p.nest[u]);
    return true;
}
