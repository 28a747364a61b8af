"""Further operators for random_models.py: signals, quantised and whole-number products, losses, regions, sequences,
optionals, strings, attention, other float types, and the cases that tests/onnx has for com.microsoft.
"""
import os
import random
import sys

import numpy as np
from onnx import TensorProto, helper

from trial import BFLOAT16, Impossible, ROOT

sys.path.append(os.path.join(ROOT, "tests", "onnx"))
import ms_cases                     # noqa: E402
import ms_cases_more                # noqa: E402,F401   adds to CASES
import string_cases                 # noqa: E402

CASES = sorted(ms_cases.CASES)


class More:
    def needs(self, opset):
        if self.opset < opset:
            raise Impossible

    def plain(self):
        """For what sums: infinities and NaN depend on the order of the terms."""
        if self.special:
            raise Impossible

    def more_unary(self):
        op = self.r.choice(["Acos", "Acosh", "Asin", "Atanh", "ReduceLogSum", "CastLike", "Swish", "Det"])
        x = self.some(rank=self.r.choice([2, 3]) if op == "Det" else None)
        self.plain()
        if op == "Det":
            self.needs(11)
            n = self.r.choice([1, 2, 3, 5])
            return self.add(op, [self.new(self.r.choice([[], [1], [3], [2, 3]]) + [n, n])])
        if op == "Swish":
            self.needs(24)
            return self.add(op, [x], alpha=self.r.choice([1.0, 0.5]))
        if op == "CastLike":
            self.needs(15)
            return self.add(op, [self.add(op, [self.add("Sign", [self.new()]), self.new([1], np.int32)]), self.new([2])])
        if op == "ReduceLogSum":
            if not self.of(x) or 0 in self.of(x):
                raise Impossible
            return self.add(op, [self.add("Abs", [x])], keepdims=self.r.randrange(2))
        x = self.add("Mul", [self.add("Tanh", [x]), self.const(np.float32(0.9))])
        self.add(op, [self.add("Add", [self.add("Abs", [x]), self.const(np.float32(1.1))]) if op == "Acosh" else x])

    def typed(self):
        """Floats of other widths; what is half as exact goes a short way only."""
        t = self.r.choice([np.float64, np.float64, np.float16, BFLOAT16])
        to = {np.float64: TensorProto.DOUBLE, np.float16: TensorProto.FLOAT16}.get(t, TensorProto.BFLOAT16)
        self.plain()
        if t != np.float64:
            if t == BFLOAT16:
                self.needs(13)
            y = self.add("Cast", [self.add("Cast", [self.some(exact=True)], to=to)], to=TensorProto.FLOAT)
            return self.add("Relu", [y]) if self.r.random() < 0.5 else y
        x = self.add("Cast", [self.some(least=1, exact=True)], to=to)
        shape, op = self.of(x), self.r.choice(["unary", "binary", "MatMul", "Softmax", "Reduce", "Where", "Gemm"])
        if op == "unary":
            x = self.add(self.r.choice(["Relu", "Tanh", "Sigmoid", "Abs", "Neg", "Exp", "Floor", "Erf", "Round"]), [x])
        elif op == "binary":
            x = self.add(self.r.choice(["Add", "Sub", "Mul", "Max", "Min"]), [x, self.new(self.broadcast(shape), t)])
        elif op == "MatMul" and shape[-1]:
            x = self.add(op, [x, self.new([shape[-1], self.r.choice([1, 3, 8, 17])], t)])
        elif op == "Gemm" and len(shape) == 2 and shape[1]:
            x = self.add(op, [x, self.new([shape[1], 5], t), self.new([5], t)])
        elif op == "Softmax":
            x = self.add(op, [x], axis=-1) if self.opset >= 13 else x
        elif op == "Reduce" and 0 not in shape:
            x = self.add(self.r.choice(["ReduceMean", "ReduceMax", "ReduceProd"]), [x], keepdims=self.r.randrange(2))
        elif op == "Where":
            x = self.add(op, [self.new(self.broadcast(shape), np.bool_), x, self.new(self.broadcast(shape), t)])
        self.add("Cast", [x], to=TensorProto.FLOAT)

    def signal(self):
        self.needs(17)
        self.plain()
        op = self.r.choice(["DFT", "STFT", "BlackmanWindow", "HannWindow", "HammingWindow", "MelWeightMatrix"])
        if op.endswith("Window"):
            n = self.const(np.int64(self.r.choice([2, 3, 7, 16])))      # of 1, symmetric, ONNX Runtime makes 0/0
            return self.add(op, [n], periodic=self.r.randrange(2))
        if op == "MelWeightMatrix":
            v = [np.int64(self.r.choice([3, 8])), np.int64(self.r.choice([16, 32])), np.int64(8000), np.float32(0), np.float32(4000)]
            return self.add(op, [self.const(q) for q in v])
        if op == "STFT":
            size, step = self.r.choice([4, 7, 16, 20, 23]), self.r.choice([1, 3, 8])
            x = self.new([self.r.choice([1, 2]), self.r.choice([23, 40]), 1])
            return self.add(op, [x, self.const(np.int64(step)), self.const(self.numbers([size], np.float32))],
                            onesided=self.r.randrange(2))
        n, kind = self.r.choice([1, 2, 5, 8, 13, 18, 30]), self.r.choice([1, 2])
        x = self.new([self.r.choice([1, 3]), n, self.r.choice([1, 3]), kind])
        one = self.r.randrange(2) if kind == 1 else 0
        if self.opset >= 20:
            return self.add(op, [x, "", self.const(np.int64(1))], onesided=one, inverse=0 if one else self.r.randrange(2))
        self.add(op, [x], axis=1, onesided=one, inverse=0 if one else self.r.randrange(2))

    def whole(self):
        """Products of whole numbers, and their quantised forms: of operands as given, since any rounding before shows."""
        self.needs(10)
        self.plain()
        op = self.r.choice(["ConvInteger", "QLinearConv", "QLinearMatMul", "MatMulInteger", "DynamicQuantizeLinear", "QDQ"])
        t, w = self.r.choice([np.uint8, np.int8]), self.r.choice([np.uint8, np.int8])

        def numbers(shape, kind):
            i = np.iinfo(kind)
            return self.n.integers(i.min, i.max + 1, shape).astype(kind)

        def scaled(kind):
            return [self.const(np.float32(self.r.choice([0.02, 0.007, 0.125]))), self.const(np.array(numbers([], kind)))]
        if op == "DynamicQuantizeLinear":
            self.needs(11)
            return self.add(op, [self.new([self.r.choice([1, 5, 16])] + self.shape(self.r.choice([0, 1, 3])))], 3)
        if op.endswith("MatMul") or op == "MatMulInteger":
            a, b = self.r.choice([([3, 5], [5, 4]), ([2, 3, 7], [7, 8]), ([1, 16], [16, 17]), ([2, 3, 4], [2, 4, 5]), ([4, 1], [1, 3])])
            a, b = self.given(numbers(a, t)), self.given(numbers(b, w))
            if op == "MatMulInteger":
                zeros = [self.const(np.array(numbers([], k))) for k in (t, w)]
                return self.add(op, [a, b] + zeros[:self.r.randrange(3)])
            return self.add(op, [a] + scaled(t) + [b] + scaled(w) + [self.const(np.float32(0.5))] + scaled(t)[1:])
        c, group = self.r.choice([(1, 1), (3, 1), (4, 2), (8, 8), (16, 1)])
        out = group * self.r.choice([1, 2, 5])
        x = self.given(numbers([self.r.choice([1, 2]), c, self.r.choice([3, 5, 8]), self.r.choice([4, 7])], t))
        k, more = self.window(2, None)
        self.fits(x, k, more)
        y = self.const(numbers([out, c // group] + k, w if op != "QDQ" else np.int8))
        if op == "ConvInteger":
            zeros = [self.const(np.array(numbers([], t))), self.const(np.array(numbers([], w)))]
            return self.add(op, [x, y] + zeros[:self.r.randrange(3)], group=group, **more)
        if op == "QLinearConv":
            more["group"] = group
            bias = [self.const(self.n.integers(-999, 1000, [out]).astype(np.int32))] if self.r.random() < 0.5 else []
            return self.add(op, [x] + scaled(t) + [y] + scaled(w) + [self.const(np.float32(0.5))] + scaled(t)[1:] + bias, **more)
        self.needs(13)
        x = self.add("DequantizeLinear", [x] + scaled(t))
        if self.r.random() < 0.5:
            s = self.const(np.abs(self.numbers([out], np.float32)) + np.float32(0.01))
            y = self.add("DequantizeLinear", [y, s], axis=0)
        else:
            y = self.add("DequantizeLinear", [y, self.const(np.float32(0.03))])
        self.add("Conv", [x, y], group=group, **more)

    def loss(self):
        self.needs(13)
        self.plain()
        n, c, more = self.r.choice([1, 2, 5]), self.r.choice([1, 3, 7]), self.r.choice([[], [], [4], [2, 3]])
        x = self.new([n, c] + more)
        target = self.n.integers(0, c, [n] + more).astype(self.r.choice([np.int64, np.int32]))
        how = {"reduction": self.r.choice(["none", "mean", "sum"])}
        if self.r.random() < 0.4 and how["reduction"] != "mean":
            how["ignore_index"] = self.r.choice([0, -1])
            target.reshape(-1)[0] = how["ignore_index"]
        ins = [x, self.given(target)] + ([self.new([c])] if self.r.random() < 0.3 and how["reduction"] != "mean" else [])
        if self.r.random() < 0.5:
            return self.add("NegativeLogLikelihoodLoss", ins, **how)
        self.add("SoftmaxCrossEntropyLoss", ins, self.r.choice([1, 2]), **how)

    def windows(self):
        op = self.r.choice(["Col2Im", "RoiAlign", "MaxRoiPool", "GlobalLpPool", "AffineGrid", "Upsample", "DeformConv", "Unpool"])
        self.plain()
        if op == "Col2Im":
            self.needs(18)
            image, block, more = [self.r.choice([4, 5, 18]), self.r.choice([3, 6, 17])], [self.r.choice([1, 2, 3]) for _ in "hw"], {}
            if self.r.random() < 0.7:
                more = {"strides": [self.r.choice([1, 1, 2, 3]) for _ in "hw"], "dilations": [self.r.choice([1, 1, 2]) for _ in "hw"],
                        "pads": [self.r.choice([0, 0, 1, 2]) for _ in "hwhw"]}
            n = 1
            for k, (size, cells) in enumerate(zip(image, block)):
                left = size - 1 - (cells - 1) * more.get("dilations", [1, 1])[k] + sum(more.get("pads", [0] * 4)[k::2])
                if left < 0:
                    raise Impossible
                n *= left // more.get("strides", [1, 1])[k] + 1
            x = self.new([1, self.r.choice([1, 2]) * block[0] * block[1], n])
            return self.add(op, [x, self.ints(*image), self.ints(*block)], **more)
        if op == "Upsample":
            if self.opset != 9:
                raise Impossible
            x = self.image(2)
            s = self.const(np.array([1, 1, self.r.choice([1, 2, 3]), self.r.choice([1, 2])], np.float32))
            return self.add(op, [x, s], mode=self.r.choice(["nearest", "linear"]))
        if op == "AffineGrid":
            self.needs(20)
            return self.add(op, [self.new([2, 2, 3]), self.ints(2, 3, self.r.choice([3, 4]), self.r.choice([2, 5]))],     # 1: 0/0
                            align_corners=self.r.randrange(2))
        x = self.channels(self.image(2)) if op in ("RoiAlign", "DeformConv") else self.image(2)
        if 0 in self.of(x):
            raise Impossible
        n, c, h, w = self.of(x)
        if op == "GlobalLpPool":
            return self.add(op, [x], p=self.r.choice([1, 2, 3]))
        if op == "Unpool":
            self.needs(11)
            if h < 2 or w < 2:
                raise Impossible
            y, i = self.add("MaxPool", [self.new([n, c, h, w])], 2, kernel_shape=[2, 2], strides=[2, 2])
            return self.add("MaxUnpool", [y, i], kernel_shape=[2, 2], strides=[2, 2])
        if op == "DeformConv":
            self.needs(19)
            kh, kw = self.r.choice([1, 2]), self.r.choice([1, 3])
            oh, ow = h - kh + 1, w - kw + 1
            if oh < 1 or ow < 1:
                raise Impossible
            offset = self.given((self.n.random([n, 2 * kh * kw, oh, ow]) - 0.5).astype(np.float32))
            return self.add(op, [x, self.const(self.numbers([2, c, kh, kw], np.float32)), offset])
        k = self.r.choice([1, 3])
        boxes = np.sort(self.n.random([k, 2, 2]), 1) * [w, h]
        if op == "MaxRoiPool":
            rois = np.concatenate([self.n.integers(0, n, [k, 1]), np.floor(boxes.reshape(k, 4))], 1).astype(np.float32)
            return self.add(op, [x, self.given(rois)], pooled_shape=[self.r.choice([1, 2]), self.r.choice([1, 3])])
        self.needs(10)
        more = {"coordinate_transformation_mode": self.r.choice(["half_pixel", "output_half_pixel"])} if self.opset >= 16 else {}
        self.add(op, [x, self.given(boxes.reshape(k, 4).astype(np.float32)), self.given(self.n.integers(0, n, [k]).astype(np.int64))],
                 output_height=self.r.choice([1, 2, 3]), output_width=self.r.choice([1, 4]), sampling_ratio=self.r.choice([0, 1, 2]),
                 **more)

    def sequence(self):
        self.needs(11)
        if self.zero:       # of parts without elements ONNX Runtime does not compare the other sizes
            raise Impossible
        t = self.r.choice([np.float32, np.float32, np.int64])
        s = self.shape(self.r.choice([1, 2, 3]))
        axis = self.r.randrange(len(s))
        if self.r.random() < 0.4:
            x = self.new(s, t)
            q = self.add("SplitToSequence", [x] + ([self.const(np.int64(self.r.choice([1, 2])))] if self.r.random() < 0.5 else []),
                         axis=axis, keepdims=1)
        else:
            parts = [self.new(s[:axis] + [self.size()] + s[axis + 1:], t) for _ in range(self.r.choice([1, 2, 3]))]
            q = self.add("SequenceConstruct", parts)
        for _ in range(self.r.randint(0, 2)):
            how = self.r.random()
            at = [self.const(np.int64(self.r.choice([0, -1])))]
            if how < 0.4:
                q = self.add("SequenceInsert", [q, self.new(s[:axis] + [self.size()] + s[axis + 1:], t)] + at[:self.r.randrange(2)])
            elif how < 0.6:
                q = self.add("SequenceErase", [q] + at)
            else:
                q = self.add("Identity", [q]) if self.opset >= 14 else q
        how = self.r.random()
        if how < 0.35:
            self.add("ConcatFromSequence", [q], axis=axis)
        elif how < 0.5:
            self.add("ConcatFromSequence", [q], axis=axis, new_axis=1)
        elif how < 0.75:
            y = self.add("SequenceAt", [q, self.const(np.int64(self.r.choice([0, -1])))])
            self.add("Neg", [y])
        elif how < 0.9:
            self.add("Cast", [self.add("SequenceLength", [q])], to=TensorProto.FLOAT)

    def optional(self):
        self.needs(18)
        o = self.add("Optional", [self.moved()])
        if self.r.random() < 0.5:
            self.add("OptionalHasElement", [o])
        self.add("Identity", [self.add("OptionalGetElement", [o])])

    def words(self):
        """Strings, that a graph makes and takes apart."""
        self.plain()        # weights of infinity, times no occurrence
        op = self.r.choice(["StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "TfIdfVectorizer", "Cast"])

        def given(shape):       # ONNX Runtime splits at blanks alone, not at all white space, and an empty string into nothing
            full = [w for w in string_cases.WORDS if w.strip("\n") or op != "StringSplit"]
            name, array = self.name("s"), string_cases.strings(self.r, shape, full)
            self.root_of_inputs().take(name, array)
            self.values[name] = (list(shape), array.dtype)
            return name
        s = self.shape(self.r.choice([1, 2, 3]))
        if np.prod(s) > 300:
            raise Impossible
        if op == "Cast":
            self.plain()
            x = self.add("Cast", [self.new(s, self.r.choice([np.int64, np.int32]))], to=TensorProto.STRING)
            return self.add("Cast", [x], to=self.r.choice([TensorProto.FLOAT, TensorProto.INT64]))
        if op == "StringNormalizer":
            self.needs(10)
            n = self.r.choice([1, 4, 7])
            return self.add(op, [given(self.r.choice([[n], [1, n]]))], case_change_action=self.r.choice(["NONE", "LOWER", "UPPER"]),
                            is_case_sensitive=self.r.randrange(2), stopwords=self.r.sample(["a", "ab", "zebra"], 2))
        if op == "TfIdfVectorizer":
            grams = [int(v) for v in self.n.integers(0, 6, 5)] + [int(v) for v in self.n.permutation(36)[:4] for v in divmod(v, 6)]
            if len(set(grams[:5])) < 5:
                raise Impossible
            x = self.given(self.n.integers(0, 7, self.r.choice([[9], [3, 8]])).astype(np.int64))
            more = {"weights": [float(v) for v in self.numbers([9], np.float32)]} if self.r.random() < 0.5 else {}
            return self.add(op, [x], min_gram_length=self.r.choice([1, 2]), max_gram_length=2, max_skip_count=self.r.choice([0, 1, 3]),
                            ngram_counts=[0, 5], ngram_indexes=list(range(9)), pool_int64s=grams,
                            mode=self.r.choice(["TF", "IDF", "TFIDF"]), **more)
        self.needs(20)
        if op == "RegexFullMatch":
            return self.add(op, [given(s)], pattern=self.r.choice(["a.*", "[a-c]+", "", "(a|zebra)", r"\s*x\s*"]))
        if op == "StringSplit":
            more = {"delimiter": self.r.choice(["a", ",", "b"])} if self.r.random() < 0.6 else {}
            return self.add(op, [given(s)], 2, maxsplit=self.r.choice([1, 2]), **more) if self.r.random() < 0.5 else \
                self.add(op, [given(s)], 2, **more)
        x = self.add("StringConcat", [given(s), given(self.broadcast(s))])
        self.add("Equal", [x, given(self.broadcast(s))])

    def attention(self):
        self.needs(23)
        self.plain()
        op = self.r.choice(["Attention", "Attention", "RotaryEmbedding", "RMSNormalization"])
        b, h, s, d = self.r.choice([1, 2]), self.r.choice([1, 2, 4]), self.r.choice([1, 3, 8]), self.r.choice([2, 4, 8])
        if op == "RMSNormalization":
            x = self.some(least=2, exact=True)
            return self.add(op, [x, self.const(self.numbers(self.of(x)[-1:], np.float32))])
        if op == "RotaryEmbedding":
            x = self.new([b, h, s, d])
            cache = [self.new([8, d // 2]) for _ in range(2)]
            return self.add(op, [x] + cache + [self.given(self.n.integers(0, 8, [b, s]).astype(np.int64))],
                            interleaved=self.r.randrange(2))
        group, total, dv = self.r.choice([1, h]), self.r.choice([1, 3, 5, 8]), self.r.choice([2, 5])
        kv = h // group
        q, k, v = [b, h, s, d], [b, kv, total, d], [b, kv, total, dv]
        more = {"is_causal": self.r.randrange(2)}
        if self.r.random() < 0.3:
            q, k, v = ([n[0], n[2], n[1] * n[3]] for n in (q, k, v))
            more |= {"q_num_heads": h, "kv_num_heads": kv}
        if self.r.random() < 0.2:
            more["softcap"] = 2.0
        if self.r.random() < 0.3:
            more["scale"] = 0.3
        ins = [self.new(n) for n in (q, k, v)]
        if self.r.random() < 0.5 and not more["is_causal"]:
            mask = self.numbers(self.r.choice([[s, total], [b, 1, s, total], [1, h, s, total]]), np.float32)
            ins.append(self.given(mask))
        self.add(op, ins, **more)

    def contributed(self):
        """A node of com.microsoft, or on strings, from the cases that tests/onnx has, among others."""
        op = self.r.choice(CASES)
        r = random.Random(self.r.randrange(1 << 62))
        try:
            case = ms_cases.CASES[op](r, np.random.default_rng(r.randrange(1 << 62)))
        except ms_cases.Impossible:
            raise Impossible from None
        if case.expected is not None or case.steps or any(isinstance(v, ms_cases.Packed) for v, _ in filter(None, case.inputs)):
            raise Impossible
        if op == "Inverse" and self.symbolic:       # of a matrix that is nearly singular, only noise
            raise Impossible
        if op == "MatMulNBits" and case.inputs[4]:      # with groups all 0 ONNX Runtime gives other values than without
            raise Impossible
        names = []
        for k, value in enumerate(case.inputs):
            if value is None:
                names.append("")
                continue
            array = np.asarray(value[0])
            if k in case.constant or k and r.random() < 0.4:
                names.append(self.const(array))
            else:
                name = self.name("x")
                self.root_of_inputs().take(name, array)
                self.values[name] = (list(array.shape), array.dtype)
                if case.fixed.get(k):
                    self.root_of_inputs().still.add(name)
                names.append(name)
        outs = [self.name("v") if want else "" for want in case.wants]
        self.nodes.append(helper.make_node(case.op, names, outs, domain=case.domain, **case.attributes))
        named = [o for o in outs if o]
        self.values.update(zip(named, self.types_of_last(named)))
        self.rounded |= {o for o in named if self.type(o).kind not in "iub"}

    # ---- what bodies of ControlMaker leave to the graph around them
    def root_of_inputs(self):
        return self

    def take(self, name, array):
        self.inputs.append(name)
        self.values[name] = (list(array.shape), array.dtype)
        self.data[name] = array

    def types_of_last(self, outs):
        """Shapes and types of the newest node's results, which ONNX Runtime runs alone."""
        node = self.nodes[-1]
        known = {i.name: i for i in self.inits}
        used = [i for i in dict.fromkeys(node.input) if i]
        data = {k: self.root_of_inputs().data[k] for k in used if k not in known}
        ins = [helper.make_tensor_value_info(k, helper.np_dtype_to_tensor_dtype(v.dtype), v.shape) for k, v in data.items()]
        graph = helper.make_graph([node], "one", ins, [helper.make_empty_tensor_value_info(o) for o in outs],
                                  [known[k] for k in used if k in known])
        try:
            results = self.expected(self.wrapped(graph), data)
        except Exception as e:      # whatever ONNX Runtime throws
            raise Impossible from e
        return [(list(v.shape), v.dtype) for v in results]

    def wrapped(self, graph):
        domains = {n.domain for n in graph.node if n.domain}
        opsets = [helper.make_opsetid("", self.opset)] + [helper.make_opsetid(d, 1) for d in sorted(domains)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8 if self.opset < 23 else 10)

