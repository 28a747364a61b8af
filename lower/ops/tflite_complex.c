/* TensorFlow Lite: spectra and complex numbers. Complex numbers are only moved by the loops; here they are made of two
 * floats and taken apart again, as the 64 bits that nn_c64 is in memory, the real part in the lower half. */
#include "lower/ops/tflite.h"

static E bits_of(E v) { return cast(U64, bitcast_(U32, v)); }
/* [..., 2] of floats to complex numbers. */
static void op_complex(void) {
    T x = in(0);
    int last = rank(x) - 1;
    int64_t parts;
    if (fail_if(last < 0 || !const_int(dim(x, last), &parts) || parts != 2, E_SHAPE,
                "the last axis must have 2 elements"))
        return;
    X i = axes(sub_list(shape(x), 0, last));
    E re = bits_of(at(x, push(i, idx(0)))), im = bits_of(at(x, push(i, idx(1))));
    out(0, C64, i, bitcast_(C64, or_(re, shl_(im, typed(U64, 32)))));
}
static void op_complex_part(void) {
    T x = in(0);
    X i = axes(shape(x));
    E v = bitcast_(U64, at(x, i));
    if (int_attr("imaginary")) v = shr_(v, typed(U64, 32));
    out(0, F32, i, bitcast_(F32, cast(U32, v)));
}
V complex_part(V v, bool imaginary) {
    struct node *n = n_node_in("tflite", "ComplexPart", &v, 1, 1);
    node_set_attr(n, attr_int("imaginary", imaginary));
    return n_inferred(n);
}

static void exp_real(void) { gout(0, complex_part(gin(0), false)); }
static void exp_imag(void) { gout(0, complex_part(gin(0), true)); }
static void exp_complex_abs(void) {
    V re = complex_part(gin(0), false), im = complex_part(gin(0), true);
    if (re && im) gout(0, N_OP("Sqrt", N_OP("Add", N_OP("Mul", re, re), N_OP("Mul", im, im))));
}
static V scalar_i64(int64_t v) { return reshaped_to(N_INTS(v), NULL, 0); }
/* Half of the spectrum along the last axis, then the spectrum along the one before. */
static void exp_rfft2d(void) {
    int rank = v_rank(gin(0));
    if (fail_if(rank < 2, E_RANK, "an input of rank %d", rank)) return;
    V x = N_OP("Unsqueeze", gin(0), N_INTS(-1)), lengths = int_vector(gin(1));
    for (int k = 1; k >= 0; k--) {
        V length = N_OP("Gather", lengths, scalar_i64(k));
        x = N_WITH("DFT", ATTRS(attr_int("onesided", k)), x, length, scalar_i64(rank - 2 + k));
    }
    gout(0, OWN("Complex", x));
}

static const struct op_slot s_complex[] = {{"x", TSET(C64), 0}, {0}},
                            s_rfft[] = {{"x", TSET(F32), 0}, {"lengths", TS_INDEX, 0}, {0}};
const struct op ops_tflite_complex[] = {
    TFLITE("RFFT2D", s_rfft, exp_rfft2d, "by ONNX DFT"),
    TFLITE("REAL", s_complex, exp_real, "the real part"),
    TFLITE("IMAG", s_complex, exp_imag, "the imaginary part"),
    TFLITE("COMPLEX_ABS", s_complex, exp_complex_abs, "the root of the sum of squares"),
    DEFINED("Complex", tfl_attrs, slots_f32, op_complex, "pairs of floats"),
    DEFINED("ComplexPart", tfl_attrs, s_complex, op_complex_part, "real or imaginary"),
    {0},
};
