"""Random cases of the operators of com.microsoft that are fused, moved to another layout, or not in ai.onnx (ms_cases.py)."""
import math

import numpy as np

from ms_cases import (Case, SIZES, broadcast, byte_type, cases, f32, image, ints, maybe, scale, shape_of, window,
                      zero)



# ---- numpy
def erf(x):
    return np.vectorize(math.erf)(x.astype(np.float64))


def gelu(x):
    return 0.5 * x * (1 + erf(x / math.sqrt(2)))


def fast_gelu(x):
    x = x.astype(np.float64)
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x ** 3)))


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def single(v):
    return np.asarray(v).astype(np.float32)


# ---- products
@cases("FusedMatMul", "TransposeMatMul", "FusedMatMulActivation")
def fused_matmul(r, n, op):
    m, k, c = (r.choice(SIZES) for _ in range(3))
    lead = shape_of(r, r.choice([0, 1, 2]), 20)
    more = {"transA": r.randrange(2), "transB": r.randrange(2), "alpha": r.choice([1.0, 0.5, -1.3])}
    batched = [0, 0]
    if op != "TransposeMatMul" and lead:
        batched = [r.randrange(2), r.randrange(2)]
        more.update(transBatchA=batched[0], transBatchB=batched[1])

    def operand(rows, cols, turned, moved):
        rows, cols = (cols, rows) if turned else (rows, cols)
        return f32(n, *([rows] + lead + [cols] if moved else lead + [rows, cols]))
    a, b = operand(m, k, more["transA"], batched[0]), operand(k, c, more["transB"], batched[1])
    if op != "FusedMatMulActivation":
        return Case(op, [a, b], **more)
    wide = [np.moveaxis(v, 0, -2) if moved else v for v, moved in zip((a, b), batched)]
    wide = [np.swapaxes(v, -1, -2) if turned else v for v, turned in zip(wide, (more["transA"], more["transB"]))]
    y = more["alpha"] * np.matmul(*wide)
    name, f = r.choice([("Relu", lambda v: np.maximum(v, 0)), ("Tanh", np.tanh),
                        ("LeakyRelu", lambda v: np.where(v < 0, 0.2 * v, v))])
    if name == "LeakyRelu":
        more["activation_alpha"] = 0.2
    return Case(op, [a, b], expected=[single(f(y))], activation=name, **more)


@cases("FusedGemm")
def fused_gemm(r, n):
    m, k, c, turn = r.choice(SIZES), r.choice(SIZES), r.choice(SIZES), (r.randrange(2), r.randrange(2))
    name = r.choice(["Relu", "LeakyRelu", "Tanh", "Sigmoid"])
    more = {"activation_alpha": 0.2} if name == "LeakyRelu" else {}
    return Case("FusedGemm", [f32(n, *([k, m] if turn[0] else [m, k])), f32(n, *([c, k] if turn[1] else [k, c])),
                              maybe(r, f32(n, c))], transA=turn[0], transB=turn[1], alpha=0.7, beta=1.3, activation=name,
                must_run=False, **more)


@cases("GemmFastGelu")
def gemm_gelu(r, n):
    x, w, b = f32(n, r.choice(SIZES), 5), f32(n, 5, 7), maybe(r, f32(n, 7))
    return Case("GemmFastGelu", [x, w, b], expected=[single(fast_gelu(x @ w + (0 if b is None else b)))])


# ---- activations, biases, residuals
@cases("BiasGelu", "FastGelu", "Gelu", "QuickGelu")
def gelus(r, n, op):
    s = shape_of(r, r.randint(1, 3))
    if op in ("Gelu", "QuickGelu"):
        return Case(op, [f32(n, *s)], **({"alpha": 1.3} if op == "QuickGelu" and r.random() < 0.5 else {}))
    bias = f32(n, s[-1])
    return Case(op, [f32(n, *s), bias if op == "BiasGelu" else maybe(r, bias)], tolerance=1e-4)


@cases("BiasAdd")
def bias_add(r, n):
    s = shape_of(r, 3)
    x, b, k = f32(n, *s), f32(n, s[-1]), f32(n, *s)
    return Case("BiasAdd", [x, b, k], expected=[x + b + k])


