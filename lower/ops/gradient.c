/* Gradient (ai.onnx.preview.training): the derivatives of a value of the graph by others, as nodes of the graph.
 * Reverse accumulation (Griewank and Walther, Evaluating derivatives, 2008): one rule for each operator between them
 * says what an input's derivative is, given that of the result. Operators without a rule are refused. */
#include "ir/base/map.h"
#include "lower/ops/ops.h"
#include <math.h>
#include <string.h>

static V one(V like, double v) { return n_const_f(like->type.dtype, v); }
static V plus(V a, V b) { return a && b ? N_OP("Add", a, b) : a ? a : b; }
static V times(V a, V b) { return N_OP("Mul", a, b); }
static V minus(V a) { return N_OP("Neg", a); }
static V with_axes(const char *op, V x, const int64_t *axes, int n, int keepdims) {
    return N_WITH(op, ATTRS(attr_int("keepdims", keepdims)), x, n_const_i64(axes, n));
}
static V transposed(V x) { /* the last two axes */
    int64_t perm[X_MAX_LIST];
    int r = x->type.rank;
    for (int k = 0; k < r; k++) perm[k] = k < r - 2 ? k : 2 * r - 3 - k;
    return n_transpose(x, perm, r);
}
static V like(V g, V x) { return N_OP("Reshape", g, N_OP("Shape", x)); } /* the elements of g in the shape of x */

/* Sums over broadcast axes: g in the shape of x, or NULL after a diagnostic. */
static V summed_to(V g, V x) {
    E from[X_MAX_LIST], to[X_MAX_LIST];
    int64_t axes[X_MAX_LIST];
    int r = gdims(g, from), q = gdims(x, to), n = 0, more = r - q;
    if (r < 0 || q < 0 || more < 0) return fail(E_SHAPE, "a derivative has fewer axes than its value"), NULL;
    for (int k = 0; k < r; k++) {
        if (k >= more && from[k] == to[k - more]) continue;
        if (fail_if(k >= more && !x_is(to[k - more], 1), E_SHAPE,
                    "whether axis %d of \"%s\" was broadcast depends on a size that only the run knows", k - more,
                    x->name))
            return NULL;
        axes[n++] = k;
    }
    if (n) g = with_axes("ReduceSum", g, axes, n, 1);
    return more ? like(g, x) : g;
}

