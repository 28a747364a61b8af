/* Operators of ai.onnx.ml on features, element by element or row by row: ArrayFeatureExtractor, Binarizer,
 * FeatureVectorizer, Imputer, Normalizer, Scaler. */
#include "lower/ops/ml.h"
#include <math.h>
#include <string.h>

/* The elements of the last axis at the given places; a vector counts as one row. */
static void op_extract(void) {
    T x = in(0), y = in(1);
    int r = rank(x);
    if (fail_if(r < 1, E_RANK, "features of a scalar")) return;
    X lead = r == 1 ? list1(idx(1)) : sub_list(shape(x), 0, r - 1), i = axes(push(lead, numel(y)));
    E k = wrap_index(at_reshaped(y, list1(i.v[i.n - 1]), list1(numel(y))), dim(x, r - 1));
    out(0, dtype(x), i, at(x, r == 1 ? list1(k) : put(i, r - 1, k)));
}
static void op_binarizer(void) {
    T x = in(0);
    X i = axes(shape(x));
    E limit = num(float_attr("threshold"));
    if (dtype_is_int(dtype(x))) limit = typed(F32, float_attr("threshold"));
    E v = dtype_is_int(dtype(x)) ? cast(F32, at(x, i)) : at(x, i);
    out(0, dtype(x), i, sel(gt(v, limit), typed(dtype_value(dtype(x)), 1), typed(dtype_value(dtype(x)), 0)));
}
/* Inputs side by side, each truncated or padded with zeros to its number of features. */
static void op_vectorizer(void) {
    const int64_t *sizes;
    int n = ints_attr("inputdimensions", &sizes);
    int64_t total = 0;
    if (fail_if(n != n_in(), E_ATTR, "inputdimensions has %d entries for %d inputs", n, n_in())) return;
    for (int k = 0; k < n; k++) {
        if (fail_if(!has(in(k)) || rank(in(k)) < 1 || sizes[k] < 0 || sizes[k] > DIM_MAX - total, E_SHAPE,
                    "input %d is no tensor with axes, or its number of features is out of range", k))
            return;
        total += sizes[k];
    }
    E samples = rank(in(0)) == 1 ? idx(1) : dim(in(0), 0), v = typed(F32, 0);
    X i = axes_named(list2(samples, idx(total)), "n f");
    for (int k = n; k--;) { /* the first input is asked first */
        T x = in(k);
        total -= sizes[k];
        X own = rank(x) == 1 ? list2(idx(1), dim(x, 0)) : list2(dim(x, 0), product(sub_list(shape(x), 1, rank(x))));
        require(eq(own.v[0], samples), "the inputs differ in the number of samples");
        if (rank(x) != 2) x = reshaped("rows", x, own);
        E f = sub(i.v[1], idx(total)), inside = lt(i.v[1], idx(total + sizes[k]));
        v = sel(inside, cast(F32, at_or(x, list2(i.v[0], f), num(0))), v);
    }
    out(0, F32, i, v);
}
/* Scaled so that the greatest, the sum of magnitudes or the sum of squares of a row is one; rows where it is 0 stay. */
static void op_normalizer(void) {
    T x = in(0);
    const char *norm = str_attr("norm");
    int r = rank(x);
    bool most = !strcmp(norm, "MAX"), l1 = !strcmp(norm, "L1"), l2 = !strcmp(norm, "L2");
    if (r < 1 || r > 2 || !(most || l1 || l2)) {
        if (r < 1 || r > 2) fail(E_RANK, "the rows of a matrix are normalised; the input has rank %d", r);
        else fail(E_ATTR, "norm is none of MAX, L1 and L2");
        return;
    }
    X lead = sub_list(shape(x), 0, r - 1), n = axes(lead), i = axes(shape(x));
    E f = raxis(dim(x, r - 1), "f"), v = at(x, push(n, f)), w = at(x, i);
    E part = most ? cast(F32, v) : cast(F32, l1 ? abs_(v) : mul(v, v));
    T s = reduce("norm", F32, n, most ? RED_MAX : RED_SUM, list1(f), part,
                 most ? typed(F32, -3.4028234663852886e38) : NULL);
    if (!s) return;
    E by = at(s, sub_list(i, 0, r - 1)), y = cast(F32, w);
    E root = sqrt_(div_(cast(F32, mul(w, w)), by));
    y = sel(eq(by, num(0)), y, l2 ? sel(lt(w, num(0)), neg(root), root) : div_(y, by));
    out(0, F32, i, y);
}

