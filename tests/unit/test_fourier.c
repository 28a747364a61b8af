/* DFT and STFT of known lengths (lower/ops/fourier.c) against the sums that define them, in double precision. */
#include "tests/unit/ops_kit.h"

TestSuite(fourier, .init = setup, .fini = done);

enum { MOST_CELLS = 1 << 14 };
static float *lowered(const char *target, const char *consts, const char *params, const char *nodes, const float *x,
                      const int64_t *dims, int nd, int64_t *count) {
    struct lower_options o = {.target = target_by_name(target)};
    struct module *m = lower_graph(graph_of(consts, params, nodes), &o);
    cr_assert(m, "%s", nodes);
    struct eval_arg args[2] = {{.data = (void *)x, .nd = nd}};
    memcpy(args[0].dims, dims, (size_t)nd * sizeof *dims);
    struct eval_result r = loop_eval(m, m->entry, args, (int64_t[]){3}, &(struct eval_options){.poison = true});
    cr_assert_eq(r.status, EVAL_OK, "%s: %s", nodes, r.message);
    *count = 1;
    for (int k = 0; k < args[1].nd; k++) *count *= args[1].dims[k];
    return args[1].data;
}
static float *numbers(int64_t n) {
    static float x[MOST_CELLS];
    unsigned seed = 7;
    cr_assert(n <= MOST_CELLS);
    for (int64_t k = 0; k < n; k++) {
        seed = seed * 1664525u + 1013904223u;
        x[k] = (float)(seed >> 8) / (1 << 23) - 1;
    }
    return x;
}
/* Part (0 or 1) of result k of n numbers, which lie `step` apart, `parts` beside one another. */
static double defined(const float *x, int64_t n, int64_t step, int parts, int64_t k, int part, bool inverse) {
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        double angle = (inverse ? 1 : -1) * 2 * acos(-1) * (double)(j * k % n) / (double)n;
        double re = x[j * step], im = parts == 2 ? x[j * step + 1] : 0;
        sum += part ? re * sin(angle) + im * cos(angle) : re * cos(angle) - im * sin(angle);
    }
    return inverse ? sum / (double)n : sum;
}
static void near(const char *what, double got, double want, double unit, int64_t place) {
    cr_expect(fabs(got - want) <= 3e-7 * unit, "%s: result %d is %.9g, not %.9g", what, (int)place, got, want);
}
/* Along axis 1 of [2, n, 3, parts], the first of them open. */
static void transform(int64_t n, int parts, bool inverse, bool onesided, const char *target) {
    const int64_t dims[] = {3, n, 3, parts}, bins = onesided ? n / 2 + 1 : n;
    const float *x = numbers(3 * n * 3 * parts);
    const char *what =
        arena_printf(&c->arena, "%%y: ? = DFT(%%x, _, %%a) {inverse=%d, onesided=%d}", inverse, onesided);
    int64_t count, at = 0;
    float *y = lowered(target, "const %a: i64[] = [1]\n", arena_printf(&c->arena, "%%x: f32[N,%d,3,%d]", (int)n, parts),
                       what, x, dims, 4, &count);
    cr_assert_eq(count, 3 * bins * 3 * 2, "%s of %d", what, (int)n);
    for (int64_t b = 0; b < 3; b++)
        for (int64_t k = 0; k < bins; k++)
            for (int64_t i = 0; i < 3; i++)
                for (int part = 0; part < 2; part++, at++)
                    near(arena_printf(&c->arena, "%s of %dx%d", what, (int)n, parts), y[at],
                         defined(x + (b * n * 3 + i) * parts, n, 3 * parts, parts, k, part, inverse),
                         inverse ? 1 / sqrt((double)n) * 4 : 4 * sqrt((double)n), at);
    free(y);
}
/* Factors of all kinds, lengths that have none, and such as are summed at once. */
Test(fourier, of_any_length) {
    static const int64_t lengths[] = {1, 2, 16, 17, 18, 25, 34, 64, 77, 100, 128};
    for (int k = 0; k < 11; k++) {
        const char *target = k & 1 ? "c99" : "x86-avx2";
        transform(lengths[k], 1, false, false, target);
        transform(lengths[k], 1, false, true, target);
        transform(lengths[k], 2, k & 1, false, target);
        transform(lengths[k], 2, !(k & 1), false, target);
    }
}
/* A signal of 30 from half of its spectrum, of which imaginary parts that have to be 0 do not count; and of 32, where
 * the spectrum ends too early. */
Test(fourier, half_a_spectrum) {
    static const int64_t lengths[] = {30, 32};
    for (int s = 0; s < 2; s++) {
        int64_t n = lengths[s], count, dims[] = {1, 16, 2};
        const float *x = numbers(32);
        float *y = lowered("x86-avx2", arena_printf(&c->arena, "const %%n: i64[] = [%d]\n", (int)n), "%x: f32[1,16,2]",
                           "%y: ? = DFT(%x, %n) {axis=1, inverse=1, onesided=1}", x, dims, 3, &count);
        cr_assert_eq(count, n);
        for (int64_t j = 0; j < n; j++) {
            double want = x[0];
            for (int64_t k = 1; k < n; k++) {
                int64_t at = k < n - k ? k : n - k;
                double angle = 2 * acos(-1) * (double)(j * k % n) / (double)n, sign = 2 * k < n    ? 1
                                                                                      : 2 * k == n ? 0
                                                                                                   : -1;
                if (at < 16) want += x[2 * at] * cos(angle) - sign * x[2 * at + 1] * sin(angle);
            }
            near("half a spectrum", y[j], want / (double)n, 1, j);
        }
        free(y);
    }
}
Test(fourier, frames) {
    static const int64_t sizes[][2] = {{24, 7}, {25, 25}, {40, 1}, {9, 4}};
    for (int s = 0; s < 4 * 2; s++) {
        int64_t n = sizes[s / 2][0], step = sizes[s / 2][1], length = 60, count, dims[] = {2, length};
        int64_t frames = (length - n) / step + 1, bins = s & 1 ? n / 2 + 1 : n, at = 0;
        const float *x = numbers(2 * length);
        struct text consts = {0};
        float window[40], framed[40];
        text_printf(&consts, "const %%s: i64[] = [%d]\nconst %%w: f32[%d] = [", (int)step, (int)n);
        for (int64_t k = 0; k < n; k++) {
            window[k] = (float)(k % 8) / 8;
            text_printf(&consts, "%s%.3f", k ? ", " : "", window[k]);
        }
        text_printf(&consts, "]\n");
        const char *what = arena_printf(&c->arena, "%%y: ? = STFT(%%x, %%s, %%w) {onesided=%d}", s & 1);
        float *y = lowered("x86-avx2", consts.s, "%x: f32[2,60]", what, x, dims, 2, &count);
        cr_assert_eq(count, 2 * frames * bins * 2);
        for (int64_t f = 0; f < 2 * frames; f++) {
            for (int64_t k = 0; k < n; k++) framed[k] = x[f / frames * length + f % frames * step + k] * window[k];
            for (int64_t k = 0; k < bins; k++)
                for (int part = 0; part < 2; part++, at++)
                    near(what, y[at], defined(framed, n, 1, 1, k, part, false), 4 * sqrt((double)n), at);
        }
        text_free(&consts), free(y);
    }
}
