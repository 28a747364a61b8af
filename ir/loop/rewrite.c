/* The loop IR's tools for passes and steps: walking, rewriting every expression in place, cloning, and the lowering of
 * stages to loop nests. Steps (lower/schedule) are written with these and little else. */
#include "ir/loop/kinds.h"
#include <string.h>

/* ---- walking */
void walk_stmt(struct stmt *s, bool (*fn)(void *env, struct stmt *s), void *env) {
    struct block *sub[2];
    if (!fn(env, s)) return;
    for (int n = stmt_blocks(s, sub), k = 0; k < n; k++) walk(sub[k], fn, env);
}
void walk(struct block *b, bool (*fn)(void *env, struct stmt *s), void *env) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        walk_stmt(s, fn, env);
    }
}
void survey_stmt(const struct stmt *s, bool (*fn)(void *env, const struct stmt *s), void *env) {
    const struct block *in;
    if (!fn(env, s)) return;
    for (int k = 0; (in = stmt_block(s, k)); k++) survey(in, fn, env);
}
void survey(const struct block *b, bool (*fn)(void *env, const struct stmt *s), void *env) {
    for (const struct stmt *s = b->first; s; s = s->next) survey_stmt(s, fn, env);
}
struct loads {
    void (*fn)(void *, const struct stmt *, expr);
    void *env;
    const struct stmt *s;
};
static void one_load(void *env, expr load) {
    const struct loads *l = env;
    l->fn(l->env, l->s, load);
}
static void load_expr(void *env, expr e) { x_each_load(e, one_load, env); }
static bool load_stmt(void *env, const struct stmt *s) {
    struct loads *l = env;
    l->s = s;
    stmt_exprs(s, load_expr, l);
    return true;
}
void stmt_loads(const struct stmt *s, void (*fn)(void *env, const struct stmt *s, expr load), void *env) {
    struct loads l = {fn, env, NULL};
    survey_stmt(s, load_stmt, &l);
}
void each_load(const struct block *b, void (*fn)(void *env, const struct stmt *s, expr load), void *env) {
    struct loads l = {fn, env, NULL};
    survey(b, load_stmt, &l);
}

/* ---- faults */
static void find_guard(void *env, expr e) { *(bool *)env |= x_has(e, XF_GUARD); }
static bool find_fault(void *env, const struct stmt *s) {
    bool *found = env;
    *found |= stmt_rows[s->kind].faults && stmt_rows[s->kind].faults(s);
    if (!*found) stmt_exprs(s, find_guard, found);
    return !*found;
}
bool stmt_may_fault(const struct stmt *s) {
    bool found = false;
    survey_stmt(s, find_fault, &found);
    return found;
}
bool proc_may_fault(const struct proc *p) {
    bool found = false;
    survey(&p->body, find_fault, &found);
    return found;
}

/* ---- threads */
static bool find_parallel(void *env, const struct stmt *s) {
    bool *found = env;
    *found |= s->kind == S_FOR && s->u.loop.kind == LK_PARALLEL;
    *found |= s->kind == S_CALL && proc_is_parallel(s->u.call.callee);
    return !*found;
}
bool proc_is_parallel(const struct proc *p) {
    bool found = false;
    survey(&p->body, find_parallel, &found);
    return found;
}

