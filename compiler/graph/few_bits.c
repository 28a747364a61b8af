/* Weights of at most 8 bits stay packed up to the multiplication: a MatMul or Gemm by a DequantizeLinear of constants
 * becomes the operator that its row names (ir/graph/op.h), which unpacks each weight where it is used. Folded into
 * floats they would take four to sixteen times the memory. Results keep their bits: cells are only moved, and signed
 * values and their zero points are shifted by 8 (or 2), so that they are unsigned. Runs after `integers`, which takes
 * such weights where the data is quantised too.
 * Where the user allows it (graph.bytes), that operator rounds what it multiplies to bytes, and constant floats become
 * such weights. */
#include "compiler/graph/passes.h"
#include "compiler/graph/rules.h"
#include "ir/graph/op.h"
#include <math.h>
#include <string.h>

/* The weights as the product reads them: n columns of k rows, in either memory order. */
struct weights {
    const struct tensor *cells, *scales, *zeros; /* zeros NULL: 0 */
    int64_t n, k, block;                         /* block: this many cells along k share a scale */
    bool turned;                                 /* stored as [n, k] */
    bool along_k, along_n;                       /* the scales vary along this axis */
    int bits, shift;                             /* shift: added to each cell, so that none is negative */
    bool rounded;                                /* floats in the model */
};
static int64_t blocks_of(const struct weights *w) { return (w->k + w->block - 1) / w->block; }
static const struct tensor *constant(const struct value *v) { return v ? v->init : NULL; }
static bool is_small(enum dtype t) { return t == I4 || t == U4 || t == I2 || t == U2 || t == I8 || t == U8; }
/* The largest power of two that divides n, up to `most`. */
static int64_t power_in(int64_t n, int64_t most) {
    int64_t p = 1;
    while (n % (2 * p) == 0 && 2 * p <= most) p *= 2;
    return p;
}
/* What the scales belong to: the whole tensor, each column, or each block of rows. */
static bool find_scales(const struct node *dq, struct weights *w) {
    enum { LEAST = 16, MOST = 128 }; /* size of the blocks into which columns with one scale are divided */
    int64_t block = node_int(dq, "block_size"), axis = node_int(dq, "axis"), k_axis = w->turned;
    const struct tensor *s = w->scales;
    if (axis < 0) axis += 2;
    w->block = power_in(w->k, MOST);
    if (block) {
        w->along_k = w->along_n = true, w->block = block;
        bool power = block >= LEAST && !(block & (block - 1));
        return s->rank == 2 && axis == k_axis && power && w->k % block == 0;
    }
    w->along_n = tensor_count(s) != 1;
    return s->rank < 2 && w->block >= LEAST && (!w->along_n || axis != k_axis);
}
/* Index of cell [n,k] in a tensor with the weights' axes, some of which it may lack. */
static int64_t place(const struct weights *w, int64_t n, int64_t k, int64_t columns, int64_t rows) {
    return w->turned ? n * rows + k : k * columns + n;
}
static int64_t place_of_scale(const struct weights *w, int64_t n, int64_t block) {
    return w->along_k ? place(w, n, block, w->n, blocks_of(w)) : w->along_n ? n : 0;
}
/* The greatest magnitude in block b of column n; -1: not all are finite. */
static double greatest(const struct tensor *floats, const struct weights *w, int64_t n, int64_t b) {
    double most = 0;
    for (int64_t k = b * w->block; k < (b + 1) * w->block && k < w->k; k++) {
        double v = fabs(tensor_f(floats, place(w, n, k, w->n, w->k)));
        if (!isfinite(v)) return -1;
        most = fmax(most, v);
    }
    return most;
}
/* Weights of floats, rounded to bytes with a scale for each block of a column. Few columns or short rows take less time
 * than it takes to round the rows, and to pad them if they are not whole blocks. */
