#!/usr/bin/env python3
"""Is what gcc2nn writes for a model good C, whatever its values? For each model:

WARNINGS: every file compiles without a warning with gcc and clang-14 at the flags of its Makefile and
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow, and no text turns a warning off.
HEADER: NAME.h is C++11 too.
SANITIZERS: built with AddressSanitizer and UBSan, with an arena of exactly the stated size, the program runs on the
    stored inputs without a report; its outputs have the same bits as without them, and agree with the reference.
INTERPRETER: the interpreter of the scheduled loop IR gives these bits too (any NaN for a NaN). Models up to WHOLE_MACS; of
    larger ones each kernel is compared, as of all:
KERNELS: each scheduled kernel alone, at its own extents, gives the same bits as the interpreter on random and on special
    values (NaN, infinities, -0, denormals) and, if it has symbolic sizes, with small ones, 0 and 1 among them.
SAME BYTES: written again into another folder, from another working directory, with another locale, time zone and time,
    the files are the same.

    check_output.py              SHARE small models, and the kernels of one other; both turned by the commit
    check_output.py --all        every model
    check_output.py NAME...      these
    ... --only PART              warnings, programs (sanitizers, interpreter), bytes or kernels; may be repeated

Prints a line for each model, then how many passed. Exit status: 0, 1 if a model failed, 77 if none was checked.
"""
import concurrent.futures
import filecmp
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

import run_models
from modelset import ROOT, arguments, finish, index, missing, MODELS

HERE = os.path.dirname(os.path.abspath(__file__))
SHARE = 3
WHOLE_MACS = 50_000_000
LARGE_MACS = 1_000_000_000      # the interpreter does some 70 million in a second
PARTS = ("warnings", "programs", "bytes", "kernels")
COMPILERS = ("gcc", "clang-14")
WARNINGS = "-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror"
SANITIZE = "-O1 -g -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all"
SILENCED = re.compile(r"diagnostic\s*(push|pop|ignored)|system_header|-Wno-|NOLINT|pragma\s+warning")
LOCALE = "tr_TR.UTF-8"      # upper and lower case of i differ, and the decimal point is a comma


class Failed(Exception):
    pass


def command(words, args, cwd, env=None):
    status, out, err = run_models.call(["env", *(env or []), *words] if env else words, args.timeout, cwd)
    if status:
        lines = [line for line in (err + out).splitlines() if line.strip()]
        found = [line for line in lines if re.search(r"error:|warning:|ERROR: |runtime error", line)] or lines
        raise Failed(f"{os.path.basename(words[0])} ended with {status}: {found[0].strip()[:200] if found else ''}")
    return out


# --- the checks -------------------------------------------------------------------------------

def generate(args, model, folder, cwd, env=None):
    command([args.gcc2nn, model, "--out", folder, "--target", args.target, "--name", "model"], args, cwd, env)


def check_warnings(args, folder, made):
    for file in sorted(os.listdir(folder)):
        if file.endswith((".c", ".h", ".S")):
            with open(os.path.join(folder, file), encoding="utf-8") as f:
                for number, line in enumerate(f, 1):
                    if SILENCED.search(line):
                        raise Failed(f"{file}:{number} silences a warning: {line.strip()[:80]}")
    for compiler in COMPILERS:
        copy = made(f"warn-{compiler}")
        shutil.copytree(folder, copy)
        command(["make", "-s", f"CC={compiler}", f"CFLAGS=-O2 {WARNINGS}"], args, copy)
    return copy


