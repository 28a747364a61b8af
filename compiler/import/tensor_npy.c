/* NumPy's .npy files, read and written; see tensor_io.h. The format: a magic, a version, the length of a header, the
 * header as the text of a Python dict, then the elements. */
#include "compiler/import/tensor_io.h"
#include "ir/base/checked.h"
#include <string.h>

/* Type codes of a dtype string: kind character and bytes per element. */
static const struct {
    char kind;
    int size;
    enum dtype type;
} kinds[] = {
    {'b', 1, BOOL}, {'i', 1, I8},  {'u', 1, U8},  {'i', 2, I16}, {'u', 2, U16}, {'i', 4, I32}, {'u', 4, U32},
    {'i', 8, I64},  {'u', 8, U64}, {'f', 2, F16}, {'f', 4, F32}, {'f', 8, F64}, {'c', 8, C64}, {'c', 16, C128},
};

struct npy {
    char order, kind; /* of descr: '<' '|' '=' '>', 'f' */
    int64_t size;     /* bytes per element; characters for 'U' */
    bool fortran;
    int rank;
    int64_t dims[32];
};

static bool refuse(struct diags *d, const char *why) { return diag(d, DIAG_ERROR, E_FILE, ".npy: %s", why), false; }

/* --- the header: a cursor over the text of the dict --- */

struct cursor {
    const char *at, *end;
};

static void skip_space(struct cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\n' || *c->at == '\t' || *c->at == '\r')) c->at++;
}

static bool take(struct cursor *c, const char *s) {
    skip_space(c);
    size_t n = strlen(s);
    if ((size_t)(c->end - c->at) < n || memcmp(c->at, s, n) != 0) return false;
    c->at += n;
    return true;
}

static bool take_quoted(struct cursor *c, const char **s, size_t *n) {
    skip_space(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"')) return false;
    char quote = *c->at++;
    *s = c->at;
    while (c->at < c->end && *c->at != quote) c->at++;
    if (c->at == c->end) return false;
    *n = (size_t)(c->at++ - *s);
    return true;
}

static bool take_int(struct cursor *c, int64_t *v) {
    skip_space(c);
    const char *start = c->at;
    for (*v = 0; c->at < c->end && is_digit(*c->at); c->at++)
        if (!mul_ok(*v, 10, v) || !add_ok(*v, *c->at - '0', v)) return false;
    return c->at > start;
}

static bool take_shape(struct cursor *c, struct npy *h) {
    if (!take(c, "(")) return false;
    while (!take(c, ")")) {
        if (h->rank == 32 || !take_int(c, &h->dims[h->rank])) return false;
        take(c, "L"); /* written by Python 2 */
        h->rank++;
        if (take(c, ",")) continue;
        if (!take(c, ")")) return false;
        break;
    }
    return true;
}

static bool take_descr(struct cursor *c, struct npy *h) {
    const char *s;
    size_t n;
    if (!take_quoted(c, &s, &n) || n < 3) return false;
    h->order = s[0];
    h->kind = s[1];
    struct cursor number = {s + 2, s + n};
    return take_int(&number, &h->size) && number.at == number.end;
}

static bool parse_header(struct cursor *c, struct npy *h) {
    unsigned seen = 0;
    if (!take(c, "{")) return false;
    while (!take(c, "}")) {
        const char *key;
        size_t n;
        if (!take_quoted(c, &key, &n) || !take(c, ":")) return false;
        bool ok = false;
        if (n == 5 && memcmp(key, "descr", 5) == 0) {
            ok = !(seen & 1) && take_descr(c, h);
            seen |= 1;
        } else if (n == 13 && memcmp(key, "fortran_order", 13) == 0) {
            h->fortran = take(c, "True");
            ok = !(seen & 2) && (h->fortran || take(c, "False"));
            seen |= 2;
        } else if (n == 5 && memcmp(key, "shape", 5) == 0) {
            ok = !(seen & 4) && take_shape(c, h);
            seen |= 4;
        }
        if (!ok) return false;
        if (!take(c, ",")) {
            if (!take(c, "}")) return false;
            break;
        }
    }
    skip_space(c);
    return seen == 7 && c->at == c->end;
}

/* --- elements --- */

static enum dtype type_by_descr(const struct npy *h) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].kind == h->kind && kinds[i].size == h->size) return kinds[i].type;
    return NONE;
}

