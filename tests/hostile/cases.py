"""Malformed and hostile models. Each case is a function that gives (expectation, file) pairs, or writes more files:

    REFUSE  exit status 3, a diagnostic with a code
    OK      exit status 0, and the generated program agrees with the interpreter
    EITHER  one of the two: what matters is that nothing crashes, hangs or takes the machine's memory
"""
import os

from wire import (BOOL, F16, F32, I64, STR, Ref, Tensor, attribute, blob, floats, function, graph, int64s,
                  ints, many, model, node, num, scalar, simple, tensor, value, varint)

REFUSE, OK, EITHER = "refuse", "ok", "either"
CASES = {}
OPS = []        # `list-ops --json`, by the runner
HUGE = [1 << 31, (1 << 31) - 1, 1 << 40, 1 << 62, (1 << 63) - 1, -1, -(1 << 31), -(1 << 63)]


def case(function_):
    CASES[function_.__name__] = function_
    return function_


def relu(dims=(2, 3), **more):
    return model(graph([node("Relu", ["x"], ["y"])], [value("x", list(dims))], [value("y", list(dims))]), **more)


def one(nodes, inits=(), ins=None, outs=("y",), out_kind=F32, **more):
    """A model over x: f32[2,3] (or ins)."""
    ins = [value("x", [2, 3])] if ins is None else ins
    return model(graph(nodes, ins, [value(o, None, out_kind) for o in outs], inits), **more)


def rich():
    """A small model with something of everything, for cutting."""
    then = graph([node("Relu", ["x"], ["t"])], [], [value("t", [2, 3])])
    other = graph([node("Add", ["x", "w"], ["e"])], [], [value("e", [2, 3])])
    return model(graph([node("F", ["x"], ["f"], domain="local", k=2),
                        node("If", ["c"], ["y"], then_branch=then, else_branch=other),
                        node("Concat", ["y", "f"], ["z"], axis=0)],
                       [value("x", [2, 3]), value("c", [], BOOL)], [value("z", [4, 3])],
                       [floats("w", [3], [1, 2, 3])]),
                 functions=[function("F", ["a"], ["b"], [node("Neg", ["a"], ["b"])], attributes=["k"])],
                 metadata=[("author", "nobody")])


# ---- bytes
@case
def truncated():
    whole = rich()
    yield OK, whole
    step = 1 if len(whole) < 200 else 3
    for n in range(0, len(whole), step):
        yield EITHER, whole[:n]         # a cut between fields may leave a model


@case
def not_a_model():
    for data in (b"", b"\0", b"\xff" * 100, b"PK\3\4" + bytes(100), b"TFL3" * 10, b"<html></html>",
                 bytes(range(256)) * 40, b"\x0a" * 5000, b"\x3a" * 5000):
        yield REFUSE, data


@case
def lengths_beyond_the_file():
    for n in (1 << 31, (1 << 32) - 1, 1 << 62, (1 << 64) - 1):
        yield REFUSE, num(1, 8) + varint(7 << 3 | 2) + varint(n) + b"\x0a"
    yield REFUSE, varint(1 << 3) + b"\xff" * 11


@case
def wire_depth():
    data = b""
    for _ in range(20000):      # messages in messages: type of sequence of sequence of ...
        data = blob(4, blob(1, data))
    yield REFUSE, model(graph([], [blob(1, "x") + blob(2, data)], []))


@case
def subgraph_depth():
    for depth in (40, 5000, 100000):
        body = graph([node("Identity", ["x"], ["y"])], [], [value("y", [2, 3])])
        parts = []              # bytes are put together once, from the outside in
        size = len(body)
        for _ in range(depth):
            tail = many(1, [])  # nothing: keeps the shape of the loop plain
            inner = varint(6 << 3 | 2) + varint(size)
            attr = blob(1, "then_branch") + num(20, 5) + inner
            head_attr = varint(5 << 3 | 2) + varint(len(attr) + size)
            n = blob(1, "c") + blob(2, "y") + blob(4, "If") + head_attr + attr + tail
            head = varint(1 << 3 | 2) + varint(len(n) + size) + n
            parts.append(head)
            size += len(head)
        data = b"".join(reversed(parts)) + body
        yield REFUSE, num(1, 8) + blob(8, blob(1, "") + num(2, 17)) + varint(7 << 3 | 2) + varint(len(data)) + data


@case
def function_chain():
    """100,000 functions, each calling the next."""
    for depth in (20, 100000):
        fs = [function(f"f{i}", ["a"], ["b"], [node(f"f{i + 1}", ["a"], ["b"], domain="local")])
              for i in range(depth)]
        fs.append(function(f"f{depth}", ["a"], ["b"], [node("Relu", ["a"], ["b"])]))
        yield (OK if depth == 20 else REFUSE), one([node("f0", ["x"], ["y"], domain="local")], functions=fs)


@case
def function_bomb():
    """Each function calls the next one twice: 2^40 nodes."""
    fs = [function(f"f{i}", ["a"], ["b"], [node(f"f{i + 1}", ["a"], ["m"], domain="local"),
                                          node(f"f{i + 1}", ["m"], ["b"], domain="local")]) for i in range(25)]
    fs.append(function("f25", ["a"], ["b"], [node("Relu", ["a"], ["b"])]))
    yield REFUSE, one([node("f0", ["x"], ["y"], domain="local")], functions=fs)


@case
def recursive_functions():
    own = function("f", ["a"], ["b"], [node("f", ["a"], ["b"], domain="local")])
    yield REFUSE, one([node("f", ["x"], ["y"], domain="local")], functions=[own])
    two = [function("f", ["a"], ["b"], [node("g", ["a"], ["b"], domain="local")]),
           function("g", ["a"], ["b"], [node("f", ["a"], ["b"], domain="local")])]
    yield REFUSE, one([node("f", ["x"], ["y"], domain="local")], functions=two)
    body = graph([node("f", ["a"], ["t"], domain="local")], [], [value("t")])
    hidden = function("f", ["a"], ["b"], [node("If", ["a"], ["b"], then_branch=body, else_branch=body)])
    yield REFUSE, one([node("f", ["x"], ["y"], domain="local")], functions=[hidden])


