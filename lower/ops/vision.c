/* Images and volumes read at computed places: GridSample, DeformConv and AffineGrid, CenterCropPad, Col2Im, MaxUnpool.
 */
#include "lower/ops/window.h"
#include <string.h>

/* ---- AffineGrid: theta times each point of a regular grid over -1..1 */
static void op_affinegrid(void) {
    T theta = in(0);
    int n = count_of(in(1));
    if (n < 0) return;
    if ((n != 4 && n != 5) || rank(theta) != 3) {
        fail(E_SHAPE, "AffineGrid takes theta of rank 3 and 4 or 5 sizes");
        return;
    }
    int r = n - 2;
    X d = list1(dim(theta, 0));
    for (int k = 0; k < r; k++) d = push(d, max_(value(in(1), k + 2, 0, DIM_MAX), idx(0)));
    require(eq(value(in(1), 0, 0, DIM_MAX), dim(theta, 0)), "the batch of theta is not that of the size");
    require(and_(eq(dim(theta, 1), idx(r)), eq(dim(theta, 2), idx(r + 1))), "theta does not fit %d dimensions", r);
    X i = axes(push(d, idx(r)));
    enum dtype t = acc(theta);
    E v = at(theta, list3(i.v[0], wrap_index(i.v[r + 1], dim(theta, 1)), wrap_index(idx(r), dim(theta, 2))));
    for (int k = 0; k < r; k++) { /* x belongs to the last axis */
        E p = cast(t, val(i.v[r - k])), len = cast(t, val(d.v[r - k])), c;
        if (int_attr("align_corners")) c = sub(div_(mul(num(2), p), max_(sub(len, num(1)), num(1))), num(1));
        else c = sub(div_(add(mul(num(2), p), num(1)), len), num(1));
        v = add(
            v,
            mul(at(theta, list3(i.v[0], wrap_index(i.v[r + 1], dim(theta, 1)), wrap_index(idx(k), dim(theta, 2)))), c));
    }
    out(0, dtype(theta), i, v);
}

