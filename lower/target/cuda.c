/* NVIDIA GPUs. Each thread computes scalars; lower/schedule/gpu_*.c decide what is parallel. `cc` compiles the host
 * side; kernels go to nvcc with `cflags`, or to the emulator. A target is a row; see ir/loop/target.h. */
#include "lower/target/rows.h"

/* What the rows share. */
#define GPU .cls = TC_GPU, .emit = EMIT_CUDA, .headers = "#include \"nn_cuda_dev.h\"\n", .cc = "cc"

const struct target nn_target_cuda = {
    GPU,
    .name = "cuda",
    .help = "NVIDIA GPUs, compute capability 7.5 and later",
    .machine = &machine_nvidia,
    .cflags = "-arch=sm_75",
    .instrs = nn_instrs_sm75,
};
const struct target nn_target_jetson = {
    GPU,
    .name = "jetson",
    .help = "NVIDIA Jetson Orin (sm_87)",
    .machine = &machine_orin,
    .cflags = "-arch=sm_87",
    .instrs = nn_instrs_sm80,
};
