#!/usr/bin/env python3
"""Each node of a model alone, on ONNX Runtime's own values of its inputs (of the first data set, without optimisations of the
graph): no difference is inherited from the nodes before it. Where activations are quantised, only this tells a wrong
operator from a drift that a tie began (docs/numbers.md, N7).

    alone.py [--nodes]              the quantised models that are stored
    alone.py [--nodes] --all        those that are made by a recipe, too
    alone.py [--nodes] NAME...      these models of INDEX.csv

Prints for each model and operator: nodes, elements, how many of them differ and by how much at most, in steps of integers, of
floats as a part of the greatest magnitude; with --nodes also each node that differs. Small integers may be one step off in
one element of a thousand, floats NEAR of the greatest magnitude; everything else must be equal. Nodes that hold graphs, or
sequences, and products of bytes where ONNX Runtime saturates (run_models.py), are left out and counted. Exit status: 0, 1 if a
node is further off, 77 if none ran.
"""
import collections
import glob
import os
import subprocess
import tempfile

from modelset import arguments, finish, index, missing, places
from run_models import host_target, read_tensor, saturates

NEAR = 1e-5
TOGETHER = 40   # nodes in one program


class Failed(Exception):
    pass


class Found:
    def __init__(self):
        self.nodes = self.elements = self.differ = 0
        self.worst = 0.0


def reference(model, feeds):
    """Every value of the main graph, by name."""
    import onnx
    import onnxruntime
    from onnx import numpy_helper
    whole = onnx.ModelProto()
    whole.CopyFrom(model)
    inner = [o for n in model.graph.node for o in n.output if o]
    del whole.graph.output[:]
    whole.graph.output.extend(onnx.helper.make_empty_tensor_value_info(o) for o in inner)
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(whole.SerializeToString(), options, providers=["CPUExecutionProvider"])
    known = {t.name: numpy_helper.to_array(t) for t in model.graph.initializer}
    return {**known, **feeds, **dict(zip(inner, session.run(None, feeds)))}


