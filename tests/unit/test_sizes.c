/* Names of sizes in kernels. Those that only the run can compare: a check in the entry, one name for both in the kernel
 * (lower/size_equalities.c); each model runs with sizes that fit, with and without schedules, and stops for sizes that
 * do not. Long ones: one argument (lower/size_names.c). */
#include "compiler/graph/passes.h"
#include "ir/eval/eval.h"
#include "lower/lower.h"
#include "lower/ops/ops.h"
#include <criterion/criterion.h>
#include <string.h>

static struct ctx *c;
static void setup(void) {
    ops_register_all();
    c = ctx_new();
}
static void done(void) { ctx_free(c); }
TestSuite(sizes, .init = setup, .fini = done);

#define SYMS                                                                                                           \
    "sym A: 0..64 sym B: 0..64 sym C: 0..64 sym D: 0..64 sym E: 0..64 sym F: 0..64 sym G: 0..64 sym H: 0..64 "         \
    "sym I: 0..64 sym J: 0..64\n"
#define CONSTS                                                                                                         \
    "const %zero: i64[1] = [0] const %one: i64[1] = [1] const %last: i64[1] = [-1] const %far: i64[1] = [1000]\n"      \
    "const %taps: f32[1,1,2] = [1,10] const %two: i64[1] = [2] const %behind: i64[4] = [0,0,1,0] const %before: "      \
    "i64[4] = [1,0,0,0]\n"                                                                                             \
    "const %table: f32[3,2] = [2,3,0,3,2,1]\n"                                                                         \
    "const %pairs: i64[2] = [3,2] const %rows: i64[2] = [4,8] const %around: i64[4] = [1,2,1,2] const %eight: "        \
    "f32[8,1,1] = [1,2,3,4,5,6,7,8]\n"
static struct module *lowered(const char *params, const char *nodes, bool plain) {
    struct text t = {0}, d = {0};
    text_printf(&t, "graph \"\"\n%sregion \"\" (%s) { %s return %%y }\n", SYMS CONSTS, params, nodes);
    struct graph *g = graph_parse(c, t.s, t.n, "t.gir");
    struct lower_options o = {.target = target_by_name("x86-avx2"), .no_schedule = plain};
    struct module *m = g && graph_infer(g) ? lower_graph(g, &o) : NULL;
    diag_print(&c->diags, &d, false);
    cr_assert(m, "%s\n%s", t.s, d.s);
    cr_assert(loop_verify(m, "lowering"));
    text_free(&t);
    return m;
}
struct arg {
    const void *data;
    int64_t dims[4];
    int nd;
};
/* want NULL: stops, and says `fault`. syms: A, B, C ... as far as the model has them. */
static void gives(const char *params, const char *nodes, const struct arg *in, int nin, const int64_t *syms,
                  const float *want, int n, const char *fault) {
    for (int plain = 0; plain < 2; plain++) {
        struct module *m = lowered(params, nodes, plain);
        struct eval_arg args[11] = {{0}};
        for (int k = 0; k < nin; k++) {
            args[k].data = (void *)in[k].data, args[k].nd = in[k].nd;
            memcpy(args[k].dims, in[k].dims, sizeof in[k].dims);
        }
        struct eval_result r = loop_eval(m, m->entry, args, syms, &(struct eval_options){.poison = true});
        if (!want) {
            cr_assert_eq(r.status, EVAL_FAULT, "%s", nodes);
            cr_assert(strstr(r.message, fault), "%s", r.message);
            continue;
        }
        cr_assert_eq(r.status, EVAL_OK, "%s: %s", nodes, r.message);
        for (int k = 0; k < n; k++) cr_expect_float_eq(((float *)args[nin].data)[k], want[k], 1e-5, "%s: %d", nodes, k);
    }
}
#define ARGS(...) (const struct arg[]){__VA_ARGS__}, (int)(sizeof((struct arg[]){__VA_ARGS__}) / sizeof(struct arg))
#define SIZES(...)                                                                                                     \
    (const int64_t[10]) { __VA_ARGS__ }
