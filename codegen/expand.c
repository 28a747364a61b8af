/* Unrolling, vector statements, literals: see expand.h. */
#include "codegen/expand.h"
#include "codegen/prelude.h"
#include "ir/base/checked.h"
#include "ir/base/diag.h"
#include <string.h>

enum { MAX_TEXT = 1 << 14 }; /* statements that one unrolled loop may become */

struct ex {
    struct ctx *c;
    struct proc *p;
    const struct emit_options *o;
    int lanes;
    struct expanded r;
    struct map consts; /* buf -> cells */
};

/* ---- constant tables */
struct table {
    const union cell *v;
    int64_t n;
};
static bool get_env(void *env, expr leaf, int64_t *v) {
    const struct subst *s = env;
    expr e = leaf->op == X_VAR ? map_get(&s->map, PKEY(leaf->u.var)) : NULL;
    return e && x_is_int(e, v);
}
const union cell *const_cells(struct ctx *c, const struct buf *b, int64_t *n) {
    enum { LIMIT = 1 << 22 };
    int64_t cells, total = 1;
    if (!b->data || !x_is_int(buf_cells(c, b), &cells) || cells <= 0 || cells > LIMIT) return NULL;
    union cell *v = NEWN(&c->arena, union cell, cells);
    bool flt = dtype_is_float(b->type);
    for (int64_t i = 0; b->fill && i < cells; i++)
        v[i] = flt ? (union cell){.f = b->fill->u.f} : (union cell){.i = b->fill->u.i};
    int64_t ext[32], at[32] = {0};
    for (int k = 0; k < b->nlogical; k++) {
        if (!x_is_int(b->logical[k], &ext[k])) return NULL;
        total *= ext[k];
    }
    expr phys = buf_offset(c, b, b->map);
    for (int64_t i = 0; i < total; i++) {
        struct subst s = {.map = {.arena = &c->arena}};
        for (int k = 0; k < b->nlogical; k++) map_put(&s.map, PKEY(b->lvar[k]), (void *)x_int(c, at[k]));
        int64_t to;
        if (!x_eval_int(phys, get_env, &s, &to) || to < 0 || to >= cells) return NULL;
        if (flt) v[to].f = tensor_f(b->data, i);
        else v[to].i = tensor_i(b->data, i);
        for (int k = b->nlogical - 1; k >= 0 && ++at[k] == ext[k]; k--) at[k] = 0;
    }
    *n = cells;
    return v;
}
static expr literal(void *env, expr e) {
    struct ex *x = env;
    if (e->op != X_LOAD || e->u.buf->scope != SC_CONST || !e->u.buf->data || e->has_fill || e->type == STR ||
        dtype_is_complex((enum dtype)e->type))
        return NULL;
    int64_t at;
    if (!x_is_int(buf_offset(x->c, e->u.buf, e->arg), &at)) return NULL;
    struct table *t = map_get(&x->consts, PKEY(e->u.buf));
    if (!t) {
        t = NEW(&x->c->arena, struct table);
        t->v = const_cells(x->c, e->u.buf, &t->n);
        map_put(&x->consts, PKEY(e->u.buf), t);
    }
    if (!t->v || at < 0 || at >= t->n) return NULL;
    return e->type == F32 || e->type == F64 ? x_const_f(x->c, (enum dtype)e->type, t->v[at].f)
                                            : x_const_i(x->c, (enum dtype)e->type, t->v[at].i);
}

