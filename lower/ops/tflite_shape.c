/* TensorFlow Lite: operators that move elements as they are: shapes, parts, pads, blocks. Nearly all are ONNX's under
 * other names, with i32 where ONNX has i64 and the masks of strided slices spelled out. Codes of quantised tensors are
 * moved as they are. */
#include "lower/ops/tflite.h"
#include <string.h>

/* ---- shapes */
static void exp_reshape(void) {
    const int64_t *given;
    int n = ints_attr("new_shape", &given);
    V shape = gin(1) ? int_vector(gin(1)) : n_const_i64(given, n);
    if (n == 1 && given[0] == 0 && !gin(1)) shape = n_const_i64(NULL, 0); /* how older files say: a scalar */
    gout(0, N_WITH("Reshape", ATTRS(attr_int("allowzero", 1)), gin(0), shape));
}
static void exp_squeeze(void) {
    const int64_t *axis;
    int n = ints_attr("squeeze_dims", &axis);
    gout(0, n ? N_OP("Squeeze", gin(0), n_const_i64(axis, n)) : N_OP("Squeeze", gin(0)));
}
static void exp_expand_dims(void) { gout(0, N_OP("Unsqueeze", gin(0), int_vector(gin(1)))); }
static void exp_shape(void) {
    enum dtype t = out_type() == NONE ? I32 : out_type();
    gout(0, n_cast(N_OP("Shape", gin(0)), t));
}
static void exp_rank(void) { gout(0, n_const_f(I32, v_rank(gin(0)))); }
static void exp_transpose(void) {
    int64_t perm[X_MAX_LIST];
    int n = const_ints(1, perm, X_MAX_LIST), rank = v_rank(gin(0));
    bool seen[X_MAX_LIST] = {false};
    if (n < 0) return;
    for (int k = 0; k < n; k++) {
        if (perm[k] < 0) perm[k] += rank;
        if (fail_if(n != rank || perm[k] < 0 || perm[k] >= rank || seen[perm[k]], E_ATTR,
                    "these are not the %d axes in another order", rank))
            return;
        seen[perm[k]] = true;
    }
    V y = transposed(gin(0), perm, n);
    gout(0, y == gin(0) ? N_OP("Identity", y) : y);
}
static void exp_broadcast_to(void) { gout(0, N_OP("Expand", gin(0), int_vector(gin(1)))); }
static void exp_tile(void) { gout(0, N_OP("Tile", gin(0), int_vector(gin(1)))); }
/* The shape to which two shapes broadcast, aligned at the right. */
static void exp_broadcast_args(void) {
    V s[2] = {int_vector(gin(0)), int_vector(gin(1))};
    int64_t n[2];
    if (fail_if(!known_dim(s[0], 0, &n[0]) || !known_dim(s[1], 0, &n[1]), E_SHAPE, "the ranks are not known")) return;
    for (int k = 0; k < 2; k++)
        if (n[k] < n[1 - k]) {
            struct tensor *lead = n_tensor(I64, (int64_t[]){n[1 - k] - n[k]}, 1);
            for (int64_t i = 0; i < n[1 - k] - n[k]; i++) tensor_set_i(lead, i, 1);
            s[k] = N_WITH("Concat", ATTRS(attr_int("axis", 0)), n_const(lead), s[k]);
        }
    V one = n_const_f(I64, 1);
    gout(0, n_cast(N_OP("Where", N_OP("Equal", s[0], one), s[1], s[0]), dtype(in(0))));
}

