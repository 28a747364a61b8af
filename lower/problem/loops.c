/* Problems that were never stages: nests that move cells, and texts in loop IR, of which it is found which loops' turns
 * do not meet. See problem.h. */
#include "lower/problem/problem.h"

/* Loops around one store of a load. */
static bool nest_moves(const struct stmt *s) {
    while (s->kind == S_FOR && s->u.loop.body.first && s->u.loop.body.first == s->u.loop.body.last)
        s = s->u.loop.body.first;
    return s->kind == S_STORE && s->u.store.op == RED_NONE && moves_cells(s->u.store.value);
}

/* ---- loops whose turns do not meet: each turn has a part of its own of everything that is stored */
struct turns {
    const struct var *v;
    struct map own; /* buffer -> 1 + the dim that v alone indexes; what a turn allocates itself: OWN */
    bool meet;
};
enum { OWN = -1 };
static int dim_of_turn(const struct turns *q, const expr *idx, int n) {
    for (int k = 0; k < n; k++)
        if (idx[k]->op == X_VAR && idx[k]->u.var == q->v) return k;
    return -1;
}
static bool note_store(void *env, struct stmt *s) {
    struct turns *q = env;
    if (s->kind == S_ALLOC) map_put(&q->own, PKEY(s->u.alloc.buf), (void *)(intptr_t)OWN);
    q->meet |= s->kind == S_CALL || s->kind == S_SIZE || s->kind == S_SWAP || s->kind == S_STAGE;
    if (s->kind != S_STORE) return true;
    intptr_t known = (intptr_t)map_get(&q->own, PKEY(s->u.store.buf));
    int d = dim_of_turn(q, s->u.store.idx, s->u.store.n);
    if (known == OWN) return true;
    q->meet |= d < 0 || (known && known != d + 1);
    if (!q->meet) map_put(&q->own, PKEY(s->u.store.buf), (void *)(intptr_t)(d + 1));
    return true;
}
static void check_load(void *env, struct stmt *s, expr load) {
    struct turns *q = env;
    intptr_t known = (intptr_t)map_get(&q->own, PKEY(load->u.buf));
    (void)s;
    if (!known || known == OWN) return;
    expr at = load->arg[known - 1];
    q->meet |= !(at->op == X_VAR && at->u.var == q->v);
}
static bool is_independent(struct ctx *c, struct stmt *loop) {
    struct turns q = {.v = loop->u.loop.var, .own = {.arena = &c->arena}};
    walk(&loop->u.loop.body, note_store, &q);
    if (!q.meet) each_load(&loop->u.loop.body, check_load, &q);
    return !q.meet;
}
void loops_problem(struct ctx *c, struct proc *proc, struct problem *p) {
    *p = (struct problem){.cls = PROBLEM_MOVE};
    for (struct stmt *s = proc->body.first; s; s = s->next) {
        if (s->kind == S_ALLOC) continue;
        if (!nest_moves(s)) p->cls = PROBLEM_TEXT;
        if (s->kind != S_FOR) continue;
        struct problem_loop l = {s, is_independent(c, s)};
        PUSH(&c->arena, &p->loops, l);
    }
}
