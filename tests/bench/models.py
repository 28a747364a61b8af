#!/usr/bin/env python3
"""Times compiled models against other runtimes: all in one process, run by turns, one thread each (or --threads), pinned to
as many CPUs.

    models.py [--peers P,...] [--target T] [--runs N] [--seconds S] [--cpu N] [--threads N] [--json] [MODEL[:NAME=SIZE...] ...]

MODEL is an .onnx file or the name of a model that tests/models/prepare.py knows; NAME=SIZE fixes a symbolic dim (all
others are 1). Peers are onnxruntime, onnxruntime-dynamic (after its quantize_dynamic of MatMul, Gemm and LSTM), openvino
(in f32, where it would choose bf16 or fp16 by itself) and openvino-default, of which the last two need the Python package openvino. Prints the medians, and for each peer the
median of the ratios of neighbouring runs with its quartiles: below 1 the compiled model is faster. Outputs are compared
with ONNX Runtime's first: a difference above 1e-3 of the largest value is an error (the strict tolerances are those of
tests/models). Without arguments: resnet50, mobilenet_v2 and bert_base:seq=128.
"""
import argparse
import ctypes
import glob
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
import onnx.numpy_helper
import onnxruntime as ort

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, "tests", "models"))
from modelset import prepared               # noqa: E402

DEFAULT = ["resnet50", "mobilenet_v2", "bert_base:seq=128"]
NUMPY = {1: np.float32, 2: np.uint8, 3: np.int8, 4: np.uint16, 5: np.int16, 6: np.int32, 7: np.int64, 9: np.bool_,
         10: np.float16, 11: np.float64, 12: np.uint32, 13: np.uint64}


def best_target(gcc2nn):
    """The target of this machine, as the compiler knows it."""
    targets = json.loads(run(gcc2nn, "list-targets", "--json"))
    return next((t["name"] for t in targets if t["native"]), "c99")


def session_of(path, threads=1):
    """ONNX Runtime for a model; of its log errors alone."""
    options = ort.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
    options.log_severity_level = 3
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


class OnnxRuntime:
    name = "onnxruntime"

    def __init__(self, path, inputs, threads):
        self.session, self.inputs = session_of(path, threads), inputs

    def run(self):
        start = time.perf_counter()
        self.session.run(None, self.inputs)
        return time.perf_counter() - start


class OnnxRuntimeDynamic(OnnxRuntime):
    """Of a model of floats whose weights it rounds to bytes before, and the rows while it runs."""
    name = "onnxruntime-dynamic"

    def __init__(self, path, inputs, threads):
        from onnxruntime.quantization import quantize_dynamic
        with tempfile.TemporaryDirectory(prefix="nn-dynamic-") as folder:
            rounded = os.path.join(folder, "model.onnx")
            quantize_dynamic(path, rounded, op_types_to_quantize=["MatMul", "LSTM"])     # of Gemm it makes MatMul
            super().__init__(rounded, inputs, threads)


class OpenVino:
    """One stream; results are read where they are."""
    name, precision = "openvino", {"INFERENCE_PRECISION_HINT": "f32"}

    def __init__(self, path, inputs, threads):
        import openvino             # the other peer does without
        core = openvino.Core()
        model = core.read_model(path)
        model.reshape({name: list(data.shape) for name, data in inputs.items()})
        self.request = core.compile_model(model, "CPU", {
            "INFERENCE_NUM_THREADS": threads, "NUM_STREAMS": 1, "ENABLE_CPU_PINNING": False, "PERFORMANCE_HINT": "LATENCY",
            **self.precision}).create_infer_request()
        for name, data in inputs.items():
            self.request.set_tensor(name, openvino.Tensor(data, shared_memory=True))

    def run(self):
        start = time.perf_counter()
        self.request.infer()
        return time.perf_counter() - start


class OpenVinoDefault(OpenVino):
    name, precision = "openvino-default", {}


