/* Ops that move blocks of elements: Concat, Split, Slice, and the blocks of DepthToSpace and SpaceToDepth. */
#include "lower/ops/ops.h"
#include <string.h>

/* ---- Concat: a tree of choices over the axis, so that a far operand costs few comparisons */
enum { CHOICES_MAX = 1024 };
struct part {
    T t;
    E first;
};
static E choose(const struct part *p, int n, X i, int axis) {
    if (n == 1) {
        X j = put(i, axis, sub(i.v[axis], p->first));
        for (int d = 0; d < j.n; d++) /* equal only thanks to a check */
            if (d != axis && dim(p->t, d) != i.v[d]->u.var->extent) j = put(j, d, wrap_index(i.v[d], dim(p->t, d)));
        return at(p->t, j);
    }
    int half = n / 2;
    return sel(lt(i.v[axis], p[half].first), choose(p, half, i, axis), choose(p + half, n - half, i, axis));
}
static void concat(int axis) {
    int n = n_in(), m = 0;
    struct part p[CHOICES_MAX];
    E at_k = idx(0);
    T x = in(0);
    for (int k = 0; k < n; k++) {
        T t = in(k);
        if (fail_if(rank(t) != rank(x), E_RANK, "input %d has rank %d, input 0 has %d", k, rank(t), rank(x))) return;
        for (int d = 0; d < rank(x); d++)
            if (d != axis) require(eq(dim(t, d), dim(x, d)), "input %d differs from input 0 on axis %d", k, d);
        if (x_is(dim(t, axis), 0)) continue;
        p[m].t = t, p[m++].first = at_k;
        at_k = add(at_k, dim(t, axis));
    }
    X s = put(shape(x), axis, at_k);
    if (m == 0) p[m].t = x, p[m++].first = idx(0);
    X i = axes(s);
    out(0, dtype(x), i, choose(p, m, i, axis));
}
/* One nest for each operand, stored where it belongs. */
static void concat_nests(int axis) {
    X dims = shape(in(0));
    E total = idx(0);
    for (int k = 0; k < n_in(); k++) {
        T t = in(k);
        if (fail_if(rank(t) != dims.n, E_RANK, "input %d has rank %d instead of %d", k, rank(t), dims.n)) return;
        for (int d = 0; d < dims.n; d++)
            if (d != axis) require(eq(dim(t, d), dims.v[d]), "input %d differs on axis %d", k, d);
        total = add(total, dim(t, axis));
    }
    T y = result(0, dtype(in(0)), put(dims, axis, total));
    E offset = idx(0);
    for (int k = 0; k < n_in(); k++) {
        X i = axes(shape(in(k))), to = put(i, axis, add(i.v[axis], offset));
        for (int d = 0; d < dims.n; d++) /* equal only by the check above */
            if (d != axis && dim(in(k), d) != dims.v[d]) to = put(to, d, wrap_index(i.v[d], dims.v[d]));
        stage_into(y, i, to, at(in(k), i));
        offset = add(offset, dim(in(k), axis));
    }
}
static void op_concat(void) {
    T x = in(0);
    if (fail_if(rank(x) == 0, E_RANK, "scalars cannot be concatenated")) return;
    int axis = axis_attr("axis", x);
    bool open = false;
    for (int k = 0; k < n_in(); k++) open |= axis < rank(in(k)) && dim(in(k), axis)->op != X_CONST;
    /* a single expression lets inference look into known elements */
    if (n_in() > 1 && (open || n_in() > CHOICES_MAX || (rank(x) > 1 && dtype_is_float(dtype(x))))) concat_nests(axis);
    else concat(axis);
}
static void up_concat(struct node *n) { up_default_int(n, "axis", 1); }
static const struct op_upgrade u_concat[] = {{3, up_concat}, {0}};

