/* The rules of the loop IR for definitions and expressions, and reporting of violations. Used by loop.c, which checks
 * statements. */
#include "ir/base/memory.h"
#include "ir/loop/target.h"
#include "ir/verify/loop_int.h"
#include <stdlib.h>

enum { MAX_REFUSALS = 10 };
static char visible, gone; /* states of a definition; not in the map: not seen yet */

enum diag_code broken_code(const char *after) { return after ? E_BROKEN : E_VERIFY; }

void refuse(struct verifier *v, const char *fmt, ...) {
    if (v->errors++ >= MAX_REFUSALS) return;
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    const char *at = v->at ? arena_printf(&v->c->arena, ", `%s`", stmt_text(v->c, v->p, v->at)) : "";
    diag(&v->c->diags, DIAG_ERROR, broken_code(v->after), "%s%sprocedure %s%s: %s", v->after ? v->after : "",
         v->after ? ": " : "", v->p ? v->p->name : "", at, t.s);
    text_free(&t);
}
const char *show(struct verifier *v, expr e) { return expr_text(v->c, v->p, v->at, e); }

/* ---- definitions */
bool is_visible(struct verifier *v, const void *key) { return map_get(&v->state, PKEY(key)) == &visible; }
bool is_known(struct verifier *v, const void *key) { return map_get(&v->state, PKEY(key)) != NULL; }
void set_visible(struct verifier *v, const void *key) { map_put(&v->state, PKEY(key), &visible); }
void set_gone(struct verifier *v, const void *key) { map_put(&v->state, PKEY(key), &gone); }
bool use_buf(struct verifier *v, const struct buf *b) {
    if (!b) refuse(v, "a buffer is missing");
    else if (!map_get(&v->own, PKEY(b))) refuse(v, "buffer %s is not one of this procedure's", b->name);
    else if (!is_visible(v, b))
        refuse(v, "buffer %s is used %s", b->name, is_known(v, b) ? "after its end" : "before it is allocated");
    else return true;
    return false;
}
void define_var(struct verifier *v, const struct var *x) {
    if (is_known(v, x)) refuse(v, "variable %s belongs to two loops", x->name);
    set_visible(v, x);
}

/* ---- expressions: each distinct node once for each set of facts */
static bool in_frames(const struct verifier *v, uint32_t gen) {
    for (int k = v->frames.n; k-- > 0;)
        if (v->frames.v[k] == gen) return true;
    return false;
}
static struct seen *seen_slot(struct verifier *v, expr e) {
    size_t at = e->hash & (v->seen_cap - 1);
    while (v->seen[at].key && v->seen[at].key != e) at = (at + 1) & (v->seen_cap - 1);
    return &v->seen[at];
}
static void seen_grow(struct verifier *v) {
    struct seen *old = v->seen;
    size_t cap = v->seen_cap;
    v->seen_cap = cap ? cap * 2 : 1024;
    v->seen = memory_zeroed(v->seen_cap, sizeof *v->seen);
    v->seen_n = 0;
    for (size_t k = 0; k < cap; k++)
        if (old[k].key && in_frames(v, old[k].gen)) *seen_slot(v, old[k].key) = old[k], v->seen_n++;
    free(old);
}
static bool first_visit(struct verifier *v, expr e) {
    if (v->seen_n * 2 >= v->seen_cap) seen_grow(v);
    struct seen *s = seen_slot(v, e);
    if (s->key && in_frames(v, s->gen)) return false;
    if (!s->key) v->seen_n++;
    *s = (struct seen){e, v->frames.v[v->frames.n - 1]};
    return true;
}
void push_frame(struct verifier *v) {
    ++v->gen;
    PUSH(&v->c->arena, &v->frames, v->gen);
}
void pop_frame(struct verifier *v) { v->frames.n--; }

