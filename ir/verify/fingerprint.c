/* A number for everything that the verifier sees of a procedure, so that it need not check again what it has accepted.
 * Expressions are hash-consed, so their addresses identify them. See loop_int.h. */
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
    for (int k = 0; b->within && k < 2; k++) add(h, (uint64_t)b->within[k]);
}
/* For a procedure that is called: what callers must know. */
static void add_head(uint64_t *h, const struct proc *p) {
    add_p(h, p), add(h, p->is_kernel_text);
    for (int k = 0; k < p->params.n; k++) add(h, p->params.v[k].dir), add_buf(h, p->params.v[k].buf);
    for (int k = 0; k < p->syms.n; k++) {
        add_p(h, p->syms.v[k]);
        add(h, (uint64_t)p->syms.v[k]->lo), add(h, (uint64_t)p->syms.v[k]->hi);
    }
}
/* What is not listed in the table of kinds. */
static void add_rest(uint64_t *h, const struct stmt *s) {
    switch (s->kind) {
    case S_FOR:
        add(h, s->u.loop.kind), add(h, s->u.loop.piped);
        add(h, (uint64_t)s->u.loop.grain), add(h, (uint64_t)s->u.loop.slices);
        add(h, s->u.loop.independent), add(h, s->u.loop.assumed);
        break;
    case S_STORE: add(h, s->u.store.op); break;
    case S_STAGE: add(h, s->u.stage.op), add(h, (uint64_t)s->u.stage.naxes); break;
    case S_SIZE: add_p(h, s->u.size.sym); break;
    case S_CALL: add_head(h, s->u.call.callee); break;
    case S_CHECK: add_p(h, s->u.check.fault); break;
    case S_INSTR: add_p(h, s->u.instr.row); break;
    case S_FOREIGN:
        add_p(h, s->u.foreign.fn);
        for (int k = 0; k < s->u.foreign.nops; k++) add(h, (uint64_t)s->u.foreign.ops[k].n);
        break;
    case S_IF:
    case S_ALLOC:
    case S_FREE:
    case S_WHILE:
    case S_BARRIER:
    case S_PREFETCH:
    case S_SWAP:
    case S_VIEW:
    case S_BIND:
    case S_COMMENT: break;
    }
}
static bool add_stmt(void *env, struct stmt *s) {
    uint64_t *h = env;
    struct named_buf b;
    struct block *in[2];
    expr *e;
    const struct var **v;
    add(h, s->kind), add_p(h, s), add_p(h, s->in->owner);
    for (int k = 0; (v = stmt_var(s, k)); k++) add_var(h, *v);
    for (int k = 0; (e = stmt_expr(s, k)); k++) add_p(h, *e);
    for (int k = 0; stmt_buf(s, k, &b); k++) add_p(h, b.buf), add(h, b.use);
    for (int n = stmt_blocks(s, in), k = 0; k < n; k++) add_p(h, in[k]->first);
    add_rest(h, s);
    return true;
}
uint64_t proc_fingerprint(const struct proc *p) {
    uint64_t h = 1;
    add_head(&h, p), add_p(&h, p->launch);
    for (int k = 0; k < p->bufs.n; k++) add_buf(&h, p->bufs.v[k]);
    walk((struct block *)&p->body, add_stmt, &h);
    return h ? h : 1;
}
