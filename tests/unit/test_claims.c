/* What a model says of itself and what is so: declared types, sizes, opsets, attributes that contradict each other. The
 * severities are those of ONNX Runtime, where it says something; otherwise an error where a result could be wrong. */
#include "compiler/graph/passes.h"
#include "compiler/import/onnx.h"
#include "lower/ops/ops.h"
#include "onnx_writer.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>

static struct ctx *c;
static void setup(void) {
    ops_register_all();
    c = ctx_new();
}
static void teardown(void) { ctx_free(c); }
TestSuite(claims, .init = setup, .fini = teardown);

/* Import and inference, as compile does them. */
static bool read_model(msg model, const struct import_options *o) {
    uint8_t *data = arena_copy(&c->arena, model.s, model.n);
    struct graph *g = import_onnx_bytes(c, "m.onnx", data, model.n, o);
    text_free(&model);
    return g && graph_infer(g) && graph_declared(g);
}
static void says(enum severity severity, enum diag_code code, const char *part) {
    bool found = false;
    struct text all = {0};
    diag_print(&c->diags, &all, false);
    for (int k = 0; k < c->diags.n && !found; k++) {
        const struct diag *d = &c->diags.v[k];
        found = d->severity == severity && d->code == code && strstr(d->message, part);
    }
    cr_expect(found, "no `%s` of that kind in: %s", part, all.s ? all.s : "nothing");
    text_free(&all);
}
static void refused(msg model, enum diag_code code, const char *part) {
    cr_expect_not(read_model(model, NULL), "%s", part);
    says(DIAG_ERROR, code, part);
    teardown(), setup();
}
static void warned(msg model, enum diag_code code, const char *part) {
    cr_expect(read_model(model, NULL), "%s", part);
    says(DIAG_WARNING, code, part);
    teardown(), setup();
}
static void silent(msg model) {
    cr_expect(read_model(model, NULL));
    cr_expect_eq(c->diags.n, 0, "%s", c->diags.n ? c->diags.v[0].message : "");
    teardown(), setup();
}

/* x -> Relu -> h -> Relu -> y; declared: of y, and of h when not NULL */
static msg two_relus(const char *x, msg y, const char *h) {
    msg g = {0};
    w_msg(&g, G_NODE, w_node("Relu", "x", "h"));
    w_msg(&g, G_NODE, w_node("Relu", "h", "y"));
    w_msg(&g, G_IN, w_f32("x", x));
    w_msg(&g, G_OUT, y);
    if (h) w_msg(&g, G_VALUE, w_f32("h", h));
    return g;
}
static msg relu(const char *x, const char *y) { return two_relus(x, w_f32("y", y), NULL); }

Test(claims, shapes_of_outputs_and_values) {
    silent(w_model(relu("1 8", "1 8")));
    silent(w_model(relu("1 8", "1 rows")));
    silent(w_model(relu("N 8", "N 8")));
    silent(w_model(relu("N 8", "7 8"))); /* may be */
    silent(w_model(relu("1 8", "1 -")));
    silent(w_model(relu("1 8", NULL)));
    warned(w_model(relu("1 8", "1 9")), E_SHAPE, "output \"y\": the model declares f32[1,9], but f32[1,8] is computed");
    warned(w_model(relu("N 8", "N 8 1")), E_SHAPE, "declares f32[N,8,1], but f32[N,8] is computed");
    warned(w_model(two_relus("1 8", w_f32("y", "1 8"), "1 9")), E_SHAPE,
           "value \"h\": the model declares f32[1,9], but f32[1,8] is computed");
}
Test(claims, element_types) {
    refused(w_model(two_relus("1 8", w_value("y", w_tensor_type(7, "1 8")), NULL)), E_TYPE,
            "output \"y\": the model declares i64[1,8], but f32[1,8] is computed");
}
Test(claims, many_values_are_told_in_one_line) {
    msg g = {0};
    char last[8] = "x";
    for (int k = 0; k < 6; k++) {
        char next[8];
        snprintf(next, sizeof next, "v%d", k);
        w_msg(&g, G_NODE, w_node("Relu", last, next));
        w_msg(&g, G_VALUE, w_f32(next, "3"));
        strcpy(last, next);
    }
    w_msg(&g, G_IN, w_f32("x", "2"));
    w_msg(&g, G_OUT, w_name(last));
    warned(w_model(g), E_SHAPE, "3 more values");
}
Test(claims, negative_dims) {
    refused(w_model(relu("1 -3", NULL)), E_SIZE, "dimension 1 is -3");
    silent(w_model(relu("1 -", NULL)));
    struct shape_option x = {"x", false, 1, &(struct shape){2, {1, 8}}, "--shape"};
    cr_expect(read_model(w_model(relu("1 -3", NULL)), &(struct import_options){.shapes = &x, .nshapes = 1}));
}
Test(claims, outputs) {
    msg g = {0};
    w_msg(&g, G_NODE, w_node("Relu", "x", "y"));
    w_msg(&g, G_IN, w_f32("x", "2"));
    refused(w_model(g), E_GRAPH, "has no outputs");
    g = relu("2", "2");
    w_msg(&g, G_OUT, w_f32("y", "2"));
    warned(w_model(g), E_GRAPH, "output \"y\" is listed twice");
}
Test(claims, inputs_that_nothing_reads) {
    msg g = relu("2", "2");
    w_msg(&g, G_IN, w_f32("mask", "2"));
    cr_expect(read_model(w_model(g), NULL));
    says(DIAG_NOTE, E_GRAPH, "input \"mask\" is never read");
}
Test(claims, defaults_of_inputs) {
    for (int ir = 3; ir <= 4; ir++) {
        msg g = {0}, m = {0};
        w_msg(&g, G_NODE, w_node("Add", "x w", "y"));
        w_msg(&g, G_IN, w_f32("x", "2"));
        w_msg(&g, G_IN, w_f32("w", "2"));
        w_msg(&g, G_INIT, w_tensor("w", 1, (int64_t[]){2}, 1));
        w_msg(&g, G_OUT, w_f32("y", "2"));
        w_int(&m, 1, ir);
        w_msg(&m, 8, w_opset("", 17));
        w_msg(&m, 7, g);
        cr_expect(read_model(m, NULL));
        if (ir == 4) says(DIAG_NOTE, E_GRAPH, "input \"w\" has a default, which is compiled in");
        else cr_expect_eq(c->diags.n, 0, "IR 3 lists all weights as inputs");
    }
}

