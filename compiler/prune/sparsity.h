/* How many of a model's weights are zero, and how they lie: what `gcc2nn prune --report` tells. */
#ifndef NN_COMPILER_PRUNE_SPARSITY_H
#define NN_COMPILER_PRUNE_SPARSITY_H
#include "ir/graph/graph.h"

enum { SPARSE_BLOCK = 4 }; /* rows and columns of a block */
/* Of a constant of two axes and more, as a matrix: its first axis, or that of the product's filters, by all others. */
struct sparsity {
    const struct value *w;
    const struct node *n; /* the first that reads it */
    int64_t count, zeros;
    int64_t near;                    /* not greater than the threshold, zeros too */
    int64_t filters, zero_filters;   /* what one channel of the result is made with */
    int64_t channels, zero_channels; /* what one channel of the operand is multiplied by; channels 0: not told apart */
    int64_t blocks, zero_blocks;     /* whole and at the edge, of the matrix of the first axis by the others */
};
typedef VEC(struct sparsity) sparsities;
/* Of all constants that nodes of the top region read as weights, in their order. threshold: absolute; < 0: a thousandth
 * of the greatest magnitude of each tensor. */
sparsities sparsity_of(struct graph *g, double threshold);
int64_t weights_bytes_of(struct graph *g); /* that the same take in a model */
#endif
