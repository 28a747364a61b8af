/* What is stored in 16 bits between kernels because that is faster: in an f32 model if `--precision` says so, in a
 * model of 16-bit floats by itself. If the machine has an instruction for products of that type, the factors that it
 * fits are narrowed, and so is what lies on a path from one such product to the next, unless a product reads it that is
 * computed in f32. Values that no product follows (boxes, scores), or that no product precedes, keep their precision.
 * Without such an instruction, only f32 weights are narrowed that take longer to read than to multiply. Sums stay in
 * f32, and nothing is rounded within a kernel. Chosen for a region before its layouts. See docs/numbers.md. */
#include "lower/narrow.h"
#include "ir/graph/op.h"
#include "lower/algorithm/constants.h"
#include "lower/layout.h"
#include "lower/machine/machine.h"
#include "lower/packing.h"
#include "lower/problem/problem.h"
#include <math.h>
#include <string.h>

/* A node that sums products of f32. */
struct product {
    struct value *factors[2];
    double reads;                /* of each factor, in total */
    bool fits;                   /* an instruction can multiply them */
    struct packed_factor packed; /* value NULL: no factor is packed at run time */
};
/* The narrow type that v may have; NONE: it must not be narrowed. */
static enum dtype narrowed_to(const struct lowering *l, const struct value *v) {
    if (!v || v->type.kind != TY_TENSOR) return NONE;
    if (v->type.dtype == BF16) return BF16; /* not fp16, which has another range */
    if (v->type.dtype == F16) return l->o->precision.type == NONE ? F16 : l->o->precision.type;
    return v->type.dtype == F32 ? l->o->precision.type : NONE;
}
static bool in_whole_blocks(struct ctx *c, expr load, const struct var *v, int block) {
    for (int d = 0; d < load->n - load->has_fill; d++)
        if (sums_whole_blocks(c, load->arg[d], v, block)) return true;
    return false;
}
/* The lanes of a vector use the same cells of a, even if channels are grouped. */
static bool shared_by_lanes(const struct lowering *l, const struct problem *p) {
    int group = problem_group_axis(l->c, p), lanes = machine_lanes(l->o->target->machine, F32);
    return group < 0 || shared_neighbours(l->c, p->a.read, p->sum->u.stage.axes[group]) % lanes == 0;
}
/* Is it used by anything but kernels of stages, or by a region? */
static bool is_shared(struct lowering *l, const struct value *v) {
    if (value_leaves(l, v)) return true;
    for (int k = 0; k < v->uses.n; k++)
        if (v->uses.v[k].region || !v->uses.v[k].node || v->uses.v[k].node->op->control) return true;
    return false;
}
/* The constant whose cells v has, in another order or shape; NULL: none. */
static const struct tensor *constant_of(struct lowering *l, const struct value *v) {
    while (v && !v->init) {
        struct node *n = v->def;
        bool view = n && !n->op->control && n->ins.n && classify_node(l->probes, n)->cls == CLASS_VIEW;
        v = view ? n->ins.v[0] : NULL;
    }
    return v ? v->init : NULL;
}
static bool fits_packed(struct lowering *l, const struct problem *p, enum dtype t, struct product *q) {
    const struct operand *b;
    struct panels how;
    if (!find_packing(l, p, t, &b, &how)) return false;
    q->packed.value = q->factors[b == &p->b];
    q->packed.layout = layout_packed(l->c, how, q->packed.value->type.rank);
    return true;
}
/* Instructions need one factor packed (at compile time if it is constant), and the sum in whole groups; those of GPUs
 * pad what they read. */
static bool fits(struct lowering *l, const struct problem *p, struct product *q) {
    const struct machine *m = l->o->target->machine;
    const struct stmt *s = p->sum;
    enum dtype t = narrowed_to(l, q->factors[0]);
    if (is_shared(l, q->factors[0]) || is_shared(l, q->factors[1])) return false;
    if (m->gpu) return machine_group(m, t) > 1;
    if (!constant_of(l, q->factors[0]) && !constant_of(l, q->factors[1])) return fits_packed(l, p, t, q);
    for (const struct micro_speed *i = m->micros; i && i->micro; i++)
        for (int k = 0; k < s->u.stage.nred; k++) {
            const struct var *v = s->u.stage.red[k];
            bool whole = const_extent(v) > 0 && in_whole_blocks(l->c, p->a.read, v, i->micro->k0) &&
                         in_whole_blocks(l->c, p->b.read, v, i->micro->k0);
            if (i->micro->a == t && whole) return shared_by_lanes(l, p);
        }
    return false;
}
static bool is_product(struct lowering *l, struct node *n, struct product *q) {
    bool any = false;
    for (int i = 0; i < n->ins.n; i++) any |= narrowed_to(l, n->ins.v[i]) != NONE;
    const struct node_class *k = !any || n->op->control ? NULL : classify_node(l->probes, n);
    bool grouped = k && k->cls == CLASS_WINDOW && !l->o->target->machine->gpu; /* on GPUs, tiles span all channels */
    struct problem p;
    if (!k || (k->cls != CLASS_CONTRACT && !grouped)) return false;
    struct block stages = k->stmts;
    if (!stages_problem(l->c, &stages, NULL, &p) || !p.product || p.sum->u.stage.buf->type != F32) return false;
    const struct stmt *s = p.sum;
    *q = (struct product){
        .factors = {probed_value(l->probes, n, p.a.read->u.buf), probed_value(l->probes, n, p.b.read->u.buf)}};
    enum dtype t = narrowed_to(l, q->factors[0]);
    if (t == NONE || t != narrowed_to(l, q->factors[1])) return false;
    q->reads = typical_cells(l->c, s->u.stage.axes, s->u.stage.naxes, OPEN_SIZE) *
               typical_cells(l->c, s->u.stage.red, s->u.stage.nred, OPEN_SIZE);
    q->fits = fits(l, &p, q);
    return q->fits || !grouped; /* depthwise windows take factors of any type */
}

