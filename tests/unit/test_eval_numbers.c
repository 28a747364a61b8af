/* The interpreter's arithmetic against the statements of docs/numbers.md. */
#include "ir/base/convert.h"
#include "tests/unit/eval_kit.h"
#include <math.h>

TestSuite(eval_numbers, .init = setup, .fini = teardown);

static int64_t bin64(enum xop op, enum dtype t, int64_t x, int64_t y) {
    struct proc *p = proc_new(c, "bin");
    expr a = hidden(p, "a", t), b = hidden(p, "b", t), e = x_bin(c, op, a, b);
    struct buf *o = PARAM(p, "o", t, DIR_OUT, 1);
    ST(&p->body, o, RED_NONE, e, K(0));
    struct eval_arg args[3] = {ARG(&x, 1), ARG(&y, 1), {.data = NULL}};
    ok(run(p, args));
    int64_t r = dtype_bytes(t) == 4 ? (t == I32 ? *(int32_t *)args[2].data : (int64_t) * (uint32_t *)args[2].data)
                                    : *(int64_t *)args[2].data;
    free(args[2].data);
    return r;
}

Test(eval_numbers, integers_wrap_and_nothing_traps) {
    cr_assert_eq(bin64(X_ADD, I32, INT32_MAX, 1), INT32_MIN);
    cr_assert_eq(bin64(X_SUB, I64, INT64_MIN, 1), INT64_MAX);
    cr_assert_eq(bin64(X_MUL, I32, 65536, 65536), 0);
    cr_assert_eq(bin64(X_DIV, I32, 7, 0), 0);
    cr_assert_eq(bin64(X_MOD, I32, 7, 0), 0);
    cr_assert_eq(bin64(X_DIV, I32, INT32_MIN, -1), INT32_MIN);
    cr_assert_eq(bin64(X_DIV, I64, INT64_MIN, -1), INT64_MIN);
    cr_assert_eq(bin64(X_MOD, I32, INT32_MIN, -1), 0);
    cr_assert_eq(bin64(X_MOD, I64, INT64_MIN, -1), 0);
    cr_assert_eq(bin64(X_DIV, I32, -7, 2), -3);
    cr_assert_eq(bin64(X_MOD, I32, -7, 2), -1);
    cr_assert_eq(bin64(X_DIV, U32, 0xfffffff9u, 2), 0x7ffffffc);
    cr_assert_eq(bin64(X_DIV, U64, -1, 2), INT64_MAX);
    cr_assert_eq(bin64(X_SHL, I32, 1, 31), INT32_MIN);
    cr_assert_eq(bin64(X_SHL, I32, 1, 32), 0);
    cr_assert_eq(bin64(X_SHL, I32, 1, -1), 0);
    cr_assert_eq(bin64(X_SHR, I32, -8, 1), -4);
    cr_assert_eq(bin64(X_SHR, I32, -8, 32), 0);
    cr_assert_eq(bin64(X_SHR, U32, 0x80000000u, 31), 1);
    cr_assert_eq(bin64(X_SHR, U64, -1, 63), 1);
    cr_assert_eq(bin64(X_SHL, U64, 1, 64), 0);
    cr_assert_eq(bin64(X_MIN, U32, -1, 1), 1);
    cr_assert_eq(bin64(X_MAX, I32, -1, 1), 1);
}
union any {
    int32_t i;
    uint32_t u;
    int64_t l;
    uint64_t w;
    float f;
    double d;
    uint8_t b;
};
static union any cast(enum dtype from, enum dtype to, double v) {
    struct proc *p = proc_new(c, "cast");
    expr x = hidden(p, "x", from);
    struct buf *o = PARAM(p, "o", to, DIR_OUT, 1);
    ST(&p->body, o, RED_NONE, x_cast(c, to, x), K(0));
    float f = (float)v;
    int64_t l = from == F32 || from == F64 ? 0 : (int64_t)v;
    struct eval_arg a[2] = {ARG(from == F32 ? (void *)&f : from == F64 ? (void *)&v : (void *)&l, 1), {.data = NULL}};
    ok(run(p, a));
    union any r = {.l = 0};
    memcpy(&r, a[1].data, (size_t)dtype_bytes(to));
    free(a[1].data);
    return r;
}
Test(eval_numbers, casts_saturate_from_floats_and_wrap_between_integers) {
    cr_assert_eq(cast(F32, I32, 3e9).i, INT32_MAX);
    cr_assert_eq(cast(F32, I32, -3e9).i, INT32_MIN);
    cr_assert_eq(cast(F32, I32, NAN).i, 0);
    cr_assert_eq(cast(F32, I32, -1.9).i, -1);
    cr_assert_eq(cast(F32, U32, -1).u, 0);
    cr_assert_eq(cast(F32, U32, 5e9).u, UINT32_MAX);
    cr_assert_eq(cast(F64, I64, 1e30).l, INT64_MAX);
    cr_assert_eq(cast(F64, I64, -INFINITY).l, INT64_MIN);
    cr_assert_eq(cast(F32, U64, 1e30).w, UINT64_MAX);
    cr_assert_eq(cast(F32, BOOL, NAN).b, 1);
    cr_assert_eq(cast(F32, BOOL, -0.0).b, 0);
    cr_assert_eq(cast(I64, I32, 4294967297.0).i, 1);
    cr_assert_eq(cast(I32, U64, -1).w, UINT64_MAX);
    cr_assert_eq(cast(U32, F32, 4294967295.0).f, 0x1p32f);
    cr_assert_eq(cast(I64, F32, 16777217.0).f, 16777216.0f);
    cr_assert_eq(cast(I32, BOOL, 256).b, 1);
}
Test(eval_numbers, storage_types_round_and_wrap) {
    uint16_t h;
    float f;
    int8_t i;
    struct proc *p = proc_new(c, "half");
    struct buf *x = PARAM(p, "x", F16, DIR_IN, 3), *y = PARAM(p, "y", F16, DIR_OUT, 3),
               *z = PARAM(p, "z", BF16, DIR_OUT, 3);
    struct var *k = var("k", 3);
    struct block *l = loop(&p->body, k);
    ST(l, y, RED_NONE, x_mul(c, LD(x, V(k)), x_num(c, F32, 1.0009765625)), V(k));
    ST(l, z, RED_NONE, x_mul(c, LD(x, V(k)), x_num(c, F32, 1.0009765625)), V(k));
    uint16_t in[3] = {f32_to_f16(1.5f), f32_to_f16(60000), f32_to_f16(-0.1f)};
    struct eval_arg a[3] = {ARG(in, 3), {.data = NULL}, {.data = NULL}};
    ok(run(p, a));
    for (int j = 0; j < 3; j++) {
        cr_assert_eq(((uint16_t *)a[1].data)[j], f32_to_f16(f16_to_f32(in[j]) * 1.0009765625f));
        cr_assert_eq(((uint16_t *)a[2].data)[j], f32_to_bf16(f16_to_f32(in[j]) * 1.0009765625f));
    }
    free(a[1].data);
    free(a[2].data);
    ok(scalar(F16, x_num(c, F32, 65520), &h));
    cr_assert_eq(h, 0x7c00);
    ok(scalar(I8, x_num(c, I32, 200), &i));
    cr_assert_eq(i, -56);
    ok(scalar(U4, x_num(c, I32, 19), &i));
    cr_assert_eq(i, 3);
    ok(scalar(I4, x_num(c, I32, 9), &i));
    cr_assert_eq(i, -7);
    struct proc *q = proc_new(c, "rounded");
    expr v = hidden(q, "v", F32);
    ST(&q->body, PARAM(q, "o", F32, DIR_OUT, 1), RED_NONE, x_round(c, BF16, v), K(0));
    float third = 1.0f / 3;
    struct eval_arg b[2] = {ARG(&third, 1), {.data = NULL}};
    ok(run(q, b));
    memcpy(&f, b[1].data, 4);
    cr_assert_eq(f, bf16_to_f32(f32_to_bf16(third)));
    free(b[1].data);
}
Test(eval_numbers, min_and_max_are_the_c_selections) {
    for (int k = 0; k < 2; k++) {
        struct proc *p = proc_new(c, "nan");
        expr a = hidden(p, "a", F32), b = hidden(p, "b", F32);
        struct buf *o = PARAM(p, "o", F32, DIR_OUT, 1);
        ST(&p->body, o, RED_NONE, k ? x_max(c, a, b) : x_min(c, a, b), K(0));
        float nan = NAN, one = 1;
        struct eval_arg args[3] = {ARG(&nan, 1), ARG(&one, 1), {.data = NULL}};
        ok(run(p, args));
        cr_assert_eq(*(float *)args[2].data, 1, "a NaN on the left gives the right operand");
        free(args[2].data);
        args[0] = ARG(&one, 1);
        args[1] = ARG(&nan, 1);
        args[2].data = NULL;
        ok(run(p, args));
        cr_assert(isnan(*(float *)args[2].data), "a NaN on the right is the result");
        free(args[2].data);
    }
}
