/* TensorProto to struct tensor and back, and the values made of them; see tensor_io.h. */
#include "compiler/import/tensor_io.h"
#include "ir/base/checked.h"
#include "ir/base/vec.h"
#include <stdio.h>
#include <string.h>

/* The field of a TensorProto that has the elements of a type if they are not in raw_data. */
enum typed_field { IN_NONE, IN_FLOAT, IN_INT32, IN_INT64, IN_DOUBLE, IN_UINT64, IN_STRING };

static enum typed_field typed_field(enum dtype t) {
    switch (t) {
    case F32:
    case C64: return IN_FLOAT;
    case F64:
    case C128: return IN_DOUBLE;
    case I64: return IN_INT64;
    case U32:
    case U64: return IN_UINT64;
    case STR: return IN_STRING;
    case NONE:
    case IDX:
    case DTYPE_COUNT: return IN_NONE;
    default: return IN_INT32;
    }
}

static const char *const field_names[] = {"no data",     "float_data",  "int32_data", "int64_data",
                                          "double_data", "uint64_data", "string_data"};

static size_t field_count(const Onnx__TensorProto *p, enum typed_field f) {
    switch (f) {
    case IN_FLOAT: return p->n_float_data;
    case IN_INT32: return p->n_int32_data;
    case IN_INT64: return p->n_int64_data;
    case IN_DOUBLE: return p->n_double_data;
    case IN_UINT64: return p->n_uint64_data;
    case IN_STRING: return p->n_string_data;
    default: return 0;
    }
}

/* Reports what is wrong with tensor p and returns NULL. */
static struct tensor *wrong(struct tensor_reader *r, const Onnx__TensorProto *p, enum diag_code code,
                            const char *what) {
    return diag(r->diags, DIAG_ERROR, code, "tensor %s: %s", diag_quote(r->arena, p->name ? p->name : ""), what), NULL;
}

/* BOOL elements are 0 or 1 everywhere in the compiler; files may say otherwise. */
static void set_bytes(struct tensor_reader *r, struct tensor *t, const uint8_t *p, bool mapped) {
    bool odd = false;
    if (t->type == BOOL)
        for (size_t i = 0; i < t->nbytes && !odd; i++) odd = p[i] > 1;
    if (mapped && !odd) {
        t->source = TS_MAPPED;
        t->bytes = p;
        return;
    }
    uint8_t *q = arena_copy(r->arena, p, t->nbytes);
    for (size_t i = 0; odd && i < t->nbytes; i++) q[i] = q[i] != 0;
    t->bytes = q;
}

static bool parse_int(const char *s, int64_t *v) {
    *v = 0;
    if (!*s) return false;
    for (; *s; s++)
        if (*s < '0' || *s > '9' || !mul_ok(*v, 10, v) || !add_ok(*v, *s - '0', v)) return false;
    return true;
}

static struct tensor *from_external(struct tensor_reader *r, const Onnx__TensorProto *p, struct tensor *t) {
    const char *location = NULL;
    int64_t offset = 0, length = -1;
    if (!r->external) return wrong(r, p, E_EXTERNAL, "external data is not allowed here");
    if (t->type == STR) return wrong(r, p, E_EXTERNAL, "strings cannot be external data");
    for (size_t i = 0; i < p->n_external_data; i++) {
        const char *key = p->external_data[i]->key, *value = p->external_data[i]->value;
        if (!key || !value) return wrong(r, p, E_EXTERNAL, "an external_data entry has no key or value");
        if (strcmp(key, "location") == 0) location = value;
        else if ((strcmp(key, "offset") == 0 && !parse_int(value, &offset)) ||
                 (strcmp(key, "length") == 0 && !parse_int(value, &length)))
            return wrong(r, p, E_EXTERNAL, "offset or length is not a number");
    }
    if (!location) return wrong(r, p, E_EXTERNAL, "external_data names no location");
    if (length >= 0 && (uint64_t)length != t->nbytes)
        return wrong(r, p, E_EXTERNAL, "the length of the external data is not what type and shape need");
    const uint8_t *bytes;
    size_t n;
    if (t->nbytes == 0) return t;
    if (!external_bytes(r->external, location, offset, (int64_t)t->nbytes, &bytes, &n)) return NULL;
    set_bytes(r, t, bytes, true);
    return t;
}

