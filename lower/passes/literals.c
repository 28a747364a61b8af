/* Pass `literals`: loads of constants with data, at known indices, become their values. See passes.h. */
#include "lower/passes/literals.h"
#include "lower/passes/passes.h"

struct literals {
    struct ctx *c;
    struct map consts; /* buf -> struct table */
};
struct table {
    const union cell *v;
    int64_t n;
};
static bool get_env(void *env, expr leaf, int64_t *v) {
    const struct subst *s = env;
    expr e = leaf->op == X_VAR ? map_get(&s->map, PKEY(leaf->u.var)) : NULL;
    return e && x_is_int(e, v);
}
const union cell *const_cells(struct ctx *c, const struct buf *b, int64_t *n) {
    enum { LIMIT = 1 << 22 };
    int64_t cells, total = 1;
    if (!b->data || !x_is_int(buf_cells(c, b), &cells) || cells <= 0 || cells > LIMIT) return NULL;
    union cell *v = NEWN(&c->arena, union cell, cells);
    bool flt = dtype_is_float(b->type);
    for (int64_t i = 0; b->fill && i < cells; i++)
        v[i] = flt ? (union cell){.f = b->fill->u.f} : (union cell){.i = b->fill->u.i};
    int64_t ext[32], at[32] = {0};
    for (int k = 0; k < b->nlogical; k++) {
        if (!x_is_int(b->logical[k], &ext[k])) return NULL;
        total *= ext[k];
    }
    expr phys = buf_offset(c, b, b->map);
    for (int64_t i = 0; i < total; i++) {
        struct subst s = {.map = {.arena = &c->arena}};
        for (int k = 0; k < b->nlogical; k++) map_put(&s.map, PKEY(b->lvar[k]), (void *)x_int(c, at[k]));
        int64_t to;
        if (!x_eval_int(phys, get_env, &s, &to) || to < 0 || to >= cells) return NULL;
        if (flt) v[to].f = tensor_f(b->data, i);
        else v[to].i = tensor_i(b->data, i);
        for (int k = b->nlogical - 1; k >= 0 && ++at[k] == ext[k]; k--) at[k] = 0;
    }
    *n = cells;
    return v;
}
static expr literal(void *env, expr e) {
    struct literals *x = env;
    if (e->op != X_LOAD || e->u.buf->scope != SC_CONST || !e->u.buf->data || e->has_fill || e->type == STR ||
        dtype_is_complex((enum dtype)e->type))
        return NULL;
    int64_t at;
    if (!x_is_int(buf_offset(x->c, e->u.buf, e->arg), &at)) return NULL;
    struct table *t = map_get(&x->consts, PKEY(e->u.buf));
    if (!t) {
        t = NEW(&x->c->arena, struct table);
        t->v = const_cells(x->c, e->u.buf, &t->n);
        map_put(&x->consts, PKEY(e->u.buf), t);
    }
    if (!t->v || at < 0 || at >= t->n) return NULL;
    return e->type == F32 || e->type == F64 ? x_const_f(x->c, (enum dtype)e->type, t->v[at].f)
                                            : x_const_i(x->c, (enum dtype)e->type, t->v[at].i);
}

void pass_literals(struct module *m, const struct printing *o) {
    (void)o;
    for (int k = 0; k < m->procs.n; k++) {
        struct literals x = {m->ctx, {.arena = &m->ctx->arena}};
        map_exprs(m->ctx, &m->procs.v[k]->body, literal, &x);
    }
}
