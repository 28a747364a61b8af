/* templates/kernels/math.lir against the C library in double precision: largest error in ulp over all exponents and
 * signs, special values, and denser sweeps where functions change their form. */
#include "ir/base/embed.h"
#include "ir/eval/eval.h"
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

static struct ctx *c;
static struct module *load(const char *fn, const char *type) {
    struct text t = {0};
    for (size_t k = 0; k < nn_embedded_count; k++)
        if (!strcmp(nn_embedded[k].path, "templates/kernels/math.lir")) text_add(&t, (const char *)nn_embedded[k].data);
    cr_assert(t.n > 0, "math.lir is not embedded");
    bool two = !strncmp(fn, "pow", 3) || !strcmp(fn, "philox");
    text_printf(&t, "\nproc run(x: %s[N] in, w: %s[N] in, y: %s[N] out) [N]\n  for i<N\n    y[i] = %s(x[i]%s)\n", type,
                type, type, fn, two ? ", w[i]" : "");
    struct module *m = loop_parse(c, t.s, t.n, "math.lir");
    if (!m) {
        struct text d = {0};
        diag_print(&c->diags, &d, false);
        cr_assert_fail("%s", d.s);
    }
    text_free(&t);
    return m;
}
enum { MANY = 1 << 17 };
static void run(struct module *m, void *x, void *w, void *y, int n) {
    struct eval_arg args[3] = {{x, {n}, 1}, {w, {n}, 1}, {y, {n}, 1}};
    int64_t sizes[1] = {n};
    struct eval_options o = {0};
    struct eval_result r = loop_eval(m, m->procs.v[0], args, sizes, &o);
    cr_assert_eq(r.status, EVAL_OK, "%s", r.message);
}
static double ulp32(float got, double want) {
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if (isnan(got)) return INFINITY;
    if (want == 0 && got == 0) return !signbit(got) == !signbit(want) ? 0 : INFINITY;
    float f = (float)want;
    if (isinf(f)) return got == f ? 0 : fabs((double)got) >= 3.4028e38 ? 1 : INFINITY;
    if (isinf(got)) return fabs(want) > 3.4028e38 ? 1 : INFINITY;
    double step = fabs(want) < 0x1p-126 ? 0x1p-149 : ldexp(1, ilogb(want) - 23);
    return fabs((double)got - want) / step;
}
static float bits(uint32_t b) {
    float f;
    memcpy(&f, &b, sizeof f);
    return f;
}
static float xs[MANY], ws[MANY], ys[MANY];
static int specials(float *x) {
    static const float v[] = {0.0f,   -0.0f,     INFINITY,   -INFINITY,   NAN,           1,
                              -1,     0x1p-149f, -0x1p-149f, 0x1p-126f,   3.4028234e38f, -3.4028234e38f,
                              0.5f,   -0.5f,     88.72283f,  88.722839f,  -103.97f,      -87.33f,
                              2,      -2,        0x1p24f,    1.57079637f, 3.14159274f,   0.3f,
                              0.625f, 0.92773f};
    memcpy(x, v, sizeof v);
    return (int)(sizeof v / sizeof *v);
}
/* Largest error of fn on lo..hi: one part strides through all bit patterns, one is even over the range. */
static void check(const char *fn, double (*want)(double), double lo, double hi, double limit) {
    struct module *m = load(fn, "f32");
    int n = specials(xs);
    for (uint32_t b = 12345; n < MANY / 2; b += 65539) xs[n++] = bits(b);
    for (int k = 0; n < MANY; k++) xs[n++] = (float)(lo + (hi - lo) * ((double)k / (MANY / 2)));
    run(m, xs, ws, ys, n);
    double worst = 0;
    int at = 0;
    for (int k = 0; k < n; k++) {
        double u = ulp32(ys[k], want((double)xs[k]));
        if (u > worst) worst = u, at = k;
    }
    cr_expect_leq(worst, limit, "%s: %.3f ulp at %.9g: %.9g, not %.9g", fn, worst, (double)xs[at], (double)ys[at],
                  want((double)xs[at]));
    if (getenv("MATH_VERBOSE")) printf("%-10s %.3f ulp at %.9g\n", fn, worst, (double)xs[at]);
}
/* Of a quotient of 2^128 and more nothing remains. */
static double d_sigmoid(double x) { return -x * 1.44269502f >= 127.5 ? 0 : 1 / (1 + exp(-x)); }
static double d_softplus(double x) { return isnan(x) ? x : x < -86.5 ? 0 : fmax(x, 0) + log1p(exp(-fabs(x))); }
static void setup(void) { c = ctx_new(); }
static void done(void) { ctx_free(c); }
TestSuite(math, .init = setup, .fini = done);
/* Known answers of Random123 for philox2x32 with ten rounds. */
Test(math, philox) {
    struct module *m = load("philox", "u64");
    uint64_t x[3] = {0, UINT64_MAX, UINT64_C(0x85a308d3243f6a88)}, k[3] = {0, UINT32_MAX, 0x13198a2e}, y[3];
    run(m, x, k, y, 3);
    cr_assert_eq(y[0], UINT64_C(0x6cd10df2ff1dae59));
    cr_assert_eq(y[1], UINT64_C(0xab4fd7ad2c3f628b));
    cr_assert_eq(y[2], UINT64_C(0xf62a4c12dd7ce038));
}
Test(math, exp) { check("exp", exp, -104, 89, 1.0); }
/* Of what is not above 0. */
Test(math, exp_term) {
    struct module *m = load("exp_term", "f32");
    double worst = 0;
    for (int k = 0; k < MANY; k++) xs[k] = -100.0f * (float)k / MANY;
    xs[1] = -INFINITY, xs[2] = NAN, xs[3] = -0x1p-149f, xs[4] = -3.4028234e38f;
    run(m, xs, ws, ys, MANY);
    for (int k = 0; k < MANY; k++) worst = fmax(worst, ulp32(ys[k], xs[k] < -86.5f ? 0 : exp((double)xs[k])));
    cr_expect_leq(worst, 1.0, "%.3f ulp", worst);
}
Test(math, exp_within) {
    struct module *m = load("exp_within", "f32");
    double worst = 0;
    for (int k = 0; k < MANY; k++) xs[k] = -87.0f + 174.0f * (float)k / MANY;
    xs[0] = NAN;
    run(m, xs, ws, ys, MANY);
    for (int k = 0; k < MANY; k++) worst = fmax(worst, ulp32(ys[k], exp((double)xs[k])));
    cr_expect_leq(worst, 1.0, "%.3f ulp", worst);
}
Test(math, expm1) { check("expm1", expm1, -2, 2, 4.0); }
Test(math, log) { check("log", log, 0, 10, 1.0); }
Test(math, log1p) { check("log1p", log1p, -1, 2, 3.0); }
Test(math, tanh) { check("tanh", tanh, -10, 10, 3.0); }
Test(math, sigmoid) { check("sigmoid", d_sigmoid, -104, 30, 3.0); }
Test(math, softplus) { check("softplus", d_softplus, -104, 30, 3.0); }
Test(math, erf) { check("erf", erf, -5, 5, 2.0); }
Test(math, asin) { check("asin", asin, -1, 1, 3.0); }
Test(math, acos) { check("acos", acos, -1, 1, 2.0); }
Test(math, atan) { check("atan", atan, -5, 5, 3.0); }
Test(math, sinh) { check("sinh", sinh, -90, 90, 3.0); }
Test(math, cosh) { check("cosh", cosh, -90, 90, 2.0); }
Test(math, asinh) { check("asinh", asinh, -5, 5, 3.0); }
Test(math, acosh) { check("acosh", acosh, 1, 5, 3.0); }
Test(math, atanh) { check("atanh", atanh, -1, 1, 3.0); }
/* Trigonometry: the stated range ends at 2^50. */
static void check_trig(const char *fn, double (*want)(double), double limit) {
    struct module *m = load(fn, "f32");
    int n = 0;
    double worst = 0;
    xs[n++] = -0.0f;
    for (uint32_t b = 77; n < MANY / 2; b += 39119) {
        float x = bits(b);
        if (fabsf(x) < 0x1p50f) xs[n++] = x;
    }
    for (int k = 0; n < MANY; k++) xs[n++] = (float)(k - MANY / 4) * 0.01f;
    run(m, xs, ws, ys, n);
    int at = 0;
    for (int k = 0; k < n; k++) {
        double u = ulp32(ys[k], want((double)xs[k]));
        if (u > worst) worst = u, at = k;
    }
    cr_expect_leq(worst, limit, "%s: %.3f ulp at %.9g: %.9g, not %.9g", fn, worst, (double)xs[at], (double)ys[at],
                  want((double)xs[at]));
    float odd[] = {INFINITY, -INFINITY, NAN, 3e38f};
    run(m, odd, ws, ys, 4);
    cr_expect(isnan(ys[0]) && isnan(ys[1]) && isnan(ys[2]), "%s of infinity and NaN is NaN", fn);
    if (getenv("MATH_VERBOSE")) printf("%-10s %.3f ulp at %.9g\n", fn, worst, (double)xs[at]);
}
Test(math, sin) { check_trig("sin", sin, 2.0); }
Test(math, cos) { check_trig("cos", cos, 2.0); }
Test(math, tan) { check_trig("tan", tan, 4.0); }

