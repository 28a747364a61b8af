/* TensorFlow Lite: what combines many elements: pools, reductions, softmax, norms, and resizing. Floats are ONNX's own;
 * integers are divided and rounded as LiteRT's reference kernels do it. */
#include "lower/ops/tflite.h"
#include "lower/ops/window.h"
#include <math.h>
#include <string.h>

/* ---- pools */
static struct node *pool_node(const char *op, V x, bool integers) {
    struct node *n = n_node_in(integers ? "tflite" : "", op, &x, 1, 1);
    int64_t kernel[2] = {int_attr("filter_height"), int_attr("filter_width")};
    int64_t stride[2] = {int_attr("stride_h"), int_attr("stride_w")};
    node_set_attr(n, attr_ints("kernel_shape", kernel, 2));
    node_set_attr(n, attr_ints("strides", stride, 2));
    node_set_attr(n, attr_str("auto_pad", int_attr("padding") == 0 ? "SAME_UPPER" : "VALID"));
    return n;
}
static bool is_image(V x) {
    if (v_rank(x) == 4) return true;
    return fail(E_RANK, "an input of rank %d, not 4", v_rank(x)), false;
}
/* The bounds of codes that a fused activation leaves. */
static V bounded(V y) {
    enum dtype t = y->type.dtype;
    struct bounds b = fused_bounds(t, quant_out(0)), all = type_bounds(t);
    if (b.lo == all.lo && b.hi == all.hi) return y;
    return N_OP("Clip", y, n_const_f(t, (double)b.lo), n_const_f(t, (double)b.hi));
}
static void exp_max_pool(void) {
    if (!is_image(gin(0))) return;
    V y = n_inferred(pool_node("MaxPool", channels_first(gin(0)), false));
    if (!y) return;
    y = is_quantized(0) ? bounded(y) : activated(y);
    gout(0, channels_last(y));
}
static void exp_average_pool(void) {
    if (!is_image(gin(0))) return;
    bool integers = is_quantized(0);
    V y = n_inferred(pool_node("AveragePool", channels_first(gin(0)), integers));
    if (!y) return;
    gout(0, channels_last(integers ? bounded(y) : activated(y)));
}
/* The root of the mean of squares: LpPool adds squares, of no more cells than there are. */
static void exp_l2_pool(void) {
    if (!is_image(gin(0))) return;
    V x = channels_first(gin(0)), y = n_inferred(pool_node("AveragePool", N_OP("Mul", x, x), false));
    if (y) gout(0, channels_last(activated(N_OP("Sqrt", y))));
}
/* Means of codes, rounded half away from zero; padding is not counted. */
static void op_average(void) {
    T x = in(0);
    struct window g;
    if (!window_of(&g, x, kernel_shape_attr(x), false)) return;
    X o = window_axes(cat(list2(dim(x, 0), dim(x, 1)), g.out), "n c"), r = window_raxes(list0(), g.kernel, "");
    T sum = reduce("sum", I32, o, RED_SUM, r, at_or(x, cat(list2(o.v[0], o.v[1]), window_at(&g, o, 2, r, 0)), num(0)),
                   NULL);
    if (!sum) return;
    E count = idx(1);
    for (int k = 0; k < g.n; k++) {
        E first = sub(mul(o.v[k + 2], idx(g.stride[k])), g.begin[k]), last = add(first, g.kernel.v[k]);
        count = mul(count, max_(sub(min_(last, g.in.v[k]), max_(first, idx(0))), idx(1)));
    }
    E v = at(sum, o), n = cast(I32, val(count)), half = div_(n, typed(I32, 2));
    out(0, dtype(x), o, sel(gt(v, typed(I32, 0)), div_(add(v, half), n), div_(sub(v, half), n)));
}

