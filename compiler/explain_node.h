/* `gcc2nn explain MODEL [NODE]`: what became of each node of a model; for a single node also its operands and results,
 * where its sizes come from, and how and why its kernel is computed as it is. */
#ifndef NN_COMPILER_EXPLAIN_NODE_H
#define NN_COMPILER_EXPLAIN_NODE_H
#include "compiler/session.h"

int explain_model(const struct options *o, const char *node); /* node NULL: all; returns the exit status */
#endif
