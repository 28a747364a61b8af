/* Resize and its older form Upsample. The input coordinate of a result cell is a float computed as ONNX Runtime
 * computes it. The cells to read for it, and their weights, are kept in tables for each resized axis; integer factors
 * in nearest mode need no floats. Linear and cubic modes go axis by axis, so that the work is a sum over the axes, not
 * a product. */
#include "lower/ops/ops.h"
#include <math.h>
#include <string.h>

enum mode { NEAREST, LINEAR, CUBIC };
struct resized {
    int axis;
    E in, out;
    E scale;         /* F32 value; NULL: out / in */
    int64_t factor;  /* out = factor * in for certain; 0: unknown */
    int64_t divisor; /* the scale is 1 / divisor, a power of 2, for certain: all coordinates are exact; 0: not known */
    E roi_from, roi_to; /* F32 values, for tf_crop_and_resize */
    T where;            /* table: the input coordinate of each result index */
    T cell, weight;     /* tables: the cells to read, [tap, index], and their weights */
    E taps;             /* number of taps with antialias */
};
struct resize {
    T x;
    enum mode mode;
    const char *coord, *round;
    bool crop, antialias;
    int n;
    struct resized a[32];
};

static E f32(E index) { return cast(F32, val(index)); }
static T vector_in(int k) { /* an empty vector is an absent input */
    T t = in(k);
    return t && rank(t) == 1 && x_is(dim(t, 0), 0) ? NULL : t;
}
static bool const_f32(E e, double *v) {
    if (e->op != X_CONST || e->type != F32) return false;
    *v = e->u.f;
    return true;
}
/* floor(v) of a F32 value as a dim. */
static E floor_size(E v) {
    double c;
    if (const_f32(v, &c)) return idx((int64_t)floor(c));
    T n = stage("extent", I64, list0(), cast(I64, floor_(v)));
    return size_from(NULL, n, 0, idx(0), idx(DIM_MAX));
}
/* If the scale is a small fraction p/q, the result's dim remains an expression: in * p / q. */
static bool fraction(double s, int64_t *p, int64_t *q) {
    for (*q = 1; *q <= 64; *q *= 2)
        if (s * (double)*q == floor(s * (double)*q) && s * (double)*q < 1 << 20)
            return *p = (int64_t)(s * (double)*q), true;
    return false;
}
static void by_scale(struct resized *a, T scales, int k) {
    double s;
    int64_t p, q, fixed;
    if (!const_value(scales, k, &s)) {
        a->scale = at(scales, list1(idx(k)));
        a->out = floor_size(mul(a->scale, f32(a->in)));
        return;
    }
    if (!(s > 0) || s > 1e6) {
        fail(E_ATTR, "scale %d of Resize is %g; scales are positive", k, s);
        s = 1;
    }
    a->scale = typed(F32, s);
    if (const_int(a->in, &fixed)) a->out = idx((int64_t)floorf((float)fixed * (float)s));
    else if (fraction(s, &p, &q)) a->out = div_(mul(a->in, idx(p)), idx(q));
    else a->out = floor_size(mul(a->scale, f32(a->in)));
    if (s == floor(s)) a->factor = (int64_t)s;
    if (s < 1 && fraction(s, &p, &q) && p == 1) a->divisor = q;
}
/* The integer factor between the sizes, if there is one; also for symbolic dims: 2*H is twice H. */
static int64_t factor_of(E in, E out) {
    int64_t i, o;
    if (const_int(in, &i) && const_int(out, &o)) return i > 0 && o % i == 0 ? o / i : 0;
    for (int64_t f = 1; f <= 64; f++)
        if (mul(in, idx(f)) == out) return f;
    return 0;
}
static void by_sizes(struct resize *z, T sizes) {
    const char *policy = str_attr("keep_aspect_ratio_policy");
    bool larger = !strcmp(policy, "not_smaller"), smaller = !strcmp(policy, "not_larger");
    E common = NULL;
    for (int k = 0; k < z->n; k++) {
        struct resized *a = &z->a[k];
        a->out = value(sizes, k, 0, DIM_MAX);
        require(ge(a->out, idx(0)), "size %d of Resize is negative", k);
        a->out = max_(a->out, idx(0));
        E s = div_(f32(a->out), f32(a->in));
        common = !common ? s : larger ? max_(common, s) : min_(common, s);
    }
    if (!larger && !smaller && strcmp(policy, "stretch") != 0)
        fail(E_ATTR, "unknown keep_aspect_ratio_policy \"%s\"", policy);
    for (int k = 0; k < z->n; k++) {
        struct resized *a = &z->a[k];
        if (larger || smaller) {
            a->scale = common;
            a->out = floor_size(add(mul(common, f32(a->in)), num(0.5)));
        } else a->factor = factor_of(a->in, a->out);
    }
}
static bool resize_of(struct resize *z) {
    const int64_t *list;
    T x = z->x = in(0), roi = vector_in(1), scales = vector_in(2), sizes = vector_in(3);
    const char *mode = str_attr("mode");
    int listed = ints_attr("axes", &list);
    z->mode = !strcmp(mode, "linear") ? LINEAR : !strcmp(mode, "cubic") ? CUBIC : NEAREST;
    if (z->mode == NEAREST && strcmp(mode, "nearest") != 0) return fail(E_ATTR, "unknown mode \"%s\"", mode), false;
    if (!scales == !sizes) return fail(E_ARITY, "Resize takes either scales or sizes"), false;
    z->coord = str_attr("coordinate_transformation_mode");
    z->round = str_attr("nearest_mode");
    z->crop = !strcmp(z->coord, "tf_crop_and_resize");
    z->antialias = z->mode != NEAREST && int_attr("antialias");
    z->n = listed ? listed : rank(x);
    if (z->n > rank(x)) return fail(E_SHAPE, "%d axes of an input of rank %d", z->n, rank(x)), false;
    if (!has_length(scales ? scales : sizes, z->n, "scales or sizes of Resize")) return false;
    if (z->crop && !roi) return fail(E_SHAPE, "tf_crop_and_resize needs a roi of %d elements", 2 * z->n), false;
    if (z->crop && !has_length(roi, 2 * z->n, "roi of Resize")) return false;
    for (int k = 0; k < z->n; k++) {
        struct resized *a = &z->a[k];
        *a = (struct resized){.axis = listed ? norm_axis(list[k], rank(x)) : k};
        for (int j = 0; j < k; j++)
            if (z->a[j].axis == a->axis) return fail(E_ATTR, "axis %d is named twice", a->axis), false;
        a->in = dim(x, a->axis);
        if (z->crop) {
            a->roi_from = cast(F32, at(roi, list1(idx(k))));
            a->roi_to = cast(F32, at(roi, list1(idx(z->n + k))));
        }
        if (scales) by_scale(a, scales, k);
    }
    if (sizes) by_sizes(z, sizes);
    return true;
}

