/* What the families of the domain "tflite" share (lower/ops/tflite.c). A row in capitals is an operator of a TensorFlow
 * Lite file: it expands to nodes of ONNX if those mean the same, otherwise to rows of this domain with names such as
 * Requantize, which no file contains. These compute in integers exactly as LiteRT's reference kernels do. Attributes:
 * the fields of the operator's options, and what the import knows of its tensors (docs/tflite.md). */
#ifndef NN_LOWER_OPS_TFLITE_H
#define NN_LOWER_OPS_TFLITE_H
#include "lower/ops/ops.h"

/* ---- quantisation of the node's tensors: real = scale * (q - zero). scale 0: not quantised */
struct quant {
    float scale;
    int64_t zero;
};
struct quant quant_in(int k);
struct quant quant_out(int k);
struct quant quant_mid(int k);  /* of an intermediate result */
bool is_quantized(int k);       /* input k holds integers that stand for reals */
bool result_is_quantized(void); /* false: a diagnostic was recorded */
enum dtype out_type(void);      /* of output 0, as the file says; NONE when it does not */
/* Scale k of input `in`, or its only one. Their number is checked against the axis that they belong to. */
double channel_scale(int in, int k);
int64_t channels_of(int in); /* how many scales: 1, or one for each channel */

/* ---- fixed point: real = multiplier * 2^(shift - 31), multiplier 0 or 2^30 .. 2^31 - 1 */
struct fixed {
    int64_t multiplier;
    int shift;
};
struct fixed fixed_of(double real);
/* round(v * f) as LiteRT's reference does it: of an i32 by a doubling high product and a rounding shift, of an i64 by a
 * multiplier of 15 bits and one rounding. Gives an i32. */
E fixed_mul(E v, struct fixed f);
E fixed_mul_by(E v, E multiplier, E shift); /* the same with run-time operands, of i32 */
E high_mul(E a, E b);                       /* rounded a * b / 2^31: two numbers of 31 fractional bits */
E rounding_shift(E v, E n);                 /* v / 2^n, halves away from zero */
E saturating_shl(E v, int n);
E exp_negative(E v);          /* exp(v), v <= 0 with 26 fractional bits; gives 31 */
E reciprocal_above_one(E v);  /* 1 / (1 + v), v in 0..1 with 31 fractional bits; gives 31 */
E logistic16(E v, int whole); /* v: an i16 with that many integer bits; gives 15 fractional bits */
E tanh16(E v, int whole);
E leading_zeros(E v); /* of a positive i32 */
E round_away(E v);    /* of floats: halves away from zero */

/* Bounds of the result: its type, narrowed by the fused activation. */
struct bounds {
    int64_t lo, hi;
};
struct bounds type_bounds(enum dtype t);
struct bounds fused_bounds(enum dtype t, struct quant q);
int64_t code_of(float real, struct quant q); /* rounded, half away from zero, and kept within i32 */
E clamped(E v, struct bounds b);
/* zero + v within the bounds, as result 0 of type t. */
void out_quantized(enum dtype t, X i, E v, int64_t zero, struct bounds b);

/* ---- expansions */
V own(const char *op, const V *ins, int nins, const struct attr *attrs, int nattrs);
#define OWN(op, ...) own(op, (const V[]){__VA_ARGS__}, (int)(sizeof((const V[]){__VA_ARGS__}) / sizeof(V)), NULL, 0)
/* Sums of x (f32 rows) times w (codes, [K, N]) times scales (one, or one for each of N), as hybrid operators have it.
 */
V hybrid_sums(V x, V w, V scales);
/* Renames the node to another operator of the domain, with all inputs and attributes. */
void become(const char *op);
/* A node like it with other inputs and additional attributes; NULL after a diagnostic. */
V own_alike(const char *op, const V *ins, int nins, const struct attr *more, int nmore);
void expand_to(const char *op); /* one node of ONNX with the same inputs, and the fused activation */
/* Expansions of BY_NAME rows: to the operator of ONNX; to the one of this domain; to the latter only for quantised
 * inputs. */
void exp_as_onnx(void), exp_as_own(void), exp_as_either(void);
V activated(V v); /* by the attribute fused_activation_function */
V transposed(V v, const int64_t *perm, int n);
V channels_first(V v); /* [N, ..., C] -> [N, C, ...] */
V channels_last(V v);
V int_vector(V v); /* as i64, a vector */
V reshaped_to(V v, const int64_t *dims, int n);
V scalar_of(V v);
/* Elements of a constant integer input; -1 and a diagnostic if it is not constant or has more than max. */
int const_ints(int k, int64_t *v, int max);
int v_rank(V v);
bool known_dim(V v, int axis, int64_t *n);
V complex_part(V v, bool imaginary); /* of complex numbers, as floats */
/* table[x - lowest], for 8 bit x: any function of one number. f gives the entry for the code q, of a curve or none. */
typedef float (*curve)(float v);
void out_table(enum dtype to, int64_t (*f)(int64_t q, curve of), curve of);

/* The activations of float results, and their rows. */
#define T8  (TSET(I8) | TSET(U8))
#define T16 (T8 | TSET(I16))
extern const struct op_slot tfl_any1[], tfl_any2[], tfl_any3[], tfl_many[];
extern const struct op_attr tfl_attrs[]; /* options whose absent fields are 0 */
#define TFLITE(name, slots, fn, text)                                                                                  \
    { "tflite", name, 1, 1, tfl_attrs, slots, slots_ys, .expand = fn, .spec = text }
#define BY_NAME(name, slots, fn, to, text)                                                                             \
    { "tflite", name, 1, 1, tfl_attrs, slots, slots_ys, .expand = fn, .as = to, .spec = text }
#define AS_ONNX(name, slots, fn) TFLITE(name, slots, fn, "as ONNX")
#define DEFINED(name, attrs, slots, fn, text)                                                                          \
    { "tflite", name, 1, 1, attrs, slots, slots_y, .define = fn, .spec = text }
#endif
