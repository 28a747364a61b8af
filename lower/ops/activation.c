/* Activations: elementwise ops with parameters. The same formulas serve as activations inside recurrent and fused ops.
 */
#include "lower/ops/ops.h"
#include <math.h>
#include <string.h>

/* alpha and beta as the op names them. NaN stays NaN, except in ThresholdedRelu and Shrink: there the specification
 * selects the values that stay by a comparison, which is false for NaN. */
static E relu(E v, double a, double b) { return (void)a, (void)b, max_(num(0), v); }
static E leaky(E v, double a, double b) { return (void)b, sel(lt(v, num(0)), mul(num(a), v), v); }
static E thresholded(E v, double a, double b) { return (void)b, sel(gt(v, num(a)), v, num(0)); }
static E elu(E v, double a, double b) { return (void)b, sel(lt(v, num(0)), mul(num(a), fn1("expm1", v)), v); }
static E selu(E v, double a, double b) { return mul(num(b), sel(le(v, num(0)), mul(num(a), fn1("expm1", v)), v)); }
static E celu(E v, double a, double b) {
    return (void)b, sel(lt(v, num(0)), mul(num(a), fn1("expm1", div_(v, num(a)))), v);
}
static E hard_sigmoid(E v, double a, double b) { return max_(num(0), min_(num(1), add(mul(num(a), v), num(b)))); }
static E hard_swish(E v, double a, double b) {
    return (void)a, (void)b, mul(v, max_(num(0), min_(num(1), add(mul(num(1.0 / 6), v), num(0.5)))));
}
static E sigmoid(E v, double a, double b) { return (void)a, (void)b, sigmoid_(v); }
static E tanh1(E v, double a, double b) { return (void)a, (void)b, tanh_(v); }
static E scaled_tanh(E v, double a, double b) { return mul(num(a), tanh_(mul(num(b), v))); }
static E softplus(E v, double a, double b) { return (void)a, (void)b, fn1("softplus", v); }
static E softsign(E v, double a, double b) { return (void)a, (void)b, div_(v, add(abs_(v), num(1))); }
static E affine(E v, double a, double b) { return add(mul(num(a), v), num(b)); }
/* v tanh(log(1 + e)) = v n / (n + 2) with e = exp(v) and n = e (e + 2), which from exp(20) or exp(40) on is v itself.
 */
static E mish(E v, double a, double b) {
    E e = exp_(min_(num(v->type == F64 ? 40 : 20), v)), n = mul(e, add(e, num(2)));
    return (void)a, (void)b, mul(v, div_(n, add(n, num(2))));
}
static E swish(E v, double a, double b) { return (void)b, mul(v, sigmoid_(a == 1 ? v : mul(num(a), v))); }
static E shrink(E v, double lambd, double bias) {
    return sel(lt(v, num(-lambd)), add(v, num(bias)), sel(gt(v, num(lambd)), sub(v, num(bias)), num(0)));
}
static E clip(E v, double lo, double hi) { return min_(num(hi), max_(num(lo), v)); }
static E gelu_erf(E v) { return mul(mul(num(0.5), v), add(num(1), erf_(mul(v, num(0.70710678118654752440))))); }
static E gelu_tanh(E v) {
    E u = mul(num(0.79788456080286535588), add(v, mul(num(0.044715), mul(v, mul(v, v)))));
    return mul(mul(num(0.5), v), add(num(1), tanh_(u)));
}
static const struct act {
    const char *name;
    E (*f)(E v, double a, double b);
    double alpha, beta;
} acts[] = {
    {"Relu", relu, 0, 0},
    {"LeakyRelu", leaky, 0.01, 0},
    {"ThresholdedRelu", thresholded, 1, 0},
    {"Elu", elu, 1, 0},
    {"HardSigmoid", hard_sigmoid, 0.2, 0.5},
    {"Sigmoid", sigmoid, 0, 0},
    {"Tanh", tanh1, 0, 0},
    {"ScaledTanh", scaled_tanh, 1, 1},
    {"Softplus", softplus, 0, 0},
    {"Softsign", softsign, 0, 0},
    {"Affine", affine, 1, 0},
    {"HardSwish", hard_swish, 0, 0},
    {"Clip", clip, -3.4028234663852886e38, 3.4028234663852886e38},
};
static bool same_name(const char *a, const char *b) { /* ONNX: names of activations ignore case */
    for (; *a && *b; a++, b++)
        if ((*a | 32) != (*b | 32)) return false;
    return *a == *b;
}
static const struct act *act_find(const char *name) {
    for (size_t k = 0; k < sizeof acts / sizeof *acts; k++)
        if (same_name(acts[k].name, name)) return &acts[k];
    return NULL;
}
void activation_defaults(const char *name, double *alpha, double *beta) {
    const struct act *a = act_find(name);
    *alpha = a ? a->alpha : 0;
    *beta = a ? a->beta : 0;
}
E activation(const char *name, E v, double alpha, double beta) {
    const struct act *a = act_find(name);
    if (!a) return fail(E_ATTR, "activation %s is not known", name), v;
    return a->f(v, alpha, beta);
}

