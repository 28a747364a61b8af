/* The strategy for CPUs for kernels that were never stages: nests that move cells (Concat, Slice, Scatter), and texts
 * in loop IR. Each nest gets names of its own, and is scheduled by itself, depending on how its cells lie in memory.
 * See cpu.h, docs/schedules.md. */
#include "ir/base/checked.h"
#include "lower/schedule/cpu.h"
#include <string.h>

static const struct stmt *nest_loop(const struct problem_loop *l, int k) {
    const struct stmt *s = l->loop;
    while (k--) s = s->u.loop.body.first;
    return s;
}
const struct var *nest_var(const struct problem_loop *l, int k) { return nest_loop(l, k)->u.loop.var; }
int64_t nest_cells(const struct problem_loop *l, uint64_t of) {
    int64_t cells = 1;
    for (int k = 0; k < l->depth; k++) {
        int64_t n = of >> k & 1 ? const_extent(nest_var(l, k)) : 1;
        cells = n < 0 ? INT64_MAX : sat_mul(cells, n);
    }
    return cells;
}

/* ---- names: steps refer to loops by name, but the parts of a Concat have the same ones */
struct renaming {
    struct ctx *c;
    const struct proc *p;
    int nests;
    struct subst by;
};
static bool rename_loop(void *env, struct stmt *s) {
    struct renaming *q = env;
    if (s->kind != S_FOR) return true;
    if (s->in == &q->p->body) q->nests++;
    const struct var *old = s->u.loop.var;
    s->u.loop.var = var_new(q->c, internf(q->c->names, "nest%d.%s", q->nests - 1, tail_name(old->name)), old->extent);
    map_put(&q->by.map, PKEY(old), (void *)x_var(q->c, s->u.loop.var));
    return true;
}
void name_nests(struct ctx *c, struct proc *p) {
    struct renaming q = {c, p, 0, {.map = {.arena = &c->arena}}};
    walk(&p->body, rename_loop, &q);
    subst_block(c, &p->body, &q.by);
}

/* ---- how the cells of one nest lie, given the layouts that its buffers get */
enum nest_kind { NEST_NONE, NEST_CHANNELS, NEST_RUN, NEST_SQUARES, NEST_ACROSS, NEST_UNROLLED, NEST_JOINED };
struct nest {
    struct plan *u;
    const struct proc *laid; /* a copy of the kernel that has the layouts */
    const struct problem_loop *l;
    const struct stmt *store;
    enum nest_kind kind;
    int at;     /* the outermost of the loops to fuse; or the one along which the operand's neighbours lie */
    int last;   /* the innermost loop of more than one iteration */
    bool lanes; /* channels: all lanes of a block at once */
    int cells;  /* done at a time */
    int first;  /* squares: the outermost of the loops that are fused with the last one */
    const struct squares *squares;
};
static const struct param_layout *laid_as(const struct nest *q, const struct buf *b) {
    return layout_of(q->laid, q->u->l, b);
}
struct reading {
    struct ctx *c;
    const struct subst *next; /* substitutes the next iteration; NULL: strides along lane are asked */
    const struct var *lane;
    int apart; /* the largest stride of the machine's vector loads */
    bool bad;
};
static void check_place(struct reading *q, const struct buf *b, const expr *idx, int64_t least, int64_t most) {
    expr off = buf_offset(q->c, b, idx), rest;
    int64_t stride;
    if (q->next) q->bad |= !x_is(x_sub(q->c, x_subst(q->c, off, q->next), off), 0);
    else q->bad |= !x_linear_in(q->c, off, q->lane, &stride, &rest) || stride < least || stride > most;
}
static bool check_load(void *env, expr e) {
    struct reading *q = env;
    if (e->op != X_LOAD) return true;
    q->bad |= e->has_fill;
    if (!q->bad) check_place(q, e->u.buf, e->arg, 0, q->apart);
    return false; /* an index that is itself loaded need not be looked into: it only must not depend on the axes */
}
static bool fits(struct reading *q, const struct stmt *s) {
    x_visit(s->u.store.value, check_load, q);
    if (!q->bad) check_place(q, s->u.store.buf, s->u.store.idx, 1, 1);
    return !q->bad;
}
static bool runs_along(const struct nest *q, const struct var *v) {
    return fits(&(struct reading){.c = q->u->c, .lane = v, .apart = q->u->m->apart}, q->store);
}
/* One step of the outer loop moves every access as far as all of the inner loop: they can be fused. */
static bool continues(const struct nest *q, const struct var *outer, const struct var *inner) {
    struct ctx *c = q->u->c;
    struct subst next = {{.arena = &c->arena}};
    map_put(&next.map, PKEY(outer), (void *)x_addi(c, x_var(c, outer), 1));
    map_put(&next.map, PKEY(inner), (void *)x_sub(c, x_var(c, inner), inner->extent));
    return fits(&(struct reading){.c = c, .next = &next}, q->store);
}
/* Within one block of the channels, which are loop v, cells lie next to each other. */
static bool block_fits(const struct nest *q, const struct var *v) {
    struct ctx *c = q->u->c;
    struct stmt s = *q->store;
    const struct var *block = var_new(c, "block", v->extent), *lane = var_new(c, "lane", x_int(c, lanes_of(q->u)));
    expr split = x_add(c, x_muli(c, x_var(c, block), lanes_of(q->u)), x_var(c, lane)), idx[40];
    for (int k = 0; k < s.u.store.n; k++) idx[k] = x_subst1(c, s.u.store.idx[k], v, split);
    s.u.store.idx = idx, s.u.store.value = x_subst1(c, s.u.store.value, v, split);
    return fits(&(struct reading){.c = c, .lane = lane, .apart = q->u->m->apart}, &s);
}

