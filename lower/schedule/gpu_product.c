/* The strategies for contractions on GPUs: products of matrices and convolutions whose tiles fit are computed in tiles,
 * with operands in shared memory, by the micro-kernel of a thread or of a warp (gpu_warp.c); others by a few results in
 * each thread. See docs/cuda.md. */
#include "lower/schedule/gpu_product.h"
#include "ir/base/checked.h"

/* ---- products of matrices: a tile of cells a block, a square of them a thread, operands through shared memory */
static bool at_least(const struct var *v, int64_t n) {
    int64_t e = const_extent(v);
    return e < 0 || e >= n;
}
static int last_axis(const struct problem *q, uint64_t axes) {
    for (int k = q->sum->u.stage.naxes; k--;)
        if (axes >> k & 1) return k;
    return -1;
}
int gpu_m_axis(const struct problem *q) { return last_axis(q, ~q->b.axes); }
int gpu_n_axis(const struct problem *q) { return last_axis(q, q->b.axes & ~q->a.axes); }
const char *gpu_fused_dims(struct plan *u, const char *name, int nd) {
    const char *all = internf(u->c->names, "%s.d0", name);
    for (int d = 1; d < nd; d++) {
        const char *next = internf(u->c->names, "%s.cell%d", name, d);
        text_printf(&u->s, "fuse %s %s.d%d %s\n", all, name, d, next);
        all = next;
    }
    return all;
}
/* "as" in shared memory, filled by all threads of the block. */
static void shared_operand(struct plan *u, expr load, const char *name) {
    int side = u->m->gpu->tile / u->m->gpu->cell;
    text_printf(&u->s, "compute_at %s ko shared\n", name);
    const char *all = gpu_fused_dims(u, name, load->n);
    text_printf(&u->s, "split %s %d %s.o %s.t\nsplit %s.t %d %s.ty %s.tx\nreorder %s.ty %s.tx %s.o\n", all, side * side,
                name, name, name, side, name, name, name, name, name);
    text_printf(&u->s, "kind unroll %s.o\nkind gpu.thread.y %s.ty\nkind gpu.thread.x %s.tx\n", name, name, name);
}
const char *gpu_sum(struct plan *u, const struct problem *q) {
    if (q->out != q->sum) return q->sum->u.stage.buf->base;
    text_printf(&u->s, "cache_write %s acc\n", q->out->u.stage.buf->base);
    return "acc";
}
void gpu_other_axes(struct plan *u, const struct problem *q, const char *sum, int m) {
    for (int k = 0; k < q->sum->u.stage.naxes; k++)
        if (k != m && k != gpu_n_axis(q)) text_printf(&u->s, " %s.%s", sum, q->sum->u.stage.axes[k]->name);
}
/* The axes beside M and N as one loop: its name, NULL when there is none; *extent: of it. */
static const char *fused_others(struct plan *u, const struct problem *q, int m, expr *extent) {
    const char *outer = NULL;
    *extent = x_int(u->c, 1);
    for (int k = 0; k < q->sum->u.stage.naxes; k++) {
        if (k == m || k == gpu_n_axis(q)) continue;
        *extent = x_mul(u->c, *extent, q->sum->u.stage.axes[k]->extent);
        const char *next = axis_loop(u->c, q->out, k);
        if (outer) text_printf(&u->s, "fuse %s %s y.bz%d\n", outer, next, k);
        outer = outer ? internf(u->c->names, "y.bz%d", k) : next;
    }
    return outer;
}
static bool below_grid(struct plan *u, expr n) {
    int64_t lo, hi;
    if (n->op == X_POISON) return false;
    x_bounds(u->c, n, &lo, &hi);
    return lo <= u->m->gpu->max_grid_yz; /* more, found in the run, is refused by the launch */
}
bool gpu_tiles(struct plan *u, const char *rows, const char *columns, const char *inside, struct gpu_blocks *b) {
    struct ctx *c = u->c;
    const struct gpu *g = u->m->gpu;
    const struct problem *q = u->k;
    int m = gpu_m_axis(q), n = gpu_n_axis(q);
    expr others, tiles;
    text_printf(&u->s, "split %s %d y.bm y.m1 guard\n%s", axis_loop(c, q->out, m), g->tile, rows);
    text_printf(&u->s, "split %s %d y.bn y.n1 guard\n%sreorder", axis_loop(c, q->out, n), g->tile, columns);
    for (int k = 0; k < q->sum->u.stage.naxes; k++)
        if (k != m && k != n) text_printf(&u->s, " %s", axis_loop(c, q->out, k));
    text_printf(&u->s, " y.bm y.bn %s\n", inside);
    b->outer = fused_others(u, q, m, &others);
    tiles = x_divi(c, x_addi(c, q->sum->u.stage.axes[m]->extent, g->tile - 1), g->tile);
    /* only x counts without end: it is for the axis that may be long */
    int64_t lo, hi;
    x_bounds(c, others, &lo, &hi);
    b->m_on_x = below_grid(u, others) && (hi <= g->max_grid_yz || !x_is_int(tiles, &hi));
    return (b->m_on_x || below_grid(u, tiles)) &&
           below_grid(u, x_divi(c, x_addi(c, q->sum->u.stage.axes[n]->extent, g->tile - 1), g->tile));
}
void gpu_block_kinds(struct plan *u, const struct gpu_blocks *b) {
    text_printf(&u->s, "kind gpu.block.%c y.bm\nkind gpu.block.y y.bn\n", b->m_on_x ? 'x' : 'z');
    if (b->outer) text_printf(&u->s, "kind gpu.block.%c %s\n", b->m_on_x ? 'z' : 'x', b->outer);
}
/* A square of cells for each thread. */
static bool thread_text(struct plan *u) {
    const struct gpu *g = u->m->gpu;
    const struct problem *q = u->k;
    int m = gpu_m_axis(q), n = gpu_n_axis(q);
    struct gpu_blocks blocks;
    const char *acc = gpu_sum(u, q);
    const char *am = q->sum->u.stage.axes[m]->name, *an = q->sum->u.stage.axes[n]->name;
    if (!gpu_tiles(u, arena_printf(&u->c->arena, "split y.m1 %d y.tm y.m4\n", g->cell),
                   arena_printf(&u->c->arena, "split y.n1 %d y.tn y.n4\n", g->cell), "y.tm y.tn y.m4 y.n4", &blocks))
        return false;
    text_printf(&u->s, "compute_at %s y.bn\nsplit %s.%s %d acc.tm acc.m4\nsplit %s.%s %d acc.tn acc.n4\n", acc, acc, am,
                g->cell, acc, an, g->cell);
    text_printf(&u->s, "split %s.%s %d ko ki guard\nreorder ko", acc, q->sum->u.stage.red[0]->name, g->depth);
    gpu_other_axes(u, q, acc, m);
    text_printf(&u->s, " acc.tm acc.tn ki acc.m4 acc.n4\nlayout %s [", acc);
    for (int k = 0; k < q->sum->u.stage.naxes; k++)
        if (k == m || k == n) text_printf(&u->s, "%s%d/%d %d%%%d", k ? " " : "", k, g->cell, k, g->cell);
        else text_printf(&u->s, "%s%d", k ? " " : "", k);
    text_printf(&u->s, "]\ncache_read %s as %s\ncache_read %s bs %s\n", q->a.read->u.buf->base, acc,
                q->b.read->u.buf->base, acc);
    shared_operand(u, q->a.read, "as");
    shared_operand(u, q->b.read, "bs");
    text_add(&u->s, "kind unroll acc.m4 acc.n4 y.m4 y.n4\n");
    gpu_block_kinds(u, &blocks);
    text_add(&u->s, "kind gpu.thread.y y.tm acc.tm\nkind gpu.thread.x y.tn acc.tn\n");
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
    bool taken = p->u.micro->instr ? gpu_warp_text(u, p->u.micro) : thread_text(u);
    return taken ? NULL : "blocks along an axis are more than the grid takes";
}
static void print_product(struct text *t, struct plan *u, const struct point *p) {
    text_printf(t, "%s, tiles of %d x %d, k0 in steps of %d", p->u.micro->name, u->m->gpu->tile, u->m->gpu->tile,
                u->m->gpu->depth);
}

