/* Folding of per-channel scales and shifts into the contraction before or after them; see passes.h. Computed in double,
 * rounded once. A Conv keeps its own node; its weights and bias become new constants. What is left of
 * BatchNormalization becomes a product and a sum. */
#include "compiler/graph/passes.h"
#include "ir/graph/op.h"
#include <math.h>
#include <string.h>

struct affine {
    int64_t channels;
    double *scale, *shift;
};
static const struct tensor *constant(const struct node *n, int k) { return node_in(n, k) ? n->ins.v[k]->init : NULL; }
static bool float_const(const struct tensor *t) { return t && dtype_is_float(t->type); }
static bool all_finite(const struct affine *a) {
    for (int64_t k = 0; k < a->channels; k++)
        if (!isfinite(a->scale[k]) || !isfinite(a->shift[k])) return false;
    return true;
}
static bool known_channels(const struct value *x, struct affine *a) {
    return x->type.rank >= 2 && x_is_int(x->type.dims[1], &a->channels) && a->channels > 0 && a->channels <= 1 << 24;
}
/* y = scale * x + shift per channel, x being an operand of n. */
static bool affine_of(struct ctx *c, const struct node *n, const struct value *x, struct affine *a) {
    if (!n->op || !n->op->affine) return false;
    a->scale = NEWN(&c->arena, double, a->channels);
    a->shift = NEWN(&c->arena, double, a->channels);
    return n->op->affine(n, x, a->channels, a->scale, a->shift) && all_finite(a);
}
static bool weights_of(const struct node *n, struct op_weights *w) {
    return n->op && n->op->weights && n->op->weights(n, w);
}
/* NULL if a product exceeds the range of the type */
static const struct tensor *scaled_weights(struct ctx *c, const struct tensor *w, const struct op_channels *at,
                                           const struct affine *a) {
    struct tensor *r = tensor_new(&c->arena, w->type, w->dims, w->rank);
    for (int64_t i = 0, count = tensor_count(w); i < count; i++) {
        tensor_set_f(r, i, tensor_f(w, i) * a->scale[op_channel_of(w, at, i)]);
        if (isfinite(tensor_f(w, i)) && !isfinite(tensor_f(r, i))) return NULL;
    }
    return r;
}
/* A bias for the channels of the result, which are on axis 1; zeros if there is none. */
static bool bias_fits(const struct tensor *b, int64_t channels) {
    return !b || (tensor_count(b) == channels && b->rank > 0 && b->dims[b->rank - 1] == channels);
}
/* Removes `other`, whose work n now does, and notes this in the trace. */
static void absorb(struct graph *g, struct node *n, struct node *other) {
    trace_merge(n, other);
    trace_because(g, NULL, "its scale and shift are in those of the other");
    trace_into(g, n->origin);
    node_remove(other);
}
static bool fold_into(struct graph *g, struct node *n, struct node *after) {
    struct ctx *c = g->ctx;
    struct op_weights how;
    struct affine a;
    const struct tensor *w = constant(n, 1), *b = constant(n, 2);
    if (!float_const(w) || (node_in(n, 2) && !float_const(b)) || !weights_of(n, &how)) return false;
    struct value *x = n->outs.v[0];
    if (!known_channels(x, &a) || !bias_fits(b, a.channels)) return false;
    if (op_channel_count(w, &how.out) != a.channels || !affine_of(c, after, x, &a)) return false;
    const struct tensor *scaled = scaled_weights(c, w, &how.out, &a);
    if (!scaled || !decide(g->ctx, "%.*s goes into %.*s", OWN_ORIGIN(after), OWN_ORIGIN(n))) return false;
    struct tensor *bias = tensor_new(&c->arena, w->type, &a.channels, 1);
    for (int64_t k = 0; k < a.channels; k++) tensor_set_f(bias, k, (b ? tensor_f(b, k) : 0) * a.scale[k] + a.shift[k]);
    node_set_input(n, 1, graph_const(g, n->ins.v[1]->name, scaled));
    node_set_input(n, 2, graph_const(g, b ? n->ins.v[2]->name : "", bias));
    x->name = after->outs.v[0]->name;
    value_replace(after->outs.v[0], x);
    absorb(g, n, after);
    return true;
}

