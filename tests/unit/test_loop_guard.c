/* What cannot be proved becomes a check of the run (ir/verify/guard.c): there where it is needed and nowhere else, and
 * it stops the program. */
#include "ir/eval/eval.h"
#include "loop_text.h"

static struct ctx *c;
static void setup(void) { c = ctx_new(); }
static void teardown(void) { ctx_free(c); }
TestSuite(loop_guard, .init = setup, .fini = teardown, .timeout = 60);

static struct module *parse(const char *s) {
    struct module *m = loop_parse(c, s, strlen(s), "t.lir");
    cr_assert(m, "%s\n%s", complaints(c), s);
    return m;
}
static struct proc *last(struct module *m) { return m->entry ? m->entry : m->procs.v[m->procs.n - 1]; }
static const char *node_seven(void *env, const struct stmt *call) {
    cr_expect_eq(call->kind, S_CALL);
    return env;
}
/* The text that it becomes. */
static const char *guarded(struct module *m) {
    struct text t = {0};
    cr_assert(proc_guard(m, last(m), NULL, node_seven, "node 7 (Add)"), "%s", complaints(c));
    proc_print(&t, c, last(m));
    const char *s = intern(c->names, t.s);
    text_free(&t);
    return s;
}
static void becomes(const char *before, const char *after) {
    const char *s = guarded(parse(before));
    cr_expect(strstr(s, after), "%s\nis not in\n%s", after, s);
}
static void stays(const char *text) {
    struct module *m = parse(text);
    struct text t = {0};
    proc_print(&t, c, last(m));
    cr_expect_str_eq(guarded(m), t.s);
    text_free(&t);
}

Test(loop_guard, an_index_that_may_lie_outside) {
    becomes("proc p(x: f32[A] in, y: f32[B] out) [A, B]\n  for i<B\n    y[i] = x[i]\n", "y[i] = x[guard(i, A)]\n");
    becomes("proc p(x: f32[A] in, y: f32[B] out) [A, B]\n  for i<A\n    y[i] += x[i]\n", "y[guard(i, B)] += x[i]\n");
    becomes("proc p(x: f32[A,2] in, j: i64[A] in, y: f32[B] out) [A, B]\n  stage y[i<B] = x[toidx(j[i]),0] * x[i,1]\n",
            "x[guard(toidx(j[guard(i, A)]), A),0] * x[guard(i, A),1]");
}
Test(loop_guard, what_is_proved_stays_as_it_is) {
    stays("proc p(x: f32[A] in, y: f32[B] out) [A, B]\n  for i<B\n    y[i] = select(i < A, x[i], 0.0)\n");
    stays("proc p(x: f32[A] in, y: f32[B] out) [A, B]\n  for i<B\n    y[i] = x[i-1 else 0.0]\n");
    stays("proc p(x: f32[0] in, y: f32[B] out) [B]\n  for i<B\n    y[i] = x[guard(i, 0)]\n");
}
/* What a condition says of a quotient: both ends, and no more than that. */
Test(loop_guard, quotients_bound_what_is_divided) {
    stays("proc p(x: f32[3] in, y: f32[32] out)\n  for t<32\n    if t//3 < 6\n      y[t] = x[t//6]\n");
    becomes("proc p(x: f32[3] in, y: f32[32] out)\n  for t<32\n    if t//3 <= 6\n      y[t] = x[t//6]\n",
            "x[guard(t//6, 3)]");
    stays("proc p(x: f32[20] in, y: f32[32] out)\n  for t<32\n    if t//3 >= 4\n      y[t] = x[31-t]\n");
    becomes("proc p(x: f32[19] in, y: f32[32] out)\n  for t<32\n    if t//3 >= 4\n      y[t] = x[31-t]\n", "guard(");
    stays("proc p(x: f32[16] in, y: f32[32] out)\n  for t<32\n    if t >= 4\n      y[t] = x[t//2-2]\n");
    stays("proc p(x: f32[17] in, y: f32[32] out)\n  for t<32\n    if t < 12\n      y[t] = x[11-t//2*2]\n");
    becomes("proc p(x: f32[17] in, y: f32[32] out)\n  for t<32\n    if t < 13\n      y[t] = x[11-t//2*2]\n", "guard(");
}
/* The rest of a rest, of which places are twice as far apart, or divided. */
Test(loop_guard, rests_of_a_split_loop_stay_inside) {
    stays("proc p(x: f32[W] in, y: f32[(W-min(1,W)+1)//2] out) [W]\n  for c<(W-min(1,W)+1)//2%16%8//4\n    for l<4\n"
          "      y[c*4+l+(W-min(1,W)+1)//2-(W-min(1,W)+1)//2%16%8] = "
          "x[c*8+l*2+(W-min(1,W)+1)//2*2-(W-min(1,W)+1)//2%16%8*2+min(1,W)]\n");
    stays("proc p(x: f32[A,B,10] in, y: f32[A*B*10] out) [A, B]\n  for c<A*B*10%16%8//4\n    for l<4\n"
          "      y[c*4+l+A*B*10-A*B*10%16%8] = x[(c*4+l+A*B*10-A*B*10%16%8)//10//B,"
          "(c*4+l+A*B*10-A*B*10%16%8)//10%B,(c*4+l+A*B*10-A*B*10%16%8)%10]\n");
    becomes("proc p(x: f32[A*10-1] in, y: f32[A*10] out) [A]\n  for c<A*10%16%8//4\n    for l<4\n"
            "      y[c*4+l+A*10-A*10%16%8] = x[c*4+l+A*10-A*10%16%8]\n",
            "guard(");
}
Test(loop_guard, what_is_refuted_is_refused) {
    struct module *m = parse("proc p(x: f32[A] in, y: f32[A] out) [A]\n  for i<A\n    y[i] = x[A+i]\n");
    cr_expect_not(proc_guard(m, last(m), NULL, NULL, NULL));
    m = parse("proc q(x: f32[3] in, y: f32[3] out)\n  barrier\n\n"
              "entry proc e(x: f32[4] in, y: f32[3] out)\n  call q(in x, out y)\n");
    cr_expect_not(proc_guard(m, last(m), NULL, NULL, NULL));
}
#define CALLS                                                                                                          \
    "proc q(x: f32[N] in, y: f32[N] out) [N in 2..9]\n  for i<N\n    y[i] = x[i]\n\n"                                  \
    "entry proc e(x: f32[A] in, y: f32[B] out) [A, B]\n  call q(in x, out y; A)\n"
Test(loop_guard, sizes_that_a_call_needs) {
    becomes(CALLS, "  check 2 <= A else \"sizes do not fit: 2 <= A\" @ \"node 7 (Add)\"\n"
                   "  check A <= 9 else \"sizes do not fit: A <= 9\" @ \"node 7 (Add)\"\n"
                   "  check A == B else \"sizes do not fit: A == B\" @ \"node 7 (Add)\"\n"
                   "  call q(in x, out y; A)\n");
}
Test(loop_guard, it_stops_the_program) {
    static float x[4] = {1, 2, 3, 4};
    struct module *m = parse(CALLS);
    guarded(m);
    for (int64_t n = 1; n < 5; n++)
        for (int64_t k = 1; k < 5; k++) {
            struct eval_arg args[2] = {{.data = x, .dims = {n}, .nd = 1}};
            struct eval_result r = loop_eval(m, m->entry, args, (int64_t[]){n, k}, NULL);
            cr_expect_eq(r.status, n >= 2 && n == k ? EVAL_OK : EVAL_FAULT, "%s", r.message);
        }
}
