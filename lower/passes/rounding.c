/* Pass `rounding`: a value that is rounded, shifted by a zero point and clamped becomes an integer directly after
 * rounding, for which machines have an instruction. See passes.h. For small integers z, lo <= hi,
 *
 *     i32(min(max(rint(x) + z, lo), hi))  =  i32(rint(min(max(x, lo - z), hi - z))) + z
 *
 * holds for any x, infinite or NaN, too: rounding preserves order, and does not change integers. If NaN is to become 0
 * before clamping, x becomes -z. If the integer is known to be far from wrapping, and the machine has an instruction
 * that clamps integers, the clamp comes last:
 *
 *     min(max(i32(rint(x)) + z, lo), hi)
 *
 * If it is known to fit a narrower integer, wrapping to that type is dropped.
 *
 * A value that is converted back to float never becomes an integer: between M - 2^22 and M + 2^22, M = 1.5 * 2^23, all
 * floats are integers, so adding M rounds to nearest, halves to even, and subtracting it again is exact:
 *
 *     f32(i32(min(max(rint(x) + z, lo), hi)))  =  (min(max(x, lo - z), hi - z) + M) - (M - z)
 *
 * Some compilers turn comparisons of floats into branches, which would be unpredictable; there, integers are clamped,
 * which compilers do without branches. The bits of floats above zero are in the order of the floats, and those of all
 * other floats are below M's. So, with B for the bits of M and n for the bits of x + M, for any number x:
 *
 *     i32(min(max(rint(x) + z, lo), hi))  =  min(max(n, B + lo - z), B + hi - z) - (B - z)
 *
 * If x may be NaN, a mask selects other bits for it; numbers.c knows which values cannot be NaN. Floats are also
 * clamped by an instruction, without a branch, if compilers do not know the limits, because a parameter holds them. But
 * that keeps gcc from vectorising adjacent stores, so there integers are clamped. */
#include "lower/machine/machine.h"
#include "lower/passes/limits.h"
#include "lower/passes/numbers.h"
#include "lower/passes/passes.h"
#include <math.h>

#define WHOLE 12582912.0   /* M */
#define BITS  1262485504   /* B */
#define SMALL 4194304.0    /* 2^22: sums of two such numbers are exact in f32 */
#define FAR   1073741824.0 /* 2^30: so are those of one with a small one, in i32 */

struct rounding {
    struct ctx *c;
    struct numbers *numbers;
    struct limits *limits; /* NULL: they are not used for clamping */
    struct proc *p;
    struct map single; /* values stored where compilers do not vectorise neighbouring stores */
    bool clamps;       /* the machine has an instruction that clamps integers */
    bool branches;     /* comparisons of floats become branches */
    bool saturates;    /* one instruction rounds to an integer, whatever the range */
};
struct quantized { /* i32(min(max(rint(x) + z, lo), hi)) */
    expr x, z, lo, hi;
    bool zero; /* NaN becomes 0 first, instead of lo */
};
static bool is_small(expr e) { return e->op == X_CONST && e->u.f == rint(e->u.f) && fabs(e->u.f) <= SMALL; }
/* A zero point, as a float. */
static bool is_zero_point(expr e) {
    if (e->op == X_CONST) return is_small(e);
    return e->op == X_CAST && e->arg[0]->type == I32 && x_within(e->arg[0], -SMALL, SMALL);
}
/* v != v ? 0 : v */
static bool is_zeroed(expr e) {
    return e->op == X_SELECT && e->arg[0]->op == X_NE && e->arg[0]->arg[0] == e->arg[2] &&
           e->arg[0]->arg[1] == e->arg[2] && e->arg[1]->op == X_CONST && e->arg[1]->u.f == 0;
}
static bool is_quantized(expr e, struct quantized *q) {
    if (e->op != X_CAST || e->type != I32 || e->arg[0]->type != F32) return false;
    expr low = e->arg[0]->op == X_MIN ? e->arg[0]->arg[0] : NULL, sum = low && low->op == X_MAX ? low->arg[0] : NULL;
    if (!sum) return false;
    q->zero = is_zeroed(sum);
    if (q->zero) sum = sum->arg[2];
    q->lo = low->arg[1], q->hi = e->arg[0]->arg[1];
    if (!is_small(q->lo) || !is_small(q->hi) || q->lo->u.f > q->hi->u.f) return false;
    expr rounded = sum->op == X_ADD ? sum->arg[0] : sum;
    if (rounded->op != X_RINT) return false;
    q->x = rounded->arg[0], q->z = sum->op == X_ADD ? sum->arg[1] : NULL;
    return !q->z || is_zero_point(q->z);
}
static bool is_number(const struct rounding *r, expr x) { return !numbers_of(r->numbers, x).nan; }
/* The limits of x for clamping before it is rounded. */
static void limits_before(struct ctx *c, const struct quantized *q, expr *lo, expr *hi) {
    *lo = q->z ? x_sub(c, q->lo, q->z) : q->lo, *hi = q->z ? x_sub(c, q->hi, q->z) : q->hi;
}
/* x clamped before rounding. */
static expr clamped(const struct rounding *r, const struct quantized *q) {
    struct ctx *c = r->c;
    expr x = q->x, none = q->z ? x_un(c, X_NEG, q->z) : x_num(c, F32, 0);
    if (q->zero && !is_number(r, x)) x = x_select(c, x_cmp(c, X_NE, x, x), none, x);
    expr lo, hi;
    limits_before(c, q, &lo, &hi);
    return x_min(c, x_max(c, x, lo), hi);
}
static bool clamps_integers(const struct rounding *r, const struct quantized *q) {
    if (!r->clamps) return false;
    struct x_range x = r->saturates ? numbers_of(r->numbers, q->x) : x_range(q->x);
    return !x.nan && x.lo >= -FAR && x.hi <= FAR;
}
static expr zero_point(struct ctx *c, const struct quantized *q) {
    return q->z ? x_cast(c, I32, q->z->op == X_CAST ? q->z->arg[0] : q->z) : x_num(c, I32, 0);
}
/* bits if x is a number, otherwise those of M moved by `none`; with a mask, which compilers do not turn into a
 * branch. */
