/* Boxes of images, each cut into bins or resized: RoiAlign, MaxRoiPool, CropAndResize. Which cells a box reads does not
 * depend on the channel, so tables say it (grid.h). */
#include "lower/ops/grid.h"
#include <math.h>
#include <string.h>

enum { SOME = 4 }; /* of each bin, where the run finds how many: samples or cells */
/* Each box (input 1) has so many bins along two axes, for which so many cells are read each. */
static void expand_boxes(const char *name, E high, E wide, E cells) {
    E dims[32], read[] = {idx(1), high, wide, cells};
    if (gdims(gin(1), dims) > 0) read[0] = dims[0];
    expand_layouts(name, channels_last_pay(gin(0), read, 4));
}
static X box_axes(const struct grid *g, T rois, X bins) {
    X size = grid_list(g, dim(rois, 0), grid_channels(g), bins);
    return axes_named(size, g->last ? "n oh ow c" : "n c oh ow");
}

/* ---- RoiAlign: boxes are cut into bins, each the mean (or the greatest weighted tap) of samples on a regular grid */
struct box_axis {
    T from, bin, count; /* of each box: where it begins, the length of a bin, samples of a bin */
    E most;             /* samples of a bin in any box */
};
static struct box_axis box_axis(T rois, enum dtype t, int k, E bins) {
    struct box_axis b;
    bool half = !strcmp(str_attr("coordinate_transformation_mode"), "half_pixel");
    int64_t ratio = int_attr("sampling_ratio");
    X n = axes_named(list1(dim(rois, 0)), "n");
    E edge[2], nb = cast(t, val(bins));
    for (int e = 0; e < 2; e++) { /* boxes are x1, y1, x2, y2 */
        E at_edge = within(idx(1 - k + 2 * e), dim(rois, 1)), scale = typed(t, float_attr("spatial_scale"));
        edge[e] = sub(mul(cast(t, at(rois, list2(n.v[0], at_edge))), scale), num(half ? 0.5 : 0));
    }
    E length = sub(edge[1], edge[0]);
    b.from = stage("from", t, n, edge[0]);
    b.bin = stage("bin", t, n, div_(half ? length : max_(length, num(1)), nb));
    n = axes_named(list1(dim(rois, 0)), "n");
    E count = ratio > 0 ? typed(t, (double)ratio) : max_(ceil_(at(b.bin, n)), num(0));
    b.count = stage("count", t, n, count);
    b.most = idx(ratio);
    if (ratio > 0) return b;
    X r = raxes(list1(dim(rois, 0)), "n");
    T most = reduce("most", I64, list0(), RED_MAX, r, cast(I64, at(b.count, r)), val(idx(0)));
    b.most = size_from(NULL, most, 0, idx(0), idx(DIM_MAX));
    return b;
}
/* Where a sample of a bin lies. */
static E box_place(const struct box_axis *b, enum dtype t, X n, E bin, E sample) {
    E length = at(b->bin, n);
    return add(add(at(b->from, n), mul(cast(t, val(bin)), length)),
               div_(mul(add(cast(t, val(sample)), num(0.5)), length), at(b->count, n)));
}
static void op_roialign(void) {
    T x = in(0), rois = in(1), batch = in(2);
    bool most = !strcmp(str_attr("mode"), "max");
    if (fail_if(rank(x) != 4 || rank(rois) != 2 || rank(batch) != 1, E_RANK,
                "RoiAlign takes images of rank 4, boxes of rank 2 and batch indices of rank 1"))
        return;
    if (fail_if(int_attr("output_height") < 1 || int_attr("output_width") < 1 || int_attr("sampling_ratio") < 0, E_ATTR,
                "RoiAlign makes at least one bin, of no negative number of samples"))
        return;
    require(and_(eq(dim(rois, 1), idx(4)), eq(dim(batch, 0), dim(rois, 0))), "the boxes do not fit the batch indices");
    X bins = list2(idx(int_attr("output_height")), idx(int_attr("output_width")));
    enum dtype t = dtype(x) == F64 ? F64 : F32;
    struct grid g = {.x = x, .n = 2, .last = int_attr("channels_last") != 0, .border = true, .most = most, .t = t};
    struct box_axis box[2] = {box_axis(rois, t, 0, bins.v[0]), box_axis(rois, t, 1, bins.v[1])};
    for (int k = 0; k < 2; k++) {
        X i = axes_named(cat(list2(idx(taps_of(&g)), dim(rois, 0)), list2(bins.v[k], box[k].most)), "tap n o s");
        E p = box_place(&box[k], t, list1(i.v[1]), i.v[2], i.v[3]);
        g.length[k] = cast(t, val(grid_size(&g, k)));
        E inside = and_(ge(p, num(-1)), le(p, g.length[k]));
        tap_tables(&g, k, i, max_(num(0), min_(sub(g.length[k], num(1)), p)), inside);
        if (!g.cell[k] || !g.weight[k]) return;
    }
    X i = box_axes(&g, rois, bins), r = raxes(list2(box[0].most, box[1].most), "sh sw"), n = list1(i.v[0]);
    int first = g.last ? 1 : 2;
    E in_box = truth(true), cell[2];
    for (int k = 0; k < 2; k++) {
        in_box = and_(in_box, lt(cast(t, val(r.v[k])), at(box[k].count, n)));
        g.at[k] = list3(i.v[0], i.v[first + k], r.v[k]);
        cell[k] = at(g.cell[k], cat(list1(idx(0)), g.at[k]));
    }
    E image = wrap_index(at(batch, list1(within(i.v[0], dim(batch, 0)))), dim(x, 0)), none = typed(t, 0);
    E v = sel(all_inside(&g, cell), taps(&g, image, i.v[g.last ? 3 : 1]), none);
    v = sel(in_box, v, most ? typed(t, -INFINITY) : none);
    T all = reduce("all", t, i, most ? RED_MAX : RED_SUM, r, v, NULL);
    if (!all) return;
    i = box_axes(&g, rois, bins), n = list1(i.v[0]);
    E samples = mul(at(box[0].count, n), at(box[1].count, n));
    E y = most ? sel(gt(samples, num(0)), at(all, i), none) : div_(at(all, i), cast(t, max_(samples, num(1))));
    out(0, dtype(x), i, y);
}
static void exp_roialign(void) {
    int64_t ratio = int_attr("sampling_ratio");
    E samples = idx(ratio > 0 && ratio <= 64 ? ratio * ratio : SOME);
    expand_boxes("RoiAlign", idx(int_attr("output_height")), idx(int_attr("output_width")), mul(samples, idx(4)));
}
static void up_roialign(struct node *n) { /* boxes were not shifted by half a cell */
    struct attr mode = {.name = intern(up_ctx(n)->names, "coordinate_transformation_mode"),
                        .kind = AT_STRING,
                        .u.s = {.p = "output_half_pixel", .n = 17}};
    node_set_attr(n, mode);
}
static const struct op_upgrade u_roi[] = {{15, up_roialign}, {0}};

