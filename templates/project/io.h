/* @NAME@ as tables, for the programs beside it: selftest.c, bench.c, @NAME@_main.c. Not needed to use the model. */
#ifndef GCC2NN_@UPPER@_IO_H
#define GCC2NN_@UPPER@_IO_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __linux__
#include <sys/mman.h>
#endif
#include "@NAME@.h"

enum { IO_INPUTS = @UPPER@_INPUTS, IO_OUTPUTS = @UPPER@_OUTPUTS, IO_SYMBOLS = @UPPER@_SYMBOLS };
static inline const struct gcc2nn_model_v1 *io_model(void) { return @NAME@_info(); }

/* A tensor of any type: `type` is ONNX's number, elements are row-major. */
struct io_tensor { int type, rank; int64_t dims[GCC2NN_RANK]; void *data; };

static inline int64_t io_count(const struct io_tensor *t) {
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++) n *= t->dims[k];
    return n;
}
static inline size_t io_element(int type) {
    switch (type) {
    case 5: case 4: case 10: case 16: return 2;              /* i16 u16 f16 bf16 */
    case 1: case 6: case 12: return 4;                       /* f32 i32 u32 */
    case 7: case 13: case 11: case 14: return 8;             /* i64 u64 f64 c64 */
    case 15: return 16;                                      /* c128 */
    case 8: return sizeof(nn_str);
    default: return 1;
    }
}
static inline void io_no_memory(size_t size) {
    fprintf(stderr, "out of memory: %lu bytes were needed\n", (unsigned long)size);
    exit(5);
}
static inline void *io_alloc(size_t size) {
    void *p = malloc(size ? size : 1);
    if (!p) io_no_memory(size);
    return p;
}
/* Aligned memory: for the arena, and for files. What is large asks Linux for large pages, which the weights of a large
 * model stream from noticeably faster. */
