/* The points of a contraction: register tiles, and how much of the sum and of the rows is done at a time, ranked by
 * predicted cycles. contraction.c has chosen the axes before; contraction_steps.c makes the steps. The choices and
 * their reasons are in docs/schedules.md. See tiling.h. */
#include "lower/schedule/cost.h"
#include "lower/schedule/tiling.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What may be dropped from a tiling when a step is refused. */
enum part { NOTHING, BY_ROWS, STAGE, PREFETCH, CHUNKS, LONE, GROUPS, LANES };

/* ---- the tile */
/* At most n cells that lie side by side in one group. */
static int neighbours_in(const struct tiling *g, int n) {
    int64_t cells = g->per ? g->per : g->N;
    if (cells > 0 && cells < n) n = (int)cells;
    while (g->per && g->per % n) n--;
    return n;
}
/* Without vectors: 4 x 2 cells, or 4 x 4 if the machine takes a longer loop body. If one axis is short, the other gets
 * its cells; a single line has one operand less to hold, so it may be longer. This keeps the code small, and there are
 * few sizes of remaining tiles. */
static void choose_scalar_tile(struct plan *u, struct tiling *g) {
    bool whole = g->op.type == I32 && u->m->whole_tile;
    int cells = whole ? u->m->whole_tile : u->m->body, side = cells < 8 ? 2 : 4, line = whole ? cells + 2 : 8;
    g->nr = neighbours_in(g, side);
    g->mr = g->nr == 1 ? line : cells / g->nr;
    if (g->rows >= 0 && g->rows < g->mr) {
        g->mr = g->rows > 0 ? (int)g->rows : 1;
        if (g->mr == 1) g->nr = neighbours_in(g, line);
    }
    g->nv = g->nr;
}
/* Rows of a tile if vectors span several groups. Panels use whole vectors of the other operand; besides the
 * accumulators, registers must hold the weights of a window along the rows, for each vector, and as many cells. */
static int64_t mixed_rows(struct plan *u, const struct tiling *g, int nr, int64_t vectors) {
    const struct var *v = g->norder ? g->q->sum->u.stage.red[g->order[g->norder - 1]] : NULL;
    int64_t window = v && const_extent(v) > 1 && slides_along_rows(u, g, v) ? const_extent(v) : 1;
    int64_t fits = (machine_registers(u->m) - window) / nr - window;
    if (nr % g->mixed || vectors % g->mixed || (g->mixed > 1 && vectors % nr) || fits < 1) return 0;
    return g->counted < fits ? g->counted : fits;
}
/* Rows that fit with nr vectors: registers must hold the accumulators, nr operands and one broadcast; or all of every
 * vector and the broadcasts of all rows, if compilers hoist loads. 0: there are fewer than nr vectors, or they would
 * cross into another group. */
static int64_t rows_that_fit(struct plan *u, const struct tiling *g, int nr) {
    int64_t cells = g->per ? g->per : g->N, registers = machine_registers(u->m);
    int64_t vectors = cells > 0 ? (cells + g->lanes - 1) / g->lanes : OPEN_EXTENT;
    bool parts = g->per && g->per % g->lanes; /* the panels of a group whose last vector is not full */
    if (nr > vectors || (g->per && (parts ? !equal_panels(g->per, g->lanes, nr) : vectors % nr != 0))) return 0;
    if (g->mixed) return mixed_rows(u, g, nr, vectors);
    int row = g->micro->row > 1 ? g->micro->row : 1, vector = g->micro->vector > 1 ? g->micro->vector : 1;
    int64_t fits = u->m->loads_ahead ? (registers - nr * vector) / (nr + row) : (registers - 1 - nr) / nr;
    if (fits < 2) fits = nr + 2 <= registers ? 1 : 0; /* a single row: its operands come from memory */
    return g->counted < fits ? g->counted : fits;
}
/* Balances tiles of at most mr rows, so that none is much smaller. */
static void set_tile(struct tiling *g, int64_t mr, int nr) {
    int64_t cells = g->per ? g->per : g->N, lanes = g->lanes;
    int64_t tiles = (g->counted + mr - 1) / mr;
    mr = (g->counted + tiles - 1) / tiles;
    g->mr = (int)mr, g->nr = nr, g->nv = nr * (int)lanes;
    if (fills_lanes(g)) cells = (cells + lanes - 1) / lanes * lanes;
    if (g->per && g->per % lanes) cells = g->per / equal_panels(g->per, g->lanes, nr);
    if (cells > 0 && cells < g->nv) g->nv = (int)cells;
}
/* Chooses whether the last reduced axis is unrolled inside of a step, because its iterations share cells. Either a
 * window along the rows of a tile, where each row multiplies the same cells by other weights: they are widened once
 * (integer sums may go in any order), or spread over the lanes of several groups once. Or the weights that are packed
 * into one byte. */
