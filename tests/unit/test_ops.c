/* Ops against small results worked out by hand from the ONNX specification. Constant inputs: the definition is
 * inferred, emitted and interpreted by constant folding. Run-time inputs: the whole graph is lowered and interpreted,
 * so that axes, shapes and ends that are known only at run time take the other path of the definition. */
#include "tests/unit/ops_kit.h"

TestSuite(ops, .init = setup, .fini = done);

#define F6 "const %a: f32[2,3] = [1.0,2.0,3.0,4.0,5.0,6.0]\n"
#define F22                                                                                                            \
    "const %a: f32[1,1,3,3] = [1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0] const %w: f32[1,1,2,2] = [1.0,0.0,0.0,-1.0]\n"
Test(ops, elementwise) {
    gives(F6 "const %b: f32[3] = [1.0,0.0,-1.0]", "%y: ? = Add(%a, %b)", LIST(2, 2, 2, 5, 5, 5));
    gives("const %a: i32[4] = [7,-7,7,-7] const %b: i32[4] = [3,3,-3,-3]", "%y: ? = Div(%a, %b)", LIST(2, -2, -2, 2));
    gives("const %a: i32[4] = [7,-7,7,-7] const %b: i32[4] = [3,3,-3,-3]", "%y: ? = Mod(%a, %b)", LIST(1, 2, -2, -1));
    gives("const %a: i32[4] = [7,-7,7,-7] const %b: i32[4] = [3,3,-3,-3]", "%y: ? = Mod(%a, %b) {fmod=1}",
          LIST(1, -1, 1, -1));
    gives("const %a: f32[4] = [-1.0,nan,2.0,inf] const %b: f32[4] = [nan,1.0,3.0,-inf]", "%y: ? = Max(%a, %b)",
          LIST(NAN, NAN, 3, INFINITY));
    gives("const %a: f32[4] = [-1.5,nan,2.5,0.5] const %l: f32[] = [-1.0] const %h: f32[] = [1.0]",
          "%y: ? = Clip(%a, %l, %h)", LIST(-1, NAN, 1, 0.5));
    gives("const %a: f32[3] = [inf,-inf,nan] const %h: f32[] = [inf]", "%y: ? = Clip(%a, _, %h)",
          LIST(INFINITY, -INFINITY, NAN));
    gives("const %a: f32[4] = [nan,-inf,inf,-0.5]", "%y: ? = ThresholdedRelu(%a) {alpha=-1.0}",
          LIST(0, 0, INFINITY, -0.5));
    gives("const %a: f32[4] = [nan,-inf,inf,-0.25]", "%y: ? = Shrink(%a)", LIST(0, -INFINITY, INFINITY, 0));
    gives("const %a: f32[4] = [nan,-inf,inf,2.0]", "%y: ? = LeakyRelu(%a) {alpha=0.5}",
          LIST(NAN, -INFINITY, INFINITY, 2));
    gives("const %a: f32[4] = [nan,-inf,inf,0.0]", "%y: ? = HardSigmoid(%a)", LIST(NAN, 0, 1, 0.5));
    gives("const %a: f32[4] = [0.5,1.5,2.5,-0.5]", "%y: ? = Round(%a)", LIST(0, 2, 2, 0));
    gives("const %a: f32[4] = [300.0,-1.0,2.9,nan]", "%y: ? = Cast(%a) {to=2}", LIST(255, 0, 2, 0));
    gives("const %a: i32[2] = [300,-1]", "%y: ? = Cast(%a) {to=2}", LIST(44, 255));
    gives("const %a: i64[3] = [2,-3,10] const %b: i64[3] = [10,3,0]", "%y: ? = Pow(%a, %b)", LIST(1024, -27, 1));
    gives("const %a: f32[5] = [-2.0,-0.0,nan,-inf,1e13] const %b: f32[] = [3.0]", "%y: ? = Pow(%a, %b)",
          LIST(-8, -0.0, NAN, -INFINITY, INFINITY));
    gives("const %a: f32[3] = [-2.0,0.0,nan]", "%y: ? = Sign(%a)", LIST(-1, 0, NAN));
    gives("const %a: u8[2] = [1,255] const %b: u8[2] = [7,1]", "%y: ? = BitShift(%a, %b) {direction=\"LEFT\"}",
          LIST(128, 254));
    gives("const %a: f32[3] = [-1.0,0.0,1.0]", "%y: ? = Gelu(%a)", LIST(-0.15865525, 0, 0.84134475));
    gives("const %c: bool[2] = [1,0] const %a: f32[2] = [1.0,2.0] const %b: f32[1] = [9.0]",
          "%y: ? = Where(%c, %a, %b)", LIST(1, 9));
}
Test(ops, conv_and_pool) {
    gives(F22, "%y: ? = Conv(%a, %w)", LIST(-4, -4, -4, -4));
    gives(F22, "%y: ? = Conv(%a, %w) {auto_pad=\"SAME_UPPER\"}", LIST(-4, -4, 3, -4, -4, 6, 7, 8, 9));
    gives(F22, "%y: ? = Conv(%a, %w) {pads=[1,0,0,0], strides=[2,1]}", LIST(-2, -3, -4, -4));
    gives(
        "const %a: f32[1,2,1,2] = [1.0,2.0,3.0,4.0] const %w: f32[2,1,1,1] = [10.0,100.0] const %b: f32[2] = [1.0,2.0]",
        "%y: ? = Conv(%a, %w, %b) {group=2}", LIST(11, 21, 302, 402));
    gives("const %a: f32[1,1,2,2] = [1.0,2.0,3.0,4.0] const %w: f32[1,1,2,2] = [1.0,10.0,100.0,1000.0]",
          "%y: ? = ConvTranspose(%a, %w)", LIST(1, 12, 20, 103, 1234, 2040, 300, 3400, 4000));
    gives("const %a: f32[1,1,2] = [1.0,2.0] const %w: f32[1,1,2] = [1.0,10.0]",
          "%y: ? = ConvTranspose(%a, %w) {strides=[2], output_padding=[1]}", LIST(1, 10, 2, 20, 0));
    gives(F22, "%y: ? = MaxPool(%a) {kernel_shape=[2,2]}", LIST(5, 6, 8, 9));
    gives(F22, "%x: ?, %y: ? = MaxPool(%a) {kernel_shape=[2,2], strides=[2,2], ceil_mode=1}", LIST(4, 5, 7, 8));
    gives(F22, "%y: ? = AveragePool(%a) {kernel_shape=[2,2], pads=[1,1,0,0], strides=[2,2]}", LIST(1, 2.5, 5.5, 7));
    gives(F22, "%y: ? = AveragePool(%a) {kernel_shape=[2,2], pads=[1,1,0,0], strides=[2,2], count_include_pad=1}",
          LIST(0.25, 1.25, 2.75, 7));
    gives(F22, "%y: ? = AveragePool(%a) {kernel_shape=[2,2], pads=[0,0,1,1], strides=[2,2]}", LIST(3, 4.5, 7.5, 9));
    gives(F22, "%y: ? = AveragePool(%a) {kernel_shape=[2,2], pads=[0,0,1,1], strides=[2,2], count_include_pad=1}",
          LIST(3, 2.25, 3.75, 2.25));
    gives(F22, "%y: ? = GlobalAveragePool(%a)", LIST(5));
    /* of an even number of channels more lie behind than in front */
    gives("const %a: f32[1,4] = [1.0,1.0,2.0,3.0]", "%y: ? = LRN(%a) {size=2, alpha=2.0, beta=1.0, bias=3.0}",
          LIST(0.2, 0.125, 0.125, 0.25));
}
Test(ops, products) {
    gives(F6 "const %b: f32[3] = [1.0,0.0,-1.0]", "%y: ? = MatMul(%a, %b)", LIST(-2, -2));
    gives(F6 "const %b: f32[2] = [1.0,10.0]", "%y: ? = MatMul(%b, %a)", LIST(41, 52, 63));
    gives(F6 "const %b: f32[2,3,1] = [1.0,0.0,0.0,0.0,0.0,1.0]", "%y: ? = MatMul(%a, %b)", LIST(1, 4, 3, 6));
    gives(F6 "const %b: f32[1,2] = [1.0,10.0] const %k: f32[1] = [100.0]",
          "%y: ? = Gemm(%a, %b, %k) {transA=1, transB=1, alpha=2.0, beta=0.5}", LIST(132, 154, 176));
}
Test(ops, norms) {
    gives("const %a: f32[1,3] = [0.0,0.69314718,1.3862944]", "%y: ? = Softmax(%a)", LIST(1. / 7, 2. / 7, 4. / 7));
    gives("const %a: f32[1,2] = [0.0,1.0986123]", "%y: ? = LogSoftmax(%a)", LIST(-1.3862944, -0.2876821));
    gives("const %a: f32[1,2,2] = [0.0,0.0,0.0,0.0]", "%y: ? = Softmax:12(%a) {joint=1, axis=1}",
          LIST(.25, .25, .25, .25));
    gives("const %a: f32[1,3] = [1.0,3.0,3.0]", "%y: ? = Hardmax(%a)", LIST(0, 1, 0));
    gives("const %a: f32[1,2] = [1.0,3.0] const %s: f32[2] = [2.0,2.0] const %b: f32[2] = [1.0,1.0]",
          "%y: ? = LayerNormalization(%a, %s, %b) {epsilon=0.0}", LIST(-1, 3));
    gives("const %a: f32[1,2,1] = [1.0,3.0] const %s: f32[2] = [2.0,1.0] const %b: f32[2] = [1.0,0.0] const %m: f32[2] "
          "= [0.0,1.0] const %v: f32[2] = [4.0,1.0]",
          "%y: ? = BatchNormalization(%a, %s, %b, %m, %v) {epsilon=0.0}", LIST(2, 2));
}
Test(ops, reductions) {
    gives(F6 "const %x: i64[1] = [1]", "%y: ? = ReduceSum(%a, %x) {keepdims=0}", LIST(6, 15));
    gives(F6 "const %x: i64[1] = [-2]", "%y: ? = ReduceMean(%a, %x)", LIST(2.5, 3.5, 4.5));
    gives(F6, "%y: ? = ReduceProd(%a)", LIST(720));
    gives(F6 "const %x: i64[1] = [1]", "%y: ? = ReduceLogSumExp(%a, %x)", LIST(3.40760596, 6.40760596));
    gives(F6 "const %x: i64[0] = []", "%y: ? = ReduceSum(%a, %x) {noop_with_empty_axes=1}", LIST(1, 2, 3, 4, 5, 6));
    gives("const %a: f32[2,3] = [1.0,3.0,3.0,2.0,2.0,1.0]", "%y: ? = ArgMax(%a) {axis=1}", LIST(1, 0));
    gives("const %a: f32[2,3] = [1.0,3.0,3.0,2.0,2.0,1.0]",
          "%y: ? = ArgMax(%a) {axis=1, select_last_index=1, keepdims=0}", LIST(2, 1));
}
Test(ops, complex_numbers_are_only_moved) {
    static const char *const wrong[] = {"%y: ? = Cast(%a) {to=1}", "%y: ? = Cast(%b) {to=14}", "%y: ? = NonZero(%a)",
                                        "%y: ? = Trilu(%a)", "%y: ? = EyeLike(%b) {dtype=15}"};
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        struct text t = {0};
        text_printf(&t, "graph \"\"\nregion \"\" (%%a: c128[2,2], %%b: f32[2,2]) { %s return %%y }\n", wrong[k]);
        struct graph *g = graph_parse(c, t.s, t.n, "t.gir");
        cr_expect(g && !graph_infer(g), "%s", wrong[k]);
        text_free(&t);
    }
    struct graph *g = graph_of("const %a: c128[2] = hash 0x1", "", "%y: ? = Concat(%a, %a) {axis=0}");
    cr_expect(g && !g->top->results.v[0]->elems);
}
/* Of an input nothing is known: no expression of thousands of terms is made to find that out (minutes). */
Test(ops, a_reduction_of_an_input_takes_no_time_to_infer, .timeout = 20) {
    struct graph *g = graph_of("", "%a: f32[4000,8]", "%y: ? = ArgMax(%a) {select_last_index=1}");
    cr_expect_not(g->top->results.v[0]->elems);
}
/* The least i8 is -128, though numbers of eight bits are computed in 32. */
Test(ops, extremes_of_narrow_integers) {
    gives("const %a: i8[3] = [-2,-8,-7]", "%y: ? = ReduceMax(%a) {keepdims=0}", LIST(-2));
    gives("const %a: i8[0] = []", "%y: ? = ReduceMax(%a) {keepdims=0}", LIST(-128));
    gives("const %a: u8[0] = []", "%y: ? = ReduceMin(%a) {keepdims=0}", LIST(255));
    gives("const %a: i8[3] = [3,9,5]", "%y: ? = ReduceMin(%a) {keepdims=0}", LIST(3));
    gives("const %a: i16[2] = [-2,-8]", "%y: ? = ReduceMax(%a) {keepdims=0}", LIST(-2));
    gives("const %a: u8[2] = [200,220]", "%y: ? = ReduceMin(%a) {keepdims=0}", LIST(200));
    gives("const %a: i8[1,1,1,4] = [-5,-9,-7,-6]", "%y: ? = MaxPool(%a) {kernel_shape=[1,2], strides=[1,2]}",
          LIST(-5, -6));
    static const int8_t x[] = {-2, -8, -7};
    runs("%a: i8[3]", "%z: ? = ReduceMax(%a) {keepdims=1} %y: ? = Cast(%z) {to=1}", (struct arg[]){{x, {3}, 1}}, 1, 0,
         LIST(-2));
}
#define NAN5 "const %a: f32[5] = [1.0,nan,3.0,nan,2.0] "
/* The same wherever NaN stands: kept by Reduce, left out by MaxPool, greatest of all for TopK, first for Arg. */
Test(ops, nan_in_extremes) {
    gives(NAN5, "%y: ? = ReduceMax(%a) {keepdims=0}", LIST(NAN));
    gives(NAN5, "%y: ? = ReduceMin(%a) {keepdims=0}", LIST(NAN));
    gives("const %a: f32[2,2] = [1.0,nan,-inf,-inf] const %x: i64[1] = [1]", "%y: ? = ReduceMax(%a, %x)",
          LIST(NAN, -INFINITY));
    gives(NAN5, "%y: ? = ArgMax(%a)", LIST(1));
    gives(NAN5, "%y: ? = ArgMin(%a)", LIST(1));
    gives(NAN5, "%y: ? = ArgMax(%a) {select_last_index=1}", LIST(3));
    gives(NAN5, "%y: ? = ArgMin(%a) {select_last_index=1}", LIST(3));
    gives("const %k: i64[1] = [4] " NAN5, "%y: ?, %i: ? = TopK(%a, %k)", LIST(NAN, NAN, 3, 2));
    gives("const %k: i64[1] = [4] " NAN5, "%v: ?, %y: ? = TopK(%a, %k)", LIST(1, 3, 2, 4));
    gives("const %k: i64[1] = [4] " NAN5, "%y: ?, %i: ? = TopK(%a, %k) {largest=0}", LIST(1, 2, 3, NAN));
    gives("const %k: i64[1] = [4] " NAN5, "%v: ?, %y: ? = TopK(%a, %k) {largest=0}", LIST(0, 4, 2, 1));
    gives("const %a: f32[1,1,5] = [1.0,nan,3.0,nan,2.0]", "%y: ? = MaxPool(%a) {kernel_shape=[2]}", LIST(1, 3, 3, 2));
    gives("const %a: f32[1,1,5] = [nan,nan,3.0,nan,2.0]", "%x: ?, %y: ? = MaxPool(%a) {kernel_shape=[2]}",
          LIST(0, 2, 2, 4));
    gives("const %a: f32[1,1,3] = [nan,3.0,nan]", "%y: ? = GlobalMaxPool(%a)", LIST(3));
}
/* Of halves, 2049 is 2048, to which one more would be lost again; 600 squared is infinite. */
Test(ops, running_sums_of_halves) {
    gives("const %a: f16[3] = [2048.0,1.0,1.0] const %d: i64[] = [0]", "%y: ? = CumSum(%a, %d)",
          LIST(2048, 2048, 2050));
    gives("const %a: bf16[3] = [256.0,1.0,1.0] const %d: i64[] = [0]", "%y: ? = CumSum(%a, %d) {exclusive=1}",
          LIST(0, 256, 256));
    gives("const %a: f16[3] = [600.0,600.0,0.125] const %d: i64[] = [0]", "%y: ? = CumProd(%a, %d)",
          LIST(600, INFINITY, 44992));
}
/* NaN equals NaN, behind all numbers; of equal ones the first counts, and zeros are equal. */
Test(ops, unique) {
#define NAN8 "const %a: f32[8] = [2.0,nan,-1.0,2.0,nan,0.0,-0.0,-1.0] "
    gives(NAN8, "%y: ? = Unique(%a)", LIST(-1, 0, 2, NAN));
    gives(NAN8, "%v: ?, %y: ? = Unique(%a)", LIST(2, 5, 0, 1));
    gives(NAN8, "%v: ?, %f: ?, %y: ? = Unique(%a)", LIST(2, 3, 0, 2, 3, 1, 1, 0));
    gives(NAN8, "%v: ?, %f: ?, %w: ?, %y: ? = Unique(%a)", LIST(2, 2, 2, 2));
    gives(NAN8, "%y: ? = Unique(%a) {sorted=0}", LIST(2, NAN, -1, 0));
    gives(NAN8, "%v: ?, %y: ? = Unique(%a) {sorted=0}", LIST(0, 1, 2, 5));
    gives(NAN8, "%v: ?, %f: ?, %y: ? = Unique(%a) {sorted=0}", LIST(0, 1, 2, 0, 1, 3, 3, 2));
    gives("const %a: i64[5,2] = [1,2,0,9,1,2,1,0,0,9]", "%v: ?, %y: ? = Unique(%a) {axis=0}", LIST(1, 3, 0));
    gives("const %a: i64[5,2] = [1,2,0,9,1,2,1,0,0,9]", "%v: ?, %f: ?, %w: ?, %y: ? = Unique(%a) {axis=0, sorted=0}",
          LIST(2, 2, 1));
}
/* Cubic with the border repeated: each tap is clamped, not the place. At 2.5, between 2 and beyond, a = -0.75. */
Test(ops, cubic_grid_at_the_border) {
    gives("const %a: f32[1,1,3] = [1.0,2.0,4.0] const %g: f32[1,1,1] = [1.0]",
          "%y: ? = GridSample(%a, %g) {mode=\"cubic\", padding_mode=\"border\"}", LIST(4.1875));
}
#define AXIS7 "const %a: f32[7] = [0.0,1.0,2.0,3.0,4.0,5.0,6.0] "
/* Coordinates that miss the half, or a whole number, only by the rounding of the scale. */
Test(ops, nearest_ties) {
    gives(AXIS7 "const %s: i64[1] = [2]",
          "%y: ? = Resize(%a, _, _, %s) {coordinate_transformation_mode=\"asymmetric\", "
          "nearest_mode=\"round_prefer_ceil\"}",
          LIST(0, 4));
    gives(AXIS7 "const %s: i64[1] = [2]",
          "%y: ? = Resize(%a, _, _, %s) {coordinate_transformation_mode=\"asymmetric\"}", LIST(0, 3));
    gives("const %a: f32[3] = [0.0,1.0,2.0] const %s: f32[1] = [1.5]",
          "%y: ? = Resize(%a, _, %s) {coordinate_transformation_mode=\"half_pixel_symmetric\", nearest_mode=\"floor\"}",
          LIST(0, 0, 1, 2));
}
/* To half the length the triangle covers four cells, with weights 1 3 3 1; the border is repeated or left out. */
Test(ops, antialiased_resize) {
    static const char half[] = "const %a: f32[4] = [0.0,7.0,14.0,21.0] const %s: i64[1] = [2]";
    gives(half, "%y: ? = Resize(%a, _, _, %s) {antialias=1, mode=\"linear\"}", LIST(4.375, 16.625));
    gives(half, "%y: ? = Resize(%a, _, _, %s) {antialias=1, exclude_outside=1, mode=\"linear\"}", LIST(5, 16));
    gives(half, "%y: ? = Resize(%a, _, _, %s) {antialias=1}", LIST(0, 14)); /* nearest has no filter */
}
/* Boxes of 4x4 and 1x1 cells in one bin: as many samples as cells, at the cells' centers. */
Test(ops, roialign_samples_by_the_size_of_the_box) {
    static const char image[] = "const %x: f32[1,1,4,4] = [0.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,11.0,12.0,13.0,"
                                "14.0,15.0] const %r: f32[2,4] = [0.0,0.0,4.0,4.0,1.0,2.0,2.0,3.0] "
                                "const %b: i64[2] = [0,0]";
    gives(image, "%y: ? = RoiAlign(%x, %r, %b)", LIST(7.5, 9));
    gives(image, "%y: ? = RoiAlign(%x, %r, %b) {mode=\"max\"}", LIST(15, 9));
    gives(image, "%y: ? = RoiAlign(%x, %r, %b) {coordinate_transformation_mode=\"output_half_pixel\"}",
          LIST(9.375, 11.5)); /* samples at 0.5, 1.5, 2.5 and, beyond the last center, 3 */
    gives(image, "%y: ? = RoiAlign(%x, %r, %b) {sampling_ratio=1}", LIST(7.5, 9));
}
/* Corners go to the nearest cell and bins share cells at their borders; what lies outside of the image is not pooled.
 */
