#!/usr/bin/env python3
"""Makes the network of 8-bit integers: digits_int8.onnx, with QuantizeLinear and DequantizeLinear around each operator.

    quantise.py DIGITS.csv.gz   (numpy, onnx, onnxruntime; the file is that of train.py)

Activations are u8 over the range that they have on the pictures that the network was trained on, weights i8 with a
scale for each of their output channels, biases i32 (ONNX, operators QuantizeLinear and DequantizeLinear)."""
import gzip
import os
import sys

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto, helper, numpy_helper

import train

HERE = os.path.dirname(os.path.abspath(__file__))
PLAIN, MODEL = train.MODEL, os.path.join(HERE, "digits_int8.onnx")
QUANTISED = ["picture", "r1", "p1", "r2", "flat", "scores"]
SAME = {"p1": "r1", "flat": "r2"}    # pools and reshapes keep the range of what they read


def ranges(model, x):
    """{value: (least, most)} over the pictures."""
    seen = onnx.ModelProto()
    seen.CopyFrom(model)
    seen.graph.output.extend(helper.make_empty_tensor_value_info(v) for v in ("r1", "r2"))
    session = onnxruntime.InferenceSession(seen.SerializeToString(), providers=["CPUExecutionProvider"])
    found = {"picture": (0.0, float(x.max()))}
    for picture in x:
        for name, value in zip(("scores", "r1", "r2"), session.run(["scores", "r1", "r2"], {"picture": picture[None]})):
            least, most = found.get(name, (0.0, 0.0))
            found[name] = min(least, float(value.min())), max(most, float(value.max()))
    found.update((name, found[of]) for name, of in SAME.items())
    return found


class Quantiser:
    def __init__(self, model, found):
        self.model, self.found, self.scale = model, found, {}
        self.weights = {i.name: numpy_helper.to_array(i) for i in model.graph.initializer}
        self.nodes, self.constants = [], []

    def constant(self, name, value):
        self.constants.append(numpy_helper.from_array(value, name))
        return name

    def activation(self, name, end=None):
        """Nodes that round the value to u8 and back; the name of what comes out."""
        least, most = self.found[name]
        scale = np.float32((most - least) / 255)
        zero = np.uint8(np.clip(np.rint(-least / scale), 0, 255))
        self.scale[name] = scale
        both = [self.constant(name + ".scale", scale), self.constant(name + ".zero", zero)]
        to = end or name + ".rounded"
        self.nodes += [helper.make_node("QuantizeLinear", [name, *both], [name + ".u8"], name + ".quantise"),
                       helper.make_node("DequantizeLinear", [name + ".u8", *both], [to], name + ".dequantise")]
        return to

    def dequantised(self, name, codes, scale):
        """A constant of codes and what they mean; their first axis has the scales."""
        inputs = [self.constant(name + ".codes", codes), self.constant(name + ".scales", scale),
                  self.constant(name + ".zeros", np.zeros(len(scale), codes.dtype))]
        self.nodes.append(helper.make_node("DequantizeLinear", inputs, [name], name + ".dequantise", axis=0))

    def operands(self, weight, bias, x):
        """The weights and the bias of a node that reads x; a bias has the scale of the products."""
        w = self.weights[weight]
        scale = (np.abs(w).reshape(len(w), -1).max(1) / 127).astype(np.float32)
        codes = np.clip(np.rint(w / scale.reshape(-1, *[1] * (w.ndim - 1))), -127, 127).astype(np.int8)
        self.dequantised(weight, codes, scale)
        products = scale * self.scale[x]
        self.dequantised(bias, np.rint(self.weights[bias] / products).astype(np.int32), products)


def quantised(model, found):
    q = Quantiser(model, found)
    reads = {"conv1": "picture", "conv2": "p1", "linear": "flat"}
    at = {"picture": q.activation("picture")}
    for node in model.graph.node:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        if node.name in reads:
            q.operands(node.input[1], node.input[2], reads[node.name])
        for k, name in enumerate(copy.input):
            copy.input[k] = at.get(name, name)
        out = copy.output[0]
        if out == "scores":
            copy.output[0], q.found["scores.float"] = "scores.float", q.found["scores"]
        q.nodes.append(copy)
        if out in QUANTISED:
            at[out] = q.activation("scores.float", "scores") if out == "scores" else q.activation(out)
    graph = helper.make_graph(q.nodes, "digits_int8", list(model.graph.input), list(model.graph.output), q.constants)
    made = helper.make_model(graph, opset_imports=model.opset_import, producer_name="examples/digits")
    made.ir_version = model.ir_version
    onnx.checker.check_model(made)
    return made


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with gzip.open(sys.argv[1], "rt", encoding="ascii") as f:
        table = np.loadtxt(f, delimiter=",")
    x = table[:, :64].astype(np.float32).reshape(-1, 1, 8, 8) / 16
    test = np.arange(len(x)) % 5 == 4
    model = onnx.load(PLAIN)
    made = quantised(model, ranges(model, x[~test]))
    onnx.save(made, MODEL)
    for what, m in (("floats", model), ("integers", made)):
        session = onnxruntime.InferenceSession(m.SerializeToString(), providers=["CPUExecutionProvider"])
        answers = [session.run(None, {"picture": p[None]})[0].argmax() for p in x[test]]
        right = (np.array(answers) == table[test, 64]).sum()
        print(f"{right} of {test.sum()} digits it never saw are right with {what}")


if __name__ == "__main__":
    main()
