/* See native.h. One row per function. */
#include "ir/expr/native.h"
#include "runtime_stub/nn_text.h"
#include <string.h>

/* The value that an argument points to. */
#define AT(name, type)                                                                                                 \
    static type name##_at(const void *p) {                                                                             \
        type v;                                                                                                        \
        memcpy(&v, p, sizeof v);                                                                                       \
        return v;                                                                                                      \
    }
AT(str, nn_str)
AT(i64, int64_t)
AT(i32, int32_t)
AT(f64, double)
#define RUN(name, type, value)                                                                                         \
    static void run_##name(void *result, const void *const *a) {                                                       \
        type v = value;                                                                                                \
        memcpy(result, &v, sizeof v);                                                                                  \
    }
RUN(length, int64_t, nn_str_length(str_at(a[0])))
RUN(byte, int32_t, nn_str_byte(str_at(a[0]), i64_at(a[1])))
RUN(part, nn_str, nn_str_part(str_at(a[0]), i64_at(a[1]), i64_at(a[2])))
RUN(find, int64_t, nn_str_find(str_at(a[0]), str_at(a[1]), i64_at(a[2])))
RUN(letter_case, int32_t, nn_char_case(i32_at(a[0]), i32_at(a[1])))
RUN(char_at, int32_t, nn_char_at(str_at(a[0]), i64_at(a[1])))
RUN(char_byte, int32_t, nn_char_byte(i32_at(a[0]), i32_at(a[1])))
RUN(is_number, int32_t, nn_is_number(str_at(a[0]), i32_at(a[1])))
RUN(float_of, double, nn_float_of(str_at(a[0])))
RUN(integer_of, int64_t, nn_integer_of(str_at(a[0]), i32_at(a[1])))
RUN(float_text, int64_t, nn_float_text(f64_at(a[0])))
RUN(number_byte, int32_t, nn_number_byte(i64_at(a[0]), i32_at(a[1]), i32_at(a[2])))

static const struct native rows[] = {
    {{"length", 1, I64, {STR}, NULL, -1, false}, "nn_str_length", run_length},
    {{"byte", 2, I32, {STR, I64}, NULL, -1, false}, "nn_str_byte", run_byte},
    {{"part", 3, STR, {STR, I64, I64}, NULL, -1, false}, "nn_str_part", run_part},
    {{"find", 3, I64, {STR, STR, I64}, NULL, -1, false}, "nn_str_find", run_find},
    {{"letter_case", 2, I32, {I32, I32}, NULL, -1, false}, "nn_char_case", run_letter_case},
    {{"char_at", 2, I32, {STR, I64}, NULL, -1, false}, "nn_char_at", run_char_at},
    {{"char_byte", 2, I32, {I32, I32}, NULL, -1, false}, "nn_char_byte", run_char_byte},
    {{"is_number", 2, I32, {STR, I32}, NULL, -1, false}, "nn_is_number", run_is_number},
    {{"float_of", 1, F64, {STR}, NULL, -1, false}, "nn_float_of", run_float_of},
    {{"integer_of", 2, I64, {STR, I32}, NULL, -1, false}, "nn_integer_of", run_integer_of},
    {{"float_text", 1, I64, {F64}, NULL, -1, false}, "nn_float_text", run_float_text},
    {{"number_byte", 3, I32, {I64, I32, I32}, NULL, -1, false}, "nn_number_byte", run_number_byte},
};

const struct native *native_named(const char *name) {
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (!strcmp(rows[k].fn.name, name)) return &rows[k];
    return NULL;
}
const struct native *native_of(const struct fn *f) { return f->body ? NULL : native_named(f->name); }
expr x_native(struct ctx *c, const char *name, const expr *args) {
    const struct native *n = native_named(name);
    return n ? x_call(c, &n->fn, args) : x_poison(c);
}
