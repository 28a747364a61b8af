/* The builder of definitions: how an op says what it computes (design: ops, "The builder").
 *
 * A definition is run with one node current (thread-local; the one deliberate implicit context, docs/adr/0002). It
 * reads inputs and attributes, builds scalar expressions over index variables and emits statements: stages, sizes,
 * kernel calls, checks. Run for inference the types of the results are read and the statements dropped; run for
 * lowering and for the interpreter the statements are the op.
 *
 * Builder calls never fail: a wrong use records a diagnostic at the node and gives poison, which everything accepts. */
#ifndef NN_IR_DEFINE_H
#define NN_IR_DEFINE_H
#include "ir/graph/graph.h"
#include "ir/loop/loop.h"

typedef expr E;               /* scalar value, condition, or index */
typedef struct def_tensor *T; /* NULL: absent or poison */
enum { X_MAX_LIST = 36 };
typedef struct {
    int n;
    E v[X_MAX_LIST];
} X; /* a list: dims, axes, indices */

/* ---- the node */
int n_in(void); /* inputs given, trailing absent ones not counted */
int n_out(void);
T in(int k); /* NULL when absent */
bool has(T t);
bool wants(int k);     /* output k is used by somebody */
enum dtype dtype(T t); /* storage type */
enum dtype acc(T t);   /* accumulator type: f32 for the small floats, i32 for 8 bit, i64 for wider */
int rank(T t);
E dim(T t, int k); /* IDX */
X shape(T t);
E numel(T t);
const struct tensor *const_of(T t); /* or NULL */
bool has_attr(const char *name);    /* given in the model */
int64_t int_attr(const char *name); /* given or default of the row */
double float_attr(const char *name);
const char *str_attr(const char *name);             /* a word: without NUL; "" when absent */
int ints_attr(const char *name, const int64_t **v); /* count; 0 when absent */
int floats_attr(const char *name, const float **v);
const struct tensor *tensor_attr(const char *name);
int axis_attr(const char *name, T t); /* normalised to 0 .. rank-1; diagnostic when outside */
int norm_axis(int64_t axis, int rank);
enum dtype type_attr(const char *name); /* an int attribute holding an ONNX type code; NONE when absent */

/* ---- contents of small integer inputs */
/* Element k of an integer tensor as an index: constant, expression over symbols, or, when known only at run time, a
 * produced symbol with range lo..hi defined by a `size` statement. */
E value(T t, int k, int64_t lo, int64_t hi);
bool values_known(T t); /* all elements known at compile time (maybe symbolically) */
/* Number of elements of a 1-D (or 0-D) tensor when that is constant; -1 and a diagnostic otherwise. */
int count_of(T t);
/* The same for a vector whose length determines the rank of result 0, which is base + sign * length. If only the run
 * knows the length, the rank may be given otherwise (rank_said); then the length is checked at run time. */
int count_by_rank(T t, int base, int sign);
/* The rank of result 0 according to --rank, to what is known already, or to the model's declaration; -1: unknown. */
int rank_said(void);
void rank_unsaid(void); /* the diagnostic */
/* Element k of any constant float/int tensor as double (scalars such as Clip's min); false when not constant. */
bool const_value(T t, int64_t k, double *v);
E everywhere(T t); /* the value that all elements are known to have, however many there are; NULL: unknown, or they
                    * differ */

/* ---- lists */
X list0(void);
X list1(E a);
X list2(E a, E b);
X list3(E a, E b, E c);
X cat(X a, X b);
X push(X a, E e);
X drop(X a, int k);                /* without element k */
X put(X a, int k, E e);            /* element k replaced */
X splice(X a, int k, int n, X by); /* n elements from k replaced by a list */
X sub_list(X a, int k, int n);
E product(X a); /* IDX product; 1 for the empty list */

/* ---- index variables; names are for people ("oc"), NULL: "i0", "i1" ... */
X axes(X extents);
X axes_named(X extents, const char *names); /* names separated by blanks: "n oc oh ow" */
E raxis(E extent, const char *name);
X raxes(X extents, const char *names);

