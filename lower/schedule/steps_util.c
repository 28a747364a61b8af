/* Helpers of the schedule steps: refusal, finding loops and stages, accesses. Most legality tests ask whether two
 * iterations touch the same cell; ir/loop/dependence.c answers that. */
#include "lower/schedule/steps_util.h"
#include "ir/loop/kinds.h"
#include <stdlib.h>
#include <string.h>

/* ---- refusing */
bool step_refuse(struct step_run *s, const char *help, const char *fmt, ...) {
    struct text t = {0};
    va_list ap;
    va_start(ap, fmt);
    text_vprintf(&t, fmt, ap);
    va_end(ap);
    diag(&s->c->diags, DIAG_ERROR, E_STEP, "step `%s` in %s: %s", s->line, s->p->name, t.s);
    if (help) diag_help(&s->c->diags, "%s", help);
    text_free(&t);
    return false;
}
static void print_usage(struct text *t, const struct step_row *row) {
    for (const struct step_field *f = row->fields; f < row->fields + MAX_STEP_FIELDS && f->label; f++) {
        text_add(t, f->least ? " " : " [");
        if (f->key) text_printf(t, "%s=", f->key);
        text_printf(t, field_is_list(f->type) ? "[%s]" : "%s", f->label);
        if (!f->least) text_char(t, ']');
    }
}
bool step_usage(struct step_run *s) {
    struct text t = {0};
    const char *name = s->rows[s->step->kind].name;
    bool more = false;
    text_printf(&t, "usage: %s", name);
    for (const struct step_row *r = s->rows; r->name; r++) {
        if (strcmp(r->name, name)) continue;
        if (more) text_add(&t, " |");
        print_usage(&t, r);
        more = true;
    }
    step_refuse(s, arena_printf(&s->c->arena, "%s", t.s), "words missing, too many, or not understood");
    text_free(&t);
    return false;
}

/* ---- finding */
struct collector {
    struct step_run *s;
    struct stmts *out;
};
static bool collect_stmt(void *env, struct stmt *t) {
    struct collector *k = env;
    PUSH(&k->s->tmp, k->out, t);
    return true;
}
void stmts_below(struct step_run *s, struct block *b, struct stmts *out) {
    struct collector k = {s, out};
    walk(b, collect_stmt, &k);
}
void stmts_from(struct step_run *s, struct stmt *t, struct stmts *out) {
    struct collector k = {s, out};
    walk_stmt(t, collect_stmt, &k);
}
bool stmt_names(const struct stmt *t, const struct buf *b) {
    struct named_buf n;
    if (t->kind == S_STORE || t->kind == S_STAGE || t->kind == S_ALLOC || t->kind == S_FREE) return false;
    for (int k = 0; stmt_buf(t, k, &n); k++)
        if (n.buf == b) return true;
    return false;
}
bool is_named(const struct stmt *t, const char *name) { return t->kind == S_FOR && !strcmp(t->u.loop.var->name, name); }
/* Finds the loops named `name`. Those in an instruction's body do not count: they only define its meaning. */
bool find_loops(struct step_run *s, const char *name, struct stmts *out) {
    struct stmts all = {0};
    VEC(const char *) names = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++) {
        if (all.v[k]->kind != S_FOR || instr_around(all.v[k])) continue;
        if (is_named(all.v[k], name)) PUSH(&s->tmp, out, all.v[k]);
        PUSH(&s->tmp, &names, all.v[k]->u.loop.var->name);
    }
    if (out->n) return true;
    if (names.n) qsort(names.v, (size_t)names.n, sizeof *names.v, text_order);
    struct text t = {0};
    for (int k = 0; k < names.n; k++)
        if (!k || strcmp(names.v[k], names.v[k - 1])) text_printf(&t, " %s", names.v[k]);
    step_refuse(s, arena_printf(&s->c->arena, "loops are:%s", t.s ? t.s : " none"), "there is no loop named `%s`",
                name);
    text_free(&t);
    return false;
}
void bufs_named(struct step_run *s, const char *base, struct buf ***v, int *n) {
    struct {
        struct buf **v;
        int n, cap;
    } r = {0};
    for (int k = 0; k < s->p->bufs.n; k++)
        if (!strcmp(s->p->bufs.v[k]->base, base)) PUSH(&s->tmp, &r, s->p->bufs.v[k]);
    *v = r.v;
    *n = r.n;
}
struct buf *find_buf(struct step_run *s, const char *base) {
    struct buf **v;
    int n;
    bufs_named(s, base, &v, &n);
    if (n) return v[0];
    struct text t = {0};
    for (int k = 0; k < s->p->bufs.n; k++)
        if (!strcmp(s->p->bufs.v[k]->base, s->p->bufs.v[k]->name)) text_printf(&t, " %s", s->p->bufs.v[k]->name);
    step_refuse(s, arena_printf(&s->c->arena, "buffers are:%s", t.s ? t.s : " none"), "there is no buffer named `%s`",
                base);
    text_free(&t);
    return NULL;
}
void chain_of(struct step_run *s, struct stmt *loop, struct stmts *out) {
    for (struct stmt *t = loop;; t = t->u.loop.body.first) {
        PUSH(&s->tmp, out, t);
        struct stmt *b = t->u.loop.body.first;
        if (!b || b->next || b->kind != S_FOR) return;
    }
}
struct block *leaf_of(const struct stmts *chain) {
    return &chain->v[chain->n - 1]->u.loop.body;
}
bool encloses(const struct stmt *outer, const struct stmt *inner) {
    for (; inner; inner = stmt_parent(inner))
        if (inner == outer) return true;
    return false;
}
struct stmt *top_of(struct stmt *t) {
    for (struct stmt *up; (up = stmt_parent(t)); t = up) {}
    return t;
}
const char *tail_name(const char *loop) {
    const char *dot = strrchr(loop, '.');
    return dot ? dot + 1 : loop;
}
void vars_below(struct step_run *s, struct block *b, struct vars *out) {
    struct stmts all = {0};
    stmts_below(s, b, &all);
    for (int k = 0; k < all.n; k++)
        if (all.v[k]->kind == S_FOR) PUSH(&s->tmp, out, all.v[k]->u.loop.var);
}
static bool not_in(void *env, expr e) { return !(e->op == X_VAR && has_var(env, e->u.var)); }
bool uses_any(expr e, const struct vars *l) { return l->n && !x_visit(e, not_in, (void *)l); }
void subst_var(struct step_run *s, struct block *b, const struct var *v, expr by) {
    struct subst sub = {{.arena = &s->tmp}};
    map_put(&sub.map, PKEY(v), (void *)by);
    subst_block(s->c, b, &sub);
}

