/* Bit-exact conversions between storage types and value types, for constants, folding and the interpreter.
 *
 * All small floating types are one family: sign, exponent with a bias, mantissa, and a rule for what the codes at the
 * top mean. One routine unpacks them, one rounds a double to them; double holds every float, so each conversion rounds
 * once. */
#include "ir/base/convert.h"
#include <math.h>
#include <string.h>

static const struct float_format half = {5, 10, 15, 0x7bff, 0x7c00, 0x7e00, false};
static const struct float_format brain = {8, 7, 127, 0x7f7f, 0x7f80, 0x7fc0, false};
/* F8_E8M0 has neither sign nor mantissa and is treated separately. F4_E2M1 has no NaN: the spec maps it to 6. */
static const struct float_format eights[] = {
    [F8_E4M3FN] = {4, 3, 7, 0x7e, 0, 0x7f, false},   [F8_E4M3FNUZ] = {4, 3, 8, 0x7f, 0, 0x80, true},
    [F8_E5M2] = {5, 2, 15, 0x7b, 0x7c, 0x7f, false}, [F8_E5M2FNUZ] = {5, 2, 16, 0x7f, 0, 0x80, true},
    [F4_E2M1] = {2, 1, 1, 0x7, 0, 0x7, false},
};

static double unpack(unsigned code, const struct float_format *f) {
    unsigned sign = code >> (f->exponent_bits + f->mantissa_bits) & 1;
    unsigned magnitude = code & ((1u << (f->exponent_bits + f->mantissa_bits)) - 1);
    if (f->unsigned_zero ? code == f->nan : magnitude > f->max && magnitude != f->inf)
        return sign && !f->unsigned_zero ? -NAN : NAN;
    double v;
    int e = (int)(magnitude >> f->mantissa_bits);
    int m = (int)(magnitude & ((1u << f->mantissa_bits) - 1));
    if (f->inf && magnitude == f->inf) v = INFINITY;
    else if (e == 0) v = ldexp(m, 1 - f->bias - f->mantissa_bits);
    else { /* the common case: most weights are such numbers, and there are millions of them */
        uint64_t bits = (uint64_t)(e - f->bias + 1023) << 52 | (uint64_t)m << (52 - f->mantissa_bits);
        memcpy(&v, &bits, sizeof v);
    }
    return sign ? -v : v;
}

/* Rounds to nearest, ties to even. saturate: values that are too large, including infinity, become the greatest finite
 * one; otherwise infinity or, if there is none, NaN. (For infinity the ONNX table of the FNUZ kinds says NaN; the
 * reference implementation and ONNX Runtime saturate it like every other large value, and so do we.) */
static unsigned pack(double x, const struct float_format *f, bool saturate) {
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    unsigned sign = (unsigned)(bits >> 63) << (f->exponent_bits + f->mantissa_bits);
    if (isnan(x)) return f->unsigned_zero || f->nan == f->max ? f->nan : sign | f->nan; /* a number has no NaN's sign */

    unsigned magnitude = 0;
    int e = (int)(bits >> 52 & 0x7ff) - 1023;
    uint64_t m = bits & ((1ull << 52) - 1);
    int biased = e + f->bias;
    if (biased >= 1 << f->exponent_bits || (biased > 0 && e > 1000)) {
        magnitude = 1u << 16; /* out of range before rounding, infinity included */
    } else if (e > -1023) {   /* subnormal doubles are below half of every format's least value */
        int drop = 52 - f->mantissa_bits;
        m |= 1ull << 52;
        if (biased <= 0) /* subnormal in the format: more mantissa bits are dropped */
            drop += 1 - biased;
        if (drop <= 53) {
            uint64_t kept = m >> drop, rest = m & ((1ull << drop) - 1), tie = 1ull << (drop - 1);
            kept += rest > tie || (rest == tie && (kept & 1));
            /* A carry out of the mantissa moves into the exponent, also from subnormal to normal. */
            if (biased > 0) kept += (uint64_t)(biased - 1) << f->mantissa_bits;
            magnitude = (unsigned)kept;
        }
    }
    if (magnitude > f->max) {
        if (saturate) magnitude = f->max;
        else if (f->inf) magnitude = f->inf;
        else return f->unsigned_zero ? f->nan : sign | f->nan;
    }
    return f->unsigned_zero && !magnitude ? 0 : sign | magnitude;
}

