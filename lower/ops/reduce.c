/* Reductions over axes, which may be known only at run time, and positions of extremes (ArgMax, ArgMin). */
#include "lower/ops/ops.h"
#include <math.h>

/* Which axes are reduced: a constant, or a condition over the run-time values of the axes input. */
struct reduction {
    T x;
    E mask[32]; /* BOOL, one for each axis */
    bool known, keep;
    int count;    /* axes reduced, as far as it is known */
    X o, r, from; /* over all axes: extent in o is 1 if reduced, in r 1 if not */
};
static void fresh_axes(struct reduction *d) {
    X s = shape(d->x), os = list0(), rs = list0();
    for (int k = 0; k < s.n; k++) {
        os = push(os, sel(d->mask[k], idx(1), s.v[k]));
        rs = push(rs, sel(d->mask[k], s.v[k], idx(1)));
    }
    if (d->known) { /* loops over what is reduced only */
        X r = list0();
        for (int k = 0; k < s.n; k++)
            if (x_is_true(d->mask[k])) r = push(r, s.v[k]);
        d->o = axes(os);
        d->r = raxes(r, NULL);
        d->from = list0();
        for (int k = 0, j = 0; k < s.n; k++) d->from = push(d->from, x_is_true(d->mask[k]) ? d->r.v[j++] : d->o.v[k]);
        return;
    }
    d->o = axes(os);
    d->r = raxes(rs, NULL);
    d->from = list0();
    for (int k = 0; k < s.n; k++) /* an axis without elements has no index 0 either */
        d->from = push(d->from, within(sel(d->mask[k], d->r.v[k], d->o.v[k]), s.v[k]));
}
static bool reduction_of(struct reduction *d) {
    d->x = in(0);
    d->keep = int_attr("keepdims");
    bool open = has(in(1)) && open_length(in(1));
    int named = open && !d->keep ? count_by_rank(in(1), rank(d->x), -1) : 0;
    if (named < 0) return false;
    d->count =
        axes_mask(in(1), rank(d->x), int_attr("noop_with_empty_axes") ? AXES_NONE : AXES_ALL, d->mask, &d->known);
    if (d->count < 0) return false;
    if (open && !d->keep) d->count = named;
    fresh_axes(d);
    return true;
}
static E reduced_count(const struct reduction *d) {
    E n = idx(1);
    for (int k = 0; k < rank(d->x); k++) n = mul(n, sel(d->mask[k], dim(d->x, k), idx(1)));
    return n;
}
/* Makes the result from y, which has all axes. */
static void finish(struct reduction *d, T y, E (*f)(E v, const struct reduction *d)) {
    if (!y) return;
    enum dtype t = dtype(d->x);
    X dims = d->keep ? shape(y) : kept_dims(shape(d->x), d->mask, rank(d->x) - d->count), i = axes(dims);
    E v = at_reshaped(y, i, dims);
    if (d->known && !d->keep) { /* drops axes of 1 directly, so that no reshape has to be proved valid */
        X j = list0();
        for (int k = 0, o = 0; k < rank(y); k++) j = push(j, x_is_true(d->mask[k]) ? idx(0) : i.v[o++]);
        v = at(y, j);
    }
    out(0, t, i, f ? f(v, d) : v);
}
static E same(E v) { return v; }
static E square(E v) { return mul(v, v); }
static void reduction(const char *name, enum red_op op, E (*before)(E v), E (*after)(E v, const struct reduction *d)) {
    struct reduction d;
    if (!reduction_of(&d)) return;
    finish(&d, reduce(name, acc(d.x), d.o, op, d.r, before(at(d.x, d.from)), NULL), after);
}
/* The greatest or least of elements of type t, in the type in which they are computed: it is one of them, so no
 * rounding is needed. */
static T extreme_of(const char *name, enum dtype t, X o, enum red_op op, X r, E element) {
    return reduce(name, dtype_value(t), o, op, r, element, t == dtype_value(t) ? NULL : neutral(op, t));
}
/* NaN if there is one. */
static void extreme(const char *name, enum red_op op) {
    struct reduction d;
    if (!reduction_of(&d)) return;
    enum dtype t = dtype(d.x);
    if (dtype_is_float(t)) op = op == RED_MAX ? RED_NMAX : RED_NMIN;
    finish(&d, extreme_of(name, t, d.o, op, d.r, at(d.x, d.from)), NULL);
}
static E f_mean(E v, const struct reduction *d) { return div_(v, cast((enum dtype)v->type, val(reduced_count(d)))); }
static E f_sqrt(E v, const struct reduction *d) {
    bool whole = v->type != F32 && v->type != F64;
    return (void)d, whole ? cast((enum dtype)v->type, sqrt_(cast(F64, v))) : sqrt_(v);
}
static E f_log(E v, const struct reduction *d) {
    bool whole = v->type != F32 && v->type != F64;
    return (void)d, whole ? cast((enum dtype)v->type, log_(cast(F64, v))) : log_(v);
}
static void op_sum(void) { reduction("sum", RED_SUM, same, NULL); }
static void op_mean(void) { reduction("sum", RED_SUM, same, f_mean); }
static void op_prod(void) { reduction("product", RED_PROD, same, NULL); }
static void op_l1(void) { reduction("sum", RED_SUM, abs_, NULL); }
static void op_l2(void) { reduction("squares", RED_SUM, square, f_sqrt); }
static void op_sumsquare(void) { reduction("squares", RED_SUM, square, NULL); }
static void op_logsum(void) { reduction("sum", RED_SUM, same, f_log); }
static void op_max(void) { extreme("max", dtype(in(0)) == BOOL ? RED_OR : RED_MAX); }
static void op_min(void) { extreme("min", dtype(in(0)) == BOOL ? RED_AND : RED_MIN); }
/* log(sum(exp(x - m))) + m; m is 0 where the maximum is infinite, so that no inf - inf arises. */
static void op_logsumexp(void) {
    struct reduction d;
    if (!reduction_of(&d)) return;
    enum dtype t = dtype(d.x) == F64 || !dtype_is_float(dtype(d.x)) ? F64 : F32;
    T m = reduce("max", t, d.o, RED_MAX, d.r, cast(t, at(d.x, d.from)), NULL);
    if (!m) return;
    X j = axes(shape(m));
    T f = stage("finite", t, j, sel(lt(abs_(at(m, j)), greatest(t)), at(m, j), num(0)));
    fresh_axes(&d);
    T s = reduce("sum", t, d.o, RED_SUM, d.r, exp_(sub(cast(t, at(d.x, d.from)), at(f, d.o))), NULL);
    X o = axes(shape(s));
    finish(&d, stage("logarithm", t, o, add(log_(at(s, o)), at(f, o))), NULL);
}

