/* Predicted cycles: pure functions of sizes and of the machine. What they model, and where the numbers come from:
 * docs/schedules.md. */
#ifndef NN_LOWER_SCHEDULE_COST_H
#define NN_LOWER_SCHEDULE_COST_H
#include "lower/machine/machine.h"

struct made { /* Cycles to make the operands from what is loaded: a vector of the packed operand, and a broadcast cell
               * of a row. */
    double vector, row;
};
/* One step of the sum over all rows, in balanced tiles of at most mr rows by nr vectors. sum: the operation that
 * accumulates in that micro-kernel. */
double cost_of_rows(const struct machine *m, const struct operation *sum, const struct micro *micro, struct made made,
                    int64_t rows, int64_t mr, int64_t nr);
/* The same for all vectors: in panels of nr, and a last one with the remainder. */
double cost_of_step(const struct machine *m, const struct operation *sum, const struct micro *micro, struct made made,
                    int64_t rows, int64_t vectors, int64_t mr, int64_t nr);

struct contraction_sizes {
    double products;        /* cycles of the multiply-adds */
    double x, w, y, panel;  /* bytes: rows, weights, result; a panel of weights */
    int64_t panels, tiles;  /* tiles of one row */
    int64_t extent, blocks; /* of the group, of the sum */
    bool one_stream;        /* a row's blocks follow each other in memory; otherwise they are separate streams */
    bool apart;             /* sums of neighbouring rows do not lie side by side */
};
struct blocking { /* groups of rows, blocks of the sum at a time, and whether the loop over chunks is outside of all
                   * panels */
    int64_t groups, chunk;
    bool outside;
};
int64_t rows_of_group(const struct contraction_sizes *s, int64_t groups);
double cost_of_blocking(const struct machine *m, const struct contraction_sizes *s, struct blocking b);
#endif
