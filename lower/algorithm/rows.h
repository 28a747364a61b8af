/* What the rows of algorithms share: predicted cycles. */
#ifndef NN_LOWER_ALGORITHM_ROWS_H
#define NN_LOWER_ALGORITHM_ROWS_H
#include "lower/algorithm/algorithm.h"

/* Cycles of an f32 product: rows by columns of sums of length depth. */
double rows_cycles(const struct machine *m, double rows, double columns, double depth);
static inline bool is_var(expr e, const struct var *v) { return e->op == X_VAR && e->u.var == v; }
/* A constant's cells as the model has them, if such were kept. */
static inline const struct tensor *given_cells(const struct algorithm_query *q, const struct buf *b) {
    return q->given ? q->given(q->env, b) : b->data;
}
/* Cells of the constant factor; 0: there is none. */
double rows_weights(const struct algorithm_query *q);
/* Functions of a single byte (tables.c). */
struct algorithm_saving tables_beside(const struct algorithm_query *q, const struct algorithm *row, bool asked,
                                      bool rewrites);
/* TopK (topk.c). */
struct algorithm_saving topk_beside(const struct algorithm_query *q, const struct algorithm *row, bool asked,
                                    bool rewrites);
/* Running sums and products (running.c). */
struct algorithm_saving running_rows_beside(const struct algorithm_query *q, const struct algorithm *row, bool asked,
                                            bool rewrites);
/* Is s a call of this kernel text, for whatever type? */
bool calls_text(const struct algorithm_query *q, const struct stmt *s, const char *text);
struct proc *algorithm_text(const struct algorithm_query *q, const struct stmt *call, const char *name);
/* Products of bytes less zero points (integer_sums.c). */
const char *integer_sums_refuse(const struct algorithm_query *q, const struct algorithm *row);
double integer_sums_cycles(const struct algorithm_query *q, const struct algorithm *row);
void integer_sums_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out);
enum dtype integer_sums_wants(const struct algorithm_query *q, const struct buf *b);
static inline bool is_integer_zero(expr e) { return e->op == X_CONST && e->u.i == 0; }
/* A sum of products (a - za) w, with bounds for its factors and for any partial sum. */
struct integer_product {
    expr za;
    const struct tensor *w;
    double most_a, most_b, most_sum;
};
bool integer_product(const struct algorithm_query *q, struct stmt *s, struct integer_product *out);
/* Products whose factors lie across the lanes (turned.c). */
const char *turned_refuses(const struct algorithm_query *q, const struct algorithm *row);
double turned_cycles(const struct algorithm_query *q, const struct algorithm *row);
void turned_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out);
/* Cycles of the definition of such a product, whose sums go across lanes; 0: it is none. */
double across_cycles(const struct algorithm_query *q, double cells, double depth);
/* Transposed convolutions (phases.c). */
const char *phases_refuse(const struct algorithm_query *q, const struct algorithm *row);
double phases_cycles(const struct algorithm_query *q, const struct algorithm *row);
void phases_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out);
/* Cycles of the definition of one, whose neighbours share no weights; 0: it is none. */
double unshared_cycles(const struct algorithm_query *q, double cells, double depth);
/* Products of bytes, neither of which is constant (computed_bytes.c). */
const char *computed_bytes_refuse(const struct algorithm_query *q, const struct algorithm *row);
double computed_bytes_cycles(const struct algorithm_query *q, const struct algorithm *row);
void computed_bytes_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out);
/* Cycles of the definition of one, which subtracts zero points from both factors each time; 0: it is none. */
double shifted_cycles(const struct algorithm_query *q, double cells, double depth);
/* Weights rounded to bytes (byte_weights.c). */
const char *byte_weights_refuse(const struct algorithm_query *q, const struct algorithm *row);
double byte_weights_cycles(const struct algorithm_query *q, const struct algorithm *row);
double byte_weights_bound(const struct algorithm *row, int64_t depth);
void byte_weights_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out);
/* Weights that are zero in blocks of channels (sparse_blocks.c). */
const char *sparse_blocks_refuse(const struct algorithm_query *q, const struct algorithm *row);
double sparse_blocks_cycles(const struct algorithm_query *q, const struct algorithm *row);
void sparse_blocks_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out);
/* Cycles to move that many bytes once from or to beyond the second level of cache. */
double bytes_cycles(const struct machine *m, double bytes);
/* Cycles to read that many f32 weights once per run. */
double weights_cycles(const struct machine *m, double weights);
#endif
