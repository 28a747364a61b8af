/* TensorFlow Lite: convolutions and products of matrices. Their tensors have the channels last; they become Conv,
 * MatMul and their kin between two Transposes, of floats or of integers, and the latter a Requantize with a multiplier
 * for each channel. Hybrid ones (floats by weights of 8 bit) quantise their input in the run, row by row. */
#include "lower/ops/tflite.h"
#include <string.h>

/* ---- Requantize: sums to codes. Inputs: sums, multipliers, shifts (one each, or one for each channel: broadcast). */
static void op_requantize(void) {
    T x = in(0), m = in(1), s = in(2);
    X i = axes(shape(x));
    enum dtype t = out_type();
    E v = fixed_mul_by(at(x, i), at(m, bcast(m, i)), at(s, bcast(s, i)));
    struct bounds b = {int_attr("min"), int_attr("max")};
    out_quantized(t, i, v, int_attr("zero"), b);
}
/* The same in f64, as the reference kernel of FULLY_CONNECTED has it. Inputs: sums, factors. */
static void op_requantize_f64(void) {
    T x = in(0), f = in(1);
    X i = axes(shape(x));
    int64_t zero = int_attr("zero");
    E v = cast(I32, round_away(mul(cast(F64, at(x, i)), at(f, bcast(f, i)))));
    struct bounds b = {int_attr("min") - zero, int_attr("max") - zero};
    out(0, out_type(), i, add(clamped(v, b), typed(I32, (double)zero)));
}
static double ratio(int x, int w, int k) {
    return (double)quant_in(x).scale * channel_scale(w, k) / (double)quant_out(0).scale;
}
static bool scales_fit(int64_t n, int64_t oc) {
    if (n == 1 || n == oc) return true;
    return fail(E_SHAPE, "%lld scales for %lld output channels", (long long)n, (long long)oc), false;
}
/* The constants that multiply channel k of the sums by s_x * s_w[k] / s_y, shaped to stand before `after` axes. */
static void multipliers(int x, int w, int64_t oc, int after, V *multiplier, V *shift) {
    int64_t n = channels_of(w), dims[8] = {n, 1, 1, 1, 1, 1, 1, 1};
    struct tensor *m = n_tensor(I32, dims, n > 1 ? 1 + after : 0), *s = n_tensor(I32, dims, n > 1 ? 1 + after : 0);
    if (!scales_fit(n, oc)) return;
    for (int64_t k = 0; k < n; k++) {
        struct fixed f = fixed_of(ratio(x, w, (int)k));
        tensor_set_i(m, k, f.multiplier);
        tensor_set_i(s, k, f.shift);
    }
    *multiplier = n_const(m), *shift = n_const(s);
}
static V factors(int x, int w, int64_t oc) {
    int64_t n = channels_of(w);
    struct tensor *t = n_tensor(F64, &n, n > 1);
    if (!scales_fit(n, oc)) return NULL;
    for (int64_t k = 0; k < n; k++) tensor_set_f(t, k, ratio(x, w, (int)k));
    return n_const(t);
}
enum requantizing { IN_FIXED_POINT, IN_F64 };
static V requantized(V sums, int x, int w, int64_t oc, int after, enum requantizing how) {
    enum dtype t = out_type();
    struct quant q = quant_out(0);
    struct bounds b = fused_bounds(t, q);
    V m = NULL, s = NULL;
    if (fail_if(!(q.scale > 0) || !dtype_is_int(t) || !(quant_in(w).scale > 0), E_TYPE,
                "weights and result of a quantized operator must be quantized"))
        return sums;
    if (how == IN_F64) m = factors(x, w, oc);
    else multipliers(x, w, oc, after, &m, &s);
    if (!m) return sums;
    return own(how == IN_F64 ? "RequantizeF64" : "Requantize", (const V[]){sums, m, s}, how == IN_F64 ? 2 : 3,
               ATTRS(attr_int("out_type", dtype_onnx(t)), attr_int("zero", q.zero), attr_int("min", b.lo),
                     attr_int("max", b.hi)));
}

