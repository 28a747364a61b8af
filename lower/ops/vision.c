/* Images and volumes read at computed places: GridSample, DeformConv and AffineGrid, CenterCropPad, Col2Im, MaxUnpool;
 * what boxes read too (boxes.c) is in grid.h. */
#include "lower/ops/grid.h"
#include "lower/ops/window.h"
#include <math.h>
#include <string.h>

/* ---- AffineGrid: theta times each point of a regular grid over -1..1 */
static void op_affinegrid(void) {
    T theta = in(0);
    int n = count_by_rank(in(1), 0, 1);
    if (n < 0) return;
    if (fail_if((n != 4 && n != 5) || rank(theta) != 3, E_SHAPE, "AffineGrid takes theta of rank 3 and 4 or 5 sizes"))
        return;
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
E grid_size(const struct grid *g, int k) { return dim(g->x, k + (g->last ? 1 : 2)); }
E grid_channels(const struct grid *g) { return dim(g->x, g->last ? g->n + 1 : 1); }
X grid_list(const struct grid *g, E n, E c, X cells) {
    return g->last ? push(cat(list1(n), cells), c) : cat(list2(n, c), cells);
}
static E reflected(const struct grid *g, int k, E p) {
    E lo = g->low[k], hi = g->high[k], range = sub(hi, lo), off = sel(lt(p, lo), sub(lo, p), sub(p, hi));
    E turns = trunc_(div_(off, range)), rest = sub(off, mul(turns, range));
    E odd = ne(sub(turns, mul(num(2), floor_(mul(turns, num(0.5))))), num(0)), below = lt(p, lo);
    E v = sel(ne(odd, below), add(lo, rest), sub(hi, rest)); /* even turns come back from the border that was passed */
    return sel(or_(below, gt(p, hi)), v, p);
}
/* Element at the whole place p of spatial axis k. */
static E grid_cell(const struct grid *g, int k, E p) {
    E last = sub(g->length[k], num(1));
    if (g->border) p = max_(num(0), min_(last, p));
    if (g->reflect) p = reflected(g, k, p);
    E cell = cast(I32, max_(num(0), min_(last, p)));
    return g->border || g->reflect ? cell : sel(and_(ge(p, num(0)), le(p, last)), cell, num(-1));
}
static E keys(E d, double a, bool near) { /* cubic convolution, Keys */
    E dd = mul(d, d);
    if (near) return add(mul(sub(mul(num(a + 2), d), num(a + 3)), dd), num(1));
    return sub(mul(add(mul(sub(mul(num(a), d), num(5 * a)), d), num(8 * a)), d), num(4 * a));
}
int taps_of(const struct grid *g) { return g->cubic ? 4 : 2; }
void tap_tables(struct grid *g, int k, X i, E place, E inside) {
    E low = floor_(place), f = sub(place, low), j = cast(g->t, val(i.v[0]));
    if (g->cubic) j = sub(j, num(1));
    E distance = abs_(sub(f, j)), middle = or_(eq(i.v[0], idx(1)), eq(i.v[0], idx(2)));
    E w = g->cubic ? sel(middle, keys(distance, -0.75, true), keys(distance, -0.75, false))
                   : sel(eq(i.v[0], idx(0)), sub(typed(g->t, 1), f), f);
    E cell = grid_cell(g, k, add(low, j));
    g->cell[k] = stage("cell", I32, i, inside ? sel(inside, cell, num(-1)) : cell);
    g->weight[k] = stage("weight", g->t, i, w);
}
/* If the image's size is known, a cell has one number, so testing that needs no test per axis. */
X grid_index(const struct grid *g, const E *cell) {
    int64_t cells = 1, length;
    X size = list0(), index = list0();
    for (int k = 0; k < g->n; k++) {
        bool known = const_int(grid_size(g, k), &length) && length <= 1 << 24 && cells * length < INT32_MAX;
        cells = known ? cells * length : 0;
        size = push(size, grid_size(g, k));
    }
    E number = cell[0];
    for (int k = 1; k < g->n && cells; k++) number = add(mul(number, cast(I32, val(size.v[k]))), cell[k]);
    if (cells) return unflatten_index(index_of(max_(min_(number, num((double)cells - 1)), num(0))), size);
    for (int k = 0; k < g->n; k++) index = push(index, wrap_index(max_(cell[k], num(0)), size.v[k]));
    return index;
}
E all_inside(const struct grid *g, const E *cell) {
    E inside = ge(cell[0], num(0));
    for (int k = 1; k < g->n; k++) inside = and_(inside, ge(cell[k], num(0)));
    return inside;
}
static E sample(const struct grid *g, E n, E c, const E *cell) {
    E v = at(g->x, grid_list(g, n, c, grid_index(g, cell)));
    return g->border || g->reflect ? v : sel(all_inside(g, cell), v, typed(dtype_value(dtype(g->x)), 0));
}
static E taps_from(const struct grid *g, int k, E n, E c, E *cell) {
    if (k == g->n) return cast(g->t, sample(g, n, c, cell));
    E sum = NULL;
    for (int j = 0; j < taps_of(g); j++) {
        X tap = cat(list1(idx(j)), g->at[k]);
        cell[k] = at(g->cell[k], tap);
        E v = mul(taps_from(g, k + 1, n, c, cell), at(g->weight[k], tap));
        sum = !sum ? v : g->most ? max_(sum, v) : add(sum, v);
    }
    return sum;
}
E taps(const struct grid *g, E n, E c) {
    E cell[GRID_MAX];
    return taps_from(g, 0, n, c, cell);
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
        g->length[k] = cast(g->t, val(grid_size(g, k)));
        g->low[k] = typed(g->t, g->align ? 0 : -0.5);
        g->high[k] = sub(g->length[k], num(g->align ? 1 : 0.5));
    }
    return true;
}
static void op_gridsample(void) {
    T x = in(0), grid = in(1);
    struct grid g = {.last = int_attr("channels_last") != 0};
    int r = rank(x) - 2;
    bool nearest = !strcmp(str_attr("mode"), "nearest");
    if (fail_if(r < 1 || r > GRID_MAX || rank(grid) != rank(x), E_RANK,
                "GridSample takes images of 1 to %d axes and a grid of the same rank", GRID_MAX))
        return;
    if (!grid_of(&g, x, r)) return;
    require(and_(eq(dim(grid, 0), dim(x, 0)), eq(dim(grid, r + 1), idx(r))), "the grid does not fit the input");
    X size = sub_list(shape(grid), 1, r);
    for (int k = 0; k < r; k++) {
        X i = axes(cat(list2(idx(nearest ? 1 : taps_of(&g)), dim(x, 0)), size));
        X at_g = cat(list1(wrap_index(i.v[1], dim(grid, 0))), sub_list(i, 2, r));
        E p = cast(g.t, at(grid, push(at_g, wrap_index(idx(r - 1 - k), dim(grid, r + 1)))));
        p = g.align ? mul(div_(add(p, num(1)), num(2)), sub(g.length[k], num(1)))
                    : div_(sub(mul(add(p, num(1)), g.length[k]), num(1)), num(2));
        if (nearest) p = rint_(p);
        /* each tap of a cubic is clamped separately, as in ONNX Runtime and PyTorch; ONNX's tests have no such case */
        if (g.border && !g.cubic) p = max_(num(0), min_(sub(g.length[k], num(1)), p));
        if (g.reflect) p = reflected(&g, k, p);
        if (nearest) g.cell[k] = stage("cell", I32, i, grid_cell(&g, k, rint_(p)));
        else tap_tables(&g, k, i, p, NULL);
        if (!g.cell[k]) return;
    }
    X i = axes(grid_list(&g, dim(x, 0), grid_channels(&g), size));
    E c = i.v[g.last ? r + 1 : 1], cell[GRID_MAX];
    for (int k = 0; k < r; k++) {
        g.at[k] = drop(i, g.last ? r + 1 : 1);
        if (nearest) cell[k] = at(g.cell[k], cat(list1(idx(0)), g.at[k]));
    }
    out(0, dtype(x), i, nearest ? sample(&g, i.v[0], c, cell) : taps(&g, i.v[0], c));
}

