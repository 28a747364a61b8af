/* Remarks: what was decided about a node, and why, for those who ask (-Rfuse, -Rlayout=conv*). Not diagnostics: nothing
 * is wrong, there is no limit to their number, and nobody who does not want them pays for them. Printed before the
 * diagnostics, in the order in which they came:
 *
 *   model.onnx: node 3 "conv2" (Conv): remark: goes through memory to node 4 "pool" (MaxPool): ... [-Rfuse] */
#ifndef NN_IR_BASE_REMARK_H
#define NN_IR_BASE_REMARK_H
#include "ir/base/text.h"
#include "ir/base/vec.h"
#include <stdbool.h>

struct ctx;
/* kind, name, what they are about */
#define REMARK_KINDS(ROW)                                                                                              \
    ROW(REMARK_FUSE, "fuse", "which nodes share a kernel, and what keeps others out")                                  \
    ROW(REMARK_LAYOUT, "layout", "how results lie in memory, and why they are plain")                                  \
    ROW(REMARK_ALGORITHM, "algorithm", "what a kernel could be computed by, and what it is")                           \
    ROW(REMARK_SLOW, "slow", "kernels that are far from what the machine can do")
#define REMARK_ENUM(kind, name, about) kind,
#define REMARK_WORD(kind, name, about) name " "
enum remark_kind { REMARK_KINDS(REMARK_ENUM) REMARKS_ALL };
#define REMARK_WORDS REMARK_KINDS(REMARK_WORD) "all"
/* The kind that a word names, REMARKS_ALL for "all"; -1: none. */
int remark_kind_named(const char *word, size_t n);
const char *remark_kind_name(enum remark_kind k);

struct remark_wish {
    enum remark_kind kind; /* or REMARKS_ALL */
    const char *pattern;   /* of names or operators of nodes, as shells have them; NULL: of all nodes */
};
struct remark {
    enum remark_kind kind;
    const char *origin, *message; /* origin: of the node, as in a diagnostic */
};
struct remarks {
    const struct remark_wish *wishes;
    int nwishes;
    VEC(struct remark) v;
};
bool remark_wanted(const struct ctx *c, enum remark_kind k, const char *origin);
/* An origin has a line for each node that it stands for; returns the first, its own. */
const char *origin_own(struct ctx *c, const char *origin);
/* Recorded if it is wanted. origin: the node's; of several lines, the first one is used. */
void remark(struct ctx *c, enum remark_kind k, const char *origin, const char *fmt, ...) NN_PRINTF(4, 5);
#endif
