/* Import of ONNX: names, symbols, captures, functions, upgrades, limits; hostile bytes; and every model of the model
 * set. */
#include "compiler/import/tflite.h"
#include "ir/graph/op.h"
#include "lower/ops/ops.h"
#include "onnx_writer.h"
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

static struct ctx *c;
static void setup(void) { c = ctx_new(); }
static void teardown(void) { ctx_free(c); }
TestSuite(import, .init = setup, .fini = teardown);

static const struct import_options lenient = {.keep_unknown = true};

static struct graph *import_as(msg model, const struct import_options *o) {
    uint8_t *data = arena_copy(&c->arena, model.s, model.n);
    struct graph *g = import_onnx_bytes(c, "m.onnx", data, model.n, o);
    text_free(&model);
    return g;
}
/* The text of the imported model, without its first two lines (name, opset). */
static const char *text_of(struct graph *g) {
    struct text t = {0};
    if (!g) diag_print(&c->diags, &t, false);
    cr_assert(g, "%s", t.s);
    graph_print(&t, g);
    return strchr(strchr(t.s, '\n') + 1, '\n') + 1;
}
static void same_text(struct graph *g, const char *want) {
    cr_assert_str_eq(text_of(g), want, "got\n%swant\n%s", text_of(g), want);
}
static void diags_clear(void) { teardown(), setup(); }
static void refused(msg model, const struct import_options *o, enum diag_code code, const char *part) {
    cr_assert_null(import_as(model, o ? o : &lenient));
    const struct diag *d = c->diags.v;
    while (d < c->diags.v + c->diags.n && d->severity != DIAG_ERROR) d++;
    cr_assert(d < c->diags.v + c->diags.n);
    cr_assert_eq(d->code, code, "%s", d->message);
    cr_assert(strstr(d->message, part), "%s", d->message);
}

/* x: f32[N,3] -> A -> y */
static msg chain(void) {
    msg g = {0};
    w_msg(&g, G_NODE, w_node("A", "x", "h"));
    w_msg(&g, G_NODE, w_node("B", "h", "y"));
    w_msg(&g, G_IN, w_f32("x", "N 3"));
    w_msg(&g, G_OUT, w_name("y"));
    return g;
}

Test(import, inputs_weights_and_nodes) {
    msg g = {0}, n = w_node_in("", "Conv", "conv1", "x w", "y");
    w_msg(&n, N_ATTR, w_attr_int("group", 3));
    w_msg(&g, G_NODE, n);
    w_msg(&g, G_INIT, w_tensor("w", 1, (int64_t[]){2, 2}, 2));
    w_msg(&g, G_IN, w_f32("x", "N 3 ? -"));
    w_msg(&g, G_IN, w_f32("w", "2 2"));
    w_msg(&g, G_IN, w_f32("z", "N"));
    w_msg(&g, G_OUT, w_name("y"));
    struct graph *m = import_as(w_model(g), &lenient);
    same_text(m, "sym N: 0..2147483647\n"
                 "sym x_d2: 0..2147483647\n"
                 "sym x_d3: 0..2147483647\n"
                 "const %w0 \"w\": f32[2,2] = [0.0, 1.0, 2.0, 3.0]\n"
                 "region \"main\" (%0 \"x\": f32[N,3,x_d2,x_d3], %1 \"z\": f32[N]) {\n"
                 "  %2 \"y\": ? = Conv:17(%0, %w0) {group=3} @\"conv1\"\n"
                 "  return %2\n"
                 "}\n");
    cr_assert_str_eq(m->top->first->origin, "node 0 \"conv1\" (Conv)");
}

Test(import, weights_stay_inputs_when_asked_to) {
    msg g = chain();
    w_msg(&g, G_INIT, w_tensor("x", 1, (int64_t[]){1, 3}, 2));
    struct graph *m = import_as(w_model(g), &(struct import_options){.keep_unknown = true, .keep_inputs = true});
    cr_assert(strstr(text_of(m), "A:17(%0)"));
    g = chain();
    w_msg(&g, G_INIT, w_tensor("x", 1, (int64_t[]){1, 3}, 2));
    cr_assert(strstr(text_of(import_as(w_model(g), &lenient)), "A:17(%w0)"));
}

Test(import, unnamed_dims_keep_clear_of_named_ones) {
    msg g = chain();
    w_msg(&g, G_IN, w_f32("z", "? z_d0 * None"));
    cr_assert(strstr(text_of(import_as(w_model(g), &lenient)), "f32[z_d0_,z_d0,z_d2,z_d3]"));
}

