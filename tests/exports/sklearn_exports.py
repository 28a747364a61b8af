#!/usr/bin/env python3
"""Estimators and pipelines of scikit-learn, LightGBM and XGBoost, trained on small made-up data, exported by skl2onnx and
onnxmltools, each with a fixed and an open number of samples, compared with ONNX Runtime (judge.py). One line for each
model. Nothing of this runs in CI. Packages:

    python3 -m venv DIR && DIR/bin/pip install -r tests/exports/requirements.txt
    DIR/bin/python tests/exports/sklearn_exports.py --keep EXPORTS --results EXPORTS/sklearn.json
"""
import sys
import warnings

from judge import main

warnings.filterwarnings("ignore")
try:
    import numpy as np
    from sklearn import (cluster, compose, decomposition, discriminant_analysis, ensemble, feature_extraction,
                         feature_selection, gaussian_process, impute, linear_model, mixture,
                         multiclass, multioutput, naive_bayes, neighbors, neural_network, pipeline, preprocessing, svm, tree)
except ImportError as e:
    print(f"SKIPPED: {e} (tests/exports/requirements.txt)")
    sys.exit(77)

N, F, OPSET = 200, 8, {"": 18, "ai.onnx.ml": 3}
rng = np.random.default_rng(7)
X = rng.standard_normal((N, F)).astype(np.float32)
SCORE = X @ rng.standard_normal(F) + 0.3 * rng.standard_normal(N)
Y = {"real": SCORE.astype(np.float32), "two": (SCORE > 0).astype(np.int64), "three": np.digitize(SCORE, [-1, 1]),
     "words": np.array(["low", "middle", "high"])[np.digitize(SCORE, [-1, 1])],
     "targets": np.stack([SCORE, X[:, 0]], 1).astype(np.float32), "none": None}
NAMES = np.array([["red", "s"], ["green", "m"], ["blue", "l"], ["red", "xl"]])[rng.integers(0, 4, N)]
TEXT = np.array(["the quick brown fox", "jumps over the lazy dog", "fox and dog", "quick dog jumps"])[rng.integers(0, 4, N)]


def sets_of(samples, batch):
    return [{"X": samples[:n]} for n in ((5,) if batch == "fixed" else (5, 17))]


def exported(model, samples, batch, options=None):
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType, StringTensorType
    kinds = {"f": {4: FloatTensorType, 8: DoubleTensorType}.get(samples.dtype.itemsize), "i": Int64TensorType}
    kind = kinds.get(samples.dtype.kind, StringTensorType)
    return to_onnx(model, initial_types=[("X", kind([5 if batch == "fixed" else None, samples.shape[1]]))],
                   options=options, target_opset=OPSET), sets_of(samples, batch)


def of_sklearn(make, target, samples=X, options=None, fit=None):
    def export(batch):
        model = make()
        (fit or (lambda m: m.fit(samples, Y[target])))(model)
        o = {id(model): options} if options else None
        return exported(model, samples, batch, o)
    return export


def of_boosters(make, target, convert):
    def export(batch):
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType
        model = make()
        model.fit(X, Y[target])
        shape = FloatTensorType([5 if batch == "fixed" else None, F])
        return getattr(onnxmltools, convert)(model, initial_types=[("X", shape)], target_opset=15), sets_of(X, batch)
    return export


def lightgbm(name, target, **more):
    def make():
        import lightgbm as lgb
        return getattr(lgb, name)(n_estimators=12, num_leaves=7, min_child_samples=5, verbose=-1, **more)
    return of_boosters(make, target, "convert_lightgbm")


def xgboost(name, target, **more):
    def make():
        import xgboost as xgb
        return getattr(xgb, name)(n_estimators=12, max_depth=3, **more)
    return of_boosters(make, target, "convert_xgboost")


