"""The model's values by ONNX Runtime, for `gcc2nn verify`: argv MODEL INPUTS EACH_NODE QUANTIZED (0 or 1).

Reads in<k>.nnt for each of the model's INPUTS and the names in want.json; writes want<k>.nnt for those names that
ONNX Runtime knows as tensors or sequences of maps. The format of .nnt is that of the program it is compared with (NAME_main.c). With
EACH_NODE the results of all nodes become outputs, and nothing is optimised; nor is a QUANTIZED model, whose fused
kernels may round the other way than the operators that it is written in. Exit status: 0, 1 (it cannot run the
model), 77 (a package is missing).
"""
import json
import struct
import sys

MISSING = 77
EACH_NODE, QUANTIZED = (word == "1" for word in sys.argv[3:5])
try:
    import numpy
    import onnxruntime
    if EACH_NODE:
        import onnx
except ImportError as e:
    print(e, file=sys.stderr)
    sys.exit(MISSING)

TYPES = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4",
         13: "u8", 14: "c8", 15: "c16"}
CODES = {numpy.dtype(t): code for code, t in TYPES.items()}


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    code, rank = struct.unpack_from("<II", data, 4)
    if code not in TYPES:
        sys.exit(f"numpy has no arrays of ONNX type {code}")
    dims = struct.unpack_from(f"<{rank}q", data, 16)
    return numpy.frombuffer(data, TYPES[code], offset=16 + 8 * rank).reshape(dims)


def store(path, a):
    with open(path, "wb") as f:
        f.write(b"NNT1" + struct.pack("<III", CODES[a.dtype], a.ndim, 0) + struct.pack(f"<{a.ndim}q", *a.shape))
        f.write(a.tobytes())


def parts(name, value):
    """(name, array) of what the program has for it: a tensor, or the keys and values of maps with equal keys."""
    if isinstance(value, numpy.ndarray):
        yield name, value
    elif isinstance(value, list) and value and all(isinstance(m, dict) and m.keys() == value[0].keys() for m in value):
        keys = sorted(value[0])
        yield name + "_keys", numpy.array(keys)
        yield name + "_values", numpy.array([[m[k] for k in keys] for m in value], numpy.float32)


def open_session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if EACH_NODE or QUANTIZED:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    if EACH_NODE:
        model = onnx.load(path)
        known = {v.name for v in model.graph.output}
        results = dict.fromkeys(name for node in model.graph.node for name in node.output)
        model.graph.output.extend(onnx.ValueInfoProto(name=name) for name in results if name and name not in known)
        path = model.SerializeToString()
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def main():
    session = open_session(sys.argv[1])
    inputs = session.get_inputs()
    if len(inputs) != int(sys.argv[2]):
        sys.exit(f"it has {len(inputs)} inputs for ONNX Runtime, {sys.argv[2]} for gcc2nn")
    feeds = {v.name: load(f"in{k}.nnt") for k, v in enumerate(inputs)}
    known = [v.name for v in session.get_outputs() if v.type.startswith(("tensor(", "seq(map("))]
    with open("want.json", encoding="utf-8") as f:
        wanted = {name: k for k, name in enumerate(json.load(f))}
    known = [name for name in known if name in wanted or name + "_keys" in wanted]
    for name, value in zip(known, session.run(known, feeds)):
        for part, a in parts(name, value):
            if part in wanted and a.dtype in CODES:
                store(f"want{wanted[part]}.nnt", a)


try:
    main()
except Exception as e:  # whatever ONNX Runtime finds wrong
    sys.exit(" ".join(str(e).split())[:400] or type(e).__name__)
