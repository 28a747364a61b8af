/* com.microsoft's mixtures of experts, MoE and QMoE: for each token the experts with the greatest routing numbers, each
 * a small network of its own. Expanded to the routing (Softmax, TopK) and, for each layer, one product that takes the
 * weights of the expert that the token was given to; weights of few bits stay packed in memory. */
#include "lower/ops/ms.h"
#include <math.h>
#include <string.h>

/* ---- the product of one layer: y[t,s] = x[t] (or x[t,s]) times the transpose of w[which[t,s]] */
struct packing {
    int64_t bits, block; /* block 0: one scale for a whole row */
};
static E scale_of(T scale, X at_row, E k, const struct packing *p) {
    if (rank(scale) == 3) at_row = push(at_row, within(p->block ? div_(k, idx(p->block)) : idx(0), dim(scale, 2)));
    return at(scale, at_row);
}
static E zero_of(T zero, X at_row, E k, const struct packing *p) {
    E per_byte = idx(8 / p->bits), place = rank(zero) == 3 ? (p->block ? div_(k, idx(p->block)) : idx(0)) : at_row.v[1];
    E byte = within(div_(place, per_byte), dim(zero, rank(zero) - 1));
    X i = rank(zero) == 3 ? push(at_row, byte) : list2(at_row.v[0], byte);
    return ms_bits(at(zero, i), mod_(place, per_byte), p->bits);
}
static E weight(E expert, E row, E k, const struct packing *p) {
    T w = in(2), scale = in(4), zero = in(5);
    X at_row = list2(expert, row);
    if (!has(scale)) return at(w, push(at_row, within(k, dim(w, 2))));
    E per_byte = idx(8 / p->bits), byte = at(w, push(at_row, within(div_(k, per_byte), dim(w, 2))));
    E v = ms_bits(byte, mod_(k, per_byte), p->bits), z = typed(I32, (double)(1 << (p->bits - 1)));
    if (has(zero)) z = zero_of(zero, at_row, k, p);
    return mul(cast(F32, sub(v, z)), scale_of(scale, at_row, k, p));
}
static bool parts_fit(const struct packing *p) {
    T w = in(2), bias = in(3), scale = in(4), zero = in(5);
    E rows = dim(w, 1), columns = dim(in(0), rank(in(0)) - 1),
      blocks = p->block ? ceil_div(columns, idx(p->block)) : idx(1);
    E per_byte = idx(has(scale) ? 8 / p->bits : 1);
    require(eq(dim(w, 2), ceil_div(columns, per_byte)), "the weights do not fit rows of this length");
    if (has(bias))
        require(and_(eq(dim(bias, 0), dim(w, 0)), eq(dim(bias, 1), rows)), "the bias does not fit the weights");
    if (!has(scale)) return true;
    if (rank(scale) != 2 && rank(scale) != 3)
        return fail(E_RANK, "the scales have rank %d, not 2 or 3", rank(scale)), false;
    require(and_(eq(dim(scale, 0), dim(w, 0)), eq(dim(scale, 1), rows)), "the scales do not fit the weights");
    if (rank(scale) == 3) require(eq(dim(scale, 2), blocks), "there is not one scale for each block");
    if (!has(zero)) return true;
    if (rank(zero) != rank(scale))
        return fail(E_RANK, "the zero points have rank %d, not %d", rank(zero), rank(scale)), false;
    require(eq(dim(zero, 0), dim(w, 0)), "the zero points do not fit the weights");
    if (rank(zero) == 3) require(eq(dim(zero, 1), rows), "the zero points do not fit the weights");
    require(eq(dim(zero, rank(zero) - 1), ceil_div(rank(zero) == 3 ? blocks : rows, per_byte)),
            "the zero points do not fit the scales");
    return true;
}
static void op_expertproduct(void) {
    T x = in(0), which = in(1), w = in(2), bias = in(3);
    struct packing p = {int_attr("bits"), int_attr("block_size")};
    if (fail_if(rank(w) != 3 || (has(bias) && rank(bias) != 2), E_RANK,
                "weights of rank 3 and a bias of rank 2 are needed"))
        return;
    if (!parts_fit(&p)) return;
    X o = axes_named(list3(dim(which, 0), dim(which, 1), dim(w, 1)), "t s f");
    E k = raxis(dim(x, rank(x) - 1), "k"), row = within(o.v[0], dim(x, 0));
    E expert = wrap_index(at(which, list2(o.v[0], o.v[1])), dim(w, 0));
    E v = at(x, rank(x) == 3 ? list3(row, within(o.v[1], dim(x, 1)), k) : list2(row, k));
    T y = reduce("acc", F32, o, RED_SUM, list1(k), mul(cast(F32, v), cast(F32, weight(expert, o.v[2], k, &p))), NULL);
    if (!y) return;
    v = at(y, o);
    if (has(bias)) v = add(v, cast(F32, at(bias, list2(expert, within(o.v[2], dim(bias, 1))))));
    out(0, F32, o, v);
}

