/* The planner: live ranges of the entry's buffers, a search for the best placement at some dims, and the order of
 * buffers that stays valid for all dims (design: run-time sizes, "S and P are one plan"). See memory_plan.h. */
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
    int64_t sample;   /* value of all symbols, 0: the reference dims */
    struct arena tmp; /* of the search */
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
static void touch_load(void *env, expr load) { touch(env, load->u.buf); }
static void touch_loads(void *env, expr e) { x_each_load(e, touch_load, env); }
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
    s.cls = b->scope == SC_REGION || b->scope == SC_KEPT ? PLAN_REGION
            : s.bytes->op == X_CONST                     ? PLAN_STATIC
                                                         : PLAN_SYMBOLIC;
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
            if (s->first > begin) s->first = begin; /* first touched inside, but it must survive the back edge */
        }
    }
}
static void visit_stmt(struct planner *p, struct stmt *s) {
    int begin = ++p->pos, before = p->plan->slots.n;
    struct block *parts[2];
    int n = stmt_blocks(s, parts), alias;
    struct named_buf b;
    if (s->kind == S_CALL) PUSH(&p->c->arena, &p->plan->calls, ((struct plan_call){s, begin}));
    if (s->kind == S_ALLOC) add_slot(p, s->u.alloc.buf, -1, NULL);
    if (s->kind == S_VIEW && (alias = slot_number(p, s->u.view.of)) >= 0)
        add_slot(p, s->u.view.buf, alias, x_muli(p->c, s->u.view.off, dtype_bytes(s->u.view.of->type)));
    for (int k = 0; stmt_buf(s, k, &b); k++)
        if (b.use & (BU_READ | BU_WRITTEN | BU_ENDS)) touch(p, b.buf);
    stmt_exprs(s, touch_loads, p);
    for (int k = 0; k < n; k++) visit_block(p, parts[k]);
    if (s->kind == S_FOR || s->kind == S_WHILE) {
        ++p->pos;
        if (s->kind == S_WHILE) stmt_exprs(s, touch_loads, p);
        extend_over(p, before, begin, p->pos);
    }
}
static void visit_block(struct planner *p, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) visit_stmt(p, s);
}
/* Buffers that are swapped exchange their storage, so each must live as long as both. */
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
    int64_t lo = e->u.sym->lo, hi = e->u.sym->hi;
    if (p->sample) *v = p->sample < lo ? lo : p->sample > hi ? hi : p->sample;
    else *v = p->reference ? p->reference(p->env, e->u.sym) : 1;
    return true;
}
bool slot_placed(const struct plan_slot *s) { return s->cls != PLAN_REGION && s->alias < 0 && s->first >= 0; }
static bool meet(const struct plan_slot *a, const struct plan_slot *b) {
    return a->first <= b->last && b->first <= a->last;
}
/* ---- the search: buffers are placed one after the other, each at the lowest address that is free during its life, so
 * only their order matters. Several orders are tried; then, repeatedly, buffers at the top of the best plan are moved
 * to the front of its order. */
