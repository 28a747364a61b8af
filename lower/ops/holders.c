/* Sequences and optionals around bodies (If, Loop, Scan, SequenceMap). What a body captures, and what both branches of
 * an If give in the same form, is passed as tensors; a loop that carries a sequence is unrolled. See sequence.h. */
#include "ir/base/map.h"
#include "lower/ops/control.h"
#include "lower/ops/packed.h"
#include "lower/ops/sequence.h"
#include <string.h>

enum { COPIES_MAX = 1 << 16 }; /* nodes, of one graph */

/* ---- captures */
static void set_captures(struct node *n, int count) {
    node_set_attr(n, (struct attr){.name = "captures", .kind = AT_INT, .u.i = count});
}
static void drop_param(struct region *r, int k) {
    memmove(r->params.v + k, r->params.v + k + 1, (size_t)(r->params.n - k - 1) * sizeof *r->params.v);
    r->params.n--;
    for (; k < r->params.n; k++) r->params.v[k]->index = k;
}
/* In r, what `holder` is outside: made of what it holds, which is captured behind the others. */
static void open_in(struct region *r, const struct node *holder, int param) {
    struct value *old = r->params.v[param];
    struct node *n = node_new(r, r->first, holder->domain, holder->op_type, NULL, 0, 1);
    n->origin = holder->origin;
    n->outs.v[0]->name = old->name;
    for (int k = 0; k < holder->attrs.n; k++) node_set_attr(n, holder->attrs.v[k]);
    for (int k = 0; k < holder->ins.n; k++) {
        struct value *v = holder->ins.v[k];
        node_set_input(n, k, !v || v->init ? v : region_param(r, v->name, v->type));
    }
    value_replace(old, n->outs.v[0]);
    drop_param(r, param);
}
static void open_capture(struct node *n, int input, int captures) {
    const struct node *holder = n->ins.v[input]->def;
    int from_end = n->ins.n - input;
    for (int k = 0; k < n->attrs.n; k++)
        if (n->attrs.v[k].kind == AT_REGION)
            open_in(n->attrs.v[k].u.region, holder, n->attrs.v[k].u.region->params.n - from_end);
    node_drop_input(n, input);
    captures--;
    for (int k = 0; k < holder->ins.n; k++) {
        struct value *v = holder->ins.v[k];
        if (!v || v->init) continue; /* seen everywhere */
        node_set_input(n, n->ins.n, v);
        captures++;
    }
    set_captures(n, captures);
}
void ctl_open_captures(struct node *n) {
    for (int left = HOLDER_MAX; left--;) {
        int captures = ctl_captures(n), k = n->ins.n - captures;
        if (captures > n->ins.n) return;
        for (int j = 0; j < n->attrs.n; j++)
            if (n->attrs.v[j].kind == AT_REGION && n->attrs.v[j].u.region->params.n < captures) return;
        while (k < n->ins.n && !(n->ins.v[k] && node_is_holder(n->ins.v[k]->def))) k++;
        if (k == n->ins.n) return;
        open_capture(n, k, captures);
    }
}

