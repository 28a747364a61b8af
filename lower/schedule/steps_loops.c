/* Steps on loops alone: split, cut, reorder, fuse, kind, outline, join, specialize. What is computed stays, the order
 * in which it is done changes. */
#include "lower/schedule/steps_util.h"
#include <string.h>

/* ---- split */
enum tail { TAIL_CUT, TAIL_CUT2, TAIL_GUARD, TAIL_OVERLAP };
struct split {
    struct step *s;
    const char *outer, *inner;
    int64_t factor;
    enum tail tail;
    const struct word *sizes;
    struct stmt *at;
};

/* `if v < n` around every store below b, so that nests stay perfect. */
static bool guard_leaves(struct step *s, struct block *b, expr cond) {
    struct stmts all = {0};
    stmts_below(s, b, &all);
    for (int k = 0; k < all.n; k++) {
        struct stmt *t = all.v[k];
        if (t->kind == S_INSTR || t->kind == S_BARRIER)
            return step_refuse(s, "split first, then tensorize or pipeline",
                               "a guard cannot stand inside an instruction or between barriers");
        if (t->kind != S_STORE && t->kind != S_PREFETCH) continue;
        struct stmt *g = s_if(s->c, cond);
        stmt_insert_before(t, g);
        stmt_remove(t);
        block_append(&g->u.cond.then, t);
    }
    return true;
}
/* Puts `count` tiles of size f in front of the loop that is split; iteration = tile * f + base + inner. */
static bool split_piece(struct split *q, expr count, int64_t f, expr base, enum tail how) {
    struct ctx *c = q->s->c;
    struct stmt *old = q->at;
    expr n = old->u.loop.var->extent;
    const struct var *o = var_new(c, q->outer, count), *i = var_new(c, q->inner, x_int(c, f));
    enum loop_kind k = old->u.loop.kind;
    struct stmt *fo = s_for(c, o, k), *fi = s_for(c, i, k == LK_PARALLEL ? LK_SERIAL : k);
    fo->u.loop.outline = old->u.loop.outline;
    expr v = x_add(c, x_muli(c, x_var(c, o), f), base);
    if (how == TAIL_OVERLAP) v = x_min(c, v, x_addi(c, n, -f));
    v = x_add(c, v, x_var(c, i));
    struct block copy = clone_block(c, &old->u.loop.body);
    block_move(&fi->u.loop.body, &copy);
    block_append(&fo->u.loop.body, fi);
    stmt_insert_before(old, fo);
    subst_var(q->s, &fi->u.loop.body, old->u.loop.var, v);
    if (how == TAIL_GUARD && !x_proves_lt(c, v, n)) return guard_leaves(q->s, &fi->u.loop.body, x_cmp(c, X_LT, v, n));
    return true;
}
/* The last tile starts early and does some iterations twice: they must give the same again. */
static bool can_repeat(struct split *q) {
    struct step *s = q->s;
    struct stmt *loop = q->at, *bad = opaque_in(s, &loop->u.loop.body);
    const char *name = loop->u.loop.var->name;
    struct accesses a = {0};
    if (!holds_nonneg(s, loop, x_addi(s->c, loop->u.loop.var->extent, -q->factor)))
        return step_refuse(s, "use cut2, or specialize the loop for large extents first",
                           "overlap needs an extent of `%s` of at least %lld", name, (long long)q->factor);
    if (bad) return step_refuse(s, "use cut2 or guard", "overlap would repeat %s in `%s`", stmt_what(bad), name);
    accesses_of(s, &loop->u.loop.body, &a);
    for (int k = 0; k < a.n; k++) {
        if (!a.v[k].store || allocated_in(s, &loop->u.loop.body, a.v[k].buf)) continue;
        if (a.v[k].op != RED_NONE)
            return step_refuse(s, "use cut2 or guard, or compute_at the reduction first",
                               "overlap would add to `%s` twice: the body of `%s` is not idempotent", a.v[k].buf->name,
                               name);
        for (int j = 0; j < a.n; j++)
            if (!a.v[j].store && a.v[j].buf == a.v[k].buf)
                return step_refuse(
                    s, "use cut2 or guard",
                    "overlap would compute `%s` from its own new values: the body of `%s` is not idempotent",
                    a.v[k].buf->name, name);
    }
    return true;
}
/* SIZE or SIZE*COUNT. */
static bool tiles_of(struct step *s, const char *item, int64_t *size, int64_t *count) {
    const char *star = strchr(item, '*');
    *count = 1;
    if (star && (!word_int(star + 1, count) || *count < 1)) return false;
    if (star) item = internf(s->c->names, "%.*s", (int)(star - item), item);
    return word_int(item, size) && *size > 0;
}
static bool split_sizes(struct split *q) {
    struct step *s = q->s;
    const struct word *w = q->sizes;
    int64_t n, sum = 0, f, many, cells, next, same;
    const char *name = q->at->u.loop.var->name;
    if (!x_is_int(q->at->u.loop.var->extent, &n))
        return step_refuse(s, "use a factor with cut2, guard or overlap",
                           "sizes need a constant extent; that of `%s` is not", name);
    for (int k = 0; k < w->n; k++)
        if (!tiles_of(s, w->items[k], &f, &many) || !mul_ok(f, many, &cells) || !add_ok(sum, cells, &sum))
            return step_refuse(s, NULL, "`%s` is no size of a tile", w->items[k]);
    if (sum != n)
        return step_refuse(s, "the sizes of all tiles add up to the extent",
                           "sizes add up to %lld, but `%s` runs to %lld", (long long)sum, name, (long long)n);
    int64_t base = 0;
    for (int k = 0; k < w->n; k++) {
        tiles_of(s, w->items[k], &f, &same);
        for (; k + 1 < w->n && tiles_of(s, w->items[k + 1], &next, &many) && next == f; k++) same += many;
        if (!split_piece(q, x_int(s->c, same), f, x_int(s->c, base), TAIL_CUT)) return false;
        base += same * f;
    }
    return true;
}
static bool split_one(struct split *q) {
    struct step *s = q->s;
    struct ctx *c = s->c;
    expr n = q->at->u.loop.var->extent, zero = x_int(c, 0);
    int64_t f = q->factor, k;
    const char *name = q->at->u.loop.var->name;
    if (q->sizes) return split_sizes(q);
    bool constant = x_is_int(n, &k);
    if (x_is(x_modi(c, n, f), 0)) return (constant && k < 1) || split_piece(q, x_divi(c, n, f), f, zero, TAIL_CUT);
    if (constant && q->tail == TAIL_CUT) {
        if (k / f && !split_piece(q, x_int(c, k / f), f, zero, TAIL_CUT)) return false;
        return split_piece(q, x_int(c, 1), k % f, x_int(c, k / f * f), TAIL_CUT);
    }
    if (q->tail == TAIL_CUT)
        return step_refuse(s, "say what to do with the rest: cut2, guard or overlap",
                           "`%s` runs to a run-time extent that is no known multiple of %lld", name, (long long)f);
    expr up = x_divi(c, x_addi(c, n, f - 1), f);
    if (q->tail == TAIL_OVERLAP) return can_repeat(q) && split_piece(q, up, f, zero, TAIL_OVERLAP);
    if (q->tail == TAIL_GUARD) return split_piece(q, up, f, zero, TAIL_GUARD);
    /* cut2: full tiles, then one optional tile for each power of two below f */
    expr rest = x_modi(c, n, f), base = x_muli(c, x_divi(c, n, f), f);
    expr full = x_divi(c, n, f);
    if (!x_is(full, 0) && !split_piece(q, full, f, zero, TAIL_CUT)) return false;
    int64_t p = 1;
    while (p < f - p) p *= 2;
    for (; p; p /= 2) {
        expr from = x_add(c, base, x_sub(c, rest, x_modi(c, rest, 2 * p))), some = x_modi(c, x_divi(c, rest, p), 2);
        if (!x_is(some, 0) && !split_piece(q, some, p, from, TAIL_CUT)) return false;
    }
    return true;
}
bool apply_split(struct step *s) {
    static const char *const tails[] = {"cut", "cut2", "guard", "overlap"};
    struct split q = {.s = s, .sizes = word_key(s, "sizes")};
    struct stmts l = {0};
    int at = 1;
    if (!words_ok(s, 3, q.sizes ? 4 : 5)) return false;
    if (q.sizes) {
        if (!q.sizes->is_list || s->n != 4 || s->w[3].key == NULL) return step_usage(s);
    } else {
        if (s->n < 4 || !words_ok(s, 4, 5) || !word_int(s->w[at++].text, &q.factor)) return step_usage(s);
        if (q.factor < 1) return step_refuse(s, NULL, "the factor must be at least 1");
    }
    q.outer = s->w[at++].text;
    q.inner = s->w[at++].text;
    if (!q.sizes && s->n == 5) {
        int k = 0;
        while (k < 4 && (!s->w[4].text || strcmp(s->w[4].text, tails[k]))) k++;
        if (k == 4) return step_usage(s);
        q.tail = (enum tail)k;
    }
    if (!find_loops(s, s->w[0].text, &l)) return false;
    for (int k = l.n - 1; k >= 0; k--) { /* inner ones first: the bodies of outer ones are copied */
        q.at = l.v[k];
        if (q.at->u.loop.kind != LK_SERIAL && q.at->u.loop.kind != LK_PARALLEL && q.at->u.loop.kind != LK_UNROLL)
            return step_refuse(s, "split before kind", "`%s` is a %s loop already", s->w[0].text,
                               loop_kind_name(q.at->u.loop.kind));
        if (q.at->u.loop.piped) return step_refuse(s, "split before pipeline", "`%s` is pipelined", s->w[0].text);
        if (q.at->u.loop.kind == LK_PARALLEL && q.tail == TAIL_OVERLAP)
            return step_refuse(s, "use cut2 or guard", "iterations of the parallel loop `%s` would overlap",
                               s->w[0].text);
        if (!split_one(&q)) return false;
        stmt_remove(q.at);
    }
    return true;
}

