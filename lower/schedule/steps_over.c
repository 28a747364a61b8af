/* The step over: a result takes over the storage of an operand that nothing reads afterwards (lower/reuse.c). */
#include "lower/schedule/steps_util.h"

static void loops_above(struct step_run *s, const struct stmt *t, struct stmts *out) { /* innermost first */
    for (struct stmt *up = stmt_parent(t); up; up = stmt_parent(up))
        if (up->kind == S_FOR) PUSH(&s->tmp, out, up);
}
static bool holds(const struct stmts *l, const struct stmt *t) {
    for (int k = 0; k < l->n; k++)
        if (l->v[k] == t) return true;
    return false;
}
/* Of two statements, neither inside of the other: does a run first within an iteration of their common loops? */
static bool runs_before(const struct stmt *a, const struct stmt *b) {
    for (const struct stmt *up = a; up; up = stmt_parent(up))
        for (const struct stmt *t = b; t; t = stmt_parent(t)) {
            if (t->in != up->in) continue;
            for (const struct stmt *n = up->next; n; n = n->next)
                if (n == t) return true;
            return false;
        }
    return false;
}
/* Accesses a and b never touch one cell, or only within one iteration of the common loops, where `first` says that the
 * order is right. */
static bool in_order(struct step_run *s, const expr *a, const expr *b, int n, const struct vars *moving,
                     const struct vars *common, bool first) {
    struct meet m = step_meet(s, a, b, n, moving);
    for (int k = 0; k < common->n && !m.never; k++)
        if (!has_var(&m.fixed, common->v[k])) return false;
    return m.never || first;
}
/* Each cell is read before it is overwritten: a load and a store that may touch the same cell do so in one iteration of
 * their common loops, and there the load comes first. */
static bool load_comes_first(struct step_run *s, const struct access *load, const struct access *store) {
    struct stmts of_load = {0}, of_store = {0};
    struct vars moving = {0}, common = {0};
    bool own = load->s == store->s; /* a statement computes its value before it stores */
    loops_above(s, load->s, &of_load);
    loops_above(s, store->s, &of_store);
    for (int k = 0; k < of_store.n; k++) {
        PUSH(&s->tmp, &moving, of_store.v[k]->u.loop.var);
        if (holds(&of_load, of_store.v[k])) PUSH(&s->tmp, &common, of_store.v[k]->u.loop.var);
    }
    for (int k = 0; k < of_load.n; k++)
        if (!holds(&of_store, of_load.v[k])) PUSH(&s->tmp, &moving, of_load.v[k]->u.loop.var);
    bool first = own || runs_before(load->s, store->s);
    if (in_order(s, store->idx, load->idx, store->n, &moving, &common, first)) return true;
    if (load->load->has_fill) return false;
    /* compare offsets: fused axes are comparable only there, and both buffers have the same geometry */
    expr to = buf_offset(s->c, store->buf, store->idx), from = buf_offset(s->c, load->buf, load->idx);
    return in_order(s, &to, &from, 1, &moving, &common, first);
}
static bool same_geometry(struct step_run *s, const struct buf *a, const struct buf *b) {
    struct ctx *c = s->c;
    if (a->type != b->type || a->nd != b->nd || a->nlogical != b->nlogical) return false;
    expr *v = NEWN(&s->tmp, expr, a->nd + 1);
    struct subst by = {.map = {.arena = &s->tmp}};
    for (int k = 0; k < a->nlogical; k++) {
        if (a->logical[k] != b->logical[k]) return false;
        map_put(&by.map, PKEY(a->lvar[k]), (void *)x_var(c, b->lvar[k]));
    }
    for (int k = 0; k < a->nd; k++) {
        v[k] = x_subst(c, a->map[k], &by);
        if (a->dims[k] != b->dims[k] || v[k] != b->map[k]) return false;
        if ((a->pad ? a->pad[k] : 0) != (b->pad ? b->pad[k] : 0)) return false;
    }
    return true;
}
bool result_and_operand(struct step_run *s, struct buf **y, struct buf **x) {
    if (!(*y = find_buf(s, s->step->u.over.result)) || !(*x = find_buf(s, s->step->u.over.operand))) return false;
    int py = proc_param_at(s->p, *y), px = proc_param_at(s->p, *x);
    if (py < 0 || px < 0 || s->p->params.v[py].dir != DIR_OUT || s->p->params.v[px].dir != DIR_IN)
        return step_refuse(s, NULL, "`%s` is no result, or `%s` no operand", (*y)->name, (*x)->name);
    return only_accessed(s, *y) && only_accessed(s, *x);
}
bool apply_over(struct step_run *s) {
    struct accesses a = {0};
    struct buf *y, *x;
    if (!result_and_operand(s, &y, &x)) return false;
    if (!same_geometry(s, y, x))
        return step_refuse(s, NULL, "`%s` and `%s` differ in type or layout", y->name, x->name);
    accesses_of(s, &s->p->body, &a);
    for (int i = 0; i < a.n; i++)
        for (int j = 0; j < a.n && a.v[i].buf == y; j++) {
            if (!a.v[i].store) return step_refuse(s, NULL, "the kernel reads its result `%s` itself", y->name);
            if (a.v[j].buf == x && !load_comes_first(s, &a.v[j], &a.v[i]))
                return step_refuse(s, NULL, "a cell of `%s` may be read after `%s` has overwritten it", x->name,
                                   y->name);
        }
    struct redirect r = {s->c, y};
    map_loads(s, &s->p->body, x, redirected_load, &r);
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_PREFETCH && all.v[k]->u.prefetch.buf == x) all.v[k]->u.prefetch.buf = y;
    s->p->params.v[proc_param_at(s->p, y)].dir = DIR_INOUT;
    proc_drop_param(s->p, proc_param_at(s->p, x));
    return true;
}
