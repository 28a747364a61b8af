/* The step pipeline: stages that fill buffers run one iteration ahead of those that use them, alternating between two
 * slots. */
#include "lower/schedule/steps_util.h"
#include <string.h>

struct pipe {
    struct step_run *s;
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
    struct step_run *s = q->s;
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
    struct step_run *s = q->s;
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
static void add_slots(struct step_run *s, struct buf *b) {
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
    struct step_run *s = q->s;
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
    block_move_before(loop, pro);
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
bool apply_pipeline(struct step_run *s) {
    struct stmts l = {0};
    int done = 0;
    const char *loop = s->step->u.pipeline.loop;
    const struct word_list *bufs = &s->step->u.pipeline.bufs;
    if (!find_loops(s, loop, &l)) return false;
    for (int k = 0; k < bufs->n; k++)
        if (!find_buf(s, bufs->v[k])) return false;
    for (int k = 0; k < l.n; k++) {
        struct pipe q = {.s = s, .loop = l.v[k]};
        for (struct stmt *t = l.v[k]->u.loop.body.first; t; t = t->next)
            for (int j = 0; j < bufs->n; j++)
                if (t->kind == S_ALLOC && !strcmp(t->u.alloc.buf->base, bufs->v[j]))
                    PUSH(&s->tmp, &q.bufs, t->u.alloc.buf);
        if (!q.bufs.n) continue;
        if (q.bufs.n != bufs->n)
            return step_refuse(s, "compute_at each of the buffers in this loop first",
                               "not all of the buffers are allocated in `%s`", loop);
        if (!pipe_legal(&q)) return false;
        pipe_loop(&q);
        done++;
    }
    if (!done)
        return step_refuse(s, "compute_at the buffers in this loop first", "none of the buffers is allocated in `%s`",
                           loop);
    return true;
}
