/* Removes channels: weights, biases and other constants become shorter, and the contribution of removed channels is
 * added to the biases of their readers. See channels.h. */
#include "compiler/graph/rules.h"
#include "compiler/prune/channels.h"
#include <math.h>
#include <string.h>

/* Which indices along an axis are kept. */
struct rest {
    int64_t *index, n;
};
static struct rest rest_of(const struct pruning *p, const struct channels *x) {
    struct rest r = {NEWN(&p->g->ctx->arena, int64_t, x->n), 0};
    for (int64_t k = 0; k < x->n; k++)
        if (!channel_goes(p, x->first + k)) r.index[r.n++] = k;
    return r;
}
static struct value *shorter(struct pruning *p, const struct value *v, int axis, const struct rest *r) {
    const struct tensor *t = v->init;
    int64_t dims[32], inner = 1, n = t->dims[axis];
    memcpy(dims, t->dims, sizeof dims);
    dims[axis] = r->n;
    for (int k = axis + 1; k < t->rank; k++) inner *= dims[k];
    struct tensor *y = tensor_new(&p->g->ctx->arena, t->type, dims, t->rank);
    for (int64_t i = 0, all = tensor_count(y); i < all; i++) {
        int64_t from = (i / inner / r->n * n + r->index[i / inner % r->n]) * inner + i % inner;
        if (dtype_is_float(t->type)) tensor_set_f(y, i, tensor_f(t, from));
        else tensor_set_i(y, i, tensor_i(t, from));
    }
    return graph_const(p->g, v->name, y);
}

/* The sum that the removed channels contributed to each channel of the result. NULL: nothing. */
static double *lost(struct pruning *p, const struct product *q, const struct channels *x, int64_t n) {
    double *sum = NEWN(&p->g->ctx->arena, double, n);
    bool any = false;
    for (int64_t i = 0, all = tensor_count(q->w); i < all; i++) {
        int64_t from = x->first + op_channel_of(q->w, &q->lie.in, i);
        double w = tensor_f(q->w, i), v = p->all.v[from].number;
        if (!channel_goes(p, from) || w == 0 || v == 0) continue;
        sum[op_channel_of(q->w, &q->lie.out, i)] += w * v;
        any = true;
    }
    return any ? sum : NULL;
}
static void add_to_bias(struct pruning *p, const struct product *q, const double *sum, int64_t n) {
    struct tensor *t = tensor_new(&p->g->ctx->arena, q->w->type, &n, 1);
    for (int64_t k = 0; k < n; k++) tensor_set_f(t, k, sum[k] + (q->bias ? tensor_f(q->bias, k) : 0));
    struct value *bias = graph_const(p->g, q->bias ? q->n->ins.v[2]->name : "", t), *y = q->n->outs.v[0];
    if (q->n->op->weights) {
        node_set_input(q->n, 2, bias);
        return;
    }
    struct node *add = node_new(q->n->in, q->n->next, "", "Add", (struct value *[]){y, bias}, 2, 1);
    add->name = "", add->origin = q->n->origin;
    value_replace(y, add->outs.v[0]);
    node_set_input(add, 0, y);
    /* products that read it come later */
    map_put(&p->of_value, PKEY(add->outs.v[0]), map_get(&p->of_value, PKEY(y)));
}
static void cut_product(struct pruning *p, struct product *q) {
    struct node *n = q->n;
    const struct channels *x = value_channels(p, n->ins.v[0]), *y = value_channels(p, n->outs.v[0]);
    struct rest out = rest_of(p, y);
    double *sum = q->takes_in ? lost(p, q, x, y->n) : NULL;
    if (sum) add_to_bias(p, q, sum, y->n);
    if (q->takes_in) {
        struct rest r = rest_of(p, x);
        if (r.n < x->n) node_set_input(n, 1, shorter(p, n->ins.v[1], q->lie.in.axis, &r));
    }
    if (out.n == y->n) return;
    node_set_input(n, 1, shorter(p, n->ins.v[1], q->lie.out.axis, &out));
    if (node_in(n, 2)) node_set_input(n, 2, shorter(p, n->ins.v[2], 0, &out));
    else if (sum && !n->op->weights) {
        struct node *add = value_only_reader(n->outs.v[0]);
        node_set_input(add, 1, shorter(p, add->ins.v[1], 0, &out));
    }
    if (q->lie.in.groups > 1) node_set_int(n, "group", q->lie.in.groups * out.n / y->n);
}
/* The shape operand of a Reshape: updates the entry of the channels, if they still have an axis, else that of the
 * flattened axes. */
