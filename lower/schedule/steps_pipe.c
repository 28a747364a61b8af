/* Steps that move work between iterations: carry (blocks of a reduction, the state waiting in the output), prefetch and
 * pipeline (operands of the next iteration). */
#include "lower/schedule/steps_util.h"
#include <string.h>

/* ---- carry */
struct tile {
    struct stmt *loop, *alloc, *store;
    struct buf *acc;
    expr cell;
}; /* reduction loop, its accumulator, epilogue's store and load */
struct carry {
    struct step *s;
    struct stmt *outer;
    struct {
        struct tile *v;
        int n, cap;
    } tiles;
    struct vars moving;
};

static bool find_cell(struct step *s, struct tile *t, struct buf *out_of) {
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
/* One cell of the accumulator waits in one cell of the output, and every cell does. */
static bool one_to_one(struct step *s, struct tile *t) {
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
    struct meet m = cells_meet(s, t->cell->arg, t->cell->arg, t->acc->nd, &inner);
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
    struct step *s = q->s;
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
    struct step *s = q->s;
    int n = a->u.store.n;
    if (cells_meet(s, a->u.store.idx, b->u.store.idx, n, &q->moving).never) return true;
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
    struct step *s = q->s;
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
        if (e != q->tiles.v[0].loop->u.loop.var->extent || uses_any(s, e, &q->moving))
            return step_refuse(s, NULL, "the extents of `%s` differ between tiles", t->loop->u.loop.var->name);
        struct meet m = cells_meet(s, st->u.store.idx, st->u.store.idx, st->u.store.n, &q->moving);
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
            if (in.v[j].store && in.v[j].buf != t->acc && !allocated_in(s, &t->loop->u.loop.body, in.v[j].buf))
                return step_refuse(s, "carry one accumulator; place the other in a tile of its own",
                                   "`%s` updates `%s` too, which would not be carried", t->loop->u.loop.var->name,
                                   in.v[j].buf->name);
    }
    for (int j = 0; j < a.n; j++) {
        bool known = !a.v[j].store || allocated_in(s, body, a.v[j].buf);
        for (int k = 0; k < q->tiles.n; k++) known |= a.v[j].s == q->tiles.v[k].store;
        if (!known)
            return step_refuse(s, NULL,
                               "`%s` is stored in `%s` and would be stored once for each block of the reduction",
                               a.v[j].buf->name, o->name);
    }
    return true;
}
/* Statements from `from` to before `to` (NULL: the end), moved out of their block. */
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
/* A copy of the epilogue's nest whose store keeps (back) or fetches the partial result. */
static void transfer(struct step *s, struct tile *t, const struct block *epilogue, bool back, struct block *out) {
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
static void carry_tile(struct step *s, struct tile *t, const struct var *k0) {
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
bool apply_carry(struct step *s) {
    struct ctx *c = s->c;
    struct stmts ks = {0}, outs = {0};
    int done = 0;
    if (!words_ok(s, 3, 3) || !find_loops(s, s->w[0].text, &ks) || !find_loops(s, s->w[1].text, &outs) ||
        !find_buf(s, s->w[2].text))
        return false;
    for (int k = 0; k < outs.n; k++) {
        struct carry q = {.s = s, .outer = outs.v[k]};
        for (int j = 0; j < ks.n; j++)
            if (ks.v[j] != outs.v[k] && encloses(outs.v[k], ks.v[j]) && !find_tile(&q, ks.v[j], s->w[2].text))
                return false;
        if (!q.tiles.n) continue;
        if (q.outer->u.loop.kind == LK_VECTOR || q.outer->u.loop.kind >= LK_BLOCK_X)
            return step_refuse(s, "carry before kind", "`%s` is a %s loop", s->w[1].text,
                               loop_kind_name(q.outer->u.loop.kind));
        if (!carry_legal(&q)) return false;
        const struct var *k0 = var_new(c, s->w[0].text, q.tiles.v[0].loop->u.loop.var->extent);
        struct stmt *f = s_for(c, k0, LK_SERIAL);
        stmt_insert_before(q.outer, f);
        stmt_remove(q.outer);
        block_append(&f->u.loop.body, q.outer);
        for (int j = 0; j < q.tiles.n; j++) carry_tile(s, &q.tiles.v[j], k0);
        done++;
    }
    if (!done) return step_refuse(s, NULL, "there is no loop `%s` inside of `%s`", s->w[0].text, s->w[1].text);
    return true;
}

/* ---- prefetch */
enum { LINE_BYTES = 64, MAX_LINES = 64 };
static struct stmt *around(struct stmt *t, const char *name) {
    for (; t; t = stmt_parent(t))
        if (is_named(t, name)) return t;
    return NULL;
}
/* Pieces of one loop, made by cut or sizes, stand side by side and share the work: iterations before this piece, and
 * all. */
static bool shares(struct stmt *loop, int64_t *before, int64_t *all) {
    int64_t n;
    *before = *all = 0;
    struct stmt *t = loop->in->first;
    for (bool past = false; t; t = t->next) {
        past |= t == loop;
        if (!is_named(t, loop->u.loop.var->name)) continue;
        if (!x_is_int(t->u.loop.var->extent, &n)) return false;
        *all += n;
        if (!past) *before += n;
    }
    return true;
}
static bool prefetch_in(struct step *s, struct stmt *at, struct stmt *ahead, const struct word *spread, expr load) {
    struct ctx *c = s->c;
    struct buf *b = load->u.buf;
    struct vars inside = {0};
    const struct var *v = ahead->u.loop.var;
    expr off = buf_offset(c, b, load->arg), rest, it = x_int(c, 0);
    int64_t panel, c0, count = 1;
    const expr *t;
    const int64_t *co;
    int64_t line = LINE_BYTES / dtype_bytes(b->type);
    if (!x_linear_in(c, off, v, &panel, &rest) || panel <= 0)
        return step_refuse(s, "pack the buffer so that what one iteration reads is contiguous",
                           "`%s` is not read panel by panel along `%s`", b->name, v->name);
    PUSH(&s->tmp, &inside, v);
    vars_below(s, &ahead->u.loop.body, &inside);
    int n = x_terms(c, rest, &c0, &t, &co);
    expr base = x_addi(c, x_muli(c, x_addi(c, x_var(c, v), 1), panel), c0);
    for (int k = 0; k < n; k++) /* loops outside of `ahead` keep their part */
        if (!uses_any(s, t[k], &inside)) base = x_add(c, base, x_muli(c, t[k], co[k]));
    for (int k = 0; spread && k < spread->n; k++) {
        struct stmt *loop = around(at, spread->items[k]);
        int64_t before, all;
        if (!loop || loop == ahead || !encloses(ahead, loop))
            return step_refuse(s, NULL, "`%s` is no loop between `%s` and `%s`", spread->items[k], v->name,
                               at->u.loop.var->name);
        if (!shares(loop, &before, &all) || !mul_ok(count, all, &count) || count < 1)
            return step_refuse(s, "spread over loops with constant extents", "`%s` has a run-time extent",
                               spread->items[k]);
        it = x_add(c, x_muli(c, it, all), x_addi(c, x_var(c, loop->u.loop.var), before));
    }
    int64_t each = line * count, lines;
    each = (panel + each - 1) / each;
    lines = each;
    if (lines > MAX_LINES)
        return step_refuse(s, "spread the lines over more loops", "each iteration of `%s` would touch %lld lines",
                           at->u.loop.var->name, (long long)lines);
    struct stmt *first = at->u.loop.body.first;
    for (int64_t j = 0; j < lines; j++) {
        struct stmt *f = s_new(c, S_PREFETCH);
        f->u.prefetch.buf = b;
        f->u.prefetch.off = x_addi(c, x_add(c, base, x_muli(c, it, lines * line)), j * line);
        stmt_insert_before(first, f);
    }
    return true;
}
bool apply_prefetch(struct step *s) {
    struct stmts l = {0};
    if (!words_ok(s, 3, 4)) return false;
    if (s->n == 4 && (!s->w[3].is_list || s->w[3].key)) return step_usage(s);
    if (!find_buf(s, s->w[0].text) || !find_loops(s, s->w[1].text, &l)) return false;
    for (int k = 0; k < l.n; k++) {
        struct accesses a = {0};
        struct stmt *ahead = around(l.v[k], s->w[2].text);
        expr load = NULL;
        accesses_of(s, &l.v[k]->u.loop.body, &a);
        for (int j = 0; j < a.n && !load; j++)
            if (a.v[j].load && !strcmp(a.v[j].buf->base, s->w[0].text)) load = a.v[j].load;
        if (!load) return step_refuse(s, NULL, "`%s` does not read `%s`", s->w[1].text, s->w[0].text);
        if (!ahead) return step_refuse(s, NULL, "`%s` is not inside of `%s`", s->w[1].text, s->w[2].text);
        if (l.v[k]->u.loop.kind == LK_VECTOR) return step_refuse(s, NULL, "`%s` is a vector loop", s->w[1].text);
        if (!prefetch_in(s, l.v[k], ahead, s->n == 4 ? &s->w[3] : NULL, load)) return false;
    }
    return true;
}

/* ---- pipeline */
struct pipe {
    struct step *s;
    struct stmt *loop;
    struct {
        struct buf **v;
        int n, cap;
    } bufs;
    expr slot;
};
static bool mine(const struct pipe *q, const struct buf *b) {
    for (int k = 0; k < q->bufs.n; k++)
        if (q->bufs.v[k] == b) return true;
    return false;
}
static bool fills(const struct pipe *q, struct stmt *t) {
    for (int k = 0; k < q->bufs.n; k++)
        if (stmt_stores_to(t, q->bufs.v[k])) return true;
    return false;
}
static bool is_alloc_of(const struct pipe *q, const struct stmt *t) {
    return t->kind == S_ALLOC && mine(q, t->u.alloc.buf);
}
static bool pipe_legal(struct pipe *q) {
    struct step *s = q->s;
    const struct var *v = q->loop->u.loop.var;
    bool rest = false;
    if (q->loop->u.loop.kind != LK_SERIAL || q->loop->u.loop.piped)
        return step_refuse(s, NULL, "`%s` is not a serial loop, or pipelined already", v->name);
    if (!x_proves_le(s->c, x_int(s->c, 1), v->extent))
        return step_refuse(s, "specialize the loop for at least one iteration",
                           "`%s` may have no iteration, but the first fill would run", v->name);
    struct stmts all = {0};
    stmts_below(s, &q->loop->u.loop.body, &all);
    for (int k = 0; k < all.n; k++)
        for (int j = 0; all.v[k]->kind == S_INSTR && j < all.v[k]->u.instr.n; j++)
            if (mine(q, all.v[k]->u.instr.holes[j].buf))
                return step_refuse(s, "pipeline before tensorize", "`%s` is an operand of an instruction",
                                   all.v[k]->u.instr.holes[j].buf->name);
    for (struct stmt *t = q->loop->u.loop.body.first; t; t = t->next) {
        struct accesses a = {0};
        if (is_alloc_of(q, t)) continue;
        if (!fills(q, t)) {
            rest |= t->kind != S_COMMENT && t->kind != S_PREFETCH;
            continue;
        }
        if (rest)
            return step_refuse(s, "place the filled buffers first (compute_at puts them before their first use)",
                               "a stage that fills the buffers does not come first in `%s`", v->name);
        struct block *sub[2];
        for (int k = 0, n = stmt_blocks(t, sub); k < n; k++) {
            struct stmt *bad = opaque_in(s, sub[k]);
            if (bad) return step_refuse(s, NULL, "there is %s in a stage that fills the buffers", stmt_what(bad));
        }
        accesses_in(s, t, &a);
        for (int k = 0; k < a.n; k++) {
            if (a.v[k].store && !mine(q, a.v[k].buf))
                return step_refuse(s, NULL, "the stage that fills the buffers also stores `%s`", a.v[k].buf->name);
            if (!a.v[k].store && stores_to(&q->loop->u.loop.body, a.v[k].buf))
                return step_refuse(s, NULL, "the fill of `%s` reads `%s`, which `%s` writes", q->bufs.v[0]->name,
                                   a.v[k].buf->name, v->name);
        }
    }
    return true;
}
static expr slotted_load(void *env, struct buf *b, expr *idx, int n, expr fill) {
    struct pipe *q = env;
    expr *out = NEWN(&q->s->tmp, expr, n + 1);
    out[0] = q->slot;
    for (int k = 0; k < n; k++) out[k + 1] = idx[k];
    return x_load(q->s->c, b, out, n + 1, fill);
}
static void use_slot(struct pipe *q, struct block *b, expr slot) {
    struct step *s = q->s;
    struct stmts all = {0};
    q->slot = slot;
    for (int k = 0; k < q->bufs.n; k++) map_loads(s, b, q->bufs.v[k], slotted_load, q);
    stmts_below(s, b, &all);
    for (int k = 0; k < all.n; k++) {
        struct stmt *t = all.v[k];
        if (t->kind != S_STORE || !mine(q, t->u.store.buf)) continue;
        expr *idx = NEWN(&s->tmp, expr, t->u.store.n + 1);
        idx[0] = slot;
        for (int d = 0; d < t->u.store.n; d++) idx[d + 1] = t->u.store.idx[d];
        copy_idx(s->c, t, idx, t->u.store.n + 1);
    }
}
static void add_slots(struct step *s, struct buf *b) {
    struct ctx *c = s->c;
    expr *dims = NEWN(&c->arena, expr, b->nd + 1), *map = NEWN(&c->arena, expr, b->nd + 1),
         *logical = NEWN(&c->arena, expr, b->nlogical + 1);
    const struct var **lvar = NEWN(&c->arena, const struct var *, b->nlogical + 1);
    int64_t *pad = NEWN(&c->arena, int64_t, b->nd + 1);
    dims[0] = logical[0] = x_int(c, 2);
    lvar[0] = var_new(c, "slot", dims[0]);
    map[0] = x_var(c, lvar[0]);
    for (int d = 0; d < b->nd; d++)
        dims[d + 1] = b->dims[d], map[d + 1] = b->map[d], pad[d + 1] = b->pad ? b->pad[d] : 0;
    for (int d = 0; d < b->nlogical; d++) logical[d + 1] = b->logical[d], lvar[d + 1] = b->lvar[d];
    b->dims = dims, b->map = map, b->logical = logical, b->lvar = lvar;
    b->pad = b->pad ? pad : NULL;
    b->nd++, b->nlogical++;
}
static void pipe_loop(struct pipe *q) {
    struct step *s = q->s;
    struct ctx *c = s->c;
    struct stmt *loop = q->loop;
    struct block *fill = NEW(&c->arena, struct block), *rest = NEW(&c->arena, struct block);
    const struct var *v = loop->u.loop.var;
    expr i = x_var(c, v), next = x_addi(c, i, 1);
    bool shared = false;
    for (struct stmt *t = loop->u.loop.body.first, *after; t; t = after) {
        after = t->next;
        bool alloc = is_alloc_of(q, t), f = !alloc && fills(q, t);
        stmt_remove(t);
        if (alloc) stmt_insert_before(loop, t);
        else block_append(f ? fill : rest, t);
    }
    for (int k = 0; k < q->bufs.n; k++) {
        add_slots(s, q->bufs.v[k]);
        shared |= q->bufs.v[k]->scope == SC_SHARED;
    }
    struct block copy = clone_block(c, fill), *pro = NEW(&c->arena, struct block);
    block_move(pro, &copy);
    subst_var(s, pro, v, x_int(c, 0));
    use_slot(q, pro, x_int(c, 0));
    for (struct stmt *t; (t = pro->first);) {
        stmt_remove(t);
        stmt_insert_before(loop, t);
    }
    if (shared) stmt_insert_before(loop, s_new(c, S_BARRIER));
    subst_var(s, fill, v, next);
    use_slot(q, fill, x_modi(c, next, 2));
    use_slot(q, rest, x_modi(c, i, 2));
    expr cond = x_cmp(c, X_LT, next, v->extent);
    if (!x_is_false(cond)) {
        struct stmt *g = s_if(c, cond);
        block_append(&loop->u.loop.body, g);
        block_move(&g->u.cond.then, fill);
        if (x_is_true(cond)) stmt_replace(g, &g->u.cond.then);
    }
    block_move(&loop->u.loop.body, rest);
    if (shared) block_append(&loop->u.loop.body, s_new(c, S_BARRIER));
    loop->u.loop.piped = true;
}
bool apply_pipeline(struct step *s) {
    struct stmts l = {0};
    int done = 0;
    if (!words_ok(s, 1, 2)) return false;
    if (s->n != 2 || !s->w[1].is_list || s->w[1].key || !s->w[1].n) return step_usage(s);
    if (!find_loops(s, s->w[0].text, &l)) return false;
    for (int k = 0; k < s->w[1].n; k++)
        if (!find_buf(s, s->w[1].items[k])) return false;
    for (int k = 0; k < l.n; k++) {
        struct pipe q = {.s = s, .loop = l.v[k]};
        for (struct stmt *t = l.v[k]->u.loop.body.first; t; t = t->next)
            for (int j = 0; j < s->w[1].n; j++)
                if (t->kind == S_ALLOC && !strcmp(t->u.alloc.buf->base, s->w[1].items[j]))
                    PUSH(&s->tmp, &q.bufs, t->u.alloc.buf);
        if (!q.bufs.n) continue;
        if (q.bufs.n != s->w[1].n)
            return step_refuse(s, "compute_at each of the buffers in this loop first",
                               "not all of the buffers are allocated in `%s`", s->w[0].text);
        if (!pipe_legal(&q)) return false;
        pipe_loop(&q);
        done++;
    }
    if (!done)
        return step_refuse(s, "compute_at the buffers in this loop first", "none of the buffers is allocated in `%s`",
                           s->w[0].text);
    return true;
}
