/* The strategy for maps and moves whose last axis falls into pieces: padding, repetition, shifts. Within each piece,
 * neighbours in the result come from neighbours in an operand, so each is vectorised. Where cells run backwards
 * (mirroring) they are written one by one. See cpu.h, docs/schedules.md. */
#include "lower/schedule/cpu.h"

enum { PIECES_MAX = 8 };
struct piece {
    expr size;
    int64_t count;
};
struct pieces {
    struct plan *u;
    const struct var *v;   /* the position within the piece under examination .. */
    expr next;             /* .. and where the next piece begins; equal to the size: nowhere */
    int64_t period, phase; /* or pieces begin at phase, and then every `period` cells; 0: none do */
    struct piece part[PIECES_MAX];
    int n, cuts;
    bool open; /* one piece has an open size; the others are cut off before and after it */
};

/* ---- where pieces begin */
static void begin_piece(struct pieces *q, expr at) {
    expr zero = x_int(q->u->c, 0);
    if (at != zero && at != q->next && x_proves_le(q->u->c, zero, at) && x_proves_le(q->u->c, at, q->next))
        q->next = at;
}
/* e is rest + v (sign 1) or rest - v (sign -1). */
static bool moves_with(const struct pieces *q, expr e, int64_t *sign, expr *rest) {
    return x_linear_in(q->u->c, e, q->v, sign, rest) && (*sign == 1 || *sign == -1) && !x_has(*rest, XF_VAR | XF_LOAD);
}
/* A piece begins where e, which moves with v, reaches `least`, or stops reaching it. */
static void begin_at_bound(struct pieces *q, expr e, expr least) {
    struct ctx *c = q->u->c;
    int64_t sign;
    expr rest;
    if (moves_with(q, e, &sign, &rest))
        begin_piece(q, sign > 0 ? x_sub(c, least, rest) : x_addi(c, x_sub(c, rest, least), 1));
}
static void repeat(struct pieces *q, expr e, expr by) {
    int64_t sign, rest, n;
    expr r;
    if (!x_is_int(by, &n) || n < 1 || !moves_with(q, e, &sign, &r) || !x_is_int(r, &rest) || sign < 0) return;
    q->period = n, q->phase = ((-rest) % n + n) % n;
}
static bool find_pieces(void *env, expr e) {
    struct pieces *q = env;
    struct ctx *c = q->u->c;
    int64_t sign;
    expr rest;
    if (!x_uses_var(c, e, q->v)) return true;
    if (e->op == X_LOAD)
        for (int k = 0; e->has_fill && k < e->n - 1; k++) {
            begin_at_bound(q, e->arg[k], x_int(c, 0));
            begin_at_bound(q, e->arg[k], e->u.buf->logical[k]);
        }
    if (e->n != 2 || e->arg[0]->type != IDX) return true;
    if (e->op == X_MOD || e->op == X_DIV) return repeat(q, e->arg[0], e->arg[1]), true;
    expr d = x_sub(c, e->arg[0], e->arg[1]);
    if (e->op == X_MIN || e->op == X_MAX) /* where both arguments are equal it does not matter which is taken: the cell
                                           * stays with its neighbours */
        begin_at_bound(q, moves_with(q, d, &sign, &rest) ? x_muli(c, d, sign) : d, x_int(c, e->op == X_MAX ? 0 : 1));
    if (e->op == X_LT || e->op == X_EQ || e->op == X_NE) begin_at_bound(q, d, x_int(c, 0));
    if (e->op == X_LE || e->op == X_EQ || e->op == X_NE) begin_at_bound(q, d, x_int(c, 1));
    return true;
}

