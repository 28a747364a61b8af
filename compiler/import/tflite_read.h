/* A TensorFlow Lite file as plain C structs: what tflite_read.cc, the only C++ here, hands to tflite.c. Pointers lead
 * into the file or the arena. The bytes have passed flatbuffers' verifier, and every index (of tensors, buffers,
 * graphs) is in range; what numbers mean is not checked. Numbers that lie in the file need not be aligned: read them by
 * memcpy. */
#ifndef NN_COMPILER_IMPORT_TFLITE_READ_H
#define NN_COMPILER_IMPORT_TFLITE_READ_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
enum { TFL_MAX_RANK = 32, TFL_NAME_MAX = 1 << 14, TFL_LIST_MAX = 1 << 16 };

/* Numbers in the file: n elements of 4 bytes (i32, f32), or 8 (i64). */
struct tfl_list {
    const uint8_t *bytes;
    int n;
};
/* One level of a sparse tensor: dense_size, or where each row begins and which column each entry has. */
struct tfl_level {
    bool sparse;
    int dense_size;
    int nsegments, nindices;
    const int32_t *segments, *indices;
};
struct tfl_sparsity {
    struct tfl_list traversal_order, block_map;
    int nlevels;
    struct tfl_level *levels;
};
struct tfl_tensor {
    const char *name;
    int type; /* TensorType of tflite.fbs */
    int rank;
    const int64_t *dims;  /* -1: open */
    const uint8_t *bytes; /* NULL: no constant */
    size_t nbytes;
    bool is_variable;
    struct tfl_list scale, zero_point; /* f32, i64 */
    int axis;                          /* of several scales */
    bool odd_quantization;             /* of a kind that is not read */
    const struct tfl_sparsity *sparsity;
};
enum tfl_attr_kind { TFL_INT, TFL_FLOAT, TFL_STRING, TFL_INTS, TFL_LONGS, TFL_FLOATS };
struct tfl_attr {
    const char *name; /* of the field */
    enum tfl_attr_kind kind;
    int64_t i;
    float f;
    const char *s;
    struct tfl_list list; /* of i32, i64 or f32 */
};
struct tfl_operator {
    const char *name; /* of the builtin operator, or of the custom one; "" has none */
    bool custom;
    int nins, nouts, nmids, nattrs;
    const int32_t *ins, *outs, *mids; /* -1: absent; mids: intermediate results */
    struct tfl_attr *attrs;
    const uint8_t *options; /* of a custom operator */
    size_t noptions;
};
struct tfl_graph {
    const char *name;
    int ntensors, nins, nouts, noperators;
    struct tfl_tensor *tensors;
    const int32_t *ins, *outs;
    struct tfl_operator *operators;
};
struct tfl_port {
    const char *name;
    int tensor;
};
struct tfl_signature {
    const char *key;
    int graph, nins, nouts;
    struct tfl_port *ins, *outs;
};
struct tfl_model {
    const char *description;
    int version, ngraphs, nsignatures;
    struct tfl_graph *graphs; /* at least one */
    struct tfl_signature *signatures;
};
#ifdef __cplusplus
extern "C" {
#endif
/* NULL: *why says what is wrong (in the arena). `data` must stay as long as the model is used, 16-byte aligned. */
const struct tfl_model *tfl_read(struct arena *a, const uint8_t *data, size_t size, const char **why);
#ifdef __cplusplus
}
#endif
#endif
