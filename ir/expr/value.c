/* The constructors of operations: constants are folded, exact simplifications done, index expressions handled by
 * index.c. They never fail: operands that do not fit give the poison expression. */
#include "ir/expr/buf.h"
#include "ir/expr/fold.h"
#include "ir/expr/int.h"
#include <string.h>

/* ---- arithmetic */
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
static bool is_arithmetic(enum xop op) {
    return op == X_ADD || op == X_SUB || op == X_MUL || op == X_DIV || op == X_MOD || op == X_MIN || op == X_MAX;
}
/* The result of op on two integers that are these indices, as an index; NULL: it would differ, or op is no
 * arithmetic. */
static expr index_bin(struct ctx *c, enum xop op, expr a, expr b) {
    int64_t la, ha, lb, hb;
    if (!is_arithmetic(op)) return NULL;
    if (op == X_DIV || op == X_MOD) { /* truncation equals floor if both are known not to be negative */
        x_bounds(c, a, &la, &ha), x_bounds(c, b, &lb, &hb);
        if (lb <= 0 || (la < 0 && op == X_MOD)) return NULL;
        expr zero = x_int(c, 0);
        if (la < 0) return x_sub(c, x_div(c, x_max(c, a, zero), b), x_div(c, x_max(c, x_muli(c, a, -1), zero), b));
    }
    return x_bin(c, op, a, b);
}
/* A sum of integers, which wrap, simplified with an earlier sum a: (x + m) + n is x + (m + n), and (x + y) - y is x.
 * NULL: not possible. */
