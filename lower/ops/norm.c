/* Normalisations over axes: Softmax and relatives, batch, layer, instance, group, RMS, Lp and mean-variance norms. */
#include "lower/ops/ops.h"
#include <math.h>

/* ---- statistics of x over some of its axes */
struct moments {
    X o, r, from;
    E count;
};
/* kept[k]: axis k is an axis of the statistics. Each stage gets a new set of index variables. */
static struct moments moments_of(T x, const bool *kept) {
    struct moments m = {.o = list0(), .r = list0(), .from = list0()};
    X s = shape(x), os = list0(), rs = list0();
    for (int k = 0; k < s.n; k++) {
        if (kept[k]) os = push(os, s.v[k]);
        else rs = push(rs, s.v[k]);
    }
    m.o = axes(os);
    m.r = raxes(rs, NULL);
    for (int k = 0, o = 0, r = 0; k < s.n; k++) m.from = push(m.from, kept[k] ? m.o.v[o++] : m.r.v[r++]);
    m.count = product(rs);
    return m;
}
static X pick(X i, const bool *kept) {
    X r = list0();
    for (int k = 0; k < i.n; k++)
        if (kept[k]) r = push(r, i.v[k]);
    return r;
}
/* ---- softmax family: over one axis or, before opset 13 (attribute joint), over all axes from `axis` on */
static void soft_axes(T x, bool *kept) {
    int a = axis_attr("axis", x);
    bool joint = int_attr("joint");
    for (int k = 0; k < rank(x); k++) kept[k] = joint ? k < a : k != a;
}
static void softmax(bool logarithm) {
    T x = in(0);
    bool kept[32];
    enum dtype t = acc(x);
    if (rank(x) == 0) {
        out(0, dtype(x), list0(), num(logarithm ? 0 : 1));
        return;
    }
    soft_axes(x, kept);
    struct moments p = moments_of(x, kept), q = moments_of(x, kept);
    T m = reduce("max", t, p.o, RED_MAX, p.r, at(x, p.from), NULL);
    if (!m) return;
    X i = axes(shape(x)), j = axes(shape(x)), own = pick(i, kept);
    if (logarithm) {
        T s = reduce("sum", t, q.o, RED_SUM, q.r, exp_term_(sub(at(x, q.from), at(m, q.o))), NULL);
        X o = axes(shape(s));
        T l = stage("log", t, o, log_(at(s, o)));
        out(0, dtype(x), i, sub(sub(at(x, i), at(m, own)), at(l, own)));
        return;
    }
    T e = stage("exp", t, i, exp_term_(sub(at(x, i), at(m, own))));
    T s = reduce("sum", t, q.o, RED_SUM, q.r, at(e, q.from), NULL);
    X o = axes(shape(s));
    T share = stage("share", t, o, div_(num(1), at(s, o))); /* one quotient per row: dividing each element would take as
                                                             * long as the exponential */
    out(0, dtype(x), j, mul(at(e, j), at(share, pick(j, kept))));
}
static void op_softmax(void) { softmax(false); }
static void op_logsoftmax(void) { softmax(true); }
static void op_hardmax(void) { /* 1 at the first maximum */
    T x = in(0);
    bool kept[32], gone[32];
    if (rank(x) == 0) {
        out(0, dtype(x), list0(), num(1));
        return;
    }
    soft_axes(x, kept);
    struct moments p = moments_of(x, kept), q = moments_of(x, kept);
    T m = reduce("max", dtype(x), p.o, RED_MAX, p.r, at(x, p.from), NULL);
    if (!m) return;
    for (int k = 0; k < rank(x); k++) gone[k] = !kept[k];
    X i = axes(shape(x)), size = pick(shape(x), gone);
    enum dtype t = index_most(product(size)) <= INT32_MAX ? I32 : I64;
    E place = cast(t, val(flatten_index(q.r, size))), own = cast(t, val(flatten_index(pick(i, gone), size)));
    T f = reduce("first", t, q.o, RED_MIN, q.r, sel(eq(at(x, q.from), at(m, q.o)), place, greatest(t)), NULL);
    enum dtype v = dtype_value(dtype(x));
    out(0, dtype(x), i, sel(eq(at(f, pick(i, kept)), own), typed(v, 1), typed(v, 0)));
}
static void up_joint(struct node *n) {
    up_default_int(n, "axis", 1);
    up_default_int(n, "joint", 1);
}
static const struct op_upgrade u_soft[] = {{12, up_joint}, {0}};
/* Over all axes from `axis` on is over the last one of a matrix; over the last axis alone both forms are the same. */
static const char *std_joint(struct node *n) {
    struct value *x = n->ins.v[0], *y = n->outs.v[0];
    int64_t axis = node_int(n, "axis");
    bool joint = node_int(n, "joint") != 0, alone = axis == -1 || (x->type.rank >= 0 && axis == x->type.rank - 1);
    node_drop_attr(n, "joint");
    if (!joint || alone) return NULL;
    struct value *shape = std_node(n, n, "Shape", &x, 1), *matrix = std_node(n, n, "Flatten", &x, 1);
    node_set_int(matrix->def, "axis", axis);
    node_set_input(n, 0, matrix);
    node_set_int(n, "axis", -1);
    struct value *back = std_node(n, n->next, "Reshape", (struct value *[]){matrix, shape}, 2);
    back->type = y->type, back->name = y->name;
    y->type = (struct type){.kind = TY_NONE}, y->name = "";
    value_replace(y, back);
    node_set_input(back->def, 0, y);
    return NULL;
}

