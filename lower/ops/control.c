/* Loop and Scan: inference through their bodies, and lowering to while and for around kernel calls
 * (design: control flow). Bodies are closed regions: the node's attribute "captures" counts the inputs and parameters,
 * at the end of each list, that stand for values captured from outside. */
#include "lower/ops/control.h"
#include "lower/ops/ops.h"
#include <string.h>

int ctl_captures(const struct node *n) {
    const struct attr *a = node_attr(n, "captures");
    return a && a->kind == AT_INT ? (int)a->u.i : 0;
}
bool ctl_problem(struct graph *g, struct node *n, enum diag_code code, const char *what) {
    diag_node(&g->ctx->diags, DIAG_ERROR, code, n->origin, "%s", what);
    return false;
}
void ctl_take_type(struct value *param, const struct value *arg) {
    param->type = arg->type;
    param->elems = arg->elems;
    param->nelems = arg->nelems;
}
/* Truth of a boolean known at compile time: 1, 0, or -1. */
int ctl_known_bool(const struct value *v) {
    if (v->init) return tensor_i(v->init, 0) != 0;
    if (v->elems && v->nelems == 1 && v->elems[0]->op == X_CONST) return v->elems[0]->u.i != 0;
    return -1;
}
static expr known_index(struct ctx *c, const struct value *v) { /* a scalar as IDX, or NULL */
    if (v->init) return x_int(c, tensor_i(v->init, 0));
    return v->elems && v->nelems == 1 ? x_toidx(c, v->elems[0]) : NULL;
}
/* The k-th symbol of n with a name of this kind; NULL: there are not so many. */
static const struct sym *find_sym(const struct node *n, const char *kind, int k) {
    size_t length = strlen(kind);
    for (int j = 0; j < n->syms.n; j++) {
        const char *name = n->syms.v[j]->name;
        if (!strncmp(name, kind, length) && is_digit(name[length]) && !k--) return n->syms.v[j];
    }
    return NULL;
}
const struct sym *ctl_sym(struct graph *g, struct node *n, int k, const char *kind, int64_t lo, int64_t hi) {
    const struct sym *s;
    while (!(s = find_sym(n, kind, k))) {
        s = sym_new(g->ctx, internf(g->ctx->names, "%s%d_%d", kind, n->id, n->syms.n), lo, hi, true);
        PUSH(&g->ctx->arena, &n->syms, s);
    }
    return s;
}

struct value *ctl_one_element(struct node *n, struct region *r, struct node *before, struct value *v) {
    struct ctx *c = r->graph->ctx;
    if (!v || v->type.kind != TY_TENSOR || type_has_one_element(&v->type) || !type_may_have_one_element(c, &v->type))
        return v;
    struct value *none = graph_const(r->graph, "", tensor_new(&c->arena, I64, (int64_t[]){0}, 1));
    struct node *reshape = node_new(r, before, "", "Reshape", (struct value *[]){v, none}, 2, 1);
    reshape->origin = n->origin;
    reshape->outs.v[0]->type = type_tensor(c, v->type.dtype, NULL, 0);
    return reshape->outs.v[0];
}
expr ctl_load_scalar(struct lowering *l, struct value *v) {
    struct buf *b = lower_buf(l, v);
    expr zeros[33]; /* one element, whatever the rank */
    for (int d = 0; d < b->nd; d++) zeros[d] = x_int(l->c, 0);
    return x_load(l->c, b, zeros, b->nd, NULL);
}
void ctl_set_size(struct lowering *l, const struct sym *s, expr v) {
    struct stmt *st = s_new(l->c, S_SIZE);
    st->u.size.sym = s;
    st->u.size.lo = x_int(l->c, s->lo), st->u.size.hi = x_int(l->c, s->hi);
    st->u.size.value = v;
    lower_stmt(l, st);
}
/* ---- loops: what Loop and Scan share */
struct body {
    struct region *r;
    int first; /* parameter of the first carried value */
    int ncarried, nscan_out, ncaps;
    struct value **init; /* [ncarried] initial values: node inputs */
    int first_result;    /* result of the first carried value */
    bool runs;           /* at least one iteration is certain */
};
/* Carried symbol of dim d of carried value k, or NULL. */
static const struct sym *carried_sym(const struct node *n, const struct value *param, int d) {
    for (int s = 0; s < n->syms.n; s++)
        if (param->type.dims[d]->op == X_SYM && param->type.dims[d]->u.sym == n->syms.v[s]) return n->syms.v[s];
    return NULL;
}
/* Only M and the condition of a Loop may be left out. */
static bool inputs_given(const struct node *n, int from) {
    for (int k = from; k < n->ins.n; k++)
        if (!n->ins.v[k]) return false;
    return true;
}
static void put_syms(void *env, struct node *n) {
    for (int k = 0; k < n->syms.n; k++) map_put(env, PKEY(n->syms.v[k]), (void *)n->syms.v[k]);
}
/* Sizes that the body determines, or that change between iterations. */
static struct map inner_sizes(struct graph *g, struct node *n, const struct body *b) {
    struct map inner = {.arena = &g->ctx->arena};
    each_node(b->r, put_syms, &inner);
    put_syms(&inner, n);
    return inner;
}
static bool sizes_outlive(struct graph *g, struct node *n, const struct body *b, const struct type *t) {
    struct map inner = inner_sizes(g, n, b);
    for (int d = 0; d < t->rank; d++)
        if (x_uses_any(t->dims[d], &inner)) return false;
    return true;
}
/* Exporters may carry variables that have no value before the loop, with a placeholder of any rank. If no iteration
 * reads it, and there is a first iteration, the value has the type that the body gives it. */