/* V7: register buffers are printed as variables, so each index must be known when the text is printed. */
static void check_reg_index(struct verifier *v, const struct buf *b, expr idx) {
    for (int k = 0; k < v->loops.n; k++) {
        const struct stmt *l = v->loops.v[k];
        enum loop_kind kind = l->u.loop.kind;
        bool fine = kind == LK_UNROLL || kind == LK_VECTOR || kind >= LK_THREAD_X || x_is(l->u.loop.var->extent, 1);
        if (!fine && x_uses_var(v->c, idx, l->u.loop.var))
            refuse(v, "register buffer %s is indexed by %s, a %s loop", b->name, l->u.loop.var->name,
                   loop_kind_name(kind));
    }
    if (idx->op == X_TOIDX || idx->op == X_GUARD || idx->op == X_SYM)
        refuse(v, "register buffer %s is indexed by %s, which only the run knows", b->name, show(v, idx));
}
/* A run-time check can ensure what is not refuted. */
bool wants_check(struct verifier *v, struct unproved u, bool refuted) {
    if (!v->unproved || refuted) return false;
    PUSH(&v->c->arena, &v->unproved->v, u);
    return true;
}
static bool always_outside(struct verifier *v, expr idx, expr dim) {
    return facts_prove_lt(&v->facts, idx, x_int(v->c, 0)) || facts_prove_le(&v->facts, dim, idx);
}
static bool is_of_thread(const struct verifier *v, expr idx) {
    for (int k = 0; k < v->loops.n; k++)
        if (v->loops.v[k]->u.loop.kind >= LK_THREAD_X && idx->op == X_VAR && idx->u.var == v->loops.v[k]->u.loop.var)
            return true;
    return false;
}
void check_access(struct verifier *v, const struct buf *b, const expr *idx, int n, bool proven) {
    if (!use_buf(v, b)) return;
    if (n != b->nd) {
        refuse(v, "%s has %d dims, but %d indices", b->name, b->nd, n);
        return;
    }
    for (int k = 0; k < n; k++) {
        if (idx[k]->type != IDX) {
            refuse(v, "index %d of %s is %s", k + 1, b->name, dtype_name((enum dtype)idx[k]->type));
            continue;
        }
        if (v->final && b->scope == SC_REG && !v->in_instr) check_reg_index(v, b, idx[k]);
        if (buf_is_apart(b, k) && !is_of_thread(v, idx[k]) && !instr_spreads(instr_around(v->at), b, k))
            refuse(v, "threads differ along dim %d of %s, but its index is %s", k, b->name, show(v, idx[k]));
        if (!proven || v->never) continue;
        if (idx[k]->op == X_GUARD && idx[k]->arg[1] == b->dims[k]) continue;
        bool low = facts_prove_le(&v->facts, x_int(v->c, 0), idx[k]),
             high = facts_prove_lt(&v->facts, idx[k], b->dims[k]);
        if ((low && high) || facts_contradict(&v->facts)) continue;
        if (wants_check(v, (struct unproved){v->at, b, k, idx[k], NULL}, always_outside(v, idx[k], b->dims[k])))
            continue;
        refuse(v, "index %d of %s: %s may be %s %s", k + 1, b->name, show(v, idx[k]), low ? "at or above" : "below",
               low ? show(v, b->dims[k]) : "0");
        diag_help(&v->c->diags, "give the load a fill, the index a guard, or put the access under a condition");
    }
}
void check_expr(struct verifier *v, expr e) {
    if (!e) {
        refuse(v, "an expression is missing");
        return;
    }
    if (!first_visit(v, e)) return;
    switch (e->op) {
    case X_POISON: refuse(v, "an expression could not be built"); return;
    case X_VAR:
        if (!is_visible(v, e->u.var)) refuse(v, "variable %s is used outside of its loop", e->u.var->name);
        return;
    case X_SYM:
        if (!is_visible(v, e->u.sym))
            refuse(v, "symbol %s is used %s", e->u.sym->name,
                   is_known(v, e->u.sym) ? "outside of its block" : "before it is defined");
        return;
    case X_ARG: refuse(v, "a function's argument stands in a procedure"); return;
    case X_LOAD:
        check_access(v, e->u.buf, e->arg, e->n - e->has_fill, !e->has_fill);
        if (e->type != dtype_value(e->u.buf->type))
            refuse(v, "a load from %s has type %s", e->u.buf->name, dtype_name((enum dtype)e->type));
        break;
    case X_CALL:
        for (int k = 0; k < e->n; k++)
            if (e->arg[k]->type != e->u.fn->args[k])
                refuse(v, "argument %d of %s is %s", k + 1, e->u.fn->name, dtype_name((enum dtype)e->arg[k]->type));
        break;
    case X_SELECT: {
        check_expr(v, e->arg[0]);
        bool useful = facts_useful(e->arg[0]);
        for (int k = 1; k < 3; k++) {
            int mark = v->facts.n;
            if (useful) push_frame(v), (k == 1 ? facts_add : facts_add_not)(&v->facts, e->arg[0]);
            check_expr(v, e->arg[k]);
            if (useful) pop_frame(v), v->facts.n = mark;
        }
        return;
    }
    default: break;
    }
    for (int k = 0; k < e->n; k++) check_expr(v, e->arg[k]);
}
void check_typed(struct verifier *v, expr e, enum dtype type, const char *what) {
    check_expr(v, e);
    if (e && e->op != X_POISON && e->type != type)
        refuse(v, "%s is %s, not %s", what, dtype_name((enum dtype)e->type), dtype_name(type));
}
