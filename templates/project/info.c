/* @NAME@ described: its inputs, outputs and sizes as tables.
 * Its functions have arguments here that are the same for every model (nn_model.h). A program that does not call what
 * stands here does not contain it. */
#include "@NAME@.h"
#include <string.h>

@TABLES@
/* The sizes of this run are such as the model allows, and its results have room where that is known before. */
static int io_check(@NAME@ *m, const int64_t *symbols, struct gcc2nn_result_v1 *results) {
    for (int32_t number = 0; number < @UPPER@_SYMBOLS; number++) {
        const struct gcc2nn_symbol_v1 *const s = &io_symbols[number];
        if (symbols && symbols[number] >= s->least && symbols[number] <= s->most) continue;
        return nn_stop(&m->error, NN_EDIMS, "a size is out of its range", s->name);
    }
    for (int32_t number = 0; number < @UPPER@_OUTPUTS; number++) {
        const struct gcc2nn_tensor_v1 *const t = &io_outputs[number];
        int64_t count = 1;
        int over = io_output_dims(number, symbols, results[number].dims) != NN_OK;
        for (int axis = 0; axis < t->rank; axis++) count = nn_mul64(count, results[number].dims[axis], &over);
        if (over) return nn_stop(&m->error, NN_EDIMS, "an output is too large", t->name);
        if (t->found || (uint64_t)count <= (uint64_t)results[number].capacity) continue;
        m->error.need = (size_t)count;
        return nn_stop(&m->error, NN_ECAP, "an output has too little room", t->name);
    }
    return NN_OK;
}
static int io_run(void *context, const int64_t *symbols, const void *const *inputs, struct gcc2nn_result_v1 *results) {
    @NAME@ *const m = (@NAME@ *)context;
    @NAME@_inputs in;
    @NAME@_outputs out;
    if (!m) return NN_EARG;
    memset(&m->error, 0, sizeof m->error);
    if (@UPPER@_INPUTS > 0 && !inputs) return nn_stop(&m->error, NN_EARG, "the inputs are missing", NULL);
    if (@UPPER@_OUTPUTS > 0 && !results) return nn_stop(&m->error, NN_EARG, "the results are missing", NULL);
    int status = io_check(m, symbols, results);
    if (status != NN_OK) return status;
    memset(&in, 0, sizeof in);
    memset(&out, 0, sizeof out);
@TAKE@    status = @NAME@_run(m, &in, &out);
@GIVE@    return status;
}
static int io_init(void *context, const struct gcc2nn_config_v1 *given) {
    @NAME@_config config;
    if (!given) return @NAME@_init((@NAME@ *)context, NULL);
    memset(&config, 0, sizeof config);
    config.arena = given->arena;
    config.arena_size = given->arena_size;
    config.weights = given->weights;
    config.weights_size = given->weights_size;
    config.max_iterations = given->max_iterations;
    config.grow = given->grow;
    config.user = given->user;
@CONFIG@    return @NAME@_init((@NAME@ *)context, &config);
}
static void io_error(const void *context, nn_error *error) { *error = ((const @NAME@ *)context)->error; }

size_t @NAME@_sizeof(void) { return sizeof(@NAME@); }
const struct gcc2nn_model_v1 *@NAME@_info(void) {
    static const struct gcc2nn_model_v1 io_model = {
@FACTS@        @UPPER@_INPUTS, @UPPER@_OUTPUTS, @UPPER@_SYMBOLS, @FLAGS@,
        io_inputs, io_outputs, io_symbols, sizeof(@NAME@), @WEIGHTS_BYTES@,
        io_arena, io_input_dims, io_output_dims, io_init, io_run, io_variant, io_error, nn_status_text, io_close,
    };
    return &io_model;
}
