/* Every step of every schedule: afterwards the procedure is valid and gives what the naive nests give. Integer data
 * must be equal in any case, real data bit for bit as long as no step reassociated. */
#include "step_kernels.h"

TestSuite(steps, .init = setup, .fini = teardown);
struct sizes {
    int64_t v[4];
};
static void same(const struct run *a, const struct run *b, bool bits, const char *after) {
    cr_assert_eq(a->n, b->n);
    for (int k = 0; k < a->n; k++) {
        cr_assert_eq(a->bytes[k], b->bytes[k]);
        if (bits || a->type[k] != F32) {
            cr_assert(!memcmp(a->out[k], b->out[k], a->bytes[k]), "%s: `%s` changed the result", p->name, after);
            continue;
        }
        const float *x = a->out[k], *y = b->out[k];
        for (size_t j = 0; j < a->bytes[k] / 4; j++)
            cr_assert(fabsf(x[j] - y[j]) <= 1e-4f * (1 + fabsf(x[j])), "%s: `%s`: cell %zu is %g, was %g", p->name,
                      after, j, (double)y[j], (double)x[j]);
    }
}
/* Applies the schedule line by line, runs for each tuple of sizes (nsizes 0: none) after each step. Returns the steps.
 */
static int check_sizes(const char *schedule, const struct sizes *sizes, int nsizes) {
    struct run whole[4], real[4];
    bool exact = true;
    int n = 0, runs = nsizes ? nsizes : 1;
    static const struct sizes none;
    if (!nsizes) sizes = &none;
    for (int k = 0; k < runs; k++) {
        whole[k] = run(sizes[k].v, false, "lowering");
        real[k] = run(sizes[k].v, true, "lowering");
    }
    char *text = strdup(schedule);
    for (char *line = text, *end; line; line = end) {
        end = strchr(line, ';');
        if (end) *end++ = 0;
        while (*line == ' ') line++;
        if (!*line) continue;
        enum step_effect e = step_effect_of(c, p, line);
        cr_assert_neq(e, STEP_REFUSED, "%s: %s", p->name, diagnostics());
        exact &= e == STEP_EXACT;
        cr_assert(proc_verify(m, p, line), "%s: %s", p->name, diagnostics());
        for (int k = 0; k < runs; k++) {
            struct run now = run(sizes[k].v, false, line), then = run(sizes[k].v, true, line);
            same(&whole[k], &now, true, line);
            same(&real[k], &then, exact, line);
            run_free(&now), run_free(&then);
        }
        n++;
    }
    for (int k = 0; k < runs; k++) run_free(&whole[k]), run_free(&real[k]);
    free(text);
    return n;
}
static void check(const char *schedule) { check_sizes(schedule, NULL, 0); }

#define CONV_3x3                                                                                                       \
    "layout x [0/4 1+1,1 2+1,1 0%4]; layout w [0/4 1/4 2 3 1%4 0%4]; layout y [0/4 1 2 0%4]; split y.oc 4 oc oci; "    \
    "split oci 4 oj ov;"                                                                                               \
    "reorder oc y.oh y.ow oj ov; split y.ow 2 wo wi;"
#define CONV_TILE                                                                                                      \
    "compute_at acc wo; layout acc [0/4 1 2 0%4]; split acc.oc 4 aj av; split acc.ic 4 icb c; split c 2 co cu;"        \
    "reorder icb acc.kh acc.kw co cu acc.oh acc.ow aj av; kind unroll wi oj cu acc.oh acc.ow aj; kind vector ov av; "  \
    "outline wo"
Test(steps, conv_3x3_with_a_rest_of_the_row) {
    conv(I(8), I(5), I(5), I(8), 3, 1, false);
    check(CONV_3x3 CONV_TILE);
}
Test(steps, conv_rows_outside) {
    conv(I(4), I(4), I(4), I(8), 3, 1, false);
    check(CONV_3x3 "split y.oh 2 t oh; reorder t oc;" CONV_TILE);
}
Test(steps, conv_stride_2) {
    conv(I(4), I(6), I(6), I(8), 3, 2, false);
    check(CONV_3x3 CONV_TILE);
}
Test(steps, conv_parallel_panels) {
    conv(I(4), I(4), I(4), I(8), 3, 1, false);
    check("kind parallel y.oc; " CONV_3x3 CONV_TILE);
}
Test(steps, conv_with_fma) {
    conv(I(4), I(4), I(4), I(8), 3, 1, true);
    use_fma(c, p);
    check("layout r [0/4 1 2 0%4];" CONV_3x3 CONV_TILE);
}
Test(steps, conv_two_rows_in_a_tile) {
    conv(I(4), I(3), I(3), I(4), 3, 1, false);
    check(
        "layout x [0/4 1+1,1 2+1,1 0%4]; layout w [0/4 1/4 2 3 1%4 0%4]; layout y [0/4 1 2 0%4]; split y.oc 4 oc oci; "
        "split oci 4 oj ov;"
        "fuse y.oh y.ow px; fuse acc.oh acc.ow acc.px; layout acc [0 1*2]; reorder oc px oj ov; split px po pi "
        "sizes=[6 3];"
        "compute_at acc po; layout acc [0/4 1 0%4]; split acc.oc 4 aj av; split acc.ic 4 icb c; split c 2 co cu;"
        "reorder icb acc.kh acc.kw co cu acc.px aj av; kind unroll pi oj cu acc.px aj; kind vector ov av; outline po");
}
#define GEMM_KC(kc_cuts)                                                                                               \
    "layout x [0/4 1+0,0 2+0,0 0%4]; layout w [1/4 0/4 1/%4,1 2 3 1%4 0%4]; layout y [0/4 1 2 0%4]; split y.oc 4 oc "  \
    "oci; split oci 4 oj ov;"                                                                                          \
    "fuse y.oh y.ow px; fuse acc.oh acc.ow acc.px; layout acc [0 1*2]; reorder oc px oj ov; split px po pi sizes=[3 "  \
    "2];"                                                                                                              \
    "compute_at acc po; layout acc [0/4 1 0%4]; split acc.oc 4 aj av; split acc.ic 4 icb c; split c 2 co cu;"          \
    "reorder icb acc.kh acc.kw co cu acc.px aj av; split icb 1 kc icb2; carry kc oc acc; " kc_cuts                     \
    "kind unroll pi oj cu acc.px aj; kind vector ov av; prefetch w 64 co oc [po icb2 co]; outline po"
