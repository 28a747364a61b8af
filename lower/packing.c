/* Which factors are packed in the run, and how; see packing.h. */
#include "lower/packing.h"
#include "lower/machine/machine.h"
#include "lower/problem/problem.h"

/* Does it multiply factors of type t, and so many steps of the sum? Tiles take whole groups, others leave a rest. */
static bool takes_sum(const struct micro *m, enum dtype t, const struct var *summed) {
    int64_t n = const_extent(summed);
    bool some = micro_has_tiles(m) ? n > 0 && n % m->k0 == 0 : n < 0 || n >= m->k0;
    return m->a == t && m->b == t && m->sum == F32 && m->k0 > 1 && some;
}
/* A check of the node may say that two sizes are the same, of which one is open and the other is not: then the kernel
 * would count other blocks of groups than the caller, which has no such name for it. */
static bool counts_blocks_alike(struct ctx *c, expr b, const struct var *summed, const struct panels *how) {
    expr sizes[] = {b->u.buf->dims[how->summed], summed->extent};
    bool open[2];
    for (int k = 0; k < 2; k++) {
        int64_t n;
        open[k] = !x_is_int(sizes[k], &n) && !x_is(x_modi(c, sizes[k], how->group), 0);
    }
    return sizes[0] == sizes[1] || open[0] == open[1];
}
/* Cycles that the products of a cell of b take less by it than as they are, against those of its copy. */
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