Test(import, dims_and_shapes_from_the_user) {
    struct dim_option fixed = {.name = "N", .lo = 4, .hi = 4}, range = {.name = "N", .lo = 1, .hi = 64, .ref = 8};
    struct import_options o = {.keep_unknown = true, .dims = &fixed, .ndims = 1};
    cr_assert(strstr(text_of(import_as(w_model(chain()), &o)), "region \"main\" (%0 \"x\": f32[4,3])"));
    o.dims = &range;
    cr_assert(strstr(text_of(import_as(w_model(chain()), &o)), "sym N: 1..64@8\n"));
    struct shape_option shape = {"x", false, 1, &(struct shape){2, {7, -1}}, "--shape"};
    o = (struct import_options){.keep_unknown = true, .shapes = &shape, .nshapes = 1};
    cr_assert(strstr(text_of(import_as(w_model(chain()), &o)), "f32[7,3]"));
    msg g = {0};
    w_msg(&g, G_IN, w_f32("x", NULL));
    w_msg(&g, G_OUT, w_name("x"));
    cr_assert(strstr(text_of(import_as(w_model(g), &o)), "f32[7,x_d1]"));
}
Test(import, a_dim_that_is_none) {
    refused(w_model(chain()),
            &(struct import_options){
                .keep_unknown = true, .dims = &(struct dim_option){.name = "M", .lo = 1, .hi = 2}, .ndims = 1},
            E_USAGE, "\"M\"");
}
Test(import, a_shape_that_contradicts) {
    refused(
        w_model(chain()),
        &(struct import_options){.keep_unknown = true,
                                 .shapes = &(struct shape_option){"x", false, 1, &(struct shape){2, {1, 4}}, "--shape"},
                                 .nshapes = 1},
        E_USAGE, "says 3");
}
/* y = A(s), for an input of that type */
static msg of_type(msg type) {
    msg g = {0};
    w_msg(&g, G_NODE, w_node("A", "s", "y"));
    w_msg(&g, G_IN, w_f32("x", "2 s_1_d0"));
    w_msg(&g, G_IN, w_value("s", type));
    w_msg(&g, G_OUT, w_name("y"));
    return w_model(g);
}
static struct import_options with_shape(const struct shape_option *x) {
    return (struct import_options){.keep_unknown = true, .shapes = x, .nshapes = 1};
}
Test(import, the_elements_of_a_sequence_become_inputs) {
    struct shape two[] = {{2, {3, 4}}, {2, {-1, 4}}};
    struct shape_option x = {"s", false, 2, two, "--shape"};
    struct import_options o = with_shape(&x);
    /* sizes that the type names are not shared by the elements */
    same_text(import_as(of_type(w_seq_type(w_tensor_type(1, "N 4"))), &o),
              "sym s_1_d0: 0..2147483647\n"
              "sym s_1_d0_: 0..2147483647\n"
              "takes sequence \"s\" 2 at 1\n"
              "region \"main\" (%0 \"x\": f32[2,s_1_d0], %1 \"s_0\": f32[3,4], %2 \"s_1\": f32[s_1_d0_,4]) {\n"
              "  %3 \"s\": ? = SequenceConstruct(%1, %2)\n"
              "  %4 \"y\": ? = A:17(%3)\n"
              "  return %4\n"
              "}\n");
    x.n = 0;
    cr_assert(strstr(text_of(import_as(of_type(w_seq_type(w_tensor_type(7, NULL))), &o)),
                     "\"s\": ? = SequenceEmpty() {dtype=7}"));
}
Test(import, what_an_optional_holds_becomes_an_input) {
    struct shape_option x = {"s", false, 1, &(struct shape){1, {-1}}, "--shape"};
    struct import_options o = with_shape(&x);
    cr_assert(strstr(text_of(import_as(of_type(w_opt_type(w_tensor_type(1, NULL))), &o)),
                     "takes optional \"s\" 1 at 1\n"
                     "region \"main\" (%0 \"x\": f32[2,s_1_d0], %1 \"s\": f32[s_d0]) {\n"
                     "  %2 \"s\": ? = Optional(%1)\n"));
    cr_assert(strstr(text_of(import_as(of_type(w_opt_type(w_seq_type(w_tensor_type(1, NULL)))), &o)),
                     "  %2: ? = SequenceConstruct(%1)\n"
                     "  %3 \"s\": ? = Optional(%2)\n"));
    x = (struct shape_option){.name = "s", .none = true, .from = "--shape"};
    cr_assert(strstr(text_of(import_as(of_type(w_opt_type(w_seq_type(w_tensor_type(1, NULL)))), &o)),
                     "takes optional_sequence \"s\" none at 1\n"
                     "region \"main\" (%0 \"x\": f32[2,s_1_d0]) {\n"
                     "  %1 \"s\": ? = Optional() {type=type seq<f32[*]>}\n"));
}
static const struct shape_option *one_element(void *env, int k, const char *name, enum value_kind kind) {
    static const struct shape five = {1, {5}};
    static struct shape_option x = {NULL, false, 1, &five, "input_1.pb"};
    cr_assert(k == 1 && !strcmp(name, "s") && kind == VALUE_SEQUENCE);
    ++*(int *)env;
    return &x;
}
Test(import, contents_from_data) {
    int asked = 0;
    struct import_options o = {.keep_unknown = true, .contents = one_element, .env = &asked};
    cr_assert(strstr(text_of(import_as(of_type(w_seq_type(w_tensor_type(1, NULL))), &o)), "%1 \"s_0\": f32[5])"));
    cr_assert_eq(asked, 1);
    refused(of_type(w_seq_type(w_tensor_type(1, "6"))), &o, E_USAGE,
            "input_1.pb gives dimension 0 of \"s_0\" the size 5, but the model says 6");
}
Test(import, without_contents_the_declared_type_stays) {
    cr_assert(strstr(text_of(import_as(of_type(w_seq_type(w_tensor_type(1, NULL))), &lenient)), "\"s\": seq<f32[*]>"));
}
Test(import, contents_that_do_not_fit) {
    struct shape_option x = {"s", true, 0, NULL, "--shape"};
    struct import_options o = with_shape(&x);
    refused(of_type(w_seq_type(w_tensor_type(1, NULL))), &o, E_USAGE, "a sequence is always there");
    diags_clear();
    x.none = false;
    refused(of_type(w_opt_type(w_tensor_type(1, NULL))), &o, E_USAGE, "an optional of one tensor");
    diags_clear();
    refused(of_type(w_tensor_type(1, NULL)), &o, E_USAGE, "it is one tensor");
    diags_clear();
    refused(of_type(w_seq_type(w_seq_type(w_tensor_type(1, NULL)))), &o, E_TYPE, "something else than tensors");
    diags_clear();
    x.n = HOLDER_MAX + 1;
    refused(of_type(w_seq_type(w_tensor_type(1, NULL))), &o, E_LIMIT, "at most 1024");
}
Test(import, unknown_rank_is_refused_with_the_remedy) {
    msg g = {0};
    w_msg(&g, G_IN, w_f32("x", NULL));
    refused(w_model(g), NULL, E_RANK, "how many dimensions");
    cr_assert(strstr(c->diags.v[0].help, "--shape 'x="));
}

