/* The rules of the loop IR: clean texts pass, each planted fault is found and named. */
#include "loop_text.h"

static struct ctx *c;
static void setup(void) { c = ctx_new(); }
static void teardown(void) { ctx_free(c); }
TestSuite(loop_verify, .init = setup, .fini = teardown, .timeout = 60);

static struct module *parse(const char *s) {
    struct module *m = loop_parse(c, s, strlen(s), "t.lir");
    cr_assert(m, "%s\n%s", complaints(c), s);
    return m;
}
Test(loop_verify, samples_pass_before_and_after_lowering) {
    static const char *const samples[] = {"conv3x3", "softmax", "layernorm", "nonzero",
                                          "while",   "kinds",   "exprs",     NULL};
    for (int k = 0; samples[k]; k++) {
        size_t n;
        char *s = sample(samples[k], &n);
        struct module *m = parse(s);
        cr_expect(loop_verify(m, NULL), "%s: %s", samples[k], complaints(c));
        for (int j = 0; j < m->procs.n; j++) lower_stages(c, m->procs.v[j]);
        cr_expect(loop_verify(m, NULL), "%s, lowered: %s", samples[k], complaints(c));
        free(s);
    }
}

/* A big model: what the first check of many says of the inputs, and what the last one says right before a call. */
Test(loop_verify, the_first_and_the_last_of_many_checks) {
    struct text t = {0};
    text_add(&t, "proc q(x: f32[N] in, y: f32[N] in) [N in 0..9]\n  barrier\n\n"
                 "proc p(x: f32[N] in, y: f32[M] in) [N, M");
    for (int k = 0; k < 300; k++) text_printf(&t, ", A%d", k);
    text_add(&t, "]\n  check N <= 9 else large\n");
    for (int k = 1; k < 300; k++) text_printf(&t, "  check A%d == A%d else differ\n", k - 1, k);
    text_add(&t, "  check N == M else differ\n  call q(in x, in y; N)\n");
    cr_expect(loop_verify(parse(t.s), NULL), "%s", complaints(c));
    text_free(&t);
}

