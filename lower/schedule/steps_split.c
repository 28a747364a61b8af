/* The steps split and cut: a loop becomes tiles, or two parts. They preserve what is computed, and the order, except
 * for the tail `overlap`, which repeats some iterations. */
#include "lower/schedule/steps_util.h"

/* ---- split */
struct split {
    struct step_run *s;
    const char *outer, *inner;
    int64_t factor;
    enum step_tail tail;
    int64_t pieces;
    const struct tile_sizes *sizes;
    struct stmt *at;
};

/* Does the statement read memory to decide whether, or how often, it runs something? */
static bool reads_to_decide(const struct stmt *t) {
    return t->kind == S_WHILE || (t->kind == S_IF && x_has(t->u.cond.cond, XF_LOAD)) ||
           (t->kind == S_FOR && x_has(t->u.loop.var->extent, XF_LOAD));
}
static void guard_stores(struct step_run *s, struct block *b, expr cond) {
    for (struct stmt *t = b->first, *next; t; t = next) {
        struct block *in[2];
        next = t->next;
        if (t->kind == S_STORE || t->kind == S_PREFETCH) {
            struct stmt *g = s_if(s->c, cond);
            stmt_insert_before(t, g);
            stmt_remove(t);
            block_append(&g->u.cond.then, t);
        } else {
            for (int n = stmt_blocks(t, in), k = 0; k < n; k++) guard_stores(s, in[k], cond);
        }
    }
}
/* Puts all of b but its allocations under the condition. */
static void guard_whole(struct step_run *s, struct block *b, expr cond) {
    struct stmt *g = s_if(s->c, cond);
    for (struct stmt *t = b->first, *next; t; t = next) {
        next = t->next;
        if (t->kind == S_ALLOC) continue;
        stmt_remove(t);
        block_append(&g->u.cond.then, t);
    }
    block_append(b, g);
}
/* Adds `if v < n` around every store below b, so that nests stay perfect. Around a whole block, if it decides by
 * reading memory what it does. */
static bool guard_block(struct step_run *s, struct block *b, expr cond) {
    struct stmts all = {0};
    bool reads = false;
    stmts_below(s, b, &all);
    for (int k = 0; k < all.n; k++) {
        if (all.v[k]->kind == S_INSTR || all.v[k]->kind == S_BARRIER)
            return step_refuse(s, "split first, then tensorize or pipeline",
                               "a guard cannot stand inside an instruction or between barriers");
        reads |= reads_to_decide(all.v[k]);
    }
    (reads ? guard_whole : guard_stores)(s, b, cond);
    return true;
}
/* Inserts `count` tiles of size f before the loop that is split; iteration = tile * f + base + inner. */
static bool split_piece(struct split *q, expr count, int64_t f, expr base, enum step_tail how) {
    struct ctx *c = q->s->c;
    struct stmt *old = q->at;
    expr n = old->u.loop.var->extent;
    const struct var *o = var_new(c, q->outer, count), *i = var_new(c, q->inner, x_int(c, f));
    enum loop_kind k = old->u.loop.kind;
    struct stmt *fo = s_for(c, o, k), *fi = s_for(c, i, k == LK_PARALLEL ? LK_SERIAL : k);
    fo->u.loop.outline = old->u.loop.outline;
    fo->u.loop.independent = fo->u.loop.assumed = fi->u.loop.independent = fi->u.loop.assumed =
        old->u.loop.assumed && how != TAIL_OVERLAP;
    expr v = x_add(c, x_muli(c, x_var(c, o), f), base);
    if (how == TAIL_OVERLAP) v = x_min(c, v, x_addi(c, n, -f));
    v = x_add(c, v, x_var(c, i));
    struct block copy = clone_block(c, &old->u.loop.body);
    block_move(&fi->u.loop.body, &copy);
    block_append(&fo->u.loop.body, fi);
    stmt_insert_before(old, fo);
    subst_var(q->s, &fi->u.loop.body, old->u.loop.var, v);
    if (how == TAIL_GUARD && !x_proves_lt(c, v, n)) return guard_block(q->s, &fi->u.loop.body, x_cmp(c, X_LT, v, n));
    return true;
}
/* The last of `last` tiles starts early and repeats some iterations, which must therefore give the same result
 * again. */
