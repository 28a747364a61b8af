/* Phases: a transposed convolution with strides s sums, for each of its results, the taps of one phase (g + off) % s:
 *
 *     y[n,g] = sum over ic, r of x[ic, (g + off) / s - r] * w[ic, n, r s + (g + off) % s]
 *
 * so neighbours share no weights. With the phases as channels it is a convolution like others, of fewer cells,
 *
 *     t[p N + n, q] = sum over ic, r of x[ic, q - r] * w[ic, n, r s + p],    y[n,g] = t[(g + off) % s N + n, (g + off)
 * / s]
 *
 * (in groups of channels, the phases are channels of each group) and a part of its own puts the phases in their places,
 * with what follows the sum. (Shi et al., Is the deconvolution layer the same as a convolutional layer?, 2016) Taps
 * that no phase has are zeros, in the definition, too. */
#include "lower/algorithm/constants.h"
#include "lower/algorithm/rows.h"
#include <math.h>

enum { MOST_DIMS = 3, FIRST = 2 /* FIRST: the first spatial axis */ };
struct phases {
    int dims;
    int64_t stride[MOST_DIMS], off[MOST_DIMS], taps[MOST_DIMS]; /* of each axis */
    int64_t channels, all;                                      /* of the result; the same times their phases */
    int64_t group, read, phases;                                /* channels of a group: of the result, of the operand */
};
/* Channels of t lie group by group, and in these phase by phase. Of such a channel: its group, its phase, and where it
 * is in the result, or in its group alone. */
static expr group_of(struct ctx *c, const struct phases *p, expr oc) { return x_divi(c, oc, p->phases * p->group); }
static expr phase_of(struct ctx *c, const struct phases *p, expr oc) {
    return x_modi(c, x_divi(c, oc, p->group), p->phases);
}
static expr channel_in_group(struct ctx *c, const struct phases *p, expr oc) { return x_modi(c, oc, p->group); }
static expr channel_of(struct ctx *c, const struct phases *p, expr oc) {
    return x_add(c, x_muli(c, group_of(c, p, oc), p->group), channel_in_group(c, p, oc));
}
/* The operand's channel that the tap ic of a group reads. */
static expr read_channel(struct ctx *c, const struct phases *p, expr group, expr ic) {
    return x_add(c, ic, x_muli(c, group, p->read));
}
static bool at_zero(struct ctx *c, expr e, const struct var *v, int64_t *value) {
    return x_is_int(x_subst1(c, e, v, x_int(c, 0)), value);
}
static bool equal(struct ctx *c, expr a, expr b) { return x_is(x_sub(c, a, b), 0); }
/* Are index x of the operand and index w of the weights those of the formula above, for the result's g and the tap
 * r? */
