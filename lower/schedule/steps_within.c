/* The step within: an operand is stored inside of the result into which it was copied (lower/coalesce.c). */
#include "lower/schedule/steps_util.h"

static expr only_turn(void *env, expr e) { return e->op == X_VAR && x_is(e->u.var->extent, 1) ? x_int(env, 0) : NULL; }
/* The store copies a cell of x to the cell of y that is *cells further on. */
static bool copies(struct ctx *c, const struct stmt *t, const struct buf *y, const struct buf *x, int64_t *cells) {
    expr v = t->u.store.value;
    if (t->u.store.buf != y || t->u.store.op != RED_NONE || v->op != X_LOAD || v->u.buf != x || v->has_fill)
        return false;
    expr distance = x_sub(c, buf_offset(c, y, t->u.store.idx), buf_offset(c, x, v->arg));
    return x_is_int(x_map(c, distance, only_turn, c), cells);
}
/* How often the store runs; -1: not constant, or only under conditions. */
static int64_t runs_of(const struct stmt *t) {
    int64_t n = 1, e;
    for (const struct stmt *up = stmt_parent(t); up; up = stmt_parent(up)) {
        if (up->kind != S_FOR || !x_is_int(up->u.loop.var->extent, &e) || (e && n > INT64_MAX / 4 / e)) return -1;
        n *= e;
    }
    return n;
}
struct copy_scan {
    struct ctx *c;
    const struct buf *y, *x;
    int64_t cells, runs;
    int loads, copies;
    bool same, others;
};
static bool scan_copy(void *env, struct stmt *t) {
    struct copy_scan *q = env;
    int64_t k, n;
    if (t->kind != S_STORE) {
        q->others |= t->kind != S_FOR;
        return true;
    }
    if (!copies(q->c, t, q->y, q->x, &k)) {
        q->others = true;
        return true;
    }
    if (q->copies++ && k != q->cells) q->same = false;
    q->cells = k;
    n = runs_of(t);
    if (n < 0) q->same = false;
    q->runs += n;
    return true;
}
static void count_load(void *env, const struct stmt *t, expr load) {
    struct copy_scan *q = env;
    (void)t;
    q->loads += load->u.buf == q->x;
}
/* Implements kernel_copies, see schedule.h. */
bool kernel_copies(struct ctx *c, struct proc *p, const struct buf *y, const struct buf *x, int64_t *cells, bool *all) {
    struct copy_scan q = {c, y, x, 0, 0, 0, 0, true, false};
    int64_t nx, ny;
    if (y->type != x->type || !x_is_int(buf_cells(c, x), &nx) || !x_is_int(buf_cells(c, y), &ny)) return false;
    walk(&p->body, scan_copy, &q);
    each_load(&p->body, count_load, &q);
    *cells = q.cells, *all = !q.others;
    if (!q.copies || !q.same || q.loads != q.copies || q.runs != (nx < ny ? nx : ny)) return false;
    return nx <= ny ? q.cells >= 0 && q.cells + nx <= ny : q.cells <= 0 && ny - q.cells <= nx;
}
bool apply_within(struct step_run *s) {
    struct buf *y, *x;
    int64_t from, cells, lo, hi;
    bool all;
    if (!result_and_operand(s, &y, &x)) return false;
    if (!kernel_copies(s->c, s->p, y, x, &from, &all) || !x_is_int(buf_cells(s->c, x), &cells))
        return step_refuse(s, NULL, "`%s` is not just copied to one place of `%s`", x->name, y->name);
    struct stmts stmts = {0};
    stmts_below(s, &s->p->body, &stmts);
    for (int k = 0; k < stmts.n; k++) {
        struct stmt *t = stmts.v[k];
        int64_t at;
        if (t->kind != S_STORE || t->u.store.buf != y) continue;
        if (copies(s->c, t, y, x, &at)) continue;
        x_bounds(s->c, buf_offset(s->c, y, t->u.store.idx), &lo, &hi);
        if (hi >= from && lo < from + cells)
            return step_refuse(s, NULL, "more than the copy may store to the place of `%s`", x->name);
    }
    for (int k = 0; k < stmts.n; k++) {
        struct stmt *t = stmts.v[k], *up;
        int64_t at;
        if (t->kind != S_STORE || !copies(s->c, t, y, x, &at)) continue;
        while ((up = stmt_parent(t)) && up->kind == S_FOR && block_only(&up->u.loop.body)) t = up;
        stmt_remove(t);
    }
    proc_drop_param(s->p, proc_param_at(s->p, x));
    return true;
}
