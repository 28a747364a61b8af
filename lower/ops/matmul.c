/* Products of matrices: MatMul, Gemm, their integer forms, and fused relatives of com.microsoft. */
#include "lower/ops/ops.h"
#include <string.h>

/* Batched product over the last two axes, with numpy's rules for vectors. */
static X matmul_axes(X a, X b, X *batch) {
    int na = a.n > 2 ? a.n - 2 : 0, nb = b.n > 2 ? b.n - 2 : 0, n = na > nb ? na : nb;
    *batch = list0();
    for (int k = 0; k < n; k++) {
        E da = k < n - na ? idx(1) : a.v[k - (n - na)], db = k < n - nb ? idx(1) : b.v[k - (n - nb)];
        E d = x_is(db, 1) || da == db ? da : x_is(da, 1) ? db : sel(eq(da, idx(1)), db, da);
        if (!x_is(da, 1) && !x_is(db, 1))
            require(or_(eq(da, db), or_(eq(da, idx(1)), eq(db, idx(1)))), "batch dimensions do not broadcast");
        *batch = push(*batch, d);
    }
    X o = *batch;
    if (a.n > 1) o = push(o, a.v[a.n - 2]);
    if (b.n > 1) o = push(o, b.v[b.n - 1]);
    return o;
}
static X batch_index(X dims, X o, int nbatch) {
    int own = dims.n > 2 ? dims.n - 2 : 0;
    X r = list0();
    for (int k = 0; k < own; k++) {
        E d = dims.v[k], v = o.v[nbatch - own + k];
        r = push(r, x_is(d, 1)                                ? idx(0)
                    : v->op == X_VAR && v->u.var->extent == d ? v
                                                              : wrap_index(sel(eq(d, idx(1)), idx(0), v), d));
    }
    return r;
}
static bool plain_size(E e) { return e->op == X_CONST || e->op == X_SYM || e->op == X_LIN; }
/* fa, fb are applied to the loaded factors, done to the sum. */
static void matmul(T a, T b, enum dtype accumulate, enum dtype result_type, E (*fa)(E v, X i), E (*fb)(E v, X i),
                   E (*done)(E v, X o)) {
    int ra = rank(a), rb = rank(b);
    if (fail_if(ra < 1 || rb < 1, E_RANK, "matrix products take no scalars")) return;
    E k = dim(a, ra - 1), kb = dim(b, rb > 1 ? rb - 2 : 0);
    require(eq(k, kb), "inner dimensions differ");
    X batch, o = matmul_axes(shape(a), shape(b), &batch);
    int nb = batch.n, m = ra > 1;
    o = axes_named(o, nb == 0 ? "m n" : nb == 1 ? "b m n" : nb == 2 ? "b h m n" : NULL);
    E r = raxis(x_is_true(le(kb, k)) ? kb : k, "k"); /* the smaller of the two, as known without the check */
    X ia = batch_index(shape(a), o, nb), ib = batch_index(shape(b), o, nb);
    if (ra > 1) ia = push(ia, o.v[nb]);
    ia = push(ia, r);
    bool told = x_is_true(le(kb, k)) || plain_size(k) || plain_size(kb); /* by the check, to the kernel */
    ib = push(ib, told ? r : within(r, kb));
    if (rb > 1) ib = push(ib, o.v[nb + m]);
    E va = at(a, ia), vb = at(b, ib);
    if (fa) va = fa(va, ia);
    if (fb) vb = fb(vb, ib);
    T y = reduce("acc", accumulate, o, RED_SUM, list1(r), mul(va, vb), NULL);
    E v = at(y, o);
    out(0, result_type, o, done ? done(v, o) : v);
}
static void op_matmul(void) {
    T x = in(0);
    if (fail_if(dtype(x) != dtype(in(1)), E_TYPE, "the operands have different element types, %s and %s",
                dtype_name(dtype(x)), dtype_name(dtype(in(1)))))
        return;
    matmul(x, in(1), acc(x), dtype(x), NULL, NULL, NULL);
}
/* com.microsoft.FusedMatMul: transposed operands and a factor; FusedMatMulActivation: and a function of the result. */
static E activated(E v) { /* as attributes say, if any does */
    const char *act = has_attr("activation") ? str_attr("activation") : "";
    double alpha, beta;
    if (!*act) return v;
    activation_defaults(act, &alpha, &beta);
    if (has_attr("activation_alpha")) alpha = float_attr("activation_alpha");
    if (has_attr("activation_beta")) beta = float_attr("activation_beta");
    return activation(act, v, alpha, beta);
}
static E fused_result(E v, X o) { return (void)o, activated(mul(v, num(float_attr("alpha")))); }
/* An operand whose axes are read in another order: axis k is the tensor's axis from[k]. */
struct turned {
    T t;
    X dims;
    int from[32];
};
static struct turned turned(T t, bool last_two, bool batch) {
    struct turned v = {t, list0(), {0}};
    int r = rank(t);
    for (int k = 0; k < r; k++) v.from[k] = k;
    if (batch && r > 2) { /* the first axis stands behind those of the batch */
        for (int k = 0; k < r - 2; k++) v.from[k] = k + 1;
        v.from[r - 2] = 0;
    }
    if (last_two && r > 1) {
        int last = v.from[r - 1];
        v.from[r - 1] = v.from[r - 2], v.from[r - 2] = last;
    }
    for (int k = 0; k < r; k++) v.dims = push(v.dims, dim(t, v.from[k]));
    return v;
}
static E at_turned(const struct turned *v, X i) {
    X at_t = i;
    for (int k = 0; k < i.n; k++) at_t.v[v->from[k]] = i.v[k];
    return at(v->t, at_t);
}
static void op_fusedmatmul(void) {
    T a = in(0), b = in(1);
    if (rank(a) < 2 || rank(b) < 2) { /* vectors are not transposed */
        matmul(a, b, acc(a), dtype(a), NULL, NULL, fused_result);
        return;
    }
    struct turned va = turned(a, int_attr("transA"), int_attr("transBatchA")),
                  vb = turned(b, int_attr("transB"), int_attr("transBatchB"));
    int ra = rank(a), rb = rank(b);
    require(eq(va.dims.v[ra - 1], vb.dims.v[rb - 2]), "inner dimensions differ");
    X batch, o = axes(matmul_axes(va.dims, vb.dims, &batch));
    E r = raxis(va.dims.v[ra - 1], "k"), om = o.v[batch.n], on = o.v[batch.n + 1];
    X ia = push(push(batch_index(va.dims, o, batch.n), om), r),
      ib = push(push(batch_index(vb.dims, o, batch.n), r), on);
    T y = reduce("acc", acc(a), o, RED_SUM, list1(r), mul(at_turned(&va, ia), at_turned(&vb, ib)), NULL);
    if (y) out(0, dtype(a), o, fused_result(at(y, o), o));
}

