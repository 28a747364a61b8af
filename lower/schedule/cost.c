/* Predicted cycles; see cost.h. */
#include "lower/schedule/cost.h"

static double most(double a, double b) { return a > b ? a : b; }
/* Cycles of one step of the sum in one tile, the largest of: the multiply-adds with what runs on the same units
 * (converting operands from memory, shuffles of the micro-kernel); the latency of an accumulator's chain; the loads. */
static double cost_of_tile(const struct machine *m, const struct operation *sum, const struct micro *micro,
                           struct made made, int64_t mr, int64_t nr) {
    const struct operation *load = machine_op(m, X_LOAD, F32);
    mr = (mr + micro->m0 - 1) / micro->m0 * micro->m0; /* too few rows take as long as a full tile */
    double products = (double)(mr * nr) / sum->starts + (double)nr * made.vector + (double)mr * made.row,
           loads = (double)(mr + nr) / load->starts;
    products += (double)(mr * micro->row + nr * micro->vector) / load->starts;
    const double beside = 0.04; /* what a load costs beside multiply-adds, in starts of these */
    return most(most(products, sum->latency), loads) + beside * (double)(mr + nr) / sum->starts;
}
double cost_of_rows(const struct machine *m, const struct operation *sum, const struct micro *micro, struct made made,
                    int64_t rows, int64_t mr, int64_t nr) {
    int64_t tiles = (rows + mr - 1) / mr, q = rows / tiles, more = rows % tiles;
    return (double)more * cost_of_tile(m, sum, micro, made, q + 1, nr) +
           (double)(tiles - more) * cost_of_tile(m, sum, micro, made, q, nr);
}
double cost_of_step(const struct machine *m, const struct operation *sum, const struct micro *micro, struct made made,
                    int64_t rows, int64_t vectors, int64_t mr, int64_t nr) {
    int64_t panels = vectors / nr, left = vectors % nr;
    return (double)panels * cost_of_rows(m, sum, micro, made, rows, mr, nr) +
           (left ? cost_of_rows(m, sum, micro, made, rows, mr, left) : 0);
}

int64_t rows_of_group(const struct contraction_sizes *s, int64_t groups) { return (s->extent + groups - 1) / groups; }
/* The part of a working set that comes from beyond the second level of cache each time: the level also holds data that
 * only passes through. */
static double missing(const struct machine *m, double bytes) {
    double l2 = (double)m->l2.bytes, part = (bytes - l2 / 4) / (l2 * 3 / 4 + 1);
    return part < 0 ? 0 : part > 1 ? 1 : part;
}
double cost_of_blocking(const struct machine *m, const struct contraction_sizes *s, struct blocking b) {
    double groups = (double)b.groups, chunks = (double)(s->blocks / b.chunk), panels = (double)s->panels;
    double x_set = s->x / groups / (b.outside ? chunks : 1), y_set = s->y / groups / (b.outside ? 1 : panels);
    double l1 = (double)m->l1.bytes, l2 = (double)m->l2.bytes, near = m->l1.byte, far = m->l2.byte;
    double passes = s->panel / chunks <= l1 * 7 / 8 ? groups : (double)s->extent * (double)s->tiles;
    double x_near = b.chunk > m->streams && !s->one_stream ? 2 * near : near;
    double sum = s->products + panels * s->x * (x_near + missing(m, x_set) * far);
    sum += s->w * (passes * near + (s->w <= l2 / 3 ? 1 : groups) * far);
    double y_far = s->apart ? m->alone * far : far;
    sum += 2 * (chunks - 1) * s->y * (m->partial_sum_byte + missing(m, y_set) * y_far);
    return s->extent % rows_of_group(s, b.groups) ? sum * 1.02 : sum; /* groups of two sizes need twice the code */
}