PEERS = {peer.name: peer for peer in (OnnxRuntime, OnnxRuntimeDynamic, OpenVino, OpenVinoDefault)}
PRECISIONS = {"bf16": ["--precision=bf16"], "fp16": ["--precision=fp16"],
              "int8-weights": ["--weights-precision=int8"], "int8": ["--weights-precision=int8", "--activations-precision=int8"]}


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    if done.returncode:
        sys.exit(f"models.py: {' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def find_model(name):
    if name.endswith(".onnx"):
        return name
    path, why = prepared(name)
    if why:
        sys.exit(f"models.py: {why}")
    return path


def input_dims(gcc2nn, path):
    """{input: [size, or what the compiler calls it]}; the model itself may have no name for it, or "?"."""
    inputs = json.loads(run(gcc2nn, "inspect", path, "--json"))["inputs"]
    dims = {i["name"]: re.findall(r'"[^"]*"|[^,]+', i["type"].partition("[")[2].rstrip("]")) for i in inputs}
    return {name: [int(d) if d.isdigit() else d.strip('"') for d in shape] for name, shape in dims.items()}


def model_dims(shapes, path, given):
    """Sizes of all symbolic dims of the inputs."""
    dims = {d: given.get(d, 1) for shape in shapes.values() for d in shape if isinstance(d, str)}
    for name in given:
        if name not in dims:
            sys.exit(f"models.py: {path} has no dim {name}; it has: {' '.join(dims) or 'none'}")
    return dims


def make_inputs(session, shapes, dims):
    random = np.random.default_rng(1)
    out = {}
    for value in session.get_inputs():
        shape = [dims.get(d, d) for d in shapes[value.name]]
        if "float" in value.type or "double" in value.type:
            data = random.uniform(-1, 1, shape)
        else:
            data = random.integers(0, 2, shape)
        kind = value.type[7:-1].replace("float", "float32").replace("float3216", "float16").replace("double", "float64")
        out[value.name] = np.ascontiguousarray(data.astype(kind))
    return out


def compile_model(path, dims, args, folder):
    """What the compiler says of the model that it has compiled into the folder."""
    sizes = [f"--dim={name}={size}" for name, size in dims.items()]
    return json.loads(run(args.gcc2nn, "compile", path, "--name=model", f"--target={args.target}", "--out=" + folder, *sizes,
                          *PRECISIONS.get(args.precision, []), f"--threads={args.threads}", "--json"))


class Compiled:
    """A model compiled for the target, loaded from a shared library."""

    def __init__(self, path, dims, args, folder):
        self.compile_seconds, self.cc_seconds, self.code_bytes = 0.0, 0.0, None
        if not (args.reuse and os.path.exists(os.path.join(folder, "model.so"))):
            self.build(path, dims, args, folder)
        lib = self.lib = ctypes.CDLL(os.path.join(folder, "model.so"))
        lib.shim_run.restype = ctypes.c_double
        lib.shim_input_name.restype = lib.shim_output_name.restype = ctypes.c_char_p
        lib.shim_input_count.restype = ctypes.c_int64
        lib.shim_output.restype = ctypes.c_void_p
        weights = os.path.join(folder, "model_weights.bin")
        self.weights = b""
        if not glob.glob(os.path.join(folder, "*.S")) and os.path.exists(weights):
            self.weights = weights.encode()

    def build(self, path, dims, args, folder):
        start = time.monotonic()
        compile_model(path, dims, args, folder)
        self.compile_seconds = time.monotonic() - start
        with open(os.path.join(folder, "Makefile"), encoding="utf-8") as f:
            needed = next(line for line in f if line.startswith("FLAGS =")).split("=", 1)[1].split()
        flags = [*args.opt.split(), *needed]
        sources = [f for f in sorted(glob.glob(os.path.join(folder, "*.c")))
                   if os.path.basename(f) not in ("bench.c", "selftest.c", "model_main.c")]
        sources += glob.glob(os.path.join(folder, "*.S")) + [os.path.join(HERE, "shim.c")]
        start = time.monotonic()
        run(args.cc, *flags, "-fPIC", "-shared", "-pthread", f"-DTHREADS={args.threads}", "-I" + folder, *sources, "-lm", "-o", "model.so", cwd=folder)
        self.cc_seconds = time.monotonic() - start
        sections = run("size", "-A", os.path.join(folder, "model.so")).splitlines()
        self.code_bytes = next(int(line.split()[1]) for line in sections if line.startswith(".text"))

    def open(self, inputs):
        self.kept = inputs
        self.lib.shim_sizes()
        for k in range(self.lib.shim_inputs()):
            data = inputs[self.lib.shim_input_name(k).decode()]
            if self.lib.shim_input_count(k) != data.size:
                sys.exit("models.py: an input has another size in the compiled model")
            self.lib.shim_set_input(k, ctypes.c_void_p(data.ctypes.data))
        if self.lib.shim_open(self.weights):
            sys.exit("models.py: the compiled model does not start")

    def run(self):
        took = self.lib.shim_run()
        if took < 0:
            sys.exit("models.py: the compiled model failed")
        return took

    def outputs(self):
        out = {}
        for k in range(self.lib.shim_outputs()):
            kind, rank, dims = ctypes.c_int(), ctypes.c_int(), ctypes.POINTER(ctypes.c_int64)()
            at = self.lib.shim_output(k, ctypes.byref(kind), ctypes.byref(rank), ctypes.byref(dims))
            shape = [dims[d] for d in range(rank.value)]
            item = np.dtype(NUMPY[kind.value])
            raw = ctypes.string_at(at, int(np.prod(shape)) * item.itemsize)
            out[self.lib.shim_output_name(k).decode()] = np.frombuffer(raw, item).reshape(shape)
        return out


def difference(want, got):
    """Largest difference, relative to the largest value, over all outputs."""
    worst = 0.0
    for name, ours in got.items():
        if name not in want:    # keys and values of a map
            continue
        theirs = want[name]
        if ours.shape != theirs.shape:
            sys.exit(f"models.py: output {name} has shape {ours.shape}, onnxruntime's has {theirs.shape}")
        if ours.size:
            a, b = ours.astype(np.float64), theirs.astype(np.float64)
            worst = max(worst, float(np.max(np.abs(a - b)) / max(np.max(np.abs(b)), 1e-30)))
    return worst


def by_turns(runs, args):
    """The seconds of each of the functions, which are what they return, run by turns. Threads of one spin for a moment
    after its run, which another's would have to share their CPUs with: they get that moment, and each the time that the
    system takes to move its own to CPUs of theirs."""
    def settle(one):
        time.sleep(0.1)
        moved = time.monotonic() + 0.03
        while one() and time.monotonic() < moved:
            pass
    took = [[] for _ in runs]
    end = time.monotonic() + args.seconds
    while len(took[0]) < 3 or (len(took[0]) < args.runs and time.monotonic() < end):
        for seconds, one in zip(took, runs):
            if args.threads > 1:
                settle(one)
            seconds.append(one())
    return took


def quartiles(ratios):
    """(first, median, third)"""
    ratios = sorted(ratios)
    return ratios[len(ratios) // 4], statistics.median(ratios), ratios[3 * len(ratios) // 4]


def compared(a, b, called):
    """(median of the ratios b by a, what to print of both); called: b"""
    low, middle, high = quartiles(y / x for x, y in zip(a, b))
    return middle, (f"{1e3 * statistics.median(a):.3f} ms, {called} {1e3 * statistics.median(b):.3f} ms, ratio {middle:.3f} "
                    f"({low:.3f} .. {high:.3f}, {len(a)} pairs)")


def peers_of(args, path, inputs):
    """The peers that run the model, and why the others do not."""
    found, failed = [], {}
    for name in args.peers:
        try:
            peer = PEERS[name](path, inputs, args.threads)
            peer.run()
            found.append(peer)
        except Exception as e:      # whatever a peer refuses a model with
            failed[name] = str(e).strip().splitlines()[-1]
    return found, failed


def stored_inputs(session, shapes, folder):
    """The inputs of a data set, and the sizes of the symbolic dims that they have."""
    dims, inputs = {}, {}
    for k, value in enumerate(session.get_inputs()):
        tensor = onnx.load_tensor(os.path.join(folder, f"input_{k}.pb"))
        inputs[value.name] = np.array(onnx.numpy_helper.to_array(tensor))      # a copy that may be written
        dims |= {d: size for d, size in zip(shapes[value.name], inputs[value.name].shape) if isinstance(d, str)}
    return inputs, dims


def with_inputs(spec, args, folder_of_data=None):
    """(name, path, session, inputs, sizes of the symbolic dims): made-up inputs or those of a data set"""
    name, *given = spec.split(":")
    given = {k: int(v) for k, v in (g.split("=") for g in ",".join(given).split(",") if g)}
    path = find_model(name)
    session, shapes = session_of(path), input_dims(args.gcc2nn, path)
    if folder_of_data:
        inputs, dims = stored_inputs(session, shapes, folder_of_data)
    else:
        dims = model_dims(shapes, path, given)
        inputs = make_inputs(session, shapes, dims)
    return name, path, session, inputs, dims


def bench(spec, args, folder_of_data=None):
    """Times of a model and its peers."""
    return bench_with(args, *with_inputs(spec, args, folder_of_data))


def bench_with(args, name, path, session, inputs, dims):
    """The same of what with_inputs has found."""
    with tempfile.TemporaryDirectory(prefix="nn-bench-") as temporary:
        folder = temporary
        if args.keep:
            folder = os.path.join(args.keep, os.path.basename(name.removesuffix("/model.onnx")))
            os.makedirs(folder, exist_ok=True)
        ours = Compiled(path, dims, args, folder)
        ours.open(inputs)
        ours.run()
        error = difference(dict(zip([o.name for o in session.get_outputs()], session.run(None, inputs))),
                           ours.outputs())
        peers, failed = peers_of(args, path, inputs)
        own, *others = by_turns([ours.run, *(p.run for p in peers)], args)
    result = {"model": name, "target": args.target, "dims": dims, "runs": len(own), "ms": 1e3 * statistics.median(own),
              "peers": {}, "failed": failed, "difference": error, "compile_s": ours.compile_seconds,
              "cc_s": ours.cc_seconds, "code_bytes": ours.code_bytes, "wrong": not error <= (1.5e-1 if args.precision else 1e-3)}
    for peer, took in zip(peers, others):
        result["peers"][peer.name] = {"ms": 1e3 * statistics.median(took),
                                      "ratio_quartiles": quartiles(x / y for x, y in zip(own, took))}
    return result


def told(result):
    """A result as a line of text."""
    parts = [f"{result['model']} {result['target']}: {result['ms']:.3f} ms ({result['runs']} runs)"]
    for peer, r in result["peers"].items():
        low, middle, high = r["ratio_quartiles"]
        parts.append(f"{peer} {r['ms']:.3f} ms, ratio {middle:.3f} ({low:.3f} .. {high:.3f})")
    parts += [f"{peer} refuses ({why})" for peer, why in result["failed"].items()]
    parts.append(f"outputs differ by {result['difference']:.1e}{' WRONG' if result['wrong'] else ''}, gcc2nn "
                 f"{result['compile_s']:.1f} s, cc {result['cc_s']:.1f} s")
    return ", ".join(parts)


def parser_of(text, default):
    p = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("models", nargs="*", default=default, metavar="MODEL[:NAME=SIZE,...]")
    p.add_argument("--target", help="default: this machine's")
    p.add_argument("--precision", choices=PRECISIONS, help="of the compiled model; outputs may then differ by 0.15 of the largest value")
    p.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir/gcc2nn"))
    p.add_argument("--cc", default="gcc")
    p.add_argument("--opt", default="-O2", help="optimisation flags of the C compiler")
    p.add_argument("--runs", type=int, default=40, help="pairs of runs, at most")
    p.add_argument("--seconds", type=float, default=15, help="time for the runs of one model")
    p.add_argument("--threads", type=int, default=1, help="of each: the compiled model and its peers")
    p.add_argument("--cpu", type=int, help="CPU to stay on; with several threads the last of them (default: the last there is)")
    p.add_argument("--keep", metavar="DIR", help="leave the generated code in DIR/NAME")
    p.add_argument("--reuse", action="store_true", help="with --keep: time what was built there before")
    p.add_argument("--json", action="store_true")
    p.add_argument("--peers", default="onnxruntime", type=lambda text: text.split(","),
                   help=f"of {', '.join(PEERS)} (default: onnxruntime)")
    return p


def checked(p):
    """The command line; stays on its CPUs from then on."""
    args = p.parse_args()
    args.target = args.target or best_target(args.gcc2nn)
    for name in args.peers:
        if name not in PEERS:
            p.error(f"no peer '{name}'; there are {', '.join(PEERS)}")
    args.cpus = sorted(c for c in os.sched_getaffinity(0) if args.cpu is None or c <= args.cpu)
    if not 0 < args.threads <= len(args.cpus):
        p.error(f"{args.threads} threads need as many CPUs; there are {len(args.cpus)}")
    stay(args)
    return args


def stay(args):
    """On one CPU for each thread from now on."""
    os.sched_setaffinity(0, args.cpus[-args.threads:])


def options(text, default):
    return checked(parser_of(text, default))


def main():
    args = options(__doc__, DEFAULT)
    results, failed = [], False
    for spec in args.models:
        r = bench(spec, args)
        results.append(r)
        failed |= r["wrong"]
        if not args.json:
            print(told(r), flush=True)
    if args.json:
        json.dump(results, sys.stdout, indent=1)
        print()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
