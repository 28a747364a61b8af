#!/usr/bin/env python3
"""Proofs that symbolic dimensions are variables of the generated code: each model is compiled and built once, with all
its dimensions symbolic, and that one program runs everything.

    symbolic.py              two models with a symbolic batch and one of the others, turned by the commit
    symbolic.py --all        all of them
    symbolic.py NAME...      these

BATCH: batches of 3, 5, 8 and 13 give in each row the same bits as that row alone.
SIZES: image sizes and lengths that no data set has agree with onnxruntime.
SETS: where two data sets are stored, the same program is right for both (tolerances: run_models.py).
Exit status: 0, 1 if a proof failed, 77 if none ran.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

import run_models
from modelset import ROOT, arguments, finish, index, missing, MODELS

HERE = os.path.dirname(os.path.abspath(__file__))
IMAGE = ("collins_rul_small", "ppocr_cls", "ppocr_det_v4", "osf_mnv3_detection", "osf_lm_model0", "super_resolution_10",
         "mobilenet_v2", "efficientnet_b0", "resnet50", "convnext_tiny")
TRANSFORMER = ("t5_encoder_tiny", "bert_base", "gpt2_small")
BATCH = IMAGE + TRANSFORMER
SIZES = {   # input: shapes
    "ppocr_det_v4": {"x": ((1, 3, 160, 96), (1, 3, 96, 192), (2, 3, 192, 160))},
    "seanet1d": {"wave": ((1, 1, 640), (1, 1, 1120), (1, 1, 3200))},
}
SETS = ("byte_bidi_lstm", "mscn_128d", "ppocr_det_v4", "super_resolution_10", "bert_base", "llama_tiny_kv",
        "lstm_tagger", "mlpt_dscnn_kws", "resnet50", "seanet1d", "t5_encoder_tiny", "tcn_kws")
BATCHES = (3, 5, 8, 13)


class Failed(Exception):
    pass


# --- the program ------------------------------------------------------------------------------

def command(words, timeout, cwd):
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=timeout)
    if done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"{os.path.basename(words[0])} ended with {done.returncode}: {lines[0][:160] if lines else ''}")
    return done.stdout


class Program:
    """A model compiled once: run(inputs by name) gives the outputs by name."""

    def __init__(self, args, model, folder):
        self.folder, self.timeout = folder, args.timeout
        command([args.gcc2nn, model, "--out", folder, "--target", args.target, "--name", "model"], args.timeout, ROOT)
        command(["make", "-s", "-j", str(os.cpu_count() or 1), "model_main"], args.timeout, folder)
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
            manifest = json.load(f)
        self.inputs, self.outputs = manifest["inputs"], manifest["outputs"]
        self.symbols = {s["member"] for s in manifest["symbols"]}
        self.weights = ["--weights", "model_weights.bin"] if manifest["weights"]["kept_as"] == "file" else []

    def run(self, arrays):
        import numpy as np
        words = ["./model_main"] + self.weights
        for k, given in enumerate(self.inputs):
            write_nnt(os.path.join(self.folder, f"in{k}.nnt"), arrays[given["name"]], given["onnx_type"])
            words.append(f"in{k}.nnt")
        words += [f"out{k}.nnt" for k in range(len(self.outputs))]
        command(words, self.timeout, self.folder)
        return {o["name"]: read_nnt(os.path.join(self.folder, f"out{k}.nnt"), np) for k, o in enumerate(self.outputs)}


def write_nnt(path, array, onnx_type):
    import numpy as np
    with open(path, "wb") as f:
        f.write(b"NNT1" + np.array([onnx_type, array.ndim, 0], "<u4").tobytes() + np.array(array.shape, "<i8").tobytes())
        f.write(np.ascontiguousarray(array).tobytes())


def read_nnt(path, np):
    import onnx
    with open(path, "rb") as f:
        data = f.read()
    onnx_type, rank, _ = np.frombuffer(data, "<u4", 3, 4)
    dims = np.frombuffer(data, "<i8", rank, 16)
    dtype = onnx.helper.tensor_dtype_to_np_dtype(int(onnx_type))
    return np.frombuffer(data, dtype, offset=16 + 8 * int(rank)).reshape(dims)


# --- the proofs -------------------------------------------------------------------------------

def read_set(program, data):
    return {given["name"]: run_models.read_tensor(os.path.join(data, f"input_{k}.pb"))[1]
            for k, given in enumerate(program.inputs)}


def many_rows(array, n):
    """n rows that differ and hold only values that the array has: rows of it turned along the last axis."""
    import numpy as np
    return np.concatenate([np.roll(array[j % len(array)][None], j // len(array), axis=-1) for j in range(n)])


def prove_batch(program, arrays):
    import numpy as np
    for given in program.inputs:
        if given["dims"][0] not in program.symbols:
            raise Failed(f"the first dimension of {given['name']} is {given['dims'][0]}, not a symbol")
    most = max(BATCHES)
    rows = {name: many_rows(array, most) for name, array in arrays.items()}
    alone = [program.run({name: array[j:j + 1] for name, array in rows.items()}) for j in range(most)]
    for n in BATCHES:
        for name, got in program.run({name: array[:n] for name, array in rows.items()}).items():
            want = np.concatenate([row[name] for row in alone[:n]])
            if got.shape != want.shape:
                raise Failed(f"batch {n}: {name} has shape {list(got.shape)}, its rows alone {list(want.shape)}")
            for j in range(n):
                if got[j].tobytes() != want[j].tobytes():
                    raise Failed(f"batch {n}: row {j} of {name} has other bits than alone")
    if all(np.array_equal(alone[0][name], alone[1][name]) for name in alone[0]):
        raise Failed("two different rows give the same outputs")


def of_shape(array, shape):
    """The stored input cut off or repeated along each axis: noise would be no image, and give outputs of rounding."""
    for axis, n in enumerate(shape):
        array = array.take(range(n), axis=axis, mode="wrap")
    return array


def prove_sizes(program, model, stored, shapes, row):
    import onnxruntime
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    for number in range(len(next(iter(shapes.values())))):
        arrays = {name: of_shape(stored[name], s[number]) for name, s in shapes.items()}
        for name, want in zip([o.name for o in session.get_outputs()], session.run(None, arrays)):
            try:
                error = run_models.relative_error(program.run(arrays)[name], want)
            except run_models.Wrong as e:
                raise Failed(f"{[list(a.shape) for a in arrays.values()]}: {name}: {e}") from None
            limit = run_models.tolerance(row, name, want.dtype.name, {})
            if error > limit:
                raise Failed(f"{[list(a.shape) for a in arrays.values()]}: {name}: {error:.2e} > {limit:.2e}")


def prove_sets(program, row, sets, lists):
    from onnx import numpy_helper
    for data in sets:
        with tempfile.TemporaryDirectory(prefix="symbolic-") as out:
            for k, array in enumerate(program.run(read_set(program, data)).values()):
                with open(os.path.join(out, f"output_{k}.pb"), "wb") as f:
                    f.write(numpy_helper.from_array(array).SerializeToString())
            try:
                run_models.compare(row, data, out, *lists)
            except run_models.Wrong as e:
                raise Failed(f"{os.path.basename(data)}: {e}") from None


def prove(name, args, rows):
    """(verdict, seconds, what was proved or is wrong)"""
    begin, done = time.monotonic(), []
    lists = run_models.read_widened(rows), run_models.read_ties(rows).get(name, {})
    try:
        out = command([sys.executable, os.path.join(HERE, "prepare.py"), name], 1800, ROOT)
        places = [line.split(" ", 1) for line in out.splitlines()]
        model, sets = places[0][1], [path for kind, path in places if kind == "data"]
        with tempfile.TemporaryDirectory(prefix="symbolic-") as folder:
            program = Program(args, model, folder)
            if name in BATCH:
                prove_batch(program, read_set(program, sets[0]))
                done.append("batch 1, " + ", ".join(map(str, BATCHES)))
            if name in SIZES:
                prove_sizes(program, model, read_set(program, sets[0]), SIZES[name], rows[name])
                done.append("other sizes")
            if name in SETS:
                if len(sets) < 2:
                    raise Failed("there is only one data set")
                prove_sets(program, rows[name], sets, lists)
                done.append(f"{len(sets)} data sets")
    except Failed as e:
        return "FAIL", time.monotonic() - begin, str(e)
    except subprocess.TimeoutExpired as e:
        return "FAIL", time.monotonic() - begin, f"{os.path.basename(e.cmd[0])} took more than {args.timeout:.0f} s"
    return "ok", time.monotonic() - begin, "; ".join(done)


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each step (600)")
    parser.add_argument("--target", default=run_models.host_target())
    args = parser.parse_args()
    if missing(args, "numpy", "onnx", "onnxruntime"):
        finish(args, [], missing(args, "numpy", "onnx", "onnxruntime"))
    others = [name for name in dict.fromkeys([*SIZES, *SETS]) if name not in BATCH]
    names = args.names or [*BATCH, *others]
    if not args.names and not args.all:
        number = run_models.turn()[0]
        names = [BATCH[number % len(BATCH)], BATCH[(number + 5) % len(BATCH)], others[number % len(others)]]
    rows, results = index(), []
    print(f"symbolic sizes: {len(names)} models; target {args.target}; folder {os.path.relpath(MODELS, ROOT)}", flush=True)
    for name in names:
        results.append([name, *prove(name, args, rows)])
        print("{:28} {:5} {:7.1f} s  {}".format(*results[-1]), flush=True)
    finish(args, [r[1] for r in results], proofs=results)


if __name__ == "__main__":
    main()
