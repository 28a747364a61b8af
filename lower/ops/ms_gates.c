/* com.microsoft's gates and positions of newer language models: GatedRelativePositionBias, GatedRMSNorm, ScaledSiLU,
 * GemmaRotaryEmbedding. */
#include "lower/ops/ms.h"
#include <string.h>

/* ---- GatedRelativePositionBias: distances that a gate of each query scales */
static void exp_gatedbias(void) {
    static const int64_t turned[] = {0, 2, 1, 3}, halves[] = {0, 0, 0, 2, -1};
    V x = gin(0), rel = gin(2), eco = gin(5);
    const int64_t heads[] = {0, 0, int_attr("num_heads"), -1};
    if (fail_if(gin(6), E_OP, "token_offset (tokens without padding) is not supported")) return;
    if (fail_if(x->type.rank != 3 || gin(3)->type.rank != 2 || heads[2] < 1, E_RANK,
                "queries of rank %d, weights of rank %d and %lld heads; 3, 2 and 1 or more are expected", x->type.rank,
                gin(3)->type.rank, (long long)heads[2]))
        return;
    V q = n_transpose(ms_reshaped(N_OP("Add", x, gin(1)), heads, 4), turned, 4);
    V linear = ms_reshaped(N_OP("Add", N_OP("MatMul", q, gin(3)), gin(4)), halves, 5);
    V gates = N_OP("Sigmoid", N_WITH("ReduceSum", ATTRS(attr_int("keepdims", 0)), linear, N_INTS(-1)));
    V update = ms_sliced(gates, 3, 0, 1), reset = ms_sliced(gates, 3, 1, 2);
    V gate = N_OP("Sub", N_OP("Mul", reset, eco), n_const_f(x->type.dtype, 1));
    gout(0, N_OP("Mul", N_OP("Add", N_OP("Mul", update, gate), n_const_f(x->type.dtype, 2)), rel));
}

/* ---- GatedRMSNorm: groups of as many elements as the scale has, along the last axis */
static void op_gatednorm(void) {
    T x = in(0), scale = in(1), gate = in(2);
    const char *name = str_attr("activation");
    bool silu = !strcmp(name, "silu") || !strcmp(name, "swish");
    int last = rank(x) - 1;
    if (fail_if(!silu && strcmp(name, "sigmoid"), E_ATTR, "activation %s is not known", name)) return;
    if (fail_if(last < 0 || rank(scale) != 1 || rank(gate) != rank(x), E_RANK,
                "operands of rank %d, %d and %d; X and gate need the same axes, and scale one", rank(x), rank(scale),
                rank(gate)))
        return;
    E size = dim(scale, 0), length = dim(x, last);
    require(gt(size, idx(0)), "the scale is empty");
    require(multiple_of(length, size), "the last axis is no multiple of the length of the scale");
    for (int k = 0; k <= last; k++) require(eq(dim(gate, k), dim(x, k)), "axis %d of the gate is not that of X", k);
    X g = axes(put(shape(x), last, div_(length, size)));
    E c = raxis(size, "c"), v = cast(F32, at(x, put(g, last, within(add(mul(g.v[last], size), c), length))));
    T sum = reduce("squares", F32, g, RED_SUM, list1(c), mul(v, v), NULL);
    if (!sum) return;
    X o = axes(shape(x)), of = put(o, last, within(div_(o.v[last], size), div_(length, size))), same = o;
    for (int k = 0; k <= last; k++) same.v[k] = within(o.v[k], dim(gate, k));
    E mean = div_(at(sum, of), cast(F32, val(size))), z = cast(F32, at(gate, same));
    E norm = div_(cast(F32, at(x, o)), sqrt_(add(mean, num(float_attr("epsilon")))));
    E act = silu ? mul(z, sigmoid_(z)) : sigmoid_(z);
    out(0, dtype(x), o, mul(mul(norm, cast(F32, at(scale, list1(mod_(o.v[last], size))))), act));
}

/* ---- ScaledSiLU: rounds after each step */
static void op_scaledsilu(void) {
    T x = in(0), scale = in(1);
    X i = axes(shape(x));
    E by = has(scale) ? cast(F32, scalar(scale)) : typed(F32, float_attr("alpha"));
    E z = cast(dtype(x), mul(cast(F32, at(x, i)), by));
    out(0, dtype(x), i, mul(z, cast(dtype(x), sigmoid_(z))));
}

/* ---- GemmaRotaryEmbedding: rotated halves are given */
static void exp_gemmarotary(void) {
    V angle = gin(0), turn[2] = {N_OP("Cos", angle), N_OP("Sin", angle)};
    for (int k = 0; k < 2; k++) turn[k] = N_OP("Unsqueeze", n_cast(turn[k], gin(1)->type.dtype), N_INTS(1));
    for (int k = 0; k < 2; k++)
        gout(k, N_OP("Add", N_OP("Mul", gin(1 + 2 * k), turn[0]), N_OP("Mul", gin(2 + 2 * k), turn[1])));
}

enum { TF = TSET(F32) | TSET(F16) | TSET(BF16) };
static const struct op_slot s_bias[] = {{"query_layer", TF, 0},
                                        {"query_bias", TF, 0},
                                        {"rel_pos", TF, 0},
                                        {"weight", TF, 0},
                                        {"bias", TF, 0},
                                        {"eco_a", TF, 0},
                                        {"token_offset", TSET(I32), OPTIONAL},
                                        {0}};
static const struct op_slot s_norm[] = {{"X", TF, 0}, {"scale", TF, 0}, {"gate", TF, 0}, {0}},
                            s_silu[] = {{"X", TF, 0}, {"scale", TF, OPTIONAL | SCALAR}, {0}},
                            s_rotary[] = {{"emb", TF, 0}, {"q", TF, 0},     {"q_rot", TF, 0},
                                          {"k", TF, 0},   {"k_rot", TF, 0}, {0}},
                            s_both[] = {{"output1", TF, 0}, {"output2", TF, 0}, {0}};
static const struct op_attr a_bias[] = {A_INT("num_heads", .flags = A_REQUIRED), {0}},
                            a_norm[] = {A_STRING("activation", .s = "silu"), A_FLOAT("epsilon", .f = 1e-5f), {0}},
                            a_silu[] = {A_FLOAT("alpha", .f = 1), {0}};
#define ROW(name, attrs, ins, outs, how, fn)                                                                           \
    { "com.microsoft", name, 1, 1, attrs, ins, outs, how = fn, .spec = "com.microsoft." name }
const struct op ops_ms_gates[] = {
    ROW("GatedRelativePositionBias", a_bias, s_bias, slots_y, .expand, exp_gatedbias),
    ROW("GatedRMSNorm", a_norm, s_norm, slots_y, .define, op_gatednorm),
    ROW("ScaledSiLU", a_silu, s_silu, slots_y, .define, op_scaledsilu),
    ROW("GemmaRotaryEmbedding", attrs_none, s_rotary, s_both, .expand, exp_gemmarotary),
    {0},
};
