/* What grouping needs to know of a node: its class and how it reads, derived from the stages of its definition; see
 * group.h. */
#include "ir/base/checked.h"
#include "ir/define/define.h"
#include "ir/graph/op.h"
#include "lower/group.h"
#include "lower/problem/problem.h"
#include <math.h>
#include <string.h>

const char *stage_class_name(enum stage_class k) {
    static const char *const names[] = {"view", "map", "row", "window", "contract", "opaque"};
    return names[k];
}

/* Definitions are run over buffers of a scratch procedure, once per node; the answers are kept. */
struct probes {
    struct graph *g;
    struct ctx *c;
    struct module *m;
    struct proc *p;
    struct map bufs;  /* value -> buffer */
    struct map nodes; /* node -> struct node_class */
};
struct probes *probes_new(struct graph *g) {
    struct ctx *c = g->ctx;
    struct probes *q = NEW(&c->arena, struct probes);
    *q = (struct probes){g, c, module_new(c), proc_new(c, "probe"), {.arena = &c->arena}, {.arena = &c->arena}};
    return q;
}
struct ctx *probes_ctx(const struct probes *q) {
    return q->c;
}
static struct buf *probe_buf(void *env, struct value *v) {
    struct probes *q = env;
    struct buf *b = map_get(&q->bufs, PKEY(v));
    if (b) return b;
    b = buf_new(q->c, q->p, internf(q->c->names, "v%d", q->p->bufs.n), v->type.dtype, SC_PARAM, v->type.dims,
                v->type.rank);
    b->data = v->init;
    map_put(&q->bufs, PKEY(v), b);
    return b;
}
struct buf *probed_operand(struct probes *q, struct value *v) {
    return probe_buf(q, v);
}
struct value *probed_value(struct probes *q, const struct node *n, const struct buf *b) {
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] && probed_operand(q, n->ins.v[k]) == b) return n->ins.v[k];
    for (int k = 0; k < n->outs.n; k++)
        if (n->outs.v[k] && probed_operand(q, n->outs.v[k]) == b) return n->outs.v[k];
    return NULL;
}
static struct buf *buf_of_value(const struct probes *q, const struct value *v) {
    return v ? map_get(&q->bufs, PKEY(v)) : NULL;
}

/* One factor has all batch axes of the other, and both index them directly, so each batch has a single row. Groups of
 * channels are not like that. */
static bool has_single_rows(const struct problem *p) {
    const struct stmt *s = p->stages.v[0];
    uint64_t both = p->a.wide & p->b.wide;
    if (p->slides || (both != p->a.wide && both != p->b.wide)) return false;
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (both >> k & 1 && (dim_of(p->a.read, s->u.stage.axes[k]) < 0 || dim_of(p->b.read, s->u.stage.axes[k]) < 0))
            return false;
    return true;
}
static bool is_matrix_product(const struct problem *p) {
    return p->cls == PROBLEM_CONTRACTION && (p->apart || has_single_rows(p));
}
/* What grouping and layouts can do with a stage. Data-dependent indices, and factors that are changed before the
 * multiplication by more than a zero point, cannot join groups yet. Nor can products of groups of channels: they are
 * classified by the form of their indices. */
static enum stage_class stage_class(struct ctx *c, const struct problem *p) {
    const struct stmt *s = p->stages.v[0];
    if (p->indirect || p->guarded) return CLASS_OPAQUE;
    switch (p->cls) {
    case PROBLEM_MOVE: return s->u.stage.value->op == X_LOAD && !s->u.stage.value->has_fill ? CLASS_VIEW : CLASS_MAP;
    case PROBLEM_MAP: return CLASS_MAP;
    case PROBLEM_CONTRACTION:
        if (is_matrix_product(p) && operand_shift(c, p, &p->a) && operand_shift(c, p, &p->b)) return CLASS_CONTRACT;
        return p->slides ? CLASS_WINDOW : CLASS_ROW;
    case PROBLEM_WINDOW: return CLASS_WINDOW;
    case PROBLEM_ROWS: return CLASS_ROW;
    case PROBLEM_TEXT: break;
    }
    return CLASS_OPAQUE;
}
/* Checks that each index of the reads of b is the output axis at the same position, counted from the end, or the
 * constant 0 of a dim of 1 (broadcast). */
