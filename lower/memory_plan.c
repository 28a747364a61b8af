/* The planner: live ranges of the entry's buffers, greedy placement at the reference dims, and the order of buffers
 * that stays valid for all dims (design: run-time sizes, "S and P are one plan"). See memory_plan.h. */
#include "lower/memory_plan.h"
#include "ir/base/checked.h"
#include <stdlib.h>
#include <string.h>

struct planner {
    struct module *m;
    struct ctx *c;
    struct memory_plan *plan;
    struct map slot_of; /* buffer -> slot number + 1 */
    int pos;            /* position of the statement being visited */
    int64_t (*reference)(void *env, const struct sym *s);
    void *env;
    int64_t *size, *offset; /* per slot, at the reference dims */
};
static int slot_number(struct planner *p, const struct buf *b) {
    return (int)(intptr_t)map_get(&p->slot_of, PKEY(b)) - 1;
}

/* ---- live ranges */
static void touch(struct planner *p, const struct buf *b) {
    int k = slot_number(p, b);
    for (; k >= 0; k = p->plan->slots.v[k].alias) {
        struct plan_slot *s = &p->plan->slots.v[k];
        if (s->first < 0 || p->pos < s->first) s->first = p->pos;
        if (p->pos > s->last) s->last = p->pos;
    }
}
static bool touch_load(void *env, expr e) {
    if (e->op == X_LOAD) touch(env, e->u.buf);
    return true;
}
static void touch_expr(struct planner *p, expr e) {
    if (e) x_visit(e, touch_load, p);
}
static expr slot_bytes(struct ctx *c, const struct buf *b) {
    expr bytes = x_muli(c, buf_cells(c, b), dtype_bytes(b->type));
    return x_muli(c, x_divi(c, x_addi(c, bytes, PLAN_ALIGN - 1), PLAN_ALIGN), PLAN_ALIGN);
}
static void add_slot(struct planner *p, struct buf *b, int alias, expr off) {
    struct plan_slot s = {.buf = b,
                          .offset = -1,
                          .alias = alias,
                          .first = -1,
                          .last = -1,
                          .bytes = slot_bytes(p->c, b),
                          .alias_offset = off};
    s.cls = b->scope == SC_REGION ? PLAN_REGION : s.bytes->op == X_CONST ? PLAN_STATIC : PLAN_SYMBOLIC;
    PUSH(&p->c->arena, &p->plan->slots, s);
    map_put(&p->slot_of, PKEY(b), (void *)(intptr_t)p->plan->slots.n);
}
static void visit_block(struct planner *p, struct block *b);
/* A buffer allocated before a loop and used inside it lives over the whole loop. */
static void extend_over(struct planner *p, int nslots, int begin, int end) {
    for (int k = 0; k < nslots; k++) {
        struct plan_slot *s = &p->plan->slots.v[k];
        if (s->last >= begin && s->first <= end) {
            if (s->last < end) s->last = end;
            if (s->first > begin) s->first = begin; /* first touched inside: it still must survive the back edge */
        }
    }
}
static void visit_stmt(struct planner *p, struct stmt *s) {
    int begin = ++p->pos, before = p->plan->slots.n;
    struct block *parts[2];
    int n = stmt_blocks(s, parts), alias;
    switch (s->kind) {
    case S_ALLOC: add_slot(p, s->u.alloc.buf, -1, NULL); break;
    case S_VIEW:
        alias = slot_number(p, s->u.view.of);
        if (alias >= 0) add_slot(p, s->u.view.buf, alias, x_muli(p->c, s->u.view.off, dtype_bytes(s->u.view.of->type)));
        break;
    case S_CALL:
        for (int k = 0; k < s->u.call.nbufs; k++) touch(p, s->u.call.bufs[k]);
        for (int k = 0; k < s->u.call.nargs; k++) touch_expr(p, s->u.call.args[k]);
        break;
    case S_STORE:
        touch(p, s->u.store.buf);
        touch_expr(p, s->u.store.value);
        break;
    case S_SIZE: touch_expr(p, s->u.size.value); break;
    case S_CHECK: touch_expr(p, s->u.check.cond); break;
    case S_IF: touch_expr(p, s->u.cond.cond); break;
    case S_WHILE: touch_expr(p, s->u.loop_while.cond); break;
    case S_FREE: touch(p, s->u.alloc.buf); break;
    case S_SWAP: touch(p, s->u.swap.a), touch(p, s->u.swap.b); break;
    default: break;
    }
    for (int k = 0; k < n; k++) visit_block(p, parts[k]);
    if (s->kind == S_FOR || s->kind == S_WHILE) {
        ++p->pos;
        if (s->kind == S_WHILE) touch_expr(p, s->u.loop_while.cond);
        extend_over(p, before, begin, p->pos);
    }
}
static void visit_block(struct planner *p, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) visit_stmt(p, s);
}
/* Swapped buffers exchange storage: each must live as long as both. */
static bool join_swapped(void *env, struct stmt *s) {
    struct planner *p = env;
    if (s->kind != S_SWAP) return true;
    int a = slot_number(p, s->u.swap.a), b = slot_number(p, s->u.swap.b);
    if (a < 0 || b < 0) return true;
    struct plan_slot *x = &p->plan->slots.v[a], *y = &p->plan->slots.v[b];
    x->first = y->first = x->first < y->first ? x->first : y->first;
    x->last = y->last = x->last > y->last ? x->last : y->last;
    return true;
}

