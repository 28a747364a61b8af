/* Ops that change or read shapes: Reshape and its relatives, Transpose, Expand, Tile, Shape, Size, and tensors made
 * from shapes (ConstantOfShape, Range, EyeLike). Most are views: the same elements under another index. */
#include "lower/ops/ops.h"
#include <math.h>

/* ---- Reshape. Entries: 0 copies the input's dim (unless allowzero), -1 is inferred. An entry that is an expression
 * over symbols is a size: it means neither copy nor infer. */
static X reshape_known(T x, T s, int n, bool allowzero) {
    X d = list0();
    int open = -1;
    for (int k = 0; k < n; k++) {
        E v = value(s, k, -1, DIM_MAX);
        int64_t c;
        bool fixed = const_int(v, &c);
        if (fixed && c == -1) {
            if (open >= 0) fail(E_SHAPE, "the shape has more than one -1");
            open = k;
            v = idx(1);
        } else if (fixed && c == 0 && !allowzero) {
            if (k >= rank(x)) fail(E_SHAPE, "entry %d of the shape is 0, but the input has rank %d", k, rank(x));
            v = dim(x, k < rank(x) ? k : 0);
        } else require(ge(v, idx(0)), "entry %d of the shape is negative", k);
        d = push(d, v);
    }
    if (open < 0) {
        require(eq(product(d), numel(x)), "the number of elements changes");
        return d;
    }
    /* Cancels dims that both have first: a product of sums would not be recognised as a multiple of a sum. */
    X own = shape(x), given = drop(d, open);
    for (int k = given.n - 1; k >= 0; k--)
        for (int j = 0; j < own.n; j++)
            if (own.v[j] == given.v[k] && !x_is(own.v[j], 0)) {
                own = drop(own, j), given = drop(given, k);
                break;
            }
    E total = product(own), others = product(given), q = x_is(others, 0) ? idx(0) : div_(total, others);
    require(eq(mul(q, others), total), "the number of elements is no multiple of the other dimensions");
    if (!x_is_true(eq(mul(q, others), total))) /* also check the total, so that the result is recognised as a view */
        require(eq(mul(q, product(drop(d, open))), numel(x)), "the number of elements changes");
    return put(d, open, q);
}
static X reshape_runtime(T x, T s, int n, bool allowzero) {
    X i = axes(list1(idx(n))), j = axes(list1(idx(n))), d = list0();
    E v = cast(I64, at(s, i)), own = val(idx(0)), r = raxis(idx(n), "k");
    for (int k = 0; k < rank(x) && k < n; k++) own = sel(eq(i.v[0], idx(k)), val(dim(x, k)), own);
    T given = stage("given", I64, i, allowzero ? v : sel(eq(v, num(0)), own, v));
    if (!given) return d;
    E g = at(given, list1(r));
    T others = reduce("others", I64, list0(), RED_PROD, list1(r), sel(lt(g, num(0)), num(1), g), NULL);
    T dims = stage("dims", I64, j,
                   sel(lt(at(given, j), num(0)), div_(val(numel(x)), max_(at(others, list0()), num(1))), at(given, j)));
    for (int k = 0; k < n; k++) d = push(d, size_from(NULL, dims, k, idx(0), idx(DIM_MAX)));
    require(eq(product(d), numel(x)), "the number of elements changes");
    return d;
}
static void op_reshape(void) {
    T x = in(0), s = in(1);
    int n = count_by_rank(s, 0, 1);
    bool allowzero = int_attr("allowzero");
    if (n < 0) return;
    X d = values_known(s) ? reshape_known(x, s, n, allowzero) : reshape_runtime(x, s, n, allowzero);
    out_reshaped(0, x, d);
}
static void up_reshape(struct node *n) { up_attr_to_input(n, "shape", 1); }
static const struct op_upgrade u_reshape[] = {{4, up_reshape}, {0}};

