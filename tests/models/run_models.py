#!/usr/bin/env python3
"""Runs test models through `gcc2nn run` and compares the outputs with the stored reference, and those of models with
at most INTERPRETED_MACS products with the interpreter's, bit for bit (check_output.py does so for all models). How many
threads share the kernels is drawn by the commit.

    run_models.py                 every small model and one of GROUPS groups of the others, turned by the commit
    run_models.py --all           every model
    run_models.py NAME...         these

Left out unless asked for by name or --category: see LEFT_OUT. One line for each model: name, verdict (ok, FAIL =
wrong values, error = no values, skip = not run), greatest relative error, seconds in gcc2nn, and what is wrong.

Tolerance of a floating-point output, as a part of the greatest magnitude in its reference: 1e-4 or 20 times what
onnxruntime's own optimisation changes (INDEX.csv rel_opt_vs_noopt); half precision: 5e-3 or 3 times that.
tolerance.tsv widens single outputs and states the cause. Everything else must be equal.
ties.tsv lists outputs whose rows are ranked by another one: rows of the same rank within its tolerance may change places.
pending.tsv lists models that are refused so far, with the reason; they count as skipped.
Exit status: 0, 1 if a model failed, 77 if none was run.
"""
import ast
import concurrent.futures
import datetime
import functools
import glob
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from modelset import ROOT, arguments, finish, index, missing, MODELS

THREADS = (1, 2, 3, 5)
HERE = os.path.dirname(os.path.abspath(__file__))
LEFT_OUT = {
    "quant": "integer arithmetic: its own comparison",
    "quant-fp16": "derived from models that run anyway",
    "int8": "integer arithmetic: its own comparison",
    "tflite": "not ONNX",
}
QUANTISED = {"quant", "quant-fp16", "int8"}     # those that are stored run all the same
GROUPS = 6
INTERPRETED_MACS = 50_000_000
SMALL_BYTES, SMALL_MACS = 2_500_000, 60_000_000


class Wrong(Exception):     # gcc2nn ran, the values are not the reference's
    pass


class Broken(Exception):    # no values to compare
    pass


class Skip(Exception):
    pass


# --- choosing ---------------------------------------------------------------------------------

def small(row):
    size = int(row["filled_size"] or row["size"])
    return size <= SMALL_BYTES and int(row["macs"] or 0) <= SMALL_MACS


def dealt(name):
    """A number by which models are dealt, so that a new one does not move the others."""
    return int(hashlib.sha256(name.encode()).hexdigest(), 16)


@functools.cache
def turn():
    """(number, where it comes from): the same for one commit everywhere, different for the next."""
    if shutil.which("git"):
        done = subprocess.run(["git", "-C", ROOT, "rev-parse", "HEAD"], capture_output=True, text=True)
        if done.returncode == 0:
            return int(done.stdout[:8], 16), "commit " + done.stdout[:8]
    today = datetime.date.today()
    return today.toordinal(), f"day {today}"


def choose(args, rows):
    """(names, one sentence on the choice)"""
    if args.names:
        unknown = [name for name in args.names if name not in rows]
        if unknown:
            sys.exit(f"run_models.py: no model {unknown[0]} in INDEX.csv")
        return args.names, "the models named"
    if args.category:
        names = [name for name, row in rows.items() if row["category"] in args.category]
        return names, f"category {', '.join(args.category)}"
    names = [name for name, row in rows.items() if row["category"] not in LEFT_OUT
             or (row["category"] in QUANTISED and row["file"] != "recipe only")]
    left_out = f"without {', '.join(LEFT_OUT)} but for quantised models that are stored"
    if args.all:
        return names, f"all {len(names)} models, {left_out}"
    big = [name for name in names if not small(rows[name])]
    number, source = (args.group, "--group") if args.group is not None else turn()
    group = number % GROUPS
    chosen = [n for n in big if dealt(n) % GROUPS == group]
    picked = [name for name in names if name not in big or name in chosen]
    return picked, (f"{len(names) - len(big)} small models and {len(chosen)} of the {len(big)} others "
                    f"(group {group} of 0..{GROUPS - 1}, from {source}), {left_out}")


def threads(name):
    """How many threads share the model's kernels: another number for each model, and from commit to commit."""
    return THREADS[(dealt(name) + turn()[0]) % len(THREADS)]


# --- comparing --------------------------------------------------------------------------------

