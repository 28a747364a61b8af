/* Operators on strings. What they compute from a string's bytes is in kernels in templates/kernels and in the functions
 * of ir/expr/native.h; elements are moved like those of other types. New bytes are written in two steps: first their
 * number, then their contents (kept_bytes); substrings share the bytes of the string. */
#include "lower/ops/ops.h"
#include "runtime_stub/nn_text.h"
#include <stdlib.h>
#include <string.h>

static struct tensor *string_tensor(struct str_elem e) {
    struct tensor *t = n_tensor(STR, NULL, 0);
    memcpy(tensor_data(t), &e, sizeof e);
    return t;
}

static void op_stringconcat(void) {
    T a = in(0), b = in(1);
    X dims = bcast_shape((const T[]){a, b}, 2), i = axes(dims), j = axes(dims);
    T left = stage("left", STR, i, at(a, bcast(a, i))), right = stage("right", STR, j, at(b, bcast(b, j)));
    E n = product(dims);
    T first = scratch("first", I64, list1(n)), total = scratch("total", I64, list0());
    call_kernel("string_concat_sizes", STR, (const T[]){left, right, first, total}, 4, &n, 1);
    E room = add(size_from("bytes", total, 0, idx(0), idx(DIM_MAX - 1)), idx(1));
    const T bufs[] = {left, right, first, kept_bytes("bytes", room), result(0, STR, dims)};
    call_kernel("string_concat", STR, bufs, 5, (const E[]){n, room}, 2);
}

static void op_stringsplit(void) {
    const struct attr *given = node_attr(def_node(), "delimiter"); /* of any bytes */
    const struct str_elem delimiter = given ? given->u.s : (struct str_elem){"", 0};
    T x = in(0), by = const_table("delimiter", string_tensor(delimiter));
    bool blanks = !delimiter.n;
    E n = numel(x), most = idx(has_attr("maxsplit") ? int_attr("maxsplit") : -1), one = idx(1);
    if (fail_if(has_attr("maxsplit") && int_attr("maxsplit") < 0, E_ATTR,
                "maxsplit is %lld, but a number of splits cannot be negative", (long long)int_attr("maxsplit")))
        return;
    T some = scratch("some", STR, list2(n, one)), longest = scratch("longest", I64, list0());
    T count = result(1, I64, shape(x));
    call_kernel("string_split", STR, (const T[]){x, by, some, count, longest}, 5,
                (const E[]){n, one, idx(blanks), most}, 4);
    E k = size_from("pieces", longest, 0, idx(0), idx(DIM_MAX));
    T again = scratch("counted", I64, list1(n)), same = scratch("same", I64, list0());
    T pieces = result(0, STR, push(shape(x), k));
    call_kernel("string_split", STR, (const T[]){x, by, pieces, again, same}, 5, (const E[]){n, k, idx(blanks), most},
                4);
}

/* ---- tables */
struct word {
    struct str_elem s;
    int64_t number;
};
static nn_str as_str(struct str_elem e) { return (nn_str){e.p, e.n}; }
static int by_text(const void *a, const void *b) {
    const struct word *x = a, *y = b;
    int order = nn_str_order(as_str(x->s), as_str(y->s));
    return order ? order : (x->number > y->number) - (x->number < y->number);
}
T positions_of_strings(T x, const struct str_elem *words, int64_t count) {
    struct word *w = NEWN(def_arena(), struct word, count + 1);
    for (int64_t k = 0; k < count; k++) w[k] = (struct word){words[k], k};
    qsort(w, (size_t)count, sizeof *w, by_text);
    struct tensor *sorted = n_tensor(STR, &count, 1), *number = n_tensor(I64, (int64_t[]){count + 1}, 1);
    tensor_set_i(number, count, -1); /* for elements that are none of them */
    for (int64_t k = 0; k < count; k++) {
        ((struct str_elem *)tensor_data(sorted))[k] = w[k].s;
        tensor_set_i(number, k, w[k].number);
    }
    E n = numel(x);
    T place = scratch("place", I64, list1(n));
    call_kernel("lookup", STR, (const T[]){x, const_table("sorted", sorted), place}, 3, (const E[]){n, idx(count)}, 2);
    X i = axes(list1(n));
    return stage("number", I64, i, at(const_table("numbers", number), list1(wrap_index(at(place, i), idx(count + 1)))));
}
static const struct attr *given(const char *name) { return node_attr(def_node(), name); }

