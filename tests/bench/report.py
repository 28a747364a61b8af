#!/usr/bin/env python3
"""Writes docs/performance/TARGET.md, with plots: every model of the test set against both other runtimes, by turns, one thread.

    report.py [--measure FILE] [--out FILE.md] [the options of models.py] [MODEL...]

--measure FILE: what was measured is added to that file, and not measured again when it is there. f32 models are run as they
are, against both peers in f32, and so are those of 16-bit floats; where the target multiplies bf16 by an instruction, both
also with --precision=bf16, against OpenVINO's default there; and f32 models with products by matrices that may be rounded to
bytes, against ONNX Runtime after it has done so. Quantised models are run as they are, against peers that may
do as they like. Then, as they are: models of more than a millisecond on two threads, the way from nothing to the first
result, and the kernels of models of which a peer is nearly as fast. Inputs are those of the first data set
(tests/models/prepare.py), but for the sizes in SIZES. Needs tests/requirements-bench.txt.
"""
import concurrent.futures
import copy
import json
import math
import multiprocessing
import os
import platform
import re
import sys
import tempfile

import numpy as np

import models

sys.path.insert(0, os.path.join(models.ROOT, "tests", "models"))
from modelset import index, places          # noqa: E402

SIZES = {"bert_base": "seq=128", "r_bert_base_qdq": "seq=128", "r_bert_base_qop": "seq=128", "r_bert_base_fp16": "seq=128"}
LEAST_US = 20       # models that take the faster peer less are not listed
THREADS, THREADS_MS = 2, 1      # so many, for models that take one of them so long
NEAR = 1.3          # kernels are told of models of which a peer takes less than so many times as long
KERNEL_SHARE = 0.04
MADE_FOR = {"f32": "onnxruntime,openvino", "halves": "onnxruntime,openvino", "own": "onnxruntime,openvino-default", "bf16": "onnxruntime,openvino-default",
            "int8": "onnxruntime-dynamic,onnxruntime"}
WAYS = {"f32": ("f32", "As the models are, in f32."),
        "halves": ("16-bit floats", "As the models are; OpenVINO computes them in f32."),
        "own": ("Quantised models", "As the models are."),
        "bf16": ("--precision=bf16",
                 "Models of floats whose products may be rounded; OpenVINO's default does the same here, ONNX Runtime stays in f32."),
        "int8": ("--weights-precision=int8 --activations-precision=int8",
                 "Models of floats whose products by matrices may be rounded to bytes; ONNX Runtime after its `quantize_dynamic` of the same, and in f32.")}
SERIES = {"onnxruntime": "ONNX Runtime", "onnxruntime-dynamic": "ONNX Runtime, dynamic", "openvino": "OpenVINO", "openvino-default": "OpenVINO, default"}


def runs_of(name):
    """The ways to run it."""
    if "fp16" in name or "float16" in name:
        return ["halves", "bf16"]
    return ["own"] if name.startswith(("q_", "r_")) else ["f32", "bf16", "int8"]


def measure(name, way, args):
    """One way of one model. The first way also tells how it starts, and where its time goes if a peer is near."""
    found, why = places(name)
    if why:
        raise ValueError(why)
    args = copy.copy(args)
    args.peers, args.precision = MADE_FOR[way].split(","), way if way in models.PRECISIONS else None
    sizes, data = SIZES.get(name), found.get("data")
    spec, data = f"{name}:{sizes}" if sizes else name, None if sizes or not data else data[0]
    with tempfile.TemporaryDirectory(prefix="nn-report-") as folder:
        args.keep = args.keep or folder
        _, path, _, inputs, dims = given = models.with_inputs(spec, args, data)
        if way == "int8" and not rounds(path, dims, args, folder):
            raise ValueError("no product is rounded to bytes")
        result = models.bench_with(args, *given)
        if way == runs_of(name)[0] and worth(result):
            result["first"] = first_results(path, os.path.join(args.keep, name), inputs, result["peers"])
            if least(result) < NEAR:
                result["kernels"] = kernels(path, dims, args, data)
            if result["ms"] >= THREADS_MS and len(args.cpus) >= THREADS:
                result["threads"] = on_threads(spec, args, data)
    return result


