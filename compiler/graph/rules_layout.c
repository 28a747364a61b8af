/* Rules of reductions, alone and of transposed operands; see rules.h. */
#include "compiler/graph/rules.h"
#include "ir/graph/op.h"
#include <string.h>

/* The axes over which a Reduce node reduces, as bits. false: unknown, or none. */
static bool reduced(const struct node *n, unsigned *mask) {
    int64_t axes[32];
    int rank = n->ins.v[0]->type.rank, count = 0;
    *mask = 0;
    if (rank < 1 || rank > 32) return false;
    if (node_in(n, 1)) count = node_ints(n, 1, axes, 32);
    if (count < 0) return false;
    for (int k = 0; k < count; k++) {
        int64_t axis = axes[k] < 0 ? axes[k] + rank : axes[k];
        if (axis < 0 || axis >= rank) return false;
        *mask |= 1u << axis;
    }
    if (!count && !node_int(n, "noop_with_empty_axes")) *mask = rank == 32 ? ~0u : (1u << rank) - 1;
    return *mask != 0;
}
static bool keeps_dims(const struct node *n) { return node_int(n, "keepdims") != 0; }
static struct value *axes_of(struct match *m, unsigned mask) {
    int64_t axes[32];
    int n = 0;
    for (int k = 0; k < 32; k++)
        if (mask >> k & 1) axes[n++] = k;
    return rule_ints(m, axes, n);
}
/* Over axes of size 1 only: each result is one element. */
static struct value *reduce_of_ones(struct match *m) {
    struct node *n = m->node[0];
    unsigned mask;
    struct value *x = MATCHED(m, 'x');
    if (!reduced(n, &mask)) return NULL;
    for (int k = 0; k < x->type.rank; k++)
        if ((mask >> k & 1) && !x_is(x->type.dims[k], 1)) return NULL;
    return rule_reshape(m, x, &n->outs.v[0]->type);
}
static struct value *one_reduction(struct match *m) {
    struct node *n = m->node[0], *inner = m->node[1];
    unsigned outer_mask, inner_mask, mask = 0;
    struct value *x = MATCHED(m, 'x');
    if (!node_is(inner, n->op_type) || keeps_dims(n) != keeps_dims(inner)) return NULL;
    if (!reduced(n, &outer_mask) || !reduced(inner, &inner_mask)) return NULL;
    for (int k = 0, left = 0; k < x->type.rank; k++) { /* dims of 1 are skipped; the remaining outer axes must match */
        bool gone = inner_mask >> k & 1;
        int place = keeps_dims(n) ? k : gone ? -1 : left++;
        if (gone || (place >= 0 && (outer_mask >> place & 1))) mask |= 1u << k;
    }
    return rule_node_like(m, n, (struct value *[]){x, axes_of(m, mask)}, 2);
}
/* Reductions take axes in the order of the operand: sums keep theirs if those that are summed keep their order. */
static struct value *reduce_of_transpose(struct match *m) {
    struct node *n = m->node[0];
    struct value *x = MATCHED(m, 'x');
    int perm[32], last = -1, last_kept = -1;
    int64_t kept[32], order[32];
    unsigned mask, from = 0;
    int nkept = 0;
    bool ordered = true;
    if (!node_perm(m->node[1], perm) || !reduced(n, &mask)) return NULL;
    for (int k = 0; k < x->type.rank; k++) {
        if (mask >> k & 1) {
            if (perm[k] < last) return NULL;
            last = perm[k], from |= 1u << perm[k];
        } else {
            ordered = ordered && perm[k] > last_kept;
            last_kept = perm[k], kept[nkept++] = perm[k];
        }
    }
    struct value *y = rule_node_like(m, n, (struct value *[]){x, axes_of(m, from)}, 2);
    if (keeps_dims(n)) {
        for (int k = 0; k < x->type.rank; k++) order[k] = perm[k];
        nkept = x->type.rank;
    } else {
        if (ordered) return y;
        for (int k = 0; k < nkept; k++) { /* its position among the axes of x that remain */
            order[k] = 0;
            for (int j = 0; j < nkept; j++) order[k] += kept[j] < kept[k];
        }
    }
    struct attr a = rule_attr_ints(m, "perm", order, nkept);
    return y ? rule_node(m, "Transpose", &y, 1, &a, 1) : NULL;
}

#define REDUCTIONS                                                                                                     \
    "ReduceSum|ReduceMean|ReduceMax|ReduceMin|ReduceProd|ReduceL1|ReduceL2|ReduceSumSquare|ReduceLogSum|"              \
    "ReduceLogSumExp"
const struct rule rules_layout[] = {
    {"reduce-of-ones", "ReduceMax|ReduceMin|ReduceProd(x, ...)", "x in other dims", SAME_BITS, reduce_of_ones},
    {"sum-of-ones", "ReduceSum|ReduceMean(x, ...)", "x in other dims", SAME_VALUES, reduce_of_ones},
    {"reduce-of-reduce", "ReduceMax|ReduceMin(ReduceMax|ReduceMin!(x, ...), ...)", "one over the axes of both",
     SAME_VALUES, one_reduction},
    {"reduce-of-transpose", REDUCTIONS "(Transpose!(x), ...)", "Transpose of the smaller result, if it needs one",
     SAME_BITS, reduce_of_transpose},
    {0},
};