/* ---- the nodes */
struct layer {
    V w, bias, scale, zero;
    int64_t bits;
};
static V expert_product(V x, V which, const struct layer *l) {
    V ins[] = {x, which, l->w, l->bias, l->scale, l->zero};
    struct attr how[] = {attr_int("bits", l->bits), attr_int("block_size", l->scale ? int_attr("block_size") : 0)};
    return n_private("ExpertProduct", ins, 6, 1, how, 2)->outs.v[0];
}
static V constant(double v) { return n_const_f(F32, v); }
/* g * sigmoid(alpha * g) * (l + beta), with g and l clamped to the limit. */
static V swiglu(V g, V l) {
    if (has_attr("swiglu_limit")) {
        double limit = float_attr("swiglu_limit");
        g = N_OP("Clip", g, NULL, constant(limit));
        l = N_OP("Clip", l, constant(-limit), constant(limit));
    }
    V gate = N_OP("Sigmoid", N_OP("Mul", g, constant(float_attr("activation_alpha"))));
    return N_OP("Mul", N_OP("Mul", g, gate), N_OP("Add", l, constant(float_attr("activation_beta"))));
}
/* Splits the result of one product into gate and value: interleaved (1), or two halves (2). */
static V fused_swiglu(V v, int64_t fusion) {
    static const int64_t pairs[] = {0, 0, -1, 2}, halves[] = {0, 0, 2, -1}, axis[] = {3, 2};
    V both = ms_reshaped(v, fusion == 1 ? pairs : halves, 4), part[2];
    for (int k = 0; k < 2; k++) {
        int64_t along = axis[fusion - 1];
        part[k] = N_OP("Squeeze", ms_sliced(both, (int)along, k, k + 1), N_INTS(along));
    }
    return swiglu(part[0], part[1]);
}
static V activated(const char *name, V v) {
    if (!strcmp(name, "relu")) return N_OP("Relu", v);
    if (!strcmp(name, "gelu")) return N_WITH("Gelu", ATTRS(attr_str("approximate", "tanh")), v);
    if (!strcmp(name, "silu")) return N_OP("Mul", v, N_OP("Sigmoid", v));
    return v; /* identity */
}
static bool activation_is_known(const char *name, int64_t fusion, bool third) {
    static const char *const names[] = {"relu", "gelu", "silu", "identity", "swiglu"};
    for (int k = 0; k < 5; k++)
        if (!strcmp(names[k], name)) {
            bool pair = third || fusion;
            if (k == 4 && !pair) return fail(E_ATTR, "swiglu needs fc3, or \"swiglu_fusion\" of 1 or 2"), false;
            if (k < 4 && fusion) return fail(E_ATTR, "\"swiglu_fusion\" belongs to swiglu, not to %s", name), false;
            return true;
        }
    return fail(E_ATTR, "activation %s is not known", name), false;
}
static V hidden(V x, V which, const struct layer *first, const struct layer *third) {
    const char *name = str_attr("activation_type");
    int64_t fusion = int_attr("swiglu_fusion");
    V v = expert_product(x, which, first);
    if (fusion) return fused_swiglu(v, fusion);
    V gated = third->w ? expert_product(x, which, third) : NULL;
    if (!strcmp(name, "swiglu")) return swiglu(v, gated);
    v = activated(name, v);
    return gated ? N_OP("Mul", v, gated) : v;
}
/* The numbers of the k experts of each token, and their shares. */
struct routing {
    V which, share;
};
/* Of equal numbers TopK takes the first, ONNX Runtime the last expert, so the numbers are reversed. */
static V backwards(V router) { return N_OP("Slice", router, N_INTS(-1), N_INTS(INT64_MIN), N_INTS(1), N_INTS(-1)); }
static V from_behind(V place, V router) { return N_OP("Sub", N_OP("Sub", n_dim(router, 1), N_INTS(1)), place); }
static V normalised(V share) { return N_OP("Div", share, N_OP("ReduceSum", share, N_INTS(-1))); }
static bool routed(V router, V weights, bool softmax_first, struct routing *r) {
    int64_t k = int_attr("k"), experts;
    bool settled = x_is_int(router->type.dims[1], &experts);
    if (k < 1 || k > INT32_MAX || (settled && k > experts))
        return fail(E_ATTR, "\"k\" is %lld, for %lld experts", (long long)k, settled ? (long long)experts : -1), false;
    router = n_cast(router, F32);
    if (softmax_first) router = N_WITH("Softmax", ATTRS(attr_int("axis", -1)), router);
    struct node *top = n_node("TopK", (const V[]){backwards(router), N_INTS(k)}, 2, 2);
    if (!def_infer(top->in->graph, top)) return false;
    *r = (struct routing){from_behind(top->outs.v[1], router), top->outs.v[0]};
    bool normalise = int_attr("normalize_routing_weights");
    if (weights) {
        r->share = N_WITH("GatherElements", ATTRS(attr_int("axis", 1)), n_cast(weights, F32), r->which);
    } else if (!softmax_first) {
        r->share = N_WITH("Softmax", ATTRS(attr_int("axis", -1)), r->share), normalise = false;
    }
    if (normalise) r->share = normalised(r->share);
    return true;
}
static void mixture(const struct layer *l, V weights, bool softmax_first) {
    V x = gin(0), router = gin(1);
    int64_t fusion = int_attr("swiglu_fusion");
    struct routing r;
    if (fail_if((x->type.rank != 2 && x->type.rank != 3) || router->type.rank != 2, E_RANK,
                "tokens of rank %d and routing numbers of rank %d; 2 or 3, and 2 are expected", x->type.rank,
                router->type.rank))
        return;
    if (fail_if(int_attr("use_sparse_mixer") || fusion < 0 || fusion > 2, E_ATTR,
                fusion < 0 || fusion > 2 ? "\"swiglu_fusion\" must be 0, 1 or 2" : "the sparse mixer is not supported"))
        return;
    if (!activation_is_known(str_attr("activation_type"), fusion, l[2].w != NULL)) return;
    if (!routed(router, weights, softmax_first, &r)) return;
    V rows = x->type.rank == 3 ? N_WITH("Flatten", ATTRS(attr_int("axis", x->type.rank - 1)), x) : x;
    V y = expert_product(hidden(rows, r.which, &l[0], &l[2]), r.which, &l[1]);
    y = N_OP("Mul", y, N_OP("Unsqueeze", r.share, N_INTS(2)));
    y = n_cast(N_WITH("ReduceSum", ATTRS(attr_int("keepdims", 0)), y, N_INTS(1)), x->type.dtype);
    gout(0, x->type.rank == 3 ? N_OP("Reshape", y, N_OP("Shape", x)) : y);
}
static void exp_moe(void) {
    const struct layer l[] = {
        {gin(2), gin(3), NULL, NULL, 8}, {gin(4), gin(5), NULL, NULL, 8}, {gin(6), gin(7), NULL, NULL, 8}};
    mixture(l, NULL, true);
}
static int64_t bits_for(const char *attr) { return has_attr(attr) ? int_attr(attr) : int_attr("expert_weight_bits"); }
static void exp_qmoe(void) {
    const struct layer l[] = {{gin(2), gin(4), gin(3), gin(11), bits_for("fc1_expert_weight_bits")},
                              {gin(5), gin(7), gin(6), gin(12), bits_for("fc2_expert_weight_bits")},
                              {gin(8), gin(10), gin(9), gin(13), bits_for("fc3_expert_weight_bits")}};
    int64_t block = int_attr("block_size");
    if (fail_if(strcmp(str_attr("quant_type"), "int"), E_ATTR, "weights of type %s are not supported; integers are",
                str_attr("quant_type")))
        return;
    if (fail_if(int_attr("weights_prepacked") == 1, E_ATTR, "weights packed for a device are not supported")) return;
    if (fail_if(block < 0 || block > INT32_MAX || (block && (block < 16 || (block & (block - 1)))), E_ATTR,
                "\"block_size\" is %lld, no power of 2 from 16 on", (long long)block))
        return;
    for (int k = 0; k < 3; k++) {
        if (!ms_known_bits(l[k].bits)) return;
        if (fail_if(l[k].w && !l[k].scale, E_ARITY, "the weights of fc%d have no scales", k + 1)) return;
    }
    mixture(l, gin(14), false);
}

