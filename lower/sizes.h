/* What the checks of a definition say of sizes: names that mean the same number become one name inside of kernels. */
#ifndef NN_LOWER_SIZES_H
#define NN_LOWER_SIZES_H
#include "lower/lower.h"

struct sizes {
    struct ctx *c;
    struct lowering *l;
    struct map by;    /* symbol, or other size that a check names -> what it equals when the checks have passed */
    VEC(expr) from;   /* these, in order */
    bool computed;    /* one of them is no symbol */
    struct map parts; /* symbol that stands for a quotient or a rest -> that */
    struct map made;  /* symbols whose size is found among the statements themselves */
};
void sizes_of_checks(struct sizes *z, struct lowering *l, struct block *from);
void sizes_rewrite(struct sizes *z, struct block *b);
expr sizes_in_kernel(struct sizes *z, expr e);
expr sizes_arg(const struct sizes *z, expr leaf); /* what the caller passes for a symbol of the kernel */
#endif
