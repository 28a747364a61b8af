/* Operators of com.microsoft that ai.onnx does not have: definitions. */
#include "lower/ops/ops.h"
#include <math.h>
#include <string.h>

/* ---- ComplexMul, ComplexMulConj: pairs of numbers along the last axis */
static void complex_product(bool conjugate) {
    T a = in(0), b = in(1);
    int r = rank(a), s = rank(b);
    if (fail_if(r < 1 || s < 1, E_RANK, "complex numbers need a last axis of 2")) return;
    require(eq(dim(a, r - 1), idx(2)), "the last axis of A is not 2");
    require(eq(dim(b, s - 1), idx(2)), "the last axis of B is not 2");
    X i = axes(bcast_shape((const T[]){a, b}, 2)), re = put(i, i.n - 1, idx(0)), im = put(i, i.n - 1, idx(1));
    E ar = at_or(a, bcast(a, re), num(0)), ai = at_or(a, bcast(a, im), num(0)), br = at_or(b, bcast(b, re), num(0)),
      bi = at_or(b, bcast(b, im), num(0));
    E cross = mul(ai, bi), real = conjugate ? add(mul(ar, br), cross) : sub(mul(ar, br), cross);
    E imaginary = conjugate ? sub(mul(ai, br), mul(ar, bi)) : add(mul(ar, bi), mul(ai, br));
    out(0, dtype(a), i, sel(eq(i.v[i.n - 1], idx(0)), real, imaginary));
}
static void op_complexmul(void) { complex_product(false); }
static void op_complexmulconj(void) { complex_product(true); }

/* ---- CDist: the distance of each row of A from each row of B */
static void op_cdist(void) {
    T a = in(0), b = in(1);
    const char *metric = str_attr("metric");
    bool squared = !strcmp(metric, "sqeuclidean");
    if (fail_if(!squared && strcmp(metric, "euclidean"), E_ATTR,
                "metric %s is not supported; euclidean and sqeuclidean are", metric))
        return;
    if (fail_if(rank(a) != 2 || rank(b) != 2, E_RANK, "matrices are needed; the operands have rank %d and %d", rank(a),
                rank(b)))
        return;
    require(eq(dim(a, 1), dim(b, 1)), "the rows of A and B differ in length");
    X o = axes_named(list2(dim(a, 0), dim(b, 0)), "m n");
    E k = raxis(dim(a, 1), "k"), d = sub(at(a, list2(o.v[0], k)), at(b, list2(o.v[1], within(k, dim(b, 1)))));
    T sum = reduce("sum", acc(a), o, RED_SUM, list1(k), mul(d, d), NULL);
    if (sum) out(0, dtype(a), o, squared ? at(sum, o) : sqrt_(at(sum, o)));
}

/* ---- MurmurHash3, the 32-bit form, of the bytes of each number (github.com/aappleby/smhasher) */
static E u32(double v) { return typed(U32, v); }
static E rotated(E v, int by) { return or_(shl_(v, u32(by)), shr_(v, u32(32 - by))); }
static E mixed(E h, E word) {
    word = mul(rotated(mul(word, u32(0xcc9e2d51)), 15), u32(0x1b873593));
    return add(mul(rotated(xor_(h, word), 13), u32(5)), u32(0xe6546b64));
}
static void op_murmurhash(void) {
    T x = in(0);
    X i = axes(shape(x));
    enum dtype t = dtype(x);
    bool wide = t == I64 || t == U64 || t == F64;
    E v = at(x, i), h = u32((double)(uint32_t)int_attr("seed"));
    if (dtype_is_float(t)) v = bitcast_(wide ? U64 : U32, v);
    h = mixed(h, cast(U32, v));
    if (wide) h = mixed(h, cast(U32, shr_(cast(U64, v), typed(U64, 32))));
    h = xor_(h, u32(wide ? 8 : 4));
    h = mul(xor_(h, shr_(h, u32(16))), u32(0x85ebca6b));
    h = mul(xor_(h, shr_(h, u32(13))), u32(0xc2b2ae35));
    h = xor_(h, shr_(h, u32(16)));
    bool positive = int_attr("positive") != 0;
    out(0, positive ? U32 : I32, i, positive ? h : cast(I32, h));
}

/* ---- UnfoldTensor: all slices of a length along an axis, which becomes two */
static void op_unfold(void) {
    T x = in(0);
    int a = axis_attr("dim", x);
    int64_t size = int_attr("size"), step = int_attr("step");
    if (fail_if(rank(x) < 1 || size < 1 || step < 1 || size > INT32_MAX || step > INT32_MAX, E_ATTR,
                "\"size\" and \"step\" must be from 1 to 2^31-1, and the input must have axes"))
        return;
    require(ge(dim(x, a), idx(size)), "the axis is shorter than a slice");
    E n = max_(add(div_(sub(dim(x, a), idx(size)), idx(step)), idx(1)), idx(0));
    X o = axes(push(put(shape(x), a, n), idx(size))), from = sub_list(o, 0, rank(x));
    from.v[a] = within(add(mul(o.v[a], idx(step)), o.v[rank(x)]), dim(x, a));
    out(0, dtype(x), o, at(x, from));
}