Test(ops, maxroipool_rounds_corners_and_widens_bins) {
    static const char image[] =
        "const %x: f32[1,1,3,4] = [0.0,1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0,9.0,10.0,11.0] "
        "const %r: f32[1,5] = [0.0,0.4,0.5,2.4,1.6] const %far: f32[1,5] = [0.0,9.0,9.0,10.0,10.0]";
    gives(image, "%y: ? = MaxRoiPool(%x, %r) {pooled_shape=[1,2]}", LIST(9, 10)); /* columns 0 1, 1 2 of rows 1 2 */
    gives(image, "%y: ? = MaxRoiPool(%x, %r) {pooled_shape=[1,1], spatial_scale=0.5}", LIST(5));
    gives(image, "%y: ? = MaxRoiPool(%x, %far) {pooled_shape=[1,1]}", LIST(0));
}
#define PARTS "%s: ? = SplitToSequence(%a) {axis=1, keepdims=0} "
Test(ops, sequences) {
    static const char places[] = F6 "const %n: f32[2] = [8.0,9.0] const %0: i64[] = [0] const %1: i64[] = [1] "
                                    "const %m: i64[] = [-1] const %2: i32[] = [2] const %p: i64[2] = [2,1]";
    gives(places, PARTS "%y: ? = SequenceAt(%s, %2)", LIST(3, 6));
    gives(places, PARTS "%y: ? = SequenceAt(%s, %m)", LIST(3, 6));
    gives(places, PARTS "%y: ? = SequenceLength(%s)", LIST(3));
    gives(places, PARTS "%y: ? = ConcatFromSequence(%s) {axis=0, new_axis=1}", LIST(1, 4, 2, 5, 3, 6));
    gives(places, PARTS "%t: ? = SequenceErase(%s) %y: ? = ConcatFromSequence(%t) {axis=0}", LIST(1, 4, 2, 5));
    gives(places, PARTS "%t: ? = SequenceErase(%s, %0) %y: ? = ConcatFromSequence(%t) {axis=0}", LIST(2, 5, 3, 6));
    gives(places, PARTS "%t: ? = SequenceInsert(%s, %n) %y: ? = SequenceAt(%t, %m)", LIST(8, 9));
    gives(places, PARTS "%t: ? = SequenceInsert(%s, %n, %1) %y: ? = ConcatFromSequence(%t) {axis=0}",
          LIST(1, 4, 8, 9, 2, 5, 3, 6));
    gives(places, PARTS "%t: ? = SequenceInsert(%s, %n, %m) %y: ? = ConcatFromSequence(%t) {axis=0}",
          LIST(1, 4, 2, 5, 8, 9, 3, 6)); /* in front of the last */
    gives(places, "%s: ? = SequenceEmpty() %t: ? = SequenceInsert(%s, %n) %y: ? = SequenceAt(%t, %0)", LIST(8, 9));
    gives(places, "%s: ? = SequenceEmpty() %y: ? = SequenceLength(%s)", LIST(0));
    gives(places, "%s: ? = SplitToSequence(%a, %p) {axis=1} %y: ? = SequenceAt(%s, %0)", LIST(1, 2, 4, 5));
    gives(places, "%s: ? = SplitToSequence(%a, %2) {axis=1} %y: ? = SequenceAt(%s, %1)", LIST(3, 6));
    gives(places, "%s: ? = Optional(%a) %t: ? = OptionalGetElement(%s) %y: ? = Neg(%t)", LIST(-1, -2, -3, -4, -5, -6));
    gives(places, "%s: ? = Optional(%a) %y: ? = OptionalHasElement(%s)", LIST(1));
    gives(places, "%y: ? = OptionalHasElement()", LIST(0));
}
/* Elements of one shape are also found at a place that only the run knows. */
Test(ops, sequence_at_a_place_of_the_run) {
    float x[2][3] = {{1, 2, 3}, {4, 5, 6}};
    int64_t place = -2;
    struct arg in[2] = {{x, {2, 3}, 2}, {&place, {0}, 0}};
    runs("%a: f32[N,3], %i: i64[]", PARTS "%y: ? = SequenceAt(%s, %i)", in, 2, 2, LIST(2, 5));
    place = 3;
    refused("%a: f32[N,3], %i: i64[]", PARTS "%y: ? = SequenceAt(%s, %i)", in, 2, 2, "");
}
Test(ops, many_vectors_are_joined) {
    enum { COUNT = 1100 };
    struct text t = {0};
    double want[2 * COUNT];
    text_printf(&t, "%%y: ? = Concat(%%x");
    for (int k = 1; k < COUNT; k++) text_printf(&t, ", %%x");
    text_printf(&t, ") {axis=0}");
    for (int k = 0; k < 2 * COUNT; k++) want[k] = 1 + k % 2;
    runs("%x: f32[2]", t.s, (struct arg[]){{(float[]){1, 2}, {2}, 1}}, 1, 0, want, 2 * COUNT);
    text_free(&t);
}
Test(ops, shapes) {
    gives(F6 "const %s: i64[2] = [0,-1]", "%y: ? = Reshape(%a, %s)", LIST(1, 2, 3, 4, 5, 6));
    gives(F6, "%y: ? = Transpose(%a)", LIST(1, 4, 2, 5, 3, 6));
    gives("const %a: f32[2,1] = [1.0,2.0] const %s: i64[3] = [2,1,2]", "%y: ? = Expand(%a, %s)",
          LIST(1, 1, 2, 2, 1, 1, 2, 2));
    gives("const %a: f32[2] = [1.0,2.0] const %s: i64[1] = [2]", "%y: ? = Tile(%a, %s)", LIST(1, 2, 1, 2));
    gives(F6, "%y: ? = Shape(%a) {start=-1}", LIST(3));
    gives("const %a: i64[] = [5] const %b: i64[] = [-2] const %d: i64[] = [-3]", "%y: ? = Range(%a, %b, %d)",
          LIST(5, 2, -1));
    gives(F6, "%y: ? = Concat(%a, %a) {axis=1}", LIST(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
    gives(F6, "%x: ?, %y: ? = Split(%a) {axis=1, num_outputs=2}", LIST(3, 6));
    gives(F6 "const %s: i64[1] = [-1] const %e: i64[1] = [-9223372036854775807] const %x: i64[1] = [1] const %t: "
             "i64[1] = [-2]",
          "%y: ? = Slice(%a, %s, %e, %x, %t)", LIST(3, 1, 6, 4));
    gives("const %a: f32[1,4,1,1] = [1.0,2.0,3.0,4.0]", "%y: ? = DepthToSpace(%a) {blocksize=2}", LIST(1, 2, 3, 4));
    gives(F6, "%y: ? = Trilu(%a) {upper=0}", LIST(1, 0, 0, 4, 5, 0));
}
Test(ops, positions) {
    gives(F6 "const %i: i64[2] = [-1,0]", "%y: ? = Gather(%a, %i) {axis=1}", LIST(3, 1, 6, 4));
    gives(F6 "const %i: i64[2,2] = [1,2,0,0]", "%y: ? = GatherND(%a, %i)", LIST(6, 1));
    gives(F6 "const %i: i64[1,3] = [1,0,1]", "%y: ? = GatherElements(%a, %i)", LIST(4, 2, 6));
    gives(F6 "const %i: i64[1,1] = [1] const %u: f32[1,3] = [10.0,20.0,30.0]",
          "%y: ? = ScatterND(%a, %i, %u) {reduction=\"add\"}", LIST(1, 2, 3, 14, 25, 36));
    gives("const %a: f32[3] = [1.0,2.0,3.0] const %p: i64[2] = [2,2]", "%y: ? = Pad(%a, %p) {mode=\"reflect\"}",
          LIST(3, 2, 1, 2, 3, 2, 1));
    gives("const %a: f32[3] = [1.0,2.0,3.0] const %p: i64[2] = [2,-1]", "%y: ? = Pad(%a, %p)", LIST(0, 0, 1, 2));
    gives("const %a: f32[3] = [1.0,2.0,3.0] const %p: i64[2] = [1,1]", "%y: ? = Pad(%a, %p) {mode=\"wrap\"}",
          LIST(3, 1, 2, 3, 1));
    gives("const %a: f32[4] = [1.0,2.0,3.0,4.0] const %p: i64[2] = [4,-1]", "%y: ? = Pad(%a, %p) {mode=\"wrap\"}",
          LIST(3, 1, 2, 3, 1, 2, 3));
    gives("const %a: f32[4] = [1.0,2.0,3.0,4.0] const %p: i64[2] = [-2,1]", "%y: ? = Pad(%a, %p) {mode=\"wrap\"}",
          LIST(3, 4, 3));
}

static const float six[] = {1, 2, 3, 4, 5, 6};
Test(ops, run_time_axes_and_shapes) {
    const struct arg x = {six, {2, 3}, 2};
    const int64_t one[] = {1}, three_two[] = {3, -1}, lo[] = {-1}, hi[] = {INT64_MIN}, by[] = {-1};
    runs("%a: f32[2,3], %x: i64[1]", "%z: ? = ReduceSum(%a, %x)" TAKE2, (struct arg[]){x, {one, {1}, 1}}, 2, 0,
         LIST(6, 15));
    runs("%a: f32[2,3], %x: i64[1]", "%z: ? = ReduceMax(%a, %x) {keepdims=0}" TAKE2, (struct arg[]){x, {one, {1}, 1}},
         2, 0, LIST(3, 6));
    runs("%a: f32[2,3], %s: i64[2]", "%z: ? = Reshape(%a, %s)" TAKE6, (struct arg[]){x, {three_two, {2}, 1}}, 2, 0,
         LIST(1, 2, 3, 4, 5, 6));
    runs("%a: f32[2,3], %s: i64[1], %e: i64[1], %x: i64[1], %t: i64[1]", "%z: ? = Slice(%a, %s, %e, %x, %t)" TAKE6,
         (struct arg[]){x, {lo, {1}, 1}, {hi, {1}, 1}, {one, {1}, 1}, {by, {1}, 1}}, 5, 0, LIST(3, 2, 1, 6, 5, 4));
}
Test(ops, symbolic_sizes) {
    const struct arg x = {six, {2, 3}, 2}, none = {six, {0, 3}, 2};
    runs("%a: f32[N,3]", "%y: ? = Softmax(%a)", (struct arg[]){x}, 1, 2,
         LIST(0.09003057, 0.24472847, 0.66524096, 0.09003057, 0.24472847, 0.66524096));
    runs("%a: f32[N,3]", "%y: ? = Transpose(%a)", (struct arg[]){x}, 1, 2, LIST(1, 4, 2, 5, 3, 6));
    runs("%a: f32[N,3]", "%y: ? = Flatten(%a) {axis=0}", (struct arg[]){x}, 1, 2, LIST(1, 2, 3, 4, 5, 6));
    runs("%a: f32[N,3]", "%y: ? = ReduceSum(%a)", (struct arg[]){none}, 1, 0, LIST(0));
    runs("%a: f32[N,3]", "%z: ? = ArgMax(%a) {axis=0} %y: ? = Cast(%z) {to=1}", (struct arg[]){x}, 1, 2, LIST(1, 1, 1));
    refused("%a: f32[N,3]", "%y: ? = ArgMax(%a) {axis=0}", (struct arg[]){none}, 1, 0, "none is the greatest");
    refused("%a: f32[N,3], %i: i64[2]", "%y: ? = Gather(%a, %i)", (struct arg[]){none, {(int64_t[]){0, 0}, {2}, 1}}, 2,
            0, "outside [0, 0)");
}

Test(ops, pads_out_of_reach) { /* never clamped: that they add up to 1 would be lost */
    const struct arg x = {six, {3}, 1}, axis = {(int64_t[]){0}, {1}, 1},
                     far = {(int64_t[]){(INT64_C(1) << 41) + 1, -(INT64_C(1) << 41)}, {2}, 1};
    refused("%a: f32[3], %p: i64[2]", "%y: ? = Pad(%a, %p)", (struct arg[]){x, far}, 2, 0, "2199023255553");
    refused("%a: f32[3], %p: i64[2], %x: i64[N]", "%y: ? = Pad(%a, %p, _, %x)", (struct arg[]){x, far, axis}, 3, 1,
            "2199023255553");
}

/* ---- blocks into images */
/* Blocks of three, two apart; of two cells that are two apart; of such, two apart. */
Test(ops, col2im) {
    const char *sizes = "const %i: i64[1] = [5] const %b: i64[1] = [3] const %i4: i64[1] = [4] const %i3: i64[1] = [3] "
                        "const %i5: i64[1] = [5] const %b2: i64[1] = [2] "
                        "const %x: f32[1,3,2] = [1.0,2.0,3.0,4.0,5.0,6.0] const %x2: f32[1,2,2] = [1.0,2.0,3.0,4.0]";
    gives(sizes, "%y: ? = Col2Im(%x, %i, %b) {strides=[2]}", LIST(1, 3, 7, 4, 6));
    gives(sizes, "%y: ? = Col2Im(%x, %i4, %b) {strides=[2], pads=[0,1]}", LIST(1, 3, 7, 4));
    gives(sizes, "%y: ? = Col2Im(%x2, %i4, %b2) {dilations=[2]}", LIST(1, 2, 3, 4));
    gives(sizes, "%y: ? = Col2Im(%x2, %i4, %b2) {strides=[2]}", LIST(1, 3, 2, 4));
    gives(sizes, "%y: ? = Col2Im(%x2, %i3, %b2) {strides=[2], pads=[1,0]}", LIST(3, 2, 4));
    gives(sizes, "%y: ? = Col2Im(%x2, %i5, %b2) {strides=[3]}", LIST(1, 3, 0, 2, 4));
    gives(sizes, "%y: ? = Col2Im(%x2, %i, %b2) {dilations=[2], strides=[2]}", LIST(1, 0, 5, 0, 4));
}

/* ---- attention in other forms */
Test(ops, causal_convolution) {
    const struct arg x = {six, {1, 1, 4}, 3}, one = {six, {1, 1, 1}, 3}, past = {six + 4, {1, 1, 2}, 3};
#define CONV "const %w: f32[1,1,3] = [1.0,10.0,100.0] const %b: f32[1] = [0.5]\n"
    gives(CONV "const %x: f32[1,1,4] = [1.0,2.0,3.0,4.0]", "%y: ?, %s: ? = CausalConvWithState(%x, %w)",
          LIST(100, 210, 321, 432));
    gives(CONV "const %x: f32[1,1,1] = [7.0]", "%z: ?, %y: ? = CausalConvWithState(%x, %w)", LIST(0, 7));
    gives("const %w: f32[1,1,1] = [2.0] const %x: f32[1,1,2] = [1.0,-1.0]",
          "%y: ? = CausalConvWithState(%x, %w) {activation=\"silu\"}", LIST(1.7615942, -0.2384058));
    runs("%x: f32[1,1,N], %p: f32[1,1,2], %w: f32[1,1,3], %b: f32[1]", "%y: ? = CausalConvWithState(%x, %w, %b, %p)",
         (struct arg[]){x, past, {(float[]){1, 10, 100}, {1, 1, 3}, 3}, {(float[]){0.5f}, {1}, 1}}, 4, 4,
         LIST(165.5, 216.5, 321.5, 432.5));
    runs("%x: f32[1,1,N], %p: f32[1,1,2], %w: f32[1,1,3]", "%z: ?, %y: ? = CausalConvWithState(%x, %w, _, %p)",
         (struct arg[]){one, past, {(float[]){1, 10, 100}, {1, 1, 3}, 3}}, 3, 1, LIST(6, 1));
}
Test(ops, linear_attention) {
    const struct arg q = {six, {1, 2, 2}, 3}, k = {(float[]){2, 1}, {1, 2, 1}, 3}, v = {(float[]){3, 5}, {1, 2, 1}, 3},
                     decay = {(float[]){0, -0.6931472f}, {1, 2, 1}, 3}, beta = {(float[]){0.5f, 1}, {1, 2, 1}, 3};
#define QKV   "%q: f32[1,N,2], %h: f32[1,N,1], %v: f32[1,N,1]"
#define HEADS "{q_num_heads=2, kv_num_heads=1, scale=2.0, update_rule=\""
    runs(QKV, "%y: ? = LinearAttention(%q, %h, %v) " HEADS "linear\"}", (struct arg[]){q, k, v}, 3, 2,
         LIST(12, 24, 66, 88));
    runs(QKV ", %d: f32[1,N,1], %b: f32[1,N,1]",
         "%y: ? = LinearAttention(%q, %h, %v, _, %d, %b) " HEADS "gated_delta\"}", (struct arg[]){q, k, v, decay, beta},
         5, 2, LIST(6, 12, 30, 40));
    runs(QKV ", %d: f32[1,N,1], %b: f32[1,N,1]",
         "%z: ?, %y: ? = LinearAttention(%q, %h, %v, _, %d, %b) " HEADS "gated_delta\"}",
         (struct arg[]){q, k, v, decay, beta}, 5, 2, LIST(5));
    /* a single step, on a state */
    const struct arg q1 = {six, {1, 1, 2}, 3}, k1 = {k.data, {1, 1, 1}, 3}, v1 = {v.data, {1, 1, 1}, 3};
    runs("%q: f32[1,1,2], %h: f32[1,1,1], %v: f32[1,1,1]",
         "%p: f32[1,1,1,1] = ConstantOfShape(%k4) {value=f32[1] = [4.0]}\n"
         "%y: ? = LinearAttention(%q, %h, %v, %p) " HEADS "linear\"}",
         (struct arg[]){q1, k1, v1}, 3, 0, LIST(20, 40));
}
Test(ops, mod_keeps_the_sign_of_the_divisor_for_zero) { /* seen by what it is divided into */
    gives("const %a: f32[4] = [6.0,-6.0,6.0,-6.0] const %b: f32[4] = [3.0,3.0,-3.0,-3.0] const %o: f32[] = [1.0]",
          "%m: ? = Mod(%a, %b) %y: ? = Div(%o, %m)", LIST(INFINITY, INFINITY, -INFINITY, -INFINITY));
    gives("const %a: f32[3] = [5.0,-5.0,1.0] const %b: f32[3] = [-3.0,3.0,0.0]", "%y: ? = Mod(%a, %b)",
          LIST(-1, 1, NAN));
}
Test(ops, dropout_in_training) {
    gives(F6 "const %r: f32[] = [0.25] const %t: bool[] = [0]", "%y: ? = Dropout(%a, %r, %t)", LIST(1, 2, 3, 4, 5, 6));
    gives("const %a: f32[] = [7.0]", "%d: ?, %m: ? = Dropout(%a) %s: ? = Shape(%m) %y: ? = Size(%s)", LIST(0));
    const float none = 0, quarter = 0.25f, all = 1, x[] = {1, 2, 3, 4, 5, 6};
    const uint8_t yes = 1, no = 0;
    const struct arg a = {x, {6}, 1}, on = {&yes, {0}, 0}, off = {&no, {0}, 0};
    const char *params = "%a: f32[6], %r: f32[], %t: bool[]", *drop = "%y: ? = Dropout(%a, %r, %t)";
    runs(params, drop, (struct arg[]){a, {&quarter, {0}, 0}, off}, 3, 0, LIST(1, 2, 3, 4, 5, 6));
    runs(params, drop, (struct arg[]){a, {&none, {0}, 0}, on}, 3, 0, LIST(1, 2, 3, 4, 5, 6));
    runs(params, drop, (struct arg[]){a, {&all, {0}, 0}, on}, 3, 0, LIST(0, 0, 0, 0, 0, 0));
    /* of many a quarter is dropped, and the others grow by a third: the mask says which */
    runs("%r: f32[], %t: bool[]",
         "%s: i64[1] = Constant() {value_ints=[10000]} %a: ? = ConstantOfShape(%s) {value=f32[1] = [3.0]}\n"
         "%d: ?, %m: ? = Dropout(%a, %r, %t) %f: ? = Cast(%m) {to=1} %u: ? = Constant() {value_float=4.0}\n"
         "%e: ? = Mul(%f, %u) %o: ? = Sub(%d, %e) %w: ? = Abs(%o) %v: ? = ReduceMax(%w) {keepdims=0}\n"
         "%h: ? = ReduceMean(%f) {keepdims=0} %q: ? = Constant() {value_float=20.0} %i: ? = Mul(%h, %q)\n"
         "%j: ? = Round(%i) %y: ? = Add(%j, %v)",
         (struct arg[]){{&quarter, {0}, 0}, on}, 2, 0, LIST(15));
}
Test(ops, optimizers) {
    const char *three =
        "const %r: f32[] = [0.5] const %t: i64[] = [1] const %x: f32[1] = [2.0] const %g: f32[1] = [3.0]\n"
        "const %v: f32[1] = [4.0] const %h: f32[1] = [9.0]";
    gives(three,
          "%y: ?, %s: ? = ai.onnx.preview.training::Momentum(%r, %t, %x, %g, %v) "
          "{alpha=0.5, beta=2.0, mode=\"standard\", norm_coefficient=0.0}",
          LIST(-2)); /* v = 2 + 6 */
    gives(three,
          "%y: ?, %s: ? = ai.onnx.preview.training::Momentum(%r, %t, %x, %g, %v) "
          "{alpha=0.5, beta=2.0, mode=\"nesterov\", norm_coefficient=0.0}",
          LIST(-1.5)); /* x - r (g + v / 2) */
    gives(three, "%y: ?, %s: ? = ai.onnx.preview.training::Adagrad(%r, %t, %x, %g, %v) {decay_factor=1.0, epsilon=0.0}",
          LIST(2 - 0.25 * 3 / sqrt(13)));
    gives(three,
          "%y: ?, %s: ?, %q: ? = ai.onnx.preview.training::Adam(%r, %t, %x, %g, %v, %h) "
          "{alpha=0.5, beta=0.75, epsilon=0.0, norm_coefficient_post=0.5}",
          LIST(0.5 * (2 - 0.5 * 3.5 / 3))); /* the corrections are sqrt(1/4) / (1/2) */
}
/* A file's bytes, and the elements of its picture. */
static void pictured(const char *bytes, size_t count, const char *attrs, const double *want, int n) {
    struct text t = {0};
    text_printf(&t, "%%p: ? = ImageDecoder(%%d)%s %%y: ? = Cast(%%p) {to=1}", attrs);
    const struct arg in = {bytes, {(int64_t)count}, 1};
    runs("%d: u8[N]", t.s, &in, 1, (int64_t)count, want, n);
    text_free(&t);
}
#define PICTURED(bytes, attrs, ...) pictured(bytes, sizeof bytes - 1, attrs, LIST(__VA_ARGS__))
Test(ops, pictures) {
    PICTURED("P3 # kind\n2 1\n10\n0 1 2 10 9 8\n", "", 0, 26, 51, 255, 230, 204); /* ties to even: 25.5 is 26 */
    PICTURED("P2 2 1 255 7 9", " {pixel_format=\"Grayscale\"}", 7, 9);
    PICTURED("P1 3 1 1\n01", "", 0, 0, 0, 255, 255, 255, 0, 0, 0);
    PICTURED("P4\n3 2\n\240\100", " {pixel_format=\"Grayscale\"}", 0, 255, 0, 255, 0, 255);
    PICTURED("P5 1 1 65535\n\200\000", "", 128, 128, 128);
    PICTURED("P6 1 2 255\n\001\002\003\377\376\375", " {pixel_format=\"BGR\"}", 3, 2, 1, 253, 254, 255);
    static const char
        down[] = "BMN\000\000\000\000\000\000\000\066\000\000\000("
                 "\000\000\000\003\000\000\000\376\377\377\377\001\000\030\000\000\000\000\000\000\000\000\000\000\000"
                 "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\003\002\001\006\005\004\011\010\007\000\000"
                 "\000\014\013\012\017\016\015\022\021\020\000\000\000",
        up[] = "BMN\000\000\000\000\000\000\000\066\000\000\000("
               "\000\000\000\003\000\000\000\002\000\000\000\001\000\030\000\000\000\000\000\000\000\000\000\000\000"
               "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\014\013\012\017\016\015\022\021\020\000\000"
               "\000\003\002\001\006\005\004\011\010\007\000\000\000",
        bits[] =
            "BMB\000\000\000\000\000\000\000>\000\000\000("
            "\000\000\000\003\000\000\000\001\000\000\000\001\000\001\000\000\000\000\000\000\000\000\000\000\000\000"
            "\000\000\000\000\000\002\000\000\000\000\000\000\000\001\002\003\000\004\005\006\000\240\000\000\000";
    PICTURED(down, "", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
    PICTURED(up, "", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18);
    PICTURED(bits, "", 6, 5, 4, 3, 2, 1, 6, 5, 4);
    static const struct {
        const char *bytes, *why;
    } bad[] = {{"\x89PNG\r\n", "neither a BMP"},    {"P6 2", "neither a BMP"},
               {"P5 x 1 255 ", "neither a BMP"},    {"P5 99 9 255 abc", "larger"},
               {"P6 2 1 255 abcde", "ends before"}, {"P2 99999 9999 1 1", "larger"},
               {"P2 2 2 255 1 2 3", "ends before"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        const struct arg in = {bad[k].bytes, {(int64_t)strlen(bad[k].bytes)}, 1};
        refused("%d: u8[N]", "%p: ? = ImageDecoder(%d) %y: ? = Cast(%p) {to=1}", &in, 1, in.dims[0], bad[k].why);
    }
}
Test(ops, attention_with_changed_scores) {
#define FLEX                                                                                                           \
    "const %q: f32[1,2,1,1] = [1.0,2.0] const %k: f32[1,1,2,1] = [0.0,0.6931472] const %v: f32[1,1,2,1] = [1.0,4.0] "  \
    "const %two: f32[] = [2.0]\n"
#define IN "%y: ? = ai.onnx.preview::FlexAttention(%q, %k, %v"
    gives(FLEX, IN ")", LIST(3, 3.4));
    gives(FLEX, IN ") {scale=1.0}\n score_mod = region \"s\" (%s: ?) { %n: ? = Neg(%s) return %n }\n", LIST(2, 1.6));
    gives(FLEX,
          "%t: ? = Identity(%two) " IN ", %t) {captures=1}\n"
          "  prob_mod = region \"p\" (%s: ?, %c: ?) { %n: ? = Mul(%s, %c) return %n }\n",
          LIST(6, 6.8));
}
