/* The step specialize: makes a copy of a loop for sizes that satisfy a condition, such as 7<M, M<=2*H+1, 1<#y.m, joined
 * by &. */
#include "lower/schedule/steps_util.h"
#include <string.h>

static const struct sym *find_sym(struct step_run *s, const char *at, size_t n) {
    for (int k = 0; k < s->p->syms.n; k++)
        if (strlen(s->p->syms.v[k]->name) == n && !strncmp(s->p->syms.v[k]->name, at, n)) return s->p->syms.v[k];
    return NULL;
}
/* The extent of all loops with that name; it must be the same for all, and must not depend on other loops. */
static expr find_extent(struct step_run *s, const char *name) {
    struct stmts all = {0};
    expr e = NULL;
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++)
        if (is_named(all.v[k], name)) {
            if (e && all.v[k]->u.loop.var->extent != e) return NULL;
            e = all.v[k]->u.loop.var->extent;
        }
    for (int k = 0; e && k < all.n; k++)
        if (all.v[k]->kind == S_FOR && x_uses_var(s->c, e, all.v[k]->u.loop.var)) return NULL;
    return e;
}
static expr parse_factor(struct step_run *s, const char **at) {
    size_t n = strspn(*at, "0123456789");
    if (n && n < 18) {
        int64_t v = 0;
        for (; n--; ++*at) v = v * 10 + (**at - '0');
        return x_int(s->c, v);
    }
    bool of_loop = **at == '#';
    *at += of_loop;
    n = strcspn(*at, "+-*<>=!&");
    if (of_loop) {
        const char *name = arena_printf(&s->tmp, "%.*s", (int)n, *at);
        *at += n;
        return find_extent(s, name);
    }
    const struct sym *y = find_sym(s, *at, n);
    if (!y) return NULL;
    *at += n;
    return x_sym(s->c, y);
}
static expr parse_side(struct step_run *s, const char **at) {
    expr sum = x_int(s->c, 0);
    for (int sign = 1;; ++*at) {
        expr f = parse_factor(s, at);
        while (f && **at == '*') {
            ++*at;
            expr g = parse_factor(s, at);
            f = g ? x_mul(s->c, f, g) : NULL;
        }
        if (!f) return NULL;
        sum = x_add(s->c, sum, x_muli(s->c, f, sign));
        if (**at != '+' && **at != '-') return sum;
        sign = **at == '-' ? -1 : 1;
    }
}
static expr parse_cond(struct step_run *s, const char *at) {
    static const struct {
        const char *t;
        enum xop op;
        bool swap;
    } ops[] = {{"<=", X_LE, false}, {">=", X_LE, true}, {"==", X_EQ, false},
               {"!=", X_NE, false}, {"<", X_LT, false}, {">", X_LT, true}};
    expr all = x_bool(s->c, true);
    for (;; at++) {
        expr a = parse_side(s, &at), b;
        int k = 0;
        while (k < 6 && strncmp(at, ops[k].t, strlen(ops[k].t))) k++;
        if (!a || k == 6) return NULL;
        at += strlen(ops[k].t);
        if (!(b = parse_side(s, &at))) return NULL;
        all = x_and(s->c, all, ops[k].swap ? x_cmp(s->c, ops[k].op, b, a) : x_cmp(s->c, ops[k].op, a, b));
        if (!*at) return all;
        if (*at != '&') return NULL;
    }
}
/* Renames `loop` and those in it to PREFIX.LOOP, so that steps can tell the copy from the original. */
static void rename_loop(struct step_run *s, struct stmt *loop, const char *prefix) {
    const struct var *old = loop->u.loop.var,
                     *v = var_new(s->c, internf(s->c->names, "%s.%s", prefix, old->name), old->extent);
    subst_var(s, &loop->u.loop.body, old, x_var(s->c, v));
    loop->u.loop.var = v;
}
bool apply_specialize(struct step_run *s) {
    struct ctx *c = s->c;
    struct stmts l = {0};
    const char *text = s->step->u.specialize.cond;
    if (!find_loops(s, s->step->u.specialize.loop, &l)) return false;
    expr cond = parse_cond(s, text);
    if (!cond)
        return step_refuse(s,
                           "a condition compares numbers, sizes of the kernel and extents of loops, without spaces: "
                           "7<M, M<=2*H+1&1<#y.m",
                           "`%s` is no condition over the sizes of %s", text, s->p->name);
    if (cond->op == X_CONST)
        return step_refuse(s, "leave the step out", "`%s` is %s for all sizes", text,
                           x_is_true(cond) ? "true" : "false");
    for (int k = l.n - 1; k >= 0; k--) {
        struct stmt *t = l.v[k], *g = s_if(c, cond);
        struct stmts all = {0};
        stmt_insert_before(t, g);
        stmt_remove(t);
        block_append(&g->u.cond.then, t);
        struct block copy = clone_block(c, &g->u.cond.then);
        block_move(&g->u.cond.other, &copy);
        stmts_below(s, &g->u.cond.other, &all);
        for (int j = 0; j < all.n; j++)
            if (all.v[j]->kind == S_FOR) rename_loop(s, all.v[j], s->step->u.specialize.name);
    }
    return true;
}
