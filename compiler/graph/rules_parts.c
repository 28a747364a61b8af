/* Rules of slices, concatenation and padding; see rules.h. */
#include "compiler/graph/rules.h"
#include "ir/base/checked.h"
#include "ir/graph/op.h"
#include <math.h>
#include <string.h>

/* ---- slices, as start, step and length of each axis. Only forward ones of known sizes. */
struct part {
    int64_t start, step, length;
};
static bool parts_of(const struct node *n, struct part *p) {
    const struct value *x = n->ins.v[0], *y = n->outs.v[0];
    int64_t starts[32], axes[32], steps[32], to[32];
    int rank = x->type.rank, count = node_ints(n, 1, starts, 32), given = -1, stepped = -1;
    if (rank < 0 || rank > 32 || count < 0) return false;
    if (node_in(n, 3) && (given = node_ints(n, 3, axes, 32)) != count) return false;
    if (node_in(n, 4) && (stepped = node_ints(n, 4, steps, 32)) != count) return false;
    for (int k = 0; k < rank; k++) p[k] = (struct part){0, 1, -1};
    for (int k = 0; k < count; k++) {
        int64_t axis = given < 0 ? k : axes[k] < 0 ? axes[k] + rank : axes[k], step = stepped < 0 ? 1 : steps[k], size;
        if (axis < 0 || axis >= rank || step < 1 || step > INT32_MAX) return false;
        if (!x_is_int(x->type.dims[axis], &size) || !x_is_int(y->type.dims[axis], &to[axis])) return false;
        int64_t start = starts[k] < 0 ? starts[k] + size : starts[k];
        p[axis] = (struct part){start < 0 ? 0 : start > size ? size : start, step, to[axis]};
    }
    return true;
}
/* A slice of x with these parts; length -1: the whole axis. */
static struct value *slice(struct match *m, struct value *x, const struct part *p) {
    int64_t starts[32], ends[32], axes[32], steps[32];
    int count = 0;
    for (int k = 0; k < x->type.rank; k++) {
        if (p[k].length < 0) continue;
        axes[count] = k, starts[count] = p[k].start, steps[count] = p[k].step;
        ends[count++] = p[k].length ? p[k].start + (p[k].length - 1) * p[k].step + 1 : p[k].start;
    }
    return RULE_NODE(m, "Slice", x, rule_ints(m, starts, count), rule_ints(m, ends, count), rule_ints(m, axes, count),
                     rule_ints(m, steps, count));
}
static struct value *one_slice(struct match *m) {
    struct part outer[32], inner[32];
    struct value *x = MATCHED(m, 'x');
    if (!parts_of(m->node[0], outer) || !parts_of(m->node[1], inner)) return NULL;
    for (int k = 0; k < x->type.rank; k++) {
        if (outer[k].length < 0) continue;
        if (inner[k].length >= 0) outer[k].start = inner[k].start + outer[k].start * inner[k].step;
        if (inner[k].length >= 0) outer[k].step *= inner[k].step;
        if (!outer[k].length) outer[k].start = 0;
        inner[k] = outer[k];
    }
    return slice(m, x, inner);
}
/* A forward slice of full length is its operand. */
static struct value *whole_slice(struct match *m) {
    struct node *n = m->node[0];
    struct value *x = MATCHED(m, 'x');
    int64_t steps[32];
    int stepped = node_in(n, 4) ? node_ints(n, 4, steps, 32) : 0;
    if (stepped < 0 || x->type.rank < 0 || !type_same_dims(&x->type, &n->outs.v[0]->type)) return NULL;
    for (int k = 0; k < stepped; k++)
        if (steps[k] != 1) return NULL;
    return x;
}

