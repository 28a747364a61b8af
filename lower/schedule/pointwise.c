/* Schedules of maps into plain results, the gates of recurrent cells among them: one nest over the cells of all
 * results, adjacent axes fused, in vectors; values that several results need are computed once. See cpu.h,
 * docs/schedules.md. */
#include "ir/base/checked.h"
#include "lower/schedule/cpu.h"

enum { RESULTS_MAX = 8 };
struct cells {
    struct plan *u;
    const struct stmt *out[RESULTS_MAX];
    int nout, naxes, merged; /* merged: number of innermost axes that are fused */
    bool keep;               /* some value is worth keeping */
    const char *loop;        /* over contiguous cells */
};

/* ---- stages with several readers */
struct cost {
    int ops;
    bool heavy;
};
static bool count_cost(void *env, expr e) {
    struct cost *k = env;
    k->heavy |= e->op == X_CALL || e->op == X_DIV || e->op == X_SQRT;
    if (e->type != IDX && e->op != X_CONST) k->ops++;
    return true;
}
/* Is the stage worth a register until its last reader, instead of being recomputed for each? */
static bool worth_keeping(const struct problem *k, const struct stmt *s) {
    struct cost cost = {0};
    int readers = 0;
    if (s->u.stage.buf->scope == SC_PARAM) return false;
    x_visit(s->u.stage.value, count_cost, &cost);
    for (int i = 0; i < k->stages.n; i++) readers += stmt_reads(k->stages.v[i], s->u.stage.buf, NULL);
    return readers > 1 && (cost.heavy || cost.ops > 3);
}

/* ---- axes that are contiguous in memory */
struct merging {
    struct cells *q;
    const struct stmt *s;
    int outer, inner; /* axes */
    bool bad;
};
/* Does a step of the outer axis equal a full run of the inner one, in the index e itself? Loads that e depends on are
 * checked separately. */
static bool steps_on(struct ctx *c, expr e, const struct subst *next) {
    const expr *atoms;
    const int64_t *coefs;
    int64_t konst;
    expr rest = e;
    for (int k = x_terms(c, e, &konst, &atoms, &coefs); k-- > 0;)
        if (atoms[k]->op == X_TOIDX) rest = x_sub(c, rest, x_muli(c, atoms[k], coefs[k]));
    return x_is(x_sub(c, x_subst(c, rest, next), rest), 0);
}
static bool tests_place(expr e) { return xop_class(e->op) == XC_COMPARE && e->arg[0]->type == IDX; }
static bool check_merge(void *env, expr e) {
    struct merging *m = env;
    struct ctx *c = m->q->u->c;
    bool load = e->op == X_LOAD;
    if (!load && !tests_place(e)) return !(m->bad |= e->op == X_IDXVAL || e->op == X_GUARD);
    const struct param_layout *l = load ? layout_of(m->q->u->p, m->q->u->l, e->u.buf) : NULL;
    const struct var *a = m->s->u.stage.axes[m->outer], *b = m->s->u.stage.axes[m->inner];
    struct subst next = {{.arena = &c->arena}}; /* the next step of a is the end of b */
    map_put(&next.map, PKEY(a), (void *)x_addi(c, x_var(c, a), 1));
    map_put(&next.map, PKEY(b), (void *)x_sub(c, x_var(c, b), b->extent));
    expr place = load ? buf_offset(c, e->u.buf, e->arg) : x_sub(c, e->arg[0], e->arg[1]);
    m->bad |= (load && e->has_fill) || (l && l->spec) || !steps_on(c, place, &next);
    return !m->bad;
}
/* A map that others read along other axes (a table for each column, several of whose rows become one) is computed in
 * its own nest, unless that would have more cells than its readers. */
static bool has_nest(const struct plan *u, const struct stmt *s) {
    if (s->u.stage.buf->scope == SC_PARAM) return true;
    for (int i = 0; i < u->k->stages.n; i++) {
        const struct stmt *reader = u->k->stages.v[i];
        int64_t n = stage_cells(s);
        if (stmt_reads(reader, s->u.stage.buf, NULL) && !same_axes(reader, s) &&
            (n == INT64_MAX || n <= stage_cells(reader)))
            return true;
    }
    return false;
}
/* Can axis k be fused with those inside of it? Axes of one cell can be fused with any. */
static bool merges(struct cells *q, int k) {
    for (int i = 0; i < q->u->k->stages.n; i++) {
        const struct stmt *s = q->u->k->stages.v[i];
        struct merging m = {q, s, k, k + 1, false};
        if (!same_axes(s, q->out[0])) {
            if (!has_nest(q->u, s)) return false;
            continue;
        }
        const struct param_layout *l = layout_of(q->u->p, q->u->l, s->u.stage.buf);
        if (l && l->spec) return false;
        while (m.inner < q->naxes && x_is(s->u.stage.axes[m.inner]->extent, 1)) m.inner++;
        if (m.inner == q->naxes || x_is(s->u.stage.axes[k]->extent, 1)) continue;
        x_visit(s->u.stage.value, check_merge, &m);
        if (m.bad) return false;
    }
    return true;
}

