"""Helps examples/demo.sh with what the compiled program does not do itself.

    filetype.py config FOLDER                      magika's configuration as a C header
    filetype.py compare PROGRAM FOLDER FILE...     the program's answers beside onnxruntime's; status 1: they differ

FOLDER holds magika's model.onnx and config.min.json.
"""
import json
import pathlib
import subprocess
import sys
import time

TOLERANCE = 1e-4  # of a probability; both compute in float32, in different orders
TIMED_RUNS = 20


def write_config(config):
    if config["mid_size"] or config["use_inputs_at_offsets"]:
        sys.exit("filetype.py: this version of magika reads parts of a file that the example does not")
    print("/* Written by filetype.py from magika's configuration. */")
    names = {"BEG_SIZE": "beg_size", "END_SIZE": "end_size", "BLOCK_SIZE": "block_size", "PADDING": "padding_token",
             "LEAST_BYTES": "min_file_size_for_dl"}
    for macro, key in names.items():
        print(f"#define {macro} {int(config[key])}")
    print("static const char *const labels[] = {")
    for label in config["target_labels_space"]:
        print(f"    {json.dumps(label)},")
    print("};")


def read_input(path, config):
    """The bytes as magika's own Python code takes them; apart from filetype.c, so that each checks the other."""
    data = pathlib.Path(path).read_bytes()
    beg = list(data[:config["block_size"]].lstrip()[:config["beg_size"]])
    end = list(data[-config["block_size"]:].rstrip()[-config["end_size"]:])
    padding = [config["padding_token"]]
    return beg + padding * (config["beg_size"] - len(beg)) + padding * (config["end_size"] - len(end)) + end


def compare(program, folder, config, files):
    import numpy
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1  # as the generated code
    session = onnxruntime.InferenceSession(folder / "model.onnx", options, providers=["CPUExecutionProvider"])
    name = session.get_inputs()[0].name

    def reference(values):
        least = float("inf")
        for _ in range(TIMED_RUNS):
            start = time.perf_counter()
            result = session.run(None, {name: values})[0][0]
            least = min(least, time.perf_counter() - start)
        return result, least * 1e3

    ran = subprocess.run([program, "--numbers", *files], stdout=subprocess.PIPE, text=True)
    lines = ran.stdout.splitlines()
    if ran.returncode or len(lines) != len(files):
        sys.exit(f"filetype.py: {program}: status {ran.returncode}, {len(lines)} answers for {len(files)} files")

    def answer(probabilities, ms):
        best = int(probabilities.argmax())
        return f"{config['target_labels_space'][best]:<12} {probabilities[best]:>8.2%} {ms:>8.3f} ms"

    print(f"{'file':<28} {'generated C':<36} onnxruntime {onnxruntime.__version__}, 1 thread")
    differing = 0
    for file, line in zip(files, lines):
        values = read_input(file, config)
        if len(file) > 28:
            file = "..." + file[-25:]
        short = values[config["min_file_size_for_dl"] - 1] == config["padding_token"]
        if short or line == "short":
            differing += short != (line == "short")
            print(f"{file:<28} too short to tell" + ("" if short == (line == "short") else "   DIFFERENT"))
            continue
        ms, *ours = line.split()
        ours = numpy.array(ours, dtype=numpy.float32)
        theirs, their_ms = reference(numpy.array([values], dtype=numpy.int32))
        # Written so that a NaN counts as a difference.
        same = ours.shape == theirs.shape and bool((abs(ours - theirs) <= TOLERANCE).all())
        differing += not same
        print(f"{file:<28} {answer(ours, float(ms)):<36} {answer(theirs, their_ms)}" + ("" if same else "   DIFFERENT"))
    if differing:
        print(f"{differing} of {len(files)} answers DIFFER by more than {TOLERANCE:g}")
        return 1
    print(f"The answers agree: every probability within {TOLERANCE:g}.")
    return 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "config":
        folder = pathlib.Path(sys.argv[2])
    elif len(sys.argv) > 4 and sys.argv[1] == "compare":
        folder = pathlib.Path(sys.argv[3])
    else:
        sys.exit(__doc__)
    config = json.loads((folder / "config.min.json").read_text())
    if sys.argv[1] == "config":
        write_config(config)
        return 0
    return compare(sys.argv[2], folder, config, sys.argv[4:])


if __name__ == "__main__":
    sys.exit(main())
