/* Dequantisation is repeated where its result is read: a DequantizeLinear with several readers gets a copy for each, so
 * that it is fused into their kernels, and memory holds bytes instead of floats. The last graph pass, because cse would
 * merge the copies again. Exact. */
#include "compiler/graph/passes.h"
#include "ir/graph/op.h"

/* Does n convert bytes to floats elementwise? */
static bool widens(const struct node *n) {
    return n->op && n->op->flags & OP_DEQUANTIZES && n->outs.n == 1 && n->outs.v[0] && n->ins.n && n->ins.v[0] &&
           !n->ins.v[0]->init && dtype_bytes(n->ins.v[0]->type.dtype) < dtype_bytes(n->outs.v[0]->type.dtype);
}
static void copy_for(struct node *n, struct use u) {
    struct node *by = node_new(n->in, u.node, n->domain, n->op_type, n->ins.v, n->ins.n, 1);
    by->origin = n->origin;
    for (int k = 0; k < n->attrs.n; k++) node_set_attr(by, n->attrs.v[k]);
    by->outs.v[0]->type = n->outs.v[0]->type, by->outs.v[0]->each = n->outs.v[0]->each;
    node_set_input(u.node, u.index, by->outs.v[0]);
}
static void split_readers(void *env, struct node *n) {
    (void)env;
    if (!widens(n)) return;
    struct value *v = n->outs.v[0];
    for (int k = v->uses.n; k-- > 1;) {
        struct use u = v->uses.v[k];
        if (!u.region && u.node->in == n->in && u.node != v->uses.v[0].node) copy_for(n, u);
    }
}
bool graph_rematerialise(struct graph *g) {
    each_node(g->top, split_readers, NULL);
    return true;
}