/* ---- which storage is used */
static bool note_view(void *env, const struct stmt *s) {
    if (s->kind == S_VIEW) map_put(env, PKEY(s->u.view.buf), s->u.view.of);
    return true;
}
void note_views(struct map *views, const struct block *b) { survey(b, note_view, views); }
struct buf *storage_of(struct map *views, struct buf *b) {
    struct buf *root = b, *of;
    while (views && (of = map_get(views, PKEY(root)))) root = of;
    for (; b != root; b = of) { /* shortens the path for next time: views of views of views are looked up often */
        of = map_get(views, PKEY(b));
        if (of != root) map_put(views, PKEY(b), root);
    }
    return root;
}
struct using {
    const struct buf *buf;
    struct map *views;
    bool found;
};
static void use(struct using *u, struct buf *b) { u->found |= storage_of(u->views, b) == u->buf; }
static void using_load(void *env, const struct stmt *s, expr load) {
    (void)s;
    use(env, load->u.buf);
}
static bool using_stmt(void *env, const struct stmt *s) {
    struct using *u = env;
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++)
        if (!(b.use & BU_BEGINS)) use(u, b.buf);
    return !u->found;
}
bool stmt_reads(const struct stmt *s, const struct buf *b, struct map *views) {
    struct using u = {b, views, false};
    stmt_loads(s, using_load, &u);
    return u.found;
}
bool stmt_uses(const struct stmt *s, const struct buf *b, struct map *views) {
    struct using u = {b, views, false};
    survey_stmt(s, using_stmt, &u);
    return u.found || stmt_reads(s, b, views);
}
bool stmt_writes_once(const struct stmt *s) {
    return (s->kind == S_STAGE && s->u.stage.op == RED_NONE) || (s->kind == S_STORE && s->u.store.op == RED_NONE);
}
struct storing {
    const struct buf *buf;
    bool found;
};
static bool storing_stmt(void *env, const struct stmt *s) {
    struct storing *t = env;
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++) t->found |= b.buf == t->buf && b.use & BU_WRITTEN;
    return !t->found;
}
bool stores_to(const struct block *b, const struct buf *buf) {
    struct storing t = {buf, false};
    survey(b, storing_stmt, &t);
    return t.found;
}
bool stmt_stores_to(const struct stmt *s, const struct buf *buf) {
    struct storing t = {buf, false};
    survey_stmt(s, storing_stmt, &t);
    return t.found;
}

/* ---- one rewriter for map_exprs and the clones: fn is applied to expressions, then changed variables and buffers are
 * replaced by their successors */
struct rewriter {
    struct ctx *c;
    expr (*fn)(void *, expr); /* NULL: none */
    void *env;
    struct map vars, bufs; /* struct var -> its new expr; struct buf -> its new struct buf */
    bool renamed;
};
static expr successor(void *env, expr e) {
    struct rewriter *r = env;
    if (e->op == X_VAR) return map_get(&r->vars, PKEY(e->u.var));
    struct buf *b = e->op == X_LOAD ? map_get(&r->bufs, PKEY(e->u.buf)) : NULL;
    return b ? x_map_load(r->c, e, b, successor, r) : NULL;
}
static expr rewritten(struct rewriter *r, expr e) {
    if (!e) return NULL;
    if (r->fn) e = x_map(r->c, e, r->fn, r->env);
    return r->renamed ? x_map_with(r->c, e, XF_VAR | XF_LOAD, successor, r) : e;
}
static const struct var *new_var(struct rewriter *r, const struct var *v, expr extent) {
    const struct var *n = var_new(r->c, v->name, extent);
    map_put(&r->vars, PKEY(v), (void *)x_var(r->c, n));
    r->renamed = true;
    return n;
}
static void rewrite_exprs(struct rewriter *r, struct stmt *s) {
    expr *e;
    for (int k = 0; (e = stmt_expr(s, k)); k++) *e = rewritten(r, *e);
}
/* Replaces variables whose extent changes, or all of them. */
static void rewrite_var(struct rewriter *r, const struct var **v, bool all) {
    expr e = rewritten(r, (*v)->extent);
    if (all || e != (*v)->extent) *v = new_var(r, *v, e);
}
static void rewrite_vars(struct rewriter *r, struct stmt *s, bool all) {
    const struct var **v;
    for (int k = 0; (v = stmt_var(s, k)); k++) rewrite_var(r, v, all);
}
static void rewrite_geometry(struct rewriter *r, struct buf *b, bool all) {
    for (int k = 0; k < b->nd; k++) b->dims[k] = rewritten(r, b->dims[k]);
    for (int k = 0; k < b->nlogical; k++) b->logical[k] = rewritten(r, b->logical[k]);
    b->fill = rewritten(r, b->fill);
    for (int k = 0; k < b->nlogical; k++) rewrite_var(r, &b->lvar[k], all);
    for (int k = 0; k < b->nd; k++) b->map[k] = rewritten(r, b->map[k]);
}

