/* The shared base: arenas, arrays, maps, text, interned names, saturating arithmetic, diagnostics, element types. */
#include "ir/base/arena.h"
#include "ir/base/checked.h"
#include "ir/base/diag.h"
#include "ir/base/die.h"
#include "ir/base/dtype.h"
#include "ir/base/map.h"
#include "ir/base/vec.h"
#include <criterion/criterion.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(arena, zeroed_aligned_and_apart) {
    struct arena a = {0};
    size_t sizes[] = {0, 1, 15, 16, 17, 1000, 70000, 3, 200000, 64, 5000000, 8};
    enum { N = sizeof sizes / sizeof *sizes };
    unsigned char *p[N];
    for (int i = 0; i < N; i++) {
        p[i] = arena_alloc(&a, sizes[i]);
        cr_assert_eq((uintptr_t)p[i] % 16, 0);
        for (size_t k = 0; k < sizes[i]; k++) cr_assert_eq(p[i][k], 0);
        memset(p[i], i + 1, sizes[i]);
    }
    for (int i = 0; i < N; i++)
        for (size_t k = 0; k < sizes[i]; k++) cr_assert_eq(p[i][k], i + 1, "block %d was overwritten", i);
    cr_assert_eq(a.used, 5271200);
    arena_free(&a);
    cr_assert_eq(a.used, 0);
    cr_assert_str_eq(arena_copy(&a, "again", 6), "again");
    arena_free(&a);
}

Test(arena, a_large_block_leaves_the_chunk_in_use) {
    struct arena a = {0};
    char *p = arena_alloc(&a, 16);
    arena_alloc(&a, 1 << 20);
    cr_assert_eq((char *)arena_alloc(&a, 16), p + 16);
    arena_free(&a);
}

Test(arena, limit_lets_through_what_fits) {
    struct arena a = {.limit = 4096};
    arena_alloc(&a, 4000);
    arena_alloc(&a, 80);
    arena_free(&a);
}

Test(arena, limit_ends_the_process, .exit_code = 5) {
    struct arena a = {.limit = 4096};
    arena_alloc(&a, 4000);
    arena_alloc(&a, 112);
}

Test(arena, overflow_ends_the_process, .exit_code = 70) {
    struct arena a = {0};
    arena_array(&a, SIZE_MAX / 2, 4);
}

Test(vec, grows_in_arena_and_in_malloc) {
    struct arena a = {0};
    VEC(int) in_arena = {0}, in_malloc = {0};
    for (int i = 0; i < 1000; i++) {
        PUSH(&a, &in_arena, i);
        PUSH(NULL, &in_malloc, i * 2);
    }
    for (int i = 0; i < 1000; i++) {
        cr_assert_eq(in_arena.v[i], i);
        cr_assert_eq(in_malloc.v[i], i * 2);
    }
    VEC_FREE(&in_malloc);
    cr_assert_null(in_malloc.v);
    arena_free(&a);
}

Test(map, put_get_replace) {
    struct arena a = {0};
    struct map m = {.arena = &a};
    static int values[5000], other;
    cr_assert_null(map_get(&m, 0));
    for (uint64_t i = 0; i < 5000; i++)
        map_put(&m, i << 32, &values[i]); /* keys that differ in high bits only, 0 among them */
    cr_assert_eq(m.n, 5000);
    for (uint64_t i = 0; i < 5000; i++) cr_assert_eq(map_get(&m, i << 32), &values[i]);
    cr_assert_null(map_get(&m, 1));
    map_put(&m, 7ull << 32, &other);
    cr_assert_eq(map_get(&m, 7ull << 32), &other);
    cr_assert_eq(m.n, 5000);
    arena_free(&a);
}

Test(map, null_value_is_a_bug, .exit_code = 70) {
    struct arena a = {0};
    struct map m = {.arena = &a};
    map_put(&m, 1, NULL);
}

