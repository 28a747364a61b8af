#!/usr/bin/env python3
"""Trains a small network to read handwritten digits and writes it as ONNX, with the pictures that it never saw.

    train.py DIGITS.csv.gz      writes digits.onnx and digits_test.h beside this file (numpy, onnx; a minute)
    train.py --check            onnxruntime's answers on the pictures of digits_test.h

DIGITS.csv.gz is a file of the package scikit-learn, sklearn/datasets/data/digits.csv.gz: 1,797 digits of 8 by 8 pixels
in 17 shades (E. Alpaydin and C. Kaynak, Optical Recognition of Handwritten Digits, UCI Machine Learning Repository,
CC BY 4.0). To get it without installing anything:

    pip download --no-deps scikit-learn && unzip -p scikit_learn-*.whl sklearn/datasets/data/digits.csv.gz >digits.csv.gz
"""
import gzip
import os
import re
import sys

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
MODEL, TEST = os.path.join(HERE, "digits.onnx"), os.path.join(HERE, "digits_test.h")
SHADES = "0123456789abcdefg"
CHANNELS = 1, 8, 16
EPOCHS, BATCH, RATE, DECAY = 60, 32, 2e-3, 1e-4


def patches(x):
    """[n, c, h, w] -> [n, h, w, c * 9]: the 3 by 3 surroundings of each pixel, zeros outside."""
    n, c, h, w = x.shape
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    return np.stack([padded[:, :, i:i + h, j:j + w] for i in range(3) for j in range(3)], 2) \
        .reshape(n, c * 9, h, w).transpose(0, 2, 3, 1)


