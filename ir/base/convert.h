/* Bit-exact conversions between storage types and the value types of the loop IR (design: values and types). */
#ifndef NN_IR_BASE_CONVERT_H
#define NN_IR_BASE_CONVERT_H
#include "ir/base/dtype.h"
#include <stdbool.h>
#include <stdint.h>

float f16_to_f32(uint16_t h);
uint16_t f32_to_f16(float f); /* round to nearest even; overflow to infinity; NaN stays NaN */
float bf16_to_f32(uint16_t h);
uint16_t f32_to_bf16(float f); /* round to nearest even */
/* float8 kinds of ONNX; saturate as in the Cast operator. */
enum f8_kind { F8_E4M3FN, F8_E4M3FNUZ, F8_E5M2, F8_E5M2FNUZ, F8_E8M0, F4_E2M1 };
struct float_format {
    int exponent_bits, mantissa_bits, bias;
    uint16_t max;       /* code of the greatest finite value */
    uint16_t inf;       /* code of +infinity; 0: the format has none */
    uint16_t nan;       /* code of a NaN with sign 0; for unsigned_zero formats the only one */
    bool unsigned_zero; /* no -0: that code is the NaN */
};
const struct float_format *f8_format(enum f8_kind k); /* not of F8_E8M0 */
bool f8_kind_of(enum dtype t, enum f8_kind *k);       /* false: no float of at most 8 bits */
float f8_to_f32(uint8_t v, enum f8_kind k);
uint8_t f32_to_f8(float f, enum f8_kind k, bool saturate); /* F8_E8M0: E8M0_UP */
uint8_t f8_stored(float f, enum f8_kind k);                /* saturating, except that an infinity remains one in
                                                            * F8_E5M2 */
enum e8m0_round { E8M0_UP, E8M0_DOWN, E8M0_NEAREST };      /* Cast's round_mode; up is its default */
uint8_t f32_to_e8m0(float f, enum e8m0_round r, bool saturate);
uint16_t f64_to_f16(double d);  /* one rounding */
uint16_t f64_to_bf16(double d); /* one rounding */
/* Saturating float to integer, NaN -> 0 (design: numbers N6). */
int32_t f64_to_i32_sat(double f);
int64_t f64_to_i64_sat(double f);
uint32_t f64_to_u32_sat(double f);
uint64_t f64_to_u64_sat(double f);
#endif
