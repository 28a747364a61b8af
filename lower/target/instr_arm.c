/* Instructions of ARM for integer dot products and requantisation: NEON, the DSP extension of Cortex-M4, Helium of
 * Cortex-M55. See instr_x86.c for what a row is. Compilers find none of these by themselves (gcc 12). */
#include "lower/target/rows.h"

/* ---- 64-bit NEON */
#define NEON_DOT(k, a, b)                                                                                              \
    "proc p(C: i32[4] inout, A: " a "[" k "] in, B: " b "[4," k "] in)\n"                                              \
    "  for v<4\n    for k<" k "\n      C[v] += A[k] * B[v,k]\n"
/* Products of bytes fit into 16 bits; vpadal widens while it adds pairs. */
static const struct instr_row smull_sadalp = {
    .name = "smull_sadalp",
    .body = NEON_DOT("2", "i8", "i8"),
    .holes = {{"C", I32, {1, 0}}, {"A", I8, {0, 1}}, {"B", I8, {2, 1}}},
    .helper = "static inline int32x4_t nn_smull_sadalp(int32x4_t c, const int8_t *a, const int8_t *b) {\n"
              "    int16_t pair;\n    __builtin_memcpy(&pair, a, 2);\n"
              "    return vpadalq_s16(c, vmull_s8(vreinterpret_s8_s16(vdup_n_s16(pair)), vld1_s8(b)));\n}\n",
    .c = "{C} = (nn_i32x4)nn_smull_sadalp((int32x4_t){C}, {&A}, {&B})"};
static const struct instr_row umull_uadalp = {
    .name = "umull_uadalp",
    .body = NEON_DOT("2", "u8", "u8"),
    .holes = {{"C", I32, {1, 0}}, {"A", U8, {0, 1}}, {"B", U8, {2, 1}}},
    .helper = "static inline uint32x4_t nn_umull_uadalp(uint32x4_t c, const uint8_t *a, const uint8_t *b) {\n"
              "    uint16_t pair;\n    __builtin_memcpy(&pair, a, 2);\n"
              "    return vpadalq_u16(c, vmull_u8(vreinterpret_u8_u16(vdup_n_u16(pair)), vld1_u8(b)));\n}\n",
    .c = "{C} = (nn_i32x4)nn_umull_uadalp((uint32x4_t){C}, {&A}, {&B})"};
/* Two products fit into 16 bits if no weight is -128; then one vpadal is enough for both. */
static const struct instr_row smull_smlal_sadalp = {
    .name = "smull_smlal_sadalp",
    .body = "proc p(C: i32[4] inout, A: i8[2,2] in, B: i8[2,4,2] in)\n  for v<4\n    for j<2\n      for k<2\n"
            "        C[v] += A[j,k] * B[j,v,k]\n",
    .holes = {{"C", I32, {1, 0, 0}}, {"A", I8, {0, 2, 1}}, {"B", I8, {2, 8, 1}}},
    .within = {"B", -127, 127},
    .helper = "static inline int32x4_t nn_smull_smlal_sadalp(int32x4_t c, const int8_t *a, const int8_t *b) {\n"
              "    int16x4_t x;\n    __asm(\"ldr %s0, %1\" : \"=w\"(x) : \"m\"(*(const int8_t(*)[4])a));\n"
              "    const int8x16_t w = vld1q_s8(b), x1 = vreinterpretq_s8_s16(vdupq_lane_s16(x, 1));\n"
              "    const int16x8_t p = vmull_s8(vreinterpret_s8_s16(vdup_lane_s16(x, 0)), vget_low_s8(w));\n"
              "    return vpadalq_s16(c, vmlal_high_s8(p, x1, w));\n}\n",
    .c = "{C} = (nn_i32x4)nn_smull_smlal_sadalp((int32x4_t){C}, {&A}, {&B})"};
