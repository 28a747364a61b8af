/* TensorFlow Lite: elementwise operators. Floats and plain integers use those of ONNX; quantised ones use formulas in
 * fixed point, or tables where LiteRT does. */
#include "lower/ops/tflite.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- two operands in fixed point */
struct pair {
    X i;
    E a, b; /* less their zero points */
    struct quant qa, qb, qy;
    enum dtype t;
};
static struct pair quantized_pair(void) {
    T a = in(0), b = in(1);
    struct pair p = {.qa = quant_in(0), .qb = quant_in(1), .qy = quant_out(0), .t = dtype(a)};
    p.i = axes(bcast_shape((T[]){a, b}, 2));
    p.a = sub(at(a, bcast(a, p.i)), num((double)p.qa.zero));
    p.b = sub(at(b, bcast(b, p.i)), num((double)p.qb.zero));
    return p;
}
/* Both on one scale, twice the larger one, with `shift` more bits. */
static double common_scale(struct pair *p, int shift) {
    double twice = (double)(2 * fmaxf(p->qa.scale, p->qb.scale));
    E left = num((double)shift);
    p->a = fixed_mul(shl_(p->a, left), fixed_of((double)p->qa.scale / twice));
    p->b = fixed_mul(shl_(p->b, left), fixed_of((double)p->qb.scale / twice));
    return twice;
}
static bool power_of_two(float scale, int *log2_rounded) {
    if (!(scale > 0)) return false;
    float l = logf(scale) * (1.0f / logf(2.0f)), r = roundf(l);
    *log2_rounded = (int)r;
    return fabsf(l - r) < 1e-3f;
}
/* Add and Sub of i16 whose scales are powers of two: a shift aligns the operand of the finer scale. */
static bool shifts_of(const struct pair *p, int *sa, int *sb) {
    int a, b, y;
    if (p->t != I16 || (has_attr("pot_scale_int16") && !int_attr("pot_scale_int16"))) return false;
    if (!power_of_two(p->qa.scale, &a) || !power_of_two(p->qb.scale, &b) || !power_of_two(p->qy.scale, &y))
        return false;
    *sa = y - a, *sb = y - b;
    return true;
}
static void sum_of(bool minus) {
    struct pair p = quantized_pair();
    int sa, sb;
    struct bounds b = fused_bounds(p.t, p.qy);
    if (shifts_of(&p, &sa, &sb)) {
        if (fail_if(sa < 0 || sb < 0 || sa > 15 || sb > 15 || (sa && sb), E_ATTR,
                    "of scales that are powers of two the result's must be the larger one of the operands'"))
            return;
        E wa = rounding_shift(p.a, num(sa)), wb = rounding_shift(p.b, num(sb));
        out_quantized(p.t, p.i, clamped(minus ? sub(wa, wb) : add(wa, wb), type_bounds(I16)), 0, b);
        return;
    }
    int shift = p.t == I16 ? 15 : 20;
    double twice = common_scale(&p, shift);
    E v = minus ? sub(p.a, p.b) : add(p.a, p.b);
    double real = twice / (double)((float)(1 << shift) * p.qy.scale);
    out_quantized(p.t, p.i, fixed_mul(v, fixed_of(real)), p.qy.zero, b);
}
static void op_add(void) { sum_of(false); }
static void op_sub(void) { sum_of(true); }
static void op_mul(void) {
    struct pair p = quantized_pair();
    enum dtype t = out_type();
    if (fail_if(p.t == I16 && t != I16, E_TYPE, "a product of i16 as %s is not supported", dtype_name(t))) return;
    struct fixed f = fixed_of((double)(p.qa.scale * p.qb.scale / p.qy.scale)); /* in f32, as LiteRT */
    out_quantized(p.t, p.i, fixed_mul(mul(p.a, p.b), f), p.qy.zero, fused_bounds(p.t, p.qy));
}
static void op_squared_difference(void) {
    struct pair p = quantized_pair();
    double twice = common_scale(&p, 7);
    E d = sub(p.a, p.b);
    double real = twice * twice / (double)((float)(1 << 14) * p.qy.scale);
    out_quantized(p.t, p.i, fixed_mul(mul(d, d), fixed_of(real)), p.qy.zero, type_bounds(p.t));
}
static E compared(E a, E b) {
    const char *how = str_attr("how");
    return !strcmp(how, "eq") ? eq(a, b) : !strcmp(how, "ne") ? ne(a, b) : !strcmp(how, "lt") ? lt(a, b) : le(a, b);
}
/* Both in fixed point of their own scale, with 8 more bits. */
static void op_compare(void) {
    struct pair p = quantized_pair();
    E left = num(8);
    E a = fixed_mul(shl_(p.a, left), fixed_of((double)p.qa.scale));
    E b = fixed_mul(shl_(p.b, left), fixed_of((double)p.qb.scale));
    out(0, BOOL, p.i, int_attr("swapped") ? compared(b, a) : compared(a, b));
}
/* The quotient of two integers: the divisor's reciprocal with 31 bits, and the dividend with as many as it has room. */
static void op_div(void) {
    struct pair p = quantized_pair();
    struct fixed f = fixed_of((double)(p.qa.scale / (p.qb.scale * p.qy.scale)));
    E zero = typed(I32, 0), below = lt(p.b, zero);
    E a = sel(below, neg(p.a), p.a), b = max_(sel(below, neg(p.b), p.b), typed(I32, 1));
    E head = leading_zeros(b);
    E minus_one = xor_(shl_(b, head), typed(I32, INT32_MIN)); /* b of 32 bits without its first one */
    E inverse = reciprocal_above_one(minus_one), magnitude = sel(lt(a, zero), sub(typed(I32, -1), a), a);
    E room =
        sel(eq(magnitude, zero), typed(I32, 31), sub(leading_zeros(max_(magnitude, typed(I32, 1))), typed(I32, 1)));
    E q = high_mul(shl_(a, room), inverse);
    E recip_shift = sub(typed(I32, 31), head); /* b = 2^(31 - head) * (1 + ...) */
    E total = sub(sub(typed(I32, f.shift), recip_shift), room);
    E v = rounding_shift(high_mul(q, typed(I32, (double)f.multiplier)), min_(max_(neg(total), zero), typed(I32, 31)));
    out_quantized(p.t, p.i, sel(eq(p.b, zero), zero, v), p.qy.zero, fused_bounds(p.t, p.qy));
}

