/* The strategy for maps and moves into blocked results: the block of channels is innermost, as one vector. See
 * cpu.h. */
#include "ir/base/checked.h"
#include "lower/schedule/cpu.h"

static void add_block(struct plan *u, struct points *out, struct block_lanes b) {
    add_point(u, out, &strategy_blocked_map)->u.block = b;
}
/* ---- squares of a move whose operand's channels lie apart, but whose cells lie side by side */
/* The axes from `first` on are one in the operand's memory, and in the result's. */
static int first_of_run(struct plan *u, const struct stmt *out, expr load) {
    const struct param_layout *l = layout_of(u->p, u->l, out->u.stage.buf);
    int k = out->u.stage.naxes - 1;
    for (; k > 2 && !l->halo; k--) {
        int64_t inner = bytes_apart(u, load->u.buf, load->arg, out->u.stage.axes[k]),
                n = const_extent(out->u.stage.axes[k]);
        if (n < 1 || bytes_apart(u, load->u.buf, load->arg, out->u.stage.axes[k - 1]) != sat_mul(inner, n)) break;
    }
    return k;
}
struct into_blocks { /* a move */
    struct plan *u;
    expr load;
    int first;     /* the outermost axis of a run; see first_of_run */
    int64_t cells; /* of the run; -1: not known */
};
/* Cells of the run are adjacent, and rows, blocks and channels are whole squares. */
static bool fits_squares(void *env, const struct squares *q, int64_t *apart) {
    const struct into_blocks *i = env;
    const struct stmt *out = i->u->k->out;
    const struct var *channel = out->u.stage.axes[1], *last = out->u.stage.axes[out->u.stage.naxes - 1];
    int block = layout_of(i->u->p, i->u->l, out->u.stage.buf)->block, cell = dtype_bytes(out->u.stage.buf->type);
    *apart = bytes_apart(i->u, i->load->u.buf, i->load->arg, channel);
    return !q->planes && q->bytes == cell && block % q->n == 0 && const_extent(channel) % q->n == 0 &&
           (i->cells < 0 || i->cells >= q->n) && bytes_apart(i->u, i->load->u.buf, i->load->arg, last) == cell;
}
static void add_squares(struct plan *u, struct points *points) {
    const struct stmt *out = u->k->out;
    expr load = out->u.stage.value;
    if (u->k->cls != PROBLEM_MOVE || u->k->stages.n != 1 || load->op != X_LOAD || load->has_fill) return;
    if (load->u.buf->type != out->u.stage.buf->type || out->u.stage.naxes < 3) return;
    struct into_blocks i = {.u = u, .load = load, .first = first_of_run(u, out, load)};
    i.cells = cells_from(out, i.first);
    const struct squares *squares = machine_squares(u->m, fits_squares, &i);
    if (!squares) return;
    add_point(u, points, &strategy_blocked_map)->u.block = (struct block_lanes){.squares = squares, .first = i.first};
}
/* A block of more channels than squares have is written cell by cell, so that its lines are filled at once. */
static const char *write_squares(struct plan *u, const struct block_lanes *b) {
    const struct stmt *out = u->k->out;
    int last = out->u.stage.naxes - 1, n = b->squares->n;
    bool inside = layout_of(u->p, u->l, out->u.stage.buf)->block > n;
    const char *cells = axis_loop(u->c, out, last);
    struct word_list order = {0};
    layout_steps(&u->s, u->p, u->l);
    for (int k = last - 1; k >= b->first; k--, cells = role.flat)
        step_fuse(&u->s, axis_loop(u->c, out, k), cells, role.flat);
    step_split(&u->s, axis_loop(u->c, out, 1), n, role.channels, role.channel, TAIL_NONE);
    add_loop(&u->s, &order, axis_loop(u->c, out, 0));
    if (!inside) add_loop(&u->s, &order, role.channels);
    for (int k = 2; k < b->first; k++) add_loop(&u->s, &order, axis_loop(u->c, out, k));
    add_loop(&u->s, &order, cells);
    if (inside) add_loop(&u->s, &order, role.channels);
    add_loop(&u->s, &order, role.channel);
    step_reorder(&u->s, order);
    step_split(&u->s, cells, n, role.cells, role.few, early_tail(cells_from(out, b->first), n));
    if (inside) step_reorder(&u->s, LOOPS(role.cells, role.channels, role.channel, role.few));
    else step_reorder(&u->s, LOOPS(role.cells, role.channel, role.few));
    step_tensorize(&u->s, b->squares->instr);
    return NULL;
}

