/* Fuzzer: any bytes as text of the loop IR. What parses and is legal must print, and print the same after parsing
 * again. */
#include "ir/loop/loop.h"
#include "ir/loop/target.h"
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ctx *c = ctx_new();
    nn_find_instr = instr_by_name;
    struct module *m = loop_parse(c, (const char *)data, size, "fuzz.lir");
    struct text a = {0}, b = {0};
    if (!m && !c->diags.errors) abort();
    if (m && loop_verify(m, NULL)) {
        loop_print(&a, m);
        struct module *again = loop_parse(c, a.s, a.n, "again.lir");
        if (!again) abort();
        loop_print(&b, again);
        if (a.n != b.n || (a.n && memcmp(a.s, b.s, a.n) != 0)) abort();
    }
    text_free(&a);
    text_free(&b);
    ctx_free(c);
    return 0;
}
