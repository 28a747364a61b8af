/* Formulas over named numbers, as text that a user wrote says them: sizes in the comment of an operator of his own, and
 * functions of scalars whose C was read (compiler/custom/). A definition turns one into an expression
 * (lower/ops/foreign.c). Nodes may be shared: a formula is a graph without cycles. */
#ifndef NN_IR_FORMULA_H
#define NN_IR_FORMULA_H
#include "ir/define/define.h"

enum formula_kind {
    FORMULA_NUMBER, /* value, of `type`; IDX: an index */
    FORMULA_NAME,   /* what `name` stands for */
    FORMULA_XOP,    /* op on its operands */
    FORMULA_SELECT, /* arg[0] ? arg[1] : arg[2] */
    FORMULA_CAST,   /* to `type`; BOOL: is it not 0 */
    FORMULA_MATH,   /* the function `name` of templates/kernels/math.lir */
    FORMULA_DIV,    /* of C, towards 0, and its rest: of indices, too */
    FORMULA_REST
};
struct formula {
    enum formula_kind kind;
    enum xop op;
    enum dtype type;
    double value;
    int64_t whole; /* the value of a type of integers */
    const char *name;
    const struct formula *arg[3];
    int length; /* its nodes, each as often as it is used; at most FORMULA_LENGTH, so that it may be walked as a tree */
};
enum { FORMULA_LENGTH = 50000 };
/* What names stand for; NULL: nothing. */
typedef E formula_name(void *env, const char *name);
/* Inside of a definition. Poison where a name stands for nothing, or operands do not fit. */
E formula_value(const struct formula *f, formula_name *name, void *env);
#endif
