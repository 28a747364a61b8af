/* com.microsoft's quantised operators, as ONNX Runtime's quantiser writes them. Most are an operator of ONNX between
 * DequantizeLinear and QuantizeLinear and are expanded to that; sums and products have definitions, which round where
 * ONNX Runtime does (docs/numbers.md, N7). Products of matrices stand in matmul.c. */
#include "lower/ops/ms.h"

/* ---- definitions */
struct quantised {
    E scale, zero; /* of one element each; zero in i32 */
};
static struct quantised quantised_by(int k) { /* input k and the one behind it */
    T zero = in(k + 1);
    return (struct quantised){scalar(in(k)), has(zero) ? cast(I32, scalar(zero)) : typed(I32, 0)};
}
static E as_float(E i) { return cast(F32, i); }
static X broadcast_axes(void) { return axes(bcast_shape((const T[]){in(0), in(3)}, 2)); }
static E operand(int k, X i) { return cast(I32, at(in(k), bcast(in(k), i))); }
/* Whether a is repeated along the last axis on which not both are 1. */
static bool repeated(T a, T b) {
    for (int k = 1; k <= rank(a) || k <= rank(b); k++) {
        bool one_a = k > rank(a) || x_is(dim(a, rank(a) - k), 1), one_b = k > rank(b) || x_is(dim(b, rank(b) - k), 1);
        if (!one_a || !one_b) return one_a;
    }
    return false;
}
/* The zero points are one term, which is rounded along with the sum. Then operand b is added, the broadcast one if
 * there is one; then a. */
static void op_qlinearadd(void) {
    X i = broadcast_axes();
    int ka = repeated(in(0), in(3)) ? 3 : 0, kb = 3 - ka;
    struct quantised a = quantised_by(ka + 1), b = quantised_by(kb + 1), c = quantised_by(6);
    E fa = div_(a.scale, c.scale), fb = div_(b.scale, c.scale);
    E shift = sub(as_float(c.zero), fma_(fa, as_float(a.zero), mul(fb, as_float(b.zero))));
    E v = fma_(as_float(operand(ka, i)), fa, fma_(as_float(operand(kb, i)), fb, shift));
    out(0, dtype(in(0)), i, cast(dtype(in(0)), rint_(v)));
}
static void op_qlinearmul(void) {
    X i = broadcast_axes();
    struct quantised a = quantised_by(1), b = quantised_by(4), c = quantised_by(6);
    E v = mul(sub(operand(0, i), a.zero), sub(operand(3, i), b.zero)), f = div_(mul(a.scale, b.scale), c.scale);
    out(0, dtype(in(0)), i, cast(dtype(in(0)), rint_(add(mul(as_float(v), f), as_float(c.zero)))));
}
static void op_mulinteger(void) {
    X i = axes(bcast_shape((const T[]){in(0), in(2)}, 2));
    E v[2];
    for (int k = 0; k < 2; k++) {
        T zero = in(2 * k + 1);
        v[k] = operand(2 * k, i);
        if (has(zero)) v[k] = sub(v[k], cast(I32, scalar(zero)));
    }
    out(0, I32, i, mul(v[0], v[1]));
}
/* A sum of integers; its factor includes their number. */
static void op_qlinearglobalaverage(void) {
    T x = in(0);
    int r = rank(x), channel = int_attr("channels_last") ? r - 1 : 1;
    struct quantised a = quantised_by(1), c = quantised_by(3);
    if (fail_if(r < 3, E_RANK, "a pool needs spatial axes; the input has rank %d", r)) return;
    X dims = shape(x), spatial = list0();
    for (int k = 1; k < r; k++)
        if (k != channel) spatial = push(spatial, dim(x, k)), dims.v[k] = idx(1);
    X o = axes(dims), over = raxes(spatial, NULL), from = o;
    for (int k = 1, s = 0; k < r; k++)
        if (k != channel) from.v[k] = over.v[s++];
    T sum = reduce("sum", I32, o, RED_SUM, over, sub(cast(I32, at(x, from)), a.zero), NULL);
    if (!sum) return;
    E factor = div_(a.scale, mul(c.scale, cast(F32, val(product(spatial)))));
    out(0, dtype(x), o, saturated(dtype(x), mul(as_float(at(sum, o)), factor), c.zero));
}

