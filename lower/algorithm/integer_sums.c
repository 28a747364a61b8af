/* Integer sums: products of bytes less their zero points are multiplied as they lie in memory, and what the zero points
 * make of it is subtracted once, before the sum begins:
 *
 *     sum (a - za) (b - zb)  =  sum a b'  -  za sum b',   b' = b - zb, a constant
 *
 * The same bits, since integers wrap. sum b' is a constant, too. Where the machine multiplies other types of bytes than
 * a and b' have, b' is stored in the other one, and a is moved by 128, which its zero point takes up. Where it sums
 * several channels at a time, and a has others than a multiple of those, zeros in b' fill them up, and anything in a.
 * (Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference, 2.3) */
#include "lower/algorithm/constants.h"
#include "lower/algorithm/rows.h"
#include "lower/problem/problem.h"
#include <math.h>

#define EXACT 16777216.0 /* all whole numbers up to here are of f32 */

struct sums {
    const struct algorithm_query *at;
    struct rewriting *out;
    struct ctx *c;
    struct problem p;
    struct stmt *s;
    expr za, zb;                  /* of the operands */
    const struct tensor *weights; /* b' */
    struct buf *b;                /* holds it */
    int64_t moved;                /* is added to a */
    const struct var *channel;    /* the sum over axis 1 of both operands; NULL: there is none */
    int64_t channels;             /* with those that fill it up */
};
static expr plus(struct ctx *c, expr e, int64_t n) { return x_add(c, e, x_const_i(c, I32, n)); }
static bool is_zero(expr e) { return e->op == X_CONST && e->u.i == 0; }
static bool is_byte(enum dtype t) { return t == I8 || t == U8; }

