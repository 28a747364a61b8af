/* com.microsoft's attentions, as ONNX Runtime's transformer optimiser writes them: expanded to the projections, a mask
 * that is added to the scores, and Attention of ai.onnx. Masks hide by a large negative number, not by -inf: what sees
 * only hidden keys weighs them as ONNX Runtime does. */
#include "lower/ops/attention.h"
#include "lower/ops/ms.h"
#include <float.h>
#include <string.h>

/* ---- values */
static V length_of(V v, int k) { return N_OP("Squeeze", n_dim(v, k), N_INTS(0)); } /* a scalar */
/* 0 .. n-1, as i64, along the last axis of four. */
static V places(V n) { return N_OP("Unsqueeze", ms_counted(n), N_INTS(0, 1, 2)); }
static V per_batch(V v) { /* [b] along the first axis of four, as i64 */
    return N_OP("Unsqueeze", n_cast(v, I64), N_INTS(1, 2, 3));
}
static V picked(V v, int64_t k) { /* v[k] */
    return N_OP("Gather", v, ms_scalar(k));
}
static bool known(E e, int64_t *v) { return x_is_int(e, v) && region_is_settled(def_node()->in); }
static bool refused(int k, const char *what) { return gin(k) && (fail(E_OP, "%s is not supported", what), true); }

/* ---- masks: [batch or 1, heads or 1, queries or 1, keys], to be added to the scores */
static V hiding(V seen, enum dtype t, double filter) {
    return N_OP("Where", seen, n_const_f(t, 0), n_const_f(t, filter));
}
static V by_lengths(V mask, V keys, enum dtype t, double filter) {
    return hiding(N_OP("Less", places(keys), per_batch(mask)), t, filter);
}
/* [2 * batch]: where the keys end, followed by where they start. */
static V by_ends(V mask, V x, V keys, enum dtype t, double filter) {
    V zero = N_INTS(0), batch = n_dim(x, 0), place = places(keys);
    V ends = N_OP("Slice", mask, zero, batch), starts = N_OP("Slice", mask, batch, n_dim(mask, 0));
    V inside = N_OP("And", N_OP("Less", place, per_batch(ends)), N_OP("Not", N_OP("Less", place, per_batch(starts))));
    return hiding(inside, t, filter);
}
/* The mask to add; NULL: there is none, or it was refused. The first axis of x is the batch. */
static V mask_of(V mask, V x, V keys, enum dtype t) {
    double filter = has_attr("mask_filter_value") ? float_attr("mask_filter_value") : -10000;
    int64_t n, batch;
    if (!mask) return NULL;
    if (mask->type.rank == 1) {
        E have = mask->type.dims[0], want = x->type.dims[0];
        if (known(have, &n) && known(want, &batch) && n == 2 * batch && n) return by_ends(mask, x, keys, t, filter);
        if (known(have, &n) && known(want, &batch) && n != batch)
            return fail(E_SHAPE, "a mask of %lld numbers for a batch of %lld", (long long)n, (long long)batch), NULL;
        return by_lengths(mask, keys, t, filter);
    }
    if (mask->type.rank == 2) mask = N_OP("Unsqueeze", mask, N_INTS(1, 2));
    else if (mask->type.rank == 3) mask = N_OP("Unsqueeze", mask, N_INTS(1));
    else return fail(E_RANK, "a mask of rank %d is not supported", mask->type.rank), NULL;
    return hiding(n_cast(mask, BOOL), t, filter);
}

/* ---- the node */
struct parts {
    V q, k, v, mask, past_k, past_v, filled; /* q of rank 3; k and v of rank 3 or 4 */
    V bias; /* added to the scores before the mask, whose magnitude would leave it few digits */
    int64_t heads, kv_heads;
    bool causal;
    double scale;
};
/* Results: the mixed values, keys and values including the past, and the scores. They have no types yet: inference
 * visits the node once its users are known. */