/* The type of the tensor: the file's, or the wanted one when the file's elements are its codes. */
static enum dtype pick_type(const struct npy *h, enum dtype want) {
    enum dtype has = type_by_descr(h);
    if (want == NONE || want == has) return has;
    bool codes = h->kind == 'V' || h->kind == 'u' || (h->kind == 'i' && dtype_bits(want) < 8);
    bool has_no_own = dtype_bits(want) < 8 || want == BF16 || (dtype_is_float(want) && dtype_bits(want) == 8);
    return codes && has_no_own && want != STR && h->size == dtype_bytes(want) ? want : NONE;
}

/* The words of NumPy for type t: "<f4"; NULL: it has none. */
static const char *numpy_words(struct arena *a, enum dtype t) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == t)
            return arena_printf(a, "%c%c%d", kinds[i].size > 1 ? '<' : '|', kinds[i].kind, kinds[i].size);
    return NULL;
}
static bool refuse_type(struct diags *d, const struct npy *h, enum dtype want) {
    bool known = type_by_descr(h) != NONE || h->kind == 'S' || h->kind == 'U';
    const char *words = numpy_words(d->arena, want != NONE ? want : type_by_descr(h)),
               *needed = want != NONE ? arena_printf(d->arena, ", and %s is needed", dtype_name(want))
                         : known      ? ", which are not little endian"
                                      : ", which are not read";
    diag(d, DIAG_ERROR, E_FILE, ".npy: its elements are of type %c%c%lld%s", h->order, h->kind, (long long)h->size,
         needed);
    if (words) diag_help(d, "convert it: numpy.save(FILE, array.astype(\"%s\"))", words);
    else
        diag_help(d, "%s",
                  want == STR ? "strings are of NumPy's kinds S and U"
                              : "floats of 16 and 8 bits that NumPy has not, and elements below a byte, are "
                                "saved as their codes: \"<u2\" or \"|u1\"");
    return false;
}

/* The offset in Fortran order of the element that comes next in C order, by counting through the shape. */
struct fortran {
    int64_t index[32], offset;
};

static void next_element(struct fortran *f, const struct npy *h) {
    int64_t stride = 1;
    for (int i = 0; i < h->rank - 1; i++) stride *= h->dims[i]; /* of the last axis */
    for (int i = h->rank - 1; i >= 0; i--) {
        f->offset += stride;
        if (++f->index[i] < h->dims[i]) return;
        f->offset -= stride * h->dims[i];
        f->index[i] = 0;
        if (i) stride /= h->dims[i - 1];
    }
}

static void put_utf8(struct text *t, uint32_t u) {
    if (u < 0x80) text_char(t, (char)u);
    else if (u < 0x800) text_printf(t, "%c%c", (int)(0xc0 | u >> 6), (int)(0x80 | (u & 63)));
    else if (u < 0x10000)
        text_printf(t, "%c%c%c", (int)(0xe0 | u >> 12), (int)(0x80 | (u >> 6 & 63)), (int)(0x80 | (u & 63)));
    else
        text_printf(t, "%c%c%c%c", (int)(0xf0 | u >> 18), (int)(0x80 | (u >> 12 & 63)), (int)(0x80 | (u >> 6 & 63)),
                    (int)(0x80 | (u & 63)));
}

/* Elements 'S' (bytes) and 'U' (code points) have a fixed width and are filled up with zeros. */
static bool take_string(struct arena *a, const struct npy *h, const uint8_t *p, struct str_elem *out) {
    if (h->kind == 'S') {
        size_t n = (size_t)h->size;
        while (n && !p[n - 1]) n--;
        *out = (struct str_elem){arena_copy(a, p, n), n};
        return true;
    }
    struct text t = {0};
    size_t kept = 0;
    bool ok = true;
    for (int64_t i = 0; i < h->size && ok; i++) {
        uint32_t u;
        memcpy(&u, p + i * 4, 4);
        ok = u <= 0x10ffff;
        if (ok) put_utf8(&t, u);
        if (u) kept = t.n;
    }
    if (ok) *out = (struct str_elem){arena_copy(a, t.s, kept), kept};
    text_free(&t);
    return ok;
}