/* ---- results of If */
static bool alike(const struct value *a, const struct value *b, struct contents *x, struct contents *y) {
    return value_is_holder(a) && value_is_holder(b) && contents_of(a, x) && contents_of(b, y) && x->kind == y->kind &&
           x->present == y->present && x->n == y->n;
}
static bool nobody_wants(const struct value *out, const struct value *result) {
    return value_is_holder(result) && (!out || !out->uses.n);
}
/* In front of `before`, on behalf of n. */
static struct value *held_by(struct node *n, struct node *before, const char *op, struct value *const *v, int nv) {
    struct node *holder = node_new(n->in, before, "", op, v, nv, 1);
    holder->origin = n->origin;
    return holder->outs.v[0];
}
/* What stands behind n for a result that is now the tensors v. */
static struct value *closed(struct node *n, const struct contents *x, const struct type *t, struct value *const *v) {
    struct node *next = n->next;
    struct value *out = NULL;
    if (x->kind != VALUE_OPTIONAL && x->present)
        out = held_by(n, next, x->n ? "SequenceConstruct" : "SequenceEmpty", v, x->n);
    if (x->kind == VALUE_SEQUENCE) return out;
    out = held_by(n, next, "Optional", out ? &out : v, x->present);
    if (!x->present) node_set_attr(out->def, (struct attr){.name = "type", .kind = AT_TYPE, .u.type = t->elem});
    return out;
}
void ctl_open_results(struct graph *g, struct node *n, struct region *const *branch) {
    struct arena *a = &g->ctx->arena;
    struct contents x, y;
    bool any = false;
    for (int k = 0; k < n->outs.n; k++)
        any |= nobody_wants(n->outs.v[k], branch[0]->results.v[k]) ||
               alike(branch[0]->results.v[k], branch[1]->results.v[k], &x, &y);
    if (!any) return;
    VEC(struct value *) results[2] = {{0}}, outs = {0};
    for (int k = 0; k < n->outs.n; k++) PUSH(a, &outs, n->outs.v[k]);
    struct value **old[2];
    for (int b = 0; b < 2; b++) old[b] = arena_copy(a, branch[b]->results.v, (size_t)n->outs.n * sizeof *old[b]);
    n->outs.n = 0;
    for (int k = 0; k < outs.n; k++) {
        if (nobody_wants(outs.v[k], old[0][k])) continue;
        bool opened = alike(old[0][k], old[1][k], &x, &y);
        if (!opened) {
            PUSH(a, &n->outs, outs.v[k]);
            if (outs.v[k]) outs.v[k]->index = n->outs.n - 1;
        }
        for (int b = 0; b < 2; b++) {
            if (!opened) PUSH(a, &results[b], old[b][k]);
            else
                for (int i = 0; i < x.n; i++) PUSH(a, &results[b], (b ? y : x).v[i]);
        }
        if (!opened) continue;
        int first = n->outs.n;
        for (int i = 0; i < x.n; i++) node_out(n, first + i, internf(g->ctx->names, "%s_%d", outs.v[k]->name, i));
        value_replace(outs.v[k], closed(n, &x, &old[0][k]->type, n->outs.v + first));
    }
    for (int b = 0; b < 2; b++) {
        region_drop_results(branch[b]);
        for (int k = 0; k < results[b].n; k++) region_result(branch[b], results[b].v[k]);
    }
}

/* ---- copies of bodies */
static void count_one(void *env, struct node *n) {
    (void)n;
    ++*(int *)env;
}
/* The nodes of r in front of n, for these arguments. */
static bool copy_body(struct node *n, struct region *r, struct value *const *args, struct value **results) {
    struct graph *g = n->in->graph;
    int nodes = 1;
    each_node(r, count_one, &nodes);
    if (nodes > COPIES_MAX - g->unrolled)
        return ctl_problem(g, n, E_LIMIT, "unrolled over the elements of sequences the model has too many nodes");
    g->unrolled += nodes;
    struct map values = {.arena = &g->ctx->arena};
    region_inline(region_copy(n, r, &values), n, args, results);
    return true;
}

/* ---- loops that carry sequences: one pass at a time, since a pass decides whether there is another one */
static struct value *scalar_const(struct graph *g, enum dtype t, int64_t v) {
    struct tensor *x = tensor_new(&g->ctx->arena, t, NULL, 0);
    tensor_set_i(x, 0, v);
    return graph_const(g, "", x);
}
static bool known_int(const struct value *v, int64_t *to) {
    if (v->init) return *to = tensor_i(v->init, 0), true;
    if (!v->elems || v->nelems != 1 || v->elems[0]->op != X_CONST) return false;
    return *to = v->elems[0]->u.i, true;
}
/* A new node in place of n: the driver, which sees that n is gone, goes on with what was put before it. */
static struct node *renewed(struct node *n) {
    struct node *to = node_new(n->in, n, n->domain, n->op_type, n->ins.v, n->ins.n, n->outs.n);
    to->name = n->name, to->origin = n->origin, to->version = n->version;
    for (int k = 0; k < n->outs.n; k++) {
        if (!n->outs.v[k]) {
            to->outs.v[k] = NULL;
            continue;
        }
        to->outs.v[k]->name = n->outs.v[k]->name;
        value_replace(n->outs.v[k], to->outs.v[k]);
    }
    for (int k = 0; k < n->attrs.n; k++) {
        node_set_attr(to, n->attrs.v[k]);
        if (n->attrs.v[k].kind == AT_REGION) n->attrs.v[k].u.region->owner = to;
    }
    n->attrs.n = 0; /* the bodies belong to the new node now */
    trace_because(n->in->graph, NULL, "its passes are unrolled");
    node_remove(n);
    return to;
}
/* Collected results are sequences that grow by one element in each pass: inputs behind the captures, and parameters
 * that the body does not use. */
