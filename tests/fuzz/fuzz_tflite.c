/* Fuzzer: any bytes as a TensorFlow Lite model, through the import and the passes up to the loops. What is refused is
 * refused with a diagnostic, what is not passes the verifiers. */
#include "compiler/driver.h"
#include "compiler/import/tflite.h"
#include "tests/fuzz/with_ops.h"
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ctx *c = ctx_new();
    struct compile_options o = {.path = "fuzz.tflite", .target = target_by_name("c99"), .no_schedule = true};
    o.import = (struct import_options){.max_nodes = 2000, .max_bytes = 1 << 22};
    struct compilation u = {.c = c, .o = &o, .g = import_tflite_bytes(c, o.path, data, size, &o.import)};
    bool ok = u.g != NULL;
    for (const struct pass_row *p = pass_rows; ok && p->name; p++) {
        if (p->level == LEVEL_MODEL) continue;
        ok = p->change || p->run(&u);
        if (ok && p->change) p->change(u.m, &(struct printing){.target = o.target});
        if (ok && !(p->level == LEVEL_LOOP ? loop_verify(u.m, p->name) : graph_verify(u.g, p->name))) abort();
    }
    if (!ok && !c->diags.errors) abort();
    ctx_free(c);
    return 0;
}
