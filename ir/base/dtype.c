/* The table of element types, one row per type (dtype.h). */
#include "ir/base/dtype.h"
#include "ir/base/diag.h"
#include <string.h>

struct row {
    const char *name;
    int onnx, bits, bytes;
    enum dtype value;
    const char *c;
};

static const struct row rows[DTYPE_COUNT] = {[NONE] = {"none", 0, 0, 0, NONE, "void"},
#define D(id, name, onnx, bits, bytes, value, c) [id] = {name, onnx, bits, bytes, value, c},
                                             DTYPES(D)
#undef D
};

static const struct row *row(enum dtype t) {
    ASSERT((unsigned)t < DTYPE_COUNT);
    return &rows[t];
}

const char *dtype_name(enum dtype t) { return row(t)->name; }
int dtype_onnx(enum dtype t) { return row(t)->onnx; }
int dtype_bytes(enum dtype t) { return row(t)->bytes; }
int dtype_bits(enum dtype t) { return row(t)->bits; }
enum dtype dtype_value(enum dtype t) { return row(t)->value; }
const char *dtype_c(enum dtype t) { return row(t)->c; }

enum dtype dtype_by_name(const char *s, size_t n) {
    for (int t = NONE + 1; t < DTYPE_COUNT; t++)
        if (strlen(rows[t].name) == n && memcmp(rows[t].name, s, n) == 0) return t;
    return NONE;
}

/* 0 is ONNX's UNDEFINED, and also the row of idx, which ONNX does not have. */
enum dtype dtype_by_onnx(int code) {
    for (int t = NONE + 1; code > 0 && t < DTYPE_COUNT; t++)
        if (rows[t].onnx == code) return t;
    return NONE;
}

/* The value types F32 and F64 are what loads of the floating storage types give. */
bool dtype_is_float(enum dtype t) {
    enum dtype v = dtype_value(t);
    return v == F32 || v == F64;
}

/* bool loads as bool, strings and complex numbers as themselves: neither is among these value types. */
bool dtype_is_half(enum dtype t) { return t == F16 || t == BF16; }
bool dtype_is_int(enum dtype t) {
    enum dtype v = dtype_value(t);
    return v == I32 || v == U32 || v == I64 || v == U64 || v == IDX;
}

bool dtype_is_complex(enum dtype t) { return t == C64 || t == C128; }

bool dtype_is_signed(enum dtype t) {
    switch (t) {
    case I8:
    case I16:
    case I32:
    case I64:
    case I4:
    case I2:
    case IDX: return true;
    default: return dtype_is_float(t) || dtype_is_complex(t);
    }
}
