/* Integer sums: bytes less their zero points are multiplied as they lie in memory, and the zero point's part is
 * subtracted once, before the sum begins:
 *
 *     sum (a - za) (b - zb)  =  sum a b'  -  za sum b',   b' = b - zb, a constant
 *
 * Bits are unchanged, since integers wrap; sum b' is a constant, too. The cheapest way to multiply is taken: as they
 * are; or as other integers, if the machine has an instruction for those: b' is stored as such, and a is copied,
 * shifted by 128 from one type of bytes to the other; or in floats, in which sums below 2^24 are exact; longer sums are
 * cut into parts that are exact, and added as integers. If an instruction sums several channels, or cells of a row, at
 * a time and their number is no multiple, b' is padded with zeros; what a has there does not matter. (Jacob et al.,
 * Quantization and Training of Neural Networks for Efficient Integer-Arithmetic-Only Inference, 2.3) */
#include "lower/algorithm/constants.h"
#include "lower/algorithm/rows.h"
#include "lower/problem/problem.h"
#include <math.h>

#define EXACT 16777216.0 /* f32 represents all integers up to here */

struct sums {
    const struct algorithm_query *at;
    struct rewriting *out;
    struct ctx *c;
    struct problem p;
    struct stmt *s;
    expr za, zb;                  /* of the operands */
    int64_t least, greatest;      /* of b' */
    const struct tensor *weights; /* b' */
    struct buf *b;                /* stores it */
    enum dtype a;                 /* type in which a is stored */
    int64_t moved;                /* is added to a's cells there */
    const struct var *channel; /* what is summed over a dim of each operand, if that is to be padded; otherwise NULL */
    int64_t channels;          /* including padding */
    int of_a, of_b;            /* those dims */
    bool rows;                 /* a's dim is the last one, as in a product of matrices; or channels */
    int64_t group;             /* cells of the result in one group of channels; 0: there are no groups */
    bool in_floats;
    int parts;             /* number of parts of the sum, each in floats */
    double most;           /* magnitude of their partial sums at most */
    const int64_t *within; /* guaranteed limits of b', for micro-kernels that rely on them; NULL: none */
    bool asked;            /* the question is how a should be stored, so it may have any type */
};
static expr plus(struct ctx *c, expr e, int64_t n) { return x_add(c, e, x_const_i(c, I32, n)); }

/* ---- b' */
/* zb over b's own dims: each axis of the sum becomes the dim that it indexes alone. */
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
/* The constant that a stage over all of b gives. */
static const struct tensor *over_weights(struct sums *q, enum dtype type, const struct var **dims, expr value) {
    return stage_constant(q->c, type, dims, q->p.b.read->u.buf->nlogical, RED_NONE, NULL, 0, value);
}
static bool holds_all(enum dtype type, const struct sums *q) {
    int64_t lo = type == U8   ? 0
                 : type == I8 ? INT8_MIN
                              : INT16_MIN,
            hi = type == U8   ? UINT8_MAX
                 : type == I8 ? INT8_MAX
                              : INT16_MAX;
    return lo <= q->least && q->greatest <= hi;
}
/* Is b' within the limits for which the micro-kernel is correct? */
static bool within_limits(const struct micro *m, const struct sums *q) {
    int64_t lo, hi;
    return !micro_within(m, &lo, &hi) || (lo <= q->least && q->greatest <= hi);
}
static bool multiplies(const struct micro *m, const struct sums *q) {
    return holds_all(m->b, q) && within_limits(m, q);
}
/* The narrowest type that holds b'; the wanted one if it does. */
static enum dtype type_for(const struct sums *q, enum dtype wanted) {
    return holds_all(wanted, q) ? wanted : holds_all(I8, q) ? I8 : holds_all(U8, q) ? U8 : I16;
}
/* The reduced variable that alone is dim `of_a` of one operand and `of_b` of the other. */
static const struct var *summed_over(struct sums *q, int of_a, int of_b) {
    expr a = q->p.a.read->arg[of_a], b = q->p.b.read->arg[of_b];
    for (int k = 0; k < q->s->u.stage.nred && a->op == X_VAR && a == b; k++)
        if (q->s->u.stage.red[k] == a->u.var) return q->of_a = of_a, q->of_b = of_b, a->u.var;
    return NULL;
}
/* The channels, which are axis 1 of both operands, or the cells of a's rows. NULL: neither is summed. */
static const struct var *channel_of(struct sums *q) {
    int na = q->p.a.read->n - q->p.a.read->has_fill, nb = q->p.b.read->n;
    const struct var *v = na >= 3 && nb == na ? summed_over(q, 1, 1) : NULL;
    q->rows = !v && na && q->s->u.stage.nred == 1;
    for (int k = 0; q->rows && !v && k < nb; k++) v = summed_over(q, na - 1, k);
    return v;
}
/* ---- how it is multiplied: as integers, as a micro-kernel of the machine, or in floats, which represent integers up
 * to EXACT */