/* ---- cut */
bool apply_cut(struct step *s) {
    struct ctx *c = s->c;
    struct stmts l = {0};
    int64_t at, n;
    if (!words_ok(s, 2, 2)) return false;
    if (!word_int(s->w[1].text, &at) || !at) return step_usage(s);
    if (!find_loops(s, s->w[0].text, &l)) return false;
    for (int k = l.n - 1; k >= 0; k--) {
        struct stmt *t = l.v[k];
        expr e = t->u.loop.var->extent;
        if (t->u.loop.piped) return step_refuse(s, "cut before pipeline", "`%s` is pipelined", s->w[0].text);
        if (t->u.loop.kind == LK_VECTOR || t->u.loop.kind >= LK_BLOCK_X)
            return step_refuse(s, "cut before kind", "`%s` is a %s loop already", s->w[0].text,
                               loop_kind_name(t->u.loop.kind));
        if (x_is_int(e, &n) && (at > 0 ? at >= n : -at >= n)) continue; /* one part would be empty */
        expr first = at > 0 ? x_min(c, x_int(c, at), e) : x_max(c, x_addi(c, e, at), x_int(c, 0));
        const struct var *a = var_new(c, t->u.loop.var->name, first),
                         *b = var_new(c, t->u.loop.var->name, x_sub(c, e, first));
        struct stmt *fa = s_for(c, a, t->u.loop.kind), *fb = s_for(c, b, t->u.loop.kind);
        fa->u.loop.outline = fb->u.loop.outline = t->u.loop.outline;
        struct block copy = clone_block(c, &t->u.loop.body);
        block_move(&fa->u.loop.body, &copy);
        block_move(&fb->u.loop.body, &t->u.loop.body);
        stmt_insert_before(t, fa);
        stmt_insert_before(t, fb);
        stmt_remove(t);
        subst_var(s, &fa->u.loop.body, t->u.loop.var, x_var(c, a));
        subst_var(s, &fb->u.loop.body, t->u.loop.var, x_add(c, x_var(c, b), first));
    }
    return true;
}

