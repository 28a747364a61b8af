/* ONNX model to graph IR: the first step of every compilation. The resulting graph is sorted, closed (bodies refer to
 * no outer values), in the newest opset, without functions and Constant nodes, and verified. */
#ifndef NN_COMPILER_IMPORT_ONNX_H
#define NN_COMPILER_IMPORT_ONNX_H
#include "ir/graph/graph.h"
#include <stdint.h>

struct dim_option {
    const char *name;
    int64_t lo, hi, ref;
    bool if_there; /* only for models that have the symbol; not an error for others */
};                 /* --dim N=1..64@8, N=4; ref 0: not given */
struct shape {
    int rank;
    int64_t dims[32]; /* -1: any */
};
/* --shape x=1x3x?x?, and of sequences s=3x?,4x? and s=empty, of optionals o=none; or the same from data. */
struct shape_option {
    const char *name;
    bool none; /* an optional that holds nothing */
    int n;     /* tensors: 1, or the elements of a sequence */
    const struct shape *v;
    const char *from; /* for messages: "--shape", or the file */
};
struct import_options {
    const struct dim_option *dims;
    int ndims;
    const struct shape_option *shapes;
    int nshapes;
    const struct said_rank *ranks; /* --rank, of inputs and of other values */
    int nranks;
    /* The contents of input number k, a sequence or optional without --shape. NULL: not known; after a diagnostic the
     * import fails. */
    const struct shape_option *(*contents)(void *env, int k, const char *name, enum value_kind kind);
    void *env;
    const char *signature; /* TFLite: the entry of that name; NULL: the only one, or the first graph */
    bool keep_inputs;      /* weights that the model lists as inputs too stay inputs */
    bool keep_unknown;     /* keep nodes of unknown operators, without a row (inspect) */
    int max_depth;         /* nested bodies and functions; 0: 32 */
    int max_nodes;         /* after inlining; 0: 2^18 */
    int64_t max_bytes;     /* constants that had to be copied or expanded; 0: 4 GiB */
};
/* NULL: diagnostics were recorded, for all unsupported operators in one run. data must live as long as the graph; path:
 * for messages and external data. To read files: import_model (tflite.h). */
struct graph *import_onnx_bytes(struct ctx *c, const char *path, const uint8_t *data, size_t n,
                                const struct import_options *o);
/* other_formats.c: for a file or folder that is not an ONNX model: says what it is and how to convert it. false: it is
 * not recognised, and nothing was said. */
bool other_format_file(struct diags *d, const char *path, const uint8_t *data, size_t n);
bool other_format_folder(struct diags *d, const char *path);
#endif
