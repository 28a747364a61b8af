/* Dependences between iterations, see dependence.h. The proofs of ir/expr/prove.c say how far digits reach. */
#include "ir/loop/dependence.h"
#include "ir/base/checked.h"

bool has_var(const struct vars *l, const struct var *v) {
    for (int k = 0; k < l->n; k++)
        if (l->v[k] == v) return true;
    return false;
}

/* ---- meeting */
struct equation {
    expr a, b;
    bool done;
};
struct meeting {
    const struct iterations *q;
    VEC(expr) equal; /* atoms known to have the same value in both iterations */
    struct {
        struct equation *v;
        int n, cap;
    } eqs;
    bool never;
};
struct term {
    expr atom;
    int64_t k, width;
};
struct terms {
    struct term *v;
    int n, cap;
};

static bool same_node(void *env, expr e) {
    const struct iterations *q = env;
    switch (e->op) {
    case X_SYM: return !q->varies || !q->varies(q->env, e);
    case X_LOAD:
    case X_TOIDX:
    case X_GUARD:
    case X_CALL: return q->varies && !q->varies(q->env, e);
    default: return true;
    }
}
static bool known(struct meeting *m, expr e);
static bool atom_known(struct meeting *m, expr a) {
    if (a->op == X_CONST) return true;
    if (!x_visit(a, same_node, (void *)m->q)) return false; /* memory may differ between the iterations */
    if (a->op == X_SYM || (a->op == X_VAR && !has_var(&m->q->moving, a->u.var))) return true;
    for (int k = 0; k < m->equal.n; k++)
        if (m->equal.v[k] == a) return true;
    if (a->op == X_VAR) return false;
    for (int k = 0; k < a->n; k++)
        if (!known(m, a->arg[k])) return false;
    return true;
}
static bool known(struct meeting *m, expr e) {
    int64_t c0;
    const expr *t;
    const int64_t *co;
    if (e->type != IDX) return false;
    if (e->op != X_LIN) return atom_known(m, e);
    for (int n = x_terms(m->q->c, e, &c0, &t, &co), k = 0; k < n; k++)
        if (!atom_known(m, t[k])) return false;
    return true;
}
static int64_t coef_of(struct ctx *c, expr e, expr atom) {
    int64_t c0;
    const expr *t;
    const int64_t *co;
    for (int n = x_terms(c, e, &c0, &t, &co), k = 0; k < n; k++)
        if (t[k] == atom) return co[k];
    return 0;
}
static void add_interval(struct meeting *m, expr atom, int64_t k, int64_t *lo, int64_t *hi) {
    int64_t l, h;
    x_bounds(m->q->c, atom, &l, &h);
    l = sat_mul(l, k), h = sat_mul(h, k);
    *lo = sat_add(*lo, k < 0 ? h : l);
    *hi = sat_add(*hi, k < 0 ? l : h);
}
static void mark_equal(struct meeting *m, expr atom) {
    if (!atom_known(m, atom)) PUSH(m->q->tmp, &m->equal, atom);
    /* v * rest equal, rest equal and not 0: v equal */
    if (atom->op != X_PROD) return;
    for (int k = 0; k < 2; k++) {
        int64_t lo, hi;
        x_bounds(m->q->c, atom->arg[k], &lo, &hi);
        if (lo > 0 && known(m, atom->arg[k])) mark_equal(m, atom->arg[1 - k]);
    }
}
/* One side's terms: shared ones become differences (k * delta, |delta| <= width), others widen the interval lo..hi. */
static void split_terms(struct meeting *m, expr mine, expr other, int64_t sign, bool first, struct terms *out,
                        int64_t *lo, int64_t *hi) {
    struct ctx *c = m->q->c;
    int64_t c0, l, h;
    const expr *t;
    const int64_t *co;
    int n = x_terms(c, mine, &c0, &t, &co);
    *lo = sat_add(*lo, sat_mul(c0, sign));
    *hi = sat_add(*hi, sat_mul(c0, sign));
    for (int k = 0; k < n; k++) {
        int64_t there = coef_of(c, other, t[k]);
        if (atom_known(m, t[k])) {
            if (there != co[k] && (first || !there)) add_interval(m, t[k], first ? co[k] - there : -co[k], lo, hi);
        } else if (there == co[k]) {
            x_bounds(c, t[k], &l, &h);
            struct term d = {t[k], co[k] < 0 ? -co[k] : co[k], l == NEG_INF || h == POS_INF ? POS_INF : h - l};
            if (first) PUSH(m->q->tmp, out, d);
        } else {
            add_interval(m, t[k], co[k] * sign, lo, hi);
        }
    }
}
static bool solve(struct meeting *m, struct equation *q) {
    struct terms d = {0};
    int64_t lo = 0, hi = 0;
    bool progress = false;
    split_terms(m, q->a, q->b, 1, true, &d, &lo, &hi);
    split_terms(m, q->b, q->a, -1, false, &d, &lo, &hi);
    int64_t reach = 0, g = 0;
    for (int k = 0; k < d.n; k++) {
        reach = sat_add(reach, sat_mul(d.v[k].k, d.v[k].width));
        g = gcd64(g, d.v[k].k);
    }
    if (sat_add(lo, sat_mul(reach, -1)) > 0 || sat_add(hi, reach) < 0) m->never = true;
    if (lo == hi && (g ? lo % g : lo)) m->never = true;
    while (d.n && !m->never) {
        int big = 0;
        for (int k = 1; k < d.n; k++)
            if (d.v[k].k > d.v[big].k || (d.v[k].k == d.v[big].k && d.v[k].width > d.v[big].width)) big = k;
        int64_t rest = 0;
        for (int k = 0; k < d.n; k++)
            if (k != big) rest = sat_add(rest, sat_mul(d.v[k].k, d.v[k].width));
        int64_t l = sat_add(lo, sat_mul(rest, -1)), h = sat_add(hi, rest);
        if (d.v[big].width && (l <= -d.v[big].k || h >= d.v[big].k)) return progress;
        bool before = atom_known(m, d.v[big].atom);
        mark_equal(m, d.v[big].atom);
        progress |= !before && atom_known(m, d.v[big].atom); /* what is loaded never becomes known */
        d.v[big] = d.v[--d.n];
    }
    q->done = true;
    return progress;
}
/* Is e//n the same in both iterations? Also if f//(n*m) is, where e is f//m. */
static bool quotient_known(struct meeting *m, expr e, expr n) {
    struct ctx *c = m->q->c;
    int64_t by, most;
    if (known(m, x_div(c, e, n))) return true;
    if (!x_is_int(n, &by)) return false;
    for (int k = 0; k < m->equal.n; k++) {
        expr q = m->equal.v[k];
        if (q->op == X_DIV && x_is_int(q->arg[1], &most) && most % by == 0 &&
            x_div(c, x_divi(c, q->arg[0], most / by), n) == x_div(c, e, n))
            return true;
    }
    return false;
}
/* e % c and e // c equal: e equal. */
static bool rejoin(struct meeting *m) {
    for (int k = 0; k < m->equal.n; k++) {
        expr e = m->equal.v[k];
        if (e->op != X_MOD || known(m, e->arg[0]) || !quotient_known(m, e->arg[0], e->arg[1])) continue;
        bool seen = false;
        for (int q = 0; q < m->eqs.n; q++) seen |= m->eqs.v[q].a == e->arg[0] && m->eqs.v[q].b == e->arg[0];
        if (seen) continue;
        struct equation q = {e->arg[0], e->arg[0], false};
        PUSH(m->q->tmp, &m->eqs, q);
        return true;
    }
    return false;
}
/* If one index contains block*(e//n) and another cell*(e%n), the corresponding sum without the division is the same in
 * both iterations, too, and its terms are digits. */