static void op_flatten(void) {
    T x = in(0);
    int r = rank(x);
    int64_t a = int_attr("axis");
    if (fail_if(a < -r || a > r, E_ATTR, "axis %lld is outside the rank %d", (long long)a, r)) return;
    int k = (int)(a < 0 ? a + r : a);
    out_reshaped(0, x, list2(product(sub_list(shape(x), 0, k)), product(sub_list(shape(x), k, r))));
}
static void op_squeeze(void) {
    T x = in(0);
    E mask[32];
    bool known;
    int r = rank(x), count = has(in(1)) ? count_by_rank(in(1), r, -1) : 0;
    if (count < 0) return;
    int n = axes_mask(in(1), r, AXES_NONE, mask, &known);
    if (n < 0) return;
    if (has(in(1)) && open_length(in(1))) n = count;
    if (!has(in(1)))
        for (int k = 0; k < r; k++) { /* all axes of 1, which must be known */
            if (x_is(dim(x, k), 1)) mask[k] = truth(true), n++;
            else
                require(ne(dim(x, k), idx(1)),
                        "axis %d is 1 in this run, which changes the rank: compile with that size (--dim)", k);
        }
    for (int k = 0; k < r; k++)
        require(or_(not_(mask[k]), eq(dim(x, k), idx(1))), "axis %d is squeezed, but its size is not 1", k);
    out_reshaped(0, x, kept_dims(shape(x), mask, r - n));
}
static void op_unsqueeze(void) {
    T x = in(0);
    E mask[32], before = idx(0);
    bool known;
    int add_n = count_by_rank(in(1), rank(x), 1), r = rank(x) + add_n;
    if (add_n < 0) return;
    if (fail_if(r > 32, E_LIMIT, "a tensor of more than 32 dimensions")) return;
    axes_mask(in(1), r, AXES_NONE, mask, &known);
    X d = list0();
    for (int k = 0; k < r; k++) { /* 1, or the next dim of x */
        E own = idx(1);
        for (int p = 0; p < rank(x); p++) own = sel(eq(before, idx(p)), dim(x, p), own);
        d = push(d, sel(mask[k], idx(1), own));
        before = add(before, sel(mask[k], idx(0), idx(1)));
    }
    out_reshaped(0, x, d);
}
static void up_axes(struct node *n) { up_attr_to_input(n, "axes", 1); }
static const struct op_upgrade u_axes[] = {{12, up_axes}, {0}};

static bool transpose_permutes(const struct node *n, int *perm) {
    const struct attr *a = node_attr(n, "perm");
    int rank = n->outs.v[0]->type.rank;
    if (rank < 0 || (a && a->n && a->n != rank)) return false;
    for (int k = 0; k < rank; k++) {
        int64_t p = a && a->n ? a->u.is[k] : rank - 1 - k;
        perm[k] = (int)(p < 0 ? p + rank : p);
    }
    return true;
}
static void op_transpose(void) {
    T x = in(0);
    const int64_t *perm;
    int n = ints_attr("perm", &perm), r = rank(x);
    if (fail_if(n && n != r, E_ATTR, "attribute \"perm\" has %d elements for rank %d", n, r)) return;
    X d = list0(), from = zeros(r);
    unsigned seen = 0;
    int p[32];
    for (int k = 0; k < r; k++) {
        p[k] = n ? norm_axis(perm[k], r) : r - 1 - k;
        if (fail_if(seen >> p[k] & 1, E_ATTR, "attribute \"perm\" names axis %d twice", p[k])) return;
        seen |= 1u << p[k];
        d = push(d, dim(x, p[k]));
    }
    X i = axes(d);
    for (int k = 0; k < r; k++) from.v[p[k]] = i.v[k];
    out(0, dtype(x), i, at(x, from));
}