@case
def functions_with_wrong_arguments():
    f = function("f", ["a", "b"], ["c", "d"], [node("Add", ["a", "b"], ["c"])])     # d is never made
    yield REFUSE, one([node("f", ["x", "x"], ["y", "z"], domain="local")], functions=[f])
    g = function("f", ["a"], ["c"], [node("Relu", ["a"], ["c"])])
    yield REFUSE, one([node("f", ["x", "x"], ["y"], domain="local")], functions=[g])
    yield REFUSE, one([node("f", ["x"], ["y", "z"], domain="local")], functions=[g])
    yield REFUSE, one([node("f", ["x"], ["y"], domain="local")], functions=[g, g])
    lost = function("f", ["a"], ["c"], [node("Softmax", ["a"], ["c"], axis=Ref("nowhere"))])
    yield EITHER, one([node("f", ["x"], ["y"], domain="local")], functions=[lost])
    twice = function("f", ["a", "a"], ["c"], [node("Relu", ["a"], ["c"])])
    yield REFUSE, one([node("f", ["x", "x"], ["y"], domain="local")], functions=[twice])


# ---- graphs
@case
def cycles():
    yield REFUSE, one([node("Relu", ["y"], ["y"])])
    yield REFUSE, one([node("Relu", ["b"], ["a"]), node("Relu", ["a"], ["b"]), node("Add", ["a", "x"], ["y"])])
    n = 50000
    yield REFUSE, one([node("Relu", [f"v{(i + 1) % n}"], [f"v{i}"]) for i in range(n)] + [node("Neg", ["v0"], ["y"])])
    body = graph([node("Add", ["y", "x"], ["t"])], [], [value("t")])
    yield REFUSE, one([node("If", ["c"], ["y"], then_branch=body, else_branch=body)],
                      ins=[value("x", [2, 3]), value("c", [], BOOL)])


@case
def unsorted():
    yield OK, one([node("Neg", ["a"], ["y"]), node("Relu", ["x"], ["a"])])


