/* TensorFlow Lite: detection. Boxes are selected by ONNX's NonMaxSuppression. The operators here bring its result,
 * whose length is only known at run time, into tensors of the fixed sizes that TFLite gives, padded with zeros. */
#include "lower/ops/tflite.h"
#include <math.h>

static bool const_float(int k, float *v) {
    V x = gin(k);
    if (!x || !x->init || tensor_count(x->init) != 1) return fail(E_OP, "input %d must be a constant number", k), false;
    *v = (float)tensor_f(x->init, 0);
    return true;
}
/* Rows [K, 3] of boxes to keep: those with scores above the least one whose overlap with a better box is not above the
 * threshold. boxes [N, 4], scores [N]. */
static V selected(V boxes, V scores, int64_t most, float overlap, float least) {
    V b = N_OP("Unsqueeze", boxes, N_INTS(0));
    V s = N_OP("Unsqueeze", scores, N_INTS(0, 1));
    return n_inferred(
        n_node("NonMaxSuppression",
               (const V[]){b, s, N_INTS(most), n_const_f(F32, (double)overlap), n_const_f(F32, (double)least)}, 5, 1));
}
/* Inputs: rows of NonMaxSuppression, scores [N]. Results: indices [M], their scores [M], how many there are. */
static void op_padded(void) {
    T rows = in(0), scores = in(1);
    X i = axes(list1(idx(int_attr("most"))));
    E here = lt(i.v[0], dim(rows, 0)), box = at_or(rows, list2(i.v[0], idx(2)), typed(I64, 0));
    out(0, I32, i, cast(I32, box));
    out(1, F32, i, sel(here, at(scores, list1(wrap_index(box, dim(scores, 0)))), num(0)));
    out(2, I32, axes(list0()), cast(I32, val(dim(rows, 0))));
}
static struct node *padded(V rows, V scores, int64_t most) {
    struct node *n = n_node_in("tflite", "Padded", (const V[]){rows, scores}, 2, 3);
    node_set_attr(n, attr_int("most", most));
    return def_infer(n->in->graph, n) ? n : NULL;
}
static void suppress(bool soft) {
    int64_t most;
    float overlap, least, sigma = 0;
    if (const_ints(2, &most, 1) != 1 || !const_float(3, &overlap) || !const_float(4, &least) ||
        (soft && !const_float(5, &sigma)))
        return;
    if (fail_if(sigma != 0 || most < 0 || most > DIM_MAX, E_OP, "soft suppression (sigma %g), or %lld boxes",
                (double)sigma, (long long)most))
        return;
    /* an overlap as large as the threshold is too large: ONNX allows it */
    V rows = selected(gin(0), gin(1), most, nextafterf(overlap, -1), least);
    struct node *n = rows ? padded(rows, gin(1), most) : NULL;
    if (!n) return;
    gout(0, n->outs.v[0]);
    if (soft) gout(1, n->outs.v[1]);
    gout(soft ? 2 : 1, n->outs.v[2]);
}
static void exp_nms4(void) { suppress(false); }
static void exp_nms5(void) { suppress(true); }

