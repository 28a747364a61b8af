/* Rules V5, V6 and V6a of docs/loop-ir.md: what the iterations of vector, parallel, gpu and independent loops may do to
 * each other. ir/loop/dependence.c answers whether two of their accesses can touch the same cell, from what the
 * verifier knows at both. */
#include "ir/loop/dependence.h"
#include "ir/loop/foreign.h"
#include "ir/verify/loop_int.h"

struct access {
    struct buf *buf;
    int n;
    const expr *idx;
    bool store, whole;
    enum red_op op;
    const struct stmt *s;
};
struct region {
    struct verifier *v;
    const struct var *var;
    struct stmt *loop;
    VEC(struct access) all;
    struct map inside;     /* variables, symbols and buffers defined in the loop */
    struct map stored;     /* buffers stored to */
    struct iterations two; /* of the loop; variables of the loop and of inner ones have independent values */
};
static void note(struct region *r, struct buf *b, const expr *idx, int n, bool store, bool whole, enum red_op op,
                 const struct stmt *s) {
    struct access a = {b, n, idx, store, whole, op, s};
    if (store) map_put(&r->stored, PKEY(b), b);
    for (int k = 0; k < r->all.n; k++) {
        struct access *o = &r->all.v[k];
        bool same =
            o->buf == b && o->n == n && o->store == store && o->whole == whole && o->op == op && o->s->in == s->in;
        for (int j = 0; same && j < n; j++) same = o->idx[j] == idx[j];
        if (same) return;
    }
    PUSH(&r->v->c->arena, &r->all, a);
}
static void note_load(void *env, const struct stmt *s, expr e) {
    note(env, e->u.buf, e->arg, e->n - e->has_fill, false, false, RED_NONE, s);
}
static void moves(struct region *r, const struct var *v) {
    map_put(&r->inside, PKEY(v), (void *)v);
    PUSH(r->two.tmp, &r->two.moving, v);
}
static bool note_stmt(void *env, struct stmt *s) {
    struct region *r = env;
    switch (s->kind) {
    case S_FOR: moves(r, s->u.loop.var); break;
    case S_STORE: note(r, s->u.store.buf, s->u.store.idx, s->u.store.n, true, false, s->u.store.op, s); break;
    case S_STAGE: {
        int n = s->u.stage.naxes;
        expr *idx = NEWN(&r->v->c->arena, expr, n);
        for (int k = 0; k < n; k++) moves(r, s->u.stage.axes[k]), idx[k] = x_var(r->v->c, s->u.stage.axes[k]);
        for (int k = 0; k < s->u.stage.nred; k++) moves(r, s->u.stage.red[k]);
        note(r, s->u.stage.buf, idx, n, true, false, s->u.stage.op, s);
        break;
    }
    case S_ALLOC: map_put(&r->inside, PKEY(s->u.alloc.buf), s->u.alloc.buf); break;
    case S_SIZE: map_put(&r->inside, PKEY(s->u.size.sym), (void *)s->u.size.sym); break;
    case S_SWAP:
        note(r, s->u.swap.a, NULL, 0, true, true, RED_NONE, s);
        note(r, s->u.swap.b, NULL, 0, true, true, RED_NONE, s);
        break;
    case S_CALL:
        for (int k = 0; k < s->u.call.nbufs; k++) {
            const struct proc *q = s->u.call.callee;
            bool in = q && k < q->params.n && q->params.v[k].dir == DIR_IN;
            note(r, s->u.call.bufs[k], NULL, 0, !in, true, RED_NONE, s);
        }
        break;
    case S_FOREIGN:
        for (int k = 0; k < s->u.foreign.nops; k++) {
            const struct foreign_operand *o = &s->u.foreign.ops[k];
            bool written = foreign_param(s->u.foreign.fn, false, k)->use == FOREIGN_WRITTEN;
            note(r, o->buf, s->u.foreign.idx + o->first, o->n, written, !o->n, RED_NONE, s);
        }
        break;
    default: break;
    }
    return true;
}

