/* Operators whose axes may stand in another order; see axis_order.h. Those that work cell by cell are found by their
 * definition, the others are rows of a table. */
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

/* BY_AXIS: attribute axis. BY_AXIS_INPUT: the axis is an operand. BY_AXES: operand of axes, which results keep as 1.
 * BY_SLICE: starts, ends, axes, steps. BY_PADS: pads for all axes. BY_SIZES: operands with an entry for each axis. */
enum how { BY_CELL, BY_AXIS, BY_AXIS_INPUT, BY_AXES, BY_SLICE, BY_PADS, BY_SIZES };
static const struct movable {
    const char *op;
    enum how how;
    int operands;      /* that have the axes: the first so many */
    int64_t axis;      /* BY_AXIS: default */
    unsigned sizes;    /* BY_SIZES: operands, as bits */
    bool reduces, one; /* sums or compares along its axes; keepdims must be 1 */
} rows[] = {
    {"Concat", BY_AXIS, 256, 0, 0, false, false},
    {"Split", BY_AXIS, 1, 0, 0, false, false},
    {"Softmax", BY_AXIS, 1, -1, 0, true, false},
    {"LogSoftmax", BY_AXIS, 1, -1, 0, true, false},
    {"Hardmax", BY_AXIS, 1, -1, 0, true, false},
    {"LpNormalization", BY_AXIS, 1, -1, 0, true, false},
    {"ArgMax", BY_AXIS, 1, 0, 0, true, true},
    {"ArgMin", BY_AXIS, 1, 0, 0, true, true},
    {"TopK", BY_AXIS, 1, -1, 0, true, false},
    {"Gather", BY_AXIS, 1, 0, 0, false, false},
    {"QuantizeLinear", BY_AXIS, 1, 1, 0, false, false},
    {"DequantizeLinear", BY_AXIS, 1, 1, 0, false, false},
    {"CumSum", BY_AXIS_INPUT, 1, 0, 0, false, false},
    {"ReduceSum", BY_AXES, 1, 0, 0, true, true},
    {"ReduceMean", BY_AXES, 1, 0, 0, true, true},
    {"ReduceMax", BY_AXES, 1, 0, 0, true, true},
    {"ReduceMin", BY_AXES, 1, 0, 0, true, true},
    {"ReduceProd", BY_AXES, 1, 0, 0, true, true},
    {"ReduceL1", BY_AXES, 1, 0, 0, true, true},
    {"ReduceL2", BY_AXES, 1, 0, 0, true, true},
    {"ReduceSumSquare", BY_AXES, 1, 0, 0, true, true},
    {"ReduceLogSum", BY_AXES, 1, 0, 0, true, true},
    {"ReduceLogSumExp", BY_AXES, 1, 0, 0, true, true},
    {"Slice", BY_SLICE, 1, 0, 0, false, false},
    {"Pad", BY_PADS, 1, 0, 0, false, false},
    {"Resize", BY_SIZES, 1, 0, 1u << 2 | 1u << 3, false, false},
    {"Tile", BY_SIZES, 1, 0, 1u << 1, false, false},
    {"Expand", BY_SIZES, 1, 0, 1u << 1, false, false},
};
static const struct movable *row_of(const struct node *n) {
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (node_is(n, rows[k].op)) return &rows[k];
    return NULL;
}
bool operand_is_ordered(const struct node *n, int k) {
    const struct movable *row = row_of(n);
    return !row || k < row->operands;
}
bool order_is_free(const struct node *n) {
    const struct movable *row = row_of(n);
    return row && row->how == BY_AXES && !node_int(n, "keepdims", 1);
}

/* ---- axes */
static int place(const struct order *p, int64_t axis) { /* of an axis, in the permuted value */
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
static int axes_of(const struct node *n, const struct movable *row, int rank, int64_t *axes) {
    int absent =
        row->how == BY_AXES ? (node_int(n, "noop_with_empty_axes", 0) ? -1 : rank) : vector_length(n->ins.v[1]);
    int count = absent < 0 && row->how == BY_SLICE ? -1 : axes_at(n, row->how == BY_AXES ? 1 : 3, absent, axes);
    return !count && row->how == BY_AXES ? -1 : count;
}
/* Sums keep the order of their terms if the axes that are summed keep theirs. */
static bool keep_their_order(const struct order *p, const int64_t *axes, int count) {
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            int64_t a = axes[i] < 0 ? axes[i] + p->rank : axes[i], b = axes[j] < 0 ? axes[j] + p->rank : axes[j];
            if (a < b && place(p, a) > place(p, b)) return false;
        }
    return true;
}
/* Softmax and its kin before opset 13: over all axes from `axis` on. */
static bool by_several_axes(const struct node *n, const struct movable *row, int rank) {
    int64_t axis = node_int(n, "axis", row->axis);
    return node_int(n, "joint", 0) && axis != rank - 1 && axis != -1;
}
int order_reduced_axis(const struct node *n) {
    const struct movable *row = row_of(n);
    int64_t axes[32];
    int rank = n->ins.v[0]->type.rank, count = 1;
    if (!row || !row->reduces || by_several_axes(n, row, rank)) return -1;
    if (row->how == BY_AXIS) axes[0] = node_int(n, "axis", row->axis);
    else count = axes_of(n, row, rank, axes);
    return count == 1 ? (int)(axes[0] < 0 ? axes[0] + rank : axes[0]) : -1;
}