static bool phase_axis(struct ctx *c, expr x, expr w, const struct var *g, const struct var *r, struct phases *p) {
    int d = p->dims;
    int64_t first, phase;
    if (const_extent(r) < 1) return false;
    expr from = x_add(c, x, x_var(c, r)), tap = x_subst1(c, w, g, x_int(c, 0));
    expr step = x_sub(c, x_subst1(c, tap, r, x_int(c, 1)), x_subst1(c, tap, r, x_int(c, 0)));
    if (!at_zero(c, from, g, &first) || !at_zero(c, tap, r, &phase) || !x_is_int(step, &p->stride[d])) return false;
    if (first < 0 || phase < 0 || p->stride[d] < 1 || p->stride[d] > 64) return false;
    p->off[d] = first * p->stride[d] + phase, p->taps[d] = const_extent(r);
    expr moved = x_addi(c, x_var(c, g), p->off[d]);
    return equal(c, from, x_divi(c, moved, p->stride[d])) &&
           equal(c, w, x_add(c, x_muli(c, x_var(c, r), p->stride[d]), x_modi(c, moved, p->stride[d])));
}
/* Read as it is, or converted. */
static bool is_read(const struct operand *o) {
    return o->read && !o->made && (o->value == o->read || (o->value->op == X_CAST && o->value->arg[0] == o->read));
}
static bool is_zero(struct ctx *c, expr e) { return e == x_num(c, (enum dtype)e->type, 0); }
static bool find_phases(const struct algorithm_query *q, struct phases *p) {
    const struct problem *k = q->k;
    *p = (struct phases){0};
    if (!k || !k->product || !k->sum || !is_read(&k->a) || !is_read(&k->b)) return false;
    const struct var **o = k->sum->u.stage.axes, **r = k->sum->u.stage.red;
    expr x = k->a.read, w = k->b.read;
    int dims = k->sum->u.stage.naxes - FIRST;
    if (dims < 1 || dims > MOST_DIMS || k->sum->u.stage.nred != dims + 1) return false;
    if (x->n - x->has_fill != dims + FIRST || w->n - w->has_fill != dims + FIRST) return false;
    if ((x->has_fill && !is_zero(q->c, x->arg[x->n - 1])) || (w->has_fill && !is_zero(q->c, w->arg[w->n - 1])))
        return false;
    p->channels = const_extent(o[1]), p->read = const_extent(r[0]);
    if (p->channels < 1 || p->read < 1 || !x_is_int(w->u.buf->logical[1], &p->group) || p->group < 1) return false;
    expr oc = x_var(q->c, o[1]), ic = x_var(q->c, r[0]);
    if (p->group < p->channels) {
        ic = read_channel(q->c, p, x_divi(q->c, oc, p->group), ic);
        oc = channel_in_group(q->c, p, oc);
    }
    if (!is_var(x->arg[0], o[0]) || !equal(q->c, x->arg[1], ic) || !equal(q->c, w->arg[0], ic) ||
        !equal(q->c, w->arg[1], oc))
        return false;
    p->phases = 1;
    for (; p->dims < dims; p->dims++) {
        int d = p->dims + FIRST;
        if (!phase_axis(q->c, x->arg[d], w->arg[d], o[d], r[d - 1], p)) return false;
        p->phases *= p->stride[p->dims];
    }
    p->all = p->phases * p->channels;
    return p->phases > 1;
}
/* The initial value of the sum for each channel, if it depends on the axis of channels alone. NULL: there is none. */
static expr beginning_at(const struct algorithm_query *q, expr channel, bool *ok) {
    const struct stmt *s = q->k->sum;
    expr init = s->u.stage.init;
    *ok = true;
    if (!init || is_zero(q->c, init)) return NULL;
    expr value = x_subst1(q->c, init, s->u.stage.axes[1], channel);
    for (int k = 0; k < s->u.stage.naxes; k++) *ok &= !x_uses_var(q->c, value, s->u.stage.axes[k]);
    return value;
}
const char *phases_refuse(const struct algorithm_query *q, const struct algorithm *row) {
    struct phases p;
    bool ok;
    (void)row;
    if (!find_phases(q, &p)) return "";
    /* one cell after the other a fifth is saved, for which t is too much memory; but in groups more than half */
    if (q->m->gpu || (machine_lanes(q->m, F32) < 4 && p.group == p.channels)) return "for CPUs with vectors";
    beginning_at(q, x_int(q->c, 0), &ok);
    return ok ? NULL : "the sum begins with what is not each channel's";
}

