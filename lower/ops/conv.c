/* Convolutions: Conv, its integer and fused forms, ConvTranspose. Any number of spatial axes, groups, symbolic extents.
 */
#include "lower/ops/window.h"
#include <string.h>

static bool check_conv(T x, T w, int64_t group) {
    if (fail_if(rank(x) < 3 || rank(w) != rank(x), E_RANK, "input of rank %d with weights of rank %d", rank(x),
                rank(w)))
        return false;
    if (fail_if(group < 1, E_ATTR, "attribute \"group\" is %lld and must be positive", (long long)group)) return false;
    return true;
}
/* The sum of products over the group's input channels and the kernel; fx, fw are applied to the loaded factors. */
static bool conv_sum(E (*fx)(E v), E (*fw)(E v, E oc), E fill, enum dtype t, T x, T w, T bias, T *sum, X *o) {
    struct window g;
    int64_t group = int_attr("group");
    if (!check_conv(x, w, group) || !window_of(&g, x, kernel_of_weights(w), false)) return false;
    E oc = dim(w, 0), per = dim(w, 1);
    require(eq(dim(x, 1), mul(per, idx(group))),
            "the input has a number of channels that the weights and groups do not fit");
    require(multiple_of(oc, idx(group)), "the number of output channels is no multiple of the groups");
    if (has(bias)) require(eq(dim(bias, 0), oc), "there is not one bias for each output channel");
    *o = window_axes(cat(list2(dim(x, 0), oc), g.out), "n oc");
    X r = window_raxes(list1(per), g.kernel, "ic");
    E ic = group == 1 ? r.v[0] : add(mul(div_(o->v[1], div_(oc, idx(group))), per), r.v[0]);
    E v = at_or(x, cat(list2(o->v[0], ic), window_at(&g, *o, 2, r, 1)), fill), u = at(w, cat(list1(o->v[1]), r));
    if (fx) v = fx(v);
    if (fw) u = fw(u, o->v[1]);
    *sum = reduce("acc", t, *o, RED_SUM, r, mul(v, u), has(bias) ? at(bias, list1(o->v[1])) : NULL);
    return *sum != NULL;
}
static void op_conv(void) {
    T x = in(0), y;
    X o;
    if (conv_sum(NULL, NULL, num(0), acc(x), x, in(1), in(2), &y, &o)) out(0, dtype(x), o, at(y, o));
}
static int64_t groups_of(const struct node *n) {
    const struct attr *g = node_attr(n, "group");
    return g ? g->u.i : 1;
}
static bool conv_weights(const struct node *n, struct op_weights *w) {
    const struct attr *pads = node_attr(n, "pads"), *same = node_attr(n, "auto_pad");
    *w = (struct op_weights){.out = {0, 1}, .in = {1, groups_of(n)}};
    w->edges = same && same->u.s.n >= 4 && !memcmp(same->u.s.p, "SAME", 4);
    for (int k = 0; pads && k < pads->n; k++) w->edges |= pads->u.is[k] != 0;
    return true;
}
static int first_axis(const struct node *n) { return (void)n, 0; }
static const struct op_in_integers conv_integers = {
    .scaled_axis = first_axis,
    .quantized = {
        "", "QLinearConv", {Q_X, Q_X_SCALE, Q_X_ZERO, Q_W, Q_W_SCALE, Q_W_ZERO, Q_Y_SCALE, Q_Y_ZERO, Q_BIAS}}};
