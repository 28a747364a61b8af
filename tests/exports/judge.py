"""What scripts over exporters share: a case is a name and a function that exports a model; its verdict is one line.

    right      gcc2nn's outputs are ONNX Runtime's, within TOLERANCE of the greatest magnitude of each, or no further from them
               than ONNX Runtime is from itself: without its optimisations, or with float weights one unit of their last
               place away (docs/numbers.md, N7). Small integers may be a step off in one element of a thousand
    refused    gcc2nn says why it does not compile the model
    wrong      values, types or shapes differ, or gcc2nn does not end as it should
    no export  the exporter, or ONNX Runtime, does not take the model: no verdict on gcc2nn

A case with several sets of inputs is compiled with its symbolic dims open, and the same program has to be right for all
of them. The C is built with -O1. Every tenth case is interpreted, too, to the same bits.

With --keep, exports stay and are made once. With --results, verdicts are written as JSON, of which coverage.py makes
docs/coverage.md.
"""
import argparse
import collections
import contextlib
import fnmatch
import importlib.metadata
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TOLERANCE = 1e-4
VERDICTS = ("right", "refused", "wrong", "no export")
LEVEL = onnxruntime.GraphOptimizationLevel


class Refused(Exception):
    pass


# --- files of a case: model.onnx, inputs_K/input_N.pb; or `none`, which says why there is no model ---------------

def write_inputs(model, feeds, folder):
    os.makedirs(folder, exist_ok=True)
    for k, info in enumerate(model.graph.input):
        value = feeds[info.name]
        if isinstance(value, dict):
            proto = numpy_helper.from_dict(value, info.name)
        elif isinstance(value, list):
            proto = numpy_helper.from_list(value, info.name)
        else:
            proto = numpy_helper.from_array(np.asarray(value), info.name)
        with open(os.path.join(folder, f"input_{k}.pb"), "wb") as f:
            f.write(proto.SerializeToString())


