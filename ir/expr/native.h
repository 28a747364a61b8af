/* Functions of the loop IR written in C: what it cannot express itself, about strings. Pure, with a single meaning: the
 * interpreter calls runtime_stub/nn_text.h, which is also part of the output. Texts call them by name; if a module has
 * a function of the same name, that one is meant. */
#ifndef NN_IR_NATIVE_H
#define NN_IR_NATIVE_H
#include "ir/expr/expr.h"

struct native {
    struct fn fn;  /* without a body */
    const char *c; /* the name in C */
    /* Arguments and result as in the interpreter's registers: strings take two. */
    void (*run)(void *result, const void *const *args);
};
const struct native *native_named(const char *name); /* NULL if none */
const struct native *native_of(const struct fn *f);  /* NULL: f has a body */
/* A call; poison if the arguments do not fit. */
expr x_native(struct ctx *c, const char *name, const expr *args);
#endif
