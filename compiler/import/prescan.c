/* Wire format check and compaction of ONNX messages; see prescan.h. The schema is taken from the descriptors that
 * protoc-c generates from onnx.proto, so there is no second table to maintain. */
#include "compiler/import/prescan.h"
#include "ir/base/die.h"
#include "ir/base/vec.h"
#include <limits.h>
#include <string.h>

const struct prescan_limits prescan_default_limits = {PRESCAN_DEPTH, 1 << 23, 1 << 26, INT_MAX};

enum wire { WIRE_VARINT = 0, WIRE_64 = 1, WIRE_BYTES = 2, WIRE_32 = 5 };
enum { RAW_DATA = 9, RAW_SPAN = 1000 };

/* A message that is being read. The size of its compact form is summed up as its fields are scanned. */
struct frame {
    const ProtobufCMessageDescriptor *type;
    size_t end, compact;
    int number;    /* in order of opening: index of its compact size */
    unsigned tag;  /* of the field that it is */
    uint64_t seen; /* singular fields seen, by their index in the descriptor */
};

struct scan {
    struct diags *diags;
    struct arena *arena;
    const uint8_t *data;
    const struct prescan_limits *limits;
    struct frame frames[PRESCAN_DEPTH];
    int depth;
    int64_t fields;
    bool short_of;     /* the invalid field extends beyond its message */
    VEC(size_t) sizes; /* compact size of each message, in order of opening */
    struct raw_spans *spans;
};

struct field {
    size_t start, payload, end; /* offsets of tag, contents and end */
    unsigned tag, wire;
    const ProtobufCFieldDescriptor *row; /* NULL: unknown */
};

static const char behind_end[] = "a length exceeds the enclosing message",
                  cut_off[] = "a number is cut off by the end of its message";

static const char *type_name(const ProtobufCMessageDescriptor *t) { return t->short_name; }

/* Reads a varint that must end before `end`; returns NULL or what is wrong. */
static const char *read_varint(const uint8_t *data, size_t *at, size_t end, uint64_t *v) {
    *v = 0;
    for (int shift = 0; shift < 70; shift += 7) {
        if (*at >= end) return cut_off;
        uint8_t b = data[(*at)++];
        if (shift == 63 && b > 1) return "a number has more than 64 bits";
        *v |= (uint64_t)(b & 0x7f) << shift;
        if (b < 0x80) return NULL;
    }
    return "a number has more than 64 bits";
}

static int varint_size(uint64_t v) {
    int n = 1;
    while (v >>= 7) n++;
    return n;
}

static uint8_t *put_varint(uint8_t *p, uint64_t v) {
    for (; v >= 0x80; v >>= 7) *p++ = (uint8_t)(v | 0x80);
    *p++ = (uint8_t)v;
    return p;
}

/* Finds the extent and the schema row of the field at `at`. */
static const char *read_field(const struct scan *s, const struct frame *f, size_t at, struct field *x) {
    uint64_t tag, n;
    x->start = at;
    const char *wrong = read_varint(s->data, &at, f->end, &tag);
    if (wrong) return wrong;
    if (tag >> 32 || tag >> 3 == 0 || tag >> 3 > (1u << 29) - 1) return "a field number is out of range";
    x->wire = tag & 7;
    x->tag = (unsigned)(tag >> 3);
    x->payload = at;
    switch (x->wire) {
    case WIRE_VARINT:
        if ((wrong = read_varint(s->data, &at, f->end, &n))) return wrong;
        x->end = at;
        break;
    case WIRE_64:
    case WIRE_32:
        n = x->wire == WIRE_64 ? 8 : 4;
        if (f->end - at < n) return cut_off;
        x->end = at + n;
        break;
    case WIRE_BYTES:
        if ((wrong = read_varint(s->data, &at, f->end, &n))) return wrong;
        if (n > f->end - at) return behind_end;
        x->payload = at;
        x->end = at + n;
        break;
    default: return "an unknown wire type";
    }
    bool ours = f->type == &onnx__tensor_proto__descriptor && x->tag == RAW_SPAN;
    x->row = ours ? NULL : protobuf_c_message_descriptor_get_field(f->type, x->tag);
    return NULL;
}

static unsigned wire_of(ProtobufCType t) {
    switch (t) {
    case PROTOBUF_C_TYPE_FIXED32:
    case PROTOBUF_C_TYPE_SFIXED32:
    case PROTOBUF_C_TYPE_FLOAT: return WIRE_32;
    case PROTOBUF_C_TYPE_FIXED64:
    case PROTOBUF_C_TYPE_SFIXED64:
    case PROTOBUF_C_TYPE_DOUBLE: return WIRE_64;
    case PROTOBUF_C_TYPE_STRING:
    case PROTOBUF_C_TYPE_BYTES:
    case PROTOBUF_C_TYPE_MESSAGE: return WIRE_BYTES;
    default: return WIRE_VARINT;
    }
}

