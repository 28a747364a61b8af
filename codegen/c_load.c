/* Loads as C: from a register, a cell, a vector, or lane by lane; and the value if there is nothing to load. Beside
 * c_expr.c. */
#include "codegen/c_int.h"

/* The value of a scalar cell as C, from its text. */
static struct piece decoded(struct fe *f, const struct buf *b, const char *cell) {
    const char *dec = c_decode(f->o, b->type);
    if (dec) return c_applied(f, dec, piece_of(cell, P_ATOM));
    if (b->type == BOOL) return piece_of(format(f->c, "%s != 0", cell), P_EQ);
    return piece_of(cell, P_ATOM);
}
static expr in_bounds(struct fe *f, expr load) {
    expr cond = x_bool(f->c, true);
    for (int k = 0; k < load->u.buf->nd; k++) {
        cond = x_and(f->c, cond, x_cmp(f->c, X_LE, x_int(f->c, 0), load->arg[k]));
        cond = x_and(f->c, cond, x_cmp(f->c, X_LT, load->arg[k], load->u.buf->dims[k]));
    }
    return cond;
}
/* e lane by lane, without a vector instruction: each lane's scalar expression in an initializer. */
struct piece c_lane_by_lane(struct fe *f, expr e) {
    const struct var *lane = f->lane;
    int width = f->width;
    ASSERT(lane);
    const char *s = "";
    f->lane = NULL;
    for (int i = 0; i < width; i++) {
        struct piece v = c_value(f, x_subst1(f->c, e, lane, x_int(f->c, i)), 1);
        s = format(f->c, "%s%s%s", s, i ? ", " : "", e->type == BOOL ? format(f->c, "-(%s)", v.s) : v.s);
    }
    f->lane = lane;
    return piece_of(format(f->c, "(%s){%s}", c_vector_type(f->o, (enum dtype)e->type, width), s), P_ATOM);
}
/* A guard with size 0 has no valid index: the access must not happen, and is a fault. Finds the condition under which
 * it may. */
struct guard_sizes {
    struct ctx *c;
    expr cond;
};
static bool add_guard_size(void *env, expr e) {
    struct guard_sizes *q = env;
    if (e->op == X_GUARD) q->cond = x_and(q->c, q->cond, x_cmp(q->c, X_LT, x_int(q->c, 0), e->arg[1]));
    return true;
}
expr c_guards_exist(struct fe *f, const expr *idx, int n) {
    struct guard_sizes q = {f->c, x_bool(f->c, true)};
    for (int k = 0; k < n; k++) x_visit_with(idx[k], XF_GUARD, add_guard_size, &q);
    return q.cond;
}
bool c_code(struct fe *f, enum dtype storage, expr e, struct piece *out) {
    int element;
    if (!dtype_is_half(storage) || e->op != X_LOAD || e->u.buf->type != storage || f->lane) return false;
    if (!x_is_true(c_guards_exist(f, e->arg, e->n)) || (e->has_fill && e->arg[e->n - 1]->op != X_CONST)) return false;
    if (!e->has_fill && c_piece(f, e->u.buf, e->arg, &element)) return false;
    expr cond = e->has_fill ? in_bounds(f, e) : x_bool(f->c, true);
    if (x_is_false(cond)) return false;
    struct place pl = c_place(f, e->u.buf, e->arg);
    *out = piece_of(c_cell(f, &pl), P_ATOM);
    if (!x_is_true(cond))
        *out = piece_of(format(f->c, "%s ? %s : 0x%04x", paren(f, c_value(f, cond, 1), P_OR), out->s,
                               c_float_code(storage, e->arg[e->n - 1]->u.f)),
                        P_COND);
    return true;
}
/* A table lookup with a separate index in each lane, which is a vector as well; all other terms are the same for all
 * lanes. A table with as many bytes as a byte has values may be held in registers, from its first cell on. */
enum { BYTES = 256 };
static bool looked_up(struct fe *f, expr e, struct piece *out) {
    const struct buf *b = e->u.buf;
    expr off = buf_own_offset(f->c, b, e->arg), at = x_looked_up(f->c, off, f->lane),
         first = at ? x_sub(f->c, off, at) : NULL;
    int64_t before;
    bool whole = at && dtype_is_byte(b->type) && b->nd == 1 && x_is(b->dims[0], BYTES) && x_is_int(first, &before);
    const char *helper = at ? c_look_up(f->o, b->type, f->width, whole) : NULL;
    if (!helper) return false;
    expr place = at->arg[0];
    if (whole) place = x_add(f->c, place, x_const_i(f->c, I32, before)), first = x_int(f->c, 0);
    struct place pl = c_place_at(f, b, first);
    *out = piece_of(format(f->c, "%s(%s, %s)", helper, c_address(f, &pl), c_value(f, place, f->width).s), P_ATOM);
    return true;
}
/* Cells of two places, alternating. */
static bool by_turns(struct fe *f, expr e, struct piece *out) {
    const struct buf *b = e->u.buf;
    expr off = buf_own_offset(f->c, b, e->arg);
    int64_t apart;
    const char *helper = x_by_turns(f->c, off, f->lane, &apart) ? c_vload_turns(f->o, b->type, f->width) : NULL;
    if (!helper) return false;
    struct place pl = c_place_at(f, b, x_subst1(f->c, off, f->lane, x_int(f->c, 0)));
    *out = piece_of(format(f->c, "%s(%s, %lld)", helper, c_address(f, &pl), (long long)apart), P_ATOM);
    return true;
}
/* Cells of a block, continuing in the next one. */
static bool over_blocks(struct fe *f, expr e, struct piece *out) {
    const struct buf *b = e->u.buf;
    expr off = buf_own_offset(f->c, b, e->arg), at, apart;
    const char *helper = x_over_blocks(f->c, off, f->lane, &at, &apart) ? c_vload_over(f->o, b->type, f->width) : NULL;
    if (!helper) return false;
    struct place pl = c_place_at(f, b, x_subst1(f->c, off, f->lane, x_int(f->c, 0)));
    *out = piece_of(format(f->c, "%s(%s, %s, %s)", helper, c_address(f, &pl), c_index(f, at).s, c_index(f, apart).s),
                    P_ATOM);
    return true;
}
/* Is the index a known number beyond a multiple of n, and the last dim of b a multiple of n as well? Then the cells up
 * to the next multiple are inside. */