@cases("GatedAdd")
def gated_add(r, n):
    s = shape_of(r, r.randint(1, 3))
    return Case("GatedAdd", [f32(n, *s), f32(n, *s), f32(n, *s[:-1], 1)])


@cases("BiasSplitGelu")
def bias_split(r, n):
    s = shape_of(r, 2) + [2 * r.choice(SIZES)]
    x, b = f32(n, *s), f32(n, s[-1])
    left, right = np.split(x + b, 2, -1)
    return Case("BiasSplitGelu", [x, b], expected=[single(left * gelu(right))])


@cases("BiasDropout")
def bias_dropout(r, n):
    s = shape_of(r, 2)
    x, b, k = f32(n, *s), f32(n, s[-1]), maybe(r, f32(n, *s))
    y = x + b + (0 if k is None else k)
    return Case("BiasDropout", [x, b, k, maybe(r, np.float32(0.3)), None], expected=[single(y), np.ones(s, np.bool_)],
                outputs=2)


@cases("BiasSoftmax")
def bias_softmax(r, n):
    s = shape_of(r, 3)
    x, b = f32(n, *s), f32(n, *broadcast(r, s))
    return Case("BiasSoftmax", [x, b], expected=[single(softmax(x + b))], axis=2, is_inner_broadcast=r.randrange(2))


# ---- norms
@cases("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def skip_norm(r, n, op):
    b, s, h = r.choice([1, 2]), r.choice([1, 3]), r.choice([4, 7, 16])
    skip = f32(n, *r.choice([(b, s, h), (1, s, h), (s, h)]))
    simple = op == "SkipSimplifiedLayerNormalization"
    ins = [f32(n, b, s, h), skip, f32(n, h)] + ([] if simple else [maybe(r, f32(n, h))]) + [maybe(r, f32(n, h))]
    more = {"epsilon": 1e-5} if r.random() < 0.7 else {}
    return Case(op, ins, wants=[True, False, False, r.random() < 0.6], tolerance=1e-4, **more)


@cases("SimplifiedLayerNormalization")
def simple_norm(r, n):
    s = shape_of(r, r.randint(1, 3))
    return Case("SimplifiedLayerNormalization", [f32(n, *s), f32(n, s[-1])], wants=[True, r.random() < 0.5], domain="",
                axis=-1, epsilon=1e-5, stash_type=1, tolerance=1e-4)


@cases("GroupNorm", "SkipGroupNorm")
def group_norm(r, n, op):
    last, groups = r.randrange(2), r.choice([1, 2, 4])
    c, b, h, w = groups * r.choice([1, 2, 3]), r.choice([1, 2]), r.choice([1, 3]), r.choice([2, 5])
    x = f32(n, b, h, w, c) if last else f32(n, b, c, h, w)
    ins, act = [x, f32(n, c), f32(n, c)], r.randrange(2)
    v = x
    if op == "SkipGroupNorm":
        form = r.choice(["flat", "full", "ones"])
        flat = f32(n, b, c)
        wide = flat.reshape([b, 1, 1, c] if last else [b, c, 1, 1])
        skip = f32(n, *x.shape) if form == "full" else flat if form == "flat" else wide
        bias = maybe(r, f32(n, c), 0.5)
        v = x + (wide if form == "flat" else skip)
        if bias is not None:
            v = v + (bias if last else bias.reshape(c, 1, 1))
        ins += [skip, bias]
    u = (np.moveaxis(v, -1, 1) if last else v).reshape(b, groups, -1).astype(np.float64)
    y = ((u - u.mean(-1, keepdims=True)) / np.sqrt(u.var(-1, keepdims=True) + 1e-3)).reshape(b, c, h, w)
    y = y * ins[1].reshape(c, 1, 1) + ins[2].reshape(c, 1, 1)
    y = y / (1 + np.exp(-y)) if act else y
    y = np.moveaxis(y, 1, -1) if last else y
    return Case(op, ins, expected=[single(y)] + ([single(v)] if op == "SkipGroupNorm" else []),
                outputs=2 if op == "SkipGroupNorm" else 1, tolerance=1e-4, groups=groups, channels_last=last, activation=act,
                epsilon=1e-3)


@cases("EmbedLayerNormalization", "QEmbedLayerNormalization")
def embed(r, n, op):
    b, s, h, words = r.choice([1, 3]), r.choice([1, 4, 6]), r.choice([4, 8]), 11
    ids, segments = n.integers(0, words, (b, s)).astype(np.int32), maybe(r, n.integers(0, 2, (b, s)).astype(np.int32))
    mask = maybe(r, np.sort(n.integers(0, 2, (b, s)), 1)[:, ::-1].astype(np.int32))
    more = {"epsilon": 1e-5} if r.random() < 0.7 else {}
    if op == "EmbedLayerNormalization":
        at = maybe(r, n.integers(0, 9, (r.choice([1, b]), s)).astype(np.int32), 0.3)
        return Case(op, [ids, segments, f32(n, words, h), f32(n, 9, h), None if segments is None else f32(n, 2, h), f32(n, h),
                         f32(n, h), mask, at], wants=[True, True, r.random() < 0.5], must_run=False, tolerance=1e-4, **more)
    t, with_segments = byte_type(r), segments is not None
    scales = [scale(r) if k != 2 or with_segments else None for k in range(5)]
    zeros = [zero(r, n, t) if k != 2 or with_segments else None for k in range(5)]
    return Case(op, [ids, segments, ints(n, (words, h), t), ints(n, (9, h), t), ints(n, (2, h), t) if with_segments else None,
                     ints(n, (h,), t), ints(n, (h,), t), mask] + scales + zeros, outputs=2, must_run=False, tolerance=1e-4,
                constant=tuple(range(2, 7)) + tuple(range(8, 18)), **more)


# ---- layouts
def convolution(x, w, bias, strides, pads):
    """Of [n, c, h, w] by [m, c / group, kh, kw]."""
    n, c, h, wide = x.shape
    m, per, kh, kw = w.shape
    x = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])))
    oh, ow = (x.shape[2] - kh) // strides[0] + 1, (x.shape[3] - kw) // strides[1] + 1
    y = np.zeros((n, m, oh, ow))
    for o in range(m):
        first = o // (m // (c // per)) * per
        for i in range(oh):
            for j in range(ow):
                part = x[:, first:first + per, i * strides[0]:i * strides[0] + kh, j * strides[1]:j * strides[1] + kw]
                y[:, o, i, j] = (part * w[o]).sum((1, 2, 3))
    return y + (0 if bias is None else bias.reshape(m, 1, 1))


