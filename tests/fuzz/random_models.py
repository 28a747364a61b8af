#!/usr/bin/env python3
"""random_models.py [--seed S] [--count N] [--seconds T] [--compiled [N]] [--keep DIR]

Makes random small models, runs them with gcc2nn and with ONNX Runtime and compares. Every model depends on its seed
alone: `random_models.py --seed S --count 1` shows a failure again. By default the interpreter runs the scheduled program
(fast, and generated code must equal it bit for bit); --compiled builds the C, of one model in N. Last line:

    N passed, N failed, N skipped        skipped: ONNX Runtime refuses the model, or gcc2nn refuses its symbolic sizes
"""
import json
import random
import sys

try:
    import numpy as np
    import onnx
    import onnxruntime      # noqa: F401
    from onnx import TensorProto, helper, numpy_helper, shape_inference
    import trial
    from random_more import More
    from trial import Impossible, run_onnxruntime
except ImportError as e:
    print(f"SKIPPED random models: {e} (./dev setup)\n0 passed, 0 failed, 1 skipped")
    if "--json" in sys.argv:
        with open(sys.argv[sys.argv.index("--json") + 1], "w", encoding="utf-8") as file:
            json.dump({"summary": {"passed": 0, "failed": 0, "skipped": 1}}, file)
    sys.exit(77)

SIZES = [1, 1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17]


SUMS = {"Conv", "ConvTranspose", "MatMul", "Gemm", "LSTM", "GRU", "RNN", "BatchNormalization", "LayerNormalization",
        "InstanceNormalization", "LRN", "Resize", "Einsum", "Hardmax", "ReduceLogSumExp", "LpNormalization", "CumSum",
        "RMSNormalization", "GridSample", "Gelu", "Mish", "MeanVarianceNormalization", "Attention",
        "MaxPool", "ReduceMax", "ReduceMin", "GlobalMaxPool", "Max", "Min", "Clip"}     # of comparisons: what NaN makes of them
# Results of these are as exact as their operands: no rounding, or one that all agree on.
EXACT = {"Abs", "Cast", "Ceil", "Clip", "Compress", "Concat", "DepthToSpace", "Expand", "Flatten", "Floor", "Gather",
         "GatherElements", "GatherND", "GlobalMaxPool", "Identity", "Max", "MaxPool", "Min", "Neg", "Pad", "ReduceMax",
         "ReduceMin", "Relu", "Reshape", "ReverseSequence", "Round", "Sign", "Slice", "SpaceToDepth", "Split",
         "Squeeze", "Tile", "Transpose", "Trilu", "Unsqueeze", "Where"}
# What merely moves elements takes any type, sums and comparisons take several.
ANY = [np.float32] * 6 + [np.float16, np.float64, np.int64, np.int32, np.uint8, np.int8, np.bool_]
NUMBER = [np.float32] * 6 + [np.float64, np.int32, np.int64]


def elem(dtype):
    return helper.np_dtype_to_tensor_dtype(np.dtype(dtype))


