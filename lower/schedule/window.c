/* Schedules of windows in blocked layouts: pooling and depthwise convolution, the lanes over the block of channels. See
 * cpu.h. */
#include "lower/schedule/cpu.h"

bool lanes_fit(const struct stmt *s) { return s->u.stage.naxes > 1 && const_extent(s->u.stage.axes[1]) > 0; }
/* A row's sums, what of the window is read for the next column too (two more), the 9 weights that a compiler keeps from
 * row to row, and one to spare have to fit the registers; where few sums would, weights stay in memory. */
static int sums_of_row(const struct machine *m) {
    int registers = machine_registers(m), kept = (registers - 2 - 9 - 1) / 2;
    return kept >= registers / 4 ? kept : registers / 2;
}
/* Inside of which loop of the result the sum is computed: of tiles of rows, if it has rows. What each channel has one
 * sum of, a mean that is taken from all pixels, is not summed again for each tile. */
static const char *loop_of_sum(struct plan *u, const struct stmt *out, const struct stmt *sum) {
    int last = out->u.stage.naxes - 1, k = last;
    while (k > 1 && x_is(sum->u.stage.axes[k]->extent, 1) && !x_is(out->u.stage.axes[k]->extent, 1)) k--;
    return k < 2 ? role.channels : k == last ? role.row_tiles : axis_loop(u->c, out, k);
}
/* y's nest with the channel block innermost: rows of `tile` pixels inside of everything else. */
void blocked_nest(struct plan *u, const struct stmt *out, int lanes, const struct stmt *sum, const char *acc) {
    struct ctx *c = u->c;
    int n = out->u.stage.naxes, last = n - 1;
    struct word_list order = {0};
    step_split(&u->s, axis_loop(c, out, 1), lanes, role.channels, role.channel, TAIL_NONE);
    add_loops(&u->s, &order, LOOPS(axis_loop(c, out, 0), role.channels));
    for (int k = 2; k < n; k++) add_loop(&u->s, &order, axis_loop(c, out, k));
    add_loop(&u->s, &order, role.channel);
    step_reorder(&u->s, order);
    if (!sum) return;
    int64_t rows = n > 2 ? const_extent(out->u.stage.axes[last]) : 1, most = sums_of_row(u->m);
    if (n > 2 && rows > 0) plan_tiles(u, axis_loop(c, out, last), role.row_tiles, role.tile_row, rows, 1, most);
    else if (n > 2) step_split(&u->s, axis_loop(c, out, last), most, role.row_tiles, role.tile_row, TAIL_CUT2);
    step_compute_at(&u->s, acc, loop_of_sum(u, out, sum), SC_PARAM);
}
/* The sum's window outside of its rows, and these outside of the channels. */
static void window_order(struct plan *u, const struct stmt *red, const char *acc) {
    int n = red->u.stage.naxes, r = red->u.stage.nred;
    const char *channel = loop_in(u, acc, red->u.stage.axes[1]->name);
    struct word_list taps = {0}, rows = {0}, order = {0}, unrolled = {0};
    for (int k = 0; k < r; k++) add_loop(&u->s, &taps, loop_in(u, acc, red->u.stage.red[k]->name));
    for (int k = 0; k < n; k++)
        if (k != 1) add_loop(&u->s, &rows, loop_in(u, acc, red->u.stage.axes[k]->name));
    plan_innermost(u, acc, n, 1);
    add_loops(&u->s, &order, taps);
    add_loops(&u->s, &order, rows);
    add_loop(&u->s, &order, channel);
    step_reorder(&u->s, order);
    if (n > 2) add_loop(&u->s, &unrolled, role.tile_row);
    if (few_terms(red)) add_loops(&u->s, &unrolled, taps);
    add_loops(&u->s, &unrolled, rows);
    step_kind(&u->s, LK_UNROLL, unrolled);
    step_kind(&u->s, LK_VECTOR, LOOPS(role.channel, channel));
}
static const char *window_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    if (k->nreductions != 1 || k->nresults != 1) return "not one reduction with one result";
    const char *why = no_blocks(u, k->out->u.stage.buf);
    if (why) return why;
    const struct stmt *red = k->stages.v[0];
    if (red != k->sum) return "a map comes before the reduction";
    if (!lanes_fit(red) || !lanes_fit(k->out) || red->u.stage.naxes != k->out->u.stage.naxes)
        return "the number of channels is open, or the result has other axes than the reduction";
    add_point(u, out, &strategy_window);
    return NULL;
}
static const char *window_steps(struct plan *u, const struct point *p) {
    const struct problem *k = u->k;
    const struct stmt *red = k->sum;
    const char *acc = red->u.stage.buf->base;
    (void)p;
    if (red == k->out) { /* before the layouts: a blocked result is no longer stored at its own axes */
        acc = role.sum;
        step_cache_write(&u->s, red->u.stage.buf->base, acc);
    }
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    plan_channels(u, k->out, NULL);
    plan_widen(u, loop_in(u, acc, red->u.stage.axes[1]->name), k->out);
    blocked_nest(u, k->out, lanes_of(u), red, acc);
    window_order(u, red, acc);
    return NULL;
}
const struct strategy strategy_window = {"window", window_points, window_steps, NULL};
