/* Integer sums: products of bytes less their zero points are multiplied as they lie in memory, and what the zero points
 * make of it is subtracted once, before the sum begins:
 *
 *     sum (a - za) (b - zb)  =  sum a b'  -  za sum b',   b' = b - zb, a constant
 *
 * The same bits, since integers wrap. sum b' is a constant, too. Where the machine multiplies other types of bytes than
 * a and b' have, b' is stored in the other one, and a is moved by 128, which its zero point takes up.
 * (Jacob et al., Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference, 2.3) */
#include "lower/algorithm/integer_sums.h"
#include "lower/algorithm/constants.h"
#include "lower/layout.h"
#include "lower/machine/machine.h"
#include "lower/problem/problem.h"

struct sums {
    struct lowering *l;
    struct ctx *c;
    struct problem p;
    struct stmt *s;
    expr za, zb;                   /* of the operands */
    const struct tensor *weights;  /* b' */
    struct buf *b;                 /* holds it */
    int64_t moved;                 /* is added to a */
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
    struct buf *shape = buf_new(c, proc_new(c, "shape"), "w", type, SC_ARENA, b->logical, b->nlogical);
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
    enum dtype a = q->p.a.read->u.buf->type, type = type_for(whole, b->type);
    const struct micro *micro = NULL; /* the first that takes these types, or a of the other one */
    for (const struct micro_speed *m = q->l->o->target->machine->micros; m && m->micro && !micro; m++)
        if (m->micro->sum == I32 && type_for(whole, m->micro->b) == m->micro->b) micro = m->micro;
    if (micro) type = micro->b, q->moved = micro->a == a ? 0 : micro->a == U8 ? 128 : -128;
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
    return t ? x_load(c, constant_buf(c, q->l->entry, "sums", t), at, n, NULL) : NULL;
}

/* ---- a, moved into the other type of bytes */
static bool copy_moved(struct sums *q, struct buf *to, struct buf *from) {
    struct ctx *c = q->c;
    const struct var *axes[32];
    expr at[32];
    struct block b = {0};
    for (int k = 0; k < from->nlogical; k++) {
        axes[k] = var_new(c, internf(c->names, "i%d", k), from->logical[k]);
        at[k] = x_var(c, axes[k]);
    }
    expr value = plus(c, x_load(c, from, at, from->nlogical, NULL), q->moved);
    block_append(&b, s_stage(c, to, axes, from->nlogical, RED_NONE, NULL, 0, NULL, value));
    return outline_kernels(q->l, &b, "moved");
}
/* The operand's cells + 128 or - 128, laid out as they are. */
static struct buf *move_operand(struct sums *q) {
    struct buf *from = q->p.a.read->u.buf;
    enum dtype type = q->moved > 0 ? U8 : I8;
    struct buf *to = lower_alloc(q->l, "moved", type, from->logical, from->nlogical);
    lower_layout_like(q->l, to, from, q->moved);
    return copy_moved(q, to, from) ? to : NULL;
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
/* sum a b' alone, from where what the zero points make of it is. */
static bool rewrite(struct sums *q) {
    struct ctx *c = q->c;
    struct stmt *s = q->s;
    expr a = q->p.a.read, b = q->p.b.read, fill = a->has_fill ? a->arg[a->n - 1] : NULL, sums = NULL;
    struct buf *from = a->u.buf;
    if (!center_weights(q)) return true;
    bool same = is_zero(q->zb) && q->weights->type == b->u.buf->type;
    q->b = same ? b->u.buf : constant_buf(c, q->l->entry, b->u.buf->name, q->weights);
    expr za = plus(c, q->za, q->moved);
    if (!is_zero(za) && !(sums = sum_of_weights(q))) return true;
    if (q->moved && !(from = move_operand(q))) return false;
    s->u.stage.value = x_mul(c, x_load(c, from, a->arg, a->n - a->has_fill, fill ? plus(c, fill, q->moved) : NULL),
                             x_load(c, q->b, b->arg, b->n, NULL));
    if (!sums) return true;
    expr first = s->u.stage.init ? s->u.stage.init : x_const_i(c, I32, 0);
    s->u.stage.init = x_sub(c, first, x_mul(c, za, sums));
    return true;
}
/* What the stages compute of scales, and of the start of the sum, is the same in every run. */
static void fold_parts(struct lowering *l, struct block *stages) {
    for (struct stmt *s = stages->first; s; s = s->next) {
        if (s->kind != S_STAGE) continue;
        s->u.stage.value = fold_constant_parts(l->c, l->entry, s, s->u.stage.value);
        if (s->u.stage.init) s->u.stage.init = fold_constant_parts(l->c, l->entry, s, s->u.stage.init);
    }
}
bool integer_sums(struct lowering *l, struct block *stages) {
    bool found = false;
    for (struct stmt *s = stages->first; s; s = s->next) {
        struct sums q = {.l = l, .c = l->c, .s = s};
        if (s->kind != S_STAGE || !is_one(&q)) continue;
        if (!rewrite(&q)) return false;
        found = true;
    }
    if (found) fold_parts(l, stages);
    return true;
}
