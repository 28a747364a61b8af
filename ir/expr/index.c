/* Index expressions in their linear form, and the arithmetic that keeps it: sums, products, floor division and modulo
 * (rules S1, P1, D1 to D5, M1, M2 of docs/loop-ir.md). Called by the constructors in value.c. */
#include "ir/base/checked.h"
#include "ir/expr/int.h"
#include <string.h>

/* ---- the linear form (S1) */
struct term {
    expr atom;
    int64_t coef;
};
struct linear {
    int64_t k;
    int n, cap;
    bool overflow;
    struct term *t, inl[16];
};

static void lin_init(struct linear *l) {
    *l = (struct linear){.cap = 16};
    l->t = l->inl;
}
static void lin_term(struct ctx *c, struct linear *l, expr atom, int64_t coef) {
    int at = 0;
    while (at < l->n && l->t[at].atom->id < atom->id) at++;
    if (at < l->n && l->t[at].atom == atom) {
        if (!add_ok(l->t[at].coef, coef, &l->t[at].coef)) l->overflow = true;
        if (!l->t[at].coef) {
            memmove(l->t + at, l->t + at + 1, (size_t)(l->n - at - 1) * sizeof *l->t);
            l->n--;
        }
        return;
    }
    if (!coef) return;
    if (l->n == l->cap) {
        struct term *t = NEWN(&c->arena, struct term, l->cap * 2);
        memcpy(t, l->t, (size_t)l->n * sizeof *t);
        l->t = t;
        l->cap *= 2;
    }
    memmove(l->t + at + 1, l->t + at, (size_t)(l->n - at) * sizeof *l->t);
    l->t[at] = (struct term){atom, coef};
    l->n++;
}
static void lin_const(struct linear *l, int64_t k) {
    if (!add_ok(l->k, k, &l->k)) l->overflow = true;
}
/* l += e * f */
static void lin_add(struct ctx *c, struct linear *l, expr e, int64_t f) {
    int64_t p;
    if (e->op == X_CONST) {
        if (!mul_ok(e->u.i, f, &p)) l->overflow = true;
        else lin_const(l, p);
    } else if (e->op == X_LIN) {
        if (!mul_ok(e->u.i, f, &p)) l->overflow = true;
        else lin_const(l, p);
        for (int k = 0; k < e->n; k++) {
            if (!mul_ok(e->coef[k], f, &p)) l->overflow = true;
            else lin_term(c, l, e->arg[k], p);
        }
    } else lin_term(c, l, e, f);
}
/* ---- products of atoms */
enum { MAX_FACTORS = 32, MAX_TERMS = 1024 };
static int factors(expr e, expr *out, int max) {
    if (e->op == X_PROD) {
        int n = factors(e->arg[0], out, max);
        return n < 0 || n >= max ? -1 : (out[n] = e->arg[1], n + 1);
    }
    return max < 1 ? -1 : (out[0] = e, 1);
}
static expr product(struct ctx *c, expr *f, int n) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && f[j - 1]->id > f[j]->id; j--) {
            expr t = f[j];
            f[j] = f[j - 1], f[j - 1] = t;
        }
    expr p = f[0];
    for (int i = 1; i < n; i++) p = NODE(c, X_PROD, IDX, p, f[i]);
    return p;
}
/* The atom divided by the product `d` of nd factors, or NULL. */
static expr atom_without(struct ctx *c, expr atom, const expr *d, int nd) {
    expr f[MAX_FACTORS];
    int n = factors(atom, f, MAX_FACTORS);
    if (n < 0) return NULL;
    for (int i = 0; i < nd; i++) {
        int j = 0;
        while (j < n && f[j] != d[i]) j++;
        if (j == n) return NULL;
        memmove(f + j, f + j + 1, (size_t)(n - j - 1) * sizeof *f);
        n--;
    }
    return n ? product(c, f, n) : x_int(c, 1);
}
/* ---- combining a quotient with the remainder of the same division */
static bool same_divmod(struct ctx *c, expr mod, expr div) {
    if (div->op != X_DIV) return false;
    if (div->arg[0] == mod->arg[0]) return div->arg[1] == mod->arg[1];
    expr n = div->arg[1], b = mod->arg[1]; /* (e//a)%b, and (e//a)//b, which D4 has made e//(a*b) */
    if (b->op == X_CONST && n->op == X_CONST && n->u.i <= b->u.i) return false;
    return n != b && x_is(x_mod(c, n, b), 0) && x_div(c, div->arg[0], x_div(c, n, b)) == mod->arg[0];
}
/* The factor by which k*by, a number or a product of sizes, is multiplied in t; NULL: t is not such a product. */
static expr cofactor(struct ctx *c, const struct term *t, expr by, int64_t k) {
    expr d[MAX_FACTORS];
    const expr *of;
    const int64_t *co;
    int64_t none, want;
    if (by->op == X_CONST) return mul_ok(k, by->u.i, &want) && t->coef == want ? t->atom : NULL;
    if (x_terms(c, by, &none, &of, &co) != 1 || none || !mul_ok(k, co[0], &want) || t->coef != want) return NULL;
    int n = factors(of[0], d, MAX_FACTORS);
    return n < 0 ? NULL : atom_without(c, t->atom, d, n);
}
/* q*by + m, where m is e%by: e if q is e/by, e%(by*d) if q is e/by%d, else NULL. */
static expr joined_rest(struct ctx *c, expr q, expr m) {
    expr by = m->arg[1];
    if (same_divmod(c, m, q)) return m->arg[0];
    if (q->op == X_DIV && q->arg[1] == by && x_mod(c, q->arg[0], by) == m) return q->arg[0];
    bool longer = q->op == X_MOD && q->arg[0]->op == X_DIV && q->arg[0]->arg[0] == m->arg[0] && q->arg[0]->arg[1] == by;
    expr both = longer ? idx_mul(c, by, q->arg[1]) : NULL;
    return both && both->op != X_POISON ? idx_mod(c, m->arg[0], both) : NULL;
}
/* For k*c*q in l, where c is a sum and the quotient q a factor of term j; P1 has distributed it over the terms of c.
 * The replacement of q*c + m, or NULL; *terms: c*q. */