/* ---- rewriting in place */
static void map_block(struct rewriter *r, struct block *b);
/* Rewrites the buffers that begin here; only once, although a cloned alloc has a copy. */
static void map_geometry(struct rewriter *r, struct stmt *s) {
    struct named_buf b;
    for (int k = 0; stmt_buf(s, k, &b); k++) {
        if (!(b.use & BU_BEGINS) || map_get(&r->bufs, PKEY(b.buf))) continue;
        map_put(&r->bufs, PKEY(b.buf), b.buf);
        rewrite_geometry(r, b.buf, false);
    }
}
static bool never_runs(const struct stmt *s) {
    return s->kind == S_FOR && s->u.loop.var->extent->op == X_CONST && s->u.loop.var->extent->u.i <= 0;
}
static void map_stmt(struct rewriter *r, struct stmt *s) {
    struct block *sub[2];
    int n = stmt_blocks(s, sub);
    bool was_empty = true;
    for (int k = 0; k < n; k++) was_empty &= !sub[k]->first;
    rewrite_vars(r, s, false);
    if (never_runs(s)) {
        stmt_remove(s);
        return;
    }
    rewrite_exprs(r, s);
    map_geometry(r, s);
    if (s->kind == S_IF && s->u.cond.cond->op == X_CONST) {
        struct block *taken = x_is_true(s->u.cond.cond) ? &s->u.cond.then : &s->u.cond.other;
        map_block(r, taken);
        stmt_replace(s, taken);
        return;
    }
    bool empty = true;
    for (int k = 0; k < n; k++) {
        map_block(r, sub[k]);
        empty &= !sub[k]->first;
    }
    if (empty && !was_empty && (s->kind == S_FOR || s->kind == S_IF)) stmt_remove(s);
}
static void map_block(struct rewriter *r, struct block *b) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        map_stmt(r, s);
    }
}
void map_exprs(struct ctx *c, struct block *b, expr (*fn)(void *env, expr e), void *env) {
    struct rewriter r = {c, fn, env, {.arena = &c->arena}, {.arena = &c->arena}, false};
    map_block(&r, b);
}
void map_proc(struct ctx *c, struct proc *p, expr (*fn)(void *env, expr e), void *env) {
    struct rewriter r = {c, fn, env, {.arena = &c->arena}, {.arena = &c->arena}, false};
    for (int k = 0; k < p->params.n; k++) rewrite_geometry(&r, p->params.v[k].buf, false);
    map_block(&r, &p->body);
}
void subst_block(struct ctx *c, struct block *b, const struct subst *s) { map_exprs(c, b, x_subst_leaf, (void *)s); }

struct subst call_sizes(struct ctx *c, const struct proc *p, const struct stmt *call) {
    struct subst by = {{.arena = &c->arena}};
    for (int k = 0; k < p->syms.n; k++) map_put(&by.map, PKEY(p->syms.v[k]), (void *)call->u.call.args[k]);
    return by;
}

/* ---- cloning */
static struct buf *new_buf(struct rewriter *r, struct buf *b) {
    struct buf *n = b ? map_get(&r->bufs, PKEY(b)) : NULL;
    return n ? n : b;
}
#define COPY(c, p, n) ((p) = (n) ? arena_copy(&(c)->arena, (p), (size_t)(n) * sizeof *(p)) : NULL)
static void clone_into(struct rewriter *r, const struct block *from, struct block *to);
static struct stmt *clone_stmt(struct rewriter *r, const struct stmt *s) {
    struct ctx *c = r->c;
    struct stmt *t = s_new(c, s->kind);
    struct block *from[2], *to[2];
    struct buf **b;
    int n = stmt_blocks((struct stmt *)s, from);
    t->u = s->u;
    stmt_blocks(t, to);
    for (int k = 0; k < n; k++) *to[k] = (struct block){.owner = t};
    stmt_own_arrays(c, t);
    for (int k = 0; (b = stmt_buf_at(t, k)); k++) *b = new_buf(r, *b);
    rewrite_vars(r, t, true);
    rewrite_exprs(r, t);
    for (int k = 0; k < n; k++) clone_into(r, from[k], to[k]);
    return t;
}
static void clone_into(struct rewriter *r, const struct block *from, struct block *to) {
    for (const struct stmt *s = from->first; s; s = s->next) block_append(to, clone_stmt(r, s));
}
struct block clone_block(struct ctx *c, const struct block *b) {
    struct rewriter r = {c, NULL, NULL, {.arena = &c->arena}, {.arena = &c->arena}, false};
    struct block *out = NEW(&c->arena, struct block); /* outlives this call: until moved, the statements point to it */
    clone_into(&r, b, out);
    return *out;
}
struct proc *clone_proc(struct ctx *c, const struct proc *p, const char *name) {
    struct rewriter r = {c, NULL, NULL, {.arena = &c->arena}, {.arena = &c->arena}, true};
    struct proc *q = proc_new(c, name);
    q->comment = p->comment;
    q->is_kernel_text = p->is_kernel_text;
    q->launch = p->launch;
    for (int k = 0; k < p->bufs.n; k++) {
        struct buf *b = arena_copy(&c->arena, p->bufs.v[k], sizeof *b);
        b->id = ++c->next_id;
        COPY(c, b->dims, b->nd);
        COPY(c, b->map, b->nd);
        COPY(c, b->pad, b->pad ? b->nd : 0);
        COPY(c, b->logical, b->nlogical);
        COPY(c, b->lvar, b->nlogical);
        map_put(&r.bufs, PKEY(p->bufs.v[k]), b);
        PUSH(&c->arena, &q->bufs, b);
    }
    for (int k = 0; k < q->bufs.n; k++) rewrite_geometry(&r, q->bufs.v[k], true);
    for (int k = 0; k < p->params.n; k++) {
        struct param t = {new_buf(&r, p->params.v[k].buf), p->params.v[k].dir};
        PUSH(&c->arena, &q->params, t);
    }
    for (int k = 0; k < p->syms.n; k++) PUSH(&c->arena, &q->syms, p->syms.v[k]);
    for (int k = 0; k < p->steps.n; k++) PUSH(&c->arena, &q->steps, p->steps.v[k]);
    for (int k = 0; k < p->todo.n; k++) PUSH(&c->arena, &q->todo, p->todo.v[k]);
    q->before = p->before;
    q->problem = p->problem;
    clone_into(&r, &p->body, &q->body);
    return q;
}

