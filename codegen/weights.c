/* Constants on their way into the build folder: each is converted from its logical row-major form into the physical
 * layout that scheduling gave its buffer, then written. Only one constant is in memory at a time. See weights.h for the
 * file. */
#include "codegen/weights.h"
#include "ir/base/checked.h"
#include "ir/base/memory.h"
#include "ir/base/workdir.h"
#include "lower/lower.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define XXH_STATIC_LINKING_ONLY /* for the size of XXH64_state_t */
#include <xxhash.h>

static bool constant_cells(struct program *p, const struct buf *b, int64_t *cells) {
    return x_is_int(buf_cells(p->c, b), cells) && *cells >= 0;
}
static bool is_weight(const struct buf *b) { return b->scope == SC_CONST; }
int64_t weights_estimate(struct program *p) {
    int64_t total = WEIGHTS_HEADER;
    for (int k = 0; k < p->m->entry->bufs.n; k++) {
        const struct buf *b = p->m->entry->bufs.v[k];
        int64_t cells, bytes;
        if (!is_weight(b) || b->type == STR) continue;
        if (!constant_cells(p, b, &cells) || !mul_ok(cells, dtype_bytes(b->type), &bytes) ||
            !add_ok(total, bytes + 63, &total))
            return -1;
    }
    return total;
}

/* ---- from logical to physical */
struct leaf {
    const struct buf *b;
    const int64_t *at;
};
static bool leaf_value(void *env, expr e, int64_t *v) {
    const struct leaf *l = env;
    for (int k = 0; k < l->b->nlogical; k++)
        if (e->op == X_VAR && e->u.var == l->b->lvar[k]) {
            *v = l->at[k];
            return true;
        }
    return false;
}
/* The physical offset of a logical index as a sum of one table per logical dim; false: the map is not of that form. */
static bool offset_tables(struct program *p, const struct buf *b, const int64_t *dims, int64_t **tables,
                          int64_t *konst) {
    struct ctx *c = p->c;
    const expr *atoms;
    const int64_t *coefs;
    int n = x_terms(c, buf_offset(c, b, b->map), konst, &atoms, &coefs);
    for (int k = 0; k < b->nlogical; k++) tables[k] = NEWN(&c->arena, int64_t, dims[k] + 1);
    for (int i = 0; i < n; i++) {
        int of = -1;
        for (int k = 0; k < b->nlogical; k++) {
            if (!x_uses_var(c, atoms[i], b->lvar[k])) continue;
            if (of >= 0) return false;
            of = k;
        }
        if (of < 0) return false;
        int64_t at[32] = {0};
        struct leaf l = {b, at};
        for (at[of] = 0; at[of] < dims[of]; at[of]++) {
            int64_t v;
            if (!x_eval_int(atoms[i], leaf_value, &l, &v)) return false;
            tables[of][at[of]] += v * coefs[i];
        }
    }
    return true;
}
void fill_cell(const struct buf *b, unsigned char cell[16]) {
    uint64_t room[2] = {0};
    struct tensor t = {.type = b->type, .source = TS_BYTES, .bytes = room, .nbytes = sizeof room};
    if (dtype_is_float(b->fill->type)) tensor_set_f(&t, 0, b->fill->u.f);
    else tensor_set_i(&t, 0, b->fill->u.i);
    tensor_unpack(&t, cell);
}
/* Offsets of the elements of one row, at[last] = 0, 1 .., if the layout is not a sum of tables. */
static void evaluate_row(struct program *p, const struct buf *b, int64_t *at, int64_t n, int64_t *offsets) {
    int last = b->nlogical - 1;
    struct leaf l = {b, at};
    for (int64_t k = 0; k < n; k++) {
        if (last >= 0) at[last] = k;
        if (!x_eval_int(buf_offset(p->c, b, b->map), leaf_value, &l, &offsets[k]))
            BUG("the layout of constant %s cannot be evaluated", b->name);
    }
}
/* n logical elements, from number `element` on; their offsets are base + offsets[k]. */
struct row {
    int64_t element, n, base;
    const int64_t *offsets;
};
/* Row-major walk over the rows of the logical elements. */
static void each_row(struct program *p, const struct buf *b, void (*fn)(void *env, const struct row *r), void *env) {
    int64_t dims[32], at[32] = {0}, n = 1, konst = 0, *tables[32];
    int last = b->nlogical - 1;
    for (int k = 0; k <= last; k++) {
        if (!x_is_int(b->logical[k], &dims[k])) BUG("constant %s has no constant shape", b->name);
        n *= dims[k];
    }
    bool sum = offset_tables(p, b, dims, tables, &konst) && last >= 0;
    int64_t length = last >= 0 ? dims[last] : 1, *evaluated = NEWN(&p->c->arena, int64_t, sum ? 1 : length + 1);
    for (struct row r = {0, length, konst, sum ? tables[last] : evaluated}; r.element < n; r.element += length) {
        if (sum) {
            r.base = konst;
            for (int k = 0; k < last; k++) r.base += tables[k][at[k]];
        } else {
            r.base = 0;
            evaluate_row(p, b, at, length, evaluated);
        }
        fn(env, &r);
        for (int k = last; k-- > 0 && ++at[k] == dims[k];) at[k] = 0;
    }
}
struct placing {
    unsigned char *out;
    const unsigned char *in;
    int64_t step;
    int64_t cells;
    int size;
    const char *name;
};
static void place_row(void *env, const struct row *r) {
    const struct placing *q = env;
    const unsigned char *from = q->in + r->element * q->step;
    for (int64_t k = 0; k < r->n; k++, from += q->step) {
        int64_t offset = r->base + r->offsets[k];
        unsigned char *to = q->out + offset * q->size;
        if (offset < 0 || offset >= q->cells)
            BUG("element %lld of constant %s lies outside of its buffer", (long long)(r->element + k), q->name);
        switch (q->size) { /* constant sizes, because there are millions of copies */
        case 1: *to = *from; break;
        case 4: memcpy(to, from, 4); break;
        default: memcpy(to, from, (size_t)q->size);
        }
    }
}
/* The physical bytes of b, in malloc'd memory of `bytes` bytes. */
static unsigned char *pack(struct program *p, const struct buf *b, int64_t cells) {
    const struct tensor *t = b->data;
    int size = dtype_bytes(b->type);
    unsigned char *out = memory_zeroed((size_t)cells, (size_t)size), *unpacked = NULL;
    unsigned char one[16] = {0};
    if (b->fill) fill_cell(b, one);
    for (int64_t i = 0; b->fill && i < cells; i++) memcpy(out + i * size, one, (size_t)size);
    struct placing q = {.out = out, .in = t->bytes, .step = size, .cells = cells, .size = size, .name = b->name};
    if (t->source == TS_SPLAT) { /* one element for all cells */
        struct tensor single = *t;
        single.rank = 0;
        single.source = TS_BYTES;
        tensor_unpack(&single, one);
        q.in = one, q.step = 0;
    } else if (dtype_bits(b->type) != 8 * size) {
        unpacked = memory_new((size_t)tensor_count(t) * (size_t)size);
        tensor_unpack(t, unpacked);
        q.in = unpacked;
    }
    each_row(p, b, place_row, &q);
    free(unpacked);
    return out;
}