/* ---- Concat */
static int concat_axis(const struct node *n) {
    int64_t axis = node_int(n, "axis");
    int rank = n->outs.v[0]->type.rank;
    axis = axis < 0 ? axis + rank : axis;
    return axis < 0 || axis >= rank ? -1 : (int)axis;
}
/* A slice along the axis of a Concat that lies in a single operand. */
static struct value *slice_of_concat(struct match *m) {
    struct node *c = m->node[1];
    struct part p[32];
    int axis = concat_axis(c);
    if (axis < 0 || !parts_of(m->node[0], p) || p[axis].length < 1) return NULL;
    int64_t at = p[axis].start, size, end = at + (p[axis].length - 1) * p[axis].step + 1;
    for (int k = 0; k < c->ins.n; k++, at -= size, end -= size) {
        struct value *x = c->ins.v[k];
        if (!x || !x_is_int(x->type.dims[axis], &size)) return NULL;
        if (at >= size) continue;
        p[axis].start = at;
        return end <= size ? slice(m, x, p) : NULL;
    }
    return NULL;
}
static struct value *one_concat(struct match *m) {
    struct node *n = m->node[0];
    VEC(struct value *) all = {0};
    bool found = false;
    for (int k = 0; k < n->ins.n; k++) {
        struct value *x = n->ins.v[k];
        struct node *d = x ? x->def : NULL;
        bool inner = node_is(d, "Concat") && x->uses.n == 1 && concat_axis(d) == concat_axis(n);
        for (int j = 0; inner && j < d->ins.n; j++) PUSH(&m->g->ctx->arena, &all, d->ins.v[j]);
        if (!inner) PUSH(&m->g->ctx->arena, &all, x);
        found = found || inner;
    }
    return found && all.n <= 256 ? rule_node_like(m, n, all.v, all.n) : NULL;
}
/* A Concat of all parts of a Split, in order. */
static struct value *split_again(struct match *m) {
    struct node *n = m->node[0], *split = n->ins.v[0]->def;
    int axis = concat_axis(n);
    if (!node_is(split, "Split") || split->outs.n != n->ins.n || axis < 0) return NULL;
    int64_t of = node_int(split, "axis");
    if ((of < 0 ? of + n->outs.v[0]->type.rank : of) != axis) return NULL;
    for (int k = 0; k < n->ins.n; k++)
        if (n->ins.v[k] != split->outs.v[k] || !n->ins.v[k]) return NULL;
    return split->ins.v[0];
}
/* A Concat of adjacent slices of one value that are whole in all other axes. */
static struct value *adjacent_slices(struct match *m) {
    struct node *n = m->node[0];
    struct value *x = NULL;
    struct part p[32], all[32];
    int axis = concat_axis(n);
    if (axis < 0 || n->ins.n < 2) return NULL;
    for (int k = 0; k < n->ins.n; k++) {
        struct node *d = n->ins.v[k] ? n->ins.v[k]->def : NULL;
        if (!node_is(d, "Slice") || (x && d->ins.v[0] != x) || !parts_of(d, p)) return NULL;
        x = d->ins.v[0];
        for (int j = 0; j < x->type.rank; j++) {
            if (j == axis || k == 0) continue;
            if (p[j].start != all[j].start || p[j].step != all[j].step || p[j].length != all[j].length) return NULL;
        }
        if (p[axis].length < 0 || p[axis].step != 1) return NULL;
        if (k && p[axis].start != all[axis].start + all[axis].length) return NULL;
        if (k) p[axis].start = all[axis].start, p[axis].length += all[axis].length;
        memcpy(all, p, sizeof all);
    }
    return slice(m, x, all);
}

/* ---- Gather */
/* Indices that count up by one: a slice, which is a view or at least needs no look-up. */
static struct value *gathered_slice(struct match *m) {
    struct node *n = m->node[0];
    struct value *x = MATCHED(m, 'x'), *at = MATCHED(m, 'i');
    struct part p[32];
    int64_t index[1024], size, axis = node_int(n, "axis");
    int count = at->type.rank == 1 ? node_ints(n, 1, index, 1024) : -1, rank = x->type.rank;
    axis = axis < 0 ? axis + rank : axis;
    if (count < 2 || axis < 0 || axis >= rank || !x_is_int(x->type.dims[axis], &size)) return NULL;
    if (index[0] < 0) index[0] += size;
    for (int k = 0; k < count; k++) {
        if (k && index[k] < 0) index[k] += size;
        if (index[k] < 0 || index[k] >= size || index[k] != index[0] + k) return NULL;
    }
    for (int k = 0; k < rank; k++) p[k] = (struct part){0, 1, -1};
    p[axis] = (struct part){index[0], 1, count};
    return slice(m, x, p);
}