Test(steps, gemm_in_blocks_of_k) {
    conv(I(12), I(1), I(5), I(8), 1, 1, false);
    check(GEMM_KC("cut kc 1; cut kc -1;"));
}
Test(steps, gemm_in_blocks_of_k_with_fma_and_residual) {
    conv(I(12), I(1), I(5), I(8), 1, 1, true);
    use_fma(c, p);
    check("layout r [0/4 1 2 0%4];" GEMM_KC(""));
}
Test(steps, depthwise) {
    dwconv(8, 5);
    check("layout x [0/4 1+1,1 2+1,1 0%4]; layout w [0/4 1 2 0%4]; layout y [0/4 1 2 0%4]; cache_read w wr acc; "
          "cache_read b br acc;"
          "split y.c 4 cb cv; reorder cb y.oh y.ow cv; split y.ow 2 wo wi; compute_at acc wo; reorder acc.kh acc.kw "
          "acc.oh acc.ow acc.c;"
          "compute_at wr cb; compute_at br cb; kind unroll wi acc.kh acc.kw acc.oh acc.ow wr.d0 wr.d1 wr.d2;"
          "reorder wr.d0 wr.d1 wr.d2 wr.d3; layout acc [1 2 0]; reorder acc.oh acc.ow acc.c; kind vector cv acc.c "
          "wr.d3 br.d0; outline cb");
}
#define WINO(ex, tail, tr, sizes, qi)                                                                                  \
    "layout x [0/4 1+1," ex " 2+1," ex                                                                                 \
    " 0%4]; layout y [0/4 1 2 0%4]; layout u [0 1 3/4 2 3%4]; cache_write M m; cache_write V v;"                       \
    "split y.oc 4 ob ov; split y.oh 4 th i " tail "; split y.ow 4 tw j " tail "; split th " tr                         \
    " g tr; reorder g ob tr tw i j ov;"                                                                                \
    "compute_at O tw; compute_at Z tw; layout O [0 1 3 4 2]; layout Z [0 1 3 4 2]; reorder O.i O.j O.b O.th O.tw "     \
    "O.oc;"                                                                                                            \
    "reorder Z.i Z.b Z.a Z.th Z.tw Z.oc; kind unroll O.i O.j O.b Z.i Z.b Z.a i j; compute_at M g arena;"               \
    "fuse M.th M.tw M.t; layout M [0 1 2 3*4]; fuse m.th m.tw m.t; layout m [0 1 2 3*4]; split M.oc 4 q qi; split qi " \
    "4 qj qv;"                                                                                                         \
    "reorder M.a M.b q M.t qj qv; split M.t to ti sizes=[" sizes                                                       \
    "]; compute_at m to; layout m [0 1 2/4 3 2%4]; split m.oc 4 mj mv;"                                                \
    "split m.ic 4 mb mc; split mc 2 mo mu; reorder m.a m.b mb mo mu m.t mj mv; kind unroll ti qj mu m.t mj;"           \
    "compute_at V g arena; split V.ic 4 Vb Vv; reorder Vb V.th V.tw V.a V.b Vv; compute_at v V.tw; compute_at T V.tw;" \
    "layout v [0 1 3 4 2]; layout T [0 1 3 4 2]; reorder v.a v.b v.j v.th v.tw v.ic; reorder T.j T.a T.i T.th T.tw "   \
    "T.ic;"                                                                                                            \
    "kind unroll V.a V.b v.a v.b v.j T.a T.j T.i; layout M [0 1 2/4 3 2%4] pad 2:4;"                                   \
    "layout V [0 1 2/4 3*4 2%4] pad 2:4; kind vector O.oc Z.oc ov qv mv Vv v.ic T.ic; outline to; outline tw; "        \
    "outline V.tw"