/* ---- who may */
static bool has_rank(const struct value *v, int rank) {
    return v && v->type.kind == TY_TENSOR && v->type.rank == rank && v->type.dtype != STR;
}
static bool row_is_open(const struct node *n, const struct movable *row, const struct order *p) {
    int64_t axes[32], unused;
    int count;
    if (row->one && !node_int(n, "keepdims", 1)) return false;
    switch (row->how) {
    case BY_AXIS:
        if (node_is(n, "Gather")) return n->ins.v[1]->type.rank == 1;
        for (int k = 1; k < n->ins.n && strstr(n->op_type, "Linear"); k++) /* a scale for all or for an axis */
            if (n->ins.v[k] && n->ins.v[k]->type.rank > 1) return false;
        return !by_several_axes(n, row, p->rank);
    case BY_AXIS_INPUT: return node_ints(n, 1, axes, 1) == 1;
    case BY_AXES: return (count = axes_of(n, row, p->rank, axes)) > 0 && keep_their_order(p, axes, count);
    case BY_SLICE: return axes_of(n, row, p->rank, axes) >= 0;
    case BY_PADS: return (n->ins.n < 4 || !n->ins.v[3]) && vector_length(n->ins.v[1]) == 2 * p->rank;
    case BY_SIZES:
        if (node_attr(n, "axes") || (node_is(n, "Resize") && n->ins.n > 1 && n->ins.v[1] &&
                                     !(x_is_int(n->ins.v[1]->type.dims[0], &unused) && unused == 0)))
            return false;
        count = 0; /* interpolation sums over the axes that change */
        for (int k = 0; k < p->rank; k++)
            if (n->ins.v[0]->type.dims[k] != n->outs.v[0]->type.dims[k]) axes[count++] = k;
        for (int k = 1; k < n->ins.n; k++)
            if ((row->sizes >> k & 1) && n->ins.v[k] && vector_length(n->ins.v[k]) != p->rank &&
                vector_length(n->ins.v[k]) != 0)
                return false;
        return keep_their_order(p, axes, count);
    default: return false;
    }
}
bool order_is_open(struct probes *q, struct node *n, const struct order *p) {
    const struct movable *row = row_of(n);
    if (!n->op || !n->op->define || n->op->flags & (OP_RANDOM | OP_EFFECT) || !n->ins.n) return false;
    if (node_is(n, "Transpose") || n->outs.n > 64) return false;
    for (int k = 0; k < n->outs.n; k++)
        if (!has_rank(n->outs.v[k], p->rank)) return false;
    if (row && !has_rank(n->ins.v[0], p->rank)) return false;
    if (row) return row_is_open(n, row, p);
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] && (n->ins.v[k]->type.kind != TY_TENSOR || n->ins.v[k]->type.rank > p->rank)) return false;
    return n->outs.n == 1 && node_is_cellwise(q, n);
}

/* ---- what changes */
static struct value *constant(struct graph *g, const int64_t *v, int n) {
    struct tensor *t = tensor_new(&g->ctx->arena, I64, (int64_t[]){n}, 1);
    for (int k = 0; k < n; k++) tensor_set_i(t, k, v[k]);
    return graph_const(g, "", t);
}
/* Entries of a vector in another order, also of one that the run computes. */
static bool reorder_entries(struct graph *g, struct node *by, int k, const int64_t *from, int n) {
    struct value *ins[] = {by->ins.v[k], constant(g, from, n)};
    struct node *gather = node_new(by->in, by, "", "Gather", ins, 2, 1);
    if (!def_infer(g, gather)) return false;
    node_set_input(by, k, gather->outs.v[0]);
    return true;
}
bool order_apply(struct graph *g, struct node *by, const struct node *n, const struct order *p) {
    const struct movable *row = row_of(n);
    int64_t axes[64];
    int count = 0;
    if (!row) return true;
    switch (row->how) {
    case BY_AXIS:
        node_set_attr(by,
                      (struct attr){.name = "axis", .kind = AT_INT, .u.i = place(p, node_int(n, "axis", row->axis))});
        if (node_attr(by, "joint"))
            node_set_attr(by, (struct attr){.name = "joint", .kind = AT_INT}); /* it was the last axis */
        return true;
    case BY_AXIS_INPUT:
        node_ints(n, 1, axes, 1);
        axes[0] = place(p, axes[0]);
        node_set_input(by, 1, constant(g, axes, 1));
        return true;
    case BY_AXES:
    case BY_SLICE:
        count = axes_of(n, row, p->rank, axes);
        for (int k = 0; k < count; k++) axes[k] = place(p, axes[k]);
        node_set_input(by, row->how == BY_AXES ? 1 : 3, constant(g, axes, count));
        return true;
    case BY_PADS:
        for (int k = 0; k < p->rank; k++) axes[k] = p->axis[k], axes[k + p->rank] = p->axis[k] + p->rank;
        return reorder_entries(g, by, 1, axes, 2 * p->rank);
    case BY_SIZES:
        for (int k = 0; k < p->rank; k++) axes[k] = p->axis[k];
        for (int k = 1; k < n->ins.n; k++)
            if ((row->sizes >> k & 1) && n->ins.v[k] && vector_length(n->ins.v[k]) == p->rank &&
                !reorder_entries(g, by, k, axes, p->rank))
                return false;
        return true;
    default: return true;
    }
}
