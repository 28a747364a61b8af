/* Operators of ai.onnx.ml on maps: ZipMap makes maps of a matrix, DictVectorizer and CastMap read one. A map is
 * represented by its keys and values (lower/ops/sequence.c), and is never searched at run time. */
#include "lower/ops/ml.h"
#include "lower/ops/sequence.h"
#include <stdlib.h>
#include <string.h>

/* Keys and values of input 0, a map. false: a diagnostic was given. */
static bool map_of(V *keys, V *values) {
    struct contents x;
    V v = gin(0);
    if (!v || v->type.kind != TY_MAP || !contents_of(v, &x)) return fail(E_TYPE, "the input is not a map"), false;
    return *keys = x.v[0], *values = x.v[1], true;
}

/* ---- ZipMap */
static void exp_zip_map(void) {
    const struct attr *labels = ml_labels_attr("classlabels_strings", "classlabels_int64s");
    T x = in(0);
    V values = gin(0), keys;
    int64_t n;
    if (fail_if(!labels, E_ATTR, "the keys, classlabels_strings or classlabels_int64s, are missing")) return;
    if (fail_if(rank(x) != 1 && rank(x) != 2, E_RANK, "the input has rank %d, not 2", rank(x))) return;
    if (fail_if(const_int(dim(x, rank(x) - 1), &n) && n != labels->n, E_SHAPE, "%d keys for %lld columns", labels->n,
                (long long)n))
        return;
    if (rank(x) == 1) values = N_OP("Unsqueeze", values, N_INTS(0));
    const struct tensor *order = ml_ascending(labels, &keys);
    if (order) values = N_WITH("Gather", ATTRS(attr_int("axis", 1)), values, n_const(order));
    gout(0, n_private("Map", (const V[]){keys, values}, 2, 1, NULL, 0)->outs.v[0]);
}

/* ---- DictVectorizer: the values of the words of a vocabulary, 0 for those that the map lacks */
static void exp_dict_vectorizer(void) {
    const struct attr *words = ml_labels_attr("string_vocabulary", "int64_vocabulary");
    V keys, values;
    if (!map_of(&keys, &values)) return;
    if (fail_if(!words || (words->kind == AT_INTS ? I64 : STR) != keys->type.dtype, E_ATTR,
                "there is no vocabulary of the type of the keys, %s", dtype_name(keys->type.dtype)))
        return;
    V place = ml_place_among(keys, words);
    int64_t room = words->n + 1; /* the last one takes what no word is for */
    struct tensor *zeros = n_tensor(values->type.dtype, &room, 1);
    V slots = N_OP("ScatterElements", n_const(zeros), place, values);
    gout(0, N_OP("Unsqueeze", N_OP("Gather", slots, ml_own_places(words)), N_INTS(0)));
}

/* ---- CastMap */
/* The values in the order of the keys. */
static void op_by_key(void) {
    T keys = in(0), values = in(1);
    E n = dim(keys, 0), r = raxis(n, "r");
    X i = axes_named(list1(n), "i"), o = axes_named(list1(n), "i");
    E own = at(keys, i), other = at(keys, list1(r));
    E before = or_(lt(other, own), and_(eq(other, own), lt(r, i.v[0])));
    T rank_of = reduce("rank", I64, i, RED_SUM, list1(r), sel(before, typed(I64, 1), typed(I64, 0)), NULL);
    T y = result(0, dtype(values), list2(idx(1), n));
    if (!rank_of || !y) return;
    E place = within(index_of(at(rank_of, o)), n);
    stage_into(y, o, list2(idx(0), place), at(values, o));
}
/* Puts the values at the indices given by the keys, which must not be negative; those from `size` on are left out. */
static void op_at_key(void) {
    T keys = in(0), values = in(1);
    E size = idx(int_attr("size")), n = dim(keys, 0);
    X i = axes_named(list1(add(size, idx(1))), "i"), k = axes_named(list1(n), "k"),
      o = axes_named(list2(idx(1), size), "n i");
    T room = stage("room", dtype(values), i, typed(dtype_value(dtype(values)), 0));
    if (!room) return;
    E place = within(min_(index_of(at(keys, k)), size), add(size, idx(1)));
    stage_into(room, k, list1(place), at(values, k));
    out(0, dtype(values), o, at(room, list1(o.v[1])));
}
static void exp_cast_map(void) {
    const char *to = str_attr("cast_to"), *form = str_attr("map_form");
    enum dtype t = !strcmp(to, "TO_FLOAT")    ? F32
                   : !strcmp(to, "TO_INT64")  ? I64
                   : !strcmp(to, "TO_STRING") ? STR
                                              : NONE;
    bool sparse = !strcmp(form, "SPARSE");
    V keys, values;
    if (!map_of(&keys, &values)) return;
    if (fail_if(t == NONE || (!sparse && strcmp(form, "DENSE") != 0), E_ATTR, "cast_to is \"%s\" and map_form \"%s\"",
                to, form))
        return;
    if (fail_if(keys->type.dtype != I64 || (sparse && (int_attr("max_map") < 1 || int_attr("max_map") > DIM_MAX - 1)),
                E_ATTR, "the keys are not i64, or max_map is %lld", (long long)int_attr("max_map")))
        return;
    if (fail_if((t == STR || values->type.dtype == STR) && t != values->type.dtype, E_OP,
                "numbers as strings, or strings as numbers, are not supported"))
        return;
    V ins[] = {keys, n_cast(values, t)};
    struct attr size = attr_int("size", int_attr("max_map"));
    gout(0, n_private(sparse ? "AtKey" : "ByKey", ins, 2, 1, &size, sparse)->outs.v[0]);
}

static const struct op_slot s_zip[] = {{"X", TSET(F32) | TSET(F64), 0}, {0}}, s_map[] = {{"X", 0, HOLDER}, {0}},
                            s_entries[] = {{"keys", TS_ANY, 0}, {"values", TS_ANY, 0}, {0}};
static const struct op_attr a_zip[] = {A_INTS("classlabels_int64s"), A_STRINGS("classlabels_strings"), {0}};
static const struct op_attr a_dict[] = {A_INTS("int64_vocabulary"), A_STRINGS("string_vocabulary"), {0}};
static const struct op_attr a_cast[] = {
    A_STRING("cast_to", .s = "TO_FLOAT"), A_STRING("map_form", .s = "DENSE"), A_INT("max_map", .i = 1), {0}};
static const struct op_attr a_size[] = {A_INT("size"), {0}};
#define PRIVATE(name, attrs, fn)                                                                                       \
    { "gcc2nn", name, 1, 1, attrs, s_entries, slots_y, .define = fn, .spec = "part of the expansion of CastMap" }
const struct op ops_ml_map[] = {
    {"ai.onnx.ml", "ZipMap", 1, 1, a_zip, s_zip, slots_y, .expand = exp_zip_map,
     .spec = "ai.onnx.ml ZipMap-1; the maps share one vector of keys, which ascend"},
    {"ai.onnx.ml", "DictVectorizer", 1, 1, a_dict, s_map, slots_y, .expand = exp_dict_vectorizer,
     .spec = "ai.onnx.ml DictVectorizer-1; of equal keys the last counts"},
    {"ai.onnx.ml", "CastMap", 1, 1, a_cast, s_map, slots_y, .expand = exp_cast_map,
     .spec = "ai.onnx.ml CastMap-1; without casts between numbers and strings"},
    PRIVATE("ByKey", attrs_none, op_by_key),
    PRIVATE("AtKey", a_size, op_at_key),
    {0},
};
