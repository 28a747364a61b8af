#!/usr/bin/env python3
"""Twins: a model whose sizes are open gets the schedules that it gets with fixed sizes. Of each model here both forms are
scheduled: as it is with its height and width, batch or length open, and the same file with --dim for each of them; the open
form is optimised for these sizes. Node by node, the algorithms and strategies that its kernels got are compared
(--dump-after=choices). twins.tsv lists how many kernels of the open form got another one than the fixed form, for each model,
target, the two strategies or algorithms and the reason that was given; the list may only shrink.

    twins.py [--gcc2nn PATH] [--json FILE] [--write] [--nodes] [NAME...]     these models, or all of the list; --write makes
                                                           the list, --nodes prints each node
    twins.py --open=NAME=FILE                              writes the open form of a model, for timing

Prints what is not as listed. Exit status: 0, 1 if a kernel more is scheduled otherwise, or one less and the list was not made
shorter, 77 if no model is there.
"""
import collections
import os
import re
import subprocess
import tempfile

from modelset import ROOT, arguments, finish, finish_counted, missing, prepared
from plain import CHOICE, KERNEL, general

LIST = os.path.join(ROOT, "tests", "models", "twins.tsv")
BATCH, PIXELS = {0: "batch"}, {2: "height", 3: "width"}
PICTURE = {**BATCH, **PIXELS}
# What is open, of each input by its place: {axis: symbol}, where the model has a number there and its graph holds for others
# too; sizes of the fixed form for symbols of the model's own.
MODELS = {
    "cifar10_resnet_2b": ([BATCH], {}), "mlpt_resnet8": ([BATCH], {}), "samplenet": ([BATCH], {}), "sri_resnet_b": ([PICTURE], {}),
    "light_squeezenet": ([PICTURE], {}), "mlpt_mobilenet_v1_025_96": ([PICTURE], {}), "resnet18": ([PICTURE], {}),
    "mobilenet_v2": ([PICTURE], {"batch": 1}), "shufflenet_v2_x1_0": ([PICTURE], {}), "osf_lm_model0": ([PICTURE], {"batch_size": 1}),
    "osf_mnv3_detection": ([PICTURE], {"batch_size": 1}), "espcn_nnresize": ([PICTURE], {}), "carvana_unet_upsample": ([PICTURE], {}),
    "yolox_nano": ([PIXELS], {}), "yunet_n_320": ([PIXELS], {}), "ultraface_rfb_320": ([PIXELS], {}),
    "super_resolution_10": ([PIXELS], {"batch_size": 1}), "mscn_128d": ([], {"batch_size": 1}), "mlpt_dscnn_kws": ([], {"batch": 1}),
    "ppocr_det_v4": ([], {"p2o.DynamicDimension.0": 1, "p2o.DynamicDimension.1": 160, "p2o.DynamicDimension.2": 160}),
    "silero_vad_16k_op15": ([], {"batch": 1, "sequence": 512}), "byte_bidi_lstm": ([], {"batch": 1, "length": 64}),
    "lstm_tagger": ([], {"batch": 1, "seq": 64}), "seanet1d": ([], {"samples": 16000}), "tcn_kws": ([], {"frames": 98}),
    "bert_base": ([], {"batch": 1, "seq": 128}), "gpt2_small": ([], {"batch": 1, "seq": 64}),
    "t5_encoder_tiny": ([], {"batch": 1, "seq": 64}), "magika": ([], {"unk__214": 1}),
}
TARGETS = ["x86-avx512", "aarch64"]
MOST = 2 ** 31 - 1
ALGORITHM = re.compile(r"^  algorithm (\S+): (?!\d+ cycles$)(.*)$")
NODE = re.compile(r"^// node (\d+) ")
PROC = re.compile(r"^(?:kernel )?proc (\S+?)\(")


def open_form(path, axes, to):
    """The model with these axes of its inputs open, without types that no longer hold: {symbol: its size before}."""
    import onnx
    model = onnx.load(path)
    known = {t.name for t in model.graph.initializer}
    sizes = {}
    for value, names in zip([v for v in model.graph.input if v.name not in known], axes):
        for axis, name in names.items():
            dim = value.type.tensor_type.shape.dim[axis]
            if dim.HasField("dim_value"):
                sizes[name] = dim.dim_value
                dim.dim_param = name
    del model.graph.value_info[:]
    for value in model.graph.output if sizes else []:
        for dim in value.type.tensor_type.shape.dim:
            dim.Clear()
    onnx.save(model, to)
    return sizes


