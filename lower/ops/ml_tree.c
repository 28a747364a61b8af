/* Decision trees of ai.onnx.ml: TreeEnsembleRegressor, TreeEnsembleClassifier, TreeEnsemble. The attributes become
 * tables (ml_tree_attrs.c, ml_tree_table.c) for one private operator, TreeSums, whose kernel walks through them; what
 * becomes of the sums of targets and classes is said here. */
#include "lower/ops/ml_tree.h"
#include <math.h>
#include <string.h>

/* ---- TreeSums: samples and tables to [N, columns] */
static void op_sums(void) {
    T x = in(0);
    E n = dim(x, 0), features = idx(int_attr("features")), columns = idx(int_attr("columns"));
    require(le(features, dim(x, 1)), "the trees ask for feature %lld", (long long)int_attr("features") - 1);
    if (x_is_false(le(features, dim(x, 1)))) return;
    T t[TREE_TABLES], y = result(0, dtype(x), list2(n, columns));
    for (int k = 0; k < TREE_TABLES; k++) t[k] = in(1 + k);
    E trees = dim(t[TT_ROOT], 0), rows = dim(t[TT_FEATURE], 0), leaves = dim(t[TT_VALUE], 0), w = dim(t[TT_VALUE], 1),
      how = idx(int_attr("sum")), nans = idx(int_attr("nans"));
    if (!x_is(n, 1)) {
        const E args[] = {n, dim(x, 1), trees, rows, leaves, w, columns, how, nans};
        call_kernel(
            "trees", dtype(x),
            (const T[]){x, t[TT_ROOT], t[TT_FEATURE], t[TT_SPLIT], t[TT_TO], t[TT_COLUMN], t[TT_VALUE], t[TT_START], y},
            9, args, 9);
        return;
    }
    T leaf = scratch("leaf", I32, list1(trees));
    T walk[] = {x, t[TT_ROOT], t[TT_FEATURE], t[TT_SPLIT], t[TT_TO], leaf};
    call_kernel("trees_one", dtype(x), walk, 6, (const E[]){dim(x, 1), trees, rows, nans}, 4);
    if (int_attr("order") == TREE_DENSE) {
        T bufs[] = {t[TT_VALUE], t[TT_START], leaf, y};
        call_kernel("tree_dense", dtype(x), bufs, 4, (const E[]){leaves, columns, trees, how}, 4);
    } else if (int_attr("order") == TREE_TERMS) {
        T bufs[] = {t[TT_VALUE], t[TT_START], t[TT_FIRST], t[TT_TERM], leaf, y};
        const E args[] = {leaves, w, columns, dim(t[TT_TERM], 0), trees, how};
        call_kernel("tree_terms", dtype(x), bufs, 6, args, 6);
    } else {
        T bufs[] = {t[TT_COLUMN], t[TT_VALUE], t[TT_START], leaf, y};
        call_kernel("tree_rows", dtype(x), bufs, 5, (const E[]){leaves, w, columns, trees, how}, 5);
    }
}
static V sums(V x, const struct tree_tables *t, enum tree_sum sum) {
    V ins[TREE_TABLES + 1] = {x};
    for (int k = 0; k < TREE_TABLES; k++) ins[1 + k] = t->v[k];
    struct attr a[] = {attr_int("features", t->features), attr_int("columns", t->columns), attr_int("sum", sum),
                       attr_int("order", t->order), attr_int("nans", t->nans)};
    return n_private("TreeSums", ins, TREE_TABLES + 1, 1, a, sizeof a / sizeof *a)->outs.v[0];
}

/* What the operators on sums know of them. */
#define SEEN A_INT("sum"), A_INT("first_seen"), A_INT("seen0"), A_INT("seen1")
static int seen_attrs(const struct tree_tables *t, enum tree_sum sum, struct attr *a) {
    a[0] = attr_int("sum", sum), a[1] = attr_int("first_seen", t->first_seen);
    a[2] = attr_int("seen0", t->seen[0]), a[3] = attr_int("seen1", t->seen[1]);
    return 4;
}
/* Did a leaf have a value for column c of sample n? */
static E seen(T s, E n, E c) {
    int first = (int)int_attr("first_seen");
    if (first < 0 && !x_is(dim(s, 1), 2)) return truth(true);
    if (first < 0) return sel(eq(c, idx(0)), truth(int_attr("seen0") != 0), truth(int_attr("seen1") != 0));
    E count = at(s, list2(n, add(c, idx(first))));
    return int_attr("sum") == TREE_MIN ? lt(count, num(2)) : gt(count, num(0));
}