/* ---- reductions */
static V reduction(const char *op, V x) {
    struct node *n = n_node(op, (const V[]){x, int_vector(gin(1))}, 2, 1);
    node_set_attr(n, attr_int("keepdims", int_attr("keep_dims")));
    node_set_attr(n, attr_int("noop_with_empty_axes", 1));
    return n_inferred(n);
}
/* The sum of the codes less zero points, times the ratio of the scales (and a number's reciprocal for a mean). */
static void op_sum_of_codes(void) {
    T x = in(0);
    bool mean = int_attr("mean") != 0;
    const int64_t *axis;
    int n = ints_attr("axes", &axis);
    struct quant q = quant_in(0), y = quant_out(0);
    struct fixed f = fixed_of((double)q.scale / (double)y.scale);
    bool gone[X_MAX_LIST] = {false};
    int64_t count = 1, d;
    for (int k = 0; k < n; k++) {
        int a = norm_axis(axis[k], rank(x));
        if (a >= rank(x) || gone[a]) continue;
        if (fail_if(mean && !const_int(dim(x, a), &d), E_SHAPE,
                    "a mean of codes over an axis of open size is not supported"))
            return;
        gone[a] = true;
        if (mean) count *= d;
    }
    X kept = list0(), over = list0();
    for (int k = 0; k < rank(x); k++)
        if (gone[k]) over = push(over, dim(x, k));
        else kept = push(kept, dim(x, k));
    X o = axes(kept), r = raxes(over, NULL), at_x = list0();
    for (int k = 0, a = 0, b = 0; k < rank(x); k++) at_x = push(at_x, gone[k] ? r.v[b++] : o.v[a++]);
    T sum = reduce("sum", I32, o, RED_SUM, r, sub(at(x, at_x), num((double)q.zero)), NULL);
    if (!sum) return;
    if (mean && count > 0) { /* n goes into the multiplier, with as many bits as it has room for */
        int shift = 63 - __builtin_clzll((unsigned long long)count);
        if (shift > 32) shift = 32;
        if (shift > 31 + f.shift) shift = 31 + f.shift;
        f.multiplier = (int64_t)(((uint64_t)f.multiplier << shift) / (uint64_t)count);
        f.shift -= shift;
    }
    X to = list0();
    X full = list0();
    for (int k = 0; k < rank(x); k++) {
        if (!gone[k]) full = push(full, dim(x, k));
        else if (int_attr("keep_dims")) full = push(full, idx(1));
    }
    X i = axes(full);
    for (int k = 0, a = 0; k < rank(x); k++) {
        if (!gone[k]) to = push(to, i.v[a++]);
        else if (int_attr("keep_dims")) a++;
    }
    out_quantized(dtype(x), i, fixed_mul(at(sum, to), f), y.zero, type_bounds(dtype(x)));
}
static void codes_summed(bool mean) {
    if (!result_is_quantized()) return;
    int64_t axis[X_MAX_LIST];
    int n = const_ints(1, axis, X_MAX_LIST);
    if (n < 0) return;
    V x = gin(0);
    gout(0, own_alike("SumOfCodes", &x, 1, ATTRS(attr_ints("axes", axis, n), attr_int("mean", mean))));
}
static void exp_mean(void) {
    if (is_quantized(0) && dtype_bits(dtype(in(0))) <= 16) codes_summed(true);
    else gout(0, reduction("ReduceMean", gin(0)));
}
static void exp_sum(void) {
    if (is_quantized(0) && dtype_bits(dtype(in(0))) <= 16) codes_summed(false);
    else gout(0, reduction("ReduceSum", gin(0)));
}
static void exp_prod(void) {
    if (is_quantized(0)) fail(E_OP, "REDUCE_PROD of quantized tensors is not supported");
    else gout(0, reduction("ReduceProd", gin(0)));
}
static void exp_reduce_max(void) { gout(0, reduction("ReduceMax", gin(0))); }
static void exp_reduce_min(void) { gout(0, reduction("ReduceMin", gin(0))); }
/* any and all: the greatest and the least of 0 and 1 */
static void exp_any(void) { gout(0, n_cast(reduction("ReduceMax", n_cast(gin(0), U8)), BOOL)); }
static void exp_all(void) { gout(0, n_cast(reduction("ReduceMin", n_cast(gin(0), U8)), BOOL)); }
static void arg(const char *op) {
    int64_t axis;
    if (const_ints(1, &axis, 1) != 1) return;
    enum dtype t = out_type() == NONE ? I64 : out_type();
    V y = N_WITH(op, ATTRS(attr_int("axis", axis), attr_int("keepdims", 0)), gin(0));
    gout(0, n_cast(y, t));
}
static void exp_arg_max(void) { arg("ArgMax"); }
static void exp_arg_min(void) { arg("ArgMin"); }
static void exp_cumsum(void) {
    V axis = gin(1);
    if (v_rank(axis) == 1) axis = reshaped_to(axis, NULL, 0);
    gout(0,
         N_WITH("CumSum", ATTRS(attr_int("exclusive", int_attr("exclusive")), attr_int("reverse", int_attr("reverse"))),
                gin(0), axis));
}

