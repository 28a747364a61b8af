/* Which convolutions Winograd's rows compute, in which bands, and what that costs; see winograd.c. */
#include "lower/algorithm/rows.h"
#include "lower/algorithm/winograd.h"
#include "lower/schedule/cpu.h"
#include <math.h>

/* ---- which convolutions */
/* The channels, which are dim d, lie side by side in memory. */
static bool channels_adjoin(const struct algorithm_query *q, const struct buf *b, int d) {
    int block = q->layout(q->env, b).block;
    if (block || d == CHANNEL_AXIS) return block == machine_lanes(q->m, F32) && d == CHANNEL_AXIS;
    while (++d < b->nlogical)
        if (!x_is(b->logical[d], 1)) return false;
    return true;
}
/* Otherwise the operand is copied into blocks, and the sums are copied out of them. */
static bool is_copied(const struct algorithm_query *q, const struct convolution *v) {
    return !channels_adjoin(q, q->k->a.read->u.buf, v->channel);
}
static bool is_plain_sum(const struct algorithm_query *q) {
    return !channels_adjoin(q, q->k->out->u.stage.buf, CHANNEL_AXIS);
}
static int64_t result_channels(const struct algorithm_query *q) {
    return const_extent(q->k->sum->u.stage.axes[CHANNEL_AXIS]);
}
static int64_t whole_vectors(const struct algorithm_query *q, int64_t n) {
    int lanes = machine_lanes(q->m, F32);
    return (n + lanes - 1) / lanes * lanes;
}
struct winograd_channels winograd_channels_of(const struct algorithm_query *q, const struct algorithm *row,
                                              const struct convolution *v) {
    int64_t each = const_extent(q->k->sum->u.stage.red[0]), tiles = whole_vectors(q, v->groups * each);
    return (struct winograd_channels){.tiles = tiles,
                                      .summed = row->whole ? tiles : each,
                                      .products = whole_vectors(q, result_channels(q)),
                                      .each = result_channels(q) / v->groups,
                                      .copies_operand = is_copied(q, v),
                                      .copies_sums = is_plain_sum(q)};
}
/* The machine's micro-kernel for integers: 32-bit sums, which wrap, of products of two 16-bit integers. */
static const struct micro_speed *micro_of_words(const struct machine *m) {
    for (const struct micro_speed *s = m->micros; s && s->micro; s++)
        if (s->micro->a == I16 && s->micro->b == I16 && s->micro->sum == I32) return s;
    return NULL;
}
/* Do tiles and weights fit into 16 bits, and results into the bits that remain after the last shift? */
static bool fits_words(const struct algorithm *row, const struct integer_product *w) {
    struct winograd m;
    winograd_matrices_of(row, &m);
    double unit = pow(m.unit, row->dims), room = 2147483648.0;
    for (; fmod(unit, 2) == 0; unit /= 2) room /= 2;
    return pow(winograd_growth(m.b[0], WINOGRAD_CELLS, m.cells, m.cells), row->dims) * w->most_a <= INT16_MAX &&
           pow(winograd_growth(m.g[0], WINOGRAD_TAPS, m.cells, m.taps), row->dims) * w->most_b <= INT16_MAX &&
           w->most_sum < room;
}
static const char *refuses_types(const struct algorithm_query *q, const struct algorithm *row,
                                 const struct integer_product *w) {
    const struct problem *k = q->k;
    if (!row->whole) {
        if (no_plain_product(k)) return no_plain_product(k);
        bool floats = k->sum->u.stage.buf->type == F32 && k->a.read->type == F32 && k->b.read->type == F32;
        return floats ? NULL : "not all are computed with in f32";
    }
    if (k->nreductions > 1 || k->nresults > 1 || k->stages.v[0] != k->sum) return "the sum is not all that there is";
    return fits_words(row, w) ? NULL : "whole numbers become too large";
}
const char *winograd_refuses(const struct algorithm_query *q, const struct algorithm *row) {
    const struct problem *k = q->k;
    struct integer_product w;
    struct convolution v;
    int lanes = machine_lanes(q->m, F32);
    if (!k->sum || (row->whole && k->sum->u.stage.buf->type != I32)) return "";
    if (!convolves(q->c, k, row, row->whole ? NULL : x_num(q->c, F32, 0), &v)) return "";
    if (row->whole && !micro_of_words(q->m)) return "the machine has no instruction for integers of 16 bits";
    if (row->whole && !integer_product(q, k->sum, &w)) return "";
    if (row->whole && !convolves(q->c, k, row, w.za, &v)) return "";
    if (q->m->gpu) return "for CPUs with vectors";
    if (lanes < 4) return "there are no vectors for the transforms";
    if (refuses_types(q, row, &w)) return refuses_types(q, row, &w);
    if (is_copied(q, &v) && v.channel != CHANNEL_AXIS) return "not all channels of the operand lie side by side";
    if (row->whole && (is_copied(q, &v) || is_plain_sum(q))) return "channels do not lie in blocks";
    if (v.groups > 1 && row->whole) return "whole numbers in groups of channels";
    if (v.groups > 1 && (result_channels(q) / v.groups < lanes || result_channels(q) % lanes))
        return "groups of channels fill no vectors";
    return NULL;
}

