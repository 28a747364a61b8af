/* Chains of groups, tile by tile; see chain.h. Which axes the stages of a chain have in common follows from their
 * indices alone: two dims are one axis if a stage reads the one where it writes the other. Such an axis is tiled if
 * every buffer that the chain makes has it once, and no stage reads elsewhere along it. The tiles of a size that they
 * do not divide overlap, so that all passes are alike; what is computed twice comes out the same. */
#include "lower/chain.h"
#include "ir/graph/op.h"
#include "lower/layout.h"
#include "lower/machine/machine.h"
#include "lower/narrow.h"
#include "lower/problem/problem.h"
#include <math.h>
#include <string.h>

enum { AXES_MOST = 32 };

/* ---- which groups */
/* Half of the cache that what lies between kernels shall stay in: the other half is for what they read besides. */
static int64_t room(const struct lowering *l) {
    const struct machine *m = l->o->target->machine;
    return (m->l2.bytes ? m->l2.bytes : m->l1.bytes) / 2 * (l->o->threads > 1 ? l->o->threads : 1);
}
/* Open sizes count as what `--dim` says to optimise for. Of which nothing is known counts as one if it is the
 * outermost, most often a batch, else as many. */
struct typical {
    int64_t unknown;
};
static bool typical_leaf(void *env, expr leaf, int64_t *v) {
    const struct typical *q = env;
    if (leaf->op != X_SYM) return false;
    const struct sym *s = leaf->u.sym;
    *v = s->ref ? s->ref : q->unknown < s->lo ? s->lo : q->unknown > s->hi ? s->hi : q->unknown;
    return true;
}
static double typical_extent(expr extent, bool outermost) {
    enum { MANY = 128 };
    struct typical q = {outermost ? 1 : MANY};
    int64_t v;
    return x_eval_int(extent, typical_leaf, &q, &v) ? (double)v : 1;
}
static double cells_of(const expr *dims, int n) {
    double cells = 1;
    for (int k = 0; k < n; k++) cells *= typical_extent(dims[k], k == 0);
    return cells;
}
static double bytes_of(const struct buf *b) { return cells_of(b->dims, b->nd) * dtype_bytes(b->type); }
static bool may_be_link(struct lowering *l, const struct group *gr) {
    for (int k = 0; k < gr->nodes.n; k++) {
        const struct node *n = gr->nodes.v[k];
        if (!n->op || n->op->control) return false;
    }
    return gr->cls == CLASS_CONTRACT || gr->cls == CLASS_ROW || gr->cls == CLASS_MAP ||
           (gr->cls == CLASS_WINDOW && !slides_along_channels(l, gr->anchor));
}
/* The one group that reads what gr makes, which is more than a cache holds; NULL: there is no such. */
static const struct group *only_reader(struct lowering *l, const struct groups *gs, const struct group *gr) {
    const struct node *last = gr->nodes.v[gr->nodes.n - 1];
    const struct value *v = last->outs.v[0];
    const struct value_layout *lay = layout_of_value(l, v);
    const struct group *reader = NULL;
    if (last->outs.n != 1 || map_get(&l->bufs, PKEY(v)) || (lay && lay->spec)) return NULL;
    if (v->type.kind != TY_TENSOR) return NULL;
    if (cells_of(v->type.dims, v->type.rank) * dtype_bytes(narrow_type(l, v)) <= (double)room(l)) return NULL;
    for (int k = 0; k < v->uses.n; k++) {
        const struct use *u = &v->uses.v[k];
        const struct group *by = u->region ? NULL : map_get(&gs->of_node, PKEY(u->node));
        if (!by || (reader && by != reader)) return NULL;
        reader = by;
    }
    return reader && may_be_link(l, reader) ? reader : NULL;
}
void find_chain(struct lowering *l, const struct groups *gs, int at, const struct map *done, struct positions *found) {
    const struct group *gr = gs->list.v[at];
    *found = (struct positions){0};
    if (l->o->no_fuse || l->o->no_schedule || l->o->target->machine->gpu || !may_be_link(l, gr)) return;
    while (gr) {
        while (gs->list.v[at] != gr) at++;
        PUSH(&l->c->arena, &found->at, at);
        gr = only_reader(l, gs, gr);
        if (gr && map_get(done, PKEY(gr))) break;
    }
}

