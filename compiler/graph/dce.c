/* Dead code elimination; see passes.h. */
#include "compiler/graph/passes.h"
#include "ir/graph/op.h"

static void sweep(struct region *r) {
    struct node *last = r->first;
    while (last && last->next) last = last->next;
    for (struct node *n = last, *prev; n; n = prev) {
        prev = n->prev;
        if (!node_is_used(n)) {
            trace_because(r->graph, NULL, "nothing reads its results");
            node_remove(n);
            continue;
        }
        for (int k = 0; k < n->attrs.n; k++)
            if (n->attrs.v[k].kind == AT_REGION) sweep(n->attrs.v[k].u.region);
    }
}
bool graph_dce(struct graph *g) {
    sweep(g->top);
    return true;
}