static bool only_made(struct graph *g, struct node *n, const struct body *b, int k) {
    const struct type *t = &b->r->results.v[b->first_result + k]->type;
    return b->runs && t->rank >= 0 && !b->r->params.v[b->first + k]->uses.n && sizes_outlive(g, n, b, t);
}
/* If the initial value's rank differs from the body's, and it has one element, it is reshaped before the loop. */
static bool rank_changes(struct graph *g, struct node *n, struct body *b, int k) {
    struct value *p = b->r->params.v[b->first + k], *res = b->r->results.v[b->first_result + k];
    if (res->type.rank == p->type.rank) return false;
    if (only_made(g, n, b, k)) return p->type = res->type, true;
    if (!b->runs || p->type.rank < 0 || res->type.rank < 0) return false;
    if (!type_has_one_element(&p->type) || !type_has_one_element(&res->type)) return false;
    int64_t ones[32];
    for (int d = 0; d < res->type.rank; d++) ones[d] = 1;
    struct value *ins[] = {b->init[k], up_const_i64(n, ones, res->type.rank)};
    struct node *reshape = node_new(n->in, n, "", "Reshape", ins, 2, 1);
    reshape->origin = n->origin;
    p->type = reshape->outs.v[0]->type = res->type;
    node_set_input(n, (int)(b->init - n->ins.v) + k, reshape->outs.v[0]);
    return true;
}
/* Infers the body; carried dims that change between iterations become symbols of the node. */
static bool infer_body(struct graph *g, struct node *n, struct body *b, bool (*infer_region)(struct region *)) {
    struct ctx *c = g->ctx;
    int nsyms = 0;
    for (int k = 0; k < b->ncarried; k++) {
        ctl_take_type(b->r->params.v[b->first + k], b->init[k]);
        b->r->params.v[b->first + k]->elems = NULL; /* changes from pass to pass */
    }
    for (int k = 0; k < b->ncaps; k++)
        ctl_take_type(b->r->params.v[b->r->params.n - b->ncaps + k], n->ins.v[n->ins.n - b->ncaps + k]);
    b->r->unsettled = true;
    for (int round = 0; round < 4; round++) {
        if (!infer_region(b->r)) return false;
        bool stable = true;
        for (int k = 0; k < b->ncarried; k++) {
            struct value *p = b->r->params.v[b->first + k], *res = b->r->results.v[b->first_result + k];
            if (res->type.kind != TY_TENSOR || res->type.dtype != p->type.dtype)
                return ctl_problem(g, n, E_TYPE, "a carried value changes its element type");
            if (rank_changes(g, n, b, k)) {
                stable = false;
                continue;
            }
            if (res->type.rank != p->type.rank) return ctl_problem(g, n, E_RANK, "a carried value changes its rank");
            if (type_same_dims(&res->type, &p->type)) continue;
            expr dims[32];
            bool changed = false;
            for (int d = 0; d < p->type.rank; d++) {
                dims[d] = p->type.dims[d];
                if (res->type.dims[d] == dims[d] || carried_sym(n, p, d)) continue;
                dims[d] = x_sym(c, ctl_sym(g, n, nsyms++, "carried", 0, NO_LIMIT));
                changed = true;
            }
            if (!changed) continue;
            p->type = type_tensor(c, p->type.dtype, dims, p->type.rank);
            stable = false;
        }
        if (!stable) continue;
        b->r->unsettled = false; /* once more, because types may have become known */
        return infer_region(b->r);
    }
    return ctl_problem(g, n, E_SHAPE, "the shapes of carried values do not settle");
}
static bool grows(const struct node *n, const struct value *param) {
    for (int d = 0; d < param->type.rank; d++)
        if (carried_sym(n, param, d)) return true;
    return false;
}
void ctl_swap(struct lowering *l, struct buf *a, struct buf *b) {
    struct stmt *s = s_new(l->c, S_SWAP);
    s->u.swap.a = a, s->u.swap.b = b;
    lower_stmt(l, s);
}
void ctl_release(struct lowering *l, struct buf *b) {
    struct stmt *s = s_new(l->c, S_FREE);
    s->u.alloc.buf = b;
    lower_stmt(l, s);
}
/* Before the loop: the current values are copies of the initial ones; sizes that change start with theirs. */
static void begin_carried(struct lowering *l, struct node *n, struct body *b, struct buf **cur, struct buf **next) {
    for (int k = 0; k < b->ncarried; k++) {
        struct value *p = b->r->params.v[b->first + k];
        for (int d = 0; d < p->type.rank; d++) {
            const struct sym *s = carried_sym(n, p, d);
            if (s && !map_get(&l->bufs, PKEY(s))) {
                ctl_set_size(l, s, b->init[k]->type.dims[d]);
                map_put(&l->bufs, PKEY(s), (void *)s); /* only once, even if two values share it */
            }
        }
    }
    for (int k = 0; k < b->ncarried; k++) {
        struct value *p = b->r->params.v[b->first + k];
        struct buf *from = lower_buf(l, b->init[k]);
        cur[k] = lower_alloc(l, *p->name ? p->name : "carried", p->type.dtype, p->type.dims, p->type.rank);
        next[k] = NULL;
        if (b->init[k]->type.rank == p->type.rank) lower_copy(l, cur[k], from); /* else `only_made` */
        if (!grows(n, p))
            next[k] = lower_alloc(l, *p->name ? p->name : "next", p->type.dtype, p->type.dims, p->type.rank);
        lower_bind(l, p, cur[k]);
    }
}
/* The body: all new values are complete before any becomes current. */
static bool run_body(struct lowering *l, struct body *b, struct buf **cur, struct buf **next) {
    int uncollected = b->first_result + b->ncarried; /* collected results are copied before buffers are swapped */
    for (int k = 0; k < b->ncarried; k++) {
        struct value *res = b->r->results.v[b->first_result + k];
        if (next[k] && res->def && !ctl_used_twice(b->r, uncollected, res)) lower_bind(l, res, next[k]);
    }
    if (!lower_region(l, b->r)) return false;
    for (int k = 0; k < b->ncarried; k++) {
        struct value *res = b->r->results.v[b->first_result + k];
        struct buf *rb = lower_buf(l, res);
        if (rb == cur[k]) continue;
        bool takes = cur[k]->scope == SC_REGION && ctl_may_take(l, b->r, res, rb);
        if (!next[k])
            next[k] =
                takes ? rb : lower_alloc_in(l, cur[k]->scope, "next", res->type.dtype, res->type.dims, res->type.rank);
        if (rb != next[k]) lower_copy(l, next[k], rb);
    }
    return true;
}
static void end_pass(struct lowering *l, struct node *n, struct body *b, struct buf **cur, struct buf **next) {
    struct {
        const struct sym *sym, *tmp;
    } v[64];
    int nv = 0;
    for (int k = 0; k < b->ncarried; k++) { /* sizes change together, after all have been read */
        struct value *p = b->r->params.v[b->first + k], *res = b->r->results.v[b->first_result + k];
        for (int d = 0; d < p->type.rank && nv < 64; d++) {
            const struct sym *s = carried_sym(n, p, d);
            if (!s || res->type.dims[d] == p->type.dims[d]) continue;
            v[nv].sym = s;
            v[nv].tmp = sym_new(l->c, internf(l->c->names, "%s_next", s->name), s->lo, s->hi, true);
            ctl_set_size(l, v[nv++].tmp, res->type.dims[d]);
        }
    }
    for (int k = 0; k < b->ncarried; k++) {
        struct value *res = b->r->results.v[b->first_result + k];
        if (map_get(&l->bufs, PKEY(res)) == cur[k]) continue;
        ctl_swap(l, cur[k], next[k]);
        if (grows(n, b->r->params.v[b->first + k])) ctl_release(l, next[k]);
    }
    for (int k = 0; k < nv; k++) ctl_set_size(l, v[k].sym, x_sym(l->c, v[k].tmp));
}
static void bind_out(struct lowering *l, struct value *v, struct buf *b) {
    if (!v) return;
    if (map_get(&l->bufs, PKEY(v))) lower_copy(l, lower_buf(l, v), b);
    else lower_bind(l, v, b);
}
static void store_scalar(struct lowering *l, struct buf *b, expr v) {
    outline_statement(l, s_stage(l->c, b, NULL, 0, RED_NONE, NULL, 0, NULL, v), "set");
}

