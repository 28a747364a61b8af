/* Custom operators: from --op and --op-path to rows that the import finds. Runs before everything else. See
 * docs/custom-operators.md. */
#ifndef NN_COMPILER_CUSTOM_H
#define NN_COMPILER_CUSTOM_H
#include "ir/base/ctx.h"
#include <stdbool.h>

struct foreign;
struct custom_options {
    const char *const *ops; /* --op: DOMAIN:NAME=FILE[:FUNCTION] */
    int nops;
    const char *const *paths; /* --op-path: folders */
    int npaths;
    bool (*load)(struct ctx *c, struct foreign *f); /* for struct foreign */
};
/* Reads the sources that the options name and adds a row to c->own_ops for each operator. false: diagnostics. */
bool custom_ops(struct ctx *c, const struct custom_options *o);
#endif