/* y = alpha * A' * B' + beta * C, C broadcast one way. */
static E gemm_epilogue(E v, T c, X o) {
    enum dtype t = (enum dtype)v->type;
    double alpha = float_attr("alpha"), beta = float_attr("beta");
    bool whole = t != F32 && t != F64; /* integers: the factors act in f64 */
    if (alpha != 1) v = whole ? cast(t, mul(cast(F64, v), num(alpha))) : mul(v, num(alpha));
    if (!has(c) || beta == 0) return v;
    E w = cast(t, at(c, bcast(c, o)));
    if (beta != 1) w = whole ? cast(t, mul(cast(F64, w), num(beta))) : mul(w, num(beta));
    return add(v, w);
}
/* The sum of A' * B' over k; fa, fb are applied to the loaded factors, given the row or column of the result. */
static T gemm_sum(T a, T b, T c, enum dtype accumulate, E (*fa)(E v, E m), E (*fb)(E v, E n), X *o) {
    bool ta = int_attr("transA"), tb = int_attr("transB");
    if (fail_if(rank(a) != 2 || rank(b) != 2, E_RANK, "Gemm takes matrices; the operands have rank %d and %d", rank(a),
                rank(b)))
        return NULL;
    if (fail_if(has(c) && rank(c) > 2, E_RANK, "the third operand of Gemm has rank %d, more than 2", rank(c)))
        return NULL;
    E m = dim(a, ta), k = dim(a, !ta), n = dim(b, !tb);
    require(eq(k, dim(b, tb)), "inner dimensions of Gemm differ");
    *o = axes_named(list2(m, n), "m n");
    for (int d = 0; has(c) && d < rank(c); d++) {
        E have = dim(c, d), at_d = o->v[d + 2 - rank(c)], want = at_d->op == X_VAR ? at_d->u.var->extent : have;
        require(or_(eq(have, want), eq(have, idx(1))), "the third operand of Gemm does not broadcast to the result");
    }
    E r = raxis(k, "k");
    E va = at(a, ta ? list2(r, o->v[0]) : list2(o->v[0], r)), vb = at(b, tb ? list2(o->v[1], r) : list2(r, o->v[1]));
    if (fa) va = fa(va, o->v[0]);
    if (fb) vb = fb(vb, o->v[1]);
    return reduce("acc", accumulate, *o, RED_SUM, list1(r), mul(va, vb), NULL);
}
static void gemm(bool fused) {
    T a = in(0), c = in(2);
    X o;
    T y = gemm_sum(a, in(1), c, acc(a), NULL, NULL, &o);
    if (!y) return;
    E v = gemm_epilogue(at(y, o), c, o);
    out(0, dtype(a), o, fused ? activated(v) : v);
}
static void op_gemm(void) { gemm(false); }
static void op_fusedgemm(void) { gemm(true); }
static bool gemm_weights(const struct node *n, struct op_weights *w) {
    const struct attr *ta = node_attr(n, "transA"), *tb = node_attr(n, "transB"), *alpha = node_attr(n, "alpha"),
                      *beta = node_attr(n, "beta");
    int transposed = tb && tb->u.i;
    *w = (struct op_weights){.out = {!transposed, 1}, .in = {ta && ta->u.i ? -1 : transposed, 1}};
    return !(alpha && alpha->u.f != 1.0f) && !(beta && beta->u.f != 1.0f);
}
/* Columns of the weights. */
static int column_axis(const struct node *n) { return n->ins.v[1]->type.rank == 2 ? 1 : -1; }
static const struct op_in_integers matmul_integers = {
    .scaled_axis = column_axis,
    .quantized = {"", "QLinearMatMul", {Q_X, Q_X_SCALE, Q_X_ZERO, Q_W, Q_W_SCALE, Q_W_ZERO, Q_Y_SCALE, Q_Y_ZERO}},
    .plain = {"com.microsoft", "MatMulIntegerToFloat", {Q_X, Q_W, Q_X_SCALE, Q_W_SCALE, Q_X_ZERO, Q_W_ZERO}},
    .of_two_inputs = true,
    .blocks = {"com.microsoft", "MatMulNBits"}};