/* ---- which kind of nest it is */
struct across {
    const struct nest *q;
    int at;
};
/* Finds the loop in a load's last index, if that is not the innermost loop. */
static bool find_across(void *env, expr e) {
    struct across *a = env;
    int d = e->op == X_LOAD && !e->has_fill ? e->n - 1 : -1;
    for (int k = 0; d >= 0 && k < a->q->last; k++)
        if (x_uses_var(a->q->u->c, e->arg[d], nest_var(a->q->l, k))) a->at = k;
    return e->op != X_LOAD;
}
/* The outermost of the innermost loops that can be fused into one whose cells are contiguous; -1: not even those of the
 * innermost loop are. */
static int run_of(const struct nest *q) {
    const struct var *inner = NULL;
    int k = q->l->depth;
    while (k-- > 0) {
        const struct var *v = nest_var(q->l, k);
        if (x_is(v->extent, 1)) continue;
        if (inner ? !continues(q, v, inner) : !runs_along(q, v)) break;
        inner = v;
    }
    return inner ? k + 1 : -1;
}
static bool is_open_place(void *env, expr e) {
    (void)env;
    return e->op != X_GUARD && e->op != X_TOIDX;
}
/* All indices are known: nothing is looked up or checked per cell. */
static bool places_known(const struct stmt *s) {
    bool known = x_visit(s->u.store.value, is_open_place, NULL);
    for (int k = 0; k < s->u.store.n; k++) known &= x_visit(s->u.store.idx[k], is_open_place, NULL);
    return known;
}
static expr place_of(const struct nest *q) { return buf_offset(q->u->c, q->store->u.store.buf, q->store->u.store.idx); }
/* Stride of the stored cells along the innermost loop; -1: there is none. */
static int64_t stride_of(const struct nest *q) {
    int64_t stride;
    expr rest;
    return x_linear_in(q->u->c, place_of(q), nest_var(q->l, q->last), &stride, &rest) ? stride : -1;
}
/* Everything that is moved fits into the first level of cache. */
static bool is_near(const struct nest *q) {
    int64_t cell = dtype_bytes(q->store->u.store.buf->type);
    return sat_mul(cell, nest_cells(q->l, UINT64_MAX)) < q->u->m->l1.bytes / 2;
}
/* Along loop k there are at least n cells, contiguous in the operand and equally spaced in the result. */
static bool is_turned(const struct nest *q, int k, int n) {
    struct ctx *c = q->u->c;
    expr load = q->store->u.store.value, rest;
    const struct var *v = nest_var(q->l, k), *turns = var_new(c, "turns", v->extent),
                     *lane = var_new(c, "lane", x_int(c, n));
    expr split = x_add(c, x_muli(c, x_var(c, turns), n), x_var(c, lane));
    expr from = buf_offset(c, load->u.buf, load->arg), to = x_subst1(c, place_of(q), v, split);
    int64_t stride;
    return const_extent(v) >= n && x_linear_in(c, x_subst1(c, from, v, split), lane, &stride, &rest) && stride == 1 &&
           x_step_along(c, lane, &to) && x_step_along(c, nest_var(q->l, q->last), &from);
}
/* A transposition: cells that are contiguous along the innermost loops in the result are contiguous along another loop,
 * q->at, in the operand. */
