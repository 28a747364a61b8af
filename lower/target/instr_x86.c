/* Instructions of x86 for integer dot products. A row says the same thing twice: as loops, which the interpreter runs
 * and `tensorize` looks for, and as C. tests/targets/rows holds the two to each other.
 *
 * vpmaddubsw saturates the sums of pairs in 16 bits (255 * 127 * 2 does not fit), so it equals the sum of products
 * where weights have seven bits alone. vpmaddwd on bytes that lie as 16 bits is always exact; widened beside it, a byte
 * would cost more than its product.
 */
#include "lower/target/rows.h"

#define DOT2(lanes)                                                                                                    \
    "proc p(C: i32[" lanes "] inout, A: i16[2] in, B: i16[" lanes ",2] in)\n"                                          \
    "  for v<" lanes "\n    for k<2\n      C[v] += A[k] * B[v,k]\n"
#define DOT4(lanes)                                                                                                    \
    "proc p(C: i32[" lanes "] inout, A: u8[4] in, B: i8[" lanes ",4] in)\n"                                            \
    "  for v<" lanes "\n    for k<4\n      C[v] += A[k] * B[v,k]\n"
/* 32 bits of a, broadcast, times those of each lane: `sum` is c with the products of `a` and `w` added. */
#define DOTS(row, loops, lanes, ta, tb, each, element, vector, load, set, sum, order, limits)                          \
    static const struct instr_row row = {.name = #row,                                                                 \
                                         .body = loops(lanes),                                                         \
                                         .holes = {{"C", I32, {1, 0}}, {"A", ta, {0, 1}}, {"B", tb, {each, 1}}},       \
                                         .within = limits,                                                             \
                                         .helper = HELPER(row, lanes, vector, "const " element " *x",                  \
                                                          "    int32_t side;\n    __builtin_memcpy(&side, x, 4);\n"    \
                                                          "    const " vector " a = " set                              \
                                                          "_set1_epi32(side), w = " load ";\n    c = " sum ";\n",      \
                                                          order),                                                      \
                                         .c = CALL(row)}
/* Adds to `sum`, which the lines do as `c`. Callers see the type of their accumulator alone: a conversion around a call
 * would let gcc move the additions behind all products. */
#define HELPER(row, lanes, vector, x, lines, order)                                                                    \
    "static inline nn_i32x" lanes " nn_" #row "(nn_i32x" lanes " sum, " x ", const void *b) {\n"                       \
    "    " vector " c = (" vector ")sum;\n" lines "    sum = (nn_i32x" lanes ")c;\n" order "    return sum;\n}\n"
#define CALL(row) "{C} = nn_" #row "({C}, {&A}, {&B})"
/* Pairs of 16-bit integers. After an addition the sum passes through an empty assembler statement: otherwise gcc
 * reassociates integer sums and spills what then has to wait in registers (half of the time of a pointwise
 * convolution). */
#define AS_WRITTEN "    __asm(\"\" : \"+v\"(sum));\n"
#define ANY                                                                                                            \
    { NULL, 0, 0 }
#define SEVEN_BITS                                                                                                     \
    { "B", -64, 64 }
#define PAIRS(row, lanes, ...) DOTS(row, DOT2, lanes, I16, I16, 2, "int16_t", __VA_ARGS__, ANY)
/* Four unsigned bytes times four signed ones, summed without saturation. */
#define FOURS(row, lanes, ...) DOTS(row, DOT4, lanes, U8, I8, 4, "uint8_t", __VA_ARGS__, "", ANY)
/* The same via 16-bit sums of two products. */
#define SHORT_FOURS(row, lanes, ...) DOTS(row, DOT4, lanes, U8, I8, 4, "uint8_t", __VA_ARGS__, AS_WRITTEN, SEVEN_BITS)
#define X4                           "__m128i", "_mm_loadu_si128((const __m128i *)b)", "_mm"
#define X8                           "__m256i", "_mm256_loadu_si256((const __m256i *)b)", "_mm256"
#define X16                          "__m512i", "_mm512_loadu_si512(b)", "_mm512"
PAIRS(pmaddwd, "4", X4, "_mm_add_epi32(c, _mm_madd_epi16(a, w))", AS_WRITTEN);
PAIRS(vpmaddwd, "8", X8, "_mm256_add_epi32(c, _mm256_madd_epi16(a, w))", AS_WRITTEN);
PAIRS(vpmaddwd_x16, "16", X16, "_mm512_add_epi32(c, _mm512_madd_epi16(a, w))", AS_WRITTEN);
PAIRS(vpdpwssd, "16", X16, "_mm512_dpwssd_epi32(c, a, w)", "");
SHORT_FOURS(vpmaddubsw, "8", X8,
            "_mm256_add_epi32(c, _mm256_madd_epi16(_mm256_maddubs_epi16(a, w), _mm256_set1_epi16(1)))");
