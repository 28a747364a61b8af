/* Quantization as plain arithmetic: QuantizeLinear, DequantizeLinear (per tensor, axis or block),
 * DynamicQuantizeLinear. Integer forms of whole layers are alternatives over these (design: ops). */
#include "lower/ops/ops.h"
#include <math.h>

/* The index of the scale (or zero point) s that belongs to element i of x. */
static bool scale_index(T x, T s, X i, X *at_i) {
    int64_t block = int_attr("block_size");
    if (rank(s) == 0 || (rank(s) == 1 && x_is(dim(s, 0), 1))) return *at_i = zeros(rank(s)), true;
    if (rank(s) == 1 && block == 0 && int_attr("axis") >= rank(x)) { /* the default axis of a vector: one scale */
        require(eq(dim(s, 0), idx(1)), "there is no axis %lld for several scales", (long long)int_attr("axis"));
        return *at_i = zeros(1), true;
    }
    int a = axis_attr("axis", x);
    if (a >= rank(x)) return false; /* a scalar, which has no axis */
    if (rank(s) == 1 && block == 0) {
        E n = dim(s, 0),
          one = eq(n, idx(1)); /* a vector of one element applies to all, even if only the run knows its length */
        require(or_(eq(n, dim(x, a)), one), "the scales do not fit axis %d", a);
        return *at_i = list1(n == dim(x, a) ? i.v[a] : within(sel(one, idx(0), i.v[a]), n)), true;
    }
    if (rank(s) != rank(x) || block < 1)
        return fail(E_SHAPE, "scales of rank %d need a block_size and an input of that rank", rank(s)), false;
    *at_i = list0();
    for (int k = 0; k < rank(x); k++)
        *at_i = push(*at_i, wrap_index(k == a ? div_(i.v[k], idx(block)) : i.v[k], dim(s, k)));
    return true;
}
static enum dtype wanted_type(void) { return int_attr("output_dtype") ? type_attr("output_dtype") : NONE; }
static bool small_target(enum dtype t) {
    if (dtype_is_int(t) && t != I64 && t != U64 && t != U32) return true;
    if (dtype_is_float(t) && dtype_bits(t) <= 8 && t != F8E8M0) return true;
    return fail(E_TYPE, "quantization to %s is not supported", dtype_name(t)), false;
}
E saturated(enum dtype t, E v, E zero) {
    E r = rint_(v);
    return cast(t, zero ? add(r, cast(dtype_value(r->type), zero)) : r);
}
static void op_quantize(void) {
    T x = in(0), s = in(1), z = in(2);
    enum dtype t = has(z) ? dtype(z) : wanted_type(), vt = dtype(x) == F64 ? F64 : F32;
    X i = axes(shape(x)), at_s, at_z;
    if (t == NONE) t = U8;
    if (!small_target(t) || !scale_index(x, s, i, &at_s) || (has(z) && !scale_index(x, z, i, &at_z))) return;
    E v = div_(cast(vt, at(x, i)), cast(vt, at(s, at_s)));
    if (dtype_is_float(t)) out(0, t, i, converted(t, v)); /* their zero point is 0 and says the type only */
    else out(0, t, i, saturated(t, v, has(z) ? at(z, at_z) : NULL));
}
static void op_dequantize(void) {
    T x = in(0), s = in(1), z = in(2);
    enum dtype t = wanted_type();
    X i = axes(shape(x)), at_s, at_z;
    if (!scale_index(x, s, i, &at_s) || (has(z) && !scale_index(x, z, i, &at_z))) return;
    E v = at(x, i);
    if (has(z)) v = sub(v, at(z, at_z));
    out(0, t == NONE ? dtype(s) : t, i, mul(cast(F32, v), cast(F32, at(s, at_s))));
}
static void op_dynamicquantize(void) {
    T x = in(0);
    X r = raxes(shape(x), NULL), none = axes(list0()), i = axes(shape(x));
    T low = reduce("low", F32, none, RED_MIN, r, at(x, r), typed(F32, 0)); /* the range includes 0 */
    X r2 = raxes(shape(x), NULL);
    T high = reduce("high", F32, none, RED_MAX, r2, at(x, r2), typed(F32, 0));
    if (!low || !high) return;
    E lo = at(low, none), hi = at(high, none);
    T scale = stage("scale", F32, none, sel(eq(lo, hi), typed(F32, 1), div_(sub(hi, lo), num(255))));
    if (!scale) return;
    E s = at(scale, none);
    T zero = stage("zero", U8, none, cast(U8, rint_(min_(max_(div_(neg(lo), s), num(0)), num(255)))));
    out(0, U8, i, saturated(U8, div_(at(x, i), s), at(zero, none)));
    out(1, F32, none, s);
    out(2, U8, none, at(zero, none));
}

static const struct op_slot s_quant[] = {
    {"x", TS_FLOAT | TSET(I32), 0}, {"y_scale", TS_FLOAT | TSET(I32), 0}, {"y_zero_point", TS_ANY, OPTIONAL}, {0}};
static const struct op_slot s_dequant[] = {
    {"x", TS_INT | TS_F8 | TS_SUB, 0}, {"x_scale", TS_FLOAT, 0}, {"x_zero_point", TS_ANY, OPTIONAL}, {0}};
static const struct op_slot s_dynamic_out[] = {
    {"y", TS_ANY, 0}, {"y_scale", TS_ANY, 0}, {"y_zero_point", TS_ANY, 0}, {0}};
static const struct op_attr a_quant[] = {A_INT("axis", .i = 1, .since = 13), A_INT("block_size", .since = 21),
                                         A_INT("output_dtype", .since = 21), A_INT("saturate", .i = 1, .since = 19),
                                         A_INT("precision", .since = 23),    {0}};
const struct op ops_quant[] = {
    {"", "QuantizeLinear", 25, 10, a_quant, s_quant, slots_y, .define = op_quantize,
     .spec = "QuantizeLinear-25; computed in f32", .flags = OP_QUANTIZES, .axes = {AXES_ATTR}},
    {"", "DequantizeLinear", 25, 10, a_quant, s_dequant, slots_y, .define = op_dequantize,
     .spec = "DequantizeLinear-25", .flags = OP_DEQUANTIZES, .axes = {AXES_ATTR}},
    {"", "DynamicQuantizeLinear", 11, 11, attrs_none, slots_f32, s_dynamic_out, .define = op_dynamicquantize,
     .spec = "DynamicQuantizeLinear-11; scale 1 when all is 0"},
    {"com.microsoft", "QuantizeLinear", 1, 1, a_quant, s_quant, slots_y, .define = op_quantize,
     .spec = "com.microsoft.QuantizeLinear, the older form of QuantizeLinear for 16 and 4 bits", .flags = OP_QUANTIZES},
    {"com.microsoft", "DequantizeLinear", 1, 1, a_quant, s_dequant, slots_y, .define = op_dequantize,
     .spec = "com.microsoft.DequantizeLinear", .flags = OP_DEQUANTIZES},
    {0},
};
