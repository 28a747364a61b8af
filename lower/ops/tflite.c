/* Operators of TensorFlow Lite: what their families share. Quantisation parameters from the node's attributes, LiteRT's
 * fixed-point arithmetic as expressions, and pieces of expansions. See tflite.h. */
#include "lower/ops/tflite.h"
#include <math.h>
#include <string.h>

/* ---- quantisation */
static struct quant quant_at(const char *scales, const char *zeros, int k) {
    const float *s;
    const int64_t *z;
    int ns = floats_attr(scales, &s), nz = ints_attr(zeros, &z);
    return (struct quant){k < ns ? s[k] : 0, k < nz ? z[k] : 0};
}
struct quant quant_in(int k) {
    return quant_at("in_scale", "in_zero", k);
}
struct quant quant_out(int k) {
    return quant_at("out_scale", "out_zero", k);
}
struct quant quant_mid(int k) {
    return quant_at("mid_scale", "mid_zero", k);
}
bool is_quantized(int k) { return quant_in(k).scale > 0 && dtype_is_int(dtype(in(k))); }
bool result_is_quantized(void) {
    if (quant_out(0).scale > 0) return true;
    return fail(E_TYPE, "the result of an operator of quantized inputs must be quantized"), false;
}
enum dtype out_type(void) { return int_attr("out_type") ? type_attr("out_type") : NONE; }
int64_t channels_of(int k) {
    const float *s;
    int n = floats_attr("channel_scale", &s);
    return n > 1 && is_quantized(k) ? n : 1;
}
double channel_scale(int in, int k) {
    const float *s;
    return channels_of(in) > 1 && floats_attr("channel_scale", &s) > k ? (double)s[k] : (double)quant_in(in).scale;
}

/* ---- fixed point */
struct fixed fixed_of(double real) {
    struct fixed f = {0, 0};
    if (fail_if(!(real >= 0) || isinf(real), E_ATTR,
                "the scales of this operator have no ratio: one is 0, or they are too far apart"))
        return f;
    if (real == 0) return f;
    f.multiplier = llround(frexp(real, &f.shift) * 2147483648.0);
    if (f.multiplier == INT64_C(1) << 31) f.multiplier /= 2, f.shift++;
    if (f.shift < -31) f = (struct fixed){0, 0};
    if (f.shift > 30) f = (struct fixed){INT32_MAX, 30};
    return f;
}
static E i32(int64_t v) { return typed(I32, (double)v); }
static E i64(int64_t v) { return typed(I64, (double)v); }
E high_mul(E a, E b) { return cast(I32, shr_(add(mul(cast(I64, a), cast(I64, b)), i64(INT64_C(1) << 30)), i64(31))); }
/* floor((v - (v < 0) + 2^(n-1)) / 2^n), where no sum wraps: v is neither the least number nor, for n = 1, the greatest,
 * which no product is. */
