/* Equalised weights; see equalize.h. After M. Nagel et al., Data-Free Quantization through Weight Equalization and Bias
 * Correction, 2019, section 4.1: if there is only a positively homogeneous function between two products, the channels
 * of the first may be divided by any positive numbers by which the second is multiplied; sqrt(r1 / r2), where r1 and r2
 * are the ranges of a channel's weights in both, makes the ranges equal. */
#include "compiler/quantize/equalize.h"
#include "ir/graph/op.h"
#include <math.h>

enum { ROUNDS = 20, BEHIND_EACH_OTHER = 8 };
static const double SETTLED = 0.01; /* a round that changes no channel by more than this is the last */

struct layer {
    struct node *n;
    struct op_weights lie;
    const struct tensor *w;
};
static bool is_layer(struct node *n, struct layer *l) {
    const struct value *bias = node_in(n, 2), *w = node_in(n, 1);
    *l = (struct layer){.n = n};
    if (!n->op || !n->op->weights || !n->op->integers || !w || !w->init || w->type.dtype != F32 || w->uses.n != 1 ||
        !n->op->weights(n, &l->lie) || (bias && (!bias->init || bias->uses.n != 1 || bias->type.rank != 1)))
        return false;
    l->w = w->init;
    return true;
}
/* Axis 1 of the result is that of the operand. */
static bool keeps_channels(const struct node *n) {
    const struct type *x = &n->ins.v[0]->type, *y = &n->outs.v[0]->type;
    return !(n->op->flags & OP_VIEW) && !n->op->permutes && x->rank >= 2 && y->rank == x->rank &&
           x->dims[1] == y->dims[1];
}
/* Is f(c x) = c f(x) for positive c? True for operators that clamp at 0, or only select cells of one tensor. */
static bool is_homogeneous(const struct node *n) {
    double lo, hi;
    if (!n->op || n->outs.n != 1) return false;
    if (n->op->clamps && n->op->clamps(n, &lo, &hi)) return lo == 0 && hi == INFINITY;
    return n->op->flags & OP_PICKS && n->ins.n == 1 && keeps_channels(n);
}
/* The product that is the only reader of l's result, through such functions only. */
static bool follower(const struct layer *l, struct layer *next) {
    const struct value *v = l->n->outs.v[0];
    for (int k = 0; k < BEHIND_EACH_OTHER; k++) {
        struct node *n = value_only_reader(v);
        if (!n || n->ins.v[0] != v) return false;
        if (is_layer(n, next)) return true;
        if (!is_homogeneous(n)) return false;
        v = n->outs.v[0];
    }
    return false;
}

static double *ranges_of(struct ctx *c, const struct layer *l, const struct op_channels *at) {
    double *r = NEWN(&c->arena, double, op_channel_count(l->w, at) + 1);
    for (int64_t i = 0, n = tensor_count(l->w); i < n; i++) {
        double v = fabs(tensor_f(l->w, i));
        int64_t k = op_channel_of(l->w, at, i);
        if (v > r[k]) r[k] = v;
    }
    return r;
}
static struct value *scaled(struct graph *g, const struct value *v, const struct op_channels *at, const double *by,
                            bool divide) {
    struct tensor *t = tensor_new(&g->ctx->arena, F32, v->init->dims, v->init->rank);
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
        double s = by[at ? op_channel_of(t, at, i) : i];
        tensor_set_f(t, i, divide ? tensor_f(v->init, i) / s : tensor_f(v->init, i) * s);
    }
    return graph_const(g, v->name, t);
}
/* false: it changed almost nothing, or does not apply. */
static bool equalize_pair(struct graph *g, const struct layer *a, const struct layer *b) {
    if (a->lie.out.axis < 0 || b->lie.in.axis < 0) return false;
    int64_t n = op_channel_count(a->w, &a->lie.out);
    struct value *bias = node_in(a->n, 2);
    if (n != op_channel_count(b->w, &b->lie.in) || (bias && bias->init->dims[0] != n)) return false;
    double *r1 = ranges_of(g->ctx, a, &a->lie.out), *r2 = ranges_of(g->ctx, b, &b->lie.in), most = 0;
    for (int64_t k = 0; k < n; k++) {
        double s = r1[k] > 0 && r2[k] > 0 ? sqrt(r1[k] / r2[k]) : 1;
        most = fmax(most, fabs(s - 1));
        r1[k] = s;
    }
    if (most < SETTLED) return false;
    node_set_input(a->n, 1, scaled(g, a->n->ins.v[1], &a->lie.out, r1, true));
    if (bias) node_set_input(a->n, 2, scaled(g, bias, NULL, r1, true));
    node_set_input(b->n, 1, scaled(g, b->n->ins.v[1], &b->lie.in, r1, false));
    return true;
}
int quant_equalize(struct graph *g) {
    int all = 0, now = 1;
    for (int round = 0; round < ROUNDS && now; round++) {
        now = 0;
        for (struct node *n = g->top->first; n; n = n->next) {
            struct layer a, b;
            if (is_layer(n, &a) && follower(&a, &b)) now += equalize_pair(g, &a, &b);
        }
        all += now;
    }
    return all;
}