def rounds(path, dims, args, folder):
    """Does the model have products whose rows are rounded, too, and not their weights alone?"""
    weights = copy.copy(args)
    weights.precision = "int8-weights"
    both, one = (models.compile_model(path, dims, a, os.path.join(folder, "sizes")) for a in (args, weights))
    return both != one


def on_threads(spec, args, data):
    """In a process of its own: runtimes count the CPUs once, and a library that is loaded is not loaded again."""
    several = copy.copy(args)
    several.threads, several.keep = THREADS, None
    models.stay(several)
    try:
        with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            return pool.submit(models.bench, spec, several, data).result()
    finally:
        models.stay(args)


def first_results(path, built, inputs, peers):
    """{runtime: {ms, bytes} from nothing to the first result}; built: the folder of the compiled model. Medians of three."""
    out = {}
    with tempfile.TemporaryDirectory(prefix="nn-first-") as folder:
        np.savez(os.path.join(folder, "inputs.npz"), **inputs)
        for runtime in ["ours", *peers]:
            command = [sys.executable, os.path.join(models.HERE, "first.py"), runtime, path, built, os.path.join(folder, "inputs.npz")]
            runs = [json.loads(models.run(*command)) for _ in range(3)]
            out[runtime] = {what: sorted(r[what] for r in runs)[1] for what in ("ms", "bytes")}
    return out


def kernels(path, dims, args, data):
    """What `bench --per-kernel` says of the kernels."""
    options = [f"--data={data}"] if data else [f"--dim={d}={size}" for d, size in dims.items()]
    told = models.run(args.gcc2nn, "bench", path, f"--target={args.target}", "--per-kernel", "--json", *options)
    return json.loads(told)["kernels"]


def told_why(e):
    """The line that refuses, without the folder of the model."""
    lines = str(e).strip().splitlines() or [type(e).__name__]
    line = next((text for text in reversed(lines) if "[E" in text), lines[-1])
    return re.sub(r"\S*/(?=[^/\s]+/model\.onnx)", "", line)[:300]


def measured(args):
    """{model: {way: result}}; those that cannot be run say why."""
    found = {}
    if args.measure and os.path.exists(args.measure):
        with open(args.measure, encoding="utf-8") as f:
            found = json.load(f)
    bf16 = any(i["name"].endswith("dpbf16ps") for t in json.loads(models.run(args.gcc2nn, "list-targets", "--json"))
               if t["name"] == args.target for i in t["instructions"])
    for name in args.models or [name for name, row in index().items() if not row["file"].endswith(".tflite")]:
        for way in runs_of(name):
            if way in found.get(name, {}) or (way == "bf16" and not bf16):
                continue
            try:
                result = measure(name, way, args)
                print(models.told(result), flush=True)
            except (Exception, SystemExit) as e:     # whatever a model or a peer stumbles over
                result = {"why": told_why(e)}
                print(f"{name} {way}: not measured: {result['why']}", flush=True)
            found.setdefault(name, {})[way] = result
            if args.measure:
                with open(args.measure, "w", encoding="utf-8") as f:
                    json.dump(found, f, indent=1)
    return found


def faster(result, peer):
    """How many times as long the peer takes; None: it was not measured."""
    p = result.get("peers", {}).get(peer)
    return 1 / p["ratio_quartiles"][1] if p else None


def worth(result):
    times = [p["ms"] for p in result.get("peers", {}).values()]
    return times and 1e3 * min(times) >= LEAST_US


def least(result):
    """How many times as long the faster peer takes."""
    return min((faster(result, peer) for peer in result["peers"]), default=math.inf)


def mean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def told(value):
    return f"{value:.2f}" if value else "–"