Test(import, nodes_are_sorted) {
    msg g = {0};
    w_msg(&g, G_NODE, w_node("B", "h", "y"));
    w_msg(&g, G_NODE, w_node("A", "x", "h"));
    w_msg(&g, G_IN, w_f32("x", "3"));
    w_msg(&g, G_OUT, w_name("y"));
    cr_assert_str_eq(import_as(w_model(g), &lenient)->top->first->op_type, "A");
}
Test(import, a_cycle_is_refused) {
    msg g = {0};
    w_msg(&g, G_NODE, w_node("A", "b", "a"));
    w_msg(&g, G_NODE, w_node("B", "a", "b"));
    refused(w_model(g), NULL, E_GRAPH, "cycle");
}
Test(import, a_name_defined_twice_is_refused) {
    msg g = chain();
    w_msg(&g, G_NODE, w_node("C", "x", "h"));
    refused(w_model(g), NULL, E_GRAPH, "\"h\" is defined twice");
}
Test(import, an_undefined_name_is_refused) {
    msg g = chain();
    w_msg(&g, G_NODE, w_node("C", "x nowhere", "z"));
    refused(w_model(g), NULL, E_GRAPH, "input 1 \"nowhere\"");
    cr_assert_str_eq(c->diags.v[0].origin, "node 2 (C)");
}
Test(import, an_undefined_output_is_refused) {
    msg g = chain();
    w_msg(&g, G_OUT, w_name("z"));
    refused(w_model(g), NULL, E_GRAPH, "output 1 \"z\"");
}

