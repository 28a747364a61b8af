/* Bytes between kernels: if their readers multiply them as f32 or as 16-bit integers, because there is no instruction
 * for bytes, they are stored as such, which saves copies. Values remain bytes: definitions and algorithms know the
 * buffer that the value would have; the buffer that holds the cells replaces it when kernels are made. Nothing changes
 * in what others see: inputs, outputs, and what goes into or comes out of bodies and kernel texts. See
 * docs/storage.md. */
#include "ir/graph/graph.h"
#include "ir/graph/op.h"
#include "lower/algorithm/algorithm.h"
#include "lower/layout.h"
#include "lower/lower.h"

struct buf *lower_stored(struct lowering *l, struct buf *b) {
    struct buf *s = map_get(&l->stored, PKEY(b));
    return s ? s : b;
}
struct buf *lower_known_as(struct lowering *l, struct buf *stored, enum dtype bytes) {
    struct buf *b = buf_new(l->c, l->entry, stored->name, bytes, stored->scope, stored->logical, stored->nlogical);
    proc_drop_buf(l->entry, b); /* nothing will use it */
    map_put(&l->stored, PKEY(b), stored);
    return b;
}

/* ---- what readers want */
struct reader {
    struct lowering *l;
    const struct node *n;
};
static struct param_layout layout_of_operand(void *env, const struct buf *b) {
    const struct reader *r = env;
    const struct value *v = probed_value(r->l->probes, r->n, b);
    const struct value_layout *lay = v ? layout_of_value(r->l, v) : NULL;
    return layout_of_param(lay);
}
static struct buf *as_it_is(void *env, struct buf *b) {
    (void)env;
    return b;
}
/* A maximum or minimum computes no new values: returns the buffer from which it picks; NULL: s is something else. */
static struct buf *picks_from(const struct stmt *s) {
    bool picks = s->kind == S_STAGE && red_picks(s->u.stage.op) && !s->u.stage.init;
    return picks && s->u.stage.value->op == X_LOAD ? s->u.stage.value->u.buf : NULL;
}
static bool is_picked(struct lowering *l, struct value *v, const struct block *stages) {
    const struct stmt *s = stages->first;
    return s && !s->next && picks_from(s) && picks_from(s) == probed_operand(l->probes, v);
}
/* Are wider cells just as fast for such readers? Yes for floats: vectors hold as many of them, and they stay in near
 * caches. */
static bool is_picked_as_fast(struct lowering *l, struct value *v) {
    const struct machine *m = l->o->target->machine;
    const struct buf *b = probed_operand(l->probes, v);
    double bytes = dtype_bytes(F32) * typical_size(l->c, b->logical, b->nlogical, 1);
    return machine_lanes(m, F32) == machine_lanes(m, b->type) && 2 * bytes < (double)m->l1.bytes;
}
static enum dtype wanted_by(struct lowering *l, struct value *v, struct node *n);
/* The first other type that a reader wants. */
static enum dtype wanted_of(struct lowering *l, struct value *v) {
    enum dtype t = NONE;
    for (int i = 0; i < v->uses.n && t == NONE; i++)
        if (!v->uses.v[i].region) t = wanted_by(l, v, v->uses.v[i].node);
    return t;
}
/* The type wanted by one node that reads v, according to the algorithm that will be used for it. */
static enum dtype wanted_by(struct lowering *l, struct value *v, struct node *n) {
    if (!n || n->op->control) return NONE;
    const struct node_class *k = classify_node(l->probes, n);
    struct reader r = {l, n};
    struct problem p;
    struct text why = {0};
    int operand;
    expr off;
    bool view = k->cls == CLASS_VIEW && node_is_view(l->probes, n, &operand, &off);
    bool same = view || (is_picked(l, v, &k->stmts) && is_picked_as_fast(l, v));
    if (same && n->outs.n == 1) return wanted_of(l, n->outs.v[0]);
    if ((k->cls != CLASS_CONTRACT && k->cls != CLASS_WINDOW) || !stages_problem(l->c, &k->stmts, NULL, &p)) return NONE;
    struct block stages = k->stmts; /* asking rows does not change anything */
    struct algorithm_query q = {.c = l->c,
                                .m = l->o->target->machine,
                                .threads = 1,
                                .module = l->m,
                                .entry = l->entry,
                                .stmts = &stages,
                                .k = &p,
                                .wishes = &l->o->algorithms,
                                .env = &r,
                                .layout = layout_of_operand,
                                .stored = as_it_is};
    const struct algorithm *row = algorithm_choose(&q, n->name, &why);
    text_free(&why);
    return row->wants ? row->wants(&q, probed_operand(l->probes, v)) : NONE;
}
/* Is b only written by maps and plain stores, or by maxima of cells stored the same way? Other reductions would round
 * at each step. */
