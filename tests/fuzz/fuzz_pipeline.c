/* Fuzzer: any bytes as an ONNX model, the whole way: import, all passes with the verifier after each, and the text of
 * every C file. Small models only, so that an execution takes milliseconds. */
#include "codegen/template.h"
#include "codegen/weights.h"
#include "compiler/driver.h"
#include "tests/fuzz/onnx_mutate.h"
#include "tests/fuzz/with_ops.h"
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

/* The targets take turns with the length, so that a file means the same each time. */
static const struct target *pick(size_t size) {
    static const char *const names[] = {"x86-avx2", "c99", "cortex-m4", "cuda"};
    const struct target *t = target_by_name(names[size % 4]);
    if (!t) abort();
    return t;
}
static bool passes(struct compilation *u) {
    for (const struct pass_row *p = pass_rows; p->name; p++) {
        if (p->level == LEVEL_MODEL) continue;
        if (!p->change && !p->run(u)) return false;
        if (p->change) p->change(u->m, &(struct printing){.target = u->o->target});
        if (!(p->level == LEVEL_LOOP ? loop_verify(u->m, p->name) : graph_verify(u->g, p->name))) abort();
    }
    return true;
}
static bool printed(void *env, const char *file, struct text *t) {
    (void)env, (void)file;
    text_free(t);
    return true;
}
static void print(struct compilation *u) {
    struct project_options o = {.name = "fuzz", .target = u->o->target, .weights = WEIGHTS_FILE};
    struct program *p = program_new(u->m, u->plan, &o);
    struct text t = {0};
    int null = open("/dev/null", O_WRONLY);
    bool packed = p && weights_pack(p, null);
    close(null);
    if (!packed) return;
    entry_header(p, &t);
    entry_source(p, &t);
    kernels_header(p, &t);
    template_text(&t, "templates/project/info.c", info_values(p));
    emit_wrap(&t);
    kernel_files(p->m, p->name, &p->emit, printed, NULL);
    text_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct ctx *c = ctx_new();
    struct import_options limits = {.max_depth = 4, .max_nodes = 64, .max_bytes = 1 << 20};
    struct compile_options o = {.path = "fuzz.onnx", .target = pick(size)};
    struct compilation u = {.c = c, .o = &o};
    u.g = import_onnx_bytes(c, o.path, data, size, &limits);
    if (u.g && passes(&u)) print(&u);
    else if (!c->diags.errors) abort();
    ctx_free(c);
    return 0;
}
