/* Contractions (convolutions and matrix products) whose sums stay in a tile of registers: which kernels qualify, along
 * which axes lanes and rows run, and in which order the sum goes. Tile sizes are points: tilings.c. See cpu.h. */
#include "lower/schedule/tiling.h"
#include <string.h>

/* ---- what is taken */
/* All stages after the sum are maps over as many axes. */
static bool maps_follow(const struct problem *k) {
    for (int i = 1; i < k->stages.n; i++)
        if (k->stages.v[i]->u.stage.op != RED_NONE || k->stages.v[i]->u.stage.naxes != k->sum->u.stage.naxes)
            return false;
    return true;
}
/* The operand is multiplied as it lies in memory, or is bytes converted to float. */
static bool is_plain(const struct operand *o) {
    expr v = o->value;
    return v == o->read || (v->op == X_CAST && v->type == F32 && v->arg[0] == o->read && o->read->u.buf->type == I8);
}
static bool reads_constants(void *env, expr e) {
    bool *ok = env;
    if (e->op == X_LOAD) *ok &= is_constant(e->u.buf) && !e->has_fill;
    *ok &= e->op != X_CALL && e->op != X_TOIDX && e->op != X_GUARD;
    return *ok;
}
/* The operand is computed from constants alone: weights of few bits, times the scale of their block. */
static bool is_computed(const struct problem *k) {
    bool constants = k->b.value->type == F32 && is_constant(k->b.read->u.buf);
    if (is_plain(&k->b)) return false;
    x_visit(k->b.value, reads_constants, &constants);
    return constants;
}
static const char *no_product(const struct problem *k, bool products, bool computed) {
    if (!products) return "no sum of products";
    if (k->nreductions > 1) return "several reductions";
    if (k->nresults > 1) return "several results";
    if (k->a.made || k->b.made || k->stages.v[0] != k->sum) return "a factor is made by the kernel itself";
    if (k->a.value != k->a.read || (!is_plain(&k->b) && !computed))
        return "a factor is changed before it is multiplied";
    if (k->sum->u.stage.naxes > MAX_AXES || k->sum->u.stage.nred > MAX_AXES) return "too many axes";
    return maps_follow(k) ? NULL : "what follows the sum has other axes";
}
const char *no_plain_product(const struct problem *k) { return no_product(k, k->product, false); }
const char *no_contraction(const struct problem *k) {
    return no_product(k, k->product || k->differences, k->product && is_computed(k));
}

/* ---- which axis the lanes run along */
/* Neighbours of the load in memory are neighbours along v: v occurs in the last index alone, with coefficient 1.
 * Trailing dims of a single cell do not count. */
static bool lies_along(struct plan *u, expr load, const struct var *v) {
    const struct param_layout *l = layout_of(u->p, u->l, load->u.buf);
    int n = load->n - load->has_fill;
    int64_t k;
    expr rest;
    if (l && l->panels.lanes) return false;
    while ((!l || !l->spec) && !load->has_fill && n > 1 && x_is(load->u.buf->dims[n - 1], 1)) n--;
    if (n < 1 || (l && l->block)) return false;
    for (int i = 0; i < n - 1; i++)
        if (x_uses_var(u->c, load->arg[i], v)) return false;
    return x_linear_in(u->c, load->arg[n - 1], v, &k, &rest) && k == 1;
}
/* The micro-kernel takes operands of these types and values, and the vector operand can be packed for it. */
static bool micro_takes(const struct micro *micro, expr scalar, expr vec, bool packed) {
    int64_t lo, hi;
    if (!micro->instr) return true;
    if (micro_within(micro, &lo, &hi) && !buf_holds_within(vec->u.buf, lo, hi)) return false;
    return packed && scalar->u.buf->type == micro->a && vec->u.buf->type == micro->b;
}
int64_t equal_panels(int64_t per, int lanes, int nr) {
    int64_t vectors = (per + lanes - 1) / lanes, panels = (vectors + nr - 1) / nr;
    return nr > 1 && per % panels == 0 && (per / panels + lanes - 1) / lanes == nr ? panels : 0;
}
static bool has_equal_panels(const struct machine *m, int64_t per, int lanes) {
    for (int nr = m->panel_vectors; nr > 1; nr--)
        if (equal_panels(per, lanes, nr)) return true;
    return false;
}
struct beside_read {
    struct ctx *c;
    const struct var *lane;
    bool ok;
};
static bool is_beside(void *env, expr e) {
    struct beside_read *q = env;
    q->ok &= e->op != X_LOAD || !operand_uses(q->c, e, q->lane) || dim_of(e, q->lane) >= 0;
    return q->ok;
}
/* Each constant that the operand is computed from can be packed along v, or is the same for all lanes. */
static bool packs_computed(struct plan *u, const struct tiling *g, expr vec, const struct var *v) {
    struct beside_read q = {u->c, v, vec == g->q->b.read && !g->micro->instr};
    x_visit(g->q->b.value, is_beside, &q);
    return q.ok;
}
/* per: cells of a group, 0: no groups. Instructions need whole vectors; their shorter forms are only for groups that do
 * not fill the longest one. */