/* ---- expansions */
/* Attribute values as a constant for the features of x: one for each, or the first for all. NULL: a diagnostic. */
static V for_features(const struct tensor *t, T x, const char *what, bool strict) {
    int64_t n = tensor_count(t), f;
    if (n == 1) return n_const(t);
    if (rank(x) < 1 || rank(x) > 2)
        return fail(E_RANK, "%s: one value for each feature of an input of rank %d", what, rank(x)), NULL;
    if (!const_int(dim(x, rank(x) - 1), &f) || f == n) return n_const(t);
    if (strict) return fail(E_SHAPE, "%s: %lld values for %lld features", what, (long long)n, (long long)f), NULL;
    struct tensor *first = n_tensor(t->type, (const int64_t[]){1}, 1);
    if (t->type == I64) tensor_set_i(first, 0, tensor_i(t, 0));
    else tensor_set_f(first, 0, tensor_f(t, 0));
    return n_const(first);
}
static struct tensor *list_tensor(enum dtype t, const struct attr *a) {
    struct tensor *r = n_tensor(t, (const int64_t[]){a->n}, 1);
    for (int k = 0; k < a->n; k++)
        if (a->kind == AT_INTS) tensor_set_i(r, k, a->u.is[k]);
        else tensor_set_f(r, k, (double)a->u.fs[k]);
    return r;
}
static void exp_imputer(void) {
    T x = in(0);
    bool real = dtype_is_float(dtype(x));
    const struct attr *by = node_attr(def_node(), real ? "imputed_value_floats" : "imputed_value_int64s");
    double old = real ? float_attr("replaced_value_float") : 0;
    if (fail_if(!by || !by->n, E_ATTR, "there is no value to put in place of others of type %s", dtype_name(dtype(x))))
        return;
    V v = gin(0), values = for_features(list_tensor(dtype(x), by), x, "imputed values", false), mask;
    if (!values) return;
    struct tensor *t = n_tensor(dtype(x), NULL, 0);
    if (real) tensor_set_f(t, 0, old);
    else tensor_set_i(t, 0, int_attr("replaced_value_int64"));
    mask = isnan(old) ? N_OP("IsNaN", v) : N_OP("Equal", v, n_const(t));
    gout(0, N_OP("Where", mask, values, v));
}
static void exp_scaler(void) {
    T x = in(0);
    const struct attr *scale = node_attr(def_node(), "scale"), *offset = node_attr(def_node(), "offset");
    if (fail_if(!scale || !scale->n || !offset || offset->n != scale->n, E_ATTR,
                "scale and offset must be there, and have as many entries"))
        return;
    enum dtype t = ml_float_type(dtype(x));
    V by = for_features(list_tensor(t, scale), x, "scale", true), less = NULL;
    if (by) less = for_features(list_tensor(t, offset), x, "offset", true);
    if (by && less) gout(0, n_cast(N_OP("Mul", N_OP("Sub", n_cast(gin(0), t), less), by), F32));
}

static const struct op_slot s_extract[] = {{"X", TS_ANY, 0}, {"Y", TS_INDEX, 0}, {0}};
static const struct op_slot s_many[] = {{"X", TSET(F32) | TSET(F64) | TSET(I32) | TSET(I64), VARIADIC}, {0}};
static const struct op_attr a_binarizer[] = {A_FLOAT("threshold"), {0}};
static const struct op_attr a_vectorizer[] = {A_INTS("inputdimensions"), {0}};
static const struct op_attr a_imputer[] = {A_FLOATS("imputed_value_floats"),
                                           A_INTS("imputed_value_int64s"),
                                           A_FLOAT("replaced_value_float"),
                                           A_INT("replaced_value_int64"),
                                           {0}};
static const struct op_attr a_normalizer[] = {A_STRING("norm", .s = "MAX"), {0}};
static const struct op_attr a_scaler[] = {A_FLOATS("offset"), A_FLOATS("scale"), {0}};
#define ML "ai.onnx.ml"
const struct op ops_ml_features[] = {
    {ML, "ArrayFeatureExtractor", 1, 1, attrs_none, s_extract, slots_y, .define = op_extract,
     .spec = "ai.onnx.ml ArrayFeatureExtractor-1"},
    {ML, "Binarizer", 1, 1, a_binarizer, slots_ml_numbers, slots_y, .define = op_binarizer,
     .spec = "ai.onnx.ml Binarizer-1"},
    {ML, "FeatureVectorizer", 1, 1, a_vectorizer, s_many, slots_y, .define = op_vectorizer,
     .spec = "ai.onnx.ml FeatureVectorizer-1"},
    {ML, "Imputer", 1, 1, a_imputer, slots_ml_numbers, slots_y, .expand = exp_imputer, .spec = "ai.onnx.ml Imputer-1"},
    {ML, "Normalizer", 1, 1, a_normalizer, slots_ml_numbers, slots_y, .define = op_normalizer,
     .spec = "ai.onnx.ml Normalizer-1; rows whose norm is 0 stay as they are"},
    {ML, "Scaler", 1, 1, a_scaler, slots_ml_numbers, slots_y, .expand = exp_scaler, .spec = "ai.onnx.ml Scaler-1"},
    {0},
};
