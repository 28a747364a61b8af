/* symbolic: a neural network as C, made by gcc2nn from symbolic.onnx.
 *
 *     symbolic model;
 *     symbolic_config config = {0};
 *     symbolic_dims dims = {...};
 *     config.arena_size = symbolic_arena(&dims);
 *     config.arena = aligned_alloc(64, config.arena_size);
 *     int status = symbolic_init(&model, &config);
 *     symbolic_inputs in = {...};
 *     symbolic_outputs out = {...};
 *     if (status == NN_OK) status = symbolic_run(&model, &in, &out);
 *     if (status != NN_OK) puts(model.error.what);
 *
 * No function allocates memory, prints or keeps state outside of the context: any number of contexts may run at the
 * same time, each with an arena of its own. Inputs are not changed; outputs must not overlap them. */
#ifndef GCC2NN_SYMBOLIC_H
#define GCC2NN_SYMBOLIC_H
#include "nn_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SYMBOLIC_WEIGHTS_BYTES 128
#define SYMBOLIC_MODEL_HASH "62a5faae2b5530b5"
#define SYMBOLIC_TARGET "c99"
#define SYMBOLIC_INPUTS 1
#define SYMBOLIC_OUTPUTS 2
#define SYMBOLIC_INPUT_0_NAME "x"
#define SYMBOLIC_INPUT_0_SHAPE "f32[N, 3]"
#define SYMBOLIC_OUTPUT_0_NAME "y"
#define SYMBOLIC_OUTPUT_0_SHAPE "f32[N*2, 3]"
#define SYMBOLIC_OUTPUT_1_NAME "n"
#define SYMBOLIC_OUTPUT_1_SHAPE "i64[2]"
#define SYMBOLIC_OUTPUT_1_ELEMENTS 2

/* The sizes that the caller chooses. */
typedef struct {
    int64_t N;    /* 0 to 2147483647 */
} symbolic_dims;

typedef struct {
    symbolic_dims dims;
    const float *x;    /* f32[N, 3] */
} symbolic_inputs;

typedef struct {
    float *y;    /* f32[N*2, 3] */
    int64_t *n;    /* i64[2] */
} symbolic_outputs;

typedef struct {
    void *arena;               /* aligned to 64 bytes; the context uses it until the last run */
    size_t arena_size;
    const void *weights;       /* NULL: those that are part of the program */
    size_t weights_size;
    int64_t max_iterations;    /* of all loops of a run together; 0: 2147483647 */
    /* Called when the arena is too small in a run: gives a larger one and true, then the run starts again. May be
     * NULL. */
    int (*grow)(void *user, size_t need, void **arena, size_t *arena_size);
    void *user;
} symbolic_config;

/* The context. Only `error` is for the caller's eyes. */
typedef struct {
    nn_error error;
    symbolic_config config;
    const unsigned char *weights;
    int ready;    /* symbolic_init succeeded */
    symbolic_dims dims;    /* of the plan below */
    int64_t total;
    int64_t at[2];
} symbolic;

int symbolic_init(symbolic *m, const symbolic_config *config);
int symbolic_run(symbolic *m, const symbolic_inputs *in, symbolic_outputs *out);
/* Bytes of arena that a run with these dims needs, exactly; 0: dims out of range. */
size_t symbolic_arena(const symbolic_dims *dims);

#ifdef __cplusplus
}
#endif
#endif
