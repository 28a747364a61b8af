/* Elementwise ops: arithmetic, comparison, logic, mathematical functions, casts. Activations stand in activation.c.
 * Every definition maps elements under numpy broadcasting; results take the storage rounding of their type. */
#include "lower/ops/ops.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- one operand */
static void map1(E (*f)(E v)) {
    T x = in(0);
    X i = axes(shape(x));
    out(0, dtype(x), i, f(at(x, i)));
}
static E f_sign(E v) { return sel(gt(v, num(0)), num(1), sel(lt(v, num(0)), num(-1), v)); } /* NaN and zeros stay */
static E f_reciprocal(E v) { return div_(num(1), v); }
static E f_named(E v) { return fn1(def_node()->op->as, v); }
static void op_named(void) { map1(f_named); }
static void op_abs(void) { map1(abs_); }
static void op_neg(void) { map1(neg); }
static void op_sign(void) { map1(f_sign); }
static void op_ceil(void) { map1(ceil_); }
static void op_floor(void) { map1(floor_); }
static void op_round(void) { map1(rint_); }
static void op_sqrt(void) { map1(sqrt_); }
static void op_reciprocal(void) { map1(f_reciprocal); }
static void op_identity(void) { gout(0, gin(0)); }
static void op_not(void) { map1(not_); }
static void op_isnan(void) {
    T x = in(0);
    X i = axes(shape(x));
    out(0, BOOL, i, is_nan(at(x, i)));
}
static void op_isinf(void) {
    T x = in(0);
    X i = axes(shape(x));
    E v = at(x, i), inf = greatest(dtype_value(dtype(x)));
    E up = int_attr("detect_positive") ? eq(v, inf) : eq(num(0), num(1));
    E down = int_attr("detect_negative") ? eq(v, neg(inf)) : eq(num(0), num(1));
    out(0, BOOL, i, or_(up, down));
}