/* ---- reorder */
static int position(struct step *s, const char *name) {
    for (int k = 0; k < s->n; k++)
        if (!strcmp(s->w[k].text, name)) return k;
    return -1;
}
struct pair {
    const struct var *outer, *inner;
};
struct pairs {
    struct pair *v;
    int n, cap;
};
/* Accesses x (a store) and y of one buffer: does the order of iterations that meet survive exchanging the pairs? */
static bool order_kept(struct step *s, const struct access *x, const struct access *y, const struct vars *moving,
                       const struct pairs *inverted) {
    struct meet m = cells_meet(s, x->idx, y->idx, x->n, moving);
    if (m.never) return true;
    for (int k = 0; k < inverted->n; k++) {
        if (has_var(&m.fixed, inverted->v[k].outer) || has_var(&m.fixed, inverted->v[k].inner)) continue;
        const char *a = inverted->v[k].outer->name, *b = inverted->v[k].inner->name;
        if (x->op != RED_NONE && y->store && y->op == x->op) { /* parts of one reduction commute */
            bool sum = x->op == RED_SUM || x->op == RED_PROD;
            s->reassociates |= sum && dtype_is_float(dtype_value(x->buf->type));
            continue;
        }
        if (y->store)
            return step_refuse(s, "keep the order of these loops, or reorder before the step that made them overlap",
                               "iterations of `%s` and `%s` store the same cell of `%s`: the last value would change",
                               a, b, x->buf->name);
        return step_refuse(s, "keep the order of these loops",
                           "`%s` is stored and read across iterations of `%s` and `%s`", x->buf->name, a, b);
    }
    return true;
}
static bool reorder_legal(struct step *s, const struct stmts *chain, const struct pairs *inverted) {
    struct block *top = &chain->v[0]->u.loop.body, *leaf = leaf_of(chain);
    struct stmt *bad = opaque_in(s, leaf);
    struct vars moving = {0};
    struct accesses a = {0};
    if (bad)
        return step_refuse(s, "reorder before the step that put it there", "there is %s inside the nest of `%s`",
                           stmt_what(bad), chain->v[0]->u.loop.var->name);
    PUSH(&s->tmp, &moving, chain->v[0]->u.loop.var);
    vars_below(s, top, &moving);
    accesses_of(s, leaf, &a);
    for (int k = 0; k < a.n; k++) {
        if (!a.v[k].store || allocated_in(s, leaf, a.v[k].buf)) continue;
        for (int j = 0; j < a.n; j++)
            if (a.v[j].buf == a.v[k].buf && !order_kept(s, &a.v[k], &a.v[j], &moving, inverted)) return false;
    }
    return true;
}
/* Permutes the named loops of the perfect nest below `head`. changed: it held two that were in another order. */
static bool reorder_nest(struct step *s, struct stmt *head, int *found) {
    struct stmts chain = {0};
    struct pairs inverted = {0};
    int at[64], n = 0;
    chain_of(s, head, &chain);
    for (int k = 0; k < chain.n; k++)
        if (position(s, chain.v[k]->u.loop.var->name) >= 0) {
            if (n == 64) return step_refuse(s, NULL, "more than 64 loops");
            at[n++] = k;
        }
    if (n < 2) return true;
    ++*found;
    const struct stmt *sorted[64];
    for (int k = 0; k < n; k++) { /* insertion sort: few loops, stable */
        int p = position(s, chain.v[at[k]]->u.loop.var->name), j = k;
        for (; j > 0 && position(s, sorted[j - 1]->u.loop.var->name) > p; j--) sorted[j] = sorted[j - 1];
        sorted[j] = chain.v[at[k]];
    }
    struct {
        const struct var *var;
        enum loop_kind kind;
        bool outline, piped;
    } put[64];
    for (int k = 0; k < n; k++) {
        put[k].var = sorted[k]->u.loop.var, put[k].kind = sorted[k]->u.loop.kind;
        put[k].outline = sorted[k]->u.loop.outline, put[k].piped = sorted[k]->u.loop.piped;
        for (int j = 0; j < k; j++) { /* j will be outside of k; was it inside? */
            struct pair was = {sorted[k]->u.loop.var, sorted[j]->u.loop.var};
            if (encloses(sorted[k], sorted[j])) PUSH(&s->tmp, &inverted, was);
        }
    }
    if (!inverted.n) return true;
    struct vars mine = {0};
    for (int k = 0; k < chain.n; k++) PUSH(&s->tmp, &mine, chain.v[k]->u.loop.var);
    for (int k = 0; k < chain.n; k++)
        if (uses_any(s, chain.v[k]->u.loop.var->extent, &mine))
            return step_refuse(s, "reorder only loops whose extents do not depend on each other",
                               "the extent of `%s` depends on a loop of the nest", chain.v[k]->u.loop.var->name);
    if (!reorder_legal(s, &chain, &inverted)) return false;
    for (int k = 0; k < n; k++) {
        struct stmt *t = chain.v[at[k]];
        t->u.loop.var = put[k].var, t->u.loop.kind = put[k].kind, t->u.loop.outline = put[k].outline,
        t->u.loop.piped = put[k].piped;
    }
    return true;
}
/* Named loops that enclose each other must now be in order: else something stood between them. */
static bool in_order(struct step *s, struct stmt *t) {
    int p = position(s, t->u.loop.var->name);
    struct stmt *fork = NULL;
    for (struct stmt *up = stmt_parent(t), *from = t; up; from = up, up = stmt_parent(up)) {
        if (from->prev || from->next || up->kind != S_FOR) fork = up;
        if (up->kind != S_FOR || position(s, up->u.loop.var->name) <= p) continue;
        return step_refuse(s, "reorder before cutting splits and compute_at, which make nests imperfect",
                           "`%s` cannot move inside `%s`: %s%s%s holds more than the next loop", up->u.loop.var->name,
                           t->u.loop.var->name, fork && fork->kind == S_FOR ? "loop `" : "",
                           fork && fork->kind == S_FOR ? fork->u.loop.var->name : "an `if` between them",
                           fork && fork->kind == S_FOR ? "`" : "");
    }
    return true;
}
bool apply_reorder(struct step *s) {
    struct stmts all = {0};
    int found = 0;
    if (!words_ok(s, 2, -1) || !words_ok(s, s->n, s->n)) return false;
    for (int k = 0; k < s->n; k++) {
        struct stmts l = {0};
        if (position(s, s->w[k].text) != k) return step_refuse(s, NULL, "`%s` is named twice", s->w[k].text);
        if (!find_loops(s, s->w[k].text, &l)) return false;
    }
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++) { /* heads of perfect nests */
        struct stmt *up = stmt_parent(all.v[k]);
        if (all.v[k]->kind != S_FOR || (up && up->kind == S_FOR && !all.v[k]->prev && !all.v[k]->next)) continue;
        if (!reorder_nest(s, all.v[k], &found)) return false;
    }
    bool nested = false;
    for (int k = 0; k < all.n; k++) {
        if (all.v[k]->kind != S_FOR || position(s, all.v[k]->u.loop.var->name) < 0) continue;
        if (!in_order(s, all.v[k])) return false;
        for (struct stmt *up = stmt_parent(all.v[k]); up; up = stmt_parent(up))
            nested |= up->kind == S_FOR && position(s, up->u.loop.var->name) >= 0;
    }
    if (!found && !nested)
        return step_refuse(s, "reorder before cutting splits, which make nests imperfect",
                           "no nest holds two of these loops");
    return true;
}

