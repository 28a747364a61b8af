/* f16_vector_store: kernels. Called from f16_vector_store.c. */
#include <stddef.h>
#include <stdint.h>

#if defined __FAST_MATH__
#error "this code states its arithmetic exactly: compile it without -ffast-math"
#endif

/* instructions that this file needs of the CPU */
#if defined __clang__
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c"))), apply_to = function)
#elif defined __GNUC__
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma,f16c")
#endif

static inline uint32_t nn_bits_f32_to_u32(float x) {
    union { float from; uint32_t to; } u;
    u.from = x;
    return u.to;
}

static inline float nn_bits_u32_to_f32(uint32_t x) {
    union { uint32_t from; float to; } u;
    u.from = x;
    return u.to;
}

static inline uint16_t nn_f32_to_f16(float x) {
    uint32_t u = nn_bits_f32_to_u32(x);
    const uint32_t sign = u >> 16 & 0x8000u;
    u &= 0x7fffffffu;
    if (u > 0x7f800000u)
        return (uint16_t)(sign | 0x7e00u);
    if (u >= 0x477ff000u)                    /* rounds to 65536 or more */
        return (uint16_t)(sign | 0x7c00u);
    if (u < 0x38800000u)                     /* subnormal: the sum rounds at the last bit of the result */
        return (uint16_t)(sign | (nn_bits_f32_to_u32(nn_bits_u32_to_f32(u) + 0.5f) - 0x3f000000u));
    u += 0xfffu + (u >> 13 & 1u);
    return (uint16_t)(sign | (u - 0x38000000u) >> 13);
}

static inline float nn_f16_to_f32(uint16_t h) {
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, exp = (h >> 10) & 31u, man = h & 1023u;
    if (exp == 0) {
        const float f = (float)man * 5.9604644775390625e-8f;
        return sign ? -f : f;
    }
    return nn_bits_u32_to_f32(sign | (exp == 31 ? 255u : exp + 112u) << 23 | man << 13);
}
#include "f16_vector_store_kernels.h"

/* sum
 *   x: f16[8] in
 *   s: f16[1] out
 */
void f16_vector_store_sum(const uint16_t *restrict x, uint16_t *restrict s) {
    s[0] = nn_f32_to_f16(2048.0f);
    s[0] = nn_f32_to_f16(nn_f16_to_f32(s[0]) + nn_f16_to_f32(x[0]));
    s[0] = nn_f32_to_f16(nn_f16_to_f32(s[0]) + nn_f16_to_f32(x[1]));
    s[0] = nn_f32_to_f16(nn_f16_to_f32(s[0]) + nn_f16_to_f32(x[2]));
    s[0] = nn_f32_to_f16(nn_f16_to_f32(s[0]) + nn_f16_to_f32(x[3]));
    s[0] = nn_f32_to_f16(nn_f16_to_f32(s[0]) + nn_f16_to_f32(x[4]));
    s[0] = nn_f32_to_f16(nn_f16_to_f32(s[0]) + nn_f16_to_f32(x[5]));
    s[0] = nn_f32_to_f16(nn_f16_to_f32(s[0]) + nn_f16_to_f32(x[6]));
    s[0] = nn_f32_to_f16(nn_f16_to_f32(s[0]) + nn_f16_to_f32(x[7]));
}

#if defined __clang__
#pragma clang attribute pop
#endif
