/* Problems that were never stages: nests that move cells, and texts in loop IR. Finds the loops whose iterations are
 * independent. See problem.h. */
#include "lower/problem/problem.h"

/* Loops around one store of a load. */
static bool nest_moves(const struct stmt *s) {
    while (s->kind == S_FOR && block_only(&s->u.loop.body)) s = s->u.loop.body.first;
    return s->kind == S_STORE && s->u.store.op == RED_NONE && moves_cells(s->u.store.value);
}

/* ---- independent loops: each iteration has a separate part of every buffer that is stored to */
struct own { /* the part of a buffer; at NULL: the iteration allocates the buffer */
    int dim;
    expr at; /* the index there: v, or v plus a number */
};
struct turns {
    struct ctx *c;
    const struct var *v;
    struct map own; /* buffer -> struct own */
    bool meet;
};
static bool is_own(const struct turns *q, expr idx) {
    int64_t stride;
    expr rest;
    if (idx->op == X_GUARD) idx = idx->arg[0]; /* otherwise the run has failed */
    return x_linear_in(q->c, idx, q->v, &stride, &rest) && stride == 1 &&
           !x_has(rest, XF_VAR | XF_LOAD | XF_TOIDX | XF_GUARD);
}
static void put_own(struct turns *q, const struct buf *b, int dim, expr at) {
    struct own *o = NEW(&q->c->arena, struct own);
    *o = (struct own){dim, at};
    map_put(&q->own, PKEY(b), o);
}
static void claim(struct turns *q, const struct buf *b, const expr *idx, int n) {
    const struct own *o = map_get(&q->own, PKEY(b));
    int d = 0;
    while (d < n && !is_own(q, idx[d])) d++;
    if (o) q->meet |= o->at && idx[o->dim] != o->at;
    else if (d == n) q->meet = true;
    else put_own(q, b, d, idx[d]);
}
static bool note_store(void *env, struct stmt *s) {
    struct turns *q = env;
    if (s->kind == S_ALLOC) put_own(q, s->u.alloc.buf, 0, NULL);
    q->meet |=
        s->kind == S_CALL || s->kind == S_SIZE || s->kind == S_SWAP || s->kind == S_STAGE || s->kind == S_FOREIGN;
    if (s->kind == S_STORE) claim(q, s->u.store.buf, s->u.store.idx, s->u.store.n);
    return true;
}
static void check_load(void *env, const struct stmt *s, expr load) {
    struct turns *q = env;
    const struct own *o = map_get(&q->own, PKEY(load->u.buf));
    (void)s;
    q->meet |= o && o->at && load->arg[o->dim] != o->at;
}
static bool is_independent(struct ctx *c, struct stmt *loop) {
    struct turns q = {.c = c, .v = loop->u.loop.var, .own = {.arena = &c->arena}};
    if (loop->u.loop.independent || x_is(q.v->extent, 1)) return true; /* declared independent, or trivially so */
    walk(&loop->u.loop.body, note_store, &q);
    if (!q.meet) each_load(&loop->u.loop.body, check_load, &q);
    return !q.meet;
}
static struct problem_loop nest_loops(struct ctx *c, struct stmt *s) {
    struct problem_loop l = {.loop = s};
    for (; s && s->kind == S_FOR && l.depth < 64; s = block_only(&s->u.loop.body))
        l.free |= (uint64_t)is_independent(c, s) << l.depth++;
    return l;
}
void loops_problem(struct ctx *c, struct proc *proc, struct problem *p) {
    *p = (struct problem){.cls = PROBLEM_MOVE};
    for (struct stmt *s = proc->body.first; s; s = s->next) {
        if (s->kind == S_ALLOC) continue;
        if (!nest_moves(s)) p->cls = PROBLEM_TEXT;
        if (s->kind != S_FOR) continue;
        struct problem_loop l = nest_loops(c, s);
        PUSH(&c->arena, &p->loops, l);
    }
}
