/* Illegal steps: each is refused by its own test, says why, and leaves the procedure as it was. */
#include "step_kernels.h"

TestSuite(illegal, .init = setup, .fini = teardown);

static char *shown(void) {
    struct text t = {0};
    proc_print(&t, c, p);
    return t.s;
}
/* The step must be refused with a message that holds `reason`. */
static void refused(const char *line, const char *reason) {
    lower_stages(c, p);
    char *before = shown();
    int steps = p->steps.n, bufs = p->bufs.n;
    c->diags.n = c->diags.errors = 0;
    cr_expect_not(step_apply(c, p, line), "`%s` was not refused", line);
    if (!c->diags.n) return;
    const struct diag *d = &c->diags.v[0];
    cr_expect_eq(c->diags.n, 1, "`%s`: %d diagnostics", line, c->diags.n);
    cr_expect_eq(d->code, E_STEP);
    cr_expect(strstr(d->message, reason), "`%s`: expected: %s\n   got: %s", line, reason, d->message);
    cr_expect(strstr(d->message, line), "`%s` is not named: %s", line, d->message);
    char *after = shown();
    cr_expect_str_eq(before, after, "`%s` was refused, but changed the procedure", line);
    cr_expect(p->steps.n == steps && p->bufs.n == bufs);
    free(before), free(after);
}
static void apply(const char *schedule) { cr_assert(steps_apply(c, p, schedule), "%s", diagnostics()); }
static void parse(const char *text) {
    m = loop_parse(c, text, strlen(text), "test");
    cr_assert(m && m->procs.n, "%s", diagnostics());
    p = m->procs.v[0];
}
static void small_conv(void) { conv(I(4), I(5), I(5), I(4), 3, 1, false); }
static void small_gemm(int64_t lo) { gemm_rm(sym("M", lo, 64), 4, 8); }