/* ---- what it costs */
struct sizes_of {
    struct convolution v;
    double tiles, ic, depth, over, oc, cells, tile; /* depth, over: channels and taps summed as in the definition */
    double all;                                     /* cells of a tile, along all its axes */
    double copied;                                  /* cells of the operand and the result */
    double shared, weights, result;                 /* bytes: of tiles and their products, .. */
};
static struct sizes_of sizes_of(const struct algorithm_query *q, const struct algorithm *row) {
    const struct stmt *s = q->k->sum;
    struct convolution v;
    double n = 1, m = row->tile, taps = 1;
    convolves(q->c, q->k, row, NULL, &v);
    for (int d = 0; d < s->u.stage.naxes; d++) {
        int along = slide_of(v.along, v.nalong, d);
        double cells = along < 0 ? 1 : m * (double)v.along[along].step;
        if (d != CHANNEL_AXIS) n *= ceil(typical_axis(q->c, s, d) / cells) * (along < 0 ? 1 : cells / m);
    }
    for (int d = 0; d < v.nover; d++) taps *= (double)v.over[d].count;
    struct sizes_of z = {.v = v, .tiles = n, .over = taps, .cells = row->tile + row->taps - 1, .tile = m};
    struct winograd_channels channels = winograd_channels_of(q, row, &v);
    z.ic = (double)channels.tiles, z.oc = (double)channels.products, z.depth = (double)channels.summed;
    double cell = row->whole ? 2 : 4, places = n * pow(m, row->dims);
    z.all = pow(z.cells, row->dims);
    z.result = 4 * z.oc * places;
    z.copied = places * ((channels.copies_operand ? z.ic : 0) + (channels.copies_sums ? z.oc : 0));
    z.shared = n * z.all * (cell * z.ic + 4 * z.oc), z.weights = cell * z.all * z.depth * taps * z.oc;
    return z;
}
/* Cycles to move what the parts share; banded: from and to the second level of cache, but the weights are read again
 * for each band, and its result is copied. Otherwise lines that no cache holds come from memory before they are
 * written, too. */
static double shared_cycles(const struct algorithm_query *q, const struct sizes_of *z, double bands) {
    const struct machine *m = q->m;
    double last = (double)(m->last_bytes ? m->last_bytes : m->l2.bytes), again = z->weights * (bands - 1);
    if (bands < 2 && z->shared > last) return 3 * z->shared * m->memory_byte;
    if (z->weights <= (double)m->l2.bytes * q->threads / 2) again = 0;
    double result = bands < 2 ? 0 : 2 * z->result;
    return bytes_cycles(m, 2 * z->shared + result) + again * (z->weights <= last / 2 ? m->l2.byte : m->memory_byte);
}
/* As many tiles in a band as have room in the second level of all threads' caches: from the outermost axis on, one cell
 * of each, until the rest has room; of an axis of open length, always one. Axes along which several results share tiles
 * or phases are not cut, nor are windows over open lengths. */
