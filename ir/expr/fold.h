/* Constant folding of value expressions: exactly the arithmetic of the interpreter and of generated C (numbers N5, N6).
 * Used by the constructors in value.c. All operands are X_CONST. */
#ifndef NN_IR_EXPR_FOLD_H
#define NN_IR_EXPR_FOLD_H
#include "ir/base/convert.h"
#include "ir/expr/expr.h"

int64_t fold_wrap(enum dtype t, int64_t v);               /* two's complement to the type's width */
int64_t fold_int_div(enum dtype t, int64_t a, int64_t b); /* truncating; by zero 0 */
int64_t fold_int_mod(enum dtype t, int64_t a, int64_t b);
double fold_cast_f(enum dtype to, enum dtype from, int64_t i, double f);  /* value as to (float) */
int64_t fold_cast_i(enum dtype to, enum dtype from, int64_t i, double f); /* value as to (integer, BOOL) */
float fold_round_f32(enum dtype storage, float f);
expr fold_bin(struct ctx *c, enum xop op, expr a, expr b);
expr fold_un(struct ctx *c, enum xop op, expr a);
expr fold_cmp(struct ctx *c, enum xop op, expr a, expr b);
expr fold_fma(struct ctx *c, expr a, expr b, expr d);
expr fold_cast(struct ctx *c, enum dtype t, expr a);
expr fold_bitcast(struct ctx *c, enum dtype t, expr a);
expr fold_round(struct ctx *c, enum dtype storage, expr a);
#endif
