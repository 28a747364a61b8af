/* See sharing.h. Each thread has registers and a stack of its own, but there is one scratch memory, which the caller
 * gave. */
#include "lower/memory/sharing.h"
#include "lower/memory/local_memory.h"

struct sharing {
    struct ctx *c;
    const char *what;
};
static bool shares(void *env, struct stmt *s) {
    struct sharing *q = env;
    switch (s->kind) {
    case S_FOR:
    case S_STORE:
    case S_IF:
    case S_INSTR:
    case S_PREFETCH:
    case S_COMMENT: break;
    case S_ALLOC:
        if (s->u.alloc.buf->scope != SC_REG && !is_on_stack(q->c, s->u.alloc.buf))
            q->what = "its iterations share scratch memory";
        break;
    default: q->what = "its iterations do more than loops and stores";
    }
    return !q->what;
}
const char *iterations_share(struct ctx *c, const struct proc *p, struct stmt *loop) {
    struct sharing q = {c, NULL};
    walk(&loop->u.loop.body, shares, &q);
    for (int k = 0; k < p->bufs.n && !q.what; k++) {
        const struct buf *b = p->bufs.v[k];
        if (b->scope == SC_REG && stmt_uses(loop, b, NULL) && !block_allocs(&loop->u.loop.body, b))
            q.what = "its iterations use registers of what is around it";
    }
    return q.what;
}
