/* The compiled model in runs that are timed: what `gcc2nn bench` prints, and `gcc2nn tune` goes by. */
#ifndef NN_COMPILER_BENCH_H
#define NN_COMPILER_BENCH_H
#include "compiler/per_kernel.h"

struct bench {
    struct session *s;
    int runs, warmup;
    double *times;          /* nanoseconds, the shortest first */
    uint64_t *instructions; /* under an emulator, whose times mean nothing, the fewest first; NULL: on this machine */
    struct code_size size;
    const int64_t *dims;        /* of the symbols */
    char checksum[17];          /* of the outputs' bytes */
    struct kernel_rows kernels; /* with --per-kernel */
};
/* Compiles, builds and runs the model of a session that is open. false: a diagnostic was recorded. */
bool bench_run(struct bench *b, struct session *s);
/* Of a run: nanoseconds, or instructions. */
double bench_median(const struct bench *b);
#endif
