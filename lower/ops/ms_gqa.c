/* GroupQueryAttention of com.microsoft and what belongs to it: RotaryEmbedding, and a cache whose filled part is of
 * another length for each sequence of the batch. Expanded to rotations, the cache, a mask, and Attention of ai.onnx. */
#include "lower/ops/ms.h"
#include <float.h>
#include <string.h>

static V as_scalar(V v) { return N_OP("Squeeze", N_OP("Reshape", n_cast(v, I64), N_INTS(1)), N_INTS(0)); }
static V column(V v) { return N_OP("Unsqueeze", v, N_INTS(1)); } /* [b] as [b, 1] */

/* ---- RotaryEmbedding: that of ai.onnx, with positions that may be one start for all */
/* x with that many heads (if of rank 3), rotated by the caches at these positions [b, s]. */
static V rotated(V x, V cos, V sin, V at, int64_t heads, bool interleaved) {
    int64_t half, size;
    V ins[] = {x, cos, sin, at};
    struct node *r = n_node("RotaryEmbedding", ins, 4, 1);
    int last = x->type.rank - 1;
    node_set_attr(r, attr_int("interleaved", interleaved));
    if (x->type.rank == 3) node_set_attr(r, attr_int("num_heads", heads));
    if (x_is_int(cos->type.dims[1], &half) && x_is_int(x->type.dims[last], &size)) {
        size = x->type.rank == 3 ? size / (heads > 0 ? heads : 1) : size;
        if (2 * half < size) node_set_attr(r, attr_int("rotary_embedding_dim", 2 * half));
    }
    def_infer(r->in->graph, r);
    return r->outs.v[0];
}
static void exp_rotary(void) {
    V x = gin(0), at = gin(1), cos = gin(2), sin = gin(3);
    int64_t heads = int_attr("num_heads"), size, half;
    int r = x->type.rank;
    if (fail_if((r != 3 && r != 4) || cos->type.rank != 2 || sin->type.rank != 2 || at->type.rank < 1 ||
                    at->type.rank > 2,
                E_RANK, "an input of rank 3 or 4, caches of rank 2 and positions of rank 1 or 2 are needed"))
        return;
    if (fail_if(int_attr("is_packed_batching") || float_attr("scale") != 1, E_ATTR,
                "packed batching and a scale are not supported"))
        return;
    if (r == 3 && heads < 1) { /* a head is what the caches turn */
        if (fail_if(!x_is_int(x->type.dims[2], &size) || !x_is_int(cos->type.dims[1], &half) || half < 1 ||
                        size % (2 * half),
                    E_ATTR, "\"num_heads\" is not given, and does not follow from the sizes"))
            return;
        heads = size / (2 * half);
    }
    if (at->type.rank == 1) {
        V steps = ms_counted(N_OP("Squeeze", n_dim(x, r - 2), N_INTS(0)));
        V all = N_OP("Add", N_OP("Unsqueeze", steps, N_INTS(0)), N_OP("Reshape", at, N_INTS(1)));
        V two[] = {n_dim(x, 0), N_INTS(1)};
        at = N_OP("Expand", all, ms_joined(two, 2, 0));
    }
    gout(0, rotated(x, cos, sin, at, heads, int_attr("interleaved")));
}

/* ---- the cache: past[b, :, 0 .. used[b]), followed by the new elements, then 0. If it only keeps the newest, the
 * first dropped[b] of all these are missing. */
