/* The parts of an attention other than products if queries do not see all keys: scores of which some are hidden, their
 * softmax, in which a row that sees nothing is 0, and the keys that a mask covers. Private operators, in expansions of
 * Attention. */
#include "lower/ops/ops.h"

/* ---- MaskedScores: of [batch, heads, queries, keys], or [batch, heads of keys, queries for each, queries, keys] */
struct masking {
    T bias, mask, past, filled; /* filled: keys in use of each batch (nonpad_kv_seqlen) */
    E outer[3];                 /* sizes: batch, heads, queries */
    E keys;
    int64_t left, right; /* window; -1: open */
    bool causal;
};
static E hidden(T scores) { return neg(greatest(dtype(scores))); }
/* Applies the mask to a score: a number to add, or whether the key is seen. o: batch, head, query, key. */
static E with_mask(const struct masking *a, T mask, X o, E score, E *seen) {
    int last = rank(mask) - 1;
    E m = dim(mask, last); /* a mask that ends early hides the keys behind it */
    X at_m = list0();
    for (int k = 0; k < last; k++) {
        E d = dim(mask, k), v = o.v[k + 3 - last];
        require(or_(eq(d, idx(1)), eq(d, a->outer[k + 3 - last])), "the mask does not fit the scores on axis %d", k);
        at_m = push(at_m, x_is(d, 1) ? idx(0) : within(sel(eq(d, idx(1)), idx(0), v), d));
    }
    at_m = push(at_m, m == a->keys ? o.v[3] : wrap_index(min_(o.v[3], sub(m, idx(1))), m));
    E v = at(mask, at_m);
    if (m != a->keys) *seen = and_(*seen, lt(o.v[3], m));
    if (dtype(mask) != BOOL) v = cast((enum dtype)score->type, v);
    *seen = and_(*seen, dtype(mask) == BOOL ? v : ne(v, neg(greatest((enum dtype)score->type))));
    return dtype(mask) == BOOL ? score : add(score, v);
}
/* A score with bias and mask. Does the query see the key? */
static E visible(const struct masking *a, X o, E score, E *seen) {
    E i = val(o.v[2]), j = val(o.v[3]), shift = has(a->past) ? val(dim(a->past, 2)) : val(idx(0)), n = NULL;
    *seen = truth(true);
    if (has(a->filled)) {
        n = cast(I64, at(a->filled, list1(wrap_index(o.v[0], dim(a->filled, 0)))));
        *seen = lt(j, n);
        if (!has(a->past)) shift = sub(n, val(a->outer[2]));
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
static void op_masked_scores(void) {
    T scores = in(0);
    int r = rank(scores);
    struct masking a = {.mask = in(1), .past = in(2), .filled = in(3), .bias = in(4)};
    a.outer[0] = dim(scores, 0), a.outer[1] = r == 4 ? dim(scores, 1) : mul(dim(scores, 1), dim(scores, 2));
    a.outer[2] = dim(scores, r - 2), a.keys = dim(scores, r - 1);
    a.left = int_attr("left_window_size"), a.right = int_attr("right_window_size"), a.causal = int_attr("is_causal");
    X i = axes_named(shape(scores), r == 4 ? "b h i j" : "b g h i j");
    E head = r == 4 ? i.v[1] : add(mul(i.v[1], dim(scores, 2)), i.v[2]), seen;
    X o = cat(list2(i.v[0], head), list2(i.v[r - 2], i.v[r - 1]));
    E v = visible(&a, o, at(scores, i), &seen);
    out(0, dtype(scores), i, sel(seen, v, hidden(scores)));
}

/* ---- MaskedSoftmax: along the last axis */
static void op_masked_softmax(void) {
    T x = in(0);
    int last = rank(x) - 1;
    X outer = sub_list(shape(x), 0, last), p = axes(outer), i = axes(shape(x));
    E j = raxis(dim(x, last), "j");
    T m = reduce("max", dtype(x), p, RED_MAX, list1(j), at(x, push(p, j)), NULL);
    if (!m) return;
    E top = at(m, sub_list(i, 0, last));
    T e = stage("exp", dtype(x), i, exp_term_(sub(at(x, i), sel(eq(top, hidden(x)), num(0), top))));
    p = axes(outer), j = raxis(dim(x, last), "j");
    T s = reduce("sum", dtype(x), p, RED_SUM, list1(j), at(e, push(p, j)), NULL);
    if (!s) return;
    X one = axes(outer);
    T per = stage("share", dtype(x), one, div_(num(1), at(s, one)));
    i = axes(shape(x));
    X row = sub_list(i, 0, last);
    out(0, dtype(x), i, sel(eq(at(m, row), hidden(x)), num(0), mul(at(e, i), at(per, row))));
}

/* ---- UsedKeys: the first keys, or values, up to the mask's length; turned: their elements outside; grouped: with an
 * axis of one for the heads of queries that share them */
static void op_used_keys(void) {
    T x = in(0);
    bool turned = int_attr("turned"), grouped = int_attr("grouped");
    E used = min_(dim(x, 2), dim(in(1), rank(in(1)) - 1)), size = dim(x, 3);
    X heads = sub_list(shape(x), 0, 2), last = turned ? list2(size, used) : list2(used, size);
    X i = axes(cat(grouped ? push(heads, idx(1)) : heads, last));
    E outer = i.v[i.n - 2], inner = i.v[i.n - 1];
    out(0, dtype(x), i, at(x, cat(sub_list(i, 0, 2), turned ? list2(inner, outer) : list2(outer, inner))));
}

enum { TF = TSET(F32) | TSET(F64) };
static const struct op_slot s_scores[] = {{"scores", TF, 0},
                                          {"attn_mask", TS_FLOAT | TSET(BOOL), OPTIONAL},
                                          {"past_key", TS_FLOAT, OPTIONAL},
                                          {"nonpad_kv_seqlen", TSET(I64), OPTIONAL},
                                          {"attention_bias", TS_FLOAT, OPTIONAL},
                                          {0}};
static const struct op_slot s_keys[] = {{"keys", TS_FLOAT, 0}, {"mask", TS_ANY, 0}, {0}};
static const struct op_attr a_keys[] = {A_INT("turned"), A_INT("grouped"), {0}};
static const struct op_slot s_softmax[] = {{"scores", TF, 0}, {0}};
static const struct op_attr a_scores[] = {
    A_INT("is_causal"), A_INT("left_window_size", .i = -1), A_INT("right_window_size", .i = -1), {0}};
const struct op ops_attention_masks[] = {
    {"gcc2nn", "MaskedScores", 1, 1, a_scores, s_scores, slots_y, .define = op_masked_scores,
     .spec = "part of the expansion of Attention"},
    {"gcc2nn", "MaskedSoftmax", 1, 1, attrs_none, s_softmax, slots_y, .define = op_masked_softmax,
     .spec = "part of the expansion of Attention"},
    {"gcc2nn", "UsedKeys", 1, 1, a_keys, s_keys, slots_y, .define = op_used_keys,
     .spec = "part of the expansion of Attention"},
    {0},
};
