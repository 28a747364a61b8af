/* Attention in other forms: LinearAttention, a state of [keys, values] that every step decays, writes and reads;
 * CausalConvWithState, the short convolution before it; FlexAttention, whose scores a body of the model changes. */
#include "lower/ops/ops.h"
#include <string.h>

/* ---- LinearAttention: a Scan over the steps; a single step, as in decoding, stands in the graph itself */
/* Operands, by step: query [B,H,R,D] for R query heads of each state, key and value as columns [B,H,D,1] and rows
 * [B,H,1,V], decay [B,H,D or 1,1], beta [B,H or 1,1,1]. */
enum { L_Q, L_K, L_V, L_DECAY, L_BETA, L_COUNT };
struct place {
    struct region *r;
    struct node *before; /* NULL: at the end */
};
static struct node *make(struct place p, const char *op, const V *ins, int nins, int nouts) {
    struct node *n = node_new(p.r, p.before, "", op, ins, nins, nouts);
    n->origin = def_node()->origin;
    return n;
}
#define MAKE(p, op, ...)                                                                                               \
    make(p, op, (const V[]){__VA_ARGS__}, (int)(sizeof((const V[]){__VA_ARGS__}) / sizeof(V)), 1)->outs.v[0]
/* The state after a step, and what it gives: [B,H,R,V]. */
static V step(struct place p, V state, const V *x, V *y) {
    static const int64_t turned[] = {0, 1, 3, 2};
    V written = x[L_V];
    if (x[L_DECAY]) state = MAKE(p, "Mul", state, x[L_DECAY]);
    if (x[L_BETA]) { /* only what the state does not say already */
        struct node *row = make(p, "Transpose", &x[L_K], 1, 1);
        node_set_attr(row, attr_ints("perm", turned, 4));
        V said = MAKE(p, "MatMul", row->outs.v[0], state), news = MAKE(p, "Sub", x[L_V], said);
        written = MAKE(p, "Mul", x[L_BETA], news);
    }
    V outer = MAKE(p, "Mul", x[L_K], written);
    state = MAKE(p, "Add", state, outer);
    *y = MAKE(p, "MatMul", x[L_Q], state);
    return state;
}
static struct place here(void) { return (struct place){def_node()->in, def_node()}; }
static V one_step(V state, const V *x, V *y) {
    V slice[L_COUNT] = {0}, axis = N_INTS(1), one;
    for (int k = 0; k < L_COUNT; k++)
        if (x[k]) slice[k] = MAKE(here(), "Squeeze", x[k], axis);
    state = step(here(), state, slice, &one);
    *y = MAKE(here(), "Unsqueeze", one, axis);
    return state;
}
static V all_steps(V state, const V *x, V *y) {
    static const char *const names[] = {"q", "k", "v", "decay", "beta"};
    static const int64_t axes[] = {1, 1, 1, 1, 1};
    V ins[1 + L_COUNT] = {state}, slice[L_COUNT] = {0}, one;
    int n = 1;
    for (int k = 0; k < L_COUNT; k++)
        if (x[k]) ins[n++] = x[k];
    struct node *scan = make(here(), "Scan", ins, n, 2);
    struct region *body = region_new(scan->in->graph, scan, "step");
    struct type open = {.rank = -1};
    V old = region_param(body, "state", open);
    for (int k = 0; k < L_COUNT; k++)
        if (x[k]) slice[k] = region_param(body, names[k], open);
    region_result(body, step((struct place){body, NULL}, old, slice, &one));
    region_result(body, one);
    node_set_attr(scan, (struct attr){.name = "body", .kind = AT_REGION, .u.region = body});
    node_set_attr(scan, attr_int("num_scan_inputs", n - 1));
    node_set_attr(scan, attr_ints("scan_input_axes", axes, n - 1));
    node_set_attr(scan, attr_ints("scan_output_axes", axes, 1));
    *y = scan->outs.v[1];
    return scan->outs.v[0];
}
/* v in f32, with its last axis as these sizes (0 keeps one, -1 is what is left). */
static V split(V v, int64_t d2, int64_t d3, int64_t d4) {
    return N_OP("Reshape", n_cast(v, F32), N_INTS(0, 0, d2, d3, d4));
}
static V zero_state(int64_t heads, V query, V key, V value) {
    V dims[] = {n_dim(query, 0), N_INTS(heads), n_dim(key, 3), n_dim(value, 4)};
    return N_OP("ConstantOfShape", n_op("Concat", 0, dims, 4, ATTRS(attr_int("axis", 0))));
}
/* Of the sums: what the attribute says, else one by the root of the size of a key. */
static V scale_of(V key) {
    double given = float_attr("scale");
    if (given != 0) return n_const_f(F32, given);
    return N_OP("Reciprocal", N_OP("Sqrt", n_cast(n_dim(key, 3), F32)));
}
static bool linear_is_sound(int64_t q_heads, int64_t heads, bool decays, bool deltas) {
    const char *rule = str_attr("update_rule");
    if (!decays && !deltas && strcmp(rule, "linear")) fail(E_ATTR, "update rule %s is not known", rule);
    else if (heads < 1 || q_heads < 1 || q_heads % heads)
        fail(E_ATTR, "\"q_num_heads\" must be a multiple of \"kv_num_heads\"");
    else if ((decays && !gin(4)) || (deltas && !gin(5)))
        fail(E_ARITY, "update rule %s needs \"%s\"", rule, decays && !gin(4) ? "decay" : "beta");
    else {
        for (int k = 0; k < 6; k++)
            if (fail_if(gin(k) && gin(k)->type.rank != 3 + (k == 3), E_RANK, "input %d has rank %d", k,
                        gin(k)->type.rank))
                return false;
        return true;
    }
    return false;
}
static void op_linear_attention(void) {
    const char *rule = str_attr("update_rule");
    bool deltas = !strcmp(rule, "delta") || !strcmp(rule, "gated_delta");
    bool decays = !strcmp(rule, "gated") || !strcmp(rule, "gated_delta");
    int64_t q_heads = int_attr("q_num_heads"), heads = int_attr("kv_num_heads"), steps;
    V query = gin(0), past = gin(3), x[L_COUNT] = {0}, y;
    if (!linear_is_sound(q_heads, heads, decays, deltas)) return;
    x[L_Q] = split(query, heads, q_heads / heads, -1);
    x[L_K] = split(gin(1), heads, -1, 1);
    x[L_V] = split(gin(2), heads, 1, -1);
    if (decays) x[L_DECAY] = N_OP("Exp", split(gin(4), heads, -1, 1));
    if (deltas) x[L_BETA] = split(gin(5), -1, 1, 1);
    V state = past ? n_cast(past, F32) : zero_state(heads, query, x[L_K], x[L_V]);
    bool single = x_is_int(query->type.dims[1], &steps) && steps == 1 && region_is_settled(def_node()->in);
    state = (single ? one_step : all_steps)(state, x, &y);
    y = MAKE(here(), "Mul", y, scale_of(x[L_K]));
    y = MAKE(here(), "Reshape", y, N_INTS(0, 0, -1));
    struct node *cast = make(here(), "Cast", &y, 1, 1);
    node_set_attr(cast, attr_int("to", dtype_onnx(query->type.dtype)));
    gout(0, cast->outs.v[0]);
    if (!wants(1)) return;
    cast = make(here(), "Cast", &state, 1, 1);
    node_set_attr(cast, attr_int("to", dtype_onnx((past ? past : query)->type.dtype)));
    gout(1, cast->outs.v[0]);
}

