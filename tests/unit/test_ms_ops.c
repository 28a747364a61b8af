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
/* Near halves, where one rounding more or another order of the terms gives the neighbour. Values are ONNX Runtime's, of
 * x86 with AVX2. */
Test(ms_ops, sums_are_fused_and_begin_with_the_repeated_operand) {
#define SCALES(a, b, c) "const %s: f32[] = [" a "] const %t: f32[] = [" b "] const %u: f32[] = [" c "]"
#define ZEROS(a, b, c)  "const %x: u8[] = [" a "] const %v: u8[] = [" b "] const %z: u8[] = [" c "]"
#define SUM             "%y: ? = " MS "QLinearAdd(%a, %s, %x, %b, %t, %v, %u, %z)"
    gives(SCALES("0.35", "0.07", "0.1")
              ZEROS("53", "209", "236") "const %a: u8[2] = [24,51] const %b: u8[2] = [229,154]",
          SUM, LIST(148, 191));
    gives(SCALES("0.27", "0.36", "0.38")
              ZEROS("47", "94", "41") "const %a: u8[2] = [10,10] const %b: u8[2] = [231,231]",
          SUM, LIST(145, 145));
    gives(SCALES("0.33", "0.34", "0.16")
              ZEROS("173", "212", "81") "const %a: u8[1,2] = [255,255] const %b: u8[1] = [103]",
          SUM, LIST(18, 18));
    gives(SCALES("0.09", "0.27", "0.06") ZEROS("192", "153", "193") "const %a: u8[1] = [0] const %b: u8[2] = [194,212]",
          SUM, LIST(89, 170));
    gives(SCALES("0.09", "0.27", "0.06")
              ZEROS("192", "153", "193") "const %a: u8[1,1] = [0] const %b: u8[2,1] = [194,212]",
          SUM, LIST(89, 170));
#undef SCALES
#undef ZEROS
#undef SUM
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
/* Two rows of 32 cells times 8 columns of a block each. What does not fit is said with accuracy_level 4, too. */
static void blocks_fit(const char *b, const char *scales, const char *zeros, const char *bias, const char *why) {
    struct text t = {0}, d = {0};
    text_printf(&t,
                "graph \"\"\nconst %%b: u8[%s] = splat 3 const %%s: f32[%s] = splat 0.5 const %%z: u8[%s] = splat 1 "
                "const %%k: f32[%s] = splat 1.0\nregion \"\" (%%a: f32[2,32]) {\n%%y: ? = " MS
                "MatMulNBits(%%a, %%b, %%s, %%z, _, %%k) {K=32, N=8, block_size=32, accuracy_level=4}\nreturn %%y }\n",
                b, scales, zeros, bias);
    struct graph *g = graph_parse(c, t.s, t.n, "t.gir");
    bool ok = g && graph_infer(g);
    diag_print(&c->diags, &d, false);
    if (why) cr_expect(!ok && d.s && strstr(d.s, why), "%s: no `%s` in: %s", t.s, why, d.s ? d.s : "nothing");
    else cr_expect(ok, "%s\n%s", t.s, d.s);
    text_free(&t), text_free(&d);
    done(), setup();
}
Test(ms_ops, weights_in_blocks_of_wrong_sizes) {
    blocks_fit("8,1,16", "8,1", "8,1", "8", NULL);
    blocks_fit("8,16", "8", "8", "8", NULL);
    blocks_fit("128", "8,1", "8,1", "8", "B has rank 1, not 3");
    blocks_fit("4,2,16", "8,1", "8,1", "8", "B does not have N rows: 4 and 8");
    blocks_fit("8,2,8", "8,1", "8,1", "8", "B has another number of blocks: 2 and 1");
    blocks_fit("8,1,16", "1,8", "8,1", "8", "scales: the size does not fit: 1 and 8");
    blocks_fit("8,1,16", "8,1,1", "8,1", "8", "scales: rank 3, not 2");
    blocks_fit("8,1,16", "8,1", "2,4", "8", "zero_points: the size does not fit: 2 and 8");
    blocks_fit("8,1,16", "8,1", "8,1", "7", "the bias does not have N elements: 7 and 8");
    blocks_fit("8,1,16", "8,1", "8,1", "0", "the bias does not have N elements: 0 and 8");
    blocks_fit("8,1,16", "8,1", "8,1", "1,8", "the bias has rank 2, not 1");
}
Test(ms_ops, weights_in_blocks) {
    /* two blocks of 16 weights for each of two columns: all 0x21 is 1, 2, 1, 2 ..., less a zero point of 8 or as given
     */
#define B16 "17,33,33,33,33,33,33,33,33,33,33,33,33,33,33,33" /* 16 bytes: two blocks */
    gives("const %a: f32[1,17] = [1.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0]"
          "const %b: u8[1,2,8] = [" B16 "] const %s: f32[1,2] = [1.0,10.0]",
          "%y: ? = " MS "MatMulNBits(%a, %b, %s) {K=17, N=1, block_size=16}", LIST(-7 - 7 - 70));
    gives("const %a: f32[1,17] = [1.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0]"
          "const %b: u8[1,2,8] = [" B16 "] const %s: f32[2] = [1.0,10.0] const %z: u8[1,1] = [33]"
          "const %k: f32[1] = [0.5]",
          "%y: ? = " MS "MatMulNBits(%a, %b, %s, %z, _, %k) {K=17, N=1, block_size=16}", LIST(0 + 0 - 10 + 0.5));
    /* rounded in blocks: 254 is 127 steps of 2, 2.9 one, 0.9 none and -3.1 minus two; 31.75 is 127 steps of 0.25 */
    gives("const %a: f32[1,17] = [254.0,2.9,0.9,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,-3.1,0.0,31.75]"
          "const %b: u8[1,2,8] = [" B16 "] const %s: f32[1,2] = [1.0,0.5] const %z: u8[1,1] = [2]",
          "%y: ? = " MS "MatMulNBits(%a, %b, %s, %z) {K=17, N=1, block_size=16, accuracy_level=4}",
          LIST((127 * -1 + 1 * -1 + -2 * -1) * 2 + 127 * 0.25 * 0.5));
    /* what is not a number stays so, in its row */
    gives("const %a: f32[2,16] = [nan,1.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,"
          "127.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0]"
          "const %b: u8[1,1,8] = [17,33,33,33,33,33,33,33] const %s: f32[1] = [1.0]",
          "%y: ? = " MS "MatMulNBits(%a, %b, %s) {K=16, N=1, block_size=16, accuracy_level=4}", LIST(NAN, 127 * -7));
    gives("const %a: f32[1,16] = [1.0,1.0,1.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.0,1.0]"
          "const %b: u8[8] = [127,240,0,0,0,0,0,15] const %s: f32[1] = [2.0]",
          "%y: ? = " MS "MatMulBnb4(%a, %b, %s) {K=16, N=1, block_size=16, quant_type=1}", LIST(2 * (0 + 1 + 1 + 1)));
    gives("const %a: u8[2,8] = [1,2,3,4,5,6,7,8,16,32,48,64,80,96,112,128] const %i: i64[3] = [1,-2,5]"
          "const %s: f32[2,1] = [1.0,0.5] const %p: i64[4] = [0,1,16,32]",
          "%z: ? = " MS "GatherBlockQuantized(%a, %i, %s) {block_size=16} %f: ? = Flatten(%z) {axis=0}"
          "%y: ? = Gather(%f, %p) {axis=1}",
          LIST(0.5 * (0 - 8), 0.5 * (1 - 8), 1 - 8, 0));
}
/* Queries are 0, so that all keys that are seen weigh the same. */
#define QKV                                                                                                            \
    "const %x: f32[1,2,1] = [2.0,4.0] const %w: f32[1,3] = [0.0,0.0,1.0] const %b: f32[3] = [0.0,0.0,1.0]"             \
    "const %past: f32[2,1,1,1,1] = [0.0,9.0] const %one: i32[1] = [1] const %se: i32[2] = [2,1]"                       \
    "const %m2: i32[1,2] = [0,1] const %m3: i32[1,2,2] = [1,0,1,1] const %ln: f32[1,1,1,2] = [0.0,1.0986123]"
Test(ms_ops, attention) {
    gives(QKV, "%y: ? = " MS "Attention(%x, %w) {num_heads=1}", LIST(3, 3));
    gives(QKV, "%y: ? = " MS "Attention(%x, %w, %b) {num_heads=1, unidirectional=1}", LIST(3, 4));
    gives(QKV, "%y: ? = " MS "Attention(%x, %w, _, %one) {num_heads=1}", LIST(2, 2));
    gives(QKV, "%y: ? = " MS "Attention(%x, %w, _, %se) {num_heads=1}", LIST(4, 4));
    gives(QKV, "%y: ? = " MS "Attention(%x, %w, _, %m2) {num_heads=1}", LIST(4, 4));
    gives(QKV, "%y: ? = " MS "Attention(%x, %w, _, %m3) {num_heads=1}", LIST(2, 3));
    gives(QKV, "%y: ? = " MS "Attention(%x, %w, _, %m2) {num_heads=1, mask_filter_value=-1.0986123}", LIST(3.5, 3.5));
    gives(QKV, "%y: ? = " MS "Attention(%x, %w, _, _, _, %ln) {num_heads=1}", LIST(3.5, 3.5));
    gives(QKV, "%y: ? = " MS "Attention(%x, %w, _, _, %past) {num_heads=1}", LIST(5, 5));
    gives(QKV, "%z: ?, %y: ? = " MS "Attention(%x, %w, _, _, %past) {num_heads=1}", LIST(0, 0, 0, 9, 2, 4));
    gives("const %x: u8[1,2,1] = [3,5] const %w: i8[1,3] = [0,0,1] const %b: f32[3] = [0.0,0.0,1.0]"
          "const %s: f32[] = [2.0] const %t: f32[] = [0.5] const %z: u8[] = [1]",
          "%y: ? = " MS "QAttention(%x, %w, %b, %s, %t, _, %z) {num_heads=1}", LIST(4, 4));
}
Test(ms_ops, attention_of_separate_operands) {
#define PARTS3                                                                                                         \
    "const %q: f32[1,1,2] = [0.0,0.0] const %k: f32[1,2,2] = [1.0,1.0,1.0,1.0] const %v: f32[1,2,2] = [2.0,10.0,4.0,"  \
    "30.0] const %b: f32[6] = [0.0,0.0,0.0,0.0,1.0,0.0] const %m: i32[1] = [1] const %pk: f32[1,2,1,1] = [0.0,0.0]"    \
    "const %pv: f32[1,2,1,1] = [9.0,80.0] const %ln: f32[1,1,1,2] = [0.0,1.0986123]"                                   \
    "const %p: f32[1,1,2,3,1] = [0.0,1.0,2.0,0.0,1.0,20.0]"
    gives(PARTS3, "%y: ? = " MS "MultiHeadAttention(%q, %k, %v) {num_heads=2}", LIST(3, 20));
    gives(PARTS3, "%y: ? = " MS "MultiHeadAttention(%q, %k, %v, %b, %m) {num_heads=2}", LIST(3, 10));
    gives(PARTS3, "%y: ? = " MS "MultiHeadAttention(%q, %k, %v, _, _, %ln) {num_heads=2}", LIST(3.5, 25));
    gives(PARTS3, "%y: ? = " MS "MultiHeadAttention(%q, %k, %v, _, _, _, %pk, %pv) {num_heads=2}", LIST(5, 40));
    gives(PARTS3, "%y: ? = " MS "MultiHeadAttention(%p) {num_heads=2}", LIST(2, 20));
    /* Both keys are hidden. Score and bias together are most of a last place of -10000, 2^-10; alone, each would be
     * lost. */
    gives("const %q: f32[1,1,1] = [1.0] const %k: f32[1,2,1] = [0.0004,0.0] const %v: f32[1,2,1] = [4096.0,0.0]"
          "const %m: i32[1,2] = [0,0] const %a: f32[1,1,1,2] = [0.0004,0.0]",
          "%y: ? = " MS "MultiHeadAttention(%q, %k, %v, _, %m, %a) {num_heads=1, scale=1.0}", LIST(2049));
    /* a cache with room for three, of which one is in use */
    gives("const %q: f32[1,1,1] = [0.0] const %k: f32[1,1,1] = [1.0] const %v: f32[1,1,1] = [5.0]"
          "const %pk: f32[1,1,3,1] = [0.0,0.0,0.0] const %pv: f32[1,1,3,1] = [1.0,7.0,7.0] const %n: i32[1] = [1]",
          "%o: ?, %a: ?, %c: ? = " MS "DecoderMaskedMultiHeadAttention(%q, %k, %v, _, _, %pk, %pv, %n) {num_heads=1, "
          "past_present_share_buffer=1} %f: ? = Flatten(%o) {axis=0} %g: ? = Flatten(%c) {axis=0}"
          "%y: ? = Concat(%f, %g) {axis=1}",
          LIST(3, 1, 5, 7));
}
Test(ms_ops, grouped_queries) {
#define GQA                                                                                                            \
    "const %q: f32[1,1,1] = [0.0] const %k: f32[1,1,1] = [0.0] const %v: f32[1,1,1] = [6.0]"                           \
    "const %pk: f32[1,1,2,1] = [0.0,0.0] const %pv: f32[1,1,2,1] = [1.0,2.0] const %two: i32[1] = [2]"                 \
    "const %one: i32[1] = [1] const %t: i32[] = [3] const %s: f32[1] = [0.0]"
    gives(GQA, "%y: ? = " MS "GroupQueryAttention(%q, %k, %v, %pk, %pv, %two, %t) {num_heads=1, kv_num_heads=1}",
          LIST(3));
    gives(GQA, "%y: ? = " MS "GroupQueryAttention(%q, %k, %v, %pk, %pv, %one, %t) {num_heads=1, kv_num_heads=1}",
          LIST(3.5));
    gives(GQA,
          "%a: ?, %b: ?, %y: ? = " MS
          "GroupQueryAttention(%q, %k, %v, %pk, %pv, %one, %t) {num_heads=1, kv_num_heads=1}",
          LIST(1, 6, 0));
    gives(GQA,
          "%y: ? = " MS "GroupQueryAttention(%q, %k, %v, %pk, %pv, %two, %t) {num_heads=1, kv_num_heads=1, "
          "local_window_size=2}",
          LIST(4));
    gives(GQA,
          "%y: ? = " MS "GroupQueryAttention(%q, %k, %v, %pk, %pv, %two, %t, _, _, _, _, %s) {num_heads=1, "
          "kv_num_heads=1}",
          LIST(2.25));
    /* a prompt of one, a bias for it alone, and a cache with room for two */
    gives(GQA " const %b: f32[1,1,1,1] = [0.5] const %zero: i32[1] = [0] const %1: i32[] = [1]",
          "%y: ? = " MS
          "GroupQueryAttention(%q, %k, %v, %pk, %pv, %zero, %1, _, _, _, %b) {num_heads=1, kv_num_heads=1}",
          LIST(6));
    gives("const %x: f32[1,2,4] = [1.0,2.0,3.0,4.0,5.0,6.0,7.0,8.0] const %p: i64[1] = [1]"
          "const %c: f32[3,1] = [1.0,0.0,1.0] const %s: f32[3,1] = [0.0,1.0,0.0]",
          "%y: ? = " MS "RotaryEmbedding(%x, %p, %c, %s)", LIST(-2, 1, -4, 3, 5, 6, 7, 8));
}
Test(ms_ops, packed_tokens) {
#define TOKENS                                                                                                         \
    "const %x: f32[2,2,1] = [1.0,2.0,3.0,4.0] const %n: i32[2] = [1,2] const %t: f32[3,1] = [1.0,3.0,5.0]"             \
    "const %o: i32[2,2] = [0,2,3,1] const %c: i32[3] = [0,1,3] const %w: f32[1,3] = [0.0,0.0,1.0]"                     \
    "const %b: f32[3] = [0.0,0.0,0.0]"
    gives(TOKENS, "%y: ?, %a: ?, %d: ?, %e: ? = " MS "RemovePadding(%x, %n)", LIST(1, 3, 4));
    gives(TOKENS, "%a: ?, %y: ?, %d: ?, %e: ? = " MS "RemovePadding(%x, %n)", LIST(0, 2, 3, 1));
    gives(TOKENS, "%a: ?, %d: ?, %y: ?, %e: ? = " MS "RemovePadding(%x, %n)", LIST(0, 1, 3));
    gives(TOKENS, "%a: ?, %d: ?, %e: ?, %y: ? = " MS "RemovePadding(%x, %n)", LIST(2));
    gives(TOKENS, "%y: ? = " MS "RestorePadding(%t, %o)", LIST(1, 0, 3, 5));
    gives(TOKENS, "%y: ? = " MS "PackedAttention(%t, %w, %b, %o, %c) {num_heads=1}", LIST(1, 4, 4));
    gives(TOKENS, "%y: ? = " MS "PackedMultiHeadAttention(%t, %t, %t, %b, %o, %c) {num_heads=1, scale=1e-9}",
          LIST(1, 4, 4));
}
Test(ms_ops, fused) {
#define X22 "const %x: f32[1,2,2] = [1.0,2.0,3.0,4.0] const %b: f32[2] = [10.0,20.0]"
    gives(X22, "%y: ? = " MS "BiasAdd(%x, %b, %x)", LIST(12, 24, 16, 28));
    gives(X22 "const %g: f32[1,2,1] = [2.0,0.0]", "%y: ? = " MS "GatedAdd(%x, %x, %g)", LIST(3, 6, 3, 4));
    gives(X22, "%y: ? = " MS "BiasSplitGelu(%x, %b)", LIST(11 * 22, 13 * 24));
    gives(X22, "%y: ? = " MS "BiasDropout(%x, %b, %x)", LIST(12, 24, 16, 28));
    gives("const %x: f32[1,2] = [1.0,2.0] const %b: f32[1] = [3.0]",
          "%y: ? = " MS "BiasSoftmax(%x, %b) {is_inner_broadcast=1}", LIST(0.26894142, 0.73105858));
    gives("const %x: f32[1,2] = [1.0,2.0] const %w: f32[2,1] = [3.0,-1.0] const %b: f32[1] = [-1.0]",
          "%y: ? = " MS "GemmFastGelu(%x, %w, %b)", LIST(0));
    gives("const %x: f32[1,1,1,4] = [1.0,3.0,2.0,6.0] const %s: f32[4] = [1.0,1.0,1.0,1.0] const %z: f32[4] = [0.0,0.0,"
          "0.0,5.0]",
          "%y: ? = " MS "GroupNorm(%x, %s, %z) {groups=2, activation=0, epsilon=0.0}", LIST(-1, 1, -1, 6));
    gives("const %x: f32[1,2,1,2] = [1.0,3.0,2.0,6.0] const %s: f32[2] = [1.0,1.0] const %z: f32[2] = [0.0,5.0]"
          "const %k: f32[1,2] = [7.0,8.0]",
          "%n: ?, %y: ? = " MS "SkipGroupNorm(%x, %s, %z, %k, %z) {groups=2, activation=0, channels_last=0}",
          LIST(8, 10, 15, 19));
    gives("const %i: i32[1,2] = [1,0] const %w: f32[2,2] = [1.0,3.0,2.0,2.0] const %p: f32[2,2] = [0.0,0.0,0.0,2.0]"
          "const %s: f32[2] = [1.0,1.0] const %z: f32[2] = [0.0,5.0] const %m: i32[1,2] = [1,0]",
          "%a: ?, %y: ?, %e: ? = " MS "EmbedLayerNormalization(%i, _, %w, %p, _, %s, %z, %m)", LIST(1));
    gives("const %i: i32[1,2] = [1,0] const %w: f32[2,2] = [1.0,3.0,2.0,2.0] const %p: f32[2,2] = [0.0,4.0,0.0,2.0]"
          "const %s: f32[2] = [1.0,1.0] const %z: f32[2] = [0.0,5.0]",
          "%y: ? = " MS "EmbedLayerNormalization(%i, _, %w, %p, _, %s, %z)", LIST(-1, 6, -1, 6));
    gives("const %a: f32[2,1,2] = [1.0,2.0,3.0,4.0] const %b: f32[1,2,1] = [1.0,10.0]",
          "%y: ? = " MS "FusedMatMul(%a, %b) {transBatchA=1, alpha=2.0}", LIST(42, 86));
    gives("const %a: f32[2,1] = [1.0,-2.0] const %b: f32[2,1] = [1.0,1.0]",
          "%y: ? = " MS "FusedMatMulActivation(%a, %b) {transA=1, activation=\"Relu\"}", LIST(0));
    gives("const %x: f32[2] = [3.0,4.0] const %s: f32[2] = [1.0,2.0]",
          "%y: ? = SimplifiedLayerNormalization(%x, %s) {epsilon=0.0}", LIST(0.84852814, 2.2627417));
}
Test(ms_ops, layouts) {
    gives("const %x: f32[1,1,2,2] = [1.0,2.0,3.0,4.0] const %w: f32[1,1,2,2] = [1.0,100.0,10.0,1000.0]",
          "%y: ? = " MS "NhwcConv(%x, %w) {kernel_shape=[1,2]}", LIST(4231));
    gives(
        "const %x: f32[1,1,2,1] = [1.0,-2.0] const %w: f32[2,1,1,1] = [1.0,10.0] const %z: f32[1,1,2,2] = [0.0,1.0,2.0,"
        "3.0]",
        "%y: ? = " MS "NhwcFusedConv(%x, %w, _, %z) {activation=\"Relu\"}", LIST(1, 11, 0, 0));
    gives("const %x: u8[1,1,2,2] = [1,20,3,4]", "%y: ? = " MS "NhwcMaxPool(%x) {kernel_shape=[1,2]}", LIST(3, 20));
    gives("const %x: u8[1,1,2,1] = [5,7] const %s: f32[] = [0.5] const %z: u8[] = [1] const %w: i8[2,1,1,1] = [1,3]"
          "const %zw: i8[] = [0]",
          "%y: ? = " MS "QLinearConv(%x, %s, %z, %w, %s, %zw, %s, %z) {channels_last=1}", LIST(3, 7, 4, 10));
}
Test(ms_ops, others) {
    gives("const %a: f32[2] = [1.0,2.0] const %b: f32[2] = [3.0,4.0]", "%y: ? = " MS "ComplexMul(%a, %b)",
          LIST(-5, 10));
    gives("const %a: f32[2] = [1.0,2.0] const %b: f32[2] = [3.0,4.0]", "%y: ? = " MS "ComplexMulConj(%a, %b)",
          LIST(11, 2));
    gives("const %a: f32[1,2] = [0.0,0.0] const %b: f32[2,2] = [3.0,4.0,0.0,2.0]",
          "%y: ? = " MS "CDist(%a, %b) {metric=\"euclidean\"}", LIST(5, 2));
    gives("const %a: i32[2] = [3,4]", "%y: ? = " MS "MurmurHash3(%a) {positive=0}", LIST(847579505, 1889779975));
    gives("const %x: f32[1,1,2,2] = [0.0,2.0,4.0,6.0] const %r: f32[1,4] = [0.0,0.0,1.0,1.0] const %i: i32[1] = [0]"
          "const %s: i32[2] = [3,1]",
          "%y: ? = " MS "CropAndResize(%x, %r, %i, %s)", LIST(1, 3, 5));
    gives("const %x: f32[5] = [1.0,2.0,3.0,4.0,5.0]", "%y: ? = " MS "UnfoldTensor(%x) {size=2, step=2}",
          LIST(1, 2, 3, 4));
    gives("const %x: f32[2,2] = [0.0,2.0,4.0,0.0]", "%y: ? = " MS "Inverse(%x)", LIST(0, 0.25, 0.5, 0));
    gives("const %x: f32[2] = [0.0,inf] const %z: f32[1] = [nan]", "%y: ? = " MS "IsAllFinite(%x)", LIST(0));
    gives("const %x: f32[2] = [0.0,inf] const %z: f32[1] = [nan]", "%y: ? = " MS "IsAllFinite(%x, %x) {isnan_only=1}",
          LIST(1));
    gives("const %x: f32[4] = [1.0,2.0,3.0,4.0]", "%y: ? = " MS "Rfft(%x)", LIST(10, 0, -2, 2, -2, 0));
    gives("const %x: f32[3,2] = [10.0,0.0,-2.0,2.0,-2.0,0.0]", "%y: ? = " MS "Irfft(%x) {signal_ndim=1}",
          LIST(1, 2, 3, 4));
    gives("const %t: f32[2,1] = [5.0,6.0] const %i: i64[2] = [1,0]", "%y: ? = " MS "TorchEmbedding(%t, %i)",
          LIST(6, 5));
    gives("const %t: f32[4,1] = [1.0,2.0,3.0,4.0] const %n: i64[1] = [3]",
          "%y: ? = " MS "RelativePositionBias(%t, %n, %n) {max_distance=8}", LIST(1, 1, 1, 2, 1, 1, 3, 2, 1));
    gives("const %a: f32[1] = [1.0] const %b: f32[] = [4.0]", "%y: ? = " MS "Range(%a, %b)", LIST(1, 2, 3));
    gives("const %a: f32[2] = [1.0,4.0] const %b: i32[] = [-1]", "%y: ? = " MS "ExpandDims(%a, %b)", LIST(1, 4));
    gives("const %a: f32[2] = [1.0,4.0] const %b: i64[1,2] = [1,0] const %v: f32[1] = [9.0]",
          "%y: ? = " MS "Pad(%a, %b, %v)", LIST(9, 1, 4));
    gives("const %a: f32[4] = [2.0,1.0,1.0,3.0]", "%a2: ?, %y: ?, %n: ? = " MS "Unique(%a)", LIST(0, 1, 1, 2));
    gives("const %x: f32[1,1,1,2] = [1.0,2.0] const %w: f32[1,1,1,2] = [1.0,10.0] const %p: i64[4] = [0,1,0,0]",
          "%y: ? = " MS "ConvTransposeWithDynamicPads(%x, %w, %p)", LIST(12, 20));
    gives("const %x: f32[2,2] = [1.0,2.0,3.0,4.0]", "%y: ? = " MS "Trilu(%x) {upper=0}", LIST(1, 0, 3, 4));
}
Test(ms_ops, dynamically_quantised_lstm) {
    /* one step from zero: gates i o f c of 0 + bias; h = sigmoid(o) * tanh(sigmoid(i) * tanh(c)) */
    gives("const %x: f32[1,1,1] = [0.0] const %w: i8[1,1,4] = [1,2,3,4] const %r: i8[1,1,4] = [1,2,3,4]"
          "const %b: f32[1,8] = [0.0,0.0,0.0,1.0,0.0,0.0,0.0,0.0] const %s: f32[1] = [0.5] const %z: i8[1] = [0]",
          "%a: ?, %y: ? = " MS "DynamicQuantizeLSTM(%x, %w, %r, %b, _, _, _, _, %s, %z, %s, %z) {hidden_size=1}",
          LIST(0.5 * 0.36340181));
}
/* One scale for the states of a step: the great first state of the one sequence is in it for as long as ONNX Runtime
 * has it there, and the reverse direction begins both at their ends. Values are ONNX Runtime's. */
static void lstm_gives(bool with_y, const char *more, int first, const double *want, int n) {
    static const float x[] = {0.5f, -1, 0.25f, 0.75f, -0.5f, 1}, h[] = {3, -0.5f}, scale = 0.02f;
    static const int8_t w[] = {10, -20, 30, 40}, r[] = {50, 60, -70, 90}, zero = 0;
    const int32_t lens[] = {first, 3};
    const struct arg in[] = {{x, {3, 2, 1}, 3}, {w, {1, 1, 4}, 3}, {r, {1, 1, 4}, 3}, {lens, {2}, 1},
                             {h, {1, 2, 1}, 3}, {&scale, {1}, 1},  {&zero, {1}, 1}};
    struct text t = {0};
    text_printf(
        &t, "%s = " MS "DynamicQuantizeLSTM(%%x, %%w, %%r, _, %%l, %%h, _, _, %%s, %%z, %%s, %%z) {hidden_size=1%s}",
        with_y ? "%y: ?" : "_, %y: ?", more);
    runs("%x: f32[3,2,1], %w: i8[1,1,4], %r: i8[1,1,4], %l: i32[2], %h: f32[1,2,1], %s: f32[1], %z: i8[1]", t.s, in, 7,
         0, want, n);
    text_free(&t);
}
Test(ms_ops, dynamically_quantised_lstm_of_unequal_lengths) {
    const char *back = ", direction=\"reverse\"";
    lstm_gives(true, "", 1, LIST(0.719145417, -0.136141568, 0, -0.0125691434, 0, 0.128128171));
    lstm_gives(true, "", 0, LIST(0, -0.136141568, 0, -0.0120601412, 0, 0.128623098));
    lstm_gives(true, back, 1, LIST(0.719145417, -0.10937947, 0, 0.105689242, 0, -0.0106544727));
    lstm_gives(true, back, 0, LIST(0, -0.109187059, 0, 0.10601154, 0, -0.0106544727));
    lstm_gives(false, "", 1, LIST(0.719145417, 0.128517404));
    lstm_gives(false, "", 0, LIST(0, 0.128623098));
    lstm_gives(false, back, 1, LIST(0.719145417, -0.109634086));
    lstm_gives(false, back, 0, LIST(0, -0.109187059));
}
