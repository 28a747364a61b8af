/* x86-64: SSE2, AVX2 with FMA, AVX-512. Spelling rows say what a vector operation is called where C has no operator for
 * it; each has exactly the meaning of the operation in the loop IR (min and max return the second operand for NaN, as
 * `a < b ? a : b` does). */
#include "lower/target/rows.h"

#define END                                                                                                            \
    { X_POISON, NONE, 0, NULL }

/* 128-bit forms that SSE2 has */
#define SSE2_F32X4                                                                                                     \
    {X_RINT, I32, 1, "_mm_cvtss_si32(_mm_set_ss(%a))"}, {X_RINT, I32, 4, "($T)_mm_cvtps_epi32(%a)"},                   \
        {X_MIN, F32, 1, "_mm_cvtss_f32(_mm_min_ss(_mm_set_ss(%a), _mm_set_ss(%b)))"},                                  \
        {X_MAX, F32, 1, "_mm_cvtss_f32(_mm_max_ss(_mm_set_ss(%a), _mm_set_ss(%b)))"},                                  \
        {X_MIN, F32, 4, "_mm_min_ps(%a, %b)"}, {X_MAX, F32, 4, "_mm_max_ps(%a, %b)"},                                  \
        {X_SQRT, F32, 4, "_mm_sqrt_ps(%a)"}, {X_MIN, F64, 2, "_mm_min_pd(%a, %b)"},                                    \
        {X_MAX, F64, 2, "_mm_max_pd(%a, %b)"}, {                                                                       \
        X_SQRT, F64, 2, "_mm_sqrt_pd(%a)"                                                                              \
    }
#define AVX2_X4                                                                                                        \
    SSE2_F32X4, {X_FMA, F32, 4, "_mm_fmadd_ps(%a, %b, %c)"}, {X_FMA, F64, 2, "_mm_fmadd_pd(%a, %b, %c)"},              \
        {X_FLOOR, F32, 4, "_mm_floor_ps(%a)"}, {X_CEIL, F32, 4, "_mm_ceil_ps(%a)"},                                    \
        {X_TRUNC, F32, 4, "_mm_round_ps(%a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)"},                                 \
        {X_RINT, F32, 4, "_mm_round_ps(%a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)"},                           \
        {X_FLOOR, F64, 2, "_mm_floor_pd(%a)"}, {X_CEIL, F64, 2, "_mm_ceil_pd(%a)"},                                    \
        {X_TRUNC, F64, 2, "_mm_round_pd(%a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)"}, {                               \
        X_RINT, F64, 2, "_mm_round_pd(%a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)"                              \
    }
#define AVX2_X8                                                                                                        \
    {X_RINT, I32, 8, "($T)_mm256_cvtps_epi32(%a)"}, {X_FMA, F32, 8, "_mm256_fmadd_ps(%a, %b, %c)"},                    \
        {X_FMA, F64, 4, "_mm256_fmadd_pd(%a, %b, %c)"}, {X_MIN, F32, 8, "_mm256_min_ps(%a, %b)"},                      \
        {X_MAX, F32, 8, "_mm256_max_ps(%a, %b)"}, {X_SQRT, F32, 8, "_mm256_sqrt_ps(%a)"},                              \
        {X_MIN, F64, 4, "_mm256_min_pd(%a, %b)"}, {X_MAX, F64, 4, "_mm256_max_pd(%a, %b)"},                            \
        {X_SQRT, F64, 4, "_mm256_sqrt_pd(%a)"}, {X_FLOOR, F32, 8, "_mm256_floor_ps(%a)"},                              \
        {X_CEIL, F32, 8, "_mm256_ceil_ps(%a)"},                                                                        \
        {X_TRUNC, F32, 8, "_mm256_round_ps(%a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)"},                              \
        {X_RINT, F32, 8, "_mm256_round_ps(%a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)"},                        \
        {X_FLOOR, F64, 4, "_mm256_floor_pd(%a)"}, {X_CEIL, F64, 4, "_mm256_ceil_pd(%a)"},                              \
        {X_TRUNC, F64, 4, "_mm256_round_pd(%a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)"},                              \
        {X_RINT, F64, 4, "_mm256_round_pd(%a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)"}, {                      \
        X_SELECT, F32, 8, "_mm256_blendv_ps(%c, %b, ($T)%a)"                                                           \
    }
