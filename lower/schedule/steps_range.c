/* Ranges of an index: symbolic ends over inner loops, for the boxes of compute_at and the rings of layouts; and what
 * the surrounding `if`s imply. */
#include "lower/schedule/steps_util.h"

static bool opaque_node(void *env, expr e) {
    (void)env;
    return e->op != X_LOAD && e->op != X_TOIDX && e->op != X_GUARD && e->op != X_CALL;
}
static bool const_ends(struct ctx *c, expr e, expr *lo, expr *hi) {
    int64_t l, h;
    x_bounds(c, e, &l, &h);
    if (l == NEG_INF || h == POS_INF) return false;
    *lo = x_int(c, l);
    *hi = x_int(c, h);
    return true;
}
static bool range_div(struct step_run *s, expr e, const struct vars *inner, expr *lo, expr *hi) {
    struct ctx *c = s->c;
    expr l, h;
    int64_t by, a, b;
    if (!x_is_int(e->arg[1], &by) || by <= 0 || !range_over(s, e->arg[0], inner, &l, &h))
        return const_ends(c, e, lo, hi);
    if (e->op == X_DIV) {
        *lo = x_div(c, l, e->arg[1]);
        *hi = x_div(c, h, e->arg[1]);
        return true;
    }
    bool consts = x_is_int(l, &a) && x_is_int(h, &b);
    bool whole = consts && floordiv64(a, by) == floordiv64(b, by);
    *lo = x_int(c, whole ? floormod64(a, by) : 0);
    *hi = x_int(c, whole ? floormod64(b, by) : by - 1);
    return true;
}
bool range_over(struct step_run *s, expr e, const struct vars *inner, expr *lo, expr *hi) {
    struct ctx *c = s->c;
    expr l, h, l2, h2;
    int64_t k0, a, b;
    const expr *t;
    const int64_t *co;
    *lo = *hi = e;
    if (!uses_any(e, inner)) return x_visit(e, opaque_node, NULL) || const_ends(c, e, lo, hi);
    switch (e->op) {
    case X_VAR:
        if (!range_over(s, e->u.var->extent, inner, &l, &h)) return false;
        *lo = x_int(c, 0);
        *hi = x_addi(c, h, -1);
        return true;
    case X_LIN:
        *lo = *hi = x_int(c, e->u.i);
        for (int n = x_terms(c, e, &k0, &t, &co), k = 0; k < n; k++) {
            if (!range_over(s, t[k], inner, &l, &h)) return false;
            *lo = x_add(c, *lo, x_muli(c, co[k] > 0 ? l : h, co[k]));
            *hi = x_add(c, *hi, x_muli(c, co[k] > 0 ? h : l, co[k]));
        }
        return true;
    case X_DIV:
    case X_MOD: return range_div(s, e, inner, lo, hi);
    case X_MIN:
    case X_MAX:
        if (!range_over(s, e->arg[0], inner, &l, &h) || !range_over(s, e->arg[1], inner, &l2, &h2)) return false;
        *lo = x_bin(c, e->op, l, l2);
        *hi = x_bin(c, e->op, h, h2);
        return true;
    case X_PROD:
        if (!range_over(s, e->arg[0], inner, &l, &h) || !range_over(s, e->arg[1], inner, &l2, &h2)) return false;
        x_bounds(c, l, &a, &b);
        if (a < 0) return const_ends(c, e, lo, hi);
        x_bounds(c, l2, &a, &b);
        if (a < 0) return const_ends(c, e, lo, hi);
        *lo = x_mul(c, l, l2);
        *hi = x_mul(c, h, h2);
        return true;
    case X_GUARD: /* 0 to the size that guards, even if the operand's range is unknown */
        if (e->arg[1]->op == X_CONST || uses_any(e->arg[1], inner)) return const_ends(c, e, lo, hi);
        *lo = x_int(c, 0);
        *hi = x_addi(c, e->arg[1], -1);
        return true;
    default: return const_ends(c, e, lo, hi);
    }
}

/* ---- facts from enclosing ifs */
static bool implied(struct step_run *s, expr cond, bool truth, expr e) {
    struct ctx *c = s->c;
    if (cond->op == X_NOT) return implied(s, cond->arg[0], !truth, e);
    if (cond->op == (truth ? X_AND : X_OR))
        return implied(s, cond->arg[0], truth, e) || implied(s, cond->arg[1], truth, e);
    if ((cond->op != X_LT && cond->op != X_LE) || cond->arg[0]->type != IDX) return false;
    expr d = truth ? x_sub(c, cond->arg[1], cond->arg[0]) : x_sub(c, cond->arg[0], cond->arg[1]);
    if ((cond->op == X_LT) == truth) d = x_addi(c, d, -1); /* now d >= 0 holds */
    return x_proves_le(c, d, e);
}
bool holds_nonneg(struct step_run *s, const struct stmt *t, expr e) {
    if (x_proves_le(s->c, x_int(s->c, 0), e)) return true;
    for (const struct stmt *up = stmt_parent(t), *from = t; up; from = up, up = stmt_parent(up))
        if (up->kind == S_IF && implied(s, up->u.cond.cond, from->in == &up->u.cond.then, e)) return true;
    return false;
}
