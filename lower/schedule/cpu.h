/* Shared by the strategies for CPUs: the steps that every kind of kernel needs. One file a kind:
 * contraction.c, window.c, map.c, nests.c, rows.c, pieces.c, pointwise.c, across.c. What they choose:
 * docs/schedules.md. */
#ifndef NN_LOWER_SCHEDULE_CPU_H
#define NN_LOWER_SCHEDULE_CPU_H
#include "lower/schedule/point.h"

extern const struct strategy strategy_dots, strategy_contraction, strategy_window, strategy_panels,
    strategy_blocked_map, strategy_nests, strategy_rows, strategy_pieces, strategy_pointwise, strategy_transform,
    strategy_plain, strategy_block_sums, strategy_gpu_product, strategy_gpu_few, strategy_gpu_cells, strategy_gpu_nests;

/* NULL if the kernel is one sum of products of operands as they lie in memory, followed by maps; else the reason. */
const char *no_plain_product(const struct problem *k);
/* The same, but the constant factor may be computed cell by cell from several constants. */
const char *no_contraction(const struct problem *k);
void plan_inline_maps(struct plan *u); /* inlines maps before the result, except tables */
void plan_inline_others(struct plan *u, bool (*stays)(struct plan *u, const struct stmt *s)); /* except those, too */
/* Splits a loop of the given extent into balanced tiles of at most `most` units. */
void plan_tiles(struct plan *u, const char *loop, const char *outer, const char *inner, int64_t extent, int64_t unit,
                int64_t most);
/* In the copy for a single row, whose few products would wait for each other: tiles of several panels of nv cells. The
 * loops are those of the result; group NULL: there is none. */
void plan_lone_row(struct plan *u, const char *lane, const char *group, const char *row, int64_t cells, int64_t nv,
                   int64_t panels);
/* Gives out's nest its channel block innermost, in tiles of pixels for the sum in acc, if there is one (window.c). */
void blocked_nest(struct plan *u, const struct stmt *out, int lanes, const struct stmt *sum, const char *acc);
bool lanes_fit(const struct stmt *s); /* s has a constant number of channels */
/* Puts dim `dim` of n into blocks, their cells innermost. */
void plan_blocks(struct plan *u, const char *buf, int n, int dim, int64_t block);
/* Adds the dims for what micro takes at a time, of all nv lanes of a panel: k0 cells of dim k for each cell of dim n.
 */
void plan_group(struct plan *u, struct layout_dims *dims, const struct micro *micro, int lanes, int nv, int n, int k);
/* Puts into blocks of lanes whatever constants e reads along `lane`, but those laid out already, which it adds to. */
typedef VEC(const struct buf *) laid_bufs;
void plan_lanes(struct plan *u, expr e, const struct var *lane, int lanes, laid_bufs *laid);
/* Puts dim `dim` of n after all others, so that its cells are contiguous. */
void plan_innermost(struct plan *u, const char *buf, int n, int dim);
/* The sum has a known number of terms, small enough to unroll all of them. */
bool few_terms(const struct stmt *sum);
/* For a blocked result: constants with a cell for each channel are blocked as well, except `besides`, which has its own
 * layout. */
void plan_channels(struct plan *u, const struct stmt *out, const struct buf *besides);
/* Where channels do not fill their last block, widens the loops of acc (may be NULL) and out to all of it. */
void plan_widen(struct plan *u, const char *acc, const struct stmt *out);
const char *no_blocks(struct plan *u, const struct buf *b); /* NULL, or why the result's channels are not in blocks of
                                                             * one vector */
/* Fuses these nested loops into one, which is returned; intermediate loops are base.cell1, base.cell2 .. */
const char *plan_fused(struct plan *u, struct word_list loops, const char *base);
static inline bool same_axes(const struct stmt *a, const struct stmt *b) {
    if (a->u.stage.naxes != b->u.stage.naxes) return false;
    for (int k = 0; k < a->u.stage.naxes; k++)
        if (a->u.stage.axes[k]->extent != b->u.stage.axes[k]->extent) return false;
    return true;
}
/* How to split a loop of that extent into parts of n: exactly, or with a remainder. -1: the extent is open. */
static inline enum step_tail split_tail(int64_t extent, int64_t n) {
    return extent < 0 ? TAIL_CUT2 : extent % n ? TAIL_CUT : TAIL_NONE;
}
/* The same, but a remainder after full parts becomes one more full part that begins early, and so repeats some
 * iterations. */
static inline enum step_tail early_tail(int64_t extent, int64_t n) {
    return extent > n && extent % n ? TAIL_OVERLAP : split_tail(extent, n);
}
/* Cells of the axes from `first` to the last one; -1: one is open. */
int64_t cells_from(const struct stmt *out, int first);
/* Bytes from one cell of b to the next along v; 0: not constant, or b has a layout. */
int64_t bytes_apart(struct plan *u, const struct buf *b, const expr *idx, const struct var *v);
/* For a single result whose operand is read across: squares transposed in registers, or a few cells at a time
 * (across.c). Returns NULL, or why it does not fit. */
const char *plan_across(struct plan *u, bool squares);
bool is_across(struct plan *u);            /* cells of the result's last axis lie far apart in the operand */
bool is_across_in_lanes(struct plan *u);   /* a few at a time are a vector, because they lie only a little apart */
int64_t stage_cells(const struct stmt *s); /* INT64_MAX: open, or too many */
/* For GPUs: these nested loops, with `cells` iterations in all, become the loops base.block and base.thread .. */
void plan_threads(struct plan *u, struct word_list loops, double cells, const char *base);
void plan_grid(struct plan *u, const char *base); /* .. which run in parallel */
/* For kernels of loops: gives all loops of every nest names of their own. */
void name_nests(struct ctx *c, struct proc *p);
const struct var *nest_var(const struct problem_loop *l, int k); /* variable of the k-th loop */
int64_t nest_cells(const struct problem_loop *l, uint64_t of);   /* iterations of the loops in the set `of`; INT64_MAX:
                                                                  * open, or too many */
/* base.name */
const char *loop_in(struct plan *u, const char *base, const char *name);
/* Position of the bare variable v among the indices of e's loads of b; -1: there is none. */
int dim_in(expr e, const struct buf *b, const struct var *v);
#endif