/* ---- parameters, names */
bool only_accessed(struct step_run *s, const struct buf *b) {
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++) {
        struct stmt *t = all.v[k];
        bool moves = t->kind == S_PREFETCH; /* a prefetch moves along with the loads */
        if (t->kind == S_WHILE || (!moves && stmt_names(t, b)))
            return step_refuse(s, NULL, "`%s` is used by %s", b->name, stmt_what(t));
    }
    return true;
}
bool free_name(struct step_run *s, const char *name) {
    struct buf **v;
    int n;
    bufs_named(s, name, &v, &n);
    if (n || proc_buf(s->p, name)) return step_refuse(s, NULL, "there is a buffer `%s` already", name);
    for (const char *p = name; *p; p++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_", *p))
            return step_refuse(s, NULL, "`%s` is no name for a buffer", name);
    return true;
}
const char *loop_name(struct ctx *c, const char *buf, const char *axis) {
    return internf(c->names, "%s.%s", buf, axis);
}
const struct var *axis_var(const struct pristine *p, int k, int d) {
    expr e = p->store[k]->u.store.idx[d];
    return e->op == X_VAR ? e->u.var : NULL;
}

/* ---- accesses */
static bool same_cell_load(const struct stmt *t, expr e) {
    if (e->op != X_LOAD || e->u.buf != t->u.store.buf || e->has_fill || e->n != t->u.store.n) return false;
    for (int k = 0; k < e->n; k++)
        if (e->arg[k] != t->u.store.idx[k]) return false;
    return true;
}
bool is_fma_update(const struct stmt *t) {
    expr v = t->u.store.value;
    return t->u.store.op == RED_NONE && v->op == X_FMA && same_cell_load(t, v->arg[2]);
}
enum red_op update_op(const struct stmt *t) { return is_fma_update(t) ? RED_SUM : t->u.store.op; }

struct gather {
    struct step_run *s;
    struct stmt *t;
    struct accesses *out;
};
static bool gather_load(void *env, expr e) {
    struct gather *g = env;
    if (e->op == X_LOAD) {
        struct access a = {g->t, e->u.buf, e->arg, e->n - e->has_fill, false, RED_NONE, e};
        PUSH(&g->s->tmp, g->out, a);
    }
    return true;
}
static void gather_expr(void *env, expr e) { x_visit(e, gather_load, env); }
static void accesses_at(struct step_run *s, struct stmt *t, struct accesses *out) {
    struct gather g = {s, t, out};
    if (t->kind != S_STORE) {
        stmt_exprs(t, gather_expr, &g);
        return;
    }
    struct access a = {t, t->u.store.buf, t->u.store.idx, t->u.store.n, true, update_op(t), NULL};
    PUSH(&s->tmp, out, a);
    for (int k = 0; k < t->u.store.n; k++) x_visit(t->u.store.idx[k], gather_load, &g);
    expr v = t->u.store.value;
    if (is_fma_update(t)) {
        x_visit(v->arg[0], gather_load, &g);
        x_visit(v->arg[1], gather_load, &g);
    } else {
        x_visit(v, gather_load, &g);
    }
}
void accesses_in(struct step_run *s, struct stmt *t, struct accesses *out) {
    struct stmts all = {0};
    stmts_from(s, t, &all);
    for (int k = 0; k < all.n; k++) accesses_at(s, all.v[k], out);
}
void accesses_of(struct step_run *s, struct block *b, struct accesses *out) {
    struct stmts all = {0};
    stmts_below(s, b, &all);
    for (int k = 0; k < all.n; k++) accesses_at(s, all.v[k], out);
}
bool loads_buf(struct step_run *s, struct stmt *t, const struct buf *buf) {
    struct accesses a = {0};
    accesses_in(s, t, &a);
    for (int k = 0; k < a.n; k++)
        if (!a.v[k].store && a.v[k].buf == buf) return true;
    return false;
}
const char *stmt_what(const struct stmt *t) { return stmt_rows[t->kind].what; }
bool is_opaque(const struct stmt *t) {
    switch (t->kind) {
    case S_FOR:
    case S_STORE:
    case S_IF:
    case S_ALLOC:
    case S_INSTR:
    case S_PREFETCH:
    case S_COMMENT: return false;
    case S_FREE:
    case S_STAGE:
    case S_SIZE:
    case S_CALL:
    case S_WHILE:
    case S_CHECK:
    case S_BARRIER:
    case S_SWAP:
    case S_VIEW:
    case S_FOREIGN:
    case S_BIND: return true;
    }
    return true;
}
struct stmt *opaque_in(struct step_run *s, struct block *b) {
    struct stmts all = {0};
    stmts_below(s, b, &all);
    for (int k = 0; k < all.n; k++)
        if (is_opaque(all.v[k])) return all.v[k];
    return NULL;
}

struct meet step_meet(struct step_run *s, const expr *a, const expr *b, int n, const struct vars *moving) {
    struct iterations q = {.c = s->c, .tmp = &s->tmp, .moving = *moving};
    return cells_meet(&q, a, b, n);
}

/* ---- building */
expr *exprs_copy(struct ctx *c, const expr *v, int n) {
    return n ? arena_copy(&c->arena, v, (size_t)n * sizeof *v) : NEWN(&c->arena, expr, 1);
}
struct mapper {
    struct step_run *s;
    struct buf *from;
    load_fn fn;
    void *env;
};
static expr map_load_node(void *env, expr e) {
    struct mapper *m = env;
    if (e->op != X_LOAD || e->u.buf != m->from) return NULL;
    int n = e->n - e->has_fill;
    expr *idx = NEWN(&m->s->tmp, expr, n);
    for (int k = 0; k < n; k++) idx[k] = x_map(m->s->c, e->arg[k], map_load_node, m);
    return m->fn(m->env, m->from, idx, n, e->has_fill ? e->arg[n] : NULL);
}
void map_loads(struct step_run *s, struct block *b, struct buf *from, load_fn fn, void *env) {
    struct mapper m = {s, from, fn, env};
    map_exprs(s->c, b, map_load_node, &m);
}
void map_loads_in(struct step_run *s, struct stmt *t, struct buf *from, load_fn fn, void *env) {
    struct mapper m = {s, from, fn, env};
    struct stmts all = {0};
    stmts_from(s, t, &all);
    for (int k = 0; k < all.n; k++) {
        expr *e;
        for (int i = 0; (e = stmt_expr(all.v[k], i)); i++)
            if (*e) *e = x_map(s->c, *e, map_load_node, &m);
    }
}
expr map_loads_expr(struct step_run *s, expr e, struct buf *from, load_fn fn, void *env) {
    struct mapper m = {s, from, fn, env};
    return x_map(s->c, e, map_load_node, &m);
}
expr redirected_load(void *redirect, struct buf *from, expr *idx, int n, expr fill) {
    struct redirect *r = redirect;
    (void)from;
    return x_load(r->c, r->to, idx, n, fill);
}
void drop_buf(struct step_run *s, struct buf *b) {
    for (struct stmt *t = s->p->body.first, *next; t; t = next) {
        next = t->next;
        if ((t->kind == S_ALLOC || t->kind == S_FREE) && t->u.alloc.buf == b) stmt_remove(t);
    }
    proc_drop_buf(s->p, b);
}
void copy_idx(struct ctx *c, struct stmt *t, const expr *idx, int n) {
    t->u.store.idx = exprs_copy(c, idx, n);
    t->u.store.n = n;
}

/* ---- pristine stages */
static bool pristine_nest(struct step_run *s, struct pristine *p, int k, const char *name) {
    struct stmt *t = p->nest[k];
    const char *outside_in =
        "schedule consumers before producers: a producer is moved while it is still one plain nest";
    if (t->kind == S_FOR) {
        chain_of(s, t, &p->chain[k]);
        struct block *leaf = leaf_of(&p->chain[k]);
        t = block_only(leaf);
    }
    if (!t || t->kind != S_STORE || t->u.store.buf != p->buf)
        return step_refuse(s, outside_in,
                           "the stage of `%s` is not pristine: its nest is not a perfect nest around one store", name);
    p->store[k] = t;
    return true;
}
static bool plain_axes_of(struct step_run *s, const struct pristine *p, int k) {
    struct vars seen = {0};
    for (int d = 0; d < p->store[k]->u.store.n; d++) {
        expr e = p->store[k]->u.store.idx[d];
        int64_t zero;
        if (x_is_int(e, &zero) && x_is(p->buf->dims[d], 1)) continue; /* an axis of extent 1 */
        if (e->op != X_VAR || has_var(&seen, e->u.var))
            return step_refuse(
                s,
                "apply compute_at before the producer's own loops are split or its buffer is blocked; fuse and flatten "
                "(d*e) keep it plain",
                "the stage of `%s` is not pristine: index %d of its store is not a loop variable of its own",
                p->buf->name, d);
        PUSH(&s->tmp, &seen, e->u.var);
    }
    return true;
}
bool find_pristine(struct step_run *s, const char *name, struct pristine *out) {
    *out = (struct pristine){0};
    struct buf **v;
    int n;
    if (!find_buf(s, name)) return false;
    bufs_named(s, name, &v, &n);
    bool placed = n > 1;
    for (int k = 0; k < n && !placed; k++) {
        struct stmts all = {0};
        stmts_below(s, &s->p->body, &all);
        for (int j = 0; j < all.n; j++)
            placed |= all.v[j]->kind == S_ALLOC && all.v[j]->u.alloc.buf == v[k] && stmt_parent(all.v[j]);
        for (struct stmt *t = s->p->body.first; t && !placed; t = t->next) {
            if (!stmt_stores_to(t, v[k])) continue;
            placed = t->kind == S_IF || t->kind == S_CALL || t->kind == S_WHILE || out->n == 3;
            out->buf = v[k];
            if (!placed) out->nest[out->n++] = t;
        }
    }
    if (placed || !out->n)
        return step_refuse(
            s, "schedule consumers before producers (outside in); a stage that was already placed stays where it is",
            "`%s` has no stage of its own at the top level", name);
    for (int k = 0; k < out->n; k++)
        if (!pristine_nest(s, out, k, name) || !plain_axes_of(s, out, k)) return false;
    bool one = update_op(out->store[0]) == RED_NONE;
    for (int k = 1; k < out->n; k++)
        one &= update_op(out->store[k]) != RED_NONE && update_op(out->store[k]) == update_op(out->store[1]);
    if (!one)
        return step_refuse(
            s, NULL, "`%s` is not one stage: it must be written by one plain nest, or by an initial value and updates",
            name);
    return true;
}
bool inputs_stable(struct step_run *s, const struct pristine *p, struct stmt *upto) {
    struct accesses a = {0};
    for (int k = 0; k < p->n; k++) accesses_in(s, p->nest[k], &a);
    for (int k = 0; k < a.n; k++) {
        if (a.v[k].store || a.v[k].buf == p->buf) continue;
        for (struct stmt *t = p->nest[p->n - 1]->next; t; t = t->next) {
            if (stmt_stores_to(t, a.v[k].buf))
                return step_refuse(s, NULL, "`%s` reads `%s`, which is written before `%s` would be computed",
                                   p->buf->name, a.v[k].buf->name, p->buf->name);
            if (t == upto) break;
        }
    }
    return true;
}
bool only_loads(struct step_run *s, const struct buf *b) {
    struct stmts all = {0};
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++) {
        struct stmt *t = all.v[k];
        if (stmt_names(t, b))
            return step_refuse(s, "place stages before tensorize and prefetch", "`%s` is used by %s", b->name,
                               stmt_what(t));
    }
    return true;
}