/* ---- together and apart */
/* u8 brought to the result's scale and zero point, as the reference kernel does it: in f32. */
static void op_rescaled(void) {
    T x = in(0);
    X i = axes(shape(x));
    struct quant q = quant_in(0), y = quant_out(0);
    float scale = q.scale * (1.0f / y.scale), bias = (float)-q.zero * scale;
    E v = add(mul(cast(F32, at(x, i)), num((double)scale)), num((double)bias));
    out_quantized(dtype(x), i, cast(I32, round_away(v)), y.zero, type_bounds(dtype(x)));
}
static V rescaled(int k) {
    struct quant q = quant_in(k), y = quant_out(0);
    if (!is_quantized(k) || (q.scale == y.scale && q.zero == y.zero)) return gin(k);
    if (dtype(in(k)) != U8) {
        if (dtype(in(k)) == I16) return gin(k); /* the reference kernel moves them as they are */
        return fail(E_ATTR, "inputs of a CONCATENATION of %s must be quantized as the result is",
                    dtype_name(dtype(in(k)))),
               gin(k);
    }
    V x = gin(k);
    return own("Rescaled", &x, 1,
               ATTRS(attr_floats("in_scale", &q.scale, 1), attr_floats("out_scale", &y.scale, 1),
                     attr_ints("in_zero", &q.zero, 1), attr_ints("out_zero", &y.zero, 1)));
}
static void join(bool stack) {
    V v[256];
    int n = n_in(), rank = n ? v_rank(gin(0)) : 0;
    int64_t axis = int_attr("axis"), ranks = rank + (stack ? 1 : 0);
    if (fail_if(n > 256 || n < 1, E_LIMIT, "%d tensors are joined, 1 to 256 are supported", n)) return;
    if (axis < 0) axis += ranks;
    if (fail_if(axis < 0 || axis >= ranks, E_ATTR, "axis %lld is outside the rank %lld", (long long)int_attr("axis"),
                (long long)ranks))
        return;
    for (int k = 0; k < n; k++) {
        if (fail_if(!gin(k), E_ARITY, "input %d is missing", k)) return;
        v[k] = stack ? N_OP("Unsqueeze", gin(k), N_INTS(axis)) : rescaled(k);
        if (!v[k]) return;
    }
    V y = n_op("Concat", 0, v, n, ATTRS(attr_int("axis", axis)));
    gout(0, is_quantized(0) ? y : activated(y));
}
static void exp_concatenation(void) { join(false); }
static void exp_pack(void) { join(true); }
static void exp_unpack(void) {
    V x = gin(0);
    int axis = v_rank(x) > 0 ? norm_axis(int_attr("axis"), v_rank(x)) : 0, n = n_out();
    int64_t size;
    if (fail_if(!known_dim(x, axis, &size) || size != n, E_SHAPE, "the axis that is unpacked has not %d elements", n))
        return;
    for (int k = 0; k < n; k++)
        if (wants(k)) gout(k, N_WITH("Gather", ATTRS(attr_int("axis", axis)), x, n_const_f(I64, k)));
}
static void split(V x, int axis_at, V sizes) {
    int64_t axis;
    if (const_ints(axis_at, &axis, 1) != 1) return;
    int outs = def_node()->outs.n;
    struct node *n = n_node("Split", (const V[]){x, sizes}, sizes ? 2 : 1, outs);
    node_set_attr(n, attr_int("axis", axis));
    if (!sizes) node_set_attr(n, attr_int("num_outputs", outs));
    if (!def_infer(n->in->graph, n)) return;
    for (int k = 0; k < outs; k++) gout(k, n->outs.v[k]);
}
static void exp_split(void) { split(gin(1), 0, NULL); }
static void exp_split_v(void) {
    int64_t size[X_MAX_LIST], axis, total, rest = 0;
    int n = const_ints(1, size, X_MAX_LIST), open = -1;
    if (n < 0 || const_ints(2, &axis, 1) != 1) return;
    for (int k = 0; k < n; k++)
        if (size[k] < 0) open = k;
        else rest += size[k];
    if (axis < 0) axis += v_rank(gin(0));
    if (open >= 0) {
        if (fail_if(!known_dim(gin(0), (int)axis, &total) || total < rest, E_SHAPE,
                    "the size that is left open is not known"))
            return;
        size[open] = total - rest;
    }
    split(gin(0), 2, n_const_i64(size, n));
}

