/* Names, comments and strings that no model can break out of, targets, and the shape of the printed text. That the text
 * computes what the interpreter computes is tested by tests/compile. */
#include "codegen/emit.h"
#include "lower/machine/machine.h"
#include "lower/memory/local_memory.h"
#include "lower/schedule/steps.h"
#include "tests/tools/printable.h"
#include <criterion/criterion.h>
#include <string.h>

static struct ctx *c;
static struct text t;
static void setup(void) { c = ctx_new(); }
static void teardown(void) {
    text_free(&t);
    ctx_free(c);
}
TestSuite(emit, .init = setup, .fini = teardown);

static const char *print_with(const char *source, const char *target, bool strict, const char *steps) {
    struct module *m = loop_parse(c, source, strlen(source), "test");
    if (!m) diag_print(&c->diags, &t, false);
    cr_assert(m, "%s", t.s);
    struct proc *p = m->procs.v[m->procs.n - 1];
    if (steps) cr_assert(steps_apply(c, p, steps));
    struct emit_options o = {.target = target_by_name(target), .c99_strict = strict, .uses = emit_uses_new(c)};
    struct text body = {0};
    struct module *all =
        printable(m, &p, 1, &(struct printing){.target = o.target, .c99_strict = strict}, loop_verify(m, NULL));
    if (!all) diag_print(&c->diags, &t, false);
    cr_assert(all, "%s", t.s);
    for (int k = 0; k < all->procs.n; k++) emit_proc(&body, c, all->procs.v[k], &o);
    t.n = 0;
    emit_prelude(&t, &o);
    text_add(&t, body.s);
    emit_end(&t, &o);
    text_free(&body);
    return t.s;
}
static void has(const char *text, const char *part) { cr_assert(strstr(text, part), "no `%s` in\n%s", part, text); }
static void hasnt(const char *text, const char *part) { cr_assert(!strstr(text, part), "`%s` in\n%s", part, text); }
static int count(const char *text, const char *part) {
    int n = 0;
    for (const char *s = text; (s = strstr(s, part)); s++) n++;
    return n;
}