/* ---- hybrid: x (f32) as 8 bit codes of each row (all but axis 0), then sums of integers, then scales. */
struct hybrid {
    V codes, scale, zero; /* zero: NULL for symmetric ones; scale and zero: [rows] and a 1 for each other axis */
};
static struct hybrid quantized_rows(V x) {
    bool asymmetric = int_attr("asymmetric_quantize_inputs") != 0;
    struct node *n = n_node_in("tflite", "QuantizeRows", &x, 1, 3);
    node_set_attr(n, attr_int("asymmetric", asymmetric));
    def_infer(n->in->graph, n);
    return (struct hybrid){n->outs.v[0], n->outs.v[1], asymmetric ? n->outs.v[2] : NULL};
}
/* Each row by its greatest magnitude, or by its range with 0 in it. */
static void op_quantize_rows(void) {
    T x = in(0);
    bool asymmetric = int_attr("asymmetric") != 0;
    X i = axes(shape(x)), row = axes_named(list1(dim(x, 0)), "row");
    X rest = raxes(sub_list(shape(x), 1, rank(x) - 1), NULL), rest2 = raxes(sub_list(shape(x), 1, rank(x) - 1), NULL);
    X own_row = list1(i.v[0]), dims = list1(dim(x, 0));
    for (int k = 1; k < rank(x); k++) dims = push(dims, idx(1));
    X ones = axes(dims);
    T high = reduce("high", F32, row, RED_MAX, rest, at(x, cat(row, rest)), typed(F32, 0));
    T low = reduce("low", F32, row, RED_MIN, rest2, at(x, cat(row, rest2)), typed(F32, 0));
    if (!high || !low) return;
    E hi = at(high, row), lo = at(low, row);
    if (!asymmetric) {
        T range = stage("range", F32, row, max_(hi, neg(lo)));
        if (!range) return;
        E r = at(range, own_row), of_row = at(range, list1(ones.v[0]));
        E v = min_(max_(round_away(mul(at(x, i), div_(num(127), r))), num(-127)), num(127));
        out(0, I8, i, sel(eq(r, num(0)), num(0), v));
        out(1, F32, ones, sel(eq(of_row, num(0)), num(1), div_(of_row, num(127))));
        out(2, I32, ones, typed(I32, 0));
        return;
    }
    /* the zero point is the one of two candidates that errs least, rounded into the range of codes */
    E wide_hi = cast(F64, hi), wide_lo = cast(F64, lo), scale = div_(sub(wide_hi, wide_lo), typed(F64, 255));
    T s = stage("scale", F64, row, scale);
    if (!s) return;
    E sv = at(s, row), from_lo = sub(typed(F64, -128), div_(wide_lo, sv)),
      from_hi = sub(typed(F64, 127), div_(wide_hi, sv));
    E err_lo = add(typed(F64, 128), abs_(div_(wide_lo, sv))), err_hi = add(typed(F64, 127), abs_(div_(wide_hi, sv)));
    E z = sel(lt(err_lo, err_hi), from_lo, from_hi);
    E zero =
        sel(le(z, typed(F64, -128)), typed(F64, -128), sel(ge(z, typed(F64, 127)), typed(F64, 127), round_away(z)));
    T zs = stage("zero", I32, row, sel(eq(hi, lo), typed(I32, 0), cast(I32, zero)));
    T s32 = stage("scale32", F32, row, sel(eq(hi, lo), num(1), cast(F32, sv)));
    if (!zs || !s32) return;
    E scaled = add(cast(F32, at(zs, own_row)), mul(at(x, i), div_(num(1), at(s32, own_row))));
    out(0, I8, i, min_(max_(round_away(scaled), num(-128)), num(127)));
    out(1, F32, ones, at(s32, list1(ones.v[0])));
    out(2, I32, ones, at(zs, list1(ones.v[0])));
}
/* float = sum * row scale * channel scale. */
static V channel_scales(int w, int64_t oc, int after) {
    int64_t n = channels_of(w), dims[8] = {n, 1, 1, 1, 1, 1, 1, 1};
    struct tensor *t = n_tensor(F32, dims, n > 1 ? 1 + after : 0);
    scales_fit(n, oc);
    for (int64_t k = 0; k < n; k++) tensor_set_f(t, k, channel_scale(w, (int)k));
    return n_const(t);
}