/* ---- scalar expressions. Literals take the type of the other operand; IDX meets integers as i64. */
E num(double v);
E idx(int64_t v);
E typed(enum dtype value_type, double v);
E neutral(enum red_op op, enum dtype stored);
E least(enum dtype value_type);    /* the initial value for max, below all others: -inf or the smallest integer */
E greatest(enum dtype value_type); /* the same for min */
E add(E a, E b), sub(E a, E b), mul(E a, E b), div_(E a, E b), mod_(E a, E b), fma_(E a, E b, E c);
E min_(E a, E b), max_(E a, E b), neg(E a), abs_(E a), sqrt_(E a), floor_(E a), ceil_(E a), trunc_(E a), rint_(E a);
E lt(E a, E b), le(E a, E b), gt(E a, E b), ge(E a, E b), eq(E a, E b), ne(E a, E b);
E and_(E a, E b), or_(E a, E b), xor_(E a, E b), not_(E a), shl_(E a, E b), shr_(E a, E b);
E sel(E cond, E a, E b);
E cast(enum dtype to_storage, E a); /* to a storage type: value cast plus rounding to it */
E bitcast_(enum dtype value_type, E a);
E is_nan(E a);
E val(E index);      /* an index as i64 value */
E index_of(E value); /* an integer value as index; nothing is proved about it: clamp or wrap it */
/* Math functions of templates/kernels/math.lir by name ("exp", "log", "tanh", "erf", "sin" ...), for F32 and F64. */
E fn1(const char *name, E a);
E fn2(const char *name, E a, E b);
/* Functions of strings and characters by name (ir/expr/native.h). */
E native_call(const char *name, const E *args);
#define NATIVE(name, ...) native_call(name, (const E[]){__VA_ARGS__})
#define exp_(a)           fn1("exp", a)
#define exp_term_(a)      fn1("exp_term", a) /* a <= 0: a term of a sum whose greatest term is 1 */
#define log_(a)           fn1("log", a)
#define tanh_(a)          fn1("tanh", a)
#define erf_(a)           fn1("erf", a)
#define sigmoid_(a)       fn1("sigmoid", a)

/* ---- access */
E at(T t, X i);            /* element; every index must be in range or guarded */
E known_at(T t, X i);      /* the same; but if the element is known, its value without reading it */
E at_or(T t, X i, E fill); /* fill where any index is outside */
/* A run-time index value made safe: negative wraps by n, outside sets the fault flag and reads 0. */
E wrap_index(E v, E n);
/* An index that is below n only thanks to an earlier `require`: sizes that are equal at run time may have different
 * names. */
E within(E i, E n);
/* Indices of t for the result index i under numpy broadcasting (t's rank <= i.n); dims not known to be 1 or equal
 * read index select(d==1, 0, i). */
X bcast(T t, X i);
/* Result shape of broadcasting; emits checks for dims that cannot be proved compatible. */
X bcast_shape(const T *ts, int n);

/* ---- statements */
/* name[axes] = value, an intermediate tensor. axes must be index variables (from axes*). */
T stage(const char *name, enum dtype t, X axes, E value);
/* name[axes] = op over r of value, from the identity (init NULL) or init. */
T reduce(const char *name, enum dtype t, X axes, enum red_op op, X r, E value, E init);
void out(int k, enum dtype t, X axes, E value); /* result k by a stage; value is cast to t's value type and rounded */
void out_reduce(int k, enum dtype t, X axes, enum red_op op, X r, E value, E init);
T result(int k, enum dtype t,
         X dims); /* declares result k, to be filled by a kernel call or by stages through `stage_into` */
T scratch(const char *name, enum dtype t, X dims);
T const_table(const char *name, const struct tensor *t); /* a constant that the node brings */
T kept_bytes(const char *name, E n); /* memory for the bytes of strings that the node makes, until the run ends */
void stage_into(
    T t, X axes, X index,
    E value); /* t[index] = value for all axes: a scatter; index must be injective or the last write wins in order */
void stage_apart(T t, X axes, X index, E value); /* the same, if all indices are different; in any order */
/* A kernel of templates/kernels/<name>.lir: bufs in parameter order, sizes in the order of its symbols. `type` replaces
 * $T, the type of buffer k (0 to 9) $k. */
void call_kernel(const char *name, enum dtype type, const T *bufs, int nbufs, const E *args, int nargs);
/* The text as a procedure of m; types: those of its first n buffers. */
struct proc *kernel_of_text(struct ctx *c, struct module *m, const char *name, enum dtype type, const enum dtype *types,
                            int n);
/* A foreign function on whole tensors; with `each`, on the slices at all values of those leading indices, in any order.
 * ops and numbers as its parameters require; grid: six sizes for its GPU body, or NULL. */
struct foreign;
struct foreign_slice {
    T t;
    bool each; /* otherwise it gets all of t */
};
void call_foreign(struct foreign *f, const struct foreign_slice *ops, int nops, const E *numbers, int nnumbers, X each,
                  const E *grid);
/* A size that a kernel computed: element k of integer tensor t, as a new produced symbol in lo..hi. */
E size_from(const char *name, T t, int k, E lo, E hi);
/* A condition that must hold: folds to nothing if it is proved, gives a diagnostic if it is refuted, otherwise becomes
 * a run-time check. The diagnostic ends with the numbers of comparisons that fail, provided they are written inside of
 * the parentheses. */
