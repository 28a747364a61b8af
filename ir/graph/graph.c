/* Graph IR: making and editing nodes, values and regions, keeping use lists up to date; types; inlining of regions;
 * sorting. Import builds graphs with these functions, and passes rewrite them. Text form and verifier are in other
 * files. */
#include "ir/graph/graph.h"
#include "ir/base/map.h"
#include "ir/graph/op.h"
#include <string.h>

enum { MAX_ELEMS = 1024 }; /* integer constants up to this size are known element by element */

static struct arena *arena_of(const struct graph *g) { return &g->ctx->arena; }

/* Strings of one arena live equally long; interning keeps names of thousands of nodes small. */
static const char *keep(struct graph *g, const char *s) { return s ? intern(g->ctx->names, s) : ""; }

/* ---- building */
struct graph *graph_new(struct ctx *c, const char *name) {
    struct graph *g = NEW(&c->arena, struct graph);
    g->ctx = c;
    g->name = keep(g, name);
    g->file = "";
    g->top = region_new(g, NULL, "main");
    return g;
}

struct region *region_new(struct graph *g, struct node *owner, const char *name) {
    struct region *r = NEW(arena_of(g), struct region);
    r->graph = g;
    r->owner = owner;
    r->name = keep(g, name);
    return r;
}

static struct value *value_new(struct graph *g, const char *name) {
    struct value *v = NEW(arena_of(g), struct value);
    v->id = g->next_value++;
    v->name = keep(g, name);
    v->type.rank = -1;
    return v;
}

struct value *region_param(struct region *r, const char *name, struct type t) {
    struct value *v = value_new(r->graph, name);
    v->type = t;
    v->param_of = r;
    v->index = r->params.n;
    PUSH(arena_of(r->graph), &r->params, v);
    return v;
}

int graph_said_rank(const struct graph *g, const char *name) {
    for (int k = 0; k < g->ranks.n; k++)
        if (!strcmp(g->ranks.v[k].name, name)) return g->ranks.v[k].rank;
    return -1;
}
struct value *graph_const(struct graph *g, const char *name, const struct tensor *t) {
    struct value *v = value_new(g, name);
    expr dims[32];
    for (int i = 0; i < t->rank; i++) dims[i] = x_int(g->ctx, t->dims[i]);
    v->type = type_tensor(g->ctx, t->type, dims, t->rank);
    v->init = t;
    int64_t n = tensor_count(t);
    if ((t->type == I64 || t->type == I32 || t->type == BOOL) && n <= MAX_ELEMS) {
        expr *elems = NEWN(arena_of(g), expr, n);
        for (int64_t i = 0; i < n; i++) elems[i] = x_const_i(g->ctx, dtype_value(t->type), tensor_i(t, i));
        v->elems = elems;
        v->nelems = (int)n;
    }
    return v;
}

struct value *graph_ints(struct graph *g, const int64_t *v, int n) {
    struct tensor *t = tensor_new(&g->ctx->arena, I64, (int64_t[]){n}, 1);
    for (int k = 0; k < n; k++) tensor_set_i(t, k, v[k]);
    return graph_const(g, "", t);
}
struct value *graph_scalar(struct graph *g, enum dtype t, int64_t v) {
    struct tensor *x = tensor_new(&g->ctx->arena, t, NULL, 0);
    tensor_set_i(x, 0, v);
    return graph_const(g, "", x);
}
struct value *graph_scalar_f32(struct graph *g, const char *name, double v) {
    struct tensor *x = tensor_new(&g->ctx->arena, F32, NULL, 0);
    tensor_set_f(x, 0, v);
    return graph_const(g, name, x);
}

/* ---- use lists */
static void add_use(struct graph *g, struct value *v, struct node *n, struct region *r, int index) {
    if (v) PUSH(arena_of(g), &v->uses, ((struct use){n, r, index}));
}

static void drop_use(struct value *v, const struct node *n, const struct region *r, int index) {
    if (!v) return;
    for (int i = v->uses.n - 1; i >= 0; i--) { /* from the end, since passes mostly drop what they added last */
        struct use *u = &v->uses.v[i];
        if (u->node != n || u->region != r || u->index != index) continue;
        memmove(u, u + 1, (size_t)(v->uses.n - i - 1) * sizeof *u);
        v->uses.n--;
        return;
    }
    BUG("use list of value %d lacks a use", v->id);
}

