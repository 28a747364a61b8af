/* Ranges of calibrated tensors; see range.h. */
#include "compiler/quantize/range.h"
#include <float.h>
#include <math.h>
#include <string.h>

/* ---- histograms */
static double bin_width(const struct histogram *h) { return (h->hi - h->lo) / HISTOGRAM_BINS; }
static double bin_middle(const struct histogram *h, int k) { return h->lo + (k + 0.5) * bin_width(h); }
static double greatest_magnitude(const struct histogram *h) { return fmax(fabs(h->lo), fabs(h->hi)); }
static int bin_of(double v, double width) {
    double k = width > 0 ? floor(v / width) : 0;
    return k < 0 ? 0 : k >= HISTOGRAM_BINS ? HISTOGRAM_BINS - 1 : (int)k;
}
void histogram_add(struct histogram *h, double v) {
    h->count[bin_of(v - h->lo, bin_width(h))]++;
    if (v != 0) h->magnitude[bin_of(fabs(v), greatest_magnitude(h) / HISTOGRAM_BINS)]++;
}
static int64_t total(const struct histogram *h) {
    int64_t n = 0;
    for (int k = 0; k < HISTOGRAM_BINS; k++) n += h->count[k];
    return n;
}

/* ---- codes */
struct quantity quantity_of_range(struct range r) {
    double lo = fmin(r.lo, 0), hi = fmax(r.hi, 0), scale = (hi - lo) / (CODE_MOST - CODE_LEAST);
    if (!(scale >= FLT_MIN)) return (struct quantity){1, 0}; /* all zeros */
    double zero = nearbyint(CODE_LEAST - lo / (double)(float)scale);
    return (struct quantity){(float)scale, (int)fmin(fmax(zero, CODE_LEAST), CODE_MOST)};
}
struct quantity quantity_around_zero(double most, int greatest) {
    double scale = most / greatest;
    return (struct quantity){scale >= FLT_MIN ? (float)scale : 1, 0};
}
int quantity_code(struct quantity q, double v) {
    double code = nearbyint(v / (double)q.scale) + q.zero;
    return (int)fmin(fmax(code, CODE_LEAST), CODE_MOST);
}

/* ---- methods */
#define ROW(method, word) [method] = word,
static const char *const words[] = {RANGE_METHODS(ROW)};
#undef ROW
const char *range_method_word(enum range_method m) { return words[m]; }
enum range_method range_method_named(const char *word) {
    for (size_t k = 1; k < sizeof words / sizeof *words; k++)
        if (!strcmp(words[k], word)) return (enum range_method)k;
    return (enum range_method)0;
}
/* Removes the rarest values at either end: bins from the outside inwards, and part of the last one. */
static double bins_outside(const struct histogram *h, double values, int from, int step) {
    double bins = 0;
    for (int k = from; k >= 0 && k < HISTOGRAM_BINS; k += step) {
        double in = (double)h->count[k];
        if (in > values) return bins + values / in;
        values -= in, bins++;
    }
    return bins;
}
static struct range percentile_range(const struct histogram *h, double percentile) {
    double outside = (double)total(h) * (1 - percentile / 100) / 2;
    return (struct range){h->lo + bin_width(h) * bins_outside(h, outside, 0, 1),
                          h->hi - bin_width(h) * bins_outside(h, outside, HISTOGRAM_BINS - 1, -1)};
}
/* The sum of squared errors from rounding to the codes of a range, and from clamping to it. The squared error of a
 * rounded value is a twelfth of a squared step on average. */
static double squared_error(const struct histogram *h, struct range r) {
    double step = (r.hi - r.lo) / (CODE_MOST - CODE_LEAST), sum = 0;
    for (int k = 0; k < HISTOGRAM_BINS; k++) {
        double v = bin_middle(h, k), off = v < r.lo ? r.lo - v : v > r.hi ? v - r.hi : 0;
        sum += (double)h->count[k] * (off > 0 ? off * off : step * step / 12);
    }
    return sum;
}
static struct range mse_range(const struct histogram *h) {
    enum { STEPS = 100 };
    struct range whole = {fmin(h->lo, 0), fmax(h->hi, 0)}, best = whole;
    double least = squared_error(h, whole);
    for (int k = 1; k < STEPS; k++) {
        struct range r = {whole.lo * k / STEPS, whole.hi * k / STEPS};
        double e = squared_error(h, r);
        if (e < least) least = e, best = r;
    }
    return best;
}
/* Kullback-Leibler divergence of the first n bins, with all beyond them added to the last, from the same merged into
 * `levels` bins, each spread evenly over those of its bins that are not empty. */
static double divergence(const int64_t *p, int n, int levels, double beyond) {
    double sum = 0, d = 0;
    for (int k = 0; k < n; k++) sum += (double)p[k];
    if (!(sum > 0)) return DBL_MAX;
    for (int j = 0; j < levels; j++) {
        int from = (int)((int64_t)j * n / levels), to = (int)((int64_t)(j + 1) * n / levels), held = 0;
        double in = 0;
        for (int k = from; k < to; k++) in += (double)p[k], held += p[k] > 0;
        for (int k = from; k < to; k++) {
            double have = (double)p[k] + (k == n - 1 ? beyond : 0), q = p[k] > 0 ? in / held / sum : 0;
            if (!(have > 0)) continue;
            have /= sum + beyond;
            d += have * log(have / fmax(q, DBL_MIN));
        }
    }
    return d;
}
static struct range entropy_range(const struct histogram *h) {
    double most = greatest_magnitude(h), beyond = 0, least = DBL_MAX;
    bool one_sign = h->lo >= 0 || h->hi <= 0;
    int levels = one_sign ? CODE_MOST - CODE_LEAST : CODE_MOST + 1, best = HISTOGRAM_BINS;
    if (!(most > 0)) return (struct range){0, 0};
    for (int n = HISTOGRAM_BINS; n >= levels; n--) {
        double d = divergence(h->magnitude, n, levels, beyond);
        if (d < least) least = d, best = n;
        beyond += (double)h->magnitude[n - 1];
    }
    double end = most * best / HISTOGRAM_BINS;
    return (struct range){fmax(h->lo, -end), fmin(h->hi, end)};
}
struct range range_choose(const struct histogram *h, enum range_method method, double percentile) {
    if (h->lo > h->hi) return (struct range){0, 0};
    switch (method) {
    case RANGE_PERCENTILE: return percentile_range(h, percentile);
    case RANGE_ENTROPY: return entropy_range(h);
    case RANGE_MSE: return mse_range(h);
    case RANGE_MINMAX: break;
    }
    return (struct range){h->lo, h->hi};
}

/* ---- comparing */
double histogram_distance(const struct histogram *a, const struct histogram *b) {
    double na = (double)total(a), nb = (double)total(b), d = 0;
    if (!(na > 0) || !(nb > 0)) return 0;
    for (int k = 0; k < HISTOGRAM_BINS; k++) {
        double p = (double)a->count[k] / na, q = (double)b->count[k] / nb, m = (p + q) / 2;
        if (p > 0) d += p * log2(p / m) / 2;
        if (q > 0) d += q * log2(q / m) / 2;
    }
    return d;
}
