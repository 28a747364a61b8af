#!/usr/bin/env python3
"""prepare.py [--model] NAME...    makes a test model and its data sets ready, prints where they are:

    model PATH
    data PATH        one line for each data set (a folder of input_N.pb, output_N.pb); none with --model

What is stored is used in place. The rest is made once with the scripts of the models' folder and kept in
.cache/models/NAME: skeletons are filled, 'recipe only' models quantised from their source model, and data sets
with tensors too big to be stored computed by onnxruntime. What is made appears under its name only when it is
complete, and is made again when what it was made from changes. Needs tests/requirements.txt.
"""
import contextlib
import fcntl
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

from modelset import CACHE, MODELS, absent, index


def script(name):
    return os.path.join(MODELS, "scripts", name)


def run(*command):
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, errors="replace")
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[-1]
        raise SystemExit(f"prepare.py: {os.path.basename(command[0])} {' '.join(command[1:])}: {last}")


@contextlib.contextmanager
def made_once(target, ingredients):
    """Yields a path to write `target` (file or folder) to, or None if it is there and made from the same
    ingredients (files by content, other strings as they are). The lock keeps two runs off the same target."""
    digest = hashlib.sha256()
    for item in ingredients:
        if os.path.isfile(item):
            with open(item, "rb") as f:
                digest.update(hashlib.file_digest(f, "sha256").digest())
        else:
            digest.update(item.encode())
    key, key_file = digest.hexdigest(), target + ".key"
    os.makedirs(os.path.dirname(target), exist_ok=True)
    with open(target + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(target) and os.path.exists(key_file):
            with open(key_file, encoding="utf-8") as f:
                if f.read() == key:
                    yield None
                    return
        with tempfile.TemporaryDirectory(dir=os.path.dirname(target), prefix="making-") as folder:
            path = os.path.join(folder, os.path.basename(target))
            yield path
            with contextlib.suppress(FileNotFoundError):
                os.remove(key_file)     # first, so that an old key never vouches for the new target
            if os.path.isdir(target):
                shutil.rmtree(target)
            os.replace(path, target)
            with open(key_file, "w", encoding="utf-8") as f:
                f.write(key)


def own_folder(row):
    """Where the model's inputs.json and test data lie."""
    if row["file"] == "recipe only":
        return os.path.join(MODELS, "quant", row["name"])
    return os.path.join(MODELS, os.path.dirname(row["file"]))


def model(row, rows):
    """The path of the model, which is made if it is not stored."""
    target = os.path.join(CACHE, row["name"], "model.onnx")
    stored = os.path.join(MODELS, row["file"])
    if row["file"] == "recipe only":
        # source column: "resnet50 (skeleton, filled) -> quantize.py qdq --pc --n 4"
        recipe = re.fullmatch(r"(\S+) \(.*\) -> quantize\.py (.+)", row["source"])
        if not recipe or recipe[1] not in rows:
            raise SystemExit(f"prepare.py: {row['name']}: cannot read the recipe '{row['source']}'")
        base, (mode, *options) = rows[recipe[1]], recipe[2].split()
        base_model = model(base, rows)
        calibration = os.path.join(own_folder(base), "inputs.json")
        with made_once(target, [base_model, calibration, script("quantize.py"), row["source"]]) as path:
            if path:
                run(script("quantize.py"), mode, base_model, path, "--inputs", calibration, *options)
        return target
    if stored.endswith(".skel.onnx"):
        with made_once(target, [stored, script("fill.py")]) as path:
            if path:
                run(script("fill.py"), stored, path)
        return target
    return stored


def complete(folder, recipe):
    """Whether every tensor that the recipe names is stored."""
    names = [f"input_{i}" for i in range(len(recipe["inputs"]))] + [f"output_{i}" for i in range(len(recipe["outputs"]))]
    return all(glob.glob(os.path.join(glob.escape(folder), name + ".*")) for name in names)


def data_sets(row, model_path):
    own, sets = own_folder(row), []
    recipes = [os.path.join(own, name) for name in ("inputs.json", "inputs_1.json")]
    for k, recipe_path in enumerate(recipes):
        stored = os.path.join(own, f"test_data_set_{k}")
        if not os.path.exists(recipe_path):
            sets += [stored] if os.path.isdir(stored) else []
            continue
        with open(recipe_path, encoding="utf-8") as f:
            recipe = json.load(f)
        if complete(stored, recipe):
            sets.append(stored)
            continue
        target = os.path.join(CACHE, row["name"], f"test_data_set_{k}")
        with made_once(target, [model_path, recipe_path, script("reference.py")]) as path:
            if path:
                run(script("reference.py"), model_path, recipe_path, path)
        sets.append(target)
    return sets


def main():
    names = [a for a in sys.argv[1:] if a != "--model"]
    if not names or any(n.startswith("-") for n in names):
        raise SystemExit(__doc__)
    if absent():
        raise SystemExit(f"prepare.py: {absent()}")
    rows = index()
    for name in names:
        if name not in rows:
            raise SystemExit(f"prepare.py: no model {name} in INDEX.csv")
        path = model(rows[name], rows)
        print("model", path)
        for folder in data_sets(rows[name], path) if "--model" not in sys.argv[1:] else []:
            print("data", folder)


if __name__ == "__main__":
    main()
