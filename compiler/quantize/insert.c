/* Codes in the graph; see insert.h.
 *
 * Codes of weights are symmetric around 0, so that products need no correction for their zero point. A bias is the
 * first term of a sum, so its unit is the product of both scales, in 32 bits (B. Jacob et al., Quantization and
 * Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference, 2018, section 2.4). */
#include "compiler/quantize/insert.h"
#include "ir/graph/op.h"
#include <math.h>
#include <string.h>

/* ---- nodes */
static const char *named(struct graph *g, const struct value *v, const char *what) {
    return *v->name ? internf(g->ctx->names, "%s_%s", v->name, what) : "";
}
static struct value *typed_result(struct node *n, enum dtype t, const struct value *like, const char *name) {
    struct graph *g = n->in->graph;
    n->name = name;
    struct value *v = node_out(n, 0, name);
    v->type = type_tensor(g->ctx, t, like->type.dims, like->type.rank);
    return v;
}
static struct value *dequantised(struct region *r, struct node *before, struct value *codes, struct value *scale,
                                 struct value *zero, int axis, const char *name) {
    struct value *ins[] = {codes, scale, zero};
    struct node *n = node_new(r, before, "", "DequantizeLinear", ins, zero ? 3 : 2, 1);
    if (scale->type.rank) node_set_int(n, "axis", axis);
    return typed_result(n, F32, codes, name);
}

/* ---- tensors computed at run time */
static struct quantity quantity_of(const struct insertion *x, const struct quant_point *p) {
    return x->quantities[quant_point_number(x->measured, x->plan->points.v[p->same_as].value)];
}
/* The value of p after quantising and dequantising. */
static struct value *rounded_point(const struct insertion *x, const struct quant_point *p) {
    struct graph *g = x->plan->g;
    struct value *v = p->value;
    struct quantity q = quantity_of(x, p);
    struct node *before = v->def ? v->def->next : g->top->first;
    struct value *scale = graph_scalar_f32(g, named(g, v, "scale"), (double)q.scale),
                 *zero = graph_scalar(g, I8, q.zero), *ins[] = {v, scale, zero};
    zero->name = named(g, v, "zero_point");
    struct node *n = node_new(g->top, before, "", "QuantizeLinear", ins, 3, 1);
    struct value *codes = typed_result(n, I8, v, named(g, v, "quantized"));
    return dequantised(g->top, before, codes, scale, zero, 0, named(g, v, "dequantized"));
}
static void round_point(const struct insertion *x, const struct quant_point *p) {
    struct value *floats = rounded_point(x, p);
    for (int k = 0; k < p->readers.n; k++) node_set_input(p->readers.v[k].node, p->readers.v[k].index, floats);
}

/* ---- weights */
struct weights {
    struct graph *g;
    struct node *n;
    const struct tensor *w; /* the original weights */
    int axis;               /* axis with a scale for each index; -1: one for all */
    int64_t scales, inner;  /* scales: their number; inner: cells of one index of the axis */
    struct quantity *of;    /* each */
    double x_scale;
};
static int64_t slice_of(const struct weights *w, int64_t i) { return w->axis < 0 ? 0 : i / w->inner % w->scales; }
static struct weights weights_of(struct graph *g, struct node *n, bool per_channel, bool seven_bits) {
    struct weights w = {.g = g, .n = n, .w = n->ins.v[1]->init, .axis = -1, .scales = 1, .inner = 1};
    if (per_channel) w.axis = n->op->integers->scaled_axis(n);
    if (w.axis >= 0) {
        w.scales = w.w->dims[w.axis];
        for (int k = w.axis + 1; k < w.w->rank; k++) w.inner *= w.w->dims[k];
    }
    double *most = NEWN(&g->ctx->arena, double, w.scales + 1);
    for (int64_t i = 0, count = tensor_count(w.w); i < count; i++) {
        double v = fabs(tensor_f(w.w, i));
        if (v > most[slice_of(&w, i)]) most[slice_of(&w, i)] = v;
    }
    w.of = NEWN(&g->ctx->arena, struct quantity, w.scales + 1);
    for (int64_t k = 0; k < w.scales; k++) w.of[k] = quantity_around_zero(most[k], seven_bits ? SEVEN_BITS : CODE_MOST);
    return w;
}
/* An f32 constant with the dims of these weights' scales. */
static struct value *scales_value(const struct weights *w, double by, const char *name) {
    struct tensor *t = tensor_new(&w->g->ctx->arena, F32, &w->scales, w->axis < 0 ? 0 : 1);
    for (int64_t k = 0; k < w->scales; k++) tensor_set_f(t, k, (double)w->of[k].scale * by);
    return graph_const(w->g, name, t);
}
static int code_of(const struct weights *w, int64_t i) {
    return quantity_code(w->of[slice_of(w, i)], tensor_f(w->w, i));
}
static double rounded(const struct weights *w, int64_t i) {
    return (double)w->of[slice_of(w, i)].scale * code_of(w, i);
}
static void round_weights(const struct weights *w) {
    struct value *v = w->n->ins.v[1];
    struct tensor *codes = tensor_new(&w->g->ctx->arena, I8, w->w->dims, w->w->rank);
    for (int64_t i = 0, n = tensor_count(w->w); i < n; i++) tensor_set_i(codes, i, code_of(w, i));
    struct value *floats =
        dequantised(w->n->in, w->n, graph_const(w->g, named(w->g, v, "quantized"), codes),
                    scales_value(w, 1, named(w->g, v, "scale")), NULL, w->axis, named(w->g, v, "dequantized"));
    node_set_input(w->n, 1, floats);
}