/* The cells of b as stored in the file: the model's own bytes if they need no change, possibly gigabytes of a mapped
 * file; otherwise a packed copy, which is freed via *owned. */
static const unsigned char *physical(struct program *p, const struct buf *b, int64_t cells, unsigned char **owned) {
    int size = dtype_bytes(b->type);
    *owned = NULL;
    if (b->data->source != TS_SPLAT && buf_is_plain(b) && dtype_bits(b->type) == 8 * size) return b->data->bytes;
    return *owned = pack(p, b, cells);
}

/* ---- the file */
static void put_u32(unsigned char *at, uint32_t v) {
    for (int k = 0; k < 4; k++) at[k] = (unsigned char)(v >> 8 * k);
}
static void put_u64(unsigned char *at, uint64_t v) {
    for (int k = 0; k < 8; k++) at[k] = (unsigned char)(v >> 8 * k);
}
struct packing {
    struct program *p;
    int fd;
    XXH64_state_t hash;
    int64_t at;
    int entries;                /* of all variants */
    VEC(XXH128_hash_t) digests; /* of the entries stored so far, and their positions */
    VEC(int64_t) offsets, sizes;
};
static bool put_bytes(struct packing *q, const unsigned char *bytes, int64_t n) {
    static const unsigned char zeros[64];
    int64_t pad = -n & 63;
    XXH64_update(&q->hash, bytes, (size_t)n);
    XXH64_update(&q->hash, zeros, (size_t)pad);
    q->at += n + pad;
    return write_all(q->fd, bytes, (size_t)n) && write_all(q->fd, zeros, (size_t)pad);
}
static bool put_weight(struct packing *q, const struct buf *b) {
    struct program *p = q->p;
    struct weight w = {.buf = b};
    int64_t cells;
    if (!b->data) {
        diag(&p->c->diags, DIAG_ERROR, E_VERIFY, "constant %s has no contents", diag_quote(&p->c->arena, b->name));
        return false;
    }
    if (b->type == STR) {
        w.array = internf(p->c->names, "%s_strings%d", p->own, p->weights.n);
        PUSH(&p->c->arena, &p->weights, w);
        return true;
    }
    if (!constant_cells(p, b, &cells)) {
        diag(&p->c->diags, DIAG_ERROR, E_SIZE, "constant %s has no constant size", diag_quote(&p->c->arena, b->name));
        return false;
    }
    unsigned char *owned;
    const unsigned char *bytes = physical(p, b, cells, &owned);
    bool ok = true;
    w.bytes = cells * dtype_bytes(b->type);
    XXH128_hash_t digest = XXH3_128bits(bytes, (size_t)w.bytes);
    int same = 0;
    while (same < q->digests.n && !(q->sizes.v[same] == w.bytes && XXH128_isEqual(q->digests.v[same], digest))) same++;
    w.offset = same < q->digests.n ? q->offsets.v[same] : q->at;
    if (same == q->digests.n) {
        PUSH(&p->c->arena, &q->digests, digest);
        PUSH(&p->c->arena, &q->offsets, w.offset);
        PUSH(&p->c->arena, &q->sizes, w.bytes);
        ok = put_bytes(q, bytes, w.bytes);
    }
    free(owned);
    PUSH(&p->c->arena, &p->weights, w);
    return ok;
}
static bool put_weights_of(struct packing *q, struct program *p) {
    bool ok = true;
    q->p = p;
    p->weights.n = 0;
    for (int k = 0; k < p->m->entry->bufs.n && ok; k++)
        if (is_weight(p->m->entry->bufs.v[k])) ok = put_weight(q, p->m->entry->bufs.v[k]);
    q->entries += p->weights.n;
    return ok;
}
bool weights_pack(struct program *lead, int fd) {
    struct packing q = {.fd = fd, .at = WEIGHTS_HEADER};
    unsigned char header[WEIGHTS_HEADER] = "NNWEIGHT";
    bool ok = write_all(fd, header, sizeof header);
    XXH64_reset(&q.hash, 0);
    for (int k = 0; k < lead->nall && ok; k++) ok = put_weights_of(&q, lead->all[k]);
    if (ok) {
        uint64_t hash = XXH64_digest(&q.hash);
        for (int k = 0; k < lead->nall; k++) {
            struct program *p = lead->all[k];
            p->weights_bytes = q.at, p->weights_hash = hash, p->weights_entries = q.entries;
        }
        put_u32(header + 8, WEIGHTS_VERSION);
        put_u32(header + 12, (uint32_t)q.entries);
        put_u64(header + 16, (uint64_t)q.at);
        put_u64(header + 24, hash);
        ok = lseek(fd, 0, SEEK_SET) == 0 && write_all(fd, header, sizeof header);
    }
    return ok;
}
const struct weight *program_weight(const struct program *p, const struct buf *b) {
    for (int k = 0; k < p->weights.n; k++)
        if (p->weights.v[k].buf == b) return &p->weights.v[k];
    return NULL;
}

