/* Metrics of data sets: numbers that are computed by hand. */
#include "compiler/metric.h"
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "/tmp/metric-XXXXXX";
static struct ctx *c;
static void begin(void) {
    c = ctx_new();
    cr_assert(mkdtemp(folder));
}
static void end(void) {
    char path[64];
    snprintf(path, sizeof path, "%s/label.txt", folder);
    unlink(path);
    rmdir(folder);
    ctx_free(c);
}
TestSuite(metric, .init = begin, .fini = end);

static void label(const char *text) {
    char path[64];
    snprintf(path, sizeof path, "%s/label.txt", folder);
    FILE *f = fopen(path, "w");
    cr_assert(f && fputs(text, f) >= 0 && fclose(f) == 0);
}
static struct tensor *floats(int rank, int64_t a, int64_t b, const double *v) {
    struct tensor *t = tensor_new(&c->arena, F32, (int64_t[]){a, b}, rank);
    for (int64_t i = 0; i < tensor_count(t); i++) tensor_set_f(t, i, v[i]);
    return t;
}
static struct tensor *integers(int64_t n, const int64_t *v) {
    struct tensor *t = tensor_new(&c->arena, I64, &n, 1);
    for (int64_t i = 0; i < n; i++) tensor_set_i(t, i, v[i]);
    return t;
}

Test(metric, top1_counts_rows) {
    struct metric *m = metric_new(c, "top1");
    label("1 0\n");
    struct tensor *scores = floats(2, 2, 3, (double[]){1, 3, 2, 0, 5, 1});
    cr_assert(metric_add(m, folder, &scores, NULL, 1));
    cr_assert_float_eq(metric_value(m), 0.5, 1e-12);
    label("2");
    struct tensor *class_ = integers(1, (int64_t[]){2});
    cr_assert(metric_add(m, folder, &class_, NULL, 1));
    cr_assert_float_eq(metric_value(m), 2.0 / 3, 1e-12);
    label("1 2 3 4 5 6 7");
    cr_assert(!metric_add(m, folder, &scores, NULL, 1));
    label("one");
    cr_assert(!metric_add(m, folder, &scores, NULL, 1));
}
/* Two objects of class 7. The best detection has no object; the second is exact; the third overlaps by 2/3 and counts
 * up to 0.65; a detection of another class counts for nothing. Up to 0.65 (4 thresholds): precisions 0, 1/2, 2/3 at
 * recalls 0, 1/2, 1: area 2/3 / 2 + 2/3 / 2 = 2/3. Above (6): 1/2 * 1/2 = 1/4. */
Test(metric, map_is_the_mean_over_thresholds) {
    struct metric *m = metric_new(c, "map");
    label("7 0 0 10 10\n7 20 0 30 10\n");
    struct tensor *outputs[] = {
        integers(4, (int64_t[]){7, 7, 7, 8}),
        floats(2, 4, 4, (double[]){50, 50, 60, 60, 0, 0, 10, 10, 22, 0, 32, 10, 0, 0, 10, 10}),
        floats(1, 4, 0, (double[]){0.9, 0.8, 0.7, 0.95}),
    };
    cr_assert(metric_add(m, folder, outputs, NULL, 3));
    cr_assert_float_eq(metric_value(m), (4 * 2.0 / 3 + 6 * 0.25) / 10, 1e-9, "%g", metric_value(m));
    cr_assert(!metric_add(m, folder, outputs, NULL, 2), "scores are missing");
}
Test(metric, mse_is_relative) {
    struct metric *m = metric_new(c, "mse");
    struct tensor *got = floats(2, 1, 2, (double[]){1, 3}), *want = floats(2, 1, 2, (double[]){1, 2}), *none = NULL;
    cr_assert(metric_add(m, folder, &got, &want, 1));
    cr_assert_float_eq(metric_value(m), 0.2, 1e-12);
    cr_assert(!metric_add(m, folder, &got, &none, 1));
}
