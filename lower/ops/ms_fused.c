/* Takes apart what ONNX Runtime's optimiser fuses: biases, residuals, embeddings and norms around operators of ai.onnx,
 * and operators of com.microsoft that ai.onnx has by now. Groups then fuse them anew. */
#include "lower/ops/ms.h"

static void give_all(const struct node *n) {
    for (int k = 0; k < n->outs.n; k++) gout(k, n->outs.v[k]);
}
/* The operator of ai.onnx that has the same name, inputs, results and attributes. */
static void exp_same(void) {
    V ins[16];
    int n = n_in() < 16 ? n_in() : 16;
    for (int k = 0; k < n; k++) ins[k] = gin(k);
    give_all(n_with_attrs("", def_node()->op_type, ins, n, n_out()));
}
static void exp_identity(void) { gout(0, N_OP("Identity", gin(0))); }

/* ---- biases and residuals */
static void exp_biasadd(void) { gout(0, N_OP("Add", N_OP("Add", gin(0), gin(1)), gin(2))); }
static void exp_biassplitgelu(void) {
    V half[2];
    if (ms_split(N_OP("Add", gin(0), gin(1)), -1, NULL, 2, half)) gout(0, N_OP("Mul", half[0], N_OP("Gelu", half[1])));
}
static void exp_biasdropout(void) {
    V ins[] = {N_OP("Add", gin(0), gin(1)), gin(3), gin(4)};
    struct node *d = n_with_attrs("", "Dropout", ins, gin(4) ? 3 : gin(3) ? 2 : 1, wants(1) ? 2 : 1);
    struct node *sum = gin(2) ? n_node("Add", (const V[]){d->outs.v[0], gin(2)}, 2, 1) : d;
    gout(0, sum->outs.v[0]);
    if (wants(1)) gout(1, d->outs.v[1]);
}
static void exp_biassoftmax(void) {
    V x = N_OP("Add", gin(0), gin(1));
    gout(0, N_WITH("Softmax", ATTRS(attr_int("axis", int_attr("axis")), attr_int("joint", 1)), x));
}
static void exp_gemmfastgelu(void) {
    V y[] = {N_OP("MatMul", gin(0), gin(1)), gin(2)};
    gout(0, n_with_attrs("com.microsoft", "FastGelu", y, gin(2) ? 2 : 1, 1)->outs.v[0]);
}
static void exp_gatedadd(void) { gout(0, N_OP("Add", gin(0), N_OP("Mul", gin(1), gin(2)))); }

/* ---- norms of groups of channels, which may stand last */
static void group_norm(V x) {
    bool last = int_attr("channels_last") != 0, silu = int_attr("activation") == 1;
    if (fail_if(int_attr("activation") < 0 || int_attr("activation") > 1, E_ATTR, "\"activation\" must be 0 or 1"))
        return;
    V ins[] = {last ? n_channels_first(x) : x, gin(1), gin(2)};
    struct attr a[] = {attr_int("num_groups", int_attr("groups")), attr_float("epsilon", float_attr("epsilon"))};
    for (int k = 1; k < 3; k++) ins[k] = n_cast(ins[k], ins[0]->type.dtype);
    struct node *norm = n_node_in("", "GroupNormalization", ins, 3, 1);
    for (int k = 0; k < 2; k++) node_set_attr(norm, a[k]);
    V y = norm->outs.v[0];
    y->type = ins[0]->type; /* it is expanded as well, and nothing else has set its type yet */
    if (silu) y = N_OP("Mul", y, N_OP("Sigmoid", y));
    gout(0, last ? n_channels_last(y) : y);
}
static void exp_groupnorm(void) { group_norm(gin(0)); }
static void exp_skipgroupnorm(void) {
    V x = gin(0), skip = gin(3);
    bool last = int_attr("channels_last") != 0;
    const int64_t wide[] = {0, last ? 1 : -1, 1, last ? -1 : 1};
    if (skip->type.rank == 2) skip = ms_reshaped(skip, wide, 4);
    x = N_OP("Add", x, skip);
    if (gin(4)) x = N_OP("Add", x, last ? gin(4) : N_OP("Reshape", gin(4), N_INTS(-1, 1, 1)));
    group_norm(x);
    gout(1, x);
}