/* ---- what a loop collects: a slice per iteration, along an axis of the result. A size that the body determines is
 * that of the first iteration, 0 if there is none; all iterations must agree on it. */
static int scan_axis(const struct node *n, const char *name, int k, int rank) {
    const struct attr *a = node_attr(n, name);
    int64_t v = a && a->kind == AT_INTS && k < a->n ? a->u.is[k] : 0;
    return v < -rank || v >= rank ? -1 : (int)(v < 0 ? v + rank : v);
}
static int collected_axis(const struct node *n, const struct body *b, int k) { /* 0 for a Loop */
    return scan_axis(n, "scan_output_axes", k, b->r->results.v[b->first_result + b->ncarried + k]->type.rank + 1);
}
static struct value *collected_out(const struct node *n, const struct body *b, int k) {
    return b->ncarried + k < n->outs.n ? n->outs.v[b->ncarried + k] : NULL;
}
static bool infer_collected(struct graph *g, struct node *n, struct body *b, expr trips) {
    struct map inner = inner_sizes(g, n, b);
    int found = 0;
    for (int k = 0; k < b->nscan_out; k++) {
        struct value *o = collected_out(n, b, k);
        const struct type *t = &b->r->results.v[b->first_result + b->ncarried + k]->type;
        expr dims[32];
        if (!o) continue;
        if (t->kind != TY_TENSOR || t->rank < 0)
            return ctl_problem(g, n, E_RANK, "the rank of a collected value is not known");
        if (t->rank > 30) return ctl_problem(g, n, E_LIMIT, "a collected value has too many dimensions");
        int axis = collected_axis(n, b, k);
        if (axis < 0 || axis > t->rank) return ctl_problem(g, n, E_ATTR, "a scan axis is outside the rank");
        for (int d = 0, i = 0; d <= t->rank; d++) {
            dims[d] = d == axis ? trips : t->dims[i++];
            if (d == axis || !x_uses_any(dims[d], &inner)) continue;
            int64_t lo, hi;
            x_bounds(g->ctx, dims[d], &lo, &hi);
            dims[d] = x_sym(g->ctx, ctl_sym(g, n, found++, "collected", 0, hi));
        }
        o->type = type_tensor(g->ctx, t->dtype, dims, t->rank + 1);
    }
    return true;
}
struct collected {
    struct buf *buf; /* NULL: nobody reads the result */
    const struct type *type;
    const struct value *slice;
    const struct sym *cap; /* capacity, if the number of iterations is unknown; doubles when it is full */
    int axis;
};
/* The size found in the first iteration for dim d of the result; NULL: known before the loop. */
static const struct sym *found_size(const struct node *n, const struct collected *q, int d) {
    expr e = d == q->axis || !q->type ? NULL : q->type->dims[d];
    for (int k = 0; e && e->op == X_SYM && k < n->syms.n; k++)
        if (n->syms.v[k] == e->u.sym) return e->u.sym;
    return NULL;
}
/* Before the loop. */
static struct collected *begin_collected(struct lowering *l, struct node *n, const struct body *b, bool counted) {
    struct ctx *c = l->c;
    struct collected *r = NEWN(&c->arena, struct collected, b->nscan_out + 1);
    for (int k = 0; k < b->nscan_out; k++) {
        struct value *o = collected_out(n, b, k);
        struct collected *q = &r[k];
        if (!o) continue;
        *q = (struct collected){.type = &o->type, .axis = collected_axis(n, b, k)};
        q->slice = b->r->results.v[b->first_result + b->ncarried + k];
        for (int d = 0; d < o->type.rank; d++)
            if (found_size(n, q, d)) ctl_set_size(l, found_size(n, q, d), x_int(c, 0));
        if (counted) {
            q->buf = lower_buf(l, o);
            continue;
        }
        expr dims[32];
        for (int d = 0; d < o->type.rank; d++) dims[d] = o->type.dims[d];
        q->cap = sym_new(c, internf(c->names, "cap%d_%d", n->id, k), 0, INT64_MAX / 4, true);
        ctl_set_size(l, q->cap, x_int(c, 16));
        dims[q->axis] = x_sym(c, q->cap);
        q->buf = lower_alloc(l, "collected", o->type.dtype, dims, o->type.rank);
    }
    return r;
}
/* A statement that runs `fill` into its own block. */
static void enter(struct lowering *l, struct stmt *s, struct block *body, struct block **outer) {
    lower_stmt(l, s);
    *outer = l->block;
    l->block = body;
    l->loops++;
}
static void leave(struct lowering *l, struct block *outer) {
    l->block = outer;
    l->loops--;
}
/* The first iteration determines sizes, and then allocates what is collected; later iterations must have the same
 * sizes. */
