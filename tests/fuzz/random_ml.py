#!/usr/bin/env python3
"""random_ml.py: as random_models.py (same options, same last line), for the operators of ai.onnx.ml. Ensembles, machines,
encoders are made at random, without any package that trains them; chains of them are what pipelines export.
"""
import sys

from random_models import Impossible, Maker, elem, np, trial
import onnx
from onnx import helper, numpy_helper

TRANSFORMS = ["NONE", "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"]
BRANCHES = ["BRANCH_LEQ"] * 4 + ["BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


class Learned(Maker):
    domain = "ai.onnx.ml"

    def __init__(self, seed):
        super().__init__(seed)
        self.ml = self.r.choice([1, 2, 3, 3, 3, 4, 5, 5])
        self.symbolic = self.r.random() < 0.4
        self.outputs = []

    # ---- values
    def floats(self, *shape):
        return self.n.standard_normal(shape).astype(np.float32)

    def list(self, n, scale=1.0):
        return [float(v) for v in self.floats(n) * np.float32(scale)]

    def samples(self, types=(np.float32,) * 4 + (np.float64, np.int64, np.int32), rank=None, grid=False):
        """[N,F] or [F]; grid: few different values, so that splits are met."""
        shape = [self.size(), self.r.choice([1, 2, 3, 4, 7, 10, 20])]
        if rank != 2 and self.r.random() < 0.15:
            shape = shape[1:]
        dtype = np.dtype(self.r.choice(types))
        v = self.numbers(shape, dtype)
        if grid and dtype.kind == "f":
            v = np.round(v * 2).astype(dtype) / 2
            if self.r.random() < 0.4 and v.size:
                v[self.n.random(v.shape) < 0.2] = np.nan
        return self.given(np.ascontiguousarray(v)), v

    def given(self, array):
        name = self.name("x")
        self.inputs.append(name)
        self.values[name] = (list(array.shape), array.dtype)
        self.data[name] = array
        return name

    def put(self, op, ins, nouts=1, **attributes):
        outs = [self.name("v") for _ in range(nouts)]
        self.nodes.append(helper.make_node(op, ins, outs, domain="ai.onnx.ml", **attributes))
        self.outputs += outs
        return outs

    def classes(self, n, ints="classlabels_ints"):
        """Labels as an attribute, called so if they are numbers."""
        kind = self.r.choice(["places", "numbers", "words"])
        if kind == "words" and n > 1:
            return {"classlabels_strings": [f"class {v}" for v in self.n.permutation(50)[:n]]}
        return {ints: list(range(n)) if kind == "places" else [int(v) for v in self.n.permutation(50)[:n] - 10]}

    # ---- features
    def extract(self):
        x, v = self.samples()
        self.put("ArrayFeatureExtractor",
                 [x, self.given(self.n.integers(0, v.shape[-1], (self.r.choice([1, 2, 5]),)).astype(np.int64))])

    def binarizer(self):
        x, _ = self.samples([np.float32])
        self.put("Binarizer", [x], threshold=float(self.r.choice([0.0, 0.5, -1.0])))

    def vectorizer(self):
        n, dtype = max(1, self.size()), self.r.choice([np.float32, np.float64, np.int64, np.int32])  # of 0 ONNX Runtime dies
        widths = [self.r.choice([1, 2, 5]) for _ in range(self.r.choice([1, 2, 3]))]
        ins = [self.given(self.numbers([n, w], dtype)) for w in widths]
        self.put("FeatureVectorizer", ins, inputdimensions=[max(0, w + self.r.choice([0, 0, 0, 1, -1])) for w in widths])

    def imputer(self):
        x, v = self.samples([np.float32, np.int64], grid=True)
        n = self.r.choice([1, v.shape[-1]])
        if v.dtype == np.float32:
            self.put("Imputer", [x], imputed_value_floats=self.list(n),
                     replaced_value_float=self.r.choice([0.0, 0.5, float("nan")]))
        else:
            self.put("Imputer", [x], imputed_value_int64s=[int(k) for k in self.n.integers(-9, 9, n)],
                     replaced_value_int64=self.r.choice([0, 3]))

    def normalizer(self):
        x, _ = self.samples(grid=self.r.random() < 0.3)
        self.put("Normalizer", [x], norm=self.r.choice(["MAX", "L1", "L2"]))

    def scaler(self):
        x, v = self.samples()
        n = self.r.choice([1, v.shape[-1]])
        self.put("Scaler", [x], scale=self.list(n), offset=self.list(n))

    # ---- lists
    def one_hot(self):
        self.special = False    # what NaN is as an integer, nobody says
        x, _ = self.samples([np.float32, np.float64, np.int64])
        cats = [int(v) for v in self.n.integers(-9, 10, self.r.choice([1, 3, 9, 30]))]
        self.put("OneHotEncoder", [x], cats_int64s=cats, zeros=self.r.choice([1, 1, 1, 0]))

    def label_encoder(self):
        n = self.r.choice([1, 2, 5, 40])
        kind = self.r.choice([np.int64, np.float32])
        keys = (self.n.integers(-9, 10, n) / (2 if kind == np.float32 else 1)).astype(kind)
        if self.ml >= 4 and kind == np.float32 and self.r.random() < 0.3:
            keys[self.r.randrange(n)] = np.nan
        x = self.n.choice(np.append(keys, kind(77)), [self.size(), self.r.choice([1, 3])]).astype(kind)
        out = self.r.choice(["int64s", "floats"])
        values = self.n.integers(-100, 100, n)
        if self.ml >= 4 and self.r.random() < 0.4 and kind == np.int64:     # double to double, int64 to int64
            self.put("LabelEncoder", [self.given(x.astype(np.int64))],
                     keys_tensor=numpy_helper.from_array(keys.astype(np.int64)),
                     values_tensor=numpy_helper.from_array(values.astype(np.int64)),
                     default_tensor=numpy_helper.from_array(np.array([-7], np.int64)))
            return
        more = {"default_int64": -5} if out == "int64s" else {"default_float": 2.5}
        self.put("LabelEncoder", [self.given(x)],
                 **{"keys_int64s" if kind == np.int64 else "keys_floats": [k.item() for k in keys],
                    "values_" + out: [v.item() / (1 if out == "int64s" else 4) for v in values]
                    if out == "floats" else [v.item() for v in values]},
                 **(more if self.r.random() < 0.5 else {}))

    # ---- maps
    def map(self, dtype):
        """An input that is one, of a few of the keys -1 to 12."""
        keys = self.n.permutation(14)[:self.r.choice([1, 3, 8])] - self.r.choice([0, 1])
        name = self.name("m")
        self.inputs.append(name)
        self.values[name] = (None, np.dtype(dtype))
        self.data[name] = {int(k): dtype(v) for k, v in zip(keys, self.numbers([len(keys)], dtype))}
        return name

    def dict_vectorizer(self):
        words = [int(k) for k in self.n.integers(0, 14, self.r.choice([1, 4, 20]))]
        self.put("DictVectorizer", [self.map(self.r.choice([np.float32, np.float64]))], int64_vocabulary=words)

    def cast_map(self):
        self.special = False
        form = {"map_form": "SPARSE", "max_map": self.r.choice([1, 5, 20])} if self.r.random() < 0.5 else {}
        self.put("CastMap", [self.map(np.float32)], cast_to=self.r.choice(["TO_FLOAT", "TO_INT64"]), **form)

    def zip_map(self):
        n = self.r.choice([1, 2, 5])
        x = self.given(self.numbers([max(1, self.size()), n], np.float32))
        self.put("ZipMap", [x], **self.classes(n, "classlabels_int64s"))

    # ---- linear models and support vectors
    def linear_regressor(self):
        x, v = self.samples([np.float32])
        targets = self.r.choice([1, 1, 2, 5])
        more = {"intercepts": self.list(targets)} if self.r.random() < 0.7 else {}
        self.put("LinearRegressor", [x], coefficients=self.list(targets * v.shape[-1], 0.3), targets=targets,
                 post_transform=self.r.choice(TRANSFORMS[:-1]), **more)

    def linear_classifier(self):
        x, v = self.samples()
        rows = self.r.choice([1, 1, 2, 3, 6])
        labels = self.classes(max(rows, 2))
        transform = self.r.choice(TRANSFORMS[:-1])
        self.put("LinearClassifier", [x], 2, coefficients=self.list(rows * v.shape[-1], 0.3), intercepts=self.list(rows),
                 **labels, post_transform=transform, multi_class=self.r.randrange(2))

    def kernel(self):
        return {"kernel_type": self.r.choice(["LINEAR", "POLY", "RBF", "SIGMOID"]),
                "kernel_params": [self.r.choice([0.1, 0.5]), self.r.choice([0.0, 0.3]), float(self.r.choice([2, 3]))]}

    def svm_regressor(self):
        x, v = self.samples([np.float32])
        n = self.r.choice([0, 1, 5, 17])
        vectors = {"support_vectors": self.list(n * v.shape[-1])} if n else {}
        self.put("SVMRegressor", [x], n_supports=n, coefficients=self.list(n or v.shape[-1]), **vectors, rho=self.list(1), one_class=self.r.choice([0, 0, 1]),
                 **self.kernel())

    def svm_classifier(self):
        x, v = self.samples()
        c, f = self.r.choice([2, 2, 3, 5]), v.shape[-1]
        transform = self.r.choice(TRANSFORMS[:-1])
        if self.r.random() < 0.3:
            self.put("SVMClassifier", [x], 2, coefficients=self.list(c * f), rho=self.list(1),
                     **self.classes(c), post_transform=transform, **self.kernel())
            return
        counts = [self.r.choice([1, 2, 6]) for _ in range(c)]
        n, pairs = sum(counts), c * (c - 1) // 2
        more = {}
        if self.r.random() < 0.4:
            more = {"prob_a": [-abs(a) - 0.1 for a in self.list(pairs)], "prob_b": self.list(pairs, 0.1)}
        self.put("SVMClassifier", [x], 2, coefficients=self.list((c - 1) * n), rho=self.list(pairs),
                 vectors_per_class=counts, support_vectors=self.list(n * f), **self.classes(c),
                 post_transform=transform, **self.kernel(), **more)

    # ---- trees
    def tree(self, features, leaves):
        """(nodes, root): a node is (feature, mode, split, missing, yes, no), a leaf None; yes and no are numbers."""
        nodes = [None]
        ends = [0]
        while len(ends) < leaves:
            at = ends.pop(self.r.randrange(len(ends)) if self.r.random() < 0.7 else -1)
            nodes[at] = (self.r.randrange(features), self.r.choice(BRANCHES) if self.mixed else self.mode,
                         float(self.r.choice([-1.0, -0.5, 0.0, 0.5, 1.0, 2.0])), self.r.randrange(2), len(nodes), len(nodes) + 1)
            ends += [len(nodes), len(nodes) + 1]
            nodes += [None, None]
        return nodes

    def ensemble(self, features, classes, prefix):
        self.mixed, self.mode = self.r.random() < 0.3, self.r.choice(BRANCHES)
        trees = [self.tree(features, self.r.choice([1, 2, 3, 8, 40])) for _ in range(self.r.choice([1, 1, 3, 10, 90]))]
        a = {f"nodes_{k}": [] for k in ("treeids", "nodeids", "featureids", "modes", "values", "truenodeids", "falsenodeids",
                                        "missing_value_tracks_true", "hitrates")}
        w = {f"{prefix}_{k}": [] for k in ("treeids", "nodeids", "ids", "weights")}
        kind = self.r.choice(["one", "each", "all", "some"]) if classes > 1 else "one"
        only, positive = self.r.randrange(classes), self.r.random() < 0.4
        for t, nodes in enumerate(trees):
            for k, node in enumerate(nodes):
                f, mode, split, missing, yes, no = node or (0, "LEAF", 0.0, 0, 0, 0)
                for name, v in zip(a, (t, k, f, mode, split, yes, no, missing, 1.0)):
                    a[name].append(v)
                if node:
                    continue
                ids = {"one": [only], "each": [t % classes], "all": range(classes),
                       "some": self.n.permutation(classes)[:self.r.randint(1, classes)]}[kind]
                for c in ids:
                    v = self.list(1)[0] / 4
                    for name, u in zip(w, (t, k, int(c), abs(v) if positive else v)):
                        w[name].append(u)
        if self.r.random() < 0.5:
            del a["nodes_missing_value_tracks_true"]
        if self.r.random() < 0.5:
            del a["nodes_hitrates"]
        return {**a, **w}

    def doubles(self, a, prefix):
        """The lists as tensors of float64, as LightGBM's converter writes them for inputs of that type."""
        for name in ("nodes_values", "nodes_hitrates", f"{prefix}_weights", "base_values"):
            if name in a:
                a[name + "_as_tensor"] = numpy_helper.from_array(np.array(a.pop(name), np.float64))

    def tree_regressor(self):
        x, v = self.samples([np.float32, np.float32, np.float64], grid=True, rank=2)
        targets = self.r.choice([1, 1, 2, 4])
        a = self.ensemble(v.shape[-1], targets, "target")
        a["n_targets"] = targets
        a["aggregate_function"] = self.r.choice(["SUM", "SUM", "AVERAGE", "MIN", "MAX"])
        a["post_transform"] = self.r.choice(TRANSFORMS)
        if self.r.random() < 0.4:
            a["base_values"] = self.list(targets)
        if v.dtype == np.float64 and self.ml >= 3 and self.r.random() < 0.5:
            self.doubles(a, "target")
        self.put("TreeEnsembleRegressor", [x], **a)

    def tree_classifier(self):
        x, v = self.samples(grid=True, rank=2)
        n = self.r.choice([1, 2, 2, 3, 5])
        a = self.ensemble(v.shape[-1], n, "class")
        a |= self.classes(n, "classlabels_int64s")
        a["post_transform"] = self.r.choice(TRANSFORMS[:-1])
        if self.r.random() < 0.3:
            a["base_values"] = self.list(1 if n == 1 else n)
        if n == 2 and len(a.get("base_values", "")) < 2 and len(set(a["class_ids"])) > 1 and "base_values" in a:
            raise Impossible        # ONNX Runtime leaves scores unset
        if v.dtype == np.float64 and self.ml >= 3 and self.r.random() < 0.5:
            self.doubles(a, "class")
        self.put("TreeEnsembleClassifier", [x], 2, **a)

    def tree_ensemble(self):
        dtype = self.r.choice([np.float32, np.float64])
        x, v = self.samples([dtype], grid=True, rank=2)
        targets = self.r.choice([1, 1, 2, 4])
        self.mixed, self.mode = self.r.random() < 0.5, self.r.choice(BRANCHES)
        a = {k: [] for k in ("nodes_featureids", "nodes_missing_value_tracks_true", "nodes_truenodeids", "nodes_trueleafs",
                             "nodes_falsenodeids", "nodes_falseleafs", "leaf_targetids", "tree_roots")}
        modes, splits, weights, members = [], [], [], []
        for _ in range(self.r.choice([1, 3, 20])):
            nodes = self.tree(v.shape[-1], self.r.choice([2, 3, 8, 40]))
            base, place, leaf = len(splits), {}, {}
            for k, node in enumerate(nodes):
                if node:
                    place[k] = base + len(place)
                else:
                    leaf[k] = len(weights)
                    weights.append(self.list(1)[0])
                    a["leaf_targetids"].append(self.r.randrange(targets))
            a["tree_roots"].append(base)
            for node in filter(None, nodes):
                f, mode, split, missing, *ends = node
                mode = 6 if self.r.random() < 0.2 else BRANCHES[3:].index(mode)
                if mode == 6:
                    members += [float(self.r.randrange(0, 5)) for _ in range(self.r.randint(1, 9))]
                    members.append(np.nan)
                modes.append(mode)
                splits.append(split)
                a["nodes_featureids"].append(f)
                a["nodes_missing_value_tracks_true"].append(missing)
                for side, end in zip(("true", "false"), ends):
                    a[f"nodes_{side}nodeids"].append(place.get(end, leaf.get(end)))
                    a[f"nodes_{side}leafs"].append(int(end in leaf))
        if members:
            a["membership_values"] = numpy_helper.from_array(np.array(members, dtype))
        self.put("TreeEnsemble", [x], n_targets=targets, aggregate_function=self.r.randrange(4),
                 post_transform=self.r.choice([0, 0, 1, 2, 3]),
                 nodes_modes=numpy_helper.from_array(np.array(modes, np.uint8)),
                 nodes_splits=numpy_helper.from_array(np.array(splits, dtype)),
                 leaf_weights=numpy_helper.from_array(np.array(weights, dtype)), **a)

    def make(self):
        ops = [self.extract, self.binarizer, self.vectorizer, self.imputer, self.normalizer, self.scaler, self.one_hot,
               self.linear_regressor, self.linear_classifier, self.svm_regressor, self.svm_classifier, self.svm_classifier]
        ops += [self.zip_map, self.dict_vectorizer, self.cast_map]
        ops += [self.label_encoder] * 2 if self.ml >= 2 else []
        ops += [self.tree_ensemble] * 6 if self.ml >= 5 else [self.tree_regressor] * 3 + [self.tree_classifier] * 4
        for _ in range(self.r.choice([1, 1, 1, 2])):
            self.r.choice(ops)()
        if self.symbolic:
            self.symbols = {self.values[k][0][0]: f"n{self.values[k][0][0]}" for k in self.inputs if len(self.values[k][0] or "") > 1}
        return self.model(self.outputs, self.symbols), self.outputs

    def model(self, outs, symbols=None):
        def info(name):
            shape, dtype = self.values[name]
            if shape is None:
                value = helper.make_tensor_type_proto(elem(dtype), [])
                return helper.make_value_info(name, helper.make_map_type_proto(onnx.TensorProto.INT64, value))
            return helper.make_tensor_value_info(name, elem(dtype), dims(name))

        def dims(name):
            shape = self.values[name][0]
            return [symbols.get(shape[0], shape[0]) if symbols and len(shape) > 1 else shape[0]] + shape[1:]
        graph = helper.make_graph(self.nodes, "g", [info(k) for k in self.inputs], [helper.make_empty_tensor_value_info(o) for o in outs], self.inits)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", self.ml)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


if __name__ == "__main__":
    sys.exit(trial.main(Learned, __doc__))
