/* The scan of ONNX bytes: what it refuses, what it leaves out, and that nothing hostile gets through to protobuf-c. */
#include "compiler/import/prescan.h"
#include "onnx_writer.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct arena arena;

/* The message may be filled again. */
static void put_message(struct text *t, int field, struct text *m) {
    w_msg(t, field, *m);
    *m = (struct text){0};
}

/* A tensor [n] of u8, filled with one byte; its raw_data stands before its dims on purpose. */
static struct text tensor(const char *name, size_t n, int fill) {
    struct text t = {0};
    char *raw = malloc(n);
    memset(raw, fill, n);
    w_bytes(&t, 9, raw, n);
    free(raw);
    w_int(&t, 1, (int64_t)n);
    w_int(&t, 2, 2);
    w_str(&t, 8, name);
    return t;
}

/* A model with two nodes, one with a tensor attribute, initializers of all sizes and a typed input. The initializers
 * come between the nodes, so that the order of bytes is not the order of the tree. */
static struct text model(void) {
    struct text m = {0}, g = {0}, n = {0}, a = {0}, t, vi = {0}, ty = {0}, tt = {0}, sh = {0}, dim = {0}, op = {0};
    w_str(&n, 1, "x");
    w_str(&n, 2, "y");
    w_str(&n, 4, "Constant");
    w_str(&a, 1, "value");
    t = tensor("attribute", 5000, 3);
    put_message(&a, 5, &t);
    w_int(&a, 20, 4);
    w_bytes(&a, 7, "\0\0\x80\x3f\0\0\0\x40", 8);
    w_bytes(&a, 8, "\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    put_message(&n, 5, &a);
    t = tensor("first", 2000, 1);
    put_message(&g, 5, &t);
    put_message(&g, 1, &n);
    t = tensor("small", RAW_KEPT, 2);
    put_message(&g, 5, &t);
    t = tensor("last", RAW_KEPT + 1, 4);
    put_message(&g, 5, &t);
    w_int(&dim, 1, 7);
    put_message(&sh, 1, &dim);
    w_str(&dim, 2, "batch");
    put_message(&sh, 1, &dim);
    w_int(&tt, 1, 1);
    put_message(&tt, 2, &sh);
    put_message(&ty, 1, &tt);
    w_str(&vi, 1, "x");
    put_message(&vi, 2, &ty);
    put_message(&g, 11, &vi);
    w_str(&g, 2, "graph");
    w_int(&m, 1, 10);
    w_str(&m, 2, "producer");
    w_str(&m, 77, "unknown field");
    put_message(&m, 7, &g);
    w_str(&op, 1, "");
    w_int(&op, 2, 21);
    put_message(&m, 8, &op);
    return m;
}

static Onnx__ModelProto *unpack(const struct text *t, struct raw_spans *spans, struct diags *d) {
    /* An exact copy on the heap, so that a sanitizer sees every read beyond the end. */
    uint8_t *copy = malloc(t->n ? t->n : 1);
    memcpy(copy, t->s ? t->s : "", t->n);
    Onnx__ModelProto *m = onnx_unpack(d, &arena, copy, t->n, &onnx__model_proto__descriptor, spans);
    if (!m) free(copy);
    return m;
}

static void check_raw(const Onnx__TensorProto *t, const struct raw_spans *spans, const char *name, size_t n, int fill,
                      bool mapped) {
    const uint8_t *p;
    size_t size;
    bool is_mapped;
    cr_assert_str_eq(t->name, name);
    cr_assert(onnx_raw_data(t, spans, &p, &size, &is_mapped));
    cr_assert_eq(size, n);
    cr_assert_eq(is_mapped, mapped);
    for (size_t i = 0; i < n; i++) cr_assert_eq(p[i], fill);
}

Test(prescan, large_payloads_stay_in_the_file) {
    struct diags d = {.arena = &arena};
    struct raw_spans spans;
    struct text t = model();
    Onnx__ModelProto *m = unpack(&t, &spans, &d);
    cr_assert_not_null(m);
    Onnx__GraphProto *g = m->graph;
    cr_assert_eq(m->ir_version, 10);
    cr_assert_eq(m->opset_import[0]->version, 21);
    cr_assert_eq(m->base.n_unknown_fields, 0u);
    cr_assert_eq(g->n_initializer, 3u);
    cr_assert_eq(spans.n, 3);
    check_raw(g->initializer[0], &spans, "first", 2000, 1, true);
    check_raw(g->initializer[1], &spans, "small", RAW_KEPT, 2, false);
    check_raw(g->initializer[2], &spans, "last", RAW_KEPT + 1, 4, true);
    Onnx__AttributeProto *a = g->node[0]->attribute[0];
    check_raw(a->t, &spans, "attribute", 5000, 3, true);
    cr_assert_eq(a->n_floats, 2u);
    cr_assert_eq(a->floats[1], 2.0f);
    cr_assert_eq(a->n_ints, 2u);
    cr_assert_eq(a->ints[1], -1);
    cr_assert_str_eq(g->input[0]->type->tensor_type->shape->dim[1]->dim_param, "batch");
    cr_assert_eq(g->input[0]->type->tensor_type->shape->dim[0]->dim_value, 7);

    struct compact c;
    cr_assert(prescan(&d, &arena, (uint8_t *)t.s, t.n, &onnx__model_proto__descriptor, NULL, &c));
    cr_assert_lt(c.n, t.n - 8000);
    text_free(&t);
}

/* Cut anywhere, only whole top-level fields pass: 4 of them are known, then comes the graph. */
Test(prescan, cut_at_every_byte) {
    struct text t = model();
    struct arena a = {0};
    int passed = 0;
    for (size_t n = 0; n < t.n; n++) {
        struct diags d = {.arena = &a};
        uint8_t *copy = malloc(n ? n : 1);
        memcpy(copy, t.s, n);
        struct raw_spans spans;
        bool ok = onnx_unpack(&d, &a, copy, n, &onnx__model_proto__descriptor, &spans) != NULL;
        passed += ok;
        cr_assert_eq(ok, d.errors == 0);
        free(copy);
        arena_free(&a);
    }
    cr_assert_eq(passed, 5); /* nothing, ir_version, producer, unknown, graph */
    text_free(&t);
}

/* Every byte replaced by awkward values: whatever the scan lets through, protobuf-c must accept. */
Test(prescan, every_byte_replaced) {
    static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0x0b, 0x3a, 0x2a};
    struct text t = model();
    struct arena a = {0};
    int refused = 0;
    for (size_t i = 0; i<t.n; i += i> 200 && i < 4900 ? 97 : 1) /* the middle is payload */
        for (size_t k = 0; k < sizeof values; k++) {
            struct diags d = {.arena = &a};
            char before = t.s[i];
            t.s[i] = (char)values[k];
            struct compact c;
            if (prescan(&d, &a, (uint8_t *)t.s, t.n, &onnx__model_proto__descriptor, NULL, &c)) {
                Onnx__ModelProto *m = onnx__model_proto__unpack(NULL, c.n, c.bytes);
                cr_assert_not_null(m, "byte %zu = %02x", i, values[k]);
                onnx__model_proto__free_unpacked(m, NULL);
            } else {
                cr_assert_eq(d.errors, 1);
                refused++;
            }
            t.s[i] = before;
            arena_free(&a);
        }
    cr_assert_gt(refused, 500);
    text_free(&t);
}

