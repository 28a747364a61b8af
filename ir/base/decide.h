/* Decisions: whatever makes of the plain program, in which every node is a kernel of plain loops, the one that is
 * written. Each is asked for where it is made, so that `gcc2nn bisect` can leave out those from the n-th on and find
 * the first that changes results. */
#ifndef NN_IR_DECIDE_H
#define NN_IR_DECIDE_H
#include "ir/base/text.h"
#include <stdbool.h>

struct ctx;
struct decisions {
    const char *during; /* the pass that runs now */
    int made;           /* so far, with those that were left out */
    bool limited;
    int limit;             /* limited: from this number on all are left out */
    const char *last;      /* limited: the last that was not left out; NULL: none was made */
    const char *last_pass; /* during which */
};
/* Counts one decision; fmt says which: "rule add-zero at node 3 "a" (Add)". false: it is to be left out. What is
 * decided before depends on nothing but the model and the options, so that numbers stay the same. */
bool decide(struct ctx *c, const char *fmt, ...) NN_PRINTF(2, 3);
#endif