Test(checked, saturates) {
    cr_assert_eq(sat_add(1, 2), 3);
    cr_assert_eq(sat_add(POS_INF, -5), POS_INF);
    cr_assert_eq(sat_add(5, NEG_INF), NEG_INF);
    cr_assert_eq(sat_add(INT64_MAX - 1, 2), POS_INF);
    cr_assert_eq(sat_add(INT64_MIN + 1, -2), NEG_INF);
    cr_assert_eq(sat_mul(-3, 4), -12);
    cr_assert_eq(sat_mul(0, POS_INF), 0);
    cr_assert_eq(sat_mul(NEG_INF, 0), 0);
    cr_assert_eq(sat_mul(-2, POS_INF), NEG_INF);
    cr_assert_eq(sat_mul(NEG_INF, NEG_INF), POS_INF);
    cr_assert_eq(sat_mul(-1, NEG_INF), POS_INF);
    cr_assert_eq(sat_mul(INT64_MAX / 2, 3), POS_INF);
    cr_assert_eq(sat_mul(INT64_MAX / 2, -3), NEG_INF);
    cr_assert_eq(floordiv64(-7, 2), -4);
    cr_assert_eq(floormod64(-7, 2), 1);
    cr_assert_eq(floordiv64(-8, 2), -4);
    cr_assert_eq(floormod64(INT64_MIN, 3), 1);
}

Test(text, builds) {
    struct text t = {0};
    text_add(&t, "a");
    text_char(&t, 'b');
    text_indent(&t, 2);
    text_printf(&t, "%d-%s", 42, "x");
    cr_assert_str_eq(t.s, "ab    42-x");
    for (int i = 0; i < 500; i++) text_printf(&t, "%05d", i);
    cr_assert_eq(t.n, 10 + 2500);
    cr_assert_str_eq(t.s + t.n - 5, "00499");
    struct text u = {0};
    text_printf(&u, "%300d|", 1); /* longer than the stack buffer */
    cr_assert_eq(u.n, 301);
    cr_assert_str_eq(u.s + 298, " 1|");
    text_free(&t);
    text_free(&u);
    cr_assert_null(t.s);
}

static const char *f32(float x) {
    static struct text t;
    t.n = 0;
    text_f32(&t, x);
    return t.s;
}

static const char *f64(double x) {
    static struct text t;
    t.n = 0;
    text_f64(&t, x);
    return t.s;
}

Test(text, floats) {
    cr_assert_str_eq(f32(1), "1.0");
    cr_assert_str_eq(f32(-0.0f), "-0.0");
    cr_assert_str_eq(f32(0.1f), "0.1");
    cr_assert_str_eq(f32(16777216), "16777216.0");
    cr_assert_str_eq(f32(1e10f), "1e+10");
    cr_assert_str_eq(f32(1e-45f), "1e-45");
    cr_assert_str_eq(f32(3.4028235e38f), "3.4028235e+38");
    cr_assert_str_eq(f32(INFINITY), "inf");
    cr_assert_str_eq(f32(-INFINITY), "-inf");
    cr_assert_str_eq(f32(NAN), "nan");
    cr_assert_str_eq(f32(-NAN), "nan");
    cr_assert_str_eq(f64(0.1), "0.1");
    cr_assert_str_eq(f64(0.1f), "0.10000000149011612");
    cr_assert_str_eq(f64(5e-324), "5e-324");
    cr_assert_str_eq(f64(1.0 / 3), "0.3333333333333333");
    cr_assert_str_eq(f64(-INFINITY), "-inf");
}

Test(text, floats_read_back) {
    uint64_t x = 1;
    for (int i = 0; i < 100000; i++) {
        x = x * 6364136223846793005u + 1442695040888963407u;
        uint32_t low = (uint32_t)(x >> 32);
        uint64_t bits = x ^ x >> 29;
        float f, g;
        double d, e;
        memcpy(&f, &low, 4);
        memcpy(&d, &bits, 8);
        if (isfinite(f)) {
            g = strtof(f32(f), NULL);
            cr_assert(memcmp(&f, &g, 4) == 0, "%a", (double)f);
        }
        if (isfinite(d)) {
            e = strtod(f64(d), NULL);
            cr_assert(memcmp(&d, &e, 8) == 0, "%a", d);
        }
    }
}

Test(text, no_decimal_comma) {
    /* Any locale with a comma; where none is installed only the calls themselves are tested. */
    const char *names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE"};
    for (size_t i = 0; i < sizeof names / sizeof *names && strcmp(localeconv()->decimal_point, ",") != 0; i++)
        setlocale(LC_ALL, names[i]);
    struct text t = {0};
    text_printf(&t, "%g", 1.5);
    cr_assert_str_eq(t.s, "1.5");
    cr_assert_str_eq(f32(0.5f), "0.5");
    text_free(&t);
}