struct identity {
    const struct stmt *s;
    const struct buf *b;
    bool ok, full;
};
static bool check_identity(void *env, expr e) {
    struct identity *id = env;
    if (e->op != X_LOAD || e->u.buf != id->b) return true;
    int n = e->n - e->has_fill, skip = id->s->u.stage.naxes - n;
    if (skip < 0 || e->has_fill) return id->ok = false;
    id->full &= skip == 0;
    for (int k = 0; k < n; k++) {
        bool own = e->arg[k]->op == X_VAR && e->arg[k]->u.var == id->s->u.stage.axes[k + skip];
        bool one = x_is(e->arg[k], 0) && x_is(id->b->dims[k], 1);
        if (!own && !one) return id->ok = false;
        if (one && !x_is(id->s->u.stage.axes[k + skip]->extent, 1)) id->full = false;
    }
    return true;
}
static bool note_call(void *env, struct stmt *s) {
    *(bool *)env |= s->kind == S_CALL || s->kind == S_FOREIGN;
    return true;
}
static bool run_definition(struct probes *q, struct node *n, struct node_class *r) {
    struct block *b = &r->stmts;
    if (!n->op || !n->op->define || !def_emit(q->g, n, q->m, q->p, b, probe_buf, q)) return false;
    walk(b, note_call, &r->calls);
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == S_ALLOC || checks_sizes(s)) { /* those checks run before the kernel */
            r->checks |= s->kind == S_CHECK;
            continue;
        }
        if (s->kind != S_STAGE) return false;
        PUSH(&q->c->arena, &r->stages, s);
    }
    return r->stages.n > 0;
}
static bool loads(const struct node_class *r, const struct buf *b) {
    for (int k = 0; k < r->stages.n; k++)
        if (stmt_reads(r->stages.v[k], b, NULL)) return true;
    return false;
}
static void find_identities(struct probes *q, struct node *n, struct node_class *r) {
    for (int k = 0; k < n->ins.n && k < 32; k++) {
        struct identity id = {NULL, buf_of_value(q, n->ins.v[k]), true, true};
        for (int i = 0; i < r->stages.n && id.b && id.ok; i++) {
            id.s = r->stages.v[i];
            x_visit(id.s->u.stage.value, check_identity, &id);
        }
        r->identity[k] = id.b && id.ok && id.full;
        r->unread[k] = id.b && !loads(r, id.b);
    }
}
const struct node_class *classify_node(struct probes *q, struct node *n) {
    struct node_class *r = map_get(&q->nodes, PKEY(n));
    if (r) return r;
    r = NEW(&q->c->arena, struct node_class);
    map_put(&q->nodes, PKEY(n), r);
    r->cls = CLASS_OPAQUE;
    if (!run_definition(q, n, r)) {
        r->stages.n = 0;
        return r;
    }
    r->cls = CLASS_VIEW;
    for (int k = 0; k < r->stages.n; k++) {
        struct problem p;
        stage_problem(q->c, r->stages.v[k], &p);
        enum stage_class own = stage_class(q->c, &p);
        if (own > r->cls) r->cls = own;
        if (own == CLASS_ROW) r->product |= is_matrix_product(&p);
        if (p.product) r->sum = p.sum, r->factors[0] = p.a.read, r->factors[1] = p.b.read;
        if (own == CLASS_CONTRACT) r->channels = problem_sums_channels(&p);
        if (own == CLASS_WINDOW) r->channels = problem_sums_groups(q->c, &p);
    }
    if (r->cls != CLASS_OPAQUE) find_identities(q, n, r);
    return r;
}
bool use_reads(struct probes *q, const struct use *u) {
    return u->region || u->index >= 32 || u->node->op->control || !classify_node(q, u->node)->unread[u->index];
}