bool channels_last_pay(V x, const E *read, int n) {
    enum { FEW = 8 };
    E dims[32], cells = idx(1), reads = idx(1);
    int r = gdims(x, dims);
    int64_t c, have, take;
    if (r < 3 || !const_int(dims[1], &c) || c < FEW) return false;
    for (int k = 2; k < r; k++) cells = mul(cells, dims[k]);
    for (int k = 0; k < n; k++) reads = mul(reads, read[k]);
    return !const_int(cells, &have) || !const_int(reads, &take) || take >= have;
}
void expand_layouts(const char *name, bool last) {
    V ins[] = {last ? n_channels_last(gin(0)) : gin(0), gin(1), gin(2), gin(3)};
    struct node *n = n_with_attrs("gcc2nn", name, ins, n_in(), 1);
    node_set_attr(n, attr_int("channels_last", last));
    V y = n_inferred(n);
    if (y) gout(0, last ? n_channels_first(y) : y);
}
static void exp_gridsample(void) {
    const char *mode = str_attr("mode");
    E dims[32], taps = idx(1);
    int r = gdims(gin(1), dims), each = !strcmp(mode, "nearest") ? 1 : strstr(mode, "cubic") ? 4 : 2;
    for (int k = 2; k < r; k++) taps = mul(taps, idx(each));
    if (r > 2) dims[r - 1] = taps; /* it was the coordinates */
    expand_layouts("GridSample", r > 2 && channels_last_pay(gin(0), dims + 1, r - 1));
}

