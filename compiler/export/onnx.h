/* Graph IR to ONNX file: the way back from import. What is written is accepted by onnx.checker and runs in ONNX Runtime
 * with the results that the graph has. Called by `compile --emit=onnx`. */
#ifndef NN_COMPILER_EXPORT_ONNX_H
#define NN_COMPILER_EXPORT_ONNX_H
#include "ir/graph/graph.h"

struct export_options {
    int opset;     /* of ai.onnx; 0: the model's own, or the least above it that has all nodes */
    bool external; /* large weights in PATH.data, beside the file, also where the file could hold them */
};
struct exported {
    const char *file;
    const char *data; /* that of the weights; NULL: they are in the model */
    int opset, nodes; /* of ai.onnx; with those of bodies */
    int64_t weights;  /* bytes */
};
/* Of a graph that inference saw with keeps_operators, all is written that the model had; without that, operators that
 * it took apart may have no words. Writes g to `path`, and PATH.data where the model would have 2 GiB or more; both
 * appear when they are whole. g may be as it is after import or after any graph pass; where it has forms of our own, it
 * gets those of ONNX, which mean the same. false: a diagnostic names the node, input or output that ONNX has no words
 * for (E_SAY), or the file that cannot be written. out may be NULL; its paths live as long as g.
 */
bool export_onnx(struct graph *g, const char *path, const struct export_options *o, struct exported *out);
#endif