/* ---- two operands */
static void map2(E (*f)(E a, E b), enum dtype t) {
    T a = in(0), b = in(1);
    if (fail_if(dtype(a) != dtype(b), E_TYPE, "the operands have different element types, %s and %s",
                dtype_name(dtype(a)), dtype_name(dtype(b))))
        return;
    X i = axes(bcast_shape((T[]){a, b}, 2));
    out(0, t == NONE ? dtype(a) : t, i, f(at(a, bcast(a, i)), at(b, bcast(b, i))));
}
static E f_mod(E a, E b) { /* sign of the divisor, as in Python; of a zero too */
    E r = mod_(a, b), up = lt(r, num(0)), down = gt(r, num(0)), below = lt(b, num(0));
    E other = or_(and_(up, not_(below)), and_(down, below));
    bool floats = r->type == F32 || r->type == F64;
    E zero = floats ? sel(eq(r, num(0)), sel(below, typed(r->type, -0.0), typed(r->type, 0)), r) : r;
    return sel(other, add(r, b), zero);
}
static E f_prelu(E x, E slope) { return sel(lt(x, num(0)), mul(slope, x), x); }
static void op_add(void) { map2(add, NONE); }
static void op_sub(void) { map2(sub, NONE); }
static void op_mul(void) { map2(mul, NONE); }
static void op_div(void) { map2(div_, NONE); }
static void op_mod(void) { map2(int_attr("fmod") ? mod_ : f_mod, NONE); }
/* Before opset 7 the slopes were one for each channel, axis 1. */
static void op_prelu(void) {
    T x = in(0), slope = in(1);
    if (!int_attr("channels") || rank(slope) != 1 || rank(x) < 2 || x_is(dim(slope, 0), 1)) {
        map2(f_prelu, NONE);
        return;
    }
    X i = axes(shape(x));
    require(eq(dim(slope, 0), dim(x, 1)), "there is not one slope for each channel");
    out(0, dtype(x), i, f_prelu(at(x, i), at(slope, list1(wrap_index(i.v[1], dim(slope, 0))))));
}
static void up_prelu(struct node *n) { up_default_int(n, "channels", 1); }
static const struct op_upgrade u_prelu[] = {{6, up_prelu}, {0}};
static const char *std_prelu(struct node *n) {
    struct value *x = n->ins.v[0], *slope = n->ins.v[1];
    int64_t axes[32], one;
    int rank = x->type.rank, count = 0;
    if (!node_int(n, "channels")) return NULL;
    if (rank < 0 || slope->type.rank < 0) return "the ranks of its operands are not known yet";
    node_drop_attr(n, "channels");
    if (slope->type.rank != 1 || (x_is_int(slope->type.dims[0], &one) && one == 1)) return NULL;
    for (int k = 2; k < rank; k++) axes[count++] = k - 1;
    if (count)
        node_set_input(n, 1, std_node(n, n, "Unsqueeze", (struct value *[]){slope, up_const_i64(n, axes, count)}, 2));
    return NULL;
}
static const struct op_attr a_prelu[] = {A_INT("channels", .flags = A_OURS), {0}};
static void op_and(void) { map2(and_, BOOL); }
static void op_or(void) { map2(or_, BOOL); }
static void op_xor(void) { map2(ne, BOOL); }
static void op_bitand(void) { map2(and_, NONE); }
static void op_bitor(void) { map2(or_, NONE); }
static void op_bitxor(void) { map2(xor_, NONE); }
static void op_equal(void) { map2(eq, BOOL); }
static void op_less(void) { map2(lt, BOOL); }
static void op_greater(void) { map2(gt, BOOL); }
static void op_lesseq(void) { map2(le, BOOL); }
static void op_greatereq(void) { map2(ge, BOOL); }
/* A shift by the width or more (including negative ones) gives 0, or for negative numbers to the right the sign. */
static E far_shift(E by, E near, E far) {
    int bits = dtype_bits(dtype(in(0)));
    E outside = ge(by, num(bits));
    if (dtype_is_signed(dtype(in(0)))) outside = or_(outside, lt(by, num(0)));
    return sel(outside, far, near);
}
static E f_left(E a, E by) { return far_shift(by, shl_(a, by), typed((enum dtype)a->type, 0)); }
static E f_right(E a, E by) {
    E sign = typed((enum dtype)a->type, -1), zero = typed((enum dtype)a->type, 0);
    return far_shift(by, shr_(a, by), dtype_is_signed(dtype(in(0))) ? sel(lt(a, zero), sign, zero) : zero);
}
static void op_bitshift(void) {
    const char *d = str_attr("direction");
    if (!strcmp(d, "LEFT")) map2(f_left, NONE);
    else if (!strcmp(d, "RIGHT")) map2(f_right, NONE);
    else fail(E_ATTR, "attribute \"direction\" must be LEFT or RIGHT");
}
/* All cells are equal. Large tables of exponents are not examined. */
static bool is_uniform(T t, double *v) {
    enum { MOST = 1 << 16 };
    int64_t n;
    double other;
    if (!x_is_int(numel(t), &n) || n < 1 || n > MOST || !const_value(t, 0, v)) return false;
    for (int64_t k = 1; k < n; k++)
        if (!const_value(t, k, &other) || other != *v) return false;
    return true;
}
/* Exponents with a short formula that is at least as precise as pow (docs/numbers.md); all others use pow. */
static E power(E x, T y, X j) {
    double k;
    bool flt = x->type == F32 || x->type == F64, uniform = is_uniform(y, &k);
    if (uniform && k == 1) return x;
    if (uniform && k == 2) return mul(x, x);
    if (uniform && k == 0) return typed((enum dtype)x->type, 1);
    if (uniform && flt && k == 3) return mul(mul(x, x), x);
    if (uniform && flt && k == -1) return div_(num(1), x);
    if (uniform && flt && k == 0.5)
        return sel(eq(x, neg(greatest((enum dtype)x->type))), greatest((enum dtype)x->type), add(sqrt_(x), num(0)));
    E e = uniform ? typed(dtype_value(dtype(y)), k) : at(y, bcast(y, j));
    if (flt && e->type == x->type) return fn2("pow", x, e);
    if (x->type == F32 && (e->type == I32 || uniform)) return fn2("pow", x, cast(F32, e));
    E r = fn2("pow", cast(F64, x), cast(F64, e)); /* integers: exact while they fit into f64 */
    return flt ? r : rint_(r);
}
static void op_pow(void) {
    T x = in(0), y = in(1);
    X i = axes(bcast_shape((T[]){x, y}, 2));
    out(0, dtype(x), i, cast(dtype(x), power(at(x, bcast(x, i)), y, i)));
}

