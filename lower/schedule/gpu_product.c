/* The strategies for contractions on GPUs. Matrix products and convolutions that fit are computed in tiles with
 * operands in shared memory, by a micro-kernel of a thread or of a warp (gpu_warp.c); all others with a few results in
 * each thread. See docs/cuda.md. */
#include "lower/schedule/gpu_product.h"

/* ---- matrix products: a block computes a tile of cells, a thread a square of it, operands go through shared memory */
static bool at_least(const struct var *v, int64_t n) {
    int64_t e = const_extent(v);
    return e < 0 || e >= n;
}
/* A copy called `name` in shared memory, filled by all threads of the block. */
static void shared_operand(struct plan *u, expr load, const char *name) {
    int side = u->m->gpu->tile / u->m->gpu->cell;
    const char *turn = loop_in(u, name, "o"), *threads = loop_in(u, name, "t"), *y = loop_in(u, name, "ty"),
               *x = loop_in(u, name, "tx");
    step_compute_at(&u->s, name, role.steps, SC_SHARED);
    step_split(&u->s, gpu_fused_dims(u, name, load->n), side * side, turn, threads, TAIL_NONE);
    step_split(&u->s, threads, side, y, x, TAIL_NONE);
    step_reorder(&u->s, LOOPS(y, x, turn));
    step_kind(&u->s, LK_UNROLL, LOOPS(turn));
    step_kind(&u->s, LK_THREAD_Y, LOOPS(y));
    step_kind(&u->s, LK_THREAD_X, LOOPS(x));
}
/* Puts the threads' squares innermost in the accumulators. */
static void square_layout(struct plan *u, const char *acc, int m, int n) {
    struct layout_dims dims = {0};
    for (int k = 0; k < u->k->sum->u.stage.naxes; k++) {
        bool cut = k == m || k == n;
        add_dim(&u->s, &dims, cut ? dim_div(k, u->m->gpu->cell) : dim_whole(k));
        if (cut) add_dim(&u->s, &dims, dim_mod(k, u->m->gpu->cell));
    }
    step_layout(&u->s, acc, dims);
}
/* A square of cells for each thread. */
static bool thread_steps(struct plan *u) {
    const struct gpu *g = u->m->gpu;
    const struct problem *q = u->k;
    const struct stmt *sum = q->sum;
    int m = gpu_m_axis(q), n = gpu_n_axis(q);
    struct gpu_blocks blocks;
    struct word_list order = {0};
    const char *acc = gpu_sum(u, q);
    gpu_tile_rows(u);
    step_split(&u->s, "y.m1", g->cell, "y.tm", "y.m4", TAIL_NONE);
    gpu_tile_columns(u);
    step_split(&u->s, "y.n1", g->cell, "y.tn", "y.n4", TAIL_NONE);
    if (!gpu_blocks_of(u, LOOPS("y.tm", "y.tn", "y.m4", "y.n4"), &blocks)) return false;
    step_compute_at(&u->s, acc, "y.bn", SC_PARAM);
    step_split(&u->s, loop_in(u, acc, sum->u.stage.axes[m]->name), g->cell, "acc.tm", "acc.m4", TAIL_NONE);
    step_split(&u->s, loop_in(u, acc, sum->u.stage.axes[n]->name), g->cell, "acc.tn", "acc.n4", TAIL_NONE);
    step_split(&u->s, loop_in(u, acc, sum->u.stage.red[0]->name), g->depth, role.steps, role.straight, TAIL_GUARD);
    add_loop(&u->s, &order, role.steps);
    gpu_other_axes(u, q, acc, m, &order);
    add_loops(&u->s, &order, LOOPS("acc.tm", "acc.tn", role.straight, "acc.m4", "acc.n4"));
    step_reorder(&u->s, order);
    square_layout(u, acc, m, n);
    step_cache_read(&u->s, q->a.read->u.buf->base, "as", acc);
    step_cache_read(&u->s, q->b.read->u.buf->base, "bs", acc);
    shared_operand(u, q->a.read, "as");
    shared_operand(u, q->b.read, "bs");
    step_kind(&u->s, LK_UNROLL, LOOPS("acc.m4", "acc.n4", "y.m4", "y.n4"));
    gpu_block_kinds(u, &blocks);
    step_kind(&u->s, LK_THREAD_Y, LOOPS("y.tm", "acc.tm"));
    step_kind(&u->s, LK_THREAD_X, LOOPS("y.tn", "acc.tn"));
    return true;
}
static const char *product_points(struct plan *u, struct points *out) {
    const struct problem *q = u->k;
    const struct gpu *g = u->m->gpu;
    const char *why = no_plain_product(q);
    if (why) return why;
    int m = gpu_m_axis(q), n = gpu_n_axis(q);
    if (m < 0 || n < 0) return "one factor has no axis of its own";
    if (q->sum->u.stage.nred != 1 || q->a.read->has_fill || q->b.read->has_fill) return "not a product of matrices";
    if (q->out->u.stage.naxes != q->sum->u.stage.naxes) return "the result has other axes than the sum";
    if (!at_least(q->sum->u.stage.axes[m], g->least) || !at_least(q->sum->u.stage.axes[n], g->least) ||
        !at_least(q->sum->u.stage.red[0], g->depth))
        return "its sides are shorter than a tile is worth";
    if (q->a.read->u.buf == q->b.read->u.buf) return "both factors are one";
    for (const struct micro_speed *s = u->m->micros; s && s->micro; s++)
        if (!gpu_no_warps(u, s->micro)) add_point(u, out, &strategy_gpu_product)->u.micro = s->micro;
    add_point(u, out, &strategy_gpu_product)->u.micro = &micro_multiply_add;
    return NULL;
}
static const char *product_steps(struct plan *u, const struct point *p) {
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    bool taken = p->u.micro->instr ? gpu_warp_steps(u, p->u.micro) : thread_steps(u);
    return taken ? NULL : "blocks along an axis are more than the grid takes";
}
static void print_product(struct text *t, struct plan *u, const struct point *p) {
    text_printf(t, "%s, tiles of %d x %d, k0 in steps of %d", p->u.micro->instr ? p->u.micro->instr : "multiply-add",
                u->m->gpu->tile, u->m->gpu->tile, u->m->gpu->depth);
}

