/* Tensors in and out of TensorProto and .npy: every type from every field, wrong counts, values, hostile headers. */
#include "compiler/import/tensor_io.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct arena arena;
static const struct raw_spans no_spans;

static Onnx__TensorProto proto(enum dtype t, int64_t *dims, size_t n) {
    Onnx__TensorProto p = ONNX__TENSOR_PROTO__INIT;
    p.has_data_type = 1;
    p.data_type = dtype_onnx(t);
    p.dims = dims;
    p.n_dims = n;
    p.name = "w";
    return p;
}

static struct tensor *convert(struct diags *d, const Onnx__TensorProto *p) {
    *d = (struct diags){.arena = &arena};
    struct tensor_reader r = {.diags = d, .arena = &arena, .spans = &no_spans};
    return tensor_from_proto(&r, p);
}

static void refused(const Onnx__TensorProto *p, enum diag_code code, const char *says) {
    struct diags d;
    cr_assert_null(convert(&d, p), "expected: %s", says);
    cr_assert_eq(d.errors, 1);
    cr_assert_eq(d.v[0].code, code, "%s", d.v[0].message);
    cr_assert_not_null(strstr(d.v[0].message, says), "%s", d.v[0].message);
    cr_assert_not_null(strstr(d.v[0].message, "\"w\""));
}

Test(from_proto, int32_data) {
    static const struct {
        enum dtype t;
        int32_t lo, hi;
        double as_lo, as_hi;
    } rows[] = {
        {I8, -128, 127, -128, 127},
        {U8, 0, 255, 0, 255},
        {I16, -32768, 32767, -32768, 32767},
        {U16, 0, 65535, 0, 65535},
        {I32, INT32_MIN, INT32_MAX, INT32_MIN, INT32_MAX},
        {BOOL, 0, 1, 0, 1},
        {F16, 0x3c00, 0xc000, 1, -2},
        {BF16, 0x3f80, 0xc000, 1, -2},
        {F8E4M3FN, 0x38, 0xc0, 1, -2},
        {F8E5M2, 0x3c, 0xc0, 1, -2},
        {F8E4M3FNUZ, 0x40, 0xc8, 1, -2},
        {F8E5M2FNUZ, 0x40, 0xc4, 1, -2},
        {F8E8M0, 127, 128, 1, 2},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t dims[] = {2, 1};
        int32_t values[2] = {rows[i].lo, rows[i].hi};
        Onnx__TensorProto p = proto(rows[i].t, dims, 2);
        p.int32_data = values;
        p.n_int32_data = 2;
        struct diags d;
        struct tensor *t = convert(&d, &p);
        cr_assert_not_null(t, "%s", dtype_name(rows[i].t));
        cr_assert(t->rank == 2 && t->dims[0] == 2 && t->type == rows[i].t);
        cr_assert_str_eq(t->name, "w");
        cr_assert_eq(tensor_f(t, 0), rows[i].as_lo, "%s", dtype_name(rows[i].t));
        cr_assert_eq(tensor_f(t, 1), rows[i].as_hi, "%s", dtype_name(rows[i].t));
        if (rows[i].t == I32) continue;
        values[1] = 70000;
        refused(&p, E_ONNX, "does not fit its type");
        values[1] = -40000;
        refused(&p, E_ONNX, "does not fit its type");
    }
}