/* ---- texts that must pass */
static const char *const fine[] = {
    /* what values are known to lie within */
    "proc q(x: i8[2] in within -127..127, y: i8[2] out)\n  y[0] = x[0]\n\nentry proc p(y: i8[2] out)\n  const k: i8[2] "
    "= "
    "{-127, 3}\n  const l: i8[2] within -8..8 ...\n  call q(in k, out y)\n  call q(in l, out y)\n",
    "proc p(at: i32[5000] in within 0..9, y: f32[10] out)\n  for i<5000\n    y[toidx(at[i])] = 0.0\n",
    "proc p(at: i32[3] in within 0..2, y: f32[6] out)\n  for i<3\n    for j<3\n      y[toidx(at[i])+j+1] = 0.0\n",
    /* bounds from conditions */
    "proc p(y: f32[N] out) [N]\n  for i<N\n    if i+1 < N\n      y[i+1] = 0.0\n",
    "proc p(y: f32[N] out) [N]\n  for i<100\n    if i < N and 3 <= i\n      y[i-3] = 0.0\n",
    "proc p(y: f32[N] out) [N]\n  for i<100\n    if N <= i\n      barrier\n    else\n      y[i] = 0.0\n",
    "proc p(y: f32[N] out) [N]\n  for i<100\n    if N <= i or i < 3\n      barrier\n    else\n      y[i-3] = 0.0\n",
    "proc p(y: f32[N*4] out) [N]\n  for i<100\n    for j<4\n      if i < N\n        y[i*4+j] = 0.0\n",
    "proc p(x: f32[N] in, y: f32[N] out) [N]\n  for i<N\n    y[i] = select(i == 0, 0.0, x[i-1])\n",
    "proc p(x: f32[N] in, y: f32[N] out) [N]\n  for i<N\n    y[select(0 < i, i-1, i)] = x[i]\n",
    "proc p(x: f32[N] in, y: f32[N] out) [N]\n  for i<N\n    y[i] = select(i+1 < N, select(0 < i, x[i-1] + x[i+1], "
    "x[i]), x[i])\n",
    "proc p(x: f32[N,M] in, y: f32[K] out) [N, M, K]\n  check N == K else differ\n  for i<N\n    y[i] = 0.0\n",
    "proc p(y: f32[N] out) [N]\n  for i<N\n    y[0] = 0.0\n",
    /* loops that never run both: N is at most 4, or at least 32 */
    "proc p(y: f32[4] out) [N]\n  for i<max((-N+1)//3+2, 0)\n    for k<N//32\n      y[i*3+k*32+16] = 0.0\n",
    /* a digit of N that is 1 bounds N//6 */
    "proc p(y: f32[N//4+1] out) [N]\n  for i<N//3%2\n    y[(N//6*3+1)//2] = 0.0\n",
    "proc p(y: f32[N] out) [N]\n  for i<N%6-2\n    y[N//6*6+2] = 0.0\n",
    "proc p(x: f32[N] in, y: f32[N] out) [N]\n  for i<N//4\n    for j<4\n      y[i*4+j] = x[i*4+j]\n",
    "proc p(i: i64[4] in, y: f32[N] out) [N]\n  y[guard(toidx(i[0]), N)] = 0.0\n",
    "proc p(y: f32[M] out) [M]\n  if 2 < M\n    for o<(M+2)//3\n      for i<3\n        y[min(o*3, M-3)+i] = 0.0\n",
    "proc p(y: f32[M] out) [M]\n  for o<M%9//8%2\n    for i<8\n      y[M//9*9+o*8+i] = 0.0\n"
    "  for o<M%9//4%2\n    for i<4\n      y[M//9*9+M%9-M%9%8+o*4+i] = 0.0\n",
    /* parallel loops */
    "proc p(y: f32[16,8] out)\n  for t<32 gpu.thread.x\n    for m<2\n      for n<2\n        y[m*8+t//4,t%4*2+n] = "
    "0.0\n",
    "proc p(y: f32[64] out)\n  for i<16 parallel\n    for j<4\n      y[i*4+j] = 0.0\n",
    "proc p(y: f32[N*M] out) [N, M]\n  for i<N parallel\n    for j<M\n      y[i*M+j] = 0.0\n",
    "proc p(y: f32[4,16] out)\n  for f<64 parallel\n    y[f//16,f%16] = 0.0\n",
    "proc p(y: f32[4,5,16] out)\n  for f<320 parallel\n    y[f//80,f//16%5,f%16] = 0.0\n",
    "proc p(y: f32[16,9,4] out)\n  for f<64 parallel\n    for j<9\n      y[f//4,j,f%4] = 0.0\n",
    "proc p(y: f32[7,3,16] out)\n  for i<3 parallel\n    for l<2\n      y[i*17//8,2,l+i*17%8*2] = 0.0\n"
    "      y[(i*17+16)//8,2,l+(i*17+16)%8*2] = 0.0\n",
    "proc p(y: f32[14,3,8] out)\n  for f<24 parallel\n    for l<2\n      y[(f%8)*7//4,f//8,l+((f%8)*7%4)*2] = 0.0\n"
    "      y[((f%8)*7+1)//4,f//8,l+(((f%8)*7+1)%4)*2] = 0.0\n",
    "proc p(x: f32[8] in, y: f32[8] out)\n  for i<8 parallel\n    alloc t: f32[1] stack\n    t[0] = x[i]\n    y[7-i] = "
    "t[0]\n",
    "proc p(y: f32[8] inout)\n  for i<8 parallel\n    y[i] += y[i]\n",
    "proc p(y: f32[64] out)\n  for a<2 gpu.thread.y\n    for b<2 gpu.thread.x\n      for w<16\n        y[a*2+b+w*4] = "
    "0.0\n",
    "proc p(y: f32[8] out)\n  for i<1 parallel\n    y[0] = 0.0\n",
    "proc p(y: f32[30] out)\n  for i<8 parallel\n    for j<8\n      if j < 3\n        y[i*3+j] = 0.0\n",
    "proc p(y: f32[8,N] out, n: i64[8] in) [N]\n  for i<8 parallel\n    y[i,guard(toidx(n[i]), N)] = 0.0\n",
    /* independent loops: scratch is stored first, by each way, and not read afterwards */
    "proc p(x: f32[8] in, y: f32[8] out)\n  alloc t: f32[] stack\n  for i<8 independent\n    t[] = x[i]\n    y[i] = "
    "t[] * t[]\n",
    "proc p(x: f32[8] in, y: f32[8] out)\n  alloc t: f32[] stack\n  for i<8 independent\n    if i < 4\n      t[] = "
    "x[i]\n    else\n      t[] = 0.0\n    y[i] = t[]\n  t[] = 1.0\n  y[0] = t[]\n",
    "proc p(x: f32[8,N] in, y: f32[8] out) [N]\n  alloc t: f32[N] arena\n  for i<8 independent\n    for j<N\n      "
    "t[j] = "
    "x[i,j]\n    y[i] = 0.0\n    for j<N\n      y[i] += t[j]\n",
    "proc p(x: f32[8] in, y: f32[8,9] out)\n  alloc t: f32[] stack\n  for j<9\n    for i<8 independent\n      t[] = "
    "x[i]\n      while t[] > 1.0\n        t[] *= 0.5\n      y[i,j] = t[]\n",
    "proc p(y: f32[] out)\n  for i<8 independent assumed\n    y[] = 0.0\n",
    "proc p(y: f32[] out)\n  y[] = 0.0\n  for i<1 independent\n    y[] += 1.0\n",
    /* vector loops */
    "proc p(x: f32[16] in, y: f32[] out)\n  y[] = 0.0\n  for v<16 vector\n    y[] += x[v]\n",
    "proc p(x: f32[4,16] in, y: f32[4,16] out) [N]\n  for i<4\n    for v<16 vector\n      if i < N\n        y[i,v] = "
    "x[i,v] * x[i,0]\n",
    /* a size is set anew only for region buffers */
    "entry proc p()\n  size n in 0..9 = 1\n  for i<3\n    size n in 0..9 = 2\n", NULL};
