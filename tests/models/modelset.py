"""The folder of test models (its README.md describes it): where it is, what its index says, a model made ready; and how
tests over it end."""
import argparse
import csv
import importlib.util
import json
import os
import subprocess
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
MODELS = os.path.abspath(os.environ.get("GCC2NN_MODELS") or os.path.join(ROOT, "..", "shared", "models"))
CACHE = os.path.join(ROOT, ".cache", "models")


def absent():
    """Why there are no models, or an empty string."""
    if os.path.isfile(os.path.join(MODELS, "INDEX.csv")):
        return ""
    where = "GCC2NN_MODELS" if os.environ.get("GCC2NN_MODELS") else "../shared/models; set GCC2NN_MODELS"
    return f"no INDEX.csv in the folder of test models ({where})"


def index():
    """{name: row of INDEX.csv}, in its order."""
    with open(os.path.join(MODELS, "INDEX.csv"), encoding="utf-8", newline="") as f:
        return {row["name"]: row for row in csv.DictReader(f)}


def places(name, *options):
    """({kind: [path ..]}, "") of what prepare.py has made ready, or (None, why it cannot)."""
    # A process of its own: filling weights takes gigabytes, which go back this way.
    done = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "models", "prepare.py"), *options, name],
                          capture_output=True, text=True, errors="replace")
    if done.returncode:
        return None, "not prepared: " + (done.stderr.strip() or "no message").splitlines()[-1][:100]
    found = {}
    for line in done.stdout.splitlines():
        kind, path = line.split(" ", 1)
        found.setdefault(kind, []).append(path)
    return found, ""


def prepared(name):
    """(path of the model, "") without its data, or (None, why it cannot be made ready)."""
    found, why = places(name, "--model")
    return (None, why) if why else (found["model"][0], "")


def arguments(doc):
    """A parser of what all tests over models take."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write the results there")
    parser.add_argument("--gcc2nn", type=os.path.abspath, default=os.path.join(ROOT, "builddir", "gcc2nn"))
    return parser


def missing(args, *modules):
    """Why no model can be tested, or an empty string."""
    if absent():
        return absent()
    if not os.access(args.gcc2nn, os.X_OK):
        return f"{os.path.relpath(args.gcc2nn)} is not built"
    lacks = [m for m in modules if not importlib.util.find_spec(m)]
    return f"no module {lacks[0]} (tests/requirements.txt; ./dev setup)" if lacks else ""


def finish(args, verdicts, skipped="", **results):
    """Ends the process of a test whose verdicts, one a model, are ok, FAIL, error or skip. skipped: why nothing was looked at,
    which is said and counted: a machine without models must not look like a tested one. --json gets the counts and `results`."""
    summary = {"passed": verdicts.count("ok"), "failed": verdicts.count("FAIL") + verdicts.count("error"),
               "skipped": verdicts.count("skip") + bool(skipped)}
    if args.json:
        with open(args.json, "w", encoding="utf-8") as f:
            json.dump({"summary": summary, "skipped_all": skipped, **results}, f, indent=1)
            f.write("\n")
    if skipped:
        print(f"skipped: {skipped}")
    print("{passed} passed, {failed} failed, {skipped} skipped".format(**summary))
    sys.exit(1 if summary["failed"] else 0 if summary["passed"] else 77)


def counted(path):
    """{(model, ..): how many} of a list of columns between tabs, the last of which is the number."""
    with open(path, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f if not line.startswith("#")]
    return {tuple(row[:-1]): int(row[-1]) for row in rows}


def finish_counted(args, path, columns, names, there, found, text):
    """Ends a test that counts what falls short, found = {(model, ..): how many}, of the models `names`, of which `there` were
    looked at: a list that may only shrink says how many there are, and each that it does not say so is printed as
    text(key, how many, how many are listed). args.write writes these models' part of the list instead."""
    others = {key: n for key, n in counted(path).items() if key[0] not in there}
    if args.write:
        with open(path, "w", encoding="utf-8") as f:
            f.write("# " + "\t".join(columns) + "\n")
            f.writelines("\t".join(key) + f"\t{n}\n" for key, n in sorted({**others, **found}.items()))
        return
    listed = {key: n for key, n in counted(path).items() if key not in others}
    wrong = [key for key in sorted(listed.keys() | found.keys()) if listed.get(key, 0) != found.get(key, 0)]
    for key in wrong:
        print(text(key, found.get(key, 0), listed.get(key, 0)))
    bad = {key[0] for key in wrong}
    finish(args, ["skip" if name not in there else "FAIL" if name in bad else "ok" for name in names])