/* Smallest and largest number that int32_data may hold for a type; codes and packed bytes are unsigned. */
static void int32_range(enum dtype t, int64_t *lo, int64_t *hi) {
    int bits = dtype_bits(t) < 8 ? 8 : dtype_bits(t);
    bool is_signed = dtype_is_int(t) && dtype_is_signed(t) && dtype_bits(t) >= 8;
    *lo = is_signed ? -(INT64_C(1) << (bits - 1)) : 0;
    *hi = is_signed ? (INT64_C(1) << (bits - 1)) - 1 : (INT64_C(1) << bits) - 1;
}

static bool fill_from_int32(const Onnx__TensorProto *p, enum dtype t, uint8_t *out) {
    int64_t lo, hi;
    int32_range(t, &lo, &hi);
    size_t size = dtype_bits(t) < 8 ? 1 : (size_t)dtype_bytes(t);
    for (size_t i = 0; i < p->n_int32_data; i++) {
        int32_t v = p->int32_data[i];
        if (v < lo || v > hi) return false;
        if (t == BOOL) v = v != 0;
        memcpy(out + i * size, &v, size);
    }
    return true;
}

static bool fill_from_uint64(const Onnx__TensorProto *p, enum dtype t, uint8_t *out) {
    size_t size = (size_t)dtype_bytes(t);
    for (size_t i = 0; i < p->n_uint64_data; i++) {
        if (t == U32 && p->uint64_data[i] > UINT32_MAX) return false;
        memcpy(out + i * size, &p->uint64_data[i], size);
    }
    return true;
}

static void fill_strings(struct tensor_reader *r, const Onnx__TensorProto *p, struct tensor *t) {
    struct str_elem *e = NEWN(r->arena, struct str_elem, p->n_string_data);
    for (size_t i = 0; i < p->n_string_data; i++)
        e[i] = (struct str_elem){arena_copy(r->arena, p->string_data[i].data, p->string_data[i].len),
                                 p->string_data[i].len};
    t->strs = e;
}

static struct tensor *from_typed_field(struct tensor_reader *r, const Onnx__TensorProto *p, struct tensor *t,
                                       int64_t count) {
    enum typed_field f = typed_field(t->type);
    size_t n = field_count(p, f), need = (size_t)count;
    if (dtype_is_complex(t->type)) need = (size_t)count * 2; /* cannot overflow: its bytes were computed */
    else if (dtype_bits(t->type) < 8 && t->type != STR) need = t->nbytes;
    if (n != need)
        return diag(r->diags, DIAG_ERROR, E_ONNX, "tensor %s: %zu elements in %s, but its shape needs %zu",
                    diag_quote(r->arena, p->name ? p->name : ""), n, field_names[f], need),
               NULL;
    if (f == IN_STRING) {
        fill_strings(r, p, t);
        return t;
    }
    if (n == 0) return t;
    uint8_t *out = arena_alloc(r->arena, t->nbytes);
    bool ok = true;
    if (f == IN_FLOAT) memcpy(out, p->float_data, t->nbytes);
    else if (f == IN_DOUBLE) memcpy(out, p->double_data, t->nbytes);
    else if (f == IN_INT64) memcpy(out, p->int64_data, t->nbytes);
    else if (f == IN_UINT64) ok = fill_from_uint64(p, t->type, out);
    else ok = fill_from_int32(p, t->type, out);
    t->bytes = out;
    return ok ? t : wrong(r, p, E_ONNX, "an element does not fit its type");
}

