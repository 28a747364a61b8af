#!/usr/bin/env python3
"""Models in channels-last order run as those in channels-first order do. Of each model a twin is written whose values
of rank 4 are all NHWC, as exporters from TensorFlow write them: a Transpose before and behind each operator that wants
NCHW, everything else on NHWC. After the graph passes the twin must have the nodes of the model and a Transpose for each
input and output of rank 4 (or rank 3 for signals), as many kernels, and the same results. And the kernels, schedules and
all, must be the model's own, but for two at each input and output: what moves it, and what reads or makes it. (How long
they take, tests/bench/run twins says.)

    nhwc_twins.py [--gcc2nn PATH] [NAME...]        names of test models; `made`: those that this script makes itself

Exit status: 0, 1 if a twin differs, 77 if there is nothing to check.
"""
import argparse
import collections
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(ROOT, "tests", "models"))
try:
    import numpy as np
    import onnx
    from onnx import helper, numpy_helper
except ImportError as e:
    print(f"SKIPPED channels-last twins: {e} (./dev setup)")
    if "--json" in sys.argv:
        with open(sys.argv[sys.argv.index("--json") + 1], "w", encoding="utf-8") as file:
            json.dump({"summary": {"passed": 0, "failed": 0, "skipped": 1}}, file)
    sys.exit(77)

NAMES = ["mlpt_resnet8", "mlpt_dscnn_kws", "mlpt_mobilenet_v1_025_96", "squeezenet1_1", "shufflenet_v2_x1_0"]
CELLWISE = {"Add", "Sub", "Mul", "Div", "Pow", "Max", "Min", "Sum", "Relu", "Clip", "Sigmoid", "HardSigmoid", "HardSwish",
            "LeakyRelu", "Elu", "Exp", "Log", "Sqrt", "Neg", "Abs", "Tanh", "Erf", "Softplus", "Identity", "Cast",
            "Dropout", "Where", "Equal", "Less", "Greater", "Not", "And", "Floor", "Ceil"}
AXIS = {"Concat": 0, "Split": 0, "Softmax": -1, "LogSoftmax": -1, "ArgMax": 0}
REDUCE = {"ReduceMean", "ReduceSum", "ReduceMax", "ReduceMin"}
TO_FIRST, TO_LAST = [0, 3, 1, 2], [0, 2, 3, 1]      # perm of a Transpose to NCHW, and back


