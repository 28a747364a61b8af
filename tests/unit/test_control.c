/* Control flow whose types depend on the run: lowered and interpreted, and compared with results by hand. */
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
TestSuite(control, .init = setup, .fini = done);

static struct graph *parsed(const char *t) {
    struct graph *g = graph_parse(c, t, strlen(t), "t.gir");
    cr_assert(g, "%s", t);
    return g;
}
static struct module *lowered(const char *consts, const char *params, const char *nodes) {
    struct text t = {0}, d = {0};
    text_printf(&t, "graph \"\"\n%s\nregion \"\" (%s) { %s return %%y }\n", consts, params, nodes);
    struct graph *g = graph_parse(c, t.s, t.n, "t.gir");
    struct lower_options o = {.no_schedule = true};
    struct module *m = g && graph_infer(g) && graph_infer(g) ? lower_graph(g, &o) : NULL; /* twice: it must be stable */
    diag_print(&c->diags, &d, false);
    cr_assert(m, "%s\n%s", t.s, d.s);
    cr_assert(loop_verify(m, "lowering"));
    text_free(&t);
    return m;
}
static unsigned char yes = 1, no = 0;
/* Inputs: a condition and f32[2,3]. want NULL: it must stop with a fault that says `fault`. */
static void gives(struct module *m, const void *cond, const float *x, const float *want, int n, const char *fault) {
    struct eval_arg args[3] = {{(void *)cond, {0}, 0}, {(void *)x, {2, 3}, 2}};
    struct eval_result r = loop_eval(m, m->entry, args, NULL, &(struct eval_options){.poison = true});
    if (fault) {
        cr_assert_eq(r.status, EVAL_FAULT);
        cr_assert(strstr(r.message, fault), "%s", r.message);
        return;
    }
    cr_assert_eq(r.status, EVAL_OK, "%s", r.message);
    int64_t count = 1;
    for (int k = 0; k < args[2].nd; k++) count *= args[2].dims[k];
    cr_assert_eq(count, n, "%lld elements, not %d", (long long)count, n);
    for (int k = 0; k < n; k++)
        cr_expect_float_eq(((float *)args[2].data)[k], want[k], 1e-6, "element %d is %g", k,
                           (double)((float *)args[2].data)[k]);
}
#define LIST(...) (const float[]){__VA_ARGS__}, (int)(sizeof((float[]){__VA_ARGS__}) / sizeof(float)), NULL
static const float six[] = {1, 2, 3, 4, 5, 6}, sparse[] = {0, 0, 7, 0, 8, 0};
#define C_AND_X "%c: bool[], %x: f32[2,3]"