enum { TF = TSET(F32) | TSET(F16) | TSET(BF16), T8 = TSET(U8), TF32 = TSET(F32) };
static const struct op_slot s_product[] = {{"X", TF, 0},
                                           {"which", TSET(I64), 0},
                                           {"W", TF | T8, 0},
                                           {"bias", TF, OPTIONAL},
                                           {"scales", TF, OPTIONAL},
                                           {"zero_points", T8, OPTIONAL},
                                           {0}};
static const struct op_slot s_moe[] = {{"input", TF, 0},
                                       {"router_probs", TF, 0},
                                       {"fc1_experts_weights", TF, 0},
                                       {"fc1_experts_bias", TF, OPTIONAL},
                                       {"fc2_experts_weights", TF, 0},
                                       {"fc2_experts_bias", TF, OPTIONAL},
                                       {"fc3_experts_weights", TF, OPTIONAL},
                                       {"fc3_experts_bias", TF, OPTIONAL},
                                       {0}};
static const struct op_slot s_qmoe[] = {{"input", TF, 0},
                                        {"router_probs", TF, 0},
                                        {"fc1_experts_weights", T8, 0},
                                        {"fc1_scales", TF, OPTIONAL},
                                        {"fc1_experts_bias", TF, OPTIONAL},
                                        {"fc2_experts_weights", T8, 0},
                                        {"fc2_scales", TF, OPTIONAL},
                                        {"fc2_experts_bias", TF, OPTIONAL},
                                        {"fc3_experts_weights", T8, OPTIONAL},
                                        {"fc3_scales", TF, OPTIONAL},
                                        {"fc3_experts_bias", TF, OPTIONAL},
                                        {"fc1_zero_points", T8, OPTIONAL},
                                        {"fc2_zero_points", T8, OPTIONAL},
                                        {"fc3_zero_points", T8, OPTIONAL},
                                        {"router_weights", TF, OPTIONAL},
                                        {0}};