static expr rest_of_sum(struct ctx *c, const struct linear *l, int j, expr m, int64_t k, expr *terms) {
    expr f[MAX_FACTORS], joined = NULL;
    int n = factors(l->t[j].atom, f, MAX_FACTORS), at = 0;
    int64_t none, want;
    const expr *of;
    const int64_t *co;
    while (at < n && !(joined = joined_rest(c, f[at], m))) at++;
    if (!joined) return NULL;
    *terms = idx_mul(c, m->arg[1], f[at]);
    n = x_terms(c, *terms, &none, &of, &co);
    for (int i = 0, t = 0; i < n; i++) { /* both are in order */
        while (t < l->n && l->t[t].atom != of[i]) t++;
        if (t == l->n || !mul_ok(k, co[i], &want) || l->t[t].coef != want) return NULL;
    }
    return n > 1 ? joined : NULL;
}
/* For k*e + k*(-e%c), which rounds up to a multiple of c: the factor of k*c, (e + c-1)//c; *e: -e, made of negative
 * terms, to be removed. NULL: it is something else. */
static expr next_multiple(struct ctx *c, const struct linear *l, expr m, int64_t k, expr *e) {
    int64_t konst, want;
    const expr *of;
    const int64_t *co;
    *e = m->arg[0];
    if (m->arg[1]->op != X_CONST || k == INT64_MIN) return NULL;
    int n = x_terms(c, *e, &konst, &of, &co);
    for (int i = 0, t = 0; i < n; i++) { /* both are in order */
        while (t < l->n && l->t[t].atom != of[i]) t++;
        if (co[i] > 0 || t == l->n || !mul_ok(-k, co[i], &want) || l->t[t].coef != want) return NULL;
    }
    return x_divi(c, x_addi(c, x_muli(c, *e, -1), m->arg[1]->u.i - 1), m->arg[1]->u.i);
}
/* M1: k*c*(e/c) + k*(e%c) -> k*e; k*c*(e/c%d) + k*(e%c) -> k*(e%(c*d)); c is a number, a product of sizes or a sum of
 * such. M2: k*e + k*(-e%c) -> k*c*((e + c-1)/c). Applied until nothing matches. */
