/* Pass `vectorise`: turns a loop of kind vector into vector statements, which are loops of that kind that hold one
 * store each. Extents above the target's lanes are cut into vectors, remainders into narrower ones. What cannot be
 * vectorised without changing the meaning becomes a serial loop, or is unrolled if it uses registers. See passes.h. */
#include "ir/base/checked.h"
#include "lower/passes/passes.h"

enum { MAX_LANES = 64 };
struct vectoriser {
    struct ctx *c;
    int lanes; /* f32 lanes of the target; 1: none */
};

/* ---- can the statements of a loop run one after the other, each over all lanes? */
struct access {
    const struct buf *buf;
    bool write, linear;
    int64_t k;
    expr off;
    const expr *idx;
    int stmt;
    bool lone_sum;
};
struct vec {
    struct vectoriser *x;
    const struct var *v;
    int64_t extent;
    VEC(struct access) acc;
    int nstmt;
    bool bad;
    int bytes; /* of the widest value that differs between lanes */
};

static void add_access(struct vec *w, const struct buf *b, const expr *idx, bool write) {
    struct access a = {.buf = b, .write = write, .stmt = w->nstmt, .off = buf_offset(w->x->c, b, idx), .idx = idx};
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
    if (f->body) x_visit(f->body, widest, &n); /* without a body it is written in C, and has the call's type */
    return n;
}
static bool vec_node(void *env, expr e) {
    struct vec *w = env;
    if (!x_uses_var(w->x->c, e, w->v)) return true;
    if (e->type == STR || dtype_is_complex((enum dtype)e->type) || e->op == X_GUARD)
        w->bad = true; /* there are no vectors of strings and complex numbers; and a guard's fault belongs to a single
                        * lane */
    int n = 4;
    expr rest;
    int64_t step;
    bool place = e->op == X_IDXVAL && x_lane_places(w->x->c, e->arg[0], w->v, &step, &rest); /* a cast has 32 bits */
    if (e->type != IDX && e->type != BOOL && !place) n = dtype_bytes((enum dtype)e->type);
    for (int k = 0; k < e->n && e->op != X_CAST; k++)
        if (e->arg[k]->op == X_IDXVAL) n = dtype_bytes(I64);
    if (e->op == X_CALL && fn_bytes(e->u.fn) > n) n = fn_bytes(e->u.fn);
    if (n > w->bytes) w->bytes = n;
    return true;
}
static void vec_load(void *env, expr load) { add_access(env, load->u.buf, load->arg, false); }
static void vec_expr(struct vec *w, expr e) {
    x_visit_with(e, XF_VAR, vec_node, w);
    x_each_load(e, vec_load, w);
}
/* A load in the arm of a select that differs between lanes must be harmless in all of them, because both arms are
 * computed. A load that the condition always does is harmless, too. */
struct arms {
    struct ctx *c;
    expr read; /* the part of the condition that is always evaluated; NULL: there may be none */
};
static bool no_choice(void *env, expr e) {
    (void)env;
    return e->op != X_SELECT;
}
static bool harmless(void *env, expr e) {
    const struct arms *q = env;
    if (e->op != X_LOAD) return e->op != X_GUARD;
    return e->has_fill || (q->read && x_is_part(q->read, e)) || buf_proves_inside(q->c, e->u.buf, e->arg);
}
static bool is_harmless(struct arms *q, expr e) { return x_visit_with(e, XF_LOAD | XF_GUARD, harmless, q); }
static bool selects_ok(void *env, expr e) {
    struct vec *w = env;
    if (e->op != X_SELECT || e->type == IDX || !x_uses_var(w->x->c, e->arg[0], w->v)) return true;
    struct arms q = {w->x->c, e->arg[0]};
    while (q.read->type == BOOL && (q.read->op == X_AND || q.read->op == X_OR)) q.read = q.read->arg[0];
    if (!x_visit(q.read, no_choice, NULL)) q.read = NULL;
    return is_harmless(&q, e->arg[1]) && is_harmless(&q, e->arg[2]);
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
            w->nstmt++; /* its loads count as a separate statement */
            vec_block(w, &s->u.cond.then);
            vec_block(w, &s->u.cond.other);
            break;
        case S_COMMENT: break;
        default: w->bad = true;
        }
    }
}
/* Access a comes before b in the text; or in one statement, a is the load and b the store. */
static bool independent(struct vec *w, const struct access *a, const struct access *b) {
    if (a->buf != b->buf || (!a->write && !b->write)) return true;
    if (!a->linear || !b->linear || a->k != b->k) return false;
    int64_t d;
    bool known = x_is_int(x_sub(w->x->c, b->off, a->off), &d);
    if (a->k == 0) return known && d != 0; /* different cells, each the same for all lanes */
    if (!known) return false;
    int64_t k = a->k < 0 ? -a->k : a->k, cells = d < 0 ? -d : d;
    if (cells % k || cells / k >= w->extent || d == 0) return true;
    /* lane i of a and lane i - d/k of b touch the same cell; running a first in all lanes is right iff a's lane is not
     * later */
    return a->k > 0 ? d < 0 : d > 0;
}
static bool vectorizable(struct vec *w, struct stmt *loop) {
    w->bytes = 4;
    vec_block(w, &loop->u.loop.body);
    for (int i = 0; i < w->acc.n && !w->bad; i++)
        for (int j = i + 1; j < w->acc.n && !w->bad; j++) w->bad = !independent(w, &w->acc.v[i], &w->acc.v[j]);
    return !w->bad;
}