static bool transposed_weights(const struct node *n, struct op_weights *w) {
    *w = (struct op_weights){.out = {1, groups_of(n)}, .in = {-1, 1}, .edges = true};
    return true;
}
/* com.microsoft.FusedConv: activation(conv + Z). */
static void op_fusedconv(void) {
    T x = in(0), z = in(3), y;
    X o;
    const char *name = str_attr("activation");
    const float *p;
    double alpha, beta;
    int np = floats_attr("activation_params", &p);
    if (!conv_sum(NULL, NULL, num(0), acc(x), x, in(1), in(2), &y, &o)) return;
    E v = at(y, o);
    for (int k = 0; has(z) && k < rank(z); k++)
        require(eq(dim(z, k), dim(y, k)), "what is added differs from the result on axis %d", k);
    if (has(z)) v = add(v, at(z, o));
    activation_defaults(name, &alpha, &beta);
    if (np > 0) alpha = (double)p[0];
    if (np > 1) beta = (double)p[1];
    out(0, dtype(x), o, *name ? activation(name, v, alpha, beta) : v);
}
/* ConvInteger: the padding is the zero point, so that it counts as 0. */
static E x_less_zero(E v) { return has(in(2)) ? sub(v, scalar(in(2))) : v; }
static E w_less_zero(E v, E oc) {
    T z = in(3);
    if (!has(z)) return v;
    return sub(v, rank(z) == 0 || x_is(numel(z), 1) ? scalar(z) : at(z, list1(oc)));
}
static bool zero_is_known(T z, E *fill) {
    double v = 0;
    bool known = !has(z) || const_value(z, 0, &v);
    *fill = num(v);
    return known;
}
/* Does no window reach beyond the picture? */
static bool never_padded(void) {
    const int64_t *pads;
    const char *same = str_attr("auto_pad");
    if (*same && strcmp(same, "NOTSET")) return !strcmp(same, "VALID");
    for (int k = ints_attr("pads", &pads); k > 0; k--)
        if (pads[k - 1]) return false;
    return true;
}
/* The sum for operands of bytes; x and its zero point are the operands 0 and 2 of either operator. */
static bool byte_sum(E (*fw)(E v, E oc), T w, T bias, T *sum, X *o) {
    T x = in(0);
    E fill;
    if (zero_is_known(in(2), &fill) || never_padded()) return conv_sum(x_less_zero, fw, fill, I32, x, w, bias, sum, o);
    X i = axes(shape(x)); /* subtracted before padding: a fill must be a constant */
    return conv_sum(NULL, fw, num(0), I32, stage("centred", I32, i, x_less_zero(at(x, i))), w, bias, sum, o);
}
static void op_convinteger(void) {
    T y;
    X o;
    if (byte_sum(w_less_zero, in(1), NULL, &y, &o)) out(0, I32, o, at(y, o));
}

/* QLinearConv: x, x_scale, x_zero, w, w_scale, w_zero, y_scale, y_zero, bias in units of x_scale * w_scale. */
static E channel_value(T t, E oc) { /* one for all, or one for each channel */
    if (rank(t) == 0 || x_is(numel(t), 1)) return scalar(t);
    E n = dim(t, 0);
    int64_t known;
    return at(t, list1(const_int(n, &known) ? within(oc, n) : within(sel(eq(n, idx(1)), idx(0), oc), n)));
}
static void require_per_output(T t, T w) {
    if (rank(t) == 1 && !x_is(dim(t, 0), 1))
        require(eq(dim(t, 0), dim(w, 0)), "there is not one scale or zero point for each output channel");
}
static E qw_less_zero(E v, E oc) { return sub(v, channel_value(in(5), oc)); }
static void op_qlinearconv(void) {
    T y;
    X o;
    require_per_output(in(4), in(3));
    require_per_output(in(5), in(3));
    if (!byte_sum(qw_less_zero, in(3), in(8), &y, &o)) return;
    E scale = div_(mul(scalar(in(1)), channel_value(in(4), o.v[1])), scalar(in(6)));
    E v = rint_(mul(cast(F32, at(y, o)), scale));
    out(0, dtype(in(7)), o, cast(dtype(in(7)), add(v, cast(F32, scalar(in(7))))));
}

/* ---- ConvTranspose: the gradient of Conv, written as a gather: each output sums the inputs that reach it */
struct transposed {
    X out;
    E begin[SPATIAL_MAX];
};
static bool transposed_of(struct window *g, struct transposed *t, T x, X kernel) {
    const int64_t *extra, *want;
    int ne = ints_attr("output_padding", &extra), nw = ints_attr("output_shape", &want);
    const char *mode = str_attr("auto_pad");
    bool same = !strcmp(mode, "SAME_UPPER") || !strcmp(mode, "SAME_LOWER"), valid = !strcmp(mode, "VALID");
    if (!window_attrs(g, rank(x) - 2)) return false;
    if (fail_if((ne && ne != g->n) || (nw && nw != g->n && nw != g->n + 2), E_ATTR,
                "attributes \"output_padding\" or \"output_shape\" do not fit %d spatial axes", g->n))
        return false;
    t->out = list0();
    for (int k = 0; k < g->n; k++) {
        E s = idx(g->stride[k]), reach = add(mul(sub(kernel.v[k], idx(1)), idx(g->dilation[k])), idx(1));
        E full = add(add(mul(s, sub(dim(x, k + 2), idx(1))), reach), idx(ne ? extra[k] : 0)), o;
        if (nw || same) {
            o = nw ? idx(want[nw - g->n + k]) : mul(dim(x, k + 2), s);
            E total = max_(sub(full, o), idx(0)), half = div_(total, idx(2));
            t->begin[k] = !strcmp(mode, "SAME_UPPER") ? half : sub(total, half);
        } else {
            t->begin[k] = idx(valid ? 0 : window_pad_attr(k));
            o = sub(full, idx(valid ? 0 : window_pad_attr(k) + window_pad_attr(k + g->n)));
        }
        require(ge(o, idx(0)), "the pads are larger than the result on spatial axis %d", k);
        t->out = push(t->out, max_(o, idx(0)));
    }
    return true;
}
/* Along an axis of one cell each result has one tap, that of its own position; else most of them would be beside the
 * picture. */