/* ---- one operand in fixed point */
static void op_requantized(void) { /* QUANTIZE of integers, RELU and its kin: another scale, other bounds */
    T x = in(0);
    if (!result_is_quantized()) return;
    X i = axes(shape(x));
    struct quant q = quant_in(0), y = quant_out(0);
    enum dtype t = out_type() == NONE ? dtype(x) : out_type();
    struct bounds b = type_bounds(t);
    bool relu = has_attr("low");
    /* of RELU the ratio is one of f32 */
    struct fixed f = fixed_of(relu ? (double)(q.scale / y.scale) : (double)q.scale / (double)y.scale);
    if (relu) {
        int64_t lo = code_of((float)float_attr("low"), y),
                hi = has_attr("high") ? code_of((float)float_attr("high"), y) : b.hi;
        if (lo > b.lo) b.lo = lo;
        if (hi < b.hi) b.hi = hi;
    }
    out_quantized(t, i, fixed_mul(sub(at(x, i), num((double)q.zero)), f), y.zero, b);
}
static void op_abs(void) {
    T x = in(0);
    if (!result_is_quantized()) return;
    X i = axes(shape(x));
    struct quant q = quant_in(0), y = quant_out(0);
    E v = abs_(sub(at(x, i), num((double)q.zero)));
    if (q.scale != y.scale) v = fixed_mul(v, fixed_of((double)(q.scale / y.scale)));
    out_quantized(dtype(x), i, v, y.zero, type_bounds(dtype(x)));
}
static void op_leaky_relu(void) {
    T x = in(0);
    if (!result_is_quantized()) return;
    X i = axes(shape(x));
    struct quant q = quant_in(0), y = quant_out(0);
    float alpha = q.scale * (float)float_attr("alpha") / y.scale;
    E v = sub(at(x, i), num((double)q.zero));
    E above = fixed_mul(v, fixed_of((double)(q.scale / y.scale)));
    E below = fixed_mul(v, fixed_of(fabs((double)alpha)));
    E r = sel(ge(v, num(0)), above, alpha < 0 ? neg(below) : below);
    out_quantized(dtype(x), i, r, y.zero, type_bounds(dtype(x)));
}
static void op_prelu(void) {
    struct pair p = quantized_pair();
    E above = fixed_mul(p.a, fixed_of((double)(p.qa.scale / p.qy.scale)));
    E below = fixed_mul(mul(p.a, p.b), fixed_of((double)(p.qa.scale * p.qb.scale / p.qy.scale)));
    out_quantized(p.t, p.i, sel(ge(p.a, num(0)), above, below), p.qy.zero, type_bounds(p.t));
}
/* Products of 16 bits, as the kernel for small machines has them. */
static E i16_of(E v) { return cast(I16, v); }
static E high_mul16(E a, E b) { /* rounded, doubled */
    return i16_of(shr_(add(mul(a, b), typed(I32, 1 << 14)), typed(I32, 15)));
}
static E shl16(E v, int n) { return clamped(shl_(v, typed(I32, n)), type_bounds(I16)); }
static int64_t multiplier16(struct fixed f) {
    int64_t r = (f.multiplier + (1 << 15)) >> 16;
    return r > INT16_MAX ? INT16_MAX : r;
}
static void op_hard_swish(void) {
    T x = in(0);
    if (!result_is_quantized()) return;
    X i = axes(shape(x));
    struct quant q = quant_in(0), y = quant_out(0);
    float fine = (1.0f / 128.0f) * q.scale;
    struct fixed fo = fixed_of((double)(fine / y.scale)), fr = fixed_of((double)(fine / (3.0f / 32768.0f)));
    if (fail_if(fo.shift > 0, E_ATTR, "the result's scale is too small for HARD_SWISH")) return;
    E v = shl_(sub(at(x, i), num((double)q.zero)), typed(I32, 7));
    E wide = high_mul16(v, typed(I32, (double)multiplier16(fo))), relu = v;
    if (fr.shift > 0) relu = shl16(relu, fr.shift - 1 > 15 ? 15 : fr.shift - 1);
    relu = high_mul16(relu, typed(I32, (double)multiplier16(fr)));
    if (fr.shift > 0) relu = shl16(relu, 1);
    if (fr.shift < 0) relu = rounding_shift(relu, typed(I32, -fr.shift));
    relu = shr_(add(relu, typed(I32, 1 << 15)), typed(I32, 1));
    E product = i16_of(div_(mul(relu, wide), typed(I32, 1 << 15))); /* towards zero */
    E r = rounding_shift(product, typed(I32, -fo.shift));
    out_quantized(dtype(x), i, r, y.zero, type_bounds(dtype(x)));
}
/* tanh and logistic of i16: between entries of a table of 1 / (1 + exp(-x)), 24 to the unit. Input 1: the table. */
static void op_curve16(void) {
    T x = in(0), table = in(1);
    X i = axes(shape(x));
    bool tanh = int_attr("tanh") != 0;
    int log2_scale, shift = 0;
    float scale = quant_in(0).scale;
    bool plain = power_of_two(scale, &log2_scale);
    int64_t m = 0;
    int left = 12 + log2_scale;
    plain = plain && (left == 0 || (tanh && left == 1));
    if (plain) {
        m = INT64_C(3) << left;
    } else {
        double real = (double)scale * 4096.0 * 3.0;
        for (; real <= 32767.0 / 2.0 && shift <= 30; shift++) real *= 2;
        m = real > 65535 ? 65535 : (int64_t)real; /* larger ones overflow in LiteRT */
    }
    E v = mul(at(x, i), typed(I32, (double)m));
    if (shift) v = shr_(add(v, typed(I32, (double)(INT64_C(1) << (shift - 1)))), typed(I32, shift));
    E size = abs_(v), bits = typed(I32, tanh ? 8 : 9), at_k = shr_(size, bits), zero = typed(I32, 0);
    E k = min_(at_k, typed(I32, 254)), part = and_(size, typed(I32, tanh ? 0xff : 0x1ff));
    E cell = wrap_index(cast(I64, k), dim(table, 0)),
      next = wrap_index(cast(I64, add(k, typed(I32, 1))), dim(table, 0));
    E ua = at(table, list1(cell)), ub = at(table, list1(next));
    E far = typed(I32, tanh ? 0xffff << 8 : 0x7fff << 10);
    E r = sel(ge(at_k, typed(I32, 255)), far, add(shl_(ua, bits), mul(part, sub(ub, ua))));
    if (tanh)
        r = shr_(sel(ge(v, zero), add(sub(r, typed(I32, 1 << 23)), typed(I32, 1 << 7)),
                     add(sub(typed(I32, 1 << 23), r), typed(I32, (1 << 7) - 1))),
                 typed(I32, 8));
    else
        r = shr_(sel(ge(v, zero), add(r, typed(I32, 1 << 9)), sub(typed(I32, (1 << 25) + (1 << 9) - 1), r)),
                 typed(I32, 10));
    out(0, I16, i, r);
}
/* A table of 513 entries over all of i16, straight lines between them. */
static void op_line16(void) {
    T x = in(0), table = in(1);
    X i = axes(shape(x));
    E v = at(x, i), k = add(shr_(v, typed(I32, 7)), typed(I32, 256)), part = and_(v, typed(I32, 127));
    E a = at(table, list1(wrap_index(cast(I64, k), dim(table, 0))));
    E b = at(table, list1(wrap_index(cast(I64, add(k, typed(I32, 1))), dim(table, 0))));
    out(0, I16, i, add(a, shr_(add(mul(cast(I16, sub(b, a)), part), typed(I32, 64)), typed(I32, 7))));
}

