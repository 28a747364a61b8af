/* How a contraction is tiled: contraction.c decides on lanes, tile and order and writes the text, blocks.c on what
 * stays in which cache. */
#ifndef NN_LOWER_SCHEDULE_TILING_H
#define NN_LOWER_SCHEDULE_TILING_H
#include "lower/schedule/cpu.h"

struct tiling {
    const struct problem *q;
    expr vec, scalar;       /* the operand whose cells lie along the lanes, and the one that is broadcast */
    int lane, row, group;   /* axes: along the lanes; along the rows of a tile; of rows that share a panel. -1: none */
    bool packed, scattered; /* vec is a constant, in panels; the result does not lie along the lanes */
    bool blocked;           /* the result's channels are */
    bool padded, rest;      /* the last block of the result's channels, of the sum's: not full */
    int64_t N, rows;        /* extents of lane and row; -1: symbolic */
    int lanes;              /* of a vector: the target's, or fewer for narrow groups of channels */
    int64_t per;            /* lanes that read one cell of scalar: channels of a group; 0: all of them */
    int mr, nr, nv;         /* a tile: rows, vectors, and cells in its vectors */
    int kred, kblock;       /* the reduced axis that is split, and in blocks of how many; -1: none */
    int order[MAX_AXES];    /* all reduced axes but kred, from outside to inside */
    int norder;
    int64_t together, chunk; /* rows of the group that share a panel, 0: all; blocks of kred at a time, 0: all */
    bool outside;            /* chunks go round all panels, else round the rows of one panel */
    int64_t lone;            /* rows of open number: panels of the tile for a single one; 0: it is as any other */
    bool prefetch, often;    /* of the next panel; often: in every block of the sum, else once a tile */
};
static inline const struct var *axis_var(const struct tiling *g, int axis) { return g->q->sum->u.stage.axes[axis]; }
static inline int naxes_of(const struct tiling *g) { return g->q->sum->u.stage.naxes; }
static inline int nsums_of(const struct tiling *g) { return g->q->sum->u.stage.nred; }
void choose_blocks(struct plan *u, struct tiling *g); /* together, chunk, outside, prefetch, often */
#endif
