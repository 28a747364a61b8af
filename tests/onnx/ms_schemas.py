#!/usr/bin/env python3
"""The operators of com.microsoft that the installed ONNX Runtime has schemas of: each is compiled and has cases in
ms_ops.py, or is refused, with exit status 3 and a way round of its own in the message. docs/onnxruntime.md lists them.

    ms_schemas.py [--gcc2nn PATH] [--json FILE] [--write]      --write: the table of the page anew

Exit status: 0, 1 if one is neither, or if the page is behind, 77 without ONNX Runtime.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
PAGE = os.path.join(ROOT, "docs", "onnxruntime.md")
START = "<!-- made by tests/onnx/ms_schemas.py --write -->\n"
GENERAL = "`gcc2nn list-ops` shows what is"


def schemas():
    """{operator: whether ONNX Runtime has a kernel for CPUs}"""
    from onnxruntime.capi import onnxruntime_pybind11_state as state
    kernels = {k.op_name for k in state.get_all_opkernel_def()
               if k.domain == "com.microsoft" and k.provider == "CPUExecutionProvider"}
    return {s.name: s.name in kernels for s in state.get_all_operator_schema() if s.domain == "com.microsoft"}


def refusal(args, folder, op):
    """(exit status, help but for names that are like it) of a model of this one node."""
    from onnx import TensorProto, helper, save
    node = helper.make_node(op, ["x"], ["y"], domain="com.microsoft")
    graph = helper.make_graph([node], "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
                              [helper.make_empty_tensor_value_info("y")])
    path = os.path.join(folder, "one.onnx")
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=10), path)
    done = subprocess.run([args.gcc2nn, path, "-o", os.path.join(folder, "out")], capture_output=True, text=True)
    lines = done.stderr.splitlines()
    remedy = next((line.split("help: ", 1)[1] for line in lines if "help: " in line), "")
    return done.returncode, remedy.split("; the nearest in name is", 1)[0]


def table(listed, ours, reasons):
    done = sorted(op for op in listed if op in ours)
    text = f"{len(done)} of {len(listed)} are compiled: {', '.join(done)}.\n\n| refused | kernel for CPUs | way round |\n|---|---|---|\n"
    groups = {}
    for op, why in sorted(reasons.items()):
        groups.setdefault((why, listed[op]), []).append(op)
    for (why, cpu), ops in sorted(groups.items(), key=lambda g: g[1]):
        text += f"| {', '.join(ops)} | {'yes' if cpu else 'no'} | {why} |\n"
    return text


def finish(args, summary):
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"summary": summary}, f)
    return 77 if summary["skipped"] else 1 if summary["failed"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    parser.add_argument("--json", metavar="FILE", help="write the counts there")
    parser.add_argument("--write", action="store_true")
    args = parser.parse_args()
    try:
        listed = schemas()
        import ms_ops
    except ImportError as e:
        print(f"skipped: {e} (./dev setup)")
        return finish(args, {"passed": 0, "failed": 0, "skipped": 1})
    rows = json.loads(subprocess.run([args.gcc2nn, "list-ops", "--json"], capture_output=True, check=True).stdout)
    ours = {r["name"] for r in rows if r["domain"] == "com.microsoft"}
    wrong, reasons = [f"{op} has no cases in ms_ops.py" for op in sorted(ours - set(ms_ops.CASES))], {}
    with tempfile.TemporaryDirectory(prefix="ms-schemas-") as folder:
        for op in sorted(set(listed) - ours):
            status, reasons[op] = refusal(args, folder, op)
            if status != 3 or not reasons[op] or reasons[op].startswith(GENERAL):
                wrong.append(f"{op}: exit {status}, no way round of its own: {reasons[op]!r}")
    made = table(listed, ours, reasons)
    with open(PAGE, encoding="utf-8") as f:
        head, _, old = f.read().partition(START)
    if args.write:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(head + START + made)
    elif old != made:
        wrong.append("docs/onnxruntime.md is behind: ms_schemas.py --write")
    for line in wrong:
        print(line)
    print(f"{len(ours & set(listed))} compiled, {len(reasons)} refused, {len(listed)} in all")
    return finish(args, {"passed": len(listed) - len(wrong), "failed": len(wrong), "skipped": 0})


if __name__ == "__main__":
    sys.exit(main())