/* ---- other contractions: a thread computes a few results along N and uses each load of a for all of them */
/* How many: as many as N allows while there are still enough threads. */
static int64_t results_of_thread(const struct plan *u, const struct problem *q) {
    const struct gpu *g = u->m->gpu;
    int64_t n = const_extent(q->sum->u.stage.axes[gpu_n_axis(q)]), r = g->results;
    while (r > 1 && (n < 1 || n % r || typical_result(u->c, q->sum) / (double)r < (double)g->enough)) r /= 2;
    return r;
}
static const char *few_points(struct plan *u, struct points *out) {
    const struct problem *q = u->k;
    const char *why = no_plain_product(q);
    if (why) return why;
    if (gpu_n_axis(q) < 0) return "the second factor has no axis of its own";
    if (q->out->u.stage.naxes != q->sum->u.stage.naxes) return "the result has other axes than the sum";
    if (results_of_thread(u, q) < 2) return "more results for each thread leave too few threads";
    add_point(u, out, &strategy_gpu_few);
    return NULL;
}
/* Fuses the result's axes into one loop, in blocks of threads, each with a few results along N. */
static void few_cells(struct plan *u, const struct problem *q) {
    struct ctx *c = u->c;
    struct word_list order = {0};
    step_split(&u->s, axis_loop(c, q->out, gpu_n_axis(q)), results_of_thread(u, q), "y.few", "y.each", TAIL_NONE);
    for (int k = 0; k < q->sum->u.stage.naxes; k++)
        add_loop(&u->s, &order, k == gpu_n_axis(q) ? "y.few" : axis_loop(c, q->out, k));
    struct word_list outer = order;
    add_loop(&u->s, &order, "y.each");
    step_reorder(&u->s, order);
    step_split(&u->s, plan_fused(u, outer, "y"), u->m->gpu->few_threads * 2, "y.block", "y.thread", TAIL_GUARD);
}
static const char *few_steps(struct plan *u, const struct point *p) {
    const struct problem *q = u->k;
    struct word_list order = {0};
    (void)p;
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    const char *acc = gpu_sum(u, q), *each = loop_in(u, acc, q->sum->u.stage.axes[gpu_n_axis(q)]->name);
    few_cells(u, q);
    step_compute_at(&u->s, acc, "y.thread", SC_PARAM);
    for (int k = 0; k < q->sum->u.stage.nred; k++)
        add_loop(&u->s, &order, loop_in(u, acc, q->sum->u.stage.red[k]->name));
    gpu_other_axes(u, q, acc, gpu_n_axis(q), &order);
    add_loop(&u->s, &order, each);
    step_reorder(&u->s, order);
    step_kind(&u->s, LK_UNROLL, LOOPS(each, "y.each"));
    step_kind(&u->s, LK_BLOCK_X, LOOPS("y.block"));
    step_kind(&u->s, LK_THREAD_X, LOOPS("y.thread"));
    return NULL;
}
const struct strategy strategy_gpu_product = {"product", product_points, product_steps, print_product};
const struct strategy strategy_gpu_few = {"few results", few_points, few_steps, NULL};
