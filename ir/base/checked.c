/* Saturating arithmetic on interval ends. */
#include "ir/base/checked.h"

/* An infinity absorbs whatever is added. Opposite infinities do not occur together in one end of an interval; they give
 * the first operand. */
int64_t sat_add(int64_t a, int64_t b) {
    if (a == NEG_INF || a == POS_INF) return a;
    if (b == NEG_INF || b == POS_INF) return b;
    int64_t r;
    if (__builtin_add_overflow(a, b, &r)) return a < 0 ? NEG_INF : POS_INF;
    return r;
}

/* 0 times infinity is 0: the factor of an empty or constant term. */
int64_t sat_mul(int64_t a, int64_t b) {
    if (a == 0 || b == 0) return 0;
    bool negative = (a < 0) != (b < 0);
    bool infinite = a == NEG_INF || a == POS_INF || b == NEG_INF || b == POS_INF;
    int64_t r;
    if (infinite || __builtin_mul_overflow(a, b, &r)) return negative ? NEG_INF : POS_INF;
    return r;
}