static void lin_rejoin(struct ctx *c, struct linear *l) {
    for (int i = 0; i < l->n; i++) {
        expr m = l->t[i].atom;
        int64_t k = l->t[i].coef;
        if (m->op != X_MOD) continue;
        expr e, multiples = next_multiple(c, l, m, k, &e);
        if (multiples) {
            lin_term(c, l, m, -k);
            lin_add(c, l, e, k);
            lin_add(c, l, x_muli(c, multiples, m->arg[1]->u.i), k);
            i = -1;
            continue;
        }
        for (int j = 0; j < l->n; j++) {
            const struct term d = l->t[j];
            expr q = cofactor(c, &d, m->arg[1], k), joined = q ? joined_rest(c, q, m) : NULL, sum = NULL;
            if (!joined && m->arg[1]->op == X_LIN) joined = rest_of_sum(c, l, j, m, k, &sum);
            if (!joined) continue;
            lin_term(c, l, m, -k);
            if (sum) lin_add(c, l, sum, -k);
            else lin_term(c, l, d.atom, -d.coef);
            lin_add(c, l, joined, k);
            i = -1;
            break;
        }
    }
}
static expr lin_done(struct ctx *c, struct linear *l) {
    lin_rejoin(c, l);
    if (l->overflow) return x_poison(c);
    if (!l->n) return x_int(c, l->k);
    if (!l->k && l->n == 1 && l->t[0].coef == 1) return l->t[0].atom;
    enum { SHORT = 16 };
    expr few[SHORT], *args = l->n > SHORT ? NEWN(&c->arena, expr, l->n) : few;
    int64_t few_coefs[SHORT], *coefs = l->n > SHORT ? NEWN(&c->arena, int64_t, l->n) : few_coefs;
    for (int k = 0; k < l->n; k++) args[k] = l->t[k].atom, coefs[k] = l->t[k].coef;
    struct expr h;
    x_head(&h, X_LIN, IDX);
    h.u.i = l->k;
    return x_make(c, &h, args, l->n, coefs);
}
int x_terms(struct ctx *c, expr e, int64_t *konst, const expr **atoms, const int64_t **coefs) {
    static const int64_t one[1] = {1};
    if (e->op == X_CONST) return *konst = e->u.i, *atoms = NULL, *coefs = NULL, 0;
    if (e->op == X_LIN) return *konst = e->u.i, *atoms = e->arg, *coefs = e->coef, e->n;
    expr *self = NEW(&c->arena, expr);
    *self = e;
    return *konst = 0, *atoms = self, *coefs = one, 1;
}

/* ---- index arithmetic */
expr idx_addmul(struct ctx *c, expr a, expr b, int64_t f) {
    struct linear l;
    lin_init(&l);
    lin_add(c, &l, a, 1);
    lin_add(c, &l, b, f);
    return lin_done(c, &l);
}
expr x_dot(struct ctx *c, const expr *e, const int64_t *f, int n) {
    struct linear l;
    lin_init(&l);
    for (int k = 0; k < n; k++) {
        if (!e[k] || e[k]->op == X_POISON || e[k]->type != IDX) return x_poison(c);
        lin_add(c, &l, e[k], f[k]);
    }
    return lin_done(c, &l);
}
expr idx_mul(struct ctx *c, expr a, expr b) {
    if (a->op == X_CONST) {
        expr t = a;
        a = b;
        b = t;
    }
    struct linear l;
    lin_init(&l);
    if (b->op == X_CONST) {
        lin_add(c, &l, a, b->u.i);
        return lin_done(c, &l);
    }
    int64_t ka, kb, p; /* P1: products are distributed over sums */
    const expr *ta, *tb;
    const int64_t *ca, *cb;
    int na = x_terms(c, a, &ka, &ta, &ca), nb = x_terms(c, b, &kb, &tb, &cb);
    if (na * nb > MAX_TERMS) return x_poison(c); /* powers of long sums: no model needs them */
    lin_add(c, &l, b, ka);
    lin_add(c, &l, a, kb);
    if (!mul_ok(ka, kb, &p)) return x_poison(c);
    lin_const(&l, -p);
    for (int i = 0; i < na; i++)
        for (int j = 0; j < nb; j++) {
            expr f[MAX_FACTORS];
            int n = factors(ta[i], f, MAX_FACTORS), m = n < 0 ? -1 : factors(tb[j], f + n, MAX_FACTORS - n);
            if (m < 0 || !mul_ok(ca[i], cb[j], &p)) return x_poison(c);
            lin_term(c, &l, product(c, f, n + m), p);
        }
    return lin_done(c, &l);
}
/* e = f * quotient + rest, termwise by the constant f. */
static void split_const(struct ctx *c, expr e, int64_t f, expr *quotient, expr *rest) {
    int64_t k;
    const expr *t;
    const int64_t *co;
    int n = x_terms(c, e, &k, &t, &co);
    struct linear q, r;
    lin_init(&q), lin_init(&r);
    lin_const(&q, floordiv64(k, f)), lin_const(&r, floormod64(k, f));
    for (int i = 0; i < n; i++)
        if (co[i] % f == 0) lin_term(c, &q, t[i], co[i] / f);
        else lin_term(c, &r, t[i], co[i]);
    *quotient = lin_done(c, &q), *rest = lin_done(c, &r);
}
/* D3: the largest g, up to `most`, that divides f and some coefficients such that the other terms s satisfy 0 <= s < g.
 */