SHORT_FOURS(vpmaddubsw_x16, "16", X16,
            "_mm512_add_epi32(c, _mm512_madd_epi16(_mm512_maddubs_epi16(a, w), _mm512_set1_epi16(1)))");
FOURS(vpdpbusd_vex, "8", X8, "_mm256_dpbusd_avx_epi32(c, a, w)");
FOURS(vpdpbusd_vex_x4, "4", X4, "_mm_dpbusd_avx_epi32(c, a, w)");
FOURS(vpdpbusd, "16", X16, "_mm512_dpbusd_epi32(c, a, w)");
FOURS(vpdpbusd_x8, "8", X8, "_mm256_dpbusd_epi32(c, a, w)");
FOURS(vpdpbusd_x4, "4", X4, "_mm_dpbusd_epi32(c, a, w)");

/* Signed bytes, broadcast, times unsigned ones of each lane: with sums of pairs in 32 bits, as those in 16 could
 * saturate. `all` is the suffix of operations on whole registers. */
#define DOT4_SIGNED(lanes)                                                                                             \
    "proc p(C: i32[" lanes "] inout, A: i8[4] in, B: u8[" lanes ",4] in)\n"                                            \
    "  for v<" lanes "\n    for k<4\n      C[v] += A[k] * B[v,k]\n"
#define SIGNED_FOURS(row, lanes, ...) DOTS(row, DOT4_SIGNED, lanes, I8, U8, 4, "int8_t", __VA_ARGS__, ANY)
#define MADD(set, a, b)               set "_madd_epi16(" a ", " b ")"
#define EVEN(set, all)                set "_and_" all "(w, " set "_set1_epi16(255))"
#define SIGNED_EVEN(set, x)           set "_srai_epi16(" set "_slli_epi16(" x ", 8), 8)"
#define BY_PAIRS(set, all)                                                                                             \
    set "_add_epi32(" set "_add_epi32(c, " MADD(set, SIGNED_EVEN(set, "a"), EVEN(set, all)) "), " MADD(                \
        set, set "_srai_epi16(a, 8)", set "_srli_epi16(w, 8)") ")"
SIGNED_FOURS(pmaddwd_s8u8, "4", X4, BY_PAIRS("_mm", "si128"), AS_WRITTEN);
SIGNED_FOURS(vpmaddwd_s8u8, "8", X8, BY_PAIRS("_mm256", "si256"), AS_WRITTEN);
SIGNED_FOURS(vpmaddwd_s8u8_x16, "16", X16, BY_PAIRS("_mm512", "si512"), AS_WRITTEN);
SIGNED_FOURS(vpdpbusd_vex_s8u8, "8", X8, "_mm256_dpbusd_avx_epi32(c, w, a)", "");
SIGNED_FOURS(vpdpbusd_s8u8, "16", X16, "_mm512_dpbusd_epi32(c, w, a)", "");

/* The same for two fields of four bits in each unsigned byte: four signed bytes for the lower ones, then four for the
 * upper ones. Such products are small enough for sums in 16 bits. */
