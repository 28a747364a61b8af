"""Random cases of the operators of com.microsoft, for ms_ops.py: what each makes of a random generator."""
import functools

import numpy as np
from onnx import TensorProto, helper

CASES = {}      # operator -> function (r: random.Random, n: numpy Generator) -> Case
SIZES = [1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17]


class Impossible(Exception):
    """This draw makes no case."""


class Case:
    """One node. inputs: arrays, None for an absent one, or (Packed, its element type).
    constant: inputs that must be constants; fixed: {input: its dims that must be known}; expected: results by numpy where
    ONNX Runtime has no kernel; types: {output: its element type} where its schema leaves that open; steps: by how much
    integers may differ; tolerance: of floats, as a part of the greatest, or of `magnitude`, where an activation keeps only
    the small ones of what was rounded."""
    def __init__(self, op, inputs, outputs=1, wants=None, constant=(), fixed=None, expected=None, steps=0, tolerance=2e-5,
                 half=5e-3, must_run=True, domain="com.microsoft", types=None, magnitude=1e-2, **attributes):
        self.op, self.attributes, self.domain = op, attributes, domain
        self.inputs = [None if v is None else v if isinstance(v, tuple) else
                       (np.asarray(v, order="C"), helper.np_dtype_to_tensor_dtype(np.asarray(v).dtype)) for v in inputs]
        self.wants = wants or [True] * outputs
        self.constant, self.fixed, self.expected = set(constant), fixed or {}, expected
        self.steps, self.tolerance, self.half, self.must_run, self.types = steps, tolerance, half, must_run, types or {}
        self.magnitude = max(magnitude, 1e-2)


class Packed:
    """Numbers of 4 bits, as a model stores them; constants only."""

    def __init__(self, tensor):
        self.tensor, self.shape, self.dtype = tensor, tuple(tensor.dims), TensorProto.DataType.Name(tensor.data_type)


def cases(*names):
    def add(f):
        for name in names:
            CASES[name] = functools.partial(f, op=name) if len(names) > 1 else f
        return f
    return add


# ---- values
def shape_of(r, rank, most=4000):
    s = [r.choice(SIZES) for _ in range(rank)]
    while np.prod(s) > most:
        s[r.randrange(rank)] = 2
    return s


def broadcast(r, shape):
    return [1 if r.random() < 0.3 else d for d in shape][r.choice([0, 0, 0, 1]) if shape else 0:]


def byte_type(r):
    return r.choice([np.uint8, np.int8])


def ints(n, shape, dtype):
    i = np.iinfo(dtype)
    return n.integers(i.min, i.max + 1, shape).astype(dtype)


def scale(r, shape=()):
    """Some are powers of 2, so that there are ties to round."""
    v = [2.0 ** r.randint(-7, -2) if r.random() < 0.4 else r.uniform(0.004, 0.3) for _ in range(int(np.prod(shape)))]
    return np.array(v, np.float32).reshape(shape)


def one(r):
    """The shape of a tensor of one element."""
    return () if r.random() < 0.7 else (1,)


def zero(r, n, dtype, shape=()):
    i = np.iinfo(dtype)
    return n.integers(max(i.min, -128), min(i.max, 255) + 1, shape).astype(dtype)


def maybe(r, v, p=0.7):
    return v if r.random() < p else None


def quantised(r, n, t, shape):
    return [ints(n, shape, t), scale(r, one(r)), maybe(r, zero(r, n, t))]


def strict(r, n, t, shape):
    """As some of ONNX Runtime's operators want it: true scalars, and a zero point."""
    return [ints(n, shape, t), scale(r), zero(r, n, t)]


def result(r, n, t):
    return [scale(r), maybe(r, zero(r, n, t))]


def f32(n, *shape):
    return n.standard_normal(shape).astype(np.float32)


# ---- quantised operators
@cases("QLinearAdd", "QLinearMul")
def binary(r, n, op):
    t, s = byte_type(r), shape_of(r, r.randint(0, 4))
    return Case(op, strict(r, n, t, s) + strict(r, n, t, broadcast(r, s)) + [scale(r), zero(r, n, t)])


