/* What sequences, optionals and maps hold: looked up where they were made (sequence.c). */
#ifndef NN_LOWER_OPS_SEQUENCE_H
#define NN_LOWER_OPS_SEQUENCE_H
#include "ir/graph/graph.h"
#include "ir/graph/op.h"

struct contents {
    enum value_kind kind;
    bool present;
    struct value *const *v; /* the tensors */
    int n;
};
extern const struct op_control map_holder;   /* of gcc2nn.Map: keys and values as a value */
bool value_is_holder(const struct value *v); /* a sequence, optional or map */
bool node_is_holder(const struct node *n);   /* one that says what such a value holds */
bool node_is_packed(const struct node *n);   /* gcc2nn.Packed: a sequence of which only the run knows the length */
/* gcc2nn.Maybe: an optional of which only the run knows whether it is there: a bool, and what it holds if it is. */
struct optional {
    struct value *there; /* NULL: the model says it, value is NULL where there is nothing */
    struct value *value; /* a tensor or a sequence */
};
bool optional_of(const struct value *v, struct optional *o);
/* false: not known. */
bool contents_of(const struct value *v, struct contents *x);
#endif