/* ---- opsets */
static msg with_opsets(int ir, const char *domain, const char *op, const int *versions, int n) {
    msg g = {0}, m = {0}, node = w_node(op, "x", "y");
    w_str(&node, 7, domain);
    w_msg(&g, G_NODE, node);
    w_msg(&g, G_IN, w_f32("x", "2"));
    w_msg(&g, G_OUT, w_name("y"));
    w_int(&m, 1, ir);
    for (int k = 0; k < n; k++) w_msg(&m, 8, w_opset("", versions[k]));
    w_msg(&m, 7, g);
    return m;
}
Test(claims, opsets) {
    const int both[] = {17, 13}, same[] = {17, 17};
    refused(with_opsets(8, "", "Relu", NULL, 0), E_OPSET, "does not say which opset of domain \"ai.onnx\" it uses");
    silent(with_opsets(2, "", "Relu", NULL, 0)); /* there were none */
    silent(with_opsets(8, "com.microsoft", "Gelu", both, 1));
    refused(with_opsets(8, "", "Relu", both, 2), E_OPSET, "opset 17 and opset 13 of domain ai.onnx");
    silent(with_opsets(8, "", "Relu", same, 2));
    warned(with_opsets(99, "", "Relu", both, 1), E_OPSET, "IR version 99 is newer than 14");
}

/* ---- attributes */
static msg conv(msg attr, const char *x) {
    msg g = {0}, n = w_node("Conv", "x w", "y");
    w_msg(&n, N_ATTR, attr);
    w_msg(&g, G_NODE, n);
    w_msg(&g, G_IN, w_f32("x", x));
    w_msg(&g, G_INIT, w_tensor("w", 1, (int64_t[]){2, 1, 3, 3}, 4));
    w_msg(&g, G_OUT, w_name("y"));
    return w_model(g);
}
#define INTS(name, ...)                                                                                                \
    w_attr_ints(name, (const int64_t[]){__VA_ARGS__}, (int)(sizeof(int64_t[]){__VA_ARGS__} / sizeof(int64_t)))
