/* Sequences of which only the run knows how many elements they have, as two tensors: the cells of all elements, one
 * behind the other, and their shapes. The node gcc2nn.Packed says that these are a sequence. See packed.c. */
#ifndef NN_LOWER_OPS_PACKED_H
#define NN_LOWER_OPS_PACKED_H
#include "ir/graph/graph.h"

struct packed {
    struct value *cells, *shapes; /* T[total], i64[count, rank] */
};
/* Is v one? Its parts. */
bool packed_of(const struct value *v, struct packed *x);
/* The elements that v is known to hold, of one rank, packed by nodes in front of `at`; elem: their type when there are
 * none. false: their ranks differ, or are not known. */
bool packed_from(struct node *at, const struct value *v, int rank_of_none, struct packed *x);
int packed_rank(
    const struct value *v); /* of the elements of a sequence, packed or not; -1: not known, or they differ */
struct value *packed_node(struct node *at, const struct packed *x);

/* In front of `at`. Places may be negative; position NULL: at the end. */
struct value *packed_at(struct node *at, const struct packed *x, struct value *position);
struct packed packed_insert(struct node *at, const struct packed *x, struct value *element, struct value *position);
struct packed packed_erase(struct node *at, const struct packed *x, struct value *position);
struct value *packed_length(struct node *at, const struct packed *x);
struct value *packed_concat(struct node *at, const struct packed *x, int64_t axis, bool new_axis);
/* x in parts along an axis. lengths: i64[count]. alone: of one row each, without the axis. */
struct packed packed_split(struct node *at, struct value *x, struct value *lengths, int axis, bool alone);
struct value *packed_lengths(struct node *at, struct value *x, int axis, struct value *split); /* for SplitToSequence */
#endif