#ifdef MADV_HUGEPAGE
enum { IO_LARGE = 8 << 20, IO_LARGE_PAGE = 2 << 20 };
#endif
struct io_memory { void *raw, *arena; size_t size; };
static inline void io_memory_free(struct io_memory *m) {
    free(m->raw);
    m->raw = m->arena = NULL;
    m->size = 0;
}
static inline void io_memory_set(struct io_memory *m, size_t size) {
    io_memory_free(m);
#if defined __STDC_VERSION__ && __STDC_VERSION__ >= 201112L && !defined _WIN32
    size_t align = NN_ALIGN;
#ifdef MADV_HUGEPAGE
    if (size >= IO_LARGE) align = IO_LARGE_PAGE;
#endif
    const size_t whole = size / align * align + (size % align || size == 0 ? align : 0);
    m->raw = m->arena = aligned_alloc(align, whole);
    if (!m->raw) io_no_memory(whole);
#ifdef MADV_HUGEPAGE
    if (size >= IO_LARGE) madvise(m->raw, whole, MADV_HUGEPAGE);    /* as good as it gets: it may be refused */
#endif
#else
    m->raw = io_alloc(size + NN_ALIGN);
    m->arena = (unsigned char *)m->raw + (NN_ALIGN - (uintptr_t)m->raw % NN_ALIGN) % NN_ALIGN;
#endif
    m->size = size;
}
/* For config.grow: doubles, so that few runs start again. */
static inline int io_grow(void *user, size_t need, void **arena, size_t *size) {
    struct io_memory *m = (struct io_memory *)user;
    if (need > ((size_t)-1) / 4) return 0;
    io_memory_set(m, need > 2 * m->size ? need : 2 * m->size);
    *arena = m->arena;
    *size = m->size;
    return 1;
}
/* Numbers that are the same on every machine: floats in [-1, 1), small integers. */
static inline void io_fill(struct io_tensor *t, uint32_t seed) {
    static const nn_str words[4] = {{"alpha", 5}, {"beta", 4}, {"gamma", 5}, {"", 0}};
    const int64_t n = io_count(t);
    for (int64_t i = 0; i < n; i++) {
        uint32_t h = ((uint32_t)i * 2654435761u) ^ (seed * 2246822519u);
        h = (h ^ (h >> 15)) * 2246822519u;
        h ^= h >> 13;
        const float f = (float)(int32_t)(h >> 8) / 8388608.0f - 1.0f;
        switch (t->type) {
        case 1: ((float *)t->data)[i] = f; break;
        case 11: ((double *)t->data)[i] = (double)f; break;
        case 6: ((int32_t *)t->data)[i] = (int32_t)(h & 1); break;
        case 7: ((int64_t *)t->data)[i] = (int64_t)(h & 1); break;
        case 12: ((uint32_t *)t->data)[i] = h & 1; break;
        case 13: ((uint64_t *)t->data)[i] = h & 1; break;
        case 5: case 4: ((uint16_t *)t->data)[i] = (uint16_t)(h & 127); break;
        case 10: ((uint16_t *)t->data)[i] = (uint16_t)(0x3400 | (h & 0x83ff)); break;    /* a quarter to a half */
        case 16: ((uint16_t *)t->data)[i] = (uint16_t)(0x3e80 | (h & 0x807f)); break;
        case 9: case 25: case 26: ((uint8_t *)t->data)[i] = (uint8_t)(h & 1); break;
        case 21: case 22: case 23: ((uint8_t *)t->data)[i] = (uint8_t)(h & 7); break;
        case 8: ((nn_str *)t->data)[i] = words[h & 3]; break;
        case 14: ((nn_c64 *)t->data)[i].re = f, ((nn_c64 *)t->data)[i].im = -f; break;
        case 15: ((nn_c128 *)t->data)[i].re = (double)f, ((nn_c128 *)t->data)[i].im = -(double)f; break;
        default: ((uint8_t *)t->data)[i] = (uint8_t)(h & 0x3f); break;
        }
    }
}
static inline uint64_t io_hash(uint64_t h, const void *data, size_t n) {    /* FNV-1a */
    const unsigned char *p = (const unsigned char *)data;
    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * UINT64_C(1099511628211);
    return h;
}
static inline uint64_t io_checksum(const struct io_tensor *t) {
    uint64_t h = UINT64_C(14695981039346656037);
    const int64_t n = io_count(t);
    if (t->type != 8) return n > 0 ? io_hash(h, t->data, (size_t)n * io_element(t->type)) : h;
    for (int64_t i = 0; i < n; i++) {
        const nn_str s = ((const nn_str *)t->data)[i];
        h = io_hash(io_hash(h, &s.n, sizeof s.n), s.p, s.n);
    }
    return h;
}
/* Everything for runs with given symbols: context, arena, inputs, outputs. */
struct io_session {
    void *context;
    struct gcc2nn_config_v1 config;
    struct io_memory memory, weights;
    struct io_tensor inputs[IO_INPUTS + 1], outputs[IO_OUTPUTS + 1];
    struct gcc2nn_result_v1 results[IO_OUTPUTS + 1];
    int64_t symbols[IO_SYMBOLS + 1];
};
static inline void io_typical_symbols(struct io_session *s) {
    for (int k = 0; k < IO_SYMBOLS; k++) s->symbols[k] = io_model()->symbol[k].typical;
}
/* Type and shape of an input. */
static inline void io_input(int k, const int64_t *symbols, struct io_tensor *t) {
    t->type = io_model()->input[k].type;
    t->rank = io_model()->input[k].rank;
    io_model()->input_dims(k, symbols, t->dims);
}
/* The same of an output; 0: its shape is what the run finds. */
static inline int io_output(int k, const int64_t *symbols, struct io_tensor *t) {
    t->type = io_model()->output[k].type;
    t->rank = io_model()->output[k].rank;
    if (io_model()->output[k].found) return 0;
    io_model()->output_dims(k, symbols, t->dims);
    return 1;
}
enum { IO_MORE = 1 << 16 };    /* bytes of arena to begin with for sizes that the run finds */
/* Allocates what is missing: data of inputs, and of outputs of known size, where NULL; the arena. */
static inline int io_open(struct io_session *s) {
    const struct gcc2nn_model_v1 *io = io_model();
    size_t arena = 0;
    for (int k = 0; k < IO_INPUTS; k++) {
        if (s->inputs[k].data) continue;
        io_input(k, s->symbols, &s->inputs[k]);
        s->inputs[k].data = io_alloc((size_t)io_count(&s->inputs[k]) * io_element(s->inputs[k].type));
        io_fill(&s->inputs[k], (uint32_t)k + 1);
    }
    for (int k = 0; k < IO_OUTPUTS; k++) {
        struct io_tensor *t = &s->outputs[k];
        if (!io_output(k, s->symbols, t)) continue;
        s->results[k].capacity = (size_t)io_count(t);
        if (!t->data) t->data = io_alloc(s->results[k].capacity * io_element(t->type));
        s->results[k].data = t->data;
    }
    io->arena(s->symbols, &arena);
    if (io->flags & GCC2NN_REGION) arena += IO_MORE;
    if (!(io->flags & GCC2NN_DEVICE)) io_memory_set(&s->memory, arena);    /* else the context allocates */
    s->config.arena = s->memory.arena;
    s->config.arena_size = s->memory.size;
    s->config.weights = s->weights.arena;
    s->config.weights_size = s->weights.size;
    s->config.grow = io_grow;
    s->config.user = &s->memory;
    s->context = io_alloc(io->context_bytes);
    return io->init(s->context, &s->config);
}
static inline int io_run_once(struct io_session *s) {
    const void *inputs[IO_INPUTS + 1];
    for (int k = 0; k < IO_INPUTS; k++) inputs[k] = s->inputs[k].data;
    const int status = io_model()->run(s->context, s->symbols, inputs, s->results);
    for (int k = 0; k < IO_OUTPUTS && status == NN_OK; k++) {
        memcpy(s->outputs[k].dims, s->results[k].dims, sizeof s->outputs[k].dims);
        s->outputs[k].data = s->results[k].data;
    }
    return status;
}
static inline void io_finish(struct io_session *s) {
    io_model()->close(s->context);
    free(s->context);
    for (int k = 0; k < IO_INPUTS; k++) free(s->inputs[k].data);
    for (int k = 0; k < IO_OUTPUTS; k++)
        if (!io_model()->output[k].found) free(s->results[k].data);
    io_memory_free(&s->memory);
    io_memory_free(&s->weights);
}
static inline int io_failed(const struct io_session *s, int status) {
    nn_error error;
    const nn_error *const e = &error;
    io_model()->error(s->context, &error);
    fprintf(stderr, "@NAME@: %s", nn_status_text(status));
    if (e->what) fprintf(stderr, ": %s", e->what);
    if (e->where) fprintf(stderr, " at %s", e->where);
    if (status == NN_EFAULT && (e->values[0] || e->values[1])) fprintf(stderr, " (%lld and %lld)", (long long)e->values[0], (long long)e->values[1]);
    if (e->need && (status == NN_EARENA || status == NN_ECAP)) fprintf(stderr, ", %lu would have done", (unsigned long)e->need);
    fprintf(stderr, "\n");
    return 3;
}
/* Contents of a file, aligned as weights must be; io_memory_free releases them. */
static inline const void *io_read_file(const char *path, struct io_memory *m) {
    FILE *f = fopen(path, "rb");
    long n = -1;
    if (f && fseek(f, 0, SEEK_END) == 0) n = ftell(f);
    if (n < 0 || fseek(f, 0, SEEK_SET) != 0) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    io_memory_set(m, (size_t)n);
    if (fread(m->arena, 1, m->size, f) != m->size) {
        fprintf(stderr, "cannot read %s\n", path);
        exit(2);
    }
    fclose(f);
    return m->arena;
}
static inline double io_seconds(void) {
#ifdef CLOCK_MONOTONIC
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
#else
    return (double)clock() / CLOCKS_PER_SEC;
#endif
}
@IO_THREADS@#endif
