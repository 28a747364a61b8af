/* The AVX-512 intrinsics that lower/target/x86.c spells, each as two of AVX2 on the halves of its vectors, so that code
 * of x86-avx512 also runs where there is no AVX-512. `cc` beside this file includes it before the generated code. */
#ifndef __ASSEMBLER__
#include <immintrin.h>

/* What init asks instead of nn_cpu_lacks of nn_rt.c (`cc` links it so): any file may be the one that has it. */
const char *__wrap_nn1_cpu_lacks(const char *needs, const char *without);
__attribute__((weak)) const char *__wrap_nn1_cpu_lacks(const char *needs, const char *without) {
    (void)needs, (void)without;
    return 0;
}

#define EXACT _MM_FROUND_NO_EXC

typedef union {
    __m512 whole;
    __m256 half[2];
} nn_f32;
typedef union {
    __m512d whole;
    __m256d half[2];
} nn_f64;
typedef union {
    __m256i whole;
    __m128i half[2];
} nn_f16;

/* result = f(operands) for each half; the operands are of type `of`, as is what f gives unless `to` differs */
#define ONE(name, to, of, f, ...)                                                                                      \
    static inline __typeof__(((to *)0)->whole) nn_##name(__typeof__(((of *)0)->whole) a) {                             \
        of x = {a};                                                                                                    \
        to y;                                                                                                          \
        for (int i = 0; i < 2; i++) y.half[i] = f(x.half[i] __VA_ARGS__);                                              \
        return y.whole;                                                                                                \
    }
#define TWO(name, of, f)                                                                                               \
    static inline __typeof__(((of *)0)->whole) nn_##name(__typeof__(((of *)0)->whole) a,                               \
                                                         __typeof__(((of *)0)->whole) b) {                             \
        of x = {a}, y = {b};                                                                                           \
        for (int i = 0; i < 2; i++) y.half[i] = f(x.half[i], y.half[i]);                                               \
        return y.whole;                                                                                                \
    }
#define THREE(name, of, f)                                                                                             \
    static inline __typeof__(((of *)0)->whole) nn_##name(                                                              \
        __typeof__(((of *)0)->whole) a, __typeof__(((of *)0)->whole) b, __typeof__(((of *)0)->whole) c) {              \
        of x = {a}, y = {b}, z = {c};                                                                                  \
        for (int i = 0; i < 2; i++) z.half[i] = f(x.half[i], y.half[i], z.half[i]);                                    \
        return z.whole;                                                                                                \
    }

THREE(fmadd_ps, nn_f32, _mm256_fmadd_ps)
THREE(fmadd_pd, nn_f64, _mm256_fmadd_pd)
TWO(min_ps, nn_f32, _mm256_min_ps)
TWO(max_ps, nn_f32, _mm256_max_ps)
TWO(min_pd, nn_f64, _mm256_min_pd)
TWO(max_pd, nn_f64, _mm256_max_pd)
ONE(sqrt_ps, nn_f32, nn_f32, _mm256_sqrt_ps)
ONE(sqrt_pd, nn_f64, nn_f64, _mm256_sqrt_pd)
ONE(round_0, nn_f32, nn_f32, _mm256_round_ps, , _MM_FROUND_TO_NEAREST_INT | EXACT)
ONE(round_1, nn_f32, nn_f32, _mm256_round_ps, , _MM_FROUND_TO_NEG_INF | EXACT)
ONE(round_2, nn_f32, nn_f32, _mm256_round_ps, , _MM_FROUND_TO_POS_INF | EXACT)
ONE(round_3, nn_f32, nn_f32, _mm256_round_ps, , _MM_FROUND_TO_ZERO | EXACT)
ONE(cvtph_ps, nn_f32, nn_f16, _mm256_cvtph_ps)
ONE(cvtps_ph, nn_f16, nn_f32, _mm256_cvtps_ph, , _MM_FROUND_TO_NEAREST_INT | EXACT)
#undef EXACT

#define _mm512_fmadd_ps nn_fmadd_ps
#define _mm512_fmadd_pd nn_fmadd_pd
#define _mm512_min_ps   nn_min_ps
#define _mm512_max_ps   nn_max_ps
#define _mm512_min_pd   nn_min_pd
#define _mm512_max_pd   nn_max_pd
#define _mm512_sqrt_ps  nn_sqrt_ps
#define _mm512_sqrt_pd  nn_sqrt_pd
#define _mm512_cvtph_ps nn_cvtph_ps
#undef _mm512_roundscale_ps
#define _mm512_roundscale_ps(a, how)                                                                                   \
    (((how)&3) == 0 ? nn_round_0(a) : ((how)&3) == 1 ? nn_round_1(a) : ((how)&3) == 2 ? nn_round_2(a) : nn_round_3(a))
#undef _mm512_cvtps_ph
#define _mm512_cvtps_ph(a, how) nn_cvtps_ph(a)
#endif
