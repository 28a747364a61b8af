/* The algorithms, a row each, and what their costs share; see algorithm.h. */
#include "lower/algorithm/rows.h"
#include "lower/algorithm/winograd.h"

double rows_cycles(const struct machine *m, double rows, double columns, double depth) {
    return rows * columns * depth / machine_lanes(m, F32) / machine_multiply_add(m, F32)->starts;
}
double bytes_cycles(const struct machine *m, double bytes) { return bytes * m->l2.byte; }
double weights_cycles(const struct machine *m, double weights) { return 4 * weights * m->memory_byte; }
static double cycles_of_direct(const struct algorithm_query *q, const struct algorithm *row) {
    const struct stmt *s = q->k->sum ? q->k->sum : q->k->out;
    double cells = typical_result(q->c, s), depth = typical_cells(q->c, s->u.stage.red, s->u.stage.nred, 1);
    (void)row;
    double weights = s != q->k->sum || !q->k->product || !is_constant(q->k->b.read->u.buf) ? 0 : depth;
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (weights > 0 && q->k->b.axes >> k & 1) weights *= typical_axis(q->c, s, k);
    /* integers are multiplied more slowly, after zero points are subtracted */
    double slow = s->u.stage.buf->type == I32 ? 2 : 1;
    return slow * rows_cycles(q->m, cells, 1, depth) + weights_cycles(q->m, weights);
}
#define WINOGRAD_ROW(name_, of, m, r, axes, whole_, bound_)                                                            \
    {                                                                                                                  \
        .name = name_, .title = of, .refuses = winograd_refuses, .cycles = winograd_cycles,                            \
        .rewrite = winograd_rewrite, .bound = bound_, .tile = m, .taps = r, .dims = axes, .whole = whole_              \
    }
#define WINOGRAD(name, m, r)                                                                                           \
    WINOGRAD_ROW(name, "Winograd F(" #m "x" #m ", " #r "x" #r ")", m, r, 2, false, winograd_bound)
#define WINOGRAD_1D(name, m, r)          WINOGRAD_ROW(name, "Winograd F(" #m ", " #r ")", m, r, 1, false, winograd_bound)
#define WINOGRAD_WHOLE(name, m, r, axes) WINOGRAD_ROW(name, "Winograd of whole numbers", m, r, axes, true, NULL)
const struct algorithm algorithm_rows[] = {
    {.name = "direct", .title = "the definition", .cycles = cycles_of_direct},
    {.name = "integer-sums",
     .title = "integer sums",
     .refuses = integer_sums_refuse,
     .cycles = integer_sums_cycles,
     .rewrite = integer_sums_rewrite,
     .wants = integer_sums_wants},
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
    WINOGRAD_WHOLE("winograd-2-whole", 2, 3, 2),
    WINOGRAD_WHOLE("winograd-4-whole", 4, 3, 2),
    WINOGRAD_WHOLE("winograd-2-1d-whole", 2, 3, 1),
    WINOGRAD_WHOLE("winograd-4-1d-whole", 4, 3, 1),
    WINOGRAD_WHOLE("winograd-2-1d-5-whole", 2, 5, 1),
    {.name = "sorted-runs", .title = "sorted runs that become one", .beside = sorted_runs_beside},
    {.name = "heap", .title = "a heap of the best so far", .beside = heap_beside},
    {.name = "tables", .title = "values of bytes from tables", .beside = tables_beside},
    {0},
};