/* Does the file look like text? */
static bool is_text(const uint8_t *p, size_t n) {
    enum { LOOKED_AT = 64 };
    bool text = n > 0;
    for (size_t k = 0; k < n && k < LOOKED_AT; k++) text &= (p[k] >= ' ' && p[k] < 0x7f) || strchr("\t\r\n", p[k]);
    return text;
}
/* Can the first byte begin a field of the message? */
static bool begins_as(const ProtobufCMessageDescriptor *root, uint8_t first) {
    const ProtobufCFieldDescriptor *row = protobuf_c_message_descriptor_get_field(root, first >> 3);
    return row && wire_of(row->type) == (first & 7u);
}
/* The error in the user's terms; the byte offset is for those who examine the file. */
static const char *headline(const struct scan *s) {
    const struct frame *f = &s->frames[s->depth ? s->depth - 1 : 0];
    size_t size = s->frames[0].end;
    if (is_text(s->data, size)) return "is text, no";
    if (!size || !begins_as(s->frames[0].type, *s->data)) return "is no";
    return f->end == size && s->short_of ? "ends too early for an" : "is a damaged";
}
static bool fail(struct scan *s, enum diag_code code, size_t at, const char *what) {
    const char *in = type_name(s->frames[s->depth ? s->depth - 1 : 0].type), *root = type_name(s->frames[0].type);
    if (code == E_ONNX)
        diag(s->diags, DIAG_ERROR, code, "the file %s ONNX %s (byte %zu, in %s: %s)", headline(s),
             !strcmp(root, "ModelProto") ? "model" : "value", at, in, what);
    else diag(s->diags, DIAG_ERROR, code, "byte %zu, in %s: %s", at, in, what);
    return false;
}

/* Packed numbers fill their field exactly. */
static const char *check_packed(const struct scan *s, const struct field *x, unsigned wire) {
    size_t n = x->end - x->payload, at = x->payload;
    if (wire == WIRE_32 || wire == WIRE_64)
        return n % (wire == WIRE_32 ? 4 : 8) ? "packed numbers end within a number" : NULL;
    uint64_t v;
    const char *wrong = NULL;
    while (at < x->end && !wrong) wrong = read_varint(s->data, &at, x->end, &v);
    return wrong;
}

static const char *check_field(const struct scan *s, struct frame *f, const struct field *x) {
    const ProtobufCFieldDescriptor *row = x->row;
    unsigned wire = wire_of(row->type);
    if (row->label == PROTOBUF_C_LABEL_REPEATED) {
        if (x->wire == WIRE_BYTES && wire != WIRE_BYTES) return check_packed(s, x, wire);
    } else {
        size_t place = (size_t)(row - f->type->fields);
        ASSERT(place < 64);
        if (f->seen >> place & 1) return "a field that may come once comes twice";
        f->seen |= 1ull << place;
    }
    if (x->wire != wire) return "a field has the wrong wire type";
    if (row->type == PROTOBUF_C_TYPE_STRING && memchr(s->data + x->payload, 0, x->end - x->payload))
        return "a string contains a NUL byte";
    return NULL;
}

static bool is_message(const struct field *x) { return x->row && x->row->type == PROTOBUF_C_TYPE_MESSAGE; }

static bool is_large_raw(const struct frame *f, const struct field *x) {
    return f->type == &onnx__tensor_proto__descriptor && x->tag == RAW_DATA && x->end - x->payload > RAW_KEPT;
}

/* Tag and length in front of a message. */
static size_t head_size(unsigned tag, size_t n) {
    return (size_t)varint_size((uint64_t)tag << 3) + (size_t)varint_size(n);
}

static bool open_message(struct scan *s, const ProtobufCMessageDescriptor *type, unsigned tag, size_t at, size_t end) {
    int limit = s->limits->depth < PRESCAN_DEPTH ? s->limits->depth : PRESCAN_DEPTH;
    if (s->depth == limit) return fail(s, E_LIMIT, at, "messages are nested too deeply");
    if (s->sizes.n >= s->limits->messages) return fail(s, E_LIMIT, at, "too many messages");
    s->frames[s->depth++] = (struct frame){.type = type, .end = end, .number = s->sizes.n, .tag = tag};
    PUSH(s->arena, &s->sizes, 0);
    return true;
}

static void close_message(struct scan *s) {
    struct frame *f = &s->frames[--s->depth];
    s->sizes.v[f->number] = f->compact;
    if (s->depth) s->frames[s->depth - 1].compact += head_size(f->tag, f->compact) + f->compact;
}