/* ---- what it costs */
/* Cells of each channel of t; axes of unknown size count, too. */
static double cells_of(const struct algorithm_query *q, const struct phases *p) {
    double n = typical_axis(q->c, q->k->sum, 0);
    for (int d = 0; d < p->dims; d++)
        n *= ceil((typical_axis(q->c, q->k->sum, d + FIRST) + (double)(p->off[d] % p->stride[d])) /
                  (double)p->stride[d]);
    return n;
}
static double in_vectors(const struct machine *m, double channels) {
    int lanes = machine_lanes(m, F32);
    return ceil(channels / lanes) * lanes;
}
static double depth_of(const struct algorithm_query *q) {
    return typical_cells(q->c, q->k->sum->u.stage.red, q->k->sum->u.stage.nred, 1);
}
double phases_cycles(const struct algorithm_query *q, const struct algorithm *row) {
    struct phases p;
    (void)row;
    find_phases(q, &p);
    double cells = cells_of(q, &p), all = (double)p.all, moved = typical_result(q->c, q->k->sum);
    return rows_cycles(q->m, cells, in_vectors(q->m, all), depth_of(q)) + bytes_cycles(q->m, 8 * cells * all) +
           (p.channels % machine_lanes(q->m, F32) ? moved : moved / machine_lanes(q->m, F32)) +
           weights_cycles(q->m, all * depth_of(q));
}
double unshared_cycles(const struct algorithm_query *q, double cells, double depth) {
    struct phases p;
    int lanes = machine_lanes(q->m, F32);
    if (!find_phases(q, &p)) return 0;
    if (p.group < p.channels) /* nothing lies along lanes, and each product's places are computed */
        return 2 * cells * depth / machine_multiply_add(q->m, F32)->starts;
    double each = fmax(1 / machine_multiply_add(q->m, F32)->starts, 4 * lanes * q->m->l2.byte);
    return cells / (double)p.channels * in_vectors(q->m, (double)p.channels) * depth / lanes * each;
}

