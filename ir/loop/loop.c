/* The loop IR's data: names of its enumerations, building procedures and statements. Walking and rewriting are in
 * rewrite.c. */
#include "ir/loop/loop.h"
#include "ir/base/checked.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *loop_kind_name(enum loop_kind k) {
    static const char *const names[LK_COUNT] = {"serial",       "parallel",    "vector",      "unroll",
                                                "gpu.block.x",  "gpu.block.y", "gpu.block.z", "gpu.thread.x",
                                                "gpu.thread.y", "gpu.thread.z"};
    return names[k];
}
const char *red_op_name(enum red_op r) {
    static const char *const names[RED_COUNT] = {"", "+", "*", "max", "min", "nmax", "nmin", "and", "or"};
    return names[r];
}

/* ---- reductions */
static int64_t least(enum dtype t) { return dtype_is_signed(t) ? -1 - (INT64_MAX >> (64 - dtype_bits(t))) : 0; }
static int64_t greatest(enum dtype t) {
    if (t == BOOL) return 1;
    if (dtype_is_signed(t)) return INT64_MAX >> (64 - dtype_bits(t));
    return (int64_t)(UINT64_MAX >> (64 - dtype_bits(t))); /* U64: all ones */
}
expr red_identity(struct ctx *c, enum red_op r, enum dtype stored) {
    enum dtype t = dtype_value(stored);
    bool flt = t == F32 || t == F64;
    switch (r) {
    case RED_SUM: return x_num(c, t, 0);
    case RED_PROD: return x_num(c, t, 1);
    case RED_MAX: return flt ? x_const_f(c, t, -INFINITY) : x_const_i(c, t, least(stored));
    case RED_MIN: return flt ? x_const_f(c, t, INFINITY) : x_const_i(c, t, greatest(stored));
    case RED_NMAX: return flt ? x_const_f(c, t, -INFINITY) : x_poison(c);
    case RED_NMIN: return flt ? x_const_f(c, t, INFINITY) : x_poison(c);
    case RED_AND: return flt ? x_poison(c) : x_const_i(c, t, t == BOOL ? 1 : -1);
    case RED_OR: return flt ? x_poison(c) : x_const_i(c, t, 0);
    default: return x_poison(c);
    }
}
expr red_apply(struct ctx *c, enum red_op r, expr acc, expr v) {
    switch (r) {
    case RED_SUM: return x_add(c, acc, v);
    case RED_PROD: return x_mul(c, acc, v);
    case RED_MAX: return x_max(c, v, acc); /* NaN is ignored: the second operand is taken (N5) */
    case RED_MIN: return x_min(c, v, acc);
    case RED_NMAX: return x_select(c, x_cmp(c, X_NE, v, v), v, x_max(c, v, acc));
    case RED_NMIN: return x_select(c, x_cmp(c, X_NE, v, v), v, x_min(c, v, acc));
    case RED_AND: return x_and(c, acc, v);
    case RED_OR: return x_or(c, acc, v);
    default: return v;
    }
}

