/* Constant payloads: making them, reading and writing single elements, unpacking sub-byte types. Used by import,
 * folding, the loop interpreter and the weights writer. Bytes are little endian, as the hosts that this compiler runs
 * on. */
#include "ir/base/tensor.h"
#include "ir/base/checked.h"
#include "ir/base/convert.h"
#include "ir/base/diag.h"
#include <string.h>

int64_t tensor_count(const struct tensor *t) {
    int64_t n = 1;
    for (int i = 0; i < t->rank; i++) n *= t->dims[i];
    return n;
}

int64_t dtype_packed_bytes(enum dtype t, int64_t count) {
    int64_t bits = dtype_bits(t), bytes;
    if (t == STR || t == IDX) return mul_ok(count, dtype_bytes(t), &bytes) ? bytes : -1;
    if (count < 0) return -1;
    if (bits >= 8) return mul_ok(count, bits / 8, &bytes) ? bytes : -1;
    int64_t per_byte = 8 / bits;
    return count / per_byte + (count % per_byte != 0);
}

/* The count is checked by multiplying only the non-zero dims, so that [0, 2^40, 2^40] is refused like any other shape
 * that is too large. */
static int64_t checked_count(const int64_t *dims, int rank) {
    int64_t n = 1;
    bool empty = false;
    for (int i = 0; i < rank; i++) {
        if (dims[i] < 0) return -1;
        if (dims[i] == 0) empty = true;
        else if (!mul_ok(n, dims[i], &n)) return -1;
    }
    return empty ? 0 : n;
}

int64_t tensor_bytes(enum dtype type, const int64_t *dims, int rank) {
    int64_t count = rank < 0 || rank > 32 ? -1 : checked_count(dims, rank);
    int64_t bytes = count < 0 ? -1 : dtype_packed_bytes(type, count);
    return bytes > PTRDIFF_MAX / 2 ? -1 : bytes;
}
struct tensor *tensor_new(struct arena *a, enum dtype type, const int64_t *dims, int rank) {
    int64_t bytes = tensor_bytes(type, dims, rank);
    if (bytes < 0) return NULL;
    struct tensor *t = NEW(a, struct tensor);
    t->type = type;
    t->rank = rank;
    for (int i = 0; i < rank; i++) t->dims[i] = dims[i];
    void *data = arena_alloc(a, (size_t)bytes);
    if (type == STR) t->strs = data; /* all empty */
    else t->bytes = data;
    t->nbytes = (size_t)bytes;
    return t;
}

void *tensor_data(struct tensor *t) { return (void *)(uintptr_t)(t->type == STR ? (const void *)t->strs : t->bytes); }

/* The bits of element i; types of up to 64 bits. */
static uint64_t element(const struct tensor *t, int64_t i) {
    int bits = dtype_bits(t->type);
    ASSERT(bits > 0 && bits <= 64);
    if (t->source == TS_SPLAT) i = 0;
    const unsigned char *p = t->bytes;
    if (bits < 8) {
        int per_byte = 8 / bits;
        ASSERT(i >= 0 && (uint64_t)(i / per_byte) < t->nbytes);
        return (uint64_t)(p[i / per_byte] >> (i % per_byte * bits)) & ((1u << bits) - 1);
    }
    size_t size = (size_t)bits / 8;
    ASSERT(i >= 0 && (uint64_t)i < t->nbytes / size);
    uint64_t v = 0;
    memcpy(&v, p + (size_t)i * size, size);
    return v;
}

static void set_element(struct tensor *t, int64_t i, uint64_t v) {
    int bits = dtype_bits(t->type);
    ASSERT(bits > 0 && bits <= 64 && t->source == TS_BYTES);
    unsigned char *p = tensor_data(t);
    if (bits < 8) {
        int per_byte = 8 / bits, shift = (int)(i % per_byte) * bits;
        ASSERT(i >= 0 && (uint64_t)(i / per_byte) < t->nbytes);
        unsigned mask = ((1u << bits) - 1) << shift;
        p[i / per_byte] = (unsigned char)((p[i / per_byte] & ~mask) | ((unsigned)(v << shift) & mask));
        return;
    }
    size_t size = (size_t)bits / 8;
    ASSERT(i >= 0 && (uint64_t)i < t->nbytes / size);
    memcpy(p + (size_t)i * size, &v, size);
}

