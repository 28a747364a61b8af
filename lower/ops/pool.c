/* Pools and neighbourhood sums: MaxPool, AveragePool, LpPool, their global forms, LRN. */
#include "lower/ops/window.h"

/* The kernel positions that can lie on the input; later ones find nothing there, wherever a window begins (a pool as
 * large as the model's input, over rounded up sizes). */
static X taps(const struct window *g) {
    X all = g->kernel;
    for (int k = 0; k < g->n; k++) {
        int64_t kernel, reached;
        E most = ceil_div(add(g->in.v[k], g->begin[k]), idx(g->dilation[k]));
        if (const_int(all.v[k], &kernel) && const_int(most, &reached) && reached >= 1 && reached < kernel)
            all = put(all, k, most);
    }
    return window_raxes(list0(), all, "");
}
static E in_range(X p, const struct window *g) {
    E c = eq(idx(0), idx(0));
    for (int k = 0; k < g->n; k++) c = and_(c, and_(le(idx(0), p.v[k]), lt(p.v[k], g->in.v[k])));
    return c;
}
/* Position in the whole tensor of the first cell of the window that equals the maximum; the first cell if all are NaN,
 * which equals nothing. */
static void pool_indices(T x, T m, const struct window *g, X dims) {
    X o = window_axes(dims, "n c"), r = taps(g);
    X p = window_at(g, o, 2, r, 0), lead = list2(o.v[0], o.v[1]), where = cat(lead, p), size = shape(x);
    E flat = flatten_index(where, size);
    if (int_attr("storage_order")) { /* spatial axes column-major */
        E f = add(mul(o.v[0], dim(x, 1)), o.v[1]);
        for (int k = g->n; k--;) f = add(mul(f, g->in.v[k]), p.v[k]);
        flat = f;
    }
    E none = greatest(I64), behind = typed(I64, 0x1p62), place = val(flat);
    E v = at_or(x, where, least(dtype_value(dtype(x))));
    E here = sel(in_range(p, g), sel(eq(v, at(m, o)), place, add(place, behind)), none);
    T first = reduce("first", I64, o, RED_MIN, r, here, none);
    if (!first) return;
    X i = axes(dims);
    out(1, I64, i, sel(ge(at(first, i), behind), sub(at(first, i), behind), at(first, i)));
}
static void op_maxpool(void) {
    T x = in(0);
    struct window g;
    if (!window_of(&g, x, kernel_shape_attr(x), int_attr("ceil_mode"))) return;
    X dims = cat(list2(dim(x, 0), dim(x, 1)), g.out), o = window_axes(dims, "n c"), r = taps(&g);
    E v = at_or(x, cat(list2(o.v[0], o.v[1]), window_at(&g, o, 2, r, 0)), least(dtype_value(dtype(x))));
    out_reduce(0, dtype(x), o, RED_MAX, r, v, NULL);
    if (n_out() > 1) pool_indices(x, result(0, dtype(x), dims), &g, dims);
}
/* How many kernel positions k of a window starting at `start` lie in from..to-1. */
static E hits(E start, E from, E to, E kernel, int64_t dilation) {
    E d = idx(dilation), first = max_(ceil_div(sub(from, start), d), idx(0)),
      last = min_(ceil_div(sub(to, start), d), kernel);
    return sub(last, first);
}
static void op_averagepool(void) {
    T x = in(0);
    struct window g;
    if (!window_of(&g, x, kernel_shape_attr(x), int_attr("ceil_mode"))) return;
    X o = window_axes(cat(list2(dim(x, 0), dim(x, 1)), g.out), "n c"), r = taps(&g);
    bool padded = int_attr("count_include_pad");
    T s = reduce("sum", acc(x), o, RED_SUM, r, at_or(x, cat(list2(o.v[0], o.v[1]), window_at(&g, o, 2, r, 0)), num(0)),
                 NULL);
    if (!s) return;
    E count = idx(1);
    for (int k = 0; k < g.n; k++) {
        E start = sub(mul(o.v[k + 2], idx(g.stride[k])), g.begin[k]);
        E from = padded ? neg(g.begin[k]) : idx(0), to = padded ? add(g.in.v[k], g.end[k]) : g.in.v[k];
        count = mul(count, hits(start, from, to, g.kernel.v[k], g.dilation[k]));
    }
    out(0, dtype(x), o, div_(at(s, o), cast(dtype_value(acc(x)), val(count))));
}
static E norm_term(E v, int64_t p) {
    return p == 1 ? abs_(v) : p == 2 ? mul(v, v) : fn2("pow", abs_(v), num((double)p));
}
static E norm_root(E v, int64_t p) { return p == 1 ? v : p == 2 ? sqrt_(v) : fn2("pow", v, num(1.0 / (double)p)); }
static void op_lppool(void) {
    T x = in(0);
    struct window g;
    int64_t p = int_attr("p");
    if (!window_of(&g, x, kernel_shape_attr(x), int_attr("ceil_mode"))) return;
    X o = window_axes(cat(list2(dim(x, 0), dim(x, 1)), g.out), "n c"), r = taps(&g);
    E v = at_or(x, cat(list2(o.v[0], o.v[1]), window_at(&g, o, 2, r, 0)), num(0));
    T s = reduce("sum", acc(x), o, RED_SUM, r, norm_term(v, p), NULL);
    if (s) out(0, dtype(x), o, norm_root(at(s, o), p));
}

