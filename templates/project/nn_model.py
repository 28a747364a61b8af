"""A compiled model for Python: the shared library that gcc2nn's project files build (`make shared`), by ctypes and numpy.

    from nn_model import Model
    model = Model("libdigits.so")
    scores, = model.run(picture)            # arrays in the order of the model's inputs
    result = model.run(picture=array)       # or by name

Works for every model, CPU or CUDA, for it reads what the library tells of itself (nn_model.h). A Model is one context:
use one for each thread.
"""
import ctypes
import os
from collections import namedtuple

import numpy as np

__all__ = ["Model", "ModelError", "Tensor", "Symbol"]

RANK = 32
OK = 0
DEVICE = 1
ALIGN = 64
# By ONNX's numbers. Elements below 8 bits, and floats of 8 bits, are bytes; bfloat16 is its bits.
TYPES = {1: "f4", 2: "u1", 3: "i1", 4: "u2", 5: "i2", 6: "i4", 7: "i8", 9: "?", 10: "f2", 11: "f8", 12: "u4", 13: "u8",
         14: "c8", 15: "c16", 16: "u2", 17: "u1", 18: "u1", 19: "u1", 20: "u1", 21: "u1", 22: "i1", 23: "u1", 24: "u1",
         25: "u1", 26: "i1"}
STRING = 8

Tensor = namedtuple("Tensor", "name dtype shape")      # shape: numbers, names of symbols, None: computed or found
Symbol = namedtuple("Symbol", "name least most typical")


class ModelError(RuntimeError):
    """A call that failed; `status` is one of enum nn_status."""

    def __init__(self, status, text):
        super().__init__(text)
        self.status = status


class _Dim(ctypes.Structure):
    _fields_ = [("size", ctypes.c_int64), ("symbol", ctypes.c_int64)]


class _Tensor(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("shape", ctypes.c_char_p), ("type", ctypes.c_int32),
                ("element", ctypes.c_int32), ("rank", ctypes.c_int32), ("found", ctypes.c_int32),
                ("next", ctypes.c_int32), ("dims", ctypes.POINTER(_Dim))]


class _Symbol(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("least", ctypes.c_int64), ("most", ctypes.c_int64),
                ("typical", ctypes.c_int64)]


_Grow = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.POINTER(ctypes.c_void_p),
                         ctypes.POINTER(ctypes.c_size_t))


class _Config(ctypes.Structure):
    _fields_ = [("arena", ctypes.c_void_p), ("arena_size", ctypes.c_size_t), ("weights", ctypes.c_void_p),
                ("weights_size", ctypes.c_size_t), ("max_iterations", ctypes.c_int64), ("grow", _Grow),
                ("user", ctypes.c_void_p), ("threads", ctypes.c_void_p), ("stream", ctypes.c_void_p),
                ("without", ctypes.c_char_p)]


class _Result(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("capacity", ctypes.c_size_t), ("dims", ctypes.c_int64 * RANK)]


class _Error(ctypes.Structure):
    _fields_ = [("what", ctypes.c_char_p), ("where", ctypes.c_char_p), ("need", ctypes.c_size_t),
                ("values", ctypes.c_int64 * 2)]


class _String(ctypes.Structure):
    _fields_ = [("p", ctypes.c_void_p), ("n", ctypes.c_size_t)]


_Sizes = ctypes.POINTER(ctypes.c_int64)
_Dims = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int32, _Sizes, _Sizes)


class _Model(ctypes.Structure):
    _fields_ = [(name, ctypes.c_char_p) for name in ("name", "target", "compiler", "source", "hash")] + \
        [(name, ctypes.c_int32) for name in ("inputs", "outputs", "symbols", "flags")] + \
        [("input", ctypes.POINTER(_Tensor)), ("output", ctypes.POINTER(_Tensor)), ("symbol", ctypes.POINTER(_Symbol)),
         ("context_bytes", ctypes.c_size_t), ("weights_bytes", ctypes.c_size_t),
         ("arena", ctypes.CFUNCTYPE(ctypes.c_int, _Sizes, ctypes.POINTER(ctypes.c_size_t))),
         ("input_dims", _Dims), ("output_dims", _Dims),
         ("init", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.POINTER(_Config))),
         ("run", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, _Sizes, ctypes.POINTER(ctypes.c_void_p),
                                  ctypes.POINTER(_Result))),
         ("variant", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
         ("error", ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.POINTER(_Error))),
         ("status_text", ctypes.CFUNCTYPE(ctypes.c_char_p, ctypes.c_int)),
         ("close", ctypes.CFUNCTYPE(None, ctypes.c_void_p))]