static bool fits_group(struct plan *u, const struct tiling *g, int64_t per, int lanes, bool packed) {
    int longest = machine_lanes(u->m, g->q->sum->u.stage.buf->type);
    if (per && (!packed || (g->vector > 1 ? lanes : per) < 2)) return false;
    if (g->micro->instr && lanes < g->vector) return false;
    if (g->vector > 1 && g->vector < longest && per % longest == 0) return false;
    return per % lanes == 0 || g->micro->side == g->micro->k0; /* otherwise the group is packed in whole vectors */
}
/* The operand is packed at run time by another kernel, exactly as this micro-kernel takes it along v. */
static bool lies_packed(const struct plan *u, const struct tiling *g, expr vec, const struct var *v) {
    const struct param_layout *l = layout_of(u->p, u->l, vec->u.buf);
    const struct panels *p = l ? &l->panels : NULL;
    return p && (p->lanes == 1 || (p->lanes && p->lanes == g->vector)) && p->group == g->micro->side &&
           p->along == dim_of(vec, v) && p->summed == dim_of(vec, g->q->sum->u.stage.red[0]);
}
static bool try_lane(struct plan *u, struct tiling *g, int axis, bool scattered) {
    const struct problem *q = g->q;
    const struct var *v = q->sum->u.stage.axes[axis];
    for (int side = 0; side < 2; side++) {
        expr vec = side ? q->a.read : q->b.read, other = side ? q->b.read : q->a.read;
        int at = dim_of(vec, v);
        bool packed = at >= 0 && (is_constant(vec->u.buf) || lies_packed(u, g, vec, v));
        if (!packed && g->vector > 1 && !lies_along(u, vec, v)) continue;
        if (!micro_takes(g->micro, other, vec, packed)) continue;
        if (g->computed && g->vector > 1 && (!packed || !packs_computed(u, g, vec, v))) continue;
        int64_t per = shared_neighbours(u->c, other, v);
        int lanes = g->vector;
        while (per && per % lanes && !(scattered && has_equal_panels(u->m, per, lanes))) lanes /= 2;
        if (!fits_group(u, g, per, lanes, packed)) continue;
        g->vec = vec, g->scalar = other, g->lane = axis, g->packed = packed, g->scattered = scattered;
        g->per = per, g->lanes = lanes;
        return true;
    }
    return false;
}
/* Without vectors: the last axis or the channels, whatever the stride. Packed operands are preferred. */
static bool choose_scalar_lane(struct plan *u, struct tiling *g) {
    int last = naxes_of(g) - 1;
    for (int packed = 1; packed >= 0; packed--)
        for (int k = last; k >= 0; k--) {
            if ((k != last && k != 1) || const_extent(axis_var(g, k)) == 1) continue;
            if (try_lane(u, g, k, k != last) && (g->packed || !packed)) return true;
        }
    return last >= 0 && try_lane(u, g, last, false);
}
/* Blocks of the result become vectors. If a block spans several groups of channels, either vectors get fewer lanes, or
 * (g->across) panels hold whole groups and are stored in the pieces that group and block boundaries leave. */
static bool choose_blocked_lane(struct plan *u, struct tiling *g, const struct param_layout *ly) {
    if (ly->block % g->vector || naxes_of(g) < 2 || !try_lane(u, g, 1, g->across)) return false;
    if (g->across) return g->lanes == g->vector && g->per % g->vector;
    g->blocked = true;
    g->padded = const_extent(axis_var(g, 1)) % (g->per ? g->lanes : ly->block) != 0; /* with groups the panels are
                                                                                      * always full */
    return g->packed || !g->padded;
}
/* How many vectors along v, holding whole groups of channels, together read one block of the channels of `other`; 0:
 * they do not. */
