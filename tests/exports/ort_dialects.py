#!/usr/bin/env python3
"""Has ONNX Runtime's own tools rewrite models, and compares what gcc2nn makes of the result with what ONNX Runtime does
(judge.py): its quantisers (QOperator and QDQ in several types, dynamic, weights in blocks of 2, 4 and 8 bits), its
transformer optimiser, floats of 16 bits, and the models that it saves after optimising. One line for each:
DIALECT/MODEL. Nothing of this runs in CI. Packages:

    python3 -m venv DIR && DIR/bin/pip install -r tests/exports/requirements.txt
    DIR/bin/python tests/exports/ort_dialects.py --keep EXPORTS --results EXPORTS/dialects.json

The models are those of ../shared/models, or with --from those that another script of this folder has kept.
"""
import argparse
import json
import os
import shutil
import sys
import tempfile

import numpy as np
import onnx
import onnxruntime
from onnxruntime.quantization import (CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_dynamic,
                                      quantize_static)
from onnxruntime.quantization.shape_inference import quant_pre_process

from judge import LEVEL, ROOT, data_folders, main, read_inputs

sys.path.append(os.path.join(ROOT, "tests", "models"))
import prepare                      # noqa: E402
from modelset import MODELS, absent, index  # noqa: E402
SMALL = ["mnist_cntk", "cifar10_resnet_2b", "cifar_deep_kw", "ppocr_cls", "ultraface_rfb_320", "yunet_n_320", "silero_vad",
         "dtln_1", "gtcrn_stream", "byte_bidi_lstm", "magika", "collins_rul_small", "lstm_tagger", "llama_tiny_kv",
         "mlpt_autoencoder640", "mlpt_dscnn_kws", "mlpt_mobilenet_v1_025_96", "mlpt_resnet8", "seanet1d", "squeezenet1_1",
         "t5_encoder_tiny", "tcn_kws", "yolox_nano", "shufflenet_v2_x1_0"]


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


def fused(kind, half=False):
    def make(source, target, batches, folder):
        from onnxruntime.transformers.optimizer import optimize_model
        model = optimize_model(source, model_type=kind)
        if half:
            model.convert_float_to_float16(keep_io_types=True)
        model.save_model_to_file(target)
    return make


def dynamic_after(first):
    """The dynamic quantiser writes QAttention and the like where the optimiser has been."""
    def make(source, target, batches, folder):
        middle = os.path.join(folder, "fused.onnx")
        first(source, middle, batches, folder)
        quantize_dynamic(middle, target, weight_type=QuantType.QInt8)
    return make


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
    "bert_half": fused("bert", True), "gpt2_half": fused("gpt2", True), "clip": fused("clip"), "unet": fused("unet"), "phi": fused("phi"),
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


def quantised(dialect, source, batches):
    """The export: what the dialect makes of the model, and its first inputs."""
    def export():
        with tempfile.TemporaryDirectory(prefix="dialect-") as folder:
            target = os.path.join(folder, "model.onnx")
            sets = batches()
            DIALECTS[dialect](source(), target, sets, folder)
            return onnx.load(target), sets[:1]
    return export


def noisy(feeds, seed):
    """Inputs like these, for calibration."""
    random = np.random.default_rng(seed)
    return {k: v + 0.1 * random.standard_normal(v.shape).astype(v.dtype) if v.dtype.kind == "f" else v for k, v in feeds.items()}


def kept_models(folder):
    """name: (path, batches) of what another script has left."""
    for group, _, files in sorted(os.walk(folder, followlinks=True)):
        if "model.onnx" in files:
            path = os.path.join(group, "model.onnx")

            def batches(path=path, group=group):
                first = read_inputs(onnx.load(path, load_external_data=False), data_folders(group)[0])
                return [first, *(noisy(first, k) for k in range(3))]
            yield os.path.relpath(group, folder).replace(os.sep, "-"), (lambda path=path: path, batches)


def given_models():
    if absent():
        print(f"SKIPPED dialects of ONNX Runtime: {absent()}\n0 passed, 0 failed, 1 skipped")
        sys.exit(77)
    rows = index()
    for name in SMALL:
        yield name, (lambda name=name: prepare.model(rows[name], rows), lambda name=name: inputs_of(name, rows[name]))


def cases(args):
    for name, (source, batches) in kept_models(args.source) if args.source else given_models():
        for dialect in args.dialects.split(","):
            yield f"{dialect}/{name}", quantised(dialect, source, batches)


if __name__ == "__main__":
    own = argparse.ArgumentParser()
    own.add_argument("--from", dest="source", metavar="DIR", help="what another script has kept")
    own.add_argument("--dialects", default=",".join(DIALECTS), help="of " + ", ".join(DIALECTS))
    sys.exit(main(cases, __doc__, ("onnxruntime",), own))
