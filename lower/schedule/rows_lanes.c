/* Row kernels: what their stages cost, which ones are inlined, and along which variable each has its lanes. See
 * rows_strategy.h. */
#include "ir/base/checked.h"
#include "lower/schedule/rows_strategy.h"
#include <math.h>

/* ---- what stages do */
/* Has cells of a type that vectors load and compute with. */
static bool fills_lanes(const struct buf *b) {
    return b->type != STR && !dtype_is_complex(b->type) && dtype_bits(b->type) >= 8;
}
struct costs {
    struct rows *q;
    struct row_stage *st;
    bool lanes;
    struct map index_loads; /* loads inside of indices: not in lanes, or the step refuses */
};
static void note_index_load(void *env, expr load) { map_put(env, PKEY(load), (void *)(uintptr_t)load); }
static bool find_index_loads(void *env, expr e) {
    if (e->op == X_TOIDX) x_each_load(e, note_index_load, env);
    return true;
}
static struct row_stage *stage_of(struct rows *q, const struct buf *b) {
    for (int i = 0; i < q->n; i++)
        if (q->v[i].s->u.stage.buf == b) return &q->v[i];
    return NULL;
}
static bool count_cost(void *env, expr e) {
    struct costs *k = env;
    struct row_stage *of = e->op == X_LOAD ? stage_of(k->q, e->u.buf) : NULL;
    if (e->op == X_LOAD) k->lanes &= fills_lanes(e->u.buf) || map_get(&k->index_loads, PKEY(e));
    if (of) of->readers++;
    if (of && of->inlined) k->st->ops += of->ops, k->st->loads += of->loads, k->st->heavy |= of->heavy;
    else if (e->op == X_LOAD) k->st->loads++;
    else if (e->type != IDX && e->op != X_CONST) k->st->ops++;
    k->st->heavy |= e->op == X_CALL || e->op == X_DIV || e->op == X_SQRT;
    return true;
}
static bool is_scalar(const struct rows *q, const struct stmt *s) {
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (row_role(&q->r, s->u.stage.axes[k]) == ROW_INNER) return false;
    return true;
}
/* A map is recomputed where it is read if that is in one place without additional loops around it, or if it costs next
 * to nothing. But what is computed once per row is not recomputed for each cell. */
static bool worth_inlining(struct rows *q, const struct row_stage *st) {
    int places = 0;
    bool wider = false, again = false;
    for (int i = 0; i < q->n; i++) {
        if (!stmt_reads(q->v[i].s, st->s->u.stage.buf, NULL)) continue;
        places++;
        again |= stage_loops(q->v[i].s) > stage_loops(st->s);
        wider |= !q->v[i].scalar || q->v[i].s->u.stage.op != RED_NONE;
    }
    if (st->s->u.stage.op != RED_NONE || st->result || (st->scalar && wider && st->ops)) return false;
    return (places == 1 && !again) || (st->ops <= 2 && st->loads <= 1 && !st->heavy);
}
/* Stages that do not fill lanes are written without them: results, if lanes run over rows; otherwise what each row has
 * once. */
static bool written_singly(struct rows *q, const struct row_stage *st) {
    bool map = st->s->u.stage.op == RED_NONE, single = map && (q->mode == LANES_OUTER ? st->result : st->scalar);
    q->singly |= single && st->result;
    return single;
}
bool rows_look_at_stages(struct rows *q) {
    bool lanes = true;
    q->singly = false;
    for (int i = 0; i < q->n; i++) q->v[i].scalar = is_scalar(q, q->v[i].s);
    for (int i = 0; i < q->n; i++) {
        struct row_stage *st = &q->v[i];
        struct costs k = {q, st, true, {.arena = &q->u->c->arena}};
        x_visit_with(st->s->u.stage.value, XF_TOIDX, find_index_loads, &k.index_loads);
        x_visit(st->s->u.stage.value, count_cost, &k);
        lanes &= (k.lanes && fills_lanes(st->s->u.stage.buf)) || written_singly(q, st);
        st->inlined = worth_inlining(q, st);
    }
    return lanes;
}

