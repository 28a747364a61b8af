/* Rules of nodes that only rename cells: Reshape and similar ones, Transpose, Expand; see rules.h. */
#include "compiler/graph/rules.h"
#include "ir/graph/op.h"
#include "lower/group.h"
#include <string.h>

static const struct type *result_type(const struct match *m) { return &m->node[0]->outs.v[0]->type; }

/* Reshape, Expand, Slice, Tile, Pad, Transpose, Concat of one ...: any operator that copies its first operand
 * unchanged. */
static struct value *all_of_operand(struct match *m) {
    struct node *n = m->node[0];
    int k;
    expr off;
    struct value *x = MATCHED(m, 'x');
    const struct type *to = result_type(m);
    if (n->attrs.n > 8 || x->type.dtype != to->dtype || !type_same_dims(&x->type, to)) return NULL;
    return node_is_view(probes_new(m->g), n, &k, &off) && k == 0 && x_is(off, 0) ? x : NULL;
}
static struct value *operand(struct match *m) { return MATCHED(m, 'x'); }

/* ---- other dims for the same cells */
static struct value *one_reshape(struct match *m) {
    struct node *n = m->node[0];
    struct value *x = MATCHED(m, 'x'), *by = rule_reshape(m, x, result_type(m));
    if (by || !node_is(n, "Reshape") || node_int(n, "allowzero")) return by;
    int64_t dims[32]; /* several unknown sizes: use the node's own dims, if none copies a dim of the inner result */
    int count = node_ints(n, 1, dims, 32);
    for (int k = 0; k < count; k++)
        if (dims[k] == 0) return NULL;
    return count < 0 ? NULL : rule_node_like(m, n, (struct value *[]){x, n->ins.v[1]}, 2);
}
static expr cells(struct ctx *c, const struct type *t) {
    expr n = x_int(c, 1);
    for (int k = 0; k < t->rank; k++) n = x_mul(c, n, t->dims[k]);
    return n;
}
/* The shape operand is computed at run time although the shape is known: replace it, so that its computation can be
 * removed. Not where the shape may not fit, which must be checked at run time. */
static struct value *known_reshape(struct match *m) {
    struct value *x = MATCHED(m, 'x'), *s = MATCHED(m, 's');
    bool fits = cells(m->g->ctx, &x->type) == cells(m->g->ctx, result_type(m));
    return s->init || !fits ? NULL : rule_reshape(m, x, result_type(m));
}
/* A permutation that moves only axes of size 1. */
static struct value *moved_ones(struct match *m) {
    int perm[32], last = -1;
    struct value *x = MATCHED(m, 'x');
    if (!node_perm(m->node[0], perm)) return NULL;
    for (int k = 0; k < x->type.rank; k++) {
        if (x_is(x->type.dims[perm[k]], 1)) continue;
        if (perm[k] < last) return NULL;
        last = perm[k];
    }
    return rule_reshape(m, x, result_type(m));
}

