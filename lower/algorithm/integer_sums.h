/* The algorithm `integer sums`; see integer_sums.c. */
#ifndef NN_LOWER_ALGORITHM_INTEGER_SUMS_H
#define NN_LOWER_ALGORITHM_INTEGER_SUMS_H
#include "lower/lower.h"

/* Rewrites the stages of a group, in place, where one sums products of bytes less zero points. False after a
 * diagnostic. */
bool integer_sums(struct lowering *l, struct block *stages);
#endif