def schedules(program, model, target, dims):
    """{node: {kernel: (class, strategy, algorithm, {strategy or algorithm: why not})}}, or None where the model is refused."""
    done = subprocess.run([program, model, f"--target={target}", "--dump-after=choices", "--dump-after=kernels", "--stop-after=lower",
                           *(f"--dim={name}={n}" for name, n in dims.items())],
                          capture_output=True, text=True, errors="replace", check=False)
    if done.returncode:
        return None
    taken, nodes, names, name, reasons, algorithms = {}, {}, [], "", {}, {}
    for line in done.stdout.split("\n"):
        kernel, choice, node, proc = KERNEL.match(line), CHOICE.match(line), NODE.match(line), PROC.match(line)
        algorithm = ALGORITHM.match(line)
        if kernel:
            name, kind, reasons, last = line.partition(":")[0], kernel[1], {}, ""
        elif choice:
            last = choice[1]
            reasons.setdefault(last, choice[2] or "")
        elif line.startswith("    refused: "):
            reasons.setdefault(last + " refused", general(line[len("    refused: "):]))
        elif line == "    taken":
            taken[name] = kind, last, reasons
        elif algorithm:
            reasons[algorithm[1]] = algorithm[2]
        elif line.startswith("    taken: "):
            algorithms[name] = line[len("    taken: "):].partition(";")[0]
        elif node:
            names.append(node[1])
        elif proc:
            for n in names:
                kind, strategy, reasons = taken.get(proc[1], ("", "", {}))
                nodes.setdefault(n, {})[proc[1]] = kind, strategy, algorithms.get(proc[1], "direct"), reasons
            names = []
    return nodes


def differences(fixed, opened):
    """{kernel of the open form: (strategy, or algorithm, that its fixed twin has, its own, why)}"""
    found = {}
    for node, kernels in opened.items():
        twins = fixed.get(node, {}).values()
        before, made = {s for _, s, _, _ in twins}, {a for _, _, a, _ in twins}
        lost = sorted(before - {s for _, s, _, _ in kernels.values()} - {"plain loops"})
        for name, (_, strategy, algorithm, reasons) in kernels.items():
            if lost and strategy not in before:
                found[name] = lost[0], strategy, reasons.get(lost[0] + " refused", reasons.get(lost[0], "")), node
            elif made and algorithm not in made:
                found[name] = min(made), algorithm, reasons.get(min(made), ""), node
    return found


def compare(args, name, path, folder):
    axes, dims = MODELS[name]
    twin = os.path.join(folder, name + ".onnx")
    dims = {**dims, **open_form(path, axes, twin)}
    found = collections.Counter()
    for target in TARGETS:
        fixed, opened = (schedules(args.gcc2nn, twin, target, d) for d in (dims, {k: f"0..{MOST}@{n}" for k, n in dims.items()}))
        if not fixed or not opened:
            found[name, target, "", "", "refused"] += 1
            continue
        for kernel, (before, now, why, node) in differences(fixed, opened).items():
            if args.nodes:
                print(f"{name} {target} node {node}: {kernel}: {before}, open {now}: {why}")
            found[name, target, before, now, why] += 1
    os.remove(twin)
    return found


def main():
    p = arguments(__doc__)
    p.add_argument("--write", action="store_true")
    p.add_argument("--nodes", action="store_true")
    p.add_argument("--open", metavar="NAME=FILE")
    p.add_argument("names", nargs="*")
    args = p.parse_args()
    if missing(args):
        finish(args, [], missing(args))
    if args.open:
        name, to = args.open.split("=", 1)
        print(open_form(prepared(name)[0], MODELS[name][0], to))
        return
    names = args.names or list(MODELS)
    found, there = {}, set()
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            path, why = prepared(name)
            if not why:
                there.add(name)
                found.update(compare(args, name, path, folder))
    finish_counted(args, LIST, ["model", "target", "fixed", "open", "reason", "kernels"], names, there, found,
                   lambda key, n, listed: f"{key[0]} {key[1]}: {n} open kernels have {key[3]}, {listed} listed; fixed {key[2]}: {key[4]}")


if __name__ == "__main__":
    main()