static struct node *attend(const struct parts *p, int nouts) {
    V ins[] = {p->q, p->k, p->v, p->mask, p->past_k, p->past_v, p->filled, p->bias};
    int n = 8;
    while (n > 3 && !ins[n - 1]) n--;
    struct node *a = n_node("Attention", ins, n, nouts);
    node_set_attr(a, attr_int("q_num_heads", p->heads));
    node_set_attr(a, attr_int("kv_num_heads", p->kv_heads));
    node_set_attr(a, attr_int("is_causal", p->causal));
    if (p->scale != 0) node_set_attr(a, attr_float("scale", p->scale));
    return a;
}
static struct parts parts_of_node(void) {
    struct parts p = {.heads = int_attr("num_heads"), .kv_heads = int_attr("num_heads"), .scale = float_attr("scale")};
    return p;
}
/* A single query sees all keys. */
static bool causal(V q) {
    int64_t n;
    return int_attr("unidirectional") == 1 && !(known(q->type.dims[q->type.rank == 3 ? 1 : 2], &n) && n == 1);
}

/* ---- Attention, QAttention: one product gives queries, keys and values */
/* The caches of keys and values are one tensor here, [2, batch, heads, length, size]. */
static void attention_of(V x, V projected, V mask, V past, V bias) {
    const int64_t *sizes;
    int n = ints_attr("qkv_hidden_sizes", &sizes);
    struct parts p = parts_of_node();
    V qkv[3];
    if (fail_if(n && n != 3, E_ATTR, "\"qkv_hidden_sizes\" has %d elements, not 3", n)) return;
    if (fail_if(projected->type.rank != 3, E_RANK, "the input has rank %d, not 3", x->type.rank)) return;
    if (!ms_split(projected, 2, n ? sizes : NULL, 3, qkv)) return;
    p.q = qkv[0], p.k = qkv[1], p.v = qkv[2];
    p.causal = causal(p.q);
    V keys = length_of(x, 1);
    if (past) {
        if (fail_if(past->type.rank != 5, E_RANK, "the past has rank %d, not 5", past->type.rank)) return;
        p.past_k = picked(past, 0), p.past_v = picked(past, 1);
        keys = N_OP("Add", keys, length_of(past, 3));
    }
    p.mask = mask_of(mask, x, keys, p.q->type.dtype), p.bias = bias;
    struct node *a = attend(&p, wants(1) ? 3 : 1);
    gout(0, a->outs.v[0]);
    if (!wants(1)) return;
    V both[2];
    for (int k = 0; k < 2; k++) {
        V one[] = {a->outs.v[1 + k], N_INTS(0)};
        both[k] = n_node("Unsqueeze", one, 2, 1)->outs.v[0];
    }
    struct node *present = n_node("Concat", both, 2, 1);
    node_set_attr(present, attr_int("axis", 0));
    gout(1, present->outs.v[0]);
}
static bool plain_cache(void) {
    if (int_attr("do_rotary")) fail(E_ATTR, "\"do_rotary\" is not supported");
    else if (int_attr("past_present_share_buffer"))
        fail(E_ATTR, "a cache that past and present share (\"past_present_share_buffer\") is not supported");
    else return true;
    return false;
}
static void exp_attention(void) {
    V x = gin(0), y = N_OP("MatMul", x, gin(1));
    if (!plain_cache() || refused(6, "past_sequence_length")) return;
    attention_of(x, gin(2) ? N_OP("Add", y, gin(2)) : y, gin(3), gin(4), gin(5));
}
static void exp_qattention(void) {
    V ins[] = {gin(0), gin(1), gin(3), gin(4), gin(6), gin(7), gin(2)};
    if (!plain_cache()) return;
    struct node *y = n_with_attrs("com.microsoft", "MatMulIntegerToFloat", ins, 7, 1);
    if (def_infer(y->in->graph, y)) attention_of(gin(0), y->outs.v[0], gin(5), gin(8), NULL);
}

/* ---- MultiHeadAttention, DecoderMaskedMultiHeadAttention */
/* [b, s, heads, n, size] as n values of [b, s, heads * size]. */
static bool unpacked(V v, int n, V *parts) {
    static const int64_t flat[] = {0, 0, -1};
    if (!ms_split(v, 3, NULL, n, parts)) return false;
    for (int k = 0; k < n; k++) parts[k] = ms_reshaped(parts[k], flat, 3);
    return true;
}
/* Returns v plus its bias. The biases of queries, keys and values follow each other; each starts at `start` (negative:
 * counted from the end), and has its operand's size. */
