#!/usr/bin/env python3
"""Runs ONNX's backend tests (node, simple, pytorch-*) through `gcc2nn run`.

    run_node_tests.py                  one part of PARTS, turned by the commit, in one form each
    run_node_tests.py --all            every test in all forms
    run_node_tests.py NAME...          these (shell patterns), in all forms

Forms (prepare_cases.py): model, noshape, batch, symbolic; ranked: symbolic with --rank for each output, of tests that are
pending without. Each runs as generated C, targets c99 and this machine's alternately (the second where this machine has
it); --interpret takes the interpreter instead, which is several times faster.

Tolerances are the suite's, |a-b| <= 1e-7 + 1e-3 |b|; of half precision two units in the last place (docs/numbers.md N8),
for the stored results round after each node. Everything else must be equal, types and shapes too.
pending.tsv: FORM, NAME (both shell patterns) and the reason of tests that are refused so far or on purpose; they count as
skipped. differs.tsv: NAME and reason of tests whose stored results are not what the specification or
onnxruntime say; they run and must differ. Only a refusal may be listed as pending: wrong values fail, and so does a listed test that passes.
--share also asks ONNX Runtime to run each test in its form, and says how many of those that it runs are computed here, too;
one of differs.tsv counts as computed.
Exit status: 0, 1 if a test failed, 77 if none was run.
"""
import argparse
import collections
import concurrent.futures
import fnmatch
import glob
import hashlib
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, "tests", "models"))
sys.path.append(HERE)
from prepare_cases import prepare           # noqa: E402
from run_models import host_target, turn    # noqa: E402

FORMS = ("model", "noshape", "batch", "symbolic", "ranked")
PARTS = 8
# Results are drawn: only type and shape are compared.
RANDOM = ("test_bernoulli*", "test_random*", "test_multinomial*", "test_training_dropout*")


class Wrong(Exception):
    pass


def read(path, proto):
    from onnx import numpy_helper
    with open(path, "rb") as f:
        proto.ParseFromString(f.read())
    kind = type(proto).__name__
    if kind == "SequenceProto":
        return numpy_helper.to_list(proto)
    if kind == "OptionalProto":
        return numpy_helper.to_optional(proto)
    return numpy_helper.to_array(proto)


def proto_for(info):
    import onnx
    kind = info.type.WhichOneof("value")
    return {"sequence_type": onnx.SequenceProto, "optional_type": onnx.OptionalProto}.get(kind, onnx.TensorProto)()


def compare(got, want, drawn, what):
    """The greatest relative error."""
    import numpy as np
    if isinstance(want, list) or isinstance(got, list):
        if not isinstance(got, list) or not isinstance(want, list) or len(got) != len(want):
            raise Wrong(f"{what}: {len(got) if isinstance(got, list) else 'no'} elements")
        return max([compare(g, w, drawn, f"{what}[{k}]") for k, (g, w) in enumerate(zip(got, want))], default=0.0)
    if want is None or got is None:
        if want is not got:
            raise Wrong(f"{what}: present on one side only")
        return 0.0
    if got.shape != want.shape or (got.dtype != want.dtype and not (want.dtype.kind in "OUST" and got.dtype.kind in "OUST")):
        raise Wrong(f"{what}: {got.dtype}{list(got.shape)} instead of {want.dtype}{list(want.shape)}")
    if drawn:
        return 0.0
    inexact = want.dtype.kind in "fV" or "float" in want.dtype.name
    if not inexact:
        if want.dtype.kind in "OUST":
            flat = lambda a: [v.decode() if isinstance(v, bytes) else str(v) for v in a.ravel().tolist()]   # noqa: E731
            different = sum(g != w for g, w in zip(flat(got), flat(want)))
        else:
            different = int(np.sum(got != want))
        if different:
            raise Wrong(f"{what}: {different} of {want.size} values differ")
        return 0.0
    part = {"float16": 2 * 2.0**-10, "bfloat16": 2 * 2.0**-7}.get(want.dtype.name, 1e-3)
    got, want = got.astype(np.float64), want.astype(np.float64)
    special = (np.isnan(got) != np.isnan(want)) | ((np.isinf(got) | np.isinf(want)) & (got != want)) & ~np.isnan(want)
    if special.any():
        raise Wrong(f"{what}: {int(special.sum())} of {want.size} values differ in being NaN or infinite")
    finite = np.isfinite(want)
    got, want = got[finite], want[finite]
    off = np.abs(got - want) > 1e-7 + part * np.abs(want)
    with np.errstate(divide="ignore", invalid="ignore"):
        relative = np.where(np.abs(got - want) > 1e-7, np.abs(got - want) / np.abs(want), 0)
    worst = float(relative.max(initial=0))
    if off.any():
        raise Wrong(f"{what}: {int(off.sum())} of {want.size} values are off, by up to {worst:.1e}")
    return worst


