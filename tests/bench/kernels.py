#!/usr/bin/env python3
"""Printed kernels against hand-made code for the same shapes, in one program, by turns.

    kernels.py [--target T] [--seconds S] [--cpu N] [--json] [--steps FILE] [SHAPE ...]

For each shape the best of a few hand-made candidates (handmade.py) is found first; then both run by turns, on the same
data, and the medians and the median of the ratios of neighbouring calls are printed: 1 is as fast, 2 twice as fast.
Results are compared element by element. With --steps the kernel is scheduled by that file instead of by the target's
own heuristics. Exit status 1: a result is wrong, or with --least R a ratio is below R.
"""
import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import handmade

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.append(os.path.join(ROOT, "tests", "models"))
from run_models import host_target          # noqa: E402

# convolutions: channels in, height = width, channels out, window, stride; gemm: M, K, N
SHAPES = {
    "conv1x1_56_64_256": ("conv", (64, 56, 256, 1, 1)),
    "conv1x1_56_256_64": ("conv", (256, 56, 64, 1, 1)),
    "conv1x1_28_512_128": ("conv", (512, 28, 128, 1, 1)),
    "conv1x1_14_256_1024": ("conv", (256, 14, 1024, 1, 1)),
    "conv1x1_7_2048_512": ("conv", (2048, 7, 512, 1, 1)),
    "conv3x3_56_64": ("conv", (64, 56, 64, 3, 1)),
    "conv3x3_28_128": ("conv", (128, 28, 128, 3, 1)),
    "conv3x3_14_256": ("conv", (256, 14, 256, 3, 1)),
    "conv3x3_7_512": ("conv", (512, 7, 512, 3, 1)),
    "conv3x3s2_56_128": ("conv", (128, 56, 128, 3, 2)),
    "gemm_128_768_768": ("gemm", (128, 768, 768)),
    "gemm_128_768_3072": ("gemm", (128, 768, 3072)),
    "gemm_128_3072_768": ("gemm", (128, 3072, 768)),
}
LANES = {"x86-avx2": 8, "x86-avx512": 16}


def best_target():
    target = host_target()
    if target not in LANES:
        sys.exit("kernels.py: the hand-made code needs AVX2 or AVX-512")
    return target


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"kernels.py: {' '.join(command)}:\n{done.stdout}{done.stderr}")
    return done.stdout


