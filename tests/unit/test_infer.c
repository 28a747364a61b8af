/* Inference and folding, with operators of the test's own: types, shape arithmetic, expansions, results whose size only
 * the interpreter knows, and what must not be folded. */
#include "compiler/graph/passes.h"
#include "ir/define/define.h"
#include "ir/graph/op.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void def_shape(void) {
    T x = in(0);
    X i = axes(list1(idx(rank(x))));
    E v = val(idx(0));
    for (int k = rank(x) - 1; k >= 0; k--) v = sel(eq(i.v[0], idx(k)), val(dim(x, k)), v);
    out(0, I64, i, v);
}
static void def_neg(void) {
    X i = axes(shape(in(0)));
    out(0, dtype(in(0)), i, neg(at(in(0), i)));
}
static void def_add(void) {
    T a = in(0), b = in(1);
    X i = axes(bcast_shape((const T[]){a, b}, 2));
    out(0, dtype(a), i, add(at(a, bcast(a, i)), at(b, bcast(b, i))));
}
/* 0, 1, 2 ... as many as the input says */
static void def_iota(void) {
    X i = axes(list1(value(in(0), 0, 0, 100000)));
    out(0, F32, i, cast(F32, val(i.v[0])));
}
/* 0, 1, 2 ... as many as the input has positive elements */
static void def_count(void) {
    T x = in(0), n = scratch("n", I64, list0());
    X none = axes(list0()), r = raxes(list1(dim(x, 0)), "r");
    n = reduce("n", I64, none, RED_SUM, r, sel(gt(at(x, r), num(0)), typed(I64, 1), typed(I64, 0)), NULL);
    X i = axes(list1(size_from("count", n, 0, idx(0), dim(x, 0))));
    out(0, I32, i, cast(I32, val(i.v[0])));
}
static void def_random(void) { out(0, F32, axes(list1(idx(3))), num(0.5)); }
static void def_half(void) {
    X i = axes(shape(in(0)));
    out(0, dtype(in(0)), i, mul(at(in(0), i), num(0.5)));
}
static void def_bad(void) { fail(E_SHAPE, "never fits"); }
static void exp_twice(void) { gout(0, N_OP("Add", gin(0), gin(0))); }
static void exp_four(void) { gout(0, N_OP("Twice", N_OP("Twice", gin(0)))); }

/* A loop in small: the body is inferred for a parameter of 2 elements, then for one of 3. */
static enum infer_status rounds_infer(struct graph *g, struct node *n, bool (*infer_region)(struct region *r)) {
    struct region *r = node_region(n, "body");
    r->unsettled = true;
    for (int round = 2; round <= 3; round++) {
        expr dim = x_int(g->ctx, round);
        r->params.v[0]->type = type_tensor(g->ctx, F32, &dim, 1);
        if (!infer_region(r)) return INFER_FAILED;
    }
    n->outs.v[0]->type = r->results.v[0]->type;
    return INFER_OK;
}
static const struct op_control rounds = {.infer = rounds_infer};

static const struct op_slot ins[] = {{"x", TS_ANY, VARIADIC | OPTIONAL}, {0}}, outs[] = {{"y", TS_ANY, 0}, {0}};
#define ROW(n, ...)                                                                                                    \
    { .domain = "", .name = n, .since = 1, .first = 1, .ins = ins, .outs = outs, __VA_ARGS__ }
static const struct op rows[] = {
    ROW("Shape", .define = def_shape), ROW("Neg", .define = def_neg),
    ROW("Add", .define = def_add),     ROW("Iota", .define = def_iota),
    ROW("Count", .define = def_count), ROW("Random", .define = def_random, .flags = OP_RANDOM),
    ROW("Half", .define = def_half),   ROW("Bad", .define = def_bad),
    ROW("Twice", .expand = exp_twice), ROW("Four", .expand = exp_four),
    ROW("Rounds", .control = &rounds), {.name = NULL}};

static struct ctx *c;
static void setup(void) {
    c = ctx_new();
    op_register(rows);
}
static void teardown(void) { ctx_free(c); }
TestSuite(infer, .init = setup, .fini = teardown);

