/* The target of the machine that gcc2nn runs on: `native`, also called `auto`; and whether it runs others' code. */
#include "lower/target/rows.h"
#include <string.h>

#if defined __x86_64__ && defined __GNUC__
const char *nn_cpu_lacks(const char *needs, const char *without);
#include "runtime_stub/nn_cpu.c" /* what the generated programs ask */

/* Intel's cores begin a vdpbf16ps every second cycle (half of what a Sapphire Rapids multiplies in f32), AMD's one or
 * two in each. With AMX it does not matter. */
static bool is_slow(const struct target *t) { return t == &nn_target_x86_avx512bf16 && __builtin_cpu_is("intel"); }
const struct target *target_native(void) {
    static const struct target *const best_first[] = {
        &nn_target_x86_amx,     &nn_target_x86_avx512bf16, &nn_target_x86_avx512vnni, &nn_target_x86_avx512,
        &nn_target_x86_avxvnni, &nn_target_x86_avx2,       &nn_target_x86_64};
    const struct target *const *t = best_first;
    while ((*t)->needs && (is_slow(*t) || nn_cpu_lacks((*t)->needs, NULL))) t++;
    return *t;
}
const char *target_lacks(const struct target *t) { return t->needs ? nn_cpu_lacks(t->needs, NULL) : NULL; }
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
#if !defined __x86_64__ || !defined __GNUC__
const char *target_lacks(const struct target *t) {
    bool x86 = !strncmp(t->name, "x86", 3);
    return x86 ? "the CPU is no x86" : t == target_native() || !t->needs ? NULL : "nobody asked the CPU what it has";
}
#endif
