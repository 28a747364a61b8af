/* The rows of lower/target/, for the table in targets.c. */
#ifndef NN_LOWER_TARGET_ROWS_H
#define NN_LOWER_TARGET_ROWS_H
#include "ir/loop/target.h"
#include "lower/machine/machine.h"

extern const struct target nn_target_c99, nn_target_x86_64, nn_target_x86_avx2, nn_target_x86_avx512, nn_target_aarch64,
    nn_target_riscv64, nn_target_cortex_m4, nn_target_cortex_m55, nn_target_cuda, nn_target_jetson;
extern const struct target nn_target_x86_avxvnni, nn_target_x86_avx512vnni, nn_target_x86_avx512bf16, nn_target_x86_amx,
    nn_target_aarch64_dotprod, nn_target_cortex_a55;

// clang-format off
extern const struct instr_row *const nn_instrs_sse2[], *const nn_instrs_avx2[], *const nn_instrs_avxvnni[], *const nn_instrs_avx512[],
    *const nn_instrs_avx512vnni[], *const nn_instrs_avx512bf16[], *const nn_instrs_amx[],
    *const nn_instrs_neon[], *const nn_instrs_dotprod[], *const nn_instrs_dsp[], *const nn_instrs_mve[],
    *const nn_instrs_sm75[], *const nn_instrs_sm80[];
// clang-format on
extern const struct instr_row nn_tile_dpbusd, nn_tile_dpbssd, nn_tile_dpbuud, nn_tile_dpbsud, nn_tile_dpbf16ps;
#endif