/* Type and shape, without data: bytes is NULL, nbytes their size. */
static struct tensor *header(struct tensor_reader *r, const Onnx__TensorProto *p, int64_t *count) {
    enum dtype type = dtype_by_onnx(p->data_type);
    if (type == NONE) return wrong(r, p, E_TYPE, "unknown element type");
    if (p->n_dims > 32) return wrong(r, p, E_SIZE, "more than 32 dimensions");
    struct tensor *t = NEW(r->arena, struct tensor);
    t->type = type;
    t->rank = (int)p->n_dims;
    *count = 1;
    bool empty = false, fits = true;
    for (int i = 0; i < t->rank; i++) {
        t->dims[i] = p->dims[i];
        if (t->dims[i] < 0) return wrong(r, p, E_SIZE, "a dimension is negative");
        if (t->dims[i] == 0) empty = true;
        else fits = fits && mul_ok(*count, t->dims[i], count);
    }
    int64_t bytes = fits ? dtype_packed_bytes(type, *count) : -1;
    if (bytes < 0 || bytes > PTRDIFF_MAX) return wrong(r, p, E_SIZE, "the size exceeds what can be addressed");
    if (empty) *count = bytes = 0;
    t->nbytes = (size_t)bytes;
    t->name = p->name && *p->name ? arena_copy(r->arena, p->name, strlen(p->name) + 1) : NULL;
    return t;
}

struct tensor *tensor_from_proto(struct tensor_reader *r, const Onnx__TensorProto *p) {
    int64_t count;
    struct tensor *t = header(r, p, &count);
    if (!t) return NULL;
    if (p->segment) return wrong(r, p, E_ONNX, "tensors in segments are not supported");
    const uint8_t *raw;
    size_t nraw;
    bool mapped, has_raw = onnx_raw_data(p, r->spans, &raw, &nraw, &mapped) && nraw > 0;
    for (enum typed_field f = IN_FLOAT; f <= IN_STRING; f++)
        if (field_count(p, f) && (has_raw || p->data_location == 1 || f != typed_field(t->type)))
            return wrong(r, p, E_ONNX, "data in more than one field, or in the field of another type");
    if (p->data_location != 0 && p->data_location != 1) return wrong(r, p, E_ONNX, "unknown data location");
    if (p->data_location == 1)
        return has_raw ? wrong(r, p, E_ONNX, "both raw_data and external data") : from_external(r, p, t);
    if (!has_raw) return from_typed_field(r, p, t, count);
    if (t->type == STR) return wrong(r, p, E_ONNX, "strings cannot be raw_data");
    if (nraw != t->nbytes)
        return diag(r->diags, DIAG_ERROR, E_ONNX, "tensor %s: %zu bytes of raw_data, but type and shape need %zu",
                    diag_quote(r->arena, p->name ? p->name : ""), nraw, t->nbytes),
               NULL;
    set_bytes(r, t, raw, mapped);
    return t;
}

/* --- writing: the wire format by hand, because protobuf-c cannot go beyond 4 GiB and would copy twice --- */

static void put_varint(struct text *out, uint64_t v) {
    for (; v >= 0x80; v >>= 7) text_char(out, (char)(v | 0x80));
    text_char(out, (char)v);
}

static void put_number(struct text *out, unsigned field, uint64_t v) {
    put_varint(out, field << 3);
    put_varint(out, v);
}

static void put_bytes(struct text *out, unsigned field, const void *p, size_t n) {
    put_varint(out, field << 3 | 2);
    put_varint(out, n);
    text_addn(out, p, n);
}

static void put_name(struct text *out, unsigned field, const char *name) {
    if (name) put_bytes(out, field, name, strlen(name));
}

void tensor_fill_splat(const struct tensor *t, uint8_t *out, size_t n) {
    const uint8_t *p = t->bytes;
    int bits = dtype_bits(t->type);
    uint8_t element[16];
    size_t size = bits < 8 ? 1 : (size_t)dtype_bytes(t->type);
    memcpy(element, p, size);
    if (bits < 8) { /* pack the value into every part of the byte */
        element[0] = (uint8_t)(p[0] & ((1u << bits) - 1));
        for (int shift = bits; shift < 8; shift *= 2) element[0] |= (uint8_t)(element[0] << shift);
    }
    for (size_t i = 0; i < n; i++) out[i] = element[i % size];
}