static int64_t vectors_that_mix(struct plan *u, const struct tiling *g, expr other, const struct var *v) {
    const struct param_layout *l = layout_of(u->p, u->l, other->u.buf);
    const struct var *lane = var_new(u->c, "lane", x_int(u->c, g->vector));
    int64_t run, step, lo, hi;
    if (!l || l->block != g->vector || other->n < 2) return 0;
    expr at = x_subst1(u->c, other->arg[1], v, x_var(u->c, lane)), from = x_subst1(u->c, at, lane, x_int(u->c, 0));
    x_bounds(u->c, from, &lo, &hi);
    if (lo != 0 || !x_in_runs(u->c, at, lane, &run, &step) || hi >= step || run % step) return 0;
    return !g->micro->per || (run == g->micro->per && step == run) ? run / step : 0;
}
/* Blocks of the result are vectors that each span several groups of channels: their lanes read different cells of the
 * other operand, which lie side by side. */
static bool choose_mixed_lane(struct plan *u, struct tiling *g, const struct param_layout *ly) {
    const struct problem *q = g->q;
    const struct var *v = naxes_of(g) > 1 ? axis_var(g, 1) : NULL;
    if (ly->block != g->vector || (g->micro->instr && !g->micro->per) || g->computed || !v) return false;
    for (int side = 0; side < 2; side++) {
        expr vec = side ? q->a.read : q->b.read, other = side ? q->b.read : q->a.read;
        g->mixed = (int)vectors_that_mix(u, g, other, v);
        bool packed = dim_of(vec, v) >= 0 && is_constant(vec->u.buf);
        if (!g->mixed || !packed || !micro_takes(g->micro, other, vec, packed)) continue;
        g->vec = vec, g->scalar = other, g->lane = 1, g->packed = g->blocked = true;
        g->per = 0, g->lanes = g->vector;
        g->padded = const_extent(v) % ly->block != 0;
        return true;
    }
    return g->mixed = 0, false;
}
/* Lanes along the channels, or else the last other axis that allows lanes; the cells of a vector are then stored one by
 * one. */
static bool choose_scattered_lane(struct plan *u, struct tiling *g) {
    int last = naxes_of(g) - 1;
    if (last >= 1 && try_lane(u, g, 1, true)) return true;
    for (int k = last - 1; k >= 0; k--)
        if (k != 1 && const_extent(axis_var(g, k)) != 1 && try_lane(u, g, k, true)) return true;
    return false;
}
/* Chooses the axis of the lanes as `way` says; false: impossible. A plain result has its lanes along its last axis, or
 * scattered along another one. */
static bool choose_lane(struct plan *u, struct tiling *g, enum lane_way way) {
    bool other = way == LANES_OTHER;
    if (g->micro->per && way != LANES_MIXED) return false;
    const struct problem *q = g->q;
    const struct param_layout *ly = layout_of(u->p, u->l, q->out->u.stage.buf);
    int last = naxes_of(g) - 1;
    if (g->vector > 1 && ly && ly->block) {
        if (way == LANES_MIXED) return choose_mixed_lane(u, g, ly);
        g->across = other;
        return choose_blocked_lane(u, g, ly);
    }
    if (way == LANES_MIXED) return false;
    if (g->vector == 1) return !other && choose_scalar_lane(u, g);
    bool along_last = last >= 0 && try_lane(u, g, last, false) && const_extent(axis_var(g, last)) != 1;
    if (along_last && !other) return true;
    if (other && (!along_last || last == 1))
        return false; /* if the last axis is the channels, that is what the first
                       * way has chosen */
    return choose_scattered_lane(u, g);
}
/* Only the broadcast operand depends on the axis. */
static bool has_rows(struct plan *u, const struct tiling *g, int axis) {
    const struct var *v = axis_var(g, axis);
    return axis != g->lane && !x_is(v->extent, 1) && operand_uses(u->c, g->scalar, v) && !operand_uses(u->c, g->vec, v);
}
/* The axis' reference extent is 1: mostly the batch of a text, which comes before its words. Not for blocked results:
 * their rows are those of an image. */
