/* A mutator that knows what an ONNX file looks like: it changes, copies, moves and drops whole fields and keeps the
 * lengths of the messages around them right, so that most of what it makes passes the scan and reaches what lies
 * behind. For the fuzzers of import and pipeline; include it once in a program. */
#ifndef NN_TESTS_FUZZ_ONNX_MUTATE_H
#define NN_TESTS_FUZZ_ONNX_MUTATE_H
#include "compiler/import/onnx.pb-c.h"
#include "ir/graph/op.h"
#include <protobuf-c/protobuf-c.h>
#include <string.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *out, size_t max,
                                 unsigned seed);

enum { MUTATE_FIELDS = 4096, MUTATE_DEPTH = 24, MUTATE_BYTES = 1 << 16 };
struct wire_field {
    size_t tag, length, body, end;        /* offsets; length is body where there is none */
    int parent;                           /* the message that it stands in, -1: the model */
    const ProtobufCMessageDescriptor *in; /* type of that message */
    const ProtobufCFieldDescriptor *f;    /* NULL: not known */
    int wire;
};
struct wire {
    uint8_t *p;
    size_t n, max;
    struct wire_field v[MUTATE_FIELDS];
    int count;
    uint64_t random;
};
static uint64_t wire_random(struct wire *w, uint64_t below) {
    w->random ^= w->random << 13, w->random ^= w->random >> 7, w->random ^= w->random << 17;
    return below ? w->random % below : 0;
}
static bool wire_varint(const uint8_t *p, size_t *at, size_t end, uint64_t *v) {
    *v = 0;
    for (int shift = 0; *at < end && shift < 64; shift += 7) {
        uint8_t b = p[(*at)++];
        *v |= (uint64_t)(b & 127) << shift;
        if (b < 128) return true;
    }
    return false;
}
static size_t wire_put(uint8_t *p, uint64_t v) {
    size_t n = 0;
    for (; v > 127; v >>= 7) p[n++] = (uint8_t)(v | 128);
    p[n++] = (uint8_t)v;
    return n;
}
/* false: these bytes are no such message; its fields are dropped again. */
static bool wire_collect(struct wire *w, size_t at, size_t end, const ProtobufCMessageDescriptor *type, int parent,
                         int depth) {
    int before = w->count;
    while (at < end && w->count < MUTATE_FIELDS) {
        struct wire_field f = {.tag = at, .parent = parent, .in = type};
        uint64_t tag, length;
        if (!wire_varint(w->p, &at, end, &tag)) break;
        f.wire = (int)(tag & 7);
        f.f = protobuf_c_message_descriptor_get_field(type, (unsigned)(tag >> 3));
        f.length = f.body = at;
        if (f.wire == 2) {
            if (!wire_varint(w->p, &at, end, &length) || length > end - at) break;
            f.body = at;
            at += length;
        } else if (f.wire == 0) {
            if (!wire_varint(w->p, &at, end, &length)) break;
        } else if ((f.wire == 1 || f.wire == 5) && end - at >= (f.wire == 1 ? 8 : 4)) {
            at += f.wire == 1 ? 8 : 4;
        } else {
            break;
        }
        f.end = at;
        int me = w->count;
        w->v[w->count++] = f;
        if (f.wire == 2 && f.f && f.f->type == PROTOBUF_C_TYPE_MESSAGE && depth < MUTATE_DEPTH)
            wire_collect(w, f.body, f.end, f.f->descriptor, me, depth + 1);
        if (w->count == MUTATE_FIELDS) return true;
    }
    if (at != end) w->count = before;
    return at == end;
}
static bool wire_scan(struct wire *w) {
    w->count = 0;
    return wire_collect(w, 0, w->n, &onnx__model_proto__descriptor, -1, 0) && w->count;
}
/* Replaces `drop` bytes at `at`, which belong to message `parent`, and mends the lengths. The fields are stale then. */
static bool wire_splice(struct wire *w, int parent, size_t at, size_t drop, const uint8_t *bytes, size_t n) {
    if (w->n - drop + n + 10 * MUTATE_DEPTH > w->max) return false;
    memmove(w->p + at + n, w->p + at + drop, w->n - at - drop);
    if (n) memcpy(w->p + at, bytes, n);
    w->n = w->n - drop + n;
    ptrdiff_t grown = (ptrdiff_t)n - (ptrdiff_t)drop;
    for (int k = parent; k >= 0; k = w->v[k].parent) {
        const struct wire_field *f = &w->v[k];
        uint8_t length[10];
        size_t was = f->body - f->length, is = wire_put(length, (uint64_t)((ptrdiff_t)(f->end - f->body) + grown));
        memmove(w->p + f->length + is, w->p + f->body, w->n - f->body);
        memcpy(w->p + f->length, length, is);
        w->n += is - was;
        grown += (ptrdiff_t)is - (ptrdiff_t)was;
    }
    return true;
}
/* Puts new contents into field k. */
static void wire_replace(struct wire *w, int k, const uint8_t *bytes, size_t n) {
    static uint8_t all[MUTATE_BYTES + 10];
    struct wire_field f = w->v[k];
    if (n > MUTATE_BYTES) return;
    size_t head = f.wire == 2 ? wire_put(all, n) : 0;
    memcpy(all + head, bytes, n);
    wire_splice(w, f.parent, f.length, f.end - f.length, all, head + n);
}
/* Another field of the same kind, the same one if there is none. */
static int wire_alike(struct wire *w, int k) {
    int from = (int)wire_random(w, (uint64_t)w->count);
    for (int i = 0; i < w->count; i++) {
        const struct wire_field *a = &w->v[(from + i) % w->count], *b = &w->v[k];
        bool same = a->f && b->f && a->f->type == b->f->type && a->wire == b->wire &&
                    (a->f->type != PROTOBUF_C_TYPE_MESSAGE || a->f->descriptor == b->f->descriptor);
        if (same && a != b) return (from + i) % w->count;
    }
    return k;
}
static void wire_number(struct wire *w, int k) {
    static const int64_t some[] = {0,  1,  2,  3,  4,       6,         7,         9,         10,
                                   16, -1, -2, 64, 1 << 20, INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN};
    uint64_t v = 0;
    size_t at = w->v[k].body;
    wire_varint(w->p, &at, w->v[k].end, &v);
    switch (wire_random(w, 4)) {
    case 0: v++; break;
    case 1: v--; break;
    case 2: v = wire_random(w, 24); break;
    default: v = (uint64_t)some[wire_random(w, sizeof some / sizeof *some)];
    }
    uint8_t bytes[10];
    wire_replace(w, k, bytes, wire_put(bytes, v));
}
static void wire_bytes(struct wire *w, int k) {
    static uint8_t bytes[MUTATE_BYTES];
    const struct wire_field *f = &w->v[k];
    size_t n = f->end - f->body;
    uint64_t choice = wire_random(w, 8);
    if (n > sizeof bytes / 2) return;
    if (f->f && !strcmp(f->f->name, "op_type") && choice < 6) {
        const char *name = op_at((int)wire_random(w, (uint64_t)op_count()))->name;
        wire_replace(w, k, (const uint8_t *)name, strlen(name));
        return;
    }
    if (f->f && f->f->type == PROTOBUF_C_TYPE_STRING && choice < 6) { /* another name: another edge of the graph */
        const struct wire_field *other = &w->v[wire_alike(w, k)];
        n = other->end - other->body;
        if (n > sizeof bytes) return;
        memcpy(bytes, w->p + other->body, n);
    } else {
        memcpy(bytes, w->p + f->body, n);
        n = LLVMFuzzerMutate(bytes, n, f->wire == 2 ? n + 16 : n);
        if (f->wire != 2 && n != f->end - f->body) return;
    }
    wire_replace(w, k, bytes, n);
}
/* Field `from` of w once more, beside field `to`, which is of the same kind. */
static void wire_copy(struct wire *w, const struct wire *from, int k, int to, bool over) {
    static uint8_t bytes[MUTATE_BYTES];
    const struct wire_field *f = &from->v[k], *t = &w->v[to];
    size_t n = f->end - f->tag;
    if (n > sizeof bytes) return;
    memcpy(bytes, from->p + f->tag, n);
    wire_splice(w, t->parent, t->tag, over ? t->end - t->tag : 0, bytes, n);
}
static void wire_change(struct wire *w) {
    int k = (int)wire_random(w, (uint64_t)w->count);
    const struct wire_field *f = &w->v[k];
    uint64_t choice = wire_random(w, 16);
    if (choice == 0) wire_splice(w, f->parent, f->tag, f->end - f->tag, NULL, 0);
    else if (choice == 1) wire_copy(w, w, k, k, false);
    else if (choice <= 4) wire_copy(w, w, wire_alike(w, k), k, choice > 2);
    else if (f->wire == 0) wire_number(w, k);
    else if (!f->f || f->f->type != PROTOBUF_C_TYPE_MESSAGE) wire_bytes(w, k);
    else wire_copy(w, w, wire_alike(w, k), k, choice & 1);
}
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed) {
    static struct wire w;
    w.p = data, w.n = size, w.max = max;
    w.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    if (wire_random(&w, 16) == 0) return LLVMFuzzerMutate(data, size, max);
    int changes = 1 + (int)wire_random(&w, 4);
    for (int k = 0; k < changes; k++) {
        if (!wire_scan(&w)) return k ? w.n : LLVMFuzzerMutate(data, size, max);
        wire_change(&w);
    }
    return w.n;
}
/* Fields of b into a: a field of a is followed or replaced by one of the same kind. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *out, size_t max,
                                 unsigned seed) {
    static struct wire w, from;
    if (na > max) return 0;
    memcpy(out, a, na);
    w.p = out, w.n = na, w.max = max;
    from.p = (uint8_t *)(uintptr_t)b, from.n = from.max = nb;
    w.random = seed * UINT64_C(0x9E3779B97F4A7C15) + 1;
    for (int tries = 0; tries < 4; tries++) {
        if (!wire_scan(&w) || !wire_scan(&from)) break;
        int k = (int)wire_random(&w, (uint64_t)from.count), first = (int)wire_random(&w, (uint64_t)w.count);
        for (int i = 0; i < w.count; i++) {
            int to = (first + i) % w.count;
            if (w.v[to].in != from.v[k].in || w.v[to].f != from.v[k].f) continue;
            wire_copy(&w, &from, k, to, wire_random(&w, 2));
            break;
        }
    }
    return w.n;
}
#endif
