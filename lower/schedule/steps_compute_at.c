/* The step compute_at, the central one: computes a stage inside of a loop of its consumer, shrunk to what one iteration
 * reads. */
#include "lower/schedule/steps_util.h"
#include <string.h>

struct placing {
    struct step_run *s;
    struct pristine p;
    enum scope scope;
    int roll;        /* the dim that rolls, or -1 */
    struct stmt *at; /* the loop */
    struct buf *buf; /* the instance for this loop */
    int nd;
    expr *lo, *ext; /* the box that one iteration reads */
    expr *origin;   /* cell 0 of the instance */
    expr fill;      /* of padded loads, or NULL */
    bool clipped;   /* cells outside of the valid range are never stored */
};
enum { MAX_SMALL = 4096 };
static bool box_of(struct placing *q) {
    struct step_run *s = q->s;
    struct ctx *c = s->c;
    struct accesses a = {0};
    struct vars inner = {0};
    expr *hi = NEWN(&s->tmp, expr, q->nd);
    bool any = false;
    q->fill = NULL;
    vars_below(s, &q->at->u.loop.body, &inner);
    accesses_of(s, &q->at->u.loop.body, &a);
    for (int k = 0; k < a.n; k++) {
        expr e = a.v[k].load;
        if (!e || a.v[k].buf != q->p.buf) continue;
        if (e->has_fill && q->fill && q->fill != e->arg[q->nd])
            return step_refuse(s, "give the two readers a buffer each", "loads of `%s` have different fill values",
                               q->p.buf->name);
        if (e->has_fill) q->fill = e->arg[q->nd];
        for (int d = 0; d < q->nd; d++) {
            expr l, h;
            if (!range_over(s, e->arg[d], &inner, &l, &h))
                return step_refuse(s, "an index that is itself loaded has no box",
                                   "what `%s` reads of `%s` along dim %d has no bounds", q->at->u.loop.var->name,
                                   q->p.buf->name, d);
            q->lo[d] = any ? x_proves_le(c, q->lo[d], l) ? q->lo[d] : x_min(c, q->lo[d], l) : l;
            hi[d] = any ? x_proves_le(c, h, hi[d]) ? hi[d] : x_max(c, hi[d], h) : h;
        }
        any = true;
    }
    for (int d = 0; any && d < q->nd; d++) {
        int64_t n;
        expr last = x_addi(c, q->p.buf->dims[d], -1);
        q->ext[d] = x_addi(c, x_sub(c, hi[d], q->lo[d]), 1);
        /* What is not padded lies inside, even if its bounds do not; but tiles keep their constant size. */
        if (!q->fill && x_is_int(q->ext[d], &n) && n > MAX_SMALL && x_proves_lt(c, last, hi[d]))
            q->ext[d] = x_addi(c, x_sub(c, last, q->lo[d]), 1);
    }
    return any;
}
static bool no_loop_var(void *env, expr e) {
    (void)env;
    return e->op != X_VAR;
}
static const int64_t MAX_BOUND = (int64_t)1 << 40;
/* The instance's dims: the box's extents, or constant bounds if the extents depend on loops. */
static bool dims_of(struct placing *q, expr *dims) {
    struct step_run *s = q->s;
    for (int d = 0; d < q->nd; d++) {
        int64_t l, h;
        dims[d] = q->ext[d];
        if (x_is_int(dims[d], &h)) continue;
        x_bounds(s->c, dims[d], &l, &h);
        bool loops = !x_visit(dims[d], no_loop_var, NULL), big = q->scope == SC_ARENA || q->scope == SC_REGION;
        if (h <= (big ? MAX_BOUND : MAX_SMALL) && (loops || !big)) dims[d] = x_int(s->c, h < 0 ? 0 : h);
        else if (loops)
            return step_refuse(s, "move it to another loop, or split the loop by a constant first",
                               "what an iteration of `%s` reads of `%s` has no constant extent in dim %d",
                               q->at->u.loop.var->name, q->p.buf->name, d);
        else if (!big)
            return step_refuse(s, "use scope arena, or split the loop by a constant first",
                               "dim %d of `%s` would have a run-time extent, which scope %s cannot hold", d,
                               q->p.buf->name, scope_name(q->scope));
    }
    return true;
}
struct moved {
    struct buf *to;
    const expr *origin;
    struct step_run *s;
};
static expr moved_load(void *env, struct buf *b, expr *idx, int n, expr fill) {
    struct moved *m = env;
    (void)b, (void)fill; /* the box covers every read; cells outside of the valid range hold the fill */
    for (int d = 0; d < n; d++) idx[d] = x_sub(m->s->c, idx[d], m->origin[d]);
    return x_load(m->s->c, m->to, idx, n, NULL);
}
/* Nest k of the stage over the box lo, ext, storing at index - origin. NULL: it is empty. */
static struct stmt *place_nest(struct placing *q, int k, const expr *lo_in, const expr *ext_in) {
    struct step_run *s = q->s;
    struct ctx *c = s->c;
    struct buf *orig = q->p.buf;
    struct stmt *st = q->p.store[k];
    struct subst sub = {{.arena = &s->tmp}};
    struct stmts *chain = &q->p.chain[k];
    const struct var **fresh = NEWN(&s->tmp, const struct var *, chain->n);
    expr *idx = NEWN(&s->tmp, expr, q->nd), cond = x_bool(c, true);
    for (int j = 0; j < chain->n; j++) {
        const struct var *old = chain->v[j]->u.loop.var;
        expr ext = x_subst(c, old->extent, &sub), lo = x_int(c, 0);
        for (int d = 0; d < q->nd; d++) {
            int64_t a, b, n;
            if (st->u.store.idx[d] != x_var(c, old)) continue;
            lo = lo_in[d], ext = ext_in[d];
            if (q->fill && x_is_int(lo, &a) && x_is_int(ext, &b) && x_is_int(orig->dims[d], &n)) {
                int64_t end = a + b < n ? a + b : n;
                if (a < 0 || end < a + b) q->clipped = true;
                a = a < 0 ? 0 : a;
                lo = x_int(c, a), ext = x_int(c, end > a ? end - a : 0);
            }
        }
        if (x_is(ext, 0)) return NULL;
        fresh[j] = var_new(c, old->name, ext);
        map_put(&sub.map, PKEY(old), (void *)x_add(c, lo, x_var(c, fresh[j])));
    }
    for (int d = 0; d < q->nd; d++) {
        expr e = x_subst(c, st->u.store.idx[d], &sub);
        if (!holds_nonneg(s, q->at, e)) cond = x_and(c, cond, x_cmp(c, X_LE, x_int(c, 0), e));
        cond = x_and(c, cond, x_cmp(c, X_LT, e, orig->dims[d]));
        idx[d] = x_sub(c, e, q->origin[d]);
    }
    struct moved m = {q->buf, q->origin, s};
    struct stmt *leaf = s_store(c, q->buf, idx, q->nd, st->u.store.op,
                                map_loads_expr(s, x_subst(c, st->u.store.value, &sub), orig, moved_load, &m));
    if (!x_is_true(cond)) { /* cells outside of the stage are not computed: nobody reads them, or they hold the fill */
        struct stmt *g = s_if(c, cond);
        block_append(&g->u.cond.then, leaf);
        if (q->fill && k == 0) block_append(&g->u.cond.other, s_store(c, q->buf, idx, q->nd, RED_NONE, q->fill));
        leaf = g;
    }
    for (int j = chain->n - 1; j >= 0; j--) {
        struct stmt *f = s_for(c, fresh[j], chain->v[j]->u.loop.kind);
        f->u.loop.outline = chain->v[j]->u.loop.outline;
        block_append(&f->u.loop.body, leaf);
        leaf = f;
    }
    return leaf;
}
static void place_before(struct placing *q, struct stmt *at, const expr *lo, const expr *ext) {
    for (int k = 0; k < q->p.n; k++) {
        struct stmt *t = place_nest(q, k, lo, ext);
        if (t) stmt_insert_before(at, t);
    }
}
/* roll: the box moves forward by `step` rows per iteration, and the instance outlives the loop, so that rows are
 * computed once. It is addressed from its first row. */
