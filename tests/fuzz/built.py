"""Builds and runs the C that gcc2nn wrote, fast enough for thousands of models: one compilation of all its files, with the
system's headers compiled beforehand. Its results are to be those of the interpreter, bit for bit.
"""
import json
import os
import re
import shlex
import subprocess

import numpy as np
from onnx import helper

class Failed(Exception):
    pass


def command(words, folder):
    try:
        done = subprocess.run(words, cwd=folder, capture_output=True, text=True, errors="replace", timeout=120)
    except subprocess.TimeoutExpired:
        raise Failed(f"{words[0]} took more than 120 s") from None
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines()
        raise Failed(f"{words[0]}: exit {done.returncode}: {lines[0] if lines else ''}")


def header(words, target, folder):
    """What all generated files include, compiled: the file that -include takes."""
    name = os.path.join(folder, re.sub(r"\W", "_", " ".join(words) + target) + ".h")
    if not os.path.exists(name + ".gch"):
        names = ["stddef", "stdint", "math", "string", "stdio", "stdlib", "time"]
        with open(name, "w", encoding="ascii") as f:
            f.write("#define _POSIX_C_SOURCE 200809L\n")
            f.writelines(f"#include <{h}.h>\n" for h in names + ["immintrin"] * target.startswith("x86"))
        command([*words, "-x", "c-header", name, "-o", name + ".gch"], folder)
    return name


def build(folder, compiler, headers):
    """`whole`, of all the sources in this folder; headers: a folder for compiled ones"""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    sources = ["nn_rt.c", *manifest["sources"]]
    others = [name for name in sources if "_kernels" in name][:-1]    # have helpers of their own; the rest in one file
    lines = [f'#include "{name}"' for name in sources[::-1] if name not in others]
    with open(os.path.join(folder, "whole.c"), "w", encoding="ascii") as f:
        f.write("\n".join([*lines, '#pragma GCC optimize("O0")', f'#include "{manifest["name"]}_main.c"', ""]))
    words = shlex.split(f"{compiler} {manifest['cflags']}")
    if words[0].endswith("gcc"):
        words += ["-include", header(words, manifest["target"], headers)]
    command(words + ["-I.", "whole.c", *others, "-lm", "-o", "whole"], folder)


def run(folder, inputs, outputs, threads, runner=None):
    """Arrays of the inputs in their order; gives as many arrays as `outputs` says. runner: emulator of the target's machine"""
    ins, outs = [f"in{k}.nnt" for k in range(len(inputs))], [f"out{k}.nnt" for k in range(outputs)]
    for name, array in zip(ins, inputs):
        with open(os.path.join(folder, name), "wb") as f:
            onnx_type = helper.np_dtype_to_tensor_dtype(array.dtype)
            f.write(b"NNT1" + np.array([onnx_type, array.ndim, 0], "<u4").tobytes())
            f.write(np.array(array.shape, "<i8").tobytes() + np.ascontiguousarray(array).tobytes())
    pool = os.path.exists(os.path.join(folder, "nn_pool.c"))    # else no kernel has a use for threads
    command([*([runner] if runner else []), "./whole", *(["--threads", str(threads)] if pool else []), *ins, *outs], folder)
    return [read(os.path.join(folder, name)) for name in outs]


def read(path):
    with open(path, "rb") as f:
        data = f.read()
    onnx_type, rank, _ = (int(v) for v in np.frombuffer(data, "<u4", 3, 4))
    dims = np.frombuffer(data, "<i8", rank, 16)
    return np.frombuffer(data, helper.tensor_dtype_to_np_dtype(onnx_type), offset=16 + 8 * rank).reshape(dims)


def same_bits(a, b):
    """All NaNs are one."""
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "fc" and (a != a).any():
        return bool(((a != a) == (b != b)).all()) and np.where(a != a, 0, a).tobytes() == np.where(b != b, 0, b).tobytes()
    return a.tobytes() == b.tobytes()
