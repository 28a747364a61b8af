#!/usr/bin/env python3
"""Times models whose sizes are open against the same with fixed sizes: both compiled, in one process, run by turns on the same
data, one thread, pinned to one CPU. The open form is optimised for the sizes that the fixed one has.

    open_sizes.py [the options of models.py] [MODEL...]    default: the models of tests/models/twins.py

MODEL is one of these, or FILE.onnx:NAME=SIZE,.. with the sizes of its symbols. Prints the medians, and the median of the
ratios of neighbouring runs, open by fixed, with its quartiles, the worst models last. Exit status 1 if one is above 1.15,
or above 1.05 where neither height nor width is open, or if outputs differ.
"""
import os
import sys
import tempfile

import onnxruntime as ort

import models

sys.path.insert(0, os.path.join(models.ROOT, "tests", "models"))
import twins                    # noqa: E402

MOST, MOST_OF_LENGTHS = 1.15, 1.05
EQUAL = 1e-4    # outputs of a Winograd row differ in their last bits from those of another


def forms(spec, folder):
    """(the file with open sizes, {symbol: size}, the greatest ratio), or None where the model is not there."""
    name, _, given = spec.partition(":")
    if name not in twins.MODELS:
        return name, {k: int(n) for k, n in (g.split("=") for g in given.split(",") if g)}, MOST
    path, why = models.prepared(name)
    if why:
        print(f"{name}: {why}")
        return None
    axes, dims = twins.MODELS[name]
    opened = os.path.join(folder, "open.onnx")
    pixels = any(set(axis) & set(twins.PIXELS) for axis in axes)
    return opened, {**dims, **twins.open_form(path, axes, opened)}, MOST if pixels else MOST_OF_LENGTHS


def compiled(spec, args, folder):
    """(fixed, open, the greatest ratio), both with the same inputs, or None."""
    found = forms(spec, folder)
    if not found:
        return None
    path, dims, most = found
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    inputs = models.make_inputs(session, dims)
    both = []
    for kind, sizes in ("fixed", dims), ("open", {k: f"0..{twins.MOST}@{n}" for k, n in dims.items()}):
        os.makedirs(os.path.join(folder, kind), exist_ok=True)
        both.append(models.Compiled(path, sizes, args, os.path.join(folder, kind)))
        both[-1].open(inputs)
    return *both, most


def bench(spec, args, folder):
    """(median ratio, is it too great or a result wrong?, what to print), or None."""
    built = compiled(spec, args, folder)
    if not built:
        return None
    fixed, opened, most = built
    fixed.run(), opened.run()
    error = models.difference(fixed.outputs(), opened.outputs())
    middle, told = models.compared(*models.by_turns(fixed.run, opened.run, args), "open")
    return middle, middle > most or not error <= EQUAL, (
        f"{spec} {args.target}: {told}, at most {most}, outputs differ by {error:.1e}")


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
    print(*["", "too slow, or wrong:"] if failed else [], *[r[2] for r in failed], sep="\n")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
