/* Makes results of nodes outputs of the model, to find the node that is wrong: of each node computed alone, or what the
 * kernels of the program store in memory. See session.h. */
#include "compiler/session.h"
#include "lower/group.h"

static bool can_be_output(const struct value *v) {
    return v && v->type.kind == TY_TENSOR && v->type.rank >= 0 && !value_is_result(v);
}
static void expose(struct graph *g) {
    for (struct node *n = g->top->first; n; n = n->next)
        for (int k = 0; k < n->outs.n; k++) {
            struct value *v = n->outs.v[k];
            if (can_be_output(v))
                graph_output(g, v, *v->name ? v->name : internf(g->ctx->names, "node%d_%d", n->id, k));
        }
}
bool session_compile_each_node(struct session *s) {
    s->compile.stop_after = "infer";
    if (!session_compile(s)) return false;
    s->own_outputs = s->u.g->top->results.n;
    expose(s->u.g);
    return session_lower(s);
}

/* ---- kernels */
static const char *origins_of(struct graph *g, const struct group *gr) {
    const char *all = NULL;
    for (int k = 0; k < gr->nodes.n; k++) {
        const char *own = gr->nodes.v[k]->origin;
        if (own && *own) all = all ? internf(g->ctx->names, "%s\n%s", all, own) : own;
    }
    return all;
}
/* The output is a copy, so that the kernel stores its result in the same buffer and layout as without it. */
static void expose_result(struct graph *g, const struct group *gr, struct value *v) {
    struct value *ins[] = {v, graph_ints(g, NULL, 0)};
    struct node *copy = node_new(g->top, v->def->next, "", "Unsqueeze", ins, 2, 1); /* without axes */
    copy->origin = origins_of(g, gr);
    copy->outs.v[0]->type = v->type, copy->outs.v[0]->name = v->name;
    graph_output(g, copy->outs.v[0], v->name);
}
/* Only values of the model can be compared; a value keeps its name as long as its contents are the same
 * (docs/graph-ir.md). */
static bool expose_groups(void *env, struct compilation *u) {
    struct session *s = env;
    struct graph *g = u->g;
    struct lower_options lo;
    if (!read_lower_options(u, &lo)) return false;
    struct decisions before = u->c->decisions; /* lowering counts its decisions again */
    struct groups *gs =
        group_region(probes_new(g), g->top, lo.target->machine, !lo.no_fuse, (struct node_names){lo.alone, lo.nalone});
    u->c->decisions = before;
    s->own_outputs = g->top->results.n;
    for (int k = 0; k < gs->list.n; k++) {
        const struct group *gr = gs->list.v[k];
        const struct node *last = gr->nodes.v[gr->nodes.n - 1];
        for (int j = 0; j < last->outs.n; j++)
            if (can_be_output(last->outs.v[j]) && *last->outs.v[j]->name) expose_result(g, gr, last->outs.v[j]);
    }
    return true;
}
bool session_compile_each_kernel(struct session *s) {
    s->kernels = true;
    s->compile.no_fuse = s->o->no_fuse;
    s->compile.before_lower = expose_groups;
    return session_compile(s);
}
