"""A metric of the user's own, for `gcc2nn verify --metric FILE.py`, behind values.py: argv[5] is FILE.py, argv[6] the
prefix of the outputs' files. FILE.py defines metric(samples): samples gives for each sample its folder and a dict of
its outputs by name; the result is a number, greater is better. Printed.
"""
import runpy

FILE, WHOSE = sys.argv[5], sys.argv[6]


def samples():
    for k, folder in enumerate(NAMES["samples"]):
        outputs = {}
        for place, name in enumerate(NAMES["outputs"]):
            path = f"{WHOSE}_{k}_{place}.nnt"
            if os.path.exists(path):
                outputs[name] = load_file(path)
        yield folder, outputs


def main():
    function = runpy.run_path(FILE).get("metric")
    if not callable(function):
        sys.exit(f"{FILE} defines no function metric(samples)")
    print(repr(float(function(samples()))))


try:
    main()
except Exception as e:  # whatever the user's code finds
    sys.exit(" ".join(f"{type(e).__name__}: {e}".split())[:400])
