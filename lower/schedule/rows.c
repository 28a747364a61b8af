/* Row kernels: softmax, norms and every other group of stages that share rows (lower/problem/row_space.h). One loop
 * holds the stages of one row, or of a vector of adjacent rows; intermediate values stay in registers or in scratch
 * memory for that row. Tried before the plain schedule. What is written and why: docs/schedules.md. */
#include "ir/base/checked.h"
#include "lower/schedule/rows_strategy.h"
#include <math.h>
#include <string.h>

/* ---- the steps */
static const char *loop(struct rows *q, const char *buf, const struct var *v) { return loop_in(q->u, buf, v->name); }
/* A name with the number of the stage. */
static const char *numbered(struct rows *q, const struct row_stage *st, const char *name) {
    return internf(q->u->c->names, "%s%d", name, (int)(st - q->v));
}
static const char *part(struct rows *q, const struct row_stage *st) { return numbered(q, st, role.partial); }
static const char *half(struct rows *q, const struct row_stage *st) { return numbered(q, st, role.halved); }
static void partial_sums(struct rows *q, struct row_stage *st) {
    struct step_list *s = &q->u->s;
    struct word_list run = {0};
    int nred = st->s->u.stage.nred;
    if (!st->parts) return;
    st->lane_loop = loop(q, st->name, st->lane);
    for (int k = nred - st->fused; k < nred; k++) add_loop(s, &run, loop(q, st->name, st->s->u.stage.red[k]));
    if (st->fused > 1) st->lane_loop = plan_fused(q->u, run, st->name);
    if (st->open) { /* so that the remainder after several vectors is done one vector at a time */
        step_rfactor(s, st->name, st->lane_loop, st->lanes, half(q, st));
        step_rfactor(s, half(q, st), loop_in(q->u, half(q, st), RFACTOR_LOOP), st->parts / st->lanes, part(q, st));
        return;
    }
    step_rfactor(s, st->name, st->lane_loop, st->parts, part(q, st));
    if (st->parts > st->lanes) step_rfactor(s, st->name, loop_in(q->u, st->name, RFACTOR_LANE), st->lanes, half(q, st));
}
/* Rows outside, their cells inside; lanes over rows go innermost. */
static void nest_of_rows(struct rows *q) {
    struct step_list *l = &q->u->s;
    const struct stmt *s = q->out->s;
    const char *base = q->u->k->out->u.stage.buf->base;
    const struct var *lane = q->mode == LANES_OUTER ? q->out->lane : NULL;
    struct word_list rows = {0}, cells = {0};
    for (int k = 0; k < s->u.stage.naxes; k++) {
        const struct var *v = s->u.stage.axes[k];
        if (v == lane) continue;
        bool inner = row_role(&q->r, v) == ROW_INNER;
        add_loop(l, inner ? &cells : &rows, loop(q, base, v));
        if (!inner) q->at = loop(q, base, v);
    }
    if (lane) add_loop(l, &rows, loop(q, base, lane));
    add_loops(l, &rows, cells);
    step_reorder(l, rows);
    if (!lane) return;
    step_split(l, loop(q, base, lane), lanes_of(q->u), role.rows, role.lane, TAIL_CUT2);
    add_loop(l, &cells, role.lane);
    step_reorder(l, cells);
    q->at = role.rows;
}
/* The k-th axis over rows of a result. If there is a single row, a first axis of extent 1 counts as one. NULL: none. */
static const struct var *row_axis(const struct rows *q, const struct row_stage *st, int k) {
    const struct stmt *s = st->s;
    if (q->r.n) return k < q->r.n ? rows_axis_of_role(q, s, k) : NULL;
    return !k && s->u.stage.naxes && x_is(s->u.stage.axes[0]->extent, 1) ? s->u.stage.axes[0] : NULL;
}
/* How many row axes all results have: with a single row, some may have an axis of extent 1 where others have none. */
static int rows_of_all_results(const struct rows *q) {
    int least = MAX_STAGES;
    for (int i = 0; i < q->n; i++) {
        int n = 0;
        if (!q->v[i].result) continue;
        while (row_axis(q, &q->v[i], n)) n++;
        if (n < least) least = n;
    }
    return least;
}
/* Joins the nests of several results over the rows; inside, each has its own loops over cells. */
static void join_rows(struct rows *q) {
    struct step_list *l = &q->u->s;
    const struct row_stage *first = NULL;
    int shared = rows_of_all_results(q);
    for (int i = 0; i < q->n; i++) {
        const struct row_stage *st = &q->v[i];
        const char *base = st->s->u.stage.buf->base;
        struct word_list order = {0};
        const struct var *v;
        if (!st->result) continue;
        for (int k = 0; (v = row_axis(q, st, k)); k++) add_loop(l, &order, loop(q, base, v));
        for (int k = 0; k < st->s->u.stage.naxes; k++) {
            v = st->s->u.stage.axes[k];
            if (row_role(&q->r, v) < 0 && v != row_axis(q, st, 0)) add_loop(l, &order, loop(q, base, v));
        }
        step_reorder(l, order);
        for (int k = 0; first && k < shared; k++)
            step_join(l, loop(q, first->s->u.stage.buf->base, row_axis(q, first, k)), order.v[k]);
        if (!first) first = st;
    }
    for (int k = 0; k < shared; k++) q->at = loop(q, first->s->u.stage.buf->base, row_axis(q, first, k));
}
static enum scope scratch_scope(const struct rows *q, const struct row_stage *st) {
    int64_t cells = q->mode == LANES_OUTER ? lanes_of(q->u) : 1;
    if (st->scalar) return SC_REG;
    for (int k = 0; k < st->s->u.stage.naxes; k++) {
        const struct var *v = st->s->u.stage.axes[k];
        if (row_role(&q->r, v) != ROW_INNER) continue;
        if (const_extent(v) < 0 || const_extent(v) > q->u->m->stack_cells) return SC_ARENA;
        cells *= const_extent(v);
    }
    return cells > q->u->m->stack_cells ? SC_ARENA : SC_STACK;
}
static void place_stage(struct rows *q, const struct row_stage *st) {
    struct step_list *s = &q->u->s;
    if (!q->at) return;
    step_compute_at(s, st->name, q->at, scratch_scope(q, st));
    if (st->parts > st->lanes) step_compute_at(s, half(q, st), q->at, SC_PARAM);
    if (st->parts) step_compute_at(s, part(q, st), q->at, SC_PARAM);
}
static void axes_inside(struct rows *q, const struct row_stage *st, const char *name, struct word_list *to) {
    for (int k = 0; k < st->s->u.stage.naxes; k++)
        if (st->s->u.stage.axes[k] != st->lane) add_loop(&q->u->s, to, loop(q, name, st->s->u.stage.axes[k]));
}
static void reduced_outside(struct rows *q, const struct row_stage *st, const char *name, struct word_list *to) {
    int fused = st->fused > 1 ? st->fused : 0;
    for (int k = 0; k < st->s->u.stage.nred - fused; k++)
        if (st->s->u.stage.red[k] != st->lane) add_loop(&q->u->s, to, loop(q, name, st->s->u.stage.red[k]));
}
struct along {
    struct rows *q;
    const struct row_stage *st;
};
/* Packs a constant so that the cells of a vector are contiguous (the channels of a convolution's weights). */
static bool lay_constant(void *env, expr e) {
    struct along *f = env;
    int at = e->op == X_LOAD && is_constant(e->u.buf) ? dim_of(e, f->st->lane) : -1;
    if (at >= 0 && at != e->u.buf->nlogical - 1) plan_innermost(f->q->u, e->u.buf->base, e->u.buf->nlogical, at);
    return true;
}
/* The same along an axis of open size: full vectors, each for one result; then the remainder cell by cell. */
static void open_reduction(struct rows *q, const struct row_stage *st) {
    struct step_list *s = &q->u->s;
    const char *p = part(q, st), *h = half(q, st), *group = loop_in(q->u, p, RFACTOR_GROUP);
    struct word_list vectors = {0}, sum = {0}, rest = {0};
    int naxes = st->s->u.stage.naxes;
    plan_innermost(q->u, p, naxes + 2, naxes);
    reduced_outside(q, st, p, &vectors);
    add_loop(s, &vectors, loop_in(q->u, p, RFACTOR_LOOP));
    axes_inside(q, st, p, &vectors);
    add_loops(s, &vectors, LOOPS(group, loop_in(q->u, p, RFACTOR_LANE)));
    step_reorder(s, vectors);
    add_loop(s, &sum, loop_in(q->u, h, RFACTOR_GROUP));
    reduced_outside(q, st, h, &rest);
    add_loop(s, &rest, loop_in(q->u, h, RFACTOR_REST));
    bool left = !x_is(x_modi(q->u->c, x_divi(q->u->c, st->open, st->lanes), st->parts / st->lanes), 0);
    for (int k = 0; k <= left; k++) {
        struct word_list *order = k ? &rest : &sum;
        axes_inside(q, st, h, order);
        add_loop(s, order, loop_in(q->u, h, RFACTOR_LANE));
        step_reorder(s, *order);
    }
    step_kind(s, LK_UNROLL, LOOPS(group, loop_in(q->u, h, RFACTOR_GROUP)));
    step_kind(s, LK_VECTOR, LOOPS(loop_in(q->u, p, RFACTOR_LANE)));
    step_kind(s, LK_VECTOR, LOOPS(loop_in(q->u, h, RFACTOR_LANE)));
    step_kind(s, LK_VECTOR, LOOPS(loop_in(q->u, st->name, RFACTOR_LANE)));
}
/* Partial results in several vectors, which are added to one; its lanes are then reduced in order. */
static void vector_reduction(struct rows *q, const struct row_stage *st) {
    struct step_list *s = &q->u->s;
    const char *p = part(q, st), *h = half(q, st);
    const char *lane = loop_in(q->u, p, RFACTOR_LANE), *vectors = loop_in(q->u, p, role.part_vectors),
               *vector = loop_in(q->u, p, role.part_lane);
    struct word_list order = {0}, halved = {0};
    x_visit(st->s->u.stage.value, lay_constant, &(struct along){q, st});
    if (st->open) {
        open_reduction(q, st);
        return;
    }
    reduced_outside(q, st, p, &order);
    add_loop(s, &order, loop_in(q->u, p, RFACTOR_LOOP));
    axes_inside(q, st, p, &order);
    add_loop(s, &order, lane);
    step_reorder(s, order);
    if (st->parts > st->lanes) {
        step_split(s, lane, st->lanes, vectors, vector, TAIL_NONE);
        step_kind(s, LK_UNROLL, LOOPS(vectors));
        step_kind(s, LK_VECTOR, LOOPS(vector));
        add_loop(s, &halved, loop_in(q->u, h, RFACTOR_LOOP));
        axes_inside(q, st, h, &halved);
        add_loop(s, &halved, loop_in(q->u, h, RFACTOR_LANE));
        step_reorder(s, halved);
        step_kind(s, LK_UNROLL, LOOPS(loop_in(q->u, h, RFACTOR_LOOP)));
        step_kind(s, LK_VECTOR, LOOPS(loop_in(q->u, h, RFACTOR_LANE)));
    } else step_kind(s, LK_VECTOR, LOOPS(lane));
    step_kind(s, LK_VECTOR, LOOPS(loop_in(q->u, st->name, RFACTOR_LANE)));
}
/* The axes from..end but that of the lanes: either those of the cells in a row (inner), or those of the rows. */
static void other_axes(struct rows *q, const struct row_stage *st, bool inner, int from, int end,
                       struct word_list *to) {
    for (int k = from; k < end; k++) {
        const struct var *v = st->s->u.stage.axes[k];
        if (v != st->lane && (row_role(&q->r, v) == ROW_INNER) == inner) add_loop(&q->u->s, to, loop(q, st->name, v));
    }
}
static void vector_cells(struct rows *q, const struct row_stage *st) {
    const char *lane = numbered(q, st, role.lane), *cells = numbered(q, st, role.cells);
    const struct stmt *s = st->s;
    struct word_list order = {0};
    step_split(&q->u->s, loop(q, st->name, st->lane), lanes_of(q->u), cells, lane, TAIL_CUT2);
    int n = s->u.stage.naxes, at = 0;
    while (s->u.stage.axes[at] != st->lane) at++;
    if (at != n - 1 || s->u.stage.nred) { /* blocks of channels; reductions go outside of the lanes */
        if (!st->result)
            other_axes(q, st, false, 0, n, &order); /* scratch is for one row; a result's rows are outside */
        other_axes(q, st, true, 0, at, &order);     /* in their order: a split makes two nests of them */
        add_loop(&q->u->s, &order, cells);
        other_axes(q, st, true, at, n, &order);
        reduced_outside(q, st, st->name, &order);
        add_loop(&q->u->s, &order, lane);
        step_reorder(&q->u->s, order);
    }
    step_kind(&q->u->s, LK_VECTOR, LOOPS(lane));
}
/* Lanes over rows: scratch memory has the rows innermost, and reductions go outside of them. */
static void vector_rows(struct rows *q, const struct row_stage *st) {
    const struct stmt *s = st->s;
    struct word_list order = {0};
    int lane = 0;
    while (s->u.stage.axes[lane] != st->lane) lane++;
    plan_innermost(q->u, st->name, s->u.stage.naxes, lane);
    reduced_outside(q, st, st->name, &order);
    struct word_list taps = order;
    axes_inside(q, st, st->name, &order);
    add_loop(&q->u->s, &order, loop(q, st->name, st->lane));
    step_reorder(&q->u->s, order);
    if (taps.n && few_terms(s)) step_kind(&q->u->s, LK_UNROLL, taps);
    step_kind(&q->u->s, LK_VECTOR, LOOPS(loop(q, st->name, st->lane)));
}
static void vectorise(struct rows *q, const struct row_stage *st) {
    bool written_out = st->result && st->s->u.stage.op == RED_NONE;
    if (!st->lane) return;
    if (q->mode == LANES_OUTER && !written_out) vector_rows(q, st);
    else if (q->mode == LANES_INNER && st->parts) vector_reduction(q, st);
    else if (q->mode == LANES_INNER) vector_cells(q, st);
}
static void write_rows(struct rows *q) {
    struct step_list *s = &q->u->s;
    bool several = q->u->k->nresults > 1;
    for (int i = 0; i < q->n; i++) { /* a reduction that is a result is accumulated in a buffer, then copied */
        struct row_stage *st = &q->v[i];
        st->copied = st->result && st->s->u.stage.op != RED_NONE;
        if (!st->copied) continue;
        const char *sum = several ? numbered(q, st, role.sum) : role.sum;
        step_cache_write(s, st->name, sum);
        st->name = sum;
    }
    layout_steps(s, q->u->p, q->u->l);
    for (int i = 0; i < q->n; i++)
        if (q->v[i].inlined) step_inline(s, q->v[i].name);
    for (int i = 0; i < q->n; i++) partial_sums(q, &q->v[i]);
    if (several) join_rows(q);
    else nest_of_rows(q);
    for (int i = q->n; i--;)
        if (!q->v[i].inlined && (!q->v[i].result || q->v[i].copied)) place_stage(q, &q->v[i]);
    for (int i = 0; i < q->n; i++)
        if (!q->v[i].inlined) vectorise(q, &q->v[i]);
    if (q->mode == LANES_OUTER) step_kind(s, q->singly ? LK_UNROLL : LK_VECTOR, LOOPS(role.lane));
}

