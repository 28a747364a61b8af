/* TensorFlow Lite: operators that select elements by indices or conditions, and make tensors of few numbers. Nearly all
 * are ONNX's under other names, with i32 where ONNX has i64. */
#include "lower/ops/tflite.h"
#include <string.h>

/* ---- gather, scatter, select */
static void exp_gather(void) {
    int64_t batch = int_attr("batch_dims"), axis = int_attr("axis");
    int rank = v_rank(gin(0)), ri = v_rank(gin(1));
    if (axis < 0) axis += rank;
    if (batch < 0) batch += ri;
    if (batch == 0) {
        gout(0, N_WITH("Gather", ATTRS(attr_int("axis", axis)), gin(0), gin(1)));
        return;
    }
    gout(0, own("BatchGather", (const V[]){gin(0), gin(1)}, 2,
                ATTRS(attr_int("axis", axis), attr_int("batch_dims", batch))));
}
/* x[b..., m..., index[b..., j...], rest] */
static void op_batch_gather(void) {
    T x = in(0), k = in(1);
    int batch = (int)int_attr("batch_dims"), axis = (int)int_attr("axis"), rk = rank(k);
    if (fail_if(batch > axis || axis >= rank(x) || batch > rk || batch < 0, E_ATTR,
                "batch_dims %d and axis %d do not fit ranks %d and %d", batch, axis, rank(x), rk))
        return;
    for (int d = 0; d < batch; d++) require(eq(dim(x, d), dim(k, d)), "batches differ on axis %d", d);
    X own_dims = sub_list(shape(k), batch, rk - batch);
    X o = axes(cat(cat(sub_list(shape(x), 0, axis), own_dims), sub_list(shape(x), axis + 1, rank(x) - axis - 1)));
    E index = wrap_index(cast(I64, at(k, cat(sub_list(o, 0, batch), sub_list(o, axis, rk - batch)))), dim(x, axis));
    X from = cat(push(sub_list(o, 0, axis), index), sub_list(o, axis + rk - batch, rank(x) - axis - 1));
    out(0, dtype(x), o, at(x, from));
}
static void exp_gather_nd(void) { gout(0, N_OP("GatherND", gin(0), n_cast(gin(1), I64))); }
static void exp_embedding_lookup(void) { /* rows of input 1, of codes as floats */
    V w = gin(1), rows = gin(0);
    if (dtype_is_float(dtype(in(1))) || out_type() == dtype(in(1))) {
        gout(0, N_WITH("Gather", ATTRS(attr_int("axis", 0)), w, rows));
        return;
    }
    int64_t n = channels_of(1);
    V y = n_cast(N_WITH("Gather", ATTRS(attr_int("axis", 0)), w, rows), F32);
    int64_t dims[X_MAX_LIST] = {n};
    for (int k = 1; k < v_rank(w); k++) dims[k] = 1;
    struct tensor *s = n_tensor(F32, dims, n > 1 ? v_rank(w) : 0);
    for (int64_t k = 0; k < n; k++) tensor_set_f(s, k, channel_scale(1, (int)k));
    V scale = n_const(s);
    gout(0, N_OP("Mul", y, n > 1 ? N_WITH("Gather", ATTRS(attr_int("axis", 0)), scale, rows) : scale));
}
static V zeros_of(enum dtype t, V shape) {
    if (!dtype_is_int(t) && !dtype_is_float(t) && t != BOOL)
        return fail(E_TYPE, "%s is no number", dtype_name(t)), shape;
    struct tensor *z = n_tensor(t, (int64_t[]){1}, 1);
    return N_WITH("ConstantOfShape", ATTRS({.name = "value", .kind = AT_TENSOR, .u.t = z}), shape);
}
static void exp_scatter_nd(void) { /* what is written twice is added */
    V zeros_ = zeros_of(dtype(in(1)), int_vector(gin(2)));
    gout(0, N_WITH("ScatterND", ATTRS(attr_str("reduction", "add")), zeros_, n_cast(gin(0), I64), gin(1)));
}
static void exp_sparse_to_dense(void) { /* indices, shape, values, the value elsewhere */
    V shape = int_vector(gin(1)), at_k = n_cast(gin(0), I64), dense = N_OP("Expand", scalar_of(gin(3)), shape),
      v = gin(2);
    int64_t rank;
    if (fail_if(!known_dim(shape, 0, &rank), E_RANK, "the rank of the result is not known")) return;
    if (v_rank(at_k) < 2)
        at_k = reshaped_to(at_k,
                           (int64_t[]){v_rank(at_k) == 0 ? 1 : -1, v_rank(at_k) == 0 ? 1
                                                                   : rank == 1       ? 1
                                                                                     : rank},
                           2);
    if (v_rank(v) == 0) v = N_OP("Expand", v, N_OP("Slice", N_OP("Shape", at_k), N_INTS(0), N_INTS(1)));
    gout(0, N_OP("ScatterND", dense, at_k, v));
}
/* x with `update` written at start; start is moved so that it fits. */
static void op_update_slice(void) {
    T x = in(0), u = in(1), s = in(2);
    X i = axes(shape(x)), from = list0();
    E inside = truth(true);
    if (fail_if(rank(u) != rank(x) || count_of(s) != rank(x), E_RANK, "update and start do not fit rank %d", rank(x)))
        return;
    for (int k = 0; k < rank(x); k++) {
        require(le(dim(u, k), dim(x, k)), "the update is larger than what it is put into, axis %d", k);
        E last = sub(dim(x, k), dim(u, k)), start = value(s, k, INT32_MIN, INT32_MAX);
        E at_k = sub(i.v[k], clampi(start, idx(0), max_(last, idx(0))));
        inside = and_(inside, and_(ge(at_k, idx(0)), lt(at_k, dim(u, k))));
        from = push(from, at_k);
    }
    out(0, dtype(x), i, sel(inside, at_or(u, from, typed(dtype_value(dtype(x)), 0)), at(x, i)));
}
/* SELECT takes a condition for each row, too. */
static void exp_select(void) {
    V c = gin(0);
    int rc = v_rank(c), rx = v_rank(gin(1));
    if (rc == 1 && rx > 1) {
        int64_t dims[X_MAX_LIST] = {-1};
        for (int k = 1; k < rx; k++) dims[k] = 1;
        c = reshaped_to(c, dims, rx);
    }
    gout(0, N_OP("Where", c, gin(1), gin(2)));
}
static void exp_where(void) { /* places of what is not 0, one a row */
    V c = dtype(in(0)) == BOOL ? gin(0) : n_cast(gin(0), BOOL);
    gout(0, transposed(N_OP("NonZero", c), (int64_t[]){1, 0}, 2));
}
static void exp_one_hot(void) { /* indices, depth, on, off */
    V values = N_WITH("Concat", ATTRS(attr_int("axis", 0)), reshaped_to(gin(3), (int64_t[]){1}, 1),
                      reshaped_to(gin(2), (int64_t[]){1}, 1));
    V depth = scalar_of(gin(1));
    gout(0, N_WITH("OneHot", ATTRS(attr_int("axis", int_attr("axis"))), gin(0), depth, values));
}
static void exp_topk(void) {
    struct node *n = n_node("TopK", (const V[]){gin(0), int_vector(gin(1))}, 2, 2);
    node_set_attr(n, attr_int("axis", -1));
    if (!def_infer(n->in->graph, n)) return;
    gout(0, n->outs.v[0]);
    if (wants(1)) gout(1, n_cast(n->outs.v[1], I32));
}
static void exp_unique(void) {
    struct node *n = n_node("Unique", (const V[]){gin(0)}, 1, 3);
    enum dtype t = int_attr("idx_out_type") == 4 ? I64 : I32;
    node_set_attr(n, attr_int("sorted", 0));
    node_set_attr(n, attr_int("axis", 0));
    if (!def_infer(n->in->graph, n)) return;
    gout(0, n->outs.v[0]);
    if (wants(1)) gout(1, n_cast(n->outs.v[2], t));
}