/* ---- coordinates */
static E scale_of(const struct resized *a) { return a->scale ? cast(F32, a->scale) : div_(f32(a->out), f32(a->in)); }
static E coordinate(const struct resize *z, const struct resized *a, E i) {
    const char *m = z->coord;
    E n = f32(a->out), d = f32(a->in), o = f32(i), s = scale_of(a);
    E one = le(a->out, idx(1)), half = sub(div_(add(o, num(0.5)), s), num(0.5));
    if (!strcmp(m, "half_pixel")) return half;
    if (!strcmp(m, "asymmetric")) return div_(o, s);
    if (!strcmp(m, "pytorch_half_pixel")) return sel(one, typed(F32, 0), half);
    if (!strcmp(m, "tf_half_pixel_for_nn")) return div_(add(o, num(0.5)), s);
    if (!strcmp(m, "align_corners")) return sel(one, typed(F32, 0), div_(mul(o, sub(d, num(1))), sub(n, num(1))));
    if (!strcmp(m, "half_pixel_symmetric")) {
        E adjust = div_(n, mul(s, d)), offset = mul(div_(d, num(2)), sub(typed(F32, 1), adjust));
        E at_scale = div_(add(cast(F64, o), num(0.5)), cast(F64, s)); /* ONNX Runtime too takes f64 from here */
        return cast(F32, sub(add(cast(F64, offset), at_scale), num(0.5)));
    }
    if (z->crop) {
        E last = sub(d, num(1)), span = mul(mul(o, sub(a->roi_to, a->roi_from)), last);
        E middle = mul(mul(typed(F32, 0.5), add(a->roi_from, a->roi_to)), last);
        return sel(one, middle, add(mul(a->roi_from, last), div_(span, sub(n, num(1)))));
    }
    fail(E_ATTR, "unknown coordinate_transformation_mode \"%s\"", m);
    return half;
}
static bool untouched(const struct resize *z, const struct resized *a) {
    return a->out == a->in && a->factor == 1 && !z->crop;
}
/* A table's cell as an index: clamped, since nothing else knows its bounds. If the number of cells is constant, the
 * clamp is done on the value, which vectorises. */