Test(math, pow) {
    static const float odd[] = {0.0f, -0.0f, 1,     -1, INFINITY, -INFINITY, NAN,         2,
                                -2,   0.5f,  -0.5f, 3,  -3,       1e-40f,    16777217.0f, 0.33f};
    struct module *m = load("pow", "f32");
    int n = 0, no = sizeof odd / sizeof *odd, at = 0;
    double worst = 0;
    for (int a = 0; a < no; a++)
        for (int b = 0; b < no; b++) xs[n] = odd[a], ws[n++] = odd[b];
    uint32_t seed = 1;
    while (n < MANY) {
        seed = seed * 1664525 + 1013904223;
        float x = ldexpf(1 + (float)(seed >> 8) * 0x1p-24f, (int)(seed >> 4 & 15) - 8);
        seed = seed * 1664525 + 1013904223;
        xs[n] = x;
        ws[n] = ((float)(seed >> 8) * 0x1p-23f - 1) * (n & 1 ? 4 : 90) / fmaxf(fabsf(logf(x)), 1e-3f);
        n++;
    }
    run(m, xs, ws, ys, n);
    for (int k = 0; k < n; k++) {
        double u = ulp32(ys[k], pow((double)xs[k], (double)ws[k]));
        if (u > worst) worst = u, at = k;
    }
    cr_expect_leq(worst, 2.0, "pow: %.3f ulp at (%.9g, %.9g): %.9g, not %.9g", worst, (double)xs[at], (double)ws[at],
                  (double)ys[at], pow((double)xs[at], (double)ws[at]));
    if (getenv("MATH_VERBOSE")) printf("pow        %.3f ulp at %.9g %.9g\n", worst, (double)xs[at], (double)ws[at]);
}

