/* Contractions: which rows, and how much of the sum, are done at a time, so that panels of weights stay in the first
 * level of cache and the rows that they meet in the second. See docs/schedules.md. */
#include "lower/schedule/cost.h"
#include "lower/schedule/tiling.h"

/* The next number of groups that differ in rows; 0: there is none. About 2 sqrt(extent) of them. */
static int64_t more_groups(const struct contraction_sizes *s, int64_t groups) {
    int64_t rows = rows_of_group(s, groups);
    return rows > 1 ? (s->extent + rows - 2) / (rows - 1) : 0;
}
static struct blocking best_blocking(const struct machine *m, const struct contraction_sizes *s, bool chunks) {
    struct blocking best = {1, s->blocks, false};
    double least = cost_of_blocking(m, s, best);
    for (int64_t parts = 1; parts <= (chunks ? s->blocks : 1); parts = next_divisor(s->blocks, parts))
        for (int64_t groups = 1; groups; groups = more_groups(s, groups))
            for (int outside = 0; outside <= (parts > 1); outside++) {
                struct blocking b = {groups, s->blocks / parts, outside};
                double now = cost_of_blocking(m, s, b);
                if (now < least * 0.995) least = now, best = b;
            }
    return best;
}
/* Bytes of x that one turn of the other axes reads; -1: symbolic. */
static double bytes_read(struct plan *u, const struct tiling *g) {
    double n = (double)dtype_bytes(g->scalar->u.buf->type);
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
/* A long sum is done in chunks; partial sums wait in the result, if they are of its type and the lanes lie side by side
 * there, unless that takes the storage of another operand that the epilogue reads (a residual): there the memory is
 * worth more. */
static bool partial_sums_fit(struct plan *u, const struct tiling *g) {
    if (g->scattered || g->q->out->u.stage.buf->type != g->q->sum->u.stage.buf->type) return false;
    for (int k = 0; k < u->p->params.n; k++) {
        const struct param *q = &u->p->params.v[k];
        const struct buf *b = q->buf, *y = g->q->out->u.stage.buf;
        if (q->dir != DIR_IN || b->data || b == g->vec->u.buf || b == g->scalar->u.buf || b->nlogical != y->nlogical)
            continue;
        bool same = true;
        for (int d = 0; d < b->nlogical; d++) same &= b->logical[d] == y->logical[d];
        if (same) return false;
    }
    return true;
}
/* false: one of them is open, or nothing is chosen by them. */
static bool find_sizes(struct plan *u, const struct tiling *g, struct contraction_sizes *s, double *steps) {
    int64_t k;
    *steps = 1.0 / g->micro->k0;
    for (int i = 0; i < nsums_of(g); i++) {
        if ((k = const_extent(g->q->sum->u.stage.red[i])) < 1) return false;
        *steps *= (double)k;
    }
    if (g->vector == 1 || !g->packed || g->row < 0 || g->rows < 1 || g->N < 1) return false;
    *s = (struct contraction_sizes){.x = bytes_read(u, g)};
    s->extent = g->group >= 0 ? const_extent(axis_var(g, g->group)) : 1;
    if (s->x < 0 || s->extent < 1) return false;
    s->blocks = g->kred >= 0 ? (const_extent(g->q->sum->u.stage.red[g->kred]) + g->kblock - 1) / g->kblock : 1;
    s->panels = (g->N + g->nv - 1) / g->nv, s->tiles = (g->rows + g->mr - 1) / g->mr;
    double cells = (double)(g->N * g->rows * s->extent);
    s->panel = *steps * g->micro->k0 * g->nv * (double)dtype_bytes(g->vec->u.buf->type);
    s->w = s->panel * (double)s->panels, s->y = cells * (double)dtype_bytes(g->q->sum->u.stage.buf->type);
    s->products = cells * *steps / g->vector / g->op.starts;
    return true;
}
void choose_blocks(struct plan *u, struct tiling *g) {
    struct contraction_sizes s;
    double steps;
    g->together = g->chunk = 0, g->outside = g->prefetch = false;
    if (!find_sizes(u, g, &s, &steps)) return;
    struct blocking b = best_blocking(u->m, &s, g->rows > 1 && !g->rest && partial_sums_fit(u, g));
    if (b.groups > 1) g->together = rows_of_group(&s, b.groups);
    if (b.chunk < s.blocks) g->chunk = b.chunk, g->outside = b.outside;
    double lines = s.panel / u->m->line * (double)b.chunk / (double)s.blocks;
    double tiles = (double)(s.tiles * (g->together ? g->together : s.extent));
    g->prefetch = s.w > (double)u->m->l1.bytes && g->kred >= 0;
    g->often = 2 * lines >= tiles * (double)b.chunk;
}
/* Of the tiles' steps, with what the memory takes beside the multiply-adds, for every turn of the other axes. */
double contraction_cycles(struct plan *u, const struct tiling *g) {
    struct contraction_sizes s;
    double steps, turns = 1;
    if (!find_sizes(u, g, &s, &steps)) return 0;
    for (int k = 0; k < naxes_of(g); k++) {
        int64_t n = k == g->lane || k == g->row || k == g->group ? 1 : const_extent(axis_var(g, k));
        if (n < 0) return 0;
        turns *= (double)n;
    }
    struct blocking b = {1, g->chunk ? g->chunk : s.blocks, g->outside};
    if (g->together) b.groups = (s.extent + g->together - 1) / g->together;
    int64_t vectors = (g->N + g->lanes - 1) / g->lanes;
    double tiles =
        steps * (double)s.extent * cost_of_step(u->m, &g->op, g->vec->u.buf->type, g->rows, vectors, g->mr, g->nr);
    double pieces = g->scattered ? (double)(g->N * g->rows * s.extent) / g->piece : 0; /* each is stored by itself */
    return turns * (cost_of_blocking(u->m, &s, b) - s.products + tiles + pieces);
}
