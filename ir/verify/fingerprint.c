/* What the verifier has found right it does not look at again: a number for all that it sees of a procedure.
 * Expressions are hash-consed, so that their addresses tell them apart. See loop_int.h. */
#include "ir/verify/loop_int.h"

static void add(uint64_t *h, uint64_t v) {
    *h = (*h ^ (v + 0x9E3779B97F4A7C15u + (*h << 6) + (*h >> 2))) * 0xFF51AFD7ED558CCDu;
}
static void add_p(uint64_t *h, const void *p) { add(h, (uint64_t)(uintptr_t)p); }
static void add_list(uint64_t *h, const void *v, int n) {
    add(h, (uint64_t)n);
    for (int k = 0; k < n; k++) add_p(h, ((const void *const *)v)[k]);
}
static void add_var(uint64_t *h, const struct var *v) { add_p(h, v), add_p(h, v->extent); }
static void add_buf(uint64_t *h, const struct buf *b) {
    add_p(h, b), add_p(h, b->name);
    add(h, (uint64_t)b->type << 32 | (uint64_t)b->scope << 16 | (uint64_t)b->nd);
    add_list(h, b->dims, b->nd);
    for (int k = 0; b->pad && k < b->nd; k++) add(h, (uint64_t)b->pad[k]);
    add_p(h, b->fill), add(h, b->apart);
    add_list(h, b->logical, b->nlogical), add_list(h, b->lvar, b->nlogical), add_list(h, b->map, b->nd);
    add_p(h, b->data);
}
/* Of a procedure that is called: what callers must know. */
static void add_head(uint64_t *h, const struct proc *p) {
    add_p(h, p), add(h, p->is_kernel_text);
    for (int k = 0; k < p->params.n; k++) add(h, p->params.v[k].dir), add_buf(h, p->params.v[k].buf);
    for (int k = 0; k < p->syms.n; k++) {
        add_p(h, p->syms.v[k]);
        add(h, (uint64_t)p->syms.v[k]->lo), add(h, (uint64_t)p->syms.v[k]->hi);
    }
}
static bool add_stmt(void *env, struct stmt *s) {
    uint64_t *h = env;
    add(h, s->kind), add_p(h, s), add_p(h, s->in->owner);
    switch (s->kind) {
    case S_FOR: add_var(h, s->u.loop.var), add(h, s->u.loop.kind), add(h, s->u.loop.piped); break;
    case S_STORE:
        add_p(h, s->u.store.buf), add_list(h, s->u.store.idx, s->u.store.n);
        add(h, s->u.store.op), add_p(h, s->u.store.value);
        break;
    case S_IF: add_p(h, s->u.cond.cond), add_p(h, s->u.cond.then.first); break;
    case S_ALLOC:
    case S_FREE: add_p(h, s->u.alloc.buf); break;
    case S_STAGE:
        add_p(h, s->u.stage.buf), add(h, s->u.stage.op), add_p(h, s->u.stage.init), add_p(h, s->u.stage.value);
        for (int k = 0; k < s->u.stage.naxes; k++) add_var(h, s->u.stage.axes[k]);
        for (int k = 0; k < s->u.stage.nred; k++) add_var(h, s->u.stage.red[k]);
        break;
    case S_SIZE:
        add_p(h, s->u.size.sym), add_p(h, s->u.size.lo), add_p(h, s->u.size.hi), add_p(h, s->u.size.value);
        break;
    case S_CALL:
        add_head(h, s->u.call.callee);
        add_list(h, s->u.call.bufs, s->u.call.nbufs), add_list(h, s->u.call.args, s->u.call.nargs);
        break;
    case S_WHILE: add_p(h, s->u.loop_while.cond), add_p(h, s->u.loop_while.max); break;
    case S_CHECK: add_p(h, s->u.check.cond), add_p(h, s->u.check.fault); break;
    case S_INSTR:
        add_p(h, s->u.instr.row);
        for (int k = 0; k < s->u.instr.n; k++) add_p(h, s->u.instr.holes[k].buf), add_p(h, s->u.instr.holes[k].off);
        break;
    case S_PREFETCH: add_p(h, s->u.prefetch.buf), add_p(h, s->u.prefetch.off); break;
    case S_SWAP: add_p(h, s->u.swap.a), add_p(h, s->u.swap.b); break;
    case S_VIEW: add_p(h, s->u.view.buf), add_p(h, s->u.view.of), add_p(h, s->u.view.off); break;
    case S_BARRIER:
    case S_COMMENT:
    case S_KIND_COUNT: break;
    }
    return true;
}
uint64_t proc_fingerprint(const struct proc *p) {
    uint64_t h = 1;
    add_head(&h, p), add_p(&h, p->launch);
    for (int k = 0; k < p->bufs.n; k++) add_buf(&h, p->bufs.v[k]);
    walk((struct block *)&p->body, add_stmt, &h);
    return h ? h : 1;
}