/* ---- biases */
/* One number for each scale, or for each channel where there is one scale, that is added as it is. */
static bool is_bias(const struct weights *w, const struct value *b) {
    const struct attr *beta = node_attr(w->n, "beta"), *alpha = node_attr(w->n, "alpha");
    return b && b->init && b->type.rank == 1 && (w->axis < 0 || b->init->dims[0] == w->scales) &&
           (!beta || beta->u.f == 1) && (!alpha || alpha->u.f == 1);
}
/* For a channel whose weights are almost zero, the unit is so small that its bias does not fit into 32 bits: its
 * weights get a larger scale. */
static void widen_scales(struct weights *w) {
    const double most = 1 << 30;
    const struct value *b = node_in(w->n, 2);
    if (!is_bias(w, b)) return;
    for (int64_t k = 0, n = tensor_count(b->init); k < n; k++) {
        struct quantity *q = &w->of[w->axis < 0 ? 0 : k];
        double least = fabs(tensor_f(b->init, k)) / most / w->x_scale;
        if ((double)q->scale < least) q->scale = (float)least;
    }
}
static void round_bias(const struct weights *w) {
    struct value *b = node_in(w->n, 2);
    if (!is_bias(w, b)) return;
    struct tensor *codes = tensor_new(&w->g->ctx->arena, I32, b->init->dims, 1);
    for (int64_t k = 0, n = tensor_count(b->init); k < n; k++) {
        double unit = (double)(float)((double)w->of[w->axis < 0 ? 0 : k].scale * w->x_scale);
        tensor_set_i(codes, k, (int64_t)nearbyint(tensor_f(b->init, k) / unit));
    }
    node_set_input(w->n, 2,
                   dequantised(w->n->in, w->n, graph_const(w->g, named(w->g, b, "quantized"), codes),
                               scales_value(w, w->x_scale, named(w->g, b, "scale")), NULL, 0,
                               named(w->g, b, "dequantized")));
}

/* ---- bias correction (M. Nagel et al., Data-Free Quantization through Weight Equalization and Bias Correction, 2019,
 * section 4.2), with observed means instead of those derived from a normalisation. Cells at padding are treated like
 * all others. */
static void correct_bias(const struct insertion *x, const struct weights *w) {
    struct op_weights lie;
    const struct quant_point *p = quant_point_of(x->plan, w->n->ins.v[0]);
    const struct seen *seen = &x->seen[quant_point_number(x->measured, p->value)];
    struct node *n = w->n;
    if (!n->op->weights || !n->op->weights(n, &lie) || lie.out.axis < 0 || lie.in.axis < 0 || !seen->each) return;
    int64_t channels = op_channel_count(w->w, &lie.out);
    struct value *old = node_in(n, 2);
    if ((old && (!is_bias(w, old) || old->init->dims[0] != channels)) || (!old && n->ins.n > 2)) return;
    struct tensor *b = tensor_new(&w->g->ctx->arena, F32, &channels, 1);
    double *off = NEWN(&w->g->ctx->arena, double, channels + 1);
    for (int64_t i = 0, count = tensor_count(w->w); i < count; i++) {
        int64_t from = op_channel_of(w->w, &lie.in, i);
        if (from >= seen->channels) return;
        off[op_channel_of(w->w, &lie.out, i)] +=
            (rounded(w, i) - tensor_f(w->w, i)) * seen->channel_sum[from] / (double)seen->each;
    }
    for (int64_t k = 0; k < channels; k++) tensor_set_f(b, k, (old ? tensor_f(old->init, k) : 0) - off[k]);
    node_set_input(n, 2, graph_const(w->g, old ? old->name : internf(w->g->ctx->names, "%s_bias", n->name), b));
}