void region_result(struct region *r, struct value *v) {
    ASSERT(v);
    add_use(r->graph, v, NULL, r, r->results.n);
    PUSH(arena_of(r->graph), &r->results, v);
}

void graph_output(struct graph *g, struct value *v, const char *name) {
    region_result(g->top, v);
    PUSH(arena_of(g), &g->outputs, name);
}

void region_set_result(struct region *r, int k, struct value *v) {
    ASSERT(v && k >= 0 && k < r->results.n);
    drop_use(r->results.v[k], NULL, r, k);
    r->results.v[k] = v;
    add_use(r->graph, v, NULL, r, k);
}

/* ---- nodes */
static void link_before(struct region *r, struct node *before, struct node *n) {
    ASSERT(!before || before->in == r);
    n->in = r;
    n->next = before;
    n->prev = before ? before->prev : r->last;
    *(n->prev ? &n->prev->next : &r->first) = n;
    *(before ? &before->prev : &r->last) = n;
}

static void unlink_node(struct node *n) {
    struct region *r = n->in;
    *(n->prev ? &n->prev->next : &r->first) = n->next;
    *(n->next ? &n->next->prev : &r->last) = n->prev;
    n->in = NULL;
    n->prev = n->next = NULL;
}

struct node *node_new(struct region *r, struct node *before, const char *domain, const char *op_type,
                      struct value *const *ins, int nins, int nouts) {
    struct graph *g = r->graph;
    struct node *n = NEW(arena_of(g), struct node);
    n->id = g->next_node++;
    n->domain = keep(g, domain);
    n->op_type = keep(g, op_type);
    n->op = op_of_model(g->ctx, n->domain, n->op_type);
    n->version = opset_newest(n->domain);
    /* nodes that a pass makes in place of a node are reported under its name */
    n->name = before ? before->name : "";
    n->origin = before && before->origin ? before->origin : "";
    link_before(r, before, n);
    for (int i = 0; i < nins; i++) {
        PUSH(arena_of(g), &n->ins, ins[i]);
        add_use(g, ins[i], n, NULL, i);
    }
    for (int k = 0; k < nouts; k++) node_out(n, k, "");
    return n;
}

struct value *node_in(const struct node *n, int k) {
    return k < n->ins.n ? n->ins.v[k] : NULL;
}

bool node_is_used(const struct node *n) {
    for (int k = 0; k < n->outs.n; k++)
        if (n->outs.v[k] && n->outs.v[k]->uses.n) return true;
    return n->op && n->op->flags & OP_EFFECT;
}

struct value *node_out(struct node *n, int k, const char *name) {
    struct graph *g = n->in->graph;
    while (n->outs.n <= k) PUSH(arena_of(g), &n->outs, NULL);
    if (!n->outs.v[k]) {
        struct value *v = value_new(g, name);
        v->def = n;
        v->index = k;
        n->outs.v[k] = v;
    }
    return n->outs.v[k];
}

void node_set_input(struct node *n, int k, struct value *v) {
    struct graph *g = n->in->graph;
    ASSERT(k >= 0);
    while (n->ins.n <= k) PUSH(arena_of(g), &n->ins, NULL);
    drop_use(n->ins.v[k], n, NULL, k);
    n->ins.v[k] = v;
    add_use(g, v, n, NULL, k);
}

void node_drop_input(struct node *n, int k) {
    for (; k + 1 < n->ins.n; k++) node_set_input(n, k, n->ins.v[k + 1]);
    node_set_input(n, k, NULL);
    n->ins.n--;
}

/* Drops the uses by a region's nodes and results, so that removing a node also removes all traces of its bodies. */
static void drop_region_uses(struct region *r) {
    for (int k = 0; k < r->results.n; k++) drop_use(r->results.v[k], NULL, r, k);
    r->results.n = 0;
    while (r->last) {
        struct node *n = r->last;
        for (int k = 0; k < n->outs.n; k++)
            if (n->outs.v[k]) n->outs.v[k]->uses.n = 0; /* only used in a cycle; all users are in the region, too */
        node_remove(n);
    }
}