static E looked_up(const struct resized *a, X at_table) {
    int64_t n;
    E v = at(a->cell, at_table);
    if (const_int(a->in, &n) && n > 0) return index_of(max_(min_(v, num((double)n - 1)), num(0)));
    return wrap_index(clampi(index_of(v), idx(0), sub(a->in, idx(1))), a->in);
}
static E cell_value(const struct resized *a, E v) { /* of a whole F32 value, for tables */
    return max_(min_(cast(I32, v), cast(I32, val(sub(a->in, idx(1))))), num(0));
}
/* ---- nearest */
/* The input index for an integer factor f, without floats; NULL: this combination has no such form. */
static E whole_factor(const struct resize *z, const struct resized *a, E i) {
    int64_t f = a->factor, d = a->divisor;
    bool half = !strcmp(z->coord, "half_pixel"), corner = !strcmp(z->coord, "asymmetric");
    bool floors = !strcmp(z->round, "floor") || !strcmp(z->round, "simple");
    if (z->crop) return NULL;
    if (d > 1 && corner) return mul(i, idx(d));
    if (d > 1 && half) { /* between two cells */
        bool lower = !strcmp(z->round, "floor") || !strcmp(z->round, "round_prefer_floor");
        bool upper = !strncmp(z->round, "ceil", 4) || !strcmp(z->round, "round_prefer_ceil");
        return lower || upper ? add(mul(i, idx(d)), idx(d / 2 - lower)) : NULL;
    }
    if (f < 1) return NULL;
    if (corner && floors) return div_(i, idx(f));
    if (half && !strncmp(z->round, "round_", 6)) return div_(i, idx(f)); /* (2i+1)/2f is never a tie */
    if (corner && !strcmp(z->round, "round_prefer_floor"))
        return min_(div_(add(mul(i, idx(2)), idx(f - 1)), idx(2 * f)), sub(a->in, idx(1)));
    return NULL;
}
/* If the scale is not a binary fraction, its rounding makes coordinates miss exact halves (7 to 2 cells: 3.4999998
 * instead of 3.5), so values this close count as ties, as in ONNX Runtime. */
#define TIE 1e-6
static E rounded(const struct resize *z, const struct resized *a, E p) {
    E low = floor_(p), part = sub(p, low), up = add(low, num(1));
    if (!strcmp(z->round, "round_prefer_floor")) return sel(gt(part, num(0.5 + TIE)), up, low);
    if (!strcmp(z->round, "round_prefer_ceil")) return sel(ge(part, num(0.5 - TIE)), up, low);
    if (!strcmp(z->round, "floor")) return low;
    if (!strcmp(z->round, "ceil")) return ceil_(p);
    if (!strcmp(z->round, "simple")) /* before opset 11 */
        return sel(lt(scale_of(a), num(1)), ceil_(p), low);
    fail(E_ATTR, "unknown nearest_mode \"%s\"", z->round);
    return low;
}
static void table(const struct resize *z, struct resized *a) {
    X i = axes_named(list1(a->out), "o");
    a->where = stage("where", F32, i, coordinate(z, a, i.v[0]));
}
/* Is the result cell i outside of the input (tf_crop_and_resize)? */
static E outside(const struct resize *z, X i) {
    E c = truth(false);
    for (int k = 0; k < z->n && z->crop; k++) {
        E p = at(z->a[k].where, list1(i.v[z->a[k].axis]));
        c = or_(c, or_(lt(p, num(0)), gt(p, f32(sub(z->a[k].in, idx(1))))));
    }
    return c;
}
static E or_extrapolated(const struct resize *z, X i, E v) {
    return z->crop ? sel(outside(z, i), cast(dtype(z->x), typed(F32, float_attr("extrapolation_value"))), v) : v;
}
static void nearest(struct resize *z) {
    X d = shape(z->x);
    for (int k = 0; k < z->n; k++) d = put(d, z->a[k].axis, z->a[k].out);
    X from = d, i = axes(d);
    for (int k = 0; k < d.n; k++) from.v[k] = i.v[k];
    for (int k = 0; k < z->n; k++) {
        struct resized *a = &z->a[k];
        if (untouched(z, a)) continue;
        E j = whole_factor(z, a, i.v[a->axis]);
        if (j) j = wrap_index(j, a->in);
        else {
            X o = axes_named(list1(a->out), "o");
            if (z->crop) table(z, a);
            a->cell = stage("cell", I32, o, cell_value(a, rounded(z, a, coordinate(z, a, o.v[0]))));
            if (!a->cell || (z->crop && !a->where)) return;
            j = looked_up(a, list1(i.v[a->axis]));
        }
        from.v[a->axis] = j;
    }
    out(0, dtype(z->x), i, or_extrapolated(z, i, at(z->x, from)));
}

