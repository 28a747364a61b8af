/* Graph IR: edit functions keep use lists, inlining moves nodes, sorting finds cycles. */
#include "ir/graph/graph.h"
#include "ir/graph/op.h"
#include <criterion/criterion.h>
#include <string.h>

static struct ctx *c;
static struct graph *g;
static struct value *x;
static void setup(void) {
    c = ctx_new();
    g = graph_new(c, "test");
    expr n = x_sym(c, graph_sym(g, "N", 1, 64));
    x = region_param(g->top, "x", type_tensor(c, F32, &n, 1));
}
static void teardown(void) { ctx_free(c); }
TestSuite(graph, .init = setup, .fini = teardown);

static struct node *unary(struct region *r, const char *op, struct value *in) {
    return node_new(r, NULL, "", op, &in, 1, 1);
}

Test(graph, edits_keep_use_lists) {
    struct value *xx[] = {x, NULL, x};
    struct node *a = node_new(g->top, NULL, "", "A", xx, 3, 1), *b = unary(g->top, "B", a->outs.v[0]);
    region_result(g->top, b->outs.v[0]);
    cr_assert_eq(x->uses.n, 2);
    node_set_input(a, 2, b->outs.v[0]);
    cr_assert_eq(x->uses.n, 1);
    cr_assert_eq(b->outs.v[0]->uses.n, 2);
    value_replace(b->outs.v[0], x);
    cr_assert_eq(g->top->results.v[0], x);
    cr_assert_eq(x->uses.n, 3);
    node_remove(b);
    cr_assert_eq(a->outs.v[0]->uses.n, 0);
    node_set_input(a, 4, x);
    cr_assert_eq(a->ins.n, 5);
    cr_assert_null(a->ins.v[3]);
    node_remove(a);
    cr_assert_null(g->top->first);
    cr_assert_eq(x->uses.n, 1, "only the result is left");
}

Test(graph, symbols_are_one_by_name) {
    cr_assert_eq(graph_sym(g, "N", 0, 5), graph_sym(g, "N", 0, 5));
    cr_assert_eq(graph_sym(g, "N", 0, 5)->hi, 64, "the first use gives the range");
    cr_assert_neq(graph_sym(g, "M", 0, 5), graph_sym(g, "N", 0, 5));
    cr_assert_eq(g->syms.n, 2);
}

Test(graph, small_integer_constants_are_known_by_element) {
    struct tensor *t = tensor_new(&c->arena, I64, (int64_t[]){2}, 1);
    tensor_set_i(t, 0, 7);
    tensor_set_i(t, 1, -1);
    struct value *v = graph_const(g, "shape", t);
    cr_assert_eq(v->nelems, 2);
    cr_assert_eq(v->elems[0], x_const_i(c, I64, 7));
    cr_assert_eq(v->elems[1], x_const_i(c, I64, -1));
    cr_assert_null(graph_const(g, "w", tensor_new(&c->arena, F32, (int64_t[]){2}, 1))->elems);
}

Test(graph, attributes_are_set_replaced_and_dropped) {
    struct node *n = unary(g->top, "A", x);
    node_set_attr(n, (struct attr){.name = "axis", .kind = AT_INT, .u.i = 1});
    node_set_attr(n, (struct attr){.name = "alpha", .kind = AT_FLOAT, .u.f = 0.5f});
    node_set_attr(n, (struct attr){.name = "axis", .kind = AT_INT, .u.i = 2});
    cr_assert_eq(n->attrs.n, 2);
    cr_assert_eq(node_attr(n, "axis")->u.i, 2);
    node_drop_attr(n, "axis");
    cr_assert_null(node_attr(n, "axis"));
    cr_assert_not_null(node_attr(n, "alpha"));
}

