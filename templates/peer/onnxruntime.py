"""The model's values by ONNX Runtime, for `gcc2nn verify`, behind values.py.

With EACH_NODE the results of all nodes become outputs, and nothing is optimised; nor is a QUANTIZED model, whose fused
kernels may round the other way than the operators that it is written in.
"""
onnxruntime = package("onnxruntime")
if EACH_NODE:
    onnx = package("onnx")
    WINDOW = 64 << 20


def parts(name, value):
    """(name, array) of what the program has for it: a tensor, those of a sequence, or the keys and values of maps with
    equal keys."""
    if isinstance(value, numpy.ndarray):
        yield name, value
    elif isinstance(value, list) and all(isinstance(v, numpy.ndarray) for v in value):
        for k, v in enumerate(value):
            yield f"{name}_{k}", v
    elif isinstance(value, list) and value and all(isinstance(m, dict) and m.keys() == value[0].keys() for m in value):
        keys = sorted(value[0])
        yield name + "_keys", numpy.array(keys)
        yield name + "_values", numpy.array([[m[k] for k in keys] for m in value], numpy.float32)


def open_session(path):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    if NAMES["operators"]:
        options.register_custom_ops_library(NAMES["operators"])
    if EACH_NODE or QUANTIZED:
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def windows():
    """The model with some results of nodes as its outputs, one after the other: no more at a time than WINDOW bytes of
    them, as large as the program has left them."""
    model = onnx.load(MODEL)
    own = {v.name: onnx.ValueInfoProto.FromString(v.SerializeToString()) for v in model.graph.output}
    results = dict.fromkeys(name for node in model.graph.node for name in node.output if name in WANTED)
    results.update(dict.fromkeys(own))
    names, held = [], 0
    for name in results:
        file = f"out{WANTED[name][0]}.nnt" if name in WANTED else ""
        size = os.path.getsize(file) if os.path.exists(file) else 0
        if names and held + size > WINDOW:
            yield with_outputs(model, own, names)
            names, held = [], 0
        names, held = names + [name], held + size
    yield with_outputs(model, own, names)


def with_outputs(model, own, names):
    del model.graph.output[:]
    model.graph.output.extend(own.get(name, onnx.ValueInfoProto(name=name)) for name in names)
    return model.SerializeToString()


def main():
    for part in windows() if EACH_NODE else [MODEL]:
        run(open_session(part))


def run(session):
    inputs = session.get_inputs()
    if len(inputs) != len(NAMES["inputs"]):
        sys.exit(f"it has {len(inputs)} inputs for ONNX Runtime, {len(NAMES['inputs'])} for gcc2nn")
    feeds = {v.name: load(k) for k, v in enumerate(inputs)}
    known = [v.name for v in session.get_outputs() if v.type.startswith(("tensor(", "seq("))]
    known = [name for name in known if {name, name + "_keys", name + "_0"} & WANTED.keys()]
    for name, value in zip(known, session.run(known, feeds)):
        for part, a in parts(name, value):
            store(part, a)


answer(main)