/* ---- bodies */
static msg body(const char *op, const char *in) {
    msg g = {0};
    w_msg(&g, G_NODE, w_node(op, in, "r"));
    w_msg(&g, G_OUT, w_name("r"));
    return g;
}
Test(import, both_branches_take_all_captures_in_one_order) {
    msg g = chain(), n = w_node("If", "c", "z"), other = {0}, outer_w = w_tensor("w", 1, NULL, 0);
    w_msg(&n, N_ATTR, w_attr_graph("then_branch", body("T", "h x w")));
    w_msg(&other, G_NODE, w_node("E", "y x", "r"));
    w_msg(&other, G_OUT, w_name("r"));
    w_msg(&n, N_ATTR, w_attr_graph("else_branch", other));
    w_msg(&n, N_ATTR, w_attr_int("captures", 77));
    w_msg(&g, G_NODE, n);
    w_msg(&g, G_INIT, outer_w);
    w_msg(&g, G_IN, w_value("c", w_tensor_type(9, "")));
    w_msg(&g, G_OUT, w_name("z"));
    same_text(import_as(w_model(g), &lenient),
              "sym N: 0..2147483647\n"
              "const %w0 \"w\": f32[] = [0.0]\n"
              "region \"main\" (%0 \"x\": f32[N,3], %1 \"c\": bool[]) {\n"
              "  %2 \"h\": ? = A:17(%0)\n"
              "  %3 \"y\": ? = B:17(%2)\n"
              "  %4 \"z\": ? = If:17(%1, %2, %0, %3) {captures=3}\n"
              "    then_branch = region \"\" (%5 \"h\": ?, %6 \"x\": f32[N,3], %7 \"y\": ?) {\n"
              "      %8 \"r\": ? = T:17(%5, %6, %w0)\n"
              "      return %8\n"
              "    }\n"
              "    else_branch = region \"\" (%9 \"h\": ?, %10 \"x\": f32[N,3], %11 \"y\": ?) {\n"
              "      %12 \"r\": ? = E:17(%11, %10)\n"
              "      return %12\n"
              "    }\n"
              "  return %3, %4\n"
              "}\n");
}
Test(import, captures_stand_behind_the_optional_inputs) {
    msg g = chain(), loop = {0}, of_count = w_node("Loop", "h -", "z");
    w_msg(&loop, G_NODE, w_node("T", "x", "r"));
    w_msg(&loop, G_IN, w_name("i"));
    w_msg(&loop, G_IN, w_name("k"));
    w_msg(&loop, G_OUT, w_name("k"));
    w_msg(&loop, G_OUT, w_name("r"));
    w_msg(&of_count, N_ATTR, w_attr_graph("body", loop));
    w_msg(&g, G_NODE, of_count);
    ops_register_all();
    struct node *n = import_as(w_model(g), &lenient)->top->last;
    cr_assert_str_eq(n->op_type, "Loop");
    cr_assert(n->ins.n == 3 && !n->ins.v[1] && !strcmp(n->ins.v[2]->name, "x"));
}
Test(import, captures_pass_through_every_level) {
    msg g = chain(), outer = w_node("Loop", "- - x", "z"), inner = w_node("If", "k", "r"), loop = {0};
    w_msg(&inner, N_ATTR, w_attr_graph("then_branch", body("T", "h v")));
    w_msg(&loop, G_NODE, inner);
    w_msg(&loop, G_IN, w_name("i"));
    w_msg(&loop, G_IN, w_name("k"));
    w_msg(&loop, G_IN, w_name("v"));
    w_msg(&loop, G_OUT, w_name("k"));
    w_msg(&loop, G_OUT, w_name("r"));
    w_msg(&outer, N_ATTR, w_attr_graph("body", loop));
    w_msg(&g, G_NODE, outer);
    same_text(import_as(w_model(g), &lenient),
              "sym N: 0..2147483647\n"
              "region \"main\" (%0 \"x\": f32[N,3]) {\n"
              "  %1 \"h\": ? = A:17(%0)\n"
              "  %2 \"y\": ? = B:17(%1)\n"
              "  %3 \"z\": ? = Loop:17(_, _, %0, %1) {captures=1}\n"
              "    body = region \"\" (%4 \"i\": ?, %5 \"k\": ?, %6 \"v\": ?, %7 \"h\": ?) {\n"
              "      %8 \"r\": ? = If:17(%5, %7, %6) {captures=2}\n"
              "        then_branch = region \"\" (%9 \"h\": ?, %10 \"v\": ?) {\n"
              "          %11 \"r\": ? = T:17(%9, %10)\n"
              "          return %11\n"
              "        }\n"
              "      return %5, %8\n"
              "    }\n"
              "  return %2\n"
              "}\n");
}
Test(import, a_body_that_makes_a_cycle_is_refused) {
    msg g = chain(), n = w_node("If", "x", "z");
    w_msg(&n, N_ATTR, w_attr_graph("then_branch", body("T", "z")));
    w_msg(&g, G_NODE, n);
    refused(w_model(g), NULL, E_GRAPH, "cycle");
}

