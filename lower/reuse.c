/* Reuse of storage (rule 6 of docs/storage.md): a kernel's result takes the place of an operand that nothing reads
 * afterwards. Works on the entry, after kernels are scheduled and before the memory plan; the kernel itself changes by
 * the step `over`, which refuses where a cell would be overwritten too early. See lower.h. */
#include "lower/lower.h"
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"
#include <string.h>

/* Of a buffer that a block allocates: where the block's statements use its storage, also through views. */
struct life {
    int first, last;
    bool fixed; /* swapped or filled by the entry */
};
struct variant {
    struct proc *of, *p; /* p NULL: refused */
    int y, x;
};
struct reuse {
    struct ctx *c;
    struct module *m;
    struct map lives; /* buffer -> struct life, of the block in work */
    struct map roots; /* view -> the buffer whose storage it is */
    VEC(struct variant) variants;
    int pos;
};

/* ---- lives */
static struct buf *root_of(struct reuse *r, struct buf *b) {
    for (struct buf *q; (q = map_get(&r->roots, PKEY(b)));) b = q;
    return b;
}
static struct life *life_of(struct reuse *r, const struct buf *b) { return map_get(&r->lives, PKEY(b)); }
static void use(struct reuse *r, struct buf *b) {
    struct life *l = life_of(r, root_of(r, b));
    if (!l) return;
    if (l->first < 0) l->first = r->pos;
    l->last = r->pos;
}
static void use_fixed(struct reuse *r, struct buf *b) {
    struct life *l = life_of(r, root_of(r, b));
    use(r, b);
    if (l) l->fixed = true;
}
static void use_load(void *env, struct stmt *s, expr load) {
    (void)s;
    use(env, load->u.buf);
}
static bool use_stmt(void *env, struct stmt *s) {
    struct reuse *r = env;
    switch (s->kind) {
    case S_CALL:
        for (int k = 0; k < s->u.call.nbufs; k++) use(r, s->u.call.bufs[k]);
        break;
    case S_STORE: use(r, s->u.store.buf); break;
    case S_FREE: use(r, s->u.alloc.buf); break;
    case S_SWAP: use_fixed(r, s->u.swap.a), use_fixed(r, s->u.swap.b); break;
    case S_VIEW: map_put(&r->roots, PKEY(s->u.view.buf), s->u.view.of); break;
    default: break;
    }
    return true;
}
static void find_lives(struct reuse *r, struct block *b) {
    r->lives = (struct map){.arena = &r->c->arena};
    for (struct stmt *s = b->first; s; s = s->next)
        if (s->kind == S_ALLOC && s->u.alloc.buf->scope == SC_ARENA) {
            struct life *l = NEW(&r->c->arena, struct life);
            *l = (struct life){-1, -1, s->u.alloc.buf->fill != NULL};
            map_put(&r->lives, PKEY(s->u.alloc.buf), l);
        }
    r->pos = 0;
    for (struct stmt *s = b->first; s; s = s->next, r->pos++) {
        struct stmt *next = s->next;
        struct block one = {s, s, NULL};
        s->next = NULL; /* this statement, with what is in it */
        walk(&one, use_stmt, r);
        each_load(&one, use_load, r);
        s->next = next;
    }
}

/* ---- kernels */
/* The kernel with its result y over its operand x; made once. */
static struct proc *variant_of(struct reuse *r, struct proc *p, int y, int x) {
    struct ctx *c = r->c;
    int n = 0;
    for (int k = 0; k < r->variants.n; k++) {
        struct variant *v = &r->variants.v[k];
        if (v->of == p && v->y == y && v->x == x) return v->p;
        n += v->of == p && v->p;
    }
    struct variant v = {p, clone_proc(c, p, internf(c->names, n ? "%s_over%d" : "%s_over", p->name, n + 1)), y, x};
    const char *step = arena_printf(&c->arena, "over %s %s", p->params.v[y].buf->base, p->params.v[x].buf->base);
    if (try_schedule(c, v.p, step)) PUSH(&c->arena, &r->m->procs, v.p);
    else v.p = NULL;
    PUSH(&c->arena, &r->variants, v);
    return v.p;
}

