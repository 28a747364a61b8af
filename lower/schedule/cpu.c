/* What the strategies for CPUs share, and the last of them: plain loops. See cpu.h, docs/schedules.md. */
#include "lower/schedule/cpu.h"
#include "ir/base/checked.h"

const struct param_layout *layout_of(const struct proc *p, const struct param_layout *l, const struct buf *b) {
    int k = l ? proc_param_at(p, b) : -1;
    return k < 0 ? NULL : &l[k];
}
void layout_steps(struct step_list *s, const struct proc *p, const struct param_layout *l) {
    struct step layout;
    for (int k = 0; l && k < p->params.n; k++) {
        if (!l[k].spec) continue;
        if (!layout_parse(s->c, p, l[k].spec, p->params.v[k].buf->base, &layout)) BUG("layout %s", l[k].spec);
        PUSH(&s->c->arena, s, layout);
    }
}
const char *axis_loop(struct ctx *c, const struct stmt *s, int k) {
    return internf(c->names, "%s.%s", s->u.stage.buf->base, s->u.stage.axes[k]->name);
}
const char *red_loop(struct ctx *c, const struct stmt *s, int k) {
    return internf(c->names, "%s.%s", s->u.stage.buf->base, s->u.stage.red[k]->name);
}
/* A map of few cells that its readers would otherwise recompute many times. */
static bool is_table(const struct plan *u, const struct stmt *s) {
    enum { TIMES = 8 };
    bool table = !u->m->gpu && costs_much(s->u.stage.value);
    int64_t cells = stage_cells(s);
    for (int i = 0; i < u->k->stages.n && table; i++) {
        const struct stmt *reader = u->k->stages.v[i];
        if (!stmt_reads(reader, s->u.stage.buf, NULL)) continue;
        int64_t n = stage_cells(reader);
        table = stage_loops(s) < stage_loops(reader) && (n == INT64_MAX || (cells < INT64_MAX && cells <= n / TIMES));
    }
    return table;
}
void plan_inline_others(struct plan *u, bool (*stays)(struct plan *u, const struct stmt *s)) {
    for (int i = 0; i < u->k->stages.n; i++) {
        const struct stmt *s = u->k->stages.v[i];
        if (s->u.stage.op == RED_NONE && s->u.stage.buf->scope != SC_PARAM && !is_table(u, s) &&
            !(stays && stays(u, s)))
            step_inline(&u->s, s->u.stage.buf->base);
    }
}
void plan_inline_maps(struct plan *u) { plan_inline_others(u, NULL); }
void plan_tiles(struct plan *u, const char *loop, const char *outer, const char *inner, int64_t extent, int64_t unit,
                int64_t most) {
    int64_t units = (extent + unit - 1) / unit, tiles = (units + most - 1) / most, q = units / tiles * unit,
            more = units % tiles, lacking = units * unit - extent;
    const struct tile_size runs[] = {{q + unit, more}, {q, tiles - more - (lacking > 0)}, {q - lacking, lacking > 0}};
    struct tile_size sizes[3];
    int n = 0;
    for (int k = 0; k < 3; k++)
        if (runs[k].count) sizes[n++] = runs[k];
    if (!more && !lacking) step_split(&u->s, loop, q, outer, inner, TAIL_NONE);
    else step_tiles(&u->s, loop, outer, inner, sizes, n);
}
void plan_lone_row(struct plan *u, const char *lane, const char *group, const char *row, int64_t cells, int64_t nv,
                   int64_t panels) {
    const char *outer = loop_in(u, role.lone, role.panels);
    group = loop_in(u, role.lone, group), row = loop_in(u, role.lone, row);
    plan_tiles(u, loop_in(u, role.lone, lane), outer, role.panel_cell, cells, nv, panels);
    step_reorder(&u->s, LOOPS(outer, group, row, role.panel_cell));
    step_split(&u->s, row, 1, role.row_tiles, role.tile_row, TAIL_NONE);
}
const char *plan_fused(struct plan *u, struct word_list loops, const char *base) {
    const char *all = loops.v[0];
    for (int k = 1; k < loops.n; k++) {
        const char *name = internf(u->c->names, "%s.cell%d", base, k);
        step_fuse(&u->s, all, loops.v[k], name);
        all = name;
    }
    return all;
}
int64_t stage_cells(const struct stmt *s) {
    int64_t cells = 1;
    for (int k = 0; k < s->u.stage.naxes; k++) {
        int64_t n = const_extent(s->u.stage.axes[k]);
        cells = n < 0 ? INT64_MAX : sat_mul(cells, n);
    }
    return cells;
}
const char *loop_in(struct plan *u, const char *base, const char *name) {
    return name ? internf(u->c->names, "%s.%s", base, name) : NULL;
}
struct dim_scan {
    const struct buf *b;
    const struct var *v;
    int dim;
};
static bool scan_dim(void *env, expr e) {
    struct dim_scan *q = env;
    int d = e->op == X_LOAD && e->u.buf == q->b ? dim_of(e, q->v) : -1;
    if (d >= 0) q->dim = d;
    return true;
}
int dim_in(expr e, const struct buf *b, const struct var *v) {
    struct dim_scan q = {b, v, -1};
    x_visit(e, scan_dim, &q);
    return q.dim;
}

/* The dim of a constant that its loads index by the axis of the channels, if it has a cell for each channel; -1:
 * none. */
