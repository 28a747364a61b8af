/* Winograd's convolutions F(m x m, r x r), and F(m, r) of one axis: tiles of m x m results from products of transformed
 * tiles of a = m + r - 1 cells and transformed weights, one product for each of the a x a cells and channel instead of
 * r r m m (Lavin and Gray, "Fast algorithms for convolutional neural networks"). Along each axis  y = A'((G w) * (B'
 * x)): polynomials are evaluated at a - 1 points and infinity (G, B), multiplied there, and interpolated (A). The
 * points are all the data of a row.
 *
 * Three parts: the operand's transform, a * a products of matrices, the result's transform with what follows the sum.
 * Weights are transformed now, in f64.
 *
 * Windows may slide along more axes than the row has: the products are then summed over the taps of the others. Larger
 * windows than the row's are sums of windows that begin a tile apart, and of dilated windows each phase has its tiles.
 *
 * Bytes less their zero points are whole numbers, and so is all of it where G is multiplied by its denominators: tiles
 * and weights are integers of 16 bits, and the sums, modulo 2^32, are `unit` (for each axis) times too great. That is
 * an odd number, which has an inverse modulo 2^32, times a power of two, by which a shift divides: the same bits as the
 * definition, if those that the shift takes are none of the result's. */
#include "lower/algorithm/winograd.h"
#include "lower/algorithm/constants.h"
#include "lower/algorithm/rows.h"
#include <math.h>

/* ---- the stages */
static expr times(const struct algorithm_query *q, double k, expr e, expr sum) {
    struct ctx *c = q->c;
    enum dtype type = (enum dtype)e->type;
    expr factor = x_num(c, type, k);
    if (!sum) return k == 1 ? e : x_mul(c, factor, e);
    if (k == 1) return x_add(c, sum, e);
    if (k == -1) return x_sub(c, sum, e);
    return type == F32 && machine_op(q->m, X_FMA, F32) ? x_fma(c, factor, e, sum) : x_add(c, sum, x_mul(c, factor, e));
}
/* The sum of k[j] e[j] over every step-th j below n, from the last one down: its factor is mostly 1. */
static expr combined(const struct algorithm_query *q, const double *k, const expr *e, int n, int step) {
    expr sum = NULL;
    for (int j = n; (j -= step) >= 0;)
        if (k[j] != 0) sum = times(q, k[j], e[j], sum);
    return sum;
}
static expr sum_of(const struct algorithm_query *q, expr a, expr b, bool less) {
    if (!a || !b) return a ? a : b;
    return less ? x_sub(q->c, a, b) : x_add(q->c, a, b);
}
/* A row of B': the rows of p and -p have the same even part, and odd parts of opposite sign. */
static expr row_of_b(const struct algorithm_query *q, const double *k, const expr *e, int n) {
    double odd[WINOGRAD_CELLS];
    int last = n - 1 - n % 2, sign = 1; /* the last odd index */
    for (int j = 1; j <= last; j += 2)
        if (k[j] != 0) sign = k[j] < 0 ? -1 : 1;
    for (int j = 0; j < n; j++) odd[j] = sign * k[j];
    expr even = combined(q, k, e, n + n % 2, 2);
    return sum_of(q, even, combined(q, odd, e, last + 2, 2), sign < 0);
}
/* A row of A': values at p and -p are first added or subtracted, unless whole numbers need other factors. If n is odd,
 * the last point has no opposite. */
static expr row_of_a(const struct algorithm_query *q, const double *k, const expr *e, int n) {
    expr sum = k[0] != 0 ? times(q, k[0], e[0], NULL) : NULL;
    for (int j = 1; j < n; j++) {
        bool pair = j % 2 && j + 2 < n && fabs(k[j]) == fabs(k[j + 1]);
        if (k[j] != 0) sum = times(q, k[j], pair ? sum_of(q, e[j], e[j + 1], k[j] != k[j + 1]) : e[j], sum);
        j += pair;
    }
    return sum;
}
/* Row i of rows[], where i is a variable: a loop over it gets unrolled. */
static expr row_by(struct ctx *c, expr i, const expr *rows, int n) {
    expr e = rows[n - 1];
    for (int k = n - 1; k-- > 0;) e = x_select(c, x_cmp(c, X_EQ, i, x_int(c, k)), rows[k], e);
    return e;
}
/* An axis of the tiles: an axis of the sum, of which `along` windows slide along it (-1: none) and are summed over it
 * (-1). Cells that the taps of dilated windows meet are in one phase, whose tiles a place counts, and another the
 * phases. */
