/* A pass of one's own (docs/custom-passes.md): x * sigmoid(k x), which is Swish for k = 1 and close to Gelu for k
 * = 1.702, becomes x * clip(k x / 6 + 1/2, 0, 1), which needs no exponential. Results change: the two differ by up to
 * 0.143 / k, so a model should be trained, or at least measured, with it.
 *
 *     cc -shared -fPIC hard_swish.c -o hard_swish.so $(pkg-config --cflags gcc2nn)
 *     gcc2nn compile model.onnx --pass hard_swish.so */
#include <gcc2nn.h>
#include <stdio.h>
#include <string.h>

static int is(const struct gcc2nn_functions *f, const gcc2nn_node *n, const char *op) {
    return !*f->domain(n) && !strcmp(f->op(n), op);
}
/* v as k times x, with a k that is a constant of one element; as x itself, k is 1. */
static int is_multiple(const struct gcc2nn_functions *f, gcc2nn_value *v, const gcc2nn_value *x, float *k) {
    const gcc2nn_node *n = f->maker(v);
    *k = 1;
    if (v == x) return 1;
    if (!is(f, n, "Mul")) return 0;
    for (int at = 0; at < 2; at++) {
        const gcc2nn_value *factor = f->operand(n, 1 - at);
        if (f->operand(n, at) != x || f->elements(factor) != 1) continue;
        *k = (float)f->element(factor, 0);
        return f->same_shape(v, x);
    }
    return 0;
}
/* n as x * sigmoid(k x): which operand is the sigmoid; -1: it is something else. */
static int find(const struct gcc2nn_functions *f, gcc2nn_node *n, float *k) {
    for (int at = 0; is(f, n, "Mul") && at < 2; at++) {
        gcc2nn_node *sigmoid = f->maker(f->operand(n, at));
        if (is(f, sigmoid, "Sigmoid") && is_multiple(f, f->operand(sigmoid, 0), f->operand(n, 1 - at), k)) return at;
    }
    return -1;
}
static int run(const struct gcc2nn_functions *f, gcc2nn_graph *g) {
    char said[80];
    int changed = 0;
    for (gcc2nn_node *n = f->next(g, NULL); n; n = f->next(g, n)) {
        float k;
        int at = find(f, n, &k);
        if (at < 0 || !f->decide(g, n, "Swish without an exponential")) continue;
        gcc2nn_value *x = f->operand(n, 1 - at);
        gcc2nn_node *hard = f->insert(g, n, "", "HardSigmoid", &x, 1, 1);
        f->set_float(g, hard, "alpha", k / 6);
        f->set_float(g, hard, "beta", 0.5F);
        f->set_operand(g, n, at, f->result(hard, 0)); /* the sigmoid goes when nobody else reads it */
        changed++;
    }
    snprintf(said, sizeof said, "%d of the model's activations became piecewise linear", changed);
    if (changed) f->report(g, GCC2NN_NOTE, NULL, said, NULL);
    return 0;
}
const struct gcc2nn_pass gcc2nn_pass = {GCC2NN_PASS_ABI, "hard-swish", "compute Swish without an exponential", run};