/* ---- the other side: scale and shift of a contraction's operand */
static bool fold_before(struct graph *g, struct node *n, struct node *before) {
    struct ctx *c = g->ctx;
    struct op_weights how;
    bool shifts = false;
    struct affine a;
    const struct tensor *w = constant(n, 1), *b = constant(n, 2);
    struct value *x = before->ins.n ? before->ins.v[constant(before, 0) ? before->ins.n > 1 : 0] : NULL;
    if (!x || !float_const(w) || w->rank < 2 || (node_in(n, 2) && !float_const(b)) || !weights_of(n, &how) ||
        how.in.axis < 0)
        return false;
    int64_t results = op_channel_count(w, &how.out);
    if (!bias_fits(b, results) || how.in.groups < 1 || results % how.in.groups) return false;
    if (!known_channels(x, &a) || op_channel_count(w, &how.in) != a.channels || !affine_of(c, before, x, &a))
        return false;
    for (int64_t k = 0; k < a.channels; k++) shifts = shifts || a.shift[k] != 0;
    const struct tensor *scaled = scaled_weights(c, w, &how.in, &a);
    if (!scaled || (shifts && how.edges) || !decide(g->ctx, "%.*s goes into %.*s", OWN_ORIGIN(before), OWN_ORIGIN(n)))
        return false;
    if (shifts) {
        double *sum = NEWN(&c->arena, double, results);
        struct tensor *bias = tensor_new(&c->arena, w->type, &results, 1);
        for (int64_t i = 0, count = tensor_count(w); i < count; i++)
            sum[op_channel_of(w, &how.out, i)] += tensor_f(w, i) * a.shift[op_channel_of(w, &how.in, i)];
        for (int64_t k = 0; k < results; k++) tensor_set_f(bias, k, (b ? tensor_f(b, k) : 0) + sum[k]);
        node_set_input(n, 2, graph_const(g, b ? n->ins.v[2]->name : "", bias));
    }
    node_set_input(n, 1, graph_const(g, n->ins.v[1]->name, scaled));
    node_set_input(n, 0, x);
    absorb(g, n, before);
    return true;
}
/* ---- scales and shifts that no contraction absorbs */
/* An element for each channel of x, in the type of x. */
static struct value *for_channels(struct graph *g, const struct value *x, const double *v, int64_t channels) {
    int64_t *dims = NEWN(&g->ctx->arena, int64_t, x->type.rank);
    for (int k = 0; k < x->type.rank; k++) dims[k] = k ? 1 : channels;
    struct tensor *t = tensor_new(&g->ctx->arena, x->type.dtype, dims, x->type.rank - 1);
    for (int64_t k = 0; k < channels; k++) tensor_set_f(t, k, v[k]);
    return graph_const(g, "", t);
}
/* If the only reader of *last's result scales and shifts it, merges that into a and makes this reader *last. */
static bool take_next(struct ctx *c, struct node **last, struct affine *a) {
    struct value *v = (*last)->outs.v[0];
    struct node *n = value_only_reader(v);
    struct affine next = {.channels = a->channels};
    if (!n || n->outs.n != 1 || !type_equal(&n->outs.v[0]->type, &v->type) || !affine_of(c, n, v, &next)) return false;
    for (int64_t k = 0; k < a->channels; k++) {
        next.shift[k] += a->shift[k] * next.scale[k];
        next.scale[k] *= a->scale[k];
    }
    if (!all_finite(&next)) return false;
    *a = next, *last = n;
    return true;
}
/* Operators with several constants (BatchNormalization) become a product and a sum, which other kernels can fuse: their
 * definitions have stages with one value per channel, which cannot be fused. Narrower types would round the factors. */
static void write_out(struct graph *g, struct node *n) {
    struct affine a;
    struct value *x = n->ins.n ? n->ins.v[0] : NULL;
    if (!x || n->ins.n < 3 || n->outs.n != 1 || (x->type.dtype != F32 && x->type.dtype != F64) ||
        !known_channels(x, &a) || !affine_of(g->ctx, n, x, &a) ||
        !decide(g->ctx, "%.*s as a product and a sum", OWN_ORIGIN(n)))
        return;
    VEC(struct node *) chain = {0};
    struct node *last = n;
    do PUSH(&g->ctx->arena, &chain, last);
    while (take_next(g->ctx, &last, &a));
    struct value *scale = for_channels(g, x, a.scale, a.channels), *shift = for_channels(g, x, a.shift, a.channels);
    struct value *scaled = node_new(n->in, n, "", "Mul", (struct value *[]){x, scale}, 2, 1)->outs.v[0];
    struct value *y = node_new(n->in, n, "", "Add", (struct value *[]){scaled, shift}, 2, 1)->outs.v[0];
    scaled->type = y->type = n->outs.v[0]->type;
    y->name = last->outs.v[0]->name;
    value_replace(last->outs.v[0], y);
    while (chain.n > 1) absorb(g, y->def, chain.v[--chain.n]);
    trace_because(g, NULL, "a product and a sum stand in its place");
    node_remove(n);
}

static struct node *only_for(const struct node *n) { /* the node that makes n's operand, if n is its only reader */
    const struct value *x = n->ins.n > 1 ? n->ins.v[0] : NULL;
    return x && x->uses.n == 1 && x->def && x->def->outs.n == 1 && x->def->in == n->in ? x->def : NULL;
}
static void sweep(struct graph *g, struct region *r) {
    for (struct node *n = r->first; n; n = n->next) {
        for (int k = 0; k < n->attrs.n; k++)
            if (n->attrs.v[k].kind == AT_REGION) sweep(g, n->attrs.v[k].u.region);
        while (n->outs.n == 1 && n->outs.v[0] && n->outs.v[0]->uses.n == 1 && n->outs.v[0]->uses.v[0].node &&
               n->ins.n >= 2 && fold_into(g, n, n->outs.v[0]->uses.v[0].node)) {}
        for (struct node *p = only_for(n); p && fold_before(g, n, p); p = only_for(n)) {}
    }
    for (struct node *n = r->first, *prev; n;) {
        prev = n->prev;
        write_out(g, n);
        n = node_after(r, n, prev);
    }
}
bool graph_fold_affine(struct graph *g) {
    sweep(g, g->top);
    return true;
}
