/* The steps fuse and join: two nested loops, or two adjacent ones, become one. */
#include "lower/schedule/steps_util.h"

/* ---- fuse */
bool apply_fuse(struct step_run *s) {
    struct ctx *c = s->c;
    struct stmts l = {0};
    const char *outer = s->step->u.fuse.outer, *inner = s->step->u.fuse.inner;
    if (!find_loops(s, outer, &l)) return false;
    for (int k = l.n - 1; k >= 0; k--) {
        struct stmt *a = l.v[k], *b = a->u.loop.body.first;
        if (!b || b->next || !is_named(b, inner))
            return step_refuse(s, "reorder first, so that the second loop is all that the first one holds",
                               "`%s` and `%s` are not perfectly nested", outer, inner);
        if (a->u.loop.kind != b->u.loop.kind || a->u.loop.kind == LK_VECTOR || a->u.loop.piped || b->u.loop.piped)
            return step_refuse(s, "fuse before kind",
                               "`%s` and `%s` are loops of different kinds, or vector or pipelined ones", outer, inner);
        expr eb = b->u.loop.var->extent;
        if (x_uses_var(c, eb, a->u.loop.var))
            return step_refuse(s, NULL, "the extent of `%s` depends on `%s`", inner, outer);
        const struct var *n = var_new(c, s->step->u.fuse.name, x_mul(c, a->u.loop.var->extent, eb));
        struct subst sub = {{.arena = &s->tmp}};
        map_put(&sub.map, PKEY(a->u.loop.var), (void *)x_div(c, x_var(c, n), eb));
        map_put(&sub.map, PKEY(b->u.loop.var), (void *)x_mod(c, x_var(c, n), eb));
        struct stmt *f = s_for(c, n, a->u.loop.kind);
        f->u.loop.outline = a->u.loop.outline;
        f->u.loop.independent = f->u.loop.assumed = a->u.loop.assumed && b->u.loop.assumed;
        block_move(&f->u.loop.body, &b->u.loop.body);
        stmt_insert_before(a, f);
        stmt_remove(a);
        subst_block(c, &f->u.loop.body, &sub);
    }
    return true;
}

/* ---- join */
/* After joining, iteration j < i of the second loop runs before iteration i of the first: these must not touch the same
 * cell. */
static bool join_legal(struct step_run *s, struct stmt *a, struct stmt *b) {
    const char *first = s->step->u.join.first, *second = s->step->u.join.second;
    struct accesses x = {0}, y = {0};
    struct vars moving = {0};
    struct stmt *bad = opaque_in(s, &a->u.loop.body);
    if (!bad) bad = opaque_in(s, &b->u.loop.body);
    if (bad) return step_refuse(s, NULL, "there is %s in the loops", stmt_what(bad));
    PUSH(&s->tmp, &moving, a->u.loop.var);
    vars_below(s, &a->u.loop.body, &moving);
    vars_below(s, &b->u.loop.body, &moving);
    accesses_of(s, &a->u.loop.body, &x);
    accesses_of(s, &b->u.loop.body, &y);
    for (int k = 0; k < x.n; k++)
        for (int j = 0; j < y.n; j++) {
            if (x.v[k].buf != y.v[j].buf || (!x.v[k].store && !y.v[j].store)) continue;
            if (block_allocs(&a->u.loop.body, x.v[k].buf) && block_allocs(&b->u.loop.body, x.v[k].buf)) continue;
            struct meet m = step_meet(s, x.v[k].idx, y.v[j].idx, x.v[k].n, &moving);
            if (m.never || has_var(&m.fixed, a->u.loop.var)) continue;
            if (!y.v[j].store)
                return step_refuse(s, NULL,
                                   "`%s` reads a value of `%s` that is not yet final in the same iteration of `%s`",
                                   second, x.v[k].buf->name, first);
            return step_refuse(s, NULL, "`%s` overwrites `%s` while later iterations of `%s` still %s it", second,
                               x.v[k].buf->name, first, x.v[k].store ? "store" : "read");
        }
    return true;
}
bool apply_join(struct step_run *s) {
    struct stmts l = {0}, other = {0};
    int done = 0;
    const char *first = s->step->u.join.first, *second = s->step->u.join.second;
    if (!find_loops(s, first, &l) || !find_loops(s, second, &other)) return false;
    for (int k = l.n - 1; k >= 0; k--) {
        struct stmt *a = l.v[k], *b = a->next;
        if (!b || !is_named(b, second)) continue;
        if (a->u.loop.var->extent != b->u.loop.var->extent)
            return step_refuse(s, NULL, "`%s` and `%s` have different extents", first, second);
        if (a->u.loop.kind != b->u.loop.kind || a->u.loop.piped || b->u.loop.piped)
            return step_refuse(s, "join before kind", "`%s` and `%s` are loops of different kinds", first, second);
        subst_var(s, &b->u.loop.body, b->u.loop.var, x_var(s->c, a->u.loop.var));
        if (!join_legal(s, a, b)) return false;
        block_move(&a->u.loop.body, &b->u.loop.body);
        stmt_remove(b);
        done++;
    }
    if (!done)
        return step_refuse(s, "the second loop must follow the first one directly, in the same block",
                           "`%s` and `%s` are nowhere adjacent", first, second);
    return true;
}