/* ---- slices */
static void exp_slice(void) {
    V from = int_vector(gin(1)), size = int_vector(gin(2)), rest = n_const_f(I64, -1);
    V to = N_OP("Where", N_OP("Equal", size, rest), n_const_f(I64, 9e18), N_OP("Add", from, size));
    gout(0, N_OP("Slice", gin(0), from, to));
}
struct strided { /* for each sliced axis of the input: its place in begin, end, strides */
    int n, ndropped, nadded;
    int64_t spec[X_MAX_LIST], axis[X_MAX_LIST], stride[X_MAX_LIST], dropped[X_MAX_LIST], added[X_MAX_LIST];
};
static bool bit(const char *mask, int64_t k) { return int_attr(mask) >> k & 1; }
/* An ellipsis stands for the axes that nothing else mentions; a new axis consumes none; one that shrinks leaves
 * none. */
static bool read_masks(struct strided *s, int rank, int nspec, const int64_t *stride) {
    int spoken = 0, ellipsis = nspec, in_axis = 0, out_axis = 0;
    for (int k = 0; k < nspec; k++) {
        if (bit("ellipsis_mask", k)) ellipsis = k;
        else if (!bit("new_axis_mask", k)) spoken++;
    }
    if (spoken > rank) return fail(E_RANK, "%d axes are sliced of %d", spoken, rank), false;
    for (int k = 0; k < nspec; k++) {
        if (k == ellipsis) {
            in_axis += rank - spoken, out_axis += rank - spoken;
        } else if (bit("new_axis_mask", k)) {
            s->added[s->nadded++] = out_axis++;
        } else {
            s->spec[s->n] = k, s->stride[s->n] = stride[k], s->axis[s->n++] = in_axis;
            if (stride[k] == 0) return fail(E_ATTR, "a stride of 0"), false;
            if (bit("shrink_axis_mask", k)) s->dropped[s->ndropped++] = in_axis;
            else out_axis++;
            in_axis++;
        }
    }
    return true;
}
static V bools(const bool *v, int n) {
    struct tensor *t = n_tensor(BOOL, (int64_t[]){n}, 1);
    for (int k = 0; k < n; k++) tensor_set_i(t, k, v[k]);
    return n_const(t);
}
static void exp_strided_slice(void) {
    static const int64_t far = INT64_MAX, before = INT64_MIN;
    int64_t stride[X_MAX_LIST], low[X_MAX_LIST], high[X_MAX_LIST];
    bool begins[X_MAX_LIST] = {false}, ends[X_MAX_LIST] = {false}, shrinks[X_MAX_LIST] = {false};
    struct strided s = {0};
    int nspec = const_ints(3, stride, X_MAX_LIST), rank = v_rank(gin(0));
    if (nspec < 0 || !read_masks(&s, rank, nspec, stride)) return;
    V y = gin(0);
    if (s.n) {
        V which = n_const_i64(s.spec, s.n), from = int_vector(gin(1)), to = int_vector(gin(2));
        for (int k = 0; k < s.n; k++) {
            begins[k] = bit("begin_mask", s.spec[k]), ends[k] = bit("end_mask", s.spec[k]);
            shrinks[k] = bit("shrink_axis_mask", s.spec[k]);
            if (shrinks[k]) begins[k] = ends[k] = false, s.stride[k] = 1;
            low[k] = s.stride[k] > 0 ? 0 : far, high[k] = s.stride[k] > 0 ? far : before;
        }
        from = N_OP("Gather", from, which), to = N_OP("Gather", to, which);
        if (int_attr("offset")) to = N_OP("Add", from, to);
        V next = N_OP("Add", from, N_INTS(1)); /* the end of the single element that shrinking leaves; after -1 that is
                                                * the axis' end */
        next = N_OP("Where", N_OP("Equal", from, N_INTS(-1)), N_INTS(far), next);
        to = N_OP("Where", bools(shrinks, s.n), next, N_OP("Where", bools(ends, s.n), n_const_i64(high, s.n), to));
        from = N_OP("Where", bools(begins, s.n), n_const_i64(low, s.n), from);
        y = N_OP("Slice", y, from, to, n_const_i64(s.axis, s.n), n_const_i64(s.stride, s.n));
    }
    if (s.ndropped) y = N_OP("Squeeze", y, n_const_i64(s.dropped, s.ndropped));
    if (s.nadded) y = N_OP("Unsqueeze", y, n_const_i64(s.added, s.nadded));
    gout(0, y == gin(0) ? N_OP("Identity", y) : y);
}
static void exp_reverse(void) {
    int64_t axis[X_MAX_LIST], from[X_MAX_LIST], to[X_MAX_LIST], step[X_MAX_LIST];
    int n = const_ints(1, axis, X_MAX_LIST);
    if (n < 0) return;
    for (int k = 0; k < n; k++) from[k] = INT64_MAX, to[k] = INT64_MIN, step[k] = -1;
    gout(0,
         N_OP("Slice", gin(0), n_const_i64(from, n), n_const_i64(to, n), n_const_i64(axis, n), n_const_i64(step, n)));
}
static void exp_reverse_sequence(void) {
    gout(0, N_WITH("ReverseSequence",
                   ATTRS(attr_int("time_axis", int_attr("seq_dim")), attr_int("batch_axis", int_attr("batch_dim"))),
                   gin(0), int_vector(gin(1))));
}