static bool in_parts(struct fe *f, const struct buf *b, expr place, int64_t n, int64_t *at) {
    return x_is(x_modi(f->c, b->dims[b->nd - 1], n), 0) && x_is_int(x_modi(f->c, place, n), at);
}
/* Cells of one line, each used by several lanes: from a vector, or half of one, within the buffer's last dim. */
static bool in_runs(struct fe *f, expr e, struct piece *out) {
    const struct buf *b = e->u.buf;
    int64_t run, step, at, n = f->width;
    if (!b->nd || !x_in_runs(f->c, e->arg[b->nd - 1], f->lane, &run, &step)) return false;
    int64_t last = (n / run - 1) * step;
    expr first = x_subst1(f->c, e->arg[b->nd - 1], f->lane, x_int(f->c, 0));
    while (!in_parts(f, b, first, n, &at) || at + last >= n) /* half a vector is enough, too */
        if ((n /= 2) < f->width / 2 || n < 2) return false;
    for (int k = 0; k < b->nd - 1; k++)
        if (on_lane(f, e->arg[k])) return false;
    const char *helper = c_vload_runs(f->o, b->type, f->width, (struct runs){run, step, at, n});
    if (!helper) return false;
    expr off = x_subst1(f->c, buf_own_offset(f->c, b, e->arg), f->lane, x_int(f->c, 0));
    struct place pl = c_place_at(f, b, x_addi(f->c, off, -at));
    *out = piece_of(format(f->c, "%s(%s)", helper, c_address(f, &pl)), P_ATOM);
    return true;
}
struct piece c_print_load(struct fe *f, expr e) {
    const struct buf *b = e->u.buf;
    bool vec = on_lane(f, e);
    int element;
    struct reg_piece *q = e->has_fill ? NULL : c_piece(f, b, e->arg, &element);
    if (q) {
        const char *n = c_ref(f, q->sn);
        return piece_of(element >= 0 ? format(f->c, "%s[%d]", n, element) : n, P_ATOM);
    }
    expr fill = e->has_fill ? e->arg[e->n - 1] : NULL, cond = fill ? in_bounds(f, e) : x_bool(f->c, true);
    bool faults = false; /* if there is nothing to load */
    if (!fill) {
        cond = c_guards_exist(f, e->arg, e->n);
        faults = !x_is_true(cond);
        fill = x_num(f->c, (enum dtype)e->type, 0);
    }
    if (vec && (on_lane(f, cond) || on_lane(f, fill))) return c_lane_by_lane(f, e);
    struct piece none = {0};
    if (!x_is_true(cond)) none = c_value(f, fill, vec ? f->width : 1);
    if (faults)
        none = piece_of(
            format(f->c, "(%s(%s), %s)", c_index_helper(f->o, "fault"), c_ref(f, f->fault), paren(f, none, P_COND)),
            P_ATOM);
    if (x_is_false(cond)) return none;
    if (vec && x_is_true(cond) &&
        (looked_up(f, e, &none) || in_runs(f, e, &none) || by_turns(f, e, &none) || over_blocks(f, e, &none)))
        return none;
    struct place pl = c_place(f, b, e->arg);
    if (vec && (!pl.linear || pl.k < 1 || pl.k > LANES_APART)) return c_lane_by_lane(f, e);
    bool anew = f->tile && f->loop == f->tile && !x_uses_var(f->c, e, f->loop);
    const char *load = !vec       ? NULL
                       : pl.k > 1 ? c_vload_apart(f->o, b->type, f->width, (int)pl.k)
                                  : c_vload(f->o, b->type, f->width, anew);
    struct piece v =
        load ? piece_of(format(f->c, "%s(%s)", load, c_address(f, &pl)), P_ATOM) : decoded(f, b, c_cell(f, &pl));
    if (x_is_true(cond)) return v;
    return c_chosen(f, c_value(f, cond, 1), v, none);
}
struct piece c_storage(struct fe *f, const struct buf *b, struct piece v) {
    const char *enc = c_encode(f->o, b->type);
    if (enc) return c_applied(f, enc, v);
    if (dtype_bits(b->type) < 8 && b->type != STR) v = c_applied(f, c_round(f->o, b->type, 1), v);
    if ((b->type == dtype_value(b->type) && b->type != BOOL) || dtype_is_complex(b->type)) return v;
    return c_converted(f, dtype_c(b->type), v);
}
