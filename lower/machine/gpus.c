/* NVIDIA's GPUs; see machine.h. Limits are the documented ones; tiles are sized to fill a block of 256 threads;
 * measured numbers are marked as such. */
#include "lower/machine/machine.h"

static const struct operation ops[] = {{X_FMA, F32, 4, 64}, {X_FMA, F64, 4, 64}, {X_POISON, NONE, 0, 0}};
#define LIMITS                                                                                                         \
    .warp = 32, .block_threads = 256, .few_threads = 64, .few_cells = 1 << 14, .max_threads = 1024,                    \
    .max_grid_yz = 65535, .shared_bytes = 48 << 10, .private_bytes = 16 << 10, .tile = 64, .cell = 4, .depth = 16,     \
    .least = 24, .warps = 2, .results = 8, .launch = 4000
/* An H100 is best filled with 2^16 threads (2^13: ResNet-18 takes 1.9 times as long, 2^17: 1.03 times), 500 for each of
 * its multiprocessors; Orin has 16 of these. */
static const struct gpu gpu_nvidia = {LIMITS, .enough = 1 << 16}, gpu_orin = {LIMITS, .enough = 1 << 13};
#define NVIDIA .scalar = {255, 32}, .ops = ops, .l2 = {4 << 20, 0}, .line = 128, .row_cells = 1 << 16

/* Tensor cores: 512 multiply-adds of 16-bit floats a cycle. */
static const struct micro_speed sm75[] = {{&micro_mma_m16n8k8_f16, 16, 0.5}, {NULL, 0, 0}},
                                sm80[] = {{&micro_mma_m16n8k16_f16, 32, 0.25},
                                          {&micro_mma_m16n8k16_bf16, 32, 0.25},
                                          {NULL, 0, 0}};
const struct machine machine_nvidia = {NVIDIA, .name = "nvidia", .gpu = &gpu_nvidia, .l1 = {96 << 10, 0, 0},
                                       .micros = sm75};
const struct machine machine_orin = {NVIDIA, .name = "orin", .gpu = &gpu_orin, .l1 = {128 << 10, 0, 0}, .micros = sm80};