def read_maps(data):
    """The values of a sequence of maps as a matrix, or None; keys are in the order of the file."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    try:    # most files are of tensors
        sequence = onnx.SequenceProto.FromString(data)
        maps = numpy_helper.to_list(sequence) if sequence.elem_type == onnx.SequenceProto.MAP else None
    except Exception:
        return None
    return maps and (sequence.name, np.array([list(m.values()) for m in maps]))


def read_tensor(path):
    import onnx
    from onnx import numpy_helper
    tensor = onnx.TensorProto()
    try:
        with open(path, "rb") as f:
            data = f.read()
        maps = read_maps(data)
        if maps:
            return maps
        tensor.ParseFromString(data)
        return tensor.name, numpy_helper.to_array(tensor)
    except Exception as e:      # whatever protobuf, onnx or numpy find wrong with a file that we wrote
        raise Wrong(f"{os.path.basename(path)} is not a tensor: {str(e)[:80]}") from None


def relative_error(got, want):
    """max|got - want| / max|want| over the finite values; Wrong where anything else differs."""
    import numpy as np
    if got.dtype != want.dtype or got.shape != want.shape:
        raise Wrong(f"{got.dtype}{list(got.shape)}, expected {want.dtype}{list(want.shape)}")
    if want.dtype.kind not in "fV":     # V: bfloat16 and the like, which numpy does not know
        different = int(np.sum(got != want))
        if different:
            raise Wrong(f"{different} of {want.size} values differ")
        return 0.0
    got, want = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want)
    special = np.isnan(want) != np.isnan(got)
    special |= np.isinf(want) & (got != want)
    special |= finite & ~np.isfinite(got)
    if special.any():
        raise Wrong(f"{int(special.sum())} of {want.size} values differ in being NaN or infinite")
    if not finite.any():
        return 0.0
    scale = float(np.abs(want[finite]).max())
    error = float(np.abs(got[finite] - want[finite]).max())
    return error / scale if scale else error    # all zeros: the error itself


def tolerance(row, output, dtype, widened):
    floor = float(row["rel_opt_vs_noopt"] or 0)
    half = "fp16" in row["category"] or dtype == "float16"
    usual = max(5e-3, 3 * floor) if half else max(1e-4, 20 * floor)
    return max(usual, widened.get((row["name"], output), 0.0))


def read_table(name, rows, columns):
    """The rows of a table beside this script; the first column names a model, the last says why."""
    with open(os.path.join(HERE, name), encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            fields = line.rstrip("\n").split("\t")
            if number == 1 or not line.strip():
                continue
            if len(fields) != len(columns) or fields[0] not in rows or not fields[-1].strip():
                sys.exit(f"{name}:{number}: expected {', '.join(columns)}")
            yield fields


def read_widened(rows):
    columns = "a model of INDEX.csv", "an output", "a tolerance", "its cause"
    return {(model, out): float(to) for model, out, to, _ in read_table("tolerance.tsv", rows, columns)}


def read_pending(rows):
    """Models that gcc2nn refuses so far, with the reason: said and counted as skipped. One that works fails the run."""
    return dict(read_table("pending.tsv", rows, ("a model of INDEX.csv", "the reason")))


def settle(result, pending):
    """A refusal that is listed is a skip; wrong values never are; a listed model that works must leave the list."""
    reason = pending.get(result["name"])
    if reason and result["verdict"] == "error":
        result.update(verdict="skip", why=reason)
    elif reason and result["verdict"] == "ok":
        result.update(verdict="FAIL", why="works now: remove it from pending.tsv")
    return result


def read_ties(rows):
    """{model: {output: the output that ranks its rows}}"""
    ties = {}
    columns = "a model of INDEX.csv", "an output", "the one that ranks it", "the cause"
    for model, output, by, _ in read_table("ties.tsv", rows, columns):
        ties.setdefault(model, {})[output] = by
    return ties


def untie(got, want, rank, limit):
    """got with its rows moved within each run of rows whose ranks in the reference are equal up to twice `limit`."""
    import numpy as np
    if got.shape != want.shape or len(want) != len(rank):
        return got
    moved, begin = got.copy(), 0
    for end in range(1, len(rank) + 1):
        if end < len(rank) and abs(float(rank[end]) - float(rank[end - 1])) <= 2 * limit:
            continue
        free = list(range(begin, end))
        for row in range(begin, end if end - begin > 1 else begin):
            apart = [float(np.abs(got[k].astype(np.float64) - want[row].astype(np.float64)).max()) for k in free]
            moved[row] = got[free.pop(apart.index(min(apart)))]
        begin = end
    return moved


BYTE_PRODUCTS = {"ConvInteger": (0, 1), "MatMulInteger": (0, 1), "MatMulIntegerToFloat": (0, 1), "QLinearConv": (0, 3),
                 "QLinearMatMul": (0, 3), "QGemm": (0, 3), "QAttention": (0, 1), "DynamicQuantizeMatMul": (0, 1),
                 "DynamicQuantizeLSTM": (0, 1)}     # which inputs are multiplied


def saturates(op, type_at):
    """Is ONNX Runtime no judge of the operator here? Its kernels for bytes of different signs saturate sums of two products on CPUs
    of x86 without VNNI. type_at: tells the type of an input by its number; floats become uint8."""
    if op not in BYTE_PRODUCTS or not cpu_flags() or {"avx512_vnni", "avx_vnni"} & cpu_flags():
        return False
    return len({str(type_at(k)) in ("int8", "3") for k in BYTE_PRODUCTS[op]}) > 1     # 3: TensorProto.INT8


def cpu_flags():
    """What this machine's CPU has, as Linux on x86 says it; empty elsewhere."""
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as f:
            return set(f.read().split())
    except OSError:
        return set()


