/* From the values that a tensor takes to the range that 8 bits are given to, and from the range to scale and zero
 * point: what calibration of `gcc2nn quantize` decides for each tensor. No graph, no files: compiler/observe.c
 * fills the histograms, insert.c reads the quantities. */
#ifndef NN_COMPILER_QUANTIZE_RANGE_H
#define NN_COMPILER_QUANTIZE_RANGE_H
#include <stdbool.h>
#include <stdint.h>

/* MINMAX: all that was seen. PERCENTILE: without the rarest on either side. MSE: the range whose squared error of
 * rounding and cutting off is least. ENTROPY: the range whose codes tell most about the values (Kullback-Leibler
 * divergence; S. Migacz, 8-bit Inference with TensorRT, GTC 2017). */
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

/* How often values fell into each of equal parts of [lo, hi], and their magnitudes into those from 0 to the greatest;
 * there without the zeros, which have a code in any range, and of which a Relu leaves so many that they outweigh all.
 */
enum { HISTOGRAM_BINS = 2048 };
struct histogram {
    double lo, hi; /* least and greatest value; lo > hi: none was seen */
    int64_t count[HISTOGRAM_BINS], magnitude[HISTOGRAM_BINS];
};
void histogram_add(struct histogram *h, double v); /* one outside of the range counts in the part at its end */

struct range {
    double lo, hi;
};
/* percentile: of the values that the range of that method holds, such as 99.99. Nothing seen: an empty range at 0. */
struct range range_choose(const struct histogram *h, enum range_method method, double percentile);

/* What is known of the values of one tensor, over all samples. */
struct seen {
    struct histogram values;
    double *channel_sum;    /* of each index of axis 1, in tensors of rank 2 and more */
    int64_t channels, each; /* how many there are, of how many values each sum is */
    int64_t all, outside;   /* values, and those that lie outside of a range that is chosen */
};
/* value = scale * (code - zero). */
struct quantity {
    float scale;
    int zero;
};
enum { CODE_LEAST = -128, CODE_MOST = 127, SEVEN_BITS = 64 };
/* Codes of 8 bits for a range, which is widened to hold 0 so that a zero of padding has a code. */
struct quantity quantity_of_range(struct range r);
/* Codes of -greatest to greatest for values of both signs around 0 up to `most`, as weights have them: zero point 0. */
struct quantity quantity_around_zero(double most, int greatest);
int quantity_code(struct quantity q, double v); /* the nearest, halves to even, as QuantizeLinear does */
/* How far two histograms of the same parts lie apart: the Jensen-Shannon divergence, 0 (equal) to 1 (disjoint). */
double histogram_distance(const struct histogram *a, const struct histogram *b);
#endif
