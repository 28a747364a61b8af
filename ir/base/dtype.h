/* Element types. Storage types are what buffers hold; value types are what expressions compute in (design: values and
 * types). Used by both IRs; one row per type. */
#ifndef NN_IR_DTYPE_H
#define NN_IR_DTYPE_H
#include <stdbool.h>
#include <stddef.h>

/* id, text name, ONNX TensorProto.DataType, bits in a packed constant, bytes per element in a buffer, value type, C
 * type */
// clang-format off
#define DTYPES(D) \
    D(BOOL, "bool", 9, 8, 1, BOOL, "uint8_t")     D(I8, "i8", 3, 8, 1, I32, "int8_t")        D(U8, "u8", 2, 8, 1, I32, "uint8_t") \
    D(I16, "i16", 5, 16, 2, I32, "int16_t")       D(U16, "u16", 4, 16, 2, I32, "uint16_t")   D(I32, "i32", 6, 32, 4, I32, "int32_t") \
    D(U32, "u32", 12, 32, 4, U32, "uint32_t")     D(I64, "i64", 7, 64, 8, I64, "int64_t")    D(U64, "u64", 13, 64, 8, U64, "uint64_t") \
    D(F16, "f16", 10, 16, 2, F32, "uint16_t")     D(BF16, "bf16", 16, 16, 2, F32, "uint16_t") \
    D(F32, "f32", 1, 32, 4, F32, "float")         D(F64, "f64", 11, 64, 8, F64, "double") \
    D(F8E4M3FN, "f8e4m3fn", 17, 8, 1, F32, "uint8_t")   D(F8E4M3FNUZ, "f8e4m3fnuz", 18, 8, 1, F32, "uint8_t") \
    D(F8E5M2, "f8e5m2", 19, 8, 1, F32, "uint8_t")       D(F8E5M2FNUZ, "f8e5m2fnuz", 20, 8, 1, F32, "uint8_t") \
    D(F8E8M0, "f8e8m0", 24, 8, 1, F32, "uint8_t")       D(F4E2M1, "f4e2m1", 23, 4, 1, F32, "uint8_t") \
    D(U4, "u4", 21, 4, 1, I32, "uint8_t")         D(I4, "i4", 22, 4, 1, I32, "int8_t") \
    D(U2, "u2", 25, 2, 1, I32, "uint8_t")         D(I2, "i2", 26, 2, 1, I32, "int8_t") \
    D(C64, "c64", 14, 64, 8, C64, "nn_c64")       D(C128, "c128", 15, 128, 16, C128, "nn_c128") \
    D(STR, "str", 8, 0, 16, STR, "nn_str")        D(IDX, "idx", 0, 0, 8, IDX, "ptrdiff_t")
// clang-format on

enum dtype {
    NONE = 0,
#define D(id, name, onnx, bits, bytes, value, c) id,
    DTYPES(D)
#undef D
        DTYPE_COUNT
};

const char *dtype_name(enum dtype t);
enum dtype dtype_by_name(const char *s, size_t n); /* NONE if unknown */
enum dtype dtype_by_onnx(int code);                /* NONE if unknown */
int dtype_onnx(enum dtype t);
int dtype_bytes(enum dtype t);        /* per element in an activation buffer */
int dtype_bits(enum dtype t);         /* per element in a packed constant */
enum dtype dtype_value(enum dtype t); /* the type that a load gives */
const char *dtype_c(enum dtype t);
bool dtype_is_float(enum dtype t); /* any floating storage or value type */
bool dtype_is_half(enum dtype t);  /* a float of 16 bits */
static inline bool dtype_is_byte(enum dtype t) { return t == I8 || t == U8; }
bool dtype_is_int(enum dtype t); /* signed or unsigned integer, not bool */
bool dtype_is_signed(enum dtype t);
bool dtype_is_complex(enum dtype t);
#endif
