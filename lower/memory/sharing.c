/* See sharing.h. Each thread has its own registers, stack, and part of the scratch memory (`slices`). */
#include "lower/memory/sharing.h"
#include "lower/memory/local_memory.h"

static bool shares(void *env, struct stmt *s) {
    const char **what = env;
    switch (s->kind) {
    case S_FOR:
    case S_STORE:
    case S_IF:
    case S_WHILE:
    case S_INSTR:
    case S_ALLOC:
    case S_PREFETCH:
    case S_FOREIGN:
    case S_COMMENT: break;
    default: *what = "its iterations do more than loops and stores";
    }
    return !*what;
}
/* A store to something that does not belong to the iteration. */
struct outside {
    struct block *body;
    bool found;
};
static bool find_outside(void *env, struct stmt *s) {
    struct outside *q = env;
    q->found |=
        s->kind == S_INSTR || s->kind == S_FOREIGN || (s->kind == S_STORE && !block_allocs(q->body, s->u.store.buf));
    return !q->found;
}
const char *iterations_share(const struct proc *p, struct stmt *loop) {
    const char *what = NULL;
    struct outside q = {&loop->u.loop.body, false};
    walk(&loop->u.loop.body, shares, &what);
    walk(&loop->u.loop.body, find_outside, &q);
    if (!q.found) return "its iterations leave nothing behind";
    for (int k = 0; k < p->bufs.n && !what; k++) {
        const struct buf *b = p->bufs.v[k];
        if (b->scope == SC_REG && stmt_uses(loop, b, NULL) && !block_allocs(&loop->u.loop.body, b))
            what = "its iterations use registers of what is around it";
    }
    return what;
}