static bool common_factor(struct ctx *c, expr r, int64_t f, int64_t most, int64_t *g_out, expr *a, expr *s) {
    int64_t k;
    const expr *t;
    const int64_t *co;
    int n = x_terms(c, r, &k, &t, &co);
    int64_t last = most + 1;
    for (;;) {
        int64_t g = 1, lo, hi;
        for (int i = 0; i < n; i++) {
            int64_t d = gcd64(co[i], f);
            if (d < last && d > g) g = d;
        }
        if (g == 1) return false;
        split_const(c, r, g, a, s);
        x_bounds(c, *s, &lo, &hi);
        if (lo >= 0 && hi < g) return *g_out = g, true;
        last = g;
    }
}
static expr idx_div_const(struct ctx *c, expr e, int64_t f) {
    if (f == 1) return e;
    expr a, r, s, t;
    int64_t lo, hi, g;
    split_const(c, e, f, &a, &r); /* D1 */
    x_bounds(c, r, &lo, &hi);
    if (lo != NEG_INF && hi != POS_INF && floordiv64(lo, f) == floordiv64(hi, f))
        return x_addi(c, a, floordiv64(lo, f)); /* D2 */
    if (common_factor(c, r, f, f - 1, &g, &t, &s)) return x_add(c, a, idx_div_const(c, t, f / g));
    if (r->op == X_DIV && r->arg[1]->op == X_CONST && mul_ok(r->arg[1]->u.i, f, &g))
        return x_add(c, a, idx_div_const(c, r->arg[0], g)); /* D4 */
    return x_add(c, a, NODE(c, X_DIV, IDX, r, x_int(c, f)));
}
/* e = by * quotient + rest, termwise by k * (product of symbols). */
static bool split_product(struct ctx *c, expr e, expr by, expr *quotient, expr *rest) {
    int64_t kb, k;
    const expr *t;
    const int64_t *co;
    if (x_terms(c, by, &kb, &t, &co) != 1 || kb) return false;
    expr d[MAX_FACTORS];
    int64_t f = co[0];
    int nd = factors(t[0], d, MAX_FACTORS);
    if (nd < 0 || f <= 0) return false;
    int n = x_terms(c, e, &k, &t, &co);
    struct linear q, r;
    lin_init(&q), lin_init(&r);
    lin_const(&r, k);
    for (int i = 0; i < n; i++) {
        expr w = co[i] % f == 0 ? atom_without(c, t[i], d, nd) : NULL;
        if (w) lin_add(c, &q, w, co[i] / f);
        else lin_term(c, &r, t[i], co[i]);
    }
    *quotient = lin_done(c, &q), *rest = lin_done(c, &r);
    return true;
}
/* The quotient of the term of e with the most factors by that atom, a product of nd factors times f; NULL: not
 * divisible. */
static expr leading_quotient(struct ctx *c, expr e, const expr *d, int nd, int64_t f) {
    int64_t k;
    const expr *t;
    const int64_t *co;
    expr best = NULL, other[MAX_FACTORS];
    int n = x_terms(c, e, &k, &t, &co), most = -1;
    for (int i = 0; i < n; i++) {
        expr w = co[i] % f == 0 ? atom_without(c, t[i], d, nd) : NULL;
        int factors_left = !w ? -1 : w->op == X_CONST ? 0 : factors(w, other, MAX_FACTORS);
        if (factors_left > most) most = factors_left, best = x_muli(c, w, co[i] / f);
    }
    return best;
}
/* The same for a sum, by polynomial long division: n*h*b + n*b + b is b times n*h + n + 1. */
static bool split_sum(struct ctx *c, expr e, expr by, expr *quotient, expr *rest) {
    enum { TURNS = 16 };
    int64_t k;
    const expr *t;
    const int64_t *co;
    expr d[MAX_FACTORS], f[MAX_FACTORS], q;
    int n = x_terms(c, by, &k, &t, &co), nd = 0, at = -1;
    for (int i = 0; i < n; i++) {
        int nf = factors(t[i], f, MAX_FACTORS);
        if (co[i] > 0 && nf > nd) nd = nf, at = i;
    }
    if (at < 0) return false;
    factors(t[at], d, MAX_FACTORS);
    *quotient = x_int(c, 0), *rest = e;
    for (int turn = 0; turn < TURNS && (q = leading_quotient(c, *rest, d, nd, co[at])); turn++) {
        *quotient = x_add(c, *quotient, q);
        *rest = x_sub(c, *rest, x_mul(c, q, by));
        if ((*rest)->op == X_POISON) return false;
    }
    return true;
}
static bool split(struct ctx *c, expr e, expr by, expr *quotient, expr *rest) {
    return split_product(c, e, by, quotient, rest) || split_sum(c, e, by, quotient, rest);
}
expr idx_exact_quotient(struct ctx *c, expr e, expr by) {
    expr q, rest;
    return split(c, e, by, &q, &rest) && x_is(rest, 0) ? q : NULL;
}
/* D5: e with x instead of x%m in each term k*(x%m) for which k*m is a multiple of `by`, for m made of sizes: e%by is
 * unchanged. */