static void find_sizes(struct lowering *l, struct node *n, const struct collected *q, expr pass) {
    struct ctx *c = l->c;
    const struct type *t = &q->slice->type;
    expr dims[32];
    bool any = false;
    for (int d = 0, i = 0; d <= t->rank; d++) {
        dims[d] = d == q->axis ? q->buf->dims[d] : t->dims[i++];
        any |= found_size(n, q, d) != NULL;
    }
    if (!any) return;
    struct stmt *first = s_if(c, x_cmp(c, X_EQ, pass, x_int(c, 0)));
    struct block *outer;
    enter(l, first, &first->u.cond.then, &outer);
    struct buf *room = lower_alloc_in(l, SC_REGION, "room", t->dtype, dims, t->rank + 1);
    ctl_swap(l, q->buf, room);
    ctl_release(l, room);
    for (int d = 0; d <= t->rank; d++)
        if (found_size(n, q, d)) ctl_set_size(l, found_size(n, q, d), dims[d]);
    l->block = &first->u.cond.other;
    for (int d = 0; d <= t->rank; d++) {
        const struct sym *s = found_size(n, q, d);
        if (!s) continue;
        struct stmt *check = s_new(c, S_CHECK);
        check->u.check.cond = x_cmp(c, X_EQ, x_sym(c, s), dims[d]);
        check->u.check.fault = "a collected value changes its size from pass to pass";
        check->u.check.origin = n->origin;
        lower_stmt(l, check);
    }
    leave(l, outer);
}

