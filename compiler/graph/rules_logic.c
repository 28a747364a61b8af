/* Rules of logic, comparison, selection and bits; see rules.h. No rule inverts a comparison of floats: not (a < b)
 * differs from a >= b if one is NaN. */
#include "compiler/graph/rules.h"

const struct rule rules_logic[] = {
    {"not-of-not", "Not(Not(x))", "x", SAME_BITS, NULL},
    {"bitwise-not-of-not", "BitwiseNot(BitwiseNot(x))", "x", SAME_BITS, NULL},
    {"and-self", "And(x, x)", "x", SAME_BITS, NULL},
    {"or-self", "Or(x, x)", "x", SAME_BITS, NULL},
    {"xor-self", "Xor(x, x)", "false", SAME_BITS, NULL},
    {"and-true", "And(x, true)", "x", SAME_BITS, NULL},
    {"and-false", "And(x, false)", "false", SAME_BITS, NULL},
    {"or-true", "Or(x, true)", "true", SAME_BITS, NULL},
    {"or-false", "Or(x, false)", "x", SAME_BITS, NULL},
    {"xor-true", "Xor(x, true)", "Not(x)", SAME_BITS, NULL},
    {"xor-false", "Xor(x, false)", "x", SAME_BITS, NULL},
    {"and-of-or", "And(x, Or(x, y))", "x", SAME_BITS, NULL},
    {"or-of-and", "Or(x, And(x, y))", "x", SAME_BITS, NULL},
    {"bitwise-and-self", "BitwiseAnd(x, x)", "x", SAME_BITS, NULL},
    {"bitwise-or-self", "BitwiseOr(x, x)", "x", SAME_BITS, NULL},
    {"bitwise-xor-self", "BitwiseXor(x, x)", "0", SAME_BITS, NULL},
    {"bitwise-or-zero", "BitwiseOr|BitwiseXor(x, 0)", "x", SAME_BITS, NULL},
    {"where-same", "Where(c, x, x)", "x", SAME_BITS, NULL},
    {"where-not", "Where(Not(c), x, y)", "Where(c, y, x)", SAME_BITS, NULL},
    {"where-true", "Where(true, x, y)", "x", SAME_BITS, NULL},
    {"where-false", "Where(false, x, y)", "y", SAME_BITS, NULL},
    {"equal-self", "Equal|LessOrEqual|GreaterOrEqual(x:int, x)", "true", SAME_BITS, NULL},
    {"less-self", "Less|Greater(x, x)", "false", SAME_BITS, NULL},
    {"not-less", "Not(Less(x:int, y))", "GreaterOrEqual(x, y)", SAME_BITS, NULL},
    {"not-greater", "Not(Greater(x:int, y))", "LessOrEqual(x, y)", SAME_BITS, NULL},
    {"not-less-or-equal", "Not(LessOrEqual(x:int, y))", "Greater(x, y)", SAME_BITS, NULL},
    {"not-greater-or-equal", "Not(GreaterOrEqual(x:int, y))", "Less(x, y)", SAME_BITS, NULL},
    {0},
};
