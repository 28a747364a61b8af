/* Strategies for kernels that were never stages: nests of stores (Concat, Slice), and texts in loop IR, as far as their
 * loops are independent. See cpu.h, docs/schedules.md. */
#include "ir/base/checked.h"
#include "lower/schedule/cpu.h"

/* ---- nests of stores into blocked results: their loops have the names of their axes, the same in each */
enum { NEST_MAX = 32 };
static int first_nest(struct plan *u, const char *axis[NEST_MAX], const struct buf **to) {
    const struct stmt *first = u->p->body.first;
    int n = 0;
    *to = NULL;
    while (first && first->kind == S_ALLOC) first = first->next;
    for (const struct stmt *f = first; f && f->kind == S_FOR && n < NEST_MAX; f = f->u.loop.body.first) {
        axis[n++] = f->u.loop.var->name;
        const struct stmt *in = f->u.loop.body.first;
        if (in && in->kind == S_STORE) *to = in->u.store.buf;
    }
    return n;
}
static const char *nests_points(struct plan *u, struct points *out) {
    const char *axis[NEST_MAX];
    const struct buf *to;
    int n = first_nest(u, axis, &to);
    const char *why = no_blocks(u, to);
    if (why) return why;
    if (n < 2) return "there is no axis of channels";
    for (int k = 0; k < n; k++)
        if (is_role(axis[k])) return "a loop has a name that those of schedules have";
    add_point(u, out, &strategy_nests)->u.block.lanes = true;
    if (u->k->cls == PROBLEM_MOVE) add_point(u, out, &strategy_nests)->u.block.lanes = false;
    return NULL;
}
static const char *nests_steps(struct plan *u, const struct point *p) {
    const char *axis[NEST_MAX] = {0};
    const struct buf *to;
    int n = first_nest(u, axis, &to);
    layout_steps(&u->s, u->p, u->l);
    step_split(&u->s, axis[1], lanes_of(u), role.channels, role.channel, TAIL_NONE);
    struct word_list order = {0};
    add_loops(&u->s, &order, LOOPS(axis[0], role.channels));
    for (int k = 2; k < n; k++) add_loop(&u->s, &order, axis[k]);
    add_loop(&u->s, &order, role.channel);
    step_reorder(&u->s, order);
    step_kind(&u->s, p->u.block.lanes ? LK_VECTOR : LK_UNROLL, LOOPS(role.channel));
    return NULL;
}
const struct strategy strategy_nests = {"blocked nests", nests_points, nests_steps, print_channels};

/* ---- for GPUs: a thread for each turn of all loops of a nest whose turns may run at once */
/* Steps go by name: nests whose outermost loops have one name (all parts of a Concat) are scheduled together. */
struct nests {
    const struct problem_loop *first;
    int depth;
    uint64_t free;
    int64_t cells; /* turns of all free loops, of the largest nest */
};
static bool is_free(const struct nests *q, int k) { return q->free >> k & 1; }
static int64_t cells_of(const struct nests *q, const struct problem_loop *l) {
    const struct stmt *s = l->loop;
    int64_t cells = 1, n;
    for (int k = 0; k < q->depth; k++, s = s->u.loop.body.first)
        if (is_free(q, k)) n = const_extent(s->u.loop.var), cells = n < 0 ? INT64_MAX : sat_mul(cells, n);
    return cells;
}
static bool same_name(const struct problem_loop *a, const struct problem_loop *b) {
    return a->loop->u.loop.var->name == b->loop->u.loop.var->name;
}
/* Those that are scheduled with nest `at`; false: they were met before, or none of their loops is free. */
static bool nests_of(const struct problem *k, int at, struct nests *q) {
    const struct problem_loop *l = &k->loops.v[at];
    *q = (struct nests){.first = l, .depth = l->depth, .free = l->free};
    for (int j = 0; j < k->loops.n; j++) {
        if (!same_name(&k->loops.v[j], l)) continue;
        if (j < at) return false;
        if (k->loops.v[j].depth < q->depth) q->depth = k->loops.v[j].depth;
        q->free &= k->loops.v[j].free;
    }
    q->free &= ((uint64_t)1 << q->depth) - 1;
    for (int j = at; j < k->loops.n; j++)
        if (same_name(&k->loops.v[j], l) && cells_of(q, &k->loops.v[j]) > q->cells)
            q->cells = cells_of(q, &k->loops.v[j]);
    return q->free;
}
static const char *grids_points(struct plan *u, struct points *out) {
    struct nests q;
    bool any = false;
    for (int k = 0; k < u->k->loops.n; k++) any |= nests_of(u->k, k, &q);
    if (!any) return "no loop's turns are independent";
    add_point(u, out, &strategy_gpu_nests);
    return NULL;
}
/* The free loops, or the others. */
static struct word_list loops_of(struct plan *u, const struct nests *q, bool free) {
    const struct stmt *s = q->first->loop;
    struct word_list loops = {0};
    for (int k = 0; k < q->depth; k++, s = s->u.loop.body.first)
        if (is_free(q, k) == free) add_loop(&u->s, &loops, s->u.loop.var->name);
    return loops;
}
static void grid_of_nests(struct plan *u, const struct nests *q) {
    struct word_list free = loops_of(u, q, true), order = free;
    if (q->free & (q->free + 1)) { /* others stand between them: they go inside */
        add_loops(&u->s, &order, loops_of(u, q, false));
        step_reorder(&u->s, order);
    }
    plan_threads(u, free, q->cells, free.v[0]);
    plan_grid(u, free.v[0]);
}
static const char *grids_steps(struct plan *u, const struct point *p) {
    struct nests q;
    (void)p;
    layout_steps(&u->s, u->p, u->l);
    for (int k = 0; k < u->k->loops.n; k++)
        if (nests_of(u->k, k, &q)) grid_of_nests(u, &q);
    return NULL;
}
const struct strategy strategy_gpu_nests = {"grids of loops", grids_points, grids_steps, NULL};
