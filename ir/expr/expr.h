/* Expressions: hash-consed, simplified by their constructors. Shared by both IRs: dims of the graph IR are index
 * expressions; the loop IR uses them for extents, indices, conditions and values.
 *
 * One node type serves index expressions (type IDX) and values (the value types of dtype.h). Equal expressions are the
 * same pointer. There is no separate simplify pass: rebuilding through the constructors (x_map, x_subst) simplifies.
 * Rule names (S1, D1, B2 ...) refer to docs/loop-ir.md.
 *
 * Index expressions are kept in one linear form  c + sum k_i * atom_i,  atoms sorted by id.  Their division and modulo
 * are floor operations. Values: integer division truncates, N6 of docs/numbers.md holds for every overflow.
 * Constructors never fail: operands that do not fit give the poison expression, and a diagnostic is the caller's work.
 */
#ifndef NN_IR_EXPR_H
#define NN_IR_EXPR_H
#include "ir/base/ctx.h"
#include "ir/base/dtype.h"
#include "ir/base/map.h"
#include <stdbool.h>
#include <stdint.h>

typedef const struct expr *expr;
struct buf;
struct tensor;

/* UNARY and BINARY: operands and result of one type. COMPARE: two operands of one type, a BOOL. INDEX: between index
 * expressions and values. */
enum xop_class { XC_LEAF, XC_INDEX, XC_UNARY, XC_BINARY, XC_COMPARE, XC_OTHER };

/* op, text name, number of operands (-1: any), class */
// clang-format off
#define XOPS(X) \
    X(POISON, "poison", 0, LEAF) \
    X(CONST, "const", 0, LEAF)      /* i or f */ \
    X(VAR, "var", 0, LEAF)          /* IDX: a loop variable */ \
    X(SYM, "sym", 0, LEAF)          /* IDX: a symbol: input dim or produced size */ \
    X(ARG, "arg", 0, LEAF)          /* value: parameter number i of a function (struct fn) */ \
    X(LIN, "lin", -1, INDEX)        /* IDX: i + sum coef[k] * arg[k] */ \
    X(PROD, "prod", 2, INDEX)       /* IDX: product of two atoms, neither constant */ \
    X(TOIDX, "toidx", 1, INDEX)     /* IDX: an integer value used as an index; opaque */ \
    X(GUARD, "guard", 2, INDEX)     /* IDX: guard(v, n): v when 0 <= v < n, else 0 and the program's fault flag is set */ \
    X(IDXVAL, "idx", 1, INDEX)      /* I64: the value of an index expression */ \
    X(LOAD, "load", -1, OTHER)      /* buf[arg...]; with has_fill the last arg is the value outside of the buffer */ \
    X(ADD, "+", 2, BINARY) \
    X(SUB, "-", 2, BINARY) \
    X(MUL, "*", 2, BINARY) \
    X(DIV, "/", 2, BINARY) \
    X(MOD, "%", 2, BINARY) \
    X(FMA, "fma", 3, OTHER)         /* a*b+c, one rounding */ \
    X(MIN, "min", 2, BINARY)        /* a < b ? a : b */ \
    X(MAX, "max", 2, BINARY)        /* a > b ? a : b */ \
    X(NEG, "neg", 1, UNARY) \
    X(ABS, "abs", 1, UNARY) \
    X(SQRT, "sqrt", 1, UNARY) \
    X(FLOOR, "floor", 1, UNARY) \
    X(CEIL, "ceil", 1, UNARY) \
    X(TRUNC, "trunc", 1, UNARY) \
    X(RINT, "rint", 1, UNARY)       /* to nearest, ties to even */ \
    X(AND, "and", 2, BINARY)        /* this and the next three: BOOL logical, integers bitwise */ \
    X(OR, "or", 2, BINARY) \
    X(XOR, "xor", 2, BINARY) \
    X(NOT, "not", 1, UNARY) \
    X(SHL, "shl", 2, BINARY)        /* by 0 .. width-1, else 0 */ \
    X(SHR, "shr", 2, BINARY)        /* the same; keeps the sign of signed types */ \
    X(LT, "<", 2, COMPARE)          /* BOOL, like the next three; index or value operands */ \
    X(LE, "<=", 2, COMPARE) \
    X(EQ, "==", 2, COMPARE) \
    X(NE, "!=", 2, COMPARE) \
    X(SELECT, "select", 3, OTHER)   /* arg[0] ? arg[1] : arg[2]; lazy: the arm not taken may load out of bounds */ \
    X(CAST, "cast", 1, OTHER)       /* to type; float to integer saturates, integer to integer wraps */ \
    X(BITCAST, "bitcast", 1, OTHER) /* same width, same bits */ \
    X(ROUND, "round", 1, OTHER)     /* F32 through storage type `i` (F16, BF16, F8 ...) and back; I32 wrapped to I8 U8 ... */ \
    X(TEXT, "text", 2, OTHER)       /* text(b[i], n): the n bytes of buffer b from cell i on, as a STR */ \
    X(CALL, "call", -1, OTHER)      /* fn(arg...) */