/* ---- made of nothing */
static void exp_fill(void) { gout(0, N_OP("Expand", scalar_of(gin(1)), int_vector(gin(0)))); }
static void exp_range(void) { gout(0, N_OP("Range", scalar_of(gin(0)), scalar_of(gin(1)), scalar_of(gin(2)))); }
static void op_matrix_diag(void) {
    T x = in(0);
    int last = rank(x) - 1;
    if (fail_if(last < 0, E_RANK, "the diagonal of a scalar")) return;
    X i = axes(push(shape(x), dim(x, last)));
    E on = eq(i.v[last], i.v[last + 1]);
    out(0, dtype(x), i, sel(on, at(x, sub_list(i, 0, last + 1)), typed(dtype_value(dtype(x)), 0)));
}
static void op_matrix_set_diag(void) {
    T x = in(0), d = in(1);
    int last = rank(x) - 1;
    if (fail_if(last < 1 || rank(d) != last, E_RANK, "a diagonal of rank %d for a tensor of rank %d", rank(d), rank(x)))
        return;
    require(eq(dim(d, last - 1), min_(dim(x, last - 1), dim(x, last))), "the diagonal has another length");
    X i = axes(shape(x));
    E zero = typed(dtype_value(dtype(x)), 0);
    out(0, dtype(x), i, sel(eq(i.v[last], i.v[last - 1]), at_or(d, sub_list(i, 0, last), zero), at(x, i)));
}
/* How many boundaries are not above the value: boundaries are in order. */
static void op_bucketize(void) {
    T x = in(0), b = in(1);
    X i = axes(shape(x));
    E r = raxis(dim(b, 0), "b"), v = at(x, i), limit = cast((enum dtype)v->type, at(b, list1(r)));
    T n = reduce("above", I32, i, RED_SUM, list1(r), sel(le(limit, v), typed(I32, 1), typed(I32, 0)), NULL);
    if (n) out(0, I32, i, at(n, i));
}
static void exp_bucketize(void) {
    const float *v;
    int n = floats_attr("boundaries", &v);
    struct tensor *t = n_tensor(F32, (int64_t[]){n}, 1);
    for (int k = 0; k < n; k++) tensor_set_f(t, k, (double)v[k]);
    gout(0, OWN("Bucketize", gin(0), n_const(t)));
}
/* Sums of the rows of x that belong to the same segment: numbered 0, 1 ..., each at least the one before; or in any
 * order, then input 2 is their number. */
