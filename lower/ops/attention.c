/* Attention over keys and values, with masks, a cache and grouped heads. It is expanded to the nodes that a model
 * without it would have, so that it gets all optimisations of products. Also RotaryEmbedding, and TensorScatter, which
 * writes a cache. */
#include "lower/ops/attention.h"
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

/* ---- Attention: products of batches of matrices, with a mask and a softmax in between */
static bool known_size(V v, int axis, int64_t *n) {
    return region_is_settled(def_node()->in) && x_is_int(v->type.dims[axis], n);
}
/* Both axes must have the same size: checked now as far as it is known, otherwise at run time. */
static bool same_size(V a, int i, V b, int k, const char *what) {
    int64_t n, m;
    if (known_size(a, i, &n) && known_size(b, k, &m)) return !fail_if(n != m, E_SHAPE, "%s", what);
    if (region_is_settled(def_node()->in) && a->type.dims[i] == b->type.dims[k]) return true;
    n_private("Require", (const V[]){N_OP("Equal", n_dim(a, i), n_dim(b, k))}, 1, 0, ATTRS(attr_str("reason", what)));
    return true;
}
#define IN_DIMS(v, ...) n_in_dims(v, (const V[]){__VA_ARGS__}, (int)(sizeof((const V[]){__VA_ARGS__}) / sizeof(V)))
static V size_of_head(V v, int64_t heads) { return N_OP("Div", n_dim(v, 2), N_INTS(heads)); }
/* v of rank 3 or 4 as [batch, heads, length, size]; NULL after a diagnostic. */
static V as_heads(V v, int64_t heads) {
    static const int64_t perm[] = {0, 2, 1, 3};
    int64_t size;
    if (v->type.rank == 4) return v;
    if (known_size(v, 2, &size) &&
        fail_if(size % heads, E_SHAPE, "the last axis is no multiple of the number of heads"))
        return NULL;
    V split = IN_DIMS(v, n_dim(v, 0), n_dim(v, 1), N_INTS(heads), size_of_head(v, heads));
    return split->type.rank == 4 ? n_transpose(split, perm, 4) : NULL;
}
/* The cache with the new elements behind it. */
static V joined(V past, V fresh) {
    return past ? n_op("Concat", 0, (const V[]){past, fresh}, 2, ATTRS(attr_int("axis", 2))) : fresh;
}
static V scale_of(const struct attention_parts *p, V q, enum dtype t) {
    int64_t d;
    if (p->scale != 0) return n_const_f(t, p->scale);
    if (known_size(q, 3, &d)) return n_const_f(t, 1 / sqrt((double)d));
    return N_OP("Reciprocal", N_OP("Sqrt", n_cast(N_OP("Squeeze", n_dim(q, 3), N_INTS(0)), t)));
}
/* Do the types say that several heads of queries share one of keys and values? */
static bool is_grouped(V q, V k) {
    int64_t n, m;
    if (known_size(q, 1, &n) && known_size(k, 1, &m)) return n != m;
    return !region_is_settled(def_node()->in) || q->type.dims[1] != k->type.dims[1];
}
/* v, [batch, heads, length, size], as [batch, groups, heads of a group, length, size]. If it was given with rank 3, its
 * heads are split in place, so that products can read it as it lies. */