void node_remove(struct node *n) {
    for (int k = 0; k < n->outs.n; k++)
        if (n->outs.v[k] && n->outs.v[k]->uses.n) BUG("removed node %d (%s) still has users", n->id, n->op_type);
    for (int k = 0; k < n->ins.n; k++) drop_use(n->ins.v[k], n, NULL, k);
    for (int k = 0; k < n->attrs.n; k++)
        if (n->attrs.v[k].kind == AT_REGION) drop_region_uses(n->attrs.v[k].u.region);
    n->ins.n = 0;
    trace_removed(n->in->graph, n->origin);
    unlink_node(n);
}

struct node *node_after(const struct region *r, const struct node *n, const struct node *prev) {
    if (n->in == r) return n->next;
    return prev ? prev->next : r->first;
}
void nodes_remove_between(struct node *from, struct node *to) {
    for (struct node *n = to->prev, *prev; n != from; n = prev) {
        prev = n->prev;
        node_remove(n);
    }
}

void value_replace(struct value *old, struct value *by) {
    ASSERT(by);
    if (old == by) return;
    for (int i = 0; i < old->uses.n; i++) {
        struct use u = old->uses.v[i];
        struct graph *g = u.node ? u.node->in->graph : u.region->graph;
        if (u.node) u.node->ins.v[u.index] = by;
        else u.region->results.v[u.index] = by;
        PUSH(arena_of(g), &by->uses, u);
    }
    old->uses.n = 0;
}

const char *origin_text(struct ctx *c, const char *outer, int number, const char *name, const char *op_type) {
    const char *op = diag_quote(&c->arena, op_type);
    struct text t = {0};
    if (outer) text_printf(&t, "%s > ", outer);
    text_printf(&t, "node %d ", number);
    if (*name) text_printf(&t, "%s ", diag_quote(&c->arena, name));
    text_printf(&t, "(%.*s)", (int)strlen(op) - 2, op + 1);
    const char *s = intern(c->names, t.s);
    text_free(&t);
    return s;
}

/* ---- attributes */
const struct attr *node_attr(const struct node *n, const char *name) {
    for (int k = 0; k < n->attrs.n; k++)
        if (strcmp(n->attrs.v[k].name, name) == 0) return &n->attrs.v[k];
    return NULL;
}

void node_set_attr(struct node *n, struct attr a) {
    struct graph *g = n->in->graph;
    a.name = keep(g, a.name);
    for (int k = 0; k < n->attrs.n; k++)
        if (strcmp(n->attrs.v[k].name, a.name) == 0) {
            n->attrs.v[k] = a;
            return;
        }
    PUSH(arena_of(g), &n->attrs, a);
}

void node_set_int(struct node *n, const char *name, int64_t v) {
    node_set_attr(n, (struct attr){.name = intern(n->in->graph->ctx->names, name), .kind = AT_INT, .u.i = v});
}
void node_drop_attr(struct node *n, const char *name) {
    for (int k = 0; k < n->attrs.n; k++)
        if (strcmp(n->attrs.v[k].name, name) == 0) {
            memmove(&n->attrs.v[k], &n->attrs.v[k + 1], (size_t)(n->attrs.n - k - 1) * sizeof *n->attrs.v);
            n->attrs.n--;
            return;
        }
}

struct region *node_region(const struct node *n, const char *attr_name) {
    const struct attr *a = node_attr(n, attr_name);
    return a && a->kind == AT_REGION ? a->u.region : NULL;
}

/* ---- symbols and types */
const struct sym *graph_sym(struct graph *g, const char *name, int64_t lo, int64_t hi) {
    for (int i = 0; i < g->syms.n; i++)
        if (strcmp(g->syms.v[i]->name, name) == 0) return g->syms.v[i];
    const struct sym *s = sym_new(g->ctx, name, lo, hi, false);
    PUSH(arena_of(g), &g->syms, s);
    return s;
}

struct type type_tensor(struct ctx *c, enum dtype t, const expr *dims, int rank) {
    struct type ty = {.kind = TY_TENSOR, .dtype = t, .rank = rank};
    if (rank > 0) ty.dims = arena_copy(&c->arena, dims, (size_t)rank * sizeof *dims);
    return ty;
}

