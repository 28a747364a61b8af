#!/bin/sh
# A server of two compiled models with dynamic batches (README.md), built and asked by a client. gcc2nn must be in PATH; run
# it in the root of the repository.
set -eu
out=build/server
here=examples/server
python=.venv/bin/python
die() { echo "server: $*" >&2; exit 1; }
lacking() { echo "server: $*" >&2; exit 77; }
show() { echo "\$ $*"; "$@"; }
[ -f $here/run.sh ] || die "run it in the root of the repository"
command -v gcc2nn >/dev/null || die "gcc2nn is not in PATH"
"$python" -c 'import onnx, numpy' 2>/dev/null || lacking "no $python with onnx and numpy; ./dev setup makes it"
cxx=${CXX:-c++}
printf '#include <httplib.h>\n#include <nlohmann/json.hpp>\n' | "$cxx" -std=c++17 -fsyntax-only -x c++ - 2>/dev/null ||
    lacking "install libcpp-httplib-dev and nlohmann-json3-dev"
rm -rf $out
mkdir -p $out

echo "1. Models whose batch is open, as shared libraries"
for name in digits digits_int8; do
    "$python" $here/open_batch.py examples/digits/$name.onnx $out/$name.onnx
    show gcc2nn compile $out/$name.onnx --dim batch=1..64@16 --out=$out/$name
    make -s -C $out/$name shared
done

echo "2. The server"
# shellcheck disable=SC2086
show "$cxx" -std=c++17 -O2 ${CXXFLAGS-} -I$out/digits $here/server.cpp $here/protocol.cpp $here/model.cpp -lcpp-httplib \
    -pthread -ldl -o $out/server

echo "3. A client"
PYTHONPATH=$out/digits "$python" $here/client.py $out
