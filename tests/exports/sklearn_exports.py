#!/usr/bin/env python3
"""Estimators and pipelines of scikit-learn, LightGBM and XGBoost, trained on small made-up data, exported by skl2onnx and
onnxmltools, each with a fixed and an open number of samples, compared with ONNX Runtime (judge.py). One line for each
model: CONVERTER-BATCH/NAME. Nothing of this runs in CI. Packages:

    python3 -m venv DIR && DIR/bin/pip install -r tests/exports/requirements.txt
    DIR/bin/python tests/exports/sklearn_exports.py --keep EXPORTS --results EXPORTS/sklearn.json
"""
import sys
import warnings

from judge import main

warnings.filterwarnings("ignore")
try:
    import numpy as np
    from sklearn import (calibration, cluster, compose, cross_decomposition, decomposition, discriminant_analysis, ensemble,
                         feature_extraction, feature_selection, gaussian_process, impute, linear_model, mixture,
                         model_selection, multiclass, multioutput, naive_bayes, neighbors, neural_network, pipeline, preprocessing,
                         random_projection, svm, tree)
except ImportError as e:
    print(f"SKIPPED: {e} (tests/exports/requirements.txt)")
    sys.exit(77)

N, F, OPSET = 200, 8, {"": 18, "ai.onnx.ml": 3}
rng = np.random.default_rng(7)
X = rng.standard_normal((N, F)).astype(np.float32)
SCORE = X @ rng.standard_normal(F) + 0.3 * rng.standard_normal(N)
Y = {"real": SCORE.astype(np.float32), "two": (SCORE > 0).astype(np.int64), "three": np.digitize(SCORE, [-1, 1]),
     "words": np.array(["low", "middle", "high"])[np.digitize(SCORE, [-1, 1])],
     "targets": np.stack([SCORE, X[:, 0]], 1).astype(np.float32), "labels": np.stack([SCORE > 0, X[:, 0] > 0], 1).astype(np.int64),
     "positive": np.exp(SCORE / 4).astype(np.float32), "none": None}
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


def of_boosters(make, target, convert, samples=X):
    def export(batch):
        import onnxmltools
        from onnxmltools.convert.common.data_types import FloatTensorType
        model = make()
        model.fit(samples, Y[target])
        shape = FloatTensorType([5 if batch == "fixed" else None, F])
        return getattr(onnxmltools, convert)(model, initial_types=[("X", shape)], target_opset=15), sets_of(samples, batch)
    return export


def lightgbm(name, target, samples=X, **more):
    def make():
        import lightgbm as lgb
        return getattr(lgb, name)(n_estimators=12, num_leaves=7, min_child_samples=5, verbose=-1, **more)
    return of_boosters(make, target, "convert_lightgbm", samples)