/* ---- Loop */
/* Is the condition before the first iteration known to be true? */
static bool starts(const struct node *n) { return !n->ins.v[1] || ctl_known_bool(n->ins.v[1]) == 1; }
static bool loop_body(struct graph *g, struct node *n, struct body *b) {
    b->r = node_region(n, "body");
    b->ncaps = ctl_captures(n);
    b->first = 2, b->first_result = 1;
    b->ncarried = n->ins.n - 2 - b->ncaps;
    b->init = n->ins.v + 2;
    if (!b->r || b->ncarried < 0 || b->r->params.n != 2 + b->ncarried + b->ncaps || b->r->results.n < 1 + b->ncarried ||
        !inputs_given(n, 2))
        return ctl_problem(g, n, E_ARITY, "the body's parameters or results do not fit the loop");
    b->nscan_out = b->r->results.n - 1 - b->ncarried;
    int64_t trips;
    expr m = n->ins.v[0] ? known_index(g->ctx, n->ins.v[0]) : NULL;
    b->runs = starts(n) && (!n->ins.v[0] || (m && x_is_int(m, &trips) && trips > 0));
    if (n->outs.n > b->ncarried + b->nscan_out)
        return ctl_problem(g, n, E_ARITY, "more outputs than the body has results");
    return true;
}
/* The trip count when nothing but M ends the loop; NULL otherwise. */
static struct value *counted(const struct node *n, const struct body *b) {
    struct value *cond = b->r->results.v[0], *m = n->ins.v[0];
    bool goes_on = cond == b->r->params.v[1] || ctl_known_bool(cond) == 1;
    return m && starts(n) && goes_on ? m : NULL;
}
static enum infer_status loop_infer(struct graph *g, struct node *n, bool (*infer_region)(struct region *)) {
    struct ctx *c = g->ctx;
    struct body b;
    for (int k = 0; k < 2; k++) /* both may be left out */
        node_set_input(n, k, k < n->ins.n ? ctl_one_element(n, n->in, n, n->ins.v[k]) : NULL);
    if (!loop_body(g, n, &b)) return INFER_FAILED;
    if (ctl_carries_holders(n, b.ncarried)) return ctl_unroll(g, n, b.ncarried, b.nscan_out, infer_region);
    ctl_open_captures(n);
    if (!loop_body(g, n, &b)) return INFER_FAILED;
    b.r->params.v[0]->type = type_tensor(c, I64, NULL, 0);
    b.r->params.v[1]->type = type_tensor(c, BOOL, NULL, 0);
    if (!infer_body(g, n, &b, infer_region)) return INFER_FAILED;
    const struct type *goes_on = &b.r->results.v[0]->type;
    if (goes_on->kind != TY_TENSOR || goes_on->dtype != BOOL)
        return ctl_problem(g, n, E_TYPE, "the condition that the body makes is no boolean"), INFER_FAILED;
    region_set_result(b.r, 0, ctl_one_element(n, b.r, NULL, b.r->results.v[0]));
    goes_on = &b.r->results.v[0]->type;
    if (!type_has_one_element(goes_on))
        return ctl_problem(g, n, E_SHAPE, "the condition that the body makes is not one value"), INFER_FAILED;
    for (int k = 0; k < b.ncarried && k < n->outs.n; k++)
        if (n->outs.v[k]) n->outs.v[k]->type = b.r->params.v[2 + k]->type;
    if (!b.nscan_out || n->outs.n <= b.ncarried) return INFER_OK;
    struct value *m = counted(n, &b);
    expr trips = m ? known_index(c, m) : NULL;
    if (trips) trips = x_max(c, trips, x_int(c, 0));
    else trips = x_sym(c, ctl_sym(g, n, 0, "trips", 0, NO_LIMIT));
    return infer_collected(g, n, &b, trips) ? INFER_OK : INFER_FAILED;
}
/* Doubles the capacity if iteration `at` finds it full. */
static void make_room(struct lowering *l, const struct collected *q, expr at) {
    struct ctx *c = l->c;
    struct block *outer;
    struct stmt *full = s_if(c, x_cmp(c, X_EQ, at, x_sym(c, q->cap)));
    enter(l, full, &full->u.cond.then, &outer);
    const struct sym *twice = sym_new(c, internf(c->names, "%s_twice", q->cap->name), 0, INT64_MAX / 4, true);
    ctl_set_size(l, twice, x_muli(c, x_sym(c, q->cap), 2));
    expr dims[32];
    for (int k = 0; k < q->buf->nd; k++) dims[k] = q->buf->dims[k];
    dims[0] = x_sym(c, twice);
    struct buf *bigger = lower_alloc(l, "bigger", q->buf->type, dims, q->buf->nd);
    const struct var *axes[32];
    expr idx[32];
    vars_over(c, "grow.i", q->buf->dims, q->buf->nd, axes, idx);
    expr old = x_load(c, q->buf, idx, q->buf->nd, NULL);
    idx[0] = x_guard(c, idx[0], dims[0]); /* the kernel gets both sizes as numbers, so it needs a guard */
    struct stmt *s = s_store(c, bigger, idx, q->buf->nd, RED_NONE, old);
    outline_statement(l, s_nest(c, axes, q->buf->nd, s), "grow");
    ctl_swap(l, q->buf, bigger);
    ctl_release(l, bigger);
    ctl_set_size(l, q->cap, x_sym(c, twice));
    leave(l, outer);
}
/* The iteration's number for use in kernels. They get it as an argument and do not see that it is below the trip count;
 * so if that is only known at run time it is a size, guarded where it is an index. Loops of the same depth share the
 * symbol, so that their kernels can be equal. */
