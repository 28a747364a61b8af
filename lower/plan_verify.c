/* The independent check of a memory plan. It walks the entry as it would run, keeping an owner for every piece of the
 * arena between two ends of buffers. A kernel that reads a buffer must find all of it owned by that buffer: written,
 * and not overwritten since; what it writes must not overlap anything else it is given. Loop bodies are walked twice,
 * so that the back edge is covered; or as often as they run, if their views lie elsewhere in each iteration. Shares no
 * code with the planner: views and live ranges are found again from the statements. */
#include "lower/memory_plan.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* The position of a buffer in bytes: from its slot, or for a view from what it views. */
struct place {
    const struct buf *owner; /* the allocated buffer whose storage it is */
    int64_t at, end;
};
struct owner_walk {
    struct module *m;
    struct memory_plan *plan;
    struct map places;        /* buffer -> struct place */
    struct map elsewhere;     /* views of what the plan does not place */
    VEC(int64_t) ends;        /* the ends of all buffers, ascending */
    const struct buf **owner; /* of the piece between each end and the next; NULL: never written */
    int64_t sample;           /* assumed value of all symbols */
    struct map now;           /* exceptions to that, and values of loop variables: int64_t */
    int64_t *offset;          /* per slot */
    VEC(struct place *) swapped, views;
    bool ok, too_large;
};
static bool sample_leaf(void *env, expr e, int64_t *v) {
    const struct owner_walk *w = env;
    const int64_t *now = map_get(&w->now, e->op == X_VAR ? PKEY(e->u.var) : PKEY(e->u.sym));
    if (now) return *v = *now, true;
    if (e->op != X_SYM) return false;
    *v = w->sample < e->u.sym->lo ? e->u.sym->lo : w->sample > e->u.sym->hi ? e->u.sym->hi : w->sample;
    return true;
}
static bool wrong(struct owner_walk *w, const char *fmt, ...) NN_PRINTF(2, 3);
static bool wrong(struct owner_walk *w, const char *fmt, ...) {
    char text[400];
    va_list ap;
    if (!w->ok) return false;
    w->ok = false;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    diag(&w->m->ctx->diags, DIAG_ERROR, E_BROKEN, "memory plan: %s", text);
    return false;
}
static struct place *place_of(struct owner_walk *w, const struct buf *b) { return map_get(&w->places, PKEY(b)); }
static bool bytes_of(struct owner_walk *w, const struct buf *b, int64_t *n) {
    if (!x_eval_int(buf_cells(w->m->ctx, b), sample_leaf, w, n) || *n < 0 || *n > INT64_C(1) << 40) return false;
    *n *= dtype_bytes(b->type);
    return true;
}

/* ---- reading and writing */
static int piece_at(const struct owner_walk *w, int64_t at) {
    int lo = 0, hi = w->ends.n;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (w->ends.v[mid] < at) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}
