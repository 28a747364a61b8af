/* compiler/graph/affine.c: the folded graph against the graph as it was, both in the interpreter, within the bound of
 * docs/numbers.md (N3); and what must not be folded. */
#include "compiler/graph/passes.h"
#include "ir/eval/eval.h"
#include "lower/lower.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct ctx *c;
static void setup(void) {
    ops_register_all();
    c = ctx_new();
}
static void done(void) { ctx_free(c); }
TestSuite(affine, .init = setup, .fini = done);

enum { CELLS = 2 * 4 * 5 * 5 };
static struct graph *graph_of(const char *consts, const char *type, const char *nodes) {
    struct text t = {0}, d = {0};
    text_printf(&t, "graph \"\"\n%s\nregion \"\" (%%x: %s) { %s return %%y }\n", consts, type, nodes);
    struct graph *g = graph_parse(c, t.s, t.n, "t.gir");
    bool ok = g && graph_infer(g) && graph_dce(g);
    diag_print(&c->diags, &d, false);
    cr_assert(ok, "%s\n%s", t.s, d.s);
    text_free(&t);
    return g;
}
static int count_nodes(const struct graph *g) {
    int n = 0;
    for (const struct node *k = g->top->first; k; k = k->next) n++;
    return n;
}
static int run(struct graph *g, const float *x, const int64_t *dims, int rank, float *y) {
    struct lower_options o = {.no_schedule = true};
    struct module *m = lower_graph(g, &o);
    cr_assert(m);
    struct eval_arg args[2] = {{(void *)x, {0}, rank}, {0}};
    memcpy(args[0].dims, dims, sizeof *dims * (size_t)rank);
    struct eval_result r = loop_eval(m, m->entry, args, NULL, &(struct eval_options){.poison = true});
    cr_assert_eq(r.status, EVAL_OK, "%s", r.message);
    int n = 1;
    for (int k = 0; k < args[1].nd; k++) n *= (int)args[1].dims[k];
    cr_assert_leq(n, CELLS * 4);
    memcpy(y, args[1].data, sizeof *y * (size_t)n);
    return n;
}
/* Folding leaves `nodes` of the nodes and the values, up to rounding: |w x| and |b| are below `size` in sum. */
static void folds(const char *consts, const char *type, const int64_t *dims, int rank, const char *text, int nodes,
                  double size) {
    float x[CELLS], a[CELLS * 4], b[CELLS * 4];
    for (int k = 0; k < CELLS; k++) x[k] = (float)((k * 37 + 11) % 64 - 31) / 16;
    struct graph *plain = graph_of(consts, type, text), *folded = graph_of(consts, type, text);
    cr_assert(graph_fold_affine(folded) && graph_infer(folded));
    cr_expect_eq(count_nodes(folded), nodes, "%s: %d nodes, not %d", text, count_nodes(folded), nodes);
    int n = run(plain, x, dims, rank, a), m = run(folded, x, dims, rank, b);
    cr_assert_eq(n, m);
    double most = 0;
    for (int k = 0; k < n; k++) {
        most = fmax(most, fabs((double)a[k]));
        if (a[k] == b[k]) continue;
        cr_expect_leq(fabs((double)a[k] - (double)b[k]), size * 0x1p-22, "%s: element %d is %.9g, not %.9g", text, k,
                      (double)b[k], (double)a[k]);
    }
    cr_expect_gt(most, 0.5, "%s: nothing to compare", text);
}
static const int64_t image[] = {2, 4, 5, 5}, row[] = {3, 4};
#define IMAGE "f32[2,4,5,5]", image, 4
#define ROW   "f32[3,4]", row, 2
#define BN                                                                                                             \
    "const %s: f32[4] = [2.0,-0.5,1.5,0.1] const %t: f32[4] = [0.3,-1.0,0.0,2.0] const %m: f32[4] = "                  \
    "[0.5,-0.25,1.0,3.0] const %v: f32[4] = [1.0,0.04,2.0,9.0]\n"
#define W22                                                                                                            \
    "const %w: f32[4,2,2,2] = [0.5,-1.0,0.25,2.0, 1.5,0.0,-0.75,1.0, -0.5,0.5,1.0,-1.0, 2.0,0.125,-0.25,0.5, "         \
    "1.0,1.0,-1.0,0.5, 0.75,-2.0,0.5,0.5, -1.5,0.25,0.25,1.0, 0.5,0.5,-0.5,1.0]\n"
