/* Stages that share rows: for each point of an outer space P, all of them together only need that point's cells
 * (docs/groups.md). Decided by the stages' indices; used to form groups, and to schedule them. */
#ifndef NN_LOWER_ROW_SPACE_H
#define NN_LOWER_ROW_SPACE_H
#include "ir/loop/loop.h"

enum { ROW_AXES = 32, ROW_UNIT = -2, ROW_INNER = -1 }; /* other roles: the number of an axis of P */
struct row_space {
    int n;                 /* axes of P: those of extent 1 do not count */
    expr extent[ROW_AXES]; /* of P's axes */
    struct map vars;       /* axis or reduced variable of a stage -> its role + 3 */
};
/* Do the stages, in order, share rows? At least one must reduce, and what one stores must be read at the same point of
 * P. */
bool row_space(struct ctx *c, struct stmt *const *stages, int n, struct row_space *r);
int row_role(const struct row_space *r, const struct var *v);
#endif