static struct winograd_bands possible_bands(const struct algorithm_query *q, const struct algorithm *row,
                                            const struct sizes_of *z) {
    const struct stmt *s = q->k->sum;
    struct winograd_bands b = {.count = 1}, none = b;
    const struct convolution *v = &z->v;
    double room = (double)q->m->l2.bytes * q->threads, rest = z->shared;
    for (int d = 0; d < s->u.stage.naxes && rest > (b.n ? 2 * room : room); d++) {
        int along = slide_of(v->along, v->nalong, d), cells = along < 0 ? 1 : row->tile;
        bool open = const_extent(s->u.stage.axes[d]) < 0;
        int64_t tiles = ((int64_t)typical_axis(q->c, s, d) + cells - 1) / cells;
        bool shared = slide_of(v->over, v->nover, d) >= 0 || (along >= 0 && v->along[along].step > 1);
        if (d == CHANNEL_AXIS || shared || (open ? along >= 0 : tiles < 2) || !algorithm_can_cut(q, d)) continue;
        rest /= (double)tiles;
        int64_t most = rest < room && !open ? (int64_t)(room / rest) : 1, passes = (tiles + most - 1) / most;
        most = (tiles + passes - 1) / passes;
        rest *= (double)most, b.count *= (double)passes;
        b.cuts[b.n++] = (struct algorithm_cut){.dim = d, .cells = most * cells};
    }
    return rest > 2 * room || b.count < 2 ? none : b;
}
/* Those bands, if they save anything. */
static struct winograd_bands bands_of(const struct algorithm_query *q, const struct algorithm *row,
                                      const struct sizes_of *z) {
    struct winograd_bands none = {.count = 1}, b = possible_bands(q, row, z);
    return shared_cycles(q, z, b.count) < shared_cycles(q, z, 1) ? b : none;
}
struct winograd_bands winograd_bands_of(const struct algorithm_query *q, const struct algorithm *row) {
    struct sizes_of z = sizes_of(q, row);
    return bands_of(q, row, &z);
}
/* What the choice counts of them: memory only if all sizes are known, and what the last level of cache holds, so that
 * open sizes, which may be small, get the rows of their fixed twins. */
static double counted_cycles(const struct algorithm_query *q, const struct algorithm *row, const struct sizes_of *z) {
    const struct stmt *s = q->k->sum;
    bool known = q->m->last_bytes > 0;
    for (int d = 0; d < s->u.stage.naxes; d++) known = known && const_extent(s->u.stage.axes[d]) >= 0;
    return known ? shared_cycles(q, z, bands_of(q, row, z).count) : bytes_cycles(q->m, 2 * z->shared);
}
double winograd_cycles(const struct algorithm_query *q, const struct algorithm *row) {
    struct sizes_of z = sizes_of(q, row);
    double lanes = machine_lanes(q->m, F32), per_cycle = machine_multiply_add(q->m, F32)->starts;
    double operations = z.all * z.cells / 2; /* of a pass, tile and vector: half of each matrix is 0 or shared */
    double there = row->dims, back = row->dims == 2 ? 1 + z.tile / z.cells : z.tile / z.cells;
    double transforms = z.tiles * operations * (z.ic * there + z.oc * back) / lanes / per_cycle;
    double depth = z.all * z.depth * z.over,
           products = row->whole ? z.tiles * z.oc * depth / micro_products(q->m, micro_of_words(q->m))
                                 : rows_cycles(q->m, z.tiles, z.oc, depth);
    double copy = 8 * z.copied * q->m->memory_byte; /* f32, read and written */
    return products + transforms + copy + counted_cycles(q, row, &z) + weights_cycles(q->m, z.weights / 4);
}
