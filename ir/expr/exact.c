/* Sizes that a model computes in floats: ceil(float(n - 7) / 2 + 1) is an ordinary index if no rounding on the way can
 * reach the next integer. Called by x_cast. */
#include "ir/base/checked.h"
#include "ir/expr/int.h"
#include <math.h>

/* num / den exactly; each operation that computes it rounds once. */
struct quotient {
    expr num;
    int64_t den, greatest; /* greatest: bound of all intermediate results, times den */
    int steps;
};
static int64_t magnitude(struct ctx *c, expr e) {
    int64_t lo, hi;
    x_bounds(c, e, &lo, &hi);
    return lo == NEG_INF || hi == POS_INF || lo == INT64_MIN ? POS_INF : -lo > hi ? -lo : hi;
}
static bool whole_number(expr e, int64_t *n) {
    if (e->op != X_CONST || fabs(e->u.f) > 1 << 24 || floor(e->u.f) != e->u.f) return false;
    return *n = (int64_t)e->u.f, true;
}
/* Is e, of floats, made of an integer by divisions by integers and additions of them? */
static bool find_quotient(struct ctx *c, expr e, struct quotient *q) {
    int64_t n, moved;
    if (e->op == X_CAST && e->arg[0]->op == X_IDXVAL) {
        *q = (struct quotient){e->arg[0]->arg[0], 1, magnitude(c, e->arg[0]->arg[0]), 1};
        return true;
    }
    if ((e->op != X_DIV && e->op != X_ADD && e->op != X_SUB) || !whole_number(e->arg[1], &n)) return false;
    if (!find_quotient(c, e->arg[0], q)) return false;
    q->steps++;
    if (e->op == X_DIV) {
        if (n < 1 || !mul_ok(q->den, n, &q->den) || q->greatest == POS_INF) return false;
        return true; /* a dividend is as large in terms of the smaller parts */
    }
    if (!mul_ok(e->op == X_ADD ? n : -n, q->den, &moved)) return false;
    q->num = x_addi(c, q->num, moved), n = magnitude(c, q->num);
    if (n > q->greatest) q->greatest = n;
    return true;
}
/* A non-integer result is at least 1/den away from the next integer, and an integer one is computed exactly, because
 * every division was exact. The error of each step is at most greatest/den * 2^-24, for floats of 24 bits. */
static bool rounds_nowhere(const struct quotient *q, enum dtype t) {
    int64_t most = t == F32 ? 1 << 23 : INT64_C(1) << 52, all;
    return q->greatest != POS_INF && mul_ok(q->greatest + 1, q->steps, &all) && all < most && q->den < most;
}
expr x_exact_index(struct ctx *c, expr v) {
    struct quotient q;
    enum xop round = v->op == X_CEIL || v->op == X_FLOOR || v->op == X_TRUNC ? (enum xop)v->op : X_TRUNC;
    expr of = round == (enum xop)v->op ? v->arg[0] : v;
    int64_t lo, hi;
    if ((v->type != F32 && v->type != F64) || !find_quotient(c, of, &q) || !rounds_nowhere(&q, (enum dtype)v->type))
        return NULL;
    x_bounds(c, q.num, &lo, &hi);
    if (round == X_TRUNC && lo < 0 && hi > 0) return NULL;
    bool up = round == X_CEIL || (round == X_TRUNC && lo < 0);
    return x_divi(c, up ? x_addi(c, q.num, q.den - 1) : q.num, q.den);
}