Test(from_proto, sub_byte_types_are_packed) {
    static const struct {
        enum dtype t;
        int32_t bytes[2];
        int n;
        double v[3];
    } rows[] = {
        {U4, {0x21, 0x03}, 2, {1, 2, 3}}, {I4, {0xf1, 0x08}, 2, {1, -1, -8}}, {F4E2M1, {0x21, 0x0f}, 2, {0.5, 1, -6}},
        {U2, {0x39}, 1, {1, 2, 3}},       {I2, {0x39}, 1, {1, -2, -1}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        int64_t dims[] = {3};
        int32_t values[2] = {rows[i].bytes[0], rows[i].bytes[1]};
        Onnx__TensorProto p = proto(rows[i].t, dims, 1);
        p.int32_data = values;
        p.n_int32_data = (size_t)rows[i].n;
        struct diags d;
        struct tensor *t = convert(&d, &p);
        cr_assert_not_null(t);
        uint8_t raw[2] = {(uint8_t)values[0], (uint8_t)values[1]};
        Onnx__TensorProto q = proto(rows[i].t, dims, 1);
        q.has_raw_data = 1;
        q.raw_data = (ProtobufCBinaryData){(size_t)rows[i].n, raw};
        struct tensor *u = convert(&d, &q);
        for (int k = 0; k < 3; k++) {
            cr_assert_eq(tensor_f(t, k), rows[i].v[k], "%s %d", dtype_name(rows[i].t), k);
            cr_assert_eq(tensor_f(u, k), rows[i].v[k]);
        }
        p.n_int32_data = 3;
        refused(&p, E_ONNX, "elements in int32_data");
        values[0] = 256;
        p.n_int32_data = (size_t)rows[i].n;
        refused(&p, E_ONNX, "does not fit its type");
    }
}

Test(from_proto, wide_fields) {
    struct diags d;
    int64_t two[] = {2}, one[] = {1};
    float floats[] = {1.5f, -2};
    double doubles[] = {0.1, -2};
    int64_t longs[] = {INT64_MIN, 5};
    uint64_t ulongs[] = {UINT64_MAX, 7};
    Onnx__TensorProto p = proto(F32, two, 1);
    p.float_data = floats;
    p.n_float_data = 2;
    cr_assert_eq(tensor_f(convert(&d, &p), 1), -2);
    p = proto(C64, one, 1);
    p.float_data = floats;
    p.n_float_data = 2;
    struct tensor *t = convert(&d, &p);
    cr_assert(t && t->nbytes == 8 && memcmp(t->bytes, floats, 8) == 0);
    p.dims = two;
    refused(&p, E_ONNX, "2 elements in float_data, but its shape needs 4");
    p = proto(F64, two, 1);
    p.double_data = doubles;
    p.n_double_data = 2;
    cr_assert_eq(tensor_f(convert(&d, &p), 0), 0.1);
    p = proto(C128, one, 1);
    p.double_data = doubles;
    p.n_double_data = 2;
    t = convert(&d, &p);
    cr_assert(t && t->nbytes == 16 && memcmp(t->bytes, doubles, 16) == 0);
    p = proto(I64, two, 1);
    p.int64_data = longs;
    p.n_int64_data = 2;
    cr_assert_eq(tensor_i(convert(&d, &p), 0), INT64_MIN);
    p = proto(U64, two, 1);
    p.uint64_data = ulongs;
    p.n_uint64_data = 2;
    cr_assert_eq(tensor_f(convert(&d, &p), 0), 0x1p64);
    p.data_type = dtype_onnx(U32);
    refused(&p, E_ONNX, "does not fit its type");
    ulongs[0] = UINT32_MAX;
    cr_assert_eq(tensor_i(convert(&d, &p), 0), UINT32_MAX);
    p = proto(STR, two, 1);
    ProtobufCBinaryData strings[] = {{3, (uint8_t *)"a\0b"}, {0, NULL}};
    p.string_data = strings;
    p.n_string_data = 2;
    t = convert(&d, &p);
    cr_assert(t->strs[0].n == 3 && memcmp(t->strs[0].p, "a\0b", 3) == 0 && t->strs[1].n == 0);
}

Test(from_proto, shapes_and_sources) {
    struct diags d;
    int64_t one[] = {1}, negative[] = {2, -1}, huge[] = {INT64_C(1) << 40, INT64_C(1) << 30},
            hidden[] = {0, INT64_C(1) << 62, 4}, none[] = {3, 0};
    int64_t many[33];
    float f = 1;
    uint8_t raw[] = {0, 0, 0x80, 0x3f};
    for (int i = 0; i < 33; i++) many[i] = 1;
    Onnx__TensorProto p = proto(F32, negative, 2);
    refused(&p, E_SIZE, "negative");
    p = proto(F32, huge, 2);
    refused(&p, E_SIZE, "exceeds");
    p = proto(F32, hidden, 3);
    refused(&p, E_SIZE, "exceeds");
    p = proto(F32, many, 33);
    refused(&p, E_SIZE, "32 dimensions");
    p = proto(F32, one, 1);
    refused(&p, E_ONNX, "0 elements in float_data, but its shape needs 1");
    p.data_type = 999;
    refused(&p, E_TYPE, "unknown element type");
    p = proto(F32, none, 2);
    struct tensor *t = convert(&d, &p);
    cr_assert(t && tensor_count(t) == 0 && t->nbytes == 0);
    p = proto(F32, NULL, 0);
    p.float_data = &f;
    p.n_float_data = 1;
    cr_assert_eq(tensor_f(convert(&d, &p), 0), 1);
    p.has_raw_data = 1;
    p.raw_data = (ProtobufCBinaryData){4, raw};
    refused(&p, E_ONNX, "more than one field");
    p.n_float_data = 0;
    cr_assert_eq(tensor_f(convert(&d, &p), 0), 1);
    p.raw_data.len = 3;
    refused(&p, E_ONNX, "3 bytes of raw_data, but type and shape need 4");
    p.raw_data.len = 4;
    p.data_type = dtype_onnx(STR);
    refused(&p, E_ONNX, "strings");
    p.has_raw_data = 0;
    p.data_type = dtype_onnx(F64);
    p.n_float_data = 1;
    refused(&p, E_ONNX, "field of another type");
    p.n_float_data = 0;
    p.data_location = 1;
    refused(&p, E_EXTERNAL, "not allowed here");
    p.data_location = 2;
    refused(&p, E_ONNX, "location");
    p.data_location = 0;
    Onnx__TensorProto__Segment segment = ONNX__TENSOR_PROTO__SEGMENT__INIT;
    p.segment = &segment;
    refused(&p, E_ONNX, "segments");
    uint8_t odd[] = {0, 1, 2, 255};
    int64_t four[] = {4};
    p = proto(BOOL, four, 1);
    p.has_raw_data = 1;
    p.raw_data = (ProtobufCBinaryData){4, odd};
    cr_assert_eq(memcmp(convert(&d, &p)->bytes, "\0\1\1\1", 4), 0);
}

Test(from_proto, external) {
    char folder[] = "/tmp/gcc2nn-tensor-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    char file[64], model[64];
    snprintf(file, sizeof file, "%s/w.bin", folder);
    snprintf(model, sizeof model, "%s/m.onnx", folder);
    struct diags d = {.arena = &arena};
    struct file_set set;
    cr_assert(file_set_begin(&set, &d, folder) && file_set_add(&set, "w.bin", "xx\0\0\x80\x3f\0\0\0\x40", 10));
    cr_assert(file_set_commit(&set));
    struct external x;
    cr_assert(external_open(&x, &d, &arena, model));
    static const struct {
        const char *key[3], *value[3];
        const char *says;
    } rows[] = {
        {{"location", "offset", "length"}, {"w.bin", "2", "8"}, NULL},
        {{"offset", "location", "checksum"}, {"2", "w.bin", "0"}, NULL},
        {{"location", "offset", "length"}, {"w.bin", "3", "8"}, "ends before"},
        {{"location", "offset", "length"}, {"w.bin", "2", "7"}, "not what type and shape need"},
        {{"location", "offset", "length"}, {"w.bin", "-2", "8"}, "not a number"},
        {{"location", "offset", "length"}, {"w.bin", "99999999999999999999", "8"}, "not a number"},
        {{"location", "offset", "length"}, {"w.bin", "", "8"}, "not a number"},
        {{"location", "offset", "length"}, {"../w.bin", "2", "8"}, "`..`"},
        {{"offset", "offset", "offset"}, {"2", "2", "2"}, "no location"},
        {{"location", NULL, "length"}, {"w.bin", "2", "8"}, "no key"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        Onnx__StringStringEntryProto e[3], *pe[3];
        for (int k = 0; k < 3; k++) {
            onnx__string_string_entry_proto__init(&e[k]);
            e[k].key = (char *)(uintptr_t)rows[i].key[k];
            e[k].value = (char *)(uintptr_t)rows[i].value[k];
            pe[k] = &e[k];
        }
        int64_t dims[] = {2};
        Onnx__TensorProto p = proto(F32, dims, 1);
        p.data_location = 1;
        p.external_data = pe;
        p.n_external_data = 3;
        d = (struct diags){.arena = &arena};
        struct tensor_reader r = {.diags = &d, .arena = &arena, .spans = &no_spans, .external = &x};
        struct tensor *t = tensor_from_proto(&r, &p);
        if (!rows[i].says) {
            cr_assert(t && t->source == TS_MAPPED && tensor_f(t, 0) == 1 && tensor_f(t, 1) == 2, "row %zu", i);
        } else {
            cr_assert_null(t, "row %zu", i);
            cr_assert_not_null(strstr(d.v[0].message, rows[i].says), "%s", d.v[0].message);
            cr_assert_eq(d.v[0].code, E_EXTERNAL);
        }
    }
    external_close(&x);
    unlink(file);
    rmdir(folder);
}

/* A tensor of every type with some bytes in it; sub-byte types get no bits beyond their last element. */
static struct tensor *sample(enum dtype type, int64_t n) {
    int64_t dims[] = {n, 3};
    struct tensor *t = tensor_new(&arena, type, dims, 2);
    for (int64_t i = 0; type == STR && i < n * 3; i++)
        ((struct str_elem *)tensor_data(t))[i] =
            (struct str_elem){i % 2 ? "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80" : "plain", i % 2 ? 9 : 5};
    if (type == STR) return t;
    for (int64_t i = 0; dtype_bits(type) < 8 && i < n * 3; i++) tensor_set_i(t, i, i * 5 + 1);
    for (size_t i = 0; dtype_bits(type) >= 8 && i < t->nbytes; i++)
        ((uint8_t *)tensor_data(t))[i] = (uint8_t)(type == BOOL ? i % 2 : i * 37 + 1);
    return t;
}

static bool from_bytes(const struct text *t, enum value_kind kind, struct value_io *v) {
    struct diags d = {.arena = &arena};
    uint8_t *copy = arena_copy(&arena, t->s ? t->s : "", t->n);
    return value_from_proto(&d, &arena, copy, t->n, kind, v);
}

Test(to_proto, round_trip_of_every_type) {
    for (int type = NONE + 1; type < IDX; type++)
        for (int64_t n = 0; n < 2000; n = n * 30 + 1) {
            struct tensor *t = sample(type, n);
            t->name = "name";
            struct value_io v = {.kind = VALUE_TENSOR, .n = 1, .tensors = &t}, back;
            struct text out = {0};
            value_to_proto(&v, &out);
            cr_assert(from_bytes(&out, VALUE_TENSOR, &back), "%s", dtype_name(type));
            cr_assert(tensor_equal(t, back.tensors[0]), "%s", dtype_name(type));
            cr_assert_str_eq(back.name, "name");
            if (t->nbytes > RAW_KEPT && type != STR && type != BOOL) cr_assert_eq(back.tensors[0]->source, TS_MAPPED);
            text_free(&out);
        }
}

Test(to_proto, splats_are_written_out) {
    enum dtype types[] = {F32, U4, I2, STR, C128, BOOL};
    for (int i = 0; i < 6; i++) {
        struct tensor *one = sample(types[i], 1), *splat = NEW(&arena, struct tensor);
        *splat = *one;
        splat->source = TS_SPLAT;
        splat->dims[0] = 7;
        struct value_io v = {.kind = VALUE_TENSOR, .n = 1, .tensors = &splat}, back;
        struct text out = {0};
        value_to_proto(&v, &out);
        cr_assert(from_bytes(&out, VALUE_TENSOR, &back));
        cr_assert_eq(back.tensors[0]->source == TS_SPLAT, false);
        cr_assert(tensor_equal(splat, back.tensors[0]), "%s", dtype_name(types[i]));
        text_free(&out);
    }
}

Test(to_proto, sequences_and_optionals) {
    struct tensor *ts[] = {sample(F32, 1), sample(I64, 500), sample(F32, 0)};
    struct value_io in[] = {
        {VALUE_SEQUENCE, "s", true, 3, ts},
        {VALUE_SEQUENCE, NULL, true, 0, NULL},
        {VALUE_OPTIONAL, "o", true, 1, ts},
        {VALUE_OPTIONAL, NULL, false, 0, NULL},
        {VALUE_OPTIONAL_SEQUENCE, "os", true, 2, ts},
        {VALUE_OPTIONAL_SEQUENCE, NULL, true, 0, NULL},
        {VALUE_OPTIONAL_SEQUENCE, NULL, false, 0, NULL},
    };
    for (size_t i = 0; i < sizeof in / sizeof *in; i++) {
        struct text out = {0};
        struct value_io v;
        value_to_proto(&in[i], &out);
        cr_assert(from_bytes(&out, in[i].kind == VALUE_SEQUENCE ? VALUE_SEQUENCE : VALUE_OPTIONAL, &v), "%zu", i);
        cr_assert_eq(v.kind, in[i].kind, "%zu", i);
        cr_assert_eq(v.present, in[i].present, "%zu", i);
        cr_assert_eq(v.n, in[i].n, "%zu", i);
        cr_assert(in[i].name ? v.name && strcmp(v.name, in[i].name) == 0 : !v.name);
        for (int k = 0; k < v.n; k++) cr_assert(tensor_equal(v.tensors[k], ts[k]));
        text_free(&out);
    }
    struct text nested = {0};
    struct value_io v;
    text_addn(&nested, "\x2a\x00", 2); /* a sequence in a sequence */
    cr_assert_not(from_bytes(&nested, VALUE_SEQUENCE, &v));
    text_free(&nested);
}

static struct tensor *filled(enum dtype t, const int64_t *dims, int rank, const double *v) {
    struct tensor *r = tensor_new(&arena, t, dims, rank);
    for (int64_t k = 0; k < tensor_count(r); k++)
        if (t == I64) tensor_set_i(r, k, (int64_t)v[k]);
        else tensor_set_f(r, k, v[k]);
    return r;
}
Test(to_proto, maps_come_back_with_ascending_keys) {
    const int64_t n = 3, rows[] = {2, 3};
    struct tensor *mixed[] = {filled(I64, &n, 1, (double[]){7, -1, 3}),
                              filled(F32, rows, 2, (double[]){1, 2, 3, 4, 5, 6})};
    struct tensor *keys = filled(I64, &n, 1, (double[]){-1, 3, 7}), *row = filled(F32, &n, 1, (double[]){2, 3, 1}),
                  *both = filled(F32, rows, 2, (double[]){2, 3, 1, 5, 6, 4});
    for (enum value_kind kind = VALUE_MAP; kind <= VALUE_MAPS; kind++) {
        struct value_io in = {kind, "m", true, 2, mixed}, v;
        struct text out = {0};
        value_to_proto(&in, &out);
        cr_assert(from_bytes(&out, kind, &v));
        cr_assert_str_eq(v.name, "m");
        cr_assert(v.n == 2 && tensor_equal(v.tensors[0], keys));
        cr_assert(tensor_equal(v.tensors[1], kind == VALUE_MAP ? row : both));
        text_free(&out);
    }
    struct tensor *twice[] = {filled(I64, &n, 1, (double[]){7, 3, 7}), row};
    struct value_io in = {VALUE_MAP, NULL, true, 2, twice}, v;
    struct text out = {0}, no_values = {0};
    value_to_proto(&in, &out);
    cr_assert_not(from_bytes(&out, VALUE_MAP, &v));
    text_addn(&no_values, "\x18\x05", 2); /* a key */
    cr_assert_not(from_bytes(&no_values, VALUE_MAP, &v));
    text_free(&out);
    text_free(&no_values);
}

/* --- .npy --- */

static struct tensor *npy(const char *head, const void *data, size_t n, enum dtype want, struct diags *d) {
    struct text t = {0};
    text_addn(&t, "\x93NUMPY\x01\x00", 8);
    text_char(&t, (char)strlen(head));
    text_char(&t, 0);
    text_add(&t, head);
    text_addn(&t, data, n);
    uint8_t *copy = malloc(t.n);
    memcpy(copy, t.s, t.n);
    *d = (struct diags){.arena = &arena};
    struct tensor *x = tensor_from_npy(d, &arena, copy, t.n, want);
    free(copy); /* what is returned does not point there */
    text_free(&t);
    return x;
}

Test(npy, reads_what_numpy_writes) {
    struct diags d;
    float v[] = {0, 1, 2, 3, 4, 5};
    struct tensor *t = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }   \n", v, sizeof v, NONE, &d);
    cr_assert(t && t->type == F32 && t->rank == 2 && t->dims[0] == 2 && t->dims[1] == 3 && tensor_f(t, 5) == 5);
    t = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }\n", v, sizeof v, NONE, &d);
    for (int i = 0; i < 6; i++) cr_assert_eq(tensor_f(t, i), (double)(i % 3 * 2 + i / 3));
    t = npy("{\"shape\": (6L,), \"descr\": \"<f4\", \"fortran_order\": False}", v, sizeof v, NONE, &d);
    cr_assert(t && t->rank == 1 && t->dims[0] == 6);
    t = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (), }", v, 4, NONE, &d);
    cr_assert(t && t->rank == 0 && tensor_count(t) == 1);
    t = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (0, 5), }", v, 0, NONE, &d);
    cr_assert(t && tensor_count(t) == 0);
    t = npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", "\0\1\2", 3, NONE, &d);
    cr_assert(t && t->type == BOOL && tensor_i(t, 2) == 1);
    t = npy("{'descr': '<V2', 'fortran_order': False, 'shape': (1,), }", "\x80\x3f", 2, BF16, &d);
    cr_assert(t && t->type == BF16 && tensor_f(t, 0) == 1);
    t = npy("{'descr': '|i1', 'fortran_order': True, 'shape': (1, 3), }", "\x01\xff\xf8", 3, I4, &d);
    cr_assert(t && t->type == I4 && tensor_i(t, 1) == -1 && tensor_i(t, 2) == -8);
    t = npy("{'descr': '|S3', 'fortran_order': False, 'shape': (2,), }", "abcd\0\0", 6, NONE, &d);
    cr_assert(t && t->type == STR && t->strs[0].n == 3 && t->strs[1].n == 1 && t->strs[1].p[0] == 'd');
    t = npy("{'descr': '<U2', 'fortran_order': False, 'shape': (1,), }", "\xac\x20\0\0\0\0\0\0", 8, STR, &d);
    cr_assert(t && t->strs[0].n == 3 && memcmp(t->strs[0].p, "\xe2\x82\xac", 3) == 0);
}

