#!/usr/bin/env python3
"""Kernels that end in plain loops although they are contractions, windows, rows, maps or moves, with the reason that the
strategy for them gives (--dump-after=choices). plain.tsv lists how many there are for each model, target, class and
reason; the list may only shrink.

    plain.py [--gcc2nn PATH] [--json FILE] [--write] [NAME...]      these models, or all of the list; --write makes the list

Prints what is not as listed. Exit status: 0, 1 if a kernel more ends so, or one less and the list was not made shorter, 77 if
no model is there.
"""
import argparse
import collections
import os
import re
import subprocess

from modelset import ROOT, absent, finish, prepared

LIST = os.path.join(ROOT, "tests", "models", "plain.tsv")
MODELS = ["mnist_cntk", "cifar10_resnet_2b", "yolox_nano", "ppocr_det_v4", "silero_vad", "gtcrn_stream", "byte_bidi_lstm",
          "tract_qtdnn", "light_squeezenet", "mnist_float16"]
TARGETS = ["x86-avx512", "aarch64", "cuda"]
KERNEL = re.compile(r"^\S.*: (contraction|window|rows|map|move|text)\b")
CHOICE = re.compile(r"^  (contraction|window|blocked map|rows|pointwise|blocked nests|product|few results|cells|plain loops)(?:: (.*))?$")
# Whose refusal tells most, for each class; the first that was asked counts.
ASKED = {"contraction": ["contraction", "few results"], "window": ["window", "cells"], "rows": ["rows", "cells"],
         "map": ["pointwise", "cells"], "move": ["pointwise", "blocked nests", "cells"], "text": ["blocked nests"]}


def general(reason):
    """Without the names and numbers of one kernel."""
    reason = re.sub(r"^scheduling: procedure \S+, `[^`]*`: (?:index \d+ of \S+: .* (?=may be)|)", "the result is not legal: an index ", reason)
    reason = re.sub(r"an index (?=iterations)|: y\[.*", "", reason)
    return re.sub(r"\d+", "N", re.sub(r"`[^`]*`|\bk\d+_\w+", "..", reason))


def plain_kernels(text):
    """{(class, reason): how many kernels}"""
    found, kind, reasons, refused, last = collections.Counter(), "", {}, {}, ""
    for line in text.split("\n"):
        kernel, choice = KERNEL.match(line), CHOICE.match(line)
        if kernel:
            kind, reasons, refused = kernel[1], {}, {}
        elif choice:
            last = choice[1]
            reasons.setdefault(last, choice[2] or "")
        elif line.startswith("    refused: "):
            refused.setdefault(last, general(line[len("    refused: "):]))
        elif line == "    taken" and last == "plain loops" and kind != "text":
            found[kind, next(({**reasons, **refused}[s] for s in ASKED[kind] if s in reasons), "")] += 1
    return found


def choices(program, model, target):
    done = subprocess.run([program, model, f"--target={target}", "--dump-after=choices", "--stop-after=lower"],
                          capture_output=True, text=True, errors="replace", check=False)
    return plain_kernels(done.stdout)


def read_list():
    with open(LIST, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {tuple(row[:4]): int(row[4]) for row in rows}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    p.add_argument("--json", metavar="FILE", help="write the summary there")
    p.add_argument("--write", action="store_true")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    if absent():
        print(f"plain: skipped: {absent()}")
        finish(args, ["skip"])
    names = args.names or MODELS
    found, there = {}, set()
    for name in names:
        path, why = prepared(name)
        if why:
            continue
        there.add(name)
        for target in TARGETS:
            for (kind, reason), n in choices(args.gcc2nn, path, target).items():
                found[name, target, kind, reason] = n
    if args.write:
        with open(LIST, "w", encoding="utf-8") as f:
            f.write("# model\ttarget\tclass\treason\tkernels\n")
            f.writelines("\t".join(key) + f"\t{n}\n" for key, n in sorted(found.items()))
        return
    listed = {key: n for key, n in read_list().items() if key[0] in there}
    wrong = [key for key in sorted(listed.keys() | found.keys()) if listed.get(key, 0) != found.get(key, 0)]
    for key in wrong:
        print(" ".join(key[:3]) + f": {found.get(key, 0)} in plain loops, {listed.get(key, 0)} listed: {key[3]}")
    bad = {key[0] for key in wrong}
    finish(args, ["skip" if name not in there else "FAIL" if name in bad else "ok" for name in names])


if __name__ == "__main__":
    main()
