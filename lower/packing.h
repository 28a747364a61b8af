/* Factors that the run computes, packed for an instruction that multiplies several steps of a sum at a time: of
 * products whose factors are both no constants (scores and values of attention). The product reads a packed copy, which
 * is made once, before the loops of its tiles. Part of lowering. */
#ifndef NN_LOWER_PACKING_H
#define NN_LOWER_PACKING_H
#include "lower/group.h"
#include "lower/layout.h"
#include "lower/lower.h"

struct packed_factor {
    struct value *value;
    struct value_layout *layout;
};
/* Has the machine such an instruction for factors of type t, and does the sum of p take fewer cycles by it, with the
 * copy? Then *b says which factor is packed, and *how. */
bool find_packing(struct lowering *l, const struct problem *p, enum dtype t, const struct operand **b,
                  struct panels *how);
#endif