Test(loop_verify, sound_texts_pass) {
    for (int k = 0; fine[k]; k++) {
        struct module *m = parse(fine[k]);
        cr_expect(loop_verify(m, NULL), "%s\n%s", complaints(c), fine[k]);
        c->diags.n = c->diags.errors = 0;
    }
}

/* Operands one behind the other, each as long as the run finds, at most 300: the text of a Concat of n of them, where
 * part `late` is read one cell too late (-1: none). The loop over cells is split. */
static void choices(struct text *t, int from, int n, int late) {
    if (n == 1) {
        text_printf(t, "x%d[i*8+j", from);
        for (int k = 0; k < from; k++) text_printf(t, "-min(300, n%d)", k);
        text_add(t, from == late ? "+1]" : "]");
        return;
    }
    int half = n / 2;
    text_add(t, "select(i*8+j < ");
    for (int k = 0; k < from + half; k++) text_printf(t, "%smin(300, n%d)", k ? "+" : "", k);
    text_add(t, ", ");
    choices(t, from, half, late);
    text_add(t, ", ");
    choices(t, from + half, n - half, late);
    text_add(t, ")");
}
static bool concat_is_sound(int n, int late) {
    struct text t = {0}, sum = {0};
    for (int k = 0; k < n; k++) text_printf(&sum, "%smin(300, n%d)", k ? "+" : "", k);
    text_add(&t, "proc p(");
    for (int k = 0; k < n; k++) text_printf(&t, "x%d: f32[min(300, n%d)] in, ", k, k);
    text_printf(&t, "y: f32[%s] out) [", sum.s);
    for (int k = 0; k < n; k++) text_printf(&t, "%sn%d in 0..9999", k ? ", " : "", k);
    text_printf(&t, "]\n  for i<(%s+7)//8\n    for j<8\n      if i*8+j < %s\n        y[i*8+j] = ", sum.s, sum.s);
    choices(&t, 0, n, late);
    text_char(&t, '\n');
    bool ok = loop_verify(parse(t.s), NULL);
    text_free(&t), text_free(&sum);
    return ok;
}
Test(loop_verify, many_sizes_of_the_run_in_a_row, .timeout = 20) {
    cr_expect(concat_is_sound(5, -1), "%s", complaints(c));
    cr_expect(concat_is_sound(24, -1), "%s", complaints(c));
    cr_expect_not(concat_is_sound(5, 2));
    cr_expect_not(concat_is_sound(24, 23));
}

