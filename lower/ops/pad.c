/* Pad: constant, reflect, edge and wrap; pads may be negative (crop) and known only at run time. */
#include "lower/ops/ops.h"
#include <string.h>

/* Position in 0..n-1 whose element is used for p, which may lie outside. */
static E mirrored(E p, E n) { /* 0 1 2 3 2 1 0 1 ... */
    E period = max_(mul(sub(n, idx(1)), idx(2)), idx(1)), m = mod_(p, period);
    return sel(lt(m, n), m, sub(period, m));
}
static E mirrored_once(E p, E n) {
    return sel(lt(p, idx(0)), neg(p), sel(lt(p, n), p, sub(mul(sub(n, idx(1)), idx(2)), p)));
}
/* What is cropped at one end does not reappear at the other: 1 2 3, and not 4, around 1 2 3 of 1 2 3 4. */
static E wrapped(E p, E before, E after, E n) {
    E first = max_(neg(before), idx(0)), left = sub(n, add(first, max_(neg(after), idx(0))));
    return add(first, mod_(sub(p, first), max_(left, idx(1))));
}
static bool reaches_once(E before, E after, E n) { /* each pad is shorter than the axis */
    return x_is_true(lt(before, n)) && x_is_true(lt(after, n));
}
/* Sizes are sums of pads, which must not overflow: pads beyond 2^40 are refused, or fail at run time. */
static bool in_reach(E pad, int k) {
    int64_t v;
    if (!const_int(pad, &v) || (-FAR <= v && v <= FAR)) return true;
    fail(E_SIZE, "pads: element %d is %lld, not from -2^40 to 2^40", k, (long long)v);
    help("correct the pads where the model is made: no tensor has an axis of that length");
    return false;
}
static E open_pad(T pads, E place) { /* 0 behind the end */
    T one = stage("pad", I64, list0(), at_or(pads, list1(place), num(0)));
    return size_from(NULL, one, 0, idx(-FAR), idx(FAR));
}
static void op_pad(void) {
    T x = in(0), pads = in(1), fill = in(2);
    const char *mode = str_attr("mode");
    bool constant = !strcmp(mode, "constant"), reflect = !strcmp(mode, "reflect"), edge = !strcmp(mode, "edge"),
         wrap = !strcmp(mode, "wrap");
    T ax = in(3);
    bool open = has(ax) && open_length(ax); /* beyond the end of both lists nothing is padded */
    int r = rank(x), n = has(ax) && !open ? count_of(ax) : r;
    if (n < 0 || (!open && !has_length(pads, 2 * n, "pads"))) return;
    if (fail_if(open && rank(pads) != 1, E_RANK, "pads: rank %d, not 1", rank(pads))) return;
    E count = open ? dim(ax, 0) : idx(n);
    if (open)
        require(and_(le(count, idx(r)), eq(dim(pads, 0), mul(count, idx(2)))), "axes and pads do not fit each other");
    if (fail_if(!constant && !reflect && !edge && !wrap, E_ATTR,
                "attribute \"mode\" must be constant, reflect, edge or wrap"))
        return;
    E before[32], after[32];
    for (int k = 0; k < r; k++) before[k] = after[k] = idx(0);
    for (int j = 0; j < n; j++) {
        E b = open ? open_pad(pads, idx(j)) : value(pads, j, -FAR, FAR);
        E e = open ? open_pad(pads, add(count, idx(j))) : value(pads, j + n, -FAR, FAR);
        if (!in_reach(b, j) || !in_reach(e, j + n)) return;
        E a = open ? value_or(ax, j, -r, r, r) : has(ax) ? value(ax, j, -r, r - 1) : idx(j);
        for (int k = 0; k < r; k++) {
            E here = or_(eq(a, idx(k)), eq(a, idx(k - r)));
            before[k] = sel(here, b, before[k]), after[k] = sel(here, e, after[k]);
        }
    }
    X dims = list0();
    for (int k = 0; k < r; k++) {
        E d = add(dim(x, k), add(before[k], after[k]));
        require(ge(d, idx(0)), "more is cropped than axis %d has", k);
        dims = push(dims, max_(d, idx(0)));
    }
    X i = axes(dims), from = list0(), own = list0();
    E inside = truth(true);
    bool divides = false;
    for (int k = 0; k < r; k++) {
        E p = sub(i.v[k], before[k]), d = dim(x, k), within_x = and_(le(idx(0), p), lt(p, d)), there = p;
        if (x_is(before[k], 0) && x_is(after[k], 0)) {
            from = push(from, p), own = push(own, p);
            continue;
        }
        bool once = reaches_once(before[k], after[k], d), far = wrap || (reflect && !once);
        if (edge) there = clampi(p, idx(0), sub(d, idx(1)));
        else if (reflect) there = once ? mirrored_once(p, d) : mirrored(p, d);
        else if (wrap) there = wrapped(p, before[k], after[k], d);
        if (!constant) there = wrap_index(there, d);
        if (constant || far) inside = and_(inside, within_x);
        from = push(from, there), own = push(own, far ? p : there);
        divides |= far;
    }
    if (!constant) { /* no remainder if there is nothing to mirror or repeat */
        out(0, dtype(x), i, divides ? sel(inside, at(x, own), at(x, from)) : at(x, from));
        return;
    }
    double c = 0;
    enum dtype v = dtype_value(dtype(x));
    if (!has(fill) || const_value(fill, 0, &c)) {
        out(0, dtype(x), i, at_or(x, from, typed(v, c)));
        return;
    }
    out(0, dtype(x), i, sel(inside, at(x, from), scalar(fill)));
}
/* Pad-2 had attributes; the value's type is that of the data, unknown at import, so CastLike gives it. */
static void up_pad(struct node *n) {
    const struct attr *v = node_attr(n, "value");
    if (node_attr(n, "paddings")) up_attr_to_input(n, "paddings", 1);
    up_attr_to_input(n, "pads", 1);
    if (v && v->kind == AT_FLOAT && v->u.f != 0 && n->ins.n) {
        struct tensor *t = tensor_new(&up_ctx(n)->arena, F32, NULL, 0);
        tensor_set_f(t, 0, (double)v->u.f);
        struct node *like =
            node_new(n->in, n, "", "CastLike", (struct value *[]){graph_const(n->in->graph, "", t), n->ins.v[0]}, 2, 1);
        like->op = op_find("", "CastLike"), like->version = OPSET_NEWEST, like->origin = n->origin,
        like->name = n->name;
        node_set_input(n, 2, like->outs.v[0]);
    }
    node_drop_attr(n, "value");
}
static const struct op_upgrade u_pad[] = {{10, up_pad}, {0}};
static const struct op_attr a_pad[] = {A_STRING("mode", .s = "constant"), {0}};
static const struct op_slot s_pad[] = {{"data", TS_ANY, 0},
                                       {"pads", TSET(I64), 0},
                                       {"constant_value", TS_ANY, OPTIONAL},
                                       {"axes", TS_INDEX, OPTIONAL},
                                       {0}};
const struct op ops_pad[] = {
    {"", "Pad", 25, 1, a_pad, s_pad, slots_y, .define = op_pad, .upgrades = u_pad, .spec = "Pad-25", .flags = OP_BLENDS,
     .axes = {AXES_PADS}},
    {0},
};
