/* TensorFlow Lite: those operators of StableHLO that LiteRT has kernels for, as far as they are taken, and DILATE,
 * which is a padding of the same kind: room between the cells, too. */
#include "lower/ops/tflite.h"

static void exp_and(void) { expand_to(dtype(in(0)) == BOOL ? "And" : "BitwiseAnd"); }
static void op_shift_left(void) {
    T a = in(0), b = in(1);
    X i = axes(bcast_shape((T[]){a, b}, 2));
    E by = at(b, bcast(b, i)), v = at(a, bcast(a, i)), zero = num(0), width = num(dtype_bits(dtype(a)));
    E inside = and_(ge(by, zero), lt(by, width));
    out(0, dtype(a), i, sel(inside, shl_(v, sel(inside, by, zero)), zero));
}

/* ---- low cells before the first, high behind the last, `between` after each but the last; fewer than 0 cut off */
static void op_spread(void) {
    T x = in(0), with = in(1);
    const int64_t *low, *high, *between;
    if (fail_if(ints_attr("low", &low) != rank(x) || ints_attr("high", &high) != rank(x) ||
                    ints_attr("between", &between) != rank(x),
                E_SHAPE, "the paddings do not fit rank %d", rank(x)))
        return;
    X dims = list0(), from = list0();
    for (int k = 0; k < rank(x); k++) {
        if (fail_if(between[k] < 0 || between[k] > INT32_MAX || low[k] < INT32_MIN || low[k] > INT32_MAX ||
                        high[k] < INT32_MIN || high[k] > INT32_MAX,
                    E_ATTR, "a padding of %lld, %lld and %lld", (long long)low[k], (long long)between[k],
                    (long long)high[k]))
            return;
        E gaps = mul(max_(sub(dim(x, k), idx(1)), idx(0)), idx(between[k]));
        dims = push(dims, max_(add(add(dim(x, k), gaps), idx(low[k] + high[k])), idx(0)));
    }
    X i = axes(dims);
    E hit = truth(true), fill = at(with, list0());
    for (int k = 0; k < rank(x); k++) {
        E j = sub(i.v[k], idx(low[k])), step = idx(between[k] + 1);
        hit = and_(hit, and_(ge(j, idx(0)), eq(mod_(max_(j, idx(0)), step), idx(0))));
        from = push(from, div_(max_(j, idx(0)), step));
    }
    out(0, dtype(x), i, sel(hit, at_or(x, from, fill), fill));
}
static void spread(V with, const int64_t *low, const int64_t *between, const int64_t *high, int n) {
    gout(0, own("Spread", (const V[]){gin(0), reshaped_to(with, NULL, 0)}, 2,
                ATTRS(attr_ints("low", low, n), attr_ints("between", between, n), attr_ints("high", high, n))));
}
static void exp_pad(void) {
    const int64_t *low, *high, *between;
    int n = ints_attr("edge_padding_low", &low), rank = v_rank(gin(0));
    if (n != rank || ints_attr("edge_padding_high", &high) != n || ints_attr("interior_padding", &between) != n)
        fail(E_SHAPE, "paddings for %d axes, not %d", n, rank);
    else spread(gin(1), low, between, high, n);
}
static void exp_dilate(void) { /* x, steps, what lies between */
    int64_t between[X_MAX_LIST], none[X_MAX_LIST] = {0};
    int n = const_ints(1, between, X_MAX_LIST);
    for (int k = 0; k < n; k++) between[k] -= 1;
    if (n >= 0 && n != v_rank(gin(0))) fail(E_SHAPE, "%d steps for rank %d", n, v_rank(gin(0)));
    else if (n >= 0) spread(gin(2), none, between, none, n);
}

static const struct op_slot s_spread[] = {{"x", TS_REAL, 0}, {"with", TS_REAL, 0}, {0}},
                            s_ints[] = {{"a", TS_INT, 0}, {"b", TS_INT, 0}, {0}};
const struct op ops_tflite_stablehlo[] = {
    BY_NAME("STABLEHLO_ADD", tfl_any2, exp_as_onnx, "Add", "as ONNX"),
    BY_NAME("STABLEHLO_MULTIPLY", tfl_any2, exp_as_onnx, "Mul", "as ONNX"),
    BY_NAME("STABLEHLO_MAXIMUM", tfl_any2, exp_as_onnx, "Max", "as ONNX"),
    BY_NAME("STABLEHLO_MINIMUM", tfl_any2, exp_as_onnx, "Min", "as ONNX"),
    TFLITE("STABLEHLO_AND", tfl_any2, exp_and, "as ONNX And and BitwiseAnd"),
    BY_NAME("STABLEHLO_SHIFT_LEFT", s_ints, exp_as_own, "ShiftLeft", "shifts by the width and more give 0"),
    TFLITE("STABLEHLO_PAD", tfl_any2, exp_pad, "cells before, between and behind; fewer than 0 cut off"),
    TFLITE("DILATE", tfl_any3, exp_dilate, "constant steps"),
    DEFINED("ShiftLeft", tfl_attrs, s_ints, op_shift_left, "shifts by the width and more give 0"),
    DEFINED("Spread", tfl_attrs, s_spread, op_spread, "cells before, between and behind"),
    {0},
};
