/* Expressions: hash-consing, constructors that simplify, rebuilding. See expr.h; bounds and proofs stand in
 * expr_bounds.c, constant folding of values in expr_fold.c. Shared by graph IR (dims) and loop IR (everything). */
#include "ir/expr.h"
#include "ir/base/checked.h"
#include "ir/expr_fold.h"
#include "ir/loop.h"
#include <stdlib.h>
#include <string.h>

struct expr_table {
    expr *slots;
    size_t n, cap;
};

struct expr_table *expr_table_new(struct ctx *c) {
    struct expr_table *t = NEW(&c->arena, struct expr_table);
    t->cap = 4096;
    t->slots = NEWN(&c->arena, expr, t->cap);
    return t;
}

static const char *const op_names[] = {
#define X(id, text, n) text,
    XOPS(X)
#undef X
};
const char *xop_name(enum xop op) { return op_names[op]; }

/* ---- hash-consing */
static uint64_t mix(uint64_t h, uint64_t v) {
    h ^= v + 0x9E3779B97F4A7C15u + (h << 6) + (h >> 2);
    return h * 0xFF51AFD7ED558CCDu;
}
static uint32_t node_hash(expr e) {
    uint64_t h = mix(e->op, e->type), payload;
    memcpy(&payload, &e->u, sizeof payload);
    h = mix(mix(h, payload), (uint64_t)e->n << 1 | e->has_fill);
    for (int k = 0; k < e->n; k++) {
        h = mix(h, e->arg[k]->id);
        if (e->op == X_LIN) h = mix(h, (uint64_t)e->coef[k]);
    }
    return (uint32_t)(h >> 32);
}
static bool node_equal(expr a, expr b) {
    if (a->hash != b->hash || a->op != b->op || a->type != b->type || a->has_fill != b->has_fill || a->n != b->n)
        return false;
    if (memcmp(&a->u, &b->u, sizeof a->u)) return false;
    for (int k = 0; k < a->n; k++)
        if (a->arg[k] != b->arg[k] || (a->op == X_LIN && a->coef[k] != b->coef[k])) return false;
    return true;
}
static void table_grow(struct ctx *c, struct expr_table *t) {
    size_t cap = t->cap * 2;
    expr *slots = NEWN(&c->arena, expr, cap);
    for (size_t k = 0; k < t->cap; k++) {
        if (!t->slots[k]) continue;
        size_t at = t->slots[k]->hash & (cap - 1);
        while (slots[at]) at = (at + 1) & (cap - 1);
        slots[at] = t->slots[k];
    }
    t->slots = slots;
    t->cap = cap;
}
/* The one node with these contents. `proto` is on the caller's stack, args and coefs apart; kept when new. */
static expr make(struct ctx *c, const struct expr *proto, const expr *args, int n, const int64_t *coefs) {
    struct expr_table *t = c->exprs;
    enum { INLINE = 24 };
    _Alignas(struct expr) char small[sizeof(struct expr) + INLINE * sizeof(expr)];
    struct expr *probe = (struct expr *)(void *)small;
    if (n > UINT16_MAX) return x_poison(c);
    if (n > INLINE) probe = arena_alloc(&c->arena, sizeof *probe + (size_t)n * sizeof(expr));
    memcpy(probe, proto, sizeof *proto);
    probe->n = (uint16_t)n;
    probe->coef = coefs;
    if (n) memcpy((void *)((char *)probe + offsetof(struct expr, arg)), args, (size_t)n * sizeof(expr));
    probe->hash = node_hash(probe);
    size_t at = probe->hash & (t->cap - 1);
    for (; t->slots[at]; at = (at + 1) & (t->cap - 1))
        if (node_equal(t->slots[at], probe)) return t->slots[at];
    struct expr *e = arena_alloc(&c->arena, sizeof *e + (size_t)n * sizeof(expr));
    memcpy(e, probe, sizeof *e + (size_t)n * sizeof(expr));
    if (coefs) e->coef = arena_copy(&c->arena, coefs, (size_t)n * sizeof *coefs);
    e->id = (uint32_t)++t->n;
    t->slots[at] = e;
    if (t->n * 4 > t->cap * 3) table_grow(c, t);
    return e;
}
static void head(struct expr *h, enum xop op, enum dtype type) {
    memset(h, 0, sizeof *h);
    h->op = (uint8_t)op;
    h->type = (uint8_t)type;
}
static expr node(struct ctx *c, enum xop op, enum dtype type, const expr *args, int n) {
    struct expr h;
    head(&h, op, type);
    return make(c, &h, args, n, NULL);
}
#define NODE(c, op, type, ...)                                                                                         \
    node((c), (op), (type), (const expr[]){__VA_ARGS__}, (int)(sizeof((const expr[]){__VA_ARGS__}) / sizeof(expr)))