/* ---- words */
Test(illegal, unknown_steps_and_words) {
    small_conv();
    refused("vectorize y.ow", "there is no such step");
    refused("layout x [0 1", "cannot be read");
    refused("split y.ow", "words missing");
    refused("split y.ow two wo wi", "words missing");
    refused("split y.ow 2 wo wi cut3", "words missing");
    refused("split y.oww 2 wo wi", "there is no loop named `y.oww`");
    refused("layout xx [0]", "there is no buffer named `xx`");
    refused("kind fast y.ow", "words missing");
    refused("compute_at acc y.ow param", "words missing");
    refused("pipeline y.ow acc", "words missing");
}
/* ---- split, cut */
Test(illegal, split_by_nothing) {
    small_conv();
    refused("split y.ow 0 wo wi", "must be at least 1");
}
Test(illegal, split_into_sizes_that_do_not_add_up) {
    small_conv();
    refused("split y.ow wo wi sizes=[3 3]", "sizes add up to 6, but `y.ow` runs to 5");
    refused("split y.ow wo wi sizes=[5 0]", "`0` is no size");
    refused("split y.ow wo wi sizes=[2*2 1*2]", "sizes add up to 6, but `y.ow` runs to 5");
    refused("split y.ow wo wi sizes=[2*0 5]", "`2*0` is no size");
    refused("split y.ow wo wi sizes=[2*4611686018427387904 5]", "is no size");
    refused("split y.ow wo wi sizes=[2* 5]", "`2*` is no size");
}
Test(illegal, split_run_time_extent_without_saying_what_the_rest_is) {
    small_gemm(1);
    refused("split y.m 3 mo mi", "no known multiple of 3");
    refused("split y.m mo mi sizes=[3 3]", "sizes need a constant extent");
}
Test(illegal, pieces_of_tiles_that_do_not_overlap) {
    small_conv();
    refused("split y.ow 4 wo wi cut pieces=2", "a whole number of pieces");
    refused("split y.ow 4 wo wi overlap pieces=3", "a whole number of pieces");
    refused("split y.ow 4 wo wi overlap pieces=-2", "a whole number of pieces");
    refused("split acc.kh 2 ko ki overlap pieces=2", "overlap would add to `acc` twice");
}
Test(illegal, overlap_of_an_extent_that_may_be_small) {
    small_gemm(1);
    refused("split y.m 4 mo mi overlap pieces=2", "overlap needs an extent of `y.m` of at least 2");
    refused("split y.m 3 mo mi overlap", "overlap needs an extent of `y.m` of at least 3");
    apply("specialize y.m 1<M few");
    refused("split y.m 3 mo mi overlap", "overlap needs an extent of `y.m` of at least 3");
    refused("split few.y.m 3 mo mi overlap", "overlap needs an extent of `few.y.m` of at least 3");
}
Test(illegal, overlap_of_a_reduction) {
    small_gemm(3);
    refused("split acc.m 3 mo mi overlap", "add to `acc` twice");
}
Test(illegal, overlap_of_an_update_in_place) {
    parse("proc inc(x: f32[M] inout) [M in 8..64]\n  for i<M\n    x[i] = x[i] + 1.0\n");
    refused("split i 4 io ii overlap", "compute `x` from its own new values");
}
Test(illegal, overlap_of_a_parallel_loop) {
    small_gemm(3);
    apply("kind parallel y.m");
    refused("split y.m 3 mo mi overlap", "parallel loop `y.m` would overlap");
}
Test(illegal, split_and_cut_after_kind) {
    small_conv();
    apply("layout y [1 2 0]; reorder y.oh y.ow y.oc; layout acc [1 2 0]; kind vector y.oc");
    refused("split y.oc 2 a b", "a vector loop already");
    refused("cut y.oc 1", "a vector loop already");
}
/* ---- reorder */
Test(illegal, reorder_after_a_cutting_split) {
    small_conv();
    apply("split y.ow 2 wo wi");
    refused("reorder wo y.oc", "`y.oc` cannot move inside `wo`: loop `y.oh` holds more than the next loop");
}
Test(illegal, reorder_loops_of_different_nests) {
    small_conv();
    refused("reorder y.oc acc.ic", "no nest holds two of these loops");
    refused("reorder y.oc y.oc", "named twice");
}
Test(illegal, reorder_changes_the_last_value_stored) {
    parse("proc last(x: f32[4,5] in, y: f32[8] out)\n  for i<4\n    for j<5\n      y[i+j] = x[i,j]\n");
    refused("reorder j i", "store the same cell of `y`: the last value would change");
}
Test(illegal, reorder_across_a_dependence) {
    parse("proc skew(x: f32[6,6] inout)\n  for i<5\n    for j<5\n      x[i+1,j] = x[i,j+1]\n");
    refused("reorder j i", "`x` is stored and read across iterations of `i` and `j`");
}
Test(illegal, reorder_max_and_then_reads_it) {
    parse("proc scan(x: f32[4,4] in, m: f32[1] inout, y: f32[4,4] out)\n  for i<4\n    for j<4\n      m[0] max= "
          "x[i,j]\n      y[i,j] = m[0]\n");
    refused("reorder j i", "`m` is stored and read across iterations");
}
Test(illegal, reorder_a_triangle) {
    parse("proc tri(x: f32[4,4] in, y: f32[4,4] out)\n  for i<4\n    for j<i+1\n      y[i,j] = x[i,j]\n");
    refused("reorder j i", "the extent of `j` depends on a loop of the nest");
    refused("fuse i j k", "the extent of `j` depends on `i`");
}
/* ---- fuse, kind */
Test(illegal, fuse_what_is_not_nested) {
    small_conv();
    refused("fuse y.oc y.ow p", "not perfectly nested");
    apply("kind unroll y.ow");
    refused("fuse y.oh y.ow p", "different kinds");
}
Test(illegal, unroll_and_vector_of_run_time_extents) {
    small_gemm(1);
    refused("kind unroll y.m", "the extent of `y.m` is not constant");
    refused("kind vector y.m", "the extent of `y.m` is not constant");
}
Test(illegal, vector_loop_that_is_not_innermost) {
    small_conv();
    refused("kind vector y.oc", "holds a loop, not only stores");
}
Test(illegal, vector_loop_over_a_strided_axis) {
    small_conv();
    apply("reorder y.oh y.ow y.oc");
    refused("kind vector y.oc", "the accesses of `y` along `y.oc` are 25 cells apart");
}
Test(illegal, vector_loop_whose_lanes_differ) {
    small_conv();
    apply("split y.ow 4 wo wi guard");
    refused("kind vector wi", "a test inside of `wi` differs between lanes");
    /* what is stored where the test fails is not known, or what is computed then may fault */
    parse("proc one(x: f32[8] in, y: f32[8] inout)\n  for i<8\n    if x[i] > 0.0\n      y[i] = 1.0\n");
    refused("kind vector i", "a test inside of `i` differs between lanes");
    parse("proc at(x: f32[8] in, t: f32[8] in, k: i32[] in, y: f32[8] inout)\n  for i<8\n    if x[i] > 0.0\n"
          "      y[i] = y[i] + t[guard(toidx(k[]), 8)]\n");
    refused("kind vector i", "a test inside of `i` differs between lanes");
    parse("proc f(x: f32[16] in, t: f32[8] in, k: i32[] in, y: f32[16] inout)\n"
          "  for i<16\n"
          "    if x[i] > 0.0 and t[guard(toidx(k[]), 8)] > 0.0\n"
          "      y[i] = y[i] + t[guard(toidx(k[]), 8)]\n");
    refused("kind vector i", "a test inside of `i` differs between lanes");
    parse("proc f(own: i32[16] in, y: i32[16] inout)\n"
          "  for p<4 independent assumed\n"
          "    for i<16\n"
          "      if own[i] == i32(idx(p))\n"
          "        y[i] = y[i] + 1i32\n");
    refused("kind vector i", "a test inside of `i` differs between lanes");
    parse("proc by(x: i32[8] in, y: i32[8] inout)\n  for i<8\n    if x[i] != 0i32\n      y[i] = y[i] / x[i]\n");
    refused("kind vector i", "a test inside of `i` differs between lanes");
}
Test(illegal, vector_lanes_that_store_one_cell) {
    parse("proc last(x: f32[4] in, y: f32[1] out)\n  for i<4\n    y[0] = x[i]\n");
    refused("kind vector i", "the lanes of `i` store one cell of `y`");
}
Test(illegal, vector_lanes_that_add_by_fma) {
    parse("proc dot(x: f32[4] in, w: f32[4] in, y: f32[1] inout)\n  for i<4\n    y[0] += x[i] * w[i]\n");
    use_fma(c, p);
    refused("kind vector i", "the lanes of `i` add to one cell of `y` by fma");
}
Test(illegal, steps_that_tear_lanes_apart) {
    small_conv();
    apply("layout y [1 2 0]; reorder y.oh y.ow y.oc");
    refused("kind vector y.oc", "the accesses of `acc` along `y.oc` are 25 cells apart");
    apply("layout acc [1 2 0]; kind vector y.oc");
    refused("layout acc [2 0 1]", "the accesses of `acc` along `y.oc` are 25 cells apart");
}
Test(illegal, pads_that_tear_lanes_apart) {
    parse("proc first(x: f32[8,2] in, y: f32[8] out)\n  for i<8\n    y[i] = x[i,0]\n");
    apply("kind vector i");
    refused("layout x pad 1:30", "the accesses of `x` along `i` are 32 cells apart");
}
Test(illegal, inlined_reads_that_tear_lanes_apart) {
    const struct var *i = axis("i", I(8)), *j = axis("j", I(32)), *k = axis("k", I(8)), *l = axis("l", I(32));
    struct buf *x = PAR("x", F32, DIR_IN, I(32), I(8)), *y = PAR("y", F32, DIR_OUT, I(8), I(32)),
               *a = BUF("a", F32, I(8), I(32));
    MAP(a, AX(i, j), LD(x, V(j), V(i)));
    MAP(y, AX(k, l), relu(LD(a, V(k), V(l))));
    apply("reorder a.i a.j; kind vector y.l");
    refused("inline a", "the accesses of `x` along `y.l` are 8 cells apart");
}
Test(illegal, parallel_reduction) {
    small_conv();
    refused("kind parallel acc.ic", "two iterations of `acc.ic` may store one cell of `acc`: a race");
    refused("kind gpu.thread.x acc.kw", "a race");
}
Test(illegal, parallel_tiles_that_overlap) {
    small_gemm(3);
    apply("split y.m 3 mo mi overlap");
    refused("kind parallel mo", "two iterations of `mo` may store one cell of `y`: a race");
}
Test(illegal, parallel_neighbours) {
    parse("proc shift(x: f32[9] inout)\n  for i<8\n    x[i] = x[i+1]\n");
    refused("kind parallel i", "two iterations of `i` may store and read one cell of `x`: a race");
}
/* ---- layout */
Test(illegal, layout_that_loses_cells) {
    small_conv();
    refused("layout x [0 1]", "two cells of `x` that differ in dim 2 would become one");
    refused("layout x [0/4 1 2]", "two cells of `x` that differ in dim 0 would become one");
    refused("layout x [0 1/4 1%2 2]", "two cells of `x` that differ in dim 1 would become one");
    refused("layout w [0*1 2]", "two cells of `w` that differ in dim 3 would become one");
}
Test(illegal, layout_of_dims_that_are_not_there) {
    small_conv();
    refused("layout x [0 1 2 3]", "`x` has 3 dims, there is no dim 3");
    refused("layout x [0 1 2x]", "`2x` is no dim of a layout");
    refused("layout x [0 1 2/0]", "`2/0` is no dim of a layout");
    refused("layout x [0 1 2] pad 3:4", "no dim 3 to pad");
    refused("layout x scope=reg", "stays where it is");
}
Test(illegal, ring_without_rolling) {
    small_conv();
    refused("layout x [0 1%%3 2]", "`x` is a parameter");
    refused("layout acc [0 1%%3 2]", "a ring of 3 is too small for the live cells of dim 1 of `acc`");
}
Test(illegal, ring_of_two_rows_for_a_window_of_three) {
    stem_pool(12, 4);
    apply("reorder y.ph y.oc y.pw; compute_at m y.pw; compute_at s y.ph arena roll=1");
    refused("layout s [0 1%%2 2]", "a ring of 2 is too small for the live cells of dim 1 of `s`");
}
Test(illegal, flat_layout_hides_an_index_outside) {
    small_conv();
    refused("layout x [0 1*2]", "loads of `x` with a fill value may leave dim 2");
}
Test(illegal, layout_after_prefetch) {
    small_gemm(1);
    apply("layout w [1/4 0 1%4]; split y.n 4 no ni; reorder no y.m ni; compute_at acc no arena; split acc.k 2 ko ku; "
          "prefetch w 64 ko no [ko]");
    refused("layout w [1 0 2]", "`w` is used by a prefetch that knows its layout");
}
/* ---- compute_at, inline */
Test(illegal, compute_at_twice) {
    small_conv();
    apply("compute_at acc y.oh");
    refused("compute_at acc y.ow", "`acc` has no stage of its own at the top level");
}
Test(illegal, compute_at_inside_out) {
    small_conv();
    apply("split acc.oc 2 a b");
    refused("compute_at acc y.ow", "index 0 of its store is not a loop variable");
}
Test(illegal, compute_at_after_a_cutting_split_of_the_producer) {
    small_conv();
    apply("split acc.kw 2 a b");
    refused("compute_at acc y.ow", "the stage of `acc` is not pristine");
}
Test(illegal, compute_at_not_all_readers) {
    layernorm(2, 8);
    refused("compute_at mu q.r", "`mu` is also read outside of `q.r`, in loop y.d");
}
Test(illegal, compute_at_of_an_output) {
    stem_pool(12, 4);
    refused("compute_at y m.oc", "`y` is a parameter");
    refused("compute_at acc y.oc", "`y.oc` does not read `acc`");
    refused("compute_at acc acc.oc", "`acc.oc` is a loop of `acc` itself");
}
Test(illegal, compute_at_of_run_time_size_in_registers) {
    gemm_rm(sym("M", 1, 1 << 20), 4, 8);
    apply("reorder y.n y.m");
    refused("compute_at acc y.n", "dim 0 of `acc` would have a run-time extent, which scope reg cannot hold");
}
Test(illegal, compute_at_behind_a_change_of_its_input) {
    parse(
        "proc late(x: f32[4] inout, y: f32[4] out)\n  alloc t: f32[4] arena\n  for i<4  # t.i\n    t[i] = x[i] + 1.0\n"
        "  for j<4  # x.j\n    x[j] = 0.0\n  for k<4  # y.k\n    y[k] = t[k]\n");
    refused("compute_at t y.k", "`t` reads `x`, which is written before `t` would be computed");
    refused("inline t", "`t` reads `x`, which is written before `t` would be computed");
}
Test(illegal, roll_along_what_does_not_move_forward) {
    stem_pool(12, 4);
    apply("reorder y.ph y.oc y.pw; compute_at m y.pw");
    refused("compute_at s y.oc arena roll=1",
            "roll=1 needs a window of `s` that moves forward by a constant with `y.oc`");
    refused("compute_at s y.ph arena roll=3", "no dim 3 to roll along");
    apply("kind parallel y.ph");
    refused("compute_at s y.ph arena roll=1", "roll needs a serial loop; `y.ph` is parallel");
}
Test(illegal, inline_of_a_reduction) {
    softmax(2, 8);
    refused("inline s", "`s` is a reduction");
    refused("inline y", "`y` is a parameter");
}
/* ---- new stages */
Test(illegal, cache_read_of_what_is_not_read) {
    small_conv();
    refused("cache_read x acc y", "there is a buffer `acc` already");
    refused("cache_read x xs y", "the stage of `y` does not read `x`");
    refused("cache_read x x.s acc", "`x.s` is no name for a buffer");
}
Test(illegal, cache_write_after_compute_at) {
    small_conv();
    apply("compute_at acc y.ow");
    refused("cache_write acc a2", "`acc` has no stage of its own at the top level");
}
Test(illegal, rfactor_of_other_than_a_reduced_axis) {
    softmax(2, 8);
    apply("rfactor s s.d 3 sv");
    refused("rfactor s s.lane 2 sw", "`s` has a rest already");
    refused("rfactor m m.r 2 mv", "`m.r` is an axis of `m`, not reduced");
    refused("rfactor e e.d 2 ev", "`e` is no reduction");
    refused("rfactor m s.d 2 mv", "the reduction of `m` has no loop `s.d`");
}
Test(illegal, rfactor_of_rounding_storage) {
    parse("proc half(x: f32[8] in, y: f16[1] out)\n  stage y[i<1] reduce + [k<8] = x[k]\n");
    refused("rfactor y y.k 4 yv", "`y` is stored as f16");
}
/* ---- carry */
#define TILE(tail)                                                                                                     \
    "split y.n 4 no ni; reorder no y.m ni; split y.m 3 mo mi" tail                                                     \
    "; compute_at acc mo; split acc.k 2 ko ki; reorder ko ki acc.m acc.n"