@case
def missing_and_duplicate_names():
    yield REFUSE, one([node("Add", ["x", "nowhere"], ["y"])])
    yield REFUSE, one([node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y"])])
    yield REFUSE, one([node("Relu", ["x"], ["x"])])
    yield REFUSE, one([node("Relu", ["x"], ["z"])])                         # y is never made
    yield REFUSE, one([node("Relu", ["x"], ["y"])], ins=[value("x", [2]), value("x", [2])])
    yield REFUSE, one([node("Add", ["x", "w"], ["y"])], inits=[floats("w", [1], [1])] * 2)
    yield REFUSE, one([node("Relu", [], ["y"])])
    yield REFUSE, one([node("Relu", [""], ["y"])])
    yield REFUSE, one([node("Relu", ["x"], [""])])
    yield REFUSE, one([node("Relu", ["x"], [])])
    yield REFUSE, one([node("Relu", ["x"] * 1000, ["y"])])
    yield REFUSE, one([node("Relu", ["x"], ["y"] + [f"z{i}" for i in range(1000)])])
    yield REFUSE, one([node("Relu", ["x"], ["y"])], ins=[value("", [2])])
    yield EITHER, one([node("Relu", ["x"], ["y"])], outs=("y", "y"))


@case
def empty_graphs():
    yield REFUSE, num(1, 8)
    yield EITHER, model(graph([], [], []))
    yield EITHER, model(graph([], [value("x", [2, 3])], [value("x", [2, 3])]))
    yield EITHER, model(graph([], [], [value("w", [1])], [floats("w", [1], [1])]))
    yield REFUSE, model(graph([], [], [value("x", [2, 3])]))
    yield REFUSE, one([node("", ["x"], ["y"])])
    yield EITHER, model(graph([node("Relu", ["x"], ["y"])], [value("x", [2])], []))


@case
def scalars_and_empty_tensors():
    yield OK, simple("Relu", {"x": []})
    yield OK, simple("Relu", {"x": [0]})
    yield OK, simple("Softmax", {"x": [2, 0, 3]}, axis=-1)
    yield OK, simple("ReduceSum", {"x": [2, 0, 3]}, keepdims=0)
    yield OK, simple("MatMul", {"x": [2, 0], "w": [0, 3]})
    yield OK, simple("Concat", {"x": [0, 3], "w": [2, 3]}, axis=0)
    yield EITHER, simple("ReduceMax", {"x": [0]}, keepdims=0)
    yield EITHER, simple("Softmax", {"x": []}, axis=0)
    yield EITHER, simple("ArgMax", {"x": [0, 3]}, axis=0, out_kind=I64)
    yield EITHER, simple("Conv", {"x": [0, 3, 4, 4], "w": [2, 3, 1, 1]})
    yield EITHER, simple("Conv", {"x": [1, 0, 4, 4], "w": [2, 0, 1, 1]})
    yield EITHER, simple("MaxPool", {"x": [1, 3, 0, 4]}, kernel_shape=[1, 1])
    yield EITHER, simple("Gather", {"x": [0, 3], "i": ([2], I64)})


@case
def huge_dims():
    for d in HUGE:
        yield EITHER, simple("Relu", {"x": [d]})
        yield EITHER, simple("Relu", {"x": [2, d, 3]})
        yield EITHER, simple("Softmax", {"x": [d, d]}, axis=0)
        yield EITHER, simple("MatMul", {"x": [d, 2], "w": [2, d]})
        yield EITHER, simple("Conv", {"x": [1, 1, d, d], "w": [1, 1, 3, 3]})
        yield EITHER, simple("Flatten", {"x": [d, d, 2]})
    yield REFUSE, simple("Relu", {"x": [1 << 16] * 5})
    yield REFUSE, simple("Relu", {"x": [(1 << 32) + 1, 1 << 32]})


@case
def high_ranks():
    for rank in (9, 33, 65, 10000):
        yield EITHER, simple("Relu", {"x": [1] * rank})
        yield EITHER, simple("Add", {"x": [1] * rank, "w": ["n"] * rank})
        yield EITHER, simple("Transpose", {"x": [2] + [1] * (rank - 1)})


@case
def bad_tensors():
    for dims, kind, data in (([3], F32, b"1234"), ([3], F32, b""), ([3], F32, bytes(13)), ([1 << 40], F32, b"1234"),
                             ([1 << 31, 1 << 31], F32, b"1234"), ([1 << 62, 4], F32, b""), ([-1], F32, b"1234"),
                             ([-1, -1], F32, bytes(4)), ([3], 99, bytes(12)), ([3], 0, bytes(12)), ([3], STR, b"abc"),
                             ([3], -1, bytes(12)), ([1] * 200, F32, bytes(4)), ([1 << 63], F32, bytes(4))):
        yield REFUSE, one([node("Add", ["x", "w"], ["y"])], inits=[tensor("w", dims, kind, data)])
    both = tensor("w", [3], F32, bytes(12), fields=blob(4, bytes(12)))
    yield EITHER, one([node("Add", ["x", "w"], ["y"])], inits=[both])
    yield REFUSE, one([node("Add", ["x", "w"], ["y"])], inits=[tensor("w", [3], F32, None, fields=blob(4, bytes(8)))])
    yield REFUSE, one([node("Add", ["x", "w"], ["y"])], inits=[tensor("w", [3], F32, None, fields=blob(7, bytes(8)))])
    yield REFUSE, one([node("Add", ["x", "w"], ["y"])], inits=[tensor("w", [3], F32)])


@case
def bad_types():
    for kind in (0, 99, -1, STR):
        yield REFUSE, model(graph([node("Relu", ["x"], ["y"])], [value("x", [2], kind)], [value("y", [2], kind)]))
    yield REFUSE, simple("Add", {"x": [2], "w": ([2], I64)})
    yield REFUSE, simple("Not", {"x": [2]})
    yield REFUSE, simple("Gather", {"x": [2], "i": [2]})
    yield REFUSE, simple("Add", {"x": [2], "w": [3]})
    yield REFUSE, simple("MatMul", {"x": [2, 3], "w": [2, 3]})
    yield REFUSE, model(graph([node("Relu", ["x"], ["y"])], [blob(1, "x")], [value("y", [2])]))
    yield REFUSE, model(graph([node("Relu", ["x"], ["y"])], [blob(1, "x") + blob(2, b"")], [value("y", [2])]))
    yield EITHER, model(graph([node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [7], I64)]))


@case
def bad_attributes():
    x4 = {"x": [1, 4, 8, 8], "w": [4, 4, 3, 3]}
    x = {"x": [1, 4, 8, 8]}
    for v in HUGE + [0]:
        for name, count in (("strides", 2), ("dilations", 2), ("pads", 4), ("kernel_shape", 2)):
            yield EITHER, simple("Conv", x4, **{name: [v] * count})
            yield EITHER, simple("MaxPool", x, **{**{"kernel_shape": [3, 3]}, name: [v] * count})
            yield EITHER, simple("ConvTranspose", x4, **{name: [v] * count})
        yield EITHER, simple("Conv", x4, group=v)
        yield EITHER, simple("ConvTranspose", x4, output_padding=[v, v])
        yield EITHER, simple("ConvTranspose", x4, output_shape=[v, v])
        yield EITHER, simple("AveragePool", x, kernel_shape=[2, 2], pads=[v, 0, v, 0], count_include_pad=1)
        yield EITHER, simple("Softmax", x, axis=v)
        yield EITHER, simple("Concat", {"x": [2, 3], "w": [2, 3]}, axis=v)
        yield EITHER, simple("Transpose", x, perm=[v, 0, 1, 2])
        yield EITHER, simple("DepthToSpace", x, blocksize=v)
        yield EITHER, simple("SpaceToDepth", x, blocksize=v)
        yield EITHER, simple("LRN", x, size=v)
        yield EITHER, simple("Gather", {"x": [2, 3], "i": ([2], I64)}, axis=v)
        yield EITHER, simple("Split", {"x": [2, 3]}, ("y", "z"), opset=18, num_outputs=v)
        yield EITHER, simple("Flatten", x, axis=v)
        yield EITHER, simple("Cast", x, to=v)
        yield EITHER, simple("EyeLike", {"x": [2, 3]}, k=v)
        yield EITHER, simple("LpPool", x, kernel_shape=[2, 2], p=v)
        yield EITHER, simple("LayerNormalization", {"x": [2, 3], "s": [3]}, axis=v)
        yield EITHER, simple("LSTM", {"x": [2, 1, 3], "w": [1, 8, 3], "r": [1, 8, 2]}, hidden_size=v)
    for perm in ([0, 0, 1, 2], [0, 1], [3, 2, 1, 0, 4], []):
        yield (REFUSE if perm else EITHER), simple("Transpose", x, perm=perm)
    yield REFUSE, simple("Conv", x4, auto_pad="SIDEWAYS")
    yield REFUSE, simple("Conv", x4, strides=[1] * 100000)
    yield REFUSE, simple("Conv", x4, strides="two")
    yield REFUSE, simple("Softmax", x, axis=1.5)
    for text in ("", "->", "ij,jk->ik", "i" * 100000, "ij->\n", "i,,", "...->...", "ab->ba->ab", "\xff", "ii->j"):
        yield EITHER, simple("Einsum", {"x": [2, 3]}, equation=text)
    twice = node("Softmax", ["x"], ["y"], raw_attributes=[attribute("axis", 0), attribute("axis", 1)])
    yield REFUSE, one([twice])
    yield REFUSE, one([node("Softmax", ["x"], ["y"], raw_attributes=[attribute(f"a{i}", i) for i in range(5000)])])
    yield EITHER, one([node("Relu", ["x"], ["y"], raw_attributes=[blob(1, "k") + num(20, 77)])])
    yield EITHER, one([node("Constant", [], ["y"])], ins=[])


@case
def nan_and_inf_attributes():
    for v in (float("nan"), float("inf"), float("-inf"), 3.4e38, 1e-45):
        yield OK, simple("LeakyRelu", {"x": [5]}, alpha=v)
        yield OK, simple("Elu", {"x": [5]}, alpha=v)
        yield OK, simple("HardSigmoid", {"x": [5]}, alpha=v, beta=v)
        yield EITHER, simple("BatchNormalization", {"x": [1, 2, 3], "s": [2], "b": [2], "m": [2], "v": [2]},
                             epsilon=v)
        yield OK, one([node("Clip", ["x", "lo", "hi"], ["y"])], [floats("lo", [], [v]), floats("hi", [], [v])])
        yield OK, one([node("Add", ["x", "w"], ["y"])], [floats("w", [3], [v, -v, v])])
        yield EITHER, one([node("Resize", ["x", "", "s"], ["y"])], [floats("s", [2], [v, v])])
        yield EITHER, one([node("Range", ["a", "b", "c"], ["y"])],
                          [floats("a", [], [0]), floats("b", [], [v]), floats("c", [], [v])])
        yield EITHER, simple("Celu", {"x": [3]}, alpha=v)


@case
def hostile_constants():
    """Contents of small integer inputs decide about shapes."""
    def with_ints(op, values, dims=(2, 3), out_kind=F32, **attributes):
        return one([node(op, ["x", "i"], ["y"], **attributes)], [ints("i", values)],
                   ins=[value("x", list(dims))], out_kind=out_kind)
    for v in HUGE + [0, 7]:
        yield EITHER, with_ints("Reshape", [v, v])
        yield EITHER, with_ints("Reshape", [-1, v])
        yield EITHER, with_ints("Expand", [v, 2, 3])
        yield EITHER, with_ints("Expand", [v, v, v, 3])
        yield EITHER, with_ints("Tile", [v, v])
        yield EITHER, with_ints("Pad", [v, 0, v, 0])
        yield EITHER, with_ints("Pad", [0, v, 0, -v & 0x7fffffff], mode="reflect")
        yield EITHER, with_ints("Gather", [v])
        yield EITHER, with_ints("GatherElements", [v, 0, 0])
        yield EITHER, with_ints("Unsqueeze", [v])
        yield EITHER, with_ints("Unsqueeze", [0, 0])
        yield EITHER, with_ints("Squeeze", [v])
        yield EITHER, with_ints("ReduceSum", [v])
        yield EITHER, with_ints("ReduceSum", [0, 0])
        yield EITHER, one([node("TopK", ["x", "i"], ["y", "k"])], [ints("i", [v])])
        yield EITHER, one([node("Split", ["x", "i"], ["y", "z"], axis=1)], [ints("i", [v, 3 - v])])
        yield EITHER, one([node("Slice", ["x", "s", "e", "a", "t"], ["y"])],
                          [ints("s", [v]), ints("e", [-v & 0x7fffffffffffffff]), ints("a", [1]), ints("t", [v])])
        yield EITHER, one([node("Slice", ["x", "s", "e", "a"], ["y"])],
                          [ints("s", [0]), ints("e", [v]), ints("a", [v])])
        yield EITHER, one([node("ConstantOfShape", ["i"], ["y"])], [ints("i", [v, v])], ins=[])
        yield EITHER, one([node("OneHot", ["i", "d", "w"], ["y"])],
                          [ints("i", [0, 1]), scalar("d", v), floats("w", [2], [0, 1])], ins=[])
        yield EITHER, one([node("Range", ["a", "b", "c"], ["y"])],
                          [scalar("a", 0), scalar("b", v), scalar("c", 1)], ins=[], out_kind=I64)
        yield EITHER, one([node("Range", ["a", "b", "c"], ["y"])],
                          [scalar("a", -(1 << 63)), scalar("b", (1 << 63) - 1), scalar("c", v)], ins=[], out_kind=I64)
        yield EITHER, one([node("Resize", ["x", "", "", "i"], ["y"])], [ints("i", [v, v])])
        yield EITHER, one([node("ScatterND", ["x", "i", "u"], ["y"])],
                          [tensor("i", [1, 1], I64, int64s([v])), floats("u", [1, 3], [1, 2, 3])])


# ---- constant folding, inference: time and memory
@case
def folding_bombs():
    big = 1 << 33
    yield EITHER, one([node("ConstantOfShape", ["i"], ["a"]), node("ReduceSum", ["a"], ["y"], keepdims=0)],
                      [ints("i", [big])], ins=[])
    yield EITHER, one([node("Range", ["a", "b", "c"], ["r"]), node("ReduceMax", ["r"], ["y"], keepdims=0)],
                      [scalar("a", 0), scalar("b", big), scalar("c", 1)], ins=[], out_kind=I64)
    for op, i in (("Expand", [big]), ("Tile", [big]), ("Pad", [big, 0])):
        yield EITHER, one([node(op, ["w", "i"], ["a"]), node("ReduceSum", ["a"], ["y"], keepdims=0)],
                          [floats("w", [1], [1]), ints("i", i)], ins=[])
    # a constant of a million elements, convolved with itself: few cells, much work
    n = 1 << 19
    yield EITHER, one([node("ConstantOfShape", ["i"], ["a"]), node("Conv", ["a", "a"], ["y"], pads=[n, n])],
                      [ints("i", [1, 1, n])], ins=[])
    m = 1000
    yield EITHER, one([node("ConstantOfShape", ["i"], ["a"]), node("MatMul", ["a", "a"], ["b"]),
                       node("MatMul", ["b", "b"], ["c"]), node("MatMul", ["c", "c"], ["y"])],
                      [ints("i", [m, m])], ins=[])
    many_nodes = [node("ConstantOfShape", ["i"], ["a0"])]
    many_nodes += [node("Add", [f"a{i}", f"a{i}"], [f"a{i + 1}"]) for i in range(2000)]
    yield EITHER, one(many_nodes + [node("ReduceSum", ["a2000"], ["y"], keepdims=0)], [ints("i", [1 << 19])], ins=[])


@case
def constant_loops():
    def loop(trip, nested=None, cond=True):
        inner = [node("Add", ["s", "one"], ["t"])]
        if nested:
            inner = [node("Loop", ["m", "", "s"], ["t"], body=nested)]
        body = graph(inner + [node("Identity", ["c"], ["d"])],
                     [value("i", [], I64), value("c", [], BOOL), value("s", [], I64)],
                     [value("d", [], BOOL), value("t", [], I64)])
        return body
    once = loop(0)
    for trip in (1 << 62, (1 << 63) - 1, 1 << 40, -1, 0):
        yield EITHER, one([node("Loop", ["m", "", "s0"], ["y"], body=once)],
                          [scalar("m", trip), scalar("s0", 0), scalar("one", 1)], ins=[], out_kind=I64)
    nest = once
    for _ in range(3):
        nest = loop(0, nest)
    yield EITHER, one([node("Loop", ["m", "", "s0"], ["y"], body=nest)],
                      [scalar("m", 100000), scalar("s0", 0), scalar("one", 1)], ins=[], out_kind=I64)
    forever = one([node("Loop", ["", "t0", "s0"], ["y"], body=once)],
                  [scalar("s0", 0), scalar("one", 1), tensor("t0", [], BOOL, b"\1")], ins=[], out_kind=I64)
    yield EITHER, forever
    grow = graph([node("Concat", ["s", "s"], ["t"], axis=0), node("Identity", ["c"], ["d"])],
                 [value("i", [], I64), value("c", [], BOOL), value("s", ["n"], F32)],
                 [value("d", [], BOOL), value("t", ["k"], F32)])
    yield EITHER, one([node("Loop", ["m", "", "s0"], ["y"], body=grow)],
                      [scalar("m", 100), floats("s0", [2], [1, 2])], ins=[])


@case
def doubling():
    """Sizes and expressions that double with every node."""
    for n in (20, 62, 500):
        yield EITHER, one([node("Concat", [f"v{i}", f"v{i}"], [f"v{i + 1}"], axis=0) for i in range(n)]
                          + [node("Relu", [f"v{n}"], ["y"])], ins=[value("v0", ["N", 3])])
    nodes = [node("Shape", ["x"], ["s0"])]
    for i in range(60):
        nodes.append(node("Mul", [f"s{i}", f"s{i}"], [f"s{i + 1}"]))
    yield EITHER, one(nodes + [node("ConstantOfShape", ["s60"], ["y"])], ins=[value("x", ["N", "M"])])
    # (a+b+c)(a+b+c)...: a polynomial of many terms
    nodes = [node("Shape", ["x"], ["s"]), node("ReduceSum", ["s"], ["p0"], keepdims=1)]
    nodes += [node("Mul", [f"p{i}", f"p{i}"], [f"p{i + 1}"]) for i in range(12)]
    yield EITHER, one(nodes + [node("ConstantOfShape", ["p12"], ["y"])], ins=[value("x", ["A", "B", "C", "D", "E"])])
    nodes = [node("Shape", ["x"], ["s"]), node("ReduceProd", ["s"], ["p0"], keepdims=1)]
    for i in range(40):
        nodes += [node("Div", [f"p{i}", "k"], [f"q{i}"]), node("Max", [f"q{i}", f"p{i}"], [f"r{i}"]),
                  node("Add", [f"r{i}", f"q{i}"], [f"p{i + 1}"])]
    yield EITHER, one(nodes + [node("ConstantOfShape", ["p40"], ["y"])], [ints("k", [3])],
                      ins=[value("x", ["A", "B"])])


@case
def long_chains():
    n = 3000
    yield OK, one([node("Identity", [f"v{i}"], [f"v{i + 1}"]) for i in range(n)] + [node("Relu", [f"v{n}"], ["y"])],
                  ins=[value("v0", [2])])
    yield OK, one([node("Neg", [f"v{i}"], [f"v{i + 1}"]) for i in range(n)] + [node("Relu", [f"v{n}"], ["y"])],
                  ins=[value("v0", [2])])
    yield OK, one([node("Add", [f"v{i}", f"v{i}"], [f"v{i + 1}"]) for i in range(300)],
                  ins=[value("v0", [2])], outs=("v300",))
    yield EITHER, one([node("Concat", ["x"] * 20000, ["y"], axis=0)])
    yield EITHER, one([node("Sum", ["x"] * 5000, ["y"])])
    yield EITHER, one([node("Relu", ["x"], [f"y{i}"]) for i in range(2000)], outs=[f"y{i}" for i in range(2000)])


@case
def wide_inputs():
    n = 1000
    yield EITHER, one([node("Sum", [f"x{i}" for i in range(n)], ["y"])], ins=[value(f"x{i}", [2]) for i in range(n)])
    yield EITHER, one([node("Relu", ["x"], ["y"])], ins=[value("x", [f"d{i}" for i in range(20)])])


# ---- opsets and domains
@case
def opsets():
    for opset in (0, -1, 29, 1000, 1 << 31, 1 << 62):
        yield REFUSE, relu(opset=opset)
    yield REFUSE, relu(domains=(("ai.onnx.ml", 1000),))
    yield EITHER, relu(domains=(("", 7), ("", 12)))
    yield EITHER, num(1, 8) + blob(7, graph([node("Relu", ["x"], ["y"])], [value("x", [2])], [value("y", [2])]))
    yield REFUSE, relu(domains=tuple((f"d{i}", 1) for i in range(3000)))
    yield REFUSE, one([node("Swish", ["x"], ["y"])], opset=7)


@case
def unknown_operators():
    yield REFUSE, one([node("Relu", ["x"], ["y"], domain="com.unknown")])
    yield REFUSE, one([node("NoSuchOp", ["x"], ["y"])])
    yield REFUSE, one([node("N" * 100000, ["x"], ["y"])])
    yield REFUSE, one([node("LSTMStep", ["x"], ["y"], domain="gcc2nn")])
    yield REFUSE, one([node("RecurrentWeights", ["x", "x", "x"], ["y"], domain="gcc2nn")], domains=(("gcc2nn", 1),))


PLAIN = {"int": 1, "float": 1.0, "string": "x", "ints": [1, 1], "floats": [1.0, 1.0], "strings": ["x"],
         "tensor": Tensor(floats("", [1], [1]))}


def of_op(op, shapes, kinds=(F32,), ins=None, outs=None, **attributes):
    """A model of one node with as many inputs as the operator has; shapes and types go round."""
    count = sum(2 if slot["variadic"] else 1 for slot in op["inputs"]) if ins is None else len(ins)
    names = [f"x{i}" for i in range(count)] if ins is None else ins
    given = {a["name"]: PLAIN[a["kind"]] for a in op["attributes"] if a["required"] and a["kind"] != "graph"}
    domain = "" if op["domain"] == "ai.onnx" else op["domain"]
    outs = [f"y{i}" for i in range(max(1, sum(not o["optional"] for o in op["outputs"])))] if outs is None else outs
    values = [value(name, shapes[i % len(shapes)], kinds[i % len(kinds)])
              for i, name in enumerate(dict.fromkeys(names)) if name]
    return model(graph([node(op["name"], names, outs, domain=domain, **{**given, **attributes})], values,
                       [value(o) for o in outs if o]), opset=min(28, max(17, op["since"])) if not domain else 17,
                 domains=((domain, 1),) if domain else ())


@case
def every_operator_on_odd_inputs():
    for op in OPS:
        for shapes in ([[]], [[2, 0]], [[2, 3]], [[1] * 9], [["n", "m"]], [[1, 4, 5, 5], [4, 4, 3, 3], [4]]):
            yield EITHER, of_op(op, shapes)
        for kinds in ((BOOL,), (F32, I64), (STR,)):
            yield EITHER, of_op(op, [[2, 3], [2]], kinds)
        for ins in ([], ["", "x"], ["x"] * 9):
            yield EITHER, of_op(op, [[2, 3]], ins=ins)
        for outs in ([""], ["", "", "c"]):
            yield EITHER, of_op(op, [[2, 3]], outs=outs)


@case
def every_attribute():
    """Of another kind, and with values that nobody would give."""
    for op in OPS:
        for a in op["attributes"]:
            shapes = [[1, 4, 5, 5], [4, 4, 3, 3], [4]] if "kernel_shape" in str(op["attributes"]) else [[2, 3]]
            for kind, plain in PLAIN.items():
                if kind != a["kind"] and kind in ("int", "ints", "string"):
                    yield REFUSE, of_op(op, shapes, **{a["name"]: plain})
            odd = {"int": [0, -1, 1 << 62, -(1 << 63)], "ints": [[], [0, 0], [-1] * 4, [1 << 62] * 2],
                   "string": ["", "\xff"],
                   "float": [float("nan"), -1e38], "floats": [[float("inf")] * 3], "strings": [["", "x"] * 9],
                   "tensor": [Tensor(ints("", [])), Tensor(tensor("", [3], F32, b"1"))]}
            for v in odd.get(a["kind"], ()):
                yield EITHER, of_op(op, shapes, **{a["name"]: v})


# ---- control flow
@case
def operators_of_our_own():
    yield REFUSE, simple("RecurrentVector", {"x": [1, 2]}, domain="gcc2nn", dir=4, count=2)
    yield REFUSE, simple("Require", {"x": ([], BOOL)}, domain="gcc2nn", message="x")


@case
def bodies():
    empty = graph([], [], [])
    t = graph([node("Relu", ["x"], ["t"])], [], [value("t")])
    xc = [value("x", [2, 3]), value("c", [], BOOL)]
    yield REFUSE, one([node("If", ["c"], ["y"])], ins=xc)
    yield REFUSE, one([node("If", ["c"], ["y"], then_branch=t)], ins=xc)
    yield REFUSE, one([node("If", ["c"], ["y"], then_branch=t, else_branch=empty)], ins=xc)
    yield REFUSE, one([node("If", ["x"], ["y"], then_branch=t, else_branch=t)], ins=xc)
    yield REFUSE, one([node("If", ["c"], ["y"], then_branch=t, else_branch=1)], ins=xc)
    yield REFUSE, one([node("Loop", ["x"], ["y"], body=t)], ins=xc)
    yield REFUSE, one([node("Loop", ["", "c", "x"], ["y"], body=empty)], ins=xc)
    other = graph([node("Cast", ["x"], ["t"], to=I64)], [], [value("t")])
    yield REFUSE, one([node("If", ["c"], ["y"], then_branch=t, else_branch=other)], ins=xc)
    for v in HUGE + [0]:
        body = graph([node("Relu", ["a"], ["b"])], [value("a")], [value("b")])
        yield EITHER, one([node("Scan", ["x"], ["y"], body=body, num_scan_inputs=v)])
        yield EITHER, one([node("Scan", ["x"], ["y"], body=body, num_scan_inputs=1, scan_input_axes=[v])])
    shadow = graph([node("Relu", ["x"], ["x"])], [], [value("x")])
    yield EITHER, one([node("If", ["c"], ["y"], then_branch=shadow, else_branch=shadow)], ins=xc)


@case
def bodies_with_other_counts():
    """Results, parameters and inputs of a node with a body that do not fit the body's."""
    x, c, n = value("x", [2, 3]), value("c", [], BOOL), value("n", [], I64)
    for outs in (0, 1, 2, 3, 9):
        body = graph([node("Relu", ["x"], [f"t{i}"]) for i in range(outs)], [], [value(f"t{i}") for i in range(outs)])
        for made in (["y"], ["y", "z"], ["y", "z", "u"], ["y", "", "u"], ["", "y"]):
            named = [name for name in made if name]
            yield EITHER, one([node("If", ["c"], made, then_branch=body, else_branch=body)], ins=[x, c], outs=named)
            for parameters in (1, 2, 3):
                inner = graph([node("Relu", ["x"], [f"t{i}"]) for i in range(outs)],
                              [value(f"p{i}", [], (I64, BOOL)[i]) if i < 2 else value(f"p{i}", [2, 3])
                               for i in range(parameters)], [value(f"t{i}") for i in range(outs)])
                yield EITHER, one([node("Loop", ["n", "c", "x"], made, body=inner)], ins=[x, c, n], outs=named)
            for scanned in (1, 2):
                inner = graph([node("Relu", ["a"], [f"t{i}"]) for i in range(outs)],
                              [value("a", [3]), value("b", [3])], [value(f"t{i}") for i in range(outs)])
                yield EITHER, one([node("Scan", ["x", "x"], made, body=inner, num_scan_inputs=scanned)], ins=[x],
                                  outs=named)
    for rank in (0, 1, 2, 5):       # one element, whatever the rank
        ones = [value("n", [1] * rank, I64), value("c", [1] * rank, BOOL), x]
        inner = graph([node("Neg", ["s"], ["t"]), node("Identity", ["d"], ["e"])],
                      [value("i", [], I64), value("d", [1] * rank, BOOL), value("s", [2, 3])],
                      [value("e", [1] * rank, BOOL), value("t", [2, 3])])
        yield OK, one([node("Loop", ["n", "c", "x"], ["y"], body=inner)], ins=ones)
        inner = graph([node("Neg", ["x"], ["t"])], [], [value("t")])
        yield OK, one([node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)], ins=ones[1:])
    inner = graph([node("Relu", ["a"], ["t"])], [value("a", [3]), value("b", [3])], [value("t")])
    for ins in (["", "x"], ["x", ""], ["", ""], ["x"], ["x"] * 3, [""] * 100):
        yield EITHER, one([node("Scan", ins, ["y"], body=inner, num_scan_inputs=1)], ins=[x])
        yield EITHER, one([node("Loop", ins, ["y"], body=inner)], ins=[x])
        yield EITHER, one([node("If", ins, ["y"], then_branch=inner, else_branch=inner)], ins=[x])


