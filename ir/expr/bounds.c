/* Intervals of index expressions (rule B1 of docs/loop-ir.md), their values if all leaves are known, and expected
 * values for predicting times. */
#include "ir/base/checked.h"
#include "ir/expr/buf.h"
#include "ir/expr/int.h"

struct interval {
    int64_t lo, hi;
};
static struct interval all(void) { return (struct interval){NEG_INF, POS_INF}; }

static struct interval scaled(struct interval i, int64_t k) {
    int64_t a = sat_mul(i.lo, k), b = sat_mul(i.hi, k);
    return k < 0 ? (struct interval){b, a} : (struct interval){a, b};
}
static struct interval product(struct interval a, struct interval b) {
    int64_t p[4] = {sat_mul(a.lo, b.lo), sat_mul(a.lo, b.hi), sat_mul(a.hi, b.lo), sat_mul(a.hi, b.hi)};
    struct interval r = {p[0], p[0]};
    for (int k = 1; k < 4; k++) r.lo = min64(r.lo, p[k]), r.hi = max64(r.hi, p[k]);
    return r;
}
static int64_t div_end(int64_t v, int64_t by) { return v == NEG_INF || v == POS_INF ? v : floordiv64(v, by); }
static struct interval value_bounds(expr v) { /* of an integer value that is used as an index */
    if (v->type != BOOL && v->type != I32 && v->type != U32) return all();
    struct x_range r = x_range(v);
    return (struct interval){(int64_t)r.lo, (int64_t)r.hi};
}
static struct interval bounds(int *budget, expr e) {
    struct interval a, b;
    if (--*budget < 0) return all();
    switch (e->op) {
    case X_CONST: return (struct interval){e->u.i, e->u.i};
    case X_VAR:
        a = bounds(budget, e->u.var->extent);
        return (struct interval){0, a.hi == POS_INF ? POS_INF : max64(a.hi - 1, 0)};
    case X_SYM: return (struct interval){e->u.sym->lo, e->u.sym->hi};
    case X_LIN:
        a = (struct interval){e->u.i, e->u.i};
        for (int k = 0; k < e->n; k++) {
            b = scaled(bounds(budget, e->arg[k]), e->coef[k]);
            a = (struct interval){sat_add(a.lo, b.lo), sat_add(a.hi, b.hi)};
        }
        return a;
    case X_PROD: return product(bounds(budget, e->arg[0]), bounds(budget, e->arg[1]));
    case X_DIV:
        a = bounds(budget, e->arg[0]), b = bounds(budget, e->arg[1]);
        if (b.lo <= 0) return a.lo >= 0 ? (struct interval){0, a.hi} : all();
        return (struct interval){
            min64(div_end(a.lo, b.lo), b.hi == POS_INF ? (a.lo < 0 ? -1 : 0) : div_end(a.lo, b.hi)),
            max64(div_end(a.hi, b.lo), b.hi == POS_INF ? (a.hi < 0 ? -1 : 0) : div_end(a.hi, b.hi))};
    case X_MOD:
        a = bounds(budget, e->arg[0]), b = bounds(budget, e->arg[1]);
        if (b.lo <= 0) return (struct interval){0, POS_INF};
        return (struct interval){0, min64(b.hi == POS_INF ? POS_INF : b.hi - 1, a.lo >= 0 ? a.hi : POS_INF)};
    case X_MIN:
        a = bounds(budget, e->arg[0]), b = bounds(budget, e->arg[1]);
        return (struct interval){min64(a.lo, b.lo), min64(a.hi, b.hi)};
    case X_MAX:
        a = bounds(budget, e->arg[0]), b = bounds(budget, e->arg[1]);
        return (struct interval){max64(a.lo, b.lo), max64(a.hi, b.hi)};
    case X_SELECT:
        a = bounds(budget, e->arg[1]), b = bounds(budget, e->arg[2]);
        return (struct interval){min64(a.lo, b.lo), max64(a.hi, b.hi)};
    case X_GUARD:
        b = bounds(budget, e->arg[1]);
        return (struct interval){0, b.hi == POS_INF ? POS_INF : max64(b.hi - 1, 0)};
    case X_TOIDX: return value_bounds(e->arg[0]);
    default: return all();
    }
}
void x_bounds(struct ctx *c, expr e, int64_t *lo, int64_t *hi) {
    int budget = 4096; /* nodes of e as a tree, which sharing can make exponentially large */
    (void)c;
    struct interval i = e->type == IDX ? bounds(&budget, e) : all();
    *lo = i.lo, *hi = i.hi;
}

