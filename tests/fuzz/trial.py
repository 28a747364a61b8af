"""What random_models.py and its kin do with a model that they have drawn: ONNX Runtime runs it, gcc2nn's interpreter runs
the scheduled program, for one model in N the generated C is built and run too. The first two are compared by value, the
last two bit for bit. Where sizes are symbols, the same program also runs at other sizes.
"""
import argparse
import collections
import functools
import itertools
import json
import multiprocessing
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np
import onnx
from onnx import helper, numpy_helper, shape_inference

import built
import reference

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(ROOT, "tests", "models"))
from nodes import sources                   # noqa: E402
from run_models import cpu_flags, host_target, saturates          # noqa: E402
BFLOAT16 = helper.tensor_dtype_to_np_dtype(onnx.TensorProto.BFLOAT16)
NEEDS = {"c99": set(), "x86-64": set(), "x86-avx2": {"avx2", "fma", "f16c"}, "x86-avxvnni": {"avx_vnni"},  # to be run here
         "x86-avx512": {"avx512f", "avx512bw", "avx512dq", "avx512vl"}, "x86-avx512vnni": {"avx512_vnni", "avx512vl"},
         "x86-avx512bf16": {"avx512_vnni", "avx512_bf16"}, "x86-amx": {"avx512_vnni", "amx_int8"}}
AARCH64 = ("aarch64-linux-gnu-gcc -static", "qemu-aarch64")
CROSS = {"aarch64": AARCH64, "aarch64-dotprod": AARCH64, "aarch64-i8mm": AARCH64, "cortex-a55": AARCH64,    # compiler, what runs it
         "riscv64": ("riscv64-linux-gnu-gcc -static", "qemu-riscv64")}


class Impossible(Exception):
    """This draw makes no model; draw again."""


def run_session(model, data):
    import onnxruntime as ort
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    return session.run(None, data)


class Worker:
    """ONNX Runtime in a process of its own, which is replaced when a model ends it or keeps it too long."""

    def __init__(self):
        self.process = None

    def start(self):
        context = multiprocessing.get_context("forkserver")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=serve, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()

    def run(self, model, data, seconds=60):
        if self.process is None:
            self.start()
        try:
            self.pipe.send((model, data))
            if not self.pipe.poll(seconds):
                raise TimeoutError(f"no result in {seconds} s")
            result = self.pipe.recv()
        except (EOFError, OSError) as e:    # a timeout is one of the latter
            self.process.kill()
            self.process.join()
            self.process = None
            raise RuntimeError(str(e) if isinstance(e, TimeoutError) else "ended by a signal") from e
        if isinstance(result, Exception):
            raise result
        return result


def serve(pipe):
    while True:
        model, data = pipe.recv()
        try:
            result = run_session(model, data)
        except Exception as e:      # not its type: it may not be one that this process can pass on
            result = RuntimeError(str(e))
        pipe.send(result)


WORKER = Worker()


def run_onnxruntime(model, data):
    return WORKER.run(model.SerializeToString(), data)


