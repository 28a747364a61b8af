/* Formulas over named numbers, written by a user as text: sizes in the comment of a custom operator, and functions of
 * scalars whose C was read (compiler/custom/). A definition turns one into an expression (lower/ops/foreign.c). Nodes
 * may be shared: a formula is a graph without cycles. */
#ifndef NN_IR_FORMULA_H
#define NN_IR_FORMULA_H
#include "ir/define/define.h"

enum formula_kind {
    FORMULA_NUMBER, /* value, of `type`; IDX: an index */
    FORMULA_NAME,   /* the value of `name` */
    FORMULA_XOP,    /* op on its operands */
    FORMULA_SELECT, /* arg[0] ? arg[1] : arg[2] */
    FORMULA_CAST,   /* to `type`; BOOL: is it not 0? */
    FORMULA_MATH,   /* the function `name` of templates/kernels/math.lir */
    FORMULA_DIV,    /* as in C, truncating, and its remainder; for indices, too */
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
    int length; /* number of nodes, counted as often as they are used; at most FORMULA_LENGTH, so that it can be walked
                 * as a tree */
};
enum { FORMULA_LENGTH = 50000 };
/* The value of a name; NULL: there is none. */
typedef E formula_name(void *env, const char *name);
/* Within a definition. Poison if a name has no value, or operands do not fit. */
E formula_value(const struct formula *f, formula_name *name, void *env);
#endif