static void choose_beside(struct plan *u, struct tiling *g) {
    enum { MOST_MIXED = 480 }; /* products that are unrolled; for mixed lanes that is all channels of a group */
    const struct var *v = g->norder ? g->q->sum->u.stage.red[g->order[g->norder - 1]] : NULL;
    int64_t n = v ? const_extent(v) : 0, steps = g->mixed && g->kred >= 0 ? g->kblock / g->micro->k0 : 1;
    bool widens = g->vector == 1 && g->micro->instr && g->kred >= 0 && !dtype_is_float(g->micro->sum);
    bool same =
        widens || g->mixed ? v && slides_along_rows(u, g, v) : g->computed && g->kred >= 0 && dim_of(g->vec, v) < 0;
    g->beside = same && n > 1 && n * steps * g->mr * g->nr <= (g->mixed ? MOST_MIXED : u->m->body);
}
/* Open rows may turn out to be one, mostly because they are a batch. (Rows of a blocked result are those of an image,
 * so there are many, unless the typical size is 1.) A tile of one row would wait for its own multiply-adds, so it takes
 * more vectors than others: this many panels. If one row is typical, as many as a row of known size would take. Panels
 * in the second level of cache arrive at no more than a line per cycle, and at less from two panels at once. 0: no nest
 * for a single row. */
static int64_t lone_panels(struct plan *u, const struct tiling *g) {
    double bytes = bytes_of_panels(u, g);
    bool second = bytes > (double)u->m->l1.bytes && bytes < (double)u->m->l2.bytes;
    double starts = second ? fmin(g->op.starts, (double)u->m->line / bytes_of_vector(g)) : g->op.starts;
    int64_t wide = ((int64_t)(g->op.latency * starts) + g->nr - 1) / g->nr, lo, hi;
    if (g->row < 0 || g->rows >= 0 || g->N <= g->nv || g->lanes < 2 || g->scattered || g->per) return 0;
    bool typical = x_reference(u->c, axis_var(g, g->row)->extent) == 1;
    if (g->blocked && !typical) return 0;
    if (typical && !second && wide * g->nr < u->m->panel_vectors) wide = u->m->panel_vectors / g->nr;
    x_bounds(u->c, axis_var(g, g->row)->extent, &lo, &hi);
    bool wanted = wide > 1 || (second && g->prefetch); /* data that is read once does not prefetch the next panel */
    return wanted && lo < 2 && hi > 1 ? wide : 0;
}

/* ---- the points */
/* Tilings with one micro-kernel and lanes along one axis. If a step is refused for one of them, it would be for
 * most. */
struct family {
    VEC(struct tiling) tilings;
};
/* Should the last vector begin early? Otherwise the remainder is done in several pieces, each of which takes as long as
 * a full vector. */
static bool begins_early(const struct tiling *g) {
    if (g->vector == 1 || g->packed || g->per || g->scattered || g->chunk) return false;
    if (g->N < 0) return g->lanes > 2 && g->row >= 0 && !g->lone && !g->together && !g->by_rows;
    return g->N > g->nv && (g->N + g->lanes - 1) / g->lanes < vectors_and_pieces(g->N, g->lanes);
}
static void add_tiling(struct plan *u, struct family *f, struct tiling g) {
    enum dtype sum = u->k->sum->u.stage.buf->type;
    g.lone = lone_panels(u, &g);
    g.by_rows = goes_by_rows(u, &g);
    g.early = begins_early(&g);
    g.piece = 1;
    while (g.across && g.nv % (2 * g.piece) == 0 && 2 * g.piece < g.vector) g.piece *= 2;
    bool has_epilogue = u->k->out->u.stage.buf->type != sum || g.piece > 1; /* there is an epilogue to compute in lanes,
                                                                             * or pieces to store */
    g.staged = g.scattered && g.vector > 1 && has_epilogue;
    contraction_cycles(u, &g);
    PUSH(&u->c->arena, &f->tilings, g);
}
/* Adds the best way to block the sum, and the best of each other kind. */
static void add_blocked(struct plan *u, struct family *f, struct tiling g) {
    choose_beside(u, &g);
    struct tiling best = g;
    choose_blocks(u, &best, CHUNKS_ANY);
    add_tiling(u, f, best);
    for (enum chunks way = CHUNKS_NONE; way <= CHUNKS_OUTSIDE; way++)
        if (choose_blocks(u, &g, way) && (g.chunk != best.chunk || g.outside != best.outside)) add_tiling(u, f, g);
}
/* For tile registers: two tiles of rows by one or two of vectors at a time; wider for 2 or 4 vectors, so that rows are
 * read less often and the epilogue has whole blocks. One instruction does all steps of a block. */