Test(graph, inlining_moves_nodes_and_maps_parameters_and_results) {
    struct node *owner = unary(g->top, "If", x), *after = unary(g->top, "C", owner->outs.v[0]);
    struct region *body = region_new(g, owner, "body");
    node_set_attr(owner, (struct attr){.name = "body", .kind = AT_REGION, .u.region = body});
    struct value *p = region_param(body, "p", x->type);
    struct node *in = unary(body, "B", p);
    region_result(body, in->outs.v[0]);
    region_result(body, p);
    struct value *args[] = {x}, *results[2];
    region_inline(body, owner, args, results);
    cr_assert_eq(results[0], in->outs.v[0]);
    cr_assert_eq(results[1], x);
    cr_assert_eq(in->ins.v[0], x);
    cr_assert_eq(in->in, g->top);
    cr_assert_eq(in->next, owner);
    value_replace(owner->outs.v[0], results[0]);
    node_remove(owner);
    cr_assert_eq(g->top->first, in);
    cr_assert_eq(in->next, after);
    cr_assert_eq(x->uses.n, 1);
}

static void count(void *env, struct node *n) {
    (void)n;
    ++*(int *)env;
}
Test(graph, removing_an_owner_removes_the_uses_of_its_bodies) {
    struct value *k = graph_const(g, "k", tensor_new(&c->arena, F32, NULL, 0));
    struct node *owner = unary(g->top, "If", x);
    struct region *body = region_new(g, owner, "body");
    node_set_attr(owner, (struct attr){.name = "body", .kind = AT_REGION, .u.region = body});
    region_result(body, unary(body, "C", unary(body, "B", k)->outs.v[0])->outs.v[0]);
    int nodes = 0;
    each_node(g->top, count, &nodes);
    cr_assert_eq(nodes, 3);
    node_remove(owner);
    cr_assert_eq(k->uses.n, 0);
    cr_assert_eq(x->uses.n, 0);
}

Test(graph, sorting_is_stable_and_finds_cycles) {
    struct node *a = unary(g->top, "A", x), *b = unary(g->top, "B", x), *d = unary(g->top, "D", x);
    cr_assert(graph_sort(g));
    cr_assert(g->top->first == a && a->next == b && b->next == d);
    node_set_input(a, 0, d->outs.v[0]);
    cr_assert(graph_sort(g));
    cr_assert(g->top->first == d && d->next == a && a->next == b && g->top->last == b);
    node_set_input(d, 0, a->outs.v[0]);
    cr_assert_not(graph_sort(g));
    cr_assert_eq(c->diags.v[0].code, E_GRAPH);
}

Test(graph, a_long_chain_in_reverse_is_sorted) {
    enum { N = 20000 };
    struct node *n[N];
    for (int i = 0; i < N; i++) n[i] = unary(g->top, "A", x);
    for (int i = 0; i + 1 < N; i++) node_set_input(n[i], 0, n[i + 1]->outs.v[0]);
    cr_assert(graph_sort(g));
    cr_assert(g->top->first == n[N - 1] && g->top->last == n[0]);
}

static void nothing(void) {}
static const struct op fam_a[] = {{.domain = "", .name = "Zeta", .since = 1, .first = 1, .define = nothing},
                                  {.domain = "", .name = "Alpha", .since = 1, .first = 1, .define = nothing},
                                  {.name = NULL}};
static const struct op fam_b[] = {
    {.domain = "com.microsoft", .name = "Alpha", .since = 1, .first = 1, .expand = nothing}, {.name = NULL}};
Test(graph, rows_are_found_and_sorted) {
    cr_assert_null(op_find("", "Alpha"));
    op_register(fam_b);
    op_register(fam_a);
    cr_assert_eq(op_count(), 3);
    cr_assert_eq(op_find("", "Alpha"), &fam_a[1]);
    cr_assert_eq(op_find("com.microsoft", "Alpha"), &fam_b[0]);
    cr_assert_null(op_find("x", "Alpha"));
    cr_assert(op_at(0) == &fam_a[1] && op_at(1) == &fam_a[0] && op_at(2) == &fam_b[0]);
    cr_assert_eq(unary(g->top, "Zeta", x)->op, &fam_a[0]);
}