static double float_of_bits(enum dtype t, uint64_t v) {
    float f;
    double d;
    enum f8_kind k;
    uint32_t low = (uint32_t)v;
    switch (t) {
    case F32: memcpy(&f, &low, sizeof f); return (double)f;
    case F64: memcpy(&d, &v, sizeof d); return d;
    case F16: return (double)f16_to_f32((uint16_t)v);
    case BF16: return (double)bf16_to_f32((uint16_t)v);
    default:
        if (!f8_kind_of(t, &k)) BUG("no floating type: %s", dtype_name(t));
        return (double)f8_to_f32((uint8_t)v, k);
    }
}

/* To float before a float8 kind: exact for what the value types hold there (f32), and what Cast says for f64. */
static uint64_t bits_of_float(enum dtype t, double v) {
    float f = (float)v;
    enum f8_kind k;
    uint32_t low;
    uint64_t bits;
    switch (t) {
    case F32: memcpy(&low, &f, sizeof low); return low;
    case F64: memcpy(&bits, &v, sizeof bits); return bits;
    case F16: return f64_to_f16(v);
    case BF16: return f64_to_bf16(v);
    default:
        if (!f8_kind_of(t, &k)) BUG("no floating type: %s", dtype_name(t));
        return f32_to_f8(f, k, true);
    }
}

static int64_t int_of_bits(enum dtype t, uint64_t v) {
    int bits = dtype_bits(t);
    if (t == BOOL) return v != 0;
    if (dtype_is_signed(t) && bits < 64 && v >> (bits - 1) & 1) v |= UINT64_MAX << bits;
    return (int64_t)v;
}

/* Element i can be copied unchanged: true for most weights, of which there are millions. */
static bool is_at(const struct tensor *t, enum dtype type, size_t size, int64_t i) {
    return t->type == type && t->source != TS_SPLAT && i >= 0 && (uint64_t)i < t->nbytes / size;
}
double tensor_f(const struct tensor *t, int64_t i) {
    float f;
    uint16_t h;
    if (is_at(t, F32, sizeof f, i)) return memcpy(&f, (const float *)t->bytes + i, sizeof f), (double)f;
    if (is_at(t, F16, sizeof h, i)) return memcpy(&h, (const uint16_t *)t->bytes + i, sizeof h), (double)f16_to_f32(h);
    uint64_t v = element(t, i);
    if (dtype_is_float(t->type)) return float_of_bits(t->type, v);
    return t->type == U64 ? (double)v : (double)int_of_bits(t->type, v);
}

/* Elements of u64 above INT64_MAX become negative numbers with the same bits. */
int64_t tensor_i(const struct tensor *t, int64_t i) {
    uint64_t v = element(t, i);
    return dtype_is_float(t->type) ? f64_to_i64_sat(float_of_bits(t->type, v)) : int_of_bits(t->type, v);
}

/* in its own type, since weights may have millions of elements */
#define RANGE(type)                                                                                                    \
    do {                                                                                                               \
        type v, least = (type)*lo, most = (type)*hi;                                                                   \
        for (int64_t k = 0; k < n; k++) {                                                                              \
            memcpy(&v, (const type *)t->bytes + k, sizeof v);                                                          \
            least = v < least ? v : least;                                                                             \
            most = v > most ? v : most;                                                                                \
        }                                                                                                              \
        *lo = least, *hi = most;                                                                                       \
    } while (0)
void tensor_range(const struct tensor *t, int64_t *lo, int64_t *hi) {
    int64_t n = tensor_count(t);
    *lo = *hi = n ? tensor_i(t, 0) : 0;
    if (t->source == TS_SPLAT) return;
    switch (t->type) {
    case I8: RANGE(int8_t); return;
    case U8: RANGE(uint8_t); return;
    case I32: RANGE(int32_t); return;
    default: break;
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t v = tensor_i(t, k);
        *lo = v < *lo ? v : *lo;
        *hi = v > *hi ? v : *hi;
    }
}
#undef RANGE