static bool monotone(struct ctx *c, expr e, const struct var *v) {
    int64_t k;
    expr rest;
    if (!x_uses_var(c, e, v)) return true;
    if (e->op == X_AND && e->type == BOOL) return monotone(c, e->arg[0], v) && monotone(c, e->arg[1], v);
    return (e->op == X_LT || e->op == X_LE) && e->arg[0]->type == IDX &&
           x_linear_in(c, x_sub(c, e->arg[0], e->arg[1]), v, &k, &rest);
}
/* The condition holds for all lanes: its comparisons are monotone, so the first and last lane decide. */
static expr all_lanes(struct ctx *c, expr e, const struct var *v, int64_t width) {
    return x_and(c, x_subst1(c, e, v, x_int(c, 0)), x_subst1(c, e, v, x_int(c, width - 1)));
}
/* Conditions that differ between lanes: `if all lanes {vector} else {lane by lane}`. false: a condition is too
 * complicated. */
static bool guards_ok(struct ctx *c, struct block *b, const struct var *v) {
    for (struct stmt *s = b->first; s; s = s->next)
        if (s->kind == S_IF && (!monotone(c, s->u.cond.cond, v) || !guards_ok(c, &s->u.cond.then, v) ||
                                !guards_ok(c, &s->u.cond.other, v)))
            return false;
    return true;
}
/* Reduces all lanes into one cell that rounds, or wraps, after each: no vector operation does that. */
static bool rounds_each_lane(struct ctx *c, const struct stmt *s, const struct var *lane) {
    const struct buf *b = s->u.store.buf;
    return s->u.store.op != RED_NONE && b->type != dtype_value(b->type) &&
           !x_uses_var(c, buf_offset(c, b, s->u.store.idx), lane);
}
/* Puts a loop with its own variable around one store. */
static void wrap(struct ctx *c, struct stmt *s, const struct var *lane) {
    const struct var *own = var_new(c, lane->name, lane->extent);
    struct stmt *f = s_for(c, own, LK_VECTOR);
    expr v = x_var(c, own);
    for (int k = 0; k < s->u.store.n; k++) s->u.store.idx[k] = x_subst1(c, s->u.store.idx[k], lane, v);
    s->u.store.value = x_subst1(c, s->u.store.value, lane, v);
    stmt_insert_before(s, f);
    stmt_remove(s);
    block_append(&f->u.loop.body, s);
}
/* Puts every store of b into a vector loop. */
static void wrap_stores(struct vectoriser *x, struct block *b, const struct var *lane, int64_t width) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        next = s->next;
        if (s->kind == S_STORE && rounds_each_lane(x->c, s, lane)) {
            for (int64_t i = 0; i < width; i++) {
                struct stmt *one = s_store(x->c, s->u.store.buf, s->u.store.idx, s->u.store.n, s->u.store.op,
                                           x_subst1(x->c, s->u.store.value, lane, x_int(x->c, i)));
                stmt_insert_before(s, one);
            }
            stmt_remove(s);
            continue;
        }
        if (s->kind == S_STORE) {
            wrap(x->c, s, lane);
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
        block_move(&all->u.cond.then, &then);
        wrap_stores(x, &all->u.cond.then, lane, width);
        stmt_remove(s);
        struct stmt *mark = s_new(x->c, S_COMMENT);
        mark->u.comment.text = "lane by lane";
        block_append(&all->u.cond.other, mark);
        struct block one = {0};
        block_append(&one, s);
        for (int64_t i = 0; i < width; i++) copy_with(x->c, mark, &one, lane, x_int(x->c, i));
        stmt_remove(mark);
    }
}

