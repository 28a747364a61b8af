/* Indices as C, and places in memory: a pointer in scope and the rest of the index. Beside c_expr.c, which decides
 * which of them get names. */
#include "codegen/c_int.h"

struct piece c_integer(struct fe *f, int64_t v) {
    if (v == INT64_MIN) return piece_of("INT64_MIN", P_ATOM);
    if (v < INT32_MIN || v > INT32_MAX) return piece_of(format(f->c, "INT64_C(%lld)", (long long)v), P_ATOM);
    return piece_of(format(f->c, "%lld", (long long)v), v < 0 ? P_UNARY : P_ATOM);
}
static struct piece index_number(struct fe *f, int64_t v) {
    return f->d->wide ? c_integer(f, v) : piece_of(format(f->c, "%lld", (long long)v), v < 0 ? P_UNARY : P_ATOM);
}
static struct piece sum_text(struct fe *f, const struct terms *q) {
    const char *s = "";
    enum prec p = P_ATOM;
    int terms = 0;
    for (int sign = 1; sign >= -1; sign -= 2) { /* positive terms first: no leading minus */
        for (int i = 0; i < q->n; i++) {
            if ((q->coef[i] > 0) != (sign > 0)) continue;
            int64_t k = q->coef[i] * sign;
            struct piece a = c_index(f, q->atom[i]);
            const char *t = k == 1 ? paren(f, a, sign > 0 && !terms ? P_ADD : P_MUL)
                                   : format(f->c, "%s * %s", paren(f, a, P_MUL), index_number(f, k).s);
            enum prec tp = k == 1 ? a.p : P_MUL;
            if (!terms)
                s = sign > 0 ? t : format(f->c, "-%s", k == 1 ? paren(f, a, P_UNARY) : t), p = sign > 0 ? tp
                                                                                               : k == 1 ? P_UNARY
                                                                                                        : P_MUL;
            else s = format(f->c, "%s %s %s", s, sign > 0 ? "+" : "-", t), p = P_ADD;
            terms++;
        }
        if (q->konst > 0 && (f->d->orders ? sign > 0 : sign < 0)) {
            struct piece k = index_number(f, q->konst);
            s = terms ? format(f->c, "%s + %s", s, k.s) : k.s;
            p = terms++ ? P_ADD : k.p;
        }
    }
    if (!terms) return index_number(f, q->konst);
    return q->konst < 0 ? piece_of(format(f->c, "%s - %s", s, index_number(f, -q->konst).s), P_ADD) : piece_of(s, p);
}
struct piece c_sum(struct fe *f, int64_t konst, const expr *atoms, const int64_t *coefs, int n) {
    struct terms t = c_sorted(f, konst, atoms, coefs, n);
    return sum_text(f, &t);
}
struct piece c_print_sum(struct fe *f, expr e) {
    struct terms t = c_terms(f, e);
    return sum_text(f, &t);
}
struct piece c_print_product(struct fe *f, expr e) {
    expr *v;
    int n = c_factors(f, e, &v);
    const char *s = paren(f, c_index(f, v[0]), P_MUL);
    for (int k = 1; k < n; k++) s = format(f->c, "%s * %s", s, paren(f, c_index(f, v[k]), P_UNARY));
    return piece_of(s, P_MUL);
}
static struct piece min_max_text(struct fe *f, expr e) {
    bool turned = c_before(f, e->arg[0], e->arg[1]) > 0;
    struct piece a = c_index(f, e->arg[turned]), b = c_index(f, e->arg[!turned]);
    return f->d->call(f, (enum xop)e->op, IDX, a, b);
}
static bool nonnegative(struct fe *f, expr e) {
    int64_t lo, hi;
    x_bounds(f->c, e, &lo, &hi);
    return lo >= 0;
}
static struct piece division(struct fe *f, expr e) {
    int64_t lo, hi;
    x_bounds(f->c, e->arg[1], &lo, &hi);
    struct piece a = c_index(f, e->arg[0]), b = c_index(f, e->arg[1]);
    if (lo > 0 && (nonnegative(f, e->arg[0]) || x_proves_le(f->c, x_int(f->c, 0), e->arg[0])))
        return piece_of(format(f->c, "%s %c %s", paren(f, a, P_MUL), e->op == X_DIV ? '/' : '%', paren(f, b, P_UNARY)),
                        P_MUL);
    return f->d->call(f, (enum xop)e->op, IDX, a, b);
}
struct piece c_call(struct fe *f, enum xop op, enum dtype type, struct piece a, struct piece b) {
    static const char *const helpers[] = {[X_DIV] = "floordiv", [X_MOD] = "floormod", [X_MIN] = "min", [X_MAX] = "max"};
    const char *fn = type == IDX ? c_index_helper(f->o, helpers[op]) : c_op(f->o, op, type, 1);
    return piece_of(format(f->c, "%s(%s, %s)", fn, a.s, b.s), P_ATOM);
}
const char *c_size_name(struct fe *f, const struct sym *s) {
    struct sym_name *n = map_get(&f->syms, PKEY(s));
    if (!n) BUG("size %s is not known to %s", s->name, f->p->name);
    return c_ref(f, n);
}
struct piece c_print_index(struct fe *f, expr e) {
    switch (e->op) {
    case X_CONST: return index_number(f, e->u.i);
    case X_VAR: {
        struct sym_name *n = map_get(&f->vars, PKEY(e->u.var));
        if (!n) BUG("loop variable %s_%d is used outside of its loop", e->u.var->name, e->u.var->id);
        return piece_of(c_ref(f, n), P_ATOM);
    }
    case X_SYM: return piece_of(f->d->size(f, e->u.sym), P_ATOM);
    case X_LIN: return f->d->sum(f, e);
    case X_PROD: return f->d->product(f, e);
    case X_DIV:
    case X_MOD: return division(f, e);
    case X_MIN:
    case X_MAX: return min_max_text(f, e);
    case X_TOIDX: {
        struct piece v = c_value(f, e->arg[0], 1);
        return f->d->wide ? v : piece_of(format(f->c, "(%s)%s", f->idx, paren(f, v, P_UNARY)), P_UNARY);
    }
    case X_GUARD: {
        expr v = e->arg[0]; /* the value is compared before it is converted to an index */
        struct piece a = v->op == X_TOIDX && v->arg[0]->type != U64 ? c_value(f, v->arg[0], 1) : c_index(f, v);
        return piece_of(format(f->c, "%s(%s, %s, %s)", c_index_helper(f->o, "guard"), a.s, c_index(f, e->arg[1]).s,
                               c_ref(f, f->fault)),
                        P_ATOM);
    }
    default: BUG("index expression of kind %s", xop_name((enum xop)e->op));
    }
}

