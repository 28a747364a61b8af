/* Fuzzer: any bytes as an ONNX model. What is imported must print and parse again. */
#include "compiler/import/onnx.h"
#include "tests/fuzz/onnx_mutate.h"
#include "tests/fuzz/with_ops.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ctx *c = ctx_new();
    struct import_options o = {.keep_unknown = true, .max_nodes = 10000, .max_bytes = 1 << 22};
    struct graph *g = import_onnx_bytes(c, "fuzz.onnx", data, size, &o);
    struct text t = {0};
    if (g) {
        graph_print(&t, g);
        if (!graph_parse(c, t.s, t.n, "again") && c->diags.v[c->diags.n - 1].code != E_LIMIT) abort();
    } else if (!c->diags.errors) {
        abort();
    }
    text_free(&t);
    ctx_free(c);
    return 0;
}