static int gemm_column_axis(const struct node *n) { return !node_int(n, "transB"); }
static const struct op_in_integers gemm_integers = {
    .scaled_axis = gemm_column_axis,
    .quantized = {"com.microsoft",
                  "QGemm",
                  {Q_X, Q_X_SCALE, Q_X_ZERO, Q_W, Q_W_SCALE, Q_W_ZERO, Q_BIAS, Q_Y_SCALE, Q_Y_ZERO}},
    .blocks = {"com.microsoft", "MatMulNBits"}};

/* ---- integers: operands less their zero points, products in i32 */
static E zero_point(T z, X i, int axis_from_end) { /* of rows (2) or columns (1): a scalar, or one per row or column */
    if (!has(z)) return idx(0);
    if (rank(z) == 0 || x_is(numel(z), 1)) return scalar(z);
    if (fail_if(axis_from_end > i.n, E_SHAPE, "a zero point or scale for each row needs a tensor that has rows"))
        return idx(0);
    return at(z, bcast(z, rank(z) == 1 ? list1(i.v[i.n - axis_from_end]) : i));
}
static E less_a(E v, X i) { return sub(v, zero_point(in(2), i, 2)); }
static E less_b(E v, X i) { return sub(v, zero_point(in(3), i, 1)); }
/* QLinearMatMul: the sum times a_scale * b_scale / y_scale, rounded, plus the zero point of the result. */
static E less_qb(E v, X i) { return sub(v, zero_point(in(5), i, 1)); }
static E requantized(E v, X o) {
    E a = cast(F32, zero_point(in(1), o, 2)), b = cast(F32, zero_point(in(4), o, 1)),
      y = cast(F32, zero_point(in(6), o, 2));
    return cast(dtype(in(7)), add(rint_(mul(cast(F32, v), div_(mul(a, b), y))), cast(F32, zero_point(in(7), o, 2))));
}
/* com.microsoft.MatMulIntegerToFloat: the sum in the units of the operands, plus a bias for each column. */
static E mf_less_a(E v, X i) { return sub(v, zero_point(in(4), i, 2)); }
static E in_units(E v, X o) {
    T bias = in(6);
    E s = mul(cast(F32, zero_point(in(2), o, 2)), cast(F32, zero_point(in(3), o, 1)));
    v = mul(cast(F32, v), s);
    return has(bias) ? add(v, cast(F32, at(bias, bcast(bias, o)))) : v;
}
static void op_matmulintegertofloat(void) {
    if (has(in(6)) && rank(in(1)) > 0)
        require(eq(numel(in(6)), dim(in(1), rank(in(1)) - 1)), "there is not one bias for each column");
    matmul(in(0), in(1), I32, dtype(in(2)), mf_less_a, less_qb, in_units);
}
static void op_matmulinteger16(void) {
    bool whole = dtype(in(0)) == U16 && dtype(in(1)) == U16;
    matmul(in(0), in(1), whole ? U32 : I32, whole ? U32 : I32, NULL, NULL, NULL);
}
static void op_qlinearmatmul(void) { matmul(in(0), in(3), I32, dtype(in(7)), less_a, less_qb, requantized); }
static void op_matmulinteger(void) { matmul(in(0), in(1), I32, I32, less_a, less_b, NULL); }