/* The constant sum of value, which reads b, over the axes of the result that it depends on. */
static const struct tensor *over_sum(struct sums *q, expr value, expr *at, int *n) {
    struct ctx *c = q->c;
    const struct stmt *s = q->s;
    const struct var *axes[32];
    *n = 0;
    for (int k = 0; k < s->u.stage.naxes; k++) {
        if (!(q->p.b.axes >> k & 1)) continue;
        axes[*n] = s->u.stage.axes[k], at[*n] = x_var(c, axes[*n]), ++*n;
    }
    return stage_constant(c, I32, axes, *n, RED_SUM, s->u.stage.red, s->u.stage.nred, value);
}
static double largest(const struct tensor *t) {
    int64_t lo, hi;
    tensor_range(t, &lo, &hi);
    return fmax(fabs((double)lo), fabs((double)hi));
}
/* A part of the sum, along its first axis. */
struct part {
    const struct var *v, **red; /* of its own */
    int64_t from;               /* where it begins along that axis */
};
static struct part part_of(const struct sums *q, int k, int n) {
    struct ctx *c = q->c;
    const struct stmt *s = q->s;
    const struct var *all = s->u.stage.red[0];
    int64_t from = const_extent(all) * k / n, to = const_extent(all) * (k + 1) / n;
    const struct var *v = var_new(c, all->name, x_int(c, to - from)),
                     **red = arena_copy(&c->arena, s->u.stage.red, (size_t)s->u.stage.nred * sizeof *red);
    red[0] = v;
    return (struct part){v, red, from};
}
/* The dim of b' that is the sum's first axis; -1: none, so parts of the sum are not slices of b'. */
static int dim_of_parts(const struct sums *q) {
    expr read = q->p.b.read;
    int found = -1;
    for (int d = 0; d < read->n; d++) {
        if (!x_uses_var(q->c, read->arg[d], q->s->u.stage.red[0])) continue;
        if (found >= 0 || read->arg[d]->op != X_VAR) return -1;
        found = d;
    }
    return found;
}
/* The greatest magnitude that a partial sum can have if a's values are at most `most`. */
static double largest_sum(struct sums *q, const struct tensor *whole, double most) {
    struct ctx *c = q->c;
    expr at[32], read = q->p.b.read;
    int n;
    struct buf *b = constant_buf(c, proc_new(c, "shape"), "w", whole);
    const struct tensor *t = over_sum(q, x_un(c, X_ABS, x_load(c, b, read->arg, read->n, NULL)), at, &n);
    return t ? largest(t) * most : INFINITY;
}
static double largest_positive(struct sums *q, const struct tensor *whole, double most) {
    struct ctx *c = q->c;
    double sum = 0;
    expr at[32], read = q->p.b.read;
    int n;
    struct buf *b = constant_buf(c, proc_new(c, "shape"), "w", whole);
    for (int less = 0; less < 2; less++) {
        expr w = x_load(c, b, read->arg, read->n, NULL);
        const struct tensor *t = over_sum(q, x_max(c, less ? x_un(c, X_NEG, w) : w, x_const_i(c, I32, 0)), at, &n);
        sum = fmax(sum, t ? largest(t) : INFINITY);
    }
    return sum * most;
}
/* Cycles of one product. Without vectors nothing hides the loads. */
static double cycles_of_product(const struct sums *q, enum dtype t) {
    const struct machine *m = q->at->m;
    const struct operation *op = machine_multiply_add(m, t), *load = machine_op(m, X_LOAD, F32);
    if (!op || !load) return INFINITY;
    int lanes = machine_lanes(m, t);
    double loads = lanes < 2 ? 1 / load->starts : 0;
    while (q->group % lanes) lanes /= 2;
    return 1 / op->starts / lanes + loads;
}
enum { COPY = 2 };       /* cycles to copy a cell, or a vector */
enum { MOST_PARTS = 4 }; /* of one sum */
/* Cycles to copy that many cells of a to type t; none if they are stored in it already. */
static double cycles_of_copy(const struct sums *q, enum dtype t, double cells) {
    if (t == q->a || q->asked || q->at->stored(q->at->env, q->p.a.read->u.buf)->type == t) return 0;
    return cells * COPY / machine_lanes(q->at->m, F32);
}
/* Cycles to read the weights. If they take less than half of the second level of cache, they are still there from the
 * last run. */