static bool stores_reg(void *env, struct stmt *s) {
    if (s->kind == S_STORE && s->u.store.buf->scope == SC_REG) *(bool *)env = true;
    return true;
}
static void loads_reg(void *env, const struct stmt *s, expr load) {
    (void)s;
    if (load->u.buf->scope == SC_REG) *(bool *)env = true;
}

/* A vector loop without a constant extent cannot use vectors. Register tiles need constant indices, so a short loop
 * that uses registers is unrolled instead. */
static void serialize(struct vectoriser *x, struct stmt *s) {
    int64_t extent;
    bool reg = false;
    walk(&s->u.loop.body, stores_reg, &reg);
    each_load(&s->u.loop.body, loads_reg, &reg);
    if (x->lanes > 1 && reg && x_is_int(s->u.loop.var->extent, &extent) && extent <= 64) write_out(x->c, s, extent);
    else s->u.loop.kind = LK_SERIAL;
}
static int64_t width_at(const struct vec *w, int64_t most, int64_t at) {
    while (most > w->extent - at) most /= 2;
    return most;
}
/* Do the lanes from `at` on access contiguous cells, one cell, or gathered ones; and if that holds for all lanes, are
 * they proved to be inside? Terms that combine over the whole range may not over a part of it. */
static bool stride_known(const struct vec *w, const struct access *a, const struct var *lane, int64_t at) {
    struct ctx *c = w->x->c;
    expr idx[34], rest, by = x_addi(c, x_var(c, lane), at);
    int64_t k;
    for (int d = 0; d < a->buf->nd; d++) idx[d] = x_subst1(c, a->idx[d], w->v, by);
    expr off = buf_offset(c, a->buf, idx);
    if (buf_proves_inside(c, a->buf, a->idx) && !buf_proves_inside(c, a->buf, idx)) return false;
    return x_linear_in(c, off, lane, &k, &rest) || (!a->linear && x_lanes_found(c, off, lane));
}
static bool strides_known(const struct vec *w, int64_t most) {
    for (int64_t at = 0, width; at < w->extent; at += width) {
        const struct var *lane = var_new(w->x->c, "lane", x_int(w->x->c, width = width_at(w, most, at)));
        for (int k = 0; k < w->acc.n; k++)
            if (width > 1 && width < w->extent && !stride_known(w, &w->acc.v[k], lane, at)) return false;
    }
    return true;
}
static void vectorise(struct vectoriser *x, struct stmt *s) {
    const struct var *v = s->u.loop.var;
    struct vec w = {.x = x, .v = v};
    if (x->lanes < 2) {
        s->u.loop.kind = LK_SERIAL;
        return;
    }
    if (!x_is_int(v->extent, &w.extent) || w.extent > MAX_WRITTEN || !vectorizable(&w, s) ||
        !guards_ok(x->c, &s->u.loop.body, v)) {
        serialize(x, s);
        return;
    }
    int most = x->lanes * 4 / w.bytes;
    if (most < 2) most = 1;
    if (!strides_known(&w, most)) {
        serialize(x, s);
        return;
    }
    for (int64_t at = 0; at < w.extent;) {
        int64_t width = width_at(&w, most, at);
        struct block copy = clone_block(x->c, &s->u.loop.body), one = {0};
        block_move(&one, &copy);
        struct subst sub = {.map = {.arena = &x->c->arena}};
        const struct var *lane = width > 1 ? var_new(x->c, "lane", x_int(x->c, width)) : NULL;
        map_put(&sub.map, PKEY(v), (void *)(lane ? x_addi(x->c, x_var(x->c, lane), at) : x_int(x->c, at)));
        subst_block(x->c, &one, &sub);
        if (lane) wrap_stores(x, &one, lane, width);
        block_move_before(s, &one);
        at += width;
    }
    stmt_remove(s);
}

static void in_block(struct vectoriser *x, struct block *b) {
    for (struct stmt *s = b->first, *next; s; s = next) {
        struct block *in[2];
        next = s->next;
        if (s->kind == S_INSTR) continue;
        for (int n = stmt_blocks(s, in), k = n; k-- > 0;) in_block(x, in[k]);
        if (s->kind == S_FOR && s->u.loop.kind == LK_VECTOR) vectorise(x, s);
    }
}
void pass_vectorise(struct module *m, const struct printing *o) {
    int lanes = printed_lanes(o);
    if (lanes < 1 || lanes > MAX_LANES) BUG("%d lanes", lanes);
    for (int k = 0; k < m->procs.n; k++) {
        struct vectoriser x = {.c = m->ctx, .lanes = lanes};
        in_block(&x, &m->procs.v[k]->body);
    }
}