/* ---- placement */
static bool reference_leaf(void *env, expr e, int64_t *v) {
    struct planner *p = env;
    if (e->op != X_SYM) return false;
    *v = p->reference ? p->reference(p->env, e->u.sym) : 1;
    return true;
}
static bool placed_class(const struct plan_slot *s) { return s->cls != PLAN_REGION && s->alias < 0 && s->first >= 0; }
static bool meet(const struct plan_slot *a, const struct plan_slot *b) {
    return a->first <= b->last && b->first <= a->last;
}
static struct planner *sorting;
static int sort_key_mode;
static int by_size(const void *a, const void *b) {
    int i = *(const int *)a, j = *(const int *)b;
    const struct plan_slot *x = &sorting->plan->slots.v[i], *y = &sorting->plan->slots.v[j];
    int64_t ki = sorting->size[i], kj = sorting->size[j];
    if (sort_key_mode == 1) ki *= x->last - x->first + 1, kj *= y->last - y->first + 1;
    if (sort_key_mode == 2) ki = -x->first, kj = -y->first;
    if (ki != kj) return ki < kj ? 1 : -1;
    return i - j;
}
/* First fit at the lowest address; returns the peak. */
static int64_t place(struct planner *p, const int *order, int n, int64_t *offset) {
    int64_t peak = 0;
    int *busy = malloc((size_t)(n + 1) * sizeof *busy);
    if (!busy) BUG("out of memory");
    for (int i = 0; i < n; i++) {
        int k = order[i], nb = 0;
        for (int j = 0; j < i; j++) { /* placed neighbours in time, sorted by address */
            if (!meet(&p->plan->slots.v[k], &p->plan->slots.v[order[j]])) continue;
            int at = nb++;
            while (at > 0 && offset[busy[at - 1]] > offset[order[j]]) busy[at] = busy[at - 1], at--;
            busy[at] = order[j];
        }
        int64_t at = 0;
        for (int j = 0; j < nb; j++) {
            if (offset[busy[j]] >= at + p->size[k]) break;
            int64_t end = offset[busy[j]] + p->size[busy[j]];
            if (end > at) at = end;
        }
        offset[k] = at;
        if (at + p->size[k] > peak) peak = at + p->size[k];
    }
    free(busy);
    return peak;
}
static void place_all(struct planner *p) {
    struct memory_plan *plan = p->plan;
    int n = 0, *order = NEWN(&p->c->arena, int, plan->slots.n);
    int64_t *try = NEWN(&p->c->arena, int64_t, plan->slots.n);
    for (int k = 0; k < plan->slots.n; k++)
        if (placed_class(&plan->slots.v[k])) order[n++] = k;
    plan->peak = -1;
    for (int mode = 0; mode < 3; mode++) {
        sorting = p, sort_key_mode = mode;
        qsort(order, (size_t)n, sizeof *order, by_size);
        int64_t peak = place(p, order, n, try);
        if (plan->peak >= 0 && peak >= plan->peak) continue;
        plan->peak = peak;
        memcpy(p->offset, try, (size_t)plan->slots.n * sizeof *try);
    }
    if (plan->peak < 0) plan->peak = 0;
}
/* Which neighbours lie below which: with that order kept, offsets follow from the sizes for all dims. Edges that a path
 * implies are dropped. Slots are visited by address, so `below` always refers to what was finished before. */
