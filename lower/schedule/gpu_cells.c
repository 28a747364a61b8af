/* The strategy for GPUs that takes every kernel of stages: each stage that is not inlined becomes a grid. The cells of
 * its result are numbered in row-major order, and one thread computes each, with sums in a register. See
 * docs/cuda.md. */
#include "ir/base/checked.h"
#include "lower/schedule/cpu.h"

/* ---- one thread for each cell */
/* Threads of a block: no more than the result has cells, and fewer if it would otherwise be too small to fill the
 * machine. */
static int64_t threads_for(const struct gpu *g, double cells) {
    if (cells >= (double)g->few_cells) return g->block_threads;
    int64_t whole = ((int64_t)cells + g->warp - 1) / g->warp * g->warp;
    return whole < g->warp ? g->warp : whole < g->few_threads ? whole : g->few_threads;
}
void plan_threads(struct plan *u, struct word_list loops, double cells, const char *base) {
    step_split(&u->s, plan_fused(u, loops, base), threads_for(u->m->gpu, cells), loop_in(u, base, role.grid_block),
               loop_in(u, base, role.grid_thread), TAIL_GUARD);
}
void plan_grid(struct plan *u, const char *base) {
    step_kind(&u->s, LK_BLOCK_X, LOOPS(loop_in(u, base, role.grid_block)));
    step_kind(&u->s, LK_THREAD_X, LOOPS(loop_in(u, base, role.grid_thread)));
}
/* The stage's nest as blocks of threads over its cells. */
static void cells_nest(struct plan *u, const struct stmt *s) {
    struct word_list loops = {0};
    for (int k = 0; k < s->u.stage.naxes; k++) add_loop(&u->s, &loops, axis_loop(u->c, s, k));
    plan_threads(u, loops, typical_result(u->c, s), s->u.stage.buf->base);
}
/* The only stage that reads s, if it is a map over as many axes: there s can be a register. */
static const struct stmt *only_reader(struct plan *u, const struct stmt *s) {
    const struct stmt *reader = NULL;
    for (int k = 0; k < u->k->stages.n; k++) {
        struct stmt *t = u->k->stages.v[k];
        if (!stmt_reads(t, s->u.stage.buf, NULL)) continue;
        if (reader || t->u.stage.op != RED_NONE || t->u.stage.naxes != s->u.stage.naxes) return NULL;
        reader = t;
    }
    return reader;
}
static bool is_inlined(const struct stmt *s, bool inline_maps) {
    return inline_maps && s->u.stage.op == RED_NONE && s->u.stage.buf->scope != SC_PARAM;
}
/* ---- a long reduction to few cells: several threads make partial results, which one thread reduces */
enum { PARTS = 128 };
/* How a reduction is divided: n threads take turns along one of its loops, or along all of them fused. n 0: it is not
 * divided. */
