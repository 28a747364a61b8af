/* Operators that can be computed with their axes in another order; see axis_order.h. Elementwise operators are
 * recognised by their definition, the others by their rows. */
#include "compiler/graph/axis_order.h"
#include "compiler/graph/rules.h"
#include "ir/define/define.h"
#include "ir/graph/op.h"
#include <string.h>

struct order order_inverse(const struct order *p) {
    struct order r = {.rank = p->rank};
    for (int k = 0; k < p->rank; k++) r.axis[p->axis[k]] = k;
    return r;
}
bool order_equal(const struct order *a, const struct order *b) {
    return a->rank == b->rank && !memcmp(a->axis, b->axis, (size_t)a->rank * sizeof *a->axis);
}

static const struct op_axes *axes_row(const struct node *n) { return n->op && n->op->axes.named ? &n->op->axes : NULL; }
static bool drops_axes(const struct node *n) { return op_attr_named(n->op, "keepdims") && !node_int(n, "keepdims"); }
bool operand_is_ordered(const struct node *n, int k) { return !axes_row(n) || !k || n->op->ins[0].flags & VARIADIC; }
bool order_is_free(const struct node *n) {
    const struct op_axes *row = axes_row(n);
    return row && row->named == AXES_LIST && drops_axes(n);
}

/* ---- axes */
static int place(const struct order *p, int64_t axis) { /* position of an axis in the permuted value */
    axis = axis < 0 ? axis + p->rank : axis;
    for (int k = 0; k < p->rank; k++)
        if (p->axis[k] == axis) return k;
    return -1;
}
static int vector_length(const struct value *v) {
    int64_t n;
    return v && v->type.rank == 1 && x_is_int(v->type.dims[0], &n) && n <= 64 ? (int)n : -1;
}
/* The axes of a reduction, or of a slice; all or the first ones when the operand is absent. -1: not known. */
static int axes_at(const struct node *n, int k, int absent, int64_t *axes) {
    if (k < n->ins.n && n->ins.v[k]) return node_ints(n, k, axes, 32);
    for (int i = 0; i < absent; i++) axes[i] = i;
    return absent;
}
static int axes_of(const struct node *n, const struct op_axes *row, int rank, int64_t *axes) {
    int absent =
        row->named == AXES_LIST ? (node_int(n, "noop_with_empty_axes") ? -1 : rank) : vector_length(n->ins.v[1]);
    int count = absent < 0 && row->named == AXES_SLICE ? -1 : axes_at(n, row->named == AXES_LIST ? 1 : 3, absent, axes);
    return !count && row->named == AXES_LIST ? -1 : count;
}
/* Sums keep the order of their terms if the summed axes keep theirs. */
static bool keep_their_order(const struct order *p, const int64_t *axes, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int64_t a = axes[i] < 0 ? axes[i] + p->rank : axes[i], b = axes[j] < 0 ? axes[j] + p->rank : axes[j];
            if (a < b && place(p, a) > place(p, b)) return false;
        }
    return true;
}
/* Softmax and similar operators before opset 13: over all axes from `axis` on. */
static bool by_several_axes(const struct node *n, int rank) {
    int64_t axis = node_int(n, "axis");
    return node_int(n, "joint") && axis != rank - 1 && axis != -1;
}
int order_reduced_axis(const struct node *n) {
    const struct op_axes *row = axes_row(n);
    int64_t axes[32];
    int rank = n->ins.v[0]->type.rank, count = 1;
    if (!row || !row->reduces || by_several_axes(n, rank)) return -1;
    if (row->named == AXES_ATTR) axes[0] = node_int(n, "axis");
    else count = axes_of(n, row, rank, axes);
    return count == 1 ? (int)(axes[0] < 0 ? axes[0] + rank : axes[0]) : -1;
}

