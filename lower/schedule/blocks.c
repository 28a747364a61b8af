/* Contractions: which rows, and how much of the sum, are done at a time, so that panels of weights stay in the first
 * level of cache and the rows that they meet in the second. See docs/schedules.md. */
#include "lower/schedule/tiling.h"

struct shape {
    double products;        /* cycles of the multiply-adds */
    double x, w, y, panel;  /* bytes: rows, weights, result; a panel of weights */
    int64_t panels, tiles;  /* tiles of one row */
    int64_t extent, blocks; /* of the group, of the sum */
    const struct machine *m;
};
struct choice {
    int64_t groups, chunk;
    bool outside;
};

static int64_t rows_of(const struct shape *s, int64_t groups) { return (s->extent + groups - 1) / groups; }
/* How much of a working set has to come from beyond the second level again: that also holds what passes through. */
static double missing(const struct shape *s, double bytes) {
    double l2 = (double)s->m->l2.bytes;
    double part = (bytes - l2 / 4) / (l2 * 3 / 4 + 1);
    return part < 0 ? 0 : part > 1 ? 1 : part;
}
static double cost(const struct shape *s, struct choice c) {
    double groups = (double)c.groups, chunks = (double)(s->blocks / c.chunk), panels = (double)s->panels;
    double x_set = s->x / groups / (c.outside ? chunks : 1), y_set = s->y / groups / (c.outside ? 1 : panels);
    double l1 = (double)s->m->l1.bytes, l2 = (double)s->m->l2.bytes, near = s->m->l1.byte, far = s->m->l2.byte;
    double passes = s->panel / chunks <= l1 * 7 / 8 ? groups : (double)(s->extent * s->tiles);
    double sum = s->products + panels * s->x * ((c.chunk > s->m->streams ? 2 * near : near) + missing(s, x_set) * far);
    sum += s->w * (passes * near + (s->w <= l2 / 3 ? 1 : groups) * far);
    sum += 2 * (chunks - 1) * s->y * (s->m->partial_sum_byte + missing(s, y_set) * far);
    return s->extent % rows_of(s, c.groups) ? sum * 1.02 : sum; /* groups of two sizes: twice the code */
}
/* The next number of groups that differ in rows; 0: there is none. About 2 sqrt(extent) of them. */
static int64_t more_groups(const struct shape *s, int64_t groups) {
    int64_t rows = rows_of(s, groups);
    return rows > 1 ? (s->extent + rows - 2) / (rows - 1) : 0;
}
static struct choice best_choice(const struct shape *s, bool chunks) {
    struct choice best = {1, s->blocks, false};
    double least = cost(s, best);
    for (int64_t parts = 1; parts <= (chunks ? s->blocks : 1); parts = next_divisor(s->blocks, parts))
        for (int64_t groups = 1; groups; groups = more_groups(s, groups))
            for (int outside = 0; outside <= (parts > 1); outside++) {
                struct choice c = {groups, s->blocks / parts, outside};
                double now = cost(s, c);
                if (now < least * 0.995) least = now, best = c;
            }
    return best;
}
/* Bytes of x that one turn of the other axes reads; -1: symbolic. */
static double bytes_read(struct plan *u, const struct tiling *g) {
    double n = 4;
    for (int k = 0; k < g->scalar->n - g->scalar->has_fill; k++) {
        bool other = true; /* the index moves with other axes alone */
        int64_t dim;
        for (int r = 0; r < nsums_of(g); r++) other &= !x_uses_var(u->c, g->scalar->arg[k], g->q->sum->u.stage.red[r]);
        if (g->row >= 0) other &= !x_uses_var(u->c, g->scalar->arg[k], axis_var(g, g->row));
        if (g->group >= 0) other &= !x_uses_var(u->c, g->scalar->arg[k], axis_var(g, g->group));
        if (other) continue;
        if (!x_is_int(g->scalar->u.buf->dims[k], &dim)) return -1;
        n *= (double)dim;
    }
    return n;
}
static bool epilogue_reads_result_shape(struct plan *u, const struct tiling *g) {
    for (int k = 0; k < u->p->params.n; k++) {
        const struct param *q = &u->p->params.v[k];
        const struct buf *b = q->buf, *y = g->q->out->u.stage.buf;
        if (q->dir != DIR_IN || b->data || b == g->vec->u.buf || b == g->scalar->u.buf || b->nlogical != y->nlogical)
            continue;
        bool same = true;
        for (int d = 0; d < b->nlogical; d++) same &= b->logical[d] == y->logical[d];
        if (same) return true;
    }
    return false;
}
/* A long sum is done in chunks; partial sums wait in the result, unless that takes the storage of another operand that
 * the epilogue reads (a residual): there the memory is worth more. */
void choose_blocks(struct plan *u, struct tiling *g) {
    int64_t K = 1, k;
    g->together = g->chunk = 0, g->outside = g->prefetch = false;
    for (int i = 0; i < nsums_of(g); i++) {
        if ((k = const_extent(g->q->sum->u.stage.red[i])) < 1) return;
        K *= k;
    }
    if (lanes_of(u) == 1 || !g->packed || g->row < 0 || g->rows < 1 || g->N < 1) return;
    struct shape s = {.x = bytes_read(u, g), .m = u->m};
    s.extent = g->group >= 0 ? const_extent(axis_var(g, g->group)) : 1;
    if (s.x < 0 || s.extent < 1) return;
    s.blocks = g->kred >= 0 ? (const_extent(g->q->sum->u.stage.red[g->kred]) + g->kblock - 1) / g->kblock : 1;
    s.panels = (g->N + g->nv - 1) / g->nv, s.tiles = (g->rows + g->mr - 1) / g->mr;
    s.panel = (double)K * g->nv * 4, s.w = s.panel * (double)s.panels;
    s.y = (double)(g->N * g->rows * s.extent) * 4;
    s.products = s.y / 4 * (double)K / lanes_of(u) / machine_multiply_add(u->m, F32)->starts;
    struct choice c = best_choice(&s, g->rows > 1 && !g->rest && !epilogue_reads_result_shape(u, g));
    if (c.groups > 1) g->together = rows_of(&s, c.groups);
    if (c.chunk < s.blocks) g->chunk = c.chunk, g->outside = c.outside;
    double lines = s.panel / u->m->line * (double)c.chunk / (double)s.blocks;
    double tiles = (double)(s.tiles * (g->together ? g->together : s.extent));
    g->prefetch = s.w > (double)u->m->l1.bytes && g->kred >= 0;
    g->often = 2 * lines >= tiles * (double)c.chunk;
}
