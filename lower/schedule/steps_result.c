/* Steps on the results of a kernel, the last ones of its schedule. scratch: what a kernel needs besides, the caller
 * provides. border: the zeros around a result that windows will read past its edge, and in pad lanes that the kernel
 * does not fill. over: a result takes the storage of an operand that nothing reads afterwards; within: an operand lies
 * inside of the result that it was copied into (lower/reuse.c, lower/coalesce.c). */
#include "lower/schedule/steps_util.h"

static void loops_above(struct step *s, const struct stmt *t, struct stmts *out) { /* innermost first */
    for (struct stmt *up = stmt_parent(t); up; up = stmt_parent(up))
        if (up->kind == S_FOR) PUSH(&s->tmp, out, up);
}
static bool holds(const struct stmts *l, const struct stmt *t) {
    for (int k = 0; k < l->n; k++)
        if (l->v[k] == t) return true;
    return false;
}
/* Of two statements neither of which holds the other: does a run first, in the same iteration of their common loops? */
static bool runs_before(const struct stmt *a, const struct stmt *b) {
    for (const struct stmt *up = a; up; up = stmt_parent(up))
        for (const struct stmt *t = b; t; t = stmt_parent(t)) {
            if (t->in != up->in) continue;
            for (const struct stmt *n = up->next; n; n = n->next)
                if (n == t) return true;
            return false;
        }
    return false;
}
/* a and b are never one cell, or are one only in the same iteration of the common loops, in which it is well (first).
 */
static bool in_order(struct step *s, const expr *a, const expr *b, int n, const struct vars *moving,
                     const struct vars *common, bool first) {
    struct meet m = cells_meet(s, a, b, n, moving);
    for (int k = 0; k < common->n && !m.never; k++)
        if (!has_var(&m.fixed, common->v[k])) return false;
    return m.never || first;
}
/* Each cell is read before it is overwritten: a load and a store that may touch one cell do so in one iteration of
 * their common loops, in which the load comes first. */