static double cycles_of_weights(const struct sums *q, enum dtype t) {
    const struct machine *m = q->at->m;
    int64_t bytes = tensor_count(q->p.b.read->u.buf->data) * dtype_bytes(t);
    return (double)bytes * (2 * bytes < m->l2.bytes ? m->l1.byte : m->memory_byte);
}
static double cycles_in_floats(const struct sums *q, double products, double cells) {
    return products * cycles_of_product(q, F32) + cycles_of_copy(q, F32, cells) + cycles_of_weights(q, F32);
}
static int64_t in_groups(int64_t n, const struct micro *k) { return (n + k->k0 - 1) / k->k0 * k->k0; }
/* Must the channels (0: there are none) be laid out anew, in whole groups? */
static bool must_group(const struct sums *q, const struct micro *k, int64_t channels) {
    bool beside = q->rows || q->at->layout(q->at->env, q->p.a.read->u.buf).block;
    return channels && (channels % k->k0 || !beside);
}
static double cycles_with(const struct sums *q, const struct micro_speed *s, int64_t channels, double products,
                          double cells) {
    const struct micro *k = s->micro;
    double more = channels ? (double)in_groups(channels, k) / (double)channels : 1;
    double once = q->rows ? machine_lanes(q->at->m, F32) : 1; /* cells that are copied at once */
    double copy = must_group(q, k, channels) ? cells * more * COPY / once : cycles_of_copy(q, k->a, cells);
    double sums = micro_sums(q->at->m, k, typical_cells(q->c, q->s->u.stage.axes, q->s->u.stage.naxes, 1));
    return products * more / micro_products(q->at->m, s) + copy + sums + cycles_of_weights(q, k->b);
}
/* In each group of channels, the sum consists of whole steps of the micro-kernel from its beginning. */
static bool sums_groups(const struct sums *q, const struct micro *k) {
    expr a = q->p.a.read;
    for (int r = 0; r < q->s->u.stage.nred && a->n - a->has_fill >= 2; r++) {
        const struct var *v = q->s->u.stage.red[r];
        if (x_uses_var(q->c, a->arg[1], v) && sums_whole_blocks(q->c, a->arg[1], v, k->k0)) return true;
    }
    return k->k0 == 1;
}
/* Channels lie side by side, and neither lanes nor steps cross from one group of channels into the next, unless the
 * micro-kernel gives each group its own lanes. */
static bool fits_groups(const struct sums *q, const struct micro *k) {
    if (!q->group) return !k->per;
    bool beside = k->k0 == 1 || q->at->layout(q->at->env, q->p.a.read->u.buf).block;
    bool lanes = k->per ? q->group == k->per : q->group % (k->n0 ? k->n0 : 1) == 0;
    return beside && lanes && sums_groups(q, k);
}
/* The micro-kernel that takes the fewest cycles for such weights, with a as it is or converted; NULL: there is none.
 * *cycles: of all products and what they need. */