def host_target():
    """Vector code where this machine runs it: the models are large, and it is what users of such machines build."""
    flags = cpu_flags()
    if not {"avx2", "fma", "f16c"} <= flags:
        return "c99"
    return "x86-avx512" if {"avx512f", "avx512bw", "avx512dq", "avx512vl"} <= flags else "x86-avx2"


def compare(row, data, out, widened, ties):
    """The greatest relative error of a data set; Wrong at the first output that is too far off."""
    references = sorted(glob.glob(os.path.join(glob.escape(data), "output_*.pb")))
    if not references:
        raise Skip("no output_N.pb as reference")
    worst = 0.0
    by_name = {name: want for name, want in map(read_tensor, references)} if ties else {}
    for reference in references:
        file = os.path.basename(reference)
        name, want = read_tensor(reference)
        if not os.path.exists(os.path.join(out, file)):
            raise Wrong(f"{file} ({name}) was not written")
        _, got = read_tensor(os.path.join(out, file))
        if name in ties:
            rank = by_name[ties[name]]
            limit = tolerance(row, ties[name], rank.dtype.name, widened) * float(abs(rank).max(initial=0))
            got = untie(got, want, rank, limit)
        accepted = [want]
        # The same data without onnxruntime's optimisations: either may be the nearer one.
        noopt = os.path.join(os.path.dirname(data), "noopt", file)
        if os.path.exists(noopt) and data.endswith("_0"):
            accepted.append(read_tensor(noopt)[1])
        errors, complaints = [], []
        for array in accepted:
            try:
                errors.append(relative_error(got, array))
            except Wrong as e:
                complaints.append(str(e))
        if not errors:
            raise Wrong(f"{file} ({name}): {complaints[0]}")
        limit = tolerance(row, name, want.dtype.name, widened)
        if min(errors) > limit:
            raise Wrong(f"{file} ({name}): relative error {min(errors):.2e} > {limit:.2e}")
        worst = max(worst, min(errors))
    compare_maps(row, data, out)
    return worst


def compare_maps(row, data, out):
    """inputs.json has the first characters of what sequences of maps were; Wrong where a whole map of them differs."""
    import numpy as np
    try:
        with open(os.path.join(os.path.dirname(data), "inputs.json"), encoding="utf-8") as f:
            outputs = json.load(f)["outputs"]
    except OSError:
        return
    for k, output in enumerate(outputs):
        want = [ast.literal_eval(m) for m in re.findall(r"\{[^}]*\}", output.get("value", ""))]
        if not want or output["dtype"] != "list":
            continue
        _, got = read_tensor(os.path.join(out, f"output_{k}.pb"))
        error = relative_error(got[:len(want)], np.array([[m[key] for key in sorted(m)] for m in want], np.float32))
        if error > tolerance(row, output["name"], "float32", {}):
            raise Wrong(f"output_{k}.pb ({output['name']}): relative error {error:.2e}")


def same_bits(got, want):
    """docs/numbers.md, N2 and N5: every bit, but a NaN may have any."""
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if got.dtype.kind == "O":       # strings
        return bool((got == want).all())
    if got.tobytes() == want.tobytes():
        return True
    if got.dtype.kind == "c":
        got, want = got.view(got.real.dtype), want.view(want.real.dtype)
    if got.dtype.kind not in "fV":
        return False
    import numpy as np
    bits = f"u{got.itemsize}"
    differ = np.atleast_1d(got).view(bits) != np.atleast_1d(want).view(bits)
    return all(np.isnan(np.atleast_1d(x)[differ].astype(np.float64)).all() for x in (got, want))


def compare_bits(out, interpreted):
    """Wrong at the first output of a folder that has other bits in the other one."""
    for file in sorted(os.listdir(out)):
        name, got = read_tensor(os.path.join(out, file))
        if not same_bits(got, read_tensor(os.path.join(interpreted, file))[1]):
            raise Wrong(f"{file} ({name}): the interpreter of the loop IR has other bits")


# --- running ----------------------------------------------------------------------------------

