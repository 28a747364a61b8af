/* Reuse of storage (rule 6 of docs/storage.md). First the order: a call whose results are larger than the operands that
 * die with it runs directly before its first reader. Then a kernel's result takes over the storage of an operand that
 * nothing reads afterwards; the step `over` changes the kernel, and refuses if a cell would be overwritten too early.
 * Works on the entry, after kernels are scheduled and before the memory plan. See lower.h. */
#include "lower/lower.h"
#include "lower/schedule/schedule.h"
#include "lower/schedule/steps.h"
#include <string.h>

/* For a buffer allocated in a block: which of the block's statements use its storage, also through views. */
struct life {
    int first, last;
    bool fixed; /* the entry swaps or fills it */
};
struct variant {
    struct proc *p; /* NULL: refused */
    int y, x;
    const struct variant *next; /* of the same kernel */
};
struct reuse {
    struct ctx *c;
    struct module *m;
    struct map lives;    /* buffer -> struct life, for the current block */
    struct map views;    /* see note_views */
    struct map in_place; /* buffer -> the one whose storage it takes over; statements still name it, until rename_all */
    struct map variants; /* kernel -> its variants, the latest first */
    int pos;
};

/* ---- live ranges */
static struct life *life_of(struct reuse *r, const struct buf *b) { return map_get(&r->lives, PKEY(b)); }
static struct buf *placed(struct reuse *r, struct buf *b) { return buf_placed(&r->in_place, b); }
/* Follows views, and buffers that take over the storage of a view. */
static struct buf *root_of(struct reuse *r, struct buf *b) {
    for (struct buf *of; (of = placed(r, storage_of(&r->views, b))) != b; b = of) continue;
    return b;
}
static void use(struct reuse *r, struct buf *b) {
    struct life *l = life_of(r, root_of(r, b));
    if (!l) return;
    if (l->first < 0) l->first = r->pos;
    l->last = r->pos;
}
static void use_load(void *env, const struct stmt *s, expr load) {
    (void)s;
    use(env, load->u.buf);
}
static bool use_stmt(void *env, struct stmt *s) {
    struct reuse *r = env;
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++) {
        if (b.use & (BU_READ | BU_WRITTEN | BU_ENDS)) use(r, b.buf);
        struct life *l = b.use & BU_MOVED ? life_of(r, root_of(r, b.buf)) : NULL;
        if (l) l->fixed = true;
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
    note_views(&r->views, b);
    r->pos = 0;
    for (struct stmt *s = b->first; s; s = s->next, r->pos++) {
        walk_stmt(s, use_stmt, r);
        stmt_loads(s, use_load, r);
    }
}

/* ---- kernels */
/* The kernel with result y stored over operand x; made once. */
static struct proc *variant_of(struct reuse *r, struct proc *p, int y, int x) {
    struct ctx *c = r->c;
    const struct variant *made = map_get(&r->variants, PKEY(p));
    int n = 0;
    for (const struct variant *v = made; v; v = v->next) {
        if (v->y == y && v->x == x) return v->p;
        n += v->p != NULL;
    }
    struct variant *v = NEW(&c->arena, struct variant);
    *v = (struct variant){clone_proc(c, p, internf(c->names, n ? "%s_over%d" : "%s_over", p->name, n + 1)), y, x, made};
    struct step_list steps = {.c = c};
    step_over(&steps, p->params.v[y].buf->base, p->params.v[x].buf->base);
    if (!steps_refused(v->p, &steps)) PUSH(&c->arena, &r->m->procs, v->p);
    else v->p = NULL;
    map_put(&r->variants, PKEY(p), v);
    return v->p;
}

/* ---- the entry */
static bool same_storage(const struct buf *a, const struct buf *b) {
    if (a->type != b->type || a->nd != b->nd) return false;
    for (int k = 0; k < a->nd; k++)
        if (a->dims[k] != b->dims[k]) return false;
    return true;
}
/* Operand x of the call, and no other operand, covers a whole storage that dies here. */
static bool dies_here(struct reuse *r, struct stmt *call, int x) {
    struct buf *in = placed(r, call->u.call.bufs[x]), *b = root_of(r, in);
    struct life *l = life_of(r, b);
    if (!l || l->fixed || l->last != r->pos || call->u.call.callee->params.v[x].dir != DIR_IN) return false;
    if (in != b && buf_cells(r->c, in) != buf_cells(r->c, b)) return false;
    for (int k = 0; k < call->u.call.nbufs; k++)
        if (k != x && root_of(r, call->u.call.bufs[k]) == b) return false;
    return true;
}
static bool reuse_operand(struct reuse *r, struct stmt *call, int y) {
    struct buf *out = placed(r, call->u.call.bufs[y]);
    struct life *l = life_of(r, out);
    if (!l || l->fixed || l->first != r->pos || call->u.call.callee->params.v[y].dir != DIR_OUT) return false;
    for (int x = 0; x < call->u.call.nbufs; x++) {
        struct buf *in = placed(r, call->u.call.bufs[x]);
        if (!dies_here(r, call, x) || !same_storage(in, out)) continue;
        struct proc *p = variant_of(r, call->u.call.callee, y, x);
        if (!p) continue;
        life_of(r, root_of(r, in))->last = l->last;
        call->u.call.callee = p;
        memmove(call->u.call.bufs + x, call->u.call.bufs + x + 1,
                (size_t)(call->u.call.nbufs - x - 1) * sizeof *call->u.call.bufs);
        call->u.call.nbufs--;
        map_put(&r->in_place, PKEY(out), in);
        return true;
    }
    return false;
}
/* ---- order of calls */
static bool reference_leaf(void *env, expr e, int64_t *v) {
    (void)env;
    if (e->op != X_SYM) return false;
    int64_t ref = e->u.sym->ref ? e->u.sym->ref : 1;
    *v = ref < e->u.sym->lo ? e->u.sym->lo : ref > e->u.sym->hi ? e->u.sym->hi : ref;
    return true;
}
static int64_t bytes_of(struct reuse *r, const struct buf *b) {
    int64_t n;
    return x_eval_int(buf_cells(r->c, b), reference_leaf, NULL, &n) ? n * dtype_bytes(b->type) : 0;
}
/* Does s, a statement in between, write what the call reads? Statements other than calls count if they touch it at
 * all. */
