/* Contractions: turns a tiling that contraction.c chose into steps: first the result's loops, then the sum's, last the
 * loop kinds. Why in this order: docs/schedules.md. */
#include "lower/schedule/tiling.h"

static const char *y_loop(struct plan *u, const struct tiling *g, int axis) { return axis_loop(u->c, g->q->out, axis); }
static const char *a_loop(struct plan *u, const struct tiling *g, int axis) { return axis_loop(u->c, g->q->sum, axis); }
static enum step_tail cut_if(bool rest) { return rest ? TAIL_CUT : TAIL_NONE; }
static enum step_tail tail_of_sum(const struct tiling *g) {
    return const_extent(g->q->sum->u.stage.red[g->kred]) < 0 ? TAIL_CUT2 : cut_if(g->rest);
}

/* ---- layouts */
/* How many cells past the end the packed operand is read along d. The packed copy holds the fill there, so that no load
 * needs a test. */
static int64_t vec_beyond(struct plan *u, const struct tiling *g, int d) {
    int64_t lo, hi, n;
    if (!g->vec->has_fill || !x_is_int(g->vec->u.buf->dims[d], &n)) return 0;
    x_bounds(u->c, g->vec->arg[d], &lo, &hi);
    return hi >= n && hi < 2 * n ? hi + 1 - n : 0;
}
/* Dim d of the packed operand moves with an axis that both factors have; each of its cells gets panels of its own. */
static bool is_batch(const struct tiling *g, int d) {
    for (int k = 0; k < naxes_of(g); k++)
        if (g->q->axis[k] == ROLE_BATCH && dim_of(g->vec, axis_var(g, k)) == d) return true;
    return false;
}
static void pack(struct plan *u, const struct tiling *g) {
    expr b = g->vec;
    int nd = dim_of(b, axis_var(g, g->lane)), k0 = g->micro->k0;
    int kd = g->kred >= 0 ? dim_of(b, g->q->sum->u.stage.red[g->kred]) : -1;
    bool blocked = kd >= 0 && (g->norder || g->outside);
    struct layout_dims dims = {0};
    for (int d = 0; d < b->n - b->has_fill; d++)
        if (is_batch(g, d)) add_dim(&u->s, &dims, dim_whole(d));
    if (g->outside) add_dim(&u->s, &dims, dim_div(kd, g->chunk * g->kblock)); /* all panels of a chunk first */
    add_dim(&u->s, &dims, dim_div(nd, g->nv));
    if (g->outside) add_dim(&u->s, &dims, dim_digit(kd, g->kblock, g->chunk));
    else if (blocked) add_dim(&u->s, &dims, dim_div(kd, g->kblock));
    else if (kd >= 0) add_dim(&u->s, &dims, k0 > 1 ? dim_div(kd, k0) : dim_whole(kd));
    for (int k = 0; k < g->norder; k++) { /* in the order of the sum */
        int d = dim_of(b, g->q->sum->u.stage.red[g->order[k]]);
        if (d >= 0 && d != nd) add_dim(&u->s, &dims, dim_whole(d));
    }
    for (int d = 0; d < b->n - b->has_fill; d++) {
        bool summed = d == nd || is_batch(g, d);
        int64_t beyond = vec_beyond(u, g, d);
        for (int k = 0; k < nsums_of(g); k++) summed |= dim_of(b, g->q->sum->u.stage.red[k]) == d;
        if (!summed) add_dim(&u->s, &dims, beyond ? dim_halo(d, 0, beyond) : dim_whole(d));
    }
    if (blocked) add_dim(&u->s, &dims, k0 > 1 ? dim_digit(kd, k0, g->kblock / k0) : dim_mod(kd, g->kblock));
    plan_group(u, &dims, g->micro, g->lanes, g->nv, nd, kd);
    step_layout(&u->s, b->u.buf->base, dims);
}
/* Constants that initialise the sum are padded to whole vectors, too. */
static void fill_lanes_of_first(struct plan *u, const struct tiling *g) {
    expr first = g->q->sum->u.stage.init;
    if (!fills_lanes(g) || g->N % g->lanes == 0 || g->blocked || !first) return;
    for (int i = 0; i < u->p->params.n; i++) {
        const struct buf *b = u->p->params.v[i].buf;
        int dim = b->data && b != g->vec->u.buf ? dim_in(first, b, axis_var(g, g->lane)) : -1;
        if (dim >= 0) plan_blocks(u, b->base, b->nlogical, dim, g->lanes);
    }
}

