/* Fuzzes the way of a model file up to its tensors: scan, protobuf-c, tensors. Build with -Dfuzz=true and clang. */
#include "compiler/import/tensor_io.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    struct arena a = {0};
    struct diags d = {.arena = &a};
    struct raw_spans spans;
    Onnx__ModelProto *m = onnx_unpack(&d, &a, data, size, &onnx__model_proto__descriptor, &spans);
    struct tensor_reader r = {.diags = &d, .arena = &a, .spans = &spans};
    for (size_t i = 0; m && m->graph && i < m->graph->n_initializer; i++) {
        struct tensor *t = tensor_from_proto(&r, m->graph->initializer[i]);
        if (t && t->rank < 3) {
            struct text out = {0};
            tensor_to_npy(&d, t, &out);
            text_free(&out);
        }
    }
    struct value_io v;
    value_from_proto(&d, &a, data, size, VALUE_TENSOR, &v);
    value_from_proto(&d, &a, data, size, VALUE_OPTIONAL, &v);
    tensor_from_npy(&d, &a, data, size, NONE);
    ASSERT(m || d.errors);
    arena_free(&a);
    return 0;
}
