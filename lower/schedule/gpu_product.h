/* What the two ways to compute the tiles of a product on a GPU share (gpu_tiles.c): by threads (gpu_product.c) and by
 * warps (gpu_warp.c). */
#ifndef NN_LOWER_SCHEDULE_GPU_PRODUCT_H
#define NN_LOWER_SCHEDULE_GPU_PRODUCT_H
#include "lower/schedule/cpu.h"

/* The last axis that only the factor a depends on, and the last that only b depends on; -1: none. */
int gpu_m_axis(const struct problem *q);
int gpu_n_axis(const struct problem *q);
/* Name of the sum's buffer: a reduction that is the result itself gets an accumulator. */
const char *gpu_sum(struct plan *u, const struct problem *q);
/* The sum's loops other than those of M and N. */
void gpu_other_axes(struct plan *u, const struct problem *q, const char *sum, int m, struct word_list *to);
/* Fuses the loops over the nd dims of a copy, and returns the fused one. */
const char *gpu_fused_dims(struct plan *u, const char *name, int nd);
/* Each block computes a tile of the result: its rows are the loop y.m1, its columns y.n1. The caller splits these .. */
void gpu_tile_rows(struct plan *u);
void gpu_tile_columns(struct plan *u);
/* .. into the loops `inside`; then the loops over blocks go outside. false: the grid cannot be that large. */
struct gpu_blocks {
    const char *outer; /* the loop over axes other than M and N; NULL: there are none */
    bool m_on_x;
};
bool gpu_blocks_of(struct plan *u, struct word_list inside, struct gpu_blocks *b);
void gpu_block_kinds(struct plan *u, const struct gpu_blocks *b);

/* NULL if warps can compute the product by that micro-kernel; else the reason. */
const char *gpu_no_warps(const struct plan *u, const struct micro *micro);
bool gpu_warp_steps(struct plan *u, const struct micro *micro);
#endif
