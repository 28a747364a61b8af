/* ONNX model to graph IR: the first step of every compilation. What comes out is sorted, closed (no body refers
 * outward), of the newest opset, free of functions and Constant nodes, and verified. */
#ifndef NN_COMPILER_IMPORT_ONNX_H
#define NN_COMPILER_IMPORT_ONNX_H
#include "ir/graph.h"
#include <stdint.h>

struct dim_option {
    const char *name;
    int64_t lo, hi, ref;
}; /* --dim N=1..64@8, N=4; ref 0: not given */
struct shape_option {
    const char *name;
    int rank;
    int64_t dims[32];
}; /* --shape x=1x3x?x?; ? is -1 */
struct import_options {
    const struct dim_option *dims;
    int ndims;
    const struct shape_option *shapes;
    int nshapes;
    bool keep_inputs;  /* weights that the model lists as inputs too stay inputs */
    bool keep_unknown; /* nodes of unknown operators stay, without a row (inspect) */
    int max_depth;     /* nested bodies and functions; 0: 32 */
    int max_nodes;     /* after inlining; 0: 2^18 */
    int64_t max_bytes; /* constants that had to be copied or expanded; 0: 4 GiB */
};
/* NULL: diagnostics were recorded; all unsupported operators in one run. The file stays mapped as long as the process.
 */
struct graph *import_onnx(struct ctx *c, const char *path, const struct import_options *o);
/* The same from memory, which must live as long as the graph. path: for messages and external data. */
struct graph *import_onnx_bytes(struct ctx *c, const char *path, const uint8_t *data, size_t n,
                                const struct import_options *o);
#endif
