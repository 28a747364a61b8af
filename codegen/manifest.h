/* manifest.json in parts, within codegen: manifest.c writes the file, manifest_graph.c what the kernels came from;
 * both use manifest_values.c. */
#ifndef NN_CODEGEN_MANIFEST_H
#define NN_CODEGEN_MANIFEST_H
#include "codegen/project.h"
#include <jansson.h>

/* Names of a model may not be valid UTF-8; then they are escaped. NULL: null. */
json_t *manifest_text(const struct project *w, const char *s);
json_t *manifest_lines(const struct project *w, const char *s); /* an array of its lines; empty for NULL */
/* Does the entry call it? The parts that it launches are in the same file. */
bool manifest_lists(const struct proc *p);
/* Fills of_node: origin of a node of the model (interned) -> array of the names of its kernels; `lists` owns them. */
void manifest_kernels(const struct project *w, struct map *of_node, json_t *lists);
/* The graph at the time its groups became kernels; the module must have one. */
json_t *manifest_graph(const struct project *w);
/* What is in the arena, when and where, at the typical sizes. */
json_t *manifest_plan(const struct project *w);
#endif
