#!/bin/sh
# `./dev demo [FILE...]`: compiles magika, a trained network that tells types of files apart, to C, builds a program on
# it (examples/filetype/) and asks it about files of this repository, or those given; onnxruntime checks the answers.
set -eu
python=.venv/bin/python
out=build/filetype
magika=magika==1.0.3    # the package openly carries its model

die() { echo "demo: $*" >&2; exit 1; }
lacking() { echo "demo: $*" >&2; exit 77; }     # the machine's fault; a test counts it as skipped

# show COMMAND... : the command, then what it does
show() { echo "\$ $*"; "$@"; }

[ -f examples/demo.sh ] || die "run it in the root of the repository, or with ./dev demo"
command -v gcc2nn >/dev/null || die "gcc2nn is not in PATH; ./dev demo builds it and sets PATH"
[ -x "$python" ] || lacking "no $python; ./dev setup makes it"
cc=${CC:-cc}
command -v "$cc" >/dev/null || die "no C compiler '$cc'"
mkdir -p "$out"

model_folder() {
    "$python" -c 'import importlib.util as u, pathlib, sys
found = u.find_spec("magika")
models = sorted(pathlib.Path(found.origin).parent.glob("models/*/model.onnx")) if found else []
print(models[-1].parent) if models else sys.exit(1)'
}
if ! folder=$(model_folder); then
    printf 'python package %s into .venv ... ' "$magika"
    "$python" -m pip install --disable-pip-version-check --no-deps "$magika" >"$out/pip.log" 2>&1 ||
        { echo FAILED; tail -n 5 "$out/pip.log" >&2; lacking "cannot install $magika, which holds the model"; }
    echo done
    folder=$(model_folder) || die "$magika holds no models/*/model.onnx"
fi

echo "1. From model to C"
show gcc2nn compile "$folder/model.onnx" --shape=bytes=1x2048 --name=magika --out="$out/magika"

echo "2. From C to a program"
"$python" examples/filetype/filetype.py config "$folder" >"$out/filetype_config.h"
flags=$(sed -n 's/^ *"cflags": "\(.*\)",*$/\1/p' "$out/magika/manifest.json")
code=$out/magika
# Other than magika_main.c and the like, these are all that gcc2nn wrote. The weights are C or assembler.
# shellcheck disable=SC2086
show "$cc" -O2 $flags -I"$out" -I"$code" examples/filetype/filetype.c "$code/magika.c" "$code"/magika_kernels*.c \
    "$code"/magika_weights.[cS] "$code/nn_rt.c" -lm -o "$out/filetype"

echo "3. What kind of files are these?"
[ $# -gt 0 ] || set -- README.md dev meson.build ir/expr/expr.c examples/filetype/filetype.py "$code/manifest.json" \
    "$folder/model.onnx" "$out/filetype"
if "$python" -c 'import numpy, onnxruntime' 2>/dev/null; then
    "$python" examples/filetype/filetype.py compare "$out/filetype" "$folder" "$@"
else
    "$out/filetype" "$@"
    echo "Not compared: numpy or onnxruntime is not in .venv."
fi
echo "The program: $out/filetype FILE...; its generated sources: $out/magika/"