/* ---- operands of a map whose channels lie apart, but whose cells lie side by side */
struct turned {
    expr load;
    const struct squares *squares;
    int channel, cell; /* dims of the operand */
};
struct turned_list {
    struct plan *u;
    const struct stmt *s; /* reads them */
    VEC(struct turned) list;
    int cells; /* of the last axis that are copied at a time */
    bool bad;  /* some operand cannot be copied so */
};
static bool fits_turned(void *env, const struct squares *q, int64_t *apart) {
    const struct turned_list *l = env;
    int64_t cells = const_extent(l->s->u.stage.axes[l->s->u.stage.naxes - 1]);
    *apart = 0; /* the rows of a copy follow each other */
    return !q->planes && q->bytes == dtype_bytes(l->list.v[l->list.n - 1].load->u.buf->type) &&
           lanes_of(l->u) % q->n == 0 && (cells < 0 || cells >= q->n);
}
static bool add_turned(void *env, expr e) {
    struct turned_list *l = env;
    struct plan *u = l->u;
    const struct var *channel = l->s->u.stage.axes[1], *last = l->s->u.stage.axes[l->s->u.stage.naxes - 1];
    if (e->op != X_LOAD || e->u.buf->scope != SC_PARAM || e->u.buf->data) return true;
    const struct param_layout *layout = layout_of(u->p, u->l, e->u.buf);
    for (int k = 0; k < l->list.n; k++) l->bad |= l->list.v[k].load->u.buf == e->u.buf;
    if (!operand_uses(u->c, e, channel) || (layout && (layout->block || layout->panels.lanes))) return true;
    PUSH(&u->c->arena, &l->list, ((struct turned){e, NULL, dim_of(e, channel), dim_of(e, last)}));
    struct turned *t = &l->list.v[l->list.n - 1];
    t->squares = machine_squares(u->m, fits_turned, l);
    bool adjacent =
        layout && layout->spec /* a border */ ? t->cell == e->u.buf->nlogical - 1
                                              : bytes_apart(u, e->u.buf, e->arg, last) == dtype_bytes(e->u.buf->type);
    l->bad |= e->has_fill || !t->squares || t->channel < 0 || t->cell < 0 || !adjacent;
    if (l->bad) return false;
    if (t->squares->n > l->cells) l->cells = t->squares->n;
    return true;
}
/* Empty if some operand must be read in another way. */
static struct turned_list find_turned(struct plan *u) {
    struct turned_list l = {.u = u};
    for (int i = 0; i < u->k->stages.n; i++) {
        l.s = u->k->stages.v[i];
        if (!same_axes(l.s, u->k->out) || l.s->u.stage.naxes < 3) continue;
        x_visit(l.s->u.stage.value, add_turned, &l);
    }
    if (l.bad) l.list.n = 0;
    return l;
}
static const char *copy_of(struct plan *u, const struct buf *b) {
    return internf(u->c->names, "%s_%s", role.turned, b->base);
}
static const char *dim_loop(struct plan *u, const char *copy, int d) { return internf(u->c->names, "%s.d%d", copy, d); }
static void copy_turned(struct plan *u, const struct stmt *out, const struct turned_list *l) {
    for (int k = 0; k < l->list.n; k++) {
        const struct buf *b = l->list.v[k].load->u.buf;
        const char *copy = copy_of(u, b);
        step_cache_read(&u->s, b->base, copy, out->u.stage.buf->base);
        plan_innermost(u, copy, b->nlogical, l->list.v[k].channel);
    }
}
/* As many cells at a time as the largest squares have; a block may have more channels, too. */
static void turn(struct plan *u, const struct stmt *out, const struct turned_list *l) {
    const char *cells = axis_loop(u->c, out, out->u.stage.naxes - 1);
    step_split(&u->s, cells, l->cells, role.cells, role.few,
               early_tail(const_extent(out->u.stage.axes[out->u.stage.naxes - 1]), l->cells));
    for (int k = 0; k < l->list.n; k++) {
        const struct turned *t = &l->list.v[k];
        const char *copy = copy_of(u, t->load->u.buf);
        struct word_list order = {0};
        step_compute_at(&u->s, copy, role.cells, SC_STACK);
        for (int d = 0; d < t->load->u.buf->nlogical; d++)
            if (d != t->channel && d != t->cell) add_loop(&u->s, &order, dim_loop(u, copy, d));
        const char *channel = dim_loop(u, copy, t->channel), *cell = dim_loop(u, copy, t->cell);
        add_loops(&u->s, &order, LOOPS(channel, cell));
        step_reorder(&u->s, order);
        if (lanes_of(u) > t->squares->n || l->cells > t->squares->n) {
            const char *strips = loop_in(u, copy, role.strips), *strip = loop_in(u, copy, role.strip),
                       *groups = loop_in(u, copy, role.cells), *few = loop_in(u, copy, role.few);
            step_split(&u->s, channel, t->squares->n, strips, strip, TAIL_NONE);
            step_split(&u->s, cell, t->squares->n, groups, few, TAIL_CUT2);
            step_reorder(&u->s, LOOPS(strips, groups, strip, few));
        }
        step_tensorize(&u->s, t->squares->instr);
    }
}

