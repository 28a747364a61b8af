/* The strategy for maps and moves into blocked results: the block of channels is innermost, as one vector. See
 * cpu.h. */
#include "lower/schedule/cpu.h"

static const char *map_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    if (k->nreductions || k->nresults != 1) return "not maps alone, with one result";
    const char *why = no_blocks(u, k->out->u.stage.buf);
    if (why) return why;
    if (!lanes_fit(k->out)) return "the number of channels is open";
    bool full = const_extent(k->out->u.stage.axes[1]) % lanes_of(u) == 0;
    for (int lanes = 1; lanes >= 0; lanes--)
        for (int cut = 0; cut <= !full; cut++)
            add_point(u, out, &strategy_blocked_map)->u.block = (struct block_lanes){lanes, cut};
    return NULL;
}
/* The last block, if it is not full, becomes a separate nest. */
static void cut_rest(struct plan *u, const struct stmt *out) {
    int64_t n = const_extent(out->u.stage.axes[1]), whole = n - n % lanes_of(u);
    if (whole) step_cut(&u->s, axis_loop(u->c, out, 1), whole, NULL);
}
static const char *map_steps(struct plan *u, const struct point *p) {
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    plan_channels(u, u->k->out, NULL);
    if (p->u.block.cut) cut_rest(u, u->k->out);
    else plan_widen(u, NULL, u->k->out);
    blocked_nest(u, u->k->out, lanes_of(u), NULL, NULL);
    step_kind(&u->s, p->u.block.lanes ? LK_VECTOR : LK_UNROLL, LOOPS(role.channel));
    return NULL;
}
static void print_channels(struct text *t, struct plan *u, const struct point *p) {
    (void)u;
    text_printf(t, "%s%s", p->u.block.lanes ? "lanes along the channels" : "channels one by one",
                p->u.block.cut ? ", the last block by itself" : "");
}
const struct strategy strategy_blocked_map = {"blocked map", map_points, map_steps, print_channels};
