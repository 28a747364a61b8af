#!/usr/bin/env python3
"""quantised.py [--gcc2nn PROGRAM] [--targets T,T] [--rounds N] [MODEL...]: is a quantised model, or one of 16-bit floats,
as fast as its f32 twin?

Compares each such model of the folder of test models, and the example of this repository, with the model that it was made
from, for each target: by instructions where an emulator counts them, else by the least time of all runs, N rounds of both
by turns, where allowed without being interrupted. Targets that this machine cannot run are left out. Prints a table of quantised / f32; exit
status 1 if one is above 1.05.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile

import onnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "models"))
from modelset import ROOT, index, prepared     # noqa: E402

TARGETS = "x86-avx512vnni,x86-avx512,x86-avx2,c99,aarch64,aarch64-dotprod,aarch64-i8mm,riscv64,cortex-m4"
COUNTED = ("aarch64", "aarch64-dotprod", "aarch64-i8mm", "riscv64", "cortex-m4")
EXAMPLE = os.path.join(ROOT, "examples", "digits", "digits")
MOST = 1.05
LENGTH = 16       # of sequences; other open sizes are 1
SECONDS = 0.15    # of runs, for each program and round


def pairs(names):
    """(name, path, path of its twin) by the column that says how a model was made: `TWIN (...) -> quantize.py ...`."""
    known = {"digits_int8": (EXAMPLE + "_int8.onnx", EXAMPLE + ".onnx")}
    for name, row in index().items():
        made = row["source"].split()
        if row["category"] in ("quant", "quant-fp16") and "quantize.py" in made:
            known[name] = name, made[0]
    known["mnist_float16"] = "mnist_float16", "mnist_cntk"
    for name in names or known:
        both = [(n, "") if os.path.isabs(n) else prepared(n) for n in known[name]]
        why = both[0][1] or both[1][1]
        if why:
            print(f"{name}: {why}")
        else:
            yield name, both[0][0], both[1][0]


def sizes(path):
    dims = {d.dim_param for i in onnx.load(path, load_external_data=False).graph.input
            for d in i.type.tensor_type.shape.dim if d.dim_param}
    return [word for d in sorted(dims) for word in ("-d", f"{d}={LENGTH if 'seq' in d else 1}")]


def printed(*command, **more):
    """What the command prints, or None if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    return done.stdout if done.returncode == 0 else None


def instructions(gcc2nn, path, target):
    text = printed(gcc2nn, "bench", path, f"--target={target}", "--json", *sizes(path))
    return json.loads(text)["instructions"] if text else None


def built(gcc2nn, path, target, folder):
    """The command that times the compiled model; None: it does not run here."""
    made = printed(gcc2nn, path, f"--target={target}", "-o", folder, "--name=m", *sizes(path))
    if made is None or printed("make", "-s", "bench", cwd=folder) is None:
        return None
    weights = [f for f in os.listdir(folder) if f.endswith(".bin")]
    return ["./bench"], [os.path.join(folder, w) for w in weights]


def least(program, folder, runs):
    command, weights = program
    text = printed(*ALONE, *command, str(runs), "2", *weights, cwd=folder)
    return float(re.search(r"min ([0-9.]+) ms", text).group(1)) if text else None


def times(gcc2nn, paths, target, rounds):
    with tempfile.TemporaryDirectory() as top:
        folders = [os.path.join(top, n) for n in ("quantised", "twin")]
        programs = [built(gcc2nn, p, target, f) for p, f in zip(paths, folders)]
        if None in programs:
            return None
        best = [least(p, f, 2) for p, f in zip(programs, folders)]
        if None in best:
            return None
        for _ in range(rounds):
            for k in range(2):
                runs = min(1000, max(2, int(SECONDS * 1000 / best[k])))
                best[k] = min(best[k], least(programs[k], folders[k], runs))
        return best


def compared(gcc2nn, paths, target, rounds):
    """(of the quantised model, of its twin), or None."""
    if target not in COUNTED:
        return times(gcc2nn, paths, target, rounds)
    both = [instructions(gcc2nn, p, target) for p in paths]
    return None if None in both else both


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    p.add_argument("--targets", default=TARGETS)
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("models", nargs="*")
    args = p.parse_args()
    targets, slow = args.targets.split(","), []
    print(f"{'':26}" + "".join(f"{t:>16}" for t in targets))
    for name, *paths in pairs(args.models):
        print(f"{name:26}", end="", flush=True)
        for target in targets:
            found = compared(args.gcc2nn, paths, target, args.rounds)
            ratio = found[0] / found[1] if found else 0
            print(f"{ratio:16.2f}" if found else f"{'-':>16}", end="", flush=True)
            if ratio > MOST:
                slow.append((ratio, name, target, *found))
        print()
    for ratio, name, target, mine, twin in sorted(slow, reverse=True):
        print(f"slower than f32: {name} on {target}, {ratio:.2f} ({mine:g} to {twin:g})")
    sys.exit(1 if slow else 0)


# A scheduling policy that others do not interrupt, where this user may ask for it.
ALONE = ["chrt", "-f", "50", "taskset", "-c", "1"]
if printed(*ALONE, "true") is None:
    ALONE = []
if __name__ == "__main__":
    main()
