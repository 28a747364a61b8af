/* Schedules of windows in blocked layouts: pooling and depthwise convolution, with lanes over the block of channels.
 * See cpu.h. */
#include "lower/schedule/cpu.h"

bool lanes_fit(const struct stmt *s) { return s->u.stage.naxes > 1 && const_extent(s->u.stage.axes[1]) > 0; }
/* How many sums of a row fit into the registers, beside the two columns that are read for the next cell as well, the 9
 * weights that a compiler keeps from row to row, and one spare. If that leaves few, the weights stay in memory. */
static int sums_of_row(const struct machine *m) {
    int registers = machine_registers(m), kept = (registers - 2 - 9 - 1) / 2;
    return kept >= registers / 4 ? kept : registers / 2;
}
/* The loop of the result inside of which the sum is computed: over tiles of rows, if it has rows. A sum that each
 * channel has once, such as the mean over all pixels, must not be recomputed for each tile. */
static const char *loop_of_sum(struct plan *u, const struct stmt *out, const struct stmt *sum) {
    int last = out->u.stage.naxes - 1, k = last;
    while (k > 1 && x_is(sum->u.stage.axes[k]->extent, 1) && !x_is(out->u.stage.axes[k]->extent, 1)) k--;
    return k < 2 ? role.channels : k == last ? role.row_tiles : axis_loop(u->c, out, k);
}
/* Gives the result's nest its channel block innermost, and rows of `tile` pixels just outside of it. */
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
/* Into how many parts a channel's sum over all pixels is divided: with one part each addition waits for the one before,
 * and after thousands of pixels a large sum loses the last bits of what is added. 0: not divided, or too few pixels. */
static int parts_of_sum(const struct stmt *red) {
    enum { PARTS = 8 };
    if (few_terms(red)) return 0;
    for (int k = 2; k < red->u.stage.naxes; k++)
        if (const_extent(red->u.stage.axes[k]) != 1) return 0;
    int64_t row = const_extent(red->u.stage.red[red->u.stage.nred - 1]);
    return row <= 0 || row >= 4 * PARTS ? PARTS : row >= PARTS ? PARTS / 2 : 0;
}
/* Computes the parts side by side in registers, each over different pixels. */
static void sum_of_parts(struct plan *u, const struct stmt *red, const struct stmt *out) {
    const char *part = role.partial;
    int n = red->u.stage.naxes, r = red->u.stage.nred;
    struct word_list order = {0}, unrolled = {0};
    step_compute_at(&u->s, part, loop_of_sum(u, out, red), SC_PARAM);
    plan_innermost(u, part, n + 1, 1);
    for (int k = 0; k < r - 1; k++) add_loop(&u->s, &order, loop_in(u, part, red->u.stage.red[k]->name));
    add_loop(&u->s, &order, loop_in(u, part, RFACTOR_LOOP));
    for (int k = 0; k < n; k++)
        if (k != 1) add_loop(&u->s, &unrolled, loop_in(u, part, red->u.stage.axes[k]->name));
    add_loop(&u->s, &unrolled, loop_in(u, part, RFACTOR_LANE));
    add_loops(&u->s, &order, unrolled);
    add_loop(&u->s, &order, loop_in(u, part, red->u.stage.axes[1]->name));
    step_reorder(&u->s, order);
    step_kind(&u->s, LK_UNROLL, unrolled);
    step_kind(&u->s, LK_VECTOR, LOOPS(loop_in(u, part, red->u.stage.axes[1]->name)));
}
/* Moves the window's loops outside of the sum's rows, and these outside of the channels. For a sum in parts, `taps` are
 * the parts, or the window's remainder after whole groups. */
static void window_order(struct plan *u, const struct stmt *red, const char *acc, struct word_list taps,
                         struct word_list unrolled) {
    const char *channel = loop_in(u, acc, red->u.stage.axes[1]->name);
    struct word_list rows = {0}, order = {0};
    for (int k = 0; k < red->u.stage.naxes; k++)
        if (k != 1) add_loop(&u->s, &rows, loop_in(u, acc, red->u.stage.axes[k]->name));
    add_loops(&u->s, &order, taps);
    add_loops(&u->s, &order, rows);
    add_loop(&u->s, &order, channel);
    step_reorder(&u->s, order);
    add_loops(&u->s, &unrolled, rows);
    step_kind(&u->s, LK_UNROLL, unrolled);
}
static void order_sum(struct plan *u, const struct stmt *red, const char *acc, int parts) {
    struct word_list taps = {0}, rest = {0}, unrolled = {0};
    int n = red->u.stage.naxes, last = red->u.stage.nred - 1;
    plan_innermost(u, acc, n, 1);
    if (parts) add_loop(&u->s, &taps, loop_in(u, acc, RFACTOR_LANE));
    for (int k = 0; k <= last; k++) {
        const struct var *v = red->u.stage.red[k];
        add_loop(&u->s, parts ? &rest : &taps, loop_in(u, acc, parts && k == last ? RFACTOR_REST : v->name));
    }
    if (n > 2) add_loop(&u->s, &unrolled, role.tile_row);
    if (parts || few_terms(red)) add_loops(&u->s, &unrolled, taps);
    window_order(u, red, acc, taps, unrolled);
    if (parts && !x_is(x_modi(u->c, red->u.stage.red[last]->extent, parts), 0))
        window_order(u, red, acc, rest, (struct word_list){0});
    step_kind(&u->s, LK_VECTOR, LOOPS(role.channel, loop_in(u, acc, red->u.stage.axes[1]->name)));
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
    if (red == k->out) { /* before the layouts: afterwards a blocked result is no longer stored at its own axes */
        acc = role.sum;
        step_cache_write(&u->s, red->u.stage.buf->base, acc);
    }
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    plan_channels(u, k->out, NULL);
    const char *channel = red->u.stage.axes[1]->name;
    int parts = parts_of_sum(red);
    if (parts) {
        const char *row = red->u.stage.red[red->u.stage.nred - 1]->name;
        step_rfactor(&u->s, acc, loop_in(u, acc, row), parts, role.partial);
        if (const_extent(red->u.stage.axes[1]) % lanes_of(u))
            step_widen(&u->s, loop_in(u, role.partial, channel), lanes_of(u));
    }
    plan_widen(u, loop_in(u, acc, channel), k->out);
    blocked_nest(u, k->out, lanes_of(u), red, acc);
    if (parts) sum_of_parts(u, red, k->out);
    order_sum(u, red, acc, parts);
    return NULL;
}
const struct strategy strategy_window = {"window", window_points, window_steps, NULL};
