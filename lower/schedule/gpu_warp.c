/* Products on GPUs by instructions of a warp: a tile of the result is computed by a square of warps, each of which has
 * a part of it in registers, as fragments of m0 x n0 cells, and takes fragments of the operands from shared memory.
 * What is behind the ends of rows, columns and of the sum is zero.
 *
 * Fragments are those of mma.sync, whatever it multiplies (lower/target/instr_cuda.c): threads are 8 groups of 4, and a
 * register of 4 bytes holds cells of an operand that are neighbours along the sum. A group has a row of the sum or of
 * a, or a column of b. `tensorize` compares what is written here with the instruction's body. */
#include "lower/schedule/gpu_product.h"

enum { GROUPS = 8, IN_GROUP = 4, REGISTER_BYTES = 4 };
struct warps {
    struct plan *u;
    const struct micro *micro;
    const char *acc;
    int m, n, side; /* axes; cells of a warp's part along each side */
    int packed;     /* cells of an operand in a register */
};
const char *gpu_no_warps(const struct plan *u, const struct micro *micro) {
    const struct problem *q = u->k;
    const struct gpu *g = u->m->gpu;
    const struct var *k = q->sum->u.stage.red[0];
    if (q->a.read->u.buf->type != micro->a || q->b.read->u.buf->type != micro->b ||
        q->sum->u.stage.buf->type != micro->sum)
        return "it multiplies other types";
    if (g->tile % (g->warps * micro->m0) || g->tile % (g->warps * micro->n0) || g->depth % micro->k0)
        return "a tile is no multiple of it";
    if (dim_of(q->a.read, q->sum->u.stage.axes[gpu_m_axis(q)]) < 0 || dim_of(q->a.read, k) < 0 ||
        dim_of(q->b.read, q->sum->u.stage.axes[gpu_n_axis(q)]) < 0 || dim_of(q->b.read, k) < 0)
        return "the operands do not lie along the axes";
    return NULL;
}
static const char *loop_of(const struct warps *w, const struct var *axis) {
    return internf(w->u->c->names, "%s.%s", w->acc, axis->name);
}
/* Steps, with `name` for each $. */
static const char *NN_PRINTF(3, 4) steps_for(const struct warps *w, const char *name, const char *fmt, ...) {
    struct text pattern = {0}, t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&pattern, fmt, ap);
    va_end(ap);
    for (const char *p = pattern.s; *p; p++)
        if (*p == '$') text_add(&t, name);
        else text_char(&t, *p);
    text_free(&pattern);
    return text_take(&t, &w->u->c->arena);
}
/* A tile's row and column in digits: warp, fragment, cell of the thread, and two that make the thread's number. */
static const char *row_digits(const struct warps *w, const char *who, const char *row) {
    return steps_for(w, who, "split %s %d $.wm $.m2\nsplit $.m2 %d $.mt $.m3\nsplit $.m3 %d $.mh $.mg\n", row, w->side,
                     w->micro->m0, GROUPS);
}
static const char *column_digits(const struct warps *w, const char *who, const char *column) {
    return steps_for(w, who, "split %s %d $.wn $.n2\nsplit $.n2 %d $.nt $.n3\nsplit $.n3 %d $.ng $.nl\n", column,
                     w->side, w->micro->n0, w->micro->n0 / IN_GROUP);
}
/* ---- layouts: dims beside the two that matter stay as they are, and come first */
static int layout_head(struct warps *w, const char *buf, int nd, int d, int e) {
    int others = 0;
    text_printf(&w->u->s, "layout %s [", buf);
    for (int k = 0; k < nd; k++)
        if (k != d && k != e) text_printf(&w->u->s, "%d ", k), others++;
    return others;
}
/* Of nd dims, d and the one after it become one. */
static void join_dims(struct warps *w, const char *buf, int nd, int d) {
    text_printf(&w->u->s, "layout %s [", buf);
    for (int k = 0; k < nd; k++) {
        if (k == d + 1) continue;
        text_printf(&w->u->s, k == d ? "%s%d*%d" : "%s%d", k ? " " : "", k, k + 1);
    }
    text_add(&w->u->s, "]\n");
}
/* [.. warp warp fragment fragment thread cell] */
static void sum_layout(struct warps *w) {
    int m = w->m, n = w->n, m0 = w->micro->m0, n0 = w->micro->n0, nl = n0 / IN_GROUP;
    int before = layout_head(w, w->acc, w->u->k->sum->u.stage.naxes, m, n);
    text_printf(&w->u->s, "%d/%d %d/%d %d/%%%d,%d %d/%%%d,%d ", m, w->side, n, w->side, m, m0, w->side / m0, n, n0,
                w->side / n0);
    text_printf(&w->u->s, "%d%%%d %d/%%%d,%d %d/%%%d,%d %d%%%d]\n", m, GROUPS, n, nl, IN_GROUP, m, GROUPS, m0 / GROUPS,
                n, nl);
    join_dims(w, w->acc, before + 8, before + 4);
    join_dims(w, w->acc, before + 7, before + 5);
}
/* ---- operands: a copy in shared memory, and of that a copy in fragments */
struct factor {
    expr load;
    const char *shared, *fragment;
    int x, x0, k; /* its dim along the result, which fragments cut by x0, and the one along the sum */
};
static struct factor factor_of(struct warps *w, const struct operand *o, int axis, int x0, const char *shared,
                               const char *fragment) {
    const struct stmt *sum = w->u->k->sum;
    return (struct factor){
        o->read, shared, fragment, dim_of(o->read, sum->u.stage.axes[axis]), x0, dim_of(o->read, sum->u.stage.red[0])};
}
static void copies(struct warps *w, const struct factor *f) {
    const struct gpu *g = w->u->m->gpu;
    text_add(&w->u->s, steps_for(w, f->shared, "cache_read %s $ %s\npad $.d%d %d\npad $.d%d %d\ncache_read $ %s %s\n",
                                 f->load->u.buf->base, w->acc, f->x, g->tile, f->k, g->depth, f->fragment, w->acc));
}
/* [.. fragment step thread cell] */
static void fragment_layout(struct warps *w, const struct factor *f) {
    int x = f->x, k = f->k, k0 = w->micro->k0, span = w->packed * IN_GROUP;
    int before = layout_head(w, f->fragment, f->load->n, x, k);
    text_printf(&w->u->s, "%d/%d %d/%d %d%%%d %d/%%%d,%d ", x, f->x0, k, k0, x, GROUPS, k, w->packed, IN_GROUP);
    text_printf(&w->u->s, "%d/%%%d,%d %d/%%%d,%d %d%%%d]\n", k, span, k0 / span, x, GROUPS, f->x0 / GROUPS, k,
                w->packed);
    join_dims(w, f->fragment, before + 7, before + 2);
    join_dims(w, f->fragment, before + 6, before + 3);
    join_dims(w, f->fragment, before + 5, before + 3);
}
/* The loops that fill it. Rows and steps that are one register's have no digit of their own. */
static void fragment_loops(struct warps *w, const struct factor *f) {
    struct text *t = &w->u->s;
    const char *b = f->fragment;
    int span = w->packed * IN_GROUP;
    bool halves = f->x0 > GROUPS, spans = w->micro->k0 > span;
    text_add(t,
             steps_for(w, b, "split $.d%d %d $.xt $.xg\nsplit $.d%d %d $.kt $.ki\n", f->x, f->x0, f->k, w->micro->k0));
    if (halves) text_add(t, steps_for(w, b, "split $.xg %d $.xh $.xr\n", GROUPS));
    if (spans) text_add(t, steps_for(w, b, "split $.ki %d $.kh $.kr\n", span));
    const char *group = halves ? "$.xr" : "$.xg", *cells = arena_printf(&w->u->c->arena, "$.xt $.kt%s%s $.kl",
                                                                        spans ? " $.kh" : "", halves ? " $.xh" : "");
    text_add(t, steps_for(w, b, "split %s %d $.kg $.kl\nreorder", spans ? "$.kr" : "$.ki", w->packed));
    for (int d = 0; d < f->load->n; d++)
        if (d != f->x && d != f->k) text_printf(t, " %s.d%d", b, d);
    text_add(t, steps_for(w, b, " %s $.kg %s\nfuse %s $.kg $.lane\nkind unroll %s\nkind gpu.thread.x $.lane\n", group,
                          cells, group, cells));
}
static void fill_fragments(struct warps *w, const struct factor *f) {
    text_printf(&w->u->s, "compute_at %s acc.wn\n", f->fragment);
    fragment_layout(w, f);
    fragment_loops(w, f);
}
/* Filled by all threads of the block. */
static void shared_tile(struct warps *w, const struct factor *f) {
    const struct gpu *g = w->u->m->gpu;
    text_printf(&w->u->s, "compute_at %s ko shared\n", f->shared);
    const char *all = gpu_fused_dims(w->u, f->shared, f->load->n);
    text_add(&w->u->s, steps_for(w, f->shared,
                                 "split %s %d $.o $.t\nsplit $.t %d $.w $.lane\nsplit $.w %d $.wm $.wn\n"
                                 "reorder $.wm $.wn $.lane $.o\nkind unroll $.o\n"
                                 "kind gpu.thread.y $.wm\nkind gpu.thread.z $.wn\nkind gpu.thread.x $.lane\n",
                                 all, g->warps * g->warps * g->warp, g->warp, g->warps));
}