Test(names, equal_text_equal_pointer) {
    struct arena a = {0};
    struct interner *in = interner_new(&a);
    const char *first = intern(in, "n0"), *nul = internn(in, "a\0b", 3);
    for (int i = 0; i < 5000; i++) {
        char s[16];
        snprintf(s, sizeof s, "n%d", i);
        cr_assert_eq(internf(in, "n%d", i), intern(in, s));
    }
    cr_assert_eq(intern(in, "n0"), first);
    cr_assert_neq(intern(in, "a"), nul);
    cr_assert_eq(internn(in, "a\0bc", 3), nul);
    cr_assert_str_eq(intern(in, ""), "");
    cr_assert_str_eq(arena_printf(&a, "%s/%d", "x", 3), "x/3");
    arena_free(&a);
}

static struct arena arena;

static const char *printed(struct diags *d) {
    struct text t = {0};
    diag_print(d, &t, false);
    return t.s ? t.s : "";
}

Test(diag, line_origin_and_help) {
    struct diags d = {.arena = &arena, .file = "model.onnx", .origin = "node 17 \"conv1\" (Conv), input 1 \"W\""};
    diag(&d, DIAG_ERROR, E_RANK, "expected rank %d, got %d", 4, 3);
    diag_help(&d, "give the shape with %s", "--shape");
    d.origin = NULL;
    diag(&d, DIAG_WARNING, E_OPSET, "opset 99");
    diag_at(&d, DIAG_NOTE, E_FILE, NULL, NULL, "bare");
    cr_assert_str_eq(printed(&d),
                     "model.onnx: node 17 \"conv1\" (Conv), input 1 \"W\": expected rank 4, got 3 [E0305]\n"
                     "  help: give the shape with --shape\n"
                     "model.onnx: warning: opset 99 [E0203]\n"
                     "note: bare [E0101]\n");
    cr_assert_eq(d.errors, 1);
    cr_assert_eq(d.warnings, 1);
}

Test(diag, strings_of_the_model_cannot_drive_the_terminal) {
    struct diags d = {.arena = &arena};
    cr_assert_str_eq(diag_quote(&arena, "a\"b\\\n\x1b[31m"), "\"a\\\"b\\\\\\n\\x1b[31m\"");
    cr_assert_str_eq(diag_quote(&arena, "\xc3\xa4\xff\xc2\x9b"
                                        "\xe2\x80\xae"),
                     "\"\xc3\xa4\\xff\\xc2\\x9b\\xe2\\x80\\xae\"");
    char longer[200];
    memset(longer, 'x', sizeof longer);
    longer[199] = 0;
    cr_assert_eq(strlen(diag_quote(&arena, longer)), 60 + 5);
    longer[60] = 0;
    cr_assert_eq(strlen(diag_quote(&arena, longer)), 60 + 2);
    diag(&d, DIAG_ERROR, E_OP, "op %s\r\n", "\x1b]0;x\x07");
    const char *want = "op \\x1b]0;x\\x07\\r\\n [E0301]\n";
    cr_assert_eq(strncmp(printed(&d), want, strlen(want)), 0); /* behind it stands what to do */
}

Test(diag, only_the_first_are_kept) {
    struct diags d = {.arena = &arena};
    diag(&d, DIAG_WARNING, E_OPSET, "an early warning");
    for (int i = 0; i < 25; i++) {
        diag(&d, DIAG_ERROR, E_OP, "error %d", i);
        diag_help(&d, "help %d", i);
    }
    diag(&d, DIAG_WARNING, E_OPSET, "a late warning");
    cr_assert_eq(d.n, DIAG_MAX);
    cr_assert_eq(d.errors, 25);
    const char *s = printed(&d);
    cr_assert_null(strstr(s, "early")); /* pushed out by the 20th error */
    cr_assert_not_null(strstr(s, "error 19 [E0301]\n  help: help 19\n5 more errors\n2 more warnings\n"));
    cr_assert_null(strstr(s, "help 20"));
}

