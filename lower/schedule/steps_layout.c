/* The step layout: makes a buffer's physical dims another function of its logical dims. Blocking, packing, halo, rings
 * of rows, padding against aliasing and the shape of register tiles are all done by this step. It rewrites every
 * access, and drops tests of padded loads that the new cells make unnecessary. */
#include "lower/schedule/steps_util.h"
#include <math.h>

struct relayout {
    struct step_run *s;
    struct buf *b;
    const struct layout_dim *v;
    int n;
    expr *old;
    expr *now;
    int old_nd;
    expr around; /* value of the new cells of a parameter */
};

static expr phys_of(struct relayout *r, const struct layout_dim *d, const expr *idx) {
    struct ctx *c = r->s->c;
    expr e = idx[d->d];
    switch (d->form) {
    case DIM_DIV: return x_divi(c, e, d->a);
    case DIM_MOD:
    case DIM_RING: return x_modi(c, e, d->a);
    case DIM_DIVMOD: return x_modi(c, x_divi(c, e, d->a), d->b);
    case DIM_HALO: return x_addi(c, e, d->a);
    case DIM_FLAT: return x_add(c, x_mul(c, e, r->old[d->a]), idx[d->a]);
    default: return e;
    }
}
/* The number of blocks. For an open extent possibly one too many, which is easier to reason about. */
static expr blocks_of(struct ctx *c, expr n, int64_t a) {
    int64_t cells;
    bool whole = x_is_int(n, &cells) || x_is(x_modi(c, n, a), 0);
    return whole ? x_divi(c, x_addi(c, n, a - 1), a) : x_addi(c, x_divi(c, n, a), 1);
}
static expr extent_of(struct relayout *r, const struct layout_dim *d) {
    struct ctx *c = r->s->c;
    expr n = r->old[d->d];
    switch (d->form) {
    case DIM_DIV: return blocks_of(c, n, d->a);
    case DIM_MOD:
    case DIM_RING: return x_int(c, d->a);
    case DIM_DIVMOD: return x_int(c, d->b);
    case DIM_HALO: return x_addi(c, n, d->a + d->b);
    case DIM_FLAT: return x_mul(c, n, r->old[d->a]);
    default: return n;
    }
}
static expr *phys(struct relayout *r, const expr *idx) {
    expr *out = NEWN(&r->s->c->arena, expr, r->n);
    for (int k = 0; k < r->n; k++) out[k] = phys_of(r, &r->v[k], idx);
    return out;
}

/* ---- legality */
static bool users_ok(struct step_run *s, const struct buf *b) {
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++) {
        struct stmt *t = all.v[k];
        if (stmt_names(t, b))
            return step_refuse(s, "layouts come before tensorize and prefetch, and not for buffers of calls",
                               "`%s` is used by %s that knows its layout", b->name, stmt_what(t));
    }
    return true;
}
static bool dims_ok(struct relayout *r) {
    struct step_run *s = r->s;
    for (int k = 0; k < r->n; k++) {
        const struct layout_dim *d = &r->v[k];
        if (d->d >= r->old_nd || (d->form == DIM_FLAT && d->a >= r->old_nd))
            return step_refuse(s, NULL, "`%s` has %d dims, there is no dim %d", r->b->name, r->old_nd,
                               d->d >= r->old_nd ? d->d : (int)d->a);
        if (d->form == DIM_RING && (r->b->scope == SC_PARAM || r->b->scope == SC_CONST))
            return step_refuse(s, "a ring is for a buffer that compute_at placed with roll=",
                               "`%s` is a parameter: all of its rows are live", r->b->name);
    }
    return true;
}
/* Different live cells must stay different. Rings are tested separately. */
static bool injective(struct relayout *r) {
    struct step_run *s = r->s;
    struct vars v = {0};
    expr *idx = NEWN(&s->tmp, expr, r->old_nd);
    bool ring[32] = {false};
    for (int k = 0; k < r->old_nd; k++) {
        const struct var *x = var_new(s->c, internf(s->c->names, "dim %d", k), r->old[k]);
        PUSH(&s->tmp, &v, x);
        idx[k] = x_var(s->c, x);
    }
    for (int k = 0; k < r->n; k++) ring[r->v[k].d] |= r->v[k].form == DIM_RING;
    expr *p = phys(r, idx);
    for (int k = 0; k < r->old_nd; k++)
        if (ring[k]) PUSH(&s->tmp, &v, v.v[k]);
    struct meet m = step_meet(s, p, p, r->n, &v);
    for (int k = 0; k < r->old_nd; k++)
        if (!ring[k] && !has_var(&m.fixed, v.v[k]))
            return step_refuse(s, "list every dim, and both parts (d/c and d%c) of a blocked one",
                               "two cells of `%s` that differ in dim %d would become one", r->b->name, k);
    return true;
}
struct ends {
    expr lo, hi;
};
static bool widen(struct step_run *s, expr e, const struct vars *inner, struct ends *u) {
    expr lo, hi;
    if (!range_over(s, e, inner, &lo, &hi)) return false;
    u->lo = u->lo ? x_min(s->c, u->lo, lo) : lo;
    u->hi = u->hi ? x_max(s->c, u->hi, hi) : hi;
    return true;
}
static bool spans(struct step_run *s, const struct ends *u, int64_t rows) {
    return x_proves_lt(s->c, x_sub(s->c, u->hi, u->lo), x_int(s->c, rows));
}
/* The ring is legal if after its alloc there are nests that only store (the first rows), then one serial loop L that
 * does the rest; and if the rows that an iteration of L touches, including all rows that are still needed, fit into the
 * ring and move forward. */
