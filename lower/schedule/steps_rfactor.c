/* The step rfactor: a reduction is split into several partial results, which are then reduced. Both are stages;
 * compute_at places them. */
#include "lower/schedule/steps_util.h"
#include <string.h>

/* The terms after the last whole group of f along `loop` are added one after the other, in order. */
static void add_rest(struct step_run *s, const struct pristine *p, int u, struct stmt *loop, int64_t f) {
    struct ctx *c = s->c;
    const struct var *red = loop->u.loop.var,
                     *rest = var_new(c, loop_name(c, p->buf->base, RFACTOR_REST), x_modi(c, red->extent, f));
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
    stmt_insert_before(p->nest[u], s_nest(c, loops.v, loops.n, t));
}
/* The name for the loop over partial results: another one if the buffer is itself made of partial results. */
static const char *lane_of(const struct pristine *p, int u) {
    for (int d = 0; d < p->buf->nd; d++) {
        const struct var *a = axis_var(p, u, d);
        if (a && !strcmp(tail_name(a->name), RFACTOR_LANE)) return RFACTOR_GROUP;
    }
    return RFACTOR_LANE;
}
bool apply_rfactor(struct step_run *s) {
    struct ctx *c = s->c;
    struct pristine p;
    int64_t f = s->step->u.rfactor.lanes;
    const char *name = s->step->u.rfactor.name, *over = s->step->u.rfactor.loop;
    if (f < 1) return step_usage(s);
    if (!free_name(s, name) || !find_pristine(s, s->step->u.rfactor.buf, &p)) return false;
    struct buf *b = p.buf;
    if (p.n < 2) return step_refuse(s, NULL, "`%s` is no reduction", b->name);
    struct stmt *loop = NULL;
    int u = 1; /* the update that contains the loop */
    for (int j = 1; j < p.n; j++)
        for (int k = 0; k < p.chain[j].n; k++)
            if (!loop && is_named(p.chain[j].v[k], over)) loop = p.chain[j].v[k], u = j;
    struct stmt *st = p.store[u];
    enum red_op op = update_op(st);
    bool fma = is_fma_update(st), real = dtype_is_float(dtype_value(b->type));
    if (!loop) return step_refuse(s, NULL, "the reduction of `%s` has no loop `%s`", b->name, over);
    const struct var *red = loop->u.loop.var;
    for (int d = 0; d < b->nd; d++)
        if (axis_var(&p, u, d) == red)
            return step_refuse(s, NULL, "`%s` is an axis of `%s`, not reduced", red->name, b->name);
    if (b->type != dtype_value(b->type))
        return step_refuse(s, "reduce in a wider type, as cache_write does for max and min",
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
    const char *side = lane_of(&p, u);
    const struct var *lane = var_new(c, loop_name(c, name, side), x_int(c, f)),
                     *k = var_new(c, loop_name(c, name, RFACTOR_LOOP), x_divi(c, red->extent, f));
    const struct var *lane2 = var_new(c, loop_name(c, b->base, side), x_int(c, f));
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
    stmt_insert_before(p.nest[u],
                       s_nest(c, init, axes.n, s_store(c, to, idx0, nd + 1, RED_NONE, red_identity(c, op, b->type))));
    stmt_insert_before(p.nest[u], s_nest(c, outer.v, outer.n, s_store(c, to, idx, nd + 1, fma ? RED_NONE : op, v)));
    stmt_insert_before(p.nest[u],
                       s_nest(c, last.v, last.n, s_store(c, b, fin, nd, op, x_load(c, to, fin, nd + 1, NULL))));
    bool rest = !x_is(x_modi(c, red->extent, f), 0);
    if (rest && p.n > 2) return step_refuse(s, "choose a divisor of the extent", "`%s` has a rest already", b->name);
    if (rest) add_rest(s, &p, u, loop, f);
    stmt_remove(p.nest[u]);
    return true;
}
