#!/usr/bin/env python3
"""random_chains.py: as random_models.py (same options, same last line), for values that go from one kernel to the next alone and
are larger than a cache: attention of any number of heads, rows and columns with all kinds of masks, products after norms and
products, convolutions of batches. Caches are taken to be small, so that such values need not be large.
"""
import sys

from random_models import Impossible, np, trial
from random_products import Products


class Chains(Products):
    small_caches = True
    targets = ["x86-avx512bf16", "x86-avx512bf16", "x86-amx", "x86-avx512vnni", "x86-avx512", "x86-avx2", "x86-avx2", "x86-64", "c99", "c99", "aarch64", "aarch64-dotprod", "aarch64-i8mm",
               "riscv64", "cortex-m4", "cortex-m55"]

    def __init__(self, seed):
        super().__init__(seed)
        self.opset = self.r.choice([self.opset, 23, 24])
        if not self.quantised and not self.precision and self.r.random() < 0.3:
            self.precision = "bf16"
            self.options = [*self.options, "--precision=bf16"]

    def length(self):
        return self.r.choice([1, 3, 16, 17, 31, 40, 64, 65, 97, self.r.randint(1, 120)])

    def batches(self):
        return 0 if self.zero else self.r.choice([1, 1, 1, 2, 3, 7])

    def maybe_qdq(self, x):
        return self.qdq(x) if self.quantised and self.r.random() < 0.7 else x

    def linear(self, x, n):
        y = self.add("MatMul", [self.maybe_qdq(x), self.weights([self.of(x)[-1], n], 1)])
        return self.add("Add", [y, self.const(self.floats([n]))]) if self.r.random() < 0.5 else y

    def heads(self, x, h, d, perm):
        y = self.add("Reshape", [self.linear(x, h * d), self.ints(0, 0, h, d)])
        return self.add("Transpose", [y], perm=perm)

    def repeated(self, x, times):
        if times == 1:
            return x
        b, h, *rest = self.of(x)
        x = self.add("Expand", [self.add("Unsqueeze", [x, self.ints(2)]), self.ints(1, 1, times, 1, 1)])
        return self.add("Reshape", [x, self.ints(0, h * times, *([-1, rest[1]] if self.r.random() < 0.5 else rest))])

    def masked(self, s, b, h, m, n):
        shape = self.r.choice([[m, n], [b, 1, 1, n], [1, h, m, n], [b, 1, m, n], [1, 1, 1, n], [b, h, m, n], [h, 1, 1]])
        if self.r.random() < 0.3:
            keep = self.given(self.n.random(shape) < 0.7)
            self.still.add(keep)
            return self.add("Where", [keep, s, self.const(self.kind(-100))])
        mask = self.mask(shape)
        return self.add("Add", self.r.choice([[s, mask], [mask, s]]))

    def mask(self, shape):
        """Given, or made of what is: by a kernel, or of fewer or more rows, so that it ends before the scores do, or later."""
        how, at = self.r.random(), self.r.randrange(len(shape))
        part = max(1, shape[at] // 2) if how < 0.15 else shape[at] + 5 if how < 0.3 else shape[at]
        mask = self.given(self.floats([*shape[:at], part, *shape[at + 1:]]))
        self.still.add(mask)
        if how < 0.15 and shape[at] > part:
            ends = [[0, shape[at] - part], [shape[at] - part, 0]][how < 0.05]
            pads = [[e if k == at else 0 for k in range(len(shape))] for e in ends]
            return self.add("Pad", [mask, self.ints(*pads[0], *pads[1])])
        if part > shape[at]:
            first = self.r.randrange(6)
            return self.add("Slice", [mask, self.ints(first), self.ints(first + shape[at]), self.ints(at)])
        return self.add(self.r.choice(["Abs", "Relu"]), [mask]) if how < 0.5 else mask

    def in_windows(self, s, b, h, m, n):
        """A mask of each window of a picture, and scores of all windows of all pictures."""
        w = self.r.choice([k for k in (1, 2, 3, 7) if b % k == 0])
        s = self.add("Reshape", [s, self.ints(b // w, w, h, m, n)])
        s = self.add("Add", [s, self.mask([w, 1, m, n])])
        return self.add("Reshape", [s, self.ints(b, h, m, n)])

    def softmax(self, s):
        if self.zero or self.r.random() < 0.7:      # ONNX Runtime reduces axes of no cells to as many as they were
            return self.add("Softmax", [s], axis=self.r.choice([-1, 3]))
        e = self.add("Exp", [self.add("Sub", [s, self.add("ReduceMax", [s], axes=[-1]) if self.opset < 18 else
                                              self.add("ReduceMax", [s, self.ints(-1)])])])
        return self.add("Div", [e, self.add("ReduceSum", [e, self.ints(-1)])])

    def attention(self):
        b, m, h, d, c = self.batches(), self.length(), self.r.choice([1, 2, 3, 5, 8]), self.r.choice([1, 4, 8, 16, 24]), self.r.choice([3, 8, 16, 33])
        x = self.rows([b, m, c])
        y, n = x, m
        if self.r.random() < 0.4:
            n = self.length()
            y = self.rows([b, n, c])
        few = self.r.choice([g for g in range(1, h + 1) if h % g == 0] + [h] * 4)       # heads of keys and values
        q, v = self.heads(x, h, d, [0, 2, 1, 3]), self.repeated(self.heads(y, few, d, [0, 2, 1, 3]), h // few)
        k = self.repeated(self.heads(y, few, d, [0, 2, 3, 1]), h // few)
        if self.r.random() < 0.5:
            q = self.add("Mul", [q, self.const(self.kind(0.5))])
        s = self.maybe_qdq(self.add("MatMul", [self.maybe_qdq(q), self.maybe_qdq(k)]))
        if self.r.random() < 0.4:
            s = self.add(self.r.choice(["Mul", "Div"]), [s, self.const(self.kind(2))])
        if self.r.random() < 0.6:
            s = self.masked(s, b, h, m, n)
        if self.r.random() < 0.2 and not self.zero and not self.symbolic:
            s = self.in_windows(s, b, h, m, n)
        if self.opset >= 14 and self.r.random() < 0.15:
            s = self.add("Trilu", [s], upper=0)
        y = self.add("MatMul", [self.softmax(s), v])
        if self.r.random() < 0.8:
            y = self.add("Reshape", [self.add("Transpose", [y], perm=[0, 2, 1, 3]), self.ints(0, 0, h * d)])
            y = y if self.quantised else self.linear(y, self.r.choice([3, 8, 17]))      # no quantiser may round what is not exact
        self.after_rows(y)

    def operator(self):
        """The same as one operator, with heads as an axis or side by side, a cache, and fewer heads of keys."""
        if self.opset < 23 or self.quantised or self.zero:
            raise Impossible
        b, m, n, d = self.batches(), self.length(), self.length(), self.r.choice([4, 8, 16, 24])
        few, times = self.r.choice([1, 2, 3]), self.r.choice([1, 1, 2, 3])
        how, past = {}, 0
        if self.r.random() < 0.5:
            how = {"q_num_heads": few * times, "kv_num_heads": few}
            q, *kv = [self.linear(self.rows([b, rows, 8]), h * d) for rows, h in ((m, few * times), (n, few), (n, few))]
        else:
            q = self.heads(self.rows([b, m, 8]), few * times, d, [0, 2, 1, 3])
            kv = [self.heads(self.rows([b, n, 8]), few, d, [0, 2, 1, 3]) for _ in range(2)]
        caches = []
        if self.r.random() < 0.3:
            past = self.length()
            caches = [self.given(self.floats([b, few, past, d])) for _ in range(2)]
        mask = ""
        if self.r.random() < 0.5:
            shape = self.r.choice([[m, n + past], [b, 1, 1, n + past], [1, few * times, m, n + past], [b, 1, m, n + past]])
            mask = self.given(self.n.random(shape) < 0.8) if self.r.random() < 0.4 else self.given(self.floats(shape))
            self.still.add(mask)
        if m > 1 and self.r.random() < 0.4:     # ONNX Runtime lets a single query see all keys
            how["is_causal"] = 1
        if self.r.random() < 0.2:
            how["softcap"] = 2.0
        if self.r.random() < 0.3:
            how["scale"] = 0.3
        ys = self.add("Attention", [q, *kv, mask, *caches], 3 if caches else 1, **how)
        self.add("Relu", [ys[0] if caches else ys])

    def after_rows(self, y):
        what, shape = self.r.random(), self.of(y)
        if what < 0.25:
            self.add("Relu", [y])
        elif what < 0.4:        # a residual, which a kernel has made
            self.add("Add", [y, self.add("Abs", [self.given(self.floats(shape))])])
        elif what < 0.5:
            self.add("Concat", [y, self.given(self.floats(shape))], axis=self.r.randrange(len(shape)))
        elif what < 0.6:
            self.add("Transpose", [y], perm=self.r.sample(range(len(shape)), len(shape)))

    def normed(self, x):
        c = self.of(x)[-1]
        if self.opset >= 17 and self.kind == np.float32 and self.r.random() < 0.6:
            return self.add("LayerNormalization", [x, self.const(self.floats([c])), self.const(self.floats([c]))], axis=-1)
        return self.add("Softmax", [x], axis=-1)

    def layers(self):
        """Products, norms and maps of rows after one another. What norms make is not exact: no quantiser may round it."""
        x = self.rows([self.batches() for _ in range(self.r.choice([0, 1, 1, 2]))] + [self.length(), self.r.choice([3, 16, 32, 40])])
        for _ in range(self.r.randint(2, 4)):
            what = self.r.random()
            if what < 0.3 and not self.quantised:
                x = self.normed(x)
            elif what < 0.9:
                x = self.linear(x, self.r.choice([16, 33, 64, 96]))
                x = self.add("Relu", [x]) if self.r.random() < 0.5 else x
            else:
                x = self.add("Abs", [x])
        self.after_rows(x)

    def make(self):
        parts = [self.attention] * 4 + [self.operator] * 3 + [self.layers] * 2 + [self.convolution]
        want, done = self.r.choice([1, 1, 1, 2]), 0
        for _ in range(20):
            if done >= want:
                break
            part = self.tried(parts)
            if part:
                done += want if self.quantised and part == self.attention else 1    # nothing may round it
        if not self.nodes:
            raise Impossible
        return self.finished()


if __name__ == "__main__":
    sys.exit(trial.main(Chains, __doc__))