static expr pass_number(struct lowering *l, const struct var *v) {
    int64_t trips;
    if (x_is_int(v->extent, &trips)) return x_var(l->c, v);
    while (l->passes.n <= l->loops) {
        const struct sym *next = sym_new(l->c, internf(l->c->names, "pass%d", l->passes.n), 0, NO_LIMIT, true);
        PUSH(&l->c->arena, &l->passes, next);
    }
    ctl_set_size(l, l->passes.v[l->loops], x_var(l->c, v));
    return x_sym(l->c, l->passes.v[l->loops]);
}
/* Copies the slice of iteration `pass` to its place in the result. */
static void put_slice(struct lowering *l, struct node *n, const struct collected *q, expr pass, expr at) {
    find_sizes(l, n, q, pass);
    lower_copy_slice(l, q->buf, at, q->axis, lower_buf(l, (struct value *)q->slice), NULL, -1);
}
static bool loop_counted(struct lowering *l, struct node *n, struct body *b, struct value *m, struct buf **cur,
                         struct buf **next) {
    struct ctx *c = l->c;
    expr trips = known_index(c, m);
    if (!trips) {
        const struct sym *s = find_sym(n, "trips", 0);
        if (!s) s = sym_new(c, internf(c->names, "trips%d", n->id), 0, NO_LIMIT, true);
        ctl_set_size(l, s, x_max(c, x_toidx(c, ctl_load_scalar(l, m)), x_int(c, 0)));
        trips = x_sym(c, s);
    } else trips = x_max(c, trips, x_int(c, 0));
    struct collected *got = begin_collected(l, n, b, true);
    struct buf *it = lower_alloc(l, "iteration", I64, NULL, 0), *cond = lower_alloc(l, "condition", BOOL, NULL, 0);
    store_scalar(l, cond, x_bool(c, true));
    lower_bind(l, b->r->params.v[0], it), lower_bind(l, b->r->params.v[1], cond);
    const struct var *v = var_new(c, "iteration", trips);
    struct stmt *loop = s_for(c, v, LK_SERIAL);
    struct block *outer;
    enter(l, loop, &loop->u.loop.body, &outer);
    if (b->r->params.v[0]->uses.n) store_scalar(l, it, x_idxval(c, x_var(c, v)));
    expr pass = b->nscan_out ? pass_number(l, v) : NULL;
    bool ok = run_body(l, b, cur, next);
    for (int k = 0; k < b->nscan_out && ok; k++)
        if (got[k].buf) put_slice(l, n, &got[k], x_var(c, v), x_guard(c, pass, trips));
    end_pass(l, n, b, cur, next);
    leave(l, outer);
    return ok;
}
/* Copies as many slices as there were iterations. */
static void take_collected(struct lowering *l, const struct collected *q, struct buf *o) {
    struct ctx *c = l->c;
    const struct var *axes[32];
    expr idx[32], from[32];
    vars_over(c, "take.i", o->dims, o->nd, axes, idx);
    memcpy(from, idx, (size_t)o->nd * sizeof *idx);
    from[0] = x_guard(c, idx[0], x_sym(c, q->cap));
    struct stmt *s = s_store(c, o, idx, o->nd, RED_NONE, x_load(c, q->buf, from, o->nd, NULL));
    outline_statement(l, s_nest(c, axes, o->nd, s), "take");
    ctl_release(l, q->buf);
}
static bool loop_while(struct lowering *l, struct node *n, struct body *b, struct buf **cur, struct buf **next) {
    struct ctx *c = l->c;
    struct buf *it = lower_alloc(l, "iteration", I64, NULL, 0), *cond = lower_alloc(l, "condition", BOOL, NULL, 0);
    store_scalar(l, it, x_const_i(c, I64, 0));
    store_scalar(l, cond, n->ins.v[1] ? ctl_load_scalar(l, n->ins.v[1]) : x_bool(c, true));
    lower_bind(l, b->r->params.v[0], it), lower_bind(l, b->r->params.v[1], cond);
    struct collected *got = begin_collected(l, n, b, false);
    expr itv = x_load(c, it, NULL, 0, NULL), more = x_load(c, cond, NULL, 0, NULL);
    if (n->ins.v[0]) {
        expr m =
            n->ins.v[0]->init ? x_const_i(c, I64, tensor_i(n->ins.v[0]->init, 0)) : ctl_load_scalar(l, n->ins.v[0]);
        more = x_and(c, x_cmp(c, X_LT, itv, m), more);
    }
    struct stmt *loop = s_new(c, S_WHILE);
    loop->u.loop_while.cond = more;
    struct block *outer;
    enter(l, loop, &loop->u.loop_while.body, &outer);
    bool ok = run_body(l, b, cur, next);
    for (int k = 0; k < b->nscan_out && ok; k++) {
        if (!got[k].buf) continue;
        const struct sym *pass = sym_new(c, internf(c->names, "pass%d_%d", n->id, k), 0, NO_LIMIT, true);
        ctl_set_size(l, pass, x_toidx(c, itv));
        make_room(l, &got[k], x_sym(c, pass));
        put_slice(l, n, &got[k], x_sym(c, pass), x_guard(c, x_sym(c, pass), x_sym(c, got[k].cap)));
    }
    struct buf *rc = ok ? lower_buf(l, b->r->results.v[0]) : cond;
    end_pass(l, n, b, cur, next);
    if (rc != cond) store_scalar(l, cond, ctl_load_scalar(l, b->r->results.v[0])); /* of one element, of any rank */
    store_scalar(l, it, x_add(c, itv, x_const_i(c, I64, 1)));
    leave(l, outer);
    if (!ok) return false;
    const struct sym *trips = find_sym(n, "trips", 0);
    if (trips) ctl_set_size(l, trips, x_toidx(c, itv));
    for (int k = 0; k < b->nscan_out; k++)
        if (got[k].buf) take_collected(l, &got[k], lower_buf(l, n->outs.v[b->ncarried + k]));
    return true;
}
static void bind_captures(struct lowering *l, struct node *n, struct body *b) {
    for (int k = 0; k < b->ncaps; k++)
        lower_bind(l, b->r->params.v[b->r->params.n - b->ncaps + k], lower_buf(l, n->ins.v[n->ins.n - b->ncaps + k]));
}
static bool loop_lower(struct lowering *l, struct node *n) {
    struct body b;
    if (!loop_body(l->g, n, &b)) return false;
    struct buf **cur = NEWN(&l->c->arena, struct buf *, b.ncarried + 1),
               **next = NEWN(&l->c->arena, struct buf *, b.ncarried + 1);
    bind_captures(l, n, &b);
    begin_carried(l, n, &b, cur, next);
    struct value *m = counted(n, &b);
    if (!(m ? loop_counted(l, n, &b, m, cur, next) : loop_while(l, n, &b, cur, next))) return false;
    for (int k = 0; k < b.ncarried && k < n->outs.n; k++) bind_out(l, n->outs.v[k], cur[k]);
    return true;
}

