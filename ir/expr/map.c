/* Walks over expressions, each distinct node once: rebuilding through the constructors, substitution, visits. */
#include "ir/base/die.h"
#include "ir/base/memory.h"
#include "ir/expr/expr.h"
#include <stdlib.h>
#include <string.h>

/* ---- which nodes were visited, and their results */
struct memo {
    expr *key, *val;
    size_t n, cap;
    expr ikey[64], ival[64];
};
static void memo_init(struct memo *m) {
    m->n = 0, m->cap = 64, m->key = m->ikey, m->val = m->ival;
    memset(m->ikey, 0, sizeof m->ikey);
}
static void memo_free(struct memo *m) {
    if (m->key != m->ikey) free(m->key), free(m->val);
}
static size_t memo_slot(const struct memo *m, expr e) {
    size_t at = e->hash & (m->cap - 1);
    while (m->key[at] && m->key[at] != e) at = (at + 1) & (m->cap - 1);
    return at;
}
static void memo_put(struct memo *m, expr e, expr v) {
    if (m->n * 2 >= m->cap) {
        struct memo old = *m;
        m->cap *= 4;
        m->key = memory_zeroed(m->cap, sizeof *m->key);
        m->val = memory_zeroed(m->cap, sizeof *m->val);
        expr *ok = old.key == m->ikey || old.cap == 64 ? m->ikey : old.key, *ov = ok == m->ikey ? m->ival : old.val;
        for (size_t k = 0; k < old.cap; k++)
            if (ok[k]) {
                size_t at = memo_slot(m, ok[k]);
                m->key[at] = ok[k], m->val[at] = ov[k];
            }
        if (ok != m->ikey) free(ok), free(ov);
    }
    size_t at = memo_slot(m, e);
    m->key[at] = e, m->val[at] = v;
    m->n++;
}
static expr rebuild(struct ctx *c, expr e, const expr *a) {
    switch (e->op) {
    case X_LIN: {
        expr r = x_int(c, e->u.i);
        for (int k = 0; k < e->n; k++) r = x_add(c, r, x_muli(c, a[k], e->coef[k]));
        return r;
    }
    case X_PROD: return x_mul(c, a[0], a[1]);
    case X_TOIDX: return x_toidx(c, a[0]);
    case X_GUARD: return x_guard(c, a[0], a[1]);
    case X_IDXVAL: return x_idxval(c, a[0]);
    case X_LOAD: return x_load(c, e->u.buf, a, e->n - e->has_fill, e->has_fill ? a[e->n - 1] : NULL);
    case X_FMA: return x_fma(c, a[0], a[1], a[2]);
    case X_SELECT: return x_select(c, a[0], a[1], a[2]);
    case X_CAST: return x_cast(c, (enum dtype)e->type, a[0]);
    case X_BITCAST: return x_bitcast(c, (enum dtype)e->type, a[0]);
    case X_ROUND: return x_round(c, (enum dtype)e->u.i, a[0]);
    case X_CALL: return x_call(c, e->u.fn, a);
    case X_TEXT: return x_text(c, a[0], a[1]);
    default: return e->n == 1 ? x_un(c, (enum xop)e->op, a[0]) : x_bin(c, (enum xop)e->op, a[0], a[1]);
    }
}
enum { EVERY_NODE = 0 };
static bool is_meant(expr e, unsigned what) { return what == EVERY_NODE || x_has(e, what); }
static expr map_node(struct ctx *c, struct memo *m, expr e, unsigned what, expr (*fn)(void *, expr), void *env) {
    if (!is_meant(e, what)) return e;
    size_t at = memo_slot(m, e);
    if (m->key[at]) return m->val[at];
    expr r = fn(env, e);
    if (!r) {
        expr inl[16], *a = e->n <= 16 ? inl : NEWN(&c->arena, expr, e->n);
        bool same = true; /* ranges of variables never change, so an unchanged node is in its simplest form already */
        for (int k = 0; k < e->n; k++) {
            a[k] = map_node(c, m, e->arg[k], what, fn, env);
            same &= a[k] == e->arg[k];
        }
        r = same ? e : rebuild(c, e, a);
    }
    memo_put(m, e, r);
    return r;
}
expr x_map_with(struct ctx *c, expr e, unsigned what, expr (*fn)(void *env, expr e), void *env) {
    if (!is_meant(e, what)) return e;
    if (!e->n) {
        expr r = fn(env, e);
        return r ? r : e;
    }
    struct memo m;
    memo_init(&m);
    expr r = map_node(c, &m, e, what, fn, env);
    memo_free(&m);
    return r;
}
expr x_map(struct ctx *c, expr e, expr (*fn)(void *env, expr e), void *env) {
    return x_map_with(c, e, EVERY_NODE, fn, env);
}
expr x_map_load(struct ctx *c, expr e, struct buf *b, expr (*fn)(void *env, expr e), void *env) {
    expr *a = NEWN(&c->arena, expr, e->n);
    for (int k = 0; k < e->n; k++) a[k] = x_map(c, e->arg[k], fn, env);
    return x_load(c, b, a, e->n - e->has_fill, e->has_fill ? a[e->n - 1] : NULL);
}
expr x_subst_leaf(void *env, expr e) {
    const struct subst *s = env;
    if (e->op != X_VAR && e->op != X_SYM) return NULL;
    return map_get(&s->map, e->op == X_VAR ? PKEY(e->u.var) : PKEY(e->u.sym));
}
expr x_subst(struct ctx *c, expr e, const struct subst *s) {
    return x_map_with(c, e, XF_VAR | XF_SYM, x_subst_leaf, (void *)s);
}
struct one_subst {
    const struct var *v;
    expr by;
};
static expr subst_one(void *env, expr e) {
    const struct one_subst *o = env;
    return e->op == X_VAR && e->u.var == o->v ? o->by : NULL;
}
expr x_subst1(struct ctx *c, expr e, const struct var *v, expr by) {
    struct one_subst o = {v, by};
    return x_map_with(c, e, XF_VAR, subst_one, &o);
}
static bool visit_node(struct memo *m, expr e, unsigned what, bool (*fn)(void *, expr), void *env) {
    if (!is_meant(e, what) || m->key[memo_slot(m, e)]) return true;
    memo_put(m, e, e);
    for (int k = 0; k < e->n; k++)
        if (!visit_node(m, e->arg[k], what, fn, env)) return false;
    return fn(env, e);
}
bool x_visit_with(expr e, unsigned what, bool (*fn)(void *env, expr e), void *env) {
    if (!is_meant(e, what)) return true;
    if (!e->n) return fn(env, e);
    struct memo m;
    memo_init(&m);
    bool r = visit_node(&m, e, what, fn, env);
    memo_free(&m);
    return r;
}
bool x_visit(expr e, bool (*fn)(void *env, expr e), void *env) { return x_visit_with(e, EVERY_NODE, fn, env); }
static bool is_other(void *env, expr e) { return e != env; }
bool x_is_part(expr whole, expr e) { return !x_visit(whole, is_other, (void *)(uintptr_t)e); }
struct load_visitor {
    void (*fn)(void *env, expr load);
    void *env;
};
static bool visit_load(void *env, expr e) {
    const struct load_visitor *v = env;
    if (e->op == X_LOAD) v->fn(v->env, e);
    return true;
}
void x_each_load(expr e, void (*fn)(void *env, expr load), void *env) {
    struct load_visitor v = {fn, env};
    x_visit_with(e, XF_LOAD, visit_load, &v);
}
struct counter {
    int n, most;
};
static bool count_node(void *env, expr e) {
    struct counter *q = env;
    (void)e;
    return ++q->n < q->most;
}
int x_count(expr e, int most) {
    struct counter q = {0, most};
    x_visit(e, count_node, &q);
    return q.n;
}
