/* Layouts that kernels share (lower/layout.c): what one reader of a tensor wants of its cells, another must not take
 * for its own. Each model gives the same bits with and without layouts and schedules.
 */
#include "compiler/graph/passes.h"
#include "ir/eval/eval.h"
#include "lower/lower.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <string.h>

static struct ctx *c;
static void setup(void) {
    ops_register_all();
    c = ctx_new();
}
static void done(void) { ctx_free(c); }
TestSuite(layout, .init = setup, .fini = done);

static struct module *lowered(const char *model, bool plain) {
    struct text d = {0};
    struct graph *g = graph_parse(c, model, strlen(model), "t.gir");
    struct lower_options o = {.target = target_by_name("x86-avx2"), .no_schedule = plain};
    struct module *m = g && graph_infer(g) ? lower_graph(g, &o) : NULL;
    diag_print(&c->diags, &d, false);
    cr_assert(m, "%s\n%s", model, d.s);
    cr_assert(loop_verify(m, "lowering"));
    return m;
}
enum { CELLS = 8 * 5 * 5, RESULTS = 2 };
/* `nodes` make %y and %z from %x, all of whose elements are below zero: no zero of a border may count. */
static void same(const char *nodes) {
    float x[CELLS];
    float *got[2][RESULTS];
    size_t bytes[2][RESULTS];
    struct text t = {0};
    for (int k = 0; k < CELLS; k++) x[k] = -1 - (float)(k * 7 % 31);
    text_printf(
        &t,
        "graph \"\"\nconst %%w: f32[8,8,3,3] = splat 0.25\nconst %%one: f32[] = splat 1.0\nconst %%by: i64[8] = "
        "[0,0,1,1,0,0,1,1]\nconst %%k: i64[1] = [2] const %%m: i64[] = [3] const %%axis: i64[] = [2] "
        "const %%three: i64[3] = [8,5,5]\nregion \"\" (%%x: f32[1,8,5,5]) { %s return %%y, %%z }\n",
        nodes);
    for (int plain = 0; plain < 2; plain++) {
        struct module *m = lowered(t.s, plain);
        struct eval_arg args[1 + RESULTS] = {{.data = x, .dims = {1, 8, 5, 5}, .nd = 4}};
        struct eval_result r = loop_eval(m, m->entry, args, NULL, &(struct eval_options){.poison = true});
        cr_assert_eq(r.status, EVAL_OK, "%s: %s", nodes, r.message);
        for (int k = 0; k < RESULTS; k++) {
            bytes[plain][k] = sizeof(float);
            for (int d = 0; d < args[1 + k].nd; d++) bytes[plain][k] *= (size_t)args[1 + k].dims[d];
            got[plain][k] = args[1 + k].data;
        }
    }
    for (int k = 0; k < RESULTS; k++) {
        cr_assert_gt(bytes[0][k], 4);
        cr_assert_eq(bytes[0][k], bytes[1][k]);
        cr_expect(!memcmp(got[0][k], got[1][k], bytes[0][k]), "%s: result %d differs", nodes, k);
    }
    text_free(&t);
}

#define AROUND "{kernel_shape=[3,3], pads=[1,1,1,1]}"
Test(layout, a_maximum_beside_an_average) {
    same("%y: ? = MaxPool(%x) " AROUND " %z: ? = AveragePool(%x) " AROUND);
    same("%a: ? = Neg(%x) %b: ? = Neg(%a) %y: ? = MaxPool(%b) " AROUND " %z: ? = AveragePool(%b) " AROUND);
}
Test(layout, a_maximum_beside_a_convolution) {
    same("%a: ? = Neg(%x) %b: ? = Neg(%a) %y: ? = MaxPool(%b) " AROUND " %z: ? = Conv(%b, %w) " AROUND);
    same("%a: ? = Conv(%x, %w) " AROUND " %y: ? = MaxPool(%a) " AROUND " %z: ? = Conv(%a, %w) " AROUND);
}
Test(layout, ones_around_beside_zeros_around) {
    same("%a: ? = Neg(%x) %y: ? = Pad(%a, %by, %one) %z: ? = Conv(%a, %w) " AROUND);
    same("%a: ? = Conv(%x, %w) " AROUND " %b: ? = Pad(%a, %by, %one) %y: ? = Relu(%b) %z: ? = Conv(%a, %w) " AROUND);
}
/* A border behind the last row and column alone: nothing but the sizes says that there is one. */
Test(layout, a_border_behind_beside_a_view) {
    same("%y: ? = Conv(%x, %w) {kernel_shape=[3,3], pads=[0,0,1,1]} %f: ? = Flatten(%x) %z: ? = Neg(%f)");
}
/* ---- bodies: their readers and makers choose layouts on their own */
#define COND "%least: ? = ReduceMin(%x) {keepdims=0} %cond: ? = Less(%least, %one) "
Test(layout, what_a_body_reads) {
    same("%f: ? = Conv(%x, %w) " AROUND " " COND "%y: ? = If(%cond, %f, %k) {captures=2}\n"
         "  then_branch = region \"t\" (%p: ?, %pk: ?) { %t: ?, %i: ? = TopK(%p, %pk) {axis=1} return %t }\n"
         "  else_branch = region \"e\" (%q: ?, %qk: ?) { %u: ?, %j: ? = TopK(%q, %qk) {axis=1, largest=0} return %u }\n"
         "%z: ? = Conv(%f, %w) " AROUND);
    same("%f: ? = Conv(%x, %w) " AROUND " %y: ? = Loop(%m, _, %f, %f, %axis) {captures=2}\n"
         "  body = region \"b\" (%p0: ?, %p1: ?, %v: ?, %p: ?, %pa: ?) {\n"
         "    %u: ? = CumSum(%p, %pa) %n: ? = Add(%u, %v) return %p1, %n }\n"
         "%z: ? = Relu(%f)");
}
Test(layout, an_input_that_a_body_and_a_window_read) {
    same(COND "%y: ? = If(%cond, %x, %axis) {captures=2}\n"
              "  then_branch = region \"t\" (%p: ?, %pa: ?) { %t: ? = CumSum(%p, %pa) return %t }\n"
              "  else_branch = region \"e\" (%q: ?, %qa: ?) { %u: ? = Neg(%q) return %u }\n"
              "%z: ? = ConvTranspose(%x, %w) " AROUND);
}
Test(layout, what_a_loop_gives_to_a_window) {
    same("%v: ?, %s: ? = Loop(%m, _, %x, %axis) {captures=1}\n"
         "  body = region \"b\" (%p0: ?, %p1: ?, %p: ?, %pa: ?) {\n"
         "    %n: ? = Neg(%p) %t: ? = CumSum(%n, %pa) %g: ? = ReduceMax(%t) {keepdims=0} %o: ? = Greater(%g, %g)\n"
         "    %d: ? = Not(%o) %q: ? = Reshape(%t, %three) return %d, %t, %q }\n"
         "%y: ? = Conv(%v, %w) " AROUND " %z: ? = ConvTranspose(%s, %w) " AROUND);
}
