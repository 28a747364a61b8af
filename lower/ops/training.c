/* Operators of training: Dropout, which only inference leaves alone, and the steps of the optimizers Adagrad, Adam and
 * Momentum (domain ai.onnx.preview.training). */
#include "lower/ops/ops.h"
#include <string.h>

/* ---- Dropout: keeps an element with probability 1 - ratio, and multiplies what is kept by 1 / (1 - ratio) */
static V constant_f32(double v) { return n_const_f(F32, v); }
static V all_true(V like) {
    struct tensor *yes = n_tensor(BOOL, NULL, 0);
    tensor_set_i(yes, 0, 1);
    return N_OP("Expand", n_const(yes), N_OP("Shape", like));
}
static void op_dropout(void) {
    V x = gin(0), ratio = gin(1), training = gin(2);
    const struct tensor *mode = training ? training->init : NULL;
    if (!training || (mode && tensor_count(mode) == 1 && !tensor_i(mode, 0))) {
        gout(0, N_OP("Identity", x));
        if (n_out() > 1) gout(1, all_true(x));
        return;
    }
    struct attr draw[] = {attr_int("dtype", dtype_onnx(F32)), attr_float("seed", (double)int_attr("seed"))};
    V drawn = n_op("RandomUniformLike", 0, &x, 1, draw, has_attr("seed") ? 2 : 1);
    ratio = ratio ? n_cast(ratio, F32) : constant_f32(0.5);
    V kept = N_OP("Or", N_OP("GreaterOrEqual", drawn, ratio), N_OP("Not", training));
    V grown = N_OP("Div", constant_f32(1), N_OP("Sub", constant_f32(1), ratio));
    V scale = N_OP("Where", training, grown, constant_f32(1));
    gout(0, N_OP("Where", kept, N_OP("Mul", x, n_cast(scale, x->type.dtype)), n_const_f(x->type.dtype, 0)));
    if (n_out() > 1) gout(1, kept);
}
static void up_dropout(struct node *n) { /* before 12 the ratio was an attribute; inference does not read it */
    node_drop_attr(n, "ratio");
    node_drop_attr(n, "is_test");
    node_drop_attr(n, "consumed_inputs");
}

/* ---- Optimizers. Inputs are the learning rate, the number of updates before this one, and then all tensors that are
 * optimized, all their gradients, and each kind of state that the method keeps; results are the new tensors and states.
 */
struct update {
    E rate, t;         /* learning rate, of the type of the tensors; updates before, i64 */
    E x, g, s[2], one; /* an element, its gradient with the regularization, its state */
};
typedef void (*update_fn)(const struct update *u, E *x, E *s);
static E attr_of(const struct update *u, const char *name) { return typed(u->x->type, float_attr(name)); }
static void optimize(int states, update_fn step) {
    int kinds = 2 + states, n = (n_in() - 2) / kinds;
    if (fail_if(n < 1 || n_in() != 2 + n * kinds || n_out() > n * (1 + states), E_ARITY,
                "%d inputs and %d outputs: %s takes R, T and %d tensors for each one that is optimized, and gives %d",
                n_in(), n_out(), def_node()->op_type, kinds, 1 + states))
        return;
    for (int k = 0; k < n; k++) {
        T x = in(2 + k);
        if (!x) return;
        X i = axes(shape(x));
        struct update u = {.x = at(x, i)};
        enum dtype vt = dtype_value(dtype(x));
        for (int j = 0; j < 1 + states; j++) {
            T t = in(2 + (1 + j) * n + k);
            if (fail_if(!t || rank(t) != rank(x) || dtype(t) != dtype(x), E_SHAPE,
                        "a gradient or state is not of the type and rank of tensor %d, which it belongs to", k))
                return;
            for (int d = 0; d < rank(x); d++)
                require(eq(dim(t, d), dim(x, d)), "tensor %d and its gradient or state differ on axis %d", k, d);
            X own = i;
            for (int d = 0; d < rank(x); d++) own.v[d] = within(i.v[d], dim(t, d));
            if (j) u.s[j - 1] = at(t, own);
            else u.g = at(t, own);
        }
        u.rate = cast(dtype(x), scalar(in(0))), u.t = cast(I64, scalar(in(1)));
        u.one = typed(vt, 1);
        u.g = add(mul(attr_of(&u, "norm_coefficient"), u.x), u.g);
        E new_x, new_s[2];
        step(&u, &new_x, new_s);
        out(k, dtype(x), i, new_x);
        for (int j = 0; j < states; j++)
            if ((1 + j) * n + k < n_out()) out((1 + j) * n + k, dtype(x), i, new_s[j]);
    }
}
/* Duchi, Hazan, Singer: Adaptive subgradient methods for online learning, 2011 */
static void adagrad(const struct update *u, E *x, E *s) {
    E t = cast(dtype_value(u->x->type), u->t);
    E rate = div_(u->rate, add(u->one, mul(t, attr_of(u, "decay_factor"))));
    s[0] = add(u->s[0], mul(u->g, u->g));
    *x = sub(u->x, div_(mul(rate, u->g), add(sqrt_(s[0]), attr_of(u, "epsilon"))));
}
/* Kingma, Ba: Adam, a method for stochastic optimization, 2014. The bias is corrected from the second update on. */
static void adam(const struct update *u, E *x, E *s) {
    E a = attr_of(u, "alpha"), b = attr_of(u, "beta"), t = cast(u->x->type, u->t);
    s[0] = add(mul(a, u->s[0]), mul(sub(u->one, a), u->g));
    s[1] = add(mul(b, u->s[1]), mul(sub(u->one, b), mul(u->g, u->g)));
    E corrected = div_(mul(u->rate, sqrt_(sub(u->one, fn2("pow", b, t)))), sub(u->one, fn2("pow", a, t)));
    E rate = sel(gt(u->t, typed(I64, 0)), corrected, u->rate);
    E moved = sub(u->x, mul(rate, div_(s[0], add(sqrt_(s[1]), attr_of(u, "epsilon")))));
    *x = mul(sub(u->one, attr_of(u, "norm_coefficient_post")), moved);
}
/* Sutskever, Martens, Dahl, Hinton: On the importance of initialization and momentum in deep learning, 2013 */
static void momentum(const struct update *u, E *x, E *s) {
    E a = attr_of(u, "alpha"), b = sel(gt(u->t, typed(I64, 0)), attr_of(u, "beta"), u->one);
    s[0] = add(mul(a, u->s[0]), mul(b, u->g));
    bool nesterov = !strcmp(str_attr("mode"), "nesterov");
    *x = sub(u->x, mul(u->rate, nesterov ? add(u->g, mul(a, s[0])) : s[0]));
}
static void op_adagrad(void) { optimize(1, adagrad); }
static void op_adam(void) { optimize(2, adam); }
static void op_momentum(void) {
    const char *mode = str_attr("mode");
    if (strcmp(mode, "standard") && strcmp(mode, "nesterov"))
        fail(E_ATTR, "attribute \"mode\" must be standard or nesterov");
    else optimize(1, momentum);
}

