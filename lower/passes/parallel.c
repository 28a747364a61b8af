/* Pass `parallel`: a loop stays parallel if threads can run its iterations in C, too (lower/memory/sharing.h), and no
 * loop around it is parallel: a thread does not share out its part again. Others become serial. See passes.h. */
#include "lower/memory/sharing.h"
#include "lower/passes/passes.h"

struct parallel {
    struct ctx *c;
    const struct proc *p;
    bool never;
};
static void make_serial(struct stmt *s) { s->u.loop.kind = LK_SERIAL, s->u.loop.grain = 0; }
static bool is_inside(void *env, struct stmt *s) {
    (void)env;
    if (s->kind == S_FOR && s->u.loop.kind == LK_PARALLEL) make_serial(s);
    return true;
}
static bool in_stmt(void *env, struct stmt *s) {
    struct parallel *q = env;
    if (s->kind != S_FOR || s->u.loop.kind != LK_PARALLEL) return true;
    if (q->never || iterations_share(q->c, q->p, s)) make_serial(s);
    else walk(&s->u.loop.body, is_inside, NULL);
    return true;
}
void pass_parallel(struct module *m, const struct printing *o) {
    for (int k = 0; k < m->procs.n; k++) {
        struct proc *p = m->procs.v[k];
        struct parallel q = {m->ctx, p, o->target->emit == EMIT_CUDA};
        walk(&p->body, in_stmt, &q);
    }
}