/* ---- permutations */
static struct value *one_transpose(struct match *m) {
    int outer[32], inner[32];
    int64_t both[32];
    int rank = result_type(m)->rank;
    bool same = true;
    if (!node_perm(m->node[0], outer) || !node_perm(m->node[1], inner)) return NULL;
    for (int k = 0; k < rank; k++) both[k] = inner[outer[k]], same = same && both[k] == k;
    struct value *x = MATCHED(m, 'x');
    struct attr perm = rule_attr_ints(m, "perm", both, rank);
    return same ? x : rule_node(m, "Transpose", &x, 1, &perm, 1);
}
/* Which axes of x each axis of y, a Reshape of it, is made of: from[k] up to from[k + 1]. */
static bool merged_axes(struct ctx *c, const struct type *x, const struct type *y, int *from) {
    int next = 0;
    for (int k = 0; k < y->rank; k++) {
        expr size = x_int(c, 1);
        from[k] = next;
        while (size != y->dims[k] && next < x->rank) size = x_mul(c, size, x->dims[next++]);
        if (size != y->dims[k]) return false;
    }
    while (next < x->rank)
        if (!y->rank || !x_is(x->dims[next++], 1)) return false;
    from[y->rank] = next;
    return true;
}
/* A Reshape that only merges axes lets a Transpose of them pass. */
static struct value *transpose_of_merged(struct match *m) {
    struct value *x = MATCHED(m, 'x'), *y = m->node[2]->outs.v[0];
    int perm[32], from[33], n = 0;
    int64_t whole[32];
    if (x->type.rank > 32 || y->type.rank > 32 || !node_perm(m->node[1], perm)) return NULL;
    if (!merged_axes(m->g->ctx, &x->type, &y->type, from)) return NULL;
    for (int k = 0; k < y->type.rank; k++)
        for (int axis = from[perm[k]]; axis < from[perm[k] + 1]; axis++) whole[n++] = axis;
    struct attr a = rule_attr_ints(m, "perm", whole, n);
    struct value *moved = rule_node(m, "Transpose", &x, 1, &a, 1);
    if (!moved || type_same_dims(&moved->type, result_type(m))) return moved;
    return rule_reshape(m, moved, result_type(m));
}
/* Gemm can transpose its operands itself. */
static struct value *gemm_of_transpose(struct match *m) {
    struct node *n = m->node[0];
    int perm[32], k = n->ins.v[0] == m->node[1]->outs.v[0] ? 0 : 1;
    if (!node_perm(m->node[1], perm) || perm[0] != 1) return NULL;
    struct value *ins[3] = {n->ins.v[0], n->ins.v[1], node_in(n, 2)};
    const char *attr = k ? "transB" : "transA";
    ins[k] = MATCHED(m, 'x');
    struct node *by = node_new(n->in, n, "", "Gemm", ins, n->ins.n, 1);
    for (int i = 0; i < n->attrs.n; i++) node_set_attr(by, n->attrs.v[i]);
    node_set_attr(by, rule_attr_int(attr, !node_int(n, attr)));
    return rule_typed(m, by);
}

/* A sum after a matrix product: Gemm adds it. Not for narrow floats, which would be rounded once instead of twice. */
static struct value *gemm_of_sum(struct match *m) {
    struct node *product = m->node[1];
    struct value *z = MATCHED(m, 'z');
    const struct type *to = result_type(m), *y = &product->outs.v[0]->type;
    if ((to->dtype != F32 && to->dtype != F64) || to->rank != 2 || y->rank != 2 || !type_same_dims(to, y)) return NULL;
    if (MATCHED(m, 'x')->type.rank != 2 || MATCHED(m, 'y')->type.rank != 2 || z->type.rank > 2) return NULL;
    for (int k = 0; k < z->type.rank; k++) {
        expr d = z->type.dims[k];
        if (d != to->dims[k + 2 - z->type.rank] && !x_is(d, 1)) return NULL;
    }
    return RULE_NODE(m, "Gemm", MATCHED(m, 'x'), MATCHED(m, 'y'), z);
}

/* ---- sizes */
static struct value *one_expand(struct match *m) {
    int64_t dims[32];
    struct value *x = MATCHED(m, 'x'), *y = m->node[0]->outs.v[0];
    if (!value_is_static(y, dims)) return NULL;
    return RULE_NODE(m, "Expand", x, rule_ints(m, dims, y->type.rank));
}

