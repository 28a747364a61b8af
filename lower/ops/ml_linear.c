/* Linear models of ai.onnx.ml: LinearRegressor and LinearClassifier are a Gemm with their coefficients, transformed. */
#include "lower/ops/ml.h"

/* X times the coefficients [rows,F] plus the intercepts (NULL: none), in f32; NULL after a diagnostic. */
static V product_of(int64_t rows, const struct attr *w, const struct attr *b) {
    V x = ml_samples(0, F32);
    if (!x) return NULL;
    int64_t n = w ? w->n : 0, features = -1;
    (void)const_int(x->type.dims[1], &features);
    if (rows > 0 && features > 0 && n / rows > features) { /* as ONNX Runtime, which multiplies what fits */
        diag(&def_node()->in->graph->ctx->diags, DIAG_WARNING, E_ATTR,
             "of %lld coefficients the first %lld times %lld are used", (long long)n, (long long)rows,
             (long long)features);
        n = rows * features;
    }
    if (rows < 1 || n < 1 || n % rows)
        return fail(E_ATTR, "%lld coefficients are no matrix of %lld rows", (long long)n, (long long)rows), NULL;
    V ins[] = {x, ml_floats(w->u.fs, (const int64_t[]){rows, n / rows}, 2), NULL};
    if (!ins[1]) return NULL;
    if (b) ins[2] = ml_floats(b->u.fs, &rows, 1);
    return n_op("Gemm", 0, ins, b ? 3 : 2, ATTRS(attr_int("transB", 1)));
}
static const struct attr *list_attr(const char *name) {
    const struct attr *a = node_attr(def_node(), name);
    return a && a->n ? a : NULL;
}
static void exp_regressor(void) {
    const struct attr *w = list_attr("coefficients"), *b = list_attr("intercepts");
    int64_t targets = int_attr("targets");
    enum ml_transform t;
    if (!ml_transform_attr(&t)) return;
    V y = product_of(targets, w, b && b->n == targets ? b : NULL);
    if (y) gout(0, ml_scores(y, t));
}

static V is_positive(V score) {
    V flat = N_OP("Squeeze", score, N_INTS(1));
    return n_cast(N_OP("Greater", flat, n_const_f(F32, 0)), I64);
}
static void exp_classifier(void) {
    const struct attr *w = list_attr("coefficients"), *b = list_attr("intercepts"),
                      *labels = ml_labels_attr("classlabels_strings", "classlabels_ints");
    enum ml_transform t;
    int64_t rows = b ? b->n : labels ? labels->n : 0;
    if (!ml_transform_attr(&t)) return;
    if (fail_if(!labels || (rows > 1 ? labels->n < rows : labels->n != 2 && labels->kind == AT_STRINGS), E_ATTR,
                "%d labels for %lld classes", labels ? labels->n : 0, (long long)rows))
        return;
    V s = product_of(rows, w, b);
    if (!s) return;
    bool two = labels->n == 2; /* one row of coefficients may stand for both */
    if (rows > 1) {
        gout(0, ml_label(ml_top_class(s), labels));
        gout(1, ml_scores(s, t));
    } else { /* without two labels it is 0 or 1 */
        gout(0, two ? ml_label(is_positive(s), labels) : is_positive(s));
        if (two && t == ML_PROBIT) fail(E_ATTR, "PROBIT of one score for two classes is not defined");
        else gout(1, two ? ml_two_scores(s, t, true) : ml_scores(s, t));
    }
}

static const struct op_attr a_regressor[] = {A_FLOATS("coefficients"),
                                             A_FLOATS("intercepts"),
                                             A_STRING("post_transform", .s = "NONE"),
                                             A_INT("targets", .i = 1),
                                             {0}};
static const struct op_attr a_classifier[] = {A_INTS("classlabels_ints"),
                                              A_STRINGS("classlabels_strings"),
                                              A_FLOATS("coefficients", .flags = A_REQUIRED),
                                              A_FLOATS("intercepts"),
                                              A_INT("multi_class"),
                                              A_STRING("post_transform", .s = "NONE"),
                                              {0}};
const struct op ops_ml_linear[] = {
    {"ai.onnx.ml", "LinearRegressor", 1, 1, a_regressor, slots_ml_numbers, slots_y, .expand = exp_regressor,
     .spec = "ai.onnx.ml LinearRegressor-1; in f32, a single target is transformed by PROBIT only"},
    {"ai.onnx.ml", "LinearClassifier", 1, 1, a_classifier, slots_ml_numbers, slots_ml_classes, .expand = exp_classifier,
     .spec = "ai.onnx.ml LinearClassifier-1; one score for two classes is transformed by LOGISTIC only"},
    {0},
};
