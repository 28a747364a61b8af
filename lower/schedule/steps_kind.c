/* The steps kind, grain and outline: how a loop is run and printed. */
#include "lower/schedule/steps_util.h"

/* The stride of an access along v. A load with fill tests each index, so each must be linear; for others only the
 * offset in memory matters (fused axes are linear only there). */
static bool stride_along(struct step_run *s, const struct access *a, const struct var *v, int64_t *stride) {
    expr rest;
    for (int d = 0; d < a->n && a->load && a->load->has_fill; d++)
        if (!x_linear_in(s->c, a->idx[d], v, stride, &rest)) return false;
    return x_linear_in(s->c, buf_offset(s->c, a->buf, a->idx), v, stride, &rest);
}
bool vector_strides_ok(struct step_run *s, struct stmt *loop) {
    const struct var *v = loop->u.loop.var;
    struct accesses a = {0};
    accesses_of(s, &loop->u.loop.body, &a);
    for (int k = 0; k < a.n; k++) {
        int64_t st = 0;
        if (a.v[k].s->kind == S_IF) { /* there are no masks, so a test must have the same result in all lanes */
            if (x_uses_var(s->c, a.v[k].s->u.cond.cond, v))
                return step_refuse(s, "guard another loop, or use cut", "a test inside of `%s` differs between lanes",
                                   v->name);
            continue;
        }
        if (a.v[k].load && !a.v[k].load->has_fill && x_lanes_found(s->c, buf_offset(s->c, a.v[k].buf, a.v[k].idx), v))
            continue;
        if (!stride_along(s, &a.v[k], v, &st))
            return step_refuse(s, "place and lay out the buffer first, innermost dim along this loop; kinds come last",
                               "`%s` is not accessed linearly along `%s`", a.v[k].buf->name, v->name);
        if (a.v[k].store && st == 0 && is_fma_update(a.v[k].s))
            return step_refuse(s, "rfactor the reduction into lanes first",
                               "the lanes of `%s` add to one cell of `%s` by fma", v->name, a.v[k].buf->name);
        if (a.v[k].store && st == 0 && a.v[k].op == RED_NONE && !x_is(v->extent, 1))
            return step_refuse(s, "vectorise a loop of the stored buffer", "the lanes of `%s` store one cell of `%s`",
                               v->name, a.v[k].buf->name);
        if ((st < 0 || st > (a.v[k].store ? 1 : LANES_APART)) && !x_is(v->extent, 1))
            return step_refuse(s, "place and lay out the buffer first, innermost dim along this loop; kinds come last",
                               "the accesses of `%s` along `%s` are %lld cells apart", a.v[k].buf->name, v->name,
                               (long long)st);
    }
    return true;
}
/* ---- tests that differ between lanes */
/* e cannot fault where cond is false: its index checks also occur in cond's first condition, and it does not divide by
 * a possible 0. That its loads stay inside is proved from the resulting select. */
static bool cannot_fault(void *env, expr e) {
    bool divides = (e->op == X_DIV || e->op == X_MOD) && !dtype_is_float(e->type) && e->arg[1]->op != X_CONST;
    return !divides && (e->op != X_GUARD || x_is_part(env, e));
}
/* Different iterations of a surrounding loop, which the text declares independent, may store this cell; a select would
 * store the old value in all of them, which is a race. Not so for a buffer allocated in each iteration. */
