/* A compiled model as a shared library with a plain interface, so that tests/bench/models.py can run it by turns with
 * ONNX Runtime in one process. Compiled in the folder that `gcc2nn compile` wrote. */
#define _POSIX_C_SOURCE 200809L
#include "model_io.h"

static struct io_session s;

int shim_inputs(void) { return IO_INPUTS; }
int shim_outputs(void) { return IO_OUTPUTS; }
const char *shim_output_name(int k) { return io_model()->output[k].name; }
const char *shim_input_name(int k) { return io_model()->input[k].name; }
/* First: open sizes are those that the program is optimised for. */
void shim_sizes(void) { io_typical_symbols(&s); }
/* Before shim_open. Elements as in the model's input; the caller keeps them. */
void shim_set_input(int k, void *data) {
    io_input(k, s.symbols, &s.inputs[k]);
    s.inputs[k].data = data;
}
int64_t shim_input_count(int k) {
    struct io_tensor t;
    io_input(k, s.symbols, &t);
    return io_count(&t);
}
int shim_open(const char *weights) {
    if (*weights) io_read_file(weights, &s.weights);
#if THREADS > 1
    io_threads(&s.config, THREADS);
#endif
    return io_open(&s);
}
/* Seconds of one run; negative: it failed, and the reason is on stderr. */
double shim_run(void) {
    const double start = io_seconds();
    const int status = io_run_once(&s);
    const double took = io_seconds() - start;
    if (status == NN_OK) return took;
    io_failed(&s, status);
    return -1;
}
/* After a run. */
const void *shim_output(int k, int *type, int *rank, const int64_t **dims) {
    *type = s.outputs[k].type, *rank = s.outputs[k].rank, *dims = s.outputs[k].dims;
    return s.outputs[k].data;
}
