/* Values known at compile time: stages over constants become constants. What algorithms derive from weights (sums,
 * other types, transforms) is written as a stage and computed here. */
#ifndef NN_LOWER_ALGORITHM_CONSTANTS_H
#define NN_LOWER_ALGORITHM_CONSTANTS_H
#include "ir/loop/loop.h"

/* Are its contents known, cell by cell? */
bool is_known_constant(const struct buf *b);
/* The result of a stage over these axes, if all that it reads is constant and its extents are known. NULL: otherwise,
 * or if it would be too large or take too long. */
const struct tensor *stage_constant(struct ctx *c, enum dtype type, const struct var **axes, int naxes, enum red_op op,
                                    const struct var **red, int nred, expr value);
/* A constant of the procedure with these contents. */
struct buf *constant_buf(struct ctx *c, struct proc *p, const char *name, const struct tensor *t);
/* Computes those parts of a value that depend only on constants: they become loads of new constants of p, with the axes
 * that they depend on. */
expr fold_constant_parts(struct ctx *c, struct proc *p, const struct stmt *s, expr value);
/* The same numbers in another type, which must be able to hold them. */
const struct tensor *tensor_as(struct ctx *c, const struct tensor *t, enum dtype type);
/* n slices along a dim, in another type. */
const struct tensor *tensor_slice_as(struct ctx *c, const struct tensor *t, enum dtype type, int dim, int64_t from,
                                     int64_t n);
#endif