#define FIELDS_OF(row, lanes, vector, load, set, sum, order)                                                           \
    static const struct instr_row row = {                                                                              \
        .name = #row,                                                                                                  \
        .body = "proc p(C: i32[" lanes "] inout, A: i8[2,4] in, B: u8[" lanes ",4] in)\n  for v<" lanes                \
                "\n    for p<2\n      for k<4\n        C[v] += A[p,k] * and(shr(B[v,k], i32(idx(p*4))), 15i32)\n",     \
        .holes = {{"C", I32, {1, 0, 0}}, {"A", I8, {0, 4, 1}}, {"B", U8, {4, 0, 1}}},                                  \
        .helper = HELPER(                                                                                              \
            row, lanes, vector, "const int8_t *x",                                                                     \
            "    int32_t low, high;\n    __builtin_memcpy(&low, x, 4);\n    __builtin_memcpy(&high, x + 4, 4);\n"      \
            "    const " vector " w = " load ", a0 = " set "_set1_epi32(low), a1 = " set "_set1_epi32(high);\n" sum,   \
            order),                                                                                                    \
        .c = CALL(row)}
#define FIELDS(row, ...) FIELDS_OF(row, __VA_ARGS__)
#define SPLIT(vector, set, all)                                                                                        \
    "    const " vector " mask = " set "_set1_epi8(15), w0 = " set "_and_" all "(w, mask),\n"                          \
    "        w1 = " set "_and_" all "(" set "_srli_epi16(w, 4), mask);\n"
#define DOTS_OF_BOTH(dot) "    c = " dot "(" dot "(c, w0, a0), w1, a1);\n"
#define MADD_UBS_OF_BOTH(set)                                                                                          \
    "    c = " set "_add_epi32(c, " set "_madd_epi16(" set "_add_epi16(" set "_maddubs_epi16(w0, a0), " set            \
    "_maddubs_epi16(w1, a1)), " set "_set1_epi16(1)));\n"
/* Without sums of 16 bits: fields of 16 bits each, those of even bytes and the others. */
#define PAIRS_OF_BOTH                                                                                                  \
    "    const __m128i mask = _mm_set1_epi16(15), e0 = _mm_and_si128(w, mask), o1 = _mm_srli_epi16(w, 12),\n"          \
    "        o0 = _mm_and_si128(_mm_srli_epi16(w, 8), mask), e1 = _mm_and_si128(_mm_srli_epi16(w, 4), mask);\n"        \
    "    c = _mm_add_epi32(c, " MADD("_mm", SIGNED_EVEN("_mm", "a0"),                                                  \
                                     "e0") ");\n"                                                                      \
                                           "    c = _mm_add_epi32(c, " MADD(                                           \
                                               "_mm", "_mm_srai_epi16(a0, 8)",                                         \
                                               "o0") ");\n"                                                            \
                                                     "    c = _mm_add_epi32(c, " MADD(                                 \
                                                         "_mm", SIGNED_EVEN("_mm", "a1"),                              \
                                                         "e1") ");\n"                                                  \
                                                               "    c = _mm_add_epi32(c, " MADD(                       \
                                                                   "_mm", "_mm_srai_epi16(a1, 8)", "o1") ");\n"
FIELDS(pmaddwd_s8u4, "4", X4, PAIRS_OF_BOTH, AS_WRITTEN);
FIELDS(vpmaddubsw_s8u4, "8", X8, SPLIT("__m256i", "_mm256", "si256") MADD_UBS_OF_BOTH("_mm256"), AS_WRITTEN);
FIELDS(vpmaddubsw_s8u4_x16, "16", X16, SPLIT("__m512i", "_mm512", "si512") MADD_UBS_OF_BOTH("_mm512"), AS_WRITTEN);
FIELDS(vpdpbusd_vex_s8u4, "8", X8, SPLIT("__m256i", "_mm256", "si256") DOTS_OF_BOTH("_mm256_dpbusd_avx_epi32"), "");
FIELDS(vpdpbusd_s8u4, "16", X16, SPLIT("__m512i", "_mm512", "si512") DOTS_OF_BOTH("_mm512_dpbusd_epi32"), "");

