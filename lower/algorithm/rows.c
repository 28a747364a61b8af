/* The algorithms, a row each, and what their costs share; see algorithm.h. */
#include "lower/algorithm/rows.h"
#include "lower/algorithm/convolution.h"
#include "lower/algorithm/winograd.h"
#include <math.h>

double rows_cycles(const struct machine *m, double rows, double columns, double depth) {
    return rows * columns * depth / machine_lanes(m, F32) / machine_multiply_add(m, F32)->starts;
}
double bytes_cycles(const struct machine *m, double bytes) { return bytes * m->l2.byte; }
double weights_cycles(const struct machine *m, double weights) { return 4 * weights * m->memory_byte; }
double rows_weights(const struct algorithm_query *q) {
    const struct stmt *s = q->k->sum;
    if (!s || !q->k->product || !is_constant(q->k->b.read->u.buf)) return 0;
    double weights = typical_cells(q->c, s->u.stage.red, s->u.stage.nred, 1);
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (q->k->b.axes >> k & 1) weights *= typical_axis(q->c, s, k);
    return weights;
}
/* Products of 16-bit floats use an instruction if there is one. */
static double products_cycles(const struct algorithm_query *q, double cells, double depth) {
    double least = rows_cycles(q->m, cells, 1, depth);
    const struct problem *k = q->k;
    for (const struct micro_speed *s = k->product ? q->m->micros : NULL; s && s->micro; s++)
        if (s->micro->sum == F32 && s->micro->a == k->a.read->u.buf->type && s->micro->b == k->b.read->u.buf->type)
            least = fmin(least, cells * depth / micro_products(q->m, s));
    return least;
}
/* The last block of channels takes as long as a full one: how many times as many cells that makes. */
static double filled_blocks(const struct algorithm_query *q) {
    const struct stmt *out = q->k->out;
    int block = q->layout(q->env, out->u.stage.buf).block;
    int64_t channels = block ? const_extent(out->u.stage.axes[CHANNEL_AXIS]) : 0;
    return channels > 0 ? (double)((channels + block - 1) / block * block) / (double)channels : 1;
}
static double cycles_of_direct(const struct algorithm_query *q, const struct algorithm *row) {
    const struct stmt *s = q->k->sum ? q->k->sum : q->k->out;
    double cells = typical_result(q->c, s), depth = typical_cells(q->c, s->u.stage.red, s->u.stage.nred, 1);
    (void)row;
    if (q->k->sum && q->k->product && q->k->a.read->has_fill && !q->layout(q->env, q->k->a.read->u.buf).halo)
        depth *= taps_inside(q->c, q->k);
    double slowly =
        fmax(fmax(across_cycles(q, cells, depth), unshared_cycles(q, cells, depth)), shifted_cycles(q, cells, depth));
    if (slowly > 0) return slowly;
    /* integers are multiplied more slowly, after their zero points are subtracted */
    double slow = s->u.stage.buf->type == I32 ? 2 : 1, weights = rows_weights(q);
    if (weights > 0) weights *= dtype_is_half(q->k->b.read->u.buf->type) ? 0.5 : 1;
    return slow * products_cycles(q, cells * filled_blocks(q), depth) + weights_cycles(q->m, weights);
}
#define WINOGRAD_ROW(name_, of, m, r, axes, ...)                                                                       \
    {                                                                                                                  \
        .name = name_, .title = of, .refuses = winograd_refuses, .cycles = winograd_cycles,                            \
        .rewrite = winograd_rewrite, .tile = m, .taps = r, .dims = axes, __VA_ARGS__                                   \
    }