/* ---- text form */
static struct graph *parse(const char *text) { return graph_parse(c, text, strlen(text), "t.gir"); }

/* Printing gives a text that parses and prints the same; returns that text. */
static char *stable_text(struct graph *from) {
    struct text a = {0}, b = {0};
    graph_print(&a, from);
    struct ctx *other = ctx_new();
    struct graph *again = graph_parse(other, a.s, a.n, "again.gir");
    if (!again) {
        struct text d = {0};
        diag_print(&other->diags, &d, false);
        cr_assert_fail("%s\n%s", d.s, a.s);
    }
    cr_assert(graph_verify(again, NULL));
    graph_print(&b, again);
    cr_assert_str_eq(b.s, a.s);
    ctx_free(other);
    text_free(&b);
    return a.s;
}

static const char *const everything =
    "graph \"a \\\"model\\\"\\x1b\"\n"
    "opset \"\" 17\n"
    "opset \"com.microsoft\" 1\n"
    "metadata \"producer\" = \"line\\nbreak\"\n"
    "sym N: 1..64@8\n"
    "sym \"batch size\": 0..2147483647\n"
    "sym \"min\": 1..2\n"
    "const %w0 \"w\": f32[2,2] = [1.0, -0.0, inf, 0.1]\n"
    "const %w1: i64[2] = [-1, 9223372036854775807]\n"
    "const %w2: f32[8] = splat 0.5\n"
    "const %w3: f16[4,64] = hash 0x0123456789abcdef\n"
    "const %w4: str[2] = [\"a\\x00b\", \"\"]\n"
    "const %w5: f32[2] = [nan, 0x7fc00001]\n"
    "const %w6: u64[1] = [18446744073709551615]\n"
    "const %w7: u4[3] = [15, 0, 7]\n"
    "const %w8: bool[] = [1]\n"
    "const %w9: c64[1] = [0x3f80000040000000]\n"
    "region \"main\" (%0 \"x\": f32[N,\"batch size\",3], %1: seq<opt<i64[*]>>, %2: map<str,f32[]>) {\n"
    "  %3 \"y\": f32[2*N + 3,\"batch size\"*N,(N + 1)/2,N%3,\"min\"] = Conv(%0, %w0, _, %w1) {strides=[1,1], a=1, "
    "b=1.0, c=\"s\\x00\", "
    "d=f32[1] = [2.0], e=[nan(0xffffff9a),0.5,nan], f=[\"p\",\"q\"], g=floats[], h=ints[], i=type seq<f32[]>, "
    "j=strings[], k=nan(0x7fc00123)} @\"conv 1\"\n"
    "  size nnz: 0..512\n"
    "  size nnz#2: 0..8\n"
    "  _, %4: i64[2,max(nnz, nnz#2)] = com.microsoft::Thing:3(%w2, %w3, %w4, %w5, %w6, %w7, %w8, %w9)\n"
    "  %5: f32[select(N < nnz, N, select(or(2 == N, N < nnz), 1, 2))] = \"weird domain\"::\"an op\"(%3)\n"
    "  %6: ? = If(%w8, %3) {captures=1} @\"branch\"\n"
    "    then_branch = region \"then\" (%7: f32[*]) {\n"
    "      %8: f32[*] = Relu(%7)\n"
    "      return %8\n"
    "    }\n"
    "    else_branch = region \"else\" (%9: f32[*]) {\n"
    "      return %w0\n"
    "    }\n"
    "  Sink(%6)\n"
    "  return %5 \"out\", %0\n"
    "}\n";

Test(text, everything_is_printed_as_it_was_read, .init = setup, .fini = teardown) {
    struct graph *m = parse(everything);
    struct text d = {0};
    if (!m) diag_print(&c->diags, &d, false);
    cr_assert(m, "%s", d.s);
    cr_assert(graph_verify(m, NULL));
    cr_assert_str_eq(stable_text(m), everything);
}

