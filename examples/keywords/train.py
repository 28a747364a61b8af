#!/usr/bin/env python3
"""Trains a small network to detect ten spoken words, and writes it as ONNX with the data that it is judged by.

    speech.py speech.npz && train.py speech.npz       some minutes each, on one core; see requirements.txt

Writes, beside this file:
    frame.onnx      512 samples of sound (32 ms at 16 kHz, -1..1) -> 20 features: logarithms of energies in mel bands
    keywords.onnx   the features of 49 frames, 20 ms apart -> probabilities of 12 classes (LABELS)
    calib.npz       features as codes of a byte and labels: of the training set, to choose ranges by
    eval.npz        the same of speakers, noises and other words that the network was not trained on
    words.wav       three keywords and one other word in noise, by speakers it was not trained on: for the program
"""
import os
import sys
import time
import wave

import numpy as np
import torch
from onnx import TensorProto, checker, helper, numpy_helper, save

from speech import RATE, WORDS

HERE = os.path.dirname(os.path.abspath(__file__))
LABELS = ["silence", "unknown"] + WORDS
FRAME, HOP, FRAMES, MELS = 512, 320, 49, 20
WINDOW = FRAME + (FRAMES - 1) * HOP             # samples
FLOOR, MIDDLE, SPREAD = 1e-4, -2.0, 4.0         # features: (log(energy + FLOOR) - MIDDLE) / SPREAD
CODE_STEP, CODE_ZERO = 1 / 48, 90               # of features in .npz: (code - CODE_ZERO) * CODE_STEP
EPOCHS, BATCH, RATE_OF_LEARNING = 36, 64, 3e-3
CALIBRATION = 120


# ---- features
def mel_matrix():
    """[FRAME / 2 + 1, MELS]: triangles, equally wide on the mel scale, between 60 and 7600 Hz."""
    def mel(hertz):
        return 2595 * np.log10(1 + hertz / 700)
    edges = np.linspace(mel(60), mel(7600), MELS + 2)
    at = mel(np.arange(FRAME // 2 + 1) * RATE / FRAME)[:, None]
    up, down = (at - edges[:-2]) / (edges[1:-1] - edges[:-2]), (edges[2:] - at) / (edges[2:] - edges[1:-1])
    return np.maximum(0, np.minimum(up, down)).astype(np.float32)


HANN = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)).astype(np.float32)
MEL = mel_matrix()


def features(sounds):
    """[n, WINDOW] -> [n, 1, FRAMES, MELS]"""
    frames = np.lib.stride_tricks.sliding_window_view(sounds, FRAME, 1)[:, ::HOP]
    spectrum = np.fft.rfft(frames * HANN)
    energy = (spectrum.real ** 2 + spectrum.imag ** 2).astype(np.float32) @ MEL
    return ((np.log(energy + FLOOR) - MIDDLE) / SPREAD).astype(np.float32)[:, None]


def write_frame_model(path):
    """What features() does to one frame."""
    values = {"hann": HANN, "mel": MEL, "floor": np.float32(FLOOR), "middle": np.float32(MIDDLE),
              "spread": np.float32(SPREAD), "last": np.array([2], np.int64)}
    nodes = [
        helper.make_node("Mul", ["frame", "hann"], ["windowed"], "window"),
        helper.make_node("Unsqueeze", ["windowed", "last"], ["real"], "real"),
        helper.make_node("DFT", ["real"], ["spectrum"], "spectrum", axis=1, onesided=1),
        helper.make_node("ReduceSumSquare", ["spectrum"], ["power"], "power", axes=[2], keepdims=0),
        helper.make_node("MatMul", ["power", "mel"], ["energy"], "bands"),
        helper.make_node("Add", ["energy", "floor"], ["above"], "floor"),
        helper.make_node("Log", ["above"], ["log"], "log"),
        helper.make_node("Sub", ["log", "middle"], ["centred"], "middle"),
        helper.make_node("Div", ["centred", "spread"], ["features"], "spread")]
    graph = helper.make_graph(
        nodes, "frame", [helper.make_tensor_value_info("frame", TensorProto.FLOAT, [1, FRAME])],
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [1, MELS])],
        [numpy_helper.from_array(np.asarray(v), k) for k, v in values.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], producer_name="examples/keywords")
    model.ir_version = 8
    checker.check_model(model)
    save(model, path)