static void add_tiles_of_registers(struct plan *u, struct family *f, struct tiling *g) {
    int64_t cells = g->per ? g->per : g->N, vectors = cells > 0 ? (cells + g->lanes - 1) / g->lanes : OPEN_EXTENT;
    if (g->rest || (g->per && g->per % g->lanes)) return;
    for (int nr = 1; nr <= 4; nr *= 2) {
        if (nr > vectors || (g->per && vectors % nr)) continue;
        set_tile(g, g->counted < 2 * g->micro->m0 ? g->counted : 2 * g->micro->m0, nr);
        if (!choose_blocks(u, g, CHUNKS_NONE)) continue;
        g->prefetch = g->prefetch && !g->often;
        add_tiling(u, f, *g);
    }
}
/* For each number of vectors: as many rows as fit, then the next smaller balanced numbers, until no rows collide. */
static void add_tiles(struct plan *u, struct family *f, struct tiling *g) {
    enum { SIZES = 3 };
    if (g->vector == 1) {
        choose_scalar_tile(u, g);
        add_blocked(u, f, *g);
        return;
    }
    if (micro_has_tiles(g->micro)) {
        add_tiles_of_registers(u, f, g);
        return;
    }
    for (int nr = 1; nr <= u->m->panel_vectors; nr++) {
        int64_t mr = rows_that_fit(u, g, nr);
        for (int k = 0; (k < SIZES || rows_that_collide(u, g)) && mr > 0; k++, mr = g->mr - 1) {
            set_tile(g, mr, nr);
            add_blocked(u, f, *g);
        }
    }
}
/* Puts first the tile with the fewest cycles of multiply-adds, and among its blockings the one with the fewest cycles
 * in all: the memory's part is known too roughly to choose between tiles. A saving of next to nothing does not count,
 * since earlier entries are simpler. */
static void best_first(struct family *f) {
    struct tiling *v = f->tilings.v, best;
    int at = 0;
    for (int k = 1; k < f->tilings.n; k++) {
        bool same = v[k].mr == v[at].mr && v[k].nr == v[at].nr;
        if (same ? v[k].cycles < v[at].cycles * 0.995 : v[k].step < v[at].step * 0.995) at = k;
    }
    best = v[at];
    memmove(v + 1, v, (size_t)at * sizeof *v);
    v[0] = best;
}
static const char *find_family(struct plan *u, struct family *f, struct tiling g, enum lane_way way) {
    const char *why = choose_axes(u, &g, way);
    if (why) return why;
    add_tiles(u, f, &g);
    if (!f->tilings.n) return "what is summed or grouped is no multiple of its tiles";
    best_first(f);
    return NULL;
}
/* The families of a micro-kernel, the best first; returns their number. *why: the reason if there are none, otherwise
 * NULL. */