void tensor_to_proto(const struct tensor *t, struct text *out) {
    int64_t count = tensor_count(t);
    for (int i = 0; i < t->rank; i++) put_number(out, 1, (uint64_t)t->dims[i]);
    put_number(out, 2, (uint64_t)dtype_onnx(t->type));
    put_name(out, 8, t->name);
    if (t->type == STR) {
        for (int64_t i = 0; i < count; i++) {
            const struct str_elem *e = &t->strs[t->source == TS_SPLAT ? 0 : i];
            put_bytes(out, 6, e->p, e->n);
        }
        return;
    }
    size_t n = (size_t)dtype_packed_bytes(t->type, count);
    if (t->source != TS_SPLAT) {
        put_bytes(out, 9, t->bytes, n);
        return;
    }
    put_varint(out, 9 << 3 | 2);
    put_varint(out, n);
    enum { PART = 4096 };
    uint8_t part[PART];
    tensor_fill_splat(t, part, n < PART ? n : PART);
    for (size_t i = 0; i < n; i += PART) text_addn(out, (const char *)part, n - i < PART ? n - i : PART);
}

/* --- values: tensors, sequences, optionals and maps --- */

enum { ELEM_TENSOR = 1, ELEM_SEQUENCE = 3, ELEM_MAP = 4 };

static bool take_tensors(struct tensor_reader *r, Onnx__TensorProto **p, size_t n, struct value_io *v) {
    v->n = (int)n; /* the scan limits the number of messages, so this fits */
    v->tensors = NEWN(r->arena, struct tensor *, n);
    for (size_t i = 0; i < n; i++)
        if (!(v->tensors[i] = tensor_from_proto(r, p[i]))) return false;
    return true;
}

static bool take_sequence(struct tensor_reader *r, const Onnx__SequenceProto *s, struct value_io *v) {
    if (s->n_sparse_tensor_values || s->n_sequence_values || s->n_map_values || s->n_optional_values)
        return diag(r->diags, DIAG_ERROR, E_TYPE, "a sequence of something else than tensors"), false;
    if (s->n_tensor_values > HOLDER_MAX)
        return diag(r->diags, DIAG_ERROR, E_LIMIT, "a sequence of %zu elements; at most %d are accepted",
                    s->n_tensor_values, HOLDER_MAX),
               false;
    return take_tensors(r, s->tensor_values, s->n_tensor_values, v);
}

static bool take_optional(struct tensor_reader *r, const Onnx__OptionalProto *o, struct value_io *v) {
    if (o->sparse_tensor_value || o->map_value || o->optional_value || (o->tensor_value && o->sequence_value))
        return diag(r->diags, DIAG_ERROR, E_TYPE,
                    "an optional of something else than a tensor or a sequence of tensors"),
               false;
    v->present = o->tensor_value || o->sequence_value;
    if (o->elem_type == ELEM_SEQUENCE || o->sequence_value) v->kind = VALUE_OPTIONAL_SEQUENCE;
    if (o->tensor_value) v->kind = VALUE_OPTIONAL;
    if (o->sequence_value) return take_sequence(r, o->sequence_value, v);
    return !o->tensor_value || take_tensors(r, (Onnx__TensorProto **)&o->tensor_value, 1, v);
}

/* --- maps: keys and values as vectors, keys ascending; several with the same keys --- */