def xgboost(name, target, samples=X, **more):
    def make():
        import xgboost as xgb
        return getattr(xgb, name)(n_estimators=12, max_depth=3, **more)
    return of_boosters(make, target, "convert_xgboost", samples)


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
    c |= {
        "ElasticNet": of_sklearn(lambda: lm.ElasticNet(0.1), "real"), "Lars": of_sklearn(lm.Lars, "real"),
        "PoissonRegressor": of_sklearn(lm.PoissonRegressor, "two"), "GammaRegressor": of_sklearn(lm.GammaRegressor, "positive"),
        "TweedieRegressor": of_sklearn(lambda: lm.TweedieRegressor(power=1.5), "two"),
        "RANSACRegressor": of_sklearn(lambda: lm.RANSACRegressor(random_state=0), "real"),
        "QuantileRegressor": of_sklearn(lm.QuantileRegressor, "real"), "PLSRegression": of_sklearn(cross_decomposition.PLSRegression, "targets"),
        "ExtraTreesRegressor": of_sklearn(lambda: e.ExtraTreesRegressor(**small), "real"),
        "BaggingRegressor": of_sklearn(lambda: e.BaggingRegressor(n_estimators=4, random_state=0), "real"),
        "StackingRegressor": of_sklearn(lambda: e.StackingRegressor([("a", lm.Ridge()), ("b", svm.SVR())]), "real"),
        "RadiusNeighborsRegressor": of_sklearn(lambda: neighbors.RadiusNeighborsRegressor(9.0), "real"),
        "RadiusNeighborsClassifier": of_sklearn(lambda: neighbors.RadiusNeighborsClassifier(9.0), "three"),
        "KNeighborsClassifier_distance": of_sklearn(lambda: neighbors.KNeighborsClassifier(3, weights="distance", p=1), "three"),
        "NearestNeighbors": of_sklearn(lambda: neighbors.NearestNeighbors(radius=None), "none"),
        "KNeighborsTransformer": of_sklearn(neighbors.KNeighborsTransformer, "none"),
        "LocalOutlierFactor": of_sklearn(lambda: neighbors.LocalOutlierFactor(novelty=True), "none"),
        "NeighborhoodComponentsAnalysis": of_sklearn(lambda: neighbors.NeighborhoodComponentsAnalysis(3, random_state=0), "three"),
        "CategoricalNB": of_sklearn(naive_bayes.CategoricalNB, "three", ints), "ComplementNB": of_sklearn(naive_bayes.ComplementNB, "three", ints),
        "MultinomialNB": of_sklearn(naive_bayes.MultinomialNB, "words", ints),
        "CalibratedClassifierCV": of_sklearn(lambda: calibration.CalibratedClassifierCV(lm.LogisticRegression(), cv=2), "three"),
        "CalibratedClassifierCV_isotonic": of_sklearn(
            lambda: calibration.CalibratedClassifierCV(lm.LogisticRegression(), cv=2, method="isotonic"), "two"),
        "OneVsOneClassifier": of_sklearn(lambda: multiclass.OneVsOneClassifier(lm.LogisticRegression()), "three"),
        "MultiOutputClassifier": of_sklearn(lambda: multioutput.MultiOutputClassifier(lm.LogisticRegression()), "labels"),
        "MLPClassifier_labels": of_sklearn(lambda: neural_network.MLPClassifier((8,), "tanh", max_iter=50), "labels", options={"zipmap": False}),
        "RandomForestClassifier_labels": of_sklearn(lambda: e.RandomForestClassifier(**small), "labels", options={"zipmap": False}),
        "GaussianProcessClassifier": of_sklearn(lambda: gaussian_process.GaussianProcessClassifier(), "two"),
        "GaussianProcessRegressor_std": of_sklearn(gaussian_process.GaussianProcessRegressor, "real", X.astype(np.float64), {"return_std": True}),
        "GridSearchCV": of_sklearn(lambda: model_selection.GridSearchCV(svm.SVC(), {"C": [0.5, 1]}, cv=2), "three"),
        "SGDOneClassSVM": of_sklearn(lm.SGDOneClassSVM, "none"), "SVC_sigmoid": of_sklearn(lambda: svm.SVC(kernel="sigmoid"), "words"),
        "HistGradientBoostingClassifier_full": of_sklearn(lambda: e.HistGradientBoostingClassifier(max_iter=5), "words"),
        "DecisionTreeClassifier_paths": of_sklearn(lambda: tree.DecisionTreeClassifier(max_depth=3), "two", options={"decision_path": True, "zipmap": False}),
        "RandomForestClassifier_leaves": of_sklearn(lambda: e.RandomForestClassifier(3, max_depth=3), "two", options={"decision_leaf": True, "zipmap": False}),
        "LogisticRegression_raw": of_sklearn(lm.LogisticRegression, "three", options={"raw_scores": True}),
        "RandomTreesEmbedding": of_sklearn(lambda: e.RandomTreesEmbedding(3, max_depth=3, sparse_output=False, random_state=0), "none"),
        "MiniBatchKMeans": of_sklearn(lambda: cluster.MiniBatchKMeans(3, n_init=1), "none"),
        "BayesianGaussianMixture": of_sklearn(lambda: mixture.BayesianGaussianMixture(n_components=3), "none"),
        "GaussianMixture_scores": of_sklearn(lambda: mixture.GaussianMixture(3, covariance_type="diag"), "none", options={"score_samples": True}),
        "IncrementalPCA": of_sklearn(lambda: decomposition.IncrementalPCA(3), "none"),
        "KernelPCA": of_sklearn(lambda: decomposition.KernelPCA(3, kernel="rbf"), "none"),
        "GaussianRandomProjection": of_sklearn(lambda: random_projection.GaussianRandomProjection(3, random_state=0), "none"),
        "QuantileTransformer": of_sklearn(lambda: pp.QuantileTransformer(n_quantiles=20), "none"),
        "TargetEncoder": of_sklearn(lambda: pp.TargetEncoder(random_state=0), "two", NAMES),
        "FunctionTransformer": of_sklearn(pp.FunctionTransformer, "none"),
        "LabelBinarizer": of_sklearn(pp.LabelBinarizer, "none", ints[:, :1], fit=lambda m: m.fit(ints[:, 0])),
        "OneHotEncoder_rare": of_sklearn(lambda: pp.OneHotEncoder(drop="first", sparse_output=False), "none", NAMES),
        "PowerTransformer_boxcox": of_sklearn(lambda: pp.PowerTransformer("box-cox"), "none", np.abs(X) + 0.1),
        "SelectFromModel": of_sklearn(lambda: feature_selection.SelectFromModel(lm.Lasso(0.1)), "real"),
        "RFE": of_sklearn(lambda: feature_selection.RFE(lm.Ridge(), n_features_to_select=3), "real"),
        "SimpleImputer_frequent": of_sklearn(lambda: impute.SimpleImputer(strategy="most_frequent", add_indicator=True), "none", gaps),
        "TfidfVectorizer_pairs": of_sklearn(lambda: feature_extraction.text.TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True), "none",
                                            TEXT[:, None], {"locale": "C"}, fit=lambda m: m.fit(TEXT)),
        "CountVectorizer_characters": of_sklearn(lambda: feature_extraction.text.CountVectorizer(analyzer="char", ngram_range=(2, 3)), "none",
                                                 TEXT[:, None], {"locale": "C"}, fit=lambda m: m.fit(TEXT)),
        "pipeline_union": of_sklearn(lambda: pipeline.make_pipeline(
            pipeline.make_union(pp.StandardScaler(), decomposition.PCA(2)), lm.LogisticRegression()), "words"),
        "LGBMRegressor_dart": lightgbm("LGBMRegressor", "real", boosting_type="dart"),
        "LGBMRegressor_gaps": lightgbm("LGBMRegressor", "real", samples=gaps), "LGBMRegressor_poisson": lightgbm("LGBMRegressor", "two", objective="poisson"),
        "LGBMClassifier_ova": lightgbm("LGBMClassifier", "three", objective="multiclassova"), "LGBMClassifier_words": lightgbm("LGBMClassifier", "words"),
        "LGBMClassifier_forest": lightgbm("LGBMClassifier", "two", boosting_type="rf", bagging_freq=1, bagging_fraction=0.7),
        "XGBRegressor_gaps": xgboost("XGBRegressor", "real", samples=gaps), "XGBRFRegressor": xgboost("XGBRFRegressor", "real"),
        "XGBRegressor_logistic": xgboost("XGBRegressor", "two", objective="reg:logistic"), "XGBRegressor_dart": xgboost("XGBRegressor", "real", booster="dart"),
        "XGBRegressor_linear": xgboost("XGBRegressor", "real", booster="gblinear"), "XGBClassifier_gaps": xgboost("XGBClassifier", "three", samples=gaps),
        "XGBRegressor_targets": xgboost("XGBRegressor", "targets"), "XGBClassifier_softmax": xgboost("XGBClassifier", "three", objective="multi:softmax"),
        "XGBRegressor_gamma": xgboost("XGBRegressor", "positive", objective="reg:gamma"), "XGBClassifier_raw": xgboost("XGBClassifier", "two", objective="binary:logitraw"),
    }
    return c


def cases():
    for name, export in estimators().items():
        converter = "onnxmltools" if name.startswith(("LGBM", "XGB")) else "skl2onnx"
        for batch in ("fixed", "open"):
            yield f"{converter}-{batch}/{name}", lambda export=export, batch=batch: export(batch)


if __name__ == "__main__":
    sys.exit(main(cases(), __doc__, ("scikit-learn", "skl2onnx", "onnxmltools", "lightgbm", "xgboost", "onnxruntime")))
