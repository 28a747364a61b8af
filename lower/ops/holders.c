/* Sequences and optionals around bodies (If, Loop, Scan, SequenceMap). Captured ones, and those that both branches of
 * an If give in the same form, are passed as tensors; a loop that carries a sequence is unrolled. See sequence.h. */
#include "ir/base/map.h"
#include "lower/ops/control.h"
#include "lower/ops/packed.h"
#include "lower/ops/sequence.h"
#include <string.h>

enum { COPIES_MAX = 1 << 16 }; /* nodes, of one graph */

/* ---- captures */
static void set_captures(struct node *n, int count) { node_set_int(n, "captures", count); }
static void drop_param(struct region *r, int k) {
    memmove(r->params.v + k, r->params.v + k + 1, (size_t)(r->params.n - k - 1) * sizeof *r->params.v);
    r->params.n--;
    for (; k < r->params.n; k++) r->params.v[k]->index = k;
}
/* Rebuilds in r the holder that exists outside, from its contents, which are captured. */
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
        if (!v || v->init) continue; /* constants are visible everywhere */
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

/* Replaces n by a new node: the driver notices that n is gone, and continues with the nodes inserted before it. */
static struct node *renewed(struct node *n, const char *why) {
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
    trace_because(n->in->graph, NULL, why);
    node_remove(n);
    return to;
}

