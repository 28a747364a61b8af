/* Products of dequantised operands are computed in integers: a Conv, Gemm or MatMul between DequantizeLinear and
 * QuantizeLinear becomes the operator that takes the bytes themselves, which its row names; without a QuantizeLinear
 * behind it, a sum of integers that is scaled once. Not exact: the sum is not rounded in each step (docs/numbers.md).
 * What only picks cells (a pool of greatest values, a reshape, a concatenation) between the two does so with the bytes,
 * to the same bits. Between inference, which leaves the DequantizeLinear of constants alone, and the algebraic rules.
 */
#include "compiler/graph/passes.h"
#include "ir/graph/op.h"
#include <math.h>
#include <string.h>

/* The quantised side of a DequantizeLinear or QuantizeLinear: bytes, with one scale, or one for each slice along
 * `axis`. */
struct quantity {
    struct value *bytes, *scale, *zero; /* zero NULL: 0 */
    bool each;
    int64_t axis;
};
static bool is_a(const struct node *n, enum op_flags flag) { return n && n->op && n->op->flags & flag; }
static bool is_byte(const struct value *v) { return dtype_is_byte(v->type.dtype); }
/* Bytes, or a constant of fewer bits, which is made one of bytes (`widened`). */
static bool is_like_bytes(const struct value *v, const struct value *zero) {
    enum dtype t = v->type.dtype;
    if (dtype_is_byte(t)) return true;
    return v->init && (!zero || zero->init) && dtype_is_int(t) && dtype_bits(t) < 8 &&
           tensor_bytes(U8, v->init->dims, v->init->rank) >= 0;
}
static bool fits(const struct value *scale, const struct value *zero, enum dtype type) {
    return scale && scale->type.kind == TY_TENSOR && scale->type.dtype == F32 && scale->type.rank <= 1 &&
           (!zero || (zero->type.dtype == type && zero->type.rank <= 1));
}
static bool dequantised(const struct value *v, struct quantity *q) {
    const struct node *n = v ? v->def : NULL;
    if (!is_a(n, OP_DEQUANTIZES) || node_int(n, "block_size") || v->type.dtype != F32) return false;
    *q = (struct quantity){node_in(n, 0), node_in(n, 1), node_in(n, 2), false, 0};
    if (!q->bytes || !is_like_bytes(q->bytes, q->zero) || !fits(q->scale, q->zero, q->bytes->type.dtype)) return false;
    q->each = !type_has_one_element(&q->scale->type);
    q->axis = node_int(n, "axis");
    if (q->axis < 0) q->axis += q->bytes->type.rank;
    return q->each || !q->zero || type_has_one_element(&q->zero->type);
}
/* The result of a QuantizeLinear with a single scale. */
static bool quantised(const struct node *n, struct quantity *q) {
    if (!is_a(n, OP_QUANTIZES) || node_int(n, "block_size")) return false;
    *q = (struct quantity){n->outs.v[0], node_in(n, 1), node_in(n, 2), false, 0};
    return is_byte(q->bytes) && fits(q->scale, q->zero, q->bytes->type.dtype) && type_has_one_element(&q->scale->type);
}
static struct value *zero_of(struct graph *g, const struct quantity *q) {
    return q->zero ? q->zero : graph_scalar(g, q->bytes->type.dtype, 0);
}

/* The same numbers in bytes, which is what operators of integers take. */
static struct value *widened(struct graph *g, struct value *v) {
    if (!v || dtype_bits(v->type.dtype) >= 8) return v;
    const struct tensor *from = v->init;
    struct tensor *to = tensor_new(&g->ctx->arena, dtype_is_signed(from->type) ? I8 : U8, from->dims, from->rank);
    for (int64_t k = 0, n = tensor_count(from); k < n; k++) tensor_set_i(to, k, tensor_i(from, k));
    return graph_const(g, from->name ? from->name : "bytes", to);
}
static void widen(struct graph *g, struct quantity *q) {
    q->bytes = widened(g, q->bytes), q->zero = widened(g, q->zero);
}