/* ---- global: over all spatial axes, which stay as 1 */
struct global {
    X o, r, from;
};
static bool global_of(struct global *g, T x) {
    if (fail_if(rank(x) < 2, E_RANK, "a pool needs batch and channel axes; the input has rank %d", rank(x)))
        return false;
    X ones = list0(), spatial = sub_list(shape(x), 2, rank(x));
    for (int k = 0; k < spatial.n; k++) ones = push(ones, idx(1));
    g->o = window_axes(cat(list2(dim(x, 0), dim(x, 1)), ones), "n c");
    g->r = window_raxes(list0(), spatial, "");
    g->from = cat(list2(g->o.v[0], g->o.v[1]), g->r);
    return true;
}
static void op_globalmax(void) {
    T x = in(0);
    struct global g;
    if (global_of(&g, x)) out_reduce(0, dtype(x), g.o, RED_MAX, g.r, at(x, g.from), NULL);
}
static void op_globalaverage(void) {
    T x = in(0), s;
    struct global g;
    if (!global_of(&g, x) || !(s = reduce("sum", acc(x), g.o, RED_SUM, g.r, at(x, g.from), NULL))) return;
    out(0, dtype(x), g.o, div_(at(s, g.o), cast(acc(x), val(product(sub_list(shape(x), 2, rank(x)))))));
}
static void op_globallp(void) {
    T x = in(0), s;
    struct global g;
    int64_t p = int_attr("p");
    if (!global_of(&g, x) || !(s = reduce("sum", acc(x), g.o, RED_SUM, g.r, norm_term(at(x, g.from), p), NULL))) return;
    out(0, dtype(x), g.o, norm_root(at(s, g.o), p));
}

/* x / (bias + alpha/size * sum of squares over neighbouring channels)^beta */
static void op_lrn(void) {
    T x = in(0);
    int64_t size = int_attr("size");
    if (fail_if(rank(x) < 2 || size < 1 || size > INT32_MAX, E_SHAPE,
                "LRN needs a channel axis and a positive size below 2^31"))
        return;
    X i = window_axes(shape(x), "n c");
    E r = raxis(idx(size), "k"), v = at_or(x, put(i, 1, sub(add(i.v[1], r), idx((size - 1) / 2))), num(0));
    T s = reduce("squares", acc(x), i, RED_SUM, list1(r), mul(v, v), NULL);
    if (!s) return;
    double beta = float_attr("beta");
    E base = add(num(float_attr("bias")), mul(num(float_attr("alpha") / (double)size), at(s, i)));
    E scale = beta == 0.75 ? mul(sqrt_(base), sqrt_(sqrt_(base)))
                           : fn2("pow", base, num(beta)); /* the usual beta needs no pow */
    out(0, dtype(x), i, div_(at(x, i), scale));
}

#define POOL_ATTRS                                                                                                     \
    A_STRING("auto_pad", .s = "NOTSET"), A_INTS("kernel_shape", .flags = A_REQUIRED), A_INTS("strides"),               \
        A_INTS("dilations"), A_INTS("pads"), A_INT("ceil_mode")
static const struct op_attr a_max[] = {POOL_ATTRS, A_INT("storage_order"), {0}},
                            a_avg[] = {POOL_ATTRS, A_INT("count_include_pad"), {0}};
static const struct op_attr a_lp[] = {POOL_ATTRS, A_INT("p", .i = 2), {0}}, a_glp[] = {A_INT("p", .i = 2), {0}};
static const struct op_attr a_lrn[] = {A_FLOAT("alpha", .f = 0.0001f),
                                       A_FLOAT("beta", .f = 0.75f),
                                       A_FLOAT("bias", .f = 1),
                                       A_INT("size", .flags = A_REQUIRED),
                                       {0}};
static const struct op_slot s_max[] = {{"X", TS_FLOAT | TSET(I8) | TSET(U8) | TSET(I16), 0}, {0}};
static const struct op_slot s_indices[] = {{"Y", TS_ANY, 0}, {"Indices", TSET(I64), OPTIONAL}, {0}};
const struct op ops_pool[] = {
    {"", "MaxPool", 22, 1, a_max, s_max, s_indices, .define = op_maxpool, .spec = "MaxPool-22", .flags = OP_PICKS},
    {"", "AveragePool", 22, 1, a_avg, slots_float, slots_y, .define = op_averagepool, .spec = "AveragePool-22",
     .flags = OP_BLENDS},
    {"", "LpPool", 22, 2, a_lp, slots_float, slots_y, .define = op_lppool, .spec = "LpPool-22"},
    {"", "GlobalMaxPool", 22, 1, attrs_none, slots_float, slots_y, .define = op_globalmax, .spec = "GlobalMaxPool-22",
     .flags = OP_BLENDS},
    {"", "GlobalAveragePool", 22, 1, attrs_none, slots_float, slots_y, .define = op_globalaverage,
     .spec = "GlobalAveragePool-22", .flags = OP_BLENDS},
    {"", "GlobalLpPool", 22, 2, a_glp, slots_float, slots_y, .define = op_globallp, .spec = "GlobalLpPool-22"},
    {"", "LRN", 13, 1, a_lrn, slots_float, slots_y, .define = op_lrn, .spec = "LRN-13"},
    {0},
};
