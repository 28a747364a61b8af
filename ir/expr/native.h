/* Functions of the loop IR that are written in C: what it should not say itself, about strings. Pure, with one meaning:
 * the interpreter calls runtime_stub/nn_text.h, which is also part of the output. Texts call them by name; a module
 * that has a function of the same name means its own. */
#ifndef NN_IR_NATIVE_H
#define NN_IR_NATIVE_H
#include "ir/expr/expr.h"

struct native {
    struct fn fn;  /* without a body */
    const char *c; /* the name in C */
    /* Arguments and result as they lie in the interpreter's registers: strings in two. */
    void (*run)(void *result, const void *const *args);
};
const struct native *native_named(const char *name); /* NULL if none */
const struct native *native_of(const struct fn *f);  /* NULL: f has a body */
/* A call; poison when the arguments do not fit. */
expr x_native(struct ctx *c, const char *name, const expr *args);
#endif