static const struct micro_speed *micro_for(const struct sums *q, int64_t channels, double products, double cells,
                                           double *cycles) {
    const struct micro_speed *best = NULL;
    *cycles = INFINITY;
    for (int as_it_is = 1; as_it_is >= 0 && !best; as_it_is--)
        for (const struct micro_speed *m = q->at->m->micros; m && m->micro; m++) {
            if (m->micro->sum != I32 || !multiplies(m->micro, q) || (as_it_is && m->micro->a != q->a)) continue;
            if (!fits_groups(q, m->micro)) continue;
            double now = cycles_with(q, m, channels, products, cells);
            if (now < *cycles) *cycles = now, best = m;
        }
    return best;
}
/* The greatest magnitude of a partial sum of this part. */
static double largest_partial(const struct sums *q, const struct part *p, const struct tensor *whole) {
    struct ctx *c = q->c;
    const struct stmt *s = q->s;
    struct sums of = *q;
    expr at = x_addi(c, x_var(c, p->v), p->from);
    of.s = s_stage(c, s->u.stage.buf, s->u.stage.axes, s->u.stage.naxes, RED_SUM, p->red, s->u.stage.nred, NULL,
                   s->u.stage.value);
    of.p.b.read = x_subst1(c, q->p.b.read, s->u.stage.red[0], at);
    double most = largest_sum(&of, whole, q->a == U8 ? 255 : 128);
    return q->a == U8 && 2 * most >= EXACT ? largest_positive(&of, whole, 255) : most;
}
static double largest_in_parts(struct sums *q, const struct tensor *whole) {
    double most = 0;
    for (int k = 0; k < q->parts; k++) {
        struct part p = part_of(q, k, q->parts);
        most = fmax(most, largest_partial(q, &p, whole));
    }
    return most;
}
/* How many parts still pay, if `cycles` can be spent: all but the last are written and read again. */
static int most_parts(const struct sums *q, double cycles) {
    const struct stmt *s = q->s;
    double each = COPY * typical_cells(q->c, s->u.stage.axes, s->u.stage.naxes, 1);
    double turns = (double)const_extent(s->u.stage.red[0]), most = 1 + cycles / each;
    return dim_of_parts(q) < 0 ? 1 : (int)fmax(1, fmin(fmin(most, turns), MOST_PARTS));
}
/* Multiplies in floats if all partial sums are exact. a is converted first, except for windows, which gain nothing from
 * it. cycles: what that saves. */
static bool take_floats(struct sums *q, const struct tensor *whole, double cycles) {
    bool copied = q->p.cls == PROBLEM_CONTRACTION;
    int most = most_parts(q, cycles);
    for (q->parts = 1; q->parts <= most; q->parts++) {
        q->most = largest_in_parts(q, whole), q->in_floats = q->most < EXACT;
        if (q->in_floats) break;
    }
    if (q->in_floats && (copied || cycles_of_copy(q, F32, 1) == 0)) q->a = F32;
    return q->in_floats;
}
static double products_of(const struct sums *q) {
    const struct stmt *s = q->s;
    return typical_cells(q->c, s->u.stage.axes, s->u.stage.naxes, 1) *
           typical_cells(q->c, s->u.stage.red, s->u.stage.nred, 1);
}
/* Nobody outside of the kernel reads the sum as integers. */
static bool is_inside(const struct sums *q) { return q->at->k->nresults == 1 && q->at->k->out != q->s; }
/* *type: of the weights. */
static void choose_method(struct sums *q, const struct tensor *whole, enum dtype *type) {
    const struct buf *a = q->p.a.read->u.buf;
    const struct machine *m = q->at->m;
    bool summed = q->p.cls == PROBLEM_CONTRACTION; /* sums over channels */
    const struct var *channel = channel_of(q);
    int64_t n = channel ? const_extent(channel) : 0;
    double products = products_of(q), cells = typical_size(q->c, a->logical, a->nlogical, 1);
    double micro = INFINITY, plain = INFINITY, floats = INFINITY;
    const struct micro_speed *s = summed ? micro_for(q, n, products, cells, &micro) : NULL;
    if (!m->gpu) plain = products * cycles_of_product(q, I32) + cycles_of_weights(q, I8);
    if (!m->gpu && is_inside(q) && (summed || machine_lanes(m, F32) > 1 || cycles_of_copy(q, F32, 1) == 0))
        floats = cycles_in_floats(q, products, summed ? cells : 0);
    if (floats < micro && floats < plain && take_floats(q, whole, fmin(micro, plain) - floats)) return;
    if (!s || plain < micro) return;
    const struct micro *k = s->micro;
    int64_t within[2];
    if (dtype_is_byte(k->a) && k->a != q->a) q->moved = k->a == U8 ? 128 : -128;
    *type = k->b, q->a = k->a;
    if (micro_within(k, &within[0], &within[1])) q->within = arena_copy(&q->c->arena, within, sizeof within);
    if (must_group(q, k, n)) q->channel = channel, q->channels = in_groups(n, k);
}
/* b' = b[at] - zb, with variables of its own. */
static const struct tensor *centered(struct sums *q, const struct var **dims, expr *at, expr *zb, expr *value) {
    struct ctx *c = q->c;
    struct buf *b = q->p.b.read->u.buf;
    vars_over(c, "d", b->logical, b->nlogical, dims, at);
    if (!over_dims(q, dims, zb)) return NULL;
    *value = x_sub(c, x_load(c, b, at, b->nlogical, NULL), *zb);
    return is_integer_zero(*zb) ? b->data : over_weights(q, I32, dims, *value);
}
/* Chooses how to multiply, and gives the weights as a constant of *type, equal to *value; NULL: not rewritten. */
static const struct tensor *chosen(struct sums *q, const struct var **dims, expr *at, expr *zb, expr *value,
                                   enum dtype *type) {
    const struct tensor *whole = centered(q, dims, at, zb, value);
    if (!whole) return NULL;
    tensor_range(whole, &q->least, &q->greatest);
    *type = type_for(q, q->p.b.read->u.buf->type);
    q->a = q->p.a.read->u.buf->type;
    choose_method(q, whole, type);
    return whole;
}
static bool center_weights(struct sums *q) {
    struct ctx *c = q->c;
    struct buf *b = q->p.b.read->u.buf;
    const struct var *dims[32];
    expr at[32], zb, value;
    enum dtype type;
    const struct tensor *whole = chosen(q, dims, at, &zb, &value, &type);
    if (!whole) return false;
    if (q->channel) { /* zeros after the last one */
        const struct var *more = var_new(c, dims[q->of_b]->name, x_int(c, q->channels));
        expr inside = x_cmp(c, X_LT, x_var(c, more), b->logical[q->of_b]);
        at[q->of_b] = x_var(c, more);
        value =
            x_sub(c, x_load(c, b, at, b->nlogical, x_const_i(c, I32, 0)), x_subst1(c, zb, dims[q->of_b], at[q->of_b]));
        value = x_select(c, inside, value, x_const_i(c, I32, 0));
        dims[q->of_b] = more;
    }
    bool same = whole == b->data && type == b->type && !q->channel;
    q->weights = same ? whole : over_weights(q, type, dims, value);
    return q->weights != NULL;
}
/* sum b' over the axes of the result that it depends on, in the type of the sum. */
static expr sum_of_weights(struct sums *q) {
    struct ctx *c = q->c;
    expr at[32], read = q->p.b.read;
    int n;
    const struct tensor *t = over_sum(q, x_load(c, q->b, read->arg, read->n, NULL), at, &n);
    return t ? x_load(c, constant_buf(c, q->at->entry, "sums", t), at, n, NULL) : NULL;
}