/* ---- unrolling */
static bool count_stmt(void *env, struct stmt *s) {
    int64_t *n = env, ext = 1;
    *n = sat_add(*n, 1);
    if (s->kind == S_FOR && s->u.loop.kind == LK_UNROLL && x_is_int(s->u.loop.var->extent, &ext) && ext > 1)
        *n = sat_mul(*n, ext); /* an upper estimate */
    return true;
}
static struct block take(struct block *b) {
    struct block r = *b;
    b->first = b->last = NULL;
    return r;
}
static void adopt(struct block *b, struct stmt *owner) {
    b->owner = owner;
    for (struct stmt *s = b->first; s; s = s->next) s->in = b;
}
/* Puts a copy of `body` with var = value before `at`. */
static void copy_with(struct ex *x, struct stmt *at, struct block *body, const struct var *var, expr value) {
    struct block b = clone_block(x->c, body);
    adopt(&b, NULL);
    struct subst s = {.map = {.arena = &x->c->arena}};
    map_put(&s.map, PKEY(var), (void *)value);
    subst_block(x->c, &b, &s);
    while (b.first) {
        struct stmt *t = b.first;
        stmt_remove(t);
        stmt_insert_before(at, t);
    }
}
static void unroll(struct ex *x, struct stmt *s, int64_t extent) {
    for (int64_t i = 0; i < extent; i++) copy_with(x, s, &s->u.loop.body, s->u.loop.var, x_int(x->c, i));
    stmt_remove(s);
}

/* ---- vectors: may the statements of a loop be run one after the other, each over all lanes? */
struct access {
    const struct buf *buf;
    bool write, linear;
    int64_t k;
    expr off;
    int stmt;
    bool lone_sum;
};
struct vec {
    struct ex *x;
    const struct var *v;
    int64_t extent;
    VEC(struct access) acc;
    int nstmt;
    bool bad;
    int bytes; /* of the widest value that differs between lanes */
};