/* ---- lanes along the channels */
struct apart {
    struct plan *u;
    const struct var *channel;
    bool found;
};
static bool check_apart(void *env, expr e) {
    struct apart *q = env;
    const struct param_layout *l = e->op == X_LOAD ? layout_of(q->u->p, q->u->l, e->u.buf) : NULL;
    expr rest;
    int64_t stride = 0;
    if (e->op == X_LOAD && e->u.buf->scope == SC_PARAM && !e->u.buf->data && !(l && l->block))
        q->found |= !x_linear_in(q->u->c, buf_offset(q->u->c, e->u.buf, e->arg), q->channel, &stride, &rest) ||
                    stride < 0 || stride > q->u->m->apart;
    return true;
}
/* A map, before the result, of an operand whose channels lie further apart than vectors load them, or elsewhere. */
static bool is_apart(struct plan *u, const struct stmt *s) {
    struct apart q = {.u = u};
    if (s == u->k->out || !same_axes(s, u->k->out)) return false;
    q.channel = s->u.stage.axes[1];
    x_visit(s->u.stage.value, check_apart, &q);
    return q.found;
}
static const char *map_points(struct plan *u, struct points *out) {
    const struct problem *k = u->k;
    if (k->nreductions || k->nresults != 1) return "not maps alone, with one result";
    const char *why = no_blocks(u, k->out->u.stage.buf);
    if (why) return why;
    if (!lanes_fit(k->out)) return "the number of channels is open";
    add_squares(u, out);
    bool full = const_extent(k->out->u.stage.axes[1]) % lanes_of(u) == 0, apart = false;
    for (int i = 0; i < k->stages.n; i++) apart |= is_apart(u, k->stages.v[i]);
    if (full && find_turned(u).list.n) add_block(u, out, (struct block_lanes){.lanes = true, .turned = true});
    for (int cut = 0; cut <= !full; cut++) add_block(u, out, (struct block_lanes){.lanes = true, .cut = cut});
    if (full && apart) add_block(u, out, (struct block_lanes){.lanes = true, .gathered = true});
    for (int cut = 0; cut <= !full; cut++) add_block(u, out, (struct block_lanes){.cut = cut});
    return NULL;
}
/* The last block, if it is not full, becomes a separate nest. */
static void cut_rest(struct plan *u, const struct stmt *out) {
    int64_t n = const_extent(out->u.stage.axes[1]), whole = n - n % lanes_of(u);
    if (whole) step_cut(&u->s, axis_loop(u->c, out, 1), whole, NULL);
}
/* Maps of operands whose channels lie apart, into a register for each block. */
static void gather(struct plan *u, const struct stmt *out) {
    const char *around = out->u.stage.naxes > 2 ? axis_loop(u->c, out, out->u.stage.naxes - 1) : role.channels;
    struct word_list cells = {0};
    for (int i = u->k->stages.n; i--;) {
        const struct stmt *s = u->k->stages.v[i];
        if (!is_apart(u, s)) continue;
        step_compute_at(&u->s, s->u.stage.buf->base, around, SC_REG);
        add_loop(&u->s, &cells, axis_loop(u->c, s, 1));
    }
    step_kind(&u->s, LK_UNROLL, cells);
}
static const char *map_steps(struct plan *u, const struct point *p) {
    if (p->u.block.squares) return write_squares(u, &p->u.block);
    layout_steps(&u->s, u->p, u->l);
    plan_inline_others(u, p->u.block.gathered ? is_apart : NULL);
    const struct turned_list turned = p->u.block.turned ? find_turned(u) : (struct turned_list){0};
    copy_turned(u, u->k->out, &turned);
    plan_channels(u, u->k->out, NULL);
    if (p->u.block.cut) cut_rest(u, u->k->out);
    else plan_widen(u, NULL, u->k->out);
    blocked_nest(u, u->k->out, lanes_of(u), NULL, NULL);
    if (p->u.block.gathered) gather(u, u->k->out);
    if (turned.list.n) turn(u, u->k->out, &turned);
    step_kind(&u->s, p->u.block.lanes ? LK_VECTOR : LK_UNROLL, LOOPS(role.channel));
    return NULL;
}
static void print_channels(struct text *t, struct plan *u, const struct point *p) {
    (void)u;
    if (p->u.block.squares) text_printf(t, "squares of channels and cells (%s)", p->u.block.squares->instr);
    else
        text_printf(t, "%s%s%s",
                    p->u.block.turned     ? "what lies apart in squares, then "
                    : p->u.block.gathered ? "what lies apart one by one, then "
                                          : "",
                    p->u.block.lanes ? "lanes along the channels" : "channels one by one",
                    p->u.block.cut ? ", the last block by itself" : "");
}
const struct strategy strategy_blocked_map = {"blocked map", map_points, map_steps, print_channels};
