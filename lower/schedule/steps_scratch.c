/* The step scratch: the caller provides the memory that a kernel needs besides its operands and results. */
#include "lower/schedule/steps_util.h"

static struct stmt *alloc_of(struct step_run *s, const struct buf *b) {
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_ALLOC && all.v[k]->u.alloc.buf == b) return all.v[k];
    return NULL;
}
/* Keeps parameters first among the buffers. */
static void params_first(struct step_run *s) {
    struct proc *p = s->p;
    int n = 0;
    struct buf **v = NEWN(&s->c->arena, struct buf *, p->bufs.n + 1);
    for (int i = 0; i < p->params.n; i++) v[n++] = p->params.v[i].buf;
    for (int i = 0; i < p->bufs.n; i++)
        if (p->bufs.v[i]->scope != SC_PARAM) v[n++] = p->bufs.v[i];
    p->bufs.v = v, p->bufs.n = p->bufs.cap = n;
}
bool apply_scratch(struct step_run *s) {
    struct buf **v;
    int n, params = s->p->params.n;
    const char *base = s->step->u.of.buf;
    if (!find_buf(s, base)) return false;
    bufs_named(s, base, &v, &n);
    for (int k = 0; k < n; k++) {
        struct stmt *alloc = alloc_of(s, v[k]);
        if (v[k]->scope != SC_ARENA || v[k]->fill || !alloc)
            continue; /* a buffer with a fill is filled where it is
                       * allocated */
        for (struct stmt *up = stmt_parent(alloc); up; up = stmt_parent(up))
            if (up->kind == S_FOR && up->u.loop.kind != LK_SERIAL && up->u.loop.kind != LK_UNROLL)
                return step_refuse(s, NULL, "each iteration of the %s loop `%s` has a `%s` of its own",
                                   loop_kind_name(up->u.loop.kind), up->u.loop.var->name, v[k]->name);
        v[k]->scope = SC_PARAM;
        struct param q = {v[k], DIR_OUT};
        PUSH(&s->c->arena, &s->p->params, q);
        stmt_remove(alloc);
    }
    if (s->p->params.n == params)
        return step_refuse(s, NULL, "no `%s` is allocated in the arena, without a fill value", base);
    params_first(s);
    return true;
}
