/* Turned factors: if neither factor of a product lies along an axis of the result that the other factor lacks, no
 * vector of one can be multiplied by a broadcast cell of the other, and each result would be a sum across lanes:
 *
 *     sum over k of a[m,k] b[n,k]  =  sum over k of a[m,k] t[k,n],   t[k,n] = b[n,k]
 *
 * An additional part transposes one factor; the sum is then a contraction like others. Constants need no such part:
 * they are packed accordingly at compile time. */
#include "lower/algorithm/rows.h"

/* The axes of the result that the operand has and the other one lacks, as bits. */
static uint64_t own_axes(const struct operand *o, const struct operand *other) { return o->wide & ~other->axes; }
static int axis_of(const struct stmt *sum, const struct var *v) {
    for (int k = 0; k < sum->u.stage.naxes; k++)
        if (sum->u.stage.axes[k] == v) return k;
    return -1;
}
/* The operand is in memory as it is, and indexed by single variables, so its cells can be reordered. */
static bool may_turn(const struct algorithm_query *q, const struct operand *o) {
    expr read = o->read;
    if (!read || o->made || read->has_fill || is_constant(read->u.buf) || q->layout(q->env, read->u.buf).block)
        return false;
    for (int d = 0; d < read->n; d++)
        if (read->arg[d]->op != X_VAR && read->arg[d]->op != X_CONST) return false;
    return read->n == read->u.buf->nlogical;
}
/* The operand's contiguous index is one of its own axes. */
static bool lies_along(const struct stmt *sum, const struct operand *o, const struct operand *other) {
    expr read = o->read, last = read->arg[read->n - 1];
    int k = last->op == X_VAR ? axis_of(sum, last->u.var) : -1;
    return k >= 0 && own_axes(o, other) >> k & 1;
}
/* The factor to transpose, and the dim that becomes its last: the last axis of the result for which that works. -1: not
 * needed, or impossible. */
static int turned_dim(const struct algorithm_query *q, const struct operand **which) {
    const struct problem *p = q->k;
    if (q->m->gpu || machine_lanes(q->m, F32) < 2 || !p || p->slides || p->indirect) return -1;
    if (!p->differences && (p->cls != PROBLEM_CONTRACTION || !p->product)) return -1;
    const struct operand *factor[2] = {&p->a, &p->b};
    int best = -1, dim = -1;
    for (int f = 0; f < 2; f++) {
        const struct operand *o = factor[f], *other = factor[!f];
        if (!may_turn(q, o) || lies_along(p->sum, o, other)) return -1;
        for (int d = 0; d < o->read->n; d++) {
            int k = o->read->arg[d]->op == X_VAR ? axis_of(p->sum, o->read->arg[d]->u.var) : -1;
            if (k > best && own_axes(o, other) >> k & 1) best = k, dim = d, *which = o;
        }
    }
    return dim;
}
double across_cycles(const struct algorithm_query *q, double cells, double depth) {
    const struct operand *o;
    int lanes = machine_lanes(q->m, F32);
    return turned_dim(q, &o) >= 0 ? cells * (depth / lanes + lanes) : 0;
}
const char *turned_refuses(const struct algorithm_query *q, const struct algorithm *row) {
    const struct operand *o;
    (void)row;
    return turned_dim(q, &o) >= 0 ? NULL : "";
}
double turned_cycles(const struct algorithm_query *q, const struct algorithm *row) {
    const struct operand *o;
    const struct stmt *s = q->k->sum;
    double cells = 1;
    (void)row;
    turned_dim(q, &o);
    for (int d = 0; d < o->read->n; d++) cells *= (double)x_typical(q->c, o->read->u.buf->logical[d], 1);
    return rows_cycles(q->m, typical_result(q->c, s), 1, typical_cells(q->c, s->u.stage.red, s->u.stage.nred, 1)) +
           cells;
}
struct turn {
    struct ctx *c;
    expr read, now;
};
static expr read_turned(void *env, expr e) {
    struct turn *t = env;
    return e == t->read ? t->now : NULL;
}
void turned_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out) {
    const struct operand *o;
    const struct var *dims[PROBLEM_AXES], *axes[PROBLEM_AXES];
    expr at[PROBLEM_AXES], index[PROBLEM_AXES];
    int last = turned_dim(q, &o), n = o->read->n, k = 0;
    struct buf *b = o->read->u.buf;
    (void)row;
    vars_over(q->c, "d", b->logical, n, dims, at);
    for (int d = 0; d < n; d++)
        if (d != last) axes[k] = dims[d], index[k++] = o->read->arg[d];
    axes[k] = dims[last], index[k] = o->read->arg[last];
    algorithm_part(q, out, "its turned factor");
    struct buf *turned =
        algorithm_stage(q, out, "turned", b->type, axes, n, RED_NONE, NULL, 0, x_load(q->c, b, at, n, NULL));
    algorithm_between(q, out, turned);
    struct turn t = {q->c, o->read, x_load(q->c, turned, index, n, NULL)};
    map_exprs(q->c, q->stmts, read_turned, &t);
    algorithm_part(q, out, NULL);
    algorithm_rest(q, out, NULL);
}