static void op_cache(void) {
    T past = in(0), fresh = in(1), used = in(2), room = in(3), dropped = in(4);
    int64_t heads = int_attr("heads");
    if (fail_if(rank(fresh) != 3 || (has(past) && rank(past) != 4) || rank(used) != 1 || heads < 1, E_RANK,
                "keys of rank 3, a cache of rank 4 and a vector of lengths are needed"))
        return;
    E size = div_(dim(fresh, 2), idx(heads)), steps = dim(fresh, 1), old = has(past) ? dim(past, 2) : idx(0);
    require(eq(mod_(dim(fresh, 2), idx(heads)), idx(0)), "the last axis is no multiple of the number of heads");
    require(eq(dim(used, 0), dim(fresh, 0)), "there is not one length for each sequence of the batch");
    if (has(past)) {
        E fits = and_(eq(dim(past, 0), dim(fresh, 0)), eq(dim(past, 1), idx(heads)));
        require(and_(fits, eq(dim(past, 3), size)), "the cache does not fit the new keys and values");
    }
    E length = max_(old, dim(room, 0));
    if (int_attr("window")) require(ge(old, idx(int_attr("window"))), "the cache is shorter than the window");
    if (has(dropped))
        require(eq(dim(dropped, 0), dim(fresh, 0)), "there is not one count for each sequence of the batch");
    X i = axes_named(cat(list2(dim(fresh, 0), idx(heads)), list2(length, size)), "b h j d");
    E from_j = val(i.v[2]);
    if (has(dropped)) from_j = add(from_j, at(dropped, list1(within(i.v[0], dim(dropped, 0)))));
    E n = cast(I64, at(used, list1(within(i.v[0], dim(used, 0))))), off = sub(from_j, n);
    E inside = and_(ge(off, num(0)), lt(off, val(steps)));
    E step = wrap_index(sel(inside, off, val(idx(0))), steps),
      at_c = wrap_index(add(mul(i.v[1], size), i.v[3]), dim(fresh, 2));
    E v = sel(inside, at(fresh, list3(i.v[0], step, at_c)), num(0));
    if (has(past)) {
        E there = has(dropped) ? lt(from_j, val(old)) : lt(i.v[2], old);
        E j = has(dropped) ? wrap_index(sel(there, from_j, val(idx(0))), old) : i.v[2];
        X from = cat(list2(within(i.v[0], dim(past, 0)), within(i.v[1], dim(past, 1))),
                     list2(j, within(i.v[3], dim(past, 3))));
        E kept = at_or(past, from, num(0));
        v = sel(and_(lt(off, num(0)), there), kept, v);
    }
    out(0, dtype(fresh), i, v);
}
static V cached(V past, V fresh, V used, V room, V dropped, int64_t heads, int64_t window) {
    V ins[] = {past, fresh, used, room, dropped};
    struct node *n = n_with_attrs("gcc2nn", "KeyValueCache", ins, dropped ? 5 : 4, 1);
    node_set_attr(n, attr_int("heads", heads));
    node_set_attr(n, attr_int("window", window));
    def_infer(n->in->graph, n);
    return n->outs.v[0];
}

/* ---- GroupQueryAttention */
struct gqa {
    V q, k, v, used, total; /* used: keys of each sequence before the new ones */
    int64_t heads, kv_heads;
};
static bool split_packed(struct gqa *g) {
    int64_t size, all = g->heads + 2 * g->kv_heads;
    if (!x_is_int(g->q->type.dims[2], &size) || size % all)
        return fail(E_SHAPE, "a packed query needs a known last dimension, a multiple of the heads"), false;
    const int64_t sizes[] = {size / all * g->heads, size / all * g->kv_heads, size / all * g->kv_heads};
    V parts[3];
    if (!ms_split(g->q, 2, sizes, 3, parts)) return false;
    g->q = parts[0], g->k = parts[1], g->v = parts[2];
    return true;
}
static bool gqa_is_plain(void) {
    static const char *const types[] = {"k_quant_type", "v_quant_type"};
    for (int k = 0; k < 2; k++) {
        const char *t = str_attr(types[k]);
        if (*t && strcmp(t, "NONE"))
            return fail(E_ATTR, "a quantised cache (\"%s\") is not supported", types[k]), false;
    }
    if (int_attr("sliding_window_cache") && (int_attr("local_window_size") < 1 || !gin(3)))
        return fail(E_ATTR, "\"sliding_window_cache\" needs \"local_window_size\" and a past"), false;
    if (int_attr("sliding_window_cache") && gin(10))
        return fail(E_OP, "a bias beside \"sliding_window_cache\" is not supported"), false;
    if (wants(3)) return fail(E_OP, "the scores as a result (\"qk_output\") are not supported"), false;
    if (gin(14) || gin(15)) return fail(E_OP, "normalised queries and keys are not supported"), false;
    if (!gin(3) != !gin(4)) return fail(E_ARITY, "past_key and past_value belong together"), false;
    if (!gin(1) != !gin(2)) return fail(E_ARITY, "key and value belong together"), false;
    if (gin(0)->type.rank != 3) return fail(E_RANK, "the query has rank %d, not 3", gin(0)->type.rank), false;
    return true;
}
/* ---- a cache of the newest keys alone (sliding_window_cache) */
/* How many of `all` keys stay in a cache of capacity c with a window of w: when it is full, the oldest c - w + 1 are
 * dropped at once. */
