/* Winograd's convolutions, for the rows and their tests. */
#ifndef NN_LOWER_ALGORITHM_WINOGRAD_H
#define NN_LOWER_ALGORITHM_WINOGRAD_H
#include "lower/algorithm/convolution.h"

enum { WINOGRAD_TAPS = 7, WINOGRAD_CELLS = 8 }; /* at most */
enum { WINOGRAD_PAIRS = 16 };                   /* of channels, side by side, so that compilers vectorise */
struct winograd {                               /* A' (tile x cells), B' (cells x cells), G (cells x taps) */
    int tile, taps, cells;
    double unit; /* for integers: factor by which the results are too large, for each axis */
    double a[WINOGRAD_CELLS][WINOGRAD_CELLS], b[WINOGRAD_CELLS][WINOGRAD_CELLS], g[WINOGRAD_CELLS][WINOGRAD_TAPS];
};
void winograd_matrices(int tile, int taps, struct winograd *w);
void winograd_matrices_of(const struct algorithm *row, struct winograd *w); /* of whole numbers, if the row is */
/* By how much the matrix, rows of `stride`, makes values greater at most. */
double winograd_growth(const double *matrix, int stride, int rows, int columns);
/* G w (of two axes: G w G') for the taps w of some pairs of channels. */
void winograd_transform_taps(const struct winograd *m, int dims, double (*w)[WINOGRAD_PAIRS],
                             double (*to)[WINOGRAD_PAIRS]);
/* ---- the choice (winograd_choice.c) */
struct winograd_channels {
    int64_t tiles, products;          /* in whole vectors: what is more is zero */
    int64_t summed, each;             /* of the operand and of the result, in a group */
    bool copies_operand, copies_sums; /* because they do not lie in blocks */
};
struct winograd_channels winograd_channels_of(const struct algorithm_query *q, const struct algorithm *row,
                                              const struct convolution *v);
struct winograd_bands {
    struct algorithm_cut cuts[PLACES];
    int n;        /* 0: the result is computed as a whole */
    double count; /* of bands */
};
struct winograd_bands winograd_bands_of(const struct algorithm_query *q, const struct algorithm *row);
const char *winograd_refuses(const struct algorithm_query *q, const struct algorithm *row);
double winograd_cycles(const struct algorithm_query *q, const struct algorithm *row);
/* ---- the stages (winograd.c) */
void winograd_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out);
/* Of the errors (winograd_matrices.c). */
double winograd_bound(const struct algorithm *row, int64_t depth);
#endif
