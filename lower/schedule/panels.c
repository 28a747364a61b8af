/* The strategy for maps and moves into panels: cells are written in the order in which they lie, a group of steps of
 * the sum for each lane. The loop over lanes is short, and C compilers vectorise it: they interleave two rows that
 * become pairs. Groups of one cell are written as squares where the machine can transpose. See cpu.h, micro.h. */
#include "ir/base/checked.h"
#include "lower/schedule/cpu.h"

static const struct panels *panels_of(const struct plan *u, const struct buf *b) {
    const struct param_layout *l = layout_of(u->p, u->l, b);
    return l && l->panels.lanes ? &l->panels : NULL;
}
static const char *panels_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    if (k->nreductions || k->nresults != 1) return "not maps alone, with one result";
    const struct panels *panels = panels_of(u, k->out->u.stage.buf);
    if (!panels) return "the result has no panels";
    for (const struct squares *q = u->m->squares; q && q->n; q++)
        if (k->cls == PROBLEM_MOVE && panels->group == 1 && q->n == panels->lanes && !q->planes &&
            q->bytes == dtype_bytes(k->out->u.stage.buf->type)) {
            struct point *p = add_point(u, out, &strategy_panels);
            p->u.panels.panels = *panels, p->u.panels.squares = q->instr;
        }
    add_point(u, out, &strategy_panels)->u.panels.panels = *panels;
    return NULL;
}
/* Open extents may leave more than one remainder. */
static enum step_tail tail_of(const struct var *v) { return const_extent(v) < 0 ? TAIL_CUT2 : TAIL_CUT; }
/* Groups of one cell: the other axes keep their order; they are fused where squares run along them. */
static const char *panels_of_cells(struct plan *u, const struct panels *panels, const char *squares) {
    const struct stmt *y = u->k->out;
    const char *along = axis_loop(u->c, y, panels->along);
    int64_t lanes = const_extent(y->u.stage.axes[panels->along]);
    struct word_list others = {0}, order = {0};
    for (int k = 0; k < y->u.stage.naxes; k++)
        if (k != panels->along) add_loop(&u->s, &others, axis_loop(u->c, y, k));
    add_loop(&u->s, &order, along);
    add_loops(&u->s, &order, others);
    step_reorder(&u->s, order);
    if (!squares) {
        step_split(&u->s, along, panels->lanes, role.panels, role.panel_cell, split_tail(lanes, panels->lanes));
        add_loops(&u->s, &others, LOOPS(role.panel_cell));
        step_reorder(&u->s, others);
        return NULL;
    }
    const char *cells = others.v[0];
    int64_t n = 1;
    for (int k = 0; k < y->u.stage.naxes; k++)
        if (k != panels->along) n = n < 0 ? n : sat_mul(n, const_extent(y->u.stage.axes[k]));
    for (int k = 1; k < others.n; k++, cells = role.flat) step_fuse(&u->s, cells, others.v[k], role.flat);
    step_split(&u->s, along, panels->lanes, role.panels, role.panel_cell, split_tail(lanes, panels->lanes));
    step_reorder(&u->s, LOOPS(role.panels, cells, role.panel_cell));
    step_split(&u->s, cells, panels->lanes, role.strips, role.strip, early_tail(n, panels->lanes));
    step_reorder(&u->s, LOOPS(role.strips, role.panel_cell, role.strip));
    step_tensorize(&u->s, squares);
    return NULL;
}
/* Of the two split loops the outer one is split first, so that the other's remainder does not lie in a nest with
 * several statements. */
static const char *panels_steps(struct plan *u, const struct point *p) {
    const struct stmt *y = u->k->out;
    const struct panels *panels = &p->u.panels.panels;
    const char *along = axis_loop(u->c, y, panels->along), *summed = axis_loop(u->c, y, panels->summed);
    const struct var *lane = y->u.stage.axes[panels->along], *step = y->u.stage.axes[panels->summed];
    struct word_list order = {0};
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    if (panels->group == 1) return panels_of_cells(u, panels, p->u.panels.squares);
    for (int k = 0; k < y->u.stage.naxes; k++)
        if (k != panels->along && k != panels->summed) add_loop(&u->s, &order, axis_loop(u->c, y, k));
    add_loops(&u->s, &order, panels->lanes > 1 ? LOOPS(along, summed) : LOOPS(summed, along));
    step_reorder(&u->s, order);
    if (panels->lanes > 1) {
        step_split(&u->s, along, panels->lanes, role.panels, role.panel_cell, tail_of(lane));
        step_reorder(&u->s, LOOPS(role.panels, summed, role.panel_cell));
        step_split(&u->s, summed, panels->group, role.panel_groups, role.group_cell, tail_of(step));
        step_reorder(&u->s, LOOPS(role.panel_groups, role.panel_cell, role.group_cell));
    } else {
        step_split(&u->s, summed, panels->group, role.panel_groups, role.group_cell, tail_of(step));
        step_reorder(&u->s, LOOPS(role.panel_groups, along, role.group_cell));
        step_split(&u->s, along, lanes_of(u), role.panels, role.panel_cell, tail_of(lane));
    }
    step_kind(&u->s, LK_UNROLL, LOOPS(role.group_cell));
    return NULL;
}
static void print_panels(struct text *t, struct plan *u, const struct point *p) {
    const struct panels *panels = &p->u.panels.panels;
    (void)u;
    if (p->u.panels.squares) text_printf(t, "in squares (%s), ", p->u.panels.squares);
    if (panels->lanes > 1) text_printf(t, "%d lanes each, ", panels->lanes);
    text_printf(t, "%d steps of the sum side by side", panels->group);
}
const struct strategy strategy_panels = {"panels", panels_points, panels_steps, print_panels};