static V kept_keys(V all, V c, int64_t w) {
    V group = N_OP("Sub", c, N_INTS(w - 1)), over = N_OP("Max", N_OP("Sub", all, c), N_INTS(0));
    V times = N_OP("Div", N_OP("Add", over, N_OP("Sub", group, N_INTS(1))), group);
    return N_OP("Sub", all, N_OP("Mul", times, group));
}
/* Queries see the cache followed by all new keys; afterwards the excess is dropped from its front. */
static void sliding_cache(struct gqa *g, V last, V all[2]) {
    int64_t w = int_attr("local_window_size");
    V c = n_dim(gin(3), 2), before = kept_keys(g->used, c, w), end = N_OP("Add", last, N_INTS(1));
    V now = N_OP("Add", before, N_OP("Sub", end, g->used)), dropped = N_OP("Sub", now, kept_keys(end, c, w));
    V room = ms_counted(as_scalar(N_OP("Add", c, n_dim(g->q, 1))));
    V fresh[] = {g->k, g->v};
    for (int k = 0; k < 2; k++) {
        all[k] = cached(gin(3 + k), fresh[k], before, room, NULL, g->kv_heads, w);
        gout(1 + k, cached(gin(3 + k), fresh[k], before, N_INTS(0), dropped, g->kv_heads, w));
    }
    g->used = before;
}
static void grown_cache(struct gqa *g, V all[2]) {
    V room = ms_counted(g->total), fresh[] = {g->k, g->v}; /* of one size for both */
    for (int k = 0; k < 2; k++) {
        all[k] = cached(gin(3 + k), fresh[k], g->used, room, NULL, g->kv_heads, 0);
        gout(1 + k, all[k]);
    }
}
/* The number of keys that any query sees: the cache has room for more than are in use. [1] */
static V seen_keys(const struct gqa *g, V cache) {
    V most = N_WITH("ReduceMax", ATTRS(attr_int("keepdims", 1)), g->used);
    return N_OP("Min", n_dim(cache, 2), N_OP("Add", most, n_dim(g->q, 1)));
}
/* Adjusts the bias, which covers the keys in use, to that number of keys. */
static V bias_of_cache(V bias, V keys) {
    if (!bias || bias->type.rank != 4) return bias;
    V none = n_const_i64((const int64_t[7]){0}, 7), pads[] = {none, N_OP("Sub", keys, n_dim(bias, 3))};
    return N_OP("Pad", bias, ms_joined(pads, 2, 0)); /* a negative pad truncates */
}
/* What is added to the scores [b, heads or 1, s, keys]: the lowest number for keys that a query does not see. */
static V gqa_mask(const struct gqa *g, V keys, V bias) {
    enum dtype t = g->q->type.dtype;
    int64_t window = int_attr("local_window_size");
    V j = N_OP("Unsqueeze", ms_counted(keys), N_INTS(0, 1, 2));
    V steps = ms_counted(N_OP("Squeeze", n_dim(g->q, 1), N_INTS(0)));
    V from = N_OP("Unsqueeze", g->used, N_INTS(1, 2, 3));
    V i = N_OP("Add", from, N_OP("Unsqueeze", steps, N_INTS(0, 1, 3))), seen;
    if (int_attr("causal")) seen = N_OP("LessOrEqual", j, i);
    else seen = N_OP("Less", j, N_OP("Add", from, n_dim(g->q, 1)));
    if (window > 0) seen = N_OP("And", seen, N_OP("Greater", j, N_OP("Sub", i, ms_scalar(window))));
    double hidden = t == F16 ? -65504 : -FLT_MAX;
    return N_OP("Where", seen, bias ? bias : n_const_f(t, 0), n_const_f(t, hidden));
}
/* Adds a key whose score is the same for every query: it takes its share of the softmax and contributes nothing. */
static void add_sink(struct gqa *g, V *k, V *v, V *mask, V sink) {
    enum dtype t = g->q->type.dtype;
    V *all[] = {k, v};
    for (int n = 0; n < 2; n++) {
        V dims[] = {n_dim(*all[n], 0), n_dim(*all[n], 1), N_INTS(1), n_dim(*all[n], 3)};
        V two[] = {*all[n], n_cast(N_OP("ConstantOfShape", ms_joined(dims, 4, 0)), t)};
        *all[n] = ms_joined(two, 2, 2);
    }
    V score = sink ? N_OP("Unsqueeze", sink, N_INTS(0, 2, 3)) : n_const_f(t, 0);
    V dims[] = {n_dim(g->q, 0), N_INTS(g->heads), n_dim(g->q, 1)}, all_dims = ms_joined(dims, 3, 0);
    V two[2] = {all_dims, n_dim(*mask, 3)}, ones[2] = {all_dims, N_INTS(1)};
    V parts[] = {N_OP("Expand", *mask, ms_joined(two, 2, 0)), N_OP("Expand", score, ms_joined(ones, 2, 0))};
    *mask = ms_joined(parts, 2, 3);
}
static void exp_gqa(void) {
    struct gqa g = {
        .q = gin(0), .k = gin(1), .v = gin(2), .heads = int_attr("num_heads"), .kv_heads = int_attr("kv_num_heads")};
    if (!gqa_is_plain()) return;
    if (fail_if(g.heads < 1 || g.kv_heads < 1 || g.heads > INT32_MAX || g.kv_heads > INT32_MAX, E_ATTR,
                "numbers of heads must be positive"))
        return;
    if (!g.k && !split_packed(&g)) return;
    V flat = N_OP("Reshape", n_cast(gin(5), I64), N_INTS(-1)), steps = n_dim(g.q, 1);
    g.total = as_scalar(gin(6));
    /* a first prompt starts at 0, even if it has padding at its end */
    V first = N_OP("Equal", steps, N_OP("Reshape", g.total, N_INTS(1)));
    g.used = N_OP("Where", first, N_INTS(0), N_OP("Sub", N_OP("Add", flat, N_INTS(1)), steps));
    if (int_attr("do_rotary")) {
        if (fail_if(!gin(7) || !gin(8), E_ARITY, "\"do_rotary\" needs the caches of sine and cosine")) return;
        V run = N_OP("Unsqueeze", ms_counted(N_OP("Squeeze", steps, N_INTS(0))), N_INTS(0));
        V at = N_OP("Add", column(g.used), run);
        bool pairs = int_attr("rotary_interleaved");
        g.q = rotated(g.q, gin(7), gin(8), at, g.heads, pairs);
        g.k = rotated(g.k, gin(7), gin(8), at, g.kv_heads, pairs);
    }
    V all[2];
    if (int_attr("sliding_window_cache")) sliding_cache(&g, flat, all);
    else grown_cache(&g, all);
    V k = all[0], v = all[1];
    bool sink = gin(11) || int_attr("smooth_softmax") == 1; /* stands behind all keys */
    V keys = sink ? n_dim(k, 2) : seen_keys(&g, k);
    V mask = gqa_mask(&g, N_OP("Squeeze", keys, N_INTS(0)), bias_of_cache(gin(10), keys));
    if (sink) add_sink(&g, &k, &v, &mask, gin(11));
    struct node *a = n_node("Attention", (const V[]){g.q, k, v, mask}, 4, 1);
    node_set_attr(a, attr_int("q_num_heads", g.heads));
    node_set_attr(a, attr_int("kv_num_heads", g.kv_heads));
    if (float_attr("scale") != 0) node_set_attr(a, attr_float("scale", float_attr("scale")));
    if (float_attr("softcap") != 0) node_set_attr(a, attr_float("softcap", float_attr("softcap")));
    gout(0, a->outs.v[0]);
}