#define LIST(...)   (const float[]){__VA_ARGS__}, (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), NULL
#define STOPS(what) NULL, 0, what
static const float eight[] = {1, 2, 3, 4, 5, 6, 7, 8};

Test(sizes, inner_dimensions_of_a_product) {
    const char *p = "%a: f32[A,B], %b: f32[C,D]", *n = "%y: ? = MatMul(%a, %b)";
    gives(p, n, ARGS({eight, {2, 3}, 2}, {eight, {3, 1}, 2}), SIZES(2, 3, 3, 1), LIST(14, 32));
    gives(p, n, ARGS({eight, {2, 3}, 2}, {eight, {2, 1}, 2}), SIZES(2, 3, 2, 1), STOPS("inner dimensions"));
    gives(p, n, ARGS({eight, {2, 2}, 2}, {eight, {3, 1}, 2}), SIZES(2, 2, 3, 1), STOPS("inner dimensions"));
    const char *known = "%a: f32[A,B], %b: f32[3,1]";
    gives(known, n, ARGS({eight, {2, 3}, 2}, {eight, {3, 1}, 2}), SIZES(2, 3), LIST(14, 32));
    gives(known, n, ARGS({eight, {2, 4}, 2}, {eight, {3, 1}, 2}), SIZES(2, 4), STOPS("inner dimensions"));
}
/* The inner dimension is no symbol but computed from four. */
Test(sizes, inner_dimension_of_a_sum) {
    const char *p = "%a: f32[A,B], %b: f32[C,D], %w: f32[3,1]", *n = "%s: ? = Add(%a, %b) %y: ? = MatMul(%s, %w)";
    gives(p, n, ARGS({eight, {2, 3}, 2}, {eight, {1, 3}, 2}, {eight, {3, 1}, 2}), SIZES(2, 3, 1, 3), LIST(28, 46));
    gives(p, n, ARGS({eight, {2, 1}, 2}, {eight, {1, 3}, 2}, {eight, {3, 1}, 2}), SIZES(2, 1, 1, 3), LIST(20, 26));
    gives(p, n, ARGS({eight, {2, 4}, 2}, {eight, {1, 4}, 2}, {eight, {3, 1}, 2}), SIZES(2, 4, 1, 4),
          STOPS("inner dimensions"));
    const char *both = "%a: f32[A,B], %b: f32[C,D], %w: f32[D,1]", *m = "%s: ? = Mul(%a, %b) %y: ? = MatMul(%s, %w)";
    gives(both, m, ARGS({eight, {2, 3}, 2}, {eight, {1, 3}, 2}, {eight, {3, 1}, 2}), SIZES(2, 3, 1, 3), LIST(36, 78));
}
/* The operand's storage in other dims, also where it lay in blocks of channels; copied where the result is the
 * caller's. */
