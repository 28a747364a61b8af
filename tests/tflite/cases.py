"""Random models of one operator each, for run: CASES maps a name to a function of a random generator that gives the
graphs of a model. Shapes, scales, zero points and attributes are drawn anew for each seed; sizes are small and odd."""
import numpy as np
from model import Graph

CASES = {}
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "int32": (-2**31, 2**31 - 1)}


def case(*names, **more):
    def add(f):
        for n in names:
            CASES[n] = lambda r, n=n, f=f: f(r, n, **more)
        return f
    return add


def dims(r, rank, low=1, high=6):
    return [int(v) for v in r.integers(low, high, rank)]


def quant(r, dtype, low=0.003, high=0.2):
    """A scale and a zero point for a tensor of that type."""
    scale = np.float32(np.exp(r.uniform(np.log(low), np.log(high))))
    zero = 0 if dtype in ("int16", "int32") else int(r.integers(*LIMITS[dtype]))
    return {"scale": scale, "zero": zero}


def codes(r, dtype, shape):
    lo, hi = LIMITS[dtype]
    return r.integers(lo, hi + 1, shape).astype(dtype)


def q_or_f(r, kind):
    return ("float32", {}) if kind == "float32" else (kind, quant(r, kind))


ACT = [0, 0, 1, 2, 3]


def binary(r, name, types=("float32", "int8", "uint8", "int16"), options=None, acts=True, out=None):
    t = types[int(r.integers(len(types)))]
    rank = int(r.integers(1, 5))
    shape = dims(r, rank)
    other = [1 if r.random() < 0.3 else d for d in shape][int(r.integers(0, rank)) if r.random() < 0.3 else 0:]
    g = Graph()
    a, b = g.input(t, shape, **q_or_f(r, t)[1]), g.input(t, other, **q_or_f(r, t)[1])
    more = {"fused_activation_function": int(r.choice(ACT))} if options and acts else {}
    o = g.tensor(out or t, shape, **(q_or_f(r, t)[1] if not out else {}))
    g.op(name, [a, b], [o], options, **more)
    g.outs = [o]
    return [g]


@case("ADD", options="AddOptions")
@case("SUB", options="SubOptions")
@case("MUL", options="MulOptions")
def arithmetic(r, name, options):
    return binary(r, name, options=options)


@case("DIV", options="DivOptions")
def division(r, name, options):
    g = binary(r, name, types=("float32", "int8", "uint8"), options=options)[0]
    t = g.tensors[g.ins[1]]
    if t.dtype != "float32":           # LiteRT refuses divisors that are 0, and shifts by more than 31 for large ones
        lo, hi = LIMITS[t.dtype]
        t.zero = int(np.clip(t.zero, lo + 3, hi - 3))
        t.data = (t.zero + r.choice([-3, -2, -1, 1, 2, 3], t.shape)).astype(t.dtype)
        t.scale = g.tensors[g.outs[0]].scale = np.float32([0.05])
        g.ins = g.ins[:1]
    return [g]


@case("SQUARED_DIFFERENCE", types=("float32", "int8"))
@case("MAXIMUM", "MINIMUM", types=("float32", "int32"))
def plain_binary(r, name, types):
    return binary(r, name, types=types)


@case("EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL")
def comparison(r, name):
    return binary(r, name, types=("float32", "int8", "uint8", "int32") if "EQ" not in name else ("int8", "int32"), out="bool")


@case("FLOOR_DIV", "FLOOR_MOD")
def floors(r, name):
    g = binary(r, name, types=("float32", "int32"))[0]
    t = g.tensors[g.ins[1]]
    t.data = r.integers(1, 9, t.shape).astype(t.dtype) * (1 if r.random() < 0.5 else -1)
    t.data = t.data.astype(t.dtype)
    g.ins = g.ins[:1]
    return [g]


def unary(r, name, types, options=None, out_quant=None, in_quant=None, positive=False, **fields):
    t = types[int(r.integers(len(types)))]
    shape = dims(r, int(r.integers(1, 5)))
    g = Graph()
    qi = {} if t == "float32" else in_quant(r, t) if in_quant else quant(r, t)
    if positive and t != "float32":
        qi["zero"] = LIMITS[t][0] if t != "int16" else 0
    qo = {} if t == "float32" else out_quant(r, t) if out_quant else quant(r, t)
    x = g.input(t, shape, **qi)
    o = g.tensor(t, shape, **qo)
    g.op(name, [x], [o], options, **fields)
    g.outs = [o]
    return [g]


Q3 = ("float32", "int8", "uint8")
Q4 = ("float32", "int8", "uint8", "int16")


@case("RELU", "RELU6", types=Q4)
@case("RELU_N1_TO_1", types=Q3)
def relus(r, name, types):
    return unary(r, name, types)


@case("ABS")
def absolute(r, name):
    return unary(r, name, ("float32", "int8"))


@case("LEAKY_RELU")
def leaky(r, name):
    return unary(r, name, Q4, "LeakyReluOptions", alpha=float(r.uniform(0.01, 0.9)))


@case("HARD_SWISH")
def hard_swish(r, name):
    return unary(r, name, Q3, out_quant=lambda r, t: quant(r, t, 0.01, 0.5), in_quant=lambda r, t: quant(r, t, 0.003, 0.2))


@case("TANH")
def tanh(r, name):
    return unary(r, name, Q4, out_quant=lambda r, t: {"scale": 1 / 32768, "zero": 0} if t == "int16" else quant(r, t))


@case("LOGISTIC")
def logistic(r, name):
    def out(r, t):
        return {"int16": {"scale": 1 / 32768}, "int8": {"scale": 1 / 256, "zero": -128},
                "uint8": {"scale": 1 / 256, "zero": 0}}[t]
    return unary(r, name, Q4, out_quant=out)


@case("EXP", types=("float32", "int8", "int16"))
@case("ELU", types=("float32", "int8"))
def tables(r, name, types):
    return unary(r, name, types, in_quant=lambda r, t: quant(r, t, 0.0001 if t == "int16" else 0.003, 0.0003 if t == "int16" else 0.03))


@case("LOG")
def logs(r, name):
    return unary(r, name, ("int8", "int16"))


@case("GELU")
def gelu(r, name):
    return unary(r, name, ("float32", "int8"), "GeluOptions", approximate=bool(r.integers(2)))


@case("RSQRT", "SQRT")
def roots(r, name):
    return unary(r, name, ("int8",), positive=True)


@case("NEG", "SIN", "COS", "FLOOR", "CEIL", "ROUND", "SQUARE", "SIGN")
def floats(r, name):
    return unary(r, name, ("float32",))


@case("PRELU")
def prelu(r, name):
    t = Q3[int(r.integers(3))]
    shape = dims(r, 4)
    g = Graph()
    x = g.input(t, shape, **q_or_f(r, t)[1])
    slope = [1, 1, shape[3]]
    a = g.const(r.normal(size=slope).astype("float32") if t == "float32" else codes(r, t, slope), **q_or_f(r, t)[1])
    o = g.tensor(t, shape, **q_or_f(r, t)[1])
    g.op(name, [x, a], [o])
    g.outs = [o]
    return [g]