/* ---- planted faults */
static const struct {
    const char *text, *message;
} wrong[] = {
    {"proc p(y: f32[4] out)\n  for i<5\n    y[i] = 0.0\n", "`y[i] = 0.0`: index 1 of y: i may be at or above 4"},
    {"proc p(y: f32[4] out)\n  for i<4\n    y[i-1] = 0.0\n", "i-1 may be below 0"},
    {"proc p(y: f32[N] out) [N]\n  y[0] = 0.0\n", "0 may be at or above N"},
    {"proc p(x: f32[4] in, y: f32[4] out)\n  for i<4\n    y[i] = x[i+1]\n", "index 1 of x"},
    {"proc p(x: f32[4] in, y: f32[4] out)\n  for i<4\n    y[i] = select(i < 3, x[i+2], 0.0)\n", "index 1 of x"},
    {"proc p(x: f32[4] in, y: f32[4] out)\n  for i<4\n    y[i] = select(i < 3, 0.0, x[i+1])\n", "index 1 of x"},
    {"proc p(y: f32[N] out) [N]\n  for i<100\n    if i < N\n      barrier\n    else\n      y[i] = 0.0\n",
     "index 1 of y"},
    {"proc p(y: f32[N] out) [N]\n  for i<100\n    if i < N or i < 3\n      y[i] = 0.0\n", "index 1 of y"},
    {"proc p(y: f32[N] out) [N]\n  for i<100\n    if i < N\n      barrier\n    y[i] = 0.0\n", "index 1 of y"},
    {"proc p(i: i64[4] in, y: f32[N] out) [N]\n  y[toidx(i[0])] = 0.0\n", "index 1 of y: toidx(i[0]) may be below 0"},
    {"proc p(i: i64[4] in, y: f32[9] out)\n  if 0 <= toidx(i[0]) and toidx(i[0]) < 9\n    i[0] = 99\n    "
     "y[toidx(i[0])] = 0.0\n",
     "index 1 of y"},
    {"proc p(at: i32[3] in within 0..10, y: f32[10] out)\n  for i<3\n    y[toidx(at[i])] = 0.0\n", "index 1 of y"},
    {"proc p(at: i32[3] in within -1..9, y: f32[10] out)\n  for i<3\n    y[toidx(at[i])] = 0.0\n", "index 1 of y"},
    {"proc p(y: f32[4,4] out)\n  y[0] = 0.0\n", "y has 2 dims, but 1 indices"},
    {"proc p(x: f32[4] in, y: f32[4] out)\n  y[0] = x[]\n", "x has 1 dims, but 0 indices"},
    {"proc p(x: f32[4] in)\n  x[0] = 0.0\n", "x is an `in` parameter, but stored to"},
    {"proc p(x: f32[4] out)\n  const k: f32[1] = {1.0}\n  k[0] = 0.0\n", "k is constant, but stored to"},
    {"proc p(x: f32[4] in)\n  stage x[i<4] = 0.0\n", "x is an `in` parameter, but stored to"},
    /* V4a */
    {"proc p(y: i8[2] out within 0..1)\n  y[0] = 2\n", "only whole numbers of constants"},
    {"proc p(x: f32[2] in within 0..1)\n  barrier\n", "only whole numbers of constants"},
    {"entry proc p(x: i8[2] in within 0..1)\n  barrier\n", "only whole numbers of constants"},
    {"proc p()\n  alloc a: i8[2] arena within 0..1\n", "only whole numbers of constants"},
    {"proc p()\n  const k: i8[2] within -127..127 = {-128, 0}\n", "not all cells of k are within -127..127"},
    {"proc p()\n  const k: i8[2] within 1..127 = {1, 2}\n", "not all cells of k are within 1..127"},
    {"proc q(x: i8[2] in within -127..127)\n  barrier\n\nentry proc p(x: i8[2] in)\n  call q(in x)\n",
     "x is not known to lie within -127..127, as parameter x must"},
    {"proc q(x: i8[2] in within -127..127)\n  barrier\n\nentry proc p()\n  const k: i8[2] = {0, -128}\n  call q(in "
     "k)\n",
     "k is not known to lie within -127..127, as parameter x must"},
    {"proc q(x: i8[2] in within -127..127)\n  barrier\n\nentry proc p()\n  const k: i8[2] within -128..0 ...\n"
     "  call q(in k)\n",
     "k is not known to lie within -127..127, as parameter x must"},
    {"proc p(y: f32[N] out) [N]\n  for i<N unroll\n    y[i] = 0.0\n", "unroll needs a constant extent, not N"},
    {"proc p(y: f32[N] out) [N]\n  for i<N vector\n    y[i] = 0.0\n", "vector needs a constant extent"},
    /* V5 */
    {"proc p(y: f32[8,4] out)\n  for v<8 vector\n    y[v,0] = 0.0\n", "cells side by side; y[v,0]"},
    {"proc p(x: f32[64] in, y: f32[8] out)\n  for v<8 vector\n    y[v] = x[v*4]\n", "cells side by side; x[v*4]"},
    {"proc p(x: f32[8] in, y: f32[64] out)\n  for v<8 vector\n    y[v*2] = x[v]\n", "cells side by side; y[v*2]"},
    {"proc p(y: f32[8,8] out)\n  for v<8 vector\n    for i<8\n      y[i,v] = 0.0\n", "a vector loop holds stores only"},
    {"proc p(y: f32[8] out)\n  for v<8 vector\n    if v < 4\n      y[v] = 0.0\n", "depends on the lane"},
    {"proc p(y: f32[9] inout)\n  for v<8 vector\n    y[v+1] = y[v]\n",
     "iterations of the vector loop may meet in one cell: y[v+1] is stored, y[v] is read"},
    {"proc p(x: f32[8] in, y: f32[] inout)\n  for v<8 vector\n    y[] = x[v]\n", "may meet in one cell"},
    {"proc p(x: f32[8] in, y: f32[] inout)\n  for v<8 vector\n    y[] = y[] + x[v]\n", "may meet in one cell"},
    /* V6 */
    {"proc p(y: f32[8] out)\n  for i<8 parallel\n    y[0] = 0.0\n",
     "may meet in one cell: y[0] is stored, it is stored"},
    {"proc p(y: f32[64] out)\n  for a<3 gpu.thread.y\n    for b<2 gpu.thread.x\n      for w<14\n        y[a*2+b+w*4] = "
     "0.0\n",
     "gpu.thread.y loop may meet"},
    {"proc p(y: f32[64] out)\n  for i<8 parallel\n    for j<9\n      y[i*4+j] = 0.0\n", "may meet in one cell"},
    {"proc p(y: f32[7,3,16] out)\n  for i<3 parallel\n    for l<2\n      y[i*17//8,2,l+i*17%8*2] = 0.0\n"
     "      y[(i*17+17)//8,2,l+(i*17+17)%8*2] = 0.0\n",
     "may meet in one cell"},
    {"proc p(y: f32[9] inout)\n  for i<8 parallel\n    y[i] = y[i+1]\n", "y[i] is stored, y[i+1] is read"},
    {"proc p(x: f32[64] in, y: f32[8] inout)\n  for i<64 parallel\n    y[i//8] += x[i]\n", "may meet in one cell"},
    {"proc p(y: f32[8] out)\n  for i<64 parallel\n    y[i%8] = 0.0\n", "may meet in one cell"},
    {"proc p(y: f32[64] out)\n  for i<16 gpu.block.x\n    for t<8 gpu.thread.x\n      y[i*4+t] = 0.0\n",
     "gpu.block.x loop may meet"},
    {"proc p(y: f32[8] out)\n  alloc t: f32[1] stack\n  for i<8 parallel\n    t[0] = 1.0\n    y[i] = t[0]\n",
     "t[0] is stored"},
    {"proc p(n: i64[8] in, y: f32[8] out)\n  for i<8 parallel\n    y[guard(toidx(n[i]), 8)] = 0.0\n",
     "may meet in one cell"},
    {"proc p(y: f32[9] out)\n  for i<8 parallel\n    alloc t: i64[] stack\n    t[] = 1i64\n    y[i+guard(toidx(t[]), "
     "2)] = 0.0\n",
     "may meet in one cell"},
    {"proc p(y: f32[40] out)\n  for i<8 parallel\n    for j<i+1\n      y[i+j] = 0.0\n", "may meet in one cell"},
    {"proc q(y: f32[8] out)\n  y[0] = 0.0\n\nproc p(y: f32[8] out)\n  for i<8 parallel\n    call q(out y)\n",
     "y is stored"},
    /* V6a */
    {"proc p(x: f32[8] in, y: f32[8] out)\n  y[0] = 0.0\n  for i<8 independent\n    y[0] += x[i]\n",
     "iterations of the independent loop may meet in one cell: y[0] is stored, it is stored"},
    {"proc p(x: f32[8] in, y: f32[8] out)\n  alloc t: f32[] stack\n  t[] = 0.0\n  for i<8 independent\n    y[i] = "
     "t[]\n    t[] = x[i]\n",
     "t[] is stored"},
    {"proc p(x: f32[8] in, y: f32[8] out)\n  alloc t: f32[] stack\n  t[] = 0.0\n  for i<8 independent\n    if i < 4\n  "
     "    t[] = x[i]\n    y[i] = t[]\n",
     "t[] is stored"},
    {"proc p(x: f32[8] in, y: f32[8] out)\n  alloc t: f32[] stack\n  for i<8 independent\n    t[] = x[i]\n    y[i] = "
     "t[]\n  y[0] = t[]\n",
     "t[] is stored"},
    {"proc p(x: f32[8] in, y: f32[8] out)\n  alloc t: f32[] stack\n  t[] = 0.0\n  for j<2\n    y[j] = t[]\n    for i<8 "
     "independent\n      t[] = x[i]\n",
     "t[] is stored"},
    {"proc p(x: f32[8,N] in, y: f32[8] out) [N]\n  alloc t: f32[] stack\n  t[] = 0.0\n  for i<8 independent\n    for "
     "j<N\n      t[] = x[i,j]\n    y[i] = t[]\n",
     "t[] is stored"},
    {"proc p(x: f32[8,4] in, y: f32[8] out)\n  alloc t: f32[5] stack\n  for j<5\n    t[j] = 0.0\n  for i<8 "
     "independent\n "
     "   for j<4\n      t[j] = x[i,j]\n    y[i] = t[4]\n",
     "t[j] is stored"},
    {"proc p(x: f32[8] in, y: f32[8] out)\n  alloc t: f32[] stack\n  for i<8 parallel independent\n    t[] = x[i]\n    "
     "y[i] = t[]\n",
     "iterations of the parallel loop may meet"},
    /* V8 */
    {"proc p(y: f32[8] out)\n  alloc t: f32[4] arena\n  free t\n", "free of t, which is not in the region"},
    {"proc p(y: f32[8] out)\n  alloc t: f32[4] region\n  free t\n  y[0] = t[0]\n", "buffer t is used after its end"},
    {"proc p(y: f32[8] out)\n  alloc t: f32[4] region\n  for i<2\n    free t\n", "freed in another block"},
    {"proc p(y: f32[8] out)\n  alloc t: f32[4] stack\n  alloc u: i32[4] stack\n  swap t, u\n",
     "t and u differ in type, rank or scope"},
    {"proc p(y: f32[8] out)\n  alloc t: f32[4] stack\n  alloc u: f32[5] stack\n  swap t, u\n",
     "t and u differ in size"},
    {"proc p(x: f32[4] inout, y: f32[4] inout)\n  swap x, y\n", "param buffers cannot be swapped"},
    {"proc p(y: f32[4] out)\n  bind y\n", "a bind stands in the entry procedure only"},
    {"entry proc p(y: f32[4] out)\n  bind y\n", "y is no result whose size the run finds"},
    {"proc p(y: f32[8] out)\n  for i<4\n    alloc t: f32[i] stack\n", "a dim of t depends on a loop"},
    {"proc p(n: i64[1] in)\n  size k in 0..9 = toidx(n[0])\n  alloc t: f32[k] stack\n  size k in 0..9 = 3\n",
     "k is set anew while t, which is not in the region"},
    {"proc p(y: f32[k] out) [k in 0..9]\n  alloc t: f32[-2] stack\n", "a dim of t is negative"},
    /* V9 */
    {"proc q(y: f32[8] out)\n  y[0] = 0.0\n\nproc p(y: f32[9] out)\n  call q(out y)\n",
     "dim 1 of y is 9, parameter y needs 8"},
    {"proc q(y: f32[N] out) [N]\n  barrier\n\nproc p(y: f32[N] out) [N]\n  call q(out y; N+1)\n",
     "parameter y needs N+1"},
    {"proc q(y: f32[N] out) [N in 0..9]\n  barrier\n\nproc p(y: f32[N] out) [N]\n  call q(out y; N)\n",
     "may leave the range 0..9 of N"},
    {"proc q(y: f32[8] out) [N]\n  barrier\n\nproc p(y: f32[8] out)\n  call q(out y)\n", "q takes 1 sizes, not 0"},
    {"proc q(y: f32[8] out)\n  barrier\n\nproc p(y: i32[8] out)\n  call q(out y)\n", "y is i32, parameter y is f32"},
    {"proc q(y: f32[8] out)\n  barrier\n\nproc p(y: f32[8,1] out)\n  call q(out y)\n",
     "y has 2 dims, parameter y has 1"},
    {"proc q(x: f32[8] in, y: f32[8] out)\n  barrier\n\nproc p(y: f32[8] out)\n  call q(in y, out y)\n",
     "bound to an output and to another parameter"},
    {"proc q(y: f32[8] out)\n  barrier\n\nproc p(y: f32[8] in)\n  call q(out y)\n",
     "y is an `in` parameter, but stored to"},
    {"proc p(y: f32[8] out)\n  call p(out y)\n", "a procedure calls itself"},
    /* V10 */
    {"proc p(y: f32[8,2] out)\n  stage y[i<8] = 0.0\n", "the stage has 1 axes, y has 2 dims"},
    {"proc p(y: f32[8] out)\n  stage y[i<9] = 0.0\n", "axis i may run past dim 1 of y"},
    {"proc p(x: f32[8] in, y: f32[8] out)\n  stage y[i<8] reduce + [k<9] = x[k]\n",
     "index 1 of x: k may be at or above 8"},
    {"proc p(y: f32[8] out)\n  stage y[i<8] reduce and [k<9] = 0.0\n", "no reduction and for f32"},
    {"proc p(y: f32[8] out)\n  y[0] and= 0.0\n", "no reduction and for f32"},
    /* loops that both run where N is 4 */
    {"proc p(y: f32[4] out) [N]\n  for i<max((-N+1)//3+2, 0)\n    for k<N//4\n      y[i*3+k*4+16] = 0.0\n",
     "index 1 of y: i*3+k*4+16 may be at or above 4"},
    {"proc p(y: f32[N//4] out) [N]\n  for i<N//3%2\n    y[(N//6*3+1)//2] = 0.0\n", "may be at or above"},
    {"proc p(y: f32[N] out) [N]\n  for i<N%6-2\n    y[N//6*6+3] = 0.0\n", "may be at or above"},
    /* sizes and loops that run again */
    {"entry proc p(n: i64[1] in, y: f32[4] out)\n  size k in 0..9 = 3\n  for i<2\n    y[k] = 0.0\n    size k in 0..9 = "
     "9\n",
     "index 1 of y: k may be at or above 4"},
    {"entry proc p(n: i64[1] in, y: f32[4] out)\n  size k in 0..9 = 3\n  while n[0] < 3i64\n    y[k] = 0.0\n    size k "
     "in 0..9 = 9\n",
     "index 1 of y: k may be at or above 4"},
    {"entry proc p(n: i64[1] in, y: f32[4] out)\n  size k in 0..9 = 3\n  if n[0] < 3i64\n    size k in 0..9 = 9\n  "
     "y[k] = 0.0\n",
     "index 1 of y: k may be at or above 4"},
    /* views */
    {"entry proc p(x: f32[8] in)\n  view v: f32[4] arena of x+5\n", "v may reach past the end of x"},
    {"entry proc p(x: f32[8] in)\n  view v: f32[4] arena of x+4\n  v[0] = 0.0\n",
     "x is an `in` parameter, but stored to"},
    {"entry proc p(x: f32[8] in)\n  view v: f64[4] arena of x+0\n", "elements of different sizes"},
    {"proc p(x: f32[8] in)\n  view v: f32[4] arena of x+4\n", "a view stands in the entry procedure only"},
    {"entry proc p(y: f32[1] out)\n  alloc t: f32[8] region\n  view v: f32[4] region of t+4\n  free t\n  y[0] = v[0]\n",
     "buffer v is used after its end"},
    {NULL, NULL}};