/* Corners [N, 4] of encodings [1, N, 4...] relative to anchors [N, 4], all as y, x, h, w of a centre and its box. */
static void op_decode(void) {
    T e = in(0), a = in(1);
    static const char *const names[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
    E scale[4], half = typed(F64, 0.5);
    if (fail_if(rank(e) != 3 || rank(a) != 2, E_RANK, "encodings of rank %d and anchors of rank %d", rank(e), rank(a)))
        return;
    require(and_(eq(dim(e, 0), idx(1)), eq(dim(e, 1), dim(a, 0))), "there is not one anchor for each box");
    require(and_(ge(dim(e, 2), idx(4)), eq(dim(a, 1), idx(4))), "boxes and anchors must have 4 numbers");
    for (int k = 0; k < 4; k++) scale[k] = typed(F64, float_attr(names[k]));
    X i = axes(list2(dim(a, 0), idx(4)));
    E row = i.v[0], corner[4];
    for (int k = 0; k < 2; k++) { /* y, then x */
        E at_c = cast(F64, at(e, list3(idx(0), row, within(idx(k), dim(e, 2)))));
        E at_s = cast(F64, at(e, list3(idx(0), row, within(idx(k + 2), dim(e, 2)))));
        E anchor = cast(F64, at(a, list2(row, within(idx(k), dim(a, 1))))),
          size = cast(F64, at(a, list2(row, within(idx(k + 2), dim(a, 1)))));
        E centre = cast(F32, add(mul(div_(at_c, scale[k]), size), anchor));
        E reach = cast(F32, mul(mul(half, exp_(div_(at_s, scale[k + 2]))), size));
        corner[k] = sub(centre, reach), corner[k + 2] = add(centre, reach);
    }
    E v = corner[3];
    for (int k = 3; k--;) v = sel(eq(i.v[1], idx(k)), corner[k], v);
    out(0, F32, i, v);
}
/* Inputs: rows of NonMaxSuppression, corners [N, 4], the best scores [N, k] and their classes. */
static void op_detections(void) {
    T rows = in(0), boxes = in(1), scores = in(2), classes = in(3);
    int64_t most = int_attr("most"), each = int_attr("each");
    X i = axes(list3(idx(1), idx(most * each), idx(4))), j = axes(list2(idx(1), idx(most * each)));
    E zero = num(0), of_i = div_(i.v[1], idx(each)), of_j = div_(j.v[1], idx(each)), rank_ = mod_(j.v[1], idx(each));
    E box_i = wrap_index(at_or(rows, list2(of_i, idx(2)), typed(I64, 0)), dim(boxes, 0));
    E box_j = wrap_index(at_or(rows, list2(of_j, idx(2)), typed(I64, 0)), dim(scores, 0));
    E n = dim(rows, 0), column = within(rank_, dim(scores, 1));
    out(0, F32, i, sel(lt(of_i, n), at(boxes, list2(box_i, within(i.v[2], dim(boxes, 1)))), zero));
    out(1, F32, j,
        sel(lt(of_j, n), cast(F32, at(classes, list2(within(box_j, dim(classes, 0)), within(column, dim(classes, 1))))),
            zero));
    out(2, F32, j, sel(lt(of_j, n), at(scores, list2(box_j, column)), zero));
    out(3, F32, axes(list1(idx(1))), cast(F32, val(n)));
}
static void exp_detection(void) {
    int64_t most = int_attr("max_detections"), each = int_attr("max_classes_per_detection"),
            classes = int_attr("num_classes"), all;
    V encoded = gin(0), predicted = gin(1);
    if (fail_if(int_attr("use_regular_nms"), E_OP,
                "TFLite_Detection_PostProcess with a suppression for each class (use_regular_nms) is not supported"))
        return;
    if (fail_if(dtype(in(0)) != F32 || dtype(in(1)) != F32 || dtype(in(2)) != F32 || v_rank(predicted) != 3, E_TYPE,
                "boxes, scores and anchors must be floats, the scores of rank 3"))
        return;
    if (fail_if(!known_dim(predicted, 2, &all) || most < 1 || each < 1 || classes < 1 || all < classes ||
                    each > classes || most > DIM_MAX / each,
                E_ATTR, "%lld detections of %lld of %lld classes", (long long)most, (long long)each,
                (long long)classes))
        return;
    V boxes = own("DecodeBoxes", (const V[]){encoded, gin(2)}, 2,
                  ATTRS(attr_float("y_scale", float_attr("y_scale")), attr_float("x_scale", float_attr("x_scale")),
                        attr_float("h_scale", float_attr("h_scale")), attr_float("w_scale", float_attr("w_scale"))));
    V flat = N_OP("Squeeze", predicted, N_INTS(0)); /* a leading background class is left out */
    V scores = N_OP("Slice", flat, N_INTS(all - classes), N_INTS(all), N_INTS(1));
    struct node *top = n_node("TopK", (const V[]){scores, N_INTS(each)}, 2, 2);
    node_set_attr(top, attr_int("axis", -1));
    if (!def_infer(top->in->graph, top)) return;
    V best = N_WITH("ReduceMax", ATTRS(attr_int("keepdims", 0)), scores, N_INTS(1));
    float least = (float)float_attr("nms_score_threshold");
    V rows = selected(boxes, best, most, (float)float_attr("nms_iou_threshold"), nextafterf(least, -INFINITY));
    if (!rows) return;
    struct node *n = n_node_in("tflite", "Detections", (const V[]){rows, boxes, top->outs.v[0], top->outs.v[1]}, 4, 4);
    node_set_attr(n, attr_int("most", most));
    node_set_attr(n, attr_int("each", each));
    if (!def_infer(n->in->graph, n)) return;
    for (int k = 0; k < 4; k++) gout(k, n->outs.v[k]);
}

static const struct op_attr a_padded[] = {A_INT("most", .i = 1), A_INT("each", .i = 1), {0}};
static const struct op_slot s_nms[] = {{"boxes", TSET(F32), 0},
                                       {"scores", TSET(F32), 0},
                                       {"most", TSET(I32), 0},
                                       {"overlap", TSET(F32), 0},
                                       {"least", TSET(F32), 0},
                                       {"sigma", TSET(F32), OPTIONAL},
                                       {0}},
                            s_padded[] = {{"rows", TSET(I64), 0}, {"scores", TSET(F32), 0}, {0}},
                            s_decode[] = {{"encodings", TSET(F32), 0}, {"anchors", TSET(F32), 0}, {0}},
                            s_detections[] = {{"rows", TSET(I64), 0},
                                              {"boxes", TSET(F32), 0},
                                              {"scores", TSET(F32), 0},
                                              {"classes", TSET(I64), 0},
                                              {0}},
                            s_detect[] = {{"encodings", TS_ANY, 0}, {"scores", TS_ANY, 0}, {"anchors", TS_ANY, 0}, {0}};
const struct op ops_tflite_detect[] = {
    TFLITE("NON_MAX_SUPPRESSION_V4", s_nms, exp_nms4, "constant sizes and thresholds"),
    TFLITE("NON_MAX_SUPPRESSION_V5", s_nms, exp_nms5, "the same, sigma 0"),
    {"tflite.custom", "TFLite_Detection_PostProcess", 1, 1, tfl_attrs, s_detect, slots_ys, .expand = exp_detection,
     .spec = "of floats, without use_regular_nms; zeros behind the detections"},
    {"tflite", "Padded", 1, 1, a_padded, s_padded, slots_ys, .define = op_padded, .spec = "zeros behind the rows"},
    DEFINED("DecodeBoxes", tfl_attrs, s_decode, op_decode, "in f64, as LiteRT"),
    {"tflite", "Detections", 1, 1, a_padded, s_detections, slots_ys, .define = op_detections,
     .spec = "zeros behind the rows"},
    {0},
};
