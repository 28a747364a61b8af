/* Shared (gpu_tiles.c) by the two ways to compute the tiles of a product on a GPU: by threads (gpu_product.c), by warps
 * (gpu_warp.c). */
#ifndef NN_LOWER_SCHEDULE_GPU_PRODUCT_H
#define NN_LOWER_SCHEDULE_GPU_PRODUCT_H
#include "lower/schedule/cpu.h"

/* The last axis of the results that are computed with one cell of b, and of those with one cell of a; -1: none. */
int gpu_m_axis(const struct problem *q);
int gpu_n_axis(const struct problem *q);
/* The sum's name: a reduction that is the result itself gets an accumulator of its own. */
const char *gpu_sum(struct plan *u, const struct problem *q);
/* The sum's loops beside those of M and N. */
void gpu_other_axes(struct plan *u, const struct problem *q, const char *sum, int m, struct word_list *to);
/* The loops over the nd dims of a copy become one, which is returned. */
const char *gpu_fused_dims(struct plan *u, const char *name, int nd);
/* A tile of the result is a block's: its rows are the loop y.m1, its columns y.n1, for the caller to split .. */
void gpu_tile_rows(struct plan *u);
void gpu_tile_columns(struct plan *u);
/* .. into the loops `inside`, which blocks then stand outside of. false: the grid does not take so many. */
struct gpu_blocks {
    const char *outer; /* the loop over axes beside M and N; NULL: there are none */
    bool m_on_x;
};
bool gpu_blocks_of(struct plan *u, struct word_list inside, struct gpu_blocks *b);
void gpu_block_kinds(struct plan *u, const struct gpu_blocks *b);

/* Can warps compute the product by that micro-kernel? NULL, or why not. */
const char *gpu_no_warps(const struct plan *u, const struct micro *micro);
bool gpu_warp_steps(struct plan *u, const struct micro *micro);
#endif