Test(steps, winograd) {
    wino(4, 8, 4);
    check(WINO("1", "cut", "1", "2", ));
}
Test(steps, winograd_with_guarded_tiles) {
    wino(4, 6, 4);
    check(WINO("3", "guard", "2", "4", ));
}
#define STEM(ring)                                                                                                     \
    "layout x [0 1+3,3 2+3,5]; layout w [0/4 1 2 3 0%4]; layout y [0/4 1 2 0%4]; split y.oc 4 cb cv; reorder y.ph cb " \
    "y.pw cv;"                                                                                                         \
    "compute_at m y.pw; reorder m.i m.j m.ph m.pw m.oc; compute_at s y.ph arena roll=1; layout s [0/4 1%%" ring        \
    " 2 0%4];"                                                                                                         \
    "split s.oc 4 so si; split si 4 sj sv; reorder so s.oh s.ow sj sv; split s.ow 3 wo wi; compute_at acc wo;"         \
    "layout acc [0/4 1 2 0%4]; split acc.oc 4 aj av; reorder acc.ic acc.kh acc.kw acc.oh acc.ow aj av;"                \
    "kind unroll wi sj acc.kw acc.oh acc.ow aj m.i m.j m.ph m.pw; layout m [1 2 0]; kind vector cv sv av m.oc; "       \
    "outline wo"
Test(steps, stem_and_pool_through_a_ring_of_4) {
    stem_pool(12, 8);
    check(STEM("4"));
}
Test(steps, stem_and_pool_through_a_ring_of_3) {
    stem_pool(12, 8);
    check(STEM("3"));
}
Test(steps, stem_and_pool_of_odd_height) {
    stem_pool(13, 4);
    check(STEM("4"));
}
#define SOFTMAX                                                                                                        \
    "rfactor m m.d 4 mv; rfactor s s.d 4 sv; split y.d 4 do dv; compute_at inv y.r; compute_at s y.r; compute_at sv "  \
    "y.r;"                                                                                                             \
    "compute_at e y.r stack; compute_at m y.r; compute_at mv y.r; split e.d 4 e.k el; reorder sv.k sv.r sv.lane; "     \
    "reorder e.k e.r el;"                                                                                              \
    "reorder mv.k mv.r mv.lane; layout sv [0 1]; layout mv [0 1]; layout e [0 1]; split el 4 elu el_; kind unroll "    \
    "elu; kind vector el_;"                                                                                            \
    "split sv.lane 4 sv.laneu svl_; kind unroll sv.laneu; kind vector svl_; split mv.lane 4 mv.laneu mvl_; kind "      \
    "unroll mv.laneu;"                                                                                                 \
    "kind vector mvl_; split s.lane 4 s.laneu sl_; kind unroll s.laneu; kind vector sl_; split m.lane 4 m.laneu ml_;"  \
    "kind unroll m.laneu; kind vector ml_; layout sv [1/4 1%4]; layout mv [1/4 1%4]; join e.k sv.k; kind vector dv;"