void tensor_set_f(struct tensor *t, int64_t i, double v) {
    float f = (float)v;
    if (is_at(t, F32, sizeof f, i)) memcpy((float *)tensor_data(t) + i, &f, sizeof f);
    else if (dtype_is_float(t->type)) set_element(t, i, bits_of_float(t->type, v));
    else if (t->type == BOOL) set_element(t, i, v != 0);
    else if (t->type == U64) set_element(t, i, f64_to_u64_sat(v));
    else set_element(t, i, (uint64_t)f64_to_i64_sat(v)); /* narrower types wrap */
}

void tensor_set_i(struct tensor *t, int64_t i, int64_t v) {
    if (dtype_is_float(t->type)) set_element(t, i, bits_of_float(t->type, (double)v));
    else set_element(t, i, t->type == BOOL ? v != 0 : (uint64_t)v);
}

static bool same_strings(const struct tensor *a, const struct tensor *b, int64_t n) {
    for (int64_t i = 0; i < n; i++) {
        const struct str_elem *x = &a->strs[a->source == TS_SPLAT ? 0 : i],
                              *y = &b->strs[b->source == TS_SPLAT ? 0 : i];
        if (x->n != y->n || (x->n && memcmp(x->p, y->p, x->n) != 0)) return false;
    }
    return true;
}

static bool same_wide(const struct tensor *a, const struct tensor *b, int64_t n) {
    size_t size = (size_t)dtype_bytes(a->type);
    const char *p = a->bytes, *q = b->bytes;
    for (int64_t i = 0; i < n; i++)
        if (memcmp(p + (a->source == TS_SPLAT ? 0 : (size_t)i * size),
                   q + (b->source == TS_SPLAT ? 0 : (size_t)i * size), size))
            return false;
    return true;
}

/* Same type, shape and bits, whatever the source of the bytes. */
bool tensor_equal(const struct tensor *a, const struct tensor *b) {
    if (a->type != b->type || a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i]) return false;
    int64_t n = tensor_count(a);
    if (a->type == STR) return same_strings(a, b, n);
    bool whole = a->source != TS_SPLAT && b->source != TS_SPLAT && dtype_bits(a->type) >= 8;
    if (whole) return n == 0 || memcmp(a->bytes, b->bytes, (size_t)dtype_packed_bytes(a->type, n)) == 0;
    if (dtype_bits(a->type) > 64) return same_wide(a, b, n);
    for (int64_t i = 0; i < n; i++)
        if (element(a, i) != element(b, i)) return false;
    return true;
}

void tensor_unpack(const struct tensor *t, void *out) {
    int64_t n = tensor_count(t);
    size_t size = (size_t)dtype_bytes(t->type);
    const char *p = t->type == STR ? (const char *)t->strs : t->bytes;
    if (!n) return;
    if (dtype_bits(t->type) < 8 && t->type != STR) {
        for (int64_t i = 0; i < n; i++) {
            uint64_t v = element(t, i);
            ((unsigned char *)out)[i] =
                (unsigned char)(dtype_is_float(t->type) ? v : (uint64_t)int_of_bits(t->type, v));
        }
    } else if (t->source == TS_SPLAT) {
        for (int64_t i = 0; i < n; i++) memcpy((char *)out + (size_t)i * size, p, size);
    } else {
        memcpy(out, p, (size_t)n * size);
    }
}

void tensor_pack(struct tensor *t, const void *in) {
    int64_t n = tensor_count(t);
    if (dtype_bits(t->type) < 8 && t->type != STR)
        for (int64_t i = 0; i < n; i++) set_element(t, i, ((const unsigned char *)in)[i]);
    else if (n) memcpy(tensor_data(t), in, (size_t)n * (size_t)dtype_bytes(t->type));
}
