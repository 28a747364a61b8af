#!/usr/bin/env python3
"""hashes.py [--gcc2nn PROGRAM] [--jobs N] [--targets T,T] (--write FILE | --check FILE) [MODEL ..]

Compiles the models of modelset.py for several targets and hashes the sources that are written, for changes that must
leave every byte of them alone. --write keeps the hashes in FILE, one line a model and target; --check compares with
them. Without names: all models. Last line: N passed, N failed, N skipped.
"""
import argparse
import concurrent.futures
import hashlib
import os
import subprocess
import sys
import tempfile

import modelset

TARGETS = "x86-avx512,x86-avx2,aarch64,c99,cortex-m4,cuda"
SOURCES = (".c", ".h", ".cu", ".S")


def digest(folder):
    h = hashlib.sha256()
    for where, subfolders, names in os.walk(folder):
        subfolders.sort()
        for name in sorted(names):
            if name.endswith(SOURCES) and not name.endswith("_weights.c"):
                h.update(name.encode())
                with open(os.path.join(where, name), "rb") as f:
                    h.update(f.read())
    return h.hexdigest()[:16]


def one(program, model, target):
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run([program, model, f"--target={target}", "--name=m", "--weights=file", "-o",
                               os.path.join(folder, "out")], capture_output=True, text=True, errors="replace", check=False)
        return digest(os.path.join(folder, "out")) if done.returncode == 0 else f"exit-{done.returncode}"


def hashes(args, name):
    path, why = modelset.prepared(name)
    return {} if why else {(name, t): one(args.gcc2nn, path, t) for t in args.targets.split(",")}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--gcc2nn", default=os.path.join(modelset.ROOT, "builddir", "gcc2nn"))
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--targets", default=TARGETS)
    p.add_argument("--write")
    p.add_argument("--check")
    p.add_argument("models", nargs="*")
    args = p.parse_args()
    if modelset.absent():
        print(f"SKIPPED {modelset.absent()}\n0 passed, 0 failed, 1 skipped")
        return 77
    known = {}
    if args.check:
        with open(args.check, encoding="utf-8") as f:
            known = {tuple(line.split()[:2]): line.split()[2] for line in f}
    names = args.models or list(modelset.index())
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        found = {}
        for name, more in zip(names, pool.map(lambda n: hashes(args, n), names)):
            found.update(more)
            for (_, target), h in more.items():
                if args.check and known.get((name, target)) != h:
                    print(f"{name} {target}: {known.get((name, target))} before, {h} now", flush=True)
    if args.write:
        with open(args.write, "w", encoding="utf-8") as f:
            f.writelines(f"{n} {t} {h}\n" for (n, t), h in found.items())
    same = sum(known.get(k) == h for k, h in found.items()) if args.check else len(found)
    print(f"{same} passed, {len(found) - same} failed, {sum(not any(k[0] == n for k in found) for n in names)} skipped")
    return same != len(found)


if __name__ == "__main__":
    sys.exit(main())
