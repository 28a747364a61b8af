#!/usr/bin/env python3
"""random_prune.py GCC2NN [--seed S] [--count N]    random networks of convolutions, with filters, biases and factors of zero:
what `gcc2nn prune --structured` makes of each gives in ONNX Runtime what it gave before.

Last line: N passed, N failed, N skipped (what ONNX Runtime does not take), and how many filters went.
"""
import argparse
import json
import os
import random
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import helper, numpy_helper
except ImportError as e:
    print(f"skipped: {e} (tests/requirements.txt; ./dev setup)")
    sys.exit(77)

INPUT = (2, 3, 8, 8)


class Network:
    """Values are (name, channels, side of the picture)."""

    def __init__(self, seed):
        self.r, self.n = random.Random(seed), np.random.default_rng(seed)
        self.nodes, self.weights, self.values = [], [], [("x", INPUT[1], INPUT[2])]
        self.type = np.float16 if self.r.random() < 0.2 else np.float32
        for _ in range(self.r.randint(4, 14)):
            self.grow()
        outputs = self.end()
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.type))
        graph = helper.make_graph(self.nodes, "g", [helper.make_tensor_value_info("x", kind, INPUT)],
                                  [helper.make_tensor_value_info(o, kind, None) for o in outputs], self.weights)
        self.model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)

    # ---- parts
    def const(self, array):
        name = f"k{len(self.weights)}"
        array = np.asarray(array)
        self.weights.append(numpy_helper.from_array(array.astype(self.type) if array.dtype.kind == "f" else array, name))
        return name

    def floats(self, *dims, zero=0.0, axis=0):
        """Of the slices along the axis a share is zero."""
        a = self.n.standard_normal(dims).astype(np.float32)
        if dims:
            a[(slice(None),) * axis + (self.n.random(dims[axis]) < zero,)] = 0
        return a

    def put(self, op, ins, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, ins, [name], name=name, **attributes))
        return name

    def maybe_bias(self, n):
        return [self.const(self.floats(n, zero=0.5))] if self.r.random() < 0.6 else []

    def other(self, side, channels=None):
        return self.r.choice([v for v in self.values if v[2] == side and channels in (None, v[1])])

    # ---- operators
    def grow(self):
        x = self.r.choice(self.values[-4:])
        made = self.r.choice([self.conv, self.conv, self.conv, self.depthwise, self.norm, self.activation, self.activation, self.constant,
                              self.combine, self.concat, self.pool, self.gate, self.groups, self.groups, self.turned, self.resize,
                              self.view, self.pieces, self.pad, self.crop])(*x)
        if made:
            self.values.append(made)

    def conv(self, x, channels, side):
        n, k = self.r.choice([2, 4, 6, 8]), self.r.choice([1, 3])
        pad = self.r.choice([0, 1]) if k == 3 else 0
        if side - k + 2 * pad < 0:
            return None
        if self.r.random() < 0.15:
            w = self.floats(channels, n, 1, 1, zero=0.4, axis=1)
            return self.put("ConvTranspose", [x, self.const(w)] + self.maybe_bias(n)), n, side
        w = self.floats(n, channels, k, k, zero=0.4)
        if self.r.random() < 0.3:
            w[:, self.n.random(channels) < 0.3] = 0
        return self.put("Conv", [x, self.const(w)] + self.maybe_bias(n), pads=[pad] * 4), n, side - k + 2 * pad + 1

    def groups(self, x, channels, side):
        """Of which some are zero as a whole, with what goes into them."""
        count = self.r.choice([g for g in (1, 2, 3, 4, 6) if channels % g == 0])
        each, k = self.r.choice([1, 2, 3]), self.r.choice([1, 3])
        pad = self.r.choice([0, 1]) if k == 3 else 0
        if side - k + 2 * pad < 0 or count * each > 16:
            return None
        w = self.floats(count * each, channels // count, k, k, zero=0.2)
        w[np.repeat(self.n.random(count) < 0.4, each)] = 0
        return self.put("Conv", [x, self.const(w)] + self.maybe_bias(count * each), pads=[pad] * 4, group=count), count * each, side - k + 2 * pad + 1

    def depthwise(self, x, channels, side):
        k = self.r.choice([1, 3])
        pad = self.r.choice([0, 1]) if k == 3 else 0
        if side - k + 2 * pad < 0:
            return None
        w = self.const(self.floats(channels, 1, k, k, zero=0.2))
        return self.put("Conv", [x, w] + self.maybe_bias(channels), pads=[pad] * 4, group=channels), channels, side - k + 2 * pad + 1

    def norm(self, x, channels, side):
        scale, shift, mean = (self.const(self.floats(channels, zero=z)) for z in (0.2, 0.4, 0))
        return self.put("BatchNormalization", [x, scale, shift, mean, self.const(1 + self.n.random(channels).astype("f"))]), channels, side

    def activation(self, x, channels, side):
        op = self.r.choice(["Relu", "LeakyRelu", "Sigmoid", "HardSwish", "Tanh", "Softplus", "Elu", "Clip", "PRelu"])
        more = [self.const(np.float32(-0.5)), self.const(np.float32(2))] if op == "Clip" else []
        if op == "PRelu":
            more = [self.const(self.floats(*self.r.choice([(channels, 1, 1), (1,), (1, channels, 1, 1)])))]
        return self.put(op, [x] + more), channels, side

    def constant(self, x, channels, side):
        dims = self.r.choice([(1, channels, 1, 1), (channels, 1, 1), (), (1, channels, side, side), (side,), (1, 1, side, side)])
        ins = [x, self.const(self.floats(*dims, zero=0.3 if dims == (channels, 1, 1) else 0))]
        self.r.shuffle(ins)
        return self.put(self.r.choice(["Add", "Mul"]), ins), channels, side

    def combine(self, x, channels, side):
        return self.put(self.r.choice(["Add", "Mul"]), [x, self.other(side, channels)[0]]), channels, side

    def concat(self, x, channels, side):
        y, more, _ = self.other(side)
        return (self.put("Concat", [x, y], axis=self.r.choice([1, -3])), channels + more, side) if channels + more <= 24 else None

    def pool(self, x, channels, side):
        pad = self.r.choice([0, 1])
        if side < 2:
            return None
        average = self.r.random() < 0.5
        more = {"count_include_pad": self.r.choice([0, 1])} if average else {}
        name = self.put("AveragePool" if average else "MaxPool", [x], kernel_shape=[2, 2], pads=[pad] * 4, **more)
        return name, channels, side + 2 * pad - 1

    def turned(self, x, channels, side):
        """Channels last, and back."""
        y = self.put("Transpose", [x], perm=[0, 2, 3, 1])
        if self.r.random() < 0.5:
            y = self.put(self.r.choice(["Add", "Mul"]), [y, self.const(self.floats(channels, zero=0.3))])
        if self.r.random() < 0.5:
            channels, w = self.r.choice([2, 4, 6]), (channels,)
            y = self.put("MatMul", [y, self.const(self.floats(*w, channels, zero=0.4, axis=1))])
        return self.put("Transpose", [self.put("Relu", [y])], perm=[0, 3, 1, 2]), channels, side

    def resize(self, x, channels, side):
        if not 1 < side < 9:
            return None
        mode, to = self.r.choice(["nearest", "linear", "cubic"]), self.r.choice([2 * side, side - 1])
        if self.r.random() < 0.5 and to > side:
            by = ["", self.const_of("f", [1, 1, 2, 2])]
        else:
            by = ["", "", self.const_of("i8", [INPUT[0], channels, to, to])]
        return self.put("Resize", [x] + by, mode=mode), channels, to

    def const_of(self, kind, numbers):
        name = f"k{len(self.weights)}"
        self.weights.append(numpy_helper.from_array(np.array(numbers, kind), name))
        return name

    def view(self, x, channels, side):
        flat = self.put("Reshape", [x, self.const(np.array([INPUT[0], self.r.choice([channels, 0]), side * side]))])
        if self.r.random() < 0.5:
            flat = self.put("Squeeze", [self.put("Unsqueeze", [flat, self.const(np.array([1]))]), self.const(np.array([1]))])
        return self.put("Reshape", [self.put("Relu", [flat]), self.const(np.array([0, self.r.choice([channels, -1]), side, side]))]), channels, side

    def pieces(self, x, channels, side):
        """Split along the channels: one goes on, the other is there for whoever takes it."""
        if channels < 2:
            return None
        n = self.r.randint(1, channels - 1)
        a, b = f"v{len(self.nodes)}", f"v{len(self.nodes)}b"
        self.nodes.append(helper.make_node("Split", [x, self.const(np.array([n, channels - n]))], [a, b], name=a, axis=1))
        if self.r.random() < 0.5:
            self.values.append((b, channels - n, side))
        return a, n, side

    def pad(self, x, channels, side):
        mode = self.r.choice(["constant", "edge"])
        return self.put("Pad", [x, self.const(np.array([0, 0, 0, 1, 0, 0, 1, 0]))], mode=mode), channels, side + 1

    def crop(self, x, channels, side):
        if side < 2:
            return None
        return self.put("Slice", [x] + [self.const(np.array(v)) for v in ([0, 1], [side - 1, side], [2, -1])]), channels, side - 1

    def gate(self, x, channels, side):
        return self.put("Mul", [x, self.put("GlobalAveragePool", [x])]), channels, side

    def end(self):
        """The names of the outputs."""
        x, channels, side = self.values[-1]
        kind, cells = self.r.choice(["conv", "dense", "none", "mean"]), channels * side * side
        outputs = [self.r.choice(self.values[1:])[0]] if len(self.values) > 1 and self.r.random() < 0.2 else []
        if kind == "conv":
            outputs.append(self.put("Conv", [x, self.const(self.floats(3, channels, 1, 1))]))
        elif kind == "dense":
            flat = self.r.choice([[x], [x, self.const(np.array([self.r.choice([INPUT[0], -1]), cells]))]])
            outputs.append(self.put("Gemm", [self.put(["Flatten", "Reshape"][len(flat) - 1], flat), self.const(self.floats(cells, 5))]))
        elif kind == "mean":
            outputs.append(self.put("MatMul", [self.put("ReduceMean", [x], axes=[2, 3], keepdims=0), self.const(self.floats(channels, 5))]))
        elif x != "x" and x not in outputs:
            outputs.append(x)
        return outputs or [self.put("Relu", [x])]


def session(path):
    """Nothing fused: ONNX Runtime puts a Pad into the pool behind it, and then refuses it as larger than the window."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def differ(gcc2nn, folder, seed, before):
    """None, or what is wrong; and how many filters went."""
    out = os.path.join(folder, "out.onnx")
    p = subprocess.run([gcc2nn, "prune", os.path.join(folder, "model.onnx"), "--structured", "-o", out, "--json"], capture_output=True, text=True)
    if p.returncode:
        return f"exit {p.returncode}: {p.stderr}", 0
    half = before.get_inputs()[0].type == "tensor(float16)"
    x = {"x": np.random.default_rng(seed).standard_normal(INPUT).astype(np.float16 if half else np.float32)}
    for was, now in zip(before.run(None, x), session(out).run(None, x)):
        was, now = was.astype("f"), now.astype("f")
        if was.shape != now.shape or not np.allclose(was, now, rtol=0, atol=(1e-2 if half else 2e-5) * (np.abs(was).max() + 1e-6)):
            return f"results differ by {np.abs(was - now).max()} of {np.abs(was).max()}", 0
    return None, sum(row["removed"] for row in json.loads(p.stdout)["products"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("gcc2nn")
    parser.add_argument("--seed", type=int, default=1000 * int(os.environ.get("GCC2NN_SEED", "0")))    # other ones with every commit
    parser.add_argument("--count", type=int, default=60)
    args = parser.parse_args()
    passed = failed = skipped = went = 0
    for seed in range(args.seed, args.seed + args.count):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "model.onnx")
            onnx.save(Network(seed).model, path)
            try:
                before = session(path)
            except Exception:  # pylint: disable=broad-except
                skipped += 1
                continue
            wrong, removed = differ(args.gcc2nn, folder, seed, before)
            passed, failed, went = passed + (not wrong), failed + bool(wrong), went + removed
            if wrong:
                print(f"seed {seed}: {wrong}")
    print(f"{went} filters went; {passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not went else 0


if __name__ == "__main__":
    sys.exit(main())
