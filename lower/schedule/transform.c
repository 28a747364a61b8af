/* The strategy for small transforms: maps that each compute a few rows of a small matrix, chosen by an axis (`select(i
 * == 0, ..)`). Those axes are unrolled, lanes run over channels, and what one map makes for a tile stays in registers
 * for the next. See cpu.h. */
#include "lower/schedule/cpu.h"

enum { ROWS_MAX = 8 }; /* of a matrix */
struct chooser {
    const struct var *v;
    bool found;
};
static bool tests_axis(void *env, expr e) {
    struct chooser *q = env;
    bool test = e->op == X_EQ && e->arg[0]->type == IDX;
    q->found |= test && ((e->arg[0]->op == X_VAR && e->arg[0]->u.var == q->v) ||
                         (e->arg[1]->op == X_VAR && e->arg[1]->u.var == q->v));
    return true;
}
/* The value of the stage is chosen by axis v. */
static bool chooses(const struct stmt *s, const struct var *v) {
    struct chooser q = {v, false};
    if (const_extent(v) < 2 || const_extent(v) > ROWS_MAX || !x_has(s->u.stage.value, XF_INDEX_TEST)) return false;
    x_visit(s->u.stage.value, tests_axis, &q);
    return q.found;
}
static bool transforms(const struct stmt *s) {
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (chooses(s, s->u.stage.axes[k])) return true;
    return false;
}
/* Is axis d the position in a tile, by which one of the transforms chooses? */
static bool is_cell_of(const struct problem *k, int d) {
    for (int i = 0; i < k->stages.n; i++) {
        const struct stmt *s = k->stages.v[i];
        if (transforms(s) && chooses(s, s->u.stage.axes[d])) return true;
    }
    return false;
}
/* The same for the result, if it is a transform itself. */
static bool is_cell(const struct problem *k, int d) { return transforms(k->out) && is_cell_of(k, d); }
/* How tiles lie along an axis v of the result, from the index by which they are read: cell v / step % cells of one. */
struct division {
    const struct var *v;
    int64_t cells, step;
};
static bool find_division(void *env, expr e) {
    struct division *q = env;
    int64_t cells, step = 1;
    if (e->op != X_MOD || !x_is_int(e->arg[1], &cells)) return true;
    expr of = e->arg[0];
    if (of->op == X_DIV && x_is_int(of->arg[1], &step)) of = of->arg[0];
    if (of->op == X_VAR && of->u.var == q->v && step > q->step) q->cells = cells, q->step = step;
    return true;
}
static struct division tiles_along(const struct problem *k, int axis) {
    struct division q = {0};
    for (int i = 0; i < k->stages.n; i++) {
        const struct stmt *s = k->stages.v[i];
        q.v = s->u.stage.axes[axis];
        if (!transforms(s)) x_visit(s->u.stage.value, find_division, &q);
    }
    return q;
}
static int lane_axis(struct plan *u) {
    const struct param_layout *l = layout_of(u->p, u->l, u->k->out->u.stage.buf);
    return l && l->block ? 1 : u->k->out->u.stage.naxes - 1;
}
struct lane_use {
    struct plan *u;
    const struct buf *b;
    const struct var *lane;
    bool apart;
};
static bool check_lane(void *env, expr e) {
    struct lane_use *q = env;
    bool read = e->op == X_LOAD && e->u.buf == q->b;
    q->apart |= read && !x_uses_var(q->u->c, e->arg[e->n - e->has_fill - 1], q->lane);
    return !q->apart;
}
/* The result of s is read along the channels; it is not a table that all of them share. */
static bool is_read_in_lanes(struct plan *u, const struct stmt *s) {
    for (int i = 0; i < u->k->stages.n; i++) {
        const struct stmt *reader = u->k->stages.v[i];
        bool as_out = transforms(reader) == transforms(u->k->out);
        int axis = as_out ? lane_axis(u) : reader->u.stage.naxes - 1;
        struct lane_use q = {u, s->u.stage.buf, reader->u.stage.axes[axis], false};
        if (!x_visit_with(reader->u.stage.value, XF_LOAD, check_lane, &q)) return false;
    }
    return true;
}
static const char *transform_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    const struct param_layout *l = layout_of(u->p, u->l, k->out->u.stage.buf);
    int found = 0;
    if (k->nreductions || k->nresults != 1) return "not maps alone, with one result";
    for (int i = 0; i < k->stages.n; i++) {
        bool is_one = transforms(k->stages.v[i]), like = is_one == transforms(k->out);
        if (like && k->stages.v[i]->u.stage.naxes != k->out->u.stage.naxes) return "its stages have other axes";
        if (is_one && !is_read_in_lanes(u, k->stages.v[i])) return "not all channels have what is chosen";
        found += is_one;
    }
    if (!found) return "no transforms of tiles";
    if (lanes_of(u) < 2) return "there are no vectors";
    if (l && l->block && l->block != lanes_of(u)) return "the result's blocks are no vectors";
    bool full = const_extent(k->out->u.stage.axes[lane_axis(u)]) % lanes_of(u) == 0;
    if (!full && !(l && l->block)) return "channels do not fill whole vectors";
    add_point(u, out, &strategy_transform);
    return NULL;
}
/* Splits into tiles and a remainder; tiles of several phases check each cell where there is one. */
static void plan_tiles_of(struct plan *u, const char *loop, const char *outer, const char *inner, int64_t extent,
                          const struct division *of) {
    int64_t tile = of->cells * of->step, full = extent / tile, rest = extent % tile;
    const struct tile_size sizes[] = {{tile, full}, {rest, 1}};
    if (extent < 0 || (rest && of->step > 1)) step_split(&u->s, loop, tile, outer, inner, TAIL_GUARD);
    else if (!rest || !full) step_split(&u->s, loop, full ? tile : rest, outer, inner, TAIL_NONE);
    else step_tiles(&u->s, loop, outer, inner, sizes, 2);
}
/* The result's loops: tiles outside, then blocks of channels, then the cells of a tile, whose loops it returns. It goes
 * axis by axis, moving everything else into a tile before the next split, because nothing can be moved into a remainder
 * afterwards. */