/* ---- copies of a in another type, or with more channels */
/* The copy has the layout of a, but channels that were too few for a block lie side by side now. */
static struct buf *move_operand(struct sums *q) {
    struct ctx *c = q->c;
    struct buf *from = q->p.a.read->u.buf;
    const struct var *axes[32];
    expr dims[32], at[32];
    for (int k = 0; k < from->nlogical; k++) dims[k] = from->logical[k];
    if (q->channel) dims[q->of_a] = x_int(c, q->channels);
    vars_over(c, "i", dims, from->nlogical, axes, at);
    bool more = q->channel && dims[q->of_a] != from->logical[q->of_a];
    expr behind = more ? x_const_i(c, I32, 0) : NULL; /* cells that only the copy has */
    expr value = plus(c, x_load(c, from, at, from->nlogical, behind), q->moved);
    if (q->a == F32) value = x_cast(c, F32, value);
    algorithm_part(q->at, q->out, "its operand, in the type that the machine multiplies");
    struct buf *to = algorithm_stage(q->at, q->out, "moved", q->a, axes, from->nlogical, RED_NONE, NULL, 0, value);
    q->at->lay_out(q->at->env, to, from, q->moved, q->channel && !q->rows ? (int)q->channels : 0);
    algorithm_between(q->at, q->out, to);
    return to;
}
/* Extends the sum to the padded channels. */
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

/* Are the operands of these types, and the weights within the limits, if there are any? These are noted then. */
static bool takes_as_they_are(struct sums *q, const struct micro *m) {
    struct buf *b = q->p.b.read->u.buf;
    int64_t range[2], limits[2];
    if (m->fields || m->a != q->p.a.read->u.buf->type || m->b != b->type) return false;
    if (!micro_within(m, &limits[0], &limits[1])) return true;
    if (!b->data) return false;
    tensor_range(b->data, &range[0], &range[1]);
    if (range[0] < limits[0] || range[1] > limits[1]) return false;
    b->within = arena_copy(&q->c->arena, limits, sizeof limits);
    return true;
}
/* Is the sum one of a block, which the machine has a row of instructions for as its operands are? See
 * lower/schedule/block_sums.c: copies of them in another type would only be larger. */