@cases("QLinearSigmoid", "QLinearLeakyRelu")
def activation(r, n, op):
    t = byte_type(r)
    more = {"alpha": r.choice([0.01, 0.3])} if op == "QLinearLeakyRelu" else {}
    # Sigmoids differ in the last bit, which decides ties.
    return Case(op, quantised(r, n, t, shape_of(r, r.randint(1, 4))) + result(r, n, t), steps=1, **more)


@cases("QLinearSoftmax")
def softmax(r, n):
    t, rank, opset = byte_type(r), r.randint(1, 4), r.choice([11, 13])
    s, axis = shape_of(r, rank), r.randrange(-rank, rank)
    if np.prod(s[axis:]) == 1 or s[axis] == 1:      # ONNX Runtime overflows with one element, and gives 0
        raise Impossible
    x = quantised(r, n, t, s)
    steps = r.choice([1 / 256, 1 / 255, 0.0041, 0.01])
    low = np.array(np.iinfo(t).min, t)
    # ONNX Runtime lets 1.0 wrap around in int8 when it has no step of its own
    if t == np.int8:
        steps = max(steps, 1 / 255)
    return Case("QLinearSoftmax", x + [np.float32(steps), low], steps=1, opset=opset, axis=axis)


@cases("QLinearConcat")
def concat(r, n):
    t, rank = byte_type(r), r.randint(1, 4)
    axis, s = r.randrange(rank), shape_of(r, rank)
    ins = [scale(r), zero(r, n, t)]
    same = r.random() < 0.3
    for _ in range(r.randint(1, 4)):
        part = list(s)
        part[axis] = r.choice(SIZES)
        ins += [ints(n, part, t)] + (ins[:2] if same else [scale(r), zero(r, n, t)])
    return Case("QLinearConcat", ins, axis=axis - rank if r.random() < 0.3 else axis)


def window(r, dims):
    k = [r.randint(1, min(4, d)) for d in dims]
    more = {"kernel_shape": k}
    if r.random() < 0.6:
        more["strides"] = [r.randint(1, 3) for _ in dims]
    if r.random() < 0.5:
        more["pads"] = [r.randrange(q) for q in k] * 2
    elif r.random() < 0.4:
        more["auto_pad"] = r.choice(["SAME_UPPER", "SAME_LOWER", "VALID"])
    if more.get("auto_pad", "VALID") != "VALID" and "strides" in more:
        # Longer steps than windows can need less than no padding: ONNX Runtime's AveragePool refuses that, this one here
        # begins inside of the picture.
        more["strides"] = [min(step, size) for step, size in zip(more["strides"], k)]
    return more


def image(r, last):
    n, c, h, w = r.choice([1, 2]), r.choice([1, 3, 8, 17]), r.choice([3, 5, 8]), r.choice([4, 7])
    return ([n, h, w, c] if last else [n, c, h, w]), [h, w]


@cases("QLinearAveragePool")
def average_pool(r, n):
    t, last = byte_type(r), r.random() < 0.4
    s, spatial = image(r, last)
    more = window(r, spatial)
    more["count_include_pad"] = r.randrange(2)
    if "auto_pad" not in more:
        more["ceil_mode"] = r.choice([0, 0, 1])
    if more.get("ceil_mode") and more["count_include_pad"]:     # ONNX Runtime counts padding that is not there
        more["count_include_pad"] = 0
    return Case("QLinearAveragePool", strict(r, n, t, s) + [scale(r), zero(r, n, t)], steps=1, channels_last=int(last), **more)


@cases("QLinearGlobalAveragePool")
def global_average(r, n):
    t, last = byte_type(r), r.random() < 0.4
    s, _ = image(r, last)
    return Case("QLinearGlobalAveragePool", [ints(n, s, t), scale(r), zero(r, n, t), scale(r), zero(r, n, t)],
                channels_last=int(last))


@cases("QLinearWhere")
def where(r, n):
    t, s = byte_type(r), shape_of(r, r.randint(1, 4))
    return Case("QLinearWhere", [n.integers(0, 2, broadcast(r, s)).astype(np.bool_), ints(n, s, t), scale(r), zero(r, n, t),
                                 ints(n, broadcast(r, s), t), scale(r), zero(r, n, t), scale(r), zero(r, n, t)],
                must_run=False)     # it crashes on some


def requantised(v, s, z, t):
    i = np.iinfo(t)
    return np.clip(np.rint(v.astype(np.float32) / s) + z, i.min, i.max).astype(t)


