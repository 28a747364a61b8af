/* Gradient against differences: each operator with a rule stands between an input and a weighted sum, whose derivative
 * by every element of the input is compared with what the sum changes by when that element does. */
#include "compiler/graph/passes.h"
#include "ir/eval/eval.h"
#include "lower/lower.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <math.h>

static struct ctx *c;
static void setup(void) {
    ops_register_all();
    c = ctx_new();
}
static void done(void) { ctx_free(c); }
TestSuite(gradient, .init = setup, .fini = done);

enum { COUNT = 6 };
static const double start[COUNT] = {0.5, 1.25, -0.75, 2.0, -1.5, 0.3};
/* %result of the nodes for x (from the values above) with x[at] moved by `by`; its number of elements in *n. */
static const double *computed(const char *nodes, const char *last, bool positive, int at, double by, int64_t *n) {
    struct text t = {0}, d = {0};
    text_printf(&t,
                "graph \"\"\nconst %%w: f64[2,3] = [1.0,-2.0,3.0,0.5,1.5,-1.0] const %%p: f64[] = [1.5]\n"
                "const %%m: f64[3,2] = [1.0,2.0,-1.0,0.5,0.25,3.0] const %%v: f64[3] = [2.0,0.5,-1.0]\n"
                "const %%last: i64[1] = [1] const %%first: i64[1] = [0] const %%perm: i64[2] = [3,2]\n"
                "const %%big: i64[3] = [2,2,3] const %%c: bool[2,3] = [1,0,1,0,1,1]\n"
                "region \"\" (%%x \"x\": f64[2,3]) { %s\n%s return %%result }\n",
                nodes, last);
    struct graph *g = graph_parse(c, t.s, t.n, "t.gir");
    struct lower_options o = {.no_schedule = true};
    struct module *m = g && graph_infer(g) ? lower_graph(g, &o) : NULL;
    diag_print(&c->diags, &d, false);
    cr_assert(m, "%s\n%s", t.s, d.s);
    double x[COUNT];
    for (int k = 0; k < COUNT; k++) x[k] = (positive ? fabs(start[k]) : start[k]) + (k == at ? by : 0);
    struct eval_arg args[2] = {{x, {2, 3}, 2}};
    struct eval_result r = loop_eval(m, m->entry, args, NULL, &(struct eval_options){.poison = true});
    cr_assert_eq(r.status, EVAL_OK, "%s\n%s", nodes, r.message);
    *n = 1;
    for (int k = 0; k < args[1].nd; k++) *n *= args[1].dims[k];
    text_free(&t);
    return args[1].data;
}
/* nodes: from %x to %y, of which a sum with uneven weights is taken */
static void check(const char *nodes, bool positive) {
    const char *sum =
        "%f: ? = Flatten(%y) {axis=0} %n: ? = Size(%f) %zero: i64[] = Constant() {value_int=0}\n"
        "%step: i64[] = Constant() {value_int=1} %r: ? = Range(%zero, %n, %step) %q: ? = Cast(%r) {to=11}\n"
        "%e: ? = Mul(%f, %q) %z \"z\": ? = ReduceSum(%e) {keepdims=0}";
    struct text forward = {0}, back = {0};
    text_printf(&forward, "%s %%result: ? = Identity(%%z)", sum);
    text_printf(&back, "%s %%result: ? = ai.onnx.preview.training::Gradient(%%x) {xs=[\"x\"], y=\"z\"}", sum);
    int64_t n;
    const double *g = computed(nodes, back.s, positive, -1, 0, &n);
    cr_assert_eq(n, COUNT, "%s", nodes);
    for (int k = 0; k < COUNT; k++) {
        const double h = 1e-6;
        double up = *computed(nodes, forward.s, positive, k, h, &n);
        double down = *computed(nodes, forward.s, positive, k, -h, &n), want = (up - down) / (2 * h);
        cr_expect(fabs(g[k] - want) <= 1e-6 * fmax(1, fabs(want)), "%s\n  by element %d: %.9g, not %.9g", nodes, k,
                  g[k], want);
    }
    text_free(&forward), text_free(&back);
}
Test(gradient, of_each_operator) {
    static const char *const any[] = {
        "%y: ? = Add(%x, %v)",
        "%y: ? = Sub(%v, %x)",
        "%y: ? = Mul(%x, %x)",
        "%y: ? = Div(%x, %w)",
        "%y: ? = Neg(%x)",
        "%y: ? = Div(%w, %x)",
        "%y: ? = Abs(%x)",
        "%y: ? = Exp(%x)",
        "%y: ? = Sin(%x)",
        "%y: ? = Cos(%x)",
        "%y: ? = Sigmoid(%x)",
        "%y: ? = Tanh(%x)",
        "%y: ? = Softplus(%x)",
        "%y: ? = Erf(%x)",
        "%y: ? = Relu(%x)",
        "%y: ? = Reciprocal(%x)",
        "%y: ? = Where(%c, %x, %w)",
        "%y: ? = Where(%c, %w, %x)",
        "%y: ? = Sum(%x, %w, %x)",
        "%t: ? = Cast(%x) {to=11} %y: ? = Mul(%t, %x)",
        "%y: ? = Reshape(%x, %perm)",
        "%y: ? = Expand(%x, %big)",
        "%u: ? = Unsqueeze(%x, %last) %y: ? = Squeeze(%u, %last)",
        "%y: ? = Transpose(%x)",
        "%y: ? = MatMul(%x, %m)",
        "%y: ? = MatMul(%m, %x)",
        "%y: ? = Gemm(%x, %m) {alpha=0.5}",
        "%y: ? = Gemm(%x, %w) {transB=1}",
        "%y: ? = Gemm(%m, %x) {transA=1, transB=1}",
        "%y: ? = Gemm(%x, %x) {transA=1}",
        "%o: ? = ReduceSum(%x, %first) {keepdims=0} %y: ? = Gemm(%m, %w, %o) {beta=2.0}",
        "%y: ? = ReduceSum(%x, %last)",
        "%y: ? = ReduceSum(%x, %last) {keepdims=0}",
        "%y: ? = ReduceMean(%x, %last) {keepdims=0}",
        "%y: ? = ReduceMean(%x)",
        "%y: ? = ReduceMean(%x) {keepdims=0}",
        "%y: ? = Softmax(%x)",
        "%y: ? = LogSoftmax(%x) {axis=0}",
        "%a: ? = Add(%x, %w) %b: ? = Tanh(%a) %d: ? = Mul(%a, %b) %y: ? = Add(%d, %x)",
    };
    static const char *const positive[] = {"%y: ? = Log(%x)", "%y: ? = Sqrt(%x)", "%y: ? = Pow(%x, %p)",
                                           "%y: ? = Pow(%x, %x)"};
    for (size_t k = 0; k < sizeof any / sizeof *any; k++) check(any[k], false);
    for (size_t k = 0; k < sizeof positive / sizeof *positive; k++) check(positive[k], true);
}
static void gives(const char *nodes, const char *attrs, double first) {
    struct text last = {0};
    text_printf(&last, "%%result: ? = ai.onnx.preview.training::Gradient(%s", attrs);
    int64_t n;
    double got = *computed(nodes, last.s, false, -1, 0, &n);
    cr_expect(fabs(got - first) < 1e-12, "%s: %.9g, not %.9g", last.s, got, first);
    text_free(&last);
}
Test(gradient, stops_at_what_is_given) {
    const char *nodes = "%h \"h\": ? = Mul(%x, %w) %y \"y\": ? = Mul(%h, %x)";
    gives(nodes, "%x) {xs=[\"x\"], y=\"y\"}", 1);                                         /* 2 w x */
    gives(nodes, "%h) {xs=[\"h\"], y=\"y\"}", 0.5);                                       /* x */
    gives(nodes, "%x, %h) {xs=[\"x\"], zs=[\"h\"], y=\"y\"}", 0.5);                       /* h, which is held */
    gives(nodes, "%x, %h) {xs=[\"x\", \"h\"], y=\"y\"}", 0.5);                            /* h */
    gives("%h \"h\": ? = Neg(%x) %y \"y\": ? = Abs(%x)", "%h) {xs=[\"h\"], y=\"y\"}", 0); /* not on the way */
}