static void map(E (*f)(E v, double a, double b), double a, double b) {
    T x = in(0);
    X i = axes(shape(x));
    out(0, dtype(x), i, f(at(x, i), a, b));
}
static void op_relu(void) { map(relu, 0, 0); }
static void op_leaky(void) { map(leaky, float_attr("alpha"), 0); }
static void op_thresholded(void) { map(thresholded, float_attr("alpha"), 0); }
static void op_elu(void) { map(elu, float_attr("alpha"), 0); }
static void op_selu(void) { map(selu, float_attr("alpha"), float_attr("gamma")); }
static void op_celu(void) { map(celu, float_attr("alpha"), 0); }
static void op_hardsigmoid(void) { map(hard_sigmoid, float_attr("alpha"), float_attr("beta")); }
static void op_hardswish(void) { map(hard_swish, 0, 0); }
static void op_sigmoid(void) { map(sigmoid, 0, 0); }
static void op_softplus(void) { map(softplus, 0, 0); }
static void op_softsign(void) { map(softsign, 0, 0); }
static void op_mish(void) { map(mish, 0, 0); }
static void op_swish(void) { map(swish, float_attr("alpha"), 0); }
static void op_swiglu(void) {
    T a = in(0), b = in(1);
    if (fail_if(rank(a) != rank(b), E_RANK, "the operands of SwiGLU have rank %d and %d", rank(a), rank(b))) return;
    X i = axes(shape(a)), j = i;
    for (int k = 0; k < rank(a); k++) {
        require(eq(dim(a, k), dim(b, k)), "the operands of SwiGLU differ on axis %d", k);
        j.v[k] = wrap_index(i.v[k], dim(b, k));
    }
    out(0, dtype(a), i, mul(swish(at(a, i), float_attr("alpha"), 0), at(b, j)));
}
static void op_shrink(void) { map(shrink, float_attr("lambd"), float_attr("bias")); }
static void op_gelu(void) {
    T x = in(0);
    X i = axes(shape(x));
    const char *how = str_attr("approximate");
    if (fail_if(strcmp(how, "none") && strcmp(how, "tanh"), E_ATTR, "attribute \"approximate\" must be none or tanh"))
        return;
    out(0, dtype(x), i, strcmp(how, "tanh") ? gelu_erf(at(x, i)) : gelu_tanh(at(x, i)));
}
/* com.microsoft: Gelu of x + bias, with the erf or the tanh form. */
static void bias_gelu(E (*f)(E v)) {
    T x = in(0), b = in(1);
    if (has(b)) require_spreads(b, shape(x), "the bias");
    X i = axes(shape(x));
    E v = at(x, i);
    out(0, dtype(x), i, f(has(b) ? add(v, at(b, bcast(b, i))) : v));
}
static void op_biasgelu(void) { bias_gelu(gelu_erf); }
static void op_fastgelu(void) { bias_gelu(gelu_tanh); }

