"""What the tests of this folder share: six small models, the preloaded library of shim.c, folders compared."""
import json
import os
import stat
import subprocess
import sys
import tempfile
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "hostile"))
from wire import BOOL, F32, I64, U8, I8, blob, floats, graph, int64s, ints, model, node, num, tensor, value  # noqa: E402


EVERYTHING = "--all" in sys.argv or bool(os.environ.get("GCC2NN_ALL"))     # `./dev test --all` sets it
WORDS = [w for w in sys.argv[3:] if w != "--all"]


class Skip(Exception):
    pass


# --- models: static with external data, sizes of names, control flow, sizes found in the run, quantised -----------

def external(folder):
    with open(os.path.join(folder, "w.bin"), "wb") as f:
        f.write(bytes(range(4)) * 18)
    w = tensor("w", [2, 1, 3, 3], external=[("location", "w.bin")])
    nodes = [node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]), node("Relu", ["c"], ["y"])]
    return graph(nodes, [value("x", [1, 1, 4, 4])], [value("y", [1, 2, 4, 4])], [w])


def symbolic(_):
    nodes = [node("Add", ["x", "b"], ["s"]), node("Softmax", ["s"], ["p"]),
             node("Concat", ["p", "x"], ["y"], axis=0), node("Shape", ["y"], ["n"])]
    return graph(nodes, [value("x", ["N", 3])], [value("y", ["M", 3]), value("n", [2], I64)],
                 [floats("b", [3], [1.0, 2.0, 3.0])])


def control(_):
    then = graph([node("Mul", ["s", "x"], ["t"])], [], [value("t", [2])])
    other = graph([node("Sub", ["s", "x"], ["e"])], [], [value("e", [2])])
    body = graph([node("ReduceSum", ["s"], ["r"], keepdims=0), node("Less", ["r", "limit"], ["small"]),
                  node("If", ["small"], ["s2"], then_branch=then, else_branch=other),
                  node("Identity", ["c"], ["c2"]), node("Identity", ["s2"], ["each"])],
                 [value("i", [], I64), value("c", [], BOOL), value("s", [2])],
                 [value("c2", [], BOOL), value("s2", [2]), value("each", [2])], [floats("limit", [], [100.0])], "body")
    return graph([node("Loop", ["n", "", "x"], ["y", "all"], body=body)], [value("x", [2]), value("n", [], I64)],
                 [value("y", [2]), value("all", None)])


def found(_):
    nodes = [node("NonZero", ["x"], ["at"]), node("Transpose", ["at"], ["y"], perm=[1, 0]),
             node("Cast", ["x"], ["k"], to=I64), node("Unique", ["x"], ["u"], sorted=1)]
    return graph(nodes, [value("x", [2, 3])], [value("y", ["K", 2], I64), value("k", [2, 3], I64), value("u", ["U"])])


def quantised(_):
    inits = [floats("s", [], [0.05]), tensor("z", [], U8, b"\x80"), tensor("w", [4, 4], I8, bytes(range(16))),
             floats("ws", [4], [0.1, 0.2, 0.3, 0.4]), tensor("wz", [4], I8, b"\0" * 4)]
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["q"]), node("DequantizeLinear", ["q", "s", "z"], ["d"]),
             node("DequantizeLinear", ["w", "ws", "wz"], ["wd"], axis=1), node("MatMul", ["d", "wd"], ["m"]),
             node("QuantizeLinear", ["m", "s", "z"], ["y"])]
    return graph(nodes, [value("x", [3, 4])], [value("y", [3, 4], U8)], inits)


def tflite(folder):
    """By the compiler of the schema, which building needs anyway."""
    tensors = [{"shape": shape, "type": "FLOAT32", "buffer": k, "name": name}
               for k, (name, shape) in enumerate((("x", [2, 3]), ("b", [3]), ("y", [2, 3])))]
    add = {"opcode_index": 0, "inputs": [0, 1], "outputs": [2], "builtin_options_type": "AddOptions",
           "builtin_options": {"fused_activation_function": "RELU"}}
    text = {"version": 3, "operator_codes": [{"deprecated_builtin_code": 0, "builtin_code": "ADD", "version": 1}],
            "subgraphs": [{"tensors": tensors, "inputs": [0], "outputs": [2], "operators": [add]}],
            "buffers": [{}, {"data": list(b"\0\0\x80\x3f" * 3)}, {}]}
    put(os.path.join(folder, "tflite.json"), json.dumps(text).encode())
    schema = os.path.join(HERE, "..", "..", "compiler", "import", "tflite.fbs")
    subprocess.run(["flatc", "--binary", "-o", folder, schema, os.path.join(folder, "tflite.json")], check=True)
    os.remove(os.path.join(folder, "tflite.json"))
    return os.path.join(folder, "tflite.tflite")


