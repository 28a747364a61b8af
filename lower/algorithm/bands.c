/* Bands: an algorithm's parts run once for each band of the result, which is cut along one dim or several, so that the
 * buffers between the parts stay in a cache. See algorithm.h. */
#include "lower/algorithm/algorithm.h"
#include "lower/schedule/cpu.h"

/* ---- are bands possible */
static bool made_here(const struct algorithm_query *q, const struct buf *b) {
    for (const struct stmt *s = q->stmts->first; s; s = s->next)
        if (s->kind == S_STAGE && s->u.stage.buf == b) return true;
    return false;
}
struct own_cells {
    const struct algorithm_query *q;
    const struct stmt *s;
    int dim;
};
static bool reads_own_cells(void *env, expr e) {
    struct own_cells *r = env;
    return e->op != X_LOAD || !made_here(r->q, e->u.buf) ||
           (e->arg[r->dim]->op == X_VAR && e->arg[r->dim]->u.var == r->s->u.stage.axes[r->dim]);
}
bool algorithm_can_cut(const struct algorithm_query *q, int dim) {
    const struct stmt *sum = q->k->sum;
    struct buf *out = q->k->out->u.stage.buf;
    /* a band's cells are copied as they are, which does not do for a result that is stored in another type */
    if (!q->bands || q->k->nresults != 1 || q->stored(q->env, out) != out) return false;
    for (const struct stmt *s = q->stmts->first; s; s = s->next) {
        struct own_cells r = {q, s, dim};
        if (s->kind == S_ALLOC) continue;
        if (s->kind != S_STAGE || !same_axes(s, sum) || (s != sum && s->u.stage.op != RED_NONE) ||
            !x_visit(s->u.stage.value, reads_own_cells, &r))
            return false;
    }
    return true;
}

/* ---- the loops over bands, and their body */
void algorithm_bands(const struct algorithm_query *q, struct algorithm_cut *cuts, int n) {
    q->bands(q->env, q->stmts, q->k->out->u.stage.buf, cuts, n);
}
struct band {
    const struct algorithm_query *q;
    struct rewriting *out;
    const struct algorithm_cut *cuts;
    int n;
    struct map buf; /* buffer that parts make -> the one for the band's cells */
};
/* Which of the cuts is along the dim; NULL: none. */
static const struct algorithm_cut *cut_of(const struct band *k, int dim) {
    for (int c = 0; c < k->n; c++)
        if (k->cuts[c].dim == dim) return &k->cuts[c];
    return NULL;
}
struct in_band {
    const struct band *k;
    struct subst own, real; /* axis that is cut -> place within the band, and in the result */
};
static expr place_in_band(void *env, expr e) {
    struct in_band *r = env;
    struct ctx *c = r->k->q->c;
    if (e->op == X_VAR) return map_get(&r->real.map, PKEY(e->u.var));
    struct buf *b = e->op == X_LOAD ? map_get(&r->k->buf, PKEY(e->u.buf)) : NULL;
    if (!b) return NULL;
    expr at[32];
    for (int d = 0; d < e->n; d++) at[d] = x_subst(c, e->arg[d], &r->own);
    return x_load(c, b, at, e->n - e->has_fill, e->has_fill ? at[e->n - 1] : NULL);
}
static struct block *last_part(const struct band *k) { return &k->out->parts.v[k->out->parts.n - 1].stmts; }
/* A buffer for the band's cells of b, with b's layout but no border. */
static struct buf *band_like(const struct band *k, const char *name, struct buf *b) {
    expr dims[32];
    for (int d = 0; d < b->nlogical; d++) dims[d] = cut_of(k, d) ? x_int(k->q->c, cut_of(k, d)->cells) : b->logical[d];
    struct buf *band = buf_new(k->q->c, k->q->entry, name, b->type, SC_ARENA, dims, b->nlogical);
    k->q->lay_out(k->q->env, band, band, 0, k->q->layout(k->q->env, b).block);
    return band;
}
/* Makes the stage compute only the band's cells. */
static void compute_band(const struct band *k, struct stmt *s) {
    struct ctx *c = k->q->c;
    struct in_band r = {k, {{.arena = &c->arena}}, {{.arena = &c->arena}}};
    stmt_own_arrays(c, s);
    for (int n = 0; n < k->n; n++) {
        const struct var **axis = &s->u.stage.axes[k->cuts[n].dim], *old = *axis;
        *axis = var_new(c, old->name, x_int(c, k->cuts[n].cells));
        map_put(&r.own.map, PKEY(old), (void *)x_var(c, *axis));
        map_put(&r.real.map, PKEY(old), (void *)x_add(c, k->cuts[n].from, x_var(c, *axis)));
    }
    s->u.stage.value = x_map(c, s->u.stage.value, place_in_band, &r);
    s->u.stage.buf = map_get(&k->buf, PKEY(s->u.stage.buf));
}
/* Makes the problem's stages, now in the last part, compute only the band's cells. */
static struct buf *make_band(struct band *k, struct buf *result) {
    struct block *b = last_part(k);
    struct buf *band = band_like(k, "band", result);
    int naxes = k->q->k->out->u.stage.naxes;
    for (int n = 0; n < k->out->between.n; n++) map_put(&k->buf, PKEY(k->out->between.v[n]), k->out->between.v[n]);
    for (struct stmt *s = b->first; s; s = s->next) {
        struct buf *made = s->kind == S_STAGE ? s->u.stage.buf : NULL;
        bool own = made && s->u.stage.naxes != naxes; /* a stage of the algorithm itself */
        if (made) map_put(&k->buf, PKEY(made), own ? made : made == result ? band : band_like(k, made->base, made));
    }
    for (struct stmt *s = b->first; s; s = s->next) {
        if (s->kind == S_ALLOC && map_get(&k->buf, PKEY(s->u.alloc.buf)))
            s->u.alloc.buf = map_get(&k->buf, PKEY(s->u.alloc.buf));
        if (s->kind == S_STAGE && s->u.stage.naxes == naxes) compute_band(k, s);
    }
    stmt_insert_before(b->first, s_alloc(k->q->c, band));
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
        map_put(&first.map, PKEY(result->lvar[d]), (void *)(cut_of(k, d) ? cut_of(k, d)->from : x_int(c, 0)));
    vars_over(c, "copy.i", x->dims, x->nd, vars, from);
    for (int d = 0; d < x->nd; d++) to[d] = x_add(c, x_subst(c, result->map[d], &first), from[d]);
    struct stmt *s = s_store(c, y, to, y->nd, RED_NONE, x_load(c, x, from, x->nd, NULL));
    block_append(last_part(k), s_nest(c, vars, x->nd, s));
}
void algorithm_end_band(const struct algorithm_query *q, struct rewriting *out, const struct algorithm_cut *cuts,
                        int n) {
    struct band k = {q, out, cuts, n, {.arena = &q->c->arena}};
    struct buf *result = q->k->out->u.stage.buf, *band = make_band(&k, result);
    algorithm_between(q, out, band);
    algorithm_part(q, out, "a band of its results");
    copy_band(&k, result, band);
}
