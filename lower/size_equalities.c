/* Sizes that a check makes equal get one name in kernels. A kernel is called only after its node's checks, so it can
 * assume, for example, that an input has as many channels as the weights. The caller, where the check is, keeps both
 * sizes; there the verifier uses the check to prove that the buffers fit the parameters. Part of outlining. */
#include "ir/base/checked.h"
#include "lower/size_names.h"

bool size_is_fixed(struct sizes *z, expr e) {
    return !x_has(e, XF_LOAD | XF_VAR | XF_GUARD | XF_TOIDX | XF_POISON) && !x_uses_any(e, &z->made);
}
static expr renamed(void *env, expr e) { return map_get(&((struct sizes *)env)->by, PKEY(e)); }
/* A size computed from symbols that were renamed meanwhile is found by its new form. */
static expr known(struct sizes *z, expr e) {
    e = x_map(z->c, e, renamed, z);
    return z->computed ? x_map(z->c, e, renamed, z) : e;
}
struct one {
    expr from, to;
};
static expr rename_one(void *env, expr e) {
    const struct one *q = env;
    return e == q->from ? q->to : NULL;
}
static void add_name(struct sizes *z, expr s, expr e) {
    map_put(&z->by, PKEY(s), (void *)e);
    PUSH(&z->c->arena, &z->from, s);
    z->computed |= s->op != X_SYM;
}
void sizes_put(struct sizes *z, expr s, expr e) {
    struct one one = {s, e};
    for (int k = 0, n = z->from.n; k < n; k++) {
        expr old = z->from.v[k], now = x_map(z->c, old, rename_one, &one);
        expr to = x_map(z->c, map_get(&z->by, PKEY(old)), rename_one, &one);
        map_put(&z->by, PKEY(old), (void *)to);
        if (now != old && now->n) add_name(z, now, to);
    }
    add_name(z, s, e);
}
/* a == b, solved for a symbol, or else for a size computed from symbols. Not for one whose other form might be
 * negative: proofs would be lost. */
static bool solve_for(struct sizes *z, expr diff, expr s, int64_t coef) {
    struct ctx *c = z->c;
    int64_t lo, hi, least, most;
    expr rest = x_sub(c, diff, x_muli(c, s, coef));
    if (coef == INT64_MIN || x_is_part(rest, s)) return false;
    expr e = x_muli(c, rest, -1);
    if (coef < 0) e = rest, coef = -coef;
    if (coef != 1 && !x_is(x_bin(c, X_MOD, e, x_int(c, coef)), 0)) return false;
    if (coef != 1) e = x_divi(c, e, coef);
    x_bounds(c, s, &least, &most);
    x_bounds(c, e, &lo, &hi);
    if (e->op == X_POISON || (least >= 0 && lo < 0 && !x_proves_le(c, x_int(c, 0), e))) return false;
    sizes_put(z, s, e);
    return true;
}
static expr part_of(void *env, expr e) {
    for (const struct sizes *z = env; e->op == X_SYM && z; z = z->before) {
        expr of = map_get(&z->parts, PKEY(e->u.sym));
        if (of) return of;
    }
    return NULL;
}
expr sizes_argument(const struct sizes *z, expr e) { return x_map(z->c, e, part_of, (void *)(uintptr_t)z); }
/* A new name under which the kernel gets `part`, which is computed from s. */
static const struct sym *stand_in(struct sizes *z, expr s, expr part, const char *what, int64_t n) {
    struct ctx *c = z->c;
    int64_t lo, hi;
    x_bounds(c, part, &lo, &hi);
    part = sizes_argument(z, part); /* s may itself be such a name */
    const struct sym *q = map_get(&z->l->parts, PKEY(part));
    if (!q) {
        q = sym_new(c, internf(c->names, "%s_%s%lld", s->u.sym->name, what, (long long)n), lo < 0 ? 0 : lo, hi, false);
        map_put(&z->l->parts, PKEY(part), (void *)q);
    }
    map_put(&z->parts, PKEY(q), (void *)part);
    return q;
}
/* s % by == 0: the kernel gets the quotient, and s becomes `by` times it. */
static void learn_multiple(struct sizes *z, expr s, expr by) {
    int64_t d;
    if (s->op != X_SYM || !x_is_int(by, &d) || d < 2 || !size_is_fixed(z, s)) return;
    sizes_put(z, s, x_muli(z->c, x_sym(z->c, stand_in(z, s, x_divi(z->c, s, d), "by", d)), d));
}
/* e >= n: the kernel gets the amount by which the symbol in e exceeds the least value for which that holds. For
 * example, 2*s - 1 >= 0 says that s is at least 1. */
