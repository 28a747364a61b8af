/* Operators of com.microsoft against small results worked out by hand. tests/onnx/ms_ops.py compares them with ONNX
 * Runtime at random; here is what that has no kernel for, and what must be rounded just so. */
#include "tests/unit/ops_kit.h"

TestSuite(ms_ops, .init = setup, .fini = done);

#define MS "com.microsoft::"
Test(ms_ops, sums_and_products_round_with_the_zero_point) {
    /* halves of 1 and 3 are 0.5 and 1.5: even is 0 and 2, and with a zero point of 1 it is 2 for both */
    gives("const %a: u8[2] = [1,3] const %b: u8[1] = [0] const %h: f32[] = [0.5] const %o: f32[] = [1.0]",
          "%y: ? = " MS "QLinearAdd(%a, %h, _, %b, %h, _, %o)", LIST(0, 2));
    gives("const %a: u8[2] = [1,3] const %b: u8[1] = [0] const %h: f32[] = [0.5] const %o: f32[] = [1.0]"
          "const %z: u8[] = [1]",
          "%y: ? = " MS "QLinearAdd(%a, %h, _, %b, %h, _, %o, %z)", LIST(2, 2));
    gives("const %a: i8[2,1] = [1,-128] const %b: i8[2] = [127,0] const %s: f32[] = [0.5] const %z: i8[] = [-1]",
          "%y: ? = " MS "QLinearAdd(%a, %s, %z, %b, %s, _, %s, _)", LIST(127, 2, 0, -127));
    gives("const %a: u8[2] = [1,3] const %b: u8[1] = [1] const %h: f32[] = [0.5] const %o: f32[] = [1.0]"
          "const %z: u8[] = [1]",
          "%y: ? = " MS "QLinearMul(%a, %h, _, %b, %o, _, %o, %z)", LIST(2, 2));
    gives("const %a: i8[3] = [-128,0,5] const %b: i8[3] = [-128,7,5] const %z: i8[] = [1]",
          "%y: ? = " MS "MulInteger(%a, %z, %b)", LIST(16512, -7, 20));
}
Test(ms_ops, quantised_pools_and_tables) {
    gives("const %a: u8[1,1,2,2] = [1,2,2,4] const %s: f32[] = [1.0] const %z: u8[] = [1]",
          "%y: ? = " MS "QLinearGlobalAveragePool(%a, %s, %z, %s, %z)", LIST(2));
    gives("const %a: u8[1,2,1,2] = [1,10,3,20] const %s: f32[] = [1.0] const %z: u8[] = [0]",
          "%y: ? = " MS "QLinearGlobalAveragePool(%a, %s, %z, %s, %z) {channels_last=1}", LIST(2, 15));
    gives("const %a: u8[1,1,1,4] = [1,3,5,9] const %s: f32[] = [1.0] const %h: f32[] = [0.5]",
          "%y: ? = " MS "QLinearAveragePool(%a, %s, _, %h) {kernel_shape=[1,2], strides=[1,2]}", LIST(4, 14));
    gives("const %a: i8[2] = [-8,8] const %s: f32[] = [0.5]",
          "%y: ? = " MS "QLinearLeakyRelu(%a, %s, _, %s) {alpha=0.25}", LIST(-2, 8));
    gives("const %a: u8[2,2] = [0,0,5,5] const %s: f32[] = [0.5] const %t: f32[] = [0.00390625] const %z: u8[] = [3]",
          "%y: ? = " MS "QLinearSoftmax(%a, %s, _, %t, %z) {opset=13}", LIST(131, 131, 131, 131));
    gives("const %a: u8[2,2] = [0,0,5,5] const %s: f32[] = [0.5] const %t: f32[] = [0.003] const %z: u8[] = [3]",
          "%y: ? = " MS "QLinearSoftmax(%a, %s, _, %t, %z) {opset=12, axis=0}", LIST(16, 16, 157, 157));
    gives("const %a: u8[2] = [2,4] const %b: u8[1] = [9] const %h: f32[] = [0.5] const %o: f32[] = [1.0]"
          "const %z: u8[] = [0]",
          "%y: ? = " MS "QLinearConcat(%h, %z, %a, %o, %z, %b, %h, %z) {axis=0}", LIST(4, 8, 9));
    gives("const %k: bool[2] = [1,0] const %a: u8[2] = [2,4] const %b: u8[1] = [9] const %h: f32[] = [0.5]"
          "const %o: f32[] = [1.0] const %z: u8[] = [1]",
          "%y: ? = " MS "QLinearWhere(%k, %a, %o, %z, %b, %h, %z, %h, %z)", LIST(3, 9));
    gives("const %a: u8[2,2] = [2,4,6,9] const %h: f32[] = [0.5] const %z: u8[] = [1]",
          "%y: ? = " MS "QLinearReduceMean(%a, %h, %z, %h, _) {axes=[1], keepdims=0}", LIST(2, 6));
    gives("const %a: u8[2,2] = [200,100,6,9]", "%y: ? = " MS "ReduceSumInteger(%a) {axes=[1], keepdims=0}",
          LIST(300, 15));
}
Test(ms_ops, quantised_products) {
#define PARTS                                                                                                          \
    "const %a: u8[1,2] = [3,5] const %b: i8[2,2] = [1,2,3,4] const %s: f32[] = [0.5] const %t: f32[2] = [1.0,2.0]"     \
    "const %za: u8[] = [1] const %zb: i8[2] = [0,1] const %k: i32[2] = [10,20] const %zy: u8[] = [7]"
    gives(PARTS, "%y: ? = " MS "QGemm(%a, %s, %za, %b, %t, %zb, %k)", LIST(12, 34));
    gives(PARTS, "%y: ? = " MS "QGemm(%a, %s, %za, %b, %t, %zb, %k, %s, %zy) {alpha=0.5}", LIST(19, 41));
    gives(PARTS " const %f: f32[2] = [0.25,0.5]", "%y: ? = " MS "MatMulIntegerToFloat(%a, %b, %s, %t, %za, %zb, %f)",
          LIST(7.25, 14.5));
    gives("const %a: f32[1,2] = [0.0,255.0] const %b: i8[2,1] = [7,3] const %s: f32[] = [0.5]",
          "%y: ? = " MS "DynamicQuantizeMatMul(%a, %b, %s)", LIST(382.5));
    gives("const %a: i16[1,2] = [300,-300] const %b: i16[2,1] = [300,7]", "%y: ? = " MS "MatMulInteger16(%a, %b)",
          LIST(87900));
    gives("const %a: f32[3] = [1.0,-2.5,1e9] const %s: f32[] = [0.5] const %z: i16[] = [3]",
          "%y: ? = " MS "QuantizeLinear(%a, %s, %z)", LIST(5, -2, 32767));
}
