#!/usr/bin/env python3
"""Writes test models as ONNX again and holds the files to onnx.checker, and their results in ONNX Runtime to those of the
model itself.

    exported.py [--gcc2nn PATH] [--after PASS]... [NAME...]     small models, or these, as they are after these passes
    exported.py --all                                           every model

Prints a line for each model and pass. exported.tsv lists what ONNX has no words for, with the reason; it counts as skipped,
and one that works fails the run. Exit status: 0, 1 if a model failed, 77 if none was written.
"""
import os
import subprocess
import tempfile

from modelset import arguments, finish, index, missing, places
from run_models import Wrong, read_table, read_tensor, relative_error, small, tolerance

PASSES = ["import", "infer", "rematerialise"]
STEP = {"quant": 2e-2, "int8": 2e-2}    # a step of what is quantised further on: another order of the same sums


def say(name, after, verdict, why):
    print(f"{name:32} {after:14} {verdict:5} {why}".rstrip(), flush=True)


def session(path):
    import onnxruntime
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def inputs_of(data, s):
    files = [os.path.join(data, f"input_{k}.pb") for k in range(len(s.get_inputs()))]
    return {i.name: read_tensor(f)[1] for i, f in zip(s.get_inputs(), files)}


def outputs_of(s, values):
    """{name: array}; what is no tensor is taken apart."""
    found = {}
    for output, value in zip(s.get_outputs(), s.run(None, values)):
        for k, part in enumerate(value if isinstance(value, list) else [value]):
            found[f"{output.name}.{k}" if isinstance(value, list) else output.name] = part
    return found


def check(path, source):
    """Wrong where onnx.checker refuses what it took before."""
    import onnx
    try:
        onnx.checker.check_model(path, full_check=True)
    except Exception as e:
        try:
            onnx.checker.check_model(source, full_check=True)
        except Exception:
            return
        raise Wrong("onnx.checker: " + " ".join(str(e).split())[:160]) from None


def compare(path, source, data, limit):
    import numpy as np
    check(path, source)
    original = session(source)
    values = inputs_of(data, original)
    want = outputs_of(original, values)
    try:
        got = outputs_of(session(path), values)
    except Exception as e:
        raise Wrong("ONNX Runtime: " + " ".join(str(e).split())[:200]) from None
    if list(got) != list(want):
        raise Wrong(f"outputs {list(got)}, not {list(want)}")
    worst = 0.0
    for name in want:
        if isinstance(want[name], dict):
            if want[name].keys() != got[name].keys():
                raise Wrong(f"{name}: other keys")
            pair = [np.array(list(v[name].values())) for v in (got, want)]
        else:
            pair = [np.asarray(v[name]) for v in (got, want)]
        if limit(name) >= 1e-2 and pair[1].dtype.kind in "iu":
            pair = [v.astype(np.float64) for v in pair]
        error = relative_error(*pair)
        worst = max(worst, error)
        if error > limit(name):
            raise Wrong(f"{name}: relative error {error:.2e} > {limit(name):.2e}")
    return worst


def run(args, row, model, data, after, pending):
    name = row["name"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        done = subprocess.run([args.gcc2nn, "compile", "--emit=onnx", "--stop-after=" + after, "-o", path, model],
                              capture_output=True, text=True, errors="replace")
        reason = pending.get((name, after))
        if done.returncode:
            first = ([line for line in done.stderr.splitlines() if "[E" in line and "note:" not in line] or ["?"])[0]
            refused = done.returncode == 3 and "[E0307]" in done.stderr
            return ("skip", reason) if refused and reason else ("error", first.split(": ", 1)[-1][:160])
        quantised = STEP.get(row["category"], 0) if after not in PASSES[:2] else 0
        try:
            worst = compare(path, model, data, lambda out: max(quantised, tolerance(row, out, "float32", {})))
        except Wrong as e:
            return "FAIL", str(e)
    return ("FAIL", "works now: remove it from exported.tsv") if reason else ("ok", f"{worst:.1e}")


def main():
    parser = arguments(__doc__)
    parser.add_argument("--after", action="append")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    why = missing(args, "numpy", "onnx", "onnxruntime")
    if why:
        finish(args, [], why)
    rows = index()
    columns = "a model of INDEX.csv", "a pass", "the reason"
    pending = {(m, p): r for m, p, r in read_table("exported.tsv", rows, columns)}
    names = args.names or [n for n, r in rows.items() if r["category"] != "tflite" and (args.all or small(r))]
    verdicts = []
    for name in names:
        found, why = places(name)
        for after in args.after or PASSES:
            if why:
                verdict = "skip"
            else:
                verdict, why_now = run(args, rows[name], found["model"][0], found["data"][0], after, pending)
            say(name, after, verdict, why or why_now)
            verdicts.append(verdict)
    finish(args, verdicts)


if __name__ == "__main__":
    main()
