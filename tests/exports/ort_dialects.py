#!/usr/bin/env python3
"""ort_dialects.py [--models NAME,...] [--dialects NAME,...] [--interpret] [--keep DIR]

Has ONNX Runtime's own tools rewrite the models of ../shared/models, and compares what gcc2nn makes of the result with what
ONNX Runtime does: its quantisers (QOperator and QDQ in several types, dynamic, weights in blocks of 2, 4 and 8 bits), its
transformer optimiser, and the models that it saves after optimising. Needs requirements.txt of this folder; no part of
./dev test. One line for each model and dialect:

    right    MODEL DIALECT  error, and how far ONNX Runtime is from itself
    refused  MODEL DIALECT  reason
    wrong    MODEL DIALECT  what differs
    none     MODEL DIALECT  why ONNX Runtime's tool or ONNX Runtime itself has nothing for it

Right is: within 1e-4 of the greatest magnitude of one of ONNX Runtime's two results, or no further from the nearer one than
those are from each other, or than ONNX Runtime is from itself when the model's float weights move by one unit of their last
place (docs/numbers.md, N7); integers are equal to one of the two, or one step from it in 0.1 % of the elements. Last line:

    N passed, N failed, N skipped        failed: wrong and refused
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnx import numpy_helper
from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_dynamic,
                                      quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
sys.path.append(os.path.join(ROOT, "tests", "models"))
import prepare                      # noqa: E402
from modelset import MODELS, absent, index  # noqa: E402
SMALL = ["mnist_cntk", "cifar10_resnet_2b", "cifar_deep_kw", "ppocr_cls", "ultraface_rfb_320", "yunet_n_320", "silero_vad",
         "dtln_1", "gtcrn_stream", "byte_bidi_lstm", "magika", "collins_rul_small", "lstm_tagger", "llama_tiny_kv",
         "mlpt_autoencoder640", "mlpt_dscnn_kws", "mlpt_mobilenet_v1_025_96", "mlpt_resnet8", "seanet1d", "squeezenet1_1",
         "t5_encoder_tiny", "tcn_kws", "yolox_nano", "shufflenet_v2_x1_0"]


class Nothing(Exception):
    """There is no such model."""


class Batches(CalibrationDataReader):
    def __init__(self, batches):
        self.left = iter(batches)

    def get_next(self):
        return next(self.left, None)


def static(quant_format, activations, weights, per_channel=False):
    def make(source, target, batches, folder):
        ready = os.path.join(folder, "ready.onnx")
        try:
            quant_pre_process(source, ready, skip_symbolic_shape=True)
        except Exception:       # it gives up on some models, which are quantised as they are
            shutil.copy(source, ready)
        quantize_static(ready, target, Batches(batches), quant_format=quant_format, per_channel=per_channel,
                        activation_type=activations, weight_type=weights, calibrate_method=CalibrationMethod.MinMax)
    return make


def dynamic(weights, operators):
    def make(source, target, batches, folder):
        quantize_dynamic(source, target, weight_type=weights, op_types_to_quantize=operators)
    return make


def blocks(bits):
    def make(source, target, batches, folder):
        from onnxruntime.quantization.matmul_nbits_quantizer import MatMulNBitsQuantizer
        quantizer = MatMulNBitsQuantizer(onnx.load(source), bits=bits, block_size=32, is_symmetric=bits == 8)
        quantizer.process()
        quantizer.model.save_model_to_file(target)
    return make


def optimised(level):
    def make(source, target, batches, folder):
        options = onnxruntime.SessionOptions()
        options.graph_optimization_level = level
        options.optimized_model_filepath = target
        options.log_severity_level = 4
        onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"],
                                     disabled_optimizers=["NchwcTransformer"])     # blocks of channels of one machine
    return make


def fused(kind):
    def make(source, target, batches, folder):
        from onnxruntime.transformers.optimizer import optimize_model
        optimize_model(source, model_type=kind).save_model_to_file(target)
    return make


def dynamic_after(first):
    """The dynamic quantiser writes QAttention and the like where the optimiser has been."""
    def make(source, target, batches, folder):
        middle = os.path.join(folder, "fused.onnx")
        first(source, middle, batches, folder)
        quantize_dynamic(middle, target, weight_type=QuantType.QInt8)
    return make


LEVEL = onnxruntime.GraphOptimizationLevel
DIALECTS = {
    "qop": static(QuantFormat.QOperator, QuantType.QUInt8, QuantType.QInt8),
    "qop_u8u8": static(QuantFormat.QOperator, QuantType.QUInt8, QuantType.QUInt8),
    "qop_s8s8": static(QuantFormat.QOperator, QuantType.QInt8, QuantType.QInt8),
    "qop_pc": static(QuantFormat.QOperator, QuantType.QUInt8, QuantType.QInt8, True),
    "qdq": static(QuantFormat.QDQ, QuantType.QUInt8, QuantType.QInt8),
    "qdq_s8s8": static(QuantFormat.QDQ, QuantType.QInt8, QuantType.QInt8),
    "qdq_u8u8": static(QuantFormat.QDQ, QuantType.QUInt8, QuantType.QUInt8),
    "qdq_pc": static(QuantFormat.QDQ, QuantType.QInt8, QuantType.QInt8, True),
    "qdq_16": static(QuantFormat.QDQ, QuantType.QUInt16, QuantType.QInt8),
    "qdq_s16": static(QuantFormat.QDQ, QuantType.QInt16, QuantType.QInt16),
    "dynamic": dynamic(QuantType.QInt8, None),
    "dynamic_u8": dynamic(QuantType.QUInt8, None),
    "blocks2": blocks(2), "blocks4": blocks(4), "blocks8": blocks(8),
    "basic": optimised(LEVEL.ORT_ENABLE_BASIC), "extended": optimised(LEVEL.ORT_ENABLE_EXTENDED),
    "all": optimised(LEVEL.ORT_ENABLE_ALL),
    "bert": fused("bert"), "gpt2": fused("gpt2"), "t5": fused("t5"), "vit": fused("vit"), "bart": fused("bart"),
    "clip": fused("clip"), "unet": fused("unet"), "phi": fused("phi"),
    "bert_dynamic": dynamic_after(fused("bert")), "gpt2_dynamic": dynamic_after(fused("gpt2")),
}


def inputs_of(name, row):
    """Batches of inputs, the first of which is the reference's."""
    sys.path.append(os.path.join(MODELS, "scripts"))
    import reference
    recipe = os.path.join(prepare.own_folder(row), "inputs.json")
    with open(recipe, encoding="utf-8") as f:
        spec = json.load(f)["inputs"]
    batches = []
    for k in range(4):
        moved = [{**i, "base": os.path.dirname(recipe), "seed": (i.get("seed", 0) + 1000 * k) & 0xffffffff} for i in spec]
        batches.append({i["name"]: reference.make(i) for i in moved})
    return batches