/* ---- TreeTargets: sums of targets to results */
static void op_targets(void) {
    T s = in(0), base = in(1);
    enum dtype t = dtype(s), to = int_attr("keep") ? t : F32;
    X shape_of = list2(dim(s, 0), idx(int_attr("targets"))), i = axes(shape_of), j = axes(shape_of);
    E v = at(s, i);
    if (int_attr("trees")) v = div_(v, typed(t, (double)int_attr("trees")));
    if (has(base)) v = add(v, at(base, list1(i.v[1])));
    v = sel(seen(s, i.v[0], i.v[1]), v, typed(t, 0));
    enum ml_transform how = (enum ml_transform)int_attr("transform");
    if (how == ML_NONE) {
        out(0, to, i, v);
        return;
    }
    T p = stage("score", t, i, v);
    if (p) out(0, to, j, ml_transformed(p, j, how));
}
/* base_values, or the tensor of them, in type t; *n: how many. */
static struct tensor *base_values(enum dtype t, int *n) {
    const struct tensor *given = tensor_attr("base_values_as_tensor");
    const float *v;
    int floats = floats_attr("base_values", &v);
    int64_t count = given ? tensor_count(given) : floats;
    if (given && (floats || given->type != t || count > INT32_MAX))
        return fail(E_ATTR, "base_values_as_tensor does not fit the type of the samples, or base_values is there, too"),
               NULL;
    struct tensor *r = n_tensor(t, &count, 1);
    for (int k = 0; r && k < count; k++) tensor_set_f(r, k, given ? tensor_f(given, k) : (double)v[k]);
    return *n = (int)count, r;
}
enum aggregate { A_AVERAGE, A_SUM, A_MIN, A_MAX, AGGREGATES };
static void targets(struct ensemble *e, V x, enum aggregate how, enum ml_transform t, V base, bool keep) {
    static const enum tree_sum of[AGGREGATES] = {TREE_SUM, TREE_SUM, TREE_MIN, TREE_MAX};
    struct tree_tables tables;
    if (!tree_tables(e, of[how], &tables)) return;
    V ins[] = {sums(x, &tables, of[how]), base};
    struct attr a[8] = {attr_int("trees", how == A_AVERAGE ? e->nroots : 0), attr_int("targets", e->columns),
                        attr_int("transform", e->columns == 1 && t != ML_PROBIT ? ML_NONE : t), attr_int("keep", keep)};
    int n = 4 + seen_attrs(&tables, of[how], a + 4);
    gout(0, n_private("TreeTargets", ins, base ? 2 : 1, 1, a, n)->outs.v[0]);
}
static bool count_of_targets(struct ensemble *e) {
    e->columns = int_attr("n_targets");
    if (e->columns >= 1 && e->columns <= INT32_MAX / 2) return true;
    return fail(E_ATTR, "n_targets is %lld", (long long)e->columns), false;
}
static void exp_regressor(void) {
    static const char *const names[AGGREGATES] = {"AVERAGE", "SUM", "MIN", "MAX"};
    struct ensemble e = {.type = ml_float_type(dtype(in(0)))};
    V x = ml_samples(0, e.type);
    enum ml_transform t;
    int how = 0, n = 0;
    while (how < AGGREGATES && strcmp(str_attr("aggregate_function"), names[how]) != 0) how++;
    if (how == AGGREGATES) fail(E_ATTR, "aggregate_function is none of AVERAGE, SUM, MIN and MAX");
    if (!x || how == AGGREGATES || !ml_transform_attr(&t) || !count_of_targets(&e)) return;
    struct tensor *base = base_values(e.type, &n);
    if (base && ensemble_of_lists(&e, "target_"))
        targets(&e, x, (enum aggregate)how, t, n == e.columns ? n_const(base) : NULL, false);
}
static void exp_ensemble(void) {
    struct ensemble e = {.type = ml_float_type(dtype(in(0)))};
    V x = ml_samples(0, e.type);
    int64_t how = int_attr("aggregate_function"), t = int_attr("post_transform");
    if (!x || !count_of_targets(&e)) return;
    if (fail_if(how < 0 || how >= AGGREGATES || t < 0 || t >= ML_TRANSFORMS, E_ATTR,
                "aggregate_function is %lld, post_transform %lld; they are numbers of 0 to 3 and 0 to 4",
                (long long)how, (long long)t))
        return;
    if (t == ML_SOFTMAX || t == ML_LOGISTIC) {
        t = t == ML_SOFTMAX ? ML_LOGISTIC : ML_SOFTMAX;
        diag(&def_node()->in->graph->ctx->diags, DIAG_WARNING, E_ATTR,
             "post_transform %d is %s in ONNX Runtime, and here, but %s in the specification",
             (int)int_attr("post_transform"), t == ML_SOFTMAX ? "SOFTMAX" : "LOGISTIC",
             t == ML_SOFTMAX ? "LOGISTIC" : "SOFTMAX");
    }
    if (ensemble_of_leaves(&e)) targets(&e, x, (enum aggregate)how, (enum ml_transform)t, NULL, true);
}

