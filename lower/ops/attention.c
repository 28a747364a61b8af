/* Attention over keys and values, with masks, a cache and grouped heads; RotaryEmbedding; TensorScatter, which writes a
 * cache. Written as stages, so that groups and schedules see products and row reductions. */
#include "lower/ops/ops.h"
#include <math.h>
#include <string.h>

/* A tensor of heads: [batch, heads, sequence, size], or [batch, sequence, heads * size]. */
struct heads {
    T t;
    E batch, count, length, size;
};
static bool heads_of(struct heads *h, T t, const char *count_attr) {
    h->t = t;
    h->batch = dim(t, 0);
    if (rank(t) == 4) {
        h->count = dim(t, 1), h->length = dim(t, 2), h->size = dim(t, 3);
        return true;
    }
    int64_t n = int_attr(count_attr);
    if (fail_if(rank(t) != 3 || n < 1, E_RANK,
                "an operand has rank %d; of rank 3 attribute \"%s\" must say how many heads it holds", rank(t),
                count_attr))
        return false;
    h->count = idx(n), h->length = dim(t, 1), h->size = div_(dim(t, 2), idx(n));
    require(multiple_of(dim(t, 2), idx(n)), "the last axis is no multiple of the number of heads");
    return true;
}
static X head_index(const struct heads *h, E b, E head, E s, E d) {
    if (rank(h->t) == 4) return cat(list2(b, head), list2(s, d));
    E c = add(mul(head, h->size), d);
    return list3(b, s, wrap_index(c, dim(h->t, 2)));
}