static void add_access(struct vec *w, const struct buf *b, const expr *idx, bool write) {
    struct access a = {.buf = b, .write = write, .stmt = w->nstmt, .off = buf_offset(w->x->c, b, idx)};
    a.linear = x_linear_in(w->x->c, a.off, w->v, &a.k, &a.off);
    PUSH(&w->x->c->arena, &w->acc, a);
}
static int fn_bytes(const struct fn *f);
static bool widest(void *env, expr e) {
    int *bytes = env;
    if (e->op == X_CALL) {
        int n = fn_bytes(e->u.fn);
        if (n > *bytes) *bytes = n;
    }
    int n = e->type == BOOL || e->type == IDX || e->type == NONE ? 4 : dtype_bytes((enum dtype)e->type);
    if (n > *bytes) *bytes = n;
    return true;
}
static int fn_bytes(const struct fn *f) {
    int n = 4;
    if (f->body) x_visit(f->body, widest, &n); /* else written in C; the call has its type */
    return n;
}
static bool vec_node(void *env, expr e) {
    struct vec *w = env;
    if (!x_uses_var(w->x->c, e, w->v)) return true;
    if (e->type == STR || dtype_is_complex((enum dtype)e->type) || e->op == X_GUARD)
        w->bad = true; /* strings and complex numbers have no vectors; a guard's fault belongs to one lane */
    int n = 4;
    if (e->type != IDX && e->type != BOOL) n = dtype_bytes((enum dtype)e->type);
    if (e->op == X_CALL && fn_bytes(e->u.fn) > n) n = fn_bytes(e->u.fn);
    if (n > w->bytes) w->bytes = n;
    return true;
}
static bool vec_loads(void *env, expr e) {
    struct vec *w = env;
    if (e->op == X_LOAD) add_access(w, e->u.buf, e->arg, false);
    return true;
}
static void vec_expr(struct vec *w, expr e) {
    x_visit(e, vec_node, w);
    x_visit(e, vec_loads, w);
}
/* A load in the arm of a lane's own select must be harmless in every lane: both arms are computed. */
static bool in_range(struct ctx *c, expr load) {
    const struct buf *b = load->u.buf;
    for (int k = 0; k < b->nd; k++)
        if (!x_proves_le(c, x_int(c, 0), load->arg[k]) || !x_proves_lt(c, load->arg[k], b->dims[k])) return false;
    return true;
}
static bool harmless(void *env, expr e) {
    return e->op != X_GUARD && (e->op != X_LOAD || e->has_fill || in_range(env, e));
}
static bool selects_ok(void *env, expr e) {
    struct vec *w = env;
    if (e->op != X_SELECT || e->type == IDX || !x_uses_var(w->x->c, e->arg[0], w->v)) return true;
    return x_visit(e->arg[1], harmless, w->x->c) && x_visit(e->arg[2], harmless, w->x->c);
}
static void vec_block(struct vec *w, struct block *b) {
    for (struct stmt *s = b->first; s && !w->bad; s = s->next) {
        switch (s->kind) {
        case S_STORE: {
            expr own = x_load(w->x->c, s->u.store.buf, s->u.store.idx, s->u.store.n, NULL);
            if (own->op == X_POISON || s->u.store.buf->type == STR || dtype_is_complex(s->u.store.buf->type))
                w->bad = true;
            if (!x_visit(s->u.store.value, selects_ok, w)) w->bad = true;
            for (int k = 0; k < s->u.store.n; k++) vec_expr(w, s->u.store.idx[k]);
            int first = w->acc.n;
            vec_expr(w, s->u.store.value);
            add_access(w, s->u.store.buf, s->u.store.idx, true);
            struct access *st = &w->acc.v[w->acc.n - 1];
            st->lone_sum = st->linear && st->k == 0;
            if (!st->linear) w->bad = true; /* two lanes might store one cell */
            /* a cell shared by the lanes may be updated, in lane order, by the update operator only */
            for (int i = first; st->lone_sum && i < w->acc.n - 1; i++)
                if (w->acc.v[i].buf == st->buf) w->bad = true;
            int n = dtype_bytes(dtype_value(s->u.store.buf->type));
            if (dtype_value(s->u.store.buf->type) != BOOL && n > w->bytes) w->bytes = n;
            w->nstmt++;
            break;
        }
        case S_IF:
            if (stmt_parent(s)->kind == S_IF && s->u.cond.other.first)
                w->bad = true; /* kept simple: nested alternatives stay serial */
            vec_expr(w, s->u.cond.cond);
            w->nstmt++; /* its loads count as a statement of their own */
            vec_block(w, &s->u.cond.then);
            vec_block(w, &s->u.cond.other);
            break;
        case S_COMMENT: break;
        default: w->bad = true;
        }
    }
}
/* Accesses a before b in the text, or of one statement with a the load and b the store. */
static bool independent(struct vec *w, const struct access *a, const struct access *b) {
    if (a->buf != b->buf || (!a->write && !b->write)) return true;
    if (!a->linear || !b->linear || a->k != b->k) return false;
    int64_t d;
    bool known = x_is_int(x_sub(w->x->c, b->off, a->off), &d);
    if (a->k == 0) return known && d != 0; /* different cells, the same for all lanes */
    if (!known) return false;
    int64_t k = a->k < 0 ? -a->k : a->k, cells = d < 0 ? -d : d;
    if (cells % k || cells / k >= w->extent || d == 0) return true;
    /* lane i of a and lane i - d/k of b meet. a first in every lane is the text's order iff a's lane is not later. */
    return a->k > 0 ? d < 0 : d > 0;
}
static bool vectorizable(struct vec *w, struct stmt *loop) {
    w->bytes = 4;
    vec_block(w, &loop->u.loop.body);
    for (int i = 0; i < w->acc.n && !w->bad; i++)
        for (int j = i + 1; j < w->acc.n && !w->bad; j++) w->bad = !independent(w, &w->acc.v[i], &w->acc.v[j]);
    return !w->bad;
}

static const struct var *lane_var(struct ex *x, int width) {
    int k = 0;
    while (1 << k < width) k++;
    if (!x->r.lane[k]) x->r.lane[k] = var_new(x->c, "lane", x_int(x->c, width));
    return x->r.lane[k];
}
static bool monotone(struct ctx *c, expr e, const struct var *v) {
    int64_t k;
    expr rest;
    if (!x_uses_var(c, e, v)) return true;
    if (e->op == X_AND && e->type == BOOL) return monotone(c, e->arg[0], v) && monotone(c, e->arg[1], v);
    return (e->op == X_LT || e->op == X_LE) && e->arg[0]->type == IDX &&
           x_linear_in(c, x_sub(c, e->arg[0], e->arg[1]), v, &k, &rest);
}
/* The condition holds for all lanes: its comparisons are monotone, so first and last lane tell. */
static expr all_lanes(struct ctx *c, expr e, const struct var *v, int64_t width) {
    return x_and(c, x_subst1(c, e, v, x_int(c, 0)), x_subst1(c, e, v, x_int(c, width - 1)));
}
/* Conditions that differ between lanes: `if all lanes {vector} else {lane by lane}`. false: some condition is too hard.
 */