/* ---- linear and cubic: taps along one axis */
static E cubic_weight(E t, double a) { /* |t| <= 2, as ONNX Runtime writes it */
    E d = abs_(t);
    E near = add(mul(sub(mul(num(a + 2), d), num(a + 3)), mul(d, d)), num(1));
    E far = sub(mul(add(mul(sub(mul(num(a), d), num(5 * a)), d), num(8 * a)), d), num(4 * a));
    return sel(le(d, num(1)), near, far);
}
static E weight_of(const struct resize *z, const struct resized *a, E p, E tap) {
    if (z->mode == LINEAR) {
        E w = sub(p, floor_(p));
        return sel(eq(tap, idx(0)), sub(typed(F32, 1), w), w);
    }
    bool exclude = int_attr("exclude_outside");
    E total = typed(F32, 0), own = NULL;
    for (int k = 0; k < 4; k++) {
        E c = add(floor_(p), num(k - 1)), w = cubic_weight(sub(p, c), float_attr("cubic_coeff_a"));
        if (exclude) w = sel(or_(lt(c, num(0)), ge(c, f32(a->in))), typed(F32, 0), w);
        total = add(total, w);
        own = own ? sel(eq(tap, idx(k)), w, own) : w;
    }
    return exclude ? div_(own, total) : own;
}
static int taps_of(const struct resize *z) { return z->mode == LINEAR ? 2 : 4; }
static void tap_tables(const struct resize *z, struct resized *a, enum dtype vt) {
    X i = axes_named(list2(idx(taps_of(z)), a->out), "tap o");
    E p = coordinate(z, a, i.v[1]), tap = i.v[0];
    if (z->mode == LINEAR) p = max_(min_(p, f32(sub(a->in, idx(1)))), num(0)); /* between two cells, or at the last */
    E c = add(floor_(p), cast(F32, val(z->mode == LINEAR ? tap : sub(tap, idx(1)))));
    a->cell = stage("cell", I32, i, cell_value(a, c));
    a->weight = stage("weight", vt, i, cast(vt, weight_of(z, a, p, tap)));
}
static E mixed(const struct resize *z, const struct resized *a, T x, X i, enum dtype vt) {
    E v = z->mode == LINEAR ? NULL : typed(vt, 0);
    for (int k = 0; k < taps_of(z); k++) {
        X tap = list2(idx(k), i.v[a->axis]);
        E t = mul(cast(vt, at(x, put(i, a->axis, looked_up(a, tap)))), at(a->weight, tap));
        v = v ? add(v, t) : t;
    }
    return v;
}
/* Antialias: if the axis shrinks, the filter gets wider in proportion, and its weights are normalised to a sum of 1.
 * Cells beyond the border repeat it. */
