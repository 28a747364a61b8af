/* The strategy for sums of sums: products are summed block by block as integers, and what each block gives is scaled
 * and added up (weights of few bits, whose blocks have a scale each). Both sums of a tile stay in registers: the inner
 * one begins anew with each block. See cpu.h, docs/schedules.md. */
#include "lower/schedule/cost.h"
#include "lower/schedule/cpu.h"

struct block_sums {
    struct stmt *inner, *outer;
    struct problem p;  /* of the inner sum */
    int lane, row;     /* axes of both; row -1: there is none */
    int along, summed; /* dims of the second factor: of the lanes, and of the inner sum's innermost terms */
    int64_t fields;    /* of a byte of the second factor, the loop around those terms; 1: there is no such loop */
    const struct micro *micro; /* NULL: the loop IR's own operations */
    int lanes, mr, nr;         /* of a vector; a tile: rows and vectors */
    int lone;                  /* rows are open: a nest for a single row has tiles of this many panels; 0: none has */
};

/* ---- is it one? */
static bool find_sums(const struct problem *k, struct block_sums *q) {
    struct stmt *first = NULL, *second = NULL;
    for (int i = 0; i < k->stages.n; i++) {
        struct stmt *s = k->stages.v[i];
        if (s->u.stage.op == RED_NONE) continue;
        if (second) return false;
        if (first) second = s;
        else first = s;
    }
    q->inner = first, q->outer = second;
    return second && adds_up(second, first);
}
static const char *find_axes(struct block_sums *q) {
    const struct problem *p = &q->p;
    int n = q->outer->u.stage.naxes;
    q->lane = q->row = -1;
    for (int k = 0; k < n; k++) {
        bool a = p->a.axes >> k & 1, b = p->b.axes >> k & 1;
        if (b && q->lane >= 0) return "the second factor has several axes of its own";
        if (b && a) return "both factors have an axis";
        if (b) q->lane = k;
        else if (const_extent(q->outer->u.stage.axes[k]) != 1) q->row = k;
    }
    if (q->lane < 0) return "the second factor has no axis of its own";
    if (const_extent(q->outer->u.stage.axes[q->lane]) < 1) return "the number of its lanes is known in the run only";
    return NULL;
}
/* The dim of the second factor that moves with v; -1: none, or several. */
static int dim_along(struct ctx *c, const struct block_sums *q, const struct var *v) {
    expr read = q->p.b.read;
    int found = -1;
    for (int d = 0; d < read->n; d++) {
        if (!x_uses_var(c, read->arg[d], v)) continue;
        if (found >= 0) return -1;
        found = d;
    }
    return found;
}
static const char *find_dims(struct plan *u, struct block_sums *q) {
    const struct stmt *s = q->inner;
    int nred = s->u.stage.nred;
    if (q->p.b.read->has_fill) return "the second factor ends within the sum";
    q->along = dim_of(q->p.b.read, s->u.stage.axes[q->lane]);
    q->summed = dim_along(u->c, q, s->u.stage.red[nred - 1]);
    if (q->along < 0 || q->summed < 0 || q->along == q->summed)
        return "the second factor is no matrix of lanes and terms";
    bool field = nred > 1 && !(q->p.b.sums >> (nred - 2) & 1);
    q->fields = field ? const_extent(s->u.stage.red[nred - 2]) : 1;
    return q->fields < 1 ? "the number of its fields is known in the run only" : NULL;
}
/* ---- tiles */
static bool fits(const struct block_sums *q, const struct micro *m) {
    int64_t lo, hi;
    const struct buf *b = q->p.b.read->u.buf;
    return m->a == q->p.a.read->u.buf->type && m->b == b->type && q->inner->u.stage.buf->type == m->sum &&
           q->fields == (m->fields ? m->fields : 1) && (!micro_within(m, &lo, &hi) || buf_holds_within(b, lo, hi));
}
/* Rows and vectors of a tile: both of its sums are in registers, and the vectors of the second factor. Open rows may be
 * one or many: tiles are for many, and a nest of its own for one. */