static int add_families(struct plan *u, struct family *f, const struct micro *micro, struct operation op,
                        const char **why) {
    struct tiling g = {.q = u->k, .micro = micro, .op = op};
    int n = 0;
    for (enum lane_way way = LANES_FIRST; way < LANE_WAYS; way++) {
        struct family next = {0};
        const char *no = find_family(u, &next, g, way);
        if (way == LANES_FIRST) *why = no;
        if (no) continue;
        int at = n++;
        for (; at && next.tilings.v[0].cycles < f[at - 1].tilings.v[0].cycles; at--) f[at] = f[at - 1];
        f[at] = next, *why = NULL;
    }
    return n;
}
static void put_point(struct plan *u, struct points *out, const struct tiling *g) {
    struct point *p = add_point(u, out, &strategy_contraction);
    p->u.tile = *g, p->cycles = g->cycles;
}
/* Drops one thing from the tiling; false: it did not have it. */
static bool leave_out(struct plan *u, struct tiling *g, enum part what) {
    struct tiling old = *g;
    switch (what) {
    case NOTHING: return true;
    case BY_ROWS: g->by_rows = false; return old.by_rows;
    case STAGE: g->staged = false, g->piece = 1; return old.staged;
    case PREFETCH: g->prefetch = false; return old.prefetch;
    case CHUNKS: /* without chunks, panels may be prefetched again */
        if (g->chunk) choose_blocks(u, g, CHUNKS_NONE);
        return old.chunk;
    case LONE: g->lone = 0; return old.lone;
    case GROUPS: g->together = 0; return old.together;
    case LANES: g->scattered = true; /* only for the result: the sum keeps its lanes */
    }
    return !old.scattered && g->lanes > 1;
}
/* The best tiling, then versions of it with more and more things dropped. */
static void add_best(struct plan *u, struct points *out, struct tiling g) {
    static const enum part order[] = {NOTHING, BY_ROWS, STAGE, PREFETCH, CHUNKS, PREFETCH, LONE, GROUPS, LANES};
    for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
        if (!leave_out(u, &g, order[k])) continue;
        contraction_cycles(u, &g);
        put_point(u, out, &g);
    }
}
static int by_cycles(const void *a, const void *b) {
    double x = ((const struct point *)a)->cycles, y = ((const struct point *)b)->cycles;
    return x < y ? -1 : x > y;
}
/* The other tilings, for comparison. */
static void add_others(struct plan *u, struct points *out, const struct family *f, int n) {
    int from = out->list.n;
    for (int i = 0; i < n; i++)
        for (int k = 1; k < f[i].tilings.n; k++) put_point(u, out, &f[i].tilings.v[k]);
    if (out->list.n > from) qsort(out->list.v + from, (size_t)(out->list.n - from), sizeof *out->list.v, by_cycles);
}
/* The machine's micro-kernels come first: each does several steps of the sum at a time. */
static const char *contraction_points(struct plan *u, struct points *out) {
    enum { MOST = 32 };
    const struct problem *k = u->k;
    const char *why = no_contraction(k);
    if (why) return why;
    if (k->out == k->sum) return "the sum is the result itself";
    if (k->out->u.stage.naxes != k->sum->u.stage.naxes) return "the result has other axes than the sum";
    enum dtype sum = k->sum->u.stage.buf->type;
    const struct operation *op = machine_multiply_add(u->m, sum);
    if (!op || dtype_value(sum) != sum) return "the machine's row does not say how it sums this type";
    struct family f[MOST] = {0};
    int n = 0;
    for (const struct micro_speed *s = u->m->micros; s && s->micro && n <= MOST - 2 * LANE_WAYS; s++)
        if (s->micro->sum == sum)
            n += add_families(u, f + n, s->micro, (struct operation){X_FMA, sum, s->latency, s->starts}, &why);
    n += add_families(u, f + n, &micro_multiply_add, *op, &why);
    for (int i = 0; i < n; i++) add_best(u, out, f[i].tilings.v[0]);
    add_others(u, out, f, n);
    return why;
}
static void print_contraction(struct text *t, struct plan *u, const struct point *p) {
    const struct tiling *g = &p->u.tile;
    if (g->micro->instr) text_printf(t, "%s, ", g->micro->instr);
    text_printf(t, "lanes %d along %s%s, tile %d x %d", g->lanes, axis_name(u->c, u->k, g->lane),
                g->mixed       ? " of several groups"
                : g->staged    ? ", staged"
                : g->scattered ? ", scattered"
                               : "",
                g->mr, g->nr);
    if (g->row >= 0) text_printf(t, " of %s", axis_name(u->c, u->k, g->row));
    if (g->packed) text_add(t, ", packed");
    if (g->kred >= 0) text_printf(t, ", %s in blocks of %d", sum_name(u->c, u->k, g->kred), g->kblock);
    if (g->beside) text_printf(t, ", %s written out", sum_name(u->c, u->k, g->order[g->norder - 1]));
    if (g->together) text_printf(t, ", %lld of %s together", (long long)g->together, axis_name(u->c, u->k, g->group));
    if (g->chunk) text_printf(t, ", %lld blocks at a time%s", (long long)g->chunk, g->outside ? ", outside" : "");
    if (g->by_rows) text_add(t, ", row by row");
    if (g->early) text_add(t, ", the last vector early");
    if (g->lone) text_printf(t, ", %lld panels for one row", (long long)g->lone);
    if (g->prefetch) text_add(t, g->often ? ", prefetch in each block" : ", prefetch");
}
const struct strategy strategy_contraction = {"contraction", contraction_points, contraction_steps, print_contraction};