bool gpu_warp_text(struct plan *u, const struct micro *micro) {
    const struct gpu *g = u->m->gpu;
    const struct problem *q = u->k;
    struct warps w = {u,
                      micro,
                      gpu_sum(u, q),
                      gpu_m_axis(q),
                      gpu_n_axis(q),
                      g->tile / g->warps,
                      REGISTER_BYTES / (int)dtype_bytes(micro->a)};
    const char *row = loop_of(&w, q->sum->u.stage.axes[w.m]), *column = loop_of(&w, q->sum->u.stage.axes[w.n]),
               *sum = loop_of(&w, q->sum->u.stage.red[0]);
    struct factor a = factor_of(&w, &q->a, w.m, micro->m0, "as", "af"),
                  b = factor_of(&w, &q->b, w.n, micro->n0, "bs", "bf");
    struct gpu_blocks blocks;
    text_printf(&u->s, "pad %s %d\npad %s %d\npad %s %d\n", row, g->tile, column, g->tile, sum, g->depth);
    if (!gpu_tiles(u, row_digits(&w, "y", "y.m1"), column_digits(&w, "y", "y.n1"),
                   "y.wm y.wn y.mt y.nt y.mg y.ng y.mh y.nl", &blocks))
        return false;
    text_printf(&u->s, "fuse y.mg y.ng y.lane\ncompute_at %s y.bn\n%s%s", w.acc, row_digits(&w, "acc", row),
                column_digits(&w, "acc", column));
    text_printf(&u->s, "split %s %d ko kd\nsplit kd %d kt ki\nreorder ko", sum, g->depth, micro->k0);
    gpu_other_axes(u, q, w.acc, w.m);
    text_add(&u->s, " acc.wm acc.wn kt acc.mt acc.nt acc.mg acc.ng acc.mh acc.nl ki\nfuse acc.mg acc.ng acc.lane\n");
    sum_layout(&w);
    copies(&w, &a), copies(&w, &b);
    fill_fragments(&w, &a), fill_fragments(&w, &b);
    shared_tile(&w, &a), shared_tile(&w, &b);
    text_printf(&u->s, "kind gpu.thread.x acc.lane y.lane\ntensorize %s\n", micro->instr);
    text_add(&u->s, "kind gpu.thread.y acc.wm y.wm\nkind gpu.thread.z acc.wn y.wn\n");
    text_add(&u->s, "kind unroll kt acc.mt acc.nt acc.mh acc.nl y.mt y.nt y.mh y.nl\n");
    gpu_block_kinds(u, &blocks);
    return true;
}
