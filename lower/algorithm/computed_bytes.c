/* Computed bytes: products of bytes less their zero points where neither factor is constant (integer_sums.c does those
 * with constants). Vectors cannot subtract a zero point before an instruction multiplies bytes, and no instruction
 * takes both factors as they lie in memory. So both are copied first, which costs little beside the products:
 *
 *     sum (a - za) (b - zb)  =  sum a b  -  za sum b  -  zb sum a  +  K za zb
 *
 * Either as bytes, shifted by 128 where the instruction needs the other type of bytes, with the zero points' terms
 * computed before the sum begins. Or less their zero points, as 16-bit integers for an instruction that multiplies
 * those, or as 32-bit integers on any machine. The second factor of an instruction is stored in panels (struct panels),
 * padded with zeros to whole steps. Bits are unchanged, since integers wrap. */
#include "lower/algorithm/rows.h"
#include <math.h>

struct factor {
    const struct operand *o;
    expr zero;
    int summed; /* the reduced dim */
};
struct product {
    const struct algorithm_query *at;
    struct ctx *c;
    struct stmt *s;
    struct factor a, b;
    struct panels how; /* for b */
};
struct method {
    const struct micro *by; /* NULL: multiplied as 32-bit integers */
    bool less;              /* zero points are subtracted in the copies */
    enum dtype a, b;        /* types of the copies */
    int64_t depth;          /* of the sum, padded with zeros; 0: as it is */
    double cycles;
};
static const struct var *summed(const struct product *p) { return p->s->u.stage.red[0]; }
static struct buf *buf_of(const struct factor *f) { return f->o->read->u.buf; }

/* ---- which products qualify */
static bool is_factor(const struct product *p, struct factor *f) {
    expr read = f->o->read;
    if (is_constant(buf_of(f)) || f->o->made || read->has_fill || !dtype_is_byte(buf_of(f)->type) || !f->zero)
        return false;
    f->summed = dim_of(read, summed(p));
    for (int d = 0; d < read->n; d++)
        if (d != f->summed && x_uses_var(p->c, read->arg[d], summed(p))) return false;
    return f->summed >= 0 && !p->at->layout(p->at->env, buf_of(f)).spec;
}
static bool find_product(const struct algorithm_query *q, struct product *p) {
    const struct problem *k = q->k;
    if (q->m->gpu || !k || k->cls != PROBLEM_CONTRACTION || !k->product || k->nreductions > 1 || k->indirect ||
        k->guarded || k->sum->u.stage.buf->type != I32)
        return false;
    for (int second = 0; second < 2; second++) {
        const struct operand *a = second ? &k->b : &k->a, *b = second ? &k->a : &k->b;
        *p = (struct product){q,  q->c, k->sum, {a, operand_shift(q->c, k, a), 0}, {b, operand_shift(q->c, k, b), 0},
                              {0}};
        if (rows_meet_lanes(k->sum, a->read, b->read, &p->how.along, &p->how.summed) && is_factor(p, &p->a) &&
            is_factor(p, &p->b))
            return true;
    }
    return false;
}

