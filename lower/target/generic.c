/* Targets without instructions of their own: plain C99 for any machine, and scalar code for cores that a later row will
 * know better. A target is a row; see ir/loop/target.h. */
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
const struct target nn_target_riscv64 = {
    .name = "riscv64",
    .help = "64-bit RISC-V (RV64GC), scalar with fused multiply-add",
    .cls = TC_CPU,
    .emit = EMIT_C_SCALAR,
    .machine = &machine_rv64,
    .cflags = "-march=rv64gc -mabi=lp64d",
    .headers = "",
    .branches = true,
    .cc = "riscv64-linux-gnu-gcc",
    .runner = "qemu-riscv64 -L /usr/riscv64-linux-gnu",
};