Test(sizes, reshape_behind_a_check) {
    const char *p = "%x: f32[A,B]", *n = "%a: ? = Neg(%x) %r: ? = Reshape(%a, %pairs) %y: ? = Neg(%r)";
    const char *last = "%a: ? = Neg(%x) %y: ? = Reshape(%a, %pairs)";
    gives(p, n, ARGS({eight, {2, 3}, 2}), SIZES(2, 3), LIST(1, 2, 3, 4, 5, 6));
    gives(p, n, ARGS({eight, {6, 1}, 2}), SIZES(6, 1), LIST(1, 2, 3, 4, 5, 6));
    gives(p, last, ARGS({eight, {1, 6}, 2}), SIZES(1, 6), LIST(-1, -2, -3, -4, -5, -6));
    const struct {
        const char *nodes;
        int64_t a, b;
    } wrong[] = {{n, 2, 4}, {n, 2, 2}, {n, 0, 6}, {last, 4, 2}, {last, 1, 1}, {last, 3, 0}};
    for (int k = 0; k < 6; k++)
        gives(p, wrong[k].nodes, ARGS({eight, {wrong[k].a, wrong[k].b}, 2}), SIZES(wrong[k].a, wrong[k].b),
              STOPS("number of elements"));
    const char *in = "%x: f32[A,1,B]", *blocks = "%a: ? = Conv(%x, %eight) %r: ? = Reshape(%a, %rows) "
                                                 "%y: ? = ReduceSum(%r, %zero) {keepdims=0}";
    gives(in, blocks, ARGS({eight, {2, 1, 2}, 3}), SIZES(2, 2), LIST(24, 36, 32, 48, 40, 60, 48, 72));
    gives(in, blocks, ARGS({eight, {1, 1, 4}, 3}), SIZES(1, 4), LIST(16, 32, 48, 64, 20, 40, 60, 80));
    gives(in, blocks, ARGS({eight, {4, 1, 1}, 3}), SIZES(4, 1), LIST(10, 20, 30, 40, 50, 60, 70, 80));
    gives(in, blocks, ARGS({eight, {3, 1, 1}, 3}), SIZES(3, 1), STOPS("number of elements"));
    gives(in, blocks, ARGS({eight, {5, 1, 1}, 3}), SIZES(5, 1), STOPS("number of elements"));
}
/* That a size is not negative says of what it is computed from that it is 1 or more. */
Test(sizes, more_than_none_behind_a_check) {
    const char *p = "%x: f32[A,B]", *n = "%n: ? = Shape(%x) {end=1} %m: ? = Add(%n, %n) %k: ? = Sub(%m, %one) "
                                         "%s: ? = Concat(%n, %k) {axis=0} %t: ? = Slice(%x, %one, %far, %one) "
                                         "%y: ? = Reshape(%t, %s)";
    gives(p, n, ARGS({eight, {2, 4}, 2}), SIZES(2, 4), LIST(2, 3, 4, 6, 7, 8));
    gives(p, n, ARGS({eight, {1, 2}, 2}), SIZES(1, 2), LIST(2));
    gives(p, n, ARGS({eight, {2, 3}, 2}), SIZES(2, 3), STOPS("number of elements"));
    gives(p, n, ARGS({eight, {0, 3}, 2}), SIZES(0, 3), STOPS("negative"));
    const struct module *m = lowered(p, n, false);
    const struct proc *copy = m->procs.v[m->procs.n - 1];
    cr_assert(strstr(copy->name, "copy")); /* a row is as long as what is left of the slice */
    cr_assert_str_eq(copy->syms.v[0]->name, "A_less1");
    cr_assert_gt(copy->steps.n, 0); /* its rest of a vector is no longer than the row */
    /* So do the dims of what another kernel checked. */
    const char *product = "%n: ? = Shape(%x) {end=1} %m: ? = Add(%n, %n) %k: ? = Sub(%m, %one) "
                          "%s: ? = Concat(%n, %k) {axis=0} %t: ? = Slice(%x, %one, %far, %one) "
                          "%r: ? = Reshape(%t, %s) %u: ? = Transpose(%x) %y: ? = MatMul(%u, %r)";
    gives(p, product, ARGS({eight, {2, 4}, 2}), SIZES(2, 4), LIST(32, 38, 44, 40, 48, 56, 48, 58, 68, 56, 68, 80));
    gives(p, product, ARGS({eight, {0, 3}, 2}), SIZES(0, 3), STOPS("negative"));
    const struct module *q = lowered(p, product, false);
    const struct proc *matmul = q->procs.v[q->procs.n - 1];
    bool named = false;
    cr_assert(strstr(matmul->name, "matmul"), "%s", matmul->name);
    for (int k = 0; k < matmul->syms.n; k++) named |= !strcmp(matmul->syms.v[k]->name, "A_less1");
    cr_assert(named);
    /* A symbol that stands in a window's rows: 2 * max(0, A - 1)/2 - 1 cells need 3 of it. */
    const char *in = "%x: f32[1,1,A], %z: f32[B]", *rows = "%c: ? = Conv(%x, %taps) {strides=[2]} %d: ? = Shape(%c) "
                                                           "{start=2} %m: ? = Add(%d, %d) %k: ? = Sub(%m, %one) "
                                                           "%s: ? = Concat(%k, %one) {axis=0} "
                                                           "%t: ? = Slice(%z, %one, %far, %zero, %two) "
                                                           "%y: ? = Reshape(%t, %s)";
    gives(in, rows, ARGS({eight, {1, 1, 4}, 3}, {eight, {6}, 1}), SIZES(4, 6), LIST(2, 4, 6));
    gives(in, rows, ARGS({eight, {1, 1, 2}, 3}, {eight, {2}, 1}), SIZES(2, 2), LIST(2));
    gives(in, rows, ARGS({eight, {1, 1, 1}, 3}, {eight, {2}, 1}), SIZES(1, 2), STOPS("negative"));
    gives(in, rows, ARGS({eight, {1, 1, 4}, 3}, {eight, {8}, 1}), SIZES(4, 8), STOPS("number of elements"));
    const struct module *w = lowered(in, rows, false);
    const struct proc *last = w->procs.v[w->procs.n - 1];
    cr_assert(strstr(last->name, "reshape"), "%s", last->name);
    cr_assert_str_eq(last->syms.v[0]->name, "A_less2");
}
/* Pads that may reach past the far end, or twice. */
Test(sizes, mirrored_near_and_far) {
    const char *p = "%x: f32[A,B]", *n = "%y: ? = Pad(%x, %around) {mode=\"reflect\"}";
    gives(p, n, ARGS({eight, {2, 3}, 2}), SIZES(2, 3),
          LIST(6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1, 6, 5, 4, 5, 6, 5, 4, 3, 2, 1, 2, 3, 2, 1));
    gives(p, n, ARGS({eight, {1, 2}, 2}), SIZES(1, 2), LIST(1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2, 1, 2));
    gives(p, n, ARGS({eight, {3, 1}, 2}), SIZES(3, 1),
          LIST(2, 2, 2, 2, 2, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2));
    gives(p, n, ARGS({eight, {0, 2}, 2}), SIZES(0, 2), STOPS(""));
}
/* Rows beside those before and after them (MobileBERT): the check holds for one row at least. */
Test(sizes, neighbours_of_each_row) {
    const char *p = "%x: f32[A,2]", *n = "%s: ? = Slice(%x, %one, %far, %zero) %p: ? = Pad(%s, %behind) "
                                         "%t: ? = Slice(%x, %zero, %last, %zero) %q: ? = Pad(%t, %before) "
                                         "%y: ? = Concat(%p, %x, %q) {axis=1}";
    gives(p, n, ARGS({eight, {2, 2}, 2}), SIZES(2), LIST(3, 4, 1, 2, 0, 0, 0, 0, 3, 4, 1, 2));
    gives(p, n, ARGS({eight, {1, 2}, 2}), SIZES(1), LIST(0, 0, 1, 2, 0, 0));
    gives(p, n, ARGS({eight, {0, 2}, 2}), SIZES(0), STOPS("differs on axis 0"));
}
/* Each boundary between two parts is a sum of minima; a detector's lists of the best are put together like this. */
Test(sizes, at_most_two_of_each_of_ten) {
    struct text p = {0}, n = {0}, y = {0};
    for (char k = 'A'; k <= 'J'; k++) {
        text_printf(&p, "%s%%x%c: f32[%c]", k == 'A' ? "" : ", ", k, k);
        text_printf(&n, "%%y%c: ? = Slice(%%x%c, %%zero, %%two, %%zero) ", k, k);
        text_printf(&y, "%s%%y%c", k == 'A' ? "" : ", ", k);
    }
    text_printf(&n, "%%y: ? = Concat(%s) {axis=0}", y.s);
#define X(k) {eight, {k}, 1}
    gives(p.s, n.s, ARGS(X(3), X(0), X(1), X(2), X(8), X(0), X(1), X(1), X(0), X(2)),
          SIZES(3, 0, 1, 2, 8, 0, 1, 1, 0, 2), LIST(1, 2, 1, 1, 2, 1, 2, 1, 1, 1, 2));
#undef X
    text_free(&p), text_free(&n), text_free(&y);
}
/* The first rows of a table: as many as another operand has (relative positions). */
Test(sizes, slice_of_a_constant) {
    const char *p = "%x: f32[A,2]", *n = "%s: ? = Shape(%x) {end=1} %t: ? = Slice(%table, %zero, %s) "
                                         "%u: ? = Transpose(%t) {perm=[1,0]} %y: ? = MatMul(%x, %u)";
    gives(p, n, ARGS({eight, {2, 2}, 2}), SIZES(2), LIST(8, 6, 18, 12));
    gives(p, n, ARGS({eight, {1, 2}, 2}), SIZES(1), LIST(8));
    gives(p, n, ARGS({eight, {4, 2}, 2}), SIZES(4), LIST(8, 6, 4, 18, 12, 10));
}
Test(sizes, channels_and_groups) {
    const char *p = "%x: f32[1,A,2], %w: f32[B,C,1], %b: f32[D]", *n = "%y: ? = Conv(%x, %w, %b) {group=2}";
    gives(p, n, ARGS({eight, {1, 2, 2}, 3}, {eight, {2, 1, 1}, 3}, {eight, {2}, 1}), SIZES(2, 2, 1, 2),
          LIST(2, 3, 8, 10));
    gives(p, n, ARGS({eight, {1, 4, 2}, 3}, {eight, {2, 1, 1}, 3}, {eight, {2}, 1}), SIZES(4, 2, 1, 2),
          STOPS("number of channels"));
    gives(p, n, ARGS({eight, {1, 2, 2}, 3}, {eight, {3, 1, 1}, 3}, {eight, {3}, 1}), SIZES(2, 3, 1, 3),
          STOPS("no multiple of the groups"));
    gives(p, n, ARGS({eight, {1, 2, 2}, 3}, {eight, {2, 1, 1}, 3}, {eight, {1}, 1}), SIZES(2, 2, 1, 1),
          STOPS("one bias"));
}
Test(sizes, one_element_for_each_channel) {
    const char *p = "%x: f32[1,A,2], %s: f32[B], %b: f32[C]", *n = "%y: ? = InstanceNormalization(%x, %s, %b)";
    static const float x[] = {-1000, 1000, 3000, 1000};
    gives(p, n, ARGS({x, {1, 2, 2}, 3}, {eight, {2}, 1}, {eight, {2}, 1}), SIZES(2, 2, 2), LIST(0, 2, 4, 0));
    gives(p, n, ARGS({x, {1, 2, 2}, 3}, {eight, {1}, 1}, {eight, {2}, 1}), SIZES(2, 1, 2), STOPS("input 1 does not"));
    gives(p, n, ARGS({x, {1, 2, 2}, 3}, {eight, {2}, 1}, {eight, {3}, 1}), SIZES(2, 2, 3), STOPS("input 2 does not"));
}
Test(sizes, parts_of_an_axis) {
    const char *halves = "%u: ?, %y: ? = Split(%x) {axis=0, num_outputs=2}";
    gives("%x: f32[A]", halves, ARGS({eight, {5}, 1}), SIZES(5), LIST(4, 5));
}
Test(sizes, channels_in_blocks) {
    const char *p = "%x: f32[1,A,1,1]", *n = "%y: ? = DepthToSpace(%x) {blocksize=2}";
    gives(p, n, ARGS({eight, {1, 8, 1, 1}, 4}), SIZES(8), LIST(1, 3, 5, 7, 2, 4, 6, 8));
    gives(p, n, ARGS({eight, {1, 6, 1, 1}, 4}), SIZES(6), STOPS("no multiple of the block"));
}
Test(sizes, groups_of_a_transposed_convolution) {
    const char *p = "%x: f32[1,A,1], %w: f32[B,C,1]", *n = "%y: ? = ConvTranspose(%x, %w) {group=2}";
    gives(p, n, ARGS({eight, {1, 4, 1}, 3}, {eight, {4, 1, 1}, 3}), SIZES(4, 4, 1), LIST(5, 25));
    gives(p, n, ARGS({eight, {1, 3, 1}, 3}, {eight, {3, 1, 1}, 3}), SIZES(3, 3, 1), STOPS("no multiple of the groups"));
    gives(p, n, ARGS({eight, {1, 4, 1}, 3}, {eight, {2, 1, 1}, 3}), SIZES(4, 2, 1), STOPS("weights do not fit"));
}