struct place {
    int axis, along, over;
    bool phase;
    expr tiles, read; /* how many there are, and how many of the operand */
    expr from;        /* a band's first cell of the axis; NULL: bands do not cut it */
};
struct work {
    const struct algorithm_query *q;
    const struct algorithm *row;
    struct integer_product whole;
    enum dtype cell, sum_type; /* types of transformed tiles and weights, and of their products */
    struct winograd w;
    struct rewriting *out;
    struct stmt *sum;
    int dims, places;
    struct winograd_channels channels;
    struct winograd_bands bands;
    struct convolution v;
    struct place place[PLACES + 2];
};
static const struct var *axis(const struct work *k, const char *name, expr extent) {
    return var_new(k->q->c, name, extent);
}
static const struct var *small(const struct work *k, const char *name, int n) {
    return axis(k, name, x_int(k->q->c, n));
}
/* Axes of transformed tiles: their cells (one axis or two), the other axes of the sum, of which `along` count tiles,
 * the channel. */
enum { TILE_AXES = 2 + PLACES + 2 + 1 };
static const char *const cell_axes[] = {"i", "j"}, *const tile_axes[] = {"high", "wide"};
static int axes_of_tiles(const struct work *k) { return k->dims + k->places + 1; }
static const char *name_of(const struct work *k, const struct place *p) {
    const char *along = p->along < 0 ? NULL : tile_axes[2 - k->dims + p->along];
    if (p->phase) return internf(k->q->c->names, "%s_phase", along);
    return along ? along : p->axis == 0 ? "n" : k->sum->u.stage.axes[p->axis]->name;
}
static void find_places(struct work *k) {
    struct ctx *c = k->q->c;
    const struct convolution *v = &k->v;
    for (int d = 0; d < k->sum->u.stage.naxes; d++) {
        if (d == CHANNEL_AXIS) continue;
        struct place p = {.axis = d, .along = slide_of(v->along, v->nalong, d), .over = slide_of(v->over, v->nover, d)};
        int64_t step = p.along < 0 ? 1 : v->along[p.along].step, cells = p.along < 0 ? 1 : k->w.tile * step;
        if (step > 1)
            k->place[k->places++] = (struct place){d, p.along, -1, true, x_int(c, step), x_int(c, step), NULL};
        p.tiles = p.read = x_divi(c, x_addi(c, k->sum->u.stage.axes[d]->extent, cells - 1), cells);
        if (p.over >= 0)
            p.read = x_addi(c, p.tiles, (v->over[p.over].count - 1) * (p.along < 0 ? v->over[p.over].step : 1));
        k->place[k->places++] = p;
    }
}
/* One pass of a transform along the axis `at` (0 or 1) of the buffer's first: rows of the matrix over its cells. */
static struct buf *pass(const struct work *k, const char *name, bool back, int at, struct buf *from, expr channels,
                        expr (*cell)(const struct work *k, struct buf *from, const expr *index)) {
    struct ctx *c = k->q->c;
    int a = k->w.cells, m = k->w.tile, rows = back ? m : a, n = axes_of_tiles(k);
    expr row[WINOGRAD_CELLS] = {0}, e[WINOGRAD_CELLS], index[TILE_AXES], to[TILE_AXES];
    const struct var *axes[TILE_AXES];
    for (int d = 0; d < k->dims; d++) axes[d] = small(k, cell_axes[d], d > at ? a : rows);
    for (int p = 0; p < k->places; p++)
        axes[k->dims + p] = axis(k, name_of(k, &k->place[p]), back ? k->place[p].tiles : k->place[p].read);
    axes[n - 1] = axis(k, "c", channels);
    for (int d = 0; d < n; d++) index[d] = to[d] = x_var(c, axes[d]);
    for (int j = 0; j < a; j++) {
        to[at] = x_int(c, j);
        e[j] = cell(k, from, to);
    }
    for (int i = 0; i < rows; i++) row[i] = back ? row_of_a(k->q, k->w.a[i], e, a) : row_of_b(k->q, k->w.b[i], e, a);
    return algorithm_stage(k->q, k->out, name, back || at + 1 < k->dims ? k->sum_type : k->cell, axes, n, RED_NONE,
                           NULL, 0, row_by(c, index[at], row, rows));
}
static expr cell_of(const struct work *k, struct buf *from, const expr *index) {
    return x_load(k->q->c, from, index, axes_of_tiles(k), NULL);
}
/* The operand's index of a dim beside the windows, where the places are `index`. */
static expr index_beside(const struct work *k, expr at, const expr *index) {
    struct ctx *c = k->q->c;
    const struct stmt *s = k->sum;
    for (int r = 1; r < s->u.stage.nred; r++)
        if (!has_taps(s, r)) at = x_subst1(c, at, s->u.stage.red[r], x_int(c, 0));
    for (int p = 0; p < k->places; p++) {
        expr i = index[k->dims + p], from = k->place[p].from;
        at = x_subst1(c, at, s->u.stage.axes[k->place[p].axis], from ? x_add(c, from, i) : i);
    }
    return at;
}
/* Cell [i,j] of a tile of the operand; 0 outside of the operand. */
static expr cell_of_operand(const struct work *k, struct buf *from, const expr *index) {
    struct ctx *c = k->q->c;
    expr x = k->q->k->a.read, at[32];
    int rank = x->n - x->has_fill;
    for (int p = 0; p < rank; p++)
        at[p] = p == k->v.channel ? index[axes_of_tiles(k) - 1] : index_beside(k, x->arg[p], index);
    for (int d = 0; d < k->v.nalong; d++) at[k->v.along[d].at] = x_int(c, k->v.along[d].offset);
    for (int p = 0; p < k->places; p++) {
        const struct place *w = &k->place[p];
        expr i = index[k->dims + p];
        if (w->along >= 0) {
            const struct slide *v = &k->v.along[w->along];
            if (!w->phase) i = x_muli(c, x_add(c, x_muli(c, i, k->w.tile), index[w->along]), v->step);
            if (w->from) i = x_add(c, w->from, i);
            at[v->at] = x_add(c, at[v->at], i);
        } else if (w->over >= 0) at[k->v.over[w->over].at] = x_addi(c, i, k->v.over[w->over].offset);
    }
    if (!k->row->whole) return x_load(c, from, at, rank, x_num(c, F32, 0));
    return x_sub(c, x_load(c, from, at, rank, k->whole.za), k->whole.za);
}
static int64_t power(int n, int of) { return of == 2 ? (int64_t)n * n : n; }
/* Where, among the taps of two channels, the n-th of a window of the row's size is in the given term of `over`; -1: the
 * last window has no such tap. */