static bool disturbs(struct reuse *r, struct stmt *s, struct buf *operand) {
    if (s->kind == S_ALLOC || s->kind == S_VIEW || s->kind == S_CHECK) return false;
    if (s->kind != S_CALL) return stmt_uses(s, operand, &r->views);
    for (int k = 0; k < s->u.call.nbufs; k++)
        if (s->u.call.callee->params.v[k].dir != DIR_IN && root_of(r, s->u.call.bufs[k]) == operand) return true;
    return false;
}
/* The statement before which the call, at position pos of its block, can and should run; NULL: it stays. */
static struct stmt *better_place(struct reuse *r, struct stmt *call, int pos) {
    int64_t made = 0, dying = 0;
    int n = call->u.call.nbufs, at = pos;
    for (int k = 0; k < call->u.call.nargs; k++)
        if (x_has(call->u.call.args[k], XF_PRODUCED | XF_LOAD | XF_VAR)) return NULL;
    for (int k = 0; k < n; k++) {
        enum param_dir dir = call->u.call.callee->params.v[k].dir;
        struct buf *b = call->u.call.bufs[k];
        struct life *l = life_of(r, b);
        if (dir == DIR_IN) continue;
        if (dir != DIR_OUT || !l || l->fixed || l->first != pos) return NULL;
        if (l->last > pos) made += bytes_of(r, b);
    }
    struct stmt *t = call->next;
    for (at++; t; t = t->next, at++) {
        for (int k = 0; k < n; k++) {
            struct buf *b = root_of(r, call->u.call.bufs[k]);
            bool out = call->u.call.callee->params.v[k].dir != DIR_IN;
            if (t->kind != S_ALLOC && (out ? stmt_uses(t, b, &r->views) : disturbs(r, t, b))) goto found;
        }
    }
found:
    if (!t) return NULL;
    for (int k = 0; k < n; k++) {
        struct buf *b = root_of(r, call->u.call.bufs[k]);
        struct life *l = life_of(r, b);
        bool again = false;
        for (int j = 0; j < k; j++) again |= root_of(r, call->u.call.bufs[j]) == b;
        if (call->u.call.callee->params.v[k].dir == DIR_IN && l && l->last < at && !again) dying += bytes_of(r, b);
    }
    bool moves = false; /* it would move past another call */
    for (struct stmt *s = call->next; s != t; s = s->next) moves |= s->kind == S_CALL || s->kind == S_IF;
    return moves && made > dying ? t : NULL;
}
static void order_calls(struct reuse *r, struct block *b) {
    find_lives(r, b);
    int pos = r->pos - 1;
    for (struct stmt *s = b->last, *prev; s; s = prev, pos--) {
        prev = s->prev;
        struct stmt *to = s->kind == S_CALL ? better_place(r, s, pos) : NULL;
        if (!to) continue;
        stmt_remove(s);
        stmt_insert_before(to, s);
        find_lives(r, b); /* positions before prev have not changed */
    }
}
static void reuse_in(struct reuse *r, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *parts[2];
        for (int n = stmt_blocks(s, parts), k = 0; k < n; k++) reuse_in(r, parts[k]);
    }
    order_calls(r, b);
    find_lives(r, b);
    r->pos = 0;
    for (struct stmt *s = b->first, *next; s; s = next, r->pos++) {
        next = s->next;
        for (int y = 0; s->kind == S_CALL && y < s->u.call.nbufs; y++)
            if (reuse_operand(r, s, y)) y = -1;
    }
}
/* Lists kernels in order of their first call, and drops those replaced by variants. */
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
    struct arena *a = &c->arena;
    struct reuse r = {c, m, {.arena = a}, {.arena = a}, {.arena = a}, {.arena = a}, 0};
    if (!m->entry) return;
    coalesce_copies(m);
    reuse_in(&r, &m->entry->body);
    replace_bufs(m, &r.in_place);
    sort_kernels(m);
}