enum { SEARCH_ROUNDS = 200 };
struct search {
    struct planner *p;
    int n;         /* placed buffers */
    int *slot;     /* their slots */
    int64_t *size; /* at the dims used in this search */
    int **meets, *nmeets;
    int64_t *at, floor; /* floor: most bytes alive at once, a lower bound for every plan */
};
static int64_t place_in_order(struct search *q, const int *order, int64_t *at) {
    int64_t peak = 0;
    int *busy = NEWN(&q->p->tmp, int, q->n + 1);
    for (int k = 0; k < q->n; k++) at[k] = -1;
    for (int i = 0; i < q->n; i++) {
        int k = order[i], nb = 0;
        for (int j = 0; j < q->nmeets[k]; j++) { /* placed buffers that are alive at the same time, sorted by address */
            int other = q->meets[k][j], to;
            if (at[other] < 0) continue;
            for (to = nb++; to > 0 && at[busy[to - 1]] > at[other]; to--) busy[to] = busy[to - 1];
            busy[to] = other;
        }
        int64_t low = 0;
        for (int j = 0; j < nb && at[busy[j]] < low + q->size[k]; j++) {
            int64_t end = at[busy[j]] + q->size[busy[j]];
            if (end > low) low = end;
        }
        at[k] = low;
        if (low + q->size[k] > peak) peak = low + q->size[k];
    }
    return peak;
}
enum order_rule { BY_SIZE, BY_SIZE_TIMES_LIFE, BY_TIME, BY_END, BY_LIFE, ORDER_RULES };
struct order_key {
    int k;
    int64_t key, then;
};
static int by_key(const void *a, const void *b) {
    const struct order_key *x = a, *y = b;
    if (x->key != y->key) return x->key > y->key ? -1 : 1;
    if (x->then != y->then) return x->then > y->then ? -1 : 1;
    return x->k - y->k;
}
static void order_by(struct search *q, enum order_rule rule, int *order) {
    struct order_key *v = NEWN(&q->p->tmp, struct order_key, q->n + 1);
    for (int k = 0; k < q->n; k++) {
        const struct plan_slot *s = &q->p->plan->slots.v[q->slot[k]];
        int64_t life = s->last - s->first + 1, size = q->size[k];
        const int64_t key[] = {size, size > INT64_MAX / life ? INT64_MAX : size * life, -s->first, s->last, life};
        v[k] = (struct order_key){k, key[rule], size};
    }
    qsort(v, (size_t)q->n, sizeof *v, by_key);
    for (int k = 0; k < q->n; k++) order[k] = v[k].k;
}
/* Moves to the front the buffers that end at the peak, and those directly below them. */
static void raise_top(struct search *q, int *order, const int64_t *at, int64_t peak, int round) {
    int n = 0, *out = NEWN(&q->p->tmp, int, q->n + 1);
    bool *top = NEWN(&q->p->tmp, bool, q->n + 1);
    for (int k = 0; k < q->n; k++) top[k] = at[k] + q->size[k] == peak;
    for (int k = 0; round % 2 && k < q->n; k++)
        for (int j = 0; top[k] && at[k] + q->size[k] == peak && j < q->nmeets[k]; j++)
            if (at[q->meets[k][j]] + q->size[q->meets[k][j]] == at[k]) top[q->meets[k][j]] = true;
    for (int k = 0; k < q->n; k++)
        if (top[order[k]]) out[n++] = order[k];
    for (int k = 0; k < q->n; k++)
        if (!top[order[k]]) out[n++] = order[k];
    memcpy(order, out, (size_t)q->n * sizeof *order);
}
static void search_plan(struct search *q) {
    int64_t best = -1, *at = NEWN(&q->p->tmp, int64_t, q->n + 1);
    int *order = NEWN(&q->p->tmp, int, q->n + 1);
    for (int rule = 0; rule < ORDER_RULES && (best < 0 || best > q->floor); rule++) {
        order_by(q, (enum order_rule)rule, order);
        int rounds = q->n > 400 ? SEARCH_ROUNDS / 8 : SEARCH_ROUNDS;
        for (int round = 0; round < rounds; round++) {
            int64_t peak = place_in_order(q, order, at);
            if (best < 0 || peak < best) {
                best = peak;
                memcpy(q->at, at, (size_t)q->n * sizeof *at);
            }
            if (best <= q->floor) return;
            raise_top(q, order, at, peak, round);
        }
    }
}
static int64_t most_alive(struct search *q) {
    int64_t most = 0, now = 0, *change = NEWN(&q->p->tmp, int64_t, q->p->pos + 3);
    for (int k = 0; k < q->n; k++) {
        const struct plan_slot *s = &q->p->plan->slots.v[q->slot[k]];
        change[s->first] += q->size[k], change[s->last + 1] -= q->size[k];
    }
    for (int k = 0; k <= q->p->pos + 1; k++) {
        now += change[k];
        if (now > most) most = now;
    }
    return most;
}
static void find_meets(struct search *q) {
    q->meets = NEWN(&q->p->tmp, int *, q->n + 1), q->nmeets = NEWN(&q->p->tmp, int, q->n + 1);
    int *row = NEWN(&q->p->tmp, int, q->n + 1);
    for (int i = 0; i < q->n; i++) {
        int n = 0;
        for (int j = 0; j < q->n; j++)
            if (i != j && meet(&q->p->plan->slots.v[q->slot[i]], &q->p->plan->slots.v[q->slot[j]])) row[n++] = j;
        q->meets[i] = arena_copy(&q->p->tmp, row, (size_t)(n + 1) * sizeof *row);
        q->nmeets[i] = n;
    }
}
/* Which of the neighbours lie below which: if that order is kept, offsets follow from the sizes for all dims. Edges
 * implied by a path are dropped. Buffers are visited by address, so `below` always refers to finished ones. */
struct below {
    int *v, n;
};
static int *by_address(struct search *q) {
    struct order_key *v = NEWN(&q->p->tmp, struct order_key, q->n + 1);
    int *order = NEWN(&q->p->tmp, int, q->n + 1);
    for (int k = 0; k < q->n; k++) v[k] = (struct order_key){k, -q->at[k], 0};
    qsort(v, (size_t)q->n, sizeof *v, by_key);
    for (int k = 0; k < q->n; k++) order[k] = v[k].k;
    return order;
}
static struct below *keep_order(struct search *q) {
    int *order = by_address(q);
    size_t words = ((size_t)q->n + 63) / 64;
    struct below *out = NEWN(&q->p->tmp, struct below, q->n + 1);
    uint64_t *reach = NEWN(&q->p->tmp, uint64_t, (size_t)q->n * words + 1); /* everything below k, by any path */
    for (int i = 0; i < q->n; i++) {
        int k = order[i];
        out[k].v = NEWN(&q->p->tmp, int, i + 1);
        for (int j = i; j--;) { /* nearest first, so that edges implied by longer paths are found */
            int b = order[j];
            if (!meet(&q->p->plan->slots.v[q->slot[k]], &q->p->plan->slots.v[q->slot[b]]) ||
                reach[(size_t)k * words + (size_t)b / 64] >> (b % 64) & 1)
                continue;
            out[k].v[out[k].n++] = b;
            reach[(size_t)k * words + (size_t)b / 64] |= UINT64_C(1) << (b % 64);
            for (size_t w = 0; w < words; w++) reach[(size_t)k * words + w] |= reach[(size_t)b * words + w];
        }
    }
    return out;
}