/* Three layers row by row: the expanded rows wait in a ring of three, each row is filtered and projected at once. */
Test(steps, row_fused_expand_depthwise_project) {
    static const char text[] =
        "proc block(x: f32[8,7,9] in, we: f32[16,8] in, be: f32[16] in, wd: f32[16,3,3] in, bd: f32[16] in, wp: "
        "f32[8,16] in, bp: f32[8] in, y: f32[8,7,9] out)\n"
        "  alloc ea: f32[16,7,9] arena\n  alloc e: f32[16,7,9] arena\n  alloc da: f32[16,7,9] arena\n"
        "  alloc d: f32[16,7,9] arena\n  alloc pa: f32[8,7,9] arena\n"
        "  stage ea[c<16, h<7, w<9] reduce + [k<8] init be[c] = x[k,h,w] * we[c,k]\n"
        "  stage e[c<16, h<7, w<9] = min(max(ea[c,h,w], 0.0), 6.0)\n"
        "  stage da[c<16, h<7, w<9] reduce + [i<3, j<3] init bd[c] = e[c,h+i-1,w+j-1 else 0.0] * wd[c,i,j]\n"
        "  stage d[c<16, h<7, w<9] = min(max(da[c,h,w], 0.0), 6.0)\n"
        "  stage pa[o<8, h<7, w<9] reduce + [c<16] init bp[o] = d[c,h,w] * wp[o,c]\n"
        "  stage y[o<8, h<7, w<9] = pa[o,h,w] + x[o,h,w]\n";
    m = loop_parse(c, text, sizeof text - 1, "test");
    cr_assert(m, "%s", diagnostics());
    p = m->procs.v[0];
    check(
        "layout x [0/4 1 2 0%4]; layout y [0/4 1 2 0%4]; layout we [0/4 1 0%4]; layout wd [0/4 1 2 0%4]; layout wp "
        "[0/4 "
        "1 0%4]; split y.o 4 yo yv; reorder y.h yo y.w yv; split y.w 4 wo wi cut; compute_at pa wo; layout pa [1 2 0]; "
        "reorder pa.c pa.h pa.w pa.o; compute_at d y.h stack; layout d [0/4 1 2 0%4]; split d.c 4 dc dv; reorder dc "
        "d.h d.w dv; split d.w 4 dwo dwi cut; compute_at da dwo; layout da [1 2 0]; reorder da.i da.j da.h da.w da.c; "
        "compute_at e y.h arena roll=1; layout e [0/4 1%%3 2 0%4]; split e.c 4 ec ev; reorder ec e.h e.w ev; split e.w "
        "4 ewo ewi cut; compute_at ea ewo; layout ea [1 2 0]; reorder ea.k ea.h ea.w ea.c; kind unroll wi dwi ewi pa.w "
        "da.w ea.w da.i da.j pa.h da.h ea.h d.h e.h; kind vector yv dv ev pa.o da.c ea.c");
}
Test(steps, softmax) {
    softmax(2, 16);
    check(SOFTMAX);
}
Test(steps, softmax_row_in_registers) {
    softmax(2, 16);
    check(SOFTMAX "kind unroll e.k mv.k do; layout e [0 1/4 1%4] scope=reg");
}
Test(steps, layernorm) {
    layernorm(2, 16);
    check(
        "rfactor s s.d 8 sv; rfactor q q.d 8 qv; split y.d 4 do dv; compute_at is y.r; compute_at q y.r; compute_at qv "
        "y.r;"
        "compute_at mu y.r; compute_at s y.r; compute_at sv y.r; reorder sv.k sv.r sv.lane; reorder qv.k qv.r qv.lane;"
        "split sv.lane 4 sv.laneu sv.lanev; kind unroll sv.laneu; kind vector sv.lanev; split qv.lane 4 qv.laneu "
        "qv.lanev;"
        "kind unroll qv.laneu; kind vector qv.lanev; split s.lane 4 s.laneu s.lanev; kind unroll s.laneu; kind vector "
        "s.lanev;"
        "split q.lane 4 q.laneu q.lanev; kind unroll q.laneu; kind vector q.lanev; layout sv [1/4 1%4]; layout qv [1/4 "
        "1%4];"
        "kind vector dv");
}
Test(steps, softmax_of_rows_with_a_rest) {
    softmax(2, 11);
    check("rfactor m m.d 4 mv; rfactor s s.d 4 sv; split y.d 4 do dv cut2; compute_at inv y.r; compute_at s y.r; "
          "compute_at sv y.r; compute_at e y.r stack; compute_at m y.r; compute_at mv y.r; split e.d 4 ek el cut2; "
          "reorder sv.k sv.r sv.lane; reorder mv.k mv.r mv.lane; kind vector dv el sv.lane mv.lane s.lane m.lane");
}
Test(steps, rfactor_twice) {
    softmax(2, 19);
    check("rfactor s s.d 8 sv; rfactor s s.lane 4 sw; compute_at inv y.r; compute_at s y.r; compute_at sw y.r; "
          "compute_at sv y.r; reorder sw.k sw.r sw.lane; reorder sv.k sv.r sv.lane; kind vector sw.lane s.lane");
}
#define GEMM_RM(split_m)                                                                                               \
    "layout w [1/4 0 1%4]; split y.n 4 no ni; split ni 4 nj nv; reorder no y.m nj nv;" split_m                         \
    "compute_at acc mo; layout acc [0 1/4 1%4]; split acc.n 4 aj av; split acc.k 4 ko ku; reorder ko ku acc.m aj av;"  \
    "kind unroll mi nj ku acc.m aj; kind vector nv av; outline mo"