static expr joined_sum(struct ctx *c, enum xop op, expr a, expr b) {
    enum dtype t = (enum dtype)a->type;
    if ((op != X_ADD && op != X_SUB) || (a->op != X_ADD && a->op != X_SUB) || !dtype_is_int(t)) return NULL;
    if (a->op != op && a->arg[1] == b) return a->arg[0];
    if (!is_const(b) || !is_const(a->arg[1])) return NULL;
    uint64_t m = (uint64_t)a->arg[1]->u.i, n = (uint64_t)b->u.i;
    return x_bin(c, (enum xop)a->op, a->arg[0], x_const_i(c, t, (int64_t)(a->op == op ? m + n : m - n)));
}
static expr value_bin(struct ctx *c, enum xop op, expr a, expr b) {
    if (is_const(a) && is_const(b)) return fold_bin(c, op, a, b);
    enum dtype t = a->type;
    expr ia = as_index(c, a), ib = as_index(c, b), i = ia && ib ? index_bin(c, op, ia, ib) : NULL;
    if (i) return x_idxval(c, i);
    expr joined = joined_sum(c, op, a, b);
    if (joined) return joined;
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
    if (x_poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
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
    if (x_poisoned((expr[]){a, b, d}, 3) || a->type != b->type || a->type != d->type ||
        (a->type != F32 && a->type != F64))
        return x_poison(c);
    if (is_const(a) && is_const(b) && is_const(d)) return fold_fma(c, a, b, d);
    return NODE(c, X_FMA, a->type, a, b, d);
}
/* Negates x*y + z by its sign bit: gcc would turn a negation into -(x*y) - z, which gives the other zero if the result
 * is 0. */
static expr negated_bits(struct ctx *c, expr fma) {
    enum dtype bits = fma->type == F32 ? I32 : I64;
    expr sign = x_const_i(c, bits, bits == I32 ? INT32_MIN : INT64_MIN);
    return x_bitcast(c, (enum dtype)fma->type, x_bin(c, X_XOR, x_bitcast(c, bits, fma), sign));
}
expr x_un(struct ctx *c, enum xop op, expr a) {
    if (x_poisoned(&a, 1)) return x_poison(c);
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
    if (op == X_NEG && a->op == X_FMA) return negated_bits(c, a);
    return NODE(c, op, a->type, a);
}
/* A comparison of a truth value, as a number, with a number outside of its range; NULL: it is undecided. Compilers warn
 * about such comparisons. */
static expr cmp_truth(struct ctx *c, enum xop op, expr a, expr b) {
    expr truth = a->op == X_CAST && a->arg[0]->type == BOOL ? a : b, other = truth == a ? b : a, r[2];
    if (truth->op != X_CAST || truth->arg[0]->type != BOOL || !is_const(other)) return NULL;
    for (int k = 0; k < 2; k++) {
        expr number = x_num(c, (enum dtype)truth->type, k);
        r[k] = truth == a ? fold_cmp(c, op, number, b) : fold_cmp(c, op, a, number);
    }
    return r[0] == r[1] ? r[0] : NULL;
}
/* Decides a comparison of integers with a number by the types of loaded cells (compilers warn if the answer is always
 * the same). NULL: undecided, or the number is too large for the ends of ranges, which are f64. */
static expr cmp_by_range(struct ctx *c, enum xop op, expr a, expr b) {
    if (!dtype_is_int((enum dtype)a->type) || is_const(a) == is_const(b)) return NULL;
    int64_t number = is_const(a) ? a->u.i : b->u.i, greatest = INT64_C(1) << 53;
    if (number < -greatest || number > greatest || (number < 0 && !dtype_is_signed((enum dtype)a->type))) return NULL;
    struct x_range n = {(double)number, (double)number, false}, ra = is_const(a) ? n : x_range(a);
    struct x_range rb = is_const(b) ? n : x_range(b);
    switch (op) {
    case X_LT: return ra.hi < rb.lo || ra.lo >= rb.hi ? x_bool(c, ra.hi < rb.lo) : NULL;
    case X_LE: return ra.hi <= rb.lo || ra.lo > rb.hi ? x_bool(c, ra.hi <= rb.lo) : NULL;
    default: return ra.hi < rb.lo || ra.lo > rb.hi ? x_bool(c, op == X_NE) : NULL;
    }
}
expr x_cmp(struct ctx *c, enum xop op, expr a, expr b) {
    if (x_poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
    expr ia = as_index(c, a), ib = as_index(c, b);
    if (ia && ib) a = ia, b = ib;
    if (a->type != IDX) {
        if (is_const(a) && is_const(b)) return fold_cmp(c, op, a, b);
        if (a == b && !dtype_is_complex(a->type) && (!dtype_is_float(a->type) || !x_range(a).nan)) /* otherwise
                                                                                                    * compilers warn */
            return x_bool(c, op == X_LE || op == X_EQ);
        expr known = cmp_truth(c, op, a, b);
        if (known) return known;
        if ((known = cmp_by_range(c, op, a, b))) return known;
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
/* a only has bits that the mask b keeps. */
static bool masks_nothing(expr a, expr b) {
    bool low = b->op == X_CONST && b->u.i > 0 && !(b->u.i & (b->u.i + 1));
    return low && x_within(a, 0, (double)b->u.i);
}
expr x_and(struct ctx *c, expr a, expr b) {
    if (x_poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
    if (a->type != BOOL) return masks_nothing(a, b) ? a : value_bin(c, X_AND, a, b);
    if (x_is_false(a) || x_is_true(b) || a == b) return a;
    if (x_is_true(a) || x_is_false(b)) return b;
    return NODE(c, X_AND, BOOL, a, b);
}
expr x_or(struct ctx *c, expr a, expr b) {
    if (x_poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
    if (a->type != BOOL) return value_bin(c, X_OR, a, b);
    if (x_is_true(a) || x_is_false(b) || a == b) return a;
    if (x_is_false(a) || x_is_true(b)) return b;
    return NODE(c, X_OR, BOOL, a, b);
}
expr x_not(struct ctx *c, expr a) {
    if (x_poisoned(&a, 1)) return x_poison(c);
    if (a->type != BOOL) return x_un(c, X_NOT, a);
    if (is_const(a)) return x_bool(c, !a->u.i);
    if (a->op == X_NOT) return a->arg[0];
    bool exact = a->n == 2 && a->arg[0]->type != F32 && a->arg[0]->type != F64; /* false for floats: because of NaN, not
                                                                                 * (a<b) is not b<=a */
    if (a->op == X_LT && exact) return NODE(c, X_LE, BOOL, a->arg[1], a->arg[0]);
    if (a->op == X_LE && exact) return NODE(c, X_LT, BOOL, a->arg[1], a->arg[0]);
    if (a->op == X_EQ) return NODE(c, X_NE, BOOL, a->arg[0], a->arg[1]);
    if (a->op == X_NE) return NODE(c, X_EQ, BOOL, a->arg[0], a->arg[1]);
    return NODE(c, X_NOT, BOOL, a);
}
expr x_bin(struct ctx *c, enum xop op, expr a, expr b) {
    if (is_arithmetic(op)) return arith(c, op, a, b);
    switch (op) {
    case X_LT:
    case X_LE:
    case X_EQ:
    case X_NE: return x_cmp(c, op, a, b);
    case X_AND: return x_and(c, a, b);
    case X_OR: return x_or(c, a, b);
    case X_XOR:
    case X_SHL:
    case X_SHR:
        if (x_poisoned((expr[]){a, b}, 2) || a->type != b->type || a->type == IDX || a->type == F32 || a->type == F64)
            return x_poison(c);
        if (op != X_XOR && is_i(b, 0)) return a;
        if (op == X_XOR && a == b) return x_num(c, (enum dtype)a->type, 0);
        return is_const(a) && is_const(b) ? fold_bin(c, op, a, b) : NODE(c, op, a->type, a, b);
    default: return x_poison(c);
    }
}
/* A broadcast that tests whether the size is 1, in a loop of exactly that size: if the size is 1, v is 0 anyway, so v
 * can be used directly. */
static bool is_only_cell(struct ctx *c, expr cond, expr a, expr v) {
    return v->op == X_VAR && is_i(a, 0) && cond == x_cmp(c, X_EQ, v->u.var->extent, x_int(c, 1));
}
/* r < 0 ? r + n : r, where r is a truncated remainder of indices by a positive number: the remainder of floor division.
 * NULL: it is something else. */
static expr floor_mod(struct ctx *c, expr cond, expr sum, expr r) {
    expr of = r->op == X_MOD ? as_index(c, r->arg[0]) : NULL, by = of ? as_index(c, r->arg[1]) : NULL;
    int64_t lo, hi;
    if (!by || cond->op != X_LT || cond->arg[0] != r || !is_i(cond->arg[1], 0)) return NULL;
    if (sum->op != X_ADD || sum->arg[0] != r || sum->arg[1] != r->arg[1]) return NULL;
    x_bounds(c, by, &lo, &hi);
    return lo > 0 ? x_idxval(c, x_mod(c, of, by)) : NULL;
}
expr x_select(struct ctx *c, expr cond, expr a, expr b) {
    if (!cond || cond->op == X_POISON || cond->type != BOOL) return x_poison(c);
    if (x_is_true(cond)) return a;
    if (x_is_false(cond)) return b;
    if (x_poisoned((expr[]){a, b}, 2) || a->type != b->type) return x_poison(c);
    if (a == b || is_only_cell(c, cond, a, b)) return b;
    expr ia = as_index(c, a), ib = as_index(c, b);
    if (ia && ib && (a->op == X_IDXVAL || b->op == X_IDXVAL)) return x_idxval(c, x_select(c, cond, ia, ib));
    if (a->type == BOOL && x_is_true(a) && x_is_false(b)) return cond;
    expr mod = floor_mod(c, cond, a, b);
    if (mod) return mod;
    return NODE(c, X_SELECT, a->type, cond, a, b);
}
/* The index that equals a 32-bit value, if no operation that computes it from indices can wrap; otherwise NULL. The
 * budget is needed because of sharing: trees can be exponentially larger than the expression. */
static expr unwrapped_of(struct ctx *c, expr v, int *budget) {
    expr r = NULL;
    int64_t lo, hi;
    if (--*budget < 0) return NULL;
    if (v->op == X_CONST) return x_int(c, v->u.i);
    if (v->op == X_CAST) r = as_index(c, v->arg[0]);
    if (is_arithmetic((enum xop)v->op)) {
        expr a = unwrapped_of(c, v->arg[0], budget), b = a ? unwrapped_of(c, v->arg[1], budget) : NULL;
        if (b) r = index_bin(c, (enum xop)v->op, a, b);
    }
    if (!r) return NULL;
    x_bounds(c, r, &lo, &hi);
    return lo >= INT32_MIN && hi <= INT32_MAX ? r : NULL;
}
static expr unwrapped(struct ctx *c, expr v) {
    int budget = 64;
    return v->type == I32 ? unwrapped_of(c, v, &budget) : NULL;
}
expr x_cast(struct ctx *c, enum dtype t, expr a) {
    if (x_poisoned(&a, 1)) return x_poison(c);
    if (a->type == IDX) a = x_idxval(c, a);
    if (t == IDX) return x_toidx(c, a);
    if (a->type == t) return a;
    if (is_const(a)) return fold_cast(c, t, a);
    if (t == BOOL) return x_cmp(c, X_NE, a, x_num(c, a->type, 0));
    expr index = t != I64 ? NULL : a->type == F32 || a->type == F64 ? x_exact_index(c, a) : unwrapped(c, a);
    if (index) return x_idxval(c, index);
    return NODE(c, X_CAST, t, a);
}
expr x_bitcast(struct ctx *c, enum dtype t, expr a) {
    if (x_poisoned(&a, 1) || dtype_bytes(t) != dtype_bytes(a->type)) return x_poison(c);
    if (a->type == t) return a;
    if (is_const(a)) return fold_bitcast(c, t, a);
    if (a->op == X_BITCAST) return x_bitcast(c, t, a->arg[0]);
    return NODE(c, X_BITCAST, t, a);
}
expr x_round(struct ctx *c, enum dtype storage, expr a) {
    if (x_poisoned(&a, 1) || dtype_value(storage) != a->type) return x_poison(c);
    if (storage == a->type || (a->op == X_ROUND && a->u.i == storage)) return a;
    if (a->op == X_LOAD && a->u.buf->type == storage) return a; /* a load of that type needs no rounding */
    if (is_const(a)) return fold_round(c, storage, a);
    struct expr h;
    x_head(&h, X_ROUND, a->type);
    h.u.i = storage;
    return x_make(c, &h, &a, 1, NULL);
}
expr x_load(struct ctx *c, struct buf *b, const expr *idx, int n, expr fill) {
    expr args[40];
    if (n < 0 || n > 36 || x_poisoned(idx, n) || (fill && fill->op == X_POISON)) return x_poison(c);
    for (int k = 0; k < n; k++)
        if (idx[k]->type != IDX) return x_poison(c);
    if (n) memcpy(args, idx, (size_t)n * sizeof *args);
    if (fill) args[n] = fill;
    struct expr h;
    x_head(&h, X_LOAD, dtype_value(b->type));
    h.has_fill = fill != NULL;
    h.u.buf = b;
    return x_make(c, &h, args, n + (fill != NULL), NULL);
}
expr x_call(struct ctx *c, const struct fn *f, const expr *args) {
    if (!f || x_poisoned(args, f->nargs)) return x_poison(c);
    for (int k = 0; k < f->nargs; k++)
        if (args[k]->type != f->args[k]) return x_poison(c);
    struct expr h;
    x_head(&h, X_CALL, f->type);
    h.u.fn = f;
    return x_make(c, &h, args, f->nargs, NULL);
}
expr x_text(struct ctx *c, expr load, expr n) {
    if (x_poisoned((expr[]){load, n}, 2) || load->op != X_LOAD || load->has_fill || load->u.buf->type != U8 ||
        n->type != I64)
        return x_poison(c);
    return NODE(c, X_TEXT, STR, load, n);
}
expr x_idxval(struct ctx *c, expr index) {
    if (x_poisoned(&index, 1) || index->type != IDX) return x_poison(c);
    if (is_const(index)) return x_const_i(c, I64, index->u.i);
    if (index->op == X_TOIDX && index->arg[0]->type == I64) return index->arg[0];
    return NODE(c, X_IDXVAL, I64, index);
}
expr x_toidx(struct ctx *c, expr v) {
    if (x_poisoned(&v, 1)) return x_poison(c);
    if (v->type == IDX) return v;
    if (v->type == BOOL) return x_select(c, v, x_int(c, 1), x_int(c, 0));
    if (v->type == F32 || v->type == F64 || v->type == STR) return x_poison(c);
    expr index = unwrapped(c, v);
    if (index) return index;
    switch (v->op) {
    case X_CONST: return x_int(c, v->u.i);
    case X_IDXVAL: return v->arg[0];
    case X_ADD:
    case X_SUB:
        if (v->type != I64) break;
        return x_bin(c, (enum xop)v->op, x_toidx(c, v->arg[0]), x_toidx(c, v->arg[1]));
    case X_MIN:
    case X_MAX: /* a clamp by constants is done in the value's type, which vectorises */
        if (v->type == I32 && (is_const(v->arg[0]) || is_const(v->arg[1]))) break;
        return x_bin(c, (enum xop)v->op, x_toidx(c, v->arg[0]), x_toidx(c, v->arg[1]));
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
    if (x_poisoned((expr[]){index, n}, 2) || index->type != IDX || n->type != IDX) return x_poison(c);
    if (x_proves_inside(c, index, n)) return index;
    return NODE(c, X_GUARD, IDX, index, n);
}