static bool fits_squares(void *env, const struct squares *s, int64_t *apart) {
    struct nest *q = env;
    int64_t along = const_extent(nest_var(q->l, q->last)), cells;
    expr rest;
    if (s->planes || s->bytes != dtype_bytes(q->store->u.store.buf->type)) return false;
    for (q->at = q->last - 1; q->at >= 0 && !is_turned(q, q->at, s->n);) q->at--;
    if (q->at < 0 || along < 0) return false;
    q->first = q->last;
    while (q->first - 1 > q->at && continues(q, nest_var(q->l, q->first - 1), nest_var(q->l, q->first)))
        along = sat_mul(along, const_extent(nest_var(q->l, --q->first)));
    bool known = x_linear_in(q->u->c, place_of(q), nest_var(q->l, q->at), &cells, &rest);
    *apart = known ? sat_mul(cells, s->bytes) : 0;
    return along >= s->n;
}
static bool choose_squares(struct nest *q) {
    expr e = q->store->u.store.value;
    int64_t apart;
    if (e->op != X_LOAD || e->has_fill || e->u.buf->type != q->store->u.store.buf->type || !q->last) return false;
    q->squares = machine_squares(q->u->m, fits_squares, q);
    return q->squares && fits_squares(q, q->squares, &apart);
}
/* The iterations of all loops from the k-th on are independent. */
static bool turns_are_free(const struct problem_loop *l, int k) {
    while (k < l->depth && l->free >> k & 1) k++;
    return k == l->depth;
}
static void choose_kind(struct nest *q, bool lanes) {
    const struct problem_loop *l = q->l;
    const struct stmt *s = nest_loop(l, l->depth - 1)->u.loop.body.first;
    const struct param_layout *to = s && s->kind == S_STORE ? laid_as(q, s->u.store.buf) : NULL;
    bool move = q->u->k->cls == PROBLEM_MOVE;
    if (!s || s->kind != S_STORE) return;
    q->store = s, q->cells = lanes_of(q->u);
    q->last = l->depth - 1;
    while (q->last && x_is(nest_var(l, q->last)->extent, 1)) q->last--;
    if (to && to->block == lanes_of(q->u) && l->depth > 1) {
        q->kind = NEST_CHANNELS;
        q->lanes = lanes && (!move || block_fits(q, nest_var(l, 1)));
        return;
    }
    struct across a = {q, -1};
    int64_t n = const_extent(nest_var(l, q->last));
    q->at = lanes ? run_of(q) : -1;
    if (q->at >= 0 && (move || turns_are_free(l, q->at))) {
        q->kind = NEST_RUN;
        return;
    }
    if (!move) return;
    if (!places_known(s)) {
        q->kind = NEST_UNROLLED, q->at = q->last, q->cells = LOOKED_UP;
        return;
    }
    if (stride_of(q) != 1) return;
    if (lanes && choose_squares(q)) {
        q->kind = NEST_SQUARES;
        return;
    }
    x_visit(s->u.store.value, find_across, &a);
    q->kind = a.at >= 0 && (n < 0 || n >= 2 * lanes_of(q->u)) && !is_near(q) ? NEST_ACROSS : NEST_UNROLLED;
    q->at = q->kind == NEST_ACROSS ? a.at : q->last;
}
/* b stores between the cells that a stores, so that both are better written in one loop. */
static bool interleaves(const struct nest *a, const struct nest *b) {
    struct ctx *c = a->u->c;
    struct subst same = {{.arena = &c->arena}};
    int64_t apart, stride = a->store ? stride_of(a) : 0;
    if (stride < 2 || !b->store || b->l->depth != a->l->depth || b->store->u.store.buf != a->store->u.store.buf ||
        !places_known(a->store) || !places_known(b->store))
        return false;
    for (int k = 0; k < a->l->depth; k++) {
        if (nest_var(a->l, k)->extent != nest_var(b->l, k)->extent) return false;
        map_put(&same.map, PKEY(nest_var(b->l, k)), (void *)x_var(c, nest_var(a->l, k)));
    }
    return x_is_int(x_sub(c, x_subst(c, place_of(b), &same), place_of(a)), &apart) && apart > -stride && apart < stride;
}

