/* The rows of lower/target/, for the table in targets.c. */
#ifndef NN_LOWER_TARGET_ROWS_H
#define NN_LOWER_TARGET_ROWS_H
#include "ir/loop/target.h"
#include "lower/machine/machine.h"

extern const struct target nn_target_c99, nn_target_x86_64, nn_target_x86_avx2, nn_target_x86_avx512, nn_target_aarch64,
    nn_target_riscv64, nn_target_cortex_m4, nn_target_cortex_m55, nn_target_cuda, nn_target_jetson;
extern const struct target nn_target_x86_avxvnni, nn_target_x86_avx512vnni, nn_target_x86_avx512bf16, nn_target_x86_amx,
    nn_target_aarch64_dotprod, nn_target_aarch64_i8mm, nn_target_cortex_a55;

/* The row on the machine that gcc2nn runs on, if that is one of its family (native.c). */
const struct target *target_here(const struct target *t);

// clang-format off
extern const struct instr_row *const nn_instrs_sse2[], *const nn_instrs_avx2[], *const nn_instrs_avxvnni[], *const nn_instrs_avx512[],
    *const nn_instrs_avx512vnni[], *const nn_instrs_avx512bf16[], *const nn_instrs_amx[],
    *const nn_instrs_neon[], *const nn_instrs_dotprod[], *const nn_instrs_i8mm[], *const nn_instrs_dsp[], *const nn_instrs_mve[],
    *const nn_instrs_sm75[], *const nn_instrs_sm80[];
// clang-format on
extern const struct instr_row nn_tile_dpbusd, nn_tile_dpbssd, nn_tile_dpbuud, nn_tile_dpbsud, nn_tile_dpbf16ps;
extern const struct instr_row nn_smmla, nn_ummla, nn_usmmla, nn_bfmmla;
/* Squares that are transposed in registers (instr_transpose.c), and pixels of few cells that become planes; of vectors
 * of 128, 256 and 512 bits. */
extern const struct instr_row nn_transpose16_u8, nn_transpose8_u8, nn_transpose8_u16, nn_transpose4_u32,
    nn_transpose16_u8_x32, nn_transpose16_u16, nn_transpose8_u32, nn_transpose4_u64, nn_transpose16_u8_x64,
    nn_transpose16_u16_x32, nn_transpose16_u32, nn_transpose8_u64, nn_zip16_u8, nn_zip8_u16, nn_zip4_u32, nn_planes4_u8,
    nn_planes8_u8, nn_planes4_u16, nn_planes4_u8_x32, nn_planes8_u8_x32, nn_planes4_u16_x16, nn_planes4_u8_x64,
    nn_planes8_u8_x64, nn_planes4_u16_x32, nn_unzip4_u8, nn_unzip8_u8, nn_unzip4_u16;
#define NN_PLANES_SSE2   &nn_planes4_u8, &nn_planes8_u8, &nn_planes4_u16
#define NN_PLANES_AVX2   &nn_planes4_u8_x32, &nn_planes8_u8_x32, &nn_planes4_u16_x16, NN_PLANES_SSE2
#define NN_PLANES_AVX512 &nn_planes4_u8_x64, &nn_planes8_u8_x64, &nn_planes4_u16_x32, NN_PLANES_AVX2
#define NN_SQUARES_SSE2  NN_PLANES_SSE2, &nn_transpose16_u8, &nn_transpose8_u16, &nn_transpose4_u32
#define NN_SQUARES_AVX2                                                                                                \
    NN_PLANES_AVX2, &nn_transpose16_u8_x32, &nn_transpose16_u16, &nn_transpose8_u32, &nn_transpose4_u64,               \
        &nn_transpose8_u8, &nn_transpose8_u16, &nn_transpose4_u32
#define NN_SQUARES_AVX512                                                                                              \
    NN_PLANES_AVX512, &nn_transpose16_u8_x64, &nn_transpose16_u16_x32, &nn_transpose16_u32, &nn_transpose8_u64,        \
        &nn_transpose8_u32, &nn_transpose4_u64, &nn_transpose8_u8, &nn_transpose8_u16, &nn_transpose4_u32
#define NN_SQUARES_NEON &nn_zip16_u8, &nn_zip8_u16, &nn_zip4_u32, &nn_unzip4_u8, &nn_unzip8_u8, &nn_unzip4_u16
#endif