/* ---- how each piece is written */
struct reading {
    struct plan *u;
    const struct var *v;
    bool whole, bad; /* whole: along v, no load may leave its operand and no index test may choose */
};
static bool reads_along(void *env, expr e) {
    struct reading *q = env;
    struct ctx *c = q->u->c;
    int64_t apart;
    expr rest;
    bool chooses = e->op == X_GUARD || (q->whole && e->op == X_SELECT && x_has(e->arg[0], XF_INDEX_TEST));
    if (e->op != X_LOAD) return !(q->bad |= chooses && x_uses_var(c, e->op == X_GUARD ? e : e->arg[0], q->v));
    for (int k = 0; e->has_fill && k < e->n - 1; k++)
        q->bad |= !x_linear_in(c, e->arg[k], q->v, &apart, &rest) || (q->whole && apart);
    q->bad |= !x_linear_in(c, buf_offset(c, e->u.buf, e->arg), q->v, &apart, &rest) || apart < 0 || apart > 2;
    return !q->bad;
}
/* The value of stage s in pieces like p that start at `from`. */
static expr value_of(struct pieces *q, const struct stmt *s, expr from, struct piece p) {
    struct ctx *c = q->u->c;
    expr part = p.count == 1 ? x_int(c, 0) : x_var(c, var_new(c, "part", x_int(c, p.count)));
    q->v = var_new(c, "cell", p.size);
    expr at = x_add(c, x_add(c, x_mul(c, part, p.size), x_var(c, q->v)), from);
    return x_subst1(c, s->u.stage.value, s->u.stage.axes[s->u.stage.naxes - 1], at);
}
static bool has_lanes(struct pieces *q, expr from, struct piece p, bool whole) {
    for (int i = 0; i < q->u->k->stages.n; i++) {
        expr value = value_of(q, q->u->k->stages.v[i], from, p);
        if (!x_visit(value, reads_along, &(struct reading){q->u, q->v, whole, false})) return false;
    }
    return true;
}
/* false: there are too many pieces, or a second one of open size, or one of open size without lanes. */
static bool add_pieces(struct pieces *q, expr from, expr size, int64_t count) {
    struct piece p = {size, count};
    int64_t n = 1;
    bool open = !x_is_int(size, &n), lanes = has_lanes(q, from, p, false);
    if (!n || !count) return true;
    if (q->n == PIECES_MAX || (open && (q->open || !lanes))) return false;
    if (!lanes) p = (struct piece){x_int(q->u->c, 1), n * count};
    q->open |= open;
    return q->part[q->n++] = p, true;
}
/* Divides the cells [from, from + size) into pieces: one, several equally long ones, or recursively where another
 * begins. */
static bool divide(struct pieces *q, expr from, expr size) {
    const struct problem *k = q->u->k;
    struct ctx *c = q->u->c;
    int64_t n;
    q->next = size, q->period = 0;
    for (int i = 0; i < k->stages.n; i++)
        x_visit(value_of(q, k->stages.v[i], from, (struct piece){size, 1}), find_pieces, q);
    expr next = q->next;
    int64_t period = q->period, phase = q->phase;
    if (next != size)
        return ++q->cuts < PIECES_MAX && divide(q, from, next) && divide(q, x_add(c, from, next), x_sub(c, size, next));
    if (!period || !x_is_int(size, &n) || phase + period >= n) return add_pieces(q, from, size, 1);
    int64_t times = (n - phase) / period, whole = phase + times * period;
    return add_pieces(q, from, x_int(c, phase), 1) && add_pieces(q, x_addi(c, from, phase), x_int(c, period), times) &&
           add_pieces(q, x_addi(c, from, whole), x_int(c, n - whole), 1);
}
static const char *pieces_of(struct plan *u, struct pieces *q) {
    const struct problem *k = u->k;
    int naxes = k->out->u.stage.naxes;
    int64_t inside = 0, n;
    *q = (struct pieces){.u = u};
    if (k->nreductions || k->nresults != 1 || naxes < 1) return "not maps alone, with one result";
    if (lanes_of(u) < 2) return "there are no vectors";
    expr extent = k->out->u.stage.axes[naxes - 1]->extent, zero = x_int(u->c, 0);
    if (x_is_int(extent, &n) && n < lanes_of(u)) return "the last axis is short";
    for (int i = 0; u->l && i < u->p->params.n; i++)
        if (u->l[i].spec) return "there are layouts";
    for (int i = 0; i < k->stages.n; i++) {
        const struct stmt *s = k->stages.v[i];
        if (s->u.stage.naxes != naxes || s->u.stage.axes[naxes - 1]->extent != extent)
            return "its stages have other axes";
    }
    if (has_lanes(q, zero, (struct piece){extent, 1}, true)) return "the last axis is one piece";
    if (!divide(q, zero, extent) || (q->open && q->n == 1)) return "the last axis has many pieces, or of open size";
    if (q->n == 1 && q->part[0].count == 1) return "the last axis is one piece";
    for (int i = 0; i < q->n; i++)
        if (x_is_int(q->part[i].size, &n) && n >= lanes_of(u)) inside += n * q->part[i].count;
    return x_is_int(extent, &n) && 2 * inside < n ? "most of the last axis' pieces are shorter than a vector" : NULL;
}