/* ---- tables */
static float f_exp(float v) { return expf(v); }
static float f_log(float v) { /* undefined results become the least code */
    struct quant q = quant_out(0);
    return v <= 0 ? (float)(type_bounds(dtype(in(0))).lo - q.zero) * q.scale : logf(v);
}
static float f_tanh(float v) { return tanhf(v); }
static float f_logistic(float v) { return 1.0f / (1.0f + expf(-v)); }
static float f_elu(float v) { return v < 0 ? expm1f(v) : v; }
static float f_gelu(float v) {
    if (!int_attr("approximate")) return 0.5f * v * erfcf(v * (float)-M_SQRT1_2);
    return 0.5f * v * (1.0f + tanhf(0.797884560802865355879892119868763737f * (v + 0.044715f * v * v * v)));
}
static float f_rsqrt(float v) { return v <= 0 ? INT16_MAX * quant_out(0).scale : 1.0f / sqrtf(v); }
static int64_t code8(int64_t code, curve f) {
    struct quant q = quant_in(0), y = quant_out(0);
    struct bounds b = type_bounds(dtype(in(0)));
    float real = q.scale * (float)(code - q.zero), inverse = 1 / y.scale;
    float r = roundf(f(real) * inverse) + (float)y.zero;
    return r >= (float)b.hi ? b.hi : r >= (float)b.lo ? (int64_t)r : b.lo;
}
static int64_t at_end16(float v, float inverse, int64_t zero) {
    float r = roundf(v * inverse) + (float)zero;
    return r > 32767 ? 32767 : r >= -32768 ? (int64_t)r : -32768;
}
/* Entries are the values at the ends of 512 pieces, shifted by half of the error at the middle of the piece. */
static V line_table(curve f) {
    struct quant q = quant_in(0), y = quant_out(0);
    struct tensor *t = n_tensor(I16, (int64_t[]){513}, 1);
    float least_in = q.scale * (float)(INT16_MIN - q.zero), most_in = q.scale * (float)(INT16_MAX - q.zero);
    float least_out = y.scale * (float)(INT16_MIN - y.zero), most_out = y.scale * (float)(INT16_MAX - y.zero);
    float step = (most_in - least_in) / 512, half = step / 2, inverse = 65536 / (most_out - least_out);
    for (int k = 0; k < 512; k++) {
        float v = f(least_in + (float)k * step), next = f(least_in + (float)(k + 1) * step);
        float middle = f(least_in + (float)k * step + half);
        float sample = roundf(v * inverse), between = roundf((next * inverse + roundf(v * inverse)) / 2);
        float error = between - roundf(middle * inverse);
        float bias = roundf(error / 2), r = sample - bias;
        tensor_set_i(t, k, r > 32767 ? 32767 : r >= -32768 ? (int64_t)r : -32768);
    }
    tensor_set_i(t, 512, at_end16(f(most_in), inverse, 0));
    return n_const(t);
}
static void by_table(curve f, const char *onnx) {
    enum dtype t = dtype(in(0));
    if (!is_quantized(0)) {
        if (*onnx) expand_to(onnx);
    } else if (!result_is_quantized()) {
        return;
    } else if (dtype_bits(t) == 8) {
        out_table(t, code8, f);
    } else if (t == I16) {
        gout(0, OWN("Line16", gin(0), line_table(f)));
    } else {
        fail(E_TYPE, "quantized as %s it is not supported", dtype_name(t));
    }
}
static void curve16(bool is_tanh) {
    struct tensor *t = n_tensor(U16, (int64_t[]){256}, 1);
    /* the whole part of 65536 / (1 + exp(-k / 24)), and what LiteRT's table has above it */
    static const char above[] = "0110101011111111111111111111221112121111111211111111111111111111"
                                "1011101011111111111110111100011001111101000110111011101100010011"
                                "0101001100011010111110111100110010000001010001000110101001110000"
                                "0111001101101010101001011011001100110001100001110000011111000001";
    for (int k = 0; k < 256; k++) tensor_set_i(t, k, (int64_t)floor(65536.0 / (1 + exp(-k / 24.0))) + (above[k] - '0'));
    struct quant q = quant_in(0);
    gout(0, own("Curve16", (const V[]){gin(0), n_const(t)}, 2,
                ATTRS(attr_int("tanh", is_tanh), attr_floats("in_scale", &q.scale, 1))));
}
static void exp_tanh(void) {
    if (is_quantized(0) && dtype(in(0)) == I16) curve16(true);
    else by_table(f_tanh, "Tanh");
}
static void exp_logistic(void) {
    if (is_quantized(0) && dtype(in(0)) == I16) curve16(false);
    else by_table(f_logistic, "Sigmoid");
}
static void exp_exp(void) { by_table(f_exp, "Exp"); }
static void exp_log(void) { by_table(f_log, "Log"); }
static void exp_elu(void) { by_table(f_elu, "Elu"); }
static void exp_gelu(void) {
    if (is_quantized(0)) by_table(f_gelu, "Gelu");
    else gout(0, N_WITH("Gelu", ATTRS(attr_str("approximate", int_attr("approximate") ? "tanh" : "none")), gin(0)));
}
/* 1 / sqrt(q) of 8 bit: a reciprocal root in fixed point, computed here for each code. */
static int64_t fixed_by(int64_t v, int64_t m, int shift) {
    int64_t x = shift > 0 ? (int32_t)((uint32_t)v << shift) : v, high = (x * m + (INT64_C(1) << 30)) >> 31;
    int n = shift < 0 ? -shift : 0;
    int64_t mask = (INT64_C(1) << n) - 1, rest = high & mask;
    return (high >> n) + (rest > (mask >> 1) + (high < 0));
}
static int64_t mul31(int64_t a, int64_t b) { return (a * b + (INT64_C(1) << 30)) >> 31; }
static int64_t shl_sat(int64_t v, int n) {
    int64_t r = v * (INT64_C(1) << n);
    return r > INT32_MAX ? INT32_MAX : r < INT32_MIN ? INT32_MIN : r;
}
/* The multiplier and shift of 1 / sqrt(v): Newton's iteration from 1 with 3 integer bits, five times. */
static int64_t inverse_root(int64_t v, int *shift) {
    if (v <= 1) return *shift = 0, INT32_MAX;
    *shift = 11;
    while (v >= INT64_C(1) << 29) v /= 4, ++*shift;
    int lead = __builtin_clz((unsigned)v), pairs = (lead - 1) / 2 - 1;
    *shift -= pairs;
    v <<= 2 * pairs;
    int64_t three_halves = (INT64_C(1) << 28) + (INT64_C(1) << 27), x = INT64_C(1) << 28;
    int64_t half_v = ((v >> 1) + 1) >> 1; /* with 28 bits, as x */
    for (int k = 0; k < 5; k++) {
        int64_t x3 = shl_sat(mul31(mul31(x, x), x), 6);
        x = shl_sat(mul31(three_halves, x) - mul31(half_v, x3), 3);
    }
    x = mul31(x, 1518500250); /* sqrt(1/2): the root of the last odd power of two */
    if (*shift < 0) x = (int32_t)((uint32_t)x << -*shift), *shift = 0;
    *shift = -*shift;
    return x;
}
static int64_t rsqrt8(int64_t code, curve unused) {
    (void)unused;
    struct quant q = quant_in(0), y = quant_out(0);
    int64_t v = code - q.zero;
    struct fixed f = fixed_of(1.0 / (double)(sqrtf(q.scale) * y.scale));
    int shift;
    if (v <= 0) return INT8_MAX;
    int64_t m = inverse_root(v, &shift), data = fixed_by(1, m, shift + 20);
    int64_t r = fixed_by(data, f.multiplier, f.shift - 20) + y.zero;
    return r > INT8_MAX ? INT8_MAX : r < INT8_MIN ? INT8_MIN : r;
}
static void exp_rsqrt(void) {
    if (!is_quantized(0)) gout(0, N_OP("Reciprocal", N_OP("Sqrt", gin(0))));
    else if (!result_is_quantized()) return;
    else if (dtype(in(0)) == I8) out_table(I8, rsqrt8, NULL);
    else by_table(f_rsqrt, "");
}
static int64_t sqrt_code(int64_t code, curve unused) { /* cut off, not rounded */
    (void)unused;
    struct quant q = quant_in(0), y = quant_out(0);
    float real = q.scale * (float)(code - q.zero);
    struct bounds b = type_bounds(dtype(in(0)));
    float root = real > 0 ? sqrtf(real) / y.scale : 0;
    int64_t r = root < 65536 ? (int64_t)root + y.zero : b.hi;
    return r > b.hi ? b.hi : r < b.lo ? b.lo : r;
}
static void exp_sqrt(void) {
    if (!is_quantized(0)) expand_to("Sqrt");
    else if (!result_is_quantized()) return;
    else if (dtype_bits(dtype(in(0))) == 8) out_table(dtype(in(0)), sqrt_code, NULL);
    else fail(E_TYPE, "SQRT of quantized i16 is not supported");
}