/* ---- other contractions: a thread computes a few results along N, for each of which it uses what it loads of a */
/* How many: as N allows, as long as there are threads enough. */
static int64_t results_of_thread(const struct gpu *g, const struct problem *q) {
    int64_t cells = 1, n = const_extent(q->sum->u.stage.axes[gpu_n_axis(q)]), r = g->results;
    for (int k = 0; k < q->sum->u.stage.naxes; k++) {
        int64_t e = const_extent(q->sum->u.stage.axes[k]);
        cells = e < 0 ? INT64_MAX : sat_mul(cells, e);
    }
    while (r > 1 && (n < 1 || n % r || cells / r < g->enough)) r /= 2;
    return r;
}
static const char *few_points(struct plan *u, struct points *out) {
    const struct problem *q = u->k;
    const char *why = no_plain_product(q);
    if (why) return why;
    if (gpu_n_axis(q) < 0) return "the second factor has no axis of its own";
    if (q->out->u.stage.naxes != q->sum->u.stage.naxes) return "the result has other axes than the sum";
    if (results_of_thread(u->m->gpu, q) < 2) return "more results for each thread leave too few threads";
    add_point(u, out, &strategy_gpu_few);
    return NULL;
}
static void few_text(struct plan *u, const struct problem *q) {
    struct ctx *c = u->c;
    int64_t r = results_of_thread(u->m->gpu, q);
    const char *all = NULL;
    const char *acc = gpu_sum(u, q), *each = internf(c->names, "%s.%s", acc, q->sum->u.stage.axes[gpu_n_axis(q)]->name);
    text_printf(&u->s, "split %s %lld y.few y.each\nreorder", axis_loop(c, q->out, gpu_n_axis(q)), (long long)r);
    for (int k = 0; k < q->sum->u.stage.naxes; k++)
        text_printf(&u->s, " %s", k == gpu_n_axis(q) ? "y.few" : axis_loop(c, q->out, k));
    text_add(&u->s, " y.each\n");
    for (int k = 0; k < q->sum->u.stage.naxes; k++) {
        const char *next = k == gpu_n_axis(q) ? "y.few" : axis_loop(c, q->out, k);
        if (all) text_printf(&u->s, "fuse %s %s y.cell%d\n", all, next, k);
        all = all ? internf(c->names, "y.cell%d", k) : next;
    }
    text_printf(&u->s, "split %s %d y.block y.thread guard\ncompute_at %s y.thread\nreorder", all,
                u->m->gpu->few_threads * 2, acc);
    for (int k = 0; k < q->sum->u.stage.nred; k++) text_printf(&u->s, " %s.%s", acc, q->sum->u.stage.red[k]->name);
    gpu_other_axes(u, q, acc, gpu_n_axis(q));
    text_printf(&u->s, " %s\nkind unroll %s y.each\nkind gpu.block.x y.block\nkind gpu.thread.x y.thread\n", each,
                each);
}
static const char *few_steps(struct plan *u, const struct point *p) {
    (void)p;
    layout_steps(&u->s, u->p, u->l);
    plan_inline_maps(u);
    few_text(u, u->k);
    return NULL;
}
const struct strategy strategy_gpu_product = {"product", product_points, product_steps, print_product};
const struct strategy strategy_gpu_few = {"few results", few_points, few_steps, NULL};
