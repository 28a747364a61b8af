"""Writes TensorFlow Lite models for the tests: operators, tensors and their quantisation as Python objects, to bytes by
flatbuffers and the schema that gcc2nn itself reads (compiler/import/tflite.fbs), which LiteRT so checks on the way."""
import importlib
import os
import subprocess
import sys
import tempfile

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "..", "..", "compiler", "import", "tflite.fbs")
TYPES = {"float32": 0, "float16": 1, "int32": 2, "uint8": 3, "int64": 4, "bool": 6, "int16": 7, "complex64": 8, "int8": 9, "float64": 10,
         "uint64": 12, "resource": 13, "uint32": 15, "uint16": 16, "int4": 17}


def schema():
    """The module that flatc makes of the schema."""
    folder = tempfile.mkdtemp(prefix="tflite-schema-")
    subprocess.run(["flatc", "--python", "--gen-object-api", "--gen-onefile", "-o", folder, SCHEMA], check=True,
                   stdout=subprocess.DEVNULL)
    sys.path.insert(0, folder)
    try:
        return importlib.import_module("tflite_generated")
    finally:
        sys.path.pop(0)


VERSIONS = {"BROADCAST_TO": 2}         # LiteRT has no kernel for the first one
S = None


class Tensor:
    def __init__(self, name, dtype, shape, scale=None, zero=0, axis=0, data=None, variable=False, signature=None):
        self.name, self.dtype, self.shape, self.data = name, dtype, list(shape), data
        self.scale = None if scale is None else np.atleast_1d(np.float32(scale))
        self.zero, self.axis, self.variable, self.signature = zero, axis, variable, signature


class Graph:
    """One graph of a model. Tensors are made in the order that they are asked for."""

    def __init__(self, name="main"):
        self.name, self.tensors, self.ins, self.outs, self.ops = name, [], [], [], []

    def tensor(self, dtype, shape, name=None, **more):
        self.tensors.append(Tensor(name or "t%d" % len(self.tensors), dtype, shape, **more))
        return len(self.tensors) - 1

    def input(self, dtype, shape, **more):
        self.ins.append(self.tensor(dtype, shape, **more))
        return self.ins[-1]

    def const(self, data, **more):
        data = np.asarray(data)
        return self.tensor(str(data.dtype), data.shape, data=data, **more)

    def op(self, code, ins, outs, options=None, custom=None, intermediates=(), **fields):
        self.ops.append((code, list(ins), list(outs), options, fields, custom, list(intermediates)))
        return outs


def _tensor(t, buffers):
    x = S.TensorT()
    x.name, x.type, x.shape, x.isVariable = t.name, TYPES[t.dtype], t.shape, t.variable
    x.shapeSignature = t.signature
    x.buffer = 0
    if t.data is not None:
        b = S.BufferT()
        b.data = np.frombuffer(np.ascontiguousarray(t.data).tobytes(), np.uint8)
        x.buffer = len(buffers)
        buffers.append(b)
    if t.scale is not None:
        q = S.QuantizationParametersT()
        q.scale = t.scale
        q.zeroPoint = np.full(len(t.scale), t.zero, np.int64)
        q.quantizedDimension = t.axis
        x.quantization = q
    return x


def _operator(codes, op):
    code, ins, outs, options, fields, custom, intermediates = op
    o = S.OperatorT()
    key = (code, custom[0] if custom else None)
    if key not in codes:
        codes.append(key)
    o.opcodeIndex = codes.index(key)
    o.inputs, o.outputs, o.intermediates = ins, outs, intermediates or None
    if custom:
        o.customOptions = np.frombuffer(custom[1], np.uint8)
    if options:
        table = getattr(S, options + "T")()
        for k, v in fields.items():
            parts = k.split("_")
            name = parts[0] + "".join(p.title() for p in parts[1:])
            assert hasattr(table, name), name
            setattr(table, name, v)
        if hasattr(S.BuiltinOptions, options):
            o.builtinOptions, o.builtinOptionsType = table, getattr(S.BuiltinOptions, options)
        else:
            o.builtinOptions2, o.builtinOptions2Type = table, getattr(S.BuiltinOptions2, options)
    return o


def write(graphs, signatures=()):
    """Bytes of a model; the first graph is the main one. signatures: (key, graph, {name: tensor}, {name: tensor})."""
    global S
    import flatbuffers
    S = S or schema()
    m = S.ModelT()
    m.version, m.description = 3, "made by the tests of gcc2nn"
    buffers, codes, m.subgraphs = [S.BufferT()], [], []
    for g in graphs:
        s = S.SubGraphT()
        s.name, s.inputs, s.outputs = g.name, g.ins, g.outs
        s.tensors = [_tensor(t, buffers) for t in g.tensors]
        s.operators = [_operator(codes, op) for op in g.ops]
        m.subgraphs.append(s)
    m.buffers, m.operatorCodes, m.signatureDefs = buffers, [], []
    for code, custom in codes:
        c = S.OperatorCodeT()
        value = getattr(S.BuiltinOperator, code)
        c.builtinCode, c.deprecatedBuiltinCode, c.version = value, min(value, 127), VERSIONS.get(code, 1)
        c.customCode = custom
        m.operatorCodes.append(c)
    for key, graph, ins, outs in signatures:
        d = S.SignatureDefT()
        d.signatureKey, d.subgraphIndex, d.inputs, d.outputs = key, graph, [], []
        for to, names in ((d.inputs, ins), (d.outputs, outs)):
            for name, tensor in names.items():
                p = S.TensorMapT()
                p.name, p.tensorIndex = name, tensor
                to.append(p)
        m.signatureDefs.append(d)
    b = flatbuffers.Builder(1024)
    b.Finish(m.Pack(b), b"TFL3")
    return bytes(b.Output())
