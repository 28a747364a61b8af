/* What the files of contractions share: contraction.c decides on axes, tilings.c lists tiles, blocks.c decides what is
 * kept in which cache, contraction_steps.c makes the steps. */
#ifndef NN_LOWER_SCHEDULE_TILING_H
#define NN_LOWER_SCHEDULE_TILING_H
#include "lower/schedule/cpu.h"

static inline const struct var *axis_var(const struct tiling *g, int axis) { return g->q->sum->u.stage.axes[axis]; }
static inline int naxes_of(const struct tiling *g) { return g->q->sum->u.stage.naxes; }
static inline int nsums_of(const struct tiling *g) { return g->q->sum->u.stage.nred; }
/* The extent assumed for open lanes when choosing a tile, and for open rows without a typical size. */
enum { OPEN_EXTENT = 1 << 20 };
static inline int bytes_of_vector(const struct tiling *g) { /* read in one step */
    return g->lanes * g->micro->k0 * dtype_bytes(g->vec->u.buf->type);
}
/* Bytes of the whole operand along the lanes, all panels together. */
static inline double bytes_of_panels(struct plan *u, const struct tiling *g) {
    const struct buf *b = g->vec->u.buf;
    return typical_size(u->c, b->dims, b->nd, OPEN_SIZE) * dtype_bytes(b->type);
}
/* How a long sum is cut into chunks: the loop over them goes around the rows of one panel, or around all panels
 * (outside). */
enum chunks { CHUNKS_ANY, CHUNKS_NONE, CHUNKS_INSIDE, CHUNKS_OUTSIDE };
/* Ways to choose the axis of the lanes. Blocked results have all three: within groups of channels; panels of a group
 * that cross blocks; vectors of several groups. Plain results have two: along the last axis; along another. */
enum lane_way { LANES_FIRST, LANES_OTHER, LANES_MIXED, LANE_WAYS };
/* Chooses the axes of lanes, rows and the sum. NULL, or why it is impossible. */
const char *choose_axes(struct plan *u, struct tiling *g, enum lane_way way);
/* If vectors do not fill a group of channels: the number of equal panels of nr > 1 vectors that it can be cut into; 0:
 * it cannot. */
int64_t equal_panels(int64_t per, int lanes, int nr);
/* Are the lanes after the last cell computed too, on zeros in the panel? Instructions always compute whole vectors.
 * Otherwise it is done where rows share the panel, and the remainder would take several vectors, or is a lane or
 * two. */
static inline bool fills_lanes(const struct tiling *g) {
    if (g->lanes < 2 || g->N < 1) return false;
    int64_t left = g->N % g->lanes;
    return g->micro->instr || (g->packed && !g->per && g->mr > 1 && left && (left < 4 || left & (left - 1)));
}
/* Has a tile vectors that are not full? */
static inline bool lanes_are_cut(const struct tiling *g) {
    return g->nv % g->lanes || g->N < 0 || (g->N % g->lanes && !g->early);
}
bool slides_along_rows(struct plan *u, const struct tiling *g, const struct var *v);
/* The steps of the sum index the broadcast operand through tables, so cells of a block or chunk may lie anywhere. */
bool looks_up(struct plan *u, const struct tiling *g);
/* Chooses the best blocking of this kind: together, chunk, outside, prefetch, often. false: there is none. */
bool choose_blocks(struct plan *u, struct tiling *g, enum chunks way);
/* All panels stay in the first level of cache, so the result is better written row by row. */
bool goes_by_rows(struct plan *u, const struct tiling *g);
/* The number of rows of a tile whose cache lines collide: more of them map to one set of the first level than it has
 * ways, so a line is evicted before the next step of the sum reads on in it. This happens if rows are powers of two
 * apart. */
int rows_that_collide(struct plan *u, const struct tiling *g);
void contraction_cycles(struct plan *u, struct tiling *g); /* sets step and cycles; 0: there are no vectors */
const char *contraction_steps(struct plan *u, const struct point *p);
#endif