/* ---- how they are multiplied */
static int64_t in_steps(int64_t n, int steps) { return (n + steps - 1) / steps * steps; }
static double cells_of(const struct product *p, const struct factor *f) {
    const struct buf *b = buf_of(f);
    return typical_size(p->c, b->logical, b->nlogical, 1);
}
/* The zero point over the dims of the factor, if each axis of the sum that it uses is one of those; otherwise NULL. */
static expr zero_over(const struct product *p, const struct factor *f, const expr *at) {
    expr zero = f->zero, read = f->o->read;
    for (int k = 0; k < p->s->u.stage.naxes; k++) {
        const struct var *v = p->s->u.stage.axes[k];
        if (!x_uses_var(p->c, zero, v)) continue;
        if (dim_of(read, v) < 0) return NULL;
        zero = x_subst1(p->c, zero, v, at[dim_of(read, v)]);
    }
    return zero;
}
/* The products, and copies: of b into panels cell by cell, of other factors in vectors. */
static double cycles_of(const struct product *p, const struct micro_speed *s, const struct method *w) {
    enum { COPY = 2 };
    const struct stmt *sum = p->s;
    const struct machine *m = p->at->m;
    double products = typical_result(p->c, sum) * typical_cells(p->c, sum->u.stage.red, 1, 1);
    double vectors = (cells_of(p, &p->a) + cells_of(p, &p->b)) * COPY / machine_lanes(m, I32);
    if (!s) return products / machine_products(m, I32, I32) + vectors;
    if (w->depth) products *= (double)w->depth / (double)const_extent(summed(p));
    return products / micro_products(m, s) + vectors + cells_of(p, &p->b);
}
static bool takes(const struct product *p, const struct micro *m) {
    int64_t lo, hi;
    if (m->sum != I32 || const_extent(summed(p)) < 1 || micro_within(m, &lo, &hi)) return false;
    return (dtype_is_byte(m->a) && dtype_is_byte(m->b)) || (m->a == I16 && m->b == I16);
}
static struct method method_for(const struct product *p, const struct micro_speed *s) {
    const struct micro *m = s->micro;
    int64_t n = const_extent(summed(p));
    struct method w = {m, m->a == I16, m->a, m->b, n % m->k0 ? in_steps(n, m->k0) : 0, 0};
    w.cycles = cycles_of(p, s, &w);
    return w;
}
static struct method choose_method(const struct product *p) {
    struct method best = {.less = true, .a = I32, .b = I32};
    best.cycles = cycles_of(p, NULL, &best);
    for (const struct micro_speed *s = p->at->m->micros; s && s->micro; s++) {
        struct method w = takes(p, s->micro) ? method_for(p, s) : best;
        if (w.cycles < best.cycles) best = w;
    }
    return best;
}
const char *computed_bytes_refuse(const struct algorithm_query *q, const struct algorithm *row) {
    struct product p;
    expr at[PROBLEM_AXES] = {0};
    (void)row;
    if (!find_product(q, &p)) return "";
    for (int d = 0; d < PROBLEM_AXES; d++) at[d] = x_int(q->c, 0);
    return zero_over(&p, &p.a, at) && zero_over(&p, &p.b, at) ? NULL : "a zero point has axes that its factor lacks";
}
double computed_bytes_cycles(const struct algorithm_query *q, const struct algorithm *row) {
    struct product p;
    (void)row;
    return find_product(q, &p) ? choose_method(&p).cycles : INFINITY;
}
/* Loops that subtract zero points keep no tile in registers: for each product both factors are loaded, converted,
 * shifted and multiplied. */
double shifted_cycles(const struct algorithm_query *q, double cells, double depth) {
    enum { OPERATIONS = 8 };
    struct product p;
    return find_product(q, &p) ? rows_cycles(q->m, cells, OPERATIONS / 2, depth) : 0;
}

/* ---- copies */
/* What turns bytes of one type into the other when added. */
static int64_t shift_between(enum dtype from, enum dtype to) {
    return from == to || !dtype_is_byte(to) ? 0 : to == U8 ? 128 : -128;
}
static expr copied_cell(const struct product *p, const struct factor *f, const struct method *w, enum dtype to,
                        const expr *at) {
    struct ctx *c = p->c;
    struct buf *from = buf_of(f);
    expr none = x_const_i(c, I32, 0), v = x_load(c, from, at, from->nlogical, w->depth ? none : NULL);
    v = w->less ? x_sub(c, v, zero_over(p, f, at)) : x_add(c, v, x_const_i(c, I32, shift_between(from->type, to)));
    return w->depth ? x_select(c, x_cmp(c, X_LT, at[f->summed], from->logical[f->summed]), v, none) : v;
}
static struct buf *copy_factor(struct product *p, const struct factor *f, const struct method *w, enum dtype to,
                               const struct panels *how, struct rewriting *out) {
    struct ctx *c = p->c;
    struct buf *from = buf_of(f);
    const struct var *axes[PROBLEM_AXES];
    expr dims[PROBLEM_AXES], at[PROBLEM_AXES];
    if (to == from->type && !how && !w->depth) return from;
    for (int d = 0; d < from->nlogical; d++) dims[d] = from->logical[d];
    if (w->depth) dims[f->summed] = x_int(c, w->depth);
    vars_over(c, "i", dims, from->nlogical, axes, at);
    struct buf *copy = buf_new(c, p->at->entry, how ? "packed" : "moved", to, SC_ARENA, dims, from->nlogical);
    algorithm_part(p->at, out, "a factor, as the machine multiplies it");
    struct block *b = &out->parts.v[out->parts.n - 1].stmts;
    block_append(b, s_alloc(c, copy));
    block_append(b, s_stage(c, copy, axes, from->nlogical, RED_NONE, NULL, 0, NULL, copied_cell(p, f, w, to, at)));
    if (how) p->at->pack(p->at->env, copy, *how);
    algorithm_between(p->at, out, copy);
    return copy;
}

/* ---- the zero points' part */
/* A copy of b, padded with zeros to whole vectors along the last axis, so that all lanes of a row's last vector can
 * start from it. */
