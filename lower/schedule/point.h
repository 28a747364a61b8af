/* A point is one choice how a kernel is computed, as data that prints as one line. A strategy lists the points for a
 * problem, the best first, and turns one into steps; it changes nothing. schedule.c takes the first point whose steps
 * are all legal, and keeps what was refused with its reason. */
#ifndef NN_LOWER_SCHEDULE_POINT_H
#define NN_LOWER_SCHEDULE_POINT_H
#include "lower/schedule/roles.h"
#include "lower/schedule/schedule.h"

enum { MAX_AXES = 16 };
/* How a contraction is tiled: contraction.c decides on axes and order, tilings.c on tiles, blocks.c on what stays in
 * which cache. */
struct tiling {
    const struct problem *q;
    const struct micro *micro;
    struct operation op;    /* its speed */
    int vector;             /* its lanes */
    expr vec, scalar;       /* the operand whose cells lie along the lanes, and the one that is broadcast */
    int lane, row, group;   /* axes: along the lanes; along the rows of a tile; of rows that share a panel. -1: none */
    bool packed, scattered; /* vec lies in panels; the result does not lie along the lanes */
    bool computed;          /* vec is one of the constants that the factor is computed of */
    bool staged;            /* what follows the sum is computed in lanes first, and then stored .. */
    int piece;              /* .. so many at a time, which lie side by side in the result; 1: one by one */
    bool blocked;           /* the result's channels are */
    bool padded, rest;      /* the last block of the result's channels, of the sum's: not full */
    int64_t N, rows;        /* extents of lane and row; -1: symbolic */
    int64_t counted;        /* rows that a tile is chosen for */
    int lanes;              /* of a vector: the machine's, or fewer for narrow groups of channels */
    int64_t per;            /* lanes that read one cell of scalar: channels of a group; 0: a vector is of one group */
    int mixed;              /* vectors hold several groups of channels, so many together a vector of scalar; 0: one */
    int mr, nr, nv;         /* a tile: rows, vectors, and cells in its vectors */
    int kred, kblock;       /* the reduced axis that is split, and in blocks of how many; -1: none */
    int order[MAX_AXES];    /* all reduced axes but kred, from outside to inside */
    int norder;
    bool beside;             /* the last of them is written out inside of a step: neighbours read the same cells */
    int64_t together, chunk; /* rows of the group that share a panel, 0: all; blocks of kred at a time, 0: all */
    bool outside;            /* chunks go round all panels, else round the rows of one panel */
    bool by_rows;            /* tiles of the same rows follow each other, as the result lies; else those of a panel */
    bool early;              /* the last panel is of full vectors, and computes some cells once more */
    int64_t lone;            /* rows of open number: panels of the tile for a single one; 0: it is as any other */
    bool prefetch, often;    /* of the next panel; often: in every block of the sum, else once a tile */
    bool across;             /* panels are whole groups of channels, and lie across the blocks of the result */
    double step, cycles;     /* predicted: of a step of the sum, all rows and lanes; of everything */
};
/* How the lanes of rows run: over the cells of a row, or over rows whose cells of equal place lie side by side. */
enum row_lanes { LANES_NONE, LANES_INNER, LANES_OUTER };

/* How cells are computed: in vectors, of which the last may begin early; operands read across, in squares or a few at a
 * time; as many as a vector has written out; each result by itself.
 */
enum cells_way { CELLS_LANES, CELLS_EARLY, CELLS_SQUARES, CELLS_ACROSS, CELLS_UNROLLED, CELLS_GATHERED, CELLS_APART };
/* Channels of a block are computed at once; those of a last one that is not full by themselves. */
struct block_lanes {
    bool lanes, cut;
};

/* So many cells whose places are looked up are written out: each takes long enough that the loop around a few is free.
 */
enum { LOOKED_UP = 4 };

struct strategy;
struct rows;
struct nests;
struct pieces;
struct point {
    const struct strategy *by;
    double cycles; /* predicted; 0: nobody estimates them */
    union {
        struct tiling tile;
        struct {
            struct rows *q; /* what is known of them (rows.c) */
            enum row_lanes lanes;
        } rows;
        struct {
            enum cells_way way;
            bool keep;  /* what several results need is computed once */
            int merged; /* innermost axes that are one loop */
            int n;      /* cells at a time */
        } cells;
        const struct micro *micro; /* of a product on a GPU */
        struct block_lanes block;
        const struct nests *nests;   /* each with its way (nests.c) */
        const struct pieces *pieces; /* of the last axis (pieces.c) */
        struct {
            struct panels panels; /* that are written */
            const char *squares;  /* transposed by this instruction; NULL: cell by cell */
        } panels;
        bool inlined; /* maps go into their readers */
    } u;
};
struct points {
    VEC(struct point) list;
};
struct plan { /* what a strategy is asked about, and its steps, a list that grows */
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
    /* Appends the points, the one to try first first; or says why the problem has none. */
    const char *(*points)(struct plan *u, struct points *out);
    /* Appends the point's steps to u->s, none if none are needed; or says why there are none. */
    const char *(*steps)(struct plan *u, const struct point *p);
    /* What was chosen; NULL: there is one choice only. */
    void (*print)(struct text *t, struct plan *u, const struct point *p);
};
/* In the order in which they are asked; the last one's steps are always legal. NULL ends. */
const struct strategy *const *strategies_for(const struct machine *m, const struct problem *k);

static inline int lanes_of(const struct plan *u) { return machine_lanes(u->m, F32); }
static inline struct point *add_point(struct plan *u, struct points *out, const struct strategy *by) {
    struct point p = {.by = by};
    PUSH(&u->c->arena, &out->list, p);
    return &out->list.v[out->list.n - 1];
}
#endif