/* ---- expansions */
static void exp_squared_difference(void) {
    if (is_quantized(0)) {
        become("SquaredDifference");
        return;
    }
    V d = N_OP("Sub", gin(0), gin(1));
    gout(0, N_OP("Mul", d, d));
}
static void exp_leaky_relu(void) {
    if (is_quantized(0)) become("LeakyRelu");
    else gout(0, N_WITH("LeakyRelu", ATTRS(attr_float("alpha", float_attr("alpha"))), gin(0)));
}
static void relu(double low, double high) { /* high 0: none */
    V x = gin(0);
    if (is_quantized(0)) {
        const struct attr bounds[] = {attr_float("low", low), attr_float("high", high)};
        gout(0, own_alike("Requantized", &x, 1, bounds, high != 0 ? 2 : 1));
    } else if (high == 0) {
        gout(0, N_OP("Relu", x));
    } else {
        gout(0, N_OP("Clip", x, n_const_f(x->type.dtype, low), n_const_f(x->type.dtype, high)));
    }
}
static void exp_relu(void) { relu(0, 0); }
static void exp_relu6(void) { relu(0, 6); }
static void exp_relu_n1_to_1(void) { relu(-1, 1); }
static void exp_relu_0_to_1(void) { relu(0, 1); }
static void compare(const char *onnx, const char *how, bool swapped) {
    V a = gin(swapped ? 1 : 0), b = gin(swapped ? 0 : 1);
    if (is_quantized(0) && is_quantized(1) && dtype_bits(dtype(in(0))) <= 16) {
        gout(0, own_alike("Compare", (const V[]){gin(0), gin(1)}, 2,
                          ATTRS(attr_str("how", how), attr_int("swapped", swapped))));
        return;
    }
    V r = N_OP(onnx, a, b);
    gout(0, !strcmp(how, "ne") ? N_OP("Not", r) : r);
}
static void exp_equal(void) { compare("Equal", "eq", false); }
static void exp_not_equal(void) { compare("Equal", "ne", false); }
static void exp_less(void) { compare("Less", "lt", false); }
static void exp_less_equal(void) { compare("LessOrEqual", "le", false); }
static void exp_greater(void) { compare("Less", "lt", true); }
static void exp_greater_equal(void) { compare("LessOrEqual", "le", true); }
static void exp_square(void) { gout(0, N_OP("Mul", gin(0), gin(0))); }
static bool of_floats(void) { return dtype_is_float(dtype(in(0))); }
/* Quotients of integers round down; what ONNX's Div cuts off is corrected where Mod says that signs differ. */
static void exp_floor_div(void) {
    if (of_floats()) gout(0, N_OP("Floor", N_OP("Div", gin(0), gin(1))));
    else gout(0, N_OP("Div", N_OP("Sub", gin(0), N_OP("Mod", gin(0), gin(1))), gin(1)));
}
static void op_right_shift(void) {
    T a = in(0), b = in(1);
    X i = axes(bcast_shape((T[]){a, b}, 2));
    E by = at(b, bcast(b, i)), most = num(dtype_bits(dtype(a)) - 1);
    out(0, dtype(a), i, shr_(at(a, bcast(a, i)), min_(max_(by, num(0)), most)));
}
static void op_atan2(void) {
    T y = in(0), x = in(1);
    X i = axes(bcast_shape((T[]){y, x}, 2));
    E a = at(y, bcast(y, i)), b = at(x, bcast(x, i)), q = fn1("atan", div_(a, b)), zero = num(0);
    E sign = lt(a, zero), pi = typed((enum dtype)a->type, M_PI), half = typed((enum dtype)a->type, M_PI / 2);
    E r = sel(gt(b, zero), q, sel(lt(b, zero), sel(sign, sub(q, pi), add(q, pi)), sel(sign, neg(half), half)));
    out(0, dtype(y), i, sel(and_(eq(a, zero), eq(b, zero)), zero, r));
}
static void exp_cast(void) {
    enum dtype t = out_type();
    V x = dtype_is_complex(dtype(in(0))) && t != dtype(in(0)) ? complex_part(gin(0), false) : gin(0);
    if (t == NONE) fail(E_TYPE, "the type of the result is not known");
    else if (x) gout(0, n_cast(x, t));
}
static void exp_zeros_like(void) {
    enum dtype t = dtype(in(0));
    if (fail_if(!dtype_is_int(t) && !dtype_is_float(t) && t != BOOL, E_TYPE, "%s is no number", dtype_name(t))) return;
    struct tensor *z = n_tensor(dtype(in(0)), (int64_t[]){1}, 1);
    gout(0, N_WITH("ConstantOfShape", ATTRS({.name = "value", .kind = AT_TENSOR, .u.t = z}), N_OP("Shape", gin(0))));
}