/* ---- what an index may depend on */
struct depends {
    struct region *r;
    bool var, inside;
};
static bool depends_node(void *env, expr e) {
    struct depends *d = env;
    struct region *r = d->r;
    if (e->op == X_VAR && e->u.var == r->var) d->var = true;
    else if (e->op == X_VAR && map_get(&r->inside, PKEY(e->u.var))) d->inside = true;
    else if (e->op == X_SYM && map_get(&r->inside, PKEY(e->u.sym))) d->inside = true;
    else if (e->op == X_LOAD && (map_get(&r->inside, PKEY(e->u.buf)) || map_get(&r->stored, PKEY(e->u.buf))))
        d->inside = true;
    return true;
}
static struct depends depends_on(struct region *r, expr e) {
    struct depends d = {r, false, false};
    x_visit(e, depends_node, &d);
    return d;
}
/* Two iterations may differ in what is computed inside of the loop, and in what is loaded from where it stores. */
static bool varies(void *env, expr e) { return depends_on(env, e).inside; }
static bool facts_less(void *env, expr a, expr b) {
    struct region *r = env;
    return facts_prove_lt(&r->v->facts, a, b);
}
/* Facts at an access: the loops around it inside of this one run at least once, and conditions hold. */
static void know(struct region *r, const struct stmt *s, bool other) {
    struct ctx *c = r->v->c;
    struct facts *f = &r->v->facts;
    for (const struct stmt *up = stmt_parent(s); up && up != r->loop; s = up, up = stmt_parent(s)) {
        if (up->kind == S_FOR) {
            expr n = up->u.loop.var->extent;
            facts_add_le(f, x_int(c, 1), other ? in_other_iteration(&r->two, n) : n);
        }
        if (up->kind != S_IF || up->u.cond.cond->type != BOOL) continue;
        expr cond = other ? in_other_iteration(&r->two, up->u.cond.cond) : up->u.cond.cond;
        (s->in == &up->u.cond.then ? facts_add : facts_add_not)(f, cond);
    }
}
static bool apart(struct region *r, const struct access *a, const struct access *b) {
    if (a->whole || b->whole || a->n != b->n) return false;
    if (cells_apart(&r->two, r->var, a->buf, a->idx, b->idx, a->n)) return true; /* the usual case, which costs less */
    struct ctx *c = r->v->c;
    int mark = r->v->facts.n;
    know(r, a->s, false);
    know(r, b->s, true);
    bool is_apart = facts_prove_le(&r->v->facts, x_int(c, 1), x_int(c, 0)) || /* one of them never runs */
                    cells_apart(&r->two, r->var, a->buf, a->idx, b->idx, a->n);
    r->v->facts.n = mark;
    return is_apart;
}
static const char *access_text(struct region *r, const struct access *a) {
    struct ctx *c = r->v->c;
    if (a->whole) return a->buf->name;
    struct text t = {0};
    text_add(&t, a->buf->name);
    for (int k = 0; k < a->n; k++) text_printf(&t, "%s%s", k ? "," : "[", expr_text(c, r->v->p, a->s, a->idx[k]));
    text_add(&t, a->n ? "]" : "[]");
    return text_take(&t, &c->arena);
}
/* Lanes may add to one cell: the printer makes a horizontal reduction of it. */
static bool horizontal(struct region *r, const struct access *a, const struct access *b) {
    if (r->loop->u.loop.kind != LK_VECTOR || a != b || a->op == RED_NONE) return false;
    for (int k = 0; k < a->n; k++)
        if (depends_on(r, a->idx[k]).var) return false;
    return true;
}
static bool runs_in_turn(enum loop_kind kind) { return kind == LK_SERIAL || kind == LK_UNROLL; }
static void check_races(struct region *r) {
    int reported = 0;
    enum loop_kind kind = r->loop->u.loop.kind;
    for (int i = 0; i < r->all.n && reported < 3; i++)
        for (int j = 0; j < r->all.n; j++) {
            struct access *a = &r->all.v[i], *b = &r->all.v[j];
            if (!a->store || a->buf != b->buf || (b->store && j < i)) continue;
            if (map_get(&r->inside, PKEY(a->buf)) || horizontal(r, a, b) || apart(r, a, b)) continue;
            if (r->loop->u.loop.assumed && a->buf->scope == SC_PARAM) continue;
            if (runs_in_turn(kind) && is_scratch(r->loop, a->buf)) continue;
            refuse(r->v, "iterations of the %s loop may meet in one cell: %s is stored, %s is %s",
                   runs_in_turn(kind) ? "independent" : loop_kind_name(kind), access_text(r, a),
                   i == j ? "it" : access_text(r, b), b->store ? "stored" : "read");
            reported++;
            break;
        }
}

/* ---- V5 */
static void check_stride(struct region *r, const struct access *a) {
    struct ctx *c = r->v->c;
    bool uses = false;
    for (int k = 0; k < a->n; k++) uses |= depends_on(r, a->idx[k]).var;
    if (!uses || a->n != a->buf->nd || x_is(r->var->extent, 1)) return; /* one lane has no neighbours */
    expr off = buf_offset(c, a->buf, a->idx), rest;
    int64_t coef;
    if (!a->store && x_lanes_found(c, off, r->var)) return;
    if (!x_linear_in(c, off, r->var, &coef, &rest) || coef < 0 || coef > (a->store ? 1 : LANES_APART))
        refuse(r->v, "lanes of a vector loop need cells side by side; %s moves otherwise", access_text(r, a));
}
static bool vector_body(void *env, struct stmt *s) {
    struct region *r = env;
    switch (s->kind) {
    case S_STORE:
    case S_COMMENT: return true;
    case S_IF:
        if (depends_on(r, s->u.cond.cond).var)
            refuse(r->v, "a condition in a vector loop depends on the lane: %s", stmt_text(r->v->c, r->v->p, s));
        return true;
    default: refuse(r->v, "a vector loop holds stores only, not: %s", stmt_text(r->v->c, r->v->p, s)); return false;
    }
}
void verify_iterations(struct verifier *v, struct stmt *loop) {
    enum loop_kind kind = loop->u.loop.kind;
    bool proved = loop->u.loop.independent && !loop->u.loop.assumed;
    if ((runs_in_turn(kind) && !proved) || v->in_instr) return;
    struct arena *a = &v->c->arena;
    struct region r = {.v = v, .var = loop->u.loop.var, .loop = loop, .inside = {.arena = a}, .stored = {.arena = a}};
    r.two = (struct iterations){.c = v->c, .tmp = a, .varies = varies, .less = facts_less, .env = &r};
    moves(&r, loop->u.loop.var);
    walk(&loop->u.loop.body, note_stmt, &r);
    each_load(&loop->u.loop.body, note_load, &r);
    if (!x_is(loop->u.loop.var->extent, 1)) check_races(&r);
    if (kind != LK_VECTOR) return;
    walk(&loop->u.loop.body, vector_body, &r);
    for (int k = 0; k < r.all.n; k++) check_stride(&r, &r.all.v[k]);
}