static E centred(T x, X i, T mean, const bool *kept) {
    return sub(cast(dtype(mean), at(x, i)), at(mean, pick(i, kept)));
}
/* The mean, and the sum of squared deviations from it: two passes. *count: the number of elements, as a t. */
static bool centred_squares(T x, const bool *kept, enum dtype t, T *mean, T *squares, E *count) {
    struct moments m = moments_of(x, kept);
    T s = reduce("sum", t, m.o, RED_SUM, m.r, cast(t, at(x, m.from)), NULL);
    if (!s) return false;
    X a = axes(shape(s));
    *count = cast(t, val(m.count));
    *mean = stage("mean", t, a, div_(at(s, a), *count));
    m = moments_of(x, kept);
    E d = centred(x, m.from, *mean, kept);
    *squares = reduce("squares", t, m.o, RED_SUM, m.r, mul(d, d), NULL);
    return *mean && *squares;
}
/* 1/sqrt(squares / count + epsilon) */
static T inverse_root(T squares, E count, double epsilon) {
    X o = axes(shape(squares));
    return stage("inv", dtype(squares), o, div_(num(1), sqrt_(add(div_(at(squares, o), count), num(epsilon)))));
}
/* Mean and 1/sqrt(variance + epsilon). */
static bool statistics(T x, const bool *kept, enum dtype t, double epsilon, T *mean, T *inv) {
    T q;
    E count;
    if (!centred_squares(x, kept, t, mean, &q, &count)) return false;
    return (*inv = inverse_root(q, count, epsilon)) != NULL;
}
static enum dtype stash(T x) {
    enum dtype t = has_attr("stash_type") ? type_attr("stash_type") : F32;
    return dtype(x) == F64 || t == F64 ? F64 : F32;
}

/* Saved statistics keep the reduced axes, from a on, with extent 1. */
static void out_kept(int k, T from, X dims, int a) {
    for (int d = a; d < dims.n; d++) dims.v[d] = idx(1);
    X o = axes(dims);
    out(k, dtype(from), o, at(from, sub_list(o, 0, a)));
}