/* ---- results of If */
/* Inserts a node before `before`, on behalf of n. */
static struct value *made_of(struct node *n, struct node *before, const char *domain, const char *op,
                             struct value *const *v, int nv) {
    struct node *holder = node_new(n->in, before, domain, op, v, nv, 1);
    holder->origin = n->origin;
    return holder->outs.v[0];
}
static struct value *held_by(struct node *n, struct node *before, const char *op, struct value *const *v, int nv) {
    return made_of(n, before, "", op, v, nv);
}
/* A result that both branches give as the same number of tensors. */
struct opened {
    enum value_kind kind;
    bool present;
    bool asked; /* the first tensor says whether the contents in the others exist */
    bool packed;
    int n;
    struct value *const *v[2];
};
/* The same form: equally many elements, or both present or both absent. */
static bool open_alike(const struct value *a, const struct value *b, struct opened *o) {
    struct contents x, y;
    if (!value_is_holder(a) || !value_is_holder(b) || !contents_of(a, &x) || !contents_of(b, &y)) return false;
    *o = (struct opened){.kind = x.kind, .present = x.present, .n = x.n, .v = {x.v, y.v}};
    return x.kind == y.kind && x.present == y.present && x.n == y.n;
}
/* The two tensors of a packed sequence, at the end of r. */
static struct value *const *unpacked(struct region *r, struct value *sequence, int rank) {
    struct node *parts = node_new(r, NULL, "gcc2nn", "Unpack", &sequence, 1, 2);
    node_set_int(parts, "rank", rank);
    return parts->outs.v;
}
/* A value of the same type as the other branch's, without contents. */
static struct value *nothing_like(struct region *r, const struct value *v) {
    struct graph *g = r->graph;
    int64_t none[32] = {0};
    if (v->type.kind == TY_TENSOR)
        return v->type.rank < 0 ? NULL
                                : graph_const(g, "", tensor_new(&g->ctx->arena, v->type.dtype, none, v->type.rank));
    struct node *empty = node_new(r, NULL, "", "SequenceEmpty", NULL, 0, 1);
    empty->outs.v[0]->type = v->type;
    node_set_int(empty, "dtype", dtype_onnx(v->type.elem->dtype));
    return empty->outs.v[0];
}
/* Optionals whose presence is only known at run time: a bool, and the contents if present. */
static bool open_asked(struct region *const *branch, int k, struct opened *o) {
    struct graph *g = branch[0]->graph;
    struct optional of[2];
    struct contents x[2];
    for (int b = 0; b < 2; b++)
        if (branch[b]->results.v[k]->type.kind != TY_OPTIONAL || !optional_of(branch[b]->results.v[k], &of[b]))
            return false;
    struct value *there[2], *value[2] = {of[0].value, of[1].value};
    if (!value[0] && !value[1]) return false;
    for (int b = 0; b < 2; b++) {
        there[b] = of[b].there ? of[b].there : graph_scalar(g, BOOL, value[b] != NULL);
        if (!value[b] && !(value[b] = nothing_like(branch[b], value[!b]))) return false;
    }
    if (value[0]->type.kind != value[1]->type.kind) return false;
    *o = (struct opened){.kind = VALUE_OPTIONAL, .present = true, .asked = true, .n = 2};
    if (value[0]->type.kind == TY_SEQUENCE) {
        int rank = packed_rank(value[0]) >= 0 ? packed_rank(value[0]) : packed_rank(value[1]);
        bool known = contents_of(value[0], &x[0]) && contents_of(value[1], &x[1]) && x[0].n == x[1].n;
        if (!known && rank < 0) return false;
        *o = (struct opened){.kind = VALUE_OPTIONAL_SEQUENCE, .present = true, .asked = true, .packed = !known};
        o->n = 1 + (known ? x[0].n : 2);
        for (int b = 0; b < 2 && !known; b++) x[b].v = unpacked(branch[b], value[b], rank);
    } else x[0].v = &value[0], x[1].v = &value[1];
    for (int b = 0; b < 2; b++) {
        struct value **v = NEWN(&g->ctx->arena, struct value *, o->n);
        v[0] = there[b];
        memcpy(v + 1, x[b].v, (size_t)(o->n - 1) * sizeof *v);
        o->v[b] = v;
    }
    return true;
}
/* Rebuilds after n the result that is now the tensors v. */
static struct value *closed(struct node *n, const struct opened *o, const struct type *t, struct value *const *v) {
    struct node *next = n->next;
    struct value *const *parts = v + o->asked, *out = NULL;
    int count = o->n - o->asked;
    if (o->kind == VALUE_MAP || o->kind == VALUE_MAPS) return made_of(n, next, "gcc2nn", "Map", v, o->n);
    if (o->packed) out = made_of(n, next, "gcc2nn", "Packed", parts, count);
    else if (o->kind != VALUE_OPTIONAL && o->present)
        out = held_by(n, next, count ? "SequenceConstruct" : "SequenceEmpty", parts, count);
    if (o->kind == VALUE_SEQUENCE) return out;
    if (o->asked) return made_of(n, next, "gcc2nn", "Maybe", (struct value *[]){v[0], out ? out : parts[0]}, 2);
    out = held_by(n, next, "Optional", out ? &out : parts, o->present);
    if (!o->present) node_set_attr(out->def, (struct attr){.name = "type", .kind = AT_TYPE, .u.type = t->elem});
    return out;
}
static const char *name_of_part(struct graph *g, const char *name, const struct opened *o, int i) {
    return o->asked && !i ? internf(g->ctx->names, "%s_there", name)
                          : internf(g->ctx->names, "%s_%d", name, i - o->asked);
}
static bool nobody_wants(const struct value *out, const struct value *result) {
    return value_is_holder(result) && (!out || !out->uses.n);
}
enum infer_status ctl_open_results(struct graph *g, struct node *n, struct region *const *branch) {
    struct arena *a = &g->ctx->arena;
    VEC(struct value *) results[2] = {{0}}, outs = {0};
    struct opened *o = NEWN(a, struct opened, n->outs.n + 1);
    struct value **old[2];
    bool any = false, added = false;
    for (int k = 0; k < n->outs.n; k++) {
        const struct value *x = branch[0]->results.v[k], *y = branch[1]->results.v[k];
        bool opened = !nobody_wants(n->outs.v[k], x) && (open_alike(x, y, &o[k]) || open_asked(branch, k, &o[k]));
        if (!opened) o[k].n = -1;
        any |= opened || nobody_wants(n->outs.v[k], x);
        added |= opened && o[k].packed;
    }
    if (!any) return INFER_OK;
    for (int k = 0; k < n->outs.n; k++) PUSH(a, &outs, n->outs.v[k]);
    for (int b = 0; b < 2; b++) old[b] = arena_copy(a, branch[b]->results.v, (size_t)n->outs.n * sizeof *old[b]);
    n->outs.n = 0;
    for (int k = 0; k < outs.n; k++) {
        if (nobody_wants(outs.v[k], old[0][k])) continue;
        bool opened = o[k].n >= 0;
        if (!opened) {
            PUSH(a, &n->outs, outs.v[k]);
            if (outs.v[k]) outs.v[k]->index = n->outs.n - 1;
        }
        for (int b = 0; b < 2; b++) {
            if (!opened) PUSH(a, &results[b], old[b][k]);
            for (int i = 0; i < o[k].n; i++) PUSH(a, &results[b], o[k].v[b][i]);
        }
        if (!opened) continue;
        int first = n->outs.n;
        for (int i = 0; i < o[k].n; i++) node_out(n, first + i, name_of_part(g, outs.v[k]->name, &o[k], i));
        value_replace(outs.v[k], closed(n, &o[k], &old[0][k]->type, n->outs.v + first));
    }
    for (int b = 0; b < 2; b++) {
        region_drop_results(branch[b]);
        for (int k = 0; k < results[b].n; k++) region_result(branch[b], results[b].v[k]);
    }
    if (!added) return INFER_OK;
    renewed(n, "its sequences are packed"); /* because the added values have no types yet */
    return INFER_REPLACED;
}