/* The lesser and the greater of integers, and how far they are from 0; compilers compare and select. */
#define CHOICE(type, lanes, set, suffix, m)                                                                            \
    {X_MIN, type, lanes, "($T)" set "_min_ep" suffix "((" m ")%a, (" m ")%b)"},                                        \
        {X_MAX, type, lanes, "($T)" set "_max_ep" suffix "((" m ")%a, (" m ")%b)"}, {                                  \
        X_ABS, type, lanes, "($T)" set "_abs_ep" suffix "((" m ")%a)"                                                  \
    }
#define AVX2_CHOICES CHOICE(I32, 4, "_mm", "i32", "__m128i"), CHOICE(I32, 8, "_mm256", "i32", "__m256i")
#define AVX512_CHOICES                                                                                                 \
    CHOICE(I64, 2, "_mm", "i64", "__m128i"), CHOICE(I64, 4, "_mm256", "i64", "__m256i"),                               \
        CHOICE(I64, 8, "_mm512", "i64", "__m512i"), CHOICE(I32, 16, "_mm512", "i32", "__m512i")
/* Quotients of integers are those of doubles, which hold them, without what is behind the point. What does not fit
 * becomes the least integer, as that one divided by -1 does; a quotient by 0 is made 0. */
#define QUOTIENTS(set, part)                                                                                           \
    set "_cvttpd_epi32(" set "_div_pd(" set "_cvtepi32_pd(" part("%a") "), " set "_cvtepi32_pd(" part("%b") ")))"
#define ALL_X4(v)   "(__m128i)" v
#define LOW_X8(v)   "_mm256_castsi256_si128((__m256i)" v ")"
#define HIGH_X8(v)  "_mm256_extracti128_si256((__m256i)" v ", 1)"
#define LOW_X16(v)  "_mm512_castsi512_si256((__m512i)" v ")"
#define HIGH_X16(v) "_mm512_extracti64x4_epi64((__m512i)" v ", 1)"
#define AVX2_QUOTIENTS                                                                                                 \
    {X_DIV, I32, 4,                                                                                                    \
     "($T)_mm_andnot_si128(_mm_cmpeq_epi32((__m128i)%b, _mm_setzero_si128()), " QUOTIENTS("_mm256", ALL_X4) ")"},      \
    {                                                                                                                  \
        X_DIV, I32, 8,                                                                                                 \
            "($T)_mm256_andnot_si256(_mm256_cmpeq_epi32((__m256i)%b, _mm256_setzero_si256()), "                        \
            "_mm256_set_m128i(" QUOTIENTS("_mm256", HIGH_X8) ", " QUOTIENTS("_mm256", LOW_X8) "))"                     \
    }
#define AVX512_QUOTIENTS                                                                                               \
    {                                                                                                                  \
        X_DIV, I32, 16,                                                                                                \
            "($T)_mm512_maskz_mov_epi32(_mm512_test_epi32_mask((__m512i)%b, (__m512i)%b), "                            \
            "_mm512_inserti64x4(_mm512_castsi256_si512(" QUOTIENTS("_mm512", LOW_X16) "), " QUOTIENTS(                 \
                "_mm512", HIGH_X16) ", 1))"                                                                            \
    }
/* Tables, by places that the lanes have. */
#define AVX2_LOOK_UP                                                                                                   \
    {X_TOIDX, F32, 8, "_mm256_i32gather_ps(%a, (__m256i)%b, 4)"}, {                                                    \
        X_TOIDX, I32, 8, "($T)_mm256_i32gather_epi32(%a, (__m256i)%b, 4)"                                              \
    }
/* The bytes of a table of 256, which four registers hold as 64 times four: those of a byte's upper bits, and of these
 * the one that its last two say, shifted to an end and back. */
#define QUARTER(at) "_mm512_loadu_si512(%a + " at ")"
#define HALF(first, second)                                                                                            \
    "_mm512_permutex2var_epi32(" QUARTER(first) ", _mm512_srli_epi32((__m512i)%b, 2), " QUARTER(second) ")"
#define BYTE_OF_256(type, shift)                                                                                       \
    {                                                                                                                  \
        X_TOIDX, type, 16,                                                                                             \
            "($T)" shift "(_mm512_sllv_epi32(_mm512_mask_blend_epi32(_mm512_test_epi32_mask((__m512i)%b, "             \
            "_mm512_set1_epi32(128)), " HALF("0", "64") ", " HALF(                                                     \
                "128", "192") "), _mm512_slli_epi32("                                                                  \
                              "_mm512_andnot_si512((__m512i)%b, _mm512_set1_epi32(3)), 3)), 24)"                       \
    }
