#!/usr/bin/env python3
"""random_steps.py [--seed S] [--count N] [--targets T ...] [--keep DIR]

Draws small kernels of every element type, applies schedule steps drawn at random, and checks twice: the kernel after its
steps computes what the stages compute (both interpreted, lir_same), and the C that is printed for it computes what the
interpreter computes, bit for bit (lir_check, other sizes and special values included). Steps that `gcc2nn opt` refuses
are left out. What a kernel is depends on its seed alone. Last line: N passed, N failed, N skipped
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(ROOT, "tests", "models"))
from run_models import cpu_flags        # noqa: E402
VALUE = {"bool": "bool", "i8": "i32", "u8": "i32", "i16": "i32", "u16": "i32", "i32": "i32", "u32": "u32", "i64": "i64",
         "u64": "u64", "f16": "f32", "bf16": "f32", "f32": "f32", "f64": "f64", "f8e4m3fn": "f32", "f8e4m3fnuz": "f32",
         "f8e5m2": "f32", "f8e5m2fnuz": "f32", "f8e8m0": "f32", "f4e2m1": "f32", "u4": "i32", "i4": "i32", "u2": "i32",
         "i2": "i32"}
TARGETS = {"c99": None, "x86-64": None, "x86-avx2": "avx2", "x86-avxvnni": "avx_vnni", "x86-avx512": "avx512bw",
           "x86-avx512vnni": "avx512_vnni", "x86-avx512bf16": "avx512_bf16", "x86-amx": "amx_int8",
           "aarch64": "aarch64-linux-gnu-gcc qemu-aarch64",
           "aarch64-dotprod": "aarch64-linux-gnu-gcc qemu-aarch64",
           "aarch64-i8mm": "aarch64-linux-gnu-gcc qemu-aarch64", "riscv64": "riscv64-linux-gnu-gcc qemu-riscv64",
           "cuda": "g++"}       # Cortex-M prints what riscv64 does: scalars, with fma
ROWS = ["vpmaddwd", "vpdpbusd_vex", "vpdpbusd", "sdot", "udot", "usdot", "sudot"]
EXTENTS = [1, 2, 3, 4, 5, 7, 8, 8, 9, 12, 16, 16, 17, 20, 32]


class Died(Exception):
    """gcc2nn neither applied a step nor refused it."""


class Kernel:
    """The text of one procedure `pN`, drawn."""

    def __init__(self, r, name, cuda):
        self.r, self.name, self.cuda = r, name, cuda
        self.params, self.lines, self.syms = [], [], {}
        r.choice([self.maps, self.maps, self.reduction, self.product, self.product, self.window, self.row, self.move,
                  self.nest])()
        syms = ", ".join(f"{s} in {lo}..{hi}" for s, (lo, hi) in self.syms.items())
        self.text = f"proc {name}({', '.join(self.params)})" + (f" [{syms}]" if syms else "") + "\n" + \
            "".join(f"  {line}\n" for line in self.lines)

    # ---- parts
    def type(self):
        """The usual ones half of the time."""
        return self.r.choice(["f32", "f16", "i8", "u8", "i32"] if self.r.random() < 0.5 else list(VALUE))

    def extent(self, symbolic=0.15):
        if self.r.random() < symbolic:
            name = f"S{len(self.syms)}"
            self.syms[name] = (self.r.choice([0, 1, 1, 4]), self.r.choice([16, 64]))
            return name
        return self.r.choice(EXTENTS)

    def shape(self, most=3):
        return [self.extent() for _ in range(self.r.randint(1, most))]

    def param(self, name, dtype, dims, way="in"):
        self.params.append(f"{name}: {dtype}[{','.join(map(str, dims))}] {way}")
        return name

    def scratch(self, name, dtype, dims):
        self.lines.append(f"alloc {name}: {dtype}[{','.join(map(str, dims))}] arena")
        return name

    def axes(self, names, dims):
        return ", ".join(f"{n}<{d}" for n, d in zip(names, dims))

    def const(self, v):
        if v == "bool":
            return self.r.choice(["true", "false"])
        n = self.r.choice([0, 1, 2, 3, 7, 100])
        return {"f32": f"{n / 2}", "f64": f"{n / 2}f64"}.get(v, f"{n}{v}")

    def cast(self, text, have, want):
        if have == want:
            return text
        if want == "bool":
            return f"({text} != {'0.0' if have == 'f32' else '0.0f64' if have == 'f64' else '0' + have})"
        return f"{want}({text})"

    def value(self, v, leaves, depth=2):
        """An expression of value type v; leaves: (text, value type), all used at least once where they fit."""
        r = self.r
        if depth == 0 or r.random() < 0.15:
            return self.cast(*r.choice(leaves), v) if r.random() < 0.85 else self.const(v)
        a, b = (self.value(v, leaves, depth - 1) for _ in range(2))
        if v == "bool":
            if r.random() < 0.4:
                c, d = (self.cast(*r.choice(leaves), "f32") for _ in range(2))
                return f"({c} {r.choice(['<', '<=', '==', '!='])} {d})"
            return r.choice([f"({a} and {b})", f"({a} or {b})", f"not({a})", f"xor({a}, {b})"])
        if v in ("f32", "f64"):
            one = [f"neg({a})", f"abs({a})", f"sqrt({a})", f"floor({a})", f"ceil({a})", f"trunc({a})", f"rint({a})"]
            if v == "f32":
                one += [f"round(f16, {a})", f"round(bf16, {a})", f"round(f8e4m3fn, {a})", f"f32(i32({a}))"]
            two = [f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"fma({a}, {b}, {self.const(v)})"]
        else:
            one = [f"neg({a})", f"abs({a})", f"not({a})", f"shl({a}, {r.randrange(8)}{v})",
                   f"shr({a}, {r.randrange(8)}{v})"]
            if v == "i32":
                one += [f"round(i8, {a})", f"round(u8, {a})", f"round(i16, {a})"]
            two = [f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / {b})", f"({a} % {b})", f"and({a}, {b})",
                   f"xor({a}, {b})"]
        two += [f"min({a}, {b})", f"max({a}, {b})", f"select({a} < {b}, {a}, {self.const(v)})"] * 2
        return r.choice(one) if r.random() < 0.3 else r.choice(two)

    # ---- kernels
    def operands(self, n, names, dims):
        """Loads of new parameters at [names], some broadcast, shifted or transposed: (text, value type)."""
        leaves = []
        for k in range(n):
            t, name = self.type(), f"x{len(self.params)}"
            keep = [j for j in range(len(dims)) if self.r.random() < 0.8]
            fill = ""
            shift = self.r.choice([-1, 1, 2]) if keep and self.r.random() < 0.2 else 0
            if self.r.random() < 0.2:
                self.r.shuffle(keep)
            self.param(name, t, [dims[j] for j in keep])
            index = [names[j] for j in keep]
            if shift:
                index[-1] += f"{shift:+d}"
                fill = " else " + {"bool": "false", "f32": "0.5", "f64": "0.0f64"}.get(VALUE[t], f"3{VALUE[t]}")
            leaves.append((f"{name}[{','.join(index)}{fill}]", VALUE[t]))
        return leaves

    def maps(self):
        dims = self.shape()
        names = ["i", "j", "k"][:len(dims)]
        leaves = self.operands(self.r.randint(1, 3), names, dims)
        for n in range(self.r.randint(1, 3)):
            t = self.type()
            if self.r.random() < 0.6:
                self.scratch(f"t{n}", t, dims)
                self.stage(f"t{n}", names, dims, self.value(VALUE[t], leaves))
                leaves.append((f"t{n}[{','.join(names)}]", VALUE[t]))
            else:
                self.param(f"y{n}", t, dims, "out")
                self.stage(f"y{n}", names, dims, self.value(VALUE[t], leaves))
        self.result(names, dims, leaves[-2:])

    def stage(self, buf, names, dims, value, reduce=""):
        self.lines.append(f"stage {buf}[{self.axes(names, dims)}]{reduce} = {value}")

    def result(self, names, dims, leaves):
        t = self.type()
        self.param("y", t, dims, "out")
        self.stage("y", names, dims, self.value(VALUE[t], leaves))

    def op(self, v):
        return self.r.choice(["and", "or"] if v == "bool" else ["+", "+", "+", "*", "max", "min"] + (["nmax", "nmin"] if v in ("f32", "f64") else []))

    def reduction(self):
        dims, red = self.shape(2), [self.extent() for _ in range(self.r.randint(1, 2))]
        names, rn = ["i", "j"][:len(dims)], ["p", "q"][:len(red)]
        order = list(zip(names + rn, dims + red))
        self.r.shuffle(order)
        leaves = self.operands(self.r.randint(1, 2), [n for n, _ in order], [d for _, d in order])
        t = self.type()
        v = VALUE[t]
        direct = self.r.random() < 0.3
        if direct:
            self.param("y", t, dims, "out")
        buf = "y" if direct else self.scratch("acc", t, dims)
        init = f" init {self.const(v)}" if self.r.random() < 0.4 else ""
        self.stage(buf, names, dims, self.value(v, leaves, 1), f" reduce {self.op(v)} [{self.axes(rn, red)}]{init}")
        if not direct:
            self.result(names, dims, [(f"acc[{','.join(names)}]", v)])

    def product(self):
        """Also of bytes with zero points, into wider sums."""
        a, b = self.r.choice([("f32", "f32"), ("f16", "f16"), ("bf16", "bf16"), ("f32", "f16"), ("f64", "f64"), ("u8", "i8"),
                              ("i8", "i8"), ("u8", "u8"), ("i16", "i16"), ("i64", "i64"), ("i4", "i8"), ("f32", "i8")])
        v = "f32" if "f32" in (VALUE[a], VALUE[b]) else VALUE[a]
        m, n, k = self.extent(), self.extent(), self.extent(0.1)
        turned = self.r.random() < 0.4
        self.param("x", a, [m, k])
        self.param("w", b, [n, k] if turned else [k, n])
        x, w = self.cast("x[i,p]", VALUE[a], v), self.cast("w[j,p]" if turned else "w[p,j]", VALUE[b], v)
        if v == "i32" and self.r.random() < 0.4:
            x = f"({x} - {self.r.randrange(256)}i32)"
        self.scratch("acc", v, [m, n])
        init = ""
        if self.r.random() < 0.5:
            self.param("b", v, [n])
            init = " init b[j]"
        self.stage("acc", ["i", "j"], [m, n], f"{x} * {w}", f" reduce + [{self.axes(['p'], [k])}]{init}")
        self.result(["i", "j"], [m, n], [("acc[i,j]", v)])

    def window(self):
        t = self.type()
        v = VALUE[t]
        ch, h, kernel, stride = self.extent(), self.r.choice([4, 5, 8, 9]), self.r.choice([1, 2, 3]), self.r.choice([1, 1, 2])
        pad = kernel // 2
        out = (h + 2 * pad - kernel) // stride + 1
        self.param("x", t, [ch, h, h])
        fill = {"bool": "false", "f32": "0.0", "f64": "-inf64"}.get(v, f"0{v}")
        load = f"x[c,{stride}*i+p-{pad},{stride}*j+q-{pad} else {fill}]" if pad or self.r.random() < 0.2 else \
            f"x[c,{stride}*i+p,{stride}*j+q]"
        if self.r.random() < 0.5 and v != "bool":
            self.param("w", t, [ch, kernel, kernel])
            load = f"{load} * w[c,p,q]"
        self.scratch("acc", t if self.r.random() < 0.5 else v, [ch, out, out])
        self.stage("acc", ["c", "i", "j"], [ch, out, out], load,
                   f" reduce {self.op(v)} [{self.axes(['p', 'q'], [kernel, kernel])}]")
        self.result(["c", "i", "j"], [ch, out, out], [("acc[c,i,j]", v)])

    def row(self):
        """A softmax or a norm."""
        t, v = self.r.choice([("f32", "f32"), ("f16", "f32"), ("f64", "f64"), ("bf16", "f32"), ("i32", "i32")])
        rows, cells = self.extent(), self.extent()
        self.param("x", t, [rows, cells])
        for name in ["m", "s"]:
            self.scratch(name, v, [rows])
        self.scratch("e", v, [rows, cells])
        self.lines.append(f"stage m[i<{rows}] reduce max [k<{cells}] = x[i,k]")
        self.stage("e", ["i", "k"], [rows, cells], self.value(v, [("x[i,k]", v), ("m[i]", v)], 1))
        self.lines.append(f"stage s[i<{rows}] reduce + [k<{cells}] = e[i,k]")
        self.result(["i", "k"], [rows, cells], [("e[i,k]", v), ("s[i]", v)])

    def move(self):
        t = self.type()
        a, b, rows = self.extent(0), self.extent(0), self.extent()
        self.param("x", t, [rows, a])
        self.param("z", t, [rows, b])
        self.param("y", t, [rows, a + b], "out")
        self.stage("y", ["i", "j"], [rows, a + b], f"select(j < {a}, x[i,j], z[i,j-{a}])")
        if self.r.random() < 0.5:
            self.param("u", t, [a, rows], "out")
            self.stage("u", ["j", "i"], [a, rows], "x[i,j]")
        if self.r.random() < 0.5:
            self.param("at", "i32", [rows])
            self.param("g", t, [rows, a], "out")
            self.stage("g", ["i", "j"], [rows, a], f"x[guard(toidx(min(max(at[i], 0i32), i32(idx({rows}-1)))), {rows}),j]")

    def nest(self):
        """Loops that were never stages, with a dependence."""
        t = self.r.choice([t for t in VALUE if t != "bool"])
        m, n = self.extent(0), self.extent(0)
        self.param("x", t, [m, n])
        self.param("y", t, [m, n], "out")
        op = self.r.choice(["+", "*"])
        self.lines += [f"for i<{m}", f"  for j<{n}",
                       f"    y[i,j] = x[i,j] {op} " + self.r.choice([f"select(0 < j, y[i,j-1 else {self.const(VALUE[t])}], {self.const(VALUE[t])})",
                                                                   self.const(VALUE[t])])]


class Steps:
    """Steps for one kernel, drawn from its printed text, which is read anew after each."""

    def __init__(self, r, gcc2nn, kernel, folder):
        self.r, self.gcc2nn, self.kernel, self.folder = r, gcc2nn, kernel, folder
        self.text, self.taken, self.fresh = kernel.text, [], 0

    def loops(self):
        """(indent, name, extent, kind) of each loop in the order of the text"""
        found = []
        for line in self.text.splitlines():
            m = re.match(r"( *)for (\w+)<(\S+)((?: (?!#)\S+)*)(?:  # (\S+))?$", line)
            if m:
                found.append((len(m[1]), m[5] or m[2], m[3], m[4].strip()))
        return found

    def buffers(self, allocated=False):
        return re.findall(r"alloc (\w+): \w+\[" if allocated else r"\b(\w+): \w+\[", self.text)

    def new(self):
        self.fresh += 1
        return f"n{self.fresh}"

    def draw(self):
        r, loops = self.r, self.loops()
        if not loops:       # stages, so far: any step on a loop makes nests of them
            stages = re.findall(r"stage (\w+)\[([^\]]*)\](?: reduce \S+ \[([^\]]*)\])?", self.text)
            loops = [(0, f"{b}.{a.split('<')[0].strip()}", a.split("<")[1], "") for b, axes, red in stages
                     for a in (axes + ("," + red if red else "")).split(",") if "<" in a]
        if not loops:
            return None
        at = r.randrange(len(loops))
        indent, loop, extent, _ = loops[at]
        inner = [x for x in loops[at + 1:at + 3] if x[0] > indent]
        what = r.choice(["split"] * 5 + ["kind"] * 5 + ["layout"] * 3 + ["compute_at"] * 3 + ["reorder"] * 2 + [
            "fuse", "cut", "cache_read", "cache_write", "rfactor", "carry", "join", "specialize", "widen", "pad", "skip", "inline", "inline",
            "prefetch", "pipeline", "tensorize", "grain", "outline", "scratch"])
        buf = r.choice(self.buffers())
        own = r.choice(self.buffers(True) or [buf])
        if what == "split":
            how = r.choice(["", "", " cut", " cut2", " guard", " overlap"])
            return f"split {loop} {r.choice([2, 3, 4, 4, 8, 8, 16])} {self.new()} {self.new()}{how}"
        if what == "kind":
            kinds = ["vector"] * 5 + ["unroll"] * 2 + ["parallel"] * 3 + ["serial"]
            if self.kernel.cuda:
                kinds += ["gpu.thread.x", "gpu.block.x", "gpu.thread.y", "gpu.block.y"] * 2
            return f"kind {r.choice(kinds)} {loop}"
        if what == "layout":
            rank = self.rank(buf)
            if not rank:
                return None
            dims = [str(k) for k in range(rank)]
            r.shuffle(dims)
            k = r.randrange(rank)
            if r.random() < 0.5:
                block = r.choice([2, 4, 8])
                dims = [f"{d}/{block}" if d == str(k) else d for d in dims] + [f"{k}%{block}"]
            elif r.random() < 0.4:
                dims = [f"{d}+1,1" if d == str(k) else d for d in dims]
            return f"layout {buf} [{' '.join(dims)}]" + (f" pad {r.randrange(len(dims))}:{r.choice([1, 3])}" * (r.random() < 0.15))
        if what == "compute_at":
            scope = r.choice(["", "", " reg", " stack", " arena"] + [" shared"] * self.kernel.cuda)
            return f"compute_at {own} {loop}{scope}"
        if what == "reorder":
            return "reorder " + " ".join(x[1] for x in r.sample(inner + [loops[at]], len(inner) + 1)) if inner else None
        if what == "fuse":
            return f"fuse {loop} {inner[0][1]} {self.new()}" if inner else None
        if what == "cut":
            return f"cut {loop} {r.choice([1, 2, -1, 4])}"
        if what == "cache_read":
            return f"cache_read {buf} {self.new()} {r.choice(self.buffers())}"
        if what == "cache_write":
            return f"cache_write {buf} {self.new()}"
        if what == "rfactor":
            return f"rfactor {own} {loop} {r.choice([2, 4, 8])} {self.new()}"
        if what == "carry":
            return f"carry {loop} {r.choice(loops)[1]} {own}"
        if what == "join":
            return f"join {loop} {r.choice(loops)[1]}"
        if what == "specialize":
            return f"specialize {loop} {r.choice(['1<#' + loop, '7<' + (extent if extent.isidentifier() else '#' + loop)])} {self.new()}"
        if what == "skip":
            return f"skip {loop}"
        if what in ("widen", "pad"):
            return f"{what} {loop} {r.choice([4, 8])}"
        if what == "inline":
            return f"inline {own}"
        if what == "prefetch":
            return f"prefetch {buf} {r.choice([16, 64, 128])} {loop} {r.choice(loops)[1]}"
        if what == "pipeline":
            return f"pipeline {loop} {own}"
        if what == "tensorize":
            return f"tensorize {r.choice(ROWS)}"
        if what == "grain":
            return f"grain {loop} {r.choice([1, 2, 5])}"
        if what == "outline":
            return f"outline {loop}"
        return f"scratch {own}"

    def rank(self, buf):
        m = re.search(rf"\b{re.escape(buf)}: \w+\[([^\]]*)\]", self.text)
        return len(m[1].split(",")) if m and m[1] else 0

    def opt(self, steps):
        path = os.path.join(self.folder, "draw.lir")
        with open(path, "w", encoding="ascii") as f:
            f.write(self.kernel.text)
        done = subprocess.run([self.gcc2nn, "opt", path, "--steps=" + "; ".join(steps)], capture_output=True, text=True,
                              timeout=60, check=False)
        if done.returncode not in (0, 3):
            raise Died(f"exit {done.returncode} of `opt --steps='{'; '.join(steps)}'`: {done.stderr.strip()[:300]}")
        return done.stdout if done.returncode == 0 else ""

    def apply(self, count):
        for _ in range(count):
            line = self.draw()
            after = self.opt(self.taken + [line]) if line else ""
            if after:
                self.text = after
                self.taken.append(line)
        # What is innermost becomes lanes: that is where printers go wrong.
        for _, loop, extent, kind in reversed(self.loops()):
            if not kind and extent.isdigit() and 1 < int(extent) <= 16 and self.r.random() < 0.5:
                after = self.opt(self.taken + [f"kind vector {loop}"])
                if after:
                    self.text = after
                    self.taken.append(f"kind vector {loop}")


def usable(target):
    """Whether this machine can compile and run code for the target."""
    needs = TARGETS[target]
    if needs is None:
        return True
    if needs.startswith(("avx", "amx")):
        return needs in cpu_flags()
    return all(shutil.which(tool) for tool in needs.split())


def spare_lanes(steps, said):
    """What widen and copies of padded blocks compute goes into lanes that nothing reads; they may take it from cells that
    nothing wrote, which the interpreter refuses to read."""
    return "undefined cell" in said and any(s.startswith(("widen", "cache_")) for s in steps.taken)


def reordered(steps):
    return any(s.startswith(("reorder", "rfactor", "carry")) for s in steps.taken)


def rounded_sums(kernel, steps, said):
    """Sums and products in cells of few bits are rounded at each step, even of small integers: in another order they are
    others. Cells of f16 hold the sums, but not the products."""
    narrow = (re.search(r"\b(bf16|f8\w+|f4\w+)\[", kernel.text) and re.search(r"reduce [+*]", kernel.text)
              or re.search(r"\bf16\[", kernel.text) and "reduce *" in kernel.text)
    return narrow and "differ" in said and reordered(steps)


def zeros_of_bounds(kernel, steps, said):
    """Which of two zeros is the greatest or least term is left to the order (docs/numbers.md N5)."""
    return "the sign of a zero" in said and re.search(r"reduce (max|min)", kernel.text) and reordered(steps)


def module(r, args, target, folder, base):
    """One file of kernels with their steps, as `opt` printed them; names of kernels that changed their results."""
    texts, wrong = [], []
    for k in range(args.together):
        kernel = Kernel(r, f"p{base + k}", target in ("cuda", "jetson"))
        steps = Steps(r, args.gcc2nn, kernel, folder)
        first = steps.opt([])
        if not first:
            raise AssertionError(f"a drawn kernel is no text: {kernel.text}")
        steps.apply(args.steps)
        before, after = os.path.join(folder, "before.lir"), os.path.join(folder, "after.lir")
        for path, text in ((before, first), (after, steps.text)):
            with open(path, "w", encoding="ascii") as f:
                f.write(text)
        scratch = any(s.startswith("scratch") for s in steps.taken)      # has one parameter more
        for size in () if scratch else (1, 7, 16) if kernel.syms else (1,):
            dims = [word for s, (lo, hi) in kernel.syms.items() for word in ("--dim", f"{s}={max(lo, min(hi, size))}")]
            done = subprocess.run([args.same, before, after, *dims], capture_output=True, text=True, timeout=120, check=False)
            said = done.stdout
            excused = spare_lanes(steps, said) or rounded_sums(kernel, steps, said) or zeros_of_bounds(kernel, steps, said)
            if done.returncode and not excused:
                wrong.append((kernel.name, f"steps `{'; '.join(steps.taken)}`: {said.strip()[:300]}"))
                texts.append(f"// {kernel.name}, steps: {'; '.join(steps.taken)}\n" + first)
                break
        else:
            texts.append(steps.text)
    return texts, wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=160, help="kernels for each target")
    parser.add_argument("--together", type=int, default=8, help="kernels in one program")
    parser.add_argument("--steps", type=int, default=14, help="steps to try for each")
    parser.add_argument("--targets", nargs="+", default=list(TARGETS))
    # A sum in a register whose every access has tests of its own: gcc does not see that they are the same ones.
    parser.add_argument("--flags", default="-O1 -Wno-maybe-uninitialized")
    parser.add_argument("--keep", metavar="DIR")
    parser.add_argument("--json", metavar="FILE")
    parser.add_argument("--builddir", default=os.path.join(ROOT, "builddir"))
    args = parser.parse_args()
    args.builddir = os.path.abspath(args.builddir)
    args.gcc2nn, args.same = os.path.join(args.builddir, "gcc2nn"), os.path.join(args.builddir, "tests", "lir_same")
    counts = {"passed": 0, "failed": 0, "skipped": 0}
    for target in args.targets:
        if not usable(target):
            print(f"SKIPPED {target}: needs {TARGETS[target]}")
            counts["skipped"] += 1
            continue
        for base in range(0, args.count, args.together):
            seed = args.seed * 1000003 + base
            r = random.Random(f"{target} {seed}")
            with tempfile.TemporaryDirectory(prefix="steps-") as folder:
                texts, wrong = module(r, args, target, folder, base)
                path = os.path.join(folder, "kernels.lir")
                with open(path, "w", encoding="ascii") as f:
                    f.write("\n".join(texts))
                compilers = [] if TARGETS[target] and " " in TARGETS[target] or target == "cuda" else ["--cc", "gcc"]
                done = subprocess.run([os.path.join(args.builddir, "tests", "lir_check"), path, "--target", target, "--each",
                                       "--flags", args.flags, *compilers], capture_output=True, text=True, timeout=600,
                                      check=False, cwd=os.path.join(ROOT, "tests", "compile"))
                bad = [x for x in done.stdout.splitlines() if re.match(r"p\d+: ", x) and "faults on all" not in x]
                for name, why in wrong:
                    print(f"{target} seed {args.seed} {name}: WRONG {why}")
                for line in bad or ([done.stderr[:500]] if done.returncode else []):
                    print(f"{target} seed {args.seed} {line}")
                failed = len({x.split(":")[0] for x in bad} | {n for n, _ in wrong}) or (1 if done.returncode else 0)
                counts["failed"] += failed
                counts["passed"] += len(texts) - failed
                if failed and args.keep:
                    shutil.copytree(folder, os.path.join(args.keep, f"{target}-{args.seed}-{base}"), dirs_exist_ok=True)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"summary": counts}, f)
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