static int compare_keys(const struct tensor *keys, int64_t a, int64_t b) {
    if (keys->type != STR) return (tensor_i(keys, a) > tensor_i(keys, b)) - (tensor_i(keys, a) < tensor_i(keys, b));
    struct str_elem x = keys->strs[a], y = keys->strs[b];
    int d = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
    return d ? d : (x.n > y.n) - (x.n < y.n);
}
static void copy_element(struct tensor *to, int64_t i, const struct tensor *from, int64_t k) {
    size_t size = (size_t)dtype_bytes(to->type);
    if (to->type == STR) ((struct str_elem *)tensor_data(to))[i] = from->strs[k];
    else memcpy((char *)tensor_data(to) + (size_t)i * size, (const char *)from->bytes + (size_t)k * size, size);
}
struct map_entry {
    const struct tensor *keys;
    int64_t k;
};
static int compare_entries(const void *x, const void *y) {
    const struct map_entry *a = x, *b = y;
    return compare_keys(a->keys, a->k, b->k);
}
/* Where entry i of the map is among them, in place[i]. */
static bool places_of(struct tensor_reader *r, const struct tensor *keys, int64_t *place) {
    int64_t n = tensor_count(keys);
    struct map_entry *e = NEWN(r->arena, struct map_entry, n + 1);
    for (int64_t k = 0; k < n; k++) e[k] = (struct map_entry){keys, k};
    qsort(e, (size_t)n, sizeof *e, compare_entries);
    for (int64_t i = 0; i < n; i++) {
        if (i && !compare_keys(keys, e[i - 1].k, e[i].k))
            return diag(r->diags, DIAG_ERROR, E_TYPE, "a map has the same key twice"), false;
        place[e[i].k] = i;
    }
    return true;
}
static struct tensor *keys_of(struct tensor_reader *r, const Onnx__MapProto *m) {
    bool strings = m->n_string_keys > 0;
    enum dtype t = m->has_key_type ? dtype_by_onnx(m->key_type) : strings ? STR : I64;
    int64_t n = (int64_t)(strings ? m->n_string_keys : m->n_keys);
    if ((t != STR && !dtype_is_int(t)) || (m->n_keys && (strings || t == STR)) || (strings && t != STR) ||
        dtype_bits(t) < 8 * (t != STR))
        return diag(r->diags, DIAG_ERROR, E_TYPE, "the keys of a map are neither integers nor strings"), NULL;
    struct tensor *keys = tensor_new(r->arena, t, &n, 1);
    for (int64_t i = 0; i < n; i++)
        if (!strings) tensor_set_i(keys, i, m->keys[i]);
        else
            ((struct str_elem *)tensor_data(keys))[i] = (struct str_elem){
                arena_copy(r->arena, m->string_keys[i].data ? (const void *)m->string_keys[i].data : "",
                           m->string_keys[i].len),
                m->string_keys[i].len};
    return keys;
}
static bool take_map(struct tensor_reader *r, const Onnx__MapProto *m, struct tensor **keys, struct tensor **values) {
    const Onnx__SequenceProto *s = m->values;
    struct tensor *own = keys_of(r, m);
    int64_t n = own ? tensor_count(own) : 0, *place = NEWN(r->arena, int64_t, n + 1);
    if (!own || !places_of(r, own, place)) return false;
    if ((s ? (int64_t)s->n_tensor_values : 0) != n)
        return diag(r->diags, DIAG_ERROR, E_TYPE, "a map has not one value for each of its %lld keys", (long long)n),
               false;
    *keys = tensor_new(r->arena, own->type, &n, 1);
    *values = NULL;
    for (int64_t i = 0; i < n; i++) {
        struct tensor *v = tensor_from_proto(r, s->tensor_values[i]);
        if (!v) return false;
        if (!*values) *values = tensor_new(r->arena, v->type, &n, 1);
        if (tensor_count(v) != 1 || v->type != (*values)->type || (v->type != STR && dtype_bits(v->type) < 8))
            return diag(r->diags, DIAG_ERROR, E_TYPE, "the values of a map are not numbers or strings of one type"),
                   false;
        copy_element(*keys, place[i], own, i);
        copy_element(*values, place[i], v, 0);
    }
    if (!*values) *values = tensor_new(r->arena, F32, &n, 1);
    return true;
}
static bool take_maps(struct tensor_reader *r, Onnx__MapProto **m, size_t n, bool several, struct value_io *v) {
    struct tensor *keys = NULL, *values = NULL, *all = NULL;
    v->tensors = NEWN(r->arena, struct tensor *, 2);
    for (size_t i = 0; i < n; i++) {
        if (!take_map(r, m[i], &keys, &values)) return false;
        if (!several) {
            all = values;
        } else if (!i) {
            all = tensor_new(r->arena, values->type, (const int64_t[]){(int64_t)n, tensor_count(keys)}, 2);
        } else if (values->type != all->type || !tensor_equal(keys, v->tensors[0]))
            return diag(r->diags, DIAG_ERROR, E_TYPE, "the maps of a sequence differ in their keys"), false;
        int64_t count = tensor_count(keys);
        for (int64_t k = 0; several && k < count; k++) copy_element(all, (int64_t)i * count + k, values, k);
        v->tensors[0] = keys, v->tensors[1] = all;
    }
    if (!n) {
        v->tensors[0] = tensor_new(r->arena, I64, (const int64_t[]){0}, 1);
        v->tensors[1] = tensor_new(r->arena, F32, (const int64_t[]){0, 0}, 2);
    }
    v->n = 2;
    return true;
}
static void map_to_proto(const struct tensor *keys, const struct tensor *values, int64_t row, const char *name,
                         struct text *out) {
    int64_t n = tensor_count(keys);
    put_name(out, 1, name);
    put_number(out, 2, (uint64_t)dtype_onnx(keys->type));
    for (int64_t i = 0; i < n; i++)
        if (keys->type == STR) put_bytes(out, 4, keys->strs[i].p, keys->strs[i].n);
        else put_number(out, 3, (uint64_t)tensor_i(keys, i));
    struct text all = {0};
    put_number(&all, 2, ELEM_TENSOR);
    for (int64_t i = 0; i < n; i++) {
        struct tensor one = {.type = values->type, .source = TS_BYTES};
        struct text t = {0};
        size_t size = (size_t)dtype_bytes(values->type);
        if (values->type == STR) one.strs = values->strs + row * n + i;
        else one.bytes = (const char *)values->bytes + (size_t)(row * n + i) * size, one.nbytes = size;
        tensor_to_proto(&one, &t);
        put_bytes(&all, 3, t.s, t.n);
        text_free(&t);
    }
    put_bytes(out, 5, all.s, all.n);
    text_free(&all);
}
static void maps_to_proto(const struct value_io *v, struct text *out) {
    const struct tensor *keys = v->tensors[0], *values = v->tensors[1];
    if (v->kind == VALUE_MAP) {
        map_to_proto(keys, values, 0, v->name, out);
        return;
    }
    put_name(out, 1, v->name);
    put_number(out, 2, ELEM_MAP);
    for (int64_t i = 0; i < values->dims[0]; i++) {
        struct text t = {0};
        map_to_proto(keys, values, i, NULL, &t);
        put_bytes(out, 6, t.s, t.n);
        text_free(&t);
    }
}

