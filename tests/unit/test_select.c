/* Ops that select, resize and quantize: graph text, inferred, lowered to plain loops and interpreted, against values
 * worked out by hand or given in the ONNX specification. */
#include "compiler/graph/passes.h"
#include "ir/eval/eval.h"
#include "ir/loop/target.h"
#include "lower/lower.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct ctx *c;
static void setup(void) {
    c = ctx_new();
    ops_register_all();
}
static void teardown(void) { ctx_free(c); }
TestSuite(select, .init = setup, .fini = teardown);

static const char *problems(void) {
    static struct text t;
    t.n = 0;
    text_add(&t, "");
    diag_print(&c->diags, &t, false);
    return t.s ? t.s : "";
}
static struct module *lowered(const char *text) {
    struct graph *g = graph_parse(c, text, strlen(text), "t.gir");
    cr_assert(g, "%s", problems());
    cr_assert(graph_infer(g), "%s", problems());
    struct lower_options o = {.no_schedule = true};
    struct module *m = lower_graph(g, &o);
    cr_assert(m && m->entry, "%s", problems());
    return m;
}
/* Runs the graph on one f32 input (its dims in d) and compares the outputs, written as text, blank-separated. */
static void gives(const char *graph, const float *x, const int64_t *d, int nd, const char *want) {
    struct module *m = lowered(graph);
    struct eval_arg args[4] = {0};
    struct text t = {0};
    int n = m->entry->params.n;
    cr_assert(n <= 4);
    for (int k = 0; k < n; k++) {
        if (m->entry->params.v[k].dir != DIR_IN) continue;
        args[k].data = (void *)x;
        args[k].nd = nd;
        memcpy(args[k].dims, d, (size_t)nd * sizeof *d);
    }
    struct eval_options eo = {.poison = true};
    struct eval_result r = loop_eval(m, m->entry, args, NULL, &eo);
    cr_assert_eq(r.status, EVAL_OK, "%s", r.message);
    for (int k = 0; k < n; k++) {
        if (m->entry->params.v[k].dir == DIR_IN) continue;
        struct tensor *y = tensor_new(&c->arena, m->entry->params.v[k].buf->type, args[k].dims, args[k].nd);
        memcpy(tensor_data(y), args[k].data, (size_t)dtype_packed_bytes(y->type, tensor_count(y)));
        for (int a = 0; a < args[k].nd; a++) text_printf(&t, "%s%lld", a ? "x" : "", (long long)args[k].dims[a]);
        text_add(&t, ":");
        for (int64_t i = 0; i < tensor_count(y); i++)
            text_printf(&t, " %g", dtype_is_float(y->type) ? tensor_f(y, i) : (double)tensor_i(y, i));
        text_add(&t, ";");
        free(args[k].data);
    }
    cr_assert_str_eq(t.s ? t.s : "", want, "got  %s\nwant %s", t.s, want);
    text_free(&t);
}
#define GIVES(graph, want, dims, ...)                                                                                  \
    gives(graph, (const float[]){__VA_ARGS__}, (const int64_t[])DIMS dims,                                             \
          (int)(sizeof((const int64_t[])DIMS dims) / sizeof(int64_t)), want)
#define DIMS(...)                                                                                                      \
    { __VA_ARGS__ }

