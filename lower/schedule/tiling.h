/* What the files of contractions share: contraction.c decides on axes, tilings.c lists tiles, blocks.c says what stays
 * in which cache, contraction_steps.c makes the steps. */
#ifndef NN_LOWER_SCHEDULE_TILING_H
#define NN_LOWER_SCHEDULE_TILING_H
#include "lower/schedule/cpu.h"

static inline const struct var *axis_var(const struct tiling *g, int axis) { return g->q->sum->u.stage.axes[axis]; }
static inline int naxes_of(const struct tiling *g) { return g->q->sum->u.stage.naxes; }
static inline int nsums_of(const struct tiling *g) { return g->q->sum->u.stage.nred; }
/* What open lanes count as where a tile is chosen, and open rows of which nobody said how many to optimise for. */
enum { OPEN_EXTENT = 1 << 20 };
static inline int bytes_of_vector(const struct tiling *g) { /* that one step reads */
    return g->lanes * g->micro->k0 * dtype_bytes(g->vec->u.buf->type);
}
/* Of all panels: of what is multiplied along the lanes. */
static inline double bytes_of_panels(struct plan *u, const struct tiling *g) {
    const struct buf *b = g->vec->u.buf;
    return typical_size(u->c, b->dims, b->nd, OPEN_SIZE) * dtype_bytes(b->type);
}
/* How a long sum is cut: chunks of it go round the rows of a panel, or round all panels (outside). */
enum chunks { CHUNKS_ANY, CHUNKS_NONE, CHUNKS_INSIDE, CHUNKS_OUTSIDE };
/* Ways of the lanes, of which a result in blocks has all three (within groups of channels, panels of a group across
 * blocks, vectors of several groups), a plain one the first two (along its last axis, or another). */
enum lane_way { LANES_FIRST, LANES_OTHER, LANES_MIXED, LANE_WAYS };
/* Axes: of lanes, rows and the sum; or why there are none. */
const char *choose_axes(struct plan *u, struct tiling *g, enum lane_way way);
/* Channels of a group that its vectors do not fill are computed in equal panels of more than one: so many of nr
 * vectors; 0: it has no such parts. */
int64_t equal_panels(int64_t per, int lanes, int nr);
/* All lanes are computed, behind the last cell too, where the panel holds zeros: by instructions, which do no less, and
 * where rows share the panel and what is left would be several vectors, or a lane or two. */
static inline bool fills_lanes(const struct tiling *g) {
    if (g->lanes < 2 || g->N < 1) return false;
    int64_t left = g->N % g->lanes;
    return g->micro->instr || (g->packed && !g->per && g->mr > 1 && left && (left < 4 || left & (left - 1)));
}
/* Has a tile vectors that are not full? */
static inline bool lanes_are_cut(const struct tiling *g) {
    return g->nv % g->lanes || g->N < 0 || (g->N % g->lanes && !g->early);
}
/* The row and the reduced axis v move along one index of the broadcast operand: a window. */
bool slides_along_rows(struct plan *u, const struct tiling *g, const struct var *v);
/* Tables say which cells of the broadcast operand the steps of the sum read: those of a block, or of a chunk, may lie
 * anywhere. */
bool looks_up(struct plan *u, const struct tiling *g);
/* The best of this way: together, chunk, outside, prefetch, often. false: there is none. */
bool choose_blocks(struct plan *u, struct tiling *g, enum chunks way);
/* All panels stay in the first level, and the result is written row by row. */
bool goes_by_rows(struct plan *u, const struct tiling *g);
/* Rows of a tile whose lines meet more others in a set of the first level than it has ways: a line is gone before the
 * next step of the sum reads on in it. That is so where rows are powers of two apart. */
int rows_that_collide(struct plan *u, const struct tiling *g);
void contraction_cycles(struct plan *u, struct tiling *g); /* step, cycles; 0: there are no vectors */
const char *contraction_steps(struct plan *u, const struct point *p);
#endif
