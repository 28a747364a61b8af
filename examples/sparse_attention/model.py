"""model.py FOLDER: writes the model, its inputs and what NumPy makes of them.
model.py FOLDER --check OUT: compares what a compiled model gave.

One layer of attention: projections of x to queries, keys and values of 4 heads, of which each of n places looks at 40
others, and a projection of the result with a residual around it all. The places are an input, the sizes are open.
"""
import sys

import numpy as np
from onnx import TensorProto, load_tensor, numpy_helper, parser, save

HEADS, WIDTH, PLACES = 4, 16, 40
MODEL = """<ir_version: 8, opset_import: ["" : 17, "example.attention" : 1]>
layer (float[N,64] x, int64[N,40] keys) => (float[N,64] y) {
  q0 = MatMul(x, wq) q1 = Reshape(q0, heads) q = Transpose <perm = [1, 0, 2]> (q1)
  k0 = MatMul(x, wk) k1 = Reshape(k0, heads) k = Transpose <perm = [1, 0, 2]> (k1)
  v0 = MatMul(x, wv) v1 = Reshape(v0, heads) v = Transpose <perm = [1, 0, 2]> (v1)
  a = example.attention.SparseAttention <scale = 0.25> (q, k, v, keys)
  b = Transpose <perm = [1, 0, 2]> (a)
  c = Reshape(b, flat)
  o = MatMul(c, wo)
  y = Add(x, o)
}"""


def attention(x, keys, w):
    """The definition: a softmax over all keys, of which all but the listed ones count nothing."""
    n = len(x)
    q, k, v = ((x @ w[name]).reshape(n, HEADS, WIDTH).transpose(1, 0, 2) for name in ("wq", "wk", "wv"))
    seen = np.zeros((n, n))
    for i, row in enumerate(keys):
        for key in row[row >= 0]:
            seen[i, key] += 1
    products = 0.25 * q @ k.transpose(0, 2, 1)
    e = seen * np.exp(products - products.max(-1, keepdims=True))
    sums = e.sum(-1, keepdims=True)
    y = np.divide(e @ v, sums, out=np.zeros_like(q), where=sums > 0)
    return x + y.transpose(1, 0, 2).reshape(n, HEADS * WIDTH) @ w["wo"]


def main():
    folder = sys.argv[1]
    rng = np.random.default_rng(7)
    w = {name: rng.standard_normal((64, 64)) / 8 for name in ("wq", "wk", "wv", "wo")}
    w = {name: a.astype("f") for name, a in w.items()}
    x = rng.standard_normal((50, 64)).astype("f")
    keys = rng.integers(-1, 50, (50, PLACES))
    keys[3] = -1  # a place that looks at nothing
    want = attention(x.astype("d"), keys, {name: a.astype("d") for name, a in w.items()})
    if sys.argv[2:3] == ["--check"]:
        got = numpy_helper.to_array(load_tensor(sys.argv[3] + "/output_0.pb"))
        off = np.abs(got - want).max() / np.abs(want).max()
        print(f"greatest difference to NumPy: {off:.2g} of the greatest magnitude")
        return int(off > 1e-5)
    m = parser.parse_model(MODEL)
    m.graph.initializer.extend(numpy_helper.from_array(a, name) for name, a in w.items())
    m.graph.initializer.append(numpy_helper.from_array(np.array([-1, HEADS, WIDTH]), "heads"))
    m.graph.initializer.append(numpy_helper.from_array(np.array([-1, HEADS * WIDTH]), "flat"))
    save(m, folder + "/attention.onnx")
    np.save(folder + "/x.npy", x)
    np.save(folder + "/keys.npy", keys)
    return 0


if __name__ == "__main__":
    sys.exit(main())