/* ---- Expand, Tile */
/* An element of a vector of sizes; 1 outside of it. */
static E size_at(T s, E place) {
    T one = stage("size", I64, list0(), cast(I64, at_or(s, list1(place), num(1))));
    return size_from(NULL, one, 0, idx(0), idx(DIM_MAX));
}
static void op_expand(void) {
    T x = in(0), s = in(1);
    int r = rank(x), said = open_length(s) ? rank_said() : -1;
    bool shorter = said == r; /* then s may be shorter than that, and what it lacks in front is 1 */
    if (fail_if(said >= 0 && said < r, E_RANK, "the result cannot have the rank %d that is said of it", said)) return;
    int n = shorter ? r : count_by_rank(s, 0, 1);
    if (n < 0) return;
    X d = list0();
    int full = n > r ? n : r;
    if (shorter) require(le(dim(s, 0), idx(r)), "the result has the rank %d in what was compiled", r);
    for (int k = 0; k < full; k++) {
        E have = k < full - r ? idx(1) : dim(x, k - (full - r)), want = shorter ? size_at(s, add(dim(s, 0), idx(k - r)))
                                                                        : k < full - n
                                                                            ? idx(1)
                                                                            : value(s, k - (full - n), 0, DIM_MAX);
        int64_t h;
        E fits = or_(eq(want, idx(1)), or_(eq(have, idx(1)), eq(have, want)));
        require(fits, "axis %d, of size %s, cannot be expanded to %s", k, size_text(have), size_text(want));
        if (x_is(want, 1) || have == want) d = push(d, have);
        else if (x_is(have, 1)) d = push(d, want);
        else if (const_int(have, &h)) d = push(d, have); /* want is 1 or equal */
        else d = push(d, sel(eq(want, idx(1)), have, sel(eq(have, idx(1)), want, have)));
    }
    X i = axes(d);
    out(0, dtype(x), i, at(x, bcast(x, i)));
}
static void op_tile(void) {
    T x = in(0), s = in(1);
    int n = rank(x);
    if (!has_length(s, n, "repeats of Tile")) return;
    X d = list0(), from = list0();
    for (int k = 0; k < n; k++) {
        E times = value(s, k, 0, DIM_MAX);
        require(ge(times, idx(0)), "repeat %d is negative", k);
        d = push(d, mul(dim(x, k), max_(times, idx(0))));
    }
    X i = axes(d);
    for (int k = 0; k < n; k++)
        from = push(from, d.v[k] == dim(x, k)  ? i.v[k]
                          : x_is(dim(x, k), 1) ? idx(0)
                                               : wrap_index(mod_(i.v[k], dim(x, k)), dim(x, k)));
    out(0, dtype(x), i, at(x, from));
}

/* ---- shapes as values */
static void op_shape(void) {
    T x = in(0);
    int r = rank(x);
    int64_t a = int_attr("start"), b = has_attr("end") ? int_attr("end") : r;
    a = a < 0 ? a + r : a, b = b < 0 ? b + r : b;
    a = a < 0 ? 0 : a > r ? r : a, b = b < a ? a : b > r ? r : b;
    X i = axes(list1(idx(b - a)));
    E v = val(idx(0));
    for (int64_t k = b; k-- > a;)
        v = k == b - 1 ? val(dim(x, (int)k)) : sel(eq(i.v[0], idx(k - a)), val(dim(x, (int)k)), v);
    out(0, I64, i, v);
}
static void op_size(void) { out(0, I64, list0(), val(numel(in(0)))); }

/* One element of a constant as a value expression. */
static E element(const struct tensor *t, int64_t k) {
    enum dtype v = dtype_value(t->type);
    if (v == I64) return val(idx(tensor_i(t, k)));
    if (v == U64) return cast(U64, val(idx(tensor_i(t, k))));
    return typed(v, v == F32 || v == F64 ? tensor_f(t, k) : (double)tensor_i(t, k));
}
static void op_constantofshape(void) {
    T s = in(0);
    const struct tensor *v = tensor_attr("value");
    int n = count_by_rank(s, 0, 1);
    if (n < 0) return;
    if (fail_if(v && tensor_count(v) != 1, E_ATTR, "attribute \"value\" must have one element")) return;
    X d = list0();
    for (int k = 0; k < n; k++) {
        E e = value(s, k, 0, DIM_MAX);
        require(ge(e, idx(0)), "entry %d of the shape is negative", k);
        d = push(d, max_(e, idx(0)));
    }
    out(0, v ? v->type : F32, axes(d), v ? element(v, 0) : typed(F32, 0));
}
/* Constant becomes a constant value of the graph. */
static struct tensor *vector(enum dtype t, int n, bool is_scalar) {
    return n_tensor(t, (int64_t[]){n}, is_scalar ? 0 : 1);
}
static void op_constant(void) {
    const int64_t *is;
    const float *fs;
    int n;
    const struct tensor *given = tensor_attr("value");
    struct tensor *t = NULL;
    if (given) {
        gout(0, n_const(given));
        return;
    }
    if (has_attr("value_int")) tensor_set_i(t = vector(I64, 1, true), 0, int_attr("value_int"));
    else if (has_attr("value_float")) tensor_set_f(t = vector(F32, 1, true), 0, float_attr("value_float"));
    else if (has_attr("value_ints")) {
        n = ints_attr("value_ints", &is);
        t = vector(I64, n, false);
        for (int k = 0; k < n; k++) tensor_set_i(t, k, is[k]);
    } else if (has_attr("value_floats")) {
        n = floats_attr("value_floats", &fs);
        t = vector(F32, n, false);
        for (int k = 0; k < n; k++) tensor_set_f(t, k, (double)fs[k]);
    }
    if (t) gout(0, n_const(t));
    else fail(E_ATTR, "Constant has no value of a supported kind");
}

