/* The step inline: replaces the loads of a stage by its value. */
#include "lower/schedule/steps_util.h"

struct inlining {
    struct step_run *s;
    struct pristine p;
};
static expr inlined_load(void *env, struct buf *b, expr *idx, int n, expr fill) {
    struct inlining *q = env;
    struct ctx *c = q->s->c;
    struct stmt *st = q->p.store[0];
    struct subst sub = {{.arena = &q->s->tmp}};
    expr inside = x_bool(c, true);
    for (int d = 0; d < n; d++) {
        if (st->u.store.idx[d]->op == X_VAR) map_put(&sub.map, PKEY(st->u.store.idx[d]->u.var), (void *)idx[d]);
        if (fill)
            inside =
                x_and(c, inside, x_and(c, x_cmp(c, X_LE, x_int(c, 0), idx[d]), x_cmp(c, X_LT, idx[d], b->dims[d])));
    }
    expr v = x_subst(c, st->u.store.value, &sub);
    if (b->type != dtype_value(b->type) && b->type != BOOL)
        v = x_round(c, b->type, v); /* because the store would have
                                     * rounded */
    return fill ? x_select(c, inside, v, fill) : v;
}
bool apply_inline(struct step_run *s) {
    struct inlining q = {.s = s};
    if (!find_pristine(s, s->step->u.of.buf, &q.p)) return false;
    struct buf *b = q.p.buf;
    if (b->scope == SC_PARAM)
        return step_refuse(s, NULL, "`%s` is a parameter: all of it must be there in the end", b->name);
    if (q.p.n != 1)
        return step_refuse(s, "compute_at it instead", "`%s` is a reduction: its value is no single expression",
                           b->name);
    if (q.p.chain[0].n != b->nd)
        return step_refuse(s, NULL, "the stage of `%s` has loops that are no index of it", b->name);
    if (!only_loads(s, b)) return false;
    struct stmt *last = NULL;
    for (struct stmt *t = q.p.nest[0]->next; t; t = t->next)
        if (loads_buf(s, t, b)) last = t;
    if (!last) return step_refuse(s, NULL, "nothing reads `%s`", b->name);
    if (!inputs_stable(s, &q.p, last)) return false;
    stmt_remove(q.p.nest[0]);
    map_loads(s, &s->p->body, b, inlined_load, &q);
    drop_buf(s, b);
    return true;
}
