/* Targets without special instructions: plain C99 for any machine, and scalar code for cores that may later get better
 * rows. A target is a row; see ir/loop/target.h. */
#include "lower/target/rows.h"

const struct target nn_target_c99 = {
    .name = "c99",
    .help = "portable scalar C99, no extensions",
    .cls = TC_CPU,
    .emit = EMIT_C_SCALAR,
    .machine = &machine_c99,
    .cflags = "",
    .headers = "",
    .branches = true,
    .cc = "cc",
};
/* otherwise gcc calls functions, and turns comparisons into branches */
#define RV_FLOAT(instr)                                                                                                \
    "__extension__({ float x; __asm(\"" instr " %%0, %%1, %%2\" : \"=f\"(x) : \"f\"(%a), \"f\"(%b)); x; })"
static const struct spell_row riscv_clamps[] = {
    {X_MIN, F32, 1, RV_FLOAT("fmin.s")}, {X_MAX, F32, 1, RV_FLOAT("fmax.s")}, {X_POISON, NONE, 0, NULL}};
static const struct spell_row riscv_rows[] = {
    {X_RINT, I32, 1, "__extension__({ int32_t n; __asm(\"fcvt.w.s %%0, %%1, rne\" : \"=r\"(n) : \"f\"(%a)); n; })"},
    {X_POISON, NONE, 0, NULL}};
const struct target nn_target_riscv64 = {
    .name = "riscv64",
    .help = "64-bit RISC-V (RV64GC), scalar with fused multiply-add",
    .cls = TC_CPU,
    .emit = EMIT_C_SCALAR,
    .machine = &machine_rv64,
    .cflags = "-march=rv64gc -mabi=lp64d",
    .headers = "",
    .spell = riscv_rows,
    .clamps = riscv_clamps,
    .cc = "riscv64-linux-gnu-gcc",
    .runner = "qemu-riscv64 -L /usr/riscv64-linux-gnu",
};
