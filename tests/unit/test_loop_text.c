/* The text of the loop IR: every construct prints and parses back, hostile text is refused in good time. */
#include "loop_text.h"
#include <math.h>

static const char *const samples[] = {"conv3x3", "softmax", "layernorm", "nonzero", "while",
                                      "strings", "kinds",   "exprs",     "results", NULL};
static struct ctx *c;
static void setup(void) { c = ctx_new(); }
static void teardown(void) { ctx_free(c); }
TestSuite(loop_text, .init = setup, .fini = teardown, .timeout = 60);

static struct module *parse(const char *s) { return loop_parse(c, s, strlen(s), "t.lir"); }
static char *round_trip(const char *text) {
    struct module *m = parse(text);
    cr_assert(m, "%s", complaints(c));
    char *once = printed(m);
    struct ctx *other = ctx_new(); /* ids of its own: the order of ids must not show */
    for (int k = 0; k < 7; k++) var_new(other, "x", x_int(other, 3));
    struct module *again = loop_parse(other, once, strlen(once), "printed");
    cr_assert(again, "%s\n%s", complaints(other), once);
    char *twice = printed(again);
    cr_assert_str_eq(once, twice);
    free(twice);
    ctx_free(other);
    return once;
}
static void same_text(const char *text) {
    char *s = round_trip(text);
    cr_assert_str_eq(s, text);
    free(s);
}

Test(loop_text, samples_round_trip) {
    for (int k = 0; samples[k]; k++) {
        size_t n;
        char *s = sample(samples[k], &n);
        free(round_trip(s));
        free(s);
    }
}
Test(loop_text, canonical_samples_print_as_written) {
    static const char *const same[] = {"conv3x3", "layernorm", "nonzero", NULL};
    for (int k = 0; same[k]; k++) {
        size_t n;
        char *s = sample(same[k], &n);
        same_text(s);
        free(s);
    }
}

/* ---- the samples leave nothing out */
static bool ops[X_COUNT], kinds[S_KIND_COUNT];
static bool mark_op(void *env, expr e) { return (void)env, ops[e->op] = true; }
static void mark_expr(void *env, expr e) { x_visit(e, mark_op, env); }
static bool mark_stmt(void *env, struct stmt *s) {
    kinds[s->kind] = true;
    stmt_exprs(s, mark_expr, env);
    return true;
}
Test(loop_text, samples_have_every_operation_and_statement) {
    for (int k = 0; samples[k]; k++) {
        size_t n;
        char *s = sample(samples[k], &n);
        struct module *m = loop_parse(c, s, n, samples[k]);
        cr_assert(m, "%s", complaints(c));
        for (int j = 0; j < m->procs.n; j++) walk(&m->procs.v[j]->body, mark_stmt, NULL);
        if (m->entry) walk(&m->entry->body, mark_stmt, NULL);
        for (int j = 0; j < m->fns.n; j++) x_visit(m->fns.v[j]->body, mark_op, NULL);
        free(s);
    }
    for (int k = X_POISON + 1; k < X_COUNT; k++)
        cr_expect(ops[k], "no sample has the operation %s", xop_name((enum xop)k));
    for (int k = 0; k < S_KIND_COUNT; k++) cr_expect(kinds[k], "no sample has statement kind %d", k);
}