/* ---- Scan (opset 9 and later: no batch axis) */
struct scan {
    struct body b;
    int nscan_in;
};
static bool scan_body(struct graph *g, struct node *n, struct scan *s) {
    const struct attr *a = node_attr(n, "num_scan_inputs");
    s->nscan_in = a && a->kind == AT_INT && a->u.i > 0 && a->u.i <= n->ins.n ? (int)a->u.i : -1;
    s->b = (struct body){.r = node_region(n, "body"), .ncaps = ctl_captures(n), .init = n->ins.v};
    s->b.ncarried = n->ins.n - s->nscan_in - s->b.ncaps;
    if (!s->b.r || s->nscan_in < 1 || s->b.ncarried < 0 || s->b.r->params.n != n->ins.n ||
        s->b.r->results.n < s->b.ncarried || s->b.r->results.n < n->outs.n || !inputs_given(n, 0))
        return ctl_problem(g, n, E_ARITY, "the body's parameters or results do not fit the scan");
    s->b.nscan_out = s->b.r->results.n - s->b.ncarried;
    return true;
}
/* The attribute's list has one entry for each operand or result that is sliced, or is absent. */
static bool scan_list(struct graph *g, struct node *n, const char *name, int want) {
    const struct attr *a = node_attr(n, name);
    if (!a || a->kind != AT_INTS || a->n == want) return true;
    return ctl_problem(
        g, n, E_ATTR,
        arena_printf(&g->ctx->arena, "attribute \"%s\" has %d elements where %d are needed", name, a->n, want));
}
static bool scan_lists(struct graph *g, struct node *n, const struct scan *s) {
    return scan_list(g, n, "scan_input_axes", s->nscan_in) && scan_list(g, n, "scan_input_directions", s->nscan_in) &&
           scan_list(g, n, "scan_output_axes", s->b.nscan_out) &&
           scan_list(g, n, "scan_output_directions", s->b.nscan_out);
}
static enum infer_status scan_infer(struct graph *g, struct node *n, bool (*infer_region)(struct region *)) {
    struct scan s;
    struct ctx *c = g->ctx;
    ctl_open_captures(n);
    if (!scan_body(g, n, &s) || !scan_lists(g, n, &s)) return INFER_FAILED;
    expr trips = NULL;
    for (int k = 0; k < s.nscan_in; k++) {
        struct value *x = n->ins.v[s.b.ncarried + k], *p = s.b.r->params.v[s.b.ncarried + k];
        int axis = scan_axis(n, "scan_input_axes", k, x->type.rank);
        if (x->type.kind != TY_TENSOR || axis < 0 || axis >= x->type.rank)
            return ctl_problem(g, n, E_ATTR, "a scan axis is outside the rank"), INFER_FAILED;
        expr dims[32];
        for (int d = 0, o = 0; d < x->type.rank; d++)
            if (d != axis) dims[o++] = x->type.dims[d];
        p->type = type_tensor(c, x->type.dtype, dims, x->type.rank - 1);
        if (!trips) trips = x->type.dims[axis];
    }
    if (!infer_body(g, n, &s.b, infer_region)) return INFER_FAILED;
    for (int k = 0; k < s.b.ncarried && k < n->outs.n; k++)
        if (n->outs.v[k]) n->outs.v[k]->type = s.b.r->params.v[k]->type;
    return infer_collected(g, n, &s.b, trips) ? INFER_OK : INFER_FAILED;
}
static expr scan_at(struct ctx *c, const struct node *n, const char *name, int k, expr pass, expr trips) {
    const struct attr *a = node_attr(n, name);
    bool reverse = a && a->kind == AT_INTS && k < a->n && a->u.is[k];
    return x_guard(c, reverse ? x_sub(c, x_addi(c, trips, -1), pass) : pass, trips);
}
static bool scan_lower(struct lowering *l, struct node *n) {
    struct scan s;
    struct ctx *c = l->c;
    if (!scan_body(l->g, n, &s)) return false;
    struct buf **cur = NEWN(&c->arena, struct buf *, s.b.ncarried + 1),
               **next = NEWN(&c->arena, struct buf *, s.b.ncarried + 1);
    bind_captures(l, n, &s.b);
    begin_carried(l, n, &s.b, cur, next);
    struct value *x0 = n->ins.v[s.b.ncarried];
    expr trips = x0->type.dims[scan_axis(n, "scan_input_axes", 0, x0->type.rank)];
    for (int k = 1; k < s.nscan_in; k++) {
        struct value *x = n->ins.v[s.b.ncarried + k];
        expr cond = x_cmp(c, X_EQ, trips, x->type.dims[scan_axis(n, "scan_input_axes", k, x->type.rank)]);
        if (x_is_true(cond)) continue;
        struct stmt *chk = s_new(c, S_CHECK);
        chk->u.check.cond = cond, chk->u.check.fault = "scan inputs differ in length", chk->u.check.origin = n->origin;
        lower_stmt(l, chk);
    }
    struct collected *got = begin_collected(l, n, &s.b, true);
    for (int k = 0; k < s.nscan_in; k++) lower_buf(l, n->ins.v[s.b.ncarried + k]);
    const struct var *v = var_new(c, "step", trips);
    struct stmt *loop = s_for(c, v, LK_SERIAL);
    struct block *outer;
    enter(l, loop, &loop->u.loop.body, &outer);
    expr pass = pass_number(l, v);
    for (int k = 0; k < s.nscan_in; k++) {
        struct value *x = n->ins.v[s.b.ncarried + k], *p = s.b.r->params.v[s.b.ncarried + k];
        struct buf *slice = lower_alloc(l, *p->name ? p->name : "slice", p->type.dtype, p->type.dims, p->type.rank);
        int axis = scan_axis(n, "scan_input_axes", k, x->type.rank);
        lower_copy_slice(l, slice, NULL, -1, lower_buf(l, x),
                         scan_at(c, n, "scan_input_directions", k, pass, x->type.dims[axis]), axis);
        lower_bind(l, p, slice);
    }
    bool ok = run_body(l, &s.b, cur, next);
    for (int k = 0; k < s.b.nscan_out && ok; k++)
        if (got[k].buf) put_slice(l, n, &got[k], x_var(c, v), scan_at(c, n, "scan_output_directions", k, pass, trips));
    end_pass(l, n, &s.b, cur, next);
    leave(l, outer);
    for (int k = 0; k < s.b.ncarried && k < n->outs.n && ok; k++) bind_out(l, n->outs.v[k], cur[k]);
    return ok;
}

