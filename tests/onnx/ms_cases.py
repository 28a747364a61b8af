"""Random cases of the operators of com.microsoft, for ms_ops.py: what each makes of a random generator."""
import functools

import numpy as np
from onnx import TensorProto, helper

CASES = {}      # operator -> function (r: random.Random, n: numpy Generator) -> Case
SIZES = [1, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17]


class Impossible(Exception):
    """This draw makes no case."""


class Case:
    """One node. inputs: arrays, None for an absent one, or (array of bytes' worth, element type) for 4 bit types.
    constant: inputs that must be constants; fixed: {input: its dims that must be known}; expected: results by numpy where
    ONNX Runtime has no kernel; steps: by how much integers may differ; tolerance: of floats, as a part of the greatest."""
    PACKED = {TensorProto.INT4, TensorProto.UINT4}

    def __init__(self, op, inputs, outputs=1, wants=None, constant=(), fixed=None, expected=None, steps=0, tolerance=2e-5,
                 half=5e-3, must_run=True, domain="com.microsoft", **attributes):
        self.op, self.attributes, self.domain = op, attributes, domain
        self.inputs = [None if v is None else v if isinstance(v, tuple) else
                       (np.asarray(v, order="C"), helper.np_dtype_to_tensor_dtype(np.asarray(v).dtype)) for v in inputs]
        self.wants = wants or [True] * outputs
        self.constant, self.fixed, self.expected = set(constant), fixed or {}, expected
        self.steps, self.tolerance, self.half, self.must_run = steps, tolerance, half, must_run


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
