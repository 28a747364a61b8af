"""What the tests of written models share: small models, what ONNX Runtime makes of them, and how the tests are run."""
import os
import subprocess
import sys
import tempfile
import traceback

try:
    import numpy as np
    import onnx
    import onnxruntime
    from onnx import TensorProto as T  # noqa: F401
    from onnx import helper as h
    from onnx import numpy_helper
except ImportError as e:
    print(f"skipped: {e} (tests/requirements.txt; ./dev setup)")
    sys.exit(77)

GCC2NN = os.path.abspath(sys.argv[1])


def call(*words, status=0, cwd=None):
    p = subprocess.run([GCC2NN, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd)
    assert p.returncode == status, f"{' '.join(words)}: exit {p.returncode}\n{p.stdout}"
    return p.stdout


def results(path, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return [o.name for o in session.get_outputs()], session.run(None, feeds)


def equal(got, want):
    if isinstance(want, list):
        return len(got) == len(want) and all(map(equal, got, want))
    if want is None or got is None:
        return got is want
    got, want = np.asarray(got), np.asarray(want)
    if got.dtype != want.dtype or got.shape != want.shape:
        return False
    if want.dtype.kind == "f":
        return np.allclose(got, want, rtol=1e-6, atol=1e-6, equal_nan=True)
    return bool((got == want).all())


def value(name, kind, dims):
    return h.make_tensor_value_info(name, kind, dims)


def constant(name, array):
    return numpy_helper.from_array(np.asarray(array), name)


def model(folder, nodes, ins, outs, weights=(), opset=17, domains=(), name="model.onnx", **more):
    graph = h.make_graph(nodes, "g", ins, outs, list(weights))
    opsets = [h.make_opsetid("", opset)] + [h.make_opsetid(d, 1) for d in domains]
    proto = h.make_model(graph, opset_imports=opsets, ir_version=h.find_min_ir_version_for(opsets, True), **more)
    path = os.path.join(folder, name)
    onnx.save(proto, path)
    return path


def floats(*dims):
    return np.random.default_rng(1).standard_normal(dims).astype(np.float32)


def main(tests):
    """Runs those whose names begin with `test_`, or of these the ones that contain a word of the command line."""
    tests = [(n, f) for n, f in tests.items() if n.startswith("test_") and (len(sys.argv) < 3 or any(w in n for w in sys.argv[2:]))]
    failed = 0
    for name, test in tests:
        with tempfile.TemporaryDirectory() as folder:
            try:
                test(folder)
            except Exception:
                failed += 1
                print(f"FAIL {name}\n{traceback.format_exc(limit=-2)}")
    print(f"{len(tests) - failed} passed, {failed} failed, 0 skipped")
    sys.exit(1 if failed else 0)