/* ---- any number of operands */
enum { OPERANDS_MAX = 256 };
static void fold(E (*f)(E a, E b), bool mean) {
    T t[OPERANDS_MAX];
    int n = n_in();
    if (fail_if(n > OPERANDS_MAX, E_LIMIT, "more than %d operands", OPERANDS_MAX)) return;
    for (int k = 0; k < n; k++) t[k] = in(k);
    X i = axes(bcast_shape(t, n));
    E v = at(t[0], bcast(t[0], i));
    for (int k = 1; k < n; k++) v = f(v, at(t[k], bcast(t[k], i)));
    out(0, dtype(t[0]), i, mean ? div_(v, num(n)) : v);
}
static void op_max(void) { fold(nmax, false); }
static void op_min(void) { fold(nmin, false); }
static void op_sum(void) { fold(add, false); }
static void op_mean(void) { fold(add, true); }

static void op_where(void) {
    T c = in(0), a = in(1), b = in(2);
    X i = axes(bcast_shape((T[]){c, a, b}, 3));
    out(0, dtype(a), i, sel(at(c, bcast(c, i)), at(a, bcast(a, i)), at(b, bcast(b, i))));
}
/* Clip-6 gives the bounds as attributes; they stay, for their type is that of X, which import does not know. */
static E bound(const char *attr, T given) {
    if (has(given)) return scalar(given);
    return has_attr(attr) ? num(float_attr(attr)) : NULL;
}
static bool known_bound(const struct node *n, int k, const char *attr, double none, double *v) {
    const struct attr *a = node_attr(n, attr);
    const struct value *given = k < n->ins.n ? n->ins.v[k] : NULL;
    *v = a ? (double)a->u.f : none;
    if (!given) return true;
    if (!given->init || tensor_count(given->init) != 1) return false;
    *v = tensor_f(given->init, 0);
    return true;
}
static bool clip_clamps(const struct node *n, double *lo, double *hi) {
    return known_bound(n, 1, "min", -INFINITY, lo) && known_bound(n, 2, "max", INFINITY, hi);
}
static void op_clip(void) {
    T x = in(0);
    X i = axes(shape(x));
    E v = at(x, i), lo = bound("min", in(1)), hi = bound("max", in(2));
    if (lo) v = max_(lo, v); /* in this order a NaN of v stays */
    if (hi) v = min_(hi, v);
    out(0, dtype(x), i, v);
}

/* ---- types */
/* The least magnitude that becomes infinite or NaN when it is rounded to a float8 without saturation. */
static double f8_limit(enum dtype t) {
    return t == F8E4M3FN ? nextafter(464, 465) : t == F8E4M3FNUZ ? 248 : t == F8E5M2 || t == F8E5M2FNUZ ? 61440 : 0;
}
/* Conversions that stores do not do: float8 out of range (stores saturate), NaN to float4 (gives -0), and integers
 * below a byte, which keep their low bits. */
