#!/usr/bin/env python3
"""Models whose kernels are shared by threads: the outputs have the same bits with one, two and three threads, and
ThreadSanitizer has nothing to report.

    parallel.py [NAME...]     (default: those of the table below)

Exit status: 0, 1 failed, 77 not run.
"""
import json

import check_output
from modelset import ROOT, arguments, finish, missing, prepared

# With sizes as numbers, and open with one to optimise for: kernels of every strategy.
SIZES = {
    "mlpt_resnet8": [],
    "yolox_nano": [],
    "ppocr_det_v4": ["p2o.DynamicDimension.0=1", "p2o.DynamicDimension.1=64", "p2o.DynamicDimension.2=96"],
    "lstm_tagger": ["batch=3", "seq=1..64@40"],
    "q_bert_tiny_qop": ["batch=1..8@2", "seq=1..64@33"],
}
SANITIZED = "gcc -g -fsanitize=thread"


def bench(args, model, sizes, threads, cc=None):
    words = [args.gcc2nn, "bench", model, f"--threads={threads}", "--runs=2", "--warmup=1", "--json",
             *[f"--dim={s}" for s in sizes], *([f"--cc={cc}"] if cc else [])]
    return json.loads(check_output.command(words, args, ROOT, ["TSAN_OPTIONS=halt_on_error=1"]))


def check(args, name):
    model, why = prepared(name)
    if why:
        print(f"{name:24} skip {why}")
        return "skip"
    sizes = SIZES.get(name, [])
    try:
        runs = [bench(args, model, sizes, n) for n in (1, 2, 3)] + [bench(args, model, sizes, 3, SANITIZED)]
    except check_output.Failed as e:
        print(f"{name:24} FAIL {e}")
        return "FAIL"
    why = "other bits" if len({r["checksum"] for r in runs}) > 1 else "" if runs[-1]["threads"] > 1 else "no loop is shared"
    print(f"{name:24} {'FAIL ' + why if why else 'ok'}")
    return "FAIL" if why else "ok"


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", default=list(SIZES))
    parser.add_argument("--timeout", type=float, default=600, help="seconds for each step (%(default).0f)")
    args = parser.parse_args()
    if missing(args):
        finish(args, [], missing(args))
    finish(args, [check(args, name) for name in args.names])


if __name__ == "__main__":
    main()