/* ---- TreeClasses: sums of classes to the number of the winner and scores */
/* More than two classes: the first greatest of those that have a score. */
static void many_classes(T s, T base, enum ml_transform how) {
    enum dtype t = dtype(s);
    X all = list2(dim(s, 0), idx(int_attr("classes"))), one = list1(all.v[0]);
    X i = axes_named(all, "n c"), k = axes_named(all, "n c"), z = axes_named(all, "n c"), n = axes_named(one, "n"),
      m = axes_named(one, "n"), o = axes_named(one, "n");
    E v = at(s, i), has_score = seen(s, k.v[0], k.v[1]);
    if (has(base)) {
        v = add(v, at_or(base, list1(i.v[1]), num(0)));
        has_score = or_(has_score, lt(k.v[1], dim(base, 0)));
    }
    T p = stage("score", t, i, v);
    T q = stage("rival", t, k, sel(has_score, at(p, k), least(t)));
    E c = raxis(all.v[1], "c"), d = raxis(all.v[1], "d");
    T most = reduce("most", t, n, RED_MAX, list1(c), at(q, list2(n.v[0], c)), NULL);
    E same = eq(at(q, list2(m.v[0], d)), at(most, list1(m.v[0])));
    T first = reduce("first", I64, m, RED_MIN, list1(d), sel(same, val(d), greatest(I64)), NULL);
    E f = at(first, o);
    out(0, I64, o, sel(eq(f, greatest(I64)), typed(I64, 0), f));
    if (wants(1)) out(1, F32, z, ml_transformed(p, z, how));
}
/* Two classes. If no leaf has a value for the second one, the first one's is used for it. */
static void two_classes(T s, T base, enum ml_transform how) {
    enum dtype t = dtype(s);
    int64_t nbase = 0;
    int binary = (int)int_attr("binary");
    if (has(base)) const_int(dim(base, 0), &nbase);
    X all = list2(dim(s, 0), idx(2)), i = axes_named(all, "n c"), z = axes_named(all, "n c"),
      o = axes_named(list1(dim(s, 0)), "n");
    E a = at(s, list2(i.v[0], idx(0))), b = at(s, list2(i.v[0], idx(1)));
    E has_b = seen(s, i.v[0], idx(1));
    if (nbase == 2) { /* if there are scores for both, the first one's base value is not used */
        E b1 = at(base, list1(idx(1))), joint = add(b1, a);
        a = sel(has_b, neg(joint), add(a, at(base, list1(idx(0))))), b = joint;
    } else if (nbase == 1) a = add(a, at(base, list1(idx(0))));
    E own = sel(eq(i.v[1], idx(1)), b, a);
    T p = stage("score", t, i, sel(seen(s, i.v[0], i.v[1]), own, typed(t, 0)));
    if (!p) return;
    E rules = sel(seen(s, o.v[0], idx(1)), at(p, list2(o.v[0], idx(1))), at(p, list2(o.v[0], idx(0))));
    out(0, I64, o, sel(gt(rules, num(binary == 1 ? 0.5 : 0)), typed(I64, 1), typed(I64, 0)));
    if (!wants(1)) return;
    E both = or_(seen(s, z.v[0], idx(1)), truth(nbase == 2));
    E one = x_is_true(both) ? NULL : ml_split_in_two(z.v[1], at(p, list2(z.v[0], idx(0))), how, binary == 1);
    E two = x_is_false(both) ? NULL : ml_transformed(p, z, how);
    out(1, F32, z, !one ? two : !two ? one : sel(both, two, one));
}
static void one_class(T s, T base, enum ml_transform how) {
    X i = axes(shape(s)), o = axes_named(list1(dim(s, 0)), "n"), z = axes(shape(s));
    E v = at(s, i);
    T p = stage("score", dtype(s), i, has(base) ? add(v, at(base, list1(idx(0)))) : v);
    if (!p) return;
    out(0, I64, o, sel(gt(at(p, list2(o.v[0], idx(0))), num(0)), typed(I64, 1), typed(I64, 0)));
    if (wants(1)) out(1, F32, z, ml_transformed(p, z, how));
}
static void op_classes(void) {
    int64_t n = int_attr("classes");
    enum ml_transform how = (enum ml_transform)int_attr("transform");
    (n == 1 ? one_class : n == 2 ? two_classes : many_classes)(in(0), in(1), how);
}

