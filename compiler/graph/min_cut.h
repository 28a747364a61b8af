/* Minimum cuts of small directed graphs, by Dinic's algorithm; for transposes.c. */
#ifndef NN_COMPILER_GRAPH_MIN_CUT_H
#define NN_COMPILER_GRAPH_MIN_CUT_H
#include "ir/base/arena.h"
#include <stdbool.h>
#include <stdint.h>

enum { CUT_SOURCE, CUT_SINK };
#define CUT_NEVER (INT64_C(1) << 50)
struct cut;
struct cut *cut_new(struct arena *a); /* with the two vertices above */
int cut_vertex(struct cut *c);
/* Adds an edge; its cost is paid if `from` is on the source's side and `to` on the sink's. */
void cut_edge(struct cut *c, int from, int to, int64_t cost);
/* false: it takes too long. Among cuts of the same cost, the one with most vertices on the source's side is found. */
bool cut_minimum(struct cut *c);
bool cut_at_sink(const struct cut *c, int vertex);
#endif