/* ---- Attention */
struct attention {
    struct heads q, k, v;
    T bias, mask, past_k, past_v, filled; /* filled: keys in use of each batch (nonpad_kv_seqlen) */
    E total, past;                        /* keys, and those that come from the cache */
    enum dtype t;                         /* of scores and sums */
    int64_t left, right;                  /* window; -1: open */
    bool causal;
};
/* The cache with the new elements behind it: [batch, heads, past + length, size], or NULL without a cache. */
static T joined(const char *name, T past, const struct heads *h, int k) {
    E p = past ? dim(past, 2) : idx(0);
    X i = axes_named(cat(list2(h->batch, h->count), list2(add(p, h->length), h->size)), "b h j d");
    E fresh = at(h->t, head_index(h, i.v[0], i.v[1], past ? wrap_index(sub(i.v[2], p), h->length) : i.v[2], i.v[3]));
    X old = list0();
    for (int d = 0; past && d < 4; d++) old = push(old, wrap_index(i.v[d], dim(past, d)));
    E v = past ? sel(lt(i.v[2], p), at(past, old), fresh) : fresh;
    if (wants(k)) {
        out(k, dtype(h->t), i, v);
        return result(k, dtype(h->t), shape(h->t));
    }
    return past ? stage(name, dtype(h->t), i, v) : NULL;
}
static E key_at(const struct attention *a, T all, const struct heads *h, E b, E head, E j, E d) {
    E own = h->count == a->q.count ? head : wrap_index(div_(head, div_(a->q.count, h->count)), h->count);
    if (h->batch != a->q.batch) b = wrap_index(b, h->batch);
    if (all) return at(all, cat(list2(b, own), list2(j, d)));
    return at(h->t, head_index(h, b, own, h->length == a->total ? j : wrap_index(j, h->length), d));
}
static bool masked(const struct attention *a) {
    return has(a->bias) || has(a->mask) || a->causal || has(a->filled) || a->left >= 0 || a->right >= 0;
}
/* A score with what a mask says of it: a number to be added, or whether the key is seen. */
static E with_mask(const struct attention *a, T mask, X o, E score, E *seen) {
    int last = rank(mask) - 1;
    E m = dim(mask, last); /* a mask that ends early hides the keys behind it */
    X at_m = list0();
    for (int k = 0; k < last; k++) {
        E d = dim(mask, k), v = o.v[k + 3 - last];
        at_m = push(at_m, x_is(d, 1) ? idx(0) : within(sel(eq(d, idx(1)), idx(0), v), d));
    }
    at_m = push(at_m, m == a->total ? o.v[3] : wrap_index(min_(o.v[3], sub(m, idx(1))), m));
    E v = at(mask, at_m);
    if (m != a->total) *seen = and_(*seen, lt(o.v[3], m));
    if (dtype(mask) != BOOL) v = cast(a->t, v);
    *seen = and_(*seen, dtype(mask) == BOOL ? v : ne(v, neg(greatest(a->t))));
    return dtype(mask) == BOOL ? score : add(score, v);
}
/* A score with bias and mask. Does query i see key j? */
static E visible(const struct attention *a, X o, E score, E *seen) {
    E i = val(o.v[2]), j = val(o.v[3]), shift = val(a->past), n = NULL;
    *seen = truth(true);
    if (has(a->filled)) {
        n = cast(I64, at(a->filled, list1(wrap_index(o.v[0], dim(a->filled, 0)))));
        *seen = lt(j, n);
        if (!has(a->past_k)) shift = sub(n, val(a->q.length));
    }
    E place = add(i, shift);
    if (a->causal) *seen = and_(*seen, le(j, place));
    if (a->left >= 0) *seen = and_(*seen, le(sub(place, val(idx(a->left))), j));
    if (a->right >= 0) *seen = and_(*seen, le(j, add(place, val(idx(a->right)))));
    const T added[] = {a->bias, a->mask};
    for (int k = 0; k < 2; k++)
        if (has(added[k])) score = with_mask(a, added[k], o, score, seen);
    return score;
}
static bool attention_of(struct attention *a) {
    *a = (struct attention){.mask = in(3), .past_k = in(4), .past_v = in(5), .filled = in(6), .bias = in(7)};
    if (!heads_of(&a->q, in(0), "q_num_heads") || !heads_of(&a->k, in(1), "kv_num_heads") ||
        !heads_of(&a->v, in(2), "kv_num_heads"))
        return false;
    if (has(a->past_k) != has(a->past_v) || (has(a->past_k) && (rank(a->past_k) != 4 || rank(a->past_v) != 4)))
        return fail(E_ARITY, "past_key and past_value belong together and have rank 4"), false;
    const T added[] = {a->bias, a->mask};
    for (int k = 0; k < 2; k++)
        if (has(added[k]) && (rank(added[k]) < 1 || rank(added[k]) > 4))
            return fail(E_RANK, "the mask has rank %d, not 1 to 4", rank(added[k])), false;
    if (has(a->filled) && rank(a->filled) != 1) return fail(E_RANK, "nonpad_kv_seqlen is no vector"), false;
    a->past = has(a->past_k) ? dim(a->past_k, 2) : idx(0);
    a->total = add(a->past, a->k.length);
    a->t = dtype(in(0)) == F64 || type_attr("softmax_precision") == F64 ? F64 : F32;
    a->left = has_attr("left_window_size") ? int_attr("left_window_size") : -1;
    a->right = has_attr("right_window_size") ? int_attr("right_window_size") : -1;
    a->causal = int_attr("is_causal") != 0;
    require(eq(a->q.size, a->k.size), "queries and keys differ in size");
    require(eq(a->k.length, a->v.length), "there is not one value for each key");
    require(and_(eq(a->k.batch, a->q.batch), eq(a->v.batch, a->q.batch)), "queries, keys and values differ in batch");
    require(eq(a->k.count, a->v.count), "keys and values differ in heads");
    if (has(a->past_k)) {
        const struct heads *now[] = {&a->k, &a->v};
        for (int k = 0; k < 2; k++) {
            T past = k ? a->past_v : a->past_k;
            E fits = and_(eq(dim(past, 0), a->q.batch), eq(dim(past, 1), a->k.count));
            require(and_(fits, eq(dim(past, 3), now[k]->size)), "the cache does not fit the new keys and values");
        }
        require(eq(dim(a->past_k, 2), dim(a->past_v, 2)), "the caches of keys and values differ in length");
    }
    require(multiple_of(a->q.count, a->k.count), "the heads of queries are no multiple of those of keys");
    return true;
}
static E scale_of(const struct attention *a) {
    if (has_attr("scale") && float_attr("scale") != 0) return num(float_attr("scale"));
    int64_t d;
    return const_int(a->q.size, &d) ? num(1 / sqrt((double)d)) : div_(num(1), sqrt_(cast(a->t, val(a->q.size))));
}
static X scores_axes(const struct attention *a) {
    return axes_named(cat(list2(a->q.batch, a->q.count), list2(a->q.length, a->total)), "b h i j");
}
static void out_scores(const struct attention *a, T s) {
    if (!wants(3) || !s) return;
    X o = scores_axes(a);
    out(3, dtype(a->q.t), o, at(s, o));
}
static void op_attention(void) {
    struct attention a;
    if (!attention_of(&a)) return;
    T keys = joined("keys", a.past_k, &a.k, 1), values = joined("values", a.past_v, &a.v, 2);
    int64_t mode = int_attr("qk_matmul_output_mode");
    double cap = float_attr("softcap");
    E hidden = neg(greatest(a.t)), seen;
    X o = scores_axes(&a);
    E d = raxis(a.q.size, "d"), b = o.v[0], h = o.v[1];
    T raw = reduce("products", a.t, o, RED_SUM, list1(d),
                   mul(cast(a.t, at(a.q.t, head_index(&a.q, b, h, o.v[2], d))),
                       cast(a.t, key_at(&a, keys, &a.k, b, h, o.v[3], d))),
                   NULL);
    if (!raw) return;
    o = scores_axes(&a);
    E v = mul(at(raw, o), scale_of(&a));
    if (mode == 0 && cap == 0) out_scores(&a, stage("scaled", a.t, o, v));
    if (cap > 0) v = mul(tanh_(div_(v, num(cap))), num(cap));
    if (mode == 1 || (mode == 0 && cap > 0)) out_scores(&a, stage("capped", a.t, o, v));
    v = visible(&a, o, v, &seen);
    T scores = stage("scores", a.t, o, masked(&a) ? sel(seen, v, hidden) : v);
    if (mode == 2) out_scores(&a, scores);
    /* softmax over j; a row that sees nothing is 0 */
    X p = axes_named(list3(a.q.batch, a.q.count, a.q.length), "b h i"), e_i = scores_axes(&a);
    E j = raxis(a.total, "j");
    T m = reduce("max", a.t, p, RED_MAX, list1(j), at(scores, push(p, j)), NULL);
    if (!m) return;
    X row = sub_list(e_i, 0, 3);
    E top = at(m, row);
    if (masked(&a)) top = sel(eq(top, hidden), num(0), top);
    T e = stage("exp", a.t, e_i, exp_term_(sub(at(scores, e_i), top)));
    p = axes_named(list3(a.q.batch, a.q.count, a.q.length), "b h i");
    j = raxis(a.total, "j");
    T s = reduce("sum", a.t, p, RED_SUM, list1(j), at(e, push(p, j)), NULL);
    if (!s) return;
    X one = axes(shape(s)), w_i = scores_axes(&a);
    T per = stage("share", a.t, one, div_(num(1), at(s, one)));
    E share = mul(at(e, w_i), at(per, sub_list(w_i, 0, 3)));
    if (masked(&a)) share = sel(eq(at(m, sub_list(w_i, 0, 3)), hidden), num(0), share);
    T w = stage("weights", a.t, w_i, share); /* not rounded to half: the products are the result's only rounding */
    if (mode == 3) out_scores(&a, w);
    X y = axes_named(cat(list2(a.q.batch, a.q.count), list2(a.q.length, a.v.size)), "b h i d");
    j = raxis(a.total, "j");
    T mixed = reduce(
        "mixed", acc(a.q.t), y, RED_SUM, list1(j),
        mul(cast(acc(a.q.t), at(w, push(sub_list(y, 0, 3), j))), key_at(&a, values, &a.v, y.v[0], y.v[1], j, y.v[3])),
        NULL);
    if (!mixed) return;
    if (rank(a.q.t) == 4) {
        y = axes(shape(mixed));
        out(0, dtype(a.q.t), y, at(mixed, y));
        return;
    }
    X z = axes_named(list3(a.q.batch, a.q.length, mul(a.q.count, a.v.size)), "b i c");
    E head = wrap_index(div_(z.v[2], a.v.size), a.q.count), part = wrap_index(mod_(z.v[2], a.v.size), a.v.size);
    out(0, dtype(a.q.t), z, at(mixed, cat(list2(z.v[0], head), list2(z.v[1], part))));
}

