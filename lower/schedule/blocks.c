/* Blocking of contractions: how many rows, and how much of the sum, are done at a time, so that panels of weights stay
 * in the first level of cache and the rows that use them in the second. See docs/schedules.md. */
#include "ir/base/checked.h"
#include "lower/schedule/cost.h"
#include "lower/schedule/tiling.h"

/* The next larger number of groups that makes them smaller; 0: there is none. There are about 2 sqrt(extent) such
 * numbers. */
static int64_t more_groups(const struct contraction_sizes *s, int64_t groups) {
    int64_t rows = rows_of_group(s, groups);
    return rows > 1 ? (s->extent + rows - 2) / (rows - 1) : 0;
}
static bool goes(enum chunks way, bool chunks, bool outside) {
    if (way == CHUNKS_ANY) return true;
    return chunks ? way == (outside ? CHUNKS_OUTSIDE : CHUNKS_INSIDE) : way == CHUNKS_NONE;
}
/* false: the sum cannot be cut into chunks in this way. */
static bool best_blocking(const struct machine *m, const struct contraction_sizes *s, enum chunks way, bool in_groups,
                          struct blocking *best) {
    double least = 0;
    *best = (struct blocking){1, s->blocks, false};
    for (int64_t parts = 1; parts <= (way == CHUNKS_NONE ? 1 : s->blocks); parts = next_divisor(s->blocks, parts))
        for (int64_t groups = 1; groups; groups = in_groups ? more_groups(s, groups) : 0)
            for (int outside = 0; outside <= (parts > 1); outside++) {
                struct blocking b = {groups, s->blocks / parts, outside};
                if (!goes(way, parts > 1, outside)) continue;
                double now = cost_of_blocking(m, s, b);
                if (least == 0 || now < least * 0.995) least = now, *best = b;
            }
    return least > 0;
}
/* Bytes of the broadcast operand that one turn of the other axes reads; -1: symbolic. */
static double bytes_read(struct plan *u, const struct tiling *g) {
    double n = (double)dtype_bytes(g->scalar->u.buf->type);
    for (int k = 0; k < g->scalar->n - g->scalar->has_fill; k++) {
        bool other = true; /* the index depends on other axes only */
        int64_t dim = x_reference(u->c, g->scalar->u.buf->dims[k]);
        for (int r = 0; r < nsums_of(g); r++) other &= !x_uses_var(u->c, g->scalar->arg[k], g->q->sum->u.stage.red[r]);
        if (g->row >= 0) other &= !x_uses_var(u->c, g->scalar->arg[k], axis_var(g, g->row));
        if (g->group >= 0) other &= !x_uses_var(u->c, g->scalar->arg[k], axis_var(g, g->group));
        if (other) continue;
        if (dim < 0) return -1;
        if (k == 1 && g->mixed) dim = g->nv / g->mixed; /* a panel reads its own channels */
        n *= (double)dim;
    }
    return n;
}
/* A long sum is done in chunks. Partial sums wait in the result, if it has their type and the lanes lie side by side
 * there. Not if the result could take over the storage of another operand that the epilogue reads (a residual): saving
 * that memory is worth more. */
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
/* Distance in cells between elements of the broadcast operand that are neighbours along v; false: it is not
 * constant. */
static bool cells_apart(struct plan *u, const struct tiling *g, const struct var *v, int64_t *apart) {
    expr rest;
    return x_linear_in(u->c, buf_offset(u->c, g->scalar->u.buf, g->scalar->arg), v, apart, &rest);
}
/* Are cells along the reduced axis contiguous from block to block? Blocked channels are not: each block lies a whole
 * picture after the one before. */
