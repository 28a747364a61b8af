/* Finds redundant channels. Walks the graph once: products create channels, operators that treat each channel
 * separately pass them on, products consume them, and all other readers keep them as they are. Channels that are passed
 * on are removed together or not at all. See channels.h. */
#include "compiler/prune/channels.h"
#include "compiler/graph/rules.h"
#include "ir/base/convert.h"
#include <math.h>
#include <string.h>

/* ---- products */
/* Operators whose rows say where their weights have channels; for the general matrix product, the columns of
 * matrices. */
static bool lies(const struct node *n, struct op_weights *lie) {
    if (n->op->weights) return n->op->weights(n, lie);
    *lie = (struct op_weights){.out = {1, 1}, .in = {0, 1}};
    return node_is(n, "MatMul");
}
static bool channels_in(enum dtype t) { return t == F32 || t == F64 || dtype_is_half(t); }
bool product_of(struct node *n, struct product *q) {
    const struct value *w = node_in(n, 1), *b = node_in(n, 2);
    *q = (struct product){.n = n};
    if (!n->op || !n->ins.n || !n->ins.v[0] || n->ins.v[0]->init || !w || !w->init || n->outs.n != 1 || !n->outs.v[0] ||
        !channels_in(w->type.dtype) || w->type.rank < 2 || !lies(n, &q->lie))
        return false;
    const struct type *y = &n->outs.v[0]->type;
    q->w = w->init, q->bias = b ? b->init : NULL;
    q->axis = n->op->weights ? 1 : y->rank - 1;
    if (q->lie.out.axis < 0 || q->lie.out.groups != 1 || q->lie.in.groups < 1 || q->axis < 1 ||
        (!n->op->weights && w->type.rank != 2))
        return false;
    int64_t channels = op_channel_count(q->w, &q->lie.out);
    return y->rank > q->axis && x_is(y->dims[q->axis], channels) &&
           (!b || (q->bias && q->bias->rank == 1 && q->bias->dims[0] == channels));
}
/* Which filters are zero: [channels of the result]. */
static void look_at_filters(const struct product *q, bool *zero) {
    int64_t n = op_channel_count(q->w, &q->lie.out);
    for (int64_t k = 0; k < n; k++) zero[k] = true;
    for (int64_t i = 0, all = tensor_count(q->w); i < all; i++) {
        zero[op_channel_of(q->w, &q->lie.out, i)] &= tensor_f(q->w, i) == 0;
    }
}
static double bias_at(const struct product *q, int64_t k) { return q->bias ? tensor_f(q->bias, k) : 0; }

/* ---- channels */
const struct channels *value_channels(const struct pruning *p, const struct value *v) {
    return v ? map_get(&p->of_value, PKEY(v)) : NULL;
}
double value_rounded(const struct value *of, double v) {
    switch (of->type.dtype) {
    case F32: return (double)(float)v;
    case F16: return (double)f16_to_f32(f64_to_f16(v));
    case BF16: return (double)bf16_to_f32(f64_to_bf16(v));
    default: return v;
    }
}
static int64_t root_of(const struct pruning *p, int64_t k) {
    struct channel *all = p->all.v;
    while (all[k].parent != k) k = all[k].parent = all[all[k].parent].parent;
    return k;
}
static void keep(struct pruning *p, int64_t k, const char *why) {
    struct channel *at = &p->all.v[root_of(p, k)];
    if (!at->kept) at->kept = why;
}
static void together(struct pruning *p, int64_t a, int64_t b) {
    a = root_of(p, a), b = root_of(p, b);
    if (a == b) return;
    p->all.v[b].parent = a;
    if (!p->all.v[a].kept) p->all.v[a].kept = p->all.v[b].kept;
}
bool channel_goes(const struct pruning *p, int64_t k) { return !p->all.v[root_of(p, k)].kept; }
static void keep_all(struct pruning *p, const struct value *v, const char *why) {
    const struct channels *x = value_channels(p, v);
    for (int64_t k = 0; x && k < x->n; k++) keep(p, x->first + k, why);
}
/* Gives the value channels along the axis; NULL: their number is not known, or there are too many in total. */
static struct channels *begin(struct pruning *p, struct value *v, int axis) {
    enum { MOST = 1 << 24 };
    struct ctx *c = p->g->ctx;
    int64_t n;
    if (!x_is_int(v->type.dims[axis], &n) || n < 1 || n > MOST - p->all.n) return NULL;
    struct channels *y = NEW(&c->arena, struct channels);
    *y = (struct channels){v, axis, n, p->all.n};
    for (int64_t k = 0; k < n; k++) PUSH(&c->arena, &p->all, ((struct channel){y->first + k, NAN, NULL, NULL}));
    map_put(&p->of_value, PKEY(v), y);
    PUSH(&c->arena, &p->values, y);
    return y;
}
static double number(const struct pruning *p, const struct channels *x, int64_t k) {
    return p->all.v[x->first + k].number;
}
static const char *reader(struct pruning *p, const struct node *n, const char *what) {
    return format(p->g->ctx, "%s %.*s", what, OWN_ORIGIN(n));
}

