/* Finds redundant channels of a model, which are constant or never read, and removes them. This is what `gcc2nn prune
 * --structured` does between import and export. channels.c: finds them; channels_cut.c: removes them; channels_value.c:
 * computes what operators make of a constant channel. */
#ifndef NN_COMPILER_PRUNE_CHANNELS_H
#define NN_COMPILER_PRUNE_CHANNELS_H
#include "ir/base/map.h"
#include "ir/graph/graph.h"
#include "ir/graph/op.h"
#include "lower/group.h"

/* A node that sums products with constant weights and has separable channels. */
struct product {
    struct node *n;
    const struct tensor *w, *bias; /* bias: one number for each channel of the result, or NULL */
    struct op_weights lie;
    const bool *zero; /* for each channel of the result: is its filter zero? NULL: not examined yet */
    int axis;         /* axis of the channels, in operand and result */
    bool takes_in;    /* the operand's channels correspond to those of the weights */
};
/* Channels of one value: [first, first + n) of all. */
struct channels {
    struct value *v;
    int axis;
    int64_t n, first;
};
struct channel {
    int64_t parent;   /* union-find: another channel that is kept or removed together with it; a root is its own
                       * parent */
    double number;    /* the value of all its cells; NAN: not constant, or not known */
    const char *kept; /* of a root: why it is kept; NULL: it can be removed */
    const char *tied; /* what ties it to others, if `kept` does not show that; NULL: nothing */
};
/* The result for products with filters of zeros. */
struct pruned {
    struct node *n;
    int64_t filters, zero, removed; /* removed: any filters, not only zeros */
    const char *why;                /* why the first remaining zero filter is kept; NULL: none remains */
};
struct pruning {
    struct graph *g;
    struct probes *probes;
    struct map of_value;           /* value to struct channels */
    VEC(struct channels *) values; /* in the order of the graph */
    VEC(struct product) products;
    VEC(struct channel) all; /* of all values, concatenated */
    VEC(struct pruned) results;
};
/* Finds them. Types must be inferred. */
void channels_find(struct pruning *p);
/* Removes them; types must be inferred again afterwards. */
void channels_cut(struct pruning *p);

const struct channels *value_channels(const struct pruning *p, const struct value *v); /* NULL: it has no known
                                                                                        * channels */
/* v, rounded to the type of the value's cells. */
double value_rounded(const struct value *of, double v);
bool channel_goes(const struct pruning *p, int64_t k);
/* Is n a product, and with what? */
bool product_of(struct node *n, struct product *q);
/* The constants of y's channels, computed from those of its node's operands; unknown ones are NAN. whole: the node
 * reads more than one cell. */
void channels_carry(struct pruning *p, struct node *n, const struct channels *y, bool whole);
#endif
