/* Rules of arithmetic and of casts; see rules.h. Rules that would change results are left out on purpose: x + 0 (it
 * turns -0 into +0), x - x, x * 0 and x / x of floats (NaN, infinities), exp(log x), 1 / (1 / x), products and sums
 * with several constants (each is rounded). */
#include "compiler/graph/rules.h"
#include "ir/graph/op.h"
#include <math.h>

/* ---- bounds: Relu is Clip(x, 0, inf) */
struct bounds {
    double lo, hi;
};
static bool bounds_of(const struct node *n, struct bounds *b) {
    return n->op->clamps(n, &b->lo, &b->hi) && b->lo <= b->hi; /* also: neither is NaN */
}
static double within(const struct bounds *b, double v) { return fmin(fmax(v, b->lo), b->hi); }
static struct value *clip_of_clip(struct match *m) {
    struct bounds inner, outer;
    enum dtype t = m->node[0]->outs.v[0]->type.dtype;
    if (!dtype_is_float(t) || !bounds_of(m->node[0], &outer) || !bounds_of(m->node[1], &inner)) return NULL;
    double lo = within(&outer, inner.lo), hi = within(&outer, inner.hi);
    return RULE_NODE(m, "Clip", MATCHED(m, 'x'), lo == -INFINITY ? NULL : rule_scalar(m, t, lo),
                     hi == INFINITY ? NULL : rule_scalar(m, t, hi));
}
/* Max keeps a NaN of x, as Clip does; but it also returns a bound that is NaN. */
static struct value *clip_of_bounds(struct match *m) {
    double a, b;
    struct value *lo = MATCHED(m, 'a'), *hi = MATCHED(m, 'b');
    if (!const_number(lo, &a) || !const_number(hi, &b) || !(a <= b)) return NULL;
    enum dtype t = lo->type.dtype;
    if (!dtype_is_float(t)) return NULL;
    return RULE_NODE(m, "Clip", MATCHED(m, 'x'), rule_scalar(m, t, a), rule_scalar(m, t, b));
}

/* The root's operand replaces its result. */
static struct value *first_operand(struct match *m) { return m->node[0]->ins.v[0]; }

/* ---- casts */
static int mantissa(enum dtype t) {
    switch (t) {
    case F16: return 11;
    case BF16: return 8;
    case F32: return 24;
    case F64: return 53;
    default: return 0;
    }
}
/* Can `to` represent every value of `from`? */
static bool holds_all(enum dtype from, enum dtype to) {
    bool sf = dtype_is_signed(from), st = dtype_is_signed(to);
    int bits = dtype_bits(from);
    if (from == to) return true;
    if (dtype_is_int(from) && dtype_is_int(to)) return sf == st ? dtype_bits(to) >= bits : st && dtype_bits(to) > bits;
    if (from == BOOL) return dtype_is_int(to) || mantissa(to);
    if (dtype_is_int(from)) return mantissa(to) >= bits - sf && (to != F16 || bits <= 8);
    return (to == F64 && mantissa(from)) || (to == F32 && dtype_is_half(from));
}
/* Narrow floats take integers and f64 through f32, which rounds twice; integers wrap, floats saturate. */
static struct value *cast_of_cast(struct match *m) {
    struct value *x = MATCHED(m, 'x');
    enum dtype from = x->type.dtype, by = m->node[1]->outs.v[0]->type.dtype, to = m->node[0]->outs.v[0]->type.dtype;
    if (to == from && holds_all(from, by)) return x;
    if (!holds_all(from, by) || dtype_bits(to) < 8 || from == STR) return NULL;
    if (dtype_is_float(to) && to != F32 && to != F64) return NULL;
    if (dtype_is_int(from) && dtype_is_float(by) && dtype_is_int(to)) return NULL;
    return rule_node_like(m, m->node[0], (struct value *[]){x}, 1);
}
/* Expand in front of an operator that broadcasts by itself. */
static struct value *broadcast_of_expand(struct match *m) {
    struct value *x = MATCHED(m, 'x'), *y = MATCHED(m, 'y');
    struct node *n = m->node[0];
    bool first = n->ins.v[0] == m->node[1]->outs.v[0];
    return rule_node_like(m, n, (struct value *[]){first ? x : y, first ? y : x}, 2);
}
/* max(max(a, b), c): all operands of one node, in the same order. */
static struct value *one_fold(struct match *m) {
    struct node *n = m->node[0], *inner = m->node[1];
    if (n->ins.v[0] != inner->outs.v[0] || node_is(n, "Max") != node_is(inner, "Max")) return NULL;
    VEC(struct value *) all = {0};
    for (int k = 0; k < inner->ins.n; k++) PUSH(&m->g->ctx->arena, &all, inner->ins.v[k]);
    for (int k = 1; k < n->ins.n; k++) PUSH(&m->g->ctx->arena, &all, n->ins.v[k]);
    return all.n > 64 ? NULL : rule_node_like(m, n, all.v, all.n);
}