/* ---- which axes */
struct made { /* a buffer that a stage of the chain writes */
    struct buf *buf;
    int first; /* number of its first dim */
    int link;  /* that writes it */
};
struct tiling {
    struct lowering *l;
    VEC(struct made) made;
    struct map number;        /* buffer -> 1 + its place in `made` */
    VEC(int) axis;            /* dim -> a dim of the same axis; of the first of them: itself */
    VEC(bool) apart;          /* first dim of an axis -> it cannot be tiled */
    const struct stmt *stage; /* in work */
    struct buf *result;       /* of the last link */
    int naxes;                /* that are tiled, the outermost first, all outermost dims of the result */
    struct {
        int axis;
        expr extent, passes;
        int64_t tile;
        expr from; /* the first cell of the tile; NULL: there is one pass */
    } axes[AXES_MOST];
    VEC(struct operand_view *) operands;
};
/* A buffer that the chain reads, and has not made. */
struct operand_view {
    struct buf *buf, *view;
    int dims; /* the outermost ones, of which each pass reads cells side by side; its loads get them from a view */
    int axis[AXES_MOST]; /* of the tiling, of each of those; -1: a dim of one cell */
};
static int axis_of(const struct tiling *t, int dim) {
    while (t->axis.v[dim] != dim) dim = t->axis.v[dim];
    return dim;
}
static struct made *made_of(const struct tiling *t, const struct buf *b) {
    intptr_t n = (intptr_t)map_get(&t->number, PKEY(b));
    return n ? &t->made.v[n - 1] : NULL;
}
static void unite(struct tiling *t, int a, int b) {
    a = axis_of(t, a), b = axis_of(t, b);
    t->axis.v[b] = a;
    t->apart.v[a] |= t->apart.v[b];
}
static int axis_at(const struct stmt *s, expr index) { /* -1: it is no axis of the stage */
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (index->op == X_VAR && index->u.var == s->u.stage.axes[k]) return k;
    return -1;
}
static bool note_load(void *env, expr e) {
    struct tiling *t = env;
    const struct made *from = e->op == X_LOAD ? made_of(t, e->u.buf) : NULL, *to = made_of(t, t->stage->u.stage.buf);
    for (int k = 0; from && k < from->buf->nlogical; k++) {
        int axis = axis_at(t->stage, e->arg[k]);
        bool same = axis >= 0 && from->buf->logical[k] == to->buf->logical[axis];
        if (same) unite(t, from->first + k, to->first + axis);
        else t->apart.v[axis_of(t, from->first + k)] = true;
    }
    return true;
}
static bool note_made(struct tiling *t, const struct stmt *s, int link) {
    struct buf *b = s->u.stage.buf;
    if (made_of(t, b) || !buf_is_plain(b) || lower_stored(t->l, b) != b || s->u.stage.naxes != b->nlogical)
        return false;
    struct made m = {b, t->axis.n, link};
    PUSH(&t->l->c->arena, &t->made, m);
    map_put(&t->number, PKEY(b), (void *)(intptr_t)t->made.n);
    for (int k = 0; k < b->nlogical; k++) {
        PUSH(&t->l->c->arena, &t->axis, m.first + k);
        PUSH(&t->l->c->arena, &t->apart, false);
    }
    return true;
}
static bool find_axes(struct tiling *t, const struct chain *chain, int from, int end) {
    for (int k = from; k < end; k++)
        for (const struct stmt *s = chain->links.v[k]->stmts.first; s; s = s->next) {
            if (s->kind == S_ALLOC) continue;
            if (s->kind != S_STAGE || stmt_may_fault(s) || !note_made(t, s, k)) return false;
            t->stage = s;
            x_visit(s->u.stage.value, note_load, t);
            if (s->u.stage.init) x_visit(s->u.stage.init, note_load, t);
        }
    return true;
}
/* The dim of m along the axis; -1: none, or several. */
static int dim_along(const struct tiling *t, const struct made *m, int axis) {
    int dim = -1;
    for (int k = 0; k < m->buf->nlogical; k++) {
        if (axis_of(t, m->first + k) != axis) continue;
        if (dim >= 0) return -1;
        dim = k;
    }
    return dim;
}
static bool all_have(const struct tiling *t, int axis) {
    if (t->apart.v[axis]) return false;
    for (int k = 0; k < t->made.n; k++)
        if (dim_along(t, &t->made.v[k], axis) < 0) return false;
    return true;
}
static bool may_be_viewed(struct lowering *l, struct buf *b) {
    return b->scope != SC_CONST && b->scope != SC_REGION && buf_is_plain(b) && lower_stored(l, b) == b;
}
/* What is read outside of the chain: one buffer, which the last link makes. */
static bool find_result(struct tiling *t, int last) {
    for (int k = 0; k < t->made.n; k++) {
        struct made *m = &t->made.v[k];
        if (m->link != last || (m->buf->scope == SC_ARENA && !map_get(&t->l->external, PKEY(m->buf)))) continue;
        if (t->result) return false;
        t->result = m->buf;
    }
    return t->result && may_be_viewed(t->l, t->result);
}
/* Outermost dims of the result, so that a tile of it is a view: cells side by side. */
static void find_tiled(struct tiling *t) {
    const struct made *r = made_of(t, t->result);
    for (int k = 0; k < r->buf->nlogical && t->naxes < AXES_MOST; k++) {
        expr extent = r->buf->logical[k];
        int axis = axis_of(t, r->first + k);
        if (x_is(extent, 1)) continue;
        if (x_is(extent, 0) || !all_have(t, axis)) return;
        t->axes[t->naxes].axis = axis, t->axes[t->naxes].extent = extent,
        t->axes[t->naxes++].passes = x_int(t->l->c, 1);
    }
}

