/* Index arithmetic and simple integer values of the entry procedure as C text. All arithmetic is in int64_t; sums and
 * products that the ranges of their symbols do not keep below 2^62 are computed with an overflow flag. See program.h.
 */
#include "codegen/program.h"
#include "ir/base/checked.h"
#include "ir/expr/precedence.h"
#include <stdlib.h>
#include <string.h>

#define A(...) arena_printf(&t->p->c->arena, __VA_ARGS__)

/* ---- printing */
static struct piece print(struct size_text *t, expr e);
static const char *operand(struct size_text *t, expr e, enum prec most) {
    return piece_text(&t->p->c->arena, print(t, e), most);
}
static struct piece number(struct size_text *t, int64_t v) {
    if (v == INT64_MIN) return (struct piece){"INT64_MIN", P_ATOM};
    const char *s = llabs(v) > INT32_MAX ? A("INT64_C(%lld)", (long long)v) : A("%lld", (long long)v);
    return (struct piece){s, v < 0 ? P_UNARY : P_ATOM};
}
/* Is |e| < 2^62 for all values of its symbols? Then a sum or product needs no check. */
static bool fits(struct ctx *c, expr e) {
    int64_t lo, hi;
    x_bounds(c, e, &lo, &hi);
    return lo > -(INT64_C(1) << 62) && hi < INT64_C(1) << 62;
}
static bool linear_fits(struct ctx *c, int64_t konst, const expr *atoms, const int64_t *coefs, int n) {
    int64_t most = konst == INT64_MIN ? INT64_MAX : llabs(konst);
    for (int k = 0; k < n; k++) {
        int64_t lo, hi;
        x_bounds(c, atoms[k], &lo, &hi);
        if (lo == NEG_INF || hi == POS_INF || coefs[k] == INT64_MIN) return false;
        int64_t far = llabs(lo) > llabs(hi) ? llabs(lo) : llabs(hi);
        most = sat_add(most, sat_mul(far, llabs(coefs[k])));
    }
    return most < INT64_C(1) << 62;
}
static struct piece linear(struct size_text *t, expr e) {
    struct ctx *c = t->p->c;
    int64_t konst;
    const expr *atoms;
    const int64_t *coefs;
    int n = x_terms(c, e, &konst, &atoms, &coefs);
    const char *s = NULL;
    if (!linear_fits(c, konst, atoms, coefs, n)) {
        t->used_over = true;
        for (int k = 0; k < n; k++) {
            const char *a = operand(t, atoms[k], P_COND);
            if (coefs[k] != 1) a = A("nn_mul64(%s, %s, &over)", number(t, coefs[k]).s, a);
            s = s ? A("nn_add64(%s, %s, &over)", s, a) : a;
        }
        if (konst) s = A("nn_add64(%s, %s, &over)", s, number(t, konst).s);
        return (struct piece){s, P_ATOM};
    }
    int terms = 0;
    for (int pass = 0; pass < 2; pass++) /* what is added first, then what is taken away */
        for (int k = 0; k < n; k++) {
            if ((coefs[k] < 0) != (pass == 1)) continue;
            int64_t f = llabs(coefs[k]);
            const char *a = f == 1 ? operand(t, atoms[k], terms || pass ? P_MUL : P_ADD)
                                   : A("%s * %s", operand(t, atoms[k], P_MUL), number(t, f).s);
            s = s      ? A("%s %c %s", s, pass ? '-' : '+', a)
                : pass ? A("-%s", f == 1 ? operand(t, atoms[k], P_UNARY) : A("(%s)", a))
                       : a;
            terms++;
        }
    if (konst || !s) {
        s = !s ? number(t, konst).s : A("%s %c %s", s, konst < 0 ? '-' : '+', number(t, konst < 0 ? -konst : konst).s);
        terms += s != NULL;
    }
    return (struct piece){s, terms > 1 ? P_ADD : P_MUL};
}
static struct piece divide(struct size_text *t, expr e) {
    struct ctx *c = t->p->c;
    int64_t lo, hi, dlo, dhi;
    x_bounds(c, e->arg[0], &lo, &hi);
    x_bounds(c, e->arg[1], &dlo, &dhi);
    if (lo >= 0 && dlo > 0)
        return (struct piece){
            A("%s %c %s", operand(t, e->arg[0], P_MUL), e->op == X_DIV ? '/' : '%', operand(t, e->arg[1], P_UNARY)),
            P_MUL};
    return (struct piece){A("nn_%s64(%s, %s)", e->op == X_DIV ? "div" : "mod", operand(t, e->arg[0], P_COND),
                            operand(t, e->arg[1], P_COND)),
                          P_ATOM};
}
static struct piece load(struct size_text *t, expr e) {
    if (!t->buf) BUG("a load in a size that is computed before the run");
    expr off = buf_offset(t->p->c, e->u.buf, e->arg);
    const char *b = t->buf(t->env, e->u.buf);
    if (t->p->device) {
        const char *at = x_is(off, 0) ? b : A("%s + %s", b, operand(t, off, P_ADD));
        return (struct piece){A("nn_cuda_value(&m->cuda, %s, sizeof *%s, %d)", at, b, dtype_is_signed(e->u.buf->type)),
                              P_ATOM};
    }
    return (struct piece){x_is(off, 0) ? A("*%s", b) : A("%s[%s]", b, operand(t, off, P_COND)),
                          x_is(off, 0) ? P_UNARY : P_ATOM};
}
static struct piece print(struct size_text *t, expr e) {
    struct ctx *c = t->p->c;
    static const char *const rel[] = {[X_LT] = "<", [X_LE] = "<=", [X_EQ] = "==", [X_NE] = "!="};
    switch ((enum xop)e->op) {
    case X_CONST: return number(t, e->u.i);
    case X_SYM:
        if (t->syms) map_put(t->syms, PKEY(e->u.sym), (void *)e);
        return (struct piece){program_sym(t->p, e->u.sym), P_ATOM};
    case X_VAR: return (struct piece){t->var(t->env, e->u.var), P_ATOM};
    case X_LIN: return linear(t, e);
    case X_PROD:
        if (fits(c, e))
            return (struct piece){A("%s * %s", operand(t, e->arg[0], P_MUL), operand(t, e->arg[1], P_UNARY)), P_MUL};
        t->used_over = true;
        return (struct piece){
            A("nn_mul64(%s, %s, &over)", operand(t, e->arg[0], P_COND), operand(t, e->arg[1], P_COND)), P_ATOM};
    case X_TOIDX:
    case X_IDXVAL: return print(t, e->arg[0]);
    case X_LOAD: return load(t, e);
    case X_DIV:
    case X_MOD: return divide(t, e);
    case X_ADD:
    case X_SUB: /* values wrap */
        if (e->type == IDX) return linear(t, e);
        return (struct piece){A("(int64_t)((uint64_t)%s %s (uint64_t)%s)", operand(t, e->arg[0], P_UNARY),
                                e->op == X_ADD ? "+" : "-", operand(t, e->arg[1], P_UNARY)),
                              P_UNARY};
    case X_MIN:
    case X_MAX:
        return (struct piece){A("nn_%s64(%s, %s)", e->op == X_MIN ? "min" : "max", operand(t, e->arg[0], P_COND),
                                operand(t, e->arg[1], P_COND)),
                              P_ATOM};
    case X_LT:
    case X_LE:
        return (struct piece){A("%s %s %s", operand(t, e->arg[0], P_ADD), rel[e->op], operand(t, e->arg[1], P_ADD)),
                              P_REL};
    case X_EQ:
    case X_NE:
        return (struct piece){A("%s %s %s", operand(t, e->arg[0], P_ADD), rel[e->op], operand(t, e->arg[1], P_ADD)),
                              P_EQ};
    case X_AND: return (struct piece){A("%s && %s", operand(t, e->arg[0], P_EQ), operand(t, e->arg[1], P_EQ)), P_AND};
    case X_OR: return (struct piece){A("%s || %s", operand(t, e->arg[0], P_EQ), operand(t, e->arg[1], P_EQ)), P_OR};
    case X_NOT: return (struct piece){A("!%s", operand(t, e->arg[0], P_UNARY)), P_UNARY};
    case X_SELECT:
        return (struct piece){
            A("%s ? %s : %s", operand(t, e->arg[0], P_OR), operand(t, e->arg[1], P_OR), operand(t, e->arg[2], P_OR)),
            P_COND};
    case X_CAST:
        if (e->type == BOOL && e->arg[0]->type != BOOL)
            return (struct piece){A("%s != 0", operand(t, e->arg[0], P_ADD)), P_EQ};
        return (struct piece){A("(%s)%s", dtype_c(e->type), operand(t, e->arg[0], P_UNARY)), P_UNARY};
    default: BUG("operation %s in the entry", xop_name(e->op));
    }
}
const char *entry_text(struct size_text *t, expr e, bool wrap) { return operand(t, e, wrap ? P_UNARY : P_COND); }