def table(found, way, peers):
    rows = [(name, ways[way]) for name, ways in found.items() if way in ways and worth(ways[way])]
    lines = ["| model | ms |" + "".join(f" {SERIES[p]}, ms | × |" for p in peers), "|---|--:|" + "--:|--:|" * len(peers)]
    for name, r in rows:
        cells = [f"{r['peers'][p]['ms']:.3g} | {told(faster(r, p))}" if p in r["peers"] else "refuses | –" for p in peers]
        lines.append(f"| {name} | {r['ms']:.3g} | " + " | ".join(cells) + " |")
    lines.append("| *geometric mean* | |" + "".join(f" | **{told(mean(faster(r, p) for _, r in rows))}** |" for p in peers))
    return lines


def plot(found, way, peers, path):
    """Bars of how many times as long the peers take, the least first."""
    import matplotlib
    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "gcc2nn", "font.size": 7})
    from matplotlib import pyplot
    rows = [(name, ways[way]) for name, ways in found.items() if way in ways and worth(ways[way])]
    rows.sort(key=lambda row: min(faster(row[1], p) or 99 for p in peers))
    figure, axes = pyplot.subplots(figsize=(9, 0.16 * len(rows) + 0.8))
    for k, peer in enumerate(peers):
        at = [i + 0.4 * k for i in range(len(rows))]
        axes.barh(at, [faster(r, peer) or 0 for _, r in rows], height=0.38, label=SERIES[peer])
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yticks([i + 0.2 for i in range(len(rows))], [name for name, _ in rows])
    axes.set_xlabel("the peer's time by ours: to the right of 1 the compiled model is faster")
    axes.legend(loc="lower right")
    axes.margins(y=0.01)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as f:
        return next((line.split(":", 1)[1].strip() for line in f if line.startswith("model name")), platform.processor())


def as_they_are(found):
    """(name, result) of the models that are worth telling, the first way of each"""
    firsts = [(name, ways.get(runs_of(name)[0], {})) for name, ways in found.items()]
    return [(name, r) for name, r in firsts if worth(r)]


def times_section(found, way, args):
    title, what = WAYS[way]
    peers = MADE_FOR[way].split(",")
    if not any(worth(w[way]) for w in found.values() if way in w):
        return []
    image = os.path.basename(args.out).replace(".md", f"-{way}.svg")
    plot(found, way, peers, os.path.join(os.path.dirname(args.out), image))
    return [f"## {title}", "", what, "", f"![{title}]({image})", "", *table(found, way, peers), ""]


def named(peers, peer):
    """The one of them that is this peer, in whatever precision; None: it refused."""
    return next((p for p in peers if p.startswith(peer)), None)


def threads_section(found):
    rows = [(name, r, r["threads"]) for name, r in as_they_are(found) if "threads" in r]
    if not rows:
        return []
    lines = ["## Two threads", "", f"Models that take one thread {THREADS_MS} ms and more, as they are; *of one*: how many times as long one thread takes.", "",
             "| model | ms | of one | ONNX Runtime, ms | × | OpenVINO, ms | × |", "|---|--:|--:|--:|--:|--:|--:|"]
    cells = {"onnxruntime": [], "openvino": []}
    for name, one, two in rows:
        line = f"| {name} | {two['ms']:.3g} | {one['ms'] / two['ms']:.2f} |"
        for peer, values in cells.items():
            peer = named(two["peers"], peer)
            line += f" {two['peers'][peer]['ms']:.3g} | {told(faster(two, peer))} |" if peer else " refuses | – |"
            values.append(faster(two, peer) if peer else None)
        lines.append(line)
    speedup = mean(one["ms"] / two["ms"] for _, one, two in rows)
    return [*lines, f"| *geometric mean* | | **{told(speedup)}** |" + "".join(f" | **{told(mean(v))}** |" for v in cells.values()), ""]


