/* Reading at run-time positions: Gather, GatherElements, GatherND, OneHot. Positions outside set the fault flag. */
#include "lower/ops/ops.h"

static void op_gather(void) {
    T x = in(0), ix = in(1);
    if (fail_if(rank(x) == 0, E_RANK, "Gather from a scalar")) return;
    int a = axis_attr("axis", x), n = rank(ix);
    X i = axes(splice(shape(x), a, 1, shape(ix)));
    E k = wrap_index(known_at(ix, sub_list(i, a, n)), dim(x, a));
    out(0, dtype(x), i, at(x, splice(i, a, n, list1(k))));
}
static void op_gatherelements(void) {
    T x = in(0), ix = in(1);
    if (fail_if(rank(x) == 0 || rank(ix) != rank(x), E_RANK, "data of rank %d with indices of rank %d", rank(x),
                rank(ix)))
        return;
    int a = axis_attr("axis", x);
    for (int k = 0; k < rank(x); k++)
        if (k != a) require(le(dim(ix, k), dim(x, k)), "axis %d of the indices is longer than that of the data", k);
    X i = axes(shape(ix));
    X from = put(i, a, wrap_index(known_at(ix, i), dim(x, a)));
    for (int k = 0; k < rank(x); k++)
        if (k != a) from.v[k] = wrap_index(from.v[k], dim(x, k));
    out(0, dtype(x), i, at(x, from));
}
static void op_gathernd(void) {
    T x = in(0), ix = in(1);
    int64_t b = int_attr("batch_dims"), last; /* how many axes an index names */
    int q = rank(ix), r = rank(x);
    if (fail_if(q < 1 || r < 1 || b < 0 || b >= q || b >= r, E_RANK,
                "data of rank %d with indices of rank %d and %lld batch axes", r, q, (long long)b))
        return;
    if (!const_int(dim(ix, q - 1), &last)) {
        if (rank_said() < 0) {
            rank_unsaid();
            return;
        }
        last = q - 1 + r - b - rank_said();
        require(eq(dim(ix, q - 1), idx(last)), "the result has the rank %d in what was compiled", rank_said());
    }
    if (fail_if(last < 1 || last > r - b, E_RANK, "an index names %lld axes, not 1 to %d", (long long)last, r - (int)b))
        return;
    for (int k = 0; k < b; k++) require(eq(dim(ix, k), dim(x, k)), "batch axis %d differs", k);
    X lead = sub_list(shape(ix), 0, q - 1), tail = sub_list(shape(x), (int)(b + last), r);
    X i = axes(cat(lead, tail)), place = sub_list(i, 0, q - 1), from = sub_list(i, 0, (int)b);
    for (int k = 0; k < last; k++)
        from = push(from, wrap_index(at(ix, push(place, within(idx(k), dim(ix, q - 1)))), dim(x, (int)b + k)));
    out(0, dtype(x), i, at(x, cat(from, sub_list(i, q - 1, r))));
}
/* values[1] where the index, counted from the end when negative, is the position on the new axis; values[0] elsewhere.
 */
static void op_onehot(void) {
    T ix = in(0), depth = in(1), values = in(2);
    int n = rank(ix), a = norm_axis(int_attr("axis"), n + 1);
    E d;
    double known;
    if (dtype_is_float(dtype(depth)) && const_value(depth, 0, &known)) d = idx((int64_t)known);
    else if (!dtype_is_float(dtype(depth))) d = value(depth, 0, 0, DIM_MAX);
    else
        d = size_from("depth", stage("depth", I64, list0(), cast(I64, at(depth, zeros(rank(depth))))), 0, idx(0),
                      idx(DIM_MAX));
    require(ge(d, idx(0)), "the depth is negative");
    if (!has_length(values, 2, "values of OneHot")) return;
    X i = axes(splice(shape(ix), a, 0, list1(d)));
    E v = cast(I64, at(ix, drop(i, a))), wrapped = sel(lt(v, num(0)), add(v, val(d)), v);
    out(0, dtype(values), i, sel(eq(wrapped, val(i.v[a])), at(values, list1(idx(1))), at(values, list1(idx(0)))));
}

static const struct op_slot s_onehot[] = {{"indices", TS_NUM, 0}, {"depth", TS_NUM, 0}, {"values", TS_ANY, 0}, {0}};
static const struct op_attr a_nd[] = {A_INT("batch_dims", .since = 12), {0}};
const struct op ops_gather[] = {
    {"", "Gather", 13, 1, attrs_axis0, slots_gather, slots_y, .define = op_gather, .spec = "Gather-13",
     .flags = OP_PICKS, .axes = {AXES_ATTR}},
    {"", "GatherElements", 13, 11, attrs_axis0, slots_gather, slots_y, .define = op_gatherelements,
     .spec = "GatherElements-13", .flags = OP_PICKS},
    {"", "GatherND", 13, 11, a_nd, slots_gather, slots_y, .define = op_gathernd, .spec = "GatherND-13"},
    {"", "OneHot", 11, 9, attrs_axis_last, s_onehot, slots_y, .define = op_onehot, .spec = "OneHot-11"},
    {0},
};
