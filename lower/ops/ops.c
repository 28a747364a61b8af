/* Registers the op families and holds what their definitions and upgrades share (lower/ops/ops.h). */
#include "lower/ops/ops.h"
#include "ir/base/die.h"
#include <math.h>
#include <string.h>

void ops_register_all(void) {
#define F(family) ops_##family,
    static const struct op *const families[] = {OP_FAMILIES(F)};
#undef F
    static bool begun, done;
    if (done) return;
    if (begun) die_memory(0); /* it ran out of memory half way the last time */
    begun = true;
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) op_register(families[k]);
    done = true;
}

const struct op_slot slots_x[] = {{"X", TS_ANY, 0}, {0}};
const struct op_slot slots_real[] = {{"X", TS_REAL, 0}, {0}};
const struct op_slot slots_ab[] = {{"A", TS_ANY, 0}, {"B", TS_ANY, 0}, {0}};
const struct op_slot slots_many[] = {{"data", TS_ANY, VARIADIC}, {0}};
const struct op_slot slots_y[] = {{"Y", TS_ANY, 0}, {0}};
const struct op_slot slots_ys[] = {{"Y", TS_ANY, VARIADIC}, {0}};
const struct op_slot slots_xi[] = {{"data", TS_ANY, 0}, {"indices", TS_INDEX, OPTIONAL}, {0}};
const struct op_slot slots_float[] = {{"X", TS_FLOAT, 0}, {0}};
const struct op_slot slots_num[] = {{"X", TS_NUM, 0}, {0}};
const struct op_slot slots_text[] = {{"X", TSET(STR), 0}, {0}};
const struct op_slot slots_ab_num[] = {{"A", TS_NUM, 0}, {"B", TS_NUM, 0}, {0}};
const struct op_slot slots_f32[] = {{"x", TSET(F32), 0}, {0}};
const struct op_slot slots_gather[] = {{"data", TS_ANY, 0}, {"indices", TS_INDEX, 0}, {0}};
const struct op_slot slots_parts[] = {{"X", TS_ANY, VARIADIC}, {0}};
const struct op_attr attrs_none[] = {{0}};
const struct op_attr attrs_axis0[] = {A_INT("axis"), {0}};
const struct op_attr attrs_axis_last[] = {A_INT("axis", .i = -1), {0}};

/* ---- definitions */
X zeros(int n) {
    X r = list0();
    while (n-- > 0) r = push(r, idx(0));
    return r;
}
E scalar(T t) {
    double v;
    enum dtype vt = dtype_value(dtype(t));
    bool exact = const_value(t, 0, &v) && (vt == F32 || vt == F64 || fabs(v) < 9007199254740992.0);
    for (int k = 0; !exact && k < rank(t); k++) require(eq(dim(t, k), idx(1)), "a scalar is given as a larger tensor");
    return exact ? typed(vt, v) : at(t, zeros(rank(t)));
}
static bool is_float(E e) { return e->type == F32 || e->type == F64; }
E nmax(E a, E b) { return is_float(a) ? sel(is_nan(a), a, max_(a, b)) : max_(a, b); }
E nmin(E a, E b) { return is_float(a) ? sel(is_nan(a), a, min_(a, b)) : min_(a, b); }
E clampi(E i, E lo, E hi) { return min_(max_(i, lo), hi); }
E ceil_div(E a, E b) { return div_(sub(add(a, b), idx(1)), b); }
bool const_int(E e, int64_t *v) { return x_is_int(e, v); }
int64_t index_most(E e) {
    int64_t lo, hi;
    x_bounds(up_ctx(def_node()), e, &lo, &hi);
    return hi;
}

bool has_length(T t, int n, const char *what) {
    int64_t d;
    if (rank(t) > 1) return fail(E_RANK, "%s: rank %d, not 1", what, rank(t)), false;
    if (rank(t) == 0 ? n != 1 : const_int(dim(t, 0), &d) && d != n)
        return fail(E_SHAPE, "%s: %d elements, not %d", what, rank(t) ? (int)d : 1, n), false;
    if (rank(t) == 1) require(eq(dim(t, 0), idx(n)), "%s: not %d elements", what, n);
    return true;
}
void require_spreads(T t, X dims, const char *what) {
    for (int k = 0; k < rank(t) && rank(t) <= dims.n; k++) {
        E have = dim(t, k), one = eq(have, idx(1));
        require(or_(one, eq(have, dims.v[k + dims.n - rank(t)])), "%s does not broadcast to the input, on axis %d",
                what, k);
    }
}
bool open_length(T t) {
    int64_t d;
    return rank(t) == 1 && !const_int(dim(t, 0), &d);
}
E value_or(T t, int k, int64_t lo, int64_t hi, int64_t absent) {
    if (!open_length(t)) return value(t, k, lo, hi);
    E v = cast(I64, at_or(t, list1(idx(k)), typed(dtype_value(dtype(t)), (double)absent)));
    v = min_(max_(v, val(idx(lo))), val(idx(hi)));
    return size_from(NULL, stage("entry", I64, list0(), v), 0, idx(lo), idx(hi));
}

