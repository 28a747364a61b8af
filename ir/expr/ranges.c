/* Ranges of values: they justify rounding, converting and clamping in another order. For index expressions see
 * bounds.c. */
#include "ir/expr/buf.h"
#include "ir/expr/expr.h"
#include <float.h>
#include <math.h>

static const struct x_range unknown = {-INFINITY, INFINITY, true};

static struct x_range of_type(enum dtype t) {
    switch (t) {
    case BOOL: return (struct x_range){0, 1, false};
    case I8: return (struct x_range){INT8_MIN, INT8_MAX, false};
    case U8: return (struct x_range){0, UINT8_MAX, false};
    case I16: return (struct x_range){INT16_MIN, INT16_MAX, false};
    case U16: return (struct x_range){0, UINT16_MAX, false};
    case I32: return (struct x_range){INT32_MIN, INT32_MAX, false};
    case U32: return (struct x_range){0, UINT32_MAX, false};
    case I64: return (struct x_range){-0x1p63, 0x1p63, false};
    case U64: return (struct x_range){0, 0x1p64, false};
    default: return unknown;
    }
}
static bool is_float(enum dtype t) { return t == F32 || t == F64; }
static bool is_finite(struct x_range r) { return !r.nan && r.lo > -INFINITY && r.hi < INFINITY; }
struct x_range x_range_of_both(struct x_range a, struct x_range b) {
    return (struct x_range){fmin(a.lo, b.lo), fmax(a.hi, b.hi), a.nan || b.nan};
}
/* The range after conversion to type t: integers wrap if they do not fit, floats round. The ends were themselves
 * rounded to f64, so they are widened by one step. */
