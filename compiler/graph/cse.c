/* Common subexpression elimination: of nodes of one region with the same op, attributes and operands the first stays.
 * Nodes with regions, random ones and those without a definition are left alone. See passes.h. */
#include "compiler/graph/passes.h"
#include "ir/op.h"
#include <string.h>

static bool same_attr(const struct attr *a, const struct attr *b) {
    if (a->name != b->name || a->kind != b->kind || a->n != b->n) return false;
    switch (a->kind) {
    case AT_INT: return a->u.i == b->u.i;
    case AT_FLOAT: return !memcmp(&a->u.f, &b->u.f, sizeof a->u.f);
    case AT_STRING: return a->u.s.n == b->u.s.n && !memcmp(a->u.s.p, b->u.s.p, a->u.s.n);
    case AT_TENSOR: return tensor_equal(a->u.t, b->u.t);
    case AT_INTS: return !a->n || !memcmp(a->u.is, b->u.is, (size_t)a->n * sizeof *a->u.is);
    case AT_FLOATS: return !a->n || !memcmp(a->u.fs, b->u.fs, (size_t)a->n * sizeof *a->u.fs);
    default: return false;
    }
}
static bool same_node(const struct node *a, const struct node *b) {
    if (a->op != b->op || !a->op->define || a->ins.n != b->ins.n || a->outs.n != b->outs.n || a->attrs.n != b->attrs.n)
        return false;
    for (int k = 0; k < a->ins.n; k++)
        if (a->ins.v[k] != b->ins.v[k]) return false;
    for (int k = 0; k < a->attrs.n; k++) {
        const struct attr *o = node_attr(b, a->attrs.v[k].name);
        if (!o || !same_attr(&a->attrs.v[k], o)) return false;
    }
    for (int k = 0; k < a->outs.n; k++)
        if (!a->outs.v[k] != !b->outs.v[k]) return false;
    return true;
}
static uint64_t key(const struct node *n) {
    uint64_t h = PKEY(n->op);
    for (int k = 0; k < n->ins.n; k++)
        h = (h ^ (n->ins.v[k] ? (uint64_t)n->ins.v[k]->id + 1 : 0)) * 0x9E3779B97F4A7C15u;
    return h | 1;
}
static void sweep(struct graph *g, struct region *r, bool *sizes_merged) {
    struct map seen = {.arena = &g->ctx->arena};
    for (struct node *n = r->first, *next; n; n = next) {
        next = n->next;
        for (int k = 0; k < n->attrs.n; k++)
            if (n->attrs.v[k].kind == AT_REGION) sweep(g, n->attrs.v[k].u.region, sizes_merged);
        if (!n->op || n->op->flags & OP_RANDOM) continue;
        struct node *first = map_get(&seen, key(n));
        if (!first || !same_node(first, n)) {
            if (!first) map_put(&seen, key(n), n);
            continue;
        }
        for (int k = 0; k < n->outs.n; k++)
            if (n->outs.v[k]) value_replace(n->outs.v[k], first->outs.v[k]);
        *sizes_merged |= n->syms.n > 0;
        node_remove(n);
    }
}
bool graph_cse(struct graph *g) {
    bool sizes_merged = false;
    sweep(g, g->top, &sizes_merged);
    return !sizes_merged || graph_infer(g); /* dims named the size of the node that went */
}