/* ---- products create channels, and consume them */
/* Each group is computed from its own channels, and is kept or removed with them. A result computed from constant
 * channels is constant, unless some cells sum fewer terms; for 16 bits only if it is 0, because the rounding of other
 * sums is unspecified. */
static void by_groups(struct pruning *p, const struct product *q, const struct channels *x, const struct channels *y) {
    int64_t groups = q->lie.in.groups, ins = x->n / groups, outs = y->n / groups;
    double *sums = NEWN(&p->g->ctx->arena, double, y->n);
    const char *tied = ins * outs > 1 ? reader(p, q->n, "goes with the whole group or not at all, of") : NULL;
    for (int64_t k = 0; k < x->n; k++) {
        together(p, x->first + k / ins * ins, x->first + k);
        p->all.v[x->first + k].tied = tied;
    }
    for (int64_t k = 0; k < y->n; k++) together(p, x->first + k / outs * ins, y->first + k);
    for (int64_t i = 0, all = tensor_count(q->w); i < all; i++) {
        double w = tensor_f(q->w, i), v = number(p, x, op_channel_of(q->w, &q->lie.in, i));
        if (v != 0 && w != 0) sums[op_channel_of(q->w, &q->lie.out, i)] += w * v;
    }
    for (int64_t k = 0; k < y->n; k++) {
        double *to = &p->all.v[y->first + k].number;
        bool exact = sums[k] == 0 || (!q->lie.edges && !dtype_is_half(q->w->type));
        if (isnan(*to) && isfinite(sums[k]) && exact) *to = value_rounded(y->v, sums[k] + bias_at(q, k));
    }
}
/* Channels that are read with nonzero weights are kept, unless they are constants that the bias can absorb, which is
 * impossible where some cells sum fewer terms. */
static void take_in(struct pruning *p, const struct product *q, const struct channels *x) {
    bool *zero = NEWN(&p->g->ctx->arena, bool, x->n);
    const char *live = reader(p, q->n, "is read by"), *edges = reader(p, q->n, "is not 0, and is read with padding by"),
               *rounds = reader(p, q->n, "is not 0, and would be rounded in the bias of 16 bits of");
    for (int64_t k = 0; k < x->n; k++) zero[k] = true;
    for (int64_t i = 0, all = tensor_count(q->w); i < all; i++)
        zero[op_channel_of(q->w, &q->lie.in, i)] &= tensor_f(q->w, i) == 0;
    for (int64_t k = 0; k < x->n; k++) {
        double v = number(p, x, k);
        if (zero[k] || v == 0) continue;
        if (!isfinite(v)) keep(p, x->first + k, live);
        else if (q->lie.edges) keep(p, x->first + k, edges);
        else if (dtype_is_half(q->w->type)) keep(p, x->first + k, rounds);
    }
}
static void see_product(struct pruning *p, struct product *q) {
    struct ctx *c = p->g->ctx;
    const struct channels *x = value_channels(p, q->n->ins.v[0]), *y = begin(p, q->n->outs.v[0], q->axis);
    if (!y) {
        keep_all(p, q->n->ins.v[0], reader(p, q->n, "is read by"));
        return;
    }
    bool *zero = NEWN(&c->arena, bool, y->n), fits = x && x->axis == q->axis;
    look_at_filters(q, zero);
    q->zero = zero;
    for (int64_t k = 0; k < y->n; k++)
        if (zero[k] && isfinite(bias_at(q, k))) p->all.v[y->first + k].number = bias_at(q, k);
    q->takes_in = q->lie.in.groups == 1 && q->lie.in.axis >= 0 && fits && x->n == op_channel_count(q->w, &q->lie.in);
    PUSH(&c->arena, &p->products, *q);
    bool groups = q->lie.in.groups > 1;
    if (groups && fits && x->n == op_channel_count(q->w, &q->lie.in)) by_groups(p, q, x, y);
    else if (groups) {
        keep_all(p, y->v, reader(p, q->n, "is made of an input's channels by"));
        keep_all(p, q->n->ins.v[0], reader(p, q->n, "is read by"));
    } else if (q->takes_in) take_in(p, q, x);
    else keep_all(p, q->n->ins.v[0], reader(p, q->n, "is read along another axis by"));
}

