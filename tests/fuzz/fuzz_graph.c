/* Fuzzer: any bytes as text of the graph IR. What parses must print, and print the same after parsing again. */
#include "ir/graph/graph.h"
#include "tests/fuzz/with_ops.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ctx *c = ctx_new();
    struct graph *g = graph_parse(c, (const char *)data, size, "fuzz.gir");
    struct text a = {0}, b = {0};
    if (!g && !c->diags.errors) abort();
    if (g && graph_verify(g, NULL)) {
        graph_print(&a, g);
        struct graph *again = graph_parse(c, a.s, a.n, "again.gir");
        if (!again) abort();
        graph_print(&b, again);
        if (a.n != b.n || (a.n && memcmp(a.s, b.s, a.n) != 0)) abort();
    }
    text_free(&a);
    text_free(&b);
    ctx_free(c);
    return 0;
}
