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
/* Taps along each axis of a kernel for the row; a split one sums windows, of which the last one lacks a tap. */
static int kernel_taps(const struct algorithm *row) { return row->split ? 2 * row->taps - 1 : row->taps; }
static int tile_taps(const struct algorithm *row) { return row->dims == 1 ? row->taps : row->taps * row->taps; }
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
/* What the symbols are: the graph's own one, then these. */
#define SYMBOLS                 "sym H: 0..999\nsym W: 0..999\n"
#define SIZES(flat, high, wide) ((int64_t[]){1, (flat) ? (high) * (wide) : (high), (wide)})
/* Sizes of a picture, or of high x wide cells along one axis; open: symbols. */
static const char *picture_text(const struct algorithm *row, int high, int wide, bool open) {
    if (open) return row->dims == 1 ? "H" : "H,W";
    return row->dims == 1 ? arena_printf(&c->arena, "%d", high * wide) : arena_printf(&c->arena, "%d,%d", high, wide);
}
/* The result of a graph that computes with x by an algorithm where it can, its number of cells, and what was chosen. */
static float *computed(const char *algorithm, const char *target, const char *consts, const char *params,
                       const char *nodes, float *x, const int64_t *dims, int rank, const int64_t *symbols,
                       int64_t *count, const char **choices) {
    struct text t = {0};
    struct lower_options o = {.target = target_by_name(target), .choices = &t, .algorithms = {&algorithm, NULL, 1, 0}};
    struct module *m = lower_graph(graph_of(consts, params, nodes), &o);
    struct eval_arg args[2] = {{.data = x, .nd = rank}};
    memcpy(args[0].dims, dims, (size_t)rank * sizeof *dims);
    cr_assert(m);
    struct eval_result e = loop_eval(m, m->entry, args, symbols, &(struct eval_options){.poison = true});
    cr_assert_eq(e.status, EVAL_OK, "%s", e.message);
    *count = 1;
    for (int d = 0; d < args[1].nd; d++) *count *= args[1].dims[d];
    *choices = arena_printf(&c->arena, "%s", t.s);
    text_free(&t);
    return args[1].data;
}
/* The convolution of x, for which the row is meant, by an algorithm: its results, and what was chosen. Behind it is a
 * window of one cell, or one that wants a border. */
