/* Weights as bytes: if a product would wait for its weights from memory, and the user allows it (--weights-precision),
 * the weights are rounded at compile time, to q in -127..127 with a scale for each channel of the result:
 *
 *     sum over k of a[m, k] * w[n, k]   becomes   (sum over k of a[m, k] * f32(q[n, k])) * scale[n]
 *
 * Bytes are converted to floats in registers. The initial value of the sum (a bias) is added after scaling. This is a
 * row of algorithms (rows.c), applied between a group's stages and its kernels; afterwards the cast in the stages says
 * all that is needed. Rounding of weights: docs/numbers.md. */
#include "lower/algorithm/constants.h"
#include "lower/algorithm/rows.h"
#include "lower/schedule/cpu.h"
#include <math.h>

enum { GREATEST = 127 }; /* greatest rounded weight; the least is its negative */

/* ---- channels: the axes of the result that the weights have, too */
static bool is_channel(const struct stmt *s, expr index) {
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (is_var(index, s->u.stage.axes[k])) return true;
    return false;
}
/* Each channel axis is an index of its own in the weights, so that all cells of one channel have the same index
 * there. */
static bool has_channels(struct ctx *c, const struct problem *p) {
    const struct stmt *s = p->sum;
    bool any = false;
    for (int k = 0; k < s->u.stage.naxes; k++) {
        const struct var *v = s->u.stage.axes[k];
        int used = 0;
        for (int d = 0; d < p->b.read->n; d++)
            if (x_uses_var(c, p->b.read->arg[d], v)) {
                if (p->b.read->arg[d]->op != X_VAR || used++) return false;
                any = true;
            }
    }
    return any;
}
static bool is_finite(const struct tensor *t) {
    for (int64_t k = 0, n = tensor_count(t); k < n; k++)
        if (!isfinite(tensor_f(t, k))) return false;
    return true;
}
const char *byte_weights_refuse(const struct algorithm_query *q, const struct algorithm *row) {
    const struct problem *p = q->k;
    (void)row;
    if (q->wishes->weights != I8 || p->cls != PROBLEM_CONTRACTION || p->sum->u.stage.buf->type != F32) return "";
    if (!p->product || !is_constant(p->b.read->u.buf) || is_constant(p->a.read->u.buf)) return "";
    const struct buf *b = p->b.read->u.buf;
    if (!dtype_is_float(b->type) || dtype_bits(b->type) < 16) return "";
    if (no_plain_product(p)) return no_plain_product(p);
    if (p->b.read->has_fill || !is_known_constant(b)) return "the weights are not read cell by cell";
    if (!has_channels(q->c, p)) return "the weights' channels are no axes of the result";
    return is_finite(b->data) ? NULL : "not all weights are finite";
}

/* ---- costs */
double byte_weights_cycles(const struct algorithm_query *q, const struct algorithm *row) {
    const struct machine *m = q->m;
    const struct stmt *s = q->k->sum;
    const struct operation *convert = machine_op(m, X_CAST, I8);
    double cells = typical_result(q->c, s), depth = typical_cells(q->c, s->u.stage.red, s->u.stage.nred, 1);
    double weights = rows_weights(q), rows = weights > 0 ? cells * depth / weights : 0;
    (void)row;
    /* the rows of a tile share each conversion; a tile has about a quarter of the registers as rows */
    double converted = convert ? weights * ceil(rows / (machine_registers(m) / 4.0)) / convert->starts : 0;
    return rows_cycles(m, cells, 1, depth) + converted / machine_lanes(m, F32) + weights * m->memory_byte;
}
/* Half a rounding step of each weight, plus rounding errors of two orders of the sum, of the scales and of their
 * products. */
double byte_weights_bound(const struct algorithm *row, int64_t depth) {
    (void)row;
    return ldexp(1, 24) / (2 * GREATEST) + 2 * (double)depth + 4;
}