static expr bits_of_number(struct ctx *c, expr x, expr bits, expr none) {
    expr mask = x_sub(c, x_num(c, I32, 0), x_cast(c, I32, x_cmp(c, X_EQ, x, x)));
    expr other = x_add(c, x_num(c, I32, BITS), none);
    return x_bin(c, X_XOR, x_and(c, x_bin(c, X_XOR, bits, other), mask), other);
}
/* The bits of M, moved by x and clamped. */
static expr clamped_bits(const struct rounding *r, const struct quantized *q) {
    struct ctx *c = r->c;
    expr z = zero_point(c, q), b = x_num(c, I32, BITS);
    expr lo = x_sub(c, x_cast(c, I32, q->lo), z), hi = x_sub(c, x_cast(c, I32, q->hi), z);
    expr bits = x_bitcast(c, I32, x_add(c, q->x, x_num(c, F32, WHOLE)));
    if (!is_number(r, q->x)) bits = bits_of_number(c, q->x, bits, q->zero ? x_un(c, X_NEG, z) : lo);
    return x_min(c, x_max(c, bits, x_add(c, b, lo)), x_add(c, b, hi));
}
/* x + M, clamped by numbers that compilers do not know, so that they use instructions; NULL: not available. */
static expr clamped_loaded(const struct rounding *r, const struct quantized *q) {
    struct ctx *c = r->c;
    expr x = q->x, m = x_num(c, F32, WHOLE), lo, hi;
    limits_before(c, q, &lo, &hi);
    if (lo->op != X_CONST || hi->op != X_CONST) return NULL;
    if (q->zero && q->lo->u.f != 0 && !is_number(r, x)) return NULL;
    struct buf *b = limits_of(r->limits, r->p, WHOLE + lo->u.f, WHOLE + hi->u.f);
    if (!b) return NULL;
    x = x_max(c, x_add(c, x, m), x_load(c, b, (expr[]){x_int(c, 0)}, 1, NULL));
    return x_min(c, x, x_load(c, b, (expr[]){x_int(c, 1)}, 1, NULL));
}
static expr rounded_later(const struct rounding *r, const struct quantized *q) {
    struct ctx *c = r->c;
    expr z = zero_point(c, q);
    if (clamps_integers(r, q)) {
        expr n = x_cast(c, I32, x_un(c, X_RINT, q->x));
        n = x_add(c, n, z);
        return x_min(c, x_max(c, n, x_cast(c, I32, q->lo)), x_cast(c, I32, q->hi));
    }
    if (r->branches) return x_sub(c, clamped_bits(r, q), x_sub(c, x_num(c, I32, BITS), z));
    return x_add(c, x_cast(c, I32, x_un(c, X_RINT, clamped(r, q))), z);
}
/* Is e such an integer as a float, which loses nothing in a narrower type? */
static bool is_whole_float(const struct rounding *r, expr e, struct quantized *q) {
    if (e->op != X_CAST || e->type != F32) return false;
    e = e->arg[0];
    expr n = e->op == X_ROUND ? e->arg[0] : e;
    if (!is_quantized(n, q) || clamps_integers(r, q)) return false;
    return e == n || x_fits(n, (enum dtype)e->u.i);
}
static expr whole_float(const struct rounding *r, const struct quantized *q, bool single) {
    struct ctx *c = r->c;
    expr m = x_num(c, F32, WHOLE), moved = r->branches && single ? clamped_loaded(r, q) : NULL;
    if (!moved) moved = r->branches ? x_bitcast(c, F32, clamped_bits(r, q)) : x_add(c, clamped(r, q), m);
    return x_sub(c, moved, q->z ? x_sub(c, m, q->z) : m);
}
static expr rewritten(void *env, expr e) {
    struct rounding *r = env;
    struct quantized q;
    if (is_whole_float(r, e, &q)) {
        q.x = x_map(r->c, q.x, rewritten, r);
        return whole_float(r, &q, map_get(&r->single, PKEY(e)) != NULL);
    }
    if (is_quantized(e, &q)) {
        q.x = x_map(r->c, q.x, rewritten, r);
        return rounded_later(r, &q);
    }
    if (e->op != X_ROUND || !dtype_is_int((enum dtype)e->u.i)) return NULL;
    expr v = x_map(r->c, e->arg[0], rewritten, r);
    enum dtype t = (enum dtype)e->u.i;
    return x_fits(v, t) ? v : x_round(r->c, t, v);
}
/* Before anything is rewritten: notes which of the values may be NaN, as only those matter. */
static expr look(void *env, expr e) {
    const struct rounding *r = env;
    struct quantized q;
    if (is_quantized(e, &q) && (q.zero || r->branches || r->saturates)) numbers_of(r->numbers, q.x);
    return NULL;
}
/* ---- stores side by side */
enum { TOGETHER = 4 }; /* floats in a vector that compilers make of such stores */
struct place {
    expr value, from; /* stored at that offset */
    int64_t at;
};
typedef VEC(struct place) places;
static bool is_stored_at(const places *all, expr from, int64_t at) {
    for (int k = 0; k < all->n; k++)
        if (all->v[k].from == from && all->v[k].at == at) return true;
    return false;
}
/* Is it part of stores that form whole vectors, or whole halves of them? */
static bool is_together(const places *all, const struct place *p) {
    int64_t lo = p->at, hi = p->at + 1;
    while (is_stored_at(all, p->from, lo - 1)) lo--;
    while (is_stored_at(all, p->from, hi)) hi++;
    return hi - lo >= TOGETHER && (hi - lo) % 2 == 0;
}
static void find_single(struct rounding *r, struct block *b) {
    struct ctx *c = r->c;
    places all = {0};
    struct quantized q;
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        for (int k = stmt_blocks(s, in); k-- > 0;) find_single(r, in[k]);
        if (s->kind != S_STORE || s->u.store.op != RED_NONE || !is_whole_float(r, s->u.store.value, &q)) continue;
        expr off = buf_offset(c, s->u.store.buf, s->u.store.idx);
        const expr *atoms;
        const int64_t *coefs;
        struct place p = {s->u.store.value, NULL, 0};
        x_terms(c, off, &p.at, &atoms, &coefs);
        p.from = x_sub(c, off, x_int(c, p.at));
        PUSH(&c->arena, &all, p);
    }
    for (int k = 0; k < all.n; k++)
        if (!is_together(&all, &all.v[k])) map_put(&r->single, PKEY(all.v[k].value), &r->single);
}
void pass_rounding(struct module *m, const struct printing *o) {
    struct rounding r = {m->ctx,
                         numbers_new(m),
                         o->target->branches ? limits_new(m) : NULL,
                         NULL,
                         {.arena = &m->ctx->arena},
                         machine_op(o->target->machine, X_MIN, I32) != NULL,
                         o->target->branches,
                         o->target->saturates};
    for (int k = 0; k < m->procs.n; k++) map_exprs(m->ctx, &m->procs.v[k]->body, look, &r);
    for (int k = 0; k < m->procs.n; k++) {
        r.p = m->procs.v[k];
        if (r.branches) find_single(&r, &r.p->body);
        map_exprs(m->ctx, &r.p->body, rewritten, &r);
    }
}