def ranks(folder):
    """As options, of the outputs of a test."""
    import onnx
    options = []
    for value in onnx.load(os.path.join(folder, "model.onnx")).graph.output:
        if value.type.tensor_type.HasField("shape"):
            options += ["--rank", f"{value.name}={len(value.type.tensor_type.shape.dim)}"]
    return options


def run_case(case, args):
    import onnx
    form, name, target = case
    result = {"name": name, "form": form, "target": target, "verdict": "ok", "error": 0.0, "why": "", "seconds": 0.0}
    folder = os.path.join(args.cases, name)
    model = os.path.join(folder, ("symbolic" if form == "ranked" else form) + ".onnx")
    begin = time.monotonic()
    outputs = onnx.load(model).graph.output
    drawn = any(fnmatch.fnmatch(name, p) for p in RANDOM)
    for data in sorted(glob.glob(os.path.join(glob.escape(folder), "data_*"))):
        with tempfile.TemporaryDirectory(prefix="node-") as out:
            command = [args.gcc2nn, "run", model, "--data", data, "--out", out, "--target", target]
            command += ["--interpret"] if args.interpret else ["--timeout", "100"]
            command += ranks(folder) if form == "ranked" else []
            done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
            if done.returncode:
                lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
                why = re.sub(r"^\S*?\.onnx: ", "", lines[0])[:200] if lines else "no message"
                crash = done.returncode < 0 or done.returncode in (70, 134, 139)
                result.update(verdict="crash" if crash else "refused", why=f"exit {done.returncode}: {why}")
                break
            try:
                for k, info in enumerate(outputs):
                    want = os.path.join(data, f"output_{k}.pb")
                    got = os.path.join(out, f"output_{k}.pb")
                    if not os.path.exists(got):
                        raise Wrong(f"{info.name}: not written")
                    error = compare(read(got, proto_for(info)), read(want, proto_for(info)), drawn, info.name)
                    result["error"] = max(result["error"], error)
            except Wrong as e:
                result.update(verdict="wrong", why=str(e))
                break
    result["seconds"] = time.monotonic() - begin
    return result


def try_onnxruntime(pipe, model, folder):
    import onnx
    import onnxruntime
    try:
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4
        options.intra_op_num_threads = 1
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        inputs = onnx.load(model).graph.input
        for data in sorted(glob.glob(os.path.join(glob.escape(folder), "data_*"))):
            values = [read(os.path.join(data, f"input_{k}.pb"), proto_for(info)) for k, info in enumerate(inputs)]
            session.run(None, {info.name: v for info, v in zip(inputs, values)})
        pipe.send(True)
    except Exception:       # whatever it throws
        pipe.send(False)


def onnxruntime_runs(form, name, args):
    """In a process of its own: it crashes on some of what it does not support."""
    folder = os.path.join(args.cases, name)
    fork = multiprocessing.get_context("fork")
    mine, its = fork.Pipe()
    process = fork.Process(target=try_onnxruntime, args=(its, os.path.join(folder, form + ".onnx"), folder))
    process.start()
    its.close()
    try:
        return mine.recv() if mine.poll(60) else False
    except EOFError:
        return False
    finally:
        process.kill()
        process.join()


def read_table(name, columns):
    rows = []
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            fields = line.rstrip("\n").split("\t")
            if number == 1 or not line.strip():
                continue
            if len(fields) != columns or not all(field.strip() for field in fields):
                sys.exit(f"{name}:{number}: expected {columns} columns")
            rows.append(fields)
    return rows


def settle(result, pending, differs):
    why = next((r for name, r in differs if result["name"] == name), None)
    result["computed"] = result["verdict"] == "ok" or bool(why and result["verdict"] == "wrong")
    if why and result["verdict"] == "wrong":
        result.update(verdict="skip", why=why)
    elif why and result["verdict"] == "ok":
        result.update(verdict="wrong", why="agrees now: remove it from differs.tsv")
    reason = next((r for form, name, r in pending
                   if fnmatch.fnmatch(result["form"], form) and fnmatch.fnmatch(result["name"], name)), None)
    if reason and result["verdict"] == "refused":
        result.update(verdict="skip", why=reason)
    elif reason and result["verdict"] == "ok":
        result.update(verdict="wrong", why="works now: remove it from pending.tsv")
    return result


