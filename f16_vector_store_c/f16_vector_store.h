/* f16_vector_store: a neural network as C, made by gcc2nn from f16_vector_store.lir.
 *
 *     f16_vector_store model;
 *     f16_vector_store_config config = {0};
 *     config.arena_size = F16_VECTOR_STORE_ARENA_BYTES;
 *     config.arena = aligned_alloc(64, config.arena_size);
 *     int status = f16_vector_store_init(&model, &config);
 *     f16_vector_store_inputs in = {...};
 *     f16_vector_store_outputs out = {...};
 *     if (status == NN_OK) status = f16_vector_store_run(&model, &in, &out);
 *     if (status != NN_OK) puts(model.error.what);
 *
 * No function allocates memory, prints or keeps state outside of the context: any number of contexts may run at the
 * same time, each with an arena of its own. Inputs are not changed; outputs must not overlap them. */
#ifndef GCC2NN_F16_VECTOR_STORE_H
#define GCC2NN_F16_VECTOR_STORE_H
#include "nn_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

#define F16_VECTOR_STORE_ARENA_BYTES 0
#define F16_VECTOR_STORE_WEIGHTS_BYTES 0
#define F16_VECTOR_STORE_MODEL_HASH "b44cc885d07606bd"
#define F16_VECTOR_STORE_TARGET "x86-avx512"
/* Instruction sets that f16_vector_store_init asks the CPU for. */
#define F16_VECTOR_STORE_NEEDS "avx512f avx512bw avx512dq avx512vl fma f16c"
#define F16_VECTOR_STORE_INPUTS 1
#define F16_VECTOR_STORE_OUTPUTS 1
#define F16_VECTOR_STORE_INPUT_0_NAME "x"
#define F16_VECTOR_STORE_INPUT_0_SHAPE "f16[8]"
#define F16_VECTOR_STORE_INPUT_0_ELEMENTS 8
#define F16_VECTOR_STORE_OUTPUT_0_NAME "s"
#define F16_VECTOR_STORE_OUTPUT_0_SHAPE "f16[1]"
#define F16_VECTOR_STORE_OUTPUT_0_ELEMENTS 1

typedef struct {
    const uint16_t *x;    /* f16[8] */
} f16_vector_store_inputs;

typedef struct {
    uint16_t *s;    /* f16[1] */
} f16_vector_store_outputs;

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
    const char *without;       /* instruction sets not to use, as in "avx512f avx2"; NULL: none */
} f16_vector_store_config;

/* The context. Only `error` is for the caller's eyes. */
typedef struct {
    nn_error error;
    f16_vector_store_config config;
    const unsigned char *weights;
    int ready;    /* f16_vector_store_init succeeded */
} f16_vector_store;

int f16_vector_store_init(f16_vector_store *m, const f16_vector_store_config *config);
int f16_vector_store_run(f16_vector_store *m, const f16_vector_store_inputs *in, f16_vector_store_outputs *out);

#ifdef __cplusplus
}
#endif
#endif