def bodies(node):
    return [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


def types_in(graph):
    """Of all names, in bodies too."""
    types = {v.name: v.type.tensor_type.elem_type for v in (*graph.value_info, *graph.input, *graph.output)}
    types |= {v.name: v.data_type for v in graph.initializer}
    for body in (b for node in graph.node for b in bodies(node)):
        types |= types_in(body)
    return types


def reads(node):
    """All names that it or its bodies read."""
    return set(node.input).union(*({v.name for v in body.output}.union(*map(reads, body.node)) for body in bodies(node)))


def doubt(node, types, doubted):
    """Where ONNX Runtime saturates sums in it, or reads what came of such sums, its results are added to `doubted`."""
    inside = [doubt(n, types, doubted) for body in bodies(node) for n in body.node]
    bad = any(inside) or not doubted.isdisjoint(reads(node)) or saturates(node.op_type, lambda k: types.get(node.input[k]))
    doubted.update(name for name in node.output if bad and name)
    return bad


def second_opinion(maker, model, data, outs, want):
    """`want`, with other values where ONNX Runtime is no judge: ONNX's reference says what comes of sums that it saturates. Only
    of those, as the reference has mistakes of its own. None: ONNX Runtime judges all."""
    types, doubted = types_in(shape_inference.infer_shapes(model).graph), set()
    late = [node for node in model.graph.node if doubt(node, types, doubted)]
    if doubted.isdisjoint(outs):
        return None
    read = set().union(*map(reads, late)) - doubted
    known = {k: data[k] for k in maker.inputs if k in read}
    between = [o for node in model.graph.node for o in node.output if o in read]
    if between:
        known |= zip(between, maker.expected(part(model, model.graph.node, model.graph.input, between), data))
    asked = [o for o in outs if o in doubted]
    ins = [helper.make_empty_tensor_value_info(k) for k in known]
    said = dict(zip(asked, reference.run(part(model, late, ins, asked), known)))
    both = [(w, said.get(o, w)) for o, w in zip(outs, want)]
    if any(np.shape(w) != np.shape(r) for w, r in both):
        raise ValueError("saturates sums, and ONNX's reference gives another shape")
    return [r for _, r in both]


def part(model, nodes, ins, outs):
    """The model with these nodes, inputs and results alone."""
    out = [helper.make_empty_tensor_value_info(o) for o in outs]
    new = onnx.ModelProto()
    new.CopyFrom(model)
    new.graph.CopyFrom(helper.make_graph(nodes, "part", ins, out, model.graph.initializer))
    return new


def allowed(maker):
    """What a result may be off, as a part of the greatest: numbers of 16 bits on the way may round to their other
    neighbours."""
    if maker.weights_precision == "int8":       # of channels whose weights are of all sizes
        return 6e-2
    if maker.precision == "bf16":
        return 3e-2
    half = maker.precision or any(v[1] in (np.float16, BFLOAT16) for v in maker.values.values())
    return 5e-3 if half else 2e-4


def difference(got, want, rtol, least):
    """rtol: see allowed; least: greatest value that differences are held against"""
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}"
    if want.dtype.kind != "f":
        bad = got != want
        return f"{int(bad.sum())} of {want.size} values differ" if bad.any() else ""
    with np.errstate(all="ignore"):
        special = np.isnan(got) != np.isnan(want)
        finite = np.isfinite(want)
        special |= np.isinf(want) & (got != want)
        special |= finite & ~np.isfinite(got)
        if special.any():
            return f"{int(special.sum())} of {want.size} values differ in being NaN or infinite"
        if not finite.any():
            return ""
        w, g = want[finite].astype(np.float64), got[finite].astype(np.float64)
        limit = rtol * max(np.abs(w).max(), least)
        worst = np.abs(w - g).max()
    return f"off by {worst:.3g}, greatest value {np.abs(w).max():.3g}" if worst > limit else ""


def difference_of_maps(got, want, rtol, least):
    got = [{k.decode() if isinstance(k, bytes) else k: v for k, v in m.items()} for m in got]
    if len(got) != len(want) or any(g.keys() != w.keys() for g, w in zip(got, want)):
        return f"{len(got)} maps with other keys, or not {len(want)}"
    both = [np.array([[float(m[k]) for k in w] for m, w in zip(maps, want)]) for maps in (got, want)]
    return difference(*both, rtol, least)


def lost_nodes(model, said):
    """Each node of the model has one line, which says why if it went."""
    lines = [line for line in said.split("// nodes\n")[-1].splitlines() if line.startswith("node ")]
    count = sum(1 for _ in sources(model.graph))
    if len(lines) != count or len({line.split(": ")[0] for line in lines}) != count:
        return f"{len(lines)} nodes are told of, the model has {count}"
    silent = [line for line in lines if not re.search(r": (alive|(removed|merged into .*) by [^:]+: .)", line)]
    return silent[0] if silent else ""


def operators(graph):
    for node in graph.node:
        yield "op " + f"{node.domain}.{node.op_type}".lstrip(".")
        for body in bodies(node):
            yield from operators(body)


class Wrong(Exception):
    pass


class Refused(Exception):
    """Sizes that are equal only by chance: refusing is allowed; being wrong is not, nor is a complaint of the verifier."""