static bool learn_least(struct sizes *z, expr e, int64_t n) {
    int64_t k, by;
    const expr *atoms;
    const int64_t *coefs;
    if (e->op == X_SYM) {
        if (e->u.sym->lo >= n || n <= 0 || !size_is_fixed(z, e)) return false;
        sizes_put(z, e, x_addi(z->c, x_sym(z->c, stand_in(z, e, x_addi(z->c, e, -n), "less", n)), n));
        return true;
    }
    if (e->op == X_LIN)
        return x_terms(z->c, e, &k, &atoms, &coefs) == 1 && coefs[0] > 0 && add_ok(k, -n, &k) &&
               learn_least(z, atoms[0], -floordiv64(k, coefs[0]));
    if (e->op == X_DIV) return x_is_int(e->arg[1], &by) && by > 0 && mul_ok(n, by, &n) && learn_least(z, e->arg[0], n);
    if (e->op != X_MIN && e->op != X_MAX) return false;
    int constant = e->arg[0]->op != X_CONST;
    if (!x_is_int(e->arg[constant], &k) || (e->op == X_MAX && k >= n)) return false;
    return learn_least(z, e->arg[!constant], n);
}
void sizes_of_dim(struct sizes *z, expr dim) { learn_least(z, dim, 0); }
static bool is_least_of(expr e, int64_t n) { return e->op == X_MIN && (x_is(e->arg[0], n) || x_is(e->arg[1], n)); }
static void learn_ordered(struct sizes *z, expr a, expr b) { /* a <= b */
    expr diff = x_sub(z->c, b, a);
    if (diff->op != X_POISON) learn_least(z, diff, 0);
}
static void learn_equal(struct sizes *z, expr a, expr b) {
    struct ctx *c = z->c;
    int64_t konst;
    const expr *atoms;
    const int64_t *coefs;
    expr diff = x_sub(c, a, b);
    if (diff->op == X_POISON || !size_is_fixed(z, diff)) return;
    int n = x_terms(c, diff, &konst, &atoms, &coefs);
    if (n == 1 && (coefs[0] == 1 || coefs[0] == -1) && is_least_of(atoms[0], -konst * coefs[0]) &&
        learn_least(z, atoms[0], -konst * coefs[0]))
        return;
    for (int computed = 0; computed < 2; computed++)
        for (int k = 0; k < n; k++)
            if ((atoms[k]->op != X_SYM) == computed && solve_for(z, diff, atoms[k], coefs[k])) return;
}
static void learn(struct sizes *z, expr cond) {
    if (cond->op == X_AND) {
        learn(z, cond->arg[0]);
        learn(z, cond->arg[1]);
        return;
    }
    if ((cond->op != X_EQ && cond->op != X_LE) || cond->arg[0]->type != IDX) return;
    expr a = known(z, cond->arg[0]), b = known(z, cond->arg[1]);
    if (cond->op == X_LE) learn_ordered(z, a, b);
    else if (a->op == X_MOD && x_is(b, 0)) learn_multiple(z, a->arg[0], a->arg[1]);
    else if (b->op == X_MOD && x_is(a, 0)) learn_multiple(z, b->arg[0], b->arg[1]);
    else learn_equal(z, a, b);
}
void sizes_none(struct sizes *z, struct lowering *l) {
    struct arena *a = &l->c->arena;
    *z = (struct sizes){.c = l->c, .l = l, .by = {.arena = a}, .parts = {.arena = a}, .made = {.arena = a}};
}
void sizes_of_checks(struct sizes *z, struct lowering *l, struct block *from) {
    sizes_none(z, l);
    for (struct stmt *s = from->first; s; s = s->next)
        if (s->kind == S_SIZE) map_put(&z->made, PKEY(s->u.size.sym), s);
    for (struct stmt *s = from->first; s; s = s->next)
        if (s->kind == S_CHECK) learn(z, s->u.check.cond);
}
void sizes_rewrite(struct sizes *z, struct block *b) {
    if (z->from.n) map_exprs(z->c, b, renamed, z);
    if (z->computed) map_exprs(z->c, b, renamed, z);
}
expr sizes_in_kernel(struct sizes *z, expr e) {
    if (z && z->before) e = sizes_in_kernel(z->before, e);
    return z && z->from.n ? known(z, e) : e;
}