/* ---- Split */
static void op_split(void) {
    T x = in(0), sizes = in(1);
    int a = axis_attr("axis", x), n = n_out();
    if (fail_if(rank(x) == 0, E_RANK, "a scalar cannot be split")) return;
    E first = idx(0), full = dim(x, a);
    int64_t parts = has_attr("num_outputs") ? int_attr("num_outputs") : n;
    if (fail_if(parts < 1, E_ATTR, "attribute \"num_outputs\" must be positive")) return;
    if (has(sizes) && !has_length(sizes, n, "sizes of the parts")) return;
    if (!has(sizes) && !has_attr("num_outputs"))
        require(multiple_of(full, idx(parts)), "the axis cannot be split into %lld equal parts", (long long)parts);
    E even = has_attr("num_outputs") ? ceil_div(full, idx(parts)) : div_(full, idx(parts));
    for (int k = 0; k < n; k++) {
        E size = has(sizes)                 ? value(sizes, k, 0, DIM_MAX)
                 : !has_attr("num_outputs") ? even
                 : k == parts - 1           ? sub(full, first)
                                            : min_(even, sub(full, first));
        require(ge(size, idx(0)), "part %d has a negative size", k);
        if (has(sizes)) require(le(add(first, size), full), "the parts are longer than the axis");
        X i = axes(put(shape(x), a, max_(size, idx(0))));
        E from = add(i.v[a], first);
        out(k, dtype(x), i, at(x, put(i, a, has(sizes) ? within(from, full) : from)));
        first = add(first, size);
    }
    require(eq(first, full), "the parts do not cover the axis");
}
static void up_split(struct node *n) { up_attr_to_input(n, "split", 1); }
static const struct op_upgrade u_split[] = {{12, up_split}, {0}};

/* ---- Slice: first element and number of elements of each axis, after clamping */
static E pick(E axis_value, int k, E taken, E otherwise) { return sel(eq(axis_value, idx(k)), taken, otherwise); }
/* Exporters write "to the end" as some large number. For a symbolic dim the end is then the dim itself, which keeps
 * shapes simple; a check that the dim is not larger is added, and folds away if the symbol's range implies it. */