/* ---- halo */
enum { HALO_MAX = 2048 }; /* a wider border, or one of unknown width, takes too much memory */
struct halo_scan {
    struct ctx *c;
    const struct buf *b;
    int64_t *lo, *hi;
    bool found, bad;
    expr fill; /* common to the reads so far */
};
/* A border of floats can hold zeros or an infinity, one of bytes any value. */
static bool fits_border(expr e, enum dtype t) {
    if (e->op != X_CONST) return false;
    if (e->type == F32 || e->type == F64) return e->u.f == 0 || isinf(e->u.f);
    return t == I8 ? e->u.i >= -128 && e->u.i <= 127 : t == U8 ? e->u.i >= 0 && e->u.i <= 255 : e->u.i == 0;
}
/* How far e goes beyond the end of an axis; more than `most` if that cannot be proved. */
static int64_t goes_beyond(struct ctx *c, expr e, expr end, int64_t most) {
    int64_t low = 0, high = most + 1;
    if (x_proves_lt(c, e, end)) return 0;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (x_proves_lt(c, e, x_addi(c, end, middle))) high = middle;
        else low = middle;
    }
    return high;
}
static bool scan_halo(void *env, expr e) {
    struct halo_scan *h = env;
    if (e->op != X_LOAD || e->u.buf != h->b || !e->has_fill) return true;
    int n = e->n - 1;
    if (!fits_border(e->arg[n], h->b->type) || (h->fill && h->fill != e->arg[n])) return h->bad = true, false;
    h->fill = e->arg[n];
    for (int k = 0; k < n; k++) {
        int64_t lo, hi;
        x_bounds(h->c, e->arg[k], &lo, &hi);
        int64_t beyond = goes_beyond(h->c, e->arg[k], h->b->dims[k], HALO_MAX);
        if (lo >= 0 && !beyond) continue;
        if (lo < -HALO_MAX || beyond > HALO_MAX) return h->bad = true, false;
        if (-lo > h->lo[k]) h->lo[k] = -lo;
        if (beyond > h->hi[k]) h->hi[k] = beyond;
        h->found = true;
    }
    return true;
}
bool node_halo(struct probes *q, struct node *n, int k, int64_t lo[32], int64_t hi[32], double *fill) {
    const struct node_class *r = classify_node(q, n);
    struct halo_scan h = {q->c, buf_of_value(q, n->ins.v[k]), lo, hi, false, false, NULL};
    memset(lo, 0, 32 * sizeof *lo), memset(hi, 0, 32 * sizeof *hi);
    for (int i = 0; i < r->stages.n && h.b && !h.bad; i++) x_visit(r->stages.v[i]->u.stage.value, scan_halo, &h);
    if (h.fill) *fill = h.fill->type == F32 || h.fill->type == F64 ? h.fill->u.f : (double)h.fill->u.i;
    return h.found && !h.bad;
}

