/* Factors that the run computes, packed for those who multiply them: in products whose factors are both no constants
 * (scores and values of attention), for an instruction that multiplies several steps of a sum at a time; and weights of
 * convolutions. The kernel reads a packed copy, which is made once, before the loops of a chain's tiles. Part of
 * lowering. */
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
/* Has the machine such an instruction for factors of type t, and does the sum of p take fewer cycles by it, with the
 * copy? Then *b says which factor is packed, and *how. */
bool find_packing(struct lowering *l, const struct problem *p, enum dtype t, const struct operand **b,
                  struct panels *how);
/* Are the weights of this convolution, which the run computes, better packed by channels, as constants are, though what
 * they meet is then copied into blocks of channels, too? */
bool find_packed_weights(struct lowering *l, const struct problem *p, const struct operand **b, struct panels *how);
#endif
