/* Pass `grids`: for a GPU, cuts each procedure into parts that are launched one after another: a nest of block and
 * thread loops becomes a grid; statements between such nests run in one thread. The procedure then calls the parts. See
 * passes.h. */
#include "lower/memory/local_memory.h"
#include "lower/passes/grid.h"
#include "lower/passes/passes.h"

struct part {
    int from, to; /* statements of the body, to exclusive */
    struct grid g;
    bool grid;
};
struct parts {
    VEC(struct part) v;
};
static bool may_cut(const struct proc *p) {
    for (const struct stmt *s = p->body.first; s; s = s->next)
        if (s->kind == S_ALLOC || s->kind == S_SIZE || s->kind == S_CHECK) return false;
    for (int k = 0; k < p->bufs.n; k++)
        if (is_local(p->bufs.v[k]) && proc_uses(p, p->bufs.v[k]) && !proc_allocs(p, p->bufs.v[k])) return false;
    return true;
}
static void serial_part(struct ctx *c, struct parts *r, int from, int to) {
    struct part q = {.from = from, .to = to};
    if (from < to) PUSH(&c->arena, &r->v, q);
}
static struct parts parts_of(struct ctx *c, const struct gpu *limits, const struct proc *p) {
    struct parts r = {{0}};
    bool cut = may_cut(p);
    int n = 0, from = 0;
    for (struct stmt *s = p->body.first; s; s = s->next, n++) {
        struct part q = {.from = n, .to = n + 1, .grid = true};
        struct block *body;
        q.grid = cut && grid_of(c, limits, s, &q.g, &body);
        if (!q.grid && !(s->kind == S_FOREIGN && s->u.foreign.ngrid)) continue;
        serial_part(c, &r, from, n);
        PUSH(&c->arena, &r.v, q);
        from = n + 1;
    }
    serial_part(c, &r, from, n);
    return r;
}
/* A foreign function is launched separately: the host calls it. */
static struct stmt *launched_foreign(const struct proc *p, const struct part *part) {
    struct stmt *s = p->body.first;
    for (int k = 0; k < part->from; k++) s = s->next;
    return part->to == part->from + 1 && s->kind == S_FOREIGN && s->u.foreign.ngrid ? s : NULL;
}
/* Within a single thread, loops do what a warp does together. */
static bool one_thread(void *env, struct stmt *s) {
    if (s->kind == S_FOR && s->u.loop.kind >= LK_BLOCK_X) s->u.loop.kind = LK_SERIAL;
    if (s->kind == S_BARRIER) stmt_remove(s);
    if (s->kind != S_INSTR || s->u.instr.row->scope != SCOPE_WARP) return true;
    walk(&s->u.instr.body, one_thread, env);
    struct block body = {0};
    block_move(&body, &s->u.instr.body);
    stmt_replace(s, &body);
    return false;
}
/* Stack buffers of a block outside of its thread loops are shared by all threads. */
static bool share_stack(void *env, struct stmt *s) {
    (void)env;
    if (s->kind == S_ALLOC && s->u.alloc.buf->scope == SC_STACK) s->u.alloc.buf->scope = SC_SHARED;
    return !is_thread_loop(s);
}
/* A copy of p with the part's statements, and only the buffers that these use. */
static struct proc *cut_out(struct ctx *c, const struct proc *p, const struct part *part, const char *name) {
    struct proc *q = clone_proc(c, p, name);
    int at = 0;
    for (struct stmt *s = q->body.first, *next; s; s = next, at++) {
        next = s->next;
        if (at < part->from || at >= part->to) stmt_remove(s);
    }
    for (int k = q->params.n; k--;)
        if (!proc_uses(q, q->params.v[k].buf)) proc_drop_param(q, k);
    struct launch *l = NEW(&c->arena, struct launch);
    l->grid = part->grid;
    for (int k = 0; k < 3; k++) {
        l->blocks[k] = part->grid && part->g.blocks[k] ? part->g.blocks[k] : x_int(c, 1);
        l->threads[k] = part->grid ? part->g.threads[k] : 1;
    }
    q->launch = l;
    walk(&q->body, l->grid ? share_stack : one_thread, NULL);
    return q;
}
static struct stmt *call_of(struct ctx *c, const struct proc *host, struct proc *part) {
    struct stmt *s = s_new(c, S_CALL);
    s->u.call.callee = part;
    s->u.call.nbufs = part->params.n;
    s->u.call.bufs = NEWN(&c->arena, struct buf *, part->params.n + 1);
    for (int k = 0; k < part->params.n; k++) s->u.call.bufs[k] = proc_buf(host, part->params.v[k].buf->name);
    s->u.call.nargs = part->syms.n;
    s->u.call.args = NEWN(&c->arena, expr, part->syms.n + 1);
    for (int k = 0; k < part->syms.n; k++) s->u.call.args[k] = x_sym(c, part->syms.v[k]);
    return s;
}
static void cut(struct module *m, const struct gpu *limits, struct proc *p) {
    struct ctx *c = m->ctx;
    struct parts parts = parts_of(c, limits, p);
    struct block calls = {0};
    const char *what = p->comment ? p->comment : p->name;
    for (int k = 0; k < parts.v.n; k++) {
        struct stmt *foreign = launched_foreign(p, &parts.v.v[k]);
        if (foreign) {
            stmt_remove(foreign);
            block_append(&calls, foreign);
            for (int j = k + 1; j < parts.v.n; j++) parts.v.v[j].from--, parts.v.v[j].to--;
            continue;
        }
        const char *name =
            parts.v.n > 1 ? internf(c->names, "%s_part%d", p->name, k + 1) : internf(c->names, "%s_grid", p->name);
        struct proc *q = cut_out(c, p, &parts.v.v[k], name);
        q->comment = parts.v.n > 1 ? arena_printf(&c->arena, "%s (%d of %d)", what, k + 1, parts.v.n) : what;
        PUSH(&c->arena, &m->procs, q);
        block_append(&calls, call_of(c, p, q));
    }
    for (int k = p->bufs.n; k--;)
        if (proc_param_at(p, p->bufs.v[k]) < 0) proc_drop_buf(p, p->bufs.v[k]);
    p->body.first = p->body.last = NULL;
    block_move(&p->body, &calls);
    PUSH(&c->arena, &m->procs, p);
}
/* Cut already: the module was read from text. */
static bool is_cut(const struct proc *p) {
    const struct stmt *s = p->body.first;
    return p->launch || (s && s->kind == S_FOREIGN) || (s && s->kind == S_CALL && s->u.call.callee->launch);
}
void pass_grids(struct module *m, const struct printing *o) {
    if (o->target->emit != EMIT_CUDA) return;
    int n = m->procs.n;
    struct proc **all = arena_copy(&m->ctx->arena, m->procs.v, (size_t)n * sizeof *all);
    m->procs.n = 0;
    for (int k = 0; k < n; k++) {
        if (is_cut(all[k])) PUSH(&m->ctx->arena, &m->procs, all[k]);
        else cut(m, o->target->machine->gpu, all[k]);
    }
}
