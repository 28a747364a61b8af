/* The matrices of Winograd's convolutions, and what follows from them alone: transformed taps, and the bound of errors.
 * See winograd.h. */
#include "lower/algorithm/winograd.h"
#include <math.h>

/* pairs of p and -p share sums and differences */
static const double points[] = {0, 1, -1, 2, -2, 0.5, -0.5};
void winograd_matrices(int tile, int taps, struct winograd *w) {
    int a = tile + taps - 1;
    *w = (struct winograd){.cells = a, .tile = tile, .taps = taps};
    for (int j = 0; j < a; j++) { /* the last one is infinity */
        double scale = 1, product[WINOGRAD_CELLS + 1] = {1};
        int degree = 0;
        for (int l = 0; l < a - 1; l++) {
            if (l == j) continue;
            scale *= j < a - 1 ? points[j] - points[l] : 1;
            degree++;
            for (int k = degree; k >= 0; k--) product[k] = (k ? product[k - 1] : 0) - points[l] * product[k];
        }
        for (int k = 0; k < a; k++) w->b[j][k] = product[k];
        for (int k = 0; k < taps; k++) w->g[j][k] = j < a - 1 ? pow(points[j], k) / scale : k == taps - 1;
        for (int k = 0; k < tile; k++) w->a[k][j] = j < a - 1 ? pow(points[j], k) : k == tile - 1;
    }
}
static double row_sum(const double *row, int n) {
    double sum = 0;
    for (int k = 0; k < n; k++) sum += fabs(row[k]);
    return sum;
}
double winograd_growth(const double *matrix, int stride, int rows, int columns) {
    double most = 0;
    for (int k = 0; k < rows; k++) most = fmax(most, row_sum(matrix + k * stride, columns));
    return most;
}
/* With integer points B is an integer matrix. Makes the others so: each row of G is multiplied by its denominator, the
 * columns of A are divided by it, and multiplied by unit. */
static void make_whole(struct winograd *w) {
    double by[WINOGRAD_CELLS];
    w->unit = 1;
    for (int j = 0; j < w->cells; j++) {
        by[j] = j < w->cells - 1 ? rint(1 / w->g[j][0]) : 1;
        double unit = w->unit;
        while (fmod(w->unit, by[j]) != 0) w->unit += unit;
    }
    for (int j = 0; j < w->cells; j++) {
        for (int k = 0; k < w->taps; k++) w->g[j][k] = rint(w->g[j][k] * by[j]);
        for (int k = 0; k < w->tile; k++) w->a[k][j] *= w->unit / by[j];
    }
}
void winograd_matrices_of(const struct algorithm *row, struct winograd *w) {
    winograd_matrices(row->tile, row->taps, w);
    if (row->whole) make_whole(w);
}
/* to += f * from */
static void add_scaled(double *to, double f, const double *from) {
    for (int p = 0; p < WINOGRAD_PAIRS; p++) to[p] += f * from[p];
}
void winograd_transform_taps(const struct winograd *m, int dims, double (*w)[WINOGRAD_PAIRS],
                             double (*to)[WINOGRAD_PAIRS]) {
    double rows[WINOGRAD_CELLS][WINOGRAD_TAPS][WINOGRAD_PAIRS] = {{{0}}};
    int across = dims == 2 ? m->taps : 1, cells = dims == 2 ? m->cells : 1;
    for (int i = 0; i < m->cells; i++)
        for (int r = 0; r < m->taps; r++)
            for (int s = 0; s < across; s++) add_scaled(rows[i][s], m->g[i][r], w[r * across + s]);
    for (int i = 0; i < m->cells; i++)
        for (int j = 0; j < cells; j++) {
            double *cell = to[i * cells + j];
            for (int p = 0; p < WINOGRAD_PAIRS; p++) cell[p] = 0;
            for (int s = 0; s < across; s++) add_scaled(cell, dims == 2 ? m->g[j][s] : 1, rows[i][s]);
        }
}
/* Each result is rounded this many times, at values that are that much larger than the definition's products. */
double winograd_bound(const struct algorithm *row, int64_t depth) {
    struct winograd w;
    double most = 0;
    winograd_matrices(row->tile, row->taps, &w);
    for (int y = 0; y < w.tile; y++) {
        double sum = 0;
        for (int i = 0; i < w.cells; i++) sum += fabs(w.a[y][i]) * row_sum(w.b[i], w.cells) * row_sum(w.g[i], w.taps);
        most = fmax(most, sum);
    }
    return row->dims == 2 ? most * most * ((double)depth + 4 * w.cells + 4) : most * ((double)depth + 2 * w.cells + 4);
}