/* ---- the result */
/* Is this clamp redundant, because quantising to q's range clamps to it anyway? */
static bool quantiser_cuts(const struct quantity *q, double lo, double hi) {
    const struct value *s = q->scale, *z = q->zero;
    enum dtype t = q->bytes->type.dtype;
    if (!s->init || tensor_count(s->init) != 1 || (z && (!z->init || tensor_count(z->init) != 1))) return false;
    double scale = tensor_f(s->init, 0), zero = z ? (double)tensor_i(z->init, 0) : 0;
    return lo <= ((t == I8 ? -128 : 0) - zero) * scale && hi >= ((t == I8 ? 127 : 255) - zero) * scale;
}
/* The QuantizeLinear that is the only reader of n's result, perhaps after a clamp to its range; NULL: there is none. */
static struct node *quantiser_behind(struct node *n) {
    double lo, hi;
    struct quantity y;
    struct node *q = value_only_reader(n->outs.v[0]),
                *cut = q && q->op && q->op->clamps && q->op->clamps(q, &lo, &hi) ? q : NULL;
    if (cut) q = value_only_reader(cut->outs.v[0]);
    if (!quantised(q, &y) || node_in(q, 0) != (cut ? cut : n)->outs.v[0]) return NULL;
    return !cut || quantiser_cuts(&y, lo, hi) ? q : NULL;
}

/* ---- the bias, in units of both scales */
static bool is_unit(const struct value *scale, const struct quantity *x, const struct quantity *w) {
    const struct tensor *s = scale->init, *a = x->scale->init, *b = w->scale->init;
    if (!s || !a || !b) return false;
    for (int64_t k = 0, n = tensor_count(b); k < n; k++) {
        double want = tensor_f(a, 0) * tensor_f(b, k), have = tensor_f(s, tensor_count(s) == 1 ? 0 : k);
        if ((tensor_count(s) != 1 && tensor_count(s) != n) || fabs(have - want) > 1e-5 * fabs(want)) return false;
    }
    return true;
}
/* false: it has another form. *bias NULL: there is none. */
static bool integer_bias(const struct value *v, const struct quantity *x, const struct quantity *w,
                         struct value **bias) {
    const struct node *n = v ? v->def : NULL;
    *bias = NULL;
    if (!v) return true;
    if (!is_a(n, OP_DEQUANTIZES) || !n->ins.v[0]->init || n->ins.v[0]->type.dtype != I32) return false;
    const struct value *z = node_in(n, 2);
    for (int64_t k = 0; z && k < (z->init ? tensor_count(z->init) : 1); k++)
        if (!z->init || tensor_i(z->init, k)) return false;
    *bias = n->ins.v[0];
    return is_unit(n->ins.v[1], x, w);
}

