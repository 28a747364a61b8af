/* Operators of ai.onnx.ml against results worked out by hand, and what is refused of attributes that do not fit. That
 * they are what ONNX Runtime computes is the matter of tests/fuzz/random_ml.py. */
#include "tests/unit/ops_kit.h"

TestSuite(ml, .init = setup, .fini = done);

/* Inference refuses the nodes, and says `part` of why, and nothing else. */
static void refuses(const char *consts, const char *params, const char *nodes, const char *part) {
    struct text t = {0}, d = {0};
    text_printf(&t, "graph \"\"\nsym N: 0..64\n%s\nregion \"\" (%s) { %s return %%y }\n", consts, params, nodes);
    struct graph *g = graph_parse(c, t.s, t.n, "t.gir");
    bool ok = g && graph_infer(g);
    diag_print(&c->diags, &d, false);
    cr_expect(!ok && strstr(d.s ? d.s : "", part), "%s\n%s", nodes, d.s ? d.s : "accepted");
    cr_expect_eq(c->diags.errors, 1, "%s\n%s", nodes, d.s ? d.s : "accepted");
    ctx_free(c);
    c = ctx_new();
    text_free(&t);
    text_free(&d);
}

/* One question, "feature 0 <mode> 0", with 10 for yes and 20 for no. */
#define X4 "const %x: f32[4,1] = [-1.0,0.0,1.0,nan]"
#define LISTS(feature, yes, no, mode, trees, leaf)                                                                     \
    "%y: ? = \"ai.onnx.ml\"::TreeEnsembleRegressor(%x) {n_targets=1, nodes_featureids=[" feature ",0,0], "             \
    "nodes_falsenodeids=[" no ",0,0], nodes_modes=[\"" mode "\",\"LEAF\",\"LEAF\"], nodes_nodeids=[0,1,2], "           \
    "nodes_treeids=[" trees "], nodes_truenodeids=[" yes ",0,0], nodes_values=[0.0,0.0,0.0], target_ids=[0,0], "       \
    "target_nodeids=[1," leaf "], target_treeids=[0,0], target_weights=[10.0,20.0]"