/* ---- lanes */
struct fast {
    struct rows *q;
    const struct stmt *s;
    const struct var *v;
    int moving; /* only loads that depend on at least this many variables count */
    expr most;  /* the first of these */
};
/* How many axes and reduced variables a load depends on; 0 for constants, which get packed anyway. */
static int moving_vars(const struct fast *f, expr load) {
    const struct stmt *s = f->s;
    int n = 0;
    for (int k = 0; k < s->u.stage.naxes + s->u.stage.nred && !is_constant(load->u.buf); k++)
        n += x_uses_var(f->q->u->c, load,
                        k < s->u.stage.naxes ? s->u.stage.axes[k] : s->u.stage.red[k - s->u.stage.naxes]);
    return n;
}
static void find_most_moving(void *env, expr load) {
    struct fast *f = env;
    int n = moving_vars(f, load);
    if (n > f->moving) f->moving = n, f->most = load;
}
static int fast_dim(struct rows *q, const struct buf *b);
/* The innermost dim of a buffer that a map in this kernel makes: like that of what it reads; -1: unknown. */
static int dim_as_read(struct rows *q, const struct buf *b) {
    const struct row_stage *st = stage_of(q, b);
    if (!st || st->result || st->s->u.stage.op != RED_NONE) return -1;
    struct fast f = {q, st->s, NULL, 0, NULL};
    x_each_load(st->s->u.stage.value, find_most_moving, &f);
    if (!f.most || f.most->n - f.most->has_fill != st->s->u.stage.naxes) return -1;
    int d = fast_dim(q, f.most->u.buf);
    bool own = d >= 0 && f.most->arg[d]->op == X_VAR && f.most->arg[d]->u.var == st->s->u.stage.axes[d];
    return own ? d : -1;
}
/* The dim of b whose cells are contiguous; trailing dims of extent 1 do not count. */
static int fast_dim(struct rows *q, const struct buf *b) {
    const struct param_layout *l = layout_of(q->u->p, q->u->l, b);
    int d = b->nlogical - 1, read = dim_as_read(q, b);
    if (l && l->block) return 1;
    if (read >= 0) return read;
    while (d > 0 && (!l || !l->spec) && x_is(b->dims[d], 1)) d--;
    return d;
}
static const struct var *moves_by(const struct fast *f, expr index, int64_t cells, const struct var **v, int n) {
    int64_t apart;
    expr rest;
    for (int k = 0; k < n; k++)
        if (x_linear_in(f->q->u->c, index, v[k], &apart, &rest) && apart == cells && !x_is(v[k]->extent, 1))
            return v[k];
    return NULL;
}
/* The variable with which an index advances cell by cell: the axis along which a window slides, or a reduced variable
 * added to something else (a group's first channel). Whether lanes may run there is for the steps to decide. Strides of
 * 2 or 3 take more loads and a shuffle, which is accepted for lanes over rows. */