def out_size(shape):
    _, h, _, k, s = shape
    return (h + 2 * (k // 2) - k) // s + 1


def definition(kind, shape, vl):
    """The kernel as loop IR before scheduling, and the layouts that a model would give its parameters."""
    if kind == "gemm":
        m, k, n = shape
        return (f"kernel proc k(x: f32[{m},{k}] in, w: f32[{k},{n}] in, b: f32[{n}] in, y: f32[{m},{n}] out)\n"
                f"  alloc acc: f32[{m},{n}] arena\n"
                f"  stage acc[m<{m}, n<{n}] reduce + [k<{k}] = x[m,k] * w[k,n]\n"
                f"  stage y[m<{m}, n<{n}] = acc[m,n] + b[n]\n", ["w=const"])
    ic, h, oc, k, s = shape
    o, p = out_size(shape), k // 2
    at = [f"{v}{f'*{s}' if s > 1 else ''} + {r} - {p}" for v, r in (("oh", "kh"), ("ow", "kw"))]
    fill = " else 0.0" if p else ""
    text = (f"kernel proc k(x: f32[1,{ic},{h},{h}] in, w: f32[{oc},{ic},{k},{k}] in, b: f32[{oc}] in, "
            f"y: f32[1,{oc},{o},{o}] out)\n  alloc acc: f32[1,{oc},{o},{o}] arena\n"
            f"  stage acc[n<1, oc<{oc}, oh<{o}, ow<{o}] reduce + [ic<{ic}, kh<{k}, kw<{k}] init b[oc] = "
            f"x[n,ic,{at[0]},{at[1]}{fill}] * w[oc,ic,kh,kw]\n"
            f"  stage y[n<1, oc<{oc}, oh<{o}, ow<{o}] = max(acc[n,oc,oh,ow], 0.0)\n")
    halo = f"+{p},{p}" if p else ""
    return text, ["w=const", f"x=[0 1/{vl} 2{halo} 3{halo} 1%{vl}]", f"y=[0 1/{vl} 2 3 1%{vl}]"]


def printed(name, kind, shape, args, folder):
    """Our kernel as a C file with an external function; its panel of weights in vectors, and the steps of the sum after
    which the next chunk of all panels follows."""
    vl = LANES[args.target]
    text, layouts = definition(kind, shape, vl)
    lir = os.path.join(folder, name + ".lir")
    with open(lir, "w", encoding="utf-8") as f:
        f.write(text)
    how = ["--fma", "--steps", args.steps] if args.steps else ["--schedule"] + [w for a in layouts for w in ("--layout", a)]
    c = run(os.path.join(args.build, "tests/lir_check"), lir, "--target", args.target, "--print", *how)
    packed = [int(v) for v in re.search(r"\*   w: f32\[([^]]*)\]", c).group(1).split(",")]
    scratch = ", 0" if "restrict ws" in c else ""
    if scratch:
        c += "\n#error the kernel wants scratch memory\n"
    c += (f"\nvoid ours_{name}(const float *x, const float *w, const float *b, float *y);\n"
          f"void ours_{name}(const float *x, const float *w, const float *b, float *y) {{\n    k(x, w, b, y{scratch});\n}}\n")
    path = os.path.join(folder, name + ".c")
    with open(path, "w", encoding="utf-8") as f:
        f.write(c)
    chunked = len(packed) > (3 if kind == "gemm" else 6)    # a chunk of every panel, then the next of each
    chunk = math.prod(packed[2 if chunked else 1:-1])
    return path, packed[-1] // vl, chunk


MAIN = r"""
#define _POSIX_C_SOURCE 200809L
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
typedef void (*kernel)(const float *x, const float *w, const float *b, float *y);
static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double timed(kernel f, const float *x, const float *w, const float *b, float *y) {
    const double start = now();
    f(x, w, b, y);
    return now() - start;
}
static int up(const void *a, const void *b) {
    const double p = *(const double *)a, q = *(const double *)b;
    return (p > q) - (p < q);
}
static float *floats(size_t n) {
    float *p = aligned_alloc(64, (n * sizeof *p + 127) / 64 * 64);
    if (!p) exit(2);
    for (size_t i = 0; i < n; i++) p[i] = 0;
    return p;
}
static float made_up(size_t i) { return (float)((i * 2654435761u >> 9) % 2001) / 1000.0f - 1.0f; }
/* w[K][N] -> [K/chunk][N/nv][chunk][nv]; for a convolution K is [ic/vl][kh][kw][vl] */
static float *pack(size_t k, size_t n, size_t nv, size_t chunk) {
    const size_t panels = (n + nv - 1) / nv;
    float *p = floats(k * panels * nv);
    for (size_t i = 0; i < k; i++)
        for (size_t j = 0; j < n; j++)
            p[((i / chunk * panels + j / nv) * chunk + i % chunk) * nv + j % nv] = made_up(i * n + j) * 0.1f;
    return p;
}
struct shape { const char *name; size_t nx, ny, k, n, chunk; int c, h, pad, vl, nr; double flops; kernel ours; int nhand; const char *const *names; const int *nrs; const kernel *hand; };
static int bench(const struct shape *s, double seconds) {
    float *x = floats(s->nx), *b = floats(s->n), *y = floats(s->ny), *z = floats(s->ny), *w = pack(s->k, s->n, (size_t)(s->nr * s->vl), s->chunk);
    for (size_t i = 0; i < s->nx; i++) {
        const size_t row = i / (size_t)s->vl, h = (size_t)(s->h + 2 * s->pad), c = row % h, r = row / h % h, p = (size_t)s->pad;
        x[i] = p && (c < p || r < p || c >= h - p || r >= h - p) ? 0 : made_up(i);
    }
    for (size_t i = 0; i < s->n; i++) b[i] = made_up(i + 7);
    int best = 0;
    double least = 1e9;
    float *wb = NULL;
    for (int k = 0; k < s->nhand; k++) {
        float *wk = pack(s->k, s->n, (size_t)(s->nrs[k] * s->vl), s->k);
        double t = 1e9;
        for (int r = 0; r < 6; r++) {
            const double u = timed(s->hand[k], x, wk, b, z);
            if (u < t) t = u;
        }
        if (t < least) {
            free(wb);
            least = t, best = k, wb = wk;
        } else free(wk);
    }
    enum { MOST = 4000 };
    static double ours[MOST], hand[MOST], ratio[MOST];
    int n = 0;
    for (const double end = now() + seconds; n < MOST && (n < 9 || now() < end); n++) {
        hand[n] = timed(s->hand[best], x, wb, b, z);
        ours[n] = timed(s->ours, x, w, b, y);
        ratio[n] = hand[n] / ours[n];
    }
    double worst = 0;
    for (size_t i = 0; i < s->ny; i++) {
        const double d = fabs((double)y[i] - (double)z[i]) / (1 + fabs((double)z[i]));
        if (!(d <= worst)) worst = d;
    }
    qsort(ours, (size_t)n, sizeof *ours, up), qsort(hand, (size_t)n, sizeof *hand, up), qsort(ratio, (size_t)n, sizeof *ratio, up);
    printf("%s %s %.6f %.6f %.4f %.4f %.4f %d %.2f %.2e\n", s->name, s->names[best], ours[n / 2] * 1e3, hand[n / 2] * 1e3, ratio[n / 2], ratio[n / 4], ratio[3 * n / 4], n, s->flops / ours[n / 2] / 1e9, worst);
    fflush(stdout);
    free(x), free(b), free(y), free(z), free(w), free(wb);
    return worst <= 1e-4;
}
"""


def program(names, args, folder):
    vl = LANES[args.target]
    cfiles, hand, table = [], [handmade.HEAD], []
    for name in names:
        kind, shape = SHAPES[name]
        path, nr, chunk = printed(name, kind, shape, args, folder)
        cfiles.append(path)
        tried = handmade.candidates(kind, vl, shape)
        for label, _, text in tried:
            hand.append(text(f"hand_{name}_{label}"))
        functions = [f"hand_{name}_{label}" for label, _, _ in tried]
        if kind == "gemm":
            m, k, n = shape
            numbers = (m * k, m * n, k, n, chunk, m, 1, 0)
            flops = 2.0 * m * k * n
        else:
            ic, h, oc, k, _ = shape
            o, p = out_size(shape), k // 2
            numbers = (ic * (h + 2 * p) ** 2, oc * o * o, ic * k * k, oc, chunk, ic, h, p)
            flops = 2.0 * oc * o * o * ic * k * k
        args4 = "(const float *, const float *, const float *, float *);"
        table.append((f"extern void ours_{name}{args4}\n" + "".join(f"extern void {f}{args4}\n" for f in functions) +
                      f"static const char *const names_{name}[] = {{{', '.join(chr(34) + t[0] + chr(34) for t in tried)}}};\n"
                      f"static const int nrs_{name}[] = {{{', '.join(str(t[1]) for t in tried)}}};\n"
                      f"static const kernel hand_{name}[] = {{{', '.join(functions)}}};\n",
                      f'{{"{name}", {", ".join(map(str, numbers))}, {vl}, {nr}, {flops}, ours_{name}, {len(tried)}, '
                      f"names_{name}, nrs_{name}, hand_{name}}}"))
    with open(os.path.join(folder, "hand.c"), "w", encoding="utf-8") as f:
        f.write("\n".join(hand))
    with open(os.path.join(folder, "main.c"), "w", encoding="utf-8") as f:
        f.write(MAIN + "".join(t[0] for t in table) + "int main(int argc, char **argv) {\n    int ok = 1;\n"
                "    const struct shape shapes[] = {" + ",\n        ".join(t[1] for t in table) + "};\n"
                "    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) ok &= bench(&shapes[i], argc > 1 ? atof(argv[1]) : 1);\n"
                "    return ok ? 0 : 1;\n}\n")
    flags = {"x86-avx2": ["-mavx2", "-mfma", "-mf16c"],
             "x86-avx512": ["-mavx512f", "-mavx512bw", "-mavx512dq", "-mavx512vl", "-mfma", "-mf16c",
                            "-mprefer-vector-width=512"]}[args.target]
    exe = os.path.join(folder, "kernels")
    run(args.cc, "-O2", "-std=gnu99", "-ffp-contract=off", *flags, f"-DVL={vl}", "-o", exe,
        os.path.join(folder, "main.c"), os.path.join(folder, "hand.c"), *cfiles, "-lm")
    return exe


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("shapes", nargs="*", metavar="SHAPE", help=f"some of: {' '.join(SHAPES)}; or the start of names")
    p.add_argument("--target", default=None, choices=sorted(LANES), help="default: the best that this machine runs")
    p.add_argument("--build", default=os.path.join(ROOT, "builddir"), help="build folder")
    p.add_argument("--cc", default="gcc")
    p.add_argument("--seconds", type=float, default=0.7, help="time for each shape")
    p.add_argument("--steps", help="file of schedule steps")
    p.add_argument("--least", type=float, help="fail when a ratio is below this")
    p.add_argument("--cpu", type=int, default=max(os.sched_getaffinity(0)), help="CPU to stay on")
    p.add_argument("--exe", help="only build the program there; it takes the seconds for each shape")
    p.add_argument("--json", action="store_true")
    args = p.parse_args()
    args.target = args.target or best_target()
    names = [n for n in SHAPES if not args.shapes or any(n.startswith(s) for s in args.shapes)]
    if not names:
        p.error("no such shape")
    os.sched_setaffinity(0, {args.cpu})
    results, failed = [], False
    with tempfile.TemporaryDirectory(prefix="nn-kernels-") as folder:
        exe = program(names, args, folder)
        if args.exe:
            os.replace(exe, args.exe)
            return 0
        done = subprocess.run([exe, str(args.seconds)], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        w = line.split()
        r = {"shape": w[0], "target": args.target, "hand": w[1], "ms": float(w[2]), "hand_ms": float(w[3]),
             "ratio": float(w[4]), "ratio_quartiles": [float(w[5]), float(w[6])], "pairs": int(w[7]),
             "gflops": float(w[8]), "difference": float(w[9])}
        results.append(r)
        failed |= args.least is not None and r["ratio"] < args.least
        if not args.json:
            print(f"{w[0]:22} ours {r['ms']:8.4f} ms {r['gflops']:6.1f} GF/s, hand {w[1]:14} {r['hand_ms']:8.4f} ms, "
                  f"ratio {r['ratio']:.3f} ({w[5]} .. {w[6]}, {w[7]} pairs)")
    if args.json:
        json.dump(results, sys.stdout, indent=1)
        print()
    if done.returncode:
        print(done.stderr or "kernels.py: results differ", file=sys.stderr)
    return 1 if failed or done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())