/* Is there one column of values for two classes, and is none of them negative? */
static int binary_kind(const struct ensemble *e) {
    bool one = true, positive = true;
    for (int k = 0; k < e->first[e->nleaves]; k++) {
        one = one && e->weights[k].column == e->weights[0].column;
        positive = positive && !(e->weights[k].value < 0);
    }
    return e->columns != 2 || !one ? 0 : positive ? 1 : 2;
}
static void exp_classifier(void) {
    const struct attr *labels = ml_labels_attr("classlabels_strings", "classlabels_int64s");
    struct ensemble e = {.type = ml_float_type(dtype(in(0))), .columns = labels ? labels->n : 0};
    struct tree_tables tables;
    enum ml_transform t;
    int nbase = 0;
    V x = ml_samples(0, e.type);
    if (!x || !ml_transform_attr(&t)) return;
    struct tensor *base = base_values(e.type, &nbase);
    if (!base || e.columns < 1 || nbase > (e.columns < 3 ? 2 : e.columns) || (e.columns == 1 && nbase == 2)) {
        if (base) fail(E_ATTR, "%lld labels with %d base values", (long long)e.columns, nbase);
        return;
    }
    if (!ensemble_of_lists(&e, "class_") || !tree_tables(&e, TREE_SUM, &tables)) return;
    int binary = binary_kind(&e);
    if (fail_if(e.columns == 2 && (tables.first_seen >= 0 || !tables.seen[1]) && nbase < 2 && t == ML_PROBIT, E_ATTR,
                "PROBIT of one score for two classes is not defined"))
        return;
    V ins[] = {sums(x, &tables, TREE_SUM), nbase ? n_const(base) : NULL};
    struct attr a[7] = {attr_int("classes", e.columns), attr_int("transform", t), attr_int("binary", binary)};
    int n = 3 + seen_attrs(&tables, TREE_SUM, a + 3);
    struct node *classes = n_private("TreeClasses", ins, nbase ? 2 : 1, 2, a, n);
    /* where both of two classes have values, and for a single one, the label is the number itself */
    bool number = labels->kind == AT_INTS && e.columns <= 2 && !binary;
    if (e.columns == 1 && labels->kind == AT_STRINGS) fail(E_ATTR, "a single label that is a string is not supported");
    else gout(0, number ? classes->outs.v[0] : ml_label(classes->outs.v[0], labels));
    gout(1, classes->outs.v[1]);
}