def estimators():
    """{name: function of "fixed" or "open"}"""
    e, lm, pp = ensemble, linear_model, preprocessing
    small = {"n_estimators": 10, "random_state": 0}
    gaps = X.copy()
    gaps[rng.random(gaps.shape) < 0.1] = np.nan
    ints = rng.integers(0, 5, (N, 3))
    columns = [("numbers", pp.StandardScaler(), [0, 1, 2]), ("rest", pp.MinMaxScaler(), [3, 4, 5, 6, 7])]
    base = tree.DecisionTreeClassifier(max_depth=3, random_state=0)
    c = {}
    for target in ("two", "three", "words"):
        t = "" if target == "two" else "_" + target
        c |= {
            f"LogisticRegression{t}": of_sklearn(lm.LogisticRegression, target),
            f"RandomForestClassifier{t}": of_sklearn(lambda: e.RandomForestClassifier(**small), target),
            f"GradientBoostingClassifier{t}": of_sklearn(lambda: e.GradientBoostingClassifier(**small), target),
            f"SVC_probability{t}": of_sklearn(lambda: svm.SVC(probability=True, random_state=0), target),
            f"LinearSVC{t}": of_sklearn(svm.LinearSVC, target),
            f"KNeighborsClassifier{t}": of_sklearn(neighbors.KNeighborsClassifier, target),
            f"DecisionTreeClassifier{t}": of_sklearn(lambda: tree.DecisionTreeClassifier(max_depth=5), target),
            f"GaussianNB{t}": of_sklearn(naive_bayes.GaussianNB, target),
        }
    for target in ("two", "three"):
        t = "" if target == "two" else "_three"
        c |= {
            f"HistGradientBoostingClassifier{t}": of_sklearn(
                lambda: e.HistGradientBoostingClassifier(max_iter=10), target, gaps),
            f"ExtraTreesClassifier{t}": of_sklearn(lambda: e.ExtraTreesClassifier(**small), target),
            f"SVC_linear{t}": of_sklearn(lambda: svm.SVC(kernel="linear"), target),
            f"SVC_poly{t}": of_sklearn(lambda: svm.SVC(kernel="poly"), target),
            f"NuSVC{t}": of_sklearn(svm.NuSVC, target),
            f"SGDClassifier{t}": of_sklearn(lambda: lm.SGDClassifier(loss="log_loss", random_state=0), target),
            f"MLPClassifier{t}": of_sklearn(lambda: neural_network.MLPClassifier((16,), max_iter=50), target),
            f"BaggingClassifier{t}": of_sklearn(lambda: e.BaggingClassifier(base, n_estimators=4), target),
            f"AdaBoostClassifier{t}": of_sklearn(lambda: e.AdaBoostClassifier(base, n_estimators=4), target),
            f"VotingClassifier{t}": of_sklearn(
                lambda: e.VotingClassifier([("a", lm.LogisticRegression()), ("b", base)], voting="soft", flatten_transform=False), target),
            f"StackingClassifier{t}": of_sklearn(
                lambda: e.StackingClassifier([("a", lm.LogisticRegression()), ("b", base)]), target),
            f"LGBMClassifier{t}": lightgbm("LGBMClassifier", target),
            f"XGBClassifier{t}": xgboost("XGBClassifier", target),
        }
    c |= {
        "OneVsRestClassifier": of_sklearn(lambda: multiclass.OneVsRestClassifier(lm.LogisticRegression()), "three"),
        "LinearDiscriminantAnalysis": of_sklearn(discriminant_analysis.LinearDiscriminantAnalysis, "three"),
        "QuadraticDiscriminantAnalysis": of_sklearn(discriminant_analysis.QuadraticDiscriminantAnalysis, "three"),
        "BernoulliNB": of_sklearn(naive_bayes.BernoulliNB, "three"),
        "RidgeClassifier": of_sklearn(lm.RidgeClassifier, "three"),
        "Perceptron": of_sklearn(lm.Perceptron, "three"),
        "RandomForestClassifier_columns": of_sklearn(lambda: e.RandomForestClassifier(**small), "three",
                                                     options={"zipmap": "columns"}),
        "LogisticRegression_nozipmap": of_sklearn(lm.LogisticRegression, "words", options={"zipmap": False}),
        "LinearRegression": of_sklearn(lm.LinearRegression, "real"),
        "LinearRegression_targets": of_sklearn(lm.LinearRegression, "targets"),
        "LinearRegression_double": of_sklearn(lm.LinearRegression, "real", X.astype(np.float64)),
        "Ridge": of_sklearn(lm.Ridge, "real"), "Lasso": of_sklearn(lambda: lm.Lasso(0.1), "real"),
        "BayesianRidge": of_sklearn(lm.BayesianRidge, "real"), "HuberRegressor": of_sklearn(lm.HuberRegressor, "real"),
        "DecisionTreeRegressor": of_sklearn(lambda: tree.DecisionTreeRegressor(max_depth=5), "real"),
        "RandomForestRegressor": of_sklearn(lambda: e.RandomForestRegressor(**small), "real"),
        "RandomForestRegressor_targets": of_sklearn(lambda: e.RandomForestRegressor(**small), "targets"),
        "RandomForestRegressor_double": of_sklearn(lambda: e.RandomForestRegressor(**small), "real", X.astype(np.float64)),
        "GradientBoostingRegressor": of_sklearn(lambda: e.GradientBoostingRegressor(**small), "real"),
        "HistGradientBoostingRegressor": of_sklearn(lambda: e.HistGradientBoostingRegressor(max_iter=10), "real", gaps),
        "AdaBoostRegressor": of_sklearn(lambda: e.AdaBoostRegressor(n_estimators=5, random_state=0), "real"),
        "IsolationForest": of_sklearn(lambda: e.IsolationForest(n_estimators=10, random_state=0), "none"),
        "SVR": of_sklearn(svm.SVR, "real"), "NuSVR": of_sklearn(svm.NuSVR, "real"),
        "SVR_poly": of_sklearn(lambda: svm.SVR(kernel="poly"), "real"),
        "LinearSVR": of_sklearn(svm.LinearSVR, "real"),
        "OneClassSVM": of_sklearn(svm.OneClassSVM, "none"),
        "KNeighborsRegressor": of_sklearn(neighbors.KNeighborsRegressor, "real"),
        "MLPRegressor": of_sklearn(lambda: neural_network.MLPRegressor(hidden_layer_sizes=(16,), max_iter=50), "real"),
        "GaussianProcessRegressor": of_sklearn(gaussian_process.GaussianProcessRegressor, "real", X.astype(np.float64)),
        "MultiOutputRegressor": of_sklearn(lambda: multioutput.MultiOutputRegressor(lm.Ridge()), "targets"),
        "VotingRegressor": of_sklearn(lambda: e.VotingRegressor([("a", lm.Ridge()), ("b", svm.SVR())]), "real"),
        "LGBMRegressor": lightgbm("LGBMRegressor", "real"),
        "LGBMClassifier_goss": lightgbm("LGBMClassifier", "three", data_sample_strategy="goss"),
        "XGBRegressor": xgboost("XGBRegressor", "real"),
        "XGBRegressor_poisson": xgboost("XGBRegressor", "two", objective="count:poisson"),
        "XGBRFClassifier": xgboost("XGBRFClassifier", "two"),
        "StandardScaler": of_sklearn(pp.StandardScaler, "none"), "MinMaxScaler": of_sklearn(pp.MinMaxScaler, "none"),
        "MaxAbsScaler": of_sklearn(pp.MaxAbsScaler, "none"), "RobustScaler": of_sklearn(pp.RobustScaler, "none"),
        "Normalizer": of_sklearn(pp.Normalizer, "none"), "Normalizer_max": of_sklearn(lambda: pp.Normalizer("max"), "none"),
        "Binarizer": of_sklearn(pp.Binarizer, "none"), "PowerTransformer": of_sklearn(pp.PowerTransformer, "none"),
        "PolynomialFeatures": of_sklearn(pp.PolynomialFeatures, "none"),
        "KBinsDiscretizer": of_sklearn(lambda: pp.KBinsDiscretizer(4, encode="ordinal"), "none"),
        "KBinsDiscretizer_onehot": of_sklearn(lambda: pp.KBinsDiscretizer(4, encode="onehot-dense"), "none"),
        "OneHotEncoder_ints": of_sklearn(lambda: pp.OneHotEncoder(sparse_output=False), "none", ints),
        "OneHotEncoder_strings": of_sklearn(lambda: pp.OneHotEncoder(sparse_output=False), "none", NAMES),
        "OrdinalEncoder_ints": of_sklearn(pp.OrdinalEncoder, "none", ints),
        "OrdinalEncoder_strings": of_sklearn(pp.OrdinalEncoder, "none", NAMES),
        "LabelEncoder": of_sklearn(pp.LabelEncoder, "none", ints[:, :1], fit=lambda m: m.fit(ints[:, 0])),
        "SimpleImputer": of_sklearn(impute.SimpleImputer, "none", gaps),
        "KNNImputer": of_sklearn(impute.KNNImputer, "none", gaps),
        "PCA": of_sklearn(lambda: decomposition.PCA(3), "none"),
        "TruncatedSVD": of_sklearn(lambda: decomposition.TruncatedSVD(3), "none"),
        "KMeans": of_sklearn(lambda: cluster.KMeans(3, n_init=1), "none"),
        "GaussianMixture": of_sklearn(lambda: mixture.GaussianMixture(3), "none"),
        "SelectKBest": of_sklearn(lambda: feature_selection.SelectKBest(k=3), "three"),
        "VarianceThreshold": of_sklearn(lambda: feature_selection.VarianceThreshold(0.9), "none"),
        "CountVectorizer": of_sklearn(lambda: feature_extraction.text.CountVectorizer(lowercase=False), "none", TEXT[:, None],
                                      fit=lambda m: m.fit(TEXT)),
        "TfidfVectorizer": of_sklearn(lambda: feature_extraction.text.TfidfVectorizer(lowercase=False), "none", TEXT[:, None],
                                      fit=lambda m: m.fit(TEXT)),
        "pipeline_scaled_logistic": of_sklearn(
            lambda: pipeline.make_pipeline(pp.StandardScaler(), lm.LogisticRegression()), "three"),
        "pipeline_imputed_forest": of_sklearn(
            lambda: pipeline.make_pipeline(impute.SimpleImputer(), e.RandomForestClassifier(**small)), "two", gaps),
        "pipeline_columns": of_sklearn(
            lambda: pipeline.make_pipeline(compose.ColumnTransformer(columns), svm.SVC()), "three"),
        "pipeline_pca_knn": of_sklearn(
            lambda: pipeline.make_pipeline(decomposition.PCA(3), neighbors.KNeighborsClassifier()), "three"),
        "pipeline_words_forest": of_sklearn(
            lambda: pipeline.make_pipeline(pp.OneHotEncoder(sparse_output=False), e.RandomForestClassifier(**small)),
            "words", NAMES),
    }
    return c


def cases():
    for name, export in estimators().items():
        for batch in ("fixed", "open"):
            yield f"sklearn-{batch}/{name}", lambda export=export, batch=batch: export(batch)


if __name__ == "__main__":
    sys.exit(main(cases(), __doc__, ("scikit-learn", "skl2onnx", "onnxmltools", "lightgbm", "xgboost", "onnxruntime")))
