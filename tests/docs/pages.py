#!/usr/bin/env python3
"""Pages whose commands are run: pages.py GCC2NN [WORD...]

README.md and docs/tutorials/*.md are followed from their text, each in a new folder with a link to examples/ in it, as a reader would; words
choose those whose names contain one. tests/calling/run does the same with docs/calling.md. The blocks of a page are taken in order:

    ```sh               is run by `sh -e`, with gcc2nn and this Python's python3 in PATH. What it exports holds for later blocks.
    ```text             right behind a block that was run: what that prints, to standard output and standard error. `…` stands for
                        anything in a line; a line of nothing else for any number of lines.
    other languages     are to be read, but for those with the first comment below.

A comment right above a block:

    <!-- file: NAME -->         the block is put into that file
    <!-- needs: PROGRAM ... --> it is left out where a program is missing (python3:NAME: a module of Python; c++:NAME: a
                                header; gcc2nn:NAME: what gcc2nn --version says it was built with)
    <!-- status: N -->          it ends with exit status N
    <!-- not run: WHY -->       it is not run

docs/tutorials/README.md must list every page there, and each option that a page of docs/ or README.md gives to gcc2nn, in a block or between
backquotes, must be one of that command; one between backquotes alone, behind such a command in a line, of any. Says what it left out and why, then: N passed, N failed, N skipped.
--write puts what is printed in the place of what does not match."""
import argparse
import difflib
import functools
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BLOCK = re.compile(r"(?P<comments>(?:^<!-- [^\n]* -->\n)*)^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)
TUTORIALS = os.path.join(ROOT, "docs", "tutorials")
COMMENT = re.compile(r"^<!-- (file|needs|status|not run): (.*) -->$", re.M)
LIMIT_S = 300


class Wrong(Exception):
    """What a page says is not so."""


@functools.cache
def features(gcc2nn):
    done = subprocess.run([gcc2nn, "--version", "--json"], capture_output=True, text=True, check=True)
    return {feature["name"] for feature in json.loads(done.stdout)["features"] if feature["built"]}


def missing(what, gcc2nn=None):
    kind, _, part = what.partition(":")
    if kind == "gcc2nn":
        return part not in features(gcc2nn)
    if kind == "c++" and part:
        return subprocess.run(["c++", "-std=c++17", "-fsyntax-only", "-x", "c++", "-"], input=f"#include <{part}>\n", text=True,
                              stderr=subprocess.DEVNULL, check=False).returncode != 0
    return not shutil.which(kind) or (part and not importlib.util.find_spec(part))


def put(folder, name, text):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def shell(gcc2nn, folder, command, status=0):
    """What the command prints, standard error too, in the order in which it does."""
    # The outer make's jobs and flags are not those of the makes below; nor are colours or a language for one reader alone.
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "LC_", "CLICOLOR"))}
    env["PATH"] = os.pathsep.join([os.path.dirname(sys.executable), os.path.dirname(os.path.abspath(gcc2nn)), env["PATH"]])
    done = subprocess.run(["sh", "-e", "-c", command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=env, timeout=LIMIT_S, check=False)
    if done.returncode != status:
        raise Wrong(f"exit status {done.returncode}, not {status}, of:\n{command}{done.stdout}")
    return done.stdout


def pattern(shown):
    """What a block with elisions stands for, as a regular expression."""
    lines = ["(?:.*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", ".*") + "\n" for line in shown.splitlines()]
    return re.compile("".join(lines))


@functools.cache
def options(gcc2nn, command):
    """Those of a command; None: there is no such command."""
    done = subprocess.run([gcc2nn, command, "--help"], capture_output=True, text=True, check=False)
    return frozenset(re.findall(r"^  (?:-\w, )?--([a-z0-9-]+)", done.stdout, re.M)) if done.returncode == 0 else None


def unknown_options(gcc2nn, text):
    """What a page gives to gcc2nn that it does not have."""
    commands = re.findall(r"^  ([a-z-]+) ", subprocess.run([gcc2nn, "--help"], capture_output=True, text=True, check=True).stdout, re.M)
    every = frozenset().union(*(options(gcc2nn, command) for command in commands))
    for line in text.replace("\\\n", " ").splitlines():
        known = None                                            # the options that count here: no gcc2nn was named before
        for span in re.findall(r"`([^`]+)`", line) or [line]:
            for call in re.findall(r"(?<![\w/.-])gcc2nn((?: +(?![|;&>)])\S+)+)", span):
                first = call.split()[0]
                known = options(gcc2nn, first if first in commands else "compile")
                yield from (f"gcc2nn{call}: there is no --{name}" for name in re.findall(r"(?<!\S)--([a-z][a-z0-9-]*)", call) if name not in known)
            option = re.match(r"--([a-z][a-z0-9-]*)", span)
            if option and known is not None and option[1] not in every:
                yield f"no command has --{option[1]}: {line.strip()}"