# ---- names
NAMES = ["*/", "/* */", "a\nb", "a\r\nint x;", "\"", "\\", "\\\"", "'", "??/", "??/\n", "%s%n", "a\\\n", "// x \\",
         "#include <stdio.h>", "\n#error no\n", "*/ #error no", "R\"(x)\"", "int", "while", "restrict", "_Bool",
         "NULL", "main", "printf", "model", "nn_rt", "nn_f32x8", "AT", "WEIGHT", "x_2", "x__2", "__x", "_X", "errno",
         "stdin", "exit", "for", "ptrdiff_t", "float", "y", "a.b", "a/b", "a-b", "a b", "a_b", "0", "0x", "1e5",
         "\u202e\u202dRTL", "\u200b", "\ufeff", "é", "日本", "\U0001f600", "\x1b[31m", "\x7f", "\x01",
         "<!--", "$(reboot)", "`reboot`", "$PATH", "@NAME@", "${X}", "%d", "\t", " ", "u8\"", "L'", "/*/*", "asm(\"\")",
         "__attribute__((constructor))", "_Pragma(\"x\")", "EOF", "end\\", "*\\\n/", "*??/\n/", "/*/"]


@case
def hostile_names():
    for name in NAMES:
        yield OK, model(graph([node("Relu", ["in " + name], [name], name=name, doc=name),
                               node("MatMul", [name, "w" + name], [name + "out"], name=name + "2")],
                              [value("in " + name, [name, 3], doc=name)], [value(name + "out")],
                              [floats("w" + name, [3, 2], [1, 2, 3, 4, 5, 6])], name=name, doc=name),
                        producer=name, metadata=[(name, name)], doc=name)


