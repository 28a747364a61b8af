/* Floats of 16 bits between kernels: their cells lie as f32, rounded when they are stored, so that kernels read them
 * without conversion and are scheduled as those of f32 are. Part of lowering: called for the statements of each group,
 * before they are outlined. What others see stays as the model has it: inputs, outputs, constants, what goes into
 * bodies and texts of kernels and comes out of them; GPUs have instructions for it. See docs/storage.md. */
#include "ir/base/dtype.h"
#include "ir/graph/graph.h"
#include "lower/layout.h"
#include "lower/lower.h"
#include "lower/machine/machine.h"

struct halves {
    struct lowering *l;
    struct map narrow; /* buffers that keep their type */
};
/* The type that each cell of b has been rounded to. */
static enum dtype rounded_to(const struct lowering *l, const struct buf *b) {
    uintptr_t type = (uintptr_t)map_get(&l->halves, PKEY(b));
    return type ? (enum dtype)type : b->type;
}
/* Is e a value of type t whatever it is computed from? */
static bool is_exact(const struct lowering *l, enum dtype t, expr e) {
    switch (e->op) {
    case X_LOAD: return rounded_to(l, e->u.buf) == t && (!e->has_fill || is_exact(l, t, e->arg[e->n - 1]));
    case X_CONST: return x_round(l->c, t, e) == e;
    case X_ROUND: return (enum dtype)e->u.i == t;
    case X_NEG:
    case X_ABS: return is_exact(l, t, e->arg[0]);
    case X_MIN:
    case X_MAX: return is_exact(l, t, e->arg[0]) && is_exact(l, t, e->arg[1]);
    case X_SELECT: return is_exact(l, t, e->arg[1]) && is_exact(l, t, e->arg[2]);
    default: return false;
    }
}
static expr rounded(const struct lowering *l, enum dtype t, expr e) {
    return is_exact(l, t, e) ? e : x_round(l->c, t, e);
}
static void keep(struct halves *q, struct buf *b) {
    if (dtype_is_half(b->type)) map_put(&q->narrow, PKEY(b), b);
}
/* Sums that are rounded at every step, and what is not computed by stages and stores. */
static bool find_narrow(void *env, struct stmt *s) {
    struct halves *q = env;
    struct named_buf b;
    bool computed = s->kind == S_STAGE || s->kind == S_STORE || s->kind == S_ALLOC || s->kind == S_FREE;
    if (s->kind == S_STAGE && (s->u.stage.op == RED_SUM || s->u.stage.op == RED_PROD)) keep(q, s->u.stage.buf);
    for (int k = 0; !computed && stmt_buf(s, k, &b); k++) keep(q, *b.at);
    return true;
}
void widen_half(struct lowering *l, struct buf *b) {
    if (!dtype_is_half(b->type) || l->o->no_schedule || l->o->target->machine->gpu) return;
    map_put(&l->halves, PKEY(b), (void *)(uintptr_t)b->type);
    b->type = F32;
}
static bool widen(void *env, struct stmt *s) {
    struct halves *q = env;
    if (s->kind == S_ALLOC && !map_get(&q->narrow, PKEY(s->u.alloc.buf))) widen_half(q->l, s->u.alloc.buf);
    return true;
}
static bool round_stores(void *env, struct stmt *s) {
    struct lowering *l = ((struct halves *)env)->l;
    struct buf *b = s->kind == S_STAGE ? s->u.stage.buf : s->kind == S_STORE ? s->u.store.buf : NULL;
    enum dtype t = b ? (enum dtype)(uintptr_t)map_get(&l->halves, PKEY(b)) : NONE;
    if (t == NONE) return true;
    if (s->kind == S_STAGE) {
        s->u.stage.value = rounded(l, t, s->u.stage.value);
        if (s->u.stage.init) s->u.stage.init = rounded(l, t, s->u.stage.init);
    } else {
        expr own = x_load(l->c, b, s->u.store.idx, s->u.store.n, NULL), v = s->u.store.value;
        s->u.store.value = rounded(l, t, s->u.store.op == RED_NONE ? v : red_apply(l->c, s->u.store.op, own, v));
        s->u.store.op = RED_NONE;
    }
    return true;
}
void widen_halves(struct lowering *l, struct block *stmts, const struct group *gr) {
    struct halves q = {l, {.arena = &l->c->arena}};
    for (int i = 0; i < gr->nodes.n; i++)
        for (int k = 0; k < gr->nodes.v[i]->outs.n; k++) {
            struct value *v = gr->nodes.v[i]->outs.v[k];
            if (v && map_get(&l->bufs, PKEY(v)) && value_leaves(l, v)) keep(&q, lower_buf(l, v));
        }
    walk(stmts, find_narrow, &q);
    walk(stmts, widen, &q);
    walk(stmts, round_stores, &q);
}
