/* The strategy for GPUs for kernels that were never stages: a thread for each iteration of all the loops of a nest that
 * may run in parallel; or a block for each, if everything it stores is stored in inner parallel loops of few
 * iterations, which then become its threads. See cpu.h, docs/cuda.md. */
#include "lower/schedule/cpu.h"

static bool is_free(const struct problem_loop *l, int k) { return l->free >> k & 1; }
/* The free loops, or the others. */
static struct word_list loops_of(struct plan *u, const struct problem_loop *l, bool free) {
    struct word_list loops = {0};
    for (int k = 0; k < l->depth; k++)
        if (is_free(l, k) == free) add_loop(&u->s, &loops, nest_var(l, k)->name);
    return loops;
}
static void grid_of_nest(struct plan *u, const struct problem_loop *l) {
    struct word_list free = loops_of(u, l, true), order = free;
    if (l->free & (l->free + 1)) { /* other loops stand between them: those go inside */
        add_loops(&u->s, &order, loops_of(u, l, false));
        step_reorder(&u->s, order);
    }
    plan_threads(u, free, nest_cells(l, l->free), free.v[0]);
    plan_grid(u, free.v[0]);
}
/* ---- a block for each iteration */
/* What an iteration does when it is a block, and which of its loops are the threads. */
struct block_body {
    struct plan *u;
    struct word_list threads;
    bool ok;
};
static void look_at_block(struct block_body *q, const struct block *b);
static void look_at(struct block_body *q, const struct stmt *s) {
    int64_t n = s->kind == S_FOR && s->u.loop.independent ? const_extent(s->u.loop.var) : -1;
    const struct block *in;
    if (n > 0 && n <= q->u->m->gpu->block_threads) {
        bool listed = false;
        for (int k = 0; k < q->threads.n; k++) listed |= q->threads.v[k] == s->u.loop.var->name;
        if (!listed) add_loop(&q->u->s, &q->threads, s->u.loop.var->name);
        return;
    }
    q->ok &= s->kind == S_FOR || s->kind == S_IF || s->kind == S_WHILE || s->kind == S_ALLOC || s->kind == S_COMMENT;
    for (int k = 0; (in = stmt_block(s, k)); k++) look_at_block(q, in);
}
static void look_at_block(struct block_body *q, const struct block *b) {
    for (const struct stmt *s = b->first; s && q->ok; s = s->next) look_at(q, s);
}
/* The parallel loops are outermost, and their body is more than one nest. */
static bool is_blocks(struct plan *u, const struct problem_loop *l, struct word_list *threads) {
    const struct stmt *s = l->loop;
    struct block_body q = {u, {0}, l->free == ((uint64_t)1 << l->depth) - 1};
    for (int k = 1; k < l->depth; k++) s = s->u.loop.body.first;
    if (s->u.loop.body.first == s->u.loop.body.last) return false;
    look_at_block(&q, &s->u.loop.body);
    *threads = q.threads;
    return q.ok && threads->n > 0;
}
static void blocks_of_nest(struct plan *u, const struct problem_loop *l, struct word_list threads) {
    struct word_list free = loops_of(u, l, true);
    step_kind(&u->s, LK_BLOCK_X, LOOPS(plan_fused(u, free, free.v[0])));
    step_kind(&u->s, LK_THREAD_X, threads);
}
static const char *grids_points(struct plan *u, struct points *out) {
    bool any = false;
    for (int k = 0; k < u->k->loops.n; k++) any |= u->k->loops.v[k].free != 0;
    if (!any) return "no loop's turns are independent";
    add_point(u, out, &strategy_gpu_nests);
    return NULL;
}
static const char *grids_steps(struct plan *u, const struct point *p) {
    (void)p;
    layout_steps(&u->s, u->p, u->l);
    for (int k = 0; k < u->k->loops.n; k++) {
        const struct problem_loop *l = &u->k->loops.v[k];
        struct word_list threads;
        if (l->free && is_blocks(u, l, &threads)) blocks_of_nest(u, l, threads);
        else if (l->free) grid_of_nest(u, l);
    }
    return NULL;
}
const struct strategy strategy_gpu_nests = {"grids of loops", grids_points, grids_steps, NULL};