/* ---- which operators */
static bool has_rank(const struct value *v, int rank) {
    return v && v->type.kind == TY_TENSOR && v->type.rank == rank && v->type.dtype != STR;
}
static bool row_is_open(const struct node *n, const struct op_axes *row, const struct order *p) {
    int64_t axes[32];
    int count;
    if (drops_axes(n)) return false;
    for (int k = 1; k < n->ins.n; k++) /* for example a scale for all elements or for one axis */
        if (n->ins.v[k] && !operand_is_ordered(n, k) && n->ins.v[k]->type.rank > 1) return false;
    switch (row->named) {
    case AXES_ATTR: return !by_several_axes(n, p->rank);
    case AXES_INPUT: return node_ints(n, 1, axes, 1) == 1;
    case AXES_LIST: return (count = axes_of(n, row, p->rank, axes)) > 0 && keep_their_order(p, axes, count);
    case AXES_SLICE: return axes_of(n, row, p->rank, axes) >= 0;
    case AXES_PADS: return (n->ins.n < 4 || !n->ins.v[3]) && vector_length(n->ins.v[1]) == 2 * p->rank;
    case AXES_SIZES:
        if (node_attr(n, "axes")) return false;
        for (int k = 1; k < n->ins.n; k++) {
            int entries = n->ins.v[k] ? vector_length(n->ins.v[k]) : 0;
            if (entries && !((row->sizes >> k & 1) && entries == p->rank)) return false;
        }
        count = 0; /* interpolation sums over the axes that change */
        for (int k = 0; k < p->rank; k++)
            if (n->ins.v[0]->type.dims[k] != n->outs.v[0]->type.dims[k]) axes[count++] = k;
        return keep_their_order(p, axes, count);
    default: return false;
    }
}
bool order_is_open(struct probes *q, struct node *n, const struct order *p) {
    const struct op_axes *row = axes_row(n);
    if (!n->op || !n->op->define || n->op->flags & (OP_RANDOM | OP_EFFECT) || !n->ins.n) return false;
    if (n->op->permutes || n->outs.n > 64) return false;
    for (int k = 0; k < n->outs.n; k++)
        if (!has_rank(n->outs.v[k], p->rank)) return false;
    if (row && !has_rank(n->ins.v[0], p->rank)) return false;
    if (row) return row_is_open(n, row, p);
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] && (n->ins.v[k]->type.kind != TY_TENSOR || n->ins.v[k]->type.rank > p->rank)) return false;
    return n->outs.n == 1 && node_is_cellwise(q, n);
}

/* ---- rewriting attributes and operands */
/* Reorders the entries of a vector, which may be computed at run time. */
static bool reorder_entries(struct graph *g, struct node *by, int k, const int64_t *from, int n) {
    struct value *ins[] = {by->ins.v[k], graph_ints(g, from, n)};
    struct node *gather = node_new(by->in, by, "", "Gather", ins, 2, 1);
    if (!def_infer(g, gather)) return false;
    node_set_input(by, k, gather->outs.v[0]);
    return true;
}
bool order_apply(struct graph *g, struct node *by, const struct node *n, const struct order *p) {
    const struct op_axes *row = axes_row(n);
    int64_t axes[64];
    int count = 0;
    if (!row) return true;
    switch (row->named) {
    case AXES_ATTR:
        node_set_int(by, "axis", place(p, node_int(n, "axis")));
        if (node_attr(by, "joint"))
            node_set_attr(by, (struct attr){.name = "joint",
                                            .kind = AT_INT}); /* it covered the last axis alone, which may move */
        return true;
    case AXES_INPUT:
        node_ints(n, 1, axes, 1);
        axes[0] = place(p, axes[0]);
        node_set_input(by, 1, graph_ints(g, axes, 1));
        return true;
    case AXES_LIST:
    case AXES_SLICE:
        count = axes_of(n, row, p->rank, axes);
        for (int k = 0; k < count; k++) axes[k] = place(p, axes[k]);
        node_set_input(by, row->named == AXES_LIST ? 1 : 3, graph_ints(g, axes, count));
        return true;
    case AXES_PADS:
        for (int k = 0; k < p->rank; k++) axes[k] = p->axis[k], axes[k + p->rank] = p->axis[k] + p->rank;
        return reorder_entries(g, by, 1, axes, 2 * p->rank);
    case AXES_SIZES:
        for (int k = 0; k < p->rank; k++) axes[k] = p->axis[k];
        for (int k = 1; k < n->ins.n; k++)
            if ((row->sizes >> k & 1) && n->ins.v[k] && vector_length(n->ins.v[k]) == p->rank &&
                !reorder_entries(g, by, k, axes, p->rank))
                return false;
        return true;
    default: return true;
    }
}