static bool load_comes_first(struct step *s, const struct access *load, const struct access *store) {
    struct stmts of_load = {0}, of_store = {0};
    struct vars moving = {0}, common = {0};
    bool own = load->s == store->s; /* the value is computed before it is stored */
    loops_above(s, load->s, &of_load);
    loops_above(s, store->s, &of_store);
    for (int k = 0; k < of_store.n; k++) {
        PUSH(&s->tmp, &moving, of_store.v[k]->u.loop.var);
        if (holds(&of_load, of_store.v[k])) PUSH(&s->tmp, &common, of_store.v[k]->u.loop.var);
    }
    for (int k = 0; k < of_load.n; k++)
        if (!holds(&of_store, of_load.v[k])) PUSH(&s->tmp, &moving, of_load.v[k]->u.loop.var);
    bool first = own || runs_before(load->s, store->s);
    if (in_order(s, store->idx, load->idx, store->n, &moving, &common, first)) return true;
    if (load->load->has_fill) return false;
    /* axes that were fused are one in memory; the geometry is the same */
    expr to = buf_offset(s->c, store->buf, store->idx), from = buf_offset(s->c, load->buf, load->idx);
    return in_order(s, &to, &from, 1, &moving, &common, first);
}
static bool same_geometry(struct step *s, const struct buf *a, const struct buf *b) {
    struct ctx *c = s->c;
    if (a->type != b->type || a->nd != b->nd || a->nlogical != b->nlogical) return false;
    expr *v = NEWN(&s->tmp, expr, a->nd + 1);
    struct subst by = {.map = {.arena = &s->tmp}};
    for (int k = 0; k < a->nlogical; k++) {
        if (a->logical[k] != b->logical[k]) return false;
        map_put(&by.map, PKEY(a->lvar[k]), (void *)x_var(c, b->lvar[k]));
    }
    for (int k = 0; k < a->nd; k++) {
        v[k] = x_subst(c, a->map[k], &by);
        if (a->dims[k] != b->dims[k] || v[k] != b->map[k]) return false;
        if ((a->pad ? a->pad[k] : 0) != (b->pad ? b->pad[k] : 0)) return false;
    }
    return true;
}
static int param_of(const struct proc *p, const struct buf *b) {
    for (int k = 0; k < p->params.n; k++)
        if (p->params.v[k].buf == b) return k;
    return -1;
}
/* Only loads and stores say which cells they touch. */
static bool only_accessed(struct step *s, const struct buf *b) {
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++) {
        struct stmt *t = all.v[k];
        bool moves = t->kind == S_PREFETCH; /* with the loads */
        if (t->kind == S_WHILE || (!moves && stmt_names(t, b)))
            return step_refuse(s, NULL, "`%s` is used by %s", b->name, stmt_what(t));
    }
    return true;
}
bool apply_over(struct step *s) {
    struct accesses a = {0};
    struct buf *y, *x;
    if (!words_ok(s, 2, 2) || !(y = find_buf(s, s->w[0].text)) || !(x = find_buf(s, s->w[1].text))) return false;
    int py = param_of(s->p, y), px = param_of(s->p, x);
    if (py < 0 || px < 0 || py == px || s->p->params.v[py].dir != DIR_OUT || s->p->params.v[px].dir != DIR_IN)
        return step_refuse(s, NULL, "`%s` is no result, or `%s` no operand", y->name, x->name);
    if (!same_geometry(s, y, x))
        return step_refuse(s, NULL, "`%s` and `%s` differ in type or layout", y->name, x->name);
    if (!only_accessed(s, y) || !only_accessed(s, x)) return false;
    accesses_of(s, &s->p->body, &a);
    for (int i = 0; i < a.n; i++)
        for (int j = 0; j < a.n && a.v[i].buf == y; j++) {
            if (!a.v[i].store) return step_refuse(s, NULL, "the kernel reads its result `%s` itself", y->name);
            if (a.v[j].buf == x && !load_comes_first(s, &a.v[j], &a.v[i]))
                return step_refuse(s, NULL, "a cell of `%s` may be read after `%s` has overwritten it", x->name,
                                   y->name);
        }
    struct redirect r = {s->c, y};
    map_loads(s, &s->p->body, x, redirected_load, &r);
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_PREFETCH && all.v[k]->u.prefetch.buf == x) all.v[k]->u.prefetch.buf = y;
    s->p->params.v[py].dir = DIR_INOUT;
    for (int k = px + 1; k < s->p->params.n; k++) s->p->params.v[k - 1] = s->p->params.v[k];
    s->p->params.n--;
    proc_drop_buf(s->p, x);
    return true;
}

/* ---- scratch */
static struct stmt *alloc_of(struct step *s, const struct buf *b) {
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_ALLOC && all.v[k]->u.alloc.buf == b) return all.v[k];
    return NULL;
}
/* Parameters come first among the buffers. */
static void params_first(struct step *s) {
    struct proc *p = s->p;
    int n = 0;
    struct buf **v = NEWN(&s->c->arena, struct buf *, p->bufs.n + 1);
    for (int i = 0; i < p->params.n; i++) v[n++] = p->params.v[i].buf;
    for (int i = 0; i < p->bufs.n; i++)
        if (p->bufs.v[i]->scope != SC_PARAM) v[n++] = p->bufs.v[i];
    p->bufs.v = v, p->bufs.n = p->bufs.cap = n;
}
bool apply_scratch(struct step *s) {
    struct buf **v;
    int n, params = s->p->params.n;
    if (!words_ok(s, 1, 1) || !find_buf(s, s->w[0].text)) return false;
    bufs_named(s, s->w[0].text, &v, &n);
    for (int k = 0; k < n; k++) {
        struct stmt *alloc = alloc_of(s, v[k]);
        if (v[k]->scope != SC_ARENA || v[k]->fill || !alloc) continue; /* what is filled is filled where it is made */
        for (struct stmt *up = stmt_parent(alloc); up; up = stmt_parent(up))
            if (up->kind == S_FOR && up->u.loop.kind != LK_SERIAL && up->u.loop.kind != LK_UNROLL)
                return step_refuse(s, NULL, "each iteration of the %s loop `%s` has a `%s` of its own",
                                   loop_kind_name(up->u.loop.kind), up->u.loop.var->name, v[k]->name);
        v[k]->scope = SC_PARAM;
        struct param q = {v[k], DIR_OUT};
        PUSH(&s->c->arena, &s->p->params, q);
        stmt_remove(alloc);
    }
    if (s->p->params.n == params)
        return step_refuse(s, NULL, "no `%s` is allocated in the arena, without a fill value", s->w[0].text);
    params_first(s);
    return true;
}