/* ---- Pad */
struct padding {
    int64_t before[32], after[32];
    double value;
};
/* Constant padding by known, nonnegative widths. */
static bool padding_of(const struct node *n, struct padding *p) {
    const struct attr *mode = node_attr(n, "mode");
    int rank = n->outs.v[0]->type.rank;
    int64_t pads[64], axes[32];
    int count = node_ints(n, 1, pads, 64), given = node_in(n, 3) ? node_ints(n, 3, axes, 32) : rank;
    if (mode && !(mode->u.s.n == 8 && !memcmp(mode->u.s.p, "constant", 8))) return false;
    if (rank < 0 || rank > 32 || given < 0 || count != 2 * given) return false;
    memset(p, 0, sizeof *p);
    if (node_in(n, 2) && !const_number(n->ins.v[2], &p->value)) return false;
    for (int k = 0; k < given; k++) {
        int64_t axis = node_in(n, 3) ? axes[k] + (axes[k] < 0 ? rank : 0) : k;
        if (axis < 0 || axis >= rank || pads[k] < 0 || pads[k + given] < 0) return false;
        if (pads[k] > INT32_MAX || pads[k + given] > INT32_MAX) return false;
        p->before[axis] = pads[k], p->after[axis] = pads[k + given];
    }
    return true;
}
static struct value *one_pad(struct match *m) {
    struct padding a, b;
    struct node *n = m->node[0];
    int64_t pads[64];
    int rank = n->outs.v[0]->type.rank;
    if (!padding_of(n, &a) || !padding_of(m->node[1], &b) || memcmp(&a.value, &b.value, sizeof a.value)) return NULL;
    for (int k = 0; k < rank; k++) pads[k] = a.before[k] + b.before[k], pads[k + rank] = a.after[k] + b.after[k];
    struct value *fill = node_in(n, 2);
    return RULE_NODE(m, "Pad", MATCHED(m, 'x'), rule_ints(m, pads, 2 * rank), fill);
}
static bool has_explicit_pads(const struct node *n) {
    const struct attr *same = node_attr(n, "auto_pad");
    return !same || (same->u.s.n == 6 && !memcmp(same->u.s.p, "NOTSET", 6));
}
/* Zero padding of the spatial axes: Conv assumes it anyway, and so does an AveragePool that counts padding. */
static struct value *pad_into_window(struct match *m) {
    struct node *n = m->node[0];
    struct padding p;
    const struct attr *own = node_attr(n, "pads");
    int rank = n->outs.v[0]->type.rank, spatial = rank - 2;
    bool pool = node_is(n, "AveragePool");
    int64_t pads[64];
    if (spatial < 1 || !has_explicit_pads(n)) return NULL;
    if (!padding_of(m->node[1], &p) || p.value != 0 || 1 / p.value < 0 || p.before[0] || p.after[0] || p.before[1] ||
        p.after[1])
        return NULL;
    if (own && own->n != 2 * spatial) return NULL;
    for (int k = 0; k < 2 * spatial; k++) {
        pads[k] = (own ? own->u.is[k] : 0) + (k < spatial ? p.before[k + 2] : p.after[k - spatial + 2]);
        if (pool && ((own && own->u.is[k]) || node_int(n, "ceil_mode"))) return NULL;
    }
    struct value **ins = arena_copy(&m->g->ctx->arena, n->ins.v, (size_t)n->ins.n * sizeof *ins);
    const struct attr *kernel = node_attr(n, "kernel_shape");
    for (int k = 0; pool && k < spatial; k++) /* no window may lie entirely in the padding */
        if (!kernel || pads[k] >= kernel->u.is[k] || pads[k + spatial] >= kernel->u.is[k]) return NULL;
    ins[0] = MATCHED(m, 'x');
    struct node *by = node_new(n->in, n, "", n->op_type, ins, n->ins.n, 1);
    for (int k = 0; k < n->attrs.n; k++) node_set_attr(by, n->attrs.v[k]);
    node_set_attr(by, rule_attr_ints(m, "pads", pads, 2 * spatial));
    if (pool) node_set_attr(by, rule_attr_int("count_include_pad", 1));
    return rule_typed(m, by);
}

/* Padding of bytes is their zero point, which counts as 0. If the zero point is known only at run time, the padding
 * stays outside the operator: its products would otherwise be of differences instead of bytes. */
