/* What generated models share at run time: error codes, strings, and memory for buffers whose sizes are found during
 * the run.
 *
 * Plain C99 (and C++), no globals, no malloc. Each model in a program may come with a copy of nn_rt.c; build only one.
 * The symbols contain the version of this interface, so that models from different releases can be in one program. */
#ifndef NN_RT_H
#define NN_RT_H
#include <stddef.h>
#include <stdint.h>

#define NN_RT_VERSION   1
#define nn_status_text  nn1_status_text
#define nn_region_init  nn1_region_init
#define nn_region_alloc nn1_region_alloc
#define nn_region_free  nn1_region_free
#define nn_fill         nn1_fill
#define nn_result       nn1_result
#define nn_stop         nn1_stop
#define nn_stop_values  nn1_stop_values
#define nn_cpu_lacks    nn1_cpu_lacks

#ifdef __cplusplus
extern "C" {
#endif

/* What MODEL_init and MODEL_run return. The context's member `error` says more. */
enum nn_status {
    NN_OK = 0,
    NN_EARG = 1,     /* a pointer is NULL or not aligned as documented */
    NN_EARENA = 2,   /* the arena is too small: context->error.need bytes would have been enough */
    NN_EDIMS = 3,    /* a dimension is outside of its range */
    NN_EFAULT = 4,   /* a check of the model failed: an index, a size, incompatible shapes */
    NN_EFUEL = 5,    /* a loop of the model ran more than config->max_iterations times */
    NN_ECAP = 6,     /* the capacity given for an output is too small: context->error.need elements would have been
                      * enough */
    NN_EWEIGHTS = 7, /* the weights given are not those of this model */
    NN_EDEVICE = 8,  /* the GPU, its memory or its driver failed */
    NN_ETARGET = 9   /* the CPU lacks instructions that the code needs */
};
const char *nn_status_text(int status);

/* More about the last failure of a context. */
typedef struct {
    const char *what;  /* which check failed */
    const char *where; /* the model's node, or NULL */
    size_t need;       /* NN_EARENA: bytes, NN_ECAP: elements */
    int64_t values[2]; /* the two numbers that were compared, when `what` is about two numbers */
} nn_error;
/* Fills in *e and returns status. */
int nn_stop(nn_error *e, int status, const char *what, const char *where);
int nn_stop_values(nn_error *e, int status, const char *what, const char *where, int64_t a, int64_t b);

enum { NN_ALIGN = 64 }; /* of the arena, of every buffer in it, and of the weights */

/* An element of a string tensor: n bytes, not NUL-terminated. */
typedef struct {
    const char *p;
    size_t n;
} nn_str;

/* Elements of complex tensors: real and imaginary part. */
typedef struct {
    float re, im;
} nn_c64;
typedef struct {
    double re, im;
} nn_c128;

/* ---- the region: the part of the arena from which buffers of unknown size are taken. First fit over a list of free
 * blocks sorted by address; blocks are multiples of 64 bytes, each has a header of 64. */
struct nn_block;
typedef struct {
    unsigned char *base;
    size_t before; /* bytes of the arena before the region */
    size_t size;
    struct nn_block *free;
    size_t need; /* after a failure: the size of the arena, in bytes, with which it would have succeeded */
    size_t high; /* most bytes of the arena in use so far */
} nn_region;
void nn_region_init(nn_region *r, void *arena, size_t before, size_t size);
void *nn_region_alloc(nn_region *r, int64_t bytes); /* NULL: too small, r->need is set */
void nn_region_free(nn_region *r, void *p);         /* p may be NULL */

/* Memory for a result of `count` elements whose size is known only now: `given` if its capacity is not 0, otherwise
 * from the region. NULL, with *status set, if there is not enough. */
void *nn_result(nn_region *r, nn_error *e, int *status, void *given, size_t cap, int64_t count, size_t size);

/* Writes `count` copies of the `size` bytes at `pattern` to p. */
void nn_fill(void *p, const void *pattern, size_t size, int64_t count);

/* The first instruction set that the CPU, or its operating system, lacks: "the CPU has no avx2"; NULL: it has all, or
 * cannot be asked. `needs`: their names, each followed by a blank or the end; `without`: those that count as missing,
 * or NULL. */
const char *nn_cpu_lacks(const char *needs, const char *without);

/* ---- sizes */
static inline int64_t nn_min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t nn_max64(int64_t a, int64_t b) { return a > b ? a : b; }
/* Floor division and modulo; c > 0. */
static inline int64_t nn_div64(int64_t a, int64_t c) { return c > 0 ? a / c - (a % c < 0) : 0; }
static inline int64_t nn_mod64(int64_t a, int64_t c) { return c > 0 ? (a % c < 0 ? a % c + c : a % c) : 0; }
/* Sum and product that record an overflow in *over. */
static inline int64_t nn_add64(int64_t a, int64_t b, int *over) {
    if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {
        *over = 1;
        return 0;
    }
    return a + b;
}
static inline int64_t nn_mul64(int64_t a, int64_t b, int *over) {
    if (a == 0 || b == 0) return 0;
    if (a == INT64_MIN || b == INT64_MIN || (a < 0 ? -a : a) > INT64_MAX / (b < 0 ? -b : b)) {
        *over = 1;
        return 0;
    }
    return a * b;
}

#ifdef __cplusplus
}
#endif
#endif