static const struct sizes ms[] = {{{1}}, {{5}}, {{7}}};
Test(steps, symbolic_rows_in_powers_of_two) {
    gemm_rm(sym("M", 1, 64), 4, 8);
    check_sizes(GEMM_RM("split y.m 3 mo mi cut2;"), ms, 3);
}
Test(steps, symbolic_rows_guarded) {
    gemm_rm(sym("M", 0, 64), 4, 4);
    check_sizes(GEMM_RM("split y.m 3 mo mi guard;"), ms, 3);
}
Test(steps, symbolic_rows_overlapping_when_large) {
    gemm_rm(sym("M", 1, 64), 4, 4);
    check_sizes(GEMM_RM("specialize y.m 2<M few; split few.y.m 3 mo mi cut2; split y.m 3 mo mi overlap;"), ms, 3);
}
Test(steps, last_tile_of_whole_pieces_begins_early) { /* 4 and 4; 4, 2 and 2 */
    gemm_rm(I(7), 4, 8);
    check(GEMM_RM("split y.m 4 mo mi overlap pieces=2;"));
}
Test(steps, pieces_where_not_all_of_the_last_tile_would_fit) {
    gemm_rm(I(3), 4, 8);
    check(GEMM_RM("split y.m 4 mo mi overlap pieces=2;"));
}
Test(steps, symbolic_rows_in_pieces_of_which_the_last_is_early) {
    static const struct sizes sizes[] = {{{2}}, {{3}}, {{8}}, {{15}}};
    gemm_rm(sym("M", 2, 64), 4, 8);
    check_sizes(GEMM_RM("split y.m 8 mo mi overlap pieces=2;"), sizes, 4);
}
Test(steps, one_symbolic_row_beside_wide_tiles) {
    gemm_rm(sym("M", 0, 64), 4, 16);
    check_sizes(
        "layout w [1/4 0 1%4]; reorder y.n y.m; specialize y.n 1<#y.m one; split y.n 4 no ni; reorder no y.m ni;"
        "split y.m 3 mo mi cut2; split one.y.n 8 one.no ni; reorder one.no one.y.m ni; split one.y.m 1 mo mi;"
        "split ni 4 nj nv; compute_at acc mo; layout acc [0 1/4 1%4]; split acc.n 4 aj av; split acc.k 4 ko ku;"
        "reorder ko ku acc.m aj av; kind unroll mi nj ku acc.m aj; kind vector nv av",
        ms, 3);
}
Test(steps, symbolic_image) {
    static const struct sizes hw[] = {{{2, 4}}, {{1, 3}}, {{3, 7}}};
    expr H = sym("H", 1, 100), W = sym("W", 3, 100);
    conv(I(4), H, W, I(4), 3, 1, false);
    check_sizes(
        "layout x [0/4 1+1,1 2+1,1 0%4]; layout w [0/4 1/4 2 3 1%4 0%4]; layout y [0/4 1 2 0%4]; split y.oc 4 oc oci;"
        "split oci 4 oj ov; reorder oc y.oh y.ow oj ov; split y.ow 3 wo wi cut2;" CONV_TILE,
        hw, 3);
}
#define CUDA(pipe)                                                                                                     \
    "split y.m 8 y.bm y.m1; split y.m1 8 y.mo y.m2; split y.m2 4 y.tm y.m4; split y.n 8 y.bn y.n1; split y.n1 8 y.no " \
    "y.n2;"                                                                                                            \
    "split y.n2 4 y.tn y.n4; reorder y.bm y.bn y.tm y.tn y.mo y.m4 y.no y.n4; compute_at acc y.bn; split acc.m 8 "     \
    "acc.bm acc.m1;"                                                                                                   \
    "split acc.m1 8 acc.mo acc.m2; split acc.m2 4 acc.tm acc.m4; split acc.n 8 acc.bn acc.n1; split acc.n1 8 acc.no "  \
    "acc.n2;"                                                                                                          \
    "split acc.n2 4 acc.tn acc.n4; split acc.k 4 ko ki; reorder ko acc.bm acc.bn acc.tm acc.tn ki acc.mo acc.m4 "      \
    "acc.no acc.n4;"                                                                                                   \
    "layout acc [0/%8,1 0/%4,2 0%4 1/%8,1 1/%4,2 1%4]; cache_read x xs acc; cache_read w ws acc; compute_at xs ko "    \
    "shared;"                                                                                                          \
    "compute_at ws ko shared; fuse xs.d0 xs.d1 xf; split xf 16 xo xq; split xq 8 xty xr; split xr 4 xtx x4; fuse "     \
    "ws.d0 ws.d1 wf;"                                                                                                  \
    "split wf 16 wo wq; split wq 8 wty wr; split wr 4 wtx w4; reorder xty xtx xo x4; reorder wty wtx wo w4; layout "   \
    "xs [1 0] pad 1:4;"                                                                                                \
    "kind unroll xo wo acc.mo acc.m4 acc.no acc.n4 y.mo y.m4 y.no ki; kind vector w4 y.n4; kind gpu.block.y y.bm;"     \
    "kind gpu.block.x y.bn; kind gpu.thread.y y.tm acc.tm xty wty; kind gpu.thread.x y.tn acc.tn xtx wtx;" pipe
Test(steps, cuda_sgemm) {
    gemm_rm(I(16), 8, 16);
    check(CUDA("pipeline ko [xs ws]"));
}

/* ---- instructions: the nest stays inside as the meaning, so the interpreter goes on checking */
static const struct instr_row dot4 = {
    .name = "dot4",
    .body =
        "proc dot4(C: i32[4] inout, A: u8[4] in, B: i8[4,4] in)\n  for v<4\n    for k<4\n      C[v] += A[k] * B[v,k]\n",
    .holes = {{"C", I32, {1, 0}}, {"A", U8, {0, 1}}, {"B", I8, {4, 1}}},
};
static const struct instr_row clip4 = {
    .name = "clip4",
    .body = "proc clip4(C: i32[4] out, A: i32[4] in)\n  for v<4\n    C[v] = max(A[v], -100)\n",
    .holes = {{"C", I32, {1}}, {"A", I32, {1}}},
};
static int instructions(struct block *b) {
    int n = 0;
    for (struct stmt *t = b->first; t; t = t->next) {
        struct block *sub[2];
        n += t->kind == S_INSTR;
        for (int k = 0, blocks = stmt_blocks(t, sub); k < blocks; k++) n += instructions(sub[k]);
    }
    return n;
}
#define QGEMM                                                                                                          \
    "layout w [0/8 1/4 0%8 1%4]; layout x [0 1] pad 1:4; split y.n 8 no ni; split ni 4 nj nv; reorder no y.m nj nv; "  \
    "split y.m 3 mo mi;"                                                                                               \
    "compute_at acc mo; layout acc [0 1/4 1%4]; split acc.n 4 aj av; split acc.k 4 kb k4;"
