/* Graph passes: each a function over the whole graph, in one file of its own; the pipeline in compiler/driver.c names
 * them. */
#ifndef NN_COMPILER_GRAPH_PASSES_H
#define NN_COMPILER_GRAPH_PASSES_H
#include "ir/graph/graph.h"

/* Types, shapes and symbolically known contents of all values; expansions; folding of constants. infer.c */
bool graph_infer(struct graph *g);
/* Warns where the declared shape differs from the inferred one; false after another element type. declared.c */
bool graph_declared(struct graph *g);
/* Products between DequantizeLinear and QuantizeLinear become operators over integers; bounded as docs/numbers.md says.
 * integers.c */
bool graph_integers(struct graph *g);
/* After fold_integers: why n, which reads dequantised values, is still computed in floats; NULL: it does not read
 * any. */
const char *graph_why_floats(struct graph *g, struct node *n);
/* Weights of 8 bits and fewer are unpacked where they are multiplied. few_bits.c */
bool graph_few_bits(struct graph *g);
/* Nodes of constants that inference kept become constants (OP_DEQUANTIZES). infer.c */
bool graph_fold_constants(struct graph *g);
/* Removes nodes whose results are unused. dce.c */
bool graph_dce(struct graph *g);
/* Merges equal nodes of a region. cse.c */
bool graph_cse(struct graph *g);
/* Algebraic rules (rules.h), applied until none fires; exact as docs/numbers.md says. simplify.c */
bool graph_simplify(struct graph *g);
/* Moves transposes through operators to where they cancel, or to the edge of the graph; exact. transposes.c */
bool graph_transposes(struct graph *g);
/* Folds per-channel scales and shifts (BatchNormalization, Mul, Add ... by constants) into the weights of the
 * convolution or product before or after them. Reassociating: listed with its bound in docs/numbers.md. affine.c */
bool graph_fold_affine(struct graph *g);
/* Gives each reader of a DequantizeLinear its own copy; exact. rematerialise.c */
bool graph_rematerialise(struct graph *g);
/* Computes a node with only constant inputs by running its definition in the interpreter; its outputs become constants
 * and it is removed. false: it stays (not constant, too large, random, not a tensor, or the run failed). evaluate.c */
bool evaluate_node(struct graph *g, struct node *n, int64_t max_elements);

/* The passes by name, for `gcc2nn opt`. */
struct graph_pass {
    const char *name, *help;
    bool (*run)(struct graph *g);
};
extern const struct graph_pass graph_passes[]; /* name NULL ends */
/* Runs several passes, separated by commas; stops at the first that fails or after which the verifier fails. */
bool run_graph_passes(struct graph *g, const char *names);
#endif
