/* Support vector machines of ai.onnx.ml: the kernel of each sample with each support vector, then sums of these: one
 * for SVMRegressor, one for each pair of classes for SVMClassifier, whose winners vote. */
#include "lower/ops/ml.h"
#include <string.h>

enum { CLASSES_MAX = 4096 }; /* pairs of them are tables */
enum kernel { K_LINEAR, K_POLY, K_RBF, K_SIGMOID, KERNELS };

static const float *list(const char *name, int *n) {
    const float *v;
    *n = floats_attr(name, &v);
    return v;
}
/* ---- kernels */
static void op_rbf(void) {
    T x = in(0), v = in(1);
    require(eq(dim(x, 1), dim(v, 1)), "the support vectors have another number of features");
    X i = axes_named(list2(dim(x, 0), dim(v, 0)), "n v"), o = axes(list2(dim(x, 0), dim(v, 0)));
    E f = raxis(dim(v, 1), "f"), d = sub(at(x, list2(i.v[0], within(f, dim(x, 1)))), at(v, list2(i.v[1], f)));
    T sum = reduce("square", F32, i, RED_SUM, list1(f), mul(d, d), NULL);
    if (sum) out(0, F32, o, exp_(mul(neg(typed(F32, float_attr("gamma"))), at(sum, o))));
}
static V power(V k, double degree) {
    V square = degree == 2 || degree == 3 ? N_OP("Mul", k, k) : NULL;
    if (degree == 2) return square;
    return degree == 3 ? N_OP("Mul", square, k) : N_OP("Pow", k, n_const_f(F32, degree));
}
/* The kernel function of each sample of x with each of the n vectors, plus c for a linear one. NULL: a diagnostic. */
static V kernel_of(V x, enum kernel kernel, const float *vectors, int count, int64_t n, float c) {
    int given;
    const float *params = list("kernel_params", &given);
    float gamma = 0, degree = 0;
    if (n < 1 || count < n || count % n)
        return fail(E_ATTR, "%d numbers are no %lld support vectors", count, (long long)n), NULL;
    if (kernel != K_LINEAR && given < 3) return fail(E_ATTR, "kernel_params must hold gamma, coef0 and degree"), NULL;
    if (kernel != K_LINEAR) gamma = params[0], c = params[1], degree = params[2];
    V ins[] = {x, ml_floats(vectors, (const int64_t[]){n, count / n}, 2), n_const_f(F32, (double)c)};
    if (!ins[1]) return NULL;
    struct attr by[] = {attr_int("transB", 1), attr_float("alpha", (double)gamma)},
                width = attr_float("gamma", (double)gamma);
    if (kernel == K_RBF) return n_private("RbfKernel", ins, 2, 1, &width, 1)->outs.v[0];
    V k = n_op("Gemm", 0, ins, c == 0 ? 2 : 3, by, kernel == K_LINEAR ? 1 : 2);
    return kernel == K_LINEAR ? k : kernel == K_POLY ? power(k, (double)degree) : N_OP("Tanh", k);
}
static bool kernel_attr(enum kernel *k) {
    static const char *const names[KERNELS] = {"LINEAR", "POLY", "RBF", "SIGMOID"};
    for (int i = 0; i < KERNELS; i++)
        if (!strcmp(str_attr("kernel_type"), names[i])) return *k = (enum kernel)i, true;
    return fail(E_ATTR, "kernel_type is none of LINEAR, POLY, RBF and SIGMOID"), false;
}