enum { TF = TSET(F32) | TSET(F16) | TSET(BF16), TI = TSET(I32) };
static const struct op_slot s_rotary[] = {
    {"input", TF, 0}, {"position_ids", TSET(I64), 0}, {"cos_cache", TF, 0}, {"sin_cache", TF, 0}, {0}};
static const struct op_slot s_cache[] = {{"past", TF, OPTIONAL},           {"new", TF, 0},
                                         {"used", TSET(I64), 0},           {"room", TSET(I64), 0},
                                         {"dropped", TSET(I64), OPTIONAL}, {0}};
static const struct op_slot s_gqa[] = {{"query", TF, 0},
                                       {"key", TF, OPTIONAL},
                                       {"value", TF, OPTIONAL},
                                       {"past_key", TF, OPTIONAL},
                                       {"past_value", TF, OPTIONAL},
                                       {"seqlens_k", TI, 0},
                                       {"total_sequence_length", TI, 0},
                                       {"cos_cache", TF, OPTIONAL},
                                       {"sin_cache", TF, OPTIONAL},
                                       {"position_ids", TSET(I64), OPTIONAL},
                                       {"attention_bias", TF, OPTIONAL},
                                       {"head_sink", TF, OPTIONAL},
                                       {"k_scale", TSET(F32), OPTIONAL},
                                       {"v_scale", TSET(F32), OPTIONAL},
                                       {"q_norm_weight", TF, OPTIONAL},
                                       {"k_norm_weight", TF, OPTIONAL},
                                       {0}};