// clang-format on

enum xop {
#define X(id, text, n, class) X_##id,
    XOPS(X)
#undef X
        X_COUNT
};

/* What proofs may assume about a variable whose loop only runs if the maximum `clamp` in its extent equals its operand
 * `is`: it is `var`, which has that operand in its extent (prove.c). */
struct unclamped {
    expr clamp, is, var;
};
/* A loop variable: runs from 0 to extent-1. `name` is the schedule's name of its loop ("acc.oc"); id makes it unique.
 */
struct var {
    const char *name;
    int id;
    expr extent;
    const struct unclamped *unclamped; /* or NULL */
};
/* A symbol with its known range. Produced symbols are defined by a `size` statement, others by a model input's dim.
 * ref: the size that planning and the choice of schedules assume (--dim N=1..64@8); 0 when none was given. */
struct sym {
    const char *name;
    int id;
    int64_t lo, hi;
    bool produced;
    int64_t ref;
};

/* A scalar function of the program, written in IR: let-free body over X_ARG leaves (sharing is by pointer).
 * Math functions come from templates/kernels/math.lir; ulp bounds are stated there. Without a body: ir/expr/native.h.
 */
struct fn {
    const char *name;
    int nargs;
    enum dtype type, args[4];
    expr body;
    int id;
    bool noinline; /* compiled separately instead of being inlined */
};

/* What an expression or its operands contain, not counting the extents of variables; set when it is made. */
enum x_holds {
    XF_POISON = 1 << 0,
    XF_VAR = 1 << 1,
    XF_SYM = 1 << 2,
    XF_PRODUCED = 1 << 3, /* a produced symbol; XF_SYM as well */
    XF_ARG = 1 << 4,
    XF_LOAD = 1 << 5,
    XF_TOIDX = 1 << 6,
    XF_GUARD = 1 << 7,
    XF_CALL = 1 << 8,
    XF_INDEX_TEST = 1 << 9, /* a comparison of index expressions */
    XF_CLAMP = 1 << 10,     /* a maximum with a constant */
    XF_UNCLAMPED = 1 << 11, /* a variable that has `unclamped` */
};
struct expr {
    uint8_t op, type;  /* enum xop, enum dtype (a value type or IDX) */
    uint8_t has_fill;  /* LOAD */
    uint16_t n;        /* operands */
    uint16_t holds;    /* enum x_holds, several */
    uint32_t hash, id; /* id: order of creation, gives every sort its order */
    union {
        int64_t i; /* CONST of integer type, BOOL, IDX; LIN's constant; ARG's number; ROUND's storage type */
        double f;  /* CONST of F32 (exact) and F64 */
        const struct var *var;
        const struct sym *sym;
        struct buf *buf;     /* LOAD */
        const struct fn *fn; /* CALL */
    } u;
    const int64_t *coef; /* LIN: n coefficients, none 0 */
    expr arg[];
};