static const char *const head = "graph \"\"\nsym N: 1..64\n";
static struct graph *parse(const char *text) {
    struct graph *g = graph_parse(c, text, strlen(text), "t.gir");
    struct text t = {0};
    diag_print(&c->diags, &t, false);
    cr_assert(g, "%s", t.s);
    return g;
}
static void becomes(const char *from, const char *to) {
    struct text t = {0}, d = {0};
    text_printf(&t, "%s%s", head, from);
    struct graph *g = parse(t.s);
    bool ok = graph_infer(g);
    diag_print(&c->diags, &d, false);
    cr_assert(ok, "%s", d.s);
    cr_assert(graph_verify(g, "infer"));
    t.n = 0;
    graph_print(&t, g);
    cr_assert_str_eq(t.s + strlen(head), to, "got\n%swant\n%s", t.s + strlen(head), to);
    text_free(&t);
}

Test(infer, types_follow_from_inputs) {
    becomes("region \"\" (%0: f32[N,3], %1: f32[3]) { %2: ? = Add(%0, %1) %3: ? = Neg(%2) return %3 }",
            "region \"\" (%0: f32[N,3], %1: f32[3]) {\n  %2: f32[N,3] = Add(%0, %1)\n  %3: f32[N,3] = Neg(%2)\n  "
            "return %3\n}\n");
}
Test(infer, literals_are_not_cut_off) {
    becomes("region \"\" (%0: f32[N]) { %1: ? = Half(%0) return %1 }",
            "region \"\" (%0: f32[N]) {\n  %1: f32[N] = Half(%0)\n  return %1\n}\n");
    cr_assert_not(graph_infer(parse("graph \"\" region \"\" (%0: i64[2]) { %1: ? = Half(%0) return %1 }")));
    cr_assert_str_eq(c->diags.v[0].message, "0.5 is no value of type i64, which it is computed with");
}
Test(infer, shape_arithmetic_is_symbolic) {
    becomes("region \"\" (%0: f32[N]) { %1: ? = Shape(%0) %2: ? = Add(%1, %1) %3: ? = Iota(%2) return %3 }",
            "region \"\" (%0: f32[N]) {\n  %1: i64[1] = Shape(%0)\n  %2: i64[1] = Add(%1, %1)\n  %3: f32[2*N] = "
            "Iota(%2)\n  return %3\n}\n");
}
Test(infer, what_is_known_becomes_constant) {
    becomes("region \"\" (%0: f32[2,3]) { %1: ? = Shape(%0) %2: ? = Add(%1, %1) return %2 }",
            "const %w0: i64[2] = [4, 6]\nregion \"\" (%0: f32[2,3]) {\n  return %w0\n}\n");
}
Test(infer, large_constants_are_computed_by_the_interpreter) {
    struct graph *g =
        parse("graph \"\" const %w: i64[1] = [5000] region \"\" () { %1: ? = Iota(%w) %2: ? = Neg(%1) return %2 }");
    cr_assert(graph_infer(g));
    const struct tensor *t = g->top->results.v[0]->init;
    cr_assert(t && !g->top->first);
    cr_assert_eq(tensor_count(t), 5000);
    for (int i = 0; i < 5000; i++) cr_assert_eq(tensor_f(t, i), -i);
}
static bool negated_at_compile_time(const char *constant) {
    char text[200];
    snprintf(text, sizeof text, "graph \"\" const %%w: %s region \"\" () { %%1: ? = Neg(%%w) return %%1 }", constant);
    struct graph *g = parse(text);
    cr_assert(graph_infer(g));
    return !g->top->first;
}
Test(infer, constants_as_large_as_those_of_the_model) {
    cr_expect(negated_at_compile_time("f32[1025,1024] = hash 0x1"));
    cr_expect(negated_at_compile_time("f32[1024,1024] = splat 1.0"));
    cr_expect_not(negated_at_compile_time("f32[1025,1024] = splat 1.0")); /* two bytes of the file, not four million */
}
Test(infer, sizes_that_only_a_run_tells) {
    becomes("const %w: f32[5] = [1.0, -1.0, 2.0, 0.0, 3.0] region \"\" () { %1: ? = Count(%w) return %1 }",
            "const %w0: i32[3] = [0, 1, 2]\nregion \"\" () {\n  return %w0\n}\n");
    becomes("const %w: f32[2] = [-1.0, -2.0] region \"\" () { %1: ? = Count(%w) return %1 }",
            "const %w0: i32[0] = []\nregion \"\" () {\n  return %w0\n}\n");
}
Test(infer, a_size_that_a_node_produces) {
    struct graph *g =
        parse("graph \"\" sym N: 1..64 region \"\" (%0: f32[N]) { %1: ? = Count(%0) %2: ? = Neg(%1) return %2 }");
    cr_assert(graph_infer(g) && graph_verify(g, "infer"));
    const struct sym *s = g->top->first->syms.v[0];
    cr_assert(s->produced && s->lo == 0 && s->hi == 64);
    cr_assert_eq(g->top->results.v[0]->type.dims[0], x_sym(c, s));
}
Test(infer, what_may_still_change_stays_in_bodies_of_loops) {
    becomes("const %w: f32[2] = [1.0, 2.0]\nregion \"\" () { %1: ? = Rounds()\n body = region \"\" (%p: ?) { %2: ? = "
            "Shape(%p) %3: ? = Iota(%2) %4: ? = Neg(%w) return %3, %4 }\n return %1 }",
            "const %w0: f32[2] = [-1.0, -2.0]\nregion \"\" () {\n  %0: f32[3] = Rounds()\n    body = region \"\" (%1: "
            "f32[3]) {\n"
            "      %2: i64[1] = Shape(%1)\n      %3: f32[3] = Iota(%2)\n      return %3, %w0\n    }\n  return %0\n}\n");
}
Test(infer, random_results_stay) {
    becomes("region \"\" () { %1: ? = Random() return %1 }",
            "region \"\" () {\n  %0: f32[3] = Random()\n  return %0\n}\n");
}
Test(infer, expansions_are_expanded_to_the_end) {
    becomes("region \"\" (%0: f32[N]) { %1 \"y\": ? = Four(%0) %2: ? = Neg(%1) return %2 }",
            "region \"\" (%0: f32[N]) {\n  %1: f32[N] = Add(%0, %0)\n  %2 \"y\": f32[N] = Add(%1, %1)\n  %3: f32[N] = "
            "Neg(%2)\n  return %3\n}\n");
}
Test(infer, one_fault_is_told_once) {
    struct graph *g = parse("graph \"\" region \"\" (%0: f32[2]) { %1: ? = Bad(%0) %2: ? = Neg(%1) %3: ? = Neg(%2) %4: "
                            "? = Bad(%0) return %3, %4 }");
    cr_assert_not(graph_infer(g));
    cr_assert_eq(c->diags.errors, 2);
    cr_assert_str_eq(c->diags.v[1].origin, "node 3 (Bad)");
}
Test(infer, it_stops_after_twenty) {
    struct text t = {0};
    text_add(&t, "graph \"\" region \"\" (%x: f32[2]) {");
    for (int i = 0; i < 50; i++) text_printf(&t, " %%a%d: ? = Bad(%%x)", i);
    text_add(&t, " return }");
    cr_assert_not(graph_infer(parse(t.s)));
    cr_assert_eq(c->diags.errors, DIAG_MAX);
}
Test(infer, an_operator_without_row) {
    struct graph *g = parse("graph \"\" region \"\" (%0: f32[2]) { %1: ? = Nope(%0) return %1 }");
    cr_assert_not(graph_infer(g));
    cr_assert_eq(c->diags.v[0].code, E_OP);
}
Test(infer, passes_run_by_name) {
    struct graph *g = parse("graph \"\" region \"\" (%0: f32[2]) { %1: ? = Neg(%0) %2: ? = Neg(%0) return %1 }");
    cr_assert(run_graph_passes(g, "sort,infer,dce"));
    cr_assert_eq(g->top->first, g->top->last);
    cr_assert_not(run_graph_passes(g, "infer,nonsense"));
    cr_assert_eq(c->diags.v[0].code, E_USAGE);
}