Test(illegal, carry_through_overlapping_tiles) {
    small_gemm(3);
    apply(TILE(" overlap"));
    refused("carry ko no acc", "tiles of `y` overlap along");
}
Test(illegal, carry_through_an_output_that_is_an_operand) {
    parse("proc add(x: f32[6,4] in, w: f32[4,8] in, y: f32[6,8] inout)\n  alloc acc: f32[6,8] arena\n"
          "  stage acc[m<6, n<8] reduce + [k<4] init 0.0 = x[m,k] * w[k,n]\n  stage y[m<6, n<8] = acc[m,n] + y[m,n]\n");
    apply(TILE(""));
    refused("carry ko no acc", "`y` is read in `no`, but would hold partial results");
}
Test(illegal, carry_through_a_narrower_output) {
    parse("proc half(x: f32[6,4] in, w: f32[4,8] in, y: f16[6,8] out)\n  alloc acc: f32[6,8] arena\n"
          "  stage acc[m<6, n<8] reduce + [k<4] init 0.0 = x[m,k] * w[k,n]\n  stage y[m<6, n<8] = acc[m,n]\n");
    apply(TILE(""));
    refused("carry ko no acc", "`y` is f16 and cannot keep the f32 of `acc`");
}
Test(illegal, carry_from_where_the_accumulator_is_not) {
    gemm_rm(I(6), 4, 8);
    apply("split y.n 4 no ni; reorder no y.m ni; split y.m 3 mo mi; compute_at acc mo; split acc.k 2 ko ki");
    refused("carry ko no acc", "`acc` is not allocated beside `ko`");
    refused("carry no ko acc", "there is no loop `no` inside of `ko`");
}
Test(illegal, carry_of_one_accumulator_of_two) {
    parse("proc two(x: f32[6,4] in, y: f32[6] out, z: f32[6] out)\n  for m<6\n    alloc s: f32[1] reg\n    s[0] = "
          "0.0\n    alloc q: f32[1] reg\n    q[0] = 0.0\n"
          "    for k<4\n      q[0] += x[m,k]\n      s[0] += x[m,k] * x[m,k]\n    y[m] = q[0] * s[0]\n");
    refused("carry k m q", "`k` updates `s` too, which would not be carried");
}
/* ---- join, specialize */
Test(illegal, join_reads_what_is_not_there_yet) {
    parse("proc ahead(x: f32[8] in, y: f32[8] out)\n  alloc t: f32[8] arena\n  for i<8\n    t[i] = x[i]\n  for j<8\n   "
          " y[j] = t[7-j]\n");
    refused("join i j", "`j` reads a value of `t` that is not yet final in the same iteration of `i`");
}
Test(illegal, join_overwrites_what_is_still_needed) {
    parse("proc anti(x: f32[9] inout, y: f32[8] out)\n  for i<8\n    y[i] = x[7-i]\n  for j<8\n    x[j] = 0.0\n");
    refused("join i j", "`j` overwrites `x` while later iterations of `i` still read it");
}
Test(illegal, join_of_distant_or_different_loops) {
    parse("proc far(x: f32[8] in, y: f32[8] out, z: f32[4] out)\n  for i<8\n    y[i] = x[i]\n  for j<4\n    z[j] = "
          "x[j]\n  for k<8\n    y[k] = 0.0\n");
    refused("join i k", "nowhere adjacent");
    refused("join i j", "different extents");
}
Test(illegal, specialize_on_other_than_sizes) {
    small_gemm(1);
    refused("specialize y.m 2<Q few", "`2<Q` is no condition over the sizes");
    refused("specialize y.m 2 few", "`2` is no condition");
    refused("specialize y.m 0<M few", "`0<M` is true for all sizes");
    refused("specialize y.m 2<#y.q few", "`2<#y.q` is no condition over the sizes");
    refused("specialize y.m 2<#y.n few", "`2<#y.n` is true for all sizes");
    apply("specialize y.m 2<#y.m few; split y.m 3 mo mi cut2; split few.y.m 5 mo mi cut2");
    refused("specialize y.n 2<#mo few", "`2<#mo` is no condition over the sizes");
}
/* ---- prefetch, pipeline, tensorize */
Test(illegal, prefetch_of_what_is_not_packed) {
    gemm_rm(I(6), 4, 8);
    apply("split y.n 4 no ni; reorder no y.m ni; split y.m 3 mo mi; compute_at acc mo; split acc.k 2 ko ki; reorder ko "
          "ki acc.m acc.n");
    refused("prefetch x 64 ko no [mo ko]", "`x` is not read panel by panel along `no`");
    refused("prefetch w 64 ko ki [mo ko]", "`ko` is not inside of `ki`");
    refused("prefetch w 64 ko no [ki]", "`ki` is no loop between `no` and `ko`");
    refused("prefetch w 64 mi no [mo]", "`mi` does not read `w`");
    refused("prefetch w 8 ko no [mo ko]", "a line has 16 bytes at least");
}
Test(illegal, pipeline_without_stages_to_run_ahead) {
    gemm_rm(I(8), 8, 8);
    apply("compute_at acc y.m; reorder acc.k acc.m acc.n; split acc.k 4 ko ki; cache_read x xs acc");
    refused("pipeline ko [xs]", "none of the buffers is allocated in `ko`");
    apply("compute_at xs ko shared; cache_read w ws acc");
    refused("pipeline ko [xs ws]", "not all of the buffers are allocated in `ko`");
}
Test(illegal, pipeline_of_what_the_loop_writes) {
    parse("proc p(x: f32[8,4] inout)\n  for i<8\n    alloc t: f32[4] shared\n    for a<4\n      t[a] = x[i,a]\n    for "
          "b<4\n      x[i,b] = t[b] * 2.0\n");
    refused("pipeline i [t]", "the fill of `t` reads `x`, which `i` writes");
}
Test(illegal, pipeline_of_no_iterations) {
    parse("proc p(x: f32[N,4] in, y: f32[N,4] out) [N in 0..9]\n  for i<N\n    alloc t: f32[4] shared\n    for a<4\n   "
          "   t[a] = x[i,a]\n    for b<4\n      y[i,b] = t[b]\n");
    refused("pipeline i [t]", "`i` may have no iteration");
}
Test(illegal, tensorize_of_what_does_not_match) {
    small_conv();
    refused("tensorize nonsense", "no target has an instruction `nonsense`");
}
/* ---- more of split, cut, reorder, fuse, kind, outline */
Test(illegal, overlap_that_repeats_what_cannot_be_repeated) {
    parse("proc twice(x: f32[M] in, y: f32[M] out) [M in 8..64]\n  for i<M\n    barrier\n    y[i] = x[i]\n");
    refused("split i 4 io ii overlap", "overlap would repeat a barrier in `i`");
    parse("proc mul(x: f32[M] in, y: f32[M] inout) [M in 8..64]\n  for i<M\n    y[i] *= x[i]\n");
    refused("split i 4 io ii overlap", "overlap would add to `y` twice");
}
Test(illegal, loops_that_are_pipelined) {
    parse("proc p(x: f32[8,4] in, y: f32[8,4] out)\n  for i<8\n    alloc t: f32[4] shared\n    for a<4\n      t[a] = "
          "x[i,a]\n    for b<4\n      y[i,b] = t[b]\n");
    apply("pipeline i [t]");
    refused("split i 4 io ii", "`i` is pipelined");
    refused("cut i 1", "`i` is pipelined");
    refused("kind unroll i", "`i` is pipelined and stays serial");
    refused("pipeline i [t]", "none of the buffers is allocated in `i`");
}
Test(illegal, cut_and_outline_of_what_is_not_there) {
    small_conv();
    refused("cut y.ow", "words missing");
    refused("cut y.ow one", "words missing");
    refused("cut y.oww 1", "there is no loop named `y.oww`");
    refused("outline", "words missing");
    refused("outline y.oww", "there is no loop named `y.oww`");
    refused("noinline", "words missing");
    refused("noinline erf", "nothing calls a function `erf`");
}
Test(illegal, reorder_around_what_cannot_be_reasoned_about) {
    parse("proc r(x: f32[4,5] in, y: f32[4,5] out)\n  for i<4\n    for j<5\n      y[i,j] = x[i,j]\n      barrier\n");
    refused("reorder j i", "there is a barrier inside the nest of `i`");
}
Test(illegal, parallel_and_vector_loops_of_what_is_no_store) {
    parse("proc k(x: f32[4,4] in, y: f32[4,4] out)\n  for i<4\n    for j<4\n      y[i,j] = x[i,j]\n    barrier\n");
    refused("kind parallel i", "a barrier inside of `i` cannot run in parallel");
    parse("proc sq(x: f32[16] in, y: f32[4] out)\n  for i<4\n    y[i] = x[i*i]\n");
    refused("kind vector i", "`x` is not accessed linearly along `i`");
}
Test(illegal, grains_of_what_is_not_parallel) {
    small_conv();
    refused("grain y.oc 3", "`y.oc` is not parallel");
    apply("kind parallel y.oc");
    refused("grain y.oc 0", "a grain of 0 iterations");
}
/* ---- more of layout */
Test(illegal, rings_of_what_is_not_filled_row_by_row) {
#define ROWS(use) "proc ring(x: f32[8,4] in, y: f32[8,4] out, z: f32[4] out)\n  alloc t: f32[8,4] arena\n" use
    parse(ROWS("  for i<8\n    for j<4\n      t[i,j] = x[i,j]\n  for i<8\n    for j<4\n      y[i,j] = t[7-i,j]\n  for "
               "j<4\n    z[j] = 0.0\n"));
    refused("layout t [0%%2 1]", "the rows of `t` do not move forward along `i`");
    parse(ROWS("  for i<8\n    for j<4\n      t[i,j] = x[i,j]\n  for i<8\n    for j<4\n      y[i,j] = t[i,j]\n  for "
               "j<4\n    z[j] = t[0,j]\n"));
    refused("layout t [0%%2 1]", "`t` is used after the loop that fills it row by row");
    parse(
        ROWS("  for i<8\n    for j<4\n      t[i,j] = x[i,j]\n  for i<8 parallel\n    for j<4\n      y[i,j] = t[i,j]\n  "
             "for j<4\n    z[j] = 0.0\n"));
    refused("layout t [0%%2 1]", "`t` is not filled row by row by a serial loop");
    parse(ROWS("  for i<8\n    for j<4\n      t[i,j] = x[i,j]\n  for i<8\n    for j<4\n      y[i,j] = 0.0\n  for "
               "j<4\n    z[j] = 0.0\n"));
    refused("layout t [0%%2 1]", "`t` is never read row by row");
    parse(ROWS("  for i<8\n    for j<4\n      t[i,j] = x[i,j]\n  for i<8\n    for j<4\n      y[i,j] = t[i,j]\n  for "
               "j<4\n    z[j] = 0.0\n"));
    refused("layout t [0%%2 1]", "a ring of 2 is too small for the first rows of dim 0 of `t`");
    parse("proc ring(x: f32[8] in, k: i64[8] in, y: f32[8] out)\n  alloc t: f32[8] arena\n  for i<8\n    t[i] = x[i]\n"
          "  for i<8\n    y[i] = t[toidx(k[i]) else 0.0]\n");
    refused("layout t [0%%2]", "the rows of `t` that are live cannot be told");
}
Test(illegal, layout_scope_of_run_time_size) {
    small_gemm(1);
    refused("layout acc scope=reg", "dim 0 of `acc` is not constant");
    refused("layout acc scope=param", "words missing");
    refused("layout acc", "words missing");
}
/* ---- more of compute_at, inline, new stages */
Test(illegal, compute_at_of_what_has_no_box) {
    parse("proc fills(x: f32[4] in, y: f32[4] out)\n  alloc t: f32[4] arena\n  stage t[i<4] = x[i]\n  stage y[i<4] = "
          "t[i-1 else 1.0] + t[i+1 else 2.0]\n");
    refused("compute_at t y.i", "loads of `t` have different fill values");
    parse("proc picks(x: f32[4] in, k: i64[4] in, y: f32[4] out)\n  alloc t: f32[4] arena\n  stage t[i<4] = x[i]\n"
          "  stage y[i<4] = t[toidx(k[i]) else 0.0]\n");
    refused("compute_at t y.i", "what `y.i` reads of `t` along dim 0 has no bounds");
    parse("proc while_reads(x: f32[4] in, n: i64[1] inout, y: f32[4] out)\n  alloc t: f32[4] arena\n  stage t[i<4] = "
          "x[i]\n  for i<4  # y.i\n    while n[0] < 3i64 max 9\n      n[0] += 1i64\n    y[i] = t[i]\n");
    refused("compute_at t y.i", "there is a while in `y.i`");
}
Test(illegal, roll_along_a_loop_without_bounds) {
    parse("proc far(x: f32[9] in, n: i64[1] in, y: f32[8] out)\n  alloc t: f32[9] arena\n  stage t[i<9] = x[i]\n"
          "  for i<max(toidx(n[0]),0)  # y.i\n    y[guard(i,8)] = t[i else 0.0] + t[i+1 else 0.0]\n");
    refused("compute_at t y.i arena roll=0", "the rows of `t` have no bounds");
}
Test(illegal, compute_at_in_a_vector_loop) {
    small_conv();
    apply("layout y [1 2 0]; layout acc [1 2 0]; reorder y.oh y.ow y.oc; kind vector y.oc");
    refused("compute_at acc y.oc", "`y.oc` is a vector loop");
}
Test(illegal, roll_of_a_window_that_moves_two_ways) {
    parse(
        "proc skew(x: f32[12,12] in, y: f32[4,2] out)\n  alloc t: f32[12,12] arena\n  stage t[a<12, b<12] = x[a,b]\n  "
        "stage y[i<4, j<2] = t[i,i+j] + t[i+1,i+j]\n");
    refused("compute_at t y.i arena roll=0", "dim 1 of the box of `t` moves with `y.i` too");
}
Test(illegal, inline_of_what_has_no_reader_or_other_loops) {
    parse("proc none(x: f32[4] in, y: f32[4] out)\n  alloc t: f32[4] arena\n  stage t[i<4] = x[i]\n  stage y[i<4] = "
          "x[i]\n");
    refused("inline t", "nothing reads `t`");
    parse(
        "proc more(x: f32[4] in, y: f32[4] out)\n  alloc t: f32[4] arena\n  for i<4  # t.i\n    for j<3  # t.j\n      "
        "t[i] = x[i]\n  stage y[i<4] = t[i]\n");
    refused("inline t", "the stage of `t` has loops that are no index of it");
}
Test(illegal, cache_read_of_what_is_not_complete) {
    parse(
        "proc late(x: f32[4] in, t: f32[4] inout, y: f32[4] out)\n  stage y[i<4] = t[i] + x[i]\n  for j<4  # t.j\n    "
        "t[j] = x[j]\n");
    refused("cache_read t ts y", "`t` is still written when `y` reads it");
}
Test(illegal, cache_read_of_what_was_placed) {
    small_conv();
    apply("compute_at acc y.oh");
    refused("cache_read acc as y", "`acc` exists only inside a loop");
}
Test(illegal, cache_read_of_several) {
    small_conv();
    apply("split y.ow 2 wo wi cut; compute_at acc wo");
    refused("cache_read acc as y", "`acc` stands for 2 buffers");
}
Test(illegal, stages_of_several_parts) {
    parse("proc parts(x: f32[4] in, y: f32[4] out)\n  alloc t: f32[4] arena\n  for i<4  # t.i\n    t[i] = 0.0\n  for "
          "i<4  "
          "# t.i\n    t[i] = x[i]\n  stage y[i<4] = t[i]\n");
    refused("compute_at t y.i", "`t` is not one stage");
    refused("inline t", "`t` is not one stage");
    parse(
        "proc deep(x: f32[4] in, y: f32[4] out)\n  alloc t: f32[4] arena\n  for i<4  # t.i\n    if i < 3\n      t[i] = "
        "x[i]\n  stage y[i<4] = t[i]\n");
    refused("compute_at t y.i", "its nest is not a perfect nest around one store");
}
/* ---- more of carry */
#define SUMS(between, behind)                                                                                          \
    "proc s(x: f32[6,4] in, y: f32[6] out, z: f32[6] out)\n  for m<6\n    alloc s: f32[1] reg\n    s[0] = "            \
    "0.0\n" between "    for k<4\n      s[0] += x[m,k]\n" behind