# ---- sounds
def varied(word, random):
    """As other people might say it: a longer or shorter throat, brighter or duller."""
    n = round(len(word) * random.uniform(0.8, 1.25))
    word = np.interp(np.linspace(0, len(word) - 1, n), np.arange(len(word)), word)
    tilt = random.uniform(-0.5, 0.5)
    word = word - tilt * np.concatenate([[0], word[:-1]])
    return (word / np.abs(word).max() / 2).astype(np.float32)


class Sounds:
    """Utterances of one part of speech.npz, and what they are mixed with; varied: each time as another speaker's."""

    def __init__(self, data, part, random, varied=False):
        self.varied = varied
        self.words, self.engines = data[f"{part}_words"], data[f"{part}_engines"]
        ends = np.cumsum(data[f"{part}_lengths"])
        self.v = np.split(data[f"{part}_sounds"], ends[:-1])
        self.others = np.flatnonzero(~np.isin(self.words, WORDS))
        self.random = random
        self.noises = [self.noise() for _ in range(60)]

    def noise(self):
        """Three seconds: noise whose power falls with frequency as it likes, a hum, or many who speak; the mean square is 1."""
        random, n = self.random, 3 * RATE
        kind = random.integers(4)
        if kind < 2:
            spectrum = random.standard_normal((2, n // 2 + 1)) * np.arange(1, n // 2 + 2) ** -random.uniform(0, 1)
            x = np.fft.irfft(spectrum[0] + 1j * spectrum[1], n)
        elif kind == 2:
            hertz = random.uniform(40, 400)
            x = sum(np.sin(2 * np.pi * hertz * k * np.arange(n) / RATE + random.uniform(0, 6)) / k for k in range(1, 8))
            x = x + 0.1 * random.standard_normal(n)
        else:
            x = np.zeros(n)
            for _ in range(30):
                word = self.v[random.choice(self.others)][:n]
                at = random.integers(n - len(word) + 1)
                x[at:at + len(word)] += word * random.uniform(0.1, 1)
        return (x / np.sqrt(np.mean(x ** 2))).astype(np.float32)

    def background(self):
        noise = self.noises[self.random.integers(len(self.noises))]
        at = self.random.integers(len(noise) - WINDOW)
        return noise[at:at + WINDOW]

    def silence(self):
        return self.background() * 10 ** self.random.uniform(-6, -1)

    def spoken(self, k, seen=1.0):
        """Utterance k somewhere in a window of noise; `seen`: which share of it lies inside."""
        random, word = self.random, self.v[k].astype(np.float32) / 32768
        if self.varied:
            word = varied(word, random)
        word = word[:WINDOW]
        out, n = np.zeros(WINDOW + 2 * len(word), np.float32), len(word)
        at = n + random.integers(WINDOW - n + 1)
        if seen < 1:
            at = round(n * seen) if random.integers(2) else WINDOW + n - round(n * seen)
        out[at:at + n] = word * 10 ** random.uniform(-1.2, 0.2)
        loud = np.sqrt(np.mean(out[at:at + n] ** 2))
        return out[n:n + WINDOW] + self.background() * loud * 10 ** -random.uniform(0.4, 2.5)

    def batch(self, picks):
        """Sounds and labels of picks: an utterance; None, silence; (utterance,), a piece of one, which is unknown."""
        sounds, labels = [], []
        for k in picks:
            whole = not isinstance(k, tuple)
            sounds.append(self.silence() if k is None else self.spoken(k) if whole else
                          self.spoken(k[0], self.random.uniform(0.05, 0.35)))
            word = None if k is None else str(self.words[k]) if whole else ""
            labels.append(0 if word is None else LABELS.index(word) if word in WORDS else 1)
        return np.clip(np.array(sounds), -1, 1), np.array(labels)

    def epoch(self):
        """Keywords once, those of few voices more often; half as many others as one might expect, pieces, silence."""
        keywords = np.flatnonzero(np.isin(self.words, WORDS))
        rare = [k for k in keywords if self.engines[k] != "espeak-ng"]
        picks = list(keywords) + 4 * rare + list(self.random.choice(self.others, len(keywords) // 5))
        picks += [(k,) for k in self.random.choice(keywords, len(keywords) // 20)] + [None] * (len(keywords) // 12)
        return [picks[k] for k in self.random.permutation(len(picks))]


# ---- the network
def network():
    """A convolution, four depthwise separable ones, the mean, a linear layer; after Zhang et al., "Hello Edge", 2017."""
    from torch import nn

    def normal(*layers):
        return [m for layer in layers for m in (layer, nn.BatchNorm2d(64), nn.ReLU())]
    layers = normal(nn.Conv2d(1, 64, (10, 4), (2, 2), (4, 1), bias=False))
    for k in range(4):
        layers += normal(nn.Conv2d(64, 64, 3, (2, 1) if k == 0 else 1, 1, groups=64, bias=False),
                         nn.Conv2d(64, 64, 1, bias=False))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(64, len(LABELS)))


def train(sounds):
    torch.manual_seed(1)
    torch.set_num_threads(1)
    net, start = network(), time.time()
    loss = torch.nn.CrossEntropyLoss(label_smoothing=0.05)
    steps = EPOCHS * (len(sounds.epoch()) // BATCH + 1)
    learner = torch.optim.AdamW(net.parameters(), RATE_OF_LEARNING, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(learner, RATE_OF_LEARNING, steps)
    for epoch in range(EPOCHS):
        picks, right, total = sounds.epoch(), 0, 0.0
        for at in range(0, len(picks), BATCH):
            x, y = sounds.batch(picks[at:at + BATCH])
            scores, y = net(torch.from_numpy(features(x))), torch.from_numpy(y)
            value = loss(scores, y)
            learner.zero_grad()
            value.backward()
            learner.step()
            schedule.step()
            right, total = right + int((scores.argmax(1) == y).sum()), total + float(value) * len(y)
        print(f"epoch {epoch + 1}: loss {total / len(picks):.3f}, {100 * right / len(picks):.1f} % right, "
              f"{time.time() - start:.0f} s", flush=True)
    return net.eval()


# ---- what is written
def coded(x):
    return np.clip(np.rint(x / CODE_STEP) + CODE_ZERO, 0, 255).astype(np.uint8)


def write_set(path, x, y):
    np.savez_compressed(path, codes=coded(x)[:, 0], labels=y.astype(np.uint8), step=np.float32(CODE_STEP),
                        zero=np.float32(CODE_ZERO))


def write_words(path, sounds):
    """Says "yes", "stop", another word and "left", one in a second and a quarter, by three speakers."""
    out = sounds.noises[0][:RATE // 2] * 1e-3
    for engine, word in ("flite", "yes"), ("espeak-ng", "stop"), ("festival", "kitchen"), ("flite", "left"):
        k = np.flatnonzero((sounds.words == word) & (sounds.engines == engine))[0]
        x = sounds.noises[1][:RATE * 5 // 4] * 1e-3
        x[:len(sounds.v[k])] += sounds.v[k] / 32768
        out = np.concatenate([out, x])
    with wave.open(path, "wb") as f:
        f.setnchannels(1)
        f.setsampwidth(2)
        f.setframerate(RATE)
        f.writeframes((out * 32767).astype("<i2").tobytes())


def main(path):
    data = np.load(path)
    train_sounds = Sounds(data, "train", np.random.default_rng(2), varied=True)
    eval_sounds = Sounds(data, "eval", np.random.default_rng(3))
    net = train(train_sounds)
    silent = len(eval_sounds.v) // 12
    x, y = eval_sounds.batch(list(range(len(eval_sounds.v))) + [None] * silent)
    x = (coded(features(x)).astype(np.float32) - CODE_ZERO) * np.float32(CODE_STEP)
    with torch.no_grad():
        right = net(torch.from_numpy(x)).argmax(1).numpy() == y
    names = np.concatenate([eval_sounds.engines, ["silence"] * silent])
    print(f"{right.sum()} of {len(y)} windows of others are right, {100 * right.mean():.1f} %; "
          f"{sum(w.numel() for w in net.parameters())} parameters; by engine: " +
          ", ".join(f"{e} {100 * right[names == e].mean():.0f} %" for e in sorted(set(names))))
    here = {name: os.path.join(HERE, name) for name in ("frame.onnx", "keywords.onnx", "calib.npz", "eval.npz", "words.wav")}
    write_frame_model(here["frame.onnx"])
    torch.onnx.export(torch.nn.Sequential(net, torch.nn.Softmax(1)), torch.zeros(1, 1, FRAMES, MELS), here["keywords.onnx"],
                      input_names=["features"], output_names=["probabilities"], opset_version=17, dynamo=False)
    write_set(here["eval.npz"], x, y)
    x, y = train_sounds.batch(train_sounds.epoch()[:CALIBRATION])
    write_set(here["calib.npz"], features(x), y)
    write_words(here["words.wav"], eval_sounds)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
