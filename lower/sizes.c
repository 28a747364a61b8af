/* Sizes that a check makes equal, under one name in kernels: a kernel is called only after the checks of its node, so
 * it may take the channels of an input to be those of the weights. What the check allows stays with the caller; the
 * verifier proves there, from the check, that the buffers fit the parameters. Part of outlining. */
#include "lower/sizes.h"

static bool fixed(void *env, expr e) {
    struct sizes *z = env;
    return e->op != X_LOAD && e->op != X_VAR && e->op != X_GUARD && e->op != X_TOIDX && e->op != X_POISON &&
           !(e->op == X_SYM && map_get(&z->made, PKEY(e->u.sym)));
}
static bool not_this(void *env, expr e) { return e != env; }
static void put(struct sizes *z, expr s, expr e) {
    struct subst one = {{.arena = &z->c->arena}};
    map_put(&one.map, PKEY(s->u.sym), (void *)e);
    for (int k = 0; k < z->from.n; k++) {
        expr old = map_get(&z->by.map, PKEY(z->from.v[k]));
        map_put(&z->by.map, PKEY(z->from.v[k]), (void *)x_subst(z->c, old, &one));
    }
    map_put(&z->by.map, PKEY(s->u.sym), (void *)e);
    PUSH(&z->c->arena, &z->from, s->u.sym);
}
/* a == b, solved for a symbol. Not for one whose other form might be negative: proofs would be lost. */
static void learn_equal(struct sizes *z, expr a, expr b) {
    struct ctx *c = z->c;
    int64_t konst, lo, hi;
    const expr *atoms;
    const int64_t *coefs;
    expr diff = x_sub(c, a, b);
    if (diff->op == X_POISON || !x_visit(diff, fixed, z)) return;
    int n = x_terms(c, diff, &konst, &atoms, &coefs);
    for (int k = 0; k < n; k++) {
        expr s = atoms[k], rest = x_sub(c, diff, x_muli(c, s, coefs[k]));
        if (s->op != X_SYM || coefs[k] == INT64_MIN || !x_visit(rest, not_this, (void *)s)) continue;
        expr e = x_muli(c, rest, -1);
        int64_t by = coefs[k];
        if (by < 0) e = rest, by = -by;
        if (by != 1 && !x_is(x_bin(c, X_MOD, e, x_int(c, by)), 0)) continue;
        if (by != 1) e = x_divi(c, e, by);
        x_bounds(c, e, &lo, &hi);
        if (e->op == X_POISON || (s->u.sym->lo >= 0 && lo < 0)) continue;
        put(z, s, e);
        return;
    }
}
/* s % by == 0: the kernel gets the quotient, and s is `by` times it. */
static void learn_multiple(struct sizes *z, expr s, expr by) {
    struct ctx *c = z->c;
    int64_t d, lo, hi;
    if (s->op != X_SYM || !x_is_int(by, &d) || d < 2 || !fixed(z, s)) return;
    expr quotient = x_divi(c, s, d);
    struct subst back = {{.arena = &c->arena}}; /* s may itself stand for a quotient */
    expr of = map_get(&z->quotients, PKEY(s->u.sym));
    if (of) map_put(&back.map, PKEY(s->u.sym), (void *)of);
    quotient = x_subst(c, quotient, &back);
    const struct sym *q = map_get(&z->l->quotients, PKEY(quotient));
    if (!q) {
        x_bounds(c, quotient, &lo, &hi);
        q = sym_new(c, internf(c->names, "%s_by%lld", s->u.sym->name, (long long)d), lo, hi, false);
        map_put(&z->l->quotients, PKEY(quotient), (void *)q);
    }
    map_put(&z->quotients, PKEY(q), (void *)quotient);
    put(z, s, x_muli(c, x_sym(c, q), d));
}
static void learn(struct sizes *z, expr cond) {
    if (cond->op == X_AND) {
        learn(z, cond->arg[0]);
        learn(z, cond->arg[1]);
        return;
    }
    if (cond->op != X_EQ || cond->arg[0]->type != IDX) return;
    expr a = x_subst(z->c, cond->arg[0], &z->by), b = x_subst(z->c, cond->arg[1], &z->by);
    if (a->op == X_MOD && x_is(b, 0)) learn_multiple(z, a->arg[0], a->arg[1]);
    else if (b->op == X_MOD && x_is(a, 0)) learn_multiple(z, b->arg[0], b->arg[1]);
    else learn_equal(z, a, b);
}
void sizes_of_checks(struct sizes *z, struct lowering *l, struct block *from) {
    struct arena *a = &l->c->arena;
    *z = (struct sizes){.c = l->c, .l = l, .by = {{.arena = a}}, .quotients = {.arena = a}, .made = {.arena = a}};
    for (struct stmt *s = from->first; s; s = s->next)
        if (s->kind == S_SIZE) map_put(&z->made, PKEY(s->u.size.sym), s);
    for (struct stmt *s = from->first; s; s = s->next)
        if (s->kind == S_CHECK) learn(z, s->u.check.cond);
}
void sizes_rewrite(struct sizes *z, struct block *b) {
    if (z->from.n) subst_block(z->c, b, &z->by);
}
expr sizes_in_kernel(const struct sizes *z, expr e) { return z && z->from.n ? x_subst(z->c, e, &z->by) : e; }
expr sizes_arg(const struct sizes *z, expr leaf) {
    expr e = leaf->op == X_SYM ? map_get(&z->quotients, PKEY(leaf->u.sym)) : NULL;
    return e ? e : leaf;
}