/* ---- the result */
/* Staged results: the tile's results lie with lanes innermost; the loops that store them have the rows innermost,
 * because those are contiguous in the result. */
static const char *tile_loop(struct plan *u, const struct tiling *g, int axis) {
    if (g->piece > 1) return internf(u->c->names, "%s.d%d", role.tile, axis); /* the tile is a copy of the sum */
    return loop_in(u, role.tile, g->q->out->u.stage.axes[axis]->name);
}
static void add_tile_rows(struct plan *u, const struct tiling *g, struct word_list *to) { /* all axes but the lanes */
    for (int k = 0; k < naxes_of(g); k++)
        if (k != g->lane) add_loop(&u->s, to, tile_loop(u, g, k));
}
static void staged_loops(struct plan *u, const struct tiling *g, bool rows) {
    struct word_list order = {0};
    if (rows && g->piece == 1) step_reorder(&u->s, LOOPS(role.panel_cell, role.tile_row));
    plan_innermost(u, role.tile, naxes_of(g), g->lane);
    add_tile_rows(u, g, &order);
    add_loop(&u->s, &order, tile_loop(u, g, g->lane));
    step_reorder(&u->s, order);
    if (g->piece == 1) return;
    step_split(&u->s, role.panel_cell, g->piece, role.stored_pieces, role.stored_lane, TAIL_NONE);
    step_kind(&u->s, LK_UNROLL, LOOPS(role.stored_pieces));
    step_kind(&u->s, LK_VECTOR, LOOPS(role.stored_lane));
}
static void split_rows(struct plan *u, const struct tiling *g, const char *row) {
    if (row && g->rows > 0) plan_tiles(u, row, role.row_tiles, role.tile_row, g->rows, 1, g->mr);
    else if (row) step_split(&u->s, row, g->mr, role.row_tiles, role.tile_row, TAIL_CUT2);
}
static void split_lanes(struct plan *u, const struct tiling *g, const char *lane) {
    if (g->early) step_split_early(&u->s, lane, g->nv, role.panels, role.panel_cell, g->lanes);
    else step_split(&u->s, lane, g->nv, role.panels, role.panel_cell, g->N < 0 ? TAIL_CUT2 : cut_if(g->N % g->nv));
}
/* The copy for an open number of cells smaller than a vector: there is no earlier cell at which a full vector could
 * begin. */
static void narrow_lanes(struct plan *u, const struct tiling *g, const char *lane, const char *group, const char *row) {
    const char *panels = loop_in(u, role.narrow, role.panels);
    group = loop_in(u, role.narrow, group), row = loop_in(u, role.narrow, row);
    step_split(&u->s, loop_in(u, role.narrow, lane), g->lanes / 2, panels, role.panel_cell, TAIL_CUT2);
    step_reorder(&u->s, LOOPS(panels, group, row, role.panel_cell));
    split_rows(u, g, row);
}
/* Splits the result's loops and returns the one that tiles are computed in. A loop is reordered before it is split,
 * because a split may leave a remainder nest. Order: groups of rows, panels, rows of the group, tiles; or by_rows:
 * tiles of rows, panels. */