/* ---- MaxRoiPool: boxes of whole cells, cut into bins that may share cells; the greatest cell of each. The
 * specification leaves the rounding open; as in Fast R-CNN, corners go to the nearest cell, bins from the floor to the
 * ceiling. */
struct bins {
    T from, to; /* [box, bin]: cells, from..to - 1 */
    E most;     /* cells of a bin in any box */
};
static E nearest(E v) { /* halves go away from zero */
    E whole = trunc_(v), rest = sub(v, whole);
    E up = sel(ge(rest, num(0.5)), typed(F32, 1), typed(F32, 0)),
      down = sel(le(rest, num(-0.5)), typed(F32, 1), typed(F32, 0));
    return sub(add(whole, up), down);
}
static struct bins roi_bins(const struct grid *g, T rois, int k, E n) {
    E edge[2], length = cast(F32, val(grid_size(g, k))), cell[2];
    X i = axes_named(list2(dim(rois, 0), n), "n bin");
    for (int e = 0; e < 2; e++) { /* boxes are image, x1, y1, x2, y2 */
        E corner = cast(F32, at(rois, list2(i.v[0], within(idx(2 - k + 2 * e), dim(rois, 1)))));
        edge[e] = nearest(mul(corner, typed(F32, float_attr("spatial_scale"))));
    }
    E bin = div_(max_(add(sub(edge[1], edge[0]), num(1)), num(1)), cast(F32, val(n)));
    for (int e = 0; e < 2; e++) {
        E p = mul(add(cast(F32, val(i.v[1])), num(e)), bin);
        cell[e] = max_(num(0), min_(length, add(e ? ceil_(p) : floor_(p), edge[0])));
    }
    struct bins b = {.from = stage("from", I32, i, cast(I32, cell[0])), .to = stage("to", I32, i, cast(I32, cell[1]))};
    X r = raxes(list2(dim(rois, 0), n), "n");
    T most = reduce("most", I64, list0(), RED_MAX, r, cast(I64, sub(at(b.to, r), at(b.from, r))), val(idx(0)));
    b.most = size_from(NULL, most, 0, idx(0), grid_size(g, k));
    return b;
}
static void op_maxroipool(void) {
    T x = in(0), rois = in(1);
    const int64_t *pooled;
    if (fail_if(rank(x) != 4 || rank(rois) != 2, E_RANK, "MaxRoiPool takes images of rank 4 and boxes of rank 2"))
        return;
    if (fail_if(ints_attr("pooled_shape", &pooled) != 2 || pooled[0] < 1 || pooled[1] < 1, E_ATTR,
                "`pooled_shape` must be two positive numbers of bins"))
        return;
    require(eq(dim(rois, 1), idx(5)), "a box is an image and four corners");
    X n = list2(idx(pooled[0]), idx(pooled[1]));
    struct grid g = {.x = x, .n = 2, .last = int_attr("channels_last") != 0};
    struct bins b[2] = {roi_bins(&g, rois, 0, n.v[0]), roi_bins(&g, rois, 1, n.v[1])};
    X i = box_axes(&g, rois, n), r = raxes(list2(b[0].most, b[1].most), "h w");
    E image = cast(I64, at(rois, list2(i.v[0], within(idx(0), dim(rois, 1)))));
    E full = truth(true), cell[2];
    int first = g.last ? 1 : 2;
    for (int k = 0; k < 2; k++) { /* behind a bin its last cell, which changes nothing */
        X bin = list2(i.v[0], i.v[first + k]);
        E last = sub(at(b[k].to, bin), num(1));
        cell[k] = max_(num(0), min_(add(at(b[k].from, bin), cast(I32, val(r.v[k]))), last));
    }
    X from = grid_list(&g, wrap_index(image, dim(x, 0)), i.v[g.last ? 3 : 1], grid_index(&g, cell));
    enum dtype t = dtype_value(dtype(x));
    T all = reduce("all", t, i, RED_MAX, r, at(x, from), NULL);
    if (!all) return;
    i = box_axes(&g, rois, n);
    for (int k = 0; k < 2; k++) {
        X bin = list2(i.v[0], i.v[first + k]);
        full = and_(full, lt(at(b[k].from, bin), at(b[k].to, bin)));
    }
    out(0, dtype(x), i, sel(full, at(all, i), typed(t, 0)));
}
static void exp_maxroipool(void) {
    const int64_t *pooled;
    int n = ints_attr("pooled_shape", &pooled);
    E bin = idx(1);
    expand_boxes("MaxRoiPool", n > 0 ? idx(pooled[0]) : bin, n > 1 ? idx(pooled[1]) : bin, idx(SOME));
}

