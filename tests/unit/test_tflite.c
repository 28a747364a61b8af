/* TensorFlow Lite's operators: results worked out by hand from the rules of docs/tflite.md, and files that are none.
 * The comparison with LiteRT itself is tests/tflite/run. */
#include "compiler/import/tflite.h"
#include "tests/unit/ops_kit.h"

TestSuite(tflite, .init = setup, .fini = done);

/* multiplier 2^30 at shift 1 is 1; at shift 0 one half, at -1 a quarter: halves go away from zero in the last step. */
Test(tflite, requantize) {
    const char *node = "%y: ? = tflite::Requantize(%x, %m, %s) {out_type=3, zero=1, min=-128, max=127}";
    gives("const %x: i32[4] = [5,-5,300,-300] const %m: i32[] = [1073741824] const %s: i32[] = [1]", node,
          LIST(6, -4, 127, -128));
    /* 5/2 = 2.5: the product rounds half up, 3 and -2 */
    gives("const %x: i32[2] = [5,-5] const %m: i32[] = [1073741824] const %s: i32[] = [0]", node, LIST(4, -1));
    /* 10/4: the product gives 5 and -5, the shift rounds 2.5 away from zero */
    gives("const %x: i32[2] = [10,-10] const %m: i32[] = [1073741824] const %s: i32[] = [-1]", node, LIST(4, -2));
    /* one multiplier for each channel, the last axis */
    gives("const %x: i32[2,2] = [8,8,-8,-8] const %m: i32[2] = [1073741824,1073741824] const %s: i32[2] = [1,0]", node,
          LIST(9, 5, -7, -3));
    /* i64: 15 bits of the multiplier, rounded once, half up: 5/2 is 3, -5/2 is -2 */
    gives("const %x: i64[2] = [5,-5] const %m: i32[] = [1073741824] const %s: i32[] = [0]", node, LIST(4, -1));
}
Test(tflite, requantize_in_f64) {
    gives("const %x: i32[4] = [5,-5,1000,-1000] const %f: f64[] = [0.5]",
          "%y: ? = tflite::RequantizeF64(%x, %f) {out_type=3, zero=1, min=-128, max=127}", LIST(4, -2, 127, -128));
}
/* Scales 1/2 and 1/4 to 1/2, zero points 1, -2, 3: (4-1)/2 + (6+2)/4 = 3.5 is code 7 + 3. */
Test(tflite, addition) {
    gives(
        "const %a: i8[2] = [4,127] const %b: i8[2] = [6,127]",
        "%y: ? = tflite::ADD(%a, %b) {in_scale=[0.5,0.25], in_zero=[1,-2], out_scale=[0.5], out_zero=[3], out_type=3}",
        LIST(10, 127));
    gives(
        "const %a: i8[1] = [-128] const %b: i8[1] = [-2]",
        "%y: ? = tflite::ADD(%a, %b) {in_scale=[0.5,0.25], in_zero=[1,-2], out_scale=[0.5], out_zero=[3], out_type=3, "
        "fused_activation_function=1}",
        LIST(3)); /* Relu: no code below the one of 0 */
}
Test(tflite, average) { /* of 1, 2: 1.5 is 2; of -1, -2: -2 */
    gives(
        "const %x: i8[1,1,2,2] = [1,-1,2,-2]",
        "%y: ? = tflite::AVERAGE_POOL_2D(%x) {in_scale=[1.0], in_zero=[0], out_scale=[1.0], out_zero=[0], out_type=3, "
        "padding=1, stride_w=1, stride_h=1, filter_width=2, filter_height=1}",
        LIST(2, -2));
}
/* One pixel, two channels: channel sums 1*3 + 2*4 + 1 and 1*5 + 2*6 - 1 on scales 1/2 and 1/4 of the result's. */
Test(tflite, convolution_by_channel) {
    gives("const %x: i8[1,1,1,2] = [1,2] const %w: i8[2,1,1,2] = [3,4,5,6] const %b: i32[2] = [1,-1]",
          "%y: ? = tflite::CONV_2D(%x, %w, %b) {in_scale=[1.0,0.5,0.0], in_zero=[0,0,0], channel_scale=[0.5,0.25], "
          "channel_axis=0, out_scale=[1.0], out_zero=[-10], out_type=3, stride_w=1, stride_h=1}",
          LIST(-4, -6));
}
Test(tflite, softmax) { /* of equals: a quarter each, 64 steps above the least code */
    gives(
        "const %x: i8[1,4] = [7,7,7,7]",
        "%y: ? = tflite::SOFTMAX(%x) {beta=1.0, in_scale=[0.1], in_zero=[0], out_scale=[0.00390625], out_zero=[-128], "
        "out_type=3}",
        LIST(-64, -64, -64, -64));
}
Test(tflite, strided_slice) { /* x[1, ..., new, ::-1] */
    gives(
        "const %x: i32[2,3] = [0,1,2,3,4,5] const %b: i32[3] = [1,0,0] const %e: i32[3] = [2,0,0] const %s: i32[3] = "
        "[1,1,-1]",
        "%y: ? = tflite::STRIDED_SLICE(%x, %b, %e, %s) {shrink_axis_mask=1, new_axis_mask=2, begin_mask=4, end_mask=4}",
        LIST(5, 4, 3));
}

static void is_refused(const uint8_t *data, size_t n, const char *why) {
    struct text t = {0};
    cr_assert_null(import_tflite_bytes(c, "m.tflite", data, n, NULL));
    diag_print(&c->diags, &t, false);
    cr_expect(t.s && strstr(t.s, why), "%s: not in %s", why, t.s ? t.s : "(nothing)");
    text_free(&t);
}
Test(tflite, damaged_files) {
#ifdef HAVE_FLATBUFFERS
    const char *why = "damaged", *empty = "schema version 0";
#else
    const char *why = "without flatbuffers", *empty = why;
#endif
    _Alignas(16) uint8_t head[64] = {16, 0, 0, 0, 'T', 'F', 'L', '3'}, odd[65];
    cr_expect(is_tflite(head, sizeof head) && !is_tflite(head, 7) && !is_tflite((const uint8_t *)"xxxxTFL2", 8));
    is_refused(head, sizeof head, empty);
    memset(head + 8, 0xff, sizeof head - 8);
    is_refused(head, sizeof head, why);
    memcpy(odd + 1, head, sizeof head); /* not aligned */
    is_refused(odd + 1, sizeof head, why);
    is_refused(head, 8, why);
}
