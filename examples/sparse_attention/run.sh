#!/bin/sh
# An operator that no compiler knows (README.md), in a layer around it, on the CPU and in the emulator of a GPU; both
# against NumPy. gcc2nn must be in PATH; run it in the root of the repository.
set -eu
out=build/sparse_attention
here=examples/sparse_attention
die() { echo "sparse_attention: $*" >&2; exit 1; }
show() { echo "\$ $*"; "$@"; }
[ -f $here/run.sh ] || die "run it in the root of the repository"
command -v gcc2nn >/dev/null || die "gcc2nn is not in PATH"
.venv/bin/python -c 'import numpy, onnx' 2>/dev/null || { echo "sparse_attention: no NumPy and onnx in .venv: left out" >&2; exit 77; }
mkdir -p $out
.venv/bin/python $here/model.py $out

for target in native cuda; do
    show gcc2nn run $out/attention.onnx --op-path $here --target=$target \
        --input x=$out/x.npy --input keys=$out/keys.npy --out=$out/$target 2>$out/log || {
        cat $out/log >&2
        grep -q "built without libclang" $out/log && exit 77
        die "it does not run on $target"
    }
    .venv/bin/python $here/model.py $out --check $out/$target || die "NumPy finds something else than $target"
done
