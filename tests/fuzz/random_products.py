#!/usr/bin/env python3
"""random_products.py: as random_models.py (same options, same last line), for sums of products: convolutions and matrix products
of f32, of 16-bit floats and of bytes, whose channels, windows, strides and groups fit no vector, tile or block, in chains and
branches that share values. Half the models ask for an algorithm by its name, and for threads.

Scales are powers of two: such sums are exact, so ONNX Runtime and we must agree on ties, too.
"""
import sys

from random_models import Impossible, Maker, TensorProto, helper, np, trial

ALGORITHMS = ["winograd-2", "winograd-4", "winograd-6", "winograd-2-5x5", "winograd-4-5x5", "winograd-2-1d", "winograd-4-1d",
              "winograd-6-1d", "winograd-2-1d-5", "winograd-4-1d-5", "winograd-2-1d-7", "winograd-4-split", "winograd-4-1d-split", "winograd-2-whole", "winograd-4-whole", "winograd-2-1d-whole",
              "winograd-4-1d-whole", "winograd-2-1d-5-whole", "winograd-3-split-whole", "winograd-3-1d-split-whole", "integer-sums", "computed-bytes", "tables", "turned-factor", "phases", "phases",
              "sparse-blocks", "sparse-blocks", "direct"]
BYTES = [np.uint8, np.int8]


