/* Ops that select by value: TopK, NonZero, NonMaxSuppression; Compress, Unique; and CumSum, CumProd, Det. Their
 * algorithms are kernels in templates/kernels; the kernel also returns the number of elements it finds, which is a
 * size. */
#include "lower/ops/ops.h"
#include <math.h>

T true_positions(T flag, E n, T *count) {
    enum { PARTS = 128, LEAST = 16 }; /* of so many times 4 elements at least: threads of a GPU count them */
    E each = max_(idx(LEAST), ceil_div(n, idx(4 * PARTS)));
    E parts = min_(idx(PARTS), ceil_div(n, mul(idx(4), each)));
    T pos = scratch("pos", I64, list1(n)), end = scratch("end", I64, list1(parts));
    *count = scratch("count", I64, list0());
    call_kernel("nonzero", BOOL, (const T[]){flag, pos, *count, end}, 4, (const E[]){n, each, parts}, 3);
    return pos;
}

/* The dims of x as before, along and after an axis. */
static X around(T x, int a) {
    return list3(product(sub_list(shape(x), 0, a)), dim(x, a), product(sub_list(shape(x), a + 1, rank(x))));
}

static void op_topk(void) {
    T x = in(0);
    int a = axis_attr("axis", x);
    if (fail_if(rank(x) < 1, E_RANK, "TopK takes a tensor of rank 1 or more")) return;
    E k = value(in(1), 0, 0, DIM_MAX);
    require(and_(ge(k, idx(0)), le(k, dim(x, a))), "K is negative or exceeds the axis");
    k = clampi(k, idx(0), dim(x, a));
    X d = put(shape(x), a, k), e = around(x, a);
    E args[] = {e.v[0], e.v[1], e.v[2], k, idx(int_attr("largest") != 0)};
    T bufs[] = {x, result(0, dtype(x), d), result(1, I64, d)};
    call_kernel("topk", dtype(x), bufs, 3, args, 5);
}
static void up_topk(struct node *n) { up_attr_to_input(n, "k", 1); }
static const struct op_upgrade u_topk[] = {{9, up_topk}, {0}};

static void op_nonzero(void) {
    T x = in(0);
    enum dtype v = dtype_value(dtype(x));
    E n = numel(x);
    X i = axes(shape(x));
    E same = everywhere(x), set = same && v != BOOL ? ne(same, typed(v, 0)) : same;
    bool all = set && x_is_true(set); /* selects how elements are counted */
    T count, pos = NULL;
    E found = n;
    if (!all) {
        T flag = stage("flag", BOOL, i, v == BOOL ? at(x, i) : ne(at(x, i), typed(v, 0)));
        pos = true_positions(flag, n, &count);
        found = size_from("nonzero", count, 0, idx(0), n);
    }
    if (!rank(x)) { /* a scalar: one row less than elements */
        out(0, I64, axes(list2(idx(0), found)), typed(I64, 0));
        return;
    }
    X o = axes_named(list2(idx(rank(x)), found), "axis i");
    E flat = all ? o.v[1] : wrap_index(at(pos, list1(wrap_index(o.v[1], n))), n), r = NULL;
    X where = unflatten_index(flat, shape(x));
    for (int k = rank(x); k-- > 0;) r = r ? sel(eq(o.v[0], idx(k)), val(where.v[k]), r) : val(where.v[k]);
    out(0, I64, o, r);
}