/* ---- rules: the derivative by input k of n, given that by its result; it may still be broadcast */
typedef V (*rule)(const struct node *n, int k, V g);
#define X0 n->ins.v[0]
#define X1 n->ins.v[1]
#define Y0 n->outs.v[0]
static V d_same(const struct node *n, int k, V g) { return (void)n, (void)k, g; }
static V d_sub(const struct node *n, int k, V g) { return (void)n, k ? minus(g) : g; }
static V d_mul(const struct node *n, int k, V g) { return times(g, k ? X0 : X1); }
static V d_div(const struct node *n, int k, V g) {
    V q = N_OP("Div", g, X1);
    return k ? minus(times(q, Y0)) : q;
}
static V d_pow(const struct node *n, int k, V g) {
    if (k) return times(times(g, Y0), N_OP("Log", X0));
    V less = N_OP("Sub", X1, one(X1, 1));
    return times(times(g, X1), N_OP("Pow", X0, less));
}
static V d_neg(const struct node *n, int k, V g) { return (void)n, (void)k, minus(g); }
static V d_abs(const struct node *n, int k, V g) { return (void)k, times(g, N_OP("Sign", X0)); }
static V d_exp(const struct node *n, int k, V g) { return (void)k, times(g, Y0); }
static V d_log(const struct node *n, int k, V g) { return (void)k, N_OP("Div", g, X0); }
static V d_sqrt(const struct node *n, int k, V g) { return (void)k, N_OP("Div", g, times(one(Y0, 2), Y0)); }
static V d_reciprocal(const struct node *n, int k, V g) { return (void)k, minus(times(g, times(Y0, Y0))); }
static V d_sin(const struct node *n, int k, V g) { return (void)k, times(g, N_OP("Cos", X0)); }
static V d_cos(const struct node *n, int k, V g) { return (void)k, minus(times(g, N_OP("Sin", X0))); }
static V d_sigmoid(const struct node *n, int k, V g) {
    return (void)k, times(g, times(Y0, N_OP("Sub", one(Y0, 1), Y0)));
}
static V d_tanh(const struct node *n, int k, V g) { return (void)k, times(g, N_OP("Sub", one(Y0, 1), times(Y0, Y0))); }
static V d_softplus(const struct node *n, int k, V g) { return (void)k, times(g, N_OP("Sigmoid", X0)); }
static V d_erf(const struct node *n, int k, V g) {
    V bell = N_OP("Exp", minus(times(X0, X0)));
    return (void)k, times(g, times(bell, one(X0, 2 / sqrt(acos(-1)))));
}
static V d_relu(const struct node *n, int k, V g) {
    return (void)k, N_OP("Where", N_OP("Greater", X0, one(X0, 0)), g, one(g, 0));
}
static V d_where(const struct node *n, int k, V g) {
    V zero = one(g, 0);
    return k == 1 ? N_OP("Where", X0, g, zero) : N_OP("Where", X0, zero, g);
}
static V d_cast(const struct node *n, int k, V g) { return (void)k, n_cast(g, X0->type.dtype); }
static V d_reshape(const struct node *n, int k, V g) { return (void)k, like(g, X0); }
static V d_transpose(const struct node *n, int k, V g) {
    const struct attr *a = node_attr(n, "perm");
    int64_t back[X_MAX_LIST];
    int r = X0->type.rank;
    for (int j = 0; j < r; j++) back[a ? a->u.is[j] : r - 1 - j] = j;
    return (void)k, n_transpose(g, back, r);
}
static V d_matmul(const struct node *n, int k, V g) {
    if (X0->type.rank < 2 || X1->type.rank < 2) return fail(E_OP, "no derivative of MatMul with a vector"), NULL;
    return k ? N_OP("MatMul", transposed(X0), g) : N_OP("MatMul", g, transposed(X1));
}
static V d_gemm(const struct node *n, int k, V g) { /* alpha a b + beta c, where a and b may stand transposed */
    const struct attr *ta = node_attr(n, "transA"), *tb = node_attr(n, "transB"), *al = node_attr(n, "alpha"),
                      *be = node_attr(n, "beta");
    bool turn_a = ta && ta->u.i, turn_b = tb && tb->u.i;
    if (k == 2) return be ? times(g, one(g, (double)be->u.f)) : g;
    if (al) g = times(g, one(g, (double)al->u.f));
    V d = k ? N_OP("MatMul", turn_a ? X0 : transposed(X0), g) : N_OP("MatMul", g, turn_b ? X1 : transposed(X1));
    return (k ? turn_b : turn_a) ? transposed(d) : d;
}
/* g, a reduction's result with or without its axes, over all elements of x */
static V spread(const struct node *n, V g) {
    const struct attr *keep = node_attr(n, "keepdims");
    if (keep && !keep->u.i && g->type.rank < X0->type.rank) {
        V axes = n->ins.n > 1 ? X1 : NULL;
        int64_t all[X_MAX_LIST];
        for (int k = 0; k < X0->type.rank; k++) all[k] = k;
        g = N_OP("Unsqueeze", g, axes ? axes : n_const_i64(all, X0->type.rank));
    }
    return N_OP("Expand", g, N_OP("Shape", X0));
}
static V d_reducesum(const struct node *n, int k, V g) { return (void)k, spread(n, g); }
static V d_reducemean(const struct node *n, int k, V g) {
    V ratio = N_OP("Div", N_OP("Size", X0), N_OP("Size", Y0));
    return (void)k, N_OP("Div", spread(n, g), n_cast(ratio, g->type.dtype));
}
static V row_sum(const struct node *n, V g) {
    const struct attr *a = node_attr(n, "axis");
    return with_axes("ReduceSum", g, (const int64_t[]){a ? a->u.i : -1}, 1, 1);
}
static V d_softmax(const struct node *n, int k, V g) {
    return (void)k, times(Y0, N_OP("Sub", g, row_sum(n, times(g, Y0))));
}
static V d_logsoftmax(const struct node *n, int k, V g) {
    return (void)k, N_OP("Sub", g, times(N_OP("Exp", Y0), row_sum(n, g)));
}
static const struct {
    const char *op;
    rule fn;
} rules[] = {
    {"Identity", d_same},
    {"Add", d_same},
    {"Sum", d_same},
    {"Sub", d_sub},
    {"Mul", d_mul},
    {"Div", d_div},
    {"Pow", d_pow},
    {"Neg", d_neg},
    {"Abs", d_abs},
    {"Exp", d_exp},
    {"Log", d_log},
    {"Sqrt", d_sqrt},
    {"Sin", d_sin},
    {"Cos", d_cos},
    {"Sigmoid", d_sigmoid},
    {"Tanh", d_tanh},
    {"Softplus", d_softplus},
    {"Erf", d_erf},
    {"Relu", d_relu},
    {"Where", d_where},
    {"Cast", d_cast},
    {"Reshape", d_reshape},
    {"Flatten", d_reshape},
    {"Squeeze", d_reshape},
    {"Unsqueeze", d_reshape},
    {"Expand", d_same},
    {"Transpose", d_transpose},
    {"MatMul", d_matmul},
    {"Gemm", d_gemm},
    {"ReduceSum", d_reducesum},
    {"ReduceMean", d_reducemean},
    {"Softmax", d_softmax},
    {"LogSoftmax", d_logsoftmax},
    {"Reciprocal", d_reciprocal},
};
static rule rule_of(const struct node *n) {
    for (size_t k = 0; k < sizeof rules / sizeof *rules; k++)
        if (node_is(n, rules[k].op) && n->outs.n == 1) return rules[k].fn;
    return NULL;
}