/* ---- StringNormalizer */
/* x in another case: it may need more bytes than before, but at most twice as many (two become three). */
static T in_case(T x, int to) {
    E n = numel(x);
    T first = scratch("first", I64, list1(n)), total = scratch("total", I64, list0()),
      y = scratch("cased", STR, shape(x));
    call_kernel("string_concat_sizes", STR, (const T[]){x, x, first, total}, 4, &n, 1);
    E room = add(size_from("bytes", total, 0, idx(0), idx(DIM_MAX - 1)), idx(1));
    const T bufs[] = {x, first, kept_bytes("bytes", room), y};
    call_kernel("string_case", STR, bufs, 4, (const E[]){n, room, idx(to)}, 3);
    return y;
}
static struct str_elem lower_word(struct str_elem w) {
    char *p = NEWN(def_arena(), char, 2 * w.n + 1);
    size_t n = 0;
    int32_t b;
    for (size_t i = 0; i < w.n;) {
        int32_t c = nn_char_at(as_str(w), (int64_t)i), to = nn_char_case(c, NN_LOWER);
        for (int k = 0; nn_char_byte(c, k) >= 0; k++) i++;
        for (int k = 0; (b = nn_char_byte(to, k)) >= 0; k++) p[n++] = (char)b;
    }
    return (struct str_elem){p, n};
}
static int case_of(const char *action) {
    return !strcmp(action, "LOWER") ? NN_LOWER : !strcmp(action, "UPPER") ? NN_UPPER : -1;
}
static bool own_case_rules(const char *locale) {
    return (!strncmp(locale, "tr", 2) || !strncmp(locale, "az", 2) || !strncmp(locale, "lt", 2)) &&
           (!locale[2] || locale[2] == '_' || locale[2] == '-' || locale[2] == '.');
}
static void op_stringnormalizer(void) {
    T x = in(0);
    const char *action = str_attr("case_change_action");
    int to = case_of(action), last = rank(x) - 1;
    bool sensitive = int_attr("is_case_sensitive") != 0;
    if (fail_if(rank(x) < 1 || rank(x) > 2, E_RANK, "the input of StringNormalizer must have the shape [C] or [1, C]"))
        return;
    if (fail_if(to < 0 && strcmp(action, "NONE"), E_ATTR, "case_change_action is \"%s\", not LOWER, UPPER or NONE",
                action))
        return;
    if (fail_if(own_case_rules(str_attr("locale")), E_ATTR,
                "the case rules of locale \"%s\" are not supported, only those that hold for all languages",
                str_attr("locale")))
        return;
    if (last) require(eq(dim(x, 0), idx(1)), "the first dimension of StringNormalizer's input must be 1");
    E n = dim(x, last);
    const struct attr *stop = given("stopwords");
    int64_t words = stop ? stop->n : 0;
    struct str_elem *w = NEWN(def_arena(), struct str_elem, words + 1);
    for (int64_t k = 0; k < words; k++) w[k] = sensitive ? stop->u.ss[k] : lower_word(stop->u.ss[k]);
    X i = axes(list1(n));
    T row = stage("row", STR, i, at(x, last ? list2(idx(0), i.v[0]) : i));
    T cased = to < 0 ? row : in_case(row, to);
    T compared = sensitive ? row : to == NN_LOWER ? cased : in_case(row, NN_LOWER);
    T number = positions_of_strings(compared, w, words);
    X j = axes(list1(n));
    T flag = stage("flag", BOOL, j, lt(at(number, j), num(0)));
    T count, pos = true_positions(flag, n, &count);
    E found = size_from("words", count, 0, idx(0), n), some = max_(found, idx(1)); /* none: one empty string */
    X o = axes(last ? list2(idx(1), some) : list1(some));
    E from = wrap_index(at(pos, list1(wrap_index(o.v[last], n))), n);
    out(0, STR, o, sel(lt(o.v[last], found), at(cased, list1(from)), typed(STR, 0)));
}