/* ---- constants */
Test(loop_text, floats_read_back_bit_for_bit) {
    uint64_t seed = 88172645463325252u;
    for (int k = 0; k < 400; k++) {
        seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
        uint32_t low = (uint32_t)seed;
        float f;
        double d;
        memcpy(&f, &low, sizeof f);
        memcpy(&d, &seed, sizeof d);
        if (k < 4) f = (float[]){0.0f, -0.0f, INFINITY, -INFINITY}[k], d = f;
        struct module *m = module_new(c);
        struct proc *p = proc_new(c, "p");
        PUSH(&c->arena, &m->procs, p);
        struct buf *a = proc_param(c, p, "a", F32, DIR_OUT, NULL, 0), *b = proc_param(c, p, "b", F64, DIR_OUT, NULL, 0);
        block_append(&p->body, s_store(c, a, NULL, 0, RED_NONE, x_const_f(c, F32, (double)f)));
        block_append(&p->body, s_store(c, b, NULL, 0, RED_NONE, x_const_f(c, F64, d)));
        char *s = printed(m);
        struct module *q = parse(s);
        cr_assert(q, "%s\n%s", complaints(c), s);
        expr x = q->procs.v[0]->body.first->u.store.value, y = q->procs.v[0]->body.last->u.store.value;
        cr_assert(isnan(f) ? isnan(x->u.f) : !memcmp(&x->u.f, &(double){(double)f}, sizeof(double)), "%s", s);
        cr_assert(isnan(d) ? isnan(y->u.f) : !memcmp(&y->u.f, &d, sizeof d), "%s", s);
        free(s);
    }
}
Test(loop_text, constants_of_all_types) {
    same_text("proc p(y: f32[] out)\n"
              "  const a: f32[2,3] = {1.0, -0.0, nan, inf, -inf, 1e-45}\n"
              "  const b: i8[3] within -128..127 = {-128, 0, 127}\n"
              "  const c: u64[1] = {18446744073709551615}\n"
              "  const d: f16[2] = {0.5, 65504.0}\n"
              "  const e: i4[3] = {-8, 7, 1}\n"
              "  const f: bool[2] = {1, 0}\n"
              "  const g: str[2] = {\"a\\n\\\"\", \"\"}\n"
              "  const h: f64[1000] = splat 0.1\n"
              "  const i: bf16[2,2] pad [0,1] logical [4] map [d0//2,d0%2] = {1.0, 2.0, 3.0, 4.0}\n"
              "  const j: f32[64,64] ...\n"
              "  y[] = 0.0\n");
}
Test(loop_text, large_constants_are_left_out) {
    struct module *m = parse("proc p(y: f32[] out)\n  const a: f32[20,20] = splat 0.0\n  y[] = a[0,0]\n");
    cr_assert(m, "%s", complaints(c));
    struct buf *a = proc_buf(m->procs.v[0], "a");
    a->data = tensor_new(&c->arena, F32, (int64_t[]){20, 20}, 2);
    char *s = printed(m);
    cr_assert(strstr(s, "  const a: f32[20,20] ...\n"), "%s", s);
    free(s);
}

/* ---- names and scopes */
Test(loop_text, names_are_reused_in_sibling_scopes_and_numbered_in_nested_ones) {
    same_text("proc p(y: f32[4,4] out)\n"
              "  for i<4  # y.i\n"
              "    for i_2<4  # acc.i\n"
              "      y[i,i_2] = 0.0\n"
              "  for i<4\n"
              "    y[i,i] = 1.0\n");
}
Test(loop_text, variables_do_not_take_names_of_buffers_and_symbols) {
    same_text("proc p(i: f32[4] out, n_2: f32[4] in) [N in 4..4, n]\n"
              "  for i_2<4  # x.i\n"
              "    for n_3<4  # n\n"
              "      i[i_2] = n_2[n_3]\n");
}
Test(loop_text, terms_stand_in_order_of_nesting) {
    char *s = round_trip("proc p(x: f32[1000] in, y: f32[1000] out) [N in 1..4]\n"
                         "  for a<4\n    for b<4\n      for c<4\n        y[1+c*16+N+b*4+a] = x[c+b+a*(N+2)]\n");
    cr_assert(strstr(s, "y[a+b*4+c*16+N+1] = x[a*2+a*N+b+c]"), "%s", s);
    free(s);
}
/* Round trips cannot see a printer and a parser that err alike, so these are compared with what was built or written.
 */