@case
def bad_utf8():
    for name in (b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"a\x80b", b"\xf5\x80\x80\x80", b"\xe2\x80"):
        yield EITHER, one([node("Relu", ["x"], [name], name=name), node("Neg", [name], ["y"])], producer=name)


@case
def nul_in_names():
    yield REFUSE, one([node("Relu", ["x"], ["a\0b"]), node("Neg", ["a\0b"], ["y"])])
    yield REFUSE, one([node("Relu", ["x"], ["y"])], producer="a\0b")


@case
def equal_after_mangling():
    names = ["a.b", "a/b", "a-b", "a_b", "a b", "a__b", "A_B", "a\u00e9b", "a\u00e8b", "a_b_2", "a_b_3"]
    nodes = [node("Neg", [n], ["out " + n]) for n in names]
    nodes += [node("Exp", ["out " + n], ["/" + n]) for n in names]
    yield OK, one(nodes, ins=[value(n, [2]) for n in names], outs=["out " + n for n in names] + ["/" + n for n in names])
    dims = [value(f"x{i}", [n]) for i, n in enumerate(names)]
    yield OK, one([node("Neg", [f"x{i}"], [f"y{i}"]) for i in range(len(names))], ins=dims,
                  outs=[f"y{i}" for i in range(len(names))])