static void segments(const char *reduction, double start) {
    V x = gin(0), at_k = int_vector(gin(1)), n = gin(2), rows;
    enum dtype t = dtype(in(0));
    if (n) {
        rows = int_vector(n);
    } else { /* one more than the last number */
        V last = N_OP("Slice", at_k, N_INTS(-1), N_INTS(INT64_MAX));
        rows = N_OP("Add", last, N_INTS(1));
    }
    V tail = N_OP("Slice", N_OP("Shape", x), N_INTS(1), N_INTS(INT64_MAX));
    V none = N_OP("Expand", n_const_f(t, start), N_WITH("Concat", ATTRS(attr_int("axis", 0)), rows, tail));
    gout(0, N_WITH("ScatterND", ATTRS(attr_str("reduction", reduction)), none, N_OP("Unsqueeze", at_k, N_INTS(-1)), x));
}
static double lowest(void) {
    return dtype_is_float(dtype(in(0))) ? -3.4028234663852886e38 : (double)type_bounds(dtype(in(0))).lo;
}
static double highest(void) {
    return dtype_is_float(dtype(in(0))) ? 3.4028234663852886e38 : (double)type_bounds(dtype(in(0))).hi;
}
static void exp_segment_sum(void) { segments("add", 0); }
static void exp_segment_prod(void) { segments("mul", 1); }
static void exp_segment_max(void) { segments("max", lowest()); }
static void exp_segment_min(void) { segments("min", highest()); }
static void exp_densify(void) { gout(0, N_OP("Identity", gin(0))); } /* the import has made it dense */
static void exp_bitcast(void) {
    enum dtype t = out_type();
    gout(0, N_WITH("BitCast", ATTRS(attr_int("to", dtype_onnx(t))), gin(0)));
}

