/* Constant tensors: sizes, element access for every type, equality over sources, unpacking. */
#include "ir/base/tensor.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct arena arena;

static struct tensor *vector(enum dtype t, int64_t n) { return tensor_new(&arena, t, &n, 1); }

Test(tensor, sizes) {
    cr_assert_eq(dtype_packed_bytes(I4, 3), 2);
    cr_assert_eq(dtype_packed_bytes(U2, 4), 1);
    cr_assert_eq(dtype_packed_bytes(U2, 5), 2);
    cr_assert_eq(dtype_packed_bytes(F4E2M1, INT64_MAX), INT64_MAX / 2 + 1);
    cr_assert_eq(dtype_packed_bytes(F64, 3), 24);
    cr_assert_eq(dtype_packed_bytes(C128, 3), 48);
    cr_assert_eq(dtype_packed_bytes(F64, INT64_MAX / 4), -1);
    cr_assert_eq(dtype_packed_bytes(U8, -1), -1);
    cr_assert_eq(dtype_packed_bytes(STR, 2), 32);
    int64_t huge[] = {0, INT64_C(1) << 40, INT64_C(1) << 40}, negative[] = {2, -1}, empty[] = {3, 0, 5}, one[1] = {1};
    cr_assert_null(tensor_new(&arena, F32, huge, 3));
    cr_assert_null(tensor_new(&arena, F32, huge + 1, 2));
    cr_assert_null(tensor_new(&arena, F32, negative, 2));
    cr_assert_null(tensor_new(&arena, F32, one, 33));
    struct tensor *t = tensor_new(&arena, F32, empty, 3);
    cr_assert_not_null(t);
    cr_assert_eq(tensor_count(t), 0);
    t = tensor_new(&arena, F32, NULL, 0);
    cr_assert_eq(tensor_count(t), 1);
    cr_assert_eq(t->nbytes, 4);
}

Test(tensor, integers_of_every_type) {
    static const struct {
        enum dtype t;
        int64_t lo, hi;
    } rows[] = {
        {I8, -128, 127},
        {U8, 0, 255},
        {I16, -32768, 32767},
        {U16, 0, 65535},
        {I32, INT32_MIN, INT32_MAX},
        {U32, 0, UINT32_MAX},
        {I64, INT64_MIN, INT64_MAX},
        {I4, -8, 7},
        {U4, 0, 15},
        {I2, -2, 1},
        {U2, 0, 3},
        {BOOL, 0, 1},
    };
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct tensor *t = vector(rows[r].t, 7);
        for (int i = 0; i < 7; i++) tensor_set_i(t, i, i % 2 ? rows[r].lo : rows[r].hi);
        for (int i = 0; i < 7; i++) {
            cr_assert_eq(tensor_i(t, i), i % 2 ? rows[r].lo : rows[r].hi, "%s", dtype_name(rows[r].t));
            cr_assert_eq(tensor_f(t, i), (double)(i % 2 ? rows[r].lo : rows[r].hi));
        }
        tensor_set_i(t, 3, 1); /* neighbours in the same byte stay */
        cr_assert_eq(tensor_i(t, 2), rows[r].hi);
        cr_assert_eq(tensor_i(t, 4), rows[r].hi);
    }
    struct tensor *t = vector(U64, 2);
    tensor_set_i(t, 1, -1);
    cr_assert_eq(tensor_f(t, 1), 0x1p64);
    t = vector(U8, 1);
    tensor_set_i(t, 0, 257);
    cr_assert_eq(tensor_i(t, 0), 1);
}

Test(tensor, floats_of_every_type) {
    static const enum dtype types[] = {F16, BF16, F32, F64, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F4E2M1, F8E8M0};
    for (size_t r = 0; r < sizeof types / sizeof *types; r++) {
        struct tensor *t = vector(types[r], 5);
        for (int i = 0; i < 5; i++) tensor_set_f(t, i, i < 3 ? ldexp(1, i) : 4);
        for (int i = 0; i < 5; i++) cr_assert_eq(tensor_f(t, i), i < 3 ? ldexp(1, i) : 4, "%s", dtype_name(types[r]));
        cr_assert_eq(tensor_i(t, 2), 4);
    }
    struct tensor *t = vector(F16, 1);
    tensor_set_f(t, 0, 1 + 0x1p-11 + 0x1p-40);
    cr_assert_eq(tensor_f(t, 0), 1 + 0x1p-10);
}

Test(tensor, packing_is_low_bits_first) {
    struct tensor *t = vector(U4, 3);
    tensor_set_i(t, 0, 1);
    tensor_set_i(t, 1, 2);
    tensor_set_i(t, 2, 3);
    cr_assert_eq(memcmp(t->bytes, "\x21\x03", 2), 0);
    t = vector(I2, 5);
    for (int i = 0; i < 5; i++) tensor_set_i(t, i, i - 2);
    cr_assert_eq(memcmp(t->bytes, "\x4e\x02", 2), 0);
    int8_t out[5];
    tensor_unpack(t, out);
    cr_assert_eq(memcmp(out, "\xfe\xff\x00\x01\xfe", 5), 0);
    struct tensor *f = vector(F4E2M1, 2);
    tensor_set_f(f, 0, 0.5);
    tensor_set_f(f, 1, -6);
    tensor_unpack(f, out);
    cr_assert_eq(memcmp(out, "\x01\x0f", 2), 0);
}

Test(tensor, equality_ignores_the_source) {
    for (int r = 0; r < 2; r++) {
        enum dtype type = r ? U4 : F32;
        struct tensor *a = vector(type, 5), *b = vector(type, 5);
        for (int i = 0; i < 5; i++) tensor_set_f(a, i, 3);
        cr_assert_not(tensor_equal(a, b));
        struct tensor splat = *b;
        splat.source = TS_SPLAT;
        cr_assert_not(tensor_equal(a, &splat));
        tensor_set_f(b, 0, 3);
        cr_assert(tensor_equal(a, &splat));
        cr_assert(tensor_equal(&splat, a));
        float out[5] = {0};
        tensor_unpack(&splat, out);
        cr_assert(r ? ((uint8_t *)out)[4] == 3 : out[4] == 3);
        tensor_set_f(a, 4, 2);
        cr_assert_not(tensor_equal(a, &splat));
        cr_assert_eq(tensor_f(&splat, 4), 3);
    }
    int64_t x[] = {2, 3}, y[] = {3, 2};
    cr_assert_not(tensor_equal(tensor_new(&arena, F32, x, 2), tensor_new(&arena, F32, y, 2)));
    struct tensor *s = vector(STR, 2), *u = vector(STR, 2);
    cr_assert(tensor_equal(s, u));
    ((struct str_elem *)tensor_data(s))[1] = (struct str_elem){"ab", 2};
    cr_assert_not(tensor_equal(s, u));
    ((struct str_elem *)tensor_data(u))[1] = (struct str_elem){"abc", 2};
    cr_assert(tensor_equal(s, u));
    struct tensor *c = vector(C128, 2), *d = vector(C128, 2);
    cr_assert(tensor_equal(c, d));
    ((char *)tensor_data(d))[31] = 1;
    cr_assert_not(tensor_equal(c, d));
}

Test(tensor, out_of_range_is_a_bug, .exit_code = 70) { tensor_f(vector(F32, 3), 3); }