/* ---- border */
/* Physical dim k is one logical dim and cells before and after it. */
static bool border_of(struct ctx *c, const struct buf *b, int k, int64_t *lo, int64_t *hi) {
    for (int d = 0; d < b->nlogical; d++) {
        if (!x_is_int(x_sub(c, b->map[k], x_var(c, b->lvar[d])), lo) || *lo < 0) continue;
        return x_is_int(x_addi(c, x_sub(c, b->dims[k], b->logical[d]), -*lo), hi) && *hi >= 0;
    }
    *lo = *hi = 0;
    return true;
}
/* Zeros in the cells [from, from + n) of dim d, in all cells of the dims after it, inside the border of those before.
 */
static struct stmt *border_strip(struct step *s, struct buf *b, int d, expr from, int64_t n) {
    struct ctx *c = s->c;
    const struct var **v = NEWN(&s->tmp, const struct var *, b->nd);
    expr *idx = NEWN(&s->tmp, expr, b->nd);
    for (int k = 0; k < b->nd; k++) {
        int64_t lo = 0, hi = 0;
        if (k < d) border_of(c, b, k, &lo, &hi);
        expr extent = k == d ? x_int(c, n) : x_addi(c, b->dims[k], -lo - hi);
        v[k] = var_new(c, internf(c->names, "border%d.i%d", d, k), extent);
        idx[k] = x_add(c, x_var(c, v[k]), k == d ? from : x_int(c, lo));
    }
    return loops_around(c, v, b->nd, s_store(c, b, idx, b->nd, RED_NONE, x_num(c, dtype_value(b->type), 0)));
}
/* Dims div and mod of b are logical dim d in blocks of n, the last of which holds `used` cells and then pad lanes. */
struct lanes {
    int div, mod;
    int64_t n, used;
};
static bool pad_lanes(struct ctx *c, const struct buf *b, int d, struct lanes *l) {
    int64_t channels, n;
    *l = (struct lanes){-1, -1, 1, 0};
    for (int k = 0; k < b->nd; k++) {
        if (!x_uses_var(c, b->map[k], b->lvar[d])) continue;
        if (x_is_int(b->dims[k], &n) && b->map[k] == x_modi(c, x_var(c, b->lvar[d]), n)) l->mod = k, l->n = n;
        else l->div = k;
    }
    if (l->mod < 0 || l->div < 0 || !x_is_int(b->logical[d], &channels)) return false;
    l->used = channels % l->n;
    return l->used && b->map[l->div] == x_divi(c, x_var(c, b->lvar[d]), l->n);
}
/* A kernel that was widened fills its pad lanes itself. */
static bool stores_pad_lanes(struct step *s, const struct buf *b, const struct lanes *l) {
    struct accesses a = {0};
    int64_t lo, hi, blocks;
    accesses_of(s, &s->p->body, &a);
    for (int k = 0; k < a.n; k++) {
        if (a.v[k].buf != b || !a.v[k].store || !x_is_int(b->dims[l->div], &blocks)) continue;
        x_bounds(s->c, x_add(s->c, x_muli(s->c, a.v[k].idx[l->div], l->n), a.v[k].idx[l->mod]), &lo, &hi);
        if (hi >= (blocks - 1) * l->n + l->used) return true;
    }
    return false;
}
static struct stmt *zero_lanes(struct step *s, struct buf *b, int d, const struct lanes *l) {
    struct ctx *c = s->c;
    const struct var **v = NEWN(&s->tmp, const struct var *, b->nd);
    expr *idx = NEWN(&s->tmp, expr, b->nd);
    for (int k = 0; k < b->nd; k++) {
        expr extent = k == l->div ? x_int(c, 1) : k == l->mod ? x_int(c, l->n - l->used) : b->dims[k];
        v[k] = var_new(c, internf(c->names, "pad%d.i%d", d, k), extent);
        idx[k] = x_var(c, v[k]);
    }
    idx[l->div] = x_add(c, idx[l->div], x_addi(c, b->dims[l->div], -1));
    idx[l->mod] = x_addi(c, idx[l->mod], l->used);
    return loops_around(c, v, b->nd, s_store(c, b, idx, b->nd, RED_NONE, x_num(c, dtype_value(b->type), 0)));
}
bool apply_border(struct step *s) {
    struct buf *b;
    int64_t lo, hi;
    struct lanes l;
    if (!words_ok(s, 1, 1) || !(b = find_buf(s, s->w[0].text))) return false;
    int at = param_of(s->p, b);
    if (at < 0 || s->p->params.v[at].dir == DIR_IN) return step_refuse(s, NULL, "`%s` is no result", b->name);
    for (int k = 0; k < b->nd; k++) {
        if (!border_of(s->c, b, k, &lo, &hi))
            return step_refuse(s, NULL, "the border of dim %d of `%s` is not constant", k, b->name);
        if (lo) block_append(&s->p->body, border_strip(s, b, k, x_int(s->c, 0), lo));
        if (hi) block_append(&s->p->body, border_strip(s, b, k, x_addi(s->c, b->dims[k], -hi), hi));
    }
    for (int d = 0; d < b->nlogical; d++)
        if (pad_lanes(s->c, b, d, &l) && !stores_pad_lanes(s, b, &l))
            block_append(&s->p->body, zero_lanes(s, b, d, &l));
    return true;
}