/* ---- rewriting */
struct island {
    struct graph *g;
    struct node *n, *behind; /* the operator, and the QuantizeLinear after it, or NULL */
    struct quantity x, w;
    struct value *bias;
};
static struct value *typed(struct value *v, enum dtype t, const struct value *like) {
    v->type = type_tensor(like->def->in->graph->ctx, t, like->type.dims, like->type.rank);
    return v;
}
/* Removes the nodes from n to the one whose result is replaced. */
static void finish(struct island *i, struct value *result) {
    struct node *last = i->behind ? i->behind : i->n;
    result->name = last->outs.v[0]->name;
    value_replace(last->outs.v[0], result);
    for (struct node *n = last, *before; n; n = before) {
        before = n == i->n ? NULL : n->ins.v[0]->def;
        if (n != i->n) trace_merge(result->def, n);
        trace_because(i->g, NULL, "computed in integers");
        trace_into(i->g, i->n->origin);
        node_remove(n);
    }
}
/* Creates the operator over bytes in front of the one that it replaces, with the attributes that both have. */
static void replace(struct island *i, const struct op_integers *form) {
    struct graph *g = i->g;
    widen(g, &i->x), widen(g, &i->w);
    struct value *xz = zero_of(g, &i->x), *wz = zero_of(g, &i->w), *ys = NULL, *yz = NULL;
    if (i->behind) ys = i->behind->ins.v[1], yz = node_in(i->behind, 2);
    if (i->behind && !yz) yz = graph_scalar(g, U8, 0);
    struct value *const all[] = {
        [Q_X] = i->x.bytes, [Q_W] = i->w.bytes, [Q_BIAS] = i->bias, [Q_X_SCALE] = i->x.scale, [Q_W_SCALE] = i->w.scale,
        [Q_Y_SCALE] = ys,   [Q_X_ZERO] = xz,    [Q_W_ZERO] = wz,    [Q_Y_ZERO] = yz};
    struct value *ins[Q_Y_ZERO];
    int n = 0;
    for (; form->ins[n] != Q_END; n++) ins[n] = all[form->ins[n]];
    while (!ins[n - 1]) n--;
    struct node *made = node_new(i->n->in, i->n, form->domain, form->name, ins, n, 1);
    made->origin = i->n->origin;
    for (int k = 0; k < i->n->attrs.n; k++)
        if (op_attr_named(made->op, i->n->attrs.v[k].name)) node_set_attr(made, i->n->attrs.v[k]);
    enum dtype t = yz ? yz->type.dtype : F32;
    finish(i, typed(made->outs.v[0], t, (i->behind ? i->behind : i->n)->outs.v[0]));
}
/* Are the known factors of the sums far from infinity? 0 times infinity would be NaN. */
static bool factors_fit(const struct island *i) {
    const struct tensor *x = i->x.scale->init, *w = i->w.scale->init, *y = i->behind ? i->behind->ins.v[1]->init : NULL;
    for (int64_t k = 0; k < (w ? tensor_count(w) : 1); k++) {
        double both = fabs((x ? tensor_f(x, 0) : 1) * (w ? tensor_f(w, k) : 1));
        if (!(both < 1e30) || !(both / (y ? fabs(tensor_f(y, 0)) : 1) < 1e30)) return false;
    }
    return true;
}
/* Why n stays a float operator; NULL: it can be replaced, by what *i and *form say. */
static const char *refusal(struct node *n, struct island *i, const struct op_integers **form) {
    const struct attr *beta = node_attr(n, "beta");
    const struct op_in_integers *row = n->op ? n->op->integers : NULL;
    if (!row) return "no operator of integers does the same";
    if (!dequantised(node_in(n, 0), &i->x))
        return "its data is not dequantised from bytes, or not by scales along one axis";
    if (!dequantised(node_in(n, 1), &i->w)) return "its weights are not dequantised from bytes";
    if (i->x.each) return "its data has a scale for each slice";
    if (!i->w.bytes->init && (i->x.bytes->init || !row->of_two_inputs)) return "its weights are no constant";
    if (!i->w.bytes->init && !i->g->bytes.computed)
        return "neither factor is constant, and copies for the target's products of bytes take more than they save";
    if (i->w.each && i->w.axis != row->scaled_axis(n))
        return "the scales of its weights run along another axis than its results";
    if (!integer_bias(node_in(n, 2), &i->x, &i->w, &i->bias))
        return "its bias is not dequantised from i32 by the product of both scales, around 0";
    if (i->bias && beta && beta->u.f != 1.0f) return "its bias is scaled by beta";
    i->behind = quantiser_behind(n);
    *form = i->behind ? &row->quantized : &row->plain;
    if (!(*form)->name) return "no operator of integers does the same without a QuantizeLinear behind it";
    return factors_fit(i) ? NULL : "its scales leave the range of f32";
}
const char *graph_why_floats(struct graph *g, struct node *n) {
    struct island i = {.g = g, .n = n};
    const struct op_integers *form;
    bool any = false;
    for (int k = 0; k < 2 && n->op && n->op->integers; k++) {
        const struct value *v = node_in(n, k);
        any |= v && is_a(v->def, OP_DEQUANTIZES);
    }
    return any ? refusal(n, &i, &form) : NULL;
}
static bool rewrite(struct graph *g, struct node *n) {
    struct island i = {.g = g, .n = n};
    const struct op_integers *form;
    if (refusal(n, &i, &form) || !decide(g->ctx, "%.*s in integers", OWN_ORIGIN(n))) return false;
    replace(&i, form);
    return true;
}

