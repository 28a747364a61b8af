/* Conversions of small floats, against references computed by other means: powers of two and nearest search in double.
 */
#include "ir/base/convert.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static uint32_t bits_of(float f) {
    uint32_t b;
    memcpy(&b, &f, sizeof b);
    return b;
}

static float float_of(uint32_t b) {
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}

/* IEEE half from its definition. */
static double half_value(unsigned h) {
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? (1024 + m) * pow(2, e - 25) : m * pow(2, -24);
    return h & 0x8000 ? -v : v;
}

Test(f16, all_codes_both_ways) {
    for (unsigned h = 0; h < 65536; h++) {
        float f = f16_to_f32((uint16_t)h);
        double v = half_value(h);
        if (isnan(v)) {
            cr_assert(isnan(f));
            uint16_t back = f32_to_f16(f);
            cr_assert((back & 0x7c00) == 0x7c00 && (back & 0x3ff), "NaN %x", h);
        } else {
            cr_assert_eq(bits_of(f), bits_of((float)v), "%x", h);
            cr_assert_eq(f32_to_f16(f), h, "%x gives %x", h, f32_to_f16(f));
            cr_assert_eq(f64_to_f16(v), h);
        }
    }
}

/* Around every half and every midpoint: below, at and above, the nearest one wins and ties go to the even code. */
Test(f16, nearest_with_ties) {
    for (unsigned h = 0; h < 0x7c00; h++) {
        double lo = half_value(h), hi = h == 0x7bff ? 65536 : half_value(h + 1), mid = (lo + hi) / 2;
        unsigned even = h & 1 ? h + 1 : h;
        float below = nextafterf((float)mid, 0), above = nextafterf((float)mid, INFINITY);
        cr_assert_eq(f32_to_f16((float)mid), even, "tie above %x", h);
        cr_assert_eq(f32_to_f16(below), h, "below the tie above %x", h);
        cr_assert_eq(f32_to_f16(above), h + 1, "above the tie above %x", h);
        cr_assert_eq(f32_to_f16(-above), (h + 1) | 0x8000);
        cr_assert_eq(f64_to_f16(nextafter(mid, 0)), h);
        cr_assert_eq(f64_to_f16(nextafter(mid, INFINITY)), h + 1);
        cr_assert_eq(f64_to_f16(mid), even);
    }
    cr_assert_eq(f32_to_f16(INFINITY), 0x7c00);
    cr_assert_eq(f32_to_f16(-3e38f), 0xfc00);
    cr_assert_eq(f32_to_f16(-0.0f), 0x8000);
    cr_assert_eq(f32_to_f16(1e-45f), 0);
    cr_assert_eq(f64_to_f16(-5e-324), 0x8000);
    cr_assert_eq(f64_to_f16(1e308), 0x7c00);
    cr_assert_eq(f64_to_f16(INFINITY), 0x7c00);
}

/* Just above a midpoint of halfs, but a float would round to the midpoint first. */
Test(f16, double_is_rounded_once) {
    double x = 1 + 0x1p-11 + 0x1p-40;
    cr_assert_eq(f32_to_f16((float)x), 0x3c00);
    cr_assert_eq(f64_to_f16(x), 0x3c01);
    double y = 1 + 0x1p-8 + 0x1p-40;
    cr_assert_eq(f32_to_bf16((float)y), 0x3f80);
    cr_assert_eq(f64_to_bf16(y), 0x3f81);
}

Test(bf16, all_codes_both_ways) {
    for (unsigned h = 0; h < 65536; h++) {
        float f = bf16_to_f32((uint16_t)h);
        cr_assert_eq(bits_of(f), h << 16);
        if (isnan(f)) cr_assert(isnan(bf16_to_f32(f32_to_bf16(f))));
        else cr_assert_eq(f32_to_bf16(f), h);
    }
}

/* The usual integer way to round to bfloat16, over a spread of bit patterns and all ties. */
Test(bf16, nearest_with_ties) {
    for (uint32_t i = 0; i < 1u << 20; i++) {
        uint32_t b = i * 4099u ^ (i & 1 ? 0x8000 : 0);
        if (i % 5 == 0) b = (b & 0xffff0000) | 0x8000;
        float f = float_of(b);
        if (isnan(f)) continue;
        uint32_t rounded = (b + 0x7fff + (b >> 16 & 1)) >> 16;
        cr_assert_eq(f32_to_bf16(f), (uint16_t)rounded, "%08x", b);
    }
}