Test(text, terms_are_sorted_by_text_not_by_age, .init = setup, .fini = teardown) {
    expr n = x_sym(c, graph_sym(g, "Z", 0, 9)), a = x_sym(c, graph_sym(g, "A", 0, 9)),
         m = x_sym(c, graph_sym(g, "N", 1, 64));
    expr dims[] = {x_add(c, x_mul(c, n, m), a),
                   x_addi(c, x_sub(c, x_muli(c, a, -2), n), -5),
                   x_min(c, n, a),
                   x_muli(c, x_divi(c, a, 3), 5),
                   x_div(c, a, x_mul(c, n, m)),
                   x_div(c, x_mul(c, n, m), x_addi(c, a, 1))};
    region_param(g->top, "", type_tensor(c, F32, dims, 6));
    cr_assert(strstr(stable_text(g), "f32[A + N*Z,-2*A - Z - 5,min(A, Z),5*(A/3),A/(N*Z),N*Z/(A + 1)]"), "%s",
              stable_text(g));
}

Test(text, small_nested_scopes_see_constants_only, .init = setup, .fini = teardown) {
    cr_assert_null(
        parse("graph \"\" region \"\" (%0: f32[]) { %1: ? = If(%0)\n b = region \"\" () { return %0 } return %1 }"));
    cr_assert_eq(c->diags.v[0].code, E_PARSE);
    cr_assert(strstr(c->diags.v[0].message, "%0 is not defined"));
    cr_assert_str_eq(c->diags.v[0].where, "t.gir:2");
}

/* Each text is refused with one diagnostic, never with a crash. */
static const char *const refused[] = {
    "",
    "graph",
    "graph \"",
    "graph \"\\q\"",
    "graph \"\\x0\"",
    "graph \"a\\x00b\" region \"\" () { return }",
    "graph \"\" region \"\" () { return } x",
    "graph \"\" region \"\" () { return",
    "graph \"\" region \"\" () { size n: 0..1 return }",
    "graph \"\" sym N: 2..1 region \"\" () { return }",
    "graph \"\" sym N: 0..1 sym N: 0..1 region \"\" () { return }",
    "graph \"\" region \"\" (%0: f32[M]) { return }",
    "graph \"\" region \"\" (%0: f32[99999999999999999999]) { return }",
    "graph \"\" region \"\" (%0: f33[1]) { return }",
    "graph \"\" region \"\" (%0: f32[1], %0: f32[1]) { return }",
    "graph \"\" region \"\" () { %0: ? = A() {x=1, x=2} return %0 }",
    "graph \"\" region \"\" () { %0: ? = A(%0) return %0 }",
    "graph \"\" region \"\" () { %0: ? = A:99999999999(%0) return %0 }",
    "graph \"\" const %w: f32[1000000000000000000,1000] = splat 1.0 region \"\" () { return }",
    "graph \"\" const %w: f32[1000000000000] = hash 0x1 region \"\" () { return }",
    "graph \"\" const %w: f32[1000000000000] = [1.0] region \"\" () { return }",
    "graph \"\" const %w: f32[2] = [1.0] region \"\" () { return }",
    "graph \"\" const %w: f32[-1] = [] region \"\" () { return }",
    "graph \"\" const %w: i8[1] = [300] region \"\" () { return }",
    "graph \"\" const %w: idx[1] = [3] region \"\" () { return }",
    "graph \"\" const %w: str[1] = splat \"a\" region \"\" () { return }",
    "graph \"\" region \"\" (%0: f32[1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1]) { return }",
};
Test(text, bad_texts_are_refused, .init = setup, .fini = teardown) {
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        int before = c->diags.errors;
        cr_assert_null(parse(refused[i]), "%s", refused[i]);
        cr_assert_eq(c->diags.errors, before + 1, "%s", refused[i]);
    }
}