/* ---- DeformConv, over two axes: each kernel element reads at its position plus an offset, bilinearly */
/* The index of a sample by image n, channel, cell of the kernel and of the result. With channels last, everything that
 * one result sums is contiguous. */
static X sample_list(const struct grid *q, E n, E c, X kernel, X out) {
    return q->last ? push(cat(cat(list1(n), out), kernel), c) : cat(cat(list2(n, c), kernel), out);
}
static void op_deformconv(void) {
    T x = in(0), w = in(1), offset = in(2), b = in(3), mask = in(4);
    struct window g;
    int64_t group = int_attr("group"), og = int_attr("offset_group");
    if (fail_if(rank(x) != 4 || rank(w) != 4 || rank(offset) != 4 || (has(mask) && rank(mask) != 4), E_RANK,
                "DeformConv is supported over two spatial axes"))
        return;
    if (fail_if(group < 1 || og < 1 || group > DIM_MAX || og > DIM_MAX, E_ATTR, "%lld groups, %lld of offsets",
                (long long)group, (long long)og))
        return;
    struct grid q = {.x = x, .n = 2, .last = int_attr("channels_last") != 0, .t = dtype(x) == F64 ? F64 : F32};
    if (!window_over(&g, list2(grid_size(&q, 0), grid_size(&q, 1)), kernel_of_weights(w), false)) return;
    E oc = dim(w, 0), per = dim(w, 1), ics = grid_channels(&q), kw = g.kernel.v[1], cells = mul(g.kernel.v[0], kw);
    require(eq(ics, mul(per, idx(group))), "the weights do not fit the input channels");
    require(and_(multiple_of(oc, idx(group)), multiple_of(ics, idx(og))), "channels are no multiple of groups");
    require(eq(dim(offset, 1), mul(idx(og * 2), cells)), "the offsets do not fit the kernel");
    for (int k = 0; k < 2; k++) require(eq(dim(offset, k + 2), g.out.v[k]), "the offsets do not fit the result");
    /* positions do not depend on the output channel, so samples are read once for all of them */
    X s =
        axes_named(sample_list(&q, dim(x, 0), ics, g.kernel, g.out), q.last ? "n oh ow kh kw ic" : "n ic kh kw oh ow");
    X tap = sub_list(s, q.last ? 3 : 2, 2), place = sub_list(s, q.last ? 1 : 4, 2);
    E channel = s.v[q.last ? 5 : 1], part = div_(channel, div_(ics, idx(og))), cell = add(mul(tap.v[0], kw), tap.v[1]);
    for (int k = 0; k < 2; k++) {
        X i = axes_named(cat(cat(list3(idx(taps_of(&q)), dim(x, 0), idx(og)), g.kernel), g.out), "tap n g kh kw oh ow");
        E ch = add(mul(add(mul(i.v[2], cells), add(mul(i.v[3], kw), i.v[4])), idx(2)), idx(k));
        X at_i = cat(list2(wrap_index(i.v[1], dim(offset, 0)), wrap_index(ch, dim(offset, 1))),
                     list2(wrap_index(i.v[5], dim(offset, 2)), wrap_index(i.v[6], dim(offset, 3))));
        X base = window_at(&g, i, 5, list2(i.v[3], i.v[4]), 0);
        q.length[k] = cast(q.t, val(grid_size(&q, k)));
        tap_tables(&q, k, i, add(cast(q.t, val(base.v[k])), cast(q.t, at(offset, at_i))), NULL);
        if (!q.cell[k] || !q.weight[k]) return;
        q.at[k] = cat(list2(s.v[0], part), cat(tap, place));
    }
    E v = taps(&q, s.v[0], channel);
    if (has(mask)) {
        E ch = add(mul(part, cells), cell);
        v = mul(v,
                cast(q.t,
                     at(mask, cat(list2(wrap_index(s.v[0], dim(mask, 0)), wrap_index(ch, dim(mask, 1))),
                                  list2(wrap_index(place.v[0], dim(mask, 2)), wrap_index(place.v[1], dim(mask, 3)))))));
    }
    T sample = stage("sample", q.t, s, v);
    if (!sample) return;
    X o = window_axes(cat(list2(dim(x, 0), oc), g.out), "n oc");
    X r = window_raxes(list1(per), g.kernel, "ic");
    E ic = group == 1 ? r.v[0] : wrap_index(add(mul(div_(o.v[1], div_(oc, idx(group))), per), r.v[0]), ics);
    v = at(sample, sample_list(&q, o.v[0], ic, sub_list(r, 1, 2), sub_list(o, 2, 2)));
    T y = reduce("acc", q.t, o, RED_SUM, r, mul(v, at(w, cat(list1(o.v[1]), r))), has(b) ? at(b, list1(o.v[1])) : NULL);
    if (y) out(0, dtype(x), o, at(y, o));
}