static bool is_lone_cell(const struct window *g, const struct transposed *t, T x, X kernel, int k) {
    int64_t cells, taps, first, n;
    return const_int(dim(x, k + 2), &cells) && cells == 1 && g->dilation[k] == 1 && const_int(kernel.v[k], &taps) &&
           const_int(t->begin[k], &first) && const_int(t->out.v[k], &n) && first >= 0 && first + n <= taps;
}
static bool transposed_sum(E (*fx)(E v), E (*fw)(E v, E oc), E fill, enum dtype type, T x, T w, T b, T *sum,
                           X *at_out) {
    struct window g;
    struct transposed t;
    int64_t group = int_attr("group");
    if (!check_conv(x, w, group)) return false;
    X kernel = kernel_of_weights(w);
    if (!transposed_of(&g, &t, x, kernel)) return false;
    E per = dim(w, 1), ics = div_(dim(x, 1), idx(group));
    require(multiple_of(dim(x, 1), idx(group)), "the number of input channels is no multiple of the groups");
    require(eq(dim(x, 1), dim(w, 0)), "the input has a number of channels that the weights do not fit");
    if (has(b)) require(eq(dim(b, 0), mul(per, idx(group))), "there is not one bias for each output channel");
    X o = window_axes(cat(list2(dim(x, 0), mul(per, idx(group))), t.out), "n oc");
    /* with a stride only every s-th tap reaches an output: loops over those, instead of testing all */
    bool exact = true;
    X taps = list0();
    for (int k = 0; k < g.n; k++) {
        int64_t s = g.stride[k], n;
        if (is_lone_cell(&g, &t, x, kernel, k)) {
            taps = push(taps, idx(1));
            continue;
        }
        bool skip = s > 1 && g.dilation[k] == 1;
        exact &= !skip || (const_int(kernel.v[k], &n) && n % s == 0);
        taps = push(taps, skip ? div_(add(kernel.v[k], idx(s - 1)), idx(s)) : kernel.v[k]);
    }
    X r = window_raxes(list1(ics), taps, "ic"), tap = list0();
    E ic = group == 1 ? r.v[0] : add(mul(div_(o.v[1], per), ics), r.v[0]), hit = NULL;
    X from = list2(o.v[0], ic);
    for (int k = 0; k < g.n; k++) {
        E s = idx(g.stride[k]), at0 = add(o.v[k + 2], t.begin[k]);
        if (is_lone_cell(&g, &t, x, kernel, k)) {
            tap = push(tap, at0);
            from = push(from, r.v[k + 1]);
            continue;
        }
        if (g.stride[k] == 1) { /* a window that moves forward, over the taps in reverse order */
            E back = sub(sub(kernel.v[k], idx(1)), r.v[k + 1]);
            tap = push(tap, back);
            from = push(from, sub(at0, mul(back, idx(g.dilation[k]))));
            continue;
        }
        E p = sub(at0, mul(r.v[k + 1], idx(g.dilation[k])));
        if (g.stride[k] > 1 && g.dilation[k] == 1) {
            tap = push(tap, add(mul(r.v[k + 1], s), mod_(at0, s)));
            from = push(from, sub(div_(at0, s), r.v[k + 1]));
            continue;
        }
        E whole = eq(mod_(p, s), idx(0));
        hit = hit ? and_(hit, whole) : whole;
        tap = push(tap, r.v[k + 1]);
        from = push(from, div_(p, s));
    }
    E wi = group == 1 ? o.v[1] : mod_(o.v[1], per);
    int64_t known;
    if (group > 1 && !const_int(ics, &known)) ic = within(ic, dim(w, 0));
    X which = cat(list2(ic, wi), tap);
    E v = at_or(x, from, fill), u = exact ? at(w, which) : at_or(w, which, num(0));
    if (fx) v = fx(v);
    if (fw) u = fw(u, o.v[1]);
    v = mul(v, u); /* without a weight w is 0, but a zero point subtracted from it would count */
    *at_out = o;
    *sum = reduce("acc", type, o, RED_SUM, r, hit ? sel(hit, v, num(0)) : v, has(b) ? at(b, list1(o.v[1])) : NULL);
    return *sum != NULL;
}
static void op_convtranspose(void) {
    T x = in(0), y;
    X o;
    if (transposed_sum(NULL, NULL, num(0), acc(x), x, in(1), in(2), &y, &o)) out(0, dtype(x), o, at(y, o));
}

