/* How the entry prints expressions differently from c_expr.c: all indices are int64_t; sums and products that the
 * ranges of their sizes do not keep below 2^62 record overflow in the flag `over`; values wrap; cells in a GPU's memory
 * are fetched one by one. See entry_int.h. */
#include "codegen/entry_int.h"
#include "ir/base/checked.h"

static const char *checked(struct fe *f, const char *op, const char *a, const char *b) {
    f->entry->over = true;
    return format(f->c, "nn_%s64(%s, %s, &over)", op, a, b);
}
/* Is |e| < 2^62 for all values of its sizes? Then a product needs no overflow check. */
static bool fits(struct ctx *c, expr e) {
    int64_t lo, hi;
    x_bounds(c, e, &lo, &hi);
    return lo > -(INT64_C(1) << 62) && hi < INT64_C(1) << 62;
}
static int64_t magnitude(int64_t v) { return v == INT64_MIN ? INT64_MAX : v < 0 ? -v : v; }
/* The same for a sum, whatever the order of its terms. */
static bool sum_fits(struct ctx *c, const struct terms *t) {
    int64_t most = magnitude(t->konst);
    for (int k = 0; k < t->n; k++) {
        int64_t lo, hi;
        x_bounds(c, t->atom[k], &lo, &hi);
        if (lo == NEG_INF || hi == POS_INF || t->coef[k] == INT64_MIN) return false;
        int64_t far = magnitude(lo) > magnitude(hi) ? magnitude(lo) : magnitude(hi);
        most = sat_add(most, sat_mul(far, magnitude(t->coef[k])));
    }
    return most < INT64_C(1) << 62;
}
struct piece entry_sum(struct fe *f, expr e) {
    struct terms t = c_terms(f, e);
    if (f->entry->inside || sum_fits(f->c, &t)) return c_print_sum(f, e);
    const char *s = NULL;
    for (int k = 0; k < t.n; k++) {
        const char *a = c_index(f, t.atom[k]).s;
        if (t.coef[k] != 1) a = checked(f, "mul", c_integer(f, t.coef[k]).s, a);
        s = s ? checked(f, "add", s, a) : a;
    }
    return piece_of(t.konst ? checked(f, "add", s, c_integer(f, t.konst).s) : s, P_ATOM);
}
struct piece entry_product(struct fe *f, expr e) {
    if (f->entry->inside || fits(f->c, e)) return c_print_product(f, e);
    return piece_of(checked(f, "mul", c_index(f, e->arg[0]).s, c_index(f, e->arg[1]).s), P_ATOM);
}
struct piece entry_call(struct fe *f, enum xop op, enum dtype type, struct piece a, struct piece b) {
    static const char *const fn[] = {[X_DIV] = "div", [X_MOD] = "mod", [X_MIN] = "min", [X_MAX] = "max"};
    if (op == X_ADD || op == X_SUB)
        return piece_of(format(f->c, "(int64_t)((uint64_t)%s %s (uint64_t)%s)", paren(f, a, P_UNARY),
                               op == X_ADD ? "+" : "-", paren(f, b, P_UNARY)),
                        P_UNARY);
    if (op >= sizeof fn / sizeof *fn || !fn[op]) BUG("operation %s on %s in the entry", xop_name(op), dtype_name(type));
    return piece_of(format(f->c, "nn_%s64(%s, %s)", fn[op], a.s, b.s), P_ATOM);
}
struct piece entry_load(struct fe *f, expr e) {
    const struct buf *b = e->u.buf;
    expr off = buf_offset(f->c, b, e->arg);
    const char *base = run_place(f, b)->text;
    struct piece at = c_index(f, off);
    if (f->entry->p->device)
        return piece_of(format(f->c, "nn_cuda_value(&m->cuda, %s, sizeof *%s, %d)",
                               x_is(off, 0) ? base : format(f->c, "%s + %s", base, paren(f, at, P_ADD)), base,
                               dtype_is_signed(b->type)),
                        P_ATOM);
    return x_is(off, 0) ? piece_of(format(f->c, "*%s", base), P_UNARY)
                        : piece_of(format(f->c, "%s[%s]", base, at.s), P_ATOM);
}
const char *entry_size(struct fe *f, const struct sym *s) {
    map_put(&f->entry->named, PKEY(s), (void *)s);
    return program_sym(f->entry->p, s);
}