/* ---- RotaryEmbedding: pairs of the first elements of each head are rotated, the rest stays */
static void op_rotary(void) {
    T cos_t = in(1), sin_t = in(2), pos = in(3);
    struct heads x;
    if (!heads_of(&x, in(0), "num_heads")) return;
    bool interleaved = int_attr("interleaved") != 0;
    E turned = int_attr("rotary_embedding_dim") > 0 ? idx(int_attr("rotary_embedding_dim")) : x.size;
    E half = div_(turned, idx(2)), b, h, s, d;
    X i = axes(shape(x.t));
    if (rank(x.t) == 4) b = i.v[0], h = i.v[1], s = i.v[2], d = i.v[3];
    else b = i.v[0], s = i.v[1], h = div_(i.v[2], x.size), d = mod_(i.v[2], x.size);
    if (fail_if(rank(cos_t) != (has(pos) ? 2 : 3) || rank(sin_t) != rank(cos_t) || (has(pos) && rank(pos) != 2), E_RANK,
                "the caches have rank 2 with position_ids, which has rank 2, and 3 without"))
        return;
    for (int k = 0; k < rank(cos_t); k++)
        require(eq(dim(cos_t, k), dim(sin_t, k)), "the caches of sine and cosine differ on axis %d", k);
    require(le(turned, x.size), "rotary_embedding_dim exceeds the size of a head");
    E pair = interleaved ? div_(d, idx(2)) : mod_(d, half), p;
    E second = interleaved ? eq(mod_(d, idx(2)), idx(1)) : ge(d, half);
    X at_c = list0();
    if (has(pos)) {
        p = at(pos, list2(wrap_index(b, dim(pos, 0)), wrap_index(s, dim(pos, 1))));
        at_c = list1(wrap_index(p, dim(cos_t, 0)));
    } else at_c = list2(wrap_index(b, dim(cos_t, 0)), wrap_index(s, dim(cos_t, 1)));
    int last = rank(cos_t) - 1;
    at_c = push(at_c, wrap_index(pair, dim(cos_t, last)));
    E c = at(cos_t, at_c), sn = at(sin_t, at_c);
    E first_at = interleaved ? mul(pair, idx(2)) : pair,
      second_at = interleaved ? add(first_at, idx(1)) : add(pair, half);
    E x1 = at(x.t, head_index(&x, b, h, s, wrap_index(first_at, x.size))),
      x2 = at(x.t, head_index(&x, b, h, s, wrap_index(second_at, x.size)));
    E v = sel(second, add(mul(sn, x1), mul(c, x2)), sub(mul(c, x1), mul(sn, x2)));
    out(0, dtype(x.t), i, turned == x.size ? v : sel(lt(d, turned), v, at(x.t, i)));
}