/* ---- embeddings: rows of tables, summed and normalised */
struct embedding {
    V ids, segments, positions, mask;
    V word, position, segment, gamma, beta; /* word, position, segment: rows already */
};
/* How many ones there are in each row of the mask. */
static V mask_index(V ids, V mask) {
    static const int64_t row = 1;
    if (!mask) {
        struct tensor *zero = n_tensor(I32, &row, 1);
        return N_WITH("ConstantOfShape", ATTRS({.name = "value", .kind = AT_TENSOR, .u.t = zero}), n_dim(ids, 0));
    }
    V one = n_cast(N_INTS(1), mask->type.dtype);
    return N_WITH("ReduceSum", ATTRS(attr_int("keepdims", 0)), n_cast(N_OP("Equal", mask, one), I32), N_INTS(1));
}
static V rows_of(V table, V ids) { return N_OP("Gather", table, ids); }
static V positions_of(V ids) { /* 0 .. of one row */
    return N_OP("Unsqueeze", ms_counted(N_OP("Squeeze", n_dim(ids, 1), N_INTS(0))), N_INTS(0));
}
static void out_embedding(const struct embedding *e, int sum_at) {
    V sum = N_OP("Add", e->word, e->position);
    if (e->segment) sum = N_OP("Add", sum, e->segment);
    gout(0, N_WITH("LayerNormalization", ATTRS(attr_float("epsilon", float_attr("epsilon"))), sum, e->gamma, e->beta));
    if (wants(1)) gout(1, mask_index(e->ids, e->mask));
    if (wants(sum_at)) gout(sum_at, sum);
}
static bool ids_are_sound(V ids, V segments, V table) {
    if (ids->type.rank != 2 || (segments && segments->type.rank != 2))
        return fail(E_RANK, "the ids need rank 2"), false;
    if (!segments != !table) return fail(E_ARITY, "segment ids and their table belong together"), false;
    return true;
}
static void exp_embedlayernorm(void) {
    struct embedding e = {.ids = gin(0), .gamma = gin(5), .beta = gin(6), .mask = gin(7)};
    if (!ids_are_sound(gin(0), gin(1), gin(4))) return;
    e.word = rows_of(gin(2), gin(0));
    e.position = rows_of(gin(3), gin(8) ? gin(8) : positions_of(gin(0)));
    if (gin(1)) e.segment = rows_of(gin(4), gin(1));
    out_embedding(&e, 2);
}
static V scaled(V v, int scale) { return N_OP("DequantizeLinear", v, gin(scale), gin(scale + 5)); }
static void exp_qembedlayernorm(void) {
    struct embedding e = {.ids = gin(0), .mask = gin(7)};
    if (!ids_are_sound(gin(0), gin(1), gin(4))) return;
    e.word = scaled(rows_of(gin(2), gin(0)), 8);
    e.position = scaled(rows_of(gin(3), positions_of(gin(0))), 9);
    if (gin(1)) e.segment = scaled(rows_of(gin(4), gin(1)), 10);
    e.gamma = scaled(gin(5), 11), e.beta = scaled(gin(6), 12);
    out_embedding(&e, 2);
}

/* ---- operators that ai.onnx has in another form */
static V as_scalar(V v) { return N_OP("Squeeze", ms_flat(v), N_INTS(0)); }
static void exp_range(void) {
    V step = gin(2) ? as_scalar(gin(2)) : as_scalar(n_cast(N_INTS(1), gin(0)->type.dtype));
    gout(0, N_OP("Range", as_scalar(gin(0)), as_scalar(gin(1)), step));
}
static void exp_expanddims(void) { gout(0, N_OP("Unsqueeze", gin(0), ms_flat(n_cast(gin(1), I64)))); }
static void exp_pad(void) {
    V ins[] = {gin(0), ms_flat(gin(1)), gin(2) ? as_scalar(gin(2)) : NULL};
    gout(0, ms_alike("Pad", ins, gin(2) ? 3 : 2));
}
/* The values in order of first occurrence; ai.onnx has the indices of these as its second result. */
static void exp_unique(void) {
    V x = gin(0);
    struct node *u = n_node("Unique", &x, 1, 4);
    node_set_attr(u, attr_int("sorted", 0));
    gout(0, u->outs.v[0]);
    gout(1, u->outs.v[2]);
    gout(2, u->outs.v[3]);
}
static void exp_embedding(void) { gout(0, N_OP("Gather", gin(0), gin(1))); }
static void exp_convtransposepads(void) {
    V ins[] = {gin(0), gin(1), gin(3)};
    struct node *n = n_with_attrs("", "ConvTranspose", ins, gin(3) ? 3 : 2, 1);
    if (gin(2)) {
        const struct tensor *pads = gin(2)->init;
        int64_t v[16];
        if (fail_if(!pads || tensor_count(pads) > 16, E_SHAPE, "the pads must be constant, and at most 16")) return;
        for (int k = 0; k < (int)tensor_count(pads); k++) v[k] = tensor_i(pads, k);
        node_set_attr(n, attr_ints("pads", v, (int)tensor_count(pads)));
    }
    gout(0, n->outs.v[0]);
}
static bool plain_fourier(void) {
    bool ok = int_attr("signal_ndim") == 1 && int_attr("onesided") && !int_attr("normalized") && gin(0)->type.rank > 0;
    if (!ok) fail(E_ATTR, "one axis, one side, and no normalisation are supported");
    return ok;
}
static void exp_rfft(void) {
    if (!plain_fourier()) return;
    V x = N_OP("Unsqueeze", gin(0), N_INTS(-1));
    gout(0, N_WITH("DFT", ATTRS(attr_int("onesided", 1)), x, NULL, ms_scalar(-2)));
}
/* The other half of the spectrum is the conjugate of the first, backwards. */
static void exp_irfft(void) {
    if (!plain_fourier()) return;
    if (fail_if(gin(0)->type.rank < 2, E_RANK, "the input has rank %d, without an axis of pairs", gin(0)->type.rank))
        return;
    V x = gin(0), back = N_OP("Slice", x, N_INTS(-2), N_INTS(0), N_INTS(-2), N_INTS(-1));
    int axis = x->type.rank - 1;
    V parts[] = {ms_sliced(back, axis, 0, 1), N_OP("Neg", ms_sliced(back, axis, 1, 2))},
      whole[] = {x, ms_joined(parts, 2, axis)};
    V all = ms_joined(whole, 2, axis - 1);
    V y = N_WITH("DFT", ATTRS(attr_int("inverse", 1)), all, NULL, ms_scalar(-2));
    gout(0, N_OP("Squeeze", ms_sliced(y, axis, 0, 1), N_INTS(axis)));
}