static E bounded(E v) {
    T one = stage("bounded", I64, list0(), min_(max_(cast(I64, v), val(idx(-FAR))), val(idx(FAR))));
    return size_from(NULL, one, 0, idx(-FAR), idx(FAR));
}
E bounded_value(T t, int k) {
    int64_t v;
    if (values_known(t)) {
        E e = value(t, k, -FAR, FAR);
        return const_int(e, &v) ? idx(v < -FAR ? -FAR : v > FAR ? FAR : v) : e;
    }
    if (open_length(t)) return bounded(at_or(t, list1(idx(k)), num(0)));
    return bounded(at(t, rank(t) ? list1(idx(k)) : list0()));
}
E truth(bool b) { return b ? eq(idx(0), idx(0)) : ne(idx(0), idx(0)); }
int axes_mask(T ax, int r, enum axes_default empty, E *mask, bool *known) {
    bool open = has(ax) && open_length(ax); /* an absent entry names axis r, for which there is no mask */
    int n = open ? r : has(ax) ? count_of(ax) : 0;
    *known = true;
    if (open) require(le(dim(ax, 0), idx(r)), "more axes are named than there are");
    for (int k = 0; k < r; k++) mask[k] = truth(n == 0 && empty == AXES_ALL);
    if (n == 0) return empty == AXES_ALL ? r : 0;
    for (int j = 0; j < n; j++) {
        E v = open ? value_or(ax, j, -r, r, r) : value(ax, j, -r, r - 1);
        int64_t c;
        if (const_int(v, &c)) {
            int a = norm_axis(c, r);
            if (a < r) mask[a] = truth(true);
        } else {
            *known = false;
            for (int k = 0; k < r; k++) mask[k] = or_(mask[k], or_(eq(v, idx(k)), eq(v, idx(k - r))));
        }
    }
    for (int k = 0; open && k < r; k++) { /* 0 or 1 elements each: nothing about so many conditions could be proved */
        E on = empty == AXES_ALL ? or_(mask[k], eq(dim(ax, 0), idx(0))) : mask[k];
        T flag = stage("named", I64, list0(), sel(on, typed(I64, 1), typed(I64, 0)));
        mask[k] = eq(size_from(NULL, flag, 0, idx(0), idx(1)), idx(1));
    }
    return n;
}
X kept_dims(X s, const E *mask, int n) {
    X r = list0();
    for (int p = 0; p < n; p++) {
        E extent = idx(0), before = idx(0);
        for (int k = 0; k < s.n; k++) {                                            /* dim k is the p-th that stays */
            extent = sel(and_(not_(mask[k]), eq(before, idx(p))), s.v[k], extent); /* not a sum, because sizes get
                                                                                    * multiplied */
            before = add(before, sel(mask[k], idx(0), idx(1)));
        }
        r = push(r, extent);
    }
    return r;
}
E flatten_index(X i, X dims) {
    E f = idx(0);
    for (int k = 0; k < i.n; k++) f = add(mul(f, dims.v[k]), i.v[k]);
    return f;
}
X unflatten_index(E flat, X dims) {
    X r = list0();
    E stride = product(dims);
    E rest = flat;
    for (int k = 0; k < dims.n; k++) { /* the first index needs no modulo: flat is in range */
        stride = product(sub_list(dims, k + 1, dims.n));
        bool none = x_is(stride, 0) || x_is(dims.v[k], 0); /* no element has an index */
        E q = none ? idx(0) : div_(rest, stride);
        r = push(r, k == 0 || none ? q : mod_(q, dims.v[k]));
    }
    return r;
}
/* Dims of 1 carry no index; the others fall into groups, the shortest runs of both sides with equal products. Grouping
 * keeps divisions small: [B,S,768] -> [B,S,12,64] touches the last dim only. */