static V in_groups(V v, V given, V groups, V each, int64_t heads) {
    static const int64_t perm[] = {0, 2, 3, 1, 4};
    if (v->type.rank != 4) return v;
    if (given->type.rank == 4) return IN_DIMS(v, n_dim(v, 0), groups, each, n_dim(v, 2), n_dim(v, 3));
    V split = IN_DIMS(given, n_dim(given, 0), n_dim(given, 1), groups, each, size_of_head(given, heads));
    return n_transpose(split, perm, 5);
}
/* A mask that is shorter than the keys hides those after its end; nothing is computed for them. */
static bool ends_early(const struct attention_parts *p, V k) {
    int64_t n, m;
    if (!p->mask || p->scores) return false;
    int last = p->mask->type.rank - 1;
    if (known_size(p->mask, last, &m) && known_size(k, 2, &n)) return m < n;
    return p->mask->type.dims[last] != k->type.dims[2];
}
static V used_part(const struct attention_parts *p, V v, bool turned, bool grouped) {
    const V ins[] = {v, p->mask};
    return n_private("UsedKeys", ins, 2, 1, ATTRS(attr_int("turned", turned), attr_int("grouped", grouped)))->outs.v[0];
}
/* Keys or values, either with the cache or as given, with an axis for the heads that share them. */
static V shared(const struct attention_parts *p, V v, V past, V given) {
    return in_groups(v, past ? v : given, n_dim(v, 1), N_INTS(1), p->kv_heads);
}
/* Scores of queries and keys, [batch, heads, length, keys] or in groups, before any mask. */
static V products(const struct attention_parts *p, V q, V k, enum dtype t, bool grouped) {
    static const int64_t perm[] = {0, 1, 3, 2}, of_groups[] = {0, 1, 2, 4, 3};
    V turned = ends_early(p, k) ? used_part(p, n_cast(k, t), true, grouped)
               : grouped        ? n_transpose(n_cast(shared(p, k, p->past_k, p->k), t), of_groups, 5)
                                : n_transpose(n_cast(k, t), perm, 4);
    V each = N_OP("Div", n_dim(q, 1), N_OP("Max", n_dim(k, 1), N_INTS(1)));
    if (grouped) q = in_groups(q, p->q, n_dim(k, 1), each, p->heads);
    return N_OP("MatMul", n_cast(q, t), turned);
}
static V mixed(const struct attention_parts *p, V shares, V v, bool grouped) {
    enum dtype t = shares->type.dtype;
    v = ends_early(p, v) ? used_part(p, n_cast(v, t), false, grouped)
        : grouped        ? n_cast(shared(p, v, p->past_v, p->v), t)
                         : n_cast(v, t);
    return N_OP("MatMul", shares, v);
}
static V masked_scores(const struct attention_parts *p, V scores) {
    const V ins[] = {scores, p->mask, p->past_k, p->filled, p->bias};
    const struct attr how[] = {attr_int("is_causal", p->causal), attr_int("left_window_size", p->left),
                               attr_int("right_window_size", p->right)};
    return n_private("MaskedScores", ins, 5, 1, how, 3)->outs.v[0];
}
static bool is_masked(const struct attention_parts *p) {
    return p->mask || p->filled || p->bias || p->causal || p->left >= 0 || p->right >= 0;
}
/* [batch, heads, length, size], in groups or not, as the query was. */
static V as_query(V y, V q, V given, bool grouped) {
    static const int64_t turned[] = {0, 2, 1, 3}, of_groups[] = {0, 3, 1, 2, 4};
    int last = grouped ? 4 : 3;
    if (given->type.rank == 4) return grouped ? IN_DIMS(y, n_dim(q, 0), n_dim(q, 1), n_dim(q, 2), n_dim(y, last)) : y;
    V size = N_OP("Mul", n_dim(q, 1), n_dim(y, last));
    return IN_DIMS(n_transpose(y, grouped ? of_groups : turned, last + 1), n_dim(given, 0), n_dim(given, 1), size);
}
static bool is_sound(const struct attention_parts *p) {
    const V heads[] = {p->q, p->k, p->v}, added[] = {p->bias, p->mask};
    for (int k = 0; k < 3; k++) {
        int r = heads[k]->type.rank;
        if (fail_if(r != 4 && (r != 3 || (k ? p->kv_heads : p->heads) < 1), E_RANK,
                    "an operand has rank %d; of rank 3 attribute \"%s\" must say how many heads it holds", r,
                    k ? "kv_num_heads" : "q_num_heads"))
            return false;
    }
    if (fail_if(!p->past_k != !p->past_v || (p->past_k && (p->past_k->type.rank != 4 || p->past_v->type.rank != 4)),
                E_ARITY, "past_key and past_value belong together and have rank 4"))
        return false;
    for (int k = 0; k < 2; k++)
        if (added[k] && fail_if(added[k]->type.rank < 1 || added[k]->type.rank > 4, E_RANK,
                                "the mask has rank %d, not 1 to 4", added[k]->type.rank))
            return false;
    return !fail_if(p->filled && p->filled->type.rank != 1, E_RANK, "nonpad_kv_seqlen is no vector");
}
static bool sizes_fit(const struct attention_parts *p, V q, V k, V v) {
    int64_t n, m;
    if (!same_size(k, 0, q, 0, "queries, keys and values differ in batch") ||
        !same_size(v, 0, q, 0, "queries, keys and values differ in batch") ||
        !same_size(q, 3, k, 3, "queries and keys differ in size") ||
        !same_size(k, 1, v, 1, "keys and values differ in heads") ||
        !same_size(k, 2, v, 2, "there is not one value for each key"))
        return false;
    for (int c = 0; c < 2 && p->past_k; c++) {
        const char *what = "the cache does not fit the new keys and values";
        V past = c ? p->past_v : p->past_k, now = c ? v : k;
        if (!same_size(past, 0, now, 0, what) || !same_size(past, 1, now, 1, what) || !same_size(past, 3, now, 3, what))
            return false;
    }
    const char *heads = "the heads of queries are no multiple of those of keys";
    bool known = known_size(q, 1, &n) && known_size(k, 1, &m);
    if (!known && is_grouped(q, k)) {
        V rest = N_OP("Mod", n_dim(q, 1), N_OP("Max", n_dim(k, 1), N_INTS(1)));
        n_private("Require", (const V[]){N_OP("Equal", rest, N_INTS(0))}, 1, 0, ATTRS(attr_str("reason", heads)));
    }
    return (!p->past_k || same_size(p->past_k, 2, p->past_v, 2, "the caches of keys and values differ in length")) &&
           !(known && fail_if(m ? n % m : n, E_SHAPE, "%s", heads));
}
void attention_expand(const struct attention_parts *p, V out[ATTENTION_RESULTS]) {
    for (int k = 0; k < ATTENTION_RESULTS; k++) out[k] = NULL;
    if (!is_sound(p)) return;
    V q = as_heads(p->q, p->heads), k = q ? as_heads(p->k, p->kv_heads) : NULL;
    V v = k ? as_heads(p->v, p->kv_heads) : NULL;
    if (!v || !sizes_fit(p, q, k, v)) return;
    enum dtype own = q->type.dtype, t = own == F64 || p->precise ? F64 : F32, sums = own == F64 ? F64 : F32;
    bool grouped = is_grouped(q, k);
    k = out[1] = joined(p->past_k, k), v = out[2] = joined(p->past_v, v);
    if (k->type.rank != 4 || v->type.rank != 4) return;
    V s = products(p, q, k, t, grouped);
    if (s->type.rank < 4) return;
    s = N_OP("Mul", s, scale_of(p, q, t));
    V told = s;
    if (p->cap > 0) s = N_OP("Mul", N_OP("Tanh", N_OP("Div", s, n_const_f(t, p->cap))), n_const_f(t, p->cap));
    if (p->mode == 1 || (p->mode == 0 && p->cap > 0)) told = s;
    if (is_masked(p)) s = masked_scores(p, s);
    if (s->type.rank < 4) return;
    if (p->mode == 2) told = s;
    s = is_masked(p) ? n_private("MaskedSoftmax", &s, 1, 1, NULL, 0)->outs.v[0]
                     : N_WITH("Softmax", ATTRS(attr_int("axis", -1)), s);
    if (p->mode == 3) told = s;
    if (p->scores && grouped) told = IN_DIMS(told, n_dim(q, 0), n_dim(q, 1), n_dim(q, 2), n_dim(k, 2));
    if (p->scores) out[3] = n_cast(told, own);
    V y = mixed(p, n_cast(s, sums), v, grouped);
    if (y->type.rank >= 4) out[0] = n_cast(as_query(y, q, p->q, grouped), own);
}
static void exp_attention(void) {
    struct attention_parts p = {
        .q = gin(0), .k = gin(1), .v = gin(2), .mask = gin(3), .filled = gin(6), .bias = gin(7)};
    V out[ATTENTION_RESULTS];
    p.past_k = gin(4), p.past_v = gin(5);
    p.heads = int_attr("q_num_heads"), p.kv_heads = int_attr("kv_num_heads");
    p.causal = int_attr("is_causal") != 0;
    p.left = has_attr("left_window_size") ? int_attr("left_window_size") : -1;
    p.right = has_attr("right_window_size") ? int_attr("right_window_size") : -1;
    p.scale = float_attr("scale"), p.cap = float_attr("softcap");
    p.mode = int_attr("qk_matmul_output_mode"), p.scores = wants(3);
    p.precise = type_attr("softmax_precision") == F64;
    attention_expand(&p, out);
    for (int k = 0; k < ATTENTION_RESULTS && out[0]; k++)
        if (wants(k)) gout(k, out[k]);
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
    {"", "Attention", 24, 23, a_attention, s_attention, s_attention_out, .expand = exp_attention,
     .spec = "Attention-24; scores and softmax in f32, or f64 for f64 operands or precision"},
    {"", "RotaryEmbedding", 23, 23, a_rotary, s_rotary, slots_y, .define = op_rotary, .spec = "RotaryEmbedding-23"},
    {"", "TensorScatter", 24, 24, a_tscatter, s_tscatter, slots_y, .define = op_tensorscatter,
     .spec = "TensorScatter-24"},
    {0},
};