@cases("QLinearReduceMean")
def reduce_mean(r, n):
    t, rank = byte_type(r), r.randint(1, 4)
    x, s, z = ints(n, shape_of(r, rank), t), scale(r), zero(r, n, t)
    sy, zy = scale(r), zero(r, n, t)
    axes, keep = sorted(r.sample(range(rank), r.randint(1, rank))), r.randrange(2)
    mean = ((x.astype(np.int32) - z) * s.astype(np.float64)).mean(tuple(axes), keepdims=bool(keep))
    return Case("QLinearReduceMean", [x, s, z, sy, zy], steps=1, expected=[requantised(mean, sy, zy.astype(np.int32), t)],
                axes=axes, keepdims=keep)


@cases("QGemm")
def qgemm(r, n):
    ta, tb = r.choice([(np.uint8, np.uint8), (np.uint8, np.int8), (np.int8, np.int8)])
    m, k, c = r.choice(SIZES), r.choice(SIZES), r.choice(SIZES)
    turn = r.randrange(2), r.randrange(2)
    per = r.choice([(), (1,), (c,)])
    b = ints(n, [c, k] if turn[1] else [k, c], tb)
    bias = maybe(r, n.integers(-3000, 3000, r.choice([(c,), (1, c), (m, c), (m, 1)])).astype(np.int32))
    y = [scale(r) * 16, zero(r, n, ta)] if r.random() < 0.6 else []
    return Case("QGemm", [ints(n, [k, m] if turn[0] else [m, k], ta), scale(r), zero(r, n, ta), b, scale(r, per),
                          zero(r, n, tb, per), bias] + y, transA=turn[0], transB=turn[1], alpha=r.choice([1.0, 0.5, 0.7]))


@cases("DynamicQuantizeMatMul")
def dynamic_matmul(r, n):
    tb, k, c = byte_type(r), r.choice(SIZES), r.choice(SIZES)
    a = f32(n, *shape_of(r, r.randint(0, 2), 60), r.choice(SIZES), k) * r.choice([0.01, 1, 30])
    per = r.choice([(), (c,)])
    return Case("DynamicQuantizeMatMul", [a, ints(n, [k, c], tb), scale(r, per), maybe(r, zero(r, n, tb, per)),
                                          maybe(r, f32(n, c))])


@cases("MatMulIntegerToFloat")
def to_float(r, n):
    ta, tb, k, c = np.uint8, byte_type(r), r.choice(SIZES), r.choice(SIZES)
    if tb == np.int8 and r.random() < 0.5:
        ta = np.int8
    lead = shape_of(r, r.randint(0, 2), 60)
    per = r.choice([(), (c,)])
    return Case("MatMulIntegerToFloat", [ints(n, lead + [r.choice(SIZES), k], ta), ints(n, [k, c], tb), scale(r),
                                         scale(r, per), maybe(r, zero(r, n, ta)), maybe(r, zero(r, n, tb, per)),
                                         maybe(r, f32(n, c))])


@cases("MatMulInteger16")
def integer16(r, n):
    k = r.choice(SIZES)
    a, b = (n.integers(-300, 300, s).astype(np.int16) for s in ([r.choice(SIZES), k], [k, r.choice(SIZES)]))
    return Case("MatMulInteger16", [a, b])


@cases("MulInteger")
def mul_integer(r, n):
    t, s = byte_type(r), shape_of(r, r.randint(0, 4))
    a, za, b, zb = ints(n, s, t), maybe(r, zero(r, n, t)), ints(n, broadcast(r, s), t), maybe(r, zero(r, n, t))
    y = (a.astype(np.int32) - (0 if za is None else za.astype(np.int32))) * \
        (b.astype(np.int32) - (0 if zb is None else zb.astype(np.int32)))
    return Case("MulInteger", [a, za, b, zb], expected=[y.astype(np.int32)])


@cases("ReduceSumInteger")
def reduce_sum(r, n):
    t, rank = byte_type(r), r.randint(1, 4)
    x = ints(n, shape_of(r, rank), t)
    axes, keep = sorted(r.sample(range(rank), r.randint(1, rank))), r.randrange(2)
    y = x.sum(tuple(axes), dtype=np.uint32 if t == np.uint8 else np.int32, keepdims=bool(keep))
    return Case("ReduceSumInteger", [x], expected=[np.asarray(y)], axes=axes, keepdims=keep)


