/* Which tensors are rounded; see plan.h.
 *
 * Products are found first. From their results on, forwards, every node gets a role from the roles of its operands. An
 * island whose results have other readers than products and islands, directly or through carried nodes, is rejected,
 * because such a reader would get rounded floats without any gain (for example a residual sum before a normalisation).
 * Rejecting one can lead to others, so this is repeated until nothing changes. */
#include "compiler/quantize/plan.h"
#include "ir/graph/op.h"
#include "lower/group.h"

struct planner {
    struct graph *g;
    struct probes *probes;
    struct map role,
        root; /* of nodes: enum quant_role + 1; of values: the result from which they are computed elementwise */
    struct map denied; /* nodes that cannot be islands, because of their readers */
    const node_list *leave_out;
};
static enum quant_role role_of(const struct planner *p, const struct node *n) {
    uintptr_t r = n ? (uintptr_t)map_get(&p->role, PKEY(n)) : 0;
    return r ? (enum quant_role)(r - 1) : ROLE_OUTSIDE;
}
static void set_role(struct planner *p, const struct node *n, enum quant_role r) {
    map_put(&p->role, PKEY(n), (void *)(uintptr_t)(r + 1));
}
static bool is_floats(const struct value *v) {
    return v && v->type.kind == TY_TENSOR && v->type.dtype == F32 && v->type.rank >= 0;
}
static bool varies(const struct value *v) { return is_floats(v) && !v->init; }
static bool left_out(const struct planner *p, const struct node *n) {
    for (int k = 0; k < p->leave_out->n; k++)
        if (p->leave_out->v[k] == n) return true;
    return false;
}
static bool is_product(const struct planner *p, const struct node *n) {
    const struct value *w = node_in(n, 1), *bias = node_in(n, 2);
    return n->op && n->op->integers && !left_out(p, n) && varies(node_in(n, 0)) && is_floats(w) && w->init &&
           (!bias || bias->init);
}
/* The one result that all varying operands are computed from; NULL: several, or none. *all: each of them is computed
 * from some. */
static struct value *common_root(const struct planner *p, const struct node *n, bool *all) {
    struct value *root = NULL;
    bool one = true;
    *all = false;
    for (int k = 0; k < n->ins.n; k++) {
        struct value *v = n->ins.v[k];
        if (!varies(v)) continue;
        struct value *r = map_get(&p->root, PKEY(v));
        if (!r) return *all = false, NULL;
        one &= !root || root == r;
        root = r;
        *all = true;
    }
    return one ? root : NULL;
}
static enum quant_role find_role(struct planner *p, struct node *n, struct value **root) {
    enum { IN_CODES = OP_PICKS | OP_BLENDS };
    bool all;
    *root = NULL;
    if (is_product(p, n)) return ROLE_PRODUCT;
    struct value *one = common_root(p, n, &all);
    for (int k = 0; k < n->outs.n; k++)
        if (n->outs.v[k] && !is_floats(n->outs.v[k])) return ROLE_OUTSIDE;
    if (!all || !n->op || left_out(p, n)) return ROLE_OUTSIDE;
    if (one && n->outs.n == 1 && node_is_cellwise(p->probes, n)) return *root = one, ROLE_CARRIED;
    return n->op->flags & IN_CODES && !map_get(&p->denied, PKEY(n)) ? ROLE_ISLAND : ROLE_OUTSIDE;
}
static void find_roles(struct planner *p) {
    p->role = p->root = (struct map){.arena = &p->g->ctx->arena};
    for (struct node *n = p->g->top->first; n; n = n->next) {
        struct value *root;
        enum quant_role r = find_role(p, n, &root);
        set_role(p, n, r);
        for (int k = 0; k < n->outs.n && r != ROLE_OUTSIDE; k++)
            if (n->outs.v[k]) map_put(&p->root, PKEY(n->outs.v[k]), root ? root : n->outs.v[k]);
    }
}
/* Is v read only by products and islands, directly or through carried nodes? The recursion ends, because the graph has
 * no cycle; each value is examined once. */
