/* Sums of products for targets with fused multiply-add. Not a step: done before scheduling. */
#include "lower/problem/problem.h"
#include "lower/schedule/steps_util.h"

static expr fma_form(struct step_run *s, struct stmt *t) {
    expr v = t->u.store.value;
    if (!sums_products(t->u.store.op, v) || (v->type != F32 && v->type != F64)) return NULL;
    if (dtype_value(t->u.store.buf->type) != v->type) return NULL;
    return x_fma(s->c, v->arg[0], v->arg[1], x_load(s->c, t->u.store.buf, t->u.store.idx, t->u.store.n, NULL));
}
void use_fma(struct ctx *c, struct proc *p) {
    struct step_run s = {.c = c, .p = p};
    struct stmts all = {0};
    lower_stages(c, p);
    stmts_below(&s, &p->body, &all);
    for (int k = 0; k < all.n; k++) {
        expr v = all.v[k]->kind == S_STORE ? fma_form(&s, all.v[k]) : NULL;
        if (!v) continue;
        all.v[k]->u.store.value = v;
        all.v[k]->u.store.op = RED_NONE;
    }
    arena_free(&s.tmp);
}
