/* The steps cache_read (copies an operand) and cache_write (accumulates a reduction in a separate buffer, then copies
 * it). The new stages are pristine; compute_at places them. */
#include "lower/schedule/steps_util.h"
#include <string.h>

/* A buffer with b's cells and layout but without its pitch. Cells of the layout that hold no element remain unused. */
static struct buf *copy_of(struct step_run *s, const struct buf *b, enum dtype type, const char *name) {
    struct buf *copy = buf_new(s->c, s->p, name, type, SC_ARENA, b->logical, b->nlogical);
    buf_take_layout(s->c, copy, b, NULL);
    copy->pad = NULL;
    return copy;
}

/* ---- cache_read */
bool apply_cache_read(struct step_run *s) {
    struct ctx *c = s->c;
    struct stmts all = {0};
    struct buf **of, **from;
    int nof, nfrom, done = 0;
    const char *base = s->step->u.cache_read.buf, *name = s->step->u.cache_read.name,
               *reader = s->step->u.cache_read.reader;
    if (!find_buf(s, base) || !find_buf(s, reader) || !free_name(s, name)) return false;
    bufs_named(s, base, &from, &nfrom);
    bufs_named(s, reader, &of, &nof);
    if (nfrom != 1)
        return step_refuse(s, "cache_read before compute_at makes several of it", "`%s` stands for %d buffers", base,
                           nfrom);
    struct buf *b = from[0];
    stmts_below(s, &s->p->body, &all);
    struct stmt *first = NULL;
    for (int k = 0; k < all.n; k++) {
        struct stmt *t = all.v[k];
        bool reader = false;
        for (int j = 0; j < nof; j++) reader |= t->kind == S_STORE && t->u.store.buf == of[j];
        if (reader && loads_buf(s, t, b) && !first) first = top_of(t);
        if (t->kind == S_ALLOC && t->u.alloc.buf == b && stmt_parent(t))
            return step_refuse(s, NULL, "`%s` exists only inside a loop", b->name);
    }
    if (!first) return step_refuse(s, NULL, "the stage of `%s` does not read `%s`", reader, b->name);
    for (struct stmt *t = first; t; t = t->next)
        if (stmt_stores_to(t, b))
            return step_refuse(s, NULL, "`%s` is still written when `%s` reads it", b->name, reader);
    struct buf *copy = copy_of(s, b, b->type, name);
    copy->fill = b->fill;
    const struct var **v = NEWN(&s->tmp, const struct var *, b->nd);
    expr *idx = NEWN(&s->tmp, expr, b->nd);
    vars_over(c, loop_name(c, name, "d"), b->dims, b->nd, v, idx);
    for (int k = 0; k < all.n; k++) {
        struct redirect r = {c, copy};
        for (int j = 0; j < nof; j++)
            if (all.v[k]->kind == S_STORE && all.v[k]->u.store.buf == of[j])
                map_loads_in(s, all.v[k], b, redirected_load, &r), done++;
    }
    stmt_insert_before(first, s_alloc(c, copy));
    stmt_insert_before(first,
                       s_nest(c, v, b->nd, s_store(c, copy, idx, b->nd, RED_NONE, x_load(c, b, idx, b->nd, NULL))));
    return done > 0;
}

/* ---- cache_write */
/* The type of the stage's cells before they are copied. For maxima and minima it makes no difference whether each term
 * or only the result is rounded: rounding to 16 bits keeps the order of floats and does not change integers that
 * fit. */
static enum dtype accumulated(const struct pristine *p) {
    enum dtype t = p->buf->type;
    bool all_one = p->n > 1;
    for (int k = 0; k < p->n && all_one; k++) {
        enum red_op op = update_op(p->store[k]);
        all_one = (red_picks(op) || !k) && (dtype_is_half(t) || x_fits(p->store[k]->u.store.value, t));
    }
    return all_one ? dtype_value(t) : t;
}
/* Redirects the stage's own loads and stores of `from` to `to`. */
static void retarget(struct step_run *s, struct pristine *p, struct buf *to) {
    struct redirect r = {s->c, to};
    for (int k = 0; k < p->n; k++) {
        map_loads_in(s, p->nest[k], p->buf, redirected_load, &r);
        p->store[k]->u.store.buf = to;
    }
}
static void rename_loops(struct step_run *s, struct pristine *p, const char *to) {
    size_t n = strlen(p->buf->base);
    for (int k = 0; k < p->n; k++)
        for (int j = 0; j < p->chain[k].n; j++) {
            struct stmt *f = p->chain[k].v[j];
            const struct var *old = f->u.loop.var;
            if (strncmp(old->name, p->buf->base, n) || old->name[n] != '.') continue;
            f->u.loop.var = var_new(s->c, loop_name(s->c, to, old->name + n + 1), old->extent);
            subst_var(s, &f->u.loop.body, old, x_var(s->c, f->u.loop.var));
        }
}
bool apply_cache_write(struct step_run *s) {
    struct ctx *c = s->c;
    struct pristine p;
    const char *name = s->step->u.cache_write.name;
    if (!free_name(s, name) || !find_pristine(s, s->step->u.cache_write.buf, &p)) return false;
    struct buf *b = p.buf;
    if (b->scope == SC_PARAM && p.n == 1 && loads_buf(s, p.nest[0], b))
        return step_refuse(s, NULL, "the stage of `%s` reads `%s` itself", b->name, b->name);
    struct buf *to = copy_of(s, b, accumulated(&p), name);
    const struct var **v = NEWN(&s->tmp, const struct var *, b->nd);
    expr *idx = NEWN(&s->tmp, expr, b->nd);
    for (int d = 0; d < b->nd; d++) {
        const struct var *a = axis_var(&p, p.n - 1, d);
        v[d] = var_new(c, a ? a->name : loop_name(c, b->base, arena_printf(&s->tmp, "d%d", d)), b->dims[d]);
        idx[d] = x_var(c, v[d]);
    }
    retarget(s, &p, to);
    stmt_insert_before(p.nest[0], s_alloc(c, to));
    stmt_insert_after(p.nest[p.n - 1],
                      s_nest(c, v, b->nd, s_store(c, b, idx, b->nd, RED_NONE, x_load(c, to, idx, b->nd, NULL))));
    rename_loops(s, &p, name);
    return true;
}