/* ---- the stages */
struct work {
    const struct algorithm_query *q;
    struct rewriting *out;
    struct phases p;
};
/* The weights as [channel of t, ic, taps], taps in reverse order: a window that moves forward. */
static struct buf *constant_weights(const struct work *k) {
    const struct buf *b = k->q->k->b.read->u.buf;
    const struct tensor *of = b->data;
    const struct phases *p = &k->p;
    int64_t dims[MOST_DIMS + FIRST] = {p->all, p->read}, taps = 1, kernel = 1;
    for (int d = 0; d < p->dims; d++) dims[d + FIRST] = p->taps[d], taps *= p->taps[d], kernel *= of->dims[d + FIRST];
    struct tensor *t = tensor_new(&k->q->c->arena, of->type, dims, p->dims + FIRST);
    for (int64_t oc = 0; oc < p->all; oc++)
        for (int64_t tap = 0; tap < taps; tap++) {
            int64_t phase = oc / p->group % p->phases, group = oc / p->group / p->phases, left = tap, from = 0,
                    step = 1;
            bool inside = true;
            for (int d = p->dims; d-- > 0;) {
                int64_t at = (p->taps[d] - 1 - left % p->taps[d]) * p->stride[d] + phase % p->stride[d];
                inside &= at < of->dims[d + FIRST];
                from += at * step, step *= of->dims[d + FIRST];
                left /= p->taps[d], phase /= p->stride[d];
            }
            for (int64_t ic = 0; ic < dims[1]; ic++) {
                int64_t cell = ((group * p->read + ic) * p->group + oc % p->group) * kernel + from;
                tensor_set_f(t, (oc * dims[1] + ic) * taps + tap, inside ? tensor_f(of, cell) : 0);
            }
        }
    return constant_buf(k->q->c, k->q->entry, internf(k->q->c->names, "%s.phases", b->name), t);
}
/* The same for weights computed at run time: the dim of t's channels is last here, along the lanes. */
static struct buf *computed_weights(const struct work *k) {
    struct ctx *c = k->q->c;
    struct buf *b = k->q->k->b.read->u.buf;
    int n = k->p.dims + FIRST;
    const struct var *axes[MOST_DIMS + FIRST], *ic = var_new(c, "ic", k->q->k->sum->u.stage.red[0]->extent),
                                               *oc = var_new(c, "oc", x_int(c, k->p.all));
    expr from[MOST_DIMS + FIRST] = {read_channel(c, &k->p, group_of(c, &k->p, x_var(c, oc)), x_var(c, ic)),
                                    channel_in_group(c, &k->p, x_var(c, oc))};
    expr phase = phase_of(c, &k->p, x_var(c, oc));
    axes[0] = ic, axes[n - 1] = oc;
    for (int d = k->p.dims; d-- > 0;) {
        axes[d + 1] = var_new(c, internf(c->names, "r%d", d), x_int(c, k->p.taps[d]));
        expr tap = x_sub(c, x_int(c, k->p.taps[d] - 1), x_var(c, axes[d + 1]));
        from[d + FIRST] = x_add(c, x_muli(c, tap, k->p.stride[d]), x_modi(c, phase, k->p.stride[d]));
        phase = x_divi(c, phase, k->p.stride[d]);
    }
    algorithm_part(k->q, k->out, "its weights by phases");
    struct buf *w = algorithm_stage(k->q, k->out, "weights", b->type, axes, n, RED_NONE, NULL, 0,
                                    x_load(c, b, from, n, x_num(c, dtype_value(b->type), 0)));
    algorithm_between(k->q, k->out, w);
    return w;
}
/* The initial value of the sums of all phases, for the last part. */
static expr beginning(const struct work *k, const struct var *oc) {
    struct ctx *c = k->q->c;
    const struct var *v = var_new(c, "oc", x_int(c, k->p.all));
    bool ok;
    expr value = beginning_at(k->q, channel_of(c, &k->p, x_var(c, v)), &ok), at = x_var(c, oc);
    enum dtype t = k->q->k->sum->u.stage.buf->type;
    if (!value) return k->q->k->sum->u.stage.init;
    const struct tensor *first = stage_constant(c, t, &v, 1, RED_NONE, NULL, 0, value);
    return x_load(c,
                  first ? constant_buf(c, k->q->entry, "first", first)
                        : algorithm_stage(k->q, k->out, "first", t, &v, 1, RED_NONE, NULL, 0, value),
                  &at, 1, NULL);
}
struct factors {
    const struct problem *of;
    expr a, b; /* replacements for the factors */
};
static expr read_factor(void *env, expr e) {
    const struct factors *f = env;
    return e == f->of->a.read ? f->a : e == f->of->b.read ? f->b : NULL;
}
/* The product of the new sum, at the new axes and taps. */
static expr product(const struct work *k, struct buf *w, const struct var **axes, const struct var **red) {
    struct ctx *c = k->q->c;
    expr x = k->q->k->a.read, from[MOST_DIMS + FIRST], at[MOST_DIMS + FIRST];
    int n = k->p.dims + FIRST, oc = is_constant(w) ? 0 : n - 1, ic = is_constant(w) ? 1 : 0;
    from[0] = x_var(c, axes[0]), at[ic] = x_var(c, red[0]), at[oc] = x_var(c, axes[1]);
    from[1] = read_channel(c, &k->p, group_of(c, &k->p, at[oc]), at[ic]);
    for (int d = 0; d < k->p.dims; d++) {
        int64_t first = k->p.off[d] / k->p.stride[d] - (k->p.taps[d] - 1);
        at[d + ic + 1] = x_var(c, red[d + 1]);
        from[d + FIRST] = x_addi(c, x_add(c, x_var(c, axes[d + FIRST]), at[d + ic + 1]), first);
    }
    struct factors f = {k->q->k, x_load(c, x->u.buf, from, n, x_num(c, (enum dtype)x->type, 0)),
                        x_load(c, w, at, n, NULL)};
    return x_map(c, k->q->k->sum->u.stage.value, read_factor, &f);
}
/* Should t be plain? The vectors of a plain result interleave cells of two phases; out of blocks, cells are moved one
 * by one, which takes as long as a short sum, unless t is in a near cache. With more taps, the convolution itself is
 * slower if plain. */