/* The float8 and float4 types of the ONNX documentation: exponent and mantissa bits, bias, and which codes are special.
 */
static const struct kind {
    enum f8_kind k;
    int e, m, bias, max; /* max: code of the greatest finite value */
    int inf, nan;        /* codes; nan is -1 when there is none */
    bool uz;
} kinds[] = {
    {F8_E4M3FN, 4, 3, 7, 0x7e, -1, 0x7f, false},  {F8_E4M3FNUZ, 4, 3, 8, 0x7f, -1, 0x80, true},
    {F8_E5M2, 5, 2, 15, 0x7b, 0x7c, 0x7d, false}, {F8_E5M2FNUZ, 5, 2, 16, 0x7f, -1, 0x80, true},
    {F4_E2M1, 2, 1, 1, 0x7, -1, -1, false},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static double magnitude(const struct kind *q, int code) {
    int e = code >> q->m, m = code & ((1 << q->m) - 1);
    return e ? (1 + m / (double)(1 << q->m)) * pow(2, e - q->bias) : m / (double)(1 << q->m) * pow(2, 1 - q->bias);
}

Test(f8, codes_to_float) {
    for (int i = 0; i < KINDS; i++) {
        const struct kind *q = &kinds[i];
        int sign = 1 << (q->e + q->m);
        for (int code = 0; code <= q->max; code++) {
            cr_assert_float_eq(f8_to_f32((uint8_t)code, q->k), magnitude(q, code), 0, "kind %d code %x", i, code);
            if (code || !q->uz) {
                float f = f8_to_f32((uint8_t)(code | sign), q->k);
                cr_assert_eq(bits_of(f), bits_of(-(float)magnitude(q, code)), "kind %d code -%x", i, code);
            }
        }
        if (q->nan > 0) cr_assert(isnan(f8_to_f32((uint8_t)q->nan, q->k)));
        if (q->inf > 0) cr_assert_eq(f8_to_f32((uint8_t)q->inf, q->k), INFINITY);
    }
    cr_assert(isnan(f8_to_f32(0xff, F8_E4M3FN)) && isnan(f8_to_f32(0xfe, F8_E5M2)) && isnan(f8_to_f32(0x7f, F8_E5M2)));
    cr_assert_eq(f8_to_f32(0x7e, F8_E4M3FN), 448);
    cr_assert_eq(f8_to_f32(0x7f, F8_E4M3FNUZ), 240);
    cr_assert_eq(f8_to_f32(0x7b, F8_E5M2), 57344);
    cr_assert_eq(f8_to_f32(0x7f, F8_E5M2FNUZ), 57344);
    cr_assert_eq(f8_to_f32(0x7, F4_E2M1), 6);
}

Test(f8, nearest_with_ties) {
    for (int i = 0; i < KINDS; i++) {
        const struct kind *q = &kinds[i];
        int sign = 1 << (q->e + q->m);
        for (int code = 0; code < q->max; code++) {
            double mid = (magnitude(q, code) + magnitude(q, code + 1)) / 2;
            int even = code & 1 ? code + 1 : code;
            cr_assert_eq(f32_to_f8((float)magnitude(q, code), q->k, false), code);
            cr_assert_eq(f32_to_f8((float)mid, q->k, true), even, "kind %d tie above %x", i, code);
            cr_assert_eq(f32_to_f8(nextafterf((float)mid, 0), q->k, true), code);
            cr_assert_eq(f32_to_f8(nextafterf((float)mid, INFINITY), q->k, true), code + 1);
            cr_assert_eq(f32_to_f8(-nextafterf((float)mid, INFINITY), q->k, true), (code + 1) | sign);
        }
    }
}

/* The two tables of the Cast operator. */
Test(f8, special_values) {
    for (int i = 0; i < KINDS; i++) {
        const struct kind *q = &kinds[i];
        uint8_t sign = (uint8_t)(1 << (q->e + q->m)), max = (uint8_t)q->max;
        cr_assert_eq(f32_to_f8(0, q->k, true), 0);
        cr_assert_eq(f32_to_f8(-0.0f, q->k, true), q->uz ? 0 : sign);
        cr_assert_eq(f32_to_f8(-1e-20f, q->k, true), q->uz ? 0 : sign);
        cr_assert_eq(f32_to_f8(1e6f, q->k, true), max);
        cr_assert_eq(f32_to_f8(-1e6f, q->k, true), max | sign);
        cr_assert_eq(f32_to_f8(INFINITY, q->k, true), max);
        cr_assert_eq(f32_to_f8(-INFINITY, q->k, true), max | sign);
        if (q->nan < 0) continue;
        for (int saturate = 0; saturate < 2; saturate++)
            cr_assert(isnan(f8_to_f32(f32_to_f8(NAN, q->k, saturate), q->k)));
        float huge = f8_to_f32(f32_to_f8(1e6f, q->k, false), q->k),
              inf = f8_to_f32(f32_to_f8(-INFINITY, q->k, false), q->k);
        if (q->inf > 0) cr_assert(huge == INFINITY && inf == -INFINITY);
        else cr_assert(isnan(huge) && isnan(inf));
    }
    cr_assert_eq(f32_to_f8(NAN, F4_E2M1, true), 7);
    cr_assert_eq(f32_to_f8(-NAN, F4_E2M1, true), 7);      /* the sign of a NaN differs from machine to machine */
    cr_assert_eq(f32_to_f8(464, F8_E4M3FN, false), 0x7e); /* a tie that rounds back into range */
    cr_assert(isnan(f8_to_f32(f32_to_f8(464.001f, F8_E4M3FN, false), F8_E4M3FN)));
}

Test(f8, e8m0) {
    for (int code = 0; code < 255; code++) {
        float f = f8_to_f32((uint8_t)code, F8_E8M0);
        cr_assert_eq((double)f, pow(2, code - 127));
        for (int r = E8M0_UP; r <= E8M0_NEAREST; r++) cr_assert_eq(f32_to_e8m0(f, (enum e8m0_round)r, true), code);
    }
    cr_assert(isnan(f8_to_f32(255, F8_E8M0)));
    cr_assert_eq(f32_to_f8(1, F8_E8M0, true), 127);
    cr_assert_eq(f32_to_f8(1.0001f, F8_E8M0, true), 128);
    cr_assert_eq(f32_to_f8(NAN, F8_E8M0, true), 255);
    cr_assert_eq(f32_to_e8m0(1.49f, E8M0_NEAREST, true), 127);
    cr_assert_eq(f32_to_e8m0(1.5f, E8M0_NEAREST, true), 128);
    cr_assert_eq(f32_to_e8m0(1.99f, E8M0_DOWN, true), 127);
    cr_assert_eq(f32_to_e8m0(3e38f, E8M0_UP, true), 254);
    cr_assert_eq(f32_to_e8m0(3e38f, E8M0_UP, false), 255);
}

Test(integers, saturate) {
    cr_assert_eq(f64_to_i32_sat(NAN), 0);
    cr_assert_eq(f64_to_i32_sat(-1.9f), -1);
    cr_assert_eq(f64_to_i32_sat(2147483648.0f), INT32_MAX);
    cr_assert_eq(f64_to_i32_sat(-INFINITY), INT32_MIN);
    cr_assert_eq(f64_to_i32_sat(2147483647.5), INT32_MAX);
    cr_assert_eq(f64_to_i32_sat(-2147483648.5), INT32_MIN);
    cr_assert_eq(f64_to_i32_sat(2147483646.5), 2147483646);
    cr_assert_eq(f64_to_i64_sat(1e30f), INT64_MAX);
    cr_assert_eq(f64_to_i64_sat(-1e30), INT64_MIN);
    cr_assert_eq(f64_to_i64_sat(-0x1p63), INT64_MIN);
    cr_assert_eq(f64_to_u32_sat(-1), 0u);
    cr_assert_eq(f64_to_u32_sat(4294967295.9), UINT32_MAX);
    cr_assert_eq(f64_to_u64_sat(1e30), UINT64_MAX);
    cr_assert_eq(f64_to_u64_sat(0x1p63), 1ull << 63);
    cr_assert_eq(f64_to_u64_sat(NAN), 0u);
}
