/* The algorithms, a row each, and what their costs share; see algorithm.h. */
#include "lower/algorithm/rows.h"
#include "lower/algorithm/winograd.h"

double rows_cycles(const struct machine *m, double rows, double columns, double depth) {
    return rows * columns * depth / machine_lanes(m, F32) / machine_multiply_add(m, F32)->starts;
}
double bytes_cycles(const struct machine *m, double bytes) { return bytes * m->l2.byte; }
double weights_cycles(const struct machine *m, double weights) { return 4 * weights * m->memory_byte; }
double typical_axis(const struct algorithm_query *q, const struct stmt *s, int k) {
    return (double)x_typical(q->c, s->u.stage.axes[k]->extent, k ? OPEN_SIZE : 1);
}
static double cycles_of_direct(const struct algorithm_query *q, const struct algorithm *row) {
    const struct stmt *s = q->k->sum ? q->k->sum : q->k->out;
    double cells = 1, depth = 1;
    (void)row;
    for (int k = 0; k < s->u.stage.naxes; k++) cells *= typical_axis(q, s, k);
    for (int k = 0; k < s->u.stage.nred; k++) depth *= (double)x_typical(q->c, s->u.stage.red[k]->extent, 1);
    double weights = s != q->k->sum || !q->k->product || !is_constant(q->k->b.read->u.buf) ? 0 : depth;
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (weights > 0 && q->k->b.axes >> k & 1) weights *= typical_axis(q, s, k);
    /* integers are multiplied more slowly, after zero points are subtracted */
    double slow = s->u.stage.buf->type == I32 ? 2 : 1;
    return slow * rows_cycles(q->m, cells, 1, depth) + weights_cycles(q->m, weights);
}
#define WINOGRAD(name, m, taps)                                                                                        \
    {                                                                                                                  \
        name, "Winograd F(" #m "x" #m ", " #taps "x" #taps ")", BOUNDS_ERROR, "CPUs with vectors", winograd_refuses,   \
            winograd_cycles, winograd_rewrite, winograd_bound, NULL, m, taps, 2, false, false                          \
    }
#define WINOGRAD_1D(name, m, taps)                                                                                     \
    {                                                                                                                  \
        name, "Winograd F(" #m ", " #taps ")", BOUNDS_ERROR, "CPUs with vectors", winograd_refuses, winograd_cycles,   \
            winograd_rewrite, winograd_bound, NULL, m, taps, 1, false, false                                           \
    }
#define WINOGRAD_WHOLE(name, m, taps, dims)                                                                            \
    {                                                                                                                  \
        name, "Winograd of whole numbers", KEEPS_BITS, "CPUs with vectors and products of 16 bits", winograd_refuses,  \
            winograd_cycles, winograd_rewrite, NULL, NULL, m, taps, dims, true, false                                  \
    }
const struct algorithm algorithm_rows[] = {
    {"direct", "the definition", KEEPS_BITS, "every machine", NULL, cycles_of_direct, NULL, NULL, NULL, 0, 0, 0, false,
     false},
    {"integer-sums", "integer sums", KEEPS_BITS, "every machine", integer_sums_refuse, integer_sums_cycles,
     integer_sums_rewrite, NULL, integer_sums_wants, 0, 0, 0, false, false},
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
    {"tables", "values of bytes from tables", KEEPS_BITS, "CPUs", tables_refuse, tables_cycles, tables_rewrite, NULL,
     NULL, 0, 0, 0, false, true},
    {0},
};
