/* Every node's result as an output of the model: for finding the node that is wrong. See session.h. */
#include "compiler/session.h"

static void expose(struct graph *g) {
    struct region *top = g->top;
    for (struct node *n = top->first; n; n = n->next)
        for (int k = 0; k < n->outs.n; k++) {
            struct value *v = n->outs.v[k];
            if (!v || v->type.kind != TY_TENSOR || v->type.rank < 0 || value_is_result(v)) continue;
            region_result(top, v);
            PUSH(&g->ctx->arena, &g->outputs, *v->name ? v->name : internf(g->ctx->names, "node%d_%d", n->id, k));
        }
}
bool session_compile_each_node(struct session *s) {
    s->compile.stop_after = "infer";
    if (!session_compile(s)) return false;
    s->own_outputs = s->u.g->top->results.n;
    expose(s->u.g);
    return session_lower(s);
}
