/* The target of the machine that gcc2nn runs on: `native`, also called `auto`. */
#include "lower/target/rows.h"

#if defined __x86_64__ && defined __GNUC__
const struct target *target_native(void) {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return __builtin_cpu_supports("avx512vnni") ? &nn_target_x86_avx512vnni : &nn_target_x86_avx512;
    /* F16C, which compilers cannot all ask for, is older than AVX2 */
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") ? &nn_target_x86_avx2 : &nn_target_x86_64;
}
#elif defined __aarch64__ || (defined __riscv && __riscv_xlen == 64)
/* The row of a cross compilation without its compiler and emulator. */
const struct target *target_native(void) {
    static struct target t;
#ifdef __aarch64__
    t = nn_target_aarch64;
#else
    t = nn_target_riscv64;
#endif
    t.cc = "cc";
    t.runner = NULL;
    return &t;
}
#else
const struct target *target_native(void) { return &nn_target_c99; }
#endif
