/* If: inference through both branches, and lowering to `if` around their kernel calls (design: control flow). The
 * branches are closed regions; every operand behind the condition is a captured value and a parameter of both.
 *
 * The rank of a value is a compile-time constant everywhere. Where the branches give results of different rank and the
 * condition is known only at run time, all that depends on the results moves into both branches (`specialise`), so that
 * each copy sees one rank. A copy that cannot be right, since its inference fails, means that the model itself cannot
 * run when the condition goes that way: the branch becomes a check of the condition. The same holds for a branch in
 * which another condition, known from sizes, leads to what cannot be right. */
#include "ir/base/map.h"
#include "ir/define/define.h"
#include "lower/ops/control.h"
#include "lower/ops/ops.h"
#include "lower/ops/sequence.h"
#include <string.h>

enum {
    COPIES_MAX = 1 << 16
}; /* nodes copied into branches of one graph; limited, because each unknown rank doubles
    * them */

/* ---- results of different rank */
/* Sequences of different lengths have elements of unknown type, too. */
static bool known_rank(const struct value *v) { return !value_is_holder(v) && v->type.rank >= 0; }
struct tail {
    struct node *n;
    struct map moved;           /* results of n and of the nodes that move */
    VEC(struct node *) nodes;   /* those that move, in order */
    VEC(struct value *) leaves; /* of `moved`, what the region gives as results */
};
static void move_results(struct tail *t, struct node *m) {
    for (int k = 0; k < m->outs.n; k++)
        if (m->outs.v[k]) map_put(&t->moved, PKEY(m->outs.v[k]), m);
}
/* Finds everything that depends on n: the tail of the region, of which two copies are made. */
static void find_tail(struct tail *t, struct arena *a) {
    struct region *r = t->n->in;
    move_results(t, t->n);
    for (struct node *m = t->n->next; m; m = m->next)
        if (node_reads_any(m, &t->moved)) {
            PUSH(a, &t->nodes, m);
            move_results(t, m);
        }
    struct map seen = {.arena = a};
    for (int k = 0; k < r->results.n; k++) {
        struct value *v = r->results.v[k];
        if (!map_get(&t->moved, PKEY(v)) || map_get(&seen, PKEY(v))) continue;
        map_put(&seen, PKEY(v), v);
        PUSH(a, &t->leaves, v);
    }
}
/* The index of v among the operands after the condition; captures it if it is not there yet. */
static int captured(struct node *n, struct region *const *branch, struct value *v) {
    for (int k = 1; k < n->ins.n; k++)
        if (n->ins.v[k] == v) return k - 1;
    for (int b = 0; b < 2; b++) region_param(branch[b], v->name, v->type);
    node_set_input(n, n->ins.n, v);
    return n->ins.n - 2;
}
/* Copies the tail to the end of branch b, reading the branch's own results; the leaves become the branch's results. */
static void copy_tail(struct tail *t, struct node *to, struct region *const *branch, int b) {
    struct region *r = branch[b];
    struct map copy = {.arena = &r->graph->ctx->arena};
    for (int k = 0; k < t->n->outs.n; k++)
        if (t->n->outs.v[k]) map_put(&copy, PKEY(t->n->outs.v[k]), r->results.v[k]);
    for (int i = 0; i < t->nodes.n; i++)
        for (int k = 0; k < t->nodes.v[i]->ins.n; k++) {
            struct value *v = t->nodes.v[i]->ins.v[k];
            if (!v || v->init || map_get(&t->moved, PKEY(v))) continue;
            int at = captured(to, branch, v);
            map_put(&copy, PKEY(v), r->params.v[at]);
        }
    for (int i = 0; i < t->nodes.n; i++) node_copy(r, t->nodes.v[i], &copy);
    VEC(struct value *) results = {0};
    for (int k = 0; k < t->leaves.n; k++) PUSH(&r->graph->ctx->arena, &results, map_get(&copy, PKEY(t->leaves.v[k])));
    region_drop_results(r);
    for (int k = 0; k < results.n; k++) region_result(r, results.v[k]);
}
static void replace_leaves(struct tail *t, struct node *by) {
    struct region *r = by->in;
    for (int k = 0; k < t->leaves.n; k++)
        for (int j = 0; j < r->results.n; j++)
            if (r->results.v[j] == t->leaves.v[k]) region_set_result(r, j, by->outs.v[k]);
}
/* Replaces n, whose results differ in rank, by an If at the end of its region that contains everything that depends on
 * them. */
