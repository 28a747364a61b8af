/* Operators for ONNX Runtime, written by gcc2nn ort-ops: the part of its C API that they use. The API is a table of
 * functions to which new ones are only appended, so that places in it stay; all of these are of version 1.8 or older.
 * An operator is a struct that says its version: 16 has the two functions that can fail, last.
 * https://onnxruntime.ai/docs/reference/operators/add-custom-op.html */
#ifndef GCC2NN_ORT_OPS_H
#define GCC2NN_ORT_OPS_H
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif

enum { ORT_OP_VERSION = 16, ORT_FAIL = 1, ORT_STRING = 8, ORT_RANK = 32, ORT_ATTRS = 32, ORT_LISTS = 16 };
struct ort_op;
struct ort_room;
/* What may fail returns NULL, or a status, which is the caller's. */
struct ort_api {
    void *(*status)(int code, const char *text);
    void *other_1[25];
    void *(*domain_new)(const char *name, void **domain); /* 26 */
    void *(*domain_add)(void *domain, const struct ort_op *op);
    void *(*options_add)(void *options, void *domain);
    void *other_29[22];
    void *(*data)(void *value, void **cells); /* 51 */
    void *(*strings_set)(void *value, const char *const *s, size_t n);
    void *(*strings_bytes)(const void *value, size_t *bytes);
    void *(*strings_get)(const void *value, void *bytes, size_t nbytes, size_t *offsets, size_t n);
    void *other_55[6];
    void *(*rank)(const void *shape, size_t *n); /* 61 */
    void *(*dims)(const void *shape, int64_t *dims, size_t n);
    void *other_63[2];
    void *(*shape)(const void *value, void **shape); /* 65 */
    void *other_66[19];
    void *(*attr_float)(const void *info, const char *name, float *v); /* 85 */
    void *(*attr_int)(const void *info, const char *name, int64_t *v);
    void *(*attr_text)(const void *info, const char *name, char *v, size_t *n);
    void *(*inputs)(const void *context, size_t *n); /* 88 */
    void *(*outputs)(const void *context, size_t *n);
    void *(*input)(const void *context, size_t k, const void **value); /* 90 */
    void *(*output)(void *context, size_t k, const int64_t *dims, size_t n, void **value);
    void *other_92;
    void (*status_free)(void *status); /* 93 */
    void *other_94[5];
    void (*shape_free)(void *shape); /* 99 */
    void *other_100[62];
    void *(*attr_floats)(const void *info, const char *name, float *v, size_t *n); /* 162 */
    void *(*attr_ints)(const void *info, const char *name, int64_t *v, size_t *n);
};
struct ort_base {
    const struct ort_api *(*api)(uint32_t version);
};
struct ort_op {
    uint32_t version;
    void *(*create)(const struct ort_op *op, const struct ort_api *api, const void *info);
    const char *(*name)(const struct ort_op *op);
    const char *(*provider)(const struct ort_op *op);
    int (*input_type)(const struct ort_op *op, size_t k);
    size_t (*inputs)(const struct ort_op *op);
    int (*output_type)(const struct ort_op *op, size_t k);
    size_t (*outputs)(const struct ort_op *op);
    void (*compute)(void *kernel, void *context);
    void (*destroy)(void *kernel);
    int (*input_kind)(const struct ort_op *op, size_t k); /* 0: required */
    int (*output_kind)(const struct ort_op *op, size_t k);
    int (*input_memory)(const struct ort_op *op, size_t k); /* 0: the usual one */
    int (*variadic[4])(const struct ort_op *op);
    void *(*create_or_fail)(const struct ort_op *op, const struct ort_api *api, const void *info, void **kernel);
    void *(*compute_or_fail)(void *kernel, void *context);
};