static const char *tile_loops(struct plan *u, const struct tiling *g, const char *group, const char *lane,
                              const char *row) {
    if (g->by_rows) {
        step_reorder(&u->s, LOOPS(row, lane));
        split_rows(u, g, row);
        step_reorder(&u->s, LOOPS(role.row_tiles, lane, role.tile_row));
        split_lanes(u, g, lane);
        step_reorder(&u->s, LOOPS(role.panels, role.tile_row, role.panel_cell));
        return role.panels;
    }
    if (g->together) {
        step_split(&u->s, group, g->together, role.row_groups, role.group_row,
                   cut_if(const_extent(axis_var(g, g->group)) % g->together));
        step_reorder(&u->s, LOOPS(role.row_groups, lane, role.group_row, row));
    }
    const char *inner = g->together ? role.group_row : group;
    split_lanes(u, g, lane);
    step_reorder(&u->s, LOOPS(role.panels, inner, row, role.panel_cell));
    split_rows(u, g, row);
    return row ? role.row_tiles : inner ? inner : role.panels;
}
/* The result's loops, the other axes outermost. */
static void result_loops(struct plan *u, const struct tiling *g) {
    const char *lane = y_loop(u, g, g->lane), *row = g->row >= 0 ? y_loop(u, g, g->row) : NULL,
               *group = g->group >= 0 ? y_loop(u, g, g->group) : NULL;
    struct word_list order = {0};
    for (int k = 0; k < naxes_of(g); k++)
        if (k != g->lane && k != g->row && k != g->group) add_loop(&u->s, &order, y_loop(u, g, k));
    add_loops(&u->s, &order, g->together ? LOOPS(group, lane, row) : LOOPS(lane, group, row));
    step_reorder(&u->s, order);
    if (g->lone) step_specialize(&u->s, order.v[0], arena_printf(&u->c->arena, "1<#%s", row), role.lone);
    bool narrow = g->early && g->N < 0;
    if (narrow)
        step_specialize(&u->s, order.v[0], arena_printf(&u->c->arena, "%d<#%s", g->lanes - 1, lane), role.narrow);
    const char *at = tile_loops(u, g, group, lane, row);
    if (g->lone) plan_lone_row(u, lane, group, row, g->N, g->nv, g->lone);
    if (narrow) narrow_lanes(u, g, lane, group, row);
    if (g->staged) step_compute_at(&u->s, role.tile, at, SC_STACK);
    step_compute_at(&u->s, g->q->sum->u.stage.buf->base, at, micro_has_tiles(g->micro) ? SC_STACK : SC_PARAM);
    if (g->staged) staged_loops(u, g, row != NULL);
    if (g->lanes > 1)
        step_split(&u->s, g->staged ? tile_loop(u, g, g->lane) : role.panel_cell, g->lanes, role.out_vectors,
                   role.out_lane, cut_if(lanes_are_cut(g)));
}

/* ---- the sum */
static void add_rows(struct plan *u, const struct tiling *g, struct word_list *to) { /* all axes of the sum but the
                                                                                      * lanes */
    for (int k = 0; k < naxes_of(g); k++)
        if (k != g->lane) add_loop(&u->s, to, a_loop(u, g, k));
}
/* How many bytes of a panel one iteration may read at most, 0: any number. Panels in the second level of cache arrive
 * as fast as the hardware prefetches, and it looks only so far ahead of each load (LSTM of 96 cells, AVX-512: a step in
 * 1.5 us instead of 2.2). Panels from further away have prefetch instructions. */
static int bytes_ahead(struct plan *u, const struct tiling *g) {
    return bytes_of_panels(u, g) < (double)u->m->l2.bytes ? u->m->follows : 0;
}
/* Steps of the sum per iteration. The few multiply-adds of a small tile hide the loop overhead only while no other
 * thread shares the core: with a busy hyper-thread sibling such loops took 10 - 25 % longer. Not unrolled where
 * compilers would hoist loads in longer iterations, which needs registers that the tile has taken; nor where products
 * are added by a separate instruction, which needs registers as well. */