static bool blocks_follow_each_other(struct plan *u, const struct tiling *g) {
    int64_t apart;
    return g->kred >= 0 && cells_apart(u, g, g->q->sum->u.stage.red[g->kred], &apart) && apart == 1;
}
/* steps: of the sum. false: a size is symbolic, or nothing depends on the sizes here. */
static bool find_sizes(struct plan *u, const struct tiling *g, double steps, struct contraction_sizes *s) {
    for (int i = 0; i < nsums_of(g); i++)
        if (const_extent(g->q->sum->u.stage.red[i]) < 1) return false;
    int64_t rows = g->row >= 0 ? x_reference(u->c, axis_var(g, g->row)->extent) : -1;
    if (g->vector == 1 || !g->packed || rows < 1 || g->N < 1) return false;
    *s = (struct contraction_sizes){.x = bytes_read(u, g)};
    s->extent = g->group >= 0 ? x_reference(u->c, axis_var(g, g->group)->extent) : 1;
    if (s->x < 0 || s->extent < 1) return false;
    s->blocks = g->kred >= 0 ? (const_extent(g->q->sum->u.stage.red[g->kred]) + g->kblock - 1) / g->kblock : 1;
    s->panels = (g->N + g->nv - 1) / g->nv, s->tiles = (rows + g->mr - 1) / g->mr;
    double cells = (double)g->N * (double)rows * (double)s->extent;
    s->panel = steps * g->micro->k0 * g->nv * (double)dtype_bytes(g->vec->u.buf->type);
    s->w = s->panel * (double)s->panels, s->y = cells * (double)dtype_bytes(g->q->sum->u.stage.buf->type);
    s->products = cells * steps / g->vector / g->op.starts;
    s->one_stream = blocks_follow_each_other(u, g);
    s->apart = g->lane == naxes_of(g) - 1 && g->N * dtype_bytes(g->q->sum->u.stage.buf->type) >= u->m->line;
    return true;
}
static double typical(struct plan *u, const struct var *v) {
    int64_t n = x_typical(u->c, v->extent, OPEN_SIZE);
    return n > 1 ? (double)n : 1;
}
static double steps_of_sum(struct plan *u, const struct tiling *g) {
    double steps = 1.0 / g->micro->k0;
    for (int i = 0; i < nsums_of(g); i++) steps *= typical(u, g->q->sum->u.stage.red[i]);
    return steps;
}
/* A single row reads its weights only once. Multiplying bytes is faster than the hardware prefetches, so each panel
 * prefetches the next one's lines (a token of GPT-2: 15.2 to 10.9 ms). */
static bool reads_bytes_once(const struct tiling *g) {
    return g->packed && g->kred >= 0 && g->row < 0 && g->group < 0 && g->vector > 1 && g->N > g->nv &&
           dtype_bits(g->vec->u.buf->type) == 8 && dtype_is_float(g->q->sum->u.stage.buf->type);
}
bool choose_blocks(struct plan *u, struct tiling *g, enum chunks way) {
    struct contraction_sizes s;
    struct blocking b;
    g->together = g->chunk = 0, g->outside = g->prefetch = false;
    if (!find_sizes(u, g, steps_of_sum(u, g), &s)) {
        g->prefetch = g->often = reads_bytes_once(g);
        return way <= CHUNKS_NONE;
    }
    bool chunks = g->rows != 1 && !g->rest && !looks_up(u, g) && partial_sums_fit(u, g);
    bool in_groups = g->group < 0 || const_extent(axis_var(g, g->group)) > 0; /* groups of an open number leave a
                                                                               * remainder, which would be more code */
    if (way == CHUNKS_ANY && !chunks) way = CHUNKS_NONE;
    if ((way != CHUNKS_NONE && !chunks) || !best_blocking(u->m, &s, way, in_groups, &b)) return false;
    if (b.groups > 1) g->together = rows_of_group(&s, b.groups);
    if (b.chunk < s.blocks) g->chunk = b.chunk, g->outside = b.outside;
    double lines = s.panel / u->m->line * (double)b.chunk / (double)s.blocks;
    double tiles = (double)s.tiles * (double)(g->together ? g->together : s.extent);
    g->prefetch = s.w > (double)u->m->l1.bytes && g->kred >= 0;
    g->often = 2 * lines >= tiles * (double)b.chunk;
    return true;
}
/* Going panel by panel, a tile writes to rows that lie FAR_APART bytes or more from each other: a cache set soon has to
 * hold more of their lines than it has ways. */
bool goes_by_rows(struct plan *u, const struct tiling *g) {
    enum { FAR_APART = 2048 };
    int64_t row = g->N * dtype_bytes(g->q->out->u.stage.buf->type);
    double bytes = steps_of_sum(u, g) * g->micro->k0 * (double)g->N * (double)dtype_bytes(g->vec->u.buf->type);
    for (int i = 0; i < nsums_of(g); i++)
        if (const_extent(g->q->sum->u.stage.red[i]) < 1) return false;
    return g->row >= 0 && g->group < 0 && g->lane == naxes_of(g) - 1 && g->lanes > 1 && !g->scattered && !g->blocked &&
           !g->per && !g->chunk && !g->lone && !micro_has_tiles(g->micro) && row >= FAR_APART && g->N > g->nv &&
           g->counted > g->mr && bytes <= (double)u->m->l1.bytes;
}
/* Number of vectors that panels are cut from: those of one group of channels, or of all lanes. *times: how many such
 * groups there are. */