/* ---- leaves */
struct var *var_new(struct ctx *c, const char *name, expr extent);
/* A variable for each of the extents, called PREFIX0, PREFIX1 ..: v, and as expressions. */
void vars_over(struct ctx *c, const char *prefix, const expr *extents, int n, const struct var **v, expr *at);
void var_unclamp(struct ctx *c, struct var *v); /* sets `unclamped`; called by var_new (prove.c) */
struct sym *sym_new(struct ctx *c, const char *name, int64_t lo, int64_t hi, bool produced);
expr x_poison(struct ctx *c);
expr x_int(struct ctx *c, int64_t v);                            /* IDX constant */
expr x_const_i(struct ctx *c, enum dtype value_type, int64_t v); /* integer or BOOL; wraps to the type */
expr x_const_f(struct ctx *c, enum dtype value_type, double v);  /* F32 (rounded) or F64 */
expr x_num(struct ctx *c, enum dtype value_type, double v);      /* any value type; for strings 0 gives the empty one */
expr x_bool(struct ctx *c, bool v);
expr x_var(struct ctx *c, const struct var *v);
expr x_sym(struct ctx *c, const struct sym *s);
expr x_arg(struct ctx *c, int number, enum dtype type);

/* ---- operations. Both operands have one type; IDX gives the linear form, values fold constants where exact. */
expr x_add(struct ctx *c, expr a, expr b);
expr x_sub(struct ctx *c, expr a, expr b);
expr x_mul(struct ctx *c, expr a, expr b);
expr x_div(struct ctx *c, expr a, expr b); /* IDX: floor */
expr x_mod(struct ctx *c, expr a, expr b); /* IDX: floor; integers: sign of a; floats: fmod */
expr x_min(struct ctx *c, expr a, expr b);
expr x_max(struct ctx *c, expr a, expr b);
expr x_fma(struct ctx *c, expr a, expr b, expr d);
expr x_un(struct ctx *c, enum xop op, expr a);          /* NEG ABS SQRT FLOOR CEIL TRUNC RINT NOT */
expr x_bin(struct ctx *c, enum xop op, expr a, expr b); /* any binary op, dispatches to the above */
expr x_cmp(struct ctx *c, enum xop op, expr a, expr b); /* LT LE EQ NE; proves index comparisons (B1, B2) */
expr x_and(struct ctx *c, expr a, expr b);
expr x_or(struct ctx *c, expr a, expr b);
expr x_not(struct ctx *c, expr a);
expr x_select(struct ctx *c, expr cond, expr a, expr b);
expr x_cast(struct ctx *c, enum dtype value_type, expr a); /* also from and to BOOL; IDX -> value via IDXVAL */
expr x_bitcast(struct ctx *c, enum dtype value_type, expr a);
expr x_round(struct ctx *c, enum dtype storage, expr a); /* F32 -> F32 through F16 ..., I32 -> I32 wrapped to I8 ... */
expr x_load(struct ctx *c, struct buf *b, const expr *idx, int n, expr fill); /* fill NULL: indices are in range */
expr x_call(struct ctx *c, const struct fn *f, const expr *args);
/* The same function, compiled separately: one for each f, named after it. */
const struct fn *fn_noinline(struct ctx *c, const struct fn *f);
expr x_text(struct ctx *c, expr load, expr n); /* load: of a plain U8 buffer, n: I64 */
expr x_idxval(struct ctx *c, expr index);      /* I64 */
/* An integer value as an index; structural through IDXVAL, +, -, * by constants, min, max, select, casts of integers.
 */
expr x_toidx(struct ctx *c, expr value);
expr x_guard(struct ctx *c, expr index, expr n);