#define COMMON                                                                                                         \
    A_INT("k", .i = 1), A_INT("use_sparse_mixer"), A_FLOAT("activation_alpha", .f = 1), A_FLOAT("activation_beta"),    \
        A_INT("normalize_routing_weights"), A_FLOAT("swiglu_limit"), A_INT("swiglu_fusion"),                           \
        A_STRING("activation_type", .s = "relu")
static const struct op_attr a_product[] = {A_INT("bits", .i = 8), A_INT("block_size"), {0}}, a_moe[] = {COMMON, {0}};
static const struct op_attr a_qmoe[] = {COMMON,
                                        A_INT("expert_weight_bits", .i = 4),
                                        A_INT("fc1_expert_weight_bits"),
                                        A_INT("fc2_expert_weight_bits"),
                                        A_INT("fc3_expert_weight_bits"),
                                        A_INT("block_size"),
                                        A_INT("weights_prepacked", .i = -1),
                                        A_INT("accuracy_level"),
                                        A_STRING("quant_type", .s = "int"),
                                        {0}};
const struct op ops_ms_moe[] = {
    {"com.microsoft", "MoE", 1, 1, a_moe, s_moe, slots_y, .expand = exp_moe,
     .spec = "com.microsoft.MoE; of equal routing numbers the first expert is taken"},
    {"com.microsoft", "QMoE", 1, 1, a_qmoe, s_qmoe, slots_y, .expand = exp_qmoe,
     .spec = "com.microsoft.QMoE of integers; tokens are never quantised, whatever accuracy_level allows"},
    {"gcc2nn", "ExpertProduct", 1, 1, a_product, s_product, slots_y, .define = op_expertproduct,
     .spec = "part of the expansions of MoE and QMoE"},
    {0},
};