Test(npy, fortran_order_of_three_axes) {
    struct diags d;
    uint8_t v[24];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++) v[i + 2 * j + 6 * k] = (uint8_t)(i * 100 + j * 10 + k);
    struct tensor *t = npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }", v, 24, NONE, &d);
    for (int i = 0; i < 24; i++) cr_assert_eq(tensor_i(t, i), i / 12 * 100 + i / 4 % 3 * 10 + i % 4);
}

Test(npy, refuses) {
    static const char *const heads[] = {
        "",
        "{",
        "{}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)",
        "{'descr': '<f4', 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }",
        "{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f3', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
        "{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4294967296), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1), }",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }",
        "{'descr': '|S0', 'fortran_order': False, 'shape': (99999999,), }",
        "{'descr': '<U1', 'fortran_order': False, 'shape': (2,), }",
        "{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1), }",
        "{'descr': '<U1', 'fortran_order': False, 'shape': (1,), }", /* the code point is beyond Unicode */
    };
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct diags d;
        cr_assert_null(npy(heads[i], "\xff\xff\xff\xff", 4, NONE, &d), "%s", heads[i]);
        cr_assert_eq(d.errors, 1);
        cr_assert_eq(d.v[0].code, E_FILE);
    }
    struct diags d;
    cr_assert_null(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "1234", 4, I32, &d));
    cr_assert_null(npy("{'descr': '<u2', 'fortran_order': False, 'shape': (1,), }", "1234", 4, I16, &d));
}

