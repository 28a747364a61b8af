/* Pass `parallel`: a parallel loop stays one if its passes share nothing in C either: each has its own registers and
 * stack, but not its own scratch memory, nor a fault flag. Others become serial. See passes.h. */
#include "lower/local_memory.h"
#include "lower/passes/passes.h"

struct sharing {
    struct ctx *c;
    bool found;
};
static bool shares(void *env, struct stmt *s) {
    struct sharing *q = env;
    bool plain = s->kind == S_FOR || s->kind == S_STORE || s->kind == S_IF || s->kind == S_INSTR ||
                 s->kind == S_PREFETCH || s->kind == S_COMMENT;
    if (s->kind == S_ALLOC) plain = s->u.alloc.buf->scope == SC_REG || is_on_stack(q->c, s->u.alloc.buf);
    q->found |= !plain;
    return !q->found;
}
struct parallel {
    struct ctx *c;
    bool never;
};
static bool in_stmt(void *env, struct stmt *s) {
    struct parallel *p = env;
    if (s->kind != S_FOR || s->u.loop.kind != LK_PARALLEL) return true;
    struct sharing q = {p->c, p->never};
    if (!q.found) walk(&s->u.loop.body, shares, &q);
    if (q.found) s->u.loop.kind = LK_SERIAL;
    return true;
}
void pass_parallel(struct module *m, const struct printing *o) {
    for (int k = 0; k < m->procs.n; k++) {
        struct proc *p = m->procs.v[k];
        struct parallel q = {m->ctx, o->target->emit == EMIT_CUDA || proc_may_fault(p)};
        walk(&p->body, in_stmt, &q);
    }
}
