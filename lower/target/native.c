/* The target of the machine that gcc2nn runs on: `native`, also called `auto`; and whether it runs others' code. Rows
 * of ARM and RISC-V are for a cross compilation: on such a machine itself they do without its compiler and emulator. */
#include "lower/target/rows.h"
#include <string.h>

#if (defined __x86_64__ && defined __GNUC__) || (defined __aarch64__ && defined __linux__)
const char *nn_cpu_lacks(const char *needs, const char *without);
#include "runtime_stub/nn_cpu.c" /* what the generated programs ask */
#endif

#if defined __x86_64__ && defined __GNUC__
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
const struct target *target_here(const struct target *t) { return t; }
const char *target_lacks(const struct target *t) { return t->needs ? nn_cpu_lacks(t->needs, NULL) : NULL; }
#elif defined __aarch64__ || (defined __riscv && __riscv_xlen == 64)
#ifdef __aarch64__
static const struct target *const best_first[] = {&nn_target_aarch64_i8mm, &nn_target_aarch64_dotprod,
                                                  &nn_target_cortex_a55, &nn_target_aarch64};
static const char *lacks(const char *needs) {
#ifdef __linux__
    return nn_cpu_lacks(needs, NULL);
#else
    (void)needs;
    return "nobody asked the CPU what it has";
#endif
}
#else
static const struct target *const best_first[] = {&nn_target_riscv64};
static const char *lacks(const char *needs) { return needs; }
#endif
enum { ROWS = sizeof best_first / sizeof *best_first };
const struct target *target_here(const struct target *t) {
    static struct target rows[ROWS];
    for (int k = 0; k < ROWS; k++) {
        if (t != best_first[k]) continue;
        rows[k] = *t;
        rows[k].cc = "cc", rows[k].runner = NULL;
        return &rows[k];
    }
    return t;
}
const struct target *target_native(void) {
    int k = 0;
    while (best_first[k]->needs && lacks(best_first[k]->needs)) k++;
    return target_here(best_first[k]);
}
const char *target_lacks(const struct target *t) {
    return !strncmp(t->name, "x86", 3) ? "the CPU is no x86" : t->needs ? lacks(t->needs) : NULL;
}
#else
const struct target *target_native(void) { return &nn_target_c99; }
const struct target *target_here(const struct target *t) { return t; }
const char *target_lacks(const struct target *t) {
    return !strncmp(t->name, "x86", 3) ? "the CPU is no x86" : t->needs ? "nobody asked the CPU what it has" : NULL;
}
#endif