/* ---- the choice. With run-time sizes, each candidate is an order found at some dims; it is judged by its peaks at all
 * samples, relative to the best possible ones. */
static const int64_t samples[] = {0, 2, 16, 100}; /* 0: the reference; else all symbols, within their ranges */
enum { SAMPLES = sizeof samples / sizeof *samples };
static bool sizes_at(struct search *q, int64_t sample) {
    struct planner *p = q->p;
    p->sample = sample;
    q->size = NEWN(&p->tmp, int64_t, q->n + 1);
    for (int k = 0; k < q->n; k++) {
        if (!x_eval_size(p->plan->slots.v[q->slot[k]].bytes, reference_leaf, p, &q->size[k]) ||
            q->size[k] > INT64_MAX / 4 / (q->n + 1))
            return false;
        if (q->size[k] < 0) q->size[k] = 0; /* the model does not accept these dims, as the run would find out */
    }
    return true;
}
static int64_t peak_of(struct search *q, const int *order, const struct below *below, int64_t *at) {
    int64_t peak = 0;
    for (int i = 0; i < q->n; i++) {
        int k = order[i];
        at[k] = 0;
        for (int j = 0; j < below[k].n; j++) {
            int64_t end = at[below[k].v[j]] + q->size[below[k].v[j]];
            if (end > at[k]) at[k] = end;
        }
        if (at[k] + q->size[k] > peak) peak = at[k] + q->size[k];
    }
    return peak;
}
static bool place_all(struct planner *p) {
    struct memory_plan *plan = p->plan;
    struct search at[SAMPLES] = {{.p = p, .slot = NEWN(&p->tmp, int, plan->slots.n + 1)}};
    int count = plan->is_static ? 1 : SAMPLES;
    for (int k = 0; k < plan->slots.n; k++)
        if (slot_placed(&plan->slots.v[k])) at->slot[at->n++] = k;
    find_meets(at);
    for (int i = 0; i < count; i++) {
        at[i] = at[0];
        at[i].at = NEWN(&p->tmp, int64_t, at->n + 1);
        if (!sizes_at(&at[i], samples[i])) {
            if (i) {
                count = i;
                break;
            }
            return false;
        }
        at[i].floor = most_alive(&at[i]);
        search_plan(&at[i]);
    }
    struct below *best = NULL;
    double least = 0;
    int64_t *offset = NEWN(&p->tmp, int64_t, at->n + 1);
    for (int i = 0; i < count; i++) {
        struct below *below = keep_order(&at[i]);
        int *order = by_address(&at[i]);
        double cost = 0;
        for (int j = 0; j < count; j++)
            cost += (double)peak_of(&at[j], order, below, offset) / (double)(at[j].floor ? at[j].floor : 1);
        if (best && cost >= least) continue;
        best = below, least = cost;
        plan->peak = peak_of(&at[0], order, below, offset);
        for (int k = 0; k < at->n; k++) plan->slots.v[at->slot[k]].offset = offset[k];
    }
    for (int k = 0; k < at->n; k++) {
        struct plan_slot *s = &plan->slots.v[at->slot[k]];
        int *v = NEWN(&p->c->arena, int, best[k].n + 1);
        for (int j = 0; j < best[k].n; j++) v[j] = at->slot[best[k].v[j]];
        s->below = v, s->nbelow = best[k].n;
        if (!plan->is_static) s->offset = -1;
    }
    return true;
}
/* Renumbers so that `below` and aliases come before their users. */
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
    plan->positions = p.pos + 1;
    walk(&m->entry->body, join_swapped, &p);
    plan->is_static = true;
    for (int k = 0; k < plan->slots.n; k++) {
        struct plan_slot *s = &plan->slots.v[k];
        plan->has_region |= s->cls == PLAN_REGION;
        if (slot_placed(s)) plan->is_static &= s->cls == PLAN_STATIC;
    }
    bool ok = place_all(&p);
    arena_free(&p.tmp);
    if (!ok) {
        diag(&c->diags, DIAG_ERROR, E_SIZE, "the sizes of the buffers cannot be addressed");
        return NULL;
    }
    sort_slots(&p);
    plan->bound = plan_bound(m, reference, env);
    return plan;
}
struct plan_slot *plan_slot_of(const struct memory_plan *plan, const struct buf *b) {
    for (int k = 0; k < plan->slots.n; k++)
        if (plan->slots.v[k].buf == b) return &plan->slots.v[k];
    return NULL;
}