#define W44 "const %w: f32[4,4] = [0.5,-1.0,0.25,2.0, 1.5,0.0,-0.75,1.0, -0.5,0.5,1.0,-1.0, 2.0,0.125,-0.25,0.5]\n"
#define B4  "const %b: f32[4] = [1.0,-2.0,0.5,0.25]\n"
Test(affine, after) {
    folds(BN W22, IMAGE, "%c: ? = Conv(%x, %w) {group=2} %y: ? = BatchNormalization(%c, %s, %t, %m, %v)", 1, 100);
    folds(BN W22 B4, IMAGE,
          "%c: ? = Conv(%x, %w, %b) {group=2, pads=[1,1,1,1]} %y: ? = BatchNormalization(%c, %s, %t, %m, %v)", 1, 100);
    folds(BN W22, IMAGE, "%c: ? = ConvTranspose(%x, %w) {group=2} %y: ? = BatchNormalization(%c, %s, %t, %m, %v)", 1,
          200);
    folds(BN W44 B4, ROW, "%c: ? = Gemm(%x, %w, %b) %y: ? = BatchNormalization(%c, %s, %t, %m, %v)", 1, 100);
    folds(BN W44 B4, ROW, "%c: ? = Gemm(%x, %w, %b) {transB=1} %d: ? = Mul(%c, %s) %y: ? = Sub(%d, %t)", 1, 100);
    folds("const %k: f32[] = [3.0]" W22, IMAGE,
          "%c: ? = Conv(%x, %w) {group=2} %d: ? = Add(%k, %c) %y: ? = Div(%d, %k)", 1, 100);
}
Test(affine, before) {
    folds(BN W22, IMAGE, "%c: ? = BatchNormalization(%x, %s, %t, %m, %v) %y: ? = Conv(%c, %w) {group=2}", 1, 200);
    folds(BN W22 B4, IMAGE, "%c: ? = BatchNormalization(%x, %s, %t, %m, %v) %y: ? = Conv(%c, %w, %b) {group=2}", 1,
          200);
    folds("const %k: f32[4,1,1] = [3.0,0.5,-1.0,2.0]" W22, IMAGE,
          "%c: ? = Mul(%k, %x) %y: ? = Conv(%c, %w) {group=2, pads=[1,1,1,1]}", 1, 200);
    folds(BN W44 B4, ROW, "%c: ? = BatchNormalization(%x, %s, %t, %m, %v) %y: ? = Gemm(%c, %w, %b)", 1, 200);
    folds(BN W44, ROW, "%c: ? = Add(%x, %s) %y: ? = Gemm(%c, %w) {transB=1}", 1, 200);
    folds(BN W44 B4, ROW, "%c: ? = Mul(%x, %s) %d: ? = Gemm(%c, %w, %b) %y: ? = BatchNormalization(%d, %s, %t, %m, %v)",
          1, 400);
}
Test(affine, becomes_a_product_and_a_sum) {
    folds(BN, IMAGE, "%c: ? = Relu(%x) %y: ? = BatchNormalization(%c, %s, %t, %m, %v)", 3, 200);
    folds(BN, ROW, "%y: ? = BatchNormalization(%x, %s, %t, %m, %v)", 2, 200);
}
Test(affine, stays) {
    /* zeros of the border are not shifted */
    folds(BN W22, IMAGE,
          "%c: ? = BatchNormalization(%x, %s, %t, %m, %v) %y: ? = Conv(%c, %w) {group=2, pads=[0,1,0,0]}", 3, 200);
    folds(BN W22, IMAGE,
          "%c: ? = BatchNormalization(%x, %s, %t, %m, %v) %y: ? = Conv(%c, %w) {group=2, auto_pad=\"SAME_UPPER\"}", 3,
          200);
    /* a bias of the rows */
    folds("const %r: f32[4,1] = [1.0,-2.0,0.5,0.25] const %s: f32[4] = [2.0,-0.5,1.5,0.1]" W44, "f32[4,4]",
          (int64_t[]){4, 4}, 2, "%c: ? = Gemm(%x, %w, %r) %y: ? = Mul(%c, %s)", 2, 1e-9);
    /* scales per row, and factors of the product */
    folds("const %r: f32[4,1] = [1.0,-2.0,0.5,0.25]" W44, "f32[4,4]", (int64_t[]){4, 4}, 2,
          "%c: ? = Gemm(%x, %w) %y: ? = Mul(%c, %r)", 2, 1e-9);
    folds(BN W44, ROW, "%c: ? = Gemm(%x, %w) {alpha=2.0} %y: ? = Mul(%c, %s)", 2, 1e-9);
    /* a weight that would leave the range: what is infinite stays so, what is not does too */
    folds("const %w: f32[4,1] = [3e38,1.0,1.0,1.0] const %s: f32[4] = [4.0,1.0,1.0,1.0]", ROW,
          "%c: ? = Mul(%x, %s) %y: ? = Gemm(%c, %w)", 2, 1e-9);
}
