/* Algebraic simplification: a table of rules, each looks at one node and may replace its result; see passes.h.
 * Rules keep every bit of the result (x + 0 is not one: it would turn -0 into +0). */
#include "compiler/graph/passes.h"
#include "ir/op.h"
#include "lower/group.h"
#include <string.h>

static bool same_type(const struct type *a, const struct type *b) {
    return a->kind == TY_TENSOR && b->kind == TY_TENSOR && a->dtype == b->dtype && type_same_dims(a, b);
}
/* Each rule gives the value that stands for n's (only) result, or NULL. */
static struct value *rule_same_cast(struct graph *g, struct node *n) {
    (void)g;
    return node_is(n, "Cast") && same_type(&n->ins.v[0]->type, &n->outs.v[0]->type) ? n->ins.v[0] : NULL;
}
/* Reshape, Expand, Slice, Transpose ... whose result is its operand, cell by cell. */
static struct value *rule_view_of_all(struct graph *g, struct node *n) {
    int k;
    expr off;
    if (!n->op || !n->op->define || n->ins.n < 1 || n->attrs.n > 8 || !n->ins.v[0] ||
        !same_type(&n->ins.v[0]->type, &n->outs.v[0]->type))
        return NULL;
    return node_is_view(probes_new(g), n, &k, &off) && k == 0 && x_is(off, 0) ? n->ins.v[0] : NULL;
}
/* Reshape(Reshape(x)): the inner one is not needed. Holds for all nodes that only rename the cells of x. */
static struct value *rule_reshape_of_reshape(struct graph *g, struct node *n) {
    (void)g;
    struct node *d = node_is(n, "Reshape") ? n->ins.v[0]->def : NULL;
    bool renames = node_is(d, "Reshape") || node_is(d, "Flatten") || node_is(d, "Squeeze") || node_is(d, "Unsqueeze");
    const struct attr *zero = node_attr(n, "allowzero");
    if (!renames || d->in != n->in || (zero && zero->u.i) || !n->ins.v[1]->init) return NULL;
    for (int64_t k = 0; k < tensor_count(n->ins.v[1]->init); k++)
        if (tensor_i(n->ins.v[1]->init, k) == 0) return NULL; /* 0 copies a dim of the inner result */
    node_set_input(n, 0, d->ins.v[0]);
    return NULL;
}
/* Multiplication and division by one. */
static struct value *rule_times_one(struct graph *g, struct node *n) {
    (void)g;
    bool mul = node_is(n, "Mul"), div = node_is(n, "Div");
    for (int k = 1; k >= (mul ? 0 : 1) && (mul || div); k--) {
        const struct tensor *t = n->ins.v[k]->init;
        if (!t || t->source == TS_MAPPED || tensor_count(t) != 1 || t->type == STR) continue;
        bool one = dtype_is_float(t->type) ? tensor_f(t, 0) == 1.0 : tensor_i(t, 0) == 1;
        if (one && same_type(&n->ins.v[1 - k]->type, &n->outs.v[0]->type)) return n->ins.v[1 - k];
    }
    return NULL;
}
typedef struct value *(*rule_fn)(struct graph *g, struct node *n);
static const struct {
    const char *name;
    rule_fn fn;
} rules[] = {
    {"same-cast", rule_same_cast},
    {"view-of-all", rule_view_of_all},
    {"reshape-of-reshape", rule_reshape_of_reshape},
    {"times-one", rule_times_one},
};
static bool simplify_node(struct graph *g, struct node *n) {
    if (n->outs.n < 1 || !n->outs.v[0] || !n->outs.v[0]->uses.n) return false;
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++) {
        struct value *v = rules[k].fn(g, n);
        if (!v) continue;
        value_replace(n->outs.v[0], v);
        return true;
    }
    return false;
}
static void sweep(struct graph *g, struct region *r) {
    for (struct node *n = r->first, *next; n; n = next) {
        next = n->next;
        for (int k = 0; k < n->attrs.n; k++)
            if (n->attrs.v[k].kind == AT_REGION) sweep(g, n->attrs.v[k].u.region);
        simplify_node(g, n);
    }
}
bool graph_simplify(struct graph *g) {
    sweep(g, g->top);
    return graph_dce(g);
}