/* ---- tiles */
/* Bytes of what lies between links, in all; and at most, the buffer. */
static const struct buf *between(const struct tiling *t, double *all) {
    const struct buf *most = NULL;
    *all = 0;
    for (int k = 0; k < t->made.n; k++) {
        const struct buf *b = t->made.v[k].buf;
        if (b == t->result || !map_get(&t->l->external, PKEY(b))) continue;
        *all += bytes_of(b);
        if (!most || bytes_of(b) > bytes_of(most)) most = b;
    }
    return most;
}
/* Bytes of one cell of all tiled axes. */
static double bytes_along(const struct tiling *t, const struct buf *b) {
    double bytes = dtype_bytes(b->type);
    for (int k = 0; k < b->nlogical; k++) {
        bool tiled = false;
        for (int a = 0; a < t->naxes; a++) tiled |= axis_of(t, made_of(t, b)->first + k) == t->axes[a].axis;
        if (!tiled) bytes *= typical_extent(b->logical[k], k == 0);
    }
    return bytes;
}
/* At least half of what fits, such that the passes compute the fewest cells, and of those the largest tile. divides:
 * one that overlaps no other, of whatever size. */
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
static bool is_open(const struct buf *b) {
    int64_t cells;
    for (int k = 1; k < b->nlogical; k++)
        if (!x_is_int(b->logical[k], &cells)) return true;
    return false;
}
/* As many cells of the axes, the innermost first, as there is room for. An open axis is whole, or outside of those that
 * are not: then a tile is one cell of it. With open sizes inside it is proved of tiles that divide their axis alone
 * that they lie in it. */