/* Checks everything and computes the sizes. */
static bool measure(struct scan *s, size_t size, const ProtobufCMessageDescriptor *root) {
    size_t at = 0;
    s->frames[0].type = root; /* for fail() before the first message is open */
    s->depth = 0;
    if (!open_message(s, root, 0, 0, size)) return false;
    while (s->depth) {
        struct frame *f = &s->frames[s->depth - 1];
        if (at == f->end) {
            close_message(s);
            continue;
        }
        struct field x;
        const char *wrong = read_field(s, f, at, &x);
        if (!wrong && x.row) wrong = check_field(s, f, &x);
        s->short_of = wrong == behind_end || wrong == cut_off;
        if (wrong) return fail(s, E_ONNX, at, wrong);
        if (++s->fields > s->limits->fields) return fail(s, E_LIMIT, at, "too many fields");
        if (is_message(&x)) {
            if (!open_message(s, x.row->descriptor, x.tag, at, x.end)) return false;
            at = x.payload;
            continue;
        }
        if (is_large_raw(f, &x)) {
            PUSH(s->arena, s->spans, ((struct raw_span){x.payload, x.end - x.payload}));
            f->compact += (size_t)varint_size(RAW_SPAN << 3) + (size_t)varint_size((uint64_t)s->spans->n);
        } else if (x.row) {
            f->compact += x.end - x.start;
        }
        at = x.end;
    }
    return true;
}

/* The same walk again, over bytes now known to be well formed. */
static uint8_t *write_compact(struct scan *s, size_t size, const ProtobufCMessageDescriptor *root, uint8_t *p) {
    size_t at = 0;
    int opened = 1;
    uint64_t span = 0;
    s->frames[0] = (struct frame){.type = root, .end = size};
    s->depth = 1;
    while (s->depth) {
        struct frame *f = &s->frames[s->depth - 1];
        if (at == f->end) {
            s->depth--;
            continue;
        }
        struct field x;
        const char *wrong = read_field(s, f, at, &x);
        ASSERT(!wrong);
        if (is_message(&x)) {
            p = put_varint(p, (uint64_t)x.tag << 3 | WIRE_BYTES);
            p = put_varint(p, s->sizes.v[opened++]);
            s->frames[s->depth++] = (struct frame){.type = x.row->descriptor, .end = x.end};
            at = x.payload;
            continue;
        }
        if (is_large_raw(f, &x)) {
            p = put_varint(p, RAW_SPAN << 3 | WIRE_VARINT);
            p = put_varint(p, ++span);
        } else if (x.row) {
            memcpy(p, s->data + x.start, x.end - x.start);
            p += x.end - x.start;
        }
        at = x.end;
    }
    return p;
}

bool prescan(struct diags *d, struct arena *a, const uint8_t *data, size_t size, const ProtobufCMessageDescriptor *root,
             const struct prescan_limits *limits, struct compact *out) {
    *out = (struct compact){.spans.file = data};
    struct scan s = {.diags = d, .arena = a, .data = data, .spans = &out->spans};
    s.limits = limits ? limits : &prescan_default_limits;
    if (!measure(&s, size, root)) return false;
    out->n = s.sizes.v[0];
    if (out->n > s.limits->compact_bytes)
        return diag(d, DIAG_ERROR, E_LIMIT, "%s without its large tensors has %zu bytes; at most %zu are read",
                    type_name(root), out->n, s.limits->compact_bytes),
               false;
    out->bytes = arena_alloc(a, out->n);
    uint8_t *end = write_compact(&s, size, root, out->bytes);
    ASSERT(end == out->bytes + out->n);
    return true;
}

static void *allocate(void *a, size_t size) { return arena_alloc(a, size); }
static void release(void *a, void *p) { (void)a, (void)p; }

void *onnx_unpack(struct diags *d, struct arena *a, const uint8_t *data, size_t size,
                  const ProtobufCMessageDescriptor *root, struct raw_spans *spans) {
    struct compact c;
    if (!prescan(d, a, data, size, root, NULL, &c)) return NULL;
    *spans = c.spans;
    ProtobufCAllocator alloc = {allocate, release, a};
    void *m = protobuf_c_message_unpack(root, &alloc, c.n, c.bytes);
    if (!m) diag(d, DIAG_ERROR, E_ONNX, "the protobuf message cannot be read as %s", type_name(root));
    return m;
}

bool onnx_raw_data(const Onnx__TensorProto *t, const struct raw_spans *spans, const uint8_t **p, size_t *n,
                   bool *mapped) {
    *mapped = t->has_raw_span;
    if (t->has_raw_span) {
        ASSERT(t->raw_span >= 1 && t->raw_span <= (uint64_t)spans->n);
        const struct raw_span *s = &spans->v[t->raw_span - 1];
        *p = spans->file + s->offset;
        *n = s->length;
        return true;
    }
    *p = t->raw_data.data;
    *n = t->raw_data.len;
    return t->has_raw_data;
}