static int straight_steps(struct plan *u, const struct tiling *g) {
    const struct machine *m = u->m;
    int steps = 1, ahead = bytes_ahead(u, g), bytes = g->nr * bytes_of_vector(g);
    if (g->mixed) return g->kred < 0 ? 1 : g->kblock / g->micro->k0;
    if (g->beside || g->kred < 0 || micro_has_tiles(g->micro) || (g->lanes < 2 && g->micro->k0 == 1) ||
        m->loads_ahead || !machine_op(m, X_FMA, F32))
        return 1;
    while (g->kblock / g->micro->k0 % (2 * steps) == 0 && 2 * steps * g->mr * g->nr <= m->body &&
           (!ahead || 2 * steps * bytes <= ahead))
        steps *= 2;
    return steps;
}
/* The loop of the window's axis that is unrolled inside of a step; NULL: there is none. */
static const char *beside_loop(struct plan *u, const struct tiling *g) {
    return g->beside ? red_loop(u->c, g->q->sum, g->order[g->norder - 1]) : NULL;
}
/* Splits kred into blocks, their cells into groups of k0 for the instruction, and the groups into iterations of
 * `steps`; then moves all of these outside of the tile's rows and lanes. */
static void order_of_sum(struct plan *u, const struct tiling *g, int steps) {
    const struct stmt *sum = g->q->sum;
    const char *lane = a_loop(u, g, g->lane);
    const char *within = steps > 1 ? role.straight : role.steps; /* the loop over the steps of a block */
    struct word_list order = {0};
    int k0 = g->micro->k0, side = g->micro->side;
    if (g->kred >= 0)
        step_split(&u->s, red_loop(u->c, sum, g->kred), g->kblock, role.blocks, k0 > 1 ? role.block_cells : within,
                   tail_of_sum(g));
    if (k0 > 1) step_split(&u->s, role.block_cells, k0, within, role.group_cell, TAIL_NONE);
    bool parts = side > 1 && side < k0;
    if (parts) step_split(&u->s, role.group_cell, side, role.group_parts, role.group_cell, TAIL_NONE);
    if (steps > 1) step_split(&u->s, role.straight, steps, role.steps, role.unrolled, TAIL_NONE);
    if (g->kred >= 0) add_loop(&u->s, &order, role.blocks);
    for (int k = 0; k < g->norder - g->beside; k++) add_loop(&u->s, &order, red_loop(u->c, sum, g->order[k]));
    if (g->kred >= 0) add_loops(&u->s, &order, LOOPS(role.steps, steps > 1 ? role.unrolled : NULL));
    if (!g->mixed) add_loop(&u->s, &order, beside_loop(u, g));
    add_rows(u, g, &order);
    if (g->mixed) add_loop(&u->s, &order, beside_loop(u, g)); /* innermost: few cells of the window are in registers */
    add_loops(&u->s, &order, LOOPS(lane, parts ? role.group_parts : NULL, k0 > 1 ? role.group_cell : NULL));
    step_reorder(&u->s, order);
}
/* The loop over chunks goes around all panels (g->outside), or only around the rows that share one panel. */
static void chunks_of_sum(struct plan *u, const struct tiling *g) {
    step_split(&u->s, role.blocks, g->chunk, role.chunks, role.blocks, TAIL_NONE);
    step_carry(&u->s, role.chunks,
               g->outside      ? role.panels
               : g->together   ? role.group_row
               : g->group >= 0 ? y_loop(u, g, g->group)
                               : role.row_tiles,
               g->q->sum->u.stage.buf->base);
}
static void prefetch_panel(struct plan *u, const struct tiling *g) {
    const char *group = g->together ? role.group_row : g->group >= 0 ? y_loop(u, g, g->group) : NULL;
    step_prefetch(&u->s, g->vec->u.buf->base, u->m->line, g->often ? role.blocks : role.row_tiles,
                  g->chunk && !g->outside ? role.chunks : role.panels,
                  LOOPS(group, g->row >= 0 ? role.row_tiles : NULL, g->often ? role.blocks : NULL));
}
/* Does index d of e depend on v and possibly leave the dim, and is it a plain sum of loop variables? */
static bool may_leave(struct plan *u, expr e, int d, const struct var *v) {
    const expr *t;
    const int64_t *co;
    int64_t konst;
    int n = x_terms(u->c, e->arg[d], &konst, &t, &co);
    if (!x_uses_var(u->c, e->arg[d], v) || x_proves_inside(u->c, e->arg[d], e->u.buf->dims[d])) return false;
    for (int k = 0; k < n; k++)
        if (t[k]->op != X_VAR) return false;
    return true;
}
/* Skips taps of the window that only meet padding. Only valid if the padding is not in memory, and if all weights are
 * finite (0 * inf is not 0). One test per tap is negligible beside the loop over a block of channels. */
