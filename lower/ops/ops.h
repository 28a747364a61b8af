/* What the op families share: slots, helpers of definitions and of upgrades (lower/ops/ops.c). */
#ifndef NN_LOWER_OPS_OPS_H
#define NN_LOWER_OPS_OPS_H
#include "ir/define/define.h"
#include "ir/graph/op.h"

/* Registers every family. Called once at start-up, before the first op_find. */
void ops_register_all(void);

/* The families, a file each. */
// clang-format off
#define OP_FAMILIES(F) \
    F(activation) \
    F(attention) \
    F(attention_forms) \
    F(attention_masks) \
    F(boxes) \
    F(control) \
    F(conv) \
    F(elementwise) \
    F(gather) \
    F(gradient) \
    F(image) \
    F(index) \
    F(loss) \
    F(matmul) \
    F(misc) \
    F(ml) \
    F(ml_features) \
    F(ml_labels) \
    F(ml_linear) \
    F(ml_map) \
    F(ml_svm) \
    F(ml_tree) \
    F(ms_attention) \
    F(ms_blocks) \
    F(ms_fused) \
    F(ms_gates) \
    F(ms_gqa) \
    F(ms_layout) \
    F(ms_misc) \
    F(ms_moe) \
    F(ms_nbits) \
    F(ms_quant) \
    F(ms_tokens) \
    F(norm) \
    F(pad) \
    F(pool) \
    F(quant) \
    F(random) \
    F(reduce) \
    F(regex) \
    F(resize) \
    F(rnn) \
    F(scatter) \
    F(select) \
    F(sequence) \
    F(shape) \
    F(signal) \
    F(string) \
    F(tflite_complex) \
    F(tflite_conv) \
    F(tflite_detect) \
    F(tflite_math) \
    F(tflite_reduce) \
    F(tflite_rnn) \
    F(tflite_shape) \
    F(tflite_gather) \
    F(tflite_stablehlo) \
    F(training) \
    F(vision)
// clang-format on
#define F(family) extern const struct op ops_##family[];
OP_FAMILIES(F)
#undef F

/* Slots of the common signatures. */
extern const struct op_slot slots_x[], slots_real[], slots_ab[], slots_many[], slots_y[], slots_ys[], slots_xi[];
extern const struct op_slot slots_float[], slots_num[], slots_text[], slots_ab_num[], slots_f32[], slots_gather[],
    slots_parts[];
extern const struct op_attr attrs_none[], attrs_axis0[], attrs_axis_last[];

/* ---- definitions */
enum { DIM_MAX = INT32_MAX }; /* largest run-time dim that definitions allow */
E scalar(T t);                /* the element of a tensor of one element; a literal when constant */
X zeros(int n);               /* n times index 0 */
E nmax(E a, E b);             /* max and min that give NaN when either operand is NaN */
E nmin(E a, E b);
E clampi(E i, E lo, E hi);       /* index clamped to lo..hi */
E ceil_div(E a, E b);            /* of indices, b > 0 */
bool const_int(E e, int64_t *v); /* an index known at compile time */
int64_t index_most(E e);         /* what an index is at most, as far as is known */
/* Requires t to be a vector of n elements (a scalar counts as one). If the length is only known at run time, adds a
 * check; false after a diagnostic. */
bool has_length(T t, int n, const char *what);
/* Requires that t can be broadcast to dims, but not the other way round. what: its name. */
void require_spreads(T t, X dims, const char *what);
#define FAR (INT64_C(1) << 40) /* no tensor has an axis of that length */
/* Element k of a 1-D integer input as an index, clamped to +-FAR: ends of Slice are often INT64_MAX. Only for
 * positions, since sums must not be clamped. */
E bounded_value(T t, int k);
/* Element k of a vector whose length is only known at run time; `absent` if it is shorter. */
E value_or(T t, int k, int64_t lo, int64_t hi, int64_t absent);
bool open_length(T t); /* a vector of a length that only the run knows */
E truth(bool b);
/* mask[k]: axis k (of r) is one of those in the tensor ax, whose contents may only be known at run time; *known: all
 * masks are constant. Without ax (or if it is empty): none or all. Returns the number of axes, -1 after a diagnostic.
 * If ax has open length (open_length), there may be fewer. */
enum axes_default { AXES_NONE, AXES_ALL };
int axes_mask(T ax, int r, enum axes_default empty, E *mask, bool *known);
/* The n dims that are not masked, in order. */
X kept_dims(X dims, const E *mask, int n);
/* Row-major position of i in a tensor of these dims, and back. */
E flatten_index(X i, X dims);
X unflatten_index(E flat, X dims);
/* x[...] read by the index i of a tensor of the same number of elements. */
E at_reshaped(T x, X i, X dims);
/* y, a result or scratch buffer with the given dims, as a copy of x in another shape. */
T reshaped(const char *name, T x, X dims);
void out_reshaped(int k, T x, X dims);
/* For expansions: a node in place of the expanded one, with those of its attributes that the new operator knows. */
struct node *n_with_attrs(const char *domain, const char *op_type, const V *ins, int nins, int nouts);
/* v with these dims, given as vectors that are concatenated. */
V n_in_dims(V v, const V *dims, int n);
/* [n, c, spatial...] of [n, spatial..., c], and back. */
V n_channels_first(V v);
V n_channels_last(V v);
/* v as Cast converts it to t, in ops with an attribute "saturate". */
E converted(enum dtype t, E v);
/* rint(v) + zero (NULL: none), saturated to t, which is at most 32 bits wide. */
E saturated(enum dtype t, E v, E zero);
/* The only result of a node: the numbers of x as strings, or its strings as numbers (string.c). */
void out_number_text(T x);
void out_number_of_text(enum dtype t, T x);
/* The positions of the true elements of a vector of n, in order, padded with zeros; *count: their number. */
T true_positions(T flag, E n, T *count);
/* For each element of x: the index of the first equal word; -1: none. By binary search in a sorted table. */
T positions_of_strings(T x, const struct str_elem *words, int64_t count);
/* Activation functions by ONNX name ("Relu", "HardSigmoid"): for recurrent and fused ops. NULL alpha: defaults. */
E activation(const char *name, E v, double alpha, double beta);
void activation_defaults(const char *name, double *alpha, double *beta);

/* ---- upgrades: editing nodes before inference */
struct ctx *up_ctx(struct node *n);
/* Attribute of ints (or one int) becomes constant input k, an I64 vector. No attribute: nothing happens. */
void up_attr_to_input(struct node *n, const char *attr, int k);
void up_default_int(struct node *n, const char *attr, int64_t v); /* sets the attribute if it is absent */
struct value *up_const_i64(struct node *n, const int64_t *v, int count);
/* For op.standard: a node with one result before `before` (NULL: at the end), with the name of n. */
struct value *std_node(struct node *n, struct node *before, const char *op, struct value *const *ins, int nins);
#endif