static bool stays_as_it_is(struct sums *q) {
    bool of_block = false;
    for (const struct stmt *t = q->at->stmts->first; t; t = t->next) of_block |= t->kind == S_STAGE && adds_up(t, q->s);
    for (const struct micro_speed *m = q->at->m->blocks; of_block && m && m->micro; m++)
        if (takes_as_they_are(q, m->micro)) return true;
    return false;
}
static bool is_one(struct sums *q) {
    struct ctx *c = q->c;
    const struct stmt *s = q->s;
    if (s->u.stage.op != RED_SUM || s->u.stage.buf->type != I32) return false;
    stage_problem(c, q->s, &q->p);
    if (!q->p.product || q->p.indirect || q->p.guarded) return false;
    expr a = q->p.a.read, b = q->p.b.read;
    if (!is_constant(b->u.buf) || b->has_fill || !dtype_is_byte(a->u.buf->type) || !dtype_is_byte(b->u.buf->type))
        return false;
    if (stays_as_it_is(q)) return false;
    for (int k = 0; k < s->u.stage.nred; k++)
        if (const_extent(s->u.stage.red[k]) < 0) return false;
    int axis = problem_group_axis(c, &q->p);
    q->group = axis < 0 ? 0 : shared_neighbours(c, a, s->u.stage.axes[axis]);
    q->za = operand_shift(c, &q->p, &q->p.a), q->zb = operand_shift(c, &q->p, &q->p.b);
    return q->za && q->zb && a->u.buf->scope != SC_CONST;
}
/* ---- in floats */
struct reader {
    struct ctx *c;
    const struct stmt *s;
    const struct buf *old;
    struct buf *part[MOST_PARTS]; /* where each part's result is now */
    int nparts;
    expr first; /* initial value of the sum, over the axes of s; NULL: 0 */
};
/* A part's result as an integer. The clamp changes nothing, but proves that it is within EXACT and not NaN. */
static expr read_part(struct reader *r, int k, expr e) {
    struct ctx *c = r->c;
    expr v = x_load(c, r->part[k], e->arg, e->n, NULL);
    return x_cast(c, I32, x_min(c, x_max(c, v, x_num(c, F32, -EXACT)), x_num(c, F32, EXACT)));
}
/* Replaces reads of the sum by those of its parts; conversions are exact. */
static expr read_whole(void *env, expr e) {
    struct reader *r = env;
    struct ctx *c = r->c;
    struct subst at = {{.arena = &c->arena}};
    if (!r->first && r->nparts == 1 && e->op == X_CAST && e->type == F32 && e->arg[0]->op == X_LOAD &&
        e->arg[0]->u.buf == r->old)
        return x_load(c, r->part[0], e->arg[0]->arg, e->arg[0]->n, NULL);
    if (e->op != X_LOAD || e->u.buf != r->old) return NULL;
    expr v = read_part(r, 0, e);
    for (int k = 1; k < r->nparts; k++) v = x_add(c, v, read_part(r, k, e));
    for (int k = 0; k < r->s->u.stage.naxes; k++) map_put(&at.map, PKEY(r->s->u.stage.axes[k]), (void *)e->arg[k]);
    return r->first ? x_add(c, v, x_subst(c, r->first, &at)) : v;
}
/* The initial value in floats; NULL: it must be added afterwards, as integers. */
static expr first_in_floats(struct sums *q) {
    struct ctx *c = q->c;
    expr first = fold_constant_parts(c, q->at->entry, q->s, q->s->u.stage.init);
    const struct tensor *t = first->op == X_LOAD ? first->u.buf->data : NULL;
    double most = t ? largest(t) : first->op == X_CONST ? fabs((double)first->u.i) : INFINITY;
    if (q->most + most >= EXACT) return NULL;
    if (!t) return x_num(c, F32, (double)first->u.i);
    return x_load(c, constant_buf(c, q->at->entry, "first", tensor_as(c, t, F32)), first->arg, first->n, NULL);
}
/* The product that the part sums; a: as the whole sum reads it. */
static expr product_of_part(struct sums *q, const struct part *p, expr a) {
    struct ctx *c = q->c;
    const struct var *all = q->s->u.stage.red[0];
    const struct tensor *t = q->b->data;
    expr b = q->p.b.read, at[32];
    t = q->parts > 1 ? tensor_slice_as(c, t, F32, dim_of_parts(q), p->from, const_extent(p->v)) : tensor_as(c, t, F32);
    struct buf *w = constant_buf(c, q->at->entry, q->b->name, t);
    for (int d = 0; d < b->n; d++) at[d] = x_subst1(c, b->arg[d], all, x_var(c, p->v));
    a = x_subst1(c, a, all, x_addi(c, x_var(c, p->v), p->from));
    return x_mul(c, a->type == F32 ? a : x_cast(c, F32, a), x_load(c, w, at, b->n, NULL));
}
/* Makes the part's kernel and the buffer of its result. */
static struct buf *sum_of_part(struct sums *q, const struct part *p, expr product) {
    struct ctx *c = q->c;
    const struct stmt *s = q->s;
    int n = s->u.stage.naxes;
    const struct var **axes[2] = {NEWN(&c->arena, const struct var *, n + 1),
                                  NEWN(&c->arena, const struct var *, n + 1)};
    expr at[32];
    algorithm_part(q->at, q->out, "a part of its sum, which floats hold");
    product = algorithm_own_axes(q->at, s, product, axes[0], at);
    struct buf *acc = algorithm_stage(q->at, q->out, "acc", F32, axes[0], n, RED_SUM, p->red, s->u.stage.nred, product);
    algorithm_own_axes(q->at, s, product, axes[1], at);
    struct buf *made =
        algorithm_stage(q->at, q->out, "part", F32, axes[1], n, RED_NONE, NULL, 0, x_load(c, acc, at, n, NULL));
    algorithm_between(q->at, q->out, made);
    return made;
}
/* The last part is computed where the sum was. */
static void sum_in_floats(struct sums *q, struct block *stages, expr a) {
    struct ctx *c = q->c;
    struct stmt *s = q->s;
    struct part parts[MOST_PARTS];
    expr product[MOST_PARTS];
    for (int k = 0; k < q->parts; k++)
        parts[k] = part_of(q, k, q->parts), product[k] = product_of_part(q, &parts[k], a);
    struct buf *old = s->u.stage.buf,
               *now = buf_new(c, q->at->entry, old->base, F32, old->scope, old->logical, old->nlogical);
    expr first = s->u.stage.init ? first_in_floats(q) : NULL;
    struct reader r = {c, s, old, {now}, q->parts, first ? NULL : s->u.stage.init};
    for (struct stmt *t = stages->first; t; t = t->next)
        if (t->kind == S_ALLOC && t->u.alloc.buf == old) t->u.alloc.buf = now;
    int last = q->parts - 1;
    for (int k = 0; k < last; k++) r.part[k + 1] = sum_of_part(q, &parts[k], product[k]);
    s->u.stage.buf = now, s->u.stage.init = first, s->u.stage.red = parts[last].red, s->u.stage.value = product[last];
    map_exprs(c, stages, read_whole, &r);
    proc_drop_buf(q->at->entry, old);
}