class Twin:
    def __init__(self, model):
        model = onnx.shape_inference.infer_shapes(model)
        self.g, self.model = model.graph, model
        self.rank = {i.name: len(i.dims) for i in self.g.initializer}
        for v in [*self.g.value_info, *self.g.input, *self.g.output]:
            if v.type.tensor_type.HasField("shape"):
                self.rank[v.name] = len(v.type.tensor_type.shape.dim)
        self.const = {i.name: numpy_helper.to_array(i) for i in self.g.initializer}
        for node in self.g.node:
            if node.op_type == "Constant" and node.attribute[0].name == "value":
                self.const[node.output[0]] = numpy_helper.to_array(node.attribute[0].t)
                self.rank[node.output[0]] = self.const[node.output[0]].ndim
        self.nodes, self.inits, self.count = [], [], 0
        self.old_softmax = next((o.version for o in model.opset_import if o.domain in ("", "ai.onnx")), 1) < 13

    def last(self, name):
        """Is this value held as NHWC in the twin?"""
        return self.rank.get(name) == 4 and name not in self.const

    def transpose(self, name, perm):
        self.count += 1
        new = f"{name}_turned{self.count}"
        self.nodes.append(helper.make_node("Transpose", [name], [new], perm=perm))
        return new

    def constant(self, array):
        self.count += 1
        self.inits.append(numpy_helper.from_array(np.ascontiguousarray(array), f"turned_const{self.count}"))
        return f"turned_const{self.count}"

    def cellwise(self, node):
        """The node on NHWC operands, or None where its operands do not allow it."""
        ins = []
        for name in node.input:
            if name in self.const and self.const[name].size > 1:
                c = self.const[name]
                ins.append(self.constant(c.reshape((1,) * (4 - c.ndim) + c.shape).transpose(TO_LAST)))
            elif self.last(name) or self.rank.get(name) == 0 or not name or self.const.get(name, np.zeros(2)).size == 1:
                ins.append(name)
            else:
                return None
        return ins

    def moved(self, node):
        """The node with its axes in the other order, or None."""
        new = onnx.NodeProto()
        new.CopyFrom(node)
        attr = {a.name: a for a in new.attribute}
        if node.op_type in CELLWISE:
            ins = self.cellwise(node)
            if ins is None:
                return None
            new.input[:] = ins
            return new
        place = {a: TO_LAST.index(a) for a in range(4)}
        if node.op_type in AXIS and not ("oftmax" in node.op_type and self.old_softmax):
            if any(not self.last(i) for i in node.input if i not in self.const):
                return None
            if any(i in self.const and self.rank[i] == 4 for i in node.input):
                return None
            if node.op_type == "ArgMax" and "keepdims" in attr and not attr["keepdims"].i:
                return None
            axis = attr["axis"].i if "axis" in attr else AXIS[node.op_type]
            if "axis" in attr:
                new.attribute.remove(attr["axis"])
            new.attribute.append(helper.make_attribute("axis", place[axis % 4]))
            return new
        if node.op_type in REDUCE and "axes" in attr and ("keepdims" not in attr or attr["keepdims"].i):
            axes = [place[a % 4] for a in attr["axes"].ints]
            attr["axes"].ints[:] = axes
            return new
        if node.op_type == "Pad" and len(node.input) > 1 and node.input[1] in self.const and len(node.input) < 4:
            pads = self.const[node.input[1]]
            if len(pads) == 8:
                new.input[1] = self.constant(np.concatenate([pads[:4][TO_LAST], pads[4:][TO_LAST]]))
                return new
        return None

    def make(self):
        for node in self.g.node:
            if node.op_type == "Constant" and node.output[0] in self.const:
                self.inits.append(numpy_helper.from_array(self.const[node.output[0]], node.output[0]))
                continue
            if any(a.type in (onnx.AttributeProto.GRAPH, onnx.AttributeProto.GRAPHS) for a in node.attribute):
                raise ValueError("a model with bodies has no twin")
            wide = [n for n in [*node.input, *node.output] if self.last(n)]
            new = self.moved(node) if wide and self.last(node.output[0]) and self.last(
                next((i for i in node.input if self.last(i)), "")) else None
            if new is not None:
                self.nodes.append(new)
                continue
            new = onnx.NodeProto()
            new.CopyFrom(node)
            new.input[:] = [self.transpose(i, TO_FIRST) if self.last(i) else i for i in node.input]
            new.output[:] = [o + "_first" if self.last(o) else o for o in node.output]
            self.nodes.append(new)
            for a, b in zip(new.output, node.output):
                if a != b:
                    self.nodes.append(helper.make_node("Transpose", [a], [b], perm=TO_LAST))
        graph = onnx.GraphProto()
        graph.CopyFrom(self.g)
        del graph.node[:], graph.value_info[:]
        graph.node.extend(self.nodes)
        graph.initializer.extend(self.inits)
        self.edges = 0
        for v in [*graph.input, *graph.output]:
            if self.last(v.name):
                dims = [onnx.TensorShapeProto.Dimension() for _ in range(4)]
                for k, d in enumerate(TO_LAST):
                    dims[k].CopyFrom(v.type.tensor_type.shape.dim[d])
                del v.type.tensor_type.shape.dim[:]
                v.type.tensor_type.shape.dim.extend(dims)
                self.edges += 1
        out = onnx.ModelProto()
        out.CopyFrom(self.model)
        out.graph.CopyFrom(graph)
        return out