Test(loop_text, parentheses_stand_where_they_must) {
    static const char *const values[] = {"a[] - (a[] - a[])",
                                         "a[] - a[] - a[]",
                                         "a[] / (a[] * a[])",
                                         "a[] * (a[] / a[])",
                                         "a[] - (a[] + a[]) * a[]",
                                         "a[] % (a[] % a[])",
                                         "a[] * a[] + a[] * a[]",
                                         "(a[] + a[]) * (a[] - a[])",
                                         "a[] - -1.0",
                                         "a[] * -1.0",
                                         "neg(a[]) * a[]"};
    struct module *m = parse("proc p(a: f32[] in, y: f32[] out)\n  y[] = a[]\n");
    expr a = m->procs.v[0]->body.first->u.store.value, neg1 = x_const_f(c, F32, -1);
    expr built[] = {x_sub(c, a, x_sub(c, a, a)),
                    x_sub(c, x_sub(c, a, a), a),
                    x_div(c, a, x_mul(c, a, a)),
                    x_mul(c, a, x_div(c, a, a)),
                    x_sub(c, a, x_mul(c, x_add(c, a, a), a)),
                    x_mod(c, a, x_mod(c, a, a)),
                    x_add(c, x_mul(c, a, a), x_mul(c, a, a)),
                    x_mul(c, x_add(c, a, a), x_sub(c, a, a)),
                    x_sub(c, a, neg1),
                    x_mul(c, a, neg1),
                    x_mul(c, x_un(c, X_NEG, a), a)};
    for (size_t k = 0; k < sizeof built / sizeof *built; k++) {
        m->procs.v[0]->body.first->u.store.value = built[k];
        char *s = printed(m), want[128];
        snprintf(want, sizeof want, "  y[] = %s\n", values[k]);
        cr_expect(strstr(s, want), "wanted %s, got %s", want, s);
        free(round_trip(s));
        free(s);
    }
}
Test(loop_text, comparisons_turn_round) {
    char *s = round_trip("proc p(a: f32[] in, y: bool[4] out)\n  y[0] = a[] > 1.0\n  y[1] = a[] >= 1.0\n  y[2] = a[] < "
                         "1.0 or a[] == 2.0 and a[] != 3.0\n  y[3] = (a[] < 1.0 or a[] == 2.0) and a[] != 3.0\n");
    cr_assert(strstr(s, "y[0] = 1.0 < a[]\n  y[1] = 1.0 <= a[]\n  y[2] = a[] < 1.0 or a[] == 2.0 and a[] != 3.0\n  "
                        "y[3] = (a[] < 1.0 or a[] == 2.0) and a[] != 3.0\n"),
              "%s", s);
    struct module *m = parse(s);
    expr e = m->procs.v[0]->body.last->prev->u.store.value;
    cr_assert(e->op == X_OR && e->arg[1]->op == X_AND, "and binds tighter than or");
    free(s);
}
Test(loop_text, a_buffer_allocated_in_two_blocks_stays_one) {
    const char *text = "proc p(y: f32[8] out)\n"
                       "  for i<4\n"
                       "    alloc t: f32[2] reg\n"
                       "    t[0] = 1.0\n"
                       "    y[i] = t[0]\n"
                       "  for i<4\n"
                       "    alloc t: f32[2] reg\n"
                       "    t[0] = 2.0\n"
                       "    y[i+4] = t[0]\n";
    same_text(text);
    cr_assert_eq(parse(text)->procs.v[0]->bufs.n, 2);
}
Test(loop_text, a_symbol_defined_in_two_blocks_stays_one) {
    same_text("proc p(n: i64[2] in, y: i64[2] out)\n"
              "  for i<2\n"
              "    size k in 0..9 = toidx(n[i])\n"
              "    y[i] = idx(k)\n"
              "  for i<2\n"
              "    size k in 0..9 = toidx(n[i])+1\n"
              "    y[i] = idx(k)\n");
}
Test(loop_text, calls_may_come_before_their_procedures) {
    same_text("proc a(x: f32[N] in, y: f32[N] out) [N]\n"
              "  call b(in x, out y; N)\n"
              "\n"
              "proc b(x: f32[N] in, y: f32[N] out) [N]\n"
              "  for i<N\n"
              "    y[i] = x[i]\n");
}
Test(loop_text, comments_and_steps_are_kept) {
    same_text("// what it is\n//\n// in lines\n"
              "kernel proc p(y: f32[] out)\n"
              "  step split y.a 4 b c [cut]\n"
              "  // first\n"
              "  y[] = 0.0\n"
              "  // last\n");
}

