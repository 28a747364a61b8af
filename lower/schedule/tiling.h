/* What contraction.c, which decides on lanes, tile and order, and blocks.c share. */
#ifndef NN_LOWER_SCHEDULE_TILING_H
#define NN_LOWER_SCHEDULE_TILING_H
#include "lower/schedule/cpu.h"

static inline const struct var *axis_var(const struct tiling *g, int axis) { return g->q->sum->u.stage.axes[axis]; }
static inline int naxes_of(const struct tiling *g) { return g->q->sum->u.stage.naxes; }
static inline int nsums_of(const struct tiling *g) { return g->q->sum->u.stage.nred; }
void choose_blocks(struct plan *u, struct tiling *g);              /* together, chunk, outside, prefetch, often */
double contraction_cycles(struct plan *u, const struct tiling *g); /* 0: a size is open, or there are no vectors */
#endif