static const struct op_slot s_gqa_out[] = {{"output", TS_ANY, 0},
                                           {"present_key", TS_ANY, OPTIONAL},
                                           {"present_value", TS_ANY, OPTIONAL},
                                           {"output_qk", TS_ANY, OPTIONAL},
                                           {0}};
static const struct op_attr a_rotary[] = {A_INT("num_heads"),       A_INT("rotary_embedding_dim"),
                                          A_INT("interleaved"),     A_INT("is_packed_batching"),
                                          A_FLOAT("scale", .f = 1), {0}};
static const struct op_attr a_cache[] = {A_INT("heads"), A_INT("window"), {0}};
static const struct op_attr a_gqa[] = {A_INT("num_heads", .flags = A_REQUIRED),
                                       A_INT("kv_num_heads", .flags = A_REQUIRED),
                                       A_FLOAT("scale"),
                                       A_FLOAT("softcap"),
                                       A_INT("causal", .i = 1),
                                       A_INT("local_window_size", .i = -1),
                                       A_INT("do_rotary"),
                                       A_INT("rotary_interleaved"),
                                       A_INT("smooth_softmax", .i = -1),
                                       A_INT("sliding_window_cache"),
                                       A_INT("qk_output"),
                                       A_FLOAT("qk_norm_epsilon", .f = 1e-6f),
                                       A_INT("kv_cache_bit_width"),
                                       A_STRING("k_quant_type", .s = "NONE"),
                                       A_STRING("v_quant_type", .s = "NONE"),
                                       {0}};
const struct op ops_ms_gqa[] = {
    {"com.microsoft", "GroupQueryAttention", 1, 1, a_gqa, s_gqa, s_gqa_out, .expand = exp_gqa,
     .spec = "com.microsoft.GroupQueryAttention; present is 0 behind what is filled; position_ids have no effect"},
    {"com.microsoft", "RotaryEmbedding", 1, 1, a_rotary, s_rotary, slots_y, .expand = exp_rotary,
     .spec = "com.microsoft.RotaryEmbedding, without packed batching"},
    {"gcc2nn", "KeyValueCache", 1, 1, a_cache, s_cache, slots_y, .define = op_cache,
     .spec = "part of the expansion of GroupQueryAttention"},
    {0},
};