/* ---- CausalConvWithState: each channel by its own window, which ends at the element */
/* Element p of what is convolved: the state, or as many zeros, and the input behind it. */
static E padded(T x, T past, E kept, E b, E c, E p) {
    E v = at_or(x, list3(b, c, sub(p, kept)), num(0));
    return has(past) ? sel(lt(p, kept), at_or(past, list3(b, c, p), num(0)), v) : v;
}
static bool conv_is_sound(T x, T w, T bias, T past, const char *act) {
    bool known = !strcmp(act, "silu") || !strcmp(act, "swish") || !strcmp(act, "none");
    if (!known) return fail(E_ATTR, "activation %s is not known", act), false;
    if (rank(x) != 3 || rank(w) != 3 || (has(past) && rank(past) != 3) || (has(bias) && rank(bias) != 1))
        return fail(E_RANK, "operands of rank 3, and a bias of rank 1, are needed"), false;
    require(ge(dim(w, 2), idx(1)), "the kernel is empty");
    require(eq(dim(w, 0), dim(x, 1)), "there is not one kernel for each channel");
    require(eq(dim(w, 1), idx(1)), "a kernel is for more than one channel");
    if (has(bias)) require(eq(dim(bias, 0), dim(x, 1)), "there is not one bias for each channel");
    for (int k = 0; has(past) && k < 3; k++)
        require(eq(dim(past, k), k < 2 ? dim(x, k) : sub(dim(w, 2), idx(1))),
                "the state does not fit the input and the kernel on axis %d", k);
    return true;
}
static void op_causal_conv(void) {
    T x = in(0), w = in(1), bias = in(2), past = in(3);
    const char *act = str_attr("activation");
    if (!conv_is_sound(x, w, bias, past, act)) return;
    E taps = dim(w, 2), kept = sub(taps, idx(1));
    X i = axes_named(shape(x), "b c t");
    E c = i.v[1], k = raxis(taps, "k"), v = padded(x, past, kept, i.v[0], c, add(i.v[2], k));
    T sum = reduce("acc", acc(x), i, RED_SUM, list1(k), mul(v, at(w, list3(c, idx(0), k))),
                   has(bias) ? at(bias, list1(c)) : NULL);
    E y = at(sum, i);
    out(0, dtype(x), i, strcmp(act, "none") ? mul(y, sigmoid_(y)) : y);
    if (!wants(1)) return;
    X s = axes_named(list3(dim(x, 0), dim(x, 1), kept), "b c s");
    out(1, dtype(x), s, padded(x, past, kept, s.v[0], s.v[1], add(s.v[2], dim(x, 2))));
}

