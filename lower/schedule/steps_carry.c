/* The step carry: does a reduction in blocks. The reduction loop moves outside of another loop, and between its
 * iterations the partial results are kept in the output. */
#include "lower/schedule/steps_util.h"
#include <string.h>

struct tile {
    struct stmt *loop, *alloc, *store;
    struct buf *acc;
    expr cell;
}; /* reduction loop, its accumulator, epilogue's store and load */
struct carry {
    struct step_run *s;
    struct stmt *outer;
    struct {
        struct tile *v;
        int n, cap;
    } tiles;
    struct vars moving;
};

static bool find_cell(struct step_run *s, struct tile *t, struct buf *out_of) {
    struct accesses a = {0};
    struct stmts all = {0};
    int n = 0;
    for (struct stmt *e = t->loop->next; e; e = e->next) stmts_from(s, e, &all);
    for (int k = 0; k < all.n; k++) {
        if (all.v[k]->kind == S_STORE) t->store = all.v[k], n++;
        else if (all.v[k]->kind != S_FOR && all.v[k]->kind != S_IF && all.v[k]->kind != S_COMMENT)
            return step_refuse(s, "carry before placing other stages behind the reduction",
                               "the epilogue of `%s` holds %s", out_of->base, stmt_what(all.v[k]));
    }
    if (n != 1 || update_op(t->store) != RED_NONE)
        return step_refuse(s, "carry needs one plain store behind the reduction loop",
                           "the epilogue of `%s` is not one plain store", out_of->base);
    accesses_in(s, t->store, &a);
    for (int k = 0; k < a.n; k++) {
        if (!a.v[k].load || a.v[k].buf != out_of) continue;
        if (t->cell) return step_refuse(s, NULL, "the epilogue reads `%s` twice", out_of->base);
        t->cell = a.v[k].load;
    }
    if (!t->cell || t->cell->has_fill) return step_refuse(s, NULL, "the epilogue does not read `%s`", out_of->base);
    return true;
}
/* Each cell of the accumulator has a cell of the output in which it can wait, and vice versa. */
static bool one_to_one(struct step_run *s, struct tile *t) {
    struct vars inner = {0};
    int64_t cells = 1, runs = 1, n;
    for (struct stmt *up = stmt_parent(t->store); up != stmt_parent(t->loop); up = stmt_parent(up)) {
        if (up->kind != S_FOR) continue;
        PUSH(&s->tmp, &inner, up->u.loop.var);
        if (!x_is_int(up->u.loop.var->extent, &n) || !mul_ok(runs, n, &runs))
            return step_refuse(s, NULL, "`%s` has a run-time extent", up->u.loop.var->name);
    }
    for (int d = 0; d < t->acc->nd; d++)
        if (!x_is_int(t->acc->dims[d], &n) || !mul_ok(cells, n, &cells))
            return step_refuse(s, NULL, "`%s` has run-time extents", t->acc->name);
    struct meet m = step_meet(s, t->cell->arg, t->cell->arg, t->acc->nd, &inner);
    if (cells != runs || m.fixed.n != inner.n)
        return step_refuse(s, NULL, "the epilogue does not take each cell of `%s` to one cell of `%s`", t->acc->name,
                           t->store->u.store.buf->name);
    if (t->acc->type != t->store->u.store.buf->type)
        return step_refuse(s, "store the output in the accumulator's type", "`%s` is %s and cannot keep the %s of `%s`",
                           t->store->u.store.buf->name, dtype_name(t->store->u.store.buf->type),
                           dtype_name(t->acc->type), t->acc->name);
    return true;
}
static bool find_tile(struct carry *q, struct stmt *loop, const char *acc) {
    struct step_run *s = q->s;
    struct tile t = {.loop = loop};
    if (loop->u.loop.kind != LK_SERIAL || loop->u.loop.piped)
        return step_refuse(s, "carry before kind", "`%s` is not a serial loop", loop->u.loop.var->name);
    for (struct stmt *p = loop->prev; p && !t.alloc; p = p->prev)
        if (p->kind == S_ALLOC && !strcmp(p->u.alloc.buf->base, acc)) t.alloc = p;
    if (!t.alloc)
        return step_refuse(s, "compute_at the reduction first, and reorder its loop to the outside",
                           "`%s` is not allocated beside `%s`", acc, loop->u.loop.var->name);
    t.acc = t.alloc->u.alloc.buf;
    for (struct stmt *p = t.alloc->next; p != loop; p = p->next) {
        struct accesses a = {0};
        accesses_in(s, p, &a);
        for (int k = 0; k < a.n; k++)
            if (a.v[k].store && a.v[k].buf != t.acc)
                return step_refuse(s, NULL, "`%s` is stored between `%s` and its reduction", a.v[k].buf->name, acc);
        if (p->kind == S_ALLOC)
            return step_refuse(s, NULL, "another buffer is allocated between `%s` and its reduction", acc);
    }
    if (!find_cell(s, &t, t.acc) || !one_to_one(s, &t)) return false;
    PUSH(&s->tmp, &q->tiles, t);
    return true;
}
static bool apart(struct carry *q, struct stmt *a, struct stmt *b) {
    struct step_run *s = q->s;
    int n = a->u.store.n;
    if (step_meet(s, a->u.store.idx, b->u.store.idx, n, &q->moving).never) return true;
    for (int d = 0; d < n; d++) {
        expr la, ha, lb, hb;
        if (!range_over(s, a->u.store.idx[d], &q->moving, &la, &ha) ||
            !range_over(s, b->u.store.idx[d], &q->moving, &lb, &hb))
            continue;
        if (x_proves_lt(s->c, ha, lb) || x_proves_lt(s->c, hb, la)) return true;
    }
    return false;
}
static bool carry_legal(struct carry *q) {
    struct step_run *s = q->s;
    struct block *body = &q->outer->u.loop.body;
    struct accesses a = {0};
    struct stmt *bad = opaque_in(s, body);
    const struct var *o = q->outer->u.loop.var;
    if (bad) return step_refuse(s, NULL, "there is %s in `%s`", stmt_what(bad), o->name);
    PUSH(&s->tmp, &q->moving, o);
    vars_below(s, body, &q->moving);
    accesses_of(s, body, &a);
    for (int k = 0; k < q->tiles.n; k++) {
        struct tile *t = &q->tiles.v[k];
        struct stmt *st = t->store;
        expr e = t->loop->u.loop.var->extent;
        if (e != q->tiles.v[0].loop->u.loop.var->extent || uses_any(e, &q->moving))
            return step_refuse(s, NULL, "the extents of `%s` differ between tiles", t->loop->u.loop.var->name);
        struct meet m = step_meet(s, st->u.store.idx, st->u.store.idx, st->u.store.n, &q->moving);
        for (struct stmt *up = stmt_parent(st); up != stmt_parent(q->outer); up = stmt_parent(up))
            if (up->kind == S_FOR && !has_var(&m.fixed, up->u.loop.var))
                return step_refuse(s, "split with cut or cut2 instead of overlap",
                                   "tiles of `%s` overlap along `%s`: a partial result would be overwritten",
                                   st->u.store.buf->name, up->u.loop.var->name);
        for (int j = 0; j < k; j++)
            if (st->u.store.buf == q->tiles.v[j].store->u.store.buf && !apart(q, st, q->tiles.v[j].store))
                return step_refuse(s, "split with cut or cut2 instead of overlap",
                                   "two tiles of `%s` may overlap: a partial result would be overwritten",
                                   st->u.store.buf->name);
        for (int j = 0; j < a.n; j++)
            if (!a.v[j].store && a.v[j].buf == st->u.store.buf)
                return step_refuse(s, "carry only where the output is not an operand too",
                                   "`%s` is read in `%s`, but would hold partial results", st->u.store.buf->name,
                                   o->name);
    }
    for (int k = 0; k < q->tiles.n; k++) {
        struct tile *t = &q->tiles.v[k];
        struct accesses in = {0};
        accesses_of(s, &t->loop->u.loop.body, &in);
        for (int j = 0; j < in.n; j++)
            if (in.v[j].store && in.v[j].buf != t->acc && !block_allocs(&t->loop->u.loop.body, in.v[j].buf))
                return step_refuse(s, "carry one accumulator; place the other in a tile of its own",
                                   "`%s` updates `%s` too, which would not be carried", t->loop->u.loop.var->name,
                                   in.v[j].buf->name);
    }
    for (int j = 0; j < a.n; j++) {
        bool known = !a.v[j].store || block_allocs(body, a.v[j].buf);
        for (int k = 0; k < q->tiles.n; k++) known |= a.v[j].s == q->tiles.v[k].store;
        if (!known)
            return step_refuse(s, NULL,
                               "`%s` is stored in `%s` and would be stored once for each block of the reduction",
                               a.v[j].buf->name, o->name);
    }
    return true;
}
/* Moves the statements from `from` up to `to` (NULL: the end) out of their block. */
static struct block *take(struct ctx *c, struct stmt *from, struct stmt *to) {
    struct block *b = NEW(&c->arena, struct block);
    while (from && from != to) {
        struct stmt *next = from->next;
        stmt_remove(from);
        block_append(b, from);
        from = next;
    }
    return b;
}
/* A copy of the epilogue's nest that stores the partial result (back) or loads it. */
static void transfer(struct step_run *s, struct tile *t, const struct block *epilogue, bool back, struct block *out) {
    struct ctx *c = s->c;
    struct block copy = clone_block(c, epilogue);
    block_move(out, &copy);
    struct stmts all = {0};
    stmts_below(s, out, &all);
    for (int k = 0; k < all.n; k++) {
        if (all.v[k]->kind != S_STORE) continue;
        struct accesses a = {0};
        struct stmt *st = all.v[k];
        accesses_in(s, st, &a);
        expr cell = NULL;
        for (int j = 0; j < a.n; j++)
            if (a.v[j].load && a.v[j].buf == t->acc) cell = a.v[j].load;
        ASSERT(cell);
        if (back) {
            st->u.store.value = cell;
            continue;
        }
        st->u.store.value = x_load(c, st->u.store.buf, st->u.store.idx, st->u.store.n, NULL);
        st->u.store.buf = t->acc;
        copy_idx(c, st, cell->arg, cell->n);
    }
}
static void either(struct ctx *c, struct block *out, expr cond, struct block *then, struct block *other) {
    struct stmt *g = s_if(c, cond);
    block_append(out, g);
    block_move(&g->u.cond.then, then);
    block_move(&g->u.cond.other, other);
    if (x_is_true(cond)) stmt_replace(g, &g->u.cond.then);
    else if (x_is_false(cond)) stmt_replace(g, &g->u.cond.other);
}
static void carry_tile(struct step_run *s, struct tile *t, const struct var *k0) {
    struct ctx *c = s->c;
    struct stmt *loop = t->loop;
    struct block *in = loop->in, fwd = {0}, back = {0};
    expr k = x_var(c, k0), last = x_addi(c, k0->extent, -1);
    struct block *epilogue = take(c, loop->next, NULL), *init = take(c, t->alloc->next, loop);
    transfer(s, t, epilogue, false, &fwd);
    transfer(s, t, epilogue, true, &back);
    stmt_remove(loop);
    either(c, in, x_cmp(c, X_EQ, k, x_int(c, 0)), init, &fwd);
    struct block *body = NEW(&c->arena, struct block);
    block_move(body, &loop->u.loop.body);
    subst_var(s, body, loop->u.loop.var, k);
    block_move(in, body);
    either(c, in, x_cmp(c, X_EQ, k, last), epilogue, &back);
}
bool apply_carry(struct step_run *s) {
    struct ctx *c = s->c;
    struct stmts ks = {0}, outs = {0};
    int done = 0;
    const char *loop = s->step->u.carry.loop, *outer = s->step->u.carry.outer, *acc = s->step->u.carry.buf;
    if (!find_loops(s, loop, &ks) || !find_loops(s, outer, &outs) || !find_buf(s, acc)) return false;
    for (int k = 0; k < outs.n; k++) {
        struct carry q = {.s = s, .outer = outs.v[k]};
        for (int j = 0; j < ks.n; j++)
            if (ks.v[j] != outs.v[k] && encloses(outs.v[k], ks.v[j]) && !find_tile(&q, ks.v[j], acc)) return false;
        if (!q.tiles.n) continue;
        if (q.outer->u.loop.kind == LK_VECTOR || q.outer->u.loop.kind >= LK_BLOCK_X)
            return step_refuse(s, "carry before kind", "`%s` is a %s loop", outer,
                               loop_kind_name(q.outer->u.loop.kind));
        if (!carry_legal(&q)) return false;
        const struct var *k0 = var_new(c, loop, q.tiles.v[0].loop->u.loop.var->extent);
        struct stmt *f = s_for(c, k0, LK_SERIAL);
        stmt_insert_before(q.outer, f);
        stmt_remove(q.outer);
        block_append(&f->u.loop.body, q.outer);
        for (int j = 0; j < q.tiles.n; j++) carry_tile(s, &q.tiles.v[j], k0);
        done++;
    }
    if (!done) return step_refuse(s, NULL, "there is no loop `%s` inside of `%s`", loop, outer);
    return true;
}