def choose(args, pending):
    names = sorted(n for n in os.listdir(args.cases) if os.path.isdir(os.path.join(args.cases, n)))
    forms = args.form or FORMS
    open_rank = {name for form, name, _ in pending if form == "symbolic"}
    if args.names:
        names = [n for n in names if any(fnmatch.fnmatch(n, p) for p in args.names)]
        if not names:
            sys.exit(f"run_node_tests.py: no test is called {args.names[0]}")
        cases = [(form, n) for n in names for form in forms if form != "ranked" or n in open_rank]
        said = "the tests named"
    else:
        cases = [(form, n) for n in names for form in forms if form != "ranked" or n in open_rank]
        said = f"all {len(names)} tests"
        if not args.all:
            number, source = turn()
            deal = lambda c: int(hashlib.sha256("/".join(c).encode()).hexdigest(), 16)    # noqa: E731
            cases = [c for c in cases if deal(c) % PARTS == number % PARTS]
            said = f"part {number % PARTS} of 0..{PARTS - 1} of {len(names)} tests (from {source})"
    targets = [args.target] if args.target else ["c99", host_target()]
    return [(form, n, targets[k % len(targets)]) for k, (form, n) in enumerate(cases)], f"{said}, forms {', '.join(forms)}"


def finish(args, choice, results, skipped_all=""):
    count = collections.Counter(r["verdict"] for r in results)
    failed = count["wrong"] + count["crash"] + count["refused"]
    summary = {"passed": count["ok"], "failed": failed, "skipped": count["skip"] + bool(skipped_all)}
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"summary": summary, "choice": choice, "skipped_all": skipped_all, "tests": results}, f, indent=1)
            f.write("\n")
    if skipped_all:
        print(f"onnx tests: skipped: {skipped_all}")
    for form in FORMS:
        of = collections.Counter(r["verdict"] for r in results if r["form"] == form)
        if of:
            print(f"onnx tests: {form:8} " + ", ".join(f"{of[v]} {v}" for v in ("ok", "wrong", "crash", "refused", "skip")))
        theirs = [r for r in results if r["form"] == form and r.get("onnxruntime")]
        if theirs:
            both = sum(r["computed"] for r in theirs)
            print(f"onnx tests: {form:8} of {len(theirs)} that ONNX Runtime runs {both} ({100 * both / len(theirs):.1f} %)")
    sys.exit(1 if failed else 0 if count["ok"] else 77)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--form", action="append", choices=FORMS, help="only this form; may be repeated")
    parser.add_argument("--interpret", action="store_true")
    parser.add_argument("--target", help="instead of c99 and this machine's vector target in turn")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--share", action="store_true", help="count against what ONNX Runtime runs")
    parser.add_argument("--json", metavar="FILE", help="write the results there")
    parser.add_argument("-q", "--quiet", action="store_true", help="do not print skipped tests")
    parser.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    parser.add_argument("--cases", default=os.path.join(ROOT, ".cache", "onnx-cases"))
    args = parser.parse_args()
    args.gcc2nn = os.path.abspath(args.gcc2nn)
    if not os.access(args.gcc2nn, os.X_OK):
        finish(args, "none", [], f"{os.path.relpath(args.gcc2nn)} is not built")
    try:
        import onnx     # noqa: F401
    except ImportError as e:
        finish(args, "none", [], f"{e} (tests/requirements.txt; ./dev setup)")
    prepare(args.cases)
    pending, differs = read_table("pending.tsv", 3), read_table("differs.tsv", 2)
    cases, choice = choose(args, pending)
    print(f"onnx tests: {choice}", flush=True)
    results = []
    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        for result in pool.map(lambda case: run_case(case, args), cases):
            results.append(settle(result, pending, differs))
            if args.share:
                result["onnxruntime"] = onnxruntime_runs(result["form"], result["name"], args)
            if result["verdict"] not in ("ok", "skip") or (result["verdict"] == "skip" and not args.quiet):
                print(f"{result['verdict']:8} {result['form']:8} {result['name']} ({result['target']}): {result['why']}",
                      flush=True)
    finish(args, choice, results)


if __name__ == "__main__":
    main()