bool type_same_dims(const struct type *a, const struct type *b) {
    if (a->rank != b->rank) return false;
    for (int k = 0; k < a->rank; k++)
        if (a->dims[k] != b->dims[k]) return false;
    return true;
}
bool type_has_one_element(const struct type *t) {
    for (int k = 0; k < t->rank; k++)
        if (!x_is(t->dims[k], 1)) return false;
    return true;
}
bool type_may_have_one_element(struct ctx *c, const struct type *t) {
    for (int k = 0; k < t->rank; k++) {
        int64_t lo, hi;
        x_bounds(c, t->dims[k], &lo, &hi);
        if (lo > 1 || hi < 1) return false;
    }
    return true;
}
struct node *value_only_reader(const struct value *v) {
    return v->uses.n == 1 ? v->uses.v[0].node : NULL;
}
bool node_reads_any(const struct node *n, const struct map *set) {
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] && map_get(set, PKEY(n->ins.v[k]))) return true;
    return false;
}
int values_given(struct value *const *v, int n) {
    while (n && !v[n - 1]) n--;
    return n;
}
bool value_is_holder(const struct value *v) {
    return v->type.kind == TY_SEQUENCE || v->type.kind == TY_OPTIONAL || v->type.kind == TY_MAP;
}
bool value_is_result(const struct value *v) {
    for (int k = 0; k < v->uses.n; k++)
        if (v->uses.v[k].region) return true;
    return false;
}
bool node_is(const struct node *n, const char *op_type) { return n && !n->domain[0] && !strcmp(n->op_type, op_type); }
bool type_equal(const struct type *a, const struct type *b) {
    for (; a && b; a = a->elem, b = b->elem) {
        if (a->kind != b->kind) return false;
        if ((a->kind == TY_TENSOR || a->kind == TY_MAP) && a->dtype != b->dtype) return false;
        if (a->kind == TY_TENSOR) {
            if (a->rank != b->rank && (a->rank >= 0 || b->rank >= 0)) return false;
            for (int i = 0; i < a->rank; i++)
                if (a->dims[i] != b->dims[i]) return false;
        }
    }
    return !a && !b;
}

/* ---- moving and walking */
void region_inline(struct region *from, struct node *before, struct value *const *args, struct value **results) {
    struct region *into = before->in;
    for (int k = 0; k < from->params.n; k++)
        if (from->params.v[k]->uses.n) value_replace(from->params.v[k], args[k]);
    while (from->first) {
        struct node *n = from->first;
        unlink_node(n);
        link_before(into, before, n);
    }
    for (int k = 0; k < from->results.n; k++) {
        results[k] = from->results.v[k];
        drop_use(results[k], NULL, from, k);
    }
    from->results.n = 0;
}

void region_drop_results(struct region *r) {
    for (int k = 0; k < r->results.n; k++) drop_use(r->results.v[k], NULL, r, k);
    r->results.n = 0;
}

static struct value *stand_in(struct map *values, struct value *v) {
    struct value *by = v ? map_get(values, PKEY(v)) : NULL;
    return by ? by : v;
}

struct region *region_copy(struct node *owner, const struct region *r, struct map *values) {
    struct region *copy = region_new(r->graph, owner, r->name);
    for (int k = 0; k < r->params.n; k++)
        map_put(values, PKEY(r->params.v[k]), region_param(copy, r->params.v[k]->name, r->params.v[k]->type));
    for (const struct node *n = r->first; n; n = n->next) node_copy(copy, n, values);
    for (int k = 0; k < r->results.n; k++) region_result(copy, stand_in(values, r->results.v[k]));
    return copy;
}

struct node *node_copy(struct region *r, const struct node *n, struct map *values) {
    struct node *copy = node_new(r, NULL, n->domain, n->op_type, NULL, 0, 0);
    copy->name = n->name, copy->origin = n->origin, copy->version = n->version;
    for (int k = 0; k < n->ins.n; k++) node_set_input(copy, k, stand_in(values, n->ins.v[k]));
    for (int k = 0; k < n->attrs.n; k++) {
        struct attr a = n->attrs.v[k];
        if (a.kind == AT_REGION) a.u.region = region_copy(copy, a.u.region, values);
        node_set_attr(copy, a);
    }
    for (int k = 0; k < n->outs.n; k++) {
        if (n->outs.v[k]) map_put(values, PKEY(n->outs.v[k]), node_out(copy, k, n->outs.v[k]->name));
        else PUSH(arena_of(r->graph), &copy->outs, NULL);
    }
    return copy;
}

