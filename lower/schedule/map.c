/* The strategy for maps and moves into blocked results: the block of channels innermost, as one vector. See cpu.h. */
#include "lower/schedule/cpu.h"

const char *no_blocks(struct plan *u, const struct buf *b) {
    const struct param_layout *ly = b ? layout_of(u->p, u->l, b) : NULL;
    if (lanes_of(u) < 2) return "there are no vectors";
    return ly && ly->block == lanes_of(u) ? NULL : "the result has no blocks of channels";
}
static const char *map_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    if (k->nreductions || k->nresults != 1) return "not maps alone, with one result";
    const char *why = no_blocks(u, k->out->u.stage.buf);
    if (why) return why;
    if (!lanes_fit(k->out)) return "the number of channels is open";
    add_point(u, out, &strategy_blocked_map)->u.lanes = true;
    if (k->cls == PROBLEM_MOVE) add_point(u, out, &strategy_blocked_map)->u.lanes = false;
    return NULL;
}
static const char *map_steps(struct plan *u, const struct point *p) {
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    plan_channels(u, u->k->out, NULL);
    plan_widen(u, NULL, u->k->out);
    blocked_nest(u, u->k->out, lanes_of(u), NULL);
    step_kind(&u->s, p->u.lanes ? LK_VECTOR : LK_UNROLL, LOOPS(role.channel));
    return NULL;
}
void print_channels(struct text *t, struct plan *u, const struct point *p) {
    (void)u;
    text_add(t, p->u.lanes ? "lanes along the channels" : "channels one by one");
}
const struct strategy strategy_blocked_map = {"blocked map", map_points, map_steps, print_channels};