def _text(b):
    return (b or b"").decode("utf-8", "surrogateescape")


def _aligned(size):
    """Bytes, at least one, aligned as arenas and weights must be."""
    size = max(size, 1)
    raw = np.empty(size + ALIGN, np.uint8)
    start = -raw.ctypes.data % ALIGN
    return raw[start:start + size]


def _tensors(table, n, symbols):
    found = []
    for t in table[:n]:
        shape = tuple(d.size if d.size >= 0 else symbols[d.symbol].name if d.symbol >= 0 else None
                      for d in t.dims[:t.rank])
        found.append(Tensor(_text(t.name), np.dtype(object if t.type == STRING else TYPES[t.type]), shape))
    return found


class Model:
    """One context of a compiled model.

    library: a shared library, or the folder that holds lib*.so. weights: the weights file, where the model has one of
    its own (default: the *_weights.bin beside the library). without: instruction sets not to use, "avx512f avx2".
    """

    def __init__(self, library, weights=None, without=None):
        self._context = None
        path = os.path.abspath(library)
        if os.path.isdir(path):
            built = sorted(f for f in os.listdir(path) if f.startswith("lib") and f.endswith((".so", ".dylib", ".dll")))
            if len(built) != 1:
                raise FileNotFoundError(f"{library} holds {len(built)} shared libraries; `make shared` builds one")
            path = os.path.join(path, built[0])
        self._library = ctypes.CDLL(path)
        try:
            info = self._library.gcc2nn_model_v1
        except AttributeError:
            raise ModelError(1, f"{path} is no model: it does not export gcc2nn_model_v1") from None
        info.restype = ctypes.POINTER(_Model)
        self._model = m = info().contents
        self.name, self.target, self.compiler = _text(m.name), _text(m.target), _text(m.compiler)
        self.source, self.hash = _text(m.source), _text(m.hash)
        self.symbols = [Symbol(_text(s.name), s.least, s.most, s.typical) for s in m.symbol[:m.symbols]]
        self.inputs = _tensors(m.input, m.inputs, self.symbols)
        self.outputs = _tensors(m.output, m.outputs, self.symbols)
        self._config = _Config()
        self._config.without = without.encode() if without else None
        self._grow = _Grow(self._grown)         # kept: the library holds a pointer to it
        self._config.grow = self._grow
        self._read_weights(weights, path)
        self._sizes = None

    def _read_weights(self, weights, path):
        need = self._model.weights_bytes
        if not need:
            return
        if weights is None:
            weights = os.path.join(os.path.dirname(path), self.name + "_weights.bin")
        self._weights = _aligned(os.path.getsize(weights))
        with open(weights, "rb") as f:
            f.readinto(self._weights)
        self._config.weights, self._config.weights_size = self._weights.ctypes.data, self._weights.size

    def _grown(self, _user, need, arena, size):
        try:
            self._arena = _aligned(max(need, 2 * size[0]))
        except MemoryError:
            return 0
        arena[0], size[0] = self._arena.ctypes.data, self._arena.size
        self._config.arena, self._config.arena_size = arena[0], size[0]
        return 1

    def _check(self, status):
        if status == OK:
            return
        e, text = _Error(), _text(self._model.status_text(status))
        if self._context is not None:
            self._model.error(self._context, e)
        if e.what:
            text += ": " + _text(e.what)
        if e.where:
            text += " at " + _text(e.where)
        if any(e.values):
            text += f" ({e.values[0]} and {e.values[1]})"
        raise ModelError(status, f"{self.name}: {text}")

    def _open(self, sizes):
        """A context whose arena does for these sizes."""
        need = ctypes.c_size_t(0)
        self._check(self._model.arena(sizes, need))
        first = self._context is None
        if first:
            self._context = ctypes.create_string_buffer(self._model.context_bytes)
        on_device = self._model.flags & DEVICE      # where the context allocates
        if not on_device and (first or need.value > self._config.arena_size):
            self._arena = _aligned(need.value)
            self._config.arena, self._config.arena_size = self._arena.ctypes.data, self._arena.size
            first = True
        if first:
            self._check(self._model.init(self._context, self._config))

    def _given(self, arrays, named):
        if len(arrays) > len(self.inputs):
            raise TypeError(f"{self.name} takes {len(self.inputs)} inputs, {len(arrays)} were given")
        given = dict(zip((t.name for t in self.inputs), arrays))
        for name in named:
            if name not in {t.name for t in self.inputs}:
                raise TypeError(f"{self.name} has no input {name!r}; it has " + ", ".join(t.name for t in self.inputs))
            if name in given:
                raise TypeError(f"input {name!r} is given twice")
        given.update(named)
        missing = [t.name for t in self.inputs if t.name not in given]
        if missing:
            raise TypeError(f"input {missing[0]!r} of {self.name} is missing")
        return [given[t.name] for t in self.inputs]

    def _array(self, k, value):
        t = self.inputs[k]
        a = np.asarray(value, t.dtype if t.dtype == object else None)
        if t.dtype != object and a.dtype != t.dtype and not np.can_cast(a.dtype, t.dtype, "same_kind"):
            raise TypeError(f"input {t.name!r} takes {t.dtype}, not {a.dtype}")
        for s in a.reshape(-1) if t.dtype == object else ():
            if not isinstance(s, (bytes, str)):
                raise TypeError(f"input {t.name!r} takes bytes and str, not {type(s).__name__}")
        a = np.asarray(a, t.dtype, order="C")
        fits = a.ndim == len(t.shape) and all(not isinstance(d, int) or d == n for d, n in zip(t.shape, a.shape))
        if not fits:
            raise ValueError(f"input {t.name!r} has shape {_text(self._model.input[k].shape)}, not {a.shape}")
        return a

    def _find_sizes(self, arrays):
        sizes = [s.typical for s in self.symbols]
        known = {}
        for k, a in enumerate(arrays):
            for d, n in zip(self._model.input[k].dims[:a.ndim], a.shape):
                if d.symbol < 0:
                    continue
                if known.setdefault(d.symbol, n) != n:
                    raise ValueError(f"{self.symbols[d.symbol].name!r} is {known[d.symbol]} in one input, {n} in another")
                sizes[d.symbol] = n
        for s, n in zip(self.symbols, sizes):
            if not s.least <= n <= s.most:
                raise ValueError(f"{s.name!r} is {n}; it may be {s.least} to {s.most}")
        return (ctypes.c_int64 * (len(sizes) + 1))(*sizes)

    def run(self, /, *arrays, **named):
        """Runs the model; returns a list of arrays, one for each output. ValueError, TypeError: an input does not fit;
        ModelError: the run failed."""
        arrays = [self._array(k, a) for k, a in enumerate(self._given(arrays, named))]
        sizes = self._find_sizes(arrays)
        self._open(sizes)
        kept, pointers = [], (ctypes.c_void_p * (len(arrays) + 1))()
        for k, a in enumerate(arrays):
            pointers[k] = _strings(a, kept) if a.dtype == object else a.ctypes.data
        results = (_Result * (len(self.outputs) + 1))()
        outs = []
        for k, t in enumerate(self.outputs):
            if self._model.output[k].found:
                outs.append(None)
                continue
            dims = (ctypes.c_int64 * RANK)()
            self._check(self._model.output_dims(k, sizes, dims))
            shape = tuple(dims[:len(t.shape)])
            out = (_String * max(1, int(np.prod(shape))))() if t.dtype == object else np.empty(shape, t.dtype)
            results[k].data = ctypes.addressof(out) if t.dtype == object else out.ctypes.data
            results[k].capacity = int(np.prod(shape))
            outs.append(out)
        self._check(self._model.run(self._context, sizes, pointers, results))
        return [self._taken(k, outs[k], results[k]) for k in range(len(outs))]

    __call__ = run

    def _taken(self, k, out, result):
        t = self.outputs[k]
        shape = tuple(result.dims[:len(t.shape)])
        n = int(np.prod(shape))
        if t.dtype == object:
            cells = ctypes.cast(result.data, ctypes.POINTER(_String))[:n] if n else []
            return np.array([ctypes.string_at(s.p, s.n) for s in cells], object).reshape(shape)
        if out is not None:
            return out
        data = ctypes.string_at(result.data, n * t.dtype.itemsize) if n else b""
        return np.frombuffer(data, t.dtype).reshape(shape).copy()

    def close(self):
        """Gives back what the context has on a device."""
        if self._context is not None:
            self._model.close(self._context)
            self._context = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        self.close()

    def __repr__(self):
        return f"<Model {self.name} for {self.target}: " + ", ".join(t.name for t in self.inputs) + " -> " + \
            ", ".join(t.name for t in self.outputs) + ">"


def _strings(a, kept):
    """The elements, bytes or str, as nn_str; what it points to is put into `kept`."""
    cells = (_String * max(1, a.size))()
    for cell, s in zip(cells, a.reshape(-1)):
        data = ctypes.create_string_buffer(s.encode("utf-8", "surrogateescape") if isinstance(s, str) else s)
        kept.append(data)
        cell.p, cell.n = ctypes.addressof(data), len(data) - 1
    kept.append(cells)
    return ctypes.addressof(cells)