/* ---- between floats and codes */
static void op_quantize(void) {
    T x = in(0);
    X i = axes(shape(x));
    struct quant y = quant_out(0);
    enum dtype t = out_type();
    E v = round_away(div_(cast(F32, at(x, i)), num((double)y.scale)));
    struct bounds b = type_bounds(t);
    E far = min_(max_(v, num(-2147483648.0)), num(2147483520.0)); /* the cast of NaN is 0 */
    E code = add(cast(I64, far), cast(I64, typed(I32, (double)y.zero)));
    out(0, t, i, cast(I32, min_(max_(code, typed(I64, (double)b.lo)), typed(I64, (double)b.hi))));
}
static void exp_quantize(void) {
    if (!dtype_is_int(out_type()) || !(quant_out(0).scale > 0)) fail(E_TYPE, "the result has no quantization");
    else if (is_quantized(0)) become("Requantized");
    else become("Quantize");
}
/* In f64, and rounded once. */
static void op_dequantize(void) {
    T x = in(0);
    X i = axes(shape(x));
    struct quant q = quant_in(0);
    E v = sub(at(x, i), num((double)q.zero));
    out(0, F32, i, cast(F32, mul(typed(F64, (double)q.scale), cast(F64, v))));
}
static void exp_dequantize(void) {
    V x = gin(0);
    if (of_floats()) {
        gout(0, n_cast(x, F32));
    } else if (channels_of(0) > 1) {
        int64_t n = channels_of(0), axis = int_attr("channel_axis"), dims[X_MAX_LIST];
        for (int k = 0; k < v_rank(x); k++) dims[k] = k == axis ? n : 1;
        struct tensor *t = n_tensor(F32, dims, v_rank(x));
        for (int64_t k = 0; k < n; k++) tensor_set_f(t, k, channel_scale(0, (int)k));
        gout(0, N_OP("Mul", n_cast(x, F32), n_const(t)));
    } else if (is_quantized(0)) {
        become("Dequantize");
    } else {
        fail(E_TYPE, "the input has no quantization");
    }
}
/* Floats to the nearest of the codes that a quantised tensor would have, and back. */
static void op_fake_quant(void) {
    T x = in(0);
    X i = axes(shape(x));
    int64_t bits = int_attr("num_bits"), narrow = int_attr("narrow_range") ? 1 : 0;
    if (fail_if(bits < 2 || bits > 16, E_ATTR, "num_bits is %lld, not 2 to 16", (long long)bits)) return;
    float lo = (float)float_attr("min"), hi = (float)float_attr("max");
    float least_code = (float)narrow, most_code = (float)((1 << bits) - 1);
    float scale = (hi - lo) / (most_code - least_code), zero = least_code - lo / scale;
    zero = zero < least_code ? least_code : zero > most_code ? most_code : roundf(zero);
    float from = (least_code - zero) * scale, to = (most_code - zero) * scale, inverse = 1.0f / scale;
    E v = sub(min_(max_(at(x, i), num((double)from)), num((double)to)), num((double)from));
    E code = floor_(add(mul(v, num((double)inverse)), num(0.5)));
    out(0, F32, i, add(mul(code, num((double)scale)), num((double)from)));
}

