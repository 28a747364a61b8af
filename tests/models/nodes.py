#!/usr/bin/env python3
"""What manifest.json says of the nodes of a model: each is listed once, and is alive in kernels (or says what it is
instead), merged into one that is alive, or removed by a pass for a reason.

    nodes.py [--gcc2nn PATH] [--all] [NAME...]      a third of the small models, turned by the commit; all; these

Prints a line for each model. Exit status: 0, 1 if a model failed, 77 if none was checked. wrong() is used by
tests/fuzz/random_models.py, too.
"""
import json
import os
import subprocess
import sys
import tempfile

from modelset import ROOT, arguments, finish, index, missing, prepared


LONGEST = 60    # longer names are shown shortened


def sources(graph, outer=""):
    """The nodes of a graph and of the bodies in it, as gcc2nn names them; None where a name is shortened or escaped."""
    import onnx
    for number, node in enumerate(graph.node):
        plain = len(node.name) <= LONGEST and all(" " <= c <= "~" and c not in "\"\\" for c in node.name + node.op_type)
        origin = f"{outer}node {number} " + (f'"{node.name}" ' if node.name else "") + f"({node.op_type})"
        origin = origin if plain and outer is not None else None
        yield origin
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                branch = {"then_branch": " then", "else_branch": " else"}.get(a.name, "") if node.op_type == "If" else ""
                yield from sources(a.g, f"{origin}{branch} > " if origin else None)


def tflite_sources(path):
    """The operators of a TensorFlow Lite model of one graph, as gcc2nn names them."""
    sys.path.append(os.path.join(ROOT, "tests", "tflite"))
    import model as writer
    schema = writer.schema()
    with open(path, "rb") as f:
        model = schema.Model.GetRootAs(f.read(), 0)
    names = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    if model.SubgraphsLength() != 1:
        raise ValueError("a model of several graphs")
    graph = model.Subgraphs(0)
    for number in range(graph.OperatorsLength()):
        op = graph.Operators(number)
        code = model.OperatorCodes(op.OpcodeIndex())
        name = graph.Tensors(op.Outputs(0)).Name().decode()
        op_type = names[max(code.BuiltinCode(), code.DeprecatedBuiltinCode())]
        yield f'node {number} "{name}" ({op_type})' if op_type != "CUSTOM" and len(name) <= LONGEST else None


def wrong(model, nodes, kernels):
    """What is wrong with the list of the manifest, or an empty string. nodes: its entries; kernels: names, or None."""
    return wrong_list(list(sources(model.graph)), bool(model.functions), nodes, kernels)


def wrong_list(want, calls, nodes, kernels):
    listed = [n["node"] for n in nodes]
    if len(set(listed)) != len(listed):
        return "a node is listed twice"
    missing = [w for w in want if w and w not in listed]
    if missing:
        return f"{missing[0]} is not listed"
    if not calls and len(listed) != len(want):
        return f"{len(listed)} nodes are listed, the model has {len(want)}"
    state = {n["node"]: n["state"] for n in nodes}
    for n in nodes:
        if n["state"] == "alive":
            bad = not n["kernels"] and not n.get("why")
        elif n["state"] == "merged":
            bad = state.get(n.get("into")) != "alive" or not n.get("why") or not n.get("pass")
        else:
            bad = n["state"] != "removed" or not n.get("why") or not n.get("pass") or "into" in n
        if bad or (kernels is not None and not set(n.get("kernels", [])) <= kernels):
            return f"{n['node']}: {n}"
    return ""


def check(args, name):
    import onnx
    path, why = prepared(name)
    if why:
        return "skip", why
    with tempfile.TemporaryDirectory(prefix="nodes-") as folder:
        done = subprocess.run([args.gcc2nn, path, "-o", os.path.join(folder, "out"), "--target=x86-avx2"],
                              capture_output=True, text=True, errors="replace")
        if done.returncode == 3:
            return "skip", "refused: " + done.stderr.strip()[:100]
        if done.returncode:
            return "FAIL", f"exit {done.returncode}: {done.stderr.strip()[:200]}"
        with open(os.path.join(folder, "out", "manifest.json"), encoding="utf-8") as f:
            manifest = json.load(f)
    nodes = manifest["nodes"]
    kernels = {k["name"] for k in manifest["kernels"]}
    if path.endswith(".tflite"):
        why = wrong_list(list(tflite_sources(path)), False, nodes, kernels)
    else:
        why = wrong(onnx.load(path, load_external_data=False), nodes, kernels)
    count = {s: sum(n["state"] == s for n in nodes) for s in ("alive", "merged", "removed")}
    return ("FAIL" if why else "ok"), why or "{alive} alive, {merged} merged, {removed} removed".format(**count)


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--all", action="store_true")
    args = parser.parse_args()
    if missing(args, "onnx"):
        finish(args, [], missing(args, "onnx"))
    import run_models
    rows = index()
    names = args.names or list(rows)
    if not args.names and not args.all:
        names = sorted(n for n in names if run_models.small(rows[n]))[run_models.turn()[0] % 3::3]
    results = []
    for name in names:
        results.append(check(args, name)[0:2])
        print("{:28} {:5} {}".format(name, *results[-1]), flush=True)
    finish(args, [r[0] for r in results])


if __name__ == "__main__":
    main()