Test(steps, int8_gemm_with_instructions) {
    qgemm(4, 8, 16);
    check(QGEMM "reorder kb acc.m aj av k4");
    struct run before = run(NULL, false, "reorder");
    cr_assert(tensorize_row(c, p, &dot4), "%s", diagnostics());
    cr_assert_eq(instructions(&p->body), 2, "main and remainder tile");
    cr_assert(tensorize_row(c, p, &clip4), "%s", diagnostics());
    cr_assert_eq(instructions(&p->body), 4);
    check("kind unroll mi nj acc.m aj; outline mo"); /* what is in an instruction is no loop for steps */
    cr_assert(proc_verify(m, p, "tensorize"), "%s", diagnostics());
    struct run after = run(NULL, false, "tensorize");
    same(&before, &after, true, "tensorize");
    run_free(&before), run_free(&after);
}
Test(steps, instructions_that_do_not_fit) {
    qgemm(4, 8, 16);
    check(QGEMM);
    cr_assert_not(tensorize_row(c, p, &dot4), "k4 is not inside of av");
    check("reorder kb acc.m aj av k4");
    struct instr_row other = dot4;
    other.body =
        "proc wide(C: i32[4] inout, A: u8[4] in, B: i8[4,8] in)\n  for v<4\n    for k<4\n      C[v] += A[k] * B[v,k]\n";
    cr_assert_not(tensorize_row(c, p, &other), "stride");
    other = dot4;
    other.holes[1].type = I8;
    cr_assert_not(tensorize_row(c, p, &other), "type");
    other.body = "proc max4(C: i32[4] inout, A: u8[4] in, B: i8[4,4] in)\n  for v<4\n    for k<4\n      C[v] max= A[k] "
                 "* B[v,k]\n";
    cr_assert_not(tensorize_row(c, p, &other), "update");
    cr_assert(strstr(c->diags.v[0].message, "no nest equals `dot4`"), "%s", diagnostics());
    cr_assert_eq(instructions(&p->body), 0);
}
/* ---- prefetch */
/* How often each line of w is touched in a run. */
static void touch(const int64_t *syms, int *lines) {
    FILE *trace = tmpfile();
    struct eval_arg args[4] = {0};
    struct eval_options o = {.trace_prefetch = trace};
    char line[100];
    for (int k = 0; k < 3; k++) fill_arg(p->params.v[k].buf, &args[k], syms, true);
    cr_assert_eq(loop_eval(m, p, args, syms, &o).status, EVAL_OK);
    for (rewind(trace); fgets(line, sizeof line, trace);) {
        int off;
        cr_assert_eq(sscanf(line, "w+%d", &off), 1);
        cr_assert(off % 16 == 0 && off >= 256 && off < 16 * 64, "%s", line);
        lines[off / 16]++;
    }
    fclose(trace);
    for (int k = 0; k < 4; k++) free(args[k].data);
}
/* During panel 0 each line of panel 1 once, shared by the pieces of the tile loop. */
Test(steps, prefetch_touches_the_next_panel_once) {
    gemm_rm(I(5), 64, 8);
    check("layout w [1/4 0 1%4]; split y.n 4 no ni; reorder no y.m ni; split y.m 3 mo mi; compute_at acc mo; split "
          "acc.k 8 ko ki;"
          "reorder ko ki acc.m acc.n; prefetch w 64 ko no [mo ko]");
    int touched[64] = {0};
    touch(NULL, touched);
    for (int k = 16; k < 64; k++) cr_assert_eq(touched[k], k < 48, "line %d: %d times", k, touched[k]);
}
/* So it is for as many rows as were said to be typical. A single one has a nest of its own, without such a loop. */
Test(steps, prefetch_counts_with_typical_rows) {
    struct sym rows = *sym_new(c, "M", 0, 64, false);
    rows.ref = 5;
    PUSH(&c->arena, &p->syms, &rows);
    gemm_rm(x_sym(c, &rows), 64, 8);
    check_sizes(
        "layout w [1/4 0 1%4]; reorder y.n y.m; specialize y.n 1<#y.m one; split y.n 4 no ni; reorder no y.m ni;"
        "split y.m 3 mo mi cut2; split one.y.n 8 one.no ni; reorder one.no one.y.m ni; split one.y.m 1 mo mi;"
        "compute_at acc mo; split acc.k 8 ko ki; reorder ko ki acc.m acc.n; prefetch w 64 ko no [mo ko]",
        ms, 3);
    int one[64] = {0}, typical[64] = {0}, many[64] = {0};
    touch((const int64_t[]){1}, one);
    touch((const int64_t[]){5}, typical);
    touch((const int64_t[]){6}, many);
    for (int k = 16; k < 64; k++) {
        cr_assert_eq(one[k], 0);
        cr_assert_eq(typical[k], k < 48, "line %d: %d times", k, typical[k]);
        cr_assert_geq(many[k], k < 32, "line %d", k);
    }
}
/* Of 2^60 turns, with 16 cells in a line, each would share lines with none. */
Test(steps, prefetch_refuses_more_turns_than_memory_has_lines) {
    struct sym rows = *sym_new(c, "M", 0, INT64_C(3) << 60, false);
    rows.ref = rows.hi;
    PUSH(&c->arena, &p->syms, &rows);
    gemm_rm(x_sym(c, &rows), 64, 8);
    check_sizes("layout w [1/4 0 1%4]; split y.n 4 no ni; reorder no y.m ni; split y.m 3 mo mi cut2; compute_at acc mo",
                ms, 3);
    cr_assert_eq(step_effect_of(c, p, "prefetch w 64 mo no [mo]"), STEP_REFUSED);
}
/* ---- steps that the schedules above leave out */
Test(steps, inline_into_readers_with_padding_and_narrow_storage) {
    static const char text[] =
        "proc f(x: f32[8] in, y: f32[8] out)\n  alloc t: f16[8] arena\n  stage t[i<8] = x[i] * 0.3\n"
        "  stage y[i<8] = t[i-1 else 7.0] + t[7-i]\n";
    m = loop_parse(c, text, sizeof text - 1, "test");
    cr_assert(m, "%s", diagnostics());
    p = m->procs.v[0];
    check("inline t; split y.i 3 a b");
}
Test(steps, gemm_carry_with_run_time_rows) {
    gemm_rm(sym("M", 1, 64), 8, 8);
    check_sizes("layout w [1/4 0 1%4]; split y.n 4 no ni; reorder no y.m ni; split y.m 3 mo mi cut2; compute_at acc "
                "mo; split acc.k 4 kc ki;"
                "reorder kc ki acc.m acc.n; carry kc no acc; cut kc 1; kind vector ni",
                ms, 3);
}
Test(steps, parallel_rows_of_run_time_count) {
    gemm_rm(sym("M", 0, 64), 4, 8);
    check_sizes("kind parallel y.m; split y.m 3 mo mi guard; compute_at acc mo; reorder acc.k acc.m acc.n", ms, 3);
}
/* Pad lanes: what the last block of channels has behind them holds NaN in operands, and reaches no cell of the result.
 */