Test(control, an_if_in_a_growing_loop_is_not_decided_by_the_first_pass) {
    /* The carried value has one element in the first pass only. */
    struct module *m =
        lowered("const %zero: i64[1] = [0] const %m: i64[] = [3] const %one: i64[1] = [1] const %ten: f32[] = [10.0] "
                "const %w: f32[1] = [5.0]",
                C_AND_X,
                "%s: ? = ReduceMax(%x) {keepdims=0} %i: ? = Unsqueeze(%s, %zero) %y: ? = Loop(%m, _, %i) {captures=0}\n"
                "  body = region \"b\" (%p0: ?, %p1: ?, %v: ?) {\n"
                "    %d: ? = Shape(%v) %e: ? = Equal(%d, %one)\n"
                "    %r: ? = If(%e, %v) {captures=1}\n"
                "      then_branch = region \"t\" (%q: ?) { %u: ? = Add(%q, %ten) return %u }\n"
                "      else_branch = region \"e\" (%q2: ?) { %u2: ? = Neg(%q2) return %u2 }\n"
                "    %n: ? = Concat(%r, %w) {axis=0}\n"
                "    return %p1, %n }\n");
    gives(m, &yes, six, LIST(16, 5, -5, 5));
}
Test(control, what_depends_on_a_rank_is_compiled_for_each) {
    struct module *m =
        lowered("const %a: i64[1] = [1]", C_AND_X,
                "%z: ? = If(%c, %x) {captures=1}\n"
                "  then_branch = region \"t\" (%p: ?) { %r: ? = ReduceSum(%p, %a) {keepdims=0} return %r }\n"
                "  else_branch = region \"e\" (%q: ?) { %s: ? = Neg(%q) return %s }\n"
                "%n: ? = Add(%z, %z) %y: ? = ReduceMax(%n) {keepdims=0}");
    gives(m, &yes, six, LIST(30));
    gives(m, &no, six, LIST(-2));
}
Test(control, a_rank_may_be_decided_two_regions_further_in) {
    struct module *m =
        lowered("const %a: i64[1] = [1]", C_AND_X,
                "%d: ? = Not(%c)\n"
                "%z: ? = If(%c, %x, %c) {captures=2}\n"
                "  then_branch = region \"t\" (%p: ?, %pc: ?) {\n"
                "    %i: ? = If(%pc, %p) {captures=1}\n"
                "      then_branch = region \"tt\" (%pp: ?) { %r: ? = ReduceSum(%pp, %a) {keepdims=0} return %r }\n"
                "      else_branch = region \"te\" (%pq: ?) { %s: ? = Neg(%pq) return %s }\n"
                "    return %i }\n"
                "  else_branch = region \"e\" (%q: ?, %qc: ?) { %u: ? = Abs(%q) return %u }\n"
                "%y: ? = ReduceMin(%z) {keepdims=0}");
    gives(m, &yes, six, LIST(6));
    gives(m, &no, six, LIST(1));
}
Test(control, a_branch_that_cannot_be_right_is_a_check) {
    struct module *m = lowered("const %s: i64[1] = [6]", C_AND_X,
                               "%z: ? = If(%c, %x) {captures=1}\n"
                               "  then_branch = region \"t\" (%p: ?) { %r: ? = Neg(%p) return %r }\n"
                               "  else_branch = region \"e\" (%q: ?) { %u: ? = Reshape(%q, %s) return %u }\n"
                               "%y: ? = EyeLike(%z)"); /* takes matrices only */
    gives(m, &yes, six, LIST(1, 0, 0, 0, 1, 0));
    gives(m, &no, six, NULL, 0, "the else branch cannot be right");
}
/* The inner condition asks for the rank of x: it is known, and with it that this branch ends in an error. */
Test(control, a_branch_is_a_check_where_a_rank_chooses_an_error_in_it) {
    struct module *m = lowered("const %two: i64[] = [2]", C_AND_X,
                               "%y: ? = If(%c, %x) {captures=1}\n"
                               "  then_branch = region \"t\" (%p: ?) { %r: ? = Neg(%p) return %r }\n"
                               "  else_branch = region \"e\" (%q: ?) {\n"
                               "    %s: ? = Shape(%q) %d: ? = Size(%s) %e: ? = Equal(%d, %two)\n"
                               "    %i: ? = If(%e, %q) {captures=1}\n"
                               "      then_branch = region \"tt\" (%pp: ?) { %u: ? = MatMul(%pp, %pp) return %u }\n"
                               "      else_branch = region \"te\" (%pq: ?) { %v: ? = Abs(%pq) return %v }\n"
                               "    return %i }\n");
    gives(m, &yes, six, LIST(-1, -2, -3, -4, -5, -6));
    gives(m, &no, six, NULL, 0, "the else branch cannot be right");
}
Test(control, a_branch_is_tried_however_much_was_said_before) {
    for (int k = 0; k < DIAG_MAX; k++) diag(&c->diags, DIAG_NOTE, E_SHAPE, "note %d", k);
    struct module *m = lowered("const %s: i64[1] = [6]", C_AND_X,
                               "%z: ? = If(%c, %x) {captures=1}\n"
                               "  then_branch = region \"t\" (%p: ?) { %u: ? = Reshape(%p, %s) return %u }\n"
                               "  else_branch = region \"e\" (%q: ?) { %r: ? = Neg(%q) return %r }\n"
                               "%y: ? = EyeLike(%z)"); /* takes matrices only */
    gives(m, &no, six, LIST(1, 0, 0, 0, 1, 0));
}
Test(control, a_loop_may_run_on_one_element_of_any_rank) {
    /* The condition and a carried flag have rank 1 from the first pass on, and %j is a number until then. */
    struct module *m =
        lowered("const %zero: i64[1] = [0] const %t: bool[] = [1] const %f: bool[] = [0] const %j: f32[1] = [9.0] "
                "const %hundred: f32[] = [100.0]",
                C_AND_X,
                "%a: ?, %y: ?, %z: ? = Loop(_, %t, %f, %j, %x) {captures=0}\n"
                "  body = region \"b\" (%p0: ?, %p1: ?, %pf: ?, %pj: ?, %v: ?) {\n"
                "    %d: ? = Add(%v, %v) %s: ? = ReduceMax(%d) {keepdims=0} %e: ? = Less(%s, %hundred)\n"
                "    %e1: ? = Unsqueeze(%e, %zero) %n: ? = Not(%e1) %g: ? = Not(%pf) %q: ? = And(%e1, %g)\n"
                "    return %q, %n, %d, %d }\n");
    gives(m, &yes, six, LIST(32, 64, 96, 128, 160, 192));
}
/* The elements of x above five, of which only the run knows that there is one. */
Test(control, one_value_may_be_all_that_a_length_of_the_run_leaves) {
    const char *consts = "const %five: f32[] = [5.0] const %flat: i64[1] = [-1]";
    const char *pick = "%f: ? = Reshape(%x, %flat) %q: ? = Greater(%f, %five) %e: ? = Compress(%q, %q)\n";
    struct text t = {0};
    text_printf(&t, "%s%s", pick,
                "%y: ? = If(%e, %x) {captures=1}\n"
                "  then_branch = region \"t\" (%p: ?) { %r: ? = Neg(%p) return %r }\n"
                "  else_branch = region \"e\" (%p2: ?) { %r2: ? = Abs(%p2) return %r2 }\n");
    struct module *m = lowered(consts, C_AND_X, t.s);
    gives(m, &yes, six, LIST(-1, -2, -3, -4, -5, -6));
    gives(m, &yes, sparse, NULL, 0, "the number of elements changes");
    text_free(&t);
    text_printf(&t, "%s%s", pick,
                "%n: ? = Cast(%e) {to=7} %y: ? = Loop(%n, %e, %x) {captures=0}\n"
                "  body = region \"b\" (%p0: ?, %p1: ?, %v: ?) {\n"
                "    %d: ? = Reshape(%v, %flat) %w: ? = Greater(%d, %five) %g: ? = Compress(%w, %w)\n"
                "    %s: ? = Add(%v, %v) return %g, %s }\n");
    m = lowered(consts, C_AND_X, t.s);
    gives(m, &yes, six, LIST(2, 4, 6, 8, 10, 12));
    gives(m, &yes, sparse, NULL, 0, "the number of elements changes");
    text_free(&t);
}
/* ---- what a loop collects, of a size that the body finds */
#define FLOAT_Y "%y: ? = Cast(%n) {to=1}"
Test(control, a_loop_collects_what_has_a_size_of_the_body) {
    struct module *m = lowered("const %m: i64[] = [2]", C_AND_X,
                               "%w: ?, %n: ? = Loop(%m, _, %x) {captures=0}\n"
                               "  body = region \"b\" (%p0: ?, %p1: ?, %v: ?) {\n"
                               "    %i: ? = NonZero(%v) %d: ? = Neg(%v) return %p1, %d, %i }\n" FLOAT_Y);
    gives(m, &yes, sparse, LIST(0, 1, 2, 1, 0, 1, 2, 1));
    gives(m, &yes, six, LIST(0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2, 0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2));
}
Test(control, it_must_have_that_size_in_each_pass) {
    struct module *m = lowered("const %m: i64[] = [2] const %four: f32[] = [4.0]", C_AND_X,
                               "%w: ?, %n: ? = Loop(%m, _, %x, %four) {captures=1}\n"
                               "  body = region \"b\" (%p0: ?, %p1: ?, %v: ?, %f: ?) {\n"
                               "    %i: ? = NonZero(%v) %d: ? = Sub(%v, %f) return %p1, %d, %i }\n" FLOAT_Y);
    gives(m, &yes, six, NULL, 0, "a collected value changes its size");
}
Test(control, a_loop_that_a_condition_ends_collects_it) { /* more passes than there is room for at first */
    struct module *m = lowered("const %last: i64[] = [40] const %axes: i64[2] = [1,2]", C_AND_X,
                               "%n: ? = Loop(_, %c, %x, %last) {captures=2}\n"
                               "  body = region \"b\" (%i: ?, %p1: ?, %v: ?, %t: ?) {\n"
                               "    %d: ? = Less(%i, %t) %z: ? = NonZero(%v) return %d, %z }\n"
                               "%s: ? = ReduceSum(%n, %axes) {keepdims=0} "
                               "%y: ? = Cast(%s) {to=1}");
    float want[41];
    for (int k = 0; k < 41; k++) want[k] = 4;
    gives(m, &yes, sparse, want, 41, NULL);
    gives(m, &no, six, NULL, 0, NULL);
}
Test(control, a_scan_collects_it_along_another_axis) {
    struct module *m = lowered("", C_AND_X,
                               "%n: ? = Scan(%x, %x) {num_scan_inputs=1, scan_output_axes=[2], captures=1}\n"
                               "  body = region \"b\" (%row: ?, %v: ?) { %z: ? = NonZero(%v) return %z }\n" FLOAT_Y);
    gives(m, &yes, sparse, LIST(0, 0, 1, 1, 2, 2, 1, 1));
}
Test(control, it_is_collected_in_a_loop_of_a_loop) {
    struct module *m = lowered("const %m: i64[] = [2]", C_AND_X,
                               "%k: ? = Cast(%c) {to=7} %n: ? = Loop(%m, _, %x, %k) {captures=2}\n"
                               "  body = region \"b\" (%p0: ?, %p1: ?, %v: ?, %t: ?) {\n"
                               "    %o: ? = Loop(%t, _, %v) {captures=1}\n"
                               "      body = region \"b\" (%q0: ?, %q1: ?, %w: ?) {\n"
                               "        %z: ? = NonZero(%w) return %q1, %z }\n"
                               "    return %p1, %o }\n" FLOAT_Y);
    gives(m, &yes, sparse, LIST(0, 1, 2, 1, 0, 1, 2, 1));
    gives(m, &no, sparse, NULL, 0, NULL);
}
/* A Scan may make no pass, and then gives what it began with. */
Test(control, what_a_scan_carries_keeps_its_rank) {
    const char *t = "graph \"\" const %w: f32[] = [5.0]\nregion \"\" (" C_AND_X ") {\n"
                    "%y: ?, %z: ? = Scan(%w, %x) {num_scan_inputs=1, captures=0}\n"
                    "  body = region \"b\" (%v: ?, %row: ?) { %n: ? = Neg(%row) return %n, %n }\n"
                    "return %y }\n";
    struct graph *g = parsed(t);
    cr_assert_not(graph_infer(g));
}
Test(control, both_branches_wrong_is_an_error) {
    const char *t = "graph \"\" const %s: i64[1] = [6] const %s2: i64[3] = [1,2,3]\nregion \"\" (" C_AND_X ") {\n"
                    "%z: ? = If(%c, %x) {captures=1}\n"
                    "  then_branch = region \"t\" (%p: ?) { %r: ? = Reshape(%p, %s) return %r }\n"
                    "  else_branch = region \"e\" (%q: ?) { %u: ? = Reshape(%q, %s2) return %u }\n"
                    "%y: ? = EyeLike(%z) return %y }\n";
    struct graph *g = parsed(t);
    cr_assert_not(graph_infer(g));
    cr_assert_eq(c->diags.v[0].code, E_RANK);
}
Test(control, a_size_that_only_the_branch_taken_computes) {
    struct module *m = lowered("const %e: i64[2,0] = []", C_AND_X,
                               "%z: ? = If(%c, %x) {captures=1}\n"
                               "  then_branch = region \"t\" (%p: ?) { %r: ? = NonZero(%p) return %r }\n"
                               "  else_branch = region \"e\" (%q: ?) { return %e }\n"
                               "%y: ? = Cast(%z) {to=1}");
    gives(m, &yes, sparse, LIST(0, 1, 2, 1));
    gives(m, &yes, six, LIST(0, 0, 0, 1, 1, 1, 0, 1, 2, 0, 1, 2));
    gives(m, &no, six, NULL, 0, NULL);
}

