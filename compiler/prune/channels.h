/* Channels of a model that say nothing: which are the same number whatever the input, or read by nobody, and taking
 * them out. What `gcc2nn prune --structured` does between import and export. channels.c: which; channels_cut.c: taking
 * out; channels_value.c: what operators make of a channel that is one number. */
#ifndef NN_COMPILER_PRUNE_CHANNELS_H
#define NN_COMPILER_PRUNE_CHANNELS_H
#include "ir/base/map.h"
#include "ir/graph/graph.h"
#include "ir/graph/op.h"
#include "lower/group.h"

/* A node that sums products with constant weights, whose channels can be told apart. */
struct product {
    struct node *n;
    const struct tensor *w, *bias; /* bias: one number for each channel of the result, or NULL */
    struct op_weights lie;
    const bool *zero; /* of each channel of the result: is its filter? NULL: not looked at yet */
    int axis;         /* of the channels, in operand and result */
    bool takes_in;    /* the operand's channels are those of its weights */
};
/* Channels of one value: [first, first + n) of all. */
struct channels {
    struct value *v;
    int axis;
    int64_t n, first;
};
struct channel {
    int64_t parent;   /* another one that goes or stays with it, towards a root; itself: it is one */
    double number;    /* that all its cells are; NAN: they are not one, or it is not known */
    const char *kept; /* of a root: why it stays; NULL: nothing keeps it */
    const char *tied; /* what it goes together with, where that is not seen from why it stays; NULL: nothing */
};
/* What became of the products whose filters are zero. */
struct pruned {
    struct node *n;
    int64_t filters, zero, removed; /* removed: zero or not */
    const char *why;                /* the first zero one that stays does; NULL: all went */
};
struct pruning {
    struct graph *g;
    struct probes *probes;
    struct map of_value;           /* value to struct channels */
    VEC(struct channels *) values; /* in the order of the graph */
    VEC(struct product) products;
    VEC(struct channel) all; /* of all values, one behind the other */
    VEC(struct pruned) results;
};
/* Finds them. The graph's types are known. */
void channels_find(struct pruning *p);
/* Takes them out; the graph's types are to be inferred again. */
void channels_cut(struct pruning *p);

const struct channels *value_channels(const struct pruning *p, const struct value *v); /* NULL: none that are known */
/* v as a cell of the value holds it. */
double value_rounded(const struct value *of, double v);
bool channel_goes(const struct pruning *p, int64_t k);
/* Is n a product, and with what? */
bool product_of(struct node *n, struct product *q);
/* The numbers of y's channels by those of the operands of its node; what is not known is NAN. whole: the node looks at
 * more than one cell. */
void channels_carry(struct pruning *p, struct node *n, const struct channels *y, bool whole);
#endif