/* ---- TfIdfVectorizer */
struct gram {
    const int64_t *words; /* the numbers of its words */
    int64_t length, number;
};
static int by_words(const void *a, const void *b) {
    const struct gram *x = a, *y = b;
    if (x->length != y->length) return x->length < y->length ? -1 : 1;
    for (int64_t k = 0; k < x->length; k++)
        if (x->words[k] != y->words[k]) return x->words[k] < y->words[k] ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}
/* The n-grams of the pool, and the greatest length; false after a diagnostic. ngram_counts says where those of length
 * 1, 2
 * ... begin in the pool. */
static bool read_grams(const int64_t *pool, int64_t size, struct gram **out, int64_t *count, int64_t *longest) {
    const int64_t *starts;
    int n = ints_attr("ngram_counts", &starts);
    struct gram *g = *out = NEWN(def_arena(), struct gram, size + 1);
    *count = 0;
    *longest = n;
    for (int k = 0; k < n; k++) {
        int64_t from = starts[k], to = k + 1 < n ? starts[k + 1] : size;
        if (fail_if(from < 0 || from > to || to > size || (to - from) % (k + 1), E_ATTR,
                    "ngram_counts does not divide the pool of %lld into n-grams: those of length %d are %lld..%lld",
                    (long long)size, k + 1, (long long)from, (long long)to))
            return false;
        for (; from < to; from += k + 1, ++*count) g[*count] = (struct gram){pool + from, k + 1, *count};
    }
    return true;
}
struct ngram_tables {
    struct tensor *gram, *first, *place, *weight;
};
static bool ngram_tables(struct ngram_tables *t, struct gram *g, int64_t count, int64_t longest, int64_t *results) {
    const int64_t *places;
    const float *weights;
    int np = ints_attr("ngram_indexes", &places), nw = floats_attr("weights", &weights);
    *results = 0;
    for (int k = 0; k < np; k++) {
        if (places[k] < 0 || places[k] >= DIM_MAX)
            return fail(E_ATTR, "ngram_indexes[%d] is %lld", k, (long long)places[k]), false;
        if (places[k] >= *results) *results = places[k] + 1;
    }
    if (fail_if(np != count || (nw && nw != np), E_ATTR,
                "the pool has %lld n-grams, but there are %d ngram_indexes and %d weights", (long long)count, np, nw))
        return false;
    if (*results > 1 << 24 || count > (1 << 26) / (longest + 1))
        return fail(E_SIZE, "more n-grams than are supported"), false;
    t->gram = n_tensor(I64, (int64_t[]){count, longest}, 2);
    t->first = n_tensor(I64, (int64_t[]){longest + 1}, 1);
    t->place = n_tensor(I64, &count, 1);
    t->weight = n_tensor(F32, results, 1);
    for (int64_t k = 0; k < *results; k++) tensor_set_f(t->weight, k, 1);
    qsort(g, (size_t)count, sizeof *g, by_words);
    for (int64_t k = 0; k < count; k++) {
        for (int64_t w = 0; w < longest; w++)
            tensor_set_i(t->gram, k * longest + w, w < g[k].length ? g[k].words[w] : -1);
        tensor_set_i(t->place, k, places[g[k].number]);
        if (nw) tensor_set_f(t->weight, places[g[k].number], (double)weights[g[k].number]);
    }
    for (int64_t n = 0, k = 0; n <= longest; n++) {
        while (k < count && g[k].length <= n) k++;
        tensor_set_i(t->first, n, k);
    }
    return true;
}
/* The pool's words as numbers, the index of their first occurrence; and the words of x likewise. */
static T numbered(T x, const struct attr *ints, const struct attr *strings, int64_t **pool, int64_t *size) {
    const struct attr *given_pool = strings ? strings : ints;
    int64_t n = *size = given_pool ? given_pool->n : 0;
    *pool = NEWN(def_arena(), int64_t, n + 1);
    if (!strings) {
        for (int64_t k = 0; k < n; k++) (*pool)[k] = ints->u.is[k];
        return NULL;
    }
    struct word *w = NEWN(def_arena(), struct word, n + 1);
    for (int64_t k = 0; k < n; k++) w[k] = (struct word){strings->u.ss[k], k};
    qsort(w, (size_t)n, sizeof *w, by_text);
    for (int64_t k = 0, same = 0; k < n; k++) {
        if (!nn_str_equal(as_str(w[k].s), as_str(w[same].s))) same = k;
        (*pool)[w[k].number] = w[same].number;
    }
    return positions_of_strings(x, strings->u.ss, n);
}
static bool tfidf_is_right(T x, const char *mode) {
    int64_t least = int_attr("min_gram_length"), most = int_attr("max_gram_length"), skip = int_attr("max_skip_count");
    if (rank(x) < 1 || rank(x) > 2) fail(E_RANK, "the input of TfIdfVectorizer must have the shape [C] or [N, C]");
    else if ((dtype(x) == STR) != (given("pool_strings") != NULL))
        fail(E_TYPE, "the pool and the input are not of one type");
    else if (strcmp(mode, "TF") && strcmp(mode, "IDF") && strcmp(mode, "TFIDF"))
        fail(E_ATTR, "mode is \"%s\", not TF, IDF or TFIDF", mode);
    else if (least < 1 || most < least || most > DIM_MAX || skip < 0 || skip > DIM_MAX)
        fail(E_ATTR, "n-grams of %lld to %lld words with %lld skips", (long long)least, (long long)most,
             (long long)skip);
    else return true;
    return false;
}
static void op_tfidf(void) {
    T x = in(0);
    const char *mode = str_attr("mode");
    int64_t *pool, size, count, longest, results;
    struct gram *grams;
    struct ngram_tables t;
    if (!tfidf_is_right(x, mode)) return;
    X i = axes(rank(x) == 2 ? shape(x) : list2(idx(1), dim(x, 0)));
    E rows = i.v[0]->u.var->extent, columns = dim(x, rank(x) - 1);
    T number = numbered(x, given("pool_int64s"), given("pool_strings"), &pool, &size);
    if (!read_grams(pool, size, &grams, &count, &longest) || !ngram_tables(&t, grams, count, longest, &results)) return;
    T words = stage("words", I64, i,
                    number         ? at(number, list1(rank(x) == 2 ? flatten_index(i, shape(x)) : i.v[1]))
                    : rank(x) == 2 ? cast(I64, at(x, i))
                                   : cast(I64, at(x, list1(i.v[1]))));
    T found = scratch("found", F32, list2(rows, idx(results)));
    const T bufs[] = {words, const_table("ngrams", t.gram), const_table("first", t.first),
                      const_table("place", t.place), found};
    const E sizes[] = {rows,
                       columns,
                       idx(count),
                       idx(longest),
                       idx(longest + 1),
                       idx(results),
                       idx(int_attr("min_gram_length")),
                       idx(int_attr("max_gram_length")),
                       idx(int_attr("max_skip_count"))};
    call_kernel("ngrams", F32, bufs, 5, sizes, 9);
    X o = axes(rank(x) == 2 ? list2(rows, idx(results)) : list1(idx(results)));
    E n = at(found, rank(x) == 2 ? o : list2(idx(0), o.v[0]));
    E weight = at(const_table("weights", t.weight), list1(o.v[o.n - 1]));
    out(0, F32, o,
        !strcmp(mode, "TFIDF") ? mul(n, weight)
        : !strcmp(mode, "IDF") ? sel(gt(n, num(0)), weight, typed(F32, 0))
                               : n);
}