static bool by_turns(const struct work *k) {
    enum { SHORT = 4 /* cycles of a cell */, BYTES = 4 };
    const struct algorithm_query *q = k->q;
    for (int d = 0; d < k->p.dims; d++)
        if (k->p.taps[d] > 1) return false;
    return k->p.stride[k->p.dims - 1] == 2 && !q->layout(q->env, q->k->out->u.stage.buf).block &&
           rows_cycles(q->m, 1, 1, depth_of(q)) <= SHORT &&
           cells_of(q, &k->p) * (double)k->p.all * BYTES > (double)q->m->l2.bytes;
}
static struct buf *convolution(const struct work *k) {
    struct ctx *c = k->q->c;
    const struct stmt *s = k->q->k->sum;
    struct buf *b = s->u.stage.buf,
               *w = is_constant(k->q->k->b.read->u.buf) ? constant_weights(k) : computed_weights(k);
    const struct var *axes[2][MOST_DIMS + FIRST], *red[MOST_DIMS + 1];
    expr at[MOST_DIMS + FIRST];
    int n = k->p.dims + FIRST, lanes = machine_lanes(k->q->m, F32);
    for (int t = 0; t < 2; t++) {
        axes[t][0] = var_new(c, "n", s->u.stage.axes[0]->extent), axes[t][1] = var_new(c, "oc", x_int(c, k->p.all));
        for (int d = 0; d < k->p.dims; d++) {
            int64_t stride = k->p.stride[d], off = k->p.off[d] % stride;
            expr cells = x_divi(c, x_addi(c, s->u.stage.axes[d + FIRST]->extent, off + stride - 1), stride);
            axes[t][d + FIRST] = var_new(c, s->u.stage.axes[d + FIRST]->name, cells);
        }
    }
    for (int d = 0; d <= k->p.dims; d++) red[d] = var_new(c, s->u.stage.red[d]->name, s->u.stage.red[d]->extent);
    algorithm_part(k->q, k->out, "its phases as channels");
    expr first = beginning(k, axes[0][1]);
    struct buf *acc =
        algorithm_stage(k->q, k->out, "acc", b->type, axes[0], n, RED_SUM, red, n - 1, product(k, w, axes[0], red));
    k->out->parts.v[k->out->parts.n - 1].stmts.last->u.stage.init = first;
    for (int d = 0; d < n; d++) at[d] = x_var(c, axes[1][d]);
    struct buf *t =
        algorithm_stage(k->q, k->out, "phases", b->type, axes[1], n, RED_NONE, NULL, 0, x_load(c, acc, at, n, NULL));
    if (lanes > 1 && k->p.all % lanes == 0 && !by_turns(k)) k->q->lay_out(k->q->env, t, w, 0, lanes);
    algorithm_between(k->q, k->out, t);
    return t;
}
/* Replaces the sum by a read of its phase; the epilogue stays as it is. */
static void replace_sum(const struct work *k, struct buf *t) {
    struct ctx *c = k->q->c;
    const struct var **o = k->q->k->sum->u.stage.axes;
    expr at[MOST_DIMS + FIRST], phase = x_int(c, 0);
    for (int d = 0; d < k->p.dims; d++) {
        int64_t stride = k->p.stride[d];
        expr moved = x_addi(c, x_var(c, o[d + FIRST]), k->p.off[d] % stride);
        phase = x_add(c, x_muli(c, phase, stride), x_modi(c, moved, stride));
        at[d + FIRST] = x_divi(c, moved, stride);
    }
    expr of_group = x_add(c, x_muli(c, x_divi(c, x_var(c, o[1]), k->p.group), k->p.phases), phase);
    at[0] = x_var(c, o[0]);
    at[1] = x_add(c, x_muli(c, of_group, k->p.group), channel_in_group(c, &k->p, x_var(c, o[1])));
    expr value = x_load(c, t, at, k->p.dims + FIRST, NULL);
    algorithm_rest(k->q, k->out, value);
}
void phases_rewrite(const struct algorithm_query *q, const struct algorithm *row, struct rewriting *out) {
    struct work k = {.q = q, .out = out};
    (void)row;
    find_phases(q, &k.p);
    struct buf *t = convolution(&k);
    algorithm_part(q, out, "its results");
    replace_sum(&k, t);
}