/* ---- long sizes */
#define FIRST_HALF                                                                                                     \
    "%n: ? = Shape(%x) {start=2} %m: ? = Sub(%n, %two) %h: ? = Div(%m, %two) %k: ? = Max(%h, %one) "                   \
    "%e: ? = Min(%k, %n) %s: ? = Slice(%x, %zero, %e, %two) "
/* Rows of the result are computed from those of the operand, half of which have a name. */
Test(sizes, a_long_size_is_an_argument) {
    static float x[20];
    const char *p = "%x: f32[1,1,A]",
               *n = FIRST_HALF "%d: ? = Concat(%s, %s) {axis=2} %y: ? = Conv(%d, %taps) {strides=[2]}";
    for (int k = 0; k < 20; k++) x[k] = (float)(k + 1);
    gives(p, n, ARGS({x, {1, 1, 20}, 3}), SIZES(20), LIST(21, 43, 65, 87, 19, 32, 54, 76, 98));
    gives(p, n, ARGS({x, {1, 1, 6}, 3}), SIZES(6), LIST(21, 21));
    gives(p, n, ARGS({x, {1, 1, 1}, 3}), SIZES(1), LIST(11));
    gives(p, n, ARGS({x, {1, 1, 0}, 3}), SIZES(0), x, 0, NULL);
    const struct module *m = lowered(p, n, false);
    const struct proc *conv = NULL;
    for (int k = 0; k < m->procs.n; k++)
        if (strstr(m->procs.v[k]->name, "conv")) conv = m->procs.v[k];
    cr_assert(conv && conv->syms.n == 1);
    cr_assert_str_eq(conv->syms.v[0]->name, "A_size1");
}
/* A sum that cannot be solved for any of its terms gets a name as a whole. */
Test(sizes, a_long_sum_is_an_argument) {
    const char *p = "%x: f32[A], %z: f32[B], %v: f32[C]",
               *n = "%s: ? = Slice(%x, %zero, %far, %zero, %two) %t: ? = Slice(%z, %zero, %far, %zero, %two) "
                    "%u: ? = Slice(%v, %zero, %far, %zero, %two) %d: ? = Concat(%s, %s, %t, %t, %t, %u, %u) {axis=0} "
                    "%y: ? = Neg(%d)";
    gives(p, n, ARGS({eight, {3}, 1}, {eight, {2}, 1}, {eight, {1}, 1}), SIZES(3, 2, 1),
          LIST(-1, -3, -1, -3, -1, -1, -1, -1, -1));
    gives(p, n, ARGS({eight, {0}, 1}, {eight, {1}, 1}, {eight, {0}, 1}), SIZES(0, 1, 0), LIST(-1, -1, -1));
    const struct module *m = lowered(p, n, false);
    for (int k = 0; k < m->procs.n; k++)
        if (strstr(m->procs.v[k]->name, "neg")) cr_assert_eq(m->procs.v[k]->syms.n, 1);
}
/* The symbols that a size is computed from must vanish: here the kernel has all of x, too. */
Test(sizes, a_long_size_beside_what_it_is_computed_from) {
    const char *p = "%x: f32[1,1,A]", *n = FIRST_HALF "%t: ? = ReduceSum(%s, %two) %y: ? = Add(%x, %t)";
    gives(p, n, ARGS({eight, {1, 1, 8}, 3}), SIZES(8), LIST(7, 8, 9, 10, 11, 12, 13, 14));
    gives(p, n, ARGS({eight, {1, 1, 1}, 3}), SIZES(1), LIST(2));
    gives(p, n, ARGS({eight, {1, 1, 0}, 3}), SIZES(0), eight, 0, NULL);
}
/* A multiple of an open dim is what both become, as it is 1 only where both are. */
Test(sizes, broadcast_of_a_multiple) {
    const char *p = "%x: f32[A,B], %z: f32[B]", *n = "%f: ? = Reshape(%x, %last) %y: ? = Add(%z, %f)";
    gives(p, n, ARGS({eight, {1, 3}, 2}, {eight, {3}, 1}), SIZES(1, 3), LIST(2, 4, 6));
    gives(p, n, ARGS({eight, {3, 1}, 2}, {eight, {1}, 1}), SIZES(3, 1), LIST(2, 3, 4));
    gives(p, n, ARGS({eight, {2, 0}, 2}, {eight, {0}, 1}), SIZES(2, 0), eight, 0, NULL);
    gives(p, n, ARGS({eight, {2, 3}, 2}, {eight, {3}, 1}), SIZES(2, 3), STOPS("do not broadcast on axis 0"));
    const struct proc *e = lowered(p, n, false)->entry;
    cr_assert_eq(e->params.v[e->params.n - 1].buf->dims[0]->op, X_PROD);
}
/* Two open dims are equal or one of them is 1; what they become together is the same for all that have met. */
Test(sizes, broadcast_of_open_dims) {
    static const char *const p = "%x: f32[A], %z: f32[B], %u: f32[C]",
                             *n = "%s: ? = Add(%z, %x) %t: ? = Add(%x, %z) %m: ? = Max(%s, %t) %v: ? = Mul(%u, %m) "
                                  "%y: ? = Add(%v, %m)",
                             *refused = "do not broadcast on axis 0";
    gives(p, n, ARGS({eight, {3}, 1}, {eight, {1}, 1}, {eight, {1}, 1}), SIZES(3, 1, 1), LIST(4, 6, 8));
    gives(p, n, ARGS({eight, {1}, 1}, {eight, {3}, 1}, {eight, {3}, 1}), SIZES(1, 3, 3), LIST(4, 9, 16));
    gives(p, n, ARGS({eight, {1}, 1}, {eight, {1}, 1}, {eight, {2}, 1}), SIZES(1, 1, 2), LIST(4, 6));
    for (int none = 0; none < 3; none++) {
        int64_t size[10] = {1, 1, 1};
        size[none] = 0;
        gives(p, n, ARGS({eight, {size[0]}, 1}, {eight, {size[1]}, 1}, {eight, {size[2]}, 1}), size, eight, 0, NULL);
    }
    gives(p, n, ARGS({eight, {3}, 1}, {eight, {2}, 1}, {eight, {1}, 1}), SIZES(3, 2, 1), NULL, 0, refused);
    gives(p, n, ARGS({eight, {3}, 1}, {eight, {0}, 1}, {eight, {1}, 1}), SIZES(3, 0, 1), NULL, 0, refused);
    gives(p, n, ARGS({eight, {3}, 1}, {eight, {1}, 1}, {eight, {2}, 1}), SIZES(3, 1, 2), NULL, 0, refused);
}