/* ---- let lines */
static struct module *one_store(expr value) {
    struct module *m = module_new(c);
    struct proc *p = proc_new(c, "p");
    PUSH(&c->arena, &m->procs, p);
    proc_param(c, p, "x", F32, DIR_IN, NULL, 0);
    struct buf *y = proc_param(c, p, "y", F32, DIR_OUT, NULL, 0);
    block_append(&p->body, s_store(c, y, NULL, 0, RED_NONE, value));
    return m;
}
Test(loop_text, large_trees_are_cut_by_let_lines) {
    struct module *m = one_store(x_const_f(c, F32, 0));
    expr e = x_load(c, m->procs.v[0]->params.v[0].buf, NULL, 0, NULL);
    for (int k = 0; k < 60; k++) e = x_mul(c, x_add(c, e, e), x_un(c, X_SQRT, e));
    m->procs.v[0]->body.first->u.store.value = e;
    char *s = printed(m);
    cr_assert(strstr(s, "let t1 = ") && strlen(s) < 10000, "%s", s);
    free(round_trip(s));
    cr_assert(strstr(s, "let t59 = ") && !strstr(s, "let t60 = "), "one for each shared part: %s", s);
    free(s);
}
Test(loop_text, deep_trees_are_cut_by_let_lines) {
    struct module *m = one_store(x_const_f(c, F32, 0));
    expr x = x_load(c, m->procs.v[0]->params.v[0].buf, NULL, 0, NULL), e = x;
    for (int k = 0; k < 1500; k++) e = x_fma(c, x, e, x);
    m->procs.v[0]->body.first->u.store.value = e;
    char *s = printed(m);
    free(round_trip(s));
    free(s);
}
Test(loop_text, stages_take_let_lines_below) {
    char *s = round_trip("proc p(x: f32[4] in, y: f32[4] out, z: f32[] out)\n"
                         "  stage y[i<4]\n    let a = x[i] + 1.0\n    return a * a\n"
                         "  stage z[] reduce + [k<4]\n    init 2.0\n    let b = x[k]\n    return b * b\n");
    cr_assert(
        strstr(s, "stage y[i<4] = (x[i] + 1.0) * (x[i] + 1.0)\n  stage z[] reduce + [k<4] init 2.0 = x[k] * x[k]\n"),
        "%s", s);
    free(s);
}

/* ---- errors */
static const struct {
    const char *text, *message;
} wrong[] = {
    {"proc p(y: f32[] out)\n  y[] = 1\n  y[] = z\n", "t.lir:3: nothing is called \"z\" here"},
    {"proc p(y: f32[] out)\n  y[] = w[0]\n", "t.lir:2: no buffer \"w\" here"},
    {"proc p(y: f32[] out)\n  w[] = 1.0\n", "t.lir:2: no buffer \"w\" here"},
    {"proc p(y: f32[4] out)\n  for i<4\n    y[i] = i\n", "an index where f32 is expected"},
    {"proc p(y: f32[4] out)\n  for i<4\n    y[i] = 1.0 + i\n", "operands of `+` are f32 and an index"},
    {"proc p(y: f32[4] out)\n  y[y[0]] = 1.0\n", "f32 where an index is expected"},
    {"proc p(y: f32[4] out)\n  y[0] = 1.0f64\n", "f64 where f32 is expected"},
    {"proc p(y: f32[4] out)\n  if y[0]\n    y[0] = 1.0\n", "f32 where bool is expected"},
    {"proc p(y: i32[4] out)\n  y[0] = 3000000000\n", "does not fit in i32"},
    {"proc p(y: i32[4] out)\n  y[0] = sqrt(y[0])\n", "`sqrt` does not take i32"},
    {"proc p(y: f32[4] out)\n  y[0] = and(y[0], y[1])\n", "`and` does not take f32"},
    {"proc p(y: f32[4] out)\n  y[0] = max(y[0])\n", "`max` takes 2 arguments"},
    {"proc p(y: f32[4] out)\n  y[0] = sin(y[0])\n", "no function \"sin\""},
    {"proc p(y: f32[4] out)\n  y[7/2] = 0.0\n", "index division is written `//`"},
    {"proc p(y: f32[4] out)\n  y[7//0] = 0.0\n", "positive divisor"},
    {"proc p(y: f32[4] out)\n  y[0] = y[1] // a remark\n", "nothing is called \"a\" here"},
    {"proc p(y: f32[4] out)\n  y[0] = y[1] extra\n", "the end of the line expected"},
    {"proc p(y: f32[4] out)\n  y[0] = (y[1]\n  y[1] = 0.0\n", "t.lir:2: `)` expected"},
    {"proc p(y: f32[4] out)\n  for for<4\n    y[0] = 1.0\n", "a loop variable expected"},
    {"proc p(y: f32[4] out)\n  for i<4 fast\n    y[0] = 1.0\n", "the end of the line expected before \"fast\""},
    {"proc p(y: f32[4] out)\n  y[0] = 1.0\n      y[1] = 1.0\n", "t.lir:3: unexpected indentation"},
    {"proc p(y: f32[4] out)\n\ty[0] = 1.0\n", "indent with blanks"},
    {"  y[0] = 1.0\n", "outside of procedures"},
    {"stuff\n", "`proc` or `fn` expected"},
    {"proc p(y: f33[4] out)\n", "a type expected"},
    {"proc p(y: f32[4] up)\n", "in, out or inout expected"},
    {"proc p(y: f32[4] out, y: f32[4] in)\n", "declared twice"},
    {"proc p(y: f32[4] out) [N in 4..3]\n", "an empty range"},
    {"proc p(y: f32[4] out) [N, N]\n", "symbol \"N\" is declared twice"},
    {"proc p(y: f32[4] out)\n  y[0] = 0.0\n\nproc p(y: f32[4] out)\n", "t.lir:4: procedure \"p\" is defined twice"},
    {"proc p(y: f32[4] out)\n  call q(out y)\n", "t.lir:2: no procedure \"q\""},
    {"proc p(y: f32[4] out)\n  call q(in y)\n\nproc q(y: f32[4] out)\n", "another direction"},
    {"proc p(y: f32[4] out)\n  let a = 1.0\n  for i<4\n    y[i] = a\n", "nothing is called \"a\" here"},
    {"proc p(y: f32[4] out)\n  let a = 1.0\n  y[0] = a\n  y[1] = a\n", "t.lir:4: nothing is called \"a\" here"},
    {"proc p(y: f32[4] out)\n  let a = 1.0\n", "`let` without a statement"},
    {"proc p(y: f32[4] out)\n  alloc y: f32[4] reg\n", "declared twice"},
    {"proc p(y: f32[4] out)\n  alloc z: f32[4] region\n  alloc z: f32[4] region\n", "declared twice"},
    {"entry proc p(y: f32[4] out)\n  alloc z: f32[4] arena\n  alloc z: f32[4] arena\n", "declared twice"},
    {"proc p(y: f32[4] out) [N in 0..4@x]\n", "expected"},
    {"proc p(y: f32[4] out)\n  alloc z: f32[4] heap\n", "arena, region, stack, reg or shared expected"},
    {"proc p(y: f32[4] out)\n  alloc z: f32[4] reg logical [4] map [d0,d0]\n", "the map has 2 dims, the buffer 1"},
    {"proc p(y: f32[4] out)\n  const z: f32[4] = {1.0, 2.0}\n  y[0] = 0.0\n", "`,` expected"},
    {"proc p(y: f32[4] out)\n  const z: f32[400000000000] = {1.0, 2.0}\n  y[0] = 0.0\n", "elements expected"},
    {"fn f(x: f32): f32\n  let a = x\n", "returns nothing"},
    {"fn f(x: f16): f32 = 1.0\n", "f16 is not a value type"},
    {"fn f(x: f32): f32 = f(x)\n", "no function \"f\""},
    {"fn f(x: f32): f32 = x\nfn f(x: f32): f32 = x\n", "defined twice"},
    {"proc p(y: \"f32\"[4] out)\n  y[0] = 1.0\n", "a type expected"},
    {"proc p(y: f32[4] out)\n  \"y[0] = 1.0\n", "does not end"},
    {"proc p(y: f32[4] out)\n  y[0] = 1.0x\n", "unknown ending of a number"},
    {"proc p(y: f32[4] out)\n  y[99999999999999999999] = 1.0\n", "does not fit in 64 bits"},
    {"proc p(y: f32[4] out) [N]\n  y[N*9223372036854775807*4] = 1.0\n", "does not fit"},
    {NULL, NULL}};
