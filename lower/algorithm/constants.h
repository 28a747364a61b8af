/* Values that are known when the model is compiled: stages over constants become constants themselves. What algorithms
 * make of weights (sums, other types, transforms) is written as a stage and computed here. */
#ifndef NN_LOWER_ALGORITHM_CONSTANTS_H
#define NN_LOWER_ALGORITHM_CONSTANTS_H
#include "ir/loop/loop.h"

/* Its contents are known, cell by cell. */
bool is_known_constant(const struct buf *b);
/* What a stage over these axes gives: all that it reads are constants, and its extents are known. NULL: that is not so,
 * or it would be too large or take too long. */
const struct tensor *stage_constant(struct ctx *c, enum dtype type, const struct var **axes, int naxes, enum red_op op,
                                    const struct var **red, int nred, expr value);
/* A constant of the procedure with these contents. */
struct buf *constant_buf(struct ctx *c, struct proc *p, const char *name, const struct tensor *t);
/* A value of which parts are computed from constants alone, with those computed: they become loads of new constants of
 * p, with the axes that they have. */
expr fold_constant_parts(struct ctx *c, struct proc *p, const struct stmt *s, expr value);
/* The same numbers as another type, which holds them. */
const struct tensor *tensor_as(struct ctx *c, const struct tensor *t, enum dtype type);
/* Of them n along a dim. */
const struct tensor *tensor_slice_as(struct ctx *c, const struct tensor *t, enum dtype type, int dim, int64_t from,
                                     int64_t n);
#endif