/* ---- LayerNormalization: statistics over the axes from `axis` on */
static void op_layernorm(void) {
    T x = in(0), scale = in(1), bias = in(2), mean, inv;
    int a = axis_attr("axis", x);
    bool kept[32];
    for (int k = 0; k < rank(x); k++) kept[k] = k < a;
    require_spreads(scale, shape(x), "scale");
    if (has(bias)) require_spreads(bias, shape(x), "bias");
    if (!statistics(x, kept, stash(x), float_attr("epsilon"), &mean, &inv)) return;
    X i = axes(shape(x));
    E v = mul(centred(x, i, mean, kept), at(inv, pick(i, kept)));
    v = mul(cast(dtype(x), v), at(scale, bcast(scale, i)));
    out(0, dtype(x), i, has(bias) ? add(v, at(bias, bcast(bias, i))) : v);
    for (int k = 1; k < n_out(); k++) out_kept(k, k == 1 ? mean : inv, shape(x), a);
}
/* com.microsoft.SkipLayerNormalization: LayerNormalization over the last axis of input + skip + bias. */
static void skip_norm(bool simplified) {
    T x = in(0), skip = in(1), gamma = in(2), beta = simplified ? NULL : in(3), bias = in(simplified ? 3 : 4),
      mean = NULL, inv;
    bool kept[32];
    int r = rank(x);
    if (fail_if(r < 1, E_RANK, "the input has no axis to normalise")) return;
    for (int k = 0; k < r; k++) kept[k] = k < r - 1;
    const T rows[] = {gamma, beta, bias};
    for (int k = 0; k < 3; k++)
        if (has(rows[k])) require(eq(dim(rows[k], 0), dim(x, r - 1)), "gamma, beta or bias do not fit the last axis");
    require_spreads(skip, shape(x), "skip");
    X j = axes(shape(x));
    E total = add(at(x, j), at(skip, bcast(skip, j)));
    if (has(bias)) total = add(total, at(bias, list1(j.v[r - 1])));
    T s = stage("skipped", dtype(x), j, total);
    if (!s) return;
    X i = axes(shape(x));
    if (simplified) {
        struct moments m = moments_of(s, kept);
        T q = reduce("squares", acc(x), m.o, RED_SUM, m.r, mul(at(s, m.from), at(s, m.from)), NULL);
        inv = inverse_root(q, cast(acc(x), val(m.count)), float_attr("epsilon"));
    } else if (!statistics(s, kept, acc(x), float_attr("epsilon"), &mean, &inv)) return;
    E v = mul(mul(mean ? centred(s, i, mean, kept) : at(s, i), at(inv, pick(i, kept))), at(gamma, list1(i.v[r - 1])));
    out(0, dtype(x), i, has(beta) ? add(v, at(beta, list1(i.v[r - 1]))) : v);
    if (n_out() > 1 && mean) {
        X o = axes(shape(mean)), p = axes(shape(inv));
        out(1, F32, o, at(mean, o));
        if (n_out() > 2) out(2, F32, p, at(inv, p));
    }
    if (n_out() > 3) {
        X o = axes(shape(x));
        out(3, dtype(x), o, at(s, o));
    }
}
static void op_skiplayernorm(void) { skip_norm(false); }
static void op_skiprmsnorm(void) { skip_norm(true); }
static void op_rmsnorm(void) {
    T x = in(0), scale = in(1);
    int a = axis_attr("axis", x);
    bool kept[32];
    enum dtype t = stash(x);
    for (int k = 0; k < rank(x); k++) kept[k] = k < a;
    require_spreads(scale, shape(x), "scale");
    struct moments m = moments_of(x, kept);
    E v = cast(t, at(x, m.from));
    T q = reduce("squares", t, m.o, RED_SUM, m.r, mul(v, v), NULL);
    if (!q) return;
    T inv = inverse_root(q, cast(t, val(m.count)), float_attr("epsilon"));
    X i = axes(shape(x));
    out(0, dtype(x), i,
        mul(cast(dtype(x), mul(cast(t, at(x, i)), at(inv, pick(i, kept)))), at(scale, bcast(scale, i))));
    if (n_out() > 1) out_kept(1, inv, shape(x), a);
}