static struct value *pad_by_zero_point(struct match *m) {
    struct node *n = m->node[0];
    struct value *x = MATCHED(m, 'x'), *z = MATCHED(m, 'z');
    const struct attr *own = node_attr(n, "pads");
    int spatial = x->type.rank - 2;
    int64_t pads[64] = {0}, none[64] = {0};
    bool any = false;
    if (spatial < 1 || spatial > 30 || z->init || z->type.rank || z->type.dtype != x->type.dtype) return NULL;
    if (!own || own->n != 2 * spatial) return NULL;
    for (int k = 0; k < spatial; k++) {
        int64_t before = own->u.is[k], after = own->u.is[k + spatial];
        if (before < 0 || after < 0) return NULL;
        pads[k + 2] = before, pads[k + spatial + 4] = after;
        any |= before || after;
    }
    struct value *around = any ? RULE_NODE(m, "Pad", x, rule_ints(m, pads, 2 * spatial + 4), z) : NULL;
    if (!around) return NULL;
    struct value **ins = arena_copy(&m->g->ctx->arena, n->ins.v, (size_t)n->ins.n * sizeof *ins);
    ins[0] = around;
    struct node *by = node_new(n->in, n, "", n->op_type, ins, n->ins.n, 1);
    for (int k = 0; k < n->attrs.n; k++) node_set_attr(by, n->attrs.v[k]);
    node_set_attr(by, rule_attr_ints(m, "pads", none, 2 * spatial));
    return rule_typed(m, by);
}

/* ---- taps that only ever meet padding, at any position of the kernel: large dilations over small images */
struct axis_of_window {
    int64_t size, places, taps, step, dilation, before, after;
};
static int64_t int_at(const struct node *n, const char *name, int k, int64_t none) {
    const struct attr *a = node_attr(n, name);
    return a && k < a->n ? a->u.is[k] : none;
}
static bool axis_of_window(const struct node *n, const struct value *w, int k, struct axis_of_window *a) {
    int spatial = n->ins.v[0]->type.rank - 2;
    a->step = int_at(n, "strides", k, 1), a->dilation = int_at(n, "dilations", k, 1);
    a->before = int_at(n, "pads", k, 0), a->after = int_at(n, "pads", k + spatial, 0);
    return x_is_int(n->ins.v[0]->type.dims[k + 2], &a->size) && x_is_int(n->outs.v[0]->type.dims[k + 2], &a->places) &&
           x_is_int(w->type.dims[k + 2], &a->taps) && a->size > 0 && a->places > 0;
}
/* The taps that lie inside the image at some position, and the padding for these alone. */
static struct part taps_that_meet(struct axis_of_window *a) {
    struct part p = {0, 1, a->taps};
    for (; p.length > 1 && (a->places - 1) * a->step < a->before && a->before >= a->dilation; p.start++, p.length--)
        a->before -= a->dilation;
    for (; p.length > 1 && a->after >= a->dilation && (p.length - 1) * a->dilation - a->before >= a->size; p.length--)
        a->after -= a->dilation;
    return p;
}
static bool is_finite(const struct value *w) {
    const struct tensor *t = w->init;
    int64_t n = t ? tensor_count(t) : 0;
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(tensor_f(t, i))) return false;
    return t;
}
/* weights: which operand they are. */
static struct value *without_far_taps(struct match *m, int weights) {
    struct node *n = m->node[0];
    struct value *w = n->ins.v[weights];
    const struct attr *kernel = node_attr(n, "kernel_shape");
    int rank = n->ins.v[0]->type.rank, spatial = rank - 2;
    struct part p[32];
    int64_t pads[64], taps[32];
    bool fewer = false;
    if (spatial < 1 || rank > 32 || w->type.rank != rank || !has_explicit_pads(n)) return NULL;
    p[0] = p[1] = (struct part){0, 1, -1};
    for (int k = 0; k < spatial; k++) {
        struct axis_of_window a;
        if (!axis_of_window(n, w, k, &a)) return NULL;
        p[k + 2] = taps_that_meet(&a);
        fewer |= p[k + 2].length < a.taps;
        pads[k] = a.before, pads[k + spatial] = a.after, taps[k] = p[k + 2].length;
    }
    if (!fewer || !is_finite(w)) return NULL;
    struct value **ins = arena_copy(&m->g->ctx->arena, n->ins.v, (size_t)n->ins.n * sizeof *ins);
    if (!(ins[weights] = slice(m, w, p))) return NULL;
    struct node *by = node_new(n->in, n, "", n->op_type, ins, n->ins.n, 1);
    for (int k = 0; k < n->attrs.n; k++) node_set_attr(by, n->attrs.v[k]);
    node_set_attr(by, rule_attr_ints(m, "pads", pads, 2 * spatial));
    if (kernel) node_set_attr(by, rule_attr_ints(m, "kernel_shape", taps, spatial));
    return rule_typed(m, by);
}
static struct value *fewer_taps(struct match *m) { return without_far_taps(m, 1); }
static struct value *fewer_quantized_taps(struct match *m) { return without_far_taps(m, 3); }