E converted(enum dtype t, E v) {
    bool from_float = v->type == F32 || v->type == F64;
    if (dtype_bits(t) < 8 && dtype_is_int(t)) return cast(t, cast(I32, v));
    if (!from_float) return cast(t, v);
    if (t == F4E2M1) return cast(t, sel(is_nan(v), typed((enum dtype)v->type, -0.0), v));
    double limit = f8_limit(t);
    if (limit == 0) return cast(t, v);
    E top = greatest((enum dtype)v->type);
    if (int_attr("saturate")) return cast(t, t == F8E5M2 ? max_(num(-57344), min_(num(57344), v)) : v);
    E over = t == F8E5M2 ? sel(lt(v, num(0)), neg(top), top) : typed((enum dtype)v->type, NAN);
    return cast(t, sel(ge(abs_(v), num(limit)), over, v));
}
static void cast_to(enum dtype t) {
    T x = in(0);
    X i = axes(shape(x));
    if (t == STR || dtype(x) == STR) {
        if (t != STR) {
            out_number_of_text(t, x);
            return;
        }
        if (dtype(x) != STR) {
            out_number_text(x);
            return;
        }
    }
    E v = at(x, i);
    out(0, t, i, dtype(x) == t ? v : converted(t, v)); /* f64 rounds to the narrow floats through f32 */
}
static void op_cast(void) {
    enum dtype t = type_attr("to");
    if (t != NONE) cast_to(t);
}
static void op_castlike(void) { cast_to(dtype(in(1))); }
static void op_bitcast(void) {
    enum dtype t = type_attr("to");
    T x = in(0);
    X i = axes(shape(x));
    if (t == NONE) return;
    bool narrow = dtype_bits(t) == dtype_bits(dtype(x)) && dtype_bits(t) < 32; /* integers and bool: low bits stay */
    bool ints = (dtype_is_int(t) || t == BOOL) && (dtype_is_int(dtype(x)) || dtype(x) == BOOL);
    if (narrow && ints) {
        out(0, t, i, cast(t, at(x, i)));
        return;
    }
    if (fail_if(dtype_bytes(t) != dtype_bytes(dtype(x)) || dtype_value(t) != t || dtype_value(dtype(x)) != dtype(x),
                E_TYPE, "BitCast from %s to %s is not supported", dtype_name(dtype(x)), dtype_name(t)))
        return;
    out(0, t, i, bitcast_(t, at(x, i)));
}

static const struct op_slot s_bool1[] = {{"X", TSET(BOOL), 0}, {0}};
static const struct op_slot s_bool2[] = {{"A", TSET(BOOL), 0}, {"B", TSET(BOOL), 0}, {0}};
#define TS_EQ (TS_NUM | TSET(BOOL) | TSET(STR))
static const struct op_slot s_eq[] = {{"A", TS_EQ, 0}, {"B", TS_EQ, 0}, {0}}, s_int1[] = {{"X", TS_INT, 0}, {0}};
static const struct op_slot s_int2[] = {{"A", TS_INT, 0}, {"B", TS_INT, 0}, {0}},
                            s_uint2[] = {{"A", TS_INT, 0}, {"B", TS_INT, 0}, {0}};
static const struct op_slot s_nums[] = {{"data", TS_NUM, VARIADIC}, {0}},
                            s_flts[] = {{"data", TS_FLOAT, VARIADIC}, {0}};
static const struct op_slot s_castlike[] = {{"input", TS_REAL, 0}, {"target_type", TS_REAL, 0}, {0}};
static const struct op_slot s_where[] = {{"condition", TSET(BOOL), 0}, {"X", TS_ANY, 0}, {"Y", TS_ANY, 0}, {0}};
static const struct op_slot s_clip[] = {
    {"input", TS_NUM, 0}, {"min", TS_NUM, OPTIONAL}, {"max", TS_NUM, OPTIONAL}, {0}};
static const struct op_attr a_to[] = {A_INT("to", .flags = A_REQUIRED), A_INT("saturate", .i = 1, .since = 19), {0}},
                            a_castlike[] = {A_INT("saturate", .i = 1, .since = 19), {0}},
                            a_fmod[] = {A_INT("fmod"), {0}};