static int64_t tap_at(const struct work *k, int64_t over, int64_t n) {
    const struct stmt *s = k->sum;
    int64_t tap[PLACES + 1] = {0}, at = 0;
    for (int d = k->v.nover; d-- > 0; over /= k->v.over[d].count)
        tap[k->v.over[d].tap] += over % k->v.over[d].count * k->v.over[d].unit;
    for (int d = k->v.nalong; d-- > 0; n /= k->w.taps) tap[k->v.along[d].tap] += n % k->w.taps;
    for (int r = 1; r < s->u.stage.nred; r++) {
        int64_t extent = const_extent(s->u.stage.red[r]);
        if (tap[r] >= extent) return -1;
        at = at * extent + tap[r];
    }
    return at;
}
/* [i,j,over,ic,oc], in whole vectors of channels: rounded once, even if they are then multiplied in 16 bits. */
static struct buf *weights(const struct work *k) {
    struct ctx *c = k->q->c;
    const struct buf *b = k->q->k->b.read->u.buf;
    const struct tensor *of = k->row->whole ? k->whole.w : given_cells(k->q, b);
    int64_t out = of->dims[0], in = of->dims[1], given = tensor_count(of) / (out * in), rows = k->channels.summed;
    int64_t columns = k->channels.products;
    int64_t all = power(k->w.cells, k->dims), taps = power(k->w.taps, k->dims), terms = 1;
    int64_t dims[TILE_AXES + 1] = {k->w.cells, k->w.cells};
    int rank = k->dims;
    for (int d = 0; d < k->v.nover; d++) terms *= dims[rank++] = k->v.over[d].count;
    dims[rank++] = rows, dims[rank++] = columns;
    struct tensor *t = tensor_new(&c->arena, k->cell, dims, rank);
    double w[WINOGRAD_TAPS * WINOGRAD_TAPS][WINOGRAD_PAIRS] = {{0}},
                             cell[WINOGRAD_CELLS * WINOGRAD_CELLS][WINOGRAD_PAIRS];
    for (int64_t row = 0; row < terms * rows; row++)
        for (int64_t from = 0; from < out; from += WINOGRAD_PAIRS) {
            int64_t pairs = out - from < WINOGRAD_PAIRS ? out - from : WINOGRAD_PAIRS, ic = row % rows;
            for (int64_t n = 0; n < taps; n++) {
                int64_t tap = ic < in ? tap_at(k, row / rows, n) : -1;
                for (int64_t p = 0; p < pairs; p++)
                    w[n][p] = tap < 0 ? 0 : tensor_f(of, ((from + p) * in + ic) * given + tap);
            }
            winograd_transform_taps(&k->w, k->dims, w, cell);
            for (int64_t n = 0; n < all; n++)
                for (int64_t p = 0; p < pairs; p++) {
                    int64_t to = (n * terms * rows + row) * columns + from + p;
                    if (k->row->whole) tensor_set_i(t, to, (int64_t)cell[n][p]);
                    else tensor_set_f(t, to, cell[n][p]);
                }
        }
    return constant_buf(c, k->q->entry, internf(c->names, "%s.winograd", b->name), t);
}
/* Places up to the last one with a summed window stay axes of the products; the others become rows of one matrix. */
static int places_apart(const struct work *k) {
    int n = k->places;
    while (n > 0 && k->place[n - 1].over < 0) n--;
    return n;
}
/* Tiles and their products have a stream for each cell of a tile. If those collide in the first level of cache, their
 * pitch gets another line. */
