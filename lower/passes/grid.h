/* Grids: nests of block and thread loops that a GPU can run as one kernel. For the passes grids, private and barriers.
 */
#ifndef NN_LOWER_PASSES_GRID_H
#define NN_LOWER_PASSES_GRID_H
#include "ir/loop/loop.h"
#include "lower/machine/machine.h"

/* A register buffer that lives across thread loops, and the axes (bits) along which threads may differ in it. */
struct across {
    struct buf *buf;
    unsigned axes;
};
/* A nest as a grid. */
struct grid {
    struct ctx *c;
    const struct gpu *limits;
    expr blocks[3];     /* NULL: 1 */
    int64_t threads[3]; /* of the widest thread loop */
    int64_t shared;     /* bytes */
    int open[3];        /* thread loops around the current statement */
    int64_t warp;       /* threads of a warp that run an instruction together; 0: there is none */
    VEC(struct across) across;
    bool ok;
};

bool is_thread_loop(const struct stmt *s);
/* Can the nest at s be a grid, within the limits of a GPU? limits NULL: that was established before. *body: what a
 * block does, inside of the loops over blocks. */
bool grid_of(struct ctx *c, const struct gpu *limits, struct stmt *s, struct grid *g, struct block **body);
/* For a register buffer that lives across thread loops: each axis along which threads differ must index one of its
 * dims, in all accesses. *dims: bit d is set if threads differ along dim d. */
bool dims_apart(const struct grid *g, struct block *nest, const struct across *a, unsigned *dims);
#endif