/* ---- convenience */
expr x_dot(struct ctx *c, const expr *e, const int64_t *f, int n); /* sum of e[k] * f[k], of type IDX */
static inline expr x_addi(struct ctx *c, expr a, int64_t k) { return x_add(c, a, x_int(c, k)); }
static inline expr x_muli(struct ctx *c, expr a, int64_t k) { return x_mul(c, a, x_int(c, k)); }
static inline expr x_divi(struct ctx *c, expr a, int64_t k) { return x_div(c, a, x_int(c, k)); }
static inline expr x_modi(struct ctx *c, expr a, int64_t k) { return x_mod(c, a, x_int(c, k)); }
static inline bool x_is_int(expr e, int64_t *v) {
    return e->op == X_CONST && e->type == IDX ? (*v = e->u.i, true) : false;
}
static inline bool x_is(expr e, int64_t v) { return e->op == X_CONST && e->type == IDX && e->u.i == v; }
static inline bool x_is_true(expr e) { return e->op == X_CONST && e->type == BOOL && e->u.i == 1; }
static inline bool x_is_false(expr e) { return e->op == X_CONST && e->type == BOOL && e->u.i == 0; }
/* Does e contain one of these (a set of enum x_holds)? */
static inline bool x_has(expr e, unsigned what) { return (e->holds & what) != 0; }
const char *xop_name(enum xop op);
int xop_operands(enum xop op); /* -1: any number */
enum xop_class xop_class(enum xop op);

/* ---- analysis (bounds.c, prove.c, places.c) */
/* Interval of an IDX expression over all values of its variables and symbols; NEG_INF / POS_INF when unbounded. */
void x_bounds(struct ctx *c, expr e, int64_t *lo, int64_t *hi);
/* The value assumed for a size when predicting times: `open` stands for unknown symbols. Of what a run finds there may
 * be much even where callers mostly give one: boxes, for example, are a batch of pictures. */
enum { OPEN_SIZE = 128 }; /* unless there is a reason for another value */
int64_t x_typical(struct ctx *c, expr size, int64_t open);
int64_t x_reference(struct ctx *c, expr size); /* the same; -1: it depends on a symbol for which no value was given */
/* a < b (a <= b) for all values: by the interval of the difference (B1), else by substituting symbolic last and first
 * values of loop variables (B2). false means "not proved". */
bool x_proves_lt(struct ctx *c, expr a, expr b);
bool x_proves_le(struct ctx *c, expr a, expr b);
bool x_proves_inside(struct ctx *c, expr e, expr n); /* 0 <= e < n */
/* The range of a value, whatever is loaded (ranges.c); nan: it may be NaN. */
struct x_range {
    double lo, hi;
    bool nan;
};
struct x_range x_range(expr e);
/* Additional knowledge about the contents of buffers: fn gives the range of b's cells, or false. */
typedef bool x_cells_fn(void *env, const struct buf *b, struct x_range *r);
struct x_range x_range_of(expr e, x_cells_fn *cells, void *env);
struct x_range x_range_of_data(const struct tensor *t);             /* of all its numbers; unknown if there are none */
bool x_data_is_finite(const struct tensor *t);                      /* are all its numbers finite? */
struct x_range x_range_of_both(struct x_range a, struct x_range b); /* of a value that is one of the two */
bool x_within(expr e, double lo, double hi);                        /* it is not NaN, and proved to be in that range */
bool x_fits(expr e, enum dtype t); /* proved to be in the range of that integer type; other types: false */
bool x_uses_var(struct ctx *c, expr e, const struct var *v);
bool x_uses_sym(expr e, const struct sym *s); /* also through the extents of variables */
/* Does e contain a variable or symbol that is a key of `leaves`? Does e load from b? */
bool x_uses_any(expr e, const struct map *leaves);
bool x_loads_from(expr e, const struct buf *b);
/* Coefficient of atom v in the linear form; *rest gets the remainder. false if v also occurs inside another atom. */
bool x_linear_in(struct ctx *c, expr e, const struct var *v, int64_t *coef, expr *rest);
/* The step of index *at from one iteration of v to the next, and in *at the index at v = 0; NULL: the step is not
 * constant. */
