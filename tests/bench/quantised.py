#!/usr/bin/env python3
"""quantised.py [--gcc2nn PROGRAM] [--targets T,T] [--rounds N] [MODEL...]: is a quantised model as fast as its f32 twin?

Compares each quantised model of the folder of test models with the model that it was made from, for each target: by
instructions where an emulator counts them, else by the least time of all runs, N rounds of both by turns. Targets that
this machine cannot run are left out. Prints int8 / f32, the slowest first; exit status 1 if one is above 1.05.
"""
import argparse
import json
import os
import subprocess
import sys

import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "models"))
from modelset import ROOT, index, prepared     # noqa: E402

TARGETS = "x86-avx512vnni,x86-avx512,x86-avx2,c99,aarch64,cortex-m4"
MOST = 1.05
LENGTH = 16     # of sequences; other open sizes are 1


def pairs(names):
    """(quantised, twin) by the column that says how a model was made: `TWIN (...) -> quantize.py ...`."""
    for name, row in index().items():
        made = row["source"].split()
        if row["category"] == "quant" and "quantize.py" in made and (not names or name in names):
            yield name, made[0]


def sizes(path):
    dims = {d.dim_param for i in onnx.load(path, load_external_data=False).graph.input
            for d in i.type.tensor_type.shape.dim if d.dim_param}
    return [word for d in sorted(dims) for word in ("-d", f"{d}={LENGTH if 'seq' in d else 1}")]


def cost(program, path, target):
    """({"instructions": n} or {"min_ms": n}), or None if it does not run here."""
    command = [program, "bench", path, f"--target={target}", "--json", "--runs=20", *sizes(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return json.loads(done.stdout) if done.returncode == 0 else None


def ratio(program, pair, target, rounds):
    least = [None, None]
    for _ in range(rounds):
        for k in range(2):
            found = cost(program, pair[k], target)
            if not found:
                return None
            n = found.get("instructions") or found["min_ms"]
            least[k] = n if least[k] is None else min(least[k], n)
        if "instructions" in found:
            break
    return least[0] / least[1]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    p.add_argument("--targets", default=TARGETS)
    p.add_argument("--rounds", type=int, default=3)
    p.add_argument("models", nargs="*")
    args = p.parse_args()
    found = []
    for name, twin in pairs(args.models):
        places = [prepared(name), prepared(twin)]
        if any(why for _, why in places):
            print(f"{name}: {places[0][1] or places[1][1]}")
            continue
        for target in args.targets.split(","):
            r = ratio(args.gcc2nn, [path for path, _ in places], target, args.rounds)
            print(f"{name} {target}: " + ("does not run here" if r is None else f"{r:.2f}"), flush=True)
            if r is not None:
                found.append((r, name, target))
    slow = sorted((f for f in found if f[0] > MOST), reverse=True)
    for r, name, target in slow:
        print(f"slower than f32: {name} on {target}, {r:.2f}")
    sys.exit(1 if slow else 0)


if __name__ == "__main__":
    main()