static struct x_range fitted(enum dtype t, double lo, double hi) {
    if (t == F32) {
        if (!(lo > -FLT_MAX && hi < FLT_MAX)) return unknown;
        return (struct x_range){nextafterf((float)lo, -INFINITY), nextafterf((float)hi, INFINITY), false};
    }
    struct x_range all = of_type(t);
    if (is_float(t) || all.hi > 0x1p32) return all;
    return lo >= all.lo && hi <= all.hi ? (struct x_range){lo, hi, false} : all;
}
static struct x_range of_products(enum dtype t, struct x_range a, struct x_range b) {
    double p[] = {a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi};
    return fitted(t, fmin(fmin(p[0], p[1]), fmin(p[2], p[3])), fmax(fmax(p[0], p[1]), fmax(p[2], p[3])));
}
static struct x_range of_arithmetic(enum xop op, enum dtype t, struct x_range a, struct x_range b) {
    if (!is_finite(a) || !is_finite(b)) return of_type(t);
    switch (op) {
    case X_ADD: return fitted(t, a.lo + b.lo, a.hi + b.hi);
    case X_SUB: return fitted(t, a.lo - b.hi, a.hi - b.lo);
    case X_MUL: return of_products(t, a, b);
    default: /* includes quotients of floats by something away from 0 */
        if (t != F32 || (b.lo < FLT_MIN && b.hi > -FLT_MIN)) return of_type(t);
        return of_products(t, a, (struct x_range){1 / b.hi, 1 / b.lo, false});
    }
}
/* a < b ? a : b, and the reverse: b if one of them is NaN. */
static struct x_range of_choice(enum xop op, struct x_range a, struct x_range b) {
    struct x_range r = op == X_MIN ? (struct x_range){fmin(a.lo, b.lo), fmin(a.hi, b.hi), b.nan}
                                   : (struct x_range){fmax(a.lo, b.lo), fmax(a.hi, b.hi), b.nan};
    return a.nan || b.nan ? x_range_of_both(r, (struct x_range){b.lo, b.hi, b.nan}) : r;
}
static struct x_range of_cast(enum dtype to, enum dtype from, struct x_range a) {
    struct x_range all = of_type(to);
    if (to == F64 && is_finite(a)) return a;
    if (is_float(to)) return is_finite(a) ? fitted(to, a.lo, a.hi) : unknown;
    if (!is_float(from)) return fitted(to, a.lo, a.hi);
    struct x_range r = {fmin(fmax(trunc(a.lo), all.lo), all.hi), fmin(fmax(trunc(a.hi), all.lo), all.hi), false};
    return a.nan ? x_range_of_both(r, (struct x_range){0, 0, false}) : r;
}
static struct x_range whole(enum xop op, struct x_range a) {
    double (*f)(double) = op == X_FLOOR ? floor : op == X_CEIL ? ceil : op == X_TRUNC ? trunc : rint;
    return (struct x_range){f(a.lo), f(a.hi), a.nan};
}
/* Bit operations on a value that is not negative: shifts to the right, or masks. */
static struct x_range of_bits(enum xop op, enum dtype t, struct x_range a, int64_t by) {
    if (op == X_SHR && a.lo >= 0 && by >= 0 && by < dtype_bits(t))
        return (struct x_range){floor(ldexp(a.lo, -(int)by)), floor(ldexp(a.hi, -(int)by)), false};
    return op == X_AND && by >= 0 ? (struct x_range){0, (double)by, false} : of_type(t);
}
struct x_range x_range_of_data(const struct tensor *t) {
    struct x_range r = {INFINITY, -INFINITY, false};
    for (int64_t k = 0, n = tensor_count(t); k < n; k++) {
        double v = dtype_is_float(t->type) ? tensor_f(t, k) : (double)tensor_i(t, k);
        r.lo = fmin(r.lo, v), r.hi = fmax(r.hi, v), r.nan |= isnan(v);
    }
    return r.nan ? unknown : r;
}
bool x_data_is_finite(const struct tensor *t) {
    if (!dtype_is_float(t->type)) return !dtype_is_complex(t->type) && t->type != STR;
    for (int64_t k = 0, n = tensor_count(t); k < n; k++)
        if (!isfinite(tensor_f(t, k))) return false;
    return true;
}
/* The range of a table's contents, if it is short or otherwise known. */
static bool of_table(const struct buf *b, struct x_range *r) {
    enum { SHORT = 4096 };
    if (b->within) return *r = (struct x_range){(double)b->within[0], (double)b->within[1], false}, true;
    int64_t n = b->scope == SC_CONST && b->data && b->type != STR ? tensor_count(b->data) : 0;
    if (n < 1 || n > SHORT || dtype_is_complex(b->type)) return false;
    *r = x_range_of_data(b->data);
    return true;
}
struct ranging {
    int budget; /* expressions share parts, so as trees they may be exponentially large */
    x_cells_fn *cells;
    void *env;
};
static struct x_range of_load(struct ranging *q, expr e);
static struct x_range range(struct ranging *q, expr e) {
    enum dtype t = (enum dtype)e->type;
    if (t == IDX || --q->budget < 0) return of_type(t);
    switch (e->op) {
    case X_CONST:
        if (!is_float(t)) return fitted(t, (double)e->u.i, (double)e->u.i);
        return isnan(e->u.f) ? unknown : (struct x_range){e->u.f, e->u.f, false};
    case X_LOAD: return of_load(q, e);
    case X_ADD:
    case X_SUB:
    case X_MUL:
    case X_DIV: {
        struct x_range a = range(q, e->arg[0]), b = range(q, e->arg[1]);
        return of_arithmetic((enum xop)e->op, t, a, b);
    }
    case X_MIN:
    case X_MAX: {
        struct x_range a = range(q, e->arg[0]), b = range(q, e->arg[1]);
        return of_choice((enum xop)e->op, a, b);
    }
    case X_FLOOR:
    case X_CEIL:
    case X_TRUNC:
    case X_RINT: return whole((enum xop)e->op, range(q, e->arg[0]));
    case X_SELECT: {
        struct x_range a = range(q, e->arg[1]), b = range(q, e->arg[2]);
        return x_range_of_both(a, b);
    }
    case X_CAST: return of_cast(t, (enum dtype)e->arg[0]->type, range(q, e->arg[0]));
    case X_ROUND: {
        struct x_range a = range(q, e->arg[0]);
        return is_float(t) ? unknown : fitted((enum dtype)e->u.i, a.lo, a.hi);
    }
    case X_SHR:
    case X_AND:
        if (e->arg[1]->op != X_CONST) return of_type(t);
        return of_bits((enum xop)e->op, t, range(q, e->arg[0]), e->arg[1]->u.i);
    default: return of_type(t);
    }
}
static struct x_range of_load(struct ranging *q, expr e) {
    struct x_range cells;
    if (!(q->cells && q->cells(q->env, e->u.buf, &cells)) && !of_table(e->u.buf, &cells))
        cells = of_type(e->u.buf->type);
    if (cells.nan && !is_float((enum dtype)e->type)) cells = of_type((enum dtype)e->type);
    return e->has_fill ? x_range_of_both(cells, range(q, e->arg[e->n - 1])) : cells;
}
struct x_range x_range_of(expr e, x_cells_fn *cells, void *env) {
    struct ranging q = {200, cells, env};
    return range(&q, e);
}
struct x_range x_range(expr e) {
    return x_range_of(e, NULL, NULL);
}
bool x_within(expr e, double lo, double hi) {
    struct x_range r = x_range(e);
    return !r.nan && r.lo >= lo && r.hi <= hi;
}
bool x_fits(expr e, enum dtype t) {
    struct x_range all = of_type(t);
    return !all.nan && x_within(e, all.lo, all.hi);
}
