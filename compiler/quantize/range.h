/* From the values of a tensor to the range for its 8-bit codes, and from the range to scale and zero point: the
 * decision of calibration in `gcc2nn quantize` for each tensor. No graph, no files: compiler/observe.c fills the
 * histograms, insert.c reads the quantities. */
#ifndef NN_COMPILER_QUANTIZE_RANGE_H
#define NN_COMPILER_QUANTIZE_RANGE_H
#include <stdbool.h>
#include <stdint.h>

/* MINMAX: all values seen. PERCENTILE: without the rarest at either end. MSE: the range with the least squared error of
 * rounding and clamping. ENTROPY: the range with the least loss of information (Kullback-Leibler divergence; S. Migacz,
 * 8-bit Inference with TensorRT, GTC 2017). */
enum range_method { RANGE_MINMAX, RANGE_PERCENTILE, RANGE_ENTROPY, RANGE_MSE };
/* row, word */
#define RANGE_METHODS(ROW)                                                                                             \
    ROW(RANGE_MINMAX, "minmax")                                                                                        \
    ROW(RANGE_PERCENTILE, "percentile")                                                                                \
    ROW(RANGE_ENTROPY, "entropy")                                                                                      \
    ROW(RANGE_MSE, "mse")
#define RANGE_METHOD_WORD(method, word) word " "
#define RANGE_METHOD_WORDS              RANGE_METHODS(RANGE_METHOD_WORD)
const char *range_method_word(enum range_method m);
enum range_method range_method_named(const char *word); /* one of these words */

/* Counts of values in equal bins of [lo, hi], and of magnitudes in bins from 0 to the greatest; the latter without
 * zeros, which have a code in any range, and of which a Relu produces so many that they would outweigh all others. */
enum { HISTOGRAM_BINS = 2048 };
struct histogram {
    double lo, hi; /* least and greatest value; lo > hi: there were none */
    int64_t count[HISTOGRAM_BINS], magnitude[HISTOGRAM_BINS];
};
void histogram_add(struct histogram *h, double v); /* values outside of the range are counted in the last bin */

struct range {
    double lo, hi;
};
/* percentile: percentage of the values inside the range, such as 99.99, for that method. Without values: an empty range
 * at 0. */
struct range range_choose(const struct histogram *h, enum range_method method, double percentile);

/* Statistics of the values of one tensor, over all samples. */
struct seen {
    struct histogram values;
    double *channel_sum;    /* for each index of axis 1, in tensors of rank 2 or more */
    int64_t channels, each; /* their number, and the number of values in each sum */
    int64_t all, outside;   /* number of values, and of those outside of the chosen range */
};
/* value = scale * (code - zero). */
struct quantity {
    float scale;
    int zero;
};
enum { CODE_LEAST = -128, CODE_MOST = 127, SEVEN_BITS = 64 };
/* Codes of 8 bits for a range, which is extended to include 0, so that the zeros of padding have a code. */
struct quantity quantity_of_range(struct range r);
/* Symmetric codes, -greatest to greatest, for values up to `most`, as for weights: zero point 0. */
struct quantity quantity_around_zero(double most, int greatest);
int quantity_code(struct quantity q, double v); /* the nearest code, ties to even, as QuantizeLinear does */
/* Distance of two histograms with the same bins: the Jensen-Shannon divergence, 0 (equal) to 1 (disjoint). */
double histogram_distance(const struct histogram *a, const struct histogram *b);
#endif
