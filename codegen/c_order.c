/* The order of the terms and factors of index expressions in C. The compiler orders them by when they were made;
 * printed text orders them by what they are: loop variables from outside to inside, sizes in the order of the
 * parameters, then the rest by structure. So a module that was read from text prints the same. */
#include "codegen/c_int.h"
#include <string.h>

static int less_first(int64_t a, int64_t b) { return a < b ? -1 : a > b; }
/* Position among the names in scope: what is declared first comes first. */
static int var_place(struct fe *f, const struct var *v) {
    const struct sym_name *n = map_get(&f->vars, PKEY(v));
    return n ? n->place : 0;
}
static int sym_place(struct fe *f, const struct sym *s) {
    for (int k = 0; k < f->p->syms.n; k++)
        if (f->p->syms.v[k] == s) return k;
    return f->p->syms.n;
}
static int by_operands(struct fe *f, expr a, expr b) {
    for (int k = 0; k < a->n && k < b->n; k++) {
        int r = c_before(f, a->arg[k], b->arg[k]);
        if (r) return r;
    }
    return less_first(a->n, b->n);
}
static int by_terms(struct fe *f, expr a, expr b) {
    struct terms x = c_terms(f, a), y = c_terms(f, b);
    for (int k = 0; k < x.n && k < y.n; k++) {
        int r = c_before(f, x.atom[k], y.atom[k]);
        if (!r) r = less_first(x.coef[k], y.coef[k]);
        if (r) return r;
    }
    return x.n != y.n ? less_first(x.n, y.n) : less_first(x.konst, y.konst);
}
int c_before(struct fe *f, expr a, expr b) {
    if (a == b || !f->d->orders) return 0;
    if (a->op != b->op) return less_first(a->op == X_VAR ? -1 : (int)a->op, b->op == X_VAR ? -1 : (int)b->op);
    switch (a->op) {
    case X_VAR: return less_first(var_place(f, a->u.var), var_place(f, b->u.var));
    case X_SYM: return less_first(sym_place(f, a->u.sym), sym_place(f, b->u.sym));
    case X_CONST:
        return a->type != b->type                 ? less_first(a->type, b->type)
               : a->type == F32 || a->type == F64 ? memcmp(&a->u.f, &b->u.f, sizeof a->u.f)
                                                  : less_first(a->u.i, b->u.i);
    case X_LIN: return by_terms(f, a, b);
    case X_LOAD: {
        int r = strcmp(a->u.buf->name, b->u.buf->name);
        return r ? r : by_operands(f, a, b);
    }
    default: return by_operands(f, a, b);
    }
}
static int factors(expr e, expr *out) {
    if (e->op != X_PROD) return *out = e, 1;
    int n = factors(e->arg[0], out);
    return n + factors(e->arg[1], out + n);
}
static int count_factors(expr e) { return e->op == X_PROD ? count_factors(e->arg[0]) + count_factors(e->arg[1]) : 1; }
int c_factors(struct fe *f, expr e, expr **out) {
    int n = count_factors(e);
    expr *v = *out = NEWN(&f->c->arena, expr, n);
    factors(e, v);
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && c_before(f, v[j - 1], v[j]) > 0; j--) {
            expr t = v[j];
            v[j] = v[j - 1], v[j - 1] = t;
        }
    return n;
}
/* A product is placed where its first factor would be. */
static expr head(struct fe *f, expr e) {
    expr *v;
    if (e->op != X_PROD) return e;
    c_factors(f, e, &v);
    return v[0];
}
static int terms_before(struct fe *f, expr a, expr b) {
    int r = c_before(f, head(f, a), head(f, b));
    return r ? r : c_before(f, a, b);
}
struct terms c_sorted(struct fe *f, int64_t konst, const expr *atoms, const int64_t *coefs, int n) {
    struct terms t = {n, konst, NEWN(&f->c->arena, expr, n + 1), NEWN(&f->c->arena, int64_t, n + 1)};
    for (int i = 0; i < n; i++) {
        int j = i;
        for (; j > 0 && terms_before(f, t.atom[j - 1], atoms[i]) > 0; j--)
            t.atom[j] = t.atom[j - 1], t.coef[j] = t.coef[j - 1];
        t.atom[j] = atoms[i], t.coef[j] = coefs[i];
    }
    return t;
}
struct terms c_terms(struct fe *f, expr e) {
    int64_t konst;
    const expr *atoms;
    const int64_t *coefs;
    int n = x_terms(f->c, e, &konst, &atoms, &coefs);
    return c_sorted(f, konst, atoms, coefs, n);
}
