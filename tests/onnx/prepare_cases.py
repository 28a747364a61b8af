#!/usr/bin/env python3
"""Writes the tests of ONNX's backend suite as folders for `gcc2nn run`: NAME/model.onnx, NAME/data_K/input_N.pb, output_N.pb.

The node tests are made by onnx.backend.test.case, the others are copied from the package's data. Three more forms of each
model say less than the suite does, as exported models do:

    noshape.onnx    the outputs and intermediate values have no shapes
    batch.onnx      also, the first dim of the first input is a symbol, and that of all inputs of the same length;
                    lists of 64-bit integers, such as shapes and axes, have no batch
    symbolic.onnx   also, every dim of every input is a symbol

prepare(folder) does nothing when the folder holds the cases of this onnx version already.
"""
import os
import shutil
import sys
import warnings

COPIED = ("pytorch-converted", "pytorch-operator", "simple")
FORM = 3    # of what is written here; part of the stamp


def drop_shape(type_proto):
    kind = type_proto.WhichOneof("value")
    if kind == "tensor_type":
        type_proto.tensor_type.ClearField("shape")
    elif kind in ("sequence_type", "optional_type"):
        drop_shape(getattr(type_proto, kind).elem_type)


def dims_of(value):
    has = value.type.WhichOneof("value") == "tensor_type" and value.type.tensor_type.HasField("shape")
    return value.type.tensor_type.shape.dim if has else []


def is_list(value):
    return len(dims_of(value)) == 1 and value.type.tensor_type.elem_type == 7   # TensorProto.INT64


def make_batch(inputs):
    firsts = [dims_of(v)[0] for v in inputs if dims_of(v) and not is_list(v)]
    length = firsts[0].dim_value if firsts else 0
    for dim in firsts:
        if dim.HasField("dim_value") and dim.dim_value == length:
            dim.dim_param = "batch"


def make_symbolic(inputs):
    for value in inputs:
        for k, dim in enumerate(dims_of(value)):
            dim.Clear()
            dim.dim_param = f"{value.name}_d{k}"


def write_forms(model, folder):
    import onnx
    onnx.save(model, os.path.join(folder, "model.onnx"))
    initial = {t.name for t in model.graph.initializer}
    del model.graph.value_info[:]
    for output in model.graph.output:
        drop_shape(output.type)
    onnx.save(model, os.path.join(folder, "noshape.onnx"))
    given = [v for v in model.graph.input if v.name not in initial]
    for form, change in ("batch", make_batch), ("symbolic", make_symbolic):
        change(given)
        onnx.save(model, os.path.join(folder, form + ".onnx"))


def to_proto(value, info):
    """A value of the suite as the proto that its declared type asks for."""
    import numpy as np
    import onnx
    from onnx import numpy_helper
    kind = info.type.WhichOneof("value")
    if isinstance(value, onnx.TensorProto):
        proto = onnx.TensorProto()
        proto.CopyFrom(value)
        proto.name = info.name
        return proto
    if kind == "sequence_type":
        return numpy_helper.from_list(value, info.name, onnx.SequenceProto.TENSOR if not value else None)
    if kind == "optional_type":
        return numpy_helper.from_optional(value, info.name)
    return numpy_helper.from_array(np.asarray(value), info.name)


def write_case(case, folder):
    os.makedirs(folder)
    graph = case.model.graph
    for k, (inputs, outputs) in enumerate(case.data_sets):
        data = os.path.join(folder, f"data_{k}")
        os.mkdir(data)
        for kind, values, infos in (("input", inputs, graph.input), ("output", outputs, graph.output)):
            for n, (value, info) in enumerate(zip(values, infos)):
                with open(os.path.join(data, f"{kind}_{n}.pb"), "wb") as f:
                    f.write(to_proto(value, info).SerializeToString())
    write_forms(case.model, folder)


def copy_case(source, folder):
    import onnx
    os.makedirs(folder)
    for k, data in enumerate(sorted(d for d in os.listdir(source) if d.startswith("test_data_set_"))):
        shutil.copytree(os.path.join(source, data), os.path.join(folder, f"data_{k}"))
    write_forms(onnx.load(os.path.join(source, "model.onnx")), folder)


def prepare(folder):
    import onnx
    import onnx.backend.test
    from onnx.backend.test.case.node import collect_testcases
    stamp = f"onnx {onnx.__version__}, form {FORM}\n"
    stamp_file = os.path.join(folder, "stamp")
    if os.path.exists(stamp_file) and open(stamp_file, encoding="utf-8").read() == stamp:
        return
    shutil.rmtree(folder, ignore_errors=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")     # the suite divides by zero on purpose
        cases = collect_testcases(None)
    for case in cases:
        write_case(case, os.path.join(folder, case.name))
    data = os.path.join(os.path.dirname(onnx.backend.test.__file__), "data")
    for kind in COPIED:
        for name in sorted(os.listdir(os.path.join(data, kind))):
            source = os.path.join(data, kind, name)
            if os.path.exists(os.path.join(source, "model.onnx")):
                copy_case(source, os.path.join(folder, name))
    with open(stamp_file, "w", encoding="utf-8") as f:      # last: an interrupted run starts afresh
        f.write(stamp)


if __name__ == "__main__":
    prepare(sys.argv[1])