Test(steps, channels_that_do_not_fill_their_last_block) {
    conv(I(6), I(4), I(5), I(7), 3, 1, true);
    check(
        "layout x [0/4 1+1,1 2+1,1 0%4]; layout w [0/8 1/4 2 3 1%4 0%8]; layout b [0/4 0%4]; layout r [0/4 1 2 0%4]; "
        "layout y [0/4 1 2 0%4]; widen acc.oc 4; widen y.oc 4; split y.oc 8 oc oci; split oci 4 oj ov; reorder oc y.oh "
        "y.ow oj ov; split y.ow 2 wo wi cut; compute_at acc wo; layout acc [0/4 1 2 0%4]; reorder acc.ic acc.kh acc.kw "
        "acc.oh acc.ow acc.oc; split acc.oc 4 aj av; split acc.ic 4 icb c cut; reorder icb acc.kh acc.kw c acc.oh "
        "acc.ow aj av; kind unroll wi oj acc.oh acc.ow aj; kind vector ov av; border y");
}
/* Where no layout gives an operand pad lanes, but it is one value a channel: behind the last one stands 0. */
Test(steps, plain_values_of_channels_that_do_not_fill_their_last_block) {
    conv(I(6), I(4), I(5), I(7), 3, 1, true);
    check(
        "layout x [0/4 1+1,1 2+1,1 0%4]; layout w [0/4 1/4 2 3 1%4 0%4]; layout r [0/4 1 2 0%4]; layout y [0/4 1 2 "
        "0%4]; widen acc.oc 4; widen y.oc 4; split y.oc 4 oc oj; reorder oc y.oh y.ow oj; compute_at acc y.ow; layout "
        "acc [0/4 1 2 0%4]; reorder acc.ic acc.kh acc.kw acc.oh acc.ow acc.oc; kind vector oj acc.oc; border y");
}
Test(steps, depthwise_channels_that_do_not_fill_their_last_block) {
    dwconv(6, 5);
    check(
        "layout x [0/4 1+1,1 2+1,1 0%4]; layout w [0/4 1 2 0%4]; layout b [0/4 0%4]; layout y [0/4 1+1,1 2 0%4]; widen "
        "acc.c 4; widen y.c 4; split y.c 4 cb cv; reorder cb y.oh y.ow cv; split y.ow 2 wo wi cut; compute_at acc wo; "
        "layout acc [1 2 0]; reorder acc.kh acc.kw acc.oh acc.ow acc.c; kind unroll wi acc.kh acc.kw acc.oh acc.ow; "
        "kind vector cv acc.c; border y");
}
/* The greatest or least of bytes and halves is rounded where it is copied to, and not before; what wraps stays. */
static void accumulates(const char *text, const char *accumulator, const char *schedule) {
    m = loop_parse(c, text, strlen(text), "test");
    cr_assert(m, "%s", diagnostics());
    p = m->procs.v[0];
    check(schedule);
    struct text t = {0};
    proc_print(&t, c, p);
    cr_expect(strstr(t.s, accumulator), "%s", t.s);
    text_free(&t);
}
#define MOST(x, y, op, value)                                                                                          \
    "proc f(x: " x "[3,21] in, y: " y "[3] out)\n  stage y[i<3] reduce " op " [k<21] = " value "\n"
