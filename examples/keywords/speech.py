#!/usr/bin/env python3
"""Speech for train.py: words spoken by the synthesisers of Debian 12 (espeak-ng, flite, festival), 16 kHz, in one .npz.

    speech.py OUT.npz        some minutes; packages: espeak-ng flite festival festvox-kallpc16k festvox-kdlpc16k

Who speaks in the evaluation set does not speak in the training set, and words that are no keywords differ, too.
"""
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import wave

import numpy as np

RATE = 16000
WORDS = "yes no up down left right on off stop go".split()
# Words that are not to be detected, some of them near to those that are.
OTHERS = {
    "train": """house seven water table green cat bird happy three nine visual forward follow learn marvin sheila bed tree
        zero window paper yellow music river mother sister doctor number planet garden summer winter orange purple yesterday
        note not now know top slow light write lift step stock often open under offer cup town done dawn goat gold guess yet
        rest less best""".split(),
    "eval": """dog eight six wow backward five four one two morning father brother bottle kitchen chair mountain question
        nose nor snow tone drop shop lest rice white laughed upper bus""".split()}
ACCENTS = "en-us en-gb en-gb-x-rp en-gb-scotland en-gb-x-gbclan en-gb-x-gbcwmd en-029 en-us-nyc".split()
VARIANTS = {
    "train": """Alex Alicia Andrea Andy Annie antonio aunty belinda benjamin boris caleb david Denis Diogo edward Gene
        gustave Henrique Hugo iven iven2 Jacky john Lee linda Marco Mario max Michael michel Mike Nguyen pablo pedro quincy
        rob steph steph2 Storm zac anika f1 f2 f3 m1 m2 m3 m4 m5 m6 klatt klatt2 klatt3 norbert sandro grandma""".split(),
    "eval": "adam ed marcelo Miguel paul robert steph3 f4 f5 m7 m8 klatt4 shelby travis victor grandpa".split()}
# Of the other two synthesisers: voice, and the mean pitch that is natural to it, in Hz.
FLITE = {"train": [("kal16", 105), ("slt", 170), ("awb", 120)], "eval": [("rms", 100)]}
FESTIVAL = {"train": [("kal_diphone", 105)], "eval": [("ked_diphone", 110)]}
COUNTS = {"train": (300, 26, 8), "eval": (30, 4, 5)}  # of each keyword, of each other word, of each by other voices


def command(engine, voice, word, speed, pitch, path):
    if engine == "espeak-ng":
        return ["espeak-ng", "-v", voice, "-s", str(round(160 * speed)), "-p", str(pitch), "-w", path, word], None
    if engine == "flite":
        return ["flite", "-voice", voice, "--setf", f"duration_stretch={1 / speed:.3f}", "--setf",
                f"int_f0_target_mean={pitch}", "-t", word, "-o", path], None
    return ["festival", "--pipe"], f"""(voice_{voice})
        (Parameter.set 'Duration_Stretch {1 / speed:.3f})
        (utt.save.wave (utt.synth (Utterance Text "{word}")) "{path}" 'riff)"""


def resample(x, rate):
    """By the discrete Fourier transform, which is exact for what lies below half of both rates."""
    n = len(x) * RATE // rate
    spectrum = np.fft.rfft(x)
    spectrum = np.pad(spectrum, (0, max(0, n // 2 + 1 - len(spectrum))))[:n // 2 + 1]
    return np.fft.irfft(spectrum, n) * (n / len(x))


def trimmed(x):
    """Without what is silent before and behind: less than a fiftieth of the greatest magnitude."""
    loud = np.flatnonzero(np.abs(x) > np.abs(x).max() / 50)
    return x[max(0, loud[0] - RATE // 100):loud[-1] + RATE // 50]


def spoken(task):
    """The word as int16, its peak at half of the range."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.wav")
        line, text = command(*task, path)
        subprocess.run(line, input=text, text=True, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with wave.open(path) as f:
            rate, x = f.getframerate(), np.frombuffer(f.readframes(f.getnframes()), "<i2").astype(float)
    x = trimmed(resample(x, rate))
    return (x * (16000 / np.abs(x).max())).astype(np.int16)


def tasks(part, random):
    """What is spoken, by whom and how: (word, (engine, voice, word, speed, pitch))"""
    each, other, more = COUNTS[part]
    todo = [(w, each, more) for w in WORDS] + [(w, other, 1) for w in OTHERS[part]]
    for word, by_espeak, by_others in todo:
        for _ in range(by_espeak):
            voice = f"{random.choice(ACCENTS)}+{random.choice(VARIANTS[part])}"
            yield word, ("espeak-ng", voice, word, random.uniform(0.75, 1.4), int(random.integers(20, 80)))
        for engine, voices in ("flite", FLITE[part]), ("festival", FESTIVAL[part]):
            for voice, hertz in voices:
                for _ in range(by_others):
                    pitch = hertz * random.uniform(0.85, 1.25)
                    yield word, (engine, voice, word, random.uniform(0.75, 1.3), round(pitch))


def main(path):
    random, data = np.random.default_rng(1), {}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for part in COUNTS:
            todo = list(tasks(part, random))
            sounds = list(pool.map(spoken, [t for _, t in todo]))
            data[f"{part}_words"] = np.array([w for w, _ in todo])
            data[f"{part}_engines"] = np.array([t[0] for _, t in todo])
            data[f"{part}_lengths"] = np.array([len(s) for s in sounds])
            data[f"{part}_sounds"] = np.concatenate(sounds)
            print(f"{part}: {len(todo)} utterances, {len(data[part + '_sounds']) / RATE / 60:.0f} minutes")
    np.savez(path, **data)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