/* ---- the points */
static struct rows *find_rows(struct plan *u, const char **why) {
    const struct problem *k = u->k;
    *why = !k->nreductions ? "there is no reduction" : k->stages.n > MAX_STAGES ? "too many stages" : NULL;
    if (*why) return NULL;
    struct rows *q = NEW(&u->c->arena, struct rows);
    q->u = u;
    if (!row_space(u->c, k->stages.v, k->stages.n, &q->r)) *why = "its stages share no rows";
    return *why ? NULL : q;
}
static const char *rows_points(struct plan *u, struct points *out) {
    static const enum row_lanes order[] = {LANES_INNER, LANES_OUTER, LANES_NONE};
    const char *why;
    struct rows *q = find_rows(u, &why);
    for (int k = 0; q && k < 3; k++) {
        if (order[k] == LANES_OUTER && u->k->nresults > 1) continue;
        struct point *p = add_point(u, out, &strategy_rows);
        p->u.rows.q = q, p->u.rows.lanes = order[k];
    }
    return why;
}
static const char *rows_steps(struct plan *u, const struct point *p) {
    struct rows *q = p->u.rows.q;
    q->n = 0, q->mode = p->u.rows.lanes, q->at = NULL;
    for (int i = 0; i < u->k->stages.n; i++) {
        struct stmt *s = u->k->stages.v[i];
        q->v[q->n++] =
            (struct row_stage){.s = s, .name = s->u.stage.buf->base, .result = s->u.stage.buf->scope == SC_PARAM};
        if (s == u->k->out) q->out = &q->v[q->n - 1];
    }
    bool lanes = rows_look_at_stages(q);
    if (q->mode != LANES_NONE && !lanes) return "its cells are not all numbers of a byte or more";
    if (q->mode != LANES_NONE && !rows_mode_fits(q)) return "its reductions do not read neighbours so";
    bool any = q->mode == LANES_NONE;
    for (int i = 0; i < q->n; i++) rows_choose_lanes(q, &q->v[i]), any |= q->v[i].lane != NULL;
    if (!any) return "its rows are shorter than a vector";
    write_rows(q);
    return NULL;
}
static void print_rows(struct text *t, struct plan *u, const struct point *p) {
    static const char *const lanes[] = {"without lanes", "lanes over the cells of a row", "lanes over rows"};
    (void)u;
    text_add(t, lanes[p->u.rows.lanes]);
}

