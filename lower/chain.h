/* Chains: groups of which each alone reads what the one before it makes are computed tile by tile of the axes that they
 * have in common, so that what lies between them stays in a cache. Between groups and kernels, see docs/groups.md. */
#ifndef NN_LOWER_CHAIN_H
#define NN_LOWER_CHAIN_H
#include "lower/group.h"
#include "lower/lower.h"

/* A group whose statements are made, and its kernels not yet. */
struct link {
    const struct group *group;
    const struct node *faulty; /* its first node that can fault */
    struct block before;       /* copies that it reads, which were made with them */
    struct block stmts;
};
struct chain {
    VEC(struct link *) links;
};
struct positions { /* in a list of groups */
    VEC(int) at;
};
/* A loop over so many tiles of an axis; l's current block is then what is in it. Where the tile begins: tiles that do
 * not divide the axis overlap, so that all passes are alike. number: of the axis, among those of one nest. */
expr lower_tile_loop(struct lowering *l, const char *name, int number, expr passes, int64_t tile, expr extent);
/* From position `at` of the list on, and before `end`: groups of which each makes a value for the next alone that no
 * cache holds; their positions in *found. Fewer than two: there are no such. */
void find_chain(struct lowering *l, const struct groups *gs, int at, int end, const struct map *done,
                struct positions *found);
/* The longest part of the chain from link `from` on that has axes in common whose tiles serve it is made to compute one
 * tile: its statements are changed, and l's current block gets the loops and is then what is in them. Returns how many
 * links it has; 0: there is none, and nothing has changed. */
int tile_chain(struct lowering *l, struct chain *chain, int from);
#endif
