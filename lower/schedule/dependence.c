/* When do two iterations of a nest touch the same cell? The legality tests of reorder, kind, join, carry and layout are
 * this one question. Answered by peeling mixed-radix digits off the linear forms of the indices; what it cannot show
 * counts as "they may meet". Beside it: symbolic ends of an index over inner loops, for the boxes of compute_at. */
#include "lower/schedule/steps_util.h"

/* ---- meeting */
struct equation {
    expr a, b;
    bool done;
};
struct meeting {
    struct step *s;
    const struct vars *moving;
    struct exprs equal; /* atoms known to have the same value in both iterations */
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

static bool opaque_node(void *env, expr e) {
    (void)env;
    return e->op != X_LOAD && e->op != X_TOIDX && e->op != X_GUARD && e->op != X_CALL;
}
static bool known(struct meeting *m, expr e);
static bool atom_known(struct meeting *m, expr a) {
    if (a->op == X_CONST || a->op == X_SYM) return true;
    if (!x_visit(a, opaque_node, NULL)) return false; /* memory may differ between the iterations */
    if (a->op == X_VAR && !has_var(m->moving, a->u.var)) return true;
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
    for (int n = x_terms(m->s->c, e, &c0, &t, &co), k = 0; k < n; k++)
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
    x_bounds(m->s->c, atom, &l, &h);
    l = sat_mul(l, k), h = sat_mul(h, k);
    *lo = sat_add(*lo, k < 0 ? h : l);
    *hi = sat_add(*hi, k < 0 ? l : h);
}
static void mark_equal(struct meeting *m, expr atom) {
    if (!atom_known(m, atom)) PUSH(&m->s->tmp, &m->equal, atom);
    /* v * rest equal, rest equal and not 0: v equal */
    if (atom->op != X_PROD) return;
    for (int k = 0; k < 2; k++) {
        int64_t lo, hi;
        x_bounds(m->s->c, atom->arg[k], &lo, &hi);
        if (lo > 0 && known(m, atom->arg[k])) mark_equal(m, atom->arg[1 - k]);
    }
}
/* One side's terms: shared ones become differences (k * delta, |delta| <= width), others widen the interval lo..hi. */
static void split_terms(struct meeting *m, expr mine, expr other, int64_t sign, bool first, struct terms *out,
                        int64_t *lo, int64_t *hi) {
    struct ctx *c = m->s->c;
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
            if (first) PUSH(&m->s->tmp, out, d);
        } else {
            add_interval(m, t[k], co[k] * sign, lo, hi);
        }
    }
}
static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b, b = r;
    }
    return a < 0 ? -a : a;
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
        g = gcd(g, d.v[k].k);
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
        mark_equal(m, d.v[big].atom);
        progress = true;
        d.v[big] = d.v[--d.n];
    }
    q->done = true;
    return progress;
}
/* e % c and e // c equal: e equal. */
static bool rejoin(struct meeting *m) {
    for (int k = 0; k < m->equal.n; k++) {
        expr e = m->equal.v[k];
        if (e->op != X_MOD || known(m, e->arg[0]) || !known(m, x_div(m->s->c, e->arg[0], e->arg[1]))) continue;
        bool seen = false;
        for (int q = 0; q < m->eqs.n; q++) seen |= m->eqs.v[q].a == e->arg[0] && m->eqs.v[q].b == e->arg[0];
        if (seen) continue;
        struct equation q = {e->arg[0], e->arg[0], false};
        PUSH(&m->s->tmp, &m->eqs, q);
        return true;
    }
    return false;
}
struct meet cells_meet(struct step *s, const expr *a, const expr *b, int n, const struct vars *moving) {
    struct meeting m = {.s = s, .moving = moving};
    struct meet r = {0};
    for (int k = 0; k < n; k++) {
        struct equation q = {a[k], b[k], a[k]->type != IDX || b[k]->type != IDX};
        PUSH(&s->tmp, &m.eqs, q);
    }
    for (int k = 0; k < moving->n; k++) /* a loop of one iteration does not move */
        if (x_is(moving->v[k]->extent, 1)) PUSH(&s->tmp, &m.equal, x_var(s->c, moving->v[k]));
    for (bool again = true; again && !m.never;) {
        again = false;
        for (int k = 0; k < m.eqs.n && !m.never; k++)
            if (!m.eqs.v[k].done) again |= solve(&m, &m.eqs.v[k]);
        again |= rejoin(&m);
    }
    r.never = m.never;
    for (int k = 0; k < moving->n; k++)
        if (m.never || atom_known(&m, x_var(s->c, moving->v[k]))) PUSH(&s->tmp, &r.fixed, moving->v[k]);
    return r;
}