static void join_quotients(struct meeting *m, const expr *a, const expr *b, int n) {
    struct ctx *c = m->q->c;
    int64_t c0, by, unit;
    const expr *t;
    const int64_t *block;
    for (int i = 0; i < n; i++)
        for (int terms = a[i]->type == IDX ? x_terms(c, a[i], &c0, &t, &block) : 0, k = 0; k < terms; k++)
            for (int j = 0; j < n; j++) {
                if (i == j || t[k]->op != X_DIV || a[j]->type != IDX || !x_is_int(t[k]->arg[1], &by)) continue;
                int64_t cell = coef_of(c, a[j], x_mod(c, t[k]->arg[0], t[k]->arg[1]));
                if (!cell || !mul_ok(by, cell, &unit)) continue;
                struct equation e = {x_add(c, x_muli(c, a[i], unit), x_muli(c, a[j], block[k])),
                                     x_add(c, x_muli(c, b[i], unit), x_muli(c, b[j], block[k])), false};
                if (e.a->op != X_POISON && e.b->op != X_POISON) PUSH(m->q->tmp, &m->eqs, e);
            }
}
/* Checked indices can be treated as unchecked: if the check fails, so does the run, and its results are not used. */
static expr unchecked(expr e) { return e->op == X_GUARD ? e->arg[0] : e; }
struct meet cells_meet(const struct iterations *q, const expr *a, const expr *b, int n) {
    struct meeting m = {.q = q};
    struct meet r = {0};
    for (int k = 0; k < n; k++) {
        struct equation e = {unchecked(a[k]), unchecked(b[k]), a[k]->type != IDX || b[k]->type != IDX};
        PUSH(q->tmp, &m.eqs, e);
    }
    join_quotients(&m, a, b, n);
    for (int k = 0; k < q->moving.n; k++) /* a loop of one iteration does not move */
        if (x_is(q->moving.v[k]->extent, 1)) PUSH(q->tmp, &m.equal, x_var(q->c, q->moving.v[k]));
    for (bool again = true; again && !m.never;) {
        again = false;
        for (int k = 0; k < m.eqs.n && !m.never; k++)
            if (!m.eqs.v[k].done) again |= solve(&m, &m.eqs.v[k]);
        again |= rejoin(&m);
    }
    r.never = m.never;
    for (int k = 0; k < q->moving.n; k++)
        if (m.never || atom_known(&m, x_var(q->c, q->moving.v[k]))) PUSH(q->tmp, &r.fixed, q->moving.v[k]);
    return r;
}

