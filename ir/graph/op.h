/* What an op is: a row of a table, standing beside its functions in lower/ops/<family>.c (design: ops).
 * The registry is filled by lower/ops/ops.c; both IRs and all passes look ops up here. */
#ifndef NN_IR_OP_H
#define NN_IR_OP_H
#include "ir/graph/graph.h"

/* Sets of element types, for slots. */
#define TSET(t)     (UINT64_C(1) << (t))
#define TS_FLOAT    (TSET(F16) | TSET(BF16) | TSET(F32) | TSET(F64))
#define TS_SIGNED   (TSET(I8) | TSET(I16) | TSET(I32) | TSET(I64))
#define TS_UNSIGNED (TSET(U8) | TSET(U16) | TSET(U32) | TSET(U64))
#define TS_INT      (TS_SIGNED | TS_UNSIGNED)
#define TS_NUM      (TS_FLOAT | TS_INT)
#define TS_INDEX    (TSET(I32) | TSET(I64))
#define TS_F8       (TSET(F8E4M3FN) | TSET(F8E4M3FNUZ) | TSET(F8E5M2) | TSET(F8E5M2FNUZ) | TSET(F8E8M0) | TSET(F4E2M1))
#define TS_SUB      (TSET(U4) | TSET(I4) | TSET(U2) | TSET(I2))
#define TS_ANY      (~UINT64_C(0))
#define TS_REAL     (TS_ANY & ~(TSET(C64) | TSET(C128))) /* complex numbers are only moved */

/* VARIADIC: the last slot, any number; SCALAR: one element, whatever the rank; HOLDER: a sequence or optional too */
enum slot_flags { OPTIONAL = 1, VARIADIC = 2, SCALAR = 4, HOLDER = 8 };
struct op_slot {
    const char *name;
    uint64_t types;
    int flags;
}; /* name NULL ends a list */
/* Attributes that ONNX does not have: A_OURS: it marks a form that the newest version cannot express (see upgrades);
 * A_NOTE: it does not affect the node's meaning. */
enum { A_REQUIRED = 1, A_OURS = 2, A_NOTE = 4 };
struct op_attr { /* name NULL ends a list */
    const char *name;
    enum attr_kind kind;
    int flags;
    int since; /* the version that gave it the row's form; 0: it always had it */
    int64_t i; /* defaults */
    float f;
    const char *s;
};
/* The rows of such a list: A_INT("axis"), A_INT("axis", .i = -1), A_INT("axis", .flags = A_REQUIRED). */
// clang-format off
#define A_INT(...)    { .kind = AT_INT, .name = __VA_ARGS__ }
#define A_INTS(...)   { .kind = AT_INTS, .name = __VA_ARGS__ }
#define A_FLOAT(...)  { .kind = AT_FLOAT, .name = __VA_ARGS__ }
#define A_FLOATS(...) { .kind = AT_FLOATS, .name = __VA_ARGS__ }
#define A_STRING(...) { .kind = AT_STRING, .name = __VA_ARGS__ }
#define A_STRINGS(...){ .kind = AT_STRINGS, .name = __VA_ARGS__ }
#define A_TENSOR(...) { .kind = AT_TENSOR, .name = __VA_ARGS__ }
#define A_REGION(...) { .kind = AT_REGION, .name = __VA_ARGS__ }
// clang-format on
/* Rewrites a node of version <= `upto` (that was not rewritten by an earlier row) into the form of the next version.
 * Rows are in ascending order; import runs all that apply. The node may be changed in place or replaced. */
struct op_upgrade {
    int upto;
    void (*fn)(struct node *n);
};

/* Ops that own regions (If, Loop, Scan). infer sets the types of the results; with infer_region the driver infers a
 * body whose parameters have types. lower appends the statements (lower/lower.h). */
struct lowering;
enum infer_status { INFER_OK, INFER_FAILED, INFER_REPLACED }; /* REPLACED: n is gone, continue after its replacement */
struct op_control {
    enum infer_status (*infer)(struct graph *g, struct node *n, bool (*infer_region)(struct region *r));
    bool (*lower)(struct lowering *l, struct node *n);
};

/* For an operator that is linear in operands 0 and 1, the data and the weights, and adds operand 2, if any, with one
 * value for each channel (axis 1) of the result: how the weights are laid out. */
struct op_channels {
    int axis;       /* the axis of the weights that runs over the channels; -1: there is none that does only that */
    int64_t groups; /* there are this many times more channels, block after block along the weights' first axis */
};
int64_t op_channel_count(const struct tensor *w, const struct op_channels *at);
/* The channel to which element i of the weights belongs. */
int64_t op_channel_of(const struct tensor *w, const struct op_channels *at, int64_t i);
struct op_weights {
    struct op_channels out, in; /* of the result, of the data */
    bool edges;                 /* some results sum over fewer terms than others, because the data is padded */
};

/* For an operator that works along axes, whatever their order: how they are named. Operand 0 has the axes (all operands
 * do, if it is VARIADIC), results have as many; further operands concern the whole, or slices along the named axis.
 * Operators that work cell by cell need no such row. ATTR: the attribute axis. INPUT: operand 1, one axis. LIST:
 * operand 1, axes; absent: all. SLICE: operands 1 to 4 are starts, ends, axes, steps. PADS: operand 1 has pads for all
 * axes. SIZES: some operands have an entry for each axis. */
enum axes_named { AXES_UNNAMED, AXES_ATTR, AXES_INPUT, AXES_LIST, AXES_SLICE, AXES_PADS, AXES_SIZES };
struct op_axes {
    enum axes_named named;
    bool reduces;   /* sums or compares along them */
    unsigned sizes; /* AXES_SIZES: which operands, as bits; the others must be absent or empty */
};