static bool guards_ok(struct ctx *c, struct block *b, const struct var *v) {
    for (struct stmt *s = b->first; s; s = s->next)
        if (s->kind == S_IF && (!monotone(c, s->u.cond.cond, v) || !guards_ok(c, &s->u.cond.then, v) ||
                                !guards_ok(c, &s->u.cond.other, v)))
            return false;
    return true;
}
/* Every store of b in a vector loop of its own over `lane`. */
static void wrap_stores(struct ex *x, struct block *b, const struct var *lane, int64_t width) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s->kind == S_STORE) {
            struct stmt *f = s_for(x->c, lane, LK_VECTOR);
            stmt_insert_before(s, f);
            stmt_remove(s);
            block_append(&f->u.loop.body, s);
            continue;
        }
        if (s->kind != S_IF) continue;
        if (!x_uses_var(x->c, s->u.cond.cond, lane)) {
            wrap_stores(x, &s->u.cond.then, lane, width);
            wrap_stores(x, &s->u.cond.other, lane, width);
            continue;
        }
        struct stmt *all = s_if(x->c, all_lanes(x->c, s->u.cond.cond, lane, width));
        stmt_insert_before(s, all);
        struct block then = clone_block(x->c, &s->u.cond.then);
        adopt(&then, NULL);
        while (then.first) {
            struct stmt *t = then.first;
            stmt_remove(t);
            block_append(&all->u.cond.then, t);
        }
        wrap_stores(x, &all->u.cond.then, lane, width);
        stmt_remove(s);
        struct stmt *mark = s_new(x->c, S_COMMENT);
        mark->u.comment.text = "lane by lane";
        block_append(&all->u.cond.other, mark);
        struct block one = {0};
        block_append(&one, s);
        for (int64_t i = 0; i < width; i++) copy_with(x, mark, &one, lane, x_int(x->c, i));
        stmt_remove(mark);
    }
}

static bool uses_reg(struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        if (s->kind == S_STORE && s->u.store.buf->scope == SC_REG) return true;
        for (int k = stmt_blocks(s, in); k-- > 0;)
            if (uses_reg(in[k])) return true;
    }
    return false;
}
static void loads_reg(void *env, struct stmt *s, expr load) {
    (void)s;
    if (load->u.buf->scope == SC_REG) *(bool *)env = true;
}

/* A vector loop whose extent is not a constant: no vectors. Register tiles need constant indices, so a short loop that
 * touches registers is written out. */
static void serialize(struct ex *x, struct stmt *s) {
    int64_t extent;
    bool reg = uses_reg(&s->u.loop.body);
    each_load(&s->u.loop.body, loads_reg, &reg);
    if (x->lanes > 1 && reg && x_is_int(s->u.loop.var->extent, &extent) && extent <= 64) unroll(x, s, extent);
    else s->u.loop.kind = LK_SERIAL;
}
static void vectorize(struct ex *x, struct stmt *s) {
    const struct var *v = s->u.loop.var;
    struct vec w = {.x = x, .v = v};
    if (x->lanes < 2) {
        s->u.loop.kind = LK_SERIAL;
        return;
    }
    if (!x_is_int(v->extent, &w.extent) || w.extent > MAX_TEXT || !vectorizable(&w, s) ||
        !guards_ok(x->c, &s->u.loop.body, v)) {
        x->r.serial_vectors++;
        serialize(x, s);
        return;
    }
    int most = x->lanes * 4 / w.bytes;
    if (most < 2) most = 1;
    for (int64_t at = 0; at < w.extent;) {
        int64_t width = most;
        while (width > w.extent - at) width /= 2;
        struct block one = clone_block(x->c, &s->u.loop.body);
        adopt(&one, NULL);
        struct subst sub = {.map = {.arena = &x->c->arena}};
        const struct var *lane = width > 1 ? lane_var(x, (int)width) : NULL;
        map_put(&sub.map, PKEY(v), (void *)(lane ? x_addi(x->c, x_var(x->c, lane), at) : x_int(x->c, at)));
        subst_block(x->c, &one, &sub);
        if (lane) wrap_stores(x, &one, lane, width);
        while (one.first) {
            struct stmt *t = one.first;
            stmt_remove(t);
            stmt_insert_before(s, t);
        }
        at += width;
    }
    stmt_remove(s);
}