static bool choose_tiles(struct tiling *t, const struct buf *most) {
    enum { FEW = 16 }; /* rows that a kernel of sums needs to use what it reads often enough */
    struct ctx *c = t->l->c;
    bool open_inside = is_open(most) || is_open(t->result);
    double bytes = bytes_along(t, most), fit = bytes > 0 ? fmax((double)room(t->l) / bytes, FEW) : 0;
    bool tiled = false;
    for (int k = t->naxes; k-- && fit > 0;) {
        int64_t extent, passes;
        bool open = !x_is_int(t->axes[k].extent, &extent);
        if (open && k == 0 && !tiled) return false;
        if (open && tiled) t->axes[k].passes = t->axes[k].extent, t->axes[k].tile = 1;
        if (!open) {
            t->axes[k].tile = tile_of(extent, fit < 1 ? 1 : (int64_t)fit, open_inside, &passes);
            t->axes[k].passes = x_int(c, passes);
            tiled |= passes > 1;
        }
        fit = tiled ? 1 : fit / typical_extent(t->axes[k].extent, k == 0);
    }
    return tiled;
}
static bool is_whole(const struct tiling *t, int a) { return x_is(t->axes[a].passes, 1); }
/* The axes of the tiling that e depends on, as bits. */
struct dependence {
    const struct tiling *t;
    const struct made *made;
    unsigned axes;
};
static bool note_axis(void *env, expr e) {
    struct dependence *d = env;
    int k = e->op == X_VAR ? axis_at(d->t->stage, e) : -1;
    for (int a = 0; k >= 0 && a < d->t->naxes; a++)
        if (axis_of(d->t, d->made->first + k) == d->t->axes[a].axis) d->axes |= 1u << a;
    return true;
}
/* Cycles and bytes of the chain, without what lies between its links. */
struct traffic {
    struct tiling *t;
    double sums;    /* cycles of its products alone */
    double again;   /* bytes that every pass reads from beyond the cache */
    double outside; /* bytes that it reads and writes, but for constants */
    struct map seen;
};
static void note_sum(struct traffic *r, const struct stmt *s) {
    const struct machine *m = r->t->l->o->target->machine;
    enum dtype type = s->u.stage.buf->type;
    const struct operation *op = machine_multiply_add(m, type);
    double steps = 1;
    if (!op || !sums_products(s->u.stage.op, s->u.stage.value)) return;
    for (int k = 0; k < s->u.stage.naxes; k++) steps *= cells_of(&s->u.stage.axes[k]->extent, 1);
    for (int k = 0; k < s->u.stage.nred; k++) steps *= cells_of(&s->u.stage.red[k]->extent, 1);
    r->sums += steps / (op->starts * machine_lanes(m, type));
}
/* What every pass of the innermost loop reads whole comes from beyond the cache each time if it is too large. */
static bool note_read(void *env, expr e) {
    struct traffic *r = env;
    struct tiling *t = r->t;
    int inner = t->naxes - 1;
    double own = 1;
    if (e->op != X_LOAD || made_of(t, e->u.buf) || map_get(&r->seen, PKEY(e->u.buf))) return true;
    map_put(&r->seen, PKEY(e->u.buf), e->u.buf);
    double bytes = bytes_of(e->u.buf), passes;
    if (e->u.buf->scope != SC_CONST) r->outside += bytes;
    struct dependence d = {t, made_of(t, t->stage->u.stage.buf), 0};
    for (int k = 0; k < e->n - e->has_fill; k++) x_visit(e->arg[k], note_axis, &d);
    while (inner > 0 && is_whole(t, inner)) inner--;
    if (d.axes >> inner & 1) return true;
    for (int a = 0; a < inner; a++)
        if (d.axes >> a & 1) own *= cells_of(&t->axes[a].passes, 1);
    passes = cells_of(&t->axes[inner].passes, 1);
    if (bytes / own > (double)room(t->l)) r->again += bytes * (passes - 1);
    return true;
}
/* It saves time, or the memory of what is far more than all else. */
static bool is_worth_it(struct tiling *t, const struct chain *chain, int from, int end, double all) {
    enum { PART = 20, TIMES = 2 }; /* of the time that products take; as much as what lies outside */
    struct traffic r = {t, 0, 0, bytes_of(t->result), {.arena = &t->l->c->arena}};
    for (int k = from; k < end; k++)
        for (const struct stmt *s = chain->links.v[k]->stmts.first; s; s = s->next) {
            if (s->kind != S_STAGE) continue;
            t->stage = s;
            note_sum(&r, s);
            x_visit(s->u.stage.value, note_read, &r);
        }
    double saved = (2 * all - r.again) * t->l->o->target->machine->l2.byte; /* it would be written and read */
    return saved > 0 && (saved * PART > r.sums || all > TIMES * r.outside);
}