/* Halves, by F16C; the rounding's immediate is that to nearest. */
#define F16C                                                                                                           \
    {X_LOAD, F16, 1, "_cvtsh_ss(%a)"}, {X_ROUND, F16, 1, "_cvtss_sh(%a, 0)"},                                          \
        {X_LOAD, F16, 4, "_mm_cvtph_ps(_mm_loadl_epi64((const __m128i *)(const void *)%a))"},                          \
        {X_ROUND, F16, 4, "_mm_storel_epi64((__m128i *)(void *)%b, _mm_cvtps_ph(%a, 0))"},                             \
        {X_LOAD, F16, 8, "_mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)%a))"}, {                     \
        X_ROUND, F16, 8, "_mm_storeu_si128((__m128i *)(void *)%b, _mm256_cvtps_ph(%a, 0))"                             \
    }

/* Bytes and halves to lanes of 32 bits, and back without saturation: gcc 12 takes the conversion of a vector apart. */
#define WIDE(type, lanes, set, load)                                                                                   \
    { X_LOAD, type, lanes, "($T)_mm" set "_epi32(" load "((const __m128i *)(const void *)%a))" }
#define WIDE256(type, convert)                                                                                         \
    { X_LOAD, type, 16, "($T)" convert "_epi32(_mm256_loadu_si256((const __m256i *)(const void *)%a))" }
#define AVX2_BYTES                                                                                                     \
    WIDE(U8, 8, "256_cvtepu8", "_mm_loadl_epi64"), WIDE(I8, 8, "256_cvtepi8", "_mm_loadl_epi64"),                      \
        WIDE(U16, 8, "256_cvtepu16", "_mm_loadu_si128"), WIDE(I16, 8, "256_cvtepi16", "_mm_loadu_si128"),              \
        {X_ROUND, U8, 8, AVX2_NARROW}, {X_ROUND, I8, 8, AVX2_NARROW}, {X_ROUND, U16, 8, AVX2_HALVE}, {                 \
        X_ROUND, I16, 8, AVX2_HALVE                                                                                    \
    }
#define FIRST_BYTES "0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1"
#define AVX2_NARROW                                                                                                    \
    "_mm_storel_epi64((__m128i *)(void *)%b, _mm256_castsi256_si128(_mm256_permutevar8x32_epi32(_mm256_shuffle_epi8("  \
    "(__m256i)%a, _mm256_setr_epi8(" FIRST_BYTES ", " FIRST_BYTES ")), _mm256_setr_epi32(0, 4, 0, 0, 0, 0, 0, 0))))"

#define FIRST_HALVES "0, 1, 4, 5, 8, 9, 12, 13, -1, -1, -1, -1, -1, -1, -1, -1"
#define AVX2_HALVE                                                                                                     \
    "_mm_storeu_si128((__m128i *)(void *)%b, _mm256_castsi256_si128(_mm256_permute4x64_epi64(_mm256_shuffle_epi8("     \
    "(__m256i)%a, _mm256_setr_epi8(" FIRST_HALVES ", " FIRST_HALVES ")), 8)))"

#define AVX512_NARROW "_mm_storeu_si128((__m128i *)(void *)%b, _mm512_cvtepi32_epi8((__m512i)%a))"
#define AVX512_HALVE  "_mm256_storeu_si256((__m256i *)(void *)%b, _mm512_cvtepi32_epi16((__m512i)%a))"

/* bf16. Its instruction takes denormals for zeros, which are rare. */
#define AVX512_WIDE_BF16(halves) "($T)_mm512_slli_epi32(_mm512_cvtepu16_epi32(" halves "), 16)"
#define AVX512_ROUNDED                                                                                                 \
    "_mm512_srli_epi32(_mm512_add_epi32((__m512i)%a, _mm512_add_epi32(_mm512_and_si512(_mm512_srli_epi32((__m512i)%a," \
    " 16), _mm512_set1_epi32(1)), _mm512_set1_epi32(0x7fff))), 16)"
#define AVX512_TO_BF16                                                                                                 \
    "_mm512_cvtepi32_epi16(_mm512_mask_or_epi32(" AVX512_ROUNDED ", _mm512_cmp_ps_mask(%a, %a, _CMP_UNORD_Q), "        \
    "_mm512_srli_epi32((__m512i)%a, 16), _mm512_set1_epi32(0x40)))"