def check_header(args, folder):
    text = '#include "model.h"\nint main() { model m; return sizeof m == 0; }\n'
    with open(os.path.join(folder, "header.cc"), "w", encoding="utf-8") as f:
        f.write(text)
    command(["g++", "-std=c++11", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only", "header.cc"], args, folder)


def exact_arena(folder):
    """The program gets what the model states: no reserve to begin with, and what an error says would do."""
    path = os.path.join(folder, "model_io.h")
    with open(path, encoding="utf-8") as f:
        text = f.read()
    if "IO_MORE = 1 << 16" not in text or "io_memory_set(m, need > 2" not in text:
        raise Failed("model_io.h takes its arena in another way than this test knows")
    for usual, exact in (("IO_MORE = 1 << 16", "IO_MORE = 0"),
                         ("need > 2 * m->size ? need : 2 * m->size", "need")):
        text = text.replace(usual, exact)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
        for name, value in json.load(f)["arena"].items():
            if name.startswith("bytes") and value % 64:
                raise Failed(f"an arena of {value} bytes: aligned_alloc would round it up")


def run_program(args, folder, given, outputs):
    weights = ["--weights", "model_weights.bin"] if os.path.exists(os.path.join(folder, "model_weights.bin")) else []
    command(["./model_main", *weights, *given, *outputs], args, folder,
            ["ASAN_OPTIONS=detect_stack_use_after_return=1:strict_string_checks=1", "UBSAN_OPTIONS=print_stacktrace=1"])


def check_interpreter(args, model, data, results, made):
    interpreted = made("interpreted")
    os.makedirs(interpreted, exist_ok=True)
    command([args.gcc2nn, "run", model, "--interpret", "--data", data, "--out", interpreted, "--target", args.target],
            args, ROOT)
    try:
        run_models.compare_bits(results, interpreted)
    except run_models.Wrong as e:
        raise Failed(f"{os.path.basename(data)}: {e}") from None


def model_outputs(manifest):
    """(number, name) of the program's output for each of the model's; of maps, which are keys and values, the values."""
    maps = {m["first"] + 1: m["name"] for m in manifest.get("gives", []) if m["kind"] == "maps"}
    for number, described in enumerate(manifest["outputs"]):
        if number + 1 not in maps:
            yield number, maps.get(number, described["name"])


def check_programs(args, row, model, folder, plain, sets, made, lists):
    exact = made("sanitized")
    shutil.copytree(folder, exact)
    exact_arena(exact)
    command(["make", "-s", "CC=gcc", f"CFLAGS={SANITIZE}", "LDFLAGS=-fsanitize=address,undefined", "model_main"],
            args, exact)
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    for data in sets:
        given, of_plain, of_exact = [], [], []
        for k, described in enumerate(manifest["inputs"]):
            given.append(made(f"in{k}.nnt"))
            write_tensor(given[-1], os.path.join(data, f"input_{k}.pb"), described["onnx_type"])
        for k in range(len(manifest["outputs"])):
            of_plain.append(made(f"plain{k}.nnt"))
            of_exact.append(made(f"exact{k}.nnt"))
        run_program(args, exact, given, of_exact)
        run_program(args, plain, given, of_plain)
        results = made("results")
        os.makedirs(results, exist_ok=True)
        for k, described in enumerate(manifest["outputs"]):
            if not filecmp.cmp(of_plain[k], of_exact[k], shallow=False):
                raise Failed(f"{os.path.basename(data)}: {described['name']} has other bits with sanitizers")
        for k, (number, name) in enumerate(model_outputs(manifest)):
            read_tensor(of_exact[number], os.path.join(results, f"output_{k}.pb"), name)
        try:
            run_models.compare(row, data, results, *lists)
        except run_models.Wrong as e:
            raise Failed(f"{os.path.basename(data)}: {e}") from None
        if int(row["macs"] or 0) <= WHOLE_MACS:
            check_interpreter(args, model, data, results, made)


def check_same(args, model, folder, made, locales):
    other = made(os.path.join("another place", "in it"))
    os.makedirs(os.path.dirname(other))
    # In this folder and at this time: seconds after the first one, which the compilers took.
    # The model by a relative name, from another place.
    cwd = made("elsewhere")
    os.makedirs(cwd)
    generate(args, os.path.relpath(model, cwd), other, cwd,
             [f"LC_ALL={LOCALE}", f"LOCPATH={locales}", "TZ=Pacific/Kiritimati", "SOURCE_DATE_EPOCH=12345", "COLUMNS=40"])
    names = sorted(os.listdir(folder))
    if names != sorted(os.listdir(other)):
        raise Failed("another folder and locale give other files")
    for name in names:
        if not filecmp.cmp(os.path.join(folder, name), os.path.join(other, name), shallow=False):
            raise Failed(f"{name} differs in another folder, locale and time zone")


def check_kernels(args, model, made):
    text = command([args.gcc2nn, model, "--target", args.target, "--dump-after=reuse", "--stop-after=reuse"], args, ROOT)
    with open(made("kernels.lir"), "w", encoding="utf-8") as f:
        f.write(text)
    said = command([args.lir_check, made("kernels.lir"), "--each", "--target", args.target, "--cc", "gcc"], args, ROOT)
    found = re.search(r"(\d+) kernels: (\d+) the same bits, 0 different, (\d+) only faults", said)
    if not found or found[3] != "0":
        raise Failed("kernels: " + " ".join(said.split())[:200])
    return f"{found[1]} kernels"


# --- tensors ----------------------------------------------------------------------------------

def write_tensor(path, stored, onnx_type):
    import numpy as np
    array = run_models.read_tensor(stored)[1]
    with open(path, "wb") as f:
        f.write(b"NNT1" + np.array([onnx_type, array.ndim, 0], "<u4").tobytes() + np.array(array.shape, "<i8").tobytes())
        if onnx_type == 8:
            for word in array.reshape(-1):
                word = word if isinstance(word, bytes) else str(word).encode()
                f.write(np.uint64(len(word)).tobytes() + word)
        else:
            f.write(np.ascontiguousarray(array).tobytes())


def read_tensor(path, to, name):
    import numpy as np
    import onnx
    with open(path, "rb") as f:
        data = f.read()
    onnx_type, rank, _ = (int(n) for n in np.frombuffer(data, "<u4", 3, 4))
    tensor = onnx.TensorProto(name=name, data_type=onnx_type, dims=np.frombuffer(data, "<i8", rank, 16).tolist())
    at = 16 + 8 * rank
    if onnx_type == 8:
        while at < len(data):
            size = int(np.frombuffer(data, "<u8", 1, at)[0])
            tensor.string_data.append(data[at + 8:at + 8 + size])
            at += 8 + size
    else:
        tensor.raw_data = data[at:]
    with open(to, "wb") as f:
        f.write(tensor.SerializeToString())


# --- running ----------------------------------------------------------------------------------

def make_locale(folder):
    """A Turkish locale for gcc2nn to meet; False where this machine cannot make one."""
    if not shutil.which("localedef"):
        return False
    made = subprocess.run(["localedef", "-i", "tr_TR", "-f", "UTF-8", os.path.join(folder, LOCALE)], capture_output=True)
    return made.returncode == 0


def check(row, parts, args, lists, locales):
    result = {"name": row["name"], "verdict": "ok", "seconds": 0.0, "why": ""}
    begin = time.monotonic()
    try:
        if not row["file"].endswith(".onnx") and row["file"] != "recipe only":
            raise run_models.Skip("not an ONNX model")
        if not row["ort"].startswith("ok"):
            raise run_models.Skip("no reference: " + row["ort"][:60])
        out = command([sys.executable, os.path.join(HERE, "prepare.py"), row["name"]], args, ROOT)
        places = [line.split(" ", 1) for line in out.splitlines()]
        model = os.path.abspath(next(path for kind, path in places if kind == "model"))
        sets = [path for kind, path in places if kind == "data"]
        with tempfile.TemporaryDirectory(prefix="output-") as top:
            def made(name):
                return os.path.join(top, name)
            folder = made("first")
            if set(parts) != {"kernels"}:
                generate(args, model, folder, ROOT, ["LC_ALL=C"])
            if "warnings" in parts or "programs" in parts:
                plain = check_warnings(args, folder, made)
                check_header(args, plain)
            if "programs" in parts:
                check_programs(args, row, model, folder, plain, sets, made, (lists[0], lists[1].get(row["name"], {})))
            if "bytes" in parts:
                check_same(args, model, folder, made, locales)
            if "kernels" in parts:
                result["why"] = check_kernels(args, model, made)
    except run_models.Skip as e:
        result.update(verdict="skip", why=str(e))
    except (Failed, run_models.Wrong, run_models.Broken) as e:
        result.update(verdict="FAIL", why=str(e))
    result["seconds"] = time.monotonic() - begin
    return result


def choose(args, rows):
    """{name: what is checked of it}"""
    parts = tuple(args.only or PARTS)
    if args.names:
        unknown = [name for name in args.names if name not in rows]
        if unknown:
            sys.exit(f"check_output.py: no model {unknown[0]} in INDEX.csv")
        return {name: parts for name in args.names}
    names = [name for name, row in rows.items() if row["category"] not in run_models.LEFT_OUT]
    if args.all:
        return {name: parts for name in names}
    # Two compilers and the sanitizers take seconds for each: of the small ones, those with little text.
    names = [name for name in names if rows[name]["ort"].startswith("ok")]
    small = sorted(name for name in names if run_models.small(rows[name]))
    large = sorted(name for name in names if name not in small and int(rows[name]["macs"] or 0) < LARGE_MACS)
    number = run_models.turn()[0]
    chosen = {small[(number + k * len(small) // SHARE) % len(small)]: parts for k in range(SHARE)}
    if "kernels" in parts:
        chosen[large[number % len(large)]] = ("kernels",)
    return chosen


def main():
    parser = arguments(__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", action="append", choices=PARTS)
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--timeout", type=float, default=1800, help="seconds for each step (%(default).0f)")
    parser.add_argument("--target", default=run_models.host_target(), help="this machine: %(default)s")
    args = parser.parse_args()
    args.lir_check = os.path.join(os.path.dirname(args.gcc2nn), "tests", "lir_check")
    why = missing(args, "numpy", "onnx")
    lacks = [tool for tool in (*COMPILERS, "g++", "make", args.lir_check) if not shutil.which(tool)]
    if why or lacks:
        finish(args, [], why or f"{os.path.basename(lacks[0])} is not there")

    rows = index()
    lists, pending = (run_models.read_widened(rows), run_models.read_ties(rows)), run_models.read_pending(rows)
    chosen, results = choose(args, rows), []
    names = list(chosen)
    print(f"output: {len(names)} models; target {args.target}; folder {os.path.relpath(MODELS, ROOT)}", flush=True)
    with tempfile.TemporaryDirectory(prefix="locale-") as locales:
        if not make_locale(locales):
            print(f"output: no locale {LOCALE} here: the same bytes are looked for without it")
        with concurrent.futures.ThreadPoolExecutor(max(1, args.jobs)) as pool:
            for done in concurrent.futures.as_completed(
                    [pool.submit(check, rows[name], chosen[name], args, lists, locales)
                     for name in names if name not in pending]):
                results.append(done.result())
                print("{name:28} {verdict:5} {seconds:7.1f} s  {why}".format(**results[-1]).rstrip(), flush=True)
    results += [{"name": n, "verdict": "skip", "seconds": 0.0, "why": pending[n]} for n in names if n in pending]
    results.sort(key=lambda r: names.index(r["name"]))
    finish(args, [r["verdict"] for r in results], models=results)


if __name__ == "__main__":
    main()
