#!/usr/bin/env python3
"""Times the channels-last twins of models (tests/graph/nhwc_twins.py) against the models: both compiled, in one process,
run by turns, one thread, pinned to one CPU.

    twins.py [the options of models.py] [MODEL...]      default: the models that nhwc_twins.py takes

Prints the medians, and the median of the ratios of neighbouring runs, twin by model, with its quartiles. Exit status 1 if
a median is above 1.05, or if outputs differ.
"""
import os
import sys
import tempfile

import numpy as np
import onnx

import models

sys.path.append(os.path.join(models.ROOT, "tests", "graph"))
import nhwc_twins               # noqa: E402

MOST = 1.05


def pair(name, args, folder):
    """(model, twin), compiled and with the same inputs, and what to call to compare their outputs."""
    path = models.find_model(name)
    model, twin = onnx.load(path), None
    twin = nhwc_twins.Twin(onnx.load(path))
    changed = os.path.join(folder, "twin.onnx")
    onnx.save(twin.make(), changed)
    shapes = models.input_dims(args.gcc2nn, path)
    sizes = models.model_dims(shapes, path, {})
    inputs = models.make_inputs(models.session_of(path), shapes, sizes)
    turned = {k: np.ascontiguousarray(v.transpose(nhwc_twins.TO_LAST)) if twin.last(k) else v for k, v in inputs.items()}
    both = []
    for kind, file, data in (("model", path, inputs), ("twin", changed, turned)):
        os.makedirs(os.path.join(folder, kind))
        both.append(models.Compiled(file, sizes, args, os.path.join(folder, kind)))
        both[-1].open(data)

    def difference():
        first, last = (b.outputs() for b in both)
        back = {k: v.transpose(nhwc_twins.TO_FIRST) if twin.last(k) else v for k, v in last.items()}
        return models.difference({o.name: first[o.name] for o in model.graph.output}, back)
    return both, difference


def main():
    args = models.options(__doc__, nhwc_twins.NAMES)
    failed = False
    for name in args.models:
        with tempfile.TemporaryDirectory(prefix="nn-twins-") as folder:
            (model, twin), difference = pair(name, args, folder)
            model.run(), twin.run()
            a, b = models.by_turns([model.run, twin.run], args)
            error = difference()
        middle, told = models.compared(a, b, "twin")
        failed |= middle > MOST or not error <= 1e-3
        print(f"{name} {args.target}: {told}, outputs differ by {error:.1e}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