/* ---- an operator of ours: what it is, and behind it how it is computed */
enum ort_kind { ORT_INT, ORT_FLOAT, ORT_INTS, ORT_FLOATS, ORT_TEXT };
struct ort_attr {
    const char *name; /* NULL ends */
    enum ort_kind kind;
    int has_default;
    double value;
    const char *text; /* default of a text; NULL: none is given then */
};
enum ort_slot_kind { ORT_REQUIRED, ORT_OPTIONAL, ORT_LIST };
struct ort_slot {
    int type; /* in ONNX's numbers */
    enum ort_slot_kind kind;
};
struct ort_kernel {
    const struct ort_api *api;
    const struct ort_what *what;
    double f[ORT_ATTRS];
    int64_t i[ORT_ATTRS];
    void *list[ORT_ATTRS]; /* of elements, or characters with a 0 behind them; NULL: none */
    size_t n[ORT_ATTRS];   /* their number */
};
struct ort_what {
    const char *domain, *name;
    const struct ort_slot *slots; /* of inputs, then of outputs */
    size_t inputs, outputs;
    const struct ort_attr *attrs;
    void *(*run)(const struct ort_kernel *k, void *context, const struct ort_room *room);
};
struct ort_row {
    struct ort_op op; /* first: ONNX Runtime gives it back */
    const struct ort_what *what;
    void *in; /* the domain, while operators are registered */
    struct ort_row *before;
};
struct ort_tensor {
    int there; /* else NULL is given */
    void *cells;
    size_t rank;
    int64_t dims[ORT_RANK], n;
    void *value; /* of a result */
    void *own;   /* cells and bytes of strings, for as long as the operator runs */
};
/* What a string is to the operator: n bytes. */
struct ort_string {
    const char *p;
    size_t n;
};
/* Of one call. */
struct ort_room {
    size_t ins, outs; /* that the node has, and at least as many as the operator says */
    struct ort_tensor *in, *out;
    void *pointers_in, *pointers_out; /* for lists of tensors: ins and outs of them */
    int64_t *sizes;                   /* ORT_LISTS times ins */
};
static inline void *ort_fail(const struct ort_kernel *k, const char *text) { return k->api->status(ORT_FAIL, text); }
static inline int64_t ort_product(const int64_t *dims, size_t n) {
    int64_t p = 1;
    for (size_t k = 0; k < n; k++) p *= dims[k];
    return p;
}
static inline int64_t ort_sum(const int64_t *sizes, size_t n) {
    int64_t s = 0;
    for (size_t k = 0; k < n; k++) s += sizes[k];
    return s;
}
static inline const struct ort_slot *ort_slot_of(const struct ort_slot *slots, size_t n, size_t at) {
    return &slots[at < n ? at : n - 1];
}
static inline void *ort_strings(const struct ort_kernel *k, const void *value, struct ort_tensor *t) {
    const size_t n = (size_t)t->n;
    size_t bytes = 0, *offsets;
    struct ort_string *cells;
    char *text;
    void *failed = n ? k->api->strings_bytes(value, &bytes) : NULL;
    if (failed) return failed;
    if (n > (SIZE_MAX / 2 - bytes) / (sizeof *cells + sizeof *offsets)) return ort_fail(k, "too many strings");
    if (!(t->own = malloc(n * (sizeof *cells + sizeof *offsets) + bytes + 1))) return ort_fail(k, "no memory");
    cells = (struct ort_string *)t->own, offsets = (size_t *)(cells + n), text = (char *)(offsets + n);
    if (n && (failed = k->api->strings_get(value, text, bytes, offsets, n)) != NULL) return failed;
    for (size_t i = 0; i < n; i++) {
        cells[i].p = text + offsets[i];
        cells[i].n = (i + 1 < n ? offsets[i + 1] : bytes) - offsets[i];
    }
    t->cells = cells;
    return NULL;
}
static inline void *ort_input(const struct ort_kernel *k, void *context, size_t at, struct ort_tensor *t) {
    const struct ort_slot *slot = ort_slot_of(k->what->slots, k->what->inputs, at);
    const void *value = NULL;
    void *shape = NULL, *failed = k->api->input(context, at, &value);
    t->there = 0, t->cells = NULL, t->rank = 0, t->n = 0;
    if (failed) return failed;
    if (!value) return slot->kind == ORT_OPTIONAL ? NULL : ort_fail(k, "an input is missing");
    t->there = 1;
    if ((failed = k->api->shape(value, &shape)) != NULL) return failed;
    failed = k->api->rank(shape, &t->rank);
    if (!failed && t->rank > ORT_RANK) failed = ort_fail(k, "a tensor of too many dims");
    if (!failed) failed = k->api->dims(shape, t->dims, t->rank);
    k->api->shape_free(shape);
    if (failed) return failed;
    t->n = ort_product(t->dims, t->rank);
    if (slot->type == ORT_STRING) return ort_strings(k, value, t);
    return k->api->data((void *)(uintptr_t)value, &t->cells);
}
static inline void *ort_output(const struct ort_kernel *k, void *context, size_t at, struct ort_tensor *t) {
    void *value = NULL, *failed = k->api->output(context, at, t->dims, t->rank, &value);
    t->n = ort_product(t->dims, t->rank);
    t->there = value != NULL, t->cells = NULL, t->value = value;
    if (failed || !value) return failed;
    if (ort_slot_of(k->what->slots + k->what->inputs, k->what->outputs, at)->type != ORT_STRING)
        return k->api->data(value, &t->cells);
    t->cells = t->own = calloc((size_t)t->n + 1, sizeof(struct ort_string));
    return t->own ? NULL : ort_fail(k, "no memory");
}
/* Strings of a result: ONNX Runtime takes copies, each with a 0 behind it. */
static inline void *ort_give_strings(const struct ort_kernel *k, const struct ort_tensor *t) {
    const struct ort_string *cells = (const struct ort_string *)t->cells;
    const size_t n = (size_t)t->n;
    size_t bytes = 0;
    for (size_t i = 0; i < n; i++) {
        if (cells[i].n && memchr(cells[i].p, 0, cells[i].n))
            return ort_fail(k, "a string of a result has a 0 in it, which ONNX Runtime does not take");
        if (cells[i].n >= SIZE_MAX / 4 - bytes) return ort_fail(k, "strings that are too long");
        bytes += cells[i].n + 1;
    }
    const char **words = (const char **)malloc(n * sizeof *words + bytes + 1);
    if (!words) return ort_fail(k, "no memory");
    char *text = (char *)(words + n);
    for (size_t i = 0; i < n; i++) {
        words[i] = text;
        if (cells[i].n) memcpy(text, cells[i].p, cells[i].n);
        text += cells[i].n;
        *text++ = 0;
    }
    void *failed = k->api->strings_set(t->value, words, n);
    free((void *)words);
    return failed;
}
/* The dims that inputs spread to, as NumPy has it; 0: they do not. */
static inline int ort_spread(const struct ort_tensor *in, size_t n, struct ort_tensor *out) {
    out->rank = 0;
    for (size_t k = 0; k < n; k++) out->rank = in[k].rank > out->rank ? in[k].rank : out->rank;
    for (size_t d = 0; d < out->rank; d++) {
        out->dims[d] = 1;
        for (size_t k = 0; k < n; k++) {
            const size_t skip = out->rank - in[k].rank;
            const int64_t own = d < skip ? 1 : in[k].dims[d - skip];
            if (own != 1 && out->dims[d] != 1 && own != out->dims[d]) return 0;
            if (own != 1) out->dims[d] = own;
        }
    }
    return 1;
}
/* Which cell of an input belongs to cell i of the result. */
static inline int64_t ort_cell(const struct ort_tensor *in, const struct ort_tensor *out, int64_t i) {
    int64_t at = 0, step = 1;
    for (size_t d = out->rank; d-- > out->rank - in->rank;) {
        const int64_t own = in->dims[d - (out->rank - in->rank)];
        if (own != 1) at += i % out->dims[d] * step;
        i /= out->dims[d];
        step *= own;
    }
    return at;
}