/* ---- copies of bodies */
static void count_one(void *env, struct node *n) {
    (void)n;
    ++*(int *)env;
}
/* Copies the nodes of r before n, for these arguments. */
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

/* ---- loops that carry sequences: unrolled one iteration at a time, since each decides whether there is another one */
static bool known_int(const struct value *v, int64_t *to) {
    if (v->init) return *to = tensor_i(v->init, 0), true;
    if (!v->elems || v->nelems != 1 || v->elems[0]->op != X_CONST) return false;
    return *to = v->elems[0]->u.i, true;
}
/* Collected results become sequences that grow by one element in each iteration: additional inputs after the captures,
 * and parameters that the body does not use. */
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
            node_set_int(v->def, "axis", 0);
            node_set_int(v->def, "new_axis", 1);
        }
        value_replace(n->outs.v[k], v);
    }
    trace_because(n->in->graph, NULL, "its passes are unrolled");
    node_remove(n);
}
bool ctl_carries_holders(const struct node *n, int ncarried) {
    for (int k = 0; k < ncarried; k++)
        if (n->ins.v[2 + k] && value_is_holder(n->ins.v[2 + k])) return true;
    return node_attr(n, "pass") != NULL; /* it is being unrolled */
}
/* ---- loops that carry sequences for an unknown number of iterations: each is packed into two carried tensors */
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
/* Result k of r, a sequence of elements of that rank, becomes two. */
static void unpack_result(struct region *r, const struct node *n, int k, int rank) {
    struct node *parts = node_new(r, NULL, "gcc2nn", "Unpack", &r->results.v[k], 1, 2);
    parts->origin = n->origin;
    node_set_int(parts, "rank", rank);
    int count = r->results.n;
    struct value **results = arena_copy(&r->graph->ctx->arena, r->results.v, (size_t)count * sizeof *results);
    region_drop_results(r);
    for (int j = 0; j < count; j++) {
        region_result(r, j == k ? parts->outs.v[0] : results[j]);
        if (j == k) region_result(r, parts->outs.v[1]);
    }
}
/* Splits output k of n in two, and rebuilds the sequence from them after n. */
static void pack_out(struct node *n, int k) {
    struct value *outer = n->outs.v[k], *cells = insert_out(n, k), *shapes = insert_out(n, k + 1);
    n->outs.n--;
    memmove(n->outs.v + k + 2, n->outs.v + k + 3, (size_t)(n->outs.n - k - 2) * sizeof *n->outs.v);
    for (int j = k + 2; j < n->outs.n; j++)
        if (n->outs.v[j]) n->outs.v[j]->index = j;
    if (outer) value_replace(outer, made_of(n, n->next, "gcc2nn", "Packed", (struct value *[]){cells, shapes}, 2));
}
/* Carried value k of n, whose elements have that rank. */
static bool carry_packed(struct node *n, struct region *r, int k, int rank) {
    struct packed x;
    struct value *param = r->params.v[2 + k];
    if (!packed_from(n, n->ins.v[2 + k], rank, &x)) return false;
    node_set_input(n, 2 + k, x.cells);
    insert_input(n, 3 + k, x.shapes);
    struct value *cells = insert_param(r, 2 + k), *shapes = insert_param(r, 3 + k);
    struct node *seq = node_new(r, r->first, "gcc2nn", "Packed", (struct value *[]){cells, shapes}, 2, 1);
    seq->origin = n->origin;
    value_replace(param, seq->outs.v[0]);
    drop_param(r, 4 + k);
    unpack_result(r, n, 1 + k, rank);
    if (k < n->outs.n) pack_out(n, k);
    return true;
}
/* Sequences of different length that leave an If are packed. */
enum infer_status ctl_pack_results(struct node *n, struct region *const *branch) {
    bool any = false;
    for (int k = 0; k < n->outs.n; k++) {
        const struct value *a = branch[0]->results.v[k], *b = branch[1]->results.v[k];
        if (!n->outs.v[k] || a->type.kind != TY_SEQUENCE || b->type.kind != TY_SEQUENCE) continue;
        int rank = packed_rank(a) >= 0 ? packed_rank(a) : packed_rank(b);
        if (rank < 0) continue;
        for (int i = 0; i < 2; i++) unpack_result(branch[i], n, k, rank);
        pack_out(n, k++);
        any = true;
    }
    if (!any) return INFER_OK;
    renewed(n, "its sequences are packed");
    return INFER_REPLACED;
}
/* The rank of the elements of carried sequence k, which is still unknown: found by trying an iteration on a copy, and
 * looking at the elements that it inserts. If the iteration itself fails for want of a rank, its diagnostics say whose,
 * and how to give it: they stay. *why: the message of any other error, which may be caused by the trial's sizes. */