/* ---- functions */
static msg function(const char *name, const char *ins, const char *outs, msg node) {
    msg f = {0};
    w_str(&f, 1, name);
    w_str(&f, 10, "my");
    w_words(&f, F_IN, ins);
    w_words(&f, F_OUT, outs);
    w_msg(&f, F_NODE, node);
    w_msg(&f, F_OPSET, w_opset("", 16));
    return f;
}
static msg model_with(msg node, msg f1, msg f2) {
    msg g = chain();
    w_msg(&g, G_NODE, node);
    w_msg(&g, G_OUT, w_name("z"));
    msg m = w_model(g);
    w_msg(&m, M_FUNCTION, f1);
    if (f2.n) w_msg(&m, M_FUNCTION, f2);
    return m;
}
Test(import, functions_are_inlined_with_their_attributes) {
    msg call = w_node_in("my", "F", "call", "h", "z"), in = w_node("G", "a b", "r"), inner;
    w_msg(&call, N_ATTR, w_attr_int("alpha", 5));
    w_msg(&in, N_ATTR, w_attr_ref("axis", W_INT, "alpha"));
    w_msg(&in, N_ATTR, w_attr_ref("depth", W_INT, "beta"));
    w_msg(&in, N_ATTR, w_attr_ref("gone", W_INT, "gamma"));
    inner = function("F", "a b", "r", in);
    w_words(&inner, F_ATTR, "alpha gamma");
    w_msg(&inner, F_DEFAULT, w_attr_int("beta", 9));
    struct graph *m = import_as(model_with(call, inner, (msg){0}), &lenient);
    cr_assert(strstr(text_of(m), "  %3 \"z\": ? = G:16(%1, _) {axis=5, depth=9}\n"), "%s", text_of(m));
    cr_assert_str_eq(m->top->last->origin, "node 2 \"call\" (F) > node 0 (G)");
}
Test(import, functions_call_functions) {
    msg f = function("F", "a", "r", w_node_in("my", "H", "", "a", "r")),
        h = function("H", "p", "q", w_node("K", "p", "q"));
    struct graph *m = import_as(model_with(w_node_in("my", "F", "c", "h", "z"), f, h), &lenient);
    cr_assert(strstr(text_of(m), "%3 \"z\": ? = K:16(%1)"), "%s", text_of(m));
    cr_assert_eq(m->top->results.n, 2);
}
Test(import, an_optional_input_that_a_function_passes_on) {
    msg f = function("F", "a b", "r", w_node_in("my", "H", "", "a b", "r")),
        h = function("H", "p o", "q", w_node("K", "o p", "q"));
    cr_assert(
        strstr(text_of(import_as(model_with(w_node_in("my", "F", "c", "h", "z"), f, h), &lenient)), "K:16(_, %1)"));
}
Test(import, recursion_is_refused) {
    msg f = function("F", "a", "r", w_node_in("my", "H", "", "a", "r")),
        h = function("H", "p", "q", w_node_in("my", "F", "", "p", "q"));
    refused(model_with(w_node_in("my", "F", "c", "h", "z"), f, h), NULL, E_GRAPH, "calls itself");
}
Test(import, functions_that_only_pass_on_their_own_output_are_refused) {
    msg f = {0};
    w_str(&f, 1, "F"), w_str(&f, 10, "my"), w_words(&f, F_IN, "a"), w_words(&f, F_OUT, "a");
    refused(model_with(w_node_in("my", "F", "c", "z", "z"), f, (msg){0}), NULL, E_GRAPH, "needs itself");
}
Test(import, a_function_that_passes_its_input_on) {
    msg f = {0};
    w_str(&f, 1, "F"), w_str(&f, 10, "my"), w_words(&f, F_IN, "a"), w_words(&f, F_OUT, "a");
    struct graph *m = import_as(model_with(w_node_in("my", "F", "c", "h", "z"), f, (msg){0}), &lenient);
    cr_assert(strstr(text_of(m), "return %2, %1 \"z\"\n"), "%s", text_of(m));
}
/* Each function calls the next one twice: 2^30 nodes when inlined. */
Test(import, functions_cannot_explode) {
    msg g = chain();
    w_msg(&g, G_NODE, w_node_in("my", "F0", "", "h", "z"));
    msg m = w_model(g);
    for (int i = 0; i < 30; i++) {
        char name[8], next[8];
        snprintf(name, sizeof name, "F%d", i), snprintf(next, sizeof next, "F%d", i + 1);
        msg f = function(name, "a", "r", w_node_in("my", next, "", "a", "q"));
        w_msg(&f, F_NODE, w_node_in("my", next, "", "q", "r"));
        w_msg(&m, M_FUNCTION, f);
    }
    refused(m, &(struct import_options){.keep_unknown = true, .max_nodes = 10000}, E_LIMIT, "more than 10000 nodes");
}
Test(import, functions_cannot_nest_too_deeply) {
    msg g = chain();
    w_msg(&g, G_NODE, w_node_in("my", "F0", "", "h", "z"));
    msg m = w_model(g);
    for (int i = 0; i < 50; i++) {
        char name[8], next[8];
        snprintf(name, sizeof name, "F%d", i), snprintf(next, sizeof next, "F%d", i + 1);
        w_msg(&m, M_FUNCTION, function(name, "a", "r", w_node_in("my", next, "", "a", "r")));
    }
    refused(m, NULL, E_LIMIT, "nested more than 32");
}

