/* Common subexpression elimination: among nodes of one region with the same operator, attributes and operands, the
 * first replaces the others. Nodes with regions, random ones and those without a definition are left alone. Constants
 * with equal contents count as the same operand. See passes.h. */
#include "compiler/graph/passes.h"
#include "ir/graph/op.h"
#include <string.h>
#include <xxhash.h>

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
    uint64_t h = XXH64(n->op->name, strlen(n->op->name), 0); /* the name, not its address, which differs between
                                                              * builds */
    for (int k = 0; k < n->ins.n; k++) {
        const int id = n->ins.v[k] ? n->ins.v[k]->id : -1;
        h = XXH64(&id, sizeof id, h);
    }
    return h;
}
/* ---- constants */
enum { MAPPED_MOST = 1 << 16 }; /* bytes; larger weights are not read, so that they stay mapped */
static uint64_t content_key(const struct tensor *t) {
    uint64_t h = XXH64(t->dims, (size_t)t->rank * sizeof *t->dims, (uint64_t)t->type << 8 | (uint64_t)t->source);
    return XXH64(t->bytes, t->nbytes, h) | 1;
}
/* The first constant with the contents of v. */
static struct value *representative(struct map *constants, struct value *v) {
    const struct tensor *t = v->init;
    if (t->type == STR || (t->source == TS_MAPPED && t->nbytes > MAPPED_MOST)) return v;
    uint64_t key = content_key(t);
    struct value *first = map_get(constants, key);
    if (!first) map_put(constants, key, first = v);
    return tensor_equal(first->init, t) ? first : v;
}
static void unify_constants(struct map *constants, struct node *n) {
    for (int k = 0; k < n->ins.n; k++) {
        struct value *v = n->ins.v[k], *by = v && v->init ? representative(constants, v) : v;
        if (by != v) node_set_input(n, k, by);
    }
}

static void sweep(struct graph *g, struct region *r, struct map *constants, bool *sizes_merged) {
    struct map seen = {.arena = &g->ctx->arena};
    for (struct node *n = r->first, *next; n; n = next) {
        next = n->next;
        for (int k = 0; k < n->attrs.n; k++)
            if (n->attrs.v[k].kind == AT_REGION) sweep(g, n->attrs.v[k].u.region, constants, sizes_merged);
        unify_constants(constants, n);
        if (!n->op || n->op->flags & OP_RANDOM) continue;
        struct node *first = map_get(&seen, key(n));
        if (!first || !same_node(first, n)) {
            if (!first) map_put(&seen, key(n), n);
            continue;
        }
        if (!decide(g->ctx, "%.*s stands for %.*s", OWN_ORIGIN(first), OWN_ORIGIN(n))) continue;
        for (int k = 0; k < n->outs.n; k++)
            if (n->outs.v[k]) value_replace(n->outs.v[k], first->outs.v[k]);
        trace_because(g, NULL, "the two are equal");
        trace_into(g, first->origin);
        *sizes_merged |= n->syms.n > 0;
        node_remove(n);
    }
}
bool graph_cse(struct graph *g) {
    bool sizes_merged = false;
    struct map constants = {.arena = &g->ctx->arena};
    sweep(g, g->top, &constants, &sizes_merged);
    return !sizes_merged || graph_infer(g); /* dims were named after a size of the removed node */
}