static void cut_shape(struct pruning *p, const struct channels *y, const struct rest *r) {
    struct node *n = y->v->def;
    const struct channels *x = value_channels(p, n->ins.v[0]);
    int64_t shape[32];
    int count = node_ints(n, 1, shape, 32);
    if (x && x->n == y->n && shape[y->axis] > 0) shape[y->axis] = r->n;
    else if (!x || x->n != y->n) shape[0] = 0, shape[1] = -1;
    node_set_input(n, 1, graph_ints(p->g, shape, count));
}
static void cut_pieces(struct pruning *p, const struct channels *y, const struct rest *r) {
    struct node *n = y->v->def;
    int64_t *sizes = NEWN(&p->g->ctx->arena, int64_t, n->outs.n), axis = node_int(n, "axis");
    if (node_in(n, 1) && node_ints(n, 1, sizes, n->outs.n) != n->outs.n) return;
    if ((axis < 0 ? axis + y->v->type.rank : axis) != y->axis) return;
    for (int k = 0; k < n->outs.n; k++) {
        const struct channels *each = value_channels(p, n->outs.v[k]);
        sizes[k] = each == y ? r->n : rest_of(p, each).n;
    }
    node_set_input(n, 1, graph_ints(p->g, sizes, n->outs.n));
    node_drop_attr(n, "num_outputs");
}
static void cut_sizes(struct pruning *p, const struct channels *y, const struct rest *r) {
    struct node *n = y->v->def;
    int64_t sizes[32];
    for (int k = 1; k < n->ins.n; k++) {
        if (!(n->op->axes.sizes >> k & 1) || !n->ins.v[k] || dtype_is_float(n->ins.v[k]->type.dtype)) continue;
        int count = node_ints(n, k, sizes, 32);
        if (count != y->v->type.rank) continue; /* empty: not given */
        sizes[y->axis] = r->n;
        node_set_input(n, k, graph_ints(p->g, sizes, count));
    }
}
/* Constants along the channels' axis, with broadcasting. */
static void cut_constants(struct pruning *p, const struct channels *y) {
    struct node *n = y->v->def;
    struct rest r = rest_of(p, y);
    struct product q;
    if (r.n == y->n || product_of(n, &q)) return;
    if (n->op->flags & OP_VIEW) {
        if (node_is(n, "Reshape")) cut_shape(p, y, &r);
        return;
    }
    if (n->outs.n > 1) {
        cut_pieces(p, y, &r);
        return;
    }
    if (n->op->axes.named == AXES_SIZES) cut_sizes(p, y, &r);
    bool broadcast = node_is_cellwise(p->probes, n); /* else constants have one number for each channel */
    for (int k = 0; k < n->ins.n; k++) {
        const struct value *v = n->ins.v[k];
        if (!v || !v->init || n->op->axes.named) continue;
        int axis = broadcast ? y->axis - (y->v->type.rank - v->type.rank) : v->type.rank - 1;
        if (axis >= 0 && v->init->dims[axis] == y->n && y->n > 1) node_set_input(n, k, shorter(p, v, axis, &r));
    }
}
void channels_cut(struct pruning *p) {
    for (int k = 0; k < p->values.n; k++) cut_constants(p, p->values.v[k]);
    for (int k = 0; k < p->products.n; k++) cut_product(p, &p->products.v[k]);
}
