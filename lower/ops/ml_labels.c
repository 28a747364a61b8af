/* Operators of ai.onnx.ml that look elements up in lists: LabelEncoder, CategoryMapper, OneHotEncoder. The lists become
 * constants: keys in ascending order for a search by halves, and values with the default behind them. */
#include "lower/ops/ml.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Lookup: the index of each element among the keys; their number if it is none of them */
static void op_lookup(void) {
    T x = in(0), keys = in(1);
    E n = numel(x), k = dim(keys, 0);
    X i = axes(shape(x));
    T place = scratch("place", I64, shape(x));
    call_kernel("lookup", dtype(x), (const T[]){x, keys, place}, 3, (const E[]){n, k}, 2);
    if (!place) return;
    E found = at(place, i);
    if (dtype_is_float(dtype(x))) found = sel(is_nan(at(x, i)), typed(I64, (double)int_attr("nan")), found);
    out(0, I64, i, found);
}

/* ---- lists from attributes */
struct list {
    enum dtype type; /* NONE: not given */
    const struct attr *a;
    const struct tensor *t;
    int64_t n;
};
static bool list_of(struct list *l, const char *name, enum dtype type) {
    const struct attr *a = node_attr(def_node(), name);
    if (!a || a->kind == AT_TENSOR || !a->n) return false;
    *l = (struct list){.type = type, .a = a, .n = a->n};
    return true;
}
/* keys_tensor, or keys_strings, keys_int64s or keys_floats; false: none. */
static bool any_list(struct list *l, const char *what) {
    char name[4][32];
    static const char *const kinds[] = {"tensor", "strings", "int64s", "floats"};
    for (int k = 0; k < 4; k++) snprintf(name[k], sizeof name[k], "%s_%s", what, kinds[k]);
    *l = (struct list){.type = NONE, .t = tensor_attr(name[0])};
    if (l->t) return l->type = l->t->type, l->n = tensor_count(l->t), true;
    return list_of(l, name[1], STR) || list_of(l, name[2], I64) || list_of(l, name[3], F32);
}
static struct str_elem string_at(const struct list *l, int64_t k) { return l->t ? l->t->strs[k] : l->a->u.ss[k]; }
static double real_at(const struct list *l, int64_t k) { return l->t ? tensor_f(l->t, k) : (double)l->a->u.fs[k]; }
static int64_t int_at(const struct list *l, int64_t k) { return l->t ? tensor_i(l->t, k) : l->a->u.is[k]; }
/* to[at] = entry k */
static void put_entry(struct tensor *to, int64_t at_place, const struct list *l, int64_t k) {
    if (l->type == STR) ((struct str_elem *)tensor_data(to))[at_place] = string_at(l, k);
    else if (dtype_is_float(l->type)) tensor_set_f(to, at_place, real_at(l, k));
    else tensor_set_i(to, at_place, int_at(l, k));
}

/* ---- pairs of keys and values */
struct entry {
    const struct list *keys;
    int64_t k;
};
static int compare_keys(const struct list *l, int64_t a, int64_t b) {
    if (l->type == STR) {
        struct str_elem x = string_at(l, a), y = string_at(l, b);
        int d = memcmp(x.p, y.p, x.n < y.n ? x.n : y.n);
        return d ? d : (x.n > y.n) - (x.n < y.n);
    }
    if (!dtype_is_float(l->type)) return (int_at(l, a) > int_at(l, b)) - (int_at(l, a) < int_at(l, b));
    double x = real_at(l, a), y = real_at(l, b);
    if (isnan(x) || isnan(y)) return isnan(x) - isnan(y); /* behind all numbers */
    return (x > y) - (x < y);
}
static int compare_entries(const void *x, const void *y) { /* the earlier one first where the keys are equal */
    const struct entry *a = x, *b = y;
    int d = compare_keys(a->keys, a->k, b->k);
    return d ? d : (a->k > b->k) - (a->k < b->k);
}
/* The entries sorted by key, *n of them; of equal keys the last or the first counts. */
static struct entry *sorted(const struct list *keys, bool last_wins, int64_t *n) {
    struct entry *e = NEWN(def_arena(), struct entry, keys->n);
    *n = 0;
    for (int64_t k = 0; k < keys->n; k++) e[k] = (struct entry){keys, k};
    qsort(e, (size_t)keys->n, sizeof *e, compare_entries);
    for (int64_t k = 0; k < keys->n; k++) {
        bool again = *n && !compare_keys(keys, e[*n - 1].k, e[k].k);
        if (!again) e[(*n)++] = e[k];
        else if (last_wins) e[*n - 1] = e[k];
    }
    return e;
}
static struct tensor *sorted_keys(const struct list *keys, const struct entry *e, int64_t n) {
    struct tensor *t = n_tensor(keys->type, &n, 1);
    for (int64_t k = 0; k < n; k++) put_entry(t, k, keys, e[k].k);
    return t;
}
struct mapping {
    struct list keys, values;
    bool last_wins; /* of equal keys; else the first */
    struct list otherwise;
};
/* The indices of the elements of x among ascending keys; nan: the index for NaN. */
static V looked_up(V x, V keys, int64_t nan) {
    return n_private("Lookup", (const V[]){x, keys}, 2, 1, ATTRS(attr_int("nan", nan)))->outs.v[0];
}
/* The value for each element of x, which has the keys' type. */
static V mapped(V x, const struct mapping *m) {
    int64_t n, numbers;
    struct entry *e = sorted(&m->keys, m->last_wins, &n);
    bool has_nan = n && dtype_is_float(m->keys.type) && isnan(real_at(&m->keys, e[n - 1].k));
    numbers = has_nan ? n - 1 : n;
    struct tensor *keys = sorted_keys(&m->keys, e, numbers),
                  *values = n_tensor(m->values.type, (const int64_t[]){n + 1}, 1);
    for (int64_t k = 0; k < numbers; k++) put_entry(values, k, &m->values, e[k].k);
    put_entry(values, numbers, &m->otherwise, 0);
    if (has_nan) put_entry(values, n, &m->values, e[n - 1].k);
    return N_OP("Gather", n_const(values), looked_up(x, n_const(keys), has_nan ? n : numbers));
}