def save(folder, maker, data):
    os.makedirs(folder)
    for k, name in enumerate(maker.inputs):
        value = data[name]
        value = numpy_helper.from_dict(value, name) if isinstance(value, dict) else \
            numpy_helper.from_list(value, name) if isinstance(value, list) else numpy_helper.from_array(value, name)
        with open(os.path.join(folder, f"input_{k}.pb"), "wb") as f:
            f.write(value.SerializeToString())


def array_of(tensor):
    """As numpy_helper.to_array, which drops zeros at the end of strings."""
    if tensor.data_type != onnx.TensorProto.STRING:
        return numpy_helper.to_array(tensor)
    texts = np.empty(len(tensor.string_data), object)
    texts[:] = [s.decode() for s in tensor.string_data]
    return texts.reshape(tensor.dims)


def compare(out, model, maker, outs, want):
    """Values in the folder `out` with ONNX Runtime's; gives the arrays."""
    rtol = allowed(maker)
    # Of equal elements a normalization leaves what its mean was rounded by, times 1 / sqrt(epsilon).
    least = 1 if any("Normalization" in n.op_type for n in model.graph.node) else 1e-2
    arrays = []
    for k, w in enumerate(want):
        with open(os.path.join(out, f"output_{k}.pb"), "rb") as f:
            got = f.read()
        if isinstance(w, list):
            items = numpy_helper.to_list(onnx.SequenceProto.FromString(got))
            if w and isinstance(w[0], dict):
                what = difference_of_maps(items, w, rtol, least)
            else:
                what = f"{len(items)} elements, expected {len(w)}" if len(items) != len(w) else \
                    next(filter(None, (difference(g, v, rtol, least) for g, v in zip(items, w))), "")
        else:
            arrays.append(array_of(onnx.TensorProto.FromString(got)))
            what = difference(arrays[-1], w, rtol, least)
        if what:
            raise Wrong(f"WRONG output {k} {outs[k]}: {what}")
    return arrays


def runs_here(target, compiler, runner):
    if runner:
        return bool(shutil.which(compiler.split()[0]) and shutil.which(runner))
    return target in NEEDS and NEEDS[target] <= cpu_flags()


def drawn_points(choices, r):
    """The text of --dump-after=choices with another point taken for every kernel, of those that were not tried."""
    lines, out = choices.split("\n"), []
    for at, line in enumerate(lines):
        if line == "    taken":
            others = itertools.takewhile(lambda s: s.startswith("      "), lines[at + 2:])
            out.append(r.choice([out.pop(), *others]))
        out.append(line)
    return "\n".join(out)


def drawn_dims(model, symbols, r):
    """--dim for half of the symbols that an input has: wide ranges that are optimised for any size."""
    known = {d.dim_param for i in model.graph.input for d in i.type.tensor_type.shape.dim}
    return [word for size, name in sorted(symbols.items()) if name in known and r.random() < 0.5 for word in
            ("--dim", f"{name}=0..{r.choice([4096, 2**31 - 1])}@{r.choice([1, 1, max(1, size), max(1, 2 * size), 7, 64, 200])}")]


@functools.lru_cache
def targets_of(gcc2nn):
    return json.loads(subprocess.run([gcc2nn, "list-targets", "--json"], check=True, capture_output=True, text=True).stdout)