/* ---- steps */
static const char *name_of(const struct nest *q, int k) { return nest_var(q->l, k)->name; }
/* A new loop's name: the prefix that names of this nest have, and the role. */
static const char *role_in(const struct nest *q, const char *of) {
    const char *name = name_of(q, 0);
    return internf(q->u->c->names, "%.*s.%s", (int)(strchr(name, '.') - name), name, of);
}
static void write_channels(const struct nest *q) {
    struct step_list *s = &q->u->s;
    const char *blocks = role_in(q, role.channels), *lane = role_in(q, role.channel);
    int64_t n = const_extent(nest_var(q->l, 1)), lanes = lanes_of(q->u);
    struct word_list order = {0};
    if (n > lanes && n % lanes) step_cut(s, name_of(q, 1), n - n % lanes, NULL);
    step_split(s, name_of(q, 1), lanes, blocks, lane, TAIL_NONE);
    add_loops(s, &order, LOOPS(name_of(q, 0), blocks));
    for (int k = 2; k < q->l->depth; k++) add_loop(s, &order, name_of(q, k));
    add_loop(s, &order, lane);
    step_reorder(s, order);
    step_kind(s, q->lanes ? LK_VECTOR : LK_UNROLL, LOOPS(lane));
}
/* Fuses the loops from q->at on, and splits the result into vectors. */
static void write_flat(const struct nest *q) {
    struct step_list *s = &q->u->s;
    int d = q->l->depth - 1;
    const char *loop = name_of(q, d), *flat = role_in(q, role.flat), *lane = role_in(q, role.lane);
    for (; d > q->at; loop = flat) step_fuse(s, name_of(q, --d), loop, flat);
    step_split(s, loop, q->cells, role_in(q, role.cells), lane, TAIL_CUT2);
    step_kind(s, q->kind == NEST_RUN ? LK_VECTOR : LK_UNROLL, LOOPS(lane));
}
/* A few cells of the innermost loop for each cell of the loop along which the operand's neighbours lie. */
static void write_across(const struct nest *q) {
    struct step_list *s = &q->u->s;
    const char *few = role_in(q, role.few), *cells = role_in(q, role.cells), *across = name_of(q, q->at);
    struct word_list order = {0};
    for (int k = 0; k < q->l->depth; k++)
        if (k != q->at && k != q->last) add_loop(s, &order, name_of(q, k));
    add_loops(s, &order, LOOPS(name_of(q, q->last), across));
    step_reorder(s, order);
    step_split(s, name_of(q, q->last), lanes_of(q->u), cells, few, TAIL_CUT2);
    step_reorder(s, LOOPS(cells, across, few));
    step_kind(s, LK_UNROLL, LOOPS(few));
}

