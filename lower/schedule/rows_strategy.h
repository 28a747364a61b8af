/* What the files of row kernels share: rows.c has the points and writes the steps, rows_lanes.c finds out what stages
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
    int ops, loads;              /* of its value, with what is inlined into it */
    bool heavy, scalar, inlined; /* heavy: divides or calls. scalar: one cell for each row */
    bool result, copied;         /* copied: a reduction that is one goes on in an accumulator */
    const struct var *lane;      /* axis or reduced variable that the lanes run over; NULL: stays scalar */
    int fused;                   /* so many reduced variables, the last ones, are one loop */
    const char *lane_loop;       /* of a reduction that has parts */
    int parts;                   /* accumulators of the reduction side by side; 0: one after the other */
    int lanes;                   /* of a vector of these */
    expr open;                   /* the number of cells, where that is no known multiple of parts; or NULL */
};
struct rows {
    struct plan *u;
    struct row_space r;
    enum row_lanes mode;
    int lane_role; /* LANES_OUTER: the axis of P */
    bool singly;   /* a result is written cell by cell */
    int n;
    struct row_stage v[MAX_STAGES];
    struct row_stage *out; /* the last result */
    const char *at;        /* the loop that one row is computed in; NULL: there is one row only */
};

/* false: some stage has cells that do not fill lanes. */
bool rows_look_at_stages(struct rows *q);
/* The variable that neighbours along which s reads most; NULL: there is none. */
const struct var *rows_fast_var(struct rows *q, const struct stmt *s);
/* Does the first reduction read neighbours in the way that the mode wants? */
bool rows_mode_fits(struct rows *q);
/* Lanes and parts of a stage. */
void rows_choose_lanes(struct rows *q, struct row_stage *st);
const struct var *rows_axis_of_role(const struct rows *q, const struct stmt *s, int role); /* NULL: it has no such */
#endif