E rounding_shift(E v, E n) {
    E one = i32(1), below = add(v, shr_(v, i32(31)));
    return sel(lt(i32(0), n), shr_(add(shr_(below, sub(n, one)), one), one), v);
}
static bool is_wide(E v) { return v->type == I64; }
static int64_t reduced(int64_t multiplier) { return multiplier < 0x7fff0000 ? (multiplier + (1 << 15)) >> 16 : 0x7fff; }
E fixed_mul(E v, struct fixed f) {
    if (is_wide(v)) {
        int total = 15 - f.shift;
        if (total < 1) return fail(E_ATTR, "the scales of this operator are too far apart"), i32(0);
        E sum = add(mul(v, i64(reduced(f.multiplier))), i64(INT64_C(1) << (total - 1)));
        return cast(I32, shr_(sum, i64(total)));
    }
    E x = f.shift > 0 ? shl_(v, i32(f.shift)) : v, high = high_mul(x, i32(f.multiplier));
    return f.shift < 0 ? rounding_shift(high, i32(-f.shift)) : high;
}
E fixed_mul_by(E v, E multiplier, E shift) {
    if (is_wide(v)) {
        E less = lt(multiplier, i32(0x7fff0000));
        E m = sel(less, shr_(add(multiplier, i32(1 << 15)), i32(16)), i32(0x7fff)), total = sub(i32(15), shift);
        E half = shl_(i64(1), cast(I64, sub(total, i32(1))));
        return cast(I32, shr_(add(mul(v, cast(I64, m)), half), cast(I64, total)));
    }
    E left = max_(shift, i32(0)), right = max_(neg(shift), i32(0));
    return rounding_shift(high_mul(shl_(v, left), multiplier), right);
}
/* Signed numbers of `bits` + 1 bits: products and shifts as they are, constants rounded to them. */
static E rounded_product(E a, E b, int bits) {
    return bits == 31 ? high_mul(a, b) : shr_(add(mul(a, b), i32(INT64_C(1) << (bits - 1))), i32(bits));
}
static E constant(int64_t c31, int bits) {
    int64_t half = bits == 31 ? 0 : INT64_C(1) << (30 - bits);
    return i32(c31 >= 0 ? (c31 + half) >> (31 - bits) : -((-c31 + half) >> (31 - bits)));
}
static E shl_saturated(E v, int n, int bits) {
    int64_t most = (INT64_C(1) << bits) - 1, limit = (INT64_C(1) << (bits - n)) - 1;
    return sel(gt(v, i32(limit)), i32(most), sel(lt(v, i32(-limit)), i32(-most - 1), shl_(v, i32(n))));
}
E saturating_shl(E v, int n) { return shl_saturated(v, n, 31); }
/* exp on (-1/4, 0]: four terms of the series around -1/8. */
static E exp_quarter(E a, int bits) {
    E x = add(a, i32(INT64_C(1) << (bits - 3))), x2 = rounded_product(x, x, bits), x3 = rounded_product(x2, x, bits);
    E quarter = rounding_shift(rounded_product(x2, x2, bits), i32(2)),
      third = rounded_product(add(quarter, x3), constant(715827883, bits), bits);
    E tail = rounding_shift(add(third, x2), i32(1)), at_eighth = constant(1895147668, bits);
    E r = add(at_eighth, rounded_product(at_eighth, add(x, tail), bits));
    return bits == 31 ? r : min_(r, i32((INT64_C(1) << bits) - 1)); /* 16 bits are not enough for the sum near 0 */
}
/* exp(v), v <= 0 with `whole` integer bits; gives `bits` fractional ones. A remainder in (-1/4, 0], and a factor for
 * each bit of the rest. */