Test(select, resize_nearest_doubles) {
    GIVES("graph \"\" const %s: f32[4] = [1.0, 1.0, 2.0, 2.0] region \"\" (%0: f32[1,1,2,2]) { %1: ? = Resize(%0, _, "
          "%s) return %1 }",
          "1x1x4x4: 1 1 2 2 1 1 2 2 3 3 4 4 3 3 4 4;", (1, 1, 2, 2), 1, 2, 3, 4);
}
Test(select, resize_keeps_symbolic_dims_whole) {
    GIVES("graph \"\" sym N: 1..64 const %s: f32[1] = [3.0] region \"\" (%0: f32[N]) { %1: ? = Resize(%0, _, %s) "
          "return %1 }",
          "6: 5 5 5 7 7 7;", (2), 5, 7);
}
Test(select, resize_linear_half_pixel) { /* resize_upsample_scales_linear of the specification */
    GIVES("graph \"\" const %s: f32[4] = [1.0, 1.0, 2.0, 2.0] region \"\" (%0: f32[1,1,2,2]) { %1: ? = Resize(%0, _, "
          "%s) {mode = \"linear\"} return %1 }",
          "1x1x4x4: 1 1.25 1.75 2 1.5 1.75 2.25 2.5 2.5 2.75 3.25 3.5 3 3.25 3.75 4;", (1, 1, 2, 2), 1, 2, 3, 4);
}
Test(select,
     resize_cubic) { /* resize_upsample_scales_cubic_asymmetric has the same weights; here along one axis, by hand */
    GIVES("graph \"\" const %s: f32[1] = [2.0] region \"\" (%0: f32[4]) { %1: ? = Resize(%0, _, %s) {mode = \"cubic\", "
          "coordinate_transformation_mode = \"asymmetric\"} return %1 }",
          "8: 1 1.40625 2 2.5 3 3.59375 4 4.09375;", (4), 1, 2, 3, 4);
}
Test(select, resize_to_sizes_of_a_run) {
    GIVES("graph \"\" sym N: 1..64 const %s: i64[1] = [5] region \"\" (%0: f32[N]) { %1: ? = Resize(%0, _, _, %s) "
          "{coordinate_transformation_mode = \"align_corners\", mode = \"linear\"} return %1 }",
          "5: 0 1 2 3 4;", (3), 0, 2, 4);
}
Test(select, topk) {
    GIVES("graph \"\" const %k: i64[1] = [3] region \"\" (%0: f32[2,4]) { %1: ?, %2: ? = TopK(%0, %k) return %1, %2 }",
          "2x3: 9 4 4 3 2 1;2x3: 2 0 3 3 2 1;", (2, 4), 4, 1, 9, 4, 0, 1, 2, 3);
    GIVES("graph \"\" const %k: i64[1] = [1] region \"\" (%0: f32[2,3]) { %1: ?, %2: ? = TopK(%0, %k) {axis = 0, "
          "largest = 0} return %1, %2 }",
          "1x3: 1 2 3;1x3: 1 0 0;", (2, 3), 4, 2, 3, 1, 5, 3);
}
/* The interpreter's callers do not know such sizes, so sums over what was found are compared. */
Test(select, nonzero) {
    GIVES("graph \"\" sym N: 1..64 const %a: i64[1] = [1] region \"\" (%0: f32[N,3]) { %1: ? = NonZero(%0) %2: ? = "
          "ReduceSum(%1, %a) {keepdims = 0} %3: ? = Shape(%1) return %2, %3 }",
          "2: 2 3;2: 2 4;", (2, 3), 1, 0, 3, 4, -5, 0);
    GIVES("graph \"\" const %a: i64[1] = [1] region \"\" (%0: f32[2]) { %1: ? = NonZero(%0) %2: ? = ReduceSum(%1, %a) "
          "{keepdims = 0} return %2 }",
          "1: 0;", (2), 0, 0);
}
Test(select, nonzero_in_parts) { /* of 84 elements, the last one of 83 */
    GIVES(
        "graph \"\" const %r: i64[1] = [1441] const %a: i64[1] = [1] region \"\" (%0: f32[7]) { %t: ? = Tile(%0, %r) "
        "%1: ? = NonZero(%t) %2: ? = ReduceSum(%1, %a) {keepdims = 0} %3: ? = ReduceMax(%1, %a) {keepdims = 0} %4: ? = "
        "Shape(%1) return %2, %3, %4 }",
        "1: 7.26984e+06;1: 10085;2: 1 1441;", (7), 0, 0, 0, 0, 0, 1, 0);
}
Test(select, compress_by_a_condition_of_any_rank) { /* its elements in their order; ONNX has a vector */
    GIVES(
        "graph \"\" sym N: 1..64 const %z: f32[] = [0.0] region \"\" (%0: f32[N,3]) { %c: ? = Greater(%0, %z) %1: ? = "
        "Compress(%0, %c) %2: ? = ReduceSum(%1) {keepdims = 0} %3: ? = Shape(%1) return %2, %3 }",
        ": 8;1: 3;", (2, 3), 1, 0, 3, 4, -5, 0);
    GIVES("graph \"\" const %c: bool[2,1] = [0, 1] region \"\" (%0: f32[2,3]) { %1: ? = Compress(%0, %c) {axis = 0} "
          "%2: ? = "
          "ReduceSum(%1) {keepdims = 0} return %2 }",
          ": -1;", (2, 3), 1, 0, 3, 4, -5, 0);
}
Test(select, cumsum) {
    GIVES("graph \"\" const %a: i64[] = [1] region \"\" (%0: f32[2,3]) { %1: ? = CumSum(%0, %a) return %1 }",
          "2x3: 1 3 6 4 9 15;", (2, 3), 1, 2, 3, 4, 5, 6);
    GIVES("graph \"\" const %a: i64[] = [-1] region \"\" (%0: f32[3]) { %1: ? = CumSum(%0, %a) {exclusive = 1, reverse "
          "= 1} return %1 }",
          "3: 5 3 0;", (3), 1, 2, 3);
}
Test(select, nms) { /* nonmaxsuppression_suppress_by_IOU_and_scores of the specification: scores are a constant */
    GIVES("graph \"\" const %s: f32[1,1,6] = [0.9, 0.75, 0.6, 0.95, 0.5, 0.3] const %n: i64[1] = [3] const %i: f32[1] "
          "= [0.5] const %l: f32[1] = [0.4] const %a: i64[1] = [0]\n"
          "region \"\" (%0: f32[1,6,4]) { %1: ? = NonMaxSuppression(%0, %s, %n, %i, %l) %2: ? = ReduceSum(%1, %a) "
          "{keepdims = 0} %3: ? = Shape(%1) return %2, %3 }",
          "3: 0 0 3;2: 2 3;", (1, 6, 4), 0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, -0.1f, 1, 0.9f, 0, 10, 1, 11, 0, 10.1f, 1,
          11.1f, 0, 100, 1, 101);
}
Test(select, quantize_and_back) {
    GIVES("graph \"\" const %s: f32[] = [2.0] const %z: u8[] = [128] region \"\" (%0: f32[6]) { %1: ? = "
          "QuantizeLinear(%0, %s, %z) %2: ? = DequantizeLinear(%1, %s, %z) return %1, %2 }",
          "6: 128 130 130 255 0 126;6: 0 4 4 254 -256 -4;", (6), 0, 3, 5, 1000, -1000, -3);
    GIVES("graph \"\" const %s: f32[2] = [1.0, 2.0] const %z: i8[2] = [0, 1] region \"\" (%0: f32[2,2]) { %1: ? = "
          "QuantizeLinear(%0, %s, %z) {axis = 0} return %1 }",
          "2x2: 2 -128 3 127;", (2, 2), 2, -300, 4, 900);
}
Test(select, dynamic_quantize) { /* dynamicquantizelinear of the specification */
    GIVES("graph \"\" region \"\" (%0: f32[6]) { %1: ?, %2: ?, %3: ? = DynamicQuantizeLinear(%0) return %1, %2, %3 }",
          "6: 153 255 0 26 221 179;: 0.0196078;: 153;", (6), 0, 2, -3, -2.5f, 1.34f, 0.5f);
}
Test(select, einsum_stretches_dims_of_1) { /* as numpy and ONNX Runtime, those of letters, too */
    GIVES("graph \"\" const %w: f32[1,2] = [1.0, 2.0] region \"\" (%0: f32[2,3]) { %1: ? = Einsum(%0, %w) {equation = "
          "\"ij, jk -> ik\"} %2: ? = Einsum(%w, %0) {equation = \"ik, ij -> ikj\"} return %1, %2 }",
          "2x2: 6 12 15 30;2x2x3: 1 2 3 2 4 6 4 5 6 8 10 12;", (2, 3), 1, 2, 3, 4, 5, 6);
}
Test(select, einsum) {
    GIVES("graph \"\" const %w: f32[3,2] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] region \"\" (%0: f32[2,3]) { %1: ? = "
          "Einsum(%0, %w) {equation = \"ij, jk -> ki\"} return %1 }",
          "2x2: 22 49 28 64;", (2, 3), 1, 2, 3, 4, 5, 6);
    GIVES("graph \"\" region \"\" (%0: f32[2,2]) { %1: ? = Einsum(%0) {equation = \"ii\"} %2: ? = Einsum(%0) {equation "
          "= \"ba\"} return %1, %2 }",
          ": 5;2x2: 1 3 2 4;", (2, 2), 1, 2, 3, 4);
}