class Maker(More):
    domain = ""
    targets = ["c99", "x86-avx2", "x86-avx512"]
    options, precision, weights_precision = [], None, None   # of gcc2nn
    small_caches = False    # the machine's, for what is done to values that they do not hold
    any_point = False   # sums in another order may lose more digits than the comparison allows where terms cancel

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.n = np.random.default_rng(seed)
        self.opset = self.r.choice([7, 8, 9, 10, 11, 12, 13, 13, 14, 15, 16, 17, 18, 18, 19, 20, 21, 22, 23, 24])
        self.nodes, self.inputs, self.inits, self.values = [], [], [], {}    # values: name -> (shape, dtype)
        self.data, self.no_outputs = {}, set()
        self.rounded = set()    # what functions with steps do not read: on a step any rounding before shows
        self.still = set()      # inputs whose sizes stay known
        self.count = 0
        self.special = self.r.random() < 0.1
        self.zero = self.r.random() < 0.06
        self.symbolic = self.r.random() < 0.35
        self.symbols = {}       # size -> name
        self.apart = False      # sizes that are equal have one name
        self.threads = self.r.choice([1, 1, 1, 2, 3, 5])

    # ---- values
    def name(self, what):
        self.count += 1
        return f"{what}{self.count}"

    def size(self):
        return 0 if self.zero and self.r.random() < 0.2 else self.r.choice(SIZES)

    def shape(self, rank=None):
        rank = self.r.choice([0, 1, 2, 2, 3, 3, 4, 4, 5]) if rank is None else rank
        shape = [self.size() for _ in range(rank)]
        while np.prod(shape, dtype=np.int64) > 20000:
            shape[self.r.randrange(rank)] = 2
        return shape

    def numbers(self, shape, dtype):
        if dtype == np.bool_:
            return self.n.integers(0, 2, shape).astype(np.bool_)
        if np.dtype(dtype).kind in "fV":
            v = self.n.standard_normal(shape).astype(dtype)
            if self.special and v.size:
                flat = v.reshape(-1)
                for x in (np.nan, np.inf, -np.inf, -0.0, 0.0):
                    flat[self.r.randrange(flat.size)] = x
            return v
        low = 0 if np.dtype(dtype).kind == "u" else -9
        return self.n.integers(low, 10, shape).astype(dtype)

    def const(self, array, name="w"):
        name = self.name(name)
        self.inits.append(numpy_helper.from_array(np.array(array, order="C"), name))
        self.values[name] = (list(np.shape(array)), np.asarray(array).dtype)
        return name

    def ints(self, *v):
        return self.const(np.array(v, np.int64).reshape(-1), "i")

    def given(self, array):
        """An operand: an input of the model, or sometimes a constant."""
        if self.r.random() < 0.3 and self.inputs:
            return self.const(array)
        name = self.name("x")
        self.inputs.append(name)
        self.values[name] = (list(array.shape), array.dtype)
        self.data[name] = array
        return name

    def new(self, shape=None, dtype=np.float32):
        return self.given(self.numbers(self.shape() if shape is None else shape, dtype))

    def readable(self):
        """What any node may read: name, (shape, dtype)."""
        return self.values.items()

    def some(self, dtype=np.float32, rank=None, least=None, exact=False):
        """A value that is there, or a new one."""
        fits = [k for k, (s, t) in self.readable() if t == dtype and (rank is None or len(s) == rank)
                and (least is None or len(s) >= least) and k not in {i.name for i in self.inits}
                and not (exact and k in self.rounded)]
        if fits and self.r.random() < 0.8:
            return fits[-1] if self.r.random() < 0.6 else self.r.choice(fits)
        if rank is None:
            rank = max(least or 0, self.r.choice([1, 2, 3, 4, 4]))
        return self.new(self.shape(rank), dtype)

    def moved(self, rank=None, least=None):
        return self.some(self.r.choice(ANY), rank, least)

    def of(self, v):
        if v not in self.values:        # a shape that only the run knows
            raise Impossible
        return self.values[v][0]

    def type(self, v):
        return self.values[v][1]

    def add(self, op, ins, nouts=1, **attributes):
        outs = [self.name("v") for _ in range(nouts)]
        self.nodes.append(helper.make_node(op, ins, outs, domain=self.domain, **attributes))
        self.infer()
        self.note_rounding(self.nodes[-1])
        return outs[0] if nouts == 1 else outs

    def note_rounding(self, node):
        exact = node.op_type in EXACT and not self.rounded & set(node.input)
        self.rounded |= {o for o in node.output if o in self.values and self.type(o).kind not in "iub" and not exact}

    def tried(self, parts):
        """Adds one of the parts, which it gives; None: what was drawn makes no model, and nothing of it stays."""
        state = (len(self.nodes), len(self.inputs), len(self.inits), dict(self.values), dict(self.data))
        part = self.r.choice(parts)
        try:
            part()
            return part
        except (Impossible, shape_inference.InferenceError, onnx.checker.ValidationError):
            n, i, k, self.values, self.data = state
            del self.nodes[n:], self.inputs[i:], self.inits[k:]
            return None

    def infer(self):
        model = self.model([])
        made = {o for n in model.graph.node for o in n.output if n.domain}     # of these only running them tells
        model.graph.value_info.extend(helper.make_tensor_value_info(k, elem(self.values[k][1]), self.values[k][0])
                                      for k in sorted(made & set(self.values)))
        model = shape_inference.infer_shapes(model, data_prop=True, strict_mode=True)
        for v in model.graph.value_info:
            t = v.type.tensor_type
            if not t.HasField("shape") or not all(d.HasField("dim_value") for d in t.shape.dim):
                self.values[v.name] = (None, None)
                continue
            shape = [d.dim_value for d in t.shape.dim]
            if np.prod(shape, dtype=np.int64) > 200000 or min(shape, default=0) < 0:
                raise Impossible
            if v.name not in made:
                self.values[v.name] = (shape, np.dtype(helper.tensor_dtype_to_np_dtype(t.elem_type)))
        for k in [k for k, v in self.values.items() if v[0] is None]:
            del self.values[k]

    def model(self, outs, symbols=None):
        def dims(name):
            known = self.values[name][0]
            named = self.renamed(name, symbols) if symbols else known
            return [f"{name}_d{k}" if self.apart and isinstance(d, str) else d for k, d in enumerate(named)]
        ins = [helper.make_tensor_value_info(k, elem(self.values[k][1]), dims(k)) for k in self.inputs]
        out = [helper.make_empty_tensor_value_info(o) for o in outs]
        return self.wrapped(helper.make_graph(self.nodes, "g", ins, out, self.inits))

    def open_axes(self, name):
        """Axes of this input whose sizes may be symbols."""
        return set() if name in self.still else set(range(len(self.values[name][0] or ())))

    def renamed(self, name, by):
        """This input's dims, those of its open axes renamed."""
        free = self.open_axes(name)
        return [by.get(d, d) if k in free else d for k, d in enumerate(self.values[name][0] or ())]

    def axis(self, rank, negative=True):
        if not rank:
            raise Impossible
        return self.r.randrange(-rank if negative else 0, rank)

    def broadcast(self, shape):
        """A shape that broadcasts with this one."""
        s = [1 if self.r.random() < 0.25 else d for d in shape][self.r.choice([0, 0, 0, 1]) if shape else 0:]
        return s if self.r.random() < 0.9 else [self.size()] + [1] * (len(shape) - len(s)) + s

    # ---- ops
    def unary(self):
        ops = ["Relu", "Neg", "Abs", "Exp", "Tanh", "Sigmoid", "Sqrt", "Floor", "Ceil", "Sin", "Cos", "Erf", "Softplus",
               "Softsign", "Reciprocal", "Sign", "Log", "Atan", "Identity", "Round", "Sinh", "Cosh", "Asinh", "Tan"]
        if self.opset < 11:
            ops = [o for o in ops if o not in ("Round",)]
        op = self.r.choice(ops)
        x = self.some(exact=op in ("Floor", "Ceil", "Round", "Sign", "Tan"))
        if op in ("Log", "Sqrt", "Reciprocal") and not self.special:
            x = self.add("Abs", [x])
            x = self.add("Add", [x, self.const(np.float32(0.5))])
        if op in ("Exp", "Sinh", "Cosh"):
            x = self.add("Tanh", [x])
        self.add(op, [x])

    def parametric(self):
        x = self.some(exact=True)
        op = self.r.choice(["LeakyRelu", "Elu", "Selu", "HardSigmoid", "Clip", "ThresholdedRelu", "PRelu", "Celu"])
        if op == "Clip" and self.opset >= 11:
            lo, hi = sorted(self.n.standard_normal(2).astype(np.float32))
            ins = [x, self.const(lo) if self.r.random() < 0.7 else "", self.const(hi)]
            self.add(op, ins)
        elif op == "Clip":
            self.add(op, [x], min=-0.5, max=0.7)
        elif op == "PRelu":
            self.add(op, [x, self.const(self.numbers(self.of(x)[-1:], np.float32))])
        elif op == "Celu" and self.opset < 12 or op == "ThresholdedRelu" and self.opset < 10:
            raise Impossible
        elif op == "Selu":
            self.add(op, [x])
        else:
            self.add(op, [x], alpha=self.r.choice([0.1, 0.5, 1.0, 2.0]))

    def binary(self):
        x = self.some()
        op = self.r.choice(["Add", "Sub", "Mul", "Div", "Max", "Min", "Pow", "Sum", "Mean"])
        y = self.some() if self.r.random() < 0.2 else self.new(self.broadcast(self.of(x)))
        if op == "Pow":
            x = self.add("Abs", [x])
            x = x if self.special else self.add("Add", [x, self.const(np.float32(0.3))])
        if op == "Div" and not self.special:
            y = self.add("Add", [self.add("Abs", [y]), self.const(np.float32(0.3))])
        self.add(op, [x, y] if self.r.random() < 0.6 or op == "Pow" or op == "Div" else [y, x])

    def integer(self):
        t = self.r.choice([np.int64, np.int32, np.int64, np.uint8, np.int8])
        shape = self.shape()
        x = self.new(shape, t)
        op = self.r.choice(["Add", "Sub", "Mul", "Div", "Max", "Min", "Mod", "BitShift", "Abs", "Neg", "Sign", "ReduceSum",
                            "ReduceMax", "Pow", "MatMul", "Not", "And", "Clip"])
        if t in (np.uint8, np.int8) and self.opset < 14 and op in ("Add", "Sub", "Mul", "Div"):
            raise Impossible
        if op in ("Abs", "Neg", "Sign"):
            if t == np.uint8 and op == "Neg":
                raise Impossible
            return self.add(op, [x])
        if op in ("ReduceSum", "ReduceMax"):
            return self.add(op, [x], keepdims=self.r.randrange(2))
        if op in ("Not", "And"):
            b = self.new(shape, np.bool_)
            return self.add("Not", [b]) if op == "Not" else self.add(
                self.r.choice(["And", "Or", "Xor"]), [b, self.new(self.broadcast(shape), np.bool_)])
        if op == "MatMul":
            if t in (np.uint8, np.int8):
                return self.add("MatMulInteger", [self.new([3, 5], t), self.new([5, 4], np.uint8)])
            return self.add("MatMul", [self.new([3, 5], t), self.new([5, 4], t)])
        if op == "Clip":
            if self.opset < 12:
                raise Impossible
            return self.add("Clip", [x, self.const(np.array(1, t)), self.const(np.array(5, t))])
        y = self.numbers(self.broadcast(shape), t)
        if op in ("Div", "Mod"):
            y = np.where(y == 0, 3, y).astype(t)
        if op == "BitShift":
            if self.opset < 11:
                raise Impossible
            return self.add(op, [self.new(shape, np.uint8), self.given((np.abs(y.astype(np.int64)) % 8).astype(np.uint8))],
                            direction=self.r.choice(["LEFT", "RIGHT"]))
        if op == "Pow":
            if t not in (np.int32, np.int64) or self.opset < 12:
                raise Impossible
            y = np.abs(y) % 4
        if op == "Mod":
            if self.opset < 10:
                raise Impossible
            return self.add(op, [x, self.given(y)], fmod=self.r.randrange(2))
        return self.add(op, [x, self.given(y)])

    def compare(self):
        x = self.some(exact=True)
        y = self.new(self.broadcast(self.of(x)))
        ops = ["Equal", "Less", "Greater"] + (["LessOrEqual", "GreaterOrEqual"] if self.opset >= 12 else [])
        c = self.add(self.r.choice(ops), [x, y])
        self.add("Where", [c, x, self.new(self.broadcast(self.of(c)))]) if self.r.random() < 0.6 else self.add(
            "Cast", [c], to=TensorProto.FLOAT)

    def cast(self):
        x = self.some()
        to = self.r.choice([TensorProto.INT32, TensorProto.INT64, TensorProto.BOOL, TensorProto.FLOAT16,
                            TensorProto.DOUBLE, TensorProto.INT8])
        if self.special:
            raise Impossible
        if to in (TensorProto.INT32, TensorProto.INT64, TensorProto.INT8):
            x = self.add("Mul", [self.new(), self.const(np.float32(10))])   # of numbers as given: at a step of the
            x = self.add("Add", [x, self.const(np.float32(0.37))])          # conversion any rounding before shows
        y = self.add("Cast", [x], to=to)
        self.add("Cast", [y], to=TensorProto.FLOAT)

    def reduce(self):
        ops = ["ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd", "ReduceL1", "ReduceL2",
               "ReduceSumSquare", "ReduceLogSumExp"]
        op = self.r.choice(ops)
        x = self.some(self.r.choice(NUMBER))
        rank = len(self.of(x))
        axes = sorted(self.r.sample(range(rank), self.r.randint(0, rank)))
        if 0 in self.of(x):
            raise Impossible        # ONNX Runtime gives such results shapes of its own, and refuses some
        if self.type(x) not in (np.float32, np.float64) and op in ("ReduceLogSumExp", "ReduceMean", "ReduceL2", "ReduceProd"):
            raise Impossible        # what whole numbers are rounded to is nowhere said; products overflow
        if op == "ReduceProd" and np.prod(self.of(x)) > 16:
            raise Impossible        # products of parts overflow, others vanish: NaN, or not, by their order
        if op == "ReduceSumSquare" and x not in self.inputs and self.type(x) not in (np.float32, np.float64):
            raise Impossible        # squares of sums overflow: ONNX Runtime wraps or saturates, as its kernel happens to
        axes = [a - rank if self.r.random() < 0.3 and self.opset >= 11 else a for a in axes]
        keep = self.r.randrange(2)
        by_input = self.opset >= 18 or (op == "ReduceSum" and self.opset >= 13)
        if not axes:
            self.add(op, [x], keepdims=keep)
        elif by_input:
            self.add(op, [x, self.ints(*axes)], keepdims=keep)
        else:
            self.add(op, [x], axes=axes, keepdims=keep)

    def arg(self):
        x = self.some(self.r.choice(NUMBER), least=1, exact=True)
        if self.special or 0 in self.of(x):
            raise Impossible
        more = {"select_last_index": self.r.randrange(2)} if self.opset >= 12 else {}
        self.add(self.r.choice(["ArgMax", "ArgMin"]), [x], axis=self.axis(len(self.of(x)), self.opset >= 11),
                 keepdims=self.r.randrange(2), **more)

    def softmax(self):
        op = self.r.choice(["Softmax", "LogSoftmax", "Hardmax", "Softmax"])
        x = self.some(least=1, exact=op == "Hardmax")
        self.add(op, [x],
                 axis=self.axis(len(self.of(x)), self.opset >= 11))

    def transpose(self):
        x = self.moved(least=2)
        perm = list(range(len(self.of(x))))
        self.r.shuffle(perm)
        self.add("Transpose", [x], perm=perm)

    def reshape(self):
        x = self.moved()
        n = int(np.prod(self.of(x), dtype=np.int64))
        if not n:
            raise Impossible
        shape, rest = [], n
        for _ in range(self.r.randint(0, 3)):
            d = self.r.choice([d for d in range(1, rest + 1) if rest % d == 0][:20])
            shape.append(d)
            rest //= d
        shape.append(rest)
        if self.r.random() < 0.5:
            shape[self.r.randrange(len(shape))] = -1
        self.add("Reshape", [x, self.ints(*shape)])

    def flatten(self):
        x = self.moved(least=1)
        self.add("Flatten", [x], axis=self.r.randint(0, len(self.of(x))))

    def squeeze(self):
        x = self.moved()
        rank = len(self.of(x))
        ones = [k for k in range(rank) if self.of(x)[k] == 1]
        if ones and self.r.random() < 0.5:
            axes = self.r.sample(ones, self.r.randint(1, len(ones)))
            op = "Squeeze"
        else:
            axes = sorted(self.r.sample(range(rank + 2), self.r.randint(1, 2)))
            op, rank = "Unsqueeze", rank
            if max(axes) >= rank + len(axes):
                raise Impossible
        self.add(op, [x, self.ints(*axes)]) if self.opset >= 13 else self.add(op, [x], axes=axes)

    def concat(self):
        x = self.moved(least=1)
        shape = list(self.of(x))
        axis = self.axis(len(shape), self.opset >= 11)
        parts = [x]
        for _ in range(self.r.randint(1, 3)):
            s = list(shape)
            s[axis] = self.size()
            parts.append(self.new(s, self.type(x)))
        self.r.shuffle(parts)
        self.add("Concat", parts, axis=axis)

    def split(self):
        x = self.moved(least=1)
        axis = self.axis(len(self.of(x)), self.opset >= 11)
        n = self.of(x)[axis]
        a = self.r.randint(0, n)
        if self.opset >= 13:
            self.add("Split", [x, self.ints(a, n - a)], 2, axis=axis)
        else:
            self.add("Split", [x], 2, axis=axis, split=[a, n - a])

    def slice(self):
        x = self.moved(least=1)
        rank = len(self.of(x))
        axes = sorted(self.r.sample(range(rank), self.r.randint(1, rank)))
        begin = [self.r.randint(-self.of(x)[a] - 2, self.of(x)[a] + 1) for a in axes]
        end = [self.r.choice([self.r.randint(-self.of(x)[a] - 2, self.of(x)[a] + 2), 2**31 - 1, -2**31]) for a in axes]
        if self.opset < 10:
            return self.add("Slice", [x], starts=begin, ends=end, axes=axes)
        step = [self.r.choice([1, 1, 2, 3, -1, -2]) for _ in axes]
        # ONNX Runtime takes the greatest number for "to the end" of a backward slice too; the standard does not.
        end = [-2**31 if s < 0 and e == 2**31 - 1 else e for s, e in zip(step, end)]
        return self.add("Slice", [x, self.ints(*begin), self.ints(*end), self.ints(*axes), self.ints(*step)])

    def gather(self):
        x = self.moved(least=1)
        axis = self.axis(len(self.of(x)))
        n = self.of(x)[axis]
        if not n:
            raise Impossible
        op = self.r.choice(["Gather", "GatherElements", "GatherND"]) if self.opset >= 11 else "Gather"
        low = -n if self.opset >= 11 else 0
        t = self.r.choice([np.int64, np.int32])
        if op == "Gather":
            self.add(op, [x, self.given(self.n.integers(low, n, self.shape(self.r.randint(0, 2))).astype(t))], axis=axis)
        elif op == "GatherElements":
            s = list(self.of(x))
            s[axis] = self.r.randint(1, 6)
            self.add(op, [x, self.given(self.n.integers(low, n, s).astype(t))], axis=axis)
        else:
            k = self.r.randint(1, len(self.of(x)))
            if 0 in self.of(x):
                raise Impossible
            rows = self.r.randint(1, 5)
            self.add(op, [x, self.given(np.stack([self.n.integers(-d, d, rows) for d in self.of(x)[:k]], -1))])

    def scatter(self):
        if self.opset < 16:
            raise Impossible
        x = self.some(least=1)
        shape = self.of(x)
        if 0 in shape:
            raise Impossible
        compares = self.opset >= 18 and not self.special    # ONNX Runtime drops a NaN of the data there; see N5
        how = self.r.choice(["none", "add", "mul"] + (["max", "min"] if compares else []))
        if self.r.random() < 0.5:
            axis = self.axis(len(shape))
            n = self.r.randint(1, shape[axis])
            s = list(shape)
            s[axis] = n
            order = np.argsort(self.n.random(shape), axis=axis)    # without repetition: the order of updates is free
            index = np.take(order, range(n), axis=axis).astype(np.int64)
            self.add("ScatterElements", [x, self.given(index), self.new(s)], axis=axis, reduction=how)
        else:
            k = self.r.randint(1, len(shape))
            cells = int(np.prod(shape[:k]))
            rows = self.r.randint(1, min(cells, 5))
            flat = self.n.permutation(cells)[:rows]
            index = np.stack(np.unravel_index(flat, shape[:k]), -1).astype(np.int64)
            self.add("ScatterND", [x, self.given(index), self.new([rows] + shape[k:])], reduction=how)

    def expand(self):
        x = self.moved()
        shape = [self.size() if d == 1 else d for d in self.of(x)]
        shape = [self.size()] * self.r.choice([0, 0, 1]) + shape
        self.add("Expand", [x, self.ints(*shape)])

    def tile(self):
        x = self.moved(least=1)
        self.add("Tile", [x, self.ints(*[self.r.choice([1, 1, 2, 3]) for _ in self.of(x)])])

    def pad(self):
        x = self.some(least=1)
        shape = self.of(x)
        mode = self.r.choice(["constant", "constant", "reflect", "edge"] + (["wrap"] if self.opset >= 19 else []))
        lowest = -1 if mode == "constant" else 0
        pads = [self.r.randint(lowest, max(0, min(3, d - 1))) if d > 2 else (0 if mode != "constant" else 1)
                for d in shape * 2]
        if self.opset < 11:
            return self.add("Pad", [x], pads=pads, mode=mode, value=0.5)
        ins = [x, self.ints(*pads)]
        if mode == "constant" and self.r.random() < 0.5:
            ins.append(self.const(np.float32(1.5)))
        return self.add("Pad", ins, mode=mode)

    def matmul(self):
        x = self.some(least=1)
        shape = self.of(x)
        k = shape[-1]
        if not k:
            raise Impossible    # of a product of nothing ONNX Runtime leaves memory as it was
        choice = self.r.random()
        if choice < 0.5:
            w = [k, self.r.choice([1, 3, 8, 16, 17, 24, 32])]
        elif choice < 0.7 and len(shape) > 2:
            w = self.broadcast(shape[:-2]) + [k, self.size()]
        elif choice < 0.8:
            w = [k]
        else:
            w = [self.size(), k, self.r.choice([4, 8, 16])]
        y = self.add("MatMul", [x, self.new(w)])
        if self.r.random() < 0.5 and self.of(y):
            self.add("Add", [y, self.const(self.numbers(self.of(y)[-1:], np.float32))])

    def gemm(self):
        x = self.some(rank=2)
        m, k = self.of(x)
        ta, tb = self.r.randrange(2), self.r.randrange(2)
        if ta:
            m, k = k, m
        n = self.r.choice([1, 5, 8, 16, 17])
        beta = self.r.choice([1.0, 2.0]) if k else 1.0      # of a product of nothing ONNX Runtime forgets beta
        ins = [x, self.new([n, k] if tb else [k, n])]
        if self.r.random() < 0.7 or self.opset < 11:
            ins.append(self.new(self.r.choice([[n], [1, n], [m, 1], [m, n], []])))
        self.add("Gemm", ins, transA=ta, transB=tb, alpha=self.r.choice([1.0, 0.5]), beta=beta)

    def image(self, n=2, channels=None):
        fits = [k for k, (s, t) in self.readable() if t == np.float32 and len(s) == n + 2 and
                (channels is None or s[1] == channels) and k not in {i.name for i in self.inits}]
        if fits and self.r.random() < 0.8:
            return self.r.choice(fits[-3:])     # often one that another window reads too
        return self.new([self.r.choice([1, 1, 2])] + [channels or self.r.choice([1, 3, 4, 8, 16])] +
                        [self.r.choice([1, 4, 5, 7, 8, 11]) for _ in range(n)])

    def window(self, n, spatial):
        more = {}
        k = [self.r.choice([1, 2, 3, 3, 5]) for _ in range(n)]
        more["strides"] = [self.r.choice([1, 1, 2, 3]) for _ in range(n)]
        mode = self.r.choice(["pads", "pads", "none", "SAME_UPPER", "SAME_LOWER", "VALID"])
        if mode == "pads":
            more["pads"] = [self.r.randint(0, (kk - 1) if kk > 1 else 0) for kk in k * 2]
        elif mode != "none":
            more["auto_pad"] = mode
        return k, more

    def fits(self, x, k, more):
        """ONNX Runtime rounds sizes towards zero where the window is larger than what it slides over."""
        n = len(k)
        pads, dilations = more.get("pads", [0] * 2 * n), more.get("dilations", [1] * n)
        for d, size in enumerate(self.of(x)[2:]):
            if (k[d] - 1) * dilations[d] + 1 > size + pads[d] + pads[d + n]:
                raise Impossible

    def padded(self, x, k, more):
        """Where auto_pad comes to less than nothing, pools of ONNX Runtime move the window or are refused."""
        if "SAME" in more.get("auto_pad", "") and any((d - 1) % s >= kk for d, s, kk in zip(self.of(x)[2:], more["strides"], k)):
            raise Impossible

    def starts_inside(self, x, k, more):
        """A last window that starts behind what it slides over is left out; shape inference of older operators counts it."""
        n = len(k)
        pads, dilations = more.get("pads", [0] * 2 * n), more.get("dilations", [1] * n)
        for d, size in enumerate(self.of(x)[2:]):
            room, step = size + pads[d] + pads[d + n] - (k[d] - 1) * dilations[d] - 1, more["strides"][d]
            if more.get("ceil_mode") and room % step and (room // step + 1) * step >= size + pads[d]:
                raise Impossible

    def sees(self, x, k, more):
        """What a window wholly in the padding gives, least number or -infinity, the specification leaves open."""
        n = len(k)
        pads, dilations = more.get("pads", [0] * 2 * n), more.get("dilations", [1] * n)
        for d, size in enumerate(self.of(x)[2:]):
            step, span = more["strides"][d], (k[d] - 1) * dilations[d] + 1
            end = size + pads[d + n] - span + 1
            if more.get("ceil_mode"):
                end = min(end + step - 1, size)
            for at in range(-pads[d], end, step):
                if not any(0 <= at + j * dilations[d] < size for j in range(k[d])):
                    raise Impossible

    def conv(self):
        n = self.r.choice([1, 2, 2, 2, 2, 3])
        x = self.image(n)
        c = self.of(x)[1]
        if not c or 0 in self.of(x):
            raise Impossible
        group = self.r.choice([1, 1, 1, c] + [g for g in (2, 4) if c % g == 0])
        out = group * self.r.choice([1, 1, 2, 3, 8, 16, 12, 18, 34])
        if out > 80:
            raise Impossible
        k, more = self.window(n, self.of(x)[2:])
        if more.get("auto_pad") is None:
            more["dilations"] = [self.r.choice([1, 1, 1, 2]) for _ in range(n)]
        self.fits(x, k, more)
        weights = [out, c // group] + k
        ins = [x, self.const(self.numbers(weights, np.float32)) if self.r.random() < 0.75 else self.new(weights)]
        if self.r.random() < 0.6:
            ins.append(self.const(self.numbers([out], np.float32)))
        y = self.add("Conv", ins, group=group, **({"kernel_shape": k} if self.r.random() < 0.5 else {}), **more)
        what = self.r.random()
        if what < 0.3:
            self.add("Relu", [y])
        elif what < 0.45:
            self.add("Add", [y, self.new(self.of(y))])
        elif what < 0.6:
            w = [self.const(np.abs(self.numbers([out], np.float32)) + np.float32(0.1)) for _ in range(4)]
            self.add("BatchNormalization", [y] + w)

    def grouped(self):
        """Convolutions one behind the other in groups of few channels, which fill no vector, or several of one."""
        n = self.r.choice([1, 2, 2])
        per, made = self.r.choice([1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 12, 16, 24]), self.r.choice([1, 1, 1, 1, 2, 4])
        group = self.r.choice([1] + [g for g in (2, 3, 4, 5, 6, 7, 8, 12, 16, 20, 24, 32) if g * per * made <= 128])
        if self.r.random() < 0.25:
            k, more = self.window(n, None)
            x = self.given(self.n.integers(0, 256, [1, group * per] + [self.r.choice([5, 8, 11])] * n).astype(np.uint8))
            self.fits(x, k, more)
            w = self.const(self.n.integers(-128, 128, [group * per * made, per] + k).astype(np.int8))
            zero = [self.const(np.array(self.r.choice([0, 3, 128]), np.uint8))] if self.r.random() < 0.7 else []
            y = self.add("ConvInteger", [x, w] + zero, group=group, kernel_shape=k, **more)
            x, sums = self.add("Cast", [y], to=onnx.TensorProto.FLOAT), [per * made]
        else:
            x, sums = self.image(n, group * per), [per, per * made]
        for c in sums:
            if 0 in self.of(x):
                raise Impossible
            k, more = self.window(n, self.of(x)[2:])
            self.fits(x, k, more)
            ins = [x, self.const(self.numbers([group * per * made, c] + k, np.float32))]
            if self.r.random() < 0.5:
                ins.append(self.const(self.numbers([group * per * made], np.float32)))
            x = self.add("Conv", ins, group=group, kernel_shape=k, **more)
            if self.r.random() < 0.5:
                x = self.add("Relu", [x])

    def conv_transpose(self):
        n = self.r.choice([1, 2, 2])
        x = self.image(n)
        c = self.of(x)[1]
        if not c or 0 in self.of(x):
            raise Impossible
        group = self.r.choice([1, 1, c])
        k, more = self.window(n, None)
        more["dilations"] = [self.r.choice([1, 1, 2]) for _ in range(n)]
        if "auto_pad" in more:
            more["auto_pad"] = "VALID"
        if self.r.random() < 0.3:
            more["output_padding"] = [self.r.randint(0, s - 1) for s in more["strides"]]
        self.add("ConvTranspose", [x, self.const(self.numbers([c, self.r.choice([1, 2, 8])] + k, np.float32))],
                 group=group, kernel_shape=k, **more)

    def pool(self):
        n = self.r.choice([1, 2, 2, 2])
        x = self.image(n)
        if 0 in self.of(x):
            raise Impossible
        op = self.r.choice(["MaxPool", "AveragePool", "MaxPool", "AveragePool", "LpPool", "GlobalAveragePool",
                            "GlobalMaxPool"])
        if op.startswith("Global"):
            return self.add(op, [x])
        k, more = self.window(n, None)
        if op == "AveragePool":
            more["count_include_pad"] = self.r.randrange(2)
        if op == "MaxPool" and self.opset >= 10 and "auto_pad" not in more:
            more["dilations"] = [self.r.choice([1, 1, 2]) for _ in range(n)]
        if self.opset >= 10 and op != "LpPool" and "auto_pad" not in more:
            more["ceil_mode"] = self.r.choice([0, 0, 1])
        self.fits(x, k, more)
        self.padded(x, k, more)
        self.starts_inside(x, k, more)
        if op == "MaxPool":
            self.sees(x, k, more)
        if op == "LpPool":
            more["p"] = self.r.choice([1, 2, 3])
            more.pop("pads", None)
            self.fits(x, k, more)
        if op == "MaxPool" and self.r.random() < 0.15 and not self.special:
            return self.add(op, [x], 2, kernel_shape=k, **more)
        return self.add(op, [x], kernel_shape=k, **more)

    def norm(self):
        x = self.some(least=2, exact=True)      # of elements that are equal but for rounding nothing else is left
        shape = self.of(x)
        if 0 in shape:
            raise Impossible
        op = self.r.choice(["LayerNormalization", "InstanceNormalization", "LRN", "BatchNormalization",
                            "LpNormalization", "MeanVarianceNormalization", "GroupNormalization"])
        if op == "LayerNormalization" and self.opset >= 17:
            axis = self.axis(len(shape))
            tail = shape[axis:]
            if np.prod(tail) == 1:
                raise Impossible
            ins = [x, self.const(self.numbers(tail, np.float32))]
            return self.add(op, ins + ([self.const(self.numbers(tail, np.float32))] if self.r.random() < 0.6 else []),
                            axis=axis)
        if op == "InstanceNormalization" and len(shape) > 2 and np.prod(shape[2:]) > 1:
            return self.add(op, [x, self.const(self.numbers(shape[1:2], np.float32)),
                                 self.const(self.numbers(shape[1:2], np.float32))])
        if op == "LRN" and len(shape) == 4:
            return self.add(op, [x], size=self.r.choice([1, 3, 5]), alpha=0.1, beta=self.r.choice([0.75, 0.5]))
        if op == "BatchNormalization":
            w = [self.const(np.abs(self.numbers(shape[1:2], np.float32)) + np.float32(0.1)) for _ in range(4)]
            return self.add(op, [x] + w)
        if op == "LpNormalization":
            return self.add(op, [x], axis=self.axis(len(shape)), p=self.r.choice([1, 2]))
        raise Impossible

    def resize(self):
        if self.opset < 11:
            raise Impossible
        x = self.some(rank=4)
        shape = self.of(x)
        if 0 in shape:
            raise Impossible
        mode = self.r.choice(["nearest", "linear", "cubic", "nearest"])
        how = self.r.choice(["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"])
        more = {}
        if mode == "nearest":
            more["nearest_mode"] = self.r.choice(["floor", "ceil", "round_prefer_floor", "round_prefer_ceil"])
        if mode == "cubic":
            more["cubic_coeff_a"] = self.r.choice([-0.75, -0.5])
            more["exclude_outside"] = self.r.randrange(2)
        if self.r.random() < 0.5:
            scales = np.array([1, 1, self.r.choice([0.5, 1, 2, 3, 1.5]), self.r.choice([0.5, 1, 2, 1.7])], np.float32)
            if any(int(s * d) < 1 for s, d in zip(scales, shape)):
                raise Impossible
            ins = [x, self.const(np.zeros(0, np.float32)) if self.opset < 13 else "", self.const(scales)]
        else:
            ins = [x, self.const(np.zeros(0, np.float32)) if self.opset < 13 else "",
                   self.const(np.zeros(0, np.float32)) if self.opset < 13 else "",
                   self.ints(shape[0], shape[1], self.r.choice([1, 3, 6, 10]), self.r.choice([2, 5, 8]))]
        self.add("Resize", ins, mode=mode, coordinate_transformation_mode=how, **more)

    def channels(self, x):
        """x, or an image of enough channels that samples of it are taken with these last."""
        return self.new([1, self.r.choice([8, 17]), self.r.choice([2, 5]), 4]) if self.r.random() < 0.5 else x

    def depth(self):
        b = 2
        if self.r.random() < 0.5:
            x = self.new([1, b * b * self.r.choice([1, 2, 3]), self.r.choice([1, 3]), self.r.choice([2, 3])])
            more = {"mode": self.r.choice(["DCR", "CRD"])} if self.opset >= 11 else {}
            self.add("DepthToSpace", [x], blocksize=b, **more)
        else:
            self.add("SpaceToDepth", [self.new([1, self.r.choice([1, 3]), 2 * self.r.choice([1, 3]), 4])], blocksize=b)

    def topk(self):
        if self.opset < 11 or self.special:
            raise Impossible
        x = self.some(self.r.choice(NUMBER), least=1, exact=True)
        axis = self.axis(len(self.of(x)))
        n = self.of(x)[axis]
        if not n or np.prod(self.of(x)) == 0:
            raise Impossible
        if self.r.random() < 0.3:   # long enough for parts that are sorted at once, with equal elements
            n = self.r.randint(60, 400)
            x, axis = self.given(self.n.integers(-30, 30, [n, 1, 2]).astype(np.float32)), 0
        self.add("TopK", [x, self.ints(self.r.choice([n, self.r.randint(1, n)]))], 2, axis=axis,
                 largest=self.r.randrange(2))

    def misc(self):
        x = self.some(least=1)
        rank = len(self.of(x))
        op = self.r.choice(["CumSum", "OneHot", "Trilu", "EyeLike", "Einsum", "Shape", "Size", "Dropout", "IsNaN",
                            "ReverseSequence", "ConstantOfShape", "Range"])
        if op == "CumSum" and self.opset >= 11:
            return self.add(op, [x, self.const(np.int64(self.axis(rank)))], exclusive=self.r.randrange(2),
                            reverse=self.r.randrange(2))
        if op == "OneHot":
            i = self.given(self.n.integers(-6, 6, self.shape(self.r.randint(0, 2))).astype(np.int64))
            if not self.of(i):
                raise Impossible
            return self.add(op, [i, self.const(np.int64(6)), self.const(np.array([0, 2], np.float32))],
                            axis=self.axis(len(self.of(i)) + 1))
        if op == "Trilu" and self.opset >= 14 and rank > 1:
            return self.add(op, [x, self.const(np.int64(self.r.randint(-3, 3)))], upper=self.r.randrange(2))
        if op == "EyeLike" and rank == 2:
            return self.add(op, [x], k=self.r.randint(-2, 2))
        if op == "Einsum" and self.opset >= 12:
            a, b, c, d = (self.r.choice([1, 2, 3, 5]) for _ in range(4))
            e, s = self.r.choice([("ij,jk->ik", ([a, b], [b, c])), ("bij,bjk->bik", ([a, b, c], [a, c, d])),
                                  ("ij,jk->ik", ([a, b], [1, c])), ("bij,bjk->bik", ([1, b, c], [a, c, d])),
                                  ("ij->ji", ([a, b],)), ("ij->", ([a, b],)), ("bhid,bhjd->bhij", ([a, b, c, d], [a, b, 2, d])),
                                  ("i,j->ij", ([a], [b])), ("ijk,k->ij", ([a, b, c], [c]))])
            return self.add(op, [self.new(q) for q in s], equation=e)
        if op == "Shape":
            return self.add("Cast", [self.add(op, [x])], to=TensorProto.FLOAT)
        if op == "IsNaN":
            return self.add(op, [x])
        if op == "ReverseSequence" and self.opset >= 10 and rank >= 2:
            s = self.of(x)
            if 0 in s:
                raise Impossible
            return self.add(op, [x, self.given(self.n.integers(1, s[0] + 1, s[1]).astype(np.int64))], time_axis=0,
                            batch_axis=1)
        if op == "ConstantOfShape":
            return self.add("Add", [x, self.add(op, [self.add("Shape", [x])])])
        raise Impossible

    def newer(self):
        op = self.r.choice(["HardSwish", "Mish", "Gelu", "Bitwise", "GridSample", "NonZero", "Compress", "Unique", "IsInf",
                            "Where", "Max", "Quantize", "CenterCropPad", "Logic", "Shrink", "Not", "Dropout",
                            "GroupNormalization", "ReduceAny", "NonMaxSuppression"])
        if op in ("HardSwish", "Mish", "Gelu"):
            if self.opset < {"HardSwish": 14, "Mish": 18, "Gelu": 20}[op]:
                raise Impossible
            more = {"approximate": self.r.choice(["none", "tanh"])} if op == "Gelu" else {}
            return self.add(op, [self.some()], **more)
        if op == "Bitwise" and self.opset >= 18:
            t = self.r.choice([np.int32, np.uint8, np.int64, np.int8])
            x = self.some(t)
            if self.r.random() < 0.2:
                return self.add("BitwiseNot", [x])
            return self.add(self.r.choice(["BitwiseAnd", "BitwiseOr", "BitwiseXor"]),
                            [x, self.new(self.broadcast(self.of(x)), t)])
        if op == "GridSample" and self.opset >= 16 and not self.special:
            x = self.channels(self.image(2))
            if 0 in self.of(x):
                raise Impossible
            grid = (self.n.random([self.of(x)[0], self.r.choice([1, 3, 5]), self.r.choice([2, 4]), 2]) * 2.4 - 1.2)
            mode = self.r.choice(["bilinear", "bicubic", "nearest"] if self.opset < 20 else ["linear", "cubic", "nearest"])
            return self.add(op, [x, self.given(grid.astype(np.float32))], mode=mode, align_corners=self.r.randrange(2),
                            padding_mode=self.r.choice(["zeros", "border", "reflection"]))
        if op == "NonZero":
            x = self.moved(least=1)
            if self.type(x) not in (np.float32, np.int32, np.int64, np.uint8, np.bool_) or self.opset < 9:
                raise Impossible
            return self.add(op, [x])
        if op == "Compress" and self.opset >= 9:
            x = self.moved(least=1)
            axis = self.axis(len(self.of(x)), self.opset >= 11)
            return self.add(op, [x, self.given(self.numbers([self.of(x)[axis]], np.bool_))], axis=axis)
        if op == "Unique" and self.opset >= 11 and not self.special:
            x = self.new([self.r.choice([1, 5, 9])], self.r.choice([np.int64, np.float32, np.int8]))
            return self.add(op, [x], 4, sorted=self.r.randrange(2))
        if op == "IsInf" and self.opset >= 10:
            return self.add(op, [self.some(self.r.choice([np.float32, np.float64]))], detect_negative=self.r.randrange(2))
        if op == "Where":
            x = self.moved()
            c = self.new(self.broadcast(self.of(x)), np.bool_)
            return self.add(op, [c, x, self.new(self.broadcast(self.of(x)), self.type(x))])
        if op == "Max" and self.opset >= 13:
            t = self.r.choice([np.float64, np.float16, np.int32, np.int64, np.uint8, np.int8])
            x = self.some(t)
            return self.add(self.r.choice(["Max", "Min"]), [x, self.new(self.broadcast(self.of(x)), t)])
        if op == "Quantize" and self.opset >= 10 and not self.special:
            x, t = self.some(exact=True), self.r.choice([np.uint8, np.int8])
            s = [self.const(np.float32(0.07)), self.const(np.array(3, t))]
            return self.add("DequantizeLinear", [self.add("QuantizeLinear", [x] + s)] + s)
        if op == "CenterCropPad" and self.opset >= 18:
            x = self.some(least=1)
            return self.add(op, [x, self.ints(*[self.r.choice([1, 3, 6, 10]) for _ in self.of(x)])])
        if op == "Logic":
            x = self.some(np.bool_)
            return self.add(self.r.choice(["And", "Or", "Xor"]), [x, self.new(self.broadcast(self.of(x)), np.bool_)])
        if op == "Not":
            return self.add(op, [self.some(np.bool_)])
        if op == "Shrink" and self.opset >= 9:
            return self.add(op, [self.some(exact=True)], lambd=0.4, bias=self.r.choice([0.0, 0.2]))
        if op == "Dropout" and self.opset >= 12:
            return self.add(op, [self.moved()]) if self.r.random() < 0.5 else self.add(op, [self.some()], 2)
        if op == "GroupNormalization" and self.opset >= 21:
            x = self.image(2, 4)
            if 0 in self.of(x):
                raise Impossible
            w = [self.const(self.numbers([4], np.float32)) for _ in range(2)]
            return self.add(op, [x] + w, num_groups=self.r.choice([1, 2, 4]))
        if op == "ReduceAny" and self.opset >= 20:
            x = self.some(np.bool_, least=1)
            if 0 in self.of(x):
                raise Impossible
            return self.add(self.r.choice(["ReduceMax", "ReduceMin"]), [x, self.ints(self.axis(len(self.of(x))))])
        if op == "NonMaxSuppression" and self.opset >= 10:
            b, c, n = self.r.choice([1, 1, 2]), self.r.choice([1, 3]), self.r.choice([1, 2, 7, 20, 45])
            boxes = self.n.integers(0, 12, [b, n, 4]).astype(np.float32)    # equal, empty, and in either order
            scores = self.n.integers(1, self.r.choice([3, 100]), [b, c, n]).astype(np.float32)
            limits = [np.int64(self.r.choice([0, 1, 4, 100])), np.float32(self.r.choice([0, 0.3, 0.5, 1])),
                      np.float32(self.r.choice([0, 20]))][:self.r.choice([1, 2, 3, 3])]
            return self.add(op, [self.given(boxes), self.given(scores)] + [self.const(np.array([q])) for q in limits])
        raise Impossible

    def rnn(self):
        t, b, i, h = self.r.choice([1, 3, 5]), self.r.choice([1, 2]), self.r.choice([1, 3, 4]), self.r.choice([1, 2, 5])
        op = self.r.choice(["LSTM", "GRU", "RNN"])
        g = {"LSTM": 4, "GRU": 3, "RNN": 1}[op]
        direction = self.r.choice(["forward", "reverse", "bidirectional"])
        d = 2 if direction == "bidirectional" else 1
        ins = [self.new([t, b, i]), self.const(self.numbers([d, g * h, i], np.float32)),
               self.const(self.numbers([d, g * h, h], np.float32))]
        if self.r.random() < 0.6:
            ins.append(self.const(self.numbers([d, 2 * g * h], np.float32)))
            if self.r.random() < 0.5:
                ins += ["" if self.r.random() < 0.5 else self.given(self.n.integers(1, t + 1, b).astype(np.int32)),
                        self.new([d, b, h])]
        more = {"linear_before_reset": self.r.randrange(2)} if op == "GRU" else {}
        self.add(op, ins, 3 if op == "LSTM" else 2, hidden_size=h, direction=direction, **more)

    def make(self):
        ops = [self.unary, self.parametric, self.binary, self.binary, self.integer, self.compare, self.cast, self.reduce,
               self.reduce, self.arg, self.softmax, self.transpose, self.reshape, self.flatten, self.squeeze, self.concat,
               self.split, self.slice, self.slice, self.gather, self.scatter, self.expand, self.tile, self.pad,
               self.matmul, self.matmul, self.gemm, self.conv, self.conv, self.conv, self.grouped, self.conv_transpose, self.pool,
               self.pool, self.norm, self.norm, self.resize, self.depth, self.topk, self.misc, self.rnn,
               self.newer, self.newer, self.newer, self.more_unary, self.typed, self.typed, self.signal, self.whole, self.whole,
               self.loss, self.windows, self.sequence, self.optional, self.words, self.attention, self.contributed,
               self.contributed]
        want = self.r.choice([1, 1, 2, 3, 4, 6])
        for _ in range(40):
            if len(self.nodes) >= want:
                break
            self.tried(ops)
        if not self.nodes or self.special and SUMS & {n.op_type for n in self.nodes}:
            raise Impossible        # inf - inf depends on the order of the terms
        return self.finished()

    def expected(self, model, data=None):
        return run_onnxruntime(model, data or self.data)

    def other_sizes(self):
        """Data for which each symbol is another number, or None. Elements are those that there are, over and over: floats a
        little greater each time, since ties and equal rows are other cases; integers stay valid indices."""
        if not self.symbols or any(d == 0 for k in self.inputs for d in self.values[k][0] or ()):
            return None
        if "op ReduceProd" in trial.operators(self.model([]).graph):
            return None     # of elements over and over some parts of a product overflow, others vanish: NaN, or not, by their order
        # Greater ones: where a window no longer fits, ONNX Runtime rounds sizes towards 0.
        sizes = {d: self.r.choice([d + 1, d + 7, 2 * d]) for d in sorted(self.symbols)}

        def grown(name, array):
            shape = self.renamed(name, sizes) if isinstance(array, np.ndarray) else None
            return array if shape is None or shape == list(array.shape) else self.more_of(array, shape)
        return {k: grown(k, v) for k, v in self.data.items()}

    def more_of(self, array, shape):
        v = np.resize(array, shape)
        return v if v.dtype.kind != "f" else (v * np.linspace(1, 1.2, v.size).reshape(v.shape)).astype(v.dtype)

    def finished(self):
        used = {i for n in self.nodes for i in n.input}
        outs = [o for n in self.nodes for o in n.output
                if o not in self.no_outputs and (o not in used or self.r.random() < 0.15)]
        if self.symbolic:
            low = self.r.choice([0, 1, 2, 2, 2])        # sizes of 0 and 1 are symbols too, sometimes
            sizes = {self.values[k][0][a] for k in self.inputs for a in self.open_axes(k) if self.values[k][0][a] >= low}
            self.symbols = {d: f"s{d}" for d in sorted(sizes) if self.r.random() < 0.6}
        return self.model(outs, self.symbols), outs


if __name__ == "__main__":
    sys.exit(trial.main(Maker, __doc__))