static bool one_row(struct plan *u, const struct tiling *g, int axis) {
    return !g->blocked && x_reference(u->c, axis_var(g, axis)->extent) == 1;
}
/* Rows: the last axis that only the broadcast operand depends on, preferably one with more than one cell. Group: the
 * next such axis outside of it, whose rows may share a panel. */
static void choose_rows(struct plan *u, struct tiling *g) {
    g->row = g->group = -1;
    for (int one = 0; one < 2; one++)
        for (int k = naxes_of(g); k--;) {
            if (!has_rows(u, g, k) || one_row(u, g, k) != one) continue;
            if (g->row < 0) g->row = k;
            else if (g->group < 0) g->group = k;
        }
    g->N = const_extent(axis_var(g, g->lane));
    if (g->padded) g->N = (g->N + g->vector - 1) / g->vector * g->vector;
    g->rows = g->row >= 0 ? const_extent(axis_var(g, g->row)) : 1;
    g->counted = g->row >= 0 ? x_typical(u->c, axis_var(g, g->row)->extent, OPEN_EXTENT) : 1;
    if (g->rows < 1 && g->counted < 2) g->counted = OPEN_EXTENT; /* a single row has a nest of its own */
}

/* ---- the sum */
/* The reduced axis with the largest extent that indexes the packed operand directly: input channels, or K. For a
 * computed operand the last such axis, along which the scale of a block is constant. */
static int main_red(const struct tiling *g) {
    int best = -1;
    int64_t largest = 0;
    for (int k = 0; k < nsums_of(g); k++) {
        const struct var *v = g->q->sum->u.stage.red[k];
        int64_t n = const_extent(v);
        if (dim_of(g->vec, v) < 0 || (n < largest && !g->computed)) continue;
        largest = n, best = k;
    }
    return best;
}
/* For an operand in blocks of channels: the reduced axis over the channels, even if a window is longer. */
static int channel_red(struct plan *u, const struct tiling *g) {
    int best = -1;
    for (int k = 0; k < nsums_of(g); k++) {
        const struct var *v = g->q->sum->u.stage.red[k];
        if (dim_of(g->vec, v) >= 0 && x_uses_var(u->c, g->scalar->arg[1], v)) best = k;
    }
    return best;
}
/* The number of channels to sum at a time so that each group of channels starts at a multiple of it: the block, or a
 * fraction; 0: there is none. */
static int part_of_block(struct plan *u, const struct tiling *g, int block) {
    const struct var *v = g->q->sum->u.stage.red[g->kred];
    if (g->scalar->n < 2) return 0;
    while (block > 1 && !sums_whole_blocks(u->c, g->scalar->arg[1], v, block)) block /= 2;
    return block > 1 ? block : 0;
}
/* There is no sum over channels: each group has one input channel and makes several (depthwise with a multiplier). */
static bool one_channel(struct plan *u, const struct tiling *g) {
    bool summed = false;
    for (int k = 0; k < nsums_of(g); k++) {
        const struct var *v = g->q->sum->u.stage.red[k];
        summed |= const_extent(v) != 1 && x_uses_var(u->c, g->scalar->arg[1], v);
    }
    return (g->per > 1 || g->mixed) && !summed;
}
/* For a plain operand and an instruction that sums k0 steps: finds a reduced axis, channels or window, along which
 * these lie side by side. Remaining steps of float sums are done one by one. */