static void choose_tile(struct plan *u, struct block_sums *q, const struct micro *micro, struct operation sum) {
    enum { MOST_ROWS = 8, MOST_VECTORS = 8, MANY = 64 };
    int registers = machine_registers(u->m), cells = q->lanes > 1 || !u->m->whole_tile ? registers : u->m->whole_tile;
    int64_t least_rows = 1, rows = 1,
            vectors = (const_extent(q->outer->u.stage.axes[q->lane]) + q->lanes - 1) / q->lanes;
    if (q->row >= 0) x_bounds(u->c, q->outer->u.stage.axes[q->row]->extent, &least_rows, &rows);
    bool open = least_rows < rows;
    if (open && rows > MANY) rows = MANY;
    double least = 0;
    q->mr = q->nr = 1;
    for (int mr = 1; mr <= MOST_ROWS && mr <= rows; mr++)
        for (int nr = 1; nr <= MOST_VECTORS && nr <= vectors; nr++) {
            if (2 * mr * nr + nr + 2 > registers || mr * nr > (mr > 1 ? cells : cells + 2)) continue;
            double cycles = cost_of_step(u->m, &sum, micro, (struct made){0, 0}, rows, vectors, mr, nr);
            if (least == 0 || cycles < least) least = cycles, q->mr = mr, q->nr = nr;
        }
    q->lone = open && least_rows < 2 && q->nr < MOST_VECTORS ? MOST_VECTORS / q->nr : 0;
}
static const char *block_sums_points(struct plan *u, struct points *out) {
    struct block_sums q = {0};
    if (!find_sums(u->k, &q)) return "no sum of sums";
    stage_problem(u->c, q.inner, &q.p);
    if (!q.p.product) return "the inner sum is none of products";
    const char *why = find_axes(&q);
    if (!why) why = find_dims(u, &q);
    if (why) return why;
    if (q.outer == u->k->out) return "the sum is the result itself";
    if (!is_constant(q.p.b.read->u.buf)) return "the second factor is no constant";
    for (const struct micro_speed *s = u->m->blocks; s && s->micro; s++) {
        if (!fits(&q, s->micro)) continue;
        q.micro = s->micro, q.lanes = s->micro->n0;
        choose_tile(u, &q, s->micro, (struct operation){X_ADD, I32, s->latency, s->starts});
        add_point(u, out, &strategy_block_sums)->u.block_sums = arena_copy(&u->c->arena, &q, sizeof q);
    }
    enum dtype type = q.inner->u.stage.buf->type;
    const struct operation *op = machine_multiply_add(u->m, type);
    q.micro = NULL, q.lanes = machine_lanes(u->m, type);
    choose_tile(u, &q, &micro_multiply_add, op ? *op : (struct operation){X_ADD, type, 1, 1});
    add_point(u, out, &strategy_block_sums)->u.block_sums = arena_copy(&u->c->arena, &q, sizeof q);
    return NULL;
}

/* ---- layouts */
/* The second factor in panels: of each, what is read one after another, all lanes of it side by side. */
static void pack(struct plan *u, const struct block_sums *q) {
    expr read = q->p.b.read;
    const struct micro *micro = q->micro ? q->micro : &micro_multiply_add;
    int n = q->along, nv = q->lanes * q->nr, k0 = micro->k0;
    struct layout_dims dims = {0};
    add_dim(&u->s, &dims, dim_div(n, nv));
    for (int d = 0; d < read->n; d++)
        if (d != n) add_dim(&u->s, &dims, d == q->summed && k0 > 1 ? dim_div(d, k0) : dim_whole(d));
    plan_group(u, &dims, micro, q->lanes, nv, n, q->summed);
    step_layout(&u->s, read->u.buf->base, dims);
}
/* And other constants that are read along the lanes. */
static void layouts(struct plan *u, const struct block_sums *q) {
    laid_bufs laid = {0};
    layout_steps(&u->s, u->p, u->l);
    pack(u, q);
    PUSH(&u->c->arena, &laid, q->p.b.read->u.buf);
    for (int k = 0; k < u->k->stages.n && q->lanes > 1; k++) {
        const struct stmt *s = u->k->stages.v[k];
        if (s->u.stage.naxes > q->lane) plan_lanes(u, s->u.stage.value, s->u.stage.axes[q->lane], q->lanes, &laid);
    }
}