Test(text, deep_nesting_is_refused, .init = setup, .fini = teardown) {
    struct text t = {0};
    text_add(&t, "graph \"\" region \"\" (%0: f32[");
    for (int i = 0; i < 100000; i++) text_char(&t, '(');
    cr_assert_null(parse(t.s));
    cr_assert_eq(c->diags.v[0].code, E_LIMIT);
    t.n = 0;
    text_add(&t, "graph \"\" region \"\" (%0: ");
    for (int i = 0; i < 100000; i++) text_add(&t, "seq<");
    cr_assert_null(parse(t.s));
    t.n = 0;
    text_add(&t, "graph \"\" region \"\" () { ");
    for (int i = 0; i < 100000; i++) text_add(&t, "A() b = region \"\" () { ");
    cr_assert_null(parse(t.s));
    cr_assert_eq(c->diags.errors, 3);
}

/* Every prefix of a text, and the text with any one byte changed, is parsed or refused. */
Test(text, damaged_texts_do_no_harm, .init = setup, .fini = teardown) {
    size_t n = strlen(everything);
    for (size_t i = 0; i < n; i++) {
        struct ctx *d = ctx_new();
        cr_assert_null(graph_parse(d, everything, i < n - 1 ? i : 0, "t"), "%zu bytes", i);
        ctx_free(d);
    }
    static const char by[] = "\0 9(%\"[~";
    char *s = malloc(n + 1);
    for (size_t i = 0; i < n; i++) {
        struct ctx *d = ctx_new();
        memcpy(s, everything, n + 1);
        s[i] = by[i % (sizeof by - 1)];
        struct graph *m = graph_parse(d, s, n, "t");
        if (m) graph_verify(m, NULL);
        else cr_assert_eq(d->diags.errors, 1);
        ctx_free(d);
    }
    free(s);
}

Test(text, stand_ins_are_the_same_every_time, .init = setup, .fini = teardown) {
    const char *t = "graph \"\" const %w: f32[1000] = hash 0x7 region \"\" () { return %w }";
    struct tensor const *a = parse(t)->top->results.v[0]->init, *b = parse(t)->top->results.v[0]->init;
    cr_assert_eq(a->stand_in, 7);
    cr_assert(tensor_equal(a, b));
    cr_assert_neq(tensor_f(a, 0), tensor_f(a, 1));
}

/* ---- verifier: one broken graph for each rule */
static void refused_as(struct graph *m, enum diag_code code, const char *part) {
    cr_assert_not(graph_verify(m, NULL)); /* what somebody wrote */
    const struct diag *d = &c->diags.v[c->diags.n - 1];
    cr_assert_eq(d->code, code, "%s", d->message);
    cr_assert(strstr(d->message, part), "%s", d->message);
    cr_assert_not(graph_verify(m, "a pass")); /* what a pass made */
    d = &c->diags.v[c->diags.n - 1];
    cr_assert_eq(d->code, E_BROKEN, "%s", d->message);
    cr_assert(c->diags.ours > 0 && strstr(d->message, part), "%s", d->message);
    cr_assert(strncmp(d->message, "after a pass: ", 14) == 0);
}
TestSuite(verify, .init = setup, .fini = teardown);