static int rank_after_a_pass(struct graph *g, struct node *n, int k, infer_fn *infer_region, const char **why) {
    struct diags before = g->ctx->diags;
    struct map values = {.arena = &g->ctx->arena};
    struct node *trial = node_new(n->in, n, "", n->op_type, NULL, 0, 0);
    struct region *r = region_copy(trial, node_region(n, "body"), &values);
    node_set_attr(trial, (struct attr){.name = "body", .kind = AT_REGION, .u.region = r});
    for (int j = 0; j < r->params.n; j++) {
        struct value *arg = n->ins.v[j], *p = r->params.v[j];
        if (j < 2) { /* the iteration's number, and a true condition */
            p->type = type_tensor(g->ctx, j ? BOOL : I64, NULL, 0), p->elems = NULL;
            continue;
        }
        if (!arg || !value_is_holder(arg)) {
            if (arg) ctl_take_type(p, arg), p->elems = NULL;
            continue;
        }
        struct node *holder = node_new(r, r->first, arg->def->domain, arg->def->op_type, NULL, 0, 1);
        for (int i = 0; i < arg->def->attrs.n; i++) node_set_attr(holder, arg->def->attrs.v[i]);
        if (arg->def->ins.n) continue; /* its contents are outside, so this iteration is not tried */
        value_replace(p, holder->outs.v[0]);
    }
    int rank = infer_region(r) ? packed_rank(r->results.v[1 + k]) : -1;
    const struct diag *error = before.errors ? NULL : diag_error_since(&g->ctx->diags, &before);
    bool of_rank = error && error->code == E_RANK;
    if (error && !of_rank) *why = error->message;
    if (!of_rank) g->ctx->diags = before;
    node_remove(trial);
    return rank;
}
static enum infer_status rank_not_known(struct graph *g, struct node *n, const struct value *result, const char *why) {
    const char *what = "the rank of what a carried sequence holds is not known, and the number of passes neither";
    if (why) what = arena_printf(&g->ctx->arena, "%s; a first pass would tell, but fails: %s", what, why);
    ctl_problem(g, n, E_RANK, what);
    if (result && *result->name)
        diag_help(&g->ctx->diags, "say the rank of its elements with --rank %s=N",
                  diag_quote(&g->ctx->arena, result->name));
    else diag_help(&g->ctx->diags, "give the shapes of the model's inputs with --shape NAME=AxBxC");
    return INFER_FAILED;
}
static enum infer_status pack_loop(struct graph *g, struct node *n, int ncarried, infer_fn *infer_region) {
    struct region *r = node_region(n, "body");
    for (int k = 0; k < ncarried; k++) {
        struct value *v = n->ins.v[2 + k];
        if (!v || v->type.kind != TY_SEQUENCE) continue;
        const struct value *result = k < n->outs.n ? n->outs.v[k] : NULL;
        const char *why = NULL;
        int rank = packed_rank(v), errors = g->ctx->diags.errors;
        if (rank < 0 && result) rank = graph_said_rank(g, result->name);
        if (rank < 0) rank = rank_after_a_pass(g, n, k, infer_region, &why);
        if (g->ctx->diags.errors > errors) return INFER_FAILED;
        if (rank < 0 || !carry_packed(n, r, k, rank)) return rank_not_known(g, n, result, why);
        ncarried++, k++;
    }
    if (ctl_carries_holders(n, ncarried))
        return ctl_problem(g, n, E_OP,
                           "a loop that carries an optional, and whose number of passes only the run knows"),
               INFER_FAILED;
    renewed(n, "its sequences are packed");
    return INFER_REPLACED;
}
/* Of n some passes are unrolled; the others go on as a loop, which counts them from 0. What it collects follows what
 * those have. */
