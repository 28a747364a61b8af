/* Images read at places that are looked up (GridSample, DeformConv, boxes): what is read where, and its weights, depend
 * on no channel, so tables of them are made once for all (lower/ops/vision.c). */
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
    T cell[GRID_MAX], weight[GRID_MAX]; /* [tap, ...] along each axis; -1: there is no such cell, what is read is 0 */
    X at[GRID_MAX];                     /* where a sample's taps stand in these */
};
E grid_size(const struct grid *g, int k);
E grid_channels(const struct grid *g);
/* Image or box n, channel c, cells: in the order of the layout. */
X grid_list(const struct grid *g, E n, E c, X cells);
/* Cells as indices of x; those below 0 are read somewhere, and not to be used. */
X grid_index(const struct grid *g, const E *cell);
E all_inside(const struct grid *g, const E *cell);
int taps_of(const struct grid *g);
/* The taps around the places along axis k: of each i, whose first axis is the tap. inside: where there are any; NULL:
 * each tells by itself. */
void tap_tables(struct grid *g, int k, X i, E place, E inside);
/* Of channel c of image n; the tables are there. */
E taps(const struct grid *g, E n, E c);

/* With channels last, their cells lie side by side wherever a sample is taken, and all of them are read at one place.
 * That pays where as many are read as there are, by so many channels that they fill vectors. read: factors of how many.
 */
bool channels_last_pay(V x, const E *read, int n);
/* The private operator of the same name over plain images, or over those with channels last. */
void expand_layouts(const char *name, bool last);
#endif