class Trial:
    """One model in a folder of its own."""

    def __init__(self, seed, args, folder, headers):
        self.args, self.folder, self.headers = args, folder, headers
        self.maker = args.maker(seed)
        self.model, self.outs = self.maker.make()
        r = random.Random(seed)
        self.target = r.choice(args.targets)
        self.threads = max(args.threads, self.maker.threads)
        self.compiled = bool(args.compiled) and seed % args.compiled == 0
        compiler, self.runner = CROSS.get(self.target, ("gcc", None))
        if self.compiled and not runs_here(self.target, compiler, self.runner):   # what is interpreted needs no such machine
            self.target, compiler, self.runner = host_target(), "gcc", None
        self.compiler = args.c99 if self.target == "c99" else f"{compiler} -O{r.choice(args.levels)}"
        self.points = r if self.maker.any_point and r.random() < 0.3 else None      # other ones than the best
        self.options = self.maker.options + (drawn_dims(self.model, self.maker.symbols, r) if self.maker.symbolic else [])
        self.options += self.shrink_caches() if self.maker.small_caches else []
        self.sizes = {0: self.maker.data}
        other = self.maker.other_sizes()
        if other:
            self.sizes[1] = other

    def shrink_caches(self):
        """The option for a machine like the target's, with caches of a few kilobytes."""
        row = next(t for t in targets_of(self.args.gcc2nn) if t["name"] == self.target)
        least = {"l1.bytes": 4096, "l2.bytes": 16384}
        numbers = {n["name"]: least.get(n["name"], n["value"]) for n in row.get("numbers") or []}
        if "l2.bytes" not in numbers:
            return []
        numbers = {k: int(v) if v == int(v) else v for k, v in numbers.items()}
        file = os.path.join(self.headers, "machine.json")
        with open(file, "w", encoding="utf-8") as f:
            json.dump({"gcc2nn-machine": 1, "target": self.target, "cpu": "small", "numbers": numbers}, f)
        return [f"--machine={file}"]

    def describe(self):
        return "+".join(n.op_type for n in self.model.graph.node) + f" opset {self.maker.opset} {self.target}" + \
            (" symbolic" if self.maker.symbolic else "")

    def draw_points(self):
        """The option that takes them."""
        file = os.path.join(self.folder, "choices")
        if not os.path.exists(file):
            done = subprocess.run([self.args.gcc2nn, os.path.join(self.folder, "model.onnx"), "--target", self.target, "--dump-after=choices", "--stop-after=lower",
                                   f"--threads={self.threads}", *self.options], capture_output=True, timeout=120, text=True,
                                  errors="replace")
            with open(file, "w", encoding="utf-8") as f:
                f.write(drawn_points(done.stdout, self.points))
        return f"--choices={file}"

    def interpret(self, n, data):
        out = os.path.join(self.folder, f"out{n}" if n else "out")
        given = os.path.join(self.folder, f"data{n}" if n else "data")
        save(given, self.maker, data)
        words = [self.args.gcc2nn, "run", os.path.join(self.folder, "model.onnx"), "--data", given, "--out", out, "--target",
                 self.target, "--interpret", "--dump-after=nodes", f"--threads={self.threads}", *self.options]
        if self.points:
            words.append(self.draw_points())
        if self.compiled and not n:
            words += ["--weights=array", "--build-dir", os.path.join(self.folder, "c")]
        try:
            done = subprocess.run(words, capture_output=True, timeout=120, text=True, errors="replace")
        except subprocess.TimeoutExpired:
            raise Wrong("took more than 120 s") from None
        if done.returncode:
            why = (done.stderr.strip().splitlines() or [f"signal {-done.returncode}"])[0]
            why = f"exit {done.returncode}: {why[-200:]}"
            if self.maker.symbolic and done.returncode == 3 and "E0502" not in done.stderr and not self.args.strict:
                raise Refused(why)
            raise Wrong(why)
        lost = lost_nodes(self.model, done.stdout)
        if lost:
            raise Wrong(lost)
        return out

    def run_compiled(self, data, arrays, want):
        inputs = [data[name] for name in self.maker.inputs]
        if len(arrays) != len(want) or not all(isinstance(v, np.ndarray) for v in inputs) or \
                any(v.dtype.kind == "O" for v in inputs + arrays):
            return False
        code = os.path.join(self.folder, "c")
        if not os.path.exists(os.path.join(code, "whole")):
            built.build(code, self.compiler, self.headers)
        for k, (mine, its) in enumerate(zip(arrays, built.run(code, inputs, len(want), self.threads, self.runner))):
            # products of bf16 are summed in an order of the instruction's own
            ordered = self.target not in ("x86-amx", "x86-avx512bf16", "aarch64-i8mm") or self.maker.precision != "bf16"
            if not built.same_bits(mine, its) if ordered else difference(mine, its, allowed(self.maker), 1e-2):
                raise Wrong(f"DIFFERS from the interpreter: output {k} {self.outs[k]}, {self.compiler}")
        return True

    def check(self):
        """How many sizes were run, and how many of them compiled."""
        ran = compiled = 0
        for n, data in self.sizes.items():
            try:
                want = self.maker.expected(self.model, data)
            except Exception:      # whatever ONNX Runtime throws
                if n:
                    break       # the graph holds for its own sizes only
                raise
            if not n:
                shutil.rmtree(self.folder, ignore_errors=True)
                os.makedirs(self.folder)
                onnx.save(self.model, os.path.join(self.folder, "model.onnx"))
            out = self.interpret(n, data)
            try:
                arrays = compare(out, self.model, self.maker, self.outs, want)
            except Wrong:
                want = second_opinion(self.maker, self.model, data, self.outs, want)
                if want is None:
                    raise
                arrays = compare(out, self.model, self.maker, self.outs, want)
            ran += 1
            if self.compiled:
                compiled += self.run_compiled(data, arrays, want)
        return ran, compiled


