#!/usr/bin/env python3
"""How many nodes the graph passes leave of each test model, beside what onnxsim leaves of it. Fails where we leave more.

    python3 -m venv /tmp/onnxsim && /tmp/onnxsim/bin/pip install onnxsim numpy
    /tmp/onnxsim/bin/python tests/graph/node_counts.py [--gcc2nn PATH] [NAME...]        default: all test models

Counted are the nodes after the last graph pass, those in bodies too. What ONNX has as one operator and we as an expansion
into several (LSTM, QLinearConv ..., a BatchNormalization that a product and a sum stand for) is one node, as it is for
onnxsim: of the nodes that stand for such a node of the model only the first counts. Constants count for neither side; a ConstantOfShape of constant dims, which we leave as it is
where it is large, is one. Models that onnxsim does not take are skipped: version 0.8.1 refuses constants of old opsets,
0.4.36 takes them.

Exit status: 0, 1 if we leave more nodes anywhere, 77 if nothing was compared.
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
from modelset import absent, index, prepared  # noqa: E402

SIMPLIFY = """
import sys, onnx, onnxsim
model, _ = onnxsim.simplify(onnx.load(sys.argv[1]), check_n=0)
onnx.save(model, sys.argv[2], save_as_external_data=True, location="weights")
"""
LAST_PASS = "fold-affine"
NODE = re.compile(r"^\s+(?:%\d+\S*.*?|_(?:, _)*) = (?:([\w.]+)::)?(\w+)\(.*?(?: @\"((?:[^\"\\]|\\.)*)\")?$")
CONSTANT = re.compile(r" = ConstantOfShape\(%w\d+\)")


def graphs(graph):
    yield graph
    for node in graph.node:
        for a in node.attribute:
            for body in [a.g] if a.HasField("g") else a.graphs:
                yield from graphs(body)


def operators(model):
    """The nodes of a model, as operators; those of its functions once."""
    count = collections.Counter()
    for g in graphs(model.graph):
        count.update(n.op_type for n in g.node if n.op_type != "Constant")
    return count


def named(model):
    """Gives every node a name of its own; {name: operator}."""
    names = {}
    for g in graphs(model.graph):
        for node in g.node:
            node.name = f"n{len(names)}"
            names[node.name] = (node.domain or "ai.onnx"), node.op_type
    return names


def left_by_us(args, model, expanded, folder):
    import onnx
    names = named(model)
    path = os.path.join(folder, "named.onnx")
    onnx.save(model, path, save_as_external_data=True, location="named.weights")
    done = subprocess.run([args.gcc2nn, path, "--stop-after", LAST_PASS, "--dump-after", LAST_PASS],
                          capture_output=True, text=True, errors="replace")
    if done.returncode:
        return None, done.stderr.strip()[:150]
    count, seen = collections.Counter(), set()
    for line in done.stdout.splitlines():
        node = NODE.match(line)
        if not node or CONSTANT.search(line):
            continue
        op = names.get(node[3])
        if op in expanded:
            if node[3] not in seen:
                count[op[1]] += 1
            seen.add(node[3])
        else:
            count[node[2]] += 1
    return count, ""


def left_by_onnxsim(model, folder, seconds):
    import onnx
    path, out = os.path.join(folder, "model.onnx"), os.path.join(folder, "simplified.onnx")
    onnx.save(model, path, save_as_external_data=True, location="weights")
    os.makedirs(os.path.join(folder, "out"))
    out = os.path.join(folder, "out", "simplified.onnx")
    try:
        done = subprocess.run([sys.executable, "-c", SIMPLIFY, path, out], capture_output=True, text=True, timeout=seconds,
                              errors="replace")
    except subprocess.TimeoutExpired:
        return None, f"onnxsim takes more than {seconds} s"
    if done.returncode or not os.path.exists(out):
        return None, "onnxsim: " + (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[-1][:150]
    return operators(onnx.load(out, load_external_data=False)), ""


def compare(args, name, expanded):
    import onnx
    path, why = prepared(name)
    if why:
        return "skip", why
    with tempfile.TemporaryDirectory(prefix="node-counts-") as folder:
        model = onnx.load(path)
        before = sum(operators(model).values())
        theirs, why = left_by_onnxsim(model, folder, args.timeout)
        if theirs is None:
            return "skip", why
        ours, why = left_by_us(args, model, expanded, folder)
        if ours is None:
            return "skip", why
    n, m = sum(ours.values()), sum(theirs.values())
    more, less = ours - theirs, theirs - ours
    what = "" if n <= m else "  ours: {}; onnxsim's: {}".format(*(
        " ".join(f"{op}:{k}" for op, k in c.most_common()) for c in (more, less)))
    return ("ok" if n <= m else "MORE"), f"{before:6} {m:8} {n:8}{what}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    parser.add_argument("--timeout", type=int, default=600, metavar="SECONDS", help="of onnxsim, for one model")
    args = parser.parse_args()
    try:
        import onnxsim  # noqa: F401
        why = absent()
    except ImportError as e:
        why = str(e)
    if why:
        print(f"node_counts: skipped: {why}")
        return 77
    listed = json.loads(subprocess.run([args.gcc2nn, "list-ops", "--json"], capture_output=True, check=True).stdout)
    expanded = {(o["domain"], o["name"]) for o in listed if o["kind"] == "expansion"} | {("ai.onnx", "BatchNormalization")}
    rows = index()
    verdicts = []
    print(f"{'model':28}       before  onnxsim  gcc2nn")
    for name in args.names or [n for n, r in rows.items() if r["file"].endswith(".onnx") or r["file"] == "recipe only"]:
        verdict, text = compare(args, name, expanded)
        verdicts.append(verdict)
        print(f"{name:28} {verdict:5} {text}", flush=True)
    print("{} of {} models have more nodes than onnxsim leaves, {} were not compared".format(
        verdicts.count("MORE"), len(verdicts), verdicts.count("skip")))
    return 1 if "MORE" in verdicts else 0 if "ok" in verdicts else 77


if __name__ == "__main__":
    sys.exit(main())