/* ---- CropAndResize: a window of an image for each region, in the image's coordinates from 0 to 1 */
static E coordinate(E from, E to, E size, E k, E count) {
    E last = cast(F32, val(sub(size, idx(1)))), steps = cast(F32, val(max_(sub(count, idx(1)), idx(1))));
    E many = add(mul(from, last), div_(mul(mul(cast(F32, val(k)), sub(to, from)), last), steps));
    return sel(gt(count, idx(1)), many, mul(mul(num(0.5), add(from, to)), last));
}
/* Along an axis of each region: the cells around a place, where between them it lies, and whether that is in the image.
 */
struct resized {
    T low, high, part, inside; /* [region, cell of the result] */
};
static struct resized resized(const struct grid *g, T rois, int k, E count, bool nearest) {
    X i = axes_named(list2(dim(rois, 0), count), "r o");
    E edge[2], last = cast(F32, val(sub(grid_size(g, k), idx(1))));
    for (int e = 0; e < 2; e++) edge[e] = cast(F32, at_or(rois, list2(i.v[0], idx(k + 2 * e)), num(0)));
    E p = coordinate(edge[0], edge[1], grid_size(g, k), i.v[1], count), inside = and_(ge(p, num(0)), le(p, last));
    p = max_(num(0), min_(last, p)); /* what is outside reads something, and is not used */
    E low = nearest ? floor_(add(p, num(0.5))) : floor_(p);
    return (struct resized){stage("low", I32, i, cast(I32, min_(last, low))),
                            stage("high", I32, i, cast(I32, min_(last, ceil_(p)))), stage("part", F32, i, sub(p, low)),
                            stage("inside", BOOL, i, inside)};
}
static E between(E from, E to, E part) { return add(from, mul(sub(to, from), part)); }
static void op_cropandresize(void) {
    T x = in(0), rois = in(1), images = in(2), size = in(3);
    bool nearest = !strcmp(str_attr("mode"), "nearest");
    if (fail_if(rank(x) != 4 || rank(rois) != 2 || rank(images) != 1 || !has_length(size, 2, "crop_size"), E_RANK,
                "images of rank 4, regions of rank 2 and indices of rank 1 are needed"))
        return;
    if (fail_if(!nearest && strcmp(str_attr("mode"), "bilinear"), E_ATTR, "\"mode\" must be bilinear or nearest"))
        return;
    require(eq(dim(rois, 1), idx(4)), "a region has four coordinates");
    require(eq(dim(rois, 0), dim(images, 0)), "there is not one image for each region");
    X crop = list2(value(size, 0, 1, DIM_MAX), value(size, 1, 1, DIM_MAX));
    struct grid g = {.x = x, .n = 2, .last = int_attr("channels_last") != 0};
    struct resized along[2];
    for (int k = 0; k < 2; k++) along[k] = resized(&g, rois, k, crop.v[k], nearest);
    X o = box_axes(&g, rois, crop);
    E image = wrap_index(at(images, list1(within(o.v[0], dim(images, 0)))), dim(x, 0)), c = o.v[g.last ? 3 : 1];
    E inside = truth(true), part[2], cell[2], corner[4];
    for (int k = 0; k < 2; k++) {
        X here = list2(o.v[0], o.v[(g.last ? 1 : 2) + k]);
        inside = and_(inside, at(along[k].inside, here));
        part[k] = at(along[k].part, here);
    }
    for (int n = 0; n < (nearest ? 1 : 4); n++) {
        for (int k = 0; k < 2; k++) {
            X here = list2(o.v[0], o.v[(g.last ? 1 : 2) + k]);
            cell[k] = at(n >> (1 - k) & 1 ? along[k].high : along[k].low, here);
        }
        corner[n] = at(x, grid_list(&g, image, c, grid_index(&g, cell)));
    }
    E v = nearest ? corner[0]
                  : between(between(corner[0], corner[1], part[1]), between(corner[2], corner[3], part[1]), part[0]);
    out(0, dtype(x), o, sel(inside, v, num(float_attr("extrapolation_value"))));
}
static void exp_cropandresize(void) {
    expand_boxes("CropAndResize", value(in(3), 0, 1, DIM_MAX), value(in(3), 1, 1, DIM_MAX),
                 idx(!strcmp(str_attr("mode"), "nearest") ? 1 : 4));
}

