/* Images read at computed positions (GridSample, DeformConv, boxes). Positions and weights do not depend on the
 * channel, so they are computed once, as tables (lower/ops/vision.c). */
#ifndef NN_LOWER_OPS_GRID_H
#define NN_LOWER_OPS_GRID_H
#include "lower/ops/ops.h"

enum { GRID_MAX = 3 };
struct grid {
    T x;
    int n;
    bool last;                                /* channels are the last axis of x and of the result, not the second */
    bool cubic, border, reflect, align, most; /* most: the greatest weighted tap instead of their sum */
    enum dtype t;
    E length[GRID_MAX], low[GRID_MAX], high[GRID_MAX]; /* of t; borders of reflection */
    T cell[GRID_MAX], weight[GRID_MAX]; /* [tap, ...] along each axis; -1: there is no such cell, and it reads as 0 */
    X at[GRID_MAX];                     /* index of a sample's taps in these */
};
E grid_size(const struct grid *g, int k);
E grid_channels(const struct grid *g);
/* Image or box n, channel c, cells: in the order of the layout. */
X grid_list(const struct grid *g, E n, E c, X cells);
/* Indices of x; those below 0 read some cell whose value must not be used. */
X grid_index(const struct grid *g, const E *cell);
E all_inside(const struct grid *g, const E *cell);
int taps_of(const struct grid *g);
/* The taps around the positions along axis k, for each i, whose first axis is the tap. inside: whether there are any;
 * NULL: each tap decides. */
void tap_tables(struct grid *g, int k, X i, E place, E inside);
/* The value for channel c of image n; the tables must exist. */
E taps(const struct grid *g, E n, E c);

/* With channels last, a sample reads all channels of a cell, which are contiguous. That pays if as many cells are read
 * as there are, and there are enough channels to fill vectors. read: factors of the number of cells read. */
bool channels_last_pay(V x, const E *read, int n);
/* The private operator of the same name, over images in the usual layout or with channels last. */
void expand_layouts(const char *name, bool last);
#endif
