#!/bin/sh
# A network that reads handwritten digits (README.md), compiled for this machine and for a Cortex-M4 without operating
# system, which qemu plays. gcc2nn must be in PATH; run it in the root of the repository.
set -eu
out=build/digits
here=examples/digits
die() { echo "digits: $*" >&2; exit 1; }
show() { echo "\$ $*"; "$@"; }
[ -f $here/run.sh ] || die "run it in the root of the repository"
command -v gcc2nn >/dev/null || die "gcc2nn is not in PATH"
mkdir -p $out
flags_of() { sed -n 's/^ *"cflags": "\(.*\)",*$/\1/p' "$1/manifest.json"; }

echo "1. On this machine"
show gcc2nn compile $here/digits.onnx --out=$out/host
cc=${CC:-cc}
# shellcheck disable=SC2046
show "$cc" -O2 $(flags_of $out/host) -I$out/host -I$here $here/digits.c $out/host/digits.c $out/host/digits_kernels*.c \
    $out/host/digits_weights.[cS] $out/host/nn_rt.c -lm -o $out/digits_host
$out/digits_host | tee $out/host.txt

if .venv/bin/python -c 'import onnxruntime' 2>/dev/null; then
    printf 'onnxruntime: '
    .venv/bin/python $here/train.py --check | tee $out/reference.txt
    [ "$(tail -n 1 $out/host.txt)" = "$(cat $out/reference.txt)" ] || die "onnxruntime finds another number"
fi

echo "2. On a Cortex-M4"
for program in arm-none-eabi-gcc qemu-system-arm; do
    command -v $program >/dev/null || { echo "digits: no $program: left out" >&2; exit 77; }
done
show gcc2nn compile $here/digits.onnx --target=cortex-m4 --out=$out/m4
# The board's start-up code, memory map and printf (by semihosting) came with the model.
# shellcheck disable=SC2046
(cd $out/m4 && show arm-none-eabi-gcc -Os $(flags_of .) -I. -I../../../$here -nostartfiles -specs=nosys.specs -T board.ld \
    ../../../$here/digits.c digits.c digits_kernels*.c digits_weights.c nn_rt.c startup.c semihost.c -lm -o ../digits_m4)
show qemu-system-arm -M mps2-an386 -display none -monitor none -serial none \
    -semihosting-config enable=on,target=native -kernel $out/digits_m4 >$out/m4.txt
tail -n 1 $out/m4.txt
[ "$(tail -n 1 $out/host.txt)" = "$(tail -n 1 $out/m4.txt)" ] || die "the Cortex-M4 finds another number"
show gcc2nn bench $here/digits.onnx --target=cortex-m4