Test(verify, use_before_definition) {
    struct node *a = unary(g->top, "A", x), *b = unary(g->top, "B", x);
    cr_assert(graph_verify(g, NULL));
    node_set_input(a, 0, b->outs.v[0]);
    refused_as(g, E_GRAPH, "before it is defined");
}
Test(verify, capture_from_outside) {
    struct node *a = unary(g->top, "If", x);
    struct region *body = region_new(g, a, "body");
    node_set_attr(a, (struct attr){.name = "body", .kind = AT_REGION, .u.region = body});
    cr_assert(graph_verify(g, NULL));
    region_result(body, x);
    refused_as(g, E_VERIFY, "of another region");
}
Test(verify, removed_definition) {
    struct node *a = unary(g->top, "A", x), *b = unary(g->top, "B", a->outs.v[0]);
    struct value *gone = a->outs.v[0];
    node_set_input(b, 0, x);
    node_remove(a);
    node_set_input(b, 0, gone);
    refused_as(g, E_VERIFY, "which nothing defines");
}
Test(verify, wrong_use_entry) {
    unary(g->top, "A", x);
    x->uses.v[0].index = 1;
    refused_as(g, E_VERIFY, "wrong entry");
}
Test(verify, use_entry_twice) {
    struct value *xx[] = {x, x};
    node_new(g->top, NULL, "", "A", xx, 2, 1);
    x->uses.v[1].index = 0;
    refused_as(g, E_VERIFY, "wrong entry");
}
Test(verify, missing_use_entry) {
    unary(g->top, "A", x);
    x->uses.n = 0;
    refused_as(g, E_VERIFY, "lacks a use");
}
Test(verify, broken_links) {
    struct node *a = unary(g->top, "A", x);
    unary(g->top, "B", x);
    a->next->prev = NULL;
    refused_as(g, E_VERIFY, "");
}
Test(verify, foreign_output) {
    struct node *a = unary(g->top, "A", x);
    a->outs.v[0]->index = 1;
    refused_as(g, E_VERIFY, "belongs to something else");
}
Test(verify, region_owner) {
    struct node *a = unary(g->top, "If", x);
    node_set_attr(a, (struct attr){.name = "body", .kind = AT_REGION, .u.region = region_new(g, NULL, "body")});
    refused_as(g, E_VERIFY, "another owner");
}
Test(verify, undeclared_symbol) {
    expr n = x_sym(c, sym_new(c, "M", 0, 7, true));
    unary(g->top, "A", x)->outs.v[0]->type = type_tensor(c, F32, &n, 1);
    refused_as(g, E_VERIFY, "declared symbols");
}
Test(verify, symbol_declared_twice) {
    struct node *a = unary(g->top, "A", x), *b = unary(g->top, "B", x);
    const struct sym *s = sym_new(c, "M", 0, 7, true);
    PUSH(&c->arena, &a->syms, s);
    cr_assert(graph_verify(g, NULL));
    PUSH(&c->arena, &b->syms, s);
    refused_as(g, E_VERIFY, "declared twice");
}
static const struct op_slot two_in[] = {{"A", TS_ANY, 0}, {"B", TS_ANY, 0}, {"C", TS_ANY, OPTIONAL}, {0}},
                            one_out[] = {{"Y", TS_ANY, 0}, {0}};
static const struct op_attr axis_row[] = {{.name = "axis", .kind = AT_INT, .flags = A_REQUIRED}, {0}};
static const struct op fam_c[] = {{.domain = "",
                                   .name = "Row",
                                   .since = 1,
                                   .first = 1,
                                   .attrs = axis_row,
                                   .ins = two_in,
                                   .outs = one_out,
                                   .define = nothing},
                                  {.name = NULL}};
Test(verify, arity_and_attributes) {
    op_register(fam_c);
    struct value *ins[] = {x, x, NULL, x};
    struct node *n = node_new(g->top, NULL, "", "Row", ins, 2, 1);
    refused_as(g, E_ATTR, "\"axis\" is missing");
    node_set_attr(n, (struct attr){.name = "axis", .kind = AT_FLOAT});
    refused_as(g, E_ATTR, "must be an integer, but is a float");
    node_set_attr(n, (struct attr){.name = "axis", .kind = AT_INT});
    cr_assert(graph_verify(g, NULL));
    node_set_input(n, 1, NULL);
    refused_as(g, E_ARITY, "input 1 \"B\" is missing");
    node_set_input(n, 1, x);
    node_set_input(n, 3, x);
    refused_as(g, E_ARITY, "at most 3");
    node_set_input(n, 3, NULL);
    node_out(n, 1, "");
    refused_as(g, E_ARITY, "gives at most 1");
}