static const struct op_slot s_dropout[] = {
    {"data", TS_FLOAT, 0}, {"ratio", TS_FLOAT, OPTIONAL}, {"training_mode", TSET(BOOL), OPTIONAL}, {0}};
static const struct op_slot s_dropout_out[] = {{"output", TS_ANY, 0}, {"mask", TS_ANY, OPTIONAL}, {0}};
static const struct op_attr a_dropout[] = {A_INT("seed"), {0}};
static const struct op_upgrade u_dropout[] = {{11, up_dropout}, {0}};
enum { OPTIMIZED = TSET(F32) | TSET(F64) };
static const struct op_slot s_optimizer[] = {
    {"R", OPTIMIZED, SCALAR}, {"T", TSET(I64), SCALAR}, {"inputs", OPTIMIZED, VARIADIC}, {0}};
static const struct op_attr a_adagrad[] = {
    A_FLOAT("decay_factor"), A_FLOAT("epsilon", .f = 1e-6f), A_FLOAT("norm_coefficient"), {0}};
static const struct op_attr a_adam[] = {A_FLOAT("alpha", .f = 0.9f),      A_FLOAT("beta", .f = 0.999f),
                                        A_FLOAT("epsilon", .f = 1e-6f),   A_FLOAT("norm_coefficient"),
                                        A_FLOAT("norm_coefficient_post"), {0}};
static const struct op_attr a_momentum[] = {A_FLOAT("alpha", .flags = A_REQUIRED),
                                            A_FLOAT("beta", .flags = A_REQUIRED),
                                            A_STRING("mode", .flags = A_REQUIRED),
                                            A_FLOAT("norm_coefficient", .flags = A_REQUIRED),
                                            {0}};
#define OPTIMIZER(op, attrs, fn)                                                                                       \
    {                                                                                                                  \
        "ai.onnx.preview.training", op, 1, 1, attrs, s_optimizer, slots_ys,                                            \
            .define = fn, .spec = op "-1 of ai.onnx.preview.training"                                                  \
    }
const struct op ops_training[] = {
    {"", "Dropout", 22, 1, a_dropout, s_dropout, s_dropout_out, .expand = op_dropout, .upgrades = u_dropout,
     .spec = "Dropout-22; training draws with Philox, versions before 12 are inference"},
    OPTIMIZER("Adagrad", a_adagrad, op_adagrad),
    OPTIMIZER("Adam", a_adam, op_adam),
    OPTIMIZER("Momentum", a_momentum, op_momentum),
    {0},
};