Test(control, a_loop_that_takes_nothing) {
    struct module *m = lowered("const %three: i64[] = [3] const %m: i64[] = [2]", "%c: bool[], %x: f32[2,3]",
                               "%v: ? = Loop() {captures=0}\n"
                               "  body = region \"b\" (%i: ?, %p1: ?) {\n"
                               "    %d: ? = Less(%i, %three) return %d, %i }\n"
                               "%w: ? = Loop(%m) {captures=0}\n"
                               "  body = region \"b\" (%j: ?, %q1: ?) { return %q1, %j }\n"
                               "%a: ? = Concat(%v, %w) {axis=0} %y: ? = Cast(%a) {to=1}");
    gives(m, &yes, six, LIST(0, 1, 2, 3, 0, 1));
}
/* ---- results that are no value of their own */
Test(control, two_collected_results_are_one_capture) {
    /* Both grow by a kernel of the same text, for sizes of different symbols. */
    struct module *m =
        lowered("const %four: i64[] = [4]", C_AND_X,
                "%z: ?, %w: ? = Loop(_, %c, %x, %four) {captures=2}\n"
                "  body = region \"b\" (%i: ?, %p1: ?, %p: ?, %pf: ?) {\n"
                "    %d: ? = Less(%i, %pf) %u: ? = Identity(%p) %v: ? = Identity(%p) return %d, %u, %v }\n"
                "%s: ? = Sub(%z, %w) %t: ? = Add(%s, %z) %y: ? = ReduceSum(%t) {keepdims=0}");
    gives(m, &yes, six, LIST(5 * 21));
    gives(m, &no, six, LIST(0));
}
Test(control, a_state_of_open_size_becomes_one_of_fixed_size) {
    struct module *m =
        lowered("const %zero: i64[1] = [0] const %one: i64[1] = [1]", C_AND_X,
                "%i: ? = Cast(%x) {to=7} %r: ? = ReduceMin(%i) {keepdims=0} %n: ? = Unsqueeze(%r, %zero)\n"
                "%a: ? = Expand(%n, %n) %b: ? = Expand(%n, %one)\n"
                "%y0: ?, %y1: ? = Scan(%b, %a, %x) {num_scan_inputs=1, captures=0}\n"
                "  body = region \"b\" (%p: ?, %q: ?, %row: ?) { return %p, %p }\n"
                "%y: ? = Cast(%y1) {to=1}");
    gives(m, &yes, six, LIST(1));
}
Test(control, a_loop_of_no_passes_collects_nothing) {
    struct module *m = lowered("const %m: i64[] = [0] const %a: i64[1] = [0]", C_AND_X,
                               "%r: ? = ReduceSum(%x, %a) {keepdims=0} %v: ?, %y: ? = Loop(%m, _, %r) {captures=0}\n"
                               "  body = region \"b\" (%i: ?, %p1: ?, %p: ?) {\n"
                               "    %n: ? = Neg(%p) %o: ? = Abs(%p) return %p1, %n, %o }\n");
    gives(m, &yes, six, NULL, 0, NULL);
}
Test(control, nothing_beside_nothing) {
    struct module *m = lowered("const %a: i64[1] = [3] const %b: i64[1] = [-9] const %z: i64[1] = [0]", C_AND_X,
                               "%m: ? = Cast(%c) {to=7} %v: ? = Loop(%m, _, %x, %a, %b, %z) {captures=4}\n"
                               "  body = region \"b\" (%i: ?, %p1: ?, %p: ?, %pa: ?, %pb: ?, %pz: ?) {\n"
                               "    %s: ? = Slice(%p, %pa, %pb, %pz) return %p1, %s }\n"
                               "%y: ? = Concat(%v, %v) {axis=1}");
    gives(m, &yes, six, NULL, 0, NULL);
    gives(m, &no, six, NULL, 0, NULL);
}
/* The outer result is an open place that both a fixed value and an inner open one change places with. */
Test(control, an_if_in_a_branch_that_gives_another_size) {
    struct module *m =
        lowered("const %axis: i64[1] = [1] const %start: i64[1] = [0] const %half: i64[1] = [1]", C_AND_X,
                "%d: ? = Not(%c) %z: ? = If(%c, %x, %d, %start, %half, %axis) {captures=5}\n"
                "  then_branch = region \"t\" (%p: ?, %pd: ?, %ps: ?, %ph: ?, %pa: ?) {\n"
                "    %m: ? = Mul(%p, %p) return %m }\n"
                "  else_branch = region \"e\" (%q: ?, %qd: ?, %qs: ?, %qh: ?, %qa: ?) {\n"
                "    %i: ? = If(%qd, %q, %qs, %qh, %qa) {captures=4}\n"
                "      then_branch = region \"et\" (%v: ?, %vs: ?, %vh: ?, %va: ?) {\n"
                "        %s: ? = Slice(%v, %vs, %vh, %va) return %s }\n"
                "      else_branch = region \"ee\" (%w: ?, %ws: ?, %wh: ?, %wa: ?) { %n: ? = Neg(%w) return %n }\n"
                "    return %i }\n"
                "%y: ? = Neg(%z)");
    gives(m, &yes, six, LIST(-1, -4, -9, -16, -25, -36));
    gives(m, &no, six, LIST(-1, -4));
}
/* ---- what the verifier cannot prove is checked in the run (ir/verify/guard.c) */
Test(control, sizes_that_are_equal_for_reasons_that_no_proof_finds) {
    struct module *m =
        lowered("sym N: 0..9 const %zero: i64[1] = [0] const %one: i64[1] = [1] const %two: i64[1] = [2]\n"
                "const %end: i64[1] = [99999] const %rows: i64[3] = [0,-1,2] const %w: f32[3] = [1.0,10.0,100.0]",
                "%c: bool[], %x: f32[2,N]",
                "%s: ? = Slice(%x, %zero, %one, %one) %l: ? = Slice(%x, %one, %end, %one) %r: ? = Reshape(%l, %rows)\n"
                "%h: ?, %f: ? = Scan(%s, %r, %two, %end, %one) {num_scan_inputs=1, scan_input_axes=[1], "
                "scan_output_axes=[1], captures=3}\n"
                "  body = region \"b\" (%p: ?, %q: ?, %pt: ?, %pe: ?, %po: ?) {\n"
                "    %j: ? = Concat(%p, %q) {axis=1} %n: ? = Slice(%j, %pt, %pe, %po) return %n, %j }\n"
                "%y: ? = Mul(%w, %f)"); /* the product learns that N is 1 or more */
    gives(m, &yes, six, LIST(1, 20, 300, 4, 50, 600));
}
/* ---- sequences around bodies */
#define TWO "%n: ? = Neg(%x) %s: ? = SequenceConstruct(%x, %n)\n"
Test(control, bodies_capture_sequences) {
    struct module *m = lowered("const %i: i64[] = [0] const %j: i64[] = [1]", C_AND_X,
                               TWO "%y: ? = If(%c, %s) {captures=1}\n"
                                   "  then_branch = region \"t\" (%p: ?) { %a: ? = SequenceAt(%p, %i) return %a }\n"
                                   "  else_branch = region \"e\" (%q: ?) { %b: ? = SequenceAt(%q, %j) return %b }\n");
    gives(m, &yes, six, LIST(1, 2, 3, 4, 5, 6));
    gives(m, &no, six, LIST(-1, -2, -3, -4, -5, -6));
}
Test(control, branches_that_give_sequences_of_different_length) {
    struct module *m = lowered("const %a: i64[1] = [1]", C_AND_X,
                               TWO "%z: ? = If(%c, %s, %x) {captures=2}\n"
                                   "  then_branch = region \"t\" (%p: ?, %v: ?) { %r: ? = Identity(%p) return %r }\n"
                                   "  else_branch = region \"e\" (%q: ?, %w: ?) {\n"
                                   "    %t: ? = SequenceInsert(%q, %w) return %t }\n"
                                   "%k: ? = ConcatFromSequence(%z) {axis=0} %y: ? = ReduceSum(%k, %a) {keepdims=0}");
    gives(m, &yes, six, LIST(6, 15, -6, -15));
    gives(m, &no, six, LIST(6, 15, -6, -15, 6, 15));
}
Test(control, branches_that_give_sequences_of_one_length) {
    struct module *m = lowered("const %i: i64[] = [0]", C_AND_X,
                               "%z: ?, _ = If(%c, %x) {captures=1}\n"
                               "  then_branch = region \"t\" (%p: ?) {\n"
                               "    %t: ? = SequenceConstruct(%p) return %t, %t }\n"
                               "  else_branch = region \"e\" (%q: ?) {\n"
                               "    %r: ? = Neg(%q) %u: ? = SequenceConstruct(%r) return %u, %u }\n"
                               "%y: ? = SequenceAt(%z, %i)");
    gives(m, &yes, six, LIST(1, 2, 3, 4, 5, 6));
    gives(m, &no, six, LIST(-1, -2, -3, -4, -5, -6));
}
/* Three passes, though M is ten: the condition ends it. Collected are the lengths. */
Test(control, a_loop_that_carries_a_sequence_is_unrolled) {
    struct module *m = lowered("const %m: i64[] = [10] const %limit: i64[] = [4] const %i: i64[] = [0]", C_AND_X,
                               TWO "%o: ?, %l: ? = Loop(%m, _, %s, %x) {captures=1}\n"
                                   "  body = region \"b\" (%p0: ?, %p1: ?, %v: ?, %w: ?) {\n"
                                   "    %e: ? = SequenceInsert(%v, %w) %g: ? = SequenceLength(%v)\n"
                                   "    %d: ? = Less(%g, %limit) return %d, %e, %g }\n"
                                   "%f: ? = Cast(%l) {to=1} %g: ? = SequenceLength(%o) %h: ? = Cast(%g) {to=1}\n"
                                   "%y: ? = Mul(%f, %h)");
    gives(m, &yes, six, LIST(10, 15, 20));
}
Test(control, a_map_over_sequences) {
    struct module *m = lowered("const %i: i64[] = [1]", C_AND_X,
                               TWO "%o: ? = SequenceMap(%s, %x, %n) {captures=1}\n"
                                   "  body = region \"b\" (%p: ?, %q: ?, %w: ?) {\n"
                                   "    %a: ? = Add(%p, %q) %b: ? = Add(%a, %w) return %b }\n"
                                   "%y: ? = SequenceAt(%o, %i)");
    gives(m, &yes, six, LIST(-1, -2, -3, -4, -5, -6));
}
Test(control, a_sequence_that_nobody_wants_may_differ) {
    struct module *m = lowered("const %i: i64[] = [0]", C_AND_X,
                               "%z: ?, %y: ? = If(%c, %x) {captures=1}\n"
                               "  then_branch = region \"t\" (%p: ?) {\n"
                               "    %t: ? = SequenceConstruct(%p) return %t, %p }\n"
                               "  else_branch = region \"e\" (%q: ?) {\n"
                               "    %r: ? = Neg(%q) %u: ? = SequenceConstruct(%r, %r) return %u, %r }\n");
    gives(m, &yes, six, LIST(1, 2, 3, 4, 5, 6));
    gives(m, &no, six, LIST(-1, -2, -3, -4, -5, -6));
}
/* ---- sequences whose length only the run knows: packed (lower/ops/packed.c) */
#define RUN_M "%i: ? = Cast(%x) {to=7} %m: ? = ReduceMin(%i) {keepdims=0} " /* passes: 1 of six, 0 of sparse */
#define SEQ   "const %zero: i64[1] = [0] const %one: i64[1] = [1] const %two: i64[1] = [2] const %first: i64[] = [0] "
/* Inserts x[:, :i+1], m+2 times, at place `at` */
#define GROWN(at)                                                                                                      \
    SEQ "const %more: i64[] = [2] const %last: i64[] = [-1]", C_AND_X,                                                 \
        RUN_M                                                                                                          \
        "%n: ? = Add(%m, %more) %e: ? = SequenceEmpty() {dtype=1} %s: ? = Loop(%n, _, %e, %x, %m) {captures=2}\n"      \
        "  body = region \"b\" (%p0: ?, %p1: ?, %v: ?, %p: ?, %pm: ?) {\n"                                             \
        "    %j: ? = Unsqueeze(%p0, %zero) %k: ? = Add(%j, %one) %u: ? = Slice(%p, %zero, %k, %one)\n"                 \
        "    %w: ? = SequenceInsert(%v, %u" at ") return %p1, %w }\n"