/* ---- per channel: BatchNormalization with given statistics; instance and group norms with their own */
/* Training: the batch's own mean and variance, which also move the running ones that are given. */
static bool batch_statistics(T x, int ch, T *mean, T *var) {
    bool kept[32];
    enum dtype t = acc(x);
    for (int k = 0; k < rank(x); k++) kept[k] = k == ch;
    E count;
    T mu, q;
    if (!centred_squares(x, kept, t, &mu, &q, &count)) return false;
    X b = axes(shape(q));
    T v = stage("variance", t, b, div_(at(q, b), count));
    T now[] = {mu, v}, running[] = {*mean, *var};
    for (int k = 0; k < 2; k++) {
        X o = axes(shape(mu));
        double keep = float_attr("momentum");
        E old = cast(t, at(running[k], list1(wrap_index(o.v[0], dim(running[k], 0)))));
        if (n_out() > 1) out(k + 1, dtype(running[k]), o, add(mul(old, num(keep)), mul(at(now[k], o), num(1 - keep))));
    }
    return *mean = mu, *var = v, mu && v;
}
static void op_batchnorm(void) {
    T x = in(0), scale = in(1), b = in(2), mean = in(3), var = in(4);
    if (fail_if(rank(x) < 1, E_RANK, "BatchNormalization needs an input with axes")) return;
    X i = axes(shape(x));
    int ch = rank(x) > 1;
    E c = i.v[ch];
    X n = axes_named(list1(dim(x, ch)), "c"), m = axes_named(list1(dim(x, ch)), "c");
    enum dtype t = acc(x);
    for (int k = 1; k < 5; k++)
        require(eq(dim(in(k), 0), dim(x, ch)), "input %d does not have one element for each channel", k);
    if (int_attr("training_mode") && !batch_statistics(x, ch, &mean, &var)) return;
    T f =
        stage("factor", t, n, div_(cast(t, at(scale, n)), sqrt_(add(cast(t, at(var, n)), num(float_attr("epsilon"))))));
    T s = stage("shift", t, m, sub(cast(t, at(b, m)), mul(cast(t, at(mean, m)), at(f, m))));
    out(0, dtype(x), i, add(mul(cast(t, at(x, i)), at(f, list1(c))), at(s, list1(c))));
}
/* With constant statistics. */
static bool affine_batchnorm(const struct node *n, const struct value *x, int64_t channels, double *scale,
                             double *shift) {
    const struct tensor *t[5] = {0}; /* x, scale, bias, mean, variance */
    const struct attr *e = node_attr(n, "epsilon"), *training = node_attr(n, "training_mode");
    if (n->ins.v[0] != x || n->outs.n != 1 || (training && training->u.i)) return false;
    for (int k = 1; k < 5; k++) {
        t[k] = k < n->ins.n && n->ins.v[k] ? n->ins.v[k]->init : NULL;
        if (!t[k] || !dtype_is_float(t[k]->type) || tensor_count(t[k]) != channels) return false;
    }
    double eps = e ? (double)e->u.f : (double)1e-5f;
    for (int64_t k = 0; k < channels; k++) {
        scale[k] = tensor_f(t[1], k) / sqrt(tensor_f(t[4], k) + eps);
        shift[k] = tensor_f(t[2], k) - tensor_f(t[3], k) * scale[k];
    }
    return true;
}
static void require_per_channel(T x) { /* scale and bias */
    for (int k = 1; k < 3; k++)
        require(eq(dim(in(k), 0), dim(x, 1)), "input %d does not have one element for each channel", k);
}
static void op_instancenorm(void) {
    T x = in(0), scale = in(1), b = in(2), mean, inv;
    bool kept[32];
    if (fail_if(rank(x) < 3, E_RANK, "InstanceNormalization needs spatial axes; the input has rank %d", rank(x)))
        return;
    require_per_channel(x);
    for (int k = 0; k < rank(x); k++) kept[k] = k < 2;
    if (!statistics(x, kept, acc(x), float_attr("epsilon"), &mean, &inv)) return;
    X i = axes(shape(x)), c = list1(i.v[1]);
    out(0, dtype(x), i, add(mul(mul(centred(x, i, mean, kept), at(inv, pick(i, kept))), at(scale, c)), at(b, c)));
}
#define GROUP_ATTRS A_FLOAT("epsilon", .f = 1e-5f), A_INT("stash_type", .i = 1), A_INT("per_group", .flags = A_OURS)
static const struct op_attr a_group[] = {GROUP_ATTRS, A_INT("num_groups", .flags = A_REQUIRED), {0}},
                            a_grouped[] = {GROUP_ATTRS, {0}};