/* com.microsoft.QGemm: alpha * (A' * B' + C) in the units of the operands, or requantised where y_zero_point is given
 */
static E qgemm_less_a(E v, E m) { return (void)m, has(in(2)) ? sub(v, scalar(in(2))) : v; }
static E qgemm_less_b(E v, E n) { return has(in(5)) ? sub(v, zero_point(in(5), list1(n), 1)) : v; }
static void op_qgemm(void) {
    T c = in(6), scale = in(7), zero = in(8);
    X o;
    T y = gemm_sum(in(0), in(3), c, I32, qgemm_less_a, qgemm_less_b, &o);
    if (!y) return;
    if (fail_if(has(zero) && !has(scale), E_ARITY, "y_zero_point is given without y_scale")) return;
    E v = at(y, o), s = mul(mul(num(float_attr("alpha")), scalar(in(1))), zero_point(in(4), list1(o.v[1]), 1));
    if (has(c)) v = add(v, at(c, bcast(c, o)));
    if (has(scale)) s = div_(s, scalar(scale));
    v = mul(cast(F32, v), s);
    if (has(zero)) out(0, dtype(zero), o, saturated(dtype(zero), v, scalar(zero)));
    else out(0, F32, o, v);
}

static const struct op_slot s_gemm[] = {{"A", TS_NUM, 0}, {"B", TS_NUM, 0}, {"C", TS_NUM, OPTIONAL}, {0}};
static const struct op_slot s_int[] = {{"A", TSET(I8) | TSET(U8), 0},
                                       {"B", TSET(I8) | TSET(U8), 0},
                                       {"a_zero_point", TSET(I8) | TSET(U8), OPTIONAL},
                                       {"b_zero_point", TSET(I8) | TSET(U8), OPTIONAL},
                                       {0}};
#define Q8  (TSET(I8) | TSET(U8))
#define QSC (TSET(F32) | TSET(F16) | TSET(BF16))
static const struct op_slot s_qlinear[] = {{"a", Q8, 0},        {"a_scale", QSC, 0},     {"a_zero_point", Q8, 0},
                                           {"b", Q8, 0},        {"b_scale", QSC, 0},     {"b_zero_point", Q8, 0},
                                           {"y_scale", QSC, 0}, {"y_zero_point", Q8, 0}, {0}};
static const struct op_slot s_qgemm[] = {{"A", Q8, 0},
                                         {"a_scale", TSET(F32), 0},
                                         {"a_zero_point", Q8, 0},
                                         {"B", Q8, 0},
                                         {"b_scale", TSET(F32), 0},
                                         {"b_zero_point", Q8, 0},
                                         {"C", TSET(I32), OPTIONAL},
                                         {"y_scale", TSET(F32), OPTIONAL},
                                         {"y_zero_point", Q8, OPTIONAL},
                                         {0}};