/* ---- GridSample */
enum { GRID_MAX = 3 };
struct grid {
    T x;
    int n;
    bool cubic, border, reflect, align;
    enum dtype t;
    E length[GRID_MAX], low[GRID_MAX], high[GRID_MAX]; /* of t; borders of reflection */
};
static E reflected(const struct grid *g, int k, E p) {
    E lo = g->low[k], hi = g->high[k], range = sub(hi, lo), off = sel(lt(p, lo), sub(lo, p), sub(p, hi));
    E turns = trunc_(div_(off, range)), rest = sub(off, mul(turns, range));
    E odd = ne(sub(turns, mul(num(2), floor_(mul(turns, num(0.5))))), num(0)), below = lt(p, lo);
    E v = sel(ne(odd, below), add(lo, rest), sub(hi, rest)); /* even turns come back from the border that was passed */
    return sel(or_(below, gt(p, hi)), v, p);
}
/* Element at the whole place p of spatial axis k; *inside says whether there is one. */
static E grid_cell(const struct grid *g, int k, E p, E *inside) {
    E last = sub(g->length[k], num(1));
    if (g->border) p = max_(num(0), min_(last, p));
    if (g->reflect) p = reflected(g, k, p);
    E in_range = and_(ge(p, num(0)), le(p, last));
    if (!g->border && !g->reflect) *inside = *inside ? and_(*inside, in_range) : in_range;
    return wrap_index(cast(I64, max_(num(0), min_(last, p))), dim(g->x, k + 2));
}
static E keys(E d, double a, bool near) { /* cubic convolution, Keys */
    E dd = mul(d, d);
    if (near) return add(mul(sub(mul(num(a + 2), d), num(a + 3)), dd), num(1));
    return sub(mul(add(mul(sub(mul(num(a), d), num(5 * a)), d), num(8 * a)), d), num(4 * a));
}
static E taps(const struct grid *g, const E *place, int k, X lead, E inside) {
    if (k == g->n) {
        E v = cast(g->t, at(g->x, lead));
        return inside ? sel(inside, v, typed(g->t, 0)) : v;
    }
    E low = floor_(place[k]), f = sub(place[k], low), sum = NULL;
    int from = g->cubic ? -1 : 0, to = g->cubic ? 2 : 1;
    for (int j = from; j <= to; j++) {
        E in_here = inside, w;
        E c = grid_cell(g, k, add(low, num(j)), &in_here);
        E d = j <= 0 ? sub(f, num(j)) : sub(num(j), f); /* distance of the tap */
        if (g->cubic) w = keys(d, -0.75, j == 0 || j == 1);
        else w = j ? f : sub(typed(g->t, 1), f);
        E v = mul(taps(g, place, k + 1, push(lead, c), in_here), w);
        sum = sum ? add(sum, v) : v;
    }
    return sum;
}
static bool grid_of(struct grid *g, T x, int spatial) {
    const char *mode = str_attr("mode"), *pad = str_attr("padding_mode");
    g->x = x, g->n = spatial, g->align = int_attr("align_corners") != 0;
    g->t = dtype(x) == F64 ? F64 : F32;
    g->cubic = !strcmp(mode, "cubic") || !strcmp(mode, "bicubic");
    g->border = !strcmp(pad, "border"), g->reflect = !strcmp(pad, "reflection");
    if (!g->border && !g->reflect && strcmp(pad, "zeros"))
        return fail(E_ATTR, "unknown padding_mode \"%s\"", pad), false;
    if (!g->cubic && strcmp(mode, "linear") && strcmp(mode, "bilinear") && strcmp(mode, "nearest"))
        return fail(E_ATTR, "unknown mode \"%s\"", mode), false;
    for (int k = 0; k < g->n; k++) {
        g->length[k] = cast(g->t, val(dim(x, k + 2)));
        g->low[k] = typed(g->t, g->align ? 0 : -0.5);
        g->high[k] = sub(g->length[k], num(g->align ? 1 : 0.5));
    }
    return true;
}
static void op_gridsample(void) {
    T x = in(0), grid = in(1);
    struct grid g = {0};
    int r = rank(x) - 2;
    if (r < 1 || r > GRID_MAX || rank(grid) != rank(x)) {
        fail(E_RANK, "GridSample takes images of 1 to %d axes and a grid of the same rank", GRID_MAX);
        return;
    }
    if (!grid_of(&g, x, r)) return;
    require(and_(eq(dim(grid, 0), dim(x, 0)), eq(dim(grid, r + 1), idx(r))), "the grid does not fit the input");
    X i = axes(cat(list2(dim(x, 0), dim(x, 1)), sub_list(shape(grid), 1, r)));
    E place[GRID_MAX], inside = NULL;
    bool nearest = !strcmp(str_attr("mode"), "nearest");
    for (int k = 0; k < r; k++) {
        X at_g = push(push(list0(), wrap_index(i.v[0], dim(grid, 0))), i.v[2]);
        for (int j = 1; j < r; j++) at_g = push(at_g, i.v[j + 2]);
        E p = cast(g.t, at(grid, push(at_g, wrap_index(idx(r - 1 - k), dim(grid, r + 1)))));
        p = g.align ? mul(div_(add(p, num(1)), num(2)), sub(g.length[k], num(1)))
                    : div_(sub(mul(add(p, num(1)), g.length[k]), num(1)), num(2));
        if (nearest) p = rint_(p);
        /* each tap of a cubic is clamped by itself, as in ONNX Runtime and PyTorch; the suite has no such case */
        if (g.border && !g.cubic) p = max_(num(0), min_(sub(g.length[k], num(1)), p));
        if (g.reflect) p = reflected(&g, k, p);
        place[k] = p;
    }
    X lead = list2(i.v[0], i.v[1]);
    if (!nearest) {
        out(0, dtype(x), i, taps(&g, place, 0, lead, NULL));
        return;
    }
    for (int k = 0; k < r; k++) lead = push(lead, grid_cell(&g, k, rint_(place[k]), &inside));
    E v = at(x, lead);
    out(0, dtype(x), i, inside ? sel(inside, v, typed(dtype_value(dtype(x)), 0)) : v);
}

