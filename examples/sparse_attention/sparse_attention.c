#include <math.h>
#include <stdint.h>

static float dot(const float *a, const float *b, int64_t n) {
    float s = 0;
    for (int64_t i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

/** Attention in which each query looks at the keys of a list.
 *  @op      example.attention:SparseAttention
 *  @param q     [h, n, d]  queries of each head
 *  @param k     [h, m, d]  keys
 *  @param v     [h, m, d]  values
 *  @param keys  [n, t]     which keys each query looks at; negative: none
 *  @param y     [h, n, d]  the result; 0 for a query that looks at none
 *  @attr  scale = 1        what products are multiplied with
 */
void sparse_attention(const float *q, const float *k, const float *v, const int64_t *keys, float *y, int64_t h,
                      int64_t n, int64_t m, int64_t d, int64_t t, float scale) {
    for (int64_t head = 0; head < h; head++)
        for (int64_t i = 0; i < n; i++) {
            const float *own = q + (head * n + i) * d;
            float *to = y + (head * n + i) * d, greatest = -INFINITY, sum = 0;
            for (int64_t c = 0; c < d; c++) to[c] = 0;
            for (int64_t j = 0; j < t; j++) { /* sums are scaled anew whenever a greater product is found */
                const int64_t key = keys[i * t + j];
                if (key < 0 || key >= m) continue;
                const float product = scale * dot(own, k + (head * m + key) * d, d);
                const float most = product > greatest ? product : greatest;
                const float before = expf(greatest - most), weight = expf(product - most);
                const float *value = v + (head * m + key) * d;
                for (int64_t c = 0; c < d; c++) to[c] = to[c] * before + weight * value[c];
                sum = sum * before + weight;
                greatest = most;
            }
            for (int64_t c = 0; c < d && sum > 0; c++) to[c] /= sum;
        }
}
