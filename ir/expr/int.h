/* Internals of the constructors of expressions: unsimplified nodes, and index arithmetic. Everyone else uses expr.h. */
#ifndef NN_IR_EXPR_INT_H
#define NN_IR_EXPR_INT_H
#include "ir/expr/expr.h"

/* ---- expr.c */
/* The unique node with these contents. `proto` is on the caller's stack, without args and coefs; copied if the node is
 * new. */
expr x_make(struct ctx *c, const struct expr *proto, const expr *args, int n, const int64_t *coefs);
void x_head(struct expr *h, enum xop op, enum dtype type); /* a proto without payload */
expr x_node(struct ctx *c, enum xop op, enum dtype type, const expr *args, int n);
#define NODE(c, op, type, ...)                                                                                         \
    x_node((c), (op), (type), (const expr[]){__VA_ARGS__}, (int)(sizeof((const expr[]){__VA_ARGS__}) / sizeof(expr)))
bool x_poisoned(const expr *a, int n); /* one of them is missing or poison */
/* Memory for prove.c about e's sign: nodes do not change, so the outcome of a proof stays valid. The pointer is valid
 * until the next node is made; initially 0. */
uint8_t *x_proof(struct ctx *c, expr e);
/* exact.c: the integer to which the float v rounds, if it is an index for all sizes; otherwise NULL */
expr x_exact_index(struct ctx *c, expr v);

/* ---- index.c: operands are of type IDX and not poison */
expr idx_addmul(struct ctx *c, expr a, expr b, int64_t f); /* a + b * f */
expr idx_mul(struct ctx *c, expr a, expr b);
expr idx_div(struct ctx *c, expr a, expr b);
expr idx_mod(struct ctx *c, expr a, expr b);
expr idx_exact_quotient(struct ctx *c, expr e, expr by); /* q such that e is by * q term by term; otherwise NULL */
expr idx_minmax(struct ctx *c, enum xop op, expr a, expr b);
#endif
