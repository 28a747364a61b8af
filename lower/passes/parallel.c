/* Pass `parallel`: a loop stays parallel if threads can run its iterations in C as well (lower/memory/sharing.h), and
 * if no surrounding loop is parallel: a thread does not divide its part again. Other loops become serial. If iterations
 * need scratch memory, the loop is cut into slices with separate memory, one for each thread that the program is made
 * for. See passes.h. */
#include "lower/memory/local_memory.h"
#include "lower/memory/sharing.h"
#include "lower/passes/passes.h"

struct parallel {
    struct ctx *c;
    const struct proc *p;
    int threads;
};
static void make_serial(struct stmt *s) { s->u.loop.kind = LK_SERIAL, s->u.loop.grain = s->u.loop.slices = 0; }
static bool is_inside(void *env, struct stmt *s) {
    (void)env;
    if (s->kind == S_FOR && s->u.loop.kind == LK_PARALLEL) make_serial(s);
    return true;
}
static bool in_stmt(void *env, struct stmt *s) {
    struct parallel *q = env;
    if (s->kind != S_FOR || s->u.loop.kind != LK_PARALLEL) return true;
    bool scratch = !x_is(block_scratch(q->c, q->p, &s->u.loop.body), 0);
    if (!q->threads || (scratch && q->threads == 1) || iterations_share(q->p, s)) {
        make_serial(s);
        return true;
    }
    if (scratch) s->u.loop.slices = q->threads;
    walk(&s->u.loop.body, is_inside, NULL);
    return false;
}
void pass_parallel(struct module *m, const struct printing *o) {
    int threads = o->target->emit == EMIT_CUDA ? 0 : o->threads > 1 ? o->threads : 1;
    for (int k = 0; k < m->procs.n; k++) {
        struct proc *p = m->procs.v[k];
        struct parallel q = {m->ctx, p, threads};
        walk(&p->body, in_stmt, &q);
    }
}