/* ---- between numbers and strings, for Cast */
enum { NUMBER_BYTES = 24 };
void out_number_text(T x) {
    enum dtype v = dtype_value(dtype(x));
    bool flt = v == F32 || v == F64;
    X i = axes(shape(x));
    E value = at(x, i), n = numel(x);
    T code = stage("code", I64, i, flt ? NATIVE("float_text", cast(F64, value)) : cast(I64, value));
    T bytes = kept_bytes("bytes", mul(n, idx(NUMBER_BYTES)));
    const T bufs[] = {code, bytes, result(0, STR, shape(x))};
    call_kernel("number_text", STR, bufs, 3, (const E[]){n, idx(flt ? 0 : v == U64 || v == U32 ? 2 : 1)}, 2);
}
void out_number_of_text(enum dtype t, T x) {
    enum dtype v = dtype_value(t);
    bool flt = v == F32 || v == F64, plain = t == BOOL || t == U8 || t == U16 || t == U32 || t == U64;
    E kind = typed(I32, flt ? 0 : plain ? 2 : 1);
    X r = raxes(shape(x), NULL), i = axes(shape(x));
    T wrong = reduce("wrong", I64, list0(), RED_SUM, r,
                     sel(eq(NATIVE("is_number", at(x, r), kind), num(0)), typed(I64, 1), typed(I64, 0)), NULL);
    require(eq(size_from("wrong", wrong, 0, idx(0), idx(DIM_MAX)), idx(0)), "a string is no number of this type");
    E value = flt ? NATIVE("float_of", at(x, i)) : NATIVE("integer_of", at(x, i), kind);
    out(0, t, i, cast(t, v == F32 ? cast(F32, value) : value));
}