Test(npy, round_trip_of_every_type) {
    for (int type = NONE + 1; type < IDX; type++)
        for (int64_t n = 0; n < 100; n = n * 30 + 1) {
            struct diags d = {.arena = &arena};
            struct tensor *t = sample(type, n);
            struct text out = {0};
            cr_assert(tensor_to_npy(&d, t, &out));
            if (type != STR) cr_assert_eq((out.n - (size_t)(n * 3 * dtype_bytes(type))) % 64, 0, "aligned data");
            struct tensor *back = tensor_from_npy(&d, &arena, (uint8_t *)out.s, out.n, type);
            cr_assert_not_null(back, "%s", dtype_name(type));
            cr_assert(tensor_equal(t, back), "%s", dtype_name(type));
            text_free(&out);
        }
}

Test(npy, cut_at_every_byte) {
    struct diags d = {.arena = &arena};
    struct text out = {0};
    cr_assert(tensor_to_npy(&d, sample(F32, 2), &out));
    for (int version = 1; version <= 3; version++)
        for (size_t n = 0; n < out.n; n++) {
            uint8_t *copy = malloc(n ? n : 1);
            memcpy(copy, out.s, n);
            if (n > 6) copy[6] = (uint8_t)version;
            d.n = d.errors = 0;
            cr_assert_null(tensor_from_npy(&d, &arena, copy, n, NONE));
            cr_assert_eq(d.errors, 1);
            free(copy);
        }
    text_free(&out);
}