/* ---- convolutions */
enum conv_kind { CONV, DEPTHWISE, TRANSPOSED };
static bool spatial_attrs(struct node *n, int spatial, bool dilated) {
    const char *const axes_of[] = {"d", "h", "w"};
    int64_t stride[3], dilation[3];
    for (int k = 0; k < spatial; k++) {
        const char *axis = axes_of[3 - spatial + k];
        char name[32];
        strcat(strcpy(name, "stride_"), axis);
        stride[k] = int_attr(name);
        strcat(strcat(strcpy(name, "dilation_"), axis), "_factor");
        dilation[k] = has_attr(name) && dilated ? int_attr(name) : 1;
        if (stride[k] < 1 || dilation[k] < 1) return fail(E_ATTR, "strides and dilations must be positive"), false;
    }
    node_set_attr(n, attr_ints("strides", stride, spatial));
    node_set_attr(n, attr_ints("dilations", dilation, spatial));
    return true;
}
static const char *padding(void) { return int_attr("padding") == 0 ? "SAME_UPPER" : "VALID"; }
/* Weights of TFLite to those of ONNX: [O, ..., I] to [O, I, ...], of depthwise ones [1, ..., O] to [O, 1, ...], of
 * transposed ones [O, ..., I] to [I, O, ...]. */