/* ---- DeformConv, over two axes: each kernel element reads at its place plus an offset, bilinearly */
static void op_deformconv(void) {
    T x = in(0), w = in(1), offset = in(2), b = in(3), mask = in(4);
    struct window g;
    int64_t group = int_attr("group"), og = int_attr("offset_group"), kh, kw;
    if (rank(x) != 4 || rank(w) != 4 || rank(offset) != 4 || (has(mask) && rank(mask) != 4)) {
        fail(E_RANK, "DeformConv is supported over two spatial axes");
        return;
    }
    if (!const_int(dim(w, 2), &kh) || !const_int(dim(w, 3), &kw) || group < 1 || og < 1) {
        fail(E_SHAPE, "the kernel's extents must be known, and the groups positive");
        return;
    }
    if (!window_of(&g, x, sub_list(shape(w), 2, 4), false)) return;
    E oc = dim(w, 0), per = dim(w, 1), ics = dim(x, 1);
    require(eq(ics, mul(per, idx(group))), "the weights do not fit the input channels");
    require(and_(eq(mod_(oc, idx(group)), idx(0)), eq(mod_(ics, idx(og)), idx(0))),
            "channels are no multiple of groups");
    require(eq(dim(offset, 1), idx(og * kh * kw * 2)), "the offsets do not fit the kernel");
    for (int k = 0; k < 2; k++) require(eq(dim(offset, k + 2), g.out.v[k]), "the offsets do not fit the result");
    X o = window_axes(cat(list2(dim(x, 0), oc), g.out), "n oc");
    X r = window_raxes(list1(per), g.kernel, "ic");
    E ic = group == 1 ? r.v[0] : add(mul(div_(o.v[1], div_(oc, idx(group))), per), r.v[0]);
    E part = div_(ic, div_(ics, idx(og))), cell = add(mul(r.v[1], idx(kw)), r.v[2]);
    X base = window_at(&g, o, 2, r, 1);
    struct grid q = {.x = x, .n = 2, .t = dtype(x) == F64 ? F64 : F32};
    E place[2];
    for (int k = 0; k < 2; k++) {
        E ch = add(mul(add(mul(part, idx(kh * kw)), cell), idx(2)), idx(k));
        X at_o = cat(list2(wrap_index(o.v[0], dim(offset, 0)), wrap_index(ch, dim(offset, 1))),
                     list2(wrap_index(o.v[2], dim(offset, 2)), wrap_index(o.v[3], dim(offset, 3))));
        q.length[k] = cast(q.t, val(dim(x, k + 2)));
        place[k] = add(cast(q.t, val(base.v[k])), cast(q.t, at(offset, at_o)));
    }
    E v = taps(&q, place, 0, list2(o.v[0], wrap_index(ic, ics)), NULL);
    if (has(mask)) {
        E ch = add(mul(part, idx(kh * kw)), cell);
        v = mul(v, cast(q.t, at(mask, cat(list2(wrap_index(o.v[0], dim(mask, 0)), wrap_index(ch, dim(mask, 1))),
                                          list2(wrap_index(o.v[2], dim(mask, 2)), wrap_index(o.v[3], dim(mask, 3)))))));
    }
    T y = reduce("acc", q.t, o, RED_SUM, r, mul(v, at(w, cat(list1(o.v[1]), r))), has(b) ? at(b, list1(o.v[1])) : NULL);
    if (y) out(0, dtype(x), o, at(y, o));
}

/* ---- CenterCropPad */
static void op_centercroppad(void) {
    T x = in(0);
    const int64_t *ax;
    int na = ints_attr("axes", &ax), r = rank(x), n = has_attr("axes") ? na : r;
    if (!has_length(in(1), n, "sizes of CenterCropPad")) return;
    X d = shape(x), from;
    for (int k = 0; k < n; k++)
        d.v[has_attr("axes") ? norm_axis(ax[k], r) : k] = max_(value(in(1), k, 0, DIM_MAX), idx(0));
    X i = axes(d);
    from = i;
    for (int k = 0; k < r; k++) {
        E have = dim(x, k), want = d.v[k];
        if (have == want) continue;
        E crop = div_(sub(have, want), idx(2)), pad = div_(sub(want, have), idx(2));
        from.v[k] = add(i.v[k], sel(le(want, have), crop, sub(idx(0), pad)));
    }
    out(0, dtype(x), i, at_or(x, from, num(0)));
}

