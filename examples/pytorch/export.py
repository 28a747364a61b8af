#!/usr/bin/env python3
"""export.py [FOLDER]: a network of PyTorch as ONNX, with what PyTorch itself computes: encoder.onnx, encoder.npz

A small encoder of sequences, such as a sensor's: a convolution, a layer of attention with a residual, and a classifier. Its batch and
length are open. The archive holds an input and the output for it by their names in the model, for `gcc2nn verify --data`.
Made with torch 2.15 and onnxscript; docs/tutorials/pytorch.md goes on from there."""
import os
import sys

import numpy as np
import onnx
import torch
from torch import nn

FOLDER = sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.abspath(__file__))
CHANNELS, WIDTH, CLASSES = 6, 24, 5


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(CHANNELS, WIDTH, 5, padding=2)
        self.norm = nn.LayerNorm(WIDTH)
        self.attention = nn.MultiheadAttention(WIDTH, 4, batch_first=True)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, samples):
        x = nn.functional.gelu(self.conv(samples)).transpose(1, 2)
        y = self.norm(x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return self.head(x.mean(1)).softmax(-1)


torch.manual_seed(1)
encoder = Encoder().eval()
x = torch.randn(3, CHANNELS, 50)
with torch.no_grad():
    classes = encoder(x)
model = torch.onnx.export(encoder, (x,), input_names=["samples"], output_names=["classes"],
                          dynamic_shapes={"samples": {0: "batch", 2: "length"}}).model_proto
for part in (model, model.graph, *model.graph.node, *model.graph.value_info, *model.graph.input, *model.graph.output):
    del part.metadata_props[:]    # where in which file each node came from: longer than all else, and of this machine
onnx.save(model, os.path.join(FOLDER, "encoder.onnx"))
np.savez(os.path.join(FOLDER, "encoder.npz"), samples=x.numpy(), classes=classes.numpy())
