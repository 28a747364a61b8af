#!/usr/bin/env python3
"""coverage.py RESULTS...

Writes docs/coverage.md: what exporters write and gcc2nn compiles, from what the other scripts of this folder left with
--results. A row of which the results have models is made anew, of all models that they have; the page's other rows stay.
"""
import collections
import json
import os
import sys

from judge import ROOT, VERDICTS

PAGE = os.path.join(ROOT, "docs", "coverage.md")
COLUMNS = ("right", "C", *VERDICTS[1:])
HEAD = """# Exports

What exporters write, and what gcc2nn makes of it. Written by `tests/exports/coverage.py` from the results of the scripts beside
it, whose heads say how to run them; do not edit. A row stays as the last run of its models left it. Each model is made by the
exporter itself, small and with random weights (those of scikit-learn and its like are trained), compiled, and compared with ONNX
Runtime; *open* models are compiled once for all sizes and run at two.

- *right*: within 1e-4 of the greatest magnitude of each output, or no further off than ONNX Runtime is from itself
  (`tests/exports/judge.py`).
- *C*: of these, how many ran as generated C; the others ran in the interpreter, which gives the same bits
  ([numbers](numbers.md), N2).
- *refused*: gcc2nn says why. *wrong*: anything else.
- *no export*: the exporter or ONNX Runtime does not take the model, which says nothing about gcc2nn.
"""
# The tables of single models that follow those of the scripts: title, heads of the columns.
LISTS = {"Not right": ("model", "verdict", "reason"),
         "Right within what ONNX Runtime is from itself": ("model", "first output beyond 1e-4")}


def group_of(name):
    """The row that counts a case: PyTorch's exporters have one for each library."""
    group, model = name.split("/", 1)
    return f"{group} {model.split('-')[0]}" if group.startswith(("ts-", "dynamo-")) else group


def cells(line):
    return [cell.strip() for cell in line.strip().strip("|").replace("\\|", "\0").split("|")]


def read_page(path):
    """({script: (packages, {row: its counts})}, {title of a list: its rows})"""
    scripts, lists, title, body = {}, {t: [] for t in LISTS}, None, False
    with open(path, encoding="utf-8") as f:
        for line in f:
            if line.startswith("## "):
                title, body = line[3:].strip(), False
                if title not in LISTS:
                    scripts[title] = ([], {})
            elif line.startswith("|---"):
                body = True
            elif line.startswith("|") and body and title in LISTS:
                lists[title].append([cell.replace("\0", "|") for cell in cells(line)])
            elif line.startswith("|") and body:
                row, *counts = cells(line)
                scripts[title][1][row] = dict(zip(COLUMNS, map(int, counts)))
            elif title in scripts and line.strip() and not line.startswith("|"):
                scripts[title][0].extend(line.strip().split(", "))
    return scripts, lists


def add(scripts, lists, results):
    """Puts the rows that the results have in place of the page's."""
    rows = collections.defaultdict(collections.Counter)
    for name, case in results["cases"].items():
        rows[group_of(name)].update((case["verdict"], *(["C"] if case["verdict"] == "right" and case["by"] == "C" else [])))
    for listed in lists.values():
        listed[:] = [row for row in listed if group_of(row[0]) not in rows]
    for name, case in results["cases"].items():
        if case["verdict"] in ("refused", "wrong"):
            lists["Not right"].append([name, case["verdict"], case["why"][:200]])
        elif case["verdict"] == "right" and case["why"]:
            lists["Right within what ONNX Runtime is from itself"].append([name, case["why"][:200]])
    packages, old = scripts.setdefault(results["script"], ([], {}))
    if set(old) <= set(rows):
        packages.clear()
    packages.extend(p for p in (f"{k} {v}" for k, v in results["packages"].items()) if p not in packages)
    old.update(rows)


def table(head, rows, align="---"):
    lines = ["| " + " | ".join(head) + " |", "|---|" + f"{align}|" * (len(head) - 1)]
    lines += ["| " + " | ".join(str(c).replace("|", "\\|").replace("\n", " ") for c in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def main():
    scripts, lists = read_page(PAGE)
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as f:
            add(scripts, lists, json.load(f))
    total = collections.Counter()
    for _, rows in scripts.values():
        for counts in rows.values():
            total.update(counts)
    parts = [HEAD, f"Of {sum(total[v] for v in ('right', 'refused', 'wrong'))} models, {total['right']} are right "
             f"({total['C']} as C), {total['refused']} refused, {total['wrong']} wrong.\n"]
    for script, (packages, rows) in scripts.items():
        parts += [f"## {script}\n\n" + ", ".join(packages) + "\n",
                  table(("models", *COLUMNS), ([row, *(counts.get(c, 0) for c in COLUMNS)] for row, counts in sorted(rows.items())), "--:")]
    parts += [f"## {title}\n\n" + table(LISTS[title], rows) for title, rows in lists.items() if rows]
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write("\n".join(parts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
