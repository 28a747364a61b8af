/* Decisions: everything that turns the plain program, in which every node is a kernel of plain loops, into the one that
 * is written. Each is requested where it is made, so that `gcc2nn bisect` can leave out all from the n-th on, and find
 * the first that changes results. */
#ifndef NN_IR_DECIDE_H
#define NN_IR_DECIDE_H
#include "ir/base/text.h"
#include <stdbool.h>

struct ctx;
struct decisions {
    const char *during; /* the pass that runs now */
    int made;           /* number so far, including those that were left out */
    bool limited;
    int limit;             /* if limited: all from this number on are left out */
    const char *last;      /* if limited: the last that was not left out; NULL: none was made */
    const char *last_pass; /* the pass in which it was made */
};
/* Counts one decision, described by fmt: "rule add-zero at node 3 "a" (Add)". false: leave it out. Decisions may only
 * depend on the model and the options, so that numbers stay the same. */
bool decide(struct ctx *c, const char *fmt, ...) NN_PRINTF(2, 3);
#endif