/* ---- what ONNX Runtime calls */
static inline const struct ort_what *ort_of(const struct ort_op *op) { return ((const struct ort_row *)op)->what; }
static inline const char *ort_name(const struct ort_op *op) { return ort_of(op)->name; }
static inline const char *ort_provider(const struct ort_op *op) { return (void)op, (const char *)NULL; }
static inline int ort_input_type(const struct ort_op *op, size_t k) { return ort_of(op)->slots[k].type; }
static inline size_t ort_inputs(const struct ort_op *op) { return ort_of(op)->inputs; }
static inline int ort_output_type(const struct ort_op *op, size_t k) {
    return ort_of(op)->slots[ort_of(op)->inputs + k].type;
}
static inline size_t ort_outputs(const struct ort_op *op) { return ort_of(op)->outputs; }
static inline int ort_usual(const struct ort_op *op, size_t k) { return (void)op, (void)k, 0; }
static inline int ort_input_kind(const struct ort_op *op, size_t k) { return (int)ort_of(op)->slots[k].kind; }
static inline int ort_output_kind(const struct ort_op *op, size_t k) {
    return (int)ort_of(op)->slots[ort_of(op)->inputs + k].kind;
}
static inline int ort_none(const struct ort_op *op) { return (void)op, 1; }
static inline void ort_destroy(void *kernel) {
    for (size_t a = 0; a < ORT_ATTRS; a++) free(((struct ort_kernel *)kernel)->list[a]);
    free(kernel);
}
/* v NULL: how many elements there are. */
static inline void *ort_elements(const struct ort_api *api, const void *info, const struct ort_attr *a, void *v,
                                 size_t *n) {
    return a->kind == ORT_INTS     ? api->attr_ints(info, a->name, (int64_t *)v, n)
           : a->kind == ORT_FLOATS ? api->attr_floats(info, a->name, (float *)v, n)
                                   : api->attr_text(info, a->name, (char *)v, n);
}
static inline void *ort_list(struct ort_kernel *k, const void *info, size_t a) {
    const struct ort_attr *attr = &k->what->attrs[a];
    const size_t size = attr->kind == ORT_INTS ? sizeof(int64_t) : attr->kind == ORT_FLOATS ? sizeof(float) : 1;
    const size_t length = attr->text ? strlen(attr->text) + 1 : 0;
    void *failed = ort_elements(k->api, info, attr, NULL, &k->n[a]);
    const int absent = failed && attr->has_default;
    if (failed && !absent) return failed;
    if (absent) k->api->status_free(failed), k->n[a] = length;
    if (!k->n[a]) return NULL;
    if (!(k->list[a] = calloc(k->n[a], size))) return ort_fail(k, "no memory");
    if (absent) return memcpy(k->list[a], attr->text, length), (void *)NULL;
    return ort_elements(k->api, info, attr, k->list[a], &k->n[a]);
}
static inline void *ort_number(struct ort_kernel *k, const void *info, size_t a) {
    const struct ort_attr *attr = &k->what->attrs[a];
    float f = 0;
    void *failed = attr->kind == ORT_FLOAT ? k->api->attr_float(info, attr->name, &f)
                                           : k->api->attr_int(info, attr->name, &k->i[a]);
    k->f[a] = f;
    if (!failed || !attr->has_default) return failed;
    k->api->status_free(failed);
    k->f[a] = attr->value, k->i[a] = (int64_t)attr->value;
    return NULL;
}
static inline void *ort_create(const struct ort_op *op, const struct ort_api *api, const void *info, void **kernel) {
    struct ort_kernel *k = (struct ort_kernel *)calloc(1, sizeof *k);
    if (!k) return api->status(ORT_FAIL, "no memory");
    k->api = api, k->what = ort_of(op);
    for (size_t a = 0; k->what->attrs[a].name; a++) {
        void *failed = (k->what->attrs[a].kind <= ORT_FLOAT ? ort_number : ort_list)(k, info, a);
        if (failed) return ort_destroy(k), failed;
    }
    *kernel = k;
    return NULL;
}
static inline void *ort_run(const struct ort_kernel *k, void *context, const struct ort_room *room) {
    const struct ort_slot *slots = k->what->slots + k->what->inputs;
    void *failed = k->what->run(k, context, room);
    for (size_t o = 0; o < room->outs && !failed; o++)
        if (room->out[o].there && ort_slot_of(slots, k->what->outputs, o)->type == ORT_STRING)
            failed = ort_give_strings(k, &room->out[o]);
    return failed;
}
static inline void *ort_compute(void *kernel, void *context) {
    const struct ort_kernel *k = (const struct ort_kernel *)kernel;
    struct ort_room room;
    void *failed;
    memset(&room, 0, sizeof room);
    if ((failed = k->api->inputs(context, &room.ins)) != NULL) return failed;
    if ((failed = k->api->outputs(context, &room.outs)) != NULL) return failed;
    if (room.ins < k->what->inputs) room.ins = k->what->inputs;
    if (room.outs < k->what->outputs) room.outs = k->what->outputs;
    room.in = (struct ort_tensor *)calloc(room.ins + 1, sizeof *room.in);
    room.out = (struct ort_tensor *)calloc(room.outs + 1, sizeof *room.out);
    room.pointers_in = calloc(room.ins + 1, sizeof(void *)), room.pointers_out = calloc(room.outs + 1, sizeof(void *));
    room.sizes = (int64_t *)calloc(ORT_LISTS * (room.ins + 1), sizeof *room.sizes);
    if (room.in && room.out && room.pointers_in && room.pointers_out && room.sizes) failed = ort_run(k, context, &room);
    else failed = ort_fail(k, "no memory");
    for (size_t t = 0; room.in && t < room.ins; t++) free(room.in[t].own);
    for (size_t t = 0; room.out && t < room.outs; t++) free(room.out[t].own);
    free(room.in), free(room.out), free(room.pointers_in), free(room.pointers_out), free(room.sizes);
    return failed;
}
/* Operators of one domain share an object for it: that of one that was registered before, `last` and back. */
static inline void *ort_add(const struct ort_api *api, void *options, struct ort_row *r, struct ort_row *last) {
    struct ort_op op;
    void *failed = NULL;
    memset(&op, 0, sizeof op);
    op.version = ORT_OP_VERSION;
    op.name = ort_name, op.provider = ort_provider;
    op.input_type = ort_input_type, op.inputs = ort_inputs;
    op.output_type = ort_output_type, op.outputs = ort_outputs;
    op.destroy = ort_destroy;
    op.input_kind = ort_input_kind, op.output_kind = ort_output_kind, op.input_memory = ort_usual;
    for (int k = 0; k < 4; k++) op.variadic[k] = ort_none;
    op.create_or_fail = ort_create, op.compute_or_fail = ort_compute;
    r->op = op, r->before = last, r->in = NULL;
    for (const struct ort_row *o = last; o && !r->in; o = o->before)
        if (!strcmp(o->what->domain, r->what->domain)) r->in = o->in;
    if (!r->in) {
        failed = api->domain_new(r->what->domain, &r->in);
        if (!failed) failed = api->options_add(options, r->in);
    }
    return failed ? failed : api->domain_add(r->in, &r->op);
}
#ifdef __cplusplus
}
#endif
#endif