static void write_squares(const struct nest *q) {
    struct step_list *s = &q->u->s;
    const char *strips = role_in(q, role.strips), *strip = role_in(q, role.strip), *few = role_in(q, role.few),
               *cells = role_in(q, role.cells), *across = name_of(q, q->at), *along = name_of(q, q->last);
    int64_t extent = const_extent(nest_var(q->l, q->last));
    struct word_list order = {0};
    for (int k = q->last - 1; k >= q->first; k--, along = role_in(q, role.flat)) {
        step_fuse(s, name_of(q, k), along, role_in(q, role.flat));
        extent = sat_mul(extent, const_extent(nest_var(q->l, k)));
    }
    for (int k = 0; k < q->first; k++)
        if (k != q->at) add_loop(s, &order, name_of(q, k));
    add_loops(s, &order, LOOPS(across, along));
    step_reorder(s, order);
    step_split(s, across, q->squares->n, strips, strip, split_tail(const_extent(nest_var(q->l, q->at)), q->squares->n));
    step_reorder(s, LOOPS(strips, along, strip));
    step_split(s, along, q->squares->n, cells, few, split_tail(extent, q->squares->n));
    step_reorder(s, LOOPS(cells, few, strip));
}

/* ---- loops deep inside of texts that the text declares independent: vectorised if their cells are contiguous */
enum { OPEN_BLOCK = 1 << 16 };
struct inner {
    struct plan *u;
    const struct block *top;
    struct word_list found;
    struct map seen, bad; /* names of the loops found; and of those that must be left alone, because another loop of
                           * that name does not qualify */
};
/* The block holds only stores with contiguous cells, and such stores under a test that `kind vector` turns into a
 * select. */
static bool are_neighbours(struct inner *q, const struct block *b, const struct var *v) {
    for (const struct stmt *s = b->first; s; s = s->next) {
        struct reading r = {.c = q->u->c, .lane = v, .apart = q->u->m->apart};
        if (s->kind == S_STORE && fits(&r, s)) continue;
        if (s->kind != S_IF || !test_as_select(r.c, s)) return false;
        x_visit(s->u.cond.cond, check_load, &r);
        if (r.bad || !fits(&r, s->u.cond.then.first)) return false;
    }
    return true;
}
/* The loop has a whole number of vectors; or it is open, but bounded as what remains of a block of several vectors. An
 * open loop without such a bound is often short. */
static bool is_all_neighbours(struct inner *q, const struct stmt *loop) {
    int64_t n = const_extent(loop->u.loop.var), lanes = lanes_of(q->u), low, high;
    x_bounds(q->u->c, loop->u.loop.var->extent, &low, &high);
    bool fills = n < 0 ? high >= 4 * lanes && high < OPEN_BLOCK : n >= lanes && n % lanes == 0;
    return loop->u.loop.independent && fills && are_neighbours(q, &loop->u.loop.body, loop->u.loop.var);
}
static bool find_inner(void *env, struct stmt *s) {
    struct inner *q = env;
    if (s->kind != S_FOR) return true;
    const char *name = s->u.loop.var->name;
    if (s->in == q->top || !is_all_neighbours(q, s)) map_put(&q->bad, PKEY(name), (void *)name);
    if (!map_get(&q->seen, PKEY(name))) add_loop(&q->u->s, &q->found, name);
    map_put(&q->seen, PKEY(name), (void *)name);
    return true;
}
static struct word_list inner_loops(struct plan *u, const struct proc *laid) {
    struct inner q = {u, &laid->body, {0}, {.arena = &u->c->arena}, {.arena = &u->c->arena}};
    struct word_list kept = {0};
    walk((struct block *)&laid->body, find_inner, &q);
    for (int k = 0; k < q.found.n; k++)
        if (!map_get(&q.bad, PKEY(q.found.v[k]))) add_loop(&u->s, &kept, q.found.v[k]);
    return kept;
}
static void write_inner(struct plan *u, const char *loop) {
    const char *lane = internf(u->c->names, "%s.%s", loop, role.lane);
    step_split(&u->s, loop, lanes_of(u), internf(u->c->names, "%s.%s", loop, role.cells), lane, TAIL_CUT2);
    step_kind(&u->s, LK_VECTOR, LOOPS(lane));
}