/* ---- the steps */
static const char *loop_of(struct cells *q, const struct stmt *s, int axis) { return axis_loop(q->u->c, s, axis); }
static void nest_of_cells(struct cells *q) {
    struct step_list *s = &q->u->s;
    for (int i = 1; i < q->nout; i++)
        for (int k = 0; k < q->naxes; k++) step_join(s, loop_of(q, q->out[0], k), loop_of(q, q->out[i], k));
    q->loop = loop_of(q, q->out[0], q->naxes - 1);
    for (int k = q->naxes - 2; k >= q->naxes - q->merged; k--) {
        step_fuse(s, loop_of(q, q->out[0], k), q->loop, role.flat);
        q->loop = role.flat;
    }
}
/* A copy of an operand's cells, wherever they lie. */
static bool gathers(const struct stmt *s) {
    expr e = s->u.stage.value;
    return s->u.stage.buf->scope != SC_PARAM && e->op == X_LOAD && e->u.buf->scope == SC_PARAM;
}
/* Kept in registers for each vector of results; otherwise computed where it is read. */
static bool is_kept(const struct problem *k, const struct point *p, const struct stmt *s) {
    return p->u.cells.way == CELLS_GATHERED ? gathers(s) : p->u.cells.keep && worth_keeping(k, s);
}
static void write_cells(struct cells *q, const struct point *p) {
    struct plan *u = q->u;
    const struct problem *k = u->k;
    int lanes = p->u.cells.n;
    layout_steps(&u->s, u->p, u->l);
    for (int i = 0; i < k->stages.n; i++)
        if (k->stages.v[i]->u.stage.buf->scope != SC_PARAM && !is_kept(k, p, k->stages.v[i]))
            step_inline(&u->s, k->stages.v[i]->u.stage.buf->base);
    nest_of_cells(q);
    if (lanes > 1)
        step_split(&u->s, q->loop, lanes, role.cells, role.lane,
                   p->u.cells.way == CELLS_EARLY ? TAIL_OVERLAP : TAIL_CUT2);
    struct word_list vectors = {0}, gathered = {0};
    add_loop(&u->s, &vectors, role.lane);
    for (int i = k->stages.n; i--;)
        if (is_kept(k, p, k->stages.v[i]))
            step_compute_at(&u->s, k->stages.v[i]->u.stage.buf->base, lanes > 1 ? role.cells : q->loop, SC_REG);
    for (int i = 0; i < k->stages.n; i++)
        if (is_kept(k, p, k->stages.v[i]))
            add_loop(&u->s, gathers(k->stages.v[i]) ? &gathered : &vectors, loop_of(q, k->stages.v[i], q->naxes - 1));
    if (lanes < 2) return;
    if (p->u.cells.way == CELLS_GATHERED) step_kind(&u->s, LK_UNROLL, gathered);
    step_kind(&u->s, p->u.cells.way == CELLS_UNROLLED ? LK_UNROLL : LK_VECTOR, vectors);
}

