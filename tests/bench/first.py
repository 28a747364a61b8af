#!/usr/bin/env python3
"""From nothing to the first result: seconds, and the memory that it takes, of a compiled model or of a peer.

    first.py RUNTIME MODEL FOLDER INPUTS

RUNTIME is ours or a peer of models.py; FOLDER is where models.py --keep built the model, INPUTS an .npz. Starts a process
of its own for each, since what one has loaded the next would find. Libraries are loaded before the clock starts, the
compiled model is not. Prints {"ms": ..., "bytes": ...}: how much more of the process was in memory at most.
"""
import argparse
import json
import re
import sys
import time

import numpy as np

import models


def resident(what):
    """Bytes: VmRSS, VmHWM."""
    with open("/proc/self/status", encoding="ascii") as f:
        return 1024 * int(re.search(rf"{what}:\s+(\d+)", f.read())[1])


def main():
    runtime, path, folder, data = sys.argv[1:]
    inputs = dict(np.load(data))
    if runtime.startswith("openvino"):
        import openvino             # noqa: F401: is no part of the start
    with open("/proc/self/clear_refs", "w", encoding="ascii") as f:
        f.write("5")                # the most so far is what there is now
    before, start = resident("VmRSS"), time.perf_counter()
    if runtime == "ours":
        one = models.Compiled(path, {}, argparse.Namespace(reuse=True), folder)
        one.open(inputs)
    else:
        one = models.PEERS[runtime](path, inputs, 1)
    one.run()
    took = time.perf_counter() - start
    json.dump({"ms": 1e3 * took, "bytes": resident("VmHWM") - before}, sys.stdout)


if __name__ == "__main__":
    main()