/* ---- SVMRegressor */
static void exp_regressor(void) {
    int64_t n = int_attr("n_supports");
    int nvectors, ncoefficients, nrho;
    const float *vectors = list("support_vectors", &nvectors), *w = list("coefficients", &ncoefficients),
                *rho = list("rho", &nrho);
    enum kernel kernel;
    V x = ml_samples(0, F32), y;
    if (!x || !kernel_attr(&kernel)) return;
    if (fail_if(nrho < 1 || ncoefficients < 1 || n < 0 || (n && ncoefficients != n), E_ATTR,
                "coefficients, rho and n_supports do not fit"))
        return;
    if (n) {
        V k = kernel_of(x, kernel, vectors, nvectors, n, 0);
        if (!k) return;
        V weights = ml_floats(w, (const int64_t[]){1, n}, 2);
        y = N_WITH("Gemm", ATTRS(attr_int("transB", 1)), k, weights, n_const_f(F32, (double)rho[0]));
    } else y = kernel_of(x, K_LINEAR, w, ncoefficients, 1, rho[0]);
    if (y && int_attr("one_class"))
        y = N_OP("Where", N_OP("Greater", y, n_const_f(F32, 0)), n_const_f(F32, 1), n_const_f(F32, -1));
    gout(0, y);
}

/* ---- pairs of classes */
/* starts: where the support vectors of each class begin, and where the last ones end; pairs: its two classes, for each.
 * Row k of the coefficients of a class's vectors is against the k-th of the other classes. */
static void op_pairs(void) {
    T k = in(0), w = in(1), starts = in(2), pairs = in(3), rho = in(4);
    E n = dim(k, 0), classes = sub(dim(starts, 0), idx(1)), npairs = dim(pairs, 0), last = sub(dim(k, 1), idx(1));
    X i = axes_named(list3(n, classes, dim(w, 0)), "n c k");
    E m = raxis(idx(int_attr("longest")), "m"), zero = idx(0);
    E from = index_of(at(starts, list1(i.v[1]))), to = index_of(at(starts, list1(add(i.v[1], idx(1)))));
    E v = clampi(add(from, m), zero, last), term = mul(at(w, list2(i.v[2], v)), at(k, list2(i.v[0], v)));
    T part = reduce("part", F64, i, RED_SUM, list1(m), sel(lt(add(from, m), to), cast(F64, term), typed(F64, 0)), NULL);
    X p = axes_named(list2(n, npairs), "n p"), q = axes_named(list2(n, npairs), "n p");
    E top = sub(classes, idx(1)), rows = sub(dim(w, 0), idx(1));
    E a = clampi(index_of(at(pairs, list2(p.v[1], idx(0)))), zero, top),
      b = clampi(index_of(at(pairs, list2(p.v[1], idx(1)))), zero, top);
    E sum = add(at(part, list3(p.v[0], a, clampi(sub(b, idx(1)), zero, rows))),
                at(part, list3(p.v[0], b, clampi(a, zero, rows))));
    T s = stage("sum", F64, p, add(sum, cast(F64, at(rho, list1(p.v[1])))));
    X c = axes_named(list2(n, classes), "n c");
    E r = raxis(npairs, "p"), won = gt(at(s, list2(c.v[0], r)), num(0));
    E winner = sel(won, at(pairs, list2(r, idx(0))), at(pairs, list2(r, idx(1))));
    T votes =
        reduce("votes", F32, c, RED_SUM, list1(r), sel(eq(winner, val(c.v[1])), typed(F32, 1), typed(F32, 0)), NULL);
    out(0, F32, q, cast(F32, at(s, q)));
    X o = axes(shape(votes));
    out(1, F32, o, at(votes, o));
}
/* Probabilities of the classes: Platt's sigmoid of each pair's score, coupled. places: the pair of any two. */
static void op_probabilities(void) {
    T s = in(0), a = in(1), b = in(2), places = in(3);
    E n = dim(s, 0), c = dim(places, 0), last = sub(dim(s, 1), idx(1));
    X i = axes_named(list2(n, dim(s, 1)), "n p"), j = axes_named(list3(n, c, c), "n i j");
    E v = add(mul(at(s, i), at(a, list1(i.v[1]))), at(b, list1(i.v[1])));
    E v1 = max_(num(1e-7), sub(num(1), ml_logistic(v))); /* NaN stays: then all classes are as likely */
    T one = stage("one", F32, i, min_(typed(F32, (double)(1 - 1e-7f)), v1));
    E p = at(one, list2(j.v[0], clampi(index_of(at(places, list2(j.v[1], j.v[2]))), idx(0), last)));
    T r = stage("pair", F32, j, sel(lt(j.v[1], j.v[2]), p, sub(num(1), p)));
    T bufs[] = {r, result(0, F32, list2(n, c)), scratch("q", F32, list2(c, c)), scratch("qp", F32, list1(c))};
    call_kernel("couple", F32, bufs, 4, (const E[]){n, c}, 2);
}

