/* Rules V5, V6 and V6a of docs/loop-ir.md: what the iterations of vector, parallel, gpu and independent loops may do to
 * each other.
 *
 * Two accesses of one buffer are kept apart when some index, or some combination of indices, is C*v + rest with the
 * same C in both and |difference of the rests| < C, whatever the loops inside do: they run with variables of their own
 * in each of the two iterations compared. */
#include "ir/verify/loop_int.h"

struct access {
    struct buf *buf;
    int n;
    const expr *idx;
    bool store, whole;
    enum red_op op;
    struct stmt *s;
};
struct region {
    struct verifier *v;
    const struct var *var;
    struct stmt *loop;
    VEC(struct access) all;
    struct map inside;  /* variables, symbols and buffers defined in the loop */
    struct subst other; /* variables of the loop and below -> their twins in the other iteration */
    struct map stored;  /* buffers stored to */
};
static void note(struct region *r, struct buf *b, const expr *idx, int n, bool store, bool whole, enum red_op op,
                 struct stmt *s) {
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
static void note_load(void *env, struct stmt *s, expr e) {
    note(env, e->u.buf, e->arg, e->n - e->has_fill, false, false, RED_NONE, s);
}
static void twin(struct region *r, const struct var *v) {
    struct ctx *c = r->v->c;
    map_put(&r->inside, PKEY(v), (void *)v);
    map_put(&r->other.map, PKEY(v), (void *)x_var(c, var_new(c, v->name, x_subst(c, v->extent, &r->other))));
}
static bool note_stmt(void *env, struct stmt *s) {
    struct region *r = env;
    switch (s->kind) {
    case S_FOR: twin(r, s->u.loop.var); break;
    case S_STORE: note(r, s->u.store.buf, s->u.store.idx, s->u.store.n, true, false, s->u.store.op, s); break;
    case S_STAGE: {
        int n = s->u.stage.naxes;
        expr *idx = NEWN(&r->v->c->arena, expr, n);
        for (int k = 0; k < n; k++) twin(r, s->u.stage.axes[k]), idx[k] = x_var(r->v->c, s->u.stage.axes[k]);
        for (int k = 0; k < s->u.stage.nred; k++) twin(r, s->u.stage.red[k]);
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
/* e as the other iteration computes it: own variables, and own values of what was loaded there. */
static expr other_node(void *env, expr e) {
    struct region *r = env;
    if (e->op == X_VAR) return map_get(&r->other.map, PKEY(e->u.var));
    bool produced = e->op == X_SYM && map_get(&r->inside, PKEY(e->u.sym));
    if (e->op != X_TOIDX && !produced) return NULL;
    struct depends d = depends_on(r, e);
    if (!d.var && !d.inside) return NULL;
    int64_t lo, hi;
    x_bounds(r->v->c, e, &lo, &hi);
    return x_sym(r->v->c, sym_new(r->v->c, "other", lo, hi, true));
}
static expr x_other(struct region *r, expr e) { return x_map(r->v->c, e, other_node, r); }

/* e = C*v + rest; false if that is not so, or C is not the same everywhere in the loop. */
static bool split(struct region *r, expr e, const struct var *v, expr *coef, expr *rest) {
    struct ctx *c = r->v->c;
    expr zero = x_subst1(c, e, v, x_int(c, 0));
    *coef = x_sub(c, x_subst1(c, e, v, x_addi(c, x_var(c, v), 1)), e);
    *rest = zero;
    if ((*coef)->op == X_POISON || x_uses_var(c, *coef, v)) return false;
    struct depends d = depends_on(r, *coef);
    return !d.inside && !d.var;
}
static bool within(struct region *r, expr d, expr limit) {
    return facts_prove_lt(&r->v->facts, d, limit) && facts_prove_lt(&r->v->facts, x_muli(r->v->c, d, -1), limit);
}
/* C*v is a digit between those of inner loops: d = G*big + small, |small| < C and |C*(v - other v) + small| < G. */
static bool digit_apart(struct region *r, expr d, expr C) {
    struct ctx *c = r->v->c;
    int64_t k, unit, n;
    const expr *t;
    const int64_t *co;
    if (!x_is_int(C, &unit) || !x_is_int(r->var->extent, &n)) return false;
    int terms = x_terms(c, d, &k, &t, &co);
    for (int g = 0; g < terms; g++) {
        int64_t G = co[g] < 0 ? -co[g] : co[g];
        if (G <= unit) continue;
        expr small = d;
        for (int j = 0; j < terms; j++)
            if (co[j] % G == 0) small = x_sub(c, small, x_muli(c, t[j], co[j]));
        if (within(r, small, C) && within(r, small, x_int(c, G - unit * (n - 1)))) return true;
    }
    return false;
}
static bool kept_apart(struct region *r, expr a, expr b) {
    struct ctx *c = r->v->c;
    expr other = map_get(&r->other.map, PKEY(r->var)), ca, cb, ra, rb;
    if (!split(r, a, r->var, &ca, &ra) || !split(r, b, r->var, &cb, &rb) || ca != cb) return false;
    rb = x_subst1(c, x_other(r, b), other->u.var, x_int(c, 0));
    expr zero = x_int(c, 0);
    if (!facts_prove_lt(&r->v->facts, zero, ca)) ca = x_muli(c, ca, -1);
    if (!facts_prove_lt(&r->v->facts, zero, ca)) return false;
    expr d = x_sub(c, rb, ra);
    return d->op != X_POISON && (within(r, d, ca) || digit_apart(r, d, ca));
}
/* Row-major number of the cell without padding: joins what a fused loop's division and modulo took apart. */
static expr joined(struct ctx *c, const struct access *a, int from, int to) {
    expr e = a->idx[from];
    for (int k = from + 1; k <= to; k++) {
        expr i = a->idx[k], n = a->buf->dims[k];
        bool parts = e->op == X_DIV && i->op == X_MOD && e->arg[0] == i->arg[0] && e->arg[1] == n && i->arg[1] == n;
        e = parts ? i->arg[0]
                  : x_add(c, x_mul(c, e, n), i); /* n a symbol: sums of products do not join by themselves */
    }
    return e;
}
struct divisor {
    const struct var *v;
    int64_t by;
};
static bool find_divisor(void *env, expr e) {
    struct divisor *d = env;
    if ((e->op == X_DIV || e->op == X_MOD) && e->type == IDX && e->arg[1]->op == X_CONST &&
        x_uses_var(NULL, e->arg[0], d->v))
        d->by = e->arg[1]->u.i;
    return !d->by;
}
/* Where an access stands, the loops around it below this one run at least once, and conditions hold. */
static void know(struct region *r, const struct stmt *s, bool other) {
    struct ctx *c = r->v->c;
    struct facts *f = &r->v->facts;
    for (const struct stmt *up = stmt_parent(s); up && up != r->loop; s = up, up = stmt_parent(s)) {
        if (up->kind == S_FOR)
            facts_add_le(f, x_int(c, 1), other ? x_other(r, up->u.loop.var->extent) : up->u.loop.var->extent);
        if (up->kind != S_IF || up->u.cond.cond->type != BOOL) continue;
        expr cond = other ? x_other(r, up->u.cond.cond) : up->u.cond.cond;
        (s->in == &up->u.cond.then ? facts_add : facts_add_not)(f, cond);
    }
}
/* Never the same number, whichever iterations the two are of. */
static bool ranges_apart(struct region *r, expr a, expr b) {
    int64_t lo, hi;
    x_bounds(r->v->c, x_sub(r->v->c, a, x_other(r, b)), &lo, &hi);
    return lo > 0 || hi < 0;
}
static bool indices_apart(struct region *r, const struct access *a, const struct access *b) {
    struct ctx *c = r->v->c;
    for (int k = 0; k < a->n; k++)
        if (kept_apart(r, a->idx[k], b->idx[k]) || ranges_apart(r, a->idx[k], b->idx[k])) return true;
    for (int i = 0; i < a->n; i++)
        for (int j = 0; j < a->n; j++) {
            struct divisor d = {r->var, 0};
            if (i == j) continue;
            x_visit(a->idx[i], find_divisor, &d);
            if (d.by && kept_apart(r, x_add(c, x_muli(c, a->idx[i], d.by), a->idx[j]),
                                   x_add(c, x_muli(c, b->idx[i], d.by), b->idx[j])))
                return true;
        }
    if (a->n != a->buf->nd) return false;
    for (int i = 0; i < a->n; i++)
        for (int j = i + 1; j < a->n; j++)
            if (kept_apart(r, joined(c, a, i, j), joined(c, b, i, j))) return true;
    return false;
}
static bool cells_apart(struct region *r, const struct access *a, const struct access *b) {
    if (a->whole || b->whole || a->n != b->n) return false;
    int mark = r->v->facts.n;
    know(r, a->s, false);
    know(r, b->s, true);
    bool apart = indices_apart(r, a, b);
    r->v->facts.n = mark;
    return apart;
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
/* Lanes may add to one cell: the printer makes that a horizontal reduction. */
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
            if (map_get(&r->inside, PKEY(a->buf)) || horizontal(r, a, b) || cells_apart(r, a, b)) continue;
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
    if (!uses || a->n != a->buf->nd) return;
    expr off = buf_offset(c, a->buf, a->idx), rest;
    int64_t coef;
    if (!x_linear_in(c, off, r->var, &coef, &rest) || (coef != 0 && coef != 1))
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
    struct region r = {v, loop->u.loop.var, loop, {0}, {.arena = a}, {{.arena = a}}, {.arena = a}};
    twin(&r, loop->u.loop.var);
    walk(&loop->u.loop.body, note_stmt, &r);
    each_load(&loop->u.loop.body, note_load, &r);
    if (!x_is(loop->u.loop.var->extent, 1)) check_races(&r);
    if (kind != LK_VECTOR) return;
    walk(&loop->u.loop.body, vector_body, &r);
    for (int k = 0; k < r.all.n; k++) check_stride(&r, &r.all.v[k]);
}
