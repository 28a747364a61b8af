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
/* y's nest with the channel block innermost: rows of `tile` pixels inside of everything else. */
void blocked_nest(struct plan *u, const struct stmt *out, int lanes, const char *tile_of) {
    struct ctx *c = u->c;
    int n = out->u.stage.naxes, last = n - 1;
    text_printf(&u->s, "split %s %d cb cv\nreorder %s cb", axis_loop(c, out, 1), lanes, axis_loop(c, out, 0));
    for (int k = 2; k < n; k++) text_printf(&u->s, " %s", axis_loop(c, out, k));
    text_add(&u->s, " cv\n");
    if (!tile_of) return;
    int64_t rows = n > 2 ? const_extent(out->u.stage.axes[last]) : 1, most = sums_of_row(u->m);
    if (n <= 2) text_printf(&u->s, "compute_at %s cb\n", tile_of);
    else if (rows > 0) {
        plan_tiles(u, axis_loop(c, out, last), "wo wi", rows, 1, most);
        text_printf(&u->s, "compute_at %s wo\n", tile_of);
    } else
        text_printf(&u->s, "split %s %lld wo wi cut2\ncompute_at %s wo\n", axis_loop(c, out, last), (long long)most,
                    tile_of);
}
static void window_order(struct plan *u, const struct stmt *red, const char *acc) {
    int n = red->u.stage.naxes, r = red->u.stage.nred;
    int64_t taps = 1;
    for (int k = 0; k < r; k++)
        taps *= const_extent(red->u.stage.red[k]) > 0 ? const_extent(red->u.stage.red[k]) : 1000;
    text_printf(&u->s, "layout %s [0", acc);
    for (int k = 2; k < n; k++) text_printf(&u->s, " %d", k);
    text_add(&u->s, " 1]\nreorder");
    for (int k = 0; k < r; k++) text_printf(&u->s, " %s.%s", acc, red->u.stage.red[k]->name);
    for (int k = 0; k < n; k++)
        if (k != 1) text_printf(&u->s, " %s.%s", acc, red->u.stage.axes[k]->name);
    text_printf(&u->s, " %s.%s\nkind unroll", acc, red->u.stage.axes[1]->name);
    if (n > 2) text_add(&u->s, " wi");
    for (int k = 0; k < r && taps <= 25; k++) text_printf(&u->s, " %s.%s", acc, red->u.stage.red[k]->name);
    for (int k = 0; k < n; k++)
        if (k != 1) text_printf(&u->s, " %s.%s", acc, red->u.stage.axes[k]->name);
    text_printf(&u->s, "\nkind vector cv %s.%s\n", acc, red->u.stage.axes[1]->name);
}
static const char *window_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    const struct param_layout *ly = layout_of(u->p, u->l, k->out->u.stage.buf);
    if (k->nreductions != 1 || k->nresults != 1) return "not one reduction with one result";
    if (lanes_of(u) < 2) return "there are no vectors";
    if (!ly || ly->block != lanes_of(u)) return "the result has no blocks of channels";
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
        acc = "acc";
        text_printf(&u->s, "cache_write %s acc\n", red->u.stage.buf->base);
    }
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    plan_channels(u, k->out, NULL);
    plan_widen(u, internf(u->c->names, "%s.%s", acc, red->u.stage.axes[1]->name), k->out);
    blocked_nest(u, k->out, lanes_of(u), acc);
    window_order(u, red, acc);
    return NULL;
}
const struct strategy strategy_window = {"window", window_points, window_steps, NULL};