def moved(model, seed):
    """The model with every float weight at one of its neighbours."""
    copy, random = onnx.ModelProto(), np.random.default_rng(seed)
    copy.CopyFrom(model)
    for t in copy.graph.initializer:
        a = numpy_helper.to_array(t)
        if a.dtype == np.float32:
            to = np.where(random.random(a.shape) < 0.5, -np.inf, np.inf).astype(np.float32)
            near = np.where((a == 0) | ~np.isfinite(a) | (np.abs(a) > 1e30), a, np.nextafter(a, to))
            t.CopyFrom(numpy_helper.from_array(near.astype(np.float32), t.name))
    return copy.SerializeToString()


def run_onnxruntime(path, feed, level):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = level
    options.log_severity_level = 4
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return session.run(None, {i.name: feed[i.name] for i in session.get_inputs()}), [i.name for i in session.get_inputs()]


def distance(a, b):
    """0 for equal; of floats a part of the greatest magnitude; of integers 0 if they are as good as equal."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return np.inf
    if not a.size:
        return 0.0
    if a.dtype.kind != "f":
        steps = np.abs(a.astype(np.int64) - b.astype(np.int64))
        return 0.0 if steps.max() <= 1 and (steps > 0).mean() <= 1e-3 else float(steps.max())
    a, b = a.astype(np.float64), b.astype(np.float64)
    if (np.isnan(a) != np.isnan(b)).any() or (np.isinf(a) != np.isinf(b)).any():
        return np.inf
    keep = np.isfinite(a) & np.isfinite(b)
    if not keep.any():
        return 0.0
    return float(np.abs(a[keep] - b[keep]).max() / max(np.abs(b[keep]).max(), 1e-9))


def try_one(name, dialect, source, batches, folder, args):
    """(verdict, what is to be said)"""
    target = os.path.join(folder, "model.onnx")
    try:
        DIALECTS[dialect](source, target, batches, folder)
        off, names = run_onnxruntime(target, batches[0], LEVEL.ORT_DISABLE_ALL)
        on, _ = run_onnxruntime(target, batches[0], LEVEL.ORT_ENABLE_ALL)
    except Exception as e:      # of any of its tools
        return "none", (str(e).splitlines() or [type(e).__name__])[0][:160]
    data = os.path.join(folder, "data")
    os.makedirs(data)
    for k, i in enumerate(names):
        with open(os.path.join(data, f"input_{k}.pb"), "wb") as f:
            f.write(numpy_helper.from_array(batches[0][i], i).SerializeToString())
    command = [args.gcc2nn, "run", target, "--data", data, "--out", os.path.join(folder, "out")]
    if args.interpret:
        command.append("--interpret")
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=900)
    except subprocess.TimeoutExpired:
        return "wrong", "took more than 15 minutes"
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "warning" not in line] or [f"exit {done.returncode}"]
        return "refused", f"exit {done.returncode}: {lines[0].replace(target, 'model')[:220]}"
    gots = []
    for k in range(len(off)):
        with open(os.path.join(folder, "out", f"output_{k}.pb"), "rb") as f:
            gots.append(numpy_helper.to_array(onnx.TensorProto.FromString(f.read())))
    errors = [min(distance(got, a), distance(got, b)) for got, a, b in zip(gots, off, on)]
    owns = [distance(b, a) for a, b in zip(off, on)]
    if any(error > max(1e-4, own) for error, own in zip(errors, owns)) and os.path.getsize(target) < 1 << 30:
        model = onnx.load(target)
        for seed in range(8):
            other, _ = run_onnxruntime(moved(model, seed), batches[0], LEVEL.ORT_DISABLE_ALL)
            owns = [max(own, distance(o, a)) for own, o, a in zip(owns, other, off)]
    right = all(error <= max(1e-4, own) for error, own in zip(errors, owns))
    worst, spread = max(errors), max(owns)
    return "right" if right else "wrong", f"error {worst:.2g}, ONNX Runtime's own {spread:.2g}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default=",".join(SMALL))
    parser.add_argument("--dialects", default=",".join(DIALECTS))
    parser.add_argument("--interpret", action="store_true", help="do not build the C")
    parser.add_argument("--keep", metavar="DIR", help="leave there what is wrong or refused")
    parser.add_argument("--gcc2nn", default=os.path.join(ROOT, "builddir", "gcc2nn"))
    args = parser.parse_args()
    if absent():
        print(f"SKIPPED dialects of ONNX Runtime: {absent()}\n0 passed, 0 failed, 1 skipped")
        return 77
    rows, counts = index(), {"right": 0, "refused": 0, "wrong": 0, "none": 0}
    for name in args.models.split(","):
        row = rows[name]
        source, batches = prepare.model(row, rows), inputs_of(name, row)
        for dialect in args.dialects.split(","):
            with tempfile.TemporaryDirectory(prefix="dialect-") as folder:
                verdict, why = try_one(name, dialect, source, batches, folder, args)
                counts[verdict] += 1
                print(f"{verdict:8} {name} {dialect}  {why}", flush=True)
                if args.keep and verdict in ("wrong", "refused"):
                    shutil.copytree(folder, os.path.join(args.keep, f"{name}-{dialect}"), dirs_exist_ok=True)
    print(f"{counts['right']} passed, {counts['wrong'] + counts['refused']} failed, {counts['none']} skipped")
    return 1 if counts["wrong"] + counts["refused"] or not counts["right"] else 0


if __name__ == "__main__":
    sys.exit(main())
