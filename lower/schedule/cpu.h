/* Shared by the strategies for CPUs: the steps that every kind of kernel needs. One file a kind:
 * contraction.c, window.c, map.c, nests.c, rows.c, pieces.c, pointwise.c, across.c. What they choose:
 * docs/schedules.md. */
#ifndef NN_LOWER_SCHEDULE_CPU_H
#define NN_LOWER_SCHEDULE_CPU_H
#include "lower/schedule/point.h"

extern const struct strategy strategy_dots, strategy_contraction, strategy_window, strategy_panels,
    strategy_blocked_map, strategy_nests, strategy_rows, strategy_pieces, strategy_pointwise, strategy_transform,
    strategy_plain, strategy_gpu_product, strategy_gpu_few, strategy_gpu_cells, strategy_gpu_nests;

/* Why the kernel is not one sum of products, as they lie in memory, with maps after it; NULL: it is. */
const char *no_plain_product(const struct problem *k);
/* The same, but the constant factor may be computed of several, each cell of those at its place. */
const char *no_contraction(const struct problem *k);
void plan_inline_maps(struct plan *u); /* maps before the result go into it, but for tables */
/* The loop, of that extent, is split into tiles of at most `most` units, balanced. */
void plan_tiles(struct plan *u, const char *loop, const char *outer, const char *inner, int64_t extent, int64_t unit,
                int64_t most);
/* out's nest with the channel block innermost, in tiles of pixels for the sum in acc, if any (window.c). */
void blocked_nest(struct plan *u, const struct stmt *out, int lanes, const struct stmt *sum, const char *acc);
bool lanes_fit(const struct stmt *s); /* s has a constant number of channels */
/* Dim `dim` of n in blocks, their cells innermost. */
void plan_blocks(struct plan *u, const char *buf, int n, int dim, int64_t block);
/* Dim `dim` of n behind all others, so that its cells are neighbours. */
void plan_innermost(struct plan *u, const char *buf, int n, int dim);
/* Few enough terms of a sum, in a number that is known, to write all of them out. */
bool few_terms(const struct stmt *sum);
/* For a blocked result: what constants hold for each channel is blocked as well. besides: one that has its layout. */
void plan_channels(struct plan *u, const struct stmt *out, const struct buf *besides);
/* Where channels do not fill their last block, the loop acc (may be NULL) and out's run over all of it. */
void plan_widen(struct plan *u, const char *acc, const struct stmt *out);
const char *no_blocks(struct plan *u, const struct buf *b); /* why the result's channels are not in blocks of vectors */
/* These nested loops become one, which is returned, by way of base.cell1, base.cell2 .. */
const char *plan_fused(struct plan *u, struct word_list loops, const char *base);
static inline bool same_axes(const struct stmt *a, const struct stmt *b) {
    if (a->u.stage.naxes != b->u.stage.naxes) return false;
    for (int k = 0; k < a->u.stage.naxes; k++)
        if (a->u.stage.axes[k]->extent != b->u.stage.axes[k]->extent) return false;
    return true;
}
/* How a loop of that extent is split into n: whole parts, and the rest; -1: it is open. */
static inline enum step_tail split_tail(int64_t extent, int64_t n) {
    return extent < 0 ? TAIL_CUT2 : extent % n ? TAIL_CUT : TAIL_NONE;
}
/* The same, but of several parts that leave a rest the last one begins early, and does some iterations twice. */
static inline enum step_tail early_tail(int64_t extent, int64_t n) {
    return extent > n && extent % n ? TAIL_OVERLAP : split_tail(extent, n);
}
/* One result whose operand is read across: in squares that registers transpose, or a few cells at a time (across.c).
 * Returns why not. */
const char *plan_across(struct plan *u, bool squares);
bool is_across(struct plan *u);            /* cells of the result's last axis lie far apart in the operand */
bool is_across_in_lanes(struct plan *u);   /* a few at a time are vectors, of cells that lie a little apart */
int64_t stage_cells(const struct stmt *s); /* INT64_MAX: open, or too many */
/* For GPUs: these nested loops, of so many turns in all, become the loops base.block and base.thread .. */
void plan_threads(struct plan *u, struct word_list loops, double cells, const char *base);
void plan_grid(struct plan *u, const char *base); /* .. which run at once */
/* Kernels of loops: every nest gets names of its own for all of its loops. */
void name_nests(struct ctx *c, struct proc *p);
const struct var *nest_var(const struct problem_loop *l, int k); /* of its k-th loop */
int64_t nest_cells(const struct problem_loop *l, uint64_t of); /* turns of those loops; INT64_MAX: open, or too many */
/* base.name */
const char *loop_in(struct plan *u, const char *base, const char *name);
/* Position of the bare variable v among the indices of the loads of b in e, -1: there is none. */
int dim_in(expr e, const struct buf *b, const struct var *v);
#endif