/* ---- stages to nests */
static const char *stage_loop_name(struct ctx *c, const struct buf *b, const char *axis) {
    size_t n = strlen(b->base);
    if (!strncmp(axis, b->base, n) && axis[n] == '.') return axis;
    return internf(c->names, "%s.%s", b->base, axis);
}
/* One nest over `axes` (and `red`) around the store of `value`. */
static struct stmt *stage_nest(struct ctx *c, struct stmt *s, bool update, expr value) {
    struct subst sub = {{.arena = &c->arena}};
    struct buf *b = s->u.stage.buf;
    int na = s->u.stage.naxes, n = na + (update ? s->u.stage.nred : 0);
    struct stmt *outer = NULL, *inner = NULL;
    for (int k = 0; k < n; k++) {
        const struct var *v = k < na ? s->u.stage.axes[k] : s->u.stage.red[k - na];
        const struct var *w = var_new(c, stage_loop_name(c, b, v->name), x_subst(c, v->extent, &sub));
        map_put(&sub.map, PKEY(v), (void *)x_var(c, w));
        struct stmt *f = s_for(c, w, LK_SERIAL);
        if (inner) block_append(&inner->u.loop.body, f);
        else outer = f;
        inner = f;
    }
    expr *idx = NEWN(&c->arena, expr, na > b->nd ? na : b->nd);
    int ni = na;
    for (int k = 0; k < na; k++) idx[k] = x_subst(c, x_var(c, s->u.stage.axes[k]), &sub);
    if (na == b->nlogical) { /* stages use logical indices */
        struct subst layout = {{.arena = &c->arena}};
        for (int k = 0; k < na; k++) map_put(&layout.map, PKEY(b->lvar[k]), (void *)idx[k]);
        expr *phys = NEWN(&c->arena, expr, b->nd);
        for (int k = 0; k < b->nd; k++) phys[k] = x_subst(c, b->map[k], &layout);
        idx = phys;
        ni = b->nd;
    }
    struct stmt *store = s_store(c, b, idx, ni, update ? s->u.stage.op : RED_NONE, x_subst(c, value, &sub));
    if (!inner) return store;
    block_append(&inner->u.loop.body, store);
    return outer;
}
static void lower_block(struct ctx *c, struct block *b) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        struct block *sub[2];
        for (int n = stmt_blocks(s, sub), k = 0; k < n; k++) lower_block(c, sub[k]);
        if (s->kind != S_STAGE) continue;
        bool reduces = s->u.stage.op != RED_NONE;
        if (reduces) {
            expr init = s->u.stage.init;
            if (!init) init = red_identity(c, s->u.stage.op, s->u.stage.buf->type);
            stmt_insert_before(s, stage_nest(c, s, false, init));
        }
        stmt_insert_before(s, stage_nest(c, s, reduces, s->u.stage.value));
        stmt_remove(s);
    }
}
void lower_stages(struct ctx *c, struct proc *p) { lower_block(c, &p->body); }