/* ---- softmax */
enum { SOFTMAX_BITS = 5 };
/* The multiplier that brings differences of codes to 26 fractional bits, and the least difference that counts. */
static struct fixed softmax_scale(double beta, int64_t *least_difference) {
    double real = beta * (double)quant_in(0).scale * (1 << (31 - SOFTMAX_BITS));
    struct fixed f = fixed_of(real < 2147483647.0 ? real : 2147483647.0);
    *least_difference = -(int64_t)floor(((1 << SOFTMAX_BITS) - 1) * ldexp(1, 31 - SOFTMAX_BITS) / ldexp(1, f.shift));
    return f;
}
/* exp(-k * scale * beta) for each difference k of two codes, with 31 bits: what exp_negative folds to. */
static V exp_table(void) {
    int64_t least_difference;
    struct fixed f = softmax_scale(has_attr("beta") ? float_attr("beta") : 0, &least_difference);
    struct tensor *t = n_tensor(I32, (int64_t[]){256}, 1);
    for (int64_t k = 0; k < 256; k++) {
        E v = -k < least_difference ? typed(I32, 0) : exp_negative(fixed_mul(typed(I32, (double)-k), f));
        if (v->op != X_CONST) BUG("the exponential of a number is none");
        tensor_set_i(t, k, v->u.i);
    }
    return n_const(t);
}
static void op_softmax(void) {
    T x = in(0), table = in(1);
    int last = rank(x) - 1;
    enum dtype t = out_type() == NONE ? dtype(x) : out_type();
    X i = axes(shape(x)), o = axes(sub_list(shape(x), 0, last)), lead = sub_list(i, 0, last);
    E r = raxis(dim(x, last), "c"), r2 = raxis(dim(x, last), "c");
    T most = reduce("most", I32, o, RED_MAX, list1(r), at(x, push(o, r)), NULL);
    if (!most) return;
    E gap = sub(at(most, o), at(x, push(o, r2)));
    E one = rounding_shift(at(table, list1(wrap_index(cast(I64, gap), dim(table, 0)))), typed(I32, 12));
    T sum = reduce("sum", I32, o, RED_SUM, list1(r2), one, NULL);
    if (!sum) return;
    E s = max_(at(sum, o), typed(I32, 1)), head = leading_zeros(s);
    T zeros_ = stage("head", I32, o, head);
    T scale = stage("scale", I32, o, reciprocal_above_one(xor_(shl_(s, head), typed(I32, INT32_MIN))));
    if (!scale || !zeros_) return;
    E e = at(table, list1(wrap_index(cast(I64, sub(at(most, lead), at(x, i))), dim(table, 0))));
    E exponent = sub(typed(I32, 12 + 31 - dtype_bits(t)), at(zeros_, lead));
    E v = rounding_shift(high_mul(at(scale, lead), e), max_(exponent, typed(I32, 0)));
    out_quantized(t, i, v, type_bounds(t).lo, type_bounds(t));
}
/* Of i16: tables of exp(x) for -10..0 and of 1 / (1 + x) for 0..1, straight lines between 513 entries. */
static E line16(T table, E v) {
    E k = add(shr_(v, typed(I32, 7)), typed(I32, 256));
    E a = at(table, list1(wrap_index(cast(I64, k), dim(table, 0))));
    E b = at(table, list1(wrap_index(cast(I64, add(k, typed(I32, 1))), dim(table, 0))));
    E slope = mul(cast(I16, sub(b, a)), and_(v, typed(I32, 127)));
    return add(a, shr_(add(slope, typed(I32, 64)), typed(I32, 7)));
}
static void op_softmax16(void) {
    T x = in(0), exps = in(1), inverses = in(2);
    int last = rank(x) - 1;
    X i = axes(shape(x)), o = axes(sub_list(shape(x), 0, last)), lead = sub_list(i, 0, last);
    E r = raxis(dim(x, last), "c"), r2 = raxis(dim(x, last), "c"), zero = typed(I32, 0), one = typed(I32, 1);
    float beta = (float)float_attr("beta");
    struct fixed f = fixed_of((double)(quant_in(0).scale * beta) / (10.0 / 65535.0));
    struct bounds b = type_bounds(I16);
    T most = reduce("most", I32, o, RED_MAX, list1(r), at(x, push(o, r)), NULL);
    if (!most) return;
    E scaled = fixed_mul(sub(at(x, i), at(most, lead)), f);
    T e = stage("exp", I32, i, line16(exps, clamped(add(scaled, typed(I32, 32767)), b)));
    if (!e) return;
    T sum = reduce("sum", I32, o, RED_SUM, list1(r2), at(e, push(o, r2)), NULL);
    if (!sum) return;
    E s = max_(at(sum, o), one), head = leading_zeros(s);
    E wide = shl_(cast(I64, s), cast(I64, sub(head, one)));
    E top = cast(I32, shr_(add(wide, typed(I64, 1 << 13)), typed(I64, 14)));
    T inverse = stage("inverse", I32, o, line16(inverses, clamped(sub(top, typed(I32, (1 << 15) + (1 << 16))), b)));
    T shift = stage("shift", I32, o, sub(typed(I32, 31), head));
    if (!inverse || !shift) return;
    E n = cast(I64, at(shift, lead));
    E v = mul(cast(I64, at(e, i)), cast(I64, at(inverse, lead)));
    v = cast(I32, shr_(add(v, shl_(typed(I64, 1), sub(n, typed(I64, 1)))), n));
    out(0, I16, i, min_(max_(v, zero), typed(I32, 32767)));
}
static double f64_exp(double v) { return exp(v); }
static double f64_inverse(double v) { return 1 / (1 + v); }
static V table16(double in_scale, int64_t in_zero, double out_scale, double (*f)(double v)) {
    struct tensor *t = n_tensor(I16, (int64_t[]){513}, 1);
    double lo = in_scale * (double)(INT16_MIN - in_zero), hi = in_scale * (double)(INT16_MAX - in_zero);
    double step = (hi - lo) / 512, inverse = 65536 / (out_scale * INT16_MAX - out_scale * INT16_MIN);
    for (int k = 0; k <= 512; k++) {
        double v = f(k == 512 ? hi : lo + k * step), sample = round(v * inverse);
        if (k < 512) {
            double next = f(lo + (k + 1) * step), middle = f(lo + k * step + step / 2);
            sample -= round((round((next * inverse + sample) / 2) - round(middle * inverse)) / 2);
        }
        tensor_set_i(t, k, sample > INT16_MAX ? INT16_MAX : sample < INT16_MIN ? INT16_MIN : (int64_t)sample);
    }
    return n_const(t);
}
static void exp_softmax(void) {
    enum dtype t = dtype(in(0));
    float beta = (float)float_attr("beta");
    if (!is_quantized(0)) {
        V x = gin(0);
        if (beta != 1.0f) x = N_OP("Mul", x, n_const_f(x->type.dtype, (double)beta));
        gout(0, N_WITH("Softmax", ATTRS(attr_int("axis", -1)), x));
        return;
    }
    if (fail_if(v_rank(gin(0)) < 1, E_RANK, "softmax of a scalar")) return;
    if (dtype_bits(t) == 8) gout(0, own_alike("Softmax", (const V[]){gin(0), exp_table()}, 2, NULL, 0));
    else if (t == I16 && out_type() == I16)
        gout(0, own_alike("Softmax16",
                          (const V[]){gin(0), table16(10.0 / 65535, INT16_MAX, 2.0 / 65535, f64_exp),
                                      table16(1.0 / 65535, INT16_MIN, 2.0 / 65535, f64_inverse)},
                          3, NULL, 0));
    else fail(E_TYPE, "softmax of %s is not supported", dtype_name(t));
}
static void exp_log_softmax(void) {
    if (is_quantized(0)) fail(E_OP, "LOG_SOFTMAX of quantized tensors is not supported");
    else gout(0, N_WITH("LogSoftmax", ATTRS(attr_int("axis", -1)), gin(0)));
}