static void begin_collecting(struct node *n, struct region *r, int ncollected) {
    for (int k = 0; k < ncollected; k++) {
        struct value *empty = held_by(n, n, "SequenceEmpty", NULL, 0);
        node_set_input(n, n->ins.n, empty);
        region_param(r, "", empty->type);
    }
    set_captures(n, ctl_captures(n) + ncollected);
}
static void finish(struct node *n, int ncarried, int ncollected) {
    for (int k = 0; k < n->outs.n; k++) {
        struct value *v = k < ncarried ? n->ins.v[2 + k] : n->ins.v[n->ins.n - ncollected + k - ncarried];
        if (!n->outs.v[k]) continue;
        if (k >= ncarried) {
            v = held_by(n, n, "ConcatFromSequence", &v, 1);
            node_set_attr(v->def, (struct attr){.name = "axis", .kind = AT_INT, .u.i = 0});
            node_set_attr(v->def, (struct attr){.name = "new_axis", .kind = AT_INT, .u.i = 1});
        }
        value_replace(n->outs.v[k], v);
    }
    trace_because(n->in->graph, NULL, "its passes are unrolled");
    node_remove(n);
}
bool ctl_carries_holders(const struct node *n, int ncarried) {
    for (int k = 0; k < ncarried; k++)
        if (n->ins.v[2 + k] && value_is_holder(n->ins.v[2 + k])) return true;
    return node_attr(n, "pass") != NULL; /* in the midst of it */
}
/* ---- loops that carry sequences, as many passes as the run says: packed, each is two carried tensors */
static void move_up(struct value **v, int n, int at) {
    memmove(v + at + 1, v + at, (size_t)(n - at) * sizeof *v);
    for (int k = at + 1; k <= n; k++)
        if (v[k]) v[k]->index = k;
}
static struct value *insert_param(struct region *r, int at) {
    struct value *v = region_param(r, "", (struct type){.rank = -1});
    move_up(r->params.v, r->params.n - 1, at);
    v->index = at;
    return r->params.v[at] = v;
}
static struct value *insert_out(struct node *n, int at) {
    struct value *v = node_out(n, n->outs.n, "");
    move_up(n->outs.v, n->outs.n - 1, at);
    v->index = at;
    return n->outs.v[at] = v;
}
static void insert_input(struct node *n, int at, struct value *v) {
    for (int k = n->ins.n; k > at; k--) node_set_input(n, k, n->ins.v[k - 1]);
    node_set_input(n, at, v);
}
static struct value *packed_behind(struct node *n, struct value *cells, struct value *shapes) {
    struct node *p = node_new(n->in, n->next, "gcc2nn", "Packed", (struct value *[]){cells, shapes}, 2, 1);
    p->origin = n->origin;
    return p->outs.v[0];
}
/* Carried value k of n, whose elements have that rank. */
static bool carry_packed(struct node *n, struct region *r, int k, int rank) {
    struct packed x;
    struct value *outer = k < n->outs.n ? n->outs.v[k] : NULL, *param = r->params.v[2 + k];
    if (!packed_from(n, n->ins.v[2 + k], rank, &x)) return false;
    node_set_input(n, 2 + k, x.cells);
    insert_input(n, 3 + k, x.shapes);
    struct value *cells = insert_param(r, 2 + k), *shapes = insert_param(r, 3 + k);
    struct node *seq = node_new(r, r->first, "gcc2nn", "Packed", (struct value *[]){cells, shapes}, 2, 1);
    value_replace(param, seq->outs.v[0]);
    drop_param(r, 4 + k);
    struct node *parts = node_new(r, NULL, "gcc2nn", "Unpack", &r->results.v[1 + k], 1, 2);
    seq->origin = parts->origin = n->origin;
    node_set_attr(parts, (struct attr){.name = "rank", .kind = AT_INT, .u.i = rank});
    int count = r->results.n;
    struct value **results = arena_copy(&r->graph->ctx->arena, r->results.v, (size_t)count * sizeof *results);
    region_drop_results(r);
    for (int j = 0; j < count; j++) {
        region_result(r, j == 1 + k ? parts->outs.v[0] : results[j]);
        if (j == 1 + k) region_result(r, parts->outs.v[1]);
    }
    if (k >= n->outs.n) return true;
    if (!n->outs.v[k]) node_out(n, k, "");
    struct value *a = insert_out(n, k), *b = insert_out(n, k + 1);
    n->outs.n--;
    memmove(n->outs.v + k + 2, n->outs.v + k + 3, (size_t)(n->outs.n - k - 2) * sizeof *n->outs.v);
    for (int j = k + 2; j < n->outs.n; j++)
        if (n->outs.v[j]) n->outs.v[j]->index = j;
    if (outer) value_replace(outer, packed_behind(n, a, b));
    return true;
}
/* The rank of the elements of carried sequence k, which has none yet: of those that a pass inserts, tried on a copy. */
static int rank_after_a_pass(struct graph *g, struct node *n, int k, infer_fn *infer_region) {
    struct diags before = g->ctx->diags;
    struct map values = {.arena = &g->ctx->arena};
    struct node *trial = node_new(n->in, n, "", n->op_type, NULL, 0, 0);
    struct region *r = region_copy(trial, node_region(n, "body"), &values);
    node_set_attr(trial, (struct attr){.name = "body", .kind = AT_REGION, .u.region = r});
    for (int j = 0; j < r->params.n; j++) {
        struct value *arg = n->ins.v[j], *p = r->params.v[j];
        if (!arg || !value_is_holder(arg)) {
            if (arg) ctl_take_type(p, arg), p->elems = NULL;
            continue;
        }
        struct node *holder = node_new(r, r->first, arg->def->domain, arg->def->op_type, NULL, 0, 1);
        for (int i = 0; i < arg->def->attrs.n; i++) node_set_attr(holder, arg->def->attrs.v[i]);
        if (arg->def->ins.n) continue; /* what it holds is outside: this pass is not tried */
        value_replace(p, holder->outs.v[0]);
    }
    int rank = infer_region(r) ? packed_rank(r->results.v[1 + k]) : -1;
    g->ctx->diags = before;
    node_remove(trial);
    return rank;
}
static enum infer_status pack_loop(struct graph *g, struct node *n, int ncarried, infer_fn *infer_region) {
    struct region *r = node_region(n, "body");
    for (int k = 0; k < ncarried; k++) {
        struct value *v = n->ins.v[2 + k];
        if (!v || v->type.kind != TY_SEQUENCE) continue;
        int rank = packed_rank(v);
        if (rank < 0) rank = rank_after_a_pass(g, n, k, infer_region);
        if (rank < 0 || !carry_packed(n, r, k, rank))
            return ctl_problem(
                       g, n, E_RANK,
                       "the rank of what a carried sequence holds is not known, and the number of passes neither"),
                   INFER_FAILED;
        ncarried++, k++;
    }
    if (ctl_carries_holders(n, ncarried))
        return ctl_problem(g, n, E_OP,
                           "a loop that carries an optional, and whose number of passes only the run knows"),
               INFER_FAILED;
    renewed(n);
    return INFER_REPLACED;
}
enum infer_status ctl_unroll(struct graph *g, struct node *n, int ncarried, int ncollected, infer_fn *infer_region) {
    struct region *r = node_region(n, "body");
    const struct attr *at = node_attr(n, "pass");
    int64_t passes = INT64_MAX, more = 1, pass = at ? at->u.i : 0;
    bool known = (!n->ins.v[0] || known_int(n->ins.v[0], &passes)) && (!n->ins.v[1] || known_int(n->ins.v[1], &more));
    for (int k = 0; k < 2; k++) /* what types say may change while a loop around this one is being inferred */
        known &= !n->ins.v[k] || n->ins.v[k]->init || region_is_settled(n->in);
    if (!known && at)
        return ctl_problem(g, n, E_OP, "a loop that carries a sequence goes on as long as a value of the run says"),
               INFER_FAILED;
    if (!known) return pack_loop(g, n, ncarried, infer_region);
    if (!at) begin_collecting(n, r, ncollected);
    if (pass >= passes || !more) {
        finish(n, ncarried, ncollected);
        return INFER_REPLACED;
    }
    struct value **args = arena_copy(&g->ctx->arena, n->ins.v, (size_t)n->ins.n * sizeof *args),
                 **results = NEWN(&g->ctx->arena, struct value *, r->results.n);
    args[0] = scalar_const(g, I64, pass), args[1] = scalar_const(g, BOOL, 1);
    if (!copy_body(n, r, args, results)) return INFER_FAILED;
    n = renewed(n);
    for (int k = 0; k <= ncarried; k++) node_set_input(n, 1 + k, results[k]);
    for (int k = 0; k < ncollected; k++) {
        int to = n->ins.n - ncollected + k;
        struct value *ins[] = {n->ins.v[to], results[1 + ncarried + k]};
        node_set_input(n, to, held_by(n, n, "SequenceInsert", ins, 2));
    }
    node_set_attr(n, (struct attr){.name = "pass", .kind = AT_INT, .u.i = pass + 1});
    return INFER_REPLACED;
}

