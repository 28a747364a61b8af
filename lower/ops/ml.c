/* Traditional machine learning: what the families share: transforms of scores, the class of the greatest score, labels
 * (lower/ops/ml.h). Models become nodes of ONNX and private ones, with their attributes as constant tables. */
#include "lower/ops/ml.h"
#include <float.h>
#include <string.h>

const struct op_slot slots_ml_numbers[] = {{"X", TSET(F32) | TSET(F64) | TSET(I32) | TSET(I64), 0}, {0}};
const struct op_slot slots_ml_classes[] = {{"Y", TS_ANY, 0}, {"Z", TS_ANY, OPTIONAL}, {0}};

/* ---- transforms */
bool ml_transform_attr(enum ml_transform *t) {
    static const char *const names[ML_TRANSFORMS] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
    const char *name = str_attr("post_transform");
    for (int k = 0; k < ML_TRANSFORMS; k++)
        if (!strcmp(name, names[k])) return *t = (enum ml_transform)k, true;
    return fail(E_ATTR, "post_transform is none of NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO and PROBIT"), false;
}
E ml_logistic(E x) {
    E v = div_(num(1), add(num(1), exp_(neg(abs_(x)))));
    return sel(lt(x, num(0)), sub(num(1), v), v);
}
/* The inverse of the normal distribution by Winitzki's approximation of the inverse error function. */
static E probit(E p) {
    const float a = 0.147f, pi = 3.14159f;
    E x = sub(mul(num(2), p), num(1)), l = log_(mul(sub(num(1), x), add(num(1), x)));
    E v = add(num((double)(2 / (pi * a))), mul(num(0.5), l));
    E r = sqrt_(sub(sqrt_(sub(mul(v, v), mul(num((double)(1 / a)), l))), v));
    return mul(num(1.41421356), sel(lt(x, num(0)), neg(r), r));
}
static E softmax(T p, X i, bool keep_zeros) {
    X n = axes(list1(dim(p, 0))), m = axes(list1(dim(p, 0)));
    E c = raxis(dim(p, 1), "c"), d = raxis(dim(p, 1), "d");
    T most = reduce("most", F32, n, RED_MAX, list1(c), cast(F32, at(p, list2(n.v[0], c))), typed(F32, -FLT_MAX));
    X j = axes(shape(p));
    E v = cast(F32, at(p, j)), high = at(most, list1(j.v[0])), e = exp_(sub(v, high)), seen = gt(abs_(v), num(1e-7));
    T terms = stage("exp", F32, j, keep_zeros ? sel(seen, e, mul(v, exp_(neg(high)))) : e);
    E term = at(terms, list2(m.v[0], d));
    if (keep_zeros) term = sel(gt(abs_(cast(F32, at(p, list2(m.v[0], d)))), num(1e-7)), term, num(0));
    T sum = reduce("sum", F32, m, RED_SUM, list1(d), term, NULL);
    return div_(at(terms, i), at(sum, list1(i.v[0])));
}
E ml_transformed(T p, X i, enum ml_transform t) {
    E v = cast(F32, at(p, i));
    if (t == ML_PROBIT) return probit(v);
    if (t == ML_NONE || x_is(dim(p, 1), 1)) return v;
    return t == ML_LOGISTIC ? ml_logistic(v) : softmax(p, i, t == ML_SOFTMAX_ZERO);
}
static void op_scores(void) {
    X i = axes(shape(in(0)));
    out(0, F32, i, ml_transformed(in(0), i, (enum ml_transform)int_attr("transform")));
}
E ml_split_in_two(E c, E v, enum ml_transform t, bool adds_to_one) {
    E second = eq(c, idx(1)), either = cast(F32, sel(second, v, neg(v)));
    if (t == ML_LOGISTIC) return ml_logistic(either);
    return adds_to_one ? cast(F32, sel(second, v, sub(num(1), v))) : either;
}
static void op_two_scores(void) {
    T s = in(0);
    X i = axes_named(list2(dim(s, 0), idx(2)), "n c");
    E v = at(s, list2(i.v[0], idx(0)));
    out(0, F32, i, ml_split_in_two(i.v[1], v, (enum ml_transform)int_attr("transform"), int_attr("adds_to_one") != 0));
}
/* The first greatest of a row; a NaN at its head wins, others lose. */
static void op_top_class(void) {
    T p = in(0);
    X n = axes(list1(dim(p, 0))), m = axes(list1(dim(p, 0))), i = axes(list1(dim(p, 0)));
    E c = raxis(dim(p, 1), "c"), d = raxis(dim(p, 1), "d");
    T most = reduce("most", dtype(p), n, RED_MAX, list1(c), at(p, list2(n.v[0], c)), NULL);
    E is_most = eq(at(p, list2(m.v[0], d)), at(most, list1(m.v[0])));
    T first = reduce("first", I64, m, RED_MIN, list1(d), sel(is_most, val(d), greatest(I64)), NULL);
    E head = at(p, list2(i.v[0], idx(0))), f = at(first, list1(i.v[0]));
    out(0, I64, i, sel(or_(is_nan(head), eq(f, greatest(I64))), typed(I64, 0), f));
}

