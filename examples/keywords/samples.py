#!/usr/bin/env python3
"""samples.py SET.npz FOLDER: the samples of calib.npz or eval.npz as gcc2nn takes them (numpy).

A folder for each, with input_0.npy, the features that keywords.onnx takes, and label.txt, the number of its class."""
import os
import sys

import numpy as np


def load(path):
    """[n, 1, 49, 20] features, [n] labels"""
    data = np.load(path)
    return ((data["codes"].astype(np.float32) - data["zero"]) * data["step"])[:, None], data["labels"]


def main(path, folder):
    for k, (x, label) in enumerate(zip(*load(path))):
        sample = os.path.join(folder, f"{k:04}")
        os.makedirs(sample, exist_ok=True)
        np.save(os.path.join(sample, "input_0.npy"), x[None])
        with open(os.path.join(sample, "label.txt"), "w", encoding="ascii") as f:
            f.write(f"{label}\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
