/* See compare.h. */
#include "compiler/compare.h"
#include <math.h>
#include <string.h>

static bool same_shape(const struct tensor *got, const struct tensor *want, struct text *why) {
    bool same = got->type == want->type && got->rank == want->rank;
    for (int d = 0; d < want->rank && same; d++) same = got->dims[d] == want->dims[d];
    if (same) return true;
    for (int side = 0; side < 2; side++) {
        const struct tensor *t = side ? want : got;
        text_printf(why, "%s%s[", side ? ", expected " : "", dtype_name(t->type));
        for (int d = 0; d < t->rank; d++) text_printf(why, "%s%lld", d ? "," : "", (long long)t->dims[d]);
        text_add(why, "]");
    }
    return false;
}
static bool same_string(const struct tensor *got, const struct tensor *want, int64_t i) {
    const struct str_elem *a = &got->strs[got->source == TS_SPLAT ? 0 : i],
                          *b = &want->strs[want->source == TS_SPLAT ? 0 : i];
    return a->n == b->n && !memcmp(a->p, b->p, a->n);
}
/* Element i of a complex tensor, real and imaginary part apart. */
static double part(const struct tensor *t, int64_t i, int which) {
    size_t size = (size_t)dtype_bytes(t->type);
    const char *p = (const char *)t->bytes + (t->source == TS_SPLAT ? 0 : (size_t)i) * size + (size_t)which * size / 2;
    float f;
    double d;
    if (t->type == C64) return memcpy(&f, p, sizeof f), (double)f;
    return memcpy(&d, p, sizeof d), d;
}
static bool same_number(double a, double b) { return (isnan(a) && isnan(b)) || (a == b && signbit(a) == signbit(b)); }
static bool same_element(const struct tensor *got, const struct tensor *want, int64_t i) {
    if (got->type == STR) return same_string(got, want, i);
    if (dtype_is_complex(got->type))
        return same_number(part(got, i, 0), part(want, i, 0)) && same_number(part(got, i, 1), part(want, i, 1));
    if (dtype_is_float(got->type)) return same_number(tensor_f(got, i), tensor_f(want, i));
    return tensor_i(got, i) == tensor_i(want, i);
}
static void number(const struct tensor *t, int64_t i, struct text *out) {
    if (t->type == F64) text_f64(out, tensor_f(t, i));
    else text_f32(out, (float)tensor_f(t, i));
}
static void tell(const struct tensor *got, const struct tensor *want, int64_t i, struct text *why) {
    text_printf(why, "element %lld of %lld", (long long)i, (long long)tensor_count(want));
    if (got->type == STR || dtype_is_complex(got->type)) return;
    if (dtype_is_float(got->type)) {
        text_add(why, " is ");
        number(got, i, why);
        text_add(why, ", expected ");
        number(want, i, why);
    } else {
        text_printf(why, " is %lld, expected %lld", (long long)tensor_i(got, i), (long long)tensor_i(want, i));
    }
}
bool same_bits(const struct tensor *got, const struct tensor *want, struct text *why) {
    if (!same_shape(got, want, why)) return false;
    for (int64_t i = 0; i < tensor_count(want); i++)
        if (!same_element(got, want, i)) {
            tell(got, want, i, why);
            return false;
        }
    return true;
}
double usual_tolerance(enum dtype t) {
    switch (t) {
    case F32:
    case F64:
    case C64:
    case C128: return 1e-4;
    case BF16: return 3e-2;
    default: return dtype_is_float(t) ? 5e-3 : 0;
    }
}
static double value(const struct tensor *t, int64_t i, int which) {
    return dtype_is_complex(t->type) ? part(t, i, which) : tensor_f(t, i);
}
bool within_tolerance(const struct tensor *got, const struct tensor *want, double tolerance, struct deviation *found,
                      struct text *why) {
    *found = (struct deviation){0, 0};
    if (!same_shape(got, want, why)) return false;
    if (!dtype_is_float(want->type) && !dtype_is_complex(want->type)) return same_bits(got, want, why);
    double scale = 0, worst = 0;
    int64_t n = tensor_count(want), at = -1;
    int parts = dtype_is_complex(want->type) ? 2 : 1;
    for (int64_t i = 0; i < n * parts; i++) {
        double w = fabs(value(want, i / parts, (int)(i % parts)));
        if (isfinite(w) && w > scale) scale = w;
    }
    for (int64_t i = 0; i < n * parts; i++) {
        double g = value(got, i / parts, (int)(i % parts)), w = value(want, i / parts, (int)(i % parts)),
               d = fabs(g - w);
        if (g == w || (isnan(g) && isnan(w))) continue;
        if (!isfinite(d)) d = INFINITY;
        if (d > worst) worst = d, at = i / parts;
    }
    *found = (struct deviation){worst, worst > 0 ? worst / scale : 0};
    if (found->relative <= tolerance) return true;
    tell(got, want, at, why);
    text_printf(why, " (error %.3g, %.3g of the greatest magnitude; %.3g of it is allowed)", worst, found->relative,
                tolerance);
    return false;
}
