"""The model's values by the reference kernels of LiteRT, for `gcc2nn verify`, behind values.py.

A state is an input and an output of the program (docs/tflite.md): a variable tensor is set before the run and read
after it; a resource variable begins with what the model gives it, and ends with what is assigned to it last. With
EACH_NODE the tensors of all operators are results.
"""
runtime = package("ai_edge_litert.interpreter")
schema = package("ai_edge_litert.schema_py_generated")


def text(name):
    return (name or b"").decode()


class Graph:
    """What the file says of the graph that is run: the one of the signature that was chosen, or is the only one."""

    def __init__(self, data):
        self.model = schema.Model.GetRootAs(data, 0)
        all_of = [self.model.SignatureDefs(k) for k in range(self.model.SignatureDefsLength())]
        chosen = [s for s in all_of if text(s.SignatureKey()) == SIGNATURE] or (all_of if len(all_of) == 1 else [])
        self.number = chosen[0].SubgraphIndex() if chosen else 0
        self.key = text(chosen[0].SignatureKey()) if chosen else None
        self.graph = self.model.Subgraphs(self.number)
        self.ins = self.ports(chosen[0].Inputs, chosen[0].InputsLength()) if chosen else {}
        self.outs = self.ports(chosen[0].Outputs, chosen[0].OutputsLength()) if chosen else {}

    @staticmethod
    def ports(port, n):
        return {port(k).TensorIndex(): text(port(k).Name()) for k in range(n)}

    def name(self, tensor, ports=()):
        """As the program has it: a signature's name, if it was asked for."""
        return SIGNATURE and tensor in ports and ports[tensor] or text(self.graph.Tensors(tensor).Name()) or \
            f"tensor_{tensor}"

    def operators(self):
        for k in range(self.graph.OperatorsLength()):
            o = self.graph.Operators(k)
            yield self.model.OperatorCodes(o.OpcodeIndex()).BuiltinCode(), o

    def variables(self):
        return {self.name(k): k for k in range(self.graph.TensorsLength()) if self.graph.Tensors(k).IsVariable()}

    def resources(self):
        """For each resource variable: whether it is read first, and the tensors that it is read into and written from,
        in their order."""
        op, found, named = schema.BuiltinOperator, {}, {}
        for code, o in self.operators():
            if code == op.VAR_HANDLE:
                options = schema.VarHandleOptions()
                options.Init(o.BuiltinOptions().Bytes, o.BuiltinOptions().Pos)
                named[o.Outputs(0)] = text(options.SharedName())
            elif code in (op.READ_VARIABLE, op.ASSIGN_VARIABLE) and o.Inputs(0) in named:
                read = code == op.READ_VARIABLE
                found.setdefault(named[o.Inputs(0)], []).append((read, o.Outputs(0) if read else o.Inputs(1)))
        return found


def interpreter(data):
    def of_kind(kind):
        return runtime.Interpreter(model_content=data, num_threads=1, experimental_op_resolver_type=kind,
                                   experimental_preserve_all_tensors=True)
    try:
        return of_kind(runtime.OpResolverType.BUILTIN_REF)
    except ValueError:  # some operators are not in the list of reference kernels
        return of_kind(runtime.OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES)


def run_main(g, it, values):
    given = {d["index"]: values[g.name(d["index"], g.ins)] for d in it.get_input_details()}
    for d in it.get_input_details():
        if tuple(d["shape"]) != given[d["index"]].shape:
            it.resize_tensor_input(d["index"], given[d["index"]].shape)
    it.allocate_tensors()
    given.update((k, values[name]) for name, k in g.variables().items() if name in values)
    for tensor, a in given.items():
        it.set_tensor(tensor, a)
    it.invoke()
    types = {d["index"]: numpy.dtype(d["dtype"]) for d in it.get_tensor_details()}
    results = {o.Outputs(k) for _, o in g.operators() for k in range(o.OutputsLength())} if EACH_NODE else ()
    for k in results:
        if types.get(k) in CODES:
            store(g.name(k), it.get_tensor(k))
    for d in it.get_output_details():
        store(g.name(d["index"], g.outs), it.get_tensor(d["index"]))
    for name, k in g.variables().items():
        store(name + "_next", it.get_tensor(k))
    for name, uses in g.resources().items():
        read_first, first = uses[0]
        if read_first and name in values and not numpy.array_equal(it.get_tensor(first), values[name]):
            sys.exit(f"LiteRT's variable {name} cannot be given a first value")
        store(name + "_next", it.get_tensor(uses[-1][1]))


def run_signature(g, it, values):
    """A graph behind the first is entered by its signature."""
    if len(values) != g.graph.InputsLength():
        sys.exit("LiteRT cannot be given the states of a graph that is not the first")
    feeds = {port: values[g.name(k, g.ins)] for k, port in g.ins.items()}
    results = it.get_signature_runner(g.key)(**feeds)
    for k, port in g.outs.items():
        store(g.name(k, g.outs), results[port])


def main():
    with open(MODEL, "rb") as f:
        data = f.read()
    if data[4:8] != b"TFL3":
        sys.exit("it is no TensorFlow Lite model")
    g = Graph(data)
    values = {name: load(k) for k, name in enumerate(NAMES["inputs"])}
    (run_signature if g.number else run_main)(g, interpreter(data), values)


answer(main)