#define BF16_TO_BF16                                                                                                   \
    "(__builtin_expect(_mm512_fpclass_ps_mask(%a, 0x20), 0) ? _mm512_mask_cvtepi32_epi16((__m256i)_mm512_cvtneps_pbh(" \
    "%a), _mm512_fpclass_ps_mask(%a, 0x20), " AVX512_ROUNDED ") : (__m256i)_mm512_cvtneps_pbh(%a))"
#define BF16_ROWS(halves)                                                                                              \
    {X_LOAD, BF16, 16, AVX512_WIDE_BF16("_mm256_loadu_si256((const __m256i *)(const void *)%a)")},                     \
        {X_ROUND, BF16, 16, "_mm256_storeu_si256((__m256i *)(void *)%b, " halves ")"}, {                               \
        X_CAST, BF16, 16, AVX512_WIDE_BF16(halves)                                                                     \
    }

static const struct spell_row sse2_rows[] = {SSE2_F32X4, END};
static const struct spell_row avx2_rows[] = {AVX2_X4,        AVX2_X8,      F16C,       AVX2_CHOICES,
                                             AVX2_QUOTIENTS, AVX2_LOOK_UP, AVX2_BYTES, END};
#define AVX512_ROWS                                                                                                    \
    AVX2_X4, AVX2_X8, F16C, AVX2_CHOICES, AVX512_CHOICES, AVX2_QUOTIENTS, AVX512_QUOTIENTS, AVX2_LOOK_UP,              \
        {X_TOIDX, F32, 16, "_mm512_i32gather_ps((__m512i)%b, %a, 4)"},                                                 \
        {X_TOIDX, I32, 16, "($T)_mm512_i32gather_epi32((__m512i)%b, %a, 4)"}, BYTE_OF_256(U8, "_mm512_srli_epi32"),    \
        BYTE_OF_256(I8, "_mm512_srai_epi32"), AVX2_BYTES, WIDE(U8, 16, "512_cvtepu8", "_mm_loadu_si128"),              \
        WIDE(I8, 16, "512_cvtepi8", "_mm_loadu_si128"), {X_ROUND, U8, 16, AVX512_NARROW},                              \
        WIDE256(U16, "_mm512_cvtepu16"), WIDE256(I16, "_mm512_cvtepi16"), {X_ROUND, I8, 16, AVX512_NARROW},            \
        {X_ROUND, U16, 16, AVX512_HALVE}, {X_ROUND, I16, 16, AVX512_HALVE},                                            \
        {X_FMA, F32, 16, "_mm512_fmadd_ps(%a, %b, %c)"}, {X_FMA, F64, 8, "_mm512_fmadd_pd(%a, %b, %c)"},               \
        {X_MIN, F32, 16, "_mm512_min_ps(%a, %b)"}, {X_MAX, F32, 16, "_mm512_max_ps(%a, %b)"},                          \
        {X_SQRT, F32, 16, "_mm512_sqrt_ps(%a)"}, {X_MIN, F64, 8, "_mm512_min_pd(%a, %b)"},                             \
        {X_MAX, F64, 8, "_mm512_max_pd(%a, %b)"}, {X_SQRT, F64, 8, "_mm512_sqrt_pd(%a)"},                              \
        {X_FLOOR, F32, 16, "_mm512_roundscale_ps(%a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)"},                     \
        {X_CEIL, F32, 16, "_mm512_roundscale_ps(%a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)"},                      \
        {X_TRUNC, F32, 16, "_mm512_roundscale_ps(%a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)"},                        \
        {X_RINT, F32, 16, "_mm512_roundscale_ps(%a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)"},                  \
        {X_FLOOR, F64, 8, "_mm512_roundscale_pd(%a, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)"},                      \
        {X_CEIL, F64, 8, "_mm512_roundscale_pd(%a, _MM_FROUND_TO_POS_INF | _MM_FROUND_NO_EXC)"},                       \
        {X_TRUNC, F64, 8, "_mm512_roundscale_pd(%a, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC)"},                         \
        {X_RINT, F64, 8, "_mm512_roundscale_pd(%a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)"},                   \
        {X_RINT, I32, 16, "($T)_mm512_cvtps_epi32(%a)"},                                                               \
        {X_LOAD, F16, 16, "_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)%a))"}, {                 \
        X_ROUND, F16, 16,                                                                                              \
            "_mm256_storeu_si256((__m256i *)(void *)%b, _mm512_cvtps_ph(%a, _MM_FROUND_TO_NEAREST_INT | "              \
            "_MM_FROUND_NO_EXC))"                                                                                      \
    }
