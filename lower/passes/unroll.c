/* Pass `unroll`: unrolls loops of kind unroll with constant extents; loops of one iteration vanish, and so do those of
 * none, and branches that are never taken. See passes.h. */
#include "ir/base/checked.h"
#include "lower/passes/passes.h"

static bool count_stmt(void *env, struct stmt *s) {
    int64_t *n = env, ext = 1;
    *n = sat_add(*n, 1);
    if (s->kind == S_FOR && s->u.loop.kind == LK_UNROLL && x_is_int(s->u.loop.var->extent, &ext) && ext > 1)
        *n = sat_mul(*n, ext); /* an upper estimate */
    return true;
}
static void in_block(struct ctx *c, struct block *b);
static void in_stmt(struct ctx *c, struct stmt *s);

/* Unrolls the loop, then the copies: what depended on its variable is constant now. */
static void unroll(struct ctx *c, struct stmt *s, int64_t extent) {
    struct stmt *end = s_new(c, S_COMMENT), *before = s->prev;
    struct block *home = s->in;
    stmt_insert_after(s, end);
    write_out(c, s, extent);
    for (struct stmt *t = before ? before->next : home->first, *next; t != end; t = next) {
        next = t->next;
        in_stmt(c, t);
    }
    stmt_remove(end);
}
static bool is_written_out(struct stmt *s, int64_t extent) {
    int64_t size = 0;
    if (s->u.loop.kind >= LK_THREAD_X)
        return false; /* for a single thread: it tells the others that they must not run
                       * it */
    if (extent == 1) return true;
    if (s->u.loop.kind != LK_UNROLL) return false;
    walk(&s->u.loop.body, count_stmt, &size);
    return sat_mul(size, extent) <= MAX_WRITTEN;
}
static void in_for(struct ctx *c, struct stmt *s) {
    int64_t extent;
    bool known = x_is_int(s->u.loop.var->extent, &extent);
    if (known && extent <= 0) {
        stmt_remove(s);
    } else if (known && is_written_out(s, extent)) {
        unroll(c, s, extent);
    } else {
        if (s->u.loop.kind == LK_UNROLL) s->u.loop.kind = LK_SERIAL;
        in_block(c, &s->u.loop.body);
    }
}
static void in_stmt(struct ctx *c, struct stmt *s) {
    struct block *in[2];
    if (s->kind == S_FOR) {
        in_for(c, s);
    } else if (s->kind == S_IF && s->u.cond.cond->op == X_CONST) {
        struct block taken = {0};
        block_move(&taken, x_is_true(s->u.cond.cond) ? &s->u.cond.then : &s->u.cond.other);
        in_block(c, &taken);
        stmt_replace(s, &taken);
    } else if (s->kind != S_INSTR) {
        for (int k = stmt_blocks(s, in); k-- > 0;) in_block(c, in[k]);
    }
}
static void in_block(struct ctx *c, struct block *b) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        in_stmt(c, s);
    }
}
/* Also removes a kernel's own buffers that nothing uses any more. */
static bool drop_unused(void *env, struct stmt *s) {
    (void)env;
    if (s->kind != S_ALLOC) return s->kind != S_INSTR;
    struct stmt *t = s->next;
    while (t && !stmt_uses(t, s->u.alloc.buf, NULL)) t = t->next;
    if (!t) stmt_remove(s);
    return true;
}
void unroll_loops(struct ctx *c, struct proc *p) {
    in_block(c, &p->body);
    walk(&p->body, drop_unused, NULL);
}
void pass_unroll(struct module *m, const struct printing *o) {
    (void)o;
    for (int k = 0; k < m->procs.n; k++)
        if (m->procs.v[k] == m->entry) in_block(m->ctx, &m->entry->body); /* its buffers are placed already */
        else unroll_loops(m->ctx, m->procs.v[k]);
}