/* ---- norms */
static void exp_l2_norm(void) {
    V x = gin(0);
    if (is_quantized(0)) {
        become("L2Norm");
        return;
    }
    V sum = N_WITH("ReduceSum", ATTRS(attr_int("keepdims", 1)), N_OP("Mul", x, x), N_INTS(-1));
    V root = N_OP("Max", N_OP("Sqrt", sum), n_const_f(x->type.dtype, 1e-6f));
    gout(0, activated(N_OP("Div", x, root)));
}
/* 1 / sqrt(v) as multiplier and shift: five steps of Newton from 1, with 28 fractional bits. */
static E inverse_root(E v, E *shift) {
    E one = typed(I32, 1), two = typed(I32, 2), n = typed(I32, 11), x = max_(v, two);
    E big = ge(x, typed(I32, 1 << 29)); /* once is enough: an i32 is less than 2^31 */
    x = sel(big, shr_(x, two), x);
    n = sel(big, add(n, one), n);
    E pairs = sub(shr_(sub(leading_zeros(x), one), one), one);
    x = shl_(x, shl_(pairs, one));
    n = sub(n, pairs);
    E half = rounding_shift(shr_(x, one), one), y = typed(I32, 1 << 28),
      three_halves = typed(I32, (1 << 28) + (1 << 27));
    for (int k = 0; k < 5; k++) {
        E cube = saturating_shl(high_mul(high_mul(y, y), y), 6);
        y = saturating_shl(sub(high_mul(three_halves, y), high_mul(half, cube)), 3);
    }
    y = high_mul(y, typed(I32, 1518500250)); /* sqrt(1/2) */
    E extra = max_(neg(n), typed(I32, 0)), small = le(v, one);
    *shift = sel(small, typed(I32, 0), neg(max_(n, typed(I32, 0))));
    return sel(small, typed(I32, INT32_MAX), shl_(y, extra));
}
static void op_l2_norm(void) {
    T x = in(0);
    int last = rank(x) - 1;
    enum dtype t = dtype(x);
    E zero = num((double)quant_in(0).zero), r = raxis(dim(x, last), "c");
    X i = axes(shape(x)), o = axes(sub_list(shape(x), 0, last)), lead = sub_list(i, 0, last);
    E d = sub(at(x, push(o, r)), zero), s;
    T sum = reduce("sum", I32, o, RED_SUM, list1(r), mul(d, d), NULL);
    if (!sum) return;
    E m = inverse_root(at(sum, o), &s);
    T multiplier = stage("multiplier", I32, o, m), shift = stage("shift", I32, o, s);
    if (!multiplier || !shift) return;
    E v = sub(at(x, i), zero), by = at(multiplier, lead), n = at(shift, lead);
    v = t == U8 ? fixed_mul_by(mul(v, typed(I32, 128)), by, n) : fixed_mul_by(v, by, add(n, typed(I32, 7)));
    out_quantized(t, i, v, t == U8 ? 128 : 0, type_bounds(t));
}
/* x / (bias + alpha * sum of squares of the neighbours)^beta. The neighbours are those of LiteRT: c - radius and on,
 * less than c + radius. */
