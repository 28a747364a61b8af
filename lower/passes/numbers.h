/* Between which numbers the floats lie that a module's buffers hold, for passes that may leave out what others need. */
#ifndef NN_LOWER_PASSES_NUMBERS_H
#define NN_LOWER_PASSES_NUMBERS_H
#include "ir/loop/loop.h"

/* As m is when it is asked for the first time of each buffer: what was said stays right while no value changes. */
struct numbers *numbers_new(struct module *m);
/* Between which numbers e lies, a value in one of m's procedures. */
struct x_range numbers_of(struct numbers *q, expr e);
#endif