static enum infer_status specialise(struct graph *g, struct node *n, struct region *const *branch) {
    struct arena *a = &g->ctx->arena;
    struct tail t = {.n = n, .moved = {.arena = a}};
    find_tail(&t, a);
    if (!t.nodes.n) return ctl_pack_results(n, branch); /* the rank matters only further outside, if at all */
    if ((g->copies += t.nodes.n) > COPIES_MAX)
        return ctl_problem(g, n, E_LIMIT, "too much depends on conditions that decide about ranks"), INFER_FAILED;
    struct node *to = node_new(n->in, NULL, n->domain, n->op_type, n->ins.v, n->ins.n, t.leaves.n);
    to->name = n->name, to->origin = n->origin, to->version = n->version;
    for (int k = 0; k < t.leaves.n; k++) to->outs.v[k]->name = t.leaves.v[k]->name;
    for (int b = 0; b < 2; b++) copy_tail(&t, to, branch, b);
    for (int k = 0; k < n->attrs.n; k++) {
        node_set_attr(to, n->attrs.v[k]);
        if (n->attrs.v[k].kind == AT_REGION) n->attrs.v[k].u.region->owner = to;
    }
    n->attrs.n = 0; /* the branches belong to the new node now */
    node_set_int(to, "captures", to->ins.n - 1);
    node_set_int(to, "specialised", 1);
    replace_leaves(&t, to);
    trace_because(g, NULL, "both branches of an If have a copy of what depends on its rank");
    while (t.nodes.n) node_remove(t.nodes.v[--t.nodes.n]);
    node_remove(n);
    return INFER_REPLACED;
}
/* Do the errors since `first` mean that a model is wrong, not that it uses something unsupported? */
static bool says_wrong(const struct diags *d, const struct diag *first) {
    for (const struct diag *e = first; e < d->v + d->n; e++) switch (e->severity == DIAG_ERROR ? e->code : E_SHAPE) {
        case E_ATTR:
        case E_TYPE:
        case E_SHAPE:
        case E_RANK:
        case E_ARITY:
        case E_SIZE: break;
        default: return false;
        }
    return true;
}
/* Why branch r of n cannot be valid; NULL: it can, or (*failed) it is unknown. */
static const char *wrong(struct graph *g, const struct node *n, struct region *r, infer_fn *infer_region,
                         bool *failed) {
    struct diags *d = &g->ctx->diags, before = *d;
    g->chose_wrong = false;
    if (infer_region(r)) return NULL;
    const struct diag *first = diag_error_since(d, &before);
    *failed = true;
    if (before.errors || !first || !says_wrong(d, first)) return NULL;
    if (!node_attr(n, "specialised") && !g->chose_wrong) return NULL;
    const char *why =
        internf(g->ctx->names, "%s%s%s", first->origin ? first->origin : "", first->origin ? ": " : "", first->message);
    *failed = g->chose_wrong = false;
    *d = before;
    return why;
}
static enum infer_status take_branch(struct graph *g, struct node *n, struct region *r, infer_fn *infer_region);
/* Infers both branches; one that cannot be valid becomes a check, if the model itself does not ask for just that. */
static enum infer_status infer_branches(struct graph *g, struct node *n, struct region *const *branch,
                                        infer_fn *infer_region) {
    bool failed = false, settled = region_is_settled(n->in);
    const char *why[2] = {NULL, NULL};
    for (int b = 0; b < 2 && !failed; b++) {
        if (settled && !why[0]) why[b] = wrong(g, n, branch[b], infer_region, &failed);
        else failed = !infer_region(branch[b]);
    }
    if (failed) return INFER_FAILED;
    if (!why[0] && !why[1]) return INFER_OK;
    bool taken = why[0] != NULL;
    struct node *check = node_new(n->in, n, "gcc2nn", "Require", n->ins.v, 1, 0);
    const char *reason =
        internf(g->ctx->names, "the %s branch cannot be right: %s", taken ? "then" : "else", why[!taken]);
    node_set_int(check, "condition", !taken);
    node_set_attr(check, (struct attr){.name = "reason", .kind = AT_STRING, .u.s = {.p = reason, .n = strlen(reason)}});
    check->name = n->name;
    diag_node(&g->ctx->diags, DIAG_NOTE, E_SHAPE, n->origin, "%s; the compiled model checks that it is not taken",
              reason);
    return take_branch(g, n, branch[taken], infer_region);
}

