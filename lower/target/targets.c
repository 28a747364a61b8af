/* The table of targets. A new target is a row in one of the files beside this one and a line here. */
#include "lower/target/rows.h"
#include <string.h>

const struct target *const nn_targets[] = {&nn_target_c99,
                                           &nn_target_x86_64,
                                           &nn_target_x86_avx2,
                                           &nn_target_x86_avxvnni,
                                           &nn_target_x86_avx512,
                                           &nn_target_x86_avx512vnni,
                                           &nn_target_x86_avx512bf16,
                                           &nn_target_x86_amx,
                                           &nn_target_aarch64,
                                           &nn_target_aarch64_dotprod,
                                           &nn_target_aarch64_i8mm,
                                           &nn_target_cortex_a55,
                                           &nn_target_riscv64,
                                           &nn_target_cortex_m4,
                                           &nn_target_cortex_m55,
                                           &nn_target_cuda,
                                           &nn_target_jetson,
                                           NULL};

const struct target *target_by_name(const char *name) {
    if (!strcmp(name, "native") || !strcmp(name, "auto")) return target_native();
    for (int i = 0; nn_targets[i]; i++)
        if (!strcmp(nn_targets[i]->name, name)) return target_here(nn_targets[i]);
    return NULL;
}

const struct instr_row *instr_by_name(const char *name) {
    for (const struct target *const *t = nn_targets; *t; t++)
        for (const struct instr_row *const *r = (*t)->instrs; r && *r; r++)
            if (!strcmp((*r)->name, name)) return *r;
    return NULL;
}