static const struct var *moving_var(const struct fast *f, expr index) {
    const struct stmt *s = f->s;
    if (index->op == X_VAR) return index->u.var;
    for (int k = 0; k < s->u.stage.naxes; k++) /* lookups: each lane computes its own index, from indices that are
                                                * contiguous */
        if (x_looked_up(f->q->u->c, index, s->u.stage.axes[k])) return s->u.stage.axes[k];
    for (int cells = 1; cells <= (f->q->mode == LANES_OUTER ? LANES_APART : 1); cells++) {
        const struct var *axis = moves_by(f, index, cells, s->u.stage.axes, s->u.stage.naxes);
        if (axis) return axis;
    }
    return moves_by(f, index, 1, s->u.stage.red, s->u.stage.nred);
}
static bool find_fast(void *env, expr e) {
    struct fast *f = env;
    int d = e->op == X_LOAD && !is_constant(e->u.buf) ? fast_dim(f->q, e->u.buf) : -1;
    const struct var *v = d < 0 ? NULL : moving_var(f, e->arg[d]);
    if (!v || x_is(v->extent, 1) || moving_vars(f, e) < f->moving) return true;
    if ((row_role(&f->q->r, v) >= 0) == (f->q->mode == LANES_OUTER)) f->v = v;
    return !f->v;
}
/* A search in a table: only the constant table depends on the reduced variable, and its cells are contiguous. */
static bool find_table(void *env, expr e) {
    struct fast *f = env;
    const struct var *v = f->s->u.stage.red[f->s->u.stage.nred - 1];
    if (e->op != X_LOAD || !x_uses_var(f->q->u->c, e, v)) return true;
    bool table = is_constant(e->u.buf) && e->n == 1 && e->arg[0]->op == X_VAR && !x_is(v->extent, 1);
    f->v = table ? v : NULL;
    return table;
}
const struct var *rows_fast_var(struct rows *q, const struct stmt *s) {
    struct fast f = {q, s, NULL, 0, NULL};
    x_each_load(s->u.stage.value, find_most_moving, &f); /* loads that depend on fewer variables are repeated, and stay
                                                          * in the cache */
    x_visit(s->u.stage.value, find_fast, &f);
    if (!f.v && q->mode == LANES_INNER && s->u.stage.nred) x_visit(s->u.stage.value, find_table, &f);
    return f.v;
}
const struct var *rows_axis_of_role(const struct rows *q, const struct stmt *s, int role) {
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (row_role(&q->r, s->u.stage.axes[k]) == role) return s->u.stage.axes[k];
    return NULL;
}
struct run {
    const struct rows *q;
    const struct var *const *v; /* the last n reduced variables */
    int n;
    bool found, bad;
};
/* The load's last indices are these variables and cover whole dims, so that the cells are contiguous; or it uses none
 * of them. */
static bool reads_run(void *env, expr e) {
    struct run *r = env;
    struct ctx *c = r->q->u->c;
    if (e->op != X_LOAD) return true;
    const struct param_layout *l = layout_of(r->q->u->p, r->q->u->l, e->u.buf);
    bool any = false, all = !e->has_fill && e->n >= r->n && (!l || !l->spec) && e->u.buf->nlogical == e->n;
    for (int k = 0; k < r->n; k++) {
        int d = e->n - r->n + k;
        for (int i = 0; i < e->n; i++) any |= x_uses_var(c, e->arg[i], r->v[k]);
        all = all && e->arg[d]->op == X_VAR && e->arg[d]->u.var == r->v[k] && e->u.buf->dims[d] == r->v[k]->extent;
    }
    r->found |= any, r->bad |= any && !all;
    return !r->bad;
}
/* How many of the last reduced variables of s run over contiguous cells in all that it reads: 1 or 2. With three, the
 * simplifier could no longer recognise in quotients and remainders that they are one index, if a constant is added. */
static int reduced_run(const struct rows *q, const struct stmt *s) {
    enum { MOST = 2 };
    struct run r = {q, s->u.stage.red + s->u.stage.nred - MOST, MOST, false, false};
    if (s->u.stage.nred < MOST) return 1;
    x_visit(s->u.stage.value, reads_run, &r);
    return r.found && !r.bad ? MOST : 1;
}
bool rows_mode_fits(struct rows *q) {
    const struct var *v = NULL;
    for (int i = 0; i < q->n && !v; i++) {
        if (q->v[i].s->u.stage.op == RED_NONE) continue;
        v = rows_fast_var(q, q->v[i].s);
        if (q->mode != LANES_INNER) break;
    }
    if (lanes_of(q->u) < 2 || !v) return false;
    q->lane_role = row_role(&q->r, v);
    return q->mode == LANES_INNER || rows_axis_of_role(q, q->out->s, q->lane_role);
}
/* Cycles to reduce a row of n cells with that many vectors of accumulators. Iterations wait for the accumulators, or
 * for the stage's own work; cells after the last whole group come one by one; finally the vectors are added, and then
 * the halves of the last one. */