Test(illegal, carry_with_an_epilogue_that_is_no_copy) {
    parse("proc s(x: f32[6,4] in, y: f32[6] out)\n  for m<6\n    alloc s: f32[2] reg\n    for c<2\n      s[c] = 0.0\n  "
          "  for "
          "k<4\n      for c<2\n        s[c] += x[m,k]\n    y[m] = s[0] * s[1]\n");
    refused("carry k m s", "the epilogue reads `s` twice");
    parse(SUMS("", "    y[m] = 1.0\n"));
    refused("carry k m s", "the epilogue does not read `s`");
    parse(SUMS("", "    y[m] = s[0]\n    z[m] = s[0]\n"));
    refused("carry k m s", "the epilogue of `s` is not one plain store");
    parse(SUMS("", "    y[m] += s[0]\n"));
    refused("carry k m s", "the epilogue of `s` is not one plain store");
    parse(SUMS("", "    prefetch x+m\n    y[m] = s[0]\n"));
    refused("carry k m s", "the epilogue of `s` holds a prefetch");
    parse(SUMS("", "    for j<3\n      y[m] = s[0]\n"));
    refused("carry k m s", "the epilogue does not take each cell of `s` to one cell of `y`");
    parse("proc s(x: f32[6,4] in, y: f32[6] out) [N in 1..4]\n  for m<6\n    alloc s: f32[N] arena\n    s[0] = 0.0\n"
          "    for k<4\n      s[0] += x[m,k]\n    y[m] = s[0]\n");
    refused("carry k m s", "`s` has run-time extents");
    parse("proc s(x: f32[6,4] in, y: f32[6] out)\n  for m<6\n    barrier\n    alloc s: f32[1] reg\n    s[0] = 0.0\n"
          "    for k<4\n      s[0] += x[m,k]\n    y[m] = s[0]\n");
    refused("carry k m s", "there is a barrier in `m`");
}
Test(illegal, carry_past_other_stores) {
    parse(SUMS("    z[m] = 0.0\n", "    y[m] = s[0]\n"));
    refused("carry k m s", "`z` is stored between `s` and its reduction");
    parse(SUMS("    alloc q: f32[1] reg\n", "    y[m] = s[0]\n"));
    refused("carry k m s", "another buffer is allocated between `s` and its reduction");
    parse(
        "proc s(x: f32[6,4] in, y: f32[6] out, z: f32[6] out)\n  for m<6\n    z[m] = 1.0\n    alloc s: f32[1] reg\n    "
        "s[0] = 0.0\n    for k<4\n      s[0] += x[m,k]\n    y[m] = s[0]\n");
    refused("carry k m s", "`z` is stored in `m` and would be stored once for each block of the reduction");
}
Test(illegal, carry_of_loops_with_kinds) {
    parse(SUMS("", "    y[m] = s[0]\n"));
    apply("kind unroll k");
    refused("carry k m s", "`k` is not a serial loop");
    parse(SUMS("", "    y[m] = s[0]\n"));
    apply("kind gpu.block.x m");
    refused("carry k m s", "`m` is a gpu.block.x loop");
}
Test(illegal, carry_through_two_tiles_of_one_cell) {
    parse(
        "proc s(x: f32[6,4] in, y: f32[6] out)\n  for m<6\n    for o<1\n      alloc s: f32[1] reg\n      s[0] = 0.0\n  "
        " "
        "   for k<4\n        s[0] += x[m,k]\n      y[m] = s[0]\n    for o<1\n      alloc s_2: f32[1] reg base s\n      "
        "s_2[0] = 1.0\n      for k<4\n        s_2[0] += x[m,k]\n      y[m] = s_2[0]\n");
    refused("carry k m s", "two tiles of `y` may overlap");
    parse("proc s(x: f32[6,4] in, y: f32[12] out)\n  for m<6\n    for o<1\n      alloc s: f32[1] reg\n      s[0] = "
          "0.0\n  "
          "    for k<4\n        s[0] += x[m,k]\n      y[m] = s[0]\n    for o<1\n      alloc s_2: f32[1] reg base s\n   "
          "   "
          "s_2[0] = 1.0\n      for k<3\n        s_2[0] += x[m,k]\n      y[m+6] = s_2[0]\n");
    refused("carry k m s", "the extents of `k` differ between tiles");
}
/* ---- more of join, specialize, prefetch, pipeline, tensorize */
Test(illegal, join_of_kinds_and_of_what_is_opaque) {
    parse(
        "proc j(x: f32[8] in, y: f32[8] out, z: f32[8] out)\n  for i<8 unroll\n    y[i] = x[i]\n  for j<8\n    z[j] = "
        "x[j]\n");
    refused("join i j", "`i` and `j` are loops of different kinds");
    parse("proc j(x: f32[8] in, y: f32[8] out, z: f32[8] out)\n  for i<8\n    y[i] = x[i]\n    barrier\n  for j<8\n    "
          "z[j] = x[j]\n");
    refused("join i j", "there is a barrier in the loops");
}
Test(illegal, specialize_without_a_loop) {
    small_gemm(1);
    refused("specialize y.q 2<M few", "there is no loop named `y.q`");
    refused("specialize y.m 2<M", "words missing");
}
Test(illegal, prefetch_in_and_over_unfit_loops) {
    parse("proc v(x: f32[4,8] in, y: f32[4,8] out)\n  for i<4\n    for j<8\n      y[i,j] = x[i,j]\n");
    apply("kind vector j");
    refused("prefetch x 64 j i [j]", "`j` is a vector loop");
    parse(
        "proc many(x: f32[4,65536] in, y: f32[4] out)\n  for i<4\n    y[i] = 0.0\n    for k<2\n      for j<32768\n     "
        "   y[i] += x[i,k*32768+j]\n");
    refused("prefetch x 64 k i [k]", "each iteration of `k` would touch 2048 lines");
    refused("prefetch x 64 j k [k j]", "`k` is no loop between `k` and `j`");
    refused("prefetch x 64 j k [i j]", "`i` is no loop between `k` and `j`");
    parse("proc sizes(x: f32[4,64] in, y: f32[4,N] out) [N in 1..9]\n  for i<4\n    for n<N\n      y[i,n] = 0.0\n      "
          "for j<64\n        y[i,n] += x[i,j]\n");
    refused("prefetch x 64 n i [n]", "`n` has a run-time extent");
}
#define PIPE(fill, use)                                                                                                \
    "proc p(x: f32[8,4] in, y: f32[8,4] out, z: f32[8] out)\n  for i<8\n    alloc t: f32[4] shared\n" fill use
