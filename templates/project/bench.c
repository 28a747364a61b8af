/* Times @NAME@ on made-up inputs: least, median and 99th percentile of R runs after W to warm up.
 * usage: bench [R [W [@NAME@_weights.bin]]] */
#define _DEFAULT_SOURCE 1
#include "@NAME@_io.h"

static int by_time(const void *a, const void *b) {
    const double first = *(const double *)a, second = *(const double *)b;
    return (first > second) - (first < second);
}
int main(int argc, char **argv) {
    static struct io_session s;
    int runs = argc > 1 ? atoi(argv[1]) : 50, warmup = argc > 2 ? atoi(argv[2]) : 5;
    if (runs < 1) runs = 1;
    if (argc > 3) io_read_file(argv[3], &s.weights);
    io_typical_symbols(&s);
@BENCH_THREADS@    double *time_of = (double *)io_alloc((size_t)runs * sizeof *time_of);
    int status = io_open(&s);
    for (int run = -warmup; run < runs && status == NN_OK; run++) {
        const double start = io_seconds();
        status = io_run_once(&s);
        if (run >= 0) time_of[run] = io_seconds() - start;
    }
    if (status != NN_OK) return io_failed(&s, status);
    qsort(time_of, (size_t)runs, sizeof *time_of, by_time);
    uint64_t sum = 0;
    for (int k = 0; k < IO_OUTPUTS; k++) sum ^= io_checksum(&s.outputs[k]) * (uint64_t)(2 * k + 1);
    const double least = time_of[0] * 1e3, median = time_of[runs / 2] * 1e3;
    const double p99 = time_of[(int)((double)(runs - 1) * 0.99)] * 1e3;
    printf("@NAME@: min %.6f ms, median %.6f ms, p99 %.6f ms, %d runs, ", least, median, p99, runs);
    printf("checksum %016llx\n", (unsigned long long)sum);
    free(time_of);
    io_finish(&s);
    return 0;
}