struct filter {
    E narrow; /* F32: at most 1 */
    E reach;  /* distance in cells beyond which all weights are 0 */
};
static struct filter filter_of(const struct resize *z, const struct resized *a) {
    struct filter f = {.narrow = min_(scale_of(a), num(1))};
    /* at most four times the axis for one result cell; none for an empty result */
    E cells = ceil_(div_(typed(F32, z->mode == LINEAR ? 1 : 2), f.narrow));
    f.reach = floor_size(min_(cells, f32(mul(a->in, idx(4)))));
    return f;
}
static E filter_cell(const struct filter *f, E p, E tap) {
    return add(sub(add(floor_(p), num(1)), f32(f->reach)), f32(tap));
}
static E filter_weight(const struct resize *z, const struct resized *a, const struct filter *f, E o, E tap) {
    E p = at(a->where, list1(o)), c = filter_cell(f, p, tap), d = mul(abs_(sub(c, p)), f->narrow), w;
    if (z->mode == LINEAR) w = max_(sub(typed(F32, 1), d), num(0));
    else w = sel(lt(d, num(2)), cubic_weight(d, float_attr("cubic_coeff_a")), typed(F32, 0));
    return int_attr("exclude_outside") ? sel(or_(lt(c, num(0)), ge(c, f32(a->in))), typed(F32, 0), w) : w;
}
static void filter_tables(const struct resize *z, struct resized *a, enum dtype vt) {
    struct filter f = filter_of(z, a);
    a->taps = mul(f.reach, idx(2));
    X o = axes_named(list1(a->out), "o"), t = raxes(list1(a->taps), "tap");
    T total = reduce("total", F32, o, RED_SUM, t, filter_weight(z, a, &f, o.v[0], t.v[0]), NULL);
    X i = axes_named(list2(a->taps, a->out), "tap o");
    a->cell = stage("cell", I32, i, cell_value(a, filter_cell(&f, at(a->where, list1(i.v[1])), i.v[0])));
    E w = div_(filter_weight(z, a, &f, i.v[1], i.v[0]), at(total, list1(i.v[1])));
    a->weight = stage("weight", vt, i, cast(vt, w));
}
static E filtered(const struct resized *a, T x, X i, enum dtype vt) {
    X r = raxes(list1(a->taps), "tap"), tap = list2(r.v[0], i.v[a->axis]);
    E v = mul(cast(vt, at(x, put(i, a->axis, looked_up(a, tap)))), at(a->weight, tap));
    return at(reduce("sum", vt, i, RED_SUM, r, v, NULL), i);
}
static bool shrinks(const struct resized *a) {
    int64_t in, out;
    return const_int(a->in, &in) && const_int(a->out, &out) && out < in;
}
/* Axes that shrink come first, from the outside to the inside, then those that grow, from the inside: so later passes
 * have less to do, and the passes that look up each cell's neighbour are the smallest. */
static bool comes_first(const struct resized *a, const struct resized *b) {
    bool less = shrinks(a);
    if (less != shrinks(b)) return less;
    return less ? a->axis < b->axis : a->axis > b->axis;
}
static int pass_order(struct resize *z, struct resized **order) {
    int n = 0;
    for (int k = 0; k < z->n; k++) {
        if (untouched(z, &z->a[k])) continue;
        int at = n++;
        for (; at && comes_first(&z->a[k], order[at - 1]); at--) order[at] = order[at - 1];
        order[at] = &z->a[k];
    }
    return n;
}
static void interpolate(struct resize *z) {
    T x = z->x;
    enum dtype t = dtype(x), vt = t == F64 ? F64 : F32;
    struct resized *order[32];
    int n = pass_order(z, order);
    X i = axes(shape(x));
    for (int k = 0; k < n; k++) {
        struct resized *a = order[k];
        if (z->crop || z->antialias) table(z, a);
        if (z->antialias) filter_tables(z, a, vt);
        else tap_tables(z, a, vt);
        if (!a->cell || !a->weight || (z->crop && !a->where)) return;
    }
    if (!n) out(0, t, i, at(x, i));
    for (int k = 0; k < n && x; k++) {
        struct resized *a = order[k];
        i = axes(put(shape(x), a->axis, a->out));
        E v = z->antialias ? filtered(a, x, i, vt) : mixed(z, a, x, i, vt);
        if (k < n - 1) {
            x = stage("pass", vt, i, v);
            continue;
        }
        if (z->antialias && !dtype_is_float(t)) v = rint_(v); /* as ONNX Runtime does */
        out(0, t, i, or_extrapolated(z, i, cast(t, v)));
    }
}
static void op_resize(void) {
    struct resize z;
    if (!resize_of(&z)) return;
    if (z.mode == NEAREST) nearest(&z);
    else interpolate(&z);
}
/* Before opset 11: inputs X and scales, asymmetric coordinates, and a rounding of its own. */
static void up_resize(struct node *n) {
    struct ctx *c = up_ctx(n);
    struct attr coord = {.name = intern(c->names, "coordinate_transformation_mode"),
                         .kind = AT_STRING,
                         .u.s = {.p = "asymmetric", .n = 10}};
    struct attr rounding = {
        .name = intern(c->names, "nearest_mode"), .kind = AT_STRING, .u.s = {.p = "simple", .n = 6}};
    if (n->ins.n < 2) return;
    struct value *scales = n->ins.v[1];
    node_set_input(n, 1, NULL);
    node_set_input(n, 2, scales);
    node_set_attr(n, coord);
    node_set_attr(n, rounding);
}
static const struct op_upgrade u_resize[] = {{10, up_resize}, {0}};
/* "simple" rounding differs only when shrinking. */
static const char *std_resize(struct node *n) {
    const struct attr *round = node_attr(n, "nearest_mode"), *mode = node_attr(n, "mode");
    if (!round || round->u.s.n != 6 || memcmp(round->u.s.p, "simple", 6) != 0) return NULL;
    bool nearest = !mode || (mode->u.s.n == 7 && !memcmp(mode->u.s.p, "nearest", 7));
    const struct value *scales = node_in(n, 2);
    for (int64_t k = 0; nearest && k < (scales && scales->init ? tensor_count(scales->init) : 1); k++)
        if (!scales || !scales->init || tensor_f(scales->init, k) < 1)
            return "before opset 11 cells that a smaller picture leaves out were chosen in another way";
    if (nearest) node_set_attr(n, (struct attr){.name = round->name, .kind = AT_STRING, .u.s = {.p = "floor", .n = 5}});
    else node_drop_attr(n, "nearest_mode");
    return NULL;
}

