/* The first step with ONNX bytes: an iterative check of the wire format, so that protobuf-c, which recurses and copies,
 * only ever gets small and well-formed messages.
 *
 * How large payloads avoid the copy: the scan also measures a compact form of the message, in which
 *   - every TensorProto.raw_data longer than RAW_KEPT bytes is replaced by TensorProto.raw_span = 1 + its number in a
 *     side table of (offset, length) in the file,
 *   - unknown fields are dropped,
 *   - the lengths of the enclosing messages are recomputed.
 * The compact form is then written and given to protobuf-c; it is about as large as the graph without its weights. As
 * the number is inside of the message, a tensor finds its bytes whatever order the tree is walked in, and a file cannot
 * forge one, because field 1000 counts as unknown in the input.
 *
 * Stricter than protobuf: a singular field may occur only once, strings contain no NUL, groups do not exist. */
#ifndef NN_COMPILER_IMPORT_PRESCAN_H
#define NN_COMPILER_IMPORT_PRESCAN_H
#include "compiler/import/onnx.pb-c.h"
#include "ir/base/diag.h"
#include <protobuf-c/protobuf-c.h>

enum { RAW_KEPT = 1024, PRESCAN_DEPTH = 100 };

struct prescan_limits {
    int depth;                /* nested messages, at most PRESCAN_DEPTH */
    int64_t messages, fields; /* in the whole file: each needs far more memory than its bytes */
    size_t compact_bytes;     /* without large raw_data: protobuf's own limit is 2 GiB */
};
extern const struct prescan_limits prescan_default_limits;

struct raw_span {
    size_t offset, length;
};
struct raw_spans {
    const uint8_t *file; /* base of the offsets */
    struct raw_span *v;
    int n, cap;
};
struct compact {
    uint8_t *bytes;
    size_t n;
    struct raw_spans spans;
};

/* Checks data as a message of type root and creates its compact form, both in arena a. limits NULL: the default ones.
 * false: a diagnostic with the byte offset was recorded (E_ONNX, E_LIMIT). */
bool prescan(struct diags *d, struct arena *a, const uint8_t *data, size_t size, const ProtobufCMessageDescriptor *root,
             const struct prescan_limits *limits, struct compact *out);

/* prescan and protobuf-c in one. The tree lives in the arena; data must live as long as the spans are used. NULL: as
 * above. Onnx__ModelProto *m = onnx_unpack(d, a, p, n, &onnx__model_proto__descriptor, &spans); */
void *onnx_unpack(struct diags *d, struct arena *a, const uint8_t *data, size_t size,
                  const ProtobufCMessageDescriptor *root, struct raw_spans *spans);

/* The raw_data of a tensor from onnx_unpack; false when it has none. *mapped: points into the file, not into the tree.
 */
bool onnx_raw_data(const Onnx__TensorProto *t, const struct raw_spans *spans, const uint8_t **p, size_t *n,
                   bool *mapped);
#endif
