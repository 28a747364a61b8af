/* What the files of the ONNX import share. onnx.c: the model; onnx_nodes.c: graphs, nodes, scopes, functions;
 * onnx_attrs.c: attributes, types, sparse tensors; onnx_claims.c: what the model says of itself; onnx_holders.c:
 * sequences and optionals as inputs; onnx_ops.c: rows and upgrades. Private to them and to tflite.c, which has the same
 * options, limits and rows. */
#ifndef NN_COMPILER_IMPORT_ONNX_IMPORT_H
#define NN_COMPILER_IMPORT_ONNX_IMPORT_H
#include "compiler/import/onnx.h"
#include "compiler/import/tensor_io.h"

/* Loops over these lists run inside loops over nodes, so they are limited; normal models are far below. */
enum {
    ONNX_NESTING = 32,
    ONNX_MAX_ATTRS = 1000,
    ONNX_MAX_INPUTS = 4096,
    ONNX_MAX_OPSETS = 1000,
    ONNX_MAX_SYMBOLS = 4096,
    ONNX_NEWEST_IR = 14
};

/* A function that is being inlined. */
struct frame {
    const Onnx__FunctionProto *function; /* NULL in the model's own graphs */
    const Onnx__NodeProto *call;
    const struct frame *caller;
    const char *prefix, *origin; /* prefix of names and of origin texts */
    int depth;
};
/* The names visible in one region, besides those of the enclosing regions. */
struct scope {
    struct scope *outer; /* NULL: nothing may be captured */
    struct region *region;
    const struct frame *frame;
    struct map names;           /* interned name -> value, or ABSENT */
    struct captured *captured;  /* of the node that owns region; NULL at the top */
    VEC(struct value *) params; /* the parameter for captured value k in this region; NULL: not used so far */
    int depth;
};
struct captured {
    VEC(struct value *) values;
    struct map number;
}; /* value -> 1 + its place */

struct unknown_op {
    const char *domain, *op, *origin;
    int version, count;
};

struct importer {
    struct ctx *c;
    struct graph *g;
    const Onnx__ModelProto *model; /* NULL: not an ONNX model */
    struct import_options o;       /* with the defaults filled in */
    struct tensor_reader reader;
    struct external external;
    struct map functions;                    /* interned key -> FunctionProto */
    struct map dim_names;                    /* interned dim_param of the model's inputs -> itself */
    bool *dim_used, *shape_used, *rank_used; /* per option */
    VEC(struct unknown_op) unknown;
    struct map told; /* interned key -> 1 + place in unknown; keys of warnings given */
    int64_t bytes;
    int nodes;
    bool stopped; /* a limit was exceeded */
};

/* onnx.c */
void onnx_start(struct importer *m, const struct import_options *o); /* options and empty tables */
void onnx_check_options(struct importer *m); /* to be called after the inputs: an option with an unknown name is a
                                              * typing error */
int onnx_version(struct importer *m, const struct frame *f, const char *domain); /* the opset in use; 0: none
                                                                                  * imported */
const char *onnx_domain(struct importer *m, const char *domain);                 /* interned; "" for ai.onnx */
void onnx_error(struct importer *m, enum diag_code code, const char *fmt, ...) NN_PRINTF(3, 4);

/* onnx_nodes.c */
bool onnx_graph(struct importer *m, struct scope *s,
                const Onnx__GraphProto *p); /* contents of a region whose inputs are declared */
bool onnx_declare(struct importer *m, struct scope *s, const char *name, struct value *v);
void onnx_functions(struct importer *m);
static inline const char *onnx_text(const char *s) { return s ? s : ""; } /* of a field that may be missing */
const char *onnx_key(struct importer *m, const char *a, const char *b,
                     const char *c); /* interned, one for each triple */

/* onnx_attrs.c */
struct type onnx_type(struct importer *m, const Onnx__TypeProto *p,
                      const char *input); /* input: names unnamed dims; NULL: dims are left out */
struct type onnx_tensor_type(struct importer *m, const Onnx__TypeProto__Tensor *p, const char *input,
                             const struct shape *given, const char *from, bool part);
expr onnx_unnamed_dim(struct importer *m, const char *input, int i);             /* a symbol for dim i */
const struct shape_option *onnx_shape_of(struct importer *m, const char *input); /* --shape, --rank; NULL: not given */
void onnx_take_ranks(struct importer *m); /* applies --rank to values that are not inputs, once all exist */
/* The attribute, with references to a function's attributes resolved; NULL: the caller does not give it. */
const Onnx__AttributeProto *onnx_resolve(const struct frame *f, const Onnx__AttributeProto *a);
enum attr_kind_result {
    ATTR_OK,
    ATTR_GRAPH,
    ATTR_BAD
} onnx_attr(struct importer *m, const char *name, const Onnx__AttributeProto *p, struct attr *out);
const struct tensor *onnx_tensor(struct importer *m, const Onnx__TensorProto *p);
const struct tensor *onnx_sparse(struct importer *m, const Onnx__SparseTensorProto *p);
const struct tensor *onnx_constant(struct importer *m, const struct scope *s,
                                   const Onnx__NodeProto *p); /* of a Constant node */

/* onnx_claims.c: what the model says of its inputs, outputs and values. At the end of the import;
 * the types that it declares are kept for graph_declared. */
void onnx_claims(struct importer *m);

/* onnx_holders.c: input number k of the model, when it is a sequence or optional whose contents are told. false: it is
 * a tensor, or nothing is known of it. */
bool onnx_holder(struct importer *m, struct scope *s, int k, const char *name, const Onnx__TypeProto *type);

/* onnx_ops.c */
void onnx_rows(struct importer *m); /* unknown operators, upgrades to the newest versions */
#endif
