"""What the scripts of this folder have in common; each is run behind this one by `gcc2nn verify` (compiler/peer.c):
argv MODEL EACH_NODE QUANTIZED SIGNATURE, the middle ones 0 or 1, the last "" where none was chosen.

Reads in<k>.nnt for each of the inputs that names.json lists; writes want<k>.nnt for those of its outputs that the peer
has as tensors; of a data set in_<sample>_<k>.nnt and want_<sample>_<k>.nnt. The format of .nnt is that of the program it is compared with (NAME_main.c). Exit status: 0, 1 (it
cannot run the model), 77 (a package is missing).
"""
import importlib
import json
import os
import struct
import sys

MODEL, EACH_NODE, QUANTIZED, SIGNATURE = sys.argv[1], sys.argv[2] == "1", sys.argv[3] == "1", sys.argv[4]
MISSING = 77


def package(name):
    try:
        return importlib.import_module(name)
    except ImportError as e:
        print(e, file=sys.stderr)
        sys.exit(MISSING)


numpy = package("numpy")
TYPES = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4",
         13: "u8", 14: "c8", 15: "c16"}
CODES = {numpy.dtype(t): code for code, t in TYPES.items()}
STRING = 8      # each a length of 8 bytes, and its bytes
with open("names.json", encoding="utf-8") as names:
    NAMES = json.load(names)
WANTED = {}     # the places of each name: a model may list an output twice
for place, wanted in enumerate(NAMES["outputs"]):
    WANTED.setdefault(wanted, []).append(place)


PREFIX = ""      # of the files of a sample


def load(k):
    return load_file(f"in{PREFIX}{k}.nnt")


def load_file(path):
    with open(path, "rb") as f:
        data = f.read()
    code, rank = struct.unpack_from("<II", data, 4)
    if code not in TYPES and code != STRING:
        sys.exit(f"numpy has no arrays of ONNX type {code}")
    dims, at = struct.unpack_from(f"<{rank}q", data, 16), 16 + 8 * rank
    if code == STRING:
        return numpy.array(list(strings(data, at)), object).reshape(dims)
    return numpy.frombuffer(data, TYPES[code], offset=at).reshape(dims)


def strings(data, at):
    while at < len(data):
        n, = struct.unpack_from("<Q", data, at)
        yield data[at + 8:at + 8 + n].decode()
        at += 8 + n


def contents(a):
    if a.dtype in CODES:
        return a.tobytes()
    every = (v if isinstance(v, bytes) else str(v).encode() for v in a.ravel().tolist())
    return b"".join(struct.pack("<Q", len(v)) + v for v in every)


def store(name, a):
    """If it is wanted, and of a type that the program has."""
    code = STRING if a.dtype.kind in "OSU" else CODES.get(a.dtype)
    if name not in WANTED or code is None:
        return
    for k in WANTED[name]:
        with open(f"want{PREFIX}{k}.nnt", "wb") as f:
            f.write(b"NNT1" + struct.pack("<III", code, a.ndim, 0) + struct.pack(f"<{a.ndim}q", *a.shape) + contents(a))


def answer(main):
    global PREFIX
    try:
        for k in range(len(NAMES["samples"])):
            PREFIX = f"_{k}_"
            main()
        if not NAMES["samples"]:
            main()
    except Exception as e:  # whatever the peer finds wrong
        sys.exit(" ".join(str(e).split())[:400] or type(e).__name__)