/* ---- ends over inner loops */
static bool const_ends(struct ctx *c, expr e, expr *lo, expr *hi) {
    int64_t l, h;
    x_bounds(c, e, &l, &h);
    if (l == NEG_INF || h == POS_INF) return false;
    *lo = x_int(c, l);
    *hi = x_int(c, h);
    return true;
}
static bool range_div(struct step *s, expr e, const struct vars *inner, expr *lo, expr *hi) {
    struct ctx *c = s->c;
    expr l, h;
    int64_t by, a, b;
    if (!x_is_int(e->arg[1], &by) || by <= 0 || !range_over(s, e->arg[0], inner, &l, &h))
        return const_ends(c, e, lo, hi);
    if (e->op == X_DIV) {
        *lo = x_div(c, l, e->arg[1]);
        *hi = x_div(c, h, e->arg[1]);
        return true;
    }
    bool consts = x_is_int(l, &a) && x_is_int(h, &b);
    bool whole = consts && floordiv64(a, by) == floordiv64(b, by);
    *lo = x_int(c, whole ? floormod64(a, by) : 0);
    *hi = x_int(c, whole ? floormod64(b, by) : by - 1);
    return true;
}
bool range_over(struct step *s, expr e, const struct vars *inner, expr *lo, expr *hi) {
    struct ctx *c = s->c;
    expr l, h, l2, h2;
    int64_t k0, a, b;
    const expr *t;
    const int64_t *co;
    *lo = *hi = e;
    if (!uses_any(s, e, inner)) return x_visit(e, opaque_node, NULL) || const_ends(c, e, lo, hi);
    switch (e->op) {
    case X_VAR:
        if (!range_over(s, e->u.var->extent, inner, &l, &h)) return false;
        *lo = x_int(c, 0);
        *hi = x_addi(c, h, -1);
        return true;
    case X_LIN:
        *lo = *hi = x_int(c, e->u.i);
        for (int n = x_terms(c, e, &k0, &t, &co), k = 0; k < n; k++) {
            if (!range_over(s, t[k], inner, &l, &h)) return false;
            *lo = x_add(c, *lo, x_muli(c, co[k] > 0 ? l : h, co[k]));
            *hi = x_add(c, *hi, x_muli(c, co[k] > 0 ? h : l, co[k]));
        }
        return true;
    case X_DIV:
    case X_MOD: return range_div(s, e, inner, lo, hi);
    case X_MIN:
    case X_MAX:
        if (!range_over(s, e->arg[0], inner, &l, &h) || !range_over(s, e->arg[1], inner, &l2, &h2)) return false;
        *lo = x_bin(c, e->op, l, l2);
        *hi = x_bin(c, e->op, h, h2);
        return true;
    case X_PROD:
        if (!range_over(s, e->arg[0], inner, &l, &h) || !range_over(s, e->arg[1], inner, &l2, &h2)) return false;
        x_bounds(c, l, &a, &b);
        if (a < 0) return const_ends(c, e, lo, hi);
        x_bounds(c, l2, &a, &b);
        if (a < 0) return const_ends(c, e, lo, hi);
        *lo = x_mul(c, l, l2);
        *hi = x_mul(c, h, h2);
        return true;
    default: return const_ends(c, e, lo, hi);
    }
}

/* ---- facts from enclosing ifs */
static bool implied(struct step *s, expr cond, bool truth, expr e) {
    struct ctx *c = s->c;
    if (cond->op == X_NOT) return implied(s, cond->arg[0], !truth, e);
    if (cond->op == (truth ? X_AND : X_OR))
        return implied(s, cond->arg[0], truth, e) || implied(s, cond->arg[1], truth, e);
    if ((cond->op != X_LT && cond->op != X_LE) || cond->arg[0]->type != IDX) return false;
    expr d = truth ? x_sub(c, cond->arg[1], cond->arg[0]) : x_sub(c, cond->arg[0], cond->arg[1]);
    if ((cond->op == X_LT) == truth) d = x_addi(c, d, -1); /* now d >= 0 holds */
    return x_proves_le(c, d, e);
}
bool holds_nonneg(struct step *s, const struct stmt *t, expr e) {
    if (x_proves_le(s->c, x_int(s->c, 0), e)) return true;
    for (const struct stmt *up = stmt_parent(t), *from = t; up; from = up, up = stmt_parent(up))
        if (up->kind == S_IF && implied(s, up->u.cond.cond, from->in == &up->u.cond.then, e)) return true;
    return false;
}