#define FILL "    for a<4\n      t[a] = x[i,a]\n"
#define USE  "    for b<4\n      y[i,b] = t[b]\n"
Test(illegal, pipeline_of_fills_that_are_not_alone) {
    parse(PIPE("    z[i] = 0.0\n" FILL, USE));
    refused("pipeline i [t]", "a stage that fills the buffers does not come first in `i`");
    parse(PIPE("    for a<4\n      t[a] = x[i,a]\n      z[i] = 0.0\n", USE));
    refused("pipeline i [t]", "the stage that fills the buffers also stores `z`");
    parse(PIPE("    for a<4\n      t[a] = x[i,a]\n      barrier\n", USE));
    refused("pipeline i [t]", "there is a barrier in a stage that fills the buffers");
    parse(PIPE(FILL, USE));
    apply("kind parallel i");
    refused("pipeline i [t]", "`i` is not a serial loop");
}
Test(illegal, pipeline_of_operands_of_an_instruction) {
    static const struct instr_row copy4 = {
        .name = "copy4",
        .body = "proc copy4(C: f32[4] out, A: f32[4] in)\n  for v<4\n    C[v] = A[v]\n",
        .holes = {{"C", F32, {1}}, {"A", F32, {1}}},
    };
    parse(PIPE(FILL, USE));
    cr_assert(tensorize_row(c, p, &copy4), "%s", diagnostics());
    refused("pipeline i [t]", "`t` is an operand of an instruction");
    refused("over y x", "is used by a");
}
/* ---- scratch, border, over, within: what a kernel shares with its caller */
Test(illegal, scratch_that_is_not_the_callers_to_give) {
    small_conv();
    refused("scratch xx", "there is no buffer named `xx`");
    refused("scratch x", "no `x` is allocated in the arena");
    apply("compute_at acc y.ow");
    refused("scratch acc", "no `acc` is allocated in the arena");
    parse(
        "proc halo(x: f32[4] in, y: f32[4] out)\n  alloc t: f32[6] arena fill 0.0\n  for i<4\n    t[i+1] = x[i]\n  for "
        "i<4\n    y[i] = t[i] + t[i+2]\n");
    refused("scratch t", "no `t` is allocated in the arena, without a fill value");
    parse(
        "proc rows(x: f32[4,4] in, y: f32[4,4] out)\n  for r<4 parallel\n    alloc t: f32[4] arena\n    for i<4\n      "
        "t[i] = x[r,i]\n    for j<4\n      y[r,j] = t[3-j]\n");
    refused("scratch t", "each iteration of the parallel loop `r` has a `t` of its own");
}
Test(illegal, border_of_what_is_no_result) {
    small_conv();
    apply("layout x [0 1+1,1 2+1,1]");
    refused("border x", "`x` is no result");
    refused("border acc", "`acc` is no result");
    refused("border", "words missing");
}
Test(illegal, border_without_constant_width) {
    parse("proc b(x: f32[4] in, y: f32[N] out logical [4] map [d0+1]) [N in 6..9]\n  for i<4\n    y[i+1] = x[i]\n");
    refused("border y", "the border of dim 0 of `y` is not constant");
}
#define MAPS(body) "proc m(x: f32[4,4] in, w: f32[4,4] in, y: f32[4,4] out)\n" body
Test(illegal, over_of_what_does_not_fit) {
    parse(MAPS("  for i<4\n    for j<4\n      y[i,j] = x[i,j] + w[i,j]\n"));
    refused("over x y", "`x` is no result, or `y` no operand");
    refused("over y y", "`y` is no result, or `y` no operand");
    refused("over w x", "`w` is no result, or `x` no operand");
    refused("over y", "words missing");
    apply("layout x [1 0]");
    refused("over y x", "`y` and `x` differ in type or layout");
    parse("proc t(x: i32[4] in, y: f32[4] out)\n  for i<4\n    y[i] = f32(x[i])\n");
    refused("over y x", "`y` and `x` differ in type or layout");
}
Test(illegal, over_of_what_is_read_too_late) {
    parse(MAPS("  for i<4\n    for j<4\n      y[i,j] = x[j,i] + w[i,j]\n"));
    refused("over y x", "a cell of `x` may be read after `y` has overwritten it");
    parse(MAPS("  for i<4\n    for j<4\n      y[i,j] = w[i,j]\n  for i<4\n    for j<4\n      y[i,j] += x[i,j]\n"));
    refused("over y x", "a cell of `x` may be read after `y` has overwritten it");
    parse(MAPS("  for i<4\n    for j<3\n      y[i,j+1] = x[i,j]\n    y[i,0] = w[i,0]\n"));
    refused("over y x", "a cell of `x` may be read after `y` has overwritten it");
    parse(MAPS("  for i<4\n    for j<4\n      y[i,j] = x[i,j]\n  for i<4\n    for j<4\n      y[i,j] = sqrt(y[i,j])\n"));
    refused("over y x", "the kernel reads its result `y` itself");
}
#define CAT(body) "proc cat(x: f32[4] in, w: f32[4] in, y: f32[8] out)\n" body
Test(illegal, within_of_what_is_more_than_a_copy) {
    parse(CAT("  for i<4\n    y[i] = x[i]\n  for i<4\n    y[i+4] = w[i]\n"));
    refused("within x y", "`x` is no result, or `y` no operand");
    refused("within y", "words missing");
    parse(CAT("  for i<4\n    y[i] = x[i] * 2.0\n  for i<4\n    y[i+4] = w[i]\n"));
    refused("within y x", "`x` is not just copied to one place of `y`");
    parse(CAT("  for i<4\n    y[i] = x[3-i]\n  for i<4\n    y[i+4] = w[i]\n"));
    refused("within y x", "`x` is not just copied to one place of `y`");
    parse(CAT("  for i<3\n    y[i] = x[i]\n  for i<4\n    y[i+4] = w[i]\n"));
    refused("within y x", "`x` is not just copied to one place of `y`");
    parse(CAT("  for i<4\n    y[i] = x[i]\n  for i<4\n    y[i+4] = w[i] + x[i]\n"));
    refused("within y x", "`x` is not just copied to one place of `y`");
}
Test(illegal, within_a_place_that_others_write) {
    parse(CAT("  for i<4\n    y[i] = x[i]\n  for i<4\n    y[i+3] = w[i]\n"));
    refused("within y x", "more than the copy may store to the place of `x`");
}