/* ---- constants, types, metadata */
Test(import, constant_nodes_become_constants) {
    msg g = chain(), a = w_node("Constant", "", "k"), b = w_node("Constant", "", "l"),
        ints = w_attr("value_ints", W_INTS), t = w_attr("value", W_TENSOR);
    w_int(&ints, 8, -1), w_int(&ints, 8, 5);
    w_msg(&t, 5, w_tensor("", 1, NULL, 0));
    w_msg(&a, N_ATTR, ints);
    w_msg(&b, N_ATTR, t);
    w_msg(&g, G_NODE, w_node("C", "k l", "z"));
    w_msg(&g, G_NODE, a);
    w_msg(&g, G_NODE, b);
    const char *s = text_of(import_as(w_model(g), &lenient));
    cr_assert(strstr(s, "const %w0 \"k\": i64[2] = [-1, 5]\nconst %w1 \"l\": f32[] = [0.0]\n"), "%s", s);
    cr_assert(strstr(s, "C:17(%w0, %w1)"));
}
static msg sparse(int64_t last) {
    msg t = {0}, idx = {0};
    int64_t dims[] = {3};
    w_int(&idx, 1, 3), w_int(&idx, 2, 7), w_int(&idx, 7, 0), w_int(&idx, 7, 4), w_int(&idx, 7, last);
    w_msg(&t, 1, w_tensor("s", 1, dims, 1));
    w_msg(&t, 2, idx);
    w_int(&t, 3, 2), w_int(&t, 3, 3);
    return t;
}
Test(import, sparse_weights_are_expanded) {
    msg g = chain();
    w_msg(&g, G_SPARSE, sparse(5));
    w_msg(&g, G_NODE, w_node("C", "s", "z"));
    cr_assert(strstr(text_of(import_as(w_model(g), &lenient)),
                     "const %w0 \"s\": f32[2,3] = [0.0, 0.0, 0.0, 0.0, 1.0, 2.0]\n"));
}
Test(import, sparse_indices_outside_are_refused) {
    msg g = chain();
    w_msg(&g, G_SPARSE, sparse(6));
    refused(w_model(g), NULL, E_ONNX, "index 2");
}
Test(import, sequences_optionals_and_maps_are_typed) {
    msg g = {0}, seq = {0}, opt = {0}, map = {0}, ty = {0}, ty2 = {0}, ty3 = {0};
    w_msg(&seq, 1, w_tensor_type(1, "2 N"));
    w_msg(&ty, 4, seq);
    w_msg(&g, G_IN, w_value("s", ty));
    w_msg(&opt, 1, w_tensor_type(7, ""));
    w_msg(&ty2, 9, opt);
    w_msg(&g, G_IN, w_value("o", ty2));
    w_int(&map, 1, 8);
    w_msg(&map, 2, w_tensor_type(1, ""));
    w_msg(&ty3, 5, map);
    w_msg(&g, G_IN, w_value("m", ty3));
    const char *text = text_of(import_as(w_model(g), &lenient)); /* a map is its keys and values */
    cr_assert(strstr(text, "(%0 \"s\": seq<f32[2,N]>, %1 \"o\": opt<i64[]>, %2 \"m_keys\": str[m_d0], "
                           "%3 \"m_values\": f32[m_d0])"));
    cr_assert(strstr(text, "takes map \"m\" 2 at 2"));
}
Test(import, metadata_is_kept_raw_and_printed_escaped) {
    msg m = w_model(chain()), p = {0};
    w_str(&m, 2, "evil\x1b[31m");
    w_str(&p, 1, "key"), w_str(&p, 2, "a\nb");
    w_msg(&m, 14, p);
    struct graph *g = import_as(m, &lenient);
    cr_assert_str_eq(g->metadata.v[0].value, "evil\x1b[31m");
    cr_assert(strstr(text_of(g), "metadata \"producer_name\" = \"evil\\x1b[31m\"\nmetadata \"key\" = \"a\\nb\"\n"));
}

/* ---- operators */
Test(import, unsupported_operators_are_told_all_at_once) {
    msg g = chain();
    w_msg(&g, G_NODE, w_node_in("com.foo", "Bar", "n", "y", "p"));
    w_msg(&g, G_NODE, w_node("A", "y", "q"));
    cr_assert_null(import_as(w_model(g), NULL));
    cr_assert_eq(c->diags.n, 3);
    cr_assert_str_eq(c->diags.v[0].message, "operator \"A\" (opset 17) is not supported; 2 nodes use it");
    cr_assert_str_eq(c->diags.v[2].message, "operator \"Bar\" of domain \"com.foo\" (opset 1) is not supported");
    cr_assert_str_eq(c->diags.v[2].origin, "node 2 \"n\" (Bar)");
    cr_assert_not_null(c->diags.v[2].help);
}
Test(import, unsupported_operators_of_onnxruntime_name_their_way_round) {
    msg g = chain();
    w_msg(&g, G_NODE, w_node_in("com.microsoft.nchwc", "Conv", "n", "y", "p"));
    w_msg(&g, G_NODE, w_node_in("com.microsoft", "GreedySearch", "s", "y", "q"));
    cr_assert_null(import_as(w_model(g), NULL));
    cr_assert_eq(c->diags.n, 4);
    cr_assert(strstr(c->diags.v[2].help, "NchwcTransformer"), "%s", c->diags.v[2].help);
    cr_assert(strstr(c->diags.v[3].help, "compile the decoder"), "%s", c->diags.v[3].help);
}
Test(import, new_opsets_are_refused) {
    msg m = {0};
    w_msg(&m, 8, w_opset("", 99));
    w_msg(&m, 7, chain());
    refused(m, NULL, E_OPSET, "opset 99");
}
static void nothing(void) {}
static void axis_to_two(struct node *n) { node_set_attr(n, (struct attr){.name = "axis", .kind = AT_INT, .u.i = 2}); }
static void add_three(struct node *n) {
    const struct attr *a = node_attr(n, "axis");
    node_set_attr(n, (struct attr){.name = "axis", .kind = AT_INT, .u.i = (a ? a->u.i : 0) + 3});
}
static void to_other(struct node *n) {
    n->op_type = intern(n->in->graph->ctx->names, "B");
    n->version = 15;
}
static const struct op_slot any[] = {{"x", TS_ANY, VARIADIC | OPTIONAL}, {0}};
static const struct op_upgrade a_up[] = {{12, axis_to_two}, {17, to_other}, {0}},
                               b_up[] = {{14, axis_to_two}, {15, axis_to_two}, {20, add_three}, {0}};