static void used_without_place(struct owner_walk *w, const struct buf *b, const char *who) {
    if (b->scope == SC_ARENA && !w->too_large && !map_get(&w->elsewhere, PKEY(b)))
        wrong(w, "%s uses buffer %s, which has no place", who, b->name);
}
static void write_buf(struct owner_walk *w, const struct buf *b, const char *who) {
    struct place *p = place_of(w, b);
    if (!p) used_without_place(w, b, who);
    else
        for (int k = piece_at(w, p->at); w->ends.v[k] < p->end; k++) w->owner[k] = p->owner;
}
static void read_buf(struct owner_walk *w, const struct buf *b, const char *who) {
    struct place *p = place_of(w, b);
    if (!p) used_without_place(w, b, who);
    for (int k = p ? piece_at(w, p->at) : 0; p && w->ends.v[k] < p->end && w->ok; k++)
        if (w->owner[k] != p->owner)
            wrong(w, "%s reads buffer %s at byte %lld, which %s%s", who, b->name, (long long)w->ends.v[k],
                  w->owner[k] ? "was overwritten by " : "was never written", w->owner[k] ? w->owner[k]->name : "");
}
struct reader {
    struct owner_walk *w;
    const char *who;
};
/* The loads of the statement itself, without those of nested statements. */
static void read_load(void *env, expr load) {
    struct reader *r = env;
    read_buf(r->w, load->u.buf, r->who);
}
static void own_loads(void *env, expr e) { x_each_load(e, read_load, env); }
/* It has no cells, or a check ends such runs before. */
static bool is_empty(const struct place *p) { return p->at == p->end; }
/* A kernel may write before it has read everything, so its results must not overlap its other buffers. */
static void check_apart(struct owner_walk *w, const struct stmt *s, int k) {
    const struct proc *p = s->u.call.callee;
    const struct place *a = place_of(w, s->u.call.bufs[k]);
    for (int j = 0; a && j < s->u.call.nbufs; j++) {
        const struct place *b = place_of(w, s->u.call.bufs[j]);
        if (j == k || !b || b->at >= a->end || a->at >= b->end || is_empty(a) || is_empty(b)) continue;
        wrong(w, "%s writes buffer %s over buffer %s, which it is given too", p->name, s->u.call.bufs[k]->name,
              s->u.call.bufs[j]->name);
    }
}
static void walk_call(struct owner_walk *w, struct stmt *s) {
    const struct proc *p = s->u.call.callee;
    for (int k = 0; k < s->u.call.nbufs; k++) {
        if (p->params.v[k].dir != DIR_OUT) read_buf(w, s->u.call.bufs[k], p->name);
        if (p->params.v[k].dir != DIR_IN) check_apart(w, s, k);
    }
    for (int k = 0; k < s->u.call.nbufs; k++)
        if (p->params.v[k].dir != DIR_IN) write_buf(w, s->u.call.bufs[k], p->name);
}
static void walk_swap(struct owner_walk *w, struct stmt *s) {
    struct place *a = place_of(w, s->u.swap.a), *b = place_of(w, s->u.swap.b), t;
    if (!a || !b) return;
    for (int k = 0; k < w->ends.n; k++) {
        bool in_a = w->ends.v[k] >= a->at && w->ends.v[k] < a->end,
             in_b = w->ends.v[k] >= b->at && w->ends.v[k] < b->end;
        if (in_a && w->owner[k] == a->owner) w->owner[k] = b->owner;
        else if (in_b && w->owner[k] == b->owner) w->owner[k] = a->owner;
    }
    t = *a;
    a->at = b->at, a->end = b->at + (t.end - t.at); /* swapping exchanges pointers, not sizes */
    b->end = t.at + (b->end - b->at), b->at = t.at;
}

/* ---- positions */
/* Offsets of slots as in the generated code: those of the plan, or for run-time sizes those that follow from
 * `below`. */