static bool read_in_codes(const struct planner *p, const struct value *v, struct map *asked) {
    if (map_get(asked, PKEY(v))) return true;
    map_put(asked, PKEY(v), (void *)v);
    for (int k = 0; k < v->uses.n; k++) {
        const struct use *u = &v->uses.v[k];
        if (u->region) return false;
        enum quant_role r = role_of(p, u->node);
        if (r == ROLE_OUTSIDE || (r == ROLE_CARRIED && !read_in_codes(p, u->node->outs.v[0], asked))) return false;
    }
    return v->uses.n > 0;
}
static bool deny_some(struct planner *p) {
    bool some = false;
    for (struct node *n = p->g->top->last; n; n = n->prev) {
        if (role_of(p, n) != ROLE_ISLAND) continue;
        bool ok = true;
        for (int k = 0; k < n->outs.n && ok; k++) {
            struct map asked = {.arena = &p->g->ctx->arena};
            ok = !n->outs.v[k] || read_in_codes(p, n->outs.v[k], &asked);
        }
        if (ok) continue;
        map_put(&p->denied, PKEY(n), n);
        set_role(p, n, ROLE_OUTSIDE); /* nodes before it, which are examined next, see this */
        some = true;
    }
    return some;
}

/* ---- points */
int quant_point_number(const struct quant_plan *q, const struct value *v) {
    return (int)(intptr_t)map_get(&q->point_of, PKEY(v)) - 1;
}
static void add_reader(struct quant_plan *q, struct value *v, struct node *n, int index) {
    struct arena *a = &q->g->ctx->arena;
    int k = quant_point_number(q, v);
    if (k < 0) {
        k = q->points.n;
        map_put(&q->point_of, PKEY(v), (void *)(intptr_t)(k + 1));
        PUSH(a, &q->points, ((struct quant_point){.value = v, .same_as = k}));
    }
    PUSH(a, &q->points.v[k].readers, ((struct use){.node = n, .index = index}));
}
static int varying_operands(const struct node *n) {
    int all = 0;
    for (int k = 0; k < n->ins.n; k++) all += varies(n->ins.v[k]);
    return all;
}
/* An operator that selects cells of a single tensor gives codes with the same scale. Points of operands come before. */
static void find_shared(struct quant_plan *q, const struct node *n) {
    if (!(n->op->flags & OP_PICKS) || varying_operands(n) != 1 || !varies(n->ins.v[0])) return;
    int from = quant_point_number(q, n->ins.v[0]);
    for (int k = 0; k < n->outs.n; k++) {
        int to = n->outs.v[k] ? quant_point_number(q, n->outs.v[k]) : -1;
        if (to >= 0) q->points.v[to].same_as = q->points.v[from].same_as;
    }
}
struct quant_plan *quant_plan_new(struct graph *g, const node_list *leave_out) {
    struct planner p = {.g = g, .probes = probes_new(g), .denied = {.arena = &g->ctx->arena}, .leave_out = leave_out};
    struct quant_plan *q = NEW(&g->ctx->arena, struct quant_plan);
    *q = (struct quant_plan){.g = g, .left_out = *leave_out, .point_of = {.arena = &g->ctx->arena}};
    do find_roles(&p);
    while (deny_some(&p));
    for (struct node *n = g->top->first; n; n = n->next) {
        enum quant_role r = role_of(&p, n);
        if (r == ROLE_PRODUCT) {
            PUSH(&g->ctx->arena, &q->products, n);
            add_reader(q, n->ins.v[0], n, 0);
        }
        for (int k = 0; k < n->ins.n && r == ROLE_ISLAND; k++)
            if (varies(n->ins.v[k])) add_reader(q, n->ins.v[k], n, k);
        q->islands += r == ROLE_ISLAND;
    }
    for (struct node *n = g->top->first; n; n = n->next)
        if (role_of(&p, n) == ROLE_ISLAND) find_shared(q, n);
    return q;
}
const struct quant_point *quant_point_of(const struct quant_plan *p, const struct value *v) {
    int k = quant_point_number(p, v);
    return k < 0 ? NULL : &p->points.v[k];
}
int64_t quant_weights_bytes(const struct node *product) {
    const struct tensor *t = product->ins.v[1]->init;
    return dtype_packed_bytes(t->type, tensor_count(t));
}