class Products(Maker):
    any_point = True    # no point of a product changes the order of its sum
    targets = ["x86-avx512vnni", "x86-avx512vnni", "x86-avx512bf16", "x86-amx", "x86-amx", "x86-avx512", "x86-avx2",
               "x86-avxvnni", "x86-64", "c99", "aarch64", "aarch64-dotprod", "aarch64-i8mm", "cortex-a55", "riscv64", "cortex-m4", "cortex-m55", "cuda", "cuda", "jetson"]

    def __init__(self, seed):
        super().__init__(seed)
        self.opset = self.r.choice([13, 15, 17, 19, 21])
        self.special, self.zero = False, self.r.random() < 0.03
        self.symbolic = self.r.random() < 0.35
        self.quantised = self.r.random() < 0.5
        self.kind = np.float16 if not self.quantised and self.r.random() < 0.2 else np.float32
        self.options = [f"--algorithm={self.r.choice(ALGORITHMS)}"] if self.r.random() < 0.5 else []
        if not self.quantised and self.r.random() < 0.25:
            self.precision = self.r.choice(["bf16", "bf16", "fp16"])
            self.options = [*self.options, f"--precision={self.precision}"]
        if not self.quantised and self.r.random() < 0.25:      # a third of the time also where it takes longer
            self.weights_precision = "int8"
            more = self.r.choice([[], ["--algorithm=byte-weights"], ["--activations-precision=int8"]])
            self.options = [*self.options, *more, "--weights-precision=int8"]
        self.channels_of = {}   # input -> axis of its channels, if not 1

    # ---- sizes
    def channels(self):
        return self.r.choice([1, 2, 3, 4, 5, 8, 13, 16, 17, 31, 32, 33, 48, 64, 64, 128, self.r.randint(1, 70)])

    def grouped(self, c):
        """Groups of c channels, and channels of the result: both any that go."""
        group = self.r.choice([1, 1, 1, max(1, c)] + [g for g in range(2, c + 1) if c % g == 0])
        return group, group * self.r.choice([1, 1, 2, 3, max(1, self.channels() // group)])

    def batch(self):
        return 0 if self.zero and self.r.random() < 0.5 else self.r.choice([1, 1, 1, 2, 3])

    def picture(self, n):
        return [self.r.choice([1, 2, 3, 5, 6, 7, 8, 9, 11, 14, 16, 17, 19, 23]) for _ in range(n)]

    def strange_window(self, n, spatial):
        same = self.r.random() < 0.5        # what Winograd takes: also beside other windows, and dilated
        taps = self.r.choice([3, 3, 3, 5, 7, 9])
        k = [taps if self.r.random() < 0.8 else self.r.choice([1, 1, 2]) for _ in range(n)] if same else \
            [self.r.choice([1, 1, 2, 3, 3, 4, 5, 7]) for _ in range(n)]
        plain = same or self.r.random() < 0.4
        strides = [1 if plain else self.r.choice([1, 2, 2, 3, 4, 5]) for _ in range(n)]
        dilations = [self.r.choice([1, 1, 1, 2, 3]) if same else 1 if plain else self.r.choice([1, 1, 2, 3]) for _ in range(n)]
        pads = [self.r.choice([0, kk // 2, kk // 2, self.r.randint(0, kk + 1)]) for kk in k * 2]
        if any((k[d] - 1) * dilations[d] + 1 > spatial[d] + pads[d] + pads[d + n] for d in range(n)):
            raise Impossible
        return k, {"strides": strides, "dilations": dilations, "pads": pads}

    # ---- operands
    def bytes(self, shape, kind):
        """Over all the range, at its ends, or a few of them; half of the time without the least one, as some instructions
        need it and quantisers do it."""
        i, how = np.iinfo(kind), self.r.random()
        if how < 0.15:
            return self.n.choice([i.min + (how < 0.08), i.max], shape).astype(kind)
        low, high = (i.min + (how < 0.4), i.max + 1) if how < 0.6 else (max(i.min, -8), 9)
        return self.n.integers(low, high, shape).astype(kind)

    def zero_point(self, kind):
        i = np.iinfo(kind)
        return np.array(self.r.choice([0, 0, i.min, i.max, 128 if kind == np.uint8 else 0, self.r.randint(i.min, i.max)]), kind)

    def scale(self, shape=()):
        return np.exp2(self.n.integers(-6, 0, shape)).astype(np.float32)

    def rank(self, n):
        c = self.channels()
        fits = [k for k, (s, t) in self.readable() if t == self.kind and s is not None and len(s) == n + 2 and
                k not in {i.name for i in self.inits}]
        if fits and self.r.random() < 0.85:
            return self.r.choice(fits[-3:])
        return self.given(self.floats([self.batch(), c] + self.picture(n)))

    def floats(self, shape):
        """Of quantised models small whole numbers over a power of two, the sums of which are exact."""
        return (self.n.integers(-40, 41, shape) / 8).astype(np.float32) if self.quantised else self.numbers(shape, self.kind)

    def rows(self, shape):
        x = self.given(self.floats(shape))
        self.channels_of[x] = len(shape) - 1
        return x

    def quantise(self, x):
        kind = self.r.choice(BYTES)
        with_zero = [self.const(self.scale()), self.const(self.zero_point(kind))]
        return self.add("QuantizeLinear", [x] + with_zero), with_zero

    def qdq(self, x):
        q, how = self.quantise(x)
        return self.add("DequantizeLinear", [q] + how)

    def few_bits(self, shape, axis):
        """Of four bits, with a scale for each block, for each column, or one; axis: of the columns."""
        t, blocks = self.r.choice([TensorProto.INT4, TensorProto.UINT4]), self.r.choice([0, 16, 32])
        low = -8 if t == TensorProto.INT4 else 0
        if blocks and shape[1 - axis] % blocks:
            raise Impossible
        scales = [n if k == axis else n // blocks for k, n in enumerate(shape)] if blocks else self.r.choice([[], [shape[axis]]])

        def packed(dims):
            name = self.name("w")
            self.inits.append(helper.make_tensor(name, t, dims, self.n.integers(low, low + 16, dims).flatten()))
            self.values[name] = (list(dims), np.dtype(np.int8))
            return name
        w = [packed(shape), self.const(self.numbers(scales, np.float32) * np.float32(0.01))]
        if self.r.random() < 0.5:
            w.append(packed(scales))
        return self.add("DequantizeLinear", w, axis=1 - axis if blocks else axis, **({"block_size": blocks} if blocks else {}))

    def sparse(self, w, axis):
        """Often most weights are zero, for some channels at a time; some channels have more of them, or nothing else."""
        block, zero = self.r.choice([1, 4, 8, 16, 32]), self.r.choice([0, 0, 0.3, 0.6, 0.9, 1])
        rows = np.moveaxis(w, axis, 0)      # a view
        for k in range(0, len(rows), block):
            share = zero if self.r.random() < 0.8 else zero * self.r.random()
            rows[k:k + block, self.n.random(rows.shape[1:]) < share] = 0
        return w

    def weights(self, shape, axis):
        if not self.quantised and len(shape) == 2 and self.kind == np.float32 and self.opset >= 21 and self.r.random() < 0.4:
            return self.few_bits(shape, axis)
        if not self.quantised:
            return self.const(self.sparse(self.numbers(shape, self.kind) * self.kind(0.1), axis))
        kind, per = self.r.choice([np.int8, np.int8, np.uint8]), self.r.random() < 0.5
        s = self.scale([shape[axis]] if per else ())
        zero = np.zeros(np.shape(s), kind) if self.r.random() < 0.7 else \
            np.broadcast_to(self.zero_point(kind), np.shape(s)).copy()
        w = [self.const(self.bytes(shape, kind)), self.const(s), self.const(zero)]
        return self.add("DequantizeLinear", w, **({"axis": axis} if per else {}))

    def open_axes(self, name):
        """Batches, pictures, rows: channels belong to the weights."""
        rank = len(self.values[name][0] or ())
        return super().open_axes(name) - {self.channels_of.get(name, 1)} if rank > 1 else set()

    def more_of(self, array, shape):
        return np.resize(array, shape) if self.quantised else super().more_of(array, shape)

    # ---- parts of a model
    def after(self, y):
        out = self.of(y)[1] if len(self.of(y)) > 1 else 1
        what = self.r.random()
        if what < 0.2:
            y = self.add("Relu", [y])
        elif what < 0.3:
            y = self.add("Clip", [y, self.const(self.kind(-2)), self.const(self.kind(6))])
        elif what < 0.4:
            y = self.add("Add", [y, self.given(self.floats(self.of(y)))])
        elif what < 0.5:
            y = self.add("Mul", [y, self.const(np.full([out] + [1] * (len(self.of(y)) - 2), 0.5, self.kind))])
        elif what < 0.6 and not self.quantised:
            y = self.add("Mul", [y, self.add("Sigmoid", [y])])
        elif what < 0.7:
            y = self.add("LeakyRelu", [y], alpha=0.25)
        return self.qdq(y) if self.quantised and self.r.random() < 0.8 else y

    def convolution(self):
        n = self.r.choice([1, 2, 2, 2, 2, 3])
        x = self.rank(n)
        c, spatial = self.of(x)[1], self.of(x)[2:]
        k, more = self.strange_window(n, spatial)
        group, out = self.grouped(c)
        if out > 140 or out * c // group * int(np.prod(k)) > 30000:
            raise Impossible
        if self.quantised:
            x = self.qdq(x)
        ins = [x, self.weights([out, c // group] + k, 0)]
        if self.r.random() < 0.5:
            ins.append(self.const(self.floats([out])))
        self.after(self.add("Conv", ins, group=group, **more))

    def transposed(self):
        n = self.r.choice([1, 2, 2])
        x = self.rank(n)
        c = self.of(x)[1]
        group, out = self.grouped(c)
        k = [self.r.choice([1, 2, 3, 4, 5]) for _ in range(n)]
        strides = [self.r.choice([1, 2, 2, 3, 6]) for _ in range(n)]
        pads = [self.r.randint(0, kk - 1) for kk in k * 2]
        if out > 140 or out * c // group * int(np.prod(k)) > 20000:
            raise Impossible
        shape = [c, out // group] + k
        if not self.quantised and self.r.random() < 0.3:
            factors = [x, self.given(self.numbers(shape, self.kind) * self.kind(0.1))]
            factors += [self.given(self.numbers([out], self.kind))] if self.r.random() < 0.5 else []
        else:
            factors = [x, self.weights(shape, 1)]
        self.after(self.add("ConvTranspose", factors, group=group, strides=strides, pads=pads))

    def product(self):
        rank = self.r.choice([2, 2, 3, 4])
        fits = [k for k, (s, t) in self.readable() if t == self.kind and s and len(s) == rank and k not in
                {i.name for i in self.inits}]
        m = self.r.choice([1, 1, 2, 5, 16, 17, 33])
        x = self.r.choice(fits[-3:]) if fits and self.r.random() < 0.8 else \
            self.rows([self.batch() for _ in range(rank - 2)] + [m, self.channels()])
        k, n = self.of(x)[-1], self.channels()
        if not k:
            raise Impossible
        if self.quantised:
            x = self.qdq(x)
        if rank == 2 and self.r.random() < 0.5:
            flip = self.r.randrange(2)
            w = self.weights([n, k] if flip else [k, n], 0 if flip else 1)
            y = self.add("Gemm", [x, w, self.const(self.floats([n]))], transB=flip)
        elif self.r.random() < 0.3:
            flip = self.r.randrange(2)
            w = self.given(self.floats(self.of(x)[:-2] + ([n, k] if flip else [k, n])))
            self.still.add(w)
            y = self.add("Einsum", [x, w], equation="...mk,...nk->...mn") if flip else self.add("MatMul", [x, w])
        else:
            each = self.of(x)[:-2] if not self.quantised and self.r.random() < 0.2 else []   # weights for each of a batch
            self.still.update([x] if each else [])
            y = self.add("MatMul", [x, self.weights(each + [k, n], 1)])
        self.after(y)

    def between(self):
        """What stands between products: moves, pools, sums of branches."""
        x = self.rank(2)
        n, c, h, w = self.of(x)
        if 0 in (n, c, h, w):
            raise Impossible
        x = self.qdq(x) if self.quantised and self.r.random() < 0.7 else x
        op = self.r.choice(["MaxPool", "AveragePool", "Concat", "Split", "Shuffle", "Pad", "Resize", "Add", "Transpose", "Slice",
                            "Global", "Depth"])
        if op in ("MaxPool", "AveragePool"):
            k, more = self.window(2, None)
            self.fits(x, k, more)
            self.padded(x, k, more)
            self.sees(x, k, more)
            if self.quantised and op == "AveragePool":
                k, more = [2, 2], {"strides": self.r.choice([[1, 1], [2, 2], [3, 3]])}
                self.fits(x, k, more)
            y = self.add(op, [x], kernel_shape=k, **more)
        elif op == "Concat":
            others = [self.given(self.floats([n, self.channels(), h, w])) for _ in range(self.r.choice([1, 2]))]
            others = [self.qdq(o) if self.quantised else o for o in others]
            y = self.add(op, [x] + others + ([x] if self.r.random() < 0.3 else []), axis=1)
        elif op == "Split":
            at = self.r.randint(0, c)
            y = self.add(op, [x, self.ints(at, c - at)], 2, axis=1)[self.r.randrange(2)]
        elif op == "Shuffle":
            g = self.r.choice([g for g in range(1, c + 1) if c % g == 0])
            y = self.add("Reshape", [x, self.ints(n, g, c // g, h, w)])
            y = self.add("Transpose", [y], perm=[0, 2, 1, 3, 4])
            y = self.add("Reshape", [y, self.ints(n, c, h, w)])
        elif op == "Pad":
            y = self.add(op, [x, self.ints(0, 0, *[self.r.randint(0, 2) for _ in "hw"], 0, self.r.choice([0, 0, 3]),
                                           *[self.r.randint(-(d > 2), 2) for d in (h, w)])])
        elif op == "Resize":
            s = np.array([1, 1, self.r.choice([1, 2, 3]), self.r.choice([1, 2])], np.float32)
            y = self.add(op, [x, "", self.const(s)], mode="nearest", coordinate_transformation_mode="asymmetric", nearest_mode="floor")
        elif op == "Add":
            y = self.add(self.r.choice(["Add", "Sub", "Max"]), [x, self.given(self.floats(self.r.choice([[n, c, h, w], [c, 1, 1]])))])
        elif op == "Transpose":
            y = self.add(op, [x], perm=self.r.sample(range(4), 4))
        elif op == "Slice":
            a = self.r.randrange(4)
            y = self.add(op, [x, self.ints(self.r.randrange(self.of(x)[a])), self.ints(999), self.ints(a), self.ints(self.r.choice([1, 2]))])
        elif op == "Global":
            if self.quantised:
                raise Impossible
            y = self.add("Mul", [x, self.add("Sigmoid", [self.add("GlobalAveragePool", [x])])])
        else:
            if h % 2 or w % 2:
                raise Impossible
            y = self.add("SpaceToDepth", [x], blocksize=2)
        if self.quantised and 0 not in self.of(y) and self.r.random() < 0.7:
            self.qdq(y)

    def integers(self):
        """The operators of whole numbers themselves."""
        t, w = self.r.choice(BYTES), self.r.choice(BYTES)
        op = self.r.choice(["ConvInteger", "QLinearConv", "QLinearConv", "MatMulInteger", "QLinearMatMul"])
        if op.startswith("QLinear") and t == np.int8:       # ONNX Runtime has no other
            w = np.int8

        def how(kind, shape=()):
            return [self.const(self.scale(shape)), self.const(np.broadcast_to(self.zero_point(kind), shape).copy())]
        if op.startswith("Conv") or op.endswith("Conv"):
            n = self.r.choice([1, 2, 2])
            c, spatial = self.channels(), self.picture(n)
            k, more = self.strange_window(n, spatial)
            group, out = self.grouped(c)
            if out > 140 or out * c // group * int(np.prod(k)) > 30000:
                raise Impossible
            x = self.given(self.bytes([self.batch(), c] + spatial, t))
            y = self.const(self.bytes([out, c // group] + k, w))
            if op == "ConvInteger":
                y = self.add(op, [x, y, self.const(self.zero_point(t)), self.const(self.zero_point(w))][:self.r.randint(2, 4)],
                             group=group, **more)
                return self.add("Mul", [self.add("Cast", [y], to=TensorProto.FLOAT), self.const(self.scale())])
            per = (out,) if self.r.random() < 0.5 else ()
            bias = [self.const(self.n.integers(-9999, 10000, [out]).astype(np.int32))] if self.r.random() < 0.5 else []
            ins = [x] + how(t) + [y] + how(w, per) + [self.const(np.float32(2.0 ** self.r.randint(-3, 8))), self.const(self.zero_point(t))]
            return self.add(op, ins + bias, group=group, **more)
        k, n, m = self.channels(), self.channels(), self.r.choice([1, 2, 5, 16, 17, 40])
        lead = self.r.choice([[], [], [2], [3, 2]])
        x, y = self.given(self.bytes(lead + [m, k], t)), self.bytes(self.r.choice([[], lead]) + [k, n], w)
        y = self.const(y) if self.r.random() < 0.5 else self.given(y)
        self.still.update((x, y))
        if op == "MatMulInteger":
            y = self.add(op, [x, y, self.const(self.zero_point(t)), self.const(self.zero_point(w))][:self.r.randint(2, 4)])
            return self.add("Mul", [self.add("Cast", [y], to=TensorProto.FLOAT), self.const(self.scale())])
        return self.add(op, [x] + how(t) + [y] + how(w) + [self.const(np.float32(2.0 ** self.r.randint(-3, 8))), self.const(self.zero_point(t))])

    def make(self):
        parts = [self.convolution] * 5 + [self.product] * 3 + [self.between] * 3 + [self.transposed]
        parts += [self.integers] * 3 if self.quantised else []
        want = self.r.choice([1, 1, 2, 3, 4])
        done = 0
        for _ in range(30):
            if done >= want:
                break
            done += self.tried(parts) is not None
        if not self.nodes:
            raise Impossible
        if self.r.random() < 0.1:           # the same value is a result twice
            last = self.nodes[-1].output[0]
            self.nodes += [helper.make_node("Identity", [last], [self.name("same")]) for _ in range(2)]
        return self.finished()


if __name__ == "__main__":
    sys.exit(trial.main(Products, __doc__))