/* ---- the other iteration */
static bool same_or_var(void *env, expr e) {
    const struct iterations *q = env;
    return e->op == X_VAR ? !has_var(&q->moving, e->u.var) : same_node(env, e);
}
static bool is_same(const struct iterations *q, expr e) { return x_visit(e, same_or_var, (void *)q); }
static expr twin_of(struct iterations *q, const struct var *v) {
    expr t = map_get(&q->twins.map, PKEY(v));
    if (t || !has_var(&q->moving, v)) return t;
    q->twins.map.arena = q->tmp;
    t = x_var(q->c, var_new(q->c, v->name, in_other_iteration(q, v->extent)));
    map_put(&q->twins.map, PKEY(v), (void *)t);
    return t;
}
static expr other_node(void *env, expr e) {
    struct iterations *q = env;
    if (e->op == X_VAR) return twin_of(q, e->u.var);
    if ((e->op != X_TOIDX && e->op != X_SYM) || is_same(q, e)) return NULL;
    int64_t lo, hi;
    x_bounds(q->c, e, &lo, &hi);
    return x_sym(q->c, sym_new(q->c, "other", lo, hi, true));
}
expr in_other_iteration(struct iterations *q, expr e) { return x_map(q->c, e, other_node, q); }

/* ---- apart
 * An index, or several joined, is C*v + rest with the same C in both iterations, and |difference of the rests| < C. */