/* ---- Col2Im: each cell of the image sums what the blocks put there */
static void op_col2im(void) {
    T x = in(0);
    const int64_t *dil, *pads, *str;
    int r = count_of(in(1)), nd = ints_attr("dilations", &dil), np = ints_attr("pads", &pads),
        ns = ints_attr("strides", &str);
    if (r < 0) return;
    if (rank(x) != 3 || r < 1 || r > SPATIAL_MAX || count_of(in(2)) != r || (nd && nd != r) || (np && np != 2 * r) ||
        (ns && ns != r)) {
        fail(E_SHAPE, "the image shape, block shape and attributes of Col2Im do not fit each other");
        return;
    }
    X image = list0(), block = list0(), steps = list0();
    for (int k = 0; k < r; k++) {
        int64_t d = nd ? dil[k] : 1, s = ns ? str[k] : 1, p = np ? pads[k] + pads[k + r] : 0;
        if (d < 1 || s < 1) {
            fail(E_ATTR, "strides and dilations must be positive");
            return;
        }
        image = push(image, max_(value(in(1), k, 1, DIM_MAX), idx(1)));
        block = push(block, max_(value(in(2), k, 1, DIM_MAX), idx(1)));
        E reach = add(mul(sub(block.v[k], idx(1)), idx(d)), idx(1));
        steps = push(steps, max_(add(div_(sub(add(image.v[k], idx(p)), reach), idx(s)), idx(1)), idx(0)));
    }
    E cells = product(block), c = div_(dim(x, 1), cells);
    require(and_(eq(mul(c, cells), dim(x, 1)), eq(product(steps), dim(x, 2))),
            "the columns do not fit image and block");
    X o = axes(cat(list2(dim(x, 0), c), image)), q = raxes(block, NULL), at_step = list0();
    E hit = NULL;
    for (int k = 0; k < r; k++) {
        int64_t d = nd ? dil[k] : 1, s = ns ? str[k] : 1;
        E p = sub(add(o.v[k + 2], idx(np ? pads[k] : 0)), mul(q.v[k], idx(d))), at_k = div_(p, idx(s));
        E here = and_(eq(mod_(p, idx(s)), idx(0)), and_(ge(at_k, idx(0)), lt(at_k, steps.v[k])));
        hit = hit ? and_(hit, here) : here;
        at_step = push(at_step, at_k);
    }
    E row = wrap_index(add(mul(o.v[1], cells), flatten_index(q, block)), dim(x, 1));
    E column = wrap_index(sel(hit, flatten_index(at_step, steps), idx(0)), dim(x, 2));
    enum dtype t = acc(x);
    E v = sel(hit, cast(t, at(x, list3(o.v[0], row, column))), typed(t, 0));
    T sum = reduce("sum", t, o, RED_SUM, q, v, NULL);
    if (!sum) return;
    o = axes(shape(sum));
    out(0, dtype(x), o, at(sum, o));
}

/* ---- MaxUnpool: the values go back to the flat positions that MaxPool told, in a result of the pool's input shape */
static void op_maxunpool(void) {
    T x = in(0), where = in(1), want = in(2);
    const int64_t *kernel, *pads, *str;
    int r = rank(x) - 2, nk = ints_attr("kernel_shape", &kernel), np = ints_attr("pads", &pads),
        ns = ints_attr("strides", &str);
    if (r < 1 || nk != r || (np && np != 2 * r) || (ns && ns != r) || rank(where) != rank(x)) {
        fail(E_SHAPE, "the attributes of MaxUnpool do not fit an input of rank %d", rank(x));
        return;
    }
    X d = list2(dim(x, 0), dim(x, 1)), full = list0();
    for (int k = 0; k < r; k++) {
        E e = mul(sub(dim(x, k + 2), idx(1)), idx(ns ? str[k] : 1));
        d = push(d, max_(add(e, idx(kernel[k] - (np ? pads[k] + pads[k + r] : 0))), idx(0)));
    }
    if (has(want) && !has_length(want, rank(x), "output_shape")) return;
    for (int k = 0; k < rank(x); k++) {
        require(eq(dim(where, k), dim(x, k)), "indices and input differ on axis %d", k);
        E e = has(want) ? value(want, k, 0, DIM_MAX) : d.v[k];
        require(ge(e, d.v[k]), "output_shape is smaller than the unpooled input on axis %d", k);
        full = push(full, max_(e, d.v[k]));
    }
    X z = axes(full), i = axes(shape(x)), from = i;
    out(0, dtype(x), z, typed(dtype_value(dtype(x)), 0));
    for (int k = 0; k < i.n; k++) from.v[k] = wrap_index(i.v[k], dim(where, k));
    X to = unflatten_index(wrap_index(at(where, from), product(d)), d);
    for (int k = 0; k < to.n; k++) to.v[k] = wrap_index(to.v[k], full.v[k]);
    stage_into(result(0, dtype(x), full), i, to, at(x, i));
}

