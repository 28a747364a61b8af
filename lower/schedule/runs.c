/* Strategy for nests of stores that move cells (Concat, Slice, Scatter) into plain results: innermost axes that are one
 * in memory become one loop, which is copied in vectors. See cpu.h, docs/schedules.md. */
#include "lower/schedule/cpu.h"
#include <string.h>

static const struct stmt *loop_at(const struct problem_loop *l, int k) {
    const struct stmt *s = l->loop;
    while (k--) s = s->u.loop.body.first;
    return s;
}
static const struct var *var_at(const struct problem_loop *l, int k) { return loop_at(l, k)->u.loop.var; }
static bool is_wide(const struct problem_loop *l, int k) { return !x_is(var_at(l, k)->extent, 1); }

/* ---- one nest */
struct reading {
    struct plan *u;
    const struct var *outer, *inner; /* a step along the outer one is all of the inner one; NULL: along inner alone */
    bool bad;
};
static bool lies_plain(const struct reading *q, const struct buf *b) {
    const struct param_layout *l = layout_of(q->u->p, q->u->l, b);
    return !l || !l->spec;
}
static bool continues(const struct reading *q, const struct buf *b, const expr *idx) {
    struct ctx *c = q->u->c;
    struct subst next = {{.arena = &c->arena}};
    map_put(&next.map, PKEY(q->outer), (void *)x_addi(c, x_var(c, q->outer), 1));
    map_put(&next.map, PKEY(q->inner), (void *)x_sub(c, x_var(c, q->inner), q->inner->extent));
    expr off = buf_offset(c, b, idx);
    return x_is(x_sub(c, x_subst(c, off, &next), off), 0);
}
static int64_t stride_of(const struct reading *q, const struct buf *b, const expr *idx) {
    int64_t stride;
    expr rest;
    return x_linear_in(q->u->c, buf_offset(q->u->c, b, idx), q->inner, &stride, &rest) ? stride : -1;
}
static bool check_load(void *env, expr e) {
    struct reading *q = env;
    if (e->op != X_LOAD) return true;
    int64_t stride = q->outer ? 0 : stride_of(q, e->u.buf, e->arg);
    q->bad |= e->has_fill || !lies_plain(q, e->u.buf) || stride < 0 || stride > 1 ||
              (q->outer && !continues(q, e->u.buf, e->arg));
    return false; /* an index that is read is of no interest, but that it does not depend on the axes */
}
static bool runs_along(struct plan *u, const struct stmt *s, const struct var *outer, const struct var *inner) {
    struct reading q = {u, outer, inner, false};
    const struct buf *b = s->u.store.buf;
    x_visit(s->u.store.value, check_load, &q);
    return !q.bad && lies_plain(&q, b) &&
           (outer ? continues(&q, b, s->u.store.idx) : stride_of(&q, b, s->u.store.idx) == 1);
}
/* So many innermost loops are one in memory, in which neighbours are neighbours; 0: not even the innermost one's are.
 */
static int run_of(struct plan *u, const struct problem_loop *l) {
    const struct stmt *s = loop_at(l, l->depth);
    const struct var *inner = NULL;
    int k = l->depth;
    while (k-- > 0) {
        const struct var *v = var_at(l, k);
        if (!is_wide(l, k)) continue;
        if (!runs_along(u, s, inner ? v : NULL, inner ? inner : v)) break;
        inner = v;
    }
    return inner ? l->depth - 1 - k : 0;
}

/* ---- nests whose loops have the same names: steps go by name, so they are scheduled together */
struct runs {
    const struct problem_loop *first;
    int merged;
};
static bool same_loops(const struct problem_loop *a, const struct problem_loop *b) {
    if (a->depth != b->depth) return false;
    for (int k = 0; k < a->depth; k++)
        if (strcmp(var_at(a, k)->name, var_at(b, k)->name) != 0) return false;
    return true;
}
/* Those that nest `at` is the first of; false: it is not, or they hold no runs. */
static bool find_runs(struct plan *u, int at, struct runs *q) {
    const struct problem_loop *l = u->k->loops.v;
    *q = (struct runs){&l[at], l[at].depth};
    for (int k = 0; k < u->k->loops.n; k++) {
        if (strcmp(var_at(&l[k], 0)->name, var_at(&l[at], 0)->name) != 0) continue;
        if (k < at || !same_loops(&l[k], &l[at])) return false;
        for (int d = 0; d < l[k].depth; d++)
            if (is_role(var_at(&l[k], d)->name)) return false;
        int merged = run_of(u, &l[k]);
        if (merged < q->merged) q->merged = merged;
    }
    return q->merged;
}
static const char *runs_points(struct plan *u, struct points *out) {
    struct runs q;
    bool any = false;
    if (lanes_of(u) < 2) return "there are no vectors";
    if (u->k->cls != PROBLEM_MOVE) return "more than moves";
    for (int k = 0; k < u->k->loops.n; k++) any |= find_runs(u, k, &q);
    if (!any) return "no cells are neighbours in all that is moved";
    add_point(u, out, &strategy_runs);
    return NULL;
}
static const char *runs_steps(struct plan *u, const struct point *p) {
    struct runs q;
    (void)p;
    layout_steps(&u->s, u->p, u->l);
    for (int k = 0; k < u->k->loops.n; k++) {
        if (!find_runs(u, k, &q)) continue;
        int d = q.first->depth - 1;
        const char *loop = var_at(q.first, d)->name;
        for (; d > q.first->depth - q.merged; loop = role.flat)
            step_fuse(&u->s, var_at(q.first, --d)->name, loop, role.flat);
        step_split(&u->s, loop, lanes_of(u), role.cells, role.lane, TAIL_CUT2);
    }
    step_kind(&u->s, LK_VECTOR, LOOPS(role.lane));
    return NULL;
}
const struct strategy strategy_runs = {"runs", runs_points, runs_steps, NULL};