/* An axis known only at run time: the same kernel on a copy with three dims, whose sizes depend on it. */
static void along_runtime_axis(const char *kernel, T x, T axis) {
    int r = rank(x);
    E a = value(axis, 0, -r, r - 1), before = idx(1), own = idx(1), after = idx(1);
    a = sel(lt(a, idx(0)), add(a, idx(r)), a);
    for (int k = 0; k < r; k++) {
        before = mul(before, sel(gt(a, idx(k)), dim(x, k), idx(1)));
        own = mul(own, sel(eq(a, idx(k)), dim(x, k), idx(1)));
        after = mul(after, sel(lt(a, idx(k)), dim(x, k), idx(1)));
    }
    X sizes = list0();
    E dims[] = {before, own, after};
    for (int k = 0; k < 3; k++) /* separate symbols, because the kernel binds them */
        sizes = push(sizes, size_from(NULL, stage("size", I64, list0(), val(dims[k])), 0, idx(0), numel(x)));
    T flat = reshaped("rows", x, sizes), sums = scratch("sums", dtype(x), sizes);
    E args[] = {sizes.v[0], sizes.v[1], sizes.v[2], idx(int_attr("exclusive") != 0), idx(int_attr("reverse") != 0)};
    call_kernel(kernel, dtype(x), (const T[]){flat, sums}, 2, args, 5);
    if (sums) out_reshaped(0, sums, shape(x));
}
static void cumulative(const char *kernel) {
    T x = in(0);
    double given;
    if (fail_if(rank(x) < 1, E_RANK, "the input has no axis")) return;
    if (!const_value(in(1), 0, &given)) {
        along_runtime_axis(kernel, x, in(1));
        return;
    }
    X e = around(x, norm_axis((int64_t)given, rank(x)));
    E args[] = {e.v[0], e.v[1], e.v[2], idx(int_attr("exclusive") != 0), idx(int_attr("reverse") != 0)};
    call_kernel(kernel, dtype(x), (const T[]){x, result(0, dtype(x), shape(x))}, 2, args, 5);
}
static void op_cumsum(void) { cumulative("cumsum"); }
static void op_cumprod(void) { cumulative("cumprod"); }

/* Compress: the slices of an axis (or elements) whose condition is true. Exporters give it in other ranks, too, as its
 * elements in their order: PaddlePaddle's masked_select has that of x. */
static void op_compress(void) {
    T x = in(0), cond = in(1);
    bool flat = !has_attr("axis");
    int a = flat ? 0 : axis_attr("axis", x);
    if (fail_if(!flat && rank(x) < 1, E_RANK, "the input has no axis")) return;
    E n = numel(cond), of = flat ? numel(x) : dim(x, a);
    X i = axes(list1(n));
    T flag = stage("flag", BOOL, i, and_(at(cond, unflatten_index(i.v[0], shape(cond))), lt(i.v[0], of)));
    T count, pos = true_positions(flag, n, &count);
    E found = size_from("kept", count, 0, idx(0), n);
    X o = axes(flat ? list1(found) : put(shape(x), a, found));
    E from = wrap_index(at(pos, list1(wrap_index(o.v[a], n))), of);
    if (flat) {
        X at_x = unflatten_index(from, shape(x));
        for (int k = 0; k < at_x.n; k++) at_x.v[k] = wrap_index(at_x.v[k], dim(x, k));
        out(0, dtype(x), o, at(x, at_x));
    } else out(0, dtype(x), o, at(x, put(o, a, from)));
}

/* Unique: of slices along an axis, or of elements. The kernel gives for each slice the number of the distinct one that
 * it equals. */
static void op_unique(void) {
    T x = in(0);
    bool flat = !has_attr("axis");
    int a = flat ? 0 : axis_attr("axis", x);
    E n = flat ? numel(x) : dim(x, a);
    X rest = flat ? list0() : drop(shape(x), a);
    E m = product(rest);
    X r = axes(list2(n, m)), at_x = list0();
    if (flat) at_x = unflatten_index(r.v[0], shape(x));
    else at_x = splice(unflatten_index(r.v[1], rest), a, 0, list1(r.v[0]));
    for (int k = 0; k < at_x.n; k++) at_x.v[k] = wrap_index(at_x.v[k], dim(x, k));
    T rows = stage("rows", dtype(x), r, at(x, at_x));
    T first = scratch("first", I64, list1(n)), which = scratch("which", I64, list1(n)),
      times = scratch("times", I64, list1(n)), count = scratch("count", I64, list0()),
      order = scratch("order", I64, list2(idx(2), n));
    E args[] = {n, m, idx(int_attr("sorted") != 0)};
    call_kernel("unique", dtype(x), (const T[]){rows, first, which, times, count, order}, 6, args, 3);
    E found = size_from("unique", count, 0, idx(0), n);
    X o = axes(flat ? list1(found) : put(shape(x), a, found));
    E row = wrap_index(at(first, list1(wrap_index(o.v[a], n))), n);
    E column = flat ? idx(0) : flatten_index(drop(o, a), rest);
    out(0, dtype(x), o, at(rows, list2(row, flat && x_is(m, 1) ? idx(0) : wrap_index(column, m))));
    for (int k = 1; k < n_out(); k++) {
        X j = axes(list1(k == 2 ? n : found));
        out(k, I64, j, at(k == 1 ? first : k == 2 ? which : times, list1(k == 2 ? j.v[0] : wrap_index(j.v[0], n))));
    }
}