bool region_is_settled(const struct region *r) {
    while (r && !r->unsettled) r = r->owner ? r->owner->in : NULL;
    return !r;
}

void each_node(struct region *r, void (*fn)(void *env, struct node *n), void *env) {
    for (struct node *n = r->first, *next; n; n = next) {
        next = n->next; /* fn may replace or remove n */
        fn(env, n);
        if (!n->in) continue;
        for (int k = 0; k < n->attrs.n; k++)
            if (n->attrs.v[k].kind == AT_REGION) each_node(n->attrs.v[k].u.region, fn, env);
    }
}

/* ---- topological sort */
enum { OPEN = 1, DONE = 2 };
struct frame {
    struct node *node;
    int next_input;
};
struct sorter {
    struct arena tmp;
    struct map state; /* node -> OPEN or DONE */
    VEC(struct frame) stack;
    VEC(struct node *) order;
};

static int state_of(struct sorter *s, const struct node *n) { return (int)(intptr_t)map_get(&s->state, PKEY(n)); }
static void set_state(struct sorter *s, const struct node *n, int state) {
    map_put(&s->state, PKEY(n), (void *)(intptr_t)state);
}

/* The nodes on the stack from n to the top form a cycle. */
static void report_cycle(struct sorter *s, const struct node *n) {
    struct ctx *c = n->in->graph->ctx;
    struct text t = {0};
    int i = s->stack.n;
    while (s->stack.v[--i].node != n) continue;
    for (int shown = 0; i < s->stack.n && shown < 8; i++, shown++)
        text_printf(&t, "%s%s", shown ? " needs " : "", s->stack.v[i].node->origin);
    diag_at(&c->diags, DIAG_ERROR, E_GRAPH, c->diags.file, n->origin, "the graph has a cycle: %s%s", t.s,
            i < s->stack.n ? " ..." : " needs the first");
    text_free(&t);
}

/* Depth first, without recursion, because chains can be as long as the model. */
static bool sort_from(struct sorter *s, struct node *root) {
    PUSH(&s->tmp, &s->stack, ((struct frame){root, 0}));
    set_state(s, root, OPEN);
    while (s->stack.n) {
        struct frame *f = &s->stack.v[s->stack.n - 1];
        struct node *n = f->node;
        if (f->next_input == n->ins.n) {
            set_state(s, n, DONE);
            PUSH(&s->tmp, &s->order, n);
            s->stack.n--;
            continue;
        }
        struct value *v = n->ins.v[f->next_input++];
        struct node *def = v ? v->def : NULL;
        if (!def || def->in != n->in) continue;
        int state = state_of(s, def);
        if (state == OPEN) {
            report_cycle(s, def);
            return false;
        }
        if (state != DONE) {
            set_state(s, def, OPEN);
            PUSH(&s->tmp, &s->stack, ((struct frame){def, 0}));
        }
    }
    return true;
}

/* Keeps the existing order as far as it is valid. */
static bool sort_region(struct region *r) {
    struct sorter s = {0};
    s.state.arena = &s.tmp;
    bool ok = true;
    for (struct node *n = r->first; ok && n; n = n->next)
        if (!state_of(&s, n)) ok = sort_from(&s, n);
    for (int i = 0; ok && i < s.order.n; i++) {
        struct node *n = s.order.v[i];
        unlink_node(n);
        link_before(r, NULL, n);
    }
    arena_free(&s.tmp);
    return ok;
}

bool graph_sort(struct graph *g) {
    VEC(struct region *) work = {0};
    bool ok = true;
    PUSH(NULL, &work, g->top);
    while (work.n) {
        struct region *r = work.v[--work.n];
        ok = sort_region(r) && ok;
        for (struct node *n = r->last; n; n = n->prev)
            for (int k = n->attrs.n - 1; k >= 0; k--)
                if (n->attrs.v[k].kind == AT_REGION) PUSH(NULL, &work, n->attrs.v[k].u.region);
    }
    VEC_FREE(&work);
    return ok;
}
