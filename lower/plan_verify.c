/* The independent check of a memory plan: the entry is walked as it would run, with an owner for every 64 bytes of the
 * arena. A kernel that reads a buffer must find all of it owned by that buffer: written, and not overwritten since.
 * Loop bodies are walked twice so that the back edge is seen. Bytes between two neighbouring ends of buffers always
 * have one owner, so one entry stands for them all. Shares no code with the planner. */
#include "lower/memory_plan.h"
#include <stdlib.h>

struct place {
    const struct buf *buf;
    int slot;
    int64_t at, size;
}; /* in granules */
struct owner_walk {
    struct module *m;
    struct memory_plan *plan;
    struct place *places; /* one per slot; swaps exchange at */
    VEC(int64_t) ends;    /* where a buffer begins or ends, in order */
    int32_t *owner;       /* slot + 1 of what begins at each end; 0: never written */
    VEC(struct place *) swapped;
    int64_t sample;
    bool ok;
};
static bool sample_leaf(void *env, expr e, int64_t *v) {
    const struct owner_walk *w = env;
    if (e->op != X_SYM) return false;
    *v = w->sample < e->u.sym->lo ? e->u.sym->lo : w->sample > e->u.sym->hi ? e->u.sym->hi : w->sample;
    return true;
}
static struct place *place_of(struct owner_walk *w, const struct buf *b) {
    for (int k = 0; k < w->plan->slots.n; k++)
        if (w->places[k].buf == b && w->places[k].size >= 0) return &w->places[k];
    return NULL;
}
static int storage(const struct owner_walk *w, int slot) {
    while (w->plan->slots.v[slot].alias >= 0) slot = w->plan->slots.v[slot].alias;
    return slot;
}
static int compare_ends(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}
static int end_at(const struct owner_walk *w, int64_t at) {
    int lo = 0, hi = w->ends.n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (w->ends.v[mid] < at) lo = mid + 1;
        else hi = mid;
    }
    ASSERT(lo < w->ends.n && w->ends.v[lo] == at);
    return lo;
}
static void set_owner(struct owner_walk *w, int64_t at, int64_t size, int32_t owner) {
    for (int k = end_at(w, at), n = end_at(w, at + size); k < n; k++) w->owner[k] = owner;
}
static void write_buf(struct owner_walk *w, const struct buf *b) {
    struct place *p = place_of(w, b);
    if (p) set_owner(w, p->at, p->size, storage(w, p->slot) + 1);
}
static void read_buf(struct owner_walk *w, const struct buf *b, const char *who) {
    struct place *p = place_of(w, b);
    if (!p || !w->ok) return;
    for (int k = end_at(w, p->at), n = end_at(w, p->at + p->size); k < n; k++) {
        int32_t o = w->owner[k];
        if (o == storage(w, p->slot) + 1) continue;
        w->ok = false;
        diag(&w->m->ctx->diags, DIAG_ERROR, E_VERIFY, "memory plan: %s reads buffer %s at byte %lld, which %s%s", who,
             b->name, (long long)w->ends.v[k] * PLAN_ALIGN, o ? "was overwritten by " : "was never written",
             o ? w->plan->slots.v[o - 1].buf->name : "");
        return;
    }
}
static bool read_load(void *env, expr e) {
    if (e->op == X_LOAD) read_buf(env, e->u.buf, "an expression of the entry");
    return true;
}
static void walk_block(struct owner_walk *w, struct block *b);
static void walk_call(struct owner_walk *w, struct stmt *s) {
    const struct proc *p = s->u.call.callee;
    for (int k = 0; k < s->u.call.nbufs; k++)
        if (p->params.v[k].dir == DIR_IN) read_buf(w, s->u.call.bufs[k], p->name);
    for (int k = 0; k < s->u.call.nbufs; k++)
        if (p->params.v[k].dir != DIR_IN) write_buf(w, s->u.call.bufs[k]);
}
static void walk_stmt(struct owner_walk *w, struct stmt *s) {
    struct place *a, *b;
    switch (s->kind) {
    case S_CALL: walk_call(w, s); break;
    case S_SIZE: x_visit(s->u.size.value, read_load, w); break;
    case S_CHECK: x_visit(s->u.check.cond, read_load, w); break;
    case S_STORE:
        x_visit(s->u.store.value, read_load, w);
        write_buf(w, s->u.store.buf);
        break;
    case S_IF:
        x_visit(s->u.cond.cond, read_load, w);
        walk_block(w, &s->u.cond.then);
        walk_block(w, &s->u.cond.other);
        break;
    case S_WHILE:
    case S_FOR:
        for (int pass = 0; pass < 2; pass++) {
            if (s->kind == S_WHILE) x_visit(s->u.loop_while.cond, read_load, w);
            walk_block(w, s->kind == S_WHILE ? &s->u.loop_while.body : &s->u.loop.body);
        }
        break;
    case S_SWAP:
        a = place_of(w, s->u.swap.a), b = place_of(w, s->u.swap.b);
        if (a && b) {
            int64_t at = a->at;
            set_owner(w, a->at, a->size, b->slot + 1);
            set_owner(w, b->at, b->size, a->slot + 1);
            a->at = b->at, b->at = at;
        }
        break;
    default: break;
    }
}
static void walk_block(struct owner_walk *w, struct block *b) {
    for (struct stmt *s = b->first; s && w->ok; s = s->next) walk_stmt(w, s);
}
/* Offsets as the generated code computes them. */
static void locate(struct owner_walk *w) {
    int64_t bytes, off;
    for (int k = 0; k < w->plan->slots.n; k++) {
        struct plan_slot *s = &w->plan->slots.v[k];
        struct place *p = &w->places[k];
        *p = (struct place){s->buf, k, 0, -1};
        if (s->cls == PLAN_REGION || s->first < 0 || !x_eval_int(s->bytes, sample_leaf, w, &bytes)) continue;
        if (s->alias >= 0) {
            off = 0;
            if (s->alias_offset && !x_eval_int(s->alias_offset, sample_leaf, w, &off)) continue;
            p->at = w->places[s->alias].at + off / PLAN_ALIGN;
            bytes += off % PLAN_ALIGN;
        } else if (s->offset >= 0) p->at = s->offset / PLAN_ALIGN;
        else
            for (int j = 0; j < s->nbelow; j++) {
                const struct place *q = &w->places[s->below[j]];
                if (q->at + q->size > p->at) p->at = q->at + q->size;
            }
        p->size = bytes / PLAN_ALIGN;
    }
}
/* Buffers that are swapped come to lie at each other's places. */
static bool note_swaps(void *env, struct stmt *s) {
    struct owner_walk *w = env;
    struct place *a = s->kind == S_SWAP ? place_of(w, s->u.swap.a) : NULL,
                 *b = s->kind == S_SWAP ? place_of(w, s->u.swap.b) : NULL;
    if (a) PUSH(&w->m->ctx->arena, &w->swapped, a);
    if (b) PUSH(&w->m->ctx->arena, &w->swapped, b);
    return true;
}
static void find_ends(struct owner_walk *w) {
    struct arena *a = &w->m->ctx->arena;
    walk(&w->m->entry->body, note_swaps, w);
    for (int k = 0; k < w->plan->slots.n; k++) {
        const struct place *p = &w->places[k];
        if (p->size < 0) continue;
        PUSH(a, &w->ends, p->at);
        PUSH(a, &w->ends, p->at + p->size);
    }
    for (int k = 0; k < w->swapped.n; k++)
        for (int j = 0; j < w->swapped.n; j++) PUSH(a, &w->ends, w->swapped.v[k]->at + w->swapped.v[j]->size);
    if (!w->ends.n) return;
    qsort(w->ends.v, (size_t)w->ends.n, sizeof *w->ends.v, compare_ends);
    int n = 1;
    for (int k = 1; k < w->ends.n; k++)
        if (w->ends.v[k] != w->ends.v[n - 1]) w->ends.v[n++] = w->ends.v[k];
    w->ends.n = n;
}
bool plan_verify(struct module *m, struct memory_plan *plan) {
    static const int64_t samples[] = {1, 3, 17};
    bool ok = true;
    for (int k = 0; k < (plan->is_static ? 1 : 3) && ok; k++) {
        struct owner_walk w = {.m = m, .plan = plan, .sample = samples[k], .ok = true};
        w.places = NEWN(&m->ctx->arena, struct place, plan->slots.n + 1);
        locate(&w);
        find_ends(&w);
        w.owner = NEWN(&m->ctx->arena, int32_t, w.ends.n + 1);
        walk_block(&w, &m->entry->body);
        ok = w.ok;
    }
    return ok;
}