/* The same for several groups of lanes, each with 32 bits of its own: the first of `per` cells. */
#define OF_GROUPS(row, lanes, groups, per, steps, a, b, ta, tb, each, element, spread, vector, load, set, sum, order,  \
                  limits)                                                                                              \
    static const struct instr_row row = {                                                                              \
        .name = #row,                                                                                                  \
        .body = "proc p(C: i32[" lanes "] inout, A: " a "[" groups "," per "] in, B: " b "[" lanes "," steps "] in)\n" \
                "  for v<" lanes "\n    for k<" steps "\n      C[v] += A[v//" per ",k] * B[v,k]\n",                    \
        .holes = {{"C", I32, {1, 0}}, {"A", ta, {0, 1}}, {"B", tb, {each, 1}}},                                        \
        .within = limits,                                                                                              \
        .helper = HELPER(row, lanes, vector, "const " element " *x",                                                   \
                         spread "    const " vector " w = " load ";\n    c = " sum ";\n", order),                      \
        .c = CALL(row)}
#define FOURS_OF_GROUPS(row, lanes, groups, per, ...)                                                                  \
    OF_GROUPS(row, lanes, groups, per, "4", "u8", "i8", U8, I8, 4, "uint8_t", __VA_ARGS__, "", ANY)
#define SHORT_FOURS_OF_GROUPS(row, lanes, groups, per, ...)                                                            \
    OF_GROUPS(row, lanes, groups, per, "4", "u8", "i8", U8, I8, 4, "uint8_t", __VA_ARGS__, AS_WRITTEN, SEVEN_BITS)
#define PAIRS_OF_GROUPS(row, lanes, groups, per, ...)                                                                  \
    OF_GROUPS(row, lanes, groups, per, "2", "i16", "i16", I16, I16, 2, "int16_t", __VA_ARGS__, AS_WRITTEN, ANY)
#define TWO(per)                                                                                                       \
    "    int32_t first, second;\n    __builtin_memcpy(&first, x, 4);\n"                                                \
    "    __builtin_memcpy(&second, x + " per ", 4);\n"
#define TWO_OF_X8(per)                                                                                                 \
    TWO(per)                                                                                                           \
    "    const __m256i low = _mm256_set1_epi32(first);\n"                                                              \
    "    const __m256i a = _mm256_inserti128_si256(low, _mm_set1_epi32(second), 1);\n"
#define TWO_OF_X16(per)                                                                                                \
    TWO(per) "    const __m512i a = _mm512_mask_set1_epi32(_mm512_set1_epi32(first), 0xff00, second);\n"
#define FOUR_OF_X16                                                                                                    \
    "    const __m512i at = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);\n"                       \
    "    const __m512i four = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(const void *)x));\n"            \
    "    const __m512i a = _mm512_permutexvar_epi32(at, four);\n"
#define MADD_UBS(set) set "_add_epi32(c, " set "_madd_epi16(" set "_maddubs_epi16(a, w), " set "_set1_epi16(1)))"
FOURS_OF_GROUPS(vpdpbusd_4x4, "16", "4", "4", FOUR_OF_X16, X16, "_mm512_dpbusd_epi32(c, a, w)");
FOURS_OF_GROUPS(vpdpbusd_2x8, "16", "2", "8", TWO_OF_X16("8"), X16, "_mm512_dpbusd_epi32(c, a, w)");
FOURS_OF_GROUPS(vpdpbusd_vex_2x4, "8", "2", "4", TWO_OF_X8("4"), X8, "_mm256_dpbusd_avx_epi32(c, a, w)");
SHORT_FOURS_OF_GROUPS(vpmaddubsw_2x4, "8", "2", "4", TWO_OF_X8("4"), X8, MADD_UBS("_mm256"));
SHORT_FOURS_OF_GROUPS(vpmaddubsw_4x4, "16", "4", "4", FOUR_OF_X16, X16, MADD_UBS("_mm512"));
SHORT_FOURS_OF_GROUPS(vpmaddubsw_2x8, "16", "2", "8", TWO_OF_X16("8"), X16, MADD_UBS("_mm512"));
PAIRS_OF_GROUPS(vpmaddwd_2x4, "8", "2", "4", TWO_OF_X8("4"), X8, "_mm256_add_epi32(c, _mm256_madd_epi16(a, w))");

