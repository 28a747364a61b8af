#!/usr/bin/env python3
"""Times models of one operator against ONNX Runtime: compiled, in one process, by turns, one thread, pinned to one CPU.

    layers.py [the options of models.py] [NAME...]      NAME: part of a layer's name (default: all layers)

Shapes are those that networks of many kinds have, odd ones among them; weights are constants. Prints a line for each layer, in
the order in which they are measured, and then those that ONNX Runtime computes faster, the worst first: ratios are ONNX
Runtime's time by ours, so 2 is twice as fast. What the layer costs in a network is less where its operands are in blocks
of channels there; here both are plain.
"""
import os
import sys
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

import models

OPSET = 21
random = np.random.default_rng(1)


def layer(op, inputs, *constants, outputs=1, **attributes):
    """inputs: shapes of f32, or the range of an int64 index before its shape; constants: shapes of weights, or arrays."""
    names, values, data, weights = [], [], {}, []
    for k, shape in enumerate(inputs):
        top, shape = shape if isinstance(shape[1:], tuple) and shape[1:] and isinstance(shape[1], tuple) else (None, shape)
        names.append(f"x{k}")
        values.append(helper.make_tensor_value_info(names[-1], TensorProto.INT64 if top else TensorProto.FLOAT, shape))
        data[names[-1]] = random.integers(0, top, shape) if top else random.uniform(-1, 1, shape).astype(np.float32)
    for k, value in enumerate(constants):
        if isinstance(value, tuple):
            value = random.uniform(-0.1, 0.1, value).astype(np.float32)
        names.append("" if value is None else f"w{k}")
        if value is not None:
            weights.append(numpy_helper.from_array(value, names[-1]))
    results = [f"y{k}" for k in range(outputs)]
    node = helper.make_node(op, names, results, **attributes)
    graph = helper.make_graph([node], "layer", values, [onnx.ValueInfoProto(name=name) for name in results], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=9)
    return onnx.shape_inference.infer_shapes(model, strict_mode=True), data