Test(steps, the_greatest_is_rounded_once) {
    static const char rows[] = "cache_write y acc; rfactor acc acc.k 4 part; compute_at acc y.i; compute_at part y.i";
    accumulates(MOST("i8", "i8", "max", "x[i,k]"), "alloc acc: i32[", rows);
    accumulates(MOST("u16", "u16", "min", "x[i,k]"), "alloc acc: i32[", rows);
    accumulates(MOST("f32", "f16", "min", "x[i,k] * 0.3"), "alloc acc: f32[", rows);
    accumulates(MOST("i32", "i8", "max", "x[i,k]"), "alloc acc: i8[", "cache_write y acc; compute_at acc y.i");
    accumulates(MOST("i8", "i8", "+", "x[i,k]"), "alloc acc: i8[", "cache_write y acc; compute_at acc y.i");
    accumulates(MOST("f16", "f16", "+", "x[i,k]"), "alloc acc: f16[", "cache_write y acc; compute_at acc y.i");
}
Test(steps, rows_of_channels_with_pad_lanes) {
    softmax(3, 6);
    check("layout x [0 1/4 1%4]; layout y [0 1/4 1%4]; border y");
}
Test(steps, a_fill_value_where_pad_lanes_lie) {
    static const char text[] =
        "proc f(x: f32[6] in, y: f32[10] out)\n  stage y[i<10] = x[i-2 else 7.0] + x[i else 1.0]\n";
    m = loop_parse(c, text, sizeof text - 1, "test");
    cr_assert(m, "%s", diagnostics());
    p = m->procs.v[0];
    check("layout x [0/4 0%4]; layout y [0/4 0%4]; widen y.i 4; border y");
}
Test(steps, tests_that_differ_between_lanes_select) {
    static const char text[] = "proc f(x: f32[16] in, z: f32[16] in, y: f32[16] inout)\n  for i<16\n    if x[i] > 0.5\n"
                               "      if z[i] < x[i]\n        y[i] = y[i] * 2.0 + x[i] / z[i]\n";
    m = loop_parse(c, text, sizeof text - 1, "test");
    cr_assert(m, "%s", diagnostics());
    p = m->procs.v[0];
    check("split i 8 io iv; kind vector iv");
    struct text t = {0};
    proc_print(&t, c, p);
    cr_expect(!strstr(t.s, "if ") && strstr(t.s, "select("), "%s", t.s);
    text_free(&t);
}
/* ---- skip: a window that reaches further than the picture */
Test(steps, taps_in_the_padding_are_left_out) {
    conv(I(3), sym("H", 1, 9), sym("W", 1, 9), I(4), 7, 1, false);
    check_sizes(
        "reorder y.oh y.ow y.oc; split y.ow 2 wo wi cut2; compute_at acc wo; reorder acc.kh acc.kw acc.ic acc.oh "
        "acc.ow acc.oc; skip acc.kh; skip acc.kw; kind unroll acc.oh acc.ow",
        (struct sizes[]){{{1, 1}}, {{2, 3}}, {{9, 4}}, {{5, 9}}}, 4);
}
/* ---- pad: loops that are no multiple of a tile read zeros behind the operands' ends */
Test(steps, padded_loops_need_no_guards) {
    gemm_rm(sym("M", 0, 40), 10, 7);
    check_sizes(
        "pad acc.m 8; pad acc.n 4; pad acc.k 4; split y.m 8 mo mi guard; split y.n 4 no ni guard; reorder mo no "
        "mi ni; compute_at acc no; split acc.k 4 ko ki; reorder ko acc.m acc.n ki",
        (struct sizes[]){{{0}}, {{1}}, {{8}}, {{29}}}, 4);
    struct text t = {0};
    proc_print(&t, c, p);
    const char *guard = strstr(t.s, "if "), *result = strstr(t.s, "for mi<8");
    cr_expect(guard && result && result < guard, "%s", t.s);
    text_free(&t);
}
Test(steps, padded_copies_hold_the_zeros_that_are_read) {
    gemm_rm(I(5), 6, 7);
    check("pad acc.k 4; cache_read x xs acc; pad xs.d1 4; pad xs.d0 8; cache_read xs xt acc; compute_at xt acc.m; pad "
          "acc.n 4");
}