static const struct op_slot s_bias[] = {{"X", TS_FLOAT, 0}, {"bias", TS_FLOAT, OPTIONAL}, {0}};
static const struct op_slot s_swiglu[] = {{"A", TS_FLOAT, 0}, {"B", TS_FLOAT, 0}, {0}};
static const struct op_attr a_leaky[] = {A_FLOAT("alpha", .f = 0.01f), {0}}, a_one[] = {A_FLOAT("alpha", .f = 1), {0}},
                            a_quick[] = {A_FLOAT("alpha", .f = 1.702f), {0}};
static const struct op_attr a_selu[] = {
    A_FLOAT("alpha", .f = 1.67326319217681884765625f), A_FLOAT("gamma", .f = 1.05070102214813232421875f), {0}};
static const struct op_attr a_hsig[] = {A_FLOAT("alpha", .f = 0.2f), A_FLOAT("beta", .f = 0.5f), {0}};
static const struct op_attr a_shrink[] = {A_FLOAT("lambd", .f = 0.5f), A_FLOAT("bias"), {0}};
static const struct op_attr a_gelu[] = {A_STRING("approximate", .s = "none"), {0}};

static bool relu_clamps(const struct node *n, double *lo, double *hi) {
    *lo = 0, *hi = INFINITY;
    return (void)n, true;
}
#define ROW(name, since, first, attrs, slots, fn)                                                                      \
    { "", name, since, first, attrs, slots, slots_y, .define = fn, .spec = name }
const struct op ops_activation[] = {
    {"", "Relu", 14, 1, attrs_none, slots_num, slots_y, .define = op_relu, .spec = "Relu", .clamps = relu_clamps},
    ROW("LeakyRelu", 16, 1, a_leaky, slots_float, op_leaky),
    ROW("ThresholdedRelu", 22, 10, a_one, slots_float, op_thresholded),
    ROW("Elu", 22, 1, a_one, slots_float, op_elu),
    ROW("Selu", 22, 1, a_selu, slots_float, op_selu),
    ROW("Celu", 12, 12, a_one, slots_float, op_celu),
    ROW("HardSigmoid", 22, 1, a_hsig, slots_float, op_hardsigmoid),
    ROW("HardSwish", 22, 14, attrs_none, slots_float, op_hardswish),
    ROW("Sigmoid", 13, 1, attrs_none, slots_float, op_sigmoid),
    ROW("Softplus", 22, 1, attrs_none, slots_float, op_softplus),
    ROW("Softsign", 22, 1, attrs_none, slots_float, op_softsign),
    ROW("Mish", 22, 18, attrs_none, slots_float, op_mish),
    ROW("Swish", 24, 24, a_one, slots_float, op_swish),
    {"", "SwiGLU", 27, 27, a_one, s_swiglu, slots_y, .define = op_swiglu, .spec = "SwiGLU-27"},
    ROW("Shrink", 9, 9, a_shrink, slots_num, op_shrink),
    ROW("Gelu", 20, 20, a_gelu, slots_float, op_gelu),
    {"com.microsoft", "Gelu", 1, 1, attrs_none, s_bias, slots_y, .define = op_biasgelu, .spec = "com.microsoft.Gelu"},
    {"com.microsoft", "BiasGelu", 1, 1, attrs_none, s_bias, slots_y, .define = op_biasgelu,
     .spec = "com.microsoft.BiasGelu"},
    {"com.microsoft", "FastGelu", 1, 1, attrs_none, s_bias, slots_y, .define = op_fastgelu,
     .spec = "com.microsoft.FastGelu"},
    {"com.microsoft", "QuickGelu", 1, 1, a_quick, slots_float, slots_y, .define = op_swish,
     .spec = "com.microsoft.QuickGelu"},
    {0},
};