expr x_step_along(struct ctx *c, const struct var *v, expr *at);
/* Can the indices of lanes, rest + step * lane, be a vector of 32-bit integers? Indices, steps, rest and -rest must
 * fit. */
bool x_lane_places(struct ctx *c, expr place, const struct var *lane, int64_t *step, expr *rest);
/* If e depends on v only through one value, an i32 used as an index (a table lookup): that term; otherwise NULL. */
expr x_looked_up(struct ctx *c, expr e, const struct var *v);
/* Does e alternate between two places: at v = 2 i + j, is it advanced by i from the cell j * *apart further on? */
bool x_by_turns(struct ctx *c, expr e, const struct var *v, int64_t *apart);
/* Does e run through the cells of a block, whose size is the extent of v, from the cell *at on, and then continue in
 * the next block, which would be adjacent if it were *apart cells closer? */
bool x_over_blocks(struct ctx *c, expr e, const struct var *v, expr *at, expr *apart);
/* Is e constant for *run neighbours along v, and then advanced by *step, 1..*run cells: v / *run * *step? */
bool x_in_runs(struct ctx *c, expr e, const struct var *v, int64_t *run, int64_t *step);
enum { LANES_APART = 3 }; /* greatest stride, in cells, of vector loads */
/* Accesses that are not linear along v, but that vectors can load: any of the last four. */
bool x_lanes_found(struct ctx *c, expr e, const struct var *v);
/* The terms of an IDX expression, whatever its op: constant and (atom, coefficient) pairs. Returns the number of terms.
 */
int x_terms(struct ctx *c, expr e, int64_t *konst, const expr **atoms, const int64_t **coefs);

/* ---- rebuilding (map.c) */
/* Bottom-up rebuild through the constructors, each distinct node once. fn sees every node before its operands are
 * rebuilt and may return a replacement (which is not descended into), or NULL to go on. */
expr x_map(struct ctx *c, expr e, expr (*fn)(void *env, expr e), void *env);
/* The same if fn only replaces nodes that are, or contain, one of `what` (enum x_holds): all others are skipped. */
expr x_map_with(struct ctx *c, expr e, unsigned what, expr (*fn)(void *env, expr e), void *env);
/* The load e, redirected to b; its indices and fill are rebuilt with x_map. */
expr x_map_load(struct ctx *c, expr e, struct buf *b, expr (*fn)(void *env, expr e), void *env);
/* Replacement of variables and symbols. Keys: PKEY(struct var *) or PKEY(struct sym *); values: expr. */
struct subst {
    struct map map;
};
expr x_subst(struct ctx *c, expr e, const struct subst *s);
expr x_subst_leaf(void *subst, expr leaf); /* NULL: not replaced */
expr x_subst1(struct ctx *c, expr e, const struct var *v, expr by);
/* Every distinct node once, operands first. fn returns false to stop; then x_visit returns false. */
bool x_visit(expr e, bool (*fn)(void *env, expr e), void *env);
/* The same for the nodes that contain one of `what` (enum x_holds), and for loads. */
bool x_visit_with(expr e, unsigned what, bool (*fn)(void *env, expr e), void *env);
bool x_is_part(expr whole, expr e); /* is e one of those nodes? */
void x_each_load(expr e, void (*fn)(void *env, expr load), void *env);
int x_count(expr e, int most); /* its distinct nodes; `most` if there are more */

/* ---- evaluation of closed index expressions: values for variables and symbols through `get` */
bool x_eval_int(expr e, bool (*get)(void *env, expr leaf, int64_t *v), void *env, int64_t *out);
/* The same for a buffer's size, at dims that the model may not accept: as in a run, before its checks, a quotient by 0
 * is 0. */
bool x_eval_size(expr e, bool (*get)(void *env, expr leaf, int64_t *v), void *env, int64_t *out);

/* Text of an expression as in the loop IR text form; names[] by `name_of` (NULL: var name + "_" + id). */
void x_print(struct text *t, expr e, const char *(*name_of)(void *env, expr leaf), void *env);
#endif