static bool ring_at(struct relayout *r, struct stmt *alloc, int d, int64_t rows) {
    struct step_run *s = r->s;
    struct ctx *c = s->c;
    const char *need = "a ring is for a buffer that compute_at placed with roll= along this dim", *name = r->b->name;
    struct stmt *loop = NULL;
    struct ends first = {0}, each = {0};
    for (struct stmt *t = alloc->next; t; t = t->next) {
        struct accesses a = {0};
        struct vars inner = {0};
        bool loads = loads_buf(s, t, r->b);
        if (!loads && !stmt_stores_to(t, r->b)) continue;
        if (loop) return step_refuse(s, need, "`%s` is used after the loop that fills it row by row", name);
        if (loads) {
            if (t->kind != S_FOR || t->u.loop.kind != LK_SERIAL)
                return step_refuse(s, need, "`%s` is not filled row by row by a serial loop", name);
            loop = t;
            vars_below(s, &t->u.loop.body, &inner);
        } else {
            struct stmts below = {0};
            stmts_from(s, t, &below);
            for (int k = 0; k < below.n; k++)
                if (below.v[k]->kind == S_FOR) PUSH(&s->tmp, &inner, below.v[k]->u.loop.var);
        }
        accesses_in(s, t, &a);
        for (int k = 0; k < a.n; k++)
            if (a.v[k].buf == r->b && !widen(s, a.v[k].idx[d], &inner, loads ? &each : &first))
                return step_refuse(s, need, "the rows of `%s` that are live cannot be told", name);
    }
    if (!loop) return step_refuse(s, need, "`%s` is never read row by row", name);
    const struct var *v = loop->u.loop.var;
    expr next = x_addi(c, x_var(c, v), 1), zero = x_int(c, 0);
    if (!x_proves_le(c, each.lo, x_subst1(c, each.lo, v, next)) ||
        !x_proves_le(c, each.hi, x_subst1(c, each.hi, v, next)))
        return step_refuse(s, need, "the rows of `%s` do not move forward along `%s`", name, v->name);
    const char *more =
        arena_printf(&c->arena, "a ring holds all rows that one iteration of `%s` reads and writes", v->name);
    if (!spans(s, &each, rows))
        return step_refuse(s, more, "a ring of %lld is too small for the live cells of dim %d of `%s`", (long long)rows,
                           d, name);
    struct ends start = {x_subst1(c, each.lo, v, zero), x_subst1(c, each.hi, v, zero)};
    if (first.lo) start = (struct ends){x_min(c, start.lo, first.lo), x_max(c, start.hi, first.hi)};
    if (!spans(s, &start, rows))
        return step_refuse(s, more, "a ring of %lld is too small for the first rows of dim %d of `%s`", (long long)rows,
                           d, name);
    return true;
}
static bool rings_ok(struct relayout *r) {
    struct step_run *s = r->s;
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < r->n; k++) {
        if (r->v[k].form != DIM_RING || x_proves_le(s->c, r->old[r->v[k].d], x_int(s->c, r->v[k].a))) continue;
        for (int j = 0; j < all.n; j++)
            if (all.v[j]->kind == S_ALLOC && all.v[j]->u.alloc.buf == r->b &&
                !ring_at(r, all.v[j], r->v[k].d, r->v[k].a))
                return false;
    }
    return true;
}
/* Loads with fill will test the physical index: an index outside of dim d must stay outside, or hit a cell that holds
 * the fill value. New cells of a parameter hold what the step border writes in another kernel; those of other buffers
 * hold the fill of the first load. A load with another fill keeps its test of the logical index. */