static const struct op_slot s_mitf[] = {{"A", Q8, 0},
                                        {"B", Q8, 0},
                                        {"a_scale", TSET(F32) | TSET(F16), 0},
                                        {"b_scale", TSET(F32) | TSET(F16), 0},
                                        {"a_zero_point", Q8, OPTIONAL},
                                        {"b_zero_point", Q8, OPTIONAL},
                                        {"bias", TSET(F32) | TSET(F16), OPTIONAL},
                                        {0}};
static const struct op_slot s_mm16[] = {{"A", TSET(I16) | TSET(U16), 0}, {"B", TSET(I16) | TSET(U16), 0}, {0}};
#define GEMM_ATTRS A_FLOAT("alpha", .f = 1), A_FLOAT("beta", .f = 1), A_INT("transA"), A_INT("transB")
static const struct op_attr a_gemm[] = {GEMM_ATTRS, {0}};
static const struct op_attr a_qgemm[] = {A_FLOAT("alpha", .f = 1), A_INT("transA"), A_INT("transB"), {0}};
static const struct op_attr a_fgemm[] = {
    GEMM_ATTRS, A_STRING("activation"), A_FLOAT("activation_alpha"), A_FLOAT("activation_beta"), {0}};
#define FUSED A_FLOAT("alpha", .f = 1), A_INT("transA"), A_INT("transB"), A_INT("transBatchA"), A_INT("transBatchB")
static const struct op_attr a_fmm[] = {FUSED, {0}};
static const struct op_attr a_fmma[] = {
    FUSED, A_STRING("activation", .flags = A_REQUIRED), A_FLOAT("activation_alpha"), A_FLOAT("activation_beta"), {0}};
static void up_gemm(struct node *n) { node_drop_attr(n, "broadcast"); } /* C broadcasts by its shape */
static const struct op_upgrade u_gemm[] = {{6, up_gemm}, {0}};
const struct op ops_matmul[] = {
    {"", "MatMul", 13, 1, attrs_none, slots_ab_num, slots_y, .define = op_matmul, .spec = "MatMul-13",
     .integers = &matmul_integers},
    {"", "Gemm", 13, 1, a_gemm, s_gemm, slots_y, .define = op_gemm, .upgrades = u_gemm, .spec = "Gemm-13",
     .weights = gemm_weights, .integers = &gemm_integers},
    {"", "MatMulInteger", 10, 10, attrs_none, s_int, slots_y, .define = op_matmulinteger, .spec = "MatMulInteger-10"},
    {"", "QLinearMatMul", 21, 10, attrs_none, s_qlinear, slots_y, .define = op_qlinearmatmul,
     .spec = "QLinearMatMul-21; scales are combined in f32, rounding is before the zero point"},
    {"com.microsoft", "FusedMatMul", 1, 1, a_fmm, slots_ab_num, slots_y, .define = op_fusedmatmul,
     .spec = "com.microsoft.FusedMatMul"},
    {"com.microsoft", "TransposeMatMul", 1, 1, a_fmm, slots_ab_num, slots_y, .define = op_fusedmatmul,
     .spec = "com.microsoft.TransposeMatMul, an older name of FusedMatMul"},
    {"com.microsoft", "FusedMatMulActivation", 1, 1, a_fmma, slots_ab_num, slots_y, .define = op_fusedmatmul,
     .spec = "com.microsoft.FusedMatMulActivation, with the activations of recurrent operators"},
    {"com.microsoft", "FusedGemm", 1, 1, a_fgemm, s_gemm, slots_y, .define = op_fusedgemm,
     .spec = "com.microsoft.FusedGemm"},
    {"com.microsoft", "QGemm", 1, 1, a_qgemm, s_qgemm, slots_y, .define = op_qgemm,
     .spec = "com.microsoft.QGemm; alpha, the scales and 1 / y_scale are one factor, combined in f32"},
    {"com.microsoft", "MatMulIntegerToFloat", 1, 1, attrs_none, s_mitf, slots_y, .define = op_matmulintegertofloat,
     .spec = "com.microsoft.MatMulIntegerToFloat; the scales are combined in f32"},
    {"com.microsoft", "MatMulInteger16", 1, 1, attrs_none, s_mm16, slots_y, .define = op_matmulinteger16,
     .spec = "com.microsoft.MatMulInteger16"},
    {0},
};
