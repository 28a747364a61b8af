/* What the files of chains share: chain.c finds groups and says what is done, chain_axes.c finds the axes that their
 * stages have in common, chain_tiles.c how large tiles are and whether they are worth it, chain_change.c makes them. */
#ifndef NN_LOWER_CHAIN_TILING_H
#define NN_LOWER_CHAIN_TILING_H
#include "lower/chain.h"

enum { AXES_MOST = 32 };
struct made { /* a buffer that a stage of the chain writes */
    struct buf *buf;
    int first; /* number of its first dim */
    int link;  /* that writes it */
};
/* A buffer that the chain reads, and has not made. */
struct operand_view {
    struct buf *buf, *view;
    int dims; /* the outermost ones, of which each pass reads cells side by side; its loads get them from a view */
    int axis[AXES_MOST]; /* of the tiling, of each of those; -1: a dim of one cell */
};
struct tiling {
    struct lowering *l;
    struct chain *chain;
    int from, end; /* its links that are tiled together */
    VEC(struct stmt *) stages;
    VEC(struct made) made;
    struct map number;   /* buffer -> 1 + its place in `made` */
    VEC(int) axis;       /* dim -> a dim of the same axis; of the first of them: itself */
    VEC(bool) apart;     /* first dim of an axis -> it cannot be tiled */
    struct stmt *stage;  /* in work */
    struct buf *result;  /* of the last link */
    double between;      /* bytes of what lies between links */
    double outside;      /* of what they read and write besides, but for constants */
    struct buf *largest; /* of that */
    int naxes;           /* that are tiled, the outermost first, all outermost dims of the result */
    struct {
        int axis;
        expr extent, passes;
        int64_t tile;
        expr from; /* the first cell of the tile, when the loops are there; NULL: there is one pass */
    } axes[AXES_MOST];
    VEC(struct operand_view *) operands;
};
/* Bytes that what lies between links shall not exceed. */
int64_t chain_room(const struct lowering *l);
/* Open sizes count as what `--dim` says to optimise for; of which nothing is known, the outermost as one: a batch. */
double chain_bytes(struct ctx *c, const expr *dims, int n, enum dtype type);

/* The axes, and what lies between the links; false: they cannot be tiled. */
bool find_tiled_axes(struct tiling *t);
struct made *made_of(const struct tiling *t, const struct buf *b); /* NULL: the chain has not made it */
/* Which axis of the tiling is dim k of b, which the chain makes; what the stage at work reads by this index? -1: none.
 */
int axis_of_dim(const struct tiling *t, const struct buf *b, int k);
int axis_of_index(const struct tiling *t, expr index);
void axes_of_result(const struct tiling *t, int axis[32]); /* of each of its dims */
/* Every expression of the stages, each of which is the stage at work then; false: fn stopped. */
bool visit_stages(struct tiling *t, bool (*fn)(void *env, expr e), void *env);
static inline bool is_whole(const struct tiling *t, int axis) { return x_is(t->axes[axis].passes, 1); }

/* Tiles for which there is room, and views of operands; false: there are none, or they are not worth it. */
bool choose_tiles(struct tiling *t);
/* The loops, and the stages in them. */
void make_tiles(struct tiling *t);
#endif