/* ---- stages of other axes: each has a nest, in vectors where cells are contiguous */
struct lanes {
    struct plan *u;
    const struct var *v;
    bool bad, looked_up;
};
static bool check_lanes(void *env, expr e) {
    struct lanes *q = env;
    const struct param_layout *l = e->op == X_LOAD ? layout_of(q->u->p, q->u->l, e->u.buf) : NULL;
    expr rest;
    int64_t stride = 0;
    q->looked_up |= e->op == X_GUARD || e->op == X_TOIDX;
    q->bad |= e->op == X_GUARD || (e->op == X_LOAD && e->has_fill);
    q->bad |= l && l->spec && operand_uses(q->u->c, e, q->v); /* without a layout all lanes would read the same cell */
    if (e->op == X_LOAD && !q->bad && !x_looked_up(q->u->c, buf_offset(q->u->c, e->u.buf, e->arg), q->v))
        q->bad = !x_linear_in(q->u->c, buf_offset(q->u->c, e->u.buf, e->arg), q->v, &stride, &rest) || stride < 0 ||
                 stride > q->u->m->apart;
    return true;
}
/* The innermost axis of more than one cell; if there is none, the last one. */
static const struct var *lanes_axis(const struct stmt *s) {
    const struct var *v = NULL;
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (!v || !x_is(s->u.stage.axes[k]->extent, 1)) v = s->u.stage.axes[k];
    return v;
}
/* Strided vector loads exist, but are no faster than scalar ones on this machine. */
static bool check_apart(void *env, expr e) {
    struct lanes *q = env;
    expr rest;
    int64_t stride;
    if (e->op == X_LOAD && !e->has_fill &&
        x_linear_in(q->u->c, buf_offset(q->u->c, e->u.buf, e->arg), q->v, &stride, &rest))
        q->bad |= stride > q->u->m->apart && stride <= LANES_APART;
    return true;
}
static bool is_too_far_apart(struct plan *u) {
    struct lanes q = {.u = u};
    for (int i = 0; i < u->k->stages.n; i++)
        if ((q.v = lanes_axis(u->k->stages.v[i]))) x_visit(u->k->stages.v[i]->u.stage.value, check_apart, &q);
    return q.bad;
}
/* The cells of a stage's nest, and of the stages inlined into it. */
static struct lanes find_lanes(struct plan *u, const struct stmt *of) {
    const struct param_layout *l = layout_of(u->p, u->l, of->u.stage.buf);
    struct lanes q = {.u = u, .bad = l && l->block};
    for (int i = 0; i < u->k->stages.n; i++) {
        const struct stmt *s = u->k->stages.v[i];
        if (s != of && (has_nest(u, s) || !same_axes(s, of))) continue;
        q.v = lanes_axis(s);
        x_visit(s->u.stage.value, check_lanes, &q);
    }
    return q;
}
static void write_apart(struct plan *u) {
    layout_steps(&u->s, u->p, u->l);
    for (int i = 0; i < u->k->stages.n; i++)
        if (!has_nest(u, u->k->stages.v[i])) step_inline(&u->s, u->k->stages.v[i]->u.stage.buf->base);
    for (int i = 0; i < u->k->stages.n; i++) {
        const struct stmt *s = u->k->stages.v[i];
        struct cells q = {.u = u, .out = {s}, .nout = 1, .naxes = s->u.stage.naxes, .merged = 1};
        const char *base = s->u.stage.buf->base, *lane = loop_in(u, base, role.lane);
        if (!has_nest(u, s) || !x_has(s->u.stage.value, XF_LOAD)) continue; /* a table of indices takes no time */
        struct lanes lanes = find_lanes(u, s);
        while (q.merged < q.naxes && merges(&q, q.naxes - 1 - q.merged)) q.merged++;
        nest_of_cells(&q);
        step_split(&u->s, q.loop, lanes.bad && lanes.looked_up ? LOOKED_UP : lanes_of(u), loop_in(u, base, role.cells),
                   lane, TAIL_CUT2);
        step_kind(&u->s, lanes.bad ? LK_UNROLL : LK_VECTOR, LOOPS(lane));
    }
}
static bool may_stand_apart(const struct problem *k) {
    for (int i = 0; i < k->stages.n; i++)
        if (!k->stages.v[i]->u.stage.naxes) return false;
    return !k->nreductions;
}

/* ---- the points */
static const char *find_cells(struct plan *u, struct cells *q) {
    const struct problem *k = u->k;
    *q = (struct cells){.u = u, .merged = 1};
    if (k->nreductions || k->out->u.stage.naxes < 1) return "not maps alone, over axes";
    for (int i = 0; i < k->stages.n; i++) {
        const struct stmt *s = k->stages.v[i];
        bool result = s->u.stage.buf->scope == SC_PARAM;
        if (!same_axes(s, k->out) && (result || k->cls != PROBLEM_MOVE)) return "its stages have other axes";
        q->keep |= worth_keeping(k, s);
        if (!result) continue;
        if (q->nout == RESULTS_MAX) return "too many results";
        q->out[q->nout++] = s;
    }
    q->naxes = k->out->u.stage.naxes;
    return lanes_of(u) < 2 && !q->keep ? "there are no vectors, and nothing is worth keeping" : NULL;
}
static struct point *add_cells(struct plan *u, struct points *out, enum cells_way way, int merged) {
    struct point *p = add_point(u, out, &strategy_pointwise);
    p->u.cells.way = way, p->u.cells.merged = merged, p->u.cells.n = lanes_of(u);
    return p;
}
/* A move whose last axis is shorter than a vector, while cells are contiguous along another one: splitting into pieces
 * of vectors would keep C compilers from vectorising the loop of that other axis. */