def read_value(path, kind):
    with open(path, "rb") as f:
        data = f.read()
    if kind == "sequence_type":
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind == "map_type":
        return numpy_helper.to_dict(onnx.MapProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def read_inputs(model, folder):
    return {info.name: read_value(os.path.join(folder, f"input_{k}.pb"), info.type.WhichOneof("value"))
            for k, info in enumerate(model.graph.input)}


def data_folders(folder):
    return [os.path.join(folder, f) for f in sorted(os.listdir(folder)) if f.startswith("inputs_")]


@contextlib.contextmanager
def silence():
    """Exporters talk, some of them from C++."""
    sys.stdout.flush()
    saved, sink = [os.dup(fd) for fd in (1, 2)], os.open(os.devnull, os.O_WRONLY)
    try:
        for fd in (1, 2):
            os.dup2(sink, fd)
        yield
    finally:
        sys.stdout.flush()
        for fd, old in zip((1, 2), saved):
            os.dup2(old, fd)
        for fd in (sink, *saved):
            os.close(fd)


def export_into(folder, export):
    """Leaves the model and its inputs in the folder, or says there why not."""
    try:
        with silence():
            model, sets = export()
        if isinstance(model, str):
            model = onnx.load(model)
        for k, feeds in enumerate(sets):
            write_inputs(model, feeds, os.path.join(folder, f"inputs_{k}"))
        with open(os.path.join(folder, "model.tmp"), "wb") as f:
            f.write(model.SerializeToString())
        os.replace(os.path.join(folder, "model.tmp"), os.path.join(folder, "model.onnx"))
    except Exception as e:      # whatever exporters throw
        with open(os.path.join(folder, "none"), "w", encoding="utf-8") as f:
            f.write(f"{type(e).__name__}: {' '.join(str(e).split())[:300]}")


# --- ONNX Runtime -------------------------------------------------------------------------------------------------

def run_onnxruntime(model, feeds, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"]).run(None, feeds)


def references(path, feeds):
    """One or two lists of outputs: without optimisations, and with; kernels of some types are there for one of them."""
    found, said = [], None
    for level in (LEVEL.ORT_DISABLE_ALL, LEVEL.ORT_ENABLE_ALL):
        try:
            found.append(run_onnxruntime(path, feeds, level))
        except Exception as e:      # onnxruntime's own classes have no common base
            said = e
    if not found:
        raise said
    return found


def moved(model, seed):
    """The model with every float weight at one of its neighbours."""
    copy, random = onnx.ModelProto(), np.random.default_rng(seed)
    copy.CopyFrom(model)
    for t in copy.graph.initializer:
        a = numpy_helper.to_array(t)
        if a.dtype in (np.float32, np.float16) and a.size:
            to = np.where(random.random(a.shape) < 0.5, -np.inf, np.inf).astype(a.dtype)
            near = np.where((a == 0) | ~np.isfinite(a) | (np.abs(a) > np.finfo(a.dtype).max / 4), a, np.nextafter(a, to))
            t.CopyFrom(numpy_helper.from_array(near.astype(a.dtype), t.name))
    return copy.SerializeToString()


def spreads(path, feeds, wants):
    """How far ONNX Runtime is from itself in each output."""
    own = [0.0] * len(wants[0])
    others = list(wants[1:])
    if os.path.getsize(path) < 1 << 30:
        model = onnx.load(path)
        for seed in range(32):      # with fp16, eight find half of it
            with contextlib.suppress(Exception):
                others.append(run_onnxruntime(moved(model, seed), feeds, LEVEL.ORT_DISABLE_ALL))
    for other in others:
        own = [max(o, difference(a, b)[0]) for o, a, b in zip(own, other, wants[0])]
    return own


# --- gcc2nn -------------------------------------------------------------------------------------------------------

def compiler(folder):
    """A C compiler that is quick; what comes last on its command line counts."""
    path = os.path.join(folder, "cc")
    with open(path, "w", encoding="utf-8") as f:
        f.write(f"#!/bin/sh\nexec {'ccache ' if shutil.which('ccache') else ''}gcc \"$@\" -O1\n")
    os.chmod(path, 0o755)
    return path


def run(gcc2nn, path, data, out, more, kinds):
    """The outputs: arrays, or lists of arrays or dictionaries."""
    shutil.rmtree(out, ignore_errors=True)
    done = subprocess.run([gcc2nn, "run", path, "--data", data, "--out", out, *more], capture_output=True, text=True,
                          errors="replace", timeout=900)
    lines = [line.replace(path, "model") for line in done.stderr.strip().splitlines() if ": warning:" not in line]
    said = (lines or [f"signal {-done.returncode}"])[0]
    if done.returncode == 3:
        raise Refused(said)
    if done.returncode:
        raise RuntimeError(f"exit {done.returncode}: {said}")
    return [read_value(os.path.join(out, f"output_{k}.pb"), kind) for k, kind in enumerate(kinds)]


def ranges(model, sets):
    """--dim for the symbolic dims of the inputs that are not the same in all sets."""
    sizes = collections.defaultdict(set)
    for info in model.graph.input:
        if info.type.HasField("tensor_type"):
            for k, dim in enumerate(info.type.tensor_type.shape.dim):
                if dim.dim_param:
                    sizes[dim.dim_param].update(feeds[info.name].shape[k] for feeds in sets)
    return [f"--dim={name}={min(s)}..{max(s)}" for name, s in sizes.items() if len(s) > 1]


# --- comparison ---------------------------------------------------------------------------------------------------

def text(v):
    return v.decode() if isinstance(v, bytes) else v


def difference(got, want):
    """(0 for as good as equal, of floats a part of the greatest magnitude; what is different)"""
    if isinstance(want, list) and want and isinstance(want[0], dict):
        keys = sorted(want[0])
        got = [{text(k): v for k, v in m.items()} for m in got]
        if len(got) != len(want) or any(sorted(g) != keys for g in got):
            return np.inf, "maps with other keys, or another number of them"
        return difference(*(np.array([[float(m[k]) for k in keys] for m in maps]) for maps in (got, want)))
    if isinstance(want, list):
        if len(got) != len(want):
            return np.inf, f"{len(got)} elements, not {len(want)}"
        return max(map(difference, got, want), default=(0.0, ""))
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape or (got.dtype != want.dtype and want.dtype.kind not in "OUS"):
        return np.inf, f"{got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
    if want.dtype.kind in "OUS":
        bad = sum(text(g) != text(w) for g, w in zip(got.ravel(), want.ravel()))
        return (np.inf, f"{bad} of {want.size} strings differ") if bad else (0.0, "")
    if want.dtype.kind not in "fc":
        bad, steps = int((got != want).sum()), np.abs(got.astype(np.int64) - want.astype(np.int64)).max(initial=0)
        near = want.dtype.itemsize < 4 and want.dtype.kind in "iu" and steps <= 1 and bad <= 1e-3 * want.size
        return (0.0, "") if near else (float(steps), f"{bad} of {want.size} differ, by up to {steps}")
    if (np.isnan(got) != np.isnan(want)).any() or (np.where(np.isinf(got), got, 0) != np.where(np.isinf(want), want, 0)).any():
        return np.inf, "what is NaN or infinite differs"
    finite = np.isfinite(want)
    if not finite.any():
        return 0.0, ""
    wide = np.complex128 if want.dtype.kind == "c" else np.float64
    w, g = want[finite].astype(wide), got[finite].astype(wide)
    worst, most = np.abs(w - g).max(), max(np.abs(w).max(), 1e-6)
    return float(worst / most), f"off by {worst:.3g} of {most:.3g}"


def same_bits(a, b):
    if isinstance(a, (list, dict)):
        return str(a) == str(b)
    a, b = np.asarray(a), np.asarray(b)
    return a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def compare(path, feeds, got, wants, names):
    """What is wrong, or an empty string; and a remark."""
    found = [min((difference(g, want[k]) for want in wants), key=lambda d: d[0]) for k, g in enumerate(got)]
    bad = [k for k, (size, _) in enumerate(found) if size > TOLERANCE]
    if not bad:
        return "", ""
    own = spreads(path, feeds, wants)
    worse = [k for k in bad if not found[k][0] <= own[k]]
    k = (worse or bad)[0]
    said = f"{names[k]}: {found[k][1]}; ONNX Runtime's own {own[k]:.2g} against {found[k][0]:.2g}"
    return (said, "") if worse else ("", said)


def judge(gcc2nn, folder, scratch, options, interpret_too):
    """(verdict, why) of the case in the folder."""
    path, out = os.path.join(folder, "model.onnx"), os.path.join(scratch, "out")
    if not os.path.exists(path):
        with open(os.path.join(folder, "none"), encoding="utf-8") as f:
            return "no export", f.read()
    model = onnx.load(path)
    names, kinds = [o.name for o in model.graph.output], [o.type.WhichOneof("value") for o in model.graph.output]
    data = data_folders(folder)
    try:
        sets = [read_inputs(model, d) for d in data]
        wants = [references(path, feeds) for feeds in sets]
    except Exception as e:
        return "no export", f"ONNX Runtime: {type(e).__name__}: {' '.join(str(e).split())[:240]}"
    options, remark = options + ranges(model, sets), ""
    try:
        for d, feeds, want in zip(data, sets, wants):
            got = run(gcc2nn, path, d, out, options, kinds)
            wrong, remark = compare(path, feeds, got, want, names)
            if wrong:
                return "wrong", wrong
            if interpret_too and not all(map(same_bits, run(gcc2nn, path, d, out, options + ["--interpret"], kinds), got)):
                return "wrong", "the interpreter gives other bits"
    except Refused as e:
        return "refused", str(e)[:300]
    except Exception as e:      # a file that is none, a type that is another, a time that is over
        return "wrong", f"{type(e).__name__}: {' '.join(str(e).split())[:300]}"
    return "right", remark


def size_of(folder):
    """Megabytes of the case's model."""
    path = os.path.join(folder, "model.onnx")
    return os.path.getsize(path) / 1e6 if os.path.exists(path) else 0


def versions(packages):
    found = {}
    for p in packages:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[p] = importlib.metadata.version(p)
    return found


def main(cases, doc, packages, parser=None):
    """cases: (name, export) pairs, or a function of the arguments that gives them; export() gives (ModelProto or path, list of
    {input: array, list of arrays, or dictionary for a map}). Names are GROUP/NAME: coverage.md counts by groups.
    Exit status: 0, 1 if any is wrong."""
    parser = parser or argparse.ArgumentParser()
    parser.description, parser.formatter_class = doc, argparse.RawDescriptionHelpFormatter
    parser.add_argument("names", nargs="*", help="shell patterns; all without one")
    parser.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    parser.add_argument("--interpret", metavar="MB", type=float, default=np.inf,
                        help="do not compile the generated C of models that are larger; 0: of none")
    parser.add_argument("--export", action="store_true", help="export only")
    parser.add_argument("--keep", metavar="DIR", help="exports stay there, and those that are there are not made again")
    parser.add_argument("--results", metavar="FILE", help="update the verdicts in this JSON file")
    parser.add_argument("--more", action="store_true", help="leave out what has a verdict there")
    args = parser.parse_args()
    counts, results = collections.Counter(), {}
    if args.results and os.path.exists(args.results):
        with open(args.results, encoding="utf-8") as f:
            results = json.load(f)["cases"]
    with tempfile.TemporaryDirectory(prefix="exports-") as scratch:
        keep, cc = os.path.abspath(args.keep or os.path.join(scratch, "kept")), compiler(scratch)
        for place, (name, export) in enumerate(cases(args) if callable(cases) else cases):
            if args.names and not any(fnmatch.fnmatch(name, p) for p in args.names) or args.more and name in results:
                continue
            start, folder = time.monotonic(), os.path.join(keep, name)
            os.makedirs(folder, exist_ok=True)
            if not any(os.path.exists(os.path.join(folder, f)) for f in ("model.onnx", "none")):
                export_into(folder, export)
            if args.export:
                continue
            interpret = size_of(folder) > args.interpret
            options = ["--interpret"] if interpret else [f"--cc={cc}"]
            verdict, why = judge(os.path.abspath(args.gcc2nn), folder, scratch, options, place % 10 == 0 and not interpret)
            counts[verdict] += 1
            print(f"{name:40} {verdict:9} {time.monotonic() - start:6.1f} s  {why[:160]}".rstrip(), flush=True)
            results[name] = {"verdict": verdict, "why": why, "by": "interpreter" if interpret else "C"}
            if args.results:
                with open(args.results, "w", encoding="utf-8") as f:
                    json.dump({"script": os.path.basename(sys.argv[0]), "packages": versions(packages), "cases": results}, f, indent=1)
            if not args.keep:
                shutil.rmtree(folder)
    print(", ".join(f"{counts[v]} {v}" for v in VERDICTS))
    return 1 if counts["wrong"] or not counts["right"] else 0


if __name__ == "__main__":
    sys.exit("judge.py is for scripts like sklearn_exports.py")