/* ---- which values */
/* May the factors of n be rounded? A pin for the node has priority over the general wish. */
static bool may_narrow(const struct lowering *l, const struct node *n) {
    const struct precision_wishes *w = &l->o->precision;
    size_t length = strlen(n->name);
    for (int k = w->npins; k--;) {
        const char *equals = strrchr(w->pins[k], '=');
        if ((size_t)(equals - w->pins[k]) == length && !strncmp(w->pins[k], n->name, length))
            return strcmp(equals + 1, dtype_name(F32)) != 0;
    }
    return !w->some;
}
struct narrowing {
    struct lowering *l;
    struct map behind, before; /* values that lead to such a product; values that follow one */
    struct map wide;           /* factors of other products */
    struct map products;       /* node -> its product, if an instruction multiplies the factors */
};
static void mark(const struct narrowing *q, struct map *set, struct value *v) {
    if (narrowed_to(q->l, v) != NONE) map_put(set, PKEY(v), v);
}
static bool is_marked(const struct map *set, const struct value *v) { return v && map_get(set, PKEY(v)); }
static void put_narrow(struct lowering *l, struct value *v) {
    if (narrowed_to(l, v) != NONE && !is_shared(l, v)) map_put(&l->narrow, PKEY(v), v);
}
static void look_behind(struct narrowing *q, struct node *n) {
    struct product p;
    bool may = may_narrow(q->l, n), product = is_product(q->l, n, &p), found = product && (p.fits &= may);
    if (found) {
        struct product *kept = arena_copy(&q->l->c->arena, &p, sizeof p);
        map_put(&q->products, PKEY(n), kept);
        if (p.packed.value) map_put(&q->l->packed, PKEY(n), &kept->packed);
    }
    for (int k = 0; k < n->ins.n; k++) found |= is_marked(&q->behind, n->ins.v[k]);
    for (int k = 0; k < n->outs.n && found; k++) mark(q, &q->behind, n->outs.v[k]);
    for (int k = 0; k < 2 && product; k++) {
        struct value *v = p.factors[k];
        const struct tensor *t = constant_of(q->l, v);
        bool slow =
            may && t && v->type.dtype == F32 && !worth_widening(q->l, q->l->o->precision.type, t, p.reads, true);
        if (p.fits || slow) put_narrow(q->l, v);
        else mark(q, &q->wide, v);
    }
}
static void look_before(struct narrowing *q, struct node *n) {
    const struct product *p = map_get(&q->products, PKEY(n));
    bool found = false;
    for (int k = 0; k < n->outs.n; k++) found |= is_marked(&q->before, n->outs.v[k]);
    for (int k = 0; k < n->ins.n && found; k++) mark(q, &q->before, n->ins.v[k]);
    for (int k = 0; k < 2 && p; k++) mark(q, &q->before, p->factors[k]);
}
/* A view's operand gets the type of the view. */
static void look_through(struct narrowing *q, struct node *n) {
    if (n->outs.n != 1 || n->op->control || !is_marked(&q->l->narrow, n->outs.v[0])) return;
    if (classify_node(q->l->probes, n)->cls == CLASS_VIEW && n->ins.n) put_narrow(q->l, n->ins.v[0]);
}
void choose_narrow(struct lowering *l, struct region *r) {
    const struct map empty = {.arena = &l->c->arena};
    struct narrowing q = {l, empty, empty, empty, empty};
    for (struct node *n = r->first; n; n = n->next) look_behind(&q, n);
    for (struct node *n = r->last; n; n = n->prev) look_before(&q, n);
    for (struct node *n = r->first; n; n = n->next)
        for (int k = 0; k < n->outs.n; k++) {
            struct value *v = n->outs.v[k];
            if (is_marked(&q.behind, v) && is_marked(&q.before, v) && !is_marked(&q.wide, v)) put_narrow(l, v);
        }
    for (struct node *n = r->last; n; n = n->prev) look_through(&q, n);
}
enum dtype narrow_type(const struct lowering *l, const struct value *v) {
    return map_get(&l->narrow, PKEY(v)) ? narrowed_to(l, v) : v->type.dtype;
}
struct buf *narrow_buf(struct lowering *l, struct buf *b) {
    if (l->o->precision.type != NONE && b->type != BF16) b->type = l->o->precision.type;
    map_put(&l->narrowed, PKEY(b), b);
    return b;
}

