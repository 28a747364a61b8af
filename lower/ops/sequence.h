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
extern const struct op_control map_holder; /* of gcc2nn.Map: keys and values as a value */
bool node_is_holder(const struct node *n); /* a node that says what such a value holds */
bool node_is_packed(const struct node *n); /* gcc2nn.Packed: a sequence whose length is only known at run time */
/* gcc2nn.Maybe: an optional whose presence is only known at run time: a bool, and the contents if present. */
struct optional {
    struct value *there; /* NULL: known at compile time; then value is NULL if it is absent */
    struct value *value; /* a tensor or a sequence */
};
bool optional_of(const struct value *v, struct optional *o);
/* false: unknown. */
bool contents_of(const struct value *v, struct contents *x);
#endif