/* ---- fuse */
bool apply_fuse(struct step *s) {
    struct ctx *c = s->c;
    struct stmts l = {0};
    if (!words_ok(s, 3, 3) || !find_loops(s, s->w[0].text, &l)) return false;
    for (int k = l.n - 1; k >= 0; k--) {
        struct stmt *a = l.v[k], *b = a->u.loop.body.first;
        if (!b || b->next || !is_named(b, s->w[1].text))
            return step_refuse(s, "reorder first, so that the second loop is all that the first one holds",
                               "`%s` and `%s` are not perfectly nested", s->w[0].text, s->w[1].text);
        if (a->u.loop.kind != b->u.loop.kind || a->u.loop.kind == LK_VECTOR || a->u.loop.piped || b->u.loop.piped)
            return step_refuse(s, "fuse before kind",
                               "`%s` and `%s` are loops of different kinds, or vector or pipelined ones", s->w[0].text,
                               s->w[1].text);
        expr eb = b->u.loop.var->extent;
        if (x_uses_var(c, eb, a->u.loop.var))
            return step_refuse(s, NULL, "the extent of `%s` depends on `%s`", s->w[1].text, s->w[0].text);
        const struct var *n = var_new(c, s->w[2].text, x_mul(c, a->u.loop.var->extent, eb));
        struct subst sub = {{.arena = &s->tmp}};
        map_put(&sub.map, PKEY(a->u.loop.var), (void *)x_div(c, x_var(c, n), eb));
        map_put(&sub.map, PKEY(b->u.loop.var), (void *)x_mod(c, x_var(c, n), eb));
        struct stmt *f = s_for(c, n, a->u.loop.kind);
        f->u.loop.outline = a->u.loop.outline;
        block_move(&f->u.loop.body, &b->u.loop.body);
        stmt_insert_before(a, f);
        stmt_remove(a);
        subst_block(c, &f->u.loop.body, &sub);
    }
    return true;
}