/* ---- Range: ceil((limit - start) / delta) elements, never fewer than 0 */
static void op_range(void) {
    T a = in(0), b = in(1), d = in(2);
    double start, limit, delta;
    enum dtype t = dtype(a), v = dtype_value(t);
    bool whole = dtype_is_int(t);
    E n = NULL;
    if (fail_if(const_value(d, 0, &delta) && delta == 0, E_ATTR, "the step of Range is 0")) return;
    if (const_value(a, 0, &start) && const_value(b, 0, &limit) && const_value(d, 0, &delta)) {
        double count = ceil((limit - start) / delta);
        if (fail_if(count > DIM_MAX, E_SIZE, "Range has too many elements")) return;
        n = idx(count > 0 ? (int64_t)count : 0);
    } else if (whole && const_value(d, 0, &delta) && values_known(a) && values_known(b)) {
        E span = sub(value(b, 0, 0, 0), value(a, 0, 0, 0));
        int64_t step = (int64_t)delta;
        n = max_(ceil_div(step > 0 ? span : neg(span), idx(step > 0 ? step : -step)), idx(0));
    } else {
        E from = at(a, zeros(rank(a))), to = at(b, zeros(rank(b))), by = at(d, zeros(rank(d))), count;
        if (whole) { /* truncating division, rounded away from 0 */
            E s = cast(I64, from), e = cast(I64, to), k = cast(I64, by), span = sub(e, s);
            count = add(div_(span, k), sel(ne(mod_(span, k), num(0)), typed(I64, 1), typed(I64, 0)));
            count = sel(ne(lt(span, num(0)), lt(k, num(0))), typed(I64, 0), count);
        } else count = cast(I64, ceil_(div_(sub(cast(F64, to), cast(F64, from)), cast(F64, by))));
        n = size_from("range", stage("count", I64, list0(), max_(count, num(0))), 0, idx(0), idx(DIM_MAX));
    }
    X i = axes(list1(n));
    out(0, t, i, add(scalar(a), mul(cast(v, val(i.v[0])), scalar(d))));
}
static void op_eyelike(void) {
    T x = in(0);
    enum dtype t = type_attr("dtype");
    if (fail_if(rank(x) != 2, E_RANK, "EyeLike takes a matrix; the input has rank %d", rank(x))) return;
    if (t == NONE) t = dtype(x);
    if (fail_if(t == STR, E_TYPE, "EyeLike cannot make strings")) return;
    X i = axes(shape(x));
    out(0, t, i, sel(eq(i.v[1], add(i.v[0], idx(int_attr("k")))), typed(dtype_value(t), 1), typed(dtype_value(t), 0)));
}
static void op_trilu(void) {
    T x = in(0);
    int r = rank(x);
    if (fail_if(r < 2, E_RANK, "Trilu takes matrices; the input has rank %d", r)) return;
    X i = axes(shape(x));
    E k = has(in(1)) ? bounded_value(in(1), 0) : idx(0), diagonal = add(i.v[r - 2], k);
    out(0, dtype(x), i,
        sel(int_attr("upper") ? ge(i.v[r - 1], diagonal) : le(i.v[r - 1], diagonal), at(x, i),
            typed(dtype_value(dtype(x)), 0)));
}

