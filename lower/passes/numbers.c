/* Ranges of the floats in buffers. See numbers.h. A buffer holds what is stored to it, in its procedure or by
 * procedures called with it; a parameter holds what is bound to it; constants are known. What kernels leave in memory
 * is only judged by its expressions, which is enough for clamped values.
 *
 * A sum in f32 of terms of magnitude at most T, however many, stays below 2^26 T, or its initial value: above 2^25 T,
 * half of the distance between neighbouring floats exceeds T, so that adding a term away from zero changes nothing.
 * Hence the sum is finite. */
#include "lower/passes/numbers.h"
#include <float.h>
#include <math.h>

#define MOST_OF_TERMS 67108864.0 /* 2^26 */

struct use { /* a statement that may change a buffer */
    const struct stmt *s;
    int k; /* its index among the statement's buffers */
    struct use *next;
};
struct bound { /* to a parameter by a call */
    struct buf *arg;
    struct bound *next;
};
struct numbers {
    struct ctx *c;
    struct module *m;
    struct map views, uses, bounds; /* of views, buffers, parameters */
    struct map known;               /* buffer -> struct x_range */
};
static const struct x_range unknown = {-INFINITY, INFINITY, true}, nothing = {INFINITY, -INFINITY, false};

static double size_of(struct x_range r) { return r.nan ? INFINITY : fmax(fabs(r.lo), fabs(r.hi)); }

/* ---- who writes what */
static bool note_uses(void *env, struct stmt *s) {
    struct numbers *q = env;
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++) {
        if (s->kind == S_CALL) {
            const struct buf *param = s->u.call.callee->params.v[k].buf;
            struct bound *first = NEW(&q->c->arena, struct bound);
            *first = (struct bound){b.buf, map_get(&q->bounds, PKEY(param))};
            map_put(&q->bounds, PKEY(param), first);
        }
        if (!(b.use & (BU_WRITTEN | BU_MOVED)) && s->kind != S_INSTR) continue;
        const struct buf *of = storage_of(&q->views, b.buf);
        struct use *first = NEW(&q->c->arena, struct use);
        *first = (struct use){s, k, map_get(&q->uses, PKEY(of))};
        map_put(&q->uses, PKEY(of), first);
    }
    return true;
}
struct numbers *numbers_new(struct module *m) {
    struct numbers *q = NEW(&m->ctx->arena, struct numbers);
    struct map empty = {.arena = &m->ctx->arena};
    *q = (struct numbers){m->ctx, m, empty, empty, empty, empty};
    if (m->entry) note_views(&q->views, &m->entry->body);
    if (m->entry) walk(&m->entry->body, note_uses, q);
    for (int k = 0; k < m->procs.n; k++) walk(&m->procs.v[k]->body, note_uses, q);
    return q;
}

/* ---- ranges */
static bool range_of_cells(void *env, const struct buf *b, struct x_range *r);
static bool is_cell_of(expr e, const struct buf *b) { return e->op == X_LOAD && e->u.buf == b && !e->has_fill; }
/* What a store adds to a cell of its own buffer; false: it does not add. */
static bool range_of_term(struct numbers *q, const struct stmt *s, struct x_range *r) {
    const struct buf *b = s->u.store.buf;
    expr v = s->u.store.value;
    if (s->u.store.op == RED_SUM && !x_loads_from(v, b)) {
        *r = x_range_of(v, range_of_cells, q);
        return true;
    }
    if (s->u.store.op != RED_NONE) return false;
    if (v->op == X_FMA && is_cell_of(v->arg[2], b) && !x_loads_from(v->arg[0], b) && !x_loads_from(v->arg[1], b)) {
        double most =
            size_of(x_range_of(v->arg[0], range_of_cells, q)) * size_of(x_range_of(v->arg[1], range_of_cells, q));
        *r = most < INFINITY ? (struct x_range){-most, most, false} : unknown; /* NaN: 0 times infinity */
        return true;
    }
    for (int k = 0; v->op == X_ADD && k < 2; k++)
        if (is_cell_of(v->arg[k], b) && !x_loads_from(v->arg[1 - k], b)) {
            *r = x_range_of(v->arg[1 - k], range_of_cells, q);
            return true;
        }
    return false;
}
/* The range of what is written to b. here: within b's own procedure, for which other buffers are examined, too. */
static struct x_range range_of_writes(struct numbers *q, const struct buf *b, bool here) {
    struct x_range r = nothing, term;
    double most = 0;
    for (const struct use *u = map_get(&q->uses, PKEY(b)); u; u = u->next) {
        const struct stmt *s = u->s;
        if (s->kind == S_CALL) {
            const struct buf *param = s->u.call.callee->params.v[u->k].buf;
            r = x_range_of_both(r, param->type == F32 ? range_of_writes(q, param, false) : unknown);
        } else if (s->kind == S_STORE && s->u.store.op == RED_NONE && !x_loads_from(s->u.store.value, b))
            r = x_range_of_both(r, here ? x_range_of(s->u.store.value, range_of_cells, q) : x_range(s->u.store.value));
        else if (here && s->kind == S_STORE && range_of_term(q, s, &term)) most = fmax(most, size_of(term));
        else return unknown;
    }
    if (b->fill) r = x_range_of_both(r, x_range(b->fill));
    if (r.lo > r.hi || most == 0) return r.lo > r.hi ? unknown : r;
    most = fmax(size_of(r), most * MOST_OF_TERMS);
    return most < FLT_MAX ? (struct x_range){-most, most, false} : unknown;
}
/* Cells between those that hold data, if there are any, are zero, or the fill. */
static struct x_range range_of_data(const struct buf *b) {
    if (!b->data) return unknown;
    struct x_range r = x_range_of_data(b->data);
    if (buf_is_plain(b)) return r;
    r = x_range_of_both(r, (struct x_range){0, 0, false});
    return b->fill ? x_range_of_both(r, x_range(b->fill)) : r;
}
static struct x_range range_of_param(struct numbers *q, const struct buf *b) {
    struct x_range r = nothing, arg;
    for (const struct bound *a = map_get(&q->bounds, PKEY(b)); a; a = a->next)
        r = x_range_of_both(r, range_of_cells(q, a->arg, &arg) ? arg : unknown);
    return r.lo > r.hi ? unknown : r; /* of the entry, of a kernel's text */
}
static bool range_of_cells(void *env, const struct buf *b, struct x_range *r) {
    struct numbers *q = env;
    const struct buf *of = storage_of(&q->views, (struct buf *)b);
    if (b->type != F32 || of->type != F32) return false;
    struct x_range *known = map_get(&q->known, PKEY(of));
    if (!known) {
        known = NEW(&q->c->arena, struct x_range);
        *known = unknown; /* what recursive reads see meanwhile */
        map_put(&q->known, PKEY(of), known);
        *known = of->scope == SC_CONST   ? range_of_data(of)
                 : of->scope == SC_PARAM ? range_of_param(q, of)
                                         : range_of_writes(q, of, true);
    }
    *r = *known;
    return !known->nan;
}
struct x_range numbers_of(struct numbers *q, expr e) {
    return x_range_of(e, range_of_cells, q);
}