/* ---- a transposed convolution that moves by one */
/* Weights [C, M/g, ...] as a convolution's [M, C/g, ...], each window backwards. */
static struct value *turned_weights(struct match *m, struct value *w, int64_t groups) {
    const int64_t *dims = w->init->dims;
    int64_t parts[33], whole[32], order[33], first[32], end[32], axes[32], back[32];
    int rank = w->type.rank, spatial = rank - 2;
    for (int k = 0; k < rank; k++) {
        parts[k + 1] = whole[k] = dims[k], order[k + 1] = k + 1;
        if (dims[k] < 1) return NULL; /* 0 in a Reshape means that the dim is copied */
    }
    parts[0] = groups, parts[1] = whole[1] = dims[0] / groups, whole[0] = dims[1] * groups;
    order[0] = 0, order[1] = 2, order[2] = 1;
    for (int k = 0; k < spatial; k++) first[k] = back[k] = -1, end[k] = INT64_MIN + 1, axes[k] = k + 2;
    struct attr perm = rule_attr_ints(m, "perm", order, rank + 1);
    struct value *y = RULE_NODE(m, "Reshape", w, rule_ints(m, parts, rank + 1));
    y = RULE_NODE(m, "Reshape", rule_node(m, "Transpose", &y, 1, &perm, 1), rule_ints(m, whole, rank));
    return RULE_NODE(m, "Slice", y, rule_ints(m, first, spatial), rule_ints(m, end, spatial),
                     rule_ints(m, axes, spatial), rule_ints(m, back, spatial));
}
static struct value *forward_convolution(struct match *m) {
    struct node *n = m->node[0];
    struct value *x = MATCHED(m, 'x'), *w = MATCHED(m, 'w');
    const struct attr *shape = node_attr(n, "output_shape"), *dilations = node_attr(n, "dilations");
    int spatial = x->type.rank - 2;
    const struct attr *group = node_attr(n, "group");
    int64_t pads[64], groups = group ? group->u.i : 1;
    if (spatial < 1 || spatial > 30 || w->type.rank != x->type.rank || !has_explicit_pads(n) || (shape && shape->n))
        return NULL;
    if (groups < 1 || w->init->dims[0] % groups || x->type.dtype != w->type.dtype) return NULL;
    for (int k = 0; k < spatial; k++) {
        if (int_at(n, "strides", k, 1) != 1 || int_at(n, "output_padding", k, 0)) return NULL;
        int64_t taps = w->init->dims[k + 2], reach = sat_mul(taps - 1, int_at(n, "dilations", k, 1));
        if (reach > 1 << 30 || (taps > 1 && x_is(x->type.dims[k + 2], 1))) return NULL; /* one tap meets a lone cell */
        pads[k] = reach - int_at(n, "pads", k, 0), pads[k + spatial] = reach - int_at(n, "pads", k + spatial, 0);
        if (pads[k] < 0 || pads[k + spatial] < 0) return NULL;
    }
    struct value **ins = arena_copy(&m->g->ctx->arena, n->ins.v, (size_t)n->ins.n * sizeof *ins);
    if (!(ins[1] = turned_weights(m, w, groups))) return NULL;
    struct node *by = node_new(n->in, n, "", "Conv", ins, n->ins.n, 1);
    if (dilations) node_set_attr(by, *dilations);
    node_set_attr(by, rule_attr_int("group", groups));
    node_set_attr(by, rule_attr_ints(m, "pads", pads, 2 * spatial));
    return rule_typed(m, by);
}

