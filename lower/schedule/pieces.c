/* The strategy for maps and moves whose last axis falls into pieces, in each of which neighbours of the result come
 * from neighbours of an operand: what is padded, repeated or shifted. Every piece has vectors; where cells run
 * backwards (what is mirrored) they are written one by one. See cpu.h, docs/schedules.md. */
#include "lower/schedule/cpu.h"

enum { PIECES_MAX = 8 };
struct pieces {
    struct plan *u;
    const struct var *v;   /* the cells of the piece that is looked at .. */
    int64_t next;          /* .. and where in it another one begins; its size: nowhere */
    int64_t period, phase; /* or they begin at phase and then every so many cells; 0: none do */
    struct tile_size sizes[PIECES_MAX + 1];
    int n;
};

/* ---- where they begin */
static void begin_piece(struct pieces *q, int64_t at) {
    if (at > 0 && at < q->next) q->next = at;
}
/* e is v + rest (way 1) or rest - v (way -1). */
static bool moves_with(const struct pieces *q, expr e, int64_t *way, int64_t *rest) {
    expr r;
    return x_linear_in(q->u->c, e, q->v, way, &r) && (*way == 1 || *way == -1) && x_is_int(r, rest);
}
/* A piece begins where e, which moves with v, becomes `least` or more, or is no longer. */
static void turn(struct pieces *q, expr e, int64_t least) {
    int64_t way, rest;
    if (moves_with(q, e, &way, &rest)) begin_piece(q, way > 0 ? least - rest : rest - least + 1);
}
static void repeat(struct pieces *q, expr e, expr by) {
    int64_t way, rest, n;
    if (!x_is_int(by, &n) || n < 1 || !moves_with(q, e, &way, &rest) || way < 0) return;
    q->period = n, q->phase = ((-rest) % n + n) % n;
}
static bool find_pieces(void *env, expr e) {
    struct pieces *q = env;
    struct ctx *c = q->u->c;
    int64_t dim, way, rest;
    if (!x_uses_var(c, e, q->v)) return true;
    if (e->op == X_LOAD)
        for (int k = 0; e->has_fill && k < e->n - 1; k++) {
            turn(q, e->arg[k], 0);
            if (x_is_int(e->u.buf->logical[k], &dim)) turn(q, e->arg[k], dim);
        }
    if (e->n != 2 || e->arg[0]->type != IDX) return true;
    if (e->op == X_MOD || e->op == X_DIV) return repeat(q, e->arg[0], e->arg[1]), true;
    expr d = x_sub(c, e->arg[0], e->arg[1]);
    if (e->op == X_MIN || e->op == X_MAX) /* where both are equal, cells go on as they do beside it */
        turn(q, moves_with(q, d, &way, &rest) ? x_muli(c, d, way) : d, e->op == X_MAX ? 0 : 1);
    if (e->op == X_LT || e->op == X_EQ || e->op == X_NE) turn(q, d, 0);
    if (e->op == X_LE || e->op == X_EQ || e->op == X_NE) turn(q, d, 1);
    return true;
}

