/* What an instruction of tiles computes: a product of matrices whose sums stay in tiles of registers until all steps of
 * the sum are done. The row of such an instruction (SCOPE_TILE, ir/loop/target.h) has a body for one example of sizes;
 * `tensorize` takes any nest of its kind, and the printed code says what the nest found here:
 *
 *     C[row, vector, lane] += A[row, steps.., q * side + k] * B[vector, steps.., q, lane, k]
 *
 * rows, vectors and up to TILE_STEPS loops of the sum have any extent, and what they walk lies any number of cells
 * apart; lanes, q and k are the last loops of the row's body, and lie as written; q may be fewer than there. */
#ifndef NN_IR_TILE_NEST_H
#define NN_IR_TILE_NEST_H
#include "ir/loop/target.h"

enum { TILE_STEPS = 3 };
struct tile_step {
    expr n, a, b; /* iterations; strides in A and in B */
};
struct tile_nest {
    expr rows, vectors;   /* how many; 1 if there is no loop over them */
    int groups;           /* of q */
    expr c_row, c_vector; /* strides */
    expr a_row, b_vector;
    int n;
    struct tile_step steps[TILE_STEPS]; /* from outside to inside */
    expr c, a, b;                       /* offsets of the first cells */
};
/* c, a, b: offsets of the cells that the nest with these n loops accesses. False: it is not of the row's kind. */
bool find_tile_nest(struct ctx *ctx, const struct instr_row *row, struct stmt *const *loops, int n, expr c, expr a,
                    expr b, struct tile_nest *nest);
/* The nest of an instruction of tiles. False: it is not of the row's kind. */
bool tile_nest_of(struct ctx *ctx, const struct stmt *instr, struct tile_nest *nest);
#endif