def gather(grad, c):
    """The transpose of patches."""
    n, h, w, _ = grad.shape
    out = np.zeros((n, c, h + 2, w + 2), grad.dtype)
    parts = grad.transpose(0, 3, 1, 2).reshape(n, c, 9, h, w)
    for k in range(9):
        out[:, :, k // 3:k // 3 + h, k % 3:k % 3 + w] += parts[:, :, k]
    return out[:, :, 1:-1, 1:-1]


class Net:
    """conv 3x3, relu, max-pool 2x2, conv 3x3, relu, linear"""

    def __init__(self, random):
        a, b, c = CHANNELS

        def normal(*shape):
            return (random.standard_normal(shape) * np.sqrt(2 / shape[-1])).astype(np.float32)
        self.w = [normal(b, a * 9), np.zeros(b, np.float32), normal(c, b * 9), np.zeros(c, np.float32),
                  normal(10, c * 16), np.zeros(10, np.float32)]
        self.m = [np.zeros_like(w) for w in self.w]
        self.v = [np.zeros_like(w) for w in self.w]
        self.steps = 0

    def forward(self, x):
        w = self.w
        self.p1 = patches(x)
        h1 = (self.p1 @ w[0].T + w[1]).transpose(0, 3, 1, 2)
        n, c, h, _ = h1.shape
        windows = np.maximum(h1, 0).reshape(n, c, h // 2, 2, h // 2, 2)
        pooled = windows.max((3, 5))
        self.picked = (windows == pooled[:, :, :, None, :, None]) & (windows > 0)
        self.p2 = patches(pooled)
        h2 = (self.p2 @ w[2].T + w[3]).transpose(0, 3, 1, 2)
        self.on2 = h2 > 0
        self.flat = np.maximum(h2, 0).reshape(n, -1)
        return self.flat @ w[4].T + w[5]

    def train(self, x, label, rate):
        scores = self.forward(x)
        e = np.exp(scores - scores.max(1, keepdims=True))
        d = e / e.sum(1, keepdims=True)
        d[np.arange(len(x)), label] -= 1
        d /= len(x)
        g4, g5 = d.T @ self.flat, d.sum(0)
        d = ((d @ self.w[4]).reshape(self.on2.shape) * self.on2).transpose(0, 2, 3, 1)
        g2, g3 = np.tensordot(d, self.p2, ((0, 1, 2), (0, 1, 2))), d.sum((0, 1, 2))
        d = gather(d @ self.w[2], CHANNELS[1])
        d = (self.picked * d[:, :, :, None, :, None]).reshape(len(x), CHANNELS[1], 8, 8).transpose(0, 2, 3, 1)
        g0, g1 = np.tensordot(d, self.p1, ((0, 1, 2), (0, 1, 2))), d.sum((0, 1, 2))
        self.steps += 1
        for k, g in enumerate((g0, g1, g2, g3, g4, g5)):    # Adam with weight decay
            self.m[k] += 0.1 * (g - self.m[k])
            self.v[k] += 0.001 * (g * g - self.v[k])
            m, v = self.m[k] / (1 - 0.9 ** self.steps), self.v[k] / (1 - 0.999 ** self.steps)
            self.w[k] -= (rate * (m / (np.sqrt(v) + 1e-8) + DECAY * self.w[k])).astype(np.float32)


def shifted(x, random):
    """Each picture moved by up to one pixel: digits are not always in the middle."""
    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    at = random.integers(0, 3, (len(x), 2))
    return np.stack([p[:, i:i + 8, j:j + 8] for p, (i, j) in zip(padded, at)])


def write_model(w):
    from onnx import TensorProto, checker, helper, numpy_helper, save
    a, b, c = CHANNELS
    values = {"conv1.weight": w[0].reshape(b, a, 3, 3), "conv1.bias": w[1], "conv2.weight": w[2].reshape(c, b, 3, 3),
              "conv2.bias": w[3], "linear.weight": w[4], "linear.bias": w[5]}
    conv = {"kernel_shape": [3, 3], "pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["picture", "conv1.weight", "conv1.bias"], ["c1"], "conv1", **conv),
        helper.make_node("Relu", ["c1"], ["r1"], "relu1"),
        helper.make_node("MaxPool", ["r1"], ["p1"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["p1", "conv2.weight", "conv2.bias"], ["c2"], "conv2", **conv),
        helper.make_node("Relu", ["c2"], ["r2"], "relu2"),
        helper.make_node("Flatten", ["r2"], ["flat"], "flatten"),
        helper.make_node("Gemm", ["flat", "linear.weight", "linear.bias"], ["scores"], "linear", transB=1)]
    graph = helper.make_graph(
        nodes, "digits", [helper.make_tensor_value_info("picture", TensorProto.FLOAT, [1, 1, 8, 8])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, [1, 10])],
        [numpy_helper.from_array(np.ascontiguousarray(v, np.float32), k) for k, v in values.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="examples/digits")
    model.ir_version = 8
    checker.check_model(model)
    save(model, MODEL)


def write_test(x, label):
    with open(TEST, "w", encoding="ascii") as f:
        f.write("/* Handwritten digits that the network was not trained on: the digit, then 64 pixels in shades 0 to g.\n"
                " * Written by train.py; source and licence of the data are named there. */\n"
                "static const char *const digits_test[] = {\n")
        for picture, digit in zip(x, label):
            f.write(f'    "{digit} {"".join(SHADES[int(v)] for v in picture.ravel())}",\n')
        f.write("};\n")


def train(path):
    with gzip.open(path, "rt", encoding="ascii") as f:
        table = np.loadtxt(f, delimiter=",")
    x, label = table[:, :64].astype(np.float32).reshape(-1, 1, 8, 8), table[:, 64].astype(int)
    test = np.arange(len(x)) % 5 == 4
    random = np.random.default_rng(1)
    net, xs, ys = Net(random), x[~test] / 16, label[~test]
    for epoch in range(EPOCHS):
        order = random.permutation(len(xs))
        for at in range(0, len(xs), BATCH):
            pick = order[at:at + BATCH]
            net.train(shifted(xs[pick], random), ys[pick], RATE * (1 - epoch / EPOCHS))
    right = (net.forward(x[test] / 16).argmax(1) == label[test]).sum()
    print(f"{right} of {test.sum()} digits it never saw are right, {sum(w.size for w in net.w)} weights")
    write_model(net.w)
    write_test(x[test], label[test])


def check():
    import onnxruntime
    session = onnxruntime.InferenceSession(MODEL, providers=["CPUExecutionProvider"])
    right = total = 0
    with open(TEST, encoding="ascii") as f:
        for digit, pixels in re.findall(r'"(\d) (\w{64})"', f.read()):
            x = np.array([SHADES.index(c) for c in pixels], np.float32).reshape(1, 1, 8, 8) / 16
            right += int(session.run(None, {"picture": x})[0].argmax()) == int(digit)
            total += 1
    print(f"{right} of {total} right")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    check() if sys.argv[1] == "--check" else train(sys.argv[1])