static int64_t vectors_of(struct plan *u, const struct tiling *g, double *times) {
    *times = 1;
    if (g->N < 1) { /* an open extent is taken to be large, as for rows */
        *times = typical(u, axis_var(g, g->lane)) / g->lanes / OPEN_EXTENT;
        return OPEN_EXTENT;
    }
    int64_t n = g->per ? g->per : g->N;
    *times = (double)g->N / (double)n;
    if (g->per && g->per % g->lanes) return equal_panels(g->per, g->lanes, g->nr) * g->nr;
    return g->packed || g->early ? (n + g->lanes - 1) / g->lanes : vectors_and_pieces(n, g->lanes);
}
int rows_that_collide(struct plan *u, const struct tiling *g) {
    int64_t apart;
    if (g->row < 0 || !cells_apart(u, g, axis_var(g, g->row), &apart)) return 0;
    return machine_colliding(u->m, g->mr, sat_mul(apart, dtype_bytes(g->scalar->u.buf->type)));
}
/* Cycles to make the multiplied operands from what memory holds: a conversion, or all operations that compute a vector.
 * Instructions take bytes as they are, and integer sums do not convert. A number that is broadcast to all lanes is
 * converted once, not for each lane. */
static double cycles_to_convert(struct plan *u, const struct tiling *g, expr read) {
    enum dtype t = read->u.buf->type;
    bool as_it_is = g->micro->instr || (!dtype_is_float(g->op.type) && t == I8);
    const struct operation *converts = as_it_is ? NULL : machine_op(u->m, X_CAST, t);
    return converts ? 1 / converts->starts : 0;
}
static struct made cycles_to_make(struct plan *u, const struct tiling *g) {
    struct made made = {cycles_to_convert(u, g, g->vec), cycles_to_convert(u, g, g->scalar) / 2};
    if (g->computed)
        made.vector = operations_of(u->k->b.value) / (g->op.starts + 1); /* some units do not multiply-add, so these can
                                                                          * overlap with them */
    return made;
}
/* Cells spread into the lanes of several groups, per row and vector of one step of the sum. Where the window is
 * unrolled, the rows of a tile share them. */
static double mixed_cells(struct plan *u, const struct tiling *g) {
    int64_t by, n = g->beside ? const_extent(g->q->sum->u.stage.red[g->order[g->norder - 1]]) : 1;
    if (!g->mixed) return 0;
    if (n < 2 || !cells_apart(u, g, g->q->sum->u.stage.red[g->order[g->norder - 1]], &by) || by < 1) return 1;
    int64_t stride = 1, apart;
    if (cells_apart(u, g, axis_var(g, g->row), &apart)) stride = apart / by;
    double cells = (double)(stride * (g->mr - 1) + n) / (double)(n * g->mr);
    return cells < 1 ? cells : 1;
}
/* Cycles of the multiply-adds in one step of the sum over all rows and lanes, including latency and cache lines lost to
 * collisions. */
static double step_cycles(struct plan *u, const struct tiling *g) {
    double times, rows = g->row < 0 ? 1 : typical(u, axis_var(g, g->row));
    int64_t vectors = vectors_of(u, g, &times);
    double lost = (double)rows_that_collide(u, g) / g->mr * (double)(vectors / g->nr) * u->m->line * u->m->l1.byte;
    return times * rows *
           (cost_of_step(u->m, &g->op, g->micro, cycles_to_make(u, g), g->counted, vectors, g->mr, g->nr) /
                (double)g->counted +
            mixed_cells(u, g) * (double)vectors / machine_op(u->m, X_LOAD, F32)->starts + lost);
}
/* Predicts g->step, and g->cycles: the steps of all tiles, plus the memory traffic, times the turns of the other
 * axes. */
void contraction_cycles(struct plan *u, struct tiling *g) {
    struct contraction_sizes s;
    double steps = steps_of_sum(u, g), turns = 1;
    g->step = g->cycles = 0;
    if (g->vector == 1) return;
    g->step = step_cycles(u, g);
    for (int k = 0; k < naxes_of(g); k++)
        if (k != g->lane && k != g->row && k != g->group) turns *= typical(u, axis_var(g, k));
    double extent = g->group >= 0 ? typical(u, axis_var(g, g->group)) : 1, cycles = steps * extent * g->step;
    if (find_sizes(u, g, steps, &s)) {
        struct blocking b = {1, g->chunk ? g->chunk : s.blocks, g->outside};
        if (g->together) b.groups = (s.extent + g->together - 1) / g->together;
        cycles += cost_of_blocking(u->m, &s, b) - s.products;
        if (g->scattered)
            cycles += s.y / (double)dtype_bytes(g->q->sum->u.stage.buf->type) / g->piece; /* lanes stored one by one */
    }
    const struct stmt *sum = g->q->sum;
    g->cycles =
        turns * cycles + micro_sums(u->m, g->micro, typical_cells(u->c, sum->u.stage.axes, sum->u.stage.naxes, 1));
}