static bool round_weights(struct graph *g, const struct tensor *floats, struct weights *w) {
    enum { BLOCK = 32, MOST = 128, TOP = 127 };
    if (floats->rank != 2 || !dtype_is_float(floats->type) || floats->type == F64) return false;
    w->n = floats->dims[!w->turned], w->k = floats->dims[w->turned];
    int64_t least = w->k % BLOCK ? 2 * g->bytes.least : g->bytes.least;
    if (w->n < least || w->k < least) return false;
    w->block = w->k % BLOCK ? BLOCK : power_in(w->k, MOST);
    w->bits = 8, w->shift = 1 << 7, w->along_k = w->along_n = w->rounded = true;
    int64_t blocks = blocks_of(w), dims[] = {w->turned ? w->n : blocks, w->turned ? blocks : w->n};
    struct tensor *cells = tensor_new(&g->ctx->arena, I8, floats->dims, 2),
                  *scales = tensor_new(&g->ctx->arena, F32, dims, 2);
    cells->name = floats->name;
    for (int64_t n = 0; n < w->n; n++)
        for (int64_t b = 0; b < blocks; b++) {
            double most = greatest(floats, w, n, b), scale = most > ROUNDED_LEAST ? (double)(float)(most / TOP) : 0;
            if (most < 0) return false;
            tensor_set_f(scales, place_of_scale(w, n, b), scale);
            for (int64_t k = b * w->block; scale > 0 && k < (b + 1) * w->block && k < w->k; k++) {
                int64_t at = place(w, n, k, w->n, w->k);
                tensor_set_i(cells, at, (int64_t)rint(tensor_f(floats, at) / scale));
            }
        }
    w->cells = cells, w->scales = scales;
    return true;
}
static bool find_weights(struct graph *g, const struct value *v, bool turned, struct weights *w) {
    int perm[32];
    const struct node *dq = v ? v->def : NULL;
    *w = (struct weights){.turned = turned};
    if (dq && dq->ins.n == 1 && v->type.rank == 2 && node_perm(dq, perm) && perm[0] == 1)
        w->turned = !turned, v = dq->ins.v[0], dq = v->def;
    if (v && v->init) return g->bytes.weights && g->bytes.operands && round_weights(g, v->init, w);
    if (!dq || !dq->op || !(dq->op->flags & OP_DEQUANTIZES) || v->type.dtype != F32 || v->uses.n != 1) return false;
    w->cells = constant(node_in(dq, 0)), w->scales = constant(node_in(dq, 1)), w->zeros = constant(node_in(dq, 2));
    if (!w->cells || !w->scales || w->scales->type != F32 || w->cells->rank != 2 || !is_small(w->cells->type))
        return false;
    if (node_in(dq, 2) && (!w->zeros || w->zeros->rank != w->scales->rank)) return false;
    w->n = w->cells->dims[!w->turned], w->k = w->cells->dims[w->turned];
    w->bits = dtype_bits(w->cells->type), w->shift = dtype_is_signed(w->cells->type) ? 1 << (w->bits - 1) : 0;
    return w->n > 0 && w->k > 0 && find_scales(dq, w);
}