/* ---- Upsample */
static void up_upsample(struct node *n) { /* the scales were an attribute */
    const struct attr *a = node_attr(n, "scales");
    if (!a || a->kind != AT_FLOATS || (n->ins.n > 1 && n->ins.v[1])) return;
    struct tensor *t = tensor_new(&up_ctx(n)->arena, F32, (int64_t[]){a->n}, 1);
    for (int k = 0; k < a->n; k++) tensor_set_f(t, k, (double)a->u.fs[k]);
    node_set_input(n, 1, graph_const(n->in->graph, "", t));
    node_drop_attr(n, "scales");
}
static const struct op_upgrade u_upsample[] = {{8, up_upsample}, {0}};
static void op_upsample(void) {
    const char *mode = str_attr("mode");
    gout(0, N_WITH("Resize",
                   ATTRS(attr_str("mode", !strcmp(mode, "bilinear") ? "linear" : mode),
                         attr_str("coordinate_transformation_mode", "asymmetric"), attr_str("nearest_mode", "simple")),
                   gin(0), NULL, gin(1)));
}

static const struct op_slot s_resize[] = {{"X", TS_NUM, 0},
                                          {"roi", TS_FLOAT, OPTIONAL},
                                          {"scales", TSET(F32), OPTIONAL},
                                          {"sizes", TSET(I64), OPTIONAL},
                                          {0}};
static const struct op_slot s_upsample[] = {{"X", TS_NUM, 0}, {"scales", TSET(F32), 0}, {0}};
static const struct op_attr a_resize[] = {A_INT("antialias", .since = 18),
                                          A_INTS("axes"),
                                          A_STRING("coordinate_transformation_mode", .s = "half_pixel"),
                                          A_FLOAT("cubic_coeff_a", .f = -0.75f),
                                          A_INT("exclude_outside"),
                                          A_FLOAT("extrapolation_value"),
                                          A_STRING("keep_aspect_ratio_policy", .s = "stretch", .since = 18),
                                          A_STRING("mode", .s = "nearest"),
                                          A_STRING("nearest_mode", .s = "round_prefer_floor"),
                                          {0}};
static const struct op_attr a_upsample[] = {A_STRING("mode", .s = "nearest"), {0}};
const struct op ops_resize[] = {
    {"", "Resize", 19, 10, a_resize, s_resize, slots_y, .define = op_resize, .upgrades = u_resize,
     .standard = std_resize,
     .spec = "Resize-19; coordinates are f32, as in ONNX Runtime; nearest before opset 11 rounds as there",
     .flags = OP_BLENDS, .axes = {AXES_SIZES, .sizes = 1u << 2 | 1u << 3}},
    {"", "Upsample", 9, 7, a_upsample, s_upsample, slots_y, .expand = op_upsample, .upgrades = u_upsample, .until = 9,
     .spec = "Upsample-9, as Resize"},
    {0},
};
