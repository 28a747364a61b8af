/* How large the tiles of a chain are, which operands they read through views, and whether all that saves time or
 * memory. See chain.h. */
#include "lower/chain_tiling.h"
#include "lower/machine/machine.h"
#include "lower/problem/problem.h"
#include <math.h>

/* ---- sizes */
/* Half of the cache, for the values between kernels; the other half is for everything else that they read. */
int64_t chain_room(const struct lowering *l) {
    const struct machine *m = l->o->target->machine;
    return (m->l2.bytes ? m->l2.bytes : m->l1.bytes) / 2 * lower_threads(l);
}
static double typical(struct ctx *c, expr extent, bool outermost) {
    return (double)x_typical(c, extent, outermost ? 1 : OPEN_SIZE);
}
double chain_bytes(struct ctx *c, const expr *dims, int n, enum dtype type) {
    double bytes = dtype_bytes(type);
    for (int k = 0; k < n; k++) bytes *= typical(c, dims[k], k == 0);
    return bytes;
}
static double bytes_of(struct ctx *c, const struct buf *b) { return chain_bytes(c, b->dims, b->nd, b->type); }
struct outside {
    struct tiling *t;
    struct map seen;
};
static bool note_outside(void *env, expr e) {
    struct outside *q = env;
    if (e->op != X_LOAD || made_of(q->t, e->u.buf) || map_get(&q->seen, PKEY(e->u.buf))) return true;
    map_put(&q->seen, PKEY(e->u.buf), e->u.buf);
    if (e->u.buf->scope != SC_CONST) q->t->outside += bytes_of(q->t->l->c, e->u.buf);
    return true;
}
static void find_outside(struct tiling *t) {
    struct outside q = {t, {.arena = &t->l->c->arena}};
    t->outside = bytes_of(t->l->c, t->result);
    visit_stages(t, note_outside, &q);
}
/* Bytes for one cell of all tiled axes: of the largest value between links, and of what is read and written outside. */
static double bytes_along(const struct tiling *t) {
    double cells = 1;
    for (int k = 0; k < t->naxes; k++) cells *= typical(t->l->c, t->axes[k].extent, k == 0);
    return (bytes_of(t->l->c, t->largest) + t->outside) / fmax(cells, 1);
}
/* The tile of at least half the size that fits for which all passes together compute the fewest cells; the largest of
 * several. divides: only tiles that do not overlap, however small. */
static int64_t tile_of(int64_t extent, int64_t fit, bool divides, int64_t *passes) {
    int64_t tile = 0;
    *passes = 0;
    if (fit > extent) fit = extent;
    for (int64_t k = fit; k > 0 && (divides ? !tile : 2 * k >= fit); k--) {
        int64_t n = (extent + k - 1) / k;
        if (divides ? n * k == extent : !tile || n * k < *passes * tile) tile = k, *passes = n;
    }
    return tile;
}
static bool is_open_inside(const struct buf *b) {
    int64_t extent;
    for (int k = 1; k < b->nlogical; k++)
        if (!x_is_int(b->logical[k], &extent)) return true;
    return false;
}
/* Chooses tiles as large as there is room for, starting with the innermost axis. An open axis stays whole; but outside
 * of cut axes its tile is one cell. If sizes inside are open, only tiles that divide their axis can be proved to lie
 * inside. false: no axis was cut. */
static bool size_tiles(struct tiling *t) {
    enum { FEW = 16 }; /* rows that a sum's kernel needs to reuse often enough what it reads */
    struct ctx *c = t->l->c;
    bool divides = is_open_inside(t->largest) || is_open_inside(t->result), tiled = false;
    double bytes = bytes_along(t), fit = bytes > 0 ? fmax((double)chain_room(t->l) / bytes, FEW) : 0;
    for (int k = t->naxes; k-- && fit > 0;) {
        int64_t extent, passes;
        if (x_is_int(t->axes[k].extent, &extent)) {
            t->axes[k].tile = tile_of(extent, fit < 1 ? 1 : (int64_t)fit, divides, &passes);
            t->axes[k].passes = x_int(c, passes);
            tiled |= passes > 1;
        } else if (tiled) t->axes[k].passes = t->axes[k].extent, t->axes[k].tile = 1;
        fit = tiled ? 1 : fit / typical(c, t->axes[k].extent, k == 0);
    }
    return tiled;
}