static void exp_deformconv(void) {
    E dims[32], read[] = {idx(2), idx(1), idx(1), idx(1)}; /* four cells for each pair of offsets */
    if (gdims(gin(2), dims) == 4)
        for (int k = 1; k < 4; k++) read[k] = dims[k];
    bool last = int_attr("offset_group") == 1 && channels_last_pay(gin(0), read, 4);
    V ins[] = {last ? n_channels_last(gin(0)) : gin(0), gin(1), gin(2), gin(3), gin(4)};
    struct node *n = n_with_attrs("gcc2nn", "DeformConv", ins, n_in(), 1);
    node_set_attr(n, attr_int("channels_last", last));
    V y = n_inferred(n);
    if (y) gout(0, y);
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
/* For position p of the image (including pads) and turn r of an axis: which cell of a block, and of which block, is
 * added there. Without strides or dilations each turn has a cell; if blocks are s apart, only the cells of one of s
 * phases. */
static bool in_phases(int64_t dilation, int64_t stride) { return dilation == 1 || stride == 1; }
static void find_cell(E p, E r, int64_t dilation, int64_t stride, E *cell, E *block) {
    E d = idx(dilation), s = idx(stride), from = sub(p, mul(r, d));
    bool phases = in_phases(dilation, stride);
    *cell = phases ? add(mul(r, s), mod_(p, s)) : r;
    *block = phases ? sub(div_(p, s), mul(r, d)) : sel(eq(mod_(from, s), idx(0)), div_(from, s), idx(-1));
}
/* The image of in(1), summed of in(0): batch, channels, the cells of a block, the blocks. */
static void op_columns(void) {
    T x = in(0);
    const int64_t *dil, *pads, *str;
    int nd = ints_attr("dilations", &dil), np = ints_attr("pads", &pads), ns = ints_attr("strides", &str);
    int r = rank(x) / 2 - 1;
    if (fail_if(r < 1 || r > SPATIAL_MAX || (nd && nd != r) || (np && np != 2 * r) || (ns && ns != r), E_SHAPE,
                "the image shape, block shape and attributes of Col2Im do not fit each other"))
        return;
    if (!has_length(in(1), r, "the image shape")) return;
    X o = list2(dim(x, 0), dim(x, 1)), turns = list0(), cells = list0(), blocks = list0();
    for (int k = 0; k < r; k++) {
        int64_t d = nd ? dil[k] : 1, s = ns ? str[k] : 1;
        turns = push(turns, in_phases(d, s) ? ceil_div(dim(x, k + 2), idx(s)) : dim(x, k + 2));
        o = push(o, max_(value(in(1), k, 1, DIM_MAX), idx(1)));
    }
    bool alone = true; /* no two blocks overlap */
    for (int k = 0; k < r; k++) alone &= x_is(turns.v[k], 1);
    o = axes(o), turns = alone ? zeros(r) : raxes(turns, NULL);
    for (int k = 0; k < r; k++) {
        E cell, block, p = add(o.v[k + 2], idx(np ? pads[k] : 0));
        find_cell(p, turns.v[k], nd ? dil[k] : 1, ns ? str[k] : 1, &cell, &block);
        cells = push(cells, cell), blocks = push(blocks, block);
    }
    X from = cat(cat(list2(o.v[0], o.v[1]), cells), blocks);
    E term = cast(acc(x), at_or(x, from, num(0)));
    T sum = alone ? stage("sum", acc(x), o, add(typed(acc(x), 0), term))
                  : reduce("sum", acc(x), o, RED_SUM, turns, term, NULL);
    if (!sum) return;
    o = axes(shape(sum));
    out(0, dtype(x), o, at(sum, o));
}
/* The attribute for each axis, or what all have. */
static V for_axes(const char *name, int64_t all) {
    const int64_t *v;
    int n = ints_attr(name, &v);
    return n ? n_const_i64(v, n) : N_INTS(all);
}
/* Both pads of each axis. */
static V all_pads(void) {
    const int64_t *pads;
    int64_t both[SPATIAL_MAX];
    int n = ints_attr("pads", &pads) / 2;
    for (int k = 0; k < n && k < SPATIAL_MAX; k++) both[k] = pads[k] + pads[k + n];
    return n ? n_const_i64(both, n < SPATIAL_MAX ? n : SPATIAL_MAX) : N_INTS(0);
}
/* Along each axis, as many as fit into the image. */
static V blocks_of(V image, V block) {
    V reach = N_OP("Mul", N_OP("Sub", block, N_INTS(1)), for_axes("dilations", 1));
    V left = N_OP("Sub", N_OP("Add", image, all_pads()), N_OP("Add", reach, N_INTS(1))),
      stride = for_axes("strides", 1);
    return N_OP("Max", N_OP("Div", N_OP("Add", left, stride), stride), N_INTS(0));
}
/* Input k, a vector of n numbers. */
static V of_length(int k, int n) { return open_length(in(k)) ? N_OP("Reshape", gin(k), N_INTS(n)) : gin(k); }
static void exp_col2im(void) {
    V x = gin(0);
    const int64_t *every[2], *pads;
    int nd = ints_attr("dilations", &every[0]), ns = ints_attr("strides", &every[1]), np = ints_attr("pads", &pads);
    int r = nd ? nd : ns ? ns : np ? np / 2 : count_by_rank(open_length(in(1)) ? in(2) : in(1), 2, 1);
    if (r < 0) return;
    for (int k = 0; k < nd + ns; k++)
        if (fail_if((k < nd ? every[0][k] : every[1][k - nd]) < 1, E_ATTR, "strides and dilations must be positive"))
            return;
    if (fail_if(x->type.rank != 3, E_RANK, "columns of rank %d; 3 is expected", x->type.rank)) return;
    V image = of_length(1, r), block = of_length(2, r);
    V channels = N_OP("Div", n_dim(x, 1), N_WITH("ReduceProd", ATTRS(attr_int("keepdims", 1)), block));
    const V dims[] = {n_dim(x, 0), channels, block, blocks_of(image, block)};
    V ins[] = {n_in_dims(x, dims, 4), image};
    V y = n_inferred(n_with_attrs("gcc2nn", "Columns", ins, 2, 1));
    if (y) gout(0, y);
}

/* ---- MaxUnpool: the values go back to the flat positions that MaxPool told, in a result of the pool's input shape */
static void op_maxunpool(void) {
    T x = in(0), where = in(1), want = in(2);
    const int64_t *kernel, *pads, *str;
    int r = rank(x) - 2, nk = ints_attr("kernel_shape", &kernel), np = ints_attr("pads", &pads),
        ns = ints_attr("strides", &str);
    if (fail_if(r < 1 || nk != r || (np && np != 2 * r) || (ns && ns != r) || rank(where) != rank(x), E_SHAPE,
                "the attributes of MaxUnpool do not fit an input of rank %d", rank(x)))
        return;
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
static const struct op_attr a_affine[] = {A_INT("align_corners"), {0}};
static const struct op_slot s_grid[] = {{"X", TS_NUM, 0}, {"grid", TS_FLOAT, 0}, {0}};
static const struct op_attr a_grid[] = {A_INT("align_corners"),
                                        A_STRING("mode", .s = "linear"),
                                        A_STRING("padding_mode", .s = "zeros"),
                                        A_INT("channels_last"),
                                        {0}};
static const struct op_slot s_deform[] = {{"X", TS_FLOAT, 0},           {"W", TS_FLOAT, 0},
                                          {"offset", TS_FLOAT, 0},      {"B", TS_FLOAT, OPTIONAL},
                                          {"mask", TS_FLOAT, OPTIONAL}, {0}};
static const struct op_attr a_deform[] = {A_INTS("dilations"),
                                          A_INT("group", .i = 1),
                                          A_INTS("kernel_shape"),
                                          A_INT("offset_group", .i = 1),
                                          A_INTS("pads"),
                                          A_INTS("strides"),
                                          A_STRING("auto_pad", .s = "NOTSET"),
                                          A_INT("channels_last"),
                                          {0}};
static const struct op_slot s_crop[] = {{"input_data", TS_ANY & ~TSET(STR), 0}, {"shape", TS_INDEX, 0}, {0}};
static const struct op_attr a_crop[] = {A_INTS("axes"), {0}};
static const struct op_slot s_col[] = {
    {"input", TS_NUM, 0}, {"image_shape", TSET(I64), 0}, {"block_shape", TSET(I64), 0}, {0}};
static const struct op_slot s_columns[] = {{"blocks", TS_NUM, 0}, {"image_shape", TSET(I64), 0}, {0}};
static const struct op_attr a_col[] = {A_INTS("dilations"), A_INTS("pads"), A_INTS("strides"), {0}};
static const struct op_slot s_unpool[] = {
    {"X", TS_FLOAT, 0}, {"I", TSET(I64), 0}, {"output_shape", TSET(I64), OPTIONAL}, {0}};
static const struct op_attr a_unpool[] = {
    A_INTS("kernel_shape", .flags = A_REQUIRED), A_INTS("pads"), A_INTS("strides"), {0}};
const struct op ops_vision[] = {
    {"", "AffineGrid", 20, 20, a_affine, s_affine, slots_y, .define = op_affinegrid, .spec = "AffineGrid-20"},
    {"", "GridSample", 22, 16, a_grid, s_grid, slots_y, .expand = exp_gridsample,
     .spec = "GridSample-22, up to three spatial axes; bilinear and bicubic name modes of 16"},
    {"gcc2nn", "GridSample", 1, 1, a_grid, s_grid, slots_y, .define = op_gridsample, .spec = "part of expansions"},
    {"gcc2nn", "DeformConv", 1, 1, a_deform, s_deform, slots_y, .define = op_deformconv, .spec = "part of expansions"},
    {"", "DeformConv", 22, 19, a_deform, s_deform, slots_y, .expand = exp_deformconv,
     .spec = "DeformConv-22, two spatial axes"},
    {"", "CenterCropPad", 18, 18, a_crop, s_crop, slots_y, .define = op_centercroppad, .spec = "CenterCropPad-18"},
    {"", "Col2Im", 18, 18, a_col, s_col, slots_y, .expand = exp_col2im, .spec = "Col2Im-18"},
    {"gcc2nn", "Columns", 1, 1, a_col, s_columns, slots_y, .define = op_columns,
     .spec = "part of the expansion of Col2Im"},
    {"", "MaxUnpool", 22, 9, a_unpool, s_unpool, slots_y, .define = op_maxunpool, .spec = "MaxUnpool-22"},
    {0},
};