/* ---- loops */
static const char *result_loops(struct plan *u, const struct block_sums *q) {
    const struct stmt *out = u->k->out;
    const char *lane = axis_loop(u->c, out, q->lane), *row = q->row >= 0 ? axis_loop(u->c, out, q->row) : NULL;
    struct word_list order = {0};
    int64_t N = const_extent(out->u.stage.axes[q->lane]), nv = q->lanes * q->nr;
    for (int k = 0; k < out->u.stage.naxes; k++)
        if (k != q->lane && k != q->row) add_loop(&u->s, &order, axis_loop(u->c, out, k));
    add_loops(&u->s, &order, LOOPS(lane, row));
    step_reorder(&u->s, order);
    if (q->lone) step_specialize(&u->s, order.v[0], arena_printf(&u->c->arena, "1<#%s", row), role.lone);
    step_split(&u->s, lane, nv, role.panels, role.panel_cell, split_tail(N, nv));
    step_reorder(&u->s, LOOPS(role.panels, row, role.panel_cell));
    if (!row) return role.panels;
    int64_t rows = const_extent(out->u.stage.axes[q->row]);
    if (rows > 0) plan_tiles(u, row, role.row_tiles, role.tile_row, rows, 1, q->mr);
    else step_split(&u->s, row, q->mr, role.row_tiles, role.tile_row, TAIL_CUT2);
    if (q->lone) plan_lone_row(u, lane, NULL, row, N, nv, q->lone);
    return role.row_tiles;
}
static void add_rows(struct plan *u, const struct block_sums *q, const struct stmt *s, struct word_list *to) {
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (k != q->lane) add_loop(&u->s, to, axis_loop(u->c, s, k));
}
static enum step_tail tail_of_lanes(const struct block_sums *q) {
    return const_extent(q->outer->u.stage.axes[q->lane]) % q->lanes ? TAIL_CUT : TAIL_NONE;
}
/* A loop over the lanes of a tile as vectors; the loop over those is unrolled. */
static void in_vectors(struct plan *u, const struct block_sums *q, const char *lane, const char *vectors,
                       const char *cell, enum step_tail tail, struct word_list *unrolled) {
    if (q->lanes > 1) step_split(&u->s, lane, q->lanes, vectors, cell, tail);
    add_loop(&u->s, unrolled, q->lanes > 1 ? vectors : lane);
}
/* The loops over the terms that an instruction takes: `taken` of the sum's own, the last of them maybe in parts. */
static void add_taken(struct plan *u, const struct block_sums *q, int taken, struct word_list *to) {
    const struct stmt *s = q->inner;
    int nred = s->u.stage.nred, side = q->micro ? q->micro->side : 1;
    bool parts = side > 1 && side < q->micro->k0;
    for (int k = nred - taken; k < nred - parts; k++) add_loop(&u->s, to, red_loop(u->c, s, k));
    if (!parts) return;
    step_split(&u->s, red_loop(u->c, s, nred - 1), side, role.group_parts, role.group_cell, TAIL_NONE);
    add_loops(&u->s, to, LOOPS(role.group_parts, role.group_cell));
}
/* The loops of one of the two sums of a tile: its terms, then rows, then lanes; innermost are the terms that an
 * instruction takes. */
static void order_of_sum(struct plan *u, const struct block_sums *q, const struct stmt *s, int taken) {
    struct word_list order = {0};
    int nred = s->u.stage.nred;
    for (int k = 0; k < nred - taken; k++) add_loop(&u->s, &order, red_loop(u->c, s, k));
    add_rows(u, q, s, &order);
    add_loop(&u->s, &order, axis_loop(u->c, s, q->lane));
    if (taken) add_taken(u, q, taken, &order);
    step_reorder(&u->s, order);
}
/* Its lanes as vectors; of a tile with fewer, the last vector has cells that nobody reads. */
static void lanes_of_sum(struct plan *u, const struct block_sums *q, const struct stmt *s, const char *vectors,
                         const char *cell, struct word_list *unrolled) {
    const char *lane = axis_loop(u->c, s, q->lane);
    if (tail_of_lanes(q) != TAIL_NONE && q->lanes > 1) step_widen(&u->s, lane, q->lanes);
    add_rows(u, q, s, unrolled);
    in_vectors(u, q, lane, vectors, cell, TAIL_NONE, unrolled);
}
static const char *block_sums_steps(struct plan *u, const struct point *p) {
    const struct block_sums *q = p->u.block_sums;
    const struct stmt *outer = q->outer, *inner = q->inner;
    const char *vectors = loop_in(u, inner->u.stage.buf->base, role.sum_vectors),
               *cell = loop_in(u, inner->u.stage.buf->base, role.sum_lane);
    struct word_list unrolled = {0};
    layouts(u, q);
    plan_inline_maps(u);
    step_compute_at(&u->s, outer->u.stage.buf->base, result_loops(u, q), SC_PARAM);
    order_of_sum(u, q, outer, 0);
    step_compute_at(&u->s, inner->u.stage.buf->base, red_loop(u->c, outer, outer->u.stage.nred - 1), SC_PARAM);
    order_of_sum(u, q, inner, !q->micro ? 0 : q->fields > 1 ? 2 : 1);
    if (q->row >= 0) add_loop(&u->s, &unrolled, role.tile_row);
    in_vectors(u, q, role.panel_cell, role.out_vectors, role.out_lane, tail_of_lanes(q), &unrolled);
    lanes_of_sum(u, q, inner, vectors, cell, &unrolled);
    lanes_of_sum(u, q, outer, role.sum_vectors, role.sum_lane, &unrolled);
    if (q->micro) step_tensorize(&u->s, q->micro->instr);
    else if (q->fields > 1) add_loop(&u->s, &unrolled, red_loop(u->c, inner, inner->u.stage.nred - 2));
    step_kind(&u->s, LK_UNROLL, unrolled);
    if (q->lanes > 1) step_kind(&u->s, LK_VECTOR, LOOPS(role.out_lane, role.sum_lane, cell));
    return NULL;
}
static void print_block_sums(struct text *t, struct plan *u, const struct point *p) {
    const struct block_sums *q = p->u.block_sums;
    (void)u;
    text_printf(t, "tile %d x %d of %d lanes", q->mr, q->nr, q->lanes);
    if (q->micro) text_printf(t, ", by %s", q->micro->instr);
    if (q->lone) text_printf(t, ", %d panels for one row", q->lone);
}
const struct strategy strategy_block_sums = {"block sums", block_sums_points, block_sums_steps, print_block_sums};
