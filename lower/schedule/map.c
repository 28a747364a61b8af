/* The strategy for maps and moves into blocked results: the block of channels is innermost, as one vector. See
 * cpu.h. */
#include "lower/schedule/cpu.h"

static void add_block(struct plan *u, struct points *out, bool lanes, bool gathered, bool cut) {
    add_point(u, out, &strategy_blocked_map)->u.block = (struct block_lanes){lanes, gathered, cut};
}
struct apart {
    struct plan *u;
    const struct var *channel;
    bool found;
};
static bool check_apart(void *env, expr e) {
    struct apart *q = env;
    const struct param_layout *l = e->op == X_LOAD ? layout_of(q->u->p, q->u->l, e->u.buf) : NULL;
    expr rest;
    int64_t stride = 0;
    if (e->op == X_LOAD && e->u.buf->scope == SC_PARAM && !e->u.buf->data && !(l && l->block))
        q->found |= !x_linear_in(q->u->c, buf_offset(q->u->c, e->u.buf, e->arg), q->channel, &stride, &rest) ||
                    stride < 0 || stride > q->u->m->apart;
    return true;
}
/* A map, before the result, of an operand whose channels lie further apart than vectors load them, or elsewhere. */
static bool is_apart(struct plan *u, const struct stmt *s) {
    struct apart q = {.u = u};
    if (s == u->k->out || !same_axes(s, u->k->out)) return false;
    q.channel = s->u.stage.axes[1];
    x_visit(s->u.stage.value, check_apart, &q);
    return q.found;
}
static const char *map_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    if (k->nreductions || k->nresults != 1) return "not maps alone, with one result";
    const char *why = no_blocks(u, k->out->u.stage.buf);
    if (why) return why;
    if (!lanes_fit(k->out)) return "the number of channels is open";
    bool full = const_extent(k->out->u.stage.axes[1]) % lanes_of(u) == 0, apart = false;
    for (int i = 0; i < k->stages.n; i++) apart |= is_apart(u, k->stages.v[i]);
    for (int cut = 0; cut <= !full; cut++) add_block(u, out, true, false, cut);
    if (full && apart) add_block(u, out, true, true, false);
    for (int cut = 0; cut <= !full; cut++) add_block(u, out, false, false, cut);
    return NULL;
}
/* The last block, if it is not full, becomes a separate nest. */
static void cut_rest(struct plan *u, const struct stmt *out) {
    int64_t n = const_extent(out->u.stage.axes[1]), whole = n - n % lanes_of(u);
    if (whole) step_cut(&u->s, axis_loop(u->c, out, 1), whole, NULL);
}
/* Maps of operands whose channels lie apart, into a register for each block. */
static void gather(struct plan *u, const struct stmt *out) {
    const char *around = out->u.stage.naxes > 2 ? axis_loop(u->c, out, out->u.stage.naxes - 1) : role.channels;
    struct word_list cells = {0};
    for (int i = u->k->stages.n; i--;) {
        const struct stmt *s = u->k->stages.v[i];
        if (!is_apart(u, s)) continue;
        step_compute_at(&u->s, s->u.stage.buf->base, around, SC_REG);
        add_loop(&u->s, &cells, axis_loop(u->c, s, 1));
    }
    step_kind(&u->s, LK_UNROLL, cells);
}
static const char *map_steps(struct plan *u, const struct point *p) {
    layout_steps(&u->s, u->p, u->l);
    plan_inline_others(u, p->u.block.gathered ? is_apart : NULL);
    plan_channels(u, u->k->out, NULL);
    if (p->u.block.cut) cut_rest(u, u->k->out);
    else plan_widen(u, NULL, u->k->out);
    blocked_nest(u, u->k->out, lanes_of(u), NULL, NULL);
    if (p->u.block.gathered) gather(u, u->k->out);
    step_kind(&u->s, p->u.block.lanes ? LK_VECTOR : LK_UNROLL, LOOPS(role.channel));
    return NULL;
}
static void print_channels(struct text *t, struct plan *u, const struct point *p) {
    (void)u;
    text_printf(t, "%s%s%s", p->u.block.gathered ? "what lies apart one by one, then " : "",
                p->u.block.lanes ? "lanes along the channels" : "channels one by one",
                p->u.block.cut ? ", the last block by itself" : "");
}
const struct strategy strategy_blocked_map = {"blocked map", map_points, map_steps, print_channels};