/* Elementwise operators between a Reshape and its inverse: the cells are the same with either dims. */
enum { MOST_CELLWISE = 32 };
struct between {
    struct match *m;
    struct probes *probes;
    const struct type *inner, *outer; /* dims between the two, and around them */
    struct node *node[MOST_CELLWISE];
    struct value *moved[MOST_CELLWISE]; /* what replaces the result of node[k] */
    int n, leaves;
};
static bool renames(const struct node *n) { return n && n->op && n->op->flags & OP_VIEW; }
static int number_in(const struct between *b, const struct node *n) {
    for (int k = 0; k < b->n; k++)
        if (b->node[k] == n) return k;
    return -1;
}
static bool is_leaf(const struct between *b, const struct value *v) {
    return renames(v->def) && type_same_dims(&v->def->ins.v[0]->type, b->outer);
}
static bool is_scalar(const struct between *b, const struct value *v) {
    int rank = v->type.rank;
    return rank >= 0 && rank <= b->outer->rank && rank <= b->inner->rank && type_has_one_element(&v->type);
}
/* Collects n and the nodes before it, operands first. */
static bool collect(struct between *b, struct node *n) {
    if (number_in(b, n) >= 0) return true;
    if (!n || n->in != b->m->node[0]->in || *n->domain || n->outs.n != 1 || !node_is_cellwise(b->probes, n))
        return false;
    for (int k = 0; k < n->ins.n; k++) {
        struct value *v = n->ins.v[k];
        if (!v || is_scalar(b, v)) continue;
        if (!type_same_dims(&v->type, b->inner)) return false;
        bool leaf = is_leaf(b, v);
        b->leaves += leaf;
        if (!leaf && !collect(b, v->def)) return false;
    }
    if (b->n == MOST_CELLWISE) return false;
    b->node[b->n++] = n;
    return true;
}
static bool read_elsewhere(const struct between *b, const struct value *v) {
    for (int k = 0; k < v->uses.n; k++)
        if (v->uses.v[k].node != b->m->node[0] && number_in(b, v->uses.v[k].node) < 0) return true;
    return false;
}
static struct value *moved_cellwise(struct between *b, const struct node *n) {
    struct value **ins = arena_copy(&b->m->g->ctx->arena, n->ins.v, (size_t)n->ins.n * sizeof *ins);
    for (int k = 0; k < n->ins.n; k++) {
        if (!ins[k] || is_scalar(b, ins[k])) continue;
        ins[k] = is_leaf(b, ins[k]) ? ins[k]->def->ins.v[0] : b->moved[number_in(b, ins[k]->def)];
    }
    struct value *v = rule_node_like(b->m, n, ins, n->ins.n);
    if (v) v->def->origin = n->origin, v->def->name = n->name, v->name = n->outs.v[0]->name;
    return v && type_same_dims(&v->type, b->outer) ? v : NULL;
}
static struct value *cells_between(struct match *m) {
    struct node *last = m->node[1];
    struct between b = {m, probes_new(m->g), &last->outs.v[0]->type, result_type(m), {0}, {0}, 0, 0};
    if (!collect(&b, last) || !b.leaves) return NULL;
    for (int k = 0; k < b.n; k++)
        if (read_elsewhere(&b, b.node[k]->outs.v[0])) return NULL;
    for (int k = 0; k < b.n; k++)
        if (!(b.moved[k] = moved_cellwise(&b, b.node[k]))) return NULL;
    return b.moved[b.n - 1];
}

/* An elementwise operation on a reshaped sum is fused into the kernel of that sum if it is moved in front of the
 * Reshape. Not conversions: bytes are best converted by their readers. */
static struct value *cells_before(struct match *m) {
    struct node *n = m->node[0], *view = m->node[1];
    struct value *x = MATCHED(m, 'x');
    struct between b = {m, NULL, result_type(m), &x->type, {0}, {0}, 0, 0};
    if (*n->domain || b.inner->dtype != x->type.dtype || !type_same_dims(&view->outs.v[0]->type, b.inner)) return NULL;
    for (int k = 0; k < n->ins.n; k++) {
        struct value *v = n->ins.v[k];
        if (v && !is_scalar(&b, v) && !(type_same_dims(&v->type, b.inner) && is_leaf(&b, v))) return NULL;
    }
    b.probes = probes_new(m->g);
    if (!node_is_cellwise(b.probes, n) || !value_follows_sums(b.probes, x)) return NULL;
    for (int k = 0; k < view->outs.v[0]->uses.n; k++) {
        struct node *reader = view->outs.v[0]->uses.v[k].node;
        if (!reader || reader->op->control || !node_is_cellwise(b.probes, reader)) return NULL;
    }
    struct value *moved = moved_cellwise(&b, n);
    struct value **ins = arena_copy(&m->g->ctx->arena, view->ins.v, (size_t)view->ins.n * sizeof *ins);
    ins[0] = moved;
    return moved ? rule_node_like(m, view, ins, view->ins.n) : NULL;
}