static void skip_padding(struct plan *u, const struct tiling *g) {
    const struct stmt *sum = g->q->sum;
    const struct param_layout *l = layout_of(u->p, u->l, g->scalar->u.buf);
    bool factor = sum->u.stage.value->arg[0] == g->scalar || sum->u.stage.value->arg[1] == g->scalar;
    if (!g->scalar->has_fill || !factor || (l && l->halo) || g->kred < 0 || g->micro->instr || g->mixed) return;
    if (!g->vec->u.buf->data || !x_data_is_finite(g->vec->u.buf->data)) return;
    for (int k = 0; k < g->norder - g->beside; k++)
        for (int d = 0; d < g->scalar->n - 1; d++)
            if (may_leave(u, g->scalar, d, sum->u.stage.red[g->order[k]])) {
                step_skip(&u->s, red_loop(u->c, sum, g->order[k]));
                break;
            }
}
/* Do steps remain that are no whole group for the instruction, or lanes that are no whole vector? */
static bool leaves_cells(const struct tiling *g) {
    return g->micro->instr && g->micro->k0 > 1 && !micro_has_tiles(g->micro) &&
           ((g->rest && const_extent(g->q->sum->u.stage.red[g->kred]) % g->micro->k0) || g->N < 0);
}
/* Remaining lanes take the shorter forms of the instruction; what then still remains takes ordinary vector operations,
 * step by step. */
static void rest_of_instruction(struct plan *u, const struct tiling *g) {
    struct word_list order = {0};
    for (const struct micro_speed *s = u->m->micros; g->N < 0 && s->micro; s++)
        if (s->micro->a == g->micro->a && s->micro->b == g->micro->b && s->micro->k0 == g->micro->k0 &&
            s->micro->side == g->micro->side && s->micro->n0 < g->micro->n0)
            step_tensorize(&u->s, s->micro->instr);
    add_loop(&u->s, &order, role.group_cell);
    add_rows(u, g, &order);
    add_loops(&u->s, &order, LOOPS(role.sum_vectors, role.sum_lane));
    step_reorder(&u->s, order);
}
static void kinds_of_loops(struct plan *u, const struct tiling *g, int steps) {
    struct word_list unrolled = {0};
    bool vectors = g->lanes > 1, rows = !micro_has_tiles(g->micro); /* with tile instructions there are many rows, and
                                                                     * none of them is in a register */
    add_loops(&u->s, &unrolled,
              LOOPS(steps > 1 ? role.unrolled : NULL, rows && g->row >= 0 ? role.tile_row : NULL, beside_loop(u, g)));
    if (g->staged && rows) add_tile_rows(u, g, &unrolled);
    if (vectors) add_loops(&u->s, &unrolled, LOOPS(role.out_vectors, role.sum_vectors));
    else add_loops(&u->s, &unrolled, LOOPS(role.panel_cell, a_loop(u, g, g->lane)));
    if (rows) add_rows(u, g, &unrolled);
    if (leaves_cells(g)) add_loop(&u->s, &unrolled, role.group_cell);
    step_kind(&u->s, LK_UNROLL, unrolled);
    if (!vectors) return;
    step_kind(&u->s, g->scattered && !g->staged ? LK_UNROLL : LK_VECTOR, LOOPS(role.out_lane));
    step_kind(&u->s, LK_VECTOR, LOOPS(role.sum_lane));
}
static void sum_loops(struct plan *u, const struct tiling *g) {
    const char *lane = a_loop(u, g, g->lane);
    int lanes = g->lanes, steps = straight_steps(u, g);
    bool cut = lanes_are_cut(g), widened = cut && fills_lanes(g);
    if (widened) step_widen(&u->s, lane, lanes);
    if (lanes > 1) plan_blocks(u, g->q->sum->u.stage.buf->base, naxes_of(g), g->lane, lanes); /* the accumulators */
    if (g->rest) { /* moved outermost while it is still one nest: the split leaves a remainder */
        struct word_list order = {0};
        add_loop(&u->s, &order, red_loop(u->c, g->q->sum, g->kred));
        add_rows(u, g, &order);
        add_loop(&u->s, &order, lane);
        step_reorder(&u->s, order);
    }
    order_of_sum(u, g, steps);
    if (lanes > 1) step_split(&u->s, lane, lanes, role.sum_vectors, role.sum_lane, cut_if(cut && !widened));
    if (g->micro->instr) step_tensorize(&u->s, g->micro->instr);
    if (leaves_cells(g)) rest_of_instruction(u, g);
    if (g->chunk) chunks_of_sum(u, g);
    if (g->prefetch && g->kred >= 0) prefetch_panel(u, g);
    skip_padding(u, g);
    kinds_of_loops(u, g, steps);
}
struct called {
    struct plan *u;
    struct word_list *fns;
};
static bool add_called(void *env, expr e) {
    struct called *q = env;
    if (e->op != X_CALL) return true;
    for (int k = 0; k < q->fns->n; k++)
        if (!strcmp(q->fns->v[k], e->u.fn->name)) return true;
    add_loop(&q->u->s, q->fns, e->u.fn->name);
    return true;
}
/* Functions called after a long sum stay calls: inlined into each vector of a tile they would be most of the code, and
 * the sum hides the cost of a call. */