/* Rewrites the stage to sum a b' only, with the zero point's part as initial value. */
static void rewrite(struct sums *q, struct block *stages) {
    struct ctx *c = q->c;
    struct stmt *s = q->s;
    struct buf *from = q->p.a.read->u.buf;
    expr sums = NULL;
    if (!center_weights(q)) return;
    if (q->channel) sum_more(q);
    expr a = q->p.a.read, b = q->p.b.read, fill = a->has_fill ? a->arg[a->n - 1] : NULL;
    q->b = q->weights == b->u.buf->data ? b->u.buf : constant_buf(c, q->at->entry, b->u.buf->name, q->weights);
    if (q->within) q->b->within = q->within;
    expr za = plus(c, q->za, q->moved);
    if (!is_integer_zero(za) && !(sums = sum_of_weights(q))) return;
    struct buf *stored = q->at->stored(q->at->env, from);
    if (q->a == stored->type && !q->channel && !q->moved) from = stored;
    else if (q->a != stored->type || q->channel) from = move_operand(q);
    if (fill) fill = plus(c, fill, q->moved);
    if (fill && q->a == F32) fill = x_cast(c, F32, fill);
    expr x = x_load(c, from, a->arg, a->n - a->has_fill, fill), w = x_load(c, q->b, b->arg, b->n, NULL);
    expr first = s->u.stage.init ? s->u.stage.init : x_const_i(c, I32, 0);
    if (sums) s->u.stage.init = x_sub(c, first, x_mul(c, za, sums));
    if (q->in_floats) sum_in_floats(q, stages, x);
    else s->u.stage.value = x_mul(c, x, w);
}
/* Folds what the stages compute from constants alone, of scales and of the sum's initial value. */
static void fold_parts(const struct algorithm_query *at, struct block *stages) {
    for (struct stmt *s = stages->first; s; s = s->next) {
        if (s->kind != S_STAGE) continue;
        s->u.stage.value = fold_constant_parts(at->c, at->entry, s, s->u.stage.value);
        if (s->u.stage.init) s->u.stage.init = fold_constant_parts(at->c, at->entry, s, s->u.stage.init);
    }
}
enum dtype integer_sums_wants(const struct algorithm_query *q, const struct buf *b) {
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        struct sums u = {.at = q, .c = q->c, .s = s, .asked = true};
        const struct var *dims[32];
        expr at[32], zb, value;
        if (s->kind != S_STAGE || !is_one(&u) || u.p.a.read->u.buf != b) continue;
        enum dtype type;
        if (chosen(&u, dims, at, &zb, &value, &type) && u.a != b->type && !u.moved && !u.channel) return u.a;
    }
    return NONE;
}
const char *integer_sums_refuse(const struct algorithm_query *q, const struct algorithm *row) {
    (void)row;
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        struct sums u = {.at = q, .c = q->c, .s = s};
        if (s->kind == S_STAGE && is_one(&u)) return NULL;
    }
    return "";
}
/* The range of b'. Its cells are computed only if zero points differ, since weights are many. */
static void find_range(struct sums *q) {
    const struct var *dims[32];
    expr at[32], zb, value;
    struct x_range z = x_range(q->zb);
    const struct tensor *t = z.lo == z.hi ? q->p.b.read->u.buf->data : centered(q, dims, at, &zb, &value);
    q->least = INT16_MIN, q->greatest = INT16_MAX;
    if (!t) return;
    tensor_range(t, &q->least, &q->greatest);
    if (z.lo == z.hi) q->least -= (int64_t)z.lo, q->greatest -= (int64_t)z.lo;
}
/* Cycles of the machine's fastest way that is correct for b'. */
static double fastest(struct sums *q) {
    double products = products_of(q), least = INFINITY;
    bool known = false;
    for (const struct micro_speed *m = q->at->m->micros; m && m->micro; m++) {
        int64_t lo, hi;
        if (m->micro->sum != I32) continue;
        if (!known && micro_within(m->micro, &lo, &hi)) find_range(q), known = true;
        if (within_limits(m->micro, q)) least = fmin(least, products / micro_products(q->at->m, m));
    }
    return least;
}
/* Not less than half of the direct algorithm: at best each step of a sum becomes cheaper. */
double integer_sums_cycles(const struct algorithm_query *q, const struct algorithm *row) {
    double half = algorithm_rows[0].cycles(q, &algorithm_rows[0]) / 2, sum = 0;
    (void)row;
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        struct sums u = {.at = q, .c = q->c, .s = s};
        if (s->kind == S_STAGE && is_one(&u)) sum += fastest(&u);
    }
    return fmin(half, sum);
}
bool integer_product(const struct algorithm_query *q, struct stmt *s, struct integer_product *out) {
    struct sums u = {.at = q, .c = q->c, .s = s};
    const struct var *dims[32];
    expr at[32], zb, value;
    if (!is_one(&u)) return false;
    *out = (struct integer_product){.za = u.za, .w = centered(&u, dims, at, &zb, &value)};
    if (!out->w) return false;
    double lo = u.p.a.read->u.buf->type == U8 ? 0 : -128, za = u.za->op == X_CONST ? (double)u.za->u.i : NAN;
    out->most_a = isnan(za) ? 255 : fmax(fabs(lo - za), fabs(lo + 255 - za));
    out->most_b = largest(out->w);
    out->most_sum = largest_sum(&u, out->w, out->most_a);
    return true;
}
void integer_sums_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out) {
    (void)row;
    for (struct stmt *s = q->stmts->first; s; s = s->next) {
        struct sums u = {.at = q, .out = out, .c = q->c, .s = s};
        if (s->kind == S_STAGE && is_one(&u)) rewrite(&u, q->stmts);
    }
    fold_parts(q, q->stmts);
    algorithm_part(q, out, NULL);
    algorithm_rest(q, out, NULL);
}