/* ---- modules, procedures, buffers */
struct module *module_new(struct ctx *c) {
    struct module *m = NEW(&c->arena, struct module);
    m->ctx = c;
    return m;
}
struct proc *proc_new(struct ctx *c, const char *name) {
    struct proc *p = NEW(&c->arena, struct proc);
    p->name = intern(c->names, name);
    return p;
}
struct buf *proc_buf(const struct proc *p, const char *name) {
    for (int k = 0; k < p->bufs.n; k++)
        if (!strcmp(p->bufs.v[k]->name, name)) return p->bufs.v[k];
    return NULL;
}
/* ---- names of buffers: interned; an entry has as many buffers as the model has values, so a hash table is used */
static const char dropped_name;
static void index_names(struct ctx *c, struct proc *p) {
    p->names.arena = p->numbers.arena = &c->arena;
    for (int k = 0; k < p->bufs.n; k++) map_put(&p->names, PKEY(p->bufs.v[k]->name), p->bufs.v[k]);
}
static bool is_taken(const struct proc *p, const char *name) {
    const void *b = map_get(&p->names, PKEY(name));
    return b && b != &dropped_name;
}
/* A name that no buffer of p has: `base`, base_2, base_3 ... */
static const char *free_buf_name(struct ctx *c, struct proc *p, const char *base) {
    if (!p->names.arena) index_names(c, p);
    if (!is_taken(p, base)) return base;
    intptr_t k = (intptr_t)map_get(&p->numbers, PKEY(base));
    const char *name;
    for (k = k ? k : 2; is_taken(p, name = internf(c->names, "%s_%d", base, (int)k));) k++;
    map_put(&p->numbers, PKEY(base), (void *)k);
    return name;
}
static void drop_name(struct proc *p, const struct buf *b) {
    size_t n = strlen(b->base);
    if (!p->names.arena) return;
    map_put(&p->names, PKEY(b->name), (void *)&dropped_name);
    intptr_t least = (intptr_t)map_get(&p->numbers, PKEY(b->base));
    int k = strlen(b->name) > n ? atoi(b->name + n + 1) : 0;
    if (k >= 2 && k < least) map_put(&p->numbers, PKEY(b->base), (void *)(intptr_t)k);
}
/* Logical shape = physical shape, identity map. */
static void identity_layout(struct ctx *c, struct buf *b) {
    b->nlogical = b->nd;
    b->logical = NEWN(&c->arena, expr, b->nd);
    b->lvar = NEWN(&c->arena, const struct var *, b->nd);
    b->map = NEWN(&c->arena, expr, b->nd);
    for (int k = 0; k < b->nd; k++) {
        b->logical[k] = b->dims[k];
        b->lvar[k] = var_new(c, internf(c->names, "d%d", k), b->dims[k]);
        b->map[k] = x_var(c, b->lvar[k]);
    }
}
struct buf *buf_new(struct ctx *c, struct proc *p, const char *name, enum dtype type, enum scope scope,
                    const expr *dims, int nd) {
    struct buf *b = NEW(&c->arena, struct buf);
    b->id = ++c->next_id;
    b->base = intern(c->names, name);
    b->name = free_buf_name(c, p, b->base);
    b->type = type;
    b->scope = scope;
    b->nd = nd;
    b->dims = arena_copy(&c->arena, dims, (size_t)nd * sizeof *dims);
    identity_layout(c, b);
    PUSH(&c->arena, &p->bufs, b);
    map_put(&p->names, PKEY(b->name), b);
    return b;
}
void buf_take_layout(struct ctx *c, struct buf *to, const struct buf *from, struct subst *sizes) {
    struct subst s = {{.arena = &c->arena}};
    for (int k = 0; k < from->nlogical; k++) map_put(&s.map, PKEY(from->lvar[k]), (void *)x_var(c, to->lvar[k]));
    to->nd = from->nd;
    to->dims = NEWN(&c->arena, expr, from->nd);
    for (int k = 0; k < from->nd; k++) to->dims[k] = sizes ? x_subst(c, from->dims[k], sizes) : from->dims[k];
    to->pad = from->pad ? arena_copy(&c->arena, from->pad, (size_t)from->nd * sizeof *from->pad) : NULL;
    to->map = NEWN(&c->arena, expr, from->nd);
    for (int k = 0; k < from->nd; k++) to->map[k] = x_subst(c, from->map[k], &s);
}
struct buf *proc_param(struct ctx *c, struct proc *p, const char *name, enum dtype type, enum param_dir dir,
                       const expr *dims, int nd) {
    struct buf *b = buf_new(c, p, name, type, SC_PARAM, dims, nd);
    struct param q = {b, dir};
    PUSH(&c->arena, &p->params, q);
    return b;
}
void proc_drop_buf(struct proc *p, struct buf *b) {
    int k = p->bufs.n - 1;
    while (k >= 0 && p->bufs.v[k] != b) k--;
    if (k < 0) return;
    drop_name(p, b);
    memmove(p->bufs.v + k, p->bufs.v + k + 1, (size_t)(p->bufs.n - k - 1) * sizeof *p->bufs.v);
    p->bufs.n--;
}
int proc_param_at(const struct proc *p, const struct buf *b) {
    int k = p->params.n - 1;
    while (k >= 0 && p->params.v[k].buf != b) k--;
    return k;
}
void proc_drop_param(struct proc *p, int k) {
    proc_drop_buf(p, p->params.v[k].buf);
    memmove(p->params.v + k, p->params.v + k + 1, (size_t)(p->params.n - k - 1) * sizeof *p->params.v);
    p->params.n--;
}
void proc_drop_bufs(struct proc *p, const struct map *which) {
    int n = 0;
    for (int k = 0; k < p->bufs.n; k++)
        if (map_get(which, PKEY(p->bufs.v[k]))) drop_name(p, p->bufs.v[k]);
        else p->bufs.v[n++] = p->bufs.v[k];
    p->bufs.n = n;
}

