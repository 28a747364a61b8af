/* The graph IR: nodes, values, regions. First form of a model after import; graph passes rewrite it, lowering reads it.
 *
 * A region is a list of nodes with parameters and results, and is closed: what a body captures from outside is an extra
 * input of the owning node and an extra parameter of the region (import does this). Text form: docs/graph-ir.md. */
#ifndef NN_IR_GRAPH_H
#define NN_IR_GRAPH_H
#include "ir/base/tensor.h"
#include "ir/base/vec.h"
#include "ir/expr/expr.h"
#include "ir/graph/holder.h"
#include "ir/graph/trace.h"

enum type_kind { TY_NONE, TY_TENSOR, TY_SEQUENCE, TY_OPTIONAL, TY_MAP };
/* dims are index expressions over symbols. rank < 0: unknown (before inference). */
struct type {
    enum type_kind kind;
    enum dtype dtype; /* TENSOR: storage type; MAP: key type */
    int rank;
    const expr *dims;        /* [rank] */
    const struct type *elem; /* SEQUENCE, OPTIONAL: element; MAP: value */
};

struct map;
struct node;
struct region;
struct use {
    struct node *node;
    struct region *region;
    int index;
}; /* input of a node, or result of a region */
/* Each element of a tensor in terms of its indices, such as those of Range. */
struct elements {
    const struct var *const *axes;
    int naxes;
    expr is;
};
struct value {
    int id;
    const char *name; /* as in the model, unescaped; "" for values without one */
    struct type type;
    struct node *def;          /* NULL for parameters and constants */
    struct region *param_of;   /* set for parameters */
    int index;                 /* output number of def, or parameter number */
    const struct tensor *init; /* constant */
    const expr
        *elems; /* symbolically known contents of a small integer tensor, row-major I64/I32/BOOL values; or NULL */
    int nelems;
    const struct elements *each; /* the same in terms of indices, valid for all dims; or NULL */
    VEC(struct use) uses;
};

enum attr_kind {
    AT_INT,
    AT_FLOAT,
    AT_STRING,
    AT_TENSOR,
    AT_INTS,
    AT_FLOATS,
    AT_STRINGS,
    AT_REGION,
    AT_TENSORS,
    AT_TYPE
};
struct attr {
    const char *name;
    enum attr_kind kind;
    int n; /* length of the list kinds */
    union {
        int64_t i;
        float f;
        struct str_elem s;
        const struct tensor *t;
        const struct tensor *const *ts;
        const int64_t *is;
        const float *fs;
        const struct str_elem *ss;
        struct region *region;
        const struct type *type;
    } u;
};

struct op;
struct node {
    int id;
    const char *domain, *op_type, *name; /* domain "" is ai.onnx */
    int version;                         /* opset version of the domain; after import's upgrades the newest one */
    const struct op *op;                 /* row, or NULL when the registry has none */
    VEC(struct value *) ins;             /* NULL: absent optional */
    VEC(struct value *) outs;            /* NULL: not used */
    VEC(struct attr) attrs;
    struct region *in;
    struct node *prev, *next;
    const char *origin;           /* `node 17 "conv1" (Conv)`, for diagnostics and comments; see ir/graph/trace.h */
    VEC(const struct sym *) syms; /* produced symbols, in the order the definition asks for them */
};
/* For "%.*s": only the node's own origin, without those of nodes merged into it. */
#define OWN_ORIGIN(n) (int)strcspn((n)->origin, "\n"), (n)->origin
struct region {
    struct graph *graph;
    struct node *owner; /* NULL for the top region */
    const char *name;
    VEC(struct value *) params, results;
    struct node *first, *last;
    bool unsettled; /* a loop's body while the types of its parameters are still being found, so nothing may be decided
                     * by them */
};
/* What the model declares about an output or another value, to be compared with what is inferred. */
struct declared {
    const char *name;
    int output; /* its number; -1: it is not an output */
    enum dtype dtype;
    int rank;                /* -1: not declared */
    const int64_t *dims;     /* [rank]; -1: not declared, or a name */
    const char *text;        /* "f32[N,3]" */
    const struct type *held; /* of an output that is not a tensor; nothing else is declared then */
};
struct said_rank { /* --rank: of the value of that name */
    const char *name;
    int rank;
};
struct opset {
    const char *domain;
    int version;
};
struct metadata {
    const char *key, *value;
};
#define ROUNDED_LEAST 1e-36 /* a block of floats whose magnitudes are smaller is rounded to zeros */
/* Products of bytes: what the user allows to be rounded to bytes in blocks, and what the target gains by. */
struct byte_products {
    bool operands, weights; /* floats that weights in blocks multiply; constant weights of floats */
    bool signed_weights;    /* take less time than unsigned ones */
    bool computed;          /* products where neither factor is constant take less time in bytes than in floats */
    int64_t least;          /* columns, and rows, of weights from which rounding these saves time */
};
struct graph {
    struct ctx *ctx;
    const char *name, *file;
    int64_t file_bytes; /* of the model and its external data; 0: not read from a file */
    struct region *top;
    VEC(struct opset) opsets;
    VEC(const struct sym *) syms; /* input symbols, in order of first use */
    VEC(struct metadata) metadata;
    VEC(const char *) outputs;   /* names of the top region's results, which passes may replace by other values */
    holders taken, given;        /* inputs and outputs that are not tensors */
    states kept;                 /* inputs that the next run takes from outputs */
    VEC(const char *) rules_off; /* names of rules that graph_simplify leaves out */
    struct trace trace;
    VEC(struct declared) declared;
    VEC(struct said_rank) ranks;
    bool keeps_operators; /* inference keeps operators that a model file can contain, even if they are defined by
                           * others */
    struct byte_products bytes;
    bool quantized; /* the model contains operators that round to quantisation steps */
    int next_value, next_node;
    int copies, unrolled; /* number of nodes copied because of If, and of loops over sequences */
    bool chose_wrong;     /* inference failed in a branch of an If whose condition was known */
};