static bool choose_groups(struct plan *u, struct tiling *g) {
    int k0 = g->micro->k0, only = g->computed ? g->kred : -1;
    bool tiles = micro_has_tiles(g->micro), whole = tiles || !dtype_is_float(g->micro->sum);
    int64_t most = 0;
    g->kred = -1;
    for (int k = 0; k < nsums_of(g); k++) {
        const struct var *v = g->q->sum->u.stage.red[k];
        int64_t n = const_extent(v);
        if (!whole && n < 0) n = OPEN_EXTENT;
        if (n <= most || (whole && n % k0) || (only >= 0 && k != only) || dim_of(g->vec, v) < 0 ||
            !lies_along(u, g->scalar, v))
            continue;
        most = n, g->kred = k;
    }
    if (g->kred < 0) return false;
    bool open = const_extent(g->q->sum->u.stage.red[g->kred]) < 0;
    g->rest = open || most % k0;
    int64_t groups = most / k0, together = 1;
    if (groups % 2 == 0) together = 2;
    if (groups % 4 == 0 || (g->rest && groups > 4)) together = 4;
    if (tiles || open)
        together = 1; /* each k0 is one instruction; and with an open extent, larger blocks would leave
                       * a remainder of several k0, which is more code */
    g->kblock = together * k0;
    return true;
}
bool looks_up(struct plan *u, const struct tiling *g) {
    for (int d = 0; g->kred >= 0 && d < g->scalar->n - g->scalar->has_fill; d++)
        if (x_looked_up(u->c, g->scalar->arg[d], g->q->sum->u.stage.red[g->kred])) return true;
    return false;
}
static bool choose_sum(struct plan *u, struct tiling *g) {
    const struct param_layout *ls = layout_of(u->p, u->l, g->scalar->u.buf), *lv = layout_of(u->p, u->l, g->vec->u.buf);
    g->kred = -1, g->kblock = 0;
    if (g->vector == 1 && g->micro->k0 == 1)
        return true; /* nothing is done per block of steps, so no blocks are needed */
    if (lv && lv->block) return false;
    g->kred = main_red(g);
    if (ls && ls->block && !looks_up(u, g)) {
        if (one_channel(u, g)) return g->kred = -1, true;
        if ((g->kred = channel_red(u, g)) < 0) return false;
        int64_t channels = const_extent(g->q->sum->u.stage.red[g->kred]);
        bool all = dim_of(g->scalar, g->q->sum->u.stage.red[g->kred]) == 1;
        g->kblock = all ? ls->block : part_of_block(u, g, ls->block);
        g->rest = all && channels % g->kblock != 0;
        return channels > 0 && g->kblock > 0 && g->kblock % g->micro->k0 == 0 && channels % g->micro->k0 == 0;
    }
    if (g->micro->k0 > 1) return choose_groups(u, g);
    int64_t n = g->kred >= 0 ? const_extent(g->q->sum->u.stage.red[g->kred]) : -1;
    for (int b = 8; b >= 4 && !g->kblock; b /= 2) /* one prefetch every b steps */
        if (g->kred >= 0 && n > b && n % b == 0) g->kblock = b;
    if (!g->kblock) g->kred = -1;
    return true;
}
/* Both the row and the reduced axis v move the same index of the broadcast operand: a window. */
bool slides_along_rows(struct plan *u, const struct tiling *g, const struct var *v) {
    for (int k = 0; g->row >= 0 && k < g->scalar->n - g->scalar->has_fill; k++)
        if (x_uses_var(u->c, g->scalar->arg[k], v) && x_uses_var(u->c, g->scalar->arg[k], axis_var(g, g->row)))
            return true;
    return false;
}
/* The definition's order. But if no channels are innermost, the innermost reduced axis must not slide along the rows:
 * an iteration would load again what the one before loaded, and gcc carries those values between iterations through
 * memory: 43 instead of 92 GFLOP/s in the first layer of ResNet. Mixed lanes have the window unrolled. */
static void choose_order(struct plan *u, struct tiling *g) {
    int inner = -1;
    int64_t most = 1;
    g->norder = 0;
    for (int k = 0; k < nsums_of(g) && g->kred < 0 && g->vector > 1 && !g->mixed; k++) {
        const struct var *v = g->q->sum->u.stage.red[k];
        int64_t n = const_extent(v);
        if ((n < 0 || n >= most) && !slides_along_rows(u, g, v)) inner = k, most = n < 0 ? most : n;
    }
    for (int k = 0; k < nsums_of(g); k++)
        if (k != g->kred && k != inner) g->order[g->norder++] = k;
    if (inner >= 0) g->order[g->norder++] = inner;
}
const char *choose_axes(struct plan *u, struct tiling *g, enum lane_way way) {
    if (u->k->differences && g->micro->instr) return "its instruction multiplies";
    g->computed = !is_plain(&u->k->b); /* no_contraction has refused every other computed operand */
    g->vector = g->micro->n0 ? g->micro->n0 : machine_lanes(u->m, u->k->sum->u.stage.buf->type);
    if (!choose_lane(u, g, way))
        return "no axis for the lanes: neither factor lies along one, nor is a constant to pack";
    if (!choose_sum(u, g)) return "the blocks of channels are not what is summed";
    choose_rows(u, g);
    choose_order(u, g);
    return NULL;
}
