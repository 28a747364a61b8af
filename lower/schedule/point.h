/* A point is one way to compute a kernel, as data that prints as one line. A strategy lists the points for a problem,
 * the best first, and turns one into steps; it does not change the kernel. schedule.c takes the first point whose steps
 * are all legal, and keeps the refused ones with their reasons. */
#ifndef NN_LOWER_SCHEDULE_POINT_H
#define NN_LOWER_SCHEDULE_POINT_H
#include "lower/schedule/roles.h"
#include "lower/schedule/schedule.h"

enum { MAX_AXES = 16 };
/* How a contraction is tiled: contraction.c decides on axes and order, tilings.c on tiles, blocks.c on what is kept in
 * which cache. */
struct tiling {
    const struct problem *q;
    const struct micro *micro;
    struct operation op;    /* the multiply-add's speed */
    int vector;             /* lanes of the micro-kernel's vectors */
    expr vec, scalar;       /* the operand whose cells lie along the lanes, and the one that is broadcast */
    int lane, row, group;   /* axes: of the lanes; of a tile's rows; of groups of rows that share a panel. -1: none */
    bool packed, scattered; /* vec lies in panels; the result does not lie along the lanes */
    bool computed;          /* vec is only one of several constants that the factor is computed from */
    bool staged;            /* the epilogue is computed in lanes into a buffer, and stored from there .. */
    int piece;              /* .. in pieces of this many cells that are contiguous in the result; 1: cell by cell */
    bool blocked;           /* the result's channels are in blocks */
    bool padded, rest;      /* the last block of the result's channels is not full; that of the sum's is not */
    int64_t N, rows;        /* extents of lane and row; -1: symbolic */
    int64_t counted;        /* rows assumed when choosing a tile */
    int lanes;              /* of a vector: the machine's, or fewer for narrow groups of channels */
    int64_t per;            /* lanes that share one cell of scalar: channels of a group; 0: all lanes of a vector do */
    int mixed;              /* vectors span several groups of channels; this many of them use one vector of scalar. 0:
                             * they do not */
    int mr, nr, nv;         /* a tile: rows, vectors, and cells per row */
    int kred, kblock;       /* the reduced axis that is split, -1: none; and the size of its blocks */
    int order[MAX_AXES];    /* all reduced axes but kred, from outside to inside */
    int norder;
    bool beside;             /* the last of these is unrolled inside of a step, because neighbours read the same
                              * cells */
    int64_t together, chunk; /* rows of the group that share a panel, 0: all; blocks of kred at a time, 0: all */
    bool outside;            /* the loop over chunks goes around all panels; otherwise around the rows of one panel */
    bool by_rows;            /* tiles go row by row, as the result lies; otherwise panel by panel */
    bool early;              /* the last panel begins early, so that its vectors are full, and recomputes some cells */
    int64_t lone;            /* rows are open: a nest for a single row has tiles of this many panels; 0: there is no
                              * such nest */
    bool prefetch, often;    /* prefetches the next panel; often: in every block of the sum, otherwise once per tile */
    bool across;             /* panels hold whole groups of channels, and cross the result's blocks */
    double step, cycles;     /* predicted: of one step of the sum over all rows and lanes; of everything */
};
/* How lanes of row kernels run: along the cells of a row, or across rows, one row per lane. */
enum row_lanes { LANES_NONE, LANES_INNER, LANES_OUTER };

/* How cells are computed: in vectors, or with the last vector beginning early; operands read across, in squares or a
 * few cells at a time; unrolled, as many as a vector has; scattered operands collected first; each stage in a nest of
 * its own. */
enum cells_way { CELLS_LANES, CELLS_EARLY, CELLS_SQUARES, CELLS_ACROSS, CELLS_UNROLLED, CELLS_GATHERED, CELLS_APART };
/* lanes: the channels of a block are one vector. gathered: maps of operands whose channels lie apart are computed
 * first, cell by cell. turned: squares of such operands are transposed first. cut: a last block that is not full is a
 * separate nest. squares: of a move, of channels and of cells from axis `first` on, which the machine transposes;
 * otherwise NULL. */
struct block_lanes {
    bool lanes, gathered, turned, cut;
    const struct squares *squares;
    int first;
};

/* How many cells are unrolled if their indices are looked up: each takes so long that a loop around a few costs
 * nothing. */
enum { LOOKED_UP = 4 };

struct strategy;
struct rows;
struct nests;
struct pieces;
struct block_sums;
struct point {
    const struct strategy *by;
    double cycles; /* predicted; 0: there is no estimate */
    union {
        struct tiling tile;
        struct {
            struct rows *q; /* what rows.c has found out about them */
            enum row_lanes lanes;
        } rows;
        struct {
            enum cells_way way;
            bool keep;  /* values that several results use are computed once */
            int merged; /* number of innermost axes that are fused */
            int n;      /* cells at a time */
        } cells;
        const struct micro *micro; /* of a product on a GPU */
        struct block_lanes block;
        const struct nests *nests; /* each with its kind (nests.c) */
        const struct block_sums *block_sums;
        const struct pieces *pieces; /* pieces of the last axis (pieces.c) */
        struct {
            struct panels panels; /* that are written */
            const char *squares;  /* the instruction that transposes them; NULL: cell by cell */
        } panels;
        bool inlined; /* maps go into their readers */
    } u;
};
struct points {
    VEC(struct point) list;
};
struct plan { /* what a strategy is asked about; its steps are appended to s */
    struct ctx *c;
    struct proc *p;
    const struct machine *m;
    const struct problem *k;
    const struct param_layout *l;
    struct step_list s;
    struct taken taken;
};
struct strategy {
    const char *name;
    /* Appends the points, in the order in which to try them; or says why the problem has none. */
    const char *(*points)(struct plan *u, struct points *out);
    /* Appends the point's steps to u->s (possibly none); or says why it cannot. */
    const char *(*steps)(struct plan *u, const struct point *p);
    /* Prints what was chosen; NULL: there is only one choice. */
    void (*print)(struct text *t, struct plan *u, const struct point *p);
};
/* The strategies in the order in which they are asked; the last one always succeeds. NULL ends. */
const struct strategy *const *strategies_for(const struct machine *m, const struct problem *k);

static inline int lanes_of(const struct plan *u) { return machine_lanes(u->m, F32); }
static inline struct point *add_point(struct plan *u, struct points *out, const struct strategy *by) {
    struct point p = {.by = by};
    PUSH(&u->c->arena, &out->list, p);
    return &out->list.v[out->list.n - 1];
}
#endif