/* ---- sums of products with too few results for lanes */
/* Cycles of products with lanes along the sum, one result after the other: two loads per vector, an addition for each
 * cell after the last full vector, and finally halving the vector until one lane is left. */
static double cycles_of_dots(struct plan *u, const struct stmt *s, const struct var *v) {
    double add = machine_op(u->m, X_ADD, F32)->latency, loads = 2 / machine_op(u->m, X_LOAD, F32)->starts;
    double sums = typical_cells(u->c, s->u.stage.red, s->u.stage.nred, OPEN_SIZE), halves = 1;
    int64_t n = x_typical(u->c, v->extent, OPEN_SIZE), lanes = lanes_of(u);
    for (int64_t k = lanes; k > 1; k /= 2) halves++;
    double once = (double)(n / lanes) * loads + (double)(n % lanes) * add;
    return (sums / (double)n * once + halves * add) * typical_cells(u->c, s->u.stage.axes, s->u.stage.naxes, OPEN_SIZE);
}
static bool few_results(const struct problem *k, int lanes) {
    int64_t n = 1;
    for (int i = 0; i < k->sum->u.stage.naxes; i++)
        if (k->axis[i] == ROLE_N) n *= const_extent(k->sum->u.stage.axes[i]);
    return n > 0 && n < lanes;
}
/* With few results, most lanes along them would be wasted. Then lanes go along the sum, if a contraction takes clearly
 * longer. */
static const char *dots_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    struct points contraction = {0};
    const char *why = no_plain_product(k);
    if (why) return why;
    if (lanes_of(u) < 2 || k->sum->u.stage.buf->type != F32 || k->a.read->u.buf->type != F32) return "no lanes of f32";
    if (!few_results(k, lanes_of(u))) return "results fill the lanes";
    struct rows *q = find_rows(u, &why);
    if (!q) return why;
    q->mode = LANES_INNER;
    const struct var *v = rows_fast_var(q, k->sum);
    if (!v) return "the first reduction does not read neighbours so";
    strategy_contraction.points(u, &contraction);
    double least = contraction.list.n ? contraction.list.v[0].cycles : 0, cycles = cycles_of_dots(u, k->sum, v);
    if (least <= 1.25 * cycles) return "a contraction does not take clearly longer, or nothing says how long it takes";
    struct point *p = add_point(u, out, &strategy_dots);
    p->u.rows.q = q, p->u.rows.lanes = LANES_INNER, p->cycles = cycles;
    return NULL;
}
const struct strategy strategy_dots = {"rows", dots_points, rows_steps, print_rows};
const struct strategy strategy_rows = {"rows", rows_points, rows_steps, print_rows};
