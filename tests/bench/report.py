#!/usr/bin/env python3
"""Writes docs/performance.md, with plots: every model of the test set against both other runtimes, by turns, one thread.

    report.py [--measure FILE] [--out docs/performance.md] [the options of models.py] [MODEL...]

--measure FILE: what was measured is added to that file, and not measured again when it is there. f32 models are run as they
are, against both peers in f32, and so are those of 16-bit floats; where the target multiplies bf16 by an instruction, both
also with --precision=bf16, against OpenVINO's default there. Quantised models are run as they are, against peers that may
do as they like. Inputs are those of the first data set (tests/models/prepare.py), but for the sizes in SIZES. Needs
tests/requirements-bench.txt.
"""
import json
import math
import os
import platform
import re
import sys

import models

sys.path.insert(0, os.path.join(models.ROOT, "tests", "models"))
from modelset import index, places          # noqa: E402

SIZES = {"bert_base": "seq=128", "r_bert_base_qdq": "seq=128", "r_bert_base_qop": "seq=128", "r_bert_base_fp16": "seq=128"}
LEAST_US = 20       # models that take the faster peer less are not listed
MADE_FOR = {"f32": "onnxruntime,openvino", "halves": "onnxruntime,openvino", "own": "onnxruntime,openvino-default", "bf16": "onnxruntime,openvino-default"}
SERIES = {"onnxruntime": "ONNX Runtime", "openvino": "OpenVINO", "openvino-default": "OpenVINO, default"}


def runs_of(name):
    """The ways to run it."""
    if "fp16" in name or "float16" in name:
        return ["halves", "bf16"]
    return ["own"] if name.startswith(("q_", "r_")) else ["f32", "bf16"]


def measure(name, way, args):
    found, why = places(name)
    if why:
        raise ValueError(why)
    data = found.get("data")
    args.peers, args.precision = MADE_FOR[way].split(","), "bf16" if way == "bf16" else None
    sizes = SIZES.get(name)
    return models.bench(f"{name}:{sizes}" if sizes else name, args, None if sizes or not data else data[0])


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


def write(found, args):
    import onnxruntime
    import openvino
    ways = {"f32": ("f32", "As the models are, in f32."),
            "halves": ("16-bit floats", "As the models are; OpenVINO computes them in f32."),
            "own": ("Quantised models", "As the models are."),
            "bf16": ("--precision=bf16",
                     "Models of floats whose products may be rounded; OpenVINO's default does the same here, ONNX Runtime stays in f32.")}
    folder = os.path.dirname(args.out)
    lines = ["# Performance", "",
             f"Generated by `./dev bench report`; do not edit. Target {args.target} on one core ({processor()}), against ONNX Runtime "
             f"{onnxruntime.__version__} and OpenVINO {openvino.__version__.split('-')[0]}, one thread each, in one process and by turns: medians, and "
             "*×*: the median of the peer's time by ours in neighbouring runs (above 1 the compiled model is faster). Models that take the faster "
             f"peer less than {LEAST_US} µs are left out.", ""]
    for way, (title, what) in ways.items():
        peers = MADE_FOR[way].split(",")
        if not any(worth(w[way]) for w in found.values() if way in w):
            continue
        image = f"performance-{way}.svg"
        plot(found, way, peers, os.path.join(folder, image))
        lines += [f"## {title}", "", what, "", f"![{title}]({image})", "", *table(found, way, peers), ""]
    lines += ["## Compiling", "", "Seconds of gcc2nn and of the C compiler (`-O2`, one process), and bytes of machine code, without tables and weights.", "",
              "| model | gcc2nn | cc | code |", "|---|--:|--:|--:|"]
    for name, w in found.items():
        r = next(iter(w.values()))
        if r and worth(r):
            lines.append(f"| {name} | {r['compile_s']:.1f} | {r['cc_s']:.1f} | {r['code_bytes']:,} |")
    why = [(name, w) for name, ways in found.items() for w in [next(iter(ways.values()))] if "why" in w]
    if why:
        lines += ["", "Not measured: " + "; ".join(f"{name} ({w['why']})" for name, w in why) + "."]
    with open(args.out, "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")


def main():
    more = models.parser_of(__doc__, [])
    more.add_argument("--measure", metavar="FILE")
    more.add_argument("--out", default=os.path.join(models.ROOT, "docs", "performance.md"))
    args = models.checked(more)
    write(measured(args), args)


if __name__ == "__main__":
    main()