/* ---- names */
Test(emit, identifiers) {
    static const char *const cases[][2] = {{"x", "x"},
                                           {"conv1/w", "conv1_w"},
                                           {"1st", "v1st"},
                                           {"", "v"},
                                           {"___", "v"},
                                           {"_x", "x"},
                                           {"__x__", "x"},
                                           {"int", "v_int"},
                                           {"class", "v_class"},
                                           {"nn_guard", "v_nn_guard"},
                                           {"nn1_result", "v_nn1_result"},
                                           {"nn1", "nn1"},
                                           {"NN_X", "v_nn_x"},
                                           {"INT_MAX", "int_max"},
                                           {"X", "X"},
                                           {"CONST", "v_const"},
                                           {"static_assert", "v_static_assert"},
                                           {"size_t", "v_size_t"},
                                           {"fault", "v_fault"},
                                           {"a::b//c", "a_b_c"},
                                           {"\xe5\xb1\x82", "v"},
                                           {"x\n*/y", "x_y"},
                                           {"y1", "v_y1"},
                                           {"main", "v_main"},
                                           {"a", "a"}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        cr_assert_str_eq(c_ident(c, cases[k][0]), cases[k][1], "%s gives %s", cases[k][0], c_ident(c, cases[k][0]));
    cr_assert_str_eq(c_ident(c, NULL), "v");
}
Test(emit, identifiers_are_valid_for_any_bytes) {
    unsigned seed = 1;
    for (int k = 0; k < 3000; k++) {
        char s[80];
        int n = (int)((seed = seed * 1664525u + 1013904223u) >> 8) % 79;
        for (int i = 0; i < n; i++) s[i] = (char)(((seed = seed * 1664525u + 1013904223u) >> 16) % 255 + 1);
        s[n] = 0;
        const char *id = c_ident(c, s);
        size_t len = strlen(id);
        cr_assert(len >= 1 && len <= 48);
        cr_assert(strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len);
        cr_assert(id[0] != '_' && !(id[0] >= '0' && id[0] <= '9'));
    }
}
Test(emit, names_are_unique_while_taken) {
    struct names n;
    names_init(&n, c);
    cr_assert_str_eq(names_add(&n, "x"), "x");
    int mark = names_mark(&n);
    cr_assert_str_eq(names_add(&n, "x"), "x2");
    cr_assert_str_eq(names_add(&n, "x!"), "x3");
    cr_assert_str_eq(names_add(&n, "x2"), "x2_2");
    cr_assert_str_eq(names_numbered(&n, "t"), "t0");
    cr_assert_str_eq(names_numbered(&n, "t"), "t1");
    cr_assert_str_eq(names_numbered(&n, "y"), "y2"); /* y0 and y1 are Bessel functions */
    names_leave(&n, mark);
    cr_assert_str_eq(names_add(&n, "x"), "x2");
    cr_assert_str_eq(names_numbered(&n, "t"), "t0");
    n.unused = true; /* inner scopes had t1, a line before them must not */
    cr_assert_str_eq(names_numbered(&n, "t"), "t2");
    cr_assert_str_eq(names_add(&n, "x3"), "x3_2");
}

/* ---- texts */
Test(emit, comments_cannot_be_left) {
    emit_comment_text(&t, "a */ b /* c ?\?/ d \\");
    cr_assert_str_eq(t.s, "a * / b / * c ? ?/ d |");
    t.n = 0;
    emit_comment_text(&t, "line\nnext\r\xe2\x80\xae*");
    hasnt(t.s, "\n");
    text_add(&t, "/"); /* what the printer adds cannot join with the text's end */
    hasnt(t.s, "*/");
    for (const char *s = t.s; *s; s++) cr_assert((unsigned char)*s >= 0x20 && (unsigned char)*s < 0x7f);
}
Test(emit, strings_are_escaped) {
    emit_string(&t, "a\"b\\c\n?\?/\0\xff", 11);
    cr_assert_str_eq(t.s, "\"a\\\"b\\\\c\\012\\077\\077/\\000\\377\"");
}

/* ---- targets */
Test(emit, targets) {
    for (int k = 0; nn_targets[k]; k++) {
        const struct target *g = nn_targets[k];
        cr_assert_eq(target_by_name(g->name), g);
        cr_assert(g->help && g->cflags && g->headers && g->cc && g->machine && machine_registers(g->machine) > 0);
        cr_assert((g->emit != EMIT_C_VECTOR) == (machine_lanes(g->machine, F32) == 1));
        for (const struct spell_row *r = g->spell; r && r->op != X_POISON; r++)
            cr_assert(r->lanes <= machine_lanes(g->machine, F32) && strstr(r->c, "%a"));
    }
    cr_assert_null(target_by_name("z80"));
}

/* ---- shape of the text */
static const char *const relu =
    "proc relu(x: f32[N] in, y: f32[N] out) [N in 0..1000]\n  for i<N\n    y[i] = max(x[i], 0.0)\n";
Test(emit, scalar_kernel) {
    const char *s = print_with(relu, "c99", false, NULL);
    has(s, "static void relu(const float *restrict x, float *restrict y, ptrdiff_t N) {\n"
           "    for (ptrdiff_t i = 0; i < N; i++) {\n"
           "        y[i] = nn_greater_f32(x[i], 0.0f);\n"
           "    }\n}\n");
    hasnt(s, "__attribute__");
    hasnt(s, "math.h");
}
/* gcc makes branches of comparisons with numbers. Zero parts values in a way that is not foreseen, other bounds seldom
 * hold. */
Test(emit, choices_between_floats_are_no_branches_where_compilers_make_them) {
    const char *pair =
        "proc pick(x: f32[9] in, y: f32[9] in, z: f64[9] in, a: f32[9] out, b: f32[9] out, c: f64[9] out)\n"
        "  for i<9\n    a[i] = max(x[i], y[i])\n    b[i] = min(max(x[i], -1.0), 6.0)\n    c[i] = min(z[i], 0.0f64)\n";
    const char *s = print_with(pair, "c99", false, NULL);
    has(s, "a[i] = nn_max_f32(x0, y[i]);");
    has(s, "b[i] = nn_min_f32(nn_max_f32(x0, -1.0f), 6.0f);");
    has(s, "const uint64_t m = 0 - (uint64_t)(a < b);");
    has(s, "c[i] = nn_lesser_f64(z[i], 0.0);");
    has(print_with(pair, "cortex-m4", false, NULL), "a[i] = nn_max_f32(x0, y[i]);");
    has(print_with(pair, "x86-64", false, NULL), "_mm_max_ss(_mm_set_ss(a), _mm_set_ss(b))");
}
Test(emit, complex_numbers_are_moved_as_they_are) {
    const char *text =
        print_with("proc move(x: c128[3] in, y: c128[3] out)\n  for i<3\n    y[i] = x[2-i]\n", "c99", true, NULL);
    has(text, "y[i] = x[2 - i];");
}
/* A vector has no place where a size is 0, as a single cell has none. */
Test(emit, guarded_stores_of_vectors_are_none_where_nothing_is) {
    const char *text = print_with("proc put(x: f32[8] in, k: i64[1] in, y: f32[N,8] out) [N in 0..9]\n"
                                  "  for v<8 vector\n    y[guard(toidx(k[0]), N),v] = x[v]\n",
                                  "x86-avx2", false, NULL);
    has(text, "    if (0 < N) {\n        nn_st_f32x8(y + nn_guard(");
    has(text, "    } else {\n        *fault = 1;\n");
}
/* Two assignments in one expression would have no order. */
Test(emit, faults_of_an_expression_are_calls) {
    const char *text = print_with("proc pick(x: f32[N] in, k: i64[2] in, y: f32[] out) [N in 0..9]\n"
                                  "  y[] = x[guard(toidx(k[0]), N)] + x[guard(toidx(k[1]), N)]\n",
                                  "c99", true, NULL);
    cr_assert_eq(count(text, "(nn_fault(fault), 0.0f)"), 2);
    hasnt(text, "(*fault = 1,");
}
Test(emit, remainders_by_open_sizes_stay_where_they_are_needed) {
    const char *text = print_with("proc mirror(x: f32[N] in, y: f32[20] out) [N in 5..9]\n"
                                  "  for i<20\n"
                                  "    y[i] = select(idx(i) < idx(N), x[min(i,N-1)], x[min(i%N, N - i%N)])\n",
                                  "c99", true, NULL);
    const char *quotient = strstr(text, "i % N");
    cr_assert(quotient, "%s", text);
    cr_assert_eq(count(text, "i % N"), 1, "%s", text);
    cr_assert(strstr(text, "} else {") && strstr(text, "} else {") < quotient, "%s", text);
}
static const char *const tile =
    "proc tile(x: f32[6,40] in, w: f32[40,16] in, y: f32[6,16] out)\n  alloc acc: f32[6,16] reg\n"
    "  for i<6 unroll\n    for v<16 vector\n      acc[i,v] = 0.0\n"
    "  for k<40\n    for i<6 unroll\n      for v<16 vector\n        acc[i,v] = fma(x[i,k], w[k,v], acc[i,v])\n"
    "  for i<6 unroll\n    for v<16 vector\n      y[i,v] = acc[i,v]\n";
Test(emit, register_tile_is_named_vectors) {
    const char *s = print_with(tile, "x86-avx2", false, NULL);
    has(s, "nn_f32x8 acc_0_0, acc_0_1, acc_1_0");
    cr_assert_eq(count(s, "= nn_fma_f32x8("), 12);
    cr_assert_eq(count(s, "= nn_ld_f32x8("), 2, "weights are loaded once each");
    cr_assert_eq(count(s, "= nn_splat_f32x8(x"), 6, "every input is spread once");
    has(s, "return _mm256_fmadd_ps(a, b, c);");
    s = print_with(tile, "x86-avx512", false, NULL);
    has(s, "nn_f32x16 acc_0, acc_1");
    cr_assert_eq(count(s, "= nn_fma_f32x16("), 6);
    s = print_with(tile, "aarch64", false, NULL);
    cr_assert_eq(count(s, "= nn_fma_f32x4("), 24);
    has(s, "vfmaq_f32(c, a, b)");
}
/* A tile of n rows of two vectors, once for each of eight places: b is the same in all, x is not. */
static const char *tiles(int n) {
    return arena_printf(&c->arena,
                        "proc tiles(x: f32[8,%d,40] in, w: f32[40,16] in, b: f32[16] in, y: f32[8,%d,16] out)\n"
                        "  for t<8\n    alloc acc: f32[%d,16] reg\n"
                        "    for i<%d unroll\n      for v<16 vector\n        acc[i,v] = b[v]\n"
                        "    for k<40\n      for i<%d unroll\n        for v<16 vector\n"
                        "          acc[i,v] = fma(x[t,i,k], w[k,v], acc[i,v])\n"
                        "    for i<%d unroll\n      for v<16 vector\n        y[t,i,v] = acc[i,v] * b[v] + y[t,i,v]\n",
                        n, n, n, n, n, n);
}
Test(emit, what_all_tiles_share_is_not_kept_in_registers) {
    const char *s = print_with(tiles(6), "x86-avx2", false, NULL);
    cr_assert_eq(count(s, "nn_ld_anew_f32x8(b"), 4, "before and after the sum");
    cr_assert_eq(count(s, "nn_ld_anew_f32x8("), 5, "and the helper; neither w, which changes with k, nor y");
    has(s, "*(const volatile nn_f32x8_mem *)p;");
    hasnt(print_with(tiles(3), "x86-avx2", false, NULL), "volatile"); /* there are registers left */
    hasnt(print_with(tile, "x86-avx2", false, NULL), "volatile");     /* there is one tile */
    hasnt(print_with(tiles(6), "x86-avx2", true, NULL), "volatile");
}
Test(emit, strict_c99_has_no_extension) {
    const char *s = print_with(tile, "x86-avx2", true, NULL);
    hasnt(s, "__attribute__");
    hasnt(s, "_mm");
    hasnt(s, "__builtin");
    hasnt(s, "_Pragma");
}
Test(emit, vectors_only_where_lanes_are_independent) {
    static const char *const prefix = "proc f(x: f32[16] in, y: f32[16] out, s: f32[1] inout)\n  for v<16 vector\n    "
                                      "s[0] += x[v]\n    y[v] = s[0]\n";
    hasnt(print_with(prefix, "x86-avx2", false, NULL), "nn_st_f32x8");
    static const char *const up = "proc f(y: f32[20] inout)\n  for v<16 vector\n    y[v + 1] = y[v] * 0.5\n";
    hasnt(print_with(up, "x86-avx2", false, NULL), "nn_st_f32x8");
    static const char *const down = "proc f(y: f32[20] inout)\n  for v<16 vector\n    y[v] = y[v + 1] * 0.5\n";
    has(print_with(down, "x86-avx2", false, NULL), "nn_st_f32x8");
}
Test(emit, shared_values_are_printed_once) {
    /* ten levels of t = t * t would be 1,024 loads as a tree */
    struct text s = {0};
    text_add(&s, "proc f(x: f32[1] in, y: f32[1] out)\n  let a0 = x[0] + 1.0\n");
    for (int k = 1; k <= 10; k++) text_printf(&s, "  let a%d = a%d * a%d\n", k, k - 1, k - 1);
    text_add(&s, "  y[0] = a10\n");
    const char *p = print_with(s.s, "c99", false, NULL);
    cr_assert_eq(count(p, "x[0]"), 1);
    cr_assert_eq(count(p, " * "), 10 + 2, "ten products, and two lines of the comment");
    text_free(&s);
}
Test(emit, schedule_stands_above_the_kernel) {
    const char *s = print_with(relu, "c99", false, "split i 4 io ii cut2");
    has(s, " * schedule: split i 4 io ii cut2");
}
Test(emit, scratch_and_fault_only_when_needed) {
    static const char *const arena = "proc f(x: f32[N] in, y: f32[N] out) [N in 1..100]\n  alloc t: f32[N] arena\n  "
                                     "for i<N\n    t[i] = x[i]\n  for i<N\n    y[i] = t[N - 1 - i]\n";
    struct module *m = loop_parse(c, arena, strlen(arena), "test");
    expr ws = scratch_bytes(c, m->procs.v[0]);
    int64_t lo, hi;
    x_bounds(c, ws, &lo, &hi);
    cr_assert_eq(lo, 64);
    cr_assert_eq(hi, 448);
    cr_assert(!proc_may_fault(m->procs.v[0]));
    has(print_with(arena, "c99", false, NULL), "ptrdiff_t N, void *restrict ws) {");
    static const char *const gather =
        "proc f(x: f32[9] in, g: i64[4] in, y: f32[4] out)\n  for i<4\n    y[i] = x[guard(toidx(g[i]), 9)]\n";
    has(print_with(gather, "c99", false, NULL), "y[i] = x[nn_guard(g[i], 9, fault)];");
}
/* Each copy of a loop's body that was written out has memory of its own, which the caller must give. */
Test(emit, scratch_is_that_of_what_is_printed) {
    static const char *const unrolled =
        "proc f(x: f32[3,16] in, y: f32[3,16] out)\n  for i<3 unroll\n    alloc t: f32[16] arena\n    for j<16\n"
        "      t[j] = x[i,j]\n    for j<16\n      y[i,j] = t[15 - j]\n";
    struct module *m = loop_parse(c, unrolled, strlen(unrolled), "test");
    struct module *p = printable(m, m->procs.v, 1, &(struct printing){.target = target_by_name("c99")}, true);
    cr_assert(x_is(scratch_bytes(c, p->procs.v[0]), 3 * 64));
    has(print_with(unrolled, "c99", false, NULL), "(unsigned char *)ws + 128)");
}
/* Callers go by the procedure that is printed: what a loop that never runs would need is no parameter. */
Test(emit, loops_that_never_run_need_no_parameters) {
    static const char *const never =
        "proc f(x: f32[1] in, y: f32[4,0] out)\n  for i<4\n    for k<0\n      alloc t: f32[100000] arena\n"
        "      t[k] = x[guard(k + 1, 1)]\n      y[i,k] = t[k]\n";
    has(print_with(never, "c99", false, NULL), "void f(const float *restrict x, float *restrict y) {\n");
}
Test(emit, same_text_twice) {
    const char *a = print_with(tile, "x86-avx2", false, NULL);
    char *kept = arena_printf(&c->arena, "%s", a);
    struct ctx *first = c;
    c = ctx_new();
    const char *b = print_with(tile, "x86-avx2", false, NULL);
    cr_assert_str_eq(kept, b);
    ctx_free(c);
    c = first;
}

/* ---- long lines */
static void wraps_to(const char *from, const char *to) {
    struct text t = {0};
    text_add(&t, from);
    emit_wrap(&t);
    cr_assert_str_eq(t.s, to, "\n%s\n", t.s);
    text_free(&t);
}
#define X40 "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"

Test(emit, lines_are_broken_outside_of_parentheses_first) {
    wraps_to("    f(" X40 ", g(" X40 ", 1, 2), " X40 ");\n",
             "    f(" X40 ", g(" X40 ", 1, 2),\n            " X40 ");\n");
    wraps_to("y = " X40 " < 2 && " X40 " < 3 ? " X40 " : 0.0f;\n",
             "y = " X40 " < 2 && " X40 " < 3\n        ? " X40 " : 0.0f;\n");
    wraps_to("z = (" X40 " + " X40 ") * " X40 ";\n", "z = (" X40 " + " X40 ")\n        * " X40 ";\n");
}
Test(emit, literals_comments_and_directives_stay_what_they_are) {
    const char *const whole[] = {"short, line\n",
                                 "puts(\"" X40 ", " X40 ", " X40 "\");\n",
                                 "#define M(a) " X40 ", " X40 ", " X40 "\n",
                                 "#define M(a) \\\n" X40 ", " X40 ", " X40 "\n",
                                 X40 X40 X40 X40 "\n",
                                 ""};
    for (size_t k = 0; k < sizeof whole / sizeof *whole; k++)
        if (*whole[k]) wraps_to(whole[k], whole[k]);
    wraps_to("/* " X40 " " X40 " " X40 " */\nint x;\n", "/* " X40 " " X40 "\n * " X40 " */\nint x;\n");
    wraps_to("/* a\n *   " X40 ", " X40 ", " X40 "\n */\n", "/* a\n *   " X40 ", " X40 ",\n * " X40 "\n */\n");
    wraps_to("/* " X40 "  " X40 " " X40 "                                        " X40 " */\n",
             "/* " X40 "  " X40 "\n * " X40 "\n * " X40 " */\n");
    wraps_to("f(\"" X40 "\\\", \", '\"', " X40 ", " X40 ");\n",
             "f(\"" X40 "\\\", \", '\"', " X40 ",\n        " X40 ");\n");
}