static const struct op_attr a_isinf[] = {A_INT("detect_negative", .i = 1), A_INT("detect_positive", .i = 1), {0}};
static const struct op_attr a_shift[] = {A_STRING("direction", .flags = A_REQUIRED), {0}};
/* Clip-6 always has bounds: its defaults are the greatest finite numbers of f32. */
static void up_clip(struct node *n) {
    const char *names[] = {"min", "max"};
    for (int k = 0; k < 2; k++)
        if (!node_attr(n, names[k]))
            node_set_attr(n, (struct attr){.name = intern(up_ctx(n)->names, names[k]),
                                           .kind = AT_FLOAT,
                                           .u.f = k ? FLT_MAX : -FLT_MAX});
}
static const struct op_upgrade u_clip[] = {{10, up_clip}, {0}};
static const char *std_clip(struct node *n) {
    static const char *const names[] = {"min", "max"};
    struct value *x = n->ins.v[0];
    for (int k = 0; k < 2; k++) {
        const struct attr *a = node_attr(n, names[k]);
        if (!a) continue;
        struct tensor *t = tensor_new(&up_ctx(n)->arena, x->type.dtype ? x->type.dtype : F32, NULL, 0);
        tensor_set_f(t, 0, (double)a->u.f);
        struct value *bound = graph_const(n->in->graph, "", t);
        if (!x->type.dtype) bound = std_node(n, n, "CastLike", (struct value *[]){bound, x}, 2);
        node_set_input(n, k + 1, bound);
        node_drop_attr(n, names[k]);
    }
    return NULL;
}
static const struct op_attr a_clip[] = {A_FLOAT("min", .flags = A_OURS), A_FLOAT("max", .flags = A_OURS), {0}};

/* Before opset 7 the second operand was broadcast by attributes: B's first axis was `axis` of A. Trailing axes of 1
 * express the same in numpy's terms. How many are needed depends on A's rank, so an Unsqueeze adds them if both ranks
 * are known at import. */
static void up_broadcast(struct node *n) {
    const struct attr *b = node_attr(n, "broadcast"), *ax = node_attr(n, "axis");
    if (b && b->u.i && ax && n->ins.n == 2 && n->ins.v[0] && n->ins.v[1]) {
        int ra = n->ins.v[0]->type.rank, rb = n->ins.v[1]->type.rank;
        if (n->ins.v[0]->type.kind != TY_TENSOR || ra < 0 || rb < 0) {
            diag_node(&up_ctx(n)->diags, DIAG_ERROR, E_OPSET, n->origin,
                      "broadcast with an axis (opset 6 and older) needs operands of known rank");
            return;
        }
        int64_t first = ax->u.i < 0 ? ax->u.i + ra : ax->u.i, tail[32];
        int count = 0;
        if (first < 0 || first > ra) {
            diag_node(&up_ctx(n)->diags, DIAG_ERROR, E_ATTR, n->origin, "axis %lld is outside the rank %d",
                      (long long)ax->u.i, ra);
            return;
        }
        for (int64_t k = first + rb; k < ra && count < 32; k++) tail[count++] = k - first;
        if (count) {
            struct node *u = node_new(n->in, n, "", "Unsqueeze",
                                      (struct value *[]){n->ins.v[1], up_const_i64(n, tail, count)}, 2, 1);
            u->op = op_find("", "Unsqueeze"), u->version = OPSET_NEWEST, u->origin = n->origin, u->name = n->name;
            node_set_input(n, 1, u->outs.v[0]);
        }
    }
    node_drop_attr(n, "broadcast");
    node_drop_attr(n, "axis");
    node_drop_attr(n, "consumed_inputs");
}
static const struct op_upgrade u_broadcast[] = {{6, up_broadcast}, {0}};
/* Cast-1 to 5 name the type by a string. */
static void up_cast(struct node *n) {
    const struct attr *a = node_attr(n, "to");
    static const struct {
        const char *name;
        enum dtype t;
    } names[] = {{"FLOAT", F32}, {"DOUBLE", F64}, {"FLOAT16", F16}, {"INT8", I8},    {"INT16", I16},  {"INT32", I32},
                 {"INT64", I64}, {"UINT8", U8},   {"UINT16", U16},  {"UINT32", U32}, {"UINT64", U64}, {"BOOL", BOOL}};
    if (!a || a->kind != AT_STRING) return;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        if (a->u.s.n == strlen(names[k].name) && !memcmp(a->u.s.p, names[k].name, a->u.s.n)) {
            node_set_int(n, a->name, dtype_onnx(names[k].t));
            return;
        }
}
static const struct op_upgrade u_cast[] = {{5, up_cast}, {0}};

/* ---- by constants, as scale and shift */
/* The constant operand of n other than x, which is operand `at`, or any (-1): one value, or one for each channel.
 * *step: 0 for one. */