/* ---- how each is written */
struct reading {
    struct plan *u;
    const struct var *v;
    bool whole, bad; /* whole: no load may leave its operand along v */
};
static bool reads_along(void *env, expr e) {
    struct reading *q = env;
    struct ctx *c = q->u->c;
    int64_t apart;
    expr rest;
    if (e->op != X_LOAD) return !(q->bad |= e->op == X_GUARD && x_uses_var(c, e, q->v));
    for (int k = 0; e->has_fill && k < e->n - 1; k++)
        q->bad |= !x_linear_in(c, e->arg[k], q->v, &apart, &rest) || (q->whole && apart);
    q->bad |= !x_linear_in(c, buf_offset(c, e->u.buf, e->arg), q->v, &apart, &rest) || apart < 0 || apart > 2;
    return !q->bad;
}
/* What stage s computes of the cells from there on, of pieces of that size. */
static expr value_of(struct pieces *q, const struct stmt *s, int64_t from, struct tile_size pieces) {
    struct ctx *c = q->u->c;
    expr part = pieces.count == 1 ? x_int(c, 0) : x_var(c, var_new(c, "part", x_int(c, pieces.count)));
    q->v = var_new(c, "cell", x_int(c, pieces.size));
    expr at = x_addi(c, x_add(c, x_muli(c, part, pieces.size), x_var(c, q->v)), from);
    return x_subst1(c, s->u.stage.value, s->u.stage.axes[s->u.stage.naxes - 1], at);
}
static bool has_lanes(struct pieces *q, int64_t from, struct tile_size pieces, bool whole) {
    for (int i = 0; i < q->u->k->stages.n; i++) {
        expr value = value_of(q, q->u->k->stages.v[i], from, pieces);
        if (!x_visit(value, reads_along, &(struct reading){q->u, q->v, whole, false})) return false;
    }
    return true;
}
static void add_pieces(struct pieces *q, int64_t from, int64_t size, int64_t count) {
    struct tile_size pieces = {size, count};
    if (!size || !count) return;
    if (!has_lanes(q, from, pieces, false)) pieces = (struct tile_size){1, size * count};
    if (q->n <= PIECES_MAX) q->sizes[q->n++] = pieces;
}
/* Cells from there on are one piece, or several that are equally long, or something else begins among them. */
static void divide(struct pieces *q, int64_t from, int64_t size) {
    const struct problem *k = q->u->k;
    q->next = size, q->period = 0;
    for (int i = 0; i < k->stages.n; i++)
        x_visit(value_of(q, k->stages.v[i], from, (struct tile_size){size, 1}), find_pieces, q);
    int64_t next = q->next, period = q->period, phase = q->phase;
    if (next < size && q->n <= PIECES_MAX) {
        divide(q, from, next);
        divide(q, from + next, size - next);
    } else if (period && phase + period < size) {
        int64_t times = (size - phase) / period, whole = phase + times * period;
        add_pieces(q, from, phase, 1);
        add_pieces(q, from + phase, period, times);
        add_pieces(q, from + whole, size - whole, 1);
    } else add_pieces(q, from, size, 1);
}
static const char *pieces_of(struct plan *u, struct pieces *q) {
    const struct problem *k = u->k;
    int naxes = k->out->u.stage.naxes;
    int64_t inside = 0;
    *q = (struct pieces){.u = u};
    if (k->nreductions || k->nresults != 1 || naxes < 1) return "not maps alone, with one result";
    if (lanes_of(u) < 2) return "there are no vectors";
    int64_t extent = const_extent(k->out->u.stage.axes[naxes - 1]);
    if (extent < lanes_of(u)) return "the last axis is open, or short";
    for (int i = 0; u->l && i < u->p->params.n; i++)
        if (u->l[i].spec) return "there are layouts";
    for (int i = 0; i < k->stages.n; i++) {
        const struct stmt *s = k->stages.v[i];
        if (s->u.stage.naxes != naxes || const_extent(s->u.stage.axes[naxes - 1]) != extent)
            return "its stages have other axes";
    }
    if (has_lanes(q, 0, (struct tile_size){extent, 1}, true)) return "the last axis is one piece";
    divide(q, 0, extent);
    if (q->n > PIECES_MAX) return "the last axis has many pieces";
    for (int i = 0; i < q->n; i++)
        if (q->sizes[i].size >= lanes_of(u)) inside += q->sizes[i].size * q->sizes[i].count;
    return 2 * inside < extent ? "most of the last axis' pieces are shorter than a vector" : NULL;
}

/* ---- the point */
static const char *pieces_points(struct plan *u, struct points *out) {
    struct pieces *q = NEW(&u->c->arena, struct pieces);
    const char *why = pieces_of(u, q);
    if (!why) add_point(u, out, &strategy_pieces)->u.pieces = q;
    return why;
}
static const char *pieces_steps(struct plan *u, const struct point *p) {
    const struct pieces *q = p->u.pieces;
    plan_inline_maps(u);
    step_tiles(&u->s, axis_loop(u->c, u->k->out, u->k->out->u.stage.naxes - 1), role.part, role.along, q->sizes, q->n);
    step_split(&u->s, role.along, lanes_of(u), role.cells, role.lane, TAIL_CUT2);
    step_kind(&u->s, LK_VECTOR, LOOPS(role.lane));
    return NULL;
}
static void print_pieces(struct text *t, struct plan *u, const struct point *p) {
    const struct pieces *q = p->u.pieces;
    (void)u;
    text_add(t, "the last axis in pieces of ");
    for (int i = 0; i < q->n; i++) {
        text_printf(t, "%s%lld", i ? ", " : "", (long long)q->sizes[i].size);
        if (q->sizes[i].count > 1) text_printf(t, " (%lld)", (long long)q->sizes[i].count);
    }
}
const struct strategy strategy_pieces = {"pieces", pieces_points, pieces_steps, print_pieces};