static const struct op_attr a_pot[] = {A_INT("pot_scale_int16", .i = 1), {0}};
static const struct op_slot s_pair[] = {{"a", T16, 0}, {"b", T16, 0}, {0}}, s_one[] = {{"x", T16 | TSET(I32), 0}, {0}},
                            s_floats[] = {{"x", TS_FLOAT, 0}, {0}}, s_codes[] = {{"x", TS_INT | TS_SUB, 0}, {0}},
                            s_table[] = {{"x", TSET(I16), 0}, {"table", TSET(I16) | TSET(U16), 0}, {0}},
                            s_ints[] = {{"a", TS_INT, 0}, {"b", TS_INT, 0}, {0}},
                            s_floats2[] = {{"a", TSET(F32) | TSET(F64), 0}, {"b", TSET(F32) | TSET(F64), 0}, {0}};
#define ONNX1(name, to) BY_NAME(name, tfl_any1, exp_as_onnx, to, "as ONNX")
#define ONNX2(name, to) BY_NAME(name, tfl_any2, exp_as_onnx, to, "as ONNX")
#define FIXED           "fixed point as LiteRT's reference kernel"
const struct op ops_tflite_math[] = {
    BY_NAME("ADD", tfl_any2, exp_as_either, "Add", "quantized: " FIXED),
    BY_NAME("SUB", tfl_any2, exp_as_either, "Sub", "quantized: " FIXED),
    BY_NAME("MUL", tfl_any2, exp_as_either, "Mul", "quantized: " FIXED),
    BY_NAME("DIV", tfl_any2, exp_as_either, "Div", "quantized: " FIXED),
    TFLITE("SQUARED_DIFFERENCE", tfl_any2, exp_squared_difference, "quantized: " FIXED),
    BY_NAME("ABS", tfl_any1, exp_as_either, "Abs", "quantized: " FIXED),
    BY_NAME("PRELU", tfl_any2, exp_as_either, "PRelu", "quantized: " FIXED),
    TFLITE("LEAKY_RELU", tfl_any1, exp_leaky_relu, "quantized: " FIXED),
    BY_NAME("HARD_SWISH", tfl_any1, exp_as_either, "HardSwish", "quantized: " FIXED),
    TFLITE("RELU", tfl_any1, exp_relu, "quantized: " FIXED),
    TFLITE("RELU6", tfl_any1, exp_relu6, "quantized: " FIXED),
    TFLITE("RELU_N1_TO_1", tfl_any1, exp_relu_n1_to_1, "quantized: " FIXED),
    TFLITE("RELU_0_TO_1", tfl_any1, exp_relu_0_to_1, "quantized: " FIXED),
    TFLITE("TANH", tfl_any1, exp_tanh, "quantized: a table"),
    TFLITE("LOGISTIC", tfl_any1, exp_logistic, "quantized: a table"),
    TFLITE("EXP", tfl_any1, exp_exp, "quantized: a table"),
    TFLITE("LOG", tfl_any1, exp_log, "quantized: a table"),
    TFLITE("ELU", tfl_any1, exp_elu, "quantized: a table"),
    TFLITE("GELU", tfl_any1, exp_gelu, "quantized: a table"),
    TFLITE("SQRT", tfl_any1, exp_sqrt, "quantized: a table, cut off"),
    TFLITE("RSQRT", tfl_any1, exp_rsqrt, "quantized: a table; 0 and less give the greatest code"),
    TFLITE("EQUAL", tfl_any2, exp_equal, "quantized: " FIXED),
    TFLITE("NOT_EQUAL", tfl_any2, exp_not_equal, "quantized: " FIXED),
    TFLITE("LESS", tfl_any2, exp_less, "quantized: " FIXED),
    TFLITE("LESS_EQUAL", tfl_any2, exp_less_equal, "quantized: " FIXED),
    TFLITE("GREATER", tfl_any2, exp_greater, "quantized: " FIXED),
    TFLITE("GREATER_EQUAL", tfl_any2, exp_greater_equal, "quantized: " FIXED),
    ONNX2("MAXIMUM", "Max"),
    ONNX2("MINIMUM", "Min"),
    ONNX2("POW", "Pow"),
    ONNX1("NEG", "Neg"),
    ONNX1("SIN", "Sin"),
    ONNX1("COS", "Cos"),
    ONNX1("FLOOR", "Floor"),
    ONNX1("CEIL", "Ceil"),
    ONNX1("ROUND", "Round"),
    ONNX1("SIGN", "Sign"),
    AS_ONNX("SQUARE", tfl_any1, exp_square),
    ONNX1("LOGICAL_NOT", "Not"),
    ONNX2("LOGICAL_AND", "And"),
    ONNX2("LOGICAL_OR", "Or"),
    ONNX2("BITWISE_XOR", "BitwiseXor"),
    AS_ONNX("FLOOR_DIV", tfl_any2, exp_floor_div),
    ONNX2("FLOOR_MOD", "Mod"),
    BY_NAME("ADD_N", tfl_many, exp_as_onnx, "Sum", "as ONNX Sum"),
    BY_NAME("RIGHT_SHIFT", tfl_any2, exp_as_own, "RightShift", "shifts are clamped to the width"),
    BY_NAME("ATAN2", tfl_any2, exp_as_own, "Atan2", "by atan of the quotient"),
    TFLITE("CAST", tfl_any1, exp_cast, "as ONNX; of complex numbers the real part"),
    TFLITE("ZEROS_LIKE", tfl_any1, exp_zeros_like, "zeros"),
    TFLITE("QUANTIZE", tfl_any1, exp_quantize, FIXED),
    TFLITE("DEQUANTIZE", tfl_any1, exp_dequantize, "scale * (q - zero) in f64, rounded once; by channel in f32"),
    BY_NAME("FAKE_QUANT", tfl_any1, exp_as_own, "FakeQuant", "in f32"),
    DEFINED("Add", a_pot, s_pair, op_add, FIXED),
    DEFINED("Sub", a_pot, s_pair, op_sub, FIXED),
    DEFINED("Mul", tfl_attrs, s_pair, op_mul, FIXED),
    DEFINED("Div", tfl_attrs, s_pair, op_div, FIXED "; by 0: the zero point; quotients too small for its shift are 0"),
    DEFINED("SquaredDifference", tfl_attrs, s_pair, op_squared_difference, FIXED),
    DEFINED("Compare", tfl_attrs, s_pair, op_compare, FIXED),
    DEFINED("Requantized", tfl_attrs, s_one, op_requantized, FIXED),
    DEFINED("Abs", tfl_attrs, s_one, op_abs, FIXED),
    DEFINED("PRelu", tfl_attrs, s_pair, op_prelu, FIXED),
    DEFINED("LeakyRelu", tfl_attrs, s_one, op_leaky_relu, FIXED),
    DEFINED("HardSwish", tfl_attrs, s_one, op_hard_swish, FIXED),
    DEFINED("Curve16", tfl_attrs, s_table, op_curve16, FIXED),
    DEFINED("Line16", tfl_attrs, s_table, op_line16, FIXED),
    DEFINED("RightShift", tfl_attrs, s_ints, op_right_shift, "arithmetic"),
    DEFINED("Atan2", tfl_attrs, s_floats2, op_atan2, "by atan of the quotient"),
    DEFINED("Quantize", tfl_attrs, s_floats, op_quantize, "round(x / scale) + zero, halves away from zero"),
    DEFINED("Dequantize", tfl_attrs, s_codes, op_dequantize, "in f64, rounded once"),
    DEFINED("FakeQuant", tfl_attrs, s_floats, op_fake_quant, "in f32"),
    {0},
};