def check(seed, args, folder, headers, counts):
    """('passed' | 'failed' | 'skipped', why)"""
    try:
        trial = Trial(seed, args, folder, headers)
    except Impossible:
        return "skipped", "nothing drawn"
    try:
        ran, compiled = trial.check()
    except Refused as e:
        return "skipped", f"refused: {trial.describe()}: {e}"
    except (Wrong, built.Failed) as e:
        return "failed", f"{trial.describe()}: {e}"
    except Exception as e:      # whatever ONNX Runtime throws
        return "skipped", "ONNX Runtime: " + (str(e).splitlines() or [type(e).__name__])[0][:150]
    counts["interpreted"] += 1
    counts["other sizes"] += ran - 1
    if compiled:
        counts["compiled " + trial.target] += 1
    counts.update(operators(trial.model.graph))
    return "passed", ""


def main(maker, doc):
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10**9)
    parser.add_argument("--seconds", type=float, default=10**9)
    parser.add_argument("--compiled", nargs="?", type=int, const=1, metavar="N", help="build the C too: of all, or one in N")
    parser.add_argument("--targets", nargs="+", default=maker.targets, metavar="TARGET", help="to draw from")
    parser.add_argument("--levels", nargs="+", default=["2"], metavar="N", help="-O of gcc, to draw from")
    parser.add_argument("--c99", default="gcc -O1", metavar="COMMAND", help="compiler of target c99")
    parser.add_argument("--json", metavar="FILE", help="write the counts there")
    parser.add_argument("--strict", action="store_true", help="a refusal of symbolic sizes fails too")
    parser.add_argument("--why", action="store_true", help="say what is skipped")
    parser.add_argument("--ops", action="store_true", help="say how often each operator ran")
    parser.add_argument("--keep", metavar="DIR", help="leave failing models there")
    parser.add_argument("--threads", type=int, default=1, metavar="N", help="that kernels are made for and run by")
    parser.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    args = parser.parse_args()
    args.maker = maker
    args.gcc2nn = os.path.abspath(args.gcc2nn)
    counts, more = {"passed": 0, "failed": 0, "skipped": 0}, collections.Counter()
    end = time.monotonic() + args.seconds
    with tempfile.TemporaryDirectory(prefix="random-") as top:
        for seed in range(args.seed, args.seed + args.count):
            if time.monotonic() > end:
                break
            folder = os.path.join(top, "one")
            verdict, why = check(seed, args, folder, top, more)
            counts[verdict] += 1
            if verdict == "failed" or args.why and verdict == "skipped":
                print(f"seed {seed}: {why}", flush=True)
                if args.keep and verdict == "failed":
                    shutil.copytree(folder, os.path.join(args.keep, str(seed)), dirs_exist_ok=True)
            if sum(counts.values()) % 100 == 0:
                print(told(more), flush=True)
    print(told(more))
    if args.ops:
        print("\n".join(f"{n:6} {op[3:]}" for op, n in sorted(more.items()) if op.startswith("op ")))
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"summary": counts}, f)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] or not counts["passed"] else 0


def told(more):
    return ", ".join(f"{what} {n}" for what, n in sorted(more.items()) if not what.startswith("op "))