static void keep_apart(const struct work *k, struct buf *b) {
    const struct machine *m = k->q->m;
    int64_t cells = 1, n, bytes = dtype_bytes(b->type);
    for (int d = k->dims; d < b->nlogical; d++) {
        if (!x_is_int(b->logical[d], &n)) return;
        cells *= n;
    }
    if (machine_colliding(m, (int)power(k->w.cells, k->dims), cells * bytes))
        k->q->pad(k->q->env, b, k->dims, m->line / bytes);
}
/* The products: one matrix product for each cell, with all tiles as rows; summed over the taps of other windows. */
static struct buf *products(const struct work *k, struct buf *v, struct buf *u) {
    struct ctx *c = k->q->c;
    int apart = places_apart(k), tile = k->dims + apart, last = apart < k->places ? tile + 1 : tile, n = last + 1;
    expr rows[TILE_AXES], extent[TILE_AXES], at_v[TILE_AXES], at_u[TILE_AXES + 1], at[TILE_AXES];
    const struct var *axes[2][TILE_AXES], *red[PLACES + 1];
    for (int d = 0; d < k->dims; d++) rows[d] = extent[d] = v->logical[d];
    for (int p = 0; p < apart; p++) rows[k->dims + p] = k->place[p].read, extent[k->dims + p] = k->place[p].tiles;
    if (tile < last) rows[tile] = x_int(c, 1);
    for (int p = apart; p < k->places; p++) rows[tile] = x_mul(c, rows[tile], k->place[p].tiles);
    if (tile < last) extent[tile] = rows[tile];
    rows[last] = v->logical[axes_of_tiles(k) - 1], extent[last] = u->logical[u->nlogical - 1];
    struct buf *all = algorithm_view(k->q, k->out, "tiles", v, rows, n);
    keep_apart(k, all);
    for (int s = 0; s < 2; s++)
        for (int d = 0; d < n; d++)
            axes[s][d] = axis(k,
                              d < k->dims ? cell_axes[d]
                              : d == last ? "oc"
                              : d == tile ? "tile"
                                          : name_of(k, &k->place[d - k->dims]),
                              extent[d]);
    for (int d = 0; d < n; d++) at_v[d] = x_var(c, axes[0][d]), at[d] = x_var(c, axes[1][d]);
    for (int d = 0; d < k->dims; d++) at_u[d] = at_v[d];
    red[0] = axis(k, "ic", x_int(c, k->channels.summed));
    for (int d = 0; d < k->v.nover; d++) {
        red[d + 1] = axis(k, internf(c->names, "tap%d", k->v.over[d].tap), x_int(c, k->v.over[d].count));
        at_u[k->dims + d] = x_var(c, red[d + 1]);
    }
    for (int p = 0; p < apart; p++) {
        const struct place *w = &k->place[p];
        if (w->over < 0) continue;
        expr tap = x_var(c, red[w->over + 1]), *at_p = &at_v[k->dims + p];
        *at_p = x_add(c, *at_p, x_muli(c, tap, w->along < 0 ? k->v.over[w->over].step : 1));
    }
    expr group = x_divi(c, at_v[last], k->channels.each);
    at_u[u->nlogical - 1] = at_v[last], at_u[u->nlogical - 2] = x_var(c, red[0]);
    at_v[last] = k->v.groups > 1 ? x_add(c, x_var(c, red[0]), x_muli(c, group, k->channels.summed)) : x_var(c, red[0]);
    struct buf *acc = algorithm_stage(k->q, k->out, "acc", k->sum_type, axes[0], n, RED_SUM, red, k->v.nover + 1,
                                      x_mul(c, x_load(c, all, at_v, n, NULL), x_load(c, u, at_u, u->nlogical, NULL)));
    struct buf *made = algorithm_stage(k->q, k->out, "products", k->sum_type, axes[1], n, RED_NONE, NULL, 0,
                                       x_load(c, acc, at, n, NULL));
    keep_apart(k, made);
    return made;
}
static struct buf *results(const struct work *k, struct buf *p) {
    expr dims[TILE_AXES], channels = p->logical[p->nlogical - 1];
    for (int d = 0; d < k->dims; d++) dims[d] = p->logical[d];
    for (int d = 0; d < k->places; d++) dims[k->dims + d] = k->place[d].tiles;
    dims[axes_of_tiles(k) - 1] = channels;
    struct buf *y = algorithm_view(k->q, k->out, "products", p, dims, axes_of_tiles(k));
    keep_apart(k, y);
    if (k->dims == 2) y = pass(k, "columns", true, 0, y, channels, cell_of);
    return pass(k, "results", true, k->dims - 1, y, channels, cell_of);
}
/* t, which is a multiple of unit for each axis modulo 2^32, divided by it. */
static expr divided(const struct work *k, expr t) {
    struct ctx *c = k->q->c;
    uint32_t odd = 1, inverse = 1;
    int shift = 0;
    for (int d = 0; d < k->dims; d++) odd *= (uint32_t)k->w.unit;
    for (; odd % 2 == 0; odd /= 2) shift++;
    for (int n = 0; n < 5; n++) inverse *= 2 - odd * inverse; /* each iteration doubles the number of correct bits */
    if (inverse != 1) t = x_mul(c, t, x_const_i(c, I32, (int32_t)inverse));
    return x_bin(c, X_SHR, t, x_const_i(c, I32, shift));
}
/* The sum, read from its tile y. */
static expr sum_at(const struct work *k, struct buf *y, const expr *index) {
    struct ctx *c = k->q->c;
    expr at[TILE_AXES];
    for (int p = 0; p < k->places; p++) {
        const struct place *w = &k->place[p];
        expr x = index[w->axis];
        int64_t step = w->along < 0 ? 1 : k->v.along[w->along].step;
        at[k->dims + p] = w->phase ? x_modi(c, x, step) : x_divi(c, x, w->along < 0 ? 1 : step * k->w.tile);
        if (w->along >= 0) at[w->along] = x_modi(c, x_divi(c, x, step), k->w.tile);
    }
    at[axes_of_tiles(k) - 1] = index[CHANNEL_AXIS];
    return x_load(c, y, at, axes_of_tiles(k), NULL);
}
/* The sums in blocks of channels, of which the last one may hold more than there are. */
static struct buf *sums_in_blocks(const struct work *k, struct buf *y) {
    struct ctx *c = k->q->c;
    int n = k->sum->u.stage.naxes;
    const struct var *axes[PLACES + 1];
    expr dims[PLACES + 1], at[PLACES + 1];
    for (int d = 0; d < n; d++)
        dims[d] = d == CHANNEL_AXIS ? y->logical[y->nlogical - 1] : k->sum->u.stage.axes[d]->extent;
    for (int b = 0; b < k->bands.n; b++) dims[k->bands.cuts[b].dim] = x_int(c, k->bands.cuts[b].cells);
    vars_over(c, "i", dims, n, axes, at);
    struct buf *to = algorithm_stage(k->q, k->out, "sums", k->sum_type, axes, n, RED_NONE, NULL, 0, sum_at(k, y, at));
    k->q->lay_out(k->q->env, to, to, 0, machine_lanes(k->q->m, F32));
    algorithm_between(k->q, k->out, to);
    return to;
}
/* Replaces the sum by a read of it; the epilogue stays as it is. */
static void replace_sum(const struct work *k, struct buf *y) {
    struct ctx *c = k->q->c;
    const struct stmt *s = k->sum;
    expr at[PLACES + 1], value;
    for (int d = 0; d < s->u.stage.naxes; d++) at[d] = x_var(c, s->u.stage.axes[d]);
    if (k->channels.copies_sums) {
        value = x_load(c, sums_in_blocks(k, y), at, s->u.stage.naxes, NULL);
        algorithm_part(k->q, k->out, "its results, out of blocks of channels");
    } else value = sum_at(k, y, at);
    if (k->row->whole) value = divided(k, value);
    if (s->u.stage.init) value = x_add(c, value, s->u.stage.init);
    algorithm_rest(k->q, k->out, value);
}