static bool fill(struct diags *d, struct arena *a, const struct npy *h, const uint8_t *p, size_t width,
                 struct tensor *t) {
    int64_t count = tensor_count(t);
    bool packed = t->type != STR && dtype_bits(t->type) < 8;
    if (!h->fortran && !packed && t->type != STR && t->type != BOOL) {
        memcpy(tensor_data(t), p, t->nbytes);
        return true;
    }
    struct fortran f = {0};
    struct str_elem *strs = tensor_data(t);
    for (int64_t i = 0; i < count; i++) {
        const uint8_t *e = p + (size_t)(h->fortran ? f.offset : i) * width;
        if (t->type == STR) {
            if (!take_string(a, h, e, &strs[i]))
                return refuse(d, "a string has a character that Unicode does not have");
        } else if (packed) {
            int bits = dtype_bits(t->type), per_byte = 8 / bits;
            uint8_t *q = (uint8_t *)tensor_data(t) + i / per_byte;
            *q = (uint8_t)(*q | (e[0] & ((1u << bits) - 1)) << (i % per_byte * bits));
        } else if (t->type == BOOL) {
            ((uint8_t *)tensor_data(t))[i] = e[0] != 0;
        } else {
            memcpy((uint8_t *)tensor_data(t) + (size_t)i * width, e, width);
        }
        if (h->fortran) next_element(&f, h);
    }
    return true;
}

/* Magic, version, header; *at: where the elements begin. */
static bool read_header(struct diags *d, const uint8_t *data, size_t size, struct npy *h, size_t *at) {
    if (size < 10 || memcmp(data, "\x93NUMPY", 6) != 0) return refuse(d, "the file does not begin as one");
    int version = data[6];
    if (version < 1 || version > 3) return refuse(d, "a version other than 1, 2 and 3");
    size_t n = (size_t)data[8] | (size_t)data[9] << 8;
    *at = 10;
    if (version > 1) {
        if (size < 12) return refuse(d, "the file ends within its header");
        n |= (size_t)data[10] << 16 | (size_t)data[11] << 24;
        *at = 12;
    }
    if (n > size - *at) return refuse(d, "the file ends within its header");
    struct cursor c = {(const char *)data + *at, (const char *)data + *at + n};
    *at += n;
    if (parse_header(&c, h)) return true;
    refuse(d, "its header is not that of an array of numbers, truth values or strings");
    diag_help(d, "numpy.save(FILE, array) writes one; arrays of objects and of records are not read");
    return false;
}

struct tensor *tensor_from_npy(struct diags *d, struct arena *a, const uint8_t *data, size_t size, enum dtype want) {
    struct npy h = {0};
    size_t at;
    if (!read_header(d, data, size, &h, &at)) return NULL;
    bool string = h.kind == 'S' || h.kind == 'U';
    enum dtype type = string ? (want == NONE || want == STR ? STR : NONE) : pick_type(&h, want);
    bool one_byte = h.size == 1 && h.kind != 'U';
    bool order = h.order == '<' || h.order == '=' || (h.order == '|' && (one_byte || h.kind == 'S' || h.kind == 'V'));
    if (type == NONE || !order) return refuse_type(d, &h, want), NULL;
    int64_t width = h.size, count = 1, bytes = 0;
    bool empty = false, fits = h.kind != 'U' || mul_ok(width, 4, &width);
    for (int i = 0; i < h.rank; i++) {
        empty = empty || h.dims[i] == 0;
        fits = fits && (h.dims[i] == 0 || mul_ok(count, h.dims[i], &count));
    }
    count = empty ? 0 : count;
    fits = fits && mul_ok(count, width, &bytes);
    if (!fits || (uint64_t)bytes > size - at) return refuse(d, "the file ends before the elements do"), NULL;
    if (width == 0 && (uint64_t)count > size)
        return refuse(d, "more empty strings than bytes"), NULL; /* nothing in the file pays for their memory */
    struct tensor *t = tensor_new(a, type, h.dims, h.rank);
    if (!t) return refuse(d, "the size exceeds what can be addressed"), NULL;
    return fill(d, a, &h, data + at, (size_t)width, t) ? t : NULL;
}