/* ---- expansions: DequantizeLinear, the operator, QuantizeLinear */
static V dequantised(int k) { return N_OP("DequantizeLinear", gin(k), gin(k + 1), gin(k + 2)); }
static void out_quantised(V v, V scale, V zero) {
    struct attr type = attr_int("output_dtype", dtype_onnx(gin(0)->type.dtype));
    gout(0, n_op("QuantizeLinear", 0, (const V[]){v, scale, zero}, zero ? 3 : 2, &type, zero ? 0 : 1));
}
static void exp_qlinearsigmoid(void) { out_quantised(N_OP("Sigmoid", dequantised(0)), gin(3), gin(4)); }
static void exp_qlinearleakyrelu(void) {
    V x = dequantised(0);
    out_quantised(ms_alike("LeakyRelu", &x, 1), gin(3), gin(4));
}
static void exp_qlinearaveragepool(void) {
    bool last = int_attr("channels_last");
    V x = dequantised(0);
    if (last) x = n_channels_first(x);
    x = ms_alike("AveragePool", &x, 1);
    out_quantised(last ? n_channels_last(x) : x, gin(3), gin(4));
}
static void exp_qlinearreducemean(void) {
    const int64_t *over;
    int n = ints_attr("axes", &over);
    V ins[] = {dequantised(0), n_const_i64(over, n)};
    out_quantised(ms_alike("ReduceMean", ins, 2), gin(3), gin(4));
}
static void exp_qlinearconcat(void) {
    enum { MANY = 512 };
    V parts[MANY];
    int n = (n_in() - 2) / 3;
    if (fail_if(n < 1 || n > MANY || n_in() != 2 + 3 * n, E_ARITY,
                "%d inputs: a scale and a zero point, and as many threes behind them", n_in()))
        return;
    for (int k = 0; k < n; k++) {
        if (fail_if(!gin(3 * k + 2) || !gin(3 * k + 3), E_ARITY, "a tensor to concatenate or its scale is missing"))
            return;
        parts[k] = dequantised(3 * k + 2);
    }
    V zero = gin(1), v = ms_joined(parts, n, (int)int_attr("axis"));
    gout(0, N_OP("QuantizeLinear", v, gin(0), zero));
}
static void exp_qlinearwhere(void) {
    V v = N_OP("Where", gin(0), dequantised(1), dequantised(4));
    gout(0, N_OP("QuantizeLinear", v, gin(7), gin(8)));
}
/* The result is a multiple of its scale: 1 is as many steps as the scale goes into it. */
static void exp_qlinearsoftmax(void) {
    bool joint = int_attr("opset") < 13;
    int64_t axis = has_attr("axis") ? int_attr("axis") : joint ? 1 : -1;
    V p = N_WITH("Softmax", ATTRS(attr_int("axis", axis), attr_int("joint", joint)), dequantised(0));
    V one = n_const_f(F32, 1);
    out_quantised(N_OP("Mul", p, N_OP("Floor", N_OP("Div", one, gin(3)))), one, gin(4));
}
static void exp_dynamicquantizematmul(void) {
    V a = gin(0), ins[7] = {NULL, gin(1), NULL, gin(2), NULL, gin(3), gin(4)};
    struct node *q = n_node("DynamicQuantizeLinear", &a, 1, 3);
    ins[0] = q->outs.v[0], ins[2] = q->outs.v[1], ins[4] = q->outs.v[2];
    gout(0, n_with_attrs("com.microsoft", "MatMulIntegerToFloat", ins, 7, 1)->outs.v[0]);
}
/* The sum of bytes: ReduceSum in 32 bits. */
static void exp_reducesuminteger(void) {
    const int64_t *over;
    int n = ints_attr("axes", &over);
    V ins[] = {n_cast(gin(0), gin(0)->type.dtype == U8 ? U32 : I32), n_const_i64(over, n)};
    gout(0, ms_alike("ReduceSum", ins, 2));
}

