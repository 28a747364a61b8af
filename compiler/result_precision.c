/* See result_precision.h. Walks from a result of the model towards its operands: for the step itself only through nodes
 * that move elements, for types and for nodes that round to steps through all. */
#include "compiler/result_precision.h"
#include "compiler/compare.h"
#include "ir/graph/op.h"
#include <math.h>

static double greatest(const struct tensor *t) {
    double m = 0;
    for (int64_t i = 0; t && dtype_is_float(t->type) && i < tensor_count(t); i++)
        if (fabs(tensor_f(t, i)) > m) m = fabs(tensor_f(t, i));
    return m;
}
/* The step of floats. 0: they do not come from a DequantizeLinear. */
static double scale_of(const struct value *v, int depth) {
    enum { DEPTH = 32 };
    const struct node *n = v ? v->def : NULL;
    if (!n || depth > DEPTH) return 0;
    if (!n->op) return 0;
    if (n->op->flags & OP_DEQUANTIZES) return node_in(n, 1) ? greatest(n->ins.v[1]->init) : 0;
    if (!(n->op->flags & OP_PICKS) && !n->op->clamps) return 0;
    double m = 0;
    int data = n->op->ins[0].flags & VARIADIC ? n->ins.n : 1;
    for (int k = 0; k < data && k < n->ins.n; k++) {
        double s = scale_of(n->ins.v[k], depth + 1);
        if (s > m) m = s;
    }
    return m;
}
double quant_step(const struct graph *g, int k) {
    if (!g || !g->quantized || k >= g->top->results.n) return 0;
    const struct value *v = g->top->results.v[k];
    enum dtype t = v->type.dtype;
    if (dtype_is_float(t)) return scale_of(v, 0);
    return dtype_is_int(t) && dtype_bits(t) <= 16 ? 1 : 0;
}

/* ---- nodes that round to steps */
/* Bits of the type that n rounds to; 0: it does not round. Sums of integers are exact. An operator that rounds
 * internally counts as bytes. */
static int rounds_to_bits(const struct graph *g, const struct node *n) {
    if (!g->quantized || !op_is_quantized(n->op_type) || (n->op && n->op->flags & OP_DEQUANTIZES)) return 0;
    for (int k = 0; k < n->outs.n; k++) {
        const struct value *v = n->outs.v[k];
        if (!v || !dtype_is_int(v->type.dtype)) continue;
        return dtype_bits(v->type.dtype) <= 16 ? dtype_bits(v->type.dtype) : 0;
    }
    return 8;
}
struct depths {
    const struct graph *g;
    int *of; /* by the number of the node */
};
/* Definitions come before uses; the parameters of a body count like the inputs of its node. */
static void note_depth(void *env, struct node *n) {
    struct depths *d = env;
    int deepest = 0;
    for (int k = 0; k < n->ins.n; k++) {
        const struct value *v = n->ins.v[k];
        const struct node *from = !v ? NULL : v->def ? v->def : v->param_of ? v->param_of->owner : NULL;
        if (from && d->of[from->id] > deepest) deepest = d->of[from->id];
    }
    d->of[n->id] = deepest + (rounds_to_bits(d->g, n) > 0);
    for (struct node *owner = n->in->owner; owner; owner = owner->in->owner)
        if (d->of[n->id] > d->of[owner->id]) d->of[owner->id] = d->of[n->id];
}
int quant_depth(const struct graph *g, int k) {
    struct arena a = {0};
    struct depths d = {g, NEWN(&a, int, g->next_node + 1)};
    const struct value *v = g->top->results.v[k];
    each_node(g->top, note_depth, &d);
    int depth = v->def ? d.of[v->def->id] : 0;
    arena_free(&a);
    return depth;
}

/* ---- floats of few bits */
struct ancestors {
    struct arena arena;
    const struct graph *g;
    bool *seen; /* by the number of the node */
    int times;  /* quant_depth of the result */
    VEC(const struct node *) todo;
    double rtol;
};
static void meet(struct ancestors *a, const struct value *v) {
    if (!v || v->init) return;
    if (dtype_is_float(v->type.dtype)) a->rtol = fmax(a->rtol, usual_rtol(v->type.dtype));
    const struct node *n = v->def ? v->def : v->param_of ? v->param_of->owner : NULL;
    if (!n || a->seen[n->id]) return;
    a->seen[n->id] = true;
    int bits = rounds_to_bits(a->g, n);
    if (bits) a->rtol = fmax(a->rtol, usual_rtol_of_steps(bits, a->times));
    PUSH(&a->arena, &a->todo, n);
}
double usual_rtol_of_result(const struct graph *g, int k) {
    struct ancestors a = {.g = g, .times = quant_depth(g, k)};
    a.seen = NEWN(&a.arena, bool, g->next_node + 1);
    meet(&a, g->top->results.v[k]);
    while (a.todo.n) {
        const struct node *n = a.todo.v[--a.todo.n];
        for (int j = 0; j < n->ins.n; j++) meet(&a, n->ins.v[j]);
        for (int j = 0; j < n->attrs.n; j++)
            for (int r = 0; n->attrs.v[j].kind == AT_REGION && r < n->attrs.v[j].u.region->results.n; r++)
                meet(&a, n->attrs.v[j].u.region->results.v[r]);
    }
    arena_free(&a.arena);
    return a.rtol;
}