/* ---- FlexAttention */
enum { FLEX_CAPTURES = 64 };
static V dims_joined(V a, V b, V c, V d, V e) {
    V parts[] = {a, b, c, d, e};
    return n_op("Concat", 0, parts, e ? 5 : 4, ATTRS(attr_int("axis", 0)));
}
/* v after the body of that name, with what it captures; v when there is none. NULL after a diagnostic. */
static V modified(const char *name, V v) {
    struct node *n = def_node();
    const struct attr *a = node_attr(n, name);
    if (!a) return v;
    struct region *r = a->u.region;
    const struct attr *captures = node_attr(n, "captures");
    int ncaptures = captures ? (int)captures->u.i : 0;
    if (ncaptures < 0 || ncaptures > n->ins.n - 3 || r->params.n != 1 + ncaptures || r->results.n != 1)
        return fail(E_ARITY, "%s must take one value and give one", name), NULL;
    V args[1 + FLEX_CAPTURES] = {v}, result;
    for (int k = 0; k < ncaptures; k++) args[1 + k] = n->ins.v[n->ins.n - ncaptures + k];
    region_inline(r, n, args, &result);
    return result;
}
static bool flex_is_sound(V q, V k, V v, enum dtype t) {
    if (q->type.rank != 4 || k->type.rank != 4 || v->type.rank != 4) fail(E_RANK, "operands of rank 4 are needed");
    else if (def_node()->ins.n > 3 + FLEX_CAPTURES) fail(E_LIMIT, "more than %d captured values", FLEX_CAPTURES);
    else if (!(TS_FLOAT & TSET(t))) fail(E_ATTR, "softmax_precision is no floating-point type");
    else return true;
    return false;
}
/* Scores of [B, heads of the query, L, S] come from products of [B, heads of the keys, queries for each, L, S]. */
static void op_flex_attention(void) {
    static const int64_t turned[] = {0, 1, 2, 4, 3};
    V q = gin(0), k = gin(1), v = gin(2);
    enum dtype given = dtype_by_onnx((int)int_attr("softmax_precision")), own = q->type.dtype,
               t = given        ? given
                   : own == F64 ? F64
                                : F32;
    if (!flex_is_sound(q, k, v, t)) return;
    V heads = n_dim(k, 1), length = n_dim(q, 2), keys = n_dim(k, 2), shared = N_OP("Div", n_dim(q, 1), heads),
      group = N_INTS(2), scale;
    if (has_attr("scale")) scale = n_const_f(t, float_attr("scale"));
    else scale = N_OP("Reciprocal", N_OP("Sqrt", n_cast(n_dim(q, 3), t)));
    q = N_OP("Reshape", n_cast(q, t), dims_joined(n_dim(q, 0), heads, shared, length, n_dim(q, 3)));
    k = N_OP("Unsqueeze", n_cast(k, t), group);
    V scores = N_OP("Mul", N_OP("MatMul", q, n_transpose(k, turned, 5)), scale);
    scores = N_OP("Reshape", scores, dims_joined(n_dim(gin(0), 0), n_dim(gin(0), 1), length, keys, NULL));
    if (!(scores = modified("score_mod", scores))) return;
    struct node *softmax = make(here(), "Softmax", &scores, 1, 1);
    node_set_attr(softmax, attr_int("axis", -1));
    V probs = modified("prob_mod", softmax->outs.v[0]);
    if (!probs) return;
    probs = MAKE(here(), "Reshape", probs, dims_joined(n_dim(gin(0), 0), heads, shared, length, keys));
    V y = MAKE(here(), "MatMul", probs, N_OP("Unsqueeze", n_cast(v, t), group));
    y = MAKE(here(), "Reshape", y, dims_joined(n_dim(gin(0), 0), n_dim(gin(0), 1), length, n_dim(v, 3), NULL));
    struct node *cast = make(here(), "Cast", &y, 1, 1);
    node_set_attr(cast, attr_int("to", dtype_onnx(own)));
    gout(0, cast->outs.v[0]);
}