/* ---- a node's results */
struct uses {
    struct lowering *l;
    struct buf *old, *now;
    bool summed;
};
static bool find_sum(void *env, struct stmt *s) {
    struct uses *u = env;
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++) u->summed |= b.buf == u->old && b.use & BU_WRITTEN && !stmt_writes_once(s);
    return true;
}
static expr read_now(void *env, expr e) {
    struct uses *u = env;
    return e->op == X_LOAD && e->u.buf == u->old ? x_map_load(u->l->c, e, u->now, read_now, u) : NULL;
}
static bool use_now(void *env, struct stmt *s) {
    struct uses *u = env;
    struct buf **b;
    for (int k = 0; s->kind != S_ALLOC && (b = stmt_buf_at(s, k)); k++)
        if (*b == u->old) *b = u->now;
    return true;
}
static struct stmt *alloc_of(const struct block *made, const struct buf *b) {
    struct stmt *s = made->first;
    while (s && !(s->kind == S_ALLOC && s->u.alloc.buf == b)) s = s->next;
    return s;
}
/* So that its steps are not rounded, it is summed in a separate buffer, and stored when it is done. */
static void sum_elsewhere(struct lowering *l, struct block *made, struct buf *b) {
    struct ctx *c = l->c;
    const struct var *axes[32];
    expr at[32];
    struct buf *sum =
        buf_new(c, l->entry, internf(c->names, "%s_sum", b->name), F32, b->scope, b->logical, b->nlogical);
    struct uses u = {l, b, sum, false};
    walk(made, use_now, &u);
    map_exprs(c, made, read_now, &u);
    stmt_insert_before(alloc_of(made, b), s_alloc(c, sum));
    vars_over(c, "i", b->logical, b->nlogical, axes, at);
    lower_stmt(l, s_stage(c, b, axes, b->nlogical, RED_NONE, NULL, 0, NULL, x_load(c, sum, at, b->nlogical, NULL)));
}
/* ---- finite values must stay finite: masks hide by the lowest f32, and the softmax of a row of -inf would be NaN */
static double most_of(enum dtype t) { return t == F16 ? 65504 : 0x1.FEp127; }
static bool has_more(const struct tensor *t, double most) {
    for (int64_t i = 0, n = tensor_count(t); i < n; i++)
        if (isfinite(tensor_f(t, i)) && fabs(tensor_f(t, i)) > most) return true;
    return false;
}
/* Is v within the range of the 16 bits? So is what lies in them, and what is computed of such values. */
static bool is_within(const struct lowering *l, const struct value *v) {
    return map_get(v->def ? &l->within : &l->narrow, PKEY(v)) != NULL;
}
/* Does n compute a result from cells that may exceed the range of t? Sums of products are assumed to be within it. */
static bool may_have_more(struct lowering *l, struct node *n, enum dtype t) {
    const enum stage_class cls = classify_node(l->probes, n)->cls;
    if (cls == CLASS_CONTRACT || cls == CLASS_WINDOW) return false;
    for (int k = 0; k < n->ins.n; k++) {
        const struct value *v = n->ins.v[k];
        if (!v || v->type.dtype != F32) continue;
        const struct tensor *constant = constant_of(l, v);
        if (constant ? has_more(constant, most_of(t)) : !is_within(l, v)) return true;
    }
    return false;
}
static void keep_finite(struct ctx *c, struct block *made, const struct buf *b) {
    expr most = x_const_f(c, F32, most_of(b->type));
    for (struct stmt *s = made->first; s; s = s->next) {
        if (s->kind != S_STAGE || s->u.stage.buf != b || s->u.stage.op != RED_NONE) continue;
        expr v = s->u.stage.value, within = x_max(c, x_min(c, v, most), x_un(c, X_NEG, most));
        expr finite = x_cmp(c, X_LT, x_un(c, X_ABS, v), x_const_f(c, F32, INFINITY));
        s->u.stage.value = x_select(c, finite, within, v);
    }
}
void narrow_results(struct lowering *l, struct node *n, struct block *made) {
    if (l->o->precision.type == NONE) return;
    for (int k = 0; k < n->outs.n; k++) {
        struct value *v = n->outs.v[k];
        struct buf *b = v ? map_get(&l->bufs, PKEY(v)) : NULL;
        if (!b) continue;
        bool more = b->type == F32 && may_have_more(l, n, l->o->precision.type);
        bool stored = map_get(&l->narrow, PKEY(v)) && map_get(&l->external, PKEY(b)) && alloc_of(made, b);
        if (stored || !more) map_put(&l->within, PKEY(v), v);
        if (!stored) continue;
        struct uses u = {l, b, NULL, false};
        walk(made, find_sum, &u);
        if (u.summed && b->type == F32) sum_elsewhere(l, made, b);
        narrow_buf(l, b);
        if (more) keep_finite(l->c, made, b);
    }
}