/* ---- one block */
static void expand_block(struct ex *x, struct block *b);
static void expand_stmt(struct ex *x, struct stmt *s);

/* Writes the loop out, then works on the copies: what depended on its variable is constant now. */
static void unroll_and_expand(struct ex *x, struct stmt *s, int64_t extent) {
    struct stmt *end = s_new(x->c, S_COMMENT), *before = s->prev;
    struct block *home = s->in;
    stmt_insert_after(s, end);
    unroll(x, s, extent);
    for (struct stmt *t = before ? before->next : home->first, *next; t != end; t = next) {
        next = t->next;
        expand_stmt(x, t);
    }
    stmt_remove(end);
}
static void expand_for(struct ex *x, struct stmt *s) {
    int64_t extent, size = 0;
    bool known = x_is_int(s->u.loop.var->extent, &extent);
    if (known && extent <= 0) {
        stmt_remove(s);
        return;
    }
    bool threads = s->u.loop.kind >= LK_THREAD_X; /* of one thread only: the others must know that they are not meant */
    if (known && !threads && (extent == 1 || s->u.loop.kind == LK_UNROLL)) {
        walk(&s->u.loop.body, count_stmt, &size);
        if (extent == 1 || sat_mul(size, extent) <= MAX_TEXT) {
            unroll_and_expand(x, s, extent);
            return;
        }
    }
    if (s->u.loop.kind == LK_UNROLL) s->u.loop.kind = LK_SERIAL;
    expand_block(x, &s->u.loop.body);
    if (s->u.loop.kind == LK_VECTOR) vectorize(x, s);
}
static bool has_instr(struct ex *x, struct stmt *s) {
    const struct instr_row *row = emit_instr(x->o, s->u.instr.row->name);
    return row && row->c && s->u.instr.row->holes[0].name;
}
static void expand_stmt(struct ex *x, struct stmt *s) {
    struct block *in[2], inside;
    if (s->kind == S_FOR) {
        expand_for(x, s);
        return;
    }
    if (s->kind == S_INSTR && has_instr(x, s)) return;
    if ((s->kind == S_IF && s->u.cond.cond->op == X_CONST) || s->kind == S_INSTR) {
        inside = take(s->kind == S_INSTR          ? &s->u.instr.body
                      : x_is_true(s->u.cond.cond) ? &s->u.cond.then
                                                  : &s->u.cond.other);
        adopt(&inside, NULL);
        expand_block(x, &inside);
        stmt_replace(s, &inside);
        return;
    }
    for (int k = stmt_blocks(s, in); k-- > 0;) expand_block(x, in[k]);
}
static void expand_block(struct ex *x, struct block *b) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        expand_stmt(x, s);
    }
}

static bool is_no_load(void *env, expr e) {
    (void)env;
    return e->op != X_LOAD && e->op != X_GUARD;
}
static bool no_loads(expr e) { return x_visit(e, is_no_load, NULL); }

