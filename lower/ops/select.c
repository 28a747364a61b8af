/* Ops that select by value: TopK, NonZero, NonMaxSuppression; and CumSum. Their algorithms are kernels in
 * templates/kernels; how many elements are found is a size that the kernel tells. */
#include "lower/ops/ops.h"
#include <math.h>

/* The dims of x as before, along and after an axis. */
static X around(T x, int a) {
    return list3(product(sub_list(shape(x), 0, a)), dim(x, a), product(sub_list(shape(x), a + 1, rank(x))));
}

static void op_topk(void) {
    T x = in(0);
    int a = axis_attr("axis", x);
    if (rank(x) < 1) {
        fail(E_RANK, "TopK takes a tensor of rank 1 or more");
        return;
    }
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
    T flag = stage("flag", BOOL, i, v == BOOL ? at(x, i) : ne(at(x, i), typed(v, 0)));
    T pos = scratch("pos", I64, list1(n)), count = scratch("count", I64, list0());
    call_kernel("nonzero", BOOL, (const T[]){flag, pos, count}, 3, &n, 1);
    E found = size_from("nonzero", count, 0, idx(0), n);
    if (!rank(x)) { /* a scalar: one row less than elements */
        out(0, I64, axes(list2(idx(0), found)), typed(I64, 0));
        return;
    }
    X o = axes_named(list2(idx(rank(x)), found), "axis i");
    E flat = wrap_index(at(pos, list1(wrap_index(o.v[1], n))), n), r = NULL;
    X where = unflatten_index(flat, shape(x));
    for (int k = rank(x); k-- > 0;) r = r ? sel(eq(o.v[0], idx(k)), val(where.v[k]), r) : val(where.v[k]);
    out(0, I64, o, r);
}

static void op_cumsum(void) {
    T x = in(0);
    double given;
    if (!const_value(in(1), 0, &given)) {
        fail(E_ATTR, "the axis of CumSum must be known at compile time");
        return;
    }
    X e = around(x, norm_axis((int64_t)given, rank(x)));
    E args[] = {e.v[0], e.v[1], e.v[2], idx(int_attr("exclusive") != 0), idx(int_attr("reverse") != 0)};
    call_kernel("cumsum", dtype(x), (const T[]){x, result(0, dtype(x), shape(x))}, 2, args, 5);
}

/* ---- NonMaxSuppression */
static T scalar_or(const char *name, int k, enum dtype t, double otherwise) {
    return stage(name, t, list0(), has(in(k)) ? cast(t, scalar(in(k))) : typed(t, otherwise));
}
/* Boxes as x0, y0, x1, y1, in order. They come as two corners y, x, y, x or as centre x, y and size w, h. */
static T corners(T b, bool centre) {
    X i = axes_named(shape(b), "b n c");
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
    if (rank(boxes) != 3 || rank(scores) != 3 || !x_is(dim(boxes, 2), 4)) {
        fail(E_SHAPE, "NonMaxSuppression takes boxes [batch, n, 4] and scores [batch, classes, n]");
        return;
    }
    E b = dim(scores, 0), classes = dim(scores, 1), n = dim(scores, 2), each = n;
    require(and_(eq(dim(boxes, 0), b), eq(dim(boxes, 1), n)), "boxes and scores of NonMaxSuppression do not fit");
    if (!has(in(2))) each = idx(0);
    else if (const_value(in(2), 0, &limit))
        each = limit <= 0 ? idx(0) : limit < DIM_MAX ? min_(n, idx((int64_t)limit)) : n;
    E room = mul(mul(b, classes), each), args[] = {b, classes, n, room};
    T box = corners(boxes, int_attr("center_point_box")), most = scalar_or("most", 2, I64, 0);
    T overlap = scalar_or("overlap", 3, F32, 0), lowest = scalar_or("lowest", 4, F32, -INFINITY);
    T picked = scratch("picked", I64, list2(room, idx(3))), count = scratch("count", I64, list0()),
      left = scratch("left", BOOL, list1(n));
    call_kernel("nms", F32, (const T[]){box, scores, most, overlap, lowest, picked, count, left}, 8, args, 4);
    X o = axes(list2(size_from("boxes", count, 0, idx(0), room), idx(3)));
    out(0, I64, o, at(picked, put(o, 0, wrap_index(o.v[0], room))));
}

static const struct op_slot s_topk[] = {{"X", TS_NUM, 0}, {"K", TSET(I64), 0}, {0}},
                            s_topk_out[] = {{"Values", TS_ANY, 0}, {"Indices", TSET(I64), 0}, {0}};
static const struct op_slot s_cumsum[] = {{"x", TS_NUM, 0}, {"axis", TS_INDEX, 0}, {0}};
static const struct op_slot s_nms[] = {{"boxes", TSET(F32), 0},
                                       {"scores", TSET(F32), 0},
                                       {"max_output_boxes_per_class", TSET(I64), OPTIONAL},
                                       {"iou_threshold", TSET(F32), OPTIONAL},
                                       {"score_threshold", TSET(F32), OPTIONAL},
                                       {0}};
static const struct op_attr a_topk[] = {{.name = "axis", .kind = AT_INT, .i = -1},
                                        {.name = "largest", .kind = AT_INT, .i = 1},
                                        {.name = "sorted", .kind = AT_INT, .i = 1},
                                        {0}};
static const struct op_attr a_cumsum[] = {
    {.name = "exclusive", .kind = AT_INT}, {.name = "reverse", .kind = AT_INT}, {0}};
static const struct op_attr a_nms[] = {{.name = "center_point_box", .kind = AT_INT}, {0}};
const struct op ops_select[] = {
    {"", "TopK", 11, 1, a_topk, s_topk, s_topk_out, .define = op_topk, .upgrades = u_topk,
     .spec = "TopK-11; always sorted, ties in order of position"},
    {"", "NonZero", 13, 9, attrs_none, slots_x, slots_y, .define = op_nonzero, .spec = "NonZero-13"},
    {"", "CumSum", 14, 11, a_cumsum, s_cumsum, slots_y, .define = op_cumsum,
     .spec = "CumSum-14; the axis must be constant"},
    {"", "NonMaxSuppression", 11, 10, a_nms, s_nms, slots_y, .define = op_nms, .spec = "NonMaxSuppression-11"},
    {0},
};