static V biased(V v, V bias, V start) {
    V size = n_dim(v, 2), end = N_OP("Add", start, size);
    return N_OP("Add", v, N_OP("Slice", bias, start, end));
}
static bool add_biases(struct parts *p, V bias) {
    if (!bias) return true;
    if (p->k->type.rank != 3) return fail(E_RANK, "a bias needs keys of rank 3"), false;
    V start = N_INTS(0), size = n_dim(p->q, 2);
    p->q = biased(p->q, bias, start);
    p->k = biased(p->k, bias, size);
    p->v = biased(p->v, bias, N_OP("Add", size, size));
    return true;
}
static V key_length(V k) { return length_of(k, k->type.rank == 4 ? 2 : 1); }
static bool sound(const struct parts *p) {
    const V all[] = {p->q, p->k, p->v};
    if (!p->k || !p->v) return fail(E_ARITY, "key and value must be given, or packed with the query"), false;
    for (int k = 0; k < 3; k++)
        if (all[k]->type.rank != 3 && (!k || all[k]->type.rank != 4))
            return fail(E_RANK, "%s has rank %d",
                        k == 0   ? "query"
                        : k == 1 ? "key"
                                 : "value",
                        all[k]->type.rank),
                   false;
    if (!p->past_k != !p->past_v) return fail(E_ARITY, "past_key and past_value belong together"), false;
    return true;
}
/* Scores of future keys are the lowest number here, not -inf. */
static V finite_scores(V scores, enum dtype t) {
    V ins[] = {scores, n_const_f(t, t == F16 ? -65504 : t == BF16 ? -0x1.FEp127 : -(double)FLT_MAX)};
    return n_node("Max", ins, 2, 1)->outs.v[0];
}
static void out_attention(struct parts *p, V mask, V bias) {
    V keys = key_length(p->k);
    if (p->past_k) keys = N_OP("Add", keys, length_of(p->past_k, 2));
    p->mask = mask_of(mask, p->q, keys, p->q->type.dtype), p->bias = bias;
    struct node *a = attend(p, wants(3) ? 4 : wants(2) ? 3 : wants(1) ? 2 : 1);
    if (wants(3)) node_set_attr(a, attr_int("qk_matmul_output_mode", 2)); /* with the mask, before the softmax */
    for (int k = 0; k < a->outs.n; k++)
        gout(k, k == 3 && p->causal ? finite_scores(a->outs.v[k], p->q->type.dtype) : a->outs.v[k]);
}
static void exp_multihead(void) {
    struct parts p = parts_of_node();
    V three[3];
    p.q = gin(0), p.k = gin(1), p.v = gin(2), p.past_k = gin(6), p.past_v = gin(7);
    if (refused(8, "past_sequence_length") || refused(9, "cache_indirection")) return;
    if (p.q->type.rank == 5) {
        if (!unpacked(p.q, 3, three)) return;
        p.q = three[0], p.k = three[1], p.v = three[2];
    } else if (p.k && p.k->type.rank == 5) {
        if (!unpacked(p.k, 2, three)) return;
        p.k = three[0], p.v = three[1];
    }
    if (!sound(&p) || !add_biases(&p, gin(3))) return;
    p.causal = causal(p.q);
    out_attention(&p, gin(4), gin(5));
}
/* Writes the new key and value into the cache, of which only the first part is in use. */
static void shared_cache(struct parts *p) {
    V past = N_OP("Reshape", n_cast(gin(7), I64), N_INTS(1)), batch = n_dim(p->q, 0);
    V at = N_OP("Expand", past, batch), caches[] = {p->past_k, p->past_v}, news[] = {p->k, p->v};
    for (int k = 0; k < 2; k++) {
        if (news[k]->type.rank == 3) {
            const int64_t heads[] = {0, 0, p->heads, -1}, turned[] = {0, 2, 1, 3};
            news[k] = n_transpose(ms_reshaped(news[k], heads, 4), turned, 4);
        }
        struct node *s = n_node("TensorScatter", (const V[]){caches[k], news[k], at}, 3, 1);
        node_set_attr(s, attr_int("axis", 2));
        def_infer(s->in->graph, s);
        news[k] = s->outs.v[0];
        gout(1 + k, news[k]);
    }
    p->k = news[0], p->v = news[1], p->past_k = p->past_v = NULL;
    p->filled = N_OP("Add", at, N_INTS(1));
}
static void exp_decoder_multihead(void) {
    struct parts p = parts_of_node();
    p.q = gin(0), p.k = gin(1), p.v = gin(2), p.past_k = gin(5), p.past_v = gin(6);
    if (refused(9, "cache_indirection") || (int_attr("output_qk") && wants(3) && (fail(E_ATTR, "output_qk"), true)))
        return;
    if (!p.k) {
        V three[3];
        if (fail_if(p.q->type.rank != 3 || !ms_split(p.q, 2, NULL, 3, three), E_RANK, "a packed query needs rank 3"))
            return;
        p.q = three[0], p.k = three[1], p.v = three[2];
    }
    if (!sound(&p) || !add_biases(&p, gin(10))) return;
    if (!int_attr("past_present_share_buffer") || !p.past_k) {
        out_attention(&p, gin(3), gin(4));
        return;
    }
    if (fail_if(!gin(7), E_ARITY, "a shared cache needs past_sequence_length")) return;
    shared_cache(&p);
    V keys = N_OP("Add", N_OP("Squeeze", N_OP("Reshape", n_cast(gin(7), I64), N_INTS(1)), N_INTS(0)), ms_scalar(1));
    p.mask = mask_of(gin(3), p.q, keys, p.q->type.dtype), p.bias = gin(4);
    gout(0, attend(&p, 1)->outs.v[0]);
}

