/* Ranges of the floats in a module's buffers, for passes that can then omit what would otherwise be needed. */
#ifndef NN_LOWER_PASSES_NUMBERS_H
#define NN_LOWER_PASSES_NUMBERS_H
#include "ir/loop/loop.h"

/* Answers refer to m as it is when a buffer is first asked about, and stay right while no value changes. */
struct numbers *numbers_new(struct module *m);
/* The range of e, a value in one of m's procedures. */
struct x_range numbers_of(struct numbers *q, expr e);
#endif