/* ---- labels as keys */
static struct list labels_list(const struct attr *a) {
    return (struct list){.type = a->kind == AT_INTS ? I64 : STR, .a = a, .n = a->n};
}
const struct tensor *ml_ascending(const struct attr *labels, V *keys) {
    struct list l = labels_list(labels);
    int64_t n;
    struct entry *e = sorted(&l, true, &n);
    struct tensor *order = n_tensor(I64, &n, 1);
    bool as_they_are = n == l.n;
    for (int64_t k = 0; k < n; k++) tensor_set_i(order, k, e[k].k), as_they_are &= e[k].k == k;
    *keys = n_const(sorted_keys(&l, e, n));
    return as_they_are ? NULL : order;
}
V ml_place_among(V v, const struct attr *labels) {
    V keys;
    (void)ml_ascending(labels, &keys);
    return looked_up(v, keys, 0);
}
V ml_own_places(const struct attr *labels) {
    struct list l = labels_list(labels);
    int64_t n;
    struct entry *e = sorted(&l, true, &n);
    struct tensor *t = n_tensor(I64, &l.n, 1);
    for (int64_t k = 0; k < l.n; k++) {
        int64_t lo = 0, hi = n - 1;
        while (lo < hi) {
            int64_t mid = lo + (hi - lo) / 2;
            if (compare_keys(&l, e[mid].k, k) < 0) lo = mid + 1;
            else hi = mid;
        }
        tensor_set_i(t, k, lo);
    }
    return n_const(t);
}

/* ---- LabelEncoder */
/* The value for elements that are not among the keys. */
static bool default_of(struct mapping *m) {
    struct list *d = &m->otherwise;
    *d = (struct list){.type = m->values.type, .t = tensor_attr("default_tensor"), .n = 1};
    if (d->t && (d->t->type != d->type || tensor_count(d->t) < 1))
        return fail(E_TYPE, "default_tensor is not of the type of the values, %s", dtype_name(d->type)), false;
    if (d->t) return true;
    struct tensor *t = n_tensor(d->type, NULL, 0);
    const struct attr *s = node_attr(def_node(), "default_string");
    if (d->type == STR) *(struct str_elem *)tensor_data(t) = s ? s->u.s : (struct str_elem){"_Unused", 7};
    else if (dtype_is_float(d->type)) tensor_set_f(t, 0, float_attr("default_float"));
    else tensor_set_i(t, 0, int_attr("default_int64"));
    d->t = t;
    return true;
}
static struct list counted(int64_t n) {
    struct tensor *t = n_tensor(I64, &n, 1);
    for (int64_t k = 0; k < n; k++) tensor_set_i(t, k, k);
    return (struct list){.type = I64, .t = t, .n = n};
}
static void exp_label_encoder(void) {
    enum dtype t = dtype(in(0));
    struct mapping m = {.last_wins = false};
    struct list classes;
    if (list_of(&classes, "classes_strings", STR)) { /* version 1: strings to their places, or back */
        m.last_wins = true;
        m.keys = t == STR ? classes : counted(classes.n), m.values = t == STR ? counted(classes.n) : classes;
    } else if (fail_if(!any_list(&m.keys, "keys") || !any_list(&m.values, "values"), E_ATTR,
                       "keys or values are missing"))
        return;
    if (fail_if(m.keys.n != m.values.n, E_ATTR, "%lld keys for %lld values", (long long)m.keys.n,
                (long long)m.values.n))
        return;
    if (fail_if(m.keys.type != t, E_TYPE, "the keys are of type %s, the input is %s", dtype_name(m.keys.type),
                dtype_name(t)))
        return;
    if (default_of(&m)) gout(0, mapped(gin(0), &m));
}
static void exp_category_mapper(void) {
    struct mapping m = {.last_wins = true};
    struct list strings, ints;
    if (fail_if(!list_of(&strings, "cats_strings", STR) || !list_of(&ints, "cats_int64s", I64) || strings.n != ints.n,
                E_ATTR, "cats_strings and cats_int64s must be there, and have as many entries"))
        return;
    bool from_strings = dtype(in(0)) == STR;
    m.keys = from_strings ? strings : ints, m.values = from_strings ? ints : strings;
    if (default_of(&m)) gout(0, mapped(gin(0), &m));
}