Test(illegal, boxes_that_grow_with_the_loop) {
    parse(
        "proc tri(x: f32[N] in, y: f32[N] out) [N in 1..99999]\n  alloc t: f32[N] arena\n  for i<N  # t.i\n    t[i] = "
        "x[i]\n  for i<N  # y.i\n    y[i] = 0.0\n    for j<i+1\n      y[i] += t[j]\n");
    refused("compute_at t y.i", "what an iteration of `y.i` reads of `t` has no constant extent in dim 0");
}
Test(illegal, guards_inside_of_instructions_and_between_barriers) {
    parse("proc g(x: f32[7,4] in, y: f32[7,4] out)\n  for i<7\n    for v<4\n      y[i,v] = x[i,v]\n    barrier\n");
    refused("split i 2 io ii guard", "a guard cannot stand inside an instruction or between barriers");
}
Test(illegal, tensorize_of_a_real_row_that_no_nest_equals) {
    small_conv();
    refused("tensorize sdot", "no nest equals `sdot`");
    refused("tensorize", "words missing");
}
/* Its sums of two products fit 16 bits if no weight is -128. */
Test(illegal, tensorize_of_weights_that_may_be_too_large) {
    static const char *const nest = "  for v<4\n    for j<2\n      for k<2\n        C[v] += A[j,k] * B[j,v,k]\n",
                             *const within[] = {"", " within -128..0", " within -127..127", " within -5..6"};
    for (int k = 0; k < 4; k++) {
        parse(
            arena_printf(&c->arena, "proc p(C: i32[4] inout, A: i8[2,2] in, B: i8[2,4,2] in%s)\n%s", within[k], nest));
        if (k < 2) refused("tensorize smull_smlal_sadalp", "no nest equals `smull_smlal_sadalp`");
        else apply("tensorize smull_smlal_sadalp");
    }
}
/* Cells of any one type as wide, but none that become others. */
Test(illegal, tensorize_of_cells_that_are_not_moved_as_they_are) {
    static const char *const types[][2] = {{"u16", "u16"}, {"bf16", "bf16"}, {"i16", "i16"}, {"bf16", "f16"},
                                           {"i16", "u16"}, {"f16", "bf16"},  {"u8", "u8"},   {"i16", "i32"}};
    for (int k = 0; k < 8; k++) {
        parse(arena_printf(&c->arena,
                           "proc p(y: %s[8,8] out, x: %s[8,8] in)\n  for i<8\n    for j<8\n      y[j,i] = x[i,j]\n",
                           types[k][0], types[k][1]));
        if (k < 3) apply("tensorize transpose8_u16");
        else refused("tensorize transpose8_u16", "no nest equals `transpose8_u16`");
    }
}
Test(illegal, layout_of_too_many_dims) {
    small_conv();
    refused("layout x [0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2 0 1 2]", "more than 32 dims");
}

