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
const struct usual_tolerance usual_tolerances[] = {
    {"f32 f64 c64 c128", 1e-4},
    {"f16", 5e-3},
    {"bf16", 3e-2},
    {"f8e4m3fn f8e4m3fnuz f8e5m2 f8e5m2fnuz f8e8m0 f4e2m1", 5e-3},
    {0},
};
double usual_rtol(enum dtype t) {
    const char *name = dtype_name(t);
    size_t n = strlen(name);
    for (const struct usual_tolerance *u = usual_tolerances; u->types; u++)
        for (const char *s = u->types; *s; s += strcspn(s, " "), s += *s == ' ')
            if (strcspn(s, " ") == n && !strncmp(s, name, n)) return u->rtol;
    return 0;
}
/* docs/numbers.md, N8: roundings to either side are independent, so the deviation grows with the root of their
 * number. */
int usual_steps(int times) { return times > 1 ? (int)ceil(sqrt(times)) : 1; }
double usual_rtol_of_steps(int bits, int times) { return 4 * sqrt(times) / (ldexp(1, bits) - 1); }
static double value(const struct tensor *t, int64_t i, int which) {
    return dtype_is_complex(t->type) ? part(t, i, which) : tensor_f(t, i);
}
static double greatest_magnitude(const struct tensor *t, int parts) {
    double m = 0;
    for (int64_t i = 0; i < tensor_count(t) * parts; i++) {
        double w = fabs(value(t, i / parts, (int)(i % parts)));
        if (isfinite(w) && w > m) m = w;
    }
    return m;
}
static void count_steps(struct deviation *d, double off, double step) {
    double n = step > 0 ? floor(off / step + 0.5) : 0;
    if (n >= 1) d->counted[n < STEPS_COUNTED ? (int)n - 1 : STEPS_COUNTED - 1]++;
}
void steps_text(const struct deviation *d, double step, struct text *out) {
    bool any = false;
    for (int k = 0; k < STEPS_COUNTED; k++) {
        if (!d->counted[k]) continue;
        bool one = d->counted[k] == 1;
        text_printf(out,
                    any   ? ", %lld by %s%d"
                    : one ? "%lld element differs by %s%d"
                          : "%lld elements differ by %s%d",
                    (long long)d->counted[k], k == STEPS_COUNTED - 1 ? "at least " : "", k + 1);
        if (!any) text_add(out, k ? " steps" : " step");
        if (!any && step != 1) text_printf(out, " of %.3g", step);
        any = true;
    }
}
/* |got - want| of integers, as exact as a double is. */
static double distance(const struct tensor *got, const struct tensor *want, int64_t i) {
    int64_t g = tensor_i(got, i), w = tensor_i(want, i);
    bool swap = got->type == U64 ? (uint64_t)g < (uint64_t)w : g < w;
    return (double)(swap ? (uint64_t)w - (uint64_t)g : (uint64_t)g - (uint64_t)w);
}
static bool integers_within(const struct tensor *got, const struct tensor *want, const struct tolerance *t,
                            struct deviation *found, struct text *why) {
    int64_t at = -1, n = tensor_count(want);
    for (int64_t i = 0; i < n; i++) {
        double d = distance(got, want, i);
        count_steps(found, d, t->step);
        if (d > found->absolute) found->absolute = d, at = i;
    }
    if (at < 0 || found->absolute <= t->steps * t->step) return true;
    tell(got, want, at, why);
    return false;
}
static bool floats_within(const struct tensor *got, const struct tensor *want, const struct tolerance *t,
                          struct deviation *found, struct text *why) {
    int parts = dtype_is_complex(want->type) ? 2 : 1;
    double scale = greatest_magnitude(want, parts), allowed = t->atol + t->rtol * scale + t->steps * t->step;
    int64_t at = -1;
    for (int64_t i = 0; i < tensor_count(want) * parts; i++) {
        double g = value(got, i / parts, (int)(i % parts)), w = value(want, i / parts, (int)(i % parts)),
               d = fabs(g - w);
        if (g == w || (isnan(g) && isnan(w))) continue;
        if (!isfinite(d)) d = INFINITY;
        count_steps(found, d, t->step);
        if (d > found->absolute) found->absolute = d, at = i / parts;
    }
    found->relative = found->absolute > 0 ? found->absolute / scale : 0;
    if (at < 0 || found->absolute <= allowed) return true;
    tell(got, want, at, why);
    text_printf(why, " (error %.3g, %.3g of the greatest magnitude; %.3g is allowed)", found->absolute, found->relative,
                allowed);
    return false;
}
bool within_tolerance(const struct tensor *got, const struct tensor *want, const struct tolerance *t,
                      struct deviation *found, struct text *why) {
    *found = (struct deviation){0};
    if (!same_shape(got, want, why)) return false;
    if (want->type == STR || want->type == BOOL) return same_bits(got, want, why);
    bool floats = dtype_is_float(want->type) || dtype_is_complex(want->type);
    if ((floats ? floats_within : integers_within)(got, want, t, found, why)) return true;
    struct text steps = {0};
    if (t->step > 0) steps_text(found, t->step, &steps);
    if (steps.n) text_printf(why, "; %s, %d %s allowed", steps.s, t->steps, t->steps == 1 ? "is" : "are");
    text_free(&steps);
    return false;
}
