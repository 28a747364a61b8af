/* What became of each node of the model, and why: recorded while passes work on the graph, reported in manifest.json
 * and by --dump-after=nodes. A node's origin has a line for each node of the model that it stands for: its own, then
 * those that were merged into it. */
#ifndef NN_IR_TRACE_H
#define NN_IR_TRACE_H
#include "ir/base/map.h"
#include "ir/base/text.h"
#include "ir/base/vec.h"

struct graph;
struct node;
/* ALIVE: a node of the graph stands for it. MERGED: another one does its work, too. REMOVED: it is not needed. */
enum source_state { SOURCE_ALIVE, SOURCE_MERGED, SOURCE_REMOVED };
struct source_node {
    const char *origin;
    enum source_state state;
    const char *pass, *rule, *why; /* why is NULL for ALIVE; rule may be NULL */
    const char *into;              /* MERGED: the origin of a remaining node */
};
typedef VEC(struct source_node) sources;
/* State while passes run. */
struct trace {
    VEC(const char *) origins; /* of the model's nodes, in its order */
    struct map known, fates;   /* by origin */
    const char *pass, *rule, *why, *into;
};

/* A node of the model. */
void trace_source(struct graph *g, const char *origin);
void trace_pass(struct graph *g, const char *pass); /* the current pass */
/* The reason for removals from now on. Texts live as long as the graph; rule may be NULL. */
void trace_because(struct graph *g, const char *rule, const char *why);
/* ... and the node of this origin does their work. */
void trace_into(struct graph *g, const char *origin);
/* Called when a node of this origin is removed. */
void trace_removed(struct graph *g, const char *origin);
/* From now on `into` also stands for what n stood for. */
void trace_merge(struct node *into, const struct node *n);
/* Every node of the model, once. */
sources trace_end(struct graph *g);
const char *source_state_name(enum source_state s);
void sources_print(struct text *t, const sources *s);
#endif