/* ---- the operands of the new operator */
/* Ors the value into its byte; the first cell of a byte is in the lowest bits. */
static void put_bits(struct tensor *t, int64_t row, int64_t bytes, int64_t at, int bits, int64_t v) {
    int per_byte = 8 / bits;
    int64_t byte = row * bytes + at / per_byte;
    tensor_set_i(t, byte, tensor_i(t, byte) | v << at % per_byte * bits);
}
static struct value *packed_cells(struct graph *g, const struct weights *w) {
    int64_t blocks = blocks_of(w), of_block = w->block * w->bits / 8, bytes = blocks * of_block;
    struct tensor *t = tensor_new(&g->ctx->arena, U8, (int64_t[]){w->n, blocks, of_block}, 3);
    for (int64_t n = 0; n < w->n; n++)
        for (int64_t k = 0; k < blocks * w->block; k++) {
            int64_t cell = k < w->k ? tensor_i(w->cells, place(w, n, k, w->n, w->k)) : 0;
            put_bits(t, n, bytes, k, w->bits, cell + w->shift);
        }
    return graph_const(g, w->cells->name ? w->cells->name : "weights", t);
}
static struct value *scales(struct graph *g, const struct weights *w) {
    int64_t blocks = blocks_of(w);
    struct tensor *t = tensor_new(&g->ctx->arena, F32, (int64_t[]){w->n, blocks}, 2);
    for (int64_t n = 0; n < w->n; n++)
        for (int64_t b = 0; b < blocks; b++)
            tensor_set_f(t, n * blocks + b, tensor_f(w->scales, place_of_scale(w, n, b)));
    return graph_const(g, "scales", t);
}
/* NULL: all are the middle of the range, the operator's default */
static struct value *packed_zeros(struct graph *g, const struct weights *w) {
    int64_t blocks = blocks_of(w), per_byte = 8 / w->bits, bytes = (blocks + per_byte - 1) / per_byte;
    if (!w->zeros && w->shift) return NULL;
    struct tensor *t = tensor_new(&g->ctx->arena, U8, (int64_t[]){w->n, bytes}, 2);
    for (int64_t n = 0; n < w->n; n++)
        for (int64_t b = 0; b < blocks; b++) {
            int64_t zero = w->zeros ? tensor_i(w->zeros, place_of_scale(w, n, b)) : 0;
            put_bits(t, n, bytes, b, w->bits, zero + w->shift);
        }
    return graph_const(g, "zeros", t);
}

/* ---- rewriting */
static bool is_one(const struct node *n, const char *name) {
    const struct attr *a = node_attr(n, name);
    return !a || a->u.f == 1.0f;
}
/* Is operand 2 absent, or does it have one value per column? */
static bool fits_bias(const struct node *n, const struct weights *w) {
    const struct value *v = node_in(n, 2);
    int64_t columns;
    return !v || (v->type.rank == 1 && x_is_int(v->type.dims[0], &columns) && columns == w->n && is_one(n, "beta"));
}
struct rewriting {
    struct graph *g;
    int made;
};
static void keep_few_bits(void *env, struct node *n) {
    struct rewriting *r = env;
    struct graph *g = r->g;
    const struct op_in_integers *row = n->op ? n->op->integers : NULL;
    struct weights w;
    if (!row || !row->blocks.name) return;
    if (!find_weights(g, node_in(n, 1), row->scaled_axis(n) == 0, &w) || !fits_bias(n, &w)) return;
    if (node_int(n, "transA") || !is_one(n, "alpha") || row->scaled_axis(n) < 0) return;
    if (!decide(g->ctx, w.rounded ? "operands of %.*s are rounded to bytes" : "weights of %.*s stay in few bits",
                OWN_ORIGIN(n)))
        return;
    struct value *ins[] = {n->ins.v[0], packed_cells(g, &w), scales(g, &w), packed_zeros(g, &w), NULL, node_in(n, 2)};
    struct node *made = node_new(n->in, n, row->blocks.domain, row->blocks.name, ins, values_given(ins, 6), 1);
    struct value *y = made->outs.v[0], *old = n->outs.v[0];
    made->origin = n->origin;
    node_set_int(made, "K", w.k), node_set_int(made, "N", w.n), node_set_int(made, "bits", w.bits);
    node_set_int(made, "block_size", w.block);
    y->type = old->type, y->name = old->name;
    value_replace(old, y);
    trace_because(g, NULL, w.rounded ? "its operands are rounded to bytes" : "weights of few bits stay so");
    trace_into(g, n->origin);
    node_remove(n);
    r->made++;
}
bool graph_few_bits(struct graph *g) {
    struct rewriting r = {.g = g};
    each_node(g->top, keep_few_bits, &r);
    return !r.made || graph_infer(g); /* expands what was made */
}
