#!/usr/bin/env python3
"""Kernels that end in plain loops although they are contractions, windows, rows, maps or moves, with the reason that the
strategy for them gives (--dump-after=choices); and, of GPUs, whatever is launched in one thread although it stores more
than 256 cells, or an open number (--dump-after=grids). Kernels of no more cells than a vector has do not count: there
is nothing to gain. plain.tsv lists how many there are for each model, target, class and reason; the list may only shrink.

    plain.py [--gcc2nn PATH] [--json FILE] [--write] [--all] [NAME...]
                                    these models, all, or one of each kind; --write makes the list

Prints what is not as listed. Exit status: 0, 1 if a kernel more ends so, or one less and the list was not made shorter, 77 if
no model is there.
"""
import collections
import math
import os
import re
import subprocess

from modelset import ROOT, arguments, finish, finish_counted, missing, index, prepared

LIST = os.path.join(ROOT, "tests", "models", "plain.tsv")
MODELS = ["mnist_cntk", "cifar10_resnet_2b", "yolox_nano", "ppocr_det_v4", "silero_vad", "gtcrn_stream", "byte_bidi_lstm",
          "tract_qtdnn", "light_squeezenet", "mnist_float16", "lgbm_ankane", "sk_randomforest", "cf_gru_greedy_loop",
          "ultraface_rfb_320", "yunet_n_320", "light_shufflenet", "osf_lm_model0", "mscn_128d"]
MOST_CELLS = 256     # that one thread of a GPU may store
TARGETS = {"x86-avx512": 16, "aarch64": 4, "cuda": 32}     # cells of f32 that a vector, or a warp, has
KERNEL = re.compile(r"^\S.*: (contraction|window|rows|map|move|text)\b")
CHOICE = re.compile(r"^  (contraction|window|transform|panels|blocked map|rows|pieces|pointwise|nests|product|few results|cells|grids of loops|plain loops)(?:: (.*))?$")
# Whose refusal tells most, for each class; the first that was asked counts.
ASKED = {"contraction": ["contraction", "few results"], "window": ["window", "cells"], "rows": ["rows", "cells"],
         "map": ["pointwise", "cells"], "move": ["pointwise", "grids of loops", "nests", "cells"],
         "text": ["grids of loops", "nests"]}
NEST = re.compile(r"^  (?:axes|for) .*?<")
EXTENT = re.compile(r"\w+<(?:(\d+)(?![^ ;:])|)")
HEAD = re.compile(r"^(?:entry |kernel )*proc (.+?)\(")
SIZES = re.compile(r"\) \[(.*)\]$")
CALL = re.compile(r"^call (\S+?)\((.*)\)(?: @ .*)?$")
LAUNCHED = re.compile(r"(\S+?)(?:_grid|_part\d+)$")
LOOP = re.compile(r"^(?:for \S+?<|while .* max )(.*?)(?: (?:gpu\.|unroll|vector|independent|assumed).*|  #.*)?$")
GUARD = re.compile(r"^if block\*\d+\+thread\S* < (.*)$")     # of a grid whose last block has threads to spare
STORE = re.compile(r"(\S+?)\[.*\] \S*= ")
OWN = re.compile(r"alloc (\S+): .* stack$")     # a thread's variables are no cells
OPEN = (1 << 40) - 1     # a size that nobody knows
FUNCTIONS = {"min": min, "max": max, "toidx": lambda _: OPEN, "idx": lambda value: value, "guard": lambda _, n: n - 1,
             "select": lambda _, a, b: max(a, b)}


def general(reason):
    """Without the names and numbers of one kernel."""
    reason = re.sub(r"^scheduling: procedure \S+, `[^`]*`: (?:index \d+ of \S+: .* (?=may be)|)", "the result is not legal: an index ", reason)
    reason = re.sub(r"an index (?=iterations)|: y\[.*", "", reason)
    return re.sub(r"\d+", "N", re.sub(r"`[^`]*`|\bk\d+_\w+", "..", reason))


def cells_of(nest):
    """How many turns "for i0<2 i1<3: .." or "axes c0<2; sums k0<3" has; an open extent has any number."""
    return math.prod(int(n) if n else math.inf for n in EXTENT.findall(nest.split(": ")[0]))


def plain_kernels(text, few):
    """{kernel: (class, reason)} of those in plain loops that have more than a few cells."""
    found, name, kind, cells, reasons, refused, last, serial = {}, "", "", 1, {}, {}, "", False
    for line in text.split("\n"):
        kernel, choice = KERNEL.match(line), CHOICE.match(line)
        if kernel:
            name, kind, cells, reasons, refused = line.partition(":")[0], kernel[1], 1, {}, {}
        elif NEST.match(line):
            cells = max(cells, cells_of(line))
        elif choice:
            last = choice[1]
            serial = last == "plain loops" or (choice[2] == "without lanes" and kind in ("contraction", "window"))
            reasons.setdefault(last, choice[2] or "")
        elif line.startswith("    refused: "):
            refused.setdefault(last, general(line[len("    refused: "):]))
        elif line == "    taken" and serial and cells > few:
            found[name] = kind, next(({**reasons, **refused}[s] for s in ASKED[kind] if s in reasons), "")
    return found