/* The sums of LiteRT's integer convolutions, i32 or i64: a bias in units of the sum, and one zero point each. */
static E zero_of_x(E v) { return sub(v, num((double)int_attr("x_zero"))); }
static E zero_of_w(E v, E oc) {
    (void)oc;
    return sub(v, num((double)int_attr("w_zero")));
}
static void integer_sums(bool (*sum)(E (*fx)(E v), E (*fw)(E v, E oc), E fill, enum dtype t, T x, T w, T bias, T *sum,
                                     X *o)) {
    enum dtype t = int_attr("wide") ? I64 : I32;
    E fill = num((double)int_attr("x_zero"));
    T y;
    X o;
    if (sum(zero_of_x, zero_of_w, fill, t, in(0), in(1), in(2), &y, &o)) out(0, t, o, at(y, o));
}
static void op_tflite_conv(void) { integer_sums(conv_sum); }
static void op_tflite_transposed(void) {
    if (int_attr("w_zero")) fail(E_ATTR, "weights of a transposed convolution with a zero point are not supported");
    else integer_sums(transposed_sum);
}

const struct op_attr attrs_conv[] = {CONV_ATTRS, {0}};
const struct op_attr attrs_fused_conv[] = {CONV_ATTRS, A_STRING("activation"), A_FLOATS("activation_params"), {0}};
static const struct op_attr a_trans[] = {CONV_ATTRS, A_INTS("output_padding"), A_INTS("output_shape"), {0}};
const struct op_slot slots_conv[] = {{"X", TS_FLOAT, 0}, {"W", TS_FLOAT, 0}, {"B", TS_FLOAT, OPTIONAL}, {0}};
const struct op_slot slots_fused_conv[] = {
    {"X", TS_FLOAT, 0}, {"W", TS_FLOAT, 0}, {"B", TS_FLOAT, OPTIONAL}, {"Z", TS_FLOAT, OPTIONAL}, {0}};
#define I8S (TSET(I8) | TSET(U8))
static const struct op_slot s_int[] = {
    {"x", I8S, 0}, {"w", I8S, 0}, {"x_zero_point", I8S, OPTIONAL}, {"w_zero_point", I8S, OPTIONAL}, {0}};
const struct op_slot slots_qlinear_conv[] = {{"x", I8S, 0},
                                             {"x_scale", TSET(F32), 0},
                                             {"x_zero_point", I8S, 0},
                                             {"w", I8S, 0},
                                             {"w_scale", TSET(F32), 0},
                                             {"w_zero_point", I8S, 0},
                                             {"y_scale", TSET(F32), 0},
                                             {"y_zero_point", I8S, 0},
                                             {"B", TSET(I32), OPTIONAL},
                                             {0}};
#define INT_ATTRS A_INT("x_zero"), A_INT("w_zero"), A_INT("wide")
static const struct op_attr a_tflite[] = {CONV_ATTRS, INT_ATTRS, {0}};
static const struct op_attr a_tflite_trans[] = {
    CONV_ATTRS, A_INTS("output_padding"), A_INTS("output_shape"), INT_ATTRS, {0}};
#define SMALL (I8S | TSET(I16) | TSET(I4) | TSET(U4) | TSET(I2))
static const struct op_slot s_tflite[] = {
    {"x", SMALL, 0}, {"w", SMALL, 0}, {"bias", TSET(I32) | TSET(I64), OPTIONAL}, {0}};
const struct op ops_conv[] = {
    {"", "Conv", 22, 1, attrs_conv, slots_conv, slots_y, .define = op_conv,
     .spec = "Conv-22; the bias is the sum's first term", .weights = conv_weights, .integers = &conv_integers},
    {"com.microsoft", "FusedConv", 1, 1, attrs_fused_conv, slots_fused_conv, slots_y, .define = op_fusedconv,
     .spec = "com.microsoft.FusedConv: activation(conv + Z)"},
    {"", "ConvInteger", 10, 10, attrs_conv, s_int, slots_y, .define = op_convinteger, .spec = "ConvInteger-10"},
    {"", "QLinearConv", 10, 10, attrs_conv, slots_qlinear_conv, slots_y, .define = op_qlinearconv,
     .spec = "QLinearConv-10; scales are combined in f32, rounding is before the zero point"},
    {"", "ConvTranspose", 22, 1, a_trans, slots_conv, slots_y, .define = op_convtranspose, .spec = "ConvTranspose-22",
     .weights = transposed_weights},
    {"tflite", "Conv", 1, 1, a_tflite, s_tflite, slots_y, .define = op_tflite_conv,
     .spec = "sums of products less zero points, i32 or (wide) i64, both wrapping"},
    {"tflite", "ConvTranspose", 1, 1, a_tflite_trans, s_tflite, slots_y, .define = op_tflite_transposed,
     .spec = "the same of a transposed convolution"},
    {0},
};
