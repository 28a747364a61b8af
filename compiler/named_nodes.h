/* Nodes that the command line names: for explain, and for options such as --exclude, --no-fuse and --keep. */
#ifndef NN_COMPILER_NAMED_NODES_H
#define NN_COMPILER_NAMED_NODES_H
#include "ir/graph/graph.h"

enum named_where {
    NODES_OF_TOP, /* not those in bodies */
    NODES_OF_ALL
};
/* Those called so, or, name NULL, those that have a name; a name may be that of several, or of none. */
node_list nodes_named(struct graph *g, enum named_where where, const char *name, size_t length);
/* "--OPTION: no node is called NAME", with the nearest of those that there are; option NULL: without it. false. */
bool no_node_named(struct graph *g, enum named_where where, const char *option, const char *name, size_t length);
#endif