static bool find_offsets(struct owner_walk *w) {
    w->offset = NEWN(&w->m->ctx->arena, int64_t, w->plan->slots.n + 1);
    for (int k = 0; k < w->plan->slots.n; k++) {
        const struct plan_slot *s = &w->plan->slots.v[k];
        if (w->plan->is_static) w->offset[k] = s->offset;
        for (int j = 0; !w->plan->is_static && j < s->nbelow; j++) {
            int64_t bytes;
            if (s->below[j] >= k) return wrong(w, "buffer %s is placed before what lies below it", s->buf->name);
            if (!x_eval_int(w->plan->slots.v[s->below[j]].bytes, sample_leaf, w, &bytes) || bytes < 0 ||
                bytes > INT64_C(1) << 44) {
                w->too_large = true;
                return true;
            }
            int64_t end = w->offset[s->below[j]] + bytes;
            if (end > w->offset[k]) w->offset[k] = end;
        }
    }
    return true;
}
static void add_place(struct owner_walk *w, const struct buf *b, struct place p) {
    map_put(&w->places, PKEY(b), arena_copy(&w->m->ctx->arena, &p, sizeof p));
    PUSH(&w->m->ctx->arena, &w->ends, p.at);
    PUSH(&w->m->ctx->arena, &w->ends, p.end);
}
static bool place_alloc(struct owner_walk *w, const struct buf *b) {
    struct plan_slot *s = NULL;
    struct place p = {.owner = b};
    int64_t bytes, room;
    for (int k = 0; k < w->plan->slots.n && !s; k++)
        if (w->plan->slots.v[k].buf == b) s = &w->plan->slots.v[k];
    if (!s || s->first < 0 || s->cls == PLAN_REGION) return true; /* must not be used */
    if (s->alias >= 0) return wrong(w, "buffer %s is allocated, and shares storage in the plan", b->name);
    if (!bytes_of(w, b, &bytes) || !x_eval_int(s->bytes, sample_leaf, w, &room)) {
        w->too_large = true;
        return true;
    }
    p.at = w->offset[s - w->plan->slots.v];
    if (bytes > room)
        return wrong(w, "buffer %s needs %lld bytes and has %lld", b->name, (long long)bytes, (long long)room);
    if (p.at < 0 || p.at % PLAN_ALIGN) return wrong(w, "buffer %s lies at byte %lld", b->name, (long long)p.at);
    p.end = p.at + bytes;
    if (w->plan->is_static && p.at + room > w->plan->peak)
        return wrong(w, "buffer %s ends at byte %lld, the arena at %lld", b->name, (long long)(p.at + room),
                     (long long)w->plan->peak);
    add_place(w, b, p);
    return true;
}
/* Does a check before s end runs with these sizes? */
static bool is_stopped_before(struct owner_walk *w, const struct stmt *s) {
    int64_t a, b;
    for (const struct stmt *t = s; t; t = t->prev ? t->prev : stmt_parent(t)) { /* the surrounding loops come later */
        expr cond = t->kind == S_CHECK ? t->u.check.cond : NULL;
        if (cond && cond->op == X_EQ && cond->arg[0]->type == IDX && x_eval_int(cond->arg[0], sample_leaf, w, &a) &&
            x_eval_int(cond->arg[1], sample_leaf, w, &b) && a != b)
            return true;
    }
    return false;
}
static bool place_view(struct owner_walk *w, const struct stmt *s) {
    const struct buf *b = s->u.view.buf, *of = s->u.view.of;
    const struct place *q = place_of(w, of);
    const struct plan_slot *slot = NULL, *base = NULL;
    int64_t off, bytes, said = 0;
    if (!q) { /* a view of a parameter, a constant or the region is not in the arena either */
        if (of->scope != SC_ARENA || map_get(&w->elsewhere, PKEY(of))) map_put(&w->elsewhere, PKEY(b), w);
        return true;
    }
    for (int k = 0; k < w->plan->slots.n; k++) {
        if (w->plan->slots.v[k].buf == b) slot = &w->plan->slots.v[k];
        if (w->plan->slots.v[k].buf == of) base = &w->plan->slots.v[k];
    }
    if (!slot || !base || slot->alias < 0 || &w->plan->slots.v[slot->alias] != base)
        return wrong(w, "view %s does not share the storage of %s", b->name, of->name);
    if (!x_eval_int(s->u.view.off, sample_leaf, w, &off) || !bytes_of(w, b, &bytes) ||
        (slot->alias_offset && !x_eval_int(slot->alias_offset, sample_leaf, w, &said))) {
        w->too_large = true;
        return true;
    }
    off *= dtype_bytes(of->type);
    if (off != said)
        return wrong(w, "view %s starts at byte %lld of %s, not %lld", b->name, (long long)off, of->name,
                     (long long)said);
    struct place p = {q->owner, q->at + off, q->at + off + bytes};
    if (p.end > q->end) {
        if (!is_stopped_before(w, s)) return wrong(w, "view %s reaches past the end of %s", b->name, of->name);
        p.end = p.at < q->end ? q->end : p.at; /* it is not used */
    }
    add_place(w, b, p);
    PUSH(&w->m->ctx->arena, &w->views, place_of(w, b));
    return true;
}
/* A view refers to the buffer that its name means at that moment, which a swap may have changed. */
static void walk_view(struct owner_walk *w, const struct stmt *s) {
    struct place *p = place_of(w, s->u.view.buf);
    const struct place *q = place_of(w, s->u.view.of);
    int64_t off;
    if (!p || !q || !x_eval_int(s->u.view.off, sample_leaf, w, &off)) return;
    p->end += q->at + off * dtype_bytes(s->u.view.of->type) - p->at;
    p->at = q->at + off * dtype_bytes(s->u.view.of->type);
}