static const struct op_slot s_roi[] = {{"X", TS_FLOAT, 0}, {"rois", TS_FLOAT, 0}, {"batch_indices", TSET(I64), 0}, {0}};
static const struct op_attr a_roi[] = {A_STRING("coordinate_transformation_mode", .s = "half_pixel"),
                                       A_STRING("mode", .s = "avg"),
                                       A_INT("output_height", .i = 1),
                                       A_INT("output_width", .i = 1),
                                       A_INT("sampling_ratio"),
                                       A_FLOAT("spatial_scale", .f = 1),
                                       A_INT("channels_last"),
                                       {0}};
static const struct op_slot s_roipool[] = {{"X", TS_FLOAT, 0}, {"rois", TS_FLOAT, 0}, {0}};
static const struct op_attr a_roipool[] = {
    A_INTS("pooled_shape", .flags = A_REQUIRED), A_FLOAT("spatial_scale", .f = 1), A_INT("channels_last"), {0}};
static const struct op_slot s_crop[] = {
    {"X", TS_FLOAT, 0}, {"rois", TS_FLOAT, 0}, {"batch_indices", TSET(I32), 0}, {"crop_size", TSET(I32), 0}, {0}};
static const struct op_attr a_crop[] = {
    A_STRING("mode", .s = "bilinear"), A_FLOAT("extrapolation_value"), A_INT("channels_last"), {0}};
const struct op ops_boxes[] = {
    {"gcc2nn", "RoiAlign", 1, 1, a_roi, s_roi, slots_y, .define = op_roialign, .spec = "part of expansions"},
    {"gcc2nn", "MaxRoiPool", 1, 1, a_roipool, s_roipool, slots_y, .define = op_maxroipool,
     .spec = "part of expansions"},
    {"gcc2nn", "CropAndResize", 1, 1, a_crop, s_crop, slots_y, .define = op_cropandresize,
     .spec = "part of expansions"},
    {"", "RoiAlign", 22, 10, a_roi, s_roi, slots_y, .expand = exp_roialign, .upgrades = u_roi, .spec = "RoiAlign-22"},
    {"", "MaxRoiPool", 22, 1, a_roipool, s_roipool, slots_y, .expand = exp_maxroipool, .spec = "MaxRoiPool-22"},
    {"com.microsoft", "CropAndResize", 1, 1, a_crop, s_crop, slots_y, .expand = exp_cropandresize,
     .spec = "com.microsoft.CropAndResize"},
    {0},
};
