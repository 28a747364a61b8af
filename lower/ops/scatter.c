/* Writing at run-time positions: ScatterElements, ScatterND. The data is copied, then the updates are stored in order.
 */
#include "ir/base/checked.h"
#include "ir/base/memory.h"
#include "lower/ops/ops.h"
#include <stdlib.h>
#include <string.h>

enum reduce_mode { MODE_NONE, MODE_ADD, MODE_MUL, MODE_MAX, MODE_MIN, MODE_BAD };
static enum reduce_mode mode_attr(void) {
    static const char *const names[] = {"none", "add", "mul", "max", "min"};
    for (int k = 0; k < MODE_BAD; k++)
        if (!strcmp(str_attr("reduction"), names[k])) return (enum reduce_mode)k;
    fail(E_ATTR, "attribute \"reduction\" must be none, add, mul, max or min");
    return MODE_BAD;
}
static E combine(enum reduce_mode m, E old, E by) {
    switch (m) {
    case MODE_ADD: return add(old, by);
    case MODE_MUL: return mul(old, by);
    case MODE_MAX: return nmax(old, by);
    case MODE_MIN: return nmin(old, by);
    default: return by;
    }
}
static T copied(T x) {
    X i = axes(shape(x));
    out(0, dtype(x), i, at(x, i));
    return result(0, dtype(x), shape(x));
}
static void op_scatterelements(void) {
    T x = in(0), ix = in(1), u = in(2);
    enum reduce_mode m = mode_attr();
    if (m == MODE_BAD) return;
    if (fail_if(rank(x) == 0 || rank(ix) != rank(x) || rank(u) != rank(x), E_RANK,
                "data, indices and updates must have the same rank, at least 1"))
        return;
    int a = axis_attr("axis", x);
    for (int k = 0; k < rank(x); k++) {
        require(eq(dim(ix, k), dim(u, k)), "indices and updates differ on axis %d", k);
        if (k != a) require(le(dim(ix, k), dim(x, k)), "axis %d of the indices is longer than that of the data", k);
    }
    T y = copied(x);
    X i = axes(shape(ix)), to = put(i, a, wrap_index(at(ix, i), dim(x, a)));
    for (int k = 0; k < rank(x); k++)
        if (k != a) to.v[k] = wrap_index(to.v[k], dim(x, k));
    if (y) stage_into(y, i, to, combine(m, at(y, to), at(u, i)));
}
static int by_number(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}
/* Element k of the indices, counted from the front; -1: unknown. */
static int64_t place_at(const struct tensor *t, T x, int n, int64_t k) {
    int64_t v = tensor_i(t, k), size;
    return v >= 0 ? v : x_is_int(dim(x, (int)(k % n)), &size) ? v + size : -1;
}
/* The rows of ix, n elements each, are constant, and all different. */
static bool places_differ(T ix, T x, int n) {
    const struct tensor *t = const_of(ix);
    int64_t rows = t && n ? tensor_count(t) / n : 0;
    if (!rows) return false;
    int64_t *key = memory_zeroed((size_t)rows, sizeof *key);
    bool differ = true;
    for (int d = 0; d < n && differ; d++) { /* a row as one number, of digits below `most` */
        int64_t most = 0;
        for (int64_t r = 0; r < rows; r++) {
            int64_t v = place_at(t, x, n, r * n + d);
            differ &= v >= 0;
            most = v > most ? v : most;
        }
        for (int64_t r = 0; r < rows && differ; r++)
            differ = mul_ok(key[r], most + 1, &key[r]) && add_ok(key[r], place_at(t, x, n, r * n + d), &key[r]);
    }
    if (differ) qsort(key, (size_t)rows, sizeof *key, by_number);
    for (int64_t r = 1; r < rows && differ; r++) differ = key[r - 1] != key[r];
    free(key);
    return differ;
}
static void op_scatternd(void) {
    T x = in(0), ix = in(1), u = in(2);
    enum reduce_mode m = mode_attr();
    int q = rank(ix), r = rank(x), last = q - 1 + r - rank(u); /* how many axes an index names */
    if (m == MODE_BAD) return;
    if (fail_if(q < 1 || r < 1 || last < 0 || last > r, E_RANK,
                "data of rank %d, indices of rank %d and updates of rank %d do not fit each other", r, q, rank(u)))
        return;
    require(eq(dim(ix, q - 1), idx(last)), "the last axis of the indices and the rank of the updates do not fit");
    X want = cat(sub_list(shape(ix), 0, q - 1), sub_list(shape(x), last, r));
    for (int k = 0; k < want.n; k++) require(eq(want.v[k], dim(u, k)), "axis %d of the updates does not fit", k);
    T y = copied(x);
    X i = axes(want), place = sub_list(i, 0, q - 1), to = list0();
    for (int k = 0; k < last; k++)
        to = push(to, wrap_index(at(ix, push(place, within(idx(k), dim(ix, q - 1)))), dim(x, k)));
    to = cat(to, sub_list(i, q - 1, r));
    if (y) (places_differ(ix, x, last) ? stage_apart : stage_into)(y, i, to, combine(m, at(y, to), at(u, i)));
}

static const struct op_slot s_scatter[] = {{"data", TS_ANY, 0}, {"indices", TS_INDEX, 0}, {"updates", TS_ANY, 0}, {0}};
static const struct op_attr a_elements[] = {A_INT("axis"), A_STRING("reduction", .s = "none", .since = 16), {0}},
                            a_nd[] = {A_STRING("reduction", .s = "none", .since = 16), {0}};
const struct op ops_scatter[] = {
    {"", "ScatterElements", 18, 11, a_elements, s_scatter, slots_y, .define = op_scatterelements,
     .spec = "ScatterElements-18"},
    {"", "Scatter", 11, 9, a_elements, s_scatter, slots_y, .define = op_scatterelements, .until = 10,
     .spec = "Scatter-11, the older name of ScatterElements"},
    {"", "ScatterND", 18, 11, a_nd, s_scatter, slots_y, .define = op_scatternd, .spec = "ScatterND-18"},
    {0},
};
