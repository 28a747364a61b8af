/* Other names for sizes inside of kernels: sizes that the checks of a definition make equal share one
 * (size_equalities.c), and long size expressions get one (size_names.c). */
#ifndef NN_LOWER_SIZES_H
#define NN_LOWER_SIZES_H
#include "lower/lower.h"

struct sizes {
    struct sizes *before; /* names that are applied first; or NULL */
    struct ctx *c;
    struct lowering *l;
    struct map by;    /* symbol, or another named size -> what it equals once the checks have passed */
    VEC(expr) from;   /* the keys, in order */
    bool computed;    /* a key is not a symbol */
    struct map parts; /* symbol for a quotient, a remainder or a long size -> that expression, as the caller passes
                       * it */
    struct map made;  /* symbols whose values are computed in the statements themselves */
};
void sizes_none(struct sizes *z, struct lowering *l);
void sizes_put(struct sizes *z, expr s, expr e); /* records that s, a symbol or a size computed from symbols, equals
                                                  * e */
bool size_is_fixed(struct sizes *z, expr e);     /* computed only from symbols that are known before the run */
/* Learns from the checks of the definition whose statements these are. */
void sizes_of_checks(struct sizes *z, struct lowering *l, struct block *from);
void sizes_of_dim(struct sizes *z, expr dim); /* learns from the fact that a dim is not negative */
/* Names the long sizes in a kernel's statements, in addition to l->sizes, and rewrites the statements. */
void sizes_shorten(struct sizes *z, struct lowering *l, struct block *stmts);
void sizes_rewrite(struct sizes *z, struct block *b);
expr sizes_in_kernel(struct sizes *z, expr e);
expr sizes_argument(const struct sizes *z, expr e); /* a size of the kernel in terms of its caller */
#endif
