/* Tiles of products on GPUs: what the two ways to compute them (gpu_product.c, gpu_warp.c) share. See gpu_product.h. */
#include "lower/schedule/gpu_product.h"

static int last_axis(const struct problem *q, uint64_t axes) {
    for (int k = q->sum->u.stage.naxes; k--;)
        if (axes >> k & 1) return k;
    return -1;
}
int gpu_m_axis(const struct problem *q) { return last_axis(q, ~q->b.axes); }
int gpu_n_axis(const struct problem *q) { return last_axis(q, q->b.axes & ~q->a.axes); }
const char *gpu_fused_dims(struct plan *u, const char *name, int nd) {
    struct word_list dims = {0};
    for (int d = 0; d < nd; d++) add_loop(&u->s, &dims, internf(u->c->names, "%s.d%d", name, d));
    return plan_fused(u, dims, name);
}
const char *gpu_sum(struct plan *u, const struct problem *q) {
    if (q->out != q->sum) return q->sum->u.stage.buf->base;
    step_cache_write(&u->s, q->out->u.stage.buf->base, role.sum);
    return role.sum;
}
void gpu_other_axes(struct plan *u, const struct problem *q, const char *sum, int m, struct word_list *to) {
    for (int k = 0; k < q->sum->u.stage.naxes; k++)
        if (k != m && k != gpu_n_axis(q)) add_loop(&u->s, to, loop_in(u, sum, q->sum->u.stage.axes[k]->name));
}
/* Fuses the axes other than M and N. Returns the loop's name, NULL: there are none; *extent: its extent. */
static const char *fused_others(struct plan *u, const struct problem *q, int m, expr *extent) {
    const char *outer = NULL;
    *extent = x_int(u->c, 1);
    for (int k = 0; k < q->sum->u.stage.naxes; k++) {
        if (k == m || k == gpu_n_axis(q)) continue;
        *extent = x_mul(u->c, *extent, q->sum->u.stage.axes[k]->extent);
        const char *next = axis_loop(u->c, q->out, k), *both = internf(u->c->names, "y.bz%d", k);
        if (outer) step_fuse(&u->s, outer, next, both);
        outer = outer ? both : next;
    }
    return outer;
}
static bool below_grid(struct plan *u, expr n) {
    int64_t lo, hi;
    if (n->op == X_POISON) return false;
    x_bounds(u->c, n, &lo, &hi);
    return lo <= u->m->gpu->max_grid_yz; /* if the run finds more, the launch is refused */
}
void gpu_tile_rows(struct plan *u) {
    step_split(&u->s, axis_loop(u->c, u->k->out, gpu_m_axis(u->k)), u->m->gpu->tile, "y.bm", "y.m1", TAIL_GUARD);
}
void gpu_tile_columns(struct plan *u) {
    step_split(&u->s, axis_loop(u->c, u->k->out, gpu_n_axis(u->k)), u->m->gpu->tile, "y.bn", "y.n1", TAIL_GUARD);
}
bool gpu_blocks_of(struct plan *u, struct word_list inside, struct gpu_blocks *b) {
    struct ctx *c = u->c;
    const struct gpu *g = u->m->gpu;
    const struct problem *q = u->k;
    int m = gpu_m_axis(q), n = gpu_n_axis(q);
    expr others, tiles;
    struct word_list order = {0};
    for (int k = 0; k < q->sum->u.stage.naxes; k++)
        if (k != m && k != n) add_loop(&u->s, &order, axis_loop(c, q->out, k));
    add_loops(&u->s, &order, LOOPS("y.bm", "y.bn"));
    add_loops(&u->s, &order, inside);
    step_reorder(&u->s, order);
    b->outer = fused_others(u, q, m, &others);
    tiles = x_divi(c, x_addi(c, q->sum->u.stage.axes[m]->extent, g->tile - 1), g->tile);
    /* only x of a grid has no small limit: it gets the axis that may be long */
    int64_t lo, hi;
    x_bounds(c, others, &lo, &hi);
    b->m_on_x = below_grid(u, others) && (hi <= g->max_grid_yz || !x_is_int(tiles, &hi));
    return (b->m_on_x || below_grid(u, tiles)) &&
           below_grid(u, x_divi(c, x_addi(c, q->sum->u.stage.axes[n]->extent, g->tile - 1), g->tile));
}
void gpu_block_kinds(struct plan *u, const struct gpu_blocks *b) {
    step_kind(&u->s, b->m_on_x ? LK_BLOCK_X : LK_BLOCK_Z, LOOPS("y.bm"));
    step_kind(&u->s, LK_BLOCK_Y, LOOPS("y.bn"));
    if (b->outer) step_kind(&u->s, b->m_on_x ? LK_BLOCK_Z : LK_BLOCK_X, LOOPS(b->outer));
}