/* ---- b' */
/* zb over b's own dims: an axis of the sum is one of them where b is indexed by it alone. */
static bool over_dims(struct sums *q, const struct var **dims, expr *zb) {
    struct ctx *c = q->c;
    expr read = q->p.b.read;
    *zb = q->zb;
    for (int k = 0; k < q->s->u.stage.naxes; k++) {
        const struct var *v = q->s->u.stage.axes[k];
        if (!x_uses_var(c, *zb, v)) continue;
        int d = 0;
        while (d < read->n && !(read->arg[d]->op == X_VAR && read->arg[d]->u.var == v)) d++;
        if (d == read->n) return false;
        *zb = x_subst1(c, *zb, v, x_var(c, dims[d]));
    }
    return true;
}
/* The constant a stage over all of b gives. */
static const struct tensor *over_weights(struct sums *q, enum dtype type, const struct var **dims, expr value) {
    struct ctx *c = q->c;
    const struct buf *b = q->p.b.read->u.buf;
    expr extents[32];
    for (int d = 0; d < b->nlogical; d++) extents[d] = dims[d]->extent;
    struct buf *shape = buf_new(c, proc_new(c, "shape"), "w", type, SC_ARENA, extents, b->nlogical);
    return stage_constant(c, s_stage(c, shape, dims, b->nlogical, RED_NONE, NULL, 0, NULL, value));
}
/* The narrowest type that holds it all; wanted first. */
static enum dtype type_for(const struct tensor *t, enum dtype wanted) {
    int64_t lo = 0, hi = 0;
    for (int64_t k = 0, n = tensor_count(t); k < n; k++) {
        int64_t v = tensor_i(t, k);
        lo = v < lo ? v : lo, hi = v > hi ? v : hi;
    }
    bool i8 = lo >= -128 && hi <= 127, u8 = lo >= 0 && hi <= 255;
    if ((wanted == I8 && i8) || (wanted == U8 && u8)) return wanted;
    return i8 ? I8 : u8 ? U8 : I16;
}
/* The sum over channels, if both operands are indexed by it alone. */
static const struct var *channel_of(const struct sums *q) {
    expr a = q->p.a.read, b = q->p.b.read;
    if (a->n - a->has_fill < 3 || b->n != a->n - a->has_fill || a->arg[1]->op != X_VAR || a->arg[1] != b->arg[1])
        return NULL;
    for (int k = 0; k < q->s->u.stage.nred; k++)
        if (q->s->u.stage.red[k] == a->arg[1]->u.var) return q->s->u.stage.red[k];
    return NULL;
}
/* The first of the machine's that takes weights like these, with a as it is; else one for which a is moved. */
static const struct micro *micro_for(const struct sums *q, const struct tensor *whole, bool as_it_is) {
    for (const struct micro_speed *m = q->at->m->micros; m && m->micro; m++)
        if (m->micro->sum == I32 && type_for(whole, m->micro->b) == m->micro->b &&
            (!as_it_is || m->micro->a == q->p.a.read->u.buf->type))
            return m->micro;
    return NULL;
}
static void choose_micro(struct sums *q, const struct tensor *whole, enum dtype *type) {
    enum dtype a = q->p.a.read->u.buf->type;
    const struct micro *m = micro_for(q, whole, true);
    if (q->p.cls != PROBLEM_CONTRACTION) return; /* nothing is summed over channels */
    if (!m) m = micro_for(q, whole, false);
    if (!m) return;
    *type = m->b, q->moved = m->a == a ? 0 : m->a == U8 ? 128 : -128;
    q->channel = channel_of(q);
    int64_t n = q->channel ? const_extent(q->channel) : 0, k0 = m->k0;
    if (n % k0 == 0) q->channel = NULL;
    else q->channels = (n + k0 - 1) / k0 * k0;
}
static bool center_weights(struct sums *q) {
    struct ctx *c = q->c;
    struct buf *b = q->p.b.read->u.buf;
    const struct var *dims[32];
    expr at[32], zb;
    for (int d = 0; d < b->nlogical; d++) {
        dims[d] = var_new(c, internf(c->names, "d%d", d), b->logical[d]);
        at[d] = x_var(c, dims[d]);
    }
    if (!over_dims(q, dims, &zb)) return false;
    expr value = x_sub(c, x_load(c, b, at, b->nlogical, NULL), zb);
    const struct tensor *whole = over_weights(q, I32, dims, value);
    if (!whole) return false;
    enum dtype type = type_for(whole, b->type);
    choose_micro(q, whole, &type);
    if (q->channel) { /* zeros behind the last one */
        const struct var *more = var_new(c, "d1", x_int(c, q->channels));
        expr inside = x_cmp(c, X_LT, x_var(c, more), b->logical[1]);
        at[1] = x_var(c, more);
        value = x_sub(c, x_load(c, b, at, b->nlogical, x_const_i(c, I32, 0)), x_subst1(c, zb, dims[1], at[1]));
        value = x_select(c, inside, value, x_const_i(c, I32, 0));
        dims[1] = more;
    }
    q->weights = over_weights(q, type, dims, value);
    return q->weights != NULL;
}
/* sum b' for each cell that has one of its own, in units of the sum. */
static expr sum_of_weights(struct sums *q) {
    struct ctx *c = q->c;
    const struct stmt *s = q->s;
    expr read = x_load(c, q->b, q->p.b.read->arg, q->p.b.read->n, NULL);
    const struct var *axes[32];
    expr at[32], dims[32];
    int n = 0;
    for (int k = 0; k < s->u.stage.naxes; k++) {
        if (!(q->p.b.axes >> k & 1)) continue;
        axes[n] = s->u.stage.axes[k], at[n] = x_var(c, axes[n]), dims[n] = axes[n]->extent, n++;
    }
    struct buf *shape = buf_new(c, proc_new(c, "shape"), "sums", I32, SC_ARENA, dims, n);
    const struct tensor *t =
        stage_constant(c, s_stage(c, shape, axes, n, RED_SUM, s->u.stage.red, s->u.stage.nred, NULL, read));
    return t ? x_load(c, constant_buf(c, q->at->entry, "sums", t), at, n, NULL) : NULL;
}