static bool poisoned(const expr *a, int n) {
    for (int k = 0; k < n; k++)
        if (!a[k] || a[k]->op == X_POISON) return true;
    return false;
}

/* ---- leaves */
struct var *var_new(struct ctx *c, const char *name, expr extent) {
    struct var *v = NEW(&c->arena, struct var);
    v->name = intern(c->names, name);
    v->id = ++c->next_id;
    v->extent = extent;
    return v;
}
struct sym *sym_new(struct ctx *c, const char *name, int64_t lo, int64_t hi, bool produced) {
    struct sym *s = NEW(&c->arena, struct sym);
    s->name = intern(c->names, name);
    s->id = ++c->next_id;
    s->lo = lo;
    s->hi = hi;
    s->produced = produced;
    return s;
}
expr x_poison(struct ctx *c) { return node(c, X_POISON, NONE, NULL, 0); }
expr x_int(struct ctx *c, int64_t v) {
    struct expr h;
    head(&h, X_CONST, IDX);
    h.u.i = v;
    return make(c, &h, NULL, 0, NULL);
}
expr x_const_i(struct ctx *c, enum dtype t, int64_t v) {
    struct expr h;
    head(&h, X_CONST, t);
    h.u.i = fold_wrap(t, v);
    return make(c, &h, NULL, 0, NULL);
}
expr x_const_f(struct ctx *c, enum dtype t, double v) {
    struct expr h;
    head(&h, X_CONST, t);
    h.u.f = t == F32 ? (double)(float)v : v;
    return make(c, &h, NULL, 0, NULL);
}
expr x_num(struct ctx *c, enum dtype t, double v) {
    if (t == F32 || t == F64) return x_const_f(c, t, v);
    return t == IDX ? x_int(c, (int64_t)v) : x_const_i(c, t, f64_to_i64_sat(v));
}
expr x_bool(struct ctx *c, bool v) { return x_const_i(c, BOOL, v); }
expr x_var(struct ctx *c, const struct var *v) {
    struct expr h;
    head(&h, X_VAR, IDX);
    h.u.var = v;
    return make(c, &h, NULL, 0, NULL);
}
expr x_sym(struct ctx *c, const struct sym *s) {
    if (s->lo == s->hi) return x_int(c, s->lo);
    struct expr h;
    head(&h, X_SYM, IDX);
    h.u.sym = s;
    return make(c, &h, NULL, 0, NULL);
}
expr x_arg(struct ctx *c, int number, enum dtype t) {
    struct expr h;
    head(&h, X_ARG, t);
    h.u.i = number;
    return make(c, &h, NULL, 0, NULL);
}

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
static bool same_divmod(expr mod, expr div) {
    if (div->op != X_DIV) return false;
    if (div->arg[0] == mod->arg[0]) return div->arg[1] == mod->arg[1];
    expr d = mod->arg[0]; /* (e//a)%b, and (e//a)//b, which D4 has made e//(a*b) */
    int64_t ab;
    return d->op == X_DIV && d->arg[0] == div->arg[0] && d->arg[1]->op == X_CONST && div->arg[1]->op == X_CONST &&
           mul_ok(d->arg[1]->u.i, mod->arg[1]->u.i, &ab) && ab == div->arg[1]->u.i;
}
/* M1: k*c*(e/c) + k*(e%c) -> k*e. Applied until nothing matches. */
static void lin_rejoin(struct ctx *c, struct linear *l) {
    for (int i = 0; i < l->n; i++) {
        expr m = l->t[i].atom;
        if (m->op != X_MOD || m->arg[1]->op != X_CONST) continue;
        int64_t k = l->t[i].coef, want;
        if (!mul_ok(k, m->arg[1]->u.i, &want)) continue;
        for (int j = 0; j < l->n; j++) {
            if (l->t[j].coef != want || !same_divmod(m, l->t[j].atom)) continue;
            expr d = l->t[j].atom;
            lin_term(c, l, m, -k);
            lin_term(c, l, d, -want);
            lin_add(c, l, m->arg[0], k);
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
    expr *args = NEWN(&c->arena, expr, l->n);
    int64_t *coefs = NEWN(&c->arena, int64_t, l->n);
    for (int k = 0; k < l->n; k++) args[k] = l->t[k].atom, coefs[k] = l->t[k].coef;
    struct expr h;
    head(&h, X_LIN, IDX);
    h.u.i = l->k;
    return make(c, &h, args, l->n, coefs);
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
static expr idx_addmul(struct ctx *c, expr a, expr b, int64_t f) {
    struct linear l;
    lin_init(&l);
    lin_add(c, &l, a, 1);
    lin_add(c, &l, b, f);
    return lin_done(c, &l);
}
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
enum { MAX_FACTORS = 32, MAX_TERMS = 1024 };
static expr idx_mul(struct ctx *c, expr a, expr b) {
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
    if (na * nb > MAX_TERMS) return x_poison(c); /* powers of long sums: nothing that a model needs */
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
static int64_t gcd(int64_t a, int64_t b) {
    a = a < 0 ? -a : a;
    while (b) {
        int64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}
/* D3: the largest g that divides c and some coefficients such that the other terms s satisfy 0 <= s < g. */
static bool common_factor(struct ctx *c, expr r, int64_t f, int64_t *g_out, expr *a, expr *s) {
    int64_t k;
    const expr *t;
    const int64_t *co;
    int n = x_terms(c, r, &k, &t, &co);
    int64_t last = f;
    for (;;) {
        int64_t g = 1, lo, hi;
        for (int i = 0; i < n; i++) {
            int64_t d = gcd(co[i], f);
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
    if (common_factor(c, r, f, &g, &t, &s)) return x_add(c, a, idx_div_const(c, t, f / g));
    if (r->op == X_DIV && r->arg[1]->op == X_CONST && mul_ok(r->arg[1]->u.i, f, &g))
        return x_add(c, a, idx_div_const(c, r->arg[0], g)); /* D4 */
    return x_add(c, a, NODE(c, X_DIV, IDX, r, x_int(c, f)));
}
static expr idx_mod_const(struct ctx *c, expr e, int64_t f) {
    if (f == 1) return x_int(c, 0);
    expr a, r, s, t;
    int64_t lo, hi, g;
    split_const(c, e, f, &a, &r);
    x_bounds(c, r, &lo, &hi);
    if (lo != NEG_INF && hi != POS_INF && floordiv64(lo, f) == floordiv64(hi, f))
        return x_addi(c, r, -floordiv64(lo, f) * f);
    if (common_factor(c, r, f, &g, &t, &s)) return x_add(c, x_muli(c, idx_mod_const(c, t, f / g), g), s);
    return NODE(c, X_MOD, IDX, r, x_int(c, f));
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
/* Division by k * (product of symbols): terms that have all factors leave the division when the rest fits below it. */
static bool split_symbolic(struct ctx *c, expr e, expr by, expr *quotient, expr *rest) {
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
    int64_t lo, hi;
    x_bounds(c, *rest, &lo, &hi);
    return x_is(*rest, 0) || (lo >= 0 && x_proves_lt(c, *rest, by));
}
static expr idx_div(struct ctx *c, expr a, expr b) {
    if (b->op == X_CONST) return b->u.i > 0 ? idx_div_const(c, a, b->u.i) : x_poison(c);
    expr q, r;
    if (a == b) return x_int(c, 1);
    if (x_is(a, 0)) return a;
    if (split_symbolic(c, a, b, &q, &r)) return q;
    return NODE(c, X_DIV, IDX, a, b);
}
static expr idx_mod(struct ctx *c, expr a, expr b) {
    if (b->op == X_CONST) return b->u.i > 0 ? idx_mod_const(c, a, b->u.i) : x_poison(c);
    expr q, r;
    if (a == b) return x_int(c, 0);
    if (x_is(a, 0)) return a;
    if (split_symbolic(c, a, b, &q, &r)) return r;
    return NODE(c, X_MOD, IDX, a, b);
}
static expr idx_minmax(struct ctx *c, enum xop op, expr a, expr b) {
    if (a == b) return a;
    if (x_proves_le(c, a, b)) return op == X_MIN ? a : b;
    if (x_proves_le(c, b, a)) return op == X_MIN ? b : a;
    return a->id < b->id ? NODE(c, op, IDX, a, b) : NODE(c, op, IDX, b, a);
}

/* ---- values */
static bool is_const(expr e) { return e->op == X_CONST; }
/* I64 expressions that are index expressions in disguise. */
static expr as_index(struct ctx *c, expr e) {
    if (e->type != I64) return NULL;
    if (e->op == X_IDXVAL) return e->arg[0];
    if (is_const(e)) return x_int(c, e->u.i);
    return NULL;
}
static bool is_f(expr e, double v) {
    return is_const(e) && (e->type == F32 || e->type == F64) && !memcmp(&e->u.f, &v, sizeof v);
}
static bool is_i(expr e, int64_t v) { return is_const(e) && e->type != F32 && e->type != F64 && e->u.i == v; }
static expr value_bin(struct ctx *c, enum xop op, expr a, expr b) {
    if (is_const(a) && is_const(b)) return fold_bin(c, op, a, b);
    enum dtype t = a->type;
    expr ia = as_index(c, a), ib = as_index(c, b);
    if (ia && ib) {
        int64_t la, ha, lb, hb;
        switch (op) {
        case X_ADD:
        case X_SUB:
        case X_MUL:
        case X_MIN:
        case X_MAX: return x_idxval(c, x_bin(c, op, ia, ib));
        case X_DIV:
        case X_MOD: /* truncation is floor where both are known not to be negative */
            x_bounds(c, ia, &la, &ha), x_bounds(c, ib, &lb, &hb);
            if (la >= 0 && lb > 0) return x_idxval(c, x_bin(c, op, ia, ib));
            break;
        default: break;
        }
    }
    bool flt = t == F32 || t == F64;
    switch (op) { /* F1, as far as it is exact: x + 0 is not x for x = -0 (N5) */
    case X_ADD:
        if (is_f(b, -0.0) || is_i(b, 0)) return a;
        if (is_f(a, -0.0) || is_i(a, 0)) return b;
        break;
    case X_SUB:
        if (is_f(b, 0.0) || is_i(b, 0)) return a;
        break;
    case X_MUL:
        if (is_f(b, 1.0) || is_i(b, 1)) return a;
        if (is_f(a, 1.0) || is_i(a, 1)) return b;
        if (!flt && (is_i(a, 0) || is_i(b, 0))) return x_const_i(c, t, 0);
        break;
    case X_DIV:
        if (is_f(b, 1.0) || is_i(b, 1)) return a;
        break;
    case X_MIN:
    case X_MAX:
        if (a == b) return a;
        break;
    default: break;
    }
    return NODE(c, op, t, a, b);
}
static expr arith(struct ctx *c, enum xop op, expr a, expr b) {
    if (poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
    if (a->type != IDX) return value_bin(c, op, a, b);
    switch (op) {
    case X_ADD: return idx_addmul(c, a, b, 1);
    case X_SUB: return idx_addmul(c, a, b, -1);
    case X_MUL: return idx_mul(c, a, b);
    case X_DIV: return idx_div(c, a, b);
    case X_MOD: return idx_mod(c, a, b);
    default: return idx_minmax(c, op, a, b);
    }
}
expr x_add(struct ctx *c, expr a, expr b) { return arith(c, X_ADD, a, b); }
expr x_sub(struct ctx *c, expr a, expr b) { return arith(c, X_SUB, a, b); }
expr x_mul(struct ctx *c, expr a, expr b) { return arith(c, X_MUL, a, b); }
expr x_div(struct ctx *c, expr a, expr b) { return arith(c, X_DIV, a, b); }
expr x_mod(struct ctx *c, expr a, expr b) { return arith(c, X_MOD, a, b); }
expr x_min(struct ctx *c, expr a, expr b) { return arith(c, X_MIN, a, b); }
expr x_max(struct ctx *c, expr a, expr b) { return arith(c, X_MAX, a, b); }

expr x_fma(struct ctx *c, expr a, expr b, expr d) {
    if (poisoned((expr[]){a, b, d}, 3) || a->type != b->type || a->type != d->type ||
        (a->type != F32 && a->type != F64))
        return x_poison(c);
    if (is_const(a) && is_const(b) && is_const(d)) return fold_fma(c, a, b, d);
    return NODE(c, X_FMA, a->type, a, b, d);
}
expr x_un(struct ctx *c, enum xop op, expr a) {
    if (poisoned(&a, 1)) return x_poison(c);
    if (op == X_NOT && a->type == BOOL) return x_not(c, a);
    if (a->type == IDX) {
        if (op == X_NEG) return x_muli(c, a, -1);
        if (op == X_ABS) return x_max(c, a, x_muli(c, a, -1));
        return op == X_FLOOR || op == X_CEIL || op == X_TRUNC || op == X_RINT ? a : x_poison(c);
    }
    bool flt = a->type == F32 || a->type == F64;
    if (!flt && (op == X_FLOOR || op == X_CEIL || op == X_TRUNC || op == X_RINT)) return a;
    if ((!flt && op == X_SQRT) || (flt && op == X_NOT)) return x_poison(c);
    if (is_const(a)) return fold_un(c, op, a);
    if (as_index(c, a) && (op == X_NEG || op == X_ABS)) return x_idxval(c, x_un(c, op, as_index(c, a)));
    if (op == X_NEG && a->op == X_NEG) return a->arg[0];
    return NODE(c, op, a->type, a);
}
expr x_cmp(struct ctx *c, enum xop op, expr a, expr b) {
    if (poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
    expr ia = as_index(c, a), ib = as_index(c, b);
    if (ia && ib) a = ia, b = ib;
    if (a->type != IDX) {
        if (is_const(a) && is_const(b)) return fold_cmp(c, op, a, b);
        return NODE(c, op, BOOL, a, b);
    }
    int64_t lo, hi;
    switch (op) {
    case X_LT:
        if (x_proves_lt(c, a, b)) return x_bool(c, true);
        if (x_proves_le(c, b, a)) return x_bool(c, false);
        break;
    case X_LE:
        if (x_proves_le(c, a, b)) return x_bool(c, true);
        if (x_proves_lt(c, b, a)) return x_bool(c, false);
        break;
    default:
        x_bounds(c, x_sub(c, a, b), &lo, &hi);
        if (!lo && !hi) return x_bool(c, op == X_EQ);
        if (lo > 0 || hi < 0 || x_proves_lt(c, a, b) || x_proves_lt(c, b, a)) return x_bool(c, op == X_NE);
        break;
    }
    return NODE(c, op, BOOL, a, b);
}
expr x_and(struct ctx *c, expr a, expr b) {
    if (poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
    if (a->type != BOOL) return value_bin(c, X_AND, a, b);
    if (x_is_false(a) || x_is_true(b) || a == b) return a;
    if (x_is_true(a) || x_is_false(b)) return b;
    return NODE(c, X_AND, BOOL, a, b);
}
expr x_or(struct ctx *c, expr a, expr b) {
    if (poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
    if (a->type != BOOL) return value_bin(c, X_OR, a, b);
    if (x_is_true(a) || x_is_false(b) || a == b) return a;
    if (x_is_false(a) || x_is_true(b)) return b;
    return NODE(c, X_OR, BOOL, a, b);
}
expr x_not(struct ctx *c, expr a) {
    if (poisoned(&a, 1)) return x_poison(c);
    if (a->type != BOOL) return x_un(c, X_NOT, a);
    if (is_const(a)) return x_bool(c, !a->u.i);
    if (a->op == X_NOT) return a->arg[0];
    bool exact = a->n == 2 && a->arg[0]->type != F32 && a->arg[0]->type != F64; /* NaN: not (a<b) is not b<=a */
    if (a->op == X_LT && exact) return NODE(c, X_LE, BOOL, a->arg[1], a->arg[0]);
    if (a->op == X_LE && exact) return NODE(c, X_LT, BOOL, a->arg[1], a->arg[0]);
    if (a->op == X_EQ) return NODE(c, X_NE, BOOL, a->arg[0], a->arg[1]);
    if (a->op == X_NE) return NODE(c, X_EQ, BOOL, a->arg[0], a->arg[1]);
    return NODE(c, X_NOT, BOOL, a);
}
expr x_bin(struct ctx *c, enum xop op, expr a, expr b) {
    switch (op) {
    case X_ADD:
    case X_SUB:
    case X_MUL:
    case X_DIV:
    case X_MOD:
    case X_MIN:
    case X_MAX: return arith(c, op, a, b);
    case X_LT:
    case X_LE:
    case X_EQ:
    case X_NE: return x_cmp(c, op, a, b);
    case X_AND: return x_and(c, a, b);
    case X_OR: return x_or(c, a, b);
    case X_XOR:
    case X_SHL:
    case X_SHR:
        if (poisoned((expr[]){a, b}, 2) || a->type != b->type || a->type == IDX || a->type == F32 || a->type == F64)
            return x_poison(c);
        return is_const(a) && is_const(b) ? fold_bin(c, op, a, b) : NODE(c, op, a->type, a, b);
    default: return x_poison(c);
    }
}
expr x_select(struct ctx *c, expr cond, expr a, expr b) {
    if (!cond || cond->op == X_POISON || cond->type != BOOL) return x_poison(c);
    if (x_is_true(cond)) return a;
    if (x_is_false(cond)) return b;
    if (poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
    if (a == b) return a;
    expr ia = as_index(c, a), ib = as_index(c, b);
    if (ia && ib && (a->op == X_IDXVAL || b->op == X_IDXVAL)) return x_idxval(c, x_select(c, cond, ia, ib));
    if (a->type == BOOL && x_is_true(a) && x_is_false(b)) return cond;
    return NODE(c, X_SELECT, a->type, cond, a, b);
}
expr x_cast(struct ctx *c, enum dtype t, expr a) {
    if (poisoned(&a, 1)) return x_poison(c);
    if (a->type == IDX) a = x_idxval(c, a);
    if (t == IDX) return x_toidx(c, a);
    if (a->type == t) return a;
    if (is_const(a)) return fold_cast(c, t, a);
    if (t == BOOL) return x_cmp(c, X_NE, a, x_num(c, a->type, 0));
    /* I64 <- I32 <- an index that fits: the index itself */
    if (t == I64 && a->op == X_CAST && a->type == I32 && as_index(c, a->arg[0])) {
        int64_t lo, hi;
        x_bounds(c, as_index(c, a->arg[0]), &lo, &hi);
        if (lo >= INT32_MIN && hi <= INT32_MAX) return a->arg[0];
    }
    return NODE(c, X_CAST, t, a);
}
expr x_bitcast(struct ctx *c, enum dtype t, expr a) {
    if (poisoned(&a, 1) || dtype_bytes(t) != dtype_bytes(a->type)) return x_poison(c);
    if (a->type == t) return a;
    if (is_const(a)) return fold_bitcast(c, t, a);
    if (a->op == X_BITCAST) return x_bitcast(c, t, a->arg[0]);
    return NODE(c, X_BITCAST, t, a);
}
expr x_round(struct ctx *c, enum dtype storage, expr a) {
    if (poisoned(&a, 1) || dtype_value(storage) != a->type) return x_poison(c);
    if (storage == a->type || (a->op == X_ROUND && a->u.i == storage)) return a;
    if (a->op == X_LOAD && a->u.buf->type == storage) return a; /* a load of that type is exact already */
    if (is_const(a)) return fold_round(c, storage, a);
    struct expr h;
    head(&h, X_ROUND, a->type);
    h.u.i = storage;
    return make(c, &h, &a, 1, NULL);
}
expr x_load(struct ctx *c, struct buf *b, const expr *idx, int n, expr fill) {
    expr args[40];
    if (poisoned(idx, n) || n > 36 || (fill && fill->op == X_POISON)) return x_poison(c);
    for (int k = 0; k < n; k++)
        if (idx[k]->type != IDX) return x_poison(c);
    if (n) memcpy(args, idx, (size_t)n * sizeof *args);
    if (fill) args[n] = fill;
    struct expr h;
    head(&h, X_LOAD, dtype_value(b->type));
    h.has_fill = fill != NULL;
    h.u.buf = b;
    return make(c, &h, args, n + (fill != NULL), NULL);
}
expr x_call(struct ctx *c, const struct fn *f, const expr *args) {
    if (!f || poisoned(args, f->nargs)) return x_poison(c);
    for (int k = 0; k < f->nargs; k++)
        if (args[k]->type != f->args[k]) return x_poison(c);
    struct expr h;
    head(&h, X_CALL, f->type);
    h.u.fn = f;
    return make(c, &h, args, f->nargs, NULL);
}
expr x_idxval(struct ctx *c, expr index) {
    if (poisoned(&index, 1) || index->type != IDX) return x_poison(c);
    if (is_const(index)) return x_const_i(c, I64, index->u.i);
    if (index->op == X_TOIDX && index->arg[0]->type == I64) return index->arg[0];
    return NODE(c, X_IDXVAL, I64, index);
}
expr x_toidx(struct ctx *c, expr v) {
    if (poisoned(&v, 1)) return x_poison(c);
    if (v->type == IDX) return v;
    if (v->type == BOOL) return x_select(c, v, x_int(c, 1), x_int(c, 0));
    if (v->type == F32 || v->type == F64 || v->type == STR) return x_poison(c);
    switch (v->op) {
    case X_CONST: return x_int(c, v->u.i);
    case X_IDXVAL: return v->arg[0];
    case X_ADD:
    case X_SUB:
        if (v->type != I64) break;
        return x_bin(c, (enum xop)v->op, x_toidx(c, v->arg[0]), x_toidx(c, v->arg[1]));
    case X_MIN:
    case X_MAX: return x_bin(c, (enum xop)v->op, x_toidx(c, v->arg[0]), x_toidx(c, v->arg[1]));
    case X_MUL:
        if (v->type != I64 || (!is_const(v->arg[0]) && !is_const(v->arg[1]))) break;
        return x_mul(c, x_toidx(c, v->arg[0]), x_toidx(c, v->arg[1]));
    case X_SELECT: return x_select(c, v->arg[0], x_toidx(c, v->arg[1]), x_toidx(c, v->arg[2]));
    case X_CAST:
        if (v->type == I64 && v->arg[0]->type == I32) return x_toidx(c, v->arg[0]);
        break;
    default: break;
    }
    return NODE(c, X_TOIDX, IDX, v);
}
expr x_guard(struct ctx *c, expr index, expr n) {
    if (poisoned((expr[]){index, n}, 2) || index->type != IDX || n->type != IDX) return x_poison(c);
    if (x_proves_le(c, x_int(c, 0), index) && x_proves_lt(c, index, n)) return index;
    return NODE(c, X_GUARD, IDX, index, n);
}

/* ---- rebuilding */
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
        m->key = calloc(m->cap, sizeof *m->key);
        m->val = calloc(m->cap, sizeof *m->val);
        if (!m->key || !m->val) BUG("out of memory");
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
    default: return e->n == 1 ? x_un(c, (enum xop)e->op, a[0]) : x_bin(c, (enum xop)e->op, a[0], a[1]);
    }
}
static expr map_node(struct ctx *c, struct memo *m, expr e, expr (*fn)(void *, expr), void *env) {
    size_t at = memo_slot(m, e);
    if (m->key[at]) return m->val[at];
    expr r = fn(env, e);
    if (!r) {
        expr inl[16], *a = e->n <= 16 ? inl : NEWN(&c->arena, expr, e->n);
        bool same = true; /* ranges of variables never change, so an unchanged node is already in its simplest form */
        for (int k = 0; k < e->n; k++) {
            a[k] = map_node(c, m, e->arg[k], fn, env);
            same &= a[k] == e->arg[k];
        }
        r = same ? e : rebuild(c, e, a);
    }
    memo_put(m, e, r);
    return r;
}
expr x_map(struct ctx *c, expr e, expr (*fn)(void *env, expr e), void *env) {
    if (!e->n) {
        expr r = fn(env, e);
        return r ? r : e;
    }
    struct memo m;
    memo_init(&m);
    expr r = map_node(c, &m, e, fn, env);
    memo_free(&m);
    return r;
}
static expr subst_leaf(void *env, expr e) {
    const struct subst *s = env;
    if (e->op != X_VAR && e->op != X_SYM) return NULL;
    return map_get(&s->map, e->op == X_VAR ? PKEY(e->u.var) : PKEY(e->u.sym));
}
expr x_subst(struct ctx *c, expr e, const struct subst *s) { return x_map(c, e, subst_leaf, (void *)s); }
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
    return x_map(c, e, subst_one, &o);
}
static bool visit_node(struct memo *m, expr e, bool (*fn)(void *, expr), void *env) {
    if (m->key[memo_slot(m, e)]) return true;
    memo_put(m, e, e);
    for (int k = 0; k < e->n; k++)
        if (!visit_node(m, e->arg[k], fn, env)) return false;
    return fn(env, e);
}
bool x_visit(expr e, bool (*fn)(void *env, expr e), void *env) {
    if (!e->n) return fn(env, e);
    struct memo m;
    memo_init(&m);
    bool r = visit_node(&m, e, fn, env);
    memo_free(&m);
    return r;
}