struct writers {
    struct lowering *l;
    const struct buf *b;
    enum dtype stored;
    bool other;
};
static bool look_at_writer(void *env, struct stmt *s) {
    struct writers *w = env;
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++) {
        if (b.buf != w->b || s->kind == S_ALLOC || stmt_writes_once(s)) continue;
        struct buf *from = picks_from(s);
        w->other |= !from || lower_stored(w->l, from)->type != w->stored;
    }
    return !w->other;
}
enum dtype lower_wanted(struct lowering *l, struct value *v) {
    bool kept = l->o->no_schedule || l->o->target->machine->gpu || !dtype_is_byte(v->type.dtype) || value_leaves(l, v);
    return kept ? NONE : wanted_of(l, v);
}
void choose_stored(struct lowering *l, const struct node *n) {
    for (int k = 0; k < n->outs.n; k++) {
        struct value *v = n->outs.v[k];
        struct buf *b = v ? map_get(&l->bufs, PKEY(v)) : NULL;
        if (!b || !map_get(&l->external, PKEY(b))) continue;
        enum dtype t = lower_wanted(l, v);
        struct writers w = {l, b, t, t == NONE};
        if (!w.other) walk(l->block, look_at_writer, &w);
        if (w.other) continue;
        proc_drop_buf(l->entry, b);
        struct buf *stored = buf_new(l->c, l->entry, b->name, t, b->scope, b->logical, b->nlogical);
        struct value_layout *lay = map_get(&l->specs, PKEY(b));
        if (lay) lower_give_layout(l, stored, lay);
        map_put(&l->stored, PKEY(b), stored);
        map_put(&l->external, PKEY(stored), stored);
        map_put(&l->roles, PKEY(stored), map_get(&l->roles, PKEY(b)));
    }
}

/* ---- using the stored form */
static expr read_stored(void *env, expr e);
/* A byte less a zero point, computed as a float; NULL: something else. */
static expr as_float(struct lowering *l, expr e) {
    struct ctx *c = l->c;
    if (e->op == X_CONST && e->type == I32 && e->u.i >= -255 && e->u.i <= 255) return x_num(c, F32, (double)e->u.i);
    if (e->op == X_LOAD && dtype_is_byte(e->u.buf->type) && e->u.buf->data) return x_cast(c, F32, e);
    if (e->op == X_SUB) {
        expr a = as_float(l, e->arg[0]), b = a ? as_float(l, e->arg[1]) : NULL;
        return b ? x_sub(c, a, b) : NULL;
    }
    struct buf *s = e->op == X_LOAD ? lower_stored(l, e->u.buf) : NULL;
    if (!s || s == e->u.buf || s->type != F32) return NULL;
    expr at[32];
    int n = e->n - e->has_fill;
    for (int k = 0; k < n; k++) at[k] = x_map(c, e->arg[k], read_stored, l);
    return x_load(c, s, at, n, e->has_fill ? x_cast(c, F32, e->arg[n]) : NULL);
}
static expr read_stored(void *env, expr e) {
    struct lowering *l = env;
    if (e->op == X_CAST && e->type == F32 && e->arg[0]->type == I32) return as_float(l, e->arg[0]);
    if (e->op != X_LOAD || lower_stored(l, e->u.buf) == e->u.buf) return NULL;
    struct buf *s = lower_stored(l, e->u.buf);
    return s->type == F32 ? x_cast(l->c, I32, as_float(l, e)) : x_map_load(l->c, e, s, read_stored, l);
}
static expr written(struct ctx *c, enum dtype bytes, enum dtype t, expr v) {
    if (!x_fits(v, bytes)) v = x_round(c, bytes, v);
    return t == F32 ? x_cast(c, F32, v) : v;
}
/* If nothing is picked, the initial value of bytes must stay. */
static void pick_stored(struct ctx *c, struct stmt *s, enum dtype bytes, enum dtype t) {
    expr none = red_identity(c, s->u.stage.op, bytes);
    s->u.stage.init = t == F32 ? x_cast(c, F32, none) : none;
    if (t == F32) s->u.stage.value = x_cast(c, F32, s->u.stage.value);
}
static bool write_stored(void *env, struct stmt *s) {
    struct lowering *l = env;
    struct buf **b;
    for (int k = 0; (b = stmt_buf_at(s, k)); k++) {
        struct buf *to = lower_stored(l, *b);
        if (to == *b) continue;
        if (picks_from(s)) pick_stored(l->c, s, (*b)->type, to->type);
        else if (s->kind == S_STAGE) s->u.stage.value = written(l->c, (*b)->type, to->type, s->u.stage.value);
        if (s->kind == S_STORE) s->u.store.value = written(l->c, (*b)->type, to->type, s->u.store.value);
        *b = to;
    }
    return true;
}
void use_stored(struct lowering *l, struct block *stmts) {
    walk(stmts, write_stored, l);
    map_exprs(l->c, stmts, read_stored, l);
}
