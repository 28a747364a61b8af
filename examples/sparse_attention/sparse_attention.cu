/** The same on a GPU: a block for each query and head, a thread for each of its keys, then for each column.
 *  @op      example.attention:SparseAttention
 *  @param q     [h, n, d]
 *  @param k     [h, m, d]
 *  @param v     [h, m, d]
 *  @param keys  [n, t]
 *  @param y     [h, n, d]
 *  @attr  scale = 1
 *  @grid  n, h
 *  @block 32
 */
__global__ void sparse_attention(const float *q, const float *k, const float *v, const int64_t *keys, float *y, int64_t h,
                                 int64_t n, int64_t m, int64_t d, int64_t t, float scale) {
    __shared__ float weights[32];
    const int64_t i = blockIdx.x, head = blockIdx.y;
    float greatest = -INFINITY, sum = 0;
    (void)h;
    for (int64_t c = threadIdx.x; c < d; c += blockDim.x) y[(head * n + i) * d + c] = 0;
    for (int64_t first = 0; first < t; first += blockDim.x) { /* as many keys at a time as there are threads */
        const int64_t j = first + threadIdx.x, key = j < t ? keys[i * t + j] : -1;
        float product = -INFINITY;
        if (key >= 0 && key < m) {
            product = 0;
            for (int64_t c = 0; c < d; c++) product += q[(head * n + i) * d + c] * k[(head * m + key) * d + c];
            product *= scale;
        }
        weights[threadIdx.x] = product;
        __syncthreads();
        float most = greatest;
        for (unsigned l = 0; l < blockDim.x; l++) most = weights[l] > most ? weights[l] : most;
        const float before = most > greatest ? expf(greatest - most) : 1.0f;
        sum *= before;
        for (unsigned l = 0; l < blockDim.x; l++) sum += weights[l] == -INFINITY ? 0.0f : expf(weights[l] - most);
        for (int64_t c = threadIdx.x; c < d; c += blockDim.x) {
            float s = y[(head * n + i) * d + c] * before;
            for (unsigned l = 0; l < blockDim.x; l++)
                if (weights[l] != -INFINITY)
                    s += expf(weights[l] - most) * v[(head * m + keys[i * t + first + l]) * d + c];
            y[(head * n + i) * d + c] = s;
        }
        greatest = most;
        __syncthreads();
    }
    for (int64_t c = threadIdx.x; c < d && sum > 0; c += blockDim.x) y[(head * n + i) * d + c] /= sum;
}
