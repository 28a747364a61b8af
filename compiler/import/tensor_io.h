/* Tensors in and out: TensorProto of models and of test data, and NumPy files. Between protobuf-c's structs and the
 * constant payloads (struct tensor) that everything else knows. */
#ifndef NN_COMPILER_IMPORT_TENSOR_IO_H
#define NN_COMPILER_IMPORT_TENSOR_IO_H
#include "compiler/import/external.h"
#include "compiler/import/prescan.h"
#include "ir/base/tensor.h"
#include "ir/graph/holder.h"

/* What reading tensors needs. Large raw_data and external data stay where they are mapped (TS_MAPPED; such bytes need
 * not be aligned), everything else is copied into the arena. */
struct tensor_reader {
    struct diags *diags;
    struct arena *arena;
    const struct raw_spans *spans;
    struct external *external; /* NULL: external data is refused */
};
/* NULL: a diagnostic was recorded that names the tensor. */
struct tensor *tensor_from_proto(struct tensor_reader *r, const Onnx__TensorProto *p);
/* Appends a serialized TensorProto with raw_data (string_data for strings). */
void tensor_to_proto(const struct tensor *t, struct text *out);

/* The first n bytes that raw_data has for a splat; n is a multiple of the element's size. */
void tensor_fill_splat(const struct tensor *t, uint8_t *out, size_t n);

/* One value of a test case: what input_N.pb and output_N.pb hold. */
struct value_io {
    enum value_kind kind;
    const char *name; /* as in the file; may be NULL */
    bool present;     /* false: an empty optional */
    int n;            /* tensors: 1 for a tensor, any number in a sequence, keys and values of a map */
    struct tensor **tensors;
};
/* Bytes of a TensorProto, SequenceProto, OptionalProto or MapProto, as `kind` says: the file itself does not. Only what
 * an optional holds is seen in the file: v->kind says it. `data` must outlive the tensors. */
bool value_from_proto(struct diags *d, struct arena *a, const uint8_t *data, size_t size, enum value_kind kind,
                      struct value_io *v);
void value_to_proto(const struct value_io *v, struct text *out);

/* NumPy's .npy, versions 1 to 3, C or Fortran order, little endian. NumPy has no bf16, float8 and sub-byte types:
 * `want` says what 1 or 2 byte elements (V1, V2, u1, u2) stand for; sub-byte types have one byte per element there.
 * With want == NONE the file decides. NULL: a diagnostic was recorded. */
struct tensor *tensor_from_npy(struct diags *d, struct arena *a, const uint8_t *data, size_t size, enum dtype want);
/* false: a string is not UTF-8 (diagnostic). */
bool tensor_to_npy(struct diags *d, const struct tensor *t, struct text *out);

/* Files, by their ending: .npy, else protobuf. `file` must stay mapped as long as the tensors are used. */
bool value_read(struct diags *d, struct arena *a, const char *path, enum value_kind kind, enum dtype want,
                struct mapped_file *file, struct value_io *v);
bool value_write(struct file_set *s, const char *name, const struct value_io *v);
/* No reader of protobuf takes a message of 2 GiB or more. */
bool value_fits_proto(const struct value_io *v);
#endif