/* ---- statements */
static void own_blocks(struct stmt *s) {
    struct block *b[2];
    for (int n = stmt_blocks(s, b); n-- > 0;) b[n]->owner = s;
}
struct stmt *s_new(struct ctx *c, enum stmt_kind k) {
    struct stmt *s = NEW(&c->arena, struct stmt);
    s->kind = k;
    own_blocks(s);
    return s;
}
struct stmt *s_for(struct ctx *c, const struct var *v, enum loop_kind k) {
    struct stmt *s = s_new(c, S_FOR);
    s->u.loop.var = v;
    s->u.loop.kind = k;
    return s;
}
struct stmt *s_nest(struct ctx *c, const struct var *const *vars, int n, struct stmt *s) {
    while (n--) {
        struct stmt *loop = s_for(c, vars[n], LK_SERIAL);
        block_append(&loop->u.loop.body, s);
        s = loop;
    }
    return s;
}
struct stmt *s_store(struct ctx *c, struct buf *b, const expr *idx, int n, enum red_op op, expr value) {
    struct stmt *s = s_new(c, S_STORE);
    s->u.store.buf = b;
    s->u.store.n = n;
    s->u.store.idx = arena_copy(&c->arena, idx, (size_t)n * sizeof *idx);
    s->u.store.op = op;
    s->u.store.value = value;
    return s;
}
struct stmt *s_if(struct ctx *c, expr cond) {
    struct stmt *s = s_new(c, S_IF);
    s->u.cond.cond = cond;
    return s;
}
struct stmt *s_alloc(struct ctx *c, struct buf *b) {
    struct stmt *s = s_new(c, S_ALLOC);
    s->u.alloc.buf = b;
    return s;
}
struct stmt *s_stage(struct ctx *c, struct buf *b, const struct var **axes, int naxes, enum red_op op,
                     const struct var **red, int nred, expr init, expr value) {
    struct stmt *s = s_new(c, S_STAGE);
    s->u.stage.buf = b;
    s->u.stage.naxes = naxes;
    s->u.stage.nred = nred;
    s->u.stage.axes = arena_copy(&c->arena, axes, (size_t)naxes * sizeof *axes);
    s->u.stage.red = arena_copy(&c->arena, red, (size_t)nred * sizeof *red);
    s->u.stage.op = op;
    s->u.stage.init = init;
    s->u.stage.value = value;
    return s;
}

/* ---- blocks */
struct stmt *stmt_parent(const struct stmt *s) {
    return s->in ? s->in->owner : NULL;
}
void block_append(struct block *b, struct stmt *s) {
    ASSERT(!s->in);
    s->in = b;
    s->prev = b->last;
    s->next = NULL;
    *(b->last ? &b->last->next : &b->first) = s;
    b->last = s;
}
void stmt_insert_before(struct stmt *at, struct stmt *s) {
    ASSERT(!s->in && at->in);
    s->in = at->in;
    s->next = at;
    s->prev = at->prev;
    *(at->prev ? &at->prev->next : &at->in->first) = s;
    at->prev = s;
}
void stmt_insert_after(struct stmt *at, struct stmt *s) {
    ASSERT(!s->in && at->in);
    s->in = at->in;
    s->prev = at;
    s->next = at->next;
    *(at->next ? &at->next->prev : &at->in->last) = s;
    at->next = s;
}
void stmt_remove(struct stmt *s) {
    ASSERT(s->in);
    *(s->prev ? &s->prev->next : &s->in->first) = s->next;
    *(s->next ? &s->next->prev : &s->in->last) = s->prev;
    s->in = NULL;
    s->prev = s->next = NULL;
}
void block_move(struct block *to, struct block *from) {
    if (!from->first) return;
    for (struct stmt *t = from->first; t; t = t->next) t->in = to;
    from->first->prev = to->last;
    *(to->last ? &to->last->next : &to->first) = from->first;
    to->last = from->last;
    from->first = from->last = NULL;
}
void block_move_before(struct stmt *at, struct block *from) {
    for (struct stmt *s; (s = from->first);) {
        stmt_remove(s);
        stmt_insert_before(at, s);
    }
}
void stmt_replace(struct stmt *s, struct block *body) {
    struct stmt *first = body->first, *last = body->last;
    if (first) {
        for (struct stmt *t = first; t; t = t->next) t->in = s->in;
        body->first = body->last = NULL;
        first->prev = s->prev;
        *(s->prev ? &s->prev->next : &s->in->first) = first;
        last->next = s;
        s->prev = last;
    }
    stmt_remove(s);
}