/* ---- pads. Input 1: pairs [rank, 2], of ONNX all that is in front and then all behind. */
static V pads_of(V pairs) {
    return reshaped_to(transposed(n_cast(pairs, I64), (int64_t[]){1, 0}, 2), (int64_t[]){-1}, 1);
}
static bool are_pairs(void) {
    if (v_rank(gin(1)) == 2) return true;
    return fail(E_RANK, "pads of rank %d, not 2", v_rank(gin(1))), false;
}
static void exp_pad(void) { /* of codes with the zero point */
    enum dtype t = dtype(in(0));
    V with = gin(2) ? scalar_of(gin(2)) : n_const_f(t, is_quantized(0) ? (double)quant_out(0).zero : 0);
    if (are_pairs()) gout(0, N_OP("Pad", gin(0), pads_of(gin(1)), with));
}
/* [a b c] becomes [c b | a b c | b a] or, symmetric, [b a | a b c | c b]. */
static void op_mirror_pad(void) {
    T x = in(0), p = in(1);
    const int64_t *pad;
    int n = ints_attr("pads", &pad);
    bool symmetric = int_attr("mode") == 1;
    X dims = list0(), from = list0();
    (void)p;
    if (fail_if(n != 2 * rank(x), E_SHAPE, "%d pads for rank %d", n, rank(x))) return;
    for (int k = 0; k < rank(x); k++) {
        for (int e = 0; e < 2; e++) {
            int64_t w = pad[2 * k + e];
            if (fail_if(w < 0 || w > INT32_MAX, E_ATTR, "a pad of %lld", (long long)w)) return;
            require(le(idx(w), symmetric ? dim(x, k) : max_(sub(dim(x, k), idx(1)), idx(0))),
                    "a mirrored pad is wider than what is mirrored, axis %d", k);
        }
        dims = push(dims, add(dim(x, k), idx(pad[2 * k] + pad[2 * k + 1])));
    }
    X i = axes(dims);
    for (int k = 0; k < rank(x); k++) {
        E v = sub(i.v[k], idx(pad[2 * k])), last = sub(dim(x, k), idx(1)), one = idx(symmetric ? 1 : 0);
        E low = sub(neg(v), one), high = sub(add(last, last), sub(v, one));
        from = push(from, wrap_index(sel(lt(v, idx(0)), low, sel(gt(v, last), high, v)), dim(x, k)));
    }
    out(0, dtype(x), i, at(x, from));
}
static void exp_mirror_pad(void) {
    int64_t pad[2 * X_MAX_LIST];
    int n = const_ints(1, pad, 2 * X_MAX_LIST);
    V x = gin(0);
    if (n < 0) return;
    gout(0, own("MirrorPad", &x, 1, ATTRS(attr_ints("pads", pad, n), attr_int("mode", int_attr("mode")))));
}