static void go_on(struct node *n, struct region *r, int ncarried, int ncollected, int64_t passes) {
    struct value *done = graph_scalar(n->in->graph, I64, passes);
    struct node *number = node_new(r, r->first, "", "Add", NULL, 0, 1);
    value_replace(r->params.v[0], number->outs.v[0]);
    node_set_input(number, 0, r->params.v[0]), node_set_input(number, 1, done);
    if (n->ins.v[0]) node_set_input(n, 0, held_by(n, n, "Sub", (struct value *[]){n->ins.v[0], done}, 2));
    set_captures(n, ctl_captures(n) - ncollected);
    for (int k = ncollected; k-- > 0;) {
        struct value *before = held_by(n, n, "ConcatFromSequence", &n->ins.v[n->ins.n - 1], 1),
                     *out = ncarried + k < n->outs.n ? n->outs.v[ncarried + k] : NULL;
        node_set_int(before->def, "axis", 0);
        node_set_int(before->def, "new_axis", 1);
        node_drop_input(n, n->ins.n - 1);
        drop_param(r, r->params.n - 1);
        if (!out) continue;
        struct node *all = node_new(n->in, n->next, "", "Concat", NULL, 0, 1);
        value_replace(out, all->outs.v[0]);
        node_set_input(all, 0, before), node_set_input(all, 1, out);
        node_set_int(all, "axis", 0);
    }
    node_drop_attr(n, "pass");
}
enum infer_status ctl_unroll(struct graph *g, struct node *n, int ncarried, int ncollected, infer_fn *infer_region) {
    struct region *r = node_region(n, "body");
    const struct attr *at = node_attr(n, "pass");
    int64_t passes = INT64_MAX, more = 1, pass = at ? at->u.i : 0;
    bool known = (!n->ins.v[0] || known_int(n->ins.v[0], &passes)) && (!n->ins.v[1] || known_int(n->ins.v[1], &more));
    for (int k = 0; k < 2; k++) /* types may still change while a surrounding loop is being inferred */
        known &= !n->ins.v[k] || n->ins.v[k]->init || region_is_settled(n->in);
    if (!known && at) go_on(n, r, ncarried, ncollected, pass);
    if (!known) return pack_loop(g, n, ncarried, infer_region);
    if (!at) begin_collecting(n, r, ncollected);
    if (pass >= passes || !more) {
        finish(n, ncarried, ncollected);
        return INFER_REPLACED;
    }
    struct value **args = arena_copy(&g->ctx->arena, n->ins.v, (size_t)n->ins.n * sizeof *args),
                 **results = NEWN(&g->ctx->arena, struct value *, r->results.n);
    args[0] = graph_scalar(g, I64, pass), args[1] = graph_scalar(g, BOOL, 1);
    if (!copy_body(n, r, args, results)) return INFER_FAILED;
    n = renewed(n, "its passes are unrolled");
    for (int k = 0; k <= ncarried; k++) node_set_input(n, 1 + k, results[k]);
    for (int k = 0; k < ncollected; k++) {
        int to = n->ins.n - ncollected + k;
        struct value *ins[] = {n->ins.v[to], results[1 + ncarried + k]};
        node_set_input(n, to, held_by(n, n, "SequenceInsert", ins, 2));
    }
    node_set_int(n, "pass", pass + 1);
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
