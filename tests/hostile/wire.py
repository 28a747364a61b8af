"""ONNX messages as bytes, written by hand: hostile files are those that no library would write.

Every message is a bytes object; strings may be str or bytes, and are not looked at.
"""
import struct

F32, U8, I8, I32, I64, STR, BOOL, F16, F64 = 1, 2, 3, 6, 7, 8, 9, 10, 11


def varint(v):
    v &= (1 << 64) - 1
    out = bytearray()
    while v >= 0x80:
        out.append(v & 0x7f | 0x80)
        v >>= 7
    out.append(v)
    return bytes(out)


def raw(s):
    return s.encode("utf-8", "surrogatepass") if isinstance(s, str) else s


def num(tag, v):
    return varint(tag << 3) + varint(v)


def f32(tag, v):
    return varint(tag << 3 | 5) + struct.pack("<f", v)


def blob(tag, data):
    data = raw(data)
    return varint(tag << 3 | 2) + varint(len(data)) + data


def many(tag, items):
    return b"".join(blob(tag, i) for i in items)


def tensor(name, dims, kind=F32, data=None, external=None, fields=b""):
    """data: raw_data; external: pairs of strings."""
    out = b"".join(num(1, d) for d in dims) + num(2, kind) + blob(8, name)
    if external is not None:
        out += many(13, [blob(1, k) + blob(2, v) for k, v in external]) + num(14, 1)
    if data is not None:
        out += blob(9, data)
    return out + fields


def int64s(values):
    return b"".join((v & (1 << 64) - 1).to_bytes(8, "little") for v in values)


def ints(name, values):
    return tensor(name, [len(values)], I64, int64s(values))


def scalar(name, value):
    return tensor(name, [], I64, int64s([value]))


def floats(name, dims, values):
    return tensor(name, dims, F32, struct.pack("<%df" % len(values), *values))


class Ref:
    """Attribute that a function takes from its caller."""
    def __init__(self, name):
        self.name = name


class Graph(bytes):
    pass


class Tensor(bytes):
    pass


def attribute(name, value):
    out = blob(1, name)
    if isinstance(value, Ref):
        return out + blob(21, value.name) + num(20, 2)
    if isinstance(value, Graph):
        return out + blob(6, value) + num(20, 5)
    if isinstance(value, Tensor):
        return out + blob(5, value) + num(20, 4)
    if isinstance(value, (str, bytes)):
        return out + blob(4, value) + num(20, 3)
    if isinstance(value, float):
        return out + f32(2, value) + num(20, 1)
    if isinstance(value, int):
        return out + num(3, value) + num(20, 2)
    if value and isinstance(value[0], float):
        return out + b"".join(f32(7, v) for v in value) + num(20, 6)
    if value and isinstance(value[0], str):
        return out + many(9, value) + num(20, 8)
    return out + b"".join(num(8, v) for v in value) + num(20, 7)


def node(op, ins, outs, name="", domain="", doc=None, raw_attributes=(), **attributes):
    return (many(1, ins) + many(2, outs) + blob(3, name) + blob(4, op) + many(5, raw_attributes)
            + many(5, [attribute(k, v) for k, v in attributes.items()])
            + (blob(6, doc) if doc is not None else b"") + (blob(7, domain) if domain else b""))


def value(name, dims=None, kind=F32, doc=None):
    """dims: integers or names; None: unknown rank."""
    shape = b""
    if dims is not None:
        shape = blob(2, many(1, [num(1, d) if isinstance(d, int) else blob(2, d) for d in dims]))
    return blob(1, name) + blob(2, blob(1, num(1, kind) + shape)) + (blob(3, doc) if doc is not None else b"")


def graph(nodes, ins, outs, inits=(), name="g", doc=None):
    return Graph(many(1, nodes) + blob(2, name) + many(5, inits) + (blob(10, doc) if doc is not None else b"")
                 + many(11, ins) + many(12, outs))


def function(name, ins, outs, nodes, domain="local", attributes=(), opset=17):
    return (blob(1, name) + many(4, ins) + many(5, outs) + many(6, attributes) + many(7, nodes)
            + blob(9, blob(1, "") + num(2, opset)) + blob(9, blob(1, domain) + num(2, 1)) + blob(10, domain))


def model(graph_bytes, opset=17, domains=(("local", 1),), functions=(), producer="test", metadata=(), doc=None):
    return (num(1, 8) + blob(2, producer) + (blob(6, doc) if doc is not None else b"") + blob(7, graph_bytes)
            + many(8, [blob(1, d) + num(2, v) for d, v in (("", opset), *domains)])
            + many(14, [blob(1, k) + blob(2, v) for k, v in metadata]) + many(25, functions))


def simple(op, inputs, outputs=("y",), inits=(), opset=17, domain="", out_kind=F32, **attributes):
    """A model of one node. inputs: {name: dims} or {name: (dims, kind)}; initializers follow them."""
    ins = [value(k, *(v if isinstance(v, tuple) else (v,))) for k, v in inputs.items()]
    names = list(inputs) + [n for n, _ in inits]
    return model(graph([node(op, names, outputs, domain=domain, **attributes)], ins,
                       [value(o, None, out_kind) for o in outputs], [t for _, t in inits]), opset)
