/* Inside of the constructors of expressions: nodes as they are, and index arithmetic. Others use expr.h. */
#ifndef NN_IR_EXPR_INT_H
#define NN_IR_EXPR_INT_H
#include "ir/expr/expr.h"

/* ---- expr.c */
/* The one node with these contents. `proto` is on the caller's stack, args and coefs apart; kept when new. */
expr x_make(struct ctx *c, const struct expr *proto, const expr *args, int n, const int64_t *coefs);
void x_head(struct expr *h, enum xop op, enum dtype type); /* a proto without payload */
expr x_node(struct ctx *c, enum xop op, enum dtype type, const expr *args, int n);
#define NODE(c, op, type, ...)                                                                                         \
    x_node((c), (op), (type), (const expr[]){__VA_ARGS__}, (int)(sizeof((const expr[]){__VA_ARGS__}) / sizeof(expr)))
bool x_poisoned(const expr *a, int n); /* one of them is missing or poison */
/* What is known of e's sign, for prove.c to keep: nodes do not change, so a proof that was found, or not found,
 * stands. Valid until the next node is made; 0 at first. */
uint8_t *x_proof(struct ctx *c, expr e);
/* exact.c: the integer that the float v is rounded to, where it is an index whatever its sizes are; or NULL */
expr x_exact_index(struct ctx *c, expr v);

/* ---- index.c: operands are of type IDX and not poison */
expr idx_addmul(struct ctx *c, expr a, expr b, int64_t f); /* a + b * f */
expr idx_mul(struct ctx *c, expr a, expr b);
expr idx_div(struct ctx *c, expr a, expr b);
expr idx_mod(struct ctx *c, expr a, expr b);
expr idx_exact_quotient(struct ctx *c, expr e, expr by); /* q, where e is by * q term for term; or NULL */
expr idx_minmax(struct ctx *c, enum xop op, expr a, expr b);
#endif