Test(control, a_sequence_that_grows_as_often_as_the_run_says) {
    gives(lowered(GROWN("") "%y: ? = ConcatFromSequence(%s) {axis=1}"), &yes, six,
          LIST(1, 1, 2, 1, 2, 3, 4, 4, 5, 4, 5, 6));
    gives(lowered(GROWN("") "%y: ? = ConcatFromSequence(%s) {axis=1}"), &yes, sparse, LIST(0, 0, 0, 0, 0, 8));
    gives(lowered(GROWN(", %first") "%y: ? = ConcatFromSequence(%s) {axis=-1}"), &yes, six,
          LIST(1, 2, 3, 1, 2, 1, 4, 5, 6, 4, 5, 4));
    gives(lowered(GROWN(", %pm") "%y: ? = SequenceAt(%s, %more)"), &yes, six, NULL, 0, "a place outside");
    gives(lowered(GROWN("") "%y: ? = SequenceAt(%s, %last)"), &yes, six, LIST(1, 2, 3, 4, 5, 6));
    gives(lowered(GROWN("") "%y: ? = SequenceAt(%s, %m)"), &yes, six, LIST(1, 2, 4, 5));
    gives(lowered(GROWN("") "%d: ? = SequenceErase(%s, %m) %y: ? = ConcatFromSequence(%d) {axis=1}"), &yes, six,
          LIST(1, 1, 2, 3, 4, 4, 5, 6));
    gives(lowered(GROWN("") "%d: ? = SequenceErase(%s) %l: ? = SequenceLength(%d) %y: ? = Cast(%l) {to=1}"), &yes, six,
          LIST(2));
    gives(lowered(GROWN("") "%y: ? = ConcatFromSequence(%s) {axis=0}"), &yes, six, NULL, 0, "differ in shape");
}
/* The first pass is there, and only the run knows whether there is another one. Inserts x[:, :i+1], collects i. */
#define GONE_ON(more)                                                                                                  \
    SEQ "const %t: i64[] = [" more "] const %on: bool[] = [1]", C_AND_X,                                               \
        RUN_M "%e: ? = SequenceEmpty() {dtype=1} %s: ?, %l: ? = Loop(%t, %on, %e, %x, %m) {captures=2}\n"              \
              "  body = region \"b\" (%p0: ?, %p1: ?, %v: ?, %p: ?, %pm: ?) {\n"                                       \
              "    %j: ? = Unsqueeze(%p0, %zero) %k: ? = Add(%j, %one) %u: ? = Slice(%p, %zero, %k, %one)\n"           \
              "    %w: ? = SequenceInsert(%v, %u) %d: ? = Less(%p0, %pm) return %d, %w, %p0 }\n"