/* ---- SVMClassifier */
struct machine {
    const float *w, *vectors, *rho, *a, *b;
    int nw, nvectors, nrho, na, nb;
    const struct attr *labels;
    int64_t classes, pairs, vectors_in_all, longest;
    V starts, pair_classes, places;
    enum kernel kernel;
    enum ml_transform t;
};
static V table(const int64_t *dims, struct tensor **t) {
    *t = n_tensor(I64, dims, 2);
    return n_const(*t);
}
static bool class_tables(struct machine *m) {
    const int64_t *count;
    int n = ints_attr("vectors_per_class", &count);
    struct tensor *starts = n_tensor(I64, (const int64_t[]){m->classes + 1}, 1), *pairs, *places;
    for (int k = 0; k < n; k++) {
        if (count[k] < 0 || count[k] > INT32_MAX - m->vectors_in_all)
            return fail(E_ATTR, "vectors_per_class: entry %d is %lld", k, (long long)count[k]), false;
        m->vectors_in_all += count[k];
        if (count[k] > m->longest) m->longest = count[k];
        if (k < m->classes) tensor_set_i(starts, k + 1, m->vectors_in_all);
    }
    if (!m->vectors_in_all) return true;
    if (n != m->classes || n < 2)
        return fail(E_ATTR, "vectors_per_class has %d entries for %lld classes", n, (long long)m->classes), false;
    m->starts = n_const(starts);
    m->pair_classes = table((const int64_t[]){m->pairs, 2}, &pairs);
    m->places = table((const int64_t[]){m->classes, m->classes}, &places);
    for (int64_t i = 0, p = 0; i < m->classes; i++)
        for (int64_t j = i + 1; j < m->classes; j++, p++) {
            tensor_set_i(pairs, 2 * p, i), tensor_set_i(pairs, 2 * p + 1, j);
            tensor_set_i(places, i * m->classes + j, p), tensor_set_i(places, j * m->classes + i, p);
        }
    return true;
}
static bool machine_of(struct machine *m) {
    m->w = list("coefficients", &m->nw), m->vectors = list("support_vectors", &m->nvectors);
    m->rho = list("rho", &m->nrho), m->a = list("prob_a", &m->na), m->b = list("prob_b", &m->nb);
    m->labels = ml_labels_attr("classlabels_strings", "classlabels_ints");
    m->classes = m->labels ? m->labels->n : 0;
    m->pairs = m->classes * (m->classes - 1) / 2;
    if (m->classes < 1 || m->classes > CLASSES_MAX)
        return fail(E_ATTR, "1 to %d labels are needed, not %lld", CLASSES_MAX, (long long)m->classes), false;
    if (!kernel_attr(&m->kernel) || !ml_transform_attr(&m->t) || !class_tables(m)) return false;
    bool pairwise = m->vectors_in_all > 0;
    int64_t w = pairwise ? (m->classes - 1) * m->vectors_in_all : m->nw;
    if (!m->nw || m->nw != w || m->nrho < (pairwise ? m->pairs : 1) || m->na != m->nb || (m->na && m->na < m->pairs))
        return fail(E_ATTR, "coefficients, rho, prob_a and prob_b do not fit %lld classes with %lld support vectors",
                    (long long)m->classes, (long long)m->vectors_in_all),
               false;
    return true;
}
/* Scores are given for the classes themselves. With two classes, the first greatest need not be the one chosen. */
static void linear(const struct machine *m, V x) {
    V s = kernel_of(x, K_LINEAR, m->w, m->nw, m->classes, m->rho[0]);
    if (!s) return;
    V top = ml_top_class(s);
    bool positive = true;
    for (int k = 0; k < m->nw; k++) positive = positive && m->w[k] >= 0;
    if (m->classes == 2 && !m->na) {
        V best = N_WITH("ReduceMax", ATTRS(attr_int("keepdims", 0)), s, N_INTS(1));
        V second =
            positive ? N_OP("GreaterOrEqual", best, n_const_f(F32, 0.5)) : N_OP("Greater", best, n_const_f(F32, 0));
        top = N_OP("Where", second, N_INTS(1), top);
    }
    gout(0, ml_label(top, m->labels));
    gout(1, ml_scores(s, m->t));
}
static void pairwise(const struct machine *m, V x) {
    V k = kernel_of(x, m->kernel, m->vectors, m->nvectors, m->vectors_in_all, 0);
    if (!k) return;
    V ins[] = {k, ml_floats(m->w, (const int64_t[]){m->classes - 1, m->vectors_in_all}, 2), m->starts, m->pair_classes,
               ml_floats(m->rho, &m->pairs, 1)};
    if (!ins[1] || !ins[4]) return;
    struct node *pairs = n_private("SvmPairs", ins, 5, 2, ATTRS(attr_int("longest", m->longest)));
    V s = pairs->outs.v[0];
    gout(0, ml_label(ml_top_class(pairs->outs.v[1]), m->labels));
    if (m->na) {
        V more[] = {s, ml_floats(m->a, &m->pairs, 1), ml_floats(m->b, &m->pairs, 1), m->places};
        if (more[1] && more[2]) gout(1, ml_scores(n_private("SvmProbabilities", more, 4, 1, NULL, 0)->outs.v[0], m->t));
    } else if (m->classes > 2) {
        gout(1, ml_scores(s, m->t));
    } else if (m->t == ML_PROBIT) {
        fail(E_ATTR, "PROBIT of one score for two classes is not defined");
    } else {
        gout(1, ml_two_scores(s, m->t, m->t != ML_NONE));
    }
}
static void exp_classifier(void) {
    struct machine m = {0};
    V x = ml_samples(0, F32);
    if (!x || !machine_of(&m)) return;
    if (m.vectors_in_all) pairwise(&m, x);
    else linear(&m, x);
}

