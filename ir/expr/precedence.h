/* How tightly operators bind, in C as well as in loop IR text, the tightest first; and pieces of text with the
 * precedence of their outermost operator, so that only necessary parentheses are printed. */
#ifndef NN_IR_EXPR_PRECEDENCE_H
#define NN_IR_EXPR_PRECEDENCE_H
#include "ir/base/arena.h"

enum prec { P_ATOM, P_UNARY, P_MUL, P_ADD, P_SHIFT, P_REL, P_EQ, P_BITS, P_AND, P_OR, P_COND };
struct piece {
    const char *s;
    enum prec p;
};
static inline struct piece piece_of(const char *s, enum prec p) { return (struct piece){s, p}; }
/* Its text, in parentheses if it binds weaker than `most`. */
static inline const char *piece_text(struct arena *a, struct piece v, enum prec most) {
    return v.p > most ? arena_printf(a, "(%s)", v.s) : v.s;
}
#endif