static int channel_dim(const struct plan *u, const struct buf *b) {
    int dim = -1;
    for (int k = 0; k < u->k->stages.n; k++) {
        const struct stmt *s = u->k->stages.v[k];
        const expr read[] = {s->u.stage.value, s->u.stage.init};
        for (int i = 0; i < 2 && s->u.stage.naxes > 1; i++) {
            int d = read[i] ? dim_in(read[i], b, s->u.stage.axes[1]) : -1;
            if (d >= 0) dim = d;
        }
    }
    return dim;
}
/* The channels are innermost already, without a layout. */
static bool is_last(const struct buf *b, int dim) {
    for (int d = dim + 1; d < b->nlogical; d++)
        if (!x_is(b->logical[d], 1)) return false;
    return true;
}
void plan_blocks(struct plan *u, const char *buf, int n, int dim, int64_t block) {
    struct layout_dims dims = {0};
    for (int d = 0; d < n; d++) add_dim(&u->s, &dims, d == dim ? dim_div(d, block) : dim_whole(d));
    add_dim(&u->s, &dims, dim_mod(dim, block));
    step_layout(&u->s, buf, dims);
}
void plan_group(struct plan *u, struct layout_dims *dims, const struct micro *micro, int lanes, int nv, int n, int k) {
    int k0 = micro->k0, side = micro->side;
    if (side < k0) { /* vector by vector */
        if (nv > lanes) add_dim(&u->s, dims, dim_digit(n, lanes, nv / lanes));
        add_dim(&u->s, dims, side > 1 ? dim_digit(k, side, k0 / side) : dim_mod(k, k0));
    }
    add_dim(&u->s, dims, dim_mod(n, side < k0 ? lanes : nv));
    if (side > 1) add_dim(&u->s, dims, dim_mod(k, side));
}
struct lane_reads {
    struct plan *u;
    const struct var *lane;
    int lanes;
    laid_bufs *laid;
};
static bool put_in_lanes(void *env, expr e) {
    struct lane_reads *q = env;
    if (e->op != X_LOAD || !is_constant(e->u.buf)) return true;
    for (int k = 0; k < q->laid->n; k++)
        if (q->laid->v[k] == e->u.buf) return true;
    PUSH(&q->u->c->arena, q->laid, e->u.buf);
    int dim = dim_of(e, q->lane);
    if (dim >= 0) plan_blocks(q->u, e->u.buf->base, e->u.buf->nlogical, dim, q->lanes);
    return true;
}
void plan_lanes(struct plan *u, expr e, const struct var *lane, int lanes, laid_bufs *laid) {
    x_visit(e, put_in_lanes, &(struct lane_reads){u, lane, lanes, laid});
}
void plan_innermost(struct plan *u, const char *buf, int n, int dim) {
    struct layout_dims dims = {0};
    for (int d = 0; d < n; d++)
        if (d != dim) add_dim(&u->s, &dims, dim_whole(d));
    add_dim(&u->s, &dims, dim_whole(dim));
    step_layout(&u->s, buf, dims);
}
bool few_terms(const struct stmt *sum) {
    enum { FEW = 25 };
    int64_t n = 1;
    for (int k = 0; k < sum->u.stage.nred; k++) {
        int64_t terms = const_extent(sum->u.stage.red[k]);
        n = terms > 0 ? sat_mul(n, terms) : INT64_MAX;
    }
    return n <= FEW;
}
void plan_channels(struct plan *u, const struct stmt *out, const struct buf *besides) {
    int lanes = lanes_of(u);
    bool full = const_extent(out->u.stage.axes[1]) % lanes == 0;
    for (int i = 0; i < u->p->params.n; i++) {
        const struct buf *b = u->p->params.v[i].buf;
        int dim = b->data && b != besides ? channel_dim(u, b) : -1;
        if (dim < 0 || (full && is_last(b, dim))) continue;
        plan_blocks(u, b->base, b->nlogical, dim, lanes);
    }
}
void plan_widen(struct plan *u, const char *acc, const struct stmt *out) {
    int lanes = lanes_of(u);
    if (const_extent(out->u.stage.axes[1]) % lanes == 0) return;
    if (acc) step_widen(&u->s, acc, lanes);
    step_widen(&u->s, axis_loop(u->c, out, 1), lanes);
}

const char *no_blocks(struct plan *u, const struct buf *b) {
    const struct param_layout *ly = layout_of(u->p, u->l, b);
    if (lanes_of(u) < 2) return "there are no vectors";
    return ly && ly->block && ly->block % lanes_of(u) == 0 ? NULL : "the result has no blocks of channels";
}

/* ---- one nest over contiguous memory; the C compiler may vectorise what stays scalar */
static const char *plain_points(struct plan *u, struct points *out) {
    if (u->k->stages.n && !u->m->gpu) add_point(u, out, &strategy_plain)->u.inlined = true;
    add_point(u, out, &strategy_plain);
    return NULL;
}
static const char *plain_steps(struct plan *u, const struct point *p) {
    layout_steps(&u->s, u->p, u->l);
    if (p->u.inlined) plan_inline_maps(u);
    return NULL;
}
static void print_plain(struct text *t, struct plan *u, const struct point *p) {
    (void)u;
    text_add(t, p->u.inlined ? "maps inlined" : "as it is");
}
const struct strategy strategy_plain = {"plain loops", plain_points, plain_steps, print_plain};