def conv(c, m, size, k, stride=1, group=1, dilation=1, n=1):
    """Padded to keep the size; k and size: one number for both axes, or a tuple."""
    size = size if isinstance(size, tuple) else (size, size)
    k = k if isinstance(k, tuple) else (k,) * len(size)
    pads = [dilation * (kk - 1) // 2 for kk in k] * 2
    return layer("Conv", [(n, c, *size)], (m, c // group, *k), (m,), pads=pads, strides=[stride] * len(k), group=group,
                 dilations=[dilation] * len(k))


def deconv(c, m, size, k, stride):
    size = size if isinstance(size, tuple) else (size, size)
    return layer("ConvTranspose", [(1, c, *size)], (c, m, *(k,) * len(size)), (m,), strides=[stride] * len(size),
                 pads=[(k - stride) // 2] * 2 * len(size))


def pool(op, c, size, k, stride, **more):
    return layer(op, [(1, c, size, size)], kernel_shape=[k, k], strides=[stride, stride], pads=[k // 2] * 4, **more)


def ints(*values):
    return np.array(values, np.int64)


def layers():
    """{name: what makes it}; made when asked for, since some hold much."""
    made = {}
    for c, m, size in (64, 256, 56), (512, 2048, 7), (96, 24, 28), (3, 32, 224), (33, 17, 19), (320, 1, 32):
        made[f"conv 1x1 {c} {m} {size}"] = lambda c=c, m=m, s=size: conv(c, m, s, 1)
    for c, m, size, k, stride in ((64, 64, 56, 3, 1), (128, 128, 28, 3, 1), (512, 512, 7, 3, 1), (64, 128, 56, 3, 2), (3, 64, 224, 7, 2),
                                  (3, 32, 160, 3, 2), (3, 32, 128, 3, 1), (32, 1, 128, 3, 1), (1, 32, 128, 5, 1), (48, 48, 33, 5, 1), (37, 41, 23, 3, 1)):
        made[f"conv {k}x{k} {c} {m} {size} s{stride}"] = lambda a=(c, m, size, k, stride): conv(*a)
    for k in (1, 7), (7, 1), (1, 3):
        made[f"conv {k[0]}x{k[1]} 128 128 17"] = lambda k=k: conv(128, 128, 17, k)
    for c, size, k, stride in ((96, 56, 3, 1), (144, 56, 3, 2), (240, 28, 5, 1), (960, 7, 3, 1), (64, 14, 7, 1), (33, 19, 3, 1)):
        made[f"depthwise {k}x{k} {c} {size} s{stride}"] = lambda a=(c, c, size, k, stride, c): conv(*a)
    for c, size, group in (128, 56, 32), (512, 14, 32), (64, 28, 2), (240, 14, 5):
        made[f"grouped 3x3 {c} {size} g{group}"] = lambda c=c, s=size, g=group: conv(c, c, s, 3, 1, g)
    for dilation in 2, 6, 12:
        made[f"dilated 3x3 64 64 33 d{dilation}"] = lambda d=dilation: conv(64, 64, 33, 3, 1, 1, d)
    for c, m, size, k, stride, group in ((80, 256, 1000, 3, 1, 1), (256, 256, 500, 7, 1, 1), (1, 64, 4000, 10, 5, 1), (256, 256, 200, 31, 1, 256),
                                         (768, 768, 100, 128, 1, 16)):
        made[f"conv1d k{k} {c} {m} {size} s{stride} g{group}"] = lambda a=(c, m, (size,), k, stride, group): conv(*a)
    made["conv3d 3x3x3 16 32 16"] = lambda: conv(16, 32, (16, 16, 16), 3)
    for c, m, size, k, stride in ((64, 32, 56, 2, 2), (64, 64, 28, 4, 2), (32, 1, 64, 8, 4), (64, 32, 28, 3, 2), (21, 21, 16, 16, 8)):
        made[f"deconv k{k} s{stride} {c} {m} {size}"] = lambda a=(c, m, size, k, stride): deconv(*a)
    for c, m, size, k, stride in (256, 128, 64, 16, 8), (64, 32, 1000, 4, 2):
        made[f"deconv1d k{k} s{stride} {c} {m} {size}"] = lambda a=(c, m, (size,), k, stride): deconv(*a)
    for op in "MaxPool", "AveragePool":
        for c, size, k, stride in (64, 112, 3, 2), (192, 28, 3, 1), (128, 20, 13, 1), (32, 56, 2, 2):
            made[f"{op} {k}x{k} {c} {size} s{stride}"] = lambda a=(op, c, size, k, stride): pool(*a)
    for m, k, n in (1, 768, 3072), (1, 4096, 1000), (128, 768, 768), (384, 64, 384), (7, 513, 33), (512, 512, 2):
        made[f"MatMul {m}x{k}x{n}"] = lambda m=m, k=k, n=n: layer("MatMul", [(m, k)], (k, n))
    for shapes in ((12, 128, 64), (12, 64, 128)), ((12, 1, 64), (12, 64, 300)), ((8, 196, 196), (8, 196, 32)):
        made[f"MatMul {shapes[0]} {shapes[1]}"] = lambda s=shapes: layer("MatMul", list(s))
    made["Einsum bhqd,bhkd->bhqk"] = lambda: layer("Einsum", [(1, 12, 128, 64), (1, 12, 128, 64)], equation="bhqd,bhkd->bhqk")
    for op in ("Exp", "Log", "Sqrt", "Tanh", "Sigmoid", "Erf", "Sin", "Cos", "Softplus", "Elu", "Selu", "HardSwish", "Mish", "Reciprocal", "Floor", "Round",
               "Abs", "Relu", "Softsign", "Atan", "Sinh", "Asinh", "Tan"):
        made[op] = lambda op=op: layer(op, [(64, 56, 56)])
    for op in "Add", "Mul", "Div", "Pow", "Max", "PRelu":
        made[f"{op} (1, 64, 56, 56) (64, 1, 1)"] = lambda op=op: layer(op, [(1, 64, 56, 56), (64, 1, 1)])
    made["Mod"] = lambda: layer("Mod", [(64, 56, 56), (64, 56, 56)], fmod=1)
    made["Mod int64 by 7"] = lambda: layer("Mod", [(1000, (64, 56, 56))], ints(7))
    for shape in (12, 128, 128), (1, 1000), (3136, 49), (8, 20, 20):
        made[f"Softmax {shape}"] = lambda s=shape: layer("Softmax", [s])
    made["Softmax (1, 21, 64, 64) axis 1"] = lambda: layer("Softmax", [(1, 21, 64, 64)], axis=1)
    made["LogSoftmax (64, 1000)"] = lambda: layer("LogSoftmax", [(64, 1000)])
    made["LayerNormalization (128, 768)"] = lambda: layer("LayerNormalization", [(128, 768)], (768,), (768,))
    made["InstanceNormalization (1, 64, 56, 56)"] = lambda: layer("InstanceNormalization", [(1, 64, 56, 56)], (64,), (64,))
    made["GroupNormalization (1, 64, 56, 56)"] = lambda: layer("GroupNormalization", [(1, 64, 56, 56)], (64,), (64,), num_groups=8)
    made["BatchNormalization (1, 64, 56, 56)"] = lambda: layer("BatchNormalization", [(1, 64, 56, 56)], (64,), (64,), (64,), np.ones(64, np.float32))
    made["LRN (1, 64, 55, 55)"] = lambda: layer("LRN", [(1, 64, 55, 55)], size=5)
    made["LpNormalization (512, 256)"] = lambda: layer("LpNormalization", [(512, 256)])
    for op in "ReduceSum", "ReduceMax", "ReduceMean", "ReduceL2", "ReduceLogSumExp", "ReduceProd":
        for axes in (2, 3), (1,), (0, 2, 3):
            made[f"{op} (4, 64, 28, 28) {axes}"] = lambda op=op, axes=axes: layer(op, [(4, 64, 28, 28)], ints(*axes))
    for axis in 0, 1:
        made[f"ArgMax (512, 512) {axis}"] = lambda axis=axis: layer("ArgMax", [(512, 512)], axis=axis)
        made[f"CumSum (512, 512) {axis}"] = lambda axis=axis: layer("CumSum", [(512, 512)], ints(axis)[0].reshape(()))
    made["CumSum (8, 100, 37) 1"] = lambda: layer("CumSum", [(8, 100, 37)], ints(1)[0].reshape(()), exclusive=1, reverse=1)
    for shape, k in ((1, 1000), 5), ((100, 1000), 10), ((1, 8400), 300), ((1, 100000), 100):
        made[f"TopK {shape} {k}"] = lambda s=shape, k=k: layer("TopK", [s], ints(k), outputs=2)
    for perm in (0, 2, 3, 1), (0, 3, 1, 2), (3, 2, 1, 0), (0, 2, 1, 3):
        made[f"Transpose {perm}"] = lambda perm=perm: layer("Transpose", [(2, 64, 48, 40)], perm=perm)
    made["Concat axis 1"] = lambda: layer("Concat", [(1, 64, 28, 28), (1, 37, 28, 28)], axis=1)
    made["Concat axis 3"] = lambda: layer("Concat", [(1, 64, 28, 28), (1, 64, 28, 5)], axis=3)
    made["Slice step 2"] = lambda: layer("Slice", [(1, 64, 56, 56)], ints(0, 0), ints(56, 56), ints(2, 3), ints(2, 2))
    made["Pad reflect"] = lambda: layer("Pad", [(1, 64, 56, 56)], ints(0, 0, 3, 3, 0, 0, 3, 3), mode="reflect")
    made["Pad constant"] = lambda: layer("Pad", [(1, 64, 56, 56)], ints(0, 0, 1, 1, 0, 0, 1, 1))
    made["Tile"] = lambda: layer("Tile", [(16, 1, 64)], ints(1, 50, 3))
    made["Expand"] = lambda: layer("Expand", [(64, 1, 56)], ints(64, 56, 56))
    made["Trilu"] = lambda: layer("Trilu", [(12, 256, 256)])
    made["Gather axis 0"] = lambda: layer("Gather", [(5000, 768), (5000, (128,))])
    made["Gather axis 1"] = lambda: layer("Gather", [(500, 768), (768, (128,))], axis=1)
    made["GatherElements axis 1"] = lambda: layer("GatherElements", [(500, 768), (768, (500, 128))], axis=1)
    made["GatherND"] = lambda: layer("GatherND", [(100, 80, 16), (80, (1000, 2))])
    made["ScatterElements"] = lambda: layer("ScatterElements", [(500, 768), (768, (500, 16)), (500, 16)], axis=1, reduction="add")
    made["ScatterND"] = lambda: layer("ScatterND", [(500, 768), (500, (100, 1)), (100, 768)])
    made["OneHot"] = lambda: layer("OneHot", [(80, (4000,))], ints(80), np.array([0, 1], np.float32))
    made["DepthToSpace"] = lambda: layer("DepthToSpace", [(1, 64, 56, 56)], blocksize=2)
    made["SpaceToDepth"] = lambda: layer("SpaceToDepth", [(1, 16, 112, 112)], blocksize=2)
    for mode in "nearest", "linear", "cubic":
        for scale in 2, 0.5, 1.3:
            made[f"Resize {mode} {scale}"] = lambda mode=mode, s=scale: resize((1, 32, 40, 40), s, mode=mode)
        made[f"Resize {mode} align_corners"] = lambda mode=mode: resize((1, 32, 40, 40), 2, mode=mode, coordinate_transformation_mode="align_corners")
        made[f"Resize {mode} asymmetric"] = lambda mode=mode: resize((1, 3, 120, 160), 1.5, mode=mode, coordinate_transformation_mode="asymmetric")
        if mode != "cubic":  # ONNX Runtime has no cubic one
            made[f"Resize {mode} 3-D"] = lambda mode=mode: resize((1, 16, 12, 20, 20), 2, mode=mode)
    made["Resize linear antialias"] = lambda: resize((1, 3, 320, 320), 0.4, mode="linear", antialias=1)
    for mode in "linear", "nearest", "cubic":
        for padding in "zeros", "border", "reflection":
            made[f"GridSample {mode} {padding}"] = lambda mode=mode, padding=padding: layer(
                "GridSample", [(1, 32, 40, 40), (1, 40, 40, 2)], mode=mode, padding_mode=padding)
    made["GridSample 3 channels"] = lambda: layer("GridSample", [(1, 3, 120, 160), (1, 120, 160, 2)], align_corners=1)
    made["GridSample few of many"] = lambda: layer("GridSample", [(1, 32, 100, 100), (1, 300, 4, 2)])
    made["GridSample 3-D"] = lambda: layer("GridSample", [(1, 16, 12, 20, 20), (1, 12, 20, 20, 3)])
    for mode in "avg", "max":
        made[f"RoiAlign {mode}"] = lambda mode=mode: roi_align(sampling_ratio=2, mode=mode)
    made["RoiAlign adaptive"] = lambda: roi_align(sampling_ratio=0)
    for n, parts, attributes in (512, 1, {"onesided": 1}), (400, 2, {}), (1024, 2, {"inverse": 1}), (401, 1, {"onesided": 1}), (16384, 1, {"onesided": 1}):
        made[f"DFT {n}x{parts} {attributes}"] = lambda n=n, p=parts, a=attributes: layer("DFT", [(16, n, p)], None, ints(1)[0].reshape(()), **a)
    made["DFT axis 1 of 3"] = lambda: layer("DFT", [(8, 64, 64, 2)], None, ints(1)[0].reshape(()))
    for n, hop in (400, 160), (512, 160), (2048, 512):
        made[f"STFT {n} {hop}"] = lambda n=n, hop=hop: layer("STFT", [(1, 16000)], ints(hop)[0].reshape(()), np.hanning(n).astype(np.float32))
    made["LSTM 32 128"] = lambda: layer("LSTM", [(32, 1, 64)], (1, 512, 64), (1, 512, 128), (1, 1024), hidden_size=128)
    made["GRU 32 128"] = lambda: layer("GRU", [(32, 1, 64)], (1, 384, 64), (1, 384, 128), (1, 768), hidden_size=128)
    return made


def resize(shape, scale, **attributes):
    scales = np.array([1, 1] + [scale] * (len(shape) - 2), np.float32)
    return layer("Resize", [shape], np.zeros(0, np.float32), scales, **attributes)


def roi_align(**attributes):
    model, data = layer("RoiAlign", [(1, 64, 50, 50), (100, 4), (1, (100,))], output_height=7, output_width=7, spatial_scale=0.25, **attributes)
    data["x1"] = np.sort(random.uniform(0, 200, (100, 2, 2)), axis=1).reshape(100, 4).astype(np.float32)
    return model, data


def bench(made, args):
    """(how many times ours ONNX Runtime takes, what to print)"""
    model, data = made
    with tempfile.TemporaryDirectory(prefix="nn-layer-") as folder:
        os.mkdir(os.path.join(folder, "c"))
        path = os.path.join(folder, "layer.onnx")
        onnx.save(model, path)
        session = models.session_of(path)
        want = dict(zip([o.name for o in session.get_outputs()], session.run(None, data)))
        ours = models.Compiled(path, {}, args, os.path.join(folder, "c"))
        ours.open(data)
        ours.run()
        error = models.difference(want, ours.outputs())
        ratio, told = models.compared(*models.by_turns([ours.run, models.OnnxRuntime(path, data, 1).run], args), "ONNX Runtime")
    return ratio, told + ("" if error <= 1e-3 else f", outputs differ by {error:.1e} WRONG")


def main():
    args = models.options(__doc__, [])
    results = []
    for name, make in layers().items():
        if not args.models or any(part in name for part in args.models):
            ratio, told = bench(make(), args)
            results.append((ratio, f"{name}: {told}"))
            print(results[-1][1], flush=True)
    slower = sorted(r for r in results if r[0] < 1)
    print(f"{len(results) - len(slower)} of {len(results)} layers at least as fast", *[told for _, told in slower], sep="\n")
    return any("WRONG" in told for _, told in results)


if __name__ == "__main__":
    sys.exit(main())