static expr with_periods(struct ctx *c, expr e, expr by) {
    int64_t k;
    const expr *t;
    const int64_t *co;
    expr r = e;
    int n = e->op == X_LIN || e->op == X_MOD ? x_terms(c, e, &k, &t, &co) : 0;
    for (int i = 0; i < n; i++)
        if (t[i]->op == X_MOD && t[i]->arg[1]->op != X_CONST && x_is(x_mod(c, x_muli(c, t[i]->arg[1], co[i]), by), 0))
            r = x_add(c, r, x_muli(c, x_sub(c, t[i]->arg[0], t[i]), co[i]));
    return r;
}
static expr idx_mod_const(struct ctx *c, expr e, int64_t f) {
    if (f == 1) return x_int(c, 0);
    expr a, r, s, t, x = with_periods(c, e, x_int(c, f));
    int64_t lo, hi, g;
    if (x != e) return x_modi(c, x, f);
    split_const(c, e, f, &a, &r);
    x_bounds(c, r, &lo, &hi);
    if (lo != NEG_INF && hi != POS_INF && floordiv64(lo, f) == floordiv64(hi, f))
        return x_addi(c, r, -floordiv64(lo, f) * f);
    if (common_factor(c, r, f, f - 1, &g, &t, &s)) return x_add(c, x_muli(c, idx_mod_const(c, t, f / g), g), s);
    return NODE(c, X_MOD, IDX, r, x_int(c, f));
}
/* Terms that contain all factors can be divided separately, if the remaining terms stay below the divisor. */
static bool split_symbolic(struct ctx *c, expr e, expr by, expr *quotient, expr *rest) {
    int64_t lo, hi;
    if (!split(c, e, by, quotient, rest)) *quotient = x_int(c, 0), *rest = e;
    x_bounds(c, *rest, &lo, &hi);
    return x_is(*rest, 0) || (lo >= 0 && x_proves_lt(c, *rest, by));
}
/* D3 for sizes: e = g*a + s, where 0 <= s < g, and by = g*less. */
static bool symbolic_factor(struct ctx *c, expr e, expr by, int64_t *g, expr *less, expr *a, expr *s) {
    int64_t k;
    const expr *t;
    const int64_t *co;
    int n = x_terms(c, by, &k, &t, &co);
    for (int i = 0; i < n; i++) k = gcd64(k, co[i]);
    expr rest;
    if (k < 2 || !common_factor(c, e, k, k, g, a, s)) return false;
    split_const(c, by, *g, less, &rest);
    return true;
}
expr idx_div(struct ctx *c, expr a, expr b) {
    if (b->op == X_CONST) return b->u.i > 0 ? idx_div_const(c, a, b->u.i) : x_poison(c);
    expr q, r, less;
    int64_t g;
    if (a == b) return x_int(c, 1);
    if (x_is(a, 0)) return a;
    if (split_symbolic(c, a, b, &q, &r)) return q;
    if (symbolic_factor(c, a, b, &g, &less, &q, &r)) return idx_div(c, q, less);
    return NODE(c, X_DIV, IDX, a, b);
}
expr idx_mod(struct ctx *c, expr a, expr b) {
    if (b->op == X_CONST) return b->u.i > 0 ? idx_mod_const(c, a, b->u.i) : x_poison(c);
    expr q, r, less;
    int64_t g;
    if (a == b) return x_int(c, 0);
    if (x_is(a, 0)) return a;
    if ((q = with_periods(c, a, b)) != a) return x_mod(c, q, b);
    if (split_symbolic(c, a, b, &q, &r)) return r;
    if (symbolic_factor(c, a, b, &g, &less, &q, &r)) return x_add(c, x_muli(c, idx_mod(c, q, less), g), r);
    return NODE(c, X_MOD, IDX, a, b);
}
expr idx_minmax(struct ctx *c, enum xop op, expr a, expr b) {
    if (a == b) return a;
    if (x_proves_le(c, a, b)) return op == X_MIN ? a : b;
    if (x_proves_le(c, b, a)) return op == X_MIN ? b : a;
    return a->id < b->id ? NODE(c, op, IDX, a, b) : NODE(c, op, IDX, b, a);
}
