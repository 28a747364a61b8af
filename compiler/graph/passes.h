/* Graph passes: each a function over the whole graph, in one file of its own; the pipeline in compiler/driver.c names
 * them. */
#ifndef NN_COMPILER_GRAPH_PASSES_H
#define NN_COMPILER_GRAPH_PASSES_H
#include "ir/graph/graph.h"

/* Types, shapes and symbolically known contents of all values; expansions; folding of constants. infer.c */
bool graph_infer(struct graph *g);
/* Warns where the model declares another shape than was inferred; false after another element type. declared.c */
bool graph_declared(struct graph *g);
/* Products between DequantizeLinear and QuantizeLinear become operators over integers; bounded as docs/numbers.md says.
 * integers.c */
bool graph_integers(struct graph *g);
/* After it: why n, which reads something dequantised, is still computed in floats; NULL: it reads nothing of the kind.
 */
const char *graph_why_floats(struct graph *g, struct node *n);
/* Weights of 8 bits and fewer are unpacked where they are multiplied. few_bits.c */
bool graph_few_bits(struct graph *g);
/* Nodes of constants that inference left become constants (OP_DEQUANTIZES). infer.c */
bool graph_fold_constants(struct graph *g);
/* Nodes whose results nobody uses go. dce.c */
bool graph_dce(struct graph *g);
/* Equal nodes of a region become one. cse.c */
bool graph_cse(struct graph *g);
/* Algebraic rules (rules.h), applied until none fires; exact as docs/numbers.md says. simplify.c */
bool graph_simplify(struct graph *g);
/* Transposes move through operators to where they cancel, or to the edge of the graph; exact. transposes.c */
bool graph_transposes(struct graph *g);
/* Per-channel scales and shifts (BatchNormalization, Mul, Add ... by constants) go into the weights of the convolution
 * or product before or after them. Reassociating: listed with its bound in docs/numbers.md. affine.c */
bool graph_fold_affine(struct graph *g);
/* Each reader of a DequantizeLinear gets its own; exact. rematerialise.c */
bool graph_rematerialise(struct graph *g);
/* Computes a node whose inputs are all constants by running its definition in the interpreter: its outputs become
 * constants and it goes. false: it stays (not constant, too large, random, no tensors, or the run failed). evaluate.c
 */
bool evaluate_node(struct graph *g, struct node *n, int64_t max_elements);

/* The passes by name, for `gcc2nn opt`. */
struct graph_pass {
    const char *name, *help;
    bool (*run)(struct graph *g);
};
extern const struct graph_pass graph_passes[]; /* name NULL ends */
/* Several, separated by commas; stops at the first that fails or that the verifier refuses. */
bool run_graph_passes(struct graph *g, const char *names);
#endif