/* ---- blocks of space */
static void exp_space_to_depth(void) {
    V y = N_WITH("SpaceToDepth", ATTRS(attr_int("blocksize", int_attr("block_size"))), channels_first(gin(0)));
    gout(0, channels_last(y));
}
static void exp_depth_to_space(void) {
    V y = N_WITH("DepthToSpace", ATTRS(attr_int("blocksize", int_attr("block_size")), attr_str("mode", "DCR")),
                 channels_first(gin(0)));
    gout(0, channels_last(y));
}
/* x[N, S..., C] with m = length of the blocks spatial axes; inputs: block sizes, pads or crops [m, 2]. */
static bool read_blocks(int64_t *block, int *m) {
    *m = const_ints(1, block, 4);
    if (*m < 0) return false;
    if (v_rank(gin(0)) <= *m || *m < 1)
        return fail(E_RANK, "%d blocks of a tensor of rank %d", *m, v_rank(gin(0))), false;
    for (int k = 0; k < *m; k++)
        if (block[k] < 1 || block[k] > 1 << 12) return fail(E_ATTR, "a block of size %lld", (long long)block[k]), false;
    return true;
}
static V dim_of(V shape, int k) { return N_OP("Slice", shape, N_INTS(k), N_INTS(k + 1)); }
static V joined(const V *v, int n) { return n_op("Concat", 0, v, n, ATTRS(attr_int("axis", 0))); }
static void exp_space_to_batch(void) {
    int64_t block[X_MAX_LIST], perm[X_MAX_LIST], product_ = 1;
    int m, rank = v_rank(gin(0)), n = 0, p = 0;
    V apart[X_MAX_LIST], together[X_MAX_LIST];
    if (!read_blocks(block, &m)) return;
    int64_t pad[2 * X_MAX_LIST], lead[2 * X_MAX_LIST] = {0};
    if (fail_if(const_ints(2, pad, 2 * X_MAX_LIST) != 2 * m, E_SHAPE, "pads must be constant, two for each block"))
        return;
    for (int k = 0; k < m; k++) lead[1 + k] = pad[2 * k], lead[rank + 1 + k] = pad[2 * k + 1], product_ *= block[k];
    double zero = is_quantized(0) ? (double)quant_out(0).zero : 0;
    V x = N_OP("Pad", gin(0), n_const_i64(lead, 2 * rank), n_const_f(dtype(in(0)), zero)), shape = N_OP("Shape", x);
    apart[n++] = dim_of(shape, 0);
    for (int k = 0; k < m; k++)
        apart[n++] = N_OP("Div", dim_of(shape, 1 + k), N_INTS(block[k])), apart[n++] = N_INTS(block[k]);
    for (int k = m + 1; k < rank; k++) apart[n++] = dim_of(shape, k);
    for (int k = 0; k < m; k++) perm[p++] = 2 * k + 2;
    perm[p++] = 0;
    for (int k = 0; k < m; k++) perm[p++] = 2 * k + 1;
    for (int k = 2 * m + 1; k < n; k++) perm[p++] = k;
    x = transposed(N_OP("Reshape", x, joined(apart, n)), perm, n);
    together[0] = N_OP("Mul", dim_of(shape, 0), N_INTS(product_));
    for (int k = 0; k < m; k++) together[1 + k] = apart[2 * k + 1];
    for (int k = m + 1; k < rank; k++) together[k] = dim_of(shape, k);
    gout(0, N_OP("Reshape", x, joined(together, rank)));
}
static void exp_batch_to_space(void) {
    int64_t block[X_MAX_LIST], perm[X_MAX_LIST], product_ = 1, crop[2 * X_MAX_LIST];
    int64_t from[X_MAX_LIST], axis[X_MAX_LIST];
    int m, rank = v_rank(gin(0)), n = 0, p = 0;
    V apart[X_MAX_LIST], together[X_MAX_LIST], to[X_MAX_LIST];
    if (!read_blocks(block, &m)) return;
    if (fail_if(const_ints(2, crop, 2 * X_MAX_LIST) != 2 * m, E_SHAPE, "crops must be constant, two for each block"))
        return;
    for (int k = 0; k < m; k++) product_ *= block[k];
    V x = gin(0), shape = N_OP("Shape", x), batch = N_OP("Div", dim_of(shape, 0), N_INTS(product_));
    for (int k = 0; k < m; k++) apart[n++] = N_INTS(block[k]);
    apart[n++] = batch;
    for (int k = 1; k < rank; k++) apart[n++] = dim_of(shape, k);
    perm[p++] = m;
    for (int k = 0; k < m; k++) perm[p++] = m + 1 + k, perm[p++] = k;
    for (int k = 2 * m + 1; k < n; k++) perm[p++] = k;
    x = transposed(N_OP("Reshape", x, joined(apart, n)), perm, n);
    together[0] = batch;
    for (int k = 0; k < m; k++) together[1 + k] = N_OP("Mul", dim_of(shape, 1 + k), N_INTS(block[k]));
    for (int k = m + 1; k < rank; k++) together[k] = dim_of(shape, k);
    x = N_OP("Reshape", x, joined(together, rank));
    for (int k = 0; k < m; k++)
        from[k] = crop[2 * k], axis[k] = k + 1, to[k] = N_OP("Sub", together[1 + k], N_INTS(crop[2 * k + 1]));
    gout(0, N_OP("Slice", x, n_const_i64(from, m), joined(to, m), n_const_i64(axis, m)));
}