static const struct op_slot s_strings[] = {{"X", TSET(STR), 0}, {"Y", TSET(STR), 0}, {0}},
                            s_split[] = {{"Y", TSET(STR), 0}, {"Z", TSET(I64), 0}, {0}},
                            s_string_out[] = {{"Y", TSET(STR), 0}, {0}};
static const struct op_attr a_split[] = {A_STRING("delimiter"), A_INT("maxsplit"), {0}};
static const struct op_slot s_tfidf[] = {{"X", TSET(STR) | TS_INDEX, 0}, {0}};
static const struct op_attr a_tfidf[] = {A_INT("max_gram_length", .flags = A_REQUIRED),
                                         A_INT("max_skip_count", .flags = A_REQUIRED),
                                         A_INT("min_gram_length", .flags = A_REQUIRED),
                                         A_STRING("mode", .flags = A_REQUIRED),
                                         A_INTS("ngram_counts", .flags = A_REQUIRED),
                                         A_INTS("ngram_indexes", .flags = A_REQUIRED),
                                         A_INTS("pool_int64s"),
                                         A_STRINGS("pool_strings"),
                                         A_FLOATS("weights"),
                                         {0}};
static const struct op_attr a_normalizer[] = {A_STRING("case_change_action", .s = "NONE"),
                                              A_INT("is_case_sensitive"),
                                              A_STRING("locale"),
                                              A_STRINGS("stopwords"),
                                              {0}};

const struct op ops_string[] = {
    {"", "StringConcat", 20, 20, attrs_none, s_strings, s_string_out, .define = op_stringconcat,
     .spec = "StringConcat-20"},
    {"", "StringSplit", 20, 20, a_split, slots_text, s_split, .define = op_stringsplit,
     .spec = "StringSplit-20; blanks are those of ASCII"},
    {"", "StringNormalizer", 10, 10, a_normalizer, slots_text, s_string_out, .define = op_stringnormalizer,
     .spec = "StringNormalizer-10; Unicode's simple case mapping, whatever the locale"},
    {"", "TfIdfVectorizer", 9, 9, a_tfidf, s_tfidf, slots_y, .define = op_tfidf, .spec = "TfIdfVectorizer-9"},
    {0},
};