static V conv_weights(V w, enum conv_kind kind) {
    int n = v_rank(w);
    int64_t perm[8];
    if (kind == CONV) return channels_first(w);
    perm[0] = n - 1, perm[1] = 0;
    for (int k = 2; k < n; k++) perm[k] = k - 1;
    return transposed(w, perm, n);
}
struct sums {
    V x, w, bias;
    int at_x, at_w; /* their inputs of the node: for quantisation */
    int64_t group, channels;
    int spatial;
    const int64_t *shape; /* of a transposed convolution's result */
};
static struct node *conv_node(const struct sums *c, enum conv_kind kind, bool integers, V x) {
    const char *name = kind == TRANSPOSED ? "ConvTranspose" : "Conv";
    struct node *n = n_node_in(integers ? "tflite" : "", name, (const V[]){x, c->w, c->bias}, c->bias ? 3 : 2, 1);
    if (!spatial_attrs(n, c->spatial, kind != TRANSPOSED)) return NULL;
    node_set_attr(n, attr_str("auto_pad", padding()));
    node_set_attr(n, attr_int("group", c->group));
    if (kind == TRANSPOSED) node_set_attr(n, attr_ints("output_shape", c->shape, c->spatial));
    return n;
}
/* i64 sums where LiteRT has them: of i16 by i8, unless the bias is i32. */
static bool is_wide_sum(int at_x, V bias) { return dtype(in(at_x)) == I16 && !(bias && bias->type.dtype == I32); }
static V hybrid_conv(struct sums *c, enum conv_kind kind) {
    struct hybrid h = quantized_rows(c->x);
    V bias = c->bias;
    c->bias = NULL;
    if (h.zero) return fail(E_OP, "hybrid convolutions with asymmetric inputs are not supported"), NULL;
    V sum = n_inferred(conv_node(c, kind, true, h.codes));
    if (!sum) return NULL;
    V y = N_OP("Mul", N_OP("Mul", n_cast(sum, F32), h.scale), channel_scales(c->at_w, c->channels, c->spatial));
    int64_t ones[8] = {c->channels, 1, 1, 1, 1, 1, 1, 1};
    return bias ? N_OP("Add", y, reshaped_to(bias, ones, 1 + c->spatial)) : y;
}
static void convolve(struct sums *c, enum conv_kind kind) {
    bool floats = dtype(in(c->at_x)) == F32, weights_are_float = dtype_is_float(dtype(in(c->at_w)));
    V y;
    if (c->bias && floats && c->bias->type.dtype != F32) c->bias = n_cast(c->bias, F32);
    if (floats && weights_are_float) {
        c->w = n_cast(c->w, F32);
        y = n_inferred(conv_node(c, kind, false, c->x));
        if (y) y = activated(y);
    } else if (floats) {
        y = hybrid_conv(c, kind);
        if (y) y = activated(y);
    } else {
        bool wide = is_wide_sum(c->at_x, c->bias);
        struct node *n = conv_node(c, kind, true, c->x);
        if (!n) return;
        node_set_attr(n, attr_int("x_zero", quant_in(c->at_x).zero));
        node_set_attr(n, attr_int("w_zero", dtype(in(c->at_w)) == U8 ? quant_in(c->at_w).zero : 0));
        node_set_attr(n, attr_int("wide", wide));
        y = n_inferred(n);
        if (y) y = requantized(y, c->at_x, c->at_w, c->channels, c->spatial, IN_FIXED_POINT);
    }
    if (y) gout(0, channels_last(y));
}
static bool same_rank(int x, int w, int rank) {
    if (v_rank(gin(x)) == rank && v_rank(gin(w)) == rank) return true;
    return fail(E_RANK, "input of rank %d with weights of rank %d, not %d", v_rank(gin(x)), v_rank(gin(w)), rank),
           false;
}
static void conv_of_rank(int rank, enum conv_kind kind) {
    struct sums c = {.at_w = 1, .bias = gin(2), .spatial = rank - 2};
    int64_t in_channels, per;
    if (!same_rank(0, 1, rank)) return;
    int w_axis = kind == DEPTHWISE || (rank == 5 && kind == CONV) ? rank - 1 : 0;
    if (fail_if(!known_dim(gin(0), rank - 1, &in_channels) || !known_dim(gin(1), w_axis, &c.channels) ||
                    !known_dim(gin(1), rank == 5 ? rank - 2 : rank - 1, &per) || in_channels < 1 || per < 1,
                E_SHAPE, "the number of channels must be known and not 0"))
        return;
    c.group = kind == DEPTHWISE ? in_channels : in_channels / per;
    if (fail_if(kind == CONV && (in_channels % per || c.channels % c.group), E_SHAPE,
                "%lld input channels do not fit weights for %lld", (long long)in_channels, (long long)per))
        return;
    if (fail_if(kind == DEPTHWISE && (c.channels % in_channels != 0), E_SHAPE,
                "%lld output channels are no multiple of the %lld input channels", (long long)c.channels,
                (long long)in_channels))
        return;
    c.x = channels_first(gin(0));
    c.w = rank == 5 ? transposed(gin(1), (int64_t[]){4, 3, 0, 1, 2}, 5) : conv_weights(gin(1), kind);
    convolve(&c, kind);
}
static void op_conv_2d(void) { conv_of_rank(4, CONV); }
static void op_conv_3d(void) { conv_of_rank(5, CONV); }
static void op_depthwise(void) { conv_of_rank(4, DEPTHWISE); }
/* Inputs: the result's shape, weights, the input, a bias. */
static void op_transpose_conv(void) {
    int64_t shape[5], spatial[3];
    int rank = v_rank(gin(2)), n;
    struct sums c = {.at_x = 2, .at_w = 1, .bias = gin(3), .group = 1, .spatial = rank - 2, .shape = spatial};
    if ((rank != 4 && rank != 5) || !same_rank(2, 1, rank) || (n = const_ints(0, shape, 5)) < 0) return;
    if (fail_if(n != rank, E_SHAPE, "the shape of the result has %d sizes, not %d", n, rank)) return;
    for (int k = 0; k < rank - 2; k++) spatial[k] = shape[k + 1];
    if (fail_if(!known_dim(gin(1), rank == 5 ? 3 : 0, &c.channels), E_SHAPE,
                "the number of output channels must be known"))
        return;
    c.x = channels_first(gin(2));
    c.w = rank == 5 ? transposed(gin(1), (int64_t[]){4, 3, 0, 1, 2}, 5) : conv_weights(gin(1), TRANSPOSED);
    convolve(&c, TRANSPOSED);
}