@cases("QuantizeLinear", "DequantizeLinear")
def linear(r, n, op):
    t = r.choice([np.uint8, np.int8, np.uint16, np.int16])
    s = shape_of(r, r.randint(1, 4))
    axis = r.randrange(len(s)) if r.random() < 0.4 else None
    per = () if axis is None else (s[axis],)
    more = {} if axis is None else {"axis": axis}
    x = f32(n, *s) * 20 if op == "QuantizeLinear" else ints(n, s, t)
    return Case(op, [x, scale(r, per), zero(r, n, t, per)], **more)


# ---- attention
def attention_mask(r, n, batch, steps, keys):
    """In one of the forms that ONNX Runtime takes."""
    form = r.choice(["none", "ends", "two ends", "2d", "3d"])
    if form == "none":
        return None
    if form == "ends":
        return n.integers(1, keys + 1, batch).astype(np.int32)
    if form == "two ends":
        ends = n.integers(1, keys + 1, batch)
        return np.concatenate([ends, [r.randrange(e) for e in ends]]).astype(np.int32)
    return n.integers(0, 2, (batch, keys) if form == "2d" else (batch, steps, keys)).astype(np.int32)


def attention_sizes(r):
    """batch, queries, heads, size of a head, keys of the past"""
    return r.choice([1, 2, 3]), r.choice([1, 2, 5, 8]), r.choice([1, 2, 4]), r.choice([2, 4, 8]), r.choice([0, 1, 3, 7])


def attention_bias(r, n, batch, heads, steps, keys):
    return maybe(r, f32(n, r.choice([1, batch]), r.choice([1, heads]), steps, keys), 0.3)


def common(r):
    more = {"scale": 0.37} if r.random() < 0.3 else {}
    if r.random() < 0.3:
        more["mask_filter_value"] = -5.0
    return more


@cases("Attention")
def attention(r, n):
    b, s, h, d, p = attention_sizes(r)
    width, dv = r.choice([3, 8]), d
    more = common(r)
    past = maybe(r, f32(n, 2, b, h, p, d), 0.5) if p else None
    keys = s + (p if past is not None else 0)
    bias = attention_bias(r, n, b, h, s, keys) if past is None else None
    if past is None and r.random() < 0.3:
        dv = r.choice([2, 5])
        more["qkv_hidden_sizes"] = [h * d, h * d, h * dv]
    total = h * (2 * d + dv)
    return Case("Attention", [f32(n, b, s, width), f32(n, width, total), f32(n, total),
                              attention_mask(r, n, b, s, keys), past, bias],
                wants=[True, past is not None], constant=(1,), fixed={0: (0, 1, 2), 3: (0,)}, num_heads=h,
                unidirectional=r.randrange(2), **more)


@cases("QAttention")
def qattention(r, n):
    b, s, h, d, p = attention_sizes(r)
    width, t = r.choice([3, 8]), byte_type(r)
    past = maybe(r, f32(n, 2, b, h, p, d), 0.5) if p else None
    keys, per = s + (p if past is not None else 0), r.choice([(), (3 * h * d,)])
    mask = attention_mask(r, n, b, s, keys)
    ins = [ints(n, (b, s, width), np.uint8), ints(n, (width, 3 * h * d), t), f32(n, 3 * h * d), np.float32(0.02),
           scale(r, per) * np.float32(0.05), mask, zero(r, n, np.uint8), zero(r, n, t, per), past]
    return Case("QAttention", ins, wants=[True, past is not None], constant=(1, 3, 4, 6, 7), fixed={0: (0, 1, 2), 5: (0,)},
                num_heads=h, unidirectional=r.randrange(2), **common(r))