@cases("NhwcConv", "NhwcFusedConv")
def nhwc_conv(r, n, op):
    group = r.choice([1, 1, 2])
    b, c, m, h, w = r.choice([1, 2]), group * r.choice([1, 3]), group * r.choice([1, 4]), r.choice([3, 5]), r.choice([4, 6])
    k, strides, pads = (r.randint(1, 3), r.randint(1, 3)), (r.randint(1, 2), r.randint(1, 2)), [r.randrange(2)] * 4
    x, filters, bias = f32(n, b, h, w, c), f32(n, m, c // group, *k), maybe(r, f32(n, m))
    y = np.moveaxis(convolution(np.moveaxis(x, -1, 1), filters, bias, strides, pads), 1, -1)
    ins, more = [x, filters, bias], {}
    if op == "NhwcConv":
        ins[1] = np.ascontiguousarray(np.moveaxis(filters, 1, -1))
    if op == "NhwcFusedConv":
        z = maybe(r, f32(n, *y.shape), 0.5)
        ins.append(z)
        y = y + (0 if z is None else z)
        more.update(activation="Relu", magnitude=np.abs(y).max())
        y = np.maximum(y, 0)
    return Case(op, ins, expected=[single(y)], fixed={0: (3,)}, group=group, strides=strides, pads=pads, kernel_shape=k, **more)


@cases("NhwcMaxPool")
def nhwc_pool(r, n):
    s, spatial = image(r, True)
    return Case("NhwcMaxPool", [ints(n, s, byte_type(r))], **window(r, spatial))


@cases("QLinearConv")
def qlinear_conv(r, n):
    last, t, w = r.randrange(2), np.uint8, byte_type(r)
    s, spatial = image(r, bool(last))
    c, m = s[-1] if last else s[1], r.choice([1, 4, 8])
    more = window(r, spatial)
    per = r.choice([(), (m,)])
    zw = np.zeros(per, w) if w == np.int8 else np.full(per, 128, w)
    return Case("QLinearConv", [ints(n, s, t), scale(r), zero(r, n, t), ints(n, [m, c] + more["kernel_shape"], w),
                                scale(r, per), zw, scale(r) * np.float32(100), zero(r, n, t),
                                maybe(r, n.integers(-3000, 3000, m).astype(np.int32))],
                constant=(1, 2, 3, 4, 5, 6, 7, 8), must_run=False, channels_last=last, **more)


@cases("FusedConv")
def fused_conv(r, n):
    c, m, k = r.choice([1, 3]), r.choice([1, 4]), (r.randint(1, 3), r.randint(1, 3))
    name, params = r.choice([("Relu", None), ("LeakyRelu", [0.2]), ("Clip", [-0.5, 0.7]), ("HardSigmoid", [0.3, 0.4])])
    more = {"activation_params": params} if params else {}
    return Case("FusedConv", [f32(n, 1, c, 5, 6), f32(n, m, c, *k), maybe(r, f32(n, m)), None], must_run=False,
                activation=name, kernel_shape=k, **more)


@cases("ConvTransposeWithDynamicPads")
def dynamic_pads(r, n):
    k = [r.randint(2, 3), r.randint(2, 3)]
    pads = np.array([r.randrange(2) for _ in range(4)], np.int64)
    return Case("ConvTransposeWithDynamicPads", [f32(n, 1, 2, 3, 4), f32(n, 2, 3, *k), pads, maybe(r, f32(n, 3))],
                constant=(2,), kernel_shape=k, strides=[r.randint(1, 2), r.randint(1, 2)])


# ---- others
@cases("Range")
def ranges(r, n):
    t = r.choice([np.float32, np.int64, np.int32])
    start, step = r.randint(-3, 3), r.choice([1, 2, 3])
    ins = [np.array(v, t).reshape(r.choice([(), (1,)])) for v in (start, start + step * r.randint(0, 6), step)]
    if step == 1 and r.random() < 0.5:
        ins[2] = None
    return Case("Range", ins, constant=(0, 1, 2) if r.random() < 0.5 else ())


@cases("ExpandDims")
def expand_dims(r, n):
    s = shape_of(r, r.randint(1, 3))
    return Case("ExpandDims", [f32(n, *s), np.array(r.randint(-len(s), len(s)), np.int32)], constant=(1,), must_run=False)


@cases("Pad")
def pad(r, n):
    s, mode = shape_of(r, 2), r.choice(["constant", "edge", "reflect"])
    pads = [r.randrange(min(3, d)) for d in s] * 2
    pads = np.array(pads, np.int64).reshape(r.choice([(4,), (1, 4)]))
    value = maybe(r, np.array(0.7, np.float32).reshape(r.choice([(), (1,)]))) if mode == "constant" else None
    return Case("Pad", [f32(n, *s), pads, value], constant=(1, 2), mode=mode, must_run=False)


@cases("Unique")
def unique(r, n):
    return Case("Unique", [n.integers(0, 5, r.choice(SIZES)).astype(np.float32)], outputs=3)


@cases("Trilu")
def trilu(r, n):
    s = shape_of(r, r.randint(2, 3))
    return Case("Trilu", [f32(n, *s), maybe(r, np.array(r.randint(-3, 3), np.int64))], upper=r.randrange(2))


@cases("GatherND")
def gather_nd(r, n):
    s = shape_of(r, r.randint(1, 3))
    depth = r.randint(1, len(s))
    at = np.stack([n.integers(0, d, (3, 2)) for d in s[:depth]], -1).astype(np.int64)
    return Case("GatherND", [f32(n, *s), at], fixed={1: (2,)})


@cases("GridSample")
def grid_sample(r, n):
    s, _ = image(r, False)
    grid = (n.random([s[0], r.choice([1, 3]), r.choice([2, 4]), 2]) * 2.4 - 1.2).astype(np.float32)
    return Case("GridSample", [f32(n, *s), grid], mode=r.choice(["bilinear", "nearest", "bicubic"]),
                padding_mode=r.choice(["zeros", "border", "reflection"]), align_corners=r.randrange(2), tolerance=1e-4)


@cases("SampleOp")
def sample(r, n):
    return Case("SampleOp", [f32(n, *shape_of(r, r.randint(0, 3)))])


@cases("CDist")
def cdist(r, n):
    k = r.choice(SIZES)
    return Case("CDist", [f32(n, r.choice(SIZES), k), f32(n, r.choice(SIZES), k)], tolerance=1e-4,
                metric=r.choice(["euclidean", "sqeuclidean"]))


@cases("MurmurHash3")
def murmur(r, n):
    t = r.choice([np.int32, np.uint32, np.int64, np.uint64, np.float32, np.float64])
    x = n.integers(0 if np.dtype(t).kind == "u" else -2**31, 2**31, shape_of(r, 2)).astype(t) if t != np.int64 else \
        n.integers(-2**62, 2**62, shape_of(r, 2))
    return Case("MurmurHash3", [x], positive=r.randrange(2), seed=r.choice([0, 7, 12345]))


@cases("CropAndResize")
def crop(r, n):
    s, _ = image(r, False)
    rois = np.sort(n.uniform(-0.1, 1.1, (r.choice([1, 3]), 2, 2)), 1).reshape(-1, 4).astype(np.float32)
    which = n.integers(0, s[0], len(rois)).astype(np.int32)
    return Case("CropAndResize", [f32(n, *s), rois, which, np.array([r.choice([1, 3, 4]), r.choice([1, 2, 5])], np.int32)],
                mode=r.choice(["bilinear", "nearest"]), extrapolation_value=r.choice([0.0, 0.5]), tolerance=1e-4)


@cases("UnfoldTensor")
def unfold(r, n):
    s = shape_of(r, r.randint(1, 3))
    d = r.randrange(-len(s), len(s))
    return Case("UnfoldTensor", [f32(n, *s)], must_run=False, dim=d, size=r.randint(1, s[d]), step=r.randint(1, 3))


@cases("Inverse")
def inverse(r, n):
    k = r.choice([1, 2, 3, 5])
    x = f32(n, *shape_of(r, r.randint(0, 2), 12), k, k) + 3 * np.eye(k, dtype=np.float32)
    return Case("Inverse", [x[..., np.random.default_rng(r.randrange(99)).permutation(k), :]], tolerance=1e-3)


@cases("IsAllFinite")
def all_finite(r, n):
    xs = [f32(n, *shape_of(r, 2)) for _ in range(r.randint(1, 3))]
    if r.random() < 0.6:
        xs[-1].reshape(-1)[r.randrange(xs[-1].size)] = r.choice([np.nan, np.inf, -np.inf])
    only = r.choice([{}, {"isnan_only": 1}, {"isinf_only": 1}])
    bad = np.isnan if "isnan_only" in only else np.isinf if "isinf_only" in only else lambda v: ~np.isfinite(v)
    return Case("IsAllFinite", xs, expected=[np.array(not any(bad(x).any() for x in xs))], **only)


@cases("ComplexMul", "ComplexMulConj")
def complex_mul(r, n, op):
    s = shape_of(r, 2)
    a, b = f32(n, *s, 2), f32(n, *broadcast(r, s), 2)
    za, zb = (v[..., 0] + 1j * v[..., 1] for v in (a, b))
    y = za * (np.conj(zb) if op == "ComplexMulConj" else zb)
    return Case(op, [a, b], expected=[single(np.stack([y.real, y.imag], -1))])


@cases("Rfft", "Irfft")
def fourier(r, n, op):
    size, lead = 2 * r.choice([1, 2, 3, 4, 8]), shape_of(r, 2, 12)
    x = f32(n, *lead, size)
    spectrum = np.fft.rfft(x)
    pairs = single(np.stack([spectrum.real, spectrum.imag], -1))
    ins, y = ([x], pairs) if op == "Rfft" else ([pairs], x)
    return Case(op, ins, expected=[y], tolerance=1e-4, signal_ndim=1, fixed={0: (2, 3)})


@cases("TorchEmbedding")
def torch_embedding(r, n):
    table, at = f32(n, 7, r.choice(SIZES)), n.integers(0, 7, shape_of(r, 2, 20)).astype(np.int64)
    return Case("TorchEmbedding", [table, at], expected=[table[at]])


@cases("RelativePositionBias")
def relative(r, n):
    buckets, heads, most, both, q = r.choice([8, 32]), r.choice([1, 3]), r.choice([20, 128]), r.randrange(2), r.choice([1, 6, 40])
    table = f32(n, buckets, heads)
    d = np.arange(q)[None] - np.arange(q)[:, None]
    half = buckets // 2 if both else buckets
    far = np.abs(d) if both else np.maximum(-d, 0)
    exact = half // 2
    large = exact + (np.log(np.maximum(far, 1).astype(np.float32) / exact) / math.log(most / exact) * (half - exact)).astype(int)
    bucket = np.where(far < exact, far, np.minimum(large, half - 1)) + (half * (d > 0) if both else 0)
    y = table.reshape(heads, buckets)[:, bucket][None]
    length = np.array([q], np.int64)
    return Case("RelativePositionBias", [table, length, length], expected=[y], fixed={0: (0, 1)}, max_distance=most,
                is_bidirectional=both)


# ---- packed attention
def mixed(q, k, v, heads, lens, bias, scaling):
    """Attention of [b, s, heads * size], of which only so many of each are there."""
    b, s = q.shape[:2]
    q, k, v = (x.reshape(b, s, heads, -1).transpose(0, 2, 1, 3).astype(np.float64) for x in (q, k, v))
    scores = q @ k.transpose(0, 1, 3, 2) * (scaling or 1 / math.sqrt(q.shape[-1]))
    scores = scores + (0 if bias is None else bias)
    scores = scores + np.where(np.arange(s) < lens[:, None, None, None], 0, -10000)
    return (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(b, s, -1)


def packing(r, n):
    b, s = r.choice([1, 2, 3]), r.choice([1, 3, 5])
    lens = n.integers(0, s + 1, b)
    lens[r.randrange(b)] = s
    real = (np.arange(s) < lens[:, None]).reshape(-1)
    offsets = np.concatenate([np.flatnonzero(real), np.flatnonzero(~real)]).astype(np.int32).reshape(b, s)
    return b, s, lens, real, offsets, np.concatenate([[0], np.cumsum(lens)]).astype(np.int32)


@cases("PackedAttention", "PackedMultiHeadAttention")
def packed_attention(r, n, op):
    b, s, lens, real, offsets, sums = packing(r, n)
    heads, size, width, tokens = r.choice([1, 2]), r.choice([2, 4]), 6, int(lens.sum())
    hidden = heads * size
    bias = maybe(r, f32(n, r.choice([1, b]), r.choice([1, heads]), s, s), 0.4)
    if op == "PackedAttention":
        x, w, plus = f32(n, tokens, width), f32(n, width, 3 * hidden), f32(n, 3 * hidden)
        qkv, ins = np.split(x @ w + plus, 3, -1), [x, w, plus, offsets, sums, bias]
    else:
        qkv, plus = [f32(n, tokens, hidden) for _ in range(3)], maybe(r, f32(n, 3 * hidden))
        ins = [*qkv, plus, offsets, sums, bias]
        if r.random() < 0.4:
            ins[:3] = [np.stack([v.reshape(tokens, heads, size) for v in qkv], 2), None, None]
        if plus is not None:
            qkv = [v + p for v, p in zip(qkv, np.split(plus, 3))]
    whole = []
    for v in qkv:
        full = np.zeros((b * s, hidden), np.float32)
        full[real] = v
        whole.append(full.reshape(b, s, hidden))
    y = mixed(*whole, heads, lens, bias, 0).reshape(b * s, hidden)[real]
    return Case(op, ins, expected=[single(y)], tolerance=1e-4, num_heads=heads,
                fixed={k: range(4) for k, v in enumerate(ins) if v is not None})


@cases("RemovePadding", "RestorePadding")
def padding(r, n, op):
    b, s, lens, real, offsets, sums = packing(r, n)
    h = r.choice(SIZES)
    x = f32(n, b, s, h)
    if op == "RestorePadding":
        tokens = x.reshape(b * s, h)[real]
        full = np.zeros((b * s, h), np.float32)
        full[real] = tokens
        return Case(op, [tokens, offsets], expected=[full.reshape(b, s, h)])
    return Case(op, [x, lens.astype(np.int32)], outputs=4,
                expected=[x.reshape(b * s, h)[real], offsets, sums, np.array([lens.max()], np.int32)])
