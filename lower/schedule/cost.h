/* Predicted cycles: pure functions of sizes and the machine. What they say and where the numbers are from:
 * docs/schedules.md. */
#ifndef NN_LOWER_SCHEDULE_COST_H
#define NN_LOWER_SCHEDULE_COST_H
#include "lower/machine/machine.h"

struct made { /* cycles that make, of what is loaded, a vector of the packed operand, and what a row has for all lanes
               */
    double vector, row;
};
/* One step of the sum for all rows, in balanced tiles of at most mr rows by nr vectors; sum: what adds products, in
 * that micro-kernel. */
double cost_of_rows(const struct machine *m, const struct operation *sum, const struct micro *micro, struct made made,
                    int64_t rows, int64_t mr, int64_t nr);
/* The same for so many vectors, in panels of nr and one of what is left. */
double cost_of_step(const struct machine *m, const struct operation *sum, const struct micro *micro, struct made made,
                    int64_t rows, int64_t vectors, int64_t mr, int64_t nr);

struct contraction_sizes {
    double products;        /* cycles of the multiply-adds */
    double x, w, y, panel;  /* bytes: rows, weights, result; a panel of weights */
    int64_t panels, tiles;  /* tiles of one row */
    int64_t extent, blocks; /* of the group, of the sum */
    bool one_stream;        /* the blocks of a row lie one behind the other, else each in a place of its own */
    bool apart;             /* sums of neighbouring rows do not lie side by side */
};
struct blocking { /* groups of rows, blocks of the sum at a time, and whether chunks go round all panels */
    int64_t groups, chunk;
    bool outside;
};
int64_t rows_of_group(const struct contraction_sizes *s, int64_t groups);
double cost_of_blocking(const struct machine *m, const struct contraction_sizes *s, struct blocking b);
#endif
