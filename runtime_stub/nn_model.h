/* A compiled model behind one structure that is the same for every model, target and release: for programs that load
 * models which they were not made for, and for other languages. NAME_info() of a model gives it; a shared library
 * exports it as the function `gcc2nn_model_v1`, too:
 *
 *     void *library = dlopen("./libdigits.so", RTLD_NOW | RTLD_LOCAL);
 *     gcc2nn_model_v1_fn *info = (gcc2nn_model_v1_fn *)dlsym(library, "gcc2nn_model_v1");
 *     const struct gcc2nn_model_v1 *model = info();
 *     void *context = malloc(model->context_bytes);
 *     struct gcc2nn_config_v1 config = {0};
 *     model->arena(NULL, &config.arena_size);
 *     config.arena = aligned_alloc(64, config.arena_size);
 *     int status = model->init(context, &config);
 *     const void *inputs[] = {picture};
 *     struct gcc2nn_result_v1 results[1] = {{scores, 10, {0}}};
 *     if (status == NN_OK) status = model->run(context, NULL, inputs, results);
 *     model->close(context);
 *
 * Anything may stand behind it: C or CUDA that gcc2nn wrote, or a backend written by hand. These structures never
 * change; a release that needs others adds a `v2` beside them. Nothing here allocates: memory is the caller's. */
#ifndef NN_MODEL_H
#define NN_MODEL_H
#include "nn_rt.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { GCC2NN_RANK = 32 }; /* most dimensions that a tensor has */

/* A dimension: a number; one of the caller's symbols; or neither: the model computes it from them, or finds it during
 * the run. */
struct gcc2nn_dim_v1 {
    int64_t size;   /* -1: open */
    int64_t symbol; /* its index; -1: none */
};

/* An input or output. Elements are row-major; those below 8 bits take a byte each; strings are nn_str. */
struct gcc2nn_tensor_v1 {
    const char *name;  /* as in the model: any bytes but NUL */
    const char *shape; /* for people: "f32[batch, 3]" */
    int32_t type;      /* ONNX's number for the type */
    int32_t element;   /* bytes of an element */
    int32_t rank;
    int32_t found;                    /* of outputs. 1: its size is only known after the run */
    int32_t next;                     /* of outputs: the input of the next run that takes it, a state; -1: none */
    const struct gcc2nn_dim_v1 *dims; /* as many as rank */
};

/* A size that the caller chooses. */
struct gcc2nn_symbol_v1 {
    const char *name;
    int64_t least, most, typical;
};

/* Memory and more, for as long as the context is used. Zeros are defaults. */
struct gcc2nn_config_v1 {
    void *arena; /* aligned to 64 bytes; for a device its memory, or NULL: the context allocates it */
    size_t arena_size;
    const void *weights; /* contents of the weights file, aligned to 64 bytes; NULL: those of the library */
    size_t weights_size;
    int64_t max_iterations;                                                 /* of all loops in a run together */
    int (*grow)(void *user, size_t need, void **arena, size_t *arena_size); /* NULL, or as described in NAME.h */
    void *user;
    void *threads;       /* nn_threads, with GCC2NN_THREADS */
    void *stream;        /* cudaStream_t, with GCC2NN_DEVICE on CUDA */
    const char *without; /* instruction sets not to use, "avx512f avx2" */
};

/* An output of a run. */
struct gcc2nn_result_v1 {
    void *data;                /* memory for it; if `found` and capacity is 0, is set to the context's memory, valid
                                * until the next run */
    size_t capacity;           /* number of elements that data has room for */
    int64_t dims[GCC2NN_RANK]; /* set by the run */
};

enum { GCC2NN_DEVICE = 1, GCC2NN_REGION = 2, GCC2NN_THREADS = 4 };

/* Functions that return a status return one of enum nn_status; `error` says more. */
struct gcc2nn_model_v1 {
    const char *name, *target, *compiler, *source,
        *hash; /* "digits", "x86-avx2", "gcc2nn 1.2.3", "digits.onnx", of it */
    int32_t inputs, outputs, symbols;
    int32_t flags; /* GCC2NN_DEVICE: it runs on a GPU; GCC2NN_REGION: a run may take more than arena() says, then it
                      ends with NN_EARENA; GCC2NN_THREADS: it uses config.threads */
    const struct gcc2nn_tensor_v1 *input, *output;
    const struct gcc2nn_symbol_v1 *symbol;
    size_t context_bytes; /* to allocate for a context, aligned as malloc does */
    size_t weights_bytes; /* of the file that config.weights must hold; 0: they are part of the library */
    /* `symbols` has one value for each, in their order; may be NULL if there are none. */
    int (*arena)(const int64_t *symbols, size_t *bytes);
    int (*input_dims)(int32_t number, const int64_t *symbols, int64_t *dims);
    int (*output_dims)(int32_t number, const int64_t *symbols, int64_t *dims); /* -1: found during the run */
    int (*init)(void *context, const struct gcc2nn_config_v1 *config);
    /* inputs: one pointer each, aligned for its elements; results: one for each output. */
    int (*run)(void *context, const int64_t *symbols, const void *const *inputs, struct gcc2nn_result_v1 *results);
    int (*variant)(const void *context);                 /* if there are several targets: which one init chose, from
                                                          * 0 */
    void (*error)(const void *context, nn_error *error); /* of the last call that failed */
    const char *(*status_text)(int status);
    void (*close)(void *context); /* frees its memory on a device; also needed after a failed init */
};

typedef const struct gcc2nn_model_v1 *gcc2nn_model_v1_fn(void); /* the type of the exported function */

#ifdef __cplusplus
}
#endif
#endif