@cases("MultiHeadAttention")
def multihead(r, n):
    b, s, h, d, p = attention_sizes(r)
    keys, more = r.choice([s, 3, 6]), common(r)
    form = r.choice(["plain", "plain", "heads", "past"])
    dv = r.choice([d, 2, 5]) if form == "plain" else d
    if form == "heads":         # keys and values as a cache holds them
        ins = [f32(n, b, s, h * d), f32(n, b, h, keys, d), f32(n, b, h, keys, dv), None]
    else:
        ins = [f32(n, b, s, h * d), f32(n, b, keys, h * d), f32(n, b, keys, h * dv),
               maybe(r, f32(n, h * (2 * d + dv)), 0.5)]
    total = keys + (p if form == "past" else 0)
    mask = r.choice([None, n.integers(1, total + 1, b).astype(np.int32), n.integers(0, 2, (b, total)).astype(np.int32),
                     n.integers(0, 2, (b, s, total)).astype(np.int32)])
    if mask is not None and mask.ndim == 1 and form == "past":
        mask = None
    ins += [mask, attention_bias(r, n, b, h, s, total)]
    if form == "past":
        ins += [f32(n, b, h, p, d), f32(n, b, h, p, dv)]
    if s == keys:
        more["unidirectional"] = r.randrange(2)
    wants = [True, True, True] if form == "past" or (form == "plain" and r.random() < 0.3) else [True]
    if r.random() < 0.3:
        wants = (wants + [False, False])[:3] + [True]      # the scores
    return Case("MultiHeadAttention", ins, wants=wants, must_run=False, types={3: TensorProto.FLOAT}, num_heads=h,
                **more)


@cases("DecoderMaskedMultiHeadAttention")
def decoder_multihead(r, n):
    b, _, h, d, p = attention_sizes(r)
    p, more = max(p, 1), {"scale": 0.37} if r.random() < 0.3 else {}
    shared = True       # ONNX Runtime has no other form
    buffer = p + r.choice([1, 4])
    ins = [f32(n, b, 1, h * d), f32(n, b, 1, h * d), f32(n, b, 1, h * d),
           maybe(r, np.concatenate([n.integers(0, 2, (b, p)), np.ones((b, 1))], 1).astype(np.int32), 0.5),
           attention_bias(r, n, b, h, 1, p + 1), f32(n, b, h, buffer, d), f32(n, b, h, buffer, d)]
    if shared:
        ins += [np.array([p], np.int32)]
        more["past_present_share_buffer"] = 1
    else:
        ins += [None]
    ins += [None, None, maybe(r, f32(n, 3 * h * d), 0.5)]
    return Case("DecoderMaskedMultiHeadAttention", ins, wants=[True, True, True], must_run=False, num_heads=h, **more)