/* ---- the list is complete: each step of the table is refused somewhere above */
Test(illegal, every_step_has_a_case) {
    const char *root = getenv("GCC2NN_SOURCE_ROOT");
    cr_assert(root, "GCC2NN_SOURCE_ROOT is not set");
    char path[4096];
    snprintf(path, sizeof path, "%s/tests/unit/test_steps_illegal.c", root);
    FILE *f = fopen(path, "rb");
    cr_assert(f, "%s", path);
    char *text = calloc(1, 1 << 20);
    cr_assert(text && fread(text, 1, (1 << 20) - 1, f) > 0);
    fclose(f);
    for (const struct step_row *r = step_rows; r->name; r++) {
        char call[64];
        snprintf(call, sizeof call, "refused(\"%s ", r->name);
        cr_expect(strstr(text, call), "no illegal use of `%s` is tried", r->name);
    }
    free(text);
}
Test(illegal, reorder_of_more_loops_than_there_is_room_for) {
    struct text t = {0}, order = {0};
    text_add(&t, "proc deep(y: f32[1] out)\n");
    text_add(&order, "reorder");
    for (int k = 0; k < 65; k++) {
        text_printf(&t, "%*sfor i%d<1\n", 2 * k + 2, "", k);
        text_printf(&order, " i%d", 64 - k);
    }
    text_printf(&t, "%*sy[0] = 1.0\n", 2 * 65 + 2, "");
    parse(t.s);
    refused(order.s, "more than 64 loops");
    text_free(&t), text_free(&order);
}
Test(illegal, cache_write_of_what_reads_itself) {
    parse("proc inc(x: f32[4] inout)\n  for i<4  # x.i\n    x[i] = x[i] + 1.0\n");
    refused("cache_write x t", "the stage of `x` reads `x` itself");
}
Test(illegal, tensorize_with_rows_that_are_no_nests) {
    struct instr_row row = {.name = "broken", .body = "proc broken(C: f32[4] out\n", .holes = {{"C", F32, {1}}}};
    small_conv();
    cr_expect_not(tensorize_row(c, p, &row));
    cr_expect(strstr(diagnostics(), "the body of instruction `broken` cannot be read"), "%s", diagnostics());
    row.body = "proc two(C: f32[4] out)\n  for v<4\n    C[v] = 1.0\n  C[0] = 2.0\n";
    cr_expect_not(tensorize_row(c, p, &row));
    cr_expect(strstr(diagnostics(), "the body of instruction `broken` is not a perfect nest"), "%s", diagnostics());
}
/* ---- widen */
Test(illegal, widen_without_cells_for_it) {
    conv(I(6), I(5), I(5), I(6), 3, 1, false);
    refused("widen y.oc 0", "words missing");
    refused("widen y.oc 4", "`y` has no cells for the iterations that `y.oc` would gain");
    apply("layout y [0/4 1 2 0%4]");
    refused("widen y.oc 4", "`acc` has no cells for the iterations that `y.oc` would gain");
    refused("widen acc.oc 4", "`w` has no cells for the iterations that `acc.oc` would gain");
    refused("widen y.ow 4", "`y` has no cells for the iterations that `y.ow` would gain");
    apply("layout w [0/4 1/4 2 3 1%4 0%4]; layout b [0/4 0%4]");
    refused("widen acc.ic 4", "iterations that `acc.ic` would gain store to cells of `acc` that are in use");
}
Test(illegal, widen_too_late) {
    conv(I(6), I(5), I(5), I(6), 3, 1, false);
    apply("layout y [0/4 1 2 0%4]; layout w [0/4 1/4 2 3 1%4 0%4]; layout b [0/4 0%4]; layout acc [0/4 1 2 0%4]; kind "
          "unroll y.oc");
    refused("widen acc.oc 8", "has a layout");
    refused("widen y.oc 4", "is a unroll loop already");
}
Test(illegal, widen_of_a_size_of_the_run) {
    gemm_rm(sym("M", 1, 64), 4, 8);
    refused("widen y.m 4", "the extent of `y.m` is not constant");
}
Test(illegal, widen_around_a_condition) {
    parse("proc p(x: f32[8] in, y: f32[8] out)\n  for i<6  # y.i\n    if i < 3\n      y[i] = x[i]\n");
    refused("widen y.i 4", "there is an if in `y.i`");
}
Test(illegal, widen_where_the_end_is_read_as_fill) {
    parse("proc p(x: f32[6] in, y: f32[6] out)\n  alloc t: f32[6] arena\n  stage t[i<6] = x[i]\n  stage y[i<6] = t[i+1 "
          "else 0.0]\n");
    apply("layout x [0/4 0%4]");
    refused("widen t.i 4", "cells behind the end of `t` are read as its fill value");
}
Test(illegal, widen_beside_a_loop_that_never_runs) { /* which goes when expressions are mapped */
    parse(
        "proc p(x: f32[3,8] in, y: f32[3] out)\n  alloc t: f32[3,8] arena\n  for i<3  # t.i\n    for l<8\n      t[i,l] "
        "= 0.0\n  for i<3  # t.i\n    for l<8\n      for k<0\n        t[i,l] += x[i,l]\n  for i<3  # y.i\n    y[i] = "
        "t[i,0]\n");
    refused("widen t.i 4", "`x` has no cells for the iterations that `t.i` would gain");
}
/* ---- skip */
Test(illegal, skip_of_what_does_not_add_zeros) {
    parse(
        "proc p(x: f32[6] in, w: f32[6] in, y: f32[3] out)\n  for k<6  # y.k\n    y[0] += x[k+3] * w[k]\n"
        "  for l<6  # y.l\n    y[1] += x[l+3 else 1.0] * w[l]\n  for m<6  # y.m\n    y[2] += x[m+3 else 0.0] + w[m]\n");
    refused("skip y.k", "it is not known which iterations of `y.k` add nothing");
    refused("skip y.l", "it is not known which iterations of `y.l` add nothing");
    refused("skip y.m", "it is not known which iterations of `y.m` add nothing");
    parse("proc p(x: f32[6] in, w: f32[6] in, y: f32[6] out)\n  for k<6 vector  # y.k\n    y[k] = fma(x[k+3 else 0.0], "
          "w[k], y[k])\n");
    refused("skip y.k", "`y.k` is a vector loop");
}
/* ---- pad */
Test(illegal, pad_of_what_is_no_sum_of_products) {
    gemm_rm(I(5), 6, 7);
    refused("pad acc.k 0", "words missing");
    refused("pad y.m 8", "`y.m` is no axis of a sum that is the kernel's own");
    apply("kind unroll acc.m");
    refused("pad acc.m 8", "`acc.m` is a unroll loop already");
    parse("proc p(x: f32[6] in, w: f32[6] in, y: f32[1] out)\n  for i<1  # y.i\n    y[i] = 0.0\n  for i<1  # y.i\n    "
          "for k<6  # y.k\n      y[i] += x[k] + w[k]\n");
    refused("pad y.k 4", "what `y.k` adds to `y` behind the operands' ends is not a product of zeros");
}
Test(illegal, pad_of_an_operand_that_goes_on) {
    parse("proc p(x: f32[9] in, w: f32[6] in, y: f32[1] out)\n  for k<6  # y.k\n    y[0] += x[k+3] * w[k]\n");
    refused("pad y.k 4", "is not a product of zeros");
    parse("proc p(x: f32[9] in, y: f32[6] out)\n  alloc t: f32[6] arena\n  for i<6  # t.i\n    t[i] = x[i+3]\n  for "
          "i<6  # y.i\n    y[i] = t[i]\n");
    refused("pad t.i 4", "`x` has no cells for the iterations that `t.i` would gain");
}
/* The cells around x are there, but nothing is in them. */
Test(illegal, borders_that_hold_nothing_are_not_read) {
    static const char *const text =
        "proc p(x: f32[7] in, y: f32[7] out)\n  alloc t: f32[7] arena\n  for i<7  # t.i\n    t[i] = x[i]\n  for "
        "i<7  # y.i\n    y[i] = t[i]\n";
    parse(text);
    apply("layout x [0+1,1]");
    refused("pad t.i 8", "`x` has no cells for the iterations that `t.i` would gain");
    refused("widen t.i 8", "`x` has no cells for the iterations that `t.i` would gain");
    parse(text);
    apply("pad t.i 8");
    parse(
        "proc p(x: f32[9] in, y: f32[9] out)\n  alloc e: f32[9] arena\n  alloc t: f32[9] arena\n  for i<9  # e.i\n    "
        "e[i] = x[i]\n  for i<9  # t.i\n    t[i] = e[i]\n  for i<9  # y.i\n    y[i] = t[i]\n");
    apply("layout e [0/8 0%8]");
    refused("pad t.i 4", "`e` has no cells for the iterations that `t.i` would gain");
}
Test(illegal, pad_around_a_condition) {
    parse("proc p(x: f32[6] in, y: f32[6] out)\n  for i<6  # y.i\n    if i < 3\n      y[i] = x[i]\n");
    refused("pad y.i 4", "there is an if in `y.i`");
    parse(
        "proc p(x: f32[6,6] in, y: f32[6] out)\n  for i<6  # y.i\n    for j<i  # y.j\n      y[i] += x[i,j] * x[j,i]\n");
    refused("pad y.i 4", "the extent of `y.j` depends on `y.i`");
}