/* ---- operators that only select or move cells */
enum { PICKS_MOST = 64 }; /* longest chain of such operators */
/* One scale, which steps of a byte do not leave the range of f32 with. */
static bool is_one_scale(const struct value *s) {
    if (!s->init || tensor_count(s->init) != 1) return false;
    double v = tensor_f(s->init, 0);
    return v > 1e-30 && v < 1e30;
}
static int64_t zero_point(const struct value *z) { return z ? tensor_i(z->init, 0) : 0; }
static bool same_quantity(const struct quantity *x, const struct quantity *y) {
    if (x->each || !is_one_scale(x->scale) || x->bytes->type.dtype != y->bytes->type.dtype) return false;
    if ((x->zero && !x->zero->init) || tensor_f(x->scale->init, 0) != tensor_f(y->scale->init, 0)) return false;
    return zero_point(x->zero) == zero_point(y->zero);
}
/* Is v made only of cells that were dequantised with the scale and zero point of y, by operators with no other
 * readers? */
static bool is_picked(const struct value *v, const struct quantity *y, int left) {
    struct quantity x;
    if (dequantised(v, &x)) return same_quantity(&x, y);
    const struct node *n = v->def;
    if (!left || !is_a(n, OP_PICKS) || n->outs.n != 1 || !value_only_reader(v)) return false;
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] && n->ins.v[k]->type.dtype == F32 && !is_picked(n->ins.v[k], y, left - 1)) return false;
    return n->ins.n && n->ins.v[0];
}
static struct value *picked_bytes(struct value *v) {
    struct quantity x;
    if (dequantised(v, &x)) return x.bytes;
    struct node *n = v->def;
    enum dtype t = NONE;
    for (int k = 0; k < n->ins.n; k++) {
        if (!n->ins.v[k] || n->ins.v[k]->type.dtype != F32) continue;
        struct value *b = picked_bytes(n->ins.v[k]);
        node_set_input(n, k, b);
        t = b->type.dtype;
    }
    return typed(v, t, v);
}
static bool pick_bytes(struct graph *g, struct node *n) {
    struct quantity x, y;
    struct value *v = node_in(n, 0);
    if (!quantised(n, &y) || !v || v->type.dtype != F32 || dequantised(v, &x) || !is_one_scale(y.scale)) return false;
    if (y.zero && (!y.zero->init || tensor_count(y.zero->init) != 1)) return false;
    if (!is_picked(v, &y, PICKS_MOST) || !decide(g->ctx, "bytes are picked before %.*s", OWN_ORIGIN(n))) return false;
    picked_bytes(v);
    v->name = y.bytes->name;
    value_replace(y.bytes, v);
    trace_merge(v->def, n);
    trace_because(g, NULL, "what only picks cells picks bytes");
    trace_into(g, v->def->origin);
    node_remove(n);
    return true;
}
static void sweep(struct graph *g, struct region *r) {
    for (struct node *n = r->first, *prev; n;) {
        for (int k = 0; k < n->attrs.n; k++)
            if (n->attrs.v[k].kind == AT_REGION) sweep(g, n->attrs.v[k].u.region);
        prev = n->prev;
        if (!pick_bytes(g, n)) rewrite(g, n);
        n = node_after(r, n, prev);
    }
}
bool graph_integers(struct graph *g) {
    sweep(g, g->top);
    return true;
}