static const char *copied_name(struct arena *a, const char *s) {
    return s && *s ? arena_copy(a, s, strlen(s) + 1) : NULL;
}

bool value_from_proto(struct diags *d, struct arena *a, const uint8_t *data, size_t size, enum value_kind kind,
                      struct value_io *v) {
    struct raw_spans spans;
    struct arena tree = {0};
    struct tensor_reader r = {.diags = d, .arena = a, .spans = &spans};
    bool ok = false;
    *v = (struct value_io){.kind = kind, .present = true};
    if (kind == VALUE_TENSOR) {
        Onnx__TensorProto *p = onnx_unpack(d, &tree, data, size, &onnx__tensor_proto__descriptor, &spans);
        ok = p && take_tensors(&r, &p, 1, v);
        v->name = ok ? copied_name(a, p->name) : NULL;
    } else if (kind == VALUE_SEQUENCE) {
        Onnx__SequenceProto *p = onnx_unpack(d, &tree, data, size, &onnx__sequence_proto__descriptor, &spans);
        ok = p && take_sequence(&r, p, v);
        v->name = ok ? copied_name(a, p->name) : NULL;
    } else if (kind == VALUE_MAP) {
        Onnx__MapProto *p = onnx_unpack(d, &tree, data, size, &onnx__map_proto__descriptor, &spans);
        ok = p && take_maps(&r, &p, 1, false, v);
        v->name = ok ? copied_name(a, p->name) : NULL;
    } else if (kind == VALUE_MAPS) {
        Onnx__SequenceProto *p = onnx_unpack(d, &tree, data, size, &onnx__sequence_proto__descriptor, &spans);
        ok = p && take_maps(&r, p->map_values, p->n_map_values, true, v);
        v->name = ok ? copied_name(a, p->name) : NULL;
    } else {
        Onnx__OptionalProto *p = onnx_unpack(d, &tree, data, size, &onnx__optional_proto__descriptor, &spans);
        ok = p && take_optional(&r, p, v);
        v->name = ok ? copied_name(a, p->name) : NULL;
    }
    arena_free(&tree);
    return ok;
}

