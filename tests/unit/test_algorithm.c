/* Algorithms rewrite stages (lower/algorithm/): what they make computes the same, or stays within the bound that the
 * row says. */
#include "lower/algorithm/winograd.h"
#include "ops_kit.h"

TestSuite(algorithm, .init = setup, .fini = done);

/* Every row of Winograd's: NULL after the last one. */
static const struct algorithm *winograd_after(const struct algorithm *r) {
    do r = r ? r + 1 : algorithm_rows;
    while (r->name && r->bound != winograd_bound);
    return r->name ? r : NULL;
}
Test(algorithm, winograd_matrices_are_those_of_a_convolution) {
    for (const struct algorithm *r = NULL; (r = winograd_after(r));) {
        struct winograd w;
        winograd_matrices(r->tile, r->taps, &w);
        for (int y = 0; y < r->tile; y++)
            for (int x = 0; x < w.cells; x++)
                for (int t = 0; t < r->taps; t++) { /* of cell x and tap t alone */
                    double sum = 0;
                    for (int j = 0; j < w.cells; j++) sum += w.a[y][j] * w.g[j][t] * w.b[j][x];
                    cr_expect_float_eq(sum, x == y + t, 1e-12, "%s: result %d of cell %d and tap %d", r->name, y, x, t);
                }
    }
}

enum { CHANNELS = 16, RESULTS = 24 };
static unsigned state = 1;
static float drawn(void) {
    state = state * 1664525u + 1013904223u;
    return (float)((int)(state >> 16 & 0xff) - 128) / 64;
}
static void constant(struct text *t, const char *name, const char *dims, int n) {
    text_printf(t, "const %%%s: f32[%s] = [", name, dims);
    for (int k = 0; k < n; k++) text_printf(t, "%s%.9g", k ? "," : "", (double)drawn());
    text_add(t, "]\n");
}
/* The convolution of x, for which the row is meant, by an algorithm: its results, and what was chosen. */
static float *convolved(const struct algorithm *row, const char *algorithm, const char *consts, float *x, int high,
                        int wide, int64_t *count, const char **choices) {
    struct text t = {0};
    bool flat = row->dims == 1; /* high x wide cells along one axis */
    const char *size = flat ? arena_printf(&c->arena, "%d", high * wide) : arena_printf(&c->arena, "%d,%d", high, wide),
               *params = arena_printf(&c->arena, "%%x: f32[1,%d,%s]", CHANNELS, size), *window = flat ? "[1]" : "[1,1]",
               *pads = flat ? "[1,2]" : "[1,1,1,2]",
               *taps = flat ? arena_printf(&c->arena, "[%d]", row->taps)
                            : arena_printf(&c->arena, "[%d,%d]", row->taps, row->taps);
    /* windows of one cell, so that operand and result of the convolution lie in blocks of channels */
    const char *nodes = arena_printf(&c->arena,
                                     "%%p: ? = MaxPool(%%x) {kernel_shape=%s} %%h: ? = Conv(%%p, %%w, %%b) "
                                     "{kernel_shape=%s, pads=%s} %%r: ? = Relu(%%h) %%y: ? = MaxPool(%%r) "
                                     "{kernel_shape=%s}",
                                     window, taps, pads, window);
    struct lower_options o = {
        .target = target_by_name("x86-avx2"), .choices = &t, .algorithms = {&algorithm, NULL, 1, 0}};
    struct module *m = lower_graph(graph_of(consts, params, nodes), &o);
    struct eval_arg args[2] = {
        {.data = x, .nd = 2 + row->dims, .dims = {1, CHANNELS, flat ? high * wide : high, wide}}};
    cr_assert(m);
    struct eval_result e = loop_eval(m, m->entry, args, (int64_t[]){1}, &(struct eval_options){.poison = true});
    cr_assert_eq(e.status, EVAL_OK, "%s", e.message);
    *count = 1;
    for (int d = 0; d < 2 + row->dims; d++) *count *= args[1].dims[d];
    *choices = arena_printf(&c->arena, "%s", t.s);
    text_free(&t);
    return args[1].data;
}
static void within_bound(const struct algorithm *row, int high, int wide) {
    const char *name = row->name;
    struct text t = {0};
    int taps = row->dims == 1 ? row->taps : row->taps * row->taps;
    const char *dims = row->dims == 1 ? arena_printf(&c->arena, "24,16,%d", taps)
                                      : arena_printf(&c->arena, "24,16,%d,%d", row->taps, row->taps);
    constant(&t, "w", dims, RESULTS * CHANNELS * taps);
    constant(&t, "b", "24", RESULTS);
    float *x = malloc(sizeof *x * (size_t)(CHANNELS * high * wide));
    for (int k = 0; k < CHANNELS * high * wide; k++) x[k] = drawn();
    int64_t n, count;
    const char *choices, *direct;
    float *got = convolved(row, name, t.s, x, high, wide, &n, &choices),
          *want = convolved(row, "direct", t.s, x, high, wide, &count, &direct);
    /* |x| and |w| are 2 at most; the bias is one more term */
    double most = row->bound(row, CHANNELS) * CHANNELS * taps * 4 * ldexp(1, -24), worst = 0;
    cr_assert_eq(n, count);
    for (int64_t k = 0; k < n; k++) worst = fmax(worst, fabs((double)got[k] - (double)want[k]));
    cr_expect(strstr(choices, arena_printf(&c->arena, "taken: %s\n", name)), "%s", choices);
    cr_expect_not(strstr(direct, "taken: winograd"), "%s", direct);
    cr_expect_leq(worst, most, "%s of %d x %d: %g is off, %g is allowed", name, high, wide, worst, most);
    cr_expect_leq(worst, 1e-3, "%s of %d x %d: %g", name, high, wide, worst); /* of sums of about 50 */
    free(got), free(want), free(x), text_free(&t);
}
Test(algorithm, winograd_stays_within_its_bound) {
    static const int sizes[][2] = {{1, 1}, {2, 3}, {5, 7}, {8, 8}, {13, 4}, {6, 14}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (const struct algorithm *r = NULL; (r = winograd_after(r));)
            if ((r->dims == 1 ? sizes[k][0] * sizes[k][1] : sizes[k][0]) + 3 > r->taps)
                within_bound(r, sizes[k][0], sizes[k][1]);
}