@case
def names_of_ours():
    for name in ("m", "in", "out", "arena", "weights", "dims", "config", "init", "run", "model_run", "model_init",
                 "v1", "k0", "k1_relu", "nn_max", "w", "x", "i0", "i1", "acc", "n", "memcpy", "int64_t", "size_t",
                 "self", "inputs", "outputs", "fault", "region", "model_inputs", "MODEL_H", "status"):
        yield OK, model(graph([node("Relu", [name], ["o_" + name]), node("Softmax", ["o_" + name], [name + "_"])],
                              [value(name, ["n", name])], [value(name + "_")]))


@case
def megabyte_names():
    long = "n" * (1 << 20)
    yield OK, model(graph([node("Relu", [long], ["y"], name=long, doc=long)], [value(long, [2, long])],
                          [value("y")], name=long), producer=long, metadata=[(long, long)], doc=long)
    lines = "\n" * (1 << 20)
    yield OK, model(graph([node("Relu", ["x"], ["y"], name=lines)], [value("x", [2])], [value("y")]), producer=lines)
    many_long = ["%06d" % i + "n" * 20000 for i in range(100)]
    yield EITHER, model(graph([node("Relu", [a], [b]) for a, b in zip(many_long, many_long[1:])],
                              [value(many_long[0], [2])], [value(many_long[-1])]))