#define WINOGRAD(name, m, r)                                                                                           \
    WINOGRAD_ROW(name, "Winograd F(" #m "x" #m ", " #r "x" #r ")", m, r, 2, .bound = winograd_bound)
#define WINOGRAD_1D(name, m, r) WINOGRAD_ROW(name, "Winograd F(" #m ", " #r ")", m, r, 1, .bound = winograd_bound)
/* Larger windows, as a sum of windows of r taps, which begin r cells, a tile, apart. */
#define WINOGRAD_SPLIT(name, of, r, axes)                                                                              \
    WINOGRAD_ROW(name, "sums of Winograd " of, r, r, axes, .bound = winograd_bound, .split = true)
#define WINOGRAD_WHOLE(name, m, r, axes) WINOGRAD_ROW(name, "Winograd of whole numbers", m, r, axes, .whole = true)
#define WINOGRAD_SPLIT_WHOLE(name, r, axes)                                                                            \
    WINOGRAD_ROW(name, "sums of Winograd of whole numbers", r, r, axes, .whole = true, .split = true)
const struct algorithm algorithm_rows[] = {
    {.name = "direct", .title = "the definition", .cycles = cycles_of_direct},
    {.name = "integer-sums",
     .title = "integer sums",
     .refuses = integer_sums_refuse,
     .cycles = integer_sums_cycles,
     .rewrite = integer_sums_rewrite,
     .wants = integer_sums_wants},
    {.name = "computed-bytes",
     .title = "products of computed bytes",
     .refuses = computed_bytes_refuse,
     .cycles = computed_bytes_cycles,
     .rewrite = computed_bytes_rewrite},
    {.name = "byte-weights",
     .title = "weights rounded to bytes",
     .refuses = byte_weights_refuse,
     .cycles = byte_weights_cycles,
     .rewrite = byte_weights_rewrite,
     .bound = byte_weights_bound},
    {.name = "sparse-blocks",
     .title = "weights without their blocks of zeros",
     .refuses = sparse_blocks_refuse,
     .cycles = sparse_blocks_cycles,
     .rewrite = sparse_blocks_rewrite,
     .finite = true},
    WINOGRAD("winograd-2", 2, 3),
    WINOGRAD("winograd-4", 4, 3),
    WINOGRAD("winograd-6", 6, 3),
    WINOGRAD("winograd-2-5x5", 2, 5),
    WINOGRAD("winograd-4-5x5", 4, 5),
    WINOGRAD_1D("winograd-2-1d", 2, 3),
    WINOGRAD_1D("winograd-4-1d", 4, 3),
    WINOGRAD_1D("winograd-6-1d", 6, 3),
    WINOGRAD_1D("winograd-2-1d-5", 2, 5),
    WINOGRAD_1D("winograd-4-1d-5", 4, 5),
    WINOGRAD_1D("winograd-2-1d-7", 2, 7),
    WINOGRAD_SPLIT("winograd-4-split", "F(4x4, 4x4)", 4, 2),
    WINOGRAD_SPLIT("winograd-4-1d-split", "F(4, 4)", 4, 1),
    WINOGRAD_WHOLE("winograd-2-whole", 2, 3, 2),
    WINOGRAD_WHOLE("winograd-4-whole", 4, 3, 2),
    WINOGRAD_WHOLE("winograd-2-1d-whole", 2, 3, 1),
    WINOGRAD_WHOLE("winograd-4-1d-whole", 4, 3, 1),
    WINOGRAD_WHOLE("winograd-2-1d-5-whole", 2, 5, 1),
    WINOGRAD_SPLIT_WHOLE("winograd-3-split-whole", 3, 2),
    WINOGRAD_SPLIT_WHOLE("winograd-3-1d-split-whole", 3, 1),
    {.name = "turned-factor",
     .title = "a factor that is turned first",
     .refuses = turned_refuses,
     .cycles = turned_cycles,
     .rewrite = turned_rewrite},
    {.name = "phases",
     .title = "a convolution whose channels are phases",
     .refuses = phases_refuse,
     .cycles = phases_cycles,
     .rewrite = phases_rewrite},
    {.name = "best-alone", .title = "the greatest of each row, and its first place", .beside = topk_beside},
    {.name = "sorted-runs", .title = "sorted runs that become one", .beside = topk_beside},
    {.name = "digits", .title = "rows sorted by the digits of their keys", .beside = topk_beside},
    {.name = "skipping", .title = "a heap, and blocks that hold none better are skipped", .beside = topk_beside},
    {.name = "heap", .title = "a heap of the best so far", .beside = topk_beside},
    {.name = "running-rows", .title = "columns that are summed side by side", .beside = running_rows_beside},
    {.name = "tables", .title = "values of bytes from tables", .beside = tables_beside},
    {0},
};