/* ---- a, moved into the other type of bytes, or with more channels */
static struct stmt *copy_moved(struct sums *q, struct buf *to, struct buf *from) {
    struct ctx *c = q->c;
    const struct var **axes = NEWN(&c->arena, const struct var *, from->nlogical + 1);
    expr at[32];
    for (int k = 0; k < from->nlogical; k++) {
        axes[k] = var_new(c, internf(c->names, "i%d", k), to->logical[k]);
        at[k] = x_var(c, axes[k]);
    }
    expr behind = q->channel ? x_const_i(c, I32, 0) : NULL;
    expr value = plus(c, x_load(c, from, at, from->nlogical, behind), q->moved);
    return s_stage(c, to, axes, from->nlogical, RED_NONE, NULL, 0, NULL, value);
}
/* Laid out as it is, but for channels that were too few for a block: they lie side by side now. */
static struct buf *move_operand(struct sums *q) {
    struct buf *from = q->p.a.read->u.buf;
    enum dtype type = !q->moved ? from->type : q->moved > 0 ? U8 : I8;
    expr dims[32];
    for (int k = 0; k < from->nlogical; k++) dims[k] = from->logical[k];
    if (q->channel) dims[1] = x_int(q->c, q->channels);
    struct buf *to = buf_new(q->c, q->at->entry, "moved", type, SC_ARENA, dims, from->nlogical);
    algorithm_part(q->at, q->out, "its operand, in the bytes that the machine multiplies");
    struct block *b = &q->out->parts.v[q->out->parts.n - 1].stmts;
    block_append(b, s_alloc(q->c, to));
    block_append(b, copy_moved(q, to, from));
    q->at->lay_out(q->at->env, to, from, q->moved, q->channel ? (int)q->channels : 0);
    algorithm_between(q->at, q->out, to);
    return to;
}
/* The sum runs over all channels that there are now. */
static void sum_more(struct sums *q) {
    struct ctx *c = q->c;
    struct stmt *s = q->s;
    const struct var *more = var_new(c, q->channel->name, x_int(c, q->channels));
    s->u.stage.red = arena_copy(&c->arena, s->u.stage.red, (size_t)s->u.stage.nred * sizeof *s->u.stage.red);
    for (int k = 0; k < s->u.stage.nred; k++)
        if (s->u.stage.red[k] == q->channel) s->u.stage.red[k] = more;
    q->p.a.read = x_subst1(c, q->p.a.read, q->channel, x_var(c, more));
    q->p.b.read = x_subst1(c, q->p.b.read, q->channel, x_var(c, more));
}

static bool is_one(struct sums *q) {
    struct ctx *c = q->c;
    const struct stmt *s = q->s;
    if (s->u.stage.op != RED_SUM || s->u.stage.buf->type != I32) return false;
    stage_problem(c, q->s, &q->p);
    if (!q->p.product || q->p.indirect || q->p.guarded) return false;
    expr a = q->p.a.read, b = q->p.b.read;
    if (!is_constant(b->u.buf) || b->has_fill || !is_byte(a->u.buf->type) || !is_byte(b->u.buf->type)) return false;
    for (int k = 0; k < s->u.stage.nred; k++)
        if (const_extent(s->u.stage.red[k]) < 0) return false;
    q->za = operand_shift(c, &q->p, &q->p.a), q->zb = operand_shift(c, &q->p, &q->p.b);
    return q->za && q->zb && a->u.buf->scope != SC_CONST;
}
/* ---- windows over one channel (depthwise convolutions) have no groups of steps to sum */
/* All partial sums are whole numbers that f32 holds, and the machine multiplies those faster than i32. */
static bool sums_in_floats(const struct sums *q) {
    const struct machine *m = q->at->m;
    const struct operation *whole = machine_multiply_add(m, I32), *real = machine_multiply_add(m, F32);
    double cells = 1, most = 0;
    if (q->p.cls == PROBLEM_CONTRACTION || !whole || !real || machine_lanes(m, F32) < 2) return false;
    if (whole->starts >= real->starts) return false;
    for (int k = 0; k < q->s->u.stage.nred; k++) cells *= (double)const_extent(q->s->u.stage.red[k]);
    for (int64_t k = 0, n = tensor_count(q->weights); k < n; k++) {
        double w = (double)tensor_i(q->weights, k);
        if (fabs(w) > most) most = fabs(w);
    }
    return cells * most * 255 < EXACT;
}
struct reader {
    struct ctx *c;
    const struct stmt *s;
    const struct buf *old;
    struct buf *now;
    expr first; /* of the sum, over the axes of s; NULL: 0 */
};
/* The sum of integers that was read here: the conversion back is exact. */
static expr read_whole(void *env, expr e) {
    struct reader *r = env;
    struct ctx *c = r->c;
    struct subst at = {{.arena = &c->arena}};
    if (e->op != X_LOAD || e->u.buf != r->old) return NULL;
    expr v = x_load(c, r->now, e->arg, e->n, NULL);
    v = x_cast(c, I32, x_min(c, x_max(c, v, x_num(c, F32, -EXACT)), x_num(c, F32, EXACT)));
    for (int k = 0; k < r->s->u.stage.naxes; k++) map_put(&at.map, PKEY(r->s->u.stage.axes[k]), (void *)e->arg[k]);
    return r->first ? x_add(c, v, x_subst(c, r->first, &at)) : v;
}
static void sum_in_floats(struct sums *q, struct block *stages) {
    struct ctx *c = q->c;
    struct stmt *s = q->s;
    struct buf *old = s->u.stage.buf,
               *now = buf_new(c, q->at->entry, old->base, F32, old->scope, old->logical, old->nlogical);
    struct reader r = {c, s, old, now, s->u.stage.init};
    expr a = s->u.stage.value->arg[0], b = s->u.stage.value->arg[1];
    struct buf *w = constant_buf(c, q->at->entry, b->u.buf->name, tensor_as(c, b->u.buf->data, F32));
    for (struct stmt *t = stages->first; t; t = t->next)
        if (t->kind == S_ALLOC && t->u.alloc.buf == old) t->u.alloc.buf = now;
    s->u.stage.buf = now, s->u.stage.init = NULL;
    s->u.stage.value = x_mul(c, x_cast(c, F32, a), x_load(c, w, b->arg, b->n, NULL));
    map_exprs(c, stages, read_whole, &r);
    proc_drop_buf(q->at->entry, old);
}