#define ASK(mode, more) LISTS("0", "1", "2", mode, "0,0,0", "2") more "}"
#define TRACKS          ", nodes_missing_value_tracks_true=[1,0,0]"
Test(ml, branches_and_nan) {
    gives(X4, ASK("BRANCH_LEQ", ""), LIST(10, 10, 20, 20));
    gives(X4, ASK("BRANCH_LT", ""), LIST(10, 20, 20, 20));
    gives(X4, ASK("BRANCH_GTE", ""), LIST(20, 10, 10, 20));
    gives(X4, ASK("BRANCH_GT", ""), LIST(20, 20, 10, 20));
    gives(X4, ASK("BRANCH_EQ", ""), LIST(20, 10, 20, 20));
    gives(X4, ASK("BRANCH_NEQ", ""), LIST(10, 20, 10, 10));
    gives(X4, ASK("BRANCH_LEQ", TRACKS), LIST(10, 10, 20, 10));
    gives(X4, ASK("BRANCH_LT", TRACKS), LIST(10, 20, 20, 10));
    gives(X4, ASK("BRANCH_GTE", TRACKS), LIST(20, 10, 10, 10));
    gives(X4, ASK("BRANCH_GT", TRACKS), LIST(20, 20, 10, 10));
    gives(X4, ASK("BRANCH_EQ", TRACKS), LIST(20, 10, 20, 10));
    gives(X4, ASK("BRANCH_NEQ", TRACKS), LIST(10, 20, 10, 10));
}
Test(ml, aggregates) {
    gives(X4, ASK("BRANCH_LEQ", ", base_values=[0.5]"), LIST(10.5, 10.5, 20.5, 20.5));
    gives(X4, ASK("BRANCH_LEQ", ", aggregate_function=\"MIN\""), LIST(10, 10, 20, 20));
    gives("const %x: f32[1] = [0.25]", ASK("BRANCH_GT", ", aggregate_function=\"AVERAGE\""), LIST(10)); /* one sample */
}
Test(ml, probit) { /* of a place in the normal distribution, by an approximation; outside of it there is none */
    gives("const %x: f32[5,1] = [0.025,0.5,0.975,0.0,1.5]",
          "%y: ? = \"ai.onnx.ml\"::LinearRegressor(%x) {coefficients=[1.0], targets=1, post_transform=\"PROBIT\"}",
          LIST(-1.959048, 0, 1.959048, -INFINITY, NAN));
    gives(X4, ASK("BRANCH_LEQ", ", base_values=[-9.5], post_transform=\"PROBIT\""), LIST(0, 0, NAN, NAN));
}
Test(ml, trees_that_are_refused) {
    const char *p = "%x: f32[N,1]";
    refuses("", p, LISTS("0", "0", "2", "BRANCH_LEQ", "0,0,0", "2") "}", "node 0 of tree 0 is below itself");
    refuses("", p, LISTS("0", "1", "7", "BRANCH_LEQ", "0,0,0", "2") "}", "node 0 of tree 0 has a branch to a node");
    refuses("", p, LISTS("0", "1", "2", "BRANCH_WAY", "0,0,0", "2") "}", "node 0 of tree 0 has a mode");
    refuses("", p, LISTS("-1", "1", "2", "BRANCH_LEQ", "0,0,0", "2") "}", "asks for a feature that cannot be");
    refuses("", p, LISTS("3", "1", "2", "BRANCH_LEQ", "0,0,0", "2") "}", "the trees ask for feature 3");
    refuses("", p, LISTS("0", "1", "2", "BRANCH_LEQ", "0,1,0", "2") "}", "not together");
    refuses("", p, LISTS("0", "1", "2", "BRANCH_LEQ", "0,0,0", "1") "}", "node 2 of tree 0 is a leaf without a value");
    refuses("", p, LISTS("0", "1", "2", "BRANCH_LEQ", "0,0,0", "9") "}", "which is not there");
    refuses("", p, LISTS("0", "1", "2", "BRANCH_LEQ", "0,0", "2") "}", "differ in length");
    refuses("", p, LISTS("0", "1", "2", "BRANCH_LEQ", "0,0,-5000000000", "2") "}", "entry 2 has the number");
    refuses("", "%x: f32[N,1,1]", ASK("BRANCH_LEQ", ""), "the input has rank 3");
}

/* Two trees of TreeEnsemble-5: member of {0, 2}, and "at most 1" in f64. */
Test(ml, members) {
    gives("const %x: f64[6,1] = [-1.0,0.0,1.0,2.0,2.5,nan]",
          "%y: ? = \"ai.onnx.ml\"::TreeEnsemble(%x) {leaf_targetids=[0,0,0,0], leaf_weights=f64[4] = "
          "[1.0,2.0,10.0,20.0], membership_values=f64[3] = [2.0,0.0,nan], n_targets=1, nodes_falseleafs=[1,1], "
          "nodes_falsenodeids=[1,3], nodes_featureids=[0,0], nodes_modes=u8[2] = [6,0], nodes_splits=f64"
          "[2] = [0.0,1.0], nodes_trueleafs=[1,1], nodes_truenodeids=[0,2], tree_roots=[0,1]}",
          LIST(12, 11, 12, 21, 22, 22));
}

/* A single sample's values are added up by the rows of the leaves, by columns, or all at once. */
#define ONE_SAMPLE(columns, targets, roots)                                                                            \
    "%y: ? = \"ai.onnx.ml\"::TreeEnsemble(%x) {leaf_targetids=[" columns "], leaf_weights=f64[4] = "                   \
    "[1.0,2.0,10.0,20.0], n_targets=" targets ", nodes_falseleafs=[1,1], nodes_falsenodeids=[1,3], "                   \
    "nodes_featureids=[0,0], nodes_modes=u8[2] = [0,0], nodes_splits=f64[2] = [0.0,1.0], nodes_trueleafs=[1,1], "      \
    "nodes_truenodeids=[0,2], tree_roots=[" roots "]}"
