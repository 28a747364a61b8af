/* What the files of row kernels share: rows.c lists the points and writes the steps; rows_lanes.c finds out what stages
 * cost and along which variable each has its lanes. */
#ifndef NN_LOWER_SCHEDULE_ROWS_STRATEGY_H
#define NN_LOWER_SCHEDULE_ROWS_STRATEGY_H
#include "lower/problem/row_space.h"
#include "lower/schedule/cpu.h"

enum { MAX_STAGES = 128 };
struct row_stage {
    struct stmt *s;
    const char *name;            /* of its buffer, for steps */
    int readers;                 /* stages that load it */
    int ops, loads;              /* of its value, including what is inlined into it */
    bool heavy, scalar, inlined; /* heavy: divides or calls functions. scalar: one cell per row */
    bool result, copied;         /* copied: a result that is a reduction is accumulated elsewhere and then copied */
    const struct var *lane;      /* axis or reduced variable that the lanes run over; NULL: stays scalar */
    int fused;                   /* number of last reduced variables that are fused */
    const char *lane_loop;       /* of a reduction with parts */
    int parts;                   /* accumulators of the reduction side by side; 0: one after the other */
    int lanes;                   /* lanes of a vector of these */
    expr open;                   /* the number of cells, if it is not a known multiple of parts; otherwise NULL */
};
struct rows {
    struct plan *u;
    struct row_space r;
    enum row_lanes mode;
    int lane_role; /* LANES_OUTER: role of the axis that the lanes run over */
    bool singly;   /* a result is written cell by cell */
    int n;
    struct row_stage v[MAX_STAGES];
    struct row_stage *out; /* the last result */
    const char *at;        /* the loop in which one row is computed; NULL: there is only one row */
};

/* Finds the costs of the stages. false: a stage has cells that do not fill lanes. */
bool rows_look_at_stages(struct rows *q);
/* The variable along which most of what s reads is contiguous; NULL: there is none. */
const struct var *rows_fast_var(struct rows *q, const struct stmt *s);
/* Does a reduction read contiguous cells along rows, or the first one across them, as the mode requires? */
bool rows_mode_fits(struct rows *q);
/* Chooses lanes and parts of a stage. */
void rows_choose_lanes(struct rows *q, struct row_stage *st);
const struct var *rows_axis_of_role(const struct rows *q, const struct stmt *s, int role); /* NULL: it has no such */
#endif
