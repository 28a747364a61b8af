/* Checked and saturating 64-bit arithmetic: sizes come from untrusted models. */
#ifndef NN_IR_BASE_CHECKED_H
#define NN_IR_BASE_CHECKED_H
#include <stdbool.h>
#include <stdint.h>

static inline bool add_ok(int64_t a, int64_t b, int64_t *r) { return !__builtin_add_overflow(a, b, r); }
static inline bool mul_ok(int64_t a, int64_t b, int64_t *r) { return !__builtin_mul_overflow(a, b, r); }
/* Interval ends: INT64_MIN / INT64_MAX stand for the infinities and absorb. */
#define NEG_INF INT64_MIN
#define POS_INF INT64_MAX
int64_t sat_add(int64_t a, int64_t b);
int64_t sat_mul(int64_t a, int64_t b);
static inline int64_t min64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max64(int64_t a, int64_t b) { return a > b ? a : b; }
/* Floor division and modulo for c > 0. */
static inline int64_t floordiv64(int64_t a, int64_t c) { return a / c - (a % c < 0); }
static inline int64_t floormod64(int64_t a, int64_t c) {
    int64_t r = a % c;
    return r < 0 ? r + c : r;
}
/* The greatest common divisor, not negative; that of 0 and n is n. */
static inline int64_t gcd64(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b, b = r;
    }
    return a < 0 ? -a : a;
}
#endif