static const struct op_attr a_unique[] = {A_INT("idx_out_type", .i = 2), {0}};
static const struct op_slot s_four[] = {{"a", TS_ANY, 0}, {"b", TS_ANY, 0}, {"c", TS_ANY, 0}, {"d", TS_ANY, 0}, {0}},
                            s_three[] = {{"a", TS_ANY, 0}, {"b", TS_ANY, 0}, {"c", TS_ANY, 0}, {0}},
                            s_real[] = {{"x", TS_REAL, 0}, {0}},
                            s_real2[] = {{"x", TS_REAL, 0}, {"y", TS_REAL, 0}, {0}},
                            s_gather[] = {{"x", TS_REAL, 0}, {"indices", TS_INDEX | TSET(I16), 0}, {0}},
                            s_update[] = {{"x", TS_REAL, 0}, {"update", TS_REAL, 0}, {"start", TS_INDEX, 0}, {0}},
                            s_buckets[] = {{"x", TS_NUM, 0}, {"boundaries", TSET(F32), 0}, {0}};
const struct op ops_tflite_gather[] = {
    TFLITE("GATHER", tfl_any2, exp_gather, "an index outside is a fault"),
    AS_ONNX("GATHER_ND", tfl_any2, exp_gather_nd),
    TFLITE("EMBEDDING_LOOKUP", tfl_any2, exp_embedding_lookup, "codes become floats"),
    TFLITE("SCATTER_ND", s_three, exp_scatter_nd, "what is written twice is added"),
    AS_ONNX("SPARSE_TO_DENSE", s_four, exp_sparse_to_dense),
    BY_NAME("DYNAMIC_UPDATE_SLICE", s_three, exp_as_own, "UpdateSlice", "starts are clamped"),
    AS_ONNX("SELECT", s_three, exp_select),
    BY_NAME("SELECT_V2", s_three, exp_as_onnx, "Where", "as ONNX"),
    AS_ONNX("WHERE", tfl_any1, exp_where),
    AS_ONNX("ONE_HOT", s_four, exp_one_hot),
    AS_ONNX("TOPK_V2", tfl_any2, exp_topk),
    {"tflite", "UNIQUE", 1, 1, a_unique, tfl_any1, slots_ys, .expand = exp_unique, .spec = "as ONNX, not sorted"},
    AS_ONNX("FILL", tfl_any2, exp_fill),
    AS_ONNX("RANGE", s_three, exp_range),
    BY_NAME("MATRIX_DIAG", tfl_any1, exp_as_own, "MatrixDiag", "zeros beside the diagonal"),
    BY_NAME("MATRIX_SET_DIAG", tfl_any2, exp_as_own, "MatrixSetDiag", "the main diagonal"),
    TFLITE("BUCKETIZE", tfl_any1, exp_bucketize, "compared in the type of the input"),
    TFLITE("SEGMENT_SUM", tfl_any2, exp_segment_sum, "the last number tells how many"),
    TFLITE("UNSORTED_SEGMENT_SUM", s_three, exp_segment_sum, "as ONNX ScatterND"),
    TFLITE("UNSORTED_SEGMENT_PROD", s_three, exp_segment_prod, "as ONNX ScatterND"),
    TFLITE("UNSORTED_SEGMENT_MAX", s_three, exp_segment_max, "as ONNX ScatterND"),
    TFLITE("UNSORTED_SEGMENT_MIN", s_three, exp_segment_min, "as ONNX ScatterND"),
    TFLITE("DENSIFY", tfl_any1, exp_densify, "of constants, which the import makes dense"),
    AS_ONNX("BITCAST", tfl_any1, exp_bitcast),
    DEFINED("BatchGather", tfl_attrs, s_gather, op_batch_gather, "an index outside is a fault"),
    DEFINED("UpdateSlice", tfl_attrs, s_update, op_update_slice, "starts are clamped"),
    DEFINED("MatrixDiag", tfl_attrs, s_real, op_matrix_diag, "zeros beside the diagonal"),
    DEFINED("MatrixSetDiag", tfl_attrs, s_real2, op_matrix_set_diag, "the main diagonal"),
    DEFINED("Bucketize", tfl_attrs, s_buckets, op_bucketize, "compared in the type of the input"),
    {0},
};
