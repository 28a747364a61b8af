/* Computes an operator's result for constant channels: runs its own definition on them, so that the number is exactly
 * that of a run. See channels.h. */
#include "compiler/graph/passes.h"
#include "compiler/prune/channels.h"
#include <math.h>
#include <string.h>

enum { MOST_CELLS = 1 << 20 };

/* The operand with its constants in all cells, and 0 in channels that are not constant. whole: in its full size, else
 * with one cell for each channel. NULL: too large, or of unknown size. */
static struct tensor *filled(struct pruning *p, const struct channels *x, bool whole) {
    const struct type *t = &x->v->type;
    int64_t dims[32], inner = 1, cells = 1;
    for (int k = 0; k < t->rank; k++) {
        dims[k] = k == x->axis ? x->n : 1;
        if (whole && k > 0 && k != x->axis && !x_is_int(t->dims[k], &dims[k])) return NULL;
        if (dims[k] < 1 || dims[k] > MOST_CELLS / cells) return NULL;
        cells *= dims[k];
        if (k > x->axis) inner *= dims[k];
    }
    struct tensor *y = tensor_new(&p->g->ctx->arena, t->dtype, dims, t->rank);
    for (int64_t i = 0; i < cells; i++) {
        double v = p->all.v[x->first + i / inner % x->n].number;
        tensor_set_f(y, i, isnan(v) ? 0 : v);
    }
    return y;
}
/* The result of n on constants. NULL: it could not be computed. */
static const struct tensor *run(struct pruning *p, const struct node *n, struct value *const *ins) {
    struct ctx *c = p->g->ctx;
    const struct diags before = c->diags;
    struct graph *g = graph_new(c, "");
    struct node *copy = node_new(g->top, NULL, n->domain, n->op_type, ins, n->ins.n, 1);
    for (int k = 0; k < n->attrs.n; k++) node_set_attr(copy, n->attrs.v[k]);
    copy->version = n->version;
    graph_output(g, copy->outs.v[0], "");
    const struct tensor *y = graph_infer(g) ? g->top->results.v[0]->init : NULL;
    c->diags = before;
    return y;
}
static void take(struct pruning *p, const struct channels *y, const struct tensor *t) {
    int64_t inner = 1;
    if (!t || t->rank != y->v->type.rank || t->dims[y->axis] != y->n) return;
    for (int k = y->axis + 1; k < t->rank; k++) inner *= t->dims[k];
    struct channel *to = p->all.v + y->first;
    for (int64_t i = 0, n = tensor_count(t); i < n; i++) {
        double v = tensor_f(t, i), *at = &to[i / inner % y->n].number;
        *at = i < inner * y->n && i % inner == 0 ? v : *at == v ? v : NAN; /* all cells of the channel must be equal */
    }
}
/* A product with 0 is 0, whatever the operand: for example a BatchNormalization channel that training has switched
 * off. */
static void switched_off(struct pruning *p, struct node *n, const struct channels *y) {
    struct value *x = n->ins.v[0] && !n->ins.v[0]->init ? n->ins.v[0] : node_in(n, 1);
    double *scale = NEWN(&p->g->ctx->arena, double, y->n), *shift = NEWN(&p->g->ctx->arena, double, y->n);
    if (y->axis != 1 || !x || !n->op->affine || !n->op->affine(n, x, y->n, scale, shift)) return;
    for (int64_t k = 0; k < y->n; k++)
        if (scale[k] == 0 && isfinite(shift[k])) p->all.v[y->first + k].number = value_rounded(y->v, shift[k]);
}
/* Results of channels that are not constant are not constant either, whatever the placeholder 0 gave. */
static void unknown_of(struct pruning *p, const struct channels *x, const struct channels *y) {
    for (int64_t k = 0; x && k < y->n; k++)
        if (isnan(p->all.v[x->first + k].number)) p->all.v[y->first + k].number = NAN;
}
static bool any_known(const struct pruning *p, const struct node *n) {
    for (int k = 0; k < n->ins.n; k++) {
        const struct channels *x = value_channels(p, n->ins.v[k]);
        for (int64_t i = 0; x && i < x->n; i++)
            if (!isnan(p->all.v[x->first + i].number)) return true;
    }
    return false;
}
void channels_carry(struct pruning *p, struct node *n, const struct channels *y, bool whole) {
    struct value **ins = arena_copy(&p->g->ctx->arena, n->ins.v, (size_t)n->ins.n * sizeof *ins);
    bool known = any_known(p, n);
    for (int k = 0; k < n->ins.n && known; k++) {
        if (!ins[k] || ins[k]->init) continue;
        const struct channels *x = value_channels(p, ins[k]);
        struct tensor *t = x ? filled(p, x, whole) : NULL;
        known = t != NULL;
        if (known) ins[k] = graph_const(p->g, "", t);
    }
    if (known) take(p, y, run(p, n, ins));
    for (int k = 0; k < n->ins.n; k++) unknown_of(p, value_channels(p, n->ins.v[k]), y);
    switched_off(p, n, y);
}