/* ---- expected values, for predicting times */
struct typical {
    struct ctx *c;
    struct subst sizes;
    int64_t open;
};
static bool typical_symbol(void *env, expr e) {
    struct typical *q = env;
    if (e->op != X_SYM) return true;
    const struct sym *y = e->u.sym;
    int64_t found = y->produced && q->open < OPEN_SIZE ? OPEN_SIZE : q->open, n = y->ref ? y->ref : found;
    map_put(&q->sizes.map, PKEY(y), (void *)x_int(q->c, n < y->lo ? y->lo : n > y->hi ? y->hi : n));
    return true;
}
int64_t x_typical(struct ctx *c, expr size, int64_t open) {
    struct typical t = {c, {{.arena = &c->arena}}, open};
    int64_t n, low, high;
    if (x_is_int(size, &n)) return n;
    x_visit(size, typical_symbol, &t);
    x_bounds(c, x_subst(c, size, &t.sizes), &low, &high);
    return high == POS_INF ? open : high;
}
static bool has_reference(void *env, expr e) {
    (void)env;
    return e->op != X_SYM || e->u.sym->ref > 0;
}
int64_t x_reference(struct ctx *c, expr size) {
    return x_visit_with(size, XF_SYM, has_reference, NULL) ? x_typical(c, size, 0) : -1;
}

/* ---- values */
struct evaluation {
    bool (*get)(void *env, expr leaf, int64_t *v);
    void *env;
    bool as_run; /* a quotient by 0 is 0, as in the printed C (nn_div64) */
};
static bool eval(expr e, const struct evaluation *ev, int64_t *out) {
    int64_t a, b;
    switch (e->op) {
    case X_CONST: return *out = e->u.i, true;
    case X_VAR:
    case X_SYM: return ev->get(ev->env, e, out);
    case X_LIN:
        *out = e->u.i;
        for (int k = 0; k < e->n; k++)
            if (!eval(e->arg[k], ev, &a) || !mul_ok(a, e->coef[k], &a) || !add_ok(*out, a, out)) return false;
        return true;
    case X_PROD: return eval(e->arg[0], ev, &a) && eval(e->arg[1], ev, &b) && mul_ok(a, b, out);
    case X_DIV:
    case X_MOD:
        if (!eval(e->arg[0], ev, &a) || !eval(e->arg[1], ev, &b)) return false;
        if (b <= 0) return *out = 0, ev->as_run;
        return *out = e->op == X_DIV ? floordiv64(a, b) : floormod64(a, b), true;
    case X_MIN:
    case X_MAX:
        if (!eval(e->arg[0], ev, &a) || !eval(e->arg[1], ev, &b)) return false;
        return *out = e->op == X_MIN ? min64(a, b) : max64(a, b), true;
    case X_GUARD:
        if (!eval(e->arg[0], ev, &a) || !eval(e->arg[1], ev, &b)) return false;
        return *out = a, a >= 0 && a < b;
    case X_SELECT: {
        expr q = e->arg[0];
        bool r;
        if (q->n != 2 || q->arg[0]->type != IDX || !eval(q->arg[0], ev, &a) || !eval(q->arg[1], ev, &b))
            return ev->get(ev->env, e, out);
        switch (q->op) {
        case X_LT: r = a < b; break;
        case X_LE: r = a <= b; break;
        case X_EQ: r = a == b; break;
        case X_NE: r = a != b; break;
        default: return ev->get(ev->env, e, out);
        }
        return eval(e->arg[r ? 1 : 2], ev, out);
    }
    default: return ev->get(ev->env, e, out);
    }
}
bool x_eval_int(expr e, bool (*get)(void *env, expr leaf, int64_t *v), void *env, int64_t *out) {
    return eval(e, &(struct evaluation){get, env, .as_run = false}, out);
}
bool x_eval_size(expr e, bool (*get)(void *env, expr leaf, int64_t *v), void *env, int64_t *out) {
    return eval(e, &(struct evaluation){get, env, .as_run = true}, out);
}