/* Opset 8: every operand has a leading batch axis, and input 0 may give the length for each batch. Becomes a Scan over
 * the batches around one over the steps. */
static void up_scan(struct node *n) {
    struct graph *g = n->in->graph;
    struct region *body = node_region(n, "body");
    const struct attr *scans = node_attr(n, "num_scan_inputs"), *directions = node_attr(n, "directions");
    if (n->ins.n && n->ins.v[0]) {
        ctl_problem(g, n, E_OP, "a Scan of opset 8 with lengths for each batch is not supported");
        return;
    }
    if (!body || !scans || !n->ins.n) return; /* refused by inference */
    int ncaptures = ctl_captures(n);
    node_drop_input(n, 0);
    struct region *outer = region_new(g, n, "batch");
    for (int k = 0; k < n->ins.n; k++)
        region_param(outer, k < body->params.n ? body->params.v[k]->name : "", (struct type){.rank = -1});
    struct node *inner = node_new(outer, NULL, "", "Scan", outer->params.v, n->ins.n, body->results.n);
    inner->name = n->name, inner->origin = n->origin;
    for (int k = 0; k < n->attrs.n; k++)
        if (strcmp(n->attrs.v[k].name, "directions") != 0) node_set_attr(inner, n->attrs.v[k]);
    if (directions) {
        struct attr a = *directions;
        a.name = "scan_input_directions";
        node_set_attr(inner, a);
        node_drop_attr(n, "directions");
    }
    body->owner = inner;
    for (int k = 0; k < inner->outs.n; k++) region_result(outer, inner->outs.v[k]);
    node_set_attr(n, (struct attr){.name = "body", .kind = AT_REGION, .u.region = outer});
    node_set_int(n, "num_scan_inputs", n->ins.n - ncaptures);
}
static const struct op_upgrade u_scan[] = {{8, up_scan}, {0}};
static const struct op_control loop_ctl = {loop_infer, loop_lower}, scan_ctl = {scan_infer, scan_lower};
static const struct op_attr if_attrs[] = {A_REGION("then_branch", .flags = A_REQUIRED),
                                          A_REGION("else_branch", .flags = A_REQUIRED),
                                          A_INT("specialised", .flags = A_NOTE),
                                          {0}};
static const struct op_attr loop_attrs[] = {A_REGION("body", .flags = A_REQUIRED), {0}};
static const struct op_attr scan_attrs[] = {A_REGION("body", .flags = A_REQUIRED),
                                            A_INT("num_scan_inputs", .flags = A_REQUIRED),
                                            A_INTS("scan_input_axes"),
                                            A_INTS("scan_output_axes"),
                                            A_INTS("scan_input_directions"),
                                            A_INTS("scan_output_directions"),
                                            {0}};
static const struct op_slot if_ins[] = {
    {"cond", TSET(BOOL), SCALAR}, {"captured", TS_ANY, VARIADIC | OPTIONAL | HOLDER}, {0}};
static const struct op_attr require_attrs[] = {
    A_INT("condition", .i = 1), A_STRING("reason", .flags = A_REQUIRED), {0}};
static const struct op_slot require_ins[] = {{"condition", TSET(BOOL), 0}, {0}}, slots_none[] = {{0}};
static const struct op_slot loop_ins[] = {{"M", TSET(I64), OPTIONAL | SCALAR},
                                          {"cond", TSET(BOOL), OPTIONAL | SCALAR},
                                          {"v", TS_ANY, VARIADIC | OPTIONAL | HOLDER},
                                          {0}};
static const struct op_slot any[] = {{"v", TS_ANY, VARIADIC | OPTIONAL | HOLDER}, {0}};
const struct op ops_control[] = {
    {"", "If", 25, 1, if_attrs, if_ins, any, .control = &if_control,
     .spec = "If-25; what depends on results of different rank is compiled once for each branch"},
    {"gcc2nn", "Require", 1, 1, require_attrs, require_ins, slots_none, .define = op_require, .flags = OP_EFFECT,
     .spec = "made by the compiler: stops the model unless the input is as `condition` says"},
    {"", "Loop", 25, 1, loop_attrs, loop_ins, any, .control = &loop_ctl, .spec = "Loop-25"},
    {"", "Scan", 25, 8, scan_attrs, any, any, .control = &scan_ctl, .upgrades = u_scan,
     .spec = "Scan-25; the form of opset 8 without lengths of the batches"},
    {0},
};
