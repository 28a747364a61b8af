/* Recognises convolutions, however their operand lies; see convolution.h. */
#include "lower/algorithm/convolution.h"
#include "lower/algorithm/rows.h"

/* index = axis + step * tap + offset */
static bool slides_by(struct ctx *c, expr index, const struct var *axis, const struct var *tap, struct slide *w) {
    expr rest;
    return x_linear_in(c, index, tap, &w->step, &rest) && w->step > 0 &&
           x_is_int(x_sub(c, rest, x_var(c, axis)), &w->offset);
}
static bool find_slide(struct ctx *c, const struct problem *k, int tap, struct slide *w) {
    const struct stmt *s = k->sum;
    w->tap = tap;
    for (w->at = 0; w->at < k->a.read->n - k->a.read->has_fill; w->at++)
        for (w->axis = 0; w->axis < s->u.stage.naxes; w->axis++)
            if (w->axis != CHANNEL_AXIS &&
                slides_by(c, k->a.read->arg[w->at], s->u.stage.axes[w->axis], s->u.stage.red[tap], w))
                return true;
    return false;
}
double taps_inside(struct ctx *c, const struct problem *k) {
    const struct stmt *s = k->sum;
    double share = 1;
    for (int r = 0; r < s->u.stage.nred; r++) {
        struct slide w;
        int64_t cells, taps, all, met = 0;
        if (!find_slide(c, k, r, &w) || !x_is_int(s->u.stage.axes[w.axis]->extent, &cells) ||
            !x_is_int(s->u.stage.red[r]->extent, &taps) || !x_is_int(k->a.read->u.buf->logical[w.at], &all))
            continue;
        for (int64_t t = 0; t < taps; t++) { /* of cells from `first` to `last` */
            int64_t first = -(t * w.step + w.offset), last = first + all;
            first = first < 0 ? 0 : first, last = last > cells ? cells : last;
            met += last > first ? last - first : 0;
        }
        if (cells > 0 && taps > 0) share *= (double)met / (double)cells / (double)taps;
    }
    return share;
}
bool has_taps(const struct stmt *s, int r) { return r > 0 && !x_is(s->u.stage.red[r]->extent, 1); }
static bool fits(const struct algorithm *row, int64_t taps) {
    return row->split ? taps > row->taps : taps == row->taps;
}
int slide_of(const struct slide *w, int n, int axis) {
    while (n-- > 0 && w[n].axis != axis) {}
    return n;
}
static bool has_axis(const struct convolution *v, int axis) {
    return slide_of(v->along, v->nalong, axis) >= 0 || slide_of(v->over, v->nover, axis) >= 0;
}
/* The windows, of which the innermost ones of the row's size are `along`. */
static bool find_slides(struct ctx *c, const struct problem *k, const struct algorithm *row, struct convolution *v) {
    const struct stmt *s = k->sum;
    int64_t taps;
    int fit = 0;
    for (int r = 1; r < s->u.stage.nred; r++) {
        if (!x_is_int(s->u.stage.red[r]->extent, &taps)) return false;
        fit += fits(row, taps);
    }
    if (row->dims != (fit < 2 ? fit : 2)) return false; /* another row fits better */
    for (int r = 1; r < s->u.stage.nred; r++) {
        struct slide w = {.count = const_extent(s->u.stage.red[r]), .unit = 1};
        if (!has_taps(s, r)) continue;
        if (!find_slide(c, k, r, &w) || has_axis(v, w.axis)) return false; /* along a diagonal */
        if (fits(row, w.count) && fit-- <= row->dims) {
            v->along[v->nalong++] = w;
            w.unit = row->taps, w.count = (w.count + w.unit - 1) / w.unit;
        }
        if (w.count > 1) v->over[v->nover++] = w;
    }
    return true;
}
static bool slides_in(const struct convolution *v, int at) {
    for (int d = 0; d < v->nalong; d++)
        if (v->along[d].at == at) return true;
    for (int d = 0; d < v->nover; d++)
        if (v->over[d].at == at) return true;
    return false;
}
/* The index of the operand's dim depends neither on channels nor on where windows are. */
static bool stands(struct ctx *c, const struct problem *k, const struct convolution *v, expr at) {
    const struct stmt *s = k->sum;
    for (int r = 0; r < s->u.stage.nred; r++)
        if ((r == 0 || has_taps(s, r)) && x_uses_var(c, at, s->u.stage.red[r])) return false;
    for (int d = 0; d < s->u.stage.naxes; d++)
        if ((d == CHANNEL_AXIS || has_axis(v, d)) && x_uses_var(c, at, s->u.stage.axes[d])) return false;
    return true;
}
/* In how many groups the index of the operand's dim p goes along its channels, each of which is for as many of the
 * result's; 0: it does not. */
static int64_t groups_along(struct ctx *c, const struct problem *k, int p) {
    const struct stmt *s = k->sum;
    const struct var *out = s->u.stage.axes[CHANNEL_AXIS], *in = s->u.stage.red[0];
    int64_t all, results = const_extent(out), each = const_extent(in);
    if (!x_is_int(k->a.read->u.buf->logical[p], &all) || each < 1 || all < each) return 0;
    if (all % each || results % (all / each)) return 0;
    int64_t groups = all / each;
    expr at = x_var(c, in);
    if (groups > 1) at = x_add(c, at, x_muli(c, x_divi(c, x_var(c, out), results / groups), each));
    return k->a.read->arg[p] == at ? groups : 0;
}
bool convolves(struct ctx *c, const struct problem *k, const struct algorithm *row, expr zero, struct convolution *v) {
    const struct stmt *s = k->sum;
    expr x = k->a.read, w = k->b.read;
    int rank = k->product ? x->n - x->has_fill : 0;
    *v = (struct convolution){.channel = -1};
    if (!k->product || s->u.stage.naxes > PLACES + 1 || s->u.stage.nred < 2 || s->u.stage.nred > PLACES) return false;
    if (w->n != s->u.stage.nred + 1 || w->has_fill || !is_constant(w->u.buf)) return false;
    if ((x->has_fill && zero && x->arg[rank] != zero) || !is_var(w->arg[0], s->u.stage.axes[CHANNEL_AXIS]))
        return false;
    for (int r = 0; r < s->u.stage.nred; r++)
        if (!is_var(w->arg[r + 1], s->u.stage.red[r])) return false;
    if (!find_slides(c, k, row, v)) return false;
    for (int p = 0; p < rank; p++) {
        int64_t groups = v->channel < 0 ? groups_along(c, k, p) : 0;
        if (groups) v->channel = p, v->groups = groups;
        else if (!slides_in(v, p) && !stands(c, k, v, x->arg[p])) return false;
    }
    return v->channel >= 0;
}