static void op_lrn(void) {
    T x = in(0);
    int64_t radius = int_attr("radius");
    int last = rank(x) - 1;
    if (fail_if(radius < 0 || radius > 1 << 20 || last < 0, E_ATTR, "radius %lld of a tensor of rank %d",
                (long long)radius, rank(x)))
        return;
    X i = axes(shape(x)), o = axes(shape(x)), lead = sub_list(o, 0, last);
    E r = raxis(idx(2 * radius), "near"), v = at_or(x, push(lead, add(o.v[last], sub(r, idx(radius)))), num(0));
    T sum = reduce("sum", F32, o, RED_SUM, list1(r), mul(v, v), NULL);
    if (!sum) return;
    E base = add(num(float_attr("bias")), mul(num(float_attr("alpha")), at(sum, i)));
    out(0, F32, i, mul(at(x, i), fn2("pow", base, num(-float_attr("beta")))));
}

/* ---- resizing: [N, H, W, C] to the sizes in input 1 */
struct line {         /* one axis of the result */
    E from, to, part; /* neighbours, and how far between them in 1024ths or as f32 */
};
static E size_ratio(E in, E out, bool corners) { /* in 1024ths, rounded */
    E one = idx(1), a = sub(in, one), b = max_(sub(out, one), one);
    E plain = div_(add(mul(idx(1024), in), div_(out, idx(2))), max_(out, one));
    return corners ? sel(gt(out, one), div_(add(mul(idx(1024), a), div_(b, idx(2))), b), plain) : plain;
}
static struct line line_integer(E i, E in, E out) {
    E ratio = size_ratio(in, out, int_attr("align_corners") != 0), v = mul(i, ratio);
    if (int_attr("half_pixel_centers")) v = sub(add(v, div_(ratio, idx(2))), idx(512));
    E whole = div_(max_(v, idx(0)), idx(1024));
    struct line l = {clampi(whole, idx(0), sub(in, idx(1))),
                     clampi(div_(add(v, idx(1023)), idx(1024)), idx(0), sub(in, idx(1))), NULL};
    l.part = sub(v, mul(idx(1024), whole));
    return l;
}
static struct line line_float(E i, E in, E out) {
    E fi = cast(F32, val(in)), fo = cast(F32, val(out)), one = num(1), v = cast(F32, val(i));
    E ratio = div_(fi, fo);
    if (int_attr("align_corners")) ratio = sel(gt(out, idx(1)), div_(sub(fi, one), sub(fo, one)), ratio);
    v = int_attr("half_pixel_centers") ? sub(mul(add(v, num(0.5)), ratio), num(0.5)) : mul(v, ratio);
    E low = max_(floor_(v), num(0)), high = min_(ceil_(v), sub(fi, one));
    struct line l = {clampi(index_of(cast(I64, low)), idx(0), sub(in, idx(1))),
                     clampi(index_of(cast(I64, max_(high, num(0)))), idx(0), sub(in, idx(1))), sub(v, low)};
    return l;
}
static E nearest(E i, E in, E out) {
    E fi = cast(F32, val(in)), fo = cast(F32, val(out)), one = num(1), v = cast(F32, val(i));
    bool corners = int_attr("align_corners") != 0, half = int_attr("half_pixel_centers") != 0;
    E ratio = div_(fi, fo);
    if (corners) ratio = sel(gt(out, idx(1)), div_(sub(fi, one), sub(fo, one)), ratio);
    v = mul(half ? add(v, num(0.5)) : v, ratio);
    v = corners ? round_away(v) : floor_(v);
    return clampi(index_of(cast(I64, v)), idx(0), sub(in, idx(1)));
}
static bool resized_axes(T x, X *o, E *height, E *width) {
    T size = in(1);
    if (rank(x) != 4 || count_of(size) != 2) return fail(E_SHAPE, "resizing takes an image and two sizes"), false;
    E h = *height = value(size, 0, 0, DIM_MAX), w = *width = value(size, 1, 0, DIM_MAX);
    require(and_(gt(dim(x, 1), idx(0)), gt(dim(x, 2), idx(0))), "an image without pixels cannot be resized");
    *o = axes_named(cat(list3(dim(x, 0), h, w), list1(dim(x, 3))), "n oh ow c");
    return true;
}
static void op_resize_nearest(void) {
    T x = in(0);
    X o;
    E height, width;
    if (!resized_axes(x, &o, &height, &width)) return;
    E h = nearest(o.v[1], dim(x, 1), height), w = nearest(o.v[2], dim(x, 2), width);
    out(0, dtype(x), o, at(x, cat(list3(o.v[0], h, w), list1(o.v[3]))));
}
static void op_resize_bilinear(void) {
    T x = in(0);
    X o;
    E height, width;
    if (!resized_axes(x, &o, &height, &width)) return;
    bool ints = dtype(x) == I8 || dtype(x) == I16;
    struct line h = (ints ? line_integer : line_float)(o.v[1], dim(x, 1), height);
    struct line w = (ints ? line_integer : line_float)(o.v[2], dim(x, 2), width);
    E corner[4], ys[2] = {h.from, h.to}, ws[2] = {w.from, w.to}, v;
    for (int k = 0; k < 4; k++) corner[k] = at(x, cat(list3(o.v[0], ys[k % 2], ws[k / 2]), list1(o.v[3])));
    if (ints) {
        E py = val(h.part), px = val(w.part), whole = typed(I64, 1024), qy = sub(whole, py), qx = sub(whole, px);
        E a = mul(mul(cast(I64, corner[0]), qy), qx), b = mul(mul(cast(I64, corner[1]), py), qx);
        E c = mul(mul(cast(I64, corner[2]), qy), px), d = mul(mul(cast(I64, corner[3]), py), px);
        v = add(add(a, b), add(c, d));
        E half = typed(I64, 1 << 19), r = sel(gt(v, typed(I64, 0)), half, neg(half));
        out(0, dtype(x), o, cast(I32, div_(add(v, r), typed(I64, 1 << 20))));
        return;
    }
    E one = num(1), qy = sub(one, h.part), qx = sub(one, w.part);
    for (int k = 0; k < 4; k++) corner[k] = cast(F32, corner[k]);
    v = add(mul(mul(corner[0], qy), qx), mul(mul(corner[1], h.part), qx));
    v = add(add(v, mul(mul(corner[2], qy), w.part)), mul(mul(corner[3], h.part), w.part));
    out(0, dtype(x), o, dtype(x) == F32 ? v : cast(dtype(x), trunc_(add(v, num(0.5)))));
}