Test(loop_text, errors_say_where_and_why) {
    for (int k = 0; wrong[k].text; k++) {
        struct ctx *own = ctx_new();
        cr_expect(!loop_parse(own, wrong[k].text, strlen(wrong[k].text), "t.lir"), "accepted: %s", wrong[k].text);
        cr_expect(strstr(complaints(own), wrong[k].message), "wanted: %s\ngot: %sfor:\n%s", wrong[k].message,
                  complaints(own), wrong[k].text);
        cr_expect(strstr(complaints(own), "[E0501]"));
        ctx_free(own);
    }
}
Test(loop_text, reading_goes_on_after_an_error) {
    parse("proc p(y: f32[4] out)\n  y[0] = a\n  for i<\n    y[i] = b\n    y[i] = c\n  y[1] = d\n\nproc q(y: f32[4] "
          "out\n  y[0] = e\n\nproc r(y: f32[4] out)\n  y[0] = f\n");
    const char *s = complaints(c);
    cr_assert(strstr(s, "t.lir:2:") && strstr(s, "t.lir:3:") && strstr(s, "t.lir:6:") && strstr(s, "t.lir:12:"), "%s",
              s);
    cr_assert(!strstr(s, "t.lir:4:") && !strstr(s, "t.lir:5:"), "what stands below a bad line is skipped: %s", s);
}