/* sum a b' alone, from where what the zero points make of it is. */
static void rewrite(struct sums *q, struct block *stages) {
    struct ctx *c = q->c;
    struct stmt *s = q->s;
    struct buf *from = q->p.a.read->u.buf;
    expr sums = NULL;
    if (!center_weights(q)) return;
    if (q->channel) sum_more(q);
    expr a = q->p.a.read, b = q->p.b.read, fill = a->has_fill ? a->arg[a->n - 1] : NULL;
    bool same = is_zero(q->zb) && !q->channel && q->weights->type == b->u.buf->type;
    q->b = same ? b->u.buf : constant_buf(c, q->at->entry, b->u.buf->name, q->weights);
    expr za = plus(c, q->za, q->moved);
    if (!is_zero(za) && !(sums = sum_of_weights(q))) return;
    if (q->moved || q->channel) from = move_operand(q);
    s->u.stage.value = x_mul(c, x_load(c, from, a->arg, a->n - a->has_fill, fill ? plus(c, fill, q->moved) : NULL),
                             x_load(c, q->b, b->arg, b->n, NULL));
    expr first = s->u.stage.init ? s->u.stage.init : x_const_i(c, I32, 0);
    if (sums) s->u.stage.init = x_sub(c, first, x_mul(c, za, sums));
    if (s->u.stage.buf->scope != SC_PARAM && sums_in_floats(q)) sum_in_floats(q, stages);
}
/* What the stages compute of scales, and of the start of the sum, is the same in every run. */
static void fold_parts(const struct algorithm_query *at, struct block *stages) {
    for (struct stmt *s = stages->first; s; s = s->next) {
        if (s->kind != S_STAGE) continue;
        s->u.stage.value = fold_constant_parts(at->c, at->entry, s, s->u.stage.value);
        if (s->u.stage.init) s->u.stage.init = fold_constant_parts(at->c, at->entry, s, s->u.stage.init);
    }
}
const char *integer_sums_refuse(const struct algorithm_query *q, const struct algorithm *row) {
    (void)row;
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        struct sums u = {.at = q, .c = q->c, .s = s};
        if (s->kind == S_STAGE && is_one(&u)) return NULL;
    }
    return "";
}
/* The same sums with less to do in each step. */
double integer_sums_cycles(const struct algorithm_query *q, const struct algorithm *row) {
    (void)row;
    return algorithm_rows[0].cycles(q, &algorithm_rows[0]) / 2;
}
void integer_sums_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out) {
    (void)row;
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        struct sums u = {.at = q, .out = out, .c = q->c, .s = s};
        if (s->kind == S_STAGE && is_one(&u)) rewrite(&u, q->stmts);
    }
    fold_parts(q, q->stmts);
    algorithm_part(q, out, NULL);
    block_move(&out->parts.v[out->parts.n - 1].stmts, q->stmts);
}
