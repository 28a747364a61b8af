/* Bands: an algorithm's parts run once for each band of rows of the result, so that the buffers between the parts stay
 * in a cache. Rows are cells of dim 2. See algorithm.h. */
#include "lower/algorithm/algorithm.h"
#include "lower/schedule/cpu.h"

enum { ROWS = 2 }; /* the dim that bands cut */

/* ---- are bands possible */
static bool made_here(const struct algorithm_query *q, const struct buf *b) {
    for (const struct stmt *s = q->stmts->first; s; s = s->next)
        if (s->kind == S_STAGE && s->u.stage.buf == b) return true;
    return false;
}
struct own_rows {
    const struct algorithm_query *q;
    const struct stmt *s;
};
static bool reads_own_row(void *env, expr e) {
    struct own_rows *r = env;
    return e->op != X_LOAD || !made_here(r->q, e->u.buf) ||
           (e->arg[ROWS]->op == X_VAR && e->arg[ROWS]->u.var == r->s->u.stage.axes[ROWS]);
}
bool algorithm_has_rows(const struct algorithm_query *q) {
    const struct stmt *sum = q->k->sum;
    int64_t extent;
    if (!q->bands || q->k->nresults != 1 || !x_is_int(sum->u.stage.axes[ROWS]->extent, &extent)) return false;
    for (const struct stmt *s = q->stmts->first; s; s = s->next) {
        struct own_rows r = {q, s};
        if (s->kind == S_ALLOC) continue;
        if (s->kind != S_STAGE || !same_axes(s, sum) || (s != sum && s->u.stage.op != RED_NONE) ||
            !x_visit(s->u.stage.value, reads_own_row, &r))
            return false;
    }
    return true;
}

/* ---- the loop over bands, and its body */
expr algorithm_bands(const struct algorithm_query *q, int64_t rows) {
    int64_t extent = const_extent(q->k->sum->u.stage.axes[ROWS]);
    return q->bands(q->env, q->stmts, q->k->out->u.stage.buf, rows, extent);
}
struct band {
    const struct algorithm_query *q;
    struct rewriting *out;
    expr from;
    int64_t rows;
    struct map buf; /* buffer that the last part makes -> the one for the band's rows */
};
struct in_band {
    const struct band *k;
    const struct var *old;
    expr own, real; /* row within the band, and of the result */
};
static expr row_in_band(void *env, expr e) {
    struct in_band *r = env;
    struct ctx *c = r->k->q->c;
    if (e->op == X_VAR && e->u.var == r->old) return r->real;
    struct buf *b = e->op == X_LOAD ? map_get(&r->k->buf, PKEY(e->u.buf)) : NULL;
    if (!b) return NULL;
    expr at[32];
    for (int d = 0; d < e->n; d++) at[d] = x_subst1(c, e->arg[d], r->old, r->own);
    return x_load(c, b, at, e->n - e->has_fill, e->has_fill ? at[e->n - 1] : NULL);
}
static struct block *last_part(const struct band *k) { return &k->out->parts.v[k->out->parts.n - 1].stmts; }
/* A buffer for the band's rows of b, with b's layout but no border. */
static struct buf *rows_like(const struct band *k, const char *name, struct buf *b) {
    expr dims[32];
    for (int d = 0; d < b->nlogical; d++) dims[d] = d == ROWS ? x_int(k->q->c, k->rows) : b->logical[d];
    struct buf *rows = buf_new(k->q->c, k->q->entry, name, b->type, SC_ARENA, dims, b->nlogical);
    k->q->lay_out(k->q->env, rows, rows, 0, k->q->layout(k->q->env, b).block);
    return rows;
}
/* Makes the problem's stages, now in the last part, compute only the band's rows. */
static struct buf *make_band(struct band *k, struct buf *result) {
    struct ctx *c = k->q->c;
    struct block *b = last_part(k);
    struct buf *band = rows_like(k, "band", result);
    int naxes = k->q->k->out->u.stage.naxes;
    for (struct stmt *s = b->first; s; s = s->next) {
        struct buf *made = s->kind == S_STAGE ? s->u.stage.buf : NULL;
        bool own = made && s->u.stage.naxes != naxes; /* a stage of the algorithm itself */
        if (made) map_put(&k->buf, PKEY(made), own ? made : made == result ? band : rows_like(k, made->base, made));
    }
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == S_ALLOC && map_get(&k->buf, PKEY(s->u.alloc.buf)))
            s->u.alloc.buf = map_get(&k->buf, PKEY(s->u.alloc.buf));
        if (s->kind != S_STAGE || s->u.stage.naxes != naxes) continue;
        stmt_own_arrays(c, s);
        const struct var *old = s->u.stage.axes[ROWS], *own = var_new(c, old->name, band->logical[ROWS]);
        struct in_band r = {k, old, x_var(c, own), x_add(c, k->from, x_var(c, own))};
        s->u.stage.axes[ROWS] = own;
        s->u.stage.value = x_map(c, s->u.stage.value, row_in_band, &r);
        s->u.stage.buf = map_get(&k->buf, PKEY(s->u.stage.buf));
    }
    stmt_insert_before(b->first, s_alloc(c, band));
    return band;
}
/* A view of all cells of b in memory, including its border. */
static struct buf *cells_of(const struct band *k, struct buf *b) {
    return buf_is_plain(b) ? b : algorithm_view(k->q, k->out, b->base, b, b->dims, b->nd);
}
/* Cells have the same order in both buffers; only the result has a border, which is written already. */
static void copy_band(const struct band *k, struct buf *result, struct buf *band) {
    struct ctx *c = k->q->c;
    const struct var *vars[32];
    expr from[32], to[32];
    struct buf *y = cells_of(k, result), *x = cells_of(k, band);
    struct subst first = {{.arena = &c->arena}};
    for (int d = 0; d < result->nlogical; d++)
        map_put(&first.map, PKEY(result->lvar[d]), (void *)(d == ROWS ? k->from : x_int(c, 0)));
    vars_over(c, "copy.i", x->dims, x->nd, vars, from);
    for (int d = 0; d < x->nd; d++) to[d] = x_add(c, x_subst(c, result->map[d], &first), from[d]);
    struct stmt *s = s_store(c, y, to, y->nd, RED_NONE, x_load(c, x, from, x->nd, NULL));
    block_append(last_part(k), s_nest(c, vars, x->nd, s));
}
void algorithm_end_band(const struct algorithm_query *q, struct rewriting *out, expr from, int64_t rows) {
    struct band k = {q, out, from, rows, {.arena = &q->c->arena}};
    struct buf *result = q->k->out->u.stage.buf, *band = make_band(&k, result);
    algorithm_between(q, out, band);
    algorithm_part(q, out, "a band of its results");
    copy_band(&k, result, band);
}