struct parts {
    int64_t n;
    const struct var *along; /* NULL: all loops */
};
/* The largest number of threads that divides the loop's extent. */
static int64_t parts_along(const struct var *v) {
    int64_t n = const_extent(v), parts = n < PARTS ? n : PARTS;
    while (n > 0 && n % parts) parts--;
    return n > 1 ? parts : 0;
}
static struct parts parts_of(struct plan *u, const struct stmt *s) {
    const struct parts none = {0, NULL};
    struct parts most = none;
    int64_t turns = 1;
    if (s->u.stage.op == RED_NONE || s->u.stage.buf->type != dtype_value(s->u.stage.buf->type)) return none;
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (!x_is(s->u.stage.axes[k]->extent, 1)) return none;
    for (int k = 0; k < s->u.stage.nred; k++) {
        const struct var *v = s->u.stage.red[k];
        int64_t n = const_extent(v), parts = parts_along(v);
        turns = n < 0 || turns == INT64_MAX ? INT64_MAX : sat_mul(turns, n);
        if (parts && parts >= most.n) most = (struct parts){parts, v};
    }
    if (turns <= u->m->gpu->block_threads) return none;
    return most.n >= u->m->gpu->warp ? most : (struct parts){PARTS, NULL};
}
/* Fuses the loops of the reduction. */
static const char *fused_reduction(struct plan *u, const struct stmt *s, const char *name) {
    struct word_list loops = {0};
    for (int k = 0; k < s->u.stage.nred; k++) add_loop(&u->s, &loops, loop_in(u, name, s->u.stage.red[k]->name));
    return plan_fused(u, loops, name);
}
static bool in_parts(struct plan *u, const struct stmt *s, int *sums) {
    const char *base = s->u.stage.buf->base, *name = base, *part = internf(u->c->names, "%s%d", role.partial, *sums);
    const char *lane = loop_in(u, part, RFACTOR_LANE);
    struct word_list order = {0};
    struct parts parts = parts_of(u, s);
    if (!parts.n) return false;
    if (s->u.stage.buf->scope == SC_PARAM) step_cache_write(&u->s, base, name = internf(u->c->names, "sum%d", *sums));
    (*sums)++;
    const char *along = parts.along ? loop_in(u, name, parts.along->name) : fused_reduction(u, s, name);
    step_rfactor(&u->s, name, along, (int)parts.n, part);
    add_loop(&u->s, &order, lane);
    for (int k = 0; k < s->u.stage.naxes; k++) add_loop(&u->s, &order, loop_in(u, part, s->u.stage.axes[k]->name));
    if (order.n > 1) step_reorder(&u->s, order);
    plan_threads(u, LOOPS(lane), (double)parts.n, part);
    plan_grid(u, part);
    return true;
}
/* The map, not inlined, that alone reads a reduction, directly or through inlined maps; NULL: there is none. */
static const struct stmt *final_reader(struct plan *u, const struct stmt *s, bool inline_maps) {
    if (s->u.stage.op == RED_NONE || s->u.stage.buf->scope == SC_PARAM || parts_of(u, s).n) return NULL;
    while ((s = only_reader(u, s)) && is_inlined(s, inline_maps)) {}
    return s;
}
/* The one reduction that a map reads so, at its own cell; NULL: none, or several. */
static const struct stmt *placed_in(struct plan *u, const struct stmt *map, bool inline_maps) {
    const struct stmt *found = NULL;
    for (int k = 0; k < u->k->stages.n; k++) {
        const struct stmt *s = u->k->stages.v[k];
        if (final_reader(u, s, inline_maps) != map) continue;
        if (found) return NULL; /* if there are two, each gets its own grid */
        found = s;
    }
    return found;
}
static bool is_placed(struct plan *u, const struct stmt *s, bool inline_maps) {
    const struct stmt *map = final_reader(u, s, inline_maps);
    return map && placed_in(u, map, inline_maps) == s;
}
/* The placed sum that adds up s; NULL: there is none. */
static const struct stmt *added_up_by(struct plan *u, const struct stmt *s, bool inline_maps) {
    for (int k = 0; k < u->k->stages.n; k++) {
        const struct stmt *outer = u->k->stages.v[k];
        if (adds_up(outer, s) && is_placed(u, outer, inline_maps)) return outer;
    }
    return NULL;
}
/* sums: number of sums placed in registers so far. */
static void stage_steps(struct plan *u, const struct stmt *s, bool inline_maps, int *sums) {
    const char *acc = NULL, *base = s->u.stage.buf->base;
    if (in_parts(u, s, sums) || s->u.stage.naxes == 0 || is_inlined(s, inline_maps)) return;
    if (s->u.stage.op != RED_NONE) {
        const struct stmt *outer = added_up_by(u, s, inline_maps);
        if (outer) step_compute_at(&u->s, base, red_loop(u->c, outer, outer->u.stage.nred - 1), SC_PARAM);
        if (outer || is_placed(u, s, inline_maps)) return;
        acc = internf(u->c->names, "sum%d", (*sums)++);
        step_cache_write(&u->s, base, acc);
    } else if (placed_in(u, s, inline_maps)) {
        acc = placed_in(u, s, inline_maps)->u.stage.buf->base;
    }
    cells_nest(u, s);
    if (acc) step_compute_at(&u->s, acc, loop_in(u, base, role.grid_thread), SC_PARAM);
    plan_grid(u, base);
}
static const char *cells_points(struct plan *u, struct points *out) {
    add_point(u, out, &strategy_gpu_cells)->u.inlined = true;
    add_point(u, out, &strategy_gpu_cells);
    return NULL;
}
static const char *cells_steps(struct plan *u, const struct point *p) {
    int sums = 0;
    layout_steps(&u->s, u->p, u->l);
    if (p->u.inlined) plan_inline_maps(u);
    for (int k = u->k->stages.n; k--;) stage_steps(u, u->k->stages.v[k], p->u.inlined, &sums);
    return u->s.n ? NULL : "no stage has axes";
}
static void print_cells(struct text *t, struct plan *u, const struct point *p) {
    (void)u;
    text_add(t, p->u.inlined ? "a thread for each cell, maps inlined" : "a thread for each cell of each stage");
}
const struct strategy strategy_gpu_cells = {"cells", cells_points, cells_steps, print_cells};