static const struct op_slot s_reshape[] = {{"data", TS_ANY, 0}, {"shape", TS_INDEX, 0}, {0}},
                            s_squeeze[] = {{"data", TS_ANY, 0}, {"axes", TS_INDEX, OPTIONAL}, {0}};
static const struct op_slot s_shape[] = {{"input", TS_INDEX, 0}, {0}}, s_none[] = {{0}},
                            s_trilu[] = {{"input", TS_REAL, 0}, {"k", TSET(I64), OPTIONAL}, {0}};
static const struct op_slot s_range[] = {{"start", TS_NUM, 0}, {"limit", TS_NUM, 0}, {"delta", TS_NUM, 0}, {0}};
static const struct op_attr a_reshape[] = {A_INT("allowzero", .since = 14), {0}},
                            a_flatten[] = {A_INT("axis", .i = 1), {0}};
static const struct op_attr a_perm[] = {A_INTS("perm"), {0}},
                            a_shape[] = {A_INT("start", .since = 15), A_INT("end", .since = 15), {0}};
static const struct op_attr a_value[] = {A_TENSOR("value"), {0}}, a_trilu[] = {A_INT("upper", .i = 1), {0}};
static const struct op_attr a_constant[] = {A_TENSOR("value"),    A_INT("value_int"),       A_FLOAT("value_float"),
                                            A_INTS("value_ints"), A_FLOATS("value_floats"), {0}};
static const struct op_attr a_eye[] = {A_INT("dtype"), A_INT("k"), {0}};
const struct op ops_shape[] = {
    {"", "Reshape", 25, 1, a_reshape, s_reshape, slots_y, .define = op_reshape, .upgrades = u_reshape,
     .spec = "Reshape-25; symbolic entries are sizes, not 0-for-copy or -1", .flags = OP_PICKS | OP_VIEW},
    {"", "Flatten", 25, 1, a_flatten, slots_x, slots_y, .define = op_flatten, .spec = "Flatten-25",
     .flags = OP_PICKS | OP_VIEW},
    {"", "Squeeze", 25, 1, attrs_none, s_squeeze, slots_y, .define = op_squeeze, .upgrades = u_axes,
     .spec = "Squeeze-25; without axes, dims of 1 must be known", .flags = OP_PICKS | OP_VIEW},
    {"", "Unsqueeze", 25, 1, attrs_none, s_squeeze, slots_y, .define = op_unsqueeze, .upgrades = u_axes,
     .spec = "Unsqueeze-25", .flags = OP_PICKS | OP_VIEW},
    {"", "Transpose", 25, 1, a_perm, slots_x, slots_y, .define = op_transpose, .spec = "Transpose-25",
     .flags = OP_PICKS, .permutes = transpose_permutes},
    {"", "Expand", 13, 8, attrs_none, s_reshape, slots_y, .define = op_expand, .spec = "Expand-13", .flags = OP_PICKS,
     .axes = {AXES_SIZES, .sizes = 1u << 1}},
    {"", "Tile", 13, 6, attrs_none, s_reshape, slots_y, .define = op_tile, .spec = "Tile-13", .flags = OP_PICKS,
     .axes = {AXES_SIZES, .sizes = 1u << 1}},
    {"", "Shape", 25, 1, a_shape, slots_x, slots_y, .define = op_shape, .spec = "Shape-25"},
    {"", "Size", 25, 1, attrs_none, slots_x, slots_y, .define = op_size, .spec = "Size-25"},
    {"", "Constant", 25, 1, a_constant, s_none, slots_y, .expand = op_constant,
     .spec = "Constant-25; sparse and string values are import's work"},
    {"", "ConstantOfShape", 25, 9, a_value, s_shape, slots_y, .define = op_constantofshape,
     .spec = "ConstantOfShape-25", .flags = OP_WEIGHTS},
    {"", "Range", 11, 11, attrs_none, s_range, slots_y, .define = op_range, .spec = "Range-11"},
    {"", "EyeLike", 22, 9, a_eye, slots_real, slots_y, .define = op_eyelike, .spec = "EyeLike-22"},
    {"", "Trilu", 14, 14, a_trilu, s_trilu, slots_y, .define = op_trilu, .spec = "Trilu-14, not of complex numbers"},
    {0},
};