static float *convolved(const struct algorithm *row, const char *algorithm, const char *target, const char *consts,
                        float *x, int high, int wide, bool open, bool border, int64_t *count, const char **choices) {
    bool flat = row->dims == 1;
    const char *size = picture_text(row, high, wide, open),
               *params = arena_printf(&c->arena, "%%x: f32[1,%d,%s]", CHANNELS, size), *window = flat ? "[1]" : "[1,1]",
               *pads = flat ? "[1,2]" : "[1,1,1,2]",
               *taps = flat ? arena_printf(&c->arena, "[%d]", kernel_taps(row))
                            : arena_printf(&c->arena, "[%d,%d]", kernel_taps(row), kernel_taps(row));
    /* windows of one cell, so that operand and result of the convolution lie in blocks of channels */
    const char *nodes = arena_printf(&c->arena,
                                     "%%p: ? = MaxPool(%%x) {kernel_shape=%s} %%h: ? = Conv(%%p, %%w, %%b) "
                                     "{kernel_shape=%s, pads=%s} %%r: ? = Relu(%%h) %%y: ? = MaxPool(%%r) "
                                     "{kernel_shape=%s}",
                                     window, taps, pads, border ? "[3,3], pads=[1,1,1,1]" : window);
    int64_t dims[] = {1, CHANNELS, flat ? high * wide : high, wide};
    return computed(algorithm, target, consts, params, nodes, x, dims, 2 + row->dims, SIZES(flat, high, wide), count,
                    choices);
}
/* |x| and |w| are 2 at most; the bias is one more term. over: taps of other windows. */
static void are_near(const struct algorithm *row, const char *what, int over, const float *got, const float *want,
                     int64_t n) {
    int taps = over * tile_taps(row);
    double most = row->bound(row, CHANNELS * over) * CHANNELS * taps * 4 * ldexp(1, -24), worst = 0;
    for (int64_t k = 0; k < n; k++) worst = fmax(worst, fabs((double)got[k] - (double)want[k]));
    cr_expect_leq(worst, most, "%s of %s: %g is off, %g is allowed", row->name, what, worst, most);
    cr_expect_leq(worst, 1e-3 * sqrt(over), "%s of %s: %g", row->name, what, worst); /* of sums of about 50 */
}
/* How many windows of the row's size make a kernel of so many taps. */
static int terms_of(const struct algorithm *row, int taps) { return (taps + tile_taps(row) - 1) / tile_taps(row); }
static void within_bound(const struct algorithm *row, const char *target, int high, int wide, bool open, bool border) {
    const char *name = row->name;
    struct text t = {0};
    int t1 = kernel_taps(row), taps = row->dims == 1 ? t1 : t1 * t1;
    const char *dims =
        row->dims == 1 ? arena_printf(&c->arena, "24,16,%d", taps) : arena_printf(&c->arena, "24,16,%d,%d", t1, t1);
    if (open) text_add(&t, SYMBOLS);
    constant(&t, "w", dims, RESULTS * CHANNELS * taps);
    constant(&t, "b", "24", RESULTS);
    float *x = malloc(sizeof *x * (size_t)(CHANNELS * high * wide));
    for (int k = 0; k < CHANNELS * high * wide; k++) x[k] = drawn();
    int64_t n, count;
    const char *choices, *direct;
    float *got = convolved(row, name, target, t.s, x, high, wide, open, border, &n, &choices),
          *want = convolved(row, "direct", target, t.s, x, high, wide, open, border, &count, &direct);
    cr_assert_eq(n, count);
    cr_expect(strstr(choices, arena_printf(&c->arena, "taken: %s\n", name)), "%s", choices);
    cr_expect_not(strstr(direct, "taken: winograd"), "%s", direct);
    are_near(row, arena_printf(&c->arena, "%d x %d", high, wide), terms_of(row, taps), got, want, n);
    free(got), free(want), free(x), text_free(&t);
}
Test(algorithm, winograd_stays_within_its_bound) {
    static const int sizes[][2] = {{1, 1}, {2, 3}, {5, 7}, {8, 8}, {13, 4}, {6, 14}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        for (const struct algorithm *r = NULL; (r = winograd_after(r));)
            if ((r->dims == 1 ? sizes[k][0] * sizes[k][1] : sizes[k][0]) + 3 > kernel_taps(r))
                within_bound(r, "x86-avx2", sizes[k][0], sizes[k][1], false, false),
                    within_bound(r, "x86-avx2", sizes[k][0], sizes[k][1], true, false);
}
/* More tiles than a cache holds go in bands, of which the last one begins early, into a result with a border. */
Test(algorithm, winograd_in_bands_stays_within_its_bound) {
    for (const struct algorithm *r = NULL; (r = winograd_after(r));)
        if (r->dims == 2)
            within_bound(r, "aarch64", 61, 53, false, true), within_bound(r, "aarch64", 60, 53, false, false);
}

/* Axes beside those along which windows slide: `T` stands for the taps of the row in a kernel's shape. */
static const struct beside {
    int dims; /* of the row */
    const char *x, *kernel, *attrs, *before;
} beside[] = {
    {1, "1,16,13,9", "T,1", "", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {1, "2,16,9,13", "1,T", "", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {1, "1,16,13,9", "T,1", "strides=[1,2]", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {1, "2,13,7,16", "T,1", "", "Transpose(%x) {perm=[0,3,1,2]}"},
    {1, "1,16,11,4,5", "T,1,1", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {1, "2,16,3,12,5", "1,T,1", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "1,16,3,11,9", "1,T,T", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "2,16,10,3,9", "T,1,T", "strides=[1,2,1]", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "1,7,9,3,16", "T,T,1", "", "Transpose(%x) {perm=[0,4,1,2,3]}"},
    /* other windows, whose taps are summed as in the definition */
    {1, "1,16,9,7", "T,2", "", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {1, "2,16,7,9", "2,T", "", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {1, "2,9,7,16", "4,T", "", "Transpose(%x) {perm=[0,3,1,2]}"},
    {1, "1,16,5,9,4", "2,T,2", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {1, "1,16,5,4,9", "1,2,T", "strides=[2,1,1]", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {1, "1,16,9,4,5", "T,2,1", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "1,16,5,9,8", "T,T,T", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "2,16,4,9,8", "2,T,T", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "1,16,9,4,8", "T,2,T", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "1,16,8,9,4", "T,T,2", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "1,5,8,7,16", "T,T,T", "", "Transpose(%x) {perm=[0,4,1,2,3]}"},
    /* dilated windows */
    {1, "1,16,23,3", "T,1", "dilations=[2,1]", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {1, "2,16,3,29", "1,T", "dilations=[1,3]", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {1, "1,16,9,23", "2,T", "dilations=[3,2]", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {1, "1,16,23,3", "T,1", "dilations=[2,1], strides=[1,2]", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {2, "1,16,19,22", "T,T", "dilations=[2,3]", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {2, "2,16,9,8", "T,T", "dilations=[1,2]", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {2, "1,16,5,13,14", "2,T,T", "dilations=[2,2,1]", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "1,16,13,3,14", "T,1,T", "dilations=[2,1,1]", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "1,17,9,16", "T,T", "dilations=[4,2]", "Transpose(%x) {perm=[0,3,1,2]}"},
    /* operands that are copied into blocks */
    {1, "1,16,13,9", "T,1", "", "Neg(%x)"},
    {1, "1,13,9,17", "1,T", "", "Neg(%x)"},
    {2, "1,16,10,9", "T,T", "", "Neg(%x)"},
    {2, "2,13,10,9", "T,T", "dilations=[1,2]", "Neg(%x)"},
    {2, "1,13,9,10", "T,T", "", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {2, "1,3,5,8,9", "2,T,T", "", "Neg(%x)"},
};
/* Channels that fill no blocks, results that lie in none because they are the model's, and groups of channels. */
static const struct channels {
    struct beside windows;
    int results, groups;
    bool plain;
} of_channels[] = {
    {{1, "1,16,13,9", "T,1", "", "MaxPool(%x) {kernel_shape=[1,1]}"}, 13, 1, false},
    {{1, "2,9,7,16", "4,T", "", "Transpose(%x) {perm=[0,3,1,2]}"}, 21, 1, false},
    {{2, "1,13,9,10", "T,T", "", "MaxPool(%x) {kernel_shape=[1,1]}"}, 13, 1, false},
    {{2, "2,21,8,9", "T,T", "dilations=[1,2]", "MaxPool(%x) {kernel_shape=[1,1]}"}, 36, 1, false},
    {{2, "1,13,5,9,8", "2,T,T", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"}, 5, 1, false},
    {{1, "1,16,9,13", "1,T", "", "MaxPool(%x) {kernel_shape=[1,1]}"}, 16, 1, true},
    {{2, "1,13,9,10", "T,T", "", "Neg(%x)"}, 3, 1, true},
    {{2, "2,16,9,10", "T,T", "dilations=[2,1]", "MaxPool(%x) {kernel_shape=[1,1]}"}, 21, 1, true},
    {{2, "1,3,4,9,8", "2,T,T", "", "Neg(%x)"}, 9, 1, true},
    {{2, "1,32,9,10", "T,T", "group=2", "MaxPool(%x) {kernel_shape=[1,1]}"}, 16, 2, false},
    {{1, "2,24,13,9", "T,1", "group=3", "MaxPool(%x) {kernel_shape=[1,1]}"}, 48, 3, false},
    {{2, "1,26,9,10", "T,T", "group=2", "Neg(%x)"}, 24, 2, true},
    {{2, "1,9,8,32", "T,T", "group=2", "Transpose(%x) {perm=[0,3,1,2]}"}, 40, 2, false},
    {{1, "1,32,5,9,4", "2,T,2", "group=4", "MaxPool(%x) {kernel_shape=[1,1,1]}"}, 32, 4, false},
};
/* Results in bands of more than rows: of pictures, of frames and parts of rows, beside windows whose tiles they share.
 */
static const struct beside banded[] = {
    {2, "2,16,61,53", "T,T", "", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {2, "1,16,5,700", "T,T", "", "MaxPool(%x) {kernel_shape=[1,1]}"},
    {2, "1,16,5,31,29", "1,T,T", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
    {2, "1,16,4,31,29", "2,T,T", "", "MaxPool(%x) {kernel_shape=[1,1,1]}"},
};
/* The kernel's shape with the row's taps. */
static const char *with_taps(const struct algorithm *row, const char *kernel) {
    struct text t = {0};
    for (const char *p = kernel; *p; p++)
        if (*p == 'T') text_printf(&t, "%d", kernel_taps(row));
        else text_printf(&t, "%c", *p);
    const char *s = arena_printf(&c->arena, "%s", t.s);
    text_free(&t);
    return s;
}
static void beside_within_bound(const struct algorithm *row, const struct channels *of, const char *target) {
    const struct beside *b = &of->windows;
    struct text t = {0};
    int64_t dims[8], cells = 1, n, count;
    int rank = 0;
    for (const char *p = b->x; *p; p += strcspn(p, ","), p += *p == ',') cells *= dims[rank++] = atoi(p);
    int all = 1;
    const char *channels_at = strstr(b->before, "perm") ? strrchr(b->x, ',') : strchr(b->x, ',');
    int each = atoi(channels_at + 1) / of->groups;
    const char *kernel = with_taps(row, b->kernel), *choices, *direct,
               *what = arena_printf(&c->arena, "%s by %s {%s}", b->x, kernel, b->attrs),
               *after = of->plain   ? "Identity(%r)"
                        : rank == 5 ? "MaxPool(%r) {kernel_shape=[1,1,1]}"
                                    : "MaxPool(%r) {kernel_shape=[1,1]}";
    for (const char *p = kernel; *p; p += strcspn(p, ","), p += *p == ',') all *= atoi(p);
    const char *nodes = arena_printf(&c->arena,
                                     "%%t: ? = %s %%h: ? = Conv(%%t, %%w, %%b) {auto_pad=\"SAME_UPPER\"%s%s} "
                                     "%%r: ? = Relu(%%h) %%y: ? = %s",
                                     b->before, *b->attrs ? ", " : "", b->attrs, after);
    constant(&t, "w", arena_printf(&c->arena, "%d,%d,%s", of->results, each, kernel), of->results * each * all);
    constant(&t, "b", arena_printf(&c->arena, "%d", of->results), of->results);
    float *x = malloc(sizeof *x * (size_t)cells);
    for (int64_t k = 0; k < cells; k++) x[k] = drawn();
    const char *params = arena_printf(&c->arena, "%%x: f32[%s]", b->x);
    float *got = computed(row->name, target, t.s, params, nodes, x, dims, rank, SIZES(false, 0, 0), &n, &choices),
          *want = computed("direct", target, t.s, params, nodes, x, dims, rank, SIZES(false, 0, 0), &count, &direct);
    cr_assert_eq(n, count);
    cr_expect(strstr(choices, arena_printf(&c->arena, "taken: %s\n", row->name)), "%s: %s", what, choices);
    cr_expect_not(strstr(choices, "is named twice"), "%s: %s", what, choices); /* no schedule tells such loops apart */
    are_near(row, what, terms_of(row, all), got, want, n);
    free(got), free(want), free(x), text_free(&t);
}
Test(algorithm, winograd_beside_other_axes_stays_within_its_bound) {
    for (const struct algorithm *r = NULL; (r = winograd_after(r));)
        for (size_t k = 0; k < sizeof beside / sizeof *beside; k++)
            if (beside[k].dims == r->dims)
                beside_within_bound(r, &(struct channels){beside[k], RESULTS, 1, false}, "x86-avx2");
}
Test(algorithm, winograd_of_any_channels_stays_within_its_bound) {
    for (const struct algorithm *r = NULL; (r = winograd_after(r));)
        for (size_t k = 0; k < sizeof of_channels / sizeof *of_channels; k++)
            if (of_channels[k].windows.dims == r->dims) beside_within_bound(r, &of_channels[k], "x86-avx2");
}
Test(algorithm, winograd_in_bands_of_any_axes_stays_within_its_bound) {
    for (const struct algorithm *r = NULL; (r = winograd_after(r));)
        for (size_t k = 0; k < sizeof banded / sizeof *banded; k++)
            if (banded[k].dims == r->dims)
                beside_within_bound(r, &(struct channels){banded[k], 32, 1, k % 2 != 0}, "aarch64");
}

/* What the definition of a 3 x 3 convolution of 256 channels of 12 x 12 cells is predicted to take. */
static double cycles_with_dilation(int d) {
    struct text t = {0}, consts = {0};
    struct lower_options o = {.target = target_by_name("x86-avx512"), .choices = &t};
    text_add(&consts, "const %w: f32[256,256,3,3] = splat 0.5\n");
    cr_assert(lower_graph(graph_of(consts.s, "%x: f32[1,256,12,12]",
                                   arena_printf(&c->arena,
                                                "%%p: ? = MaxPool(%%x) {kernel_shape=[1,1]} %%y: ? = Conv(%%p, %%w) "
                                                "{dilations=[%d,%d], pads=[%d,%d,%d,%d]}",
                                                d, d, d, d, d, d)),
                          &o));
    const char *at = strstr(t.s, "algorithm direct: ");
    cr_assert(at, "%s", t.s);
    double cycles = atof(at + strlen("algorithm direct: "));
    text_free(&t), text_free(&consts);
    return cycles;
}
/* Of nine taps, all but the middle one meet padding alone, where the dilation is as large as the picture. */
Test(algorithm, taps_that_meet_padding_alone_cost_nothing) {
    double near = cycles_with_dilation(1), far = cycles_with_dilation(12);
    cr_expect_leq(far, near / 3, "%g of %g cycles", far, near); /* weights come from memory as before */
}

/* ---- of whole numbers: the same bits */
static void bytes(struct text *t, const char *name, const char *type, int n, int from, int count) {
    text_printf(t, "const %%%s: %s = [", name, type);
    for (int k = 0; k < n; k++) text_printf(t, "%s%d", k ? "," : "", from + (int)(64 * (drawn() + 2)) % count);
    text_add(t, "]\n");
}
/* The results of a convolution of x, which has a zero point, by an algorithm. */
static const uint8_t *convolved_bytes(const struct algorithm *row, const char *algorithm, const char *target,
                                      const char *consts, uint8_t *x, int high, int wide, bool open, int64_t *count) {
    struct text t = {0};
    bool flat = row->dims == 1;
    int half = kernel_taps(row) / 2;
    const char *params = arena_printf(&c->arena, "%%x: u8[1,%d,%s]", CHANNELS, picture_text(row, high, wide, open)),
               *window = flat ? "[1]" : "[1,1]",
               *pads = flat ? arena_printf(&c->arena, "[%d,%d]", half, half + 1)
                            : arena_printf(&c->arena, "[%d,%d,%d,%d]", half, half, half, half + 1);
    const char *nodes = arena_printf(&c->arena,
                                     "%%p: ? = MaxPool(%%x) {kernel_shape=%s} "
                                     "%%h: ? = QLinearConv(%%p, %%s, %%zx, %%w, %%s, %%zw, %%sy, %%zx, %%b) "
                                     "{pads=%s} %%y: ? = MaxPool(%%h) {kernel_shape=%s}",
                                     window, pads, window);
    struct lower_options o = {.target = target_by_name(target), .choices = &t, .algorithms = {&algorithm, NULL, 1, 0}};
    struct module *m = lower_graph(graph_of(consts, params, nodes), &o);
    struct eval_arg args[2] = {
        {.data = x, .nd = 2 + row->dims, .dims = {1, CHANNELS, flat ? high * wide : high, wide}}};
    cr_assert(m);
    struct eval_result e =
        loop_eval(m, m->entry, args, SIZES(flat, high, wide), &(struct eval_options){.poison = true});
    cr_assert_eq(e.status, EVAL_OK, "%s", e.message);
    cr_expect(strstr(t.s, arena_printf(&c->arena, "taken: %s\n", algorithm)), "%s", t.s);
    *count = 1;
    for (int d = 0; d < 2 + row->dims; d++) *count *= args[1].dims[d];
    text_free(&t);
    return args[1].data;
}
/* Values around the zero point, or all that there are. */
static void keeps_bits(const struct algorithm *row, const char *target, int results, int high, int wide, bool all,
                       bool open) {
    struct text t = {0};
    int side = kernel_taps(row), taps = row->dims == 1 ? side : side * side, cells = CHANNELS * high * wide;
    const char *dims = row->dims == 1 ? arena_printf(&c->arena, "u8[%d,16,%d]", results, side)
                                      : arena_printf(&c->arena, "u8[%d,16,%d,%d]", results, side, side);
    if (open) text_add(&t, SYMBOLS);
    bytes(&t, "w", dims, results * CHANNELS * taps, all ? 0 : 119, all ? 256 : 3);
    bytes(&t, "b", arena_printf(&c->arena, "i32[%d]", results), results, -100, 200);
    text_printf(&t,
                "const %%zx: u8[] = splat 130\nconst %%zw: u8[] = splat 120\nconst %%s: f32[] = splat 1.0\nconst %%sy: "
                "f32[] = splat %s\n",
                all ? "1000.0" : "1.0");
    uint8_t *x = malloc((size_t)cells);
    for (int k = 0; k < cells; k++) x[k] = (uint8_t)(all ? k * 37 + (int)(64 * drawn()) : 128 + k % 5);
    int64_t n, count;
    const uint8_t *got = convolved_bytes(row, row->name, target, t.s, x, high, wide, open, &n),
                  *want = convolved_bytes(row, "direct", target, t.s, x, high, wide, open, &count);
    cr_assert_eq(n, count);
    cr_expect(!memcmp(got, want, (size_t)n), "%s of %d x %d for %s", row->name, high, wide, target);
    free(x), text_free(&t);
}
Test(algorithm, winograd_of_whole_numbers_keeps_the_bits) {
    static const int sizes[][2] = {{2, 3}, {5, 7}, {13, 4}};
    static const char *const targets[] = {"x86-avx2", "aarch64"};
    for (const struct algorithm *r = algorithm_rows; r->name; r++)
        for (int k = 0; r->whole && k < 24; k++)
            keeps_bits(r, targets[k / 3 % 2], k / 2 % 2 ? 32 : 21, sizes[k % 3][0], sizes[k % 3][1], k / 6 % 2 != 0,
                       k >= 12);
}

/* ---- tables of bytes: the same bits as what they hold is computed to */
struct run {
    struct eval_arg y;
    const char *choices;
};
static struct run of_bytes(const char *target, const char *type, const char *dims, const char *nodes, const void *x,
                           int64_t n, bool tables) {
    static const char *const name[] = {"tables"};
    struct text t = {0};
    struct lower_options o = {
        .target = target_by_name(target), .choices = &t, .algorithms = {name, name, tables, !tables}};
    const char *consts = arena_printf(&c->arena,
                                      "const %%sx: f32[] = [0.0473]\nconst %%sy: f32[] = [0.0171]\nconst %%zx: %s[] = "
                                      "splat 17\nconst %%zy: %s[] = splat 5\nconst %%k: f32[] = [0.7071]\n",
                                      type, type);
    struct module *m = lower_graph(graph_of(consts, arena_printf(&c->arena, "%%x: %s[%s]", type, dims), nodes), &o);
    struct eval_arg args[2] = {{.data = (void *)x, .nd = 1, .dims = {n}}};
    cr_assert(m, "%s", nodes);
    struct eval_result e =
        loop_eval(m, m->entry, args, (int64_t[]){n <= 100 ? n : 0}, &(struct eval_options){.poison = true});
    cr_assert_eq(e.status, EVAL_OK, "%s", e.message);
    struct run r = {args[1], arena_printf(&c->arena, "%s", t.s)};
    text_free(&t);
    return r;
}
static void same_by_table(const char *target, const char *type, const char *nodes, bool floats) {
    uint8_t x[256];
    for (int k = 0; k < 256; k++) x[k] = (uint8_t)k;
    static const struct {
        const char *dims;
        int64_t n;
    } sizes[] = {{"256", 256}, {"N", 100}, {"N", 0}, {"1", 1}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        struct run got = of_bytes(target, type, sizes[s].dims, nodes, x, sizes[s].n, true),
                   want = of_bytes(target, type, sizes[s].dims, nodes, x, sizes[s].n, false);
        cr_expect(strstr(got.choices, "taken beside it\n"), "%s, %s: %s", target, nodes, got.choices);
        cr_expect_not(strstr(want.choices, "taken beside it\n"), "%s: %s", target, want.choices);
        for (int64_t k = 0; k < sizes[s].n; k++) {
            const float *a = got.y.data, *b = want.y.data;
            bool same = floats ? (isnan(b[k]) ? isnan(a[k]) : !memcmp(a + k, b + k, sizeof *a))
                               : ((const uint8_t *)got.y.data)[k] == ((const uint8_t *)want.y.data)[k];
            cr_expect(same, "%s, %s: cell %lld of %s", target, nodes, (long long)k, type);
        }
        free(got.y.data), free(want.y.data);
    }
}
#define DEQUANTIZED     "%d: ? = DequantizeLinear(%x, %sx, %zx) "
#define QUANTIZED(what) "%y: ? = QuantizeLinear(%" what ", %sy, %zy)"
Test(algorithm, tables_keep_the_bits) {
    static const char *const targets[] = {"x86-avx2", "x86-avx512", "x86-64", "aarch64", "c99", "cortex-m4"};
    for (int k = 0; k < 12; k++) {
        const char *target = targets[k / 2], *type = k % 2 ? "i8" : "u8";
        same_by_table(target, type, DEQUANTIZED "%s: ? = Sigmoid(%d) %m: ? = Mul(%d, %s) " QUANTIZED("m"), false);
        same_by_table(target, type, DEQUANTIZED "%s: ? = Mish(%d) " QUANTIZED("s"), false);
        /* no numbers, infinities, halves between */
        same_by_table(target, type, DEQUANTIZED "%s: ? = Log(%d) %t: ? = Exp(%s) " QUANTIZED("t"), false);
        same_by_table(target, type, DEQUANTIZED "%s: ? = Log(%d) %y: ? = Tanh(%s)", true);
        same_by_table(target, type,
                      DEQUANTIZED "%e: ? = Erf(%d) %h: ? = Cast(%e) {to=10} %f: ? = Cast(%h) {to=1} %y: ? = Exp(%f)",
                      true);
    }
}
/* Where several bytes meet, or something that is no constant, each has its own table, or none. */
Test(algorithm, tables_are_of_one_byte) {
    struct lower_options o = {.target = target_by_name("c99")};
    static const char *const few[] = {
        DEQUANTIZED "%s: ? = Mish(%d) %t: ? = Mul(%s, %v) " QUANTIZED("t"), /* v has values of its own */
        DEQUANTIZED "%e: ? = DequantizeLinear(%x2, %sx, %zx) %m: ? = Mul(%d, %e) %y: ? = Sigmoid(%m)",
        DEQUANTIZED "%y: ? = Relu(%d)", /* cheap */
    };
    static const int tables[] = {1, 0, 0};
    for (int k = 0; k < 3; k++) {
        struct text t = {0};
        o.choices = &t;
        const char *consts = "const %sx: f32[] = [0.05]\nconst %sy: f32[] = [0.02]\nconst %zx: u8[] = splat 17\nconst "
                             "%zy: u8[] = splat 5\n";
        struct module *m = lower_graph(graph_of(consts, "%x: u8[64], %x2: u8[64], %v: f32[64]", few[k]), &o);
        int n = 0;
        cr_assert(m);
        for (int b = 0; b < m->entry->bufs.n; b++) n += !strncmp(m->entry->bufs.v[b]->name, "table", 5);
        cr_expect_eq(n, tables[k], "%s: %d tables\n%s", few[k], n, t.s);
        text_free(&t);
    }
}

/* ---- TopK by a row (NULL: by the definition): the same elements, the first of equal ones in front */
static int64_t *places_of(const char *row, const char *text, enum dtype type, const char *target, bool open, int64_t n,
                          int64_t k, bool largest, int beside, const float *x) {
    static const char *const all[] = {"all"};
    struct text t = {0};
    struct lower_options o = {
        .target = target_by_name(target), .choices = &t, .algorithms = {row ? &row : NULL, all, row != NULL, 1}};
    char size[24];
    snprintf(size, sizeof size, "%d", (int)n);
    struct module *m = lower_graph(
        graph_of(arena_printf(&c->arena, "const %%k: i64[1] = [%d]\n", (int)k),
                 arena_printf(&c->arena, "%%x: f32[2,%s,%d]", open ? "N" : size, beside),
                 arena_printf(&c->arena,
                              "%%c: ? = Cast(%%x) {to = %d} %%v: ?, %%y: ? = TopK(%%c, %%k) {axis = 1, largest = %d}",
                              dtype_onnx(type), largest)),
        &o);
    cr_assert(m);
    cr_expect(k == 0 || strstr(t.s, text), "%s", t.s); /* of none, nothing is computed */
    text_free(&t);
    struct eval_arg args[2] = {{.data = (void *)x, .nd = 3, .dims = {2, n, beside}}};
    struct eval_result e =
        loop_eval(m, m->entry, args, (int64_t[]){open ? n : 0}, &(struct eval_options){.poison = true});
    cr_assert_eq(e.status, EVAL_OK, "%s", e.message);
    return args[1].data;
}
/* What is said of a text is said of each node that calls it. */
Test(algorithm, sorted_runs_of_several_nodes) {
    struct text t = {0};
    struct lower_options o = {.target = target_by_name("cuda"), .choices = &t};
    cr_assert(lower_graph(graph_of("const %k: i64[1] = [500]\nconst %l: i64[1] = [400]\nconst %m: i64[1] = [2]\n",
                                   "%x: f32[1,8000], %z: f32[9000,40]",
                                   "%v: ?, %p: ? = TopK(%x, %k) @\"wide\" %u: ?, %q: ? = TopK(%x, %l) @\"less\" "
                                   "%w: ?, %r: ? = TopK(%z, %m) @\"many\" "
                                   "%s: ? = ReduceSum(%w) %t: ? = Concat(%v, %u) {axis=1} %y: ? = Add(%s, %t)"),
                          &o));
    const char *runs = strstr(t.s, "topk_runs_f32: text"),
               *wide = strstr(t.s, "\"wide\" (TopK):\n  algorithm sorted-runs: saves "),
               *less = strstr(t.s, "\"less\" (TopK):\n  algorithm sorted-runs: saves ");
    cr_expect(runs && wide > runs && less > runs, "%s", t.s);
    cr_expect(strstr(t.s, "\ntopk_f32: text") && !strstr(t.s, "many"), "%s", t.s);
    text_free(&t);
}
static void take_the_same_of(int64_t n, int64_t k, const char *row, const char *text, enum dtype type,
                             const char *other, int beside) {
    float x[2 * 515 * 3];
    for (unsigned s = 0; s < 8; s++) {
        bool open = s & 2 && n <= 128;
        unsigned seed = s + 8 * (unsigned)n;
        for (int64_t i = 0; i < 2 * n * beside; i++) { /* few values, so many equal ones */
            seed = seed * 1664525u + 1013904223u;
            x[i] = seed >> 28 ? (float)(seed >> 26) : NAN;
        }
        const char *target = s & 4 ? other : "c99";
        int64_t *got = places_of(row, text, type, target, open, n, k, s & 1, beside, x),
                *want = places_of(NULL, "topk_", type, target, open, n, k, s & 1, beside, x);
        for (int64_t i = 0; i < 2 * k * beside; i++)
            cr_expect_eq(got[i], want[i], "%d of %d for %s: place %d", (int)k, (int)n, target, (int)i);
        free(got), free(want);
    }
}
static void take_the_same_elements(const char *row, const char *text, enum dtype type, const char *other, int beside) {
    static const int64_t sizes[][2] = {{1, 1}, {5, 0},    {7, 3},    {64, 64},  {65, 65},   {128, 5},
                                       {8, 8}, {129, 70}, {200, 64}, {257, 65}, {300, 299}, {515, 130}};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
        take_the_same_of(sizes[s][0], sizes[s][1], row, text, type, other, beside);
}
Test(algorithm, sorted_runs_take_the_same_elements) {
    take_the_same_elements("sorted-runs", "topk_runs_f32", F32, "cuda", 3);
}
Test(algorithm, a_heap_takes_the_same_elements) { take_the_same_elements("heap", "topk_heap_f32", F32, "cuda", 3); }
Test(algorithm, skipping_takes_the_same_elements) {
    take_the_same_elements("skipping", "topk_skip_i32", F32, "x86-avx2", 3);
    take_the_same_elements("skipping", "topk_skip_i32", I8, "x86-avx2", 1);
    take_the_same_elements("skipping", "topk_skip_wide_i64", F64, "x86-avx2", 1);
    take_the_same_elements("skipping", "topk_skip_wide_i64", U64, "x86-avx2", 3);
}
Test(algorithm, digits_take_the_same_elements) {
    take_the_same_elements("digits", "topk_digits_i32", F32, "x86-avx2", 3);
    take_the_same_elements("digits", "topk_digits_i32", U8, "x86-avx2", 1);
    take_the_same_elements("digits", "topk_digits_i64", F64, "x86-avx512", 1);
    take_the_same_elements("digits", "topk_digits_i64", U64, "x86-avx2", 3);
}
static void takes(const char *target, int64_t n, int64_t k, const char *row) {
    struct text t = {0};
    struct lower_options o = {.target = target_by_name(target), .choices = &t};
    cr_assert(lower_graph(graph_of(arena_printf(&c->arena, "const %%k: i64[1] = [%d]\n", (int)k),
                                   arena_printf(&c->arena, "%%x: f32[1,%d]", (int)n), "%y: ?, %p: ? = TopK(%x, %k)"),
                          &o));
    const char *taken = strstr(t.s, ": saves ");
    cr_expect(!taken == !row && (!row || strstr(t.s, arena_printf(&c->arena, "  algorithm %s: saves ", row))),
              "%d of %d for %s: %s", (int)k, (int)n, target, t.s);
    text_free(&t);
}
Test(algorithm, the_cheapest_way_to_the_best) {
    takes("x86-avx2", 1000, 1, "best-alone");
    takes("x86-avx2", 1000, 5, "skipping");
    takes("x86-avx2", 1000, 1000, "digits");
    takes("x86-avx2", 8400, 300, "digits");
    takes("x86-avx2", 10, 10, NULL);
    takes("cuda", 8000, 500, "sorted-runs");
}
Test(algorithm, a_reduction_takes_the_same_element) {
    static const int64_t lengths[] = {1, 2, 16, 91, 515};
    static const enum dtype types[] = {F32, I8, F64, U64, F16};
    for (int l = 0; l < 5; l++)
        for (int t = 0; t < 5; t++) {
            if (lengths[l] == 515 && types[t] == F16) continue;
            take_the_same_of(lengths[l], 1, "best-alone", "best-alone: saves", types[t], t & 1 ? "cuda" : "x86-avx512",
                             t & 1 ? 3 : 1);
            take_the_same_of(lengths[l], 1, "best-alone", "best-alone", types[t], "x86-avx2", 3);
        }
}

/* ---- running sums of columns, side by side: the same bits */
static float *running(const char *target, const char *op, const char *attributes, const int64_t *dims, bool open,
                      bool rows, const float *x) {
    static const char *const row = "running-rows", *const all = "all";
    struct text t = {0};
    struct lower_options o = {.target = target_by_name(target), .choices = &t, .algorithms = {&row, &all, rows, !rows}};
    const char *columns = open ? "N" : arena_printf(&c->arena, "%d", (int)dims[2]);
    const char *params = arena_printf(&c->arena, "%%x: f32[%d,%d,%s]", (int)dims[0], (int)dims[1], columns);
    struct module *m = lower_graph(graph_of("const %k: i64[] = [1]\n", params,
                                            arena_printf(&c->arena, "%%y: ? = %s(%%x, %%k) {%s}", op, attributes)),
                                   &o);
    cr_assert(m);
    cr_expect(dims[1] == 0 || (bool)strstr(t.s, "_rows_f32: text") == rows, "%s", t.s);
    text_free(&t);
    struct eval_arg args[2] = {{.data = (void *)x, .nd = 3, .dims = {dims[0], dims[1], dims[2]}}};
    struct eval_result e =
        loop_eval(m, m->entry, args, (int64_t[]){open ? dims[2] : 0}, &(struct eval_options){.poison = true});
    cr_assert_eq(e.status, EVAL_OK, "%s", e.message);
    return args[1].data;
}
Test(algorithm, running_sums_side_by_side) {
    static const int64_t sizes[][3] = {{2, 3, 1}, {1, 4, 15}, {3, 1, 47}, {2, 5, 1024}, {1, 3, 2060}, {2, 0, 5}};
    static const char *const attributes[] = {"exclusive=0", "exclusive=1", "reverse=1", "exclusive=1, reverse=1"};
    static float x[2 * 5 * 1024];
    for (int i = 0; i < 2 * 5 * 1024; i++) x[i] = (float)((i * 37 + 11) % 64 - 30) / 7;
    for (int s = 0; s < 6 * 4; s++) {
        const int64_t *dims = sizes[s / 4];
        const char *op = s & 1 ? "CumSum" : "CumProd", *target = dims[2] & 1 ? "x86-avx2" : "x86-avx512";
        bool open = dims[2] < 100 && s & 2; /* N is at most 128 */
        float *got = running(target, op, attributes[s % 4], dims, open, true, x),
              *want = running(target, op, attributes[s % 4], dims, open, false, x);
        int64_t n = dims[0] * dims[1] * dims[2];
        cr_expect(!memcmp(got, want, (size_t)n * sizeof *got), "%s {%s} of %d columns", op, attributes[s % 4],
                  (int)dims[2]);
        free(got), free(want);
    }
}

/* ---- products of bytes that the run computes: the same sums, whatever the types, the zero points and the sizes */
static int32_t *of_computed(const char *algorithm, const char *target, const char *types[2], const char *zeros,
                            int rows, int depth, int columns, bool open, const uint8_t *x, const char **choices) {
    enum { BATCH = 2 };
    const char *m = open ? "N" : arena_printf(&c->arena, "%d", rows),
               *params = arena_printf(&c->arena, "%%a: %s[%d,%s,%d], %%b: %s[%d,%d,%d]", types[0], BATCH, m, depth,
                                      types[1], BATCH, depth, columns),
               *consts =
                   arena_printf(&c->arena,
                                "const %%za: %s[] = splat 100\nconst %%zb: %s[%d] = splat 3\nconst %%none: %s[] = "
                                "splat 0\n",
                                types[0], types[1], columns, types[1]),
               *node = arena_printf(&c->arena, "%%y: ? = MatMulInteger(%%a, %%b%s)", zeros);
    struct text t = {0};
    struct lower_options o = {.target = target_by_name(target), .choices = &t, .algorithms = {&algorithm, NULL, 1, 0}};
    struct module *g = lower_graph(graph_of(consts, params, node), &o);
    struct eval_arg args[3] = {{.data = (void *)x, .nd = 3, .dims = {BATCH, rows, depth}},
                               {.data = (void *)x, .nd = 3, .dims = {BATCH, depth, columns}}};
    cr_assert(g);
    struct eval_result e = loop_eval(g, g->entry, args, (int64_t[]){rows}, &(struct eval_options){.poison = true});
    cr_assert_eq(e.status, EVAL_OK, "%s: %s", target, e.message);
    *choices = arena_printf(&c->arena, "%s", t.s);
    text_free(&t);
    return args[2].data;
}
Test(algorithm, products_of_computed_bytes_keep_the_bits) {
    static const char *const targets[] = {"c99",          "x86-64",      "x86-avx2",  "x86-avx512bf16",
                                          "x86-amx",      "x86-avxvnni", "aarch64",   "aarch64-dotprod",
                                          "aarch64-i8mm", "cortex-m4",   "cortex-m55"};
    static const char *types[][2] = {{"u8", "i8"}, {"i8", "u8"}, {"u8", "u8"}, {"i8", "i8"}};
    static const char *const zeros[] = {"", ", %za", ", %za, %none", ", %za, %zb"};
    static const int sizes[][3] = {{24, 64, 48}, {19, 13, 21}, {20, 7, 3}, {17, 1, 33}};
    uint8_t x[2 * 64 * 64];
    for (size_t k = 0; k < sizeof x; k++) x[k] = (uint8_t)(64 * (drawn() + 2));
    x[0] = x[1] = x[2] = x[3] = 128, x[4] = x[5] = 255;
    for (size_t k = 0; k < 4 * sizeof targets / sizeof *targets; k++)
        for (int n = 0; n < 8; n++) {
            const int *size = sizes[n % 4];
            const char *target = targets[k / 4], *choices, *direct;
            int32_t *got = of_computed("computed-bytes", target, types[k % 4], zeros[(k + (size_t)n) % 4], size[0],
                                       size[1], size[2], n > 3, x, &choices),
                    *want = of_computed("direct", target, types[k % 4], zeros[(k + (size_t)n) % 4], size[0], size[1],
                                        size[2], n > 3, x, &direct);
            cr_expect(strstr(choices, "taken: computed-bytes"), "%s: %s", target, choices);
            cr_expect(strncmp(target, "x86-avx512", 10) || !strstr(choices, "plain loops: maps inlined\n    taken"),
                      "the sum of a factor has no lanes: %s", choices);
            cr_expect(!memcmp(got, want, 2 * (size_t)(size[0] * size[2]) * sizeof *got),
                      "%s: %s times %s%s, %d x %d x %d", target, types[k % 4][0], types[k % 4][1],
                      zeros[(k + (size_t)n) % 4], size[0], size[1], size[2]);
            free(got), free(want);
        }
}

/* ---- weights rounded to bytes: products of one row, of some, and with a batch of weights */
enum { DEPTH = 37, COLUMNS = 43 };
static float *multiplied(const char *target, const char *consts, const char *node, const float *x, int rows, int batch,
                         bool bytes, const char **choices) {
    static const char *const names[] = {"byte-weights", "direct"};
    struct text t = {0};
    struct lower_options o = {
        .target = target_by_name(target), .choices = &t, .algorithms = {&names[!bytes], NULL, 1, 0, bytes ? I8 : NONE}};
    const char *params = arena_printf(&c->arena, "%%x: f32[%d,%d,%d]", batch, rows, DEPTH);
    struct module *m = lower_graph(graph_of(consts, params, node), &o);
    struct eval_arg args[2] = {{.data = (void *)x, .nd = 3, .dims = {batch, rows, DEPTH}}};
    cr_assert(m);
    struct eval_result e = loop_eval(m, m->entry, args, (int64_t[]){1}, &(struct eval_options){.poison = true});
    cr_assert_eq(e.status, EVAL_OK, "%s", e.message);
    *choices = arena_printf(&c->arena, "%s", t.s);
    text_free(&t);
    return args[1].data;
}
/* Every weight of a channel within half a step of its own scale: channels are of very different sizes. */
static void bytes_within_bound(const char *target, int rows, int batch, bool each) {
    const struct algorithm *row = algorithm_named("byte-weights");
    int layers = each ? batch : 1;
    float x[3 * 20 * DEPTH], most[3 * COLUMNS] = {0};
    struct text t = {0};
    text_printf(&t, "const %%w: f32[%d,%d,%d] = [", layers, DEPTH, COLUMNS);
    for (int k = 0; k < layers * DEPTH * COLUMNS; k++) {
        int at = k / (DEPTH * COLUMNS) * COLUMNS + k % COLUMNS;
        float w = at % COLUMNS == 7 ? 0 : ldexpf(drawn(), at % 11 - 5);
        most[at] = fmaxf(most[at], fabsf(w));
        text_printf(&t, "%s%.9g", k ? "," : "", (double)w);
    }
    text_add(&t, "]\n");
    for (int k = 0; k < batch * rows * DEPTH; k++) x[k] = drawn();
    const char *node = "%y: ? = MatMul(%x, %w)", *choices, *direct;
    float *got = multiplied(target, t.s, node, x, rows, batch, true, &choices),
          *want = multiplied(target, t.s, node, x, rows, batch, false, &direct);
    cr_expect(strstr(choices, "taken: byte-weights"), "%s: %s", target, choices);
    cr_expect_not(strstr(direct, "byte-weights"), "%s", direct);
    for (int k = 0; k < batch * rows * COLUMNS; k++) {
        float channel = most[(each ? k / (rows * COLUMNS) * COLUMNS : 0) + k % COLUMNS];
        double allowed = row->bound(row, DEPTH) * DEPTH * 2 * (double)channel * ldexp(1, -24);
        cr_expect_leq(fabs((double)got[k] - (double)want[k]), allowed, "%s, %d x %d: cell %d: %g is not %g", target,
                      batch, rows, k, (double)got[k], (double)want[k]);
    }
    free(got), free(want), text_free(&t);
}
Test(algorithm, byte_weights_stay_within_their_bound) {
    static const char *const targets[] = {"c99", "x86-64", "x86-avx2", "x86-avx512", "aarch64", "cuda"};
    for (size_t k = 0; k < sizeof targets / sizeof *targets; k++)
        for (int rows = 1; rows <= 20; rows += 19)
            bytes_within_bound(targets[k], rows, 1, false), bytes_within_bound(targets[k], rows, 3, true);
}

/* ---- weights that are zero in blocks of channels: the same sums, which are exact here */
struct sparse_case {
    const char *node; /* of %h, by %w */
    int rank, channels, sum, taps;
    bool turned; /* channels come last */
};
static void sparse_weights(struct text *t, const struct sparse_case *k, int block, int zero) {
    int columns = k->sum * k->taps * k->taps, blocks = (k->channels + block - 1) / block;
    bool *none = NEWN(&c->arena, bool, blocks *columns);
    for (int i = 0; i < blocks * columns; i++) none[i] = fabsf(drawn()) < (float)zero / 50; /* in hundredths */
    text_printf(t, k->turned ? "const %%w: f32[%d,%d] = [" : "const %%w: f32[%d,%d", k->turned ? k->sum : k->channels,
                k->turned ? k->channels : k->sum);
    if (!k->turned) text_printf(t, k->rank == 4 ? ",%d,%d] = [" : "] = [", k->taps, k->taps);
    for (int i = 0; i < k->channels * columns; i++) {
        int n = k->turned ? i % k->channels : i / columns, at = k->turned ? i / k->channels : i % columns;
        float w = drawn(), here = drawn(); /* a third of those that are left are zero by themselves */
        bool zeros = none[n / block * columns + at] || here > 2 / 3.0;
        text_printf(t, "%s%.9g", i ? "," : "", zeros ? 0.0 : (double)w);
    }
    text_add(t, "]\n");
}
static float *sparse_result(const char *target, bool plain, const char *algorithm, const char *consts,
                            const char *nodes, const float *x, const int64_t *dims, int rank, int64_t *count,
                            const char **choices) {
    struct text t = {0};
    struct lower_options o = {.target = target_by_name(target),
                              .choices = plain ? NULL : &t,
                              .no_schedule = plain,
                              .algorithms = {&algorithm, NULL, 1, 0}};
    const char *params = rank == 2 ? format(c, "%%x: f32[%lld,%lld]", (long long)dims[0], (long long)dims[1])
                                   : format(c, "%%x: f32[%lld,%lld,%lld,%lld]", (long long)dims[0], (long long)dims[1],
                                            (long long)dims[2], (long long)dims[3]);
    struct module *m = lower_graph(graph_of(consts, params, nodes), &o);
    struct eval_arg args[2] = {{.data = (void *)x, .nd = rank}};
    memcpy(args[0].dims, dims, (size_t)rank * sizeof *dims);
    cr_assert(m);
    struct eval_result e = loop_eval(m, m->entry, args, (int64_t[]){1}, &(struct eval_options){.poison = true});
    cr_assert_eq(e.status, EVAL_OK, "%s", e.message);
    *count = 1;
    for (int d = 0; d < args[1].nd; d++) *count *= args[1].dims[d];
    *choices = t.s ? arena_printf(&c->arena, "%s", t.s) : "";
    text_free(&t);
    return args[1].data;
}
Test(algorithm, sparse_blocks_are_the_same_sums) {
    static const struct sparse_case cases[] = {
        {"MatMul(%x, %w)", 2, 64, 40, 1, true},
        {"Gemm(%x, %w) {transB=1}", 2, 48, 33, 1, false},
        {"Conv(%x, %w) {kernel_shape=[1,1]}", 4, 32, 24, 1, false},
        {"Conv(%x, %w) {kernel_shape=[3,3], pads=[1,1,1,1]}", 4, 16, 20, 3, false},
        {"Conv(%x, %w) {kernel_shape=[3,3], strides=[2,1], pads=[0,1,1,0]}", 4, 48, 16, 3, false},
    };
    static const char *const targets[] = {"x86-avx512", "x86-avx2", "x86-64", "aarch64", "c99", "cortex-m4"};
    enum { CASES = sizeof cases / sizeof *cases, TARGETS = sizeof targets / sizeof *targets };
    static float x[3 * 40 * 9 * 9];
    for (int i = 0; i < (int)(sizeof x / sizeof *x); i++) x[i] = drawn();
    for (int k = 0; k < TARGETS * CASES; k++) {
        const struct sparse_case *s = &cases[k % CASES];
        const char *target = targets[k / CASES], *choices, *none;
        int size = 2 + (int)(fabsf(drawn()) * 4), zero = k % 3 ? 60 + k % 40 : 95;
        int64_t dims[4] = {s->rank == 2 ? 2 * size : 1 + k % 2, s->sum, size, 9}, count, same;
        struct text consts = {0};
        sparse_weights(&consts, s, 16, zero);
        /* windows of one cell, so that pictures lie in blocks of channels */
        const char *nodes =
            s->rank == 2 ? format(c, "%%h: ? = %s %%y: ? = Relu(%%h)", s->node)
                         : format(c,
                                  "%%p: ? = MaxPool(%%x) {kernel_shape=[1,1]} %%h: ? = %.4s(%%p%s %%r: ? = Relu(%%h) "
                                  "%%y: ? = MaxPool(%%r) {kernel_shape=[1,1]}",
                                  s->node, s->node + strlen("Conv(%x"));
        float *got = sparse_result(target, false, "sparse-blocks", consts.s, nodes, x, dims, s->rank, &count, &choices),
              *want = sparse_result(target, true, "direct", consts.s, nodes, x, dims, s->rank, &same, &none);
        cr_expect(strstr(choices, "taken: sparse-blocks") && strstr(choices, "  contraction: lanes"), "%s", choices);
        cr_assert_eq(count, same);
        for (int64_t i = 0; i < count; i++)
            cr_expect_eq(got[i], want[i], "%s, %s, %d%% zeros: cell %lld is %g, not %g", target, nodes, zero,
                         (long long)i, (double)got[i], (double)want[i]);
        free(got), free(want), text_free(&consts);
    }
}
/* Half of the weights, of 16 channels at a time; 1: of each channel by itself. What nothing multiplies is not seen. */
static const char *halves(int block, const char *algorithm, const float *x, float **got) {
    struct text t = {0};
    const char *choices;
    int64_t count;
    text_add(&t, "const %w: f32[42,64] = [");
    for (int i = 0; i < 42 * 64; i++) text_printf(&t, "%s%d", i ? "," : "", (i / 64 + i % 64 / block) % 2);
    text_add(&t, "]\n");
    *got = sparse_result("x86-avx512", false, algorithm, t.s, "%h: ? = MatMul(%x, %w) %y: ? = Relu(%h)", x,
                         (int64_t[]){2, 42}, 2, &count, &choices);
    text_free(&t);
    return choices;
}
Test(algorithm, sparse_blocks_do_not_see_what_only_zeros_multiply) {
    float x[2 * 42], *got, *dense;
    for (int i = 0; i < 2 * 42; i++) x[i] = 1;
    x[0] = x[42 + 38] = INFINITY; /* odd blocks of channels multiply even places: 21, and one that fills the list */
    const char *choices = halves(16, "sparse-blocks", x, &got);
    cr_assert(strstr(choices, "taken: sparse-blocks"), "%s", choices);
    halves(16, "direct", x, &dense);
    for (int n = 0; n < 2 * 64; n++) {
        bool read = n % 64 / 16 % 2;
        cr_expect_eq(got[n], read ? INFINITY : 21, "cell %d is %g", n, (double)got[n]);
        cr_expect(read ? dense[n] == INFINITY : dense[n] != 21, "cell %d is %g", n, (double)dense[n]);
    }
    free(got), free(dense);
    choices = halves(1, "sparse-blocks", x, &got);
    cr_expect(strstr(choices, "sparse-blocks: too few blocks of weights are zero"), "%s", choices);
    free(got);
}
