/* Problems of kernels (lower/problem/): the class, the roles of axes, and what is done to factors, however a model
 * calls it. The names in these texts are the problem's own. */
#include "lower/problem/problem.h"
#include "ops_kit.h"

TestSuite(problem, .init = setup, .fini = done);

static const char *problems(const char *consts, const char *params, const char *nodes) {
    struct text t = {0};
    struct lower_options o = {.target = target_by_name("x86-avx2"), .problems = &t};
    struct module *m = lower_graph(graph_of(consts, params, nodes), &o);
    cr_assert(m && t.s, "%s", nodes);
    const char *s = arena_printf(&c->arena, "%s", t.s);
    text_free(&t);
    return s;
}
static void says(const char *text, const char *part) { cr_expect(strstr(text, part), "no `%s` in\n%s", part, text); }

Test(problem, convolution) {
    const char *t = problems("const %w: f32[16,8,3,3] = splat 0.5\n", "%x: f32[2,8,14,14]",
                             "%y: ? = Conv(%x, %w) {kernel_shape=[3,3], pads=[1,1,1,1]}");
    says(t, "contraction\n");
    says(t, "axes m0<2 n0<16 s0<14 s1<14; sums k0<8 w0<3 w1<3\n");
    says(t, "b: f32[16,8,3,3] constant\n");
    says(t, "+= a[m0,k0,s0+w0-1,s1+w1-1 else 0.0] * b[n0,k0,w0,w1]");
}
Test(problem, groups_share_what_they_read) {
    const char *t = problems("const %w: f32[16,4,3] = splat 0.5\n", "%x: f32[1,8,14]",
                             "%y: ? = Conv(%x, %w) {kernel_shape=[3], group=2}");
    says(t, "contraction\n");
    says(t, "axes m0<1 g0<16 s0<12; sums k0<4 w0<3\n");
}
Test(problem, depthwise_is_a_window) {
    const char *t = problems("const %w: f32[8,1,3] = splat 0.5\n", "%x: f32[1,8,14]",
                             "%y: ? = Conv(%x, %w) {kernel_shape=[3], group=8}");
    says(t, "window\n");
    says(t, "axes m0<1 b0<8 s0<12; sums k0<1 w0<3\n");
}
Test(problem, one_channel_is_summed_over_its_window) {
    const char *t =
        problems("const %w: f32[8,1,3] = splat 0.5\n", "%x: f32[1,1,14]", "%y: ? = Conv(%x, %w) {kernel_shape=[3]}");
    says(t, "contraction\n");
    says(t, "axes m0<1 n0<8 s0<12; sums k0<1 w0<3\n");
}
Test(problem, transposed_convolution) {
    const char *t = problems("const %w: f32[8,16,4] = splat 0.5\n", "%x: f32[1,8,14]",
                             "%y: ? = ConvTranspose(%x, %w) {kernel_shape=[4], strides=[2], pads=[1,1]}");
    says(t, "contraction\n");
    says(t, "axes m0<1 n0<16 s0<28; sums k0<8 w0<2\n");
}
Test(problem, product_with_batch_and_open_sizes) {
    const char *t = problems("", "%x: f32[4,N,32], %w: f32[4,32,48]", "%y: ? = MatMul(%x, %w)");
    says(t, "contraction\n");
    says(t, "axes b0<4 m0<S0 n0<48; sums k0<32\n");
    says(t, "  S0: 0..128\n");
    t = problems("", "%x: f32[4,1,32], %w: f32[4,32,48]", "%y: ? = MatMul(%x, %w)");
    says(t, "contraction\n"); /* one row: no factor has an axis of more cells that the other lacks, but k is summed */
}
Test(problem, attention) {
    const char *t = problems("", "%q: f32[2,3,N,8], %k: f32[2,3,N,8]",
                             "%t: ? = Transpose(%k) {perm=[0,1,3,2]} %y: ? = MatMul(%q, %t)");
    says(t, "axes b0<2 b1<3 m0<S0 n0<S0; sums k0<8\n");
    says(t, "+= a[b0,b1,m0,k0] * b[b0,b1,k0,n0]");
}
Test(problem, integers_less_zero_points) {
    const char *t = problems("const %w: u8[32,48] = splat 103\nconst %zw: u8[48] = splat 2\n",
                             "%x: u8[5,32], %zx: u8[]", "%y: ? = MatMulInteger(%x, %w, %zx, %zw)");
    says(t, "contraction\n");
    says(t, "axes m0<5 n0<48; sums k0<32\n");
    says(t, "a: i16[5,32]\n");           /* in what the machine multiplies */
    says(t, "b: i16[32,48] constant\n"); /* 103 - 2 */
    says(t, "x1: i32[48] constant\n");   /* their sums */
    says(t, "sum[m0,n0]: i32 += a[m0,k0] * b[k0,n0], over k0<32, from 0i32 - x0[] * x1[n0]");
}
Test(problem, qlinearconv) {
    const char *t = problems("const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %w: u8[16,8,3] = splat 1\n",
                             "%x: u8[1,8,14]",
                             "%y: ? = QLinearConv(%x, %s, %z, %w, %s, %z, %s, %z) {kernel_shape=[3], pads=[1,1]}");
    says(t, "contraction\n");
    says(t, "axes m0<1 n0<16 s0<14; sums k0<8 w0<3\n");
    says(t, "b: i8[16,8,3] constant\n"); /* 1 - 7 */
    says(t, ": i32 += a[m0,k0,s0+w0-1 else 7i32] * b[n0,k0,w0]");
    says(t, "]: u8 = "); /* is requantised */
}
Test(problem, pooling) {
    const char *t = problems("", "%x: f32[1,8,14,14]", "%y: ? = MaxPool(%x) {kernel_shape=[3,3], strides=[2,2]}");
    says(t, "window\n");
    says(t, "axes b0<1 b1<8 s0<6 s1<6; sums w0<3 w1<3\n");
    says(t, ": f32 max= x0[");
}
Test(problem, rows_of_softmax) {
    const char *t = problems("", "%x: f32[4,N]", "%y: ? = Softmax(%x) {axis=1}");
    says(t, "rows\n");
    says(t, "axes b0<4; sums k0<S0\n");
}
Test(problem, moves) {
    const char *t = problems("", "%x: f32[2,30,28]", "%y: ? = Transpose(%x) {perm=[0,2,1]}");
    says(t, "move\n");
    says(t, "y0[c0,c1,c2]: f32 = x0[c0,c2,c1]\n");
    t = problems("", "%x: f32[2,30], %z: f32[2,12]", "%y: ? = Concat(%x, %z) {axis=1}");
    says(t, "move\n");
    says(t, "for i0<2 i1<30: y0[i0,i1] = x0[i0,i1], turns apart\n");
    t = problems("const %a: i64[1] = [1] const %b: i64[1] = [27] const %d: i64[1] = [1] const %s: i64[1] = [2]\n",
                 "%x: f32[2,30]", "%y: ? = Slice(%x, %a, %b, %d, %s)");
    says(t, "move\n");
    t = problems("", "%x: f32[8,4], %i: i64[3]", "%y: ? = Gather(%x, %i)");
    says(t, "move, places from data\n");
}
static const char *problem_of_text(const char *text) {
    struct module *m = loop_parse(c, text, strlen(text), "t.lir");
    struct problem p;
    struct text t = {0};
    cr_assert(m && m->procs.n);
    kernel_problem(c, m->procs.v[0], &p);
    problem_print(&t, c, &p);
    const char *s = arena_printf(&c->arena, "%s", t.s);
    text_free(&t);
    return s;
}
Test(problem, texts_say_which_turns_are_apart) {
    const char *head = "proc f(x: f32[4,9] in, y: f32[4,9] out)\n  for i<4\n    for j<9\n";
    const char *own = "      y[i,j] = x[i,j]\n      y[i,j] *= 2.0\n",
               *others = "      y[i,j] = y[3-i,j]\n      y[i,j] *= 2.0\n";
    const char *t = problem_of_text(arena_printf(&c->arena, "%s%s", head, own));
    says(t, "text\n");
    says(t, "for i0<4 i1<9, turns apart\n");
    says(problem_of_text(arena_printf(&c->arena, "%s%s", head, others)), "for i0<4 i1<9\n");
    says(problem_of_text(arena_printf(&c->arena, "%s      y[j//3,j] = x[i,j]\n", head)),
         "for i0<4 i1<9: y0[i1//3,i1] = x0[i0,i1]\n");
    t = problems("const %k: i64[] = [1]\n", "%x: f32[4,9]", "%y: ? = CumSum(%x, %k)");
    says(t, "cumsum_f32: text\n  for i0<4 i1<1, turns apart\n");
    /* what all calls give alike is a constant */
    t = problems("const %k: i64[] = [1]\n", "%x: f32[N,9]", "%y: ? = CumSum(%x, %k)");
    says(t, "cumsum_f32: text\n  for i0<S0 i1<1, turns apart\n");
    t = problems("const %k: i64[] = [1]\nconst %l: i64[] = [2]\n", "%x: f32[4,9,3]",
                 "%z: ? = CumSum(%x, %k) %y: ? = CumSum(%z, %l)");
    says(t, "cumsum_f32: text\n  for i0<S0 i1<S1, turns apart\n");
    const char *sums = "proc f(x: f32[4,9] in, y: f32[4] out)\n  alloc s: f32[] stack\n  for i<4\n    s[] = 0.0\n"
                       "    for j<9\n      s[] += x[i,j]\n    y[i] = s[]\n";
    says(problem_of_text(sums), "text\n  for i0<4\n"); /* all turns add in one cell of scratch */
}
Test(problem, equal_problems_have_one_text) {
    const char *consts = "const %w: f32[16,8] = splat 0.5\n";
    const char *a = problems(consts, "%x: f32[N,16]", "%y: ? = MatMul(%x, %w)"),
               *b = problems(consts, "%rows: f32[N,16]", "%other: ? = MatMul(%rows, %w) %y: ? = Identity(%other)");
    cr_assert_str_eq(strchr(a, '\n'), arena_printf(&c->arena, "%.*s", (int)strlen(strchr(a, '\n')), strchr(b, '\n')));
}