/* ---- within */
static expr only_turn(void *env, expr e) { return e->op == X_VAR && x_is(e->u.var->extent, 1) ? x_int(env, 0) : NULL; }
/* The store copies a cell of x to the cell of y that lies *cells further on. */
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
static void count_load(void *env, struct stmt *t, expr load) {
    struct copy_scan *q = env;
    (void)t;
    q->loads += load->u.buf == q->x;
}
/* The kernel reads x only to copy it into y, every cell of the smaller one, *cells further on. all: and does nothing
 * else. */
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
bool apply_within(struct step *s) {
    struct buf *y, *x;
    int64_t from, cells, lo, hi;
    bool all;
    if (!words_ok(s, 2, 2) || !(y = find_buf(s, s->w[0].text)) || !(x = find_buf(s, s->w[1].text))) return false;
    int py = param_of(s->p, y), px = param_of(s->p, x);
    if (py < 0 || px < 0 || py == px || s->p->params.v[py].dir != DIR_OUT || s->p->params.v[px].dir != DIR_IN)
        return step_refuse(s, NULL, "`%s` is no result, or `%s` no operand", y->name, x->name);
    if (!only_accessed(s, y) || !only_accessed(s, x)) return false;
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
        while ((up = stmt_parent(t)) && up->kind == S_FOR && up->u.loop.body.first == up->u.loop.body.last) t = up;
        stmt_remove(t);
    }
    for (int k = px + 1; k < s->p->params.n; k++) s->p->params.v[k - 1] = s->p->params.v[k];
    s->p->params.n--;
    proc_drop_buf(s->p, x);
    return true;
}