float f16_to_f32(uint16_t h) { return (float)unpack(h, &half); }
uint16_t f32_to_f16(float f) { return (uint16_t)pack((double)f, &half, false); }
uint16_t f64_to_f16(double d) { return (uint16_t)pack(d, &half, false); }

float bf16_to_f32(uint16_t h) {
    uint32_t bits = (uint32_t)h << 16;
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

uint16_t f32_to_bf16(float f) { return (uint16_t)pack((double)f, &brain, false); }
uint16_t f64_to_bf16(double d) { return (uint16_t)pack(d, &brain, false); }

bool f8_kind_of(enum dtype t, enum f8_kind *k) {
    switch (t) {
    case F8E4M3FN: *k = F8_E4M3FN; return true;
    case F8E4M3FNUZ: *k = F8_E4M3FNUZ; return true;
    case F8E5M2: *k = F8_E5M2; return true;
    case F8E5M2FNUZ: *k = F8_E5M2FNUZ; return true;
    case F8E8M0: *k = F8_E8M0; return true;
    case F4E2M1: *k = F4_E2M1; return true;
    default: return false;
    }
}

const struct float_format *f8_format(enum f8_kind k) { return &eights[k]; }

float f8_to_f32(uint8_t v, enum f8_kind k) {
    if (k == F8_E8M0) return v == 0xff ? NAN : (float)ldexp(1, v - 127);
    return (float)unpack(v, &eights[k]);
}

/* float8e8m0 holds a power of two: the exponent field of a float, rounded by the mantissa below it. The sign is
 * dropped, as in ONNX's reference; infinity and NaN give NaN. */
uint8_t f32_to_e8m0(float f, enum e8m0_round r, bool saturate) {
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    unsigned e = bits >> 23 & 0xff, m = bits & 0x7fffff;
    if (e == 0xff) return 0xff;
    /* The least power, a float without a leading one, stays what it is. Half way goes up. */
    bool least = e == 0 && m == 0x400000;
    bool up = !least && (r == E8M0_UP ? m != 0 : r == E8M0_NEAREST && m >= 0x400000);
    if (up && !(saturate && e == 0xfe)) e++;
    return (uint8_t)e;
}

uint8_t f32_to_f8(float f, enum f8_kind k, bool saturate) {
    if (k == F8_E8M0) return f32_to_e8m0(f, E8M0_UP, saturate);
    return (uint8_t)pack((double)f, &eights[k], saturate || k == F4_E2M1);
}

/* What a store does. Cast itself saturates infinities. */
uint8_t f8_stored(float f, enum f8_kind k) { return f32_to_f8(f, k, !(k == F8_E5M2 && isinf(f))); }

/* The bounds are powers of two, which every floating type holds exactly. */
int32_t f64_to_i32_sat(double f) {
    return isnan(f) ? 0 : f >= 0x1p31 ? INT32_MAX : f < -0x1p31 ? INT32_MIN : (int32_t)f;
}

int64_t f64_to_i64_sat(double f) {
    return isnan(f) ? 0 : f >= 0x1p63 ? INT64_MAX : f < -0x1p63 ? INT64_MIN : (int64_t)f;
}

uint32_t f64_to_u32_sat(double f) { return isnan(f) || f <= 0 ? 0 : f >= 0x1p32 ? UINT32_MAX : (uint32_t)f; }

uint64_t f64_to_u64_sat(double f) { return isnan(f) || f <= 0 ? 0 : f >= 0x1p64 ? UINT64_MAX : (uint64_t)f; }