static const struct op rows[] = {
    {.domain = "", .name = "A", .since = 20, .first = 7, .ins = any, .outs = any, .define = nothing, .upgrades = a_up},
    {.domain = "", .name = "B", .since = 21, .first = 1, .ins = any, .outs = any, .define = nothing, .upgrades = b_up},
    {.name = NULL}};
Test(import, old_versions_are_rewritten_step_by_step) {
    op_register(rows);
    struct graph *m = import_as(w_model(chain()), NULL);
    const char *s = text_of(m);
    cr_assert(strstr(s, "%1 \"h\": ? = B(%0) {axis=5}\n"), "%s", s); /* A-17 becomes B-15: 2, then + 3 */
    cr_assert_eq(m->top->first->op, op_find("", "B"));
    cr_assert_eq(m->top->first->version, OPSET_NEWEST);
}
Test(import, a_version_older_than_the_row_is_refused) {
    op_register(rows);
    msg m = {0};
    w_msg(&m, 8, w_opset("", 6));
    w_msg(&m, 7, chain());
    refused(m, &(struct import_options){0}, E_OPSET, "version 6");
}

Test(import, attributes_without_effect_are_told_once) {
    op_register(rows);
    msg g = {0};
    for (int i = 0; i < 3; i++) {
        char name[2] = {(char)('a' + i)};
        msg n = w_node("B", "x", name);
        w_msg(&n, N_ATTR, w_attr_int("typo", 1));
        w_msg(&g, G_NODE, n);
    }
    w_msg(&g, G_IN, w_f32("x", "3"));
    w_msg(&g, G_OUT, w_name("a"));
    cr_assert(import_as(w_model(g), NULL));
    cr_assert_eq(c->diags.warnings, 2, "one for \"typo\", one for the \"axis\" that an upgrade of this test adds");
    cr_assert(strstr(c->diags.v[0].message, "\"typo\" is not known"));
}

/* ---- hostile bytes */
static msg rich(void) {
    msg call = w_node_in("my", "F", "call", "h", "z"), n = w_node("If", "h", "q");
    w_msg(&n, N_ATTR, w_attr_graph("then_branch", body("T", "h x s")));
    msg g = chain();
    w_msg(&g, G_NODE, call);
    w_msg(&g, G_NODE, n);
    w_msg(&g, G_SPARSE, sparse(5));
    w_msg(&g, G_INIT, w_tensor("w", 7, (int64_t[]){4}, 1));
    w_msg(&g, G_OUT, w_name("q"));
    msg m = w_model(g);
    w_msg(&m, M_FUNCTION, function("F", "a", "r", w_node("K", "a", "r")));
    return m;
}
Test(import, damaged_models_do_no_harm) {
    cr_assert(import_as(rich(), &lenient));
    msg m = rich();
    static const uint8_t by[] = {0, 0xff, 0x7f, 0x80, 1, 0x0a, 0x3a};
    int imported = 0, refusals = 0;
    for (size_t i = 0; i < m.n; i++)
        for (size_t k = 0; k < 2 * sizeof by; k++) {
            uint8_t *copy = malloc(m.n);
            memcpy(copy, m.s, m.n);
            copy[i] = (uint8_t)(k < sizeof by ? by[k] : copy[i] ^ (1u << (k - sizeof by)));
            struct ctx *d = ctx_new();
            struct graph *g = import_onnx_bytes(d, "m.onnx", copy, m.n, &lenient);
            struct text t = {0};
            if (g) graph_print(&t, g);
            else diag_print(&d->diags, &t, false);
            imported += g != NULL;
            refusals += !g;
            cr_assert(t.n > 0);
            cr_assert(g || d->diags.errors > 0);
            text_free(&t);
            ctx_free(d);
            free(copy);
        }
    cr_assert(imported > 100 && refusals > 100, "%d imported, %d refused", imported, refusals);
    for (size_t i = 0; i < m.n; i++) {
        struct ctx *d = ctx_new();
        import_onnx_bytes(d, "m.onnx", (const uint8_t *)m.s, i, &lenient);
        ctx_free(d);
    }
    text_free(&m);
}
Test(import, too_many_of_anything_is_refused_quickly) {
    msg g = {0}, n = w_node("A", "", "y");
    for (int i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "a%d", i);
        w_msg(&n, N_ATTR, w_attr_int(name, i));
    }
    w_msg(&g, G_NODE, n);
    refused(w_model(g), NULL, E_LIMIT, "more than 1000 attributes");
    c->diags.n = c->diags.errors = 0;
    g = (msg){0};
    for (int i = 0; i < 5000; i++) {
        char name[16];
        snprintf(name, sizeof name, "x%d", i);
        w_msg(&g, G_IN, w_f32(name, "?"));
    }
    refused(w_model(g), NULL, E_LIMIT, "more than 4096 symbolic");
}
Test(import, a_file_that_is_none) {
    cr_assert_null(import_model(c, "/nonexistent/m.onnx", NULL));
    cr_assert_eq(c->diags.v[0].code, E_FILE);
}

