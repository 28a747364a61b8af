/* The step border: writes the cells around a result that windows will read (zeros, or its zero point), and zeros in pad
 * lanes that the kernel does not fill. */
#include "lower/schedule/steps_util.h"

/* Physical dim k is one logical dim with cells before and after it. */
static bool border_of(struct ctx *c, const struct buf *b, int k, int64_t *lo, int64_t *hi) {
    for (int d = 0; d < b->nlogical; d++) {
        if (!x_is_int(x_sub(c, b->map[k], x_var(c, b->lvar[d])), lo) || *lo < 0) continue;
        return x_is_int(x_addi(c, x_sub(c, b->dims[k], b->logical[d]), -*lo), hi) && *hi >= 0;
    }
    *lo = *hi = 0;
    return true;
}
/* Writes the fill value (zero unless the layout says otherwise) to the cells [from, from + n) of dim d, for all cells
 * of later dims, and within the border for earlier dims. */
static struct stmt *border_strip(struct step_run *s, struct buf *b, int d, expr from, int64_t n) {
    struct ctx *c = s->c;
    const struct var **v = NEWN(&s->tmp, const struct var *, b->nd);
    expr *idx = NEWN(&s->tmp, expr, b->nd);
    for (int k = 0; k < b->nd; k++) {
        int64_t lo = 0, hi = 0;
        if (k < d) border_of(c, b, k, &lo, &hi);
        expr extent = k == d ? x_int(c, n) : x_addi(c, b->dims[k], -lo - hi);
        v[k] = var_new(c, internf(c->names, "border%d.i%d", d, k), extent);
        idx[k] = x_add(c, x_var(c, v[k]), k == d ? from : x_int(c, lo));
    }
    expr fill = b->fill ? b->fill : x_num(c, dtype_value(b->type), 0);
    return s_nest(c, v, b->nd, s_store(c, b, idx, b->nd, RED_NONE, fill));
}
/* Dims div and mod of b are the logical dim d in blocks of n; the last block has `used` cells, then pad lanes. */
struct lanes {
    int div, mod;
    int64_t n, used;
};
static bool pad_lanes(struct ctx *c, const struct buf *b, int d, struct lanes *l) {
    int64_t channels, n;
    *l = (struct lanes){-1, -1, 1, 0};
    for (int k = 0; k < b->nd; k++) {
        if (!x_uses_var(c, b->map[k], b->lvar[d])) continue;
        if (x_is_int(b->dims[k], &n) && b->map[k] == x_modi(c, x_var(c, b->lvar[d]), n)) l->mod = k, l->n = n;
        else l->div = k;
    }
    if (l->mod < 0 || l->div < 0 || !x_is_int(b->logical[d], &channels)) return false;
    l->used = channels % l->n;
    return l->used && b->map[l->div] == x_divi(c, x_var(c, b->lvar[d]), l->n);
}
/* A widened kernel fills its pad lanes itself. */
static bool stores_pad_lanes(struct step_run *s, const struct buf *b, const struct lanes *l) {
    struct accesses a = {0};
    int64_t lo, hi, blocks;
    accesses_of(s, &s->p->body, &a);
    for (int k = 0; k < a.n; k++) {
        if (a.v[k].buf != b || !a.v[k].store || !x_is_int(b->dims[l->div], &blocks)) continue;
        x_bounds(s->c, x_add(s->c, x_muli(s->c, a.v[k].idx[l->div], l->n), a.v[k].idx[l->mod]), &lo, &hi);
        if (hi >= (blocks - 1) * l->n + l->used) return true;
    }
    return false;
}
static struct stmt *zero_lanes(struct step_run *s, struct buf *b, int d, const struct lanes *l) {
    struct ctx *c = s->c;
    const struct var **v = NEWN(&s->tmp, const struct var *, b->nd);
    expr *idx = NEWN(&s->tmp, expr, b->nd);
    for (int k = 0; k < b->nd; k++) {
        expr extent = k == l->div ? x_int(c, 1) : k == l->mod ? x_int(c, l->n - l->used) : b->dims[k];
        v[k] = var_new(c, internf(c->names, "pad%d.i%d", d, k), extent);
        idx[k] = x_var(c, v[k]);
    }
    idx[l->div] = x_add(c, idx[l->div], x_addi(c, b->dims[l->div], -1));
    idx[l->mod] = x_addi(c, idx[l->mod], l->used);
    return s_nest(c, v, b->nd, s_store(c, b, idx, b->nd, RED_NONE, x_num(c, dtype_value(b->type), 0)));
}
bool apply_border(struct step_run *s) {
    struct buf *b;
    int64_t lo, hi;
    struct lanes l;
    if (!(b = find_buf(s, s->step->u.of.buf))) return false;
    int at = proc_param_at(s->p, b);
    if (at < 0 || s->p->params.v[at].dir == DIR_IN) return step_refuse(s, NULL, "`%s` is no result", b->name);
    for (int k = 0; k < b->nd; k++) {
        if (!border_of(s->c, b, k, &lo, &hi))
            return step_refuse(s, NULL, "the border of dim %d of `%s` is not constant", k, b->name);
        if (lo) block_append(&s->p->body, border_strip(s, b, k, x_int(s->c, 0), lo));
        if (hi) block_append(&s->p->body, border_strip(s, b, k, x_addi(s->c, b->dims[k], -hi), hi));
    }
    for (int d = 0; d < b->nlogical; d++)
        if (pad_lanes(s->c, b, d, &l) && !stores_pad_lanes(s, b, &l))
            block_append(&s->p->body, zero_lanes(s, b, d, &l));
    return true;
}