/* ---- places in memory */
void c_add_ptr(struct fe *f, const struct buf *b, struct sym_name *sn, int n, expr *atoms, int64_t *coefs) {
    struct ptr *q = NEW(&f->c->arena, struct ptr);
    *q = (struct ptr){b, n, atoms, coefs, sn};
    PUSH(&f->c->arena, &f->ptrs, q);
}

/* The pointer in scope that covers most of these terms; NULL if the buffer has none. Removes the covered terms from the
 * list. */
struct ptr *c_cover(struct fe *f, const struct buf *b, expr *atoms, int64_t *coefs, int *n) {
    struct ptr *best = NULL;
    for (int i = 0; i < f->ptrs.n; i++) {
        struct ptr *q = f->ptrs.v[i];
        if (q->buf != b || (best && q->n < best->n)) continue;
        int hit = 0;
        for (int k = 0; k < q->n; k++)
            for (int j = 0; j < *n; j++) hit += atoms[j] == q->atoms[k] && coefs[j] == q->coefs[k];
        if (hit == q->n) best = q;
    }
    int left = 0;
    for (int j = 0; best && j < *n; j++) {
        bool covered = false;
        for (int k = 0; k < best->n; k++) covered = covered || atoms[j] == best->atoms[k];
        if (!covered) atoms[left] = atoms[j], coefs[left++] = coefs[j];
    }
    if (best) *n = left;
    return best;
}
struct place c_place(struct fe *f, const struct buf *b, const expr *idx) {
    return c_place_at(f, b, buf_own_offset(f->c, b, idx));
}
struct place c_place_at(struct fe *f, const struct buf *b, expr off) {
    int64_t konst;
    const expr *atoms;
    const int64_t *coefs;
    int n = x_terms(f->c, off, &konst, &atoms, &coefs), left = 0;
    struct place pl = {.linear = true};
    expr *rest = NEWN(&f->c->arena, expr, n + 1);
    int64_t *rc = NEWN(&f->c->arena, int64_t, n + 1);
    for (int i = 0; i < n; i++) {
        if (f->lane && atoms[i]->op == X_VAR && atoms[i]->u.var == f->lane) {
            pl.k = coefs[i];
            continue;
        }
        if (on_lane(f, atoms[i])) pl.linear = false;
        rest[left] = atoms[i], rc[left++] = coefs[i];
    }
    if (!pl.linear) return pl;
    struct ptr *best = c_cover(f, b, rest, rc, &left);
    if (!best) BUG("buffer %s is not in scope in %s", b->name, f->p->name);
    pl.base = c_ref(f, best->sn);
    pl.zero = left == 0 && konst == 0;
    pl.rest = c_sum(f, konst, rest, rc, left);
    return pl;
}
const char *c_cell(struct fe *f, const struct place *p) { return format(f->c, "%s[%s]", p->base, p->rest.s); }
const char *c_address(struct fe *f, const struct place *p) {
    if (p->zero) return p->base;
    return p->rest.s[0] == '-' ? format(f->c, "%s - %s", p->base, p->rest.s + 1)
                               : format(f->c, "%s + %s", p->base, p->rest.s);
}
struct reg_piece *c_piece(struct fe *f, const struct buf *b, const expr *idx, int *element) {
    return c_piece_at(f, b, buf_own_offset(f->c, b, idx), element);
}
struct reg_piece *c_piece_at(struct fe *f, const struct buf *b, expr off, int *element) {
    struct regs *r = c_regs(f, b);
    if (!r) return NULL;
    int64_t k = 0, at;
    bool ok = !f->lane || x_linear_in(f->c, off, f->lane, &k, &off);
    ASSERT(ok && x_is_int(off, &at) && at >= 0 && at < r->ncells && r->of_cell[at] >= 0);
    struct reg_piece *q = &r->pieces.v[r->of_cell[at]];
    *element = k == 0 && q->lanes > 1 ? (int)(at - q->cell) : -1;
    return q;
}