/* ---- `r = a; r += b` on registers */
static bool loads_buf(void *env, expr e) { return !(e->op == X_LOAD && e->u.buf == env); }
static bool reads(expr e, const struct buf *b) { return !x_visit(e, loads_buf, (void *)b); }
struct store_of {
    expr value;
    const struct buf *buf;
};
static bool operand_kept(void *env, expr e) {
    struct store_of *q = env;
    return !(e->op == X_LOAD && e->u.buf == q->buf);
}
static bool same_cell(const struct stmt *a, const struct stmt *b) {
    if (a->u.store.buf != b->u.store.buf) return false;
    for (int k = 0; k < a->u.store.n; k++)
        if (a->u.store.idx[k] != b->u.store.idx[k]) return false;
    return true;
}
/* The store in s, through a vector loop of one store; NULL for other statements. */
static struct stmt *store_in(struct stmt *s) {
    if (s->kind == S_STORE) return s;
    if (s->kind == S_FOR && s->u.loop.kind == LK_VECTOR && s->u.loop.body.first == s->u.loop.body.last &&
        s->u.loop.body.first && s->u.loop.body.first->kind == S_STORE)
        return s->u.loop.body.first;
    return NULL;
}
/* Merges the update t into the plain store of the same register cell just before it, when nothing lies between but
 * stores to other cells that neither reads what the other writes. Same operations in the same order: exact. */
static void merge_updates(struct ctx *c, struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        struct stmt *a = store_in(s);
        if (!a) {
            for (int k = stmt_blocks(s, in); k-- > 0;) merge_updates(c, in[k]);
            continue;
        }
        struct buf *buf = a->u.store.buf;
        if (a->u.store.op != RED_NONE || buf->scope != SC_REG || buf->type != dtype_value(buf->type)) continue;
        for (struct stmt *t = s->next, *next; t; t = next) {
            next = t->next;
            struct stmt *u = store_in(t);
            if (!u || (s->kind != t->kind) || (t->kind == S_FOR && s->u.loop.var != t->u.loop.var)) break;
            if (!same_cell(a, u)) {
                struct store_of q = {.buf = u->u.store.buf};
                if (reads(u->u.store.value, buf) || !x_visit(a->u.store.value, operand_kept, &q) ||
                    u->u.store.buf == buf)
                    break;
                continue;
            }
            if (u->u.store.op == RED_NONE || reads(u->u.store.value, buf)) break;
            if (t->kind == S_FOR) { /* a cell that all lanes share is not one register lane */
                bool lane = false;
                for (int k = 0; k < u->u.store.n; k++) lane = lane || x_uses_var(c, u->u.store.idx[k], t->u.loop.var);
                if (!lane) break;
            }
            /* stores between s and t must not have changed what t reads */
            bool clear = true;
            for (struct stmt *m = s->next; m != t; m = m->next)
                if (store_in(m) && reads(u->u.store.value, store_in(m)->u.store.buf)) clear = false;
            if (!clear) break;
            a->u.store.value = red_apply(c, u->u.store.op, a->u.store.value, u->u.store.value);
            stmt_remove(t);
        }
    }
}

/* ---- `if c: a` and `if c: b` side by side become one, when nothing stored there can change c */
static void merge_ifs(struct block *b) {
    for (struct stmt *s = b->first; s; s = s->next) {
        struct block *in[2];
        for (struct stmt *t; s->kind == S_IF && !s->u.cond.other.first && no_loads(s->u.cond.cond) && (t = s->next) &&
                             t->kind == S_IF && t->u.cond.cond == s->u.cond.cond && !t->u.cond.other.first;) {
            block_move(&s->u.cond.then, &t->u.cond.then);
            stmt_remove(t);
        }
        for (int k = stmt_blocks(s, in); k-- > 0;) merge_ifs(in[k]);
    }
}

struct expanded expand_proc(struct ctx *c, struct proc *p, int lanes, const struct emit_options *o) {
    struct ex x = {.c = c, .p = p, .o = o, .lanes = lanes, .consts = {.arena = &c->arena}};
    ASSERT(lanes >= 1 && lanes <= 1 << MAX_LANES_LOG);
    lower_stages(c, p);
    expand_block(&x, &p->body);
    map_exprs(c, &p->body, literal, &x);
    merge_ifs(&p->body);
    merge_updates(c, &p->body);
    return x.r;
}