enum { T8 = TSET(I8) | TSET(U8), TF = TSET(F32) };
#define SCALED(name)                                                                                                   \
    {name, T8, 0}, {name "_scale", TF, 0}, { name "_zero_point", T8, OPTIONAL }
#define RESULT                                                                                                         \
    {"y_scale", TF, 0}, {"y_zero_point", T8, OPTIONAL}, { 0 }
static const struct op_slot
    s_unary[] = {SCALED("X"), RESULT},
    s_binary[] = {SCALED("A"), SCALED("B"), RESULT},
    s_where[] = {{"condition", TSET(BOOL), 0}, SCALED("X"), SCALED("Y"), RESULT},
    s_concat[] = {{"Y_scale", TF, 0}, {"Y_zero_point", T8, 0}, {"inputs", T8 | TF, VARIADIC}, {0}},
    s_mulint[] = {{"A", T8, 0}, {"A_zero_point", T8, OPTIONAL}, {"B", T8, 0}, {"B_zero_point", T8, OPTIONAL}, {0}},
    s_t8[] = {{"data", T8, 0}, {0}};
static const struct op_slot s_dynamic[] = {
    {"A", TF, 0}, {"B", T8, 0}, {"b_scale", TF, 0}, {"b_zero_point", T8, OPTIONAL}, {"bias", TF, OPTIONAL}, {0}};
static const struct op_attr a_last[] = {A_INT("channels_last"), {0}}, a_leaky[] = {A_FLOAT("alpha", .f = 0.01f), {0}},
                            a_axis[] = {A_INT("axis", .flags = A_REQUIRED), {0}},
                            a_soft[] = {A_INT("axis"), A_INT("opset", .flags = A_REQUIRED), {0}},
                            a_axes[] = {A_INTS("axes", .flags = A_REQUIRED),
                                        A_INT("keepdims", .flags = A_REQUIRED),
                                        {0}},
                            a_pool[] = {A_STRING("auto_pad", .s = "NOTSET"),
                                        A_INTS("kernel_shape", .flags = A_REQUIRED),
                                        A_INTS("strides"),
                                        A_INTS("pads"),
                                        A_INT("ceil_mode"),
                                        A_INT("count_include_pad"),
                                        A_INT("channels_last"),
                                        {0}};
#define ROW(name, attrs, slots, how, fn)                                                                               \
    { "com.microsoft", name, 1, 1, attrs, slots, slots_y, .how = fn, .spec = "com.microsoft." name }
const struct op ops_ms_quant[] = {
    ROW("QLinearAdd", attrs_none, s_binary, define, op_qlinearadd),
    ROW("QLinearMul", attrs_none, s_binary, define, op_qlinearmul),
    ROW("QLinearGlobalAveragePool", a_last, s_unary, define, op_qlinearglobalaverage),
    ROW("QLinearAveragePool", a_pool, s_unary, expand, exp_qlinearaveragepool),
    ROW("QLinearSigmoid", attrs_none, s_unary, expand, exp_qlinearsigmoid),
    ROW("QLinearLeakyRelu", a_leaky, s_unary, expand, exp_qlinearleakyrelu),
    ROW("QLinearSoftmax", a_soft, s_unary, expand, exp_qlinearsoftmax),
    ROW("QLinearReduceMean", a_axes, s_unary, expand, exp_qlinearreducemean),
    ROW("QLinearConcat", a_axis, s_concat, expand, exp_qlinearconcat),
    ROW("QLinearWhere", attrs_none, s_where, expand, exp_qlinearwhere),
    ROW("MulInteger", attrs_none, s_mulint, define, op_mulinteger),
    ROW("ReduceSumInteger", a_axes, s_t8, expand, exp_reducesuminteger),
    ROW("DynamicQuantizeMatMul", attrs_none, s_dynamic, expand, exp_dynamicquantizematmul),
    {0},
};
