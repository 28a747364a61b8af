/* CPUs; see machine.h. Latencies and rates are those of current cores of each kind; what a byte costs was fitted to
 * convolutions of ResNet on Zen 3, each within 4 %, and stands for the others until somebody measures them. */
#include "lower/machine/machine.h"

#define END                                                                                                            \
    { X_POISON, NONE, 0, 0 }
static const struct operation fused[] = {
    {X_FMA, F32, 4, 2}, {X_FMA, F64, 4, 2}, {X_ADD, F32, 4, 2}, {X_LOAD, F32, 4, 2}, END};
static const struct operation separate[] = {{X_ADD, F32, 4, 2}, {X_LOAD, F32, 4, 2}, END};
static const struct operation cortex_m[] = {{X_FMA, F32, 3, 1 / 3.0}, {X_ADD, F32, 1, 1}, {X_LOAD, F32, 2, 0.5}, END};

/* What all of them share; and the sizes of their caches. */
#define CPU                   .partial_sum_byte = 1 / 64.0, .streams = 16, .line = 64, .panel_vectors = 8, .stack_cells = 4096
#define CACHES(first, second) .l1 = {first, 1 / 96.0}, .l2 = {second, 1 / 24.0}
/* Without vectors the body of a loop is a tile, and code is dear on small machines. */
#define SCALAR(registers, most) .scalar = {registers, 32}, .body = most
/* With vectors a body is several steps of a tile, so that the loop's own instructions hide, also from a busy neighbour
 * on the core's other thread. */
#define VECTOR(registers, bits) .scalar = {registers, 32}, .vector = {registers, bits}, .body = 48

const struct machine machine_c99 = {CPU, CACHES(32 << 10, 256 << 10), SCALAR(16, 8), .name = "c99", .ops = separate};
const struct machine machine_rv64 = {CPU, CACHES(32 << 10, 512 << 10), SCALAR(32, 16), .name = "rv64", .ops = fused};
const struct machine machine_cortex_m4 = {CPU, CACHES(16 << 10, 0), SCALAR(32, 16), .name = "cortex-m4",
                                          .ops = cortex_m};
const struct machine machine_cortex_m55 = {CPU, CACHES(32 << 10, 0), SCALAR(32, 16), .name = "cortex-m55",
                                           .ops = cortex_m};
const struct machine machine_sse2 = {CPU, CACHES(32 << 10, 256 << 10), VECTOR(16, 128), .name = "sse2",
                                     .ops = separate};
const struct machine machine_avx2 = {CPU, CACHES(32 << 10, 512 << 10), VECTOR(16, 256), .name = "avx2", .ops = fused};
const struct machine machine_avx512 = {CPU, CACHES(32 << 10, 1 << 20), VECTOR(32, 512), .name = "avx512", .ops = fused};
const struct machine machine_neon = {
    CPU, CACHES(32 << 10, 512 << 10), VECTOR(32, 128), .name = "neon", .loads_ahead = true, .ops = fused};