/* ---- rows */
#define NODES                                                                                                          \
    A_FLOATS("base_values"), A_TENSOR("base_values_as_tensor"), A_INTS("nodes_falsenodeids"),                          \
        A_INTS("nodes_featureids"), A_FLOATS("nodes_hitrates"), A_TENSOR("nodes_hitrates_as_tensor"),                  \
        A_INTS("nodes_missing_value_tracks_true"), A_STRINGS("nodes_modes"), A_INTS("nodes_nodeids"),                  \
        A_INTS("nodes_treeids"), A_INTS("nodes_truenodeids"), A_FLOATS("nodes_values"),                                \
        A_TENSOR("nodes_values_as_tensor"), A_STRING("post_transform", .s = "NONE")
#define LEAVES(p)                                                                                                      \
    A_INTS(p "_ids"), A_INTS(p "_nodeids"), A_INTS(p "_treeids"), A_FLOATS(p "_weights"),                              \
        A_TENSOR(p "_weights_as_tensor")
static const struct op_attr a_regressor[] = {
    NODES, LEAVES("target"), A_STRING("aggregate_function", .s = "SUM"), A_INT("n_targets"), {0}};
static const struct op_attr a_classifier[] = {
    NODES, LEAVES("class"), A_STRINGS("classlabels_strings"), A_INTS("classlabels_int64s"), {0}};
static const struct op_attr a_ensemble[] = {A_INT("aggregate_function", .i = A_SUM),
                                            A_INTS("leaf_targetids", .flags = A_REQUIRED),
                                            A_TENSOR("leaf_weights", .flags = A_REQUIRED),
                                            A_TENSOR("membership_values"),
                                            A_INT("n_targets"),
                                            A_INTS("nodes_falseleafs", .flags = A_REQUIRED),
                                            A_INTS("nodes_falsenodeids", .flags = A_REQUIRED),
                                            A_INTS("nodes_featureids", .flags = A_REQUIRED),
                                            A_TENSOR("nodes_hitrates"),
                                            A_INTS("nodes_missing_value_tracks_true"),
                                            A_TENSOR("nodes_modes", .flags = A_REQUIRED),
                                            A_TENSOR("nodes_splits", .flags = A_REQUIRED),
                                            A_INTS("nodes_trueleafs", .flags = A_REQUIRED),
                                            A_INTS("nodes_truenodeids", .flags = A_REQUIRED),
                                            A_INT("post_transform"),
                                            A_INTS("tree_roots", .flags = A_REQUIRED),
                                            {0}};
static const struct op_attr a_sums[] = {A_INT("features"), A_INT("columns"), A_INT("sum"),
                                        A_INT("order"),    A_INT("nans"),    {0}};
static const struct op_attr a_targets[] = {
    A_INT("trees"), A_INT("targets"), A_INT("transform"), A_INT("keep"), SEEN, {0}};
static const struct op_attr a_classes[] = {A_INT("classes"), A_INT("transform"), A_INT("binary"), SEEN, {0}};
#define PRIVATE(name, attrs, outs, fn)                                                                                 \
    {                                                                                                                  \
        "gcc2nn", name, 1, 1, attrs, slots_parts, outs, .define = fn,                                                  \
                                                        .spec = "part of the expansions of ensembles of trees"         \
    }
const struct op ops_ml_tree[] = {
    {"ai.onnx.ml", "TreeEnsembleRegressor", 3, 1, a_regressor, slots_ml_numbers, slots_y, .expand = exp_regressor,
     .until = 4, .spec = "ai.onnx.ml TreeEnsembleRegressor-3; a single target is transformed by PROBIT only"},
    {"ai.onnx.ml", "TreeEnsembleClassifier", 3, 1, a_classifier, slots_ml_numbers, slots_ml_classes,
     .expand = exp_classifier, .until = 4,
     .spec = "ai.onnx.ml TreeEnsembleClassifier-3; the values for one of two classes speak for the second one"},
    {"ai.onnx.ml", "TreeEnsemble", 5, 5, a_ensemble, slots_ml_numbers, slots_y, .expand = exp_ensemble,
     .spec = "ai.onnx.ml TreeEnsemble-5; post_transform 1 is LOGISTIC and 2 SOFTMAX, as in ONNX Runtime"},
    PRIVATE("TreeSums", a_sums, slots_y, op_sums),
    PRIVATE("TreeTargets", a_targets, slots_y, op_targets),
    PRIVATE("TreeClasses", a_classes, slots_ml_classes, op_classes),
    {0},
};