Test(claims, attributes_that_contradict) {
    silent(conv(INTS("kernel_shape", 3, 3), "1 1 8 8"));
    refused(conv(INTS("kernel_shape", 3, 5), "1 1 8 8"), E_SHAPE,
            "the weights and attribute \"kernel_shape\" differ on spatial axis 1: 3 and 5");
    refused(conv(INTS("kernel_shape", 3), "1 1 8 8"), E_ATTR, "\"kernel_shape\" has 1 elements for 2 spatial axes");
    refused(conv(INTS("strides", 1, 1, 1), "1 1 8 8"), E_ATTR, "\"strides\" has 3 elements for 2 spatial axes");
    refused(conv(INTS("pads", 1, 1), "1 1 8 8"), E_ATTR, "\"pads\" has 2 elements for 2 spatial axes");
    refused(conv(w_attr_int("group", 3), "1 3 8 8"), E_SHAPE, "no multiple of the groups: 2 and 3");
    refused(conv(w_attr_int("group", 2), "1 3 8 8"), E_SHAPE, "the weights and groups do not fit: 3 and 2");
    refused(conv(INTS("dilations", 4, 4), "1 1 3 3"), E_SHAPE, "a window of 9 is larger than the padded input of 3");
    refused(conv(w_attr_str("auto_pad", "SAME"), "1 1 8 8"), E_ATTR, "\"auto_pad\" is \"SAME\"");
    msg g = {0}, n = w_node("Conv", "x w", "y");
    w_msg(&n, N_ATTR, w_attr_str("auto_pad", "SAME_UPPER"));
    w_msg(&n, N_ATTR, INTS("pads", 0, 0, 2, 2));
    w_msg(&g, G_NODE, n);
    w_msg(&g, G_IN, w_f32("x", "1 1 8 8"));
    w_msg(&g, G_INIT, w_tensor("w", 1, (int64_t[]){2, 1, 3, 3}, 4));
    w_msg(&g, G_OUT, w_name("y"));
    refused(w_model(g), E_ATTR, "SAME_UPPER, and \"pads\", where element 2 is 2, exclude each other");
}
Test(claims, an_unknown_attribute_names_the_nearest) {
    msg m = conv(INTS("stride", 1, 1), "1 1 8 8");
    cr_expect(read_model(m, NULL));
    says(DIAG_WARNING, E_ATTR, "attribute \"stride\" is not known and has no effect");
    cr_expect_str_eq(c->diags.v[0].help, "did you mean \"strides\"?");
}
/* sums over axis 1 */
static msg scan(msg attr) {
    msg b = {0}, g = {0}, n = w_node("Scan", "s x", "t");
    w_msg(&b, G_NODE, w_node("Add", "a e", "r"));
    w_msg(&b, G_IN, w_f32("a", "2"));
    w_msg(&b, G_IN, w_f32("e", "2"));
    w_msg(&b, G_OUT, w_f32("r", "2"));
    w_msg(&n, N_ATTR, w_attr_graph("body", b));
    w_msg(&n, N_ATTR, w_attr_int("num_scan_inputs", 1));
    w_msg(&n, N_ATTR, attr);
    w_msg(&g, G_NODE, n);
    w_msg(&g, G_IN, w_f32("s", "2"));
    w_msg(&g, G_IN, w_f32("x", "2 5"));
    w_msg(&g, G_OUT, w_f32("t", "2"));
    return w_model(g);
}
Test(claims, attributes_of_scan) {
    silent(scan(INTS("scan_input_axes", 1)));
    silent(scan(INTS("scan_input_axes", -1)));
    refused(scan(INTS("scan_input_axes", 1, 0)), E_ATTR, "\"scan_input_axes\" has 2 elements where 1 are needed");
    refused(scan(INTS("scan_input_axes", INT64_C(1) << 32)), E_ATTR, "a scan axis is outside the rank");
    refused(scan(INTS("scan_output_directions", 1)), E_ATTR, "has 1 elements where 0 are needed");
}

/* ---- numbers in messages */
static msg of_two(const char *op, const char *a, const char *b) {
    msg g = {0};
    w_msg(&g, G_NODE, w_node(op, "a b", "y"));
    w_msg(&g, G_IN, w_f32("a", a));
    w_msg(&g, G_IN, w_f32("b", b));
    w_msg(&g, G_OUT, w_name("y"));
    return w_model(g);
}
Test(claims, messages_carry_the_sizes) {
    refused(of_two("MatMul", "4 512", "768 8"), E_SHAPE, "512 and 768");
    refused(of_two("Add", "4 5", "4 6"), E_SHAPE, "5 against 6 on axis 1");
    msg g = {0};
    w_msg(&g, G_NODE, w_node("Reshape", "a s", "y"));
    w_msg(&g, G_IN, w_f32("a", "2 3 5"));
    w_msg(&g, G_INIT, w_tensor("s", 7, (int64_t[]){4}, 1)); /* 0 1 2 3 */
    w_msg(&g, G_OUT, w_name("y"));
    refused(w_model(g), E_SHAPE, "the number of elements changes: 12 and 30");
    g = (msg){0};
    w_msg(&g, G_NODE, w_node("Expand", "a s", "y"));
    w_msg(&g, G_IN, w_f32("a", "1 4"));
    w_msg(&g, G_INIT, w_tensor("s", 7, (int64_t[]){3}, 1)); /* 0 1 2 */
    w_msg(&g, G_OUT, w_name("y"));
    refused(w_model(g), E_SHAPE, "axis 2, of size 4, cannot be expanded to 2");
}
