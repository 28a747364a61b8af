/* What the files of the ONNX export share. onnx.c: the model, its opsets and what it takes and gives; onnx_nodes.c:
 * names, types, nodes and bodies; onnx_file.c: the bytes. Private to them. */
#ifndef NN_COMPILER_EXPORT_ONNX_EXPORT_H
#define NN_COMPILER_EXPORT_ONNX_EXPORT_H
#include "compiler/export/onnx.h"
#include "compiler/import/onnx.pb-c.h"
#include "ir/base/map.h"

struct stored {
    Onnx__TensorProto *proto; /* without data */
    const struct tensor *t;
};
struct own_nodes { /* of one operator of the compiler's own */
    const struct node *first;
    int count;
};
struct exporter {
    struct ctx *c;
    struct graph *g;
    const struct export_options *o;
    struct map names;           /* value -> its name in the file */
    struct map taken;           /* of values: interned name -> how many have asked for it */
    struct map node_names;      /* the same of nodes */
    VEC(struct stored) weights; /* in order of first use */
    VEC(struct opset) opsets;   /* in force in the file */
    struct map declared;        /* interned name -> what the model says of the value */
    VEC(struct own_nodes) own;
    int nodes;
};
/* A graph of the file while it is made. */
struct onnx_body {
    struct map given; /* values that are results already */
    VEC(Onnx__NodeProto *) nodes;
    VEC(Onnx__ValueInfoProto *) ins, outs, known;
};

/* onnx.c */
/* The operator is of this domain and newer than the opset chosen? Then a diagnostic, about origin. */
bool onnx_has(struct exporter *x, const char *op, int since, const char *origin);

/* onnx_nodes.c */
void *onnx_message(struct exporter *x, const ProtobufCMessageDescriptor *d); /* in the arena, with defaults */
const char *onnx_fresh(struct exporter *x, const char *base);                /* a name that no value has */
const char *onnx_name(struct exporter *x, const struct value *v);            /* of a value; constants become weights */
Onnx__NodeProto *onnx_node(struct exporter *x, struct onnx_body *b, const char *domain, const char *op,
                           const char *const *ins, int nins, const char *const *outs, int nouts);
void onnx_nodes(struct exporter *x, struct onnx_body *b, struct region *r);
/* r's result k under the name `as` (NULL: any): that of the node that makes it, or of a copy. */
const char *onnx_result(struct exporter *x, struct onnx_body *b, const struct region *r, int k, const char *as);
Onnx__GraphProto *onnx_graph_of(struct exporter *x, const struct onnx_body *b, const char *name);
Onnx__ValueInfoProto *onnx_info(struct exporter *x, const char *name, const struct type *t);
Onnx__TypeProto *onnx_type_of(struct exporter *x, const struct type *t); /* NULL: not known */

/* onnx_file.c: false after a diagnostic. */
bool onnx_file(struct exporter *x, Onnx__ModelProto *m, const char *path, struct exported *out);
void onnx_data(struct exporter *x, Onnx__TensorProto *p, const struct tensor *t); /* raw_data, or strings */
#endif