Test(ml, columns_of_one_sample) {
    const char *x = "const %x: f64[1,1] = [0.5]";
    gives(x, ONE_SAMPLE("0,1,2,0", "3", "0,1"), LIST(0, 2, 10));
    gives(x, ONE_SAMPLE("0,0,2,2", "3", "0,1"), LIST(2, 0, 10));
    gives(x, ONE_SAMPLE("2,2,0,0", "3", "0,1"), LIST(10, 0, 2));
    gives(x, ONE_SAMPLE("0,0,0,0", "1", "0,1"), LIST(12));
    gives(x, ONE_SAMPLE("0,0,2,2", "3", "0,0,1"), LIST(4, 0, 10)); /* trees share leaves */
    gives(x, ONE_SAMPLE("1,1,1,1", "3", "0,0,1"), LIST(0, 14, 0));
}

/* Binary classification by one column of scores: what is positive speaks of probability, what is not of margins. */
#define CLASSES(out, weights, labels)                                                                                  \
    out " = \"ai.onnx.ml\"::TreeEnsembleClassifier(%x) {class_ids=[0,0], class_nodeids=[1,2], class_treeids=[0,0], "   \
        "class_weights=[" weights "], classlabels_int64s=[" labels                                                     \
        "], nodes_featureids=[0,0,0], nodes_treeids=[0,0,0], "                                                         \
        "nodes_falsenodeids=[2,0,0], nodes_modes=[\"BRANCH_LEQ\",\"LEAF\",\"LEAF\"], nodes_nodeids=[0,1,2], "          \
        "nodes_truenodeids=[1,0,0], nodes_values=[0.0,0.0,0.0]}"
Test(ml, two_classes) {
    gives(X4, CLASSES("%y: ?, %z: ?", "0.25,0.75", "7,9"), LIST(7, 7, 9, 9));
    gives(X4, CLASSES("%z: ?, %y: ?", "0.25,0.75", "7,9"), LIST(0.75, 0.25, 0.75, 0.25, 0.25, 0.75, 0.25, 0.75));
    gives(X4, CLASSES("%y: ?, %z: ?", "-2.0,0.25", "7,9"), LIST(7, 7, 9, 9));
    gives(X4, CLASSES("%z: ?, %y: ?", "-2.0,0.25", "7,9"), LIST(2, -2, 2, -2, -0.25, 0.25, -0.25, 0.25));
}