@case
def long_strings():
    """Longer than a literal of C99 may be, of all bytes."""
    for text in (bytes(range(256)) * 20, b"n" * 4095, b"n" * 4096, b"' ,?\"\\" * 1000):
        yield OK, model(graph([node("Concat", ["x", "w"], ["y"], axis=0)], [value("x", [2], STR)], [value("y", None, STR)],
                              [tensor("w", [2], STR, fields=many(6, [text, b"short"]))]))


# ---- external data: cases that write files beside the model
def external(location, more=(), dims=(3,)):
    pairs = [("location", location), *more]
    return one([node("Add", ["x", "w"], ["y"])], inits=[tensor("w", list(dims), F32, external=pairs)])


@case
def external_paths(folder):
    with open(os.path.join(folder, "..", "outside.bin"), "wb") as f:
        f.write(bytes(12))
    inside = os.path.join(folder, "w.bin")
    with open(inside, "wb") as f:
        f.write(bytes(12))
    os.symlink("w.bin", os.path.join(folder, "link.bin"))
    os.symlink("..", os.path.join(folder, "up"))
    os.symlink("loop", os.path.join(folder, "loop"))
    os.mkdir(os.path.join(folder, "dir"))
    with open(os.path.join(folder, "dir", "w.bin"), "wb") as f:
        f.write(bytes(12))
    with open(os.path.join(folder, "hard.bin"), "wb") as f:
        f.write(bytes(12))
    os.link(os.path.join(folder, "hard.bin"), os.path.join(folder, "hard2.bin"))
    os.mkfifo(os.path.join(folder, "fifo"))
    yield OK, external("w.bin")
    yield OK, external("dir/w.bin")
    yield EITHER, external("./dir/./w.bin")
    for location in ("../outside.bin", "dir/../../outside.bin", "/etc/passwd", "/dev/zero", "link.bin",
                     "up/outside.bin", "loop", "hard.bin", "fifo", "dir", ".", "", "nowhere.bin", "dir/../w.bin",
                     "a/" * 3000 + "w.bin", "w" * 5000, "\n", "w.bin/", "../" * 50 + "etc/passwd", "//etc/passwd"):
        yield REFUSE, external(location)
    for pairs in ([("offset", "4")], [("length", "8")], [("length", "16")], [("offset", "-4")], [("length", "-1")],
                  [("offset", "9223372036854775807")], [("offset", "18446744073709551612"), ("length", "12")],
                  [("offset", "99999999999999999999999")], [("offset", "4x")], [("offset", "12"), ("length", "12")],
                  [("length", "9223372036854775807")], [("offset", "")]):
        yield REFUSE, external("w.bin", pairs)
    yield REFUSE, external("w.bin", dims=(1 << 61,))
    yield REFUSE, external("w.bin", dims=(4,))
    yield REFUSE, one([node("Add", ["x", "w"], ["y"])], inits=[tensor("w", [3], F32, external=[])])