static const struct tensor *beside(const struct node *n, const struct value *x, int at, int64_t channels,
                                   int64_t *step) {
    int other = n->ins.v[0] == x ? 1 : 0, rank = x->type.rank;
    const struct tensor *t = n->ins.v[other] ? n->ins.v[other]->init : NULL;
    if (n->ins.v[1 - other] != x || (at >= 0 && other == at) || n->outs.v[0]->type.rank != rank) return NULL;
    if (!t || !dtype_is_float(t->type) || t->rank > rank) return NULL;
    if (tensor_count(t) == 1) return *step = 0, t;
    for (int k = 0; k < t->rank; k++)
        if (t->dims[k] != (k + rank - t->rank == 1 ? channels : 1)) return NULL;
    return *step = 1, tensor_count(t) == channels ? t : NULL;
}
static bool affine_add(const struct node *n, const struct value *x, int64_t channels, double *scale, double *shift) {
    int64_t step;
    const struct tensor *t = beside(n, x, -1, channels, &step);
    for (int64_t k = 0; t && k < channels; k++) scale[k] = 1, shift[k] = tensor_f(t, k * step);
    return t != NULL;
}
static bool affine_sub(const struct node *n, const struct value *x, int64_t channels, double *scale, double *shift) {
    int64_t step;
    const struct tensor *t = beside(n, x, 0, channels, &step);
    for (int64_t k = 0; t && k < channels; k++) scale[k] = 1, shift[k] = -tensor_f(t, k * step);
    return t != NULL;
}
static bool affine_mul(const struct node *n, const struct value *x, int64_t channels, double *scale, double *shift) {
    int64_t step;
    const struct tensor *t = beside(n, x, -1, channels, &step);
    for (int64_t k = 0; t && k < channels; k++) scale[k] = tensor_f(t, k * step), shift[k] = 0;
    return t != NULL;
}
static bool affine_div(const struct node *n, const struct value *x, int64_t channels, double *scale, double *shift) {
    int64_t step;
    const struct tensor *t = beside(n, x, 0, channels, &step);
    for (int64_t k = 0; t && k < channels; k++) scale[k] = 1 / tensor_f(t, k * step), shift[k] = 0;
    return t != NULL;
}

static const struct op_slot s_identity[] = {{"input", TS_ANY, HOLDER}, {0}};
#define MAP1(name, since, slots, fn)                                                                                   \
    { "", name, since, 1, attrs_none, slots, slots_y, .define = fn, .spec = name }
#define MATH(name, since, fn)                                                                                          \
    { "", name, since, 1, attrs_none, slots_float, slots_y, .define = op_named, .as = fn, .spec = name }
#define COMMUTING(name, since, slots, fn)                                                                              \
    { "", name, since, 1, attrs_none, slots, slots_y, .define = fn, .spec = name, .flags = OP_COMMUTES }
#define MAP2(name, since, slots, fn)                                                                                   \
    { "", name, since, 1, attrs_none, slots, slots_y, .define = fn, .upgrades = u_broadcast, .spec = name }
#define COMMUTING2(name, since, slots, fn)                                                                             \
    {                                                                                                                  \
        "", name, since, 1, attrs_none, slots, slots_y, .define = fn, .upgrades = u_broadcast, .spec = name,           \
                                                        .flags = OP_COMMUTES                                           \
    }
#define SCALING(name, fn, flag, scaling)                                                                               \
    {                                                                                                                  \
        "", name, 14, 1, attrs_none, slots_ab_num, slots_y, .define = fn, .upgrades = u_broadcast, .spec = name,       \
                                                            .flags = flag, .affine = scaling                           \
    }
