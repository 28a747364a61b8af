#!/usr/bin/env python3
"""Do the printed steps say all of a schedule? For each model and target, the kernels are dumped as they were before their
schedules, with the steps to do (`--dump-after=kernels`); `gcc2nn opt --replay --emit-c` applies the steps to that text
and prints C. Its bytes must be those of the kernels that compiling the model wrote. That the comparison can fail is
tried too: with one step left out, the bytes differ, or a later step is refused. And is the text of the program after its
last pass (`--dump-after=parallel`) all that is printed? Read again, it must give the same bytes.

    replay.py [NAME...]     (default: small ones; --all: larger ones too)

Exit status: 0, 1 failed, 77 not run.
"""
import glob
import os
import re
import shutil
import sys
import tempfile

import check_output
import run_models
from modelset import arguments, finish, missing, prepared

SMALL = ("cifar10_resnet_2b", "lstm_tagger", "mnist_float16")   # plain; sizes known in the run only; half precision
LARGE = ("resnet50", "mobilenet_v2", "bert_base", "yolox_nano", "silero_vad")
TARGETS = ("x86-avx2", "x86-avx512", "c99", "aarch64", "cuda")
OPTIONS = ["--name", "model"]


def written(folder):
    """The files of kernels, in order: model_kernels.c, or model_kernels1.c, model_kernels2.c ..."""
    files = glob.glob(os.path.join(glob.escape(folder), "model_kernels*.c")) \
        + glob.glob(os.path.join(glob.escape(folder), "model_kernels*.cu"))
    files.sort(key=lambda f: int(re.search(r"(\d*)\.cu?$", f)[1] or 0))
    text = b""
    for file in files:
        with open(file, "rb") as f:
            text += f.read()
    return text


def first_difference(a, b):
    lines = zip(a.split(b"\n"), b.split(b"\n"))
    for number, (x, y) in enumerate(lines, 1):
        if x != y:
            return f"line {number}: {x.decode()[:100]!r}, replayed: {y.decode()[:100]!r}"
    return f"{len(a)} bytes, replayed: {len(b)}"


def replayed(args, text, options, top):
    path = os.path.join(top, "kernels.lir")
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return check_output.command([args.gcc2nn, "opt", path, "--emit-c", *options], args, top).encode()


def check(args, model, target, top):
    options = [*OPTIONS, "--target", target]
    folder = os.path.join(top, "written")
    shutil.rmtree(folder, ignore_errors=True)
    check_output.command([args.gcc2nn, model, "--out", folder, *options], args, top)
    text = check_output.command([args.gcc2nn, model, "--dump-after=kernels", "--stop-after=reuse", *options], args, top)
    own = written(folder)
    again = replayed(args, text, ["--replay", *options], top)
    steps = re.findall(r"^  todo .*\n", text, re.M)
    if own != again:
        raise check_output.Failed(f"other C: {first_difference(own, again)}")
    if not own or not steps:
        raise check_output.Failed("there are no steps")
    left_out = next(s for s in steps if s.split()[1] in ("kind", "border", "split"))
    try:
        same = replayed(args, text.replace(left_out, "", 1), ["--replay", *options], top) == own
    except check_output.Failed:
        same = False            # a later step needed it
    if same:
        raise check_output.Failed(f"the same C without a step: {left_out.strip()}")
    printed = check_output.command([args.gcc2nn, model, "--dump-after=parallel", "--stop-after=parallel", *options], args, top)
    again = replayed(args, printed, options, top)
    if own != again:
        raise check_output.Failed(f"other C from the text after the last pass: {first_difference(own, again)}")
    return len(steps), len(own)


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true", help=f"also {', '.join(LARGE)}")
    parser.add_argument("--target", action="append", help=f"default: {', '.join(TARGETS)}")
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each step (%(default).0f)")
    args = parser.parse_args()
    names = args.names or [*SMALL, *(LARGE if args.all else ())]
    verdicts = []
    if missing(args):
        finish(args, [], missing(args))
    for name in names:
        model, why = prepared(name)
        if why:
            print(f"{name}: skipped: {why}")
            verdicts.append("skip")
            continue
        for target in args.target or TARGETS:
            with tempfile.TemporaryDirectory(prefix="replay-") as top:
                try:
                    steps, size = check(args, model, target, top)
                    print(f"{name} {target}: {steps} steps, {size} bytes of C: the same")
                    verdicts.append("ok")
                except (check_output.Failed, run_models.Broken) as e:
                    print(f"{name} {target}: FAILED: {e}")
                    verdicts.append("FAIL")
            sys.stdout.flush()
    finish(args, verdicts)


if __name__ == "__main__":
    main()