/* ---- in expansions */
enum dtype ml_float_type(enum dtype t) { return t == F64 ? F64 : F32; }
V ml_samples(int k, enum dtype t) {
    T x = in(k);
    if (rank(x) != 1 && rank(x) != 2)
        return fail(E_RANK, "samples are rows of a matrix; the input has rank %d", rank(x)), NULL;
    V v = n_cast(gin(k), t);
    return rank(x) == 2 ? v : N_OP("Unsqueeze", v, N_INTS(0));
}
V ml_floats(const float *v, const int64_t *dims, int r) {
    struct tensor *t = n_tensor(F32, dims, r);
    if (!t) return fail(E_LIMIT, "a table is too large"), NULL;
    memcpy(tensor_data(t), v, (size_t)tensor_count(t) * sizeof *v);
    return n_const(t);
}
V ml_scores(V scores, enum ml_transform t) {
    if (t == ML_NONE) return n_cast(scores, F32);
    return n_private("Scores", &scores, 1, 1, ATTRS(attr_int("transform", t)))->outs.v[0];
}
V ml_two_scores(V score, enum ml_transform t, bool adds_to_one) {
    return n_private("TwoScores", &score, 1, 1, ATTRS(attr_int("transform", t), attr_int("adds_to_one", adds_to_one)))
        ->outs.v[0];
}
V ml_top_class(V scores) { return n_private("TopClass", &scores, 1, 1, NULL, 0)->outs.v[0]; }
const struct attr *ml_labels_attr(const char *strings, const char *ints) {
    const struct attr *s = node_attr(def_node(), strings), *i = node_attr(def_node(), ints);
    return s && s->n ? s : i && i->n ? i : NULL;
}
V ml_label(V index, const struct attr *labels) {
    bool plain = labels->kind == AT_INTS;
    for (int k = 0; plain && k < labels->n; k++) plain = labels->u.is[k] == k;
    if (plain) return index;
    struct tensor *t = n_tensor(labels->kind == AT_INTS ? I64 : STR, (const int64_t[]){labels->n}, 1);
    for (int k = 0; k < labels->n; k++)
        if (labels->kind == AT_INTS) tensor_set_i(t, k, labels->u.is[k]);
        else ((struct str_elem *)tensor_data(t))[k] = labels->u.ss[k];
    return N_OP("Gather", n_const(t), index);
}

static const struct op_attr a_transform[] = {A_INT("transform"), A_INT("adds_to_one"), {0}};
static const struct op_slot s_scores[] = {{"X", TSET(F32) | TSET(F64), 0}, {0}};
#define PRIVATE(name, attrs, fn)                                                                                       \
    { "gcc2nn", name, 1, 1, attrs, s_scores, slots_y, .define = fn, .spec = "part of expansions of ai.onnx.ml" }
const struct op ops_ml[] = {
    PRIVATE("Scores", a_transform, op_scores),
    PRIVATE("TwoScores", a_transform, op_two_scores),
    PRIVATE("TopClass", attrs_none, op_top_class),
    {0},
};