enum { TF = TS_FLOAT, TI = TSET(I32), T8 = TSET(I8) | TSET(U8) };
static const struct op_slot s_skip[] = {{"X", TF, 0}, {"bias", TF, 0}, {"skip", TF, 0}, {0}},
                            s_two[] = {{"A", TF, 0}, {"B", TF, 0}, {0}},
                            s_gemm[] = {{"X", TF, 0}, {"W", TF, 0}, {"bias", TF, OPTIONAL}, {0}},
                            s_group[] = {{"X", TF, 0}, {"gamma", TF, 0}, {"beta", TF, 0}, {0}},
                            s_table[] = {{"weight", TS_ANY, 0},
                                         {"indices", TSET(I64), 0},
                                         {"padding_idx", TSET(I64), OPTIONAL},
                                         {"scale_grad_by_freq", TSET(BOOL), OPTIONAL},
                                         {0}};
static const struct op_slot s_dropout[] = {{"data", TF, 0},
                                           {"bias", TF, 0},
                                           {"residual", TF, OPTIONAL},
                                           {"ratio", TF, OPTIONAL},
                                           {"training_mode", TSET(BOOL), OPTIONAL},
                                           {0}};
static const struct op_slot s_skipgroup[] = {{"X", TF, 0},    {"gamma", TF, 0},       {"beta", TF, 0},
                                             {"skip", TF, 0}, {"bias", TF, OPTIONAL}, {0}};
static const struct op_slot s_embed[] = {{"input_ids", TI, 0},
                                         {"segment_ids", TI, OPTIONAL},
                                         {"word_embedding", TF, 0},
                                         {"position_embedding", TF, 0},
                                         {"segment_embedding", TF, OPTIONAL},
                                         {"gamma", TF, 0},
                                         {"beta", TF, 0},
                                         {"mask", TI, OPTIONAL},
                                         {"position_ids", TI, OPTIONAL},
                                         {0}};
static const struct op_slot s_qembed[] = {{"input_ids", TI, 0},
                                          {"segment_ids", TI, OPTIONAL},
                                          {"word_embedding_quant", T8, 0},
                                          {"position_embedding_quant", T8, 0},
                                          {"segment_embedding", T8, OPTIONAL},
                                          {"gamma_quant", T8, 0},
                                          {"beta_quant", T8, 0},
                                          {"mask", TI, OPTIONAL},
                                          {"word_embedding_scale", TF, 0},
                                          {"position_embedding_scale", TF, 0},
                                          {"segment_embedding_scale", TF, OPTIONAL},
                                          {"gamma_scale", TF, 0},
                                          {"beta_scale", TF, 0},
                                          {"word_embedding_zero_point", T8, 0},
                                          {"position_embedding_zero_point", T8, 0},
                                          {"segment_embedding_zero_point", T8, OPTIONAL},
                                          {"gamma_zero_point", T8, 0},
                                          {"beta_zero_point", T8, 0},
                                          {0}};
static const struct op_slot s_range[] = {{"start", TS_NUM, 0}, {"limit", TS_NUM, 0}, {"delta", TS_NUM, OPTIONAL}, {0}},
                            s_expand[] = {{"X", TS_ANY, 0}, {"axis", TI, 0}, {0}},
                            s_pad[] = {{"data", TS_ANY, 0}, {"pads", TSET(I64), 0}, {"value", TS_ANY, OPTIONAL}, {0}},
                            s_trilu[] = {{"X", TS_REAL, 0}, {"k", TSET(I64), OPTIONAL}, {0}},
                            s_grid[] = {{"X", TS_FLOAT, 0}, {"Grid", TF, 0}, {0}},
                            s_conv[] = {
                                {"X", TF, 0}, {"W", TF, 0}, {"Pads", TSET(I64), OPTIONAL}, {"B", TF, OPTIONAL}, {0}};