/* ---- packed: only the tokens that are not padding, one after the other */
/* The first of the offsets [batch, length], as many as there are tokens. */
static V offsets_of(V offsets, V tokens) {
    V flat = N_OP("Reshape", n_cast(offsets, I64), N_INTS(-1));
    return N_OP("Slice", flat, N_INTS(0), n_dim(tokens, 0));
}
/* [tokens, size] as [batch, length, size], 0 where there is padding. */
static V restored(V tokens, V offsets) {
    V flat[] = {N_OP("Mul", n_dim(offsets, 0), n_dim(offsets, 1)), n_dim(tokens, 1)};
    V none = n_cast(N_OP("ConstantOfShape", ms_joined(flat, 2, 0)), tokens->type.dtype);
    V at = N_OP("Unsqueeze", offsets_of(offsets, tokens), N_INTS(1));
    V dims[] = {n_dim(offsets, 0), n_dim(offsets, 1), n_dim(tokens, 1)};
    return N_OP("Reshape", N_OP("ScatterND", none, at, tokens), ms_joined(dims, 3, 0));
}
static void exp_restorepadding(void) { gout(0, restored(gin(0), gin(1))); }
static void exp_removepadding(void) {
    V x = gin(0), count = gin(1);
    V place = N_OP("Unsqueeze", ms_flat(places(length_of(x, 1))), N_INTS(0));
    V real = ms_flat(N_OP("Less", place, N_OP("Unsqueeze", n_cast(count, I64), N_INTS(1))));
    V dims[] = {N_OP("Mul", n_dim(x, 0), n_dim(x, 1)), n_dim(x, 2)};
    gout(0, N_WITH("Compress", ATTRS(attr_int("axis", 0)), N_OP("Reshape", x, ms_joined(dims, 2, 0)), real));
    V both[] = {ms_flat(N_OP("NonZero", real)), ms_flat(N_OP("NonZero", N_OP("Not", real)))};
    V shape[] = {n_dim(x, 0), n_dim(x, 1)};
    gout(1, n_cast(N_OP("Reshape", ms_joined(both, 2, 0), ms_joined(shape, 2, 0)), I32));
    V sums[] = {n_cast(N_INTS(0), I32), N_OP("CumSum", count, ms_scalar(0))};
    gout(2, ms_joined(sums, 2, 0));
    gout(3, N_OP("ReduceMax", count, N_INTS(0)));
}
static void packed_attention(struct parts *p, V tokens, V offsets, V sums, V bias) {
    V *all[] = {&p->q, &p->k, &p->v};
    for (int k = 0; k < 3; k++) *all[k] = restored(*all[k], offsets);
    V ends = N_OP("Slice", sums, N_INTS(1), n_dim(sums, 0)), starts = N_OP("Slice", sums, N_INTS(0), N_INTS(-1));
    p->mask = by_lengths(N_OP("Sub", ends, starts), length_of(p->k, 1), p->q->type.dtype, -10000), p->bias = bias;
    V all_results[ATTENTION_RESULTS];
    attention_expand(&(struct attention_parts){.q = p->q,
                                               .k = p->k,
                                               .v = p->v,
                                               .mask = p->mask,
                                               .bias = p->bias,
                                               .heads = p->heads,
                                               .kv_heads = p->kv_heads,
                                               .left = -1,
                                               .right = -1,
                                               .causal = p->causal,
                                               .scale = p->scale},
                     all_results);
    V y = all_results[0];
    if (!y) return;
    V dims[] = {N_OP("Mul", n_dim(y, 0), n_dim(y, 1)), n_dim(y, 2)};
    gout(0, N_OP("Gather", N_OP("Reshape", y, ms_joined(dims, 2, 0)), offsets_of(offsets, tokens)));
}
static bool packed_ranks(V offsets, V sums) {
    bool ok = offsets->type.rank == 2 && sums->type.rank == 1;
    if (!ok) fail(E_RANK, "offsets of rank 2 and sums of rank 1 are needed");
    return ok;
}
static void exp_packed_attention(void) {
    const int64_t *sizes;
    int n = ints_attr("qkv_hidden_sizes", &sizes);
    struct parts p = parts_of_node();
    V y = N_OP("Add", N_OP("MatMul", gin(0), gin(1)), gin(2)), qkv[3];
    if (fail_if(n && n != 3, E_ATTR, "\"qkv_hidden_sizes\" has %d elements, not 3", n)) return;
    if (!packed_ranks(gin(3), gin(4)) || !ms_split(y, 1, n ? sizes : NULL, 3, qkv)) return;
    p.q = qkv[0], p.k = qkv[1], p.v = qkv[2];
    packed_attention(&p, gin(0), gin(3), gin(4), gin(5));
}
static void exp_packed_multihead(void) {
    static const int64_t flat[] = {0, -1};
    struct parts p = parts_of_node();
    V three[3];
    p.q = gin(0), p.k = gin(1), p.v = gin(2);
    if (p.q->type.rank == 4) { /* [tokens, heads, 3, size] */
        if (!ms_split(p.q, 2, NULL, 3, three)) return;
        for (int k = 0; k < 3; k++) three[k] = ms_reshaped(three[k], flat, 2);
        p.q = three[0], p.k = three[1], p.v = three[2];
    }
    if (fail_if(!p.k || !p.v || p.q->type.rank != 2 || p.k->type.rank != 2 || p.v->type.rank != 2, E_RANK,
                "query, key and value of rank 2, or one of rank 4, are needed"))
        return;
    if (!packed_ranks(gin(4), gin(5))) return;
    if (gin(3)) {
        V start = N_INTS(0), size = n_dim(p.q, 1), *all[] = {&p.q, &p.k, &p.v};
        for (int k = 0; k < 3; k++) {
            V end = N_OP("Add", start, n_dim(*all[k], 1));
            *all[k] = N_OP("Add", *all[k], N_OP("Slice", gin(3), start, end));
            start = k ? N_OP("Add", size, size) : size;
        }
    }
    packed_attention(&p, gin(0), gin(4), gin(5), gin(6));
}