/* ---- operands */
/* The axis of the tiling that the stage at work reads there, one pass after another; -1: none. */
static int axis_read(const struct tiling *t, expr index) {
    int k = axis_at(t->stage, index);
    for (int a = 0; k >= 0 && a < t->naxes; a++)
        if (axis_of(t, made_of(t, t->stage->u.stage.buf)->first + k) == t->axes[a].axis) return a;
    return -1;
}
/* Can it be proved of b's tiles that they lie in b? axis: of each of the first n dims, -1: it is whole. */
static bool lies_inside(struct tiling *t, const struct buf *b, const int *axis, int n) {
    struct ctx *c = t->l->c;
    expr at[32], cells = x_int(c, 1);
    for (int k = 0; k < b->nlogical; k++) {
        int a = k < n ? axis[k] : -1;
        bool whole = a < 0 || is_whole(t, a);
        expr tile = whole ? b->logical[k] : x_int(c, t->axes[a].tile);
        const struct var *first = var_new(c, "first", x_addi(c, x_sub(c, b->logical[k], tile), 1));
        at[k] = whole ? x_int(c, 0) : x_var(c, first);
        cells = x_mul(c, cells, tile);
    }
    expr off = buf_offset(c, b, at);
    return x_proves_le(c, x_int(c, 0), off) && x_proves_le(c, x_add(c, off, cells), buf_cells(c, b));
}
/* The dims that a view can stand for: cells of one pass each, and of the last of them a tile. */
static void begin_operand(struct tiling *t, struct operand_view *o, expr load) {
    struct buf *b = o->buf;
    if (!may_be_viewed(t->l, b)) return;
    for (int k = 0; k < b->nlogical; k++) {
        int a = axis_read(t, load->arg[k]);
        bool moves = a >= 0 && !is_whole(t, a);
        if (!moves && !x_is(b->logical[k], 1)) return;
        o->axis[k] = a;
        if (!moves) continue;
        if (!lies_inside(t, b, o->axis, k + 1)) return;
        o->dims = k + 1;
        if (t->axes[a].tile > 1) return;
    }
}
static bool note_operand(void *env, expr e) {
    struct tiling *t = env;
    struct operand_view *o = NULL;
    if (e->op != X_LOAD || made_of(t, e->u.buf)) return true;
    for (int k = 0; k < t->operands.n && !o; k++)
        if (t->operands.v[k]->buf == e->u.buf) o = t->operands.v[k];
    if (!o) {
        o = NEW(&t->l->c->arena, struct operand_view);
        o->buf = e->u.buf;
        begin_operand(t, o, e);
        PUSH(&t->l->c->arena, &t->operands, o);
    }
    for (int k = 0; k < o->dims; k++)
        if (o->axis[k] != axis_read(t, e->arg[k])) o->dims = 0; /* read in two ways */
    return true;
}
/* Does e read an open axis of the tiling elsewhere than through views? Kernels could not prove that it lies inside. */
static bool reads_open(void *env, expr e) {
    struct tiling *t = env;
    int64_t extent;
    if (e->op != X_LOAD || made_of(t, e->u.buf)) return true;
    struct dependence d = {t, made_of(t, t->stage->u.stage.buf), 0};
    for (int k = 0; k < t->operands.n; k++)
        for (int i = t->operands.v[k]->dims; t->operands.v[k]->buf == e->u.buf && i < e->n - e->has_fill; i++)
            x_visit(e->arg[i], note_axis, &d);
    for (int a = 0; a < t->naxes; a++)
        if (d.axes >> a & 1 && !is_whole(t, a) && !x_is_int(t->axes[a].extent, &extent)) return false;
    return true;
}
/* Of each dim of the result; -1: none is tiled. */
static void result_axes(const struct tiling *t, int axis[32]) {
    const struct made *r = made_of(t, t->result);
    for (int k = 0; k < r->buf->nlogical; k++) {
        axis[k] = -1;
        for (int a = 0; a < t->naxes; a++)
            if (axis_of(t, r->first + k) == t->axes[a].axis) axis[k] = a;
    }
}
static bool find_operands(struct tiling *t, const struct chain *chain, int from, int end) {
    int axis[32];
    result_axes(t, axis);
    bool ok = lies_inside(t, t->result, axis, t->result->nlogical);
    for (int way = 0; way < 2; way++) /* first how each is read, then whether all can be */
        for (int k = from; k < end && ok; k++)
            for (const struct stmt *s = chain->links.v[k]->stmts.first; s && ok; s = s->next) {
                if (s->kind != S_STAGE) continue;
                t->stage = s;
                ok = x_visit(s->u.stage.value, way ? reads_open : note_operand, t) &&
                     (!s->u.stage.init || x_visit(s->u.stage.init, way ? reads_open : note_operand, t));
            }
    return ok;
}