/* seq<seq<seq<...>>>: two messages a level. */
static struct text nested_type(int levels) {
    struct text inner = {0};
    for (int i = 0; i < levels; i++) {
        struct text seq = {0}, outer = {0};
        put_message(&seq, 1, &inner);
        put_message(&outer, 4, &seq);
        inner = outer;
    }
    return inner;
}

static bool accepts(const ProtobufCMessageDescriptor *root, const void *p, size_t n, struct diags *d) {
    struct compact c;
    return prescan(d, &arena, p, n, root, NULL, &c);
}

Test(prescan, depth) {
    struct diags d = {.arena = &arena};
    struct text fits = nested_type(49), deep = nested_type(50), bomb = nested_type(5000);
    cr_assert(accepts(&onnx__type_proto__descriptor, fits.s, fits.n, &d));
    cr_assert_not(accepts(&onnx__type_proto__descriptor, deep.s, deep.n, &d));
    cr_assert_not(accepts(&onnx__type_proto__descriptor, bomb.s, bomb.n, &d));
    cr_assert_eq(d.v[0].code, E_LIMIT);
    text_free(&fits);
    text_free(&deep);
    text_free(&bomb);
}

Test(prescan, counts) {
    struct diags d = {.arena = &arena};
    struct text t = {0}, empty = {0};
    for (int i = 0; i < 100; i++) put_message(&t, 7, &empty); /* attribute_proto-less nodes */
    struct compact c;
    const ProtobufCMessageDescriptor *root = &onnx__function_proto__descriptor;
    struct prescan_limits ok = {100, 101, 100, 200}, messages = {100, 100, 100, 200}, fields = {100, 101, 99, 200},
                          bytes = {100, 101, 100, 199};
    cr_assert(prescan(&d, &arena, (uint8_t *)t.s, t.n, root, &ok, &c));
    cr_assert_not(prescan(&d, &arena, (uint8_t *)t.s, t.n, root, &messages, &c));
    cr_assert_not(prescan(&d, &arena, (uint8_t *)t.s, t.n, root, &fields, &c));
    cr_assert_not(prescan(&d, &arena, (uint8_t *)t.s, t.n, root, &bytes, &c));
    for (int i = 0; i < 3; i++) cr_assert_eq(d.v[i].code, E_LIMIT);
    text_free(&t);
}

