#!/usr/bin/env python3
"""limits.py [--json FILE]      how long compiling may take, and how much memory

ResNet-50: gcc2nn 5 s and three times the weights and 500 MB of memory, gcc 60 s. A model of ten nodes: 100 ms, one of
eight thousand: 20 s, which leaves out what takes the square of their number.
Processor time, so that other work on the machine does not count. Exit status: 0, 1 failed, 77 not run.
"""
import json
import os
import subprocess
import sys
import tempfile

from modelset import absent, arguments, finish, prepared

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "hostile"))
from wire import graph, model, node, value      # noqa: E402


class Failed(Exception):
    pass


def call(command, folder):
    """(seconds of processor time, bytes of memory at most)"""
    with open(os.path.join(folder, "log"), "wb") as log:
        p = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        _, status, used = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode:
        with open(os.path.join(folder, "log"), encoding="utf-8", errors="replace") as log:
            raise Failed(f"{command[0]}: exit {p.returncode}: {log.read()[-600:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024


def check(problems, what, got, limit, unit):
    print(f"{what}: {got:.3g} {unit}, limit {limit:.3g}", flush=True)
    if got > limit:
        problems.append(f"{what}: {got:.3g} {unit}, more than {limit:.3g}")


def ten_nodes(args, top, problems):
    names = ["x"] + [f"v{k}" for k in range(9)] + ["y"]
    nodes = [node(op, [a], [b]) for op, a, b in zip(["Relu", "Exp"] * 5, names, names[1:])]
    with open(os.path.join(top, "ten.onnx"), "wb") as f:
        f.write(model(graph(nodes, [value("x", ["N", 8])], [value("y")])))
    best = min(call([args.gcc2nn, "ten.onnx", "--out", f"ten{k}"], top)[0] for k in range(3))
    check(problems, "gcc2nn, ten nodes", best, 0.1, "s")


def many_nodes(args, top, problems):
    """Kernels that share their code and storage that is used again, as in a deep network."""
    nodes = []
    for k in range(8000):
        operands = [f"v{k}", "x"] if k % 4 in (1, 3) else [f"v{k}"]
        nodes.append(node(["Relu", "MatMul", "Softmax", "Add"][k % 4], operands, [f"v{k + 1}"]))
    nodes[0] = node("Relu", ["x"], ["v1"])
    with open(os.path.join(top, "many.onnx"), "wb") as f:
        f.write(model(graph(nodes, [value("x", [4, 4])], [value("v8000")])))
    check(problems, "gcc2nn, eight thousand nodes", call([args.gcc2nn, "many.onnx", "--out", "many"], top)[0], 20, "s")


def resnet(args, top, problems):
    path, why = prepared("resnet50")
    if why:
        raise Failed(why)
    folder = os.path.join(top, "resnet50")
    seconds, memory = call([args.gcc2nn, path, "--out", folder, "--dim", "batch=1", "--name", "net"], top)
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
        weights = json.load(f)["weights"]["bytes"]
    check(problems, "gcc2nn, ResNet-50", seconds, 5, "s")
    check(problems, "gcc2nn, ResNet-50", memory / 1e6, (3 * weights + 500e6) / 1e6, "MB")
    check(problems, "gcc, ResNet-50", call(["make", "libnet.a"], folder)[0], 60, "s")


def main():
    parser = arguments(__doc__)
    args = parser.parse_args()
    problems, skipped = [], absent()
    with tempfile.TemporaryDirectory(prefix="limits-") as top:
        try:
            ten_nodes(args, top, problems)
            many_nodes(args, top, problems)
            if not skipped:
                resnet(args, top, problems)
        except Failed as e:
            problems.append(str(e))
    for p in problems:
        print(f"FAILED {p}")
    if skipped:
        print(f"SKIPPED ResNet-50: {skipped}")
    finish(args, ["FAIL" if problems else "ok", *["skip"] * bool(skipped)], why="; ".join(problems))


main()