static bool roll_of(struct placing *q, expr *dims, int64_t *step, int64_t *keep) {
    struct step_run *s = q->s;
    struct ctx *c = s->c;
    const struct var *v = q->at->u.loop.var;
    struct vars only = {0};
    int d = q->roll;
    int64_t ext;
    expr lo = q->lo[d], first, last;
    if (q->at->u.loop.kind != LK_SERIAL)
        return step_refuse(s, "leave the loop serial; make one around it parallel",
                           "roll needs a serial loop; `%s` is %s", v->name, loop_kind_name(q->at->u.loop.kind));
    expr ahead = x_sub(c, x_subst1(c, lo, v, x_addi(c, x_var(c, v), 1)), lo);
    if (!x_is_int(ahead, step) || *step <= 0 || !x_is_int(q->ext[d], &ext) || *step > ext)
        return step_refuse(s, "roll along the dim that the loop walks forward, with windows that touch",
                           "roll=%d needs a window of `%s` that moves forward by a constant with `%s`, without gaps", d,
                           q->p.buf->name, v->name);
    *keep = ext - *step;
    for (int k = 0; k < q->nd; k++)
        if (k != d && (x_uses_var(c, q->lo[k], v) || x_uses_var(c, q->ext[k], v)))
            return step_refuse(s, "roll along one dim only", "dim %d of the box of `%s` moves with `%s` too", k,
                               q->p.buf->name, v->name);
    q->origin[d] = x_subst1(c, lo, v, x_int(c, 0));
    PUSH(&s->tmp, &only, v);
    if (!range_over(s, x_sub(c, lo, q->origin[d]), &only, &first, &last))
        return step_refuse(s, NULL, "the rows of `%s` have no bounds", q->p.buf->name);
    dims[d] = x_add(c, last, q->ext[d]);
    return true;
}
static bool place_one(struct placing *q) {
    struct step_run *s = q->s;
    struct ctx *c = s->c;
    struct block *body = &q->at->u.loop.body;
    expr *dims = NEWN(&s->tmp, expr, q->nd), *lo, *ext;
    int64_t step = 0, keep = 0;
    if (q->at->u.loop.kind == LK_VECTOR) return step_refuse(s, NULL, "`%s` is a vector loop", q->at->u.loop.var->name);
    struct stmts all = {0};
    stmts_below(s, body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_SIZE || all.v[k]->kind == S_WHILE)
            return step_refuse(s, NULL, "there is %s in `%s`", stmt_what(all.v[k]), q->at->u.loop.var->name);
    for (int d = 0; d < q->nd; d++) q->origin[d] = q->lo[d];
    q->clipped = false;
    if (!dims_of(q, dims) || (q->roll >= 0 && !roll_of(q, dims, &step, &keep))) return false;
    q->buf = buf_new(c, s->p, q->p.buf->base, q->p.buf->type, q->scope, dims, q->nd);
    struct stmt *use = body->first, *alloc = s_alloc(c, q->buf);
    while (use && !loads_buf(s, use, q->p.buf)) use = use->next;
    ASSERT(use);
    lo = exprs_copy(c, q->lo, q->nd);
    ext = exprs_copy(c, q->ext, q->nd);
    if (q->roll >= 0) { /* the rows that the first iteration expects; then `step` new rows in each iteration */
        int d = q->roll;
        stmt_insert_before(q->at, alloc);
        lo[d] = q->origin[d];
        ext[d] = x_int(c, keep);
        if (keep) place_before(q, q->at, lo, ext);
        lo[d] = x_addi(c, q->lo[d], keep);
        ext[d] = x_int(c, step);
    } else {
        stmt_insert_before(use, alloc);
    }
    place_before(q, use, lo, ext);
    if (q->fill && (q->clipped || q->roll >= 0)) q->buf->fill = q->fill;
    struct moved m = {q->buf, q->origin, s};
    map_loads(s, body, q->p.buf, moved_load, &m);
    return true;
}
bool apply_compute_at(struct step_run *s) {
    enum scope scope = s->step->u.compute_at.scope;
    int64_t roll = s->step->u.compute_at.roll;
    struct placing q = {.s = s, .scope = scope ? scope : SC_REG, .roll = roll > 31 ? 32 : (int)roll};
    const char *at = s->step->u.compute_at.loop;
    struct stmts l = {0};
    struct accesses rest = {0};
    int count = 0;
    if (roll < -1) return step_usage(s);
    if (!find_loops(s, at, &l) || !find_pristine(s, s->step->u.compute_at.buf, &q.p)) return false;
    struct buf *b = q.p.buf;
    if (b->scope == SC_PARAM || b->scope == SC_CONST)
        return step_refuse(s, "cache_write it and place the copy",
                           "`%s` is a parameter: all of it must be there in the end", b->name);
    q.nd = b->nd;
    if (q.roll >= q.nd)
        return step_refuse(s, NULL, "`%s` has %d dims, there is no dim %d to roll along", b->name, q.nd, q.roll);
    if (!only_loads(s, b)) return false;
    struct stmt *upto = NULL;
    for (int k = 0; k < l.n; k++) {
        if (top_of(l.v[k]) == q.p.nest[0] || top_of(l.v[k]) == q.p.nest[q.p.n - 1])
            return step_refuse(s, NULL, "`%s` is a loop of `%s` itself", at, b->name);
        if (loads_buf(s, l.v[k], b)) upto = top_of(l.v[k]);
    }
    if (!upto)
        return step_refuse(s, "name a loop of the consumer that is already in place; consumers come first",
                           "`%s` does not read `%s`", at, b->name);
    if (!inputs_stable(s, &q.p, upto)) return false;
    for (int k = 0; k < q.p.n; k++) stmt_remove(q.p.nest[k]);
    drop_buf(s, b);
    q.lo = NEWN(&s->tmp, expr, q.nd), q.ext = NEWN(&s->tmp, expr, q.nd), q.origin = NEWN(&s->tmp, expr, q.nd);
    for (int k = 0; k < l.n; k++) {
        q.at = l.v[k];
        if (!loads_buf(s, q.at, b)) continue;
        if (!box_of(&q) || !place_one(&q)) return false;
        count++;
    }
    accesses_of(s, &s->p->body, &rest);
    for (int k = 0; k < rest.n; k++)
        if (rest.v[k].buf == b) {
            struct stmt *up = stmt_parent(rest.v[k].s);
            while (up && up->kind != S_FOR) up = stmt_parent(up);
            return step_refuse(
                s, "choose a loop that holds all readers (schedule outside in), or cache_read it for one of them",
                "`%s` is also read outside of `%s`%s%s", b->name, at, up ? ", in loop " : "",
                up ? up->u.loop.var->name : "");
        }
    return count > 0;
}