static const struct spell_row avx512_rows[] = {AVX512_ROWS, BF16_ROWS(AVX512_TO_BF16), END},
                              avx512bf16_rows[] = {AVX512_ROWS, BF16_ROWS(BF16_TO_BF16), END};

/* What the rows share; each row says what it adds. */
#define X86              .cls = TC_CPU, .emit = EMIT_C_VECTOR, .headers = "#include <immintrin.h>\n", .cc = "cc"
#define AVX2             X86, .cflags = "", .spell = avx2_rows
#define AVX512           X86, .cflags = "", .spell = avx512_rows
#define AVX512BF16       X86, .cflags = "", .spell = avx512bf16_rows
#define AVX2_NEEDS       "avx2 fma f16c"
#define AVX2_ATTRIBUTE   "avx2,fma,f16c"
#define AVX512_NEEDS     "avx512f avx512bw avx512dq avx512vl fma f16c"
#define AVX512_ATTRIBUTE "avx512f,avx512bw,avx512dq,avx512vl,fma,f16c"

const struct target nn_target_x86_64 = {
    X86,
    .name = "x86-64",
    .help = "any 64-bit x86: SSE2, 4 lanes, no fused multiply-add",
    .machine = &machine_sse2,
    .cflags = "-march=x86-64",
    .spell = sse2_rows,
    .instrs = nn_instrs_sse2,
};
const struct target nn_target_x86_avx2 = {
    AVX2,
    .name = "x86-avx2",
    .machine = &machine_avx2,
    .help = "x86 with AVX2, FMA and F16C (Haswell, Zen and later): 8 lanes",
    .needs = AVX2_NEEDS,
    .attribute = AVX2_ATTRIBUTE,
    .instrs = nn_instrs_avx2,
};
const struct target nn_target_x86_avxvnni = {
    AVX2,
    .name = "x86-avxvnni",
    .machine = &machine_avxvnni,
    .help = "x86-avx2 with AVX-VNNI (Alder Lake, Zen 5 and later): dot products of bytes",
    .needs = AVX2_NEEDS " avxvnni",
    .attribute = AVX2_ATTRIBUTE ",avxvnni",
    .instrs = nn_instrs_avxvnni,
};
const struct target nn_target_x86_avx512 = {
    AVX512,
    .name = "x86-avx512",
    .machine = &machine_avx512,
    .help = "x86 with AVX-512 F, BW, DQ, VL (Skylake-X, Zen 4 and later): 16 lanes",
    .needs = AVX512_NEEDS,
    .attribute = AVX512_ATTRIBUTE,
    .instrs = nn_instrs_avx512,
};
const struct target nn_target_x86_avx512vnni = {
    AVX512,
    .name = "x86-avx512vnni",
    .machine = &machine_avx512vnni,
    .help = "x86-avx512 with VNNI (Ice Lake, Zen 4 and later): dot products of bytes",
    .needs = AVX512_NEEDS " avx512vnni",
    .attribute = AVX512_ATTRIBUTE ",avx512vnni",
    .instrs = nn_instrs_avx512vnni,
};
const struct target nn_target_x86_avx512bf16 = {
    AVX512BF16,
    .name = "x86-avx512bf16",
    .machine = &machine_avx512bf16,
    .help = "x86-avx512vnni with AVX512-BF16 (Cooper Lake, Zen 4 and later): dot products of bf16, too",
    .needs = AVX512_NEEDS " avx512vnni avx512bf16",
    .attribute = AVX512_ATTRIBUTE ",avx512vnni,avx512bf16",
    .instrs = nn_instrs_avx512bf16,
};
const struct target nn_target_x86_amx = {
    AVX512BF16,
    .name = "x86-amx",
    .machine = &machine_amx,
    .help = "x86-avx512vnni with AMX (Sapphire Rapids and later): products of matrices of bytes and bf16",
    .needs = AVX512_NEEDS " avx512vnni avx512bf16 amxtile amxint8 amxbf16",
    .attribute = AVX512_ATTRIBUTE ",avx512vnni,avx512bf16,amx-tile,amx-int8,amx-bf16",
    .instrs = nn_instrs_amx,
};