Test(diag, a_copy_of_a_full_list_undoes_what_was_said_since) {
    struct diags d = {.arena = &arena};
    for (int i = 0; i < DIAG_MAX; i++) diag(&d, DIAG_NOTE, E_SHAPE, "note %d", i);
    const struct diags before = d;
    cr_assert_null(diag_error_since(&d, &before));
    diag(&d, DIAG_ERROR, E_OP, "an error");
    diag(&d, DIAG_ERROR, E_OP, "another");
    cr_assert_str_eq(diag_error_since(&d, &before)->message, "an error");
    d = before;
    cr_assert_eq(d.errors, 0);
    cr_assert_str_eq(d.v[DIAG_MAX - 1].message, "note 19");
    diag(&d, DIAG_ERROR, E_OP, "the first");
    const struct diags later = d;
    diag(&d, DIAG_ERROR, E_OP, "the second");
    cr_assert_str_eq(diag_error_since(&d, &later)->message, "the second");
}

Test(diag, codes_explain_themselves) {
    const struct diag_row *row = diag_explain(E_ONNX);
    cr_assert(row);
    cr_assert_str_eq(row->title, "not a valid ONNX model");
    cr_assert_null(diag_explain(1));
}

Test(diag, bug_ends_the_process, .exit_code = 70) { ASSERT(1 + 1 == 3); }

Test(dtype, rows) {
    for (int t = NONE + 1; t < DTYPE_COUNT; t++) {
        const char *s = dtype_name(t);
        cr_assert_eq(dtype_by_name(s, strlen(s)), t);
        if (t != IDX) cr_assert_eq(dtype_by_onnx(dtype_onnx(t)), t);
    }
    cr_assert_eq(dtype_by_name("f3", 2), NONE);
    cr_assert_eq(dtype_by_name("f32x", 3), F32);
    cr_assert_eq(dtype_by_onnx(0), NONE);
    cr_assert_eq(dtype_by_onnx(-1), NONE);
    cr_assert_eq(dtype_by_onnx(999), NONE);
    cr_assert(dtype_is_float(F8E8M0) && dtype_is_float(F64) && !dtype_is_float(I32) && !dtype_is_float(C64));
    cr_assert(dtype_is_int(U4) && dtype_is_int(I64) && dtype_is_int(IDX) && !dtype_is_int(BOOL) && !dtype_is_int(STR));
    cr_assert(dtype_is_signed(I2) && dtype_is_signed(BF16) && !dtype_is_signed(U4) && !dtype_is_signed(BOOL));
    cr_assert_eq(dtype_bits(I4), 4);
    cr_assert_eq(dtype_bytes(I4), 1);
    cr_assert_eq(dtype_value(F16), F32);
}

/* ---- whose mistake */
Test(diag, what_our_own_passes_break_is_ours) {
    static const struct {
        enum diag_code code;
        bool in_text, ours;
    } rows[] = {{E_BROKEN, true, true},  {E_BROKEN, false, true}, {E_VERIFY, true, false},
                {E_VERIFY, false, true}, {E_STEP, true, false},   {E_STEP, false, true},
                {E_PARSE, true, false},  {E_PARSE, false, true},  {E_SHAPE, false, false}};
    char *words[] = {"gcc2nn", "a b'c\x1b", "--dim", "N=1", "", NULL};
    die_command("9.9", 5, words);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        struct arena a = {0};
        struct diags d = {.arena = &a, .ir_text = rows[k].in_text};
        diag(&d, DIAG_WARNING, rows[k].code, "nothing");
        cr_expect_eq(d.ours, 0);
        diag(&d, DIAG_ERROR, rows[k].code, "something");
        diag_help(&d, "turn it round");
        const char *help = d.v[1].help;
        cr_expect_eq(d.ours, rows[k].ours, "row %zu", k);
        cr_expect_eq(strstr(help, "turn it round") != NULL, !rows[k].ours, "row %zu: %s", k, help);
        cr_expect_eq(strstr(help, "please report") != NULL, rows[k].ours, "row %zu: %s", k, help);
        if (rows[k].ours) cr_expect(strstr(help, " 9.9: gcc2nn 'a b'\\''c?' --dim N=1 ''"), "%s", help);
        arena_free(&a);
    }
}
