/* Compares what the model declares of its values with what inference found. As in ONNX Runtime, another element type is
 * an error, another shape only a warning. Runs right after the first inference, while values still have the model's
 * names. */
#include "compiler/graph/passes.h"
#include "ir/base/map.h"

/* -1 or less is not a size: exporters write it for unknown ones. */
static bool dim_may_be(struct ctx *c, expr computed, int64_t declared) {
    int64_t lo, hi;
    x_bounds(c, computed, &lo, &hi);
    return declared < 0 || (lo <= declared && declared <= hi);
}
static bool shape_may_be(struct graph *g, const struct type *t, const struct declared *d) {
    if (d->rank < 0) return true;
    bool same = t->rank == d->rank;
    for (int k = 0; k < d->rank && same; k++) same = dim_may_be(g->ctx, t->dims[k], d->dims[k]);
    return same;
}
enum { VALUES_TOLD = 3 };
struct comparison {
    struct graph *g;
    int departed; /* inner values whose shape differs */
};
static void compare(struct comparison *x, const struct type *t, const struct declared *d) {
    struct graph *g = x->g;
    if (t->kind != TY_TENSOR || t->rank < 0 || d->held) return;
    bool type = t->dtype == d->dtype;
    if (type && (shape_may_be(g, t, d) || (d->output < 0 && x->departed++ >= VALUES_TOLD))) return;
    diag_node(&g->ctx->diags, type ? DIAG_WARNING : DIAG_ERROR, type ? E_SHAPE : E_TYPE, NULL,
              "%s %s: the model declares %.200s, but %s is computed", d->output < 0 ? "value" : "output",
              diag_quote(&g->ctx->arena, d->name), d->text, type_text(g->ctx, t));
    diag_help(&g->ctx->diags, type ? "what is computed counts" : "export the model again, or put a Cast before it");
}
bool graph_declared(struct graph *g) {
    struct map by_name = {.arena = &g->ctx->arena};
    struct comparison x = {g, 0};
    int before = g->ctx->diags.errors;
    for (int i = 0; i < g->declared.n; i++) {
        const struct declared *d = &g->declared.v[i];
        if (d->output < 0) map_put(&by_name, PKEY(d->name), (void *)(uintptr_t)d);
    }
    /* sequences and optionals were replaced by their tensors, so outputs may be numbered differently */
    for (int i = 0; i < g->declared.n && !g->given.n; i++) {
        const struct declared *d = &g->declared.v[i];
        if (d->output >= 0 && d->output < g->top->results.n) compare(&x, &g->top->results.v[d->output]->type, d);
    }
    for (const struct node *n = g->top->first; n && by_name.n; n = n->next)
        for (int k = 0; k < n->outs.n; k++) {
            const struct value *v = n->outs.v[k];
            const struct declared *d = v ? map_get(&by_name, PKEY(intern(g->ctx->names, v->name))) : NULL;
            if (d) compare(&x, &v->type, d);
        }
    if (x.departed > VALUES_TOLD)
        diag(&g->ctx->diags, DIAG_WARNING, E_SHAPE, "%d more values have another shape than the model declares",
             x.departed - VALUES_TOLD);
    return g->ctx->diags.errors == before;
}