def alone(model, nodes, values):
    """A model of these nodes, none of which sees another one's output; its inputs: {name: name in the whole}; its outputs"""
    import onnx
    from onnx import helper, numpy_helper
    kept = {t.name: t for t in model.graph.initializer}
    weights, given, copies = {}, {}, []
    for node in nodes:
        copy = onnx.NodeProto()
        copy.CopyFrom(node)
        for k, name in enumerate(node.input):
            if not name:
                continue
            value = values[name]
            if name in kept:
                weights[name] = kept[name]
                continue
            copy.input[k] = "given " + name
            if value.dtype == "int64" and value.ndim <= 1:      # a shape, maybe
                weights[copy.input[k]] = numpy_helper.from_array(value, copy.input[k])
            else:
                given[copy.input[k]] = name
        copies.append(copy)
    info = lambda name, value: helper.make_tensor_value_info(   # noqa: E731
        name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
    outputs = [o for n in nodes for o in n.output if o]
    graph = helper.make_graph(copies, "nodes", [info(g, values[name]) for g, name in given.items()],
                              [info(o, values[o]) for o in outputs], list(weights.values()))
    return helper.make_model(graph, opset_imports=model.opset_import, ir_version=model.ir_version), given, outputs


def run(args, model, given, outputs, values):
    """The outputs of gcc2nn, by name."""
    import onnx
    from onnx import numpy_helper
    with tempfile.TemporaryDirectory(prefix="alone-") as folder:
        data, out = os.path.join(folder, "data"), os.path.join(folder, "out")
        os.mkdir(data)
        onnx.save(model, os.path.join(folder, "model.onnx"))
        for k, (name, origin) in enumerate(given.items()):
            with open(os.path.join(data, f"input_{k}.pb"), "wb") as f:
                f.write(numpy_helper.from_array(values[origin], name).SerializeToString())
        done = subprocess.run([args.gcc2nn, "run", os.path.join(folder, "model.onnx"), "--data", data, "--out", out, "--target",
                               args.target], capture_output=True, text=True, errors="replace")
        if done.returncode:
            raise Failed(f"gcc2nn ended with {done.returncode}: {done.stderr.strip()[:200]}")
        return {o: read_tensor(os.path.join(out, f"output_{k}.pb"))[1] for k, o in enumerate(outputs)}


def difference(got, want):
    """(elements that differ, by how much at most, whether that is too much)"""
    import numpy as np
    if got.shape != want.shape or got.dtype != want.dtype:
        return want.size, float("inf"), True
    if want.dtype.kind == "f":
        got, want = got.astype(np.float64), want.astype(np.float64)
        differ = ~((got == want) | (np.isnan(got) & np.isnan(want)))
        most = np.abs(want[np.isfinite(want)]).max(initial=0)
        worst = np.abs(got - want)[differ].max(initial=0) / (most or 1)
        return int(differ.sum()), float(worst), not worst <= NEAR
    differ = got != want
    if want.dtype.kind not in "iu":
        return int(differ.sum()), float(differ.any()), bool(differ.any())
    worst = int(np.abs(got.astype(np.int64) - want.astype(np.int64)).max(initial=0))
    few = want.dtype.itemsize < 4 and worst <= 1 and differ.sum() <= max(1, 1e-3 * want.size)
    return int(differ.sum()), worst, worst > 0 and not few


def check(args, name):
    """ok, FAIL or skip"""
    import numpy as np
    import onnx
    found, why = places(name)
    if why:
        print(f"{name:28} skip  {why}")
        return "skip"
    path, folder = found["model"][0], found["data"][0]
    model = onnx.load(path)
    values = reference(model, dict(map(read_tensor, sorted(glob.glob(os.path.join(glob.escape(folder), "input_*.pb"))))))
    nodes = [n for n in model.graph.node if n.op_type != "Constant"]
    plain = [n for n in nodes if not any(a.type == onnx.AttributeProto.GRAPH for a in n.attribute)
             and all(isinstance(values[v], np.ndarray) for v in [*n.input, *n.output] if v)
             and not saturates(n.op_type, lambda k, n=n: values[n.input[k]].dtype)]
    found, bad = collections.defaultdict(Found), 0
    for begin in range(0, len(plain), TOGETHER):
        some = plain[begin:begin + TOGETHER]
        try:
            got = run(args, *alone(model, some, values), values)
        except Failed as e:
            print(f"{name:28} FAIL  {e}")
            return "FAIL"
        for node in some:
            of = found[node.op_type]
            of.nodes += 1
            for o in filter(None, node.output):
                differ, worst, wrong = difference(got[o], values[o])
                of.elements += values[o].size
                of.differ += differ
                of.worst = max(of.worst, worst)
                bad += wrong
                if wrong or args.nodes and differ:
                    print(f"    {node.op_type} {node.name or o}: {differ} of {values[o].size} differ, by up to {worst:.3g}")
    print(f"{name:28} {'FAIL' if bad else 'ok':5} {len(plain)} nodes, {len(nodes) - len(plain)} left out, {bad} results too far off")
    for op, of in sorted(found.items()):
        print(f"    {op:28} {of.nodes:4} nodes {of.elements:9} elements {of.differ:8} differ, by up to {of.worst:.3g}", flush=True)
    return "FAIL" if bad else "ok"


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--nodes", action="store_true", help="say which nodes differ")
    parser.add_argument("--target", default=host_target(), help="of gcc2nn run (this machine: %(default)s)")
    args = parser.parse_args()
    if missing(args, "onnx", "onnxruntime"):
        finish(args, [], missing(args, "onnx", "onnxruntime"))
    rows = index()
    names = args.names or [name for name, row in rows.items() if row["category"] == "quant" and row["ort"].startswith("ok")
                           and (args.all or row["file"] != "recipe only")]
    finish(args, [check(args, name) for name in names])


if __name__ == "__main__":
    main()
