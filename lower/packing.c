/* Which factors are packed at run time, and how; see packing.h. */
#include "lower/packing.h"
#include "ir/base/checked.h"
#include "lower/machine/machine.h"
#include "lower/problem/problem.h"

/* Does it multiply factors of type t, for that many steps of the sum? Tile instructions need whole groups; others leave
 * a remainder. */
static bool takes_sum(const struct micro *m, enum dtype t, const struct var *summed) {
    int64_t n = const_extent(summed);
    bool some = micro_has_tiles(m) ? n > 0 && n % m->k0 == 0 : n < 0 || n >= m->k0;
    return m->a == t && m->b == t && m->sum == F32 && m->k0 > 1 && some;
}
/* A check of the node may say that two sizes are equal, of which only one is open. Then the kernel would compute
 * another number of blocks than the caller, which has no such name for it; so it is not packed. */
static bool counts_blocks_alike(struct ctx *c, expr b, const struct var *summed, const struct panels *how) {
    expr sizes[] = {b->u.buf->dims[how->summed], summed->extent};
    bool open[2];
    for (int k = 0; k < 2; k++) {
        int64_t n;
        open[k] = !x_is_int(sizes[k], &n) && !x_is(x_modi(c, sizes[k], how->group), 0);
    }
    return sizes[0] == sizes[1] || open[0] == open[1];
}
/* Do the products with a cell of b save more cycles by the instruction than copying the cell costs? */
static bool is_worth_it(struct lowering *l, const struct stmt *s, const struct micro_speed *i,
                        const struct operand *b) {
    enum { COPY = 1 };
    const struct machine *m = l->o->target->machine;
    double now = 1 / machine_products(m, F32, F32), then = 1 / micro_products(m, i);
    return typical_rows(l->c, s, b) * (now - then) > COPY;
}
bool find_packing(struct lowering *l, const struct problem *p, enum dtype t, const struct operand **b,
                  struct panels *how) {
    const struct machine *m = l->o->target->machine;
    const struct stmt *s = p->sum;
    int along, summed;
    for (const struct micro_speed *i = m->micros; i && i->micro; i++)
        for (int k = 0; k < 2; k++) {
            const struct operand *first = k ? &p->b : &p->a, *second = k ? &p->a : &p->b;
            if (first->read != first->value || second->read != second->value) continue;
            if (!rows_meet_lanes(s, first->read, second->read, &along, &summed)) continue;
            if (!takes_sum(i->micro, t, s->u.stage.red[0]) || !is_worth_it(l, s, i, second)) continue;
            *how = micro_panels(i->micro, const_extent(s->u.stage.axes[s->u.stage.naxes - 1]) < 0, along, summed);
            if (!counts_blocks_alike(l->c, second->read, s->u.stage.red[0], how)) continue;
            *b = second;
            return true;
        }
    return false;
}

/* ---- weights */
/* Cycles of each product with pixels in plain rows, whose last vector begins early if there is a full one. In groups,
 * the rows of a tile share no pixels, so each sum waits for itself. */
static double plain_cycles(struct lowering *l, const struct stmt *s, bool grouped) {
    const struct machine *m = l->o->target->machine;
    const struct operation *sum = machine_multiply_add(m, F32);
    int64_t n = const_extent(s->u.stage.axes[s->u.stage.naxes - 1]), lanes = machine_lanes(m, F32);
    int64_t vectors = n < lanes ? vectors_and_pieces(n, lanes) : (n + lanes - 1) / lanes;
    double cycles = n < 1 ? 1 / (double)lanes : (double)vectors / (double)n;
    return grouped ? cycles * sum->latency : cycles / sum->starts;
}
/* Lanes cover whole groups of channels, or all channels; for an open number, no index could be proved to be inside. */
static bool takes_lanes(struct lowering *l, const struct stmt *s, expr pixels, int lanes) {
    int64_t per = shared_neighbours(l->c, pixels, s->u.stage.axes[1]);
    return const_extent(s->u.stage.axes[1]) > 0 && (per == 0 || per % lanes == 0);
}
/* Each index is an axis or a reduced variable, so the cells can be reordered. */
static bool is_weights(const struct stmt *s, const struct operand *b, struct panels *how) {
    expr e = b->read;
    if (e != b->value || e->has_fill || e->n != s->u.stage.nred + 1 || e->u.buf->type != F32) return false;
    for (int d = 0; d < e->n; d++)
        if (e->arg[d]->op != X_VAR) return false;
    how->along = dim_of(e, s->u.stage.axes[1]), how->summed = dim_of(e, s->u.stage.red[0]);
    return how->along >= 0 && how->summed >= 0;
}
bool find_packed_weights(struct lowering *l, const struct problem *p, const struct operand **b, struct panels *how) {
    enum { COPY = 1 };
    const struct machine *m = l->o->target->machine;
    const struct stmt *s = p->sum;
    int lanes = machine_lanes(m, F32);
    if (lanes < 2 || !machine_multiply_add(m, F32)) return false;
    for (int k = 0; k < 2; k++) {
        const struct operand *w = k ? &p->b : &p->a, *x = k ? &p->a : &p->b;
        *how = (struct panels){lanes, 1, 0, 0}, *b = w;
        if (!is_weights(s, w, how) || !takes_lanes(l, s, x->read, lanes)) continue;
        bool grouped = shared_neighbours(l->c, x->read, s->u.stage.axes[1]) != 0;
        double rows = typical_rows(l->c, s, w),
               cells = typical_size(l->c, w->read->u.buf->logical, w->read->n, OPEN_SIZE);
        double saved = plain_cycles(l, s, grouped) - 1 / machine_products(m, F32, F32);
        double copied = cells + typical_size(l->c, x->read->u.buf->logical, x->read->u.buf->nlogical, OPEN_SIZE) +
                        typical_result(l->c, s);
        if (rows * cells * saved > COPY * copied) return true;
    }
    return false;
}

/* ---- rows that collide */
static int64_t bytes_between_rows(const struct operand *b, int summed) {
    int64_t bytes = dtype_bytes(b->read->u.buf->type), n;
    for (int d = summed + 1; d < b->read->n; d++) {
        if (!x_is_int(b->read->u.buf->dims[d], &n)) return 0;
        bytes = sat_mul(bytes, n);
    }
    return bytes;
}
bool find_colliding(struct lowering *l, const struct problem *p, const struct operand **b, struct panels *how) {
    enum { ROWS = 64, MANY = 32 };
    const struct machine *m = l->o->target->machine;
    const struct stmt *s = p->sum;
    int lanes = machine_lanes(m, F32), along, summed;
    for (int k = 0; k < 2 && lanes > 1; k++) {
        const struct operand *first = k ? &p->b : &p->a, *second = k ? &p->a : &p->b;
        if (first->read != first->value || second->read != second->value || second->read->u.buf->type != F32) continue;
        if (!rows_meet_lanes(s, first->read, second->read, &along, &summed) || along < summed) continue;
        int64_t n = const_extent(s->u.stage.red[0]), apart = bytes_between_rows(second, summed);
        if (!machine_colliding(m, (int)(n < ROWS ? n : ROWS), apart)) continue;
        if (typical_rows(l->c, s, second) < MANY) continue;
        *b = second, *how = (struct panels){lanes, 1, along, summed};
        return true;
    }
    return false;
}
