/* Constant payloads: dtype, shape and a source of bytes. Passes never copy what they can describe. */
#ifndef NN_IR_TENSOR_H
#define NN_IR_TENSOR_H
#include "ir/base/arena.h"
#include "ir/base/dtype.h"
#include <stdbool.h>
#include <stdint.h>

enum tensor_source { TS_BYTES, TS_MAPPED, TS_SPLAT };
struct str_elem {
    const char *p;
    size_t n;
};
/* bytes: elements in row-major order, little endian, sub-byte types packed as in ONNX (low bits first).
 * TS_SPLAT: one element, repeated. TS_MAPPED: anywhere in a file, so not aligned: read through memcpy or tensor_f.
 * Strings (STR): `strs`. Immutable once made. Data is owned by the arena, by a mapping that lives as long as the
 * compilation, or by malloc registered with the arena's owner. */
struct tensor {
    enum dtype type;
    int rank;
    int64_t dims[32];
    enum tensor_source source;
    const void *bytes;
    size_t nbytes; /* of what `bytes` holds */
    const struct str_elem *strs;
    const char *name;  /* as in the model; may be NULL */
    uint64_t stand_in; /* not 0: the contents are made up, and replace those with this hash (graph_parse) */
};
int64_t tensor_count(const struct tensor *t); /* elements; dims were checked when it was made */
/* Bytes of `count` elements as packed constant; -1 on overflow. */
int64_t dtype_packed_bytes(enum dtype t, int64_t count);
int64_t tensor_bytes(enum dtype type, const int64_t *dims, int rank); /* that tensor_new takes; -1: too large */
struct tensor *tensor_new(struct arena *a, enum dtype type, const int64_t *dims,
                          int rank); /* zeroed TS_BYTES; NULL if too large */
void *tensor_data(struct tensor *t); /* writable bytes of one made by tensor_new */
/* Element i (row-major) as value type. Integers and bool exact; floats as double. */
double tensor_f(const struct tensor *t, int64_t i);
int64_t tensor_i(const struct tensor *t, int64_t i);
/* The least and the greatest element of a tensor of integers, as tensor_i gives them; of an empty one 0 and 0. */
void tensor_range(const struct tensor *t, int64_t *lo, int64_t *hi);
void tensor_set_f(struct tensor *t, int64_t i, double v); /* rounds to the type */
void tensor_set_i(struct tensor *t, int64_t i, int64_t v);
bool tensor_equal(const struct tensor *a, const struct tensor *b);
/* The elements unpacked into activation storage (dtype_bytes each), written to out. */
void tensor_unpack(const struct tensor *t, void *out);
void tensor_pack(struct tensor *t, const void *in); /* the other way; t is made by tensor_new */
#endif
