/* Groups: which nodes become one kernel. Decided by the class of the stages that the nodes' definitions emit, never by
 * declared traits. Between graph passes and lowering; see docs/groups.md. */
#ifndef NN_LOWER_GROUP_H
#define NN_LOWER_GROUP_H
#include "ir/graph/graph.h"
#include "ir/loop/loop.h"
#include "lower/machine/machine.h"

/* The classes into which grouping sorts problems (lower/problem/problem.h). VIEW: a bare read. MAP: no reduction.
 * WINDOW, ROW: reduces; WINDOW has an index that contains both an axis of the result and a reduced variable. CONTRACT:
 * a sum of products of two reads, bare or less a zero point. OPAQUE: calls, sizes, scatter, data-dependent gathers. */
enum stage_class { CLASS_VIEW, CLASS_MAP, CLASS_ROW, CLASS_WINDOW, CLASS_CONTRACT, CLASS_OPAQUE };
const char *stage_class_name(enum stage_class k);

/* Runs each definition once per node and graph, and answers the questions below from the resulting stages (classify.c).
 * Stale once a pass has changed the node: make new ones. */
struct probes;
struct probes *probes_new(struct graph *g);
struct ctx *probes_ctx(const struct probes *q);
/* The class of one node; and for operand k whether it is read at the output's own index ("identity"), or not at all
 * ("unread"), as when Shape only needs the sizes. */
struct node_class {
    enum stage_class cls;
    bool identity[32], unread[32];
    bool product;  /* class ROW, but sums of products of two matrices, one of which is changed before */
    bool channels; /* it sums over axis 1 of its operand, possibly in groups, into axis 1 of its result */
    bool calls;    /* it calls kernel texts, which need plain buffers */
    bool checks;   /* sizes are checked at run time before the stages */
    struct block stmts;
    VEC(struct stmt *) stages; /* its stages, over buffers that all nodes share; none if opaque */
    const struct stmt *sum;    /* the sum of products of two reads, which are the factors; NULL: there is none of that
                                * form */
    expr factors[2];
};
struct buf *probed_operand(struct probes *q, struct value *v); /* the buffer that the stages read for v */
/* The operand or result of n whose buffer is b. NULL: none. */
struct value *probed_value(struct probes *q, const struct node *n, const struct buf *b);
const struct node_class *classify_node(struct probes *q, struct node *n);
/* Does this use of a value read its cells? */
bool use_reads(struct probes *q, const struct use *u);
/* The border that n's reads of operand k would like along each axis: cells outside of the tensor, for which all reads
 * have the same fill value: 0, or the zero point of integers. false: none, or not bounded by constants. */
bool node_halo(struct probes *q, struct node *n, int k, int64_t lo[32], int64_t hi[32], double *fill);
/* Does n only permute the axes of an operand (a transpose), and of which? *inner: the last axis stays last. *part: it
 * also takes only the first cells of an axis, or adds axes of size one; what is outside of such a part may be inside of
 * the operand. */
bool node_permutes(struct probes *q, struct node *n, int *operand, bool *inner, bool *part);
/* Does each cell of n's result depend only on the cells at the same position of its operands, with broadcasting? Then
 * the order of the axes does not matter. */
bool node_is_cellwise(struct probes *q, struct node *n);
/* Is v made by sums (a product, a window), or computed from such cell by cell in the same kernel? */
bool value_follows_sums(struct probes *q, const struct value *v);
/* With plain layouts, is n's result the storage of an operand from cell *off on? (If n has checks: provided they
 * pass.) */
bool node_is_view(struct probes *q, struct node *n, int *operand, expr *off);
/* Does n divide by open sizes for each cell, to find indices in its operands? */
bool node_divides(struct probes *q, struct node *n);

struct group {
    int id;
    enum stage_class cls; /* of the anchor; ROW if stages share rows */
    VEC(struct node *)
    nodes;                    /* in order; only the last one's result is read outside. Control nodes and opaque ones are
                               * alone */
    VEC(struct node *) views; /* views before them that have no group: the nodes read their operands directly */
    struct node *anchor;
    const char *refused;       /* why the group ended: a reason code, for dumps; NULL: there was no reader */
    const struct node *reader; /* the reader that could not join */
};
struct groups {
    VEC(struct group *) list;
    struct map of_node;
}; /* list is topologically sorted */
/* Nodes with those names stay alone; with fuse false, every node. m NULL: rows may have any size. */
struct node_names {
    const char *const *v;
    int n;
};
bool node_named(const struct node_names *names, const struct node *n);
struct groups *group_region(struct probes *q, struct region *r, const struct machine *m, bool fuse,
                            struct node_names alone);
void groups_print(struct text *t, const struct groups *gs);
/* The text for a reason code: "it reads at another index". */
const char *group_reason_text(const char *refused);
#endif