MODELS = {"external": external, "symbolic": symbolic, "control": control, "found": found, "quantised": quantised}
INPUTS = {"control": [(2, F32, b"\0\0\x80\x3f" * 2), (None, I64, int64s([3]))]}     # dims, type, bytes
SYMBOLS = {"symbolic": ["--dim", "N=1..9@2"]}


def write_model(name, folder):
    if name == "tflite":
        return tflite(folder)
    path = os.path.join(folder, name + ".onnx")
    with open(path, "wb") as f:
        f.write(model(MODELS[name](folder)))
    for k, (dims, kind, data) in enumerate(INPUTS.get(name, ())):
        with open(os.path.join(folder, f"input_{k}.pb"), "wb") as f:
            f.write((num(1, dims) if dims else b"") + num(2, kind) + blob(9, data))
    return path


def words_for(name, folder):
    """What `run` needs besides the model."""
    return SYMBOLS.get(name, []) + (["--data", folder] if name in INPUTS else [])


# --- running ------------------------------------------------------------------------------------

class Program:
    def __init__(self, gcc2nn, shim):
        self.path, self.shim = os.path.abspath(gcc2nn), os.path.abspath(shim)
        said = subprocess.run([self.path, "--version"], capture_output=True, check=False,
                              env={**os.environ, "LD_PRELOAD": self.shim})
        if said.returncode or said.stderr:
            raise Skip(f"{os.path.basename(shim)} cannot be preloaded: {said.stderr[:200].decode()}")

    def run(self, *words, shim=None, env=None, cwd=None, stdout=subprocess.PIPE, timeout=120, **more):
        """shim: the FAULT_ variables without their FAULT_."""
        env = {**os.environ, **(env or {})}
        if shim is not None:
            env |= {"FAULT_" + k: str(v) for k, v in shim.items()}
            env["LD_PRELOAD"] = self.shim
        return subprocess.run([self.path, *words], stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE,
                              env=env, cwd=cwd, timeout=timeout, check=False, **more)

    def count(self, *words, folder, cwd=None, **more):
        """(allocations, calls for files, what was done) of a run without a fault."""
        to = os.path.join(folder, "count")
        done = self.run(*words, shim={"COUNT": to, **more}, cwd=cwd)
        with open(to, encoding="ascii") as f:
            memory, files = map(int, f.read().split())
        os.remove(to)
        return memory, files, done


def tree(folder):
    """{path: bytes of a file, None of a folder, target of a link} of all below."""
    found_there = {}
    for where, folders, files in os.walk(folder):
        for name in folders + files:
            path = os.path.join(where, name)
            mode = os.lstat(path).st_mode
            if stat.S_ISLNK(mode):
                contents = os.readlink(path)
            elif stat.S_ISREG(mode):
                with open(path, "rb") as f:
                    contents = f.read()
            else:
                contents = None
            found_there[os.path.relpath(path, folder)] = contents
    return found_there


def put(path, contents=b"mine"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(contents)
    return path


def run_cases(cases):
    """Runs the functions whose names begin with test_, with the program and a folder; prints the last line that tests
    print."""
    try:
        program = Program(*sys.argv[1:3])
    except Skip as e:
        print(f"SKIPPED faults: {e}\n0 passed, 0 failed, 1 skipped")
        return 77
    passed = failed = skipped = 0
    for name, case in list(cases.items()):
        if not name.startswith("test_") or (WORDS and not any(w in name for w in WORDS)):
            continue
        with tempfile.TemporaryDirectory(prefix="faults-") as tmp:
            try:
                case(program, tmp)
                passed += 1
            except Skip as e:
                skipped += 1
                print(f"SKIPPED faults {name[5:]}: {e}")
            except Exception as e:  # whatever the case found
                failed += 1
                where = traceback.extract_tb(e.__traceback__)
                line = [f.lineno for f in where if f.filename == case.__code__.co_filename][-1]
                print(f"FAILED {name[5:]}, line {line}: {type(e).__name__}: {str(e)[:1000]}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed or not passed + skipped else 0