static bool can_repeat(struct split *q, int64_t last) {
    struct step_run *s = q->s;
    struct stmt *loop = q->at, *bad = opaque_in(s, &loop->u.loop.body);
    const char *name = loop->u.loop.var->name;
    struct accesses a = {0};
    if (!holds_nonneg(s, loop, x_addi(s->c, loop->u.loop.var->extent, -last)))
        return step_refuse(s, "use cut2, or specialize the loop for large extents first",
                           "overlap needs an extent of `%s` of at least %lld", name, (long long)last);
    if (bad) return step_refuse(s, "use cut2 or guard", "overlap would repeat %s in `%s`", stmt_what(bad), name);
    accesses_of(s, &loop->u.loop.body, &a);
    for (int k = 0; k < a.n; k++) {
        if (!a.v[k].store || block_allocs(&loop->u.loop.body, a.v[k].buf)) continue;
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
static bool split_sizes(struct split *q) {
    struct step_run *s = q->s;
    const struct tile_sizes *w = q->sizes;
    int64_t n, sum = 0, cells;
    const char *name = q->at->u.loop.var->name;
    if (!x_is_int(q->at->u.loop.var->extent, &n))
        return step_refuse(s, "use a factor with cut2, guard or overlap",
                           "sizes need a constant extent; that of `%s` is not", name);
    for (int k = 0; k < w->n; k++)
        if (!mul_ok(w->v[k].size, w->v[k].count, &cells) || !add_ok(sum, cells, &sum))
            return step_refuse(s, NULL, "`%lld*%lld` is no size of a tile", (long long)w->v[k].size,
                               (long long)w->v[k].count);
    if (sum != n)
        return step_refuse(s, "the sizes of all tiles add up to the extent",
                           "sizes add up to %lld, but `%s` runs to %lld", (long long)sum, name, (long long)n);
    int64_t base = 0;
    for (int k = 0; k < w->n; k++) {
        int64_t f = w->v[k].size, count = w->v[k].count;
        if (!split_piece(q, x_int(s->c, count), f, x_int(s->c, base), TAIL_CUT)) return false;
        base += count * f;
    }
    return true;
}
/* Full tiles, then for each power of two of `least` below the factor at most one tile. */
static bool split_powers(struct split *q, int64_t least) {
    struct ctx *c = q->s->c;
    int64_t f = q->factor, p = least;
    expr n = q->at->u.loop.var->extent, full = x_divi(c, n, f), rest = x_modi(c, n, f), base = x_muli(c, full, f);
    if (!x_is(full, 0) && !split_piece(q, full, f, x_int(c, 0), TAIL_CUT)) return false;
    while (p < f - p) p *= 2;
    for (; p >= least; p /= 2) {
        expr from = x_add(c, base, x_sub(c, rest, x_modi(c, rest, 2 * p))), some = x_modi(c, x_divi(c, rest, p), 2);
        if (!x_is(some, 0) && !split_piece(q, some, p, from, TAIL_CUT)) return false;
    }
    return true;
}
/* The remainder after full tiles is one more tile of whole pieces, which starts early. If the remainder has no known
 * size, or the whole extent is less than a tile: single pieces, the last of which starts early. */
static bool split_pieces(struct split *q) {
    struct ctx *c = q->s->c;
    expr n = q->at->u.loop.var->extent;
    int64_t f = q->factor, p = q->pieces, k;
    if (!can_repeat(q, p)) return false;
    if (x_is_int(n, &k) && k >= f) {
        int64_t last = (k % f + p - 1) / p * p;
        return split_piece(q, x_int(c, k / f), f, x_int(c, 0), TAIL_CUT) &&
               (!last || split_piece(q, x_int(c, 1), last, x_int(c, k - last), TAIL_CUT));
    }
    expr some = x_divi(c, x_addi(c, x_modi(c, n, p), p - 1), p);
    return split_powers(q, p) && (x_is(some, 0) || split_piece(q, some, p, x_addi(c, n, -p), TAIL_CUT));
}
static bool split_one(struct split *q) {
    struct step_run *s = q->s;
    struct ctx *c = s->c;
    expr n = q->at->u.loop.var->extent, zero = x_int(c, 0);
    int64_t f = q->factor, k;
    const char *name = q->at->u.loop.var->name;
    if (q->sizes) return split_sizes(q);
    bool constant = x_is_int(n, &k);
    if (x_is(x_modi(c, n, f), 0)) return (constant && k < 1) || split_piece(q, x_divi(c, n, f), f, zero, TAIL_CUT);
    if (constant && q->tail <= TAIL_CUT) {
        if (k / f && !split_piece(q, x_int(c, k / f), f, zero, TAIL_CUT)) return false;
        return split_piece(q, x_int(c, 1), k % f, x_int(c, k / f * f), TAIL_CUT);
    }
    if (q->tail <= TAIL_CUT)
        return step_refuse(s, "say what to do with the rest: cut2, guard or overlap",
                           "`%s` runs to a run-time extent that is no known multiple of %lld", name, (long long)f);
    expr up = x_divi(c, x_addi(c, n, f - 1), f);
    if (q->tail == TAIL_OVERLAP && q->pieces) return split_pieces(q);
    if (q->tail == TAIL_OVERLAP) return can_repeat(q, f) && split_piece(q, up, f, zero, TAIL_OVERLAP);
    if (q->tail == TAIL_GUARD) return split_piece(q, up, f, zero, TAIL_GUARD);
    return split_powers(q, 1);
}
static bool split_all(struct split *q, const char *name) {
    struct step_run *s = q->s;
    struct stmts l = {0};
    if (!find_loops(s, name, &l)) return false;
    for (int k = l.n - 1; k >= 0; k--) { /* inner ones first: the bodies of outer ones are copied */
        q->at = l.v[k];
        if (q->at->u.loop.kind != LK_SERIAL && q->at->u.loop.kind != LK_PARALLEL && q->at->u.loop.kind != LK_UNROLL)
            return step_refuse(s, "split before kind", "`%s` is a %s loop already", name,
                               loop_kind_name(q->at->u.loop.kind));
        if (q->at->u.loop.piped) return step_refuse(s, "split before pipeline", "`%s` is pipelined", name);
        if (q->at->u.loop.kind == LK_PARALLEL && q->tail == TAIL_OVERLAP)
            return step_refuse(s, "use cut2 or guard", "iterations of the parallel loop `%s` would overlap", name);
        if (!split_one(q)) return false;
        stmt_remove(q->at);
    }
    return true;
}
bool apply_split(struct step_run *s) {
    struct split q = {.s = s,
                      .outer = s->step->u.split.outer,
                      .inner = s->step->u.split.inner,
                      .factor = s->step->u.split.factor,
                      .tail = s->step->u.split.tail,
                      .pieces = s->step->u.split.pieces};
    if (q.factor < 1) return step_refuse(s, NULL, "the factor must be at least 1");
    if (q.pieces && (q.pieces < 1 || q.tail != TAIL_OVERLAP || q.factor % q.pieces))
        return step_refuse(s, NULL, "tiles that overlap have a whole number of pieces");
    return split_all(&q, s->step->u.split.loop);
}
bool apply_tiles(struct step_run *s) {
    struct split q = {
        .s = s, .outer = s->step->u.tiles.outer, .inner = s->step->u.tiles.inner, .sizes = &s->step->u.tiles.sizes};
    return split_all(&q, s->step->u.tiles.loop);
}

/* ---- cut */
bool apply_cut(struct step_run *s) {
    struct ctx *c = s->c;
    struct stmts l = {0};
    int64_t at = s->step->u.cut.n, n;
    const char *loop = s->step->u.cut.loop;
    if (!at) return step_usage(s);
    if (!find_loops(s, loop, &l)) return false;
    for (int k = l.n - 1; k >= 0; k--) {
        struct stmt *t = l.v[k];
        expr e = t->u.loop.var->extent;
        if (t->u.loop.piped) return step_refuse(s, "cut before pipeline", "`%s` is pipelined", loop);
        if (t->u.loop.kind == LK_VECTOR || t->u.loop.kind >= LK_BLOCK_X)
            return step_refuse(s, "cut before kind", "`%s` is a %s loop already", loop, loop_kind_name(t->u.loop.kind));
        if (x_is_int(e, &n) && (at > 0 ? at >= n : -at >= n)) continue; /* one part would be empty */
        expr first = at > 0 ? x_min(c, x_int(c, at), e) : x_max(c, x_addi(c, e, at), x_int(c, 0));
        const char *old = t->u.loop.var->name, *name = s->step->u.cut.name ? s->step->u.cut.name : old;
        const struct var *a = var_new(c, at > 0 ? name : old, first),
                         *b = var_new(c, at > 0 ? old : name, x_sub(c, e, first));
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
