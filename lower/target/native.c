/* The target of the machine that gcc2nn runs on: `native`, also called `auto`. */
#include "lower/target/rows.h"

#if defined __x86_64__ && defined __GNUC__
#include <string.h>
const char *nn_cpu_lacks(const char *needs, const char *without);
#include "runtime_stub/nn_cpu.c" /* what the generated programs ask */

const struct target *target_native(void) {
    static const struct target *const best_first[] = {&nn_target_x86_amx,    &nn_target_x86_avx512vnni,
                                                      &nn_target_x86_avx512, &nn_target_x86_avxvnni,
                                                      &nn_target_x86_avx2,   &nn_target_x86_64};
    const struct target *const *t = best_first;
    while ((*t)->needs && nn_cpu_lacks((*t)->needs, NULL)) t++;
    return *t;
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