Test(control, a_sequence_that_grows_as_long_as_the_run_says) {
    gives(lowered(GONE_ON("9") "%y: ? = ConcatFromSequence(%s) {axis=1}"), &yes, six, LIST(1, 1, 2, 4, 4, 5));
    gives(lowered(GONE_ON("9") "%y: ? = ConcatFromSequence(%s) {axis=1}"), &yes, sparse, LIST(0, 0));
    gives(lowered(GONE_ON("1") "%y: ? = ConcatFromSequence(%s) {axis=1}"), &yes, six, LIST(1, 4));
    gives(lowered(GONE_ON("9") "%y: ? = Cast(%l) {to=1}"), &yes, six, LIST(0, 1));
}
/* They leave the outer branch, where nothing depends on them; behind it something does. */
Test(control, branches_that_give_sequences_to_the_outside) {
    struct module *m =
        lowered(SEQ, C_AND_X,
                TWO "%e: ? = SequenceEmpty() {dtype=1} %d: ? = Not(%c) %z: ? = If(%c, %s, %x, %d) {captures=3}\n"
                    "  then_branch = region \"t\" (%p: ?, %v: ?, %vd: ?) {\n"
                    "    %i: ? = If(%vd, %p, %v) {captures=2}\n"
                    "      then_branch = region \"tt\" (%pp: ?, %pv: ?) { return %pp }\n"
                    "      else_branch = region \"te\" (%qp: ?, %qv: ?) {\n"
                    "        %t: ? = SequenceInsert(%qp, %qv) return %t }\n"
                    "    return %i }\n"
                    "  else_branch = region \"e\" (%q: ?, %w: ?, %wd: ?) { %u: ? = SequenceConstruct(%w) return %u }\n"
                    "%k: ? = ConcatFromSequence(%z) {axis=0} %y: ? = ReduceSum(%k, %one) {keepdims=0}");
    gives(m, &yes, six, LIST(6, 15, -6, -15, 6, 15));
    gives(m, &no, six, LIST(6, 15));
}
Test(control, a_place_that_only_the_run_knows) {
    const char *list = SEQ, *s = RUN_M "%r: ? = ReduceMax(%x) {keepdims=1} %s: ? = SequenceConstruct(%x, %r) ";
    struct text t = {0};
    const char *const nodes[] = {"%y: ? = SequenceAt(%s, %m)",
                                 "%a: ? = SequenceInsert(%s, %r, %m) %y: ? = SequenceAt(%a, %last)",
                                 "%a: ? = SequenceErase(%s, %m) %y: ? = SequenceAt(%a, %first)"};
    struct module *m[3];
    for (int k = 0; k < 3; k++) {
        text_printf(&t, "%s%s", s, nodes[k]);
        m[k] = lowered(internf(c->names, "%s const %%last: i64[] = [-1]", list), C_AND_X, intern(c->names, t.s));
        text_free(&t);
        t = (struct text){0};
    }
    gives(m[0], &yes, six, LIST(6)); /* m is 1 */
    gives(m[0], &yes, sparse, LIST(0, 0, 7, 0, 8, 0));
    gives(m[1], &yes, six, LIST(6));
    gives(m[2], &yes, six, LIST(1, 2, 3, 4, 5, 6));
    gives(m[2], &yes, sparse, LIST(8));
}
Test(control, parts_of_which_only_the_run_knows_the_size) {
#define PARTS(split, axis, rest)                                                                                       \
    lowered(SEQ "const %more: i64[] = [1]", C_AND_X,                                                                   \
            RUN_M "%n: ? = Add(%m, %more) %s: ? = SplitToSequence(%x" split ") {axis=" axis "} " rest)
    gives(PARTS(", %n", "1", "%y: ? = SequenceAt(%s, %first)"), &yes, six, LIST(1, 2, 4, 5));
    gives(PARTS(", %n", "1", "%y: ? = SequenceAt(%s, %m)"), &yes, six, LIST(3, 6));
    gives(PARTS(", %n", "-1", "%y: ? = ConcatFromSequence(%s) {axis=1}"), &yes, six, LIST(1, 2, 3, 4, 5, 6));
    gives(PARTS(", %n", "0", "%y: ? = ConcatFromSequence(%s) {axis=0}"), &yes, six, LIST(1, 2, 3, 4, 5, 6));
    gives(PARTS(", %m", "0", "%y: ? = ConcatFromSequence(%s) {axis=0}"), &yes, sparse, NULL, 0, "must be positive");
    gives(PARTS(", %n", "1", "%l: ? = SequenceLength(%s) %y: ? = Cast(%l) {to=1}"), &yes, six, LIST(2));
}
Test(control, parts_of_a_length_that_is_open) {
    const char *params = "%c: bool[], %x: f32[2,N]";
    gives(lowered("sym N: 0..9 const %i: i64[] = [1]", params,
                  "%s: ? = SplitToSequence(%x) {axis=1, keepdims=0} %y: ? = SequenceAt(%s, %i)"),
          &yes, six, LIST(2, 5));
    gives(
        lowered("sym N: 0..9", params,
                "%s: ? = SplitToSequence(%x) {axis=1, keepdims=0} %y: ? = ConcatFromSequence(%s) {axis=1, new_axis=1}"),
        &yes, six, LIST(1, 2, 3, 4, 5, 6));
    gives(lowered("sym N: 0..9 const %i: i64[] = [2]", params,
                  "%s: ? = SplitToSequence(%x, %i) {axis=1} %y: ? = ConcatFromSequence(%s) {axis=1}"),
          &yes, six, LIST(1, 2, 3, 4, 5, 6));
    gives(
        lowered("sym N: 0..9", params, "%s: ? = SplitToSequence(%x) {axis=1} %y: ? = ConcatFromSequence(%s) {axis=0}"),
        &yes, six, LIST(1, 4, 2, 5, 3, 6));
}

