/* Groups: which nodes become one kernel (design: groups, views, layouts). Decided from the computed class of the stages
 * that the nodes' definitions emit, never from declared traits. Between graph passes and lowering. */
#ifndef NN_LOWER_GROUP_H
#define NN_LOWER_GROUP_H
#include "ir/graph/graph.h"
#include "ir/loop/loop.h"
#include "lower/machine/machine.h"

/* What grouping makes of a problem (lower/problem/problem.h), which it takes for what it can do: VIEW: a bare read.
 * MAP: no reduction. WINDOW, ROW: reduces, with or without an axis of the result in one index with what is reduced.
 * CONTRACT: a sum of products of two reads, bare or less a zero point. OPAQUE: calls, sizes, scatter, data-dependent
 * gathers. */
enum stage_class { CLASS_VIEW, CLASS_MAP, CLASS_ROW, CLASS_WINDOW, CLASS_CONTRACT, CLASS_OPAQUE };
const char *stage_class_name(enum stage_class k);

/* Definitions are run once for each node and graph; everything below is asked of what that gave (classify.c). Stale
 * once a pass has changed the node: make new ones. */
struct probes;
struct probes *probes_new(struct graph *g);
struct ctx *probes_ctx(const struct probes *q);
/* Class of one node; whether it reads operand k at the output's own index ("identity"), or no cell of it ("unread"):
 * Shape wants the sizes alone. */
struct node_class {
    enum stage_class cls;
    bool identity[32], unread[32];
    bool product;  /* a row, and sums of products of two matrices, one of them changed before */
    bool channels; /* it sums over axis 1 of what it reads, or group by group of it, into axis 1 of its result */
    bool calls;    /* kernel texts, which see plain buffers */
    bool checks;   /* sizes are checked at run time before the stages */
    struct block stmts;
    VEC(struct stmt *) stages; /* of those, over buffers that all nodes share; none when opaque */
    const struct stmt *sum;    /* of products of two reads, the factors; NULL: there is none, or one of another kind */
    expr factors[2];
};
struct buf *probed_operand(struct probes *q, struct value *v); /* the buffer that they read */
/* The operand or result of n that b is the buffer of. NULL: none. */
struct value *probed_value(struct probes *q, const struct node *n, const struct buf *b);
const struct node_class *classify_node(struct probes *q, struct node *n);
/* Does whoever uses a value so read cells of it? */
bool use_reads(struct probes *q, const struct use *u);
/* The border that n's reads of operand k would like along each axis: cells outside of the tensor, for which all reads
 * have one fill value: 0, or the zero point of integers. false: none, or not bounded by constants. */
bool node_halo(struct probes *q, struct node *n, int k, int64_t lo[32], int64_t hi[32], double *fill);
/* n renames the axes of an operand, and nothing else (a transpose): which one? *inner: the last axis stays the last.
 * *part: it has the first cells of an axis alone, or axes of one besides. What lies outside of a part may lie inside of
 * the operand. */
bool node_permutes(struct probes *q, struct node *n, int *operand, bool *inner, bool *part);
/* Does n compute each cell of its result from the cells at the same place, as operands broadcast, and from nothing
 * else? Then the order of the axes does not matter. */
bool node_is_cellwise(struct probes *q, struct node *n);
/* Sums make v (a product, a window), or what is computed of them cell by cell and lies in the same kernel. */
bool value_follows_sums(struct probes *q, const struct value *v);
/* Is n's result, in plain layouts, the storage of an operand from cell *off on? Where n has checks, when they have
 * passed.
 */
bool node_is_view(struct probes *q, struct node *n, int *operand, expr *off);
/* Are places in operands found by quotients of open sizes, for each cell? */
bool node_divides(struct probes *q, struct node *n);

struct group {
    int id;
    enum stage_class cls; /* of the anchor; ROW as soon as stages share rows */
    VEC(struct node *)
    nodes;                    /* in order; the last one's result is the only one that is read outside. Control nodes and
                                 opaque ones stand alone */
    VEC(struct node *) views; /* in front of them, with no group: the anchor reads their operands through them */
    struct node *anchor;
    const char *refused;       /* why it ended: reason code for dumps; NULL: no consumer */
    const struct node *reader; /* that stayed outside for this reason */
};
struct groups {
    VEC(struct group *) list;
    struct map of_node;
}; /* list is in an order that respects all uses */
/* Nodes of those names are groups of their own; with fuse false every one. m NULL: rows may be of any size. */
struct node_names {
    const char *const *v;
    int n;
};
bool node_named(const struct node_names *names, const struct node *n);
struct groups *group_region(struct probes *q, struct region *r, const struct machine *m, bool fuse,
                            struct node_names alone);
void groups_print(struct text *t, const struct groups *gs);
/* What the code of a reason means: "it reads at another index". */
const char *group_reason_text(const char *refused);
#endif