/* ---- hostile text */
static void survives(const char *s, size_t n) {
    struct ctx *own = ctx_new();
    char *copy = malloc(n ? n : 1); /* exactly n bytes, so that a sanitizer sees one byte too many */
    memcpy(copy, s, n);
    struct module *m = loop_parse(own, copy, n, "t.lir");
    if (m) loop_verify(m, NULL);
    cr_assert(m || own->diags.errors, "refused without a reason");
    free(copy);
    ctx_free(own);
}
Test(loop_text, every_truncation_is_survived) {
    for (int k = 0; samples[k]; k++) {
        size_t n;
        char *s = sample(samples[k], &n);
        for (size_t j = 0; j < n; j++) survives(s, j);
        free(s);
    }
}
static bool word(char ch) {
    return ch == '_' || (ch >= '0' && ch <= '9') || (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z');
}
Test(loop_text, every_missing_token_is_survived) {
    for (int k = 0; samples[k]; k++) {
        size_t n;
        char *s = sample(samples[k], &n), *cut = malloc(n);
        for (size_t from = 0, to; from < n; from = to) {
            to = from + 1;
            while (word(s[from]) && to < n && word(s[to])) to++;
            memcpy(cut, s, from);
            memcpy(cut + from, s + to, n - to);
            survives(cut, n - (to - from));
        }
        free(cut), free(s);
    }
}
Test(loop_text, nesting_is_limited) {
    struct text t = {0};
    text_add(&t, "proc p(y: f32[4] out)\n  y[0] = ");
    for (int k = 0; k < 100000; k++) text_char(&t, '(');
    survives(t.s, t.n);
    t.n = 0;
    text_add(&t, "proc p(y: f32[4] out)\n  y[0] = ");
    for (int k = 0; k < 100000; k++) text_add(&t, "- ");
    survives(t.s, t.n);
    t.n = 0;
    text_add(&t, "proc p(y: f32[4] out)\n");
    for (int k = 1; k < 600; k++) {
        text_indent(&t, k);
        text_add(&t, "for i<4\n");
    }
    survives(t.s, t.n);
    t.n = 0;
    text_add(&t, "proc p(y: f32[4] out)\n  y[0] = y[1]");
    for (int k = 0; k < 20000; k++) text_add(&t, " + y[1]");
    survives(t.s, t.n);
    t.n = 0;
    for (int k = 0; k < 20000; k++) text_add(&t, "// comment\n\n");
    survives(t.s, t.n);
    text_free(&t);
}
Test(loop_text, expressions_cannot_explode) {
    struct text t = {0};
    text_add(&t, "proc p(y: f32[4] out) [A, B, C, D]\n  y[(A+B)");
    for (int k = 0; k < 40; k++) text_add(&t, "*(A+B+C+D)");
    text_add(&t, "] = 0.0\n");
    survives(t.s, t.n);
    t.n = 0;
    text_add(&t, "proc p(y: i64[4] out)\n  let t0 = y[0]\n");
    for (int k = 0; k < 60; k++) text_printf(&t, "  let t%d = t%d + t%d\n", k + 1, k, k);
    text_add(&t, "  y[toidx(t60)] = 0\n");
    survives(t.s, t.n);
    t.n = 0;
    text_add(&t, "proc p(y: i64[4] out) [A, B]\n  let t0 = A\n");
    for (int k = 0; k < 60; k++) text_printf(&t, "  let t%d = min(t%d*2+B, max(t%d-B, A))\n", k + 1, k, k);
    text_add(&t, "  y[t60] = 0\n");
    survives(t.s, t.n);
    t.n = 0;
    text_add(&t, "proc p(y: i64[4] out) [A]\n");
    for (int k = 0; k < 60; k++) {
        text_indent(&t, k + 1);
        text_printf(&t, "for v%d<", k);
        text_printf(&t, k ? "min(v%d+v%d, v%d*3)\n" : "A\n", k - 1, k - 1, k - 1);
    }
    survives(t.s, t.n);
    text_free(&t);
}

/* Steps and comments are C strings: what stands behind a NUL would be lost. */
Test(loop_text, nul_is_refused) {
    static const char step[] = "proc p(y: f32[4] out)\n  step split i 4\t\0 x\n  for i<4\n    y[i] = 0.0\n",
                      comment[] = "// a\0b\n";
    cr_assert_null(loop_parse(c, step, sizeof step - 1, "t"));
    cr_assert_null(loop_parse(c, comment, sizeof comment - 1, "t"));
    cr_assert(strstr(complaints(c), "NUL"));
}
