"""What scripts over exporters share: a case is a name and a function that exports a model; its verdict is one line.

    right      gcc2nn's outputs are ONNX Runtime's, within TOLERANCE of the greatest magnitude of each
    refused    gcc2nn says why it does not compile the model
    wrong      values, types or shapes differ, or gcc2nn does not end as it should
    no export  the exporter, or ONNX Runtime, does not take the model: no verdict on gcc2nn
"""
import argparse
import collections
import fnmatch
import os
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOLERANCE = 2e-4
VERDICTS = ("right", "refused", "wrong", "no export")


class Refused(Exception):
    pass


def reference(model, feeds):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return [v.name for v in session.get_outputs()], session.run(None, feeds)


def write_inputs(model, feeds, folder):
    import numpy as np
    import onnx
    from onnx import numpy_helper
    for k, info in enumerate(onnx.load(model).graph.input):
        value = feeds[info.name]
        if isinstance(value, dict):
            proto = numpy_helper.from_dict(value, info.name)
        else:
            proto = numpy_helper.from_array(np.asarray(value), info.name)
        with open(os.path.join(folder, f"input_{k}.pb"), "wb") as f:
            f.write(proto.SerializeToString())


def run(gcc2nn, model, feeds, folder, more, count):
    """The outputs: arrays, or lists of dictionaries for sequences of maps."""
    import onnx
    from onnx import numpy_helper
    data, out = os.path.join(folder, "data"), os.path.join(folder, "out")
    for path in (data, out):
        shutil.rmtree(path, ignore_errors=True)
        os.makedirs(path)
    write_inputs(model, feeds, data)
    done = subprocess.run([gcc2nn, "run", model, "--data", data, "--out", out, *more], capture_output=True, text=True,
                          errors="replace", timeout=600)
    said = (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[0].replace(folder, "")
    if done.returncode == 3:
        raise Refused(said)
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {said}")
    got = []
    for k, is_list in enumerate(count):
        with open(os.path.join(out, f"output_{k}.pb"), "rb") as f:
            data = f.read()
        got.append(numpy_helper.to_list(onnx.SequenceProto.FromString(data)) if is_list
                   else numpy_helper.to_array(onnx.TensorProto.FromString(data)))
    return got


def text(v):
    return v.decode() if isinstance(v, bytes) else v


def difference(got, want):
    """What is wrong, or an empty string."""
    import numpy as np
    if isinstance(want, list) and want and isinstance(want[0], dict):
        keys = sorted(want[0])
        got = [{text(k): v for k, v in m.items()} for m in got]
        if len(got) != len(want) or any(sorted(g) != keys for g in got):
            return "maps with other keys, or another number of them"
        return difference(*(np.array([[float(m[k]) for k in keys] for m in maps]) for maps in (got, want)))
    if isinstance(want, list):
        if len(got) != len(want):
            return f"{len(got)} elements, not {len(want)}"
        return next(filter(None, map(difference, got, want)), "")
    want = np.asarray(want)
    if got.shape != want.shape or (got.dtype != want.dtype and want.dtype.kind not in "OUS"):
        return f"{got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
    if want.dtype.kind in "OUS":
        bad = sum(text(g) != text(w) for g, w in zip(got.ravel(), want.ravel()))
        return f"{bad} of {want.size} strings differ" if bad else ""
    if want.dtype.kind != "f":
        return f"{int((got != want).sum())} of {want.size} differ" if (got != want).any() else ""
    if (np.isfinite(got) != np.isfinite(want)).any() or (np.isnan(got) != np.isnan(want)).any():
        return "what is NaN or infinite differs"
    finite = np.isfinite(want)
    w, g = want[finite].astype(np.float64), got[finite].astype(np.float64)
    if not w.size:
        return ""
    worst, most = np.abs(w - g).max(), max(np.abs(w).max(), 1e-6)
    return f"off by {worst:.3g} of {most:.3g}" if worst > TOLERANCE * most else ""


def judge(export, gcc2nn, folder, more):
    """(verdict, why). export() gives (ModelProto or path, {input: array, or dictionary for a map})."""
    try:
        model, feeds = export()
        if not isinstance(model, str):
            path = os.path.join(folder, "model.onnx")
            with open(path, "wb") as f:
                f.write(model.SerializeToString())
            model = path
        names, want = reference(model, feeds)
    except Exception as e:      # whatever exporters and ONNX Runtime throw
        return "no export", f"{type(e).__name__}: {' '.join(str(e).split())[:160]}"
    try:
        got = run(gcc2nn, model, feeds, folder, more, [isinstance(w, list) for w in want])
        for name, g, w in zip(names, got, want):
            what = difference(g, w)
            if what:
                return "wrong", f"{name}: {what}"
    except Refused as e:
        return "refused", str(e)[:240]
    except Exception as e:      # a file that is none, a type that is another, a time that is over
        return "wrong", f"{type(e).__name__}: {' '.join(str(e).split())[:240]}"
    return "right", ""


def main(cases, doc):
    """cases: (name, export) pairs. Exit status: 0, 1 if any is wrong."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="shell patterns; all without one")
    parser.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    parser.add_argument("--interpret", action="store_true", help="do not compile the generated C")
    parser.add_argument("--keep", metavar="DIR", help="leave models that are not right there")
    args = parser.parse_args()
    gcc2nn = os.path.abspath(args.gcc2nn)
    counts = collections.Counter()
    with tempfile.TemporaryDirectory(prefix="exports-") as folder:
        for name, export in cases:
            if args.names and not any(fnmatch.fnmatch(name, p) for p in args.names):
                continue
            start = time.monotonic()
            verdict, why = judge(export, gcc2nn, folder, ["--interpret"] if args.interpret else [])
            counts[verdict] += 1
            print(f"{name:40} {verdict:9} {time.monotonic() - start:6.1f} s  {why}".rstrip(), flush=True)
            if args.keep and verdict in ("refused", "wrong"):
                shutil.copytree(folder, os.path.join(args.keep, name), dirs_exist_ok=True)
    print(", ".join(f"{counts[v]} {v}" for v in VERDICTS))
    return 1 if counts["wrong"] or not counts["right"] else 0


if __name__ == "__main__":
    sys.exit("judge.py is for scripts like sklearn_exports.py")
