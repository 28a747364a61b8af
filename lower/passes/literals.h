/* The cells of constants, for the pass that makes literals of them and for the tables that are printed. */
#ifndef NN_LOWER_PASSES_LITERALS_H
#define NN_LOWER_PASSES_LITERALS_H
#include "ir/expr/buf.h"

/* The contents of a constant buffer in physical order as f64 or i64 values; NULL when too large or without data. */
union cell {
    double f;
    int64_t i;
};
const union cell *const_cells(struct ctx *c, const struct buf *b, int64_t *n);
#endif