/* ---- the nodes between y and the xs */
/* The value called so, of the nodes before the Gradient or among the parameters. */
static V named(struct str_elem name) {
    const struct node *of = def_node();
    for (const struct node *n = of->prev; n; n = n->prev)
        for (int k = 0; k < n->outs.n; k++)
            if (n->outs.v[k] && strlen(n->outs.v[k]->name) == name.n && !memcmp(n->outs.v[k]->name, name.p, name.n))
                return n->outs.v[k];
    for (int k = 0; k < of->in->params.n; k++)
        if (strlen(of->in->params.v[k]->name) == name.n && !memcmp(of->in->params.v[k]->name, name.p, name.n))
            return of->in->params.v[k];
    return NULL;
}
/* Attribute `name` lists values; the inputs from `first` on must be these values. */
static bool takes(const char *name, int first, int *count) {
    const struct attr *a = node_attr(def_node(), name);
    *count = a ? a->n : 0;
    for (int k = 0; k < *count; k++) {
        V v = gin(first + k);
        if (v && v->init) { /* values computed from a constant are constant as well, and no path to y would remain */
            fail(E_OP, "input %d is a constant: make \"%s\" an input of the model", first + k, v->name);
            return false;
        }
        if (fail_if(!v || named(a->u.ss[k]) != v, E_ATTR,
                    "input %d is not the value that attribute \"%s\" names: derivatives are of the graph's own values",
                    first + k, name))
            return false;
    }
    return true;
}
static void add_to(struct map *sums, V v, V g) {
    V sum = plus(map_get(sums, PKEY(v)), g);
    if (sum) map_put(sums, PKEY(v), sum);
}
/* Adds to the sums what node n propagates of the derivative g by its result. */
static bool pass_on(const struct node *n, V g, const struct map *active, struct map *sums) {
    rule d = rule_of(n);
    if (fail_if(!d, E_OP, "no derivative is known of %s, which stands between \"y\" and \"xs\"",
                n->origin ? n->origin : n->op_type))
        return false;
    for (int k = 0; k < n->ins.n; k++) {
        V x = n->ins.v[k];
        if (!x || !map_get(active, PKEY(x)) || !(TSET(x->type.dtype) & TS_FLOAT)) continue;
        V part = d(n, k, g);
        if (!part || !(part = summed_to(part, x))) return false;
        add_to(sums, x, part);
    }
    return true;
}
static void op_gradient(void) {
    struct node *of = def_node(), *end = of->prev; /* what is built stands behind `end` */
    int n, fixed;
    if (!takes("xs", 0, &n) || !takes("zs", n, &fixed)) return;
    if (fail_if(n_in() != n + fixed || n_out() > n, E_ARITY,
                "%d inputs and %d outputs for %d values of \"xs\" and %d of \"zs\"", n_in(), n_out(), n, fixed))
        return;
    V y = named(node_attr(of, "y")->u.s);
    if (fail_if(!y || !(TSET(y->type.dtype) & TS_FLOAT), E_ATTR,
                "attribute \"y\" names no floating-point value that the nodes before compute from inputs"))
        return;
    /* given: xs and zs, beyond which nothing is differentiated; active: what depends on xs; sums: derivatives so far */
    struct map given = {.arena = &of->in->graph->ctx->arena}, active = given, sums = given;
    for (int k = 0; k < n + fixed; k++) map_put(&given, PKEY(gin(k)), gin(k));
    for (int k = 0; k < n; k++) map_put(&active, PKEY(gin(k)), gin(k));
    for (struct node *m = of->in->first; m && m != of; m = m->next)
        for (int j = 0; j < m->outs.n && node_reads_any(m, &active); j++)
            if (m->outs.v[j] && !map_get(&given, PKEY(m->outs.v[j]))) map_put(&active, PKEY(m->outs.v[j]), m);
    add_to(&sums, y, N_OP("Expand", one(y, 1), N_OP("Shape", y)));
    for (struct node *m = end; m; m = m->prev) {
        V g = m->outs.n && m->outs.v[0] ? map_get(&sums, PKEY(m->outs.v[0])) : NULL;
        if (!g || map_get(&given, PKEY(m->outs.v[0])) || !node_reads_any(m, &active)) continue;
        if (!pass_on(m, g, &active, &sums)) return;
    }
    for (int k = 0; k < n; k++) {
        V g = map_get(&sums, PKEY(gin(k)));
        gout(k, g ? g : N_OP("Expand", one(gin(k), 0), N_OP("Shape", gin(k)))); /* y does not depend on it */
    }
}

static const struct op_slot s_gradient[] = {{"Inputs", TS_ANY, VARIADIC}, {0}};
static const struct op_attr a_gradient[] = {
    A_STRINGS("xs", .flags = A_REQUIRED), A_STRING("y", .flags = A_REQUIRED), A_STRINGS("zs"), {0}};
const struct op ops_gradient[] = {
    {"ai.onnx.preview.training", "Gradient", 1, 1, a_gradient, s_gradient, slots_ys, .expand = op_gradient,
     .spec = "Gradient-1 of ai.onnx.preview.training, at the values of the graph alone"},
    {0},
};
