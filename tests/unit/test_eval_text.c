/* The interpreter on programs in text form: control, instructions, blocked loops, prefetches. */
#include "ir/eval/eval.h"
#include "runtime_stub/nn_text.h"
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct ctx *c;
static void setup(void) { c = ctx_new(); }
static void teardown(void) { ctx_free(c); }
TestSuite(eval_text, .init = setup, .fini = teardown);

static struct module *parse(const char *text) {
    struct module *m = loop_parse(c, text, strlen(text), "test");
    if (!m) {
        struct text t = {0};
        diag_print(&c->diags, &t, false);
        cr_assert_fail("%s", t.s ? t.s : "no diagnostics");
    }
    return m;
}
static struct eval_result run(const char *text, struct eval_arg *args) {
    struct module *m = parse(text);
    struct eval_options o = {.poison = true};
    return loop_eval(m, m->entry ? m->entry : m->procs.v[m->procs.n - 1], args, NULL, &o);
}
static void ok(struct eval_result r) { cr_assert_eq(r.status, EVAL_OK, "%d: %s", r.status, r.message); }
static void fault(struct eval_result r, const char *text) {
    cr_assert_eq(r.status, EVAL_FAULT, "%d: %s", r.status, r.message);
    cr_assert(strstr(r.message, text), "message is: %s", r.message);
}

/* Whichever of many buffers it is: what is noted of one must not be written beside a table that has just grown. */
Test(eval_text, a_freed_buffer_is_not_read) {
    enum { MANY = 40 };
    for (int stale = 0; stale < MANY; stale++) {
        struct text t = {0};
        text_add(&t, "proc p(y: f32[1] out)\n");
        for (int k = 0; k < MANY; k++)
            text_printf(&t, "  alloc r%d: f32[1] region\n  r%d[0] = 1.0\n  free r%d\n", k, k, k);
        text_printf(&t, "  y[0] = r%d[0]\n", stale);
        struct eval_arg y = {.data = NULL};
        fault(run(t.s, &y), "is used after it was freed");
        free(y.data);
        text_free(&t);
    }
}

static const char grow[] = "entry proc grow(x: f32[1] in, m: i64[] in, sum: f32[] out, len: i64[] out)\n"
                           "  size n in 0..1000 = toidx(min(m[], 0i64) * 0)\n"
                           "  alloc cur: f32[n] region\n"
                           "  alloc it: i64[] stack\n"
                           "  it[] = 0i64\n"
                           "  while it[] < m[] max 20\n"
                           "    alloc next: f32[n+1] region\n"
                           "    for i<n\n"
                           "      next[i] = cur[i]\n"
                           "    next[n] = x[0] + f32(it[])\n"
                           "    swap cur, next\n"
                           "    size n in 0..1000 = n+1\n"
                           "    free next\n"
                           "    it[] += 1i64\n"
                           "  sum[] = 0.0\n"
                           "  for k<n\n"
                           "    sum[] += cur[k]\n"
                           "  len[] = idx(n)\n";