/* The operand as matrices to be eliminated in place: a copy, the size of the matrices, and their number. */
static bool square_copy(const char *op, T *copy, E *n, E *batch) {
    T x = in(0);
    int r = rank(x);
    if (r < 2) return fail(E_RANK, "%s takes matrices; the input has rank %d", op, r), false;
    *n = dim(x, r - 1), *batch = product(sub_list(shape(x), 0, r - 2));
    require(eq(dim(x, r - 2), *n), "the matrices are not square");
    X i = axes(put(shape(x), r - 2, *n));
    *copy = stage("copy", acc(x), i, at(x, i));
    return true;
}
/* Det: elimination with the largest pivot of each column. */
static void op_det(void) {
    T x = in(0), copy;
    E n, batch;
    if (!square_copy("Det", &copy, &n, &batch)) return;
    T y = scratch("det", acc(x), list1(batch));
    E args[] = {batch, n};
    call_kernel("det", acc(x), (const T[]){copy, y}, 2, args, 2);
    if (y) out_reshaped(0, y, sub_list(shape(x), 0, rank(x) - 2));
}

/* com.microsoft.Inverse, by the same elimination. */
static void op_inverse(void) {
    T x = in(0), copy;
    E n, batch;
    if (!square_copy("Inverse", &copy, &n, &batch)) return;
    T y = scratch("inverse", acc(x), list3(batch, n, n));
    E args[] = {batch, n};
    call_kernel("inverse", acc(x), (const T[]){copy, y}, 2, args, 2);
    if (!y) return;
    X sizes = put(shape(x), rank(x) - 2, n), o = axes(sizes);
    out(0, dtype(x), o, at_reshaped(y, o, sizes));
}

/* ---- NonMaxSuppression */
static T scalar_or(const char *name, int k, enum dtype t, double otherwise) {
    return stage(name, t, list0(), has(in(k)) ? cast(t, scalar(in(k))) : typed(t, otherwise));
}
/* Boxes as x0, y0, x1, y1, in order. They come as two corners y, x, y, x or as centre x, y and size w, h. */
static T corners(T b, bool centre, E batch, E n) {
    X i = axes_named(list3(batch, n, idx(4)), "b n c");
    E c = i.v[2], axis = mod_(c, idx(2)), high = ge(c, idx(2));
    if (centre) {
        E p = at(b, put(i, 2, axis)), half = div_(at(b, put(i, 2, add(axis, idx(2)))), num(2));
        return stage("box", F32, i, sel(high, add(p, half), sub(p, half)));
    }
    E other = sub(idx(1), axis), p = at(b, put(i, 2, other)), q = at(b, put(i, 2, add(other, idx(2))));
    return stage("box", F32, i, sel(high, max_(p, q), min_(p, q)));
}
static void op_nms(void) {
    T boxes = in(0), scores = in(1);
    double limit;
    if (fail_if(rank(boxes) != 3 || rank(scores) != 3, E_SHAPE,
                "NonMaxSuppression takes boxes [batch, n, 4] and scores [batch, classes, n]"))
        return;
    require(eq(dim(boxes, 2), idx(4)), "a box of NonMaxSuppression has four coordinates");
    E b = dim(scores, 0), classes = dim(scores, 1), n = dim(scores, 2), each = n;
    require(and_(eq(dim(boxes, 0), b), eq(dim(boxes, 1), n)), "boxes and scores of NonMaxSuppression do not fit");
    if (!has(in(2))) each = idx(0);
    else if (const_value(in(2), 0, &limit))
        each = limit <= 0 ? idx(0) : limit < DIM_MAX ? min_(n, idx((int64_t)limit)) : n;
    enum { AT_A_TIME = 16, HEAPS = 32, PARTS = 128, NEAR = 64 }; /* as the text says */
    E all = mul(b, classes), room = mul(all, each), part = max_(idx(1), ceil_div(all, idx(PARTS)));
    E groups = max_(idx(1), min_(classes, idx(AT_A_TIME))), neighbours = ceil_div(n, idx(HEAPS)),
      parts = min_(idx(PARTS), ceil_div(all, part)), wide = add(each, idx(NEAR));
    T box = corners(boxes, int_attr("center_point_box"), b, n), most = scalar_or("most", 2, I64, 0);
    T overlap = scalar_or("overlap", 3, F32, 0), lowest = scalar_or("lowest", 4, F32, -INFINITY);
    T picked = scratch("picked", I64, list2(room, idx(3))), count = scratch("count", I64, list0());
    T bufs[] = {box,
                scores,
                most,
                overlap,
                lowest,
                picked,
                count,
                scratch("heap", I32, list3(groups, idx(HEAPS), neighbours)),
                scratch("chosen", I32, list3(b, classes, each)),
                scratch("corner", F32, list3(groups, idx(4), wide)),
                scratch("kept", I64, list1(all)),
                scratch("first", I64, list1(all)),
                scratch("end", I64, list1(parts))};
    E args[] = {b, classes, n, room, each, wide, groups, neighbours, all, part, parts};
    call_kernel("nms", F32, bufs, 13, args, 11);
    X o = axes(list2(size_from("boxes", count, 0, idx(0), room), idx(3)));
    out(0, I64, o, at(picked, put(o, 0, wrap_index(o.v[0], room))));
}