#define PERHAPS                                                                                                        \
    "%o: ? = If(%c, %x) {captures=1} then_branch = region \"t\" (%a: ?) { %p: ? = Optional(%a) return %p } "           \
    "else_branch = region \"e\" (%b: ?) { %q: ? = Optional() {type=type f32[*]} return %q } "
Test(control, what_an_optional_of_the_run_holds_is_there_or_the_run_stops) {
    struct module *m = lowered("", C_AND_X, PERHAPS "%g: ? = OptionalGetElement(%o) %y: ? = Neg(%g)");
    gives(m, &yes, six, LIST(-1, -2, -3, -4, -5, -6));
    gives(m, &no, six, NULL, 0, "the optional is empty");
}
Test(control, an_optional_of_the_run_is_asked_before) {
    struct module *m = lowered("", C_AND_X,
                               PERHAPS "%h: ? = OptionalHasElement(%o) %y: ? = If(%h, %o, %x) {captures=2} "
                                       "then_branch = region \"u\" (%d: ?, %f: ?) { %g: ? = OptionalGetElement(%d) "
                                       "%n: ? = Neg(%g) return %n } "
                                       "else_branch = region \"v\" (%i: ?, %j: ?) { return %j }");
    gives(m, &yes, six, LIST(-1, -2, -3, -4, -5, -6));
    gives(m, &no, six, LIST(1, 2, 3, 4, 5, 6));
}