static struct planner *address_sorting;
static int by_address(const void *a, const void *b) {
    int i = *(const int *)a, j = *(const int *)b;
    int64_t x = address_sorting->offset[i], y = address_sorting->offset[j];
    return x != y ? (x < y ? -1 : 1) : i - j;
}
static void keep_order(struct planner *p) {
    struct memory_plan *plan = p->plan;
    int n = 0, total = plan->slots.n, *order = NEWN(&p->c->arena, int, total);
    size_t words = ((size_t)total + 63) / 64;
    uint64_t *reach = calloc((size_t)total * words + 1, sizeof *reach); /* everything below slot k, by any path */
    if (!reach) BUG("out of memory");
    for (int k = 0; k < total; k++)
        if (placed_class(&plan->slots.v[k])) order[n++] = k;
    address_sorting = p;
    qsort(order, (size_t)n, sizeof *order, by_address);
    for (int i = 0; i < n; i++) {
        int k = order[i], nb = 0;
        int *below = NEWN(&p->c->arena, int, i + 1);
        for (int j = i; j--;) { /* nearest first, so that longer paths make shorter edges superfluous */
            int q = order[j];
            if (!meet(&plan->slots.v[k], &plan->slots.v[q]) ||
                reach[(size_t)k * words + (size_t)q / 64] >> (q % 64) & 1)
                continue;
            below[nb++] = q;
            reach[(size_t)k * words + (size_t)q / 64] |= UINT64_C(1) << (q % 64);
            for (size_t w = 0; w < words; w++) reach[(size_t)k * words + w] |= reach[(size_t)q * words + w];
        }
        plan->slots.v[k].below = below;
        plan->slots.v[k].nbelow = nb;
    }
    free(reach);
}
/* Renumbers so that every `below` and every alias comes before its user. */
static void sort_slots(struct planner *p) {
    struct memory_plan *plan = p->plan;
    int n = plan->slots.n, done = 0;
    int *now = NEWN(&p->c->arena, int, n + 1);
    struct plan_slot *v = NEWN(&p->c->arena, struct plan_slot, n + 1);
    for (int k = 0; k < n; k++) now[k] = -1;
    while (done < n) {
        int before = done;
        for (int k = 0; k < n; k++) {
            struct plan_slot *s = &plan->slots.v[k];
            bool ready = now[k] < 0 && (s->alias < 0 || now[s->alias] >= 0);
            for (int j = 0; j < s->nbelow && ready; j++) ready = now[s->below[j]] >= 0;
            if (ready) v[now[k] = done++] = *s;
        }
        if (done == before) BUG("the memory plan's order has a cycle");
    }
    for (int k = 0; k < n; k++) {
        int *below = NEWN(&p->c->arena, int, v[k].nbelow + 1);
        for (int j = 0; j < v[k].nbelow; j++) below[j] = now[v[k].below[j]];
        v[k].below = below;
        if (v[k].alias >= 0) v[k].alias = now[v[k].alias];
    }
    plan->slots.v = v;
}
struct memory_plan *memory_plan(struct module *m, int64_t (*reference)(void *env, const struct sym *s), void *env) {
    struct ctx *c = m->ctx;
    struct memory_plan *plan = NEW(&c->arena, struct memory_plan);
    struct planner p = {
        .m = m, .c = c, .plan = plan, .slot_of = {.arena = &c->arena}, .reference = reference, .env = env};
    visit_block(&p, &m->entry->body);
    walk(&m->entry->body, join_swapped, &p);
    p.size = NEWN(&c->arena, int64_t, plan->slots.n + 1);
    p.offset = NEWN(&c->arena, int64_t, plan->slots.n + 1);
    plan->is_static = true;
    for (int k = 0; k < plan->slots.n; k++) {
        struct plan_slot *s = &plan->slots.v[k];
        plan->has_region |= s->cls == PLAN_REGION;
        if (!placed_class(s)) continue;
        plan->is_static &= s->cls == PLAN_STATIC;
        if (!x_eval_int(s->bytes, reference_leaf, &p, &p.size[k]) || p.size[k] < 0) {
            diag(&c->diags, DIAG_ERROR, E_SIZE, "the size of buffer %s cannot be addressed", s->buf->name);
            return NULL;
        }
    }
    place_all(&p);
    keep_order(&p);
    if (plan->is_static)
        for (int k = 0; k < plan->slots.n; k++)
            if (placed_class(&plan->slots.v[k])) plan->slots.v[k].offset = p.offset[k];
    sort_slots(&p);
    plan->bound = plan_bound(m, reference, env);
    return plan;
}
struct plan_slot *plan_slot_of(struct memory_plan *plan, const struct buf *b) {
    for (int k = 0; k < plan->slots.n; k++)
        if (plan->slots.v[k].buf == b) return &plan->slots.v[k];
    return NULL;
}