/* Integers that are all dims of x, in order: no others are needed. */
static struct value *dims_of(struct match *m) {
    const struct value *y = m->node[0]->outs.v[0], *x = MATCHED(m, 'x');
    if (y->type.dtype != I64 || y->type.rank != 1 || !y->elems || !y->nelems) return NULL;
    for (int from = 0; from + y->nelems <= x->type.rank; from++) {
        int n = 0;
        while (n < y->nelems && y->elems[n] == x_idxval(m->g->ctx, x->type.dims[from + n])) n++;
        struct attr part[] = {rule_attr_int("start", from), rule_attr_int("end", from + n)};
        if (n == y->nelems) return rule_node(m, "Shape", &MATCHED(m, 'x'), 1, part, 2);
    }
    return NULL;
}

#define RENAMES "Reshape|Flatten|Squeeze|Unsqueeze"
const struct rule rules_shape[] = {
    {"whole-operand", "?(x, ...)", "x, if it is read cell by cell", SAME_BITS, all_of_operand},
    {"reshape-back", RENAMES "(" RENAMES "(x, ...), ...)", "x, if it has these dims", SAME_BITS, operand},
    {"reshape-of-reshape", RENAMES "(" RENAMES "(x, ...), ...)", "one Reshape", SAME_BITS, one_reshape},
    {"reshape-to-known", "Reshape(x, s)", "Reshape to constant dims", SAME_BITS, known_reshape},
    {"transpose-of-transpose", "Transpose(Transpose(x))", "x, or one Transpose", SAME_BITS, one_transpose},
    {"cells-between-reshapes", RENAMES "(?(x, ...), ...)", "the operators between two Reshapes on what they rename",
     SAME_BITS, cells_between},
    {"cells-before-reshape", "?(" RENAMES "(x, ...), ...)", "the operator on what is renamed, if sums make it",
     SAME_BITS, cells_before},
    {"transpose-of-merged", RENAMES "(Transpose!(" RENAMES "(x, ...)), ...)",
     "Transpose of x, if its axes stay together", SAME_BITS, transpose_of_merged},
    {"transpose-of-ones", "Transpose(x)", "Reshape, if axes of 1 alone move", SAME_BITS, moved_ones},
    {"gemm-of-transpose-a", "Gemm(Transpose(x), y, ...)", "Gemm that reads x the other way", SAME_BITS,
     gemm_of_transpose},
    {"gemm-of-transpose-b", "Gemm(y, Transpose(x), ...)", "Gemm that reads x the other way", SAME_BITS,
     gemm_of_transpose},
    {"add-of-matmul", "Add(MatMul!(x:float, y), z)", "Gemm(x, y, z)", SAME_BITS, gemm_of_sum},
    {"expand-of-expand", "Expand(Expand(x, ...), ...)", "one Expand", SAME_BITS, one_expand},
    {"shape-of-result", "Shape(?(x, ...))", "Shape of x, if it has these dims", SAME_BITS, dims_of},
    {"part-of-shape", "Slice|Gather|Concat(Shape(x), ...)", "Shape of x from one dim to another", SAME_BITS, dims_of},
    {"one-of-shape", RENAMES "|Concat(Gather|Squeeze(Shape(x), ...), ...)", "Shape of x from one dim to another",
     SAME_BITS, dims_of},
    {0},
};