# ---- models of this script's own
def made(opset, open_sizes):
    """Residuals, padding, concatenation, squeeze and excitation, resizing, softmax over channels."""
    r = np.random.default_rng(5)
    inits, nodes = [], []

    def w(*shape):
        inits.append(numpy_helper.from_array((r.standard_normal(shape) * 0.3).astype(np.float32), f"w{len(inits)}"))
        return inits[-1].name

    def ints(*v):
        inits.append(numpy_helper.from_array(np.array(v, np.int64), f"w{len(inits)}"))
        return inits[-1].name

    def n(op, *ins, **attrs):
        nodes.append(helper.make_node(op, list(ins), [f"v{len(nodes)}"], **attrs))
        return nodes[-1].output[0]

    x = n("Conv", "x", w(8, 3, 3, 3), w(8), pads=[1, 1, 1, 1])
    y = n("Relu", x)
    y = n("Conv", n("Pad", y, ints(0, 0, 1, 0, 0, 0, 1, 1)), w(8, 8, 3, 3), pads=[0, 1, 0, 0])
    x = n("Add", n("Mul", y, w(8, 1, 1)), n("Sigmoid", x))
    s = n("ReduceMean", x, axes=[2, 3], keepdims=1)
    s = n("Sigmoid", n("Conv", n("Relu", n("Conv", s, w(4, 8, 1, 1))), w(8, 4, 1, 1)))
    x = n("Concat", n("Mul", x, s), n("MaxPool", x, kernel_shape=[3, 3], pads=[1, 1, 1, 1]), axis=1)
    inits.append(numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales"))
    x = n("Resize", x, "", "scales", mode="linear")
    x = n("Conv", n("LeakyRelu", x), w(5, 16, 1, 1))
    nodes.append(helper.make_node("Softmax", [x], ["y"], axis=1))
    size = ["N", 3, "H", "W"] if open_sizes else [2, 3, 8, 10]
    graph = helper.make_graph(nodes, "made", [helper.make_tensor_value_info("x", 1, size)],
                              [helper.make_tensor_value_info("y", 1, [None] * 4)], inits)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


# ---- checking
def call(args, *words):
    done = subprocess.run([args.gcc2nn, *words], capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise RuntimeError(f"gcc2nn {' '.join(words[:2])}: exit {done.returncode}: {done.stderr.strip()[:300]}")
    return done.stdout


def operators(args, path):
    """{operator: count} of the nodes that graph passes leave."""
    text = call(args, path, "--dump-after=fold-affine", "--stop-after=fold-affine")
    return collections.Counter(re.findall(r"^ +[%_].* = ([\w:\"]+)\(", text, re.M))


def results(args, path, feeds, folder):
    os.makedirs(folder)
    words = []
    for name, value in feeds.items():
        np.save(os.path.join(folder, f"{name}.npy".replace("/", "_")), value)
        words += ["--input", f"{name}={os.path.join(folder, name.replace('/', '_'))}.npy"]
    call(args, "run", path, *words, "--out", folder)
    found = sorted((f for f in os.listdir(folder) if f.startswith("output_")), key=lambda f: int(re.findall(r"\d+", f)[0]))
    return [numpy_helper.to_array(onnx.load_tensor(os.path.join(folder, f))) for f in found]


def scheduled(args, path):
    """The kernels after their schedules, as text without numbers and comments."""
    text = call(args, path, "--stop-after=lower", "--dump-after=lower", "--target=x86-avx2")
    kernels = [p for p in re.split(r"\n(?=proc |entry proc )", text) if p.startswith("proc ")]
    return collections.Counter(re.sub(r"^proc k\d+_", "proc ", re.sub(r"(?m)^\s*(//.*)?\n", "", k + "\n")) for k in kernels)


def check(args, name, model, folder):
    twin = Twin(model)
    first, last = os.path.join(folder, f"{name}.onnx"), os.path.join(folder, f"{name}_nhwc.onnx")
    onnx.save(model, first)
    changed = twin.make()
    onnx.save(changed, last)
    a, b = operators(args, first), operators(args, last)
    more = b["Transpose"] - a["Transpose"]
    moved = sum(b.values()) - sum(a.values())
    kernels = [json.loads(call(args, p, "--json", "-o", p + ".c"))["kernels"] for p in (first, last)]
    feeds = {}
    r = np.random.default_rng(1)
    given = {i.name for i in model.graph.initializer}
    for v in model.graph.input:
        if v.name not in given:
            dims = [d.dim_value if d.HasField("dim_value") else 2 + k for k, d in enumerate(v.type.tensor_type.shape.dim)]
            feeds[v.name] = r.standard_normal(dims).astype(helper.tensor_dtype_to_np_dtype(v.type.tensor_type.elem_type))
    want = results(args, first, feeds, os.path.join(folder, name + "_a"))
    turned = {k: np.ascontiguousarray(v.transpose(TO_LAST)) if twin.last(k) else v for k, v in feeds.items()}
    got = results(args, last, turned, os.path.join(folder, name + "_b"))
    wrong = []
    for v, x, y in zip(model.graph.output, want, got):
        y = y.transpose(TO_FIRST) if twin.last(v.name) else y
        if not np.allclose(x, y, rtol=1e-4, atol=1e-5 * max(1.0, float(np.abs(x).max(initial=0)))):
            wrong.append(f"{v.name} differs by {np.abs(x - y).max():.3g}")
    if moved > twin.edges:
        wrong.append(f"{moved} nodes more, with {twin.edges} inputs and outputs of rank 4: {dict(b - a)}")
    others = scheduled(args, last) - scheduled(args, first)
    if sum(others.values()) > 2 * twin.edges:
        wrong.append(f"{sum(others.values())} other kernels, such as {next(iter(others)).splitlines()[0]}")
    if kernels[1] - kernels[0] > twin.edges:
        wrong.append(f"{kernels[1]} kernels, not {kernels[0]}")
    had = sum(n.op_type == "Transpose" for n in changed.graph.node)
    print(f"{name:28} {had:4} transposes written, {more:3} more left; nodes {sum(a.values())} {sum(b.values())}, kernels "
          f"{kernels[0]} {kernels[1]}  {'; '.join(wrong) or 'ok'}", flush=True)
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--json", metavar="FILE", help="write the summary there")
    parser.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    args = parser.parse_args()
    from modelset import absent, prepared
    verdicts, names = [], args.names or ["made"] + ([] if absent() else NAMES)
    with tempfile.TemporaryDirectory(prefix="nhwc-") as folder:
        for name in names:
            if name == "made":
                verdicts.append(check(args, "made", made(13, False), folder))
                verdicts.append(check(args, "made_open", made(13, True), folder))
                continue
            path, why = prepared(name)
            if why:
                sys.exit(f"nhwc_twins: {why}")
            verdicts.append(check(args, name, onnx.load(path), folder))
    summary = {"passed": verdicts.count(True), "failed": verdicts.count(False), "skipped": 0}
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"summary": summary}, f)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**summary))
    sys.exit(1 if summary["failed"] else 0)


if __name__ == "__main__":
    main()
