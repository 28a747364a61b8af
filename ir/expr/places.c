/* What an index expression depends on, and how it moves along a variable: linearly, or in a form that vectors can
 * load. */
#include "ir/expr/buf.h"
#include "ir/expr/int.h"

/* ---- which leaves and buffers an expression names */
struct wanted {
    const void *one;
};
static bool not_var(void *env, expr e) { return e->op != X_VAR || e->u.var != ((struct wanted *)env)->one; }
bool x_uses_var(struct ctx *c, expr e, const struct var *v) {
    (void)c;
    struct wanted w = {v};
    return !x_visit_with(e, XF_VAR, not_var, &w);
}
static bool not_sym(void *env, expr e) {
    if (e->op == X_VAR) return x_visit_with(e->u.var->extent, XF_VAR | XF_SYM, not_sym, env);
    return e->op != X_SYM || e->u.sym != ((struct wanted *)env)->one;
}
bool x_uses_sym(expr e, const struct sym *s) {
    struct wanted w = {s};
    return !x_visit_with(e, XF_VAR | XF_SYM, not_sym, &w);
}
static bool not_among(void *env, expr e) {
    return e->op == X_VAR ? !map_get(env, PKEY(e->u.var)) : e->op == X_SYM ? !map_get(env, PKEY(e->u.sym)) : true;
}
bool x_uses_any(expr e, const struct map *leaves) {
    return !x_visit_with(e, XF_VAR | XF_SYM, not_among, (void *)(uintptr_t)leaves);
}
static bool not_from(void *env, expr e) { return e->op != X_LOAD || e->u.buf != ((struct wanted *)env)->one; }
bool x_loads_from(expr e, const struct buf *b) {
    struct wanted w = {b};
    return !x_visit_with(e, XF_LOAD, not_from, &w);
}

bool x_linear_in(struct ctx *c, expr e, const struct var *v, int64_t *coef, expr *rest) {
    int64_t k;
    const expr *t;
    const int64_t *co;
    int n = x_terms(c, e, &k, &t, &co);
    *coef = 0;
    for (int i = 0; i < n; i++) {
        if (t[i]->op == X_VAR && t[i]->u.var == v) *coef = co[i];
        else if (x_uses_var(c, t[i], v)) return false;
    }
    *rest = x_sub(c, e, x_muli(c, x_var(c, v), *coef));
    return true;
}
expr x_step_along(struct ctx *c, const struct var *v, expr *at) {
    expr e = *at, one = x_subst1(c, e, v, x_int(c, 1));
    *at = x_subst1(c, e, v, x_int(c, 0));
    expr step = x_sub(c, one, *at);
    return x_add(c, *at, x_mul(c, step, x_var(c, v))) == e ? step : NULL;
}
bool x_lane_places(struct ctx *c, expr place, const struct var *lane, int64_t *step, expr *rest) {
    int64_t lo, hi;
    if (!x_linear_in(c, place, lane, step, rest)) return false;
    x_bounds(c, *rest, &lo, &hi);
    if (lo <= INT32_MIN || hi > INT32_MAX || *step < INT16_MIN || *step > INT16_MAX) return false;
    x_bounds(c, place, &lo, &hi);
    return lo >= INT32_MIN && hi <= INT32_MAX;
}
expr x_looked_up(struct ctx *c, expr e, const struct var *v) {
    int64_t k;
    const expr *t;
    const int64_t *co;
    expr at = NULL;
    for (int i = x_terms(c, e, &k, &t, &co); i-- > 0;) {
        if (!x_uses_var(c, t[i], v)) continue;
        if (at || co[i] != 1 || t[i]->op != X_TOIDX || t[i]->arg[0]->type != I32) return NULL;
        at = t[i];
    }
    return at;
}
bool x_by_turns(struct ctx *c, expr e, const struct var *v, int64_t *apart) {
    enum { MOST = 64 };
    int64_t n, step;
    expr first = x_subst1(c, e, v, x_int(c, 0));
    if (!x_is_int(v->extent, &n) || n < 2 || n > MOST || n % 2) return false;
    for (int64_t k = 1; k < n; k++) {
        if (!x_is_int(x_sub(c, x_subst1(c, e, v, x_int(c, k)), first), &step)) return false;
        if (k == 1) *apart = step;
        if (step != k / 2 + k % 2 * *apart) return false;
    }
    return true;
}
bool x_over_blocks(struct ctx *c, expr e, const struct var *v, expr *at, expr *apart) {
    int64_t konst, n, k;
    const expr *atoms;
    const int64_t *coefs;
    expr inside = NULL, from;
    if (!x_is_int(v->extent, &n) || n < 2) return false;
    for (int i = x_terms(c, e, &konst, &atoms, &coefs); i-- > 0;)
        if (atoms[i]->op == X_MOD && coefs[i] == 1 && x_is(atoms[i]->arg[1], n) && x_uses_var(c, atoms[i], v))
            inside = atoms[i];
    if (!inside || !x_linear_in(c, inside->arg[0], v, &k, &from) || k != 1) return false;
    expr next = x_sub(c, x_subst1(c, e, v, x_int(c, n)), x_subst1(c, e, v, x_int(c, 0)));
    expr rest = x_sub(c, x_sub(c, e, inside), x_mul(c, next, x_divi(c, inside->arg[0], n)));
    *at = x_modi(c, from, n), *apart = x_addi(c, next, -n);
    return !x_uses_var(c, rest, v) && x_proves_le(c, x_int(c, 0), *apart);
}
bool x_in_runs(struct ctx *c, expr e, const struct var *v, int64_t *run, int64_t *step) {
    enum { MOST = 64 };
    int64_t n, by;
    expr first = x_subst1(c, e, v, x_int(c, 0));
    *run = 0;
    if (!x_is_int(v->extent, &n) || n < 4 || n > MOST) return false;
    for (int64_t k = 1; k < n; k++) {
        if (!x_is_int(x_sub(c, x_subst1(c, e, v, x_int(c, k)), first), &by)) return false;
        if (!*run && by) *run = k, *step = by;
        if (*run ? by != k / *run * *step : by) return false;
    }
    return *run > 1 && n % *run == 0 && *step >= 1 && *step <= *run;
}
bool x_lanes_found(struct ctx *c, expr e, const struct var *v) {
    int64_t run, step;
    expr at, apart;
    return x_looked_up(c, e, v) || x_by_turns(c, e, v, &step) || x_in_runs(c, e, v, &run, &step) ||
           x_over_blocks(c, e, v, &at, &apart);
}
