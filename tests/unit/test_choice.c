/* How kernels are computed is chosen (lower/schedule/): points in their order, refusals with their reasons, costs that
 * follow from the machine alone. */
#include "lower/schedule/cost.h"
#include "lower/schedule/record.h"
#include "ops_kit.h"

TestSuite(choice, .init = setup, .fini = done);

static const char *choices(const char *target, const char *consts, const char *params, const char *nodes) {
    struct text t = {0};
    struct lower_options o = {.target = target_by_name(target), .choices = &t};
    struct module *m = lower_graph(graph_of(consts, params, nodes), &o);
    cr_assert(m && t.s, "%s", nodes);
    const char *s = arena_printf(&c->arena, "%s", t.s);
    text_free(&t);
    return s;
}
static void says(const char *text, const char *part) { cr_expect(strstr(text, part), "no `%s` in\n%s", part, text); }

static const char weights[] = "const %w: f32[64,32] = splat 0.5\n", rows[] = "%x: f32[30,64]",
                  matmul[] = "%y: ? = MatMul(%x, %w)";
Test(choice, the_point_follows_from_the_machine) {
    says(choices("x86-avx512", weights, rows, matmul), "contraction: lanes 16 along n0, tile 10 x 2 of m0, packed");
    says(choices("x86-avx2", weights, rows, matmul), "contraction: lanes 8 along n0, tile 6 x 2 of m0, packed");
    says(choices("c99", weights, rows, matmul), "contraction: lanes 1 along n0, tile 2 x 4 of m0, packed\n    taken\n");
    says(choices("cuda", weights, rows, matmul),
         "product: multiply-add, tiles of 64 x 64, k0 in steps of 16\n    taken\n");
}
static void takes(const char *text, const char *part) {
    const char *at = strstr(text, part), *end = at ? strchr(at, '\n') : NULL;
    cr_expect(end && !strncmp(end, "\n    taken", strlen("\n    taken")), "`%s` is not taken in\n%s", part, text);
}
/* 13 lanes that are left would be pieces of 8, 4 and 1, each as long as a vector; 8 are one. */
Test(choice, what_fills_no_vector_belongs_to_one_that_begins_early) {
    static const char *const nodes = "%y: ? = MatMul(%x, %v)";
    takes(choices("x86-avx512", "", "%x: f32[30,64], %v: f32[64,77]", nodes), ", the last vector early; ");
    takes(choices("x86-avx512", "sym n: 0..4096\n", "%x: f32[30,64], %v: f32[64,n]", nodes),
          ", the last vector early; ");
    cr_expect(!strstr(choices("x86-avx512", "", "%x: f32[30,64], %v: f32[64,72]", nodes), " early"));
    cr_expect(!strstr(choices("x86-avx512", "", "%x: f32[30,64], %v: f32[64,13]", nodes), " early"));
}
/* Five strides of two leave 7 of 224: a long size, which has a name of its own in the kernel and is as large there. */
Test(choice, sizes_with_names_are_as_large_as_what_they_are_made_of) {
    static const char halve[] = "{kernel_shape=[3,3], strides=[2,2], pads=[1,1,1,1]}";
    struct text nodes = {0};
    for (int k = 0; k < 5; k++) text_printf(&nodes, "%%p%d: ? = MaxPool(%%%s%.0d) %s ", k + 1, k ? "p" : "x", k, halve);
    text_add(&nodes, "%y: ? = Conv(%p5, %w) {pads=[1,1,1,1]}");
    static const char w[] = "const %w: f32[96,64,3,3] = splat 0.5\n", x[] = "%x: f32[1,64,h,h]";
    const char *big = format(c, "sym h: 0..4096@224\n%s", w), *unsaid = format(c, "sym h: 0..4096\n%s", w);
    static const char first[] = "contraction: lanes 8 along n0, scattered, ";
    const char *said = strstr(choices("x86-avx2", big, x, nodes.s), first),
               *not_said = strstr(choices("x86-avx2", unsaid, x, nodes.s), first);
    cr_assert(said && not_said);
    cr_expect(!strncmp(said + strlen(first), "tile 4 x 3 of s1", 16), "%.60s", said);
    cr_expect(!strncmp(not_said + strlen(first), "tile 6 x 2 of s1", 16), "%.60s", not_said);
    text_free(&nodes);
}
/* What is open counts as what is said of it, also for how much of the sum is done at a time. */
Test(choice, open_sizes_of_which_something_is_said_have_chunks) {
    static const char w[] = "const %w: f32[1000,512,1,1] = splat 0.5\n", x[] = "%x: f32[1,512,a,b]";
    const char *nodes = "%p: ? = MaxPool(%x) {kernel_shape=[1,1]} %h: ? = Conv(%p, %w) {kernel_shape=[1,1]} "
                        "%y: ? = MaxPool(%h) {kernel_shape=[1,1]}";
    const char *said = choices("x86-avx2", format(c, "sym a: 1..4096@13\nsym b: 1..4096@13\n%s", w), x, nodes),
               *first = strstr(said, "contraction: lanes 8"), *chunks = strstr(said, "32 blocks at a time, outside");
    cr_expect(first && chunks && chunks < strchr(first, '\n'), "%s", said);
    const char *not_said = choices("x86-avx2", format(c, "sym a: 1..4096\nsym b: 1..4096\n%s", w), x, nodes);
    cr_expect(!strstr(not_said, "blocks at a time"), "%s", not_said);
}
/* Rows alone are open, without axes around them: a product of tokens. */
Test(choice, an_open_number_of_rows_has_the_chunks_of_a_fixed_one) {
    static const char w[] = "const %w: f32[3072,768] = splat 0.5\n", nodes[] = "%y: ? = MatMul(%x, %w)";
    const char *fixed = choices("x86-avx512", w, "%x: f32[64,3072]", nodes),
               *open = choices("x86-avx512", format(c, "sym s: 0..1024@64\n%s", w), "%x: f32[s,3072]", nodes);
    says(fixed, "tile 8 x 3 of m0, packed, k0 in blocks of 8, 16 blocks at a time, outside, prefetch");
    const char *chunks = strstr(open, "tile 8 x 3 of m0, packed, k0 in blocks of 8, 16 blocks at a time, outside"),
               *taken = strstr(open, "    taken");
    cr_expect(chunks && chunks < taken, "%s", open);
}
Test(choice, a_cube_is_two_products) {
    const char *cube = choices("c99", "const %e: f32[] = [3.0]", "%x: f32[8]", "%y: ? = Pow(%x, %e)");
    says(cube, "y0[c0]: f32 = x0[c0] * x0[c0] * x0[c0]\n");
}
/* Half the loads and half the multiply-adds of other cores, and a second level of cache that takes fewer rows. */
Test(choice, a_small_core_has_schedules_of_its_own) {
    const char *w = "const %w: f32[64,256,1,1] = splat 0.5\n", *x = "%x: f32[1,256,56,56]";
    const char *nodes = "%p: ? = MaxPool(%x) {kernel_shape=[1,1]} %h: ? = Conv(%p, %w) {kernel_shape=[1,1]} "
                        "%y: ? = MaxPool(%h) {kernel_shape=[1,1]}"; /* windows: values lie in blocks of channels */
    says(choices("aarch64-dotprod", w, x, nodes), "8 of m1 together");
    says(choices("cortex-a55", w, x, nodes), "2 of m1 together");
}
Test(choice, products_of_halves_go_to_tensor_cores) {
    static const char halves[] = "const %w: f16[64,32] = splat 0.5\n";
    const char *t = choices("jetson", halves, "%x: f16[30,64]", matmul);
    says(t, "product: mma_m16n8k16_f16, tiles of 64 x 64, k0 in steps of 16\n    taken\n");
    says(choices("cuda", halves, "%x: f16[30,64]", matmul), "product: mma_m16n8k8_f16, ");
    says(choices("jetson", weights, rows, matmul), "product: multiply-add, ");
}
Test(choice, what_no_strategy_takes_has_its_reason) {
    const char *t =
        choices("x86-avx2", "", "%x: u8[5,32], %w: u8[32,48], %zx: u8[]", "%y: ? = MatMulInteger(%x, %w, %zx)");
    says(t, "  contraction: a factor is changed before it is multiplied\n");
    t = choices("x86-avx2", "", "%x: f32[20,32]", "%y: ? = Transpose(%x) {perm=[1,0]}");
    says(t, "pointwise: innermost axes as one: 1\n    refused: step `kind vector lane`");
}
Test(choice, bytes_are_summed_by_instructions_that_take_them) {
    const char *consts = "const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %w: u8[64,16,3] = splat 1\n",
               *nodes = "%y: ? = QLinearConv(%x, %s, %z, %w, %s, %z, %s, %z) {kernel_shape=[3], pads=[1,1]}";
    says(choices("x86-avx2", consts, "%x: u8[1,16,140]", nodes), "contraction: vpmaddubsw, lanes 8 along n0");
    const char *of_eight_bits =
        "const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %w: u8[64,16,3] = splat 72\n";
    says(choices("x86-avx2", of_eight_bits, "%x: u8[1,16,140]", nodes), "contraction: vpmaddwd, lanes 8 along n0");
    says(choices("x86-avx512vnni", consts, "%x: u8[1,16,140]", nodes), "contraction: vpdpbusd, lanes 16 along n0");
    says(choices("cortex-m4", consts, "%x: u8[1,16,140]", nodes), "contraction: smlad_u8i8, lanes 1 along n0");
    says(choices("aarch64-dotprod", consts, "%x: u8[1,16,140]", nodes), "contraction: sdot_x4, lanes 4 along n0");
    says(choices("cortex-a55", consts, "%x: u8[1,16,140]", nodes), "contraction: sdot_x4, lanes 4 along n0");
    says(choices("x86-avx512", consts, "%x: u8[1,16,140]", nodes), "contraction: vpmaddubsw_x16, lanes 16 along n0");
    says(choices("x86-64", consts, "%x: u8[1,16,140]", nodes), "contraction: pmaddwd, lanes 4 along n0");
}
/* Of one channel what lies side by side is the window; 13 registers hold a line of six sums, and not one of eight. */
Test(choice, bytes_on_small_machines) {
    const char *consts = "const %s: f32[] = splat 0.5\nconst %z: i8[] = splat 7\nconst %v: i8[] = splat 0\n"
                         "const %w: i8[8,1,10,4] = splat 1\nconst %d: i8[16,1,3,3] = splat 1\n",
               *one = "%y: ? = QLinearConv(%x, %s, %z, %w, %s, %v, %s, %z) {kernel_shape=[10,4]}",
               *each = "%y: ? = QLinearConv(%x, %s, %z, %d, %s, %v, %s, %z) {kernel_shape=[3,3], group=16}";
    says(choices("cortex-m4", consts, "%x: i8[1,1,40,20]", one), "contraction: smlad_i8i8, lanes 1 along n0");
    says(choices("cortex-m4", consts, "%x: i8[1,1,40,20]", one), "w1 in blocks of 4");
    says(choices("cortex-m4", consts, "%x: i8[1,16,12,12]", each), "tile 1 x 6");
    says(choices("c99", consts, "%x: i8[1,16,12,12]", each), "tile 1 x 8");
}
/* Tiles take 64 channels at a time, in each combination of signs; of few channels most of a tile would be zeros. */
Test(choice, bytes_are_multiplied_in_tiles_where_channels_fill_them) {
    static const char form[] = "const %%s: f32[] = splat 0.5\nconst %%z: %s[] = splat 7\nconst %%v: %s[] = splat 0\n"
                               "const %%w: %s[128,64,3,3] = splat 3\n";
    const char *nodes = "%y: ? = QLinearConv(%x, %s, %z, %w, %s, %v, %s, %z) {kernel_shape=[3,3], pads=[1,1,1,1]}",
               *few = "const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %v: i8[] = splat 0\n"
                      "const %w: i8[64,3,3,3] = splat 3\n",
               *of_types[][3] = {{"u8", "i8", "tile_dpbusd"}, {"i8", "i8", "tile_dpbssd"}};
    for (int k = 0; k < 2; k++) {
        char consts[sizeof form + 8], x[40], want[80];
        snprintf(consts, sizeof consts, form, of_types[k][0], of_types[k][1], of_types[k][1]);
        snprintf(x, sizeof x, "%%x: %s[1,64,28,28]", of_types[k][0]);
        snprintf(want, sizeof want, "contraction: %s, lanes 16 along n0, staged, tile 28 x 2 of s1", of_types[k][2]);
        says(choices("x86-amx", consts, x, nodes), want);
    }
    says(choices("x86-amx", few, "%x: u8[1,3,28,28]", nodes), "contraction: vpdpbusd, lanes 16 along n0");
}
/* Two rows by two lanes at a time, where the sums are long enough to be put in order for it. */
Test(choice, bytes_are_multiplied_as_matrices_where_sums_are_long) {
    const char *consts = "const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %v: i8[] = splat 0\n"
                         "const %w: i8[32,128,1,1] = splat -3\nconst %f: i8[32,16,1,1] = splat -3\n",
               *nodes = "%y: ? = QLinearConv(%x, %s, %z, %w, %s, %v, %s, %z) {kernel_shape=[1,1]}",
               *few = "%y: ? = QLinearConv(%x, %s, %z, %f, %s, %v, %s, %z) {kernel_shape=[1,1]}";
    says(choices("aarch64-i8mm", consts, "%x: u8[1,128,28,28]", nodes), "contraction: usmmla, lanes 4 along n0");
    says(choices("aarch64-i8mm", consts, "%x: u8[1,16,28,28]", few), "contraction: usdot, lanes 4 along n0");
}
/* Weights of unsigned bytes without their zero point need 16 bits. */
Test(choice, weights_that_are_no_bytes_are_summed_in_pairs) {
    const char *consts = "const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %i: i8[] = splat 7\n"
                         "const %w: u8[64,16,3] = splat 200\nconst %v: u8[] = splat 7\n",
               *nodes = "%y: ? = QLinearConv(%x, %s, %z, %w, %s, %v, %s, %z) {kernel_shape=[3], pads=[1,1]}",
               *as_i8 = "%y: ? = QLinearConv(%x, %s, %i, %w, %s, %v, %s, %i) {kernel_shape=[3], pads=[1,1]}";
    const char *t = choices("x86-avx512vnni", consts, "%x: u8[1,16,140]", nodes);
    says(t, "  b: i16[64,16,3] constant\n");
    says(t, "contraction: vpdpwssd, lanes 16 along n0");
    says(choices("x86-avx512vnni", consts, "%x: i8[1,16,140]", as_i8), "contraction: vpdpwssd, lanes 16 along n0");
    says(choices("x86-avx2", consts, "%x: u8[1,16,140]", nodes), "contraction: vpmaddwd, lanes 8 along n0");
}
/* Integers of 16 bits on NEON: four steps of the sum for each load of a row, so that tiles are not all rows. */
Test(choice, tiles_are_chosen_by_what_operands_take) {
    const char *consts = "const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %w: i8[16,16,3,3] = splat 3\n"
                         "const %v: i8[] = splat 0\n",
               *nodes = "%a: ? = MaxPool(%x) {kernel_shape=[1,1]} "
                        "%b: ? = QLinearConv(%a, %s, %z, %w, %s, %v, %s, %z) {kernel_shape=[3,3], pads=[1,1,1,1]} "
                        "%y: ? = MaxPool(%b) {kernel_shape=[1,1]}";
    says(choices("aarch64", consts, "%x: u8[1,16,32,32]", nodes),
         "contraction: smlal_x4, lanes 4 along n0, tile 8 x 2");
}
/* NEON sums two products in 16 bits where no weight is -128, and knows so from the weights. */
Test(choice, instructions_are_taken_for_the_weights_that_they_are_right_for) {
    static const char form[] = "const %%s: f32[] = splat 0.5\nconst %%z: i8[] = splat 7\nconst %%v: i8[] = splat 0\n"
                               "const %%w: i8[16,16,1,1] = splat %d\n";
    const char *nodes = "%y: ? = QLinearConv(%x, %s, %z, %w, %s, %v, %s, %z) {kernel_shape=[1,1]}";
    for (int w = -128; w <= -127; w++) {
        char consts[sizeof form + 8];
        snprintf(consts, sizeof consts, form, w);
        const char *t = choices("aarch64", consts, "%x: i8[1,16,14,14]", nodes);
        if (w == -127) says(t, "contraction: smull_smlal_sadalp, lanes 4 along n0");
        else cr_expect_not(strstr(t, "smlal"), "%s", t);
    }
}
/* 34 channels of a group: fewer lanes, or panels of groups, whichever are fewer cycles; 32 need none. */
Test(choice, groups_that_fill_no_vectors_are_panels) {
    const char *nodes = "%h: ? = Conv(%x, %w) {kernel_shape=[1,1], group=2} %y: ? = Conv(%h, %v) {kernel_shape=[1,1]}";
    const char *v68 = "const %w: f32[68,16,1,1] = splat 0.5\nconst %v: f32[16,68,1,1] = splat 0.5\n",
               *v64 = "const %w: f32[64,16,1,1] = splat 0.5\nconst %v: f32[16,64,1,1] = splat 0.5\n";
    says(choices("x86-avx512", v68, "%x: f32[1,32,14,14]", nodes), "lanes 16 along g0, staged, tile 7 x 3 of m2");
    says(choices("x86-avx512", v64, "%x: f32[1,32,14,14]", nodes), "lanes 16 along g0, tile");
}
/* A window that is longer than the channels, and one along rows that read the same bytes. */
Test(choice, bytes_lie_in_groups_of_channels) {
    const char *consts = "const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %w: u8[16,1,9] = splat 1\n",
               *nodes = "%y: ? = QLinearConv(%x, %s, %z, %w, %s, %z, %s, %z) {kernel_shape=[9], pads=[4,4]}";
    says(choices("x86-avx512vnni", consts, "%x: u8[1,1,40]", nodes), "]: f32 += a["); /* no group is full */
    consts = "const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %w: u8[16,8,3] = splat 1\n",
    nodes = "%y: ? = QLinearConv(%x, %s, %z, %w, %s, %z, %s, %z) {kernel_shape=[3], pads=[1,1]}";
    says(choices("cortex-m4", consts, "%x: u8[1,8,14]", nodes), "k0 in blocks of 8, w0 written out");
}
Test(choice, a_refused_step_is_kept_and_the_next_point_taken) {
    /* the accesses of a transpose are no vectors */
    const char *t = choices("x86-avx2", "", "%x: f32[2,28,30]", "%y: ? = Transpose(%x) {perm=[0,2,1]}");
    says(t, "  pointwise: innermost axes as one: 1\n    refused: step `kind vector lane`");
    says(t, "  pointwise: squares transposed in registers\n    taken\n");
    t = choices("c99", "", "%x: f32[2,28,30]", "%y: ? = Transpose(%x) {perm=[0,2,1]}");
    says(t, "taken");
}
/* Of cells that follow each other no place is looked up, though sizes are open. */
Test(choice, moves_are_written_out_where_places_are_looked_up) {
    static const char to[] = "const %to: i64[1] = [24]\n", reshape[] = "%y: ? = Reshape(%x, %to)",
                      written[] = "cells one by one\n    taken\n";
    says(choices("x86-avx512", to, "%x: f32[3,4,2,1]", reshape), "taken");
    says(choices("x86-avx512", "sym a: 0..99\nsym b: 0..99\nconst %to: i64[1] = [24]\n", "%x: f32[3,a,b,1]", reshape),
         "innermost axes as one: 1\n    taken");
    says(choices("aarch64", "", "%x: f32[100], %i: i64[90]", "%y: ? = Gather(%x, %i)"), written);
    says(choices("aarch64", "sym a: 0..99\nconst %by: i64[2] = [1, 3]\n", "%x: f32[2,a]", "%y: ? = Tile(%x, %by)"),
         written);
}
/* What the choices of `text` print with `before` replaced by `after` in them, read as records. */
static const char *recorded(const char *text, const char *before, const char *after) {
    const char *at = strstr(text, before);
    struct text t = {0};
    cr_assert(at, "no `%s` in\n%s", before, text);
    text_printf(&t, "%.*s%s%s", (int)(at - text), text, after, at + strlen(before));
    struct lower_options o = {.target = target_by_name("x86-avx512"), .records = records_read(c, t.s)};
    struct text out = {0};
    o.choices = &out;
    cr_assert(lower_graph(graph_of(weights, rows, matmul), &o));
    const char *s = arena_printf(&c->arena, "%s", out.s);
    text_free(&t);
    text_free(&out);
    return s;
}
Test(choice, points_are_ranked_and_those_not_tried_are_named) {
    const char *t = choices("x86-avx512", weights, rows, matmul), *best = strstr(t, "tile 10 x 2");
    says(t, "machine avx512\n");
    says(t, "    taken\n    and ");
    says(best, "tile 8 x 2");
    says(best, "tile 30 x 1");
}
/* As `gcc2nn tune` writes them: points with their times, of which one is taken. */
Test(choice, records_hold_what_was_measured) {
    const char *text =
        "// measured by somebody\nmachine avx512\nk0_matmul: contraction\n  contraction: one; 12 cycles\n"
        "    taken\n    measured 1500 ns\n  contraction: two\n    measured 1600 ns\n";
    const struct records *r = records_read(c, text);
    cr_assert_eq(r->list.n, 3);
    const char *points[] = {"contraction: one", "contraction: one", "contraction: two"};
    const double measured[] = {0, 1500, 1600};
    for (int k = 0; k < 3; k++) {
        cr_expect_str_eq(r->list.v[k].point, points[k]);
        cr_expect(r->list.v[k].measured == measured[k] && r->list.v[k].taken == (k == 0));
    }
}
/* As a fixed number of rows would get; one row has a nest of its own, so the tile is for many. */
Test(choice, open_rows_get_the_tile_of_those_to_optimise_for) {
    const char *sizes[] = {"sym n: 0..4096@30\n", "sym n: 0..4096@3\n", "sym n: 0..4096@1\n", "sym n: 0..4096\n"},
               *tiles[] = {"tile 10 x 2 of m0", "tile 3 x 2 of m0", "tile 14 x 2 of m0", "tile 14 x 2 of m0"};
    for (int k = 0; k < 4; k++)
        says(choices("x86-avx512", format(c, "%s%s", sizes[k], weights), "%x: f32[n,64]", matmul), tiles[k]);
}
/* 14 rows of 2048 cells share one set of the first level, which holds 8 lines; rows of 2064 do not. */
Test(choice, rows_that_share_a_set_are_no_more_than_it_holds) {
    const char *w[] = {"const %w: f32[2048,32] = splat 0.5\n", "const %w: f32[2064,32] = splat 0.5\n"};
    says(choices("x86-avx512", w[0], "%x: f32[56,2048]", matmul), "tile 8 x 2 of m0");
    says(choices("x86-avx512", w[1], "%x: f32[56,2064]", matmul), "tile 14 x 2 of m0");
}
Test(choice, a_record_decides) {
    const char *t = choices("x86-avx512", weights, rows, matmul);
    const char *other = recorded(t, "tile 10 x 2", "tile 15 x 1");
    cr_expect_not(strstr(other, "tile 10 x 2"), "%s", other);
    says(other, "tile 15 x 1");
    cr_expect_eq(c->diags.warnings, 0);
    says(recorded(t, "tile 10 x 2", "tile 10 x 9"), "tile 10 x 2 of m0"); /* there is no such point */
    cr_expect_eq(c->diags.warnings, 1);
    says(recorded(t, "machine avx512", "machine avx2"), "tile 10 x 2 of m0");
    says(recorded(t, "a: f32[30,64]", "a: f32[31,64]"), "tile 10 x 2 of m0"); /* for another problem */
    cr_expect_eq(c->diags.warnings, 1);
}
/* Without instructions for bytes the first convolution stores what the second one multiplies; with them, bytes. */
Test(choice, bytes_between_kernels_lie_as_they_are_multiplied) {
    const char *consts = "const %s: f32[] = splat 0.5\nconst %z: u8[] = splat 7\nconst %w: u8[16,16,3] = splat 72\n",
               *nodes = "%h: ? = QLinearConv(%x, %s, %z, %w, %s, %z, %s, %z) {kernel_shape=[3], pads=[1,1]} "
                        "%y: ? = QLinearConv(%h, %s, %z, %w, %s, %z, %s, %z) {kernel_shape=[3], pads=[1,1]}";
    says(choices("x86-avx512", consts, "%x: u8[1,16,140]", nodes), "y0[m0,n0,s0]: i16 = i32(min(max(");
    says(choices("x86-avx512vnni", consts, "%x: u8[1,16,140]", nodes), "  a: u8[1,16,140]\n");
}
/* The codes have an axis of one row, the scale and the zero point none. */
Test(choice, results_of_one_row_have_lanes) {
    says(choices("x86-avx512", "", "%x: f32[1,16,192]", "%y: ?, %s: ?, %z: ? = DynamicQuantizeLinear(%x)"),
         "rows: lanes over the cells of a row\n    taken");
}
/* Whatever they are computed in: 64 bits, bytes, conditions. */
Test(choice, rows_of_all_types_have_lanes) {
    static const char lanes[] = "rows: lanes over the cells of a row\n    taken",
                      across[] = "rows: lanes over rows\n    taken";
    says(choices("x86-avx2", "", "%x: f64[8,100]", "%y: ? = Softmax(%x)"), lanes);
    says(choices("aarch64", "", "%x: i64[8,100]", "%y: ? = ArgMax(%x) {axis=1}"), lanes);
    says(choices("aarch64", "", "%x: i64[8,100]", "%y: ? = ArgMax(%x) {axis=0}"), across);
    says(choices("x86-avx2", "const %a: i64[1] = [1]\n", "%x: i8[8,100]", "%y: ? = ReduceMax(%x, %a)"), lanes);
    says(choices("x86-avx2", "const %a: i64[1] = [1]\n", "%x: bool[8,100]", "%y: ? = ReduceMax(%x, %a)"), lanes);
    says(choices("x86-avx2", "", "%x: f16[1,8,14,14]", "%y: ? = GlobalMaxPool(%x)"), lanes);
    says(choices("x86-avx2", "const %c: f32[] = splat -1e9\n", "%m: bool[8,100], %x: f32[8,100]",
                 "%w: ? = Where(%m, %x, %c) %y: ? = Softmax(%w)"),
         lanes);
}
Test(choice, inner_loops_of_texts) {
    const char *most = "const %m: i64[] = [9]\n", *params = "%b: f32[1,300,4], %s: f32[1,2,300]",
               *nodes = "%y: ? = NonMaxSuppression(%b, %s, %m)";
    says(choices("x86-avx2", most, params, nodes), "; 2 inner loops in vectors\n    taken\n");
    says(choices("x86-avx512", most, params, nodes), "; 1 inner loop in vectors\n    taken\n");
    says(choices("c99", most, params, nodes), "nms_f32: text\n");
}
Test(choice, rows_and_windows) {
    says(choices("x86-avx2", "", "%x: f32[4,100]", "%y: ? = Softmax(%x) {axis=1}"),
         "rows: lanes over the cells of a row\n    taken\n");
    says(choices("x86-avx2", "const %w: f32[8,1,3,3] = splat 0.5\n", "%x: f32[1,8,14,14]",
                 "%h: ? = Conv(%x, %w) {kernel_shape=[3,3], group=8} %y: ? = Relu(%h)"),
         "window\n");
}
Test(choice, cost_is_a_function_of_sizes_and_machine) {
    const struct machine *m = &machine_avx2;
    const struct operation *sum = machine_multiply_add(m, F32);
    cr_assert_eq(cost_of_rows(m, sum, &micro_multiply_add, (struct made){0}, 12, 6, 2),
                 2 * cost_of_rows(m, sum, &micro_multiply_add, (struct made){0}, 6, 6, 2));
    cr_assert_lt(cost_of_step(m, sum, &micro_multiply_add, (struct made){0}, 12, 6, 6, 2),
                 cost_of_step(m, sum, &micro_multiply_add, (struct made){0}, 12, 6, 1,
                              2));      /* a row alone waits for its own sums */
    struct made converted = {.row = 1}; /* what all lanes get: the fewer rows, the better */
    cr_assert_lt(cost_of_step(m, sum, &micro_multiply_add, converted, 24, 4, 6, 4),
                 cost_of_step(m, sum, &micro_multiply_add, converted, 24, 4, 24, 1));
    struct contraction_sizes s = {.products = 1000,
                                  .x = 1 << 16,
                                  .w = 1 << 20,
                                  .y = 1 << 16,
                                  .panel = 1 << 16,
                                  .panels = 16,
                                  .tiles = 2,
                                  .extent = 8,
                                  .blocks = 8};
    struct blocking whole = {1, 8, false}, chunks = {1, 1, false};
    cr_assert_gt(cost_of_blocking(m, &s, whole), s.products);
    cr_assert_lt(cost_of_blocking(m, &s, chunks), cost_of_blocking(m, &s, whole)); /* a panel's chunk fits the cache */
    s.panel = 1 << 12;
    cr_assert_lt(cost_of_blocking(m, &s, whole), cost_of_blocking(m, &s, chunks)); /* all of it did */
}