static const struct op_slot s_topk[] = {{"X", TS_NUM, 0}, {"K", TSET(I64), 0}, {0}},
                            s_topk_out[] = {{"Values", TS_ANY, 0}, {"Indices", TSET(I64), 0}, {0}};
static const struct op_slot s_nonzero[] = {{"X", TS_REAL & ~TSET(STR), 0}, {0}};
static const struct op_slot s_cumsum[] = {{"x", TS_NUM, 0}, {"axis", TS_INDEX, 0}, {0}};
static const struct op_slot s_nms[] = {{"boxes", TSET(F32), 0},
                                       {"scores", TSET(F32), 0},
                                       {"max_output_boxes_per_class", TSET(I64), OPTIONAL},
                                       {"iou_threshold", TSET(F32), OPTIONAL},
                                       {"score_threshold", TSET(F32), OPTIONAL},
                                       {0}};
static const struct op_slot s_compress[] = {{"input", TS_ANY, 0}, {"condition", TSET(BOOL), 0}, {0}},
                            s_unique[] = {{"X", TS_NUM | TSET(STR), 0}, {0}};
static const struct op_slot s_unique_out[] = {{"Y", TS_ANY, 0},
                                              {"indices", TS_ANY, OPTIONAL},
                                              {"inverse_indices", TS_ANY, OPTIONAL},
                                              {"counts", TS_ANY, OPTIONAL},
                                              {0}};
static const struct op_attr a_compress[] = {A_INT("axis"), {0}};
static const struct op_attr a_unique[] = {A_INT("axis"), A_INT("sorted", .i = 1), {0}};
static const struct op_attr a_topk[] = {A_INT("axis", .i = -1), A_INT("largest", .i = 1), A_INT("sorted", .i = 1), {0}};
static const struct op_attr a_cumsum[] = {A_INT("exclusive"), A_INT("reverse"), {0}};
static const struct op_attr a_nms[] = {A_INT("center_point_box"), {0}};
const struct op ops_select[] = {
    {"", "TopK", 11, 1, a_topk, s_topk, s_topk_out, .define = op_topk, .upgrades = u_topk,
     .spec = "TopK-11; always sorted, ties in order of position", .flags = OP_PICKS,
     .axes = {AXES_ATTR, .reduces = true}},
    {"", "NonZero", 13, 9, attrs_none, s_nonzero, slots_y, .define = op_nonzero,
     .spec = "NonZero-13, not of strings and complex numbers"},
    {"", "CumSum", 14, 11, a_cumsum, s_cumsum, slots_y, .define = op_cumsum, .spec = "CumSum-14", .axes = {AXES_INPUT}},
    {"", "CumProd", 26, 26, a_cumsum, s_cumsum, slots_y, .define = op_cumprod, .spec = "CumProd-26"},
    {"", "Compress", 11, 9, a_compress, s_compress, slots_y, .define = op_compress,
     .spec = "Compress-11; a condition of any rank, as its elements", .flags = OP_PICKS},
    {"", "Unique", 11, 11, a_unique, s_unique, s_unique_out, .define = op_unique,
     .spec = "Unique-11; NaN equals NaN and is greater than numbers, as in numpy"},
    {"", "Det", 22, 11, attrs_none, slots_float, slots_y, .define = op_det, .spec = "Det-22"},
    {"com.microsoft", "Inverse", 1, 1, attrs_none, slots_float, slots_y, .define = op_inverse,
     .spec = "com.microsoft.Inverse"},
    {"", "NonMaxSuppression", 11, 10, a_nms, s_nms, slots_y, .define = op_nms, .spec = "NonMaxSuppression-11"},
    {0},
};