const struct op ops_elementwise[] = {
    MAP1("Abs", 13, slots_num, op_abs),
    MAP1("Neg", 13, slots_num, op_neg),
    MAP1("Sign", 13, slots_num, op_sign),
    MAP1("Ceil", 13, slots_float, op_ceil),
    MAP1("Floor", 13, slots_float, op_floor),
    MAP1("Round", 22, slots_float, op_round),
    MAP1("Sqrt", 13, slots_float, op_sqrt),
    MAP1("Reciprocal", 13, slots_float, op_reciprocal),
    MATH("Exp", 13, "exp"),
    MATH("Log", 13, "log"),
    MATH("Erf", 13, "erf"),
    MATH("Tanh", 13, "tanh"),
    MATH("Sin", 22, "sin"),
    MATH("Cos", 22, "cos"),
    MATH("Tan", 22, "tan"),
    MATH("Asin", 22, "asin"),
    MATH("Acos", 22, "acos"),
    MATH("Atan", 22, "atan"),
    MATH("Sinh", 22, "sinh"),
    MATH("Cosh", 22, "cosh"),
    MATH("Asinh", 22, "asinh"),
    MATH("Acosh", 22, "acosh"),
    MATH("Atanh", 22, "atanh"),
    {"", "Identity", 25, 1, attrs_none, s_identity, slots_y, .expand = op_identity, .spec = "Identity-25"},
    MAP1("Not", 1, s_bool1, op_not),
    MAP1("BitwiseNot", 18, s_int1, op_not),
    MAP1("IsNaN", 20, slots_float, op_isnan),
    {"", "IsInf", 20, 10, a_isinf, slots_float, slots_y, .define = op_isinf, .spec = "IsInf-20"},
    SCALING("Add", op_add, OP_COMMUTES | OP_BLENDS, affine_add),
    SCALING("Sub", op_sub, 0, affine_sub),
    SCALING("Mul", op_mul, OP_COMMUTES | OP_BLENDS, affine_mul),
    SCALING("Div", op_div, 0, affine_div),
    {"", "Mod", 13, 10, a_fmod, slots_ab_num, slots_y, .define = op_mod,
     .spec = "Mod-13; floats with fmod=0 take the divisor's sign"},
    {"", "PRelu", 16, 1, a_prelu, slots_ab_num, slots_y, .define = op_prelu, .upgrades = u_prelu, .standard = std_prelu,
     .spec = "PRelu-16; channels marks the form before 7"},
    {"", "Pow", 15, 1, attrs_none, slots_ab_num, slots_y, .define = op_pow, .upgrades = u_broadcast,
     .spec = "Pow-15; integers are computed in f64"},
    COMMUTING2("And", 7, s_bool2, op_and),
    COMMUTING2("Or", 7, s_bool2, op_or),
    COMMUTING2("Xor", 7, s_bool2, op_xor),
    COMMUTING2("Equal", 19, s_eq, op_equal),
    MAP2("Less", 13, slots_ab_num, op_less),
    MAP2("Greater", 13, slots_ab_num, op_greater),
    MAP2("LessOrEqual", 16, slots_ab_num, op_lesseq),
    MAP2("GreaterOrEqual", 16, slots_ab_num, op_greatereq),
    COMMUTING("BitwiseAnd", 18, s_int2, op_bitand),
    COMMUTING("BitwiseOr", 18, s_int2, op_bitor),
    COMMUTING("BitwiseXor", 18, s_int2, op_bitxor),
    {"", "BitShift", 11, 11, a_shift, s_uint2, slots_y, .define = op_bitshift, .spec = "BitShift-11"},
    COMMUTING("Max", 13, s_nums, op_max),
    COMMUTING("Min", 13, s_nums, op_min),
    MAP1("Sum", 13, s_flts, op_sum),
    MAP1("Mean", 13, s_flts, op_mean),
    {"", "Where", 16, 9, attrs_none, s_where, slots_y, .define = op_where, .spec = "Where-16"},
    {"", "Clip", 13, 1, a_clip, s_clip, slots_y, .define = op_clip, .upgrades = u_clip, .standard = std_clip,
     .clamps = clip_clamps,
     .spec = "Clip-13, where an absent bound bounds nothing, as in its function body; the bounds of Clip-6 stay "
             "attributes"},
    {"", "Cast", 25, 1, a_to, slots_real, slots_y, .define = op_cast, .upgrades = u_cast,
     .spec = "Cast-25; floats out of the range of an integer saturate, below a byte the low bits stay"},
    {"", "CastLike", 25, 15, a_castlike, s_castlike, slots_y, .define = op_castlike, .spec = "CastLike-25"},
    {"", "BitCast", 26, 26, a_to, slots_real, slots_y, .define = op_bitcast, .spec = "BitCast-26"},
    {0},
};