enum { TF = TSET(F32) | TSET(F16) | TSET(BF16), TI = TSET(I32), T8 = TSET(I8) | TSET(U8) };
static const struct op_slot s_attention[] = {{"input", TF, 0},
                                             {"weights", TF, 0},
                                             {"bias", TF, OPTIONAL},
                                             {"mask_index", TI, OPTIONAL},
                                             {"past", TF, OPTIONAL},
                                             {"attention_bias", TF, OPTIONAL},
                                             {"past_sequence_length", TI, OPTIONAL},
                                             {0}};
static const struct op_slot s_qattention[] = {{"input", T8, 0},
                                              {"weight", T8, 0},
                                              {"bias", TF, 0},
                                              {"input_scale", TF, 0},
                                              {"weight_scale", TF, 0},
                                              {"mask_index", TI, OPTIONAL},
                                              {"input_zero_point", T8, OPTIONAL},
                                              {"weight_zero_point", T8, OPTIONAL},
                                              {"past", TF, OPTIONAL},
                                              {0}};
static const struct op_slot s_multihead[] = {{"query", TF, 0},
                                             {"key", TF, OPTIONAL},
                                             {"value", TF, OPTIONAL},
                                             {"bias", TF, OPTIONAL},
                                             {"key_padding_mask", TI, OPTIONAL},
                                             {"attention_bias", TF, OPTIONAL},
                                             {"past_key", TF, OPTIONAL},
                                             {"past_value", TF, OPTIONAL},
                                             {"past_sequence_length", TI, OPTIONAL},
                                             {"cache_indirection", TI, OPTIONAL},
                                             {0}};