static E exp_below_zero(E v, int whole, int bits) {
    static const int32_t factors[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
    int fraction = bits - whole;
    int64_t quarter = INT64_C(1) << (fraction - 2);
    E part = sub(and_(v, i32(quarter - 1)), i32(quarter)), rest = sub(part, v);
    E r = exp_quarter(shl_saturated(part, whole, bits), bits);
    for (int k = 0; k < 7 && k - 2 < whole; k++) {
        E on = ne(and_(rest, i32(INT64_C(1) << (fraction + k - 2))), i32(0));
        r = sel(on, rounded_product(r, constant(factors[k], bits), bits), r);
    }
    if (whole > 5) r = sel(lt(v, i32(-(INT64_C(1) << (bits - whole + 5)))), i32(0), r);
    return sel(eq(v, i32(0)), i32((INT64_C(1) << bits) - 1), r);
}
E exp_negative(E v) { return exp_below_zero(v, 5, 31); }
/* 2 / (1 + v) with 2 integer bits, for v in 0..1: three steps of Newton and Raphson. */
static E twice_reciprocal(E v, int bits) {
    int64_t one = (INT64_C(1) << bits) - 1;
    E half = bits == 31 ? cast(I32, shr_(add(add(cast(I64, v), i64(one)), i64(1)), i64(1)))
                        : shr_(add(v, i32(one + 1)), i32(1));
    E x = add(constant(1515870810, bits), rounded_product(half, constant(-1010580540, bits), bits));
    for (int k = 0; k < 3; k++) {
        E error = sub(i32(INT64_C(1) << (bits - 2)), rounded_product(half, x, bits));
        x = add(x, shl_saturated(rounded_product(x, error, bits), 2, bits));
    }
    return x;
}
E reciprocal_above_one(E v) { return shl_saturated(twice_reciprocal(v, 31), 1, 31); }
/* Of i16: the argument has `whole` integer bits, the result 15 fractional ones. */
E logistic16(E v, int whole) {
    E zero = i32(0), size = min_(abs_(v), i32(INT16_MAX)), up = gt(v, zero);
    E r = shl_saturated(twice_reciprocal(exp_below_zero(neg(size), whole, 15), 15), 1, 15);
    return sel(eq(v, zero), i32(1 << 14), sel(up, r, sub(i32(INT16_MAX), r)));
}
E tanh16(E v, int whole) { /* (1 - e) / (1 + e) = 2 / (1 + e) - 1 with e = exp(-2 |v|) */
    E zero = i32(0), below = neg(abs_(v));
    E e = exp_below_zero(max_(below, i32(INT16_MIN)), whole + 1, 15);
    E r = shl_saturated(sub(twice_reciprocal(e, 15), i32(1 << 13)), 2, 15);
    return sel(eq(v, zero), zero, sel(lt(v, zero), neg(r), r));
}
E leading_zeros(E v) {
    E n = i32(0), x = v;
    for (int step = 16; step; step /= 2) {
        E small = lt(x, i32(INT64_C(1) << (31 - step))); /* v is positive: its sign bit counts */
        n = add(n, sel(small, i32(step), i32(0)));
        x = sel(small, shl_(x, i32(step)), x);
    }
    return add(n, i32(1));
}

/* Not floor(|v| + 1/2): the sum would round the greatest number below one half up. */
E round_away(E v) {
    E whole = trunc_(v), rest = sub(v, whole), half = typed((enum dtype)v->type, 0.5),
      one = typed((enum dtype)v->type, 1);
    return sel(ge(rest, half), add(whole, one), sel(le(rest, neg(half)), sub(whole, one), whole));
}

/* ---- bounds */
struct bounds type_bounds(enum dtype t) {
    int bits = dtype_bits(t) < 32 ? dtype_bits(t) : 32;
    if (!dtype_is_signed(t)) return (struct bounds){0, (INT64_C(1) << bits) - 1};
    return (struct bounds){-(INT64_C(1) << (bits - 1)), (INT64_C(1) << (bits - 1)) - 1};
}
int64_t code_of(float real, struct quant q) {
    double c = (double)q.zero + round((double)(real / q.scale));
    return c > INT32_MAX ? INT32_MAX : c < INT32_MIN ? INT32_MIN : (int64_t)c;
}
enum { ACT_NONE, ACT_RELU, ACT_RELU_N1_TO_1, ACT_RELU6, ACT_TANH };
struct bounds fused_bounds(enum dtype t, struct quant q) {
    struct bounds b = type_bounds(t);
    int64_t act = int_attr("fused_activation_function");
    float lo = act == ACT_RELU_N1_TO_1 ? -1 : 0, hi = act == ACT_RELU_N1_TO_1 ? 1 : 6;
    if (act == ACT_NONE) return b;
    if (fail_if(act > ACT_RELU6 || act < 0 || !(q.scale > 0), E_ATTR,
                "fused_activation_function %lld is not supported here", (long long)act))
        return b;
    int64_t low = code_of(lo, q), high = code_of(hi, q);
    if (low > b.lo) b.lo = low;
    if (act != ACT_RELU && high < b.hi) b.hi = high;
    return b;
}
E clamped(E v, struct bounds b) { return min_(max_(v, i32(b.lo)), i32(b.hi)); }
void out_quantized(enum dtype t, X i, E v, int64_t zero, struct bounds b) {
    out(0, t, i, clamped(zero ? add(v, i32(zero)) : v, b));
}

/* ---- expansions */
V own(const char *op, const V *ins, int nins, const struct attr *attrs, int nattrs) {
    struct node *n = n_node_in("tflite", op, ins, nins, 1);
    for (int k = 0; k < nattrs; k++) node_set_attr(n, attrs[k]);
    def_infer(n->in->graph, n);
    return n->outs.v[0];
}
V own_alike(const char *op, const V *ins, int nins, const struct attr *more, int nmore) {
    const struct node *from = def_node();
    struct node *n = n_node_in("tflite", op, ins, nins, 1);
    for (int k = 0; k < from->attrs.n; k++) node_set_attr(n, from->attrs.v[k]);
    for (int k = 0; k < nmore; k++) node_set_attr(n, more[k]);
    return n_inferred(n);
}
void become(const char *op) {
    const struct node *from = def_node();
    gout(0, own(op, from->ins.v, from->ins.n, from->attrs.v, from->attrs.n));
}
V activated(V v) {
    switch (int_attr("fused_activation_function")) {
    case ACT_NONE: return v;
    case ACT_RELU: return N_OP("Relu", v);
    case ACT_RELU_N1_TO_1: return N_OP("Clip", v, n_const_f(v->type.dtype, -1), n_const_f(v->type.dtype, 1));
    case ACT_RELU6: return N_OP("Clip", v, n_const_f(v->type.dtype, 0), n_const_f(v->type.dtype, 6));
    case ACT_TANH: return N_OP("Tanh", v);
    default:
        fail(E_ATTR, "fused_activation_function %lld is not supported",
             (long long)int_attr("fused_activation_function"));
        return v;
    }
}
void expand_to(const char *op) {
    struct node *n = def_node();
    gout(0, activated(n_op(op, 0, n->ins.v, n->ins.n, NULL, 0)));
}
void exp_as_onnx(void) { expand_to(def_node()->op->as); }
void exp_as_own(void) { become(def_node()->op->as); }
void exp_as_either(void) { is_quantized(0) ? exp_as_own() : exp_as_onnx(); }
int v_rank(V v) { return v && v->type.kind == TY_TENSOR ? v->type.rank : -1; }
bool known_dim(V v, int axis, int64_t *n) { return axis >= 0 && axis < v_rank(v) && x_is_int(v->type.dims[axis], n); }
V transposed(V v, const int64_t *perm, int n) {
    bool same = true;
    for (int k = 0; k < n; k++) same &= perm[k] == k;
    return same ? v : n_transpose(v, perm, n);
}
V channels_first(V v) {
    int64_t perm[X_MAX_LIST];
    int n = v_rank(v);
    for (int k = 0; k < n; k++) perm[k] = k == 0 ? 0 : k == 1 ? n - 1 : k - 1;
    return transposed(v, perm, n);
}
V channels_last(V v) {
    int64_t perm[X_MAX_LIST];
    int n = v_rank(v);
    for (int k = 0; k < n; k++) perm[k] = k == 0 ? 0 : k == n - 1 ? 1 : k + 1;
    return transposed(v, perm, n);
}
V reshaped_to(V v, const int64_t *dims, int n) {
    return N_WITH("Reshape", ATTRS(attr_int("allowzero", 0)), v, n_const_i64(dims, n));
}
V int_vector(V v) {
    V r = n_cast(v, I64);
    return v_rank(r) == 1 ? r : reshaped_to(r, (int64_t[]){-1}, 1);
}
V scalar_of(V v) { return v_rank(v) == 0 ? v : reshaped_to(v, NULL, 0); }
int const_ints(int k, int64_t *v, int max) {
    V x = gin(k);
    const struct tensor *t = x ? x->init : NULL;
    int64_t n = t ? tensor_count(t) : x && x->elems ? x->nelems : -1;
    bool known = n >= 0 && n <= max;
    for (int64_t i = 0; i < n && known; i++) {
        if (t) v[i] = tensor_i(t, i);
        else if (x->elems[i]->op == X_CONST) v[i] = x->elems[i]->u.i;
        else known = false;
    }
    if (known) return (int)n;
    fail(E_OP, "input %d must be a constant here, of at most %d elements", k, max);
    return -1;
}
void out_table(enum dtype to, int64_t (*f)(int64_t q, curve of), curve of) {
    enum dtype from = dtype(in(0));
    struct tensor *t = n_tensor(to, (int64_t[]){256}, 1);
    int64_t least = type_bounds(from).lo;
    for (int64_t q = 0; q < 256; q++) tensor_set_i(t, q, f(q + least, of));
    V index = n_cast(gin(0), I32);
    if (least) index = N_OP("Sub", index, n_const_f(I32, (double)least));
    gout(0, N_WITH("Gather", ATTRS(attr_int("axis", 0)), n_const(t), index));
}

const struct op_slot tfl_any1[] = {{"x", TS_ANY, 0}, {0}};
const struct op_slot tfl_any2[] = {{"x", TS_ANY, 0}, {"y", TS_ANY, 0}, {0}};
const struct op_slot tfl_any3[] = {{"x", TS_ANY, 0}, {"y", TS_ANY, 0}, {"z", TS_ANY, OPTIONAL}, {0}};
const struct op_slot tfl_many[] = {{"x", TS_ANY, VARIADIC | OPTIONAL}, {0}};
const struct op_attr tfl_attrs[] = {{0}};