static const struct op_slot s_reshape[] = {{"x", TS_ANY, 0}, {"shape", TS_INDEX, OPTIONAL}, {0}},
                            s_four[] = {{"a", TS_ANY, 0}, {"b", TS_ANY, 0}, {"c", TS_ANY, 0}, {"d", TS_ANY, 0}, {0}},
                            s_three[] = {{"a", TS_ANY, 0}, {"b", TS_ANY, 0}, {"c", TS_ANY, 0}, {0}},
                            s_codes[] = {{"x", T8, 0}, {0}}, s_real[] = {{"x", TS_REAL, 0}, {0}};
const struct op ops_tflite_shape[] = {
    AS_ONNX("RESHAPE", s_reshape, exp_reshape),
    AS_ONNX("SQUEEZE", tfl_any1, exp_squeeze),
    AS_ONNX("EXPAND_DIMS", tfl_any2, exp_expand_dims),
    AS_ONNX("SHAPE", tfl_any1, exp_shape),
    AS_ONNX("RANK", tfl_any1, exp_rank),
    TFLITE("TRANSPOSE", tfl_any2, exp_transpose, "constant permutation"),
    AS_ONNX("BROADCAST_TO", tfl_any2, exp_broadcast_to),
    TFLITE("BROADCAST_ARGS", tfl_any2, exp_broadcast_args, "shapes are taken to fit"),
    AS_ONNX("TILE", tfl_any2, exp_tile),
    TFLITE("CONCATENATION", tfl_many, exp_concatenation, "u8: rescaled in f32; i8 of one quantization"),
    AS_ONNX("PACK", tfl_many, exp_pack),
    AS_ONNX("UNPACK", tfl_any1, exp_unpack),
    TFLITE("SPLIT", tfl_any2, exp_split, "constant axis"),
    TFLITE("SPLIT_V", s_three, exp_split_v, "constant sizes and axis"),
    AS_ONNX("SLICE", s_three, exp_slice),
    TFLITE("STRIDED_SLICE", s_four, exp_strided_slice, "constant strides"),
    TFLITE("REVERSE_V2", tfl_any2, exp_reverse, "constant axes"),
    AS_ONNX("REVERSE_SEQUENCE", tfl_any2, exp_reverse_sequence),
    TFLITE("PAD", tfl_any3, exp_pad, "codes: with the zero point"),
    AS_ONNX("PADV2", s_three, exp_pad),
    TFLITE("MIRROR_PAD", tfl_any2, exp_mirror_pad, "constant pads"),
    AS_ONNX("SPACE_TO_DEPTH", tfl_any1, exp_space_to_depth),
    AS_ONNX("DEPTH_TO_SPACE", tfl_any1, exp_depth_to_space),
    TFLITE("SPACE_TO_BATCH_ND", s_three, exp_space_to_batch, "constant blocks and pads; codes: with the zero point"),
    TFLITE("BATCH_TO_SPACE_ND", s_three, exp_batch_to_space, "constant blocks and crops"),
    DEFINED("Rescaled", tfl_attrs, s_codes, op_rescaled, "in f32"),
    DEFINED("MirrorPad", tfl_attrs, s_real, op_mirror_pad, "at most the width of the tensor"),
    {0},
};
