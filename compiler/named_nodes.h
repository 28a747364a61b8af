/* Nodes named on the command line: for explain, and for options such as --exclude, --no-fuse and --keep. */
#ifndef NN_COMPILER_NAMED_NODES_H
#define NN_COMPILER_NAMED_NODES_H
#include "ir/graph/graph.h"

enum named_where {
    NODES_OF_TOP, /* without those in bodies */
    NODES_OF_ALL
};
/* The nodes of this name, or, name NULL, all that have a name; several nodes may share a name. */
node_list nodes_named(struct graph *g, enum named_where where, const char *name, size_t length);
/* Reports "--OPTION: no node is called NAME", with the nearest existing name; option NULL: without it. Returns
 * false. */
bool no_node_named(struct graph *g, enum named_where where, const char *option, const char *name, size_t length);
#endif