class Sizes(dict):
    """Of a procedure, for one call of it. Other names there are loop variables: 0, where a triangle is widest; functions;
    and, in the entry, sizes that are OPEN."""

    def __init__(self, known, other=0):
        super().__init__(known)
        self.other = other

    def __missing__(self, name):
        return FUNCTIONS.get(name, self.other)

    def of(self, expressions):
        """The values of expressions with commas between."""
        plain = re.sub(r'"[^"]*"', "unknown", re.sub(r"\b(\d+)[iu]\d+\b", r"\1", expressions))
        return eval(f"({plain},)", {"__builtins__": {}}, self)


class Procedure:
    """What a line of a dump after grids says of it. turns: of its launch, an expression; "": many; None: it is not
    launched. stores: for each one the extents of the loops around it, but those over blocks and threads."""

    def __init__(self):
        self.sizes, self.turns, self.stores, self.calls = [], None, [], []
        self.around, self.own = [], set()

    def line(self, depth, line):
        self.around = [a for a in self.around if a[0] < depth]
        loop, store, call = LOOP.match(line), STORE.match(line), CALL.match(line)
        if SIZES.search(line) and not loop:
            self.sizes = [size.split(" in ")[0] for size in SIZES.search(line)[1].split(", ")]
        if line.startswith("launch"):
            self.turns = "1" if line == "launch" else ""
        elif self.turns == "" and GUARD.match(line) and not self.stores:
            self.turns = GUARD.match(line)[1]
        elif loop and " gpu." not in line:
            self.around.append((depth, loop[1]))
        elif OWN.match(line):
            self.own.add(OWN.match(line)[1])
        elif call:
            self.calls.append((call[1], call[2].partition("; ")[2]))
        elif store and store[1] not in self.own:
            self.stores.append([n for _, n in self.around])

    def is_one_thread(self, sizes):
        return bool(self.turns) and sizes.of(self.turns)[0] <= 1

    def cells(self, sizes):
        return sum(math.prod(sizes.of(n)[0] for n in loops) for loops in self.stores)


def one_thread(text):
    """The kernels of which one thread stores more than MOST_CELLS cells, where no other has any."""
    procedures, found, seen = {}, set(), set()
    p = None
    for line in text.split("\n"):
        if HEAD.match(line):
            p = procedures.setdefault(HEAD.match(line)[1], Procedure())
        if p:
            p.line(len(line) - len(line.lstrip()), line.strip())

    def run(name, sizes):
        p = procedures[name]
        if p.is_one_thread(sizes) and p.cells(sizes) > MOST_CELLS:
            found.add(LAUNCHED.match(name)[1])
        for call in p.calls:
            callee, given = call[0], sizes.of(call[1]) if call[1] else ()
            if callee in procedures and (callee, given) not in seen:
                seen.add((callee, given))
                run(callee, Sizes(zip(procedures[callee].sizes, given)))

    run('"entry"', Sizes({}, OPEN))
    return found


def dump(program, model, target, what, last):
    done = subprocess.run([program, model, f"--target={target}", f"--dump-after={what}", f"--stop-after={last}"],
                          capture_output=True, text=True, errors="replace", check=False)
    return done.stdout


def choices(program, model, target):
    """{(class, reason): how many kernels}"""
    plain = plain_kernels(dump(program, model, target, "choices", "lower"), TARGETS[target])
    found = collections.Counter(why for why in plain.values() if why[0] != "text")
    if target == "cuda":
        for name in one_thread(dump(program, model, target, "grids", "grids")):
            found["one thread", plain.get(name, ("", "a part of it stays serial"))[1]] += 1
    return found


def main():
    p = arguments(__doc__)
    p.add_argument("--write", action="store_true")
    p.add_argument("--all", action="store_true")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    if missing(args):
        finish(args, [], missing(args))
    names = args.names or (list(index()) if args.all else MODELS)
    found, there = {}, set()
    for name in names:
        path, why = prepared(name)
        if why:
            continue
        there.add(name)
        for target in TARGETS:
            for (kind, reason), n in choices(args.gcc2nn, path, target).items():
                found[name, target, kind, reason] = n
    finish_counted(args, LIST, ["model", "target", "class", "reason", "kernels"], names, there, found,
                   lambda key, n, listed: f"{' '.join(key[:3])}: {n} in plain loops, {listed} listed: {key[3]}")


if __name__ == "__main__":
    main()
