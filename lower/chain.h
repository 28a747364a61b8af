/* Chains: consecutive groups, each of which is the only reader of the one before. They are computed tile by tile along
 * axes that they have in common, so that the values between them stay in a cache. Between groups and kernels; see
 * docs/groups.md. */
#ifndef NN_LOWER_CHAIN_H
#define NN_LOWER_CHAIN_H
#include "lower/group.h"
#include "lower/lower.h"

/* A group whose statements exist, but whose kernels do not yet. */
struct link {
    const struct group *group;
    const struct node *faulty; /* its first node that can fault */
    struct block before;       /* copies that it reads, made along with the statements */
    struct block stmts;
};
struct chain {
    VEC(struct link *) links;
};
struct positions { /* indices into a list of groups */
    VEC(int) at;
};
/* Begins a loop over tiles of an axis, which becomes l's current block. Returns the tile's first cell: tiles that do
 * not divide the axis overlap, so that all passes are alike. number: counts the axes of one nest. */
expr lower_tile_loop(struct lowering *l, const char *name, int number, expr passes, int64_t tile, expr extent);
/* Finds a chain in the list from position `at` up to `end`: groups of which each makes a value for the next one alone
 * that no cache holds; *found gets their positions. Fewer than two: there is none. */
void find_chain(struct lowering *l, const struct groups *gs, int at, int end, const struct map *done,
                struct positions *found);
/* Tiles the longest part of the chain, from link `from` on, that has common axes for which tiles pay: changes its
 * statements to compute one tile, and puts the loops into l's current block, which becomes their body. Returns the
 * number of links; 0: there is no such part, and nothing has changed. */
int tile_chain(struct lowering *l, struct chain *chain, int from);
#endif