/* ---- the points */
struct nests {
    int n;
    struct nest *v;
    struct word_list inner;
    bool any; /* some nest is changed */
};
static struct nests *find_nests(struct plan *u, bool lanes) {
    struct ctx *c = u->c;
    struct proc *laid = clone_proc(c, u->p, u->p->name);
    struct step_list layouts = {.c = c};
    struct problem *k = NEW(&c->arena, struct problem);
    struct nests *q = NEW(&c->arena, struct nests);
    layout_steps(&layouts, u->p, u->l);
    if (!steps_do(laid, &layouts)) BUG("kernel %s does not take its layouts", u->p->name);
    kernel_problem(c, laid, k);
    *q = (struct nests){.n = k->loops.n, .v = NEWN(&c->arena, struct nest, k->loops.n + 1)};
    for (int j = 0; j < q->n; j++) {
        q->v[j] = (struct nest){.u = u, .laid = laid, .l = &k->loops.v[j]};
        choose_kind(&q->v[j], lanes);
        if (j && q->v[j].kind == NEST_NONE && (q->v[j - 1].kind == NEST_NONE || q->v[j - 1].kind == NEST_JOINED) &&
            k->cls == PROBLEM_MOVE && interleaves(&q->v[j - 1], &q->v[j]))
            q->v[j].kind = NEST_JOINED;
        q->any |= q->v[j].kind != NEST_NONE;
    }
    if (lanes && k->cls == PROBLEM_TEXT) q->inner = inner_loops(u, laid);
    q->any |= q->inner.n > 0;
    return q;
}
static const char *nests_points(struct plan *u, struct points *out) {
    bool move = u->k->cls == PROBLEM_MOVE;
    if (lanes_of(u) < 2) return "there are no vectors";
    for (int lanes = 1; lanes >= !move; lanes--) {
        const struct nests *q = find_nests(u, lanes);
        if (q->any) add_point(u, out, &strategy_nests)->u.nests = q;
    }
    return out->list.n ? NULL : move ? "where cells go is only known in the run" : "more than moves";
}
static void write_joined(const struct nests *q, int j) {
    int first = j;
    while (q->v[first].kind == NEST_JOINED) first--;
    for (int k = 0; k < q->v[j].l->depth; k++) step_join(&q->v[j].u->s, name_of(&q->v[first], k), name_of(&q->v[j], k));
}
static const char *nests_steps(struct plan *u, const struct point *p) {
    const struct nests *q = p->u.nests;
    layout_steps(&u->s, u->p, u->l);
    for (int j = 0; j < q->n; j++) switch (q->v[j].kind) {
        case NEST_CHANNELS: write_channels(&q->v[j]); break;
        case NEST_RUN:
        case NEST_UNROLLED: write_flat(&q->v[j]); break;
        case NEST_SQUARES: write_squares(&q->v[j]); break;
        case NEST_ACROSS: write_across(&q->v[j]); break;
        case NEST_JOINED: write_joined(q, j); break;
        case NEST_NONE: break;
        }
    for (int j = 0; j < q->inner.n; j++) write_inner(u, q->inner.v[j]);
    const struct squares *squares = NULL; /* squares of a second size stay scalar: `tensorize` names one instruction for
                                           * all nests */
    for (int j = 0; j < q->n && !squares; j++) squares = q->v[j].kind == NEST_SQUARES ? q->v[j].squares : NULL;
    if (squares) step_tensorize(&u->s, squares->instr);
    return NULL;
}
static void print_nests(struct text *t, struct plan *u, const struct point *p) {
    static const char *const kinds[] = {"as it is",
                                        "channels one by one",
                                        "in vectors",
                                        "squares transposed in registers",
                                        "a few cells at a time, across",
                                        "cells one by one",
                                        "with the one before"};
    (void)u;
    for (int j = 0; j < p->u.nests->n; j++) {
        const struct nest *q = &p->u.nests->v[j];
        bool lanes = q->kind == NEST_CHANNELS && q->lanes;
        text_printf(t, "%s%s", j ? "; " : "", lanes ? "lanes along the channels" : kinds[q->kind]);
    }
    int inner = p->u.nests->inner.n;
    if (inner) text_printf(t, "; %d inner loop%s in vectors", inner, inner > 1 ? "s" : "");
}
const struct strategy strategy_nests = {"nests", nests_points, nests_steps, print_nests};