@case("QUANTIZE")
def quantize(r, name):
    t = ("float32", "int8", "uint8", "int16")[int(r.integers(4))]
    to = ("int8", "int16") if t == "int16" else ("int8", "uint8", "int16")
    to = to[int(r.integers(len(to)))]
    shape = dims(r, 3)
    g = Graph()
    x = g.input(t, shape, **q_or_f(r, t)[1])
    o = g.tensor(to, shape, **quant(r, to))
    g.op(name, [x], [o])
    g.outs = [o]
    return [g]


@case("DEQUANTIZE")
def dequantize(r, name):
    t = ("int8", "uint8", "int16")[int(r.integers(3))]
    g = Graph()
    shape = dims(r, 3)
    x = g.input(t, shape, **quant(r, t))
    o = g.tensor("float32", shape)
    g.op(name, [x], [o])
    g.outs = [o]
    return [g]


@case("FAKE_QUANT")
def fake_quant(r, name):
    lo = float(r.uniform(-6, 0))
    return unary(r, name, ("float32",), "FakeQuantOptions", min=lo, max=lo + float(r.uniform(0.5, 9)),
                 num_bits=int(r.integers(4, 12)), narrow_range=False)


# ---- convolutions and products
def same(size, stride):
    return -(-size // stride)


def out_size(size, kernel, stride, dilation, padding):
    reach = (kernel - 1) * dilation + 1
    return same(size, stride) if padding == 0 else max(-(-(size - reach + 1) // stride), 0)


def weights(r, kind, shape, axis):
    if kind == "float32":
        return r.normal(size=shape).astype("float32"), {}, "float32"
    if kind == "uint8":
        return codes(r, "uint8", shape), quant(r, "uint8"), "int32"
    w = r.integers(-127, 128, shape).astype("int8")
    n = shape[axis] if r.random() < 0.7 else 1
    scale = np.exp(r.uniform(np.log(0.003), np.log(0.05), n)).astype("float32")
    return w, {"scale": scale, "axis": axis if n > 1 else 0}, "int64" if kind == "int16" else "int32"


def bias_of(r, g, n, kind, xq, wq):
    if kind == "float32":
        return g.const(r.normal(size=n).astype("float32"))
    scale = np.float32(xq["scale"]) * np.atleast_1d(np.float32(wq["scale"]))
    return g.const(r.integers(-3000, 3000, n).astype("int64" if kind == "int16" else "int32"), scale=scale)


def image_conv(r, kind, depthwise, hybrid=False):
    g = Graph()
    n, h, w, c = 1 + int(r.integers(2)), *dims(r, 2, 3, 9), int(r.integers(1, 6))
    kh, kw, oc = *dims(r, 2, 1, 4), int(r.integers(1, 7))
    padding = int(r.integers(2))
    sh, sw = dims(r, 2, 1, 3)
    dh, dw = (dims(r, 2, 1, 3) if sh == sw == 1 and not hybrid else (1, 1))
    if padding == 1:
        h, w = max(h, (kh - 1) * dh + 1), max(w, (kw - 1) * dw + 1)
    mult = int(r.integers(1, 4))
    if depthwise:
        oc = c * mult
    shape = [1, kh, kw, oc] if depthwise else [oc, kh, kw, c]
    xq = {} if kind == "float32" else quant(r, kind)
    data, wq, _ = weights(r, "int8" if hybrid else kind, shape, 3 if depthwise else 0)
    if hybrid and not depthwise:
        wq["scale"] = wq["scale"][:1]
        wq["axis"] = 0
    x = g.input(kind, [n, h, w, c], **xq)
    k = g.const(data, **wq)
    ins = [x, k, bias_of(r, g, oc, kind, xq, wq)]
    oq = {} if kind == "float32" else quant(r, kind, 0.02, 0.5)
    o = g.tensor(kind, [n, out_size(h, kh, sh, dh, padding), out_size(w, kw, sw, dw, padding), oc], **oq)
    fields = dict(padding=padding, stride_w=sw, stride_h=sh, dilation_w_factor=dw, dilation_h_factor=dh,
                  fused_activation_function=int(r.choice(ACT)))
    if depthwise:
        fields["depth_multiplier"] = mult
    g.op("DEPTHWISE_CONV_2D" if depthwise else "CONV_2D", ins, [o],
         "DepthwiseConv2DOptions" if depthwise else "Conv2DOptions", **fields)
    g.outs = [o]
    return [g]


for _kind in Q4:
    CASES["CONV_2D " + _kind] = lambda r, k=_kind: image_conv(r, k, False)
    CASES["DEPTHWISE_CONV_2D " + _kind] = lambda r, k=_kind: image_conv(r, k, True)
CASES["CONV_2D hybrid"] = lambda r: image_conv(r, "float32", False, True)


def transpose_conv(r, kind):
    g = Graph()
    n, h, w, c, oc = 1, *dims(r, 2, 1, 5), int(r.integers(1, 4)), int(r.integers(1, 4))
    kh, kw = dims(r, 2, 1, 5)
    sh, sw = dims(r, 2, 1, 4)
    padding = int(r.integers(2))
    size = [h * sh, w * sw] if padding == 0 else [(h - 1) * sh + kh, (w - 1) * sw + kw]
    if padding == 0:                   # a kernel smaller than the stride leaves gaps that LiteRT refuses
        kh, kw = max(kh, sh), max(kw, sw)
    shape = g.const(np.array([n, *size, oc], "int32"))
    xq = {} if kind == "float32" else quant(r, kind)
    data, wq, _ = weights(r, kind, [oc, kh, kw, c], 0)
    if kind == "uint8":
        wq["zero"] = 0
    k = g.const(data, **wq)
    x = g.input(kind, [n, h, w, c], **xq)
    ins = [shape, k, x, bias_of(r, g, oc, kind, xq, wq)]
    oq = {} if kind == "float32" else quant(r, kind, 0.02, 0.5)
    o = g.tensor(kind, [n, *size, oc], **oq)
    g.op("TRANSPOSE_CONV", ins, [o], "TransposeConvOptions", padding=padding, stride_w=sw, stride_h=sh)
    g.outs = [o]
    return [g]


def fully_connected(r, kind, hybrid=False):
    g = Graph()
    b, k, n = int(r.integers(1, 5)), int(r.integers(1, 20)), int(r.integers(1, 9))
    keep = bool(r.integers(2))
    shape = [2, b, k] if r.random() < 0.4 else [b, k]
    xq = {} if kind == "float32" else quant(r, kind)
    data, wq, _ = weights(r, "int8" if hybrid else kind, [n, k], 0)
    x = g.input(kind, shape, **xq)
    ins = [x, g.const(data, **wq), bias_of(r, g, n, kind, xq, wq)]
    if r.random() < 0.3:
        ins[2] = -1
    rows = int(np.prod(shape[:-1]))
    oq = {} if kind == "float32" else quant(r, kind, 0.02, 0.5)
    o = g.tensor(kind, shape[:-1] + [n] if keep else [rows, n], **oq)
    g.op("FULLY_CONNECTED", ins, [o], "FullyConnectedOptions", keep_num_dims=keep,
         fused_activation_function=int(r.choice(ACT)),
         asymmetric_quantize_inputs=bool(hybrid and r.integers(2)))
    g.outs = [o]
    return [g]


def batch_matmul(r, kind):
    g = Graph()
    n, m, k, p = dims(r, 4)
    ax, ay = bool(r.integers(2)), bool(r.integers(2))
    a = g.input(kind, [n, k, m] if ax else [n, m, k], **q_or_f(r, kind)[1])
    b = g.input(kind, [1 if r.random() < 0.3 else n, *((p, k) if ay else (k, p))], **q_or_f(r, kind)[1])
    oq = {} if kind == "float32" else quant(r, kind, 0.02, 0.5)
    o = g.tensor(kind, [n, m, p], **oq)
    g.op("BATCH_MATMUL", [a, b], [o], "BatchMatMulOptions", adj_x=ax, adj_y=ay)
    g.outs = [o]
    return [g]


for _kind in Q4:
    CASES["TRANSPOSE_CONV " + _kind] = lambda r, k=_kind: transpose_conv(r, k)
    CASES["FULLY_CONNECTED " + _kind] = lambda r, k=_kind: fully_connected(r, k)
for _kind in ("float32", "int8", "int16"):
    CASES["BATCH_MATMUL " + _kind] = lambda r, k=_kind: batch_matmul(r, k)
CASES["FULLY_CONNECTED hybrid"] = lambda r: fully_connected(r, "float32", True)


# ---- pools, reductions, norms
@case("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")
def pool(r, name):
    t = "float32" if name[0] == "L" else Q4[int(r.integers(4))]
    g = Graph()
    n, h, w, c = 1, *dims(r, 2, 3, 9), int(r.integers(1, 5))
    fh, fw = dims(r, 2, 1, 4)
    sh, sw = dims(r, 2, 1, 4)
    padding = int(r.integers(2))
    q = q_or_f(r, t)[1]
    x = g.input(t, [n, h, w, c], **q)
    o = g.tensor(t, [n, out_size(h, fh, sh, 1, padding), out_size(w, fw, sw, 1, padding), c], **q)
    g.op(name, [x], [o], "Pool2DOptions", padding=padding, stride_w=sw, stride_h=sh, filter_width=fw, filter_height=fh,
         fused_activation_function=int(r.choice(ACT)))
    g.outs = [o]
    return [g]


@case("MEAN", types=Q4)
@case("SUM", types=("float32", "uint8"))
@case("REDUCE_PROD", types=("float32",))
@case("REDUCE_MAX", "REDUCE_MIN", types=("float32",))
def reduction(r, name, types):
    t = types[int(r.integers(len(types)))]
    rank = int(r.integers(1, 5))
    shape = dims(r, rank)
    axes = sorted(r.choice(rank, int(r.integers(1, rank + 1)), replace=False).tolist())
    keep = bool(r.integers(2))
    g = Graph()
    x = g.input(t, shape, **q_or_f(r, t)[1])
    a = g.const(np.array(axes, "int32") - (rank if r.random() < 0.3 else 0))
    out = [1 if k in axes else d for k, d in enumerate(shape) if keep or k not in axes]
    o = g.tensor(t, out, **q_or_f(r, t)[1])
    g.op(name, [x, a], [o], "ReducerOptions", keep_dims=keep)
    g.outs = [o]
    return [g]


@case("SOFTMAX")
def softmax(r, name):
    t = Q4[int(r.integers(4))]
    shape = dims(r, int(r.integers(1, 5)), 1, 9)
    oq = {"float32": {}, "int8": {"scale": 1 / 256, "zero": -128}, "uint8": {"scale": 1 / 256, "zero": 0},
          "int16": {"scale": 1 / 32768}}[t]
    g = Graph()
    x = g.input(t, shape, **({} if t == "float32" else quant(r, t, 0.0005 if t == "int16" else 0.01, 0.002 if t == "int16" else 0.5)))
    o = g.tensor(t, shape, **oq)
    g.op(name, [x], [o], "SoftmaxOptions", beta=float(r.uniform(0.3, 2)))
    g.outs = [o]
    return [g]


@case("LOG_SOFTMAX")
def log_softmax(r, name):
    return unary(r, name, ("float32",))


@case("L2_NORMALIZATION")
def l2norm(r, name):
    return unary(r, name, Q3, "L2NormOptions",
                 out_quant=lambda r, t: {"scale": 1 / 128, "zero": 0 if t == "int8" else 128})


@case("LOCAL_RESPONSE_NORMALIZATION")
def lrn(r, name):
    g = Graph()
    shape = dims(r, 4, 2, 7)
    x, o = g.input("float32", shape), g.tensor("float32", shape)
    g.op(name, [x], [o], "LocalResponseNormalizationOptions", radius=int(r.integers(1, 4)), bias=1.5, alpha=0.3, beta=0.7)
    g.outs = [o]
    return [g]


@case("RESIZE_BILINEAR", "RESIZE_NEAREST_NEIGHBOR")
def resize(r, name):
    t = Q3[int(r.integers(3))]
    corners = bool(r.integers(2))
    g = Graph()
    n, h, w, c = dims(r, 4)
    to = dims(r, 2, 1, 12)
    q = q_or_f(r, t)[1]
    x = g.input(t, [n, h, w, c], **q)
    o = g.tensor(t, [n, *to, c], **q)
    g.op(name, [x, g.const(np.array(to, "int32"))], [o],
         "ResizeBilinearOptions" if "BIL" in name else "ResizeNearestNeighborOptions", align_corners=corners,
         half_pixel_centers=not corners and bool(r.integers(2)))
    g.outs = [o]
    return [g]


# ---- moving
def moved(r, name, shape, consts, out, options=None, types=("float32", "int8", "int32"), **fields):
    t = types[int(r.integers(len(types)))]
    q = {} if t in ("float32", "int32") else quant(r, t)
    g = Graph()
    x = g.input(t, shape, **q)
    o = g.tensor(t, out, **q)
    g.op(name, [x] + [g.const(c) for c in consts], [o], options, **fields)
    g.outs = [o]
    return [g]


@case("RESHAPE")
def reshape(r, name):
    return moved(r, name, [2, 3, 4], [np.array([4, -1], "int32")], [4, 6], "ReshapeOptions", new_shape=[4, -1])


@case("TRANSPOSE")
def transpose(r, name):
    shape = dims(r, 4)
    p = r.permutation(4)
    return moved(r, name, shape, [p.astype("int32")], [shape[k] for k in p])


@case("SQUEEZE", "EXPAND_DIMS")
def squeeze(r, name):
    if name == "SQUEEZE":
        return moved(r, name, [1, 3, 1, 2], [], [3, 1, 2], "SqueezeOptions", squeeze_dims=[0])
    return moved(r, name, [3, 2], [np.array([-1], "int32")], [3, 2, 1])


@case("TILE")
def tile(r, name):
    shape, times = dims(r, 3), dims(r, 3, 1, 4)
    return moved(r, name, shape, [np.array(times, "int32")], [a * b for a, b in zip(shape, times)])


@case("SLICE")
def cut(r, name):
    shape = dims(r, 3, 2, 7)
    begin = [int(r.integers(0, d)) for d in shape]
    size = [int(r.integers(1, d - b + 1)) if r.random() < 0.7 else -1 for d, b in zip(shape, begin)]
    out = [d - b if s < 0 else s for d, b, s in zip(shape, begin, size)]
    return moved(r, name, shape, [np.array(begin, "int32"), np.array(size, "int32")], out)


@case("STRIDED_SLICE")
def strided(r, name):
    shape = dims(r, 4, 2, 7)
    n = int(r.integers(1, 5))
    begin, end, step = [], [], []
    mask = {k: 0 for k in ("begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask")}
    index = []
    ellipsis = int(r.integers(0, n)) if r.random() < 0.3 else -1
    for k in range(n):
        d = shape[k] if ellipsis < 0 or k < ellipsis else shape[k - n]
        b, s = int(r.integers(-d, d)), int(r.choice([1, 1, 2, -1, -2]))
        e = int(r.integers(-d, d + 1))
        begin.append(b), end.append(e), step.append(s)
        if k == ellipsis:
            mask["ellipsis_mask"] |= 1 << k
            index.append(Ellipsis)
        elif r.random() < 0.2 and b != -1:
            mask["shrink_axis_mask"] |= 1 << k
            step[k] = 1
            end[k] = b + 1
            index.append(b)
        else:
            nb, ne = r.random() < 0.3, r.random() < 0.5
            mask["begin_mask"] |= nb << k
            mask["end_mask"] |= ne << k
            index.append(slice(None if nb else b, None if ne else e, s))
    out = np.zeros(shape)[tuple(index)].shape
    if 0 in out:
        return strided(r, name)
    return moved(r, name, shape, [np.array(v, "int32") for v in (begin, end, step)], list(out), "StridedSliceOptions", **mask)


@case("PAD")
def pad(r, name):
    shape = dims(r, 4)
    p = r.integers(0, 3, (4, 2)).astype("int32")
    return moved(r, name, shape, [p], [d + int(a + b) for d, (a, b) in zip(shape, p)])


@case("MIRROR_PAD")
def mirror(r, name):
    shape = dims(r, 3, 3, 6)
    p = r.integers(0, 3, (3, 2)).astype("int32")
    return moved(r, name, shape, [p], [d + int(a + b) for d, (a, b) in zip(shape, p)], "MirrorPadOptions",
                 mode=int(r.integers(2)))


@case("SPACE_TO_BATCH_ND")
def s2b(r, name):
    b = dims(r, 2, 1, 4)
    p = r.integers(0, 2, (2, 2))
    shape = [int(r.integers(1, 3)), *(int(r.integers(1, 3)) * k * 2 for k in b), 2]
    for k in range(2):
        p[k, 1] = -(shape[k + 1] + p[k, 0]) % b[k]
    out = [shape[0] * b[0] * b[1], (shape[1] + p[0].sum()) // b[0], (shape[2] + p[1].sum()) // b[1], 2]
    return moved(r, name, shape, [np.array(b, "int32"), p.astype("int32")], [int(v) for v in out])


@case("BATCH_TO_SPACE_ND")
def b2s(r, name):
    b = dims(r, 2, 1, 4)
    shape = [b[0] * b[1] * int(r.integers(1, 3)), *dims(r, 2, 2, 4), 2]
    c = r.integers(0, 2, (2, 2))
    out = [shape[0] // (b[0] * b[1]), shape[1] * b[0] - c[0].sum(), shape[2] * b[1] - c[1].sum(), 2]
    if min(out) < 1:
        c[:] = 0
        out = [shape[0] // (b[0] * b[1]), shape[1] * b[0], shape[2] * b[1], 2]
    return moved(r, name, shape, [np.array(b, "int32"), c.astype("int32")], [int(v) for v in out])


@case("SPACE_TO_DEPTH")
def s2d(r, name):
    b = int(r.integers(2, 4))
    return moved(r, name, [1, 2 * b, 3 * b, 2], [], [1, 2, 3, 2 * b * b], "SpaceToDepthOptions", block_size=b)


@case("DEPTH_TO_SPACE")
def d2s(r, name):
    b = int(r.integers(2, 4))
    return moved(r, name, [1, 2, 3, 2 * b * b], [], [1, 2 * b, 3 * b, 2], "DepthToSpaceOptions", block_size=b)


@case("GATHER")
def gather(r, name):
    shape = dims(r, 3, 2, 6)
    axis = int(r.integers(0, 3))
    batch = int(r.integers(0, 2)) if axis >= 1 else 0
    k = r.integers(0, shape[axis], ([shape[0]] if batch else []) + [3]).astype("int32")
    out = shape[:axis] + [3] + shape[axis + 1:]
    return moved(r, name, shape, [k], out, "GatherOptions", axis=axis, batch_dims=batch)


@case("REVERSE_V2")
def reverse(r, name):
    shape = dims(r, 3)
    return moved(r, name, shape, [np.array([int(r.integers(3))], "int32")], shape)


@case("CONCATENATION")
def concat(r, name):
    t = Q3[int(r.integers(3))]
    g = Graph()
    shape, axis = dims(r, 3), int(r.integers(3))
    q = q_or_f(r, t)[1]
    n, ins = int(r.integers(1, 4)), []
    for k in range(n):
        s = list(shape)
        s[axis] = int(r.integers(1, 4))
        ins.append(g.input(t, s, **(q_or_f(r, t)[1] if t == "uint8" else q)))
    out = list(shape)
    out[axis] = sum(g.tensors[i].shape[axis] for i in ins)
    o = g.tensor(t, out, **q)
    g.op(name, ins, [o], "ConcatenationOptions", axis=axis - (3 if r.random() < 0.3 else 0))
    g.outs = [o]
    return [g]


@case("PACK")
def pack(r, name):
    g = Graph()
    shape, axis, n = dims(r, 2), int(r.integers(3)), int(r.integers(1, 4))
    ins = [g.input("float32", shape) for _ in range(n)]
    o = g.tensor("float32", shape[:axis] + [n] + shape[axis:])
    g.op(name, ins, [o], "PackOptions", values_count=n, axis=axis)
    g.outs = [o]
    return [g]


@case("UNPACK", "SPLIT", "SPLIT_V")
def unpack(r, name):
    g = Graph()
    axis = int(r.integers(2))
    shape = dims(r, 3)
    if name == "UNPACK":
        x = g.input("float32", shape)
        g.outs = [g.tensor("float32", shape[:axis] + shape[axis + 1:]) for _ in range(shape[axis])]
        g.op(name, [x], g.outs, "UnpackOptions", num=shape[axis], axis=axis)
        return [g]
    n = int(r.integers(1, 4))
    sizes = dims(r, n, 1, 4) if name == "SPLIT_V" else [2] * n
    shape[axis] = sum(sizes)
    x = g.input("float32", shape)
    g.outs = [g.tensor("float32", shape[:axis] + [s] + shape[axis + 1:]) for s in sizes]
    a = g.const(np.array(axis, "int32"))
    if name == "SPLIT":
        g.op(name, [a, x], g.outs, "SplitOptions", num_splits=n)
    else:
        g.op(name, [x, g.const(np.array(sizes, "int32")), a], g.outs, "SplitVOptions", num_splits=n)
    return [g]


@case("ARG_MAX", "ARG_MIN")
def arg(r, name):
    shape, axis = dims(r, 3), int(r.integers(3))
    g = Graph()
    x = g.input("float32", shape)
    o = g.tensor("int32", shape[:axis] + shape[axis + 1:])
    g.op(name, [x, g.const(np.array(axis, "int32"))], [o], "Arg%sOptions" % name[4:].title(), output_type=2)
    g.outs = [o]
    return [g]


@case("CUMSUM")
def cumsum(r, name):
    shape = dims(r, 3)
    return moved(r, name, shape, [np.array(int(r.integers(3)), "int32")], shape, "CumsumOptions",
                 types=("float32", "int32"), exclusive=bool(r.integers(2)), reverse=bool(r.integers(2)))


@case("TOPK_V2")
def topk(r, name):
    shape = dims(r, 2, 3, 8)
    k = int(r.integers(1, 3))
    g = Graph()
    x = g.input("float32", shape)
    g.outs = [g.tensor("float32", [shape[0], k]), g.tensor("int32", [shape[0], k])]
    g.op(name, [x, g.const(np.array(k, "int32"))], g.outs)
    return [g]


@case("SELECT", "SELECT_V2")
def select(r, name):
    g = Graph()
    shape = dims(r, 3)
    c, a, b = g.input("bool", shape), g.input("float32", shape), g.input("float32", shape)
    o = g.tensor("float32", shape)
    g.op(name, [c, a, b], [o])
    g.outs = [o]
    return [g]


@case("ONE_HOT")
def one_hot(r, name):
    g = Graph()
    x = g.input("int32", [4])
    g.tensors[x].below = 5
    ins = [x] + [g.const(np.array(v, t)) for v, t in ((5, "int32"), (2.5, "float32"), (-1, "float32"))]
    o = g.tensor("float32", [4, 5])
    g.op(name, ins, [o], "OneHotOptions", axis=-1)
    g.outs = [o]
    return [g]


@case("CAST")
def cast(r, name):
    g = Graph()
    a, b = (("float32", "int32"), ("int32", "float32"), ("int8", "float32"), ("float32", "bool"))[int(r.integers(4))]
    shape = dims(r, 2)
    x, o = g.input(a, shape), g.tensor(b, shape)
    g.op(name, [x], [o], "CastOptions")
    g.outs = [o]
    return [g]


@case("GATHER_ND", "SCATTER_ND")
def nd(r, name):
    g = Graph()
    k = r.integers(0, 3, (4, 2)).astype("int32")
    if name == "GATHER_ND":
        x, o = g.input("float32", [3, 3, 2]), g.tensor("float32", [4, 2])
        g.op(name, [x, g.const(k)], [o])
    else:
        x, o = g.input("float32", [4, 2]), g.tensor("float32", [3, 3, 2])
        g.op(name, [g.const(k), x, g.const(np.array([3, 3, 2], "int32"))], [o])
    g.outs = [o]
    return [g]


@case("SEGMENT_SUM")
def segment(r, name):
    return moved(r, name, [5, 2], [np.array([0, 0, 1, 2, 2], "int32")], [3, 2], types=("float32", "int32"))


@case("DYNAMIC_UPDATE_SLICE")
def update(r, name):
    g = Graph()
    x, u = g.input("float32", [5, 4]), g.input("float32", [2, 3])
    o = g.tensor("float32", [5, 4])
    g.op(name, [x, u, g.const(np.array([int(r.integers(-1, 6)), int(r.integers(0, 4))], "int32"))], [o])
    g.outs = [o]
    return [g]


@case("REVERSE_SEQUENCE")
def reverse_sequence(r, name):
    return moved(r, name, [3, 4, 2], [np.array([1, 4, 2], "int32")], [3, 4, 2], "ReverseSequenceOptions",
                 types=("float32", "int32"), seq_dim=1, batch_dim=0)


@case("MATRIX_DIAG")
def matrix_diag(r, name):
    return moved(r, name, [2, 3], [], [2, 3, 3], types=("float32", "int32"))


@case("BUCKETIZE")
def bucketize(r, name):
    g = Graph()
    x, o = g.input("float32", [7]), g.tensor("int32", [7])
    g.op(name, [x], [o], "BucketizeOptions", boundaries=sorted(r.normal(size=5).tolist()))
    g.outs = [o]
    return [g]


# ---- recurrent operators, whose states are variables; control flow; calls
def lstm(r, kind, one_step=False):
    g = Graph()
    n, t, i, h = int(r.integers(1, 3)), int(r.integers(1, 5)), int(r.integers(1, 7)), int(r.integers(1, 6))
    cifg, peep = bool(r.integers(2)), kind == "float32" and bool(r.integers(2))
    proj = int(r.integers(1, 5)) if kind == "float32" and r.random() < 0.4 else 0
    o = proj or h
    major = bool(r.integers(2))
    codes8 = kind == "int8"
    xq = quant(r, "int8", 0.01, 0.05) if codes8 else {}
    hq = {"scale": np.float32(1 / 128), "zero": int(r.integers(-10, 10))} if codes8 else {}

    def matrix(rows, columns):
        if kind == "float32":
            return g.const((r.normal(size=(rows, columns)) * 0.5).astype("float32"))
        return g.const(r.integers(-127, 128, (rows, columns)).astype("int8"), scale=np.float32(r.uniform(0.004, 0.01)))

    def vector(size):
        if codes8:
            return g.const(r.integers(-2000, 2000, size).astype("int32"), scale=np.float32(0.001))
        return g.const(r.normal(size=size).astype("float32"))
    shape = lambda last: [n, last] if one_step else [t, n, last] if major else [n, t, last]
    x = g.input("int8" if codes8 else "float32", shape(i), **xq)
    ins = [x] + [-1 if cifg and k == 0 else matrix(h, i) for k in range(4)]
    ins += [-1 if cifg and k == 0 else matrix(h, o) for k in range(4)]
    ins += [vector(h) if peep and not (cifg and k == 0) else -1 for k in range(3)]
    ins += [-1 if cifg and k == 0 else vector(h) for k in range(4)]
    ins += [matrix(proj, h), vector(proj)] if proj else [-1, -1]
    ins.append(g.tensor("int8" if codes8 else "float32", [n, o], variable=True, **hq))
    ins.append(g.tensor("int16" if codes8 else "float32", [n, h], variable=True, **({"scale": np.float32(2**-11)} if codes8 else {})))
    ins += [-1] * 4
    out = g.tensor("int8" if codes8 else "float32", shape(o), **hq)
    mids = []
    if codes8:
        mids = [g.tensor("int16", [], scale=np.float32(2**-12)) for _ in range(4)] + [g.tensor("int8", [], **hq)]
    name, more = ("LSTM", {}) if one_step else ("UNIDIRECTIONAL_SEQUENCE_LSTM", {"time_major": major})
    options = "LSTMOptions" if one_step else "UnidirectionalSequenceLSTMOptions"
    g.op(name, ins, [out], options, intermediates=mids, **more, fused_activation_function=4, cell_clip=float(r.choice([0, 0, 1.5])),
         proj_clip=float(r.choice([0, 0.7])) if proj else 0.0)
    g.outs = [out]
    return [g]


for _kind in ("float32", "hybrid", "int8"):
    CASES["UNIDIRECTIONAL_SEQUENCE_LSTM " + _kind] = lambda r, k=_kind: lstm(r, k)
    CASES["LSTM " + _kind] = lambda r, k=_kind: lstm(r, k, True)


def weights_of(g, r, kind, *shape):
    if kind == "float32" or len(shape) == 1:
        return g.const((r.normal(size=shape) * 0.5).astype("float32"))
    return g.const(r.integers(-127, 128, shape).astype("int8"), scale=np.float32(r.uniform(0.004, 0.01)))


def rnn(r, name, kind):
    """One step, a sequence, or one in both directions, merged or not."""
    g, both = Graph(), name.startswith("BI")
    n, t, i, u = (int(v) for v in r.integers(1, 6, 4))
    major, merged = bool(r.integers(2)), bool(r.integers(2))
    shape = lambda last: [n, last] if name == "RNN" else [t, n, last] if major else [n, t, last]
    ins = [g.input("float32", shape(i))]
    for _ in range(2 if both else 1):
        ins += [weights_of(g, r, kind, u, i), weights_of(g, r, kind, u, u), weights_of(g, r, kind, u),
                g.tensor("float32", [n, u], variable=True)]
    g.outs = [g.tensor("float32", shape(2 * u if both and merged else u)) for _ in range(2 if both and not merged else 1)]
    more = {} if name == "RNN" else {"time_major": major, **({"merge_outputs": merged} if both else {})}
    options = {"R": "RNN", "U": "SequenceRNN", "B": "BidirectionalSequenceRNN"}[name[0]]
    g.op(name, ins + [-1] * (3 * both), g.outs, options + "Options", fused_activation_function=int(r.choice([1, 3, 4])), **more)
    return [g]


def both_lstm(r, kind):
    g = Graph()
    n, t, i, h = (int(v) for v in r.integers(1, 6, 4))
    major, merged, ins, states = bool(r.integers(2)), bool(r.integers(2)), [], []
    if merged and not major:           # of several batches LiteRT's kernel merges other values than it gives unmerged
        n = 1
    x = g.input("float32", [t, n, i] if major else [n, t, i])
    for _ in range(2):
        peep = [weights_of(g, r, kind, h) for _ in range(3)] if kind == "float32" and r.random() < 0.5 else [-1] * 3
        ins += [weights_of(g, r, kind, h, i) for _ in range(4)] + [weights_of(g, r, kind, h, h) for _ in range(4)] + peep
        ins += [weights_of(g, r, kind, h) for _ in range(4)] + [-1, -1]
        states += [g.tensor("float32", [n, h], variable=True) for _ in range(2)]
    o = 2 * h if merged else h
    g.outs = [g.tensor("float32", [t, n, o] if major else [n, t, o]) for _ in range(1 if merged else 2)]
    g.op("BIDIRECTIONAL_SEQUENCE_LSTM", [x] + ins + states + [-1] * 9, g.outs, "BidirectionalSequenceLSTMOptions",
         fused_activation_function=4, time_major=major, merge_outputs=merged, cell_clip=float(r.choice([0, 1.5])))
    return [g]


for _kind in ("float32", "hybrid"):
    CASES["BIDIRECTIONAL_SEQUENCE_LSTM " + _kind] = lambda r, k=_kind: both_lstm(r, k)
    for _name in ("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN"):
        if _kind == "hybrid" and _name[0] == "B":
            continue                   # LiteRT's kernel reads the auxiliary weights that are not there, and dies
        CASES[_name + " " + _kind] = lambda r, n=_name, k=_kind: rnn(r, n, k)


def svdf(r, kind):
    g = Graph()
    n, i, units, rank, memory = int(r.integers(1, 3)), *dims(r, 2), int(r.integers(1, 3)), int(r.integers(1, 6))
    f, codes8 = units * rank, kind == "int8"
    x = g.input("int8" if codes8 else "float32", [n, i], **(quant(r, "int8") if codes8 else {}))
    if kind == "float32":
        w, wt = g.const(r.normal(size=(f, i)).astype("float32")), g.const(r.normal(size=(f, memory)).astype("float32"))
    else:
        w = g.const(codes(r, "int8", (f, i)), scale=np.float32(0.02))
        wt = g.const(codes(r, "int16" if codes8 else "int8", (f, memory)), scale=np.float32(0.0004 if codes8 else 0.02))
    bias = g.const(r.integers(-999, 999, units).astype("int32"), scale=np.float32(1e-4)) if codes8 else \
        g.const(r.normal(size=units).astype("float32"))
    state = g.tensor("int16" if codes8 else "float32", [n, f * memory], variable=True,
                     **({"scale": np.float32(0.001)} if codes8 else {}))
    o = g.tensor("int8" if codes8 else "float32", [n, units], **(quant(r, "int8", 0.02, 0.3) if codes8 else {}))
    g.op("SVDF", [x, w, wt, bias, state], [o], "SVDFOptions", rank=rank,
         fused_activation_function=1 if codes8 else int(r.choice(ACT)))
    g.outs = [o]
    return [g]


for _kind in ("float32", "hybrid", "int8"):
    CASES["SVDF " + _kind] = lambda r, k=_kind: svdf(r, k)


def body(code, options, constant):
    """A graph of one binary operator with a constant."""
    g = Graph(code)
    x = g.input("float32", [2, 3])
    g.outs = [g.tensor("float32", [2, 3])]
    g.op(code, [x, g.const(np.float32(constant))], g.outs, options)
    return g


@case("IF")
def branches(r, name):
    g = Graph()
    c, x = g.input("bool", [1] if r.random() < 0.5 else []), g.input("float32", [2, 3])
    g.outs = [g.tensor("float32", [2, 3])]
    g.op("IF", [c, x], g.outs, "IfOptions", then_subgraph_index=1, else_subgraph_index=2)
    return [g, body("ADD", "AddOptions", 1.5), body("MUL", "MulOptions", -2)]


@case("WHILE")
def loop(r, name):
    limit = int(r.integers(0, 5))
    g, cond, b = Graph(), Graph("cond"), Graph("body")
    k, x = g.const(np.zeros((), "int32")), g.input("float32", [2, 3])
    g.outs = [g.tensor("int32", []), g.tensor("float32", [2, 3])]
    g.op("WHILE", [k, x], g.outs, "WhileOptions", cond_subgraph_index=1, body_subgraph_index=2)
    ck = cond.input("int32", [])
    cond.input("float32", [2, 3])
    cond.outs = [cond.tensor("bool", [])]
    cond.op("LESS", [ck, cond.const(np.int32(limit))], cond.outs)
    bk, bx = b.input("int32", []), b.input("float32", [2, 3])
    b.outs = [b.tensor("int32", []), b.tensor("float32", [2, 3])]
    b.op("ADD", [bk, b.const(np.int32(1))], b.outs[:1], "AddOptions")
    b.op("MUL", [bx, b.const(np.float32(0.5))], b.outs[1:], "MulOptions")
    return [g, cond, b]


@case("CALL_ONCE")
def variables(r, name):
    """y = x + v, v starts with what the graph called once assigns and becomes y."""
    g, once = Graph(), Graph("init")
    h = once.tensor("resource", [])
    once.op("VAR_HANDLE", [], [h], "VarHandleOptions", shared_name=b"v")
    once.op("ASSIGN_VARIABLE", [h, once.const(r.normal(size=(2, 3)).astype("float32"))], [])
    x = g.input("float32", [2, 3])
    h, v, y = g.tensor("resource", []), g.tensor("float32", [2, 3]), g.tensor("float32", [2, 3])
    g.op("CALL_ONCE", [], [], "CallOnceOptions", init_subgraph_index=1)
    g.op("VAR_HANDLE", [], [h], "VarHandleOptions", shared_name=b"v")
    g.op("READ_VARIABLE", [h], [v])
    g.op("ADD", [x, v], [y], "AddOptions")
    g.op("ASSIGN_VARIABLE", [h, y], [])
    g.outs = [y]
    return [g, once]


# ---- detection
@case("NON_MAX_SUPPRESSION_V4", "NON_MAX_SUPPRESSION_V5")
def nms(r, name):
    g, n, most = Graph(), int(r.integers(1, 12)), int(r.integers(1, 9))
    corner = r.uniform(0, 3, (n, 2))
    b = g.const(np.concatenate([corner, corner + r.uniform(0.3, 2, (n, 2))], 1).astype("float32"))
    ins = [b, g.input("float32", [n])] + [g.const(np.array(v, t)) for v, t in
                                          ((most, "int32"), (float(r.uniform(0.1, 0.7)), "float32"), (-1.0, "float32"))]
    g.outs = [g.tensor("int32", [most]), g.tensor("int32", [])]
    if name[-1] == "5":
        ins.append(g.const(np.float32(0)))
        g.outs.insert(1, g.tensor("float32", [most]))
    g.op(name, ins, g.outs)
    return [g]


@case("TFLite_Detection_PostProcess")
def detection(r, name):
    from flatbuffers import flexbuffers
    g, n, classes, each, most = Graph(), 24, int(r.integers(2, 6)), int(r.integers(1, 3)), 3
    b = flexbuffers.Builder()
    with b.Map():
        for k, v in dict(max_detections=most, max_classes_per_detection=each, num_classes=classes, detections_per_class=5).items():
            b.Int(k, v)
        for k, v in dict(nms_score_threshold=-100.0, nms_iou_threshold=0.6, y_scale=10.0, x_scale=10.0, h_scale=5.0, w_scale=5.0).items():
            b.Float(k, v)
        b.Bool("use_regular_nms", False)
    anchors = np.concatenate([r.uniform(0, 9, (n, 2)), r.uniform(0.2, 0.5, (n, 2))], 1).astype("float32")
    ins = [g.input("float32", [1, n, 4]), g.input("float32", [1, n, classes + int(r.integers(2))]), g.const(anchors)]
    g.outs = [g.tensor("float32", s) for s in ([1, most * each, 4], [1, most * each], [1, most * each], [1])]
    g.op("CUSTOM", ins, g.outs, custom=(name, bytes(b.Finish())))
    return [g]


# ---- complex numbers
@case("RFFT2D", "REAL", "IMAG", "COMPLEX_ABS", "CAST_complex")
def spectra(r, name):
    """A spectrum, or what is computed of one. Transforms are longer and shorter than the signal."""
    g = Graph()
    lengths = [int(2 ** r.integers(0, 4)), int(2 ** r.integers(2, 6))]
    shape = dims(r, int(r.integers(0, 3))) + [int(max(1, n + r.integers(-1, 3))) for n in lengths]
    result = shape[:-2] + [lengths[0], lengths[1] // 2 + 1]
    spectrum = g.tensor("complex64", result)
    g.op("RFFT2D", [g.input("float32", shape), g.const(np.array(lengths, "int32"))], [spectrum], "Rfft2dOptions")
    g.outs = [spectrum]
    if name != "RFFT2D":
        moved = g.tensor("complex64", [1] + result)
        g.op("EXPAND_DIMS", [spectrum, g.const(np.int32(0))], [moved])
        g.outs = [g.tensor("float32", [1] + result)]
        g.op(name.split("_c")[0], [moved], g.outs)
    return [g]


# ---- StableHLO
@case("STABLEHLO_ADD", "STABLEHLO_MULTIPLY", "STABLEHLO_MAXIMUM", "STABLEHLO_MINIMUM", "STABLEHLO_AND", "STABLEHLO_SHIFT_LEFT")
def stablehlo(r, name):
    kind = {"AND": "bool", "LEFT": "int32"}.get(name.split("_")[-1], ("float32", "int32")[int(r.integers(2))])
    g, shape = Graph(), dims(r, int(r.integers(1, 5)))
    a = g.input(kind, shape)
    b = g.const(r.integers(0, 31, shape).astype("int32")) if "LEFT" in name else g.input(kind, shape)
    g.outs = [g.tensor(kind, shape)]
    g.op(name, [a, b], g.outs)
    return [g]


@case("STABLEHLO_PAD", "DILATE")
def spread(r, name):
    g, shape = Graph(), dims(r, int(r.integers(1, 5)))
    low, high, between = ([int(v) for v in r.integers(0 if k == 2 else -1, 3, len(shape))] for k in range(3))
    if name == "DILATE":
        low = high = [0] * len(shape)
    result = [max(0, a + d + (d - 1) * i + b) for a, b, i, d in zip(low, high, between, shape)]
    x, fill = g.input("float32", shape), g.const(np.float32(1.5))
    g.outs = [g.tensor("float32", result)]
    if name == "DILATE":
        g.op(name, [x, g.const(np.array(between, "int32") + np.int32(1)), fill], g.outs)
    else:
        g.op(name, [x, fill], g.outs, "StablehloPadOptions", edge_padding_low=low, edge_padding_high=high,
             interior_padding=between)
    return [g]


# ---- what needs no more than inputs: types and shapes of the inputs, and of the result, drawn for each
def simple(options=None, **fields):
    """The function gives inputs, as (type, shape) or constants, and (type, shape) of the result."""
    def add(f):
        def make(r, name=f.__name__.upper().rstrip("_")):
            g, (ins, outs) = Graph(), f(r)
            ins = [g.input(*x) if isinstance(x, tuple) else g.const(x) for x in ins]
            g.outs = [g.tensor(*o) for o in ([outs] if isinstance(outs, tuple) else outs)]
            g.op(name, ins, g.outs, options, **fields)
            return [g]
        CASES[f.__name__.upper().rstrip("_")] = make
        return f
    return add


def same_type(r, kind, n=2):
    shape = dims(r, int(r.integers(1, 5)))
    return [(kind, shape)] * n, (kind, shape)


for _name in ("LOGICAL_OR", "LOGICAL_AND", "LOGICAL_NOT"):
    CASES[_name] = lambda r, n=_name: unary_or_more(r, n, "bool", 1 if n == "LOGICAL_NOT" else 2)
for _name in ("ATAN2", "ADD_N", "ZEROS_LIKE", "RELU_0_TO_1", "BITWISE_XOR", "RIGHT_SHIFT"):
    CASES[_name] = lambda r, n=_name: unary_or_more(
        r, n, "int32" if n[-2] in "OF" else "float32", {"ADD_N": 3, "ZEROS_LIKE": 1, "RELU_0_TO_1": 1}.get(n, 2))


def unary_or_more(r, name, kind, n):
    g, (ins, out) = Graph(), same_type(r, kind, n)
    ins = [g.input(*x) for x in ins]
    if name == "RIGHT_SHIFT":
        g.ins, t = g.ins[:1], g.tensors[ins[1]]
        t.data = r.integers(0, 31, t.shape).astype("int32")
    g.outs = [g.tensor(*out)]
    g.op(name, ins, g.outs)
    return [g]


@simple("PowOptions")
def pow(r):
    shape = dims(r, 3)
    return [np.abs(r.normal(size=shape)).astype("float32"), ("float32", shape)], ("float32", shape)


@simple("RangeOptions")
def range_(r):
    return [np.int32(2), np.int32(17), np.int32(3)], ("int32", [5])


@simple("RankOptions")
def rank(r):
    return [("float32", dims(r, 3))], ("int32", [])


@simple("ShapeOptions", out_type=2)
def shape(r):
    n = int(r.integers(1, 5))
    return [("float32", dims(r, n))], ("int32", [n])


@simple("FillOptions")
def fill(r):
    shape = dims(r, 3)
    return [np.array(shape, "int32"), ("float32", [])], ("float32", shape)


@simple("BroadcastToOptions")
def broadcast_to(r):
    shape = dims(r, 3)
    return [("float32", [1] + shape[1:]), np.array(shape, "int32")], ("float32", shape)


@simple()
def broadcast_args(r):
    return [np.array([3, 1, 5], "int32"), np.array([4, 1], "int32")], ("int32", [3])


@simple("WhereOptions")
def where(r):
    return [("bool", dims(r, 3))], ("int64", [0, 3])


@simple("UniqueOptions", idx_out_type=2)
def unique(r):
    n = int(r.integers(1, 20))
    return [r.integers(0, 6, n).astype("int32")], [("int32", [0]), ("int32", [n])]


@simple("MatrixSetDiagOptions")
def matrix_set_diag(r):
    a, b, c = dims(r, 3)
    return [("float32", [a, b, c]), ("float32", [a, min(b, c)])], ("float32", [a, b, c])


@simple("SparseToDenseOptions")
def sparse_to_dense(r):
    return [np.array([[0, 1], [2, 3]], "int32"), np.array([3, 5], "int32"), ("float32", [2]), np.float32(0.5)], \
        ("float32", [3, 5])


@simple("PadV2Options")
def padv2(r):
    shape, pads = dims(r, 3), r.integers(0, 3, (3, 2)).astype("int32")
    return [("float32", shape), pads, np.float32(2.5)], ("float32", [int(d + p.sum()) for d, p in zip(shape, pads)])


@simple()
def embedding_lookup(r):
    n, d = dims(r, 2)
    return [r.integers(0, n, 4).astype("int32"), ("float32", [n, d])], ("float32", [4, d])


@simple("BitcastOptions")
def bitcast(r):
    shape = dims(r, 2)
    return [("float32", shape)], ("int32", shape)


@case("REDUCE_ANY", "REDUCE_ALL")
def reduce_bools(r, name):
    g, shape, axis = Graph(), dims(r, 3), int(r.integers(3))
    g.outs = [g.tensor("bool", shape[:axis] + [1] + shape[axis + 1:])]
    g.op(name, [g.input("bool", shape), g.const(np.array([axis], "int32"))], g.outs, "ReducerOptions", keep_dims=True)
    return [g]


@case("UNSORTED_SEGMENT_SUM", "UNSORTED_SEGMENT_PROD", "UNSORTED_SEGMENT_MAX", "UNSORTED_SEGMENT_MIN")
def unsorted_segments(r, name):
    g, (n, d), count = Graph(), dims(r, 2), int(r.integers(1, 5))
    g.outs = [g.tensor("float32", [count, d])]
    g.op(name, [g.input("float32", [n, d]), g.const(r.integers(0, count, n).astype("int32")), g.const(np.int32(count))], g.outs)
    return [g]


@case("CONV_3D", "CONV_3D_TRANSPOSE")
def conv_3d(r, name):
    g, (ci, co), stride, k = Graph(), dims(r, 2), int(r.integers(1, 3)), [int(v) for v in r.integers(1, 4, 3)]
    size = [int(v) for v in r.integers(3, 6, 3)]
    small = [same(s, stride) for s in size]
    wide, narrow = [1] + size, [1] + small
    padding = {"padding": 0, "stride_d": stride, "stride_w": stride, "stride_h": stride,
               "dilation_d_factor": 1, "dilation_w_factor": 1, "dilation_h_factor": 1}
    if name == "CONV_3D":
        ins = [g.input("float32", wide + [ci]), g.const(r.normal(size=k + [ci, co]).astype("float32"))]
        g.outs = [g.tensor("float32", narrow + [co])]
    else:
        ins = [g.const(np.array(wide + [co], "int32")), g.const(r.normal(size=k + [co, ci]).astype("float32")),
               g.input("float32", narrow + [ci])]
        g.outs = [g.tensor("float32", wide + [co])]
    g.op(name, ins, g.outs, "Conv3DOptions", **padding)
    return [g]


def empty_map():
    from flatbuffers import flexbuffers
    b = flexbuffers.Builder()
    with b.Map():
        pass
    return np.frombuffer(bytes(b.Finish()), np.uint8)


@case("STABLEHLO_COMPOSITE")
def composite(r, name):
    g = Graph()
    g.outs = [g.tensor("float32", [2, 3])]
    g.op(name, [g.input("float32", [2, 3])], g.outs, "StableHLOCompositeOptions", name="twice",
         decomposition_subgraph_index=1, composite_attributes=empty_map())
    return [g, body("MUL", "MulOptions", 2)]
