/* What the files of contractions share: contraction.c decides on lanes, tile and order, blocks.c on what stays in which
 * cache, contraction_steps.c writes the steps. */
#ifndef NN_LOWER_SCHEDULE_TILING_H
#define NN_LOWER_SCHEDULE_TILING_H
#include "lower/schedule/cpu.h"

static inline const struct var *axis_var(const struct tiling *g, int axis) { return g->q->sum->u.stage.axes[axis]; }
static inline int naxes_of(const struct tiling *g) { return g->q->sum->u.stage.naxes; }
static inline int nsums_of(const struct tiling *g) { return g->q->sum->u.stage.nred; }
void choose_blocks(struct plan *u, struct tiling *g);              /* together, chunk, outside, prefetch, often */
double contraction_cycles(struct plan *u, const struct tiling *g); /* 0: a size is open, or there are no vectors */
const char *contraction_steps(struct plan *u, const struct point *p);
#endif