static void sequence_to_proto(const struct value_io *v, const char *name, struct text *out) {
    put_name(out, 1, name);
    put_number(out, 2, ELEM_TENSOR);
    for (int i = 0; i < v->n; i++) {
        struct text t = {0};
        tensor_to_proto(v->tensors[i], &t);
        put_bytes(out, 3, t.s, t.n);
        text_free(&t);
    }
}

void value_to_proto(const struct value_io *v, struct text *out) {
    if (v->kind == VALUE_SEQUENCE) {
        sequence_to_proto(v, v->name, out);
        return;
    }
    if (v->kind == VALUE_TENSOR) {
        struct tensor named = *v->tensors[0];
        if (v->name) named.name = v->name;
        tensor_to_proto(&named, out);
        return;
    }
    if (value_kind_is_map(v->kind)) {
        maps_to_proto(v, out);
        return;
    }
    bool sequence = v->kind == VALUE_OPTIONAL_SEQUENCE;
    put_name(out, 1, v->name);
    put_number(out, 2, sequence ? ELEM_SEQUENCE : ELEM_TENSOR);
    if (!v->present) return;
    struct text t = {0};
    if (sequence) sequence_to_proto(v, NULL, &t);
    else tensor_to_proto(v->tensors[0], &t);
    put_bytes(out, sequence ? 5 : 3, t.s, t.n);
    text_free(&t);
}

/* --- files --- */

bool value_read(struct diags *d, struct arena *a, const char *path, enum value_kind kind, enum dtype want,
                struct mapped_file *file, struct value_io *v) {
    if (!file_map(d, path, file)) return false;
    const char *before = d->file;
    d->file = path;
    bool ok;
    if (ends_with(path, ".npy")) {
        struct tensor **t = NEW(a, struct tensor *);
        *t = tensor_from_npy(d, a, file->bytes, file->size, want);
        ok = *t != NULL;
        *v = (struct value_io){.kind = VALUE_TENSOR, .present = true, .n = ok, .tensors = t};
    } else {
        ok = value_from_proto(d, a, file->bytes, file->size, kind, v);
    }
    d->file = before;
    if (!ok) file_unmap(file);
    return ok;
}

bool value_fits_proto(const struct value_io *v) {
    int64_t total = 0;
    for (int k = 0; k < v->n; k++) {
        const struct tensor *t = v->tensors[k];
        int64_t n = tensor_count(t), bytes = t->type == STR ? 0 : dtype_packed_bytes(t->type, n);
        for (int64_t i = 0; t->type == STR && i < n; i++)
            bytes += (int64_t)t->strs[t->source == TS_SPLAT ? 0 : i].n + 11; /* with key and length */
        if (bytes < 0 || !add_ok(total, bytes, &total) || !add_ok(total, 1024, &total)) return false; /* dims, name */
    }
    return total <= INT32_MAX;
}

bool value_write(struct file_set *s, const char *name, const struct value_io *v) {
    struct diags *d = s->work.diags;
    struct text out = {0};
    bool ok = true;
    if (!ends_with(name, ".npy")) {
        value_to_proto(v, &out);
    } else if (v->present && v->n == 1) {
        ok = tensor_to_npy(d, v->tensors[0], &out);
    } else {
        diag_at(d, DIAG_ERROR, E_WRITE, name, NULL, "a .npy file holds exactly one tensor");
        ok = false;
    }
    ok = ok && file_set_add(s, name, out.s, out.n);
    text_free(&out);
    return ok;
}