static bool fills_ok(struct relayout *r) {
    struct step_run *s = r->s;
    struct ctx *c = s->c;
    struct accesses a = {0};
    bool extra = false;
    expr fill = r->b->fill;
    for (int k = 0; k < r->n; k++) {
        const struct layout_dim *d = &r->v[k];
        extra |= d->form == DIM_HALO && d->a + d->b > 0;
    }
    accesses_of(s, &s->p->body, &a);
    for (int k = 0; k < a.n; k++) {
        expr e = a.v[k].load;
        if (!e || a.v[k].buf != r->b || !e->has_fill) continue;
        if (extra && !fill) fill = r->b->scope == SC_PARAM ? r->around : e->arg[e->n - 1];
        for (int d = 0; d < r->old_nd; d++) {
            bool keeps = false, folds = false; /* keeps: one physical dim shows the dim's whole range; folds: but an
                                                * outside index may come back inside */
            for (int q = 0; q < r->n; q++) {
                enum dim_form form = r->v[q].form;
                if (r->v[q].d == d)
                    keeps |= form == DIM_WHOLE || form == DIM_DIV || form == DIM_HALO || form == DIM_FLAT;
                if (form == DIM_FLAT && r->v[q].a == d) folds = true;
            }
            if (keeps && !folds) continue;
            if (!x_proves_inside(c, e->arg[d], r->old[d]))
                return step_refuse(s, "compute_at the buffer first: loads of the box have no fill",
                                   "loads of `%s` with a fill value may leave dim %d, which this layout cannot tell",
                                   r->b->name, d);
        }
    }
    r->b->fill = fill;
    return true;
}

/* ---- rewriting */
/* Pad lanes hold arbitrary values, so an index that may lie behind the last channel is tested before the load. */
static expr among_channels(struct relayout *r, const expr *idx) {
    struct ctx *c = r->s->c;
    expr inside = x_bool(c, true);
    for (int k = 0; k < r->n; k++) {
        const struct layout_dim *d = &r->v[k];
        if (d->form != DIM_DIV || x_is(x_modi(c, r->old[d->d], d->a), 0)) continue;
        inside = x_and(c, inside, x_cmp(c, X_LT, idx[d->d], r->old[d->d]));
    }
    return inside;
}
/* The halo holds another value than `fill`, so an index that may lead there is tested before the load. */
static expr off_halo(struct relayout *r, const expr *idx, expr fill) {
    struct ctx *c = r->s->c;
    expr inside = x_bool(c, true);
    for (int k = 0; k < r->n && fill != r->b->fill; k++) {
        const struct layout_dim *d = &r->v[k];
        if (d->form != DIM_HALO || d->a + d->b == 0) continue;
        inside = x_and(c, inside, x_cmp(c, X_LE, x_int(c, 0), idx[d->d]));
        inside = x_and(c, inside, x_cmp(c, X_LT, idx[d->d], r->old[d->d]));
    }
    return inside;
}
static expr relaid_load(void *env, struct buf *b, expr *idx, int n, expr fill) {
    struct relayout *r = env;
    struct ctx *c = r->s->c;
    (void)n;
    expr *p = phys(r, idx);
    expr v = x_load(c, b, p, r->n, fill && buf_proves_inside(c, b, p) ? NULL : fill);
    return fill ? x_select(c, x_and(c, off_halo(r, idx, fill), among_channels(r, idx)), v, fill) : v;
}
static bool relayout(struct step_run *s, struct buf *b, const struct layout_dim *v, int n) {
    struct relayout r = {s, b, v, n, exprs_copy(s->c, b->dims, b->nd), NEWN(&s->c->arena, expr, n), b->nd, NULL};
    struct stmts all = {0};
    r.around = x_num(s->c, dtype_value(b->type), s->step->u.layout.fill);
    if (s->step->u.layout.fill != 0 && b->scope == SC_PARAM) b->fill = r.around;
    if (!users_ok(s, b) || !dims_ok(&r) || !injective(&r) || !rings_ok(&r) || !fills_ok(&r)) return false;
    for (int k = 0; k < n; k++) r.now[k] = extent_of(&r, &v[k]);
    b->map = phys(&r, b->map);
    b->dims = r.now;
    b->nd = n;
    b->pad = NULL;
    map_loads(s, &s->p->body, b, relaid_load, &r);
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_STORE && all.v[k]->u.store.buf == b)
            copy_idx(s->c, all.v[k], phys(&r, all.v[k]->u.store.idx), n);
    return true;
}