/* ---- IsAllFinite of any number of tensors */
static void op_isallfinite(void) {
    bool nan_only = int_attr("isnan_only"), inf_only = int_attr("isinf_only");
    E all = truth(true);
    for (int k = 0; k < n_in(); k++) {
        T x = in(k);
        X r = raxes(shape(x), NULL);
        E v = at(x, r), inf = typed(dtype_value(dtype(x)), (double)INFINITY);
        E bad = nan_only ? is_nan(v) : ge(abs_(v), inf);
        if (!nan_only && !inf_only) bad = or_(bad, is_nan(v));
        T count = reduce("bad", I64, axes(list0()), RED_MAX, r, sel(bad, typed(I64, 1), typed(I64, 0)), typed(I64, 0));
        if (!count) return;
        all = and_(all, eq(at(count, list0()), typed(I64, 0)));
    }
    out(0, BOOL, axes(list0()), all);
}

/* ---- RelativePositionBias: T5's buckets of distances; the table is stored column by column */
static void op_relativebias(void) {
    T table = in(0), nq = in(1), nk = in(2);
    bool both = int_attr("is_bidirectional") != 0;
    int64_t buckets, most = int_attr("max_distance");
    if (fail_if(rank(table) != 2 || !const_int(dim(table, 0), &buckets) || buckets < 4 || buckets > 65536 || most < 2,
                E_SHAPE, "a table of a known number of buckets from 4 on, and a distance from 2 on are needed"))
        return;
    E queries = value(nq, 0, 0, DIM_MAX), keys = value(nk, 0, 0, DIM_MAX), heads = dim(table, 1);
    int64_t half = both ? buckets / 2 : buckets, exact = half / 2;
    X o = axes_named(cat(list2(idx(1), heads), list2(queries, keys)), "b h i j");
    E d = sub(val(o.v[3]), val(o.v[2])), far = both ? abs_(d) : max_(neg(d), typed(I64, 0));
    E log_far = log_(div_(cast(F32, max_(far, typed(I64, 1))), num((double)exact)));
    E step = div_(mul(log_far, num((double)(half - exact))), num(log((double)most / (double)exact)));
    E large = min_(add(typed(I64, (double)exact), cast(I64, step)), typed(I64, (double)(half - 1)));
    E bucket = sel(lt(far, typed(I64, (double)exact)), far, large);
    if (both) bucket = add(bucket, sel(gt(d, typed(I64, 0)), typed(I64, (double)half), typed(I64, 0)));
    E flat = add(mul(o.v[1], idx(buckets)), wrap_index(bucket, idx(buckets)));
    out(0, dtype(table), o, at(table, unflatten_index(within(flat, numel(table)), shape(table))));
}

enum { TF = TS_FLOAT, TN = TSET(I32) | TSET(U32) | TSET(I64) | TSET(U64) | TSET(F32) | TSET(F64) };
static const struct op_slot s_ab[] = {{"A", TF, 0}, {"B", TF, 0}, {0}}, s_hash[] = {{"X", TN, 0}, {0}},
                            s_any[] = {{"input", TS_REAL, 0}, {0}}, s_many[] = {{"input", TF, VARIADIC}, {0}};
static const struct op_slot s_bias[] = {
    {"bias_table", TF, 0}, {"query_length", TSET(I64), 0}, {"key_length", TSET(I64), 0}, {0}};
static const struct op_attr a_cdist[] = {A_STRING("metric", .s = "sqeuclidean"), {0}};
static const struct op_attr a_hash[] = {A_INT("positive", .i = 1), A_INT("seed"), {0}};
static const struct op_attr a_unfold[] = {
    A_INT("dim", .i = -1), A_INT("size", .flags = A_REQUIRED), A_INT("step", .i = 1), {0}};
static const struct op_attr a_finite[] = {A_INT("isinf_only"), A_INT("isnan_only"), {0}};
static const struct op_attr a_bias[] = {A_INT("max_distance", .flags = A_REQUIRED), A_INT("is_bidirectional"), {0}};
#define ROW(name, attrs, slots, fn, note)                                                                              \
    { "com.microsoft", name, 1, 1, attrs, slots, slots_y, .define = fn, .spec = "com.microsoft." name note }
const struct op ops_ms_misc[] = {
    ROW("ComplexMul", attrs_none, s_ab, op_complexmul, ""),
    ROW("ComplexMulConj", attrs_none, s_ab, op_complexmulconj, ""),
    ROW("CDist", a_cdist, s_ab, op_cdist, ", euclidean and sqeuclidean"),
    ROW("MurmurHash3", a_hash, s_hash, op_murmurhash, " of numbers"),
    ROW("UnfoldTensor", a_unfold, s_any, op_unfold, ""),
    ROW("IsAllFinite", a_finite, s_many, op_isallfinite, ""),
    ROW("RelativePositionBias", a_bias, s_bias, op_relativebias, "; the table is read column by column"),
    {0},
};