/* In two steps, so that a group is a row in what is computed: x as [n, group, channel of the group, ...], and back. */
static void exp_groupnorm(void) {
    int64_t groups = int_attr("num_groups");
    V x = gin(0), dims = N_OP("Shape", x);
    if (fail_if(x->type.rank < 2 || groups < 1, E_SHAPE,
                "GroupNormalization needs a channel axis and a positive number of groups"))
        return;
    V parts[] = {n_dim(x, 0), N_INTS(groups), N_OP("Div", n_dim(x, 1), N_INTS(groups)), NULL};
    int n = 3;
    if (x->type.rank > 2) parts[n++] = N_OP("Slice", dims, N_INTS(2), N_INTS(INT32_MAX));
    V ins[] = {N_OP("Reshape", x, n_op("Concat", 0, parts, n, ATTRS(attr_int("axis", 0)))), gin(1), gin(2)};
    gout(0, N_OP("Reshape", n_inferred(n_with_attrs("gcc2nn", "GroupNormalization", ins, 3, 1)), dims));
}
static void op_groupnorm(void) {
    T x = in(0), scale = in(1), b = in(2), mean, inv;
    enum dtype t = stash(x);
    bool kept[33];
    E own = dim(x, 2), channels = has_attr("per_group") ? dim(x, 1) : mul(dim(x, 1), own);
    for (int k = 1; k < 3; k++)
        require(eq(dim(in(k), 0), channels), "input %d does not have one element for each channel", k);
    for (int k = 0; k < rank(x); k++) kept[k] = k < 2;
    if (!statistics(x, kept, t, float_attr("epsilon"), &mean, &inv)) return;
    X i = axes(shape(x)), row = pick(i, kept),
      c = list1(has_attr("per_group") ? i.v[1] : add(mul(i.v[1], own), i.v[2]));
    E v = mul(sub(cast(t, at(x, i)), at(mean, row)), at(inv, row));
    out(0, dtype(x), i, add(mul(v, cast(t, at(scale, c))), cast(t, at(b, c))));
}
static void up_groupnorm(struct node *n) { up_default_int(n, "per_group", 1); } /* 18: scale and bias for each group */
static const struct op_upgrade u_groupnorm[] = {{20, up_groupnorm}, {0}};
static void up_batchnorm(struct node *n) {
    const struct attr *s = node_attr(n, "spatial");
    if (s && !s->u.i)
        diag_node(&up_ctx(n)->diags, DIAG_ERROR, E_OPSET, n->origin,
                  "BatchNormalization with spatial = 0 is not supported");
    node_drop_attr(n, "spatial");
    node_drop_attr(n, "is_test");
    node_drop_attr(n, "consumed_inputs");
    while (n->outs.n > 1 && (!n->outs.v[n->outs.n - 1] || !n->outs.v[n->outs.n - 1]->uses.n))
        n->outs.n--; /* statistics of training */
}
static const struct op_upgrade u_batchnorm[] = {{13, up_batchnorm}, {0}};

/* ---- others */
static void op_lpnorm(void) {
    T x = in(0);
    bool l1 = int_attr("p") == 1, kept[32];
    soft_axes(x, kept);
    struct moments m = moments_of(x, kept);
    E v = at(x, m.from);
    T s = reduce("norm", acc(x), m.o, RED_SUM, m.r, l1 ? abs_(v) : mul(v, v), NULL);
    if (!s) return;
    X i = axes(shape(x));
    E n = at(s, pick(i, kept));
    n = l1 ? n : sqrt_(n);
    out(0, dtype(x), i, sel(eq(n, num(0)), num(0), div_(at(x, i), n)));
}
static void op_mvn(void) {
    T x = in(0), mean, inv;
    static const int64_t usual[] = {0, 2, 3};
    const int64_t *ax;
    int n = ints_attr("axes", &ax);
    if (!n) ax = usual, n = 3;
    bool kept[32];
    for (int k = 0; k < 32; k++) kept[k] = true;
    for (int k = 0; k < n; k++) kept[norm_axis(ax[k], rank(x))] = false;
    if (!statistics(x, kept, acc(x), 0, &mean, &inv)) return;
    X i = axes(shape(x));
    out(0, dtype(x), i, div_(centred(x, i, mean, kept), add(div_(num(1), at(inv, pick(i, kept))), num(1e-9))));
}

static const struct op_attr a_soft[] = {A_INT("axis", .i = -1), A_INT("joint", .flags = A_OURS), {0}};
static const struct op_attr a_layer[] = {A_INT("axis", .i = -1),
                                         A_FLOAT("epsilon", .f = 1e-5f),
                                         A_INT("stash_type", .i = 1),
                                         {0}},
                            a_eps[] = {A_FLOAT("epsilon", .f = 1e-5f), {0}};
static const struct op_attr a_skip[] = {A_FLOAT("epsilon", .f = 1e-12f), {0}};
static const struct op_attr a_batch[] = {
    A_FLOAT("epsilon", .f = 1e-5f), A_FLOAT("momentum", .f = 0.9f), A_INT("training_mode"), {0}};