/* ---- TensorScatter: the update stands at write_indices[b] of axis `axis` in the cache */
static void op_tensorscatter(void) {
    T past = in(0), update = in(1), where = in(2);
    int a = axis_attr("axis", past);
    bool circular = !strcmp(str_attr("mode"), "circular");
    if (fail_if(rank(update) != rank(past) || a < 1, E_RANK,
                "cache and update must have the same rank, and the axis must not be the first"))
        return;
    E n = dim(past, a), len = dim(update, a);
    X i = axes(shape(past)), u = i;
    E first = has(where) ? cast(I64, at(where, list1(wrap_index(i.v[0], dim(where, 0))))) : val(idx(0));
    E off = sub(val(i.v[a]), first);
    if (circular) off = sel(lt(off, num(0)), add(off, val(n)), off);
    for (int k = 0; k < u.n; k++) u.v[k] = k == a ? i.v[k] : wrap_index(i.v[k], dim(update, k));
    E inside = and_(ge(off, num(0)), lt(off, val(len)));
    u.v[a] = wrap_index(sel(inside, off, val(idx(0))), len);
    out(0, dtype(past), i, sel(inside, at(update, u), at(past, i)));
}

static const struct op_slot s_attention[] = {{"Q", TS_FLOAT, 0},
                                             {"K", TS_FLOAT, 0},
                                             {"V", TS_FLOAT, 0},
                                             {"attn_mask", TS_FLOAT | TSET(BOOL), OPTIONAL},
                                             {"past_key", TS_FLOAT, OPTIONAL},
                                             {"past_value", TS_FLOAT, OPTIONAL},
                                             {"nonpad_kv_seqlen", TSET(I64), OPTIONAL},
                                             /* of com.microsoft's attentions: added before the mask */
                                             {"attention_bias", TS_FLOAT, OPTIONAL},
                                             {0}};
