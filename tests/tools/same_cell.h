/* Are two cells the same? Bit for bit, but for NaN, whose payload and sign are free (docs/numbers.md N5). */
#ifndef NN_TESTS_SAME_CELL_H
#define NN_TESTS_SAME_CELL_H
#include "ir/base/convert.h"
#include "ir/base/dtype.h"
#include <math.h>
#include <string.h>

static inline bool same_cell(enum dtype t, const unsigned char *a, const unsigned char *b) {
    if (!memcmp(a, b, (size_t)dtype_bytes(t))) return true;
    uint16_t x = 0, y = 0;
    if (dtype_bytes(t) > 1) memcpy(&x, a, 2), memcpy(&y, b, 2);
    switch (t) {
    case F32: {
        float f, g;
        memcpy(&f, a, 4), memcpy(&g, b, 4);
        return isnan(f) && isnan(g);
    }
    case F64: {
        double f, g;
        memcpy(&f, a, 8), memcpy(&g, b, 8);
        return isnan(f) && isnan(g);
    }
    case F16: return isnan(f16_to_f32(x)) && isnan(f16_to_f32(y));
    case BF16: return isnan(bf16_to_f32(x)) && isnan(bf16_to_f32(y));
    case F8E4M3FN: return isnan(f8_to_f32(*a, F8_E4M3FN)) && isnan(f8_to_f32(*b, F8_E4M3FN));
    case F8E5M2: return isnan(f8_to_f32(*a, F8_E5M2)) && isnan(f8_to_f32(*b, F8_E5M2));
    default: return false;
    }
}
#endif
