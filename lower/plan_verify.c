/* The independent check of a memory plan: the entry is walked as it would run, with an owner for every 64 bytes of the
 * arena. A kernel that reads a buffer must find all of it owned by that buffer: written, and not overwritten since.
 * Loop bodies are walked twice so that the back edge is seen. Shares no code with the planner. */
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
    int32_t *owner;       /* slot + 1 per granule; 0: never written */
    int64_t granules, sample;
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
static void write_buf(struct owner_walk *w, const struct buf *b) {
    struct place *p = place_of(w, b);
    if (!p) return;
    for (int64_t g = p->at; g < p->at + p->size; g++) w->owner[g] = storage(w, p->slot) + 1;
}
static void read_buf(struct owner_walk *w, const struct buf *b, const char *who) {
    struct place *p = place_of(w, b);
    if (!p || !w->ok) return;
    for (int64_t g = p->at; g < p->at + p->size; g++) {
        int32_t o = w->owner[g];
        if (o == storage(w, p->slot) + 1) continue;
        w->ok = false;
        diag(&w->m->ctx->diags, DIAG_ERROR, E_VERIFY, "memory plan: %s reads buffer %s at byte %lld, which %s%s", who,
             b->name, (long long)g * PLAN_ALIGN, o ? "was overwritten by " : "was never written",
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
            for (int64_t g = 0; g < a->size; g++) w->owner[a->at + g] = b->slot + 1;
            for (int64_t g = 0; g < b->size; g++) w->owner[b->at + g] = a->slot + 1;
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
static bool locate(struct owner_walk *w) {
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
        if (p->at + p->size > w->granules) w->granules = p->at + p->size;
    }
    return w->granules < INT64_C(1) << 32;
}
bool plan_verify(struct module *m, struct memory_plan *plan) {
    static const int64_t samples[] = {1, 3, 17};
    bool ok = true;
    for (int k = 0; k < (plan->is_static ? 1 : 3) && ok; k++) {
        struct owner_walk w = {.m = m, .plan = plan, .sample = samples[k], .ok = true};
        w.places = NEWN(&m->ctx->arena, struct place, plan->slots.n + 1);
        if (!locate(&w)) continue; /* too large to walk at this sample */
        w.owner = calloc((size_t)w.granules + 1, sizeof *w.owner);
        if (!w.owner) BUG("out of memory");
        walk_block(&w, &m->entry->body);
        free(w.owner);
        ok = w.ok;
    }
    return ok;
}
