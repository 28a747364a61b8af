/* What the tests of operators share: results for constant inputs, which folding computes, and for inputs that only the
 * run knows, which the interpreter of the whole lowered graph does. */
#ifndef NN_TESTS_OPS_KIT_H
#define NN_TESTS_OPS_KIT_H
#include "compiler/graph/passes.h"
#include "ir/eval/eval.h"
#include "lower/lower.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct ctx *c;
static inline void setup(void) {
    ops_register_all();
    c = ctx_new();
}
static inline void done(void) { ctx_free(c); }

static inline struct graph *graph_of(const char *consts, const char *params, const char *nodes) {
    struct text t = {0}, d = {0};
    text_printf(&t, "graph \"\"\nsym N: 0..128\n%s\nregion \"\" (%s) { %s return %%y }\n", consts, params, nodes);
    struct graph *g = graph_parse(c, t.s, t.n, "t.gir");
    bool ok = g && graph_infer(g) && graph_fold_constants(g);
    diag_print(&c->diags, &d, false);
    cr_assert(ok, "%s\n%s", t.s, d.s);
    text_free(&t);
    return g;
}
static inline void same(const char *nodes, double got, double want, int k) {
    bool eq = isnan(want) ? isnan(got) : isinf(want) ? got == want : fabs(got - want) <= 1e-5 * fmax(1, fabs(want));
    cr_expect(eq, "%s\n  element %d is %.9g, not %.9g", nodes, k, got, want);
}
#define LIST(...) (const double[]){__VA_ARGS__}, (int)(sizeof((double[]){__VA_ARGS__}) / sizeof(double))
/* The nodes' result %y for constant inputs. */
static inline void gives(const char *consts, const char *nodes, const double *want, int n) {
    struct graph *g = graph_of(consts, "", nodes);
    const struct tensor *t = g->top->results.v[0]->init;
    cr_assert(t, "%s: not folded", nodes);
    cr_assert_eq(tensor_count(t), n, "%s: %lld elements, not %d", nodes, (long long)tensor_count(t), n);
    for (int k = 0; k < n; k++)
        same(nodes, dtype_is_float(t->type) ? tensor_f(t, k) : (double)tensor_i(t, k), want[k], k);
}
/* The same with all inputs given at run time; the result is f32 of the given dims. Value of the symbol N: n_sym. */
struct arg {
    const void *data;
    int64_t dims[3];
    int nd;
};
#define PLACES "const %k: i64[6] = [0,1,2,3,4,5] const %k2: i64[2] = [0,1] const %k4: i64[4] = [1,1,1,1]\n"
#define TAKE6                                                                                                          \
    " %f: ? = Flatten(%z) {axis=0} %y: ? = Gather(%f, %k) {axis=1}" /* a result of known size from a %z of any */
#define TAKE2 " %f: ? = Flatten(%z) {axis=0} %y: ? = Gather(%f, %k2) {axis=1}"
static inline void runs(const char *params, const char *nodes, const struct arg *in, int nin, int64_t n_sym,
                        const double *want, int n) {
    struct graph *g = graph_of(PLACES, params, nodes);
    struct lower_options o = {.no_schedule = true};
    struct module *m = lower_graph(g, &o);
    struct text d = {0};
    diag_print(&c->diags, &d, false);
    cr_assert(m, "%s\n%s", nodes, d.s);
    struct eval_arg args[8] = {{0}};
    for (int k = 0; k < nin; k++)
        args[k] = (struct eval_arg){(void *)in[k].data, {in[k].dims[0], in[k].dims[1], in[k].dims[2]}, in[k].nd};
    int64_t syms[4] = {n_sym};
    struct eval_options eo = {.poison = true};
    struct eval_result r = loop_eval(m, m->entry, args, syms, &eo);
    cr_assert_eq(r.status, EVAL_OK, "%s\n%s", nodes, r.message);
    int64_t count = 1;
    for (int k = 0; k < args[nin].nd; k++) count *= args[nin].dims[k];
    cr_assert_eq(count, n, "%s: %lld elements, not %d", nodes, (long long)count, n);
    for (int k = 0; k < n; k++) same(nodes, (double)((float *)args[nin].data)[k], want[k], k);
}

/* What is wrong only for some sizes is refused by the run. */
static inline void refused(const char *params, const char *nodes, const struct arg *in, int nin, int64_t n_sym,
                           const char *why) {
    struct lower_options o = {.no_schedule = true};
    struct module *m = lower_graph(graph_of(PLACES, params, nodes), &o);
    cr_assert(m);
    struct eval_arg args[8] = {{0}};
    for (int k = 0; k < nin; k++)
        args[k] = (struct eval_arg){(void *)in[k].data, {in[k].dims[0], in[k].dims[1], in[k].dims[2]}, in[k].nd};
    struct eval_result r = loop_eval(m, m->entry, args, &n_sym, &(struct eval_options){.poison = true});
    cr_expect_eq(r.status, EVAL_FAULT, "%s", nodes);
    cr_expect(strstr(r.message, why), "%s\n%s", nodes, r.message);
}
#endif
