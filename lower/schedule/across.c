/* Schedules for operands that are read across: cells next to each other in the operand's memory lie along an axis that
 * is not the last one of the result. Where the machine can, squares of cells are transposed in registers; otherwise a
 * few cells of the result's last axis are written at a time. Used by pointwise.c; see docs/schedules.md. */
#include "ir/base/checked.h"
#include "lower/schedule/cpu.h"

struct across {
    struct plan *u;
    const struct stmt *looked_at;
    int last;             /* axis of the result */
    int axis;             /* along which neighbours in the operand's memory lie; -1: none */
    int dim;              /* the operand's dim that this axis indexes */
    expr load;            /* the load in which this was found */
    const struct stmt *s; /* the stage that has this load */
    int64_t along;        /* squares: the cells of the result that are one run in the operand, too; -1: not known */
    int64_t divisor;      /* or: this many cells of the result's last axis are one step along that dim; 0: no such
                           * number */
};
static bool is_axis(const struct stmt *s, expr e, int k) { return e->op == X_VAR && e->u.var == s->u.stage.axes[k]; }
/* The n of a term last//n of the sum e; 0: there is none. */
static int64_t divisor_in(struct ctx *c, expr e, const struct var *last) {
    int64_t konst, n;
    const expr *t;
    const int64_t *co;
    for (int k = x_terms(c, e, &konst, &t, &co); k-- > 0;)
        if (t[k]->op == X_DIV && t[k]->arg[0]->op == X_VAR && t[k]->arg[0]->u.var == last && x_is_int(t[k]->arg[1], &n))
            return n;
    return 0;
}
static bool find_across(void *env, expr e) {
    struct across *a = env;
    int n = e->op == X_LOAD ? e->n - e->has_fill : 0;
    const struct param_layout *l = n ? layout_of(a->u->p, a->u->l, e->u.buf) : NULL;
    int d = l && l->block ? 1 : n - 1;
    bool moves = false; /* the load moves along the result's last axis */
    const struct stmt *s = a->looked_at;
    for (int k = 0; k < n; k++) moves |= x_uses_var(a->u->c, e->arg[k], s->u.stage.axes[a->last]);
    for (int k = 0; k < a->last && moves && d < n; k++)
        if (is_axis(s, e->arg[d], k)) a->axis = k, a->dim = d, a->load = e, a->s = s;
    if (moves && d < n && !a->divisor) a->divisor = divisor_in(a->u->c, e->arg[d], s->u.stage.axes[a->last]);
    return true;
}
static struct across across_of(struct plan *u) {
    const struct problem *k = u->k;
    struct across a = {.u = u, .last = k->out->u.stage.naxes - 1, .axis = -1};
    for (int i = 0; i < k->stages.n; i++) {
        a.looked_at = k->stages.v[i];
        if (same_axes(a.looked_at, k->out)) x_visit(a.looked_at->u.stage.value, find_across, &a);
    }
    return a;
}
static const char *loop_of(const struct across *a, int axis) { return axis_loop(a->u->c, a->u->k->out, axis); }
static void add_others(const struct across *a, int end, struct word_list *order) {
    for (int k = 0; k < end; k++)
        if (k != a->axis) add_loop(&a->u->s, order, loop_of(a, k));
}

/* ---- squares in registers */
/* Axes k and k + 1 are adjacent in the operand, too, without a gap that its layout adds between them. */
static bool runs_on(const struct across *a, int k) {
    const struct param_layout *l = layout_of(a->u->p, a->u->l, a->load->u.buf);
    if (k <= a->axis || (l && (l->halo || l->panels.lanes))) return false;
    for (int d = 0; d + 1 < a->load->n; d++)
        if (is_axis(a->s, a->load->arg[d], k))
            return d != a->dim && d + 1 != a->dim && is_axis(a->s, a->load->arg[d + 1], k + 1) &&
                   a->load->u.buf->logical[d + 1] == a->s->u.stage.axes[k + 1]->extent;
    return false;
}
int64_t cells_from(const struct stmt *out, int first) {
    int64_t all = 1;
    for (int k = first; k < out->u.stage.naxes; k++) {
        int64_t n = const_extent(out->u.stage.axes[k]);
        all = n < 0 || all < 0 ? -1 : sat_mul(all, n);
    }
    return all;
}
int64_t bytes_apart(struct plan *u, const struct buf *b, const expr *idx, const struct var *v) {
    const struct param_layout *l = layout_of(u->p, u->l, b);
    int64_t cells;
    expr rest;
    bool known = (!l || !l->spec) && x_linear_in(u->c, buf_offset(u->c, b, idx), v, &cells, &rest);
    return known ? sat_mul(cells, dtype_bytes(b->type)) : 0;
}
/* Bytes between the rows of the result that one square writes. */
static int64_t rows_apart(const struct across *a) {
    const struct stmt *out = a->u->k->out;
    expr *idx = NEWN(&a->u->c->arena, expr, a->last + 1);
    for (int k = 0; k <= a->last; k++) idx[k] = x_var(a->u->c, out->u.stage.axes[k]);
    return bytes_apart(a->u, out->u.stage.buf, idx, out->u.stage.axes[a->axis]);
}
/* Are both axes, and a block of the operand's layout, long enough for the square? */
static bool fits_squares(void *env, const struct squares *q, int64_t *apart) {
    const struct across *a = env;
    const struct param_layout *l = layout_of(a->u->p, a->u->l, a->load->u.buf);
    int64_t across = const_extent(a->u->k->out->u.stage.axes[a->axis]);
    int cell = dtype_bytes(a->load->u.buf->type);
    *apart = rows_apart(a);
    if (q->bytes != cell || (a->along >= 0 && q->n > a->along)) return false;
    if (!q->planes) return (across < 0 || q->n <= across) && !(l && l->block % q->n);
    return across == q->planes &&
           bytes_apart(a->u, a->load->u.buf, a->load->arg, a->s->u.stage.axes[a->last]) == q->planes * cell;
}
static const char *transpose_squares(struct plan *u) {
    struct across a = across_of(u);
    struct word_list order = {0};
    const struct stmt *out = u->k->out;
    int first = a.last;
    if (a.axis < 0) return "nothing is read across";
    while (runs_on(&a, first - 1)) first--;
    a.along = cells_from(out, first);
    const struct squares *q = machine_squares(u->m, fits_squares, &a);
    int64_t rows = const_extent(out->u.stage.axes[a.axis]);
    if (!q) return "there are no squares of such cells to transpose";
    if (rows < 0 && a.along < 0) return "both axes are open: what is left of them would be two dozen nests";
    const char *across = loop_of(&a, a.axis), *cells = loop_of(&a, a.last);
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    for (int k = a.last - 1; k >= first; k--, cells = role.flat) step_fuse(&u->s, loop_of(&a, k), cells, role.flat);
    add_others(&a, first, &order);
    add_loops(&u->s, &order, LOOPS(across, cells));
    step_reorder(&u->s, order);
    step_split(&u->s, across, squares_rows(q), role.strips, role.strip, split_tail(rows, squares_rows(q)));
    step_reorder(&u->s, LOOPS(role.strips, cells, role.strip));
    /* the last square may overlap the one before; not along strips: threads share those, and no cell may be written
     * twice */
    step_split(&u->s, cells, q->n, role.cells, role.few, early_tail(a.along, q->n));
    step_reorder(&u->s, LOOPS(role.cells, role.few, role.strip));
    step_tensorize(&u->s, q->instr);
    return NULL;
}