/* ---- loops over tiles */
static void set_now(struct owner_walk *w, const void *leaf, int64_t v) {
    map_put(&w->now, PKEY(leaf), arena_copy(&w->m->ctx->arena, &v, sizeof v));
}
/* Sets sizes that depend on the iteration. */
static void set_size(struct owner_walk *w, const struct stmt *s) {
    int64_t v;
    if (x_has(s->u.size.value, XF_VAR) && x_eval_int(s->u.size.value, sample_leaf, w, &v)) set_now(w, s->u.size.sym, v);
}
struct moving {
    struct map leaves; /* that change between iterations */
    bool views;
};
static bool note_moving(void *env, const struct stmt *s) {
    struct moving *m = env;
    if (s->kind == S_SIZE && x_uses_any(s->u.size.value, &m->leaves)) map_put(&m->leaves, PKEY(s->u.size.sym), m);
    if (s->kind == S_VIEW) m->views |= x_uses_any(s->u.view.off, &m->leaves);
    return true;
}
/* How many iterations have to be walked. */
static int64_t passes_of(struct owner_walk *w, const struct stmt *s) {
    enum { BACK_EDGE = 2, MOST = 1 << 16 };
    struct moving m = {.leaves = {.arena = &w->m->ctx->arena}};
    int64_t passes;
    map_put(&m.leaves, PKEY(s->u.loop.var), &m);
    survey(&s->u.loop.body, note_moving, &m);
    if (!m.views) return BACK_EDGE;
    if (x_eval_int(s->u.loop.var->extent, sample_leaf, w, &passes) && passes <= MOST) return passes;
    w->too_large = true;
    return 0;
}

static void place_block(struct owner_walk *w, const struct block *b);
static void place_one(struct owner_walk *w, struct stmt *s) {
    const struct block *inner;
    bool placed = true;
    if (s->kind == S_ALLOC && s->u.alloc.buf->scope == SC_ARENA) placed = place_alloc(w, s->u.alloc.buf);
    if (s->kind == S_VIEW) placed = place_view(w, s);
    if (s->kind == S_SIZE) set_size(w, s);
    for (int64_t n = s->kind == S_FOR ? passes_of(w, s) : 1, pass = 0; placed && pass < n; pass++) {
        if (s->kind == S_FOR) set_now(w, s->u.loop.var, pass);
        for (int k = 0; (inner = stmt_block(s, k)); k++) place_block(w, inner);
    }
}
static void place_block(struct owner_walk *w, const struct block *b) {
    for (struct stmt *s = b->first; s && w->ok && !w->too_large; s = s->next) place_one(w, s);
}
/* Swapped buffers exchange their positions. */
static bool note_swaps(void *env, struct stmt *s) {
    struct owner_walk *w = env;
    struct place *a = s->kind == S_SWAP ? place_of(w, s->u.swap.a) : NULL,
                 *b = s->kind == S_SWAP ? place_of(w, s->u.swap.b) : NULL;
    if (a) PUSH(&w->m->ctx->arena, &w->swapped, a);
    if (b) PUSH(&w->m->ctx->arena, &w->swapped, b);
    return true;
}
static int by_value(const void *a, const void *b) {
    const int64_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}