static const struct op_slot s_attention_out[] = {{"Y", TS_ANY, 0},
                                                 {"present_key", TS_ANY, OPTIONAL},
                                                 {"present_value", TS_ANY, OPTIONAL},
                                                 {"qk_matmul_output", TS_ANY, OPTIONAL},
                                                 {0}};
static const struct op_attr a_attention[] = {A_INT("is_causal"),
                                             A_INT("kv_num_heads"),
                                             A_INT("q_num_heads"),
                                             A_INT("qk_matmul_output_mode"),
                                             A_FLOAT("scale"),
                                             A_FLOAT("softcap"),
                                             A_INT("softmax_precision"),
                                             A_INT("left_window_size", .i = -1, .since = 25),
                                             A_INT("right_window_size", .i = -1, .since = 25),
                                             {0}};
static const struct op_slot s_rotary[] = {{"X", TS_FLOAT, 0},
                                          {"cos_cache", TS_FLOAT, 0},
                                          {"sin_cache", TS_FLOAT, 0},
                                          {"position_ids", TSET(I64), OPTIONAL},
                                          {0}};
static const struct op_attr a_rotary[] = {A_INT("interleaved"), A_INT("num_heads"), A_INT("rotary_embedding_dim"), {0}};
static const struct op_slot s_tscatter[] = {
    {"past_cache", TS_ANY, 0}, {"update", TS_ANY, 0}, {"write_indices", TSET(I64), OPTIONAL}, {0}};
static const struct op_attr a_tscatter[] = {A_INT("axis", .i = -2), A_STRING("mode", .s = "linear"), {0}};
const struct op ops_attention[] = {
    {"", "Attention", 24, 23, a_attention, s_attention, s_attention_out, .define = op_attention,
     .spec = "Attention-24; scores and softmax in f32, or f64 for f64 operands or precision"},
    {"", "RotaryEmbedding", 23, 23, a_rotary, s_rotary, slots_y, .define = op_rotary, .spec = "RotaryEmbedding-23"},
    {"", "TensorScatter", 24, 24, a_tscatter, s_tscatter, slots_y, .define = op_tensorscatter,
     .spec = "TensorScatter-24"},
    {0},
};