/* A copy of the operand with its channels in blocks, of which zeros fill the last one. */
static struct buf *in_blocks(const struct work *k, struct buf *from) {
    struct ctx *c = k->q->c;
    const struct var *axes[32];
    expr dims[32], at[32];
    for (int d = 0; d < from->nlogical; d++)
        dims[d] = d == CHANNEL_AXIS ? x_int(c, k->channels.tiles) : from->logical[d];
    vars_over(c, "i", dims, from->nlogical, axes, at);
    expr fill = x_is(from->logical[CHANNEL_AXIS], k->channels.tiles) ? NULL : x_num(c, dtype_value(from->type), 0);
    algorithm_part(k->q, k->out, "its operand in blocks of channels");
    k->out->parts.v[k->out->parts.n - 1].once = true;
    struct buf *to = algorithm_stage(k->q, k->out, "blocks", from->type, axes, from->nlogical, RED_NONE, NULL, 0,
                                     x_load(c, from, at, from->nlogical, fill));
    k->q->lay_out(k->q->env, to, from, 0, machine_lanes(k->q->m, F32));
    algorithm_between(k->q, k->out, to);
    return to;
}

static void cut_places(struct work *k) {
    struct winograd_bands *b = &k->bands;
    algorithm_bands(k->q, b->cuts, b->n);
    for (int c = 0; c < b->n; c++)
        for (int p = 0; p < k->places; p++) {
            struct place *w = &k->place[p];
            if (w->axis != b->cuts[c].dim) continue;
            w->from = b->cuts[c].from;
            w->tiles = w->read = x_int(k->q->c, b->cuts[c].cells / (w->along < 0 ? 1 : k->w.tile));
        }
}
void winograd_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out) {
    struct work k = {.q = q, .row = row, .out = out, .sum = q->k->sum, .dims = row->dims, .cell = F32, .sum_type = F32};
    winograd_matrices_of(row, &k.w);
    if (row->whole) {
        integer_product(q, k.sum, &k.whole);
        k.cell = I16, k.sum_type = I32;
    }
    convolves(q->c, q->k, row, row->whole ? k.whole.za : x_num(q->c, F32, 0), &k.v);
    find_places(&k);
    k.bands = winograd_bands_of(q, row);
    if (k.bands.n) cut_places(&k);
    k.channels = winograd_channels_of(q, row, &k.v);
    struct buf *x = k.channels.copies_operand ? in_blocks(&k, q->k->a.read->u.buf) : q->k->a.read->u.buf;
    algorithm_part(q, out, "its operand's tiles");
    expr ic = x_int(q->c, k.channels.tiles);
    struct buf *v = pass(&k, k.dims == 2 ? "columns" : "tiles", false, 0, x, ic, cell_of_operand);
    if (k.dims == 2) v = pass(&k, "tiles", false, 1, v, ic, cell_of);
    keep_apart(&k, v);
    struct buf *u = weights(&k);
    algorithm_between(q, out, v);
    algorithm_part(q, out, "its products");
    struct buf *p = products(&k, v, u);
    algorithm_between(q, out, p);
    algorithm_part(q, out, "its results");
    replace_sum(&k, results(&k, p));
    if (k.bands.n) algorithm_end_band(q, out, k.bands.cuts, k.bands.n);
}