Test(ml, features) {
    gives("const %x: f32[2,3] = [1.0,-2.0,0.0,3.0,4.0,0.0]", "%y: ? = \"ai.onnx.ml\"::Normalizer(%x) {norm=\"L2\"}",
          LIST(0.4472136, -0.8944272, 0, 0.6, 0.8, 0));
    gives("const %x: i64[1,2] = [3,-1]", "%y: ? = \"ai.onnx.ml\"::Normalizer(%x) {norm=\"L1\"}", LIST(0.75, -0.25));
    gives("const %x: f32[1,2] = [0.0,0.0]", "%y: ? = \"ai.onnx.ml\"::Normalizer(%x)", LIST(0, 0));
    gives("const %x: i32[2,2] = [1,2,3,4]", "%y: ? = \"ai.onnx.ml\"::Scaler(%x) {scale=[2.0,0.5], offset=[1.0,0.0]}",
          LIST(0, 1, 4, 2));
    gives("const %x: f32[4] = [nan,1.0,nan,2.0]",
          "%y: ? = \"ai.onnx.ml\"::Imputer(%x) {imputed_value_floats=[9.0], replaced_value_float=nan}",
          LIST(9, 1, 9, 2));
    gives("const %x: i64[1,3] = [5,0,5]",
          "%y: ? = \"ai.onnx.ml\"::Imputer(%x) {imputed_value_int64s=[1,2,3], replaced_value_int64=5}", LIST(1, 0, 3));
    gives("const %a: f32[2,2] = [1.0,2.0,3.0,4.0] const %b: f32[2,1] = [5.0,6.0]",
          "%y: ? = \"ai.onnx.ml\"::FeatureVectorizer(%a, %b) {inputdimensions=[1,2]}", LIST(1, 5, 0, 3, 6, 0));
    gives("const %x: f32[3] = [1.0,2.0,3.0] const %k: i64[2] = [2,0]",
          "%y: ? = \"ai.onnx.ml\"::ArrayFeatureExtractor(%x, %k)", LIST(3, 1));
    gives("const %x: f64[3] = [0.5,1.0,2.0]", "%y: ? = \"ai.onnx.ml\"::Binarizer(%x) {threshold=1.0}", LIST(0, 0, 1));
    refuses("", "%x: f32[N,3]", "%y: ? = \"ai.onnx.ml\"::Scaler(%x) {scale=[1.0,2.0], offset=[0.0,0.0]}",
            "2 values for 3 features");
}
Test(ml, lists) {
    const char *x = "const %x: f32[5] = [1.5,-0.0,nan,2.0,1.5]";
    gives(x,
          "%y: ? = \"ai.onnx.ml\"::LabelEncoder(%x) {keys_floats=[1.5,nan,0.0,1.5], values_int64s=[4,5,6,7], "
          "default_int64=-3}",
          LIST(4, 6, 5, -3, 4)); /* of equal keys the first */
    gives(x, "%y: ? = \"ai.onnx.ml\"::LabelEncoder(%x) {keys_floats=[2.0], values_floats=[0.5]}",
          LIST(0, 0, 0, 0.5, 0));
    gives("const %x: i64[3] = [3,9,-1]", "%y: ? = \"ai.onnx.ml\"::OneHotEncoder(%x) {cats_int64s=[-1,3]}",
          LIST(0, 1, 0, 0, 1, 0));
    refuses("", "%x: i64[N]", "%y: ? = \"ai.onnx.ml\"::LabelEncoder(%x) {keys_floats=[2.0], values_floats=[0.5]}",
            "the keys are of type f32, the input is i64");
}
Test(ml, linear_models) {
    gives("const %x: f32[2,2] = [1.0,2.0,3.0,4.0]",
          "%y: ? = \"ai.onnx.ml\"::LinearRegressor(%x) {coefficients=[1.0,0.0,0.0,10.0], targets=2, "
          "intercepts=[0.5,0.25]}",
          LIST(1.5, 20.25, 3.5, 40.25));
    gives("const %x: f32[2,2] = [1.0,2.0,3.0,-4.0]",
          "%y: ?, %z: ? = \"ai.onnx.ml\"::LinearClassifier(%x) {coefficients=[1.0,1.0], intercepts=[0.0], "
          "classlabels_ints=[5,6]}",
          LIST(6, 5));
    gives("const %x: f32[2,2] = [1.0,2.0,3.0,-4.0]",
          "%z: ?, %y: ? = \"ai.onnx.ml\"::LinearClassifier(%x) {coefficients=[1.0,0.0,0.0,1.0], "
          "intercepts=[0.0,0.0], classlabels_ints=[5,6], post_transform=\"SOFTMAX\"}",
          LIST(0.2689414, 0.7310586, 0.9990889, 0.0009111));
    gives("const %x: f32[1,2] = [1.0,2.0]",
          "%y: ? = \"ai.onnx.ml\"::SVMRegressor(%x) {coefficients=[2.0], support_vectors=[1.0,3.0], n_supports=1, "
          "rho=[0.5], kernel_type=\"RBF\", kernel_params=[0.5,0.0,3.0]}",
          LIST(1.7130613)); /* 2 exp(-0.5) + 0.5 */
    gives("const %x: f32[1,1] = [nan]",
          "%z: ?, %y: ? = \"ai.onnx.ml\"::SVMClassifier(%x) {coefficients=[1.0,-1.0], support_vectors=[1.0,2.0], "
          "vectors_per_class=[1,1], rho=[0.0], prob_a=[-1.0], prob_b=[0.0], classlabels_ints=[0,1]}",
          LIST(0.5, 0.5));
    refuses("", "%x: f32[N,2]", "%y: ? = \"ai.onnx.ml\"::LinearRegressor(%x) {coefficients=[1.0,0.0,0.0], targets=2}",
            "3 coefficients are no matrix of 2 rows");
}