const struct rule rules_arithmetic[] = {
    {"neg-of-neg", "Neg(Neg(x))", "x", SAME_BITS, NULL},
    {"abs-of-abs", "Abs(Abs(x))", "Abs(x)", SAME_BITS, NULL},
    {"abs-of-neg", "Abs(Neg(x:signed))", "Abs(x)", SAME_BITS, NULL},
    {"sign-of-sign", "Sign(Sign(x))", "Sign(x)", SAME_BITS, NULL},
    {"relu-of-relu", "Relu(Relu(x))", "Relu(x)", SAME_BITS, NULL},
    {"relu-of-abs", "Relu(Abs(x:float))", "Abs(x)", SAME_BITS, NULL},
    {"floor-of-integral", "Floor(Floor|Ceil|Round(x))", "the inner rounding", SAME_BITS, first_operand},
    {"ceil-of-integral", "Ceil(Floor|Ceil|Round(x))", "the inner rounding", SAME_BITS, first_operand},
    {"round-of-integral", "Round(Floor|Ceil|Round(x))", "the inner rounding", SAME_BITS, first_operand},
    {"add-zero", "Add(x, -0)", "x", SAME_BITS, NULL},
    {"sub-zero", "Sub(x, 0)", "x", SAME_BITS, NULL},
    {"sub-self", "Sub(x:int, x)", "0", SAME_BITS, NULL},
    {"add-neg", "Add(x, Neg(y))", "Sub(x, y)", SAME_BITS, NULL},
    {"sub-neg", "Sub(x, Neg(y))", "Add(x, y)", SAME_BITS, NULL},
    {"neg-of-sub", "Neg(Sub(x:int, y))", "Sub(y, x)", SAME_BITS, NULL},
    {"mul-one", "Mul(x, 1)", "x", SAME_BITS, NULL},
    {"mul-zero", "Mul(x:int, 0)", "0", SAME_BITS, NULL},
    {"mul-minus-one", "Mul(x:signed, -1)", "Neg(x)", SAME_BITS, NULL},
    {"mul-of-negs", "Mul(Neg(x), Neg(y))", "Mul(x, y)", SAME_BITS, NULL},
    {"div-one", "Div(x, 1)", "x", SAME_BITS, NULL},
    {"div-minus-one", "Div(x:signed, -1)", "Neg(x)", SAME_BITS, NULL},
    {"div-of-negs", "Div(Neg(x:float), Neg(y))", "Div(x, y)", SAME_BITS, NULL},
    {"pow-one", "Pow(x, 1)", "x", SAME_BITS, NULL},
    {"pow-two", "Pow(x, 2)", "Mul(x, x)", SAME_BITS, NULL},
    {"max-self", "Max(x, x)", "x", SAME_BITS, NULL},
    {"min-self", "Min(x, x)", "x", SAME_BITS, NULL},
    {"max-of-max", "Max|Min(Max|Min!(x, ...), ...)", "one of all operands", SAME_BITS, one_fold},
    {"clip-of-clip", "Clip(Clip(x, ...), ...)", "Clip with the bounds of both", SAME_VALUES, clip_of_clip},
    {"clip-of-relu", "Clip(Relu(x), ...)", "Clip with the bounds of both", SAME_VALUES, clip_of_clip},
    {"relu-of-clip", "Relu(Clip(x, ...))", "Clip with the bounds of both", SAME_VALUES, clip_of_clip},
    {"min-of-max", "Min(Max(x, a:const), b:const)", "Clip(x, a, b)", SAME_VALUES, clip_of_bounds},
    {"max-of-min", "Max(Min(x, b:const), a:const)", "Clip(x, a, b)", SAME_VALUES, clip_of_bounds},
    {"cast-of-cast", "Cast(Cast(x))", "one Cast, if the inner one loses nothing", SAME_BITS, cast_of_cast},
    {"broadcast-of-expand", "Add|Sub|Mul|Div|Max|Min|Pow(Expand!(x, ...), y)", "the operator on x and y", SAME_BITS,
     broadcast_of_expand},
    {"expand-broadcast", "Sub|Div|Pow(y, Expand!(x, ...))", "the operator on y and x", SAME_BITS, broadcast_of_expand},
    {0},
};