/* ---- the point */
static const char *pieces_points(struct plan *u, struct points *out) {
    struct pieces *q = NEW(&u->c->arena, struct pieces);
    const char *why = pieces_of(u, q);
    if (!why) add_point(u, out, &strategy_pieces)->u.pieces = q;
    return why;
}
static void in_lanes(struct plan *u, const char *loop) {
    step_split(&u->s, loop, lanes_of(u), role.cells, role.lane, TAIL_CUT2);
}
/* Cuts the first (sign 1) or last (-1) of the remaining pieces off the loop. Is it long enough for lanes? */
static bool cut_off(struct plan *u, const char *loop, const struct piece *p, int64_t sign) {
    int64_t n = 0;
    x_is_int(p->size, &n);
    step_cut(&u->s, loop, sign * n * p->count, n < lanes_of(u) ? role.part : role.along);
    return n >= lanes_of(u);
}
/* Cuts all other pieces off the open one. */
static void open_pieces(struct plan *u, const struct pieces *q, const char *loop) {
    int64_t n;
    int open = 0;
    bool along = false;
    while (x_is_int(q->part[open].size, &n)) open++;
    for (int i = 0; i < open; i++) along |= cut_off(u, loop, &q->part[i], 1);
    for (int i = q->n; --i > open;) along |= cut_off(u, loop, &q->part[i], -1);
    in_lanes(u, loop);
    if (along) in_lanes(u, role.along);
}
static void known_pieces(struct plan *u, const struct pieces *q, const char *loop) {
    struct tile_size sizes[PIECES_MAX] = {0};
    for (int i = 0; i < q->n; i++) sizes[i].count = q->part[i].count, x_is_int(q->part[i].size, &sizes[i].size);
    step_tiles(&u->s, loop, role.part, role.along, sizes, q->n);
    in_lanes(u, role.along);
}
static const char *pieces_steps(struct plan *u, const struct point *p) {
    const struct pieces *q = p->u.pieces;
    const char *loop = axis_loop(u->c, u->k->out, u->k->out->u.stage.naxes - 1);
    plan_inline_maps(u);
    (q->open ? open_pieces : known_pieces)(u, q, loop);
    step_kind(&u->s, LK_VECTOR, LOOPS(role.lane));
    return NULL;
}
static void print_pieces(struct text *t, struct plan *u, const struct point *p) {
    const struct pieces *q = p->u.pieces;
    (void)u;
    text_add(t, "the last axis in pieces of ");
    for (int i = 0; i < q->n; i++) {
        int64_t n;
        text_add(t, i ? ", " : "");
        if (x_is_int(q->part[i].size, &n)) text_printf(t, "%lld", (long long)n);
        else text_add(t, "what is left");
        if (q->part[i].count > 1) text_printf(t, " (%lld)", (long long)q->part[i].count);
    }
}
const struct strategy strategy_pieces = {"pieces", pieces_points, pieces_steps, print_pieces};