static E to_end(E end, E step, E d, E axis) {
    int64_t c, by, a;
    if (!const_int(end, &c) || c < 1000000000 || !const_int(step, &by) || by < 1 || !const_int(axis, &a) ||
        const_int(d, &a))
        return end;
    require(le(d, end), "the axis is longer than the end of Slice");
    return d;
}
static void op_slice(void) {
    T x = in(0), starts = in(1), ends = in(2), ax = in(3), st = in(4);
    const T lists[] = {starts, ends, ax, st};
    int n = -1, r = rank(x);
    for (int k = 0; k < 4; k++) /* the length that is known, if one is */
        if (has(lists[k]) && !open_length(lists[k]) && (n = count_of(lists[k])) < 0) return;
    bool open = n < 0;
    if (fail_if(n > r, E_SHAPE, "Slice of %d axes of an input of rank %d", n, r)) return;
    for (int k = 0; k < 4 && !open; k++)
        if (has(lists[k]) && !has_length(lists[k], n, "starts, ends, axes and steps of Slice differ in length")) return;
    if (open) {
        n = r;
        require(le(dim(starts, 0), idx(r)), "Slice of more axes than the input has");
        for (int k = 1; k < 4; k++)
            if (has(lists[k]))
                require(eq(dim(lists[k], 0), dim(starts, 0)), "starts, ends, axes and steps of Slice differ in length");
    }
    E lo[32], hi[32], by[32], on[32];
    for (int j = 0; j < n; j++) {
        int64_t c;
        lo[j] = bounded_value(starts, j), hi[j] = bounded_value(ends, j),
        by[j] = !has(st) ? idx(1)
                : open   ? sel(lt(idx(j), dim(st, 0)), bounded_value(st, j), idx(1))
                         : bounded_value(st, j);
        E a = idx(j); /* r, which is no axis, behind the end of lists of open length */
        if (open) a = has(ax) ? value_or(ax, j, -r, r, r) : sel(lt(idx(j), dim(starts, 0)), idx(j), idx(r));
        else if (has(ax)) a = value(ax, j, -r, r - 1);
        on[j] = const_int(a, &c) ? idx(norm_axis(c, r)) : sel(lt(a, idx(0)), add(a, idx(r)), a);
        require(ne(by[j], idx(0)), "step %d of Slice is 0", j);
    }
    X dims = list0(), first = list0(), step = list0();
    for (int k = 0; k < r; k++) {
        E d = dim(x, k), s = idx(0), e = d, b = idx(1);
        bool whole = true;
        for (int j = 0; j < n; j++) {
            int64_t c;
            if (const_int(on[j], &c) && c != k) continue;
            whole = false;
            s = pick(on[j], k, lo[j], s), e = pick(on[j], k, to_end(hi[j], by[j], d, on[j]), e),
            b = pick(on[j], k, by[j], b);
        }
        if (whole) {
            dims = push(dims, d), first = push(first, idx(0)), step = push(step, idx(1));
            continue;
        }
        E up = gt(b, idx(0)), last = sub(d, idx(1));
        s = sel(lt(s, idx(0)), add(s, d), s);
        e = sel(lt(e, idx(0)), add(e, d), e);
        s = sel(up, clampi(s, idx(0), d), clampi(s, idx(0), last));
        e = sel(up, clampi(e, idx(0), d), clampi(e, idx(-1), last));
        E size = sel(up, ceil_div(sub(e, s), max_(b, idx(1))), ceil_div(sub(s, e), max_(neg(b), idx(1))));
        dims = push(dims, max_(size, idx(0))), first = push(first, s), step = push(step, b);
    }
    X i = axes(dims), from = list0();
    for (int k = 0; k < r; k++) {
        E p = add(first.v[k], mul(i.v[k], step.v[k]));
        from =
            push(from, x_is(step.v[k], 1) && x_is(first.v[k], 0) && dims.v[k] == dim(x, k) ? i.v[k]
                                                                                           : wrap_index(p, dim(x, k)));
    }
    out(0, dtype(x), i, at(x, from));
}
static void up_slice(struct node *n) {
    up_attr_to_input(n, "starts", 1);
    up_attr_to_input(n, "ends", 2);
    up_attr_to_input(n, "axes", 3);
}
static const struct op_upgrade u_slice[] = {{9, up_slice}, {0}};