static bool is_shared(const struct stmt *test, const struct buf *b) {
    for (const struct block *in = test->in; in->owner; in = in->owner->in) {
        for (const struct stmt *s = in->first; s; s = s->next)
            if (s->kind == S_ALLOC && s->u.alloc.buf == b) return false;
        if (in->owner->kind == S_FOR && in->owner->u.loop.assumed) return true;
    }
    return false;
}
struct stmt *test_as_select(struct ctx *c, const struct stmt *test) {
    struct stmt *t = test->u.cond.then.first;
    if (!t || t->next || t->kind != S_STORE || t->u.store.op != RED_NONE || test->u.cond.other.first) return NULL;
    expr old = x_load(c, t->u.store.buf, t->u.store.idx, t->u.store.n, NULL), value = t->u.store.value;
    expr cond = test->u.cond.cond, first = cond;
    while (first->op == X_AND) first = first->arg[0]; /* the other operands of `and` are not always evaluated */
    if (!x_is_part(value, old) || !x_visit(value, cannot_fault, (void *)(uintptr_t)first)) return NULL;
    if (is_shared(test, t->u.store.buf)) return NULL;
    bool keeps = value->op == X_SELECT && value->arg[2] == old; /* v keeps the old value where a test of its own fails:
                                                                 * use both conditions in one select */
    if (keeps) cond = x_and(c, cond, value->arg[0]), value = value->arg[1];
    return s_store(c, t->u.store.buf, t->u.store.idx, t->u.store.n, RED_NONE, x_select(c, cond, value, old));
}
/* Applies test_as_select to the tests inside of the loop, where possible. */
static void select_in_lanes(struct step_run *s, struct stmt *loop) {
    struct stmts all = {0};
    stmts_below(s, &loop->u.loop.body, &all);
    for (int k = all.n; k-- > 0;) { /* inner ones first */
        if (all.v[k]->kind != S_IF || !x_uses_var(s->c, all.v[k]->u.cond.cond, loop->u.loop.var)) continue;
        struct stmt *t = test_as_select(s->c, all.v[k]);
        if (!t) continue;
        stmt_insert_before(all.v[k], t);
        stmt_remove(all.v[k]);
    }
}
static bool vector_body_ok(struct step_run *s, struct stmt *loop) {
    struct stmts all = {0};
    stmts_below(s, &loop->u.loop.body, &all);
    for (int k = 0; k < all.n; k++) {
        enum stmt_kind kind = all.v[k]->kind;
        if (kind == S_IF && x_uses_var(s->c, all.v[k]->u.cond.cond, loop->u.loop.var))
            return step_refuse(s, "guard another loop, or use cut", "a test inside of `%s` differs between lanes",
                               loop->u.loop.var->name);
        if (kind != S_STORE && kind != S_IF && kind != S_COMMENT)
            return step_refuse(s, "a vector loop is the innermost one; reorder first", "`%s` holds %s, not only stores",
                               loop->u.loop.var->name, stmt_what(all.v[k]));
    }
    return vector_strides_ok(s, loop);
}
/* A statement that parallel iterations may not contain. `while` is allowed: its accesses are checked like any
 * others. */
