/* 16-bit floats between kernels: their cells are stored as f32, so that kernels read them
 * without conversion and are scheduled like those of f32. They keep the precision in which they were computed, and only
 * a Cast rounds, unless the user wants each operator to. What an instruction multiplies in 16 bits stays so (narrow.h).
 * Constants become f32 where that takes fewer cycles. Called during lowering for the statements of each group, before
 * they are outlined. Nothing changes in what others see: inputs, outputs, and what goes into or comes out of bodies and
 * kernel texts; nor on GPUs, which have instructions for 16-bit floats. See docs/storage.md. */
#include "ir/base/dtype.h"
#include "ir/graph/graph.h"
#include "lower/algorithm/constants.h"
#include "lower/layout.h"
#include "lower/lower.h"
#include "lower/machine/machine.h"
#include <math.h>

struct halves {
    struct lowering *l;
    struct map narrow; /* buffers that keep their type */
};
/* The type to which each cell of b has been rounded. */
static enum dtype rounded_to(const struct lowering *l, const struct buf *b) {
    uintptr_t type = (uintptr_t)map_get(&l->halves, PKEY(b));
    return type ? (enum dtype)type : b->type;
}
/* Is e certain to be a value of type t? */
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
/* Finds sums that are rounded at every step, and buffers that are not only used by stages and stores. */
static bool find_narrow(void *env, struct stmt *s) {
    struct halves *q = env;
    struct named_buf b;
    bool computed = s->kind == S_STAGE || s->kind == S_STORE || s->kind == S_ALLOC || s->kind == S_FREE;
    if (s->kind == S_STAGE && (s->u.stage.op == RED_SUM || s->u.stage.op == RED_PROD)) keep(q, s->u.stage.buf);
    for (int k = 0; !computed && stmt_buf(s, k, &b); k++) keep(q, b.buf);
    return true;
}
void widen_half(struct lowering *l, struct buf *b) {
    if (!dtype_is_half(b->type) || l->o->no_schedule || l->o->target->machine->gpu) return;
    if (l->o->no_excess) map_put(&l->halves, PKEY(b), (void *)(uintptr_t)b->type);
    b->type = F32;
}
static bool widen(void *env, struct stmt *s) {
    struct halves *q = env;
    bool kept = s->kind != S_ALLOC || map_get(&q->narrow, PKEY(s->u.alloc.buf)) ||
                map_get(&q->l->narrowed, PKEY(s->u.alloc.buf));
    if (!kept) widen_half(q->l, s->u.alloc.buf);
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

/* ---- constants */
/* Does it take fewer cycles to read a constant of halves as f32 than to convert it at each read? A sum multiplies while
 * the next bytes arrive, so only the longer of the two counts. The rows of a tile, about a quarter of the registers,
 * share what they read of the constant. What exceeds the second level of cache comes from memory in each run. */
bool worth_widening(const struct lowering *l, enum dtype half, const struct tensor *t, double reads, bool summed) {
    const struct machine *m = l->o->target->machine;
    const struct operation *convert = machine_op(m, X_CAST, half), *multiply = machine_multiply_add(m, F32);
    double vectors = reads / machine_lanes(m, F32), cells = fmin(reads, (double)tensor_count(t));
    if (!convert || !multiply) return true;
    double byte = 2 * l->g->file_bytes > m->l2.bytes ? m->memory_byte : m->l1.byte;
    double computed = summed ? vectors / multiply->starts : 0;
    double converted = vectors / (summed ? machine_registers(m) / 4 : 1) / convert->starts;
    return fmax(computed, 4 * byte * cells) < fmax(computed + converted, 2 * byte * cells);
}
struct constants {
    struct lowering *l;
    double reads;
    bool summed;
};
static expr read_wide(void *env, expr e) {
    struct constants *q = env;
    struct lowering *l = q->l;
    if (e->op != X_LOAD || !e->u.buf->data || !dtype_is_half(e->u.buf->type)) return NULL;
    struct buf *b = e->u.buf, *wide = map_get(&l->widened, PKEY(b));
    if (map_get(&l->narrowed, PKEY(b)) || !worth_widening(l, b->type, b->data, q->reads, q->summed)) return NULL;
    if (!wide) {
        wide = constant_buf(l->c, l->entry, b->name, tensor_as(l->c, b->data, F32));
        map_put(&l->widened, PKEY(b), wide);
        map_put(&l->halves, PKEY(wide), (void *)(uintptr_t)b->type);
    }
    return x_map_load(l->c, e, wide, read_wide, q);
}
static bool widen_constants(void *env, struct stmt *s) {
    struct halves *h = env;
    struct ctx *c = h->l->c;
    if (s->kind != S_STAGE) return true;
    double cells = typical_cells(c, s->u.stage.axes, s->u.stage.naxes, OPEN_SIZE),
           reads = cells * typical_cells(c, s->u.stage.red, s->u.stage.nred, OPEN_SIZE);
    struct constants init = {h->l, cells, false}, value = {h->l, reads, s->u.stage.op == RED_SUM};
    if (s->u.stage.init) s->u.stage.init = x_map(c, s->u.stage.init, read_wide, &init);
    s->u.stage.value = x_map(c, s->u.stage.value, read_wide, &value);
    return true;
}
void widen_halves(struct lowering *l, struct block *stmts, const struct group *gr) {
    struct halves q = {l, {.arena = &l->c->arena}};
    if (!l->o->no_schedule && !l->o->target->machine->gpu) walk(stmts, widen_constants, &q);
    for (int i = 0; i < gr->nodes.n; i++)
        for (int k = 0; k < gr->nodes.v[i]->outs.n; k++) {
            struct value *v = gr->nodes.v[i]->outs.v[k];
            if (v && map_get(&l->bufs, PKEY(v)) && value_leaves(l, v)) keep(&q, lower_buf(l, v));
        }
    walk(stmts, find_narrow, &q);
    walk(stmts, widen, &q);
    walk(stmts, round_stores, &q);
}