def group_query_of_window(r, n):
    """A cache of the newest keys alone. What stands behind the kept ones is not said: the step leaves it full."""
    s, g, d = r.choice([1, 1, 2, 5, 9]), r.choice([1, 2]), 16
    kv, window = r.choice([1, 2]), r.choice([1, 2, 4])
    room = window + r.choice([0, 0, 1, 3])
    b = r.choice([1, 2, 3]) if s == 1 else 1

    def kept(t):
        return t - (room - window + 1) * -(-max(t - room, 0) // (room - window + 1))

    lengths = [t for t in range(1, 20) if kept(t + s) == room]
    before = np.array([r.choice(lengths) for _ in range(b)])
    total = int((before + s).max())
    past = [f32(n, b, kv, room, d) for _ in range(2)]
    for k in range(b):
        for p in past:
            p[k, :, kept(int(before[k])):] = 0
    ins = [f32(n, b, s, kv * g * d), f32(n, b, s, kv * d), f32(n, b, s, kv * d)] + past
    ins += [(before + s - 1).astype(np.int32), np.array(total, np.int32), np.cos(f32(n, 40, 8)), np.sin(f32(n, 40, 8)), None,
            None, maybe(r, f32(n, kv * g), 0.3)]
    return Case("GroupQueryAttention", ins, wants=[True, True, True], must_run=False, fixed={0: (2,), 7: (1,), 8: (1,)},
                num_heads=kv * g, kv_num_heads=kv, local_window_size=window, sliding_window_cache=1,
                do_rotary=r.randrange(2))


@cases("GroupQueryAttention")
def group_query(r, n):
    if r.random() < 0.25:
        return group_query_of_window(r, n)
    b, s, g, d, p = attention_sizes(r)
    d, kv, more = 16, r.choice([1, 2]), {}
    h = kv * g
    prompt = r.random() < 0.5
    if s > 1 and not prompt:
        b = 1
    if prompt:
        p = r.choice([0, s, s + 3]) if r.random() < 0.5 else 0
        lens = np.full(b, s)
        total = s
    else:
        p = max(p, 1)
        lens = n.integers(s, p + s + 1, b)      # keys in use, the new ones with them
        total = int(lens.max())
        if total == s:
            raise Impossible
    half = r.choice([d // 2, d // 2, d // 4]) if d == 16 else d // 2
    rotary = r.random() < 0.6
    if rotary:
        more["do_rotary"] = 1
        more["rotary_interleaved"] = r.randrange(2)
    if r.random() < 0.3:
        more["local_window_size"] = r.choice([1, 2, 4])
    if r.random() < 0.3:
        more["softcap"] = 1.5
    if r.random() < 0.3:
        more["scale"] = 0.37
    ins = [f32(n, b, s, h * d), f32(n, b, s, kv * d), f32(n, b, s, kv * d)]
    if r.random() < 0.3:
        ins = [np.concatenate(ins, 2), None, None]
    past = [f32(n, b, kv, p, d), f32(n, b, kv, p, d)] if p else [None, None]
    caches = [np.cos(f32(n, 40, half)), np.sin(f32(n, 40, half))] if rotary else [None, None]
    sink = maybe(r, f32(n, h), 0.3)
    bias = maybe(r, f32(n, r.choice([1, b]), r.choice([1, h]), s, total), 0.3)
    if sink is None and r.random() < 0.2:
        more["smooth_softmax"] = 1
    ins += past + [(lens - 1).astype(np.int32), np.array(total, np.int32)] + caches + [None, bias, sink]
    return Case("GroupQueryAttention", ins, wants=[True, True, True], must_run=False, fixed={0: (2,), 7: (1,), 8: (1,)},
                num_heads=h, kv_num_heads=kv, **more)


@cases("RotaryEmbedding")
def rotary(r, n):
    b, s, h, _, _ = attention_sizes(r)
    d = r.choice([8, 16])
    half = r.choice([d // 2, d // 4]) if d == 16 else d // 2
    more = {"interleaved": r.randrange(2)}
    x = f32(n, b, s, h * d) if r.random() < 0.6 else f32(n, b, h, s, d)
    if half != d // 2:
        more.update(num_heads=h, rotary_embedding_dim=2 * half)
    at = np.array([r.randrange(4)], np.int64) if r.random() < 0.4 else n.integers(0, 20, (b, s)).astype(np.int64)
    return Case("RotaryEmbedding", [x, at, np.cos(f32(n, 20, half)), np.sin(f32(n, 20, half))], must_run=False,
                fixed={0: (1, 2, 3), 2: (1,), 3: (1,)}, **more)


# ---- recurrent
@cases("DynamicQuantizeLSTM")
def dynamic_lstm(r, n):
    t, b, i, h = r.choice([1, 3, 5]), r.choice([1, 2, 4]), r.choice([1, 3, 4]), r.choice([1, 2, 5])
    direction = r.choice(["forward", "reverse", "bidirectional"])
    d, w = 2 if direction == "bidirectional" else 1, byte_type(r)
    per = [d, 4 * h] if r.random() < 0.5 else [d]
    zeros = [np.full(per, 0 if w == np.int8 or len(per) == 2 else 120, w) for _ in range(2)]
    more = {"input_forget": 1} if r.random() < 0.2 else {}
    # ONNX Runtime quantises by the range of all rows, also of those that have ended, which hold what memory held before: asked
    # twice, it gives two answers. Only a row alone ends early.
    lengths = n.integers(0, t + 1, b).astype(np.int32) if b == 1 else np.full(b, t, np.int32)
    ins = [f32(n, t, b, i), ints(n, (d, i, 4 * h), w), ints(n, (d, h, 4 * h), w), maybe(r, f32(n, d, 8 * h)),
           maybe(r, lengths, 0.5), maybe(r, f32(n, d, b, h), 0.5),
           maybe(r, f32(n, d, b, h), 0.5), maybe(r, f32(n, d, 3 * h), 0.3),
           scale(r, per) * np.float32(0.1), zeros[0], scale(r, per) * np.float32(0.1), zeros[1]]
    wants = [True, True, True] if r.random() < 0.7 else [False, True, True]
    return Case("DynamicQuantizeLSTM", ins, wants=wants, must_run=False, fixed={2: (0, 1, 2)}, tolerance=1e-4, hidden_size=h,
                direction=direction, **more)


# ---- weights in blocks
def packed(values, bits):
    """Rows of small numbers as bytes, the first in the lowest bits."""
    per = 8 // bits
    rows = values.reshape(-1, values.shape[-1])
    rows = np.pad(rows, ((0, 0), (0, -rows.shape[1] % per))).reshape(len(rows), -1, per)
    return (rows << (np.arange(per) * bits)).sum(-1).astype(np.uint8).reshape(*values.shape[:-1], -1)


@cases("MatMulNBits")
def nbits(r, n):
    bits, block, k, c = r.choice([2, 4, 4, 8]), r.choice([16, 32]), r.choice([16, 32, 40, 70, 96]), r.choice([1, 3, 8, 17, 40])
    blocks = -(-k // block)
    b = packed(n.integers(0, 1 << bits, (c, blocks, block)), bits)
    zeros = r.choice([None, packed(n.integers(0, 1 << bits, (c, blocks)), bits)])
    if r.random() < 0.2 and bits == 4:
        zeros = n.uniform(0, 15, (c, blocks)).astype(np.float32)
    scales = scale(r, (c, blocks))
    if r.random() < 0.3:
        scales, zeros = scales.reshape(-1), None if zeros is None else zeros.reshape(-1)
    groups = n.integers(0, blocks, k).astype(np.int32) if r.random() < 0.2 and bits == 4 else None
    if groups is not None and zeros is not None and zeros.dtype == np.uint8:
        zeros = None        # beside g_idx ONNX Runtime takes 8 for each of them (docs/numbers.md, N7)
    t = np.float16 if r.random() < 0.2 else np.float32
    if t == np.float16:
        scales, zeros, groups = scales.astype(t), None if zeros is not None and zeros.dtype == np.float32 else zeros, None
    bias = maybe(r, f32(n, c).astype(t), 0.4)
    return Case("MatMulNBits", [f32(n, *shape_of(r, r.randint(1, 2), 40), k).astype(t), b, scales, zeros, groups, bias],
                constant=(1, 2, 3, 4, 5), must_run=False, K=k, N=c, bits=bits, block_size=block,
                accuracy_level=0 if bits == 2 else r.choice([0, 4]))    # of 2 bits it is ignored (docs/adr/0030)


@cases("MatMulBnb4")
def bnb4(r, n):
    block, k, c = r.choice([16, 32]), r.choice([16, 24, 40]), r.choice([1, 3, 8])
    b = n.integers(0, 256, (c * k + 1) // 2).astype(np.uint8)
    return Case("MatMulBnb4", [f32(n, r.choice(SIZES), k), b, scale(r, (-(-c * k // block),))], constant=(1, 2),
                K=k, N=c, block_size=block, quant_type=r.randrange(2))


@cases("GatherBlockQuantized")
def gather_blocks(r, n):
    t = r.choice(["u8", "u8", "i4", "u4"])
    bits = r.choice([4, 8]) if t == "u8" else 4
    block, rank = 16, r.choice([2, 3])
    dims = [r.choice([3, 5]), r.choice([2, 32]), r.choice([32, 48])][3 - rank:]
    q = rank - 1
    axis = 0 if t == "u8" else r.randrange(rank)
    sizes = list(dims)
    sizes[q] = -(-sizes[q] // block)
    which = n.integers(-dims[axis], dims[axis], shape_of(r, r.randint(1, 2), 8)).astype(r.choice([np.int32, np.int64]))
    low = -8 if t == "i4" else 0
    values, zeros = (n.integers(low, low + (1 << bits), s) for s in (dims, sizes))
    if t == "u8":
        data, zp = packed(values, bits), packed(zeros, bits)
    else:
        elem = TensorProto.INT4 if t == "i4" else TensorProto.UINT4
        data, zp = ((helper.make_tensor("", elem, v.shape, v.reshape(-1)), elem) for v in (values, zeros))
        data, zp = ((Packed(v), e) for v, e in (data, zp))
    more = {"bits": bits} if t == "u8" else {}
    return Case("GatherBlockQuantized", [data, which, scale(r, sizes), maybe(r, zp)], constant=(0, 2, 3), must_run=False,
                gather_axis=axis - rank if r.random() < 0.3 else axis, quantize_axis=q, block_size=block, **more)