/* For an operator that adds products of operands 0 and 1 (x and w) and operand 2 (the bias), if any: its form on
 * quantised bytes. An integer operator takes these operands, in its own order; a bias is in units of the product of
 * both scales. */
enum op_quantized { Q_END, Q_X, Q_X_SCALE, Q_X_ZERO, Q_W, Q_W_SCALE, Q_W_ZERO, Q_BIAS, Q_Y_SCALE, Q_Y_ZERO };
struct op_integers {
    const char *domain, *name; /* NULL: there is none */
    enum op_quantized ins[Q_Y_ZERO + 1];
};
struct op_in_blocks {
    const char *domain, *name; /* NULL: there is none */
};
struct op_in_integers {
    int (*scaled_axis)(const struct node *n); /* axis of w whose slices may have separate scales; -1: none */
    struct op_integers quantized, plain;      /* with quantised result; with float result */
    bool of_two_inputs;                       /* w need not be constant (computed_bytes.c) */
    /* Of floats by weights of few bits, in blocks: x, packed weights, scales, zero points, nothing, bias. */
    struct op_in_blocks blocks;
};

/* RANDOM: gives another result every time; never folded, never merged with an equal node.
 * EFFECT: is there for what it does, not for a result; never removed.
 * COMMUTES: of two operands, their order does not matter.
 * WEIGHTS: stands for weights in models that are kept small: its constants may be large.
 * PICKS: every cell of the result is one of the operands of its type, or the greatest of several.
 * VIEW: the result has the cells of operand 0 in their order; only its dims differ.
 * BLENDS: every cell of the result is a sum, a product or a mean of few cells of the operands, or one of them.
 * QUANTIZES, DEQUANTIZES: floats to codes, codes to floats; operands 1 and 2 are scale and zero point, attributes axis
 * and block_size say what has one. Of constants DEQUANTIZES is computed after the passes that want to see it.
 * FOREIGN: the user has written it; nothing runs it before the program does, so that it is not folded. */
enum op_flags {
    OP_RANDOM = 1,
    OP_EFFECT = 2,
    OP_COMMUTES = 4,
    OP_WEIGHTS = 8,
    OP_PICKS = 16,
    OP_VIEW = 32,
    OP_QUANTIZES = 64,
    OP_DEQUANTIZES = 128,
    OP_BLENDS = 256,
    OP_FOREIGN = 512
};

struct foreign_op;
struct op {
    const char *domain, *name;
    int since; /* the version of the canonical form */
    int first; /* oldest version accepted */
    const struct op_attr *attrs;
    const struct op_slot *ins, *outs;
    void (*define)(void); /* exactly one of these three */
    void (*expand)(void);
    const struct op_control *control;
    const char *as; /* for functions define and expand that serve several rows: the name under which to look it up;
                     * FOREIGN: in messages */
    const struct op_upgrade *upgrades; /* upto 0 ends */
    /* Optional, the reverse of upgrades: expresses a form of our own (A_OURS) in the newest version, by this node and
     * others around it. NULL, or why that is impossible. */
    const char *(*standard)(struct node *n);
    const char *spec;                 /* section, and every deliberate deviation */
    int flags;                        /* enum op_flags */
    int until;                        /* the last version that has it; 0: the newest */
    const struct foreign_op *foreign; /* FOREIGN: its definition (lower/ops/foreign.h) */
    struct op_axes axes;
    const struct op_in_integers *integers; /* optional */
    /* Optional. Does n only clamp floats, to *lo and *hi, which are known? */
    bool (*clamps)(const struct node *n, double *lo, double *hi);
    /* Optional. Axis k of the result is axis perm[k] of operand 0, cell by cell; false: unknown for this n. */
    bool (*permutes)(const struct node *n, int *perm);
    /* Optional. How the weights of n are laid out; false: n is not such an operator. */
    bool (*weights)(const struct node *n, struct op_weights *w);
    /* Optional. Is n scale * x + shift, with constants for each channel (axis 1) of its operand x, of which there are
     * `channels`? Gives the constants. */
    bool (*affine)(const struct node *n, const struct value *x, int64_t channels, double *scale, double *shift);
};
const struct op_attr *op_attr_named(const struct op *op, const char *name); /* NULL: there is none */
/* An attribute of n: as given, otherwise the row's default. */
int64_t node_int(const struct node *n, const char *attr);
/* Decided by the names that ONNX and its quantizers use: QuantizeLinear, DynamicQuantizeMatMul, QLinearAdd, QGemm,
 * ConvInteger. */
bool op_is_quantized(const char *op_type);

/* Registry: families are arrays ended by name NULL. */
void op_register(const struct op *family);
const struct op *op_find(const char *domain, const char *name); /* NULL if unknown */
/* The row of a model's node: a custom one if the user has given it (struct ctx), otherwise that of the registry. */
const struct op *op_of_model(const struct ctx *c, const char *domain, const char *name);
/* Its name for messages and comments; for custom operators `custom DOMAIN:NAME`. */
const char *op_shown(const struct op *op, const char *name);
int op_count(void);
const struct op *op_at(int k);        /* sorted by domain and name */
enum { OPSET_NEWEST = 28 };           /* of ai.onnx */
int opset_newest(const char *domain); /* the newest version known here; 1 for domains without versions */
/* The oldest version in which n can be written unchanged: that of the form to which upgrades lead, or of an
 * attribute. */
int node_form_since(const struct node *n);
/* Domains of operators that the compiler makes, and that model files must not contain. */
bool domain_is_ours(const char *domain);
#endif