/* Four steps of bytes; those of a row are in one word. usdot takes either sign on either side. */
#define DOT_4(row, A, B, a, b, sums, type_a, type_b, word, product)                                                    \
    static const struct instr_row row = {                                                                              \
        .name = #row,                                                                                                  \
        .body = NEON_DOT("4", a, b),                                                                                   \
        .holes = {{"C", I32, {1, 0}}, {"A", A, {0, 1}}, {"B", B, {4, 1}}},                                             \
        .helper = "static inline " sums " nn_" #row "(" sums " c, const " type_a " *a, const " type_b " *b) {\n"       \
                  "    " word " four;\n    __builtin_memcpy(&four, a, 4);\n    return " product ";\n}\n",              \
        .c = "{C} = (nn_i32x4)nn_" #row "((" sums "){C}, {&A}, {&B})"}
#define SIGNED   "vreinterpretq_s8_s32(vdupq_n_s32(four))"
#define UNSIGNED "vreinterpretq_u8_u32(vdupq_n_u32(four))"
DOT_4(sdot, I8, I8, "i8", "i8", "int32x4_t", "int8_t", "int8_t", "int32_t", "vdotq_s32(c, " SIGNED ", vld1q_s8(b))");
DOT_4(udot, U8, U8, "u8", "u8", "uint32x4_t", "uint8_t", "uint8_t", "uint32_t",
      "vdotq_u32(c, " UNSIGNED ", vld1q_u8(b))");
DOT_4(usdot, U8, I8, "u8", "i8", "int32x4_t", "uint8_t", "int8_t", "uint32_t",
      "vusdotq_s32(c, " UNSIGNED ", vld1q_s8(b))");
DOT_4(sudot, I8, U8, "i8", "u8", "int32x4_t", "int8_t", "uint8_t", "int32_t",
      "vusdotq_s32(c, vld1q_u8(b), " SIGNED ")");
/* Sixteen steps: a row's factors for them are loaded once, and taken from lanes. */
#define DOT_16(row, type, text, sums, bytes, sixteen, load, dot)                                                       \
    static const struct instr_row row = {                                                                              \
        .name = #row,                                                                                                  \
        .body = "proc p(C: i32[4] inout, A: " text "[4,4] in, B: " text "[4,4,4] in)\n"                                \
                "  for v<4\n    for j<4\n      for k<4\n        C[v] += A[j,k] * B[j,v,k]\n",                          \
        .holes = {{"C", I32, {1, 0, 0}}, {"A", type, {0, 4, 1}}, {"B", type, {4, 16, 1}}},                             \
        .helper = "static inline " sums " nn_" #row "(" sums " c, const " bytes " *a, const " bytes " *b) {\n"         \
                  "    const " sixteen " x = " load "(a);\n"                                                           \
                  "    c = " dot "(" dot "(c, " load "(b), x, 0), " load "(b + 16), x, 1);\n"                          \
                  "    return " dot "(" dot "(c, " load "(b + 32), x, 2), " load "(b + 48), x, 3);\n}\n",              \
        .c = "{C} = (nn_i32x4)nn_" #row "((" sums "){C}, {&A}, {&B})"}
DOT_16(sdot_x4, I8, "i8", "int32x4_t", "int8_t", "int8x16_t", "vld1q_s8", "vdotq_laneq_s32");
DOT_16(udot_x4, U8, "u8", "uint32x4_t", "uint8_t", "uint8x16_t", "vld1q_u8", "vdotq_laneq_u32");
/* Unsigned bytes where no instruction takes them: b - 128, and 128 a, which is the same for all vectors of b and so
 * computed once. */
DOT_4(sdot_s8u8, I8, U8, "i8", "u8", "int32x4_t", "int8_t", "uint8_t", "int32_t",
      "vaddq_s32(vdotq_s32(c, vreinterpretq_s8_u8(veorq_u8(vld1q_u8(b), vdupq_n_u8(128))), " SIGNED "),\n"
      "            vdotq_s32(vdotq_s32(vdupq_n_s32(0), vdupq_n_s8(64), " SIGNED "), vdupq_n_s8(64), " SIGNED "))");
/* Two fields of four bits in each unsigned byte: four signed bytes for the lower ones, then four for the upper ones. */
#define FIELDS(row, sum)                                                                                               \
    static const struct instr_row row = {                                                                              \
        .name = #row,                                                                                                  \
        .body = "proc p(C: i32[4] inout, A: i8[2,4] in, B: u8[4,4] in)\n  for v<4\n    for p<2\n      for k<4\n"       \
                "        C[v] += A[p,k] * and(shr(B[v,k], i32(idx(p*4))), 15i32)\n",                                   \
        .holes = {{"C", I32, {1, 0, 0}}, {"A", I8, {0, 4, 1}}, {"B", U8, {4, 0, 1}}},                                  \
        .helper =                                                                                                      \
            "static inline int32x4_t nn_" #row "(int32x4_t c, const int8_t *a, const uint8_t *b) {\n"                  \
            "    int32_t low, high;\n    __builtin_memcpy(&low, a, 4);\n    __builtin_memcpy(&high, a + 4, 4);\n"      \
            "    const int8x16_t a0 = vreinterpretq_s8_s32(vdupq_n_s32(low)),\n"                                       \
            "        a1 = vreinterpretq_s8_s32(vdupq_n_s32(high));\n    const uint8x16_t w = vld1q_u8(b);\n"           \
            "    const int8x16_t w0 = vreinterpretq_s8_u8(vandq_u8(w, vdupq_n_u8(15))),\n"                             \
            "        w1 = vreinterpretq_s8_u8(vshrq_n_u8(w, 4));\n" sum "}\n",                                         \
        .c = "{C} = (nn_i32x4)nn_" #row "((int32x4_t){C}, {&A}, {&B})"}
FIELDS(sdot_s8u4, "    return vdotq_s32(vdotq_s32(c, w0, a0), w1, a1);\n");
FIELDS(smull_s8u4, "    const int16x8_t p = vmlal_s8(vmull_s8(vget_low_s8(w0), vget_low_s8(a0)), vget_low_s8(w1), "
                   "vget_low_s8(a1)),\n        q = vmlal_high_s8(vmull_high_s8(w0, a0), w1, a1);\n"
                   "    return vaddq_s32(c, vpaddq_s32(vpaddlq_s16(p), vpaddlq_s16(q)));\n");
/* 16-bit integers, one step of the sum: no less work than floats, but exact. */
static const struct instr_row smlal = {
    .name = "smlal",
    .body = "proc p(C: i32[4] inout, A: i16[1] in, B: i16[4] in)\n  for v<4\n    C[v] += A[0] * B[v]\n",
    .holes = {{"C", I32, {1}}, {"A", I16, {0}}, {"B", I16, {1}}},
    .helper = "static inline int32x4_t nn_smlal(int32x4_t c, const int16_t *a, const int16_t *b) {\n"
              "    int16x4_t x;\n    __asm(\"ldr %h0, %1\" : \"=x\"(x) : \"m\"(*a)); /* gcc loads it as a word */\n"
              "    return vmlal_lane_s16(c, vld1_s16(b), x, 0);\n}\n",
    .c = "{C} = (nn_i32x4)nn_smlal((int32x4_t){C}, {&A}, {&B})"};
/* Four steps: a row's factors for them are loaded once, and taken from lanes. */
static const struct instr_row smlal_x4 = {
    .name = "smlal_x4",
    .body =
        "proc p(C: i32[4] inout, A: i16[4] in, B: i16[4,4] in)\n  for v<4\n    for k<4\n      C[v] += A[k] * B[k,v]\n",
    .holes = {{"C", I32, {1, 0}}, {"A", I16, {0, 1}}, {"B", I16, {1, 4}}},
    .helper = "static inline int32x4_t nn_smlal_x4(int32x4_t c, const int16_t *a, const int16_t *b) {\n"
              "    const int16x4_t x = vld1_s16(a);\n    const int16x8_t w0 = vld1q_s16(b), w2 = vld1q_s16(b + 8);\n"
              "    c = vmlal_lane_s16(c, vget_low_s16(w0), x, 0);\n    c = vmlal_high_lane_s16(c, w0, x, 1);\n"
              "    c = vmlal_lane_s16(c, vget_low_s16(w2), x, 2);\n    return vmlal_high_lane_s16(c, w2, x, 3);\n}\n",
    .c = "{C} = (nn_i32x4)nn_smlal_x4((int32x4_t){C}, {&A}, {&B})"};
/* The same for bytes: eight instructions for sixteen products, of which two serve all rows. */
static const struct instr_row smlal_s8u8 = {
    .name = "smlal_s8u8",
    .body =
        "proc p(C: i32[4] inout, A: i8[4] in, B: u8[4,4] in)\n  for v<4\n    for k<4\n      C[v] += A[k] * B[k,v]\n",
    .holes = {{"C", I32, {1, 0}}, {"A", I8, {0, 1}}, {"B", U8, {1, 4}}},
    .helper = "static inline int32x4_t nn_smlal_s8u8(int32x4_t c, const int8_t *a, const uint8_t *b) {\n"
              "    int32_t four;\n    __builtin_memcpy(&four, a, 4);\n"
              "    const int16x4_t x = vget_low_s16(vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four))));\n"
              "    const uint8x16_t w = vld1q_u8(b);\n"
              "    const int16x8_t w0 = vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(w))),\n"
              "        w2 = vreinterpretq_s16_u16(vmovl_high_u8(w));\n"
              "    c = vmlal_lane_s16(c, vget_low_s16(w0), x, 0);\n    c = vmlal_high_lane_s16(c, w0, x, 1);\n"
              "    c = vmlal_lane_s16(c, vget_low_s16(w2), x, 2);\n    return vmlal_high_lane_s16(c, w2, x, 3);\n}\n",
    .c = "{C} = (nn_i32x4)nn_smlal_s8u8((int32x4_t){C}, {&A}, {&B})"};
#define MULL &smull_sadalp, &umull_uadalp, &smlal_x4, &smlal
const struct instr_row *const nn_instrs_neon[] = {&smull_smlal_sadalp, MULL, &smlal_s8u8, &smull_s8u4,
                                                  NN_SQUARES_NEON,     NULL};
const struct instr_row *const nn_instrs_dotprod[] = {&sdot_x4,   &udot_x4, &sdot,           &udot, &sdot_s8u8,
                                                     &sdot_s8u4, MULL,     NN_SQUARES_NEON, NULL};
const struct instr_row *const nn_instrs_i8mm[] = {&nn_smmla, &nn_ummla, &nn_usmmla,      &nn_bfmmla,
                                                  &usdot,    &sudot,    &sdot_s8u4,      &sdot,
                                                  &udot,     MULL,      NN_SQUARES_NEON, NULL};

/* ---- Cortex-M */
#define SUM(k, a, b)                                                                                                   \
    "proc p(C: i32[1] inout, A: " a "[" k "] in, B: " b "[" k "] in)\n  for k<" k "\n    C[0] += A[k] * B[k]\n"
/* Four bytes as two pairs of halfwords, the even and the odd ones: both operands are split in the same way. */
#define SMLAD(row, A, B, a, b, wide_a, wide_b)                                                                         \
    static const struct instr_row row = {                                                                              \
        .name = #row,                                                                                                  \
        .body = SUM("4", a, b),                                                                                        \
        .holes = {{"C", I32, {0}}, {"A", A, {1}}, {"B", B, {1}}},                                                      \
        .helper = "static inline int32_t nn_" #row "(int32_t c, const void *a, const void *b) {\n"                     \
                  "    uint32_t x, w, x0, x1, w0, w1;\n"                                                               \
                  "    __builtin_memcpy(&x, a, 4);\n    __builtin_memcpy(&w, b, 4);\n"                                 \
                  "    __asm(\"" wide_a " %0, %1\" : \"=r\"(x0) : \"r\"(x));\n"                                        \
                  "    __asm(\"" wide_a " %0, %1, ror #8\" : \"=r\"(x1) : \"r\"(x));\n"                                \
                  "    __asm(\"" wide_b " %0, %1\" : \"=r\"(w0) : \"r\"(w));\n"                                        \
                  "    __asm(\"" wide_b " %0, %1, ror #8\" : \"=r\"(w1) : \"r\"(w));\n"                                \
                  "    __asm(\"smlad %0, %1, %2, %0\" : \"+r\"(c) : \"r\"(x0), \"r\"(w0));\n"                          \
                  "    __asm(\"smlad %0, %1, %2, %0\" : \"+r\"(c) : \"r\"(x1), \"r\"(w1));\n"                          \
                  "    return c;\n}\n",                                                                                \
        .c = "{C} = nn_" #row "({C}, {&A}, {&B})"}
SMLAD(smlad_i8i8, I8, I8, "i8", "i8", "sxtb16", "sxtb16");
SMLAD(smlad_u8i8, U8, I8, "u8", "i8", "uxtb16", "sxtb16");
SMLAD(smlad_u8u8, U8, U8, "u8", "u8", "uxtb16", "uxtb16");
SMLAD(smlad_i8u8, I8, U8, "i8", "u8", "sxtb16", "uxtb16");
/* Eight products of bytes and the two fields of four bits that unsigned bytes hold. */
static const struct instr_row smlad_s8u4 = {
    .name = "smlad_s8u4",
    .body = "proc p(C: i32[1] inout, A: i8[2,4] in, B: u8[4] in)\n  for p<2\n    for k<4\n"
            "      C[0] += A[p,k] * and(shr(B[k], i32(idx(p*4))), 15i32)\n",
    .holes = {{"C", I32, {0, 0}}, {"A", I8, {4, 1}}, {"B", U8, {0, 1}}},
    .helper = "static inline int32_t nn_smlad_s8u4(int32_t c, const int8_t *a, const uint8_t *b) {\n"
              "    uint32_t w, x[2], even, odd;\n    __builtin_memcpy(&w, b, 4);\n    __builtin_memcpy(x, a, 8);\n"
              "    for (int p = 0; p < 2; p++) {\n"
              "        __asm(\"sxtb16 %0, %1\" : \"=r\"(even) : \"r\"(x[p]));\n"
              "        __asm(\"sxtb16 %0, %1, ror #8\" : \"=r\"(odd) : \"r\"(x[p]));\n"
              "        __asm(\"smlad %0, %1, %2, %0\" : \"+r\"(c) : \"r\"(even), \"r\"(w >> 4 * p & 0xf000f));\n"
              "        __asm(\"smlad %0, %1, %2, %0\" : \"+r\"(c) : \"r\"(odd), \"r\"(w >> (4 * p + 8) & 0xf000f));\n"
              "    }\n    return c;\n}\n",
    .c = "{C} = nn_smlad_s8u4({C}, {&A}, {&B})"};
/* z + a * m / 2^32, rounded to nearest with halves up, saturated to 8 bits: requantisation with the common shift of
 * all channels folded into the multipliers (research: 2 instructions). */
static const struct instr_row smmlar_ssat = {
    .name = "smmlar_ssat",
    .body = "proc p(Y: i8[1] out, A: i32[1] in, M: i32[1] in, Z: i32[1] in)\n  for v<1\n"
            "    Y[v] = max(-128i32, min(127i32, i32(shr(shl(i64(Z[v]), 32i64) + i64(A[v]) * i64(M[v]) + "
            "2147483648i64, 32i64))))\n",
    .holes = {{"Y", I8, {1}}, {"A", I32, {1}}, {"M", I32, {1}}, {"Z", I32, {1}}},
    .helper = "static inline int8_t nn_smmlar_ssat(int32_t a, int32_t m, int32_t z) {\n    int32_t y;\n"
              "    __asm(\"smmlar %0, %1, %2, %3\\n\\tssat %0, #8, %0\" : \"=r\"(y) : \"r\"(a), \"r\"(m), \"r\"(z));\n"
              "    return (int8_t)y;\n}\n",
    .c = "{Y} = nn_smmlar_ssat({A}, {M}, {Z})"};
static const struct instr_row vmladava_s8 = {
    .name = "vmladava_s8",
    .body = SUM("16", "i8", "i8"),
    .holes = {{"C", I32, {0}}, {"A", I8, {1}}, {"B", I8, {1}}},
    .c = "{C} = __arm_vmladavaq_s8({C}, __arm_vldrbq_s8({&A}), __arm_vldrbq_s8({&B}))"};
static const struct instr_row vmladava_u8 = {
    .name = "vmladava_u8",
    .body = SUM("16", "u8", "u8"),
    .holes = {{"C", I32, {0}}, {"A", U8, {1}}, {"B", U8, {1}}},
    .c = "{C} = (int32_t)__arm_vmladavaq_u8((uint32_t){C}, __arm_vldrbq_u8({&A}), __arm_vldrbq_u8({&B}))"};
#define DSP &smlad_i8i8, &smlad_u8i8, &smlad_u8u8, &smlad_i8u8, &smlad_s8u4, &smmlar_ssat
const struct instr_row *const nn_instrs_dsp[] = {DSP, NULL};
const struct instr_row *const nn_instrs_mve[] = {&vmladava_s8, &vmladava_u8, DSP, NULL};
