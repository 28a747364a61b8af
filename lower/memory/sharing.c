/* See sharing.h. Each thread has registers and a stack of its own, and a part of the scratch memory (`slices`). */
#include "lower/memory/sharing.h"
#include "lower/memory/local_memory.h"

static bool shares(void *env, struct stmt *s) {
    const char **what = env;
    switch (s->kind) {
    case S_FOR:
    case S_STORE:
    case S_IF:
    case S_INSTR:
    case S_ALLOC:
    case S_PREFETCH:
    case S_COMMENT: break;
    default: *what = "its iterations do more than loops and stores";
    }
    return !*what;
}
/* A store to what is not the iteration's own. */
static bool stores_outside(void *env, struct stmt *s) {
    struct block **body = env;
    const struct buf *b = s->kind == S_STORE ? s->u.store.buf : NULL;
    if (s->kind == S_INSTR || (b && !block_allocs(*body, b))) *body = NULL;
    return *body != NULL;
}
const char *iterations_share(const struct proc *p, struct stmt *loop) {
    const char *what = NULL;
    struct block *body = &loop->u.loop.body;
    walk(&loop->u.loop.body, shares, &what);
    walk(&loop->u.loop.body, stores_outside, &body);
    if (body) return "its iterations leave nothing behind";
    for (int k = 0; k < p->bufs.n && !what; k++) {
        const struct buf *b = p->bufs.v[k];
        if (b->scope == SC_REG && stmt_uses(loop, b, NULL) && !block_allocs(&loop->u.loop.body, b))
            what = "its iterations use registers of what is around it";
    }
    return what;
}