#define require(cond, ...) (require_begin(), require_that(cond, __VA_ARGS__))
void require_begin(void);
void require_that(E cond, const char *fmt, ...) NN_PRINTF(2, 3);
E multiple_of(E a, E n);       /* a % n == 0 */
const char *size_text(E size); /* for messages: a number, or an expression over the names of symbols */
void fail(enum diag_code code, const char *fmt, ...) NN_PRINTF(2, 3); /* the node cannot be compiled */
void help(const char *text);                                          /* what to do about the last `fail` */
/* cond; if it holds the node cannot be compiled: `if (fail_if(...)) return;` */
#define fail_if(cond, ...) ((cond) && (fail(__VA_ARGS__), true))

/* ---- expansions: an op as other nodes (run with .expand). Values are graph values. */
typedef struct value *V;
struct node *
def_node(void); /* the node that is expanded or defined: for attributes of kinds without an accessor, and regions */
struct arena *def_arena(void); /* of its compilation */
V gin(int k);                  /* input value, NULL when absent */
void gout(int k, V v);         /* result k */
V n_op(const char *op_type, int nout_index, const V *ins, int nins, const struct attr *attrs, int nattrs);
#define N_OP(op, ...)                                                                                                  \
    n_op(op, 0, (const V[]){__VA_ARGS__}, (int)(sizeof((const V[]){__VA_ARGS__}) / sizeof(V)), NULL, 0)
/* The same with attributes: N_WITH("Concat", ATTRS(attr_int("axis", 1)), x, y). */
#define ATTRS(...)                                                                                                     \
    (const struct attr[]){__VA_ARGS__}, (int)(sizeof((const struct attr[]){__VA_ARGS__}) / sizeof(struct attr))
#define N_WITH(op, attrs, ...)                                                                                         \
    n_op(op, 0, (const V[]){__VA_ARGS__}, (int)(sizeof((const V[]){__VA_ARGS__}) / sizeof(V)), attrs)
V n_const(const struct tensor *t);
struct tensor *n_tensor(enum dtype t, const int64_t *dims, int rank); /* zeroed, for n_const */
V n_const_i64(const int64_t *v, int n);                               /* 1-D */
#define N_INTS(...)                                                                                                    \
    n_const_i64((const int64_t[]){__VA_ARGS__}, (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)))
V n_const_f(enum dtype t, double v); /* scalar */
struct node *n_node(const char *op_type, const V *ins, int nins,
                    int nouts); /* several outputs, attributes through node_set_attr */
struct node *n_node_in(const char *domain, const char *op_type, const V *ins, int nins, int nouts);
/* The same for the domain gcc2nn: operators that only occur in expansions. Its results have types. */
struct node *n_private(const char *op_type, const V *ins, int nins, int nouts, const struct attr *attrs, int nattrs);
V n_inferred(struct node *n); /* its first result; NULL for NULL and after a diagnostic */
V n_cast(V v, enum dtype to); /* v itself if it has that type */
V n_transpose(V v, const int64_t *perm, int n);
V n_dim(V v, int k); /* dim k as a vector of one i64 */
struct attr attr_int(const char *name, int64_t v);
struct attr attr_float(const char *name, double v);
struct attr attr_str(const char *name, const char *v);
struct attr attr_ints(const char *name, const int64_t *v, int n);
struct attr attr_floats(const char *name, const float *v, int n);
int gdims(V v, E *dims); /* rank (or -1) and dims, known in expansions of inferred graphs */

/* ---- control (If, Loop, Scan: .control): see lower/ops/control.c */

/* ---- running definitions (the driver's side) */
/* Infers the types (and symbolically known contents) of n's outputs by running its definition. false: diagnostics. */
bool def_infer(struct graph *g, struct node *n);
/* Checks only what every row specifies: arity, element types, kinds of attributes. For operators with regions. */
bool def_check(struct graph *g, struct node *n);
/* Runs n's definition and appends its statements to `into`, with buffers of `p` for n's inputs and outputs given by
 * `buf_of` (called once for each; may make them). Stages of the node get the node's origin as comment. */
bool def_emit(struct graph *g, struct node *n, struct module *m, struct proc *p, struct block *into,
              struct buf *(*buf_of)(void *env, struct value *v), void *env);
/* Replaces n by the nodes of its expansion. */
bool def_expand(struct graph *g, struct node *n);
const struct fn *math_fn(struct ctx *c, const char *name,
                         enum dtype t); /* from templates/kernels/math.lir; NULL if none */
#endif