/* ---- building and editing; use lists are kept */
struct graph *graph_new(struct ctx *c, const char *name);
int graph_said_rank(const struct graph *g, const char *name); /* the rank given by --rank for the value of that name, or
                                                               * -1 */
struct region *region_new(struct graph *g, struct node *owner, const char *name);
struct value *region_param(struct region *r, const char *name, struct type t);
void region_result(struct region *r, struct value *v);
void graph_output(struct graph *g, struct value *v, const char *name); /* a result of the top region */
struct value *graph_const(struct graph *g, const char *name,
                          const struct tensor *t);                  /* type and (small integers) elems are set */
struct value *graph_ints(struct graph *g, const int64_t *v, int n); /* a constant of rank 1 */
struct value *graph_scalar(struct graph *g, enum dtype t, int64_t v);
struct value *graph_scalar_f32(struct graph *g, const char *name, double v);
/* Appended to r, or put before `before` when not NULL. Outputs are new values without type. */
struct node *node_new(struct region *r, struct node *before, const char *domain, const char *op_type,
                      struct value *const *ins, int nins, int nouts);
struct value *node_in(const struct node *n, int k);               /* input k; NULL: there is none */
int values_given(struct value *const *v, int n);                  /* without those that are absent at the end */
bool node_reads_any(const struct node *n, const struct map *set); /* is an input among these values? */
bool node_is_used(const struct node *n);                          /* by other nodes, or for its effect */
struct value *node_out(struct node *n, int k, const char *name);  /* creates output k if it is missing */
void node_set_input(struct node *n, int k, struct value *v);      /* v may be NULL; grows the list */
void node_drop_input(struct node *n, int k);                      /* later inputs move up */
void node_remove(struct node *n);                                 /* its outputs must be unused */
/* Where a walk over r goes on after n, which may have been replaced: its successor, or what now stands in its place.
 * prev: n's predecessor before that, NULL if it was the first. */
struct node *node_after(const struct region *r, const struct node *n, const struct node *prev);
void nodes_remove_between(struct node *from, struct node *to); /* nothing else uses them */
void value_replace(struct value *old, struct value *by);       /* every use of old */
void region_set_result(struct region *r, int k, struct value *v);
void node_set_attr(struct node *n, struct attr a);              /* replaces one of the same name */
void node_set_int(struct node *n, const char *name, int64_t v); /* the same for an integer; the name is copied */
void node_drop_attr(struct node *n, const char *name);
const struct attr *node_attr(const struct node *n, const char *name);
struct region *node_region(const struct node *n, const char *attr_name);
const struct sym *graph_sym(struct graph *g, const char *name, int64_t lo,
                            int64_t hi); /* input symbol by name, made on first use */
struct type type_tensor(struct ctx *c, enum dtype t, const expr *dims, int rank);
bool type_equal(const struct type *a, const struct type *b);
bool type_same_dims(const struct type *a, const struct type *b);     /* rank and dims, by expression */
bool type_has_one_element(const struct type *t);                     /* every known dim is 1 */
bool type_may_have_one_element(struct ctx *c, const struct type *t); /* and dims that are only known at run time can be
                                                                      * 1 */
struct node *value_only_reader(const struct value *v);   /* NULL: it has several readers or none, or is a result */
bool value_is_result(const struct value *v);             /* of its region */
bool value_is_holder(const struct value *v);             /* a sequence, optional or map */
bool node_is(const struct node *n, const char *op_type); /* an operator of ai.onnx; false for NULL */
void type_print(struct text *t, const struct type *ty);
const char *type_text(struct ctx *c, const struct type *ty);
void dim_print(struct text *t, expr dim); /* as type_print prints it */
/* Moves the nodes of `from` (closed) in front of `before`, parameters replaced by args; results[] gets the results. */
void region_inline(struct region *from, struct node *before, struct value *const *args, struct value **results);
void region_drop_results(struct region *r);
/* Appends a copy of n, including its regions, to r. values: the value that replaces one in the copy; n's results are
 * added to it. Values that are not in it stay the same. */
struct region *region_copy(struct node *owner, const struct region *r, struct map *values); /* the same, of a body */
struct node *node_copy(struct region *r, const struct node *n, struct map *values);
bool region_is_settled(const struct region *r); /* neither it nor a surrounding region is `unsettled` */
/* `node 17 "conv1" (Conv)`, prefixed by `outer` for nodes of bodies and functions (NULL: none); strings of the model
 * are escaped. */
const char *origin_text(struct ctx *c, const char *outer, int number, const char *name, const char *op_type);
/* All nodes of r and of the regions below, definitions before uses. */
typedef VEC(struct node *) node_list;
void each_node(struct region *r, void (*fn)(void *env, struct node *n), void *env);

/* ---- text and rules */
void graph_print(struct text *out,
                 const struct graph *g); /* large constants as `const %w: f32[64,3] ...` with a hash */
void node_attrs_print(struct text *out, const struct node *n); /* "kernel_shape=[3,3], group=2", without bodies */
struct graph *graph_parse(struct ctx *c, const char *text, size_t n, const char *file);
/* Order (definitions before uses, no cycle), use lists, region closure, arity, attribute kinds. Records diagnostics. */
bool graph_verify(struct graph *g, const char *after);
bool graph_verify_as(struct graph *g, const char *after, enum diag_code code); /* after a pass whose mistakes are not
                                                                                * ours */
/* Topological sort of each region; false and E_GRAPH on a cycle. */
bool graph_sort(struct graph *g);
#endif
