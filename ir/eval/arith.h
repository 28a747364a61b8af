/* The arithmetic of the loop IR, one macro per operation: r = op(x, y, z) on the member of `union reg` that belongs to
 * the type. Shared by the machine and by strips, so that both have the same bits. See docs/numbers.md N1, N5, N6. */
#ifndef NN_IR_LOOP_EVAL_ARITH_H
#define NN_IR_LOOP_EVAL_ARITH_H
#include "ir/eval/int.h"
#include <math.h>

/* member, unsigned member, its width, signed?  Floats: member and the suffix of their functions. */
#define M_I32      i
#define M_U32      u
#define M_I64      l
#define M_U64      w
#define M_F32      f
#define M_F64      d
#define UM_I32     u
#define UM_U32     u
#define UM_I64     w
#define UM_U64     w
#define CT_I32     int32_t
#define CT_U32     uint32_t
#define CT_I64     int64_t
#define CT_U64     uint64_t
#define CT_F32     float
#define CT_F64     double
#define CAT_(a, b) a##b
#define CAT(a, b)  CAT_(a, b)
#define M(t)       CAT(M_, t)
#define UM(t)      CAT(UM_, t)
#define CT(t)      CAT(CT_, t)

/* Each function has a version per type: op_add_I32 ... Signed arithmetic is done unsigned: it wraps. */
#define INT_FUNCS(T, S, U, IS_SIGNED)                                                                                  \
    static inline S e_add_##T(S a, S b) { return (S)((U)a + (U)b); }                                                   \
    static inline S e_sub_##T(S a, S b) { return (S)((U)a - (U)b); }                                                   \
    static inline S e_mul_##T(S a, S b) { return (S)((U)a * (U)b); }                                                   \
    static inline S e_fma_##T(S a, S b, S c) { return (S)((U)a * (U)b + (U)c); }                                       \
    static inline S e_div_##T(S a, S b) { return b == 0 ? 0 : IS_SIGNED && b == (S)-1 ? (S)(0 - (U)a) : (S)(a / b); }  \
    static inline S e_mod_##T(S a, S b) { return b == 0 || (IS_SIGNED && b == (S)-1) ? 0 : (S)(a % b); }               \
    static inline S e_neg_##T(S a) { return (S)(0 - (U)a); }                                                           \
    static inline S e_abs_##T(S a) { return IS_SIGNED && a < (S)1 ? (S)(0 - (U)a) : a; }                               \
    static inline S e_shl_##T(S a, S b) { return (U)b >= sizeof(U) * 8 ? 0 : (S)((U)a << (U)b); }                      \
    static inline S e_shr_##T(S a, S b) { return (U)b >= sizeof(U) * 8 ? 0 : (S)(a >> (U)b); }
INT_FUNCS(I32, int32_t, uint32_t, 1)
INT_FUNCS(U32, uint32_t, uint32_t, 0)
INT_FUNCS(I64, int64_t, uint64_t, 1)
INT_FUNCS(U64, uint64_t, uint64_t, 0)
#undef INT_FUNCS

#define FLT_FUNCS(T, S, x)                                                                                             \
    static inline S e_add_##T(S a, S b) { return a + b; }                                                              \
    static inline S e_sub_##T(S a, S b) { return a - b; }                                                              \
    static inline S e_mul_##T(S a, S b) { return a * b; }                                                              \
    static inline S e_fma_##T(S a, S b, S c) { return fma##x(a, b, c); }                                               \
    static inline S e_div_##T(S a, S b) { return a / b; }                                                              \
    static inline S e_mod_##T(S a, S b) { return fmod##x(a, b); }                                                      \
    static inline S e_neg_##T(S a) { return -a; }                                                                      \
    static inline S e_abs_##T(S a) { return fabs##x(a); }                                                              \
    static inline S e_sqrt_##T(S a) { return sqrt##x(a); }                                                             \
    static inline S e_floor_##T(S a) { return floor##x(a); }                                                           \
    static inline S e_ceil_##T(S a) { return ceil##x(a); }                                                             \
    static inline S e_trunc_##T(S a) { return trunc##x(a); }                                                           \
    static inline S e_rint_##T(S a) { return rint##x(a); }
FLT_FUNCS(F32, float, f)
FLT_FUNCS(F64, double, )
#undef FLT_FUNCS

#define DO_ADD(t, r, x, y, z)   (r).M(t) = e_add_##t((x).M(t), (y).M(t))
#define DO_SUB(t, r, x, y, z)   (r).M(t) = e_sub_##t((x).M(t), (y).M(t))
#define DO_MUL(t, r, x, y, z)   (r).M(t) = e_mul_##t((x).M(t), (y).M(t))
#define DO_DIV(t, r, x, y, z)   (r).M(t) = e_div_##t((x).M(t), (y).M(t))
#define DO_MOD(t, r, x, y, z)   (r).M(t) = e_mod_##t((x).M(t), (y).M(t))
#define DO_FMA(t, r, x, y, z)   (r).M(t) = e_fma_##t((x).M(t), (y).M(t), (z).M(t))
#define DO_MIN(t, r, x, y, z)   (r).M(t) = (x).M(t) < (y).M(t) ? (x).M(t) : (y).M(t)
#define DO_MAX(t, r, x, y, z)   (r).M(t) = (x).M(t) > (y).M(t) ? (x).M(t) : (y).M(t)
#define DO_NEG(t, r, x, y, z)   (r).M(t) = e_neg_##t((x).M(t))
#define DO_ABS(t, r, x, y, z)   (r).M(t) = e_abs_##t((x).M(t))
#define DO_LT(t, r, x, y, z)    (r).l = (x).M(t) < (y).M(t)
#define DO_LE(t, r, x, y, z)    (r).l = (x).M(t) <= (y).M(t)
#define DO_EQ(t, r, x, y, z)    (r).l = (x).M(t) == (y).M(t)
#define DO_NE(t, r, x, y, z)    (r).l = (x).M(t) != (y).M(t)
#define DO_SQRT(t, r, x, y, z)  (r).M(t) = e_sqrt_##t((x).M(t))
#define DO_FLOOR(t, r, x, y, z) (r).M(t) = e_floor_##t((x).M(t))
#define DO_CEIL(t, r, x, y, z)  (r).M(t) = e_ceil_##t((x).M(t))
#define DO_TRUNC(t, r, x, y, z) (r).M(t) = e_trunc_##t((x).M(t))
#define DO_RINT(t, r, x, y, z)  (r).M(t) = e_rint_##t((x).M(t))
#define DO_AND(t, r, x, y, z)   (r).UM(t) = (x).UM(t) & (y).UM(t)
#define DO_OR(t, r, x, y, z)    (r).UM(t) = (x).UM(t) | (y).UM(t)
#define DO_XOR(t, r, x, y, z)   (r).UM(t) = (x).UM(t) ^ (y).UM(t)
#define DO_NOT(t, r, x, y, z)   (r).UM(t) = ~(x).UM(t)
#define DO_SHL(t, r, x, y, z)   (r).M(t) = e_shl_##t((x).M(t), (y).M(t))
#define DO_SHR(t, r, x, y, z)   (r).M(t) = e_shr_##t((x).M(t), (y).M(t))

/* Index division: floor, for divisors of both signs; by 0 gives 0. */
static inline int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = e_div_I64(a, b), m = e_mod_I64(a, b);
    return m != 0 && (m < 0) != (b < 0) ? q - 1 : q;
}
static inline int64_t floor_mod(int64_t a, int64_t b) {
    int64_t m = e_mod_I64(a, b);
    return m != 0 && (m < 0) != (b < 0) ? m + b : m;
}
#endif