static void calls_behind_sum(struct plan *u, const struct tiling *g) {
    enum { MANY_VECTORS = 8 };
    struct word_list fns = {0};
    double length = typical_cells(u->c, g->q->sum->u.stage.red, nsums_of(g), OPEN_SIZE);
    if (g->lanes < 2 || g->mr * g->nr < MANY_VECTORS || length < u->m->hides_call) return;
    for (int k = 0; k < u->k->stages.n; k++)
        x_visit(u->k->stages.v[k]->u.stage.value, add_called, &(struct called){u, &fns});
    for (int k = 0; k < fns.n; k++) step_noinline(&u->s, fns.v[k]);
}
const char *contraction_steps(struct plan *u, const struct point *p) {
    const struct tiling *g = &p->u.tile;
    if (g->piece > 1) { /* the epilogue may read other operands, in the same pieces */
        plan_inline_maps(u);
        step_cache_read(&u->s, g->q->sum->u.stage.buf->base, role.tile, g->q->out->u.stage.buf->base);
    } else if (g->staged) { /* before the layouts: afterwards a blocked result is no longer stored at its own axes */
        step_cache_write(&u->s, g->q->out->u.stage.buf->base, role.tile);
    }
    layout_steps(&u->s, u->p, u->l);
    if (g->packed && is_constant(g->vec->u.buf)) pack(u, g);
    if (g->computed && g->lanes > 1) { /* whatever else it reads along the lanes is packed along them, too */
        laid_bufs laid = {0};
        PUSH(&u->c->arena, &laid, g->vec->u.buf);
        plan_lanes(u, u->k->b.value, axis_var(g, g->lane), g->lanes, &laid);
    }
    fill_lanes_of_first(u, g);
    if (g->piece == 1) plan_inline_maps(u);
    if (g->blocked) plan_channels(u, g->q->out, g->vec->u.buf);
    if (g->padded) plan_widen(u, a_loop(u, g, 1), g->q->out);
    result_loops(u, g);
    sum_loops(u, g);
    calls_behind_sum(u, g);
    return NULL;
}