Test(eval_text, carried_values_may_grow) {
    float x = 0.5f;
    int64_t m = 15;
    struct eval_arg a[4] = {{&x, {1}, 1}, {&m, {0}, 0}, {.data = NULL}, {.data = NULL}};
    ok(run(grow, a));
    cr_assert_eq(*(float *)a[2].data, 15 * 0.5f + 105);
    cr_assert_eq(*(int64_t *)a[3].data, 15);
    free(a[2].data);
    free(a[3].data);
    a[2].data = a[3].data = NULL;
    m = 21;
    fault(run(grow, a), "more than 20 passes");
}
Test(eval_text, sizes_keep_their_value_outside_of_loops_that_set_others) {
    int64_t v[3] = {3, 1, 2};
    struct eval_arg a[2] = {{v, {3}, 1}, {.data = NULL}};
    ok(run("proc p(v: i64[3] in, y: i64[3] out)\n"
           "  for i<3\n"
           "    size s in 0..10 = toidx(v[i])\n"
           "    y[i] = 0i64\n"
           "    for k<s\n"
           "      for j<k+s\n"
           "        y[i] += idx(s)\n",
           a));
    cr_assert_arr_eq(a[1].data, ((int64_t[]){3 * 12, 1, 2 * 5}), 24);
    free(a[1].data);
}
Test(eval_text, instructions_run_their_body) {
    int32_t acc[4] = {1, 2, 3, 4}, want[4];
    uint8_t x[4] = {1, 2, 3, 250};
    int8_t w[16];
    for (int k = 0; k < 16; k++) w[k] = (int8_t)(k * 17 - 100);
    for (int o = 0; o < 4; o++) {
        want[o] = acc[o];
        for (int k = 0; k < 4; k++) want[o] += x[k] * w[o * 4 + k];
    }
    struct eval_arg a[3] = {{acc, {4}, 1}, {x, {4}, 1}, {w, {4, 4}, 2}};
    ok(run("proc p(y: i32[4] inout, x: u8[4] in, w: i8[4,4] in)\n"
           "  instr dot C=y+0, A=x+0, B=w+0\n"
           "    for o<4 vector\n"
           "      for k<4 unroll\n"
           "        y[o] += x[k] * w[o,k]\n",
           a));
    cr_assert_arr_eq(acc, want, sizeof want);
}
Test(eval_text, blocked_and_cut_loops_equal_the_stage) {
    static float x[18 * 35], w[35 * 32], y[2][18 * 32];
    for (int k = 0; k < 18 * 35; k++) x[k] = (float)(k * 37 % 101) / 16 - 3;
    for (int k = 0; k < 35 * 32; k++) w[k] = (float)(k * 53 % 97) / 32 - 1;
    struct eval_arg a[3] = {{x, {18, 35}, 2}, {w, {35, 32}, 2}, {y[0], {18, 32}, 2}},
                    b[3] = {a[0], a[1], {y[1], {18, 32}, 2}};
    ok(run("proc p(x: f32[18,35] in, w: f32[35,32] in, y: f32[18,32] out)\n"
           "  stage y[m<18, n<32] reduce + [k<35] = x[m,k] * w[k,n]\n",
           a));
    ok(run("proc p(x: f32[18,35] in, w: f32[35,32] in, y: f32[18,32] out)\n"
           "  for no<2\n"
           "    for mo<5\n"
           "      alloc acc: f32[4,16] reg\n"
           "      for m<4 unroll\n"
           "        for n<16 vector\n"
           "          acc[m,n] = 0.0\n"
           "      for k<35\n"
           "        for m2<4 unroll\n"
           "          for n2<16 vector\n"
           "            acc[m2,n2] += x[min(mo*4+m2, 17),k] * w[k,no*16+n2]\n"
           "      for m3<4\n"
           "        if mo*4+m3 < 18\n"
           "          for n3<16 vector\n"
           "            y[mo*4+m3,no*16+n3] = acc[m3,n3]\n",
           b));
    cr_assert_arr_eq(y[0], y[1], sizeof y[0]);
}
Test(eval_text, prefetches_are_traced_and_change_nothing) {
    struct module *m = parse("proc p(x: f32[64] in, y: f32[2] out)\n"
                             "  for i<2\n"
                             "    prefetch x + i*32+20\n"
                             "    y[i] = x[i]\n");
    char *got = NULL;
    size_t n = 0;
    FILE *f = open_memstream(&got, &n);
    struct eval_options o = {.poison = true, .trace_prefetch = f};
    float x[64] = {7, 8};
    struct eval_arg a[2] = {{x, {64}, 1}, {.data = NULL}};
    ok(loop_eval(m, m->procs.v[0], a, NULL, &o));
    fclose(f);
    cr_assert_str_eq(got, "x+20 line 1\nx+52 line 3\n");
    cr_assert_eq(((float *)a[1].data)[1], 8);
    free(got);
    free(a[1].data);
}
/* What one-pass loops side by side allocate, written out: each time the cells are new. */
Test(eval_text, a_buffer_is_allocated_again) {
    float x[2] = {3, 4};
    struct eval_arg a[2] = {{x, {2}, 1}, {.data = NULL}};
    ok(run("proc p(x: f32[2] in, y: f32[2] out)\n"
           "  alloc acc: f32[1] reg\n"
           "  acc[0] = x[0]\n"
           "  y[0] = acc[0]\n"
           "  alloc acc: f32[1] reg\n"
           "  acc[0] = x[1]\n"
           "  y[1] = acc[0]\n",
           a));
    cr_assert_arr_eq(a[1].data, x, sizeof x);
    free(a[1].data);
    a[1].data = NULL;
    fault(run("proc p(x: f32[2] in, y: f32[2] out)\n"
              "  alloc acc: f32[1] reg\n"
              "  acc[0] = x[0]\n"
              "  y[0] = acc[0]\n"
              "  alloc acc: f32[1] reg\n"
              "  y[1] = acc[0]\n",
              a),
          "acc");
}
Test(eval_text, memory_of_the_region_is_freed_before_it_is_allocated_again) {
    struct module *m =
        parse("proc p(y: f32[1] out)\n  alloc r: f32[1] region\n  r[0] = 1.0\n  y[0] = r[0]\n  free r\n");
    struct stmt *alloc = m->procs.v[0]->body.first, *again = s_new(c, S_ALLOC);
    struct eval_arg a = {.data = NULL};
    struct eval_options o = {.poison = true};
    again->u.alloc = alloc->u.alloc;
    stmt_insert_before(alloc->next, again);
    struct eval_result r = loop_eval(m, m->procs.v[0], &a, NULL, &o);
    cr_assert(r.status != EVAL_OK && strstr(r.message, "r is allocated twice"), "%d: %s", r.status, r.message);
}
Test(eval_text, gathers_with_a_bad_index_are_found) {
    float x[6] = {0, 1, 2, 3, 4, 5};
    int64_t k[9] = {0, 5, 3, 3, 1, 2, 4, 0, 1};
    struct eval_arg a[3] = {{x, {6}, 1}, {k, {9}, 1}, {.data = NULL}};
    const char *text = "proc p(x: f32[6] in, k: i64[9] in, y: f32[9] out)\n"
                       "  for i<9\n"
                       "    y[i] = x[toidx(k[i])]\n";
    ok(run(text, a));
    for (int j = 0; j < 9; j++) cr_assert_eq(((float *)a[2].data)[j], (float)k[j]);
    free(a[2].data);
    a[2].data = NULL;
    k[8] = 6;
    fault(run(text, a), "buffer x: index (6) of dim 0 outside [0, 6)");
    k[8] = -1;
    fault(run(text, a), "buffer x: index (-1)");
}
Test(eval_text, kernels_with_functions_and_symbols) {
    float x[10], y[10];
    for (int j = 0; j < 10; j++) x[j] = (float)j - 4.5f;
    struct eval_arg a[2] = {{x, {2, 5}, 2}, {y, {2, 5}, 2}};
    ok(run("fn relu6(x: f32): f32 = min(max(x, 0.0), 6.0)\n"
           "proc k(x: f32[N] in, y: f32[N] out) [N]\n"
           "  for i<N\n"
           "    y[i] = relu6(x[i]) + relu6(x[i] * 2.0)\n"
           "entry proc p(x: f32[M,5] in, y: f32[M,5] out) [M in 1..9]\n"
           "  call k(in x, out y; M*5)\n",
           (struct eval_arg[]){a[0], a[1]}));
    for (int j = 0; j < 10; j++) {
        float u = x[j] > 0 ? x[j] : 0, v = x[j] * 2 > 0 ? x[j] * 2 : 0;
        cr_assert_eq(y[j], (u < 6 ? u : 6) + (v < 6 ? v : 6));
    }
}
Test(eval_text, wide_elements_move_as_a_unit) {
    struct str_elem in[3] = {{"a", 1}, {"bc", 2}, {"", 0}};
    double z[4] = {1, 2, 3, 4};
    struct eval_arg a[4] = {{in, {3}, 1}, {.data = NULL}, {z, {2}, 1}, {.data = NULL}};
    ok(run("proc p(x: str[3] in, y: str[3] out, u: c128[2] in, v: c128[2] out)\n"
           "  for i<3\n"
           "    y[i] = select(i < 1, x[2], x[i-1])\n"
           "  for j<2\n"
           "    v[j] = u[1-j]\n",
           a));
    struct str_elem *y = a[1].data;
    cr_assert(y[0].n == 0 && y[1].p == in[0].p && y[2].p == in[1].p && y[2].n == 2);
    cr_assert_arr_eq(a[3].data, ((double[]){3, 4, 1, 2}), 32);
    free(a[1].data);
    free(a[3].data);
}
Test(eval_text, strings_are_ordered_by_their_bytes) {
    struct str_elem x[6] = {{"", 0}, {"a\0b", 3}, {"a\0c", 3}, {"a", 1}, {"\xff", 1}, {NULL, 0}};
    struct eval_arg a[2] = {{x, {6}, 1}, {.data = NULL}};
    ok(run("proc p(x: str[6] in, y: i64[6,6] out)\n"
           "  for i<6\n"
           "    for j<6\n"
           "      y[i,j] = select(x[i] < x[j], -1i64, select(x[i] == x[j], 0i64, 1i64)) + select(x[j] == \"\", 10i64, "
           "0i64)\n",
           a));
    static const int rank[6] = {0, 2, 3, 1, 4, 0};
    const int64_t *order = a[1].data;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            cr_assert_eq(order[6 * i + j], (rank[i] > rank[j]) - (rank[i] < rank[j]) + (rank[j] ? 0 : 10));
    free(a[1].data);
}
Test(eval_text, functions_of_strings_bound_what_they_read) {
    struct str_elem x[5] = {{"ab\0c", 4}, {"", 0}, {"\xc3\xa4z", 3}, {"\xff\xc3", 2}, {"-1.5e1x", 7}};
    struct eval_arg a[3] = {{x, {5}, 1}, {.data = NULL}, {.data = NULL}};
    ok(run("proc p(x: str[5] in, y: i64[5,6] out, z: str[5] out)\n"
           "  for i<5\n"
           "    y[i,0] = length(x[i])\n"
           "    y[i,1] = i64(byte(x[i], -1i64)) + i64(byte(x[i], 99i64)) + i64(byte(x[i], 3i64))\n"
           "    y[i,2] = find(x[i], part(x[i], 2i64, 9223372036854775807i64), 0i64)\n"
           "    y[i,3] = i64(char_at(x[i], 0i64))\n"
           "    y[i,4] = i64(is_number(x[i], 0i32))\n"
           "    y[i,5] = i64(float_of(x[i]))\n"
           "    z[i] = part(x[i], 1i64, -5i64)\n",
           a));
    static const int64_t want[5][6] = {{4, 'c', 2, 'a', 0, 0},
                                       {0, 0, 0, 0, 0, 0},
                                       {3, 0, 2, 0xe4, 0, 0},
                                       {2, 0, 0, -256, 0, 0},
                                       {7, '5', 2, '-', 1, -15}};
    cr_assert_arr_eq(a[1].data, want, sizeof want);
    for (int k = 0; k < 5; k++) cr_assert_eq(((struct str_elem *)a[2].data)[k].n, 0);
    free(a[1].data);
    free(a[2].data);
}
Test(eval_text, characters_are_the_bytes_they_came_from) {
    for (int32_t ch = 0; ch <= 0x10ffff; ch++) {
        if (ch == 0xd800) ch = 0xe000; /* surrogates are no characters */
        char bytes[4];
        int n = 0;
        while (n < 4 && nn_char_byte(ch, n) >= 0) bytes[n] = (char)nn_char_byte(ch, n), n++;
        cr_assert(nn_char_at((nn_str){bytes, (size_t)n}, 0) == ch && nn_char_byte(ch, n) < 0, "U+%04X", (unsigned)ch);
    }
    cr_assert_eq(nn_char_byte(0xe4, 0), 0xc3);
    cr_assert_eq(nn_char_byte(0x20ac, 0), 0xe2);
    cr_assert_eq(nn_char_byte(0x1f600, 0), 0xf0);
    cr_assert_eq(nn_char_byte(-1 - 0x83, 0), 0x83); /* a byte that begins none */
}
