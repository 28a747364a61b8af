/* What the files of chains share: chain.c finds groups and reports what is done, chain_axes.c finds the common axes of
 * their stages, chain_tiles.c decides how large tiles are and whether they pay, chain_change.c makes them. */
#ifndef NN_LOWER_CHAIN_TILING_H
#define NN_LOWER_CHAIN_TILING_H
#include "lower/chain.h"

enum { AXES_MOST = 32 };
struct made { /* a buffer that a stage of the chain writes */
    struct buf *buf;
    int first; /* number of its first dim */
    int link;  /* the link that writes it */
};
/* A buffer that the chain reads but does not make. */
struct operand_view {
    struct buf *buf, *view;
    int dims; /* outermost dims along which each pass reads contiguous cells; its loads go through a view of these */
    int axis[AXES_MOST]; /* the tiling's axis for each of those; -1: a dim of one cell */
};
struct tiling {
    struct lowering *l;
    struct chain *chain;
    int from, end; /* the range of links that are tiled together */
    VEC(struct stmt *) stages;
    VEC(struct made) made;
    struct map number;   /* buffer -> 1 + its index in `made` */
    VEC(int) axis;       /* dim -> a dim of the same axis (union-find); the first dim of an axis: itself */
    VEC(bool) apart;     /* first dim of an axis -> it cannot be tiled */
    struct stmt *stage;  /* in progress */
    struct buf *result;  /* of the last link */
    double between;      /* bytes of the values between links */
    double outside;      /* bytes read and written besides those, except constants */
    struct buf *largest; /* the largest value between links */
    int naxes;           /* number of tiled axes; the outermost first, all of them outermost dims of the result */
    struct {
        int axis;
        expr extent, passes;
        int64_t tile;
        expr from; /* first cell of the tile, once the loops exist; NULL: there is one pass */
    } axes[AXES_MOST];
    VEC(struct operand_view *) operands;
};
/* How many bytes the values between links may take. */
int64_t chain_room(const struct lowering *l);
/* Open sizes count as `--dim` says to optimise for; if it says nothing, the outermost counts as one: a batch. */
double chain_bytes(struct ctx *c, const expr *dims, int n, enum dtype type);

/* Finds the axes, and the buffers between links; false: they cannot be tiled. */
bool find_tiled_axes(struct tiling *t);
struct made *made_of(const struct tiling *t, const struct buf *b); /* NULL: the chain has not made it */
/* Which axis of the tiling is dim k of b, a buffer that the chain makes; and which does this index of the current stage
 * follow? -1: none. */
int axis_of_dim(const struct tiling *t, const struct buf *b, int k);
int axis_of_index(const struct tiling *t, expr index);
void axes_of_result(const struct tiling *t, int axis[32]); /* for each of its dims */
/* Calls fn for every expression of every stage, with t->stage set; false: fn stopped. */
bool visit_stages(struct tiling *t, bool (*fn)(void *env, expr e), void *env);
static inline bool is_whole(const struct tiling *t, int axis) { return x_is(t->axes[axis].passes, 1); }

/* Chooses tiles that fit, and views of operands; false: there are none, or they do not pay. */
bool choose_tiles(struct tiling *t);
/* Makes the loops, with the changed stages in them. */
void make_tiles(struct tiling *t);
#endif
