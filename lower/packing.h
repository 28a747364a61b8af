/* Factors computed at run time, packed for those who multiply them: in products without constant factors (scores and
 * values of attention), for an instruction that multiplies several steps of a sum at a time; and run-time weights of
 * convolutions. The kernel reads a packed copy, made once, before the loops over a chain's tiles. */
#ifndef NN_LOWER_PACKING_H
#define NN_LOWER_PACKING_H
#include "lower/group.h"
#include "lower/layout.h"
#include "lower/lower.h"

struct packed_factor {
    struct value *value;
    struct value_layout *layout;
    bool weights; /* of a convolution, packed by its channels */
};
/* Does the machine have such an instruction for factors of type t, and does the sum of p take fewer cycles with it,
 * including the copy? Then *b is the factor to pack, and *how the packing. */
bool find_packing(struct lowering *l, const struct problem *p, enum dtype t, const struct operand **b,
                  struct panels *how);
/* Is it better to pack the weights of this convolution, which are computed at run time, by channels like constants,
 * even though its other operand then has to be copied into blocks of channels? */
bool find_packed_weights(struct lowering *l, const struct problem *p, const struct operand **b, struct panels *how);
/* Is a factor computed at run time whose plain rows would displace each other from the caches, and which many rows of
 * the other one multiply? Then *b is that factor, and *how the packing, in which a vector's cells of all rows follow
 * each other. */
bool find_colliding(struct lowering *l, const struct problem *p, const struct operand **b, struct panels *how);
#endif