static const struct op_slot s_decoder[] = {{"query", TF, 0},
                                           {"key", TF, OPTIONAL},
                                           {"value", TF, OPTIONAL},
                                           {"mask_index", TI, OPTIONAL},
                                           {"attention_bias", TF, OPTIONAL},
                                           {"past_key", TF, OPTIONAL},
                                           {"past_value", TF, OPTIONAL},
                                           {"past_sequence_length", TI, OPTIONAL},
                                           {"beam_width", TI, OPTIONAL},
                                           {"cache_indirection", TI, OPTIONAL},
                                           {"bias", TF, OPTIONAL},
                                           {0}};
static const struct op_slot s_packed[] = {{"input", TF, 0},
                                          {"weights", TF, 0},
                                          {"bias", TF, 0},
                                          {"token_offset", TI, 0},
                                          {"cumulative_sequence_length", TI, 0},
                                          {"attention_bias", TF, OPTIONAL},
                                          {0}};
static const struct op_slot s_packed_multihead[] = {{"query", TF, 0},
                                                    {"key", TF, OPTIONAL},
                                                    {"value", TF, OPTIONAL},
                                                    {"bias", TF, OPTIONAL},
                                                    {"token_offset", TI, 0},
                                                    {"cumulative_sequence_length", TI, 0},
                                                    {"attention_bias", TF, OPTIONAL},
                                                    {0}};
static const struct op_slot s_remove[] = {{"input", TF, 0}, {"sequence_token_count", TI, 0}, {0}},
                            s_restore[] = {{"input", TF, 0}, {"token_offset", TI, 0}, {0}};
static const struct op_slot s_present[] = {{"output", TS_ANY, 0}, {"present", TS_ANY, OPTIONAL}, {0}};
static const struct op_slot s_presents[] = {{"output", TS_ANY, 0},
                                            {"present_key", TS_ANY, OPTIONAL},
                                            {"present_value", TS_ANY, OPTIONAL},
                                            {"qk", TS_ANY, OPTIONAL},
                                            {0}};
static const struct op_slot s_removed[] = {{"output", TS_ANY, 0},
                                           {"token_offset", TS_ANY, 0},
                                           {"cumulated_seq_len", TS_ANY, 0},
                                           {"max_seq_len", TS_ANY, 0},
                                           {0}};
#define COMMON A_INT("num_heads", .flags = A_REQUIRED), A_FLOAT("scale"), A_FLOAT("mask_filter_value", .f = -10000)
#define CACHED A_INT("do_rotary"), A_INT("rotary_embedding_dim"), A_INT("past_present_share_buffer")
static const struct op_attr a_attention[] = {COMMON, CACHED, A_INT("unidirectional"), A_INTS("qkv_hidden_sizes"), {0}};
static const struct op_attr a_multihead[] = {COMMON, A_INT("unidirectional"), {0}};
static const struct op_attr a_decoder[] = {
    COMMON, A_INT("past_present_share_buffer"), A_INT("output_qk"), A_INT("unidirectional"), {0}};
static const struct op_attr a_packed[] = {COMMON, A_INTS("qkv_hidden_sizes"), {0}};
#define ROW(name, attrs, ins, outs, fn, note)                                                                          \
    { "com.microsoft", name, 1, 1, attrs, ins, outs, .expand = fn, .spec = "com.microsoft." name note }
const struct op ops_ms_attention[] = {
    ROW("Attention", a_attention, s_attention, s_present, exp_attention, ", without rotation or a shared cache"),
    ROW("QAttention", a_attention, s_qattention, s_present, exp_qattention, ", without rotation or a shared cache"),
    ROW("MultiHeadAttention", a_multihead, s_multihead, s_presents, exp_multihead, ", without cache_indirection"),
    ROW("DecoderMaskedMultiHeadAttention", a_decoder, s_decoder, s_presents, exp_decoder_multihead,
        ", without cache_indirection"),
    ROW("PackedAttention", a_packed, s_packed, slots_y, exp_packed_attention, ""),
    ROW("PackedMultiHeadAttention", a_packed, s_packed_multihead, slots_y, exp_packed_multihead, ""),
    ROW("RemovePadding", attrs_none, s_remove, s_removed, exp_removepadding, ""),
    ROW("RestorePadding", attrs_none, s_restore, slots_y, exp_restorepadding, ""),
    {0},
};