static const struct op_slot s_masked[] = {{"output", TS_ANY, 0}, {"mask", TS_ANY, OPTIONAL}, {0}},
                            s_summed[] = {{"Y", TS_ANY, 0}, {"S", TS_ANY, OPTIONAL}, {0}},
                            s_embedded[] = {{"output", TS_ANY, 0},
                                            {"mask_index", TS_ANY, OPTIONAL},
                                            {"embedding_sum", TS_ANY, OPTIONAL},
                                            {0}},
                            s_unique[] = {{"y", TS_ANY, 0}, {"idx", TS_ANY, 0}, {"counts", TS_ANY, 0}, {0}};
static const struct op_attr a_seed[] = {A_INT("seed"), {0}},
                            a_soft[] = {A_INT("axis", .i = 1), A_INT("is_inner_broadcast", .flags = A_REQUIRED), {0}},
                            a_embed[] = {A_FLOAT("epsilon", .f = 1e-12f), A_INT("mask_index_type"), {0}},
                            a_pad[] = {A_STRING("mode", .s = "constant"), {0}},
                            a_trilu[] = {A_INT("upper", .i = 1), {0}};
static const struct op_attr a_group[] = {A_INT("channels_last", .i = 1),
                                         A_INT("activation", .flags = A_REQUIRED),
                                         A_INT("groups", .flags = A_REQUIRED),
                                         A_FLOAT("epsilon", .f = 1e-5f),
                                         {0}};
static const struct op_attr a_grid[] = {
    A_INT("align_corners"), A_STRING("mode", .s = "bilinear"), A_STRING("padding_mode", .s = "zeros"), {0}};
static const struct op_attr a_conv[] = {A_STRING("auto_pad", .s = "NOTSET"),
                                        A_INTS("kernel_shape"),
                                        A_INTS("strides"),
                                        A_INTS("dilations"),
                                        A_INTS("output_padding"),
                                        A_INT("group", .i = 1),
                                        {0}};
static const struct op_attr a_fourier[] = {
    A_INT("onesided", .i = 1), A_INT("normalized"), A_INT("signal_ndim", .i = 1), {0}};
#define MANY(name, attrs, ins, outs, fn, note)                                                                         \
    { "com.microsoft", name, 1, 1, attrs, ins, outs, .expand = fn, .spec = "com.microsoft." name note }
#define ROW(name, attrs, ins, fn) MANY(name, attrs, ins, slots_y, fn, "")
const struct op ops_ms_fused[] = {
    ROW("BiasAdd", attrs_none, s_skip, exp_biasadd),
    ROW("BiasSplitGelu", attrs_none, s_two, exp_biassplitgelu),
    MANY("BiasDropout", a_seed, s_dropout, s_masked, exp_biasdropout, ""),
    ROW("BiasSoftmax", a_soft, s_two, exp_biassoftmax),
    ROW("GemmFastGelu", attrs_none, s_gemm, exp_gemmfastgelu),
    ROW("GatedAdd", attrs_none, s_skip, exp_gatedadd),
    ROW("GroupNorm", a_group, s_group, exp_groupnorm),
    MANY("SkipGroupNorm", a_group, s_skipgroup, s_summed, exp_skipgroupnorm, ""),
    MANY("EmbedLayerNormalization", a_embed, s_embed, s_embedded, exp_embedlayernorm, ""),
    MANY("QEmbedLayerNormalization", a_embed, s_qembed, s_embedded, exp_qembedlayernorm, ""),
    ROW("Range", attrs_none, s_range, exp_range),
    ROW("ExpandDims", attrs_none, s_expand, exp_expanddims),
    ROW("Pad", a_pad, s_pad, exp_pad),
    MANY("Unique", attrs_none, slots_x, s_unique, exp_unique, ""),
    ROW("TorchEmbedding", attrs_none, s_table, exp_embedding),
    ROW("ConvTransposeWithDynamicPads", a_conv, s_conv, exp_convtransposepads),
    ROW("Rfft", a_fourier, slots_x, exp_rfft),
    ROW("Irfft", a_fourier, slots_x, exp_irfft),
    ROW("Trilu", a_trilu, s_trilu, exp_same),
    ROW("GatherND", attrs_none, slots_gather, exp_same),
    ROW("GridSample", a_grid, s_grid, exp_same),
    ROW("SampleOp", attrs_none, slots_x, exp_identity),
    {0},
};