void quant_insert(const struct insertion *x) {
    for (int k = 0; k < x->plan->products.n; k++) {
        struct node *n = x->plan->products.v[k];
        struct weights w = weights_of(x->plan->g, n, x->per_channel, x->seven_bits);
        w.x_scale = (double)quantity_of(x, quant_point_of(x->plan, n->ins.v[0])).scale;
        if (x->correct_bias) correct_bias(x, &w);
        widen_scales(&w);
        round_weights(&w);
        round_bias(&w);
    }
    for (int k = 0; k < x->plan->points.n; k++) round_point(x, &x->plan->points.v[k]);
}

/* ---- weights only */
/* Codes of 4 bits, -7 to 7, with a scale for each block of cells along the axis of the sum. */
static bool round_in_blocks(struct graph *g, struct node *n) {
    const struct value *v = n->ins.v[1];
    int across = n->op->integers->scaled_axis(n), along = 1 - across;
    if (v->type.rank != 2 || across < 0 || v->init->dims[along] % QUANT_BLOCK) return false;
    int64_t dims[] = {v->init->dims[0], v->init->dims[1]}, columns = dims[1];
    struct tensor *codes = tensor_new(&g->ctx->arena, I4, dims, 2);
    dims[along] /= QUANT_BLOCK;
    struct tensor *scales = tensor_new(&g->ctx->arena, F32, dims, 2);
    for (int64_t b = 0, blocks = tensor_count(scales); b < blocks; b++) {
        int64_t step = along ? 1 : columns;
        int64_t first = along ? b / dims[1] * columns + b % dims[1] * QUANT_BLOCK
                              : b / dims[1] * QUANT_BLOCK * columns + b % dims[1];
        double most = 0;
        for (int k = 0; k < QUANT_BLOCK; k++) most = fmax(most, fabs(tensor_f(v->init, first + k * step)));
        tensor_set_f(scales, b, most > 0 ? most / 7 : 1);
        for (int k = 0; k < QUANT_BLOCK; k++)
            tensor_set_i(codes, first + k * step,
                         (int64_t)nearbyint(tensor_f(v->init, first + k * step) / tensor_f(scales, b)));
    }
    struct value *floats =
        dequantised(n->in, n, graph_const(g, named(g, v, "quantized"), codes),
                    graph_const(g, named(g, v, "scale"), scales), NULL, along, named(g, v, "dequantized"));
    node_set_int(floats->def, "block_size", QUANT_BLOCK);
    node_set_input(n, 1, floats);
    return true;
}
int quant_insert_weights(struct quant_plan *p, enum dtype type) {
    int all = 0;
    for (int k = 0; k < p->products.n; k++) {
        struct node *n = p->products.v[k];
        if (type == I4 && !round_in_blocks(p->g, n)) continue;
        if (type == I8) {
            struct weights w = weights_of(p->g, n, true, false);
            round_weights(&w);
        }
        all++;
    }
    return all;
}

/* ---- twins, for the sensitivity */
static void add_result(struct graph *g, struct node *n) {
    struct value *v = node_new(g->top, NULL, "", "ReduceSumSquare", &n->outs.v[0], 1, 1)->outs.v[0];
    node_set_int(v->def, "keepdims", 0);
    graph_output(g, v, internf(g->ctx->names, "power%d", g->top->results.n + 1));
}
void quant_insert_twins(const struct insertion *x) {
    struct graph *g = x->plan->g;
    for (int k = 0; k < x->plan->products.n; k++) {
        struct node *n = x->plan->products.v[k];
        struct map same = {.arena = &g->ctx->arena};
        struct weights w = weights_of(g, n, x->per_channel, x->seven_bits);
        struct tensor *t = tensor_new(&g->ctx->arena, F32, w.w->dims, w.w->rank);
        for (int64_t i = 0, count = tensor_count(t); i < count; i++) tensor_set_f(t, i, rounded(&w, i));
        struct node *twin = node_copy(g->top, n, &same);
        node_set_input(twin, 0, rounded_point(x, quant_point_of(x->plan, n->ins.v[0])));
        node_set_input(twin, 1, graph_const(g, "", t));
        struct value *both[] = {twin->outs.v[0], n->outs.v[0]};
        add_result(g, n);
        add_result(g, node_new(g->top, NULL, "", "Sub", both, 2, 1));
    }
}