static void place_all(struct owner_walk *w) {
    int n = 0;
    if (!find_offsets(w) || w->too_large) return;
    place_block(w, &w->m->entry->body);
    walk(&w->m->entry->body, note_swaps, w);
    for (int k = 0; k < w->swapped.n; k++)
        for (int j = 0; j < w->swapped.n; j++) {
            const struct place *p = w->swapped.v[j];
            PUSH(&w->m->ctx->arena, &w->ends, w->swapped.v[k]->at + (p->end - p->at));
        }
    for (int k = 0; k < w->views.n; k++) /* and their views with them */
        for (int j = 0; j < w->swapped.n; j++) {
            const struct place *v = w->views.v[k], *of = place_of(w, v->owner);
            PUSH(&w->m->ctx->arena, &w->ends, w->swapped.v[j]->at + (v->at - of->at));
            PUSH(&w->m->ctx->arena, &w->ends, w->swapped.v[j]->at + (v->end - of->at));
        }
    PUSH(&w->m->ctx->arena, &w->ends, INT64_MAX); /* sentinel: every search ends */
    qsort(w->ends.v, (size_t)w->ends.n, sizeof *w->ends.v, by_value);
    for (int k = 0; k < w->ends.n; k++)
        if (!k || w->ends.v[k] != w->ends.v[k - 1]) w->ends.v[n++] = w->ends.v[k];
    w->ends.n = n;
    w->owner = NEWN(&w->m->ctx->arena, const struct buf *, n);
}

/* ---- the walk */
static void walk_block(struct owner_walk *w, struct block *b);
static void walk_one(struct owner_walk *w, struct stmt *s) {
    struct reader r = {w, "an expression of the entry"};
    if (s->kind != S_WHILE) stmt_exprs(s, own_loads, &r);
    switch (s->kind) {
    case S_ALLOC:
        if (s->u.alloc.buf->fill) write_buf(w, s->u.alloc.buf, "its allocation");
        break;
    case S_CALL: walk_call(w, s); break;
    case S_STORE: write_buf(w, s->u.store.buf, "the entry"); break;
    case S_STAGE: write_buf(w, s->u.stage.buf, "the entry"); break;
    case S_INSTR: walk_block(w, &s->u.instr.body); break;
    case S_IF:
        walk_block(w, &s->u.cond.then);
        walk_block(w, &s->u.cond.other);
        break;
    case S_WHILE:
        for (int pass = 0; pass < 2; pass++) {
            stmt_exprs(s, own_loads, &r);
            walk_block(w, &s->u.loop_while.body);
        }
        stmt_exprs(s, own_loads, &r);
        break;
    case S_FOR:
        for (int64_t n = passes_of(w, s), pass = 0; pass < n; pass++) {
            set_now(w, s->u.loop.var, pass);
            walk_block(w, &s->u.loop.body);
        }
        break;
    case S_SWAP: walk_swap(w, s); break;
    case S_VIEW: walk_view(w, s); break;
    case S_SIZE: set_size(w, s); break;
    case S_FREE: /* in the region, which the plan does not place */
    case S_CHECK:
    case S_BIND:
    case S_FOREIGN: /* occurs only in kernels */
    case S_BARRIER:
    case S_PREFETCH:
    case S_COMMENT: break;
    }
}
static void walk_block(struct owner_walk *w, struct block *b) {
    for (struct stmt *s = b->first; s && w->ok && !w->too_large; s = s->next) walk_one(w, s);
}
bool plan_verify(struct module *m, struct memory_plan *plan) {
    static const int64_t samples[] = {1, 3, 17};
    bool ok = true;
    for (int k = 0; k < (plan->is_static ? 1 : 3) && ok; k++) {
        struct owner_walk w = {.m = m,
                               .plan = plan,
                               .places = {.arena = &m->ctx->arena},
                               .elsewhere = {.arena = &m->ctx->arena},
                               .now = {.arena = &m->ctx->arena},
                               .sample = samples[k],
                               .ok = true};
        place_all(&w);
        walk_block(&w, &m->entry->body);
        ok = w.ok;
    }
    return ok;
}
