/* Products on GPUs by instructions of a warp. A tile of the result is computed by a square of warps; each keeps its
 * part in registers, as fragments of m0 x n0 cells, and loads fragments of the operands from shared memory. Past the
 * ends of rows, columns and of the sum they are zero. Fragments are laid out as mma.sync has them, whatever it
 * multiplies (lower/target/instr_cuda.c): the threads are 8 groups of 4, and a 4-byte register holds cells of an
 * operand that are neighbours along the sum. A group has one row of the sum or of a, or one column of b. `tensorize`
 * compares the loops written here with the instruction's body. */
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
static const char *loop_of(const struct warps *w, const struct var *axis) { return loop_in(w->u, w->acc, axis->name); }
/* Splits a loop into an outer one, in steps of `n`, and an inner one. All names belong to `who`. */
struct digit {
    int by;
    const char *outer, *inner;
};
static void split_digits(const struct warps *w, const char *who, const char *loop, const struct digit *d, int n) {
    for (int k = 0; k < n; k++) {
        const char *outer = loop_in(w->u, who, d[k].outer), *inner = loop_in(w->u, who, d[k].inner);
        step_split(&w->u->s, loop, d[k].by, outer, inner, TAIL_NONE);
        loop = inner;
    }
}
/* A tile's row and column as digits: warp, fragment, cell of the thread, and the two digits of the thread's number. */
static void row_digits(const struct warps *w, const char *who, const char *row) {
    const struct digit d[] = {{w->side, "wm", "m2"}, {w->micro->m0, "mt", "m3"}, {GROUPS, "mh", "mg"}};
    split_digits(w, who, row, d, 3);
}
static void column_digits(const struct warps *w, const char *who, const char *column) {
    const struct digit d[] = {{w->side, "wn", "n2"}, {w->micro->n0, "nt", "n3"}, {w->micro->n0 / IN_GROUP, "ng", "nl"}};
    split_digits(w, who, column, d, 3);
}
/* ---- layouts: all dims but the two of the tile stay as they are, and come first */
static struct layout_dims layout_head(struct warps *w, int nd, int d, int e) {
    struct layout_dims dims = {0};
    for (int k = 0; k < nd; k++)
        if (k != d && k != e) add_dim(&w->u->s, &dims, dim_whole(k));
    return dims;
}
static void add_dims(struct warps *w, struct layout_dims *to, struct layout_dims more) {
    for (int k = 0; k < more.n; k++) add_dim(&w->u->s, to, more.v[k]);
}
/* Flattens dim d of nd and the one after it. */
static void join_dims(struct warps *w, const char *buf, int nd, int d) {
    struct layout_dims dims = {0};
    for (int k = 0; k < nd; k++)
        if (k != d + 1) add_dim(&w->u->s, &dims, k == d ? dim_flat(k, k + 1) : dim_whole(k));
    step_layout(&w->u->s, buf, dims);
}
/* [.. warp warp fragment fragment thread cell] */
static void sum_layout(struct warps *w) {
    int m = w->m, n = w->n, m0 = w->micro->m0, n0 = w->micro->n0, nl = n0 / IN_GROUP;
    struct layout_dims dims = layout_head(w, w->u->k->sum->u.stage.naxes, m, n);
    int before = dims.n;
    add_dims(w, &dims, LAYOUT(dim_div(m, w->side), dim_div(n, w->side)));
    add_dims(w, &dims, LAYOUT(dim_digit(m, m0, w->side / m0), dim_digit(n, n0, w->side / n0)));
    add_dims(w, &dims, LAYOUT(dim_mod(m, GROUPS), dim_digit(n, nl, IN_GROUP)));
    add_dims(w, &dims, LAYOUT(dim_digit(m, GROUPS, m0 / GROUPS), dim_mod(n, nl)));
    step_layout(&w->u->s, w->acc, dims);
    join_dims(w, w->acc, before + 8, before + 4);
    join_dims(w, w->acc, before + 7, before + 5);
}
/* ---- operands: a copy in shared memory, from which another copy is made in fragments */
struct factor {
    expr load;
    const char *shared, *fragment;
    int x, x0, k; /* the dim along the result, which fragments cut by x0; the dim along the sum */
};
static struct factor factor_of(struct warps *w, const struct operand *o, int axis, int x0, const char *shared,
                               const char *fragment) {
    const struct stmt *sum = w->u->k->sum;
    return (struct factor){
        o->read, shared, fragment, dim_of(o->read, sum->u.stage.axes[axis]), x0, dim_of(o->read, sum->u.stage.red[0])};
}
static void copies(struct warps *w, const struct factor *f) {
    struct plan *u = w->u;
    step_cache_read(&u->s, f->load->u.buf->base, f->shared, w->acc);
    step_pad(&u->s, internf(u->c->names, "%s.d%d", f->shared, f->x), u->m->gpu->tile);
    step_pad(&u->s, internf(u->c->names, "%s.d%d", f->shared, f->k), u->m->gpu->depth);
    step_cache_read(&u->s, f->shared, f->fragment, w->acc);
}
/* [.. fragment step thread cell] */
static void fragment_layout(struct warps *w, const struct factor *f) {
    int x = f->x, k = f->k, k0 = w->micro->k0, span = w->packed * IN_GROUP;
    struct layout_dims dims = layout_head(w, f->load->n, x, k);
    int before = dims.n;
    add_dims(w, &dims,
             LAYOUT(dim_div(x, f->x0), dim_div(k, k0), dim_mod(x, GROUPS), dim_digit(k, w->packed, IN_GROUP)));
    add_dims(w, &dims,
             LAYOUT(dim_digit(k, span, k0 / span), dim_digit(x, GROUPS, f->x0 / GROUPS), dim_mod(k, w->packed)));
    step_layout(&w->u->s, f->fragment, dims);
    join_dims(w, f->fragment, before + 7, before + 2);
    join_dims(w, f->fragment, before + 6, before + 3);
    join_dims(w, f->fragment, before + 5, before + 3);
}
/* The loops that fill the fragments. Rows and steps within one register have no digit of their own. */
static void fragment_loops(struct warps *w, const struct factor *f) {
    struct step_list *s = &w->u->s;
    const char *b = f->fragment, *lane = loop_in(w->u, b, role.lane), *thread = loop_in(w->u, b, "kg");
    int span = w->packed * IN_GROUP;
    bool halves = f->x0 > GROUPS, spans = w->micro->k0 > span;
    const struct digit x[] = {{f->x0, "xt", "xg"}, {GROUPS, "xh", "xr"}},
                       k[] = {{w->micro->k0, "kt", "ki"}, {span, "kh", "kr"}}, last = {w->packed, "kg", "kl"};
    const char *group = loop_in(w->u, b, halves ? "xr" : "xg"), *step = loop_in(w->u, b, spans ? "kr" : "ki");
    split_digits(w, b, internf(w->u->c->names, "%s.d%d", b, f->x), x, 1);
    split_digits(w, b, internf(w->u->c->names, "%s.d%d", b, f->k), k, 1);
    if (halves) split_digits(w, b, loop_in(w->u, b, "xg"), x + 1, 1);
    if (spans) split_digits(w, b, loop_in(w->u, b, "ki"), k + 1, 1);
    split_digits(w, b, step, &last, 1);
    struct word_list cells = {0}, order = {0};
    add_loops(s, &cells, LOOPS(loop_in(w->u, b, "xt"), loop_in(w->u, b, "kt")));
    add_loop(s, &cells, spans ? loop_in(w->u, b, "kh") : NULL);
    add_loop(s, &cells, halves ? loop_in(w->u, b, "xh") : NULL);
    add_loop(s, &cells, loop_in(w->u, b, "kl"));
    for (int d = 0; d < f->load->n; d++)
        if (d != f->x && d != f->k) add_loop(s, &order, internf(w->u->c->names, "%s.d%d", b, d));
    add_loops(s, &order, LOOPS(group, thread));
    add_loops(s, &order, cells);
    step_reorder(s, order);
    step_fuse(s, group, thread, lane);
    step_kind(s, LK_UNROLL, cells);
    step_kind(s, LK_THREAD_X, LOOPS(lane));
}
static void fill_fragments(struct warps *w, const struct factor *f) {
    step_compute_at(&w->u->s, f->fragment, "acc.wn", SC_PARAM);
    fragment_layout(w, f);
    fragment_loops(w, f);
}
/* Filled by all threads of the block. */
static void shared_tile(struct warps *w, const struct factor *f) {
    struct plan *u = w->u;
    const struct gpu *g = u->m->gpu;
    const char *who = f->shared, *turn = loop_in(u, who, "o"), *lane = loop_in(u, who, role.lane),
               *y = loop_in(u, who, "wm"), *z = loop_in(u, who, "wn");
    const struct digit d[] = {{g->warps * g->warps * g->warp, "o", "t"}, {g->warp, "w", role.lane}},
                       warp = {g->warps, "wm", "wn"};
    step_compute_at(&u->s, who, role.steps, SC_SHARED);
    split_digits(w, who, gpu_fused_dims(u, who, f->load->n), d, 2);
    split_digits(w, who, loop_in(u, who, "w"), &warp, 1);
    step_reorder(&u->s, LOOPS(y, z, lane, turn));
    step_kind(&u->s, LK_UNROLL, LOOPS(turn));
    step_kind(&u->s, LK_THREAD_Y, LOOPS(y));
    step_kind(&u->s, LK_THREAD_Z, LOOPS(z));
    step_kind(&u->s, LK_THREAD_X, LOOPS(lane));
}