Test(files, read_and_write) {
    char folder[] = "/tmp/gcc2nn-value-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    const char *names[] = {"output_0.pb", "output_0.npy"};
    struct tensor *t = sample(BF16, 700);
    struct value_io v = {.kind = VALUE_TENSOR, .present = true, .n = 1, .tensors = &t}, back;
    for (int i = 0; i < 2; i++) {
        struct diags d = {.arena = &arena};
        struct mapped_file f;
        const char *path = arena_printf(&arena, "%s/%s", folder, names[i]);
        struct file_set set;
        cr_assert(file_set_begin(&set, &d, folder) && value_write(&set, names[i], &v) && file_set_commit(&set));
        cr_assert(value_read(&d, &arena, path, VALUE_TENSOR, BF16, &f, &back));
        cr_assert(tensor_equal(t, back.tensors[0]));
        file_unmap(&f);
        unlink(path);
        cr_assert_not(value_read(&d, &arena, path, VALUE_TENSOR, BF16, &f, &back));
        cr_assert_eq(d.v[0].code, E_FILE);
    }
    struct diags d = {.arena = &arena};
    v.n = 0;
    v.kind = VALUE_SEQUENCE;
    struct file_set set;
    cr_assert(file_set_begin(&set, &d, folder));
    cr_assert_not(value_write(&set, "x.npy", &v));
    file_set_abandon(&set);
    cr_assert_eq(rmdir(folder), 0);
}

/* Only counted: nobody has so much memory for a test. */
Test(files, too_large_for_protobuf) {
    struct tensor t = {.type = F32, .rank = 1}, *p = &t, *two[] = {&t, &t};
    struct value_io v = {.kind = VALUE_TENSOR, .present = true, .n = 1, .tensors = &p};
    t.dims[0] = (INT64_C(1) << 29) - 1024;
    cr_assert(value_fits_proto(&v));
    t.dims[0] = INT64_C(1) << 29;
    cr_assert_not(value_fits_proto(&v));
    t.dims[0] = INT64_C(1) << 40;
    cr_assert_not(value_fits_proto(&v));
    t.dims[0] = INT64_C(1) << 28;
    v.n = 2, v.tensors = two, v.kind = VALUE_SEQUENCE;
    cr_assert_not(value_fits_proto(&v));
}
