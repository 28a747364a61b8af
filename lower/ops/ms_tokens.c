/* com.microsoft's operators over tokens and characters: NGramRepeatBlock, WordConvEmbedding. */
#include "lower/ops/ops.h"
#include <math.h>

/* ---- NGramRepeatBlock: tokens that would repeat the last n - 1 ones and what followed them then score -inf */
/* For each n-gram: -inf if its first n - 1 tokens are the latest ones, otherwise inf. in(1): the last token of each
 * n-gram. */
static void op_ngrammatches(void) {
    T ids = in(0), ends = in(1);
    int64_t n = int_attr("ngram_size");
    X o = axes_named(shape(ends), "b i");
    E grams = dim(ends, 1), other = typed(F32, (double)INFINITY);
    if (n == 1) {
        out(0, F32, o, neg(other));
        return;
    }
    E j = raxis(idx(n - 1), "j"), b = within(o.v[0], dim(ids, 0)), length = dim(ids, 1);
    E then = at(ids, list2(b, within(add(o.v[1], j), length))), now = at(ids, list2(b, within(add(grams, j), length)));
    T differ = reduce("differ", I32, o, RED_SUM, list1(j), sel(eq(then, now), typed(I32, 0), typed(I32, 1)), NULL);
    if (differ) out(0, F32, o, sel(eq(at(differ, o), typed(I32, 0)), neg(other), other));
}
static void exp_ngramrepeat(void) {
    V ids = n_cast(gin(0), I64), scores = gin(1);
    int64_t n = int_attr("ngram_size");
    if (fail_if(ids->type.rank != 2 || scores->type.rank != 2, E_RANK,
                "ids of rank %d and scores of rank %d; both must be 2", ids->type.rank, scores->type.rank))
        return;
    if (fail_if(n < 1 || n > 1 << 20, E_ATTR, "\"ngram_size\" is %lld, not from 1 to 2^20", (long long)n)) return;
    V ends = N_OP("Slice", ids, N_INTS(n - 1), N_INTS(INT64_MAX), N_INTS(1)), ins[] = {ids, ends};
    struct node *matches = n_private("NGramMatches", ins, 2, 1, ATTRS(attr_int("ngram_size", n)));
    V limit = n_cast(matches->outs.v[0], scores->type.dtype);
    gout(0, N_WITH("ScatterElements", ATTRS(attr_int("axis", 1), attr_str("reduction", "min")), scores, ends, limit));
}

/* ---- WordConvEmbedding: for each word, a row of characters padded with 0, the greatest tanh of a convolution */
/* The convolution of in(0), words by characters by their embedding: words by positions by filters. Positions after the
 * in(3) characters of a word, except the first one, get a value lower than all others. */
static void op_wordsums(void) {
    T x = in(0), w = in(1), bias = in(2), count = in(3);
    if (fail_if(rank(x) != 3 || rank(w) != 4 || rank(bias) != 1, E_RANK,
                "operands of rank %d, %d and %d; 3, 4 and 1 are expected", rank(x), rank(w), rank(bias)))
        return;
    E length = dim(x, 1), width = dim(w, 2), size = dim(x, 2), filters = dim(w, 0);
    static const char *const said[] = {"embedding_size", "conv_window_size", "char_embedding_size"};
    const E sizes[] = {filters, width, size};
    for (int k = 0; k < 3; k++)
        if (has_attr(said[k]))
            require(eq(sizes[k], idx(int_attr(said[k]))), "\"%s\" is not what the weights have", said[k]);
    require(eq(dim(w, 1), idx(1)), "the convolution has more than one channel");
    require(eq(dim(w, 3), size), "the convolution is for another size of characters");
    require(eq(dim(bias, 0), filters), "the bias is for another number of filters");
    require(le(width, length), "the words are shorter than the convolution");
    X o = axes_named(list3(dim(x, 0), add(sub(length, width), idx(1)), filters), "n p f");
    E j = raxis(width, "j"), e = raxis(size, "e"), letter = at(x, list3(o.v[0], within(add(o.v[1], j), length), e));
    X at_w = cat(list2(o.v[2], idx(0)), list2(j, within(e, dim(w, 3))));
    T sum = reduce("sum", F32, o, RED_SUM, (X){2, {j, e}}, mul(letter, at(w, at_w)), NULL);
    if (!sum) return;
    E letters = cast(I64, at(count, list1(within(o.v[0], dim(count, 0)))));
    E used = le(add(val(o.v[1]), val(width)), max_(letters, val(width)));
    E v = add(at(sum, o), at(bias, list1(within(o.v[2], dim(bias, 0)))));
    out(0, F32, o, sel(used, v, typed(F32, -(double)INFINITY)));
}
static void exp_wordconv(void) {
    V words = gin(0), table = gin(3), zero = n_const_f(I32, 0), second = N_INTS(1);
    if (fail_if(words->type.rank != 2 || table->type.rank != 2, E_RANK,
                "words of rank %d and a table of rank %d; both must be 2", words->type.rank, table->type.rank))
        return;
    struct attr flat = attr_int("keepdims", 0);
    V real = n_cast(N_OP("Greater", words, zero), I32), count = N_WITH("ReduceSum", ATTRS(flat), real, second);
    V factors[] = {N_OP("Gather", table, words), gin(1), gin(2), count};
    V sums = n_inferred(n_with_attrs("gcc2nn", "WordSums", factors, 4, 1));
    if (!sums) return;
    V first = N_OP("Slice", words, N_INTS(0), N_INTS(1), second), some = N_OP("Greater", first, zero);
    gout(0, N_OP("Where", some, N_WITH("ReduceMax", ATTRS(flat), N_OP("Tanh", sums), second), n_const_f(F32, 0)));
}

enum { TI = TSET(I64) | TSET(I32), TF = TSET(F32) };
static const struct op_slot s_repeat[] = {{"input_ids", TI, 0}, {"scores", TS_FLOAT, 0}, {0}},
                            s_matches[] = {{"ids", TSET(I64), 0}, {"ends", TSET(I64), 0}, {0}};
static const struct op_slot s_wordsums[] = {
    {"letters", TF, 0}, {"W", TF, 0}, {"B", TF, 0}, {"letters", TSET(I32), 0}, {0}};
static const struct op_slot s_words[] = {{"Sequence", TSET(I32), 0}, {"W", TF, 0}, {"B", TF, 0}, {"C", TF, 0}, {0}};
static const struct op_attr a_ngram[] = {A_INT("ngram_size", .flags = A_REQUIRED), {0}};
static const struct op_attr a_words[] = {
    A_INT("embedding_size"), A_INT("conv_window_size"), A_INT("char_embedding_size"), {0}};
const struct op ops_ms_tokens[] = {
    {"com.microsoft", "NGramRepeatBlock", 1, 1, a_ngram, s_repeat, slots_y, .expand = exp_ngramrepeat,
     .spec = "com.microsoft.NGramRepeatBlock"},
    {"com.microsoft", "WordConvEmbedding", 1, 1, a_words, s_words, slots_y, .expand = exp_wordconv,
     .spec = "com.microsoft.WordConvEmbedding; 0 for words without characters, of which it says nothing"},
    {"gcc2nn", "NGramMatches", 1, 1, a_ngram, s_matches, slots_y, .define = op_ngrammatches,
     .spec = "part of the expansion of NGramRepeatBlock"},
    {"gcc2nn", "WordSums", 1, 1, a_words, s_wordsums, slots_y, .define = op_wordsums,
     .spec = "part of the expansion of WordConvEmbedding"},
    {0},
};