static X without_ones(X dims, int *at) {
    X r = list0();
    for (int k = 0; k < dims.n; k++)
        if (!x_is(dims.v[k], 1)) at[r.n] = k, r = push(r, dims.v[k]);
    return r;
}
static X index_of_group(X i, X own, X there) { return unflatten_index(flatten_index(i, own), there); }
E at_reshaped(T x, X i, X dims) {
    int from[X_MAX_LIST], to[X_MAX_LIST];
    X xd = shape(x), a = without_ones(xd, from), b = without_ones(dims, to), index = zeros(xd.n), own = list0();
    for (int v = 0; v < b.n; v++) own = push(own, i.v[to[v]]);
    for (int p = 0, q = 0; p < a.n;) {
        int np = 0, nq = 0;
        for (int u = 1; u <= a.n - p && !np; u++)
            for (int v = 1; v <= b.n - q && !np; v++)
                if (product(sub_list(a, p, u)) == product(sub_list(b, q, v))) np = u, nq = v;
        if (!np) { /* the sizes are equal at run time; then the cells have the same order, if that can be proved */
            X all = index_of_group(own, b, a);
            if (flatten_index(all, a) == flatten_index(own, b)) p = q = 0;
            np = a.n - p, nq = b.n - q;
        }
        X there = index_of_group(sub_list(own, q, nq), sub_list(b, q, nq), sub_list(a, p, np));
        for (int u = 0; u < np; u++) index.v[from[p + u]] = there.v[u];
        p += np, q += nq;
    }
    return at(x, index);
}
T reshaped(const char *name, T x, X dims) {
    X i = axes(dims);
    return stage(name, dtype(x), i, at_reshaped(x, i, dims));
}
void out_reshaped(int k, T x, X dims) {
    X i = axes(dims);
    out(k, dtype(x), i, at_reshaped(x, i, dims));
}

/* ---- expansions */
struct node *n_with_attrs(const char *domain, const char *op_type, const V *ins, int nins, int nouts) {
    struct node *n = n_node_in(domain, op_type, ins, nins, nouts);
    for (const struct op_attr *row = n->op->attrs; row && row->name; row++) {
        const struct attr *given = node_attr(def_node(), row->name);
        if (given) node_set_attr(n, *given);
    }
    return n;
}
static V channel_moved(V v, bool to_front) {
    int64_t perm[32];
    int r = v->type.rank;
    if (r < 3 || r > 32) return fail(E_RANK, "an operand has rank %d, without spatial axes", r), v;
    for (int k = 1; k < r; k++) perm[k] = to_front ? k - 1 : k + 1;
    perm[0] = 0;
    perm[to_front ? 1 : r - 1] = to_front ? r - 1 : 1;
    return n_transpose(v, perm, r);
}
V n_in_dims(V v, const V *dims, int n) {
    V all = n_op("Concat", 0, dims, n, ATTRS(attr_int("axis", 0)));
    return N_WITH("Reshape", ATTRS(attr_int("allowzero", 1)), v, all);
}
V n_channels_first(V v) { return channel_moved(v, true); }
V n_channels_last(V v) { return channel_moved(v, false); }

/* ---- upgrades */
struct ctx *up_ctx(struct node *n) {
    return n->in->graph->ctx;
}
struct value *up_const_i64(struct node *n, const int64_t *v, int count) {
    struct tensor *t = tensor_new(&up_ctx(n)->arena, I64, (int64_t[]){count}, 1);
    for (int k = 0; k < count; k++) tensor_set_i(t, k, v[k]);
    return graph_const(n->in->graph, "", t);
}
void up_attr_to_input(struct node *n, const char *attr, int k) {
    const struct attr *a = node_attr(n, attr);
    if (!a || (a->kind != AT_INTS && a->kind != AT_INT)) return;
    const int64_t *v = a->kind == AT_INT ? &a->u.i : a->u.is;
    if (k >= n->ins.n || !n->ins.v[k]) node_set_input(n, k, up_const_i64(n, v, a->kind == AT_INT ? 1 : a->n));
    node_drop_attr(n, attr);
}
struct value *std_node(struct node *n, struct node *before, const char *op, struct value *const *ins, int nins) {
    struct node *made = node_new(n->in, before, "", op, ins, nins, 1);
    made->op = op_find("", op), made->version = OPSET_NEWEST, made->origin = n->origin, made->name = n->name;
    return made->outs.v[0];
}
void up_default_int(struct node *n, const char *attr, int64_t v) {
    if (node_attr(n, attr)) return;
    node_set_int(n, attr, v);
}