/* ---- views */
static bool no_var(void *env, expr e) {
    (void)env;
    return e->op != X_VAR && e->op != X_LOAD && e->op != X_POISON;
}
bool node_permutes(struct probes *q, struct node *n, int *operand, bool *inner, bool *part) {
    const struct node_class *r = classify_node(q, n);
    if (r->cls != CLASS_VIEW || n->outs.n != 1 || r->stages.n != 1 || r->checks) return false;
    const struct stmt *s = r->stages.v[0];
    expr v = s->u.stage.value;
    uint64_t seen = 0;
    if (v->op != X_LOAD || v->n < 2 || v->has_fill || v->u.buf->type != s->u.stage.buf->type) return false;
    *part = v->n != s->u.stage.naxes;
    for (int k = 0; k < v->n; k++) {
        int axis = 0;
        while (axis < s->u.stage.naxes && !(v->arg[k]->op == X_VAR && v->arg[k]->u.var == s->u.stage.axes[axis]))
            axis++;
        if (axis == s->u.stage.naxes || (seen >> axis & 1)) return false;
        seen |= UINT64_C(1) << axis;
        *part |= s->u.stage.axes[axis]->extent != v->u.buf->dims[k];
        *inner = axis == s->u.stage.naxes - 1;
    }
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (!(seen >> k & 1) && !x_is(s->u.stage.axes[k]->extent, 1)) return false;
    for (*operand = 0; *operand < n->ins.n; ++*operand)
        if (buf_of_value(q, n->ins.v[*operand]) == v->u.buf) return true;
    return false;
}
/* Axes occur only in reads, each at its own position. */
static bool is_cellwise(const struct stmt *s, expr e, int *budget) {
    if (e->op == X_VAR || --*budget < 0) return false;
    int n = e->n;
    if (e->op == X_LOAD) {
        struct identity id = {s, e->u.buf, true, true};
        n = 0;
        if (!check_identity(&id, e)) return false;
    }
    for (int k = 0; k < n; k++)
        if (!is_cellwise(s, e->arg[k], budget)) return false;
    return true;
}
bool node_is_cellwise(struct probes *q, struct node *n) {
    const struct node_class *r = classify_node(q, n);
    if (r->cls != CLASS_MAP) return false; /* a view may have more axes than its operand */
    for (int k = 0; k < r->stages.n; k++) {
        const struct stmt *s = r->stages.v[k];
        int budget = 1000;
        if (s->u.stage.op != RED_NONE || s->u.stage.naxes != n->outs.v[0]->type.rank ||
            !is_cellwise(s, s->u.stage.value, &budget))
            return false;
    }
    return true;
}
bool value_follows_sums(struct probes *q, const struct value *v) {
    enum { MOST_BEHIND = 32 };
    for (int steps = 0; v->def && steps < MOST_BEHIND; steps++) {
        struct node *n = v->def;
        enum stage_class cls = n->op && !n->op->control ? classify_node(q, n)->cls : CLASS_OPAQUE;
        if (cls == CLASS_CONTRACT || cls == CLASS_WINDOW) return true;
        if (cls != CLASS_MAP || !node_is_cellwise(q, n)) return false;
        for (int k = n->ins.n; k--;) /* the first operand that is not broadcast */
            if (n->ins.v[k] && type_same_dims(&n->ins.v[k]->type, &v->type)) v = n->ins.v[k];
        if (v->def == n) return false;
    }
    return false;
}
bool node_is_view(struct probes *q, struct node *n, int *operand, expr *off) {
    struct ctx *c = q->c;
    const struct node_class *r = classify_node(q, n);
    if (n->outs.n != 1 || r->stages.n != 1) return false;
    struct stmt *s = r->stages.v[0];
    expr v = s->u.stage.value, axes[32];
    if (s->u.stage.op != RED_NONE || v->op != X_LOAD || v->has_fill || v->u.buf->type != s->u.stage.buf->type)
        return false;
    for (int k = 0; k < s->u.stage.naxes; k++) /* an axis of one element: the index is 0 on both sides */
        axes[k] = x_is(s->u.stage.axes[k]->extent, 1) ? x_int(c, 0) : x_var(c, s->u.stage.axes[k]);
    *off = x_sub(c, buf_offset(c, v->u.buf, v->arg), buf_offset(c, s->u.stage.buf, axes));
    if (!x_visit(*off, no_var, NULL)) return false;
    for (*operand = 0; *operand < n->ins.n; ++*operand)
        if (buf_of_value(q, n->ins.v[*operand]) == v->u.buf) return true;
    return false;
}
static bool no_open_quotient(void *env, expr e) {
    (void)env;
    return (e->op != X_DIV && e->op != X_MOD) || e->arg[1]->op == X_CONST;
}
bool node_divides(struct probes *q, struct node *n) {
    const struct node_class *r = classify_node(q, n);
    for (int k = 0; k < r->stages.n; k++)
        if (!x_visit(r->stages.v[k]->u.stage.value, no_open_quotient, NULL)) return true;
    return false;
}