/* ---- kind, outline */
/* A load with fill tests each index; for all others the cells alone matter (axes that were fused are one there). */
static bool stride_along(struct step *s, const struct access *a, const struct var *v, int64_t *stride) {
    expr rest;
    for (int d = 0; d < a->n && a->load && a->load->has_fill; d++)
        if (!x_linear_in(s->c, a->idx[d], v, stride, &rest)) return false;
    return x_linear_in(s->c, buf_offset(s->c, a->buf, a->idx), v, stride, &rest);
}
bool vector_strides_ok(struct step *s, struct stmt *loop) {
    const struct var *v = loop->u.loop.var;
    struct accesses a = {0};
    accesses_of(s, &loop->u.loop.body, &a);
    for (int k = 0; k < a.n; k++) {
        int64_t st = 0;
        if (a.v[k].s->kind == S_IF) { /* no masks: a test must hold or fail for all lanes */
            if (x_uses_var(s->c, a.v[k].s->u.cond.cond, v))
                return step_refuse(s, "guard another loop, or use cut", "a test inside of `%s` differs between lanes",
                                   v->name);
            continue;
        }
        if (!stride_along(s, &a.v[k], v, &st))
            return step_refuse(s, "place and lay out the buffer first, innermost dim along this loop; kinds come last",
                               "`%s` is not accessed linearly along `%s`", a.v[k].buf->name, v->name);
        if (a.v[k].store && st == 0 && is_fma_update(a.v[k].s))
            return step_refuse(s, "rfactor the reduction into lanes first",
                               "the lanes of `%s` add to one cell of `%s` by fma", v->name, a.v[k].buf->name);
        if (a.v[k].store && st == 0 && a.v[k].op == RED_NONE && !x_is(v->extent, 1))
            return step_refuse(s, "vectorise a loop of the stored buffer", "the lanes of `%s` store one cell of `%s`",
                               v->name, a.v[k].buf->name);
        if (st != 0 && st != 1 && !x_is(v->extent, 1))
            return step_refuse(s, "place and lay out the buffer first, innermost dim along this loop; kinds come last",
                               "the accesses of `%s` along `%s` are %lld cells apart", a.v[k].buf->name, v->name,
                               (long long)st);
    }
    return true;
}
static bool vector_body_ok(struct step *s, struct stmt *loop) {
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
/* Of two iterations that may run at once, neither may store what the other stores or reads. */
static bool no_race(struct step *s, struct stmt *loop, enum loop_kind kind) {
    struct block *b = &loop->u.loop.body;
    struct stmt *bad = opaque_in(s, b);
    struct vars moving = {0};
    struct accesses a = {0};
    const struct var *v = loop->u.loop.var;
    if (bad && !(bad->kind == S_BARRIER && kind >= LK_BLOCK_X))
        return step_refuse(s, NULL, "%s inside of `%s` cannot run in parallel", stmt_what(bad), v->name);
    if (x_is(v->extent, 1)) return true;
    PUSH(&s->tmp, &moving, v);
    vars_below(s, b, &moving);
    accesses_of(s, b, &a);
    for (int k = 0; k < a.n; k++) {
        if (!a.v[k].store || allocated_in(s, b, a.v[k].buf)) continue;
        for (int j = 0; j < a.n; j++) {
            if (a.v[j].buf != a.v[k].buf) continue;
            struct meet m = cells_meet(s, a.v[k].idx, a.v[j].idx, a.v[k].n, &moving);
            if (m.never || has_var(&m.fixed, v)) continue;
            return step_refuse(s,
                               "make a loop parallel that is an axis of the stored buffer; rfactor splits reductions",
                               "two iterations of `%s` may %s one cell of `%s`: a race", v->name,
                               a.v[j].store ? "store" : "store and read", a.v[k].buf->name);
        }
    }
    return true;
}
bool apply_kind(struct step *s) {
    int kind = 0;
    int64_t n;
    if (!words_ok(s, 2, -1) || !words_ok(s, s->n, s->n)) return false;
    while (kind < LK_COUNT && strcmp(loop_kind_name((enum loop_kind)kind), s->w[0].text)) kind++;
    if (kind == LK_COUNT) return step_usage(s);
    for (int w = 1; w < s->n; w++) {
        struct stmts l = {0};
        if (!find_loops(s, s->w[w].text, &l)) return false;
        for (int k = 0; k < l.n; k++) {
            struct stmt *t = l.v[k];
            const struct var *v = t->u.loop.var;
            bool constant = x_is_int(v->extent, &n);
            if (t->u.loop.piped && kind != LK_SERIAL)
                return step_refuse(s, NULL, "`%s` is pipelined and stays serial", v->name);
            if ((kind == LK_UNROLL || kind == LK_VECTOR) && !constant)
                return step_refuse(s, "split the loop by a constant and take the inner one",
                                   "the extent of `%s` is not constant", v->name);
            if (kind == LK_VECTOR && !vector_body_ok(s, t)) return false;
            if ((kind == LK_PARALLEL || kind >= LK_BLOCK_X) && !no_race(s, t, (enum loop_kind)kind)) return false;
            t->u.loop.kind = (enum loop_kind)kind;
        }
    }
    return true;
}
bool apply_outline(struct step *s) {
    struct stmts l = {0};
    if (!words_ok(s, 1, 1) || !find_loops(s, s->w[0].text, &l)) return false;
    for (int k = 0; k < l.n; k++) l.v[k]->u.loop.outline = true;
    return true;
}

/* ---- join */
/* After joining, iteration j < i of the second loop comes before iteration i of the first one: they must not meet. */
static bool join_legal(struct step *s, struct stmt *a, struct stmt *b) {
    struct accesses x = {0}, y = {0};
    struct vars moving = {0};
    struct stmt *bad = opaque_in(s, &a->u.loop.body);
    if (!bad) bad = opaque_in(s, &b->u.loop.body);
    if (bad) return step_refuse(s, NULL, "there is %s in the loops", stmt_what(bad));
    PUSH(&s->tmp, &moving, a->u.loop.var);
    vars_below(s, &a->u.loop.body, &moving);
    vars_below(s, &b->u.loop.body, &moving);
    accesses_of(s, &a->u.loop.body, &x);
    accesses_of(s, &b->u.loop.body, &y);
    for (int k = 0; k < x.n; k++)
        for (int j = 0; j < y.n; j++) {
            if (x.v[k].buf != y.v[j].buf || (!x.v[k].store && !y.v[j].store)) continue;
            if (allocated_in(s, &a->u.loop.body, x.v[k].buf) && allocated_in(s, &b->u.loop.body, x.v[k].buf)) continue;
            struct meet m = cells_meet(s, x.v[k].idx, y.v[j].idx, x.v[k].n, &moving);
            if (m.never || has_var(&m.fixed, a->u.loop.var)) continue;
            if (!y.v[j].store)
                return step_refuse(s, NULL,
                                   "`%s` reads a value of `%s` that is not yet final in the same iteration of `%s`",
                                   s->w[1].text, x.v[k].buf->name, s->w[0].text);
            return step_refuse(s, NULL, "`%s` overwrites `%s` while later iterations of `%s` still %s it", s->w[1].text,
                               x.v[k].buf->name, s->w[0].text, x.v[k].store ? "store" : "read");
        }
    return true;
}
bool apply_join(struct step *s) {
    struct stmts l = {0}, other = {0};
    int done = 0;
    if (!words_ok(s, 2, 2) || !find_loops(s, s->w[0].text, &l) || !find_loops(s, s->w[1].text, &other)) return false;
    for (int k = l.n - 1; k >= 0; k--) {
        struct stmt *a = l.v[k], *b = a->next;
        if (!b || !is_named(b, s->w[1].text)) continue;
        if (a->u.loop.var->extent != b->u.loop.var->extent)
            return step_refuse(s, NULL, "`%s` and `%s` have different extents", s->w[0].text, s->w[1].text);
        if (a->u.loop.kind != b->u.loop.kind || a->u.loop.piped || b->u.loop.piped)
            return step_refuse(s, "join before kind", "`%s` and `%s` are loops of different kinds", s->w[0].text,
                               s->w[1].text);
        subst_var(s, &b->u.loop.body, b->u.loop.var, x_var(s->c, a->u.loop.var));
        if (!join_legal(s, a, b)) return false;
        block_move(&a->u.loop.body, &b->u.loop.body);
        stmt_remove(b);
        done++;
    }
    if (!done)
        return step_refuse(s, "the second loop must follow the first one directly, in the same block",
                           "`%s` and `%s` are nowhere adjacent", s->w[0].text, s->w[1].text);
    return true;
}

/* ---- specialize: conditions like  7<M  M<=2*H+1  1<#y.m  joined by & */
static const struct sym *find_sym(struct step *s, const char *at, size_t n) {
    for (int k = 0; k < s->p->syms.n; k++)
        if (strlen(s->p->syms.v[k]->name) == n && !strncmp(s->p->syms.v[k]->name, at, n)) return s->p->syms.v[k];
    return NULL;
}
/* The extent that all loops of that name have; it must not depend on other loops. */
static expr find_extent(struct step *s, const char *name) {
    struct stmts all = {0};
    expr e = NULL;
    stmts_below(s, &s->p->body, &all);
    for (int k = 0; k < all.n; k++)
        if (is_named(all.v[k], name)) {
            if (e && all.v[k]->u.loop.var->extent != e) return NULL;
            e = all.v[k]->u.loop.var->extent;
        }
    for (int k = 0; e && k < all.n; k++)
        if (all.v[k]->kind == S_FOR && x_uses_var(s->c, e, all.v[k]->u.loop.var)) return NULL;
    return e;
}
static expr parse_factor(struct step *s, const char **at) {
    size_t n = strspn(*at, "0123456789");
    if (n && n < 18) {
        int64_t v;
        word_int(arena_printf(&s->tmp, "%.*s", (int)n, *at), &v);
        *at += n;
        return x_int(s->c, v);
    }
    bool of_loop = **at == '#';
    *at += of_loop;
    n = strcspn(*at, "+-*<>=!&");
    if (of_loop) {
        const char *name = arena_printf(&s->tmp, "%.*s", (int)n, *at);
        *at += n;
        return find_extent(s, name);
    }
    const struct sym *y = find_sym(s, *at, n);
    if (!y) return NULL;
    *at += n;
    return x_sym(s->c, y);
}
static expr parse_side(struct step *s, const char **at) {
    expr sum = x_int(s->c, 0);
    for (int sign = 1;; ++*at) {
        expr f = parse_factor(s, at);
        while (f && **at == '*') {
            ++*at;
            expr g = parse_factor(s, at);
            f = g ? x_mul(s->c, f, g) : NULL;
        }
        if (!f) return NULL;
        sum = x_add(s->c, sum, x_muli(s->c, f, sign));
        if (**at != '+' && **at != '-') return sum;
        sign = **at == '-' ? -1 : 1;
    }
}
static expr parse_cond(struct step *s, const char *at) {
    static const struct {
        const char *t;
        enum xop op;
        bool swap;
    } ops[] = {{"<=", X_LE, false}, {">=", X_LE, true}, {"==", X_EQ, false},
               {"!=", X_NE, false}, {"<", X_LT, false}, {">", X_LT, true}};
    expr all = x_bool(s->c, true);
    for (;; at++) {
        expr a = parse_side(s, &at), b;
        int k = 0;
        while (k < 6 && strncmp(at, ops[k].t, strlen(ops[k].t))) k++;
        if (!a || k == 6) return NULL;
        at += strlen(ops[k].t);
        if (!(b = parse_side(s, &at))) return NULL;
        all = x_and(s->c, all, ops[k].swap ? x_cmp(s->c, ops[k].op, b, a) : x_cmp(s->c, ops[k].op, a, b));
        if (!*at) return all;
        if (*at != '&') return NULL;
    }
}
/* `loop` and those in it become PREFIX.LOOP, so that steps can tell the copy from what it was copied from. */
static void rename_loop(struct step *s, struct stmt *loop, const char *prefix) {
    const struct var *old = loop->u.loop.var,
                     *v = var_new(s->c, internf(s->c->names, "%s.%s", prefix, old->name), old->extent);
    subst_var(s, &loop->u.loop.body, old, x_var(s->c, v));
    loop->u.loop.var = v;
}
bool apply_specialize(struct step *s) {
    struct ctx *c = s->c;
    struct stmts l = {0};
    if (!words_ok(s, 3, 3) || !find_loops(s, s->w[0].text, &l)) return false;
    expr cond = parse_cond(s, s->w[1].text);
    if (!cond)
        return step_refuse(s,
                           "a condition compares numbers, sizes of the kernel and extents of loops, without spaces: "
                           "7<M, M<=2*H+1&1<#y.m",
                           "`%s` is no condition over the sizes of %s", s->w[1].text, s->p->name);
    if (cond->op == X_CONST)
        return step_refuse(s, "leave the step out", "`%s` is %s for all sizes", s->w[1].text,
                           x_is_true(cond) ? "true" : "false");
    for (int k = l.n - 1; k >= 0; k--) {
        struct stmt *t = l.v[k], *g = s_if(c, cond);
        struct stmts all = {0};
        stmt_insert_before(t, g);
        stmt_remove(t);
        block_append(&g->u.cond.then, t);
        struct block copy = clone_block(c, &g->u.cond.then);
        block_move(&g->u.cond.other, &copy);
        stmts_below(s, &g->u.cond.other, &all);
        for (int j = 0; j < all.n; j++)
            if (all.v[j]->kind == S_FOR) rename_loop(s, all.v[j], s->w[2].text);
    }
    return true;
}