static const struct op_attr a_pool[] = {A_STRING("auto_pad", .s = "NOTSET"), {0}};
static const struct op_slot s_codes[] = {{"x", T16, 0}, {0}}, s_sum[] = {{"x", T16 | TSET(I32), 0}, {0}},
                            s_softmax[] = {{"x", T8, 0}, {"table", TSET(I32), 0}, {0}},
                            s_softmax16[] = {{"x", TSET(I16), 0},
                                             {"exp", TSET(I16), 0},
                                             {"inverse", TSET(I16), 0},
                                             {0}},
                            s_resize[] = {{"x", TS_REAL, 0}, {"size", TS_INDEX, 0}, {0}};
const struct op ops_tflite_reduce[] = {
    TFLITE("MAX_POOL_2D", tfl_any1, exp_max_pool, "as ONNX, channels last"),
    TFLITE("AVERAGE_POOL_2D", tfl_any1, exp_average_pool, "codes: halves away from zero"),
    TFLITE("L2_POOL_2D", tfl_any1, exp_l2_pool, "padding is not counted"),
    TFLITE("MEAN", tfl_any2, exp_mean, "codes: constant axes, the number is part of the multiplier"),
    TFLITE("SUM", tfl_any2, exp_sum, "codes: constant axes; LiteRT's reference takes i8 for u8, this does not"),
    TFLITE("REDUCE_PROD", tfl_any2, exp_prod, "not of codes"),
    TFLITE("REDUCE_MAX", tfl_any2, exp_reduce_max, "as ONNX"),
    TFLITE("REDUCE_MIN", tfl_any2, exp_reduce_min, "as ONNX"),
    TFLITE("REDUCE_ANY", tfl_any2, exp_any, "as ReduceMax of 0 and 1"),
    TFLITE("REDUCE_ALL", tfl_any2, exp_all, "as ReduceMin of 0 and 1"),
    TFLITE("ARG_MAX", tfl_any2, exp_arg_max, "constant axis"),
    TFLITE("ARG_MIN", tfl_any2, exp_arg_min, "constant axis"),
    TFLITE("CUMSUM", tfl_any2, exp_cumsum, "as ONNX"),
    TFLITE("SOFTMAX", tfl_any1, exp_softmax, "codes: fixed point as LiteRT's reference kernel"),
    TFLITE("LOG_SOFTMAX", tfl_any1, exp_log_softmax, "not of codes"),
    TFLITE("L2_NORMALIZATION", tfl_any1, exp_l2_norm, "codes: fixed point as LiteRT's reference kernel"),
    BY_NAME("LOCAL_RESPONSE_NORMALIZATION", tfl_any1, exp_as_own, "Lrn", "the last neighbour is c + radius - 1"),
    BY_NAME("RESIZE_BILINEAR", tfl_any2, exp_as_own, "ResizeBilinear", "i8, i16: in 1024ths; else in f32"),
    BY_NAME("RESIZE_NEAREST_NEIGHBOR", tfl_any2, exp_as_own, "ResizeNearest", "positions in f32"),
    DEFINED("AveragePool", a_pool, s_codes, op_average, "halves away from zero"),
    DEFINED("SumOfCodes", tfl_attrs, s_sum, op_sum_of_codes, "fixed point as LiteRT's reference kernel"),
    DEFINED("Softmax", tfl_attrs, s_softmax, op_softmax, "fixed point as LiteRT's reference kernel"),
    DEFINED("Softmax16", tfl_attrs, s_softmax16, op_softmax16, "fixed point as LiteRT's reference kernel"),
    DEFINED("L2Norm", tfl_attrs, s_codes, op_l2_norm, "fixed point as LiteRT's reference kernel"),
    DEFINED("Lrn", tfl_attrs, slots_f32, op_lrn, "the last neighbour is c + radius - 1"),
    DEFINED("ResizeNearest", tfl_attrs, s_resize, op_resize_nearest, "positions in f32"),
    DEFINED("ResizeBilinear", tfl_attrs, s_resize, op_resize_bilinear, "i8, i16: in 1024ths; else in f32"),
    {0},
};
