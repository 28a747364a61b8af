/* symbolic: kernels. Called from symbolic.c. */
#include <stddef.h>
#include <stdint.h>
#include <math.h>

#if defined __FAST_MATH__
#error "this code states its arithmetic exactly: compile it without -ffast-math"
#endif

static inline float nn_max_f32(float a, float b) {
    return a > b ? a : b;
}

static inline float nn_min_f32(float a, float b) {
    return a < b ? a : b;
}

static inline float nn_bits_i32_to_f32(int32_t x) {
    union { int32_t from; float to; } u;
    u.from = x;
    return u.to;
}

static inline int32_t nn_bits_f32_to_i32(float x) {
    union { float from; int32_t to; } u;
    u.from = x;
    return u.to;
}

static inline int32_t nn_sub_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a - (uint32_t)b);
}

static inline int32_t nn_add_i32(int32_t a, int32_t b) {
    return (int32_t)((uint32_t)a + (uint32_t)b);
}

static inline int32_t nn_shr_i32(int32_t a, int32_t b) {
    return (uint32_t)b >= 32 ? 0 : a < 0 ? ~(int32_t)((uint32_t)~a >> b) : (int32_t)((uint32_t)a >> b);
}

static inline int32_t nn_shl_i32(int32_t a, int32_t b) {
    return (uint32_t)b < 32 ? (int32_t)((uint32_t)a << b) : 0;
}

static inline float nn_fn_exp_parts(float a, float b, int32_t c) {
    const float t0 = nn_max_f32(-104.0f, nn_min_f32(90.0f, a));
    const float t1 = fmaf(t0, 1.442695f, 12582912.0f);
    const float t2 = t1 - 12582912.0f;
    const float t3 = fmaf(t2, -1.4286068e-06f, fmaf(t2, -0.69314575f, t0)) + b;
    const int32_t t4 = nn_add_i32(nn_sub_i32(nn_bits_f32_to_i32(t1), 1262485504), c);
    const int32_t t5 = nn_shr_i32(t4, 1);
    return fmaf(fmaf(fmaf(fmaf(fmaf(fmaf(0.0013953593f, t3, 0.008369461f), t3, 0.041666154f), t3, 0.16666514f), t3,
            0.5f), t3, 1.0f), t3, 1.0f) * nn_bits_i32_to_f32(nn_shl_i32(nn_add_i32(t5, 127), 23))
            * nn_bits_i32_to_f32(nn_shl_i32(nn_add_i32(nn_sub_i32(t4, t5), 127), 23));
}

static inline float nn_fn_v_exp(float x) {
    return nn_fn_exp_parts(x, -0.0f, 0);
}
#include "symbolic_kernels.h"

/* node 0 (Add)
 * node 1 (Softmax)
 *   x: f32[N, 3] in
 *   w: f32[3] in
 *   y: f32[N, 3] out
 * schedule: reorder y.i0 y.i1; compute_at sum y.i0 reg; compute_at exp y.i0 stack; compute_at max y.i0 reg;
 *   compute_at add y.i0 stack
 */
void symbolic_k0_add(const float *restrict x, const float *restrict w, float *restrict y, ptrdiff_t N) {
    for (ptrdiff_t i0 = 0; i0 < N; i0++) {
        const float *x_i0 = x + i0 * 3;
        float *y_i0 = y + i0 * 3;
        float sum;
        sum = 0.0f;
        float v_exp[3];
        float v_max;
        v_max = -INFINITY;
        float add[3];
        for (ptrdiff_t i1 = 0; i1 < 3; i1++) {
            add[i1] = x_i0[i1] + w[i1];
        }
        for (ptrdiff_t r0 = 0; r0 < 3; r0++) {
            v_max = nn_max_f32(add[r0], v_max);
        }
        for (ptrdiff_t i1 = 0; i1 < 3; i1++) {
            v_exp[i1] = nn_fn_v_exp(add[i1] - v_max);
        }
        for (ptrdiff_t r0 = 0; r0 < 3; r0++) {
            sum += v_exp[r0];
        }
        for (ptrdiff_t i1 = 0; i1 < 3; i1++) {
            y_i0[i1] = v_exp[i1] / sum;
        }
    }
}

/* node 2 (Concat)
 *   y: f32[N*2, 3] out
 *   x: f32[N, 3] in
 *   x1: f32[N, 3] in
 */
void symbolic_k1_concat(float *restrict y, const float *restrict x, const float *restrict x1, ptrdiff_t N) {
    for (ptrdiff_t i0 = 0; i0 < N; i0++) {
        const float *x_i0 = x + i0 * 3;
        float *y_i0 = y + i0 * 3;
        for (ptrdiff_t i1 = 0; i1 < 3; i1++) {
            y_i0[i1] = x_i0[i1];
        }
    }
    for (ptrdiff_t i0 = 0; i0 < N; i0++) {
        const float *x1_i0 = x1 + i0 * 3;
        float *y_i0 = y + i0 * 3 + N * 3;
        for (ptrdiff_t i1 = 0; i1 < 3; i1++) {
            y_i0[i1] = x1_i0[i1];
        }
    }
}

/* node 3 (Shape)
 *   y: i64[2] out
 */
void symbolic_k2_shape(int64_t *restrict y, ptrdiff_t N) {
    for (ptrdiff_t i0 = 0; i0 < 2; i0++) {
        y[i0] = (int64_t)(i0 == 0 ? N * 2 : 3);
    }
}

