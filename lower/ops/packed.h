/* Sequences whose number of elements is only known at run time, as two tensors: the concatenated cells of all elements,
 * and their shapes. The node gcc2nn.Packed marks these as a sequence. See packed.c. */
#ifndef NN_LOWER_OPS_PACKED_H
#define NN_LOWER_OPS_PACKED_H
#include "ir/graph/graph.h"

struct packed {
    struct value *cells, *shapes; /* T[total], i64[count, rank] */
};
/* Is v packed? Gives its parts. */
bool packed_of(const struct value *v, struct packed *x);
/* Packs the elements that v is known to hold, all of one rank, by nodes before `at`; elem: their type if there are
 * none. false: their ranks differ, or are unknown. */
bool packed_from(struct node *at, const struct value *v, int rank_of_none, struct packed *x);
int packed_rank(
    const struct value *v); /* of the elements of a sequence, packed or not; -1: not known, or they differ */
struct value *packed_node(struct node *at, const struct packed *x);

/* New nodes go before `at`. Positions may be negative; position NULL: at the end. */
struct value *packed_at(struct node *at, const struct packed *x, struct value *position);
struct packed packed_insert(struct node *at, const struct packed *x, struct value *element, struct value *position);
struct packed packed_erase(struct node *at, const struct packed *x, struct value *position);
struct value *packed_length(struct node *at, const struct packed *x);
struct value *packed_concat(struct node *at, const struct packed *x, int64_t axis, bool new_axis);
/* x in parts along an axis. lengths: i64[count]. alone: of one row each, dropping the axis. */
struct packed packed_split(struct node *at, struct value *x, struct value *lengths, int axis, bool alone);
struct value *packed_lengths(struct node *at, struct value *x, int axis, struct value *split); /* for SplitToSequence */
#endif