/* ---- rounding */
struct rounded {
    struct tensor *cells, *scales;
    int64_t step[32]; /* in the scales, from one cell to the next along a dim; 0: the same channel */
};
static int64_t channel_at(const struct rounded *r, int64_t cell) {
    int64_t channel = 0;
    for (int d = r->cells->rank; d--; cell /= r->cells->dims[d]) channel += cell % r->cells->dims[d] * r->step[d];
    return channel;
}
/* of: which dims are channels. A channel of zeros gets the scale 1. */
static void round_weights(struct ctx *c, const struct tensor *w, const bool *of, struct rounded *r) {
    int64_t dims[32], n = tensor_count(w), each = 1;
    int rank = 0;
    for (int d = 0; d < w->rank; d++)
        if (of[d]) dims[rank++] = w->dims[d];
    r->cells = tensor_new(&c->arena, I8, w->dims, w->rank), r->scales = tensor_new(&c->arena, F32, dims, rank);
    for (int d = w->rank; d--;) {
        r->step[d] = of[d] ? each : 0;
        if (of[d]) each *= w->dims[d];
    }
    float *scale = tensor_data(r->scales);
    int8_t *cell = tensor_data(r->cells);
    for (int64_t k = 0; k < each; k++) scale[k] = 0;
    for (int64_t k = 0; k < n; k++) {
        float *s = &scale[channel_at(r, k)];
        *s = fmaxf(*s, (float)fabs(tensor_f(w, k)));
    }
    for (int64_t k = 0; k < each; k++) {
        scale[k] /= GREATEST;
        if (scale[k] == 0) scale[k] = 1;
    }
    for (int64_t k = 0; k < n; k++) {
        double q = nearbyint(tensor_f(w, k) / (double)scale[channel_at(r, k)]);
        cell[k] = (int8_t)fmax(-GREATEST, fmin(GREATEST, q));
    }
}

/* ---- the stages */
/* Replaces the sum by a map that scales the new sum. */
static struct stmt *scaled(const struct algorithm_query *q, const struct stmt *s, struct buf *result, expr scale) {
    struct ctx *c = q->c;
    const struct var **axes = NEWN(&c->arena, const struct var *, s->u.stage.naxes + 1);
    expr at[32];
    for (int d = 0; d < s->u.stage.naxes; d++) at[d] = x_var(c, s->u.stage.axes[d]);
    expr value = x_mul(c, x_load(c, s->u.stage.buf, at, s->u.stage.naxes, NULL), scale);
    if (s->u.stage.init) value = x_add(c, value, s->u.stage.init);
    value = algorithm_own_axes(q, s, value, axes, at);
    return s_stage(c, result, axes, s->u.stage.naxes, RED_NONE, NULL, 0, NULL, value);
}
void byte_weights_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out) {
    struct ctx *c = q->c;
    struct stmt *s = q->k->sum;
    struct buf *result = s->u.stage.buf;
    expr read = q->k->b.read, product = s->u.stage.value, at[32];
    struct rounded r;
    bool of[32];
    int n = 0;
    (void)row;
    for (int d = 0; d < read->n; d++)
        if ((of[d] = is_channel(s, read->arg[d]))) at[n++] = read->arg[d];
    round_weights(c, given_cells(q, read->u.buf), of, &r);
    const char *name = read->u.buf->name;
    struct buf *cells = constant_buf(c, q->entry, name, r.cells),
               *scales = constant_buf(c, q->entry, internf(c->names, "%s_scale", name), r.scales),
               *sum = buf_new(c, q->entry, internf(c->names, "%s_sum", result->name), F32, SC_ARENA, result->logical,
                              result->nlogical);
    expr byte = x_cast(c, F32, x_load(c, cells, read->arg, read->n, NULL));
    bool second = product->arg[1] == read;
    s->u.stage.value = second ? x_mul(c, product->arg[0], byte) : x_mul(c, byte, product->arg[1]);
    s->u.stage.buf = sum;
    stmt_insert_before(s, s_alloc(c, sum));
    stmt_insert_after(s, scaled(q, s, result, x_load(c, scales, at, n, NULL)));
    s->u.stage.init = NULL;
    algorithm_part(q, out, NULL);
    algorithm_rest(q, out, NULL);
}