static struct stmt *not_at_once(struct step_run *s, struct block *b, enum loop_kind kind) {
    struct stmts all = {0};
    stmts_below(s, b, &all);
    for (int k = 0; k < all.n; k++) {
        struct stmt *t = all.v[k];
        if (t->kind == S_FOREIGN && kind == LK_PARALLEL) continue; /* its operands say what it reads and stores */
        if (is_opaque(t) && t->kind != S_WHILE && !(t->kind == S_BARRIER && kind >= LK_BLOCK_X)) return t;
    }
    return NULL;
}
/* Accesses by foreign functions: the slices given by the leading indices of their operands. */
static void foreign_accesses(struct step_run *s, struct block *b, struct accesses *out) {
    struct stmts all = {0};
    stmts_below(s, b, &all);
    for (int k = 0; k < all.n; k++)
        for (int j = 0; all.v[k]->kind == S_FOREIGN && j < all.v[k]->u.foreign.nops; j++) {
            const struct foreign_operand *o = &all.v[k]->u.foreign.ops[j];
            struct named_buf named;
            stmt_buf(all.v[k], j, &named);
            struct access a = {.store = (named.use & BU_WRITTEN) != 0,
                               .buf = o->buf,
                               .idx = all.v[k]->u.foreign.idx + o->first,
                               .n = o->n};
            PUSH(&s->tmp, out, a);
        }
}
static int fewer(int a, int b) { return a < b ? a : b; }
/* Of two iterations that may run at once, neither may store what the other stores or reads. */
static bool no_race(struct step_run *s, struct stmt *loop, enum loop_kind kind) {
    struct block *b = &loop->u.loop.body;
    struct stmt *bad = not_at_once(s, b, kind);
    struct vars moving = {0};
    struct accesses a = {0};
    const struct var *v = loop->u.loop.var;
    if (bad) return step_refuse(s, NULL, "%s inside of `%s` cannot run in parallel", stmt_what(bad), v->name);
    if (x_is(v->extent, 1)) return true;
    PUSH(&s->tmp, &moving, v);
    vars_below(s, b, &moving);
    accesses_of(s, b, &a);
    foreign_accesses(s, b, &a);
    for (int k = 0; k < a.n; k++) {
        if (!a.v[k].store || block_allocs(b, a.v[k].buf)) continue;
        if (loop->u.loop.assumed && a.v[k].buf->scope == SC_PARAM) continue;
        for (int j = 0; j < a.n; j++) {
            if (a.v[j].buf != a.v[k].buf) continue;
            struct meet m = step_meet(s, a.v[k].idx, a.v[j].idx, fewer(a.v[k].n, a.v[j].n), &moving);
            if (m.never || has_var(&m.fixed, v)) continue;
            return step_refuse(s,
                               "make a loop parallel that is an axis of the stored buffer; rfactor splits reductions",
                               "two iterations of `%s` may %s one cell of `%s`: a race", v->name,
                               a.v[j].store ? "store" : "store and read", a.v[k].buf->name);
        }
    }
    return true;
}
bool apply_kind(struct step_run *s) {
    enum loop_kind kind = s->step->u.kind.kind;
    const struct word_list *loops = &s->step->u.kind.loops;
    int64_t n;
    for (int w = 0; w < loops->n; w++) {
        struct stmts l = {0};
        if (!find_loops(s, loops->v[w], &l)) return false;
        for (int k = 0; k < l.n; k++) {
            struct stmt *t = l.v[k];
            const struct var *v = t->u.loop.var;
            bool constant = x_is_int(v->extent, &n);
            if (t->u.loop.piped && kind != LK_SERIAL)
                return step_refuse(s, NULL, "`%s` is pipelined and stays serial", v->name);
            if ((kind == LK_UNROLL || kind == LK_VECTOR) && !constant)
                return step_refuse(s, "split the loop by a constant and take the inner one",
                                   "the extent of `%s` is not constant", v->name);
            if (kind == LK_VECTOR) select_in_lanes(s, t), read_in_lanes(s, t);
            if (kind == LK_VECTOR && !vector_body_ok(s, t)) return false;
            if ((kind == LK_PARALLEL || kind >= LK_BLOCK_X) && !no_race(s, t, kind)) return false;
            t->u.loop.kind = kind;
            t->u.loop.grain = 0;
        }
    }
    return true;
}
bool apply_grain(struct step_run *s) {
    struct stmts l = {0};
    int64_t n = s->step->u.grain.n;
    if (!find_loops(s, s->step->u.grain.loop, &l)) return false;
    if (n < 1) return step_refuse(s, NULL, "a grain of %lld iterations", (long long)n);
    for (int k = 0; k < l.n; k++) {
        if (l.v[k]->u.loop.kind != LK_PARALLEL)
            return step_refuse(s, "`kind parallel` first", "`%s` is not parallel", l.v[k]->u.loop.var->name);
        l.v[k]->u.loop.grain = n;
    }
    return true;
}
bool apply_outline(struct step_run *s) {
    struct stmts l = {0};
    if (!find_loops(s, s->step->u.outline.loop, &l)) return false;
    for (int k = 0; k < l.n; k++) l.v[k]->u.loop.outline = true;
    return true;
}