/* ---- the model set */
static void round_trip(struct graph *g, const char *path) {
    struct text a = {0}, b = {0};
    graph_print(&a, g);
    struct ctx *d = ctx_new();
    struct graph *again = graph_parse(d, a.s, a.n, "again.gir");
    if (again) {
        cr_assert(graph_verify(again, NULL), "%s", path);
        graph_print(&b, again);
        cr_assert(a.n == b.n && memcmp(a.s, b.s, a.n) == 0, "%s: the text changes when printed again", path);
    } else { /* more constants than the parser makes up */
        cr_assert_eq(d->diags.v[0].code, E_LIMIT, "%s: %s", path, d->diags.v[0].message);
    }
    ctx_free(d);
    text_free(&a);
    text_free(&b);
}
static int import_below(const char *folder, int depth) {
    DIR *dir = opendir(folder);
    int found = 0;
    for (struct dirent *e; dir && depth && (e = readdir(dir));) {
        char path[4096];
        struct stat st;
        snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        size_t n = strlen(path);
        if (e->d_name[0] == '.' || stat(path, &st) != 0) continue;
        if (S_ISDIR(st.st_mode)) {
            found += import_below(path, depth - 1);
            continue;
        }
        if (n < 5 || strcmp(path + n - 5, ".onnx") != 0) continue;
        struct ctx *d = ctx_new();
        struct graph *g = import_model(d, path, &lenient);
        if (strstr(path,
                   ".skel.onnx")) /* weights left out: refused with a reason, unless there are none to leave out */
            cr_assert(g || d->diags.v[0].code == E_ONNX, "%s", path);
        else cr_assert(g, "%s: %s", path, d->diags.n ? d->diags.v[0].message : "");
        if (g && st.st_size < 8 << 20) round_trip(g, path);
        ctx_free(d);
        found++;
    }
    if (dir) closedir(dir);
    return found;
}
Test(import, all_models_of_the_model_set, .timeout = 100) {
    const char *root = getenv("GCC2NN_SOURCE_ROOT");
    char folder[4096];
    snprintf(folder, sizeof folder, "%s/../shared/models", root ? root : ".");
    if (!import_below(folder, 4)) cr_skip("no models in ../shared/models");
}

/* ---- Scan before opset 9 */
static msg old_scan(const char *ins) {
    msg g = {0}, b = {0}, n = w_node("Scan", ins, "y z"), m = {0};
    w_msg(&b, G_NODE, w_node("Add", "s v", "t"));
    w_msg(&b, G_NODE, w_node("Mul", "t k", "o"));
    w_msg(&b, G_IN, w_f32("s", "2"));
    w_msg(&b, G_IN, w_f32("v", "2"));
    w_msg(&b, G_OUT, w_name("t"));
    w_msg(&b, G_OUT, w_name("o"));
    w_msg(&n, N_ATTR, w_attr_graph("body", b));
    w_msg(&n, N_ATTR, w_attr_int("num_scan_inputs", 1));
    w_msg(&g, G_NODE, n);
    w_msg(&g, G_IN, w_f32("i", "3 2"));
    w_msg(&g, G_IN, w_f32("x", "3 4 2"));
    w_msg(&g, G_IN, w_f32("k", "2"));
    w_msg(&g, G_OUT, w_name("y"));
    w_msg(&g, G_OUT, w_name("z"));
    w_int(&m, 1, 8);
    w_msg(&m, 8, w_opset("", 8));
    w_msg(&m, 7, g);
    return m;
}
Test(import, a_scan_with_a_batch_axis_is_one_around_another) {
    ops_register_all();
    same_text(import_as(old_scan("- i x"), NULL),
              "region \"main\" (%0 \"i\": f32[3,2], %1 \"x\": f32[3,4,2], %2 \"k\": f32[2]) {\n"
              "  %3 \"y\": ?, %4 \"z\": ? = Scan(%0, %1, %2) {num_scan_inputs=2, captures=1}\n"
              "    body = region \"batch\" (%5 \"s\": ?, %6 \"v\": ?, %7 \"k\": ?) {\n"
              "      %8: ?, %9: ? = Scan(%5, %6, %7) {num_scan_inputs=1, captures=1}\n"
              "        body = region \"\" (%10 \"s\": f32[*], %11 \"v\": f32[*], %12 \"k\": f32[2]) {\n"
              "          %13 \"t\": ? = Add(%10, %11)\n"
              "          %14 \"o\": ? = Mul(%13, %12)\n"
              "          return %13, %14\n"
              "        }\n"
              "      return %8, %9\n"
              "    }\n"
              "  return %3, %4\n"
              "}\n");
    diags_clear();
    refused(old_scan("k i x"), NULL, E_OP, "lengths for each batch");
}