/* ---- products of matrices */
/* Sums of (a - a_zero) * (b - b_zero) over a's last axis and b's last but one, batch axes broadcast; plus a bias. */
static void op_matmul_sums(void) {
    T a = in(0), b = in(1), bias = in(2);
    enum dtype t = int_attr("wide") ? I64 : I32;
    int ra = rank(a), rb = rank(b), nb = ra > rb ? ra - 2 : rb - 2;
    if (fail_if(ra < 2 || rb < 2, E_RANK, "operands of rank %d and %d", ra, rb)) return;
    require(eq(dim(a, ra - 1), dim(b, rb - 2)), "inner dimensions differ");
    X batch = list0();
    for (int k = 0; k < nb; k++) {
        int ka = k - nb + ra - 2, kb = k - nb + rb - 2;
        E da = ka >= 0 ? dim(a, ka) : idx(1), db = kb >= 0 ? dim(b, kb) : idx(1);
        batch = push(batch, x_is(da, 1) ? db : da);
        if (!x_is(da, 1) && !x_is(db, 1)) require(eq(da, db), "batches differ");
    }
    X o = axes(cat(batch, list2(dim(a, ra - 2), dim(b, rb - 1)))), ia = list0(), ib = list0();
    E k = raxis(dim(a, ra - 1), "k");
    for (int d = 0; d < ra - 2; d++) ia = push(ia, x_is(dim(a, d), 1) ? idx(0) : o.v[nb - (ra - 2) + d]);
    for (int d = 0; d < rb - 2; d++) ib = push(ib, x_is(dim(b, d), 1) ? idx(0) : o.v[nb - (rb - 2) + d]);
    ia = cat(ia, list2(o.v[nb], k));
    ib = cat(ib, list2(k, o.v[nb + 1]));
    E va = sub(at(a, ia), num((double)int_attr("x_zero"))), vb = sub(at(b, ib), num((double)int_attr("w_zero")));
    T y = reduce("acc", t, o, RED_SUM, list1(k), mul(va, vb), has(bias) ? at(bias, list1(o.v[nb + 1])) : NULL);
    if (y) out(0, t, o, at(y, o));
}
static V last_two_swapped(V v) {
    int64_t perm[X_MAX_LIST];
    int n = v_rank(v);
    for (int k = 0; k < n; k++) perm[k] = k < n - 2 ? k : 2 * n - 3 - k;
    return transposed(v, perm, n);
}
static V integer_product(int at_a, int at_b, V a, V b, V bias) {
    bool wide = is_wide_sum(at_a, bias);
    struct node *n = n_node_in("tflite", "MatMul", (const V[]){a, b, bias}, bias ? 3 : 2, 1);
    node_set_attr(n, attr_int("x_zero", quant_in(at_a).zero));
    node_set_attr(n, attr_int("w_zero", quant_in(at_b).zero));
    node_set_attr(n, attr_int("wide", wide));
    return n_inferred(n);
}
V hybrid_sums(V x, V w, V scales) {
    struct hybrid h = quantized_rows(x);
    V sum = n_inferred(n_node_in("tflite", "MatMul", (const V[]){h.codes, w}, 2, 1));
    if (!sum) return NULL;
    if (h.zero) { /* sum((q - zero) * w) = sum(q * w) - zero * sum(w) */
        V columns = N_WITH("ReduceSum", ATTRS(attr_int("keepdims", 1)), n_cast(w, I32), N_INTS(0));
        sum = N_OP("Sub", sum, N_OP("Mul", h.zero, columns));
    }
    return N_OP("Mul", n_cast(sum, F32), N_OP("Mul", h.scale, scales));
}
static void op_fully_connected(void) {
    V x = gin(0), w = gin(1), bias = gin(2), y;
    int64_t k, oc;
    if (fail_if(int_attr("weights_format"), E_OP, "shuffled weights are not supported")) return;
    if (fail_if(v_rank(w) != 2 || !known_dim(w, 1, &k) || !known_dim(w, 0, &oc) || k < 1, E_SHAPE,
                "weights must have two dimensions of known size"))
        return;
    bool keep = int_attr("keep_num_dims") && v_rank(x) > 2, flat = v_rank(x) != 2;
    V rows = flat ? reshaped_to(x, (int64_t[]){-1, k}, 2) : x;
    V wt = last_two_swapped(w);
    bool floats = dtype(in(0)) == F32, weights_are_float = dtype_is_float(dtype(in(1)));
    if (floats) {
        y = weights_are_float ? N_OP("MatMul", rows, n_cast(wt, F32)) : hybrid_sums(rows, wt, channel_scales(1, oc, 0));
        if (y && bias) y = N_OP("Add", y, n_cast(bias, F32));
        if (y) y = activated(y);
    } else {
        y = integer_product(0, 1, rows, wt, bias);
        if (y) y = requantized(y, 0, 1, oc, 0, IN_F64);
    }
    if (!y) return;
    if (keep) { /* [..., K] keeps its other axes */
        V lead = N_OP("Slice", N_OP("Shape", x), N_INTS(0), N_INTS(-1));
        y = N_OP("Reshape", y, N_WITH("Concat", ATTRS(attr_int("axis", 0)), lead, N_INTS(oc)));
    }
    gout(0, y);
}
static void op_batch_matmul(void) {
    V a = int_attr("adj_x") ? last_two_swapped(gin(0)) : gin(0),
      b = int_attr("adj_y") ? last_two_swapped(gin(1)) : gin(1);
    int64_t oc = 0;
    V y;
    if (fail_if(v_rank(a) < 2 || v_rank(b) < 2, E_RANK, "operands of rank %d and %d", v_rank(a), v_rank(b))) return;
    if (fail_if(dtype(in(0)) == F32 && dtype(in(1)) == I8, E_OP, "a hybrid BATCH_MATMUL is not supported")) return;
    if (!is_quantized(0)) {
        gout(0, N_OP("MatMul", a, b));
        return;
    }
    y = integer_product(0, 1, a, b, NULL);
    if (y) gout(0, requantized(y, 0, 1, oc, 0, IN_FIXED_POINT));
}

