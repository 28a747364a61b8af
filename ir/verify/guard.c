/* Turns what the verifier cannot prove into run-time checks: open sizes may be right for reasons that no proof finds.
 * Used where kernels are made and called, before scheduling; see docs/loop-ir.md, "What is not proved". */
#include "ir/verify/loop_int.h"

static bool is_unproved(const struct unproved_list *u, const struct buf *b, int dim, expr index) {
    for (int k = 0; k < u->v.n; k++)
        if (u->v.v[k].buf == b && u->v.v[k].dim == dim && u->v.v[k].index == index) return true;
    return false;
}
struct guards {
    struct ctx *c;
    const struct unproved_list *unproved;
};
static expr guarded(const struct guards *g, const struct buf *b, int dim, expr index, expr now) {
    return is_unproved(g->unproved, b, dim, index) ? x_guard(g->c, now, b->dims[dim]) : now;
}
static expr guard_load(void *env, expr e) {
    struct guards *g = env;
    expr a[40];
    if (e->op != X_LOAD) return NULL;
    for (int k = 0; k < e->n; k++) a[k] = x_map(g->c, e->arg[k], guard_load, g);
    for (int k = 0; k < e->n && !e->has_fill; k++) a[k] = guarded(g, e->u.buf, k, e->arg[k], a[k]);
    return x_load(g->c, e->u.buf, a, e->n - e->has_fill, e->has_fill ? a[e->n - 1] : NULL);
}
/* Before map_exprs rewrites the loads in these indices. */
static bool guard_store(void *env, struct stmt *s) {
    struct guards *g = env;
    for (int k = 0; s->kind == S_STORE && k < s->u.store.n; k++)
        s->u.store.idx[k] = guarded(g, s->u.store.buf, k, s->u.store.idx[k], s->u.store.idx[k]);
    return true;
}
static bool checked_before(const struct unproved_list *u, int n) {
    for (int k = 0; k < n; k++)
        if (u->v.v[k].at == u->v.v[n].at && u->v.v[k].cond == u->v.v[n].cond) return true;
    return false;
}
bool proc_guard(struct module *m, struct proc *p, const char *after,
                const char *(*origin_of)(void *env, const struct stmt *call), void *env) {
    struct ctx *c = m->ctx;
    struct unproved_list u = {0};
    if (!verify_proc(m, p, after, false, &u)) return false;
    if (!u.v.n) return true;
    struct guards g = {c, &u};
    for (int k = 0; k < u.v.n; k++) {
        if (!u.v.v[k].cond || checked_before(&u, k)) continue;
        struct stmt *s = s_new(c, S_CHECK);
        s->u.check.cond = u.v.v[k].cond;
        s->u.check.fault = internf(c->names, "sizes do not fit: %s", expr_text(c, p, u.v.v[k].at, u.v.v[k].cond));
        s->u.check.origin = origin_of ? origin_of(env, u.v.v[k].at) : NULL;
        stmt_insert_before(u.v.v[k].at, s);
    }
    walk(&p->body, guard_store, &g);
    map_exprs(c, &p->body, guard_load, &g);
    return proc_verify(m, p, after);
}