def not_listed(names):
    with open(os.path.join(TUTORIALS, "README.md"), encoding="utf-8") as f:
        text = f.read()
    return [name for name in names if f"]({name})" not in text]


class Page:
    """A page, and what became of its blocks: `said` (what each command printed, by its text) and `left_out` (what they need)."""

    def __init__(self, path):
        self.path, self.said, self.left_out = path, {}, []
        with open(path, encoding="utf-8") as f:
            self.text = f.read()

    def blocks(self):
        for found in BLOCK.finditer(self.text):
            asked = dict(COMMENT.findall(found["comments"]))
            if found["comments"].count("<!-- ") != len(asked):
                raise Wrong(f"a comment that is not known: {found['comments']}")
            yield found, found["language"], asked, found["text"]

    def follow(self, gcc2nn, folder, write=False):
        """Does what the page says, in the folder; with `write` the page is made to say what happened."""
        exports, printed, end, edits = "", None, None, []
        for found, language, asked, text in self.blocks():
            # Only blanks between a command and what it prints.
            adjacent = end is not None and not self.text[end:found.start()].strip()
            end = found.end()
            if "file" in asked:
                put(folder, asked["file"], text)
            elif language == "text" and adjacent:
                if printed is not None and not pattern(text).fullmatch(printed):
                    edits.append((found.start("text"), found.end("text"), printed))
                    if not write:
                        diff = difflib.unified_diff(text.splitlines(), printed.splitlines(), self.path, "what is printed", "", "", 99, "")
                        raise Wrong("\n".join(diff))
            elif language == "sh" and "not run" not in asked:
                lacks = [p for p in asked.get("needs", "").split() if missing(p, gcc2nn)]
                self.left_out += lacks
                printed = None if lacks else shell(gcc2nn, folder, exports + text, int(asked.get("status", 0)))
                if not lacks:
                    self.said[text] = printed
                    exports += "".join(line + "\n" for line in text.splitlines() if line.startswith("export "))
                continue
            printed = None
        for begin, last, new in reversed(edits):
            self.text = self.text[:begin] + new + self.text[last:]
        if edits:
            with open(self.path, "w", encoding="utf-8") as f:
                f.write(self.text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="put what is printed into the pages where they say something else")
    parser.add_argument("gcc2nn")
    parser.add_argument("words", nargs="*")
    args = parser.parse_args()
    passed = failed = skipped = 0
    tutorials = sorted(os.listdir(TUTORIALS))
    for path in [os.path.join(ROOT, "README.md")] + [os.path.join(TUTORIALS, name) for name in tutorials]:
        name = os.path.relpath(path, ROOT)
        if args.words and not any(word in name for word in args.words):
            continue
        page = Page(path)
        with tempfile.TemporaryDirectory(prefix="page-") as folder:
            os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
            try:
                page.follow(args.gcc2nn, folder, args.write)
            except (Wrong, subprocess.TimeoutExpired) as e:
                failed += 1
                print(f"{name}: FAILED: {e}")
                continue
        if page.left_out:
            print(f"{name}: skipped what needs {', '.join(sorted(set(page.left_out)))}")
            skipped += 1
        else:
            passed += 1
    for path in [os.path.join(ROOT, "README.md")] + sorted(glob.glob(os.path.join(ROOT, "docs", "**", "*.md"), recursive=True)):
        name = os.path.relpath(path, ROOT)
        if args.words and not any(word in name for word in args.words):
            continue
        with open(path, encoding="utf-8") as f:
            wrong = list(unknown_options(args.gcc2nn, f.read()))
        failed += bool(wrong)
        for what in wrong:
            print(f"{name}: FAILED: {what}")
    for name in [] if args.words else not_listed(set(tutorials) - {"README.md"}):
        failed += 1
        print(f"FAILED: docs/tutorials/README.md does not list {name}")
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