/* ---- the greatest of a large window: of its rows, then of these along the next axis */
/* The pool along axis k alone, or what it moves by there. */
static struct value *pool_along(struct match *m, struct value *x, int k) {
    static const struct {
        const char *name;
        bool pads;
    } lists[] = {{"kernel_shape", false}, {"strides", false}, {"dilations", false}, {"pads", true}};
    const struct node *n = m->node[0];
    struct node *by = node_new(n->in, (struct node *)n, "", n->op_type, &x, 1, 1);
    int spatial = x->type.rank - 2;
    for (int a = 0; a < n->attrs.n; a++) node_set_attr(by, n->attrs.v[a]);
    for (int a = 0; a < 4; a++) {
        int64_t list[64], none = lists[a].pads ? 0 : 1;
        int count = lists[a].pads ? 2 * spatial : spatial;
        for (int j = 0; j < count; j++) list[j] = j % spatial == k ? int_at(n, lists[a].name, j, none) : none;
        node_set_attr(by, rule_attr_ints(m, lists[a].name, list, count));
    }
    return rule_typed(m, by);
}
static struct value *pool_by_axes(struct match *m) {
    const struct node *n = m->node[0];
    struct value *x = MATCHED(m, 'x');
    int spatial = x->type.rank - 2;
    double window = 1, along = 0;
    if (spatial < 2 || spatial > 30) return NULL;
    for (int k = 0; k < spatial; k++) {
        int64_t taps = int_at(n, "kernel_shape", k, 1);
        window *= (double)taps, along += taps > 1 ? (double)taps : 0;
    }
    if (along == 0 || window < 2 * along) return NULL; /* one more tensor is written and read */
    for (int k = spatial; x && k-- > 0;) {
        bool stays = int_at(n, "kernel_shape", k, 1) == 1 && int_at(n, "strides", k, 1) == 1 &&
                     !int_at(n, "pads", k, 0) && !int_at(n, "pads", k + spatial, 0);
        if (!stays) x = pool_along(m, x, k);
    }
    return x;
}

const struct rule rules_parts[] = {
    {"slice-of-slice", "Slice(Slice(x, ...), ...)", "one Slice", SAME_BITS, one_slice},
    {"slice-of-all", "Slice(x, ...)", "x, if that is all of it", SAME_BITS, whole_slice},
    {"slice-of-concat", "Slice(Concat(x, ...), ...)", "a Slice of the operand that it lies in", SAME_BITS,
     slice_of_concat},
    {"concat-of-concat", "Concat(x, ...)", "one Concat of all operands", SAME_BITS, one_concat},
    {"concat-of-split", "Concat(Split(x, ...), ...)", "what Split took apart", SAME_BITS, split_again},
    {"concat-of-slices", "Concat(Slice(x, ...), ...)", "one Slice, if they are neighbours", SAME_BITS, adjacent_slices},
    {"gather-of-neighbours", "Gather(x, i:const)", "a Slice", SAME_BITS, gathered_slice},
    {"pad-of-pad", "Pad(Pad(x, ...), ...)", "one Pad", SAME_BITS, one_pad},
    {"conv-of-pad", "Conv(Pad(x, ...), ...)", "Conv with more padding", SAME_BITS, pad_into_window},
    {"conv-of-few-taps", "Conv(x, ...)", "Conv without the taps that meet padding alone", SAME_VALUES, fewer_taps},
    {"integer-conv-of-few-taps", "ConvInteger(x, ...)", "ConvInteger without the taps that meet padding alone",
     SAME_BITS, fewer_taps},
    {"quantized-conv-of-few-taps", "QLinearConv(x, ...)", "QLinearConv without the taps that meet padding alone",
     SAME_BITS, fewer_quantized_taps},
    {"conv-transpose-by-one", "ConvTranspose(x, w:const, ...)", "Conv with turned weights, if the strides are 1",
     SAME_BITS, forward_convolution},
    {"max-pool-by-axes", "MaxPool(x)", "a MaxPool along each axis, if the window is large", SAME_VALUES, pool_by_axes},
    {"average-pool-of-pad", "AveragePool(Pad(x, ...))", "AveragePool that counts its padding", SAME_BITS,
     pad_into_window},
    {"pad-by-zero-point", "ConvInteger(x, y, z, ...)", "Pad by z and no padding, if only the run knows z", SAME_BITS,
     pad_by_zero_point},
    {0},
};