/* ---- inference */
static enum infer_status take_branch(struct graph *g, struct node *n, struct region *r, infer_fn *infer_region) {
    struct value **results = NEWN(&g->ctx->arena, struct value *, r->results.n + 1);
    if (!infer_region(r)) return g->chose_wrong = true, INFER_FAILED;
    region_inline(r, n, n->ins.v + 1, results);
    for (int k = 0; k < n->outs.n; k++)
        if (n->outs.v[k]) value_replace(n->outs.v[k], results[k]);
    trace_because(g, NULL, "its condition is known");
    node_remove(n);
    return INFER_REPLACED;
}
/* While the types in a loop are not final, a condition may look known although it is not; so only the types are
 * taken. */
static enum infer_status follow_branch(struct node *n, struct region *r, infer_fn *infer_region) {
    if (!infer_region(r)) return INFER_FAILED;
    for (int k = 0; k < n->outs.n && k < r->results.n; k++)
        if (n->outs.v[k]) ctl_take_type(n->outs.v[k], r->results.v[k]);
    return INFER_OK;
}
static bool bind_branch(struct graph *g, struct node *n, struct region *r) {
    if (!r || r->params.n != n->ins.n - 1)
        return ctl_problem(g, n, E_GRAPH, "a branch does not take the node's captured values");
    if (r->results.n < n->outs.n) return ctl_problem(g, n, E_ARITY, "a branch gives fewer results than the node");
    for (int k = 0; k < r->params.n; k++) ctl_take_type(r->params.v[k], n->ins.v[k + 1]);
    return true;
}
/* The types have the same kind, and so do those of their contents. */
static bool are_alike(const struct type *a, const struct type *b) {
    while (a->kind == b->kind && a->kind != TY_TENSOR && a->elem && b->elem) a = a->elem, b = b->elem;
    return a->kind == b->kind && a->kind != TY_NONE;
}
static bool branches_differ(struct graph *g, struct node *n, const struct type *a, const struct type *b) {
    struct text t = {0};
    text_add(&t, "the branches give ");
    type_print(&t, a);
    text_add(&t, " and ");
    type_print(&t, b);
    ctl_problem(g, n, E_TYPE, t.s);
    diag_help(&g->ctx->diags,
              "end both branches with tensors of one type, and make of them what is wanted behind the If");
    text_free(&t);
    return false;
}
/* Dims that differ become a symbol, which is set by the branch that runs. */
static bool join_types(struct graph *g, struct node *n, const struct type *a, const struct type *b, int *nsyms,
                       struct type *out) {
    if (!are_alike(a, b)) return branches_differ(g, n, a, b);
    if (a->kind == TY_SEQUENCE || a->kind == TY_OPTIONAL) return *out = *a, true;
    if (a->kind != TY_TENSOR || a->dtype != b->dtype) return branches_differ(g, n, a, b);
    if (a->rank != b->rank || a->rank < 0) {
        *out = (struct type){.kind = TY_TENSOR, .dtype = a->dtype, .rank = -1};
        return true;
    }
    expr dims[32];
    for (int k = 0; k < a->rank; k++) {
        dims[k] = a->dims[k];
        if (a->dims[k] == b->dims[k]) continue;
        int64_t l1, h1, l2, h2;
        x_bounds(g->ctx, a->dims[k], &l1, &h1), x_bounds(g->ctx, b->dims[k], &l2, &h2);
        dims[k] = x_sym(g->ctx, ctl_sym(g, n, (*nsyms)++, "if", l1 < l2 ? l1 : l2, h1 > h2 ? h1 : h2));
    }
    *out = type_tensor(g->ctx, a->dtype, dims, a->rank);
    return true;
}
static enum infer_status if_infer(struct graph *g, struct node *n, infer_fn *infer_region) {
    struct region *branch[2] = {node_region(n, "then_branch"), node_region(n, "else_branch")};
    ctl_open_captures(n);
    node_set_input(n, 0, ctl_one_element(n, n->in, n, n->ins.v[0]));
    if (!bind_branch(g, n, branch[0]) || !bind_branch(g, n, branch[1])) return INFER_FAILED;
    int cond = ctl_known_bool(n->ins.v[0]), nsyms = 0;
    if (cond >= 0 && (n->ins.v[0]->init || region_is_settled(n->in)))
        return take_branch(g, n, branch[!cond], infer_region);
    if (cond >= 0) return follow_branch(n, branch[!cond], infer_region);
    enum infer_status s = infer_branches(g, n, branch, infer_region);
    if (s != INFER_OK) return s;
    if (ctl_open_results(g, n, branch) == INFER_REPLACED) return INFER_REPLACED;
    bool known = true;
    for (int k = 0; k < n->outs.n; k++) {
        struct value *v = n->outs.v[k];
        if (!v) continue;
        if (!join_types(g, n, &branch[0]->results.v[k]->type, &branch[1]->results.v[k]->type, &nsyms, &v->type))
            return INFER_FAILED;
        known &= known_rank(v);
    }
    return known ? INFER_OK : specialise(g, n, branch);
}