static const struct op_slot s_rows_out[] = {{"codes", TS_ANY, 0}, {"scale", TS_ANY, 0}, {"zero", TS_ANY, 0}, {0}},
                            s_requantize[] = {{"x", TSET(I32) | TSET(I64), 0},
                                              {"multiplier", TSET(I32), 0},
                                              {"shift", TSET(I32), 0},
                                              {0}},
                            s_requantize_f64[] = {{"x", TSET(I32) | TSET(I64), 0}, {"factor", TSET(F64), 0}, {0}};
#define INTS (T16 | TSET(I4) | TSET(I2) | TSET(U4))
static const struct op_slot s_matmul[] = {
    {"a", INTS, 0}, {"b", INTS, 0}, {"bias", TSET(I32) | TSET(I64), OPTIONAL}, {0}};
static const struct op_slot s_weighted[] = {{"x", TS_ANY, 0}, {"w", TS_ANY, 0}, {"bias", TS_ANY, OPTIONAL}, {0}};
static const struct op_slot s_transpose_conv[] = {
    {"shape", TSET(I32), 0}, {"w", TS_ANY, 0}, {"x", TS_ANY, 0}, {"bias", TS_ANY, OPTIONAL}, {0}};
const struct op ops_tflite_conv[] = {
    TFLITE("CONV_2D", s_weighted, op_conv_2d, "hybrid: symmetric inputs only"),
    TFLITE("CONV_3D", s_weighted, op_conv_3d, "floats"),
    TFLITE("DEPTHWISE_CONV_2D", s_weighted, op_depthwise, "depth_multiplier is that of the weights' shape"),
    TFLITE("TRANSPOSE_CONV", s_transpose_conv, op_transpose_conv, "the shape is a constant"),
    TFLITE("CONV_3D_TRANSPOSE", s_transpose_conv, op_transpose_conv, "floats; the shape is a constant"),
    TFLITE("FULLY_CONNECTED", s_weighted, op_fully_connected, "weights in plain order"),
    TFLITE("BATCH_MATMUL", tfl_any2, op_batch_matmul, "not hybrid"),
    DEFINED("Requantize", tfl_attrs, s_requantize, op_requantize,
            "LiteRT's MultiplyByQuantizedMultiplier: doubling high product and rounding shift, of i64 with 15 bits"),
    DEFINED("RequantizeF64", tfl_attrs, s_requantize_f64, op_requantize_f64,
            "round(sum * factor), halves away from zero"),
    DEFINED("MatMul", tfl_attrs, s_matmul, op_matmul_sums, "sums of products less zero points, wrapping"),
    {"tflite", "QuantizeRows", 1, 1, tfl_attrs, slots_f32, s_rows_out, .define = op_quantize_rows,
     .spec = "codes of each row by its own range, as hybrid operators take them"},
    {0},
};