/* ---- views */
static bool may_be_viewed(struct lowering *l, struct buf *b) {
    return b->scope != SC_CONST && b->scope != SC_REGION && lower_stored(l, b) == b;
}
/* How many of b's outermost dims are also outermost in memory, and unchanged by its layout. */
static int dims_in_place(struct ctx *c, const struct buf *b) {
    int n = 0;
    while (n < b->nlogical && n < b->nd && b->map[n] == x_var(c, b->lvar[n]) && b->dims[n] == b->logical[n]) n++;
    return n;
}
/* Can b's tiles be proved to lie inside of b? axis: of each of the first n dims, all unchanged by the layout; -1: the
 * dim is not cut. */
static bool lies_inside(struct tiling *t, const struct buf *b, const int *axis, int n) {
    struct ctx *c = t->l->c;
    expr at[32], cells = x_int(c, 1);
    for (int k = 0; k < b->nd; k++) {
        bool whole = k >= n || axis[k] < 0 || is_whole(t, axis[k]);
        expr tile = whole ? b->dims[k] : x_int(c, t->axes[axis[k]].tile);
        const struct var *first = var_new(c, "first", x_addi(c, x_sub(c, b->dims[k], tile), 1));
        at[k] = whole ? x_int(c, 0) : x_var(c, first);
        cells = x_mul(c, cells, tile);
    }
    expr off = buf_offset(c, b, at);
    return x_proves_le(c, x_int(c, 0), off) && x_proves_le(c, x_add(c, off, cells), buf_cells(c, b));
}
static bool result_may_be_viewed(struct tiling *t) {
    int axis[32];
    axes_of_result(t, axis);
    return may_be_viewed(t->l, t->result) && buf_is_plain(t->result) &&
           lies_inside(t, t->result, axis, t->result->nlogical);
}
/* Finds the dims that a view can cover: in each pass one cell of each, and a tile of the last of them. */
static void begin_operand(struct tiling *t, struct operand_view *o, expr load) {
    struct buf *b = o->buf;
    if (!may_be_viewed(t->l, b)) return;
    for (int k = 0, n = dims_in_place(t->l->c, b); k < n; k++) {
        int a = axis_of_index(t, load->arg[k]);
        bool moves = a >= 0 && !is_whole(t, a);
        if (!moves && !x_is(b->logical[k], 1)) return;
        o->axis[k] = a;
        if (!moves) continue;
        /* past its end a padded operand reads as the fill value, but a view does not */
        if (!x_proves_le(t->l->c, t->axes[a].extent, b->logical[k]) || !lies_inside(t, b, o->axis, k + 1)) return;
        o->dims = k + 1;
        if (t->axes[a].tile > 1) return;
    }
}
static struct operand_view *operand_of(const struct tiling *t, const struct buf *b) { /* NULL: not noted yet */
    for (int k = 0; k < t->operands.n; k++)
        if (t->operands.v[k]->buf == b) return t->operands.v[k];
    return NULL;
}
static bool note_operand(void *env, expr e) {
    struct tiling *t = env;
    if (e->op != X_LOAD || made_of(t, e->u.buf)) return true;
    struct operand_view *o = operand_of(t, e->u.buf);
    if (!o) {
        o = NEW(&t->l->c->arena, struct operand_view);
        o->buf = e->u.buf;
        begin_operand(t, o, e);
        PUSH(&t->l->c->arena, &t->operands, o);
    }
    for (int k = 0; k < o->dims; k++)
        if (o->axis[k] != axis_of_index(t, e->arg[k])) o->dims = 0; /* read in two ways */
    return true;
}
/* Collects the axes of the tiling that occur in an index, as bits. */
struct axes_in {
    const struct tiling *t;
    unsigned axes;
};
static bool note_axis(void *env, expr e) {
    struct axes_in *q = env;
    int a = axis_of_index(q->t, e);
    if (a >= 0) q->axes |= 1u << a;
    return true;
}
static unsigned axes_read(const struct tiling *t, expr load, int from) {
    struct axes_in q = {t, 0};
    for (int k = from; k < load->n - load->has_fill; k++) x_visit(load->arg[k], note_axis, &q);
    return q.axes;
}
/* Only views may depend on tiles of an axis of open size: a kernel that gets the position as a number could not prove
 * that it lies inside. */