bool gpu_warp_steps(struct plan *u, const struct micro *micro) {
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
    struct word_list order = {0};
    step_pad(&u->s, row, g->tile);
    step_pad(&u->s, column, g->tile);
    step_pad(&u->s, sum, g->depth);
    gpu_tile_rows(u);
    row_digits(&w, "y", "y.m1");
    gpu_tile_columns(u);
    column_digits(&w, "y", "y.n1");
    if (!gpu_blocks_of(u, LOOPS("y.wm", "y.wn", "y.mt", "y.nt", "y.mg", "y.ng", "y.mh", "y.nl"), &blocks)) return false;
    step_fuse(&u->s, "y.mg", "y.ng", "y.lane");
    step_compute_at(&u->s, w.acc, "y.bn", SC_PARAM);
    row_digits(&w, "acc", row);
    column_digits(&w, "acc", column);
    step_split(&u->s, sum, g->depth, role.steps, "kd", TAIL_NONE);
    step_split(&u->s, "kd", micro->k0, "kt", role.straight, TAIL_NONE);
    add_loop(&u->s, &order, role.steps);
    gpu_other_axes(u, q, w.acc, w.m, &order);
    add_loops(&u->s, &order,
              LOOPS("acc.wm", "acc.wn", "kt", "acc.mt", "acc.nt", "acc.mg", "acc.ng", "acc.mh", "acc.nl"));
    add_loop(&u->s, &order, role.straight);
    step_reorder(&u->s, order);
    step_fuse(&u->s, "acc.mg", "acc.ng", "acc.lane");
    sum_layout(&w);
    copies(&w, &a), copies(&w, &b);
    fill_fragments(&w, &a), fill_fragments(&w, &b);
    shared_tile(&w, &a), shared_tile(&w, &b);
    step_kind(&u->s, LK_THREAD_X, LOOPS("acc.lane", "y.lane"));
    step_tensorize(&u->s, micro->instr);
    step_kind(&u->s, LK_THREAD_Y, LOOPS("acc.wm", "y.wm"));
    step_kind(&u->s, LK_THREAD_Z, LOOPS("acc.wn", "y.wn"));
    step_kind(&u->s, LK_UNROLL, LOOPS("kt", "acc.mt", "acc.nt", "acc.mh", "acc.nl", "y.mt", "y.nt", "y.mh", "y.nl"));
    gpu_block_kinds(u, &blocks);
    return true;
}