/* Bytes of a TensorProto, and what the message must say; NULL: accepted. */
static const struct {
    const char *bytes;
    size_t n;
    const char *says;
} cases[] = {
    {"", 0, NULL},
    {"\x08\x01", 2, NULL},         /* dims, one at a time */
    {"\x0a\x02\x01\x02", 4, NULL}, /* dims packed */
    {"\x22\x04\0\0\0\0", 6, NULL}, /* float_data packed */
    {"\x25\0\0\0\0", 5, NULL},     /* and not */
    {"\xc0\x3e\x01", 3, NULL},     /* raw_span from outside: unknown, dropped */
    {"\x08", 1, "cut off"},
    {"\x08\x80", 2, "cut off"},
    {"\x80", 1, "cut off"},
    {"\x22\x03\0\0\0", 5, "packed numbers end within"},
    {"\x22\x08\0\0\0\0", 6, "a length exceeds"},
    {"\x0a\x02\x01\x82", 4, "cut off"},
    {"\x25\0\0\0", 4, "cut off"},
    {"\x4a\x02\x01", 3, "a length exceeds"}, /* by one byte */
    {"\x4a\x01\x01", 3, NULL},
    {"\x4a\xff\xff\xff\xff\x07", 6, "a length exceeds"},                      /* INT_MAX */
    {"\x4a\x80\x80\x80\x80\x08", 6, "a length exceeds"},                      /* INT_MAX + 1 */
    {"\x4a\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 10, "a length exceeds"},     /* INT64_MAX */
    {"\x4a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, "a length exceeds"}, /* UINT64_MAX */
    {"\x4a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 11, "more than 64 bits"},
    {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11, NULL}, /* a dim of -1: not ours to judge */
    {"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x80\x01", 12, "more than 64 bits"},
    {"\x02\x00", 2, "field number"},
    {"\xfa\xff\xff\xff\x7f\x00", 6, "field number"},
    {"\x0b\x0c", 2, "wire type"},         /* a group */
    {"\xfb\x04\xfc\x04", 4, "wire type"}, /* a group in an unknown field */
    {"\x0f", 1, "wire type"},
    {"\x10\x01\x10\x02", 4, "comes twice"},
    {"\x12\x01\x01", 3, "wrong wire type"}, /* data_type as bytes */
    {"\x48\x01", 2, "wrong wire type"},     /* raw_data as a number */
    {"\x42\x03"
     "a\0b",
     5, "NUL"},
    {"\x32\x03"
     "a\0b",
     5, NULL}, /* string_data may */
};

Test(prescan, wire_format) {
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct diags d = {.arena = &arena};
        struct raw_spans spans;
        uint8_t *copy = malloc(cases[i].n + 1);
        memcpy(copy, cases[i].bytes, cases[i].n);
        copy = realloc(copy, cases[i].n ? cases[i].n : 1);
        Onnx__TensorProto *t = onnx_unpack(&d, &arena, copy, cases[i].n, &onnx__tensor_proto__descriptor, &spans);
        free(copy);
        if (!cases[i].says) {
            cr_assert_not_null(t, "case %zu: %s", i, d.n ? d.v[0].message : "");
            cr_assert_not(t->has_raw_span);
            cr_assert_eq(t->base.n_unknown_fields, 0u);
        } else {
            cr_assert_null(t, "case %zu", i);
            cr_assert_not_null(strstr(d.v[0].message, cases[i].says), "case %zu: %s", i, d.v[0].message);
            cr_assert_not_null(strstr(d.v[0].message, "in TensorProto"));
        }
    }
}

Test(prescan, says_where) {
    struct diags d = {.arena = &arena, .file = "m.onnx"};
    struct text t = {0}, g = {0}, n = {0};
    w_str(&n, 1, "x");
    w_int(&n, 1, 3); /* an input as a number */
    w_int(&t, 1, 10);
    put_message(&g, 1, &n);
    put_message(&t, 7, &g);
    cr_assert_not(accepts(&onnx__model_proto__descriptor, t.s, t.n, &d));
    cr_assert_str_eq(d.v[0].message,
                     "the file is a damaged ONNX model (byte 9, in NodeProto: a field has the wrong wire type)");
    cr_assert_eq(d.v[0].code, E_ONNX);
    text_free(&t);
}
