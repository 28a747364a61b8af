/* Other names for sizes inside of kernels: what the checks of a definition say to be the same number has one name
 * (size_equalities.c), and so has a size that is long to write (size_names.c). */
#ifndef NN_LOWER_SIZES_H
#define NN_LOWER_SIZES_H
#include "lower/lower.h"

struct sizes {
    struct sizes *before; /* these names are given first; or NULL */
    struct ctx *c;
    struct lowering *l;
    struct map by;    /* symbol, or other size that has a name -> what it equals when the checks have passed */
    VEC(expr) from;   /* these, in order */
    bool computed;    /* one of them is no symbol */
    struct map parts; /* symbol that stands for a quotient, a rest or a long size -> that, as an argument */
    struct map made;  /* symbols whose size is found among the statements themselves */
};
void sizes_none(struct sizes *z, struct lowering *l);
void sizes_put(struct sizes *z, expr s, expr e); /* s, a symbol or what is computed from some, is e */
bool size_is_fixed(struct sizes *z, expr e);     /* computed from symbols that have their values before the run */
/* Those of the definition whose statements these are. */
void sizes_of_checks(struct sizes *z, struct lowering *l, struct block *from);
void sizes_of_dim(struct sizes *z, expr dim); /* what follows from it being none below 0 */
/* Names for the long sizes in the statements of a kernel, after those of l->sizes; the statements get them. */
void sizes_shorten(struct sizes *z, struct lowering *l, struct block *stmts);
void sizes_rewrite(struct sizes *z, struct block *b);
expr sizes_in_kernel(struct sizes *z, expr e);
expr sizes_argument(const struct sizes *z, expr e); /* a size of the kernel as its caller has it */
#endif
