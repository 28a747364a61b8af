#!/usr/bin/env python3
"""Times models whose sizes are open against the same with fixed sizes: both compiled, in one process, run by turns on the same
data, one thread, pinned to one CPU. The open form is optimised for the sizes that the fixed one has.

    open_sizes.py [the options of models.py] [MODEL...]    default: the models of tests/models/twins.py

MODEL is one of these, or FILE.onnx:NAME=SIZE,.. with the sizes of its symbols, 1 for those left out. Prints the medians, and
the median of the ratios of neighbouring runs, open by fixed, with its quartiles; the verdict: ok, TOO SLOW, or
WRONG where outputs differ. The limit follows from what is open: 1.15 where the height or width of pictures is, else 1.05. Those
that failed are listed once more, the worst last, and the exit status is 1.
"""
import os
import sys
import tempfile

import onnx

import models

sys.path.insert(0, os.path.join(models.ROOT, "tests", "models"))
import twins                    # noqa: E402

LIMITS = {"height or width": 1.15, "batch or length": 1.05}
EQUAL = 1e-4    # outputs of a Winograd row differ in their last bits from those of another


def given_form(spec, args, folder):
    """(the file with open sizes, {symbol: size}), or None where the model is not there."""
    name, _, given = spec.partition(":")
    if name not in twins.MODELS:
        sizes = {k: int(n) for k, n in (g.split("=") for g in given.split(",") if g)}
        return name, models.model_dims(models.input_dims(args.gcc2nn, name), name, sizes)
    path, why = models.prepared(name)
    if why:
        print(f"{name}: {why}")
        return None
    axes, dims = twins.MODELS[name]
    opened = os.path.join(folder, "open.onnx")
    return opened, {**dims, **twins.open_form(path, axes, opened)}


def opening(path):
    """What is open, a word of LIMITS: pictures are inputs with four axes, the last two of them height and width."""
    shapes = [value.type.tensor_type.shape.dim for value in onnx.load(path, load_external_data=False).graph.input]
    pixels = any(len(dims) == 4 and any(dims[axis].dim_param for axis in twins.PIXELS) for dims in shapes)
    return "height or width" if pixels else "batch or length"


def compiled(path, dims, args, folder):
    """(fixed, open), both with the same inputs."""
    inputs = models.make_inputs(models.session_of(path), models.input_dims(args.gcc2nn, path), dims)
    both = []
    for kind, sizes in ("fixed", dims), ("open", {k: f"0..{twins.MOST}@{n}" for k, n in dims.items()}):
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        both.append(models.Compiled(path, sizes, args, os.path.join(folder, kind)))
        both[-1].open(inputs)
    return both


def bench(spec, args, folder):
    """(median ratio, did it fail?, what to print), or None."""
    form = given_form(spec, args, folder)
    if not form:
        return None
    fixed, opened = compiled(*form, args, folder)
    what = opening(form[0])
    fixed.run(), opened.run()
    error = models.difference(fixed.outputs(), opened.outputs())
    middle, told = models.compared(*models.by_turns([fixed.run, opened.run], args), "open")
    verdict = "WRONG" if not error <= EQUAL else "TOO SLOW" if middle > LIMITS[what] else "ok"
    return middle, verdict != "ok", (
        f"{spec} {args.target}: {told}, {what} open: {verdict}, at most {LIMITS[what]}; outputs differ by {error:.1e}")


def main():
    args = models.options(__doc__, list(twins.MODELS))
    results = []
    for spec in args.models:
        with tempfile.TemporaryDirectory(prefix="nn-open-") as folder:
            if args.keep:
                folder = os.path.join(args.keep, os.path.basename(spec.partition(":")[0]).removesuffix(".onnx"))
                os.makedirs(folder, exist_ok=True)
            result = bench(spec, args, folder)
        if result:
            results.append(result)
            print(result[2], flush=True)
    failed = sorted(r for r in results if r[1])
    print(f"{len(results) - len(failed)} of {len(results)} within their limits", *[r[2] for r in failed], sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