static bool is_short_across(struct plan *u, const struct cells *q) {
    int64_t n = const_extent(u->k->out->u.stage.axes[q->naxes - 1]);
    return u->k->cls == PROBLEM_MOVE && q->merged == 1 && n > 1 && n < lanes_of(u) && is_across(u);
}
static const char *pointwise_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    struct cells q;
    const char *why = find_cells(u, &q);
    if (why && lanes_of(u) > 1 && may_stand_apart(k)) return add_cells(u, out, CELLS_APART, 0), NULL;
    if (why) return why;
    if (lanes_of(u) > 1 && !q.keep && k->nresults == 1 && is_across_in_lanes(u)) add_cells(u, out, CELLS_ACROSS, 1);
    while (!q.keep && q.merged < q.naxes && merges(&q, q.naxes - 1 - q.merged)) q.merged++;
    if (q.keep || !is_short_across(u, &q)) add_cells(u, out, CELLS_LANES, q.merged)->u.cells.keep = q.keep;
    if (lanes_of(u) < 2 || q.keep) return NULL;
    int64_t n = const_extent(k->out->u.stage.axes[q.naxes - 1]);
    if (q.merged == 1 && q.naxes > 1 && n > lanes_of(u) && n % lanes_of(u)) add_cells(u, out, CELLS_EARLY, 1);
    if (k->nresults == 1) add_cells(u, out, CELLS_SQUARES, 1), add_cells(u, out, CELLS_ACROSS, 1);
    const struct param_layout *l = layout_of(u->p, u->l, k->out->u.stage.buf);
    bool gathered = false;
    for (int i = 0; i < k->stages.n; i++) gathered |= gathers(k->stages.v[i]);
    if (k->cls == PROBLEM_MOVE || (l && l->spec)) { /* cells of maps are contiguous */
        struct point *written = add_cells(u, out, CELLS_UNROLLED, q.merged);
        if (k->indirect || k->guarded) written->u.cells.n = LOOKED_UP;
    } else if (gathered) add_cells(u, out, CELLS_GATHERED, 1);
    return NULL;
}
static const char *pointwise_steps(struct plan *u, const struct point *p) {
    struct cells q;
    if (p->u.cells.way == CELLS_APART) return write_apart(u), NULL;
    find_cells(u, &q);
    if (p->u.cells.way == CELLS_SQUARES || p->u.cells.way == CELLS_ACROSS)
        return plan_across(u, p->u.cells.way == CELLS_SQUARES);
    bool vectors = p->u.cells.n > 1 && (p->u.cells.way == CELLS_LANES || p->u.cells.way == CELLS_EARLY);
    if (vectors && is_too_far_apart(u)) return "cells lie too far apart for vectors of this machine";
    q.merged = p->u.cells.merged;
    write_cells(&q, p);
    return NULL;
}
static void print_pointwise(struct text *t, struct plan *u, const struct point *p) {
    static const char *const ways[] = {[CELLS_LANES] = "",
                                       [CELLS_EARLY] = ", the last vector early",
                                       [CELLS_SQUARES] = "squares transposed in registers",
                                       [CELLS_ACROSS] = "a few cells at a time, across",
                                       [CELLS_UNROLLED] = ", cells one by one",
                                       [CELLS_GATHERED] = "what lies apart one by one, then in vectors",
                                       [CELLS_APART] = "each stage by itself"};
    (void)u;
    if (p->u.cells.way == CELLS_LANES || p->u.cells.way == CELLS_EARLY || p->u.cells.way == CELLS_UNROLLED)
        text_printf(t, "innermost axes as one: %d%s", p->u.cells.merged, p->u.cells.keep ? ", shared values kept" : "");
    text_add(t, ways[p->u.cells.way]);
}
const struct strategy strategy_pointwise = {"pointwise", pointwise_points, pointwise_steps, print_pointwise};