/* A pair of bf16 times those of all lanes. Products are exact in f32; the second of a pair is added first, each with
 * one rounding, so a result differs from the body's by four half units at most. Denormals count as zeros. */
#define BF16_PAIRS(row, lanes, vector, pairs, intrinsics, load)                                                        \
    static const struct instr_row row = {                                                                              \
        .name = #row,                                                                                                  \
        .body = "proc p(C: f32[" lanes "] inout, A: bf16[2] in, B: bf16[" lanes ",2] in)\n"                            \
                "  for v<" lanes "\n    for k<2\n      C[v] = fma(A[k], B[v,k], C[v])\n",                              \
        .holes = {{"C", F32, {1, 0}}, {"A", BF16, {0, 1}}, {"B", BF16, {2, 1}}},                                       \
        .helper =                                                                                                      \
            "static inline nn_f32x" lanes " nn_" #row "(nn_f32x" lanes " c, const void *a, const void *b) {\n"         \
            "    int32_t pair;\n    __builtin_memcpy(&pair, a, 4);\n    return (nn_f32x" lanes ")" intrinsics          \
            "_dpbf16_ps((" vector ")c, (" pairs ")" intrinsics "_set1_epi32(pair), (" pairs ")" load "(b));\n}\n",     \
        .c = CALL(row),                                                                                                \
        .bound = 2}
BF16_PAIRS(vdpbf16ps, "16", "__m512", "__m512bh", "_mm512", "_mm512_loadu_si512");
BF16_PAIRS(vdpbf16ps_x8, "8", "__m256", "__m256bh", "_mm256", "_mm256_loadu_si256");
BF16_PAIRS(vdpbf16ps_x4, "4", "__m128", "__m128bh", "_mm", "_mm_loadu_si128");

const struct instr_row *const nn_instrs_sse2[] = {&pmaddwd, &pmaddwd_s8u8, &pmaddwd_s8u4, NN_SQUARES_SSE2, NULL};
const struct instr_row *const nn_instrs_avx2[] = {&vpmaddubsw,     &vpmaddwd_s8u8,  &vpmaddubsw_s8u4,
                                                  &vpmaddubsw_2x4, &vpmaddwd,       &vpmaddwd_2x4,
                                                  &pmaddwd,        NN_SQUARES_AVX2, NULL};
const struct instr_row *const nn_instrs_avxvnni[] = {
    &vpdpbusd_vex, &vpdpbusd_vex_s8u8, &vpdpbusd_vex_s8u4, &vpdpbusd_vex_2x4, &vpdpbusd_vex_x4,
    &vpmaddwd,     &vpmaddwd_2x4,      &pmaddwd,           NN_SQUARES_AVX2,   NULL};
const struct instr_row *const nn_instrs_avx512[] = {&vpmaddubsw_x16,
                                                    &vpmaddwd_s8u8_x16,
                                                    &vpmaddubsw_s8u4_x16,
                                                    &vpmaddubsw_4x4,
                                                    &vpmaddubsw_2x8,
                                                    &vpmaddubsw,
                                                    &vpmaddwd_x16,
                                                    &vpmaddwd,
                                                    &pmaddwd,
                                                    NN_SQUARES_AVX512,
                                                    NULL};
#define VNNI                                                                                                           \
    &vpdpbusd, &vpdpbusd_s8u8, &vpdpbusd_s8u4, &vpdpbusd_4x4, &vpdpbusd_2x8, &vpdpbusd_x8, &vpdpbusd_x4, &vpdpwssd,    \
        &vpmaddwd_x16, &vpmaddwd, &pmaddwd, NN_SQUARES_AVX512, NULL
const struct instr_row *const nn_instrs_avx512vnni[] = {VNNI};
const struct instr_row *const nn_instrs_avx512bf16[] = {&vdpbf16ps, &vdpbf16ps_x8, &vdpbf16ps_x4, VNNI};
const struct instr_row *const nn_instrs_amx[] = {&nn_tile_dpbusd, &nn_tile_dpbssd,   &nn_tile_dpbuud,
                                                 &nn_tile_dpbsud, &nn_tile_dpbf16ps, VNNI};