static double cycles_of_parts(const struct rows *q, const struct row_stage *st, int64_t n, int64_t vectors,
                              int64_t lanes) {
    enum { FUNCTION = 12 };
    double latency = machine_op(q->u->m, X_ADD, F32)->latency, together = (double)vectors, halves = 0;
    double work = (st->ops + st->loads + (st->heavy ? FUNCTION : 0)) / 2.0;
    int64_t parts = vectors * lanes;
    for (int64_t k = lanes; k > 1; k /= 2) halves++;
    return (double)(n / parts) * together * fmax(latency / together, work) + (double)(n % parts) * fmax(latency, work) +
           (together + halves) * latency;
}
/* Several accumulators hide the latency of an addition. A short row uses fewer, and narrower vectors if full ones would
 * leave a longer remainder. For a very short row, one cell at a time is fastest. */
static void choose_parts(const struct rows *q, struct row_stage *st, int64_t n) {
    enum { NARROWEST = 4 };
    int64_t most = machine_op(q->u->m, X_ADD, F32)->latency, full = lanes_of(q->u);
    if (dtype_bytes(st->s->u.stage.buf->type) == 8 && full >= 2 * NARROWEST)
        full /= 2; /* 8-byte cells have half as
                    * many lanes */
    double least = cycles_of_parts(q, st, n, 1, 1);
    st->lanes = (int)full, st->parts = n < 0 ? (int)(most / 2 * full) : 0;
    for (int64_t lanes = full; n >= 0 && lanes >= NARROWEST; lanes /= 2)
        for (int64_t v = n >= 4 * most * lanes ? most : n >= most * lanes ? most / 2 : n >= lanes; v > 0; v--) {
            double narrow = lanes < full && n >= full ? 1.1 : 1, cycles = narrow * cycles_of_parts(q, st, n, v, lanes);
            if (cycles < least) least = cycles, st->lanes = (int)lanes, st->parts = (int)(v * lanes);
        }
}
void rows_choose_lanes(struct rows *q, struct row_stage *st) {
    const struct stmt *s = st->s;
    if (q->mode == LANES_OUTER) st->lane = rows_axis_of_role(q, s, q->lane_role);
    if (q->mode != LANES_INNER) return;
    if (s->u.stage.op == RED_NONE) {
        int d = fast_dim(q, s->u.stage.buf);
        const struct var *v = d < 0 ? NULL : s->u.stage.axes[d];
        if (v && row_role(&q->r, v) == ROW_INNER && !x_is(v->extent, 1)) st->lane = v;
        return;
    }
    const struct var *v = rows_fast_var(q, s);
    for (int k = 0; v && k < s->u.stage.nred; k++)
        if (s->u.stage.red[k] == v) st->lane = v;
    if (v && !st->lane && row_role(&q->r, v) == ROW_INNER) { /* a reduction for each cell of the row */
        st->lane = v;
        return;
    }
    if (!st->lane) return;
    st->fused = v == s->u.stage.red[s->u.stage.nred - 1] ? reduced_run(q, s) : 1;
    int64_t cells = const_extent(v);
    expr all = v->extent;
    for (int k = 2; k <= st->fused; k++) {
        int64_t n = const_extent(s->u.stage.red[s->u.stage.nred - k]);
        cells = cells < 0 || n < 0 ? -1 : sat_mul(cells, n);
        all = x_mul(q->u->c, all, s->u.stage.red[s->u.stage.nred - k]->extent);
    }
    choose_parts(q, st, cells);
    bool known = cells >= 0 || st->parts <= st->lanes || x_is(x_modi(q->u->c, all, st->parts), 0);
    st->open = known ? NULL : all;
    if (!st->parts) st->lane = NULL;
}