/* ---- lowering */
static void note_syms(void *env, struct node *n) {
    for (int k = 0; k < n->syms.n; k++) map_put(env, PKEY(n->syms.v[k]), n);
}
/* Result k has dims that are known only after the branch has run. */
static bool is_late(struct lowering *l, struct region *r, int k) {
    struct map own = {.arena = &l->c->arena};
    const struct type *t = &r->results.v[k]->type;
    each_node(r, note_syms, &own);
    for (int d = 0; d < t->rank; d++)
        if (x_uses_any(t->dims[d], &own)) return true;
    return false;
}
struct if_result {
    bool late;
    const struct sym *syms[32]; /* of the dims in which the branches differ */
};
/* Before the `if`: sets the sizes known by then, and allocates the results. A late result starts as small as possible,
 * and the branch replaces it by its own buffer. */
static struct if_result begin_result(struct lowering *l, struct node *n, struct region *const *branch, int k, expr cond,
                                     int *nsyms) {
    struct if_result r = {.late = is_late(l, branch[0], k) || is_late(l, branch[1], k)};
    const struct type *a = &branch[0]->results.v[k]->type, *b = &branch[1]->results.v[k]->type;
    for (int d = 0; d < a->rank; d++) {
        if (a->dims[d] == b->dims[d]) continue;
        r.syms[d] = n->syms.v[(*nsyms)++];
        ctl_set_size(l, r.syms[d], r.late ? x_int(l->c, r.syms[d]->lo) : x_select(l->c, cond, a->dims[d], b->dims[d]));
    }
    lower_buf(l, n->outs.v[k]);
    return r;
}
static bool allocated_here(struct lowering *l, const struct buf *b) {
    for (struct stmt *s = l->block->first; s; s = s->next)
        if (s->kind == S_ALLOC && s->u.alloc.buf == b) return true;
    return false;
}
bool ctl_used_twice(const struct region *r, int n, const struct value *v) {
    int times = 0;
    for (int k = 0; k < n; k++) times += r->results.v[k] == v;
    return times > 1;
}
bool ctl_may_take(struct lowering *l, const struct region *r, const struct value *v, const struct buf *b) {
    return b->scope == SC_REGION && v->def && !ctl_used_twice(r, r->results.n, v) && buf_is_plain(b) &&
           allocated_here(l, b);
}
static void end_late(struct lowering *l, struct node *n, struct region *r, int k, const struct if_result *res) {
    struct value *v = r->results.v[k];
    struct buf *to = lower_buf(l, n->outs.v[k]), *from = lower_buf(l, v);
    if (!ctl_may_take(l, r, v, from)) {
        struct buf *own = lower_alloc_in(l, SC_REGION, "taken", v->type.dtype, v->type.dims, v->type.rank);
        lower_copy(l, own, from);
        from = own;
    }
    ctl_swap(l, to, from);
    ctl_release(l, from);
    for (int d = 0; d < v->type.rank; d++)
        if (res->syms[d]) ctl_set_size(l, res->syms[d], v->type.dims[d]);
}
static bool lower_branch(struct lowering *l, struct node *n, struct region *r, struct block *into,
                         const struct if_result *res) {
    struct block *outer = l->block;
    l->block = into;
    for (int k = 0; k < r->params.n; k++) lower_bind(l, r->params.v[k], lower_buf(l, n->ins.v[k + 1]));
    for (int k = 0; k < n->outs.n; k++) /* produced directly into the result, if it is not something else as well */
        if (n->outs.v[k] && !res[k].late && r->results.v[k]->def && !map_get(&l->bufs, PKEY(r->results.v[k])) &&
            type_same_dims(&r->results.v[k]->type, &n->outs.v[k]->type))
            lower_bind(l, r->results.v[k], lower_buf(l, n->outs.v[k]));
    bool ok = lower_region(l, r);
    for (int k = 0; k < n->outs.n && ok; k++) {
        struct buf *to = n->outs.v[k] && !res[k].late ? lower_buf(l, n->outs.v[k]) : NULL,
                   *from = to ? lower_buf(l, r->results.v[k]) : NULL;
        if (to != from) lower_copy(l, to, from);
    }
    for (int k = 0; k < n->outs.n && ok; k++) /* after all have been read */
        if (n->outs.v[k] && res[k].late) end_late(l, n, r, k, &res[k]);
    l->block = outer;
    return ok;
}
static bool if_lower(struct lowering *l, struct node *n) {
    struct region *branch[2] = {node_region(n, "then_branch"), node_region(n, "else_branch")};
    expr cond = ctl_load_scalar(l, n->ins.v[0]);
    struct if_result *res = NEWN(&l->c->arena, struct if_result, n->outs.n + 1);
    int nsyms = 0;
    for (int k = 1; k < n->ins.n; k++) lower_buf(l, n->ins.v[k]);
    for (int k = 0; k < n->outs.n; k++)
        if (n->outs.v[k]) res[k] = begin_result(l, n, branch, k, cond, &nsyms);
    struct stmt *s = s_if(l->c, cond);
    lower_stmt(l, s);
    return lower_branch(l, n, branch[0], &s->u.cond.then, res) && lower_branch(l, n, branch[1], &s->u.cond.other, res);
}
const struct op_control if_control = {if_infer, if_lower};

/* ---- Require: the condition that remains of a branch that cannot be valid */
void op_require(void) {
    E c = scalar(in(0));
    require(int_attr("condition") ? c : not_(c), "%s", str_attr("reason"));
}