/* ---- how the program sees them */
static void array_head(const struct program *p, struct text *t) {
    text_printf(t,
                "/* Weights of %s: packed as the kernels read them, words of 32 bits, little endian. */\n"
                "#include \"%s_%s.h\"\n\n"
                "#if defined __BYTE_ORDER__ && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__\n#error \"the weights are "
                "little endian\"\n#endif\n\n"
                "const union %s_weights_data %s_weights = {{\n",
                p->name, p->name, p->nall > 1 ? "variants" : "kernels", p->name, p->name);
}
bool weights_array(struct program *p, int packed, int fd) {
    enum { LINE = 32, PART = 2048 * LINE };
    struct text t = {0};
    unsigned char *w = arena_alloc(&p->c->arena, PART);
    bool ok = true;
    array_head(p, &t);
    for (int64_t at = 0; at < p->weights_bytes && ok;) {
        ssize_t n = pread(packed, w, PART, at);
        if (n < 0 && errno == EINTR) continue;
        if (n == 0) errno = EIO; /* somebody truncated it */
        ok = n > 0;
        n -= ok && n % LINE ? n % 4 : 0;
        for (ssize_t k = 0; k + 4 <= n; k += 4) {
            unsigned long v = (unsigned long)w[k] | (unsigned long)w[k + 1] << 8 | (unsigned long)w[k + 2] << 16 |
                              (unsigned long)w[k + 3] << 24;
            text_printf(&t, "%s 0x%08lxu,%s", (at + k) % LINE ? "" : "   ", v,
                        (at + k) % LINE == LINE - 4 || at + k + 4 == p->weights_bytes ? "\n" : "");
        }
        ok = ok && write_all(fd, t.s, t.n);
        t.n = 0;
        at += n;
    }
    if (ok) text_add(&t, "}};\n");
    ok = ok && write_all(fd, t.s, t.n);
    int error = errno;
    text_free(&t);
    errno = error;
    return ok;
}
void weights_assembly(struct program *p, struct text *out) {
    text_printf(out,
                "/* Puts %s_weights.bin into the program. For ELF and Mach-O assemblers (gcc, clang). */\n"
                "#ifdef __APPLE__\n    .const\n    .p2align 6\n    .globl _%s_weights\n_%s_weights:\n"
                "#else\n    .section .rodata\n    .balign 64\n    .globl %s_weights\n    .type %s_weights, %%object\n  "
                "  .size %s_weights, %lld\n%s_weights:\n#endif\n"
                "    .incbin \"%s_weights.bin\"\n"
                "#ifdef __ELF__\n    .section .note.GNU-stack, \"\", %%progbits\n#endif\n",
                p->name, p->name, p->name, p->name, p->name, p->name, (long long)p->weights_bytes, p->name, p->name);
}
struct strings {
    const struct buf *b;
    const struct str_elem **cells;
};
static void place_strings(void *env, const struct row *r) {
    struct strings *q = env;
    for (int64_t k = 0; k < r->n; k++)
        q->cells[r->base + r->offsets[k]] = &q->b->data->strs[q->b->data->source == TS_SPLAT ? 0 : r->element + k];
}
void weights_strings(struct program *p, struct text *out) {
    for (int k = 0; k < p->weights.n; k++) {
        const struct weight *w = &p->weights.v[k];
        int64_t cells;
        if (!w->array || !constant_cells(p, w->buf, &cells)) continue;
        struct strings q = {w->buf, NEWN(&p->c->arena, const struct str_elem *, cells + 1)};
        each_row(p, w->buf, place_strings, &q);
        text_printf(out, "static const nn_str %s[%lld] = {\n", w->array, (long long)(cells ? cells : 1));
        for (int64_t i = 0; i < cells; i++) {
            text_add(out, "    {");
            emit_chars(out, q.cells[i] ? q.cells[i]->p : "", q.cells[i] ? q.cells[i]->n : 0);
            text_printf(out, ", %zu},\n", q.cells[i] ? q.cells[i]->n : (size_t)0);
        }
        text_add(out, cells ? "};\n" : "    {\"\", 0}\n};\n");
    }
}
int64_t weights_size(const struct program *p) { return p->weights_bytes > WEIGHTS_HEADER ? p->weights_bytes : 0; }
bool program_weights_file(const struct program *p) { return p->mode == WEIGHTS_FILE && weights_size(p) > 0; }
static bool any_bytes(const struct program *p) { return weights_size(p) > 0; }
void weights_declaration(struct program *p, struct text *out) {
    if (!any_bytes(p) || p->mode == WEIGHTS_FILE) return;
    if (p->mode == WEIGHTS_C)
        text_printf(
            out,
            "/* The first member makes the words; the second one makes them aligned for every element type. */\n"
            "union %s_weights_data { uint32_t words[%lld]; double aligned; };\n"
            "%sextern const union %s_weights_data %s_weights;\n",
            p->name, (long long)(p->weights_bytes / 4),
            p->o->c99_strict ? "" : "#ifdef __GNUC__\n__attribute__((aligned(64)))\n#endif\n", p->name, p->name);
    else text_printf(out, "extern const unsigned char %s_weights[%lld];\n", p->name, (long long)p->weights_bytes);
}
const char *weights_address(struct program *p) {
    if (!any_bytes(p)) return NULL;
    return format(p->c, p->mode == WEIGHTS_C ? "(const unsigned char *)&%s_weights" : "%s_weights", p->name);
}