static bool less(struct iterations *q, expr a, expr b) {
    return q->less ? q->less(q->env, a, b) : x_proves_lt(q->c, a, b);
}
static bool within(struct iterations *q, expr d, expr limit) {
    return less(q, d, limit) && less(q, x_muli(q->c, d, -1), limit);
}
/* C*v is a digit between those of inner loops: d = G*big + small, |small| < C and |C*(v - other v) + small| < G. */
static bool digit_apart(struct iterations *q, const struct var *v, expr d, expr C) {
    struct ctx *c = q->c;
    int64_t k, unit, n;
    const expr *t;
    const int64_t *co;
    if (!x_is_int(C, &unit) || !x_is_int(v->extent, &n)) return false;
    int terms = x_terms(c, d, &k, &t, &co);
    for (int g = 0; g < terms; g++) {
        int64_t G = co[g] < 0 ? -co[g] : co[g];
        if (G <= unit) continue;
        expr small = d;
        for (int j = 0; j < terms; j++)
            if (co[j] % G == 0) small = x_sub(c, small, x_muli(c, t[j], co[j]));
        if (within(q, small, C) && within(q, small, x_int(c, G - unit * (n - 1)))) return true;
    }
    return false;
}
/* e = C*v + rest; false if that is not so, or C is not the same in both iterations. */
static bool split(struct iterations *q, expr e, const struct var *v, expr *coef, expr *rest) {
    struct ctx *c = q->c;
    *coef = x_sub(c, x_subst1(c, e, v, x_addi(c, x_var(c, v), 1)), e);
    *rest = x_subst1(c, e, v, x_int(c, 0));
    return (*coef)->op != X_POISON && is_same(q, *coef);
}
static bool kept_apart(struct iterations *q, const struct var *v, expr a, expr b) {
    struct ctx *c = q->c;
    expr ca, cb, ra, rb, zero = x_int(c, 0);
    if (!x_uses_var(c, a, v) || !x_uses_var(c, b, v)) return false; /* C would be 0 */
    if (!split(q, a, v, &ca, &ra) || !split(q, b, v, &cb, &rb) || ca != cb) return false;
    rb = in_other_iteration(q, rb);
    if (!less(q, zero, ca)) ca = x_muli(c, ca, -1);
    if (!less(q, zero, ca)) return false;
    expr d = x_sub(c, rb, ra);
    return d->op != X_POISON && (within(q, d, ca) || digit_apart(q, v, d, ca));
}
/* Row-major number of the cell, ignoring padding: combines what the division and modulo of a fused loop have
 * separated. */
static expr joined(struct ctx *c, const struct buf *b, const expr *idx, int from, int to) {
    expr e = idx[from];
    for (int k = from + 1; k <= to; k++) e = x_add(c, x_mul(c, e, b->dims[k]), idx[k]);
    return e;
}
/* The two are never equal, in any pair of iterations. */
static bool ranges_apart(struct iterations *q, expr a, expr b) {
    int64_t lo, hi;
    x_bounds(q->c, x_sub(q->c, a, in_other_iteration(q, b)), &lo, &hi);
    return lo > 0 || hi < 0;
}
bool cells_apart(struct iterations *q, const struct var *v, const struct buf *buf, const expr *a, const expr *b,
                 int n) {
    struct ctx *c = q->c;
    for (int k = 0; k < n; k++)
        if (kept_apart(q, v, a[k], b[k]) || ranges_apart(q, a[k], b[k])) return true;
    struct meet m = cells_meet(q, a, b, n);
    if (m.never || has_var(&m.fixed, v)) return true;
    if (n != buf->nd) return false;
    for (int i = 0; i < n; i++)
        for (int j = i + 1; j < n; j++)
            if (kept_apart(q, v, joined(c, buf, a, i, j), joined(c, buf, b, i, j))) return true;
    return false;
}