/* ---- double precision, against long double */
static double xd[MANY], wd[MANY], yd[MANY];
static double ulp64(double got, long double want) {
    if (isnan(want)) return isnan(got) ? 0 : INFINITY;
    if (isnan(got)) return INFINITY;
    if (want == 0 && got == 0) return !signbit(got) == !signbit(want) ? 0 : INFINITY;
    if (isinf((double)want) || isinf(got))
        return got == (double)want ? 0 : fabs(got) > 1.79e308 || fabsl(want) > 1.79e308L ? 1 : INFINITY;
    long double step = fabsl(want) < 0x1p-1022L ? 0x1p-1074L : ldexpl(1, ilogbl(want) - 52);
    return (double)(fabsl((long double)got - want) / step);
}
static void check64(const char *fn, long double (*want)(long double), double lo, double hi, double limit) {
    struct module *m = load(fn, "f64");
    int n = 0, at = 0;
    double worst = 0;
    static const double odd[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 0x1p-1074, 1e-300, 1e-20, -1e-5, 0.3, 0.5};
    for (size_t k = 0; k < sizeof odd / sizeof *odd; k++) xd[n++] = odd[k];
    for (; n < 20000; n++) xd[n] = lo + (hi - lo) * n / 20000;
    run(m, xd, wd, yd, n);
    for (int k = 0; k < n; k++) {
        double u = ulp64(yd[k], want((long double)xd[k]));
        if (u > worst) worst = u, at = k;
    }
    cr_expect_leq(worst, limit, "%s: %.3f ulp at %.17g: %.17g, not %.17Lg", fn, worst, xd[at], yd[at],
                  want((long double)xd[at]));
    if (getenv("MATH_VERBOSE")) printf("%-10s %.3f ulp at %.17g\n", fn, worst, xd[at]);
}
static long double l_sigmoid(long double x) { return 1 / (1 + expl(-x)); }
static long double l_softplus(long double x) { return isnan(x) ? x : fmaxl(x, 0) + log1pl(expl(-fabsl(x))); }
Test(math, exp64) { check64("exp_f64", expl, -746, 711, 1.0); }
Test(math, expm164) { check64("expm1_f64", expm1l, -3, 3, 2.0); }
Test(math, log64) { check64("log_f64", logl, 0, 10, 1.0); }
Test(math, log1p64) { check64("log1p_f64", log1pl, -1, 3, 3.0); }
Test(math, tanh64) { check64("tanh_f64", tanhl, -10, 10, 3.0); }
Test(math, sigmoid64) { check64("sigmoid_f64", l_sigmoid, -100, 40, 3.0); }
Test(math, softplus64) { check64("softplus_f64", l_softplus, -100, 40, 3.0); }
Test(math, sin64) { check64("sin_f64", sinl, -1e5, 1e5, 2.0); }
Test(math, cos64) { check64("cos_f64", cosl, -100, 100, 2.0); }
Test(math, tan64) { check64("tan_f64", tanl, -10, 10, 4.0); }
Test(math, atan64) { check64("atan_f64", atanl, -5, 5, 2.0); }
Test(math, asin64) { check64("asin_f64", asinl, -1, 1, 3.0); }
Test(math, acos64) { check64("acos_f64", acosl, -1, 1, 3.0); }
Test(math, erf64) { check64("erf_f64", erfl, -6.5, 6.5, 2.0); }
Test(math, sinh64) { check64("sinh_f64", sinhl, -20, 20, 3.0); }
Test(math, cosh64) { check64("cosh_f64", coshl, -20, 20, 3.0); }
Test(math, asinh64) { check64("asinh_f64", asinhl, -20, 20, 3.0); }
Test(math, acosh64) { check64("acosh_f64", acoshl, 1, 20, 3.0); }
Test(math, atanh64) { check64("atanh_f64", atanhl, -1, 1, 3.0); }
Test(math, pow64) {
    struct module *m = load("pow_f64", "f64");
    int n = 0;
    for (int a = -20; a <= 20; a++)
        for (int b = -6; b <= 12; b++) xd[n] = a, wd[n++] = b;
    int exact = n;
    for (int k = 0; k < 5000; k++) xd[n] = 0.01 + k * 0.37, wd[n++] = (k % 97 - 48) * 0.0611;
    run(m, xd, wd, yd, n);
    for (int k = 0; k < n; k++) {
        long double want = powl((long double)xd[k], (long double)wd[k]);
        cr_expect_leq(ulp64(yd[k], want), 1.0, "%g^%g = %.17g, not %.17Lg", xd[k], wd[k], yd[k], want);
        if (k < exact && wd[k] >= 0 && fabsl(want) < 0x1p52L)
            cr_expect_eq(rint(yd[k]), (double)want, "%g^%g = %.17g", xd[k], wd[k], yd[k]);
    }
}