static struct word_list result_loops(struct plan *u) {
    const struct stmt *s = u->k->out;
    int lane = lane_axis(u), axes = s->u.stage.naxes;
    const char *lanes = axis_loop(u->c, s, lane);
    struct word_list cells = {0}, order = {0}, blocks = {0};
    for (int k = 0; k < axes; k++) {
        if (is_cell(u->k, k)) add_loop(&u->s, &cells, axis_loop(u->c, s, k));
        else if (k != lane) add_loop(&u->s, &order, axis_loop(u->c, s, k));
    }
    add_loops(&u->s, &order, cells);
    add_loop(&u->s, &order, lanes);
    step_reorder(&u->s, order);
    for (int k = 0; k < axes; k++) {
        const struct division tile = tiles_along(u->k, k);
        if (tile.cells < 2 || k == lane) continue;
        const char *outer = internf(u->c->names, "%s%d", role.tiles, k),
                   *inner = internf(u->c->names, "%s%d", role.tile_cell, k),
                   *phase = internf(u->c->names, "%s%d", role.tile_phase, k),
                   *all = tile.step > 1 ? internf(u->c->names, "%s_all", inner) : inner;
        struct word_list inside = {0};
        plan_tiles_of(u, axis_loop(u->c, s, k), outer, all, const_extent(s->u.stage.axes[k]), &tile);
        add_loop(&u->s, &inside, outer);
        if (tile.step > 1) {
            step_split(&u->s, all, tile.step, inner, phase, TAIL_NONE);
            add_loop(&u->s, &inside, phase);
        }
        for (int d = k + 1; d < axes; d++)
            if (d != lane && !is_cell(u->k, d)) add_loop(&u->s, &inside, axis_loop(u->c, s, d));
        add_loops(&u->s, &inside, cells);
        add_loops(&u->s, &inside, LOOPS(inner, lanes));
        step_reorder(&u->s, inside);
        add_loop(&u->s, &cells, inner);
    }
    step_split(&u->s, lanes, lanes_of(u), role.channels, role.channel, TAIL_NONE);
    add_loop(&u->s, &blocks, role.channels);
    add_loops(&u->s, &blocks, cells);
    add_loop(&u->s, &blocks, role.channel);
    step_reorder(&u->s, blocks);
    return cells;
}
/* The loops of a transform that is computed inside of the result's: the rows that it chooses among are innermost and
 * unrolled. */
static void transform_loops(struct plan *u, const struct stmt *s, struct word_list *unrolled) {
    struct word_list order = {0}, chosen = {0};
    int last = s->u.stage.naxes - 1;
    for (int d = 0; d < last; d++) {
        const struct var *v = s->u.stage.axes[d];
        bool one = !is_cell_of(u->k, d); /* one tile at a time has extent 1 here */
        add_loop(&u->s, chooses(s, v) ? &chosen : &order, axis_loop(u->c, s, d));
        if (one || chooses(s, v)) add_loop(&u->s, unrolled, axis_loop(u->c, s, d));
    }
    add_loops(&u->s, &order, chosen);
    add_loop(&u->s, &order, axis_loop(u->c, s, last));
    step_reorder(&u->s, order);
}
static const char *transform_steps(struct plan *u, const struct point *p) {
    const struct problem *k = u->k;
    struct word_list unrolled = {0}, vectors = {0};
    (void)p;
    layout_steps(&u->s, u->p, u->l);
    for (int i = 0; i < k->stages.n; i++)
        if (k->stages.v[i] != k->out && !transforms(k->stages.v[i]))
            step_inline(&u->s, k->stages.v[i]->u.stage.buf->base);
    if (lane_axis(u) == 1) plan_widen(u, NULL, k->out);
    struct word_list cells = result_loops(u);
    if (cells.n) add_loop(&u->s, &unrolled, cells.v[cells.n - 1]);
    for (int i = k->stages.n; i-- > 0;)
        if (k->stages.v[i] != k->out && transforms(k->stages.v[i]))
            step_compute_at(&u->s, k->stages.v[i]->u.stage.buf->base, role.channels, SC_STACK);
    add_loop(&u->s, &vectors, role.channel);
    for (int i = 0; i < k->stages.n; i++) {
        const struct stmt *s = k->stages.v[i];
        if (s == k->out || !transforms(s)) continue;
        transform_loops(u, s, &unrolled);
        add_loop(&u->s, &vectors, axis_loop(u->c, s, s->u.stage.naxes - 1));
    }
    step_kind(&u->s, LK_UNROLL, unrolled);
    step_kind(&u->s, LK_VECTOR, vectors);
    return NULL;
}
const struct strategy strategy_transform = {"transform", transform_points, transform_steps, NULL};