/* ---- OneHotEncoder */
/* A one in the column of the category; of equal categories the last one. */
static void op_categories(void) {
    T x = in(0), c = in(1);
    E n = dim(c, 0), r = raxis(n, "c"), none = typed(I32, -1);
    X i = axes(shape(x)), o = axes(push(shape(x), n)), lead = sub_list(o, 0, rank(x));
    E found = eq(at(x, i), at(c, list1(r)));
    T place = reduce("place", I32, i, RED_MAX, list1(r), sel(found, cast(I32, val(r)), none), none);
    if (!place) return;
    E p = at(place, lead);
    E known = sel(lt(p, typed(I32, 0)), cast(I32, val(n)), p);
    if (!int_attr("zeros")) p = cast(I32, val(within(index_of(known), n))); /* every one must be known */
    out(0, F32, o, sel(eq(p, cast(I32, val(o.v[rank(x)]))), typed(F32, 1), typed(F32, 0)));
}
static void exp_one_hot(void) {
    enum dtype t = dtype(in(0));
    struct list ints, strings;
    bool has_ints = list_of(&ints, "cats_int64s", I64), has_strings = list_of(&strings, "cats_strings", STR);
    if (fail_if(has_ints == has_strings || (t == STR) != has_strings, E_ATTR,
                "one list of categories is needed, which fits the type of the input, %s", dtype_name(t)))
        return;
    const struct list *l = has_ints ? &ints : &strings;
    struct tensor *c = n_tensor(l->type, &l->n, 1);
    for (int64_t k = 0; k < l->n; k++) put_entry(c, k, l, k);
    V ins[] = {t == STR ? gin(0) : n_cast(gin(0), I64), n_const(c)};
    gout(0, n_private("Categories", ins, 2, 1, ATTRS(attr_int("zeros", int_attr("zeros") != 0)))->outs.v[0]);
}

static const struct op_attr a_lookup[] = {A_INT("nan"), {0}};
static const struct op_attr a_zeros[] = {A_INT("zeros"), {0}};
#define DEFAULTS A_INT("default_int64", .i = -1), A_STRING("default_string", .s = "_Unused")
static const struct op_attr a_label[] = {A_STRINGS("classes_strings"),
                                         DEFAULTS,
                                         A_FLOAT("default_float", .f = -0.0f),
                                         A_TENSOR("default_tensor"),
                                         A_FLOATS("keys_floats"),
                                         A_INTS("keys_int64s"),
                                         A_STRINGS("keys_strings"),
                                         A_TENSOR("keys_tensor"),
                                         A_FLOATS("values_floats"),
                                         A_INTS("values_int64s"),
                                         A_STRINGS("values_strings"),
                                         A_TENSOR("values_tensor"),
                                         {0}};
static const struct op_attr a_mapper[] = {A_INTS("cats_int64s"), A_STRINGS("cats_strings"), DEFAULTS, {0}};
static const struct op_attr a_one_hot[] = {
    A_INTS("cats_int64s"), A_STRINGS("cats_strings"), A_INT("zeros", .i = 1), {0}};
static const struct op_slot s_label[] = {{"X", TS_NUM | TSET(STR), 0}, {0}};
static const struct op_slot s_mapper[] = {{"X", TSET(STR) | TSET(I64), 0}, {0}};
static const struct op_slot s_one_hot[] = {{"X", TSET(STR) | TSET(I64) | TSET(I32) | TSET(F32) | TSET(F64), 0}, {0}};
static const struct op_slot s_lookup[] = {{"X", TS_ANY, 0}, {"keys", TS_ANY, 0}, {0}};
#define PRIVATE(name, attrs, fn)                                                                                       \
    { "gcc2nn", name, 1, 1, attrs, s_lookup, slots_y, .define = fn, .spec = "part of expansions of ai.onnx.ml" }
const struct op ops_ml_labels[] = {
    {"ai.onnx.ml", "LabelEncoder", 4, 1, a_label, s_label, slots_y, .expand = exp_label_encoder,
     .spec =
         "ai.onnx.ml LabelEncoder-4; NaN is a key like others, of equal keys the first counts (version 1: the last)"},
    {"ai.onnx.ml", "CategoryMapper", 1, 1, a_mapper, s_mapper, slots_y, .expand = exp_category_mapper,
     .spec = "ai.onnx.ml CategoryMapper-1; of equal entries the last counts"},
    {"ai.onnx.ml", "OneHotEncoder", 1, 1, a_one_hot, s_one_hot, slots_y, .expand = exp_one_hot,
     .spec = "ai.onnx.ml OneHotEncoder-1; of equal categories the last counts"},
    PRIVATE("Lookup", a_lookup, op_lookup),
    PRIVATE("Categories", a_zeros, op_categories),
    {0},
};