#define COMMON                                                                                                         \
    A_FLOATS("coefficients"), A_FLOATS("kernel_params"), A_STRING("kernel_type", .s = "LINEAR"),                       \
        A_STRING("post_transform", .s = "NONE"), A_FLOATS("rho"), A_FLOATS("support_vectors")
static const struct op_attr a_regressor[] = {COMMON, A_INT("n_supports"), A_INT("one_class"), {0}};
static const struct op_attr a_classifier[] = {COMMON,
                                              A_INTS("classlabels_ints"),
                                              A_STRINGS("classlabels_strings"),
                                              A_FLOATS("prob_a"),
                                              A_FLOATS("prob_b"),
                                              A_INTS("vectors_per_class"),
                                              {0}};
static const struct op_attr a_rbf[] = {A_FLOAT("gamma"), {0}}, a_pairs[] = {A_INT("longest"), {0}};
static const struct op_slot s_two[] = {{"Y", TS_ANY, 0}, {"Z", TS_ANY, 0}, {0}};
#define PRIVATE(name, attrs, outs, fn)                                                                                 \
    { "gcc2nn", name, 1, 1, attrs, slots_parts, outs, .define = fn, .spec = "part of the expansions of SVMs" }
const struct op ops_ml_svm[] = {
    {"ai.onnx.ml", "SVMRegressor", 1, 1, a_regressor, slots_ml_numbers, slots_y, .expand = exp_regressor,
     .spec = "ai.onnx.ml SVMRegressor-1; in f32, post_transform has no effect"},
    {"ai.onnx.ml", "SVMClassifier", 1, 1, a_classifier, slots_ml_numbers, slots_ml_classes, .expand = exp_classifier,
     .spec = "ai.onnx.ml SVMClassifier-1; in f32, without probabilities the scores of more than two classes are those "
             "of the pairs"},
    PRIVATE("RbfKernel", a_rbf, slots_y, op_rbf),
    PRIVATE("SvmPairs", a_pairs, s_two, op_pairs),
    PRIVATE("SvmProbabilities", attrs_none, slots_y, op_probabilities),
    {0},
};
