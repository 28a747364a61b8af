/* Instructions of x86 for integer dot products. A row says the same thing twice: as loops, which the interpreter runs
 * and `tensorize` looks for, and as C. tests/targets/rows holds the two to each other.
 *
 * vpmaddubsw is no row: it saturates the sums of pairs in 16 bits (255 * 127 * 2 does not fit), so it equals no sum of
 * products. vpmaddwd on widened bytes is exact. */
#include "lower/target/rows.h"

#define DOT2(lanes, a, b)                                                                                              \
    "proc p(C: i32[" lanes "] inout, A: " a "[2] in, B: " b "[" lanes ",2] in)\n"                                      \
    "  for v<" lanes "\n    for k<2\n      C[v] += A[k] * B[v,k]\n"
#define DOT4(lanes)                                                                                                    \
    "proc p(C: i32[" lanes "] inout, A: u8[4] in, B: i8[" lanes ",4] in)\n"                                            \
    "  for v<" lanes "\n    for k<4\n      C[v] += A[k] * B[v,k]\n"
/* A pair of bytes, widened and repeated, times 8 or 16 pairs */
#define MADD(row, lanes, A, B, a, b, ctype, vector, load, set)                                                         \
    static const struct instr_row row = {                                                                              \
        .name = #row,                                                                                                  \
        .body = DOT2(lanes, a, b),                                                                                     \
        .holes = {{"C", I32, {1, 0}}, {"A", A, {0, 1}}, {"B", B, {2, 1}}},                                             \
        .helper = "static inline " vector " nn_" #row "(" vector " c, const " ctype " *a, const void *b) {\n"          \
                  "    const uint32_t pair = (uint32_t)(uint16_t)a[0] | (uint32_t)(uint16_t)a[1] << 16;\n"             \
                  "    const " vector " w = " load ";\n"                                                               \
                  "    return " set "_add_epi32(c, " set "_madd_epi16(" set "_set1_epi32((int)pair), w));\n}\n",       \
        .c = "{C} = (nn_i32x" lanes ")nn_" #row "((" vector "){C}, {&A}, {&B})"}
#define AVX2_MADD(row, A, B, a, b, ctype, widen)                                                                       \
    MADD(row, "8", A, B, a, b, ctype, "__m256i", widen "(_mm_loadu_si128((const __m128i *)b))", "_mm256")
#define AVX512_MADD(row, A, B, a, b, ctype, widen)                                                                     \
    MADD(row, "16", A, B, a, b, ctype, "__m512i", widen "(_mm256_loadu_si256((const __m256i *)b))", "_mm512")
AVX2_MADD(vpmaddwd_u8i8, U8, I8, "u8", "i8", "uint8_t", "_mm256_cvtepi8_epi16");
AVX2_MADD(vpmaddwd_i8i8, I8, I8, "i8", "i8", "int8_t", "_mm256_cvtepi8_epi16");
AVX2_MADD(vpmaddwd_u8u8, U8, U8, "u8", "u8", "uint8_t", "_mm256_cvtepu8_epi16");
AVX2_MADD(vpmaddwd_i8u8, I8, U8, "i8", "u8", "int8_t", "_mm256_cvtepu8_epi16");
AVX512_MADD(vpmaddwd_x16_u8i8, U8, I8, "u8", "i8", "uint8_t", "_mm512_cvtepi8_epi16");
AVX512_MADD(vpmaddwd_x16_i8i8, I8, I8, "i8", "i8", "int8_t", "_mm512_cvtepi8_epi16");
AVX512_MADD(vpmaddwd_x16_u8u8, U8, U8, "u8", "u8", "uint8_t", "_mm512_cvtepu8_epi16");
AVX512_MADD(vpmaddwd_x16_i8u8, I8, U8, "i8", "u8", "int8_t", "_mm512_cvtepu8_epi16");
/* ... times what is left of weights of unsigned bytes without their zero point */
#define AVX2_PAIRS   "_mm256_loadu_si256((const __m256i *)b)"
#define AVX512_PAIRS "_mm512_loadu_si512(b)"
MADD(vpmaddwd_u8i16, "8", U8, I16, "u8", "i16", "uint8_t", "__m256i", AVX2_PAIRS, "_mm256");
MADD(vpmaddwd_i8i16, "8", I8, I16, "i8", "i16", "int8_t", "__m256i", AVX2_PAIRS, "_mm256");
MADD(vpmaddwd_x16_u8i16, "16", U8, I16, "u8", "i16", "uint8_t", "__m512i", AVX512_PAIRS, "_mm512");
MADD(vpmaddwd_x16_i8i16, "16", I8, I16, "i8", "i16", "int8_t", "__m512i", AVX512_PAIRS, "_mm512");

/* Four unsigned bytes times 8 or 16 times four signed ones, summed without saturation. */
#define LOAD4 "    int32_t four;\n    __builtin_memcpy(&four, a, 4);\n"
static const struct instr_row vpdpbusd_vex = {
    .name = "vpdpbusd_vex",
    .body = DOT4("8"),
    .holes = {{"C", I32, {1, 0}}, {"A", U8, {0, 1}}, {"B", I8, {4, 1}}},
    .helper = "static inline __m256i nn_vpdpbusd_vex(__m256i c, const uint8_t *a, const void *b) {\n" LOAD4
              "    return _mm256_dpbusd_avx_epi32(c, _mm256_set1_epi32(four), _mm256_loadu_si256((const __m256i "
              "*)b));\n}\n",
    .c = "{C} = (nn_i32x8)nn_vpdpbusd_vex((__m256i){C}, {&A}, {&B})"};
static const struct instr_row vpdpbusd = {
    .name = "vpdpbusd",
    .body = DOT4("16"),
    .holes = {{"C", I32, {1, 0}}, {"A", U8, {0, 1}}, {"B", I8, {4, 1}}},
    .helper = "static inline __m512i nn_vpdpbusd(__m512i c, const uint8_t *a, const void *b) {\n" LOAD4
              "    return _mm512_dpbusd_epi32(c, _mm512_set1_epi32(four), _mm512_loadu_si512(b));\n}\n",
    .c = "{C} = (nn_i32x16)nn_vpdpbusd((__m512i){C}, {&A}, {&B})"};

/* A pair of bytes, widened and repeated, times 16 pairs of 16 bits: what is left of weights of unsigned bytes without
 * their zero point. */
#define VNNI_PAIRS(row, A, a, ctype)                                                                                   \
    static const struct instr_row row = {                                                                              \
        .name = #row,                                                                                                  \
        .body = DOT2("16", a, "i16"),                                                                                  \
        .holes = {{"C", I32, {1, 0}}, {"A", A, {0, 1}}, {"B", I16, {2, 1}}},                                           \
        .helper = "static inline __m512i nn_" #row "(__m512i c, const " ctype " *a, const void *b) {\n"                \
                  "    const uint32_t pair = (uint32_t)(uint16_t)a[0] | (uint32_t)(uint16_t)a[1] << 16;\n"             \
                  "    return _mm512_dpwssd_epi32(c, _mm512_set1_epi32((int)pair), _mm512_loadu_si512(b));\n}\n",      \
        .c = "{C} = (nn_i32x16)nn_" #row "((__m512i){C}, {&A}, {&B})"}
VNNI_PAIRS(vpdpwssd_u8i16, U8, "u8", "uint8_t");
VNNI_PAIRS(vpdpwssd_i8i16, I8, "i8", "int8_t");

#define MADDS &vpmaddwd_u8i8, &vpmaddwd_i8i8, &vpmaddwd_u8u8, &vpmaddwd_i8u8, &vpmaddwd_u8i16, &vpmaddwd_i8i16
#define MADDS_X16                                                                                                      \
    &vpmaddwd_x16_u8i8, &vpmaddwd_x16_i8i8, &vpmaddwd_x16_u8u8, &vpmaddwd_x16_i8u8, &vpmaddwd_x16_u8i16,               \
        &vpmaddwd_x16_i8i16
const struct instr_row *const nn_instrs_avx2[] = {MADDS, NULL};
const struct instr_row *const nn_instrs_avxvnni[] = {&vpdpbusd_vex, MADDS, NULL};
const struct instr_row *const nn_instrs_avx512[] = {MADDS_X16, MADDS, NULL};
const struct instr_row *const nn_instrs_avx512vnni[] = {&vpdpbusd, &vpdpwssd_u8i16, &vpdpwssd_i8i16,
                                                        MADDS_X16, MADDS,           NULL};
