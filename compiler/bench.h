/* Timed runs of the compiled model: what `gcc2nn bench` prints, and `gcc2nn tune` decides by. */
#ifndef NN_COMPILER_BENCH_H
#define NN_COMPILER_BENCH_H
#include "compiler/per_kernel.h"

struct bench {
    struct session *s;
    int runs, warmup;
    double *times;          /* nanoseconds, the shortest first */
    uint64_t *instructions; /* under an emulator, whose times are meaningless, ascending; NULL: on this machine */
    struct code_size size;
    const int64_t *dims;               /* of the symbols */
    struct tensor **inputs, **outputs; /* those of the last run */
    char checksum[17];                 /* of their bytes */
    struct kernel_rows kernels;        /* with --per-kernel */
};
/* Compiles, builds and runs the model of a session that is open. false: a diagnostic was recorded. */
bool bench_run(struct bench *b, struct session *s);
/* The same for a session whose model is compiled already, with sizes for all symbols (session_sizes_given). */
bool bench_compiled(struct bench *b, struct session *s);
/* What a run needs, and the program. */
struct budget bench_taken(const struct bench *b);
/* What was measured: `model`, `target`, `threads`, `dims`, `input_dims`. */
json_t *bench_identity(const struct bench *b);
json_t *bench_json(const struct bench *b); /* what --json prints; with --per-kernel the kernels, too */
void bench_print(const struct bench *b);   /* the same, for people */
/* Of a run: nanoseconds, or instructions. */
double bench_median(const struct bench *b);
#endif