static const struct op_attr a_lp[] = {A_INT("axis", .i = -1), A_INT("p", .i = 2), {0}}, a_mvn[] = {A_INTS("axes"), {0}};
static const struct op_slot s_xsb[] = {{"X", TS_FLOAT, 0}, {"scale", TS_FLOAT, 0}, {"B", TS_FLOAT, OPTIONAL}, {0}};
static const struct op_slot s_batch[] = {{"X", TS_FLOAT, 0},          {"scale", TS_FLOAT, 0},     {"B", TS_FLOAT, 0},
                                         {"input_mean", TS_FLOAT, 0}, {"input_var", TS_FLOAT, 0}, {0}};
static const struct op_slot s_skip[] = {{"input", TS_FLOAT, 0},       {"skip", TS_FLOAT, 0},
                                        {"gamma", TS_FLOAT, 0},       {"beta", TS_FLOAT, OPTIONAL},
                                        {"bias", TS_FLOAT, OPTIONAL}, {0}};
static const struct op_slot s_stats[] = {{"Y", TS_FLOAT, 0},
                                         {"Mean", TS_FLOAT, OPTIONAL},
                                         {"InvStdDev", TS_FLOAT, OPTIONAL},
                                         {"Sum", TS_FLOAT, OPTIONAL},
                                         {0}};
#define SOFT(name, fn)                                                                                                 \
    {                                                                                                                  \
        "", name, 13, 1, a_soft, slots_float, slots_y,                                                                 \
            .define = fn, .upgrades = u_soft, .standard = std_joint,                                                   \
            .spec = name "-13; joint marks the older form, over all axes from `axis` on", .axes = {                    \
                AXES_ATTR,                                                                                             \
                .reduces = true                                                                                        \
            }                                                                                                          \
    }
static const struct op_slot s_simplified[] = {{"Y", TS_ANY, 0}, {"inv_std_var", TS_ANY, OPTIONAL}, {0}};
const struct op ops_norm[] = {
    SOFT("Softmax", op_softmax),
    SOFT("LogSoftmax", op_logsoftmax),
    SOFT("Hardmax", op_hardmax),
    {"", "LayerNormalization", 17, 1, a_layer, s_xsb, s_stats, .define = op_layernorm, .spec = "LayerNormalization-17"},
    {"", "RMSNormalization", 23, 23, a_layer, slots_ab, slots_y, .define = op_rmsnorm, .spec = "RMSNormalization-23"},
    {"", "SimplifiedLayerNormalization", 1, 1, a_layer, slots_ab, s_simplified, .define = op_rmsnorm,
     .spec = "ONNX Runtime's form of RMSNormalization-23"},
    {"", "BatchNormalization", 15, 1, a_batch, s_batch, s_stats, .define = op_batchnorm, .upgrades = u_batchnorm,
     .spec = "BatchNormalization-15; before 14 inference only", .affine = affine_batchnorm},
    {"", "InstanceNormalization", 22, 1, a_eps, s_xsb, slots_y, .define = op_instancenorm,
     .spec = "InstanceNormalization-22"},
    {"", "GroupNormalization", 21, 18, a_group, s_xsb, slots_y, .expand = exp_groupnorm, .upgrades = u_groupnorm,
     .spec = "GroupNormalization-21; per_group marks the form of 18"},
    {"gcc2nn", "GroupNormalization", 1, 1, a_grouped, s_xsb, slots_y, .define = op_groupnorm,
     .spec = "the same of [n, group, channel of the group, ...]"},
    {"", "LpNormalization", 22, 1, a_lp, slots_float, slots_y, .define = op_lpnorm, .spec = "LpNormalization-22",
     .axes = {AXES_ATTR, .reduces = true}},
    {"", "MeanVarianceNormalization", 13, 9, a_mvn, slots_float, slots_y, .define = op_mvn,
     .spec = "MeanVarianceNormalization-13"},
    {"com.microsoft", "SkipLayerNormalization", 1, 1, a_skip, s_skip, s_stats, .define = op_skiplayernorm,
     .spec = "com.microsoft.SkipLayerNormalization"},
    {"com.microsoft", "SkipSimplifiedLayerNormalization", 1, 1, a_skip, s_skip, s_stats, .define = op_skiprmsnorm,
     .spec = "com.microsoft.SkipSimplifiedLayerNormalization"},
    {0},
};