/* --- writing --- */

/* One code point of UTF-8 at *p; false when it is not well formed. */
static bool next_code_point(const char **p, const char *end, uint32_t *u) {
    const unsigned char *s = (const unsigned char *)*p;
    int n = s[0] < 0x80                   ? 1
            : s[0] >= 0xc2 && s[0] < 0xe0 ? 2
            : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
            : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                          : 0;
    if (!n || end - *p < n) return false;
    *u = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
    for (int i = 1; i < n; i++) {
        if ((s[i] & 0xc0) != 0x80) return false;
        *u = *u << 6 | (s[i] & 63);
    }
    *p += n;
    return *u <= 0x10ffff;
}

static const struct str_elem *string_at(const struct tensor *t, int64_t i) {
    return &t->strs[t->source == TS_SPLAT ? 0 : i];
}

/* Code points of the longest string, at least 1 because NumPy makes U0 into U1; -1: a string is not UTF-8. */
static int64_t longest(const struct tensor *t, int64_t count) {
    int64_t most = 1;
    for (int64_t i = 0; i < count; i++) {
        const struct str_elem *e = string_at(t, i);
        int64_t n = 0;
        uint32_t u;
        for (const char *p = e->p; e->n && p < e->p + e->n; n++)
            if (!next_code_point(&p, e->p + e->n, &u)) return -1;
        most = n > most ? n : most;
    }
    return most;
}

static void put_strings(const struct tensor *t, int64_t count, int64_t width, struct text *out) {
    for (int64_t i = 0; i < count; i++) {
        const struct str_elem *e = string_at(t, i);
        const char *p = e->p, *end = e->n ? e->p + e->n : e->p;
        for (int64_t k = 0; k < width; k++) {
            uint32_t u = 0;
            if (p < end) next_code_point(&p, end, &u);
            text_addn(out, (const char *)&u, 4);
        }
    }
}

/* Types that NumPy does not have are written as its `void` of the same size, sub-byte integers as 8 bit ones. */
static void put_descr(struct text *out, const struct tensor *t, int64_t string_width) {
    if (t->type == STR) {
        text_printf(out, "<U%lld", (long long)string_width);
        return;
    }
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].type == t->type) {
            text_printf(out, "%c%c%d", kinds[i].size == 1 ? '|' : '<', kinds[i].kind, kinds[i].size);
            return;
        }
    int size = dtype_bytes(t->type);
    text_printf(out, "|%c%d", dtype_is_float(t->type) ? 'V' : dtype_is_signed(t->type) ? 'i' : 'u', size);
}

bool tensor_to_npy(struct diags *d, const struct tensor *t, struct text *out) {
    int64_t count = tensor_count(t), width = t->type == STR ? longest(t, count) : 0;
    if (width < 0) return refuse(d, "a string is not UTF-8");
    struct text head = {0};
    text_add(&head, "{'descr': '");
    put_descr(&head, t, width);
    text_add(&head, "', 'fortran_order': False, 'shape': (");
    for (int i = 0; i < t->rank; i++)
        text_printf(&head, "%s%lld%s", i ? " " : "", (long long)t->dims[i], i + 1 < t->rank || t->rank == 1 ? "," : "");
    text_add(&head, "), }");
    while ((10 + head.n + 1) % 64) text_char(&head, ' ');
    text_char(&head, '\n');
    ASSERT(head.n < 65536); /* 32 dims of 20 characters */
    text_addn(out, "\x93NUMPY\x01\x00", 8);
    text_char(out, (char)(head.n & 255));
    text_char(out, (char)(head.n >> 8));
    text_addn(out, head.s, head.n);
    text_free(&head);
    if (t->type == STR) {
        put_strings(t, count, width, out);
        return true;
    }
    size_t n = (size_t)count * (size_t)dtype_bytes(t->type);
    struct arena tmp = {0};
    char *p = arena_alloc(&tmp, n);
    tensor_unpack(t, p);
    text_addn(out, p, n);
    arena_free(&tmp);
    return true;
}