enum { TS_T = TSET(F16) | TSET(BF16) | TSET(F32) };
static const struct op_slot s_linear[] = {{"query", TS_T, 0},
                                          {"key", TS_T, 0},
                                          {"value", TS_T, 0},
                                          {"past_state", TS_T, OPTIONAL},
                                          {"decay", TS_T, OPTIONAL},
                                          {"beta", TS_T, OPTIONAL},
                                          {0}};
static const struct op_slot s_linear_out[] = {{"output", TS_ANY, 0}, {"present_state", TS_ANY, OPTIONAL}, {0}};
static const struct op_slot s_causal[] = {
    {"input", TS_T, 0}, {"weight", TS_T, 0}, {"bias", TS_T, OPTIONAL}, {"past_state", TS_T, OPTIONAL}, {0}};
static const struct op_slot s_flex[] = {
    {"Q", TS_FLOAT, 0}, {"K", TS_FLOAT, 0}, {"V", TS_FLOAT, 0}, {"captured", TS_ANY, VARIADIC | OPTIONAL}, {0}};
static const struct op_attr a_flex[] = {
    A_REGION("score_mod"), A_REGION("prob_mod"), A_FLOAT("scale"), A_INT("softmax_precision"), {0}};
static const struct op_attr a_linear[] = {A_INT("chunk_size", .i = 64),
                                          A_INT("kv_num_heads", .flags = A_REQUIRED),
                                          A_INT("q_num_heads", .flags = A_REQUIRED),
                                          A_FLOAT("scale"),
                                          A_STRING("update_rule", .s = "gated_delta"),
                                          {0}};
static const struct op_attr a_causal[] = {A_STRING("activation", .s = "none"), {0}};
const struct op ops_attention_forms[] = {
    {"", "LinearAttention", 27, 27, a_linear, s_linear, s_linear_out, .expand = op_linear_attention,
     .spec = "LinearAttention-27, step by step in f32; chunk_size has no effect"},
    {"", "CausalConvWithState", 27, 27, a_causal, s_causal, s_linear_out, .define = op_causal_conv,
     .spec = "CausalConvWithState-27; sums in f32"},
    {"ai.onnx.preview", "FlexAttention", 1, 1, a_flex, s_flex, slots_y, .expand = op_flex_attention,
     .spec = "FlexAttention-1 of ai.onnx.preview; all in the precision of the softmax"},
    {0},
};