/* ---- a few cells at a time */
/* Rows of the result that lie far apart share few sets of the first level of cache, and the hardware cannot prefetch
 * that many streams. So only as many rows as a set has ways are written at a time, provided that the part of the
 * operand read for them stays in the second level for the next ones. */
static bool takes_strips(const struct across *a) {
    struct plan *u = a->u;
    const struct stmt *out = u->k->out;
    int64_t n = const_extent(out->u.stage.axes[a->last]), rows = const_extent(out->u.stage.axes[a->axis]);
    int64_t result = rows_apart(a);
    int64_t operand = bytes_apart(u, a->load->u.buf, a->load->arg, a->s->u.stage.axes[a->last]);
    return u->m->l1.ways && rows > u->m->l1.ways && n > 0 && operand > 0 && operand < result &&
           sat_mul(n, operand) <= u->m->l2.bytes;
}
/* Bytes between the operand's cells along the result's last axis; 0: they are adjacent, or it is unknown. */
static int64_t lanes_apart(const struct across *a) {
    if (a->axis < 0) return 0;
    int64_t bytes = bytes_apart(a->u, a->load->u.buf, a->load->arg, a->s->u.stage.axes[a->last]);
    return bytes > dtype_bytes(a->load->u.buf->type) ? bytes : 0;
}
/* They are close enough together for vector loads. */
static bool in_lanes(const struct across *a) {
    int64_t bytes = lanes_apart(a);
    return bytes && bytes <= a->u->m->apart * dtype_bytes(a->load->u.buf->type);
}
bool is_across(struct plan *u) {
    struct across a = across_of(u);
    bool operand = a.load && a.load->u.buf->scope == SC_PARAM; /* what is inlined has other strides */
    return operand && lanes_apart(&a) && !in_lanes(&a);
}
bool is_across_in_lanes(struct plan *u) {
    struct across a = across_of(u);
    return in_lanes(&a);
}
/* A few cells at a time, so that a cache line of the operand is used up while it is cached. */
static const char *few_at_a_time(struct plan *u) {
    int tile = lanes_of(u);
    const struct stmt *out = u->k->out;
    struct across a = across_of(u);
    int64_t n = const_extent(out->u.stage.axes[a.last]);
    bool divided = a.axis < 0 && a.divisor > 1 && n > a.divisor && n % a.divisor == 0;
    if (divided) n = a.divisor;
    if (a.axis < 0 && !divided) return "nothing is read across";
    if (n >= 0 && n < 2 * tile) return "the axis that is read across is short";
    const char *across = divided ? role.part : loop_of(&a, a.axis);
    const char *along = divided ? role.along : loop_of(&a, a.last);
    struct word_list order = {0};
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    if (divided) step_split(&u->s, loop_of(&a, a.last), a.divisor, across, along, TAIL_NONE);
    add_others(&a, a.last, &order);
    bool strips = !divided && takes_strips(&a);
    add_loops(&u->s, &order, strips ? LOOPS(across, along) : LOOPS(along, across));
    step_reorder(&u->s, order);
    if (strips) {
        int ways = u->m->l1.ways;
        int64_t rows = const_extent(out->u.stage.axes[a.axis]);
        step_split(&u->s, across, ways, role.strips, role.strip, split_tail(rows, ways));
        across = role.strip;
        step_reorder(&u->s, LOOPS(role.strips, along, across));
    }
    step_split(&u->s, along, tile, role.cells, role.few, split_tail(n, tile));
    step_reorder(&u->s, LOOPS(role.cells, across, role.few));
    if (in_lanes(&a)) step_kind(&u->s, LK_VECTOR, LOOPS(role.few));
    return NULL;
}
const char *plan_across(struct plan *u, bool squares) { return squares ? transpose_squares(u) : few_at_a_time(u); }
