#!/usr/bin/env python3
"""random_control.py [options as random_models.py]

Random models with If, Loop and Scan, nested up to three deep: values captured from outside, loops of no passes, bodies that
give back a parameter, a capture or a constant as it is, carried values that change places, grow, shrink or change their
shape, branches whose sizes or ranks differ, and readers outside that want layouts of their own. Drawn, run and compared by
random_models.py.
"""
import sys

from random_models import Impossible, Maker, elem, helper, np, onnx, run_onnxruntime, shape_inference, trial

DEPTH = 3


def own_results(graph):
    """Each body gives values of its own: of one that it gives twice, or that it was given, ONNX Runtime makes anything."""
    for node in graph.node:
        for a in node.attribute:
            if a.type == onnx.AttributeProto.GRAPH:
                own_results(a.g)
                for k, out in enumerate(a.g.output):
                    name = f"{out.name}_{node.output[0]}_{a.name}_{k}"
                    a.g.node.append(helper.make_node("Identity", [out.name], [name]))
                    out.name = name


class ControlMaker(Maker):
    """A graph, or a body (outer is the maker around it). Shapes of what control nodes give are found by running them."""

    def __init__(self, seed, outer=None):
        super().__init__(seed)
        self.outer, self.depth = outer, outer.depth + 1 if outer else 0
        self.params = []        # of a body
        self.locked = set()     # what only the nodes that carry it on may read
        if outer:
            self.r, self.n, self.opset, self.special, self.zero = outer.r, outer.n, outer.opset, outer.special, outer.zero
            self.values = {k: v for k, v in outer.values.items() if k not in outer.locked}
            self.rounded = outer.rounded        # one for all
        else:
            self.opset = self.r.choice([11, 13, 13, 15, 17, 18, 21, 23])
            self.symbolic, self.apart = self.r.random() < 0.5, self.r.random() < 0.3
            self.special = False        # what a NaN does to a condition is nobody's business here

    def size(self):
        return 0 if self.zero and self.r.random() < 0.2 else self.r.choice([1, 1, 2, 3, 4, 5, 8, 9])

    def shape(self, rank=None):
        shape = super().shape(rank)
        while np.prod(shape, dtype=np.int64) > 600:
            shape[self.r.randrange(len(shape))] = 2
        return shape

    @property
    def root(self):
        return self.outer.root if self.outer else self

    def name(self, what):
        root = self.root
        root.count += 1
        return f"{what}{root.count}"

    def given(self, array):
        if not self.outer:
            return super().given(array)
        if self.r.random() < 0.3:
            return self.const(array)
        name = self.root.given(array)       # an input of the model, captured
        self.values[name] = (list(array.shape), array.dtype)
        return name

    def readable(self):
        return [(k, v) for k, v in self.values.items() if k not in self.locked]

    def some(self, dtype=np.float32, rank=None, least=None, exact=False):
        if self.outer and self.r.random() < 0.3:        # a capture, rather than the newest value
            fits = [k for k, (s, t) in self.readable() if k in self.outer.values and t == dtype
                    and (rank is None or len(s) == rank) and (least is None or len(s) >= least)
                    and not (exact and k in self.rounded)]
            if fits:
                return self.r.choice(fits)
        return super().some(dtype, rank, least, exact)

    def constants(self):
        return (self.outer.constants() if self.outer else []) + self.inits

    # ---- types: of the newest node alone, from what its operands are in the run
    def infer(self):
        node = self.nodes[-1]
        known = {i.name: i for i in self.constants()}
        used = list(dict.fromkeys(i for i in node.input if i))
        ins = [helper.make_tensor_value_info(k, elem(self.values[k][1]), self.values[k][0])
               for k in used if k not in known]
        graph = helper.make_graph([node], "one", ins, [helper.make_empty_tensor_value_info(o) for o in node.output],
                                  [known[k] for k in used if k in known])
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)
        for v in shape_inference.infer_shapes(model, data_prop=True, strict_mode=True).graph.output:
            t = v.type.tensor_type
            if not t.HasField("shape") or not all(d.HasField("dim_value") for d in t.shape.dim):
                raise Impossible
            shape = [d.dim_value for d in t.shape.dim]
            if np.prod(shape, dtype=np.int64) > 20000 or min(shape, default=1) < (0 if self.zero else 1):
                raise Impossible        # nobody looks into a branch that is not taken, but we do
            self.values[v.name] = (shape, np.dtype(helper.tensor_dtype_to_np_dtype(t.elem_type)))

    def found_by_running(self, outs):
        """The shapes of a control node's results, and whether ONNX Runtime takes the model at all."""
        if self.outer:
            return
        try:
            results = self.expected(self.model(outs))
        except Exception as e:
            raise Impossible from e
        for name, v in zip(outs, results):
            if v.size > 20000:
                raise Impossible
            self.values[name] = (list(v.shape), v.dtype)

    def expected(self, model, data=None):
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        own_results(copy.graph)
        return run_onnxruntime(copy, data or self.data)

    # ---- small values
    def root_of_inputs(self):
        return self.root

    def flag(self):
        """A condition, known or not."""
        how = self.r.choice(["input", "input", "constant", "computed", "computed", "passed"])
        if how == "passed":
            fits = [k for k, (s, t) in self.readable() if t == np.bool_ and not s]
            if fits:
                return self.r.choice(fits)
        if how == "constant":
            return self.const(np.array(self.r.random() < 0.5))
        if how == "input":
            return self.given(np.array(self.r.random() < 0.5))
        x = self.reduced(self.some(exact=True))
        return self.add("Greater", [x, self.const(np.float32(self.r.choice([-1, 0, 0.3])))])

    def reduced(self, x):
        return self.add(self.r.choice(["ReduceMax", "ReduceMin"]), [x], keepdims=0)

    def number(self, v):
        v = np.array(v, np.int64)
        return self.const(v) if self.r.random() < 0.4 else self.given(v)

    def to_type(self, x, dtype):
        """Of floats only small whole numbers become whole numbers: elsewhere any rounding before would show."""
        if self.type(x) == dtype:
            return x
        if self.type(x).kind == "f" and np.dtype(dtype).kind != "f":
            x = self.add("Sign", [self.add("Size", [x])])
        return self.add("Cast", [x], to=elem(np.dtype(dtype)))

    def fitted(self, x, shape, dtype):
        """A value of that shape and type that depends on x."""
        if dtype == object:     # no words are made of numbers
            raise Impossible
        x = self.to_type(x, dtype)
        if self.of(x) == list(shape):
            return x
        count = int(np.prod(shape, dtype=np.int64))
        if count == int(np.prod(self.of(x), dtype=np.int64)) and count and self.r.random() < 0.6:
            return self.add("Reshape", [x, self.ints(*shape)])
        if dtype == np.bool_:
            return self.add("Expand", [self.const(np.array(True)), self.ints(*shape)])
        if 0 in self.of(x):
            x = self.const(np.array(1, dtype))
        elif len(self.of(x)):
            x = self.add("ReduceMax", [self.to_type(x, np.float32)], keepdims=0)
            x = self.to_type(x, dtype)
        if self.r.random() < 0.5 and dtype in (np.float32, np.int64):
            return self.add("Add", [x, self.const(self.numbers(shape, dtype))])
        return self.add("Expand", [x, self.ints(*shape)])

    def body(self):
        return ControlMaker(0, self)

    def graph(self, results):
        """The body as a graph."""
        ins = [helper.make_tensor_value_info(k, elem(self.values[k][1]), None) for k in self.params]
        outs = []
        for name in results:
            v = helper.make_empty_tensor_value_info(name)
            v.type.tensor_type.elem_type = elem(self.values[name][1])
            outs.append(v)
        return helper.make_graph(self.nodes, self.name("g"), ins, outs, self.inits)

    def param(self, shape, dtype, locked=False):
        name = self.name("p")
        self.params.append(name)
        self.rounded.add(name)
        self.values[name] = (list(shape), np.dtype(dtype))
        if locked:
            self.locked.add(name)
        return name

    def work(self, most=3):
        """Some random nodes."""
        want = len(self.nodes) + self.r.randint(0, most)
        for _ in range(12):
            if len(self.nodes) >= want:
                break
            self.attempt(self.r.choice(self.ops()))

    def attempt(self, op):
        makers, m = [], self
        while m:
            makers.append((m, len(m.nodes), len(m.inputs), len(m.inits), dict(m.values), dict(m.data), set(m.locked)))
            m = m.outer
        try:
            op()
        except (Impossible, shape_inference.InferenceError, onnx.checker.ValidationError, IndexError):
            for m, n, i, k, m.values, m.data, m.locked in makers:
                del m.nodes[n:], m.inputs[i:], m.inits[k:]

    def ops(self):
        some = [self.unary, self.parametric, self.binary, self.binary, self.compare, self.reduce, self.softmax, self.transpose,
                self.reshape, self.concat, self.slice, self.gather, self.expand, self.pad, self.matmul, self.gemm, self.conv,
                self.conv, self.conv_transpose, self.pool, self.norm, self.resize, self.topk, self.integer, self.shifted,
                self.cumulated, self.identity, self.sized, self.more_unary, self.typed, self.whole, self.windows, self.sequence,
                self.words, self.attention, self.contributed]
        control = [self.if_, self.if_, self.loop, self.loop, self.scan]
        return some + control * (1 if self.depth else 3) if self.depth < DEPTH else some

    def identity(self):
        self.add("Identity", [self.moved()])

    def shifted(self):
        """A slice that begins where only the run knows."""
        x = self.some(least=1)
        n = self.of(x)[0]
        if n < 2:
            raise Impossible
        self.add("Gather", [x, self.given(self.n.integers(0, n, self.r.choice([[], [2]])).astype(np.int64))], axis=0)

    def cumulated(self):
        x = self.some(least=1)
        self.add("CumSum", [x, self.const(np.array(self.r.randrange(len(self.of(x)))))])

    def sized(self):
        """Rows whose number only the run knows; in the root only, where their shape is found by running."""
        if self.outer:
            raise Impossible
        x = self.some(least=1)
        keep = self.given(self.numbers([self.of(x)[0]], np.bool_))
        out = self.name("v")
        self.nodes.append(helper.make_node("Compress", [x, keep], [out], axis=0))
        self.found_by_running([out])

    # ---- control
    def pick(self, b):
        """A value that a body gives: made there, a parameter or a constant as it is, a capture by Identity."""
        how = self.r.random()
        here = [o for n in b.nodes for o in n.output if o in b.values and o not in b.locked]
        if how < 0.6 and here:
            return here[-1] if self.r.random() < 0.5 else self.r.choice(here)
        own = [p for p in b.params if p not in b.locked]
        if how < 0.75 and own:
            p = self.r.choice(own)
            return p if self.r.random() < 0.5 else b.add("Identity", [p])
        if how < 0.85:
            return b.const(self.numbers(self.shape(), self.r.choice([np.float32, np.int64])))
        return b.add("Identity", [b.moved()])

    def control(self, op, ins, nouts, **attributes):
        outs = [self.name("v") for _ in range(nouts)]
        self.nodes.append(helper.make_node(op, ins, outs, **attributes))
        self.rounded |= set(outs)
        return outs

    def if_(self):
        cond = self.flag()
        then, other = self.body(), self.body()
        then.work()
        other.work()
        count = self.r.choice([1, 1, 2, 3])
        firsts = [self.pick(then) for _ in range(count)]
        seconds, shapes = [], []
        for name in firsts:
            shape, dtype = then.values[name]
            how = self.r.random()
            y = self.pick(other)
            if how < 0.15 and not self.outer and dtype == np.float32 and len(shape) > 1:      # another rank
                y = other.to_type(y, dtype)
                shapes.append(None)
            elif how < 0.5 and shape:           # other sizes
                y = other.fitted(y, [d if self.r.random() < 0.5 else self.size() for d in shape], dtype)
                shapes.append((shape, other.of(y)))
            else:
                y = other.fitted(y, shape, dtype)
                shapes.append((shape, shape))
            seconds.append(y)
        # A constant as it is, or a parameter of the body around it, has no place among the results of a branch.
        firsts = [self.settled(then, n) for n in firsts]
        seconds = [self.settled(other, n) for n in seconds]
        outs = self.control("If", [cond], count, then_branch=then.graph(firsts), else_branch=other.graph(seconds))
        for k, o in enumerate(outs):
            if not shapes[k] or shapes[k][0] != shapes[k][1]:
                if self.outer:      # which of them it is, only the run knows
                    self.values[o] = then.values[firsts[k]]
                    self.locked.add(o)
            else:
                self.values[o] = then.values[firsts[k]]
        self.found_by_running(outs)
        for o, s in zip(outs, shapes):
            if not s:               # no output may have a rank that only the run knows
                self.no_outputs.add(o)
                self.reduced(o)
                self.locked.add(o)

    def settled(self, b, name):
        made = {o for n in b.nodes for o in n.output} | {i.name for i in b.inits} | set(b.params)
        return name if name in made else b.add("Identity", [name])

    def carried(self, b, param, init):
        """What the next pass begins with, of the parameter's shape; or of another, where the parameter is locked."""
        shape, dtype = b.values[param]
        how = self.r.random()
        if param in b.locked:
            axis = self.r.randrange(len(shape))
            if how < 0.5:
                more = list(shape)
                more[axis] = self.r.choice([1, 2])
                parts = [param, b.const(self.numbers(more, dtype))]
                self.r.shuffle(parts)
                return b.add("Concat", parts, axis=axis)
            if how < 0.8:
                return b.add("Slice", [param, b.ints(self.r.choice([0, 1])), b.ints(self.r.choice([-1, 2**31 - 1])),
                                       b.ints(axis)])
            return b.add("Transpose", [param], perm=self.r.sample(range(len(shape)), len(shape)))
        if how < 0.15:
            return param
        others = [p for p in b.params if b.values[p] == b.values[param] and p != param and p not in b.locked]
        if how < 0.3 and others:
            return self.r.choice(others)
        if how < 0.4:
            return b.add("Identity", [init]) if init in b.values else param
        y = self.pick(b)
        if how < 0.7 and dtype == np.float32 and self.type_is_float(b, y):
            y = b.add("Tanh", [b.fitted(y, shape, dtype)])
            return b.add(self.r.choice(["Add", "Sub", "Max"]), [param, y])
        return b.fitted(y, shape, dtype)

    @staticmethod
    def type_is_float(b, name):
        return b.values[name][1] == np.float32

    def states(self, b, most):
        inits, params = [], []
        for _ in range(self.r.randint(0, most)):
            init = self.moved(rank=self.r.choice([0, 1, 2, 3, 4])) if self.r.random() < 0.8 else self.some()
            if inits and self.r.random() < 0.2:
                init = self.r.choice(inits)
            shape, dtype = self.values[init]
            changes = shape and dtype in (np.float32, np.int64) and self.r.random() < 0.25
            inits.append(init)
            params.append((shape, dtype, changes))
        return inits, params

    def loop(self):
        b = self.body()
        trips = self.r.choice([0, 1, 2, 3, 3, 4])
        m = "" if self.r.random() < 0.2 else self.number(trips)
        cond = "" if self.r.random() < 0.4 else self.flag()
        inits, wanted = self.states(b, 3)
        i, c = b.param([], np.int64), b.param([], np.bool_)
        params = [b.param(*w) for w in wanted]
        if self.r.random() < 0.5:
            b.to_type(i, np.float32)
        b.work()
        how = self.r.random()
        if not m:
            goes_on = b.add("Less", [i, b.const(np.array(trips, np.int64))])
        elif how < 0.3:
            goes_on = c
        elif how < 0.5:
            goes_on = b.const(np.array(True))
        elif how < 0.6:
            goes_on = b.add("Identity", [c])
        elif how < 0.8:
            goes_on = b.add("Less", [i, b.const(np.array(self.r.choice([0, 1, 2]), np.int64))])
        else:
            goes_on = b.flag()
            if b.of(goes_on):
                raise Impossible
        goes_on = self.settled(b, goes_on)
        results = [self.settled(b, self.carried(b, p, x)) for p, x in zip(params, inits)]
        collected = self.collected(b, params)
        outs = self.control("Loop", [m, cond] + inits, len(inits) + len(collected),
                            body=b.graph([goes_on] + results + collected))
        self.after_loop(b, outs, params, collected)

    def collected(self, b, states):
        """Not a carried value as it is: ONNX Runtime gives what lies there by then."""
        names = [self.pick(b) for _ in range(self.r.choice([0, 0, 1, 1, 2]))]
        names = [b.add("Identity", [n]) if n in states else self.settled(b, n) for n in names]
        if not self.outer and self.r.random() < 0.2:        # of a size that the body finds, the same in each pass
            x = self.moved(least=1)
            if self.type(x) in (np.float32, np.int64, np.bool_) and self.opset >= 13:
                name = b.name("v")
                b.nodes.append(helper.make_node("NonZero", [x], [name]))
                b.values[name] = ([len(self.of(x)), 0], np.dtype(np.int64))
                names.append(name)
        return names

    def after_loop(self, b, outs, params, collected):
        for o, p in zip(outs, params):
            self.values[o] = b.values[p]
            if p in b.locked:
                self.locked.add(o)
        for o, n in zip(outs[len(params):], collected):
            if self.outer:          # how many passes there are, only the run knows
                self.values[o] = ([1] + list(b.values[n][0]), b.values[n][1])
                self.locked.add(o)
        self.found_by_running(outs)
        if not self.outer:
            self.locked -= set(outs)

    def scan(self):
        b = self.body()
        inits, wanted = self.states(b, 2)
        length = self.r.choice([1, 2, 3, 5])
        xs, axes, slices = [], [], []
        for _ in range(self.r.randint(1, 2)):
            fits = [k for k, (s, t) in self.readable() if length in s]
            x = self.r.choice(fits) if fits and self.r.random() < 0.7 else self.new(self.r.choice([[length], [length, 3], [2, length, 4]]))
            axis = self.r.choice([k for k, d in enumerate(self.of(x)) if d == length])
            xs.append(x)
            axes.append(axis - len(self.of(x)) if self.r.random() < 0.2 and self.opset >= 11 else axis)
            slices.append([d for k, d in enumerate(self.of(x)) if k != axis])
        params = [b.param(*w) for w in wanted]
        for x, s in zip(xs, slices):
            b.param(s, self.type(x))
        b.work()
        results = [self.settled(b, self.carried(b, p, x)) for p, x in zip(params, inits)]
        collected = self.collected(b, params) or ([] if results else [b.add("Identity", [b.params[-1]])])
        if not results + collected:
            raise Impossible
        more = {"scan_input_axes": axes} if any(axes) or self.r.random() < 0.3 else {}
        if self.r.random() < 0.4:
            more["scan_input_directions"] = [self.r.randrange(2) for _ in xs]
        if collected and self.r.random() < 0.4:
            more["scan_output_directions"] = [self.r.randrange(2) for _ in collected]
        if collected and self.r.random() < 0.4:
            more["scan_output_axes"] = [self.r.randint(0, len(b.of(n))) for n in collected]
        outs = self.control("Scan", inits + xs, len(inits) + len(collected), body=b.graph(results + collected),
                            num_scan_inputs=len(xs), **more)
        for o, n in zip(outs, params + collected):
            self.values[o] = b.values[n]
        if self.outer:
            at = more.get("scan_output_axes", [0] * len(collected))
            for o, n, k in zip(outs[len(params):], collected, at):
                s = list(b.of(n))
                s.insert(k, length)
                self.values[o] = (s, b.values[n][1])
            self.locked |= {o for o, p in zip(outs, params) if p in b.locked}
        self.found_by_running(outs)

    def make(self):
        for _ in range(60):
            if len(self.nodes) >= 4 and any(n.op_type in ("If", "Loop", "Scan") for n in self.nodes):
                break
            self.attempt(self.r.choice(self.ops()))
        if not any(n.op_type in ("If", "Loop", "Scan") for n in self.nodes):
            raise Impossible
        self.work(3)
        return self.finished()


if __name__ == "__main__":
    sys.exit(trial.main(ControlMaker, __doc__))