/* ---- the entry */
struct renaming {
    struct ctx *c;
    struct buf *from, *to;
};
static expr rename_load(void *env, expr e) {
    struct renaming *q = env;
    if (e->op != X_LOAD || e->u.buf != q->from) return NULL;
    expr a[40];
    int n = e->n - e->has_fill;
    for (int k = 0; k < e->n; k++) a[k] = x_map(q->c, e->arg[k], rename_load, q);
    return x_load(q->c, q->to, a, n, e->has_fill ? a[n] : NULL);
}
static bool rename_stmt(void *env, struct stmt *s) {
    struct renaming *q = env;
    if (s->kind == S_CALL)
        for (int k = 0; k < s->u.call.nbufs; k++)
            if (s->u.call.bufs[k] == q->from) s->u.call.bufs[k] = q->to;
    if (s->kind == S_STORE && s->u.store.buf == q->from) s->u.store.buf = q->to;
    if (s->kind == S_VIEW && s->u.view.of == q->from) s->u.view.of = q->to;
    return true;
}
static void replace(struct reuse *r, struct block *b, struct buf *from, struct buf *to) {
    struct renaming q = {r->c, from, to};
    walk(b, rename_stmt, &q);
    map_exprs(r->c, b, rename_load, &q);
    for (struct stmt *s = b->first; s; s = s->next)
        if (s->kind == S_ALLOC && s->u.alloc.buf == from) {
            stmt_remove(s);
            break;
        }
    proc_drop_buf(r->m->entry, from);
}
static bool same_storage(const struct buf *a, const struct buf *b) {
    if (a->type != b->type || a->nd != b->nd) return false;
    for (int k = 0; k < a->nd; k++)
        if (a->dims[k] != b->dims[k]) return false;
    return true;
}
/* Operand x of the call, and nothing else of it, is storage that dies here. */
static bool dies_here(struct reuse *r, struct stmt *call, int x) {
    struct buf *b = call->u.call.bufs[x];
    struct life *l = life_of(r, b);
    if (!l || l->fixed || l->last != r->pos || call->u.call.callee->params.v[x].dir != DIR_IN) return false;
    for (int k = 0; k < call->u.call.nbufs; k++)
        if (k != x && root_of(r, call->u.call.bufs[k]) == b) return false;
    return true;
}
static bool reuse_operand(struct reuse *r, struct block *b, struct stmt *call, int y) {
    struct buf *out = call->u.call.bufs[y];
    struct life *l = life_of(r, out);
    if (!l || l->fixed || l->first != r->pos || call->u.call.callee->params.v[y].dir != DIR_OUT) return false;
    for (int x = 0; x < call->u.call.nbufs; x++) {
        struct buf *in = call->u.call.bufs[x];
        if (!dies_here(r, call, x) || !same_storage(in, out)) continue;
        struct proc *p = variant_of(r, call->u.call.callee, y, x);
        if (!p) continue;
        life_of(r, in)->last = l->last;
        call->u.call.callee = p;
        memmove(call->u.call.bufs + x, call->u.call.bufs + x + 1,
                (size_t)(call->u.call.nbufs - x - 1) * sizeof *call->u.call.bufs);
        call->u.call.nbufs--;
        replace(r, b, out, in);
        return true;
    }
    return false;
}
static void reuse_in(struct reuse *r, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *parts[2];
        for (int n = stmt_blocks(s, parts), k = 0; k < n; k++) reuse_in(r, parts[k]);
    }
    find_lives(r, b);
    r->pos = 0;
    for (struct stmt *s = b->first, *next; s; s = next, r->pos++) {
        next = s->next;
        for (int y = 0; s->kind == S_CALL && y < s->u.call.nbufs; y++)
            if (reuse_operand(r, b, s, y)) y = -1;
    }
}
/* Kernels in order of first call; those that only variants stand for go. */
struct called {
    struct module *m;
    struct map seen;
    VEC(struct proc *) order;
};
static bool note_callee(void *env, struct stmt *s) {
    struct called *q = env;
    if (s->kind != S_CALL || map_get(&q->seen, PKEY(s->u.call.callee))) return true;
    map_put(&q->seen, PKEY(s->u.call.callee), s);
    PUSH(&q->m->ctx->arena, &q->order, s->u.call.callee);
    walk(&s->u.call.callee->body, note_callee, q);
    return true;
}
static void sort_kernels(struct module *m) {
    struct called q = {.m = m, .seen = {.arena = &m->ctx->arena}};
    walk(&m->entry->body, note_callee, &q);
    m->procs.n = 0;
    for (int k = 0; k < q.order.n; k++) PUSH(&m->ctx->arena, &m->procs, q.order.v[k]);
}
void reuse_storage(struct module *m) {
    struct ctx *c = m->ctx;
    struct reuse r = {.c = c, .m = m, .lives = {.arena = &c->arena}, .roots = {.arena = &c->arena}};
    if (!m->entry) return;
    reuse_in(&r, &m->entry->body);
    sort_kernels(m);
}