static struct buf *in_whole_vectors(struct product *p, struct buf *b, int lanes, struct rewriting *out) {
    struct ctx *c = p->c;
    const struct var *axes[PROBLEM_AXES];
    expr dims[PROBLEM_AXES], at[PROBLEM_AXES], most = x_int(c, lanes);
    int last = b->nlogical - 1;
    for (int d = 0; d <= last; d++) dims[d] = b->logical[d];
    dims[last] = x_mul(c, x_div(c, x_addi(c, dims[last], lanes - 1), most), most);
    if (x_proves_le(c, dims[last], b->logical[last])) return b;
    algorithm_between(p->at, out, b); /* apart from the copy, whose loops would keep the sums from being vectorised */
    algorithm_part(p->at, out, "the sums in whole vectors");
    vars_over(c, "i", dims, b->nlogical, axes, at);
    return algorithm_stage(p->at, out, b->base, I32, axes, b->nlogical, RED_NONE, NULL, 0,
                           x_load(c, b, at, b->nlogical, x_const_i(c, I32, 0)));
}
/* The sum of one factor, over the axes of the result that it depends on. */
static expr sum_of_factor(struct product *p, const struct method *w, const struct factor *f, struct rewriting *out) {
    struct ctx *c = p->c;
    const struct stmt *s = p->s;
    const struct var *all[PROBLEM_AXES], *axes[PROBLEM_AXES], *red = var_new(c, summed(p)->name, summed(p)->extent);
    expr at[PROBLEM_AXES], cell[PROBLEM_AXES];
    int n = 0;
    algorithm_part(p->at, out, "the sum of a factor");
    expr value = algorithm_own_axes(p->at, s, x_subst1(c, f->o->read, summed(p), x_var(c, red)), all, cell);
    for (int k = 0; k < s->u.stage.naxes; k++)
        if (f->o->axes >> k & 1) axes[n] = all[k], at[n++] = x_var(c, s->u.stage.axes[k]);
    struct buf *sums = algorithm_stage(p->at, out, "sums", I32, axes, n, RED_SUM, &red, 1, value);
    bool along = f->o->axes >> (s->u.stage.naxes - 1) & 1; /* it depends on the axis of the lanes */
    if (w->by && along) sums = in_whole_vectors(p, sums, w->by->n0 ? w->by->n0 : machine_lanes(p->at->m, I32), out);
    algorithm_between(p->at, out, sums);
    return x_load(c, sums, at, n, NULL);
}
/* The new initial value, first - za' sum b - zb' sum a + K (za' zb' - za' mb - zb' ma), where the shifted factors are
 * a' = a + ma, za' = za + ma and so on. */
static expr begin_of(struct product *p, const struct method *w, struct rewriting *out) {
    struct ctx *c = p->c;
    expr first = p->s->u.stage.init ? p->s->u.stage.init : x_const_i(c, I32, 0);
    expr ma = x_const_i(c, I32, shift_between(buf_of(&p->a)->type, w->a)),
         mb = x_const_i(c, I32, shift_between(buf_of(&p->b)->type, w->b)), za = x_add(c, p->a.zero, ma),
         zb = x_add(c, p->b.zero, mb), depth = x_const_i(c, I32, const_extent(summed(p)));
    if (!is_integer_zero(za)) first = x_sub(c, first, x_mul(c, za, sum_of_factor(p, w, &p->b, out)));
    if (!is_integer_zero(zb)) first = x_sub(c, first, x_mul(c, zb, sum_of_factor(p, w, &p->a, out)));
    expr rest = x_sub(c, x_mul(c, za, x_sub(c, zb, mb)), x_mul(c, zb, ma));
    return x_add(c, first, x_mul(c, depth, rest));
}
/* The load of the factor's copy at the step `step` of the sum. */
static expr read_copy(const struct product *p, const struct factor *f, struct buf *copy, const struct var *step) {
    expr at[PROBLEM_AXES], read = f->o->read;
    for (int d = 0; d < read->n; d++) at[d] = d == f->summed ? x_var(p->c, step) : read->arg[d];
    return x_load(p->c, copy, at, read->n, NULL);
}
void computed_bytes_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out) {
    struct product p;
    struct ctx *c = q->c;
    (void)row;
    if (!find_product(q, &p)) return;
    struct method w = choose_method(&p);
    const struct var *lane = p.s->u.stage.axes[p.s->u.stage.naxes - 1],
                     *step = w.depth ? var_new(c, summed(&p)->name, x_int(c, w.depth)) : summed(&p);
    if (w.by) p.how = micro_panels(w.by, const_extent(lane) < 0, p.how.along, p.how.summed);
    struct buf *a = copy_factor(&p, &p.a, &w, w.a, NULL, out),
               *b = copy_factor(&p, &p.b, &w, w.b, w.by ? &p.how : NULL, out);
    if (!w.less) p.s->u.stage.init = begin_of(&p, &w, out);
    p.s->u.stage.value = x_mul(c, read_copy(&p, &p.a, a, step), read_copy(&p, &p.b, b, step));
    p.s->u.stage.red = arena_copy(&c->arena, &step, sizeof step);
    algorithm_part(q, out, NULL);
    algorithm_rest(q, out, NULL);
}