/* ---- the change */
static const struct sym *tile_sym(struct lowering *l, int axis, int64_t last) {
    const char *name = internf(l->c->names, "from%d", axis);
    for (int k = 0; k < l->froms.n; k++)
        if (l->froms.v[k]->name == name && l->froms.v[k]->hi == last) return l->froms.v[k];
    const struct sym *s = sym_new(l->c, name, 0, last, true);
    PUSH(&l->c->arena, &l->froms, s);
    return s;
}
static void enter_loops(struct tiling *t) {
    struct lowering *l = t->l;
    struct ctx *c = l->c;
    for (int k = 0; k < t->naxes; k++) {
        int64_t extent;
        if (is_whole(t, k)) continue;
        const struct var *v = var_new(c, internf(c->names, "tile%d", k), t->axes[k].passes);
        struct stmt *loop = s_for(c, v, LK_SERIAL);
        lower_stmt(l, loop);
        l->block = &loop->u.loop.body;
        t->axes[k].from = x_muli(c, x_var(c, v), t->axes[k].tile);
        if (!x_is_int(t->axes[k].extent, &extent) || extent % t->axes[k].tile == 0) continue;
        int64_t last = extent - t->axes[k].tile;
        struct stmt *s = s_new(c, S_SIZE);
        s->u.size.sym = tile_sym(l, k, last);
        s->u.size.lo = x_int(c, 0), s->u.size.hi = x_int(c, last);
        s->u.size.value = x_min(c, x_muli(c, x_var(c, v), t->axes[k].tile), x_int(c, last));
        lower_stmt(l, s);
        t->axes[k].from = x_sym(c, s->u.size.sym);
    }
}
static int tiled_axis(const struct tiling *t, const struct made *m, int dim) { /* -1: it is whole */
    for (int a = 0; a < t->naxes; a++)
        if (t->axes[a].from && axis_of(t, m->first + dim) == t->axes[a].axis) return a;
    return -1;
}
/* The tile of b, where it lies; axis: of each of the first n dims, -1: it is whole. */
static struct buf *view_tile(struct tiling *t, struct buf *b, const int *axis, int n) {
    struct lowering *l = t->l;
    expr dims[32], at[32];
    for (int k = 0; k < b->nlogical; k++) {
        int a = k < n ? axis[k] : -1;
        bool whole = a < 0 || !t->axes[a].from;
        dims[k] = whole ? b->logical[k] : x_int(l->c, t->axes[a].tile);
        at[k] = whole ? x_int(l->c, 0) : t->axes[a].from;
    }
    struct buf *v = buf_new(l->c, l->entry, b->base, b->type, SC_ARENA, dims, b->nlogical);
    if (map_get(&l->halves, PKEY(b))) map_put(&l->halves, PKEY(v), map_get(&l->halves, PKEY(b)));
    struct stmt *s = s_new(l->c, S_VIEW);
    s->u.view.buf = v, s->u.view.of = b, s->u.view.off = buf_offset(l->c, b, at);
    lower_stmt(l, s);
    return v;
}
static struct buf *view_result(struct tiling *t) {
    int axis[32];
    result_axes(t, axis);
    return view_tile(t, t->result, axis, t->result->nlogical);
}
struct change {
    struct tiling *t;
    struct buf *tile;        /* of the result */
    struct map inside, real; /* axis of a stage -> what it is in a buffer of the chain, and elsewhere */
};
static expr change_expr(void *env, expr e) {
    struct change *q = env;
    struct ctx *c = q->t->l->c;
    if (e->op == X_VAR) return map_get(&q->real, PKEY(e->u.var));
    if (e->op != X_LOAD) return NULL;
    struct buf *b = e->u.buf == q->t->result ? q->tile : e->u.buf;
    int own = made_of(q->t, e->u.buf) ? b->nlogical : 0; /* dims of which there is a tile alone */
    for (int k = 0; k < q->t->operands.n; k++)
        if (q->t->operands.v[k]->buf == b && q->t->operands.v[k]->view)
            b = q->t->operands.v[k]->view, own = q->t->operands.v[k]->dims;
    expr at[32];
    for (int k = 0; k < b->nlogical; k++) {
        expr inside = k < own && e->arg[k]->op == X_VAR ? map_get(&q->inside, PKEY(e->arg[k]->u.var)) : NULL;
        at[k] = inside ? inside : x_map(c, e->arg[k], change_expr, q);
    }
    expr fill = e->has_fill ? x_map(c, e->arg[e->n - 1], change_expr, q) : NULL;
    return x_load(c, b, at, b->nlogical, fill);
}
static void change_stage(struct change *q, struct stmt *s) {
    struct tiling *t = q->t;
    struct ctx *c = t->l->c;
    const struct made *m = made_of(t, s->u.stage.buf);
    stmt_own_arrays(c, s);
    for (int k = 0; k < s->u.stage.naxes; k++) {
        int a = tiled_axis(t, m, k);
        if (a < 0) continue;
        const struct var *old = s->u.stage.axes[k];
        s->u.stage.axes[k] = var_new(c, old->name, x_int(c, t->axes[a].tile));
        expr own = x_var(c, s->u.stage.axes[k]);
        map_put(&q->inside, PKEY(old), (void *)own);
        map_put(&q->real, PKEY(old), (void *)x_add(c, t->axes[a].from, own));
    }
    s->u.stage.value = x_map(c, s->u.stage.value, change_expr, q);
    if (s->u.stage.init) s->u.stage.init = x_map(c, s->u.stage.init, change_expr, q);
    if (m->buf == t->result) s->u.stage.buf = q->tile;
}
static void shrink(const struct tiling *t, const struct made *m) {
    for (int k = 0; k < m->buf->nlogical; k++) {
        int a = tiled_axis(t, m, k);
        if (a >= 0) m->buf->logical[k] = m->buf->dims[k] = x_int(t->l->c, t->axes[a].tile);
    }
}
static void change_links(struct tiling *t, struct chain *chain, int from, int end) {
    struct lowering *l = t->l;
    struct change q = {t, NULL, {.arena = &l->c->arena}, {.arena = &l->c->arena}};
    for (int k = from; k < end; k++) block_move(l->block, &chain->links.v[k]->before);
    for (int k = from; k < end; k++)
        for (struct stmt *s = chain->links.v[k]->stmts.first, *next; s; s = next) {
            next = s->next;
            if (s->kind != S_ALLOC || s->u.alloc.buf != t->result) continue;
            stmt_remove(s);
            lower_stmt(l, s);
        }
    enter_loops(t);
    q.tile = view_result(t);
    for (int k = 0; k < t->operands.n; k++) {
        struct operand_view *o = t->operands.v[k];
        if (o->dims) o->view = view_tile(t, o->buf, o->axis, o->dims);
    }
    for (int k = from; k < end; k++)
        for (struct stmt *s = chain->links.v[k]->stmts.first; s; s = s->next)
            if (s->kind == S_STAGE) change_stage(&q, s);
    for (int k = 0; k < t->made.n; k++)
        if (t->made.v[k].buf != t->result) shrink(t, &t->made.v[k]);
}
static const char *shape_of_passes(const struct tiling *t) {
    struct text s = {0};
    for (int k = 0; k < t->naxes; k++) {
        text_add(&s, k ? ", " : "");
        if (is_whole(t, k)) text_add(&s, "all");
        else text_printf(&s, "%lld", (long long)t->axes[k].tile);
        text_add(&s, " of ");
        x_print(&s, t->axes[k].extent, NULL, NULL);
    }
    return text_take(&s, &t->l->c->arena);
}
static void say(const struct tiling *t, const struct chain *chain, int from, int end) {
    struct lowering *l = t->l;
    const struct node *first = chain->links.v[from]->group->anchor, *last = chain->links.v[end - 1]->group->anchor;
    const char *how = shape_of_passes(t);
    if (l->o->groups) {
        text_printf(l->o->groups, "tiles of groups");
        for (int k = from; k < end; k++) text_printf(l->o->groups, " %d", chain->links.v[k]->group->id);
        text_printf(l->o->groups, ": %s\n", how);
    }
    remark(l->c, REMARK_FUSE, last->origin, "is computed tile by tile with %s: %s", first->origin, how);
}
int tile_chain(struct lowering *l, struct chain *chain, int from) {
    for (int end = chain->links.n; end > from + 1; end--) {
        struct tiling t = {.l = l, .number = {.arena = &l->c->arena}};
        double all;
        if (!find_axes(&t, chain, from, end) || !find_result(&t, end - 1)) continue;
        find_tiled(&t);
        const struct buf *most = between(&t, &all);
        if (!t.naxes || !most || !choose_tiles(&t, most)) continue;
        if (!find_operands(&t, chain, from, end) || !is_worth_it(&t, chain, from, end, all)) continue;
        if (!decide(l->c, "%.*s is computed tile by tile", OWN_ORIGIN(chain->links.v[end - 1]->group->anchor)))
            continue;
        say(&t, chain, from, end);
        change_links(&t, chain, from, end);
        return end - from;
    }
    return 0;
}