def call(command, timeout, cwd):
    """(exit status, stderr or its like). A process group, so that a timeout also ends what gcc2nn started."""
    process = subprocess.Popen(command, cwd=cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise Broken(f"took more than {timeout:.0f} s") from None
    return process.returncode, out, err


def gcc2nn_run(args, model, data, out, *more):
    """Seconds; Broken if it fails."""
    os.mkdir(out)
    begin = time.monotonic()
    status, _, err = call([args.gcc2nn, "run", model, "--data", data, "--out", out, "--target", args.target, *more],
                          args.timeout, out)
    if status:
        ended = f"signal {-status}" if status < 0 else f"exit {status}"
        first = next((line for line in err.splitlines() if line.strip()), "no message")
        raise Broken(f"{ended}: {first[:160]}")
    return time.monotonic() - begin


def run_model(row, args, widened, ties, deadline):
    """{verdict, error, seconds, why} of one model over its data sets."""
    result = {"name": row["name"], "verdict": "ok", "error": None, "seconds": 0.0, "why": "", "sets": 0}
    try:
        if time.monotonic() > deadline:
            raise Skip(f"the budget of {args.budget} s is used up")
        if not row["file"].endswith(".onnx") and row["file"] != "recipe only":
            raise Skip("not an ONNX model")
        if not row["ort"].startswith("ok"):
            raise Skip("no reference: " + row["ort"][:60])
        # A process of its own: filling weights and onnxruntime take gigabytes, which go back this way.
        status, out, err = call([sys.executable, os.path.join(HERE, "prepare.py"), row["name"]], 1800, ROOT)
        if status:
            raise Broken("cannot prepare: " + (err.strip() or "no message").splitlines()[-1])
        places = [line.split(" ", 1) for line in out.splitlines()]
        model = next(path for kind, path in places if kind == "model")
        for data in (path for kind, path in places if kind == "data"):
            with tempfile.TemporaryDirectory(prefix="model-") as folder:
                out_dir, interpreted = os.path.join(folder, "out"), os.path.join(folder, "interpreted")
                result["seconds"] += gcc2nn_run(args, model, data, out_dir, f"--threads={threads(row['name'])}")
                whole = int(row["macs"] or 0) <= INTERPRETED_MACS
                if whole:
                    gcc2nn_run(args, model, data, interpreted, "--interpret")
                try:
                    error = compare(row, data, out_dir, widened, ties.get(row["name"], {}))
                    if whole:
                        compare_bits(out_dir, interpreted)
                except Wrong as e:
                    raise Wrong(f"{os.path.basename(data)}: {e}") from None
                result["error"] = max(result["error"] or 0.0, error)
                result["sets"] += 1
        if not result["sets"]:
            raise Skip("no data set")
    except Wrong as e:
        result.update(verdict="FAIL", why=str(e))
    except Broken as e:
        result.update(verdict="error", why=str(e))
    except Skip as e:
        result.update(verdict="skip", why=str(e))
    return result


def show(result):
    error = "-" if result["error"] is None else f"{result['error']:.1e}"
    print(f"{result['name']:28} {result['verdict']:5} {error:>8} {result['seconds']:7.1f} s  {result['why']}".rstrip(),
          flush=True)


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--category", action="append", help="these of INDEX.csv instead; may be repeated")
    parser.add_argument("--group", type=int, help="choose this group of the bigger models instead of the commit's")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each data set (300)")
    parser.add_argument("--budget", type=float, default=float("inf"), help="start no model after so many seconds")
    parser.add_argument("--target", default=host_target(), help="of gcc2nn run (this machine: %(default)s)")
    args = parser.parse_args()

    if missing(args, "numpy", "onnx"):
        finish(args, [], missing(args, "numpy", "onnx"))

    rows = index()
    widened, ties, pending = read_widened(rows), read_ties(rows), read_pending(rows)
    names, choice = choose(args, rows)
    print(f"models: {choice}; target {args.target}; folder {os.path.relpath(MODELS, ROOT)}", flush=True)
    deadline = time.monotonic() + args.budget
    results = []
    # The longest first, so that no long one is left to run alone at the end; printed as they end.
    order = sorted(names, key=lambda n: -int(rows[n]["macs"] or 0)) if args.jobs > 1 and len(names) > 1 else names
    with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
        for done in concurrent.futures.as_completed(
                [pool.submit(run_model, rows[name], args, widened, ties, deadline) for name in order]):
            results.append(settle(done.result(), pending))
            show(results[-1])
    results.sort(key=lambda r: names.index(r["name"]))
    verdicts = [r["verdict"] for r in results]
    print(f"models: {verdicts.count('FAIL')} with wrong values, {verdicts.count('error')} without values")
    finish(args, verdicts, choice=choice, models=results)


if __name__ == "__main__":
    main()