/* ---- operators that pass channels on */
/* Elementwise, with broadcasting: operands with as many channels along the axis have them too, others none. */
static bool cellwise(struct pruning *p, struct node *n, const struct channels *x) {
    const struct type *t = &n->outs.v[0]->type;
    if (n->op->flags & (OP_RANDOM | OP_EFFECT | OP_FOREIGN)) return false;
    if (t->rank != x->v->type.rank || !channels_in(t->dtype)) return false;
    for (int k = 0; k < n->ins.n; k++) {
        const struct value *v = n->ins.v[k];
        const struct channels *other = value_channels(p, v);
        if (!v) continue;
        if (v->type.kind != TY_TENSOR || v->type.rank < 0 || v->type.rank > t->rank) return false;
        int axis = x->axis - (t->rank - v->type.rank); /* the axis in this operand */
        bool one = axis < 0 || x_is(v->type.dims[axis], 1), same = axis >= 0 && x_is(v->type.dims[axis], x->n);
        if (!one && !same) return false;
        if (!v->init && !one && !(other && other->axis == axis && other->n == x->n && v->type.rank == t->rank))
            return false;
        if (other && !(same && other->axis == axis && v->type.rank == t->rank)) return false;
    }
    return node_is_cellwise(p->probes, n);
}
/* With constants for each channel. */
static bool affine(struct pruning *p, const struct node *n, const struct channels *x) {
    double *v = NEWN(&p->g->ctx->arena, double, 2 * x->n);
    return x->axis == 1 && n->op->affine && n->op->affine(n, x->v, x->n, v, v + x->n) &&
           type_same_dims(&n->outs.v[0]->type, &x->v->type);
}
/* Over axes other than the channels: pools, means. */
static bool each_channel(const struct node *n, const struct channels *x) {
    const struct type *to = &n->outs.v[0]->type;
    int64_t axes[32];
    if (n->ins.v[0] != x->v || x->axis != 1 || to->rank < 2 || !x_is(to->dims[1], x->n) || n->op->permutes)
        return false;
    if (n->op->axes.named == AXES_LIST && n->op->axes.reduces) {
        int count = node_in(n, 1) ? node_ints(n, 1, axes, 32) : 0;
        for (int k = 0; k < count; k++)
            if ((axes[k] < 0 ? axes[k] + x->v->type.rank : axes[k]) < 2) return false;
        return count > 0;
    }
    return n->ins.n == 1 && n->op->flags & (OP_PICKS | OP_BLENDS) && !(n->op->flags & OP_VIEW) &&
           to->rank == x->v->type.rank;
}
static bool carry(struct pruning *p, struct node *n, int axis, bool whole) {
    const struct channels *y = begin(p, n->outs.v[0], axis);
    if (!y) return false;
    for (int j = 0; j < n->ins.n; j++) {
        const struct channels *other = value_channels(p, n->ins.v[j]);
        for (int64_t k = 0; other && k < y->n; k++) together(p, y->first + k, other->first + k);
    }
    channels_carry(p, n, y, whole);
    return true;
}
/* Copies of the same cells: channels from x's channel `at` on. */
static bool pass_on(struct pruning *p, const struct channels *x, struct value *to, int axis, int64_t at) {
    const struct channels *y = begin(p, to, axis);
    for (int64_t k = 0; y && k < y->n; k++) {
        p->all.v[y->first + k].number = number(p, x, at + k);
        together(p, x->first + at + k, y->first + k);
    }
    return y != NULL;
}
/* The new position of the channel axis; -1: the operator does not move axes. */
static int moved(const struct node *n, const struct channels *x) {
    int perm[32], rank = x->v->type.rank;
    if (!n->op->permutes || rank > 32 || n->ins.v[0] != x->v || !n->op->permutes(n, perm)) return -1;
    for (int k = 0; k < rank; k++)
        if (perm[k] == x->axis) return k;
    return -1;
}
/* The axis of the channels in a Reshape that keeps them separate; -1: it does not. */
static int kept_in_view(struct pruning *p, const struct node *n, const struct channels *x) {
    struct ctx *c = p->g->ctx;
    const struct type *t = &x->v->type, *to = &n->outs.v[0]->type;
    expr before = x_int(c, 1), now = x_int(c, 1);
    int64_t shape[32];
    if (!(n->op->flags & OP_VIEW) || n->ins.v[0] != x->v || to->rank > 32) return -1;
    bool reshape = node_is(n, "Reshape");
    if (reshape ? node_ints(n, 1, shape, 32) != to->rank || node_int(n, "allowzero")
                : !node_is(n, "Squeeze") && !node_is(n, "Unsqueeze"))
        return -1;
    for (int k = 0; k < x->axis; k++) before = x_mul(c, before, t->dims[k]);
    for (int k = 0; k < to->rank; k++) {
        if (before == now && x_is(to->dims[k], x->n)) return k;
        now = x_mul(c, now, to->dims[k]);
    }
    return -1;
}
/* Along other axes, by constants with an entry for every axis, or for some: sizes, pads, slices. */
static bool along_others(const struct node *n, const struct channels *x) {
    const struct type *to = &n->outs.v[0]->type;
    const struct op_axes *row = &n->op->axes;
    int rank = x->v->type.rank, count = 0;
    int64_t v[64];
    if (n->ins.v[0] != x->v || to->rank != rank || rank > 32 || !x_is(to->dims[x->axis], x->n)) return false;
    if (row->named == AXES_PADS)
        return !node_in(n, 3) && node_ints(n, 1, v, 64) == 2 * rank && !v[x->axis] && !v[rank + x->axis];
    if (row->named == AXES_SLICE) {
        count = node_in(n, 3) ? node_ints(n, 3, v, 64) : 0;
        for (int k = 0; k < count; k++)
            if ((v[k] < 0 ? v[k] + rank : v[k]) == x->axis) return false;
        return count > 0;
    }
    if (row->named != AXES_SIZES || node_attr(n, "keep_aspect_ratio_policy") || node_attr(n, "axes")) return false;
    for (int k = 1; k < n->ins.n; k++) {
        const struct tensor *t = n->ins.v[k] ? n->ins.v[k]->init : NULL;
        if (!n->ins.v[k] || (t && !tensor_count(t))) continue;
        if (!(row->sizes >> k & 1) || !t || tensor_count(t) != rank) return false;
        if (dtype_is_float(t->type) ? tensor_f(t, x->axis) != 1 : tensor_i(t, x->axis) != x->n) return false;
        count++;
    }
    return count > 0;
}
/* [n, channels, ...] as [n, cells]: each channel becomes several, one for each of its cells. */
static bool flatten(struct pruning *p, struct node *n, const struct channels *x) {
    const struct type *t = &x->v->type, *to = &n->outs.v[0]->type;
    int64_t cells = 1, size, shape[2];
    if (!(n->op->flags & OP_VIEW) || n->ins.v[0] != x->v || x->axis != 1 || to->rank != 2 || to->dims[0] != t->dims[0])
        return false;
    bool reshape = node_is(n, "Reshape") && node_ints(n, 1, shape, 2) == 2 && !node_int(n, "allowzero");
    if (!reshape && !node_is(n, "Flatten") && !node_is(n, "Squeeze")) return false;
    for (int k = 2; k < t->rank; k++) {
        if (!x_is_int(t->dims[k], &size) || size < 1 || size > INT32_MAX / cells) return false;
        cells *= size;
    }
    const struct channels *y =
        x->n <= INT32_MAX / cells && x_is(to->dims[1], x->n * cells) ? begin(p, n->outs.v[0], 1) : NULL;
    for (int64_t k = 0; y && k < y->n; k++) {
        p->all.v[y->first + k].number = number(p, x, k / cells);
        together(p, y->first + k, x->first + k / cells);
    }
    return y != NULL;
}
static bool concat(struct pruning *p, struct node *n) {
    const struct channels *x = value_channels(p, n->ins.v[0]);
    int64_t at = 0, axis = node_int(n, "axis");
    if (!node_is(n, "Concat") || !x || (axis < 0 ? axis + x->v->type.rank : axis) != x->axis) return false;
    for (int k = 0; k < n->ins.n; k++) {
        const struct channels *each = value_channels(p, n->ins.v[k]);
        if (!each || each->axis != x->axis) return false;
    }
    const struct channels *y = begin(p, n->outs.v[0], x->axis);
    for (int k = 0; y && k < n->ins.n; k++) {
        const struct channels *each = value_channels(p, n->ins.v[k]);
        for (int64_t j = 0; j < each->n; j++, at++) {
            p->all.v[y->first + at].number = number(p, each, j);
            together(p, y->first + at, each->first + j);
        }
    }
    return y != NULL;
}
/* Pieces along the channels, or along another axis. */
static bool split(struct pruning *p, struct node *n, const struct channels *x) {
    int64_t axis = node_is(n, "Split") ? node_int(n, "axis") : 0, at = 0;
    if (!node_is(n, "Split") || n->ins.v[0] != x->v || (node_in(n, 1) && !node_in(n, 1)->init)) return false;
    if (axis < 0) axis += x->v->type.rank;
    for (int o = 0; o < n->outs.n; o++)
        if (!n->outs.v[o]) return false;
    for (int o = 0; o < n->outs.n; o++) {
        if (!pass_on(p, x, n->outs.v[o], x->axis, at)) return false;
        at += axis == x->axis ? value_channels(p, n->outs.v[o])->n : 0;
    }
    return true;
}
static void see(struct pruning *p, struct node *n) {
    struct product q;
    const struct channels *x = NULL;
    bool carried = false;
    for (int k = 0; k < n->ins.n && !x; k++) x = value_channels(p, n->ins.v[k]);
    bool one = n->op && n->outs.n == 1 && n->outs.v[0] && n->outs.v[0]->type.kind == TY_TENSOR;
    if (one && product_of(n, &q)) {
        for (int k = 1; k < n->ins.n; k++) keep_all(p, n->ins.v[k], reader(p, n, "is read by"));
        see_product(p, &q);
        return;
    }
    if (!x) return;
    int moves = one ? moved(n, x) : -1, stays = one && moves < 0 ? kept_in_view(p, n, x) : -1;
    if (moves >= 0 || stays >= 0) carried = pass_on(p, x, n->outs.v[0], moves >= 0 ? moves : stays, 0);
    else if (one && (affine(p, n, x) || cellwise(p, n, x))) carried = carry(p, n, x->axis, false);
    else if (one && (each_channel(n, x) || along_others(n, x))) carried = carry(p, n, x->axis, true);
    else if (one) carried = concat(p, n) || flatten(p, n, x);
    else if (n->op) carried = split(p, n, x);
    for (int k = 0; k < n->ins.n && !carried; k++) keep_all(p, n->ins.v[k], reader(p, n, "is read by"));
}
/* At least one channel of each value is kept. */
static void keep_one(struct pruning *p) {
    for (int j = 0; j < p->values.n; j++) {
        const struct channels *x = p->values.v[j];
        bool all = true;
        for (int64_t k = 0; k < x->n && all; k++) all = channel_goes(p, x->first + k);
        if (all) keep(p, x->first, "is the last one");
    }
}
static void tell(struct pruning *p, const struct product *q) {
    const struct channels *y = value_channels(p, q->n->outs.v[0]);
    struct pruned r = {.n = q->n, .filters = y->n};
    for (int64_t k = 0; k < y->n; k++) {
        bool goes = channel_goes(p, y->first + k);
        r.zero += q->zero[k], r.removed += goes;
        const char *tied = p->all.v[y->first + k].tied;
        if (q->zero[k] && !goes && !r.why) r.why = tied ? tied : p->all.v[root_of(p, y->first + k)].kept;
    }
    if (r.zero || r.removed) PUSH(&p->g->ctx->arena, &p->results, r);
}
void channels_find(struct pruning *p) {
    const struct region *top = p->g->top;
    p->probes = probes_new(p->g);
    p->of_value.arena = &p->g->ctx->arena;
    for (struct node *n = top->first; n; n = n->next) see(p, n);
    for (int k = 0; k < top->results.n; k++)
        keep_all(p, top->results.v[k],
                 format(p->g->ctx, "is in the output %s", diag_quote(&p->g->ctx->arena, p->g->outputs.v[k])));
    keep_one(p);
    for (int k = 0; k < p->products.n; k++) tell(p, &p->products.v[k]);
}
