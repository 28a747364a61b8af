/* See named_nodes.h. */
#include "compiler/named_nodes.h"
#include "ir/base/nearest.h"
#include <string.h>

struct naming {
    struct arena *a;
    const char *name; /* NULL: any */
    size_t length;
    node_list nodes;
};
static void look_at(void *env, struct node *n) {
    struct naming *q = env;
    if (*n->name && (!q->name || (strlen(n->name) == q->length && !memcmp(n->name, q->name, q->length))))
        PUSH(q->a, &q->nodes, n);
}
node_list nodes_named(struct graph *g, enum named_where where, const char *name, size_t length) {
    struct naming q = {.a = &g->ctx->arena, .name = name, .length = length};
    if (where == NODES_OF_ALL) each_node(g->top, look_at, &q);
    else
        for (struct node *n = g->top->first; n; n = n->next) look_at(&q, n);
    return q.nodes;
}
bool no_node_named(struct graph *g, enum named_where where, const char *option, const char *name, size_t length) {
    struct diags *d = &g->ctx->diags;
    struct arena *a = &g->ctx->arena;
    node_list all = nodes_named(g, where, NULL, 0);
    const char **names = NEWN(a, const char *, all.n + 1), *word = arena_printf(a, "%.*s", (int)length, name);
    for (int k = 0; k < all.n; k++) names[k] = all.v[k]->name;
    diag_at(d, DIAG_ERROR, E_USAGE, NULL, NULL, "%s%s%sno node is called %s%s", option ? "--" : "",
            option ? option : "", option ? ": " : "", diag_quote(a, word), did_you_mean(a, word, names, all.n));
    diag_help(d, "`gcc2nn compile MODEL --dump-after=nodes` lists the model's nodes, and what became of them");
    return false;
}