/* ---- the step */
/* Can the type represent the value? */
static bool holds_fill(enum dtype t, double fill) {
    int bits = dtype_bits(t);
    if (dtype_is_half(t)) return isinf(fill) || fabs(fill) <= 256; /* bf16 has 8 significant bits */
    if (dtype_is_float(t)) return bits > 16;
    double least = dtype_is_signed(t) ? -ldexp(1, bits - 1) : 0;
    return dtype_is_int(t) && fill >= least && fill < least + ldexp(1, bits);
}
static bool set_pads(struct step_run *s, const struct layout_pads *pads, struct buf *b) {
    for (int k = 0; k < pads->n; k++) {
        if (pads->v[k].d >= b->nd)
            return step_refuse(s, NULL, "`%s` has %d dims after this step, no dim %lld to pad", b->name, b->nd,
                               (long long)pads->v[k].d);
        if (!b->pad) b->pad = NEWN(&s->c->arena, int64_t, b->nd);
        b->pad[pads->v[k].d] = pads->v[k].cells;
    }
    return true;
}
static bool set_scope(struct step_run *s, enum scope to, struct buf *b) {
    int64_t n;
    if (b->scope == SC_PARAM || b->scope == SC_CONST)
        return step_refuse(s, "cache_read or cache_write it", "`%s` is a parameter or constant and stays where it is",
                           b->name);
    for (int d = 0; d < b->nd && to != SC_ARENA; d++)
        if (!x_is_int(b->dims[d], &n))
            return step_refuse(s, "use scope=arena", "dim %d of `%s` is not constant", d, b->name);
    b->scope = to;
    return true;
}
bool apply_layout(struct step_run *s) {
    struct buf **v;
    int n;
    const char *name = s->step->u.layout.buf;
    const struct layout_dims *dims = &s->step->u.layout.dims;
    const struct layout_pads *pads = &s->step->u.layout.pads;
    double fill = s->step->u.layout.fill;
    enum scope scope = s->step->u.layout.scope;
    if (!dims->v && !pads->n && !scope) return step_usage(s);
    if (!find_buf(s, name)) return false;
    if (dims->n > 32) return step_refuse(s, NULL, "more than 32 dims");
    bufs_named(s, name, &v, &n);
    for (int k = 0; k < n; k++) {
        if (fill != 0 && !holds_fill(v[k]->type, fill))
            return step_refuse(s, NULL, "%g fits no cell of `%s`", fill, name);
        if (dims->v && !relayout(s, v[k], dims->v, dims->n)) return false;
        if (pads->n && (!users_ok(s, v[k]) || !set_pads(s, pads, v[k]))) return false;
        if (scope && !set_scope(s, scope, v[k])) return false;
    }
    return true;
}
