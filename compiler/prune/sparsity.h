/* Counts the zeros among a model's weights, and the patterns that they form, for `gcc2nn prune --report`. */
#ifndef NN_COMPILER_PRUNE_SPARSITY_H
#define NN_COMPILER_PRUNE_SPARSITY_H
#include "ir/graph/graph.h"

enum { SPARSE_BLOCK = 4 }; /* rows and columns of a block */
/* A constant with at least two axes as a matrix: its first axis, or that of the product's filters, by all others. */
struct sparsity {
    const struct value *w;
    const struct node *n; /* the first that reads it */
    int64_t count, zeros;
    int64_t near;                    /* not above the threshold, including zeros */
    int64_t filters, zero_filters;   /* filters: the weights of one channel of the result */
    int64_t channels, zero_channels; /* channels: the weights of one channel of the operand; 0: not separable */
    int64_t blocks, zero_blocks;     /* full ones and those at the edge, of the matrix of the first axis by the
                                      * others */
};
typedef VEC(struct sparsity) sparsities;
/* Counts for all constants that nodes of the top region read as weights, in order. threshold: absolute; < 0: a
 * thousandth of each tensor's greatest magnitude. */
sparsities sparsity_of(struct graph *g, double threshold);
int64_t weights_bytes_of(struct graph *g); /* their size in a model */
#endif