# ---- many of them
@case
def many_nodes():
    for op, n in (("Add", 20000), ("Neg", 20000), ("Concat", 2000)):
        attributes = {"axis": 0} if op == "Concat" else {}
        chain = [node(op, [f"v{i}"] if op == "Neg" else [f"v{i}", "x"], [f"v{i + 1}"], **attributes) for i in range(n)]
        yield EITHER, one(chain, ins=[value("x", [2]), value("v0", [2])], outs=(f"v{n}",))
    yield EITHER, one([node("Neg", ["x"], [f"y{i}"]) for i in range(20000)] + [node("Sum", ["y0", "y19999"], ["y"])])


@case
def many_inputs():
    n = 10000
    yield EITHER, one([node("Add", [f"x{i}", f"x{i + 1}"], [f"y{i}"]) for i in range(0, n, 2)],
                      ins=[value(f"x{i}", [2]) for i in range(n)], outs=[f"y{i}" for i in range(0, n, 2)])
    yield EITHER, one([node("Sum", [f"w{i}" for i in range(n)] + ["x"], ["y"])],
                      [floats(f"w{i}", [3], [i, 1, 2]) for i in range(n)])
    yield EITHER, one([node("Neg", ["x0"], ["y"])], ins=[value(f"x{i}", [f"n{i}"]) for i in range(n)])


@case
def inputs_that_are_initializers():
    """A default for an input must be of the input's type."""
    for dims, kind, data in (([3], F32, bytes(12)), ([2, 3], F32, bytes(24)), ([3], I64, bytes(24)),
                             ([4], F32, bytes(16)), ([], F32, bytes(4)), ([0], F32, b"")):
        yield EITHER, one([node("Add", ["x", "w"], ["y"])], [tensor("w", dims, kind, data)],
                          ins=[value("x", [2, 3]), value("w", [3])])
        yield EITHER, one([node("Relu", ["x"], ["y"])], [tensor("x", dims, kind, data)])
        yield EITHER, one([node("Relu", ["x"], ["w"])], [tensor("w", dims, kind, data)], outs=("w",))


@case
def packed_types():
    """Two elements in a byte: odd counts, and one byte too few or too many."""
    for kind in (21, 22, 23, 25, 26):       # uint4, int4, float4e2m1, uint2, int2
        for n in (0, 1, 2, 3, 5, 7):
            for size in ((n + 3) // 4 - 1, (n + 3) // 4, (n + 1) // 2 - 1, (n + 1) // 2, (n + 1) // 2 + 1):
                if size >= 0:
                    yield EITHER, one([node("Cast", ["w"], ["y"], to=1)], [tensor("w", [n], kind, b"\xa7" * size)],
                                      opset=28)


@case
def sparse_initializers():
    def sparse(values, indices, dims):
        return blob(1, values) + blob(2, indices) + b"".join(num(3, d) for d in dims)

    def with_sparse(s, **more):
        return model(graph([node("Add", ["x", "w"], ["y"])], [value("x", [2, 3])], [value("y")]) + blob(15, s), **more)
    three = floats("w", [3], [1, 2, 3])
    for indices in ([0, 2, 5], [5, 2, 0], [0, 0, 0], [0, 2, 6], [-1, 0, 1], [0, 2], [], [0, 1, 1 << 62], [0, 2, 5, 5]):
        yield EITHER, with_sparse(sparse(three, ints("", indices), [2, 3]))
    for indices, dims in (([0, 0, 0, 2, 1, 2], [3, 2]), ([0, 0, 9, 9, 1, 2], [3, 2]), ([-1] * 6, [3, 2]),
                          ([0, 1], [1, 2])):
        yield EITHER, with_sparse(sparse(three, tensor("", dims, I64, int64s(indices)), [2, 3]))
    for dims in ([], [0], [-2, 3], [1 << 40, 1 << 40], [1 << 31, 2], [2, 3, 1, 1, 1, 1, 1, 1, 1, 1]):
        yield EITHER, with_sparse(sparse(three, ints("", [0, 1, 2]), dims))
    yield EITHER, with_sparse(sparse(floats("w", [1, 3], [1, 2, 3]), ints("", [0, 1, 2]), [2, 3]))
    yield EITHER, with_sparse(sparse(three, tensor("", [3], F32, bytes(12)), [2, 3]))
    yield EITHER, with_sparse(blob(1, three))
    yield EITHER, with_sparse(b"")
    for indices in ([0, 1, 2], [0, 9, 2]):
        raw = blob(1, "sparse_value") + blob(22, sparse(three, ints("", indices), [2, 3])) + num(20, 11)
        yield EITHER, one([node("Constant", [], ["y"], raw_attributes=[raw])])