static const struct op_slot s_affine[] = {{"theta", TS_FLOAT, 0}, {"size", TSET(I64), 0}, {0}};
static const struct op_attr a_affine[] = {{.name = "align_corners", .kind = AT_INT}, {0}};
static const struct op_slot s_grid[] = {{"X", TS_NUM, 0}, {"grid", TS_FLOAT, 0}, {0}};
static const struct op_attr a_grid[] = {{.name = "align_corners", .kind = AT_INT},
                                        {.name = "mode", .kind = AT_STRING, .s = "linear"},
                                        {.name = "padding_mode", .kind = AT_STRING, .s = "zeros"},
                                        {0}};
static const struct op_slot s_deform[] = {{"X", TS_FLOAT, 0},           {"W", TS_FLOAT, 0},
                                          {"offset", TS_FLOAT, 0},      {"B", TS_FLOAT, OPTIONAL},
                                          {"mask", TS_FLOAT, OPTIONAL}, {0}};
static const struct op_attr a_deform[] = {{.name = "dilations", .kind = AT_INTS},
                                          {.name = "group", .kind = AT_INT, .i = 1},
                                          {.name = "kernel_shape", .kind = AT_INTS},
                                          {.name = "offset_group", .kind = AT_INT, .i = 1},
                                          {.name = "pads", .kind = AT_INTS},
                                          {.name = "strides", .kind = AT_INTS},
                                          {.name = "auto_pad", .kind = AT_STRING, .s = "NOTSET"},
                                          {0}};
static const struct op_slot s_crop[] = {{"input_data", TS_ANY & ~TSET(STR), 0}, {"shape", TS_INDEX, 0}, {0}};
static const struct op_attr a_crop[] = {{.name = "axes", .kind = AT_INTS}, {0}};
static const struct op_slot s_col[] = {
    {"input", TS_NUM, 0}, {"image_shape", TSET(I64), 0}, {"block_shape", TSET(I64), 0}, {0}};
static const struct op_attr a_col[] = {{.name = "dilations", .kind = AT_INTS},
                                       {.name = "pads", .kind = AT_INTS},
                                       {.name = "strides", .kind = AT_INTS},
                                       {0}};
static const struct op_slot s_unpool[] = {
    {"X", TS_FLOAT, 0}, {"I", TSET(I64), 0}, {"output_shape", TSET(I64), OPTIONAL}, {0}};
static const struct op_attr a_unpool[] = {{.name = "kernel_shape", .kind = AT_INTS, .flags = A_REQUIRED},
                                          {.name = "pads", .kind = AT_INTS},
                                          {.name = "strides", .kind = AT_INTS},
                                          {0}};
const struct op ops_vision[] = {
    {"", "AffineGrid", 20, 20, a_affine, s_affine, slots_y, .define = op_affinegrid, .spec = "AffineGrid-20"},
    {"", "GridSample", 22, 16, a_grid, s_grid, slots_y, .define = op_gridsample,
     .spec = "GridSample-22, up to three spatial axes; bilinear and bicubic name modes of 16"},
    {"", "DeformConv", 22, 19, a_deform, s_deform, slots_y, .define = op_deformconv,
     .spec = "DeformConv-22, two spatial axes"},
    {"", "CenterCropPad", 18, 18, a_crop, s_crop, slots_y, .define = op_centercroppad, .spec = "CenterCropPad-18"},
    {"", "Col2Im", 18, 18, a_col, s_col, slots_y, .define = op_col2im, .spec = "Col2Im-18"},
    {"", "MaxUnpool", 22, 9, a_unpool, s_unpool, slots_y, .define = op_maxunpool, .spec = "MaxUnpool-22"},
    {0},
};