def first_section(found):
    rows = [(name, r["first"]) for name, r in as_they_are(found) if "first" in r]
    if not rows:
        return []
    lines = ["## From nothing to the first result", "",
             "Loading and preparing a model and its first run, in a process of its own, where the libraries are loaded already; and by how much "
             "the process grew at most, which counts pages of files, too. *×*: the peer's by ours.", "",
             "| model | ms | MB | ONNX Runtime, ms | × | MB | × | OpenVINO, ms | × | MB | × |", "|---|" + "--:|" * 10]
    means = {key: [] for key in (("onnxruntime", "ms"), ("onnxruntime", "bytes"), ("openvino", "ms"), ("openvino", "bytes"))}
    for name, first in rows:
        ours = first["ours"]
        line = f"| {name} | {ours['ms']:.3g} | {ours['bytes'] / 1e6:.3g} |"
        for (peer, what), values in means.items():
            theirs = first.get(named(first, peer))
            times = theirs[what] / max(ours[what], 1e-9) if theirs else None
            shown = theirs and (f"{theirs[what]:.3g}" if what == "ms" else f"{theirs[what] / 1e6:.3g}")
            line += f" {shown or 'refuses'} | {told(times)} |"
            values.append(times)
        lines.append(line)
    return [*lines, "| *geometric mean* | | |" + "".join(f" | **{told(mean(v))}** |" for v in means.values()), ""]


def kernels_section(found):
    """Why a peer is near: how much of the time the machine itself needs."""
    rows = [(name, r) for name, r in as_they_are(found) if "kernels" in r]
    if not rows:
        return []
    lines = ["## Where the time goes", "",
             f"Models of which a peer takes less than {NEAR} times as long, kernel by kernel (those of {KERNEL_SHARE:.0%} of the time and more). *Roof*: the "
             "time that the row of the machine allows at least, all multiply-adds by its fastest instruction and all bytes from the second level of "
             "cache, in parts of the time that it takes: near 1, only fewer operations or shorter types would be faster.", "",
             "| model | × | kernel | share | roof |", "|---|--:|---|--:|--:|"]
    for name, r in rows:
        known = [k for k in r["kernels"] if k.get("share") is not None]
        roof = sum(k["share"] * (k["best"] or 0) for k in known)
        lines.append(f"| {name} | {least(r):.2f} | all {len(known)} | 1.00 | {roof:.2f} |")
        for k in known:
            if k["share"] >= KERNEL_SHARE:
                ops = re.findall(r"\((\w+)\)", k["nodes"])
                calls = f", {k['calls']:.0f} calls" if k["calls"] > 1 else ""
                lines.append(f"| | | {k['problem']}: {' '.join(ops[:3])}{' …' if len(ops) > 3 else ''}{calls} | {k['share']:.2f} | {told(k['best'])} |")
    return [*lines, ""]


def compiling_section(found):
    lines = ["## Compiling", "", "Seconds of gcc2nn and of the C compiler (`-O2`, one process), and bytes of machine code, without tables and weights.", "",
             "| model | gcc2nn | cc | code |", "|---|--:|--:|--:|"]
    lines += [f"| {name} | {r['compile_s']:.1f} | {r['cc_s']:.1f} | {r['code_bytes']:,} |" for name, r in as_they_are(found)]
    why = [(name, w) for name, ways in found.items() for w in [next(iter(ways.values()))] if "why" in w]
    if why:
        lines += ["", "Not measured: " + "; ".join(f"{name} ({w['why']})" for name, w in why) + "."]
    return lines


def write(found, args):
    import onnxruntime
    import openvino
    os.makedirs(os.path.dirname(args.out), exist_ok=True)
    lines = [f"# Performance: {args.target}", "",
             f"Generated by `./dev bench report`; do not edit. One core of an {processor()}, against ONNX Runtime "
             f"{onnxruntime.__version__} and OpenVINO {openvino.__version__.split('-')[0]}, one thread each, in one process and by turns: medians, and "
             "*×*: the median of the peer's time by ours in neighbouring runs (above 1 the compiled model is faster). Models that take the faster "
             f"peer less than {LEAST_US} µs are left out.", ""]
    for way in WAYS:
        lines += times_section(found, way, args)
    for section in threads_section, first_section, kernels_section, compiling_section:
        lines += section(found)
    with open(args.out, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def main():
    more = models.parser_of(__doc__, [])
    more.add_argument("--measure", metavar="FILE")
    more.add_argument("--out", help="default: docs/performance/TARGET.md")
    args = models.checked(more)
    args.out = os.path.abspath(args.out or os.path.join(models.ROOT, "docs", "performance", f"{args.target}.md"))
    write(measured(args), args)


if __name__ == "__main__":
    main()