/* ---- positions of the extremes */
static void arg(enum red_op op) {
    T x = in(0);
    bool last = int_attr("select_last_index"), keep = int_attr("keepdims");
    int a = axis_attr("axis", x);
    if (rank(x) == 0) {
        out(0, I64, list0(), num(0));
        return;
    }
    require(lt(idx(0), dim(x, a)), "the axis has no elements, so none is the %s", op == RED_MAX ? "greatest" : "least");
    X o = axes(drop(shape(x), a)), p = axes(drop(shape(x), a));
    E r = raxis(dim(x, a), "k"), q = raxis(dim(x, a), "k");
    E element = at(x, splice(o, a, 0, list1(r)));
    T m = extreme_of(op == RED_MAX ? "max" : "min", dtype(x), o, op, list1(r), element);
    if (!m) return;
    /* NaN counts before all numbers; of several, the first or last is taken. So its keys are outside of the range of
     * others': for the first one below 0 (where none is above all), for the last one from 0 on (where the others are
     * below, and none is below all). */
    enum dtype t = index_most(dim(x, a)) <= INT32_MAX ? I32 : I64;
    E v = at(x, splice(p, a, 0, list1(q))), at_q = cast(t, val(q)), below = sub(at_q, greatest(t));
    E own = last ? below : at_q, none = last ? sub(neg(greatest(t)), typed(t, 1)) : greatest(t);
    E here = sel(eq(v, at(m, p)), own, none);
    if (dtype_is_float(dtype(x))) here = sel(is_nan(v), last ? at_q : sub(below, typed(t, 1)), here);
    T f = reduce("place", t, p, last ? RED_MAX : RED_MIN, list1(q), here, NULL);
    X i = axes(keep ? put(shape(x), a, idx(1)) : drop(shape(x), a));
    E place = cast(I64, at(f, keep ? drop(i, a) : i)), moved = add(place, cast(I64, greatest(t)));
    out(0, I64, i, sel(lt(place, num(0)), last ? moved : add(moved, num(1)), place));
}
static void op_argmax(void) { arg(RED_MAX); }
static void op_argmin(void) { arg(RED_MIN); }

/* The axes were an attribute before opset 18 (ReduceSum: 13). */
static void up_axes(struct node *n) { up_attr_to_input(n, "axes", 1); }
static const struct op_upgrade u_axes[] = {{17, up_axes}, {0}}, u_sum_axes[] = {{12, up_axes}, {0}};
static const struct op_attr a_reduce[] = {A_INT("keepdims", .i = 1), A_INT("noop_with_empty_axes"), {0}};
static const struct op_attr a_arg[] = {
    A_INT("axis"), A_INT("keepdims", .i = 1), A_INT("select_last_index", .since = 12), {0}};
static const struct op_slot s_reduce[] = {{"data", TS_NUM | TSET(BOOL), 0}, {"axes", TSET(I64), OPTIONAL}, {0}},
                            s_num[] = {{"data", TS_NUM, 0}, {0}};
#define ROW(name, fn)                                                                                                  \
    {                                                                                                                  \
        "", name, 18, 1, a_reduce, s_reduce, slots_y, .define = fn, .upgrades = u_axes, .spec = name "-18", .axes = {  \
            AXES_LIST,                                                                                                 \
            .reduces = true                                                                                            \
        }                                                                                                              \
    }
const struct op ops_reduce[] = {
    {"", "ReduceSum", 13, 1, a_reduce, s_reduce, slots_y, .define = op_sum, .upgrades = u_sum_axes,
     .spec = "ReduceSum-13", .axes = {AXES_LIST, .reduces = true}},
    ROW("ReduceMean", op_mean),
    ROW("ReduceMax", op_max),
    ROW("ReduceMin", op_min),
    ROW("ReduceProd", op_prod),
    ROW("ReduceL1", op_l1),
    ROW("ReduceL2", op_l2),
    ROW("ReduceLogSum", op_logsum),
    ROW("ReduceSumSquare", op_sumsquare),
    ROW("ReduceLogSumExp", op_logsumexp),
    {"", "ArgMax", 13, 1, a_arg, s_num, slots_y, .define = op_argmax, .spec = "ArgMax-13",
     .axes = {AXES_ATTR, .reduces = true}},
    {"", "ArgMin", 13, 1, a_arg, s_num, slots_y, .define = op_argmin, .spec = "ArgMin-13",
     .axes = {AXES_ATTR, .reduces = true}},
    {0},
};
