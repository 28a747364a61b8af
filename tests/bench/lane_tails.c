/* What is left over when an axis is no multiple of the lanes: narrower vectors, masks, or panels padded to whole
 * vectors? The measurement behind docs/adr/0004. AVX2:  gcc -O3 -mavx2 -mfma tests/bench/lane_tails.c -o lane_tails &&
 * ./lane_tails Prints medians of paired time ratios; above 1: the other form is faster than narrower vectors. */
#include <immintrin.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KERNEL static __attribute__((noinline)) void
enum { RUNS = 301, M = 96, K = 256, N = 15, ROWS = 3 };

static __m256i first_lanes(int n) {
    int m[8];
    for (int i = 0; i < 8; i++) m[i] = i < n ? -1 : 0;
    return _mm256_loadu_si256((const __m256i *)m);
}
static __m256 map8(__m256 v) { return _mm256_max_ps(_mm256_mul_ps(v, _mm256_set1_ps(1.5f)), _mm256_setzero_ps()); }
static __m128 map4(__m128 v) { return _mm_max_ps(_mm_mul_ps(v, _mm_set1_ps(1.5f)), _mm_setzero_ps()); }
static __m128 load2(const float *p) { return _mm_castpd_ps(_mm_load_sd((const double *)p)); }
static void store2(float *p, __m128 v) { _mm_store_sd((double *)p, _mm_castps_pd(v)); }

/* ---- a map over rows of d cells */
KERNEL map_narrow(const float *x, float *y, int rows, int d) {
    for (int i = 0; i < rows; i++, x += d, y += d) {
        int k = 0;
        for (; k + 8 <= d; k += 8) _mm256_storeu_ps(y + k, map8(_mm256_loadu_ps(x + k)));
        if (d & 4) _mm_storeu_ps(y + k, map4(_mm_loadu_ps(x + k))), k += 4;
        if (d & 2) store2(y + k, map4(load2(x + k))), k += 2;
        if (d & 1) y[k] = x[k] * 1.5f > 0 ? x[k] * 1.5f : 0;
    }
}
KERNEL map_masked(const float *x, float *y, int rows, int d) {
    __m256i m = first_lanes(d % 8);
    for (int i = 0; i < rows; i++, x += d, y += d) {
        int k = 0;
        for (; k + 8 <= d; k += 8) _mm256_storeu_ps(y + k, map8(_mm256_loadu_ps(x + k)));
        if (d % 8) _mm256_maskstore_ps(y + k, m, map8(_mm256_maskload_ps(x + k, m)));
    }
}

/* ---- a product, tiles of ROWS rows by N = 15 columns */
KERNEL product_narrow(const float *a, const float *w, float *y) {
    for (int i = 0; i < M; i += ROWS, a += ROWS * K, y += ROWS * N) {
        __m256 c8[ROWS];
        __m128 c4[ROWS], c2[ROWS];
        float c1[ROWS];
        for (int r = 0; r < ROWS; r++) c8[r] = _mm256_setzero_ps(), c4[r] = c2[r] = _mm_setzero_ps(), c1[r] = 0;
        for (int k = 0; k < K; k++) {
            const float *p = w + k * N;
            __m256 b8 = _mm256_loadu_ps(p);
            __m128 b4 = _mm_loadu_ps(p + 8), b2 = load2(p + 12);
            for (int r = 0; r < ROWS; r++) {
                float v = a[r * K + k];
                c8[r] = _mm256_fmadd_ps(_mm256_set1_ps(v), b8, c8[r]);
                c4[r] = _mm_fmadd_ps(_mm_set1_ps(v), b4, c4[r]);
                c2[r] = _mm_fmadd_ps(_mm_set1_ps(v), b2, c2[r]);
                c1[r] = __builtin_fmaf(v, p[14], c1[r]);
            }
        }
        for (int r = 0; r < ROWS; r++) {
            _mm256_storeu_ps(y + r * N, c8[r]);
            _mm_storeu_ps(y + r * N + 8, c4[r]);
            store2(y + r * N + 12, c2[r]);
            y[r * N + 14] = c1[r];
        }
    }
}
/* masked: operands and results by masks. Else the panels of w are padded to 16, and the last lanes stored by a copy. */
static inline void product_whole(const float *a, const float *w, float *y, int pitch, int masked) {
    __m256i m = first_lanes(N - 8);
    for (int i = 0; i < M; i += ROWS, a += ROWS * K, y += ROWS * N) {
        __m256 c[ROWS], d[ROWS];
        for (int r = 0; r < ROWS; r++) c[r] = d[r] = _mm256_setzero_ps();
        for (int k = 0; k < K; k++) {
            const float *p = w + k * pitch;
            __m256 b8 = _mm256_loadu_ps(p), rest = masked ? _mm256_maskload_ps(p + 8, m) : _mm256_loadu_ps(p + 8);
            for (int r = 0; r < ROWS; r++) {
                float v = a[r * K + k];
                c[r] = _mm256_fmadd_ps(_mm256_set1_ps(v), b8, c[r]);
                d[r] = _mm256_fmadd_ps(_mm256_set1_ps(v), rest, d[r]);
            }
        }
        for (int r = 0; r < ROWS; r++) {
            float last[8];
            _mm256_storeu_ps(y + r * N, c[r]);
            if (masked) {
                _mm256_maskstore_ps(y + r * N + 8, m, d[r]);
                continue;
            }
            _mm256_storeu_ps(last, d[r]);
            memcpy(y + r * N + 8, last, (N - 8) * sizeof *last);
        }
    }
}
KERNEL product_masked(const float *a, const float *w, float *y) { product_whole(a, w, y, N, 1); }
KERNEL product_padded(const float *a, const float *w, float *y) { product_whole(a, w, y, 16, 0); }

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *v) {
    qsort(v, RUNS, sizeof *v, by_value);
    return v[RUNS / 2];
}
int main(void) {
    static float x[1 << 16], y[1 << 16], w[1 << 14];
    static const int lengths[] = {7, 9, 10, 12, 15, 23, 31, 63};
    double masked[RUNS], padded[RUNS];
    for (int i = 0; i < 1 << 16; i++) x[i] = (float)(i % 13) - 6;
    for (int i = 0; i < 1 << 14; i++) w[i] = (float)(i % 7) - 3;
    for (size_t q = 0; q < sizeof lengths / sizeof *lengths; q++) {
        int d = lengths[q], rows = 8192 / d;
        for (int r = 0; r < RUNS; r++) {
            double a = seconds();
            for (int j = 0; j < 10; j++) map_narrow(x, y, rows, d);
            double b = seconds();
            for (int j = 0; j < 10; j++) map_masked(x, y, rows, d);
            masked[r] = (b - a) / (seconds() - b);
        }
        printf("map, rows of %2d: narrower / masked %.2f\n", d, median(masked));
    }
    for (int r = 0; r < RUNS; r++) {
        double a = seconds();
        product_narrow(x, w, y);
        double b = seconds();
        product_masked(x, w, y);
        double c = seconds();
        product_padded(x, w, y);
        masked[r] = (b - a) / (c - b), padded[r] = (b - a) / (seconds() - c);
    }
    printf("product %dx%dx%d: narrower / masked %.2f, narrower / padded %.2f\n", M, K, N, median(masked),
           median(padded));
    return 0;
}
