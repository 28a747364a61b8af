#!/usr/bin/env python3
"""ms_ops.py [--seed S] [--count N] [--compiled [--target T] [--cc CC]] [--keep DIR] [--json FILE] [OPERATOR...]

Runs the operators of com.microsoft on random attributes, optional inputs, types and sizes and compares with ONNX Runtime,
or, where that has no CPU kernel, with numpy: N cases of each operator in ms_cases.py. A case depends on operator and seed
alone. Inputs are constants or given at run time, with dims known or open, as the seed says; the interpreter runs the
scheduled program (generated code must equal it bit for bit), --compiled builds the C, for T or this machine. Last line:

    N passed, N failed, N skipped        skipped: ONNX Runtime refuses the case
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

for folder in "models", "fuzz":
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", folder))
try:
    import numpy as np
    import onnx
    import onnxruntime      # noqa: F401   trial.py asks it
    from onnx import helper, numpy_helper
    import ms_cases_experts     # noqa: F401   these add to CASES
    import ms_cases_more    # noqa: F401
    from ms_cases import CASES, Impossible, Packed
    import regex_cases      # noqa: F401
    import string_cases     # noqa: F401
    from run_models import saturates
    from trial import run_onnxruntime
except ImportError as e:
    print(f"SKIPPED operators of com.microsoft: {e} (./dev setup)\n0 passed, 0 failed, 1 skipped")
    if "--json" in sys.argv:
        with open(sys.argv[sys.argv.index("--json") + 1], "w", encoding="utf-8") as file:
            json.dump({"summary": {"passed": 0, "failed": 0, "skipped": 1}}, file)
    sys.exit(77)

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
OPSET = 21


def model_of(case, r):
    """(model, data of its inputs)"""
    inits, ins, data = [], [], {}
    names = []
    open_dims = r.random() < 0.4
    for k, value in enumerate(case.inputs):
        if value is None:
            names.append("")        # at the end, too: ONNX Runtime aborts where some of its inputs are not named
            continue
        array, elem = value
        name = f"x{k}"
        names.append(name)
        if isinstance(array, Packed):
            tensor = array.tensor
            tensor.name = name
        else:
            tensor = numpy_helper.from_array(array, name)
        # A model needs one input at least.
        if k in case.constant or (k and r.random() < 0.5):
            inits.append(tensor)
            continue
        dims = [f"d{k}_{i}" if open_dims and r.random() < 0.5 and i not in case.fixed.get(k, ()) else d
                for i, d in enumerate(array.shape)]
        ins.append(helper.make_tensor_value_info(name, elem, dims))
        data[name] = tensor
    outs = [f"y{k}" if want else "" for k, want in enumerate(case.wants)]
    node = helper.make_node(case.op, names, outs, domain=case.domain, **case.attributes)
    nodes, results = [node], []
    for k, o in enumerate(outs):
        if o:
            k = outs.index(o)
            results.append(helper.make_tensor_value_info(o, case.types[k], None) if k in case.types else
                           helper.make_empty_tensor_value_info(o))
    graph = helper.make_graph(nodes, "g", ins, results, inits)
    opsets = {"": OPSET, **({case.domain: 1} if case.domain else {})}
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid(*v) for v in opsets.items()], ir_version=10)
    return model, data


def asked(model, data):
    """(results or None, why) by ONNX Runtime."""
    try:
        return run_onnxruntime(model, {k: numpy_helper.to_array(v) for k, v in data.items()}), ""
    except RuntimeError as e:
        return None, str(e).splitlines()[0][:300]


def difference(got, want, case):
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if not want.size:
        return ""
    if want.dtype.kind == "O":
        k = np.argmax(got != want)
        return "" if (got == want).all() else f"{got.reshape(-1)[k]!r}, expected {want.reshape(-1)[k]!r}"
    if want.dtype.kind != "f":
        steps = np.abs(got.astype(np.int64) - want.astype(np.int64))
        if steps.max() > case.steps:
            k = int(steps.argmax())
            return (f"{int((steps > 0).sum())} of {want.size} values differ, by up to {steps.max()} steps "
                    f"({got.reshape(-1)[k]}, expected {want.reshape(-1)[k]})")
        return ""
    with np.errstate(all="ignore"):
        finite = np.isfinite(want)
        if (np.isnan(got) != np.isnan(want)).any() or (~finite & ~np.isnan(want) & (got != want)).any() or \
                (finite & ~np.isfinite(got)).any():
            return "values differ in being NaN or infinite"
        if not finite.any():
            return ""
        w, g = want[finite].astype(np.float64), got[finite].astype(np.float64)
        half = want.dtype == np.float16
        limit = (case.half if half else case.tolerance) * max(np.abs(w).max(), case.magnitude)
        worst = np.abs(w - g).max()
    return f"off by {worst:.3g}, greatest value {np.abs(w).max():.3g}" if worst > limit else ""


def check(op, seed, args, folder):
    """('passed' | 'failed' | 'skipped', why)"""
    r = random.Random(f"{op} {seed}")
    make = CASES[op]
    try:
        case = make(r, np.random.default_rng(r.randrange(1 << 62)))
    except Impossible:
        return "skipped", "nothing drawn"
    model, data = model_of(case, r)
    want = case.expected
    if want is None:
        want, why = asked(model, data)
        if want is None:
            return ("failed" if case.must_run else "skipped"), "ONNX Runtime: " + why
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "data"))
    path = os.path.join(folder, "model.onnx")
    onnx.save(model, path)
    for k, tensor in enumerate(data.values()):
        with open(os.path.join(folder, "data", f"input_{k}.pb"), "wb") as f:
            f.write(tensor.SerializeToString())
    command = [args.gcc2nn, "run", path, "--data", os.path.join(folder, "data"), "--out", os.path.join(folder, "out"),
               "--target", args.target if args.compiled else r.choice(["c99", "x86-avx2", "x86-avx512"])]
    if not args.compiled:
        command.append("--interpret")
    if args.cc:
        command += ["--cc", args.cc]
    try:
        done = subprocess.run(command, capture_output=True, timeout=120, text=True, errors="replace")
    except subprocess.TimeoutExpired:
        return "failed", "took more than 120 s"
    shapes = ", ".join("_" if v is None else f"{v[0].dtype}{list(v[0].shape)}" for v in case.inputs)
    what = f"({shapes}) {case.attributes}"
    if done.returncode:
        why = (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[0]
        return "failed", f"{what}: exit {done.returncode}: {why[-200:]}"
    for k, w in enumerate(want):
        with open(os.path.join(folder, "out", f"output_{k}.pb"), "rb") as f:
            got = numpy_helper.to_array(onnx.TensorProto.FromString(f.read()))
        wrong = difference(got, np.array(w, object) if isinstance(w, str) else w, case)     # a scalar
        if wrong and case.expected is None and saturates(case.op, lambda k: case.inputs[k][0].dtype):
            return "skipped", "ONNX Runtime saturates sums of bytes on this CPU"
        if wrong:
            return "failed", f"{what}: WRONG output {k}: {wrong}"
    return "passed", ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=5)
    parser.add_argument("--compiled", action="store_true")
    parser.add_argument("--target", default="native")
    parser.add_argument("--cc", help="such as one that adds -fsanitize=address,undefined")
    parser.add_argument("--json", metavar="FILE", help="write the counts there")
    parser.add_argument("--keep", metavar="DIR", help="leave failing models there")
    parser.add_argument("--why", action="store_true", help="say what is skipped")
    parser.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    args = parser.parse_args()
    args.gcc2nn = os.path.abspath(args.gcc2nn)
    unknown = [o for o in args.operators if o not in CASES]
    if unknown:
        sys.exit(f"ms_ops.py: no cases for {unknown[0]}")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="ms-ops-") as top:
        for op in args.operators or CASES:
            passed = 0
            for seed in range(args.seed, args.seed + args.count):
                folder = os.path.join(top, "one")
                verdict, why = check(op, seed, args, folder)
                counts[verdict] += 1
                passed += verdict == "passed"
                if verdict == "failed" or (args.why and verdict == "skipped"):
                    print(f"{op} seed {seed}: {verdict} {why}", flush=True)
                    if args.keep and os.path.isdir(folder):
                        shutil.copytree(folder, os.path.join(args.keep, f"{op}-{seed}"), dirs_exist_ok=True)
            if not passed and args.count >= 5:      # a table of cases that never run tests nothing
                print(f"{op}: no case passed", flush=True)
                counts["failed"] += 1
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"summary": counts}, f)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
