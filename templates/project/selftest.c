/* Runs @NAME@ twice on made-up inputs and prints a checksum of each output.
 * They are the same on every machine of a kind, whatever compiler built it. Fails when the two runs differ.
 * usage: selftest [@NAME@_weights.bin] */
#include "@NAME@_io.h"

int main(int argc, char **argv) {
    static struct io_session s;
    uint64_t first[IO_OUTPUTS + 1] = {0};
    if (argc > 1) io_read_file(argv[1], &s.weights);
    io_typical_symbols(&s);
    int status = io_open(&s), different = 0;
    for (int run = 0; run < 2 && status == NN_OK; run++) {
        status = io_run_once(&s);
        for (int k = 0; k < IO_OUTPUTS && status == NN_OK; k++) {
            const uint64_t sum = io_checksum(&s.outputs[k]);
            if (run == 0) first[k] = sum;
            else if (first[k] != sum) different = 1;
        }
    }
    if (status != NN_OK) return io_failed(&s, status);
    for (int k = 0; k < IO_OUTPUTS; k++) printf("%016llx %s\n", (unsigned long long)first[k], io_model()->output[k].name);
    io_finish(&s);
    if (different) fprintf(stderr, "two runs gave different outputs\n");
    return different;
}