Test(loop_verify, planted_faults_are_found) {
    int n = 0;
    for (; wrong[n].text; n++) {
        struct module *m = parse(wrong[n].text);
        cr_expect(!loop_verify(m, "step split"), "accepted: %s", wrong[n].text);
        const char *s = complaints(c);
        cr_expect(strstr(s, wrong[n].message) && strstr(s, "step split: procedure ") && strstr(s, "[E0504]"),
                  "wanted: %s\ngot: %sfor:\n%s", wrong[n].message, s, wrong[n].text);
        c->diags.n = c->diags.errors = 0;
    }
    cr_assert_geq(n, 25);
}
Test(loop_verify, register_buffers_are_checked_at_the_end) {
    struct module *m = parse(
        "proc p(y: f32[4] out)\n  alloc r: f32[4] reg\n  for i<4\n    r[i] = 0.0\n  for i<4 unroll\n    y[i] = r[i]\n");
    cr_assert(loop_verify(m, NULL), "%s", complaints(c));
    cr_assert(!proc_verify_final(m, m->procs.v[0], NULL));
    cr_assert(strstr(complaints(c), "`r[i] = 0.0`: register buffer r is indexed by i, a serial loop"), "%s",
              complaints(c));
}

/* ---- what no text can say */
static struct module *m;
static struct proc *p;
static struct buf *y;
static struct stmt *loop, *store;
static void build(void) {
    m = parse("proc p(x: f32[4] in, y: f32[4] out)\n  for i<4\n    y[i] = x[i]\n");
    p = m->procs.v[0];
    y = p->params.v[1].buf;
    loop = p->body.first;
    store = loop->u.loop.body.first;
    cr_assert(loop_verify(m, NULL), "%s", complaints(c));
}
static void found(const char *message) {
    cr_assert(!loop_verify(m, NULL), "not found: %s", message);
    cr_assert(strstr(complaints(c), message), "wanted: %s\ngot: %s", message, complaints(c));
}
Test(loop_verify, a_variable_outside_of_its_loop, .init = setup) {
    build();
    stmt_remove(store);
    stmt_insert_after(loop, store);
    found("variable i is used outside of its loop");
}
Test(loop_verify, a_variable_of_two_loops) {
    build();
    struct stmt *again = s_for(c, loop->u.loop.var, LK_SERIAL);
    stmt_insert_after(loop, again);
    found("variable i belongs to two loops");
}
Test(loop_verify, a_symbol_that_nobody_defines) {
    build();
    const struct sym *s = sym_new(c, "Q", 0, 3, true);
    block_append(&p->body, s_store(c, y, (expr[]){x_sym(c, s)}, 1, RED_NONE, x_const_f(c, F32, 0)));
    found("symbol Q is used before it is defined");
}
Test(loop_verify, a_value_of_another_type) {
    build();
    store->u.store.value = x_const_f(c, F64, 1);
    found("the stored value is f64, not f32");
}
Test(loop_verify, a_condition_that_is_no_bool) {
    build();
    block_append(&p->body, s_if(c, x_const_f(c, F32, 1)));
    found("the condition is f32, not bool");
}
Test(loop_verify, poison) {
    build();
    store->u.store.value = x_poison(c);
    found("an expression could not be built");
}
Test(loop_verify, a_buffer_of_another_procedure) {
    build();
    struct proc *q = proc_new(c, "q");
    struct buf *t = buf_new(c, q, "t", F32, SC_STACK, NULL, 0);
    block_append(&p->body, s_store(c, t, NULL, 0, RED_NONE, x_const_f(c, F32, 0)));
    found("buffer t is not one of this procedure's");
}
Test(loop_verify, a_buffer_without_alloc) {
    build();
    struct buf *t = buf_new(c, p, "t", F32, SC_STACK, NULL, 0);
    block_append(&p->body, s_store(c, t, NULL, 0, RED_NONE, x_const_f(c, F32, 0)));
    found("buffer t is used before it is allocated");
}
Test(loop_verify, two_buffers_of_one_name) {
    build();
    struct buf *t = buf_new(c, p, "t", F32, SC_STACK, NULL, 0);
    t->name = "y";
    found("two buffers are called y");
}
Test(loop_verify, a_buffer_allocated_twice) {
    build();
    struct buf *t = buf_new(c, p, "t", F32, SC_STACK, NULL, 0);
    block_append(&p->body, s_alloc(c, t));
    block_append(&p->body, s_alloc(c, t));
    cr_assert(loop_verify(m, NULL), "in a kernel it is a new one");
    t->scope = SC_REGION;
    found("buffer t is allocated twice");
}
Test(loop_verify, a_fill_of_another_type) {
    build();
    y->fill = x_const_i(c, I32, 0);
    found("the fill of y is not a constant of its type");
}
Test(loop_verify, an_argument_in_a_procedure) {
    build();
    store->u.store.value = x_arg(c, 0, F32);
    found("a function's argument stands in a procedure");
}
Test(loop_verify, a_function_that_reads_a_buffer) {
    build();
    struct fn *f = NEW(&c->arena, struct fn);
    *f = (struct fn){.name = "f", .type = F32, .body = store->u.store.value};
    const struct fn *g = f;
    PUSH(&c->arena, &m->fns, g);
    found("function f: its body is not an expression of type f32 over its arguments");
}
Test(loop_verify, a_call_out_of_the_module) {
    build();
    struct stmt *s = s_new(c, S_CALL);
    s->u.call.callee = proc_new(c, "q");
    block_append(&p->body, s);
    found("the called procedure is not in this module");
}