/* ---- SequenceMap */
static enum infer_status map_infer(struct graph *g, struct node *n, bool (*infer_region)(struct region *r)) {
    struct region *r = node_region(n, "body");
    struct contents x;
    int length = -1;
    (void)infer_region;
    if (!r || r->params.n != n->ins.n || r->results.n < n->outs.n || !n->ins.n)
        return ctl_problem(g, n, E_ARITY, "the body's parameters or results do not fit the node"), INFER_FAILED;
    struct contents *in = NEWN(&g->ctx->arena, struct contents, n->ins.n);
    int own = n->ins.n - ctl_captures(n);
    for (int k = 0; k < own; k++) {
        if (!n->ins.v[k]) return ctl_problem(g, n, E_ARITY, "an input is missing"), INFER_FAILED;
        if (n->ins.v[k]->type.kind != TY_SEQUENCE) continue;
        if (!contents_of(n->ins.v[k], &x))
            return ctl_problem(g, n, E_OP, "the elements of a sequence are not known when the model is compiled"),
                   INFER_FAILED;
        if (length >= 0 && x.n != length)
            return ctl_problem(g, n, E_SHAPE, "the sequences differ in length"), INFER_FAILED;
        in[k] = x, length = x.n;
    }
    if (own < 1 || n->ins.v[0]->type.kind != TY_SEQUENCE)
        return ctl_problem(g, n, E_TYPE, "the first input is not a sequence"), INFER_FAILED;
    struct value **args = NEWN(&g->ctx->arena, struct value *, n->ins.n),
                 **results = NEWN(&g->ctx->arena, struct value *, (int64_t)r->results.n * (length + 1));
    for (int i = 0; i < length; i++) {
        for (int k = 0; k < n->ins.n; k++)
            args[k] = k < own && n->ins.v[k]->type.kind == TY_SEQUENCE ? in[k].v[i] : n->ins.v[k];
        if (!copy_body(n, r, args, results + (size_t)i * (size_t)r->results.n)) return INFER_FAILED;
    }
    struct value **list = NEWN(&g->ctx->arena, struct value *, length + 1);
    for (int k = 0; k < n->outs.n; k++) {
        if (!n->outs.v[k]) continue;
        for (int i = 0; i < length; i++) list[i] = results[i * r->results.n + k];
        value_replace(n->outs.v[k], held_by(n, n, length ? "SequenceConstruct" : "SequenceEmpty", list, length));
    }
    trace_because(g, NULL, "its passes are unrolled");
    node_remove(n);
    return INFER_REPLACED;
}
static bool map_lower(struct lowering *l, struct node *n) {
    (void)l;
    BUG("node %d, a SequenceMap, was not unrolled", n->id);
}
const struct op_control map_control = {map_infer, map_lower};