/* ---- blocks of space and depth: [n, c, h, w] */
static bool block_of(T x, int64_t *b) {
    *b = int_attr("blocksize");
    if (rank(x) == 4 && *b > 0) return true;
    fail(E_SHAPE, "the input must have four axes and the block size be positive");
    return false;
}
static void op_depthtospace(void) {
    T x = in(0);
    int64_t b;
    if (!block_of(x, &b)) return;
    E c = div_(dim(x, 1), idx(b * b)), bs = idx(b);
    require(multiple_of(dim(x, 1), idx(b * b)), "the number of channels is no multiple of the block");
    X i = axes_named(cat(list2(dim(x, 0), c), list2(mul(dim(x, 2), bs), mul(dim(x, 3), bs))), "n oc oh ow");
    E inner = add(mul(mod_(i.v[2], bs), bs), mod_(i.v[3], bs));
    E ch = strcmp(str_attr("mode"), "CRD") ? add(mul(inner, c), i.v[1]) : add(mul(i.v[1], idx(b * b)), inner);
    int64_t known;
    if (!const_int(c, &known)) ch = within(ch, dim(x, 1));
    out(0, dtype(x), i, at(x, cat(list2(i.v[0], ch), list2(div_(i.v[2], bs), div_(i.v[3], bs)))));
}
static void op_spacetodepth(void) {
    T x = in(0);
    int64_t b;
    if (!block_of(x, &b)) return;
    E bs = idx(b), c = dim(x, 1);
    for (int k = 2; k < 4; k++) require(multiple_of(dim(x, k), bs), "axis %d is no multiple of the block", k);
    X i = axes_named(cat(list2(dim(x, 0), mul(c, idx(b * b))), list2(div_(dim(x, 2), bs), div_(dim(x, 3), bs))),
                     "n oc oh ow");
    bool depth_first = !strcmp(str_attr("mode"), "CRD");
    E block = depth_first ? mod_(i.v[1], idx(b * b)) : div_(i.v[1], c),
      ch = depth_first ? div_(i.v[1], idx(b * b)) : mod_(i.v[1], c);
    E h = add(mul(i.v[2], bs), div_(block, bs)), w = add(mul(i.v[3], bs), mod_(block, bs));
    out(0, dtype(x), i,
        at(x, cat(list2(i.v[0], wrap_index(ch, c)), list2(wrap_index(h, dim(x, 2)), wrap_index(w, dim(x, 3))))));
}
/* The first lens[b] elements along the time axis in reverse order, for each b of the batch axis. */
static void op_reversesequence(void) {
    T x = in(0), lens = in(1);
    int64_t b = int_attr("batch_axis"), t = int_attr("time_axis");
    if (fail_if(b + t != 1 || b * t != 0 || rank(x) < 2, E_ATTR, "time_axis and batch_axis must be 0 and 1")) return;
    require(eq(dim(lens, 0), dim(x, (int)b)), "sequence_lens is for another batch size");
    X i = axes(shape(x));
    E n = at(lens, list1(i.v[b])), p = val(i.v[t]), q = sel(lt(p, n), sub(sub(n, num(1)), p), p);
    out(0, dtype(x), i, at(x, put(i, (int)t, wrap_index(q, dim(x, (int)t)))));
}

static const struct op_attr a_axis[] = {A_INT("axis", .flags = A_REQUIRED), {0}},
                            a_split[] = {A_INT("axis"), A_INT("num_outputs", .since = 18), {0}};
static const struct op_attr a_block[] = {
    A_INT("blocksize", .flags = A_REQUIRED), A_STRING("mode", .s = "DCR", .since = 11), {0}};
static const struct op_attr a_rev[] = {A_INT("batch_axis", .i = 1), A_INT("time_axis"), {0}};
static const struct op_slot s_split[] = {{"input", TS_ANY, 0}, {"split", TSET(I64), OPTIONAL}, {0}},
                            s_rev[] = {{"input", TS_ANY, 0}, {"sequence_lens", TSET(I64), 0}, {0}};
static const struct op_slot s_slice[] = {{"data", TS_ANY, 0},           {"starts", TS_INDEX, 0},
                                         {"ends", TS_INDEX, 0},         {"axes", TS_INDEX, OPTIONAL},
                                         {"steps", TS_INDEX, OPTIONAL}, {0}};
const struct op ops_index[] = {
    {"", "Concat", 13, 1, a_axis, slots_many, slots_y, .define = op_concat, .upgrades = u_concat, .spec = "Concat-13",
     .flags = OP_PICKS, .axes = {AXES_ATTR}},
    {"", "Split", 18, 1, a_split, s_split, slots_ys, .define = op_split, .upgrades = u_split, .spec = "Split-18",
     .flags = OP_PICKS, .axes = {AXES_ATTR}},
    {"", "Slice", 13, 1, attrs_none, s_slice, slots_y, .define = op_slice, .upgrades = u_slice, .spec = "Slice-13",
     .flags = OP_PICKS, .axes = {AXES_SLICE}},
    {"", "DepthToSpace", 13, 1, a_block, slots_x, slots_y, .define = op_depthtospace, .spec = "DepthToSpace-13",
     .flags = OP_PICKS},
    {"", "SpaceToDepth", 13, 1, a_block, slots_x, slots_y, .define = op_spacetodepth, .spec = "SpaceToDepth-13",
     .flags = OP_PICKS},
    {"", "ReverseSequence", 10, 10, a_rev, s_rev, slots_y, .define = op_reversesequence, .spec = "ReverseSequence-10"},
    {0},
};