static bool reads_closed(void *env, expr e) {
    struct tiling *t = env;
    int64_t extent;
    if (e->op != X_LOAD || made_of(t, e->u.buf)) return true;
    unsigned axes = axes_read(t, e, operand_of(t, e->u.buf)->dims);
    for (int a = 0; a < t->naxes; a++)
        if (axes >> a & 1 && !is_whole(t, a) && !x_is_int(t->axes[a].extent, &extent)) return false;
    return true;
}

/* ---- what it saves */
/* Cycles and bytes of the chain, apart from the values between its links. */
struct traffic {
    struct tiling *t;
    double sums;  /* cycles of its products alone */
    double again; /* bytes that more than one pass reads from beyond the cache */
    struct map seen;
};
/* The type of the first load. */
static bool find_type(void *env, expr e) {
    if (e->op == X_LOAD) *(enum dtype *)env = e->u.buf->type;
    return e->op != X_LOAD;
}
static void note_sum(struct traffic *r, const struct stmt *s) {
    struct ctx *c = r->t->l->c;
    enum dtype factors = NONE;
    if (!sums_products(s->u.stage.op, s->u.stage.value)) return;
    x_visit(s->u.stage.value, find_type, &factors);
    double products = machine_products(r->t->l->o->target->machine, factors, s->u.stage.buf->type);
    if (products > 0)
        r->sums += typical_cells(c, s->u.stage.axes, s->u.stage.naxes, 1) *
                   typical_cells(c, s->u.stage.red, s->u.stage.nred, 1) / products;
}
/* If every pass of the innermost loop reads all of a buffer that the cache cannot hold, it comes from beyond the cache
 * each time. */
static bool note_read(void *env, expr e) {
    struct traffic *r = env;
    struct tiling *t = r->t;
    struct ctx *c = t->l->c;
    int inner = t->naxes - 1;
    if (e->op != X_LOAD || made_of(t, e->u.buf) || map_get(&r->seen, PKEY(e->u.buf))) return true;
    map_put(&r->seen, PKEY(e->u.buf), e->u.buf);
    double bytes = bytes_of(c, e->u.buf), of_a_pass = bytes;
    unsigned axes = axes_read(t, e, 0);
    while (inner > 0 && is_whole(t, inner)) inner--;
    if (axes >> inner & 1) return true;
    for (int a = 0; a < inner; a++)
        if (axes >> a & 1) of_a_pass /= fmax(typical(c, t->axes[a].passes, true), 1);
    if (of_a_pass > (double)chain_room(t->l)) r->again += bytes * (typical(c, t->axes[inner].passes, true) - 1);
    return true;
}
/* Tiling pays if it saves time, and what is read and written outside does not evict the values between links; or if
 * these need far more memory than everything outside. */
static bool is_worth_it(struct tiling *t) {
    enum {
        PART = 20,
        TIMES = 2
    }; /* PART: of the time of the products that must be saved, as 1/PART; TIMES: as much
        * memory as what lies outside */
    struct traffic r = {t, 0, 0, {.arena = &t->l->c->arena}};
    for (int k = 0; k < t->stages.n; k++) note_sum(&r, t->stages.v[k]);
    visit_stages(t, note_read, &r);
    double saved = (2 * t->between - r.again) * t->l->o->target->machine->l2.byte; /* written and read again, without
                                                                                    * tiling */
    bool time = saved * PART > r.sums && t->between >= t->outside;
    return saved > 0 && (time || t->between > TIMES * t->outside);
}
bool choose_tiles(struct tiling *t) {
    find_outside(t);
    return size_tiles(t) && result_may_be_viewed(t) && visit_stages(t, note_operand, t) &&
           visit_stages(t, reads_closed, t) && is_worth_it(t);
}
